# SPDX-License-Identifier: ISC
"""Products of matrices and vectors, and einsum."""

from __future__ import annotations

import math
import operator
from typing import Any, Sequence

from ._core import Array, calls, result_type
from ._keywords import with_out
from ._lib import arr, axis_of, cast, expand, permuted, product, promoted, reshaped

__all__ = ["cross", "dot", "einsum", "inner", "kron", "matmul", "outer", "tensordot", "vdot",
           "vecdot"]


@with_out
def matmul(x1: Any, x2: Any, /) -> Array:
    """The product of matrices in the last two axes; a vector is a row on the left and a column on
    the right."""
    return arr(x1) @ arr(x2)


def _paired(axes: Any, a: Array, b: Array) -> tuple[list[int], list[int]]:
    if not isinstance(axes, (tuple, list)):
        n = operator.index(axes)
        if not 0 <= n <= min(a.ndim, b.ndim):
            raise ValueError(f"tensordot: {n} axes of {a.ndim} and {b.ndim} dimensions")
        return list(range(a.ndim - n, a.ndim)), list(range(n))
    left, right = ([x] if isinstance(x, int) else list(x) for x in axes)
    return [axis_of(i, a.ndim) for i in left], [axis_of(i, b.ndim) for i in right]


def tensordot(x1: Any, x2: Any, /, axes: Any = 2) -> Array:
    """Sums of products over pairs of axes: the last n of x1 and first n of x2, or those of two
    lists."""
    a, b = promoted(x1, x2)
    left, right = _paired(axes, a, b)
    if len(left) != len(right):
        raise ValueError(f"tensordot: {len(left)} axes, and {len(right)} to pair with them")
    return calls.tensordot(a, b, left, right)


def vecdot(x1: Any, x2: Any, /, axis: int = -1) -> Array:
    """The sum along an axis of the conjugate of x1 times x2."""
    a, b = promoted(x1, x2)
    if axis >= 0:
        if a.ndim != b.ndim:
            raise ValueError("vecdot: an axis of arrays of different ranks is counted from the end")
        axis = axis_of(axis, a.ndim) - a.ndim
    if min(a.ndim, b.ndim) < -axis:
        raise IndexError(f"vecdot: axis {axis} is out of bounds")
    if a.shape[axis] != b.shape[axis]:
        raise ValueError(f"vecdot: the shapes {a.shape} and {b.shape} differ along axis {axis}")
    return calls.vecdot(a, b, axis)


@with_out
def dot(x1: Any, x2: Any, /) -> Array:
    """NumPy's dot: a product of numbers, or sums over the last axis of x1 and the last but one, or
    only one, of x2."""
    a, b = promoted(x1, x2)
    if a.ndim == 0 or b.ndim == 0:
        return calls.mul(a, b)
    if b.ndim <= 2:
        return calls.matmul(a, b)
    return calls.tensordot(a, b, [a.ndim - 1], [b.ndim - 2])


def inner(x1: Any, x2: Any, /) -> Array:
    """Sums of products over the last axes."""
    a, b = promoted(x1, x2)
    if a.ndim == 0 or b.ndim == 0:
        return calls.mul(a, b)
    return calls.tensordot(a, b, [a.ndim - 1], [b.ndim - 1])


def vdot(x1: Any, x2: Any, /) -> Array:
    """vecdot of all elements."""
    a, b = promoted(x1, x2)
    return vecdot(reshaped(a, (a.size,)), reshaped(b, (b.size,)))


def outer(x1: Any, x2: Any, /) -> Array:
    """All products of the elements of two vectors."""
    a, b = promoted(x1, x2)
    return calls.outer(reshaped(a, (a.size,)), reshaped(b, (b.size,)))


def kron(x1: Any, x2: Any, /) -> Array:
    """Kronecker's product: blocks of elements of x1 times all of x2."""
    return calls.kron(*promoted(x1, x2))


def cross(x1: Any, x2: Any, /, axis: int = -1) -> Array:
    """The cross product of vectors of three components along an axis."""
    a, b = promoted(x1, x2)
    if axis >= 0:
        axis = axis_of(axis, max(a.ndim, b.ndim)) - max(a.ndim, b.ndim)
    if min(a.ndim, b.ndim) < -axis or a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError(f"cross: vectors have 3 components along axis {axis}, not those of "
                         f"{a.shape} and {b.shape}")
    return calls.cross(a, b, axis)


# ---- einsum


class _Term:
    """An operand with a letter, or a number of an ellipsis, for each of its axes."""

    def __init__(self, x: Array, labels: list) -> None:
        self.x, self.labels = x, labels

    def sizes(self) -> dict:
        return dict(zip(self.labels, self.x.shape))


def _labels(text: str, rank: int, what: str) -> list:
    if "..." not in text:
        if len(text) != rank:
            raise ValueError(f"einsum: {what} has {rank} axes, and {text!r} names {len(text)}")
        return list(text)
    before, after = text.split("...", 1)
    n = rank - len(before) - len(after)
    if n < 0 or "." in after:
        raise ValueError(f"einsum: {what} has {rank} axes, too few for {text!r}")
    return [*before, *range(-n, 0), *after]


