# SPDX-License-Identifier: ISC
"""The element types of eight bits and less against the package ml_dtypes: casts of every value
between types of up to 16 bits, and arithmetic on every pair of values. The interpreter runs the
graphs (tests/numpy/graph_eval.c).

Usage: ml_dtypes_check.py GRAPH_EVAL. The exit status is 0 if all agree, 77 (skipped) without
ml_dtypes, else 1.
"""

import struct
import subprocess
import sys

try:
    import ml_dtypes
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed")
    sys.exit(77)

np.seterr(all="ignore")
TYPES = {
    "i4": ml_dtypes.int4,
    "u4": ml_dtypes.uint4,
    "f8e4m3": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "u16": np.uint16,
    "f32": np.float32,
}
BITS = {
    "i4": 4,
    "u4": 4,
    "f8e4m3": 8,
    "f8e5m2": 8,
    "bf16": 16,
    "f16": 16,
    "i8": 8,
    "u8": 8,
    "i16": 16,
    "u16": 16,
    "f32": 32,
}
SMALL = ["i4", "u4", "f8e4m3", "f8e5m2"]
# What is stored and cast alone, as far as this ml_dtypes has it.
STORED_NAMES = {
    "f8e4m3fnuz": ("float8_e4m3fnuz", 8),
    "f8e5m2fnuz": ("float8_e5m2fnuz", 8),
    "f8e8m0": ("float8_e8m0fnu", 8),
    "f4e2m1": ("float4_e2m1fn", 4),
}
STORED = [t for t, (name, _) in STORED_NAMES.items() if hasattr(ml_dtypes, name)]
for t in STORED:
    TYPES[t], BITS[t] = getattr(ml_dtypes, STORED_NAMES[t][0]), STORED_NAMES[t][1]


def is_float(t):
    return "f" in t


def packed(a, t):
    if BITS[t] > 4:
        return a.tobytes()
    low = np.append(a.view(np.uint8) & 15, np.uint8(0))[: (a.size + 1) // 2 * 2]
    return (low[0::2] | low[1::2] << 4).astype(np.uint8).tobytes()


def unpacked(data, t, n):
    if BITS[t] > 4:
        return np.frombuffer(data, TYPES[t], n)
    b = np.frombuffer(data, np.uint8)
    if is_float(t):
        return np.stack([b & 15, b >> 4], 1).reshape(-1)[:n].view(TYPES[t])
    halves = np.stack([b & 15, b >> 4], 1).reshape(-1)[:n].astype(np.int16)
    return (
        np.where((t == "i4") & (halves > 7), halves - 16, halves).astype(np.int8).astype(TYPES[t])
    )


def every_value(t):
    if t == "f32":
        return np.concatenate(
            [
                every_value(s).astype(np.float32) * np.float32(f)
                for s in SMALL[2:] + ["f16", "bf16"] + STORED
                for f in (1, 1 + 2.0**-20, 1 - 2.0**-20, 1.0625, 1.125, 0.9375)
            ]
        )
    if BITS[t] == 4 and is_float(t):
        return np.arange(16).astype(np.uint8).view(TYPES[t])
    if BITS[t] == 4:
        return (
            np.arange(16).astype(np.int8).astype(TYPES["u4"])
            if t == "u4"
            else np.arange(-8, 8).astype(TYPES["i4"])
        )
    bits = np.arange(1 << BITS[t], dtype=np.uint16)
    return (bits.astype(np.uint8) if BITS[t] == 8 else bits).view(TYPES[t])


def cast_reference(x, a, b):
    if is_float(a) and not is_float(b):  # ml_dtypes leaves open what is out of range
        low, high = (
            (-1 << BITS[b] - 1, (1 << BITS[b] - 1) - 1) if b[0] == "i" else (0, (1 << BITS[b]) - 1)
        )
        y = np.trunc(x.astype(np.float64))
        return np.where(np.isnan(y), 0, np.clip(y, low, high)).astype(np.int64).astype(TYPES[b])
    if not is_float(a) and not is_float(b):
        y = x.astype(np.int64)
        if BITS[b] == 4:
            y = (y & 15) - (16 * ((y & 15) > 7) if b == "i4" else 0)
        return y.astype(TYPES[b])
    return x.astype(np.float32).astype(TYPES[b])


def is_told(x, a, b):
    """Where ml_dtypes says what a cast gives. The sign of the zero that f4e2m1 makes of a NaN is
    its source's, inverted (ours is -0); and between the two least scales it rounds up, however
    near the lower one is."""
    if b == "f4e2m1" and is_float(a):
        return ~np.isnan(x.astype(np.float32))
    if b == "f8e8m0" and is_float(a):
        wide = x.astype(np.float32)
        return ~((wide > 2.0**-127) & (wide < 1.5 * 2.0**-127))
    return np.ones(x.shape, bool)


def run(program, text, inputs):
    data = b"".join(inputs)
    request = struct.pack("=I", len(text)) + text.encode() + struct.pack("=II", 0, len(data)) + data
    done = subprocess.run([program], input=request, capture_output=True, check=True).stdout
    (status,) = struct.unpack_from("=i", done)
    if status:
        raise RuntimeError(done[8:].decode())
    return done[4:]


def compare(label, got, want, t):
    x, y = got.astype(np.float64), want.astype(np.float64)
    wrong = ~((x == y) & (np.signbit(x) == np.signbit(y)) | np.isnan(x) & np.isnan(y))
    if wrong.any():
        i = int(np.argmax(wrong))
        print(f"{label}: {int(wrong.sum())} of {x.size} differ; element {i} is {x[i]}, not {y[i]}")
    return int(wrong.any())


def main():
    faults = graphs = 0
    for a in TYPES:
        x = every_value(a)
        for b in [b for b in TYPES if {a, b} & {*SMALL, *STORED}]:
            text = (
                f"nxir 2\ngraph @c(%x: {a}[{x.size}]) -> (%y) "
                f"{{\n %y = cast %x : {b}[{x.size}]\n}}\n"
            )
            got = unpacked(run(sys.argv[1], text, [packed(x, a)]), b, x.size)
            told = is_told(x, a, b)
            faults += compare(f"cast {a} {b}", got[told], cast_reference(x, a, b)[told], b)
            graphs += 1
    for t in SMALL:
        v = every_value(t)
        x, y = np.repeat(v, v.size), np.tile(v, v.size)
        for word, f in {
            "add": np.add,
            "sub": np.subtract,
            "mul": np.multiply,
            "div": np.divide,
        }.items():
            if word == "div" and not is_float(t):
                continue
            n = x.size
            text = (
                f"nxir 2\ngraph @b(%x: {t}[{n}], %y: {t}[{n}]) -> (%z) "
                f"{{\n %z = {word} %x, %y\n}}\n"
            )
            got = unpacked(run(sys.argv[1], text, [packed(x, t), packed(y, t)]), t, n)
            wide = (
                (lambda z: z.astype(np.float32)) if is_float(t) else (lambda z: z.astype(np.int64))
            )
            want = f(wide(x), wide(y))
            want = want.astype(TYPES[t]) if is_float(t) else cast_reference(want, "i16", t)
            faults += compare(f"{word} {t}", got, want, t)
            graphs += 1
    print(f"{graphs} graphs, {faults} of them wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
