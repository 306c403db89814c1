# SPDX-License-Identifier: ISC
"""What PyTorch traces in place of operations: its own decompositions, and some that it has not."""

from __future__ import annotations

import functools
from typing import Any, Callable

import torch
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._prims_common import compute_elementwise_output_strides

from ._lowering import TABLE

aten = torch.ops.aten

# Operations of PyTorch that become others, beside those outside of its core set.
_DECOMPOSED = """_batch_norm_with_update _batch_norm_with_update_functional _log_softmax
_native_batch_norm_legit _native_batch_norm_legit_functional _native_batch_norm_legit_no_training
_softmax addcdiv addcmul elu gelu hardsigmoid hardswish hardtanh leaky_relu log_sigmoid_forward
native_batch_norm native_group_norm native_layer_norm roll softplus tril triu upsample_linear1d
upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d upsample_nearest1d upsample_nearest2d
upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
grid_sampler_2d pixel_shuffle reflection_pad2d glu std lerp""".split()


@functools.cache
def decompositions() -> dict[Any, Callable]:
    table = dict(core_aten_decompositions())
    packets = [getattr(aten, n) for n in _DECOMPOSED if hasattr(aten, n)]
    table.update(get_decompositions(packets))
    for target in TABLE:
        table.pop(target, None)
    # drawn by PyTorch, with the numbers that its seed gives
    table.pop(aten.bernoulli.default, None)
    table[aten.native_dropout.default] = _dropout
    table[aten._transformer_encoder_layer_fwd.default] = _encoder_layer
    table[aten.grid_sampler_2d_backward.default] = _grid_sampler_2d_backward
    return table


def _dropout(x: torch.Tensor, p: float, train: bool | None) -> Any:
    """With numbers of PyTorch, which need nothing of x but its form: they are all drawn first, in
    the order of the elements in memory."""
    if train is False or x.numel() == 0:
        return NotImplemented
    strides = compute_elementwise_output_strides(x)
    order = sorted(range(x.ndim), key=lambda i: -strides[i])
    shape = [x.shape[i] for i in order]
    form = aten.empty.memory_format(shape, dtype=torch.bool, device=x.device)
    mask = aten.bernoulli.p(form, 1 - p)
    if order != list(range(x.ndim)):
        mask = mask.permute(sorted(range(x.ndim), key=order.__getitem__))
    return x * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


# ---- layers of transformers, which PyTorch has as one operation for inference

