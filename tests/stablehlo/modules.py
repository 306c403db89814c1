# SPDX-License-Identifier: ISC
"""Arrays of NumPy as text of StableHLO."""

import numpy as np

NAMES = {
    "float32": "f32", "float64": "f64", "float16": "f16", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "uint8": "ui8", "uint16": "ui16", "uint32": "ui32",
    "uint64": "ui64", "bool": "i1", "complex64": "complex<f32>", "complex128": "complex<f64>",
}


def kind(a):
    extents = "".join(f"{n}x" for n in a.shape)
    return f"tensor<{extents}{NAMES[a.dtype.name]}>"


def number(x):
    if isinstance(x, (complex, np.complexfloating)):
        return f"({number(x.real)}, {number(x.imag)})"
    if isinstance(x, (bool, np.bool_)):
        return "true" if x else "false"
    if isinstance(x, (np.floating, float)):
        x = np.asarray(x)
        bits = x.view(f"u{x.dtype.itemsize}")
        return f"0x{int(bits):0{2 * x.dtype.itemsize}X}"
    return str(x)


def dense(a):
    def lists(b):
        return number(b[()]) if b.ndim == 0 else "[" + ", ".join(lists(c) for c in b) + "]"

    return f"dense<{lists(a)}> : {kind(a)}"


def region(name, dtype):
    t = f"tensor<{NAMES[dtype]}>"
    return (f"({{\n  ^bb0(%x: {t}, %y: {t}):\n    %z = stablehlo.{name} %x, %y : {t}\n"
            f"    stablehlo.return %z : {t}\n  }})")


def constant(name, a):
    return f"  %{name} = stablehlo.constant {dense(a)}\n"


def in_steps():
    """Lists of integers in equal steps, or nearly."""
    rising, falling = np.arange(-70, 200, 3, dtype="int32"), np.arange(0, -900, -9, dtype="int64")
    return (rising, rising[::-1].copy(), falling, falling + 2**40,
            np.arange(2**31 - 200, 2**31, dtype="int64"),
            np.where(np.arange(100) == 71, 5, np.arange(100)).astype("int32"),
            (np.arange(100, dtype="int64") * 2**31).astype("int32"), np.full(80, 7, "int64"))
