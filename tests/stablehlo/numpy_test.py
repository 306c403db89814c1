# SPDX-License-Identifier: ISC
"""Operations of StableHLO against NumPy: writes a module for each operation, with operands and what
NumPy gets, and has stablehlo_check run them all. Usage: numpy_test.py STABLEHLO_CHECK."""

import os
import subprocess
import sys
import tempfile

import numpy as np

from modules import constant, dense, in_steps, kind, region

random = np.random.default_rng(1)
modules = []


def module(lines, operands, wanted, exact=False):
    """lines use %a, %b, .. and end with %r, or %r0, %r1, ..; wanted: the array or several."""
    several = isinstance(wanted, (tuple, list))
    text = "func.func @main() {\n"
    for name, a in zip("abcdefg", operands):
        text += constant(name, np.asarray(a))
    text += "".join(f"  {line}\n" for line in lines)
    call = "check.expect_eq" if exact else "check.expect_close"
    for i, w in enumerate(wanted if several else [wanted]):
        w = np.asarray(w)
        r = f"r{i}" if several else "r"
        text += constant(f"w{i}", w)
        text += f"  stablehlo.custom_call @{call}(%{r}, %w{i}) : ({kind(w)}, {kind(w)}) -> ()\n"
    modules.append(text + "  return\n}\n")


def floats(*shape, dtype="float32", low=-3, high=3):
    return random.uniform(low, high, shape).astype(dtype)


def integers(*shape, dtype="int32", low=-9, high=9):
    low = max(low, 0) if dtype.startswith("u") else low
    return random.integers(low, high, shape).astype(dtype)


def op(name, operands, wanted, attributes="", exact=False):
    """An operation in general form."""
    operands = [np.asarray(a) for a in operands]
    wanted = np.asarray(wanted)
    letters = ", ".join("%" + c for c in "abcdefg"[: len(operands)])
    kinds = ", ".join(kind(a) for a in operands)
    properties = f" <{{{attributes}}}>" if attributes else ""
    line = f'%r = "stablehlo.{name}"({letters}){properties} : ({kinds}) -> {kind(wanted)}'
    module([line], operands, wanted, exact)


def short(name, operands, wanted, exact=False):
    """An elementwise operation in its own form, of one type."""
    letters = ", ".join("%" + c for c in "abcdefg"[: len(operands)])
    line = f"%r = stablehlo.{name} {letters} : {kind(np.asarray(wanted))}"
    module([line], operands, wanted, exact)


