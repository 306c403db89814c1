# SPDX-License-Identifier: ISC
"""Writes docs/op_tables.md, the tables of all operations, from the rows that the library itself is
made of.

Usage: gen_op_table.py SOURCE_ROOT [--check]. With --check nothing is written; the exit status is 1
if the file is not what it would write.
"""

import re
import sys
from pathlib import Path

CLASSES = {"B": "bool", "I": "integers", "F": "floats", "ARITH": "numbers"}
VALUES = {
    "ZERO": "0",
    "NEG_ZERO": "-0.0; 0 of integers",
    "ONE": "1",
    "LOWEST": "the lowest",
    "HIGHEST": "the highest",
    "IDENTITY": "the identity",
    "BOOLS": "of bools the identity",
    "NONE": "none",
}
FLAGS = (
    ("ROUNDS", "the order counts"),
    ("INDEX", "gives an index"),
    ("PAIRS", "of pairs"),
    ("REPEAT", "elements may repeat"),
)
LEVELS = {"L": "logical", "B": "bound", "A": "both"}
KINDS = {
    "LEAF": "leaf",
    "MAP": "elementwise",
    "VIEW": "view",
    "REDUCE": "reduction",
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
    return {
        "SAME": "as the operand",
        "BOOL": "bool",
        "GIVEN": "given",
        "LAST": "as the last operand",
    }.get(text, text.lower())


def table(head, lines):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for line in lines:
        yield "| " + " | ".join(line) + " |"
    yield ""


def scalar_lines(root):
    for name, arity, admits, kind, flags, cost in rows(root / "ir/scalar_ops.def", "SOP"):
        words = {"COMM": "commutative", "FUNC": "function", "LOOP": "with loops"}
        notes = [word for flag, word in words.items() if flag in flags]
        yield [f"`{name}`", arity, classes(admits), result(kind), " ".join(notes), cost]


def kernel_lines(root):
    for name, level, opens in rows(root / "ir/kernel/kernel_ops.def", "KOP"):
        yield [f"`{name}`", LEVELS[level], "opens a block" if opens == "1" else ""]


def reduction_lines(root):
    for name, _, args, admits, combine, _, identity, empty, flags, cost, floats in rows(
        root / "ir/reduce_ops.def", "ROP"
    ):
        notes = [text for flag, text in FLAGS if flag in flags]
        yield [
            f"`{name}`",
            args,
            classes(admits),
            f"`{combine}`",
            VALUES[identity],
            VALUES[empty],
            "; ".join(notes),
            f"{cost}, {floats}",
        ]


def graph_lines(root):
    for name, args, kind, kernel, admits, out in rows(root / "ir/graph/graph_ops.def", "GOP"):
        operands = "any" if args == "-1" else args
        kernel = "" if kernel == "none" else f"`{kernel.lower()}`"
        yield [
            f"`{name}`",
            operands,
            KINDS.get(kind, kind.lower()),
            kernel,
            classes(admits),
            result(out),
        ]
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
    yield from table(
        ["operation", "operands", "kind", "in kernels", "admits", "result"], graph_lines(root)
    )
    yield "## Scalars"
    yield ""
    yield (
        "Arithmetic of kernels never sees small floats: lowering widens them to f32 and rounds "
        "back. Functions are"
    )
    yield "expanded into the other rows. Cost: vector instructions a result roughly takes."
    yield ""
    yield from table(["operation", "operands", "admits", "result", "", "cost"], scalar_lines(root))
    yield "## Reductions"
    yield ""
    yield (
        "What a `reduce`, a `scan` or a `lane_reduce` of a kernel reduces elements with. Cost: of "
        "one combination, of integers and of"
    )
    yield "floats."
    yield ""
    yield from table(
        ["kind", "operands", "admits", "combines by", "identity", "over nothing", "", "cost"],
        reduction_lines(root),
    )
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
