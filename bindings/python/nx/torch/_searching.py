# SPDX-License-Identifier: ISC
"""Operations that look for elements: order statistics, places in sorted lines; and distances."""

from __future__ import annotations

import math
from typing import Any

from ._lowering import (FLOAT32, FLOAT64, INT64, KIND, SMALL, Array, Call, arange, axis_of, both,
                        calls, cast, common, full, in_line, lowers, operand, refuse)


# ---- order statistics, with the place of the first element that has the value

def _at(x: Array, dim: int, place: Any, keepdim: bool) -> tuple[Array, Array]:
    """The element of each line that is at a place in its order; a number, or one for each line."""
    order = calls.argsort(x, dim, 0, INT64)
    shape = tuple(1 if i == dim else n for i, n in enumerate(x.shape))
    at = calls.expand(operand(place, INT64), shape)
    index = calls.gather(order, at, dim)
    results = calls.gather(x, index, dim), index
    kept = shape if keepdim else tuple(n for i, n in enumerate(x.shape) if i != dim)
    return tuple(calls.reshape(y, kept, calls.MAY_COPY) for y in results)


def _nans(x: Array, dim: int) -> Array:
    """How many NaN each line has; they are last in its order."""
    if x.dtype.kind != "f":
        return operand(0, INT64)
    return calls.reduce_sum(cast(calls.isnan(x), INT64), [dim], calls.KEEPDIMS)


@lowers("aten.kthvalue.default")
def _kthvalue(c: Call, x: Array, k: int, dim: int = -1,
              keepdim: bool = False) -> tuple[Array, Array]:
    if x.ndim == 0:
        return x, full((), INT64, 0)
    return _at(x, axis_of(dim, x.ndim), k - 1, keepdim)


