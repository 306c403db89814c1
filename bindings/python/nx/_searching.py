# SPDX-License-Identifier: ISC
"""Functions that take, search, sort and count elements, and functions of sets."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from . import _core
from ._core import Array, calls, result_type
from ._lib import (BOOL, FLOAT64, INT64, KEEPDIMS, UINT64, arr, axes_of, axis_of, broadcast_shape,
                   cast, constant, count_true, count_up, expand, named, operands, permuted, product,
                   promoted, reshaped, shape_of)

__all__ = ["argmax", "argmin", "argsort", "argwhere", "bincount", "compress", "count_nonzero",
           "digitize", "extract", "flatnonzero", "isin", "nonzero", "one_hot",
           "searchsorted", "sort", "take", "take_along_axis", "top_k", "unique", "unique_all",
           "unique_counts", "unique_inverse", "unique_values", "unravel_index", "where"]


# ---- elements by number


def index_array(x: Any) -> Array:
    """Indices in a dtype that a gather takes."""
    x = arr(x)
    if x.dtype.name in ("int64", "int32"):
        return x
    if x.dtype.kind not in "iu":
        raise IndexError(f"an index must be an integer, not {x.dtype.name}")
    if x.dtype is UINT64:  # what int64 has not is out of range, and does not count from the end
        x = calls.min(x, constant(2**63 - 1, UINT64))
    return calls.cast(x, INT64)


def places_on(indices: Any, x: Array, axis: int) -> Array:
    """Indices of elements on an axis of x, in a dtype that a gather takes. Those whose values are
    there are checked; what becomes an array goes to the device of x."""
    y = arr(indices)
    if y.dtype.kind in "iu":
        _core.check_index(y, x.shape[axis], axis, y is indices)
    if y is not indices and y.device != x.device:
        y = y.to_device(x.device)
    return index_array(y)


def rows(x: Array, places: Array, axis: int) -> Array:
    """Slices of x at these places, of one dimension, along an axis."""
    n = places.shape[0]
    line = [1] * x.ndim
    line[axis] = n
    shape = list(x.shape)
    shape[axis] = n
    return calls.gather(x, expand(reshaped(places, line), shape), axis)


def take(x: Any, indices: Any, /, axis: int | None = None) -> Array:
    """Elements, or slices along an axis, by their numbers, which may have any shape. Negative ones
    count from the end. axis None: of all elements in C order."""
    x = arr(x)
    if axis is None:
        x, axis = reshaped(x, (x.size,)), 0
    axis = axis_of(axis, x.ndim)
    indices = places_on(indices, x, axis)
    y = rows(x, reshaped(indices, (indices.size,)), axis)
    return reshaped(y, x.shape[:axis] + indices.shape + x.shape[axis + 1 :])


def take_along_axis(x: Any, indices: Any, /, axis: int = -1) -> Array:
    """Of each line along an axis the elements that the same line of indices names."""
    x = arr(x)
    axis = axis_of(axis, x.ndim)
    indices = places_on(indices, x, axis)
    if x.ndim != indices.ndim:
        raise ValueError(f"take_along_axis: {x.ndim} dimensions, and indices of {indices.ndim}")
    shapes = [[1 if i == axis else n for i, n in enumerate(a.shape)] for a in (x, indices)]
    common = broadcast_shape(*shapes)

    def wide(a: Array) -> Array:
        return expand(a, [a.shape[i] if i == axis else n for i, n in enumerate(common)])

    return calls.gather(wide(x), wide(indices), axis)


def compress(condition: Any, x: Any, /, axis: int | None = None) -> Array:
    """The slices along an axis for which the condition, of one dimension, is true."""
    condition = arr(condition)
    if condition.ndim != 1:
        raise ValueError(f"compress: a condition of {condition.ndim} dimensions, not of one")
    return take(arr(x), nonzero(condition)[0], axis=axis)


def extract(condition: Any, x: Any, /) -> Array:
    """The elements for which the condition is true, in C order."""
    return take(x, flatnonzero(condition))


def unravel_index(indices: Any, shape: Any, /) -> tuple[Array, ...]:
    """The coordinates of elements in an array of that shape by their numbers in C order, which are
    checked when the result is computed."""
    shape = shape_of(shape)
    flat, n = index_array(indices), product(shape)
    flat = calls.where(flat < 0, constant(n, flat.dtype), flat)
    y = calls.gather(count_up(n, flat, flat.dtype), reshaped(flat, (flat.size,)), 0)
    return unraveled(reshaped(y, flat.shape), shape)


def unraveled(flat: Array, shape: Sequence[int]) -> tuple[Array, ...]:
    """unravel_index without a check: too large a number is too large in the first axis."""
    found = []
    for n in reversed(shape[1:]):
        n = max(n, 1)
        found.append(flat % n)
        flat = flat // n
    return (flat, *reversed(found)) if len(shape) else ()


# ---- where


def where(condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    """Of x1 where the condition is true, else of x2. With the condition alone as nonzero."""
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError("where: both x1 and x2 are given, or none")
    if type(x1) is Array and type(x2) is Array and x1.dtype is x2.dtype:
        return calls.where(cast(arr(condition), BOOL), x1, x2)
    x1, x2 = operands(x1, x2)
    dtype = result_type(x1, x2)
    return calls.where(cast(arr(condition), BOOL), cast(x1, dtype), cast(x2, dtype))


def flatnonzero(x: Any, /) -> Array:
    """The numbers, in C order, of the elements that are not 0. Their count is read (an action)."""
    mask = cast(arr(x), BOOL)
    return calls.true_indices(mask, count_true(mask, "flatnonzero"))


def nonzero(x: Any, /) -> tuple[Array, ...]:
    """The coordinates of the elements that are not 0, in C order: an array for each axis. Their
    count is read (an action)."""
    x = arr(x)
    if x.ndim == 0:
        raise ValueError("nonzero: an array of 0 dimensions has no coordinates")
    flat = flatnonzero(x)
    return unraveled(flat, x.shape)


def argwhere(x: Any, /) -> Array:
    """The coordinates that nonzero gives, as rows of a matrix."""
    from ._manipulation import stack

    x = arr(x)
    if x.ndim == 0:
        return _core.empty((1 if bool(x) else 0, 0), INT64)
    return stack(nonzero(x), axis=1)


def count_nonzero(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Array:
    """How many elements along the axes are not 0."""
    x = arr(x)
    ones = cast(cast(x, BOOL), INT64)
    return calls.reduce_sum(ones, axes_of(axis, x.ndim), KEEPDIMS * keepdims)


def _argument(name: str, sentence: str) -> Any:
    call = getattr(calls, f"reduce_{name}")

    def function(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
        x = arr(x)
        if axis is None:
            y = call(reshaped(x, (x.size,)), 0, 0, INT64)
            return reshaped(y, (1,) * x.ndim) if keepdims else y
        return call(x, axis_of(axis, x.ndim), KEEPDIMS * keepdims, INT64)

    return named(function, name, sentence)


argmax = _argument("argmax", "The place of the largest element along an axis, the first of equals.")
argmin = _argument("argmin", "The place of the least element along an axis, the first of equals.")


def searchsorted(x1: Any, x2: Any, /, side: str = "left", sorter: Any = None) -> Array:
    """Where the elements of x2 would have to stand in x1, which is sorted or is so in the order
    of sorter, before ("left") or behind ("right") those that are equal."""
    if side not in ("left", "right"):
        raise ValueError(f'searchsorted: side is {side!r}, and must be "left" or "right"')
    x1, x2 = promoted(arr(x1), x2)
    if x1.ndim != 1:
        raise ValueError(f"searchsorted: the sorted array has {x1.ndim} dimensions, and must be 1")
    sorter = None if sorter is None else index_array(sorter)
    return calls.searchsorted(x1, x2, sorter, calls.AFTER_EQUAL * (side == "right"), INT64)


def digitize(x: Any, bins: Any, /, right: bool = False) -> Array:
    """In which of the intervals between bins, which rise or fall, the elements lie. Which of both
    is read (an action)."""
    bins = arr(bins)
    if bins.ndim != 1:
        raise ValueError(f"digitize: bins of {bins.ndim} dimensions, not of one")
    n = bins.size
    if n > 1 and _falls(bins):
        return n - searchsorted(calls.flip(bins, (0,)), x, side="left" if right else "right")
    return searchsorted(bins, x, side="left" if right else "right")


def _falls(bins: Array) -> bool:
    """Whether bins fall; ValueError if they neither rise nor fall. Within a captured function,
    where nothing can be read, they are taken to rise."""
    a, b = bins[:-1], bins[1:]
    try:
        up, down = stacked([calls.reduce_min(c, None, 0) for c in (a <= b, a >= b)]).tolist()
    except _core.Unbound:
        return False
    if not up and not down:
        raise ValueError("digitize: the bins neither rise nor fall")
    return not up


def stacked(xs: Sequence[Array]) -> Array:
    """Arrays of rank 0 as a vector."""
    return calls.cat([reshaped(x, (1,)) for x in xs], 0)


# ---- order


_SORTS = (None, "quicksort", "heapsort", "mergesort", "stable")


def _sorting(x: Any, axis: Any, kind: Any) -> tuple[Array, int]:
    x = arr(x)
    if kind not in _SORTS:
        raise ValueError(f"sort: there is no kind {kind!r}")
    if axis is None:
        return reshaped(x, (x.size,)), 0
    return x, axis_of(axis, x.ndim)


def sort(x: Any, /, axis: int | None = -1, kind: str | None = None, *, descending: bool = False,
         stable: bool = True) -> Array:
    """The elements of each line in order. Sorting is always stable, whatever kind is asked for; NaN
    comes last."""
    x, axis = _sorting(x, axis, kind)
    return calls.sort(x, axis, calls.DESCENDING * descending)


def argsort(x: Any, /, axis: int | None = -1, kind: str | None = None, *,
            descending: bool = False, stable: bool = True) -> Array:
    """The places that sort takes its elements from; an array without axes is one of one element."""
    x = arr(x)
    x, axis = _sorting(reshaped(x, (1,)) if x.ndim == 0 else x, axis, kind)
    return calls.argsort(x, axis, calls.DESCENDING * descending, INT64)


def top_k(x: Any, k: int, /, axis: int = -1, *, largest: bool = True) -> tuple[Array, Array]:
    """The k largest elements of each line in descending order, or the least in ascending order,
    and their places."""
    return calls.top_k(arr(x), k, axis, 0 if largest else calls.SMALLEST, INT64)


# ---- sets


class unique_all_result(NamedTuple):
    """What unique_all gives."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class unique_counts_result(NamedTuple):
    """What unique_counts gives."""

    values: Array
    counts: Array


