# SPDX-License-Identifier: ISC
"""Functions as operations: those of Python, called when their results are computed, and those of
programs in text."""

from __future__ import annotations

from typing import Any, Callable

from . import _core
from ._core import Array

__all__ = ["custom", "parse", "progress", "report", "token"]

parse = _core.parse
progress = _core.progress
report = _core.report


def token() -> Array:
    """What orders calls of functions that have effects: they are called in the order in which they
    were recorded with it. Realising it calls them."""
    return _core.calls.token(0)


def custom(function: Callable[..., Any], *operands: Any, results: Any, order: Any = None,
           name: str = "python") -> Any:
    """Records a call of `function`, and returns its results: one, or a tuple.

    When they are computed the function gets arrays, the values of the operands, on any thread, and
    returns what nx.asarray takes, for each result one, of the shape, and of a kind that the dtype
    takes. `results` is a tuple (shape, dtype), or a list of such tuples. A function without `order`
    must depend on its operands alone; it may be called several times, or never if nothing needs it.
    With order=token it has effects, and is called once. An exception that it raises is raised where
    the value is asked for, and the results have failed then. Captured functions
    call it at each of their calls.
    """
    single = isinstance(results, tuple)
    rows = [results] if single else list(results)
    rows = [(shape, _core.dtype(dtype)) for shape, dtype in rows]
    made = _core.custom(function, [_core.array(x) for x in operands], rows, name, order)
    return made[0] if single else made
