# SPDX-License-Identifier: ISC
"""Operations that address elements by tensors of numbers. PyTorch refuses a number out of range
where it runs; so does nx (`nx.IndexOutOfRange`, an IndexError)."""

from __future__ import annotations

import math
from typing import Any

from .._core import DType
from ._lowering import (BOOL, INT64, Array, Call, arange, axis_of, calls, cast, full,
                        in_line, lowers, operand, refuse)


def _strict(index: Array, extent: int) -> Array:
    """Numbers below 0, which nx counts from the end and PyTorch refuses, made too large."""
    refuse(index.dtype.kind not in "iu", "indices that are no integers")
    index = cast(index, INT64)
    return calls.where(calls.cmplt(index, operand(0, INT64)), operand(extent, INT64), index)


def _along(index: Array, axis: int, shape: tuple[int, ...]) -> Array:
    """Numbers of rank 1 along an axis, for every line of a tensor of that shape."""
    n = index.size
    line = calls.reshape(index, [n if i == axis else 1 for i in range(len(shape))], calls.MAY_COPY)
    return calls.expand(line, [n if i == axis else e for i, e in enumerate(shape)])


@lowers("aten.gather.default")
def _gather(c: Call, x: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    if index.size == 0:
        return full(c.shape, c.dtype, 0)
    if x.ndim == 0 or index.ndim == 0:
        return calls.reshape(_gather(c, _line(x), 0, _line(index)), c.shape, calls.MAY_COPY)
    dim = axis_of(dim, x.ndim)
    return calls.gather(x, _strict(index, x.shape[dim]), dim)


def _line(x: Array) -> Array:
    return calls.reshape(x, (1,), calls.MAY_COPY) if x.ndim == 0 else x


@lowers("aten.index_select.default")
def _index_select(c: Call, x: Array, dim: int, index: Array) -> Array:
    x, index = _line(x), _line(index)
    dim = axis_of(dim, x.ndim)
    y = calls.gather(x, _along(_strict(index, x.shape[dim]), dim, x.shape), dim)
    return calls.reshape(y, c.shape, calls.MAY_COPY)


@lowers("aten.embedding.default")
def _embedding(c: Call, weight: Array, indices: Array, padding_idx: int = -1,
               scale_grad_by_freq: bool = False, sparse: bool = False) -> Array:
    line = in_line(indices)
    rows = calls.gather(weight, _along(_strict(line, weight.shape[0]), 0, weight.shape), 0)
    return calls.reshape(rows, c.shape, calls.MAY_COPY)


# ---- lists of indices

class _Listed:
    """x[i, :, j], say, as rows of a matrix: the axes with indices are joined in front."""

    def __init__(self, x: Array, indices: Any) -> None:
        indices = list(indices) + [None] * (x.ndim - len(indices))
        refuse(any(i is not None and i.dtype.kind not in "iu" for i in indices),
               "a mask, which addresses any number of elements")
        refuse(any(i is not None and i.dtype.name == "uint8" for i in indices), "a mask of uint8")
        self.x = x
        self.axes = [a for a, i in enumerate(indices) if i is not None]
        self.rest = [a for a, i in enumerate(indices) if i is None]
        self.given = [cast(i, INT64) for i in indices if i is not None]
        refuse(not self.given, "no indices")
        rank = max(i.ndim for i in self.given)
        shapes = [(1,) * (rank - i.ndim) + i.shape for i in self.given]
        self.shape = tuple(max(e) if 0 not in e else 0 for e in zip(*shapes)) if rank else ()
        self.order = self.axes + self.rest
        self.total = math.prod(x.shape[a] for a in self.axes)
        self.width = math.prod(x.shape[a] for a in self.rest)
        self.count = math.prod(self.shape)
        beside = self.axes == list(range(self.axes[0], self.axes[0] + len(self.axes)))
        self.at = self.axes[0] if beside else 0

    def rows(self) -> Array:
        turned = calls.permute(self.x, self.order)
        return calls.reshape(turned, (self.total, self.width), calls.MAY_COPY)

    def numbers(self) -> Array:
        """The row of each element, as many times as it is wide. One list is taken as it is, so that
        an error names the number that was given; several name the row beyond the last."""
        if len(self.given) == 1:
            return self._wide(self.given[0])
        flat, bad = operand(0, INT64), operand(False, BOOL)
        for axis, index in zip(self.axes, self.given):
            n = operand(self.x.shape[axis], INT64)
            index = calls.where(calls.cmplt(index, operand(0, INT64)), calls.add(index, n), index)
            out = getattr(calls, "or")(calls.cmplt(index, operand(0, INT64)), calls.cmple(n, index))
            flat, bad = calls.add(calls.mul(flat, n), index), getattr(calls, "or")(bad, out)
        return self._wide(calls.where(bad, operand(self.total, INT64), flat))

    def _wide(self, flat: Array) -> Array:
        flat = calls.reshape(calls.expand(flat, self.shape), (self.count, 1), calls.MAY_COPY)
        return calls.expand(flat, (self.count, self.width))

    def to_rows(self, values: Array, shape: tuple[int, ...]) -> Array:
        """Values of the shape of a result as rows."""
        lead = len(self.shape)
        values = calls.expand(values, shape)
        axes = list(range(self.at, self.at + lead))
        axes += [i for i in range(len(shape)) if i not in axes]
        return calls.reshape(calls.permute(values, axes), (self.count, self.width), calls.MAY_COPY)

    def result_shape(self) -> tuple[int, ...]:
        rest = [self.x.shape[a] for a in self.rest]
        return (*rest[:self.at], *self.shape, *rest[self.at:])

    def from_rows(self, rows: Array) -> Array:
        rest = [self.x.shape[a] for a in self.rest]
        lead = len(self.shape)
        y = calls.reshape(rows, (*self.shape, *rest), calls.MAY_COPY)
        axes = [*range(lead, lead + self.at), *range(lead), *range(lead + self.at, y.ndim)]
        return calls.permute(y, axes)


@lowers("aten.index.Tensor", "aten._unsafe_index.Tensor")
def _index(c: Call, x: Array, indices: Any) -> Array:
    listed = _Listed(x, indices)
    refuse(listed.total == 0 and listed.count > 0, "elements of nothing")
    if len(listed.given) == 1:
        dim = listed.axes[0]
        y = calls.gather(x, _along(in_line(listed.given[0]), dim, x.shape), dim)
        return calls.reshape(y, c.shape, calls.MAY_COPY)
    return listed.from_rows(calls.gather(listed.rows(), listed.numbers(), 0))


class _Masked:
    """x[:, m], say, for the one mask m of several axes."""

    def __init__(self, x: Array, indices: Any) -> None:
        given = [(a, i) for a, i in enumerate(indices) if i is not None]
        refuse(len(given) != 1, "a mask beside other indices")
        self.x, (self.at, mask) = x, given[0]
        self.after = x.ndim - self.at - mask.ndim
        self.mask = calls.reshape(cast(mask, BOOL), (*mask.shape, *[1] * self.after),
                                  calls.MAY_COPY)

    def put(self, values: Array, accumulate: bool) -> Array:
        """Values which are the same for every element of the mask, whose number nobody knows."""
        refuse(values.ndim > self.after and values.shape[values.ndim - self.after - 1] != 1,
               "a value for each element of a mask")
        at = max(0, values.ndim - self.after - 1)
        ones = [1] * (self.x.ndim - self.at - self.after) if values.ndim > self.after else []
        shape = (*values.shape[:at], *ones, *values.shape[at + (1 if ones else 0):])
        values = calls.reshape(cast(values, self.x.dtype), shape, calls.MAY_COPY)
        values = calls.add(self.x, values) if accumulate else values
        return calls.where(self.mask, calls.expand(values, self.x.shape), self.x)


def _has_mask(indices: Any) -> bool:
    return any(i is not None and i.dtype.name in ("bool", "uint8") for i in indices)


@lowers("aten.index_put.default", "aten._unsafe_index_put.default", "aten._index_put_impl.default")
def _index_put(c: Call, x: Array, indices: Any, values: Array, accumulate: bool = False,
               unsafe: bool = False) -> Array:
    if 0 in x.shape and values.size <= 1:
        return x
    if _has_mask(indices):
        return _Masked(x, indices).put(values, accumulate)
    listed = _Listed(x, indices)
    refuse(0 in x.shape, "elements of nothing")
    mode = calls.SCATTER_ADD if accumulate else calls.SCATTER_SET
    y = calls.scatter(listed.rows(), listed.numbers(),
                      listed.to_rows(cast(values, x.dtype), listed.result_shape()), 0, mode)
    y = calls.reshape(y, [x.shape[a] for a in listed.order], calls.MAY_COPY)
    back = sorted(range(x.ndim), key=listed.order.__getitem__)
    return calls.permute(y, back)


# ---- scatters

def _scattered(c: Call, x: Array, dim: int, index: Array, src: Any, mode: int) -> Array:
    if x.ndim == 0:
        y = _scattered(c, _line(x), 0, _line(index), _line(src), mode)
        return calls.reshape(y, (), calls.MAY_COPY)
    if index.size == 0:
        return calls.copy(x)
    index = _line(index)
    dim = axis_of(dim, x.ndim)
    src = cast(_line(src), x.dtype)
    if src.shape != index.shape:
        src = calls.shrink(src, [0] * src.ndim, index.shape)
    return calls.scatter(x, _strict(index, x.shape[dim]), src, dim, mode)


@lowers("aten.scatter.src")
def _scatter(c: Call, x: Array, dim: int, index: Array, src: Array) -> Array:
    return _scattered(c, x, dim, index, src, calls.SCATTER_SET)


@lowers("aten.scatter.value")
def _scatter_value(c: Call, x: Array, dim: int, index: Array, value: Any) -> Array:
    src = calls.expand(operand(value, x.dtype), index.shape)
    return _scattered(c, x, dim, index, src, calls.SCATTER_SET)


@lowers("aten.scatter_add.default")
def _scatter_add(c: Call, x: Array, dim: int, index: Array, src: Array) -> Array:
    return _scattered(c, x, dim, index, src, calls.SCATTER_ADD)


_REDUCTIONS = {"sum": calls.SCATTER_ADD, "prod": calls.SCATTER_MUL, "amax": calls.SCATTER_MAX,
               "amin": calls.SCATTER_MIN, "add": calls.SCATTER_ADD, "multiply": calls.SCATTER_MUL}


def _neutral(reduce: str, dtype: DType) -> Any:
    if reduce in ("sum", "mean", "prod"):
        return 1 if reduce == "prod" else 0
    if dtype.kind == "f":
        return -math.inf if reduce == "amax" else math.inf
    if dtype.kind == "b":
        return reduce == "amin"
    low = -(1 << (dtype.bits - 1)) if dtype.kind == "i" else 0
    return low if reduce == "amax" else low + (1 << dtype.bits) - 1


def _filled(x: Array, value: Any, dtype: DType) -> Array:
    return calls.expand(operand(value, dtype), x.shape)


@lowers("aten.scatter_reduce.two")
def _scatter_reduce(c: Call, x: Array, dim: int, index: Array, src: Array, reduce: str, *,
                    include_self: bool = True) -> Array:
    if index.size == 0:
        return calls.copy(x)
    begin = x
    if not include_self:
        touched = _scattered(c, _filled(x, False, BOOL), dim, index, _filled(index, True, BOOL),
                             calls.SCATTER_SET)
        begin = calls.where(touched, operand(_neutral(reduce, x.dtype), x.dtype), x)
    y = _scattered(c, begin, dim, index, src, _REDUCTIONS["sum" if reduce == "mean" else reduce])
    if reduce != "mean":
        return y
    number = INT64 if x.dtype.kind in "iu" else x.dtype
    counts = _scattered(c, _filled(x, int(include_self), number), dim, index,
                        _filled(index, 1, number), calls.SCATTER_ADD)
    counts = cast(calls.max(counts, operand(1, number)), x.dtype)
    return calls.floor_div(y, counts) if x.dtype.kind in "iu" else calls.div(y, counts)


@lowers("aten.index_reduce.default")
def _index_reduce(c: Call, x: Array, dim: int, index: Array, source: Array, reduce: str, *,
                  include_self: bool = True) -> Array:
    line, source = _line(x), _line(source)
    dim = axis_of(dim, line.ndim)
    refuse(source.ndim != line.ndim, "a source of another rank")
    y = _scatter_reduce(c, line, dim, _along(_line(index), dim, source.shape), source,
                        "sum" if reduce == "add" else reduce, include_self=include_self)
    return calls.reshape(y, x.shape, calls.MAY_COPY)


# ---- masks whose elements are taken one after the other

def _ranks(mask: Array) -> Array:
    """For each element of a mask, in one line, how many are true before it."""
    line = in_line(mask)
    counts = calls.associative_scan(cast(line, INT64), calls.SCAN_SUM, 0)
    return calls.sub(counts, operand(1, INT64))


@lowers("aten.masked_scatter.default")
def _masked_scatter(c: Call, x: Array, mask: Array, source: Array) -> Array:
    x, mask = calls.expand(x, c.shape), calls.expand(cast(mask, BOOL), c.shape)
    refuse(source.size == 0 or x.size == 0, "elements of nothing")
    line = in_line(mask)
    places = calls.where(line, _ranks(mask), operand(0, INT64))
    taken = calls.gather(in_line(source), places, 0)
    return calls.where(mask, calls.reshape(taken, c.shape, calls.MAY_COPY), x)


@lowers("aten.masked_scatter_backward.default")
def _masked_scatter_backward(c: Call, g: Array, mask: Array, sizes: Any) -> Array:
    n, mask = math.prod(c.shape), calls.expand(cast(mask, BOOL), g.shape)
    refuse(g.size == 0, "elements of nothing")
    line = in_line(mask)
    places = calls.where(line, _ranks(mask), operand(n, INT64))  # n: beside the result
    y = calls.scatter(calls.expand(operand(0, g.dtype), (n + 1,)), places,
                      in_line(g), 0, calls.SCATTER_ADD)
    return calls.reshape(calls.shrink(y, [0], [n]), c.shape, calls.MAY_COPY)


@lowers("aten.nonzero_static.default")
def _nonzero_static(c: Call, x: Array, *, size: int, fill_value: int = -1) -> Array:
    refuse(x.size == 0 or size == 0 or x.ndim == 0, "elements of nothing")
    mask, n = cast(x, BOOL), operand(x.size, INT64)
    line = in_line(mask)
    # those beyond the size, and those that are 0, go beside the result
    places = calls.where(line, _ranks(mask), operand(size, INT64))
    places = calls.min(places, operand(size, INT64))
    found = calls.scatter(calls.expand(n, (size + 1,)), places, arange(INT64, 0, 1, x.size), 0,
                          calls.SCATTER_SET)
    found, after, columns = calls.shrink(found, [0], [size]), x.size, []
    there = calls.cmplt(found, n)
    for extent in x.shape:
        after //= extent
        at = calls.mod(calls.div(found, operand(after, INT64)), operand(extent, INT64))
        at = calls.where(there, at, operand(fill_value, INT64))
        columns.append(calls.reshape(at, (size, 1), calls.MAY_COPY))
    return calls.cat(columns, 1)


# ---- elements by their number in the whole tensor

@lowers("aten.take.default")
def _take(c: Call, x: Array, index: Array) -> Array:
    if index.size == 0:
        return full(c.shape, c.dtype, 0)
    refuse(x.size == 0, "elements of nothing")
    y = calls.gather(in_line(x), in_line(cast(index, INT64)), 0)
    return calls.reshape(y, c.shape, calls.MAY_COPY)


@lowers("aten.put.default")
def _put(c: Call, x: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    if index.size == 0:
        return calls.copy(x)
    refuse(x.size == 0, "elements of nothing")
    mode = calls.SCATTER_ADD if accumulate else calls.SCATTER_SET
    y = calls.scatter(in_line(x), in_line(cast(index, INT64)), in_line(cast(source, x.dtype)), 0,
                      mode)
    return calls.reshape(y, x.shape, calls.MAY_COPY)


@lowers("aten.scatter.reduce")
def _scatter_named(c: Call, x: Array, dim: int, index: Array, src: Array, *, reduce: str) -> Array:
    return _scattered(c, x, dim, index, src, _REDUCTIONS[reduce])


@lowers("aten.scatter.value_reduce")
def _scatter_value_named(c: Call, x: Array, dim: int, index: Array, value: Any, *,
                         reduce: str) -> Array:
    src = calls.expand(operand(value, x.dtype), index.shape)
    return _scattered(c, x, dim, index, src, _REDUCTIONS[reduce])