class unique_inverse_result(NamedTuple):
    """What unique_inverse gives."""

    values: Array
    inverse_indices: Array


class _Groups:
    """The elements of an array in order, in groups of equal ones. Their number is read."""

    def __init__(self, x: Any, what: str, equal_nan: bool = False) -> None:
        x = arr(x)
        self.shape, self.n = x.shape, x.size
        x = reshaped(x, (x.size,))
        self.order = calls.argsort(x, 0, 0, INT64)
        self.sorted = rows(x, self.order, 0)
        self.begins = self._begins(equal_nan)
        starts = calls.true_indices(self.begins, count_true(self.begins, what))
        self.starts = starts

    def _begins(self, equal_nan: bool) -> Array:
        s = self.sorted
        if self.n == 0:
            return _core.empty((0,), BOOL, s.device)
        a, b = calls.shrink(s, (1,), (self.n,)), calls.shrink(s, (0,), (self.n - 1,))
        differ = calls.cmpne(a, b)
        if equal_nan and s.dtype.kind in "fc":
            both = getattr(calls, "and")(calls.isnan(a), calls.isnan(b))
            differ = getattr(calls, "and")(differ, getattr(calls, "not")(both))
        return calls.pad(differ, (1,), (0,), True)

    def values(self) -> Array:
        return rows(self.sorted, self.starts, 0)

    def indices(self) -> Array:
        return rows(self.order, self.starts, 0)

    def counts(self) -> Array:
        k = self.starts.shape[0]
        if k == 0:
            return self.starts
        ends = calls.pad(calls.shrink(self.starts, (1,), (k,)), (0,), (1,), self.n)
        return ends - self.starts

    def inverse(self) -> Array:
        numbers = calls.associative_scan(cast(self.begins, INT64), calls.SCAN_SUM, 0) - 1
        zeros = _core.full((self.n,), 0, INT64, numbers.device)
        y = calls.scatter(zeros, self.order, numbers, 0, calls.SCATTER_SET, calls.UNIQUE_INDICES)
        return reshaped(y, self.shape)


