# SPDX-License-Identifier: ISC
"""Every row of nx-bench on tiny operands: its result is that of NumPy, where this Python has that,
and what is timed comes out as one object a line.

Usage: bench_test.py NX_BENCH SOURCE_ROOT"""

import json
import subprocess
import sys

program = sys.argv[1]


def bench(*options):
    command = [program, "--python", sys.executable, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_results():
    said = bench("--peers", "numpy", "--rounds", "0", "--largest", "24")
    assert int(said.split()[0]) > 200, said


def test_timing():
    """The fields of a row; the limit of one that moves bytes; and a peer's time, which it takes."""
    said = bench(
        *("--peers", "numpy", "--rounds", "2", "--json", "--group", "elementwise,rows"),
        *("--only", "1e5", "--threads", "1", "--largest", "5000"),
    )
    rows = [json.loads(line) for line in said.splitlines()]
    assert len(rows) >= 5, said
    for row in rows:
        assert row["ms"] > 0 and row["threads"] == 1 and row["isa"] and row["group"], row
        assert row["limit_ms"] > 0 and row["of_limit"] > 0, row
        assert set(row["peers"]) == set(row["ratios"]), row
        assert all(ms > 0 for ms in row["peers"].values()), row


def test_refusals():
    for options in (["--group", "none"], ["--threads", "0"], ["--rounds"], ["--wrong", "1"]):
        done = subprocess.run([program, *options], capture_output=True, check=False)
        assert done.returncode == 2, f"{options}: {done.returncode}"


for test in (test_results, test_timing, test_refusals):
    test()
