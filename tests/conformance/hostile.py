# SPDX-License-Identifier: ISC
"""Writes a header that puts a function of its own before each one of the interface: it takes on the
next floating-point environment of tests/process/float_environment.h, calls the function, checks
that the environment is as it was, and goes back to the default one. A program that is compiled with
the header before everything else so calls the whole interface under all of them by turns, and
computes what it compares with under none.

Usage: hostile.py INCLUDE_DIRECTORY HEADER DEPFILE
"""

import re
import sys
from pathlib import Path

HEAD = """/* SPDX-License-Identifier: ISC */
/* Written by tests/conformance/hostile.py. */
#ifndef NXT_HOSTILE_H
#define NXT_HOSTILE_H
#include <stdio.h>
#include <stdlib.h>
#include "nx/nx.h"
#include "tests/process/float_environment.h"

static inline nxt_float_state nxt_hostile_begin(void) {
  static _Thread_local uint32_t turn;
  nxt_enter_environment(&nxt_environments[turn++ % NXT_ENVIRONMENTS]);
  return nxt_float_state_now();
}

static inline void nxt_hostile_end(nxt_float_state before, const char *name) {
  nxt_float_state after = nxt_float_state_now();
  nxt_leave_environment();
  if (nxt_float_state_equal(before, after)) return;
  fprintf(stderr, "%s changes its caller's environment: %x %x %x %x, then %x %x %x %x\\n",
          name, before.control, before.flags, before.x87_control, before.x87_flags, after.control,
          after.flags, after.x87_control, after.x87_flags);
  abort();
}
"""
PROTOTYPE = re.compile(r"NX_API\s+([^;]*?)\b(nx_\w+)\(([^;]*)\);")


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)


def parameters(text):
    """Pairs of a declaration and its name."""
    parts, depth, part = [], 0, ""
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            parts.append(part)
            part = ""
        else:
            part += character
    parts.append(part)
    found = []
    for part in (" ".join(part.split()) for part in parts):
        if part != "void":
            pointer = re.search(r"\(\*(\w+)\)", part)
            found.append(
                (
                    part,
                    pointer.group(1)
                    if pointer
                    else re.findall(r"\w+", re.sub(r"\[.*?\]", "", part))[-1],
                )
            )
    return found


def wrapper(result, name, text):
    given = parameters(text)
    result = " ".join(result.split())
    call = f"{name}({', '.join(n for _, n in given)})"
    keep, give = (
        ("", "") if result == "void" else (f"{result} nxt_result = ", "  return nxt_result;\n")
    )
    return (
        f"__attribute__((weak)) {result} "
        f"hostile_{name}({', '.join(d for d, _ in given) or 'void'}) {{\n"
        f"  nxt_float_state nxt_before = nxt_hostile_begin();\n  {keep}{call};\n"
        f'  nxt_hostile_end(nxt_before, "{name}");\n{give}}}\n'
        f"#define {name} hostile_{name}\n"
    )


def main():
    include, header, depfile = (Path(argument) for argument in sys.argv[1:4])
    headers = sorted((include / "nx").glob("*.h"))
    wrappers = [
        wrapper(*match.groups())
        for path in headers
        for match in PROTOTYPE.finditer(without_comments(path.read_text()))
    ]
    if len(wrappers) < 150:
        sys.exit(f"only {len(wrappers)} functions found")
    # Calls inside a wrapper are those of the library, so all wrappers come before the first name is
    # replaced.
    bodies = "".join(w.rsplit("#define", 1)[0] for w in wrappers)
    names = "".join("#define" + w.rsplit("#define", 1)[1] for w in wrappers)
    header.write_text(HEAD + bodies + names + "#endif\n")
    depfile.write_text(
        f"{header.name}: "
        + " ".join(str(path).replace(" ", "\\ ") for path in [include / "nx", *headers])
        + "\n"
    )


if __name__ == "__main__":
    main()