def elementwise():
    x, y = floats(3, 5), floats(3, 5)
    positive = floats(3, 5, low=0.1)
    unary = {
        "abs": np.abs, "ceil": np.ceil, "cosine": np.cos, "exponential": np.exp,
        "exponential_minus_one": np.expm1, "floor": np.floor, "negate": np.negative,
        "round_nearest_even": np.rint, "sine": np.sin, "tan": np.tan, "tanh": np.tanh,
        "cbrt": np.cbrt, "sign": np.sign,
    }
    for name, f in unary.items():
        for dtype in ("float32", "float64"):
            short(name, [x.astype(dtype)], f(x.astype(dtype)))
    for name, f in {"log": np.log, "log_plus_one": np.log1p, "sqrt": np.sqrt}.items():
        short(name, [positive], f(positive))
    short("rsqrt", [positive], 1 / np.sqrt(positive))
    short("logistic", [x], 1 / (1 + np.exp(-x)))
    halves = np.array([-2.5, -0.5, 0.5, 1.5, -0.0], "float32")
    short("round_nearest_afz", [halves], np.array([-3, -1, 1, 2, -0.0], "float32"), True)
    short("sign", [np.array([-0.0, 0.0, np.nan], "float32")],
          np.array([-0.0, 0.0, np.nan], "float32"), True)
    binary = {
        "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
        "maximum": np.maximum, "minimum": np.minimum, "atan2": np.arctan2, "remainder": np.fmod,
    }
    for name, f in binary.items():
        short(name, [x, y], f(x, y))
    short("power", [positive, y], positive**y)
    for dtype in ("int8", "uint8", "int32", "uint32", "int64", "uint64"):
        a, b = integers(7, dtype=dtype), integers(7, dtype=dtype, low=1)
        for name in ("add", "subtract", "multiply", "maximum", "minimum"):
            short(name, [a, b], binary[name](a, b), True)
        short("divide", [a, b], (a.astype("float64") / b).astype("int64").astype(dtype), True)
        for name, f in {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}.items():
            short(name, [a, b], f(a, b), True)
        short("not", [a], ~a, True)
        bits = 8 * a.dtype.itemsize
        words = a.view(f"uint{bits}")
        short("popcnt", [a], np.array([bin(int(w)).count("1") for w in words], dtype), True)
        short("count_leading_zeros", [a],
              np.array([bits - int(w).bit_length() for w in words], dtype), True)
        counts = np.array([0, 1, 2, bits - 1, bits, bits - 2, 3], dtype)
        left = [(int(w) << int(c)) & (2**bits - 1) if c < bits else 0
                for w, c in zip(words, counts.view(f"uint{bits}"))]
        short("shift_left", [a, counts], np.array(left, f"uint{bits}").view(dtype), True)
        right = [int(w) >> int(c) if c < bits else 0
                 for w, c in zip(words, counts.view(f"uint{bits}"))]
        short("shift_right_logical", [a, counts], np.array(right, f"uint{bits}").view(dtype), True)
        signed = [int(w) >> min(int(c), bits - 1)
                  for w, c in zip(a.view(f"int{bits}"), counts.view(f"uint{bits}"))]
        short("shift_right_arithmetic", [a, counts],
              np.array(signed, f"int{bits}").view(dtype), True)
    short("divide", [np.array([5, -5, -128], "int8"), np.array([0, 0, -1], "int8")],
          np.array([-1, -1, -128], "int8"), True)
    short("remainder", [np.array([5, -5, -128], "int8"), np.array([0, 0, -1], "int8")],
          np.array([5, -5, 0], "int8"), True)
    t, u = integers(9, low=0, high=2).astype(bool), integers(9, low=0, high=2).astype(bool)
    for name, f in {"add": np.logical_or, "multiply": np.logical_and, "maximum": np.logical_or,
                    "minimum": np.logical_and, "xor": np.logical_xor}.items():
        short(name, [t, u], f(t, u), True)
    z, w = x + 1j * y, y - 1j * x
    for dtype in ("complex64", "complex128"):
        p, q = z.astype(dtype), w.astype(dtype)
        for name in ("add", "subtract", "multiply", "divide"):
            short(name, [p, q], binary[name](p, q))
        for name in ("exponential", "sine", "cosine", "tanh"):
            short(name, [p], unary[name](p))
        wide = p.astype("complex128")
        short("cbrt", [p], (wide ** (1 / 3)).astype(dtype))
        v = (q * 0.5 + 0.3).astype(dtype)
        angle = -1j * np.log((v + 1j * wide) / np.sqrt(wide * wide + v.astype(wide.dtype) ** 2))
        short("atan2", [p, v], angle.astype(dtype))
        # of a small angle the quotient is close to 1, and its logarithm has few digits
        small, right = (p * 1e-9).astype(dtype), (np.abs(v) + 1j * v.imag).astype(dtype)
        module([f"%s = stablehlo.atan2 %a, %b : {kind(p)}",
                f"%r = stablehlo.divide %s, %a : {kind(p)}"], [small, right], 1 / right)
        op("abs", [p], np.abs(p))
        for name in ("real", "imag"):
            op(name, [p], getattr(p, name), exact=True)
    op("complex", [x, y], (x + 1j * y).astype("complex64"), exact=True)
    op("is_finite", [np.array([1, np.inf, -np.inf, np.nan], "float32")],
       np.array([True, False, False, False]), exact=True)


def choices():
    a = np.array([1, 2, np.nan, -0.0, 0.0], "float32")
    b = np.array([2, 2, 1, 0.0, -0.0], "float32")
    for name, f in {"EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal,
                    "GT": np.greater, "GE": np.greater_equal}.items():
        module([f"%r = stablehlo.compare {name}, %a, %b, FLOAT : ({kind(a)}, {kind(b)}) -> "
                "tensor<5xi1>"], [a, b], f(a, b), True)
    module([f"%r = stablehlo.compare LT, %a, %b, TOTALORDER : ({kind(a)}, {kind(b)}) -> "
            f"tensor<5xi1>"],
           [a, b], np.array([True, False, False, True, False]), True)
    p, x, y = np.array([True, False, True]), floats(3), floats(3)
    module([f"%r = stablehlo.select %a, %b, %c : {kind(p)}, {kind(x)}"], [p, x, y],
           np.where(p, x, y), True)
    low, high = np.float32(-1), np.float32(1)
    op("clamp", [low, x, high], np.clip(x, low, high), exact=True)
    for source in ("float32", "int32", "uint8", "bool", "float64", "int64"):
        for target in ("float32", "int8", "bool", "float64", "uint32", "float16", "complex64"):
            v = integers(6, low=0, high=100).astype(source)
            op("convert", [v], v.astype(target), exact=True)
    module(["%s = stablehlo.tuple %b : tuple<tensor<3xf32>>",
            "%t = stablehlo.tuple %a, %s : tuple<tensor<3xf32>, tuple<tensor<3xf32>>>",
            "%u = stablehlo.get_tuple_element %t[1] : (tuple<tensor<3xf32>, "
            "tuple<tensor<3xf32>>>) -> tuple<tensor<3xf32>>",
            "%r0 = stablehlo.get_tuple_element %u[0] : (tuple<tensor<3xf32>>) -> tensor<3xf32>",
            "%r1 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<3xf32>, "
            "tuple<tensor<3xf32>>>) -> tensor<3xf32>"], [x, y], (y, x), True)
    z = np.array([1 + 2j, 3j, -1, 0], "complex64")  # the imaginary part is ignored
    for target in ("float32", "int8", "bool"):
        op("convert", [z], z.real.astype(target), exact=True)
    op("bitcast_convert", [x], x.view("uint32"), exact=True)
    words = integers(3, 2, dtype="uint16", high=60000)
    op("bitcast_convert", [words], words.view("uint32").reshape(3), exact=True)
    half = np.array([1.0009765625, 3.14159], "float32")
    module(["%r = stablehlo.reduce_precision %a, format = e5m10 : tensor<2xf32>"], [half],
           half.astype("float16").astype("float32"), True)


