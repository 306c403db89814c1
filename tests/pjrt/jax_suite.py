# SPDX-License-Identifier: ISC
"""JAX's own tests on the plugin, and on JAX's own processor backend beside it: a table by file,
and the names of those that pass there and not here. The tests are those of a copy of JAX's
repository that JAX_SOURCE names, best of the version that is installed; JAX_PYTHON is a Python that
has JAX and pytest. Skipped without the two.

Usage: jax_suite.py PLUGIN [--files A,B] [--cases N] [--seconds N] [--jobs N] [--platforms nx,cpu]
[--seed N]

cases: how many generated cases a test has. seed: draws other cases and numbers than JAX does
(other_cases.py). seconds: of one file, at most. platforms: what
JAX_PLATFORMS is for all files, in place of what each wants."""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FILES = (
    "lax_test lax_control_flow_test lax_numpy_test lax_numpy_operators_test "
    "lax_numpy_reducers_test lax_numpy_indexing_test lax_vmap_test lax_autodiff_test "
    "linalg_test fft_test random_test nn_test api_test pjit_test shard_map_test array_test "
    "python_callback_test debugging_primitives_test"
).split()
# On eight devices.
DIVIDED = set(
    "pjit_test shard_map_test array_test python_callback_test debugging_primitives_test".split()
)
# These ask for JAX's own processor backend beside the plugin's.
WITH_CPU = set("lax_control_flow_test lax_numpy_test api_test pjit_test array_test".split())
HERE = Path(__file__).resolve().parent


def environment(plugin, file, cases, platforms, seed):
    own = dict(os.environ, JAX_NUM_GENERATED_CASES=str(cases), PYTHONDONTWRITEBYTECODE="1")
    own["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE.parents[1] / "bindings/python")])
    own["JAX_TEST_SEED"] = seed
    own.pop("NX_BACKGROUND", None)  # which Meson's tests switch off
    devices = "8" if file in DIVIDED else "1"
    if plugin:
        platforms = platforms or ("nx,cpu" if file in WITH_CPU else "nx")
        own.update(PJRT_NAMES_AND_LIBRARY_PATHS=f"nx:{plugin}", JAX_PLATFORMS=platforms)
        own["NX_CPU_DEVICES"] = devices
    else:
        own["JAX_PLATFORMS"] = "cpu"
        own["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    return own


def run(plugin, file, o):
    """What became of each test: passed, failed or skipped; and how the run ended."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        words = [os.environ["JAX_PYTHON"], "-m", "pytest", "-q", "-x" if o.first else "-q",
                 f"tests/{file}.py", f"--junitxml={report}", "-p", "no:cacheprovider"]
        words += ["-p", "other_cases"] if o.seed else []
        words += ["-p", "nx_callbacks"] if plugin else []
        try:
            done = subprocess.run(
                words,
                cwd=os.environ["JAX_SOURCE"],
                env=environment(plugin, file, o.cases, o.platforms, o.seed),
                timeout=o.seconds,
                capture_output=True,
                text=True,
            )
        except subprocess.TimeoutExpired:
            return {}, f"not done after {o.seconds} s"
        if not report.exists():
            return {}, "ended: " + (done.stdout + done.stderr)[-400:]
        became = {}
        for case in xml.parse(report).iter("testcase"):
            what = {child.tag for child in case}
            became[case.get("name")] = (
                "failed" if what & {"failure", "error"} else "skipped" if "skipped" in what
                else "passed")
        return became, ""


def count(became, what):
    return sum(1 for x in became.values() if x == what)


def compare(plugin, file, o):
    theirs, how = run(None, file, o)
    ours, ended = run(plugin, file, o)
    lost = [n for n, x in theirs.items() if x == "passed" and ours.get(n) != "passed"]
    return file, theirs, ours, lost, how or ended


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plugin")
    parser.add_argument("--files", default=",".join(FILES))
    parser.add_argument("--cases", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--platforms", default="")
    parser.add_argument("--seed", default="")
    parser.add_argument("--first", action="store_true", help="end a file at its first failure")
    o = parser.parse_args()
    if not os.environ.get("JAX_SOURCE") or not os.environ.get("JAX_PYTHON"):
        print("skipped: JAX_SOURCE and JAX_PYTHON name no copy of JAX's repository and no Python")
        return 77
    plugin = str(Path(o.plugin).resolve())
    files = [re.sub(r"\.py$", "", f) for f in o.files.split(",")]
    passed = theirs_passed = 0
    print("| file | passed here | of those that pass on JAX's processor backend | skipped |")
    print("|---|---|---|---|", flush=True)
    missing = []
    with ThreadPoolExecutor(o.jobs) as pool:
        for file, theirs, ours, lost, ended in pool.map(lambda f: compare(plugin, f, o), files):
            n = count(theirs, "passed")
            theirs_passed, passed = theirs_passed + n, passed + n - len(lost)
            print(f"| `{file}` | {count(ours, 'passed')} | {n - len(lost)} of {n} | "
                  f"{count(ours, 'skipped')} | {ended}", flush=True)
            missing += [f"{file}: {name}" for name in lost]
    print(f"{passed} of {theirs_passed}: {100 * passed / max(theirs_passed, 1):.1f} %")
    print(*missing, sep="\n")
    return 0 if passed >= 0.98 * theirs_passed > 0 else 1


sys.exit(main())
