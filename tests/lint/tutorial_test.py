# SPDX-License-Identifier: ISC
"""A page of docs/tutorial/ and its program: the page's blocks of C are the program, in order, and
its blocks of text what the program prints.

Usage: tutorial_test.py PAGE SOURCE [PROGRAM] [--write]. --write brings the page up to date: each
block keeps its number of paragraphs, or of lines. Without PROGRAM nothing is run.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```(c|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def paragraphs(source):
    """The program below its head, cut at blank lines."""
    text = source.read_text(encoding="utf-8")
    return text[text.index("#include") :].strip("\n").split("\n\n")


def printed(program):
    if not program:
        return None
    with tempfile.TemporaryDirectory() as folder:  # where a program may write
        done = subprocess.run([program.resolve()], cwd=folder, capture_output=True, text=True)
    if done.returncode or done.stderr:
        sys.exit(f"{program}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def rewritten(page, chunks, output):
    chunks, lines = list(chunks), (output or "").splitlines(keepends=True)

    def block(match):
        if match[1] == "c":
            count = len(match[2].strip("\n").split("\n\n"))
            taken = "\n\n".join(chunks[:count]) + "\n"
            del chunks[:count]
        else:
            count = match[2].count("\n")
            taken = "".join(lines[:count]) if output is not None else match[2]
            del lines[:count]
        return f"```{match[1]}\n{taken}```"

    return BLOCK.sub(block, page)


def faults(page, chunks, output):
    blocks = BLOCK.findall(page)
    shown = "\n\n".join(text.strip("\n") for language, text in blocks if language == "c").split(
        "\n\n"
    )
    for mine, its in zip(shown + [""] * len(chunks), chunks + [""] * len(shown)):
        if mine != its:
            yield f"the page has\n{mine}\nwhere the program has\n{its}"
            break
    told = "".join(text for language, text in blocks if language == "text")
    if output is not None and told != output:
        yield f"the page shows as output\n{told}\nand the program prints\n{output}"


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    path, source, program = (
        Path(words[0]),
        Path(words[1]),
        Path(words[2]) if len(words) > 2 else None,
    )
    page, chunks, output = path.read_text(encoding="utf-8"), paragraphs(source), printed(program)
    if "--write" in sys.argv:
        page = rewritten(page, chunks, output)
        path.write_text(page, encoding="utf-8")
    found = list(faults(page, chunks, output))
    for sentence in found:
        print(f"{path}: {sentence}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
