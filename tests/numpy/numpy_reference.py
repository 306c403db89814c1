# SPDX-License-Identifier: ISC
"""What operations must give, in NumPy (tests/numpy/numpy_ops.py asks): element types that NumPy
lacks, nasty values, a reference for each operation where docs/contract.md differs from NumPy, the
order of reductions of docs/numerics.md, and the comparison of results. Ends the process with status
77 (skipped) without NumPy.
"""

import math
import sys
from fractions import Fraction

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

np.seterr(all="ignore")
rng = np.random.default_rng(20240611)

INTS = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]
FLOATS = ["f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"]
ALL = ["bool"] + INTS + FLOATS
STORAGE = {
    "bool": np.uint8,
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "u16": np.uint16,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
    "f16": np.float16,
    "bf16": np.uint16,
    "f8e4m3": np.uint8,
    "f8e5m2": np.uint8,
    "f32": np.float32,
    "f64": np.float64,
}
BITS = {t: np.dtype(STORAGE[t]).itemsize * 8 for t in ALL}
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def dense(a):
    return np.array(a, order="C")


def is_float(t):
    return t in FLOATS


def is_small(t):
    return t in ("f8e4m3", "f8e5m2", "f16", "bf16")


# ---- eight-bit floats: the table of their 256 values, searched


def value_of_f8(bits, t):
    digits, bias = (3, 7) if t == "f8e4m3" else (2, 15)
    field, fraction, sign = (
        bits >> digits & (127 >> digits),
        bits & ((1 << digits) - 1),
        -1.0 if bits & 128 else 1.0,
    )
    if t == "f8e4m3" and bits & 127 == 127:
        return math.nan
    if t == "f8e5m2" and field == 31:
        return math.nan if fraction else sign * math.inf
    return sign * math.ldexp(
        fraction + (1 << digits if field else 0), max(field, 1) - bias - digits
    )


F8 = {
    t: np.array([value_of_f8(b, t) for b in range(256)], np.float32) for t in ("f8e4m3", "f8e5m2")
}


def round_f8(x, t):
    """To the nearest value of the table, of two the one with even bits; past the largest as if
    there were one more."""
    x = np.asarray(x, np.float64)
    largest, beyond, nan = (0x7E, 0x7F, 0x7F) if t == "f8e4m3" else (0x7B, 0x7C, 0x7E)
    table = F8[t][: largest + 1].astype(np.float64)
    table = np.append(table, 2 * table[-1] - table[-2])
    m = np.minimum(np.where(np.isnan(x), 0.0, np.abs(x)), 1e30)
    high = np.minimum(np.searchsorted(table, m), len(table) - 1)
    low = np.maximum(high - 1, 0)
    down, up = m - table[low], table[high] - m
    bits = np.where((down < up) | ((down == up) & (low % 2 == 0)), low, high)
    bits = np.where(np.isnan(x), nan, np.where(m >= table[-1], beyond, bits))
    return (bits | np.where(np.signbit(x), 128, 0)).astype(np.uint8)


# ---- bf16, and the dtype that arithmetic runs in


