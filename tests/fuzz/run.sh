#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# run.sh BUILD SECONDS [TARGET|all [ARGS OF LIBFUZZER]]: one target, or all of them, which share so
# many seconds, one on each processor at a time, from what is kept of them.
# What is found new stays in BUILD/fuzz/TARGET; an input that fails in BUILD/fuzz/TARGET-*: it is
# printed, with where it failed, and the exit status is 1.
set -uo pipefail
build=$1 seconds=$2
shift 2
cd "$(dirname "$0")"
export ASAN_OPTIONS=${ASAN_OPTIONS:-allocator_may_return_null=1:detect_stack_use_after_return=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}

# one TARGET SECONDS [ARGS]
one() {
  local target=$1 time=$2
  shift 2
  mkdir -p "$build/fuzz/$target"
  "$build/tests/fuzz/fuzz" "$target" -max_total_time="$time" -timeout=60 -rss_limit_mb=2500 -print_final_stats=0 \
    -artifact_prefix="$build/fuzz/$target-" "$@" "$build/fuzz/$target" "corpus/$target" 2>"$build/fuzz/$target.log"
  local status=$? unit
  grep -E 'DONE|wrong:|runtime error|ERROR|SUMMARY|Test unit' "$build/fuzz/$target.log" | sed "s/^/$target: /"
  [ "$status" -ne 0 ] || return 0
  grep -E '^ +#[0-9]+ ' "$build/fuzz/$target.log" | grep -vE '__sanitizer|fuzzer::|libc' | head -12
  unit=$(sed -n 's/.*Test unit written to //p' "$build/fuzz/$target.log" | tail -1)
  [ -z "$unit" ] || { echo "$target: base64 -d >$(basename "$unit"):" && base64 "$unit"; }
  return "$status"
}

target=${1:-all}
[ $# -eq 0 ] || shift
if [ "$target" != all ]; then
  one "$target" "$seconds" "$@"
  exit
fi
# Of 60 seconds: those whose inputs take milliseconds get more. One on each processor.
failed=0 running=0 most=$(nproc)
reap() {
  wait -n || failed=1
  running=$((running - 1))
}
for share in graph:11 recipe:11 kernel:7 api:13 npy:3 npz:5 safetensors:4 dlpack:3 cache:3 stablehlo:4; do
  [ "$running" -lt "$most" ] || reap
  one "${share%:*}" $((${share#*:} * seconds / 60 + 1)) "$@" &
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do reap; done
exit $failed
