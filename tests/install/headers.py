# SPDX-License-Identifier: ISC
"""Each header of a folder compiles alone, and nx.h has all of them. The folder is listed, so no
header can be forgotten. macros.c, which has a use of each of their macros, compiles with the same
compilers.

Usage: headers.py DIRECTORY COMPILER... DIRECTORY is that of the headers, .../include/nx; a COMPILER
is a command with its options, such as "gcc -std=c11 -x c".
"""

import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FLAGS = ["-Wall", "-Wextra", "-pedantic-errors", "-Werror", "-fsyntax-only"]


def compiles(file, compiler, include):
    """What the compiler says of the file as a program of its own; empty if it is content."""
    command = [*shlex.split(compiler), *FLAGS, "-I", str(include), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return f"{shlex.join(command)}\n{done.stderr}" if done.returncode or done.stderr else ""


def unused_macros(headers, uses):
    """A sentence for each macro that this file does not use; include guards are none."""
    defined = {
        name
        for h in headers
        for name in re.findall(r"^#define (NX_\w+)", h.read_text(), re.MULTILINE)
    }
    guards = {f"NX_{h.stem.upper()}_H" for h in headers}
    used = set(re.findall(r"\bNX_\w+", uses.read_text()))
    return [
        f"{uses.name} has no use of {name}"
        for name in sorted(defined - guards - used - {"NX_STATUS_ROW"})
    ]


def faults(directory, compilers):
    """A list of sentences, and the number of headers that were seen."""
    headers = sorted(directory.glob("*.h"))
    included = set(re.findall(r'#include "(.+)"', (directory / "nx.h").read_text()))
    found = [
        f"nx.h does not include {h.name}" for h in headers if h.name not in included | {"nx.h"}
    ]
    macros = Path(__file__).with_name("macros.c")
    found += unused_macros(headers, macros)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found += pool.map(
            lambda pair: compiles(*pair, directory.parent),
            [(f, c) for f in [*headers, macros] for c in compilers],
        )
    return [text for text in found if text], len(headers)


def main():
    found, count = faults(Path(sys.argv[1]), sys.argv[2:])
    print(*found, f"{count} headers", sep="\n")
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main())
