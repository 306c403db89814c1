# SPDX-License-Identifier: ISC
"""Operations that move elements, or make tensors of numbers."""

from __future__ import annotations

from typing import Any

from .. import _core
from ._lowering import (FLOAT64, Array, Call, arange, axis_of, calls, cast, full,
                        in_line, lowers, operand, refuse)
from ._memory import order_of


# ---- shapes

@lowers("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default",
        "aten._reshape_alias.default", "aten.unsqueeze.default", "aten.squeeze.default",
        "aten.squeeze.dim", "aten.squeeze.dims", "aten.view_copy.default")
def _reshape(c: Call, x: Array, *unused: Any) -> Array:
    return calls.reshape(x, c.shape, calls.MAY_COPY)


@lowers("aten.expand.default", "aten.broadcast_to.default")
def _expand(c: Call, x: Array, size: Any, implicit: bool = False) -> Array:
    return calls.expand(x, c.shape)


@lowers("aten.permute.default", "aten.permute_copy.default")
def _permute(c: Call, x: Array, dims: Any) -> Array:
    return calls.permute(x, [axis_of(d, x.ndim) for d in dims])


@lowers("aten.transpose.int")
def _transpose(c: Call, x: Array, a: int, b: int) -> Array:
    if x.ndim == 0:
        return x
    axes = list(range(x.ndim))
    axes[a], axes[b] = axes[b], axes[a]
    return calls.permute(x, axes)


@lowers("aten.t.default")
def _t(c: Call, x: Array) -> Array:
    return calls.permute(x, (1, 0)) if x.ndim == 2 else x


@lowers("aten.alias.default", "aten.detach.default", "prims.view_of.default",
        "aten.lift_fresh.default")
def _alias(c: Call, x: Array) -> Array:
    return x


@lowers("aten.clone.default", "aten.lift_fresh_copy.default", "aten.contiguous.default")
def _clone(c: Call, x: Array, memory_format: Any = None) -> Array:
    return calls.copy(x)


@lowers("aten.flip.default")
def _flip(c: Call, x: Array, dims: Any) -> Array:
    return calls.flip(x, [axis_of(d, x.ndim) for d in dims]) if x.ndim else x


@lowers("aten.repeat.default")
def _repeat(c: Call, x: Array, repeats: Any) -> Array:
    extents = (1,) * (len(repeats) - x.ndim) + x.shape
    apart = [e for r, n in zip(repeats, extents) for e in (1, n)]
    wide = [e for r, n in zip(repeats, extents) for e in (r, n)]
    y = calls.expand(calls.reshape(x, apart, calls.MAY_COPY), wide)
    return calls.reshape(y, c.shape, calls.MAY_COPY)


