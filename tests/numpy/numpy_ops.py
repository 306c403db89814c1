# SPDX-License-Identifier: ISC
"""Every graph operation against NumPy: all dtypes the operation admits, all layouts of its
operands.

The graphs go as text to the graph evaluator (tests/numpy/graph_eval.c), so the parser and the views
are tested too. Basic operations, moves, integers and reductions must give the same bits (all NaNs
are one value, except where an operation only moves them); functions of floats must lie within 2
units in the last place of the same function in higher precision. Semantics that differ from NumPy's
(docs/contract.md, section 3) have a reference of their own here.

Usage: numpy_ops.py GRAPH_EVAL. The exit status is 0 if all agree, 77 (skipped) without NumPy, else
1.
"""

import math
import struct
import subprocess
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is
from numpy_reference import *  # NumPy itself comes from there as np

# ---- requests

def type_text(t, shape):
    return f"{t}[{','.join(map(str, shape))}]"


class Graph:
    """A graph as text, with the arrays of its inputs and what its outputs must be."""

    def __init__(self, label):
        self.label, self.lines, self.inputs, self.outputs, self.params = label, [], [], [], []

    def input(self, t, array):
        name = f"x{len(self.inputs)}"
        self.inputs.append((name, t, dense(array)))
        return "%" + name

    def op(self, text, annotation=None):
        name = f"v{len(self.lines)}"
        self.lines.append(f"  %{name} = {text}" + (f" : {annotation}" if annotation else ""))
        return "%" + name

    def expect(self, name, t, array, ulps=0, exact_nan=False):
        """t None: the request must be refused."""
        self.outputs.append((name, t, dense(array), ulps, exact_nan))

    def text(self):
        head = ", ".join(f"%{n}: {type_text(t, a.shape)}" for n, t, a in self.inputs)
        tail = ", ".join(o[0] for o in self.outputs)
        return "nxir 2\ngraph @test(" + head + ") -> (" + tail + ") {\n" + "\n".join(self.lines) + "\n}\n"

    def request(self):
        text = self.text().encode()
        parts = [struct.pack("=I", len(text)), text, struct.pack("=I", len(self.params))]
        data = b"".join(a.tobytes() for _, _, a in self.inputs)
        parts += [struct.pack("=Q", p) for p in self.params] + [struct.pack("=I", len(data)), data]
        return b"".join(parts)


graphs = []


def graph(label):
    graphs.append(Graph(label))
    return graphs[-1]


# ---- layouts: a base array and movement words give an operand of a shape

def layouts(shape):
    """(name, base shape, movement word or None, view of the base)."""
    r = len(shape)
    yield "contiguous", shape, None, lambda a: a
    if r == 0 or 0 in shape:
        return
    back = list(range(r))[::-1]
    yield "transposed", shape[::-1], f"permute {{}} axes={back}", lambda a: a.transpose(back)
    start, bigger = [1 + i % 2 for i in range(r)], [n + 3 for n in shape]
    stop = [s + n for s, n in zip(start, shape)]
    yield "sliced", bigger, f"shrink {{}} start={start} stop={stop}", lambda a: a[tuple(slice(s, e) for s, e in zip(start, stop))]
    count, spaced = list(shape), [2 * n + 1 for n in shape]
    yield ("stepped", spaced, f"slice {{}} start={[1] * r} count={count} step={[2] * r}",
           lambda a: a[tuple(slice(1, 2 * n, 2) for n in shape)])
    few = [1 if i % 2 == (r - 1) % 2 else n for i, n in enumerate(shape)]
    yield "broadcast", few, f"expand {{}} shape={list(shape)}", lambda a: np.broadcast_to(a, shape)
    yield "flipped", shape, f"flip {{}} axes={list(range(r))}", lambda a: np.flip(a)


SHAPES = {"plain": (3, 5), "zero": (0, 4), "rank 0": (), "rank 8": (2, 1, 3, 1, 1, 2, 1, 2), "rank 32": (1,) * 14 + (3, 1, 2) + (1,) * 15}


