# SPDX-License-Identifier: ISC
"""What configuring says where LLVM is there without its shared library, and what it makes of that.
Usage: configured.py SOURCE_ROOT."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import consumer

NAMES = ["llvm-config"] + [f"llvm-config-{version}" for version in range(15, 20)]
# As llvm-config answers: from a package without the library; and where LLVM was built as a library
# for each component.
STATIC = 'echo "llvm-config: error: libLLVM-19.so is missing" >&2; exit 1'
PIECES = "echo -lLLVMCore -lLLVMSupport"
PROGRAM = """#!/bin/sh
case "$*" in
*--version*) echo 19.1.7 ;;
*--link-shared*) {answer} ;;
*) exit 1 ;;
esac
"""


def configure(source, scratch, answer, option):
    """Exit status and output, with an LLVM that answers so."""
    for name in NAMES:
        (scratch / name).write_text(PROGRAM.format(answer=answer))
        (scratch / name).chmod(0o755)
    environment = dict(os.environ, PATH=f"{scratch}:{os.environ['PATH']}")
    build = tempfile.mkdtemp(dir=scratch)
    quiet = ["-Dtests=disabled", "-Dbench=disabled", f"-Dllvm={option}"]
    done = subprocess.run(
        ["meson", "setup", build, str(source), *quiet],
        env=environment,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def main():
    source = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for answer in (STATIC, PIECES):
            status, said = configure(source, Path(folder), answer, "enabled")
            consumer.check(status != 0 and "LLVM has no shared library" in said, said)
            consumer.check("-Dllvm=disabled" in said, said)
        status, said = configure(source, Path(folder), STATIC, "auto")
        consumer.check(status == 0 and "WARNING: LLVM has no shared library" in said, said)


main()
