# SPDX-License-Identifier: ISC
"""PyTorch's way to nx: `torch.compile(model, backend="nx")`, for inference and training. What nx
has no form of runs in PyTorch, is warned of once, and is named in `report()`."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable

try:
    import torch
except ImportError as e:
    raise ImportError("nx.torch needs PyTorch, which is not installed") from e

from torch._decomp import core_aten_decompositions, get_decompositions
from torch._dynamo import register_backend
from torch._dynamo.backends.common import aot_autograd
from torch._prims_common import compute_elementwise_output_strides

from ._graphs import compiled
from ._lowering import TABLE
from ._report import FallbackWarning, GraphReport, Report, report

__all__ = ["FallbackWarning", "GraphReport", "Report", "backend", "operations", "report"]

# Operations of PyTorch that become others, beside those outside of its core set.
_DECOMPOSED = """_batch_norm_with_update _batch_norm_with_update_functional _log_softmax
_native_batch_norm_legit _native_batch_norm_legit_functional _native_batch_norm_legit_no_training
_softmax addcdiv addcmul elu gelu hardsigmoid hardswish hardtanh leaky_relu log_sigmoid_forward
native_batch_norm native_group_norm native_layer_norm roll softplus tril triu
upsample_bilinear2d upsample_bicubic2d upsample_nearest2d grid_sampler_2d
pixel_shuffle reflection_pad2d glu std lerp""".split()


@functools.cache
def _decompositions() -> dict[Any, Callable]:
    table = dict(core_aten_decompositions())
    packets = [getattr(torch.ops.aten, n) for n in _DECOMPOSED if hasattr(torch.ops.aten, n)]
    table.update(get_decompositions(packets))
    for target in TABLE:
        table.pop(target, None)
    # drawn by PyTorch, with the numbers that its seed gives
    table.pop(torch.ops.aten.bernoulli.default, None)
    table[torch.ops.aten.native_dropout.default] = _dropout
    return table


def _dropout(x: torch.Tensor, p: float, train: bool | None) -> Any:
    """With numbers of PyTorch, which need nothing of x but its form: they are all drawn first."""
    if train is False or x.numel() == 0:
        return NotImplemented
    strides = compute_elementwise_output_strides(x)
    form = torch.ops.aten.empty_strided.default(x.shape, strides, dtype=torch.bool,
                                                device=x.device)
    mask = torch.ops.aten.bernoulli.p(form, 1 - p)
    return x * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


def _tracing(module: torch.fx.GraphModule) -> Any:
    """An LSTM is traced as its steps, not as one call of oneDNN, which has no gradient here."""
    if any(getattr(n.target, "__name__", "") == "lstm" for n in module.graph.nodes):
        return torch.backends.mkldnn.flags(enabled=False)
    return contextlib.nullcontext()


@functools.cache
def _compiler() -> Callable:
    return aot_autograd(
        fw_compiler=functools.partial(compiled, kind="forward"),
        bw_compiler=functools.partial(compiled, kind="backward"),
        inference_compiler=functools.partial(compiled, kind="inference"),
        decompositions=_decompositions())


def backend(module: torch.fx.GraphModule, inputs: list[torch.Tensor], **options: Any) -> Callable:
    """The backend of torch.compile. It has no options."""
    if options:
        raise ValueError(f"nx: the backend has no options, and is given {sorted(options)}")
    with _tracing(module):
        return _compiler()(module, inputs)


def operations() -> list[str]:
    """The operations of PyTorch that nx computes, by name."""
    return sorted(str(target) for target in TABLE)


if "nx" not in torch._dynamo.list_backends(exclude_tags=()):
    register_backend(backend, name="nx")
