# SPDX-License-Identifier: ISC
"""NumPy's methods of arrays: those functions of this package that take the array first. And how
arrays are pickled: as their bits."""

from __future__ import annotations

import copyreg
from functools import partial
from types import MethodType
from typing import Any

from . import _elementwise, _manipulation, _more, _places, _products, _searching, _statistics
from . import linalg
from ._core import Array, DType, calls
from ._lib import BOOL, UINT8, array, cast, dtypes, real_dtype, reshaped


def _flatten(x: Array, order: str = "C") -> Array:
    """A copy of all elements along one axis."""
    return calls.reshape(calls.copy(_manipulation.ordered(x, order)), (x.size,), 0)


def _fill(x: Array, value: Any) -> None:
    """Assigns a value to all elements."""
    x[...] = value


def _sort(x: Array, axis: int = -1, kind: str | None = None) -> None:
    """Sorts x in place."""
    x[...] = _searching.sort(x, axis, kind)


def _partition(x: Array, kth: Any, axis: int = -1) -> None:
    """Sorts x in place, which puts every element kth in its place."""
    x[...] = _more.partition(x, kth, axis)


def _tofile(x: Array, path: Any) -> None:
    """Writes the elements in C order as bytes, to a path or an open file."""
    if hasattr(path, "write"):
        path.write(_tobytes(x))
        return
    with open(path, "wb") as file:
        file.write(_tobytes(x))


def _compress(x: Array, condition: Any, axis: int | None = None) -> Array:
    """As nx.compress, whose condition comes first."""
    return _searching.compress(condition, x, axis)


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
    **{name: getattr(_elementwise, name) for name in ("clip", "round")},
    **{name: getattr(_manipulation, name) for name in (
        "ravel", "repeat", "squeeze", "swapaxes")},
    **{name: getattr(_searching, name) for name in (
        "argmax", "argmin", "argsort", "nonzero", "searchsorted", "take")},
    "dot": _products.dot,
    "diagonal": partial(linalg.diagonal, axis1=0, axis2=1),
    "trace": partial(linalg.trace, axis1=0, axis2=1),
    "argpartition": _more.argpartition,
    "choose": _more.choose,
    "compress": _compress,
    "partition": _partition,
    "put": _places.put,
    "tofile": _tofile,
    "fill": _fill,
    "sort": _sort,
    "flatten": _flatten,
    "tobytes": _tobytes,
    "view": _view,
}


def names(of: type) -> list[str]:
    """For dir(x), and for what completes names."""
    return sorted({*dir(of), *_METHODS, "flat"})


def attribute(x: Array, name: str) -> Any:
    """What x.name is, of names that the type itself has not."""
    if name in _METHODS:
        return MethodType(_METHODS[name], x)
    if name == "flat":  # a view, so that it can be assigned; where there is none, an error
        return calls.reshape(x, (x.size,), 0)
    from difflib import get_close_matches

    near = get_close_matches(name, [*_METHODS, *dir(Array)], 1)
    raise AttributeError(f"an Array has no attribute {name!r}"
                         + (f"; there is {near[0]!r}" if near else ""))


# ---- pickling

_FORMATS = {8: "B", 16: "H", 32: "I", 64: "Q"}


def _words(x: Array) -> Array:
    """The bits of all elements as unsigned integers along one axis; parts of complex numbers come
    one behind the other."""
    x = reshaped(x, (x.size,))
    if x.dtype.kind == "c":
        return _words(calls.cat([calls.real(x), calls.imag(x)], 0))
    if x.dtype.bits < 8:
        return cast(calls.bitcast(x, dtypes["uint4"]), UINT8)
    return cast(x, UINT8) if x.dtype is BOOL else calls.bitcast(x, dtypes[f"uint{x.dtype.bits}"])


def _of_words(words: Array, dtype: DType) -> Array:
    if dtype.kind == "c":
        parts = _of_words(words, real_dtype(dtype))
        n = parts.size // 2
        return calls.complex(parts[:n], parts[n:])
    if dtype.bits < 8:
        return calls.bitcast(cast(words, dtypes["uint4"]), dtype)
    return cast(words, BOOL) if dtype is BOOL else calls.bitcast(words, dtype)


def _unpickled(data: bytes, name: str, shape: tuple[int, ...], device: str) -> Array:
    """The array that _pickled has written; on the first device where its own is missing."""
    dtype = dtypes[name]
    format = _FORMATS[max(real_dtype(dtype).bits, 8)]
    x = reshaped(_of_words(array(memoryview(bytearray(data)).cast(format)), dtype), shape)
    from ._core import devices

    there = any(row[0] == device and row[1] for row in devices())
    return x.to_device(device) if there else x


def _pickled(x: Array) -> tuple:
    data = memoryview(calls.contiguous(_words(x))).tobytes()
    return _unpickled, (data, x.dtype.name, x.shape, x.device)


copyreg.pickle(Array, _pickled)
