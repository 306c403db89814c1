# SPDX-License-Identifier: ISC
"""NumPy's forms (with_numpy.py) of products, models and windows."""

import numpy as np


def like(x, shape=None):
    return np.empty(x.shape if shape is None else shape, x.dtype)


def softmax(x):
    t = like(x)

    def run():
        np.subtract(x, x.max(axis=-1, keepdims=True), out=t)
        np.exp(t, out=t)
        return np.divide(t, t.sum(axis=-1, keepdims=True), out=t)

    return run


# ---- products and models


def matmul(a, b):
    t = np.matmul(a, b)
    return lambda: np.matmul(a, b, out=t)


def matmulrelu(a, b, c):
    t = np.matmul(a, b)

    def run():
        np.matmul(a, b, out=t)
        np.add(t, c, out=t)
        return np.maximum(t, 0, out=t)

    return run


def matmulbytes(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)  # the quickest exact way
    t = np.matmul(a, b)
    return lambda: np.matmul(a, b, out=t).astype(np.int32)


def dequantised(x, w, s):
    groups, columns = s.shape
    t = np.empty((groups, w.shape[0] // groups, columns), np.float32)

    def run():
        np.multiply(w.reshape(t.shape), s[:, None], out=t)
        return x @ t.reshape(w.shape)

    return run


def logistic(x, y, w):
    rate = np.float32(0.1 / len(x))
    return lambda: w - (x.T @ (1 / (1 + np.exp(-(x @ w))) - y)) * rate


def networkstep(x, t, u, v):
    rate = np.float32(1e-4)

    def run():
        hidden = np.maximum(x @ u, 0)
        y = hidden @ v
        y -= y.max(axis=1, keepdims=True)
        np.exp(y, out=y)
        y /= y.sum(axis=1, keepdims=True)
        y -= t
        dhidden = (y @ v.T) * (hidden > 0)
        return np.concatenate(
            ((u - (x.T @ dhidden) * rate).ravel(), (v - (hidden.T @ y) * rate).ravel())
        )

    return run


def attention(q, k, v):
    scale = np.float32(q.shape[2] ** -0.5)
    keys, scores = k.swapaxes(1, 2), np.empty((len(q), q.shape[1], k.shape[1]), q.dtype)
    inner = softmax(scores)

    def run():
        np.matmul(q, keys, out=scores)
        np.multiply(scores, scale, out=scores)
        return inner() @ v

    return run


def causal(q, k, v):
    scale, n = np.float32(q.shape[2] ** -0.5), q.shape[1]
    keys, scores = k.swapaxes(1, 2), np.empty((len(q), n, n), q.dtype)
    inner, later = softmax(scores), np.triu(np.full((n, n), -1e30, np.float32), 1)

    def run():
        np.matmul(q, keys, out=scores)
        np.multiply(scores, scale, out=scores)
        np.add(scores, later, out=scores)
        return inner() @ v

    return run


# ---- windows


def convolved(step, gradient=False):
    """Windows as a view, copied to memory that exists, and one product an image."""

    def form(x, w, above=None):
        axes = x.ndim - 2
        around = [(0, 0)] * 2 + [(n // 2, n // 2) for n in w.shape[2:]]
        spatial = tuple(range(2, 2 + axes))
        flat_w = w.reshape(len(w), -1)
        view = lambda p: np.moveaxis(
            np.lib.stride_tricks.sliding_window_view(p, w.shape[2:], axis=spatial)[
                (slice(None), slice(None)) + (slice(None, None, step),) * axes
            ],
            tuple(range(2 + axes, 2 + 2 * axes)),
            spatial,
        )
        columns = view(np.pad(x, around)).copy()
        extents = columns.shape[2 + axes :]

        def run():
            np.copyto(columns, view(np.pad(x, around)))
            flat = columns.reshape(len(x), flat_w.shape[1], -1)
            if gradient:
                each = above.reshape(len(x), len(w), -1) @ flat.swapaxes(1, 2)
                return each.sum(axis=0).reshape(w.shape)
            return (flat_w @ flat).reshape(len(x), len(w), *extents)

        return run

    return form


def depthwise(x, w):
    h, width = x.shape[2:]
    t, u = like(x), like(x)
    around = [(0, 0)] * 2 + [(n // 2, n // 2) for n in w.shape[2:]]

    def run():
        p = np.pad(x, around)
        t.fill(0)
        for i in range(w.shape[2]):
            for j in range(w.shape[3]):
                weight = w[:, :, i, j][None, :, :, None]
                np.multiply(p[:, :, i : i + h, j : j + width], weight, out=u)
                np.add(t, u, out=t)
        return t

    return run


def depthwise_gradient(last):
    """A sum of products for each element of the window."""

    def form(x, w, above):
        window, spatial = (w.shape[:2], (1, 2)) if last else (w.shape[2:], (2, 3))
        around = [(0, 0)] * 4
        for axis, n in zip(spatial, window, strict=True):
            around[axis] = (n // 2, n // 2)
        extents = [x.shape[axis] for axis in spatial]
        sums, t = np.empty((*window, *w.shape[2:]) if last else w.shape, x.dtype), like(x)

        def run():
            p = np.pad(x, around)
            for i in range(window[0]):
                for j in range(window[1]):
                    rows, columns = slice(i, i + extents[0]), slice(j, j + extents[1])
                    part = p[:, rows, columns] if last else p[:, :, rows, columns]
                    np.multiply(part, above, out=t)
                    total = t.sum(axis=(0, *spatial))
                    sums[(i, j, 0) if last else (slice(None), 0, i, j)] = total
            return sums

        return run

    return form


def pooled(x):
    pairs = np.empty(x.shape[:2] + (x.shape[2] // 2, x.shape[3]), x.dtype)

    def run():
        np.maximum(x[:, :, ::2], x[:, :, 1::2], out=pairs)
        return np.maximum(pairs[..., ::2], pairs[..., 1::2])

    return run
