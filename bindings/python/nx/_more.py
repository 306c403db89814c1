# SPDX-License-Identifier: ISC
"""Functions of NumPy that are short compositions of the others."""

from __future__ import annotations

import math
import operator
from typing import Any, Callable, Sequence

from . import _core
from ._core import Array, calls
from ._creation import arange, asarray, ones, tri
from ._elementwise import isinf, isnan, trunc
from ._lib import (FLOAT64, INT64, arr, axis_of, broadcast_shape, cast, constant, expand, floating,
                   promoted, reshaped, shape_of)
from ._manipulation import broadcast_to, concat, expand_dims, ravel, stack
from ._searching import (argsort, index_array, isin, nonzero, sort, take_along_axis, unique, where)
from ._statistics import cumprod, cumsum

__all__ = ["argpartition", "around", "asanyarray", "ascontiguousarray", "bartlett", "blackman",
           "block", "choose", "copyto", "diag_indices", "diagflat", "fill_diagonal", "fix",
           "float_power", "frombuffer", "fromfunction", "fromiter", "hamming", "hanning",
           "heaviside", "i0", "insert", "intersect1d", "iscomplex", "iscomplexobj", "isneginf",
           "isposinf", "isreal", "isrealobj", "ix_", "kaiser", "ldexp", "lexsort", "matvec",
           "modf", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "ndim", "partition",
           "place", "polyfit", "polyval", "put", "put_along_axis", "putmask", "ravel_multi_index",
           "select", "setdiff1d", "setxor1d", "shape", "size", "spacing", "tril_indices",
           "triu_indices", "union1d", "unwrap", "vander", "vecmat"]

asanyarray = asarray
fix = trunc


def ascontiguousarray(x: Any, /, dtype: Any = None) -> Array:
    """x in C order, of one dimension at least; itself if it is so already."""
    x = asarray(x, dtype)
    return calls.contiguous(x if x.ndim else reshaped(x, (1,)))


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


def vander(x: Any, /, n: int | None = None, increasing: bool = False) -> Array:
    """The powers of x as columns, the highest first."""
    x = arr(x)
    n = x.size if n is None else n
    powers = arange(n, device=x.device)
    powers = powers if increasing else calls.flip(powers, (0,))
    return reshaped(x, (x.size, 1)) ** cast(powers, x.dtype)


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
    if n < 2:
        return ones((max(n, 0),))
    return 1.0 - (arange(n, dtype=FLOAT64) * (2.0 / (n - 1)) - 1.0).__abs__()


def i0(x: Any, /) -> Array:
    """The modified Bessel function of the first kind of order 0."""
    x = floating(x)
    return calls.i0e(x) * calls.exp(x.__abs__())


def kaiser(n: int, beta: float, /) -> Array:
    """i0 of beta times a half circle, over i0(beta)."""
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
    a = floating(x1)
    e = cast(arr(x2), a.dtype)
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
    half, d = period / 2, diff(x, axis)
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


def choose(index: Any, choices: Sequence[Any], /) -> Array:
    """Element by element of the choice with that number."""
    xs = promoted(*choices)
    index = index_array(index)
    common = broadcast_shape(index.shape, *[x.shape for x in xs])
    table = stack([expand(x, common) for x in xs])
    return calls.gather(table, reshaped(expand(index, common), (1, *common)), 0)[0]


def ix_(*lists: Any) -> tuple[Array, ...]:
    """Lists of indices as a key for all their combinations."""
    n = len(lists)
    xs = [arr(x) for x in lists]
    xs = [nonzero(x)[0] if x.dtype.kind == "b" else index_array(x) for x in xs]
    return tuple(reshaped(x, (1,) * i + (x.size,) + (1,) * (n - i - 1)) for i, x in enumerate(xs))


# ---- assignment


def _written(x: Any, what: str) -> Array:
    """x, which is an array already: what is assigned to anything else would be lost."""
    if type(x) is not Array:
        raise TypeError(f"{what}: an Array is assigned to, not {type(x).__name__}")
    return x


def copyto(x: Array, source: Any, /, *, where: Any = True) -> None:
    """Assigns source, broadcast, where a mask is true."""
    _written(x, "copyto")
    if where is True:
        x[...] = source
    else:
        putmask(x, broadcast_to(where, x.shape), broadcast_to(source, x.shape))


def putmask(x: Array, mask: Any, values: Any, /) -> None:
    """Assigns values where a mask is true, each from its own place, from the start again if there
    are fewer."""
    _written(x, "putmask")
    from ._manipulation import resize

    values = resize(values, x.shape) if arr(values).shape != x.shape else arr(values)
    x[...] = calls.where(cast(arr(mask), _core.dtypes["bool"]), cast(values, x.dtype), x)


def place(x: Array, mask: Any, values: Any, /) -> None:
    """Assigns values, one after the other, where a mask is true."""
    _written(x, "place")
    from ._manipulation import resize
    from ._searching import flatnonzero

    places = flatnonzero(mask)
    put(x, places, resize(values, places.shape))


def put(x: Array, places: Any, values: Any, /) -> None:
    """Assigns values to elements by their numbers in C order."""
    _written(x, "put")
    from ._manipulation import resize

    places = ravel(index_array(places))
    flat = ravel(x)
    values = cast(resize(values, places.shape), x.dtype)
    y = calls.scatter(flat, places, values, 0, calls.SCATTER_SET, 0)
    x[...] = reshaped(y, x.shape)


