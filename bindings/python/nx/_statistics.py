# SPDX-License-Identifier: ISC
"""Reductions, scans, statistics, and comparisons of whole arrays."""

from __future__ import annotations

import operator as _operators
from typing import Any, Callable

from . import _core
from ._core import Array, DType, calls
from ._elementwise import isnan
from ._keywords import chosen, into, mask_of, with_out
from ._lib import (BOOL, INT64, KEEPDIMS, UINT64, arr, axes_of, axis_of, cast, constant, count_up,
                   floating, floats, named, product, promoted, real_dtype, reduced, reshaped,
                   widened)

__all__ = ["all", "allclose", "amax", "amin", "any", "array_equal", "array_equiv", "average",
           "corrcoef", "cov", "cummax", "cummin", "cumprod", "cumsum",
           "cumulative_prod", "cumulative_sum", "diff", "ediff1d", "gradient", "interp", "isclose",
           "max", "mean", "median", "min", "percentile", "prod", "ptp", "quantile", "std", "sum",
           "trapezoid", "var"]


_SUMS = {d: INT64 if d.kind in "bi" else UINT64 if d.kind == "u" else d
         for d in _core.dtypes.values()}


def _sum_dtype(x: Array, dtype: Any) -> DType:
    return _SUMS[x.dtype] if dtype is None else _core.dtype(dtype)


def _adding(name: str, neutral: int, operator: Callable, sentence: str) -> Callable:
    call = getattr(calls, f"reduce_{name}")

    def function(x: Any, /, axis: Any = None, *, dtype: Any = None, out: Any = None,
                 keepdims: bool = False, initial: Any = None, where: Any = True) -> Array:
        x = arr(x)
        x = cast(x, _sum_dtype(x, dtype))
        if where is not True:
            x = chosen(x, where, neutral)
        y = call(x, reduced(axis, x.ndim), KEEPDIMS * keepdims)
        if initial is not None:
            y = operator(y, initial)
        return y if out is None else into(y, out)

    return named(function, name, sentence)


sum = _adding("sum", 0, _operators.add,
              "The sum along axes, of integers of less than 64 bits in 64 bits.")
prod = _adding("prod", 1, _operators.mul,
               "The product along axes, of integers of less than 64 bits in 64 bits.")


def _choosing(name: str, sentence: str) -> Callable:
    call, pair = getattr(calls, f"reduce_{name}"), getattr(calls, name)

    def function(x: Any, /, axis: Any = None, *, out: Any = None, keepdims: bool = False,
                 initial: Any = None, where: Any = True) -> Array:
        x = arr(x)
        if where is not True or initial is not None:
            y = bounded(x, reduced(axis, x.ndim), KEEPDIMS * keepdims, initial, where)
        else:
            if x.dtype is BOOL and 0 in x.shape:  # has a value: that of `all` or `any`
                call(cast(x, INT64), reduced(axis, x.ndim), 0)
            y = call(x, reduced(axis, x.ndim), KEEPDIMS * keepdims)
        return y if out is None else into(y, out)

    def bounded(x: Array, axes: Any, flags: int, initial: Any, where: Any) -> Array:
        if initial is None:
            raise ValueError(f"{name}: where= needs initial=, for where nothing is chosen")
        first = cast(initial, x.dtype)
        if where is not True:
            x = calls.where(mask_of(where), x, first)
        if product(x.shape) == 0:  # the sum has the shape, and is 0 where nothing is added
            nothing = calls.reduce_sum(cast(x, INT64), axes, flags)
            if product(nothing.shape) > 0:
                return calls.where(nothing == 0, first, first)
        return pair(call(x, axes, flags), first)

    return named(function, name, sentence)


max = amax = _choosing("max", "The largest element along axes; NaN if there is one.")
min = amin = _choosing("min", "The least element along axes; NaN if there is one.")


