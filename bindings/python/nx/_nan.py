# SPDX-License-Identifier: ISC
"""Reductions and scans that leave out NaN."""

from __future__ import annotations

import math
from typing import Any, Callable

from . import _core, _statistics
from ._core import Array, calls
from ._keywords import into, mask_of, with_out
from ._lib import (BOOL, FLOAT64, INT64, arr, axes_of, axis_of, cast, constant, count_up, expand,
                   floating, named, permuted, product, reshaped)
from ._searching import argmax, argmin
from ._statistics import cumprod, cumsum

__all__ = ["nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian",
           "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar"]


def _filled(x: Array, value: float) -> Array:
    if x.dtype.kind in "biu":
        return x
    return calls.where(calls.isnan(x), constant(value, x.dtype), x)


def _there(x: Array, where: Any) -> Array:
    """Where there is an element that counts."""
    there = getattr(calls, "not")(calls.isnan(x)) if x.dtype.kind in "fc" else (
        _core.full(x.shape, True, BOOL, x.device))
    return there if where is True else there & mask_of(where)


# ---- sums


def _adding(name: str, neutral: int, sentence: str) -> Callable:
    call = getattr(_statistics, name)

    def function(x: Any, /, axis: Any = None, *, dtype: Any = None, out: Any = None,
                 keepdims: bool = False, initial: Any = None, where: Any = True) -> Array:
        return call(_filled(arr(x), neutral), axis, dtype=dtype, out=out, keepdims=keepdims,
                    initial=initial, where=where)

    return named(function, f"nan{name}", sentence)


nansum = _adding("sum", 0, "The sum of what is not NaN.")
nanprod = _adding("prod", 1, "The product of what is not NaN.")


@with_out
def nanmean(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False,
            where: Any = True) -> Array:
    """The mean of what is not NaN."""
    x = floating(x) if dtype is None else cast(arr(x), _core.dtype(dtype))
    n = _statistics.sum(_there(x, where), axis, keepdims=keepdims)
    total = nansum(x, axis, keepdims=keepdims, where=where)
    return total / cast(n, total.dtype)


@with_out
def nanvar(x: Any, /, axis: Any = None, *, correction: float = 0.0, ddof: float | None = None,
           keepdims: bool = False, where: Any = True) -> Array:
    """The variance of what is not NaN; NaN where there are no more elements than ddof."""
    x = floating(x)
    there = _there(x, where)
    far = (x - nanmean(x, axis, keepdims=True, where=where)).__abs__()
    n = _statistics.sum(there, axis, keepdims=keepdims)
    total = _statistics.sum(far * far, axis, keepdims=keepdims, where=there)
    n = n - (correction if ddof is None else ddof)
    y = total / cast(n, total.dtype)
    return calls.where(n > 0, y, constant(math.nan, y.dtype))


@with_out
def nanstd(x: Any, /, axis: Any = None, *, correction: float = 0.0, ddof: float | None = None,
           keepdims: bool = False, where: Any = True) -> Array:
    """The square root of nanvar."""
    return calls.sqrt(nanvar(x, axis, correction=correction, ddof=ddof, keepdims=keepdims,
                             where=where))


# ---- ends


def _choosing(name: str, value: float, sentence: str) -> Callable:
    call = getattr(_statistics, name)

    def function(x: Any, /, axis: Any = None, *, out: Any = None, keepdims: bool = False,
                 initial: Any = None, where: Any = True) -> Array:
        x = arr(x)
        y = call(_filled(x, value), axis, keepdims=keepdims, initial=initial, where=where)
        if x.dtype.kind in "fc" and initial is None:
            nothing = _statistics.all(calls.isnan(x), axis, keepdims=keepdims)
            y = calls.where(nothing, constant(math.nan, y.dtype), y)
        return y if out is None else into(y, out)

    return named(function, f"nan{name}", sentence)


nanmax = _choosing("max", -math.inf, "The largest of what is not NaN; NaN where all are.")
nanmin = _choosing("min", math.inf, "The least of what is not NaN; NaN where all are.")


def _placed(name: str, call: Callable, value: float, sentence: str) -> Callable:
    def function(x: Any, /, axis: int | None = None, *, out: Any = None,
                 keepdims: bool = False) -> Array:
        x = arr(x)
        y = call(_filled(x, value), axis, keepdims=keepdims)
        if x.dtype.kind in "fc":
            nothing = _statistics.all(calls.isnan(x), axis, keepdims=keepdims)
            n = x.size if axis is None else x.shape[axis_of(axis, x.ndim)]
            places = reshaped(calls.where(nothing, constant(n, INT64), y), (y.size,))
            y = reshaped(calls.gather(count_up(n, x), places, 0), y.shape)
        return y if out is None else into(y, out)

    return named(function, name, sentence)


