# SPDX-License-Identifier: ISC
"""The program in docs/ocaml.md is compiled, and prints what the page says.

Usage: page_test.py PAGE LINK_SH OCAMLOPT COMPILER ENGINE_FOLDER LIBRARY_FOLDER, in the folder of
the build.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path


def block(page, language):
    return re.search(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL).group(1)


def main():
    page = Path(sys.argv[1]).read_text(encoding="utf-8")
    link, *options = sys.argv[2:]
    with tempfile.TemporaryDirectory(dir=".") as folder:
        source = Path(folder, "page.ml")
        source.write_text(block(page, "ocaml"), encoding="utf-8")
        program = Path(folder, "page")
        subprocess.run(["sh", link, *options, program, f"{folder}/objects", source], check=True)
        said = subprocess.run([program.resolve()], check=True, stdout=subprocess.PIPE, text=True)
    if said.stdout != block(page, "text"):
        print(f"the page says\n{block(page, 'text')}the program\n{said.stdout}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
