#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""sass_test.py NXC BUILD: the machine code of the kernels in sass/ is no worse than sass/table.txt
says, of which each line is what tools/sass_table.py prints. NX_BLESS=1 writes that file anew.
Skipped with 77 where the code would be another compiler's, or nothing prints it; the disassembler
is fetched as a package of Python if it is not here."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools"))
import sass_table  # noqa: E402  # pylint: disable=wrong-import-position

TABLE = HERE / "sass/table.txt"
ISA = "sm_90"
# Registers come in eights, and what a thread has of them decides little below 32.
MORE_REGISTERS, MORE_CODE = 8, 1.05


def skip(why):
    """Ends the test as one that cannot be run here."""
    print(f"skipped: {why}")
    sys.exit(77)


def find_disassembler(build):
    """Sets NX_NVDISASM."""
    package = build / "nvdisasm"
    if os.environ.get("NX_NVDISASM") or shutil.which("nvdisasm"):
        return
    if not list(package.glob("nvidia/*/bin/nvdisasm")):
        pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(package)]
        subprocess.run([*pip, "nvidia-cuda-nvdisasm"], check=False, capture_output=True)
    for program in package.glob("nvidia/*/bin/nvdisasm"):
        os.environ["NX_NVDISASM"] = str(program)
        return
    skip("no nvdisasm, and pip has no nvidia-cuda-nvdisasm")


def compiler(nxc):
    """What compiles, as it says of itself in PTX. Skips without it."""
    command = [nxc, "dump", str(HERE / "sass/add_f32.nxir"), "--stage", "ptx"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        skip(done.stderr.strip())
    lines = done.stdout.splitlines()
    return next(line for line in lines if "compilation tools" in line).strip("/ ")


def worse(row, before):
    """What of a row is worse than it was."""
    limits = [
        ("load", row["load"] < before["load"]),
        ("store", row["store"] < before["store"]),
        ("flight", row["flight"] < before["flight"]),
        ("spills", row["spills"] > before["spills"]),
        ("barriers", row["barriers"] > before["barriers"]),
        ("registers", row["registers"] > max(32, before["registers"] + MORE_REGISTERS)),
        ("each", row["each"] > before["each"] * MORE_CODE),
        ("tensor", row["tensor"] < before["tensor"]),
        ("SMs", row["SMs"] < min(1, before["SMs"])),
    ]
    return [f"{name} {row[name]}, was {before[name]}" for name, bad in limits if bad]


def read_table():
    """The compiler of the table, and its rows by name."""
    first, _, *lines = TABLE.read_text(encoding="utf-8").splitlines()[1:]
    rows = {}
    for line in lines:
        values = map(float, line[sass_table.NAME :].split())
        rows[line[: sass_table.NAME].strip()] = dict(zip(sass_table.COLUMNS, values))
    return first.removeprefix("# "), rows


def main():
    """Compares, or writes the table."""
    nxc, build = sys.argv[1], Path(sys.argv[2])
    find_disassembler(build)
    now = compiler(nxc)
    bless = os.environ.get("NX_BLESS")
    then, table = (now, {}) if bless else read_table()
    if then != now:
        skip(f"the table is of {then}, and here is {now}")
    lines, faults = [], []
    for path in sorted((HERE / "sass").glob("*.nxir")):
        for name, row in sass_table.rows_of(nxc, ISA, str(path)):
            lines.append(sass_table.line(name, row))
            if name in table:
                faults += [f"{name}: {w}" for w in worse(row, table[name])]
            elif not bless:
                faults.append(f"{name}: not in the table")
    if bless:
        head = f"# SPDX-License-Identifier: ISC\n# {now}\n{sass_table.head()}\n"
        TABLE.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    for fault in faults:
        print(fault)
    print(f"{len(lines)} kernels, {len(faults)} worse")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
