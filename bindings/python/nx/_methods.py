# SPDX-License-Identifier: ISC
"""NumPy's methods of arrays: those functions of this package that take the array first."""

from __future__ import annotations

from functools import partial
from typing import Any

from . import _elementwise, _manipulation, _products, _searching, _statistics, linalg
from ._core import Array, calls


def _flatten(x: Array) -> Array:
    """A copy of all elements along one axis."""
    return calls.reshape(calls.copy(x), (x.size,), 0)


def _fill(x: Array, value: Any) -> None:
    """Assigns a value to all elements."""
    x[...] = value


def _tobytes(x: Array) -> bytes:
    """The elements in C order as bytes."""
    return memoryview(x).tobytes()


def _view(x: Array, dtype: Any) -> Array:
    """The same bits as another dtype of as many bits, copied."""
    from ._core import dtype as dtype_of

    return calls.bitcast(x, dtype_of(dtype))


_METHODS = {
    **{name: getattr(_statistics, name) for name in (
        "all", "any", "cumprod", "cumsum", "max", "mean", "min", "prod", "ptp", "std", "sum",
        "var")},
    **{name: getattr(_elementwise, name) for name in ("clip", "conj", "conjugate", "round")},
    **{name: getattr(_manipulation, name) for name in (
        "ravel", "repeat", "squeeze", "swapaxes")},
    **{name: getattr(_searching, name) for name in (
        "argmax", "argmin", "argsort", "nonzero", "searchsorted", "take")},
    "dot": _products.dot,
    "diagonal": partial(linalg.diagonal, axis1=0, axis2=1),
    "trace": partial(linalg.trace, axis1=0, axis2=1),
    "fill": _fill,
    "flatten": _flatten,
    "tobytes": _tobytes,
    "view": _view,
}


def attribute(x: Array, name: str) -> Any:
    """What x.name is, of names that the type itself has not."""
    if name in _METHODS:
        return partial(_METHODS[name], x)
    raise AttributeError(f"an Array has no attribute {name!r}")