def operands(types, kind="any"):
    """For each shape and layout: label and a function that adds operands to a graph and gives names
    and arrays. The layouts of the operands are shifted against one another."""
    for shape_name, shape in SHAPES.items():
        rank_big = len(shape) > 8
        all_layouts = list(layouts(shape))
        if rank_big:  # 4^32 elements would be too many to step over: these three stay small
            all_layouts = [l for l in all_layouts if l[0] in ("contiguous", "transposed", "flipped", "broadcast")]
        if len(shape) == 8:
            all_layouts = [l for l in all_layouts if l[0] != "sliced"] + [
                ("sliced", shape[:-1] + (5,), f"shrink {{}} start={[0] * 7 + [2]} stop={list(shape[:-1]) + [4]}", lambda a: a[..., 2:4])]
            all_layouts = [l for l in all_layouts if l[0] != "stepped"]
        for i, layout in enumerate(all_layouts):
            def build(g, i=i):
                names, arrays = [], []
                for k, t in enumerate(types):
                    _, base_shape, word, view = all_layouts[(i + k) % len(all_layouts)]
                    base = values(t, base_shape, kind)
                    name = g.input(t, base)
                    names.append(g.op(word.format(name).replace(", ", ",")) if word else name)
                    arrays.append(dense(view(base)))
                return names, arrays
            yield f"{shape_name} {layout[0]}", build


# ---- elementwise

def all_pairs(t):
    p = pool(t)
    return np.repeat(p, len(p)), np.tile(p, len(p))


def elementwise(word, types, result, reference, ulps=0, annotation=None, exact_nan=False, pairs=True):
    """One graph a shape and layout, and one with every pair of nasty values."""
    for label, build in operands(types):
        g = graph(f"{word} {' '.join(types)} {label}")
        names, arrays = build(g)
        want = reference(*arrays)
        name = g.op(f"{word} {', '.join(names)}", annotation(want.shape) if annotation else None)
        g.expect(name, result, want, ulps, exact_nan)
    if not pairs:
        return
    g = graph(f"{word} {' '.join(types)} nasty values")
    if len(types) == 2:
        arrays = list(all_pairs(types[0]))
    else:
        arrays = [np.concatenate([pool(t), values(t, (600,))]) for t in types]
        arrays = [a[:min(map(len, arrays))] for a in arrays]
    names = [g.input(t, a) for t, a in zip(types, arrays)]
    want = reference(*arrays)
    g.expect(g.op(f"{word} {', '.join(names)}", annotation(want.shape) if annotation else None), result, want, ulps, exact_nan)


def through(f, t):
    """A reference on compute dtypes as one on storage."""
    return lambda *a: narrow(f(*(widen(x, t) for x in a)), t)


def elementwise_cases():
    for t in FLOATS:
        for word, f in {**UNARY_FLOAT, **BINARY_FLOAT}.items():
            elementwise(word, [t] * (2 if word in BINARY_FLOAT else 1), t, through(f, t))
        for word, f in {**FUNCTIONS, **FUNCTIONS2}.items():
            ulps = (3 if t == "f64" else 2) if word == "erf" else 2  # math.erf itself is not exact
            high = lambda x: higher(widen(x, t), "f32" if word == "erf" else t)
            elementwise(word, [t] * (2 if word in FUNCTIONS2 else 1), t, lambda *a: rounded(f(*(high(x) for x in a)), t), ulps)
    for t in INTS:
        for word, f in {**UNARY_INT, **BINARY_INT}.items():
            elementwise(word, [t] * (2 if word in BINARY_INT else 1), t, lambda *a: wrapped(f(*a, t), t))
    for word, f in BINARY_BOOL.items():
        elementwise(word, ["bool"] * 2, "bool", f)
    for t in ALL:
        for word, f in COMPARE.items():
            elementwise(word, [t, t], "bool", lambda x, y: f(widen(x, t), widen(y, t)).astype(np.uint8))
        elementwise("where", ["bool", t, t], t, lambda c, x, y: np.where(c != 0, x, y), exact_nan=True)


