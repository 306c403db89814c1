# SPDX-License-Identifier: ISC
"""Element types that the library does not compute with, in programs in StableHLO: all elements of
each, what they are, what is rounded to them, and arithmetic on every pair, against tables of exact
numbers that are made here. Where this Python has ml_dtypes, the tables are compared with it.

Usage: forms_test.py STABLEHLO_CHECK [DIRECTORY, in which the modules are left]."""

import bisect
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

np.seterr(all="ignore")
# bits, bits of the fraction, bias, what is special, name in ml_dtypes
FORMS = {
    "f8E4M3": (8, 3, 7, "ieee", "float8_e4m3"),
    "f8E3M4": (8, 4, 3, "ieee", "float8_e3m4"),
    "f8E4M3B11FNUZ": (8, 3, 11, "fnuz", "float8_e4m3b11fnuz"),
    "f8E4M3FNUZ": (8, 3, 8, "fnuz", "float8_e4m3fnuz"),
    "f8E5M2FNUZ": (8, 2, 16, "fnuz", "float8_e5m2fnuz"),
    "f6E2M3FN": (6, 3, 1, "finite", "float6_e2m3fn"),
    "f6E3M2FN": (6, 2, 3, "finite", "float6_e3m2fn"),
    "f4E2M1FN": (4, 1, 1, "finite", "float4_e2m1fn"),
}
INTEGERS = {"i2": (-2, 1, "int2"), "ui2": (0, 3, "uint2")}


class Form:
    """The numbers of a form, and rounding to them."""

    def __init__(self, bits, fraction, bias, special, name):
        self.bits, self.special, self.package = bits, special, getattr(ml_dtypes, name, None)
        self.sign = 1 << (bits - 1)
        self.values = [self.value(b, fraction, bias) for b in range(1 << bits)]
        exact = sorted((v, b) for b, v in enumerate(self.values[: self.sign]) if np.isfinite(v))
        self.numbers, self.codes = [v for v, _ in exact], [b for _, b in exact]
        # exact, as these floats have few bits
        self.middles = [(a + b) / 2 for a, b in zip(self.numbers, self.numbers[1:])]
        top = self.numbers[-1]
        self.limit = top + (top - self.numbers[-2]) / 2
        self.infinity = {"ieee": self.codes[-1] + 1, "fnuz": self.sign}.get(special, self.codes[-1])
        self.nan = {"ieee": self.infinity + 1, "fnuz": self.sign}.get(special, self.sign)
        self.top_is_even = self.codes[-1] % 2 == 0

    def value(self, b, fraction, bias):
        if self.special == "fnuz" and b == self.sign:
            return np.nan
        sign = -1.0 if b & self.sign else 1.0
        field, rest = (b & (self.sign - 1)) >> fraction, b & ((1 << fraction) - 1)
        if self.special == "ieee" and field == (self.sign - 1) >> fraction:
            return sign * np.inf if rest == 0 else np.nan
        low = 1 if field == 0 else field
        whole = rest + (0 if field == 0 else 1 << fraction)
        return sign * whole * 2.0 ** (low - bias - fraction)

    def rounded(self, x):
        """Bits of a float, or of an integer of any size: Python compares both exactly."""
        if x != x:
            return self.nan
        negative = self.sign if (x < 0 or (x == 0 and np.signbit(x))) else 0
        size = abs(int(x) if isinstance(x, np.integer) else float(x))
        if size > self.limit or (size == self.limit and not self.top_is_even):
            bits = self.infinity
        else:
            i = min(bisect.bisect_left(self.numbers, size), len(self.numbers) - 1)
            if 0 < i and size < self.numbers[i]:
                middle = self.middles[i - 1]
                i -= size < middle or (size == middle and self.codes[i] % 2 == 1)
            bits = self.codes[i]
        if self.special == "fnuz":
            return bits if bits in (0, self.sign) else bits | negative
        return bits | negative


def hexed(a):
    a = np.asarray(a)
    return f'dense<"0x{a.tobytes().hex().upper()}">'


def constant(name, a, kind):
    return f"  %{name} = stablehlo.constant {hexed(a)} : {kind}\n"


modules = []


def module(lines):
    modules.append("func.func @main() {\n" + "".join(lines) + "  return\n}\n")


