# SPDX-License-Identifier: ISC
"""NumPy's forms of the workloads: results and temporaries lie in arrays that exist where a function
takes `out`. A form is given the operands and returns what does the work."""

import numpy as np
import numpy_models as models
from numpy_models import like, softmax


def constant(x, value):
    return x.dtype.type(value)


def poly(a, b):
    t, u, two, three = like(a), like(a), constant(a, 2), constant(a, 3)

    def run():
        np.multiply(a, two, out=t)
        np.multiply(b, three, out=u)
        np.add(t, u, out=t)
        np.multiply(a, b, out=u)
        return np.subtract(t, u, out=t)

    return run


def chain(x):
    t, half, tenth = like(x), constant(x, 0.5), constant(x, 0.1)

    def run():
        y = x
        for _ in range(5):
            np.subtract(y, half, out=t)
            np.abs(t, out=t)
            np.multiply(t, x, out=t)
            y = np.add(t, tenth, out=t)
        return t

    return run


def tanh(a, b, c):
    t = like(a)

    def run():
        np.multiply(a, b, out=t)
        np.add(t, c, out=t)
        return np.tanh(t, out=t)

    return run


def into(f):
    """Of a function that writes to an array that exists."""

    def form(*x):
        t = np.empty(np.broadcast_shapes(*(a.shape for a in x)), x[0].dtype)
        return lambda: f(*x, out=t)

    return form


def power(exponent):
    return lambda x: (lambda t, e: lambda: np.power(x, e, out=t))(like(x), constant(x, exponent))


def mandelbrot(re0, im0):
    def run():
        re, im, count = re0.copy(), im0.copy(), np.zeros_like(re0)
        re2, im2, t, inside = like(re), like(re), like(re), like(re, re.shape).astype(bool)
        for _ in range(50):
            np.multiply(re, re, out=re2)
            np.multiply(im, im, out=im2)
            np.add(re2, im2, out=t)
            np.less_equal(t, 4, out=inside)
            np.add(count, inside, out=count)
            np.multiply(re, im, out=t)
            np.add(t, t, out=t)
            np.add(t, im0, out=im, where=inside)
            np.subtract(re2, im2, out=t)
            np.add(t, re0, out=re, where=inside)
        return count

    return run


def attraction(x, y, z, m):
    n = len(x)
    dx, r2, t = (np.empty((n, n), x.dtype) for _ in range(3))

    def run():
        np.subtract(x[None], x[:, None], out=dx)
        np.multiply(dx, dx, out=r2)
        for p in (y, z):
            np.subtract(p[None], p[:, None], out=t)
            np.multiply(t, t, out=t)
            np.add(r2, t, out=r2)
        np.add(r2, constant(x, 0.01), out=r2)
        np.sqrt(r2, out=t)
        np.multiply(r2, t, out=r2)
        np.divide(m, r2, out=r2)
        np.multiply(dx, r2, out=dx)
        return dx.sum(axis=1)

    return run


def heat(x):
    y, t = x.copy(), like(x[1:-1, 1:-1])

    def run():
        middle = x[1:-1, 1:-1]
        np.add(x[1:-1, :-2], x[1:-1, 2:], out=t)
        np.add(t, x[:-2, 1:-1], out=t)
        np.add(t, x[2:, 1:-1], out=t)
        np.subtract(t, middle * constant(x, 4), out=t)
        np.multiply(t, constant(x, 0.1), out=t)
        np.add(middle, t, out=y[1:-1, 1:-1])
        return y

    return run


def stencil1(x):
    def run():
        p = np.pad(x, 1)
        return p[:-2] + p[2:] - x * constant(x, 2)

    return run


def stencil2(x):
    h, w = x.shape

    def run():
        p = np.pad(x, 1)
        t = p[:h, :w].copy()
        for i in range(3):
            for j in range(3):
                if i or j:
                    np.add(t, p[i : i + h, j : j + w], out=t)
        return np.multiply(t, constant(x, 1 / 9), out=t)

    return run


# ---- rows


def logsoftmax(x):
    t, u = like(x), like(x)

    def run():
        np.subtract(x, x.max(axis=1, keepdims=True), out=t)
        np.exp(t, out=u)
        return np.subtract(t, np.log(u.sum(axis=1, keepdims=True)), out=t)

    return run


