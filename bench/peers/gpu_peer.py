# SPDX-License-Identifier: ISC
"""PyTorch's or JAX's workloads on a GPU, compiled: gpu_peer.py torch|jax [cpu]. A workload is NAME
DTYPE OPERANDS N M, with operands of N elements, or of N rows of M; for products, attention and
convolutions what shapes_of says. cpu: on the processor, to try the program."""

import os
import sys

from serve import serve

framework, device = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "gpu"
TABLE, TAKEN = 50000, 8192
DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i32": "int32"}
DTYPES["c64"] = "complex64"
# What both write in the same way.
COMMON = {
    "poly": lambda a, b: a * 2 + b * 3 - a * b,
    "sum0": lambda x: x.sum(0),
    "sum1": lambda x: x.sum(1),
    "argmax1": lambda x: x.argmax(1),
    "gather": lambda x, i: x[i],
    "chained": lambda x: chained(x),
}
# Of matrices, n of m x m; the first operand of these is positive definite.
LINALG = ("cholesky", "triangular", "solve", "inverse", "qr", "eigh", "svd")
DEFINITE = ("cholesky", "triangular", "solve", "inverse", "eigh")

# What hides scores of an attention: nothing, later rows, or an operand.
CAUSAL, CONDITION, SUMMAND = 1, 2, 3


