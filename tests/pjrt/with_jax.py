# SPDX-License-Identifier: ISC
"""How a test of JAX on the plugin begins: its file is run a second time, by a Python that has JAX,
with the plugin in the environment. JAX_PYTHON is that Python (else this one); without JAX the test
is skipped."""

import os
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
ROOT = Path(__file__).resolve().parents[2]


def begin(run, platforms="nx,cpu", devices=1, last=""):
    """Calls run(library) in that Python, and ends this process with its status. The first argument
    is the library, further ones are platforms beside `nx` instead of those given. last: what has to
    be printed, since a program whose Python ends before it has run says nothing else."""
    if sys.argv[1] == "--run":
        sys.exit(run(sys.argv[2]))
    script, library, *others = sys.argv
    python = os.environ.get("JAX_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import jax"], capture_output=True, check=False).returncode:
        print("there is no JAX")
        sys.exit(SKIPPED)
    env = dict(
        os.environ,
        PJRT_NAMES_AND_LIBRARY_PATHS=f"nx:{library}",
        JAX_PLATFORMS=",".join(["nx", *others]) if others else platforms,
        PYTHONPATH=str(ROOT / "bindings/python"),
        NX_CPU_DEVICES=str(devices),
    )
    env.pop("JAX_COMPILATION_CACHE_DIR", None)
    done = subprocess.run(
        [python, script, "--run", library], env=env, capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    print(done.stdout, done.stderr[-6000:])
    sys.exit(done.returncode or last not in done.stdout)