def expect(value, wanted, kind):
    name = f"wanted_{value}"
    return (constant(name, wanted, kind) +
            f"  stablehlo.custom_call @check.expect_eq(%{value}, %{name}) : ({kind}, {kind}) -> ()"
            "\n")


def same(a, b):
    return bool(np.all((a == b) | ((a != a) & (b != b))))


def nasty(dtype, form):
    """Numbers near those of the form and between them, and all sizes."""
    random = np.random.default_rng(5)
    near = np.array([v for v in form.values if np.isfinite(v)], dtype="float64")
    middle = np.sort(near)
    middle = (middle[1:] + middle[:-1]) / 2
    sizes = random.standard_normal(1500) * 2.0 ** random.integers(-40, 40, 1500)
    all_ = np.concatenate([near, middle, near * 1.5, sizes, [np.inf, -np.inf, np.nan, 0.0, -0.0]])
    if dtype in ("float64", "float32"):
        all_ = all_.astype(dtype)
        more = np.concatenate([np.nextafter(all_, np.inf), np.nextafter(all_, -np.inf)])
        return np.concatenate([all_, more]).astype(dtype)
    if dtype == "float16":
        return np.arange(65536, dtype="uint16").view("float16")
    info = np.iinfo(dtype)
    whole = [0, 1, 7, 8, 9, 27, 28, 29, 30, 31, 32, 240, 247, 248, 249, info.max, info.min]
    whole += [int(x) for x in random.integers(info.min, info.max, 500, dtype=dtype)]
    whole += [int(x) for x in random.integers(max(info.min, -300), min(info.max, 300), 300)]
    return np.array([x for x in whole if info.min <= x <= info.max], dtype=dtype)


NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "int64": "i64", "uint64": "ui64",
         "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "ui8"}


def test_float(kind, form):
    n = 1 << form.bits
    all_bits = np.arange(n, dtype="uint8")
    values = np.array(form.values, dtype="float32")
    typed = f"tensor<{n}x{kind}>"
    raw = constant("x", all_bits, typed)
    # what each is, from constants, and moved as bits
    module([raw, f"  %f = stablehlo.convert %x : ({typed}) -> tensor<{n}xf32>\n",
            expect("f", values, f"tensor<{n}xf32>"),
            f"  %d = stablehlo.convert %x : ({typed}) -> tensor<{n}xf64>\n",
            expect("d", values.astype("float64"), f"tensor<{n}xf64>"),
            f"  %v = stablehlo.reverse %x, dims = [0] : {typed}\n",
            f"  %g = stablehlo.convert %v : ({typed}) -> tensor<{n}xf32>\n",
            expect("g", values[::-1].copy(), f"tensor<{n}xf32>")])
    # what rounds to them
    for dtype, name in NAMES.items():
        x = nasty(dtype, form)
        k = len(x)
        wanted = np.array([form.values[form.rounded(v)] for v in x], dtype="float32")
        if form.package is not None and dtype == "float32":  # of f64 it rounds twice
            assert same(x.astype(form.package).astype("float32"), wanted), kind
        module([constant("x", x, f"tensor<{k}x{name}>"),
                f"  %y = stablehlo.convert %x : (tensor<{k}x{name}>) -> tensor<{k}x{kind}>\n",
                f"  %f = stablehlo.convert %y : (tensor<{k}x{kind}>) -> tensor<{k}xf32>\n",
                expect("f", wanted, f"tensor<{k}xf32>")])
    # arithmetic on every pair, rounded once
    square, exact = f"tensor<{n}x{n}x{kind}>", f"tensor<{n}x{n}xf32>"
    a, b = np.broadcast_to(values[:, None], (n, n)), np.broadcast_to(values[None, :], (n, n))
    lines = [raw]
    for axis, letter in ((0, "a"), (1, "b")):
        lines.append(f"  %{letter} = stablehlo.broadcast_in_dim %x, dims = [{axis}] : ({typed}) -> "
                     f"{square}\n")

    def through(c):
        """Each number that there is, rounded once."""
        numbers, places = np.unique(c.astype("float64").view("int64"), return_inverse=True)
        rounded = [form.values[form.rounded(v)] for v in numbers.view("float64")]
        return np.array(rounded, dtype="float32")[places].reshape(c.shape)

    for name, result in (("add", a.astype("f8") + b), ("subtract", a.astype("f8") - b),
                         ("multiply", a.astype("f8") * b), ("divide", a.astype("f8") / b),
                         ("maximum", np.maximum(a, b)), ("minimum", np.minimum(a, b))):
        if name in ("maximum", "minimum"):  # of two zeros: -0 is below 0, as the library has it
            zeros = (a == 0) & (b == 0)
            both = np.logical_or if name == "minimum" else np.logical_and
            minus = both(np.signbit(a), np.signbit(b))
            result = np.where(zeros, np.where(minus, np.float32(-0.0), np.float32(0)), result)
        lines += [f"  %{name} = stablehlo.{name} %a, %b : {square}\n",
                  f"  %f{name} = stablehlo.convert %{name} : ({square}) -> {exact}\n",
                  expect(f"f{name}", through(result), exact)]
    truth = f"tensor<{n}x{n}xi1>"
    lines += [f"  %less = stablehlo.compare LT, %a, %b : ({square}, {square}) -> {truth}\n",
              expect("less", (a < b).astype("uint8"), truth)]
    module(lines)
    if form.package is not None:
        assert same(all_bits.view(form.package).astype("float32"), values), kind


