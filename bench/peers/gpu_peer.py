# SPDX-License-Identifier: ISC
"""PyTorch's or JAX's workloads on a GPU, compiled: gpu_peer.py torch|jax [cpu]. A workload is NAME
DTYPE OPERANDS N M, with operands of N elements, or of N rows of M; cpu: on the processor, to try
the program."""

import os
import sys

from serve import serve

framework, device = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "gpu"
TABLE, TAKEN = 50000, 8192
DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i32": "int32"}
# What both write in the same way.
COMMON = {
    "poly": lambda a, b: a * 2 + b * 3 - a * b,
    "sum0": lambda x: x.sum(0),
    "sum1": lambda x: x.sum(1),
    "argmax1": lambda x: x.argmax(1),
    "gather": lambda x, i: x[i],
}


class Torch:
    def __init__(self):
        import torch

        if device == "gpu" and not torch.cuda.is_available():
            sys.exit(1)
        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.set_grad_enabled(False)
        self.place = "cuda" if device == "gpu" else "cpu"
        self.out = None

    def operands(self, dtype, count, shape):
        torch = self.torch
        kind = getattr(torch, DTYPES[dtype])
        make = lambda: torch.rand(shape, device=self.place) * 4 - 2
        return [make().to(kind) for _ in range(count)]

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
            "matmul": t.matmul,
            "matmulbias": lambda a, b, c: t.relu(a @ b + c),
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

    def indices(self):
        return self.jax.random.randint(self.jax.random.PRNGKey(2), (TAKEN,), 0, TABLE)

    def wait(self):
        if self.out is not None:
            self.out.block_until_ready()

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
            "matmul": n.matmul,
            "matmulbias": lambda a, b, c: n.maximum(a @ b + c, 0),
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


def workload(library, name, f):
    def setup(dtype, count, n, m):
        count, n, m = int(count), int(n), int(m)
        if name.startswith("matmul"):  # n matrices, or one
            x = library.operands(dtype, 2, (n, m, m) if n > 1 else (m, m)) + library.operands(
                dtype, 1, (m,)
            )
            x = x[: 3 if name == "matmulbias" else 2]
        else:
            x = library.operands(dtype, count, (n, m) if m else (n,))
        if name in ("gather", "scatteradd"):
            x.append(library.indices())
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
workloads["hello"] = lambda: lambda: None
serve(workloads, lambda result: library.wait())