def _asking(name: str, call: Callable, sentence: str) -> Callable:
    def function(x: Any, /, axis: Any = None, *, out: Any = None, keepdims: bool = False,
                 where: Any = True) -> Array:
        x = cast(arr(x), BOOL)
        if where is not True:
            x = chosen(x, where, name == "all")
        y = call(x, reduced(axis, x.ndim), KEEPDIMS * keepdims)
        return y if out is None else into(y, out)

    return named(function, name, sentence)


all = _asking("all", calls.reduce_min, "Whether all elements along axes are true, or not 0.")
any = _asking("any", calls.reduce_max, "Whether an element along axes is true, or not 0.")


@with_out
def ptp(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """The largest less the least element along axes."""
    return max(x, axis, keepdims=keepdims) - min(x, axis, keepdims=keepdims)


def _counted(x: Array, axis: Any, keepdims: bool, where: Any) -> Array:
    """How many elements along axes are chosen, in x's dtype."""
    mask = calls.expand(mask_of(where), x.shape)
    return sum(cast(mask, x.dtype), axis, keepdims=keepdims)


@with_out
def mean(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False,
         where: Any = True) -> Array:
    """The mean along axes; integers become float64."""
    x = floating(x) if dtype is None else cast(arr(x), _core.dtype(dtype))
    if where is not True:
        return (sum(x, axis, keepdims=keepdims, where=where)
                / _counted(x, axis, keepdims, where))
    return calls.reduce_mean(x, reduced(axis, x.ndim), KEEPDIMS * keepdims)


@with_out
def var(x: Any, /, axis: Any = None, *, correction: float = 0.0, ddof: float | None = None,
        keepdims: bool = False, where: Any = True) -> Array:
    """The variance along axes: the sum of |x - mean|^2 over the count less `correction`, which
    NumPy calls ddof."""
    x = floating(x)
    less = float(correction if ddof is None else ddof)
    if where is not True:
        apart = (x - mean(x, axis, keepdims=True, where=where)).__abs__()
        n = _counted(apart, axis, keepdims, where) - less
        return sum(apart * apart, axis, keepdims=keepdims, where=where) / n
    return calls.reduce_var(x, reduced(axis, x.ndim), less, KEEPDIMS * keepdims)


@with_out
def std(x: Any, /, axis: Any = None, *, correction: float = 0.0, ddof: float | None = None,
        keepdims: bool = False, where: Any = True) -> Array:
    """The square root of var."""
    return calls.sqrt(var(x, axis, correction=correction, ddof=ddof, keepdims=keepdims,
                          where=where))


def average(x: Any, /, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Array:
    """The mean along axes, weighted by weights of the shape of x, or of one axis. Where these sum
    to 0 a ZeroDivisionError if their values are there, else infinite or NaN."""
    if weights is None:
        return mean(x, axis, keepdims=keepdims)
    x, given = floating(x), arr(weights)
    x, w = promoted(x, given)
    if w.shape != x.shape:
        axis = axis_of(axis, x.ndim)
        w = reshaped(w, [x.shape[axis] if i == axis else 1 for i in range(x.ndim)])
        w = calls.expand(w, x.shape)
    total = sum(w, axis, keepdims=keepdims)
    if (given.is_realized or given is not weights) and total.size and _has_zero(total):
        raise ZeroDivisionError("average: the weights sum to 0")
    return sum(x * w, axis, keepdims=keepdims) / total


def _has_zero(x: Array) -> bool:
    """Whether an element is 0, an action that computes x, too; False in a captured function that
    decides the values."""
    found = calls.reduce_max(x == 0, None, 0)
    try:
        _core.realize(x, found)
        return bool(found)
    except _core.Unbound:
        return False


_METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


@with_out
def quantile(x: Any, q: Any, /, axis: Any = None, *, method: str = "linear",
             keepdims: bool = False) -> Array:
    """The quantiles q, numbers from 0 to 1, along axes; several along a new first axis."""
    if method not in _METHODS:
        raise ValueError(f"quantile: there is no method {method!r}")
    x = floating(x)
    q = q.tolist() if hasattr(q, "tolist") else q
    qs = [float(v) for v in (q if isinstance(q, (tuple, list)) else [q])]
    y = calls.quantile_over(x, qs, axes_of(axis, x.ndim), _METHODS.index(method),
                            KEEPDIMS * keepdims)
    return y if isinstance(q, (tuple, list)) else reshaped(y, y.shape[1:])


@with_out
def percentile(x: Any, q: Any, /, axis: Any = None, *, method: str = "linear",
               keepdims: bool = False) -> Array:
    """quantile of q / 100."""
    q = q.tolist() if hasattr(q, "tolist") else q
    q = [v / 100 for v in q] if isinstance(q, (tuple, list)) else q / 100
    return quantile(x, q, axis, method=method, keepdims=keepdims)


@with_out
def median(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """The middle element along axes, or the mean of the two in the middle."""
    x = floating(x)
    axes = axes_of(axis, x.ndim)
    if product(x.shape[a] for a in axes) == 0:
        return mean(x, axes, keepdims=keepdims)
    return quantile(x, 0.5, axes, keepdims=keepdims)


# ---- scans


def _scan(x: Array, op: int, axis: int | None, initial: Any, what: str) -> Array:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{what}: an axis must be named for {x.ndim} dimensions")
        axis = 0
    axis = axis_of(axis, x.ndim)
    y = calls.associative_scan(x, op, axis)
    if initial is None:
        return y
    before = [int(i == axis) for i in range(x.ndim)]
    return calls.pad(y, before, [0] * x.ndim, initial)


@with_out
def cumulative_sum(x: Any, /, axis: int | None = None, *, dtype: Any = None,
                   include_initial: bool = False) -> Array:
    """Sums of the elements up to each one along an axis, with a 0 before them if asked."""
    x = arr(x)
    x = cast(x, _sum_dtype(x, dtype))
    return _scan(x, calls.SCAN_SUM, axis, 0 if include_initial else None, "cumulative_sum")


@with_out
def cumulative_prod(x: Any, /, axis: int | None = None, *, dtype: Any = None,
                    include_initial: bool = False) -> Array:
    """Products of the elements up to each one along an axis, with a 1 before them if asked."""
    x = arr(x)
    x = cast(x, _sum_dtype(x, dtype))
    return _scan(x, calls.SCAN_PROD, axis, 1 if include_initial else None, "cumulative_prod")


def _line(x: Any, axis: int | None) -> tuple[Array, int]:
    x = arr(x)
    return (reshaped(x, (x.size,)), 0) if axis is None else (x, axis_of(axis, x.ndim))


@with_out
def cumsum(x: Any, /, axis: int | None = None, *, dtype: Any = None) -> Array:
    """cumulative_sum along an axis; None: of all elements in C order."""
    x, axis = _line(x, axis)
    return cumulative_sum(x, axis, dtype=dtype)


@with_out
def cumprod(x: Any, /, axis: int | None = None, *, dtype: Any = None) -> Array:
    """cumulative_prod along an axis; None: of all elements in C order."""
    x, axis = _line(x, axis)
    return cumulative_prod(x, axis, dtype=dtype)


def cummax(x: Any, /, axis: int | None = None) -> Array:
    """The largest element up to each one."""
    x, axis = _line(x, axis)
    return calls.associative_scan(x, calls.SCAN_MAX, axis)


def cummin(x: Any, /, axis: int | None = None) -> Array:
    """The least element up to each one."""
    x, axis = _line(x, axis)
    return calls.associative_scan(x, calls.SCAN_MIN, axis)


# ---- differences


def _cut(x: Array, axis: int, start: int, stop: int) -> Array:
    low, high = [0] * x.ndim, list(x.shape)
    low[axis], high[axis] = start, stop
    return calls.shrink(x, low, high)


def diff(x: Any, /, n: int = 1, axis: int = -1, prepend: Any = None,
         append: Any = None) -> Array:
    """Differences of neighbours along an axis, n times; of bools whether they differ."""
    x = arr(x)
    if n < 0:
        raise ValueError(f"diff: {n} is not a number of times")
    axis = axis_of(axis, x.ndim)
    if prepend is not None or append is not None:
        x = _joined(x, prepend, append, axis)
    most = x.shape[axis] + 1  # nothing is left then
    for _ in range(n if n < most else most):
        m = x.shape[axis]
        a, b = _cut(x, axis, 1 if m else 0, m), _cut(x, axis, 0, m - 1 if m else 0)
        x = a ^ b if x.dtype is BOOL else a - b
    return x


def _joined(x: Array, before: Any, after: Any, axis: int) -> Array:
    from ._manipulation import broadcast_to, concat

    def part(y: Any) -> Array:
        y = arr(y)
        if y.ndim:
            return y
        return broadcast_to(y, [1 if i == axis else m for i, m in enumerate(x.shape)])

    parts = [part(before)] if before is not None else []
    parts += [x] + ([part(after)] if after is not None else [])
    return concat(parts, axis=axis)


def ediff1d(x: Any, /, to_end: Any = None, to_begin: Any = None) -> Array:
    """Differences of all elements in C order, between other numbers if there are any."""
    from ._manipulation import concat

    y = diff(_line(x, None)[0])
    ends = [None if e is None else reshaped(arr(e), (arr(e).size,)) for e in (to_begin, to_end)]
    for e in ends:
        if e is not None and _core.promote(e.dtype, y.dtype) is not y.dtype:
            raise TypeError(f"ediff1d: {e.dtype.name} does not go into {y.dtype.name}")
    parts = [ends[0], y, ends[1]]
    return concat([cast(p, y.dtype) for p in parts if p is not None])


def gradient(x: Any, /, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences along axes, a list if there are several; at the ends those of two
    neighbours, or, with edge_order=2, of the second order. spacing: one distance for all axes, or
    for each axis a distance or the coordinates of its points."""
    x = floating(x)
    axes = axes_of(axis, x.ndim)
    if edge_order not in (1, 2):
        raise ValueError("gradient: edge_order is 1 or 2")
    steps = list(spacing) or [1.0]
    if len(steps) == 1:
        if arr(steps[0]).ndim and len(axes) > 1:
            raise ValueError("gradient: one axis has coordinates, and there are several axes")
        steps = steps * len(axes)
    if len(steps) != len(axes):
        raise TypeError(f"gradient: {len(steps)} distances for {len(axes)} axes")
    found = [_slopes(x, h, i, edge_order) for h, i in zip(steps, axes)]
    return found[0] if len(axes) == 1 else found


def _slopes(x: Array, h: Any, axis: int, order: int) -> Array:
    from ._manipulation import concat

    m = x.shape[axis]
    if m < order + 1:
        raise ValueError(f"gradient: an axis needs {order + 1} elements at least, not {m}")
    if not isinstance(h, (int, float)) and arr(h).ndim:
        h = floating(h)
        if h.shape != (m,):
            raise ValueError(f"gradient: coordinates of the shape {h.shape} for {m} points")
        h = reshaped(diff(h), [m - 1 if i == axis else 1 for i in range(x.ndim)])
        inner = _uneven(x, h, axis)
        first, last = _cut(h, axis, 0, 1), _cut(h, axis, m - 2, m - 1)
    else:
        inner = (_cut(x, axis, 2, m) - _cut(x, axis, 0, m - 2)) / (2 * h)
        first = last = h
    if order == 2:
        ends = _second_order(x, h, axis)
    else:
        ends = ((_cut(x, axis, 1, 2) - _cut(x, axis, 0, 1)) / first,
                (_cut(x, axis, m - 1, m) - _cut(x, axis, m - 2, m - 1)) / last)
    return concat([ends[0], inner, ends[1]], axis=axis)


def _uneven(x: Array, h: Array, axis: int) -> Array:
    """Slopes at inner points between distances that differ."""
    m = x.shape[axis]
    a, b = _cut(h, axis, 0, m - 2), _cut(h, axis, 1, m - 1)
    before, here, after = (_cut(x, axis, i, m - 2 + i) for i in range(3))
    return (-b / (a * (a + b)) * before + (b - a) / (a * b) * here + a / (b * (a + b)) * after)


def _second_order(x: Array, h: Any, axis: int) -> tuple[Array, Array]:
    """Slopes at both ends, of the parabola through three points."""
    found, m = [], x.shape[axis]
    for at, sign in ((0, 1), (m - 3, -1)):
        points = [_cut(x, axis, at + i, at + i + 1) for i in range(3)][::sign]
        if type(h) is Array and h.ndim:
            a, b = [_cut(h, axis, at + i, at + i + 1) for i in range(2)][::sign]
        else:
            a = b = h
        y = (-(2 * a + b) / (a * (a + b)) * points[0] + (a + b) / (a * b) * points[1]
             - a / (b * (a + b)) * points[2])
        found.append(y * sign)
    return found[0], found[1]


def trapezoid(y: Any, /, x: Any = None, dx: float = 1.0, *, axis: int = -1) -> Array:
    """The integral by the trapezoidal rule along an axis."""
    y = floating(y)
    at = axis_of(axis, y.ndim)
    m = y.shape[at]
    middle = (_cut(y, at, 1 if m else 0, m) + _cut(y, at, 0, m - 1 if m else 0)) / 2
    if x is None:
        return sum(middle * dx, at)
    x = floating(x)
    if x.ndim == 1:
        far = diff(x)
        far = reshaped(far, [far.size if i == at else 1 for i in range(y.ndim)])
    else:
        far = diff(x, axis=axis)
    return sum(middle * far, axis)


def interp(x: Any, xp: Any, fp: Any, /) -> Array:
    """Values at x of the line through the points (xp, fp), of which xp rises; beyond the ends the
    first and the last one."""
    from ._searching import rows

    x, xp, fp = floats(x, xp, fp)
    n = xp.shape[0]
    i = calls.searchsorted(xp, x, None, calls.AFTER_EQUAL, INT64)
    i = reshaped(calls.clamp(constant(1, INT64), i, constant(n - 1 or 1, INT64)), (x.size,))
    if n == 1:
        return x * 0 + fp
    x0, x1, y0, y1 = (reshaped(rows(a, j, 0), x.shape) for a in (xp, fp) for j in (i - 1, i))
    y = y0 + (x - x0) * ((y1 - y0) / (x1 - x0))
    y = calls.where(x <= xp[0], fp[0], calls.where(x >= xp[-1], fp[-1], y))
    return calls.where(isnan(x), x, y)


# ---- covariance


def cov(x: Any, y: Any = None, /, rowvar: bool = True, bias: bool = False,
        ddof: float | None = None, fweights: Any = None, aweights: Any = None) -> Array:
    """The covariance of variables, which are the rows of x and of y, or their columns. fweights:
    how often each observation is there; aweights: how much it weighs. Of floats of less than 32
    bits it is float32."""
    less = (0 if bias else 1) if ddof is None else ddof
    x, single = _variables(x)
    x = x if rowvar or single else calls.permute(x, (1, 0))
    if y is not None:
        from ._manipulation import concat

        y, _ = _variables(y)
        y = y if rowvar or y.shape[0] == 1 else calls.permute(y, (1, 0))
        x = concat(promoted(x, y))
    if fweights is None and aweights is None:
        far = x - calls.reduce_mean(x, (1,), KEEPDIMS)
        weighed, total = far, x.shape[1] - less
        total = total if total > 0 else 0.0
    else:
        w, total = _weighed(x, fweights, aweights, less)
        mean = calls.reduce_sum(x * w, (1,), KEEPDIMS) / calls.reduce_sum(w, None, 0)
        far = x - mean
        weighed = far * w
    other = calls.conj(weighed) if weighed.dtype.kind == "c" else weighed
    c = calls.matmul(far, calls.permute(other, (1, 0))) / total
    return reshaped(c, ()) if c.size == 1 else c


def _variables(x: Any) -> tuple[Array, bool]:
    """A matrix, and whether it is of a vector, which is one variable in any case."""
    x = floating(x)
    x = cast(x, widened(x.dtype))
    if x.ndim > 2:
        raise ValueError(f"cov: rows and columns are needed, not {x.ndim} dimensions")
    return (x, False) if x.ndim == 2 else (reshaped(x, (1, x.size)), x.ndim == 1)


def _weighed(x: Array, fweights: Any, aweights: Any, less: float) -> tuple[Array, Any]:
    """The weights of observations, and what their sums of products are divided by."""
    said = [w for w in (fweights, aweights) if w is not None]
    given = [arr(w) for w in said]
    if fweights is not None and given[0].dtype.kind not in "biu":
        raise TypeError("cov: fweights are integers")
    for w, of in zip(given, said):
        if w.shape != (x.shape[1],):
            raise ValueError(f"cov: weights of the shape {w.shape} for {x.shape[1]} observations")
        if type(of) is not Array and bool(any(w < 0)):
            raise ValueError("cov: a weight is negative")
    xs = [cast(w, real_dtype(x.dtype)) for w in given]
    w = xs[0] * xs[1] if len(xs) == 2 else xs[0]
    sum_w = calls.reduce_sum(w, None, 0)
    if less == 0 or aweights is None:
        total = sum_w - less
    else:
        total = sum_w - less * calls.reduce_sum(w * xs[-1], None, 0) / sum_w
    return w, calls.max(total, constant(0, total.dtype))


def corrcoef(x: Any, y: Any = None, /, rowvar: bool = True) -> Array:
    """The correlation of variables, which are the rows of x and of y, or their columns."""
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return c / c
    scale = calls.sqrt(calls.real(calls.diagonal(c, 0, 0, 1)))
    c = c / reshaped(scale, (scale.size, 1)) / scale
    one = constant(1, real_dtype(c.dtype))
    if c.dtype.kind == "c":
        return calls.complex(calls.clamp(-one, calls.real(c), one),
                             calls.clamp(-one, calls.imag(c), one))
    return calls.clamp(-one, c, one)


# ---- comparisons of whole arrays


def isclose(a: Any, b: Any, /, rtol: float = 1e-05, atol: float = 1e-08, *,
            equal_nan: bool = False) -> Array:
    """Whether |a - b| <= atol + rtol |b|; equal infinities are close."""
    a, b = promoted(floating(a), b)
    near = (a - b).__abs__() <= atol + rtol * b.__abs__()
    finite = calls.isfinite(b)
    close = (near & finite) | (a == b)
    return close | (calls.isnan(a) & calls.isnan(b)) if equal_nan else close


def allclose(a: Any, b: Any, /, rtol: float = 1e-05, atol: float = 1e-08, *,
             equal_nan: bool = False) -> bool:
    """Whether all elements are close (an action)."""
    return bool(all(isclose(a, b, rtol, atol, equal_nan=equal_nan)))


def array_equal(a: Any, b: Any, /, *, equal_nan: bool = False) -> bool:
    """Whether shapes and all elements are equal (an action)."""
    a, b = arr(a), arr(b)
    return a.shape == b.shape and bool(all(_same(a, b, equal_nan)))


def array_equiv(a: Any, b: Any, /) -> bool:
    """Whether the arrays broadcast, and all elements are equal (an action)."""
    try:
        return bool(all(arr(a) == arr(b)))
    except ValueError:
        return False


def _same(a: Array, b: Array, equal_nan: bool) -> Array:
    y = a == b
    return y | (isnan(a) & isnan(b)) if equal_nan else y
