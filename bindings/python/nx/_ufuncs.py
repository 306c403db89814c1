# SPDX-License-Identifier: ISC
"""NumPy's functions of elements (ufuncs) where an operand is an Array: `numpy.exp(x)` is nx.exp(x),
and `a + x` of an array of NumPy's is recorded. What goes into arrays of NumPy's (`a += x`) NumPy
computes, with the values of x."""

from __future__ import annotations

import operator
from typing import Any

from . import _elementwise, _more, _products
from ._core import Array

_FUNCTIONS = {name: getattr(module, name) for module in (_more, _products, _elementwise)
              for name in module.__all__}

# The operators, of which an array on the right gets the other one.
_OPERATORS = {name: (getattr(operator, f"__{left}__"), getattr(Array, f"__{right}__"))
              for name, left, right in (
    ("add", "add", "radd"), ("subtract", "sub", "rsub"), ("multiply", "mul", "rmul"),
    ("divide", "truediv", "rtruediv"), ("floor_divide", "floordiv", "rfloordiv"),
    ("remainder", "mod", "rmod"), ("power", "pow", "rpow"), ("matmul", "matmul", "rmatmul"),
    ("bitwise_and", "and", "rand"), ("bitwise_or", "or", "ror"), ("bitwise_xor", "xor", "rxor"),
    ("left_shift", "lshift", "rlshift"), ("right_shift", "rshift", "rrshift"),
    ("less", "lt", "gt"), ("less_equal", "le", "ge"), ("greater", "gt", "lt"),
    ("greater_equal", "ge", "le"), ("equal", "eq", "eq"), ("not_equal", "ne", "ne"))}


def array_ufunc(self: Array, ufunc: Any, method: str, *operands: Any, **words: Any) -> Any:
    """What NumPy calls in place of a ufunc; NotImplemented, of which it makes a TypeError, where
    nothing here is the same."""
    name = ufunc.__name__
    if method != "__call__":
        return NotImplemented
    if not words and name in _OPERATORS:
        left, right = _OPERATORS[name]
        a, b = operands
        return left(a, b) if type(a) is Array else right(b, a)
    if any(type(y) is not Array for y in words.get("out", ())):
        from numpy import asarray

        return ufunc(*[asarray(x) if type(x) is Array else x for x in operands], **words)
    return _FUNCTIONS[name](*operands, **words) if name in _FUNCTIONS else NotImplemented


Array.__array_ufunc__ = array_ufunc
