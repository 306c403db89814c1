# SPDX-License-Identifier: ISC
"""PyTorch's own cases of its operations (op_db of torch.testing) through AOTAutograd and nx, beside
PyTorch: how many run in nx alone, how many with fallbacks, which differ, by dtype.

Usage: opinfo.py [--dtype NAME]... [--only WORD] [--part I/N] [--list]. Wants torch,
expecttest and nx (PYTHONPATH, or the wheel). The first three samples of an operation, of float32
the first four; of float32 and float64 with gradients. --list names what differs and what falls
back.

A difference in less precision than f64 counts only if nx is farther from PyTorch's result in f64
than twice PyTorch itself. Elements of `empty` and random numbers are not compared.
"""

import argparse
import collections
import functools
import itertools
import sys
import warnings

import torch
from torch._functorch.aot_autograd import aot_function
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

import nx.torch
from nx.torch._decompositions import decompositions
from nx.torch._graphs import compiled

DTYPES = ("float32", "float64", "bfloat16", "bool", "int64", "complex64")
WIDER = {torch.float32: torch.float64, torch.bfloat16: torch.float64,
         torch.complex64: torch.complex128}
WITH_GRADIENTS = (torch.float32, torch.float64)
# What has other results at each call, or any.
NO_VALUES = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty",
             "new_empty_strided", "bernoulli", "cauchy", "exponential", "geometric", "log_normal",
             "multinomial", "normal", "rand_like", "randint", "randint_like", "randn", "randn_like",
             "uniform", "rand", "randperm")


def is_random(op, sample):
    """Whether the samples' results are drawn, or are what memory holds."""
    name = op.name.split(".")[-1]
    words = str(sample.kwargs) + op.name
    return name in NO_VALUES or any(w in words for w in ("dropout", "rrelu", "_rand", "gumbel"))


def as_function(op, sample):
    """The call of a sample as a function of its tensors, and those."""
    leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    at = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]

    def function(*tensors):
        now = list(leaves)
        for i, x in zip(at, tensors):
            now[i] = x
        x, args, words = pytree.tree_unflatten(now, spec)
        return op.op(x, *args, **words)

    return function, [leaves[i] for i in at]


def tensors_of(result):
    return [x for x in pytree.tree_leaves(result) if isinstance(x, torch.Tensor)]


def evaluated(function, tensors):
    """Results, and gradients of their sum with weights."""
    leaves = [x.detach().clone().requires_grad_(x.requires_grad) for x in tensors]
    torch.manual_seed(0)
    results = tensors_of(function(*leaves))
    wanted = [x for x in leaves if x.requires_grad]
    targets = [y for y in results if y.requires_grad]
    grads = []
    if wanted and targets:
        total = sum((y.real * torch.linspace(0.5, 1, y.numel()).to(y.real.dtype).reshape(y.shape))
                    .sum() for y in targets)
        grads = torch.autograd.grad(total, wanted, allow_unused=True)
    return [y.detach() for y in results], grads


def is_close(a, b):
    """Gradients that are not there count as 0."""
    if a is None or b is None:
        other = b if a is None else a
        return other is None or not bool(other.any())
    try:
        torch.testing.assert_close(a, b, equal_nan=True, check_stride=False)
    except AssertionError:
        return False
    return True


def distance(a, b):
    if a is None or b is None or a.shape != b.shape:
        return float("inf")
    a, b = (x.to(torch.complex128 if x.is_complex() else torch.float64) for x in (a, b))
    apart = (a - b).abs().nan_to_num(0, 0, 0)
    return float(apart.max()) if apart.numel() else 0.0


def in_f64(function, tensors, dtype):
    """The sample's results with its tensors in more precision; None if PyTorch refuses."""
    wide = [x.detach().to(WIDER[dtype]).requires_grad_(x.requires_grad) if x.dtype == dtype else x
            for x in tensors]
    try:
        return list(itertools.chain(*evaluated(function, wide)))
    except Exception:  # pylint: disable=broad-exception-caught
        return None


def outcome(op, sample, dtype):
    """One of: nx, fallback, less precise, different, not traced, not run; and what fell back."""
    function, tensors = as_function(op, sample)
    if not tensors:
        return "not run", ()
    try:
        wanted = list(itertools.chain(*evaluated(function, tensors)))
    except Exception:  # pylint: disable=broad-exception-caught
        return "not run", ()
    nx.torch.report(clear=True)
    of = {f"{name}_compiler": functools.partial(compiled, kind=kind)
          for name, kind in (("fw", "forward"), ("bw", "backward"), ("inference", "inference"))}
    try:
        traced = aot_function(function, decompositions=decompositions(), **of)
        got = list(itertools.chain(*evaluated(traced, tensors)))
    except Exception as e:  # pylint: disable=broad-exception-caught
        what = "different" if nx.torch.report() else "not traced"
        return what, (f"{type(e).__name__}: {e}"[:90],)
    fallen = tuple(sorted({name for name, _ in nx.torch.report().fallbacks}))
    if is_random(op, sample) or any("rand" in f or "bernoulli" in f for f in fallen):
        return ("fallback" if fallen else "nx"), fallen
    if len(got) == len(wanted) and all(map(is_close, got, wanted)):
        return ("fallback" if fallen else "nx"), fallen
    exact = in_f64(function, tensors, dtype) if dtype in WIDER else None
    if exact is not None and len(exact) == len(got) == len(wanted) and all(
            is_close(g, w) or distance(g, e) <= 2 * distance(w, e)
            for g, w, e in zip(got, wanted, exact)):
        return "less precise", fallen
    return "different", fallen


def measure(name, chosen, list_all):
    dtype, counts, named = getattr(torch, name), collections.Counter(), collections.Counter()
    for op in chosen:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        gradients = dtype in WITH_GRADIENTS and op.supports_autograd
        try:
            samples = op.sample_inputs("cpu", dtype, requires_grad=gradients)
            samples = list(itertools.islice(samples, 4 if name == "float32" else 3))
        except Exception:  # pylint: disable=broad-exception-caught
            counts["not run"] += 1
            continue
        for i, sample in enumerate(samples):
            torch._dynamo.reset()
            what, fallen = outcome(op, sample, dtype)
            counts[what] += 1
            named.update(fallen if what == "fallback" else ())
            if list_all and what in ("different", "less precise", "not traced"):
                print(f"  {name} {op.name} {op.variant_test_name} sample {i}: {what} {fallen}",
                      flush=True)
    print(name, dict(counts), flush=True)
    if list_all and named:
        print("  fallbacks:", ", ".join(f"{k} {n}" for k, n in named.most_common()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtype", action="append")
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    i, n = map(int, options.part.split("/"))
    chosen = [op for op in op_db if options.only in op.name][i - 1::n]
    for name in options.dtype or DTYPES:
        measure(name, chosen, options.list)


if __name__ == "__main__":
    sys.exit(main())
