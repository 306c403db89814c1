# SPDX-License-Identifier: ISC
"""x[key] and x[key] = value where the key has arrays: integers, masks, or both beside slices.

The extension does numbers, slices, None and an ellipsis by itself, as views. Here the rest is split
in such a basic key, which gives a view, and arrays of integers for some of its axes: reading is a
gather, and assigning a scatter that is assigned to the view. Masks become the coordinates of what
is true, of which the count has to be read; but a mask alone with a value that broadcasts needs no
count, since that is a choice of each element. In a captured function, where nothing can be read,
the value of an assignment, or the indices beside the mask, say how many there have to be; that
there are as many is checked at each call. Indices whose values are there are checked at once, so
that nothing is recorded of an assignment to elements that do not exist; others when the result is
computed.
"""

from __future__ import annotations

import operator
from typing import Any

from . import _core
from ._core import Array, calls
from ._lib import (BOOL, INT64, array, broadcast_shape, cast, constant, count_true, count_up,
                   expand, permuted, product, reshaped, value_of)
from ._searching import index_array, rows, take, unraveled


# What needs a count, for the error of captured functions.
_MASK = "an index that is a mask, where nx.where(mask, y, x) would do without a count"


class _Numbers:
    """An entry of a key that is an array of integers; `new` if it stands on an axis that is made
    for it, which a bool does."""

    def __init__(self, x: Array, new: bool = False) -> None:
        self.x, self.new = x, new


def _is_basic(entry: Any) -> bool:
    return entry is None or entry is Ellipsis or isinstance(entry, slice)


def _entry(entry: Any) -> Any:
    """An entry as a slice, None, the ellipsis, an int, or an array; in memory of the host, if it is
    made here."""
    if _is_basic(entry) or type(entry) is Array:
        return entry
    if isinstance(entry, bool):
        return constant(entry, BOOL)
    if isinstance(entry, (list, tuple)):
        x = array(entry)
        return calls.cast(x, INT64) if x.size == 0 and x.dtype is not BOOL else x
    scalar = not hasattr(entry, "__len__")  # of NumPy's; arrays have it, also those without axes
    if scalar and getattr(getattr(entry, "dtype", None), "kind", "") != "b":
        try:
            return operator.index(entry)
        except TypeError:
            pass
    if not hasattr(entry, "shape"):
        raise IndexError(f"an index is an integer, a slice, None, an ellipsis or an array, not "
                         f"{type(entry).__name__}")
    return array(entry)


def _axes_taken(entry: Any) -> int:
    if entry is None or entry is Ellipsis:
        return 0
    if type(entry) is Array and entry.dtype is BOOL:
        return entry.ndim
    return 1


