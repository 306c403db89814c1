# SPDX-License-Identifier: ISC
"""Complex operations against NumPy: layouts, conversions, sums, moves and arithmetic. Functions are
compared with C's own by tests/math/test_complex_math.c; every executor with the interpreter, bit
for bit, by tests/fusion/test_ops.c.

Usage: numpy_complex.py GRAPH_EVAL. The exit status is 0 if all agree, 77 (skipped) without NumPy,
else 1.
"""

import struct
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(77)

STORAGE = {
    "c64": np.complex64,
    "c128": np.complex128,
    "f32": np.float32,
    "f64": np.float64,
    "bool": np.uint8,
    "i32": np.int32,
    "u8": np.uint8,
    "f16": np.float16,
}
PART = {"c64": "f32", "c128": "f64"}
rng = np.random.default_rng(7)
failures = 0


def numbers(t, shape):
    """Ordinary numbers, with zeros of both signs among them."""
    x = np.empty(shape, STORAGE[t])
    for part in (x.real, x.imag):
        part[...] = rng.normal(size=shape).astype(part.dtype) * 4
        part[rng.random(shape) < 0.1] = 0.0
        part[rng.random(shape) < 0.1] = -0.0
    return x


requests, expected = [], []  # all are sent before the first is answered


def check(label, inputs, lines, wanted, ulps=0.0, size=None):
    """wanted: name -> (dtype, array). ulps: how far a result may be off, by the size of the whole
    number or by `size`."""
    shape = lambda a: "[" + ",".join(map(str, a.shape)) + "]"
    head = ", ".join(f"%{n}: {t}{shape(a)}" for n, (t, a) in inputs.items())
    text = (
        f"nxir 2\ngraph @g({head}) -> ({', '.join('%' + n for n in wanted)}) {{\n"
        + "\n".join(lines)
        + "\n}\n"
    )
    data = b"".join(np.ascontiguousarray(a).tobytes() for _, a in inputs.values())
    body = text.encode()
    requests.append(struct.pack("=I", len(body)) + body + struct.pack("=II", 0, len(data)) + data)
    expected.append(
        (label, text, {n: (t, np.asarray(a)) for n, (t, a) in wanted.items()}, ulps, size)
    )


def take(answer, at, label, text, wanted, ulps, size):
    """Compares one answer; gives where the next begins."""
    global failures
    status = struct.unpack_from("=i", answer, at)[0]
    at += 4
    if status:
        size = struct.unpack_from("=I", answer, at)[0]
        failures += 1
        print(f"{label}: {answer[at + 4 : at + 4 + size].decode()}\n{text}")
        return at + 4 + size
    results = []
    for t, a in wanted.values():
        results.append(np.frombuffer(answer, STORAGE[t], a.size, at).reshape(a.shape))
        at += results[-1].nbytes
    for got, (name, (t, want)) in zip(results, wanted.items()):
        want = np.asarray(want).astype(STORAGE[t])
        if ulps and t in PART:
            eps = np.finfo(STORAGE[t]).eps
            wrong = ~(np.abs(got - want) <= ulps * eps * (np.abs(want) if size is None else size))
        else:
            parts = lambda a: np.stack([a.real, a.imag]) if t in PART else a
            same = (
                (parts(got) == parts(want)) & (np.signbit(parts(got)) == np.signbit(parts(want)))
                if want.dtype.kind in "fc"
                else parts(got) == parts(want)
            )
            wrong = ~(same | (np.isnan(parts(got)) & np.isnan(parts(want))))
        if np.any(wrong):
            failures += 1
            print(f"{label} {name}: {got.reshape(-1)[:6]} not {want.reshape(-1)[:6]}")
    return at


LAYOUTS = {
    "contiguous": ((4, 5), "", lambda a: a),
    "transposed": ((5, 4), "permute {} axes=[1,0]", lambda a: a.T),
    "flipped": ((4, 5), "flip {} axes=[0,1]", lambda a: a[::-1, ::-1]),
    "sliced": ((6, 11), "slice {} start=[1,10] count=[4,5] step=[1,-2]", lambda a: a[1:5, 10:0:-2]),
    "broadcast": ((5,), "expand {} shape=[4,5]", lambda a: np.broadcast_to(a, (4, 5))),
    "empty": ((0, 5), "", lambda a: a),
    "scalar": ((), "", lambda a: a),
}


