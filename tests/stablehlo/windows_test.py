# SPDX-License-Identifier: ISC
"""Windows by functions that are associative, with initial values that are not neutral: what is
outside of the operand is left out, and the initial value is taken once, first. Draws windows with
strides, padding (also less than none), gaps in the window and in the operand, and has
stablehlo_check compare them with loops of Python. Usage: windows_test.py STABLEHLO_CHECK."""

import itertools
import os
import subprocess
import sys
import tempfile

import numpy as np

from modules import NAMES, constant, kind

np.seterr(all="ignore")
modules = []


class Lines:
    """The operations of a region; each gives the name of its result."""

    def __init__(self):
        self.text, self.count = "", 0

    def add(self, operation):
        self.count += 1
        self.text += f"    %t{self.count} = stablehlo.{operation}\n"
        return f"%t{self.count}"

    def op(self, name, kind, a, b):
        return self.add(f"{name} {a}, {b} : {kind}")

    def pick(self, direction, kinds, a, b):
        """What the first ones are compared for."""
        first = self.add(f"compare {direction}, {a[0]}, {b[0]} : ({kinds[0]}, {kinds[0]}) -> "
                         "tensor<i1>")
        return [self.add(f"select {first}, {x}, {y} : tensor<i1>, {k}")
                for k, x, y in zip(kinds, a, b)]


def each(*names):
    """One operation for each pair."""
    number = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum,
              "minimum": np.minimum, "xor": np.bitwise_xor, "and": np.bitwise_and}
    return (lambda w, k, a, b: [w.op(n, t, x, y) for n, t, x, y in zip(names, k, a, b)],
            lambda a, b: [number[n](x, y) for n, x, y in zip(names, a, b)])


def derivative(w, k, a, b):
    left, right = w.op("multiply", k[0], a[0], b[1]), w.op("multiply", k[0], b[0], a[1])
    return [w.op("multiply", k[0], a[0], b[0]), w.op("add", k[0], left, right)]


def line(w, k, a, b):  # x -> a0 x + a1, then that of b
    moved = w.op("multiply", k[0], a[1], b[0])
    return [w.op("multiply", k[0], a[0], b[0]), w.op("add", k[0], moved, b[1])]


def most(w, k, a, b):  # the last one has its own operation
    return w.pick("GT", k[:-1], a, b) + [w.op("add", k[-1], a[-1], b[-1])]


def best(a, b, n, stays):
    return [x if stays(a[0], b[0]) else y for x, y in zip(a[:n], b[:n])]


ANY = ("float32", "int32", "int8", "uint8", "float64", "int16")
INTEGERS = ("int32", "int8", "uint8", "int64")
# operands; whether they have one type; types; as text; of numbers
COMBINERS = {
    "sum": (1, False, ANY, *each("add")),
    "product": (1, False, ANY, *each("multiply")),
    "maximum": (1, False, ANY, *each("maximum")),
    "xor": (1, False, INTEGERS, *each("xor")),
    "first": (1, False, ANY, lambda w, k, a, b: a, lambda a, b: a),
    "last": (1, False, ANY, lambda w, k, a, b: b, lambda a, b: b),
    "pairs": (2, False, ANY, *each("add", "multiply")),
    "derivative": (2, True, ANY, derivative,
                   lambda a, b: [a[0] * b[0], a[0] * b[1] + b[0] * a[1]]),
    "line": (2, True, ANY, line, lambda a, b: [a[0] * b[0], a[1] * b[0] + b[1]]),
    "argmax": (2, False, ANY, lambda w, k, a, b: w.pick("GE", k, a, b),
               lambda a, b: best(a, b, 2, np.greater_equal)),
    "last argmin": (2, False, ANY, lambda w, k, a, b: w.pick("LT", k, a, b),
                    lambda a, b: best(a, b, 2, np.less)),
    "with a count": (3, False, ANY, most, lambda a, b: best(a, b, 2, np.greater) + [a[2] + b[2]]),
    "four": (4, False, INTEGERS, *each("multiply", "minimum", "and", "add")),
}


