# SPDX-License-Identifier: ISC
"""Functions that make arrays."""

from __future__ import annotations

import math
import operator
from typing import Any, Sequence

from . import _core
from ._core import Array, DType, calls
from ._lib import (BOOL, COMPLEX128, FLOAT64, INT64, UINT64, arr, broadcast_shape, cast,
                   constant, count_up, device_number, expand, real_dtype, reshaped, shape_of)

__all__ = ["arange", "array", "asarray", "diag", "empty", "empty_like", "eye", "from_dlpack",
           "full", "full_like", "geomspace", "identity", "indices", "linspace", "logspace",
           "meshgrid", "ones", "ones_like", "tri", "tril", "triu", "zeros", "zeros_like"]


def _dtype(dtype: Any, default: DType) -> DType:
    return default if dtype is None else _core.dtype(dtype)


def asarray(obj: Any, /, dtype: Any = None, *, device: Any = None,
            copy: bool | None = None) -> Array:
    """An array of an array, a number, nested lists, a buffer or a DLPack object. Memory is shared
    where that is possible, unless copy is True; copy=False raises where it is not."""
    obj = list(obj) if type(obj) is range else obj
    return _core.array(obj, dtype, device, copy)


def array(obj: Any, dtype: Any = None, *, copy: bool | None = True, device: Any = None,
          ndmin: int = 0) -> Array:
    """asarray with a copy, unless another one is asked for. ndmin: of how many dimensions at least;
    those that are missing come first."""
    obj = list(obj) if type(obj) is range else obj
    x = _core.array(obj, dtype, device, copy)
    return x if x.ndim >= ndmin else x.reshape((1,) * (ndmin - x.ndim) + x.shape)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An array over the memory of another library's array."""
    return _core.from_dlpack(x, device=device, copy=copy)


