#!/usr/bin/env bash
# SPDX-License-Identifier: ISC cuda_all.sh BUILD [PROCESSES]: what can be known of the kernels of
# the device "cuda" without a GPU. The whole contract and random graphs run as CUDA C on this
# processor; NVRTC compiles those kernels, the golden texts' and 1,000 random graphs'. With
# NXT_FAKE_KEEP=DIRECTORY the kernels of the contract stay there, and those that are there are not
# made anew.
set -uo pipefail
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
processes=${2:-$(nproc)}
fake=$build/tests/cuda/libnxfakecuda.so
conformance=$build/tests/conformance/conformance
keep=${NXT_FAKE_KEEP:-$build/cuda-kernels}
[ -n "${NXT_FAKE_KEEP:-}" ] || rm -rf "$keep"
mkdir -p "$keep"
status=0

over_fake() { env NX_CUDA="$fake" NX_NVRTC="$fake" NX_CUBLAS="$fake" NX_CUFFT="$fake" NX_CUSOLVER="$fake" NX_CACHE_DIR= NXT_FAKE_KEEP="$keep" "$@"; }

compile() { "$build/tests/run_cuda" cuda_compile "$@"; }

# try NAME COMMAND...: its last words, or those of failure
try() {
  local name=$1 log=$build/cuda-${1// /-}.log begin=$SECONDS result=0
  shift
  "$@" >"$log" 2>&1 || result=$?
  echo "$name: $(grep 'cells:\|of CUDA C\|kernels,' "$log" | tail -n 1) ($((SECONDS - begin)) s)"
  [ $result -eq 0 ] && return
  echo "$name: failed with $result, see $log"
  status=1
}

# Type by type, for the sake of several processors. What is wrong shows itself again in the run of
# all, for which the kernels are made.
begin=$SECONDS
types="bool i4 u4 i8 u8 i16 u16 i32 u32 i64 u64 f8e4m3 f8e5m2 f16 bf16 f32 f64 c32 c64 c128"
echo "$types" | tr ' ' '\n' |
  over_fake xargs -P "$processes" -I TYPE sh -c "'$conformance' cuda --type TYPE >'$build/cuda-contract-TYPE.log' 2>&1 || true"
echo "the contract, type by type: $((SECONDS - begin)) s"
try "the contract" over_fake "$conformance" cuda --check "$root/docs/coverage.md"

try "the contract's kernels" compile sm_90 "$keep" - "$processes"
try "golden texts" compile sm_90 "$root/tests/golden" - "$processes"
try "1,000 random graphs" compile sm_90 1 1000 "$processes"
try "100 of them for sm_80" compile sm_80 1 100 "$processes"
try "100 of them for sm_100" compile sm_100 1 100 "$processes"
try "300 random graphs as C++" "$build/tests/run_cuda" cuda_random 10001 300
exit $status
