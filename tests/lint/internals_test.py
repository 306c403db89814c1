# SPDX-License-Identifier: ISC
"""docs/internals.md: its map has every folder of sources, and each `path/file.c: function` names a
definition in that file.

Usage: internals_test.py SOURCE_ROOT [--write]. --write brings the map up to date: a row keeps its
sentence, a new folder gets the comment at the head of its meson.build, and a folder that is gone
loses its row.
"""

import itertools
import re
import subprocess
import sys
from pathlib import Path

PAGE = "docs/internals.md"
SOURCE = {".c", ".h", ".def", ".cc", ".cuh", ".py", ".nxir"}
BEGIN, END = "<!-- map -->\n", "<!-- end of map -->\n"
TOP = [
    "include",
    "ir",
    "passes",
    "codegen_llvm",
    "codegen_cuda",
    "runtime",
    "bindings",
    "tools",
    "bench",
    "examples",
    "tests",
]
NAMED = re.compile(r"`([\w/.]+\.(?:c|h|cc)): (\w+)`")
ROW = re.compile(r"^\| `([\w/]+)/` \| (.*) \|$", re.MULTILINE)


def folders(root):
    """Folders with sources that git tracks, in the order of data flow; without git those with
    sources at all."""
    try:
        told = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=True
        ).stdout
        files = [Path(name) for name in told.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        files = [p.relative_to(root) for top in TOP for p in (root / top).rglob("*")]
    found = {
        p.parent for p in files if p.parts[0] in TOP and p.suffix in SOURCE and (root / p).is_file()
    }
    return sorted(
        (p.as_posix() for p in found), key=lambda name: (TOP.index(name.split("/")[0]), name)
    )


def described(root, folder):
    build = root / folder / "meson.build"
    lines = build.read_text(encoding="utf-8").splitlines()[1:] if build.is_file() else []
    comment = itertools.takewhile(lambda line: line.startswith("# "), lines)
    return " ".join(line[2:] for line in comment).rstrip(".") or "?"


def table(root, rows):
    text = "| folder | what is in it |\n|---|---|\n"
    return text + "".join(
        f"| `{name}/` | {rows.get(name) or described(root, name)} |\n" for name in folders(root)
    )


def defines(text, name):
    """Whether a function of that name has its body in this text of C: its head begins in the first
    column."""
    heads = re.finditer(r"^[A-Za-z][^;{}#\n]*?\b" + name + r"\([^;{}]*\)\s*\{", text, re.MULTILINE)
    return next(heads, None) is not None


def faults(root, page):
    names = NAMED.findall(page)
    if len(names) < 20:
        yield "the walk names hardly any function: has its form changed?"
    for path, name in names:
        file = root / path
        if not file.is_file():
            yield f"there is no {path}"
        elif not defines(file.read_text(encoding="utf-8"), name):
            yield f"{path} does not define {name}"
    before, after = page.split(BEGIN)[1].split(END)[0], set(folders(root))
    rows = {name for name, _ in ROW.findall(before)}
    for name in sorted(after - rows):
        yield f"the map lacks {name}/ (internals_test.py ROOT --write adds it)"
    for name in sorted(rows - after):
        yield (
            f"the map has {name}/, which holds no sources (internals_test.py ROOT --write removes "
            f"it)"
        )


def main():
    root = Path(sys.argv[1]).resolve()
    page = (root / PAGE).read_text(encoding="utf-8")
    if "--write" in sys.argv:
        head, rest = page.split(BEGIN)
        rows, tail = rest.split(END)
        page = head + BEGIN + table(root, dict(ROW.findall(rows))) + END + tail
        (root / PAGE).write_text(page, encoding="utf-8")
    found = list(faults(root, page))
    for sentence in found:
        print(f"{PAGE}: {sentence}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
