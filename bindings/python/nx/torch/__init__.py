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

from torch._dynamo import register_backend
from torch._dynamo.backends.common import aot_autograd

from ._decompositions import decompositions
from ._graphs import compiled
from ._lowering import TABLE
from ._report import FallbackWarning, GraphReport, Report, report

__all__ = ["FallbackWarning", "GraphReport", "Report", "backend", "operations", "report"]


@functools.cache
def _compiler() -> Callable:
    return aot_autograd(
        fw_compiler=functools.partial(compiled, kind="forward"),
        bw_compiler=functools.partial(compiled, kind="backward"),
        inference_compiler=functools.partial(compiled, kind="inference"),
        decompositions=decompositions())


def _tracing(module: torch.fx.GraphModule) -> Any:
    """An LSTM is traced as its steps, not as one call of oneDNN, which has no gradient here."""
    if any(getattr(n.target, "__name__", "") == "lstm" for n in module.graph.nodes):
        return torch.backends.mkldnn.flags(enabled=False)
    return contextlib.nullcontext()


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