# ---- casts

def cast_cases():
    for a in ALL:
        for b in ALL:
            note = lambda shape, b=b: type_text(b, shape)
            elementwise("cast", [a], b, lambda x: cast_reference(x, a, b), annotation=note)
            if BITS[a] == BITS[b]:
                def reference(x):
                    y = (x != 0).astype(np.uint8) if "bool" in (a, b) else x
                    return y.view(STORAGE[b])
                elementwise("bitcast", [a], b, reference, annotation=note, exact_nan=True)


# ---- reductions

REDUCED = [((1000,), [0]), ((3, 300), [1]), ((600, 3), [0]), ((5, 33, 4), [1]), ((4, 5, 6), [0, 2]), ((2, 20, 1, 17), [1, 3]),
           ((7, 3, 40), [0, 1]), ((3, 5, 2, 6, 4), [0, 2, 4]), ((70, 1), [0]), ((3, 4), []), ((1, 1), [0]), ((0, 3), [0]), ((3, 0), [0]),
           ((), []), ((2, 1, 3, 1, 1, 2, 1, 2), [1, 2, 5, 7]), ((1,) * 14 + (3, 1, 2) + (1,) * 15, [14, 16, 31])]


def reduce_cases():
    for kind, types in {"sum": INTS + FLOATS, "prod": INTS + FLOATS, "max": ALL, "min": ALL}.items():
        for t in types:
            for shape, axes in REDUCED:
                left = [n for i, n in enumerate(shape) if i not in axes]
                if kind in ("max", "min") and t != "bool" and 0 in [shape[i] for i in axes] and 0 not in left:
                    continue
                for name, base_shape, word, view in layouts(shape):
                    if len(shape) > 4 and name in ("sliced", "stepped"):
                        continue
                    g = graph(f"reduce_{kind} {t} {shape} {axes} {name}")
                    base = values(t, base_shape, "tame" if kind in ("sum", "prod") else "any")
                    x = g.input(t, base)
                    if word:
                        x = g.op(word.format(x).replace(", ", ","))
                    want = reduce_reference(kind, dense(view(base)), axes, t)
                    keep = len(axes) % 2 == 0
                    if keep:
                        want = want.reshape([1 if i in axes else n for i, n in enumerate(shape)])
                    text = f"reduce_{kind} {x} axes=[{','.join(map(str, axes))}]" + (" keepdims" if keep else "")
                    g.expect(g.op(text, type_text(t, want.shape)), t, want)


def arg_cases():
    for word, f in {"argmax": np.argmax, "argmin": np.argmin}.items():
        for t in ALL:
            for shape, axis in [((300,), 0), ((4, 7), 0), ((4, 7), 1), ((3, 5, 2), 1), ((0, 3), 1), ((1, 1), 0)]:
                for name, base_shape, word2, view in layouts(shape):
                    g = graph(f"{word} {t} {shape} axis {axis} {name}")
                    base = values(t, base_shape, "any" if axis else "tame")
                    x = g.input(t, base)
                    if word2:
                        x = g.op(word2.format(x).replace(", ", ","))
                    want = f(widen(dense(view(base)), t), axis=axis).astype(np.int32)
                    g.expect(g.op(f"{word} {x} axis={axis}"), "i32", want)


