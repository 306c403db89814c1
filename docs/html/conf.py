# SPDX-License-Identifier: ISC
"""Sphinx's configuration of the manual. manual.py lays the pages out and runs Sphinx; see there."""

import re
from pathlib import Path

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, Text

here = Path(__file__).parent
version_header = (here / "../../include/nx/version.h").read_text(encoding="utf-8")

project = "nx"
author = "the authors of nx"
release = re.search(r'NX_VERSION_STRING "(.*)"', version_header).group(1)
version = release
html_title = f"nx {release}"

extensions = ["myst_parser", "sphinx_copybutton"]
root_doc = "index"
exclude_patterns = ["_*"]
highlight_language = "text"
myst_heading_anchors = 4
html_theme = "furo"
html_static_path = [str(here / "static")]
html_css_files = ["nx.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_use_index = True
add_function_parentheses = False
copybutton_prompt_text = "$ "
# Every name that is linked is one; those of the C library, and DLPack's structures, have no page
# here.
nitpicky = True
nitpick_ignore = [
    ("c:identifier", name)
    for name in (
        "size_t",
        "int32_t",
        "int64_t",
        "uint8_t",
        "uint32_t",
        "uint64_t",
        "DLManagedTensor",
        "DLManagedTensorVersioned",
    )
]
html_theme_options = {"navigation_with_keys": True}


class NxirLexer(RegexLexer):
    """The text forms of both levels of the IR (ir.md)."""

    name, aliases = "nxir", ["nxir"]
    tokens = {
        "root": [
            (r";.*$", Comment),
            (r"\s+", Text),
            (r"%[\w.]+", Name.Variable),
            (r"@[\w.]+", Name.Function),
            (
                r"\b(bool|[iu](4|8|16|32|64)|f(16|32|64|8e4m3|8e5m2)|bf16|c(32|64|128))\b",
                Keyword.Type,
            ),
            (r"^(nxir|graph|kernel)\b", Keyword),
            (r"[+-]?(0x[0-9a-fA-F.p+-]+|\d+(\.\d+)?(e[+-]?\d+)?)", Number),
            (r"->|[=:]", Operator),
            (r"[\w.]+(?==)", Name.Attribute),
            (r"[A-Za-z_][\w.]*", Name.Builtin),
            (r".", Punctuation),
        ]
    }


def setup(app):
    app.add_lexer("nxir", NxirLexer)
