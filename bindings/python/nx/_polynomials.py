# SPDX-License-Identifier: ISC
"""Polynomials by their coefficients, the highest power first, as in NumPy's functions poly*."""

from __future__ import annotations

import operator
from typing import Any

from . import _core, linalg
from ._core import Array, calls
from ._elementwise import abs as _abs
from ._lib import FLOAT64, arr, cast, floating, promoted, reshaped
from ._manipulation import concat
from ._statistics import cumprod

__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub",
           "polyval", "roots", "vander"]


def vander(x: Any, /, n: int | None = None, increasing: bool = False) -> Array:
    """The powers of x as columns, the highest first."""
    x = arr(x)
    if x.ndim != 1:
        raise ValueError(f"vander: an array of {x.ndim} dimensions, not of one")
    n = x.size if n is None else n
    dtype = _core.promote(x.dtype, _core.dtypes["int64"])
    if dtype.kind != "f" or n == 0:
        powers = calls.arange(0, _core.dtypes["int64"], 0, 1, n)
        powers = powers if increasing else calls.flip(powers, (0,))
        return reshaped(cast(x, dtype), (x.size, 1)) ** cast(powers, dtype)
    first = _core.full((x.size, 1), 1, dtype, x.device)
    steps = calls.expand(reshaped(cast(x, dtype), (x.size, 1)), (x.size, n - 1))
    y = concat([first, cumprod(steps, 1)], axis=1) if n > 1 else first
    return y if increasing else calls.flip(y, (1,))


def _vector(p: Any, what: str) -> Array:
    """Coefficients: a number is a polynomial of degree 0."""
    p = arr(p)
    if p.ndim > 1:
        raise ValueError(f"{what}: coefficients have one dimension, not {p.ndim}")
    return reshaped(p, (1,)) if p.ndim == 0 else p


def _vectors(what: str, *given: Any) -> list[Array]:
    return promoted(*[_vector(p, what) for p in given])


def poly(x: Any, /) -> Array:
    """The coefficients of the polynomial with these roots, or the characteristic polynomial of a
    matrix. Complex roots that come in conjugate pairs, which is looked at (an action), give real
    coefficients."""
    x = arr(x)
    if x.ndim == 2 and x.shape[0] == x.shape[1] and x.shape[0] != 0:
        x = linalg.eigvals(x)
    elif x.ndim > 1:
        raise ValueError(f"poly: roots, or a square matrix, are needed, not {x.shape}")
    x = reshaped(floating(x), (x.size,))
    if x.size == 0:
        return _core.full((), 1, FLOAT64, x.device)
    y = _core.full((1,), 1, x.dtype, x.device)
    for i in range(x.size):
        y = concat([y, y[:1] * 0]) - concat([y[:1] * 0, y * x[i]])
    if x.dtype.kind == "c":
        found = x.tolist()
        ups = sorted((z for z in found if z.imag > 0), key=_parts)
        downs = sorted((z.conjugate() for z in found if z.imag < 0), key=_parts)
        return calls.real(y) if ups == downs else y
    return y


def _parts(z: complex) -> tuple[float, float]:
    return z.real, z.imag


def roots(p: Any, /) -> Array:
    """The roots of a polynomial, by the eigenvalues of its companion matrix. The coefficients are
    read (an action); if all roots are real, so is the dtype."""
    p = arr(p)
    if p.ndim != 1:
        raise ValueError(f"roots: coefficients have one dimension, not {p.ndim}")
    p = floating(p)
    places = [i for i, v in enumerate(p.tolist()) if v != 0]
    if not places:
        return _core.empty((0,), FLOAT64, p.device)
    zeros = p.size - 1 - places[-1]
    p = p[places[0] : places[-1] + 1]
    n = p.size - 1
    if n == 0:
        return _core.full((zeros,), 0, p.dtype, p.device)
    companion = concat([reshaped(-p[1:] / p[0], (1, n)),
                        cast(calls.eye(0, _core.dtypes["bool"], n - 1, n, 0), p.dtype)])
    y = linalg.eigvals(companion)
    if y.dtype.kind == "c" and p.dtype.kind != "c" and not bool((calls.imag(y) != 0).sum()):
        y = calls.real(y)
    return concat([y, _core.full((zeros,), 0, y.dtype, y.device)])


def polyval(p: Any, x: Any, /) -> Array:
    """A polynomial at x."""
    p, x = promoted(arr(p), x)
    if p.ndim == 0:
        raise ValueError("polyval: coefficients have one dimension, not 0")
    y = x * 0
    for i in range(p.shape[0]):
        y = y * x + p[i]
    return y


def polyadd(a: Any, b: Any, /) -> Array:
    """The sum of two polynomials."""
    a, b = _padded("polyadd", a, b)
    return a + b


def polysub(a: Any, b: Any, /) -> Array:
    """The difference of two polynomials."""
    a, b = _padded("polysub", a, b)
    return a - b