def _expanded(x: Array, key: Any) -> list:
    """The entries of a key, with slices for the ellipsis and for the axes that are not named."""
    given = key if isinstance(key, tuple) else (key,)
    entries = [_entry(e) for e in given]
    taken = sum(_axes_taken(e) for e in entries)
    if taken > x.ndim:
        raise IndexError(f"{taken} indices for an array of {x.ndim} dimensions")
    dots = [i for i, e in enumerate(entries) if e is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index has one ellipsis at most")
    at = dots[0] if dots else len(entries)
    hidden: list = [slice(None)] * (x.ndim - taken)
    _check_known(x, given, entries, len(hidden))
    device = x.device
    entries = [e.to_device(device) if type(e) is Array and e is not key and e.device != device
               else e for e, key in zip(entries, given)]
    if dots and not hidden:
        hidden = [Ellipsis]  # it stands between arrays, though for no axis
    return entries[:at] + hidden + entries[at + len(dots):]


def _check_known(x: Array, given: tuple, entries: list, hidden: int) -> None:
    """IndexError if indices whose values are there are no places on their axes. Those that are
    broadcast to nothing name none, as in NumPy."""
    if any(type(e) is Array and e.size == 0 for e in entries):
        return
    axis = 0
    for key, e in zip(given, entries):
        if type(e) is Array and e.dtype is not BOOL:
            _core.check_index(e, x.shape[axis], axis, e is key)
        axis += hidden if e is Ellipsis else _axes_taken(e)


def _makes_axis(entry: Any) -> bool:
    """Whether an entry that is no array becomes an axis of the result."""
    return not isinstance(entry, int) and entry is not Ellipsis


def _masks_as_numbers(x: Array, entries: list, value: Array | None = None) -> list:
    """The entries with coordinates in place of masks."""
    counted = _Count(entries, value)
    found, axis = [], 0
    for e in entries:
        if type(e) is not Array or e.dtype is not BOOL:
            found.append(_Numbers(index_array(e)) if type(e) is Array else e)
        elif e.ndim == 0:
            n = 1 if value_of(cast(e, INT64), "an index that is a bool") else 0
            found.append(_Numbers(_core.full((n,), 0, INT64, x.device), new=True))
        else:
            _check_mask(x, e, axis)
            found.extend(_Numbers(c) for c in _coordinates(e, counted))
        axis += _axes_taken(e)
    return found


class _Count:
    """How many elements of a mask are true: read where that is possible, else as many as the other
    arrays of the key have in their last axis, or the value that is assigned has in the axis that
    the arrays' last one becomes. 1 says nothing, since it broadcasts; nor does 0, as indices that
    are not there cannot be checked."""

    def __init__(self, entries: list, value: Array | None) -> None:
        self.entries, self.value = entries, value

    def of(self, mask: Array) -> tuple[int, bool]:
        """The count, and whether it was read."""
        try:
            return count_true(mask, _MASK), True
        except _core.Unbound:
            n = self._said()
            if n < 2:
                raise
            return n, False

    def _said(self) -> int:
        others = [e for e in self.entries if type(e) is Array and e.dtype is not BOOL]
        shape = broadcast_shape((1,), *[e.shape for e in others])
        if shape[-1] != 1 or self.value is None:
            return shape[-1]
        return _extent(self.value, _after_arrays(self.entries))


def _after_arrays(entries: list) -> int:
    """How many axes the result has behind those of the arrays."""
    kinds, axis = [], 0
    for e in entries:
        advanced = type(e) is Array or isinstance(e, int)
        kinds.append((advanced, axis))
        axis += not advanced and _makes_axis(e)
    return axis - _place(kinds)


def _extent(value: Array, after: int) -> int:
    """The extent of the axis of value that has so many behind it; 1 if there is none."""
    return value.shape[value.ndim - after - 1] if value.ndim > after else 1


def _coordinates(mask: Array, counted: _Count) -> tuple[Array, ...]:
    n, read = counted.of(mask)
    return unraveled(calls.true_indices(mask, n) if read else _just(mask, n), mask.shape)


def _just(mask: Array, n: int) -> Array:
    """The numbers of the n elements that are true. If there are not just n, they are out of range,
    which the check of indices finds."""
    count = calls.reduce_sum(calls.cast(mask, INT64), None, 0)
    return calls.where(count == n, calls.true_indices(mask, n), constant(mask.size, INT64))


def _check_mask(x: Array, mask: Array, axis: int) -> None:
    """An extent of the mask may also be 0, as in NumPy: then it picks nothing."""
    part = x.shape[axis : axis + mask.ndim]
    if any(m not in (0, n) for m, n in zip(mask.shape, part)):
        raise IndexError(f"a mask of the shape {mask.shape} for axes of the shape {part}, from "
                         f"axis {axis} on")


def _place(kinds: list) -> int:
    """Where the axes of the arrays come: in their place if they, and numbers beside them, stand
    together, else first. Of each entry: whether it is such, and how many axes of the result that
    come of others are before it."""
    at = [i for i, (advanced, _) in enumerate(kinds) if advanced]
    together = at == list(range(at[0], at[0] + len(at)))
    return kinds[at[0]][1] if together else 0


class _Plan:
    """A key taken apart: the view that its basic part gives, the axes of that view which arrays of
    integers index, those arrays, and the axis of the result at which theirs come."""

    def __init__(self, x: Array, entries: list) -> None:
        basic, self.axes, arrays, kinds = [], [], [], []
        axis = 0
        for e in entries:
            advanced = isinstance(e, (_Numbers, int))
            kinds.append((advanced, axis - len(self.axes)))
            if isinstance(e, _Numbers):
                basic.append(None if e.new else slice(None))
                self.axes.append(axis)
                arrays.append(e.x)
            else:
                basic.append(e)
            axis += _makes_axis(e)
        self.view = x[tuple(basic)]
        try:
            self.shape = broadcast_shape(*[a.shape for a in arrays])
        except ValueError as e:
            raise IndexError(f"arrays of an index: {e}") from None
        self.arrays = [expand(a, self.shape) for a in arrays]
        self.place = _place(kinds)

    def rest(self) -> list[int]:
        """The axes of the view that no array indexes."""
        return [i for i in range(self.view.ndim) if i not in self.axes]

    def result_shape(self) -> tuple[int, ...]:
        other = [self.view.shape[i] for i in self.rest()]
        return (*other[: self.place], *self.shape, *other[self.place :])

    def flat_index(self) -> Array:
        """The arrays as one, of one dimension: the numbers of elements of the indexed axes in C
        order. Each index is taken of the numbers of its axis, which checks it."""
        n = product(self.shape)
        if len(self.arrays) == 1:
            return reshaped(self.arrays[0], (n,))
        flat = None
        for x, axis in zip(self.arrays, self.axes):
            extent = self.view.shape[axis]
            x = calls.gather(count_up(extent, x), reshaped(x, (n,)), 0)
            flat = x if flat is None else flat * extent + x
        return flat

    def joined(self) -> tuple[Array, int]:
        """The view with the indexed axes as one, and which axis that is."""
        if len(self.axes) == 1:
            return self.view, self.axes[0]
        y = permuted(self.view, [*self.axes, *self.rest()])
        n = len(self.axes)
        return reshaped(y, (product(y.shape[:n]), *y.shape[n:])), 0


def _gathered(plan: _Plan) -> Array:
    x, axis = plan.joined()
    y = rows(x, plan.flat_index(), axis)
    y = reshaped(y, (*y.shape[:axis], *plan.shape, *y.shape[axis + 1 :]))
    if axis == plan.place:
        return y
    n = len(plan.shape)
    moved = list(range(axis, axis + n))
    rest = [i for i in range(y.ndim) if i not in moved]
    return permuted(y, [*rest[: plan.place], *moved, *rest[plan.place :]])


def _merged(x: Array, entries: list, at: int) -> tuple[Array, Array, int]:
    """Of a key in which a mask is the only array: the view that the rest of it gives; the same with
    the axes of the mask as one; and which axis that is."""
    mask = entries[at]
    view = x[tuple(entries[:at] + [slice(None)] * mask.ndim + entries[at + 1 :])]
    axis = sum(map(_makes_axis, entries[:at]))
    shape = view.shape
    return view, reshaped(view, (*shape[:axis], mask.size, *shape[axis + mask.ndim :])), axis


def _lone_mask(x: Array, entries: list) -> int | None:
    """Which entry is a mask, if it is the only array, of the shape of its axes, and no number
    stands apart from it, which would move its axis."""
    found = [i for i, e in enumerate(entries) if type(e) is Array]
    if len(found) != 1 or entries[found[0]].dtype is not BOOL or entries[found[0]].ndim == 0:
        return None
    if _after_arrays(entries) != sum(map(_makes_axis, entries[found[0] + 1 :])):
        return None
    axis = sum(_axes_taken(e) for e in entries[: found[0]])
    mask = entries[found[0]]
    _check_mask(x, mask, axis)
    return found[0] if mask.shape == x.shape[axis : axis + mask.ndim] else None


def getitem(x: Array, key: Any) -> Array:
    """x[key]."""
    if type(key) is Array and key.dtype.kind in "iu" and x.ndim:
        return take(x, key, 0)
    entries = _expanded(x, key)
    at = _lone_mask(x, entries)
    if at is not None:
        _, y, axis = _merged(x, entries, at)
        n = count_true(entries[at], _MASK)
        return rows(y, calls.true_indices(entries[at], n), axis)
    entries = _masks_as_numbers(x, entries)
    if not any(isinstance(e, _Numbers) for e in entries):
        return x[tuple(entries)]
    return _gathered(_Plan(x, entries))


# ---- assignment


def _value(x: Array, value: Any) -> Array:
    if type(value) is not Array:
        if isinstance(value, (bool, int, float, complex)):
            return _number(x, value)
        value = array(value, None, x.device)
    if value.dtype.kind == "c" and x.dtype.kind != "c":
        raise TypeError(f"{value.dtype.name} cannot be assigned to {x.dtype.name}; take real(x)")
    return cast(value, x.dtype)


def _number(x: Array, value: Any) -> Array:
    if isinstance(value, complex) and x.dtype.kind != "c":
        raise TypeError(f"a complex number cannot be assigned to {x.dtype.name}")
    return _core.full((), value, x.dtype, x.device)


def _stripped(value: Array, ndim: int) -> Array:
    """value without leading axes of extent 1 that are too many."""
    extra = value.ndim - ndim
    if extra > 0 and all(n == 1 for n in value.shape[:extra]):
        return reshaped(value, value.shape[extra:])
    return value


def _fitted(value: Array, shape: tuple[int, ...]) -> Array:
    value = _stripped(value, len(shape))
    try:
        fits = broadcast_shape(value.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"a value of the shape {value.shape} does not broadcast to the shape "
                         f"{shape} of what the index names")
    return expand(value, shape)


def _scattered(plan: _Plan, value: Array) -> None:
    x, axis = plan.joined()
    value = _fitted(value, plan.result_shape())
    n = len(plan.shape)
    arrays = list(range(plan.place, plan.place + n))
    rest = [i for i in range(value.ndim) if i not in arrays]
    value = permuted(value, [*rest[:axis], *arrays, *rest[axis:]])
    shape = list(x.shape)
    shape[axis] = product(plan.shape)
    value = reshaped(value, shape)
    line = [1] * x.ndim
    line[axis] = shape[axis]
    index = expand(reshaped(plan.flat_index(), line), shape)
    y = calls.scatter(x, index, value, axis, calls.SCATTER_SET, 0)
    if len(plan.axes) == 1:
        plan.view[...] = y
        return
    target = permuted(plan.view, [*plan.axes, *plan.rest()])
    target[...] = reshaped(y, target.shape)


def _chosen(x: Array, entries: list, at: int, value: Array) -> None:
    """Assigns where a mask is true: by a choice of each element if the value broadcasts along what
    the mask picks, else by number."""
    mask, (view, y, axis) = entries[at], _merged(x, entries, at)
    after = y.ndim - axis - 1
    value = _stripped(value, y.ndim)
    if _extent(value, after) != 1:
        _placed(view, y, axis, entries, mask, value)
        return
    if value.ndim > after:
        ends = value.shape[value.ndim - after :]
        lead = value.shape[: value.ndim - after - 1]
        value = reshaped(value, (*lead, *(1,) * mask.ndim, *ends))
    value = _fitted(value, view.shape)
    view[...] = calls.where(reshaped(mask, (*mask.shape, *(1,) * after)), value, view)


def _placed(view: Array, y: Array, axis: int, entries: list, mask: Array, value: Array) -> None:
    """Assigns to what a mask picks of an axis of y, which is the view with the mask's axes as one,
    as many values."""
    n = _extent(value, y.ndim - axis - 1)
    count, read = _Count(entries, value).of(mask)
    if count != n:
        raise ValueError(f"a value of the shape {value.shape} for a mask of which {count} elements "
                         f"are true: {n} cannot be assigned to {count}")
    places = calls.true_indices(mask, n) if read else _just(mask, n)
    shape = (*y.shape[:axis], n, *y.shape[axis + 1 :])
    line = [n if i == axis else 1 for i in range(y.ndim)]
    index = expand(reshaped(places, line), shape)
    y = calls.scatter(y, index, _fitted(value, shape), axis, calls.SCATTER_SET,
                      calls.UNIQUE_INDICES)
    view[...] = reshaped(y, view.shape)


def setitem(x: Array, key: Any, value: Any) -> None:
    """x[key] = value."""
    entries = _expanded(x, key)
    value = _value(x, value)
    at = _lone_mask(x, entries)
    if at is not None:
        _chosen(x, entries, at, value)
        return
    entries = _masks_as_numbers(x, entries, value)
    if any(isinstance(e, _Numbers) for e in entries):
        _scattered(_Plan(x, entries), value)
    else:
        x[tuple(entries)] = value
