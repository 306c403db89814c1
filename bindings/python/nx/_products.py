# SPDX-License-Identifier: ISC
"""Products of matrices and vectors, and einsum."""

from __future__ import annotations

import math
import operator
from functools import lru_cache
from typing import Any, Callable, Sequence

from . import _core
from ._core import Array, calls
from ._keywords import with_out
from ._lib import AxisError, arr, axis_of, product, promoted, reshaped

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
        raise AxisError(f"vecdot: axis {axis} is out of bounds")
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


# ---- einsum: shapes decide what is to be done, so it is found once for each


class _Term:
    """A value of a program, with a letter, or a number of an ellipsis, for each of its axes."""

    def __init__(self, place: int, shape: Sequence[int], labels: list) -> None:
        self.place, self.shape, self.labels = place, tuple(shape), labels
        self.sizes = dict(zip(labels, self.shape))


class _Program:
    """Calls, each of values that the operands are, or that calls before it have given."""

    def __init__(self, operands: int) -> None:
        self.steps: list[tuple] = []
        self.values = self.operands = operands

    def call(self, function: Callable, *places: int, more: tuple = ()) -> int:
        """The place of what the function gives of values, and of more arguments."""
        self.steps.append((function, places, more))
        self.values += 1
        return self.values - 1

    def reshaped(self, x: int, old: Sequence[int], new: Sequence[int]) -> int:
        return x if tuple(old) == tuple(new) else self.call(reshaped, x, more=(tuple(new),))

    def function(self, place: int) -> Callable[..., Array]:
        """The calls as one function of the operands, which gives the value of a place."""
        known: dict[str, Any] = {}
        lines = [f"def run({', '.join(f'v{i}' for i in range(self.operands))}):"]
        for n, (function, places, more) in enumerate(self.steps):
            known[f"f{n}"] = function
            known |= {f"c{n}_{k}": constant for k, constant in enumerate(more)}
            given = [*(f"v{i}" for i in places), *(f"c{n}_{k}" for k in range(len(more)))]
            lines.append(f" v{self.operands + n} = f{n}({', '.join(given)})")
        lines.append(f" return v{place}")
        exec(compile("\n".join(lines), __file__, "exec"), known)  # in this file, for errors' lines
        return known["run"]


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


