# SPDX-License-Identifier: ISC The name of the quickest linker that a compiler can use, for Meson's
# CC_LD; nothing if there is only the usual one. Usage: quick_linker.sh COMPILER...
for linker in mold lld gold; do
  if echo 'int main(void) { return 0; }' | "$@" -fuse-ld=$linker -x c - -o /dev/null 2>/dev/null; then
    echo $linker
    exit
  fi
done