def sort_cases():
    for t in INTS + FLOATS:
        for shape, axis, down in [((300,), 0, False), ((7, 40), 1, True), ((40, 7), 0, True), ((3, 25, 2), 1, False), ((0, 3), 1, False),
                                  ((3, 0), 1, True), ((1, 1), 0, False)]:
            for name, base_shape, word, view in layouts(shape):
                g = graph(f"sort {t} {shape} axis {axis} {name}")
                base = values(t, base_shape)
                x = g.input(t, base)
                if word:
                    x = g.op(word.format(x).replace(", ", ","))
                a = dense(view(base))
                key = widen(a, t)
                if down:
                    key = -key if is_float(t) else ~key
                order = np.argsort(key, axis=axis, kind="stable")  # NaNs are last there too
                words = f"{x} axis={axis} descending={int(down)}"
                g.expect(g.op(f"argsort {words}"), "i32", order.astype(np.int32))
                g.expect(g.op(f"sort {words}"), t, np.take_along_axis(a, order, axis), 0, True)
                k = shape[axis] // 3
                first = np.take(order, range(k), axis)
                words = f"{x} axis={axis} size={k} descending={int(down)}"
                g.expect(g.op(f"top_k {words}"), t, np.take_along_axis(a, first, axis), 0, True)
                g.expect(g.op(f"top_k {words} result=1"), "i32", first.astype(np.int32))


# ---- moves

def move_cases():
    for t in ALL:
        for label, build in operands([t]):
            g = graph(f"moves {t} {label}")
            (x,), (a,) = build(g)
            r = a.ndim
            for word in ("copy", "contiguous"):
                g.expect(g.op(f"{word} {x}"), t, a, 0, True)
            before, after = [i % 2 for i in range(r)], [1 if i % 3 == 0 and r < 9 else 0 for i in range(r)]
            if r > 8:
                before = [0] * r
            fill = "true" if t == "bool" else "3"
            number = narrow(np.array(3.0), t)[()] if is_float(t) else 1 if t == "bool" else 3
            text = f"pad {x} value={fill} before={before} after={after}".replace(", ", ",")
            g.expect(g.op(text), t, np.pad(a, list(zip(before, after)), constant_values=number) if r else a, 0, True)
            if r:
                g.expect(g.op(f"cat {x}, {x}, {x} axis={r - 1}"), t, np.concatenate([a, a, a], axis=r - 1), 0, True)
                g.expect(g.op(f"cat {x}, {x} axis=0"), t, np.concatenate([a, a], axis=0), 0, True)
        update_case(t)
        indexed_case(t)
        modes_case(t)
        if t != "bool":
            scan_case(t)
        views_case(t)


def scan_in_order(op, a, axis):
    """Blocks of 1024, each in order from its first element; y = carry + local; carry = carry +
    block."""
    a = np.moveaxis(a, axis, 0)
    out, carry = np.empty_like(a), None
    with np.errstate(all="ignore"):
        for start in range(0, a.shape[0], 1024):
            within = None
            for k in range(start, min(start + 1024, a.shape[0])):
                within = a[k] if within is None else op(within, a[k])
                out[k] = within if carry is None else op(carry, within)
            carry = within if carry is None else op(carry, within)
    return np.moveaxis(out, 0, axis)


def scan_case(t):
    ops = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
    for shape, axis in (((5, 7), 0), ((5, 7), 1), ((2050, 3), 0), ((3, 2050), -1), ((0, 4), 1), ((4, 0), 1), ((3, 1, 4), 1)):
        for name, op in ops.items():
            g = graph(f"scan_{name} {t} {shape} {axis}")
            a = values(t, shape)
            if is_float(t):  # of zeros max and min may choose: contract.md
                a = np.where(np.abs(np.nan_to_num(widen(a, t), nan=1.0)) == 0, narrow(np.ones(shape), t), a)
            x = g.input(t, a)
            wide = widen(a, t)
            want = scan_in_order(op, wide, axis)
            g.expect(g.op(f"scan_{name} {x} axis={axis}"), t, narrow(want, t) if is_float(t) else want.astype(a.dtype))


