# SPDX-License-Identifier: ISC
# The last meson test run of a build directory in one line. Usage: count_results.sh BUILD_DIRECTORY
sed -n 's/^\(Ok\|Expected Fail\|Fail\|Unexpected Pass\|Skipped\|Timeout\): *\([0-9]*\) *$/\1=\2/p' \
  "$1/meson-logs/testlog.txt" | awk -F= '
  { n[$1] = $2 }
  END {
    printf "%d passed, %d failed, %d skipped\n", n["Ok"] + n["Expected Fail"],
           n["Fail"] + n["Unexpected Pass"] + n["Timeout"], n["Skipped"]
  }'
