# SPDX-License-Identifier: ISC
"""JAX's forms, compiled by jax.jit."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
if os.environ.get("OMP_NUM_THREADS") == "1":
    os.environ["XLA_FLAGS"] = (
        "--xla_cpu_multi_thread_eigen=false " + os.environ.get("XLA_FLAGS", "")
    )

import formulas
import jax
import jax.numpy as jnp
from jax import lax
from with_numpy import DEFINITE, changes, changing, definite, layer_of

jax.config.update("jax_enable_x64", True)


def roll(x, by):
    return jnp.roll(x, by, tuple(range(len(by))))


def heat(x):
    middle = x[1:-1, 1:-1]
    near = x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1]
    return x + jnp.pad((near - middle * 4) * 0.1, 1)


def stencil1(x):
    p = jnp.pad(x, 1)
    return p[:-2] + p[2:] - x * 2


def stencil2(x):
    p = jnp.pad(x, 1)
    h, w = x.shape
    return sum(p[i : i + h, j : j + w] for i in range(3) for j in range(3)) * (1 / 9)


def causal(q, k, v):
    n = q.shape[1]
    scores = (q @ k.swapaxes(1, 2)) * q.shape[2] ** -0.5
    later = jnp.arange(n)[None, :] > jnp.arange(n)[:, None]
    return jax.nn.softmax(jnp.where(later, -1e30, scores), -1) @ v


def convolve(step):
    def f(x, w):
        around = [(n // 2, n // 2) for n in w.shape[2:]]
        return lax.conv_general_dilated(x, w, (step,) * (x.ndim - 2), around)

    return f


def depthwise(x, w):
    around = [(n // 2, n // 2) for n in w.shape[2:]]
    return lax.conv_general_dilated(x, w, (1, 1), around, feature_group_count=x.shape[1])


def gradient(x, w, above):
    return jax.vjp(lambda v: convolve(1)(x, v), w)[1](above)[0]


def depthwise_gradient(x, w, above):
    return jax.vjp(lambda v: depthwise(x, v), w)[1](above)[0]


def depthwise_gradient_last(x, w, above):
    around = [(n // 2, n // 2) for n in w.shape[:2]]
    form = lambda v: lax.conv_general_dilated(
        *(x, v, (1, 1), around),
        feature_group_count=x.shape[3],
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    return jax.vjp(form, w)[1](above)[0]


def pooled(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def byte_product(a, b):
    return lax.dot(a, b, preferred_element_type=jnp.int32)


def gelu(x):
    return jax.nn.gelu(x, approximate=False)


def normalised(x):
    d = x - x.mean(-1, keepdims=True)
    return d / jnp.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)


FORMS = {
    **formulas.forms(
        jnp, lax.erf, lambda x: jax.nn.softmax(x, -1), roll, jnp.concatenate, jax.nn.relu
    ),
    "heat": heat,
    "stencil1": stencil1,
    "stencil2": stencil2,
    "variance": lambda x: x.var(1),
    "logsoftmax": lambda x: jax.nn.log_softmax(x, 1),
    "crossentropy": lambda x, i: -jnp.take_along_axis(
        jax.nn.log_softmax(x, 1), i[:, None], 1
    ).mean(),
    "cummax0": lambda x: lax.cummax(x, 0),
    "cummax1": lambda x: lax.cummax(x, 1),
    "transpose": lambda x: x.T.copy(),
    "permute": lambda x: x.transpose(0, 2, 1, 3).copy(),
    "flip": lambda x: x[:, ::-1].copy(),
    "pad": lambda x: jnp.pad(x, 2),
    "grey": formulas.grey(jnp, lambda x: x.astype(jnp.uint16), lambda x: x.astype(jnp.uint8)),
    "planes": lambda x: x.transpose(0, 3, 1, 2).copy(),
    "scaledplanes": lambda x: x.transpose(0, 3, 1, 2).astype(jnp.float32) * (1 / 128) - 1,
    "brightened": lambda x: jnp.minimum(x, 215) + jnp.uint8(40),
    "scatteradd": lambda x, i, u: x.at[i].add(u),
    "onehot": lambda i, c: jax.nn.one_hot(i, c.shape[0], dtype=jnp.float32),
    "histogram": lambda x, bins: jnp.bincount(x, length=bins.shape[0]),
    "top50": lambda x: lax.top_k(x, min(50, x.shape[1]))[0],
    "matmulbytes": byte_product,
    "causal": causal,
    "transformer": formulas.transformer(normalised, causal, gelu),
    "conv": convolve(1),
    "conv1": convolve(1),
    "convby2": convolve(2),
    "convby3": convolve(3),
    "convgradient": gradient,
    "depthwise": depthwise,
    "depthwisegradient": depthwise_gradient,
    "depthwisegradientlast": depthwise_gradient_last,
    "pooled": pooled,
    "sort0": lambda x: jnp.sort(x, 0, stable=False),
    "sort1": lambda x: jnp.sort(x, 1, stable=False),
    "argsort0": lambda x: jnp.argsort(x, 0, stable=False),
    "argsort1": lambda x: jnp.argsort(x, 1, stable=False),
    "cholesky": lambda a, b: jnp.linalg.cholesky(a),
    "qr": lambda a, b: jnp.linalg.qr(a),
    "svd": lambda a, b: jnp.linalg.svd(a, full_matrices=False),
    "eigh": lambda a, b: jnp.linalg.eigh(a),
    "eig": lambda a, b: jnp.linalg.eig(a),
    "triangular": lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
    "solve": lambda a, b: jnp.linalg.solve(a, b),
    "inv": lambda a, b: jnp.linalg.inv(a),
    "det": lambda a, b: jnp.linalg.det(a),
}


def cache(x):
    return jax.nn.softmax(x[-1:] @ x.T, 1) @ x


def beyond():
    """Whether the processor has more than the vectors that are asked for, which XLA's products take
    whatever --xla_cpu_max_isa says."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return os.environ.get("NX_ISA") == "avx2" and "avx512f" in f.read()