def indexed_case(t):
    for axis, shape in ((0, (7, 5)), (1, (3, 9)), (-1, (4, 1)), (0, (0, 5)), (1, (2, 6))):
        for it in ("i32", "i64"):
            g = graph(f"gather, scatter {t} {axis} {shape} {it}")
            data, updates = values(t, (4, 6)), values(t, shape)
            extent = data.shape[axis]
            index = ((np.arange(np.prod(shape)) * 7 + 3) % (2 * extent) - extent).reshape(shape).astype(np.int32 if it == "i32" else np.int64)
            x, i, u = g.input(t, data), g.input(it, index), g.input(t, updates)
            flat = g.op(f"flip {x} axes=[0,1]")
            part = tuple(slice(None) if k == axis % 2 else slice(0, n) for k, n in enumerate(shape))
            g.expect(g.op(f"gather {x}, {i} axis={axis}"), t, np.take_along_axis(data[part], index, axis), 0, True)
            g.expect(g.op(f"gather {flat}, {i} axis={axis}"), t, np.take_along_axis(np.flip(data)[part], index, axis), 0, True)
            want = data.copy()
            for at in np.ndindex(*shape):  # in C order: the last one stays
                to = list(at)
                to[axis] = index[at]
                want[tuple(to)] = updates[at]
            g.expect(g.op(f"scatter {x}, {i}, {u} axis={axis}"), t, want, 0, True)
            if t == "bool":
                continue
            small = narrow(np.ones(shape), t) if is_float(t) else np.ones(shape, want.dtype)
            base = narrow(np.zeros((4, 6)), t) if is_float(t) else np.zeros((4, 6), want.dtype)
            counts = np.zeros((4, 6))
            for at in np.ndindex(*shape):
                to = list(at)
                to[axis] = index[at]
                counts[tuple(to)] += 1
            counts = narrow(counts, t) if is_float(t) else counts.astype(want.dtype)
            z, one = g.input(t, base), g.input(t, small)
            g.expect(g.op(f"scatter {z}, {i}, {one} axis={axis} mode=1"), t, counts)


def scatter_modes(t):
    """Bits of the mode, what it does, and its types; small floats in f32, rounded once."""
    numbers = {4: np.multiply, 5: np.minimum, 8: np.maximum}
    words = {9: np.bitwise_and, 12: np.bitwise_or, 13: np.bitwise_xor}
    return words if t == "bool" else numbers if is_float(t) else numbers | words


def modes_case(t):
    shape, extent = (7, 5), 4
    for mode, of in scatter_modes(t).items():
        for drop in (0, 16):
            g = graph(f"scatter {t} mode {mode + drop}")
            data, updates = values(t, (extent, 6), "tame"), values(t, shape, "tame")
            # 0 and -0 are equal for NumPy
            wide, more = (np.where(x == 0, x.dtype.type(1), x) for x in (widen(data, t), widen(updates, t))) if is_float(t) else (data.copy(), updates)
            if is_float(t):
                data, updates = narrow(wide, t), narrow(more, t)
                wide, more = widen(data, t).copy(), widen(updates, t)
            index = (np.arange(np.prod(shape)) * 7 + 3) % (2 * extent) - extent
            index = index.reshape(shape).astype(np.int64)
            if drop:
                index[1] = extent
                index[4] = -extent - 1
            for at in np.ndindex(*shape):
                if -extent <= index[at] < extent:
                    to = (index[at], at[1])
                    with np.errstate(over="ignore"):
                        wide[to] = of(wide[to], more[at])
            x, i, u = g.input(t, data), g.input("i64", index), g.input(t, updates)
            g.expect(g.op(f"scatter {x}, {i}, {u} axis=0 mode={mode + drop}"), t, narrow(wide, t) if is_float(t) else wide)


def update_case(t):
    g = graph(f"update {t}")
    old, source, row = values(t, (6, 8)), values(t, (3, 4)), values(t, (4,))
    o, s, r = g.input(t, old), g.input(t, source), g.input(t, row)
    want = old.copy()
    want[0:6:2, 6:2:-1] = source
    g.expect(g.op(f"update {o}, {s} offset=6 shape=[3,4] strides=[16,-1]"), t, want, 0, True)
    want = old.copy()
    want.T[2:5, 1:5] = row
    g.expect(g.op(f"update {o}, {r} offset=10 shape=[3,4] strides=[1,8]"), t, want, 0, True)
    g.expect(o, t, old, 0, True)


