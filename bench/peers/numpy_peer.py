# SPDX-License-Identifier: ISC
"""NumPy's workloads. The environment says which core type OpenBLAS takes, the same as for nx."""

import sys

from serve import serve

try:
    import numpy as np
except ImportError:
    sys.exit(1)


def random(*shape):
    return np.random.default_rng(1).random(shape, dtype=np.float32) * 4 - 2


def poly(n):
    a, b, t, u = random(n), random(n), np.empty(n, np.float32), np.empty(n, np.float32)

    def run():
        np.multiply(a, np.float32(2), out=t)
        np.multiply(b, np.float32(3), out=u)
        np.add(t, u, out=t)
        np.multiply(a, b, out=u)
        np.subtract(t, u, out=t)

    return run


def tanh(n):
    a, b, c, t = random(n), random(n), random(n), np.empty(n, np.float32)

    def run():
        np.multiply(a, b, out=t)
        np.add(t, c, out=t)
        np.tanh(t, out=t)

    return run


def exp(n):
    a, t = random(n), np.empty(n, np.float32)
    return lambda: np.exp(a, out=t)


def softmax():
    x, t = random(4096, 1024), np.empty((4096, 1024), np.float32)

    def run():
        np.subtract(x, x.max(axis=1, keepdims=True), out=t)
        np.exp(t, out=t)
        np.divide(t, t.sum(axis=1, keepdims=True), out=t)

    return run


def layernorm():
    x, t, u = (
        random(4096, 1024),
        np.empty((4096, 1024), np.float32),
        np.empty((4096, 1024), np.float32),
    )

    def run():
        np.subtract(x, x.mean(axis=1, keepdims=True), out=t)
        np.multiply(t, t, out=u)
        v = u.mean(axis=1, keepdims=True)
        np.divide(t, np.sqrt(v + np.float32(1e-5)), out=t)

    return run


def sgemm(n):
    a, b, c = random(n, n), random(n, n), np.empty((n, n), np.float32)
    return lambda: np.matmul(a, b, out=c)


def square(f):
    x = random(4096, 4096)
    return lambda: f(x)


def linalg(*words):
    """NAME.. BATCH N: f64 matrices, positive definite ones where the row in rows_linalg.c has them.
    """
    name, batch, n = " ".join(words[:-2]), int(words[-2]), int(words[-1])
    a, b = (np.random.default_rng(i).random((batch, n, n)) * 2 - 1 for i in (1, 2))
    d = a + a.swapaxes(1, 2) + np.eye(n) * 4 * n
    f = {
        "cholesky": lambda: np.linalg.cholesky(d),
        "qr": lambda: np.linalg.qr(a),
        "svd": lambda: np.linalg.svd(a, full_matrices=False),
        "eigh": lambda: np.linalg.eigh(d),
        "eig": lambda: np.linalg.eig(a),
        "solve": lambda: np.linalg.solve(d, b),
        "inv": lambda: np.linalg.inv(d),
        "det": lambda: np.linalg.det(a),
    }
    return f.get(name)


def sorting(f):
    def setup(dtype, axis, *shape):
        x = random(*map(int, shape))
        floats = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
        ints = {
            "i8": (np.int8, 6),
            "i16": (np.int16, 14),
            "i32": (np.int32, 29),
            "i64": (np.int64, 29),
        }
        if dtype in floats:
            x = x.astype(floats[dtype])
        else:
            x = (x * 2 ** ints[dtype][1]).astype(ints[dtype][0])
        return lambda: f(x, axis=int(axis))

    return setup


def gather():
    x, i = random(50000, 512), np.random.default_rng(2).integers(0, 50000, 8192)
    return lambda: np.take(x, i, axis=0)


def scatter_add():
    x, i = random(50000, 512), np.random.default_rng(2).integers(0, 50000, 8192)

    def run():
        t = x.copy()
        np.add.at(t, i, x[:8192])

    return run


def concat(axis):
    def setup(*shape):
        x = [random(*map(int, shape)) for _ in range(4)]
        return lambda: np.concatenate(x, axis=axis) * np.float32(2)

    return setup


def roll(*shape):
    x = random(*map(int, shape))
    return lambda: x + np.roll(x, 1, axis=0)


def stack_mean(n):
    x = [random(int(n)) for _ in range(4)]
    return lambda: np.mean(np.stack(x), axis=0)


def neighbours(*shape):
    x = random(*map(int, shape)).astype(np.int8)
    return lambda: sum(np.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)


def stencil1(n):
    x = random(int(n))

    def run():
        p = np.pad(x, 1)
        return p[:-2] + p[2:] - x * np.float32(2)

    return run