def shapes_of(name, numbers):
    """Of the operands of a product, an attention or a convolution, and its options."""
    if name.startswith("matmul"):
        batches, m, n, k, transposed = numbers
        some = (batches,) if batches > 1 else ()
        a = (k, m) if transposed & 1 else (m, k)
        b = (n, k) if transposed & 2 else (k, n)
        return [some + a, some + b] + [(n,)] * (name == "matmulbias"), (transposed,)
    if name == "attention":
        heads, rows, width, mask, shared = numbers
        keys = (heads // shared, rows, width)
        masks = [(heads if mask == SUMMAND else 1, rows, rows)] * (mask in (CONDITION, SUMMAND))
        return [(heads, rows, width), keys, keys, *masks], (mask, shared > 1)
    batch, features, size, out, window, stride, groups, last = numbers
    return [
        (batch, features, size, size),
        (out, features // groups, window, window),
    ], (stride, window // 2, groups, last)


class Torch:
    def __init__(self):
        import torch

        if device == "gpu" and not torch.cuda.is_available():
            sys.exit(1)
        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        torch.set_grad_enabled(False)
        self.place = "cuda" if device == "gpu" else "cpu"
        self.out = None

    def operands(self, dtype, count, shape):
        torch = self.torch
        kind = getattr(torch, DTYPES[dtype])
        wide = kind if kind.is_complex else torch.float32
        make = lambda: torch.rand(shape, device=self.place, dtype=wide) * 4 - 2
        return [make().to(kind) for _ in range(count)]

    def shaped(self, name, x, options):
        """The workload's function, and its operands as they are to lie."""
        t = self.torch
        if name.startswith("matmul"):
            for i in range(2):
                x[i] = x[i].mT if options[0] >> i & 1 else x[i]
            return (lambda a, b, c: t.relu(a @ b + c)) if len(x) > 2 else t.matmul, x
        if name == "attention":
            f = t.nn.functional.scaled_dot_product_attention
            more = {"is_causal": options[0] == CAUSAL, "enable_gqa": options[1]}
            x = [y[None] for y in x]
            if options[0] == CONDITION:
                x[3] = x[3] < 1
            return (lambda q, k, v, m=None: f(q, k, v, m, **more)), x
        stride, around, groups, last = options
        if last:
            x = [y.to(memory_format=t.channels_last) for y in x]
        f = t.nn.functional.conv2d
        return (lambda y, w: f(y, w, None, stride, around, 1, groups)), x

    def definite(self, a):
        eye = self.torch.eye(a.shape[-1], dtype=a.dtype, device=self.place)
        return a + a.mT + eye * 4 * a.shape[-1]

    def indices(self):
        return self.torch.randint(0, TABLE, (TAKEN,), device=self.place)

    def wait(self):
        if self.place == "cuda":
            self.torch.cuda.synchronize()

    def compiled(self, f, *x):
        self.torch._dynamo.reset()
        g = self.torch.compile(f)

        def run():
            self.out = g(*x)

        return run

    def expressions(self):
        t = self.torch
        return {
            **COMMON,
            "chain": chain(t.abs),
            "tanh": lambda a, b, c: t.tanh(a * b + c),
            "exp": t.exp,
            "gelu": lambda x: x * 0.5 * (t.erf(x * 0.7071067811865476) + 1),
            "softmax": lambda x: t.softmax(x, -1),
            "layernorm": lambda x: t.nn.functional.layer_norm(x, x.shape[-1:]),
            "rmsnorm": lambda x: x * t.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5),
            "max1": lambda x: x.amax(1),
            "transpose": lambda x: x.t().contiguous(),
            "cumsum0": lambda x: x.cumsum(0, dtype=x.dtype),
            "cumsum1": lambda x: x.cumsum(1),
            "cummax1": lambda x: x.cummax(1).values,
            "sort": lambda x: t.sort(x, stable=True).values,
            "argsort": lambda x: t.argsort(x, stable=True),
            "fft": lambda a, b: t.fft.fft(t.complex(a, b)),
            "scatteradd": lambda x, i: x.index_add(0, i, x[:TAKEN]),
            "scans": scans(lambda x: x.cumsum(0), lambda x: x.cummax(0).values),
            "cholesky": t.linalg.cholesky,
            "triangular": lambda a, b: t.linalg.solve_triangular(a, b, upper=False),
            "solve": t.linalg.solve,
            "inverse": t.linalg.inv,
            "qr": t.linalg.qr,
            "eigh": t.linalg.eigh,
            "svd": lambda a: t.linalg.svd(a, full_matrices=False),
        }


class Jax:
    def __init__(self):
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        os.environ["JAX_PLATFORMS"] = "cuda" if device == "gpu" else "cpu"
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_default_matmul_precision", "highest")
        jax.devices()
        self.jax, self.out = jax, None

    def operands(self, dtype, count, shape):
        jax = self.jax
        keys = jax.random.split(jax.random.PRNGKey(1), count)
        return [jax.random.uniform(k, shape, "float32", -2, 2).astype(DTYPES[dtype]) for k in keys]

    def definite(self, a):
        return a + a.mT + self.jax.numpy.eye(a.shape[-1], dtype=a.dtype) * 4 * a.shape[-1]

    def indices(self):
        return self.jax.random.randint(self.jax.random.PRNGKey(2), (TAKEN,), 0, TABLE)

    def shaped(self, name, x, options):
        """The workload's function, and its operands as they are to lie."""
        jax = self.jax
        n = jax.numpy
        if name.startswith("matmul"):
            left, right = options[0] & 1, options[0] & 2

            def product(a, b, *c):
                y = n.matmul(a.mT if left else a, b.mT if right else b)
                return n.maximum(y + c[0], 0) if c else y

            return product, x
        if name == "attention":
            f = jax.nn.dot_product_attention
            lies = [y.swapaxes(0, 1)[None] for y in x[:3]] + [y[None] for y in x[3:]]
            if options[0] == CONDITION:
                return (lambda q, k, v, m: f(q, k, v, mask=m < 1)), lies
            if options[0] == SUMMAND:
                return f, lies
            return (lambda q, k, v: f(q, k, v, is_causal=options[0] == CAUSAL)), lies
        stride, around, groups, last = options
        axes = ("NHWC", "OHWI", "NHWC") if last else ("NCHW", "OIHW", "NCHW")
        if last:
            x = [y.transpose(0, 2, 3, 1) for y in x]

        def convolution(y, w):
            return jax.lax.conv_general_dilated(
                y,
                w,
                (stride, stride),
                [(around, around)] * 2,
                dimension_numbers=axes,
                feature_group_count=groups,
            )

        return convolution, x

    def wait(self):
        if self.out is not None:
            self.jax.block_until_ready(self.out)

    def compiled(self, f, *x):
        g = self.jax.jit(f)

        def run():
            self.out = g(*x)

        return run

    def expressions(self):
        jax = self.jax
        n, lax = jax.numpy, jax.lax

        def normalised(x, e):
            d = x - x.mean(-1, keepdims=True)
            return d * lax.rsqrt((d * d).mean(-1, keepdims=True) + e)

        return {
            **COMMON,
            "chain": chain(n.abs),
            "tanh": lambda a, b, c: n.tanh(a * b + c),
            "exp": n.exp,
            "gelu": lambda x: x * 0.5 * (lax.erf(x * 0.7071067811865476) + 1),
            "softmax": lambda x: jax.nn.softmax(x, -1),
            "layernorm": lambda x: normalised(x, 1e-5),
            "rmsnorm": lambda x: x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5),
            "max1": lambda x: x.max(1),
            "transpose": lambda x: x.T.copy(),
            "cumsum0": lambda x: n.cumsum(x, 0),
            "cumsum1": lambda x: n.cumsum(x, 1),
            "cummax1": lambda x: lax.cummax(x, 1),
            "sort": lambda x: lax.sort(x, is_stable=True),
            "argsort": lambda x: n.argsort(x, stable=True),
            "fft": lambda a, b: n.fft.fft(lax.complex(a, b)),
            "scatteradd": lambda x, i: x.at[i].add(x[:TAKEN]),
            "scans": scans(lambda x: n.cumsum(x), lambda x: lax.cummax(x)),
            "loop": loop(lax.while_loop),
            "cholesky": n.linalg.cholesky,
            "triangular": lambda a, b: lax.linalg.triangular_solve(
                a, b, left_side=True, lower=True
            ),
            "solve": n.linalg.solve,
            "inverse": n.linalg.inv,
            "qr": n.linalg.qr,
            "eigh": n.linalg.eigh,
            "svd": lambda a: n.linalg.svd(a, full_matrices=False),
        }


def chain(absolute):
    def f(x):
        y = x
        for _ in range(5):
            y = absolute(y - 0.5) * x + 0.1
        return y

    return f


def scans(total, most):
    def f(x):
        for i in range(100):
            x = most(x) if i % 2 else total(x)
        return x

    return f


def chained(x):
    for i in range(100):
        x = x - x.sum(i % 2, keepdims=True)
    return x


def loop(while_loop):
    def step(carried):
        i, x = carried
        x = x - x.sum(0, keepdims=True)
        return i + 1, x - x.sum(1, keepdims=True)

    return lambda x: while_loop(lambda carried: carried[0] < 1000, step, (0, x))[1]


def workload(library, name, f):
    def setup(dtype, count, n, m):
        count, n, m = int(count), int(n), int(m)
        if name in LINALG:
            x = library.operands(dtype, count, (n, m, m))
        else:
            x = library.operands(dtype, count, (n, m) if m else (n,))
        if name in DEFINITE:
            x[0] = library.definite(x[0])
        if name in ("gather", "scatteradd"):
            x.append(library.indices())
        run = library.compiled(f, *x)
        run()
        library.wait()
        return run

    return setup


def shaped_workload(library, name):
    def setup(dtype, *numbers):
        shapes, options = shapes_of(name, [int(x) for x in numbers])
        x = [library.operands(dtype, 1, shape)[0] for shape in shapes]
        f, x = library.shaped(name, x, options)
        run = library.compiled(f, *x)
        run()
        library.wait()
        return run

    return setup


try:
    library = {"torch": Torch, "jax": Jax}[framework]()
except (ImportError, RuntimeError):
    sys.exit(1)
workloads = {name: workload(library, name, f) for name, f in library.expressions().items()}
for name in ("matmul", "matmulbias", "attention", "convolution"):
    workloads[name] = shaped_workload(library, name)
workloads["hello"] = lambda: lambda: None
serve(workloads, lambda result: library.wait())
