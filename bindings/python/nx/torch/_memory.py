# SPDX-License-Identifier: ISC
"""Tensors of PyTorch as arguments of a call, and its results as tensors, on the processor both
without a copy, on a GPU with one on it, on the streams of both (DLPack).

An argument is lent: an immutable import, which nothing writes, as the call is over when it
returns. Sharing it through DLPack would expose it, and every operation on it would run alone. A
result is given through DLPack, and its memory is PyTorch's until the tensor is dropped."""

from __future__ import annotations

from typing import Any, Sequence

import torch

from .. import _core
from .._core import Array, calls
from ._lowering import TO_NX, Place

_take = torch._C._from_dlpack
_PLAIN = torch.Tensor, torch.nn.Parameter  # classes of tensors that are memory alone


def lend(t: torch.Tensor, place: Place) -> Array:
    if place.lifts(t):
        t = t.to(place.device)
    if t._is_zerotensor():  # which has no memory
        t = torch.zeros(t.shape, dtype=t.dtype, device=t.device)
    if t.is_conj():
        t = t.resolve_conj()
    if t.is_neg():
        t = t.resolve_neg()
    if place.is_gpu:
        return _core.from_dlpack(t.detach())
    address = t.data_ptr()
    if address % t.itemsize:
        t = t.clone()
        address = t.data_ptr()
    return _core.lent(address, TO_NX[t.dtype], t.shape, t.stride(), t)


def lend_all(tensors: list[torch.Tensor], place: Place) -> list[Array]:
    if place.is_gpu:
        return [lend(t, place) for t in tensors]
    arrays, missing = _core.lend_all(_PLAIN, tensors)
    if not missing:
        return arrays
    return [lend(t, place) if x is None else x for t, x in zip(tensors, arrays)]


def order_of(result: Any) -> list[int] | tuple[int, ...] | None:
    """How the elements of a result shall lie: None in C order, a list of the axes, the outermost
    first, in another order; a tuple of strides where they are not beside each other."""
    shape, strides = tuple(result.shape), tuple(result.stride())
    axes = sorted(range(len(shape)), key=lambda i: (-strides[i], i))
    step = 1
    for a in reversed(axes):
        if shape[a] != 1 and strides[a] != step:
            return None if 0 in shape else strides
        step *= shape[a]
    moved = [a for a in axes if shape[a] != 1]
    return None if moved == sorted(moved) else axes


def _spread(t: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """A copy with these strides, some of which may be 0."""
    made = torch.empty_strided(t.shape, strides, dtype=t.dtype, device=t.device)
    to = made
    for i, step in enumerate(strides):
        if step == 0:
            to, t = to.narrow(i, 0, 1), t.narrow(i, 0, 1)
    to.copy_(t)
    return made


def in_order(x: Array, order: Sequence[int] | None) -> Array:
    """What is computed for a result: the elements as they shall lie."""
    return calls.permute(x, order) if isinstance(order, list) else x


def _taken(x: Array, place: Place) -> torch.Tensor:
    if place.is_gpu:
        stream = torch.cuda.current_stream(place.device).cuda_stream or 1
        return _take(x.__dlpack__(stream=stream))
    try:
        return _take(x.__dlpack__(dl_device=(1, 0)))
    except _core.NotWritable:  # it is an argument, which was lent
        return _take(calls.copy(x).__dlpack__(dl_device=(1, 0)))


class Layout:
    """How the elements of a result lie."""

    def __init__(self, result: torch.Tensor) -> None:
        self.shape, self.strides = tuple(result.shape), tuple(result.stride())
        self.order = order_of(result)
        self.bytes = b"".join(s.to_bytes(8, "little") for s in self.strides)


def give(x: Array, to: Layout, place: Place) -> torch.Tensor:
    """A tensor of its own, not a view of one: PyTorch may have to write it in place."""
    t = _taken(x, place)
    if isinstance(to.order, tuple):
        return _spread(t, to.order)
    return t if t.stride() == to.strides else t.as_strided_(to.shape, to.strides)


def give_all(arrays: tuple[Array, ...], layouts: list[Layout], place: Place) -> list[torch.Tensor]:
    if place.is_gpu:
        return [give(x, to, place) for x, to in zip(arrays, layouts)]
    tensors, missing = _core.give_all(torch.Tensor, arrays, [to.bytes for to in layouts])
    if not missing:
        return tensors
    return [give(x, to, place) if t is None else t for t, x, to in zip(tensors, arrays, layouts)]