def stencil2(*shape):
    h, w = map(int, shape)
    x = random(h, w)

    def run():
        p = np.pad(x, 1)
        t = p[:h, :w].copy()
        for i in range(3):
            for j in range(3):
                if i or j:
                    t += p[i : i + h, j : j + w]
        return t * np.float32(1 / 9)

    return run


def fft(kind, dtype, rows, n, repeat):
    """KIND DTYPE ROWS N REPEAT: transforms of rows, or of both axes; NumPy's own are of f64."""
    rows, n, repeat = int(rows), int(n), int(repeat)
    x = np.random.default_rng(1).random((2, rows, n // 2 + 1 if kind == "irfft" else n)) * 2 - 1
    x = x[0] if kind == "rfft" else x[0] + 1j * x[1]
    x = x.astype(
        {"f32": "f4", "f64": "f8"}[dtype] if kind == "rfft" else {"f32": "c8", "f64": "c16"}[dtype]
    )
    f = getattr(np.fft, kind)

    def run():
        for _ in range(repeat):
            f(x)

    return run


def convolution(
    axes, images, channels, size, kernel, result=True, gradient=False, dtype=np.float32
):
    """Windows as a view, copied to memory that exists, and one product an image; of the gradient,
    which are summed."""

    def values(*shape):
        x = random(*shape)
        return x if dtype == np.float32 else (x + 1j * random(*shape)).astype(dtype)

    x, w, g = (
        values(images, channels, *[size] * axes),
        values(channels, channels * kernel**axes),
        None,
    )
    around = [(0, 0)] * 2 + [(kernel // 2, kernel // 2)] * axes
    columns = np.empty((images, channels, *[kernel] * axes, *[size] * axes), dtype)
    out = np.empty((images, channels, size**axes), dtype)
    if gradient:
        g, each = values(*out.shape), np.empty((images, *w.shape), dtype)
    spatial = tuple(range(2, 2 + axes))

    def run():
        windows = np.lib.stride_tricks.sliding_window_view(
            np.pad(x, around), [kernel] * axes, axis=spatial
        )
        np.copyto(columns, np.moveaxis(windows, tuple(range(2 + axes, 2 + 2 * axes)), spatial))
        flat = columns.reshape(images, channels * kernel**axes, -1)
        if result:
            np.matmul(w, flat, out=out)
        if gradient:
            np.matmul(g, flat.swapaxes(1, 2), out=each).sum(axis=0)

    return run


WORKLOADS = {
    "fft": fft,
    "linalg": linalg,
    "sort": sorting(np.sort),
    "argsort": sorting(np.argsort),
    "hello": lambda: lambda: None,
    "poly": lambda n: poly(int(n)),
    "tanh": lambda n: tanh(int(n)),
    "exp": lambda n: exp(int(n)),
    "softmax": softmax,
    "layernorm": layernorm,
    "sum0": lambda: square(lambda x: x.sum(axis=0)),
    "sum1": lambda: square(lambda x: x.sum(axis=1)),
    "max1": lambda: square(lambda x: x.max(axis=1)),
    "argmax1": lambda: square(lambda x: x.argmax(axis=1)),
    "sumall": lambda: (lambda x: lambda: x.sum())(random(16000000)),
    "cumsum0": lambda: square(lambda x: np.cumsum(x, axis=0)),
    "cumsum1": lambda: square(lambda x: np.cumsum(x, axis=1)),
    "cummax0": lambda: square(lambda x: np.maximum.accumulate(x, axis=0)),
    "cummax1": lambda: square(lambda x: np.maximum.accumulate(x, axis=1)),
    "cumsumall": lambda: (lambda x: lambda: np.cumsum(x))(random(10000000)),
    "gather": gather,
    "scatteradd": scatter_add,
    "concat": concat(0),
    "concat1": concat(1),
    "roll": roll,
    "stackmean": stack_mean,
    "neighbours": neighbours,
    "stencil1": stencil1,
    "stencil2": stencil2,
    "transpose": lambda: square(lambda x: np.ascontiguousarray(x.T)),
    "sgemm": lambda n: sgemm(int(n)),
    "conv1": lambda *shape: convolution(1, *map(int, shape)),
    "conv2": lambda *shape: convolution(2, *map(int, shape)),
    "conv2c64": lambda *shape: convolution(2, *map(int, shape), dtype=np.complex64),
    "conv2grad": lambda *shape: convolution(2, *map(int, shape), result=False, gradient=True),
    "conv2both": lambda *shape: convolution(2, *map(int, shape), gradient=True),
}

serve(WORKLOADS)
