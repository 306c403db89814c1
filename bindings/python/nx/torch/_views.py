# SPDX-License-Identifier: ISC
"""Results of a graph that lie in one memory, as a tensor and its view do: nx computes what they are
views of, and PyTorch makes the views of it, as it does without a compiler. So a write to one of
them is seen in the others."""

from __future__ import annotations

import operator
from typing import Any, Iterable

import torch
from torch.fx import Node

from ._lowering import overload

# Nodes whose results PyTorch makes without a copy, where it needs them of a tensor it has
VIEWS = {overload(f"aten.{n}") for n in (
    "view.default", "permute.default", "transpose.int", "t.default", "expand.default",
    "unsqueeze.default", "squeeze.default", "squeeze.dim", "squeeze.dims", "alias.default",
    "detach.default", "slice.Tensor", "select.int", "diagonal.default", "unfold.default",
    "as_strided.default", "view.dtype", "split_with_sizes.default", "split.Tensor", "unbind.int",
    "_conj.default", "view_as_real.default", "view_as_complex.default", "real.default",
    "imag.default")}


def _is_view(node: Node) -> bool:
    """Whether it is a view of its first argument, in PyTorch."""
    if not node.args or not isinstance(node.args[0], Node):
        return False
    return (node.target in VIEWS or getattr(node.target, "is_view", False)
            or (node.target is operator.getitem and _is_view(node.args[0])))


def _way(node: Node) -> list[Node]:
    """What a tensor is a view of, and the views from there to it."""
    way = [node]
    while _is_view(way[-1]):
        way.append(way[-1].args[0])
    return way[::-1]


class Sharing:
    """Which results are views of one tensor and would be computed each for itself: `views` are the
    nodes that make them, behind all functions, `bases` what they are views of, `shared` they.
    What is kept for the backward belongs to them if it is such a view, or what one is a view of:
    PyTorch sees then that it was written before the backward needs it, and raises."""

    def __init__(self, results: Iterable[Any], kept: Iterable[Any], foreign: set[Node]) -> None:
        ways: dict[Node, list[list[Node]]] = {}
        results = dict.fromkeys(r for r in results if isinstance(r, Node))
        for node in results:
            way = _way(node)
            ways.setdefault(way[0], []).append(way)
        for node in dict.fromkeys(k for k in kept if isinstance(k, Node)):
            way = _way(node)
            if node not in results and way[0] in ways:
                ways[way[0]].append(way)
        self.views: dict[Node, None] = {}
        self.bases: set[Node] = set()
        self.shared: set[Node] = set()
        for base, those in ways.items():
            here = [way for way in those if any(n not in foreign for n in way[1:])]
            if len(those) > 1 and here:
                self.bases.add(base)
                self.shared.update(way[-1] for way in here)
                self.views.update(dict.fromkeys(n for way in here for n in way[1:]))


def shown(kind: str) -> int | None:
    """How many of a graph's results are the program's, from the first on, None for all: the others
    are kept for the backward. Those of the backward are gradients, each in its own memory."""
    if kind == "inference":
        return None
    context = torch._guards.TracingContext.try_get()
    meta = context.fw_metadata if context and kind == "forward" else None
    return meta.num_forward_returns if meta else 0
