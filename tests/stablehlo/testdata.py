# SPDX-License-Identifier: ISC
"""StableHLO's own test data: the programs that JAX's tests lower to, with what they must give, in
stablehlo/testdata of a copy of its repository that STABLEHLO_SOURCE names; skipped without one.
Where this Python has jaxlib, each is run as a portable artifact, too.

Usage: testdata.py STABLEHLO_CHECK."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path


def artifacts(files, directory):
    """The files as artifacts of the version that jaxlib writes; operations of CHLO have none."""
    try:
        from jaxlib.mlir.dialects import stablehlo
    except ImportError:
        return []
    made = []
    for file in files:
        try:
            data = stablehlo.serialize_portable_artifact_str(
                file.read_text(), stablehlo.get_current_version())
        except ValueError:
            continue
        made.append(Path(directory) / (file.name + "bc"))
        made[-1].write_bytes(data)
    return made


def run(program, files):
    if not files:
        return 0
    done = subprocess.run([program, *map(str, files)], capture_output=True, text=True)
    print("\n".join(done.stdout.splitlines()[-40:]))
    return done.returncode


root = os.environ.get("STABLEHLO_SOURCE")
if not root:
    print("skipped: STABLEHLO_SOURCE names no copy of StableHLO's repository")
    sys.exit(77)
texts = sorted(Path(root, "stablehlo/testdata").glob("*.mlir"))
with tempfile.TemporaryDirectory() as directory:
    status = run(sys.argv[1], texts)
    quantized = [f for f in sorted(Path(root, "stablehlo/testdata/quantized").glob("*.mlir"))
                 if "// -----" not in f.read_text()]  # others: interpret.py
    status |= run(sys.argv[1], artifacts(texts + quantized, directory))
sys.exit(status or not texts)
