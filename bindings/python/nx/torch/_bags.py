# SPDX-License-Identifier: ISC
"""EmbeddingBag: sums and means of rows of a table, in bags of any number of rows, which lie one
after the other. Bags begin at the offsets; what PyTorch saves for the gradient is not needed."""

from __future__ import annotations

from typing import Any

from ._indexing import _along, _strict
from ._lowering import (FLOAT32, INT64, SMALL, Array, Call, arange, calls, cast, full, lowers,
                        operand, refuse)


class _Bags:
    """n rows in bags: the bag of each row, and whether it counts."""

    def __init__(self, indices: Array, offsets: Array, count: int, padding_idx: int) -> None:
        refuse(indices.ndim != 1 or indices.size == 0 or count == 0, "bags of nothing")
        self.n, self.count = indices.size, count
        begin = cast(calls.shrink(offsets, [0], [count]), INT64)
        rows = arange(INT64, 0, 1, self.n)
        after = calls.searchsorted(begin, rows, None, calls.AFTER_EQUAL, INT64)
        self.bag = calls.sub(after, operand(1, INT64))
        self.counts = None
        if padding_idx >= 0:
            self.counts = calls.cmpne(cast(indices, INT64), operand(padding_idx, INT64))

    def column(self, x: Array) -> Array:
        return calls.reshape(x, (x.size, 1), calls.MAY_COPY)

    def kept(self, rows: Array) -> Array:
        if self.counts is None:
            return rows
        return calls.where(self.column(self.counts), rows, operand(0, rows.dtype))

    def sizes(self) -> Array:
        """How many rows of each bag count."""
        ones = operand(1, INT64) if self.counts is None else cast(self.counts, INT64)
        return calls.scatter(calls.expand(operand(0, INT64), (self.count,)), self.bag,
                             calls.expand(ones, (self.n,)), 0, calls.SCATTER_ADD)

    def divisors(self, dtype: Any) -> Array:
        return self.column(cast(calls.max(self.sizes(), operand(1, INT64)), dtype))

    def sums(self, rows: Array) -> Array:
        shape = (self.count, rows.shape[1])
        return calls.scatter(calls.expand(operand(0, rows.dtype), shape),
                             _along(self.bag, 0, rows.shape), rows, 0, calls.SCATTER_ADD)

    def spread(self, of_bags: Array) -> Array:
        """What belongs to the bag of each row."""
        return calls.gather(of_bags, _along(self.bag, 0, of_bags.shape), 0)


def _wide(x: Array) -> Array:
    return cast(x, FLOAT32) if x.dtype.name in SMALL else x


def _taken(table: Array, indices: Array) -> Array:
    """Rows of a table."""
    return calls.gather(table, _along(_strict(indices, table.shape[0]), 0, table.shape), 0)


@lowers("aten._embedding_bag.default", "aten._embedding_bag_forward_only.default")
def _embedding_bag(c: Call, table: Array, indices: Array, offsets: Array, scale: bool = False,
                   mode: int = 0, sparse: bool = False, weights: Array | None = None,
                   include_last_offset: bool = False, padding_idx: int = -1) -> tuple[Array, ...]:
    refuse(mode == 2, "the largest of each bag")
    bags = _Bags(indices, offsets, c.shape[0], padding_idx)
    rows = _wide(_taken(table, indices))
    if weights is not None:
        rows = calls.mul(rows, bags.column(_wide(weights)))
    y = bags.sums(bags.kept(rows))
    y = calls.div(y, bags.divisors(y.dtype)) if mode == 1 else y
    saved = {(bags.n,): bags.bag, (bags.count,): bags.sizes()} if bags.n != bags.count else {}
    others = [cast(saved[shape], dtype) if shape in saved else full(shape, dtype, 0)
              for dtype, shape in c.results[1:]]
    return cast(y, c.dtype), *others


@lowers("aten._embedding_bag_backward.default")
def _by_table(c: Call, g: Array, indices: Array, offsets: Array, offset2bag: Array,
              bag_size: Array, most: Array, num_weights: int, scale: bool, mode: int, sparse: bool,
              weights: Array | None, padding_idx: int = -1) -> Array:
    refuse(mode == 2 or sparse or scale, "sparse gradients, or scaled, or of largest elements")
    bags = _Bags(indices, offsets, g.shape[0], padding_idx)
    g = _wide(g)
    rows = bags.spread(calls.div(g, bags.divisors(g.dtype)) if mode == 1 else g)
    if weights is not None:
        rows = calls.mul(rows, bags.column(_wide(weights)))
    to = _along(_strict(indices, num_weights), 0, rows.shape)
    zeros = calls.expand(operand(0, rows.dtype), c.shape)
    return cast(calls.scatter(zeros, to, bags.kept(rows), 0, calls.SCATTER_ADD), c.dtype)


@lowers("aten._embedding_bag_per_sample_weights_backward.default")
def _by_weights(c: Call, g: Array, table: Array, indices: Array, offsets: Array,
                offset2bag: Array, mode: int, padding_idx: int = -1) -> Array:
    refuse(mode != 0, "weights of other bags than sums")
    bags = _Bags(indices, offsets, g.shape[0], padding_idx)
    product = calls.mul(bags.spread(_wide(g)), _wide(_taken(table, indices)))
    return cast(calls.reduce_sum(bags.kept(product), [1]), c.dtype)
