# SPDX-License-Identifier: ISC
"""Whether two arrays have an element in common, so that an assignment to one shows in the other."""

from __future__ import annotations

from math import gcd
from typing import Any

from . import _core
from ._core import Array
from ._creation import asarray

__all__ = ["may_share_memory", "shares_memory"]


class _Bits:
    """Where an array's elements lie, in bits: from first on, the sum of a multiple of each step."""

    def __init__(self, x: Array, base: int, offset: int) -> None:
        bits = x.dtype.bits
        self.empty, self.first = x.size == 0, 8 * base + offset * bits
        self.steps = [(1, bits - 1)]
        for n, step in zip(x.shape, x.strides):
            step = step // x.itemsize * bits
            if step < 0:
                self.first += step * (n - 1)
            if step != 0 and n > 1:
                self.steps.append((abs(step), n - 1))
        self.last = self.first + sum(step * most for step, most in self.steps)


def _both(x: Any, y: Any) -> tuple[_Bits, _Bits] | None:
    """None of arrays that no assignment to the other reaches. Of two storages that is so, though a
    copy has the memory of what it was copied from until one of them is written; unless one is an
    array over memory of somebody else, which may be the other's: then addresses say it."""
    x, y = (v if type(v) is Array else asarray(v, copy=False if hasattr(v, "__array__") else None)
            for v in (x, y))
    (mine, at, base, lent), (other, beside, place, lent_too) = _core.place(x), _core.place(y)
    if mine == other:
        return _Bits(x, 0, at), _Bits(y, 0, beside)
    if not base or not place or not (lent or lent_too):
        return None
    return _Bits(x, base, at), _Bits(y, place, beside)


def may_share_memory(x: Any, y: Any, /, max_work: int | None = None) -> bool:
    """Whether the first element of one array lies before the last of the other, and the other way
    round; it need not be an element of both. Nothing is computed for that. With max_work other than
    0, as shares_memory."""
    if max_work not in (None, 0):
        return shares_memory(x, y, max_work)
    both = _both(x, y)
    return both is not None and _meet(*both)


def _meet(a: _Bits, b: _Bits) -> bool:
    return not a.empty and not b.empty and a.first <= b.last and b.first <= a.last


def shares_memory(x: Any, y: Any, /, max_work: int | None = None) -> bool:
    """Whether two arrays have an element in common. Nothing is computed for that: what is not
    computed yet has a place, too. max_work, if it is not None or negative, is how many steps the
    search may take; RuntimeError if it would need more."""
    both = _both(x, y)
    if both is None or not _meet(*both):
        return False
    a, b = both
    # a.first + sum(i * step) = b.first + sum(j * step), where each j is counted from its end
    terms = sorted(a.steps + b.steps, reverse=True)
    return _reaches(terms, b.last - a.first, max_work)


def _reaches(terms: list[tuple[int, int]], wanted: int, max_work: int | None) -> bool:
    """Whether wanted is a sum of these steps, each taken up to its most; large ones first."""
    rest = [0] * (len(terms) + 1)
    common = [0] * (len(terms) + 1)
    for k in range(len(terms) - 1, -1, -1):
        step, most = terms[k]
        rest[k], common[k] = rest[k + 1] + step * most, gcd(common[k + 1], step)
    work, open_ = 0, [(0, wanted)]
    while open_:
        k, wanted = open_.pop()
        work += 1
        if max_work is not None and 0 <= max_work < work:
            raise RuntimeError(f"shares_memory: more than {max_work} steps")
        if wanted == 0:
            return True
        if k == len(terms) or not 0 < wanted <= rest[k] or wanted % common[k]:
            continue
        step, most = terms[k]
        least = max(0, -((rest[k + 1] - wanted) // step))
        for i in range(least, min(most, wanted // step) + 1):
            open_.append((k + 1, wanted - i * step))
    return False
