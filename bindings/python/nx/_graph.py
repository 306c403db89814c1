# SPDX-License-Identifier: ISC
"""The graph of an array that is not computed yet, as a picture for notebooks.

The text of the graph comes from the library (a dump of the stage "graph"). Operations stand in rows
by how far they are from the inputs, and what reads nothing just above what reads it; within a row
each stands near the operations that it reads. Colours are those of the text around the picture,
more or less opaque, so that it can be read on a light and on a dark page."""

from __future__ import annotations

import html
import re

from . import _core
from ._core import Array

_MOST = 60  # operations that are drawn; of more the number is given
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 118, 34, 14, 26
_LINE = 'fill="none" stroke="currentColor" stroke-opacity="0.45"'


class Node:
    """An input or an operation: what is written on it, and what it reads."""

    def __init__(self, name: str, title: str, type: str, operands: list[str]) -> None:
        self.name, self.title, self.type, self.operands = name, title, type, operands
        self.row, self.column = 0, 0.0
        self.users: list[Node] = []


_RESULT = re.compile(r"^\s*(%[\w.]+(?:\s*,\s*%[\w.]+)*)\s*=\s*([\w.]+)(.*)$")
_INPUT = re.compile(r"(%[\w.]+)\s*:\s*([\w]+\[[\d,]*\])")
_NAME = re.compile(r"%[\w.]+")


def parse(text: str) -> tuple[list[Node], list[str]]:
    """The nodes of the last graph of a text, operands first, and the names of its outputs."""
    nodes: list[Node] = []
    outputs: list[str] = []
    for line in text.splitlines():
        line = line.split(";")[0].rstrip()
        if line.lstrip().startswith("graph "):
            head, _, tail = line.partition("->")
            nodes = [Node(n, "input", t, []) for n, t in _INPUT.findall(head)]
            outputs = _NAME.findall(tail)
            continue
        found = _RESULT.match(line)
        if found:
            nodes.append(_statement(*found.groups()))
    return nodes, outputs


def _statement(results: str, op: str, rest: str) -> Node:
    body, _, type = rest.rpartition(" : ")
    type = type.split(" ")[0]
    title = f"{op} {body.strip()}" if op == "full" else op
    return Node(_NAME.findall(results)[0], title, type, _NAME.findall(body))


def arrange(nodes: list[Node]) -> list[list[Node]]:
    """Rows of nodes, each below all that it reads, in an order that crosses few lines."""
    by_name = {n.name: n for n in nodes}
    for n in nodes:
        n.operands = [o for o in n.operands if o in by_name]
        n.row = 1 + max((by_name[o].row for o in n.operands), default=-1)
        for o in dict.fromkeys(n.operands):
            by_name[o].users.append(n)
    for n in nodes:
        if not n.operands and n.users:
            n.row = min(u.row for u in n.users) - 1
    rows: list[list[Node]] = [[] for _ in range(1 + max(n.row for n in nodes))]
    for n in nodes:
        rows[n.row].append(n)
    for row in rows:
        for i, n in enumerate(row):
            at = [by_name[o].column for o in n.operands]
            n.column = sum(at) / len(at) if at else _beside(n, by_name, float(i))
        row.sort(key=lambda n: n.column)
        _spread(row)
    return rows


def _beside(n: Node, by_name: dict[str, Node], first: float) -> float:
    """The column of what reads nothing: right of what stands above and is read with it."""
    at = [by_name[o].column for u in n.users for o in u.operands if by_name[o].row < n.row]
    at += [by_name[o].column for u in n.users for p in u.operands for o in by_name[p].operands]
    return 1.0 + max(at) if at and n.row else first


def _spread(row: list[Node]) -> None:
    """No two nodes of a row in one place."""
    for a, b in zip(row, row[1:]):
        b.column = max(b.column, a.column + 1.0)


def _center(n: Node, left: float) -> float:
    return (n.column - left) * (_WIDTH + _GAP_X) + _WIDTH / 2


