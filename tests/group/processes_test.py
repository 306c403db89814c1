#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Groups of processes under mpirun: every collective beside a reference, members that differ, one
that comes late, one that dies. No job hangs, and each process says why it failed.

Usage: processes_test.py PROCESS EXAMPLE. Skipped (77) where there is no mpirun of Open MPI."""

import os
import re
import shutil
import subprocess
import sys


# This machine alone, and whatever user and container the test runs in.
HERE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_plm": "isolated",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    # Open MPI does not free all of what it loaded and closed again.
    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0",
}


def run(process, ranks, *arguments, options=()):
    """Exit status, and the lines of each rank."""
    command = ["mpirun", "--oversubscribe", "--bind-to", "none", *options, "-n", str(ranks)]
    done = subprocess.run(
        [*command, process, *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | HERE,
        check=False,
    )
    lines = {}
    for number, said in re.findall(r"^rank (\d+): (.*)$", done.stdout, re.MULTILINE):
        lines.setdefault(int(number), []).append(said)
    return done.returncode, lines, done.stdout + done.stderr


def fail(what, output):
    sys.exit(f"{what}:\n{output}")


def expect(what, result, words, ranks, good=True):
    """Each of these ranks says one line that has the words."""
    code, lines, output = result
    if good and code != 0:
        fail(f"{what} ends with {code}", output)
    for rank in ranks:
        said = lines.get(rank, [])
        if not any(words in line for line in said):
            fail(f"{what}: rank {rank} does not say {words!r}", output)


def same_bits(example):
    """The example ends with the same bits on its devices and as processes."""
    alone = subprocess.run([example], capture_output=True, text=True, timeout=100, check=False)
    for ranks in (1, 4):
        _, _, output = run(example, ranks, "--processes")
        bits = set(re.findall(r"end with the bits (\w+)", alone.stdout + output))
        if "end with the bits" not in output or len(bits) != 1:
            fail(f"{ranks} processes have other bits than devices", alone.stdout + output)


def main():
    process = sys.argv[1]
    mpirun = shutil.which("mpirun")
    version = mpirun and subprocess.run(
        [mpirun, "--version"], capture_output=True, text=True, check=False
    ).stdout
    if not version or "Open MPI" not in version:
        print("there is no mpirun of Open MPI (Debian: openmpi-bin)")
        sys.exit(77)
    code, lines, output = run(process, 1, "none")
    if code != 0 and "MPI cannot be used" in output:
        print(lines)
        sys.exit(77)
    expect("4 processes", run(process, 4, "all"), "good", range(4))
    expect("2 groups", run(process, 4, "groups"), "is 0 of 2, gathers 2 0", [2])
    words = "rank 0 calls all_reduce sum f32[8,8], rank 1 calls all_reduce sum f32[64]"
    expect("shapes", run(process, 4, "shapes"), words, range(4))
    expect("order", run(process, 4, "order"), "rank 2 calls all_gather f32[8,8]", range(4))
    forked = run(process, 2, "forks", "20000")
    for words in (
        "NX_DEVICE_UNAVAILABLE: all_reduce: .* is the process that forked this one",
        "it belongs to the process that forked this one",
        "its child ends with 0, and it goes on",
    ):
        if forked[0] != 0 or len(re.findall(words, forked[2])) != 2:
            fail(f"forks: not said by both: {words}", forked[2])
    late = run(process, 3, "late", "300")
    expect("late", late, "NX_TIMED_OUT: all_reduce", [0, 2], good=False)
    code, _, output = run(process, 3, "killed", "60000")  # mpirun ends the others
    if code == 0:
        fail("a killed process is not noticed", output)
    left = run(process, 3, "killed", "1000", options=["--enable-recovery"])  # and here it does not
    expect("killed", left, "all_reduce", [0, 2], good=False)
    for rank in (0, 2):
        if not re.search("NX_TIMED_OUT|NX_DEVICE_LOST", " ".join(left[1][rank])):
            fail("killed: the others fail otherwise", left[2])
    same_bits(sys.argv[2])


main()
