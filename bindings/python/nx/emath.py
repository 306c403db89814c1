# SPDX-License-Identifier: ISC
"""Functions of real numbers that give complex ones where there is no real result, as NumPy's emath.
Each looks at its argument, an action, and gives complex numbers if one element needs it."""

from __future__ import annotations

from typing import Any, Callable

from . import _elementwise
from ._core import Array, calls
from ._lib import arr, cast, complex_dtype, floating, named, operands, result_type

__all__ = ["arccos", "arcsin", "arctanh", "log", "log10", "log2", "logn", "power", "sqrt"]


def _any(mask: Array) -> bool:
    return mask.size > 0 and bool(calls.reduce_max(mask, None, 0))


def _is_negative(x: Array) -> bool:
    return x.dtype.kind != "c" and _any(x < 0)


def _is_beyond_1(x: Array) -> bool:
    return x.dtype.kind != "c" and _any(abs(x) > 1)


def _complex(x: Array) -> Array:
    return cast(x, complex_dtype(x.dtype))


def _extended(name: str, leaves: Callable[[Array], bool], where: str) -> Callable[[Any], Array]:
    function = getattr(_elementwise, name)

    def extended(x: Any, /) -> Array:
        x = floating(x)
        return function(_complex(x) if leaves(x) else x)

    return named(extended, name, f"nx.{name}, complex if an element is {where}.")


sqrt = _extended("sqrt", _is_negative, "negative")
log = _extended("log", _is_negative, "negative")
log2 = _extended("log2", _is_negative, "negative")
log10 = _extended("log10", _is_negative, "negative")
arccos = _extended("arccos", _is_beyond_1, "beyond 1")
arcsin = _extended("arcsin", _is_beyond_1, "beyond 1")
arctanh = _extended("arctanh", _is_beyond_1, "beyond 1")


def logn(n: Any, x: Any, /) -> Array:
    """The logarithm to base n, complex if an element of either is negative."""
    return log(x) / log(n)


def power(x: Any, p: Any, /) -> Array:
    """x to the power p, complex if an element of x is negative, and a float if a power is."""
    x, p = (arr(v) for v in operands(x, p))
    if result_type(x, p).kind in "iu" and _is_negative(p):
        p = floating(p)
    return _elementwise.power(_complex(floating(x)) if _is_negative(x) else x, p)