def multiplies(f, x):
    jaxpr = str(jax.make_jaxpr(f)(*x))
    return "dot_general[" in jaxpr or "conv_general_dilated[" in jaxpr


CHANGING = changes(
    lambda x: jnp.tanh(x * 0.5 + 1).sum(),
    lambda x: jax.nn.softmax(x, 1),
    cache,
    layer_of(jax.nn.relu),
)


class Library:
    def __init__(self, which):
        jax.devices()
        self.beyond = beyond()

    def setup(self, name, arrays):
        if name in CHANGING:
            f, *how = CHANGING[name]
            if f is cache and self.beyond:
                return None
            f = jax.jit(f)
            return changing(lambda x: f(x).block_until_ready(), *how)(arrays[0])
        if name in DEFINITE and name in FORMS:
            arrays[0] = definite(arrays[0])
        x = [jnp.asarray(a) for a in arrays]
        if name == "sumitem":
            add = jax.jit(lambda a, b: a + b)
            return lambda: add(*x)[3].item()
        if name == "manysums":
            one, rows = jax.jit(lambda row: row + 1), list(x[0])
            return lambda: [one(row) for row in rows]
        if "/" in name:
            kind, n, repeat = name.split("/")
            f = getattr(jnp.fft, kind)
            one = (lambda y: f(y, int(n), norm="forward")) if kind == "irfft" else f
            count = int(repeat)
        elif FORMS.get(name):
            one, count = FORMS[name], 1
        else:
            return None
        if self.beyond and multiplies(one, x):
            return None
        g = jax.jit(one)

        def run():
            for _ in range(count):
                result = g(*x)
            return result

        return run

    def wait(self, result):
        jax.block_until_ready(result)
