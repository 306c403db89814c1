#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""dump_test.py NXC: what `nxc dump --stage cuda` prints of a graph with sorts, a scan, a scatter, a
factor, attention and a loop is one file, with the hand-written kernels of these, that nvcc compiles
by itself without a warning. Without nvcc: skipped with 77, after counting the kernels."""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

GRAPH = Path(__file__).resolve().parent / "dump_all.nxir"
ISA = "sm_90"
# Of a sort of long rows, a scan, a loop, a factor, a scatter, an argsort of a short row.
WRITTEN = ("count", "begin", "pass_rows", "scan", "tell", "small_cholesky_f64", "elements")
WRITTEN += ("element_keys", "rows_in_lanes")


def main():
    """Dumps, counts, compiles."""
    nxc = sys.argv[1]
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    command = [nxc, "dump", str(GRAPH), "--stage", "cuda", "--isa", ISA]
    source = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = re.findall(r"__launch_bounds__\([^)]*\) nx_(\w+)\(", source)
    missing = [w for w in WRITTEN if not any(re.fullmatch(rf"{w}_\d+", n) for n in names)]
    if missing or len(set(names)) != len(names):
        sys.exit(f"not there: {missing}; there: {names}")
    if sum(n.startswith("count_") for n in names) != 1:
        sys.exit(f"one of two equal sorts is there twice: {names}")
    if nvcc is None:
        print("skipped: no nvcc")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "all.cu"
        file.write_text(source, encoding="utf-8")
        options = ["--std=c++17", "-fmad=false", f"-arch={ISA}", "-Werror", "all-warnings"]
        compiled = subprocess.run(
            [nvcc, *options, "-cubin", "-o", str(file.with_suffix(".cubin")), str(file)],
            capture_output=True,
            text=True,
            check=False,
        )
    if compiled.returncode != 0:
        sys.exit(compiled.stderr[:4000])
    print(f"{len(names)} kernels")


if __name__ == "__main__":
    main()
