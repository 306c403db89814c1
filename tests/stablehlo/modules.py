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