def test_functions(kind, form):
    """Functions of one operand, also by a custom call of their name, and the next number."""
    n = 1 << form.bits
    typed, exact = f"tensor<{n}x{kind}>", f"tensor<{n}xf32>"
    lines = [constant("x", np.arange(n, dtype="uint8"), typed)]
    for name, f in (("erf", math.erf), ("erfc", math.erfc), ("atan", math.atan),
                    ("asinh", math.asinh)):
        result = [form.values[form.rounded(f(v))] for v in form.values]
        for way, call in (("_", f"chlo.{name} %x : {typed} -> {typed}"),
                          ("_c", f"stablehlo.custom_call @chlo.{name}(%x) : ({typed}) -> {typed}")):
            lines += [f"  %{name}{way} = {call}\n",
                      f"  %{name}{way}f = stablehlo.convert %{name}{way} : ({typed}) -> {exact}\n",
                      expect(f"{name}{way}f", np.array(result, dtype="float32"), exact)]
    module(lines)
    # every number towards every one
    numbers = sorted({v for v in form.values if v == v})
    wanted = np.empty((n, n), dtype="float32")
    for i, x in enumerate(form.values):
        for j, y in enumerate(form.values):
            if x != x or y != y:
                wanted[i, j] = form.values[form.nan]
            elif x == y:
                wanted[i, j] = y
            else:
                v = numbers[numbers.index(x) + (1 if x < y else -1)]
                wanted[i, j] = math.copysign(v, x) if v == 0 and form.special != "fnuz" else v
    square, exact = f"tensor<{n}x{n}x{kind}>", f"tensor<{n}x{n}xf32>"
    lines = lines[:1]
    for axis, letter in ((0, "a"), (1, "b")):
        lines.append(f"  %{letter} = stablehlo.broadcast_in_dim %x, dims = [{axis}] : ({typed}) -> "
                     f"{square}\n")
    module(lines + [f"  %y = chlo.next_after %a, %b : {square}, {square} -> {square}\n",
                    f"  %f = stablehlo.convert %y : ({square}) -> {exact}\n",
                    expect("f", wanted, exact)])