def views_case(t):
    """Movement words composed: through a view, not through a copy."""
    g = graph(f"composed views {t}")
    a = values(t, (4, 6))
    x = g.input(t, a)
    p = g.op(f"permute {x} axes=[1,0]")
    f = g.op(f"flip {p} axes=[0]")
    s = g.op(f"slice {f} start=[0,3] count=[3,2] step=[2,-2]")
    g.expect(s, t, np.flip(a.T, 0)[0:6:2, 3::-2], 0, True)
    e = g.op(f"expand {s} shape=[2,3,2]")
    g.expect(g.op(f"copy {e}"), t, np.broadcast_to(np.flip(a.T, 0)[0:6:2, 3::-2], (2, 3, 2)), 0, True)
    whole = g.op(f"as_strided {s} strides=[7,1] offset=2", type_text(t, (3, 4)))
    index = 2 + 7 * np.arange(3)[:, None] + np.arange(4)
    g.expect(whole, t, a.reshape(-1)[index], 0, True)
    raw = g.op(f"view {p} strides=[5,2] offset=1", type_text(t, (2, 3)))
    g.expect(raw, t, dense(a.T).reshape(-1)[1 + 5 * np.arange(2)[:, None] + 2 * np.arange(3)], 0, True)
    r = g.op(f"reshape {x} shape=[2,2,3,2]")
    g.expect(g.op(f"permute {r} axes=[2,0,3,1]"), t, a.reshape(2, 2, 3, 2).transpose(2, 0, 3, 1), 0, True)


# ---- leaves, random bits, matmul

def leaf_cases():
    for t in ALL:
        for shape in [(), (3,), (2, 3), (0, 2), (1,) * 32]:
            g = graph(f"full {t} {shape}")
            one = narrow(np.array(2.5), t)[()] if is_float(t) else STORAGE[t](1)
            text = "2.5" if is_float(t) else "true" if t == "bool" else "1"
            g.expect(g.op(f"full {text}", type_text(t, shape)), t, np.full(shape, one, STORAGE[t]))
            bits = int(np.asarray(one).view(UNSIGNED[np.dtype(STORAGE[t]).itemsize])[()])
            g.params = [0, bits]
            g.expect(g.op("full param 1", type_text(t, shape)), t, np.full(shape, one, STORAGE[t]))
        for n, m, k in [(4, 4, 0), (3, 5, 2), (5, 3, -2), (2, 2, 7), (0, 3, 0), (1, 1, 0)]:
            g = graph(f"eye {t} {n} {m} {k}")
            g.expect(g.op(f"eye k={k}", type_text(t, (n, m))), t, cast_reference(np.eye(n, m, k, np.uint8), "u8", t))
    for t in INTS + FLOATS:
        for n in (0, 1, 300):
            g = graph(f"arange {t} {n}")
            start, step = (0.75, 0.1) if is_float(t) else (5, 3)
            a, b = (narrow(np.array([v]), t) for v in (start, step)) if is_float(t) else (np.array([v]).astype(STORAGE[t]) for v in (start, step))
            i = cast_reference(np.arange(n), "i64", "f32" if is_small(t) else t)
            want = narrow(widen(a, t) + i * widen(b, t), t) if is_float(t) else wrapped(a + i * b, t)
            g.expect(g.op(f"arange start={start} step={step}", type_text(t, (n,))), t, want)
    for start, step in [(0, 0), (0, 1), (1, 0), (1, 1)]:
        g = graph(f"arange bool {start} {step}")
        name = ("false", "true")
        g.expect(g.op(f"arange start={name[start]} step={name[step]}", type_text("bool", (5,))), "bool",
                 start + np.arange(5) * step != 0)


