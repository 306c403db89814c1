# SPDX-License-Identifier: ISC
"""What the tests of the Python package share: NumPy as the peer, arrays in many layouts, and the
comparison."""

import os
import unittest
import warnings

try:
    import numpy as np
except ImportError:
    np = None

import nx

NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
           "float64", "complex64", "complex128")
FLOATS = ("float32", "float64")
DTYPES = ("bool", *NUMBERS)

NEW = np is not None and not np.__version__.startswith("1.")  # 2.0 raises where 1.x warns

# Under a sanitizer (meson.build) what computes much, or measures time, is left out.
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
not_sanitized = unittest.skipIf(SANITIZED, "takes long under a sanitizer")
needs_numpy = unittest.skipIf(np is None, "NumPy, the peer, is not installed")


def sample(rng, shape, dtype, low=-4, high=5):
    """An array of NumPy with small numbers, of floats with parts."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "u":
        return rng.integers(0, high, shape).astype(dtype)
    if dtype.kind == "i":
        return rng.integers(low, high, shape).astype(dtype)
    x = rng.uniform(low, high, shape)
    if dtype.kind == "c":
        x = x + 1j * rng.uniform(low, high, shape)
    return np.asarray(x).astype(dtype)


def layouts(rng, dtype, shape=(3, 4)):
    """(name, array of nx, array of NumPy) of the same elements in different orders of memory."""

    def both(name, a, view):
        return name, view(nx.asarray(a, copy=True)), view(a)

    a = sample(rng, shape, dtype)
    yield both("plain", a, lambda x: x)
    yield both("transposed", sample(rng, shape[::-1], dtype), lambda x: x.T)
    yield both("sliced", sample(rng, (7, 9), dtype), lambda x: x[1:6:2, 1::2])
    yield both("flipped", a, lambda x: x[::-1, ::-1])
    row = sample(rng, (1, shape[1]), dtype)
    yield "broadcast", nx.broadcast_to(nx.asarray(row), shape), np.broadcast_to(row, shape)
    yield both("empty", sample(rng, (0, 3), dtype), lambda x: x)
    yield both("rank 0", np.asarray(a[1, 2]), lambda x: x)


class Peer(unittest.TestCase):
    """A test that compares with NumPy."""

    def same(self, got, wanted, what="", rtol=None, dtype=True):
        if isinstance(wanted, (tuple, list)):
            self.assertEqual(len(got), len(wanted), what)
            for g, w in zip(got, wanted):
                self.same(g, w, what, rtol, dtype)
            return
        wanted = np.asarray(wanted)
        self.assertIsInstance(got, nx.Array, what)
        self.assertEqual(got.shape, wanted.shape, what)
        if dtype:
            self.assertEqual(got.dtype.name, wanted.dtype.name, what)
        values = np.asarray(got)
        if wanted.dtype.kind in "fc":
            rtol = rtol or (2e-5 if wanted.dtype.name in ("float32", "complex64") else 1e-12)
            np.testing.assert_allclose(values, wanted, rtol=rtol, atol=rtol, err_msg=what)
        else:
            np.testing.assert_array_equal(values, wanted, err_msg=what)

    def refused(self, *cases):
        """Of each case NumPy raises, and so does nx, one of these errors, at the latest when the
        result is computed."""
        for errors, call in cases:
            if NEW:
                with self.assertRaises(Exception), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call(np, np.asarray)
            with self.assertRaises(errors):
                y = call(nx, nx.asarray)
                nx.realize(*(y if isinstance(y, (tuple, list)) else [y]))
