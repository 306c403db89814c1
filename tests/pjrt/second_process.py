# SPDX-License-Identifier: ISC
"""A second process takes its programs from JAX's compilation cache and its kernels from those on
disk: it compiles none, and does not even load LLVM. Usage: second_process.py LIBRARY; see
with_jax.py."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import with_jax


def has_llvm():
    return "libnx-llvm" in Path("/proc/self/maps").read_text()


def step():
    import jax
    from jax import numpy as jnp

    def loss(w, x):
        h = x
        for k in range(3):
            h = jnp.tanh(h @ w[k]) + jnp.sin(h) * jnp.exp(-h * h)
        return jnp.mean(jnp.sort(h, 1) ** 2)

    w = [jnp.eye(32) * 0.5 + k * 0.01 for k in range(3)]
    x = jnp.sin(jnp.arange(64 * 32.0)).reshape(64, 32)
    new = jax.jit(lambda w: jax.tree.map(lambda a, g: a - 0.1 * g, w, jax.grad(loss)(w, x)))(w)
    print(float(new[0].sum()).hex(), has_llvm())


def process(folder, number):
    """What a process prints, how many kernels it compiled, and the files of both caches then."""
    trace = Path(folder, f"trace.{number}.json")
    environment = os.environ | {
        "NX_CACHE_DIR": f"{folder}/nx", "NX_BACKGROUND": "off", "NX_TRACE": str(trace),
        "JAX_COMPILATION_CACHE_DIR": f"{folder}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}  # fmt: skip
    done = subprocess.run([sys.executable, __file__, "--step"], env=environment,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    events = json.loads(trace.read_text())
    events = events if isinstance(events, list) else events["traceEvents"]
    compiled = sum(e.get("cat") == "compile" for e in events)
    files = [sorted(p.name for p in Path(folder, f).iterdir() if not p.name.endswith("-atime"))
             for f in ("nx", "jax")]  # fmt: skip
    return done.stdout.split(), compiled, files


def run(library):
    with tempfile.TemporaryDirectory() as folder:
        (value, llvm), compiled, files = process(folder, 1)
        if llvm == "False":
            return print("nothing is compiled here")
        assert compiled > 0 and files[0] and files[1], (compiled, files)
        for number in (2, 3):
            (again, llvm), compiled, kept = process(folder, number)
            assert again == value, (value, again)
            assert compiled == 0, f"process {number} compiled {compiled} kernels"
            assert llvm == "False", f"process {number} loaded LLVM"
            assert kept == files, (files, kept)
    return None


if __name__ == "__main__":
    if sys.argv[1] == "--step":
        step()
    else:
        with_jax.begin(run)