def _parsed(subscripts: str, ranks: tuple[int, ...]) -> tuple[list[list], list]:
    """The labels of each operand, and those of the result."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        raise ValueError(f"einsum: {len(parts)} operands in {subscripts!r}, {len(ranks)} are given")
    for c in left.replace("...", "").replace(",", "") + right.replace("...", ""):
        if not c.isalpha():
            raise ValueError(f"einsum: {c!r} in {subscripts!r} is no letter")
    terms = [_labels(p, n, f"operand {i}") for i, (n, p) in enumerate(zip(ranks, parts))]
    named = [c for labels in terms for c in labels]
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


def _diagonals(p: _Program, term: _Term) -> _Term:
    """Axes of one letter become one axis."""
    x, shape, labels = term.place, list(term.shape), list(term.labels)
    while len(set(labels)) != len(labels):
        letter = next(c for c in labels if labels.count(c) > 1)
        i = labels.index(letter)
        j = labels.index(letter, i + 1)
        if shape[i] != shape[j]:
            raise ValueError(f"einsum: the axes {letter!r} have the extents {shape[i]} and "
                             f"{shape[j]}")
        x = p.call(calls.diagonal, x, more=(0, i, j))
        labels = [c for k, c in enumerate(labels) if k not in (i, j)] + [letter]
        shape = [n for k, n in enumerate(shape) if k not in (i, j)] + [shape[i]]
    return _Term(x, shape, labels)


def _extents(terms: list[_Term]) -> dict:
    sizes: dict = {}
    for term in terms:
        for c, n in term.sizes.items():
            if sizes.get(c, 1) != 1 and n not in (1, sizes[c]):
                raise ValueError(f"einsum: the axes {c!r} have the extents {sizes[c]} and {n}")
            sizes[c] = n if n != 1 else sizes.get(c, 1)
    return sizes


def _expanded(p: _Program, term: _Term, sizes: dict) -> _Term:
    shape = tuple(sizes[c] for c in term.labels)
    if shape == term.shape:
        return term
    return _Term(p.call(calls.expand, term.place, more=(shape,)), shape, term.labels)


def _ordered(p: _Program, term: _Term, labels: Sequence) -> int:
    if list(labels) == term.labels:
        return term.place
    return p.call(calls.permute, term.place, more=([term.labels.index(c) for c in labels],))


def _summed(p: _Program, term: _Term, kept: set) -> _Term:
    axes = [i for i, c in enumerate(term.labels) if c not in kept]
    if not axes:
        return term
    labels = [c for c in term.labels if c in kept]
    return _Term(p.call(calls.reduce_sum, term.place, more=(axes, 0)),
                 [term.sizes[c] for c in labels], labels)


def _product(p: _Program, a: _Term, b: _Term, kept: set) -> _Term:
    """Two terms made one, summed over what nothing else needs."""
    a = _summed(p, a, kept | set(b.labels))
    b = _summed(p, b, kept | set(a.labels))
    both = [c for c in a.labels if c in b.labels]
    inner = [c for c in both if c not in kept]
    batch = [c for c in both if c in kept]
    left = [c for c in a.labels if c not in both]
    right = [c for c in b.labels if c not in both]
    sizes = a.sizes | b.sizes
    lead, rows, between, columns = ([sizes[c] for c in group]
                                    for group in (batch, left, inner, right))
    shape = [*lead, *rows, *columns]
    x = _ordered(p, a, [*batch, *left, *inner])
    y = _ordered(p, b, [*batch, *inner, *right])
    if not inner:
        x = p.reshaped(x, [*lead, *rows], [*lead, *rows, *(1 for _ in right)])
        y = p.reshaped(y, [*lead, *columns], [*lead, *(1 for _ in left), *columns])
        return _Term(p.call(calls.mul, x, y), shape, [*batch, *left, *right])
    n, k, m = (product(group) for group in (rows, between, columns))
    x = p.reshaped(x, [*lead, *rows, *between], [*lead, n, k])
    y = p.reshaped(y, [*lead, *between, *columns], [*lead, k, m])
    z = p.reshaped(p.call(calls.matmul, x, y), [*lead, n, m], shape)
    return _Term(z, shape, [*batch, *left, *right])


def _cheapest(terms: list[_Term]) -> tuple[int, int]:
    """The pair that takes the fewest multiplications; of equals the first."""
    best = (math.inf, 0, 0)
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            cost = product((terms[i].sizes | terms[j].sizes).values())
            if cost < best[0]:
                best = (cost, i, j)
    return best[1:]


@lru_cache(256)
def _program(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> Callable[..., Array]:
    """The function of operands of these shapes."""
    p = _Program(len(shapes))
    labels, out = _parsed(subscripts, tuple(map(len, shapes)))
    terms = [_diagonals(p, _Term(i, *of)) for i, of in enumerate(zip(shapes, labels))]
    sizes = _extents(terms)
    terms = [_expanded(p, t, sizes) for t in terms]
    while len(terms) > 1:
        i, j = _cheapest(terms)
        b, a = terms.pop(j), terms.pop(i)
        kept = set(out).union(*(t.labels for t in terms))
        terms.append(_product(p, a, b, kept))
    return p.function(_ordered(p, _summed(p, terms[0], set(out)), out))


_found: dict[tuple, Callable[..., Array]] = {}  # by subscripts and _core.shapes


def einsum(subscripts: Any, /, *operands: Any) -> Array:
    """Sums of products by the letters of axes, as NumPy's einsum: "ij,jk->ik", with "..." and
    repeated letters; without "->" the letters that occur once, in order. Several operands are
    multiplied in pairs, the cheapest first."""
    shapes = _core.shapes(*operands) if isinstance(subscripts, str) else None
    if shapes is not None and (run := _found.get((subscripts, shapes))) is not None:
        return run(*operands)
    given = list(operands)
    if not isinstance(subscripts, str):
        subscripts, given = _lists([subscripts, *operands])
    if not given:
        raise ValueError("einsum: there are no operands")
    xs = promoted(*given) if len(given) > 1 else [arr(given[0])]
    run = _program(subscripts, tuple([x.shape for x in xs]))
    if shapes is not None:
        if len(_found) == 256:
            _found.clear()
        _found[subscripts, shapes] = run
    return run(*xs)
