# SPDX-License-Identifier: ISC
"""Functions that move elements: shapes, orders of axes, parts and joins. Views where NumPy has
views."""

from __future__ import annotations

import operator
from typing import Any, Sequence

from . import _core
from ._core import Array, calls, result_type
from ._lib import (INT64, arr, axes_of, axis_of, broadcast_shape, cast, constant, count_up, expand,
                   permuted, product, reshaped, shape_of, value_of)

__all__ = ["append", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays",
           "broadcast_shapes", "broadcast_to", "column_stack", "concat", "concatenate", "copy",
           "delete", "dsplit", "dstack", "expand_dims", "flip", "fliplr", "flipud", "hsplit",
           "hstack", "matrix_transpose", "moveaxis", "permute_dims", "ravel", "repeat",
           "reshape", "resize", "roll", "rot90", "split", "squeeze", "stack", "swapaxes", "tile",
           "transpose", "unstack", "vsplit", "vstack"]


def copy(x: Any, /) -> Array:
    """A new array with the elements of x."""
    return calls.copy(arr(x))


# ---- shapes


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that these broadcast to."""
    return broadcast_shape(*map(shape_of, shapes))


def broadcast_to(x: Any, /, shape: Any) -> Array:
    """A view of x, repeated to a shape."""
    x, shape = arr(x), shape_of(shape)
    if broadcast_shape(x.shape, shape) != shape:
        raise ValueError(f"broadcast_to: {x.shape} does not broadcast to {shape}")
    return expand(x, shape)


def broadcast_arrays(*arrays: Any) -> list[Array]:
    """Views of all operands in the shape that they broadcast to."""
    xs = [arr(x) for x in arrays]
    shape = broadcast_shape(*[x.shape for x in xs])
    return [expand(x, shape) for x in xs]


def _full_shape(shape: Any, size: int) -> tuple[int, ...]:
    shape = shape_of(shape)
    if -1 not in shape:
        return shape
    rest = product(n for n in shape if n != -1)
    if shape.count(-1) > 1 or rest == 0 or size % rest:
        raise ValueError(f"reshape: {size} elements do not go into the shape {shape}")
    return tuple(size // rest if n == -1 else n for n in shape)


def ordered(x: Array, order: str) -> Array:
    """x itself for C order, for F order its transpose, whose C order that is."""
    if order not in ("C", "F"):
        raise ValueError(f'order is {order!r}, and must be "C" or "F"')
    return x if order == "C" else x.T


def reshape(x: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Array:
    """The elements of x in C or F order in another shape, of which one extent may be -1. A view
    where that is possible; copy=True makes a copy, copy=False raises where there is no view."""
    x = arr(x)
    if order != "C":
        return reshape(ordered(x, order), shape_of(shape)[::-1], copy=copy).T
    if copy is None:
        return x.reshape(shape)
    shape = _full_shape(shape, x.size)
    if copy:
        return calls.reshape(calls.copy(x), shape, 0)
    return calls.reshape(x, shape, 0)


def ravel(x: Any, /, order: str = "C") -> Array:
    """All elements in C or F order along one axis."""
    x = ordered(arr(x), order)
    return reshaped(x, (x.size,))


def resize(x: Any, /, shape: Any) -> Array:
    """The elements of x in another shape: from the start again, or cut off."""
    x, shape = ravel(x), shape_of(shape)
    n = product(shape)
    if x.size == 0:
        return _core.full(shape, 0, x.dtype, x.device)
    x = tile(x, (-(-n // x.size),))
    return reshaped(calls.shrink(x, (0,), (n,)), shape)


def expand_dims(x: Any, /, axis: Any = 0) -> Array:
    """A view with new axes of extent 1."""
    x = arr(x)
    n = len(axis) if isinstance(axis, (tuple, list)) else 1
    axes = axes_of(axis, x.ndim + n)
    old = iter(x.shape)
    return calls.reshape(x, [1 if i in axes else next(old) for i in range(x.ndim + n)], 0)


def squeeze(x: Any, /, axis: Any = None) -> Array:
    """A view without these axes, which have extent 1; None: all of extent 1."""
    x = arr(x)
    if axis is None:
        axes = tuple(i for i, n in enumerate(x.shape) if n == 1)
    else:
        axes = axes_of(axis, x.ndim)
    for a in axes:
        if x.shape[a] != 1:
            raise ValueError(f"squeeze: axis {a} has extent {x.shape[a]}")
    return calls.reshape(x, [n for i, n in enumerate(x.shape) if i not in axes], 0)


def _atleast(xs: tuple, n: int) -> Any:
    ys = [x if x.ndim >= n else _raised(x, n) for x in map(arr, xs)]
    return ys[0] if len(ys) == 1 else tuple(ys)


def _raised(x: Array, n: int) -> Array:
    if n == 3 and x.ndim:
        return reshaped(x, (*((1,) if x.ndim == 1 else ()), *x.shape, 1))
    return reshaped(x, (1,) * (n - x.ndim) + x.shape)


def atleast_1d(*arrays: Any) -> Any:
    """Views of one dimension at least."""
    return _atleast(arrays, 1)


def atleast_2d(*arrays: Any) -> Any:
    """Views of two dimensions at least."""
    return _atleast(arrays, 2)


def atleast_3d(*arrays: Any) -> Any:
    """Views of three dimensions at least."""
    return _atleast(arrays, 3)


# ---- orders


def permute_dims(x: Any, /, axes: Sequence[int] | None = None) -> Array:
    """A view whose axis i is axis axes[i] of x; None: in reverse."""
    return transpose(x, axes)


def transpose(x: Any, /, axes: Any = None) -> Array:
    """A view with the axes in that order; None: in reverse."""
    x = arr(x)
    return calls.permute(x, tuple(range(x.ndim))[::-1] if axes is None else tuple(axes))


def matrix_transpose(x: Any, /) -> Array:
    """A view with the last two axes exchanged."""
    return arr(x).mT


def swapaxes(x: Any, axis1: int, axis2: int, /) -> Array:
    """A view with two axes exchanged."""
    x = arr(x)
    order = list(range(x.ndim))
    a, b = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    order[a], order[b] = b, a
    return permuted(x, order)


def moveaxis(x: Any, source: Any, destination: Any, /) -> Array:
    """A view with axes moved to other places; the others keep their order."""
    x = arr(x)
    source, destination = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    if len(source) != len(destination):
        raise ValueError("moveaxis: there are as many sources as destinations")
    rest = iter(i for i in range(x.ndim) if i not in source)
    places = dict(zip(destination, source))
    return permuted(x, [places[i] if i in places else next(rest) for i in range(x.ndim)])


def flip(x: Any, /, axis: Any = None) -> Array:
    """A view in reverse order along these axes; None: all."""
    x = arr(x)
    return calls.flip(x, axes_of(axis, x.ndim))


def flipud(x: Any, /) -> Array:
    """A view in reverse order along the first axis."""
    return flip(x, 0)


def fliplr(x: Any, /) -> Array:
    """A view in reverse order along the second axis."""
    return flip(x, 1)


def rot90(x: Any, /, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """A view turned by k quarters in the plane of two axes."""
    k %= 4
    if k == 0:
        return arr(x)
    if k == 2:
        return flip(x, axes)
    return swapaxes(flip(x, axes[1]), *axes) if k == 1 else flip(swapaxes(x, *axes), axes[1])


def _rolled(x: Array, shift: int, axis: int) -> Array:
    n = x.shape[axis]
    cut = -shift % n if n else 0
    if cut == 0:
        return x
    return calls.cat([_part(x, axis, cut, n), _part(x, axis, 0, cut)], axis)


def _part(x: Array, axis: int, start: int, stop: int) -> Array:
    low, high = [0] * x.ndim, list(x.shape)
    low[axis], high[axis] = start, stop
    return calls.shrink(x, low, high)


def roll(x: Any, /, shift: Any, axis: Any = None) -> Array:
    """Elements moved along axes by `shift` places, and in again at the other end."""
    x = arr(x)
    if axis is None:
        amount = sum(shift) if isinstance(shift, (tuple, list)) else operator.index(shift)
        return reshaped(calls.copy(_rolled(ravel(x), amount, 0)), x.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    axes = axes * len(shifts) if len(axes) == 1 else axes
    if len(shifts) != len(axes):
        raise ValueError("roll: there are as many shifts as axes")
    y = x
    for s, a in zip(shifts, axes):
        y = _rolled(y, operator.index(s), axis_of(a, x.ndim))
    return calls.copy(x) if y is x else y


# ---- joins and parts


def concat(arrays: Sequence[Any], /, axis: int | None = 0) -> Array:
    """Arrays one behind the other along an axis; None: all of their elements."""
    xs = [arr(x) for x in arrays]
    if not xs:
        raise ValueError("concat: there are no arrays")
    if axis is None:
        xs, axis = [ravel(x) for x in xs], 0
    dtype = result_type(*xs)
    return calls.cat([cast(x, dtype) for x in xs], axis_of(axis, xs[0].ndim))


concatenate = concat


def append(x: Any, values: Any, /, axis: int | None = None) -> Array:
    """concat of the two."""
    return concat([x, values], axis=axis)


def stack(arrays: Sequence[Any], /, axis: int = 0) -> Array:
    """Arrays of one shape along a new axis."""
    xs = [arr(x) for x in arrays]
    if not xs:
        raise ValueError("stack: there are no arrays")
    for x in xs:
        if x.shape != xs[0].shape:
            raise ValueError(f"stack: the shapes {xs[0].shape} and {x.shape} differ")
    axis = axis_of(axis, xs[0].ndim + 1)
    return concat([expand_dims(x, axis) for x in xs], axis=axis)


def unstack(x: Any, /, axis: int = 0) -> tuple[Array, ...]:
    """Views of the parts along an axis, without it."""
    x = arr(x)
    axis = axis_of(axis, x.ndim)
    return tuple(squeeze(_part(x, axis, i, i + 1), axis) for i in range(x.shape[axis]))


def vstack(arrays: Sequence[Any], /) -> Array:
    """Arrays, vectors as rows, along the first axis."""
    return concat([atleast_2d(x) for x in arrays])


def hstack(arrays: Sequence[Any], /) -> Array:
    """Arrays along the second axis, vectors along the first."""
    xs = [atleast_1d(x) for x in arrays]
    return concat(xs, axis=0 if xs and xs[0].ndim == 1 else 1)


def dstack(arrays: Sequence[Any], /) -> Array:
    """Arrays along the third axis."""
    return concat([atleast_3d(x) for x in arrays], axis=2)


def column_stack(arrays: Sequence[Any], /) -> Array:
    """Arrays, vectors as columns, along the second axis."""
    xs = [arr(x) for x in arrays]
    return concat([reshaped(x, (x.size, 1)) if x.ndim < 2 else x for x in xs], axis=1)


def _cuts(n: int, parts: Any, even: bool) -> list[int]:
    try:
        k = operator.index(parts)
    except TypeError:
        return [0, *[slice(None, operator.index(c)).indices(n)[1] for c in parts], n]
    if k <= 0 or (even and n % k):
        raise ValueError(f"split: {n} elements do not make {k} equal parts")
    return [i * (n // k) + min(i, n % k) for i in range(k + 1)]


def array_split(x: Any, parts: Any, /, axis: int = 0) -> list[Array]:
    """Views of a number of parts, of nearly equal extents, or of those between given places."""
    return _split(arr(x), parts, axis, False)


def split(x: Any, parts: Any, /, axis: int = 0) -> list[Array]:
    """Views of a number of equal parts, or of those between given places."""
    return _split(arr(x), parts, axis, True)


def _split(x: Array, parts: Any, axis: int, even: bool) -> list[Array]:
    axis = axis_of(axis, x.ndim)
    cuts = _cuts(x.shape[axis], parts, even)
    return [_part(x, axis, a, max(a, b)) for a, b in zip(cuts, cuts[1:])]


def vsplit(x: Any, parts: Any, /) -> list[Array]:
    """split along the first axis."""
    return split(x, parts, 0)


def hsplit(x: Any, parts: Any, /) -> list[Array]:
    """split along the second axis, of a vector along the first."""
    return split(x, parts, 0 if arr(x).ndim == 1 else 1)


def dsplit(x: Any, parts: Any, /) -> list[Array]:
    """split along the third axis."""
    return split(x, parts, 2)


def delete(x: Any, places: Any, /, axis: int | None = None) -> Array:
    """x without the elements at these places, numbers or a slice, along an axis."""
    x = arr(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of(axis, x.ndim)
    n = x.shape[axis]
    if isinstance(places, slice):
        gone = set(range(*places.indices(n)))
    else:
        listed = places.tolist() if hasattr(places, "tolist") else places
        listed = listed if isinstance(listed, (tuple, list)) else [listed]
        if any(isinstance(i, bool) for i in listed):
            if len(listed) != n or not all(isinstance(i, bool) for i in listed):
                raise ValueError(f"delete: a mask of {len(listed)} elements for an axis of {n}")
            listed = [i for i, out in enumerate(listed) if out]
        gone = {axis_of(i, n, "index") for i in listed}
    from ._searching import take

    return take(x, _core.array([i for i in range(n) if i not in gone], INT64, x.device),
                axis=axis)


# ---- repetition


def tile(x: Any, repetitions: Any, /) -> Array:
    """x repeated as a whole along each axis."""
    x, reps = arr(x), shape_of(repetitions)
    rank = max(x.ndim, len(reps))
    reps = (1,) * (rank - len(reps)) + reps
    shape = (1,) * (rank - x.ndim) + x.shape
    if all(r == 1 for r in reps):
        return calls.copy(reshaped(x, shape))
    if 2 * rank > 32:
        return _tiled(reshaped(x, shape), reps)
    between = [m for n in shape for m in (1, n)]
    wide = [m for r, n in zip(reps, shape) for m in (r, n)]
    y = expand(reshaped(x, between), wide)
    return reshaped(y, [r * n for r, n in zip(reps, shape)])


def _tiled(x: Array, reps: Sequence[int]) -> Array:
    for axis, r in enumerate(reps):
        x = concat([x] * r, axis=axis) if r else _part(x, axis, 0, 0)
    return x


def repeat(x: Any, repeats: Any, /, axis: int | None = None) -> Array:
    """Each element along an axis repeated, all of them as often, or each its own number of times,
    whose sum is read (an action) if it is an array."""
    x = arr(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of(axis, x.ndim)
    if isinstance(repeats, int):
        return _repeated(x, repeats, axis)
    counts = arr(repeats)
    if counts.size == 0 and isinstance(repeats, (tuple, list)):
        counts = cast(counts, INT64)
    if counts.dtype.kind not in "iu" or counts.ndim > 1:
        raise TypeError("repeat: the numbers of repetitions are integers of one dimension")
    counts = expand(cast(counts, INT64), (x.shape[axis],))
    ends = calls.associative_scan(counts, calls.SCAN_SUM, 0)
    if isinstance(repeats, (tuple, list)):
        total = sum(repeats) * (x.shape[axis] if len(repeats) == 1 else 1)
        negative = min(repeats, default=0) < 0
    else:
        found = calls.reduce_sum(counts, None, 0)
        found = calls.where(calls.reduce_max(counts < 0, None, 0), constant(-1, INT64), found)
        total = value_of(found, "repeat")
        negative = total < 0
    if negative:
        raise ValueError("repeat: a number of repetitions is negative")
    places = calls.searchsorted(ends, count_up(total, ends), None,
                                calls.AFTER_EQUAL, INT64)
    from ._searching import take

    return take(x, places, axis=axis)


def _repeated(x: Array, n: int, axis: int) -> Array:
    if n < 0:
        raise ValueError(f"repeat: {n} is not a number of repetitions")
    shape = x.shape
    y = reshaped(x, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
    y = expand(y, (*shape[: axis + 1], n, *shape[axis + 1 :]))
    y = reshaped(y, (*shape[:axis], shape[axis] * n, *shape[axis + 1 :]))
    return calls.copy(y) if n == 1 else y