def round_bf16(x):
    """Doubles to bf16 bits, to nearest even, in one rounding."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        m, e = np.frexp(np.where(np.isfinite(x), x, 0.0))
        quantum = np.maximum(e - 8, -133)
        y = np.ldexp(np.rint(np.ldexp(np.where(np.isfinite(x), x, 0.0), -quantum)), quantum)
        y = np.where(np.abs(y) >= 2.0**128, np.copysign(np.inf, x), y)
        y = np.where(np.isfinite(x), np.copysign(y, x), x).astype(np.float32)
    return np.asarray(y.view(np.uint32) >> 16).astype(np.uint16)


def widen(x, t):
    """Storage to the compute dtype."""
    if t in F8:
        return F8[t][x]
    if t == "bf16":
        return np.left_shift(x.astype(np.uint32), 16, dtype=np.uint32).view(np.float32)
    return x.astype(np.float32) if t == "f16" else x


def narrow(x, t):
    """The compute dtype to storage; one rounding."""
    if t in F8:
        return round_f8(x, t)
    if t == "bf16":
        return round_bf16(x)
    return np.asarray(x).astype(STORAGE[t])


# ---- values


def limits(t):
    i = np.iinfo(STORAGE[t])
    return int(i.min), int(i.max)


def pool(t):
    """Nasty values of a dtype."""
    if t == "bool":
        return np.array([0, 1], np.uint8)
    if not is_float(t):
        low, high = limits(t)
        v = [
            0,
            1,
            2,
            3,
            5,
            7,
            10,
            31,
            63,
            high,
            high - 1,
            high // 2,
            low,
            low + 1 if low else 9,
            BITS[t],
            BITS[t] - 1,
        ]
        if low:
            v += [-1, -2, -3, -7]
        return np.array(v, dtype=object).astype(STORAGE[t])
    v = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        0.5,
        -0.5,
        1.5,
        -1.5,
        2.5,
        3.0,
        -3.0,
        0.1,
        -0.7,
        7.25,
        100.0,
        -33.5,
        1e-3,
        0.9999,
        12345.678,
        math.inf,
        -math.inf,
        math.nan,
    ]
    f = {
        "f8e4m3": [448.0, 464.0, 465.0, 2.0**-9, -(2.0**-6)],
        "f8e5m2": [57344.0, 61440.0, 61439.0, 2.0**-16, -(2.0**-14)],
        "f16": [6e-8, 6.1e-5, 65504.0, -65504.0],
        "bf16": [1e-40, 1.2e-38, 3.38e38, 257.0],
        "f32": [1e-45, 1.2e-38, 3.4e38, 1e10],
        "f64": [5e-324, 2.3e-308, 1.7e308, 1e20],
    }[t]
    return narrow(np.array(v + f, np.float64), t)


def values(t, shape, kind="any"):
    """Random elements, some of them nasty. kind: any, tame (no overflow in sums and products)."""
    n = int(np.prod(shape, dtype=np.int64))
    if t == "bool":
        return rng.integers(0, 2, n).astype(np.uint8).reshape(shape)
    if is_float(t):
        x = rng.normal(size=n) * (1.0 if kind == "tame" else rng.choice([0.01, 1.0, 30.0], n))
        x = narrow(x, t)
    elif kind == "tame":
        x = rng.integers(0, 20, n).astype(STORAGE[t])
    else:
        low, high = limits(t)
        x = np.array(
            [int(rng.integers(-(2**62), 2**62)) >> int(rng.integers(0, 60)) for _ in range(n)],
            dtype=object,
        )
        x = np.array([(int(v) - low) % (high - low + 1) + low for v in x], dtype=object).astype(
            STORAGE[t]
        )
    if kind == "any" and n:
        at = rng.integers(0, n, n // 4)
        p = pool(t)
        x[at] = p[rng.integers(0, len(p), len(at))]
    return x.reshape(shape)


# ---- elementwise: references take and give the compute dtype (storage for integers)


def wrapped(x, t):
    return (np.asarray(x)).astype(STORAGE[t])


def int_div(x, y, t):
    low, _ = limits(t)

    def one(a, b):
        if b == 0:
            return 0
        q = abs(a) // abs(b)
        return q if (a < 0) == (b < 0) else -q

    return from_ints([one(int(a), int(b)) for a, b in zip(x.flat, y.flat)], t, x.shape)


def int_mod(x, y, t):
    def one(a, b):
        if b == 0:
            return 0
        m = abs(a) % abs(b)
        return -m if a < 0 else m

    return from_ints([one(int(a), int(b)) for a, b in zip(x.flat, y.flat)], t, x.shape)


def int_pow(x, y, t):
    m = 2 ** BITS[t]

    def one(a, b):
        if b >= 0:
            return pow(a % m, b, m)
        return 1 if a == 1 else (-1 if b % 2 else 1) if a == -1 else 0

    return from_ints([one(int(a), int(b)) for a, b in zip(x.flat, y.flat)], t, x.shape)


def from_ints(ints, t, shape):
    low, high = limits(t)
    return (
        np.array([(v - low) % (high - low + 1) + low for v in ints], dtype=object)
        .astype(STORAGE[t])
        .reshape(shape)
    )


def int_floor(x, y, t, i):
    pairs = zip(x.flat, y.flat)
    return from_ints([divmod(int(a), int(b))[i] if b else 0 for a, b in pairs], t, x.shape)


def of_bits(f, x, t):  # f takes the bits as text, the highest first
    return from_ints([f(format(int(a) % 2 ** BITS[t], f"0{BITS[t]}b")) for a in x.flat], t, x.shape)


def shift(x, y, t, left):
    def one(a, b):
        inside = 0 <= b < BITS[t]
        if left:
            return a << b if inside else 0
        return a >> b if inside else (-1 if a < 0 else 0)

    return from_ints([one(int(a), int(b)) for a, b in zip(x.flat, y.flat)], t, x.shape)


def best(x, y, high):
    pick = (x > y) if high else (x < y)
    tie = (x == y) & (np.signbit(y) if high else np.signbit(x))
    return np.where(np.isnan(x) | pick | (tie & ~np.isnan(y)), x, y)


def half_away(x):
    t = np.trunc(x)
    return np.where(np.abs(x - t) >= 0.5, t + np.copysign(1.0, x), np.copysign(t, x)).astype(
        x.dtype
    )


BINARY_FLOAT = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "mod": np.fmod,
    "floor_div": np.floor_divide,
    "floor_mod": np.remainder,
    "max": lambda x, y: best(x, y, True),
    "min": lambda x, y: best(x, y, False),
}
BINARY_INT = {
    "add": lambda x, y, t: x + y,
    "sub": lambda x, y, t: x - y,
    "mul": lambda x, y, t: x * y,
    "div": int_div,
    "mod": int_mod,
    "floor_div": lambda x, y, t: int_floor(x, y, t, 0),
    "floor_mod": lambda x, y, t: int_floor(x, y, t, 1),
    "pow": int_pow,
    "max": lambda x, y, t: np.maximum(x, y),
    "min": lambda x, y, t: np.minimum(x, y),
    "and": lambda x, y, t: x & y,
    "or": lambda x, y, t: x | y,
    "xor": lambda x, y, t: x ^ y,
    "shl": lambda x, y, t: shift(x, y, t, True),
    "shr": lambda x, y, t: shift(x, y, t, False),
}
BINARY_BOOL = {
    "max": np.bitwise_or,
    "min": np.bitwise_and,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
COMPARE = {"cmpeq": np.equal, "cmpne": np.not_equal, "cmplt": np.less, "cmple": np.less_equal}
UNARY_FLOAT = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": lambda x: np.where(x == 0, 0.0, np.sign(x)),
    "recip": lambda x: x.dtype.type(1) / x,
    "sqrt": np.sqrt,
    "rint": np.rint,
    "trunc": np.trunc,
    "ceil": np.ceil,
    "floor": np.floor,
    "round": half_away,
}
UNARY_INT = {
    "neg": lambda x, t: from_ints([-int(a) for a in x.flat], t, x.shape),
    "abs": lambda x, t: from_ints([abs(int(a)) for a in x.flat], t, x.shape),
    "sign": lambda x, t: np.sign(x),
    "not": lambda x, t: ~x,
    "popcount": lambda x, t: of_bits(lambda w: w.count("1"), x, t),
    "clz": lambda x, t: of_bits(lambda w: len(w) - len(w.lstrip("0")), x, t),
    "ctz": lambda x, t: of_bits(lambda w: len(w) - len(w.rstrip("0")), x, t),
    "reverse_bits": lambda x, t: of_bits(lambda w: int(w[::-1], 2), x, t),
    "recip": lambda x, t: int_div(np.ones_like(x), x, t),
    "trunc": lambda x, t: x,
    "ceil": lambda x, t: x,
    "floor": lambda x, t: x,
    "round": lambda x, t: x,
}
erf = np.vectorize(math.erf, otypes=[np.float64])
FUNCTIONS = {
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "erf": erf,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "exp2": np.exp2,
    "log2": np.log2,
    "log10": np.log10,
    "cbrt": np.cbrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}
FUNCTIONS2 = {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot}


def higher(x, t):
    return x.astype(np.longdouble if t == "f64" else np.float64)


def rounded(y, t):
    """A result in higher precision, to f32 or f64, then to a small float."""
    y = np.asarray(y).astype(np.float64 if t == "f64" else np.float32)
    return narrow(y, t) if is_small(t) else y


# ---- casts


def to_int(x, t):
    low, high = limits(t)

    def one(v):
        v = float(v)
        return (
            0
            if v != v
            else low
            if v == -math.inf
            else high
            if v == math.inf
            else min(max(int(v), low), high)
        )

    return from_ints([one(v) for v in x.flat], t, x.shape)


def int_to_bf16(v):
    """Exact: to odd first, so that the double in between loses nothing that matters."""
    n = abs(int(v))
    extra = max(n.bit_length() - 40, 0)
    odd = (n >> extra) | (1 if n & ((1 << extra) - 1) else 0)
    return math.copysign(math.ldexp(odd, extra), int(v))


def cast_reference(x, a, b):
    if b == "bool":
        return (widen(x, a) != 0).astype(np.uint8)
    if is_float(a):
        y = widen(x, a)
        return (
            to_int(y, b)
            if not is_float(b)
            else narrow(y.astype(np.float64) if b == "bf16" or b in F8 else y, b)
        )
    if not is_float(b):
        return from_ints([int(v) for v in x.flat], b, x.shape)
    if is_small(b):
        exact = np.array([int_to_bf16(v) for v in x.flat], np.float64).reshape(x.shape)
        return narrow(exact, b)
    return x.astype(STORAGE[b])


# ---- reductions: the order of docs/numerics.md, on the first axis of a two-dimensional array


def combine(kind, x, y):
    if kind in ("sum", "prod"):
        return x + y if kind == "sum" else x * y
    if x.dtype.kind == "f":
        return best(x, y, kind == "max")
    return np.maximum(x, y) if kind == "max" else np.minimum(x, y)


def tree(kind, parts):
    while len(parts) > 1:
        parts = [
            combine(kind, parts[i], parts[i + 1]) if i + 1 < len(parts) else parts[i]
            for i in range(0, len(parts), 2)
        ]
    return parts[0]


def in_order(kind, rows):
    result = rows[0]
    for row in rows[1:]:
        result = combine(kind, result, row)
    return result


def reduce_run(kind, a, lanes):
    n = len(a)
    if n == 0:
        return np.full(
            a.shape[1:], {"sum": 0, "prod": 1, "max": np.any([]), "min": np.all([])}[kind], a.dtype
        )
    if not lanes:
        return tree(kind, [in_order(kind, a[b : b + 16]) for b in range(0, n, 16)])
    blocks = []
    for b in range(0, n, 256):
        block = a[b : b + 256]
        blocks.append([in_order(kind, block[l::16]) for l in range(min(16, len(block)))])
    while len(blocks) > 1:  # lane by lane: a lane that the last block lacks passes through
        joined = []
        for i in range(0, len(blocks), 2):
            x, y = blocks[i], blocks[i + 1] if i + 1 < len(blocks) else []
            joined.append(
                [combine(kind, x[l], y[l]) if l < len(y) else x[l] for l in range(len(x))]
            )
        blocks = joined
    part = blocks[0]
    for half in (8, 4, 2, 1):
        part = [
            combine(kind, part[l], part[l + half]) if l + half < len(part) else part[l]
            for l in range(min(half, len(part)))
        ]
    return part[0]


def reduce_reference(kind, x, axes, t):
    a = widen(x, t)
    kept = [n for n in range(x.ndim) if x.shape[n] != 1]
    runs = []
    for position, axis in enumerate(kept):
        if axis in axes:
            if runs and position and kept[position - 1] in axes:
                runs[-1].append(axis)
            else:
                runs.append([axis])
    for run in reversed(runs):
        lanes = run[-1] == kept[-1]
        others = [i for i in range(a.ndim) if i not in run]
        length = math.prod(a.shape[i] for i in run)
        moved = a.transpose(run + others).reshape((length,) + tuple(a.shape[i] for i in others))
        folded = reduce_run(kind, moved, lanes)
        a = folded.reshape([1 if i in run else a.shape[i] for i in range(a.ndim)])
    a = a.reshape([n for i, n in enumerate(x.shape) if i not in axes])
    return narrow(a, t) if is_float(t) else a.astype(STORAGE[t])


# ---- matmul: in order, rounded once a step


def round_fraction(x, digits, lowest):
    """A fraction to the nearest float of so many binary digits, ties to even; lowest: exponent of
    the smallest unit."""
    if x == 0:
        return 0.0
    n, d = abs(x.numerator), x.denominator
    e = n.bit_length() - d.bit_length()
    if Fraction(n, d) < Fraction(2) ** e:
        e -= 1
    unit = max(e - digits + 1, lowest)
    q = Fraction(n, d) / Fraction(2) ** unit
    whole, rest = divmod(q.numerator, q.denominator)
    whole += 2 * rest > q.denominator or (2 * rest == q.denominator and whole & 1)
    return math.copysign(math.ldexp(whole, unit), x.numerator)


def fused(a, b, c, t):
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    return round_fraction(exact, 53, -1074) if t == "f64" else round_fraction(exact, 24, -149)


def matmul_reference(a, b, t):
    a, b = widen(a, t), widen(b, t)
    if not is_float(t):
        return wrapped(np.matmul(a, b), t)
    out = np.zeros(a.shape[:-1] + b.shape[-1:], a.dtype)
    for index in np.ndindex(*out.shape):
        total = 0.0
        for k in range(a.shape[-1]):
            total = fused(a[index[:-1]][k], b[index[:-2]][k, index[-1]], total, t)
        out[index] = total
    return narrow(out, t)


# ---- comparison


def ordered(x, t):
    """Floats as integers of which neighbours differ by one."""
    bits = x.view(UNSIGNED[x.dtype.itemsize]).astype(object)
    top = 1 << (BITS[t] - 1)
    return np.array([int(b) if int(b) < top else top - int(b) for b in bits.flat], dtype=object)


def disagreement(got, want, t, ulps, exact_nan):
    """None, or a sentence about the first element that differs."""
    a, b = (v.reshape(-1).view(UNSIGNED[v.dtype.itemsize]) for v in (got, want))
    same = a == b
    if is_float(t) and not exact_nan:
        x, y = widen(got.reshape(-1), t), widen(want.reshape(-1), t)
        same |= np.isnan(x) & np.isnan(y)
        if ulps and not same.all():
            p, q = ordered(got.reshape(-1), t), ordered(want.reshape(-1), t)
            near = np.array([abs(int(i) - int(j)) <= ulps for i, j in zip(p, q)], bool)
            same |= near & ~np.isnan(x) & ~np.isnan(y)
    if same.all():
        return None
    i = int(np.argmin(same))
    return (
        f"{int((~same).sum())} of {same.size} elements differ; element {i} is "
        f"{widen(got, t).reshape(-1)[i]} ({int(a[i]):#x}), "
        f"not {widen(want, t).reshape(-1)[i]} ({int(b[i]):#x})"
    )
