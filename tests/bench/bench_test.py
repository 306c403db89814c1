# SPDX-License-Identifier: ISC
"""Every row of nx-bench on tiny operands: its result is that of NumPy, where this Python has that;
what is timed comes out as one object a line; and the page and the chart are made of such lines.

Usage: bench_test.py NX_BENCH SOURCE_ROOT"""

import argparse
import json
import subprocess
import sys
import tempfile
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
    assert int(said.split()[0]) > 300, said


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


def test_choice():
    """Rows are listed, left out by name, and not begun when time is up."""
    group = ("--group", "scans", "--peers", "none")
    names = bench("--list", *group).splitlines()
    assert len(names) > 5 and names[0] == "scans cumsum axis 0 4096^2", names
    with tempfile.NamedTemporaryFile("w") as without:
        without.write("\n".join(names[1:]) + "\nscans cumsum axis 0 4096^20")
        without.flush()
        left = bench("--without", without.name, "--list", *group)
    assert left.splitlines() == names[:1], left
    assert bench("--seconds", "0.000001", *group).startswith("0 rows"), "rows began late"


def test_going_on():
    """A run goes on with the rows that the file has not, and keeps what it knows of the others."""
    import measurements

    with tempfile.TemporaryDirectory() as folder:
        measurements.FOLDER = Path(folder)
        measurements.isas_here = lambda program: ["generic"]
        options = argparse.Namespace(program=program, python=sys.executable, peers="none", rounds=1)
        for name in ("threads", "isa", "part"):
            setattr(options, name, None)
        options.group, options.only, options.processor = "moves", "roll + add 1e4", "a b"
        options.threads, options.seconds, options.hours = "1", 60, 1
        path = measurements.file_of("a b")
        measurements.machine = lambda python: {"nx": "one", "date": "1", "processors": 2}
        measurements.measured(options)
        measurements.machine = lambda python: {"nx": "two", "date": "2", "processors": 2}
        options.only = "1e4"
        measurements.measured(options)
        rows = measurements.read(path)
    found = {row["name"]: (row["nx"], row["date"]) for row in rows.values()}
    assert found["roll + add 1e4"] == ("one", "1"), found
    assert found["concat 4 then double 1e4"] == ("two", "2") and len(found) == 2, found
    assert all(row["seconds"] >= 0 for row in rows.values()), rows


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


for test in (test_results, test_timing, test_choice, test_going_on, test_refusals, test_page):
    test()
