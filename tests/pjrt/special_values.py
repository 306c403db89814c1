# SPDX-License-Identifier: ISC
"""Operations whose results are exact, or exact ones rounded once, in JAX on the plugin: all 256 or
65536 values of floats of 8 and 16 bits, and pairs of all of 8 bits, or of extremes, zeros of both
signs, infinities, NaN, subnormals. What is expected is computed by NumPy in float64 (all sums that
are not exact there are of numbers too far apart to matter), and rounded once by ml_dtypes; integers
wrap, and floats become the nearest integers that there are. Run as with_jax.py says."""

import sys

import with_jax

FLOATS = (
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e3m4", "float8_e4m3b11fnuz",
    "float8_e4m3fnuz", "float8_e5m2fnuz", "float16", "bfloat16",
)  # fmt: skip
INTEGERS = ("int8", "uint8", "int32", "uint32")
WANTED_UNARY = ("neg", "abs", "sign", "floor", "ceil", "round", "round_even", "sqrt", "is_finite")
WANTED_BINARY = (
    "add", "sub", "mul", "div", "rem", "max", "min", "eq", "ne", "lt", "le", "gt", "ge",
)  # fmt: skip


def run(_library):
    import jax
    import jax.numpy as jnp
    import ml_dtypes
    import numpy as np
    from jax import lax

    np.seterr(all="ignore")
    half_away = lambda x: np.where(np.abs(x) < 2.0**52, np.trunc(x + np.copysign(0.5, x)), x)
    number = {
        "neg": np.negative, "abs": np.abs, "sign": np.sign, "floor": np.floor, "ceil": np.ceil,
        "round": half_away, "round_even": np.rint, "sqrt": np.sqrt, "is_finite": np.isfinite,
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "rem": np.fmod,
        "max": np.maximum, "min": np.minimum, "eq": np.equal, "ne": np.not_equal, "lt": np.less,
        "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    }  # fmt: skip
    operation = {n: getattr(lax, n) for n in number if n != "round_even"}
    operation["round_even"] = lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    faults, count = [], 0

    def all_of(dtype):
        bits = 8 * np.dtype(dtype).itemsize
        return np.arange(1 << bits, dtype=f"uint{bits}").view(dtype)

    def special(dtype):
        info = ml_dtypes.finfo(dtype)
        least, small, top = (
            float(v) for v in (info.smallest_subnormal, info.tiny, info.max)
        )  # fmt: skip
        v = [0, least, small, small - least, small * 3, 1, 1 + float(info.eps), 0.5, 1.5, 2.5, 3, 7,
             100, 127.5, 255, 32768, 65504, 2.0**31, 2.0**63, 1 / 3, top, np.inf, np.nan]
        return np.array(v + [-a for a in v], "float64").astype(dtype)

    def integers(dtype):
        i = np.iinfo(dtype)
        v = (i.min, i.min + 1, i.min // 2, -33, -8, -2, -1, 0, 1, 2, 3, 7, 31, 32, 33, 100,
             i.max // 2, i.max - 1, i.max)  # fmt: skip
        return np.array(sorted({a for a in v if i.min <= a <= i.max})).astype(dtype)

    def to_integer(x, dtype):
        i = np.iinfo(dtype)
        return np.clip(np.nan_to_num(np.trunc(x), nan=0), i.min, i.max).astype(dtype)

    def compare(what, got, want, zeros=True):
        nonlocal count
        got, count = np.asarray(got), count + want.size
        if got.dtype != want.dtype or got.shape != want.shape:
            faults.append(f"{what}: {got.dtype} {got.shape}, not {want.dtype} {want.shape}")
            return
        if want.dtype.kind in "biu":
            wrong = got != want
        else:
            a, b = got.astype("float64"), want.astype("float64")
            wrong = ~((a == b) | (np.isnan(a) & np.isnan(b)))
            if zeros:
                wrong |= (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
        if wrong.any():
            at = int(np.argmax(wrong))
            faults.append(f"{what}: {wrong.sum()} faults, at {at} {got[at]}, not {want[at]}")

    def rounded(y, dtype):
        return y if y.dtype == bool else y.astype(dtype)

    def floats(dtype):
        x = all_of(dtype)
        s = x if x.size == 256 else special(dtype)
        a, b = np.repeat(s, s.size), np.tile(s, s.size)

        @jax.jit
        def program(x, a, b):
            return ([operation[n](x) for n in WANTED_UNARY],
                    [lax.convert_element_type(x, t) for t in FLOATS + INTEGERS],
                    [operation[n](a, b) for n in WANTED_BINARY])  # fmt: skip

        unary, casts, binary = program(jnp.asarray(x), jnp.asarray(a), jnp.asarray(b))
        wide, left, right = (v.astype("float64") for v in (x, a, b))
        for n, got in zip(WANTED_UNARY, unary):
            compare(f"{n} {dtype}", got, rounded(number[n](wide), dtype), n != "sign")
        for t, got in zip(FLOATS + INTEGERS, casts):
            want = to_integer(wide, t) if t in INTEGERS else wide.astype(t)
            compare(f"{dtype} to {t}", got, want)
        for n, got in zip(WANTED_BINARY, binary):
            want = rounded(number[n](left, right), dtype)
            compare(f"{n} {dtype}", got, want, n not in ("max", "min"))

    def whole(dtype):
        s = integers(dtype)
        a, b = np.repeat(s, s.size), np.tile(s, s.size)
        binary = jax.jit(lambda a, b: [operation[n](a, b) for n in WANTED_BINARY])(
            jnp.asarray(a), jnp.asarray(b)
        )
        by = np.where(b == 0, 1, b).astype("int64")
        quotient = (a.astype("int64") - np.fmod(a.astype("int64"), by)) // by
        own = {"div": np.where(b == 0, -1, quotient),  # as XLA
               "rem": np.where(b == 0, a, np.fmod(a.astype("int64"), by))}  # fmt: skip
        for n, got in zip(WANTED_BINARY, binary):
            want = own[n] if n in own else number[n](a, b)
            compare(f"{n} {dtype}", got, rounded(want, dtype))
        casts = jax.jit(lambda a: [lax.convert_element_type(a, t) for t in FLOATS + INTEGERS])(
            jnp.asarray(s)
        )
        for t, got in zip(FLOATS + INTEGERS, casts):
            compare(f"{dtype} to {t}", got, s.astype("float64").astype(t) if t in FLOATS
                    else s.astype(t))  # fmt: skip

    for dtype in FLOATS:
        floats(dtype)
    for dtype in INTEGERS:
        whole(dtype)
    print("\n".join(faults))
    print(f"{count} results, {len(faults)} operations with faults")
    return bool(faults)


if __name__ == "__main__":
    with_jax.begin(run, last="results, 0 operations with faults")
