# SPDX-License-Identifier: ISC
"""A graph of PyTorch as functions of nx, with the nodes between them that PyTorch runs.

Each node is tried once, on tensors without values: it is lowered if the table has it, nothing is
refused, and the result has the dtype and shape that the graph says. The others are fallbacks. Steps
then alternate: a function of nx takes every node that can run by then, PyTorch the fallbacks that
can, in the order of the graph, so that random numbers are drawn in theirs."""

from __future__ import annotations

import functools
import operator
from typing import Any, Callable, Sequence

import torch
from torch.fx import Graph, GraphModule, Node, map_arg

from .. import _core
from . import (_bags, _contractions, _indexing, _linalg, _movement,  # noqa: F401
               _pointwise, _reductions, _searching)
from ._lowering import Array, Call, Place, Unsupported, calls, lowering_of, nx_dtype, overload
from ._memory import Layout, give_all, in_order, lend_all
from ._report import GraphReport, note
from ._views import VIEWS, Sharing, shown


def _results(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _check_tensor(t: Any, place: Place) -> None:
    if not isinstance(t, torch.Tensor):
        raise Unsupported(f"a value that is no tensor: {type(t).__name__}")
    if t.device != place.device:
        raise Unsupported(f"a tensor of device {t.device}")
    if t.layout != torch.strided or t.is_quantized:
        raise Unsupported("a tensor that is sparse or quantized")
    nx_dtype(t.dtype)


def _place_of(graph: Graph) -> Place:
    """A graph with tensors of a GPU is computed on the first one that it has tensors of; PyTorch
    runs the nodes whose tensors are elsewhere."""
    tensors = [t for n in graph.nodes for t in _results(n.meta.get("val"))
               if isinstance(t, torch.Tensor)]
    gpus = {t.device for t in tensors if t.device.type == "cuda"}
    try:
        return Place(min(gpus, key=str) if gpus else torch.device("cpu"))
    except ValueError:  # nx has no such GPU: each node says so
        return Place(torch.device("cpu"))


def _stand_in(place: Place, node: Node) -> Any:
    """An array without a value for a node among arguments."""
    value = node.meta.get("val")
    if isinstance(value, (tuple, list)):
        raise Unsupported("several tensors as one argument")
    if not place.lifts(value):
        _check_tensor(value, place)
    return _core.empty(tuple(value.shape), nx_dtype(value.dtype), place.name)


def _compare(made: Any, expected: Any) -> None:
    """The result of a lowering with what the graph says."""
    made, expected = _results(made), _results(expected)
    if len(made) != len(expected):
        raise Unsupported(f"{len(made)} results, where there are {len(expected)}")
    for m, e in zip(made, expected):
        if e is None or m is None:
            continue
        if m.dtype != nx_dtype(e.dtype) or m.shape != tuple(e.shape):
            raise Unsupported(f"the result would be {m.dtype.name}{list(m.shape)}, "
                              f"not {e.dtype}{list(e.shape)}")


def _lower(node: Node, get: Callable[[Node], Any]) -> Any:
    call = Call(_results(node.meta.get("val")), node)
    args, kwargs = map_arg(node.args, get), map_arg(node.kwargs, get)
    return lowering_of(node.target)(call, *args, **kwargs)


def why_not(node: Node, place: Place) -> str | None:
    """Why a node does not run in nx; None if it does."""
    if lowering_of(node.target) is None:
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            return "PyTorch draws the random numbers"
        return "not in the table of nx"
    try:
        expected = node.meta.get("val")
        for t in _results(expected):
            if t is not None:
                _check_tensor(t, place)
        with place:
            _compare(_lower(node, functools.partial(_stand_in, place)), expected)
    except Unsupported as e:
        return str(e)
    except Exception as e:  # whatever it is: PyTorch runs the node, and the report says why
        return f"{type(e).__name__}: {e}"
    return None


# ---- steps

class _Step:
    """A function of nx: nodes that run together."""

    def __init__(self, nodes: list[Node], wanted: list[Node], apart: set[Node],
                 place: Place) -> None:
        """apart: results that share no memory with others."""
        self.place, self.nodes, self.apart, own = place, nodes, apart, set(nodes)
        self.inputs = list(dict.fromkeys(a for n in nodes for a in n.all_input_nodes
                                         if a not in own))
        self.outputs = wanted
        self.layouts = [Layout(n.meta["val"]) for n in wanted]
        self.function = _core.jit(self._trace)

    def _trace(self, *arrays: Array) -> tuple[Array, ...]:
        values: dict[Node, Any] = dict(zip(self.inputs, arrays))
        with self.place:
            for node in self.nodes:
                if node.target is operator.getitem:
                    values[node] = values[node.args[0]][node.args[1]]
                else:
                    values[node] = _lower(node, values.__getitem__)
        made: dict[int, Node] = {}
        return tuple(in_order(self._own(n, values[n], made), to.order)
                     for n, to in zip(self.outputs, self.layouts))

    def _own(self, node: Node, x: Array, made: dict[int, Node]) -> Array:
        """The result of a node. A copy of a tensor may be lowered to the array that this is."""
        other = made.setdefault(id(x), node)
        return calls.copy(x) if other is not node and {node, other} & self.apart else x

    def run(self, values: dict[Node, Any]) -> None:
        made = self.function(*lend_all([values[n] for n in self.inputs], self.place))
        values.update(zip(self.outputs, give_all(made, self.layouts, self.place)))


class _Foreign:
    """A node that PyTorch runs."""

    def __init__(self, node: Node) -> None:
        self.node, self.inputs = node, node.all_input_nodes

    def run(self, values: dict[Node, Any]) -> None:
        node = self.node
        args = map_arg(node.args, values.__getitem__)
        kwargs = map_arg(node.kwargs, values.__getitem__)
        values[node] = node.target(*args, **kwargs)


class _View(_Foreign):
    """A view among results. A write to it may have a gradient, as the program's may."""

    def run(self, values: dict[Node, Any]) -> None:
        with torch.enable_grad():
            super().run(values)


class _Constant:
    """A tensor, or a graph, that the module has."""

    def __init__(self, node: Node, module: GraphModule) -> None:
        self.node, self.inputs = node, []
        self.value = operator.attrgetter(node.target)(module)

    def run(self, values: dict[Node, Any]) -> None:
        values[self.node] = self.value


def _is_mutable(node: Node) -> bool:
    """Whether it writes an argument; AOTAutograd's graphs have no such nodes."""
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def _is_check(node: Node) -> bool:
    """Whether it does no more than to raise for a matrix that could not be factored."""
    check = torch.ops.aten._linalg_check_errors.default
    return node.target is check or (node.target is torch.ops.higher_order.with_effects
                                    and node.args[1] is check)


class _Plan:
    """Which nodes nx runs and which PyTorch, in levels: those of a level run after all of lower
    levels, those of nx before PyTorch's. What PyTorch can run at once, it runs first."""

    def __init__(self, graph: Graph, report: GraphReport) -> None:
        self.report, self.place = report, _place_of(graph)
        self.level: dict[Node, int] = {}
        self.foreign: set[Node] = {n for n in graph.nodes if n.op in ("placeholder", "get_attr")}
        self.own: list[list[Node]] = []
        self.others: list[list[Node]] = []
        self.first: list[Node] = []  # PyTorch's that need nothing of nx
        nodes = [n for n in graph.nodes if n.op == "call_function"]
        self.writes = next((n for n in nodes if _is_mutable(n)), None)
        self.why = {n: self._why(n) for n in nodes}
        self.views = self._views(nodes)
        self.last = -1
        for node in nodes:
            self._place(node)

    def _why(self, node: Node) -> str | None:
        """Marks a node that PyTorch runs."""
        if node.target is operator.getitem:
            why = "" if node.args[0] in self.foreign else None
        elif self.writes is not None:
            why = f"{self.writes.target} of the graph writes in place"
        else:
            why = why_not(node, self.place)
        if why is not None:
            self.foreign.add(node)
        return why

    def _views(self, nodes: list[Node]) -> set[Node]:
        """Views of what PyTorch has, that PyTorch needs: it makes them, without a copy. Also
        tensors that are filled with one number, for PyTorch alone."""
        views = {n for n in nodes if not n.all_input_nodes and n.users
                 and all(u in self.foreign for u in n.users)}
        for n in nodes:
            base = n.args[0] if n.args else None
            if base in self.foreign or base in views:
                if n.target in VIEWS or (n.target is operator.getitem and base in views):
                    views.add(n)
        views -= self.foreign
        needed: set[Node] = set()
        for n in reversed(nodes):
            if n in views and any(u.op == "output" or u in self.foreign or u in needed
                                  for u in n.users):
                needed.add(n)
        return needed

    def _place(self, node: Node) -> None:
        args = [a for a in node.all_input_nodes if a in self.level]
        if node.target is operator.getitem and node.args[0] in self.foreign:
            self.foreign.add(node)  # also one that only nx needs, of a split that PyTorch makes
        if node in self.views:
            self.foreign.add(node)
            self.report.views += 1
            if not args:
                self.first.append(node)
                return
            at = self.level[args[0]]
        elif node in self.foreign:
            at = max([self.level[a] for a in args], default=-1)
            if node.target is not operator.getitem:
                self._count(node)
                at = self.last = max(self.last, at)  # random numbers in the order of the graph
            if at < 0:
                self.first.append(node)
                return
        elif node.target is operator.getitem:
            at = self.level[args[0]]
        else:
            self.report.lowered[str(node.target)] += 1
            at = max([self.level[a] + (a in self.foreign) for a in args], default=0)
        self.level[node] = at
        to = self.others if node in self.foreign else self.own
        while len(to) <= at:
            to.append([])
        to[at].append(node)

    def _count(self, node: Node) -> None:
        if _is_check(node):
            self.report.checks += 1
        else:
            effect = node.target is torch.ops.higher_order.with_effects
            name = str(node.args[1] if effect else node.target)
            self.report.fallbacks[(name, self.why[node])] += 1


class Program:
    """What a graph has become. Called with its inputs in a list, gives its outputs."""

    def __init__(self, module: GraphModule, kind: str, shown: int | None = None) -> None:
        """shown: how many of the results are the program's, None for all."""
        report = GraphReport(kind)
        self.module = module
        graph: Graph = module.graph
        self.placeholders = [n for n in graph.nodes if n.op == "placeholder"]
        output = next(n for n in graph.nodes if n.op == "output")
        self.result = output.args[0]
        plan = _Plan(graph, report)
        own, others, self.place = plan.own, plan.others, plan.place
        results = _results(self.result)
        kept = results[len(results) if shown is None else shown:]
        self.sharing = Sharing(results[:shown], kept, plan.foreign)
        self.apart = {r for r in results[:shown] if isinstance(r, Node)}
        self.steps: list[Any] = [_Constant(n, module) for n in graph.nodes if n.op == "get_attr"]
        self.steps += [_Foreign(n) for n in plan.first]
        for i in range(max(len(own), len(others))):
            if i < len(own) and own[i]:
                self._add_function(own[i])
            self.steps += [_Foreign(n) for n in (others[i] if i < len(others) else [])]
        self.steps += [_View(n) for n in self.sharing.views]
        report.functions = sum(isinstance(s, _Step) for s in self.steps)
        self._find_last_uses(output)
        note(report)

    def _add_function(self, nodes: list[Node]) -> None:
        own, sharing = set(nodes), self.sharing
        wanted = [n for n in nodes if isinstance(n.meta.get("val"), torch.Tensor)
                  and (n in sharing.bases or any(
                      u not in own and not (u.op == "output" and n in sharing.shared)
                      for u in n.users))]
        if wanted:
            self.steps.append(_Step(nodes, wanted, self.apart, self.place))

    def _find_last_uses(self, output: Node) -> None:
        """What each step may drop when it is done."""
        kept, self.drops = set(output.all_input_nodes), []
        for step in reversed(self.steps):
            gone = [n for n in step.inputs if n not in kept]
            kept.update(gone)
            self.drops.append(gone)
        self.drops.reverse()

    def __call__(self, inputs: list[Any]) -> Any:
        values: dict[Node, Any] = dict(zip(self.placeholders, inputs))
        inputs.clear()
        for step, drops in zip(self.steps, self.drops):
            step.run(values)
            for node in drops:
                del values[node]
        return map_arg(self.result, values.__getitem__)


# ---- shapes that are not known

def _is_symbolic(module: GraphModule) -> bool:
    values = [v for n in module.graph.nodes for v in _results(n.meta.get("val"))]
    return any(isinstance(v, torch.SymInt | torch.SymFloat | torch.SymBool) for v in values) or any(
        isinstance(e, torch.SymInt) for v in values if isinstance(v, torch.Tensor) for e in v.shape)


class PerShape:
    """A graph with symbols for extents or numbers: a program for each shape that comes."""

    def __init__(self, module: GraphModule, kind: str, shown: int | None) -> None:
        self.module, self.kind, self.shown = module, kind, shown
        self.programs: dict[Any, Program] = {}

    def __call__(self, inputs: list[Any]) -> Any:
        key = tuple((tuple(x.shape), x.stride()) if isinstance(x, torch.Tensor) else x
                    for x in inputs)
        if key not in self.programs:
            from torch.fx.experimental.proxy_tensor import make_fx

            with torch.no_grad():
                static = make_fx(self.module, tracing_mode="fake")(*inputs)
            self.programs[key] = Program(static, self.kind, self.shown)
        return self.programs[key](inputs)


def compiled(module: GraphModule, inputs: Sequence[Any], kind: str) -> Any:
    """What AOTAutograd calls with a list of inputs, which is emptied."""
    make = PerShape if _is_symbolic(module) else Program
    program = make(module, kind, shown(kind))

    def run(inputs: list[Any]) -> Any:
        return program(inputs)

    run._boxed_call = True  # type: ignore[attr-defined]
    return run