def empty(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """An array with any contents; it takes no memory before it is written."""
    return _core.empty(shape, _dtype(dtype, FLOAT64), device)


def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """An array of zeros."""
    return _core.full(shape, 0, _dtype(dtype, FLOAT64), device)


def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """An array of ones."""
    return _core.full(shape, 1, _dtype(dtype, FLOAT64), device)


def _default_of(value: Any) -> DType:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT64 if value < 2**63 else UINT64
    return COMPLEX128 if isinstance(value, complex) else FLOAT64


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """An array of which every element is fill_value, a number, or an array that is broadcast."""
    if not isinstance(fill_value, (bool, int, float, complex)):
        value = arr(fill_value)
        value = value if device is None else value.to_device(device)
        return calls.copy(expand(cast(value, _dtype(dtype, value.dtype)), shape_of(shape)))
    return _core.full(shape, fill_value, _dtype(dtype, _default_of(fill_value)), device)


def empty_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Array:
    """An array with any contents, of the shape of x, and of its dtype and device unless given."""
    return _like(x, None, dtype, device)


def zeros_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Array:
    """Zeros of the shape of x, and of its dtype and device unless given."""
    return _like(x, 0, dtype, device)


def ones_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Array:
    """Ones of the shape of x, and of its dtype and device unless given."""
    return _like(x, 1, dtype, device)


def full_like(x: Any, /, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """fill_value in the shape of x, and in its dtype and device unless given."""
    x = arr(x)
    device = x.device if device is None else device
    return full(x.shape, fill_value, _dtype(dtype, x.dtype), device=device)


def _like(x: Any, value: Any, dtype: Any, device: Any) -> Array:
    x = arr(x)
    dtype = _dtype(dtype, x.dtype)
    device = x.device if device is None else device
    if value is None:
        return _core.empty(x.shape, dtype, device)
    return _core.full(x.shape, value, dtype, device)


def eye(n_rows: int, n_cols: int | None = None, /, k: int = 0, dtype: Any = None, *,
        device: Any = None) -> Array:
    """Ones on diagonal k, zeros elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    k = max(-n_rows, min(k, n_cols))
    return calls.eye(device_number(device), _dtype(dtype, FLOAT64), n_rows, n_cols, k)


def identity(n: int, dtype: Any = None, *, device: Any = None) -> Array:
    """The unit matrix of n rows."""
    return eye(n, dtype=dtype, device=device)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None,
           device: Any = None) -> Array:
    """start, start + step, .. up to and without stop; arange(n) is 0 .. n - 1. int64 if all three
    are integers, else float64."""
    if stop is None:
        start, stop = 0, start
    start, stop, step = map(_as_number, (start, stop, step))
    if step == 0:
        raise ValueError("arange: the step is 0")
    whole = all(isinstance(v, int) for v in (start, stop, step))
    if whole:
        n = max(0, -((start - stop) // step))
    else:
        n = max(0, math.ceil((stop - start) / step))
    dtype = _dtype(dtype, _whole(start, start + (n - 1) * step) if whole and n else
                   INT64 if whole else FLOAT64)
    return calls.arange(device_number(device), dtype, start, step, n)


def _whole(*ends: int) -> DType:
    """The dtype of integers between these: int64, or uint64 where that alone has them."""
    if min(ends) >= -2**63 and max(ends) < 2**63:
        return INT64
    if min(ends) >= 0 and max(ends) < 2**64:
        return UINT64
    raise OverflowError(f"arange: {min(ends)} to {max(ends)} are numbers of no dtype")


def _as_number(x: Any) -> Any:
    """An integer, or an array of one, as Python's."""
    if type(x) in (int, float):
        return x
    try:
        return operator.index(x)
    except TypeError:
        return x


def linspace(start: Any, stop: Any, /, num: int = 50, *, dtype: Any = None, device: Any = None,
             endpoint: bool = True, retstep: bool = False, axis: int = 0) -> Any:
    """num numbers from start to stop at equal distances, with stop unless endpoint is False.
    Integer dtypes get the numbers rounded down. start and stop may be arrays."""
    if num < 0:
        raise ValueError(f"linspace: {num} is not a number of elements")
    parts = num - 1 if endpoint else num
    if _is_number(start) and _is_number(stop):
        y, step = _line(start, stop, num, parts, endpoint, dtype, device)
    else:
        y, step = _lines(arr(start), arr(stop), num, parts, endpoint)
    dtype = _dtype(dtype, y.dtype)
    if dtype.kind in "iu":
        y = calls.floor(y)
    y = cast(y, dtype)
    if axis != 0:
        from ._manipulation import moveaxis

        y = moveaxis(y, 0, axis)
    return (y, step) if retstep else y


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex))


def _line(start: Any, stop: Any, num: int, parts: int, endpoint: bool, dtype: Any,
          device: Any) -> tuple:
    work = COMPLEX128 if isinstance(start, complex) or isinstance(stop, complex) else FLOAT64
    if dtype is not None and _core.dtype(dtype).kind == "c":
        work = COMPLEX128
    step = (stop - start) / parts if parts > 0 else math.nan
    i = calls.arange(device_number(device), work, 0, 1, num)
    y = i * step + start if parts > 0 else i + start
    if endpoint and num > 1:
        last = constant(num - 1, work)
        y = calls.where(calls.cmpeq(i, last), constant(stop, work), y)
    return y, step


def _lines(start: Array, stop: Array, num: int, parts: int, endpoint: bool) -> tuple:
    work = _core.result_type(start, stop, 1.0)
    work = FLOAT64 if work.kind in "biu" else work
    start, stop = cast(start, work), cast(stop, work)
    shape = broadcast_shape(start.shape, stop.shape)
    i = count_up(num, start, work)
    i = reshaped(i, (num,) + (1,) * len(shape))
    step = (stop - start) / (parts if parts > 0 else math.nan)
    y = i * step + start if parts > 0 else expand(start, (num, *shape))
    if endpoint and num > 1:
        y = calls.where(calls.cmpeq(i, constant(num - 1, work)), stop, y)
    return y, step


