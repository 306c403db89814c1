# SPDX-License-Identifier: ISC
"""Convolutions of vectors, as sums of products of windows.

Zeros around the longer vector would make NaN of what is not finite in the shorter one, where
NumPy multiplies nothing. So sums at the ends leave them out: of short vectors all do, which costs a
choice of each product, of a long and a short one the ends are computed again. Two long vectors are
mostly ends. They are multiplied as matrices, blocks of the shorter one by windows of the other, and
what each block gives is added where it belongs: half of the products, and they run faster.
"""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Array, calls
from ._lib import BOOL, cast, constant, promoted, reshaped, widened

__all__ = ["convolve", "correlate"]

# Products up to which a choice of each takes less than a second and a third kernel.
_FEW = 1 << 17
# Blocks are made of a shorter vector from this length on, of both together up to this one. They
# have so many elements at least, and there are so many at most, and not more than give so many
# numbers, which stay in a processor's cache, but 4 at least.
_LONG, _LONGEST, _BLOCK, _BLOCKS, _ROOM = 128, 1 << 22, 32, 32, 1 << 18


def convolve(a: Any, v: Any, /, mode: str = "full") -> Array:
    """The convolution of two vectors; mode: "full", "same" (of the longer one), "valid"."""
    return _convolved("convolve", *promoted(a, v), mode)


def correlate(a: Any, v: Any, /, mode: str = "valid") -> Array:
    """The correlation of two vectors: sums of products with the conjugate of the second one."""
    a, v = promoted(a, v)
    v = calls.conj(v) if v.dtype.kind == "c" else v
    return _convolved("correlate", a, calls.flip(v, (0,)) if v.ndim == 1 else v, mode)


def _convolved(what: str, a: Array, v: Array, mode: str) -> Array:
    if a.ndim != 1 or v.ndim != 1 or a.size == 0 or v.size == 0:
        raise ValueError(f"{what}: vectors with elements are needed, not {a.shape} and {v.shape}")
    n, k = max(a.size, v.size), min(a.size, v.size)
    # Of an even number of elements there is no middle one.
    middle = (k - 1) // 2 if what == "correlate" and v.size > a.size else k // 2
    if v.size > a.size:
        a, v = v, a
    before = {"full": k - 1, "same": middle, "valid": 0}
    if mode not in before:
        raise ValueError(f"{what}: there is no mode {mode!r}")
    front = before[mode]
    count = {"full": n + k - 1, "same": n, "valid": n - k + 1}[mode]
    if mode == "valid" or v.dtype.kind not in "fc":
        return calls.matmul(_windows(a, k, front, count), calls.flip(v, (0,)))
    dtype = v.dtype
    a, v = (cast(x, widened(dtype)) for x in (a, v))
    if k < _LONG or n + k > _LONGEST:
        return cast(_direct(a, v, front, count), dtype)
    y = _by_blocks(a, v, max(4, min(k // _BLOCK, _BLOCKS, _ROOM // (n + k))))
    return cast(calls.shrink(y, (k - 1 - front,), (k - 1 - front + count,)), dtype)


def _windows(x: Array, k: int, front: int, count: int) -> Array:
    """Windows of k elements of x, the first of which begins so many before it; 0 is around x."""
    x = calls.pad(x, (front,), (count + k - 1 - x.size - front,), 0)
    return calls.as_strided(x, (count, k), (1, 1), 0)


class _Ends:
    """Sums of products of windows with the factors along the last axis of v, without those of
    elements that are not there."""

    def __init__(self, a: Array, v: Array, front: int, count: int) -> None:
        k = v.shape[-1]
        there = _core.full(a.shape, True, BOOL, a.device)
        self.windows, self.v = _windows(a, k, front, count), v
        self.there = _windows(there, k, front, count)

    def sums(self, first: int, last: int) -> Array:
        x, there = (calls.shrink(w, (first, 0), (last, w.shape[1]))
                    for w in (self.windows, self.there))
        zero = constant(0, x.dtype)
        return calls.reduce_sum(calls.where(there, calls.mul(x, self.v), zero), (-1,), 0)


def _direct(a: Array, v: Array, front: int, count: int) -> Array:
    k = v.size
    v = calls.flip(v, (0,))
    ends = _Ends(a, v, front, count)
    if count * k <= _FEW:
        return ends.sums(0, count)
    y = calls.reduce_sum(calls.mul(ends.windows, v), (1,), 0)
    for first, last in (0, front), (front + a.size - k + 1, count):
        if first < last:
            y[first:last] = ends.sums(first, last)
    return y


def _by_blocks(a: Array, v: Array, m: int) -> Array:
    """All sums, of m blocks of v: a row of them for each, one block further than the last one."""
    n, k, b = a.size, v.size, v.size // m
    blocks = reshaped(v[: m * b], (m, b))
    factors = calls.flip(reshaped(blocks, (m, 1, b)), (2,))
    middle = calls.matmul(blocks, calls.flip(_windows(a, n - b + 1, 0, b), (0,)))
    rows = calls.cat([_Ends(a[: b - 1], factors, b - 1, b - 1).sums(0, b - 1), middle,
                      _Ends(a[n - b + 1 :], factors, 0, b - 1).sums(0, b - 1)], 1)
    rows = calls.pad(rows, (0, 0), (0, m * b), 0)
    y = calls.as_strided(rows, (m, n + m * b - 1), (rows.shape[1] - b, 1), 0)
    y = calls.reduce_sum(y, (0,), 0)
    if m * b == k:
        return y
    rest = convolve(a, v[m * b :])
    return calls.add(calls.pad(y, (0,), (k - m * b,), 0), calls.pad(rest, (m * b,), (0,), 0))
