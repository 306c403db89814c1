# SPDX-License-Identifier: ISC
"""Functions of Python on lines, axes and elements of arrays."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from . import _core
from ._core import Array, calls
from ._lib import (BOOL, arr, axis_of, broadcast_shape, cast, expand, permuted, product,
                   reshaped)
from ._manipulation import stack

__all__ = ["apply_along_axis", "apply_over_axes", "piecewise", "vectorize"]


def apply_along_axis(function: Callable[..., Any], axis: int, x: Any, /, *args: Any,
                     **words: Any) -> Array:
    """What a function gives of each line along an axis, whose place the axes of its results take.
    It is called for each line, and records; where it acts along an axis itself, that is quicker."""
    x = arr(x)
    axis = axis_of(axis, x.ndim)
    order = [i for i in range(x.ndim) if i != axis] + [axis]
    others = [x.shape[i] for i in order[:-1]]
    n = product(others)
    if n == 0:
        raise ValueError(f"apply_along_axis: there is no line in {x.shape} along axis {axis}")
    lines = reshaped(permuted(x, order), (n, x.shape[axis]))
    found = [arr(function(lines[i], *args, **words)) for i in range(n)]
    if any(y.shape != found[0].shape for y in found):
        raise ValueError("apply_along_axis: the results for lines have different shapes")
    y = stack([cast(y, found[0].dtype) for y in found])
    inner = y.ndim - 1
    y = reshaped(y, (*others, *y.shape[1:]))
    m = len(others)
    return permuted(y, [*range(axis), *range(m, m + inner), *range(axis, m)])


def apply_over_axes(function: Callable[[Any, int], Any], x: Any, axes: Any) -> Array:
    """A function of an array and an axis, called for one axis after the other, with the axes kept
    at the extent 1."""
    x = arr(x)
    n = x.ndim
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        axis = axis_of(axis, n)
        y = arr(function(x, axis))
        if y.ndim == n - 1:
            y = reshaped(y, (*y.shape[:axis], 1, *y.shape[axis:]))
        if y.ndim != n:
            raise ValueError(f"apply_over_axes: the function makes {y.ndim} dimensions of {n}")
        x = y
    return x


def piecewise(x: Any, conditions: Any, functions: Sequence[Any], /, *args: Any,
              **words: Any) -> Array:
    """Of the last condition that holds the function of x, or the number; one more function is for
    where none holds, else 0. Each function is called once, with all of x, and acts element by
    element."""
    x = arr(x)
    listed = isinstance(conditions, (tuple, list))
    if not listed or (conditions and not hasattr(conditions[0], "__len__")
                      and not getattr(conditions[0], "ndim", 0) and x.ndim):
        conditions = [conditions]
    masks = [expand(cast(arr(c), BOOL), x.shape) for c in conditions]
    if len(functions) not in (len(masks), len(masks) + 1):
        raise ValueError(f"piecewise: {len(functions)} functions for {len(masks)} conditions")
    y = _core.full(x.shape, 0, x.dtype, x.device)
    if len(functions) > len(masks):
        y = _piece(x, functions[-1], args, words)
    for mask, function in zip(masks, functions):
        y = calls.where(mask, _piece(x, function, args, words), y)
    return y


def _piece(x: Array, function: Any, args: tuple, words: dict) -> Array:
    if not callable(function):
        value = function if isinstance(function, (bool, int, float, complex)) else arr(function)
        return expand(cast(value, x.dtype), x.shape)
    return expand(cast(arr(function(x, *args, **words)), x.dtype), x.shape)


class vectorize:
    """A function of numbers as one of arrays, which are broadcast. It is called in the interpreter
    with the values of each element, which are read (an action): for convenience, not for speed.
    otypes: the dtypes of its results; else those of its results of the first element."""

    def __init__(self, pyfunc: Callable[..., Any], otypes: Any = None, doc: str | None = None,
                 excluded: Any = None) -> None:
        if not callable(pyfunc):
            raise TypeError(f"vectorize: {type(pyfunc).__name__} is not a function")
        self.pyfunc, self.excluded = pyfunc, set(excluded or ())
        self.otypes = None if otypes is None else [_core.dtype(t) for t in (
            otypes if isinstance(otypes, (tuple, list)) else [otypes])]
        self.__doc__ = pyfunc.__doc__ if doc is None else doc
        self.__name__ = getattr(pyfunc, "__name__", "function")

    def __call__(self, *args: Any, **words: Any) -> Any:
        places = [i for i in range(len(args)) if i not in self.excluded]
        names = [name for name in words if name not in self.excluded]
        xs = [arr(args[i]) for i in places] + [arr(words[name]) for name in names]
        if not xs:
            return self.pyfunc(*args, **words)
        shape = broadcast_shape(*[x.shape for x in xs])
        n = product(shape)
        if n == 0 and self.otypes is None:
            raise ValueError("vectorize: otypes must be given for arrays without elements")
        values = [reshaped(expand(x, shape), (n,)).tolist() for x in xs]
        found = [self._one(args, words, places, names, row) for row in zip(*values)]
        if n == 0:
            made = tuple(_core.empty(shape, t) for t in self.otypes or ())
            return made[0] if len(made) == 1 else made
        if not isinstance(found[0], tuple):
            return self._array(found, 0, shape)
        return tuple(self._array([f[i] for f in found], i, shape) for i in range(len(found[0])))

    def _one(self, args: tuple, words: dict, places: list, names: list, row: tuple) -> Any:
        given, named = list(args), dict(words)
        for i, v in zip(places, row):
            given[i] = v
        named.update(zip(names, row[len(places):]))
        return self.pyfunc(*given, **named)

    def _array(self, values: list, i: int, shape: tuple[int, ...]) -> Array:
        dtype = arr(values[0]).dtype if self.otypes is None else self.otypes[i]
        values = [v.item() if type(v) is Array else v for v in values]
        kinds = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
        x = arr([kinds[dtype.kind](v) for v in values])
        return reshaped(cast(x, dtype), shape)
