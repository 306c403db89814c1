# SPDX-License-Identifier: ISC
"""Functions of NumPy that are short compositions of the others."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any, Callable, Iterable, Sequence

from . import _core
from ._core import Array, calls
from ._creation import arange, asarray, ones, tri
from ._elementwise import isinf, isnan, trunc
from ._lib import (FLOAT64, arr, axes_of, axis_of, broadcast_shape, cast, constant, expand,
                   floating, promoted, reshaped, shape_of, within)
from ._keywords import into
from ._manipulation import concat, moveaxis, ravel, stack, vstack
from ._searching import argsort, index_array, isin, sort, take_along_axis, unique, where

__all__ = ["argpartition", "around", "asanyarray", "asarray_chkfinite", "ascontiguousarray",
           "asfortranarray", "bartlett", "blackman", "block", "choose", "diagflat", "diagonal",
           "fix", "float_power", "frombuffer", "fromfunction", "fromiter", "hamming", "hanning",
           "heaviside", "i0", "intersect1d", "iscomplex", "iscomplexobj", "isfortran", "isneginf",
           "isposinf", "isreal", "isrealobj", "isscalar", "iterable", "kaiser", "ldexp", "lexsort",
           "matvec", "modf", "ndim", "packbits", "partition", "real_if_close", "require",
           "rollaxis", "row_stack", "select", "setdiff1d", "setxor1d", "shape", "size",
           "sort_complex", "spacing", "trace", "trim_zeros", "union1d", "unpackbits", "unwrap",
           "vecmat"]

asanyarray = asarray
fix = trunc


def ascontiguousarray(x: Any, /, dtype: Any = None) -> Array:
    """x in C order, of one dimension at least; itself if it is so already."""
    x = asarray(x, dtype)
    return calls.contiguous(x if x.ndim else reshaped(x, (1,)))


def asfortranarray(x: Any, /, dtype: Any = None) -> Array:
    """x with its first axis dense in memory; itself if it is so already."""
    x = asarray(x, dtype)
    if x.ndim < 2:
        return ascontiguousarray(x)
    axes = list(range(x.ndim))[::-1]
    return calls.permute(calls.contiguous(calls.permute(x, axes)), axes)


def isfortran(x: Any, /) -> bool:
    """Whether the first axis of x is the dense one in memory, and the last one is not."""
    x = arr(x)
    axes = range(x.ndim)
    return x.size > 0 and _is_dense(x, axes) and not _is_dense(x, reversed(axes))


def _is_dense(x: Array, axes: Iterable[int]) -> bool:
    """Whether the elements lie side by side, along the first of these axes first."""
    step = x.itemsize
    for i in axes:
        if x.shape[i] != 1 and x.strides[i] != step:
            return False
        step *= x.shape[i]
    return True


def require(x: Any, /, dtype: Any = None, requirements: Any = None) -> Array:
    """x in an order of memory: "C" or "F". Arrays are aligned, may be written, and own their memory
    ("A", "W", "O"), as far as that can be asked of them."""
    wanted = {r.upper()[0] for r in ([requirements] if isinstance(requirements, str)
                                     else requirements or ())}
    if wanted - set("CFAWOE"):
        raise KeyError(f"require: {requirements!r}")
    if {"C", "F"} <= wanted:
        raise ValueError("require: both C and F cannot be had")
    x = asarray(x, dtype)
    if "F" in wanted:
        return asfortranarray(x)
    x = ascontiguousarray(x) if "C" in wanted else x
    return calls.copy(x) if wanted & set("WO") else x


def asarray_chkfinite(x: Any, /, dtype: Any = None) -> Array:
    """asarray, which raises if an element is NaN or infinite (an action)."""
    x = asarray(x, dtype)
    if x.dtype.kind in "fc" and not bool(calls.reduce_min(calls.isfinite(x), None, 0)):
        raise ValueError("asarray_chkfinite: there are NaNs or infinities")
    return x


def isscalar(x: Any, /) -> bool:
    """Whether x is a number, a text or bytes; arrays of no axes are arrays."""
    return type(x) is not Array and (isinstance(x, (numbers.Number, str, bytes))
                                     or type(x).__module__ == "numpy" and hasattr(x, "item")
                                     and not hasattr(x, "__setitem__"))


def iterable(x: Any, /) -> bool:
    """Whether iter(x) is there."""
    try:
        iter(x)
    except TypeError:
        return False
    return True


def around(x: Any, /, decimals: int = 0) -> Array:
    """round."""
    from ._elementwise import round

    return round(x, decimals)


def ndim(x: Any, /) -> int:
    """The number of axes."""
    return arr(x).ndim


def shape(x: Any, /) -> tuple[int, ...]:
    """The extents."""
    return arr(x).shape


def size(x: Any, /, axis: int | None = None) -> int:
    """The number of elements, or the extent of an axis."""
    x = arr(x)
    return x.size if axis is None else x.shape[axis_of(axis, x.ndim)]


# ---- making


def frombuffer(buffer: Any, /, dtype: Any = None) -> Array:
    """The bytes of a buffer as elements of one dimension, without a copy where that is possible."""
    found = FLOAT64 if dtype is None else _core.dtype(dtype)
    x = _core.array(memoryview(buffer).cast("B"))
    if x.size % found.itemsize:
        raise ValueError(f"frombuffer: {x.size} bytes are no whole number of {found.name}")
    return calls.bitcast_convert(_bytes(x, found.itemsize), found)


def _bytes(x: Array, n: int) -> Array:
    return x if n == 1 else reshaped(x, (x.size // n, n))


def fromiter(values: Any, /, dtype: Any = None) -> Array:
    """The numbers that an iterator gives."""
    return asarray(list(values), dtype)


def fromfunction(function: Callable, /, shape: Sequence[int], dtype: Any = None) -> Any:
    """What a function gives of the coordinates of a grid."""
    from ._creation import indices

    return function(*indices(shape_of(shape), FLOAT64 if dtype is None else dtype))


def diagflat(x: Any, /, k: int = 0) -> Array:
    """All elements of x as diagonal k of a matrix."""
    from ._creation import diag

    return diag(ravel(x), k)


def block(arrays: Any, /) -> Array:
    """Nested lists of arrays put together: the innermost along the last axis."""
    def depth(nested: Any) -> int:
        return 1 + depth(nested[0]) if isinstance(nested, list) else 0

    def joined(nested: Any, level: int) -> Array:
        if not isinstance(nested, list):
            x = arr(nested)
            return reshaped(x, (1,) * (depth(arrays) - x.ndim) + x.shape)
        return concat([joined(e, level - 1) for e in nested], axis=-level)

    return joined(arrays, depth(arrays))


# ---- windows


def _window(n: int, terms: Sequence[float]) -> Array:
    """A sum of cosines over n points."""
    n = operator.index(n)
    if n < 2:
        return ones((max(n, 0),))
    angle = arange(n, dtype=FLOAT64) * (2 * math.pi / (n - 1))
    y = terms[0]
    for k, a in enumerate(terms[1:], 1):
        y = y + calls.cos(angle * k) * a
    return y


def hanning(n: int, /) -> Array:
    """0.5 - 0.5 cos."""
    return _window(n, (0.5, -0.5))


def hamming(n: int, /) -> Array:
    """0.54 - 0.46 cos."""
    return _window(n, (0.54, -0.46))


def blackman(n: int, /) -> Array:
    """0.42 - 0.5 cos + 0.08 cos of twice the angle."""
    return _window(n, (0.42, -0.5, 0.08))


def bartlett(n: int, /) -> Array:
    """A triangle."""
    n = operator.index(n)
    if n < 2:
        return ones((max(n, 0),))
    return 1.0 - (arange(n, dtype=FLOAT64) * (2.0 / (n - 1)) - 1.0).__abs__()


def i0(x: Any, /) -> Array:
    """The modified Bessel function of the first kind of order 0."""
    x = floating(x)
    return calls.i0e(x) * calls.exp(x.__abs__())


def kaiser(n: int, beta: float, /) -> Array:
    """i0 of beta times a half circle, over i0(beta)."""
    n = operator.index(n)
    if n < 2:
        return ones((max(n, 0),))
    far = arange(n, dtype=FLOAT64) * (2.0 / (n - 1)) - 1.0
    return i0(beta * calls.sqrt(calls.max(1.0 - far * far, constant(0, FLOAT64)))) / i0(float(beta))


# ---- element by element


def float_power(x1: Any, x2: Any, /) -> Array:
    """x1 ** x2 in float64, or complex128."""
    a, b = promoted(x1, x2)
    work = FLOAT64 if a.dtype.kind != "c" else _core.dtypes["complex128"]
    return cast(a, work) ** cast(b, work)


def heaviside(x1: Any, x2: Any, /) -> Array:
    """0 below 0, x2 at 0, 1 above."""
    a, b = promoted(floating(x1), x2)
    y = calls.where(a == 0, b, cast(a > 0, a.dtype))
    return calls.where(calls.isnan(a), a, y)


def ldexp(x1: Any, x2: Any, /) -> Array:
    """x1 times 2 to the power x2, which are integers."""
    a, e = floating(x1), arr(x2)
    if a.dtype.kind == "c" or e.dtype.kind not in "biu":
        raise TypeError(f"ldexp: {a.dtype.name} and an exponent of {e.dtype.name}")
    e = cast(e, a.dtype)
    half = calls.floor(e / 2)
    return a * calls.exp2(half) * calls.exp2(e - half)


def modf(x: Any, /) -> tuple[Array, Array]:
    """The fraction, and the part before the point, both with the sign of x."""
    x = floating(x)
    whole = calls.trunc(x)
    part = calls.where(calls.isinf(x), constant(0, x.dtype), x - whole)
    return calls.copysign(part, x), whole


def spacing(x: Any, /) -> Array:
    """The distance to the next number away from 0."""
    x = floating(x)
    far = calls.copysign(constant(math.inf, x.dtype), x)
    return calls.nextafter(x, far) - x


def isposinf(x: Any, /) -> Array:
    """Whether x is +infinity."""
    return isinf(x) & (arr(x) > 0)


def isneginf(x: Any, /) -> Array:
    """Whether x is -infinity."""
    return isinf(x) & (arr(x) < 0)


def iscomplex(x: Any, /) -> Array:
    """Which elements have an imaginary part that is not 0."""
    return arr(x).imag != 0


def isreal(x: Any, /) -> Array:
    """Which elements have no imaginary part but 0."""
    return arr(x).imag == 0


def iscomplexobj(x: Any, /) -> bool:
    """Whether the dtype is complex."""
    return arr(x).dtype.kind == "c"


def isrealobj(x: Any, /) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def unwrap(x: Any, /, discont: float | None = None, axis: int = -1, *,
           period: float = 2 * math.pi) -> Array:
    """Angles without jumps of more than half a period between neighbours."""
    from ._statistics import diff

    x = floating(x)
    axis = axis_of(axis, x.ndim)
    half, d = period / 2, diff(x, axis=axis)
    inside = (d + half) % period - half
    inside = calls.where((inside == -half) & (d > 0), constant(half, x.dtype), inside)
    limit = half if discont is None else max(half, discont)
    turn = calls.where(d.__abs__() < limit, constant(0, x.dtype), inside - d)
    before = [int(i == axis) for i in range(x.ndim)]
    return x + calls.pad(calls.associative_scan(turn, calls.SCAN_SUM, axis), before,
                         [0] * x.ndim, 0)


# ---- choice


def select(conditions: Sequence[Any], choices: Sequence[Any], /, default: Any = 0) -> Array:
    """Of the first choice whose condition holds, else the default."""
    if len(conditions) != len(choices):
        raise ValueError("select: there are as many conditions as choices")
    y = default
    for condition, choice in zip(reversed(conditions), reversed(choices)):
        y = where(condition, choice, y)
    return arr(y)


def choose(index: Any, choices: Sequence[Any], /, mode: str = "raise") -> Array:
    """Element by element of the choice with that number; those that there are not raise when the
    result is computed, or are brought into the range (mode "wrap" or "clip")."""
    xs = promoted(*choices)
    index = index_array(index)
    common = broadcast_shape(index.shape, *[x.shape for x in xs])
    table = stack([expand(x, common) for x in xs])
    index = within("choose", index, len(xs), mode)
    return calls.gather(table, reshaped(expand(index, common), (1, *common)), 0)[0]


# ---- bits


_BITS = (128, 64, 32, 16, 8, 4, 2, 1)


def _weights(bitorder: str, what: str) -> Array:
    if bitorder not in ("big", "little"):
        raise ValueError(f"{what}: bitorder is {bitorder!r}, and must be \"big\" or \"little\"")
    return _core.array(_BITS if bitorder == "big" else _BITS[::-1], "uint8")


def packbits(x: Any, /, axis: int | None = None, bitorder: str = "big") -> Array:
    """Eight elements of an axis, which are 0 or not, as bits of a byte; zeros fill the last one."""
    x, weights = arr(x), _weights(bitorder, "packbits")
    if x.dtype.kind not in "biu":
        raise TypeError(f"packbits: integers or bools are needed, not {x.dtype.name}")
    axis, x = (0, ravel(x)) if axis is None else (axis_of(axis, x.ndim), x)
    n, m = x.shape[axis], -(-x.shape[axis] // 8)
    x = calls.pad(cast(x != 0, weights.dtype), [0] * x.ndim,
                  [8 * m - n if i == axis else 0 for i in range(x.ndim)], 0)
    x = reshaped(x, (*x.shape[:axis], m, 8, *x.shape[axis + 1 :]))
    line = [8 if i == axis + 1 else 1 for i in range(x.ndim)]
    return calls.reduce_sum(x * reshaped(weights.to_device(x.device), line), (axis + 1,), 0)


def unpackbits(x: Any, /, axis: int | None = None, count: int | None = None,
               bitorder: str = "big") -> Array:
    """The bits of bytes, eight for each along an axis: count of them, with zeros behind, or all but
    the last -count."""
    x, weights = arr(x), _weights(bitorder, "unpackbits")
    if x.dtype.name != "uint8":
        raise TypeError(f"unpackbits: uint8 is needed, not {x.dtype.name}")
    axis, x = (0, ravel(x)) if axis is None else (axis_of(axis, x.ndim), x)
    y = reshaped(x, (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :]))
    line = [8 if i == axis + 1 else 1 for i in range(y.ndim)]
    y = cast((y & reshaped(weights.to_device(x.device), line)) != 0, x.dtype)
    n = 8 * x.shape[axis]
    y = reshaped(y, (*x.shape[:axis], n, *x.shape[axis + 1 :]))
    if count is None:
        return y
    m = count if count >= 0 else n + count
    if m < 0:
        raise ValueError(f"unpackbits: {-count} of {n} bits cannot be left out")
    y = y[(slice(None),) * axis + (slice(0, m),)]
    return calls.pad(y, [0] * y.ndim, [max(m - n, 0) if i == axis else 0 for i in range(y.ndim)], 0)


# ---- order and sets


def partition(x: Any, kth: Any, /, axis: int | None = -1) -> Array:
    """Sorted, which puts every element kth in its place."""
    _check_places(x, kth, axis)
    return sort(x, axis)


def argpartition(x: Any, kth: Any, /, axis: int | None = -1) -> Array:
    """The places that partition takes elements from."""
    _check_places(x, kth, axis)
    return argsort(x, axis)


def _check_places(x: Any, kth: Any, axis: int | None) -> None:
    x = arr(x)
    n = x.size if axis is None else x.shape[axis_of(axis, x.ndim)]
    kth = kth.tolist() if type(kth) is Array else kth
    for k in kth if isinstance(kth, (tuple, list)) else (kth,):
        if isinstance(k, bool):
            raise ValueError("partition: a bool is no place")
        if not -n <= operator.index(k) < n and n:
            raise ValueError(f"partition: {k} is no place on an axis of {n} elements")


def lexsort(keys: Sequence[Any], /, axis: int = -1) -> Array:
    """The order of elements by several keys, of which the last one counts first."""
    keys = [arr(k) for k in keys]
    order = argsort(keys[0], axis)
    for key in keys[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
    return order


def sort_complex(x: Any, /) -> Array:
    """sort, as complex numbers."""
    x = arr(x)
    if x.dtype.kind != "c":
        small = x.dtype.kind in "iu" and x.dtype.bits <= 16
        x = cast(x, _core.dtypes["complex64" if small else "complex128"])
    return sort(x)


def trim_zeros(x: Any, /, trim: str = "fb", axis: Any = None) -> Array:
    """x without zeros at the front ("f"), the back ("b"), or both, of its axes. Where the others
    are is read (an action)."""
    x = arr(x)
    if not set(trim.lower()) <= {"f", "b"}:
        raise ValueError(f"trim_zeros: trim is {trim!r}, and must be of \"f\" and \"b\"")
    key = [slice(None)] * x.ndim
    for i in axes_of(axis, x.ndim):
        others = [j for j in range(x.ndim) if j != i]
        found = calls.reduce_max(x != 0, others, 0) if others else x != 0
        places = [j for j, v in enumerate(found.tolist()) if v]
        if not places:
            key[i] = slice(0, 0)
            continue
        first = places[0] if "f" in trim.lower() else 0
        key[i] = slice(first, places[-1] + 1 if "b" in trim.lower() else x.shape[i])
    return x[tuple(key)]


def union1d(a: Any, b: Any, /) -> Array:
    """The values of either, in order."""
    return unique(concat([ravel(a), ravel(b)]))


def intersect1d(a: Any, b: Any, /) -> Array:
    """The values of both, in order."""
    a, b = promoted(a, b)
    a = unique(a)
    return a[isin(a, b)]


def setdiff1d(a: Any, b: Any, /) -> Array:
    """The values of a that b has not, in order."""
    a = unique(a)
    return a[isin(a, b, invert=True)]


def setxor1d(a: Any, b: Any, /) -> Array:
    """The values of just one of them, in order."""
    a, b = (unique(x) for x in promoted(a, b))
    return sort(concat([a[isin(a, b, invert=True)], b[isin(b, a, invert=True)]]))


# ---- axes


def diagonal(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """A diagonal of two axes, as the last one; a view. linalg.diagonal takes the last two."""
    from . import linalg

    return linalg.diagonal(x, offset=offset, axis1=axis1, axis2=axis2)


def trace(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, *,
          out: Any = None) -> Array:
    """The sum along diagonals of two axes. linalg.trace takes the last two."""
    from . import linalg

    y = linalg.trace(x, offset=offset, axis1=axis1, axis2=axis2, dtype=dtype)
    return y if out is None else into(y, out)


def rollaxis(x: Any, axis: int, /, start: int = 0) -> Array:
    """x with an axis before the one that is at `start` now."""
    x = arr(x)
    axis = axis_of(axis, x.ndim)
    if not -x.ndim <= start <= x.ndim:
        raise ValueError(f"rollaxis: {start} is not a place among {x.ndim} axes")
    start += x.ndim if start < 0 else 0
    return moveaxis(x, axis, start - (axis < start))


row_stack = vstack


def real_if_close(x: Any, /, tol: float = 100) -> Array:
    """The real part, if no imaginary part is above tol times the precision of 1, or above tol if
    that is below 1 (an action); else x."""
    from ._dtypes import finfo

    x = arr(x)
    if x.dtype.kind != "c":
        return x
    limit = tol * finfo(x.dtype).eps if tol > 1 else tol
    close = calls.reduce_min(calls.imag(x).__abs__() < limit, None, 0) if x.size else True
    return calls.real(x) if bool(close) else x


# ---- products


def _check_product(what: str, matrix: Array, vector: Array) -> None:
    if matrix.ndim < 2 or vector.ndim < 1:
        raise ValueError(f"{what}: {matrix.shape} are no matrices, or {vector.shape} no vectors")


def matvec(x1: Any, x2: Any, /) -> Array:
    """Matrices times vectors, both in the last axes."""
    a, b = promoted(x1, x2)
    _check_product("matvec", a, b)
    return (a @ b[..., None])[..., 0]


def vecmat(x1: Any, x2: Any, /) -> Array:
    """Conjugates of vectors times matrices, both in the last axes."""
    a, b = promoted(x1, x2)
    _check_product("vecmat", b, a)
    a = calls.conj(a) if a.dtype.kind == "c" else a
    return (a[..., None, :] @ b)[..., 0, :]
