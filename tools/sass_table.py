#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""sass_table.py [--nxc PROGRAM] [--isa sm_90] FILE.nxir...: what the machine code of a GPU says of each kernel of
graphs, without a GPU: one line a kernel.

  threads, tasks   of a block, and how many blocks there is work for; `SMs` is tasks on the multiprocessors of an H200
  registers        of a thread; `spills` are loads and stores of variables that found none
  load, store      the widest access of a thread to memory, in bits; 128 is the best
  flight           the most bytes of loads that one thread has under way before the first of them is used
  code             instructions, and how many for each element of the largest array, if the code runs once through
  barriers         of a block
  shared           bytes of shared memory that a block is launched with, as the kernel says

nvdisasm prints the code: NX_NVDISASM names it, or it is among the programs (CUDA toolkit; nvidia-cuda-nvdisasm)."""
import argparse
import re
import subprocess
import sys
from pathlib import Path

MULTIPROCESSORS = 132
SIZES = {"f64": 8, "i64": 8, "u64": 8, "c64": 8, "c128": 16, "f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2, "i16": 2, "u16": 2}
COLUMNS = ("threads", "tasks", "SMs", "registers", "spills", "load", "store", "flight", "code", "each", "barriers", "shared")
# One instruction: what is in front of it (a predicate), its name with its suffixes, and its operands.
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d\s+)?([A-Z][\w.]*)\s*([^;]*);")
REGISTER = re.compile(r"\bR(\d+)\b")


def width(name):
    """Bits of one access by its suffixes; 32 without any."""
    for suffix, bits in ((".128", 128), (".64", 64), (".U16", 16), (".S16", 16), (".U8", 8), (".S8", 8)):
        if suffix in name:
            return bits
    return 32


def registers_of(bits, operand):
    """The registers that an access of so many bits fills, from the first operand on."""
    first = REGISTER.match(operand)
    return set(range(int(first.group(1)), int(first.group(1)) + max(1, bits // 32))) if first else set()


def in_flight(code):
    """The most bytes of loads from memory that are under way at once: a load ends where a register of it is read, or
    written anew."""
    open_loads, best = [], 0
    for name, operands in code:
        used = {int(r) for r in REGISTER.findall(operands)}
        if name.startswith("LDG"):
            bits = width(name)
            target, _, rest = operands.partition(",")
            read = {int(r) for r in REGISTER.findall(rest)}
            filled = registers_of(bits, target.strip())
            open_loads = [(r, b) for r, b in open_loads if not r & (read | filled)] if any(r & read for r, _ in open_loads) else open_loads
            open_loads.append((filled, bits // 8))
            best = max(best, sum(b for _, b in open_loads))
        elif any(r & used for r, _ in open_loads):
            open_loads = []  # what waits for one load waits for those before it, too
        if name.startswith(("BRA", "BAR", "EXIT")):
            open_loads = [] if not name.startswith("BRA") else open_loads
    return best


def measure(code):
    """What the instructions of one kernel say."""
    names = [name for name, _ in code if not name.startswith("NOP")]
    loads = [width(n) for n in names if n.startswith("LDG")]
    stores = [width(n) for n in names if n.startswith("STG")]
    last = max((int(r) for _, o in code for r in REGISTER.findall(o)), default=0)
    return {
        "registers": last + 1,
        "spills": sum(n.startswith(("LDL", "STL")) for n in names),
        "load": max(loads, default=0),
        "store": max(stores, default=0),
        "flight": in_flight(code),
        "code": len(names),
        "barriers": sum(n.startswith("BAR") for n in names),
    }


def kernels_of(text):
    """Name -> instructions, of what nvdisasm prints."""
    found, code = {}, None
    for line in text.splitlines():
        section = re.match(r"\s*\.section\s+\.text\.(\w+)", line)
        if section:
            code = found[section.group(1)] = []
        elif re.match(r"\s*\.section", line):
            code = None
        elif code is not None:
            code += INSTRUCTION.findall(line)
    return found


def bound_of(text):
    """Name -> threads, tasks, elements and shared bytes, of the text of the kernels bound for a GPU."""
    found = {}
    for part in re.split(r"^kernel @", text, flags=re.M)[1:]:
        name, threads = re.match(r"(\w+) bound threads=(\d+)", part).groups()
        tasks = sum(int(t) for t in re.findall(r"region tasks=(\d+)", part))
        buffers = re.findall(r"b\d+: (\w+) (\w+)\[([\d,]*)\]([^\n]*)", part)
        size = lambda b: eval("*".join(b[2].split(",")) or "1")  # pylint: disable=eval-used
        shared = sum(size(b) * SIZES.get(b[1], 1) for b in buffers if b[0] == "local" and "private" not in b[3])
        found["nx_" + name] = {
            "threads": int(threads),
            "tasks": tasks,
            "elements": max(size(b) for b in buffers if b[0] != "local"),
            "shared": shared,
        }
    return found


def rows_of(nxc, isa, path):
    """(name, columns) of each kernel of a graph."""

    def dump(stage):
        done = subprocess.run([nxc, "dump", path, "--stage", stage, "--isa", isa], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr.strip())
        return done.stdout

    codes = kernels_of(dump("sass"))
    for name, bound in bound_of(dump("gpu")).items():
        row = measure(codes[name]) | bound
        row["SMs"] = round(row["tasks"] / MULTIPROCESSORS, 1)
        each = row["elements"] / (row["tasks"] * row["threads"])
        row["each"] = round(row["code"] / each, 1)
        yield f"{Path(path).stem} {name.removeprefix('nx_')}", row


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE.nxir")
    parser.add_argument("--nxc", default="nxc")
    parser.add_argument("--isa", default="sm_90")
    options = parser.parse_args()
    print(f"{'kernel':36}" + "".join(f"{c:>10}" for c in COLUMNS))
    for path in options.files:
        for name, row in rows_of(options.nxc, options.isa, path):
            print(f"{name:36}" + "".join(f"{row[c]:>10}" for c in COLUMNS))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
