# SPDX-License-Identifier: ISC
"""The example frontend on good and bad programs: tests/embed/NAME.txt with what it prints in
NAME.out and what it says of errors in NAME.err; a file that is not there means nothing. NX_BLESS=1
rewrites them. linalg.txt needs LAPACK.

Usage: embed_test.py PROGRAM DIRECTORY
"""

import os
import subprocess
import sys
from pathlib import Path


def run(program, path, standard_input):
    arguments = [program] if standard_input else [program, path.name]
    text = path.read_text(encoding="utf-8") if standard_input else None
    done = subprocess.run(
        arguments,
        cwd=path.parent,
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"EMBED_MEMORY": "20000000"},
    )
    return done.returncode, {
        ".out": done.stdout,
        ".err": done.stderr.replace("stdin:", path.name + ":"),
    }


def has_lapack(program):
    done = subprocess.run(
        [program], input="det([[2, 1], [1, 3]])", capture_output=True, text=True, timeout=60
    )
    return done.stdout == "5\n"


def main():
    program, directory = os.path.abspath(sys.argv[1]), Path(sys.argv[2])
    failures = 0
    programs = sorted(directory.glob("*.txt"))
    if not has_lapack(program):
        print("linalg.txt is left out: there is no LAPACK")
        programs = [p for p in programs if p.stem != "linalg"]
    for path in programs:
        for standard_input in (False, True):
            status, texts = run(program, path, standard_input)
            for suffix, text in texts.items():
                golden = path.with_suffix(suffix)
                if os.environ.get("NX_BLESS"):
                    golden.write_text(text, encoding="utf-8") if text else golden.unlink(
                        missing_ok=True
                    )
                wanted = golden.read_text(encoding="utf-8") if golden.exists() else ""
                if text != wanted:
                    print(
                        f"{golden.name}, {'standard input' if standard_input else 'file'}: "
                        f"expected\n{wanted}got\n{text}"
                    )
                    failures += 1
            if status != (1 if texts[".err"] else 0):
                print(f"{path.name}: exit status {status}\n{texts['.err']}")
                failures += 1
    if not programs:
        print("there are no programs")
    return 1 if failures or not programs else 0


sys.exit(main())
