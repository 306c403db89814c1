#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# parts.sh PART --out DIR [--seconds N] [--jobs N] [--graphs N] [--python FILE] [--again]
#
# The parts of ./dev gpu that need a GPU, from the folder that `./dev gpu --part build` fills, of
# which this script is a part: check, stress, bench, peers. It needs bash, GNU's coreutils, sed and
# the driver; NVRTC and the other libraries of CUDA where the library looks for them, which includes
# those of a Python that has them. A part ends within its seconds (440), and what it has done is in
# DIR from then on, in a file or two for each part. Called again it goes on with what is missing;
# --again: also with what failed. Exit status: 0: all is well; 1: something is wrong; 3: something
# is left; 77: there is no GPU. To try it: NXT_ONLY=TEXT for one operation and the cases that have it,
# NXT_SHRINK=N for rows that much smaller.
set -uo pipefail
export PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin} LC_ALL=C
here=${BASH_SOURCE[0]%/*}
[ "$here" != "${BASH_SOURCE[0]}" ] || here=.
here=$(cd "$here" && pwd)
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

part=${1:-} out='' seconds=440 jobs='' graphs=1000 python=python3 again=''
[ $# -eq 0 ] || shift
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift 2 ;;
    --seconds) seconds=$2; shift 2 ;;
    --jobs) jobs=$2; shift 2 ;;
    --graphs) graphs=$2; shift 2 ;;
    --python) python=$2; shift 2 ;;
    --again) again=1; shift ;;
    *) echo "parts.sh: $1?" >&2; exit 2 ;;
  esac
done
[ -n "$out" ] || { sed -n 's/^# //p' "$here/parts.sh" | sed -n 1,14p >&2; exit 2; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
jobs=${jobs:-$(nproc)}
end=$((SECONDS + seconds))

# The environment of that Python has libraries of CUDA, perhaps.
if [ -z "${VIRTUAL_ENV:-}" ] && environment=$("$python" -c 'import sys; print(sys.prefix)' 2>/dev/null); then
  export VIRTUAL_ENV=$environment
fi
# Kernels are compiled by many processes at once; a cache is read by those that come later.
export NX_CACHE_DIR=${NX_CACHE_DIR-$work/cache}

left() { echo $((end > SECONDS ? end - SECONDS : 0)); }

# ---- jobs: NAME COMMAND.. in the background, as many at a time as there are processors. Each adds
# its output to the part's log, and its line to what is done.

log=$out/$part.log done=$out/$part.done
touch "$done"
[ -z "$again" ] || sed -i '/ status 0,/!d' "$done"

is_done() { grep -q "^$1: status " "$done"; }

one() {
  local name=$1 status=0 begin=$SECONDS seconds
  shift
  seconds=$(left)
  [ "$seconds" -gt 0 ] || return 0
  timeout -k 5 "$seconds" "$@" >"$work/$name.log" 2>&1 || status=$?
  {
    flock 9
    printf '==== %s: %s\n' "$name" "$*" >>"$log"
    tail -c 60000 "$work/$name.log" >>"$log"
    if [ $status -eq 124 ] || [ $status -eq 137 ]; then
      echo "==== $name was cut" >>"$log"
    else
      echo "$name: status $status, $((SECONDS - begin)) s, $(tail -n 1 "$work/$name.log" | cut -c 1-200)" | tee -a "$done"
    fi
  } 9>"$work/lock"
}

all_jobs=()
job() {
  all_jobs+=("$1")
  is_done "$1" && return
  while [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; do wait -n; done
  [ "$(left)" -gt 0 ] || return 0
  one "$@" &
}

# After all jobs of a part: what it came to.
finish() {
  local name failed=0 missing=0
  wait
  for name in "${all_jobs[@]}"; do
    if ! is_done "$name"; then missing=$((missing + 1))
    elif ! grep -q "^$name: status 0," "$done"; then failed=$((failed + 1)); fi
  done
  echo "$part: ${#all_jobs[@]} jobs, $failed failed, $missing left; $done, $log"
  [ $failed -eq 0 ] || exit 1
  [ $missing -eq 0 ] || exit 3
}

# ---- check: what is here, graphs beside the interpreter, the whole contract

need_gpu() {
  "$here/bin/nxc" info >"$work/info" 2>&1
  "$here/bin/device_random" cuda 1 1 >"$work/first" 2>&1
  [ $? -ne 77 ] || { cat "$work/first"; exit 77; }
}

types="bool i4 u4 i8 u8 i16 u16 i32 u32 i64 u64 f8e4m3 f8e5m2 f8e4m3fnuz f8e5m2fnuz f8e8m0 f4e2m1 f16 bf16 f32 f64 c32 c64 c128"

check() {
  local type shard sanitizer each=$(((graphs + 7) / 8))
  need_gpu
  { nvidia-smi; ldconfig -p | grep -i 'nvrtc\|cublas\|cufft\|cusolver\|nccl'; cat "$work/info"; } >>"$log" 2>&1
  job random-first "$here/bin/device_random" cuda 1 $((graphs < 50 ? graphs : 50))
  wait
  job loops "$here/bin/device_random" cuda 1 $((graphs < 40 ? graphs : 40)) loops
  for ((shard = 0; shard < 8; shard++)); do
    job "random-$shard" "$here/bin/device_random" cuda $((1 + 100000 * (shard + 1))) $each
  done
  for type in $types; do job "contract-$type" "$here/bin/conformance" cuda --type "$type" ${NXT_ONLY:+--only "$NXT_ONLY"}; done
  sanitizer=$(command -v compute-sanitizer || true)
  if [ -n "$sanitizer" ]; then
    job memcheck "$sanitizer" --error-exitcode 9 "$here/bin/device_random" cuda 1 20
    job racecheck-scan "$sanitizer" --tool racecheck --error-exitcode 9 "$here/bin/gpu_stress" run "$here/stress-small.txt" --runs 1 --only scan
    job racecheck-sort "$sanitizer" --tool racecheck --error-exitcode 9 "$here/bin/gpu_stress" run "$here/stress-small.txt" --runs 1 --only sort
  fi
  finish
}

# ---- stress: many times, against numbers that a processor has made before. small: quickly, of all.

stress() {
  need_gpu
  local status=0
  job small "$here/bin/gpu_stress" run "$here/stress-small.txt" --runs 20 ${NXT_ONLY:+--only "$NXT_ONLY"}
  wait
  timeout -k 5 $(($(left) + 5)) "$here/bin/gpu_stress" run "$here/stress.txt" --seconds "$(left)" \
    --done "$out/stress-cases.done" ${NXT_ONLY:+--only "$NXT_ONLY"} 2>&1 | tee -a "$log" || status=$?
  [ $status -eq 124 ] && status=3
  [ $status -eq 0 ] || { echo "stress: status $status"; exit $status; }
  finish
}

# ---- bench, peers: rows that are there already are not measured again

# What measured: machine.json.
tell_machine() {
  local gpu driver memory
  IFS=, read -r gpu driver memory < <(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader)
  "$python" - "$gpu" "${driver# }" "${memory# }" "$(cat "$here/commit" 2>/dev/null)" >"$out/machine.json" <<'CODE' || true
import datetime, importlib.metadata, json, sys

gpu, driver, memory, commit = sys.argv[1:]
versions = {}
for name in ("torch", "jax"):
    try:
        versions[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
told = {"gpu": gpu, "driver": driver, "memory": memory, "nx": commit[:8], "date": date}
print(json.dumps(told | {"versions": versions}))
CODE
}

rows() {
  local status=0 file=$out/$part.json
  need_gpu
  tell_machine
  touch "$file"
  sed -n 's/.*"group": "\([^"]*\)".*"name": "\([^"]*\)".*/\1 \2/p' "$file" >"$work/without"
  timeout -k 5 $(($(left) + 15)) "$here/bin/nx-bench-gpu" --json --table "$out/$part.md" --without "$work/without" \
    --seconds "$(left)" --peer "$here/peers/gpu_peer.py" "$@" >>"$file" 2>>"$log" || status=$?
  echo "$part: $(grep -c '"name"' "$file") rows in $file and $out/$part.md"
  [ $status -eq 124 ] && status=3
  exit $status
}

case $part in
  check) check ;;
  stress) stress ;;
  bench) rows --python /nowhere ${NXT_SHRINK:+--shrink "$NXT_SHRINK"} ${NXT_ONLY:+--only "$NXT_ONLY"} ;;
  peers) rows --python "$python" ${NXT_SHRINK:+--shrink "$NXT_SHRINK"} ${NXT_ONLY:+--only "$NXT_ONLY"} ;;
  *) echo "parts.sh: there is no part $part" >&2; exit 2 ;;
esac
