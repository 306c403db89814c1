# SPDX-License-Identifier: ISC
"""NumPy's pad: arrays with more elements around them. Axes are done one after the other, so corners
are made of what was put beside them."""

from __future__ import annotations

import operator
from itertools import product as combinations
from typing import Any, Callable

from . import _core
from ._core import Array, calls
from ._creation import linspace
from ._elementwise import rint
from ._lib import INT64, AxisError, arr, cast, constant, expand
from ._manipulation import squeeze
from ._statistics import max, mean, median, min

__all__ = ["pad"]


def pad(x: Any, pad_width: Any, mode: Any = "constant", **words: Any) -> Array:
    """x with more elements around it. pad_width: a number, (before, after), a pair for each axis,
    or a dict of axes. mode: "constant" (constant_values), "edge", "linear_ramp" (end_values),
    "maximum", "mean", "median" and "minimum" (stat_length), "reflect" and "symmetric"
    (reflect_type), "wrap", "empty" (zeros here), or a function that assigns to a line, with its
    widths, its axis and the other words."""
    x = arr(x)
    pairs = _widths(pad_width, x.ndim)
    if any(n < 0 for p in pairs for n in p):
        raise ValueError("pad: a width is negative")
    if callable(mode):
        return _by_function(x, pairs, mode, words)
    if mode not in _MODES:
        raise ValueError(f"pad: there is no mode {mode!r}")
    word, make = _MODES[mode]
    for name in words:
        if name != word:
            raise ValueError(f"pad: the mode {mode!r} takes no {name}")
    y = make(x, pairs, words[word]) if words else make(x, pairs)
    return calls.copy(y) if y is x else y


# ---- arguments


def _widths(given: Any, ndim: int) -> list[tuple]:
    if not isinstance(given, dict):
        return _pairs(given, ndim, operator.index)
    pairs = [(0, 0)] * ndim
    for axis, width in given.items():
        if not -ndim <= operator.index(axis) < ndim:
            raise AxisError(f"pad: axis {axis} is out of bounds for {ndim} dimensions")
        pairs[axis] = _pairs(width, 1, operator.index)[0]
    return pairs


def _pairs(given: Any, ndim: int, one: Callable) -> list[tuple]:
    if hasattr(given, "tolist"):
        given = given.tolist()
    if not isinstance(given, (tuple, list)):
        return [(one(given), one(given))] * ndim
    if len(given) == 0 or isinstance(given[0], (tuple, list)):
        pairs = [tuple(one(v) for v in (p if len(p) == 2 else p * 2)) for p in given]
    else:
        pairs = [tuple(one(v) for v in (given if len(given) == 2 else given * 2))]
    pairs = pairs * ndim if len(pairs) == 1 else pairs
    if len(pairs) != ndim or any(len(p) != 2 for p in pairs):
        raise ValueError(f"pad: {given} does not go with {ndim} dimensions")
    return pairs


def _sides(x: Array, pairs: list[tuple]) -> Any:
    """Of each axis that gets wider: its number, extent, and widths."""
    for axis, (before, after) in enumerate(pairs):
        if before + after == 0:
            continue
        if x.shape[axis] == 0:
            raise ValueError(f"pad: axis {axis} has no elements to repeat")
        yield axis, x.shape[axis], before, after


def _between(x: Array, axis: int, start: int, stop: int) -> Array:
    return x[(slice(None),) * axis + (slice(start, stop),)]


def _wide(x: Array, axis: int, n: int) -> Array:
    """x, of extent 1 along an axis, repeated there."""
    return expand(x, (*x.shape[:axis], n, *x.shape[axis + 1 :]))


def _joined(axis: int, *parts: Array) -> Array:
    return calls.cat([p for p in parts if p.shape[axis]], axis)


# ---- constants


def _constant(x: Array, pairs: list[tuple], values: Any = 0) -> Array:
    values = _pairs(values, x.ndim, lambda v: v)
    if all(v == values[0][0] for p in values for v in p):
        value = values[0][0] if values else 0
        return calls.pad(x, [b for b, _ in pairs], [a for _, a in pairs], value)
    for axis, (pair, two) in enumerate(zip(pairs, values)):
        for side in (0, 1):
            width = [0] * x.ndim
            width[axis] = pair[side]
            none = [0] * x.ndim
            x = calls.pad(x, *((width, none) if side == 0 else (none, width)), two[side])
    return x


def _by_function(x: Array, pairs: list[tuple], function: Callable, words: dict) -> Array:
    """Each line is a view, which the function assigns to."""
    y = calls.copy(_constant(x, pairs))
    for axis in range(y.ndim):
        others = [range(n) if i != axis else (slice(None),) for i, n in enumerate(y.shape)]
        for key in combinations(*others):
            function(y[key], pairs[axis], axis, words)
    return y


def _ramp(x: Array, pairs: list[tuple], values: Any = 0) -> Array:
    """Numbers from the end value to the edge, without the edge, at equal distances."""
    values = _pairs(values, x.ndim, lambda v: v)
    for axis, n, *widths in _sides(x, pairs):
        parts = []
        for end, edge, width in zip(values[axis], (0, n - 1), widths):
            edge = squeeze(_between(x, axis, edge, edge + 1), axis)
            parts.append(linspace(end, edge, width, endpoint=False, dtype=x.dtype, axis=axis))
        x = _joined(axis, parts[0], x, calls.flip(parts[1], [axis]))
    return x


