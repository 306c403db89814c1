#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""sass_table.py [--nxc PROGRAM] [--isa sm_90] FILE.nxir...: what the machine code of a GPU says of
each kernel of graphs, generated or written by hand, without a GPU: one line a kernel.

  threads, tasks   of a block, and how many blocks there is work for; SMs: blocks for each of the
                   multiprocessors of an H200
  registers        of a thread; spills: loads and stores of variables that found none
  load, store      the widest access of a thread to memory, in bits; 128 is the best
  flight           bytes of loads that a thread has under way before it uses the first of them
  code, each       instructions, and how many for each element of the largest array, if the code
                   runs once through
  barriers         of a block
  shared           bytes of shared memory that a block has
  tensor           instructions of tensor cores

Kernels of linear algebra are launched for one part of a matrix after another, and nobody knows the
tasks before: 0, and so is what is reckoned by them.

nvdisasm prints the code (docs/cuda.md)."""
import argparse
import math
import os
import re
import subprocess
from pathlib import Path

MULTIPROCESSORS = 132
NAME = 40
SIZES = {"f64": 8, "i64": 8, "u64": 8, "f32": 4, "i32": 4, "u32": 4}
SIZES |= {"f16": 2, "bf16": 2, "i16": 2, "u16": 2}
COLUMNS = ("threads", "tasks", "SMs", "registers", "spills", "load", "store", "flight")
COLUMNS += ("code", "each", "barriers", "shared", "tensor")
# One instruction: a predicate, perhaps; its name with its suffixes; its operands.
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d\s+)?([A-Z][\w.]*)\s*([^;]*);")
REGISTER = re.compile(r"\bR(\d+)\b")


def width(name):
    """Bits of one access by its suffixes; 32 without any."""
    suffixes = {".128": 128, ".64": 64, ".U16": 16, ".S16": 16, ".U8": 8, ".S8": 8}
    return next((bits for suffix, bits in suffixes.items() if suffix in name), 32)


def registers_of(bits, operand):
    """The registers that an access of so many bits fills, from the first operand on."""
    first = REGISTER.match(operand)
    if not first:
        return set()
    number = int(first.group(1))
    return set(range(number, number + max(1, bits // 32)))


def is_load(name):
    """Whether it loads from memory: to registers or, by itself, to shared memory."""
    return name.startswith("LDG") and not name.startswith("LDGDEPBAR")


def in_flight(code):
    """The most bytes of loads from memory that are under way at once. Code that waits for one load
    waits for those before it, too."""
    under_way, best = [], 0
    for name, operands in code:
        target, _, rest = operands.partition(",")
        load = is_load(name)
        used = {int(r) for r in REGISTER.findall(rest if load else operands)}
        if name.startswith(("BAR", "EXIT")) or any(filled & used for filled, _ in under_way):
            under_way = []
        if load:
            under_way.append((registers_of(width(name), target.strip()), width(name) // 8))
            best = max(best, sum(size for _, size in under_way))
    return best


def measure(code):
    """What the instructions of one kernel say."""
    names = [name for name, _ in code if not name.startswith("NOP")]
    loads = [width(n) for n in names if is_load(n)]
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
        "tensor": sum(n.startswith(("HMMA", "IMMA")) for n in names),
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
    """Name -> threads, tasks, elements, shared bytes; of the text of kernels bound for a GPU."""
    found = {}
    for part in re.split(r"^kernel @", text, flags=re.M)[1:]:
        name, threads = re.match(r"(\w+) bound threads=(\d+)", part).groups()
        tasks = sum(int(t) for t in re.findall(r"region tasks=(\d+)", part))
        buffers = re.findall(r"b\d+: (\w+) (\w+)\[([\d,]*)\]([^\n]*)", part)
        shared, largest = 0, 1
        for kind, dtype, shape, words in buffers:
            elements = math.prod(int(n) for n in shape.split(",") if n)
            if kind != "local":
                largest = max(largest, elements)
            elif "private" not in words:
                shared += elements * SIZES.get(dtype, 1)
        sizes = {"threads": int(threads), "tasks": tasks, "elements": largest, "shared": shared}
        found["nx_" + name] = sizes
    return found


def written_of(text):
    """Name -> the same of hand-written kernels in CUDA C: each has it in a comment."""
    found = {}
    for part in re.findall(r"^namespace nx_own_\d+ \{.*?^\}$", text, flags=re.M | re.S):
        words = re.search(r"^// (threads=.*)$", part, flags=re.M).group(1).split()
        sizes = {key: int(value) for key, value in (w.split("=") for w in words)}
        sizes["tasks"] = sizes.pop("blocks")
        name = re.search(r"__launch_bounds__\([^{;]*?\b(\w+_\d+)\(", part, flags=re.S).group(1)
        found[name] = sizes
    return found


def rows_of(nxc, isa, path):
    """(name, columns) of each kernel of a file."""
    def dump(stage):
        command = [nxc, "dump", path, "--stage", stage, "--isa", isa]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(done.stderr.strip())
        return done.stdout

    codes = kernels_of(dump("sass"))
    for name, bound in (bound_of(dump("gpu")) | written_of(dump("cuda"))).items():
        row = measure(codes[name]) | bound
        row["SMs"] = round(row["tasks"] / MULTIPROCESSORS, 1)
        each = row["elements"] / max(1, row["tasks"] * row["threads"])
        row["each"] = round(row["code"] / each, 1) if row["tasks"] > 0 else 0.0
        yield f"{Path(path).stem} {name.removeprefix('nx_')}", row


def head():
    """The first line of the table."""
    return "kernel".ljust(NAME) + "".join(f"{c:>10}" for c in COLUMNS)


def line(name, row):
    """The line of a kernel."""
    return name.ljust(NAME) + "".join(f"{row[c]:>10}" for c in COLUMNS)


def main():
    """Prints the table."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--nxc", default="nxc")
    parser.add_argument("--isa", default="sm_90")
    options = parser.parse_args()
    print(head())
    for path in options.files:
        for name, row in rows_of(options.nxc, options.isa, path):
            print(line(name, row), flush=True)


if __name__ == "__main__":
    main()