def moves():
    for x in in_steps():
        op("reshape", [x], x.reshape(2, -1), exact=True)
    x = integers(2, 3, 4)
    module([f"%r = stablehlo.transpose %a, dims = [2, 0, 1] : ({kind(x)}) -> tensor<4x2x3xi32>"],
           [x], x.transpose(2, 0, 1), True)
    module([f"%r = stablehlo.reshape %a : ({kind(x)}) -> tensor<6x4xi32>"], [x],
           x.reshape(6, 4), True)
    module([f"%r = stablehlo.reverse %a, dims = [0, 2] : {kind(x)}"], [x], x[::-1, :, ::-1], True)
    module([f"%r = stablehlo.slice %a [0:1, 1:3, 0:4:3] : ({kind(x)}) -> tensor<1x2x2xi32>"], [x],
           x[0:1, 1:3, 0:4:3], True)
    module([f"%r = stablehlo.broadcast_in_dim %a, dims = [1, 3] : (tensor<3x1xi32>) -> "
            "tensor<2x3x2x4xi32>"], [x[0, :, :1]],
           np.broadcast_to(x[0, :, :1].reshape(1, 3, 1, 1), (2, 3, 2, 4)), True)
    module([f"%r = stablehlo.broadcast_in_dim %a, dims = [1, 0] : (tensor<2x3xi32>) -> "
            "tensor<3x2xi32>"], [x[:, :, 0]], x[:, :, 0].T, True)
    y = integers(2, 1, 4)
    module([f"%r = stablehlo.concatenate %a, %b, dim = 1 : ({kind(x)}, {kind(y)}) -> "
            "tensor<2x4x4xi32>"], [x, y], np.concatenate([x, y], 1), True)
    module(["%r = stablehlo.iota dim = 1 : tensor<2x3xf32>"], [],
           np.broadcast_to(np.arange(3, dtype="float32"), (2, 3)), True)
    v = np.arange(1, 4, dtype="int32")
    padded = np.array([7, 7, 1, 7, 2, 7, 3, 7], "int32")
    module(["%r = stablehlo.pad %a, %b, low = [2], high = [1], interior = [1] : "
            "(tensor<3xi32>, tensor<i32>) -> tensor<8xi32>"], [v, np.int32(7)], padded, True)
    module(["%s = stablehlo.add %b, %b : tensor<i32>",
            "%r = stablehlo.pad %a, %s, low = [-1], high = [1], interior = [1] : "
            "(tensor<3xi32>, tensor<i32>) -> tensor<5xi32>"], [v, np.int32(7)],
           np.array([14, 2, 14, 3, 14], "int32"), True)
    starts = [np.int32(1), np.int32(9)]
    m = integers(4, 5)
    module(["%r = stablehlo.dynamic_slice %a, %b, %c, sizes = [2, 3] : "
            "(tensor<4x5xi32>, tensor<i32>, tensor<i32>) -> tensor<2x3xi32>"], [m, *starts],
           m[1:3, 2:5], True)
    u, w = integers(2, 3), m.copy()
    w[1:3, 2:5] = u
    module(["%r = stablehlo.dynamic_update_slice %a, %d, %b, %c : (tensor<4x5xi32>, "
            "tensor<2x3xi32>, tensor<i32>, tensor<i32>) -> tensor<4x5xi32>"], [m, *starts, u], w,
           True)
    module(["%r = stablehlo.get_dimension_size %a, dim = 1 : (tensor<4x5xi32>) -> tensor<i32>"],
           [m], np.int32(5), True)


