# SPDX-License-Identifier: ISC
"""How arrays are printed: as NumPy prints its own, and for notebooks as HTML. Of a large array the
corners alone are read. Printing is an action."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import Any, Callable, Iterator

from . import _core
from ._core import Array, calls
from ._lib import arr, real_dtype

__all__ = ["array_repr", "array_str", "get_printoptions", "printoptions", "set_printoptions"]

_options = {"precision": 8, "threshold": 1000, "edgeitems": 3, "linewidth": 75, "suppress": False}


def set_printoptions(**options: Any) -> None:
    """precision: digits behind the point; threshold: elements from which on the corners are shown;
    edgeitems: of each side; linewidth; suppress: no exponents. As in NumPy."""
    for name in options:
        if name not in _options:
            raise TypeError(f"set_printoptions: there is no option {name!r}")
    _options.update(options)


def get_printoptions() -> dict:
    """The options that are set."""
    return dict(_options)


@contextmanager
def printoptions(**options: Any) -> Iterator[dict]:
    """set_printoptions for the time of a with statement."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield get_printoptions()
    finally:
        _options.update(before)


# ---- numbers. A float is shown with the fewest digits that tell it from its neighbours.

_FRACTION = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7, "float8_e4m3fn": 3,
             "float8_e5m2": 2, "float8_e4m3fnuz": 3, "float8_e5m2fnuz": 2, "float8_e8m0fnu": 0,
             "float4_e2m1fn": 1}


def _shortest(v: float, fraction: int) -> str:
    """d.ddde+xx with the fewest digits that give v in a format of so many bits of fraction."""
    if v == 0.0:
        return "0e+00"
    if fraction == 52:
        digits = max(len(repr(v).split("e")[0].replace(".", "").strip("-0")), 1)
        return f"{v:.{digits - 1}e}"
    half = math.ldexp(1.0, math.frexp(v)[1] - fraction - 2)
    for digits in range(12):
        text = f"{v:.{digits}e}"
        if abs(float(text) - v) < half:
            return text
    return f"{v:.9e}"


def _fixed(v: float, fraction: int, precision: int) -> tuple[str, str]:
    """The parts before and behind the point, without zeros at the end."""
    mantissa, exponent = _shortest(v, fraction).split("e")
    digits = len(mantissa.replace("-", "").replace(".", ""))
    places = max(0, min(precision, digits - 1 - int(exponent)))
    text = f"{v:.{places}f}"
    if int(exponent) >= digits:
        text = f"{'-' if v < 0 else ''}{int(mantissa.replace('.', '').strip('-'))}" + "0" * (
            int(exponent) - digits + 1)
    whole, _, part = text.partition(".")
    return whole, part.rstrip("0")


def _scientific(values: list[float], fraction: int, precision: int) -> Callable[[float], str]:
    texts = [_shortest(v, fraction) for v in values]
    places = max(len(t.split("e")[0].partition(".")[2]) for t in texts)
    places = min(places, precision)

    def one(v: float) -> str:
        mantissa, exponent = f"{v:.{places}e}".split("e")
        return f"{mantissa}{'' if places else '.'}e{exponent}"

    return one


def _float_format(values: list[float], fraction: int) -> Callable[[float], str]:
    """What writes each of these numbers, all with as many digits behind the point."""
    precision = _options["precision"]
    finite = [v for v in values if math.isfinite(v)]
    sizes = [abs(v) for v in finite if v != 0.0]
    exponents = not _options["suppress"] and sizes and (
        max(sizes) >= 1e8 or min(sizes) < 1e-4 or max(sizes) / min(sizes) > 1000.0)
    if exponents:
        one = _scientific(finite, fraction, precision)
    else:
        places = max((len(_fixed(v, fraction, precision)[1]) for v in finite), default=0)

        def one(v: float) -> str:
            whole, part = _fixed(v, fraction, precision)
            return f"{whole}.{part.ljust(places)}"

    def text(v: float) -> str:
        return one(v) if math.isfinite(v) else str(v)

    return text


def _padded(texts: list[str]) -> list[str]:
    width = max(map(len, texts), default=0)
    return [t.rjust(width) for t in texts]


def _complex_texts(values: list[complex], fraction: int) -> list[str]:
    real = _float_format([v.real for v in values], fraction)
    imag = _float_format([abs(v.imag) for v in values], fraction)
    reals = _padded([real(v.real) for v in values])
    imags = [imag(abs(v.imag)) + "j" for v in values]
    width = max(map(len, imags), default=0)
    signs = ["-" if math.copysign(1.0, v.imag) < 0 else "+" for v in values]
    return [f"{r}{s}{i.ljust(width)}" for r, s, i in zip(reals, signs, imags)]


def _texts(values: list, x: Array) -> list[str]:
    """The numbers of an array, all as wide."""
    kind = x.dtype.kind
    if kind in "fc":
        fraction = _FRACTION.get(real_dtype(x.dtype).name, 23)
        if kind == "c":
            return _complex_texts(values, fraction)
        one = _float_format(values, fraction)
        return _padded([one(v) for v in values])
    return _padded([str(v) for v in values])


