# SPDX-License-Identifier: ISC
"""Places of elements: their numbers and coordinates, and functions that assign to some."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from . import _core
from ._core import Array, calls
from ._creation import arange, ones, tri
from ._lib import arr, axis_of, cast, count_up, expand, reshaped, shape_of, within
from ._manipulation import broadcast_to, concat, moveaxis, ravel
from ._searching import index_array, nonzero, places_on, rows

__all__ = ["copyto", "diag_indices", "diag_indices_from", "fill_diagonal", "insert", "ix_",
           "mask_indices", "place", "put", "put_along_axis", "putmask", "ravel_multi_index",
           "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from"]


# ---- assignment


def _written(x: Any, what: str) -> Array:
    """x, which is an array already: what is assigned to anything else would be lost."""
    if type(x) is not Array:
        raise TypeError(f"{what}: an Array is assigned to, not {type(x).__name__}")
    return x


def _beside(values: Any, x: Array) -> Array:
    """Values as an array; those that are none yet on the device of x."""
    return values if type(values) is Array else _core.array(values, None, x.device)


_CASTINGS = ("same_kind", "safe", "equiv", "no", "unsafe")
_KINDS = {bool: "b", int: "i", float: "f", complex: "c"}


def copyto(x: Array, source: Any, /, casting: str = "same_kind", where: Any = True) -> None:
    """Assigns source, broadcast, where a mask is true. Floats do not go into integers, unless
    casting is "unsafe"."""
    _written(x, "copyto")
    if casting not in _CASTINGS:
        raise ValueError(f"copyto: there is no casting {casting!r}")
    if type(source) not in (bool, int, float, complex):
        source = arr(source)
    kind = source.dtype.kind if type(source) is Array else _KINDS[type(source)]
    if casting != "unsafe" and "buifc".index(kind) > "buifc".index(x.dtype.kind) and (
            type(source) is Array or kind != "i" or x.dtype.kind == "b"):
        raise TypeError(f"copyto: what is of the kind {kind!r} does not go into {x.dtype.name}; "
                        'casting="unsafe" cuts it')
    if where is True:
        x[...] = source
    else:
        putmask(x, broadcast_to(where, x.shape), broadcast_to(source, x.shape))


def putmask(x: Array, mask: Any, values: Any, /) -> None:
    """Assigns values where a mask is true, each from its own place, from the start again if there
    are fewer, and nothing if there are none."""
    _written(x, "putmask")
    from ._manipulation import resize

    values = arr(values)
    if values.size == 0:
        return
    values = resize(values, x.shape) if values.shape != x.shape else values
    x[...] = calls.where(cast(arr(mask), _core.dtypes["bool"]), cast(values, x.dtype), x)


def place(x: Array, mask: Any, values: Any, /) -> None:
    """Assigns values, one after the other, where a mask is true."""
    _written(x, "place")
    from ._manipulation import resize
    from ._searching import flatnonzero

    places, values = flatnonzero(mask), _beside(values, x)
    if values.size == 0 and places.size:
        raise ValueError(f"place: no values for {places.size} elements")
    put(x, places, resize(values, places.shape))


def put(x: Array, places: Any, values: Any, /) -> None:
    """Assigns values to elements by their numbers in C order; nothing if there are none."""
    _written(x, "put")
    from ._manipulation import resize

    flat, values = ravel(x), _beside(values, x)
    places = ravel(places_on(places, flat, 0))
    if values.size == 0:
        return
    if flat.size == 0 and places.size:
        raise IndexError("put: the array has no elements")
    values = cast(resize(values, places.shape), x.dtype)
    y = calls.scatter(flat, places, values, 0, calls.SCATTER_SET, 0)
    x[...] = reshaped(y, x.shape)


def put_along_axis(x: Array, places: Any, values: Any, /, axis: int) -> None:
    """Assigns values to the elements that take_along_axis would read."""
    _written(x, "put_along_axis")
    axis = axis_of(axis, x.ndim)
    places = places_on(places, x, axis)
    common = [places.shape[i] if i == axis else n for i, n in enumerate(x.shape)]
    values = expand(cast(_beside(values, x), x.dtype), common)
    x[...] = calls.scatter(x, expand(places, common), values, axis, calls.SCATTER_SET, 0)


def fill_diagonal(x: Array, value: Any, /, wrap: bool = False) -> None:
    """Assigns to the elements whose indices are equal, of several values one after the other. wrap:
    of a matrix with more rows than columns the diagonal begins anew, after a row."""
    from ._manipulation import resize

    _written(x, "fill_diagonal")
    if x.ndim < 2 or x.ndim > 2 and len(set(x.shape)) != 1:
        raise ValueError(f"fill_diagonal: {x.shape} is no matrix, and has axes that differ")
    if x.ndim > 2 or not wrap or x.shape[0] <= x.shape[1]:
        n = min(x.shape)
        key: tuple = (arange(n),) * x.ndim
    else:
        n = -(-x.size // (x.shape[1] + 1)) if x.shape[1] else 0
        flat = arange(n) * (x.shape[1] + 1)
        key = (flat // max(x.shape[1], 1), flat % max(x.shape[1], 1))
    x[key] = resize(value, (n,)) if n else value


def insert(x: Any, at: Any, values: Any, /, axis: int | None = None) -> Array:
    """x with values before the elements `at` of an axis: before one all values, before several
    (a list, a slice, a mask) each its own."""
    x = arr(x)
    x, axis = (ravel(x), 0) if axis is None else (x, axis_of(axis, x.ndim))
    n = x.shape[axis]
    places, single = _places(at, n)
    values = cast(arr(values), x.dtype)
    values = reshaped(values, (1,) * (x.ndim - values.ndim) + values.shape)
    if len(places) == 1:
        values = moveaxis(values, 0, axis) if single else values
        places = places * values.shape[axis]
    values = broadcast_to(values, [len(places) if i == axis else m for i, m in enumerate(x.shape)])
    # Of what stands behind each other the numbers of the elements to come, each before its place.
    ranked = sorted(range(len(places)), key=lambda i: places[i])
    order, done = [], 0
    for i in ranked:
        order += [*range(done, places[i]), n + i]
        done = places[i]
    order += range(done, n)
    return rows(concat([x, values], axis=axis), arr(order), axis) if order else x


def _places(at: Any, n: int) -> tuple[list[int], bool]:
    """A number, or several, from 0 to n; whether it is one that is no list."""
    if isinstance(at, slice):
        found, single = list(range(*at.indices(n))), False
    else:
        a = arr(at)
        if a.dtype.kind == "b":
            a = nonzero(a)[0]
        elif a.size and a.dtype.kind not in "iu":
            raise IndexError(f"insert: a place is an integer, not {a.dtype.name}")
        if a.ndim > 1:
            raise ValueError("insert: places have one dimension, or none")
        single = a.ndim == 0
        found = [int(a)] if single else [int(i) for i in a.tolist()]
    for i in found:
        if not -n <= i <= n:
            raise IndexError(f"insert: {i} is no place on an axis of {n} elements")
    return [i + n if i < 0 else i for i in found], single


# ---- numbers of elements


def ravel_multi_index(indices: Sequence[Any], shape: Any, /, mode: Any = "raise",
                      order: str = "C") -> Array:
    """Numbers in C or F order of elements by their coordinates. They are checked when the result is
    computed, or brought into the axis: mode "wrap" or "clip", of each axis if there are several."""
    extents = shape_of(shape)
    modes = mode if isinstance(mode, (tuple, list)) else [mode] * len(extents)
    if len(indices) != len(extents) or len(modes) != len(extents):
        raise ValueError(f"ravel_multi_index: {len(indices)} coordinates for {len(extents)} axes")
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index: order is {order!r}, and must be \"C\" or \"F\"")
    flat: Any = None
    for x, n, m in list(zip(indices, extents, modes))[:: 1 if order == "C" else -1]:
        x = _within(index_array(x), n, m)
        flat = x if flat is None else flat * n + x
    return arr(0 if flat is None else flat)


def _within(x: Array, n: int, mode: str) -> Array:
    x = within("ravel_multi_index", x, n, mode)
    if mode != "raise":
        return x
    y = calls.gather(count_up(n, x, x.dtype), reshaped(x, (x.size,)), 0)
    return reshaped(y, x.shape)


def tril_indices(n: int, /, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """The coordinates of a lower triangle."""
    return nonzero(tri(n, m, k))


def triu_indices(n: int, /, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """The coordinates of an upper triangle."""
    return nonzero(tri(n, m, k - 1) == 0)


def tril_indices_from(x: Any, /, k: int = 0) -> tuple[Array, ...]:
    """The coordinates of the lower triangle of a matrix."""
    rows, columns = _matrix_shape(x, "tril_indices_from")
    return tril_indices(rows, k, columns)


def triu_indices_from(x: Any, /, k: int = 0) -> tuple[Array, ...]:
    """The coordinates of the upper triangle of a matrix."""
    rows, columns = _matrix_shape(x, "triu_indices_from")
    return triu_indices(rows, k, columns)


def _matrix_shape(x: Any, what: str) -> tuple[int, ...]:
    found = arr(x).shape
    if len(found) != 2:
        raise ValueError(f"{what}: an array of {len(found)} dimensions is no matrix")
    return found


def diag_indices_from(x: Any, /) -> tuple[Array, ...]:
    """The coordinates of the diagonal of an array whose axes are equally long."""
    found = arr(x).shape
    if len(found) < 2 or len(set(found)) != 1:
        raise ValueError(f"diag_indices_from: {found} are not two or more equal axes")
    return diag_indices(found[0], len(found))


def mask_indices(n: int, mask_func: Callable, /, k: Any = 0) -> tuple[Array, ...]:
    """The coordinates of what a function such as triu leaves of a square of ones."""
    return nonzero(arr(mask_func(ones((n, n), "int64"), k)) != 0)


def diag_indices(n: int, /, ndim: int = 2) -> tuple[Array, ...]:
    """The coordinates of a diagonal."""
    return (arange(n),) * ndim


def ix_(*lists: Any) -> tuple[Array, ...]:
    """Lists of indices as a key for all their combinations."""
    n = len(lists)
    xs = [arr(x) for x in lists]
    xs = [nonzero(x)[0] if x.dtype.kind == "b" else index_array(x) for x in xs]
    return tuple(reshaped(x, (1,) * i + (x.size,) + (1,) * (n - i - 1)) for i, x in enumerate(xs))