def threefry_cases():
    ones = 0xffffffff
    vectors = [((0, 0), (0, 0), (1797259609, -1715843330)), ((ones, ones), (ones, ones), (481924860, -1157616665)),
               ((0x13198a2e, 0x03707344), (0x243f6a88, 0x85a308d3), (-997049700, 1212020640))]
    for t in ("i32", "u32"):
        g = graph(f"threefry {t}")
        key, counter = (np.array([v[i] for v in vectors], np.uint32) for i in (0, 1))
        want = np.array([v[2] for v in vectors], np.int64).astype(np.uint32)
        k, c = g.input(t, key.view(STORAGE[t])), g.input(t, counter.view(STORAGE[t]))
        g.expect(g.op(f"threefry {k}, {c}"), t, want.view(STORAGE[t]))
        flipped = g.op(f"flip {g.input(t, counter[::-1].copy().view(STORAGE[t]))} axes=[0]")
        g.expect(g.op(f"threefry {k}, {flipped}"), t, want.view(STORAGE[t]))


def matmul_cases():
    for t in INTS + FLOATS:
        for m, k, n in [(3, 4, 5), (1, 1, 1), (2, 0, 3), (0, 2, 2), (5, 17, 2)]:
            g = graph(f"matmul {t} {m} {k} {n}")
            a, b = values(t, (2, m, k), "tame"), values(t, (2, n, k), "tame")
            x, y = g.input(t, a), g.input(t, b)
            z = g.op(f"permute {y} axes=[0,2,1]")
            g.expect(g.op(f"matmul {x}, {z}"), t, matmul_reference(a, b.transpose(0, 2, 1), t))
            one = g.input(t, b[0].T.copy())
            g.expect(g.op(f"matmul {x}, {one}"), t, matmul_reference(a, np.stack([b[0].T] * 2), t))
        g = graph(f"matmul {t} 40 300 35")
        a, b = (rng.integers(-3, 4, s).astype(np.float64) for s in ((40, 300), (300, 35)))
        a, b = (narrow(v, t) if is_float(t) else v.astype(np.int64).astype(STORAGE[t]) for v in (a, b))
        want = np.matmul(widen(a, t).astype(np.float64), widen(b, t).astype(np.float64)) if is_float(t) else None
        want = narrow(want, t) if is_float(t) else wrapped(np.matmul(a, b), t)
        g.expect(g.op(f"matmul {g.input(t, a)}, {g.input(t, b)}"), t, want)


# ---- all

def check(data):
    at = faults = 0
    for g in graphs:
        (status,) = struct.unpack_from("=i", data, at)
        at += 4
        message = None
        if status:
            (n,) = struct.unpack_from("=I", data, at)
            message = data[at + 4:at + 4 + n].decode()
            at += 4 + n
        for name, t, want, ulps, exact_nan in g.outputs if not status else []:
            size = want.size * np.dtype(STORAGE[t]).itemsize
            got = np.frombuffer(data, STORAGE[t], want.size, at) if want.size else np.zeros(0, STORAGE[t])
            at += size
            fault = disagreement(got, want.astype(STORAGE[t], copy=False), t, ulps, exact_nan)
            message = message or (f"{name}: {fault}" if fault else None)
        if message:
            faults += 1
            if faults <= 20:
                print(f"{g.label}: {message}\n{g.text()}")
    return faults


def main():
    for cases in (elementwise_cases, cast_cases, reduce_cases, arg_cases, sort_cases, move_cases, leaf_cases, threefry_cases, matmul_cases):
        cases()
    done = subprocess.run([sys.argv[1]], input=b"".join(g.request() for g in graphs), capture_output=True, check=False)
    if done.returncode:
        print(f"the evaluator ended with status {done.returncode}\n{done.stderr.decode()}")
        return 1
    faults = check(done.stdout)
    print(f"{len(graphs)} graphs, {faults} of them wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
