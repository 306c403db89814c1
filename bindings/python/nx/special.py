# SPDX-License-Identifier: ISC
"""Special functions, element by element, of floats; integers become float64."""

from __future__ import annotations

from typing import Any, Callable

from ._core import Array, calls
from ._elementwise import erf, erfc, erfinv, sigmoid
from ._lib import KEEPDIMS, axes_of, constant, floating, floats, named

__all__ = ["betainc", "betaln", "digamma", "erf", "erfc", "erfinv", "expit", "gammainc",
           "gammaincc", "gammaln", "i0e", "i1e", "igamma", "igamma_grad_a", "igammac", "j0", "j1",
           "lgamma", "log_softmax", "logit", "logsumexp", "polygamma", "softmax", "xlog1py",
           "xlogy", "zeta"]


def _several(name: str, n: int, sentence: str) -> Callable[..., Array]:
    call = getattr(calls, name)

    def function(*xs: Any) -> Array:
        if len(xs) != n:
            raise TypeError(f"{name}: {n} operands are needed, {len(xs)} were given")
        return call(*floats(*xs))

    return named(function, name, sentence)


lgamma = _several("lgamma", 1, "The natural logarithm of |gamma(x)|.")
digamma = _several("digamma", 1, "The logarithmic derivative of gamma.")
i0e = _several("i0e", 1, "exp(-|x|) times the modified Bessel function of order 0.")
i1e = _several("i1e", 1, "exp(-|x|) times the modified Bessel function of order 1.")
j0 = _several("j0", 1, "The Bessel function of the first kind of order 0.")
j1 = _several("j1", 1, "The Bessel function of the first kind of order 1.")
zeta = _several("zeta", 2, "zeta(x, q), the sum of (q + k)**-x over k = 0, 1, ..")
polygamma = _several("polygamma", 2, "polygamma(n, x), the n-th derivative of digamma.")
igamma = _several("igamma", 2, "igamma(a, x), the regularized lower incomplete gamma function.")
igammac = _several("igammac", 2, "igammac(a, x), the upper one, 1 - igamma(a, x).")
igamma_grad_a = _several("igamma_grad_a", 2, "The derivative of igamma(a, x) by a.")
betainc = _several("betainc", 3, "betainc(a, b, x), the regularized incomplete beta function.")

# SciPy's names
gammaln, gammainc, gammaincc, expit = lgamma, igamma, igammac, sigmoid


def betaln(a: Any, b: Any, /) -> Array:
    """The logarithm of the beta function of positive numbers."""
    a, b = floats(a, b)
    return calls.lgamma(a) + calls.lgamma(b) - calls.lgamma(a + b)


def logit(x: Any, /) -> Array:
    """log(x / (1 - x))."""
    x = floating(x)
    return calls.log(x / (1 - x))


def xlogy(x: Any, y: Any, /) -> Array:
    """x log(y), 0 where x is 0 and y is not NaN."""
    x, y = floats(x, y)
    zero = (x == 0) & ~calls.isnan(y)
    return calls.where(zero, x * 0, x * calls.log(y))


def xlog1py(x: Any, y: Any, /) -> Array:
    """x log(1 + y), 0 where x is 0 and y is not NaN."""
    x, y = floats(x, y)
    zero = (x == 0) & ~calls.isnan(y)
    return calls.where(zero, x * 0, x * calls.log1p(y))


def logsumexp(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """log(sum(exp(x))) without overflow."""
    x = floating(x)
    axes = axes_of(axis, x.ndim)
    top = calls.reduce_max(x, axes, KEEPDIMS)
    top = calls.where(calls.isfinite(top), top, constant(0, x.dtype))
    y = calls.log(calls.reduce_sum(calls.exp(x - top), axes, KEEPDIMS)) + top
    if keepdims:
        return y
    return calls.reshape(y, [n for i, n in enumerate(x.shape) if i not in axes], 0)


def softmax(x: Any, /, axis: Any = -1) -> Array:
    """exp(x) divided by its sum along the axes."""
    x = floating(x)
    axes = axes_of(axis, x.ndim)
    y = calls.exp(x - calls.reduce_max(x, axes, KEEPDIMS))
    return y / calls.reduce_sum(y, axes, KEEPDIMS)


def log_softmax(x: Any, /, axis: Any = -1) -> Array:
    """The logarithm of softmax."""
    x = floating(x)
    axes = axes_of(axis, x.ndim)
    y = x - calls.reduce_max(x, axes, KEEPDIMS)
    return y - calls.log(calls.reduce_sum(calls.exp(y), axes, KEEPDIMS))
