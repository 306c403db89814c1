# SPDX-License-Identifier: ISC
"""Every row of nx-bench on tiny operands: its result is that of NumPy, where this Python has that;
what is timed comes out as one object a line; and the page and the chart are made of such lines.

Usage: bench_test.py NX_BENCH SOURCE_ROOT"""

import json
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

program, root = sys.argv[1], Path(sys.argv[2])
sys.dont_write_bytecode = True
sys.path.insert(0, str(root / "bench"))


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


def test_page():
    """Two processors: a row that a peer wins is on the page and in the chart, as others are."""
    import measurements_page

    row = {
        **{"group": "rows", "dtype": "f32", "size": 9, "threads": 2, "isa": "avx2", "ms": 2.0},
        **{"limit_ms": 1.0, "of_limit": 0.5, "target": 0, "kernels": 1, "compile_ms": 0},
    }
    won = dict(row, name="won", peers={"NumPy": 6.0}, ratios={"NumPy": 3.0})
    lost = dict(row, name="lost", peers={"JAX": 1.0}, ratios={"JAX": 0.5, "NumPy": 3.0})
    alone = dict(row, name="alone", peers={"written whole": 1.0}, ratios={"written whole": 0.5})
    about = {"processor": "A", "processors": 2, "memory_gib": 4, "system": "S", "nx": "0"}
    about |= {"versions": {"numpy": "2"}, "date": "2026-01-01"}
    machines = [
        {"machine": about, "rows": [won, lost]},
        {"machine": dict(about, processor="B"), "rows": [dict(won, isa="avx512"), alone]},
    ]
    page, chart = measurements_page.page(machines), measurements_page.chart(machines)
    assert "| won | f32 | 2.00; 0.50; NumPy 3.00 | 2.00; 0.50; NumPy 3.00 |" in page, page
    assert "| lost | f32 | 2.00; 0.50; JAX 0.500 |  |" in page, page
    assert "| alone | f32 |  | 2.00; 0.50 |" not in page and "| alone | f32 |" in page, page
    assert "1 of 2; 0.816" in page, page  # of 3 and 1/2 the mean is sqrt(1.5)
    points = [e for e in xml.etree.ElementTree.fromstring(chart).iter() if e.tag.endswith("circle")]
    assert [e.get("class") for e in points] == ["lost", "row"], chart


for test in (test_results, test_timing, test_refusals, test_page):
    test()
