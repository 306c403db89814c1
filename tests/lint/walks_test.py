# SPDX-License-Identifier: ISC
"""Does a walk of docs/adding_an_op.md on a copy of the source tree, as the page tells it, and runs
the page's program with it.

Usage: walks_test.py SOURCE_ROOT WALK [MESON_ARGUMENT...], where WALK is the beginning of a heading
("A function"). A block of the page whose fence names a file is an edit of that file:

    ```c PATH after "TEXT"      the block follows the only line that holds TEXT (also: before)
    ```c PATH replace "TEXT"    the block is put in the place of that line
    ```c PATH end               the block follows the last line
    ```c PATH new               the block is the file, whose folder may be new

The block `c program` is built against the library of the copy, and has to end with 0 on each
executor.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EDIT = re.compile(
    r'^```\w+ (\S+?)(?: (after|before|replace|end|new)(?: "([^\n]*)")?)?\n(.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
EXECUTORS = ("interp", "kernel-interp", "llvm")
LEFT_OUT = ("tests", "docs", "bench", ".git")


def fail(message):
    sys.exit(f"docs/adding_an_op.md: {message}")


def section(page, walk):
    found = [
        part for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:] if part.startswith(walk)
    ]
    if len(found) != 1:
        fail(f"{len(found)} headings begin with {walk!r}")
    return found[0]


def edited(path, how, text, block):
    if how == "new":
        if path.exists():
            fail(f"{path.name} is there already")
        return block
    old = path.read_text(encoding="utf-8")
    if how == "end":
        return old + block
    lines = old.splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if text in line]
    if len(places) != 1:
        fail(f"{len(places)} lines of {path.name} hold {text!r}")
    first, last = places[0] + (how == "after"), places[0] + (how != "before")
    return "".join(lines[:first] + [block] + lines[last:])


def copied(source, target):
    """The tree without what is not needed to build the library: a walk that needs a file of those
    is wrong."""
    skip = lambda folder, names: (
        [n for n in names if n in LEFT_OUT or n.startswith("build")]
        if Path(folder) == source
        else []
    )
    shutil.copytree(source, target, ignore=skip)


def run(command, **options):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **options
    )
    if done.returncode:
        fail(f"{' '.join(map(str, command))}\n{(done.stdout + done.stderr)[-4000:]}")


def main():
    source, walk, options = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    text = section((source / "docs/adding_an_op.md").read_text(encoding="utf-8"), walk)
    edits = EDIT.findall(text)
    programs = [block for path, how, _, block in edits if path == "program"]
    if len(edits) < 3 or len(programs) != 1:
        fail(f"{walk}: {len(edits) - len(programs)} edits and {len(programs)} programs")
    with tempfile.TemporaryDirectory() as folder:
        tree, build = Path(folder) / "tree", Path(folder) / "build"
        copied(source, tree)
        for path, how, anchor, block in edits:
            if path != "program":
                if not how:
                    fail(f"a block of {path} does not say where it goes")
                if how == "new":
                    (tree / path).parent.mkdir(exist_ok=True)
                (tree / path).write_text(edited(tree / path, how, anchor, block), encoding="utf-8")
        shutil.rmtree(tree / "examples")
        (tree / "examples").mkdir()
        (tree / "examples/walk.c").write_text(programs[0], encoding="utf-8")
        (tree / "examples/meson.build").write_text(
            "executable('walk', 'walk.c', dependencies: nx_dep)\n", encoding="utf-8"
        )
        run(
            [
                "meson",
                "setup",
                build,
                tree,
                "--buildtype=plain",
                "-Doptimization=0",
                "-Dbench=disabled",
                "-Dtests=disabled",
                *options,
            ]
        )
        run(["ninja", "-C", build, "examples/walk"])
        for executor in EXECUTORS:
            run(
                [build / "examples/walk"],
                env={
                    **os.environ,
                    "NX_EXECUTOR": executor,
                    "NX_CACHE_DIR": "",
                    "NX_DEBUG": "verify",
                },
            )
    print(f"{walk}: {len(edits) - 1} edits, {len(EXECUTORS)} executors")


main()
