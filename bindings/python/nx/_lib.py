# SPDX-License-Identifier: ISC
"""What the modules of this package share: the extension in C, operands made arrays, promotion."""

from __future__ import annotations

import operator
from typing import Any, Callable, Iterable, Sequence

from . import _core
from ._core import Array, DType, calls, result_type

array = _core.array
dtypes = _core.dtypes
BOOL = dtypes["bool"]
INT64 = dtypes["int64"]
UINT8 = dtypes["uint8"]
UINT32 = dtypes["uint32"]
UINT64 = dtypes["uint64"]
FLOAT32 = dtypes["float32"]
FLOAT64 = dtypes["float64"]
COMPLEX64 = dtypes["complex64"]
COMPLEX128 = dtypes["complex128"]

KEEPDIMS = 1
MAY_COPY = 1

# What an operator of Array takes as it is.
PLAIN = frozenset({Array, bool, int, float, complex})
NUMBERS = frozenset({bool, int, float, complex})


def named(function: Callable, name: str, sentence: str) -> Callable:
    """The function, which says that it is called so and does that."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = sentence
    return function


def arr(x: Any) -> Array:
    """x as an array; an array is returned as it is."""
    return x if type(x) is Array else array(x)


def cast(x: Any, dtype: DType) -> Array:
    """An array or a number in that dtype; an array that has it is returned as it is."""
    if type(x) is Array:
        return x if x.dtype is dtype else calls.cast(x, dtype)
    return _core.full((), x, dtype)


def constant(value: Any, dtype: DType) -> Array:
    """A number as an array of rank 0, which goes with arrays of every device."""
    return _core.full((), value, dtype)


def operands(*given: Any) -> list:
    """Arrays and Python numbers as they are, everything else as arrays, on the device of the first
    one that is an array already; one array at least."""
    for x in given:
        if type(x) is Array:
            return [y if type(y) in PLAIN else array(y, None, x.device) for y in given]
    xs = [x if type(x) in NUMBERS else array(x) for x in given]
    return xs if Array in map(type, xs) else [array(xs[0]), *xs[1:]]


def promoted(*given: Any) -> list[Array]:
    """The operands in the dtype that they promote to."""
    xs = operands(*given)
    dtype = result_type(*xs)
    return [cast(x, dtype) for x in xs]


def floats(*given: Any) -> list[Array]:
    """As promoted, but integers and bools become float64."""
    xs = operands(*given)
    dtype = result_type(*xs)
    if dtype.kind in "biu":
        dtype = FLOAT64
    return [cast(x, dtype) for x in xs]


def floating(x: Any) -> Array:
    """x as an array of floats or complex numbers: integers and bools become float64."""
    x = arr(x)
    return calls.cast(x, FLOAT64) if x.dtype.kind in "biu" else x


def real_dtype(dtype: DType) -> DType:
    """The dtype of a part of a complex dtype; a real one itself."""
    if dtype.kind != "c":
        return dtype
    return dtypes[f"float{dtype.bits // 2}"]


def widened(dtype: DType) -> DType:
    """The dtype of floats or complex numbers itself, of parts of less than 32 bits that of 32."""
    if real_dtype(dtype).bits >= 32:
        return dtype
    return COMPLEX64 if dtype.kind == "c" else FLOAT32


def complex_dtype(dtype: DType) -> DType:
    """The complex dtype that goes with a dtype: complex64 for float32 and below."""
    if dtype.kind == "c":
        return dtype
    if dtype.kind == "f" and dtype.bits <= 32:
        return COMPLEX64
    return COMPLEX128


class AxisError(ValueError, IndexError):
    """There is no such axis: an error of both kinds, as NumPy's is."""