def _padded(what: str, *given: Any) -> list[Array]:
    found = _vectors(what, *given)
    n = max(p.size for p in found)
    return [calls.pad(p, (n - p.size,), (0,), 0) for p in found]


def polymul(a: Any, b: Any, /) -> Array:
    """The product of two polynomials, with as many coefficients whatever their values."""
    from ._convolution import convolve

    return convolve(*_vectors("polymul", a, b))


def polydiv(a: Any, b: Any, /) -> tuple[Array, Array]:
    """The quotient and the remainder of two polynomials. The remainder has no zeros in front, for
    which it is read (an action)."""
    a, b = promoted(*[floating(p) for p in _vectors("polydiv", a, b)])
    steps = max(a.size - b.size + 1, 1)
    found, rest = [], a
    if a.size < b.size:
        found.append(_core.full((1,), 0, a.dtype, a.device))
    else:
        for k in range(steps):
            q = rest[k : k + 1] / b[0]
            found.append(q)
            rest = rest - calls.pad(q * b, (k,), (a.size - k - b.size,), 0)
    values = rest.tolist()
    first = 0
    while first < a.size - 1 and abs(values[first]) <= 1e-14:
        first += 1
    return concat(found), rest[first:]


def polyder(p: Any, /, m: int = 1) -> Array:
    """The derivative of a polynomial, m times."""
    p, m = _vector(p, "polyder"), operator.index(m)
    if m < 0:
        raise ValueError(f"polyder: {m} is not a number of times")
    for _ in range(min(m, p.size + 1)):  # nothing is left then
        n = max(p.size - 1, 0)
        powers = calls.arange(0, _core.dtypes["int64"], n, -1, n)
        p = p[:n] * powers
    return p


def polyint(p: Any, /, m: int = 1, k: Any = None) -> Array:
    """The integral of a polynomial, m times, with the constants k, one for each time."""
    p, m = _vector(p, "polyint"), operator.index(m)
    if m < 0:
        raise ValueError(f"polyint: {m} is not a number of times")
    if m == 0:
        return p
    constants = _vector(0 if k is None else k, "polyint")
    if constants.size == 1 and m > 1:
        constants = calls.expand(constants, (m,))
    if constants.size < m:
        raise ValueError(f"polyint: {constants.size} constants for {m} times")
    for i in range(m):
        powers = calls.arange(0, _core.dtypes["int64"], p.size, -1, p.size)
        p = concat(promoted(p / powers, constants[i : i + 1]))
    return p


def polyfit(x: Any, y: Any, deg: int, /, rcond: float | None = None, full: bool = False,
            w: Any = None, cov: Any = False) -> Any:
    """The coefficients of the polynomial that fits y at x best; y may have columns. w: weights of
    the points. full: also the residuals, rank and singular values of the problem, and rcond. cov:
    also the covariance of the coefficients, scaled by chi square over the degrees of freedom
    unless it is "unscaled"."""
    x, y = promoted(floating(x), floating(y))
    n = operator.index(deg) + 1
    _check_points(x, y, n)
    a, b = vander(x, n), y
    if w is not None:
        w = cast(arr(w), x.dtype)
        if w.shape != x.shape:
            raise TypeError(f"polyfit: weights of the shape {w.shape} for {x.size} points")
        a, b = a * w[:, None], b * (w if b.ndim == 1 else w[:, None])
    scale = calls.sqrt(calls.reduce_sum(a * a, (0,), 0))
    found = linalg.lstsq(a / scale, b, rtol=_least(x, rcond))
    c = found.x / (scale if b.ndim == 1 else scale[:, None])
    if full:
        return c, found.residuals, found.rank, found.s, _least(x, rcond)
    if cov is False:
        return c
    return c, _covariance(a / scale, scale, b, found, x.size - n, cov)


def _check_points(x: Array, y: Array, n: int) -> None:
    if n < 1:
        raise ValueError(f"polyfit: {n - 1} is not a degree")
    if x.ndim != 1 or x.size == 0:
        raise TypeError(f"polyfit: x is a vector with elements, not of the shape {x.shape}")
    if y.ndim not in (1, 2) or y.shape[0] != x.size:
        raise TypeError(f"polyfit: y is of the shape {y.shape} for {x.size} points")


def _least(x: Array, rcond: float | None) -> float:
    from ._dtypes import finfo

    return x.size * finfo(x.dtype).eps if rcond is None else rcond


def _covariance(a: Array, scale: Array, b: Array, found: Any, free: int, cov: Any) -> Array:
    c = linalg.inv(a.T @ a) / scale[:, None] / scale
    if cov == "unscaled":
        return c
    if free <= 0:
        raise ValueError("polyfit: the covariance needs more points than coefficients")
    apart = _abs(b - a @ found.x)
    chi = calls.reduce_sum(apart * apart, (0,), 0) / free
    return c * chi if b.ndim == 1 else c[:, :, None] * chi