def windows(shape, kernel, stride, padding, base, dilation):
    """Of each window, at which places its elements are."""
    starts = []
    for i, n in enumerate(shape):
        extent, reach = (n - 1) * base[i] + 1 + sum(padding[i]), (kernel[i] - 1) * dilation[i] + 1
        starts.append(range(0, extent - reach + 1, stride[i]))
    places = {}
    for window in itertools.product(*(range(len(s)) for s in starts)):
        places[window] = []
        for element in itertools.product(*map(range, kernel)):
            at = [starts[i][window[i]] + e * dilation[i] - padding[i][0]
                  for i, e in enumerate(element)]
            if all(0 <= a <= (n - 1) * b and a % b == 0 for a, b, n in zip(at, base, shape)):
                places[window].append(tuple(a // b for a, b in zip(at, base)))
    return [len(s) for s in starts], places


def reduced(x, init, number, counts, places):
    out = [np.empty(counts, a.dtype) for a in x]
    for window, elements in places.items():
        total = list(init)
        for place in elements:
            total = [a.dtype.type(v) for a, v in zip(x, number(total, [a[place] for a in x]))]
        for o, v in zip(out, total):
            o[window] = v
    return out


def record(x, init, text, attributes, wanted):
    n = len(x)
    kinds = [f"tensor<{NAMES[a.dtype.name]}>" for a in x]
    a, b = [f"%a{i}" for i in range(n)], [f"%b{i}" for i in range(n)]
    w = Lines()
    results = text(w, kinds, a, b)
    arguments = ", ".join(f"{v}: {k}" for v, k in zip(a + b, kinds + kinds))
    listed = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    of = ", ".join([kind(v) for v in x] + kinds)
    module = "func.func @main() {\n"
    module += "".join(constant(f"x{i}", v) + constant(f"i{i}", init[i]) + constant(f"w{i}", want)
                      for i, (v, want) in enumerate(zip(x, wanted)))
    operands = ", ".join([f"%x{i}" for i in range(n)] + [f"%i{i}" for i in range(n)])
    module += (f'  %r:{n} = "stablehlo.reduce_window"({operands}) <{{{listed}}}> ({{\n'
               f"  ^bb0({arguments}):\n{w.text}    stablehlo.return {', '.join(results)} : "
               f"{', '.join(kinds)}\n  }}) : ({of}) -> ({', '.join(map(kind, wanted))})\n")
    for i, v in enumerate(wanted):
        module += (f"  stablehlo.custom_call @check.expect_eq(%r#{i}, %w{i}) : "
                   f"({kind(v)}, {kind(v)}) -> ()\n")
    modules.append(module + "  return\n}\n")


def draw(random, name):
    n, same, types, text, number = COMBINERS[name]
    rank = int(random.integers(1, 4))
    long = random.random() < 0.25  # more elements than go into one kernel
    shape = [int(v) for v in random.integers(1, 12 if long and rank < 3 else 6, rank)]
    kernel = [int(random.integers(1, m + 3 if long else 4)) for m in shape]
    some = lambda share: [int(random.integers(1, 4)) if random.random() < share else 1
                          for _ in shape]
    stride, base, dilation = some(0.5), some(0.3), some(0.3)
    padding = [tuple(int(v) for v in random.integers(-1, 5, 2)) for _ in shape]
    if random.random() < 0.2:  # a cumulative one
        axis, back = int(random.integers(rank)), random.random() < 0.5
        shape[axis] = int(random.integers(2, 24))
        kernel, stride, base, dilation = ([1] * rank for _ in range(4))
        kernel[axis], padding = shape[axis], [(0, 0)] * rank
        padding[axis] = (0, shape[axis] - 1) if back else (shape[axis] - 1, 0)
    counts, places = windows(shape, kernel, stride, padding, base, dilation)
    if 0 in counts:
        return
    dtypes = [random.choice(types)] * n if same else random.choice(types, n)
    x = [random.integers(-3 * (d[0] != "u"), 4, shape).astype(d) for d in dtypes]
    init = [np.asarray(random.integers(0, 6)).astype(d)[()] for d in dtypes]
    integers = lambda v: f"array<i64: {', '.join(map(str, v))}>"
    pads = ", ".join(f"[{a}, {b}]" for a, b in padding)
    record(x, init, text, {
        "window_dimensions": integers(kernel), "window_strides": integers(stride),
        "base_dilations": integers(base), "window_dilations": integers(dilation),
        "padding": f"dense<[{pads}]> : tensor<{rank}x2xi64>",
    }, reduced(x, init, number, counts, places))


for seed in range(16):
    for number, combiner in enumerate(COMBINERS):
        draw(np.random.default_rng([seed, number]), combiner)
with tempfile.TemporaryDirectory() as directory:
    file = os.path.join(directory, "windows.mlir")
    with open(file, "w") as f:
        f.write("// -----\n".join(modules))
    for more in {}, {"NX_EXECUTOR": "interp"}:
        code = subprocess.run([sys.argv[1], file], env={**os.environ, **more}).returncode
        if code:
            break
sys.exit(code)