def put_along_axis(x: Array, places: Any, values: Any, /, axis: int) -> None:
    """Assigns values to the elements that take_along_axis would read."""
    _written(x, "put_along_axis")
    places = index_array(places)
    axis = axis_of(axis, x.ndim)
    common = [places.shape[i] if i == axis else n for i, n in enumerate(x.shape)]
    values = expand(cast(arr(values), x.dtype), common)
    x[...] = calls.scatter(x, expand(places, common), values, axis, calls.SCATTER_SET, 0)


def fill_diagonal(x: Array, value: Any, /) -> None:
    """Assigns to the elements whose indices are equal."""
    _written(x, "fill_diagonal")
    n = min(x.shape)
    x[(arange(n),) * x.ndim] = value


def insert(x: Any, at: int, values: Any, /, axis: int | None = None) -> Array:
    """x with a slice, or a number, or along one dimension several numbers, before element `at` of
    an axis; at its end if that is its extent."""
    from ._manipulation import array_split

    x = arr(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of(axis, x.ndim)
    n = x.shape[axis]
    at = n if operator.index(at) == n else axis_of(at, n, "index")
    front, back = array_split(x, [at], axis)
    values = cast(arr(values), x.dtype)
    if x.ndim > 1 or values.ndim == 0:
        values = expand_dims(values, axis) if 0 < values.ndim < x.ndim else values
        values = broadcast_to(values, [1 if i == axis else m for i, m in enumerate(x.shape)])
    return concat([front, values, back], axis=axis)


# ---- numbers of elements


def ravel_multi_index(indices: Sequence[Any], shape: Any, /) -> Array:
    """Numbers in C order of elements by their coordinates, which are not checked."""
    flat: Any = 0
    for x, n in zip(indices, shape_of(shape)):
        flat = flat * n + index_array(x)
    return arr(flat)


def tril_indices(n: int, /, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """The coordinates of a lower triangle."""
    return nonzero(tri(n, m, k))


def triu_indices(n: int, /, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """The coordinates of an upper triangle."""
    return nonzero(tri(n, m, k - 1) == 0)


def diag_indices(n: int, /, ndim: int = 2) -> tuple[Array, ...]:
    """The coordinates of a diagonal."""
    return (arange(n),) * ndim


# ---- order and sets


def partition(x: Any, kth: Any, /, axis: int | None = -1) -> Array:
    """Sorted, which puts every element kth in its place."""
    return sort(x, axis)


def argpartition(x: Any, kth: Any, /, axis: int | None = -1) -> Array:
    """The places that partition takes elements from."""
    return argsort(x, axis)


def lexsort(keys: Sequence[Any], /, axis: int = -1) -> Array:
    """The order of elements by several keys, of which the last one counts first."""
    keys = [arr(k) for k in keys]
    order = argsort(keys[0], axis)
    for key in keys[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
    return order


def union1d(a: Any, b: Any, /) -> Array:
    """The values of either, in order."""
    return unique(concat([ravel(a), ravel(b)]))


def intersect1d(a: Any, b: Any, /) -> Array:
    """The values of both, in order."""
    a = unique(a)
    return a[isin(a, b)]


def setdiff1d(a: Any, b: Any, /) -> Array:
    """The values of a that b has not, in order."""
    a = unique(a)
    return a[isin(a, b, invert=True)]


def setxor1d(a: Any, b: Any, /) -> Array:
    """The values of just one of them, in order."""
    a, b = unique(a), unique(b)
    return sort(concat([a[isin(a, b, invert=True)], b[isin(b, a, invert=True)]]))


# ---- without NaN, and polynomials


def _without(x: Any, value: float) -> Array:
    x = arr(x)
    return x if x.dtype.kind in "biu" else calls.where(isnan(x), constant(value, x.dtype), x)


def nancumsum(x: Any, /, axis: int | None = None) -> Array:
    """Sums of what is not NaN up to each element."""
    return cumsum(_without(x, 0), axis)


def nancumprod(x: Any, /, axis: int | None = None) -> Array:
    """Products of what is not NaN up to each element."""
    return cumprod(_without(x, 1), axis)


def nanargmax(x: Any, /, axis: int | None = None) -> Array:
    """The place of the largest element that is not NaN."""
    from ._searching import argmax

    return argmax(_without(x, -math.inf), axis)


def nanargmin(x: Any, /, axis: int | None = None) -> Array:
    """The place of the least element that is not NaN."""
    from ._searching import argmin

    return argmin(_without(x, math.inf), axis)


def polyval(p: Any, x: Any, /) -> Array:
    """A polynomial at x, of its coefficients, the highest power first."""
    p, x = promoted(p, x)
    y = x * 0
    for i in range(p.shape[0]):
        y = y * x + p[i]
    return y


def polyfit(x: Any, y: Any, degree: int, /) -> Array:
    """The coefficients, the highest power first, of the polynomial that fits y at x best."""
    from . import linalg

    x, y = promoted(floating(x), floating(y))
    a = vander(x, degree + 1)
    scale = calls.sqrt(calls.reduce_sum(a * a, (0,), 0))
    return linalg.lstsq(a / scale, y).x / (scale if y.ndim == 1 else scale[:, None])


def matvec(x1: Any, x2: Any, /) -> Array:
    """Matrices times vectors, both in the last axes."""
    a, b = promoted(x1, x2)
    return (a @ b[..., None])[..., 0]


def vecmat(x1: Any, x2: Any, /) -> Array:
    """Conjugates of vectors times matrices, both in the last axes."""
    a, b = promoted(x1, x2)
    a = calls.conj(a) if a.dtype.kind == "c" else a
    return (a[..., None, :] @ b)[..., 0, :]