def crossentropy(x, i):
    inner, at = logsoftmax(x), i.astype(np.int64)[:, None]
    return lambda: -np.take_along_axis(inner(), at, 1).mean()


def normalised(x):
    t, u = like(x), like(x)

    def run():
        np.subtract(x, x.mean(axis=-1, keepdims=True), out=t)
        np.multiply(t, t, out=u)
        v = u.mean(axis=-1, keepdims=True)
        return np.divide(t, np.sqrt(v + constant(x, 1e-5)), out=t)

    return run


def rmsnorm(x):
    t = like(x)

    def run():
        np.multiply(x, x, out=t)
        v = t.mean(axis=-1, keepdims=True)
        return np.divide(x, np.sqrt(v + constant(x, 1e-5)), out=t)

    return run


def symmetricsums(x):
    t = like(x)
    return lambda: np.multiply(np.add(x, x.T, out=t), constant(x, 0.5), out=t).sum(axis=1)


def symmetricsoftmax(x):
    t = like(x)
    inner = softmax(t)

    def run():
        np.add(x, x.T, out=t)
        return inner()

    return run


# ---- moves and images


def copied(view):
    """Of a view, copied to an array that exists."""

    def form(x):
        source = view(x)
        t = np.empty(source.shape, x.dtype)

        def run():
            np.copyto(t, source)
            return t

        return run

    return form


def pad(x):
    h, w = x.shape
    t = np.zeros((h + 4, w + 4), x.dtype)

    def run():
        t[2:-2, 2:-2] = x
        return t

    return run


def concat(axis):
    def form(*x):
        t = np.concatenate(x, axis=axis)

        def run():
            np.concatenate(x, axis=axis, out=t)
            return np.multiply(t, constant(t, 2), out=t)

        return run

    return form


def stackmean(*x):
    t = like(x[0])

    def run():
        np.add(x[0], x[1], out=t)
        np.add(t, x[2], out=t)
        np.add(t, x[3], out=t)
        return np.multiply(t, constant(t, 0.25), out=t)

    return run


def grey(x):
    t, u = (np.empty(x.shape[:2], np.uint16) for _ in range(2))

    def run():
        np.multiply(x[..., 0], 77, out=t, dtype=np.uint16)
        np.multiply(x[..., 1], 150, out=u, dtype=np.uint16)
        np.add(t, u, out=t)
        np.multiply(x[..., 2], 29, out=u, dtype=np.uint16)
        np.add(t, u, out=t)
        return np.right_shift(t, 8, out=t).astype(np.uint8)

    return run


def scaledplanes(x):
    source = x.transpose(0, 3, 1, 2)
    t = np.empty(source.shape, np.float32)

    def run():
        np.multiply(source, np.float32(1 / 128), out=t)
        return np.subtract(t, np.float32(1), out=t)

    return run


def brightened(x):
    t = like(x)

    def run():
        np.minimum(x, np.uint8(215), out=t)
        return np.add(t, np.uint8(40), out=t)

    return run


def neighbours(x):
    h, w = x.shape
    t = like(x)

    def run():
        p = np.pad(x, 1, mode="wrap")
        np.add(p[:h, :w], p[:h, 1 : w + 1], out=t)
        for i, j in ((0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2)):
            np.add(t, p[i : i + h, j : j + w], out=t)
        return t

    return run


# ---- elements by number


def gather(x, i):
    i, t = i.astype(np.int64), np.empty((len(i), x.shape[1]), x.dtype)
    return lambda: np.take(x, i, axis=0, out=t, mode="clip")


def scatteradd(x, i, updates):
    t, i = like(x), i.astype(np.int64)

    def run():
        np.copyto(t, x)
        np.add.at(t, i, updates)
        return t

    return run


def onehot(i, classes):
    t, rows = np.zeros((len(i), len(classes)), np.float32), np.arange(len(i))

    def run():
        t.fill(0)
        t[rows, i] = 1
        return t

    return run


def top(x):
    n = min(50, x.shape[1])
    return lambda: -np.sort(np.partition(-x, n - 1, axis=1)[:, :n], axis=1)


# ---- shapes, transforms, linear algebra