def reductions():
    x = floats(3, 4, 5)
    for name, f, init in (("add", np.sum, 0), ("multiply", np.prod, 1), ("maximum", np.max, -9),
                          ("minimum", np.min, 9)):
        module([f"%r = stablehlo.reduce(%a init: %b) applies stablehlo.{name} across dimensions = "
                f"[0, 2] : ({kind(x)}, tensor<f32>) -> tensor<4xf32>"], [x, np.float32(init)],
               f(x, axis=(0, 2)))
        windows = np.lib.stride_tricks.sliding_window_view(
            np.pad(x[0], ((1, 1), (0, 0)), constant_values=init), (2, 3))[:, ::2]
        module([f'%r = "stablehlo.reduce_window"(%a, %b) <{{padding = dense<[[1, 1], [0, 0]]> : '
                f"tensor<2x2xi64>, window_dimensions = array<i64: 2, 3>, window_strides = "
                f'array<i64: 1, '
                f'2>}}> {region(name, "float32")} : (tensor<4x5xf32>, tensor<f32>) -> '
                "tensor<5x2xf32>"], [x[0], np.float32(init)], f(windows, axis=(2, 3)))
    module(["%r = stablehlo.reduce(%a init: %b) applies stablehlo.maximum across dimensions = "
            "[0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>"], [floats(0, 3), np.float32(5)],
           np.full(3, 5, "float32"), True)
    b = integers(4, 3, low=0, high=2).astype(bool)
    module(["%r = stablehlo.reduce(%a init: %b) applies stablehlo.or across dimensions = [0] : "
            "(tensor<4x3xi1>, tensor<i1>) -> tensor<3xi1>"], [b, np.bool_(False)], b.any(0), True)
    module(['%r = "stablehlo.reduce_window"(%a, %b) <{padding = dense<[[3, 0], [0, 0]]> : '
            "tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>}> " + region("add", "float32") +
            " : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>"], [x[0], np.float32(0)],
           np.cumsum(x[0], 0))
    for text, bits in (("01", [1] * 8), ("00", [0] * 3), ("010001", [1, 0, 1]), ("05", [1, 0, 1]),
                       ("0F80", [1] * 4 + [0] * 11 + [1])):
        module([f'%r = stablehlo.constant dense<"0x{text}"> : tensor<{len(bits)}xi1>'], [],
               np.array(bits, bool), True)
    # an initial value that is not neutral is taken once, whatever is padded or between
    pads = "padding = dense<[[2, 1]]> : tensor<1x2xi64>"
    for name, f, more, size, wanted in (
        ("add", np.add, pads, 3, [1, 3, 6, 5]), ("multiply", np.multiply, pads, 2, [1, 1, 2, 6, 3]),
        ("add", np.add, "base_dilations = array<i64: 2>", 1, [1, 0, 2, 0, 3])):
        module([f'%r = "stablehlo.reduce_window"(%a, %b) <{{{more}, window_dimensions = array<i64: '
                f'{size}>}}> {region(name, "float32")} : (tensor<3xf32>, tensor<f32>) -> '
                f"tensor<{len(wanted)}xf32>"], [np.float32([1, 2, 3]), np.float32(2)],
               f(np.float32(2), np.float32(wanted)), True)
    # likewise where each result is made of its own pair
    f, i = "tensor<f32>", "tensor<i32>"
    module([f'%r0, %r1 = "stablehlo.reduce_window"(%a, %b, %c, %d) <{{{pads}, window_dimensions = '
            f"array<i64: 3>}}> ({{ ^bb0(%p: {f}, %q: {i}, %s: {f}, %t: {i}):",
            f"%v = stablehlo.multiply %t, %q : {i} %u = stablehlo.add %p, %s : {f}",
            f"stablehlo.return %u, %v : {f}, {i} }}) : (tensor<3xf32>, tensor<3xi32>, {f}, {i}) -> "
            "(tensor<4xf32>, tensor<4xi32>)"], [np.float32([1, 2, 3]), np.int32([1, 2, 3]),
           np.float32(2), np.int32(5)], [np.float32([3, 5, 8, 7]), np.int32([5, 10, 30, 30])], 1)
    two = ["%r0, %r1 = stablehlo.reduce(%a init: %b), (%c init: %d) across dimensions = [1] : "
           "(tensor<4x5xf32>, tensor<4x5xi32>, tensor<f32>, tensor<i32>) -> "
           "(tensor<4xf32>, tensor<4xi32>)",
           " reducer(%p: tensor<f32>, %q: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {",
           "  %more = stablehlo.compare GE, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> "
           "tensor<i1>",
           "  %v = stablehlo.select %more, %p, %q : tensor<i1>, tensor<f32>",
           "  %k = stablehlo.select %more, %i, %j : tensor<i1>, tensor<i32>",
           "  stablehlo.return %v, %k : tensor<f32>, tensor<i32>", " }"]
    places = np.broadcast_to(np.arange(5, dtype="int32"), (4, 5)).copy()
    module(two, [x[0], np.float32(-99), places, np.int32(0)],
           [x[0].max(1), x[0].argmax(1).astype("int32")], True)
    module(['%r = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0, 1>}> ' +
            region("multiply", "float32") + " : (tensor<4x5xf32>, tensor<4x5xf32>) -> "
                                            "tensor<4x5xf32>"],
           [x[0], x[1]], x[0] * x[1])
    keys = integers(3, 6, low=0, high=5)
    order = np.argsort(-keys, axis=1, kind="stable").astype("int32")
    module(['%r0, %r1 = "stablehlo.sort"(%a, %b) <{dimension = 1 : i64, is_stable = true}> ({',
            "^bb0(%x: tensor<i32>, %y: tensor<i32>, %p: tensor<i32>, %q: tensor<i32>):",
            "  %less = stablehlo.compare GT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> "
            "tensor<i1>",
            "  stablehlo.return %less : tensor<i1>",
            "}) : (tensor<3x6xi32>, tensor<3x6xi32>) -> (tensor<3x6xi32>, tensor<3x6xi32>)"],
           [keys, np.broadcast_to(np.arange(6, dtype="int32"), (3, 6)).copy()],
           [np.take_along_axis(keys, order, 1), order], True)
    v = floats(2, 8)
    places = np.argsort(-v, axis=1, kind="stable")[:, :3].astype("int32")
    module([f"%r0, %r1 = chlo.top_k(%a, k = 3) : {kind(v)} -> (tensor<2x3xf32>, tensor<2x3xi32>)"],
           [v], [np.take_along_axis(v, places, 1), places], True)


