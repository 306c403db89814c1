# SPDX-License-Identifier: ISC
"""Counts of elements in intervals, of one and of several coordinates."""

from __future__ import annotations

import math
import operator
from typing import Any, Callable, Sequence

from . import _core
from ._core import Array, calls
from ._creation import linspace
from ._lib import (FLOAT64, INT64, arr, cast, constant, floating, operands, product,
                   promoted, reshaped)
from ._searching import stacked

__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


def histogram(x: Any, /, bins: Any = 10, range: Any = None, density: bool = False,
              weights: Any = None) -> tuple[Array, Array]:
    """How many elements lie in each of several intervals: a number of equal ones, those between
    given edges, or as many as a rule says (histogram_bin_edges); the last one has its end. The
    edges come second. Without a range for a number of intervals the least and the largest element
    are read (an action)."""
    x = reshaped(arr(x), (arr(x).size,))
    edges = histogram_bin_edges(x, bins, range, weights)
    n = edges.size - 1
    places = _places(x, edges)
    amounts = _amounts(x.size, weights, x.device)
    zeros = _core.full((n,), 0, amounts.dtype, x.device)
    y = calls.scatter(zeros, places, amounts, 0, calls.SCATTER_ADD, calls.DROP_OUT_OF_RANGE)
    if density:
        y = y / (edges[1:] - edges[:-1]) / calls.reduce_sum(y, None, 0)
    return y, edges


def _places(x: Array, edges: Array) -> Array:
    """The number of each element's interval; as many as there are for what lies in none."""
    n = edges.size - 1
    x, ends = promoted(x, edges)
    last = calls.shrink(ends, (n,), (n + 1,))
    places = calls.searchsorted(ends, x, None, calls.AFTER_EQUAL, INT64) - 1
    places = calls.where(calls.cmpeq(x, last), constant(n - 1, INT64), places)
    inside = (places >= 0) & (places < n) & (x == x)
    return calls.where(inside, places, constant(n, INT64))


def _amounts(n: int, weights: Any, device: str) -> Array:
    if weights is None:
        return _core.full((n,), 1, INT64, device)
    weights = arr(weights)
    if weights.size != n:
        raise ValueError(f"histogram: {weights.size} weights for {n} elements")
    return reshaped(weights, (n,))


# ---- edges


def histogram_bin_edges(x: Any, /, bins: Any = 10, range: Any = None,
                        weights: Any = None) -> Array:
    """The edges of histogram's intervals. bins: their number, the edges, or a rule for the number:
    "auto", "doane", "fd", "rice", "scott", "sqrt" or "sturges" (an action)."""
    x = reshaped(arr(x), (arr(x).size,))
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError("histogram: no rule for the number of intervals takes weights")
        low, high = _ends(x, range)
        return linspace(low, high, _number(x, bins, range, low, high) + 1, device=x.device)
    if isinstance(bins, (float, complex)):
        raise TypeError(f"histogram: {bins!r} is neither a number of intervals nor edges")
    if getattr(bins, "ndim", 1) == 0:
        bins = operator.index(bins)
    if not isinstance(bins, int):
        return _checked(operands(x, bins)[1])
    if bins < 1:
        raise ValueError(f"histogram: {bins} is not a number of intervals")
    return linspace(*_ends(x, range), bins + 1, device=x.device)


def _checked(edges: Array) -> Array:
    if edges.ndim != 1 or edges.size < 1:
        raise ValueError(f"histogram: edges are a vector, not of the shape {edges.shape}")
    try:
        falls = edges.size > 1 and bool(calls.reduce_max(edges[:-1] > edges[1:], None, 0))
    except _core.Unbound:
        falls = False
    if falls:
        raise ValueError("histogram: the edges must rise")
    return edges


def _ends(x: Array, range: Any) -> tuple[float, float]:
    if range is not None:
        low, high = range
        if low > high:
            raise ValueError(f"histogram: the range from {low} to {high} falls")
    elif x.size == 0:
        low, high = 0.0, 1.0
    else:
        low, high = stacked([c(x, (0,), 0) for c in (calls.reduce_min, calls.reduce_max)]).tolist()
    if not (abs(low) < math.inf and abs(high) < math.inf):
        raise ValueError(f"histogram: the range from {low} to {high} is not finite")
    return (low, high) if low != high else (low - 0.5, high + 0.5)