def axis_of(axis: Any, ndim: int, what: str = "axis") -> int:
    """An axis counted from 0; AxisError if there is no such axis."""
    n = operator.index(axis)
    if not -ndim <= n < ndim:
        raise AxisError(f"{what} {n} is out of bounds for an array of dimension {ndim}")
    return n + ndim if n < 0 else n


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """A tuple of axes, counted from 0, of None (all), a number, or several."""
    if type(axis) is int and 0 <= axis < ndim:
        return (axis,)
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, (tuple, list)):
        return (axis_of(axis, ndim),)
    axes = tuple(axis_of(a, ndim) for a in axis)
    if len(set(axes)) != len(axes):
        raise ValueError(f"an axis is named twice in {tuple(axis)}")
    return axes


def reduced(axis: Any, ndim: int) -> tuple[int, ...] | None:
    """axes_of for the functions in C, where None names all axes."""
    return None if axis is None else axes_of(axis, ndim)


def shape_of(shape: Any) -> tuple[int, ...]:
    """A tuple of extents of a number or a sequence."""
    if isinstance(shape, (tuple, list)):
        return tuple(operator.index(n) for n in shape)
    try:
        return (operator.index(shape),)
    except TypeError:
        return tuple(operator.index(n) for n in shape)


def product(extents: Iterable[int]) -> int:
    """The product of integers; 1 of none."""
    n = 1
    for extent in extents:
        n *= extent
    return n


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all of these broadcast to, as in NumPy."""
    rank = max((len(s) for s in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for i, n in enumerate(shape, rank - len(shape)):
            if n != 1 and result[i] not in (1, n):
                text = ", ".join(str(tuple(s)) for s in shapes)
                raise ValueError(f"the shapes {text} cannot be broadcast together")
            if n != 1:
                result[i] = n
    return tuple(result)


def expand(x: Array, shape: Sequence[int]) -> Array:
    """A view of x broadcast to shape; x itself if it has that shape."""
    return x if x.shape == tuple(shape) else calls.expand(x, shape)


def reshaped(x: Array, shape: Sequence[int]) -> Array:
    """x in another shape, copied where a view cannot express it; x itself if it has that shape."""
    return x if x.shape == tuple(shape) else calls.reshape(x, shape, MAY_COPY)


def permuted(x: Array, axes: Sequence[int]) -> Array:
    """A view of x with its axes in that order; x itself if they are in order already."""
    return x if list(axes) == list(range(len(axes))) else calls.permute(x, axes)


def device_number(device: Any) -> int:
    """The number of a device; the first one of None."""
    if device is None:
        return 0
    if not _devices:
        _devices.extend(row[0] for row in _core.devices())
    if device not in _devices:
        raise ValueError(f"there is no device {device!r}; there are {', '.join(_devices)}")
    return _devices.index(device)


_devices: list[str] = []


def count_up(n: int, beside: Array, dtype: DType = INT64, start: int = 0) -> Array:
    """start, start + 1, .. on the device of an array: n numbers."""
    return calls.arange(device_number(beside.device), dtype, start, 1, n)


def value_of(x: Array, what: str) -> int:
    """The value of an array of one integer, an action. `what` is the sentence of the error inside
    a captured function, where there are no values."""
    try:
        return int(x)
    except _core.Unbound as e:
        raise type(e)(f"{what}: the shape of the result depends on values, which a captured "
                      "function does not have") from e


def count_true(mask: Array, what: str) -> int:
    """How many elements of a mask are true, an action."""
    return value_of(calls.reduce_sum(calls.cast(mask, INT64), None, 0), what)


def within(what: str, index: Array, n: int, mode: str) -> Array:
    """Numbers that are not below n: others, negative ones too, raise when they are taken, or are
    brought there by a mode."""
    if mode == "wrap":
        return index % n
    if mode == "clip":
        return calls.clamp(constant(0, index.dtype), index, constant(n - 1, index.dtype))
    if mode != "raise":
        raise ValueError(f"{what}: there is no mode {mode!r}")
    return calls.where(index < 0, constant(n, index.dtype), index)
