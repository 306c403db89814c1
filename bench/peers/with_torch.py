# SPDX-License-Identifier: ISC
"""PyTorch's forms, eager ("torch") or through torch.compile ("compile")."""

import os

import formulas
import numpy as np
import torch
import torch.nn.functional as F
from with_numpy import DEFINITE, changes, changing, definite, layer_of

threads = int(os.environ.get("OMP_NUM_THREADS", "1"))


def concatenate(x, axis):
    return torch.cat(list(x), axis)


def roll(x, by):
    return torch.roll(x, by, tuple(range(len(by))))


def heat(x):
    middle = x[1:-1, 1:-1]
    near = x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1]
    return x + F.pad((near - middle * 4) * 0.1, (1, 1, 1, 1))


def stencil1(x):
    p = F.pad(x, (1, 1))
    return p[:-2] + p[2:] - x * 2


def stencil2(x):
    p = F.pad(x, (1, 1, 1, 1))
    h, w = x.shape
    return sum(p[i : i + h, j : j + w] for i in range(3) for j in range(3)) * (1 / 9)


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def normalised(x):
    return F.layer_norm(x, x.shape[-1:])


def convolve(step):
    return lambda x, w: F.conv2d(x, w, stride=step, padding=w.shape[2] // 2)


def gradient(x, w, above):
    return torch.nn.grad.conv2d_weight(x, w.shape, above, padding=w.shape[2] // 2)


def depthwise_gradient(x, w, above):
    return torch.nn.grad.conv2d_weight(
        x, w.shape, above, padding=w.shape[2] // 2, groups=x.shape[1]
    )


def depthwise_gradient_last(x, w, above):
    first = lambda t: t.permute(0, 3, 1, 2)
    return depthwise_gradient(first(x), w.permute(3, 2, 0, 1), first(above)).permute(2, 3, 1, 0)


FORMS = {
    **formulas.forms(
        torch, torch.erf, lambda x: torch.softmax(x, -1), roll, concatenate, torch.relu
    ),
    "gelu": F.gelu,
    "matmulgelu": lambda a, b, c: F.gelu(torch.addmm(c, a, b)),
    "matmulrelu": lambda a, b, c: torch.relu(torch.addmm(c, a, b)),
    "gelunetwork": lambda x, u, v: F.gelu(x @ u) @ v,
    "heat": heat,
    "stencil1": stencil1,
    "stencil2": stencil2,
    "variance": lambda x: x.var(1, correction=0),
    "logsoftmax": lambda x: torch.log_softmax(x, 1),
    "crossentropy": lambda x, i: F.cross_entropy(x, i),
    "layernorm": normalised,
    "rmsnorm": lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-5),
    "cummax0": lambda x: torch.cummax(x, 0).values,
    "cummax1": lambda x: torch.cummax(x, 1).values,
    "transpose": lambda x: x.t().contiguous(),
    "permute": lambda x: x.permute(0, 2, 1, 3).contiguous(),
    "flip": lambda x: torch.flip(x, (1,)),
    "third": lambda x: x[::3].contiguous(),
    "thirdcolumn": lambda x: x[:, 1::3].contiguous(),
    "pad": lambda x: F.pad(x, (2, 2, 2, 2)),
    "grey": formulas.grey(torch, lambda x: x.to(torch.int32), lambda x: x.to(torch.uint8)),
    "planes": lambda x: x.permute(0, 3, 1, 2).contiguous(),
    "scaledplanes": lambda x: (x.permute(0, 3, 1, 2).float() * (1 / 128) - 1).contiguous(),
    "brightened": lambda x: torch.clamp(x, max=215) + 40,
    "gather": lambda x, i: torch.index_select(x, 0, i),
    "take": lambda x, i: torch.index_select(x, 0, i),
    "scatteradd": lambda x, i, u: x.index_add(0, i, u),
    "onehot": lambda i, c: F.one_hot(i, c.shape[0]).float(),
    "histogram": lambda x, bins: torch.bincount(x, minlength=bins.shape[0]),
    "top50": lambda x: torch.topk(x, min(50, x.shape[1]), dim=1).values,
    "matmulbytes": lambda a, b: torch._int_mm(a, b),
    "attention": attention,
    "causal": causal,
    "transformer": formulas.transformer(normalised, causal, F.gelu),
    "conv": convolve(1),
    "convby2": convolve(2),
    "convby3": convolve(3),
    "conv1": lambda x, w: F.conv1d(x, w, padding=w.shape[2] // 2),
    "convgradient": gradient,
    "depthwise": lambda x, w: F.conv2d(x, w, padding=w.shape[2] // 2, groups=x.shape[1]),
    "depthwisegradient": depthwise_gradient,
    "depthwisegradientlast": depthwise_gradient_last,
    "pooled": lambda x: F.max_pool2d(x, 2),
    "sort0": lambda x: torch.sort(x, 0).values,
    "sort1": lambda x: torch.sort(x, 1).values,
    "argsort0": lambda x: torch.argsort(x, 0),
    "argsort1": lambda x: torch.argsort(x, 1),
    "sumitem": lambda a, b: (a + b)[3].item(),
    "manysums": lambda x: [row + 1 for row in x.unbind()],
}
# What takes indices wants them as i64.
INDEXED = ("gather", "take", "scatteradd", "onehot", "crossentropy")
LINALG = {
    "cholesky": lambda a, b: torch.linalg.cholesky(a),
    "qr": lambda a, b: torch.linalg.qr(a),
    "svd": lambda a, b: torch.linalg.svd(a, full_matrices=False),
    "eigh": lambda a, b: torch.linalg.eigh(a),
    "eig": lambda a, b: torch.linalg.eig(a),
    "triangular": lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
    "solve": lambda a, b: torch.linalg.solve(a, b),
    "inv": lambda a, b: torch.linalg.inv(a),
    "det": lambda a, b: torch.linalg.det(a),
}
# The compiler has none of its own for these, and eager ones are timed anyway.
SORTS = ("sort0", "sort1", "argsort0", "argsort1")
EAGER = (*SORTS, "histogram", "sumitem", "manysums", "matmulbytes")


def cache(x):
    return torch.softmax(x[-1:] @ x.T, 1) @ x


CHANGING = changes(
    lambda x: torch.tanh(x * 0.5 + 1).sum(),
    lambda x: torch.softmax(x, 1),
    cache,
    layer_of(torch.relu),
)


class Library:
    def __init__(self, which):
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.compiles = which == "compile"
        if self.compiles:
            import torch._inductor.config as config

            config.cpp.dynamic_threads = True  # the same code for every number of threads
            if os.environ.get("NX_ISA") == "avx2":
                config.cpp.simdlen = 256
            torch._dynamo.config.cache_size_limit = 64

    def convert(self, x, whole):
        if str(x.dtype) == "bfloat16":
            return torch.from_numpy(x.astype(np.float32)).bfloat16()
        t = torch.from_numpy(np.ascontiguousarray(x))
        return t.long() if whole and t.dtype == torch.int32 else t

    def transform(self, name, x):
        kind, n, repeat = name.split("/")
        f = getattr(torch.fft, kind)

        def run():
            for _ in range(int(repeat)):
                result = f(x, int(n), norm="forward") if kind == "irfft" else f(x)
            return result

        return run

    def setup(self, name, arrays):
        kinds = [str(a.dtype) for a in arrays]
        x = [self.convert(a, name in INDEXED) for a in arrays]
        if name in CHANGING:
            f, *how = CHANGING[name]
            return changing(torch.compile(f, dynamic=True) if self.compiles else f, *how)(x[0])
        if "/" in name:
            return None if self.compiles else self.transform(name, x[0])
        if name in LINALG:
            if self.compiles:
                return None
            a = torch.from_numpy(definite(arrays[0])) if name in DEFINITE else x[0]
            return lambda: LINALG[name](a, x[1])
        if name not in FORMS or (self.compiles and (name in EAGER or "complex64" in kinds)):
            return None
        f = FORMS[name]
        if self.compiles:
            torch._dynamo.reset()
            f = torch.compile(f)
        return lambda: f(*x)

    def wait(self, result):
        pass
