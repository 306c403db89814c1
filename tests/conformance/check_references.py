# SPDX-License-Identifier: ISC
"""The conformance program's references against NumPy, mpmath and ml_dtypes, as far as they are
installed.

Usage: check_references.py CONFORMANCE. Functions may differ from mpmath by 2^-60 of the value;
everything else is exact.
"""

import subprocess
import sys

import numpy as np

try:
    import mpmath

    mpmath.mp.prec = 120
except ImportError:
    mpmath = None
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

TYPES = {
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "u16": np.uint16,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
}
FLOATS = {"f16": np.float16, "f32": np.float32}
if ml_dtypes:
    FLOATS.update(
        bf16=ml_dtypes.bfloat16, f8e4m3=ml_dtypes.float8_e4m3fn, f8e5m2=ml_dtypes.float8_e5m2
    )
OPERATIONS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "cmpeq": np.equal,
    "cmpne": np.not_equal,
    "cmplt": np.less,
    "cmple": np.less_equal,
    "cmpgt": np.greater,
    "cmpge": np.greater_equal,
    "floor_div": np.floor_divide,
    "floor_mod": np.remainder,
    "shl": np.left_shift,
    "shr": np.right_shift,
}


def number(text):
    """A hexadecimal float of C, also of more digits than a double has."""
    if "nan" in text or "inf" in text:
        return mpmath.mpf(text.replace("-nan", "nan"))
    digits, exponent = text.lower().replace("0x", "").split("p")
    whole, _, fraction = digits.partition(".")
    return mpmath.ldexp(mpmath.mpf(int(whole + fraction, 16)), int(exponent) - 4 * len(fraction))


def function_agrees(name, a, b, result):
    if mpmath is None:
        return None
    a, b, is_ = number(a), number(b), number(result)
    with_two = {"pow": lambda: a**b, "atan2": lambda: mpmath.atan2(a, b)}
    with_two["hypot"] = lambda: mpmath.hypot(a, b)
    with_two["logaddexp"] = lambda: mpmath.log(mpmath.exp(a) + mpmath.exp(b))
    of_one = {
        "exp2": lambda: mpmath.mpf(2) ** a,
        "log2": lambda: mpmath.log(a, 2),
        "cbrt": lambda: mpmath.cbrt(abs(a)) * mpmath.sign(a),
        "rsqrt": lambda: 1 / mpmath.sqrt(a),
        "logistic": lambda: 1 / (1 + mpmath.exp(-a)),
    }
    want = {**with_two, **of_one}.get(name, lambda: getattr(mpmath, name)(a))()
    if isinstance(want, mpmath.mpc) and want.imag != 0:
        return bool(mpmath.isnan(is_))
    return abs(is_ - want.real) <= mpmath.ldexp(abs(want.real), -60)


def integer_agrees(name, type_name, a, b, result):
    if name not in OPERATIONS:
        return None
    dtype = TYPES[type_name]
    bits = np.iinfo(dtype).bits
    values = [
        np.array([int(x, 16) & (2**bits - 1)], dtype=f"u{bits // 8}").view(dtype)
        for x in (a, b, result)
    ]
    if name in ("shl", "shr") and not 0 <= int(values[1][0]) < bits:
        return None  # NumPy leaves the others open
    return int(OPERATIONS[name](values[0], values[1])[0]) == int(values[2][0])


def cast_agrees(bits, to, result):
    if to not in FLOATS:
        return None
    x = np.array([int(bits, 16)], dtype=np.uint32).view(np.float32)
    want = x.astype(FLOATS[to])
    is_ = np.array([int(result, 16)], dtype=f"u{want.dtype.itemsize}").view(want.dtype)
    both = is_.view(f"u{want.dtype.itemsize}")[0] == want.view(f"u{want.dtype.itemsize}")[0]
    return bool(
        both or (np.isnan(is_.astype(np.float32))[0] and np.isnan(want.astype(np.float32))[0])
    )


def agrees(line):
    word = line.split()
    if word[0] == "function":
        return function_agrees(*word[1:])
    return (
        integer_agrees(*word[1:])
        if word[0] == "integer"
        else cast_agrees(word[2], word[3], word[4])
    )


def main():
    text = subprocess.run(
        [sys.argv[1], "--references"], check=True, capture_output=True, text=True
    ).stdout
    wrong, compared = [], 0
    with np.errstate(all="ignore"):
        for line in text.splitlines():
            same = agrees(line)
            compared += same is not None
            if same is False:
                wrong.append(line)
    print("\n".join(wrong[:20]))
    print(
        f"{compared} compared, {len(wrong)} wrong; mpmath: {mpmath is not None}, ml_dtypes: "
        f"{ml_dtypes is not None}"
    )
    return 1 if wrong or not compared else 0


sys.exit(main())
