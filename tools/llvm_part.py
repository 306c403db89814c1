# SPDX-License-Identifier: ISC
"""Links the part of LLVM that a library calls into one shared library, from LLVM's static archives.

The whole of LLVM as distributions package it is 130 MB, and brings libraries of its own along.
What is reached from the functions that the objects call, for one kind of processor, is 40 MB. Its
symbols are hidden but for those functions: it stands beside any other LLVM in a process.

Usage: llvm_part.py LLVM_CONFIG CXX NM OUTPUT ARCHIVE, where ARCHIVE holds the objects.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

# What is looked up by name while running (codegen_llvm/guard.c).
BY_NAME = ["_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_"]


def told(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def called(nm, archive):
    """The functions of LLVM that the objects call."""
    words = told(nm, "--undefined-only", "--format=posix", archive)
    return sorted({w for w in words if w.startswith("LLVM")})


def main(llvm_config, cxx, nm, output, archive):
    functions = called(nm, archive) + BY_NAME
    libraries = told(llvm_config, "--link-static", "--libfiles", "native", "passes", "core")
    system = [w for w in told(llvm_config, "--link-static", "--system-libs")
              if "z3" not in w and "xml2" not in w]
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "exports"
        names = "".join(f"{f};\n" for f in functions)
        script.write_text(f"{{ global:\n{names}local: *; }};\n")
        done = subprocess.run(
            [cxx, "-shared", "-s", "-o", output, f"-Wl,-soname,{Path(output).name}",
             "-Wl,--gc-sections", "-Wl,-z,now", "-Wl,--no-undefined", "-Wl,--as-needed",
             f"-Wl,--version-script={script}", *[f"-Wl,-u,{f}" for f in functions],
             "-Wl,--start-group", *libraries, "-Wl,--end-group", *system])
    sys.exit(done.returncode)


if __name__ == "__main__":
    main(*sys.argv[1:])