def test_regions(kind, form):
    """A sum by a region, exact in any order; a sort, which compares; a loop, which carries."""
    some = [form.rounded(v) for v in (1.0, 0.25, 0.25, 2.0, 3.0, 0.5, -3.0, -2.5)]
    values = [form.values[b] for b in some]
    total = form.values[0]
    for v in values:
        total = form.values[form.rounded(total + v)]
    eight, scalar = f"tensor<8x{kind}>", f"tensor<{kind}>"
    doubled = [form.values[form.rounded(form.values[form.rounded(v + v)] * 2)] for v in values]
    module([
        constant("x", np.array(some, dtype="uint8"), eight),
        f"  %zero = stablehlo.constant dense<0.0> : {scalar}\n",
        "  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] "
        f": ({eight}, {scalar}) -> {scalar}\n",
        f"  %f = stablehlo.convert %sum : ({scalar}) -> tensor<f32>\n",
        expect("f", np.array(total, dtype="float32"), "tensor<f32>"),
        '  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({\n'
        f"  ^bb0(%p: {scalar}, %q: {scalar}):\n"
        f"    %c = stablehlo.compare LT, %p, %q : ({scalar}, {scalar}) -> tensor<i1>\n"
        f"    stablehlo.return %c : tensor<i1>\n  }}) : ({eight}) -> {eight}\n",
        f"  %g = stablehlo.convert %s : ({eight}) -> tensor<8xf32>\n",
        expect("g", np.sort(np.array(values, dtype="float32")), "tensor<8xf32>"),
        "  %i = stablehlo.constant dense<0> : tensor<i32>\n",
        "  %one = stablehlo.constant dense<1> : tensor<i32>\n",
        "  %two = stablehlo.constant dense<2> : tensor<i32>\n",
        f"  %w:2 = stablehlo.while(%k = %i, %v = %x) : tensor<i32>, {eight}\n"
        "  cond {\n"
        "    %t = stablehlo.compare LT, %k, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %t : tensor<i1>\n  } do {\n"
        "    %n = stablehlo.add %k, %one : tensor<i32>\n"
        f"    %d = stablehlo.add %v, %v : {eight}\n"
        f"    stablehlo.return %n, %d : tensor<i32>, {eight}\n  }}\n",
        f"  %h = stablehlo.convert %w#1 : ({eight}) -> tensor<8xf32>\n",
        expect("h", np.array(doubled, dtype="float32"), "tensor<8xf32>"),
        "  %m = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] "
        f": ({eight}, {eight}) -> tensor<f32>\n",
        expect("m", np.array(sum(v * v for v in values), dtype="float32"), "tensor<f32>"),
    ])