def _middle(x: Array, dim: int, ignore: bool) -> Any:
    n, nans = x.shape[dim], _nans(x, dim)
    if x.dtype.kind != "f":
        return (n - 1) // 2
    if ignore:
        left = calls.sub(operand(n - 1, INT64), nans)
        return calls.div(calls.max(left, operand(0, INT64)), operand(2, INT64))
    first = calls.sub(operand(n, INT64), nans)
    some = calls.cmpgt(nans, operand(0, INT64))
    return calls.where(some, first, operand((n - 1) // 2, INT64))


def _median(ignore: bool) -> Any:
    def lower(c: Call, x: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
        if x.ndim == 0:
            return x, full((), INT64, 0)
        dim = axis_of(dim, x.ndim)
        refuse(x.shape[dim] == 0, "the middle of nothing")
        return _at(x, dim, _middle(x, dim, ignore), keepdim)

    return lower


def _median_of_all(ignore: bool) -> Any:
    def lower(c: Call, x: Array) -> Array:
        refuse(x.size == 0, "the middle of nothing")
        line = in_line(x)
        return _at(line, 0, _middle(line, 0, ignore), False)[0]

    return lower


for _name, _ignore in {"median": False, "nanmedian": True}.items():
    lowers(f"aten.{_name}.dim")(_median(_ignore))
    lowers(f"aten.{_name}.default")(_median_of_all(_ignore))


@lowers("aten.mode.default")
def _mode(c: Call, x: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The value that a line has most often, the least of several, and its last place: in the order
    of the line, where a run of equal elements has got longest. Every NaN is another value."""
    if x.ndim == 0:
        return x, full((), INT64, 0)
    dim = axis_of(dim, x.ndim)
    n = x.shape[dim]
    refuse(n == 0, "the mode of nothing")
    order = calls.argsort(x, dim, 0, INT64)
    line = calls.gather(x, order, dim)
    low, high = [0] * x.ndim, list(x.shape)
    before, after = list(high), list(low)
    before[dim], after[dim] = n - 1, 1
    new = calls.cmpne(calls.shrink(line, after, high), calls.shrink(line, low, before))
    new = calls.pad(new, after, [0] * x.ndim, True)
    i = calls.reshape(arange(INT64, 0, 1, n), [n if a == dim else 1 for a in range(x.ndim)])
    begin = calls.associative_scan(calls.where(new, i, operand(0, INT64)), calls.SCAN_MAX, dim)
    longest = calls.reduce_argmax(calls.sub(i, begin), dim, calls.KEEPDIMS, INT64)
    index = calls.gather(order, longest, dim)
    results = calls.gather(x, index, dim), index
    kept = index.shape if keepdim else tuple(m for a, m in enumerate(x.shape) if a != dim)
    return tuple(calls.reshape(y, kept, calls.MAY_COPY) for y in results)


# ---- places in lines that are sorted

def _place(c: Call, line: Array, values: Any, right: bool, sorter: Array | None = None) -> Array:
    refuse(line.dtype.kind == "b", "an order of bools")
    values = operand(values, line.dtype) if not isinstance(values, Array) else values
    refuse(values.dtype != line.dtype, "values of another dtype than the line's")
    flags = calls.AFTER_EQUAL * right
    return calls.searchsorted(line, values, sorter, flags, c.dtype)


@lowers("aten.searchsorted.Tensor", "aten.searchsorted.Scalar")
def _searchsorted(c: Call, line: Array, values: Any, *, out_int32: bool = False,
                  right: bool = False, side: str | None = None,
                  sorter: Array | None = None) -> Array:
    return _place(c, line, values, right or side == "right", sorter)


@lowers("aten.bucketize.Tensor", "aten.bucketize.Scalar")
def _bucketize(c: Call, values: Any, line: Array, *, out_int32: bool = False,
               right: bool = False) -> Array:
    return _place(c, line, values, right)


@lowers("aten.histc.default")
def _histc(c: Call, x: Array, bins: int = 100, min: Any = 0, max: Any = 0) -> Array:
    refuse(min >= max, "a histogram between the least and the largest element")
    refuse(x.size == 0, "a histogram of nothing")
    dtype = FLOAT64 if x.dtype.kind in "iu" else FLOAT32 if x.dtype.name in SMALL else x.dtype
    x = cast(in_line(x), dtype)
    low, high = operand(float(min), dtype), operand(float(max), dtype)
    inside = both(calls.cmpge(x, low), calls.cmple(x, high))
    part = calls.div(calls.sub(x, low), calls.sub(high, low))
    place = calls.where(inside, calls.mul(part, operand(float(bins), dtype)), operand(0.0, dtype))
    place = calls.min(cast(place, INT64), operand(bins - 1, INT64))
    place = calls.where(inside, place, operand(bins, INT64))  # beside the result
    zeros = calls.expand(operand(0, INT64), (bins + 1,))
    y = calls.scatter(zeros, place, calls.expand(operand(1, INT64), place.shape), 0,
                      calls.SCATTER_ADD)
    return cast(calls.shrink(y, [0], [bins]), c.dtype)


# ---- distances between the rows of two matrices

def _apart(a: Array, b: Array) -> Array:
    """All differences of a row of a and one of b, in f32 at least."""
    a, b = (cast(x, FLOAT32) if x.dtype.name in SMALL else x for x in (a, b))
    a = calls.reshape(a, (*a.shape[:-1], 1, a.shape[-1]), calls.MAY_COPY)
    b = calls.reshape(b, (*b.shape[:-2], 1, *b.shape[-2:]), calls.MAY_COPY)
    return calls.sub(a, b)


@lowers("aten._cdist_forward.default")
def _cdist(c: Call, a: Array, b: Array, p: float, compute_mode: int | None) -> Array:
    if 0 in a.shape or 0 in b.shape:  # no distances, or those of points without coordinates
        return full(c.shape, c.dtype, 0)
    return cast(calls.vector_norm(_apart(a, b), float(p), [-1], 0), c.dtype)


@lowers("aten._cdist_backward.default")
def _cdist_backward(c: Call, g: Array, a: Array, b: Array, p: float, distances: Array) -> Array:
    if 0 in a.shape or 0 in b.shape:  # no distances, or those of points without coordinates
        return full(c.shape, c.dtype, 0)
    far = _apart(a, b)
    zero, size = operand(0, far.dtype), calls.abs(far)
    wide = lambda x: calls.reshape(cast(x, far.dtype), (*x.shape, 1), calls.MAY_COPY)  # noqa: E731
    g, d = wide(g), wide(distances)
    sign = calls.sign(far)
    if p == 0:
        y = calls.mul(zero, far)
    elif p == 1:
        y = calls.mul(g, sign)
    elif math.isinf(p):
        y = calls.where(calls.cmpeq(size, d), calls.mul(g, sign), zero)
    else:
        power = calls.pow(calls.div(size, d), operand(p - 1, far.dtype))
        y = calls.where(calls.cmpeq(d, zero), zero, calls.mul(calls.mul(g, sign), power))
        y = calls.where(calls.cmpeq(size, zero), zero, y) if p < 1 else y
    return cast(calls.reduce_sum(y, [-2]), c.dtype)


@lowers("aten.dist.default")
def _dist(c: Call, a: Array, b: Array, p: Any = 2) -> Array:
    dtype = common(KIND.DEFAULT, a, b)
    far = calls.sub(cast(a, dtype), cast(b, dtype))
    return cast(calls.vector_norm(far, float(p), None, 0), c.dtype)
