# SPDX-License-Identifier: ISC
"""NumPy's objects that are indexed to make something: grids (mgrid, ogrid), arrays put together
(r_, c_), keys (s_, index_exp); and what counts through a shape."""

from __future__ import annotations

import itertools
from typing import Any, Iterator

from ._core import Array, result_type
from ._creation import arange, linspace, meshgrid
from ._lib import arr, cast, product, reshaped, shape_of
from ._manipulation import concat, stack

__all__ = ["c_", "index_exp", "mgrid", "ndenumerate", "ndindex", "ogrid", "r_", "s_"]


def _line(part: slice) -> Array:
    """The numbers of a slice; an imaginary step is a number of points, and the end is one."""
    start = 0 if part.start is None else part.start
    if part.stop is None:
        raise ValueError(f"{part} has no end")
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


class _Grid:
    """nx.mgrid[0:3, 0:1:5j]: the coordinates of a grid, one behind the other along a first axis; of
    nx.ogrid a tuple of arrays that broadcast to it."""

    def __init__(self, is_open: bool) -> None:
        self._open = is_open

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return _line(key)
        lines = [_line(k) for k in key]
        if lines:
            dtype = result_type(*lines)
            lines = [cast(x, dtype) for x in lines]
        if not self._open:
            return stack(meshgrid(*lines, indexing="ij")) if lines else arange(0)
        n = len(lines)
        return tuple(reshaped(x, [x.size if i == j else 1 for j in range(n)])
                     for i, x in enumerate(lines))


mgrid = _Grid(False)
ogrid = _Grid(True)


class _Joined:
    """nx.r_[0:3, 7, x]: slices, numbers and arrays one behind the other along the first axis; a
    first text "axis", "axis,ndim" or "axis,ndim,place" says along which one, to how many dimensions
    all are brought, and where theirs come. nx.c_ is nx.r_["-1,2,0", ..]."""

    def __init__(self, axis: int, ndim: int, place: int) -> None:
        self._how = axis, ndim, place

    def __getitem__(self, key: Any) -> Array:
        key = list(key) if isinstance(key, tuple) else [key]
        axis, ndim, place = self._how
        if key and isinstance(key[0], str):
            axis, ndim, place = self._directive(key.pop(0))
        if not key:
            raise ValueError("there is nothing to put together")
        parts = [self._part(k, ndim, place) for k in key]
        # Numbers of Python take the dtype of the arrays, as they do in operations.
        dtype = result_type(*[k if type(k) in (bool, int, float, complex) else x
                              for k, x in zip(key, parts)], *parts[:1] * self._plain(key))
        return concat([cast(x, dtype) for x in parts], axis=axis)

    @staticmethod
    def _plain(key: list) -> bool:
        return all(type(k) in (bool, int, float, complex) for k in key)

    @staticmethod
    def _directive(text: str) -> tuple[int, int, int]:
        try:
            numbers = [int(part) for part in text.split(",")]
            return (*numbers, *(0, 1, -1)[len(numbers):])  # type: ignore[return-value]
        except ValueError:
            raise ValueError(f"{text!r} is not \"axis,ndim,place\"; there are no matrices"
                             ) from None

    @staticmethod
    def _part(entry: Any, ndim: int, place: int) -> Array:
        if isinstance(entry, str):
            raise ValueError(f"the text {entry!r} comes first")
        x = _line(entry) if isinstance(entry, slice) else arr(entry)
        missing = ndim - x.ndim
        if missing <= 0:
            return x
        if x.ndim == 0:
            return reshaped(x, (1,) * ndim)
        before = place if place >= 0 else missing + place + 1
        return reshaped(x, (*(1,) * before, *x.shape, *(1,) * (missing - before)))


r_ = _Joined(0, 1, -1)
c_ = _Joined(-1, 2, 0)


class _Key:
    """nx.s_[1:3, ..]: the key itself; of nx.index_exp always a tuple."""

    def __init__(self, always: bool) -> None:
        self._always = always

    def __getitem__(self, key: Any) -> Any:
        return (key,) if self._always and not isinstance(key, tuple) else key


s_ = _Key(False)
index_exp = _Key(True)


def ndindex(*shape: Any) -> Iterator[tuple[int, ...]]:
    """All indices of a shape in C order."""
    extents = shape_of(shape[0]) if len(shape) == 1 else shape_of(shape)
    if any(n < 0 for n in extents):
        raise ValueError(f"ndindex: a negative extent in {extents}")
    return itertools.product(*[range(n) for n in extents])


def ndenumerate(x: Any, /) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The indices and values of all elements, which are read at once (an action)."""
    x = arr(x)
    values = reshaped(x, (product(x.shape),)).tolist()
    return zip(ndindex(x.shape), values)
