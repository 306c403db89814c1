# SPDX-License-Identifier: ISC
"""Reductions, scans, sorting, and Fourier transforms."""

from __future__ import annotations

import math
from typing import Any, Callable

from ._lowering import (BOOL, FLOAT32, FLOAT64, INT64, SMALL, UINT8, Array, Call, arange, axes_of,
                        axis_of, calls, cast, full, in_line, lowers, operand, refuse)
from ._movement import part


def _keep(keepdim: bool) -> int:
    return calls.KEEPDIMS if keepdim else 0


@lowers("aten.sum.dim_IntList", "aten.sum.default")
def _sum(c: Call, x: Array, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Array:
    return calls.reduce_sum(cast(x, c.dtype), axes_of(dim, x.ndim), _keep(keepdim))


@lowers("aten.mean.dim", "aten.mean.default")
def _mean(c: Call, x: Array, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Array:
    return calls.reduce_mean(cast(x, c.dtype), axes_of(dim, x.ndim), _keep(keepdim))


@lowers("aten.prod.default")
def _prod(c: Call, x: Array, *, dtype: Any = None) -> Array:
    return calls.reduce_prod(cast(x, c.dtype), None)


@lowers("aten.prod.dim_int")
def _prod_dim(c: Call, x: Array, dim: int, keepdim: bool = False, *, dtype: Any = None) -> Array:
    return calls.reduce_prod(cast(x, c.dtype), axes_of(dim, x.ndim), _keep(keepdim))


@lowers("aten.amax.default")
def _amax(c: Call, x: Array, dim: Any = (), keepdim: bool = False) -> Array:
    return calls.reduce_max(x, axes_of(dim, x.ndim), _keep(keepdim))


@lowers("aten.amin.default")
def _amin(c: Call, x: Array, dim: Any = (), keepdim: bool = False) -> Array:
    return calls.reduce_min(x, axes_of(dim, x.ndim), _keep(keepdim))


lowers("aten.max.default")(lambda c, x: calls.reduce_max(x, None))
lowers("aten.min.default")(lambda c, x: calls.reduce_min(x, None))


def _with_place(reduce: Callable, place: Callable) -> Callable:
    def lower(c: Call, x: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
        if x.ndim == 0:
            return x, full((), INT64, 0)
        dim = axis_of(dim, x.ndim)
        return reduce(x, [dim], _keep(keepdim)), place(x, dim, _keep(keepdim), INT64)

    return lower


lowers("aten.max.dim")(_with_place(calls.reduce_max, calls.reduce_argmax))
lowers("aten.min.dim")(_with_place(calls.reduce_min, calls.reduce_argmin))


def _place(place: Callable) -> Callable:
    def lower(c: Call, x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
        if x.ndim == 0:
            return full((), INT64, 0)
        if dim is not None:
            return place(x, axis_of(dim, x.ndim), _keep(keepdim), INT64)
        line = in_line(x)
        return calls.reshape(place(line, 0, 0, INT64), c.shape, calls.MAY_COPY)

    return lower


lowers("aten.argmax.default")(_place(calls.reduce_argmax))
lowers("aten.argmin.default")(_place(calls.reduce_argmin))


def _truth(reduce: Callable) -> Callable:
    def lower(c: Call, x: Array, dim: Any = None, keepdim: bool = False) -> Array:
        return cast(reduce(cast(x, BOOL), axes_of(dim, x.ndim), _keep(keepdim)), c.dtype)

    return lower


lowers("aten.any.default", "aten.any.dim", "aten.any.dims")(_truth(calls.reduce_max))
lowers("aten.all.default", "aten.all.dim", "aten.all.dims")(_truth(calls.reduce_min))


@lowers("aten.var.correction")
def _var(c: Call, x: Array, dim: Any = None, *, correction: Any = None,
         keepdim: bool = False) -> Array:
    ddof = 1.0 if correction is None else float(correction)
    return calls.reduce_var(x, axes_of(dim, x.ndim), ddof, _keep(keepdim))


@lowers("aten.var_mean.correction")
def _var_mean(c: Call, x: Array, dim: Any = None, *, correction: Any = None,
              keepdim: bool = False) -> tuple[Array, Array]:
    return (_var(c, x, dim, correction=correction, keepdim=keepdim),
            calls.reduce_mean(x, axes_of(dim, x.ndim), _keep(keepdim)))


def _scan(op: int) -> Callable:
    def lower(c: Call, x: Array, dim: int, *, dtype: Any = None) -> Array:
        x = cast(x, c.dtype)
        return calls.associative_scan(x, op, axis_of(dim, x.ndim)) if x.ndim else x

    return lower


lowers("aten.cumsum.default")(_scan(calls.SCAN_SUM))
lowers("aten.cumprod.default")(_scan(calls.SCAN_PROD))


def _record(scan: int) -> Callable:
    """The largest element so far, or the least, and the place of the last that is it; NaN is more,
    and less, than every number."""

    def lower(c: Call, x: Array, dim: int) -> tuple[Array, Array]:
        if x.ndim == 0:
            return x, full((), INT64, 0)
        dim = axis_of(dim, x.ndim)
        line = cast(x, UINT8) if x.dtype == BOOL else x
        values = calls.associative_scan(line, scan, dim)
        new = calls.cmpeq(line, values)
        if x.dtype.kind == "f":
            new = getattr(calls, "or")(new, calls.isnan(line))
        n = x.shape[dim]
        places = calls.reshape(arange(INT64, 0, 1, n), [n if i == dim else 1
                                                        for i in range(x.ndim)])
        places = calls.where(new, calls.expand(places, x.shape), full((), INT64, 0))
        return cast(values, x.dtype), calls.associative_scan(places, calls.SCAN_MAX, dim)

    return lower


lowers("aten.cummax.default")(_record(calls.SCAN_MAX))
lowers("aten.cummin.default")(_record(calls.SCAN_MIN))


def _log_sums(y: Array, dim: int) -> Array:
    """Scan of logaddexp: sums of pairs, those scanned, and then the sums that end within pairs; no
    sum overflows or vanishes."""
    n = y.shape[dim]
    if n <= 1:
        return y
    half, before, after = (n + 1) // 2, [0] * y.ndim, [0] * y.ndim
    before[dim], after[dim] = 1, n % 2
    y = calls.pad(y, [0] * y.ndim, after, -math.inf) if n % 2 else y
    first, second = part(y, dim, 0, half, 2), part(y, dim, 1, half, 2)
    whole = _log_sums(calls.logaddexp(first, second), dim)
    earlier = calls.pad(part(whole, dim, 0, half - 1), before, [0] * y.ndim, -math.inf)
    one = (*whole.shape[:dim + 1], 1, *whole.shape[dim + 1:])
    both = calls.cat([calls.reshape(z, one, calls.MAY_COPY)
                      for z in (calls.logaddexp(earlier, first), whole)], dim + 1)
    return part(calls.reshape(both, y.shape, calls.MAY_COPY), dim, 0, n)


@lowers("aten.logcumsumexp.default")
def _logcumsumexp(c: Call, x: Array, dim: int) -> Array:
    """In twice the precision, as PyTorch does: the gradient takes exponentials of differences of
    results, so that a last bit of a large one counts."""
    refuse(x.dtype.kind != "f", "a sum of exponentials of complex numbers")
    if x.ndim == 0:
        return x
    wide = cast(x, FLOAT32 if x.dtype.name in SMALL else FLOAT64)
    return cast(_log_sums(wide, axis_of(dim, x.ndim)), x.dtype)


# ---- order: PyTorch takes NaN for the largest number in both directions

def _argsorted(x: Array, dim: int, descending: bool) -> Array:
    if not descending:
        return calls.argsort(x, dim, 0, INT64)
    back = calls.flip(calls.argsort(calls.flip(x, [dim]), dim, 0, INT64), [dim])
    return calls.sub(full((), INT64, x.shape[dim] - 1), back)


def _sorted(x: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    if x.ndim == 0:
        return x, full((), INT64, 0)
    places = _argsorted(x, dim, descending)
    return calls.gather(x, places, dim), places


@lowers("aten.sort.default", "aten.sort.stable")
def _sort(c: Call, x: Array, dim: int = -1, descending: bool = False, *,
          stable: bool | None = None) -> tuple[Array, Array]:
    return _sorted(x, axis_of(dim, x.ndim), descending)


@lowers("aten.topk.default")
def _topk(c: Call, x: Array, k: int, dim: int = -1, largest: bool = True,
          sorted: bool = True) -> tuple[Array, ...]:
    dim = axis_of(dim, x.ndim)
    if x.ndim == 0:
        return _sorted(x, dim, largest)
    if not largest or x.dtype.kind != "f":
        key = cast(x, UINT8) if x.dtype is BOOL else x
        values, places = calls.top_k(key, k, dim, 0 if largest else calls.SMALLEST, INT64)
        return cast(values, x.dtype), places
    rank = calls.total_order(calls.where(calls.isnan(x), full((), x.dtype, math.nan), x))
    places = calls.top_k(rank, k, dim, 0, INT64)[1]
    return calls.gather(x, places, dim), places


# ---- Fourier transforms

def _scaled(x: Array, sizes: list[int], normalization: int) -> Array:
    n = math.prod(sizes)
    if normalization == 0 or n == 0:
        return x
    return calls.mul(x, operand(1 / (math.sqrt(n) if normalization == 1 else n), x.dtype))


@lowers("aten._fft_c2c.default")
def _fft_c2c(c: Call, x: Array, dim: Any, normalization: int, forward: bool) -> Array:
    axes = [axis_of(d, x.ndim) for d in dim]
    refuse(not axes, "a transform along no axis")
    return _scaled((calls.fft if forward else calls.ifft)(x, axes), [x.shape[a] for a in axes],
                   normalization)


@lowers("aten._fft_r2c.default")
def _fft_r2c(c: Call, x: Array, dim: Any, normalization: int, onesided: bool) -> Array:
    axes = [axis_of(d, x.ndim) for d in dim]
    sizes = [x.shape[a] for a in axes]
    if onesided:
        return _scaled(calls.rfft(x, axes), sizes, normalization)
    return _scaled(calls.fft(cast(x, c.dtype), axes), sizes, normalization)


@lowers("aten._fft_c2r.default")
def _fft_c2r(c: Call, x: Array, dim: Any, normalization: int, last_dim_size: int) -> Array:
    axes = [axis_of(d, x.ndim) for d in dim]
    sizes = [c.shape[a] for a in axes]
    return _scaled(calls.irfft(x, axes, sizes), sizes, normalization)