def test_precision():
    """tf32: f32 with 10 bits of fraction."""
    random = np.random.default_rng(6)

    def short(x):
        bits = np.asarray(x, dtype="float32").view("uint32")
        y = ((bits.astype("uint64") + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000).astype("uint32")
        return np.where(np.isfinite(np.asarray(x, dtype="float32")), y.view("float32"), x)

    x = np.concatenate([random.standard_normal(400) * 2.0 ** random.integers(-149, 127, 400),
                        [np.inf, -np.inf, np.nan, 0, -0.0, 3.4e38, 1e-45]]).astype("float32")
    n = len(x)
    y = short(x)
    kind = f"tensor<{n}xtf32>"
    # of f64, just beside the middle of two
    half = np.float64(1) + 2.0 ** -11
    d = np.array([half, np.nextafter(half, 2), np.nextafter(half, 0), 1e39, -half - 2.0 ** -10])
    dw = np.array([1, 1 + 2.0 ** -10, 1, np.inf, -1 - 2.0 ** -9], dtype="float32")
    whole = np.array([(1 << 62) + (1 << 51), (1 << 62) + (1 << 51) + 1, -(1 << 63), 2049, 2051])
    ww = np.array([2.0 ** 62, 2.0 ** 62 + 2.0 ** 52, -2.0 ** 63, 2048, 2052], dtype="float32")
    module([constant("x", x, f"tensor<{n}xf32>"),
            f"  %y = stablehlo.convert %x : (tensor<{n}xf32>) -> {kind}\n",
            f"  %f = stablehlo.convert %y : ({kind}) -> tensor<{n}xf32>\n",
            expect("f", y.astype("float32"), f"tensor<{n}xf32>"),
            f"  %p = stablehlo.multiply %y, %y : {kind}\n",
            f"  %g = stablehlo.convert %p : ({kind}) -> tensor<{n}xf32>\n",
            expect("g", short(y * y).astype("float32"), f"tensor<{n}xf32>"),
            constant("d", d, "tensor<5xf64>"),
            "  %e = stablehlo.convert %d : (tensor<5xf64>) -> tensor<5xtf32>\n",
            "  %h = stablehlo.convert %e : (tensor<5xtf32>) -> tensor<5xf32>\n",
            expect("h", dw, "tensor<5xf32>"),
            constant("i", whole, "tensor<5xi64>"),
            "  %j = stablehlo.convert %i : (tensor<5xi64>) -> tensor<5xtf32>\n",
            "  %k = stablehlo.convert %j : (tensor<5xtf32>) -> tensor<5xf32>\n",
            expect("k", ww, "tensor<5xf32>"),
            "  %c = stablehlo.constant dense<[1.00048828126, 0x1FC00]> : tensor<2xtf32>\n",
            "  %l = stablehlo.convert %c : (tensor<2xtf32>) -> tensor<2xf32>\n",
            expect("l", np.array([1 + 2.0 ** -10, 1], dtype="float32"), "tensor<2xf32>")])


def test_integer(kind, least, most, name):
    values = list(range(least, most + 1))
    wrap = lambda v: (v - least) % 4 + least
    word = lambda v: v % 4
    n = 4
    square = f"tensor<4x4x{kind}>"
    lines = [f"  %x = stablehlo.constant dense<{values}> : tensor<4x{kind}>\n",
             f"  %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4x{kind}>) -> {square}\n",
             f"  %b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4x{kind}>) -> {square}\n"]

    def divided(a, b):
        return -1 if b == 0 else int(a / b)

    ops = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b,
           "multiply": lambda a, b: a * b, "maximum": max, "minimum": min,
           "and": lambda a, b: a & b, "or": lambda a, b: a | b,
           "xor": lambda a, b: a ^ b, "divide": divided,
           "remainder": lambda a, b: a if b == 0 else a - b * int(a / b),
           "shift_left": lambda a, b: a << word(b) if word(b) < 2 else 0,
           "shift_right_logical": lambda a, b: word(a) >> word(b),
           "shift_right_arithmetic": lambda a, b: (wrap(word(a)) if least < 0 else word(a) - 4 *
                                                   (word(a) > 1)) >> word(b)}
    for op, f in ops.items():
        wanted = np.array([[wrap(f(a, b)) for b in values] for a in values], dtype="int32")
        lines += [f"  %{op} = stablehlo.{op} %a, %b : {square}\n",
                  f"  %f{op} = stablehlo.convert %{op} : ({square}) -> tensor<4x4xi32>\n",
                  expect(f"f{op}", wanted, "tensor<4x4xi32>")]
    one = {"negate": lambda a: -a, "not": lambda a: ~a, "popcnt": lambda a: bin(word(a)).count("1"),
           "count_leading_zeros": lambda a: 2 - word(a).bit_length()}
    if least < 0:
        one.update({"abs": abs, "sign": lambda a: (a > 0) - (a < 0)})
    for op, f in one.items():
        lines += [f"  %{op} = stablehlo.{op} %x : tensor<4x{kind}>\n",
                  f"  %f{op} = stablehlo.convert %{op} : (tensor<4x{kind}>) -> tensor<4xi32>\n",
                  expect(f"f{op}", np.array([wrap(f(a)) for a in values], dtype="int32"),
                         "tensor<4xi32>")]
    big = np.arange(-40, 40, dtype="int32")
    floats = np.array([-1e9, -2.5, -1.9, -0.5, 0, 0.9, 1.5, 2.6, 77, np.inf, -np.inf, np.nan], "f4")
    cut = [0 if v != v else int(min(max(v, least), most)) for v in floats]
    words = np.arange(256, dtype="uint8")
    split = np.array([[wrap(int(w) >> 2 * k) for k in range(4)] for w in words], dtype="int32")
    lines += [constant("big", big, "tensor<80xi32>"),
              f"  %w = stablehlo.convert %big : (tensor<80xi32>) -> tensor<80x{kind}>\n",
              f"  %fw = stablehlo.convert %w : (tensor<80x{kind}>) -> tensor<80xi32>\n",
              expect("fw", np.array([wrap(int(v)) for v in big], dtype="int32"), "tensor<80xi32>"),
              constant("fl", floats, "tensor<12xf32>"),
              f"  %c = stablehlo.convert %fl : (tensor<12xf32>) -> tensor<12x{kind}>\n",
              f"  %fc = stablehlo.convert %c : (tensor<12x{kind}>) -> tensor<12xi32>\n",
              expect("fc", np.array(cut, dtype="int32"), "tensor<12xi32>"),
              constant("u", words, "tensor<256xui8>"),
              f"  %s = stablehlo.bitcast_convert %u : (tensor<256xui8>) -> tensor<256x4x{kind}>\n",
              f"  %fs = stablehlo.convert %s : (tensor<256x4x{kind}>) -> tensor<256x4xi32>\n",
              expect("fs", split, "tensor<256x4xi32>"),
              f"  %v = stablehlo.bitcast_convert %s : (tensor<256x4x{kind}>) -> tensor<256xui8>\n",
              expect("v", words, "tensor<256xui8>"),
              "  %t = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : "
              f"(tensor<4x{kind}>, tensor<4x{kind}>) -> tensor<i32>\n",
              expect("t", np.array(sum(v * v for v in values), dtype="int32"), "tensor<i32>")]
    module(lines)


