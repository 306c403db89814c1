# SPDX-License-Identifier: ISC
"""Writes nx/__init__.pyi, the types of the package's names, from the package itself: many of its
functions are made when it is imported, which type checkers cannot follow.

Usage: PYTHONPATH=BUILD/bindings/python python -P gen_stubs.py > nx/__init__.pyi"""

import inspect
import re
import types

import nx


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
        signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(signature_of(found)))
    except (TypeError, ValueError):
        return f"from ._core import {name} as {name}"
    signature = re.sub(r"(?<![.\w])bool\b", "builtins.bool", signature)
    return wrapped(f"def {name}{signature}: ...")


def wrapped(text):
    """In lines of less than 100 characters."""
    lines = []
    while len(text) >= 100:
        cut = text.rindex(", ", 0, 98) + 1
        lines.append(text[:cut])
        text = "        " + text[cut + 1:]
    return "\n".join([*lines, text])


def main():
    print("# SPDX-License-Identifier: ISC\n# Made by gen_stubs.py.")
    print("import builtins")
    print("from contextlib import AbstractContextManager")
    print("from typing import Any, Callable, Iterator, Sequence\n")
    print("from ._core import Array as Array, DType as DType")
    print("from ._dtypes import finfo_object, iinfo_object, _Info")
    print("from ._searching import (unique_all_result, unique_counts_result,"
          " unique_inverse_result)\n")
    names = sorted(set(nx.__all__) - {"Array", "DType"})
    for text in sorted((line(n, getattr(nx, n)) for n in names),
                       key=lambda t: (not t.startswith("from"), t)):
        print(text)


if __name__ == "__main__":
    main()
