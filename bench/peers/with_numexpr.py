# SPDX-License-Identifier: ISC
"""numexpr's forms: expressions, compiled once, whose result goes to an array that exists."""

import re

import numexpr
import numpy as np
import with_numpy

EXPRESSIONS = {
    "poly": ("2*a + 3*b - a*b", "ab"),
    "tanh": ("tanh(a*b + c)", "abc"),
    "exp": ("exp(a)", "a"),
    "log": ("log(a)", "a"),
    "sin": ("sin(a)", "a"),
    "power2": ("a**2", "a"),
    "powerhalf": ("sqrt(a)", "a"),
    "power3": ("a**3", "a"),
    "sum": ("a + b", "ab"),
    "product": ("a * b", "ab"),
    "symmetric": ("a + b", "ab"),
    "stackmean": ("(a + b + c + d) * 0.25", "abcd"),
}
ABSOLUTE = "a"
for _ in range(5):
    ABSOLUTE = f"(abs({ABSOLUTE} - 0.5) * a + 0.1)"
EXPRESSIONS["chain"] = (ABSOLUTE, "a")


def evaluated(text, names, x):
    """Numbers become operands of the type of the others, since numexpr has those of f64 alone."""
    values = {}

    def name_of(match):
        name = "n" + match.group(0).replace(".", "_")
        values[name] = x[0].dtype.type(float(match.group(0)))
        return name

    if x[0].dtype == np.float32:
        text = re.sub(r"(?<![\w.*])\d+(?:\.\d+)?", name_of, text)
    arrays = dict(zip(names, x), **values)
    shape = np.broadcast_shapes(*(a.shape for a in x))
    out = np.empty(shape, x[0].dtype)
    return lambda: numexpr.evaluate(text, local_dict=arrays, global_dict={}, out=out)


def form(text, names):
    def make(*x):
        if x[0].dtype == np.complex64:
            return None  # it computes them in f64
        return evaluated(text, names, x + (x[0].T,) if len(names) > len(x) else x)

    return make


class Library(with_numpy.Library):
    forms = {name: form(*e) for name, e in EXPRESSIONS.items()}
    linalg, transforms = {}, None
