# SPDX-License-Identifier: ISC
"""Products of matrices, attention, convolutions, pooling."""

from __future__ import annotations

import math
from typing import Any, Sequence

from .. import _core
from .._core import DType
from ._lowering import (BOOL, FLOAT32, INT64, SMALL, Array, Call, arange, axis_of, both, calls,
                        cast, constants, full, lowers, operand, pairs, refuse)


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


@lowers("aten.addbmm.default")
def _addbmm(c: Call, bias: Array, a: Array, b: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    """The products of a batch, added up: one product of the matrices beside each other."""
    (k, n, m), p = a.shape, b.shape[2]
    if k * m == 0:  # sums of nothing
        a, b, k, m = full((1, n, 1), a.dtype, 0), full((1, 1, p), b.dtype, 0), 1, 1
    a = calls.reshape(calls.permute(a, (1, 0, 2)), (n, k * m), calls.MAY_COPY)
    return _plus_product(c, bias, a, calls.reshape(b, (k * m, p), calls.MAY_COPY), beta, alpha)


@lowers("aten._trilinear.default")
def _trilinear(c: Call, a: Array, b: Array, d: Array, expand1: Any, expand2: Any, expand3: Any,
               sumdim: Any, unroll_dim: int = 1) -> Array:
    rank = a.ndim + len(expand1)
    product = None
    for x, new in ((a, expand1), (b, expand2), (d, expand3)):
        rest = iter(x.shape)
        shape = [1 if i in new else next(rest) for i in range(rank)]
        x = calls.reshape(x, shape, calls.MAY_COPY)
        product = x if product is None else calls.mul(product, x)
    return calls.reduce_sum(product, [axis_of(i, rank) for i in sumdim])


@lowers("aten.addmm.default", "aten.baddbmm.default", "aten.addmv.default")
def _addmm(c: Call, bias: Array, a: Array, b: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    return _plus_product(c, bias, a, b, beta, alpha)


# ---- products by groups

MOST_GROUPS = 8


def _members(offsets: Array, i: int, n: int) -> Array:
    """Which of n rows are of group i: those before its end that are not before the end of the last
    one."""
    rows, ends = arange(INT64, 0, 1, n), cast(offsets, INT64)
    inside = calls.cmplt(rows, ends[i : i + 1])
    return both(inside, calls.cmpge(rows, ends[i - 1 : i])) if i else inside


@lowers("aten._grouped_mm.default")
def _grouped_mm(c: Call, a: Array, b: Array, offs: Array | None = None, bias: Array | None = None,
                out_dtype: Any = None) -> Array:
    """Rows of a, columns of b, or both sides of the sum are in groups, of which the ends are
    values: so each group's product is one of all rows, of which its own are taken. That is as many
    products as there are groups, which for many PyTorch does better."""
    refuse(bias is not None, "products by groups with a bias")
    if offs is None:
        return cast(calls.matmul(a, b), c.dtype)
    groups = offs.shape[0]
    refuse(groups > MOST_GROUPS, f"products by more than {MOST_GROUPS} groups")
    refuse(0 in (*a.shape, *b.shape, groups), "products of nothing")
    if a.ndim == 2 and b.ndim == 2:
        parts = []
        for i in range(groups):
            own = _members(offs, i, a.shape[1])
            left = calls.where(own, a, operand(0, a.dtype))
            right = calls.where(calls.reshape(own, (a.shape[1], 1)), b, operand(0, b.dtype))
            parts.append(calls.reshape(calls.matmul(left, right), (1, *c.shape[1:])))
        return cast(calls.cat(parts, 0), c.dtype)
    by_rows = a.ndim == 2
    y = full(c.shape, c.dtype, 0)
    for i in range(groups):
        own = _members(offs, i, c.shape[0 if by_rows else 1])
        own = calls.reshape(own, (c.shape[0], 1)) if by_rows else own
        product = calls.matmul(a, b[i]) if by_rows else calls.matmul(a[i], b)
        y = calls.where(own, cast(product, c.dtype), y)
    return y


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


def _shared(x: Array, heads: int) -> Array:
    """Keys or values that several heads share, once for each head."""
    n, few, length, width = x.shape
    if few == heads:
        return x
    x = calls.reshape(x, (n, few, 1, length, width), calls.MAY_COPY)
    x = calls.expand(x, (n, few, heads // few, length, width))
    return calls.reshape(x, (n, heads, length, width), calls.MAY_COPY)


def _gathered(x: Array, few: int) -> Array:
    """The gradient of what _shared gives: sums over the heads that share."""
    n, heads, length, width = x.shape
    if few == heads:
        return x
    return calls.reduce_sum(calls.reshape(x, (n, few, heads // few, length, width),
                                          calls.MAY_COPY), [2])


@lowers("aten._scaled_dot_product_flash_attention_for_cpu.default")
def _attention(c: Call, q: Array, k: Array, v: Array, dropout_p: float = 0.0,
               is_causal: bool = False, *, attn_mask: Array | None = None,
               scale: float | None = None) -> tuple[Array, Array]:
    refuse(dropout_p != 0, "attention with dropout")
    q, k, v = _wide(q, k, v)
    k, v = _shared(k, q.shape[1]), _shared(v, q.shape[1])
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
    few, k, v = k.shape[1], _shared(k, q.shape[1]), _shared(v, q.shape[1])
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    lse = calls.reshape(lse, (*lse.shape, 1), calls.MAY_COPY)
    some = calls.cmpne(lse, operand(-math.inf, q.dtype))
    weights = calls.exp(calls.sub(_scores(q, k, is_causal, attn_mask, scale), lse))
    weights = calls.where(some, weights, operand(0.0, q.dtype))
    through = calls.reduce_sum(calls.mul(g, out), [-1], calls.KEEPDIMS)
    d = calls.mul(weights, calls.sub(calls.matmul(g, _turned(v)), through))
    d = calls.mul(d, operand(scale, q.dtype))
    by_k, by_v = calls.matmul(_turned(d), q), calls.matmul(_turned(weights), g)
    grads = calls.matmul(d, k), _gathered(by_k, few), _gathered(by_v, few)
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
    if 0 in c.shape:
        return full(c.shape, c.dtype, 0)
    k = _numbers(x, w, stride, padding, dilation, output_padding, groups)
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
        if dx.shape != x.shape:  # what output_padding adds may have room for one more
            dx = calls.shrink(dx, [0] * dx.ndim, x.shape)
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
    return operand(of[0], x.dtype) if len(set(of)) == 1 else constants(of, x.dtype)


@lowers("aten.avg_pool2d.default", "aten.avg_pool3d.default")
def _avg_pool(c: Call, x: Array, kernel: Any, stride: Any = (), padding: Any = 0,
              ceil_mode: bool = False, count_include_pad: bool = True,
              divisor_override: int | None = None) -> Array:
    refuse(x.dtype.kind != "f", "means of integers")
    x, n = _wide(x)[0], len(kernel)
    w = _Windows(x.shape[x.ndim - n:], c.shape[x.ndim - n:], kernel, stride, padding, 1)
    total = calls.reduce_sum(w.of(x, 0), [-2])
    y = calls.div(total, _divisors(w, count_include_pad, divisor_override, x))
    return cast(calls.reshape(y, c.shape, calls.MAY_COPY), c.dtype)


@lowers("aten.avg_pool2d_backward.default", "aten.avg_pool3d_backward.default")
def _avg_pool_backward(c: Call, g: Array, x: Array, kernel: Any, stride: Any, padding: Any,
                       ceil_mode: bool, count_include_pad: bool,
                       divisor_override: int | None) -> Array:
    refuse(x.dtype.kind != "f", "means of integers")
    (g, x), n = _wide(g, x), len(kernel)
    lead, counts = g.shape[:g.ndim - n], g.shape[g.ndim - n:]
    w = _Windows(x.shape[x.ndim - n:], counts, kernel, stride, padding, 1)
    line = calls.reshape(g, (*lead, 1, math.prod(counts)), calls.MAY_COPY)
    line = calls.div(line, _divisors(w, count_include_pad, divisor_override, x))
    wide = calls.expand(line, (*lead, math.prod(w.kernel), math.prod(counts)))
    return cast(w.add_up(wide), c.dtype)


# ---- pooling to given extents, whose windows may differ and overlap

class _Spans:
    """For each of some places along an axis a span of the other: its first element, and its end."""

    def __init__(self, extent: int, spans: list[tuple[int, int]]) -> None:
        self.extent, self.spans = extent, spans
        self.widest = max(end - begin for begin, end in spans)

    @classmethod
    def read(cls, extent: int, count: int) -> _Spans:
        """What each of count windows reads."""
        return cls(extent, [(i * extent // count, -(-(i + 1) * extent // count))
                            for i in range(count)])

    def back(self) -> _Spans:
        """Which windows read an element."""
        ends = [(next(i for i, (_, e) in enumerate(self.spans) if e > at),
                 max(i for i, (b, _) in enumerate(self.spans) if b <= at) + 1)
                for at in range(self.extent)]
        return _Spans(len(self.spans), ends)

    def numbers(self) -> list[int]:
        """The elements of each span, and -1 beyond its end."""
        return [b + i if b + i < e else -1 for b, e in self.spans for i in range(self.widest)]

    def windows(self, x: Array, axis: int, value: Any) -> Array:
        """x with the axis as two: the spans, and their elements, beyond whose ends is value."""
        at = constants([max(i, 0) for i in self.numbers()], INT64)
        shape = [at.size if i == axis else n for i, n in enumerate(x.shape)]
        line = calls.reshape(at, [at.size if i == axis else 1 for i in range(x.ndim)])
        y = calls.gather(x, calls.expand(line, shape), axis)
        if -1 in self.numbers():
            inside = constants([i >= 0 for i in self.numbers()], BOOL)
            line = calls.reshape(inside, line.shape, calls.MAY_COPY)
            y = calls.where(line, y, operand(value, x.dtype))
        return calls.reshape(y, (*x.shape[:axis], len(self.spans), self.widest,
                                 *x.shape[axis + 1:]), calls.MAY_COPY)

    def sums(self, x: Array, axis: int) -> Array:
        return calls.reduce_sum(self.windows(x, axis, 0), [axis + 1])


def _sizes(spans: list[_Spans], dtype: DType) -> Array:
    """How many elements each window has."""
    total = [1.0]
    for s in spans:
        total = [t * (e - b) for t in total for b, e in s.spans]
    of = operand(total[0], dtype) if len(set(total)) == 1 else constants(total, dtype)
    return of if of.ndim == 0 else calls.reshape(of, [len(s.spans) for s in spans])


def _spans(given: Sequence[int], made: Sequence[int]) -> list[_Spans]:
    refuse(0 in given or 0 in made, "windows of nothing")
    return [_Spans.read(i, o) for i, o in zip(given, made)]


@lowers("aten._adaptive_avg_pool2d.default", "aten._adaptive_avg_pool3d.default")
def _adaptive(c: Call, x: Array, size: Any) -> Array:
    at, y = x.ndim - len(size), _wide(x)[0]
    spans = _spans(x.shape[at:], c.shape[at:])
    for i, s in enumerate(spans):
        y = s.sums(y, at + i)
    return cast(calls.div(y, _sizes(spans, y.dtype)), c.dtype)


@lowers("aten._adaptive_avg_pool2d_backward.default", "aten._adaptive_avg_pool3d_backward.default")
def _adaptive_backward(c: Call, g: Array, x: Array) -> Array:
    n = 2 if "2d" in str(c.node.target) else 3
    at, y = x.ndim - n, _wide(g)[0]
    spans = _spans(x.shape[at:], g.shape[at:])
    y = calls.div(y, _sizes(spans, y.dtype))
    for i, s in enumerate(spans):
        y = s.back().sums(y, at + i)
    return cast(y, c.dtype)


@lowers("aten.adaptive_max_pool2d.default", "aten.adaptive_max_pool3d.default")
def _adaptive_max(c: Call, x: Array, size: Any) -> tuple[Array, Array]:
    at, y, n = x.ndim - len(size), x, len(size)
    spans = _spans(x.shape[at:], c.shape[at:])
    place = arange(INT64, 0, 1, math.prod(x.shape[at:]))
    place = calls.expand(calls.reshape(place, x.shape[at:]), x.shape)
    for i, s in enumerate(spans):
        y, place = s.windows(y, at + 2 * i, _lowest(x)), s.windows(place, at + 2 * i, 0)
    order = [*range(at), *range(at, at + 2 * n, 2), *range(at + 1, at + 2 * n, 2)]
    wide = (*c.shape, math.prod(s.widest for s in spans))
    y, place = (calls.reshape(calls.permute(z, order), wide, calls.MAY_COPY) for z in (y, place))
    best = calls.reduce_argmax(y, -1, calls.KEEPDIMS, INT64)
    return tuple(calls.reshape(calls.gather(z, best, len(wide) - 1), c.shape, calls.MAY_COPY)
                 for z in (y, place))


@lowers("aten.adaptive_max_pool2d_backward.default", "aten.adaptive_max_pool3d_backward.default")
def _adaptive_max_backward(c: Call, g: Array, x: Array, indices: Array) -> Array:
    n = 2 if "2d" in str(c.node.target) else 3
    refuse(0 in g.shape, "windows of nothing")
    return _max_pool_backward(c, g, x, [1] * n, (), 0, 1, False, indices)


@lowers("aten.replication_pad1d_backward.default", "aten.replication_pad2d_backward.default",
        "aten.replication_pad3d_backward.default")
def _replication_backward(c: Call, g: Array, x: Array, padding: Any) -> Array:
    n, y = len(padding) // 2, g
    refuse(0 in g.shape, "an image of nothing")
    refuse(min(padding) < 0, "padding that takes away")
    for i in range(n):
        axis, extent = x.ndim - 1 - i, c.shape[x.ndim - 1 - i]
        to = arange(INT64, -padding[2 * i], 1, y.shape[axis])
        to = calls.clamp(operand(0, INT64), to, operand(extent - 1, INT64))
        line = calls.reshape(to, [to.size if a == axis else 1 for a in range(y.ndim)])
        shape = [extent if a == axis else e for a, e in enumerate(y.shape)]
        zeros = calls.expand(full((), y.dtype, 0), shape)
        y = calls.scatter(zeros, calls.expand(line, y.shape), y, axis, calls.SCATTER_ADD)
    return y