def control():
    module(["%c0 = stablehlo.constant dense<1> : tensor<i32>",
            "%w:2 = stablehlo.while(%i = %a, %s = %b) : tensor<i32>, tensor<f32>",
            "cond {", "  %n = stablehlo.constant dense<5> : tensor<i32>",
            "  %go = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> "
            "tensor<i1>",
            "  stablehlo.return %go : tensor<i1>", "} do {",
            "  %next = stablehlo.add %i, %c0 : tensor<i32>",
            "  %twice = stablehlo.multiply %s, %c : tensor<f32>",
            "  stablehlo.return %next, %twice : tensor<i32>, tensor<f32>", "}",
            "%r = stablehlo.add %w#1, %w#1 : tensor<f32>"],
           [np.int32(0), np.float32(1), np.float32(3)], np.float32(2 * 3**5), True)
    for index, wanted in ((0, 3), (1, 9), (7, 1)):
        module(['%r = "stablehlo.case"(%a) ({', "  stablehlo.return %b : tensor<i32>", "}, {",
                "  %m = stablehlo.multiply %b, %b : tensor<i32>", "  stablehlo.return %m : "
                                                                  "tensor<i32>",
                "}, {", "  %o = stablehlo.constant dense<1> : tensor<i32>",
                "  stablehlo.return %o : tensor<i32>", "}) : (tensor<i32>) -> tensor<i32>"],
               [np.int32(index), np.int32(3)], np.int32(wanted), True)
    for yes in (True, False):
        module(['%r = "stablehlo.if"(%a) ({', "  stablehlo.return %b : tensor<i32>", "}, {",
                "  stablehlo.return %c : tensor<i32>", "}) : (tensor<i1>) -> tensor<i32>"],
               [np.bool_(yes), np.int32(3), np.int32(4)], np.int32(3 if yes else 4), True)
    modules.append(
        "module @calls {\n"
        "func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %y = stablehlo.add %x, %x : tensor<2xf32>\n  return %y : tensor<2xf32>\n}\n"
        "func.func public @main() {\n"
        "  %a = stablehlo.constant dense<[1.0, -2.5]> : tensor<2xf32>\n"
        "  %b = call @twice(%a) : (tensor<2xf32>) -> tensor<2xf32>\n"
        '  %c = stablehlo.composite "own.twice" %b {decomposition = @twice} : (tensor<2xf32>) -> '
        "tensor<2xf32>\n"
        "  %w = stablehlo.constant dense<[4.0, -10.0]> : tensor<2xf32>\n"
        "  stablehlo.custom_call @check.expect_eq(%c, %w) : (tensor<2xf32>, tensor<2xf32>) -> ()\n"
        "  return\n}\n}\n")


def products():
    a, b = floats(2, 3, 4), floats(2, 5, 4)
    module([f"%r = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = "
            f"[2] x "
            f"[2], precision = [DEFAULT, DEFAULT] : ({kind(a)}, {kind(b)}) -> tensor<2x3x5xf32>"],
           [a, b], a @ b.transpose(0, 2, 1))
    p, q = integers(3, 4, dtype="int8"), integers(4, 2, dtype="int8")
    module([f"%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({kind(p)}, "
            f"{kind(q)}) -> tensor<3x2xi32>"], [p, q], p.astype("int32") @ q.astype("int32"), True)
    s, t = floats(4, 2, 5, 3, 2), floats(2, 6, 4, 7, 5)
    module([f"%r = stablehlo.dot_general %a, %b, batching_dims = [1] x [0], contracting_dims = "
            f"[0, 2] x [2, 4] : ({kind(s)}, {kind(t)}) -> tensor<2x3x2x6x7xf32>"],
           [s, t], np.einsum("kbcmn,bpkqc->bmnpq", s, t))
    x, w = floats(1, 2, 6), floats(3, 2, 3)
    wanted = np.array([[[sum(np.pad(x[0], ((0, 0), (1, 1)))[c, 2 * i + k] * w[o, c, k]
                             for c in range(2) for k in range(3)) for i in range(3)]
                        for o in range(3)]], "float32")
    module(["%r = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], "
            "window = "
            "{stride = [2], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = "
            "1 : "
            f"i64}} : ({kind(x)}, {kind(w)}) -> tensor<1x3x3xf32>"], [x, w], wanted)
    m = floats(3, 3, dtype="float64")
    s = m @ m.T + 3 * np.eye(3)
    low = np.linalg.cholesky(s)
    module([f"%r = stablehlo.cholesky %a, lower = true : {kind(s)}"], [s], low)
    module([f"%r = stablehlo.cholesky %a, lower = false : {kind(s)}"], [s], low.T.copy())
    r = floats(3, 2, dtype="float64")
    module(['%r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, '
            'transpose_a = '
            f"#stablehlo<transpose TRANSPOSE>, unit_diagonal = "
            f"false}}> : ({kind(low)}, {kind(r)}) -> "
            f"{kind(r)}"], [low, r], np.linalg.solve(low.T, r))
    z = (floats(2, 6) + 1j * floats(2, 6)).astype("complex64")
    for name, f in (("FFT", np.fft.fft), ("IFFT", np.fft.ifft)):
        module([f"%r = stablehlo.fft %a, type = {name}, length = [6] : ({kind(z)}) -> {kind(z)}"],
               [z],
               f(z).astype("complex64"))
    v = floats(2, 6)
    half = np.fft.rfft(v).astype("complex64")
    module([f"%r = stablehlo.fft %a, type = RFFT, length = [6] : ({kind(v)}) -> {kind(half)}"], [v],
           half)
    module([f"%r = stablehlo.fft %a, type = IRFFT, length = [6] : ({kind(half)}) -> {kind(v)}"],
           [half], v)
    n = floats(4, 3)
    scale, offset = floats(3), floats(3)
    mean, variance = n.mean(0), n.var(0)
    operands = [n, scale, offset, mean, variance]
    kinds = ", ".join(kind(t) for t in operands)
    module(['%r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, '
            f"feature_index = 1 : i64}}> : ({kinds}) -> {kind(n)}"], operands,
           (n - mean) / np.sqrt(variance + np.float32(1e-3)) * scale + offset)


