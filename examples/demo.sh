#!/usr/bin/env bash
# SPDX-License-Identifier: ISC Three small jobs that show what the library does. Usage: demo.sh
# BUILD_DIRECTORY (./dev demo calls it). Starts with an empty kernel cache, so that what compiling
# costs can be seen.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
python=/usr/bin/python3
[ -x $python ] || python=python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export NX_CACHE_DIR=$work/cache

title() { printf '\n==== %s\n\n' "$*"; }

title "1. softmax of a 4096 x 1024 matrix, recorded in C (examples/softmax.c)"
"$build/examples/example-softmax"

title "2. a graph in text form over .npy files that NumPy made (examples/layer_norm.nxir)"
if ! $python -c 'import numpy' 2>/dev/null; then
  echo "no NumPy here; skipped"
else
  $python - "$work" <<'END'
import sys, numpy as np
r = np.random.default_rng(7)
for name, shape in ("x", (2048, 1024)), ("gain", 1024), ("bias", 1024):
    np.save(f"{sys.argv[1]}/{name}.npy", r.standard_normal(shape, dtype="f4"))
END
  echo "\$ nxc run examples/layer_norm.nxir --input x=x.npy --input gain=gain.npy --input bias=bias.npy --output y=y.npy --time"
  "$build/tools/nxc" run examples/layer_norm.nxir --input x="$work/x.npy" --input gain="$work/gain.npy" \
    --input bias="$work/bias.npy" --output y="$work/y.npy" --time
  $python - "$work" <<'END'
import sys, numpy as np
x, gain, bias, y = (np.load(f"{sys.argv[1]}/{n}.npy") for n in ("x", "gain", "bias", "y"))
d = x - x.mean(1, keepdims=True, dtype="f8")
want = d / np.sqrt((d * d).mean(1, keepdims=True) + 2.0**-17) * gain + bias
error = np.abs(y - want).max()
print(f"NumPy in double precision agrees to {error:.1e}")
sys.exit(not error < 1e-5)
END
fi

title "3. a network learns two spirals (examples/spirals.c)"
"$build/examples/example-spirals" "$build/spirals.png"