def _box(n: Node, left: float, bold: bool) -> str:
    x, y = (n.column - left) * (_WIDTH + _GAP_X), n.row * (_HEIGHT + _GAP_Y)
    fill = 'fill="#3b82f6" fill-opacity="0.25"' if n.title == "input" else \
        'fill="currentColor" fill-opacity="0.07"'
    middle = x + _WIDTH / 2
    title = n.title if len(n.title) <= 18 else n.title[:17] + "…"
    return (f'<rect x="{x:.0f}" y="{y:.0f}" width="{_WIDTH}" height="{_HEIGHT}" rx="4" '
            f'{fill} stroke="currentColor" stroke-opacity="{1 if bold else 0.5}" '
            f'stroke-width="{2.5 if bold else 1}"/>'
            f'<text x="{middle:.0f}" y="{y + 14:.0f}" text-anchor="middle" font-size="12" '
            f'fill="currentColor">{html.escape(title)}</text>'
            f'<text x="{middle:.0f}" y="{y + 28:.0f}" text-anchor="middle" font-size="10" '
            f'fill="currentColor" fill-opacity="0.75">{html.escape(n.type)}</text>')


def _line(a: Node, b: Node, left: float, rows: list[list[Node]]) -> str:
    """From below a to above b; around the boxes between them if they stand in one column."""
    x1, x2 = _center(a, left), _center(b, left)
    if b.row - a.row > 1 and abs(x1 - x2) < _WIDTH:
        between = [_center(n, left) for row in rows[a.row + 1 : b.row] for n in row]
        return _around(x1, x2, a.row, b.row, between)
    y1 = a.row * (_HEIGHT + _GAP_Y) + _HEIGHT
    y2 = b.row * (_HEIGHT + _GAP_Y)
    bend = (y2 - y1) / 2
    return (f'<path d="M{x1:.0f} {y1} C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} '
            f'{x2:.0f} {y2}" {_LINE}/>')


def _around(x1: float, x2: float, row1: int, row2: int, between: list[float]) -> str:
    y1, y2 = (row * (_HEIGHT + _GAP_Y) + _HEIGHT / 2 for row in (row1, row2))
    x1, x2 = x1 + _WIDTH / 2, x2 + _WIDTH / 2
    edge = max(x1, x2)
    for x in sorted(between):  # the centers of boxes, as long as they stand in the way
        if x - _WIDTH / 2 < edge + _GAP_X:
            edge = max(edge, x + _WIDTH / 2)
    far = edge + (edge - (x1 + x2) / 2) / 3 + 20 + 3 * (row2 - row1)
    return (f'<path d="M{x1:.0f} {y1:.0f} C{far:.0f} {y1:.0f} {far:.0f} {y2:.0f} {x2:.0f} '
            f'{y2:.0f}" {_LINE}/>')


def draw(nodes: list[Node], outputs: list[str]) -> str:
    """The picture of nodes, outputs with a thick border."""
    rows = arrange(nodes)
    by_name = {n.name: n for n in nodes}
    left = min(n.column for n in nodes)
    width = (max(n.column for n in nodes) - left) * (_WIDTH + _GAP_X) + _WIDTH
    width += _WIDTH + 20 + 3 * len(rows)  # of lines that go around boxes
    height = len(rows) * (_HEIGHT + _GAP_Y) - _GAP_Y
    lines = [_line(by_name[o], n, left, rows) for n in nodes for o in dict.fromkeys(n.operands)]
    boxes = [_box(n, left, n.name in outputs) for n in nodes]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 4:.0f}" '
            f'height="{height + 4}" viewBox="-2 -2 {width + 4:.0f} {height + 4}" '
            f'font-family="sans-serif">{"".join(lines + boxes)}</svg>')


def svg(x: Array) -> str:
    """The picture of what computing x would do; "" if there is nothing to do, the number of
    operations if there are many."""
    try:
        nodes, outputs = parse(_core.dump((x,), stage="graph"))
    except _core.Error:
        return ""
    operations = sum(n.title != "input" for n in nodes)
    if operations == 0:
        return ""
    if operations > _MOST:
        return f"<div>{operations} operations are recorded, and not computed yet</div>"
    return f"<div style='max-height:32em;overflow:auto'>{draw(nodes, outputs)}</div>"