def special():
    ones, n = np.float64([1, 2, 0.5]), np.float64([0, 1, 2])
    both = "tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>"
    # zeta(2, q), and the first three derivatives of log gamma
    square = np.float64([np.pi**2 / 6, np.pi**2 / 6 - 1, np.pi**2 / 2])
    module([f"%r = chlo.zeta %a, %b : {both}"], [np.full(3, 2.0), ones], square)
    apery = 1.2020569031595942
    module([f"%r = chlo.polygamma %a, %b : {both}"], [n, np.float64([1, 2, 1])],
           np.float64([-0.5772156649015329, np.pi**2 / 6 - 1, -2 * apery]))
    x = np.float32([np.inf, -np.inf, np.nan, 1])
    for name, wanted in (("pos", x == np.inf), ("neg", x == -np.inf)):
        module([f"%r = chlo.is_{name}_inf %a : {kind(x)} -> {kind(wanted)}"], [x], wanted, True)
    for dtype in ("int8", "uint16", "int32", "uint32", "int64", "uint64"):
        i = np.iinfo(dtype)
        a = np.array([i.max, i.max, i.min, i.min, i.max, 3], dtype)
        b = np.array([i.max, i.min, i.min, 1, 2, i.max // 2], dtype)
        wanted = np.array([int(u) * int(v) >> i.bits for u, v in zip(a, b)], dtype)
        line = f"%r = chlo.mulhi %a, %b : {kind(a)}, {kind(a)} -> {kind(a)}"
        module([line], [a, b], wanted, True)


def by_letters():
    """einsum and what is like it."""
    def einsum(config, a, b=None, dtype=None):
        operands = [a] if b is None else [a, b]
        wanted = np.einsum(config, *(x.astype(dtype or x.dtype) for x in operands))
        name = "unary_einsum" if b is None else "einsum"
        op(name, operands, wanted, f'einsum_config = "{config}"', exact=a.dtype.kind in "iu")

    a, b = floats(3, 4), floats(4, 5)
    einsum("ab,bc->ac", a, b)
    einsum("ab,bc->ca", a, b)
    einsum("ab,bc->b", a, b)
    einsum("ab,cd->dbca", a, b)
    einsum("bij,bjk->bki", floats(2, 3, 4), floats(2, 4, 5))
    einsum("aab,bcc->ac", integers(3, 3, 4), integers(4, 5, 5))
    einsum("ab,ba->", integers(3, 4), integers(4, 3))
    einsum("ab,bc->ac", integers(3, 4, dtype="int8"), integers(4, 2, dtype="int8"), "int16")
    einsum("a...b,...bc->...ca", floats(2, 5, 3, 4), floats(3, 4, 6))
    einsum("...a,a...->...", integers(1, 3, 4), integers(4, 5, 1))
    einsum("ab->a", a)
    einsum("abc->cb", integers(3, 4, 5))
    einsum("aba->ba", integers(3, 4, 3))
    einsum("aa->", floats(4, 4, dtype="float64"))
    x = np.ones((3, 4), "float32")
    module([f'%r = stablehlo.einsum %a, %b, config = "ab,bc->ac" : ({kind(x)}, {kind(x.T)}) -> '
            "tensor<3x3xf32>"], [x, x.T], x @ x.T)
    module([f'%r = stablehlo.unary_einsum %a, config = "ab->a" : ({kind(x)}) -> tensor<3xf32>'],
           [x], x.sum(1))


def selected():
    """torch_index_select: indices take the place of an axis."""
    def select(x, i, dim, batch):
        wanted = np.stack([select_one(x[k], i[k], dim - 1) for k in range(len(x))]) \
            if batch else select_one(x, i, dim)
        op("torch_index_select", [x, i], wanted, f"dim = {dim} : i64, batch_dims = {batch} : i64",
           exact=True)

    def select_one(x, i, dim):
        return np.take(x, i, axis=dim)

    x = integers(4, 3, 5)
    select(x, np.int32([2, 0, 3]), 0, 0)
    select(x, np.int64([[1, 2], [0, 1]]), 1, 0)
    select(x, np.int32(4), 2, 0)
    select(x, integers(4, 2, low=0, high=3), 1, 1)
    select(x, integers(4, 2, 3, low=0, high=5), 2, 1)


def implicit():
    """CHLO's operations of operands that are broadcast."""
    def broadcast(name, operands, wanted, attributes="", exact=True):
        wanted = np.asarray(wanted)
        letters = ", ".join("%" + c for c in "abc"[: len(operands)])
        kinds = ", ".join(kind(np.asarray(x)) for x in operands)
        braces = f" {{{attributes}}}" if attributes else ""
        line = f"%r = chlo.broadcast_{name} {letters}{braces} : ({kinds}) -> {kind(wanted)}"
        module([line], operands, wanted, exact)

    a, b, c = integers(2, 3, low=1), integers(3, low=1), np.int32(2)
    for name, f in {"add": np.add, "subtract": np.subtract, "multiply": np.multiply,
                    "maximum": np.maximum, "minimum": np.minimum, "and": np.bitwise_and,
                    "or": np.bitwise_or, "xor": np.bitwise_xor, "power": np.power,
                    "divide": np.floor_divide, "remainder": np.remainder,
                    "shift_left": np.left_shift, "shift_right_logical": np.right_shift,
                    "shift_right_arithmetic": np.right_shift}.items():
        broadcast(name, [a, b], f(a, b))
        broadcast(name, [c, a], f(c, a))
    rows = integers(2, 1)
    broadcast("add", [rows, b], rows + b)
    line = integers(2)
    broadcast("subtract", [a, line], a - line[:, None], "broadcast_dimensions = array<i64: 0>")
    broadcast("subtract", [line, a], line[:, None] - a, "broadcast_dimensions = array<i64: 0>")
    x, y = floats(2, 3, low=0.5), floats(3, low=0.5)
    broadcast("atan2", [x, y], np.arctan2(x, y), exact=False)
    broadcast("complex", [x, y], (x + 1j * y).astype("complex64"))
    broadcast("next_after", [x, y], np.nextafter(x, y))
    for direction, f in {"EQ": np.equal, "LT": np.less}.items():
        broadcast("compare", [a, b], f(a, b),
                  f"comparison_direction = #chlo<comparison_direction {direction}>")
    p = np.array([True, False, True])
    broadcast("select", [p, a, c], np.where(p, a, c))
    broadcast("select", [np.array(False), a, b], np.where(False, a, b))
    # zeta(2, 1) = pi^2 / 6 and zeta(4, 1) = pi^4 / 90; polygamma(1, x) = zeta(2, x)
    s = np.float64([[2], [4]])
    broadcast("zeta", [s, np.float64([1, 2])], [[np.pi**2 / 6, np.pi**2 / 6 - 1],
              [np.pi**4 / 90, np.pi**4 / 90 - 1]], exact=False)
    broadcast("polygamma", [np.float64(1), np.float64([1, 2])],
              [np.pi**2 / 6, np.pi**2 / 6 - 1], exact=False)
    for value, wanted in (("3.2 : f32", np.full((2, 3), 3.2, "float32")),
                          ("-7 : i64", np.full((2, 3), -7, "int64"))):
        module([f'%r = "chlo.constant_like"(%a) {{value = {value}}} : ({kind(a)}) -> '
                f"{kind(wanted)}"], [a], wanted, True)


def by_groups():
    """chlo.ragged_dot, its three modes."""
    def ragged(a, b, sizes, wanted, lists):
        names = ("lhs_batching", "rhs_batching", "lhs_contracting", "rhs_contracting",
                 "lhs_ragged", "rhs_group")
        axes = ", ".join(f"{n}_dimensions = {v}" for n, v in zip(names, lists))
        module([f'%r = "chlo.ragged_dot"(%a, %b, %c) {{ragged_dot_dimension_numbers = '
                f"#chlo.ragged_dot<{axes}>, precision_config = [#chlo<precision DEFAULT>, "
                f"#chlo<precision DEFAULT>]}} : ({kind(a)}, {kind(b)}, {kind(sizes)}) -> "
                f"{kind(wanted)}"], [a, b, sizes], wanted)

    a, b, sizes = floats(11, 5), floats(3, 5, 7), np.int64([4, 0, 5])
    b[1] = np.inf # of a group without rows, and so of no element
    starts = np.concatenate([[0], np.cumsum(sizes)])
    wanted = np.zeros((11, 7), "float32")
    for g in range(3):
        rows = slice(starts[g], starts[g + 1])
        wanted[rows] = a[rows] @ b[g]
    ragged(a, b, sizes, wanted, ([], [], [1], [1], [0], [0]))
    b[1] = 0
    batch = np.stack([a, -a])
    ragged(batch, np.stack([b, b], 1), sizes.astype("int32"), np.stack([wanted, -wanted]),
           ([0], [1], [2], [2], [1], [0]))
    ragged(a, np.moveaxis(b, 0, 2).copy(), sizes, wanted, ([], [], [1], [0], [0], [2]))
    x, y = floats(4, 11), floats(11, 6)
    sums = np.stack([x[:, starts[g]:starts[g + 1]] @ y[starts[g]:starts[g + 1]] for g in range(3)])
    x[:, 9:] = np.nan # of no group
    ragged(x, y, sizes, sums, ([], [], [1], [0], [1], []))
    p, q = floats(3, 4, 5), floats(3, 5, 6)
    ragged(p, q, np.int64([1, 2]), p @ q, ([0], [0], [2], [1], [0], []))


def routines():
    """Custom calls by which JAX has factorisations done."""
    a = np.float64([[1, 2, 3], [-3, 1, 4], [0, 0, 5]])
    line, k = np.float64([1, 1, 5]), kind(a)
    module([f"%s:6 = stablehlo.custom_call @lapack_dgees_ffi(%a) {{mhlo.backend_config = "
            f"{{mode = 86 : ui8, sort = 78 : ui8}}}} : ({k}) -> ({k}, {k}, {kind(line)}, "
            f"{kind(line)}, tensor<i32>, tensor<i32>)",
            f"%t = stablehlo.transpose %s#1, dims = [1, 0] : ({k}) -> {k}",
            f"%u = stablehlo.dot %s#1, %s#0 : ({k}, {k}) -> {k}",
            f"%r0 = stablehlo.dot %u, %t : ({k}, {k}) -> {k}",
            f"%r1 = stablehlo.add %s#2, %b : {kind(line)}",
            f"%r2 = stablehlo.add %s#3, %b : {kind(line)}"],
           [a, np.zeros(3)], [a, line, np.float64([6**0.5, -(6**0.5), 0])])
    # I - v v^T with v = (1, 1, 0), after which I - 2 w w^T has w = (0, 1, 0)
    v, tau, c = np.float32([[1, 7], [1, 1], [0, 0]]), np.float32([1, 2]), floats(3, 2)
    q = np.float32([[0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    for left, turned, x in ((1, 0, c), (1, 1, c), (0, 0, c.T.copy()), (0, 1, c.T.copy())):
        options = f"left = {str(bool(left)).lower()}, transpose = {str(bool(turned)).lower()}"
        side = q.T if turned else q
        module([f"%r = stablehlo.custom_call @lapack_sormqr_ffi(%a, %b, %c) "
                f"{{mhlo.backend_config = {{{options}}}}} : ({kind(v)}, {kind(tau)}, {kind(x)}) -> "
                f"{kind(x)}"], [v, tau, x], side @ x if left else x @ side)
    d = np.diag(np.float32([1, 3, 2]))
    places = np.int32([2, 3, 1])
    module([f"%none = stablehlo.constant dense<0> : {kind(places)}",
            f"%s:3 = stablehlo.custom_call @lapack_sgeqp3_ffi(%a, %none) : "
            f"({kind(d)}, {kind(places)}) -> ({kind(d)}, {kind(places)}, tensor<3xf32>)",
            f"%q = stablehlo.abs %s#0 : {kind(d)}",
            f"%r0 = stablehlo.multiply %q, %c : {kind(d)}",
            f"%r1 = stablehlo.add %s#1, %none : {kind(places)}"],
           [d, places, np.eye(3, dtype="float32")], [np.diag(np.float32([3, 2, 1])), places])
    x = np.float32([[1, 5, 3], [4, 0, 9]])
    rows = np.broadcast_to(np.arange(3, dtype="int32"), (2, 3)).copy()
    modules.append(
        "func.func private @least(%x: tensor<f32>, %y: tensor<f32>, %i: tensor<i32>, "
        "%j: tensor<i32>) -> tensor<i1> {\n"
        "  %l = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "  return %l : tensor<i1>\n}\n"
        "func.func @main() {\n" + constant("a", x) + constant("b", rows) +
        constant("c", np.float32(np.inf)) + constant("d", np.int32(-1)) +
        "  %r:2 = stablehlo.custom_call @ApproxTopK(%a, %b, %c, %d) {"
        "called_computations = [@least], mhlo.backend_config = {reduction_dim = 1 : i64, "
        "recall_target = 0.9 : f32, top_k = 2 : i64}} : (tensor<2x3xf32>, tensor<2x3xi32>, "
        "tensor<f32>, tensor<i32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)\n" +
        constant("v", np.float32([[1, 3], [0, 4]])) + constant("p", np.int32([[0, 2], [1, 0]])) +
        "".join(f"  stablehlo.custom_call @check.expect_eq(%r#{i}, %{w}) : (tensor<2x2x{e}>, "
                f"tensor<2x2x{e}>) -> ()\n" for i, w, e in ((0, "v", "f32"), (1, "p", "i32"))) +
        "  return\n}\n")


for part in (elementwise, choices, moves, reductions, control, products, special, by_letters,
             selected, implicit, by_groups, routines):
    part()
text = "// -----\n".join(modules)
done = subprocess.run([sys.argv[1], "-"], input=text, text=True)
if done.returncode:
    path = os.path.join(tempfile.gettempdir(), "stablehlo_numpy.mlir")
    with open(path, "w") as f:
        f.write(text)
    print(f"the modules are in {path}")
sys.exit(done.returncode)
