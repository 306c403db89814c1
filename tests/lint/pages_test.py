# SPDX-License-Identifier: ISC
"""The pages: links lead to files and headings that exist, docs/README.md names every page, code in
C compiles, and each command of ./dev and each name of the interface that a page names is one.
Usage: pages_test.py SOURCE_ROOT COMPILER [ARGUMENT...].

A block of C that begins with #include is a file; every other one is the body of a function, with
the variables of PRELUDE.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

FENCE = re.compile(r"^```(\w*(?: [^\n]*)?)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
DEV = re.compile(r"\./dev ([a-z]+)")
NAME = re.compile(r"\b(?:nx|NX)_(?:[A-Za-z]\w*[A-Za-z0-9])\b")
# Pages that name what was, or what a reader is to add.
OTHER_NAMES = ("adding_an_op.md", "changelog.md", "migrating.md", "ocaml.md")
PRELUDE = """\
#include <nx/nx.h>
#include <stdio.h>
extern nx_context *context;
extern nx_tensor *a, *b, *t, *w, *x, *y;
extern nx_function *f;
extern nx_status status;
extern float data[100];
extern int class_of(nx_status s);
extern void collect_garbage(int all);
extern void raise(int c, const char *message, unsigned long long tag, const char *tag_text);
void block(void);
void block(void) {
"""


def anchors(text):
    """The names that code hosts give to headings."""
    for heading in HEADING.findall(FENCE.sub("", text)):
        yield re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def link_faults(root, page, text):
    for target in LINK.findall(FENCE.sub("", text)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"there is no {target}"
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"{target}: no such heading"


def named_pages(root):
    """What the manual's index names, and the index of the decisions."""
    indexes = [root / "docs/README.md", root / "docs/decisions.md"]
    links = [link for index in indexes for link in LINK.findall(index.read_text(encoding="utf-8"))]
    return {(root / "docs" / link).resolve() for link in links if "://" not in link} | {indexes[0]}


def code_faults(page, text, compiler, root, folder):
    files = []
    for number, (language, block) in enumerate(FENCE.findall(text)):
        if language == "c":
            files.append(folder / f"{page.stem}_{number}.c")
            whole = block.startswith(("#include", "/*"))
            files[-1].write_text(block if whole else PRELUDE + block + "}\n", encoding="utf-8")
    words = ["-std=gnu17", "-fsyntax-only", "-Wall", "-Werror", "-Wno-unused", f"-I{root}/include"]
    if files:
        done = subprocess.run([*compiler, *words, *map(str, files)], capture_output=True, text=True)
        yield from (
            line.replace(f"{folder}/", "block ")
            for line in done.stderr.splitlines()
            if "error:" in line
        )


def known_names(root):
    """What the headers declare; of words in capitals also what other sources say, variables of the
    environment for example."""
    words = set()
    for path in sorted(root.glob("include/nx/*.h")):
        text = path.read_text(encoding="utf-8")
        words |= {*NAME.findall(text), *("NX_" + row for row in re.findall(r"\bX\((\w+)", text))}
    others = [root / "dev"]
    for folder in "runtime", "codegen_cuda", "codegen_llvm", "passes", "tests":
        others += (root / folder).rglob("*.[ch]")
    for path in others:
        words |= {
            word
            for word in NAME.findall(path.read_text(encoding="utf-8"))
            if word.startswith("NX_")
        }
    return words


def main():
    root, compiler = Path(sys.argv[1]).resolve(), sys.argv[2:]
    pages = [root / "README.md", *sorted(root.glob("docs/**/*.md"))]
    commands = set(
        re.findall(r"^  ([a-z]+)\) ", (root / "dev").read_text(encoding="utf-8"), re.MULTILINE)
    )
    faults = [
        (root / "docs/README.md", f"does not name {page.name}")
        for page in pages[1:]
        if page not in named_pages(root)
    ]
    known = known_names(root)
    with tempfile.TemporaryDirectory() as folder:
        for page in pages:
            text = page.read_text(encoding="utf-8")
            faults += [(page, fault) for fault in link_faults(root, page, text)]
            if (
                page.parent.name != "tutorial"
            ):  # those blocks are whole programs together, which the build compiles
                faults += [
                    (page, fault) for fault in code_faults(page, text, compiler, root, Path(folder))
                ]
            if page.name not in OTHER_NAMES and page.parent.name != "decisions":
                faults += [
                    (page, f"there is no {word}")
                    for word in sorted(set(NAME.findall(FENCE.sub("", text))) - known)
                ]
            faults += [
                (page, f"./dev has no command {word}")
                for word in DEV.findall(text)
                if word not in commands
            ]
    for page, sentence in faults:
        print(f"{page.relative_to(root)}: {sentence}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
