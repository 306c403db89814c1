# SPDX-License-Identifier: ISC Formatting, static analysis and the rules of the tree, over every C
# file. Usage: lint.sh BUILD_DIRECTORY [fix] The build directory must be configured: clang-tidy
# reads its compile_commands.json. Only what is generated is built.
set -u
build=$1
status=0
files=$(find include ir passes codegen_llvm codegen_cuda runtime bindings tools examples bench tests \
  -name '*.c' -o -name '*.h' -o -name '*.cc' | sort)

if [ "${2:-}" = fix ]; then
  clang-format-19 -i $files
  echo "formatted"
fi

echo "+ clang-format-19 --dry-run --Werror"
clang-format-19 --dry-run --Werror $files >"$build/clang-format.log" 2>&1 || {
  status=1
  sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: error: .*/\1: not formatted (.\/dev lint fix)/p' "$build/clang-format.log" | sort -u
}

echo "+ tests/check_tree.py"
python3 tests/check_tree.py . || status=1

# Tests are left out: cmocka's macros draw most of the warnings.
echo "+ clang-tidy-19"
generated=$(ninja -C "$build" -t targets all | sed -n 's/^\(codegen_cuda\/cuda_[a-z]*\.c\): .*/\1/p')
ninja -C "$build" code_id.h $generated >"$build/code_id.log" 2>&1 || { cat "$build/code_id.log"; status=1; }
python3 tests/lint/tidy.py "$build" || status=1

[ $status -eq 0 ] && echo "lint: no fault" || echo "lint: faults above"
exit $status