def tanh_sum(x):
    y = x * np.float32(0.5)
    y += np.float32(1)
    return np.tanh(y, out=y).sum()


def changing(f, first, count, width):
    """Runs of shapes that each run has for the first time: vectors, or rows of that width, or so
    many rows where it is below 0. Each has every eighth length, as in rows_shapes.c."""

    def form(x):
        state = [first]

        def run():
            for n in range(state[0], state[0] + 8 * count, 8):
                y = x[: n * abs(width)] if width else x[:n]
                f(y.reshape(n, width) if width > 0 else y.reshape(-width, n) if width else y)
            state[0] += 1

        return run

    return form


def softmax_of(x):
    y = np.exp(x - x.max(axis=1, keepdims=True))
    y /= y.sum(axis=1, keepdims=True)
    return y


def cache(x):
    return softmax_of(x[-1:] @ x.T) @ x


def column_sums(x):
    return x.sum(0)


def layer_of(relu):
    """A layer of 32 outputs, whose weights and biases are elements of the batch itself."""
    return lambda x: relu(x @ x[:32].T + x[0, :32])


def changes(tanh_sum, softmax, cache, layer):
    """Work whose shape is another one each time: what is done, the first extent, how many in a
    run, the width of rows (changing)."""
    return {
        "lengths": (tanh_sum, 1000, 200, 0),
        "rowlengths": (softmax, 20, 50, -33),
        "batches": (softmax, 8, 16, 256),
        "caches": (cache, 500, 16, 64),
        "widecaches": (cache, 500, 16, 768),
        "columnlengths": (column_sums, 100, 50, -60),
        "layers": (layer, 32, 50, 64),
        "windows": (lambda x: cache(x[-256:]), 500, 16, 64),
    }


def transform(module, **options):
    """KIND/N/REPEAT: transforms of rows, or of both axes."""

    def form(name, x):
        kind, n, repeat = name.split("/")
        f, n = getattr(module, kind), int(n)
        if kind == "irfft":
            call = lambda: f(x, n, norm="forward", **options)  # nx does not scale it
        else:
            call = lambda: f(x, **options)

        def run():
            for _ in range(int(repeat)):
                result = call()
            return result

        return run

    return form


def definite(a):
    n = a.shape[-1]
    return a + a.swapaxes(1, 2) + np.eye(n) * 4 * n


LINALG = {
    "cholesky": lambda a, b: lambda: np.linalg.cholesky(a),
    "qr": lambda a, b: lambda: np.linalg.qr(a),
    "svd": lambda a, b: lambda: np.linalg.svd(a, full_matrices=False),
    "eigh": lambda a, b: lambda: np.linalg.eigh(a),
    "eig": lambda a, b: lambda: np.linalg.eig(a),
    "solve": lambda a, b: lambda: np.linalg.solve(a, b),
    "inv": lambda a, b: lambda: np.linalg.inv(a),
    "det": lambda a, b: lambda: np.linalg.det(a),
}
# Those of matrices that rows_linalg.c makes positive definite.
DEFINITE = ("cholesky", "eigh", "triangular", "solve", "inv", "det")

CHANGING = changes(tanh_sum, softmax_of, cache, layer_of(lambda x: np.maximum(x, 0)))

