# SPDX-License-Identifier: ISC
"""Writes a header with the code id: one number for everything in the tree that decides what machine
code a kernel becomes.

It is part of the key of every compiled kernel on disk. All programs and libraries of one source
tree share it, however they are linked, and it changes with every edit of a file that may change
generated code. What comes from elsewhere (LLVM, the processor) is in the key beside it.

Usage: code_id.py SOURCE_ROOT HEADER DEPFILE WORDS...  The words say how the tree is compiled.
"""

import hashlib
import sys
from pathlib import Path

# Every source below these directories, and these files.
DIRECTORIES = ("codegen_llvm", "ir", "passes")
FILES = ("include/nx/dtype.h", "runtime/cache/kernel.c")
SOURCES = {".c", ".h", ".def"}


def sources(root):
    found = [
        path for name in DIRECTORIES for path in (root / name).rglob("*") if path.suffix in SOURCES
    ]
    return sorted(found + [root / name for name in FILES])


def folders(root):
    return sorted(
        path
        for name in DIRECTORIES
        for path in (root / name, *(root / name).rglob("*/"))
        if path.is_dir()
    )


def code_id(root, words):
    total = hashlib.sha256("\0".join(words).encode())
    for path in sources(root):
        total.update(
            path.relative_to(root).as_posix().encode()
            + b"\0"
            + hashlib.sha256(path.read_bytes()).digest()
        )
    return total.hexdigest()[:32]


def main():
    root, header, depfile = (Path(argument) for argument in sys.argv[1:4])
    header.write_text(
        "/* SPDX-License-Identifier: ISC */\n"
        f'/* Written by tools/code_id.py. */\n#define NX_CODE_ID "{code_id(root, sys.argv[4:])}"\n'
    )
    # Directories too: a file that appears or goes changes them.
    inputs = [*sources(root), *folders(root)]
    depfile.write_text(
        f"{header.name}: " + " ".join(str(path).replace(" ", "\\ ") for path in inputs) + "\n"
    )


if __name__ == "__main__":
    main()