class _Slices(_Groups):
    """The slices of an array along an axis, in lexical order, in groups of equal ones."""

    def __init__(self, x: Array, axis: int) -> None:
        others = [i for i in range(x.ndim) if i != axis]
        lines = reshaped(permuted(x, [axis, *others]),
                         (x.shape[axis], product(x.shape[i] for i in others)))
        self.n = lines.shape[0]
        self.shape: tuple[int, ...] = (self.n,)
        self.order = count_up(self.n, x)
        for i in reversed(range(lines.shape[1])):
            keys = rows(lines[:, i], self.order, 0)
            self.order = rows(self.order, calls.argsort(keys, 0, 0, INT64), 0)
        self.sorted = rows(lines, self.order, 0)
        a, b = self.sorted[1:], self.sorted[:-1]
        if self.n == 0:
            self.begins = _core.empty((0,), BOOL, x.device)
        elif lines.shape[1] == 0:
            self.begins = calls.pad(_core.full((self.n - 1,), False, BOOL, x.device), (1,), (0,),
                                    True)
        else:
            self.begins = calls.pad(calls.reduce_max(calls.cmpne(a, b), (1,), 0), (1,), (0,), True)
        self.starts = calls.true_indices(self.begins, count_true(self.begins, "unique"))


def unique_values(x: Any, /) -> Array:
    """Each value of x once, in order; every NaN counts as another value."""
    return _Groups(x, "unique_values").values()