nanargmax = _placed("nanargmax", argmax, -math.inf,
                    "The place of the largest element that is not NaN; an IndexError, when it is "
                    "computed, where all are.")
nanargmin = _placed("nanargmin", argmin, math.inf,
                    "The place of the least element that is not NaN; an IndexError, when it is "
                    "computed, where all are.")


# ---- scans


def nancumsum(x: Any, /, axis: int | None = None, *, dtype: Any = None, out: Any = None) -> Array:
    """Sums of what is not NaN up to each element."""
    return cumsum(_filled(arr(x), 0), axis, dtype=dtype, out=out)


def nancumprod(x: Any, /, axis: int | None = None, *, dtype: Any = None, out: Any = None) -> Array:
    """Products of what is not NaN up to each element."""
    return cumprod(_filled(arr(x), 1), axis, dtype=dtype, out=out)


# ---- quantiles


def _lines(x: Array, axis: Any) -> tuple[Array, tuple[int, ...]]:
    """x with the axes that are reduced as its last one, and the extents of the result with them."""
    axes = axes_of(axis, x.ndim)
    rest = [i for i in range(x.ndim) if i not in axes]
    kept = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    y = permuted(x, [*rest, *axes])
    n = product(x.shape[i] for i in axes)
    return reshaped(y, (*[x.shape[i] for i in rest], n)), kept


def _picked(x: Array, q: Array, method: str) -> Array:
    """The quantiles q, along a last axis, of lines that are sorted, with their NaNs behind."""
    n = calls.reduce_sum(cast(_there(x, True), INT64), (-1,), 1)
    last = cast(calls.max(n - 1, constant(0, INT64)), FLOAT64)
    at = last * q
    low = calls.floor(at)
    part = cast(at - low, x.dtype)
    if method in ("lower", "higher", "nearest"):
        at = {"lower": calls.floor, "higher": calls.ceil, "nearest": calls.rint}[method](at)
        y = calls.gather(x, cast(at, INT64), x.ndim - 1)
    else:
        a = calls.gather(x, cast(low, INT64), x.ndim - 1)
        b = calls.gather(x, cast(calls.min(low + 1, last), INT64), x.ndim - 1)
        y = (a + b) / 2 if method == "midpoint" else _between(a, b, part)
        y = calls.where(part == 0, a, y)
    return calls.where(n == 0, constant(math.nan, y.dtype), y)


def _between(a: Array, b: Array, part: Array) -> Array:
    """From a to b, of which each end is met."""
    d = b - a
    return calls.where(part < 0.5, a + d * part, b - d * (1 - part))


@with_out
def nanquantile(x: Any, q: Any, /, axis: Any = None, *, method: str = "linear",
                keepdims: bool = False) -> Array:
    """The quantiles q, numbers from 0 to 1, of what is not NaN; several along a new first axis."""
    if method not in ("linear", "lower", "higher", "nearest", "midpoint"):
        raise ValueError(f"nanquantile: there is no method {method!r}")
    x, q = floating(x), arr(q)
    if x.dtype.kind == "c":
        raise TypeError("nanquantile: complex numbers have no order")
    values = reshaped(q, (q.size,)).tolist()
    if not all(0 <= v <= 1 for v in values):
        raise ValueError(f"nanquantile: {values} are not all from 0 to 1")
    lines, kept = _lines(x, axis)
    qs = expand(cast(reshaped(q, (1,) * (lines.ndim - 1) + (q.size,)), FLOAT64),
                (*lines.shape[:-1], q.size))
    if lines.shape[-1] == 0:
        y = _core.full(qs.shape, math.nan, x.dtype, x.device)
    else:
        y = _picked(calls.sort(lines, lines.ndim - 1, 0), qs, method)
    y = permuted(y, [y.ndim - 1, *range(y.ndim - 1)])
    axes = axes_of(axis, x.ndim)
    end = kept if keepdims else tuple(n for i, n in enumerate(kept) if i not in axes)
    return reshaped(y, (*q.shape, *end))


@with_out
def nanpercentile(x: Any, q: Any, /, axis: Any = None, *, method: str = "linear",
                  keepdims: bool = False) -> Array:
    """nanquantile of q / 100."""
    return nanquantile(x, arr(q) / 100, axis, method=method, keepdims=keepdims)


@with_out
def nanmedian(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """The median of what is not NaN; NaN where all are."""
    return nanquantile(x, 0.5, axis, method="midpoint", keepdims=keepdims)