def _parsed(subscripts: str, xs: list[Array]) -> tuple[list[_Term], list]:
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(xs):
        raise ValueError(f"einsum: {len(parts)} operands in {subscripts!r}, {len(xs)} are given")
    for c in left.replace("...", "").replace(",", "") + right.replace("...", ""):
        if not c.isalpha():
            raise ValueError(f"einsum: {c!r} in {subscripts!r} is no letter")
    terms = [_Term(x, _labels(p, x.ndim, f"operand {i}"))
             for i, (x, p) in enumerate(zip(xs, parts))]
    named = [c for t in terms for c in t.labels]
    dots = sorted({c for c in named if isinstance(c, int)})
    if not arrow:
        once = sorted({c for c in named if isinstance(c, str) and named.count(c) == 1})
        return terms, [*dots, *once]
    out = _labels(right, len(right.replace("...", "")) + len(dots), "the result") \
        if "..." in right else list(right)
    if len(set(out)) != len(out) or not set(out) <= set(named):
        raise ValueError(f"einsum: the axes of the result of {subscripts!r} are not each one of an "
                         "operand's once")
    return terms, out


def _lists(operands: Sequence[Any]) -> tuple[str, list]:
    """einsum(a, [0, 1], b, [1, 2], [0, 2]) as letters."""

    def text(axes: Sequence) -> str:
        return "".join("..." if a is Ellipsis else chr(ord("a" if a < 26 else "A") + a % 26)
                       for a in axes)

    pairs = list(operands)
    out = "->" + text(pairs.pop()) if len(pairs) % 2 else ""
    return ",".join(text(p) for p in pairs[1::2]) + out, pairs[::2]


def _diagonals(term: _Term) -> _Term:
    """Axes of one letter become one axis."""
    x, labels = term.x, list(term.labels)
    while len(set(labels)) != len(labels):
        letter = next(c for c in labels if labels.count(c) > 1)
        i = labels.index(letter)
        j = labels.index(letter, i + 1)
        if x.shape[i] != x.shape[j]:
            raise ValueError(f"einsum: the axes {letter!r} have the extents {x.shape[i]} and "
                             f"{x.shape[j]}")
        x = calls.diagonal(x, 0, i, j)
        labels = [c for k, c in enumerate(labels) if k not in (i, j)] + [letter]
    return _Term(x, labels)


def _extents(terms: list[_Term]) -> dict:
    sizes: dict = {}
    for term in terms:
        for c, n in term.sizes().items():
            if sizes.get(c, 1) != 1 and n not in (1, sizes[c]):
                raise ValueError(f"einsum: the axes {c!r} have the extents {sizes[c]} and {n}")
            sizes[c] = n if n != 1 else sizes.get(c, 1)
    return sizes


def _ordered(term: _Term, labels: Sequence) -> Array:
    return permuted(term.x, [term.labels.index(c) for c in labels])


def _summed(term: _Term, kept: set) -> _Term:
    axes = [i for i, c in enumerate(term.labels) if c not in kept]
    if not axes:
        return term
    return _Term(calls.reduce_sum(term.x, axes, 0), [c for c in term.labels if c in kept])


def _product(a: _Term, b: _Term, kept: set) -> _Term:
    """Two terms made one, summed over what nothing else needs."""
    a = _summed(a, kept | set(b.labels))
    b = _summed(b, kept | set(a.labels))
    both = [c for c in a.labels if c in b.labels]
    inner = [c for c in both if c not in kept]
    batch = [c for c in both if c in kept]
    left = [c for c in a.labels if c not in both]
    right = [c for c in b.labels if c not in both]
    labels = [*batch, *left, *right]
    sizes = a.sizes() | b.sizes()
    shape = [sizes[c] for c in labels]
    if not inner:
        x = _ordered(a, [*batch, *left])
        x = reshaped(x, [*x.shape, *(1 for _ in right)])
        y = _ordered(b, [*batch, *right])
        y = reshaped(y, [*(sizes[c] for c in batch), *(1 for _ in left),
                         *(sizes[c] for c in right)])
        return _Term(calls.mul(x, y), labels)
    lead = [sizes[c] for c in batch]
    n, k, m = (product(sizes[c] for c in group) for group in (left, inner, right))
    x = reshaped(_ordered(a, [*batch, *left, *inner]), [*lead, n, k])
    y = reshaped(_ordered(b, [*batch, *inner, *right]), [*lead, k, m])
    return _Term(reshaped(calls.matmul(x, y), shape), labels)


def _cheapest(terms: list[_Term], out: list) -> tuple[int, int]:
    """The pair that takes the fewest multiplications; of equals the first."""
    best = (math.inf, 0, 0)
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            cost = product((terms[i].sizes() | terms[j].sizes()).values())
            if cost < best[0]:
                best = (cost, i, j)
    return best[1:]


def einsum(subscripts: Any, /, *operands: Any) -> Array:
    """Sums of products by the letters of axes, as NumPy's einsum: "ij,jk->ik", with "..." and
    repeated letters; without "->" the letters that occur once, in order. Several operands are
    multiplied in pairs, the cheapest first."""
    given = list(operands)
    if not isinstance(subscripts, str):
        subscripts, given = _lists([subscripts, *operands])
    if not given:
        raise ValueError("einsum: there are no operands")
    xs = promoted(*given) if len(given) > 1 else [arr(given[0])]
    terms, out = _parsed(subscripts, xs)
    terms = [_diagonals(t) for t in terms]
    sizes = _extents(terms)
    terms = [_Term(expand(t.x, [sizes[c] for c in t.labels]), t.labels) for t in terms]
    while len(terms) > 1:
        i, j = _cheapest(terms, out)
        b, a = terms.pop(j), terms.pop(i)
        kept = set(out).union(*(t.labels for t in terms))
        terms.append(_product(a, b, kept))
    return _ordered(_summed(terms[0], set(out)), out)