def _attend(x: torch.Tensor, heads: int, qkv: tuple, proj: tuple, mask: Any,
            kind: int | None) -> torch.Tensor:
    """Attention of a sequence to itself. Masks are true where nothing is to be seen: kind 0 of
    pairs of places, 1 of places, 2 of both for each head."""
    n, length, width = x.shape
    q, k, v = (part.reshape(n, length, heads, width // heads).transpose(1, 2)
               for part in torch.nn.functional.linear(x, *qkv).chunk(3, -1))
    if mask is not None and mask.dtype == torch.bool:
        mask = mask.logical_not()
    if mask is not None and kind == 1:
        mask = mask.reshape(n, 1, 1, length)
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return torch.nn.functional.linear(y.transpose(1, 2).reshape(n, length, width), *proj)


def _encoder_layer(x: torch.Tensor, width: int, heads: int, qkv_weight: Any, qkv_bias: Any,
                   proj_weight: Any, proj_bias: Any, use_gelu: bool, norm_first: bool, eps: float,
                   weight_1: Any, bias_1: Any, weight_2: Any, bias_2: Any, ffn_weight_1: Any,
                   ffn_bias_1: Any, ffn_weight_2: Any, ffn_bias_2: Any, mask: Any = None,
                   mask_type: int | None = None) -> Any:
    if x.is_nested or x.ndim != 3:
        return NotImplemented
    f = torch.nn.functional
    first = lambda x: f.layer_norm(x, (width,), weight_1, bias_1, eps)  # noqa: E731
    second = lambda x: f.layer_norm(x, (width,), weight_2, bias_2, eps)  # noqa: E731

    def attend(x: torch.Tensor) -> torch.Tensor:
        return _attend(x, heads, (qkv_weight, qkv_bias), (proj_weight, proj_bias), mask, mask_type)

    def feed(x: torch.Tensor) -> torch.Tensor:
        y = f.linear(x, ffn_weight_1, ffn_bias_1)
        return f.linear(f.gelu(y) if use_gelu else f.relu(y), ffn_weight_2, ffn_bias_2)

    if norm_first:
        x = x + attend(first(x))
        return x + feed(second(x))
    x = first(x + attend(x))
    return second(x + feed(x))


# ---- the gradient of grid_sample

def _reflected(x: torch.Tensor, low: float, high: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Places thrown back at both ends, and by what their gradients are multiplied."""
    span = high - low
    if span <= 0:
        return torch.zeros_like(x), torch.zeros_like(x)
    far = x - low
    sign = torch.where(far < 0, -1.0, 1.0)
    far = far.abs()
    turns, rest = torch.floor(far / span), torch.fmod(far, span)
    even = torch.remainder(turns, 2) == 0
    return torch.where(even, rest + low, high - rest), torch.where(even, sign, -sign)


def _places(x: torch.Tensor, extent: int, padding: int,
            align: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Places in pixels of those from -1 to 1, and their derivative."""
    scale = (extent - 1) / 2 if align else extent / 2
    at = (x + 1) * scale - (0.0 if align else 0.5)
    slope = torch.full_like(at, scale)
    if padding == 2:
        ends = (0.0, extent - 1.0) if align else (-0.5, extent - 0.5)
        at, sign = _reflected(at, *ends)
        slope = slope * sign
    if padding != 0:
        inside = (at > 0) & (at < extent - 1)
        at, slope = at.clamp(0, extent - 1), torch.where(inside, slope, 0.0)
    return at, slope


def _corner(image: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Of the pixel at places that are whole: whether there is one, its number, its values."""
    (n, c, h, w), p = image.shape, x.shape[1]
    there = (x >= 0) & (x < w) & (y >= 0) & (y < h)
    number = torch.where(there, y * w + x, 0.0).to(torch.int64)
    number = number[:, None].expand(n, c, p)
    values = image.reshape(n, c, h * w).gather(2, number)
    return there, number, values


def _grid_sampler_2d_backward(g: torch.Tensor, image: torch.Tensor, grid: torch.Tensor, mode: int,
                              padding: int, align: bool, wanted: list[bool]) -> Any:
    (n, c, h, w), p = image.shape, grid.shape[1] * grid.shape[2]
    if mode == 2 or image.dtype not in (torch.float32, torch.float64) or 0 in (n, c, h, w, p):
        return NotImplemented
    flat, g = grid.reshape(n, p, 2), g.reshape(n, c, p)
    x, slope_x = _places(flat[..., 0], w, padding, align)
    y, slope_y = _places(flat[..., 1], h, padding, align)
    left, top = (x.round(), y.round()) if mode == 1 else (x.floor(), y.floor())
    right, low = x - left, y - top
    by_image = torch.zeros_like(g[..., :1]).expand(n, c, h * w)
    by_x, by_y = torch.zeros_like(x), torch.zeros_like(y)
    for dx in ((0,) if mode == 1 else (0, 1)):
        for dy in ((0,) if mode == 1 else (0, 1)):
            there, number, values = _corner(image, left + dx, top + dy)
            across = torch.ones_like(x) if mode == 1 else right if dx else 1 - right
            down = torch.ones_like(y) if mode == 1 else low if dy else 1 - low
            weight = torch.where(there, across * down, 0.0)
            by_image = by_image.scatter_add(2, number, g * weight[:, None])
            if mode == 0:
                part = torch.where(there, (g * values).sum(1), 0.0)
                by_x = by_x + part * down * (1 if dx else -1)
                by_y = by_y + part * across * (1 if dy else -1)
    by_grid = torch.stack([by_x * slope_x, by_y * slope_y], -1).reshape(grid.shape)
    return by_image.reshape(image.shape) if wanted[0] else None, by_grid if wanted[1] else None
