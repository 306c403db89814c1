# SPDX-License-Identifier: ISC
"""Products of matrices, attention, convolutions, pooling."""

from __future__ import annotations

import math
from typing import Any, Sequence

from .. import _core
from ._lowering import (FLOAT32, INT64, SMALL, Array, Call, arange, calls, cast, full, lowers,
                        operand, pairs, refuse)


@lowers("aten.mm.default", "aten.bmm.default", "aten.mv.default", "aten.dot.default")
def _mm(c: Call, a: Array, b: Array) -> Array:
    return calls.matmul(a, b)


def _plus_product(c: Call, bias: Array, a: Array, b: Array, beta: Any = 1, alpha: Any = 1) -> Array:
    dtype = FLOAT32 if c.dtype.name in SMALL and (alpha, beta) != (1, 1) else c.dtype
    y = cast(calls.matmul(a, b), dtype)
    if alpha != 1:
        y = calls.mul(operand(alpha, dtype), y)
    if beta != 0:
        bias = cast(bias, dtype)
        y = calls.add(y, bias if beta == 1 else calls.mul(operand(beta, dtype), bias))
    return cast(y, c.dtype)


@lowers("aten.addmm.default", "aten.baddbmm.default", "aten.addmv.default")
def _addmm(c: Call, bias: Array, a: Array, b: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    return _plus_product(c, bias, a, b, beta, alpha)


# ---- attention

def _turned(x: Array) -> Array:
    return calls.permute(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


def _wide(*of: Array) -> list[Array]:
    """Small floats in float32, in which all of an attention is computed."""
    return [cast(x, FLOAT32) if x.dtype.name in SMALL else x for x in of]


def _scores(q: Array, k: Array, causal: bool, mask: Array | None, scale: float) -> Array:
    scores = calls.mul(calls.matmul(q, _turned(k)), operand(scale, q.dtype))
    if mask is not None:
        if mask.dtype.kind == "b":
            mask = calls.where(mask, operand(0.0, q.dtype), operand(-math.inf, q.dtype))
        scores = calls.add(scores, cast(mask, q.dtype))
    if causal:
        rows, columns = scores.shape[-2:]
        i = calls.reshape(arange(INT64, 0, 1, rows), (rows, 1))
        ahead = calls.cmplt(i, arange(INT64, 0, 1, columns))
        scores = calls.where(ahead, operand(-math.inf, q.dtype), scores)
    return scores


@lowers("aten._scaled_dot_product_flash_attention_for_cpu.default")
def _attention(c: Call, q: Array, k: Array, v: Array, dropout_p: float = 0.0,
               is_causal: bool = False, *, attn_mask: Array | None = None,
               scale: float | None = None) -> tuple[Array, Array]:
    refuse(dropout_p != 0, "attention with dropout")
    q, k, v = _wide(q, k, v)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = _scores(q, k, is_causal, attn_mask, scale)
    peak = calls.reduce_max(scores, [-1], calls.KEEPDIMS)
    # a row without any finite score is NaN in its weights, and 0 in PyTorch's result
    some = calls.cmpne(peak, operand(-math.inf, q.dtype))
    peak = calls.where(some, peak, operand(0.0, q.dtype))
    weights = calls.exp(calls.sub(scores, peak))
    total = calls.reduce_sum(weights, [-1], calls.KEEPDIMS)
    y = calls.matmul(calls.where(some, calls.div(weights, total), operand(0.0, q.dtype)), v)
    log_total = calls.add(calls.log(total), peak)
    return cast(y, c.dtype), calls.reshape(log_total, log_total.shape[:-1], calls.MAY_COPY)


@lowers("aten._scaled_dot_product_flash_attention_for_cpu_backward.default")
def _attention_backward(c: Call, g: Array, q: Array, k: Array, v: Array, out: Array, lse: Array,
                        dropout_p: float, is_causal: bool, *, attn_mask: Array | None = None,
                        scale: float | None = None) -> tuple[Array, Array, Array]:
    refuse(dropout_p != 0, "attention with dropout")
    g, q, k, v, out = _wide(g, q, k, v, out)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    lse = calls.reshape(lse, (*lse.shape, 1), calls.MAY_COPY)
    some = calls.cmpne(lse, operand(-math.inf, q.dtype))
    weights = calls.exp(calls.sub(_scores(q, k, is_causal, attn_mask, scale), lse))
    weights = calls.where(some, weights, operand(0.0, q.dtype))
    through = calls.reduce_sum(calls.mul(g, out), [-1], calls.KEEPDIMS)
    d = calls.mul(weights, calls.sub(calls.matmul(g, _turned(v)), through))
    d = calls.mul(d, operand(scale, q.dtype))
    grads = calls.matmul(d, k), calls.matmul(_turned(d), q), calls.matmul(_turned(weights), g)
    return tuple(cast(x, c.dtype) for x in grads)


# ---- convolutions

class _Convolution:
    """The numbers of one convolution of PyTorch: of x [N, C, ..] with w [O, C / groups, ..], or,
    transposed, with w [C, O / groups, ..]."""

    def __init__(self, n: int, stride: Any, padding: Any, dilation: Any, output_padding: Any,
                 groups: int) -> None:
        self.n, self.groups = n, groups
        self.stride, self.padding = pairs(stride, n), pairs(padding, n)
        self.dilation, self.output_padding = pairs(dilation, n), pairs(output_padding, n)

    def forward(self, x: Array, w: Array) -> Array:
        return _core.convolution(x, w, self.stride, self.padding, self.padding, None, self.dilation,
                                 None, self.groups, 1, None, None, None)

    def transposed(self, x: Array, w: Array, extents: Sequence[int]) -> Array:
        """The gradient of forward by its x, which has these extents."""
        reach = [d * (k - 1) for d, k in zip(self.dilation, w.shape[2:])]
        before = [r - p for r, p in zip(reach, self.padding)]
        after = [e - ((i - 1) * s + 1 + b - r)
                 for e, i, s, b, r in zip(extents, x.shape[2:], self.stride, before, reach)]
        if self.groups > 1:
            g, (o, i) = self.groups, w.shape[:2]
            parts = calls.reshape(w, (g, o // g, i, *w.shape[2:]), calls.MAY_COPY)
            parts = calls.permute(parts, (0, 2, 1, *range(3, self.n + 3)))
            w = calls.reshape(parts, (g * i, o // g, *w.shape[2:]), calls.MAY_COPY)
        else:
            w = calls.permute(w, (1, 0, *range(2, self.n + 2)))
        return _core.convolution(x, w, None, before, after, self.stride, self.dilation,
                                 [1] * self.n, self.groups, 1, None, None, None)

    def weights(self, x: Array, g: Array, kernel: Sequence[int]) -> Array:
        """The gradient of forward by its w, g being that by the result."""
        after = [d * (k - 1) + s * (o - 1) + 1 - i - p
                 for d, k, s, o, i, p in zip(self.dilation, kernel, self.stride, g.shape[2:],
                                             x.shape[2:], self.padding)]
        swapped = (1, 0, *range(2, self.n + 2))
        return _core.convolution(x, g, self.dilation, self.padding, after, None, self.stride, None,
                                 1, self.groups, swapped, swapped, swapped)


def _numbers(x: Array, w: Array, stride: Any, padding: Any, dilation: Any, output_padding: Any,
             groups: int) -> _Convolution:
    refuse(x.ndim != w.ndim, "a convolution of one image without a batch")
    refuse(0 in x.shape or 0 in w.shape, "a convolution of nothing")
    return _Convolution(x.ndim - 2, stride, padding, dilation, output_padding, groups)


@lowers("aten.convolution.default")
def _convolution(c: Call, x: Array, w: Array, bias: Array | None, stride: Any, padding: Any,
                 dilation: Any, transposed: bool, output_padding: Any, groups: int) -> Array:
    k = _numbers(x, w, stride, padding, dilation, output_padding, groups)
    refuse(0 in c.shape, "a convolution of nothing")
    y = k.transposed(x, w, c.shape[2:]) if transposed else k.forward(x, w)
    if bias is None:
        return y
    return calls.add(y, calls.reshape(bias, (bias.size, *[1] * k.n), calls.MAY_COPY))


@lowers("aten.convolution_backward.default")
def _convolution_backward(c: Call, g: Array, x: Array, w: Array, bias_sizes: Any, stride: Any,
                          padding: Any, dilation: Any, transposed: bool, output_padding: Any,
                          groups: int, wanted: Sequence[bool]) -> tuple[Array | None, ...]:
    k = _numbers(x, w, stride, padding, dilation, output_padding, groups)
    refuse(0 in g.shape, "a convolution of nothing")
    dx = dw = db = None
    if wanted[0]:
        dx = k.forward(g, w) if transposed else k.transposed(g, w, x.shape[2:])
    if wanted[1]:
        dw = k.weights(*((g, x) if transposed else (x, g)), w.shape[2:])
    if wanted[2]:
        db = calls.reduce_sum(g, [0, *range(2, g.ndim)])
    return dx, dw, db


# ---- pooling

class _Windows:
    """The windows of a pooling over the last n axes of x."""

    def __init__(self, extents: Sequence[int], counts: Sequence[int], kernel: Any, stride: Any,
                 padding: Any, dilation: Any) -> None:
        n = self.n = len(counts)
        self.extents, self.counts = list(extents), list(counts)
        self.kernel = pairs(kernel, n)
        self.stride = pairs(stride, n) if isinstance(stride, int) or len(stride) else self.kernel
        self.padding, self.dilation = pairs(padding, n), pairs(dilation, n)
        self.after = [max(0, (o - 1) * s + d * (k - 1) + 1 - i - p)
                      for o, s, d, k, i, p in zip(self.counts, self.stride, self.dilation,
                                                  self.kernel, self.extents, self.padding)]

    def of(self, x: Array, value: Any) -> Array:
        """[.., product of kernel, product of counts]; value is what lies around x."""
        lead = [0] * (x.ndim - self.n)
        if any(self.padding) or any(self.after):
            x = calls.pad(x, lead + self.padding, lead + self.after, value)
        zeros = [0] * self.n
        return _core.unfold(x, self.kernel, self.stride, self.dilation, zeros, zeros)

    def add_up(self, windows: Array) -> Array:
        return _core.fold(windows, self.extents, self.kernel, self.stride, self.dilation,
                          self.padding, self.after)

    def elements(self, include_padding: bool) -> list[float]:
        """How many elements each window counts."""
        total = [1]
        for o, s, k, i, p in zip(self.counts, self.stride, self.kernel, self.extents, self.padding):
            low, high = (-p, i + p) if include_padding else (0, i)
            axis = [min(w * s - p + k, high) - max(w * s - p, low) for w in range(o)]
            total = [t * a for t in total for a in axis]
        return [float(t) for t in total]


def _lowest(x: Array) -> Any:
    if x.dtype.kind == "f":
        return -math.inf
    return -(1 << (x.dtype.bits - 1)) if x.dtype.kind == "i" else 0


@lowers("aten.max_pool2d_with_indices.default", "aten.max_pool3d_with_indices.default")
def _max_pool(c: Call, x: Array, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
              ceil_mode: bool = False) -> tuple[Array, Array]:
    n = len(c.shape) - (x.ndim - len(kernel))
    w = _Windows(x.shape[x.ndim - n:], c.shape[x.ndim - n:], kernel, stride, padding, dilation)
    windows = w.of(x, _lowest(x))
    values = calls.reduce_max(windows, [-2])
    inside = calls.reduce_argmax(windows, -2, 0, INT64)
    values = calls.reshape(values, c.shape, calls.MAY_COPY)
    inside = calls.reshape(inside, c.shape, calls.MAY_COPY)
    place, after, most = operand(0, INT64), math.prod(w.kernel), operand(0, INT64)
    for i in range(n):
        after //= w.kernel[i]
        at = calls.mod(calls.div(inside, operand(after, INT64)), operand(w.kernel[i], INT64))
        begin = arange(INT64, -w.padding[i], w.stride[i], w.counts[i])
        begin = calls.reshape(begin, (w.counts[i], *[1] * (n - 1 - i)))
        at = calls.add(calls.mul(at, operand(w.dilation[i], INT64)), begin)
        at = calls.clamp(most, at, operand(w.extents[i] - 1, INT64))
        place = calls.add(calls.mul(place, operand(w.extents[i], INT64)), at)
    return values, place


@lowers("aten.max_pool2d_with_indices_backward.default",
        "aten.max_pool3d_with_indices_backward.default")
def _max_pool_backward(c: Call, g: Array, x: Array, kernel: Any, stride: Any, padding: Any,
                       dilation: Any, ceil_mode: bool, indices: Array) -> Array:
    n = len(kernel)
    lead, extents = x.shape[:x.ndim - n], x.shape[x.ndim - n:]
    rows = (math.prod(lead), math.prod(g.shape[g.ndim - n:]))
    zeros = calls.expand(full((), c.dtype, 0), (rows[0], math.prod(extents)))
    y = calls.scatter(zeros, calls.reshape(indices, rows, calls.MAY_COPY),
                      calls.reshape(g, rows, calls.MAY_COPY), 1, calls.SCATTER_ADD)
    return calls.reshape(y, c.shape, calls.MAY_COPY)


def _divisors(w: _Windows, include: bool, override: int | None, x: Array) -> Array:
    of = [float(override)] if override else w.elements(include)
    return operand(of[0], x.dtype) if len(set(of)) == 1 else _core.array(of, dtype=x.dtype)


@lowers("aten.avg_pool2d.default", "aten.avg_pool3d.default")
def _avg_pool(c: Call, x: Array, kernel: Any, stride: Any = (), padding: Any = 0,
              ceil_mode: bool = False, count_include_pad: bool = True,
              divisor_override: int | None = None) -> Array:
    refuse(x.dtype.name in SMALL or x.dtype.kind != "f", "means of small floats, or of integers")
    n = len(kernel)
    w = _Windows(x.shape[x.ndim - n:], c.shape[x.ndim - n:], kernel, stride, padding, 1)
    total = calls.reduce_sum(w.of(x, 0), [-2])
    y = calls.div(total, _divisors(w, count_include_pad, divisor_override, x))
    return calls.reshape(y, c.shape, calls.MAY_COPY)


@lowers("aten.avg_pool2d_backward.default", "aten.avg_pool3d_backward.default")
def _avg_pool_backward(c: Call, g: Array, x: Array, kernel: Any, stride: Any, padding: Any,
                       ceil_mode: bool, count_include_pad: bool,
                       divisor_override: int | None) -> Array:
    refuse(x.dtype.name in SMALL or x.dtype.kind != "f", "means of small floats, or of integers")
    n = len(kernel)
    lead, counts = g.shape[:g.ndim - n], g.shape[g.ndim - n:]
    w = _Windows(x.shape[x.ndim - n:], counts, kernel, stride, padding, 1)
    line = calls.reshape(g, (*lead, 1, math.prod(counts)), calls.MAY_COPY)
    line = calls.div(line, _divisors(w, count_include_pad, divisor_override, x))
    wide = calls.expand(line, (*lead, math.prod(w.kernel), math.prod(counts)))
    return w.add_up(wide)


@lowers("aten._adaptive_avg_pool2d.default", "aten._adaptive_avg_pool3d.default")
def _adaptive(c: Call, x: Array, size: Any) -> Array:
    n = len(size)
    extents = list(zip(x.shape[x.ndim - n:], c.shape[x.ndim - n:]))
    refuse(any(o == 0 or i % o for i, o in extents), "windows of several extents")
    apart = [*x.shape[:x.ndim - n], *[e for i, o in extents for e in (o, i // o)]]
    axes = [x.ndim - n + 2 * i + 1 for i in range(n)]
    return calls.reduce_mean(calls.reshape(x, apart, calls.MAY_COPY), axes)


@lowers("aten._adaptive_avg_pool2d_backward.default", "aten._adaptive_avg_pool3d_backward.default")
def _adaptive_backward(c: Call, g: Array, x: Array) -> Array:
    at = x.ndim - (2 if x.ndim < 5 else 3)
    extents = list(zip(x.shape[at:], g.shape[at:]))
    refuse(any(o == 0 or i % o for i, o in extents), "windows of several extents")
    part = math.prod(i // o for i, o in extents)
    one = [*x.shape[:at], *[e for _, o in extents for e in (o, 1)]]
    apart = [*x.shape[:at], *[e for i, o in extents for e in (o, i // o)]]
    y = calls.div(g, operand(float(part), g.dtype))
    y = calls.expand(calls.reshape(y, one, calls.MAY_COPY), apart)
    return calls.reshape(y, c.shape, calls.MAY_COPY)