# ---- arrays


def _corners(x: Array) -> tuple[Array, list[bool]]:
    """The part of x that is shown, and which of its axes are cut."""
    n, cut = _options["edgeitems"], [False] * x.ndim
    if x.size <= _options["threshold"]:
        return x, cut
    for axis, extent in enumerate(x.shape):
        if extent > 2 * n:
            whole = (slice(None),) * axis
            x = calls.cat([x[(*whole, slice(0, n))], x[(*whole, slice(extent - n, None))]], axis)
            cut[axis] = True
    return x, cut


def _leaves(nested: Any) -> list:
    return [v for e in nested for v in _leaves(e)] if isinstance(nested, list) else [nested]


class _Lines:
    """Joins texts of elements to nested brackets within the width of a line."""

    def __init__(self, texts: list[str], shape: tuple[int, ...], cut: list[bool], indent: int,
                 separator: str) -> None:
        self.texts, self.shape, self.cut = iter(texts), shape, cut
        self.indent, self.separator = indent, separator

    def row(self, depth: int) -> str:
        items = self._items(depth)
        lines, line = [], ""
        limit = _options["linewidth"] - self.indent - depth - 1
        for i, item in enumerate(items):
            last = i == len(items) - 1
            if line and len(line) + len(item) + (not last) * len(self.separator.rstrip()) > limit:
                lines.append(line.rstrip())
                line = ""
            line += item + ("" if last else self.separator)
        return "[" + ("\n" + " " * (self.indent + depth + 1)).join([*lines, line]) + "]"

    def _items(self, depth: int) -> list[str]:
        n = self.shape[depth]
        if depth == len(self.shape) - 1:
            items = [next(self.texts) for _ in range(n)]
        else:
            items = [self.text(depth + 1) for _ in range(n)]
        if self.cut[depth]:
            items.insert(n // 2, "...")
        return items

    def text(self, depth: int = 0) -> str:
        if depth == len(self.shape) - 1:
            return self.row(depth)
        comma = self.separator.rstrip()
        gap = comma + "\n" * (len(self.shape) - depth - 1) + " " * (self.indent + depth + 1)
        return "[" + gap.join(self._items(depth)) + "]"


def _body(x: Array, indent: int, separator: str) -> str:
    if x.ndim == 0:
        return _texts([x.tolist()], x)[0].strip()
    shown, cut = _corners(x)
    values = _leaves(shown.tolist())
    if not values:
        return "[]"
    return _Lines(_texts(values, x), shown.shape, cut, indent, separator).text()


_UNSAID = frozenset({"float64", "int64", "bool", "complex128"})


def _notes(x: Array) -> list[str]:
    """What stands behind the elements: the shape if they do not show it, and the dtype unless it
    is a default one."""
    notes = []
    if x.size > _options["threshold"] or (x.size == 0 and x.shape != (0,)):
        notes.append(f"shape={x.shape}")
    if x.dtype.name not in _UNSAID or x.size == 0:
        notes.append(f"dtype={x.dtype.name}")
    return notes


def array_repr(x: Array, /) -> str:
    """Array([..]) as NumPy 2 writes it, with the dtype where it is not a default one."""
    x = arr(x)
    try:
        x.realize()
        text = "Array(" + _body(x, len("Array("), ", ")
    except (_core.Unbound, _core.Donated) as e:
        reason = "no value yet" if isinstance(e, _core.Unbound) else "donated"
        return f"Array(<{reason}>, shape={x.shape}, dtype={x.dtype.name})"
    notes = ", ".join(_notes(x))
    if not notes:
        return text + ")"
    last = len(text) - (text.rfind("\n") + 1)
    gap = " " if last + len(notes) + 3 <= _options["linewidth"] else "\n" + " " * len("Array(")
    return f"{text},{gap}{notes})"


def array_str(x: Array, /) -> str:
    """The elements, without a name and commas; of rank 0 as the number that it is."""
    x = arr(x)
    try:
        x.realize()
        if x.ndim == 0 and x.dtype.kind != "f":
            return str(x.tolist())
        return _body(x, 0, " ")
    except (_core.Unbound, _core.Donated):
        return array_repr(x)


# ---- notebooks

_PREVIEW = 200  # elements from which on a notebook shows the corners alone


def array_html(x: Array, /) -> str:
    """Shape, dtype, the graph of what is not computed yet, and a preview."""
    from html import escape

    from ._graph import svg

    head = f"Array, shape {x.shape}, {x.dtype.name}, {x.device}"
    graph, wrap = svg(x), ""
    try:
        with printoptions(threshold=min(_PREVIEW, _options["threshold"])):
            preview = escape(array_repr(x))
    except _core.Error as e:
        preview, wrap = escape(f"{type(e).__name__}: {e}"), ";white-space:pre-wrap"
    return (f"<div><div><b>{escape(head)}</b></div>{graph}"
            f"<pre style='margin:0.3em 0{wrap}'>{preview}</pre></div>")