@lowers("aten.diagonal.default", "aten.diagonal_copy.default")
def _diagonal(c: Call, x: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    return calls.diagonal(x, offset, dim1, dim2)


@lowers("aten.diagonal_scatter.default")
def _diagonal_scatter(c: Call, x: Array, src: Array, offset: int = 0, dim1: int = 0,
                      dim2: int = 1) -> Array:
    y = calls.copy(x)
    calls.diagonal(y, offset, dim1, dim2)[...] = cast(src, x.dtype)
    return y


@lowers("aten.cat.default")
def _cat(c: Call, tensors: Any, dim: int = 0) -> Array:
    parts = [cast(t, c.dtype) for t in tensors if t.shape != (0,) or len(c.shape) == 1]
    return calls.cat(parts, axis_of(dim, len(c.shape)))


@lowers("aten.stack.default")
def _stack(c: Call, tensors: Any, dim: int = 0) -> Array:
    at = axis_of(dim, len(c.shape))
    shape = (*c.shape[:at], 1, *c.shape[at + 1:])
    return calls.cat([calls.reshape(cast(t, c.dtype), shape, calls.MAY_COPY) for t in tensors], at)


@lowers("aten.constant_pad_nd.default")
def _constant_pad(c: Call, x: Array, pad: Any, value: Any = 0) -> Array:
    before, after = [0] * x.ndim, [0] * x.ndim
    for i in range(len(pad) // 2):
        before[-1 - i], after[-1 - i] = pad[2 * i], pad[2 * i + 1]
    if min(*before, *after, 0) < 0:  # what is cut off may be all there is
        start = [max(0, -b) for b in before]
        stop = [max(s, n + min(0, a)) for s, n, a in zip(start, x.shape, after)]
        x = calls.shrink(x, start, stop)
    return calls.pad(x, [max(0, b) for b in before], [max(0, a) for a in after], value)


# ---- parts

def part(x: Array, dim: int, start: int, count: int, step: int = 1) -> Array:
    """count elements along an axis, step apart: a view."""
    starts, counts, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[dim], counts[dim], steps[dim] = (start, count, step) if count else (0, 0, 1)
    return calls.slice(x, starts, counts, steps)


def _from(start: int | None, extent: int) -> int:
    start = 0 if start is None else start
    return min(max(start + extent if start < 0 else start, 0), extent)


@lowers("aten.slice.Tensor")
def _slice(c: Call, x: Array, dim: int = 0, start: int | None = None, end: int | None = None,
           step: int = 1) -> Array:
    dim = axis_of(dim, x.ndim)
    return part(x, dim, _from(start, x.shape[dim]), c.shape[dim], step)


@lowers("aten.narrow_copy.default")
def _narrow(c: Call, x: Array, dim: int, start: int, length: int) -> Array:
    dim = axis_of(dim, x.ndim)
    return part(x, dim, start + x.shape[dim] if start < 0 else start, length)


@lowers("aten.slice_scatter.default")
def _slice_scatter(c: Call, x: Array, src: Array, dim: int = 0, start: int | None = None,
                   end: int | None = None, step: int = 1) -> Array:
    dim = axis_of(dim, x.ndim)
    begin, stop = _from(start, x.shape[dim]), x.shape[dim] if end is None else end
    count = max(0, -(-(_from(stop, x.shape[dim]) - begin) // step))
    y = calls.copy(x)
    if count:
        part(y, dim, begin, count, step)[...] = cast(src, x.dtype)
    return y


@lowers("aten.select.int")
def _select(c: Call, x: Array, dim: int, index: int) -> Array:
    dim = axis_of(dim, x.ndim)
    refuse(not -x.shape[dim] <= index < x.shape[dim], "the index is out of range")
    at = index + x.shape[dim] if index < 0 else index
    return calls.reshape(part(x, dim, at, 1), c.shape, calls.MAY_COPY)


@lowers("aten.select_scatter.default")
def _select_scatter(c: Call, x: Array, src: Array, dim: int, index: int) -> Array:
    dim = axis_of(dim, x.ndim)
    at = index + x.shape[dim] if index < 0 else index
    y = calls.copy(x)
    shape = (*x.shape[:dim], 1, *x.shape[dim + 1:])
    part(y, dim, at, 1)[...] = calls.reshape(cast(src, x.dtype), shape, calls.MAY_COPY)
    return y


@lowers("aten.split_with_sizes.default", "aten.split.Tensor", "aten.unsafe_split.Tensor")
def _split(c: Call, x: Array, sizes: Any, dim: int = 0) -> tuple[Array, ...]:
    dim, at, parts = axis_of(dim, x.ndim), 0, []
    for _, shape in c.results:
        parts.append(part(x, dim, at, shape[dim]))
        at += shape[dim]
    return tuple(parts)


@lowers("aten.unbind.int", "aten.unbind_copy.int")
def _unbind(c: Call, x: Array, dim: int = 0) -> tuple[Array, ...]:
    dim = axis_of(dim, x.ndim)
    return tuple(calls.reshape(part(x, dim, i, 1), shape, calls.MAY_COPY)
                 for i, (_, shape) in enumerate(c.results))


@lowers("aten.unfold.default")
def _unfold(c: Call, x: Array, dim: int, size: int, step: int) -> Array:
    if x.ndim == 0:
        return calls.expand(calls.reshape(x, (1,)), c.shape)
    dim = axis_of(dim, x.ndim)
    axes = [i for i in range(x.ndim) if i != dim] + [dim]
    y = _core.unfold(calls.permute(x, axes), (size,), (step,), (1,), (0,), (0,))
    rank = y.ndim
    order = list(range(dim)) + [rank - 1] + list(range(dim, rank - 2)) + [rank - 2]
    return calls.permute(y, order)



class _Memory:
    """A tensor as its memory, which is known where its elements lie beside each other."""

    def __init__(self, c: Call, x: Array, size: Any, stride: Any, offset: int | None) -> None:
        val = c.node.args[0].meta["val"]
        order = order_of(val)
        self.offset = val.storage_offset() if offset is None else offset
        reach = self.offset + sum((n - 1) * s for n, s in zip(size, stride))
        refuse(isinstance(order, tuple) or val.storage_offset() != 0 or 0 in size
               or reach >= x.size, "memory beside the tensor")
        self.order = list(range(x.ndim)) if order is None else order
        turned = calls.permute(x, self.order)
        self.shape = turned.shape
        self.line = calls.copy(in_line(turned))

    def whole(self) -> Array:
        back = sorted(range(len(self.order)), key=self.order.__getitem__)
        return calls.permute(calls.reshape(self.line, self.shape, calls.MAY_COPY), back)


@lowers("aten.as_strided.default", "aten.as_strided_copy.default")
def _as_strided(c: Call, x: Array, size: Any, stride: Any, storage_offset: Any = None) -> Array:
    memory = _Memory(c, x, size, stride, storage_offset)
    return calls.as_strided(memory.line, size, stride, memory.offset)


@lowers("aten.as_strided_scatter.default")
def _as_strided_scatter(c: Call, x: Array, src: Array, size: Any, stride: Any,
                        storage_offset: Any = None) -> Array:
    memory = _Memory(c, x, size, stride, storage_offset)
    calls.as_strided(memory.line, size, stride, memory.offset)[...] = cast(src, x.dtype)
    return memory.whole()


# ---- sources

@lowers("aten.full.default", "aten.full_like.default", "aten.new_full.default")
def _full(c: Call, like: Any, *args: Any, **options: Any) -> Array:
    value = args[-1] if args else options["fill_value"]
    return full(c.shape, c.dtype, value)


@lowers("aten.scalar_tensor.default")
def _scalar_tensor(c: Call, value: Any, **options: Any) -> Array:
    return operand(value, c.dtype)


@lowers("aten.empty.memory_format", "aten.empty_like.default", "aten.zeros.default",
        "aten.zeros_like.default", "aten.new_zeros.default", "aten.new_empty.default",
        "aten.empty_permuted.default", "aten.new_empty_strided.default",
        "aten.empty_strided.default", "aten._efficientzerotensor.default")
def _zeros(c: Call, *args: Any, **options: Any) -> Array:
    return full(c.shape, c.dtype, 0)


@lowers("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")
def _ones(c: Call, *args: Any, **options: Any) -> Array:
    return full(c.shape, c.dtype, 1)


def _range(c: Call, start: Any, step: Any) -> Array:
    if c.dtype.kind in "iu":
        return arange(c.dtype, int(start), int(step), c.shape[0])
    return cast(arange(FLOAT64, float(start), float(step), c.shape[0]), c.dtype)


@lowers("aten.arange.start_step")
def _arange(c: Call, start: Any, end: Any, step: Any = 1, **options: Any) -> Array:
    return _range(c, start, step)


@lowers("prims.iota.default")
def _iota(c: Call, length: int, *, start: int, step: int, **options: Any) -> Array:
    return _range(c, start, step)


@lowers("aten.copy.default")
def _copy(c: Call, x: Array, src: Array, non_blocking: bool = False) -> Array:
    return calls.copy(calls.expand(cast(src, c.dtype), c.shape))


@lowers("aten.fill.Scalar")
def _fill(c: Call, x: Array, value: Any) -> Array:
    return full(c.shape, c.dtype, value)