def layouts(t):
    """Each layout as graph input, lines and array."""
    for name, (shape, word, view) in LAYOUTS.items():
        a, b = numbers(t, shape), numbers(t, shape)
        lines = [f"  %{v} = {word.format('%' + v + '0')}" for v in "xy"] if word else []
        x0, x = ("x0", "y0") if word else ("x", "y"), (view(a), view(b))
        yield name, {x0[0]: (t, a), x0[1]: (t, b)}, lines, *x


def product(x, y):
    """In twice the precision of c64, rounded once; NumPy's own order for c128."""
    if x.dtype == np.complex64:
        return (x.astype(np.complex128) * y.astype(np.complex128)).astype(np.complex64)
    return x * y


def elementwise(t):
    p = PART[t]
    for name, inputs, lines, x, y in layouts(t):
        same = x == y
        lines = lines + [
            "  %a = add %x, %y",
            "  %s = sub %x, %y",
            "  %n = neg %x",
            "  %c = conj %x",
            "  %r = real %x",
            "  %i = imag %x",
            "  %e = cmpeq %x, %y",
            "  %d = cmpne %x, %x",
            "  %k = complex %i, %r",
            "  %w = where %e, %x, %y",
            f"  %h = full 0.5-2i : {t}[]",
            "  %m = sub %h, %x",
        ]
        half = np.array(0.5 - 2j, STORAGE[t])
        check(
            f"{t} {name}",
            inputs,
            lines,
            {
                "a": (t, x + y),
                "s": (t, x - y),
                "n": (t, -x),
                "c": (t, np.conj(x)),
                "r": (p, x.real),
                "i": (p, x.imag),
                "e": ("bool", same),
                "d": ("bool", x != x),
                "k": (t, swapped(x)),
                "w": (t, np.where(same, x, y)),
                "m": (t, half - x),
            },
        )
        check(
            f"{t} {name} products",
            inputs,
            [
                l
                for l in lines
                if " = permute" in l or " = flip" in l or " = slice" in l or " = expand" in l
            ]
            + ["  %p = mul %x, %y"],
            {"p": (t, product(x, y))},
            0 if t == "c64" else 2,
        )


def unit(x, t):
    """Of modulus near 1, so that long products stay in range."""
    size = np.abs(x)
    return np.where(size == 0, 1, x / np.where(size == 0, 1, size)).astype(STORAGE[t])


def swapped(x):
    y = np.empty_like(np.asarray(x))
    y.real, y.imag = x.imag, x.real
    return y


def reductions_and_moves(t):
    for shape, axes in [
        ((300,), (0,)),
        ((3, 4, 5), (1,)),
        ((4, 5, 6), (0, 2)),
        ((0, 3), (0,)),
        ((2, 3), ()),
    ]:
        x = np.round(numbers(t, shape) * 8)  # sums are exact
        text = ",".join(map(str, axes))
        check(
            f"{t} sum {shape} {axes}",
            {"x": (t, x)},
            [f"  %s = reduce_sum %x axes=[{text}]"],
            {"s": (t, x.sum(axis=axes) + 0 if axes else x)},
        )
    for shape, axes in [
        ((300,), (0,)),
        ((3, 4, 5), (1,)),
        ((4, 7, 6), (0, 2)),
        ((0, 3), (0,)),
        ((3, 0), (0,)),
        ((2, 3), ()),
        ((1,), (0,)),
    ]:
        x = unit(numbers(t, shape), t)
        text = ",".join(map(str, axes))
        check(
            f"{t} prod {shape} {axes}",
            {"x": (t, x)},
            [f"  %s = reduce_prod %x axes=[{text}]"],
            {"s": (t, x.astype(np.complex128).prod(axis=axes))},
            400,
        )
    for batch, m, k, n in [
        ((), 3, 4, 5),
        ((), 40, 70, 33),
        ((2, 3), 5, 1, 4),
        ((), 2, 0, 3),
        ((), 1, 200, 1),
    ]:
        x, y = numbers(t, (*batch, m, k)), numbers(t, (k, n))
        want = x.astype(np.complex128) @ y.astype(np.complex128)
        size = np.abs(x).astype(np.float64) @ np.abs(y).astype(np.float64)
        check(
            f"{t} matmul {batch} {m} {k} {n}",
            {"x": (t, x), "y": (t, y)},
            ["  %p = matmul %x, %y"],
            {"p": (t, want)},
            8 + k,
            size,
        )
    x, y = numbers(t, (3, 4)), numbers(t, (3, 2))
    z = x.copy()
    z[2::-2, 1:3] = y[:2]
    check(
        f"{t} moves",
        {"x": (t, x), "y": (t, y)},
        [
            "  %p = pad %x value=1-2i before=[1,0] after=[0,2]",
            "  %c = cat %x, %y axis=1",
            "  %k = copy %x",
            "  %r = shrink %y start=[0,0] stop=[2,2]",
            "  %u = update %x, %r offset=9 shape=[2,2] strides=[-8,1]",
            f"  %a = arange start=1+2i step=0.5-1i : {t}[5]",
            f"  %e = eye k=1 : {t}[2,3]",
        ],
        {
            "p": (t, np.pad(x, ((1, 0), (0, 2)), constant_values=1 - 2j)),
            "c": (t, np.concatenate([x, y], axis=1)),
            "k": (t, x),
            "u": (t, z),
            "a": (t, 1 + 2j + np.arange(5) * (0.5 - 1j)),
            "e": (t, np.eye(2, 3, 1)),
        },
    )


