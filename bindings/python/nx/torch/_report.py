# SPDX-License-Identifier: ISC
"""What became of the graphs that PyTorch gave: which nodes run in nx, which in PyTorch, and why."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field


class FallbackWarning(UserWarning):
    """Operations of a graph run in PyTorch, as nx has no form of them."""


@dataclass
class GraphReport:
    """One graph: `forward`, `backward` or `inference`, with static shapes."""

    kind: str
    lowered: Counter = field(default_factory=Counter)
    fallbacks: Counter = field(default_factory=Counter)  # (operation, why) -> how many nodes
    views: int = 0  # of inputs, that PyTorch makes without a copy
    checks: int = 0  # of factors, which raise in PyTorch, as it does
    functions: int = 0  # captured functions; more than one where PyTorch runs between them

    def __str__(self) -> str:
        total, left = sum(self.lowered.values()), sum(self.fallbacks.values())
        lines = [f"{self.kind}: {total} nodes in {self.functions} functions of nx, "
                 f"{left} in PyTorch" + (f", and {self.checks} checks" if self.checks else "")]
        lines += [f"  {n} x {op}: {why}" for (op, why), n in self.fallbacks.most_common()]
        return "\n".join(lines)


class Report(list):
    """The graphs compiled since the process began, or `report(clear=True)` was called."""

    @property
    def fallbacks(self) -> Counter:
        """(operation, why) -> how many nodes, of all graphs."""
        return sum((g.fallbacks for g in self), Counter())

    def __str__(self) -> str:
        return "\n".join(map(str, self)) if self else "no graph was compiled"


_graphs: list[GraphReport] = []
_warned: set[tuple[str, str]] = set()


def report(clear: bool = False) -> Report:
    """What was compiled so far; clear forgets it."""
    made = Report(_graphs)
    if clear:
        _graphs.clear()
        _warned.clear()
    return made


def note(graph: GraphReport) -> None:
    _graphs.append(graph)
    new = [key for key in graph.fallbacks if key not in _warned]
    if new:
        _warned.update(new)
        named = "; ".join(f"{op} ({why})" for op, why in new)
        warnings.warn(f"nx: run in PyTorch: {named}. nx.torch.report() has all of them.",
                      FallbackWarning, stacklevel=2)
