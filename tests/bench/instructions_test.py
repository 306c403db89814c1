# SPDX-License-Identifier: ISC
"""Instructions that the library itself takes around tiny graphs (bench/steps.c), counted by
callgrind, beside those of instructions.txt. Over 5 % more is a fault; NX_BLESS=1 writes the record.
Counts depend on the compiler and its options, so another build than that of the record is skipped.
The kernels are those of AVX2: callgrind knows no AVX-512.

Usage: instructions_test.py NX_BENCH_STEPS RECORD BUILD; BUILD names the compiler and the options.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SLACK = 1.05
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def count(program):
    """Instructions of each function counted_NAME with all that it calls."""
    environment = {**os.environ, "NX_ISA": "avx2", "NX_EXECUTOR": "llvm"}
    environment.pop("MALLOC_PERTURB_", None)  # Meson's; memory that is overwritten is counted, too
    with tempfile.TemporaryDirectory() as folder:
        profile = f"{folder}/profile"
        run = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        run += ["--collect-atstart=no", "--toggle-collect=counted_*", program]
        done = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{program} under valgrind: {done.returncode}\n{done.stderr}")
        annotate = ["callgrind_annotate", "--inclusive=yes", "--threshold=100", profile]
        said = subprocess.run(annotate, capture_output=True, text=True, check=True).stdout
    lines = re.findall(r"^ *([\d,]+) .*:counted_(\w+)", said, re.MULTILINE)
    return {name: int(n.replace(",", "")) for n, name in lines}


def write(record, build, counts):
    lines = ["# SPDX-License-Identifier: ISC", f"# {build}"]
    lines += ["# Written by instructions_test.py with NX_BLESS=1"]
    lines += [f"{name:16} {n:10}" for name, n in sorted(counts.items())]
    record.write_text("\n".join(lines) + "\n")


def main():
    program, record, build = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    if shutil.which("valgrind") is None:
        skip("no valgrind")
    blessed = "NX_BLESS" in os.environ
    lines = record.read_text().splitlines() if record.exists() else []
    if not blessed and f"# {build}" not in lines:
        skip(f"the record is of another build than {build}")
    counts = count(program)
    if blessed:
        write(record, build, counts)
        return
    recorded = {line.split()[0]: int(line.split()[1]) for line in lines if line[0] != "#"}
    if counts.keys() != recorded.keys():
        sys.exit(f"counted {sorted(counts)}, recorded {sorted(recorded)}")
    faults = 0
    for name, n in sorted(counts.items()):
        print(f"{name}: {n} instructions, recorded {recorded[name]}: {n / recorded[name]:.3f}")
        faults += n > recorded[name] * SLACK
    if faults:
        sys.exit(f"{faults} of them have grown; NX_BLESS=1 records that")


main()
