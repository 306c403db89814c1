# SPDX-License-Identifier: ISC
# Formatting, static analysis and the rules of the tree, over every C file. Usage: lint.sh BUILD_DIRECTORY [fix]
# The build directory must be configured: clang-tidy reads its compile_commands.json. Only what is generated is built.
set -u
build=$1
status=0
files=$(find include ir passes codegen_llvm codegen_cuda runtime tools examples bench tests \
  -name '*.c' -o -name '*.h' -o -name '*.cc' | sort)

if [ "${2:-}" = fix ]; then
  clang-format-19 -i $files
  echo "formatted"
fi

echo "+ clang-format-19 --dry-run --Werror"
for file in $files; do
  clang-format-19 --dry-run --Werror "$file" 2>/dev/null || { echo "$file: not formatted (./dev lint fix)"; status=1; }
done

echo "+ tests/check_tree.py"
python3 tests/check_tree.py . || status=1

# Tests are left out: cmocka's macros draw most of the warnings.
echo "+ run-clang-tidy-19"
generated=$(ninja -C "$build" -t targets all | sed -n 's/^\(codegen_cuda\/cuda_[a-z]*\.c\): .*/\1/p')
ninja -C "$build" code_id.h $generated >"$build/code_id.log" 2>&1 || { cat "$build/code_id.log"; status=1; }
compiled='/(ir|passes|codegen_llvm|codegen_cuda|runtime|runtime/cuda|tools|examples)/[a-z0-9_]+\.c$'
run-clang-tidy-19 -quiet -p "$build" -j "$(nproc)" "$compiled" >"$build/clang-tidy.log" 2>&1 || status=1
grep -E '(warning|error):' "$build/clang-tidy.log" | sort -u

[ $status -eq 0 ] && echo "lint: no fault" || echo "lint: faults above"
exit $status
