# SPDX-License-Identifier: ISC
"""Builds the manual as HTML: the pages of docs/, in the order of docs/README.md, and the reference
of the public headers.

Usage: manual.py SOURCE_ROOT OUTPUT. Doxygen reads the headers, reference.py makes pages of what it
read, and Sphinx, with MyST for Markdown, makes HTML of all pages. Pages are laid out in
OUTPUT/pages first, where a link to a file of the tree becomes a page that shows the file, and a
name of the interface, or of another page, becomes a link. Any warning is an error.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import reference

FENCE = re.compile(r"^(```.*?^```)[ \t]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[([^\]\n]*(?:\n[^\]\n]*)?)\]\(([^)\s]+)\)")
CODE_NAME = re.compile(r"(?<!\[)`((?:nx_[a-z0-9_]+|NX_[A-Z0-9_]+))(?:\(\))?`(?!\])")
CODE_PAGE = re.compile(r"(?<!\[)`(?:docs/)?([a-z_]+\.md)`(?!\])")
LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".sh": "bash", ".nxir": "nxir", ".def": "c"}


class Manual:
    def __init__(self, root, out):
        self.root, self.docs, self.pages, self.shown = root, root / "docs", out / "pages", {}

    def target(self, page, text, target):
        """A link of that page, for HTML."""
        if "://" in target or target.startswith("#"):
            return f"[{text}]({target})"
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve()
        where = file.relative_to(self.root).as_posix()
        if file == self.docs / "README.md":
            return f"{{doc}}`{text.strip('`')} </index>`"
        if self.docs in file.parents:
            return f"[{self.title(file) if text.strip('`') == file.name else text}]({target})"
        if where.startswith("include/nx/"):
            return f"{{doc}}`{text.strip('`')} </api/{file.stem}>`"
        if file == self.root / "include/nx":
            return f"{{doc}}`{text.strip('`')} </api>`"
        if file.is_dir():
            return text
        self.shown[where] = file
        return f"{{doc}}`{text.strip('`')} </files/{where}>`"

    @staticmethod
    def title(page):
        return re.search(r"^# (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)[1]

    def prose(self, page, text, names):
        text = LINK.sub(lambda m: m.group() if m[1] else self.target(page, m[2], m[3]), text)
        up = "../" * len(page.relative_to(self.docs).parts[1:])
        other = lambda m: (
            f"[{self.title(self.docs / m[1])}]({up}{m[1]})"
            if (self.docs / m[1]).is_file() and page.name != m[1]
            else m.group()
        )
        text = CODE_PAGE.sub(other, text)
        lines = text.split("\n")
        known = lambda m: f"{{c:{names[m[1]]}}}`{m[1]}`" if m[1] in names else m.group()
        return "\n".join(
            line if line.startswith("#") else CODE_NAME.sub(known, line) for line in lines
        )

    def page(self, path, names):
        parts = FENCE.split(path.read_text(encoding="utf-8"))
        text = "".join(
            self.code(part) if number % 2 else self.prose(path, part, names)
            for number, part in enumerate(parts)
        )
        out = self.pages / path.relative_to(self.docs)
        if path in (self.docs / "README.md", self.docs / "decisions.md"):
            text += self.contents(path)
        if path == self.docs / "README.md":
            out = self.pages / "index.md"
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")

    @staticmethod
    def code(block):
        return re.sub(r"^```\n(?=nxir )", "```nxir\n", block)

    def contents(self, index):
        """The pages that the index names, below its headings, for the navigation."""
        out = ["\n"]
        for part in re.split(r"^## ", index.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            caption, rest = part.split("\n", 1)
            targets = ["api" if m[3] == "../include/nx" else m[3] for m in LINK.finditer(rest)]
            names = [
                target.removesuffix(".md")
                for target in targets
                if target == "api" or target.endswith(".md")
            ]
            out += [
                "```{toctree}",
                ":hidden:",
                ":maxdepth: 1",
                f":caption: {caption}",
                "",
                *dict.fromkeys(names),
                "```",
                "",
            ]
        return "\n".join(out)

    def files(self):
        """Pages of the files that pages link to."""
        for where, file in self.shown.items():
            out = self.pages / "files" / f"{where}.md"
            out.parent.mkdir(parents=True, exist_ok=True)
            text = file.read_text(encoding="utf-8")
            language = LANGUAGES.get(file.suffix, "text")
            out.write_text(
                f"---\norphan: true\n---\n\n# {where}\n\n````{language}\n{text}````\n",
                encoding="utf-8",
            )


def doxygen(root, out):
    """What Doxygen reads of the headers, as XML."""
    text = (root / "docs/html/Doxyfile").read_text(encoding="utf-8")
    text += f'INPUT = "{root}/include/nx"\nOUTPUT_DIRECTORY = "{out}"\n'
    subprocess.run(["doxygen", "-"], input=text, text=True, check=True)
    return out / "xml"


def main():
    root, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    for folder in "pages", "xml":
        shutil.rmtree(out / folder, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    manual = Manual(root, out)
    names = reference.write(doxygen(root, out), root / "include/nx", manual.pages / "api")
    for path in sorted(root.glob("docs/**/*.md")):
        manual.page(path, names)
    if (root / "docs/images").is_dir():
        shutil.copytree(root / "docs/images", manual.pages / "images")
    manual.files()
    # One process, and everything anew: enumerators are lost where what was read is put together
    # from several processes or runs.
    words = ["sphinx-build", "-q", "-W", "--keep-going", "-E", "-j", "1", "-b", "html", "-c"]
    return subprocess.run([*words, root / "docs/html", manual.pages, out / "html"]).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (reference.Fault, subprocess.CalledProcessError) as fault:
        sys.exit(f"manual.py: {fault}")