def laid_out(a, name, layout):
    """The array a as graph input, the line that makes it of that, and what the input holds: 0 as it
    is, 1 transposed, 2 flipped, 3 every second of a larger one."""
    if layout == 1:
        return np.ascontiguousarray(a.T), f"  %{name} = permute %{name}0 axes=[1,0]"
    if layout == 2:
        return a[::-1, ::-1].copy(), f"  %{name} = flip %{name}0 axes=[0,1]"
    if layout == 3:
        whole = np.full((a.shape[0] + 1, 2 * a.shape[1] + 1), 9, a.dtype)
        whole[1:, 1::2] = a
        count = ",".join(map(str, a.shape))
        return whole, f"  %{name} = slice %{name}0 start=[1,1] count=[{count}] step=[1,2]"
    return a, f"  %{name} = copy %{name}0"


def indexed(t):
    for layout in range(4):
        for axis, shape in [(0, (9, 3)), (1, (4, 11))]:
            x, u = numbers(t, (5, 6)), numbers(t, shape)
            extent = x.shape[axis]
            i = rng.integers(-extent, extent, shape).astype(np.int32)
            at = [np.arange(shape[0])[:, None] + 0 * i, np.arange(shape[1])[None, :] + 0 * i]
            at[axis] = i
            put, added = x.copy(), x.copy()
            for k in np.ndindex(shape):
                put[at[0][k], at[1][k]] = u[k]
            np.add.at(added, (at[0], at[1]), u)
            inputs, lines = {}, []
            for name, dtype, a in [("x", t, x), ("u", t, u), ("i", "i32", i)]:
                memory, line = laid_out(a, name, layout)
                inputs[name + "0"] = (dtype, memory)
                lines.append(line)
            check(
                f"{t} indexed {axis} layout {layout}",
                inputs,
                lines
                + [
                    f"  %g = gather %x, %i axis={axis}",
                    "  %c = conj %u",
                    "  %d = neg %x",
                    f"  %h = gather %d, %i axis={axis}",
                    "  %m = add %h, %c",
                    f"  %s = scatter %x, %i, %u axis={axis}",
                    f"  %a = scatter %x, %i, %u axis={axis} mode=1",
                    "  %r = real %a",
                    f"  %b = scatter %d, %i, %c axis={axis}",
                ],
                {
                    "g": (t, x[tuple(at)]),
                    "m": (t, -x[tuple(at)] + np.conj(u)),
                    "s": (t, put),
                    "a": (t, added),
                    "r": (PART[t], added.real),
                    "b": (t, again(-x, at, np.conj(u))),
                },
            )


def again(x, at, u):
    for k in np.ndindex(u.shape):
        x[at[0][k], at[1][k]] = u[k]
    return x


def scans(t):
    for shape, axis in [
        ((300,), 0),
        ((4, 2100), 1),
        ((1100, 3), 0),
        ((3, 4, 5), 1),
        ((0, 3), 0),
        ((3, 0), 0),
        ((2, 1), 1),
    ]:
        x = np.round(numbers(t, shape) * 8)  # sums are exact
        check(
            f"{t} scan sum {shape} {axis}",
            {"x": (t, x)},
            [f"  %s = scan_sum %x axis={axis}", "  %c = conj %s"],
            {"s": (t, np.cumsum(x, axis=axis)), "c": (t, np.conj(np.cumsum(x, axis=axis)))},
        )
    for shape, axis in [((300,), 0), ((1100, 2), 0), ((3, 4, 5), 1), ((0, 3), 0), ((2, 1), 1)]:
        x = unit(numbers(t, shape), t)
        check(
            f"{t} scan prod {shape} {axis}",
            {"x": (t, x)},
            [f"  %s = scan_prod %x axis={axis}"],
            {"s": (t, np.cumprod(x.astype(np.complex128), axis=axis))},
            1200,
        )


