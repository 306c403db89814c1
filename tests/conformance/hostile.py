# SPDX-License-Identifier: ISC
"""Writes a function for each one of the interface: it takes on the next floating-point environment
of tests/process/float_environment.h, calls the function, checks that the environment is as it was,
and goes back to the default one. Without NXT_HOSTILE in the environment of the process it only
calls the function. The functions are a source, compiled once; a header declares them and gives them
the names of the interface. A program that is compiled with the header before everything else so
calls the whole interface under all of the environments by turns, and computes what it compares with
under none.

Usage: hostile.py INCLUDE_DIRECTORY HEADER SOURCE DEPFILE
"""

import re
import sys
from pathlib import Path

WRITTEN = """/* SPDX-License-Identifier: ISC */
/* Written by tests/conformance/hostile.py. */
"""
HEAD = """#ifndef NXT_HOSTILE_H
#define NXT_HOSTILE_H
#include "nx/nx.h"

"""
BEGINNING = """#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "nx/nx.h"
#include "tests/process/float_environment.h"

static bool nxt_hostile;

__attribute__((constructor)) static void nxt_ask(void) { nxt_hostile = getenv("NXT_HOSTILE"); }

static nxt_float_state nxt_hostile_begin(void) {
  static _Thread_local uint32_t turn;
  if (!nxt_hostile) return (nxt_float_state){0};
  nxt_enter_environment(&nxt_environments[turn++ % NXT_ENVIRONMENTS]);
  return nxt_float_state_now();
}

static void nxt_hostile_end(nxt_float_state before, const char *name) {
  if (!nxt_hostile) return;
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
    """The prototype of a function, and its body."""
    given = parameters(text)
    result = " ".join(result.split())
    call = f"{name}({', '.join(n for _, n in given)})"
    keep, give = (
        ("", "") if result == "void" else (f"{result} nxt_result = ", "  return nxt_result;\n")
    )
    return (
        f"{result} hostile_{name}({', '.join(d for d, _ in given) or 'void'})",
        f"{{\n  nxt_float_state nxt_before = nxt_hostile_begin();\n  {keep}{call};\n"
        f'  nxt_hostile_end(nxt_before, "{name}");\n{give}}}\n',
    )


def main():
    include, header, source, depfile = (Path(argument) for argument in sys.argv[1:5])
    headers = sorted((include / "nx").glob("*.h"))
    found = [
        match.groups()
        for path in headers
        for match in PROTOTYPE.finditer(without_comments(path.read_text()))
    ]
    if len(found) < 150:
        sys.exit(f"only {len(found)} functions found")
    wrappers = [wrapper(*function) for function in found]
    names = "".join(f"#define {name} hostile_{name}\n" for _, name, _ in found)
    prototypes = "".join(f"{prototype};\n" for prototype, _ in wrappers)
    header.write_text(WRITTEN + HEAD + prototypes + names + "#endif\n")
    bodies = "".join(f"{prototype} {body}" for prototype, body in wrappers)
    source.write_text(WRITTEN + BEGINNING + bodies)
    depfile.write_text(
        f"{header.name} {source.name}: "
        + " ".join(str(path).replace(" ", "\\ ") for path in [include / "nx", *headers])
        + "\n"
    )


if __name__ == "__main__":
    main()