plain = lambda f: lambda *x: lambda: f(*x)
FORMS = {
    "poly": poly,
    "chain": chain,
    "tanh": tanh,
    "exp": into(np.exp),
    "log": into(np.log),
    "sin": into(np.sin),
    "power2": power(2),
    "powerhalf": power(0.5),
    "power3": power(3),
    "sum": into(np.add),
    "product": into(np.multiply),
    "mandelbrot": mandelbrot,
    "attraction": attraction,
    "heat": heat,
    "divisible": plain(lambda n, d: (n[:, None] % d == 0).any(axis=1)),
    "stencil1": stencil1,
    "stencil2": stencil2,
    "sum0": plain(lambda x: x.sum(axis=0)),
    "sum1": plain(lambda x: x.sum(axis=1)),
    "sumlast": plain(lambda x: x.sum(axis=-1)),
    "sumall": plain(lambda x: x.sum()),
    "mean1": plain(lambda x: x.mean(axis=1)),
    "max0": plain(lambda x: x.max(axis=0)),
    "max1": plain(lambda x: x.max(axis=1)),
    "maxlast": plain(lambda x: x.max(axis=-1)),
    "argmax0": plain(lambda x: x.argmax(axis=0)),
    "argmax1": plain(lambda x: x.argmax(axis=1)),
    "argmaxlast": plain(lambda x: x.argmax(axis=-1)),
    "variance": plain(lambda x: x.var(axis=1)),
    "symmetricsums": symmetricsums,
    "softmax": softmax,
    "logsoftmax": logsoftmax,
    "crossentropy": crossentropy,
    "layernorm": normalised,
    "rmsnorm": rmsnorm,
    "symmetricsoftmax": symmetricsoftmax,
    "cumsum0": lambda x: (lambda t: lambda: np.cumsum(x, axis=0, out=t))(like(x)),
    "cumsum1": lambda x: (lambda t: lambda: np.cumsum(x, axis=1, out=t))(like(x)),
    "cummax0": lambda x: (lambda t: lambda: np.maximum.accumulate(x, axis=0, out=t))(like(x)),
    "cummax1": lambda x: (lambda t: lambda: np.maximum.accumulate(x, axis=1, out=t))(like(x)),
    "transpose": copied(lambda x: x.T),
    "symmetric": lambda x: into(np.add)(x, x.T),
    "permute": copied(lambda x: x.transpose(0, 2, 1, 3)),
    "flip": copied(lambda x: x[:, ::-1]),
    "third": copied(lambda x: x[::3]),
    "thirdcolumn": copied(lambda x: x[:, 1::3]),
    "thirds": lambda x: (
        lambda t: lambda: np.add(np.add(x[::3], x[1::3], out=t), x[2::3], out=t)
    )(like(x[::3])),
    "pad": pad,
    "concat": concat(0),
    "concat1": concat(1),
    "roll": plain(lambda x: x + np.roll(x, 1, axis=0)),
    "stackmean": stackmean,
    "grey": grey,
    "planes": copied(lambda x: x.transpose(0, 3, 1, 2)),
    "scaledplanes": scaledplanes,
    "brightened": brightened,
    "neighbours": neighbours,
    "gather": gather,
    "take": gather,
    "scatteradd": scatteradd,
    "onehot": onehot,
    "histogram": lambda x, bins: lambda: np.bincount(x, minlength=len(bins)),
    "top50": top,
    "matmul": models.matmul,
    "matmulrelu": models.matmulrelu,
    "matmulbytes": models.matmulbytes,
    "dequantised": models.dequantised,
    "logistic": models.logistic,
    "networkstep": models.networkstep,
    "attention": models.attention,
    "causal": models.causal,
    "conv": models.convolved(1),
    "conv1": models.convolved(1),
    "convby2": models.convolved(2),
    "convby3": models.convolved(3),
    "convgradient": models.convolved(1, gradient=True),
    "depthwise": models.depthwise,
    "depthwisegradient": models.depthwise_gradient(False),
    "depthwisegradientlast": models.depthwise_gradient(True),
    "pooled": models.pooled,
    "sort0": plain(lambda x: np.sort(x, axis=0)),
    "sort1": plain(lambda x: np.sort(x, axis=1)),
    "argsort0": plain(lambda x: np.argsort(x, axis=0)),
    "argsort1": plain(lambda x: np.argsort(x, axis=1)),
    "sumitem": plain(lambda a, b: (a + b)[3].item()),
    **{name: changing(*how) for name, how in CHANGING.items()},
    "manysums": plain(lambda x: [row + np.float32(1) for row in x]),
}


class Library:
    """Forms by name; the transforms have theirs in it."""

    forms, linalg, transforms = FORMS, LINALG, staticmethod(transform(np.fft))

    def __init__(self, which):
        pass

    def setup(self, name, x):
        if "bfloat16" in (str(a.dtype) for a in x):
            return None
        if "/" in name:
            return self.transforms(name, *x) if self.transforms else None
        if name in self.linalg:
            return self.linalg[name](definite(x[0]) if name in DEFINITE else x[0], x[1])
        return self.forms[name](*x) if name in self.forms else None

    def wait(self, result):
        pass