def _number(x: Array, rule: str, range: Any, low: float, high: float) -> int:
    """How many intervals a rule gives for the elements in the range."""
    if rule not in _RULES and rule != "auto":
        raise ValueError(f"histogram: there is no rule {rule!r} for the number of intervals; there "
                         f"are auto, {', '.join(_RULES)}")
    if range is not None:
        x = x[(x >= low) & (x <= high)]
    if x.size == 0:
        return 1
    x = floating(x)
    spread = float(calls.reduce_max(x, None, 0) - calls.reduce_min(x, None, 0))
    if rule == "auto":
        width, other = _fd(x, spread), _sturges(x, spread)
        width = min(width, other) if width else other
    else:
        width = _RULES[rule](x, spread)
    return max(math.ceil((high - low) / width), 1) if width > 0 else 1


def _sturges(x: Array, spread: float) -> float:
    return spread / (math.log2(x.size) + 1.0)


def _fd(x: Array, spread: float) -> float:
    from ._statistics import percentile

    high, low = percentile(x, [75, 25]).tolist()
    return 2.0 * (high - low) * x.size ** (-1.0 / 3.0)


def _scott(x: Array, spread: float) -> float:
    from ._statistics import std

    return (24.0 * math.pi**0.5 / x.size) ** (1.0 / 3.0) * float(std(x))


def _doane(x: Array, spread: float) -> float:
    from ._statistics import mean, std

    n = x.size
    if n <= 2:
        return 0.0
    scale = math.sqrt(6.0 * (n - 2) / ((n + 1.0) * (n + 3)))
    sigma = float(std(x))
    if sigma <= 0:
        return 0.0
    skew = float(mean(((x - mean(x)) / sigma) ** 3))
    return spread / (1.0 + math.log2(n) + math.log2(1.0 + abs(skew) / scale))


_RULES: dict[str, Callable[[Array, float], float]] = {
    "doane": _doane, "fd": _fd, "scott": _scott, "sturges": _sturges,
    "rice": lambda x, spread: spread / (2.0 * x.size ** (1.0 / 3.0)),
    "sqrt": lambda x, spread: spread / math.sqrt(x.size),
}


# ---- several coordinates


def histogramdd(sample: Any, /, bins: Any = 10, range: Any = None, density: bool = False,
                weights: Any = None) -> tuple[Array, list[Array]]:
    """histogram of points, which are the rows of an array or given by a list of coordinates. bins:
    one number, or for each coordinate a number or edges; range: for each None or two ends."""
    if isinstance(sample, (tuple, list)):
        columns = [reshaped(arr(x), (arr(x).size,)) for x in sample]
    else:
        x = arr(sample)
        x = reshaped(x, (x.size, 1)) if x.ndim == 1 else x
        if x.ndim != 2:
            raise ValueError(f"histogramdd: points of the shape {x.shape} are no rows")
        columns = [x[:, i] for i in _count(x.shape[1])]
    n = len(columns)
    each = [bins] * n if isinstance(bins, int) else list(bins)
    ranges = [None] * n if range is None else list(range)
    if len(each) != n or len(ranges) != n or len({c.size for c in columns}) > 1:
        raise ValueError(f"histogramdd: {len(each)} bins and {len(ranges)} ranges for {n} "
                         "coordinates, which are equally many")
    edges = [histogram_bin_edges(c, b, r) for c, b, r in zip(columns, each, ranges)]
    y = _table(columns, edges, weights)
    if density:
        y = y / calls.reduce_sum(y, None, 0)
        for i, e in enumerate(edges):
            y = y / reshaped(e[1:] - e[:-1], [e.size - 1 if i == j else 1 for j in _count(n)])
    return y, edges


_count = range


def _table(columns: Sequence[Array], edges: Sequence[Array], weights: Any) -> Array:
    shape = [e.size - 1 for e in edges]
    total = product(shape)
    flat, inside = None, None
    for x, e, n in zip(columns, edges, shape):
        places = _places(x, e)
        there = places < n
        flat = places if flat is None else flat * n + places
        inside = there if inside is None else inside & there
    places = calls.where(inside, flat, constant(total, INT64))
    amounts = cast(_amounts(columns[0].size, weights, columns[0].device), FLOAT64)
    zeros = _core.full((total,), 0, FLOAT64, places.device)
    y = calls.scatter(zeros, places, amounts, 0, calls.SCATTER_ADD, calls.DROP_OUT_OF_RANGE)
    return reshaped(y, shape)


def histogram2d(x: Any, y: Any, /, bins: Any = 10, range: Any = None, density: bool = False,
                weights: Any = None) -> tuple[Array, Array, Array]:
    """histogram of points by two coordinates. bins: one number or vector of edges for both, or of
    each one."""
    if not isinstance(bins, int) and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]