def orders(t):
    x = np.round(numbers(t, (60, 7)))
    x[::9, 1], x.imag[::7, 2] = np.nan, np.nan
    nan = np.isnan(x)
    re, im = np.where(nan, 0, x.real), np.where(nan, 0, x.imag)
    for axis in (0, 1):
        for down, sign in ((0, 1), (1, -1)):
            order = np.lexsort((sign * im, sign * re, nan), axis=axis)
            check(
                f"{t} sort {axis} {down}",
                {"x": (t, x)},
                [
                    f"  %a = argsort %x axis={axis} descending={down}",
                    f"  %s = sort %x axis={axis} descending={down}",
                ],
                {"a": ("i32", order), "s": (t, np.take_along_axis(x, order, axis))},
            )


def with_nan(x):
    """A NaN in either part is one in both."""
    return np.where(np.isnan(x), x.dtype.type(complex(np.nan, np.nan)), x)


def comparisons(t):
    """In NumPy's order; signs of zeros are the contract's own, so zeros are positive here."""
    x, y = (np.round(numbers(t, (60, 7)) / 2) + 0 for _ in range(2))
    x[::9, 1], y.imag[::7, 2] = np.nan, np.nan
    kinds = {"max": np.maximum, "min": np.minimum}
    compared = {"cmplt": np.less, "cmple": np.less_equal}
    lines = [f"  %{k} = {k} %x, %y" for k in (*kinds, *compared)]
    want = {k: (t, with_nan(f(x, y))) for k, f in kinds.items()}
    with np.errstate(invalid="ignore"):
        want |= {k: ("bool", f(x, y)) for k, f in compared.items()}
    check(f"{t} order", {"x": (t, x), "y": (t, y)}, lines, want)
    for axis in (0, 1):
        lines = [f"  %{k} = reduce_{k} %x axes=[{axis}]" for k in kinds]
        lines += [f"  %a{k} = arg{k} %x axis={axis}" for k in kinds]
        want = {k: (t, with_nan(f.reduce(x, axis=axis))) for k, f in kinds.items()}
        want |= {"amax": ("i32", x.argmax(axis)), "amin": ("i32", x.argmin(axis))}
        check(f"{t} best {axis}", {"x": (t, x)}, lines, want)


def conversions(t):
    x = numbers(t, (40,))
    x[:4] = [0, 1j, complex(np.nan, 0), complex(0, np.nan)]
    check(
        f"{t} casts",
        {"x": (t, x)},
        [
            "  %b = cast %x : bool[40]",
            "  %f = cast %x : f32[40]",
            "  %d = cast %x : f64[40]",
            "  %h = cast %x : f16[40]",
            "  %i = cast %x : i32[40]",
            "  %n = cast %x : c64[40]",
            "  %w = cast %x : c128[40]",
            "  %c = cast %x : c32[40]",
            "  %o = cast %c : c128[40]",
        ],
        {
            "b": ("bool", (x != 0) | np.isnan(x)),
            "f": ("f32", x.real.astype(np.float32)),
            "d": ("f64", x.real.astype(np.float64)),
            "h": ("f16", x.real.astype(np.float16)),
            "i": ("i32", np.nan_to_num(x.real).astype(np.int32)),
            "n": ("c64", x.astype(np.complex64)),
            "w": ("c128", x.astype(np.complex128)),
            "o": ("c128", paired(x.real.astype(np.float16), x.imag.astype(np.float16))),
        },
    )
    i = np.arange(-5, 5, dtype=np.int32)
    check(
        f"{t} from integers",
        {"i": ("i32", i)},
        [f"  %z = cast %i : {t}[10]", f"  %b = cast %i : bool[10]", f"  %y = cast %b : {t}[10]"],
        {"z": (t, i), "y": (t, i != 0)},
    )


def paired(re, im):
    z = np.empty(re.shape, np.complex128)
    z.real, z.imag = re, im
    return z


for t in PART:
    elementwise(t)
    reductions_and_moves(t)
    conversions(t)
    indexed(t)
    scans(t)
    orders(t)
    comparisons(t)
done = subprocess.run([sys.argv[1]], input=b"".join(requests), stdout=subprocess.PIPE)
at = 0
for case in expected:
    at = take(done.stdout, at, *case)
sys.exit(1 if failures or done.returncode else 0)
