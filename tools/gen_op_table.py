# SPDX-License-Identifier: ISC
"""Writes docs/op_tables.md, the tables of all operations, from the rows that the library itself is made of.

Usage: gen_op_table.py SOURCE_ROOT [--check]. With --check nothing is written; the exit status is 1 if the
file is not what it would write.
"""

import re
import sys
from pathlib import Path

CLASSES = {"B": "bool", "I": "integers", "F": "floats", "ARITH": "numbers"}
LEVELS = {"L": "logical", "B": "bound", "A": "both"}
KINDS = {
    "LEAF": "leaf",
    "MAP": "elementwise",
    "VIEW": "view",
    "FOLD": "reduction",
    "MOVE": "movement",
    "STORE": "store",
    "LIBRARY": "library",
}


def rows(path, macro):
    """The argument lists of the macro's rows."""
    pattern = re.compile(rf"^{macro}\((.*?)\)\s*(?:/\*.*\*/)?\s*$")
    for line in path.read_text().splitlines():
        match = pattern.match(line)
        if match:
            yield [argument.strip() for argument in match.group(1).split(",")]


def classes(text):
    return " ".join(CLASSES.get(part.strip(), part.strip()) for part in text.split("|"))


def result(text):
    return {"SAME": "as the operand", "BOOL": "bool", "GIVEN": "given", "LAST": "as the last operand"}.get(text, text.lower())


def table(head, lines):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for line in lines:
        yield "| " + " | ".join(line) + " |"
    yield ""


def scalar_lines(root):
    for name, arity, admits, kind, flags, cost in rows(root / "ir/scalar_ops.def", "SOP"):
        notes = [word for flag, word in (("COMM", "commutative"), ("FUNC", "function")) if flag in flags]
        yield [f"`{name}`", arity, classes(admits), result(kind), " ".join(notes), cost]


def kernel_lines(root):
    for name, level, opens in rows(root / "ir/kernel/kernel_ops.def", "KOP"):
        yield [f"`{name}`", LEVELS[level], "opens a block" if opens == "1" else ""]


def graph_lines(root):
    for name, args, kind, scalar, admits, out in rows(root / "ir/graph/graph_ops.def", "GOP"):
        operands = "any" if args == "-1" else args
        scalar = "" if scalar == "none" else f"`{scalar}`"
        yield [f"`{name}`", operands, KINDS.get(kind, kind.lower()), scalar, classes(admits), result(out)]
    for name, args, results, admits, keys, fails in rows(root / "ir/library/library.def", "LIB"):
        out = "as `infer` says" if results == "1" else f"{results}, a node each"
        yield [f"`{name}`", args, "call", "", classes(admits), out]


def page(root):
    yield "<!-- SPDX-License-Identifier: ISC -->"
    yield "# Operations"
    yield ""
    yield "Made by `tools/gen_op_table.py` from `ir/*.def`; do not edit. What each means: `ir.md`."
    yield ""
    yield "## Graph"
    yield ""
    yield from table(["operation", "operands", "kind", "scalar", "admits", "result"], graph_lines(root))
    yield "## Scalars"
    yield ""
    yield "Arithmetic of kernels never sees small floats: lowering widens them to f32 and rounds back. Functions are"
    yield "expanded into the other rows. Cost: vector instructions a result roughly takes."
    yield ""
    yield from table(["operation", "operands", "admits", "result", "", "cost"], scalar_lines(root))
    yield "## Structure of kernels"
    yield ""
    yield from table(["operation", "level", ""], kernel_lines(root))


def main():
    root = Path(sys.argv[1])
    text = "\n".join(page(root)).rstrip() + "\n"
    target = root / "docs/op_tables.md"
    if "--check" not in sys.argv:
        target.write_text(text)
        return 0
    if target.is_file() and target.read_text() == text:
        return 0
    print("docs/op_tables.md is out of date: run tools/gen_op_table.py .")
    return 1


if __name__ == "__main__":
    sys.exit(main())