# ---- statistics of what is at a side


def _rounded(f: Callable, least: int) -> Callable:
    def of(x: Array, axis: int) -> Array:
        y = f(x, axis=axis, keepdims=True)
        return cast(rint(y) if x.dtype.kind in "iu" else y, x.dtype)

    def make(x: Array, pairs: list[tuple], lengths: Any = None) -> Array:
        lengths = [(None, None)] * x.ndim if lengths is None else _pairs(
            lengths, x.ndim, operator.index)
        for axis, n, before, after in _sides(x, pairs):
            counts = [n if k is None or k > n else k for k in lengths[axis]]
            if any(k < least for k in counts):
                raise ValueError("pad: a stat_length is too small for its mode")
            first = of(_between(x, axis, 0, counts[0]), axis)
            last = first if counts == [n, n] else of(_between(x, axis, n - counts[1], n), axis)
            x = _joined(axis, _wide(first, axis, before), x, _wide(last, axis, after))
        return x

    return make


# ---- elements again


def _again(source: Callable[[int, int], int]) -> Callable:
    def make(x: Array, pairs: list[tuple]) -> Array:
        for axis, n, before, after in _sides(x, pairs):
            sides = [[source(i, n) for i in of]
                     for of in (range(-before, 0), range(n, n + after))]
            x = _joined(axis, *(_at(x, side, axis) for side in sides[:1]), x,
                        *(_at(x, side, axis) for side in sides[1:]))
        return x

    return make


def _at(x: Array, places: list[int], axis: int) -> Array:
    """The elements at places along an axis: a view where they are one behind the other."""
    from ._searching import take

    if not places:
        return _between(x, axis, 0, 0)
    first, n = places[0], len(places)
    step = places[1] - first if n > 1 else 1
    if places != [first + step * i for i in range(n)]:
        return take(x, _core.array(places, INT64, x.device), axis=axis)
    if step == 0:
        return _wide(_between(x, axis, first, first + 1), axis, n)
    last = first + step * n
    of = slice(first, last if last >= 0 else None, step)
    return x[(slice(None),) * axis + (of,)]


def _turned(period: Callable[[int], int], source: Callable[[int, int], int]) -> Callable:
    """Elements in the other order and then in theirs again, and so on; of reflect_type "odd" turned
    about the edge's value, so that a line goes on."""
    even = _again(source)

    def make(x: Array, pairs: list[tuple], kind: str = "even") -> Array:
        if kind not in ("even", "odd"):
            raise ValueError(f"pad: there is no reflect_type {kind!r}")
        if kind == "even":
            return even(x, pairs)
        for axis, n, before, after in _sides(x, pairs):
            first, last = (_between(x, axis, i, i + 1) for i in (0, n - 1))
            rise = calls.mul(constant(2, x.dtype), calls.sub(last, first))
            parts = []
            for places in (range(-before, 0), range(n, n + after)):
                y = _at(x, [source(i, n) for i in places], axis)
                turns = [i // period(n) for i in places]
                parts.append(_odd(y, x.ndim - axis - 1, turns, last, rise))
            x = _joined(axis, parts[0], x, parts[1])
        return x

    return make


def _odd(y: Array, behind: int, turns: list[int], last: Array, rise: Array) -> Array:
    """y turned about the last element in odd turns, and risen by each two turns."""
    def beside(values: list[int]) -> Array:
        return calls.reshape(cast(_core.array(values, INT64, y.device), y.dtype),
                             (len(values), *(1,) * behind))

    if not turns:
        return y
    sign = beside([1 - 2 * (t % 2) for t in turns])
    about = beside([2 * (t % 2) for t in turns])
    return calls.add(calls.add(calls.mul(sign, y), calls.mul(about, last)),
                     calls.mul(beside([t // 2 for t in turns]), rise))


def _reflected(i: int, n: int) -> int:
    if n == 1:
        return 0
    i %= 2 * (n - 1)
    return i if i < n else 2 * (n - 1) - i


def _mirrored(i: int, n: int) -> int:
    i %= 2 * n
    return i if i < n else 2 * n - 1 - i


_MODES = {
    "constant": ("constant_values", _constant),
    "empty": (None, _constant),
    "linear_ramp": ("end_values", _ramp),
    "maximum": ("stat_length", _rounded(max, 1)),
    "minimum": ("stat_length", _rounded(min, 1)),
    "mean": ("stat_length", _rounded(mean, 0)),
    "median": ("stat_length", _rounded(median, 0)),
    "edge": (None, _again(lambda i, n: 0 if i < 0 else n - 1)),
    "wrap": (None, _again(lambda i, n: i % n)),
    "reflect": ("reflect_type", _turned(lambda n: n - 1 or 1, _reflected)),
    "symmetric": ("reflect_type", _turned(lambda n: n, _mirrored)),
}