def unique_counts(x: Any, /) -> unique_counts_result:
    """unique_values, and how often each one occurs."""
    groups = _Groups(x, "unique_counts")
    return unique_counts_result(groups.values(), groups.counts())


def unique_inverse(x: Any, /) -> unique_inverse_result:
    """unique_values, and for each element of x which of them it is."""
    groups = _Groups(x, "unique_inverse")
    return unique_inverse_result(groups.values(), groups.inverse())


def unique_all(x: Any, /) -> unique_all_result:
    """unique_values, where each first occurs, which each element of x is, how often each occurs."""
    g = _Groups(x, "unique_all")
    return unique_all_result(g.values(), g.indices(), g.inverse(), g.counts())


def unique(x: Any, /, return_index: bool = False, return_inverse: bool = False,
           return_counts: bool = False, axis: int | None = None, *,
           equal_nan: bool = True) -> Any:
    """NumPy's unique of all elements, or of the slices along an axis: NaNs are one value unless
    equal_nan is False; slices with NaN are all different, except the elements of a vector."""
    x = arr(x)
    if axis is None or axis_of(axis, x.ndim) == 0 and x.ndim == 1:
        g = _Groups(x, "unique", equal_nan)
        found = [g.values()]
    else:
        g = _Slices(x, axis_of(axis, x.ndim))
        found = [take(x, g.indices(), axis)]
    found += [g.indices()] if return_index else []
    found += [g.inverse()] if return_inverse else []
    found += [g.counts()] if return_counts else []
    return found[0] if len(found) == 1 else tuple(found)


def isin(x: Any, values: Any, /, *, invert: bool = False) -> Array:
    """Which elements of x are among the values."""
    x, values = promoted(x, values)
    values = reshaped(values, (values.size,))
    if values.size == 0:
        return _core.full(x.shape, invert, BOOL, x.device)
    if values.size <= 16 or x.dtype.kind == "c":
        wide = reshaped(x, (*x.shape, 1))
        y = calls.reduce_max(calls.cmpeq(wide, values), (-1,), 0)
    else:
        values = calls.sort(values, 0, 0)
        places = calls.searchsorted(values, x, None, 0, INT64)
        y = calls.cmpeq(calls.gather_clamped(values, reshaped(places, (x.size,)), 0),
                        reshaped(x, (x.size,)))
        y = reshaped(y, x.shape)
    return getattr(calls, "not")(y) if invert else y


# ---- counts


def one_hot(indices: Any, n: int, /, dtype: Any = None) -> Array:
    """1 at the index along a new last axis of n elements, else 0."""
    indices = arr(indices)
    return calls.one_hot(indices, n, FLOAT64 if dtype is None else _core.dtype(dtype))


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Array:
    """How often each of 0, 1, .. occurs, or the sum of its weights. The largest is read (an
    action)."""
    x = arr(x)
    if x.dtype.kind not in "biu":
        raise TypeError(f"bincount: {x.dtype.name} are no integers")
    x = index_array(cast(x, INT64) if x.dtype is BOOL else x)
    if x.ndim != 1:
        raise ValueError(f"bincount: {x.ndim} dimensions, and must be 1")
    if minlength < 0:
        raise ValueError(f"bincount: minlength is {minlength}, below 0")
    n = minlength
    if x.size:
        ends = calls.cat([reshaped(c(x, (0,), KEEPDIMS), (1,))
                          for c in (calls.reduce_min, calls.reduce_max)], 0).tolist()
        if ends[0] < 0:
            raise ValueError(f"bincount: {ends[0]} is negative")
        n = max(n, ends[1] + 1)
    if weights is None:
        weights = _core.full(x.shape, 1, INT64, x.device)
    else:
        weights = arr(weights)
        if weights.dtype.kind == "c":
            raise TypeError("bincount: weights are real")
        weights = cast(weights, FLOAT64)
    if weights.shape != x.shape:
        raise ValueError(f"bincount: {x.shape} numbers and {weights.shape} weights")
    zeros = _core.full((n,), 0, weights.dtype, x.device)
    return calls.scatter(zeros, x, weights, 0, calls.SCATTER_ADD, 0) if x.size else zeros