def logspace(start: Any, stop: Any, /, num: int = 50, *, base: float = 10.0, dtype: Any = None,
             endpoint: bool = True) -> Array:
    """base to the powers that linspace gives."""
    y = constant(base, FLOAT64) ** linspace(start, stop, num, endpoint=endpoint)
    return y if dtype is None else cast(y, _core.dtype(dtype))


def geomspace(start: float, stop: float, /, num: int = 50, *, dtype: Any = None,
              endpoint: bool = True) -> Array:
    """num positive numbers from start to stop with equal ratios."""
    if start <= 0 or stop <= 0:
        raise ValueError("geomspace: start and stop must be positive")
    y = logspace(math.log10(start), math.log10(stop), num, endpoint=endpoint)
    return y if dtype is None else cast(y, _core.dtype(dtype))


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Array]:
    """Coordinates of a grid: one array for each operand, all of the grid's shape. "xy" exchanges
    the first two axes, "ij" does not."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f'meshgrid: indexing is {indexing!r}, and must be "xy" or "ij"')
    xs = [reshaped(x, (x.size,)) for x in map(arr, arrays)]
    n = len(xs)
    order = list(range(n))
    if indexing == "xy" and n > 1:
        order[0], order[1] = 1, 0
    shape = [0] * n
    for i, x in enumerate(xs):
        shape[order[i]] = x.size
    grids = []
    for i, x in enumerate(xs):
        line = [1] * n
        line[order[i]] = x.size
        grids.append(calls.copy(expand(reshaped(x, line), shape)))
    return grids


def indices(dimensions: Sequence[int], dtype: Any = None) -> Array:
    """The numbers of rows, columns, .. of a grid, one behind the other along a new first axis."""
    from ._manipulation import stack

    lines = [arange(n, dtype=_dtype(dtype, INT64)) for n in dimensions]
    if not lines:
        return empty((0,), _dtype(dtype, INT64))
    return stack(meshgrid(*lines, indexing="ij"))


def _below(shape: Sequence[int], k: int, device: Any) -> Array:
    """Of a matrix where column - row <= k."""
    rows, columns = shape[-2:]
    k = max(-rows - 1, min(k, columns))
    i = calls.arange(device_number(device), INT64, 0, 1, rows)
    j = calls.arange(device_number(device), INT64, -k, 1, columns)
    return calls.cmple(reshaped(j, (1, columns)), reshaped(i, (rows, 1)))


def _matrices(x: Any, what: str) -> Array:
    x = arr(x)
    if x.ndim < 2:
        raise ValueError(f"{what}: an array of {x.ndim} dimensions is no matrix")
    return x


def tril(x: Any, /, k: int = 0) -> Array:
    """The lower triangles of matrices: zeros above diagonal k."""
    x = _matrices(x, "tril")
    return calls.where(_below(x.shape, k, x.device), x, constant(0, x.dtype))


def triu(x: Any, /, k: int = 0) -> Array:
    """The upper triangles of matrices: zeros below diagonal k."""
    x = _matrices(x, "triu")
    return calls.where(_below(x.shape, k - 1, x.device), constant(0, x.dtype), x)


def tri(n: int, m: int | None = None, k: int = 0, dtype: Any = None) -> Array:
    """Ones on and below diagonal k, zeros above."""
    return cast(_below((n, n if m is None else m), k, None), _dtype(dtype, FLOAT64))


def diag(x: Any, /, k: int = 0) -> Array:
    """A vector as diagonal k of a matrix of zeros; of a matrix a view of its diagonal k."""
    x = arr(x)
    if x.ndim == 2:
        return calls.diagonal(x, k, 0, 1)
    if x.ndim != 1:
        raise ValueError(f"diag: an array of {x.ndim} dimensions is neither vector nor matrix")
    n = x.size + abs(k)
    rows = calls.pad(x, (max(0, -k),), (max(0, k),), 0)
    on = calls.eye(device_number(x.device), BOOL, n, n, k)
    return calls.where(on, reshaped(rows, (n, 1)), constant(0, x.dtype))