def test_blocks(random):
    """Quantized types with a scale for each block, there and back, and moved."""
    rank = random.integers(1, 5)
    grid, size = random.integers(1, 4, rank), random.integers(1, 4, rank)
    named = [i for i in range(rank) if grid[i] > 1 or random.integers(2)]
    shape = tuple(int(n) for n in grid * size)
    scales = (2.0 ** random.integers(-3, 3, tuple(grid))).astype("f4")
    zeros = random.integers(-9, 9, tuple(grid))
    x = (random.integers(-4000, 4000, shape) / 16).astype("f4")
    spread = np.kron(scales, np.ones(size, "f4")), np.kron(zeros, np.ones(size, int))
    stored = np.clip(np.rint(x / spread[0] + spread[1]), -128, 127).astype("i1")

    def element(names, scales, zeros):
        def lists(s, z):
            inner = [lists(a, b) for a, b in zip(s, z)] if s.ndim else []
            return "{" + ", ".join(inner) + "}" if s.ndim else f"{float(s)}:{int(z)}"

        axes = ", ".join(f"{i}:{n}" for i, n in names)
        return f"!quant.uniform<i8:f32:{{{axes}}}, {lists(scales, zeros)}>"

    def tensor(shape, element):
        return f"tensor<{'x'.join(str(n) for n in shape)}x{element}>"

    order = [int(i) for i in random.permutation(rank)]
    turned = tuple(shape[i] for i in order)
    q = tensor(shape, element([(i, size[i]) for i in named], scales, zeros))
    t = tensor(turned, element([(order.index(i), size[i]) for i in named],
                               scales.transpose(order), zeros.transpose(order)))
    f, b, g = tensor(shape, "f32"), tensor(shape, "i8"), tensor(turned, "f32")
    module([constant("x", x, f),
            f"  %q = stablehlo.uniform_quantize %x : ({f}) -> {q}\n",
            f"  %b = stablehlo.bitcast_convert %q : ({q}) -> {b}\n", expect("b", stored, b),
            f"  %t = stablehlo.transpose %q, dims = {order} : ({q}) -> {t}\n",
            f"  %y = stablehlo.uniform_dequantize %t : ({t}) -> {g}\n",
            expect("y", ((stored - spread[1]) * spread[0]).astype("f4").transpose(order), g)])


def test_windows(kind, least, most):
    """Sums of windows of two operands, which wrap, also where the initial value is added."""
    wrap = lambda v: (v - least) % 4 + least
    t, f = f"tensor<3x{kind}>", f"tensor<{kind}>"
    module([
        f"  %x = stablehlo.constant dense<[{most}, {most}, 0]> : {t}\n",
        f"  %i = stablehlo.constant dense<1> : {f}\n",
        '  %r:2 = "stablehlo.reduce_window"(%x, %x, %i, %i) <{window_dimensions = array<i64: 2>}> '
        f"({{ ^bb0(%p: {f}, %q: {f}, %s: {f}, %t: {f}):\n"
        f"    %u = stablehlo.add %p, %s : {f}\n    %v = stablehlo.add %t, %q : {f}\n"
        f"    stablehlo.return %u, %v : {f}, {f} }}) : ({t}, {t}, {f}, {f}) -> "
        f"(tensor<2x{kind}>, tensor<2x{kind}>)\n"] + [
        f"  %f{k} = stablehlo.convert %r#{k} : (tensor<2x{kind}>) -> tensor<2xi32>\n" +
        expect(f"f{k}", np.array([wrap(2 * most + 1), wrap(most + 1)], dtype="int32"),
               "tensor<2xi32>") for k in range(2)])


for seed in range(40):
    test_blocks(np.random.default_rng(seed))
for kind, row in FORMS.items():
    form = Form(*row)
    test_float(kind, form)
    test_functions(kind, form)
    if kind not in ("f4E2M1FN",):
        test_regions(kind, form)
test_precision()
for kind, row in INTEGERS.items():
    test_integer(kind, *row)
    test_windows(kind, *row[:2])
with tempfile.TemporaryDirectory() as directory:
    file = Path(sys.argv[2] if len(sys.argv) > 2 else directory) / "forms.mlir"
    file.write_text("// -----\n".join(modules))
    sys.exit(subprocess.run([sys.argv[1], str(file)]).returncode)
