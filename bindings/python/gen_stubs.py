# SPDX-License-Identifier: ISC
"""Writes nx/__init__.pyi, the types of the package's names, and into nx/_core.pyi the methods of
arrays, from the package itself: many of its functions are made when it is imported, which type
checkers cannot follow.

Usage, in bindings/python: PYTHONPATH=BUILD/bindings/python python -P gen_stubs.py"""

import inspect
import re
import types
from pathlib import Path

import nx
from nx._methods import _METHODS

HEAD = """# SPDX-License-Identifier: ISC
# Made by gen_stubs.py.
import builtins
from contextlib import AbstractContextManager
from typing import Any, Callable, Iterator, Mapping, Sequence

from ._core import Array as Array, DType as DType
from ._dtypes import finfo_object, iinfo_object, _Info
from ._searching import (unique_all_result, unique_counts_result, unique_inverse_result)
"""


def signature_of(found):
    """Its signature, with what a wrapper of _keywords.py adds."""
    signature = inspect.signature(found)
    added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default,
                               annotation="Any")
             for name, default in getattr(found, "adds", {}).items()]
    return signature.replace(parameters=[*signature.parameters.values(), *added])


def line(name, found):
    if isinstance(found, types.ModuleType) and found.__name__ == "nx._core.calls":
        return "from ._core import calls as calls"
    if isinstance(found, types.ModuleType):
        return f"from . import {name} as {name}"
    if isinstance(found, nx.DType):
        return f"{name}: DType"
    if isinstance(found, type) and found.__module__.startswith("nx._"):
        return f"from .{found.__module__[3:]} import {name} as {name}"
    if isinstance(found, type) or inspect.isbuiltin(found):
        return f"from ._core import {found.__name__} as {name}"
    if isinstance(found, (float, str, type(None))):
        return f"{name}: {type(found).__name__.replace('NoneType', 'None')}"
    if name == "printoptions":
        return "def printoptions(**options: Any) -> AbstractContextManager[dict]: ..."
    if not callable(found):
        return f"from .{type(found).__module__[3:]} import {name} as {name}"
    try:
        signature = text_of(signature_of(found))
    except (TypeError, ValueError):
        return f"from ._core import {name} as {name}"
    signature = re.sub(r"(?<![.\w])bool\b", "builtins.bool", signature)
    return wrapped(f"def {name}{signature}: ...")


def text_of(signature):
    """As it is written; a default that is no literal is `...`."""
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(signature))
    return re.sub(r"= <[^>]*>", "= ...", text)


def method(name, found):
    """A function of the array as its method."""
    first, *others = signature_of(found).parameters.values()
    if others and others[0].kind == inspect.Parameter.POSITIONAL_ONLY:
        kind = inspect.Parameter.POSITIONAL_ONLY
    else:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    first = inspect.Parameter("self", kind)
    signature = signature_of(found).replace(parameters=[first, *others])
    return wrapped(f"    def {name}{text_of(signature)}: ...", " " * 12)


def wrapped(text, indent=" " * 8):
    """In lines of less than 100 characters."""
    lines = []
    while len(text) >= 100:
        cut = text.rindex(", ", 0, 98) + 1
        lines.append(text[:cut])
        text = indent + text[cut + 1:]
    return "\n".join([*lines, text])


def write_methods(path):
    """Between two lines of the file that say so."""
    begin, end = "    # Methods, by gen_stubs.py:\n", "    # End of methods.\n"
    before, rest = path.read_text().split(begin)
    made = "".join(method(name, _METHODS[name]) + "\n" for name in sorted(_METHODS))
    path.write_text(before + begin + made + end + rest.split(end)[1])


def main():
    names = sorted(set(nx.__all__) - {"Array", "DType"})
    found = sorted((line(n, getattr(nx, n)) for n in names),
                   key=lambda t: (not t.startswith("from"), t))
    Path("nx/__init__.pyi").write_text("\n".join([HEAD, *found, ""]))
    write_methods(Path("nx/_core.pyi"))


if __name__ == "__main__":
    main()
