#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Small jobs that show what the library does. Usage: demo.sh BUILD_DIRECTORY (./dev demo calls it).
# Starts with an empty kernel cache, so that what compiling costs can be seen.
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

title "4. a recurrent network, trained through a scan (examples/rnn.c)"
"$build/examples/example-rnn"

title "5. the Mandelbrot set by a while loop, which is one kernel (examples/mandelbrot.c)"
"$build/examples/example-mandelbrot" "$build/mandelbrot.png"

title "6. a decoder that writes its cache in place (examples/decoder.c)"
"$build/examples/example-decoder"

title "7. k-means, a loop that stops by itself (examples/kmeans.c)"
"$build/examples/example-kmeans"

title "8. data-parallel training on 1 to 8 devices of the processor (examples/parallel.c)"
"$build/examples/example-parallel"
if command -v mpirun >/dev/null; then
  echo "\$ mpirun -n 4 example-parallel --processes"
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    mpirun --oversubscribe -n 4 "$build/examples/example-parallel" --processes
fi
