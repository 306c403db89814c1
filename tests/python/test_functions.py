# SPDX-License-Identifier: ISC
"""Functions against NumPy's: element by element, reductions, scans, order and movement, for all
dtypes and layouts; creation, sets, products, statistics."""

import unittest

from common import DTYPES, FLOATS, NUMBERS, Peer, layouts, needs_numpy, np, nx, sample

# Functions of one operand: the dtypes that both have with one meaning, and the range of operands.
WIDE = ("int64", "float32", "float64", "complex64", "complex128")
FRACTIONAL = ("float32", "float64", "complex64", "complex128")
ONE = {
    "abs": (DTYPES, -4, 5), "negative": (NUMBERS, -4, 5), "positive": (NUMBERS, -4, 5),
    "square": (NUMBERS, -4, 5), "sign": (NUMBERS[:10], -4, 5), "sqrt": (WIDE, 0, 5),
    "exp": (WIDE, -4, 5), "exp2": (FLOATS, -4, 5), "expm1": (FRACTIONAL, -4, 5),
    "log": (WIDE, 1, 5), "log2": (FRACTIONAL, 1, 5), "log10": (FRACTIONAL, 1, 5),
    "log1p": (FRACTIONAL, 0, 5), "sin": (WIDE, -4, 5), "cos": (WIDE, -4, 5), "tan": (WIDE, -1, 1),
    "arcsin": (FRACTIONAL, -1, 1), "arccos": (FRACTIONAL, -1, 1), "arctan": (WIDE, -4, 5),
    "sinh": (WIDE, -4, 5), "cosh": (WIDE, -4, 5), "tanh": (WIDE, -4, 5),
    "arcsinh": (WIDE, -4, 5), "arccosh": (FLOATS, 1, 5), "arctanh": (FRACTIONAL, -0.9, 0.9),
    "cbrt": (FLOATS, -4, 5), "reciprocal": (FRACTIONAL, 1, 5), "floor": (FLOATS, -4, 5),
    "ceil": (FLOATS, -4, 5), "trunc": (FLOATS, -4, 5), "rint": (FLOATS, -4, 5),
    "round": (NUMBERS, -4, 5), "isnan": (DTYPES, -4, 5), "isinf": (DTYPES, -4, 5),
    "isfinite": (DTYPES, -4, 5), "signbit": (FLOATS, -4, 5), "logical_not": (DTYPES, -1, 2),
    "invert": (DTYPES[:9], -4, 5), "conj": (NUMBERS, -4, 5), "real": (NUMBERS, -4, 5),
    "imag": (NUMBERS, -4, 5), "deg2rad": (FLOATS, -4, 5), "rad2deg": (FLOATS, -4, 5),
    "sinc": (FLOATS, -4, 5), "nan_to_num": (FLOATS, -4, 5), "angle": (WIDE[3:], -4, 5),
    "fabs": (FLOATS, -4, 5),
}
TWO = {
    "add": DTYPES, "subtract": NUMBERS, "multiply": DTYPES, "divide": WIDE,
    "floor_divide": NUMBERS[:10], "remainder": NUMBERS[:10], "fmod": NUMBERS[:10],
    "maximum": DTYPES, "minimum": DTYPES, "fmax": FLOATS, "fmin": FLOATS, "equal": DTYPES,
    "not_equal": DTYPES, "less": DTYPES, "less_equal": DTYPES, "greater": DTYPES,
    "greater_equal": DTYPES, "logical_and": DTYPES, "logical_or": DTYPES, "logical_xor": DTYPES,
    "bitwise_and": DTYPES[:9], "bitwise_or": DTYPES[:9], "bitwise_xor": DTYPES[:9],
    "left_shift": NUMBERS[4:8], "right_shift": NUMBERS[4:8], "arctan2": FLOATS, "hypot": FLOATS,
    "logaddexp": FLOATS, "logaddexp2": FLOATS, "copysign": FLOATS, "nextafter": FLOATS,
}
REDUCTIONS = ("sum", "prod", "max", "min", "mean", "var", "std", "all", "any", "count_nonzero",
              "ptp")




@needs_numpy
class Elementwise(Peer):
    def test_one_operand(self):
        rng = np.random.default_rng(1)
        for name, (dtypes, low, high) in ONE.items():
            for dtype in dtypes:
                with self.subTest(name=name, dtype=dtype):
                    a = sample(rng, (3, 5), dtype, low, high)
                    self.same(getattr(nx, name)(nx.asarray(a)), getattr(np, name)(a), name)

    def test_two_operands(self):
        rng = np.random.default_rng(2)
        for name, dtypes in TWO.items():
            for dtype in dtypes:
                with self.subTest(name=name, dtype=dtype):
                    a, b = sample(rng, (3, 1), dtype), sample(rng, (4,), dtype, 1, 5)
                    if np.dtype(dtype).kind in "iu":
                        b = np.maximum(b, 1)
                    got = getattr(nx, name)(nx.asarray(a), nx.asarray(b))
                    self.same(got, getattr(np, name)(a, b), name)

    def test_layouts(self):
        rng = np.random.default_rng(3)
        for dtype in ("int32", "float32", "complex128", "bool"):
            for name, x, a in layouts(rng, dtype):
                with self.subTest(dtype=dtype, layout=name):
                    self.same(x + x, a + a)
                    self.same(nx.where(x != 0, x, 1) if dtype != "bool" else ~x,
                              np.where(a != 0, a, a.dtype.type(1)) if dtype != "bool" else ~a)
                    self.same(nx.abs(x), np.abs(a))

    def test_promotion(self):
        """The table of NumPy for arrays."""
        for a in DTYPES:
            for b in DTYPES:
                want = np.promote_types(a, b)
                got = nx.zeros(1, dtype=a) + nx.zeros(1, dtype=b)
                self.assertEqual(got.dtype.name, want.name, f"{a} + {b}")

    def test_numbers_are_weak(self):
        for dtype in DTYPES[1:]:
            x = nx.ones(2, dtype=dtype)
            self.assertEqual((x + 1).dtype.name, dtype)
            self.assertEqual((1 - x).dtype.name, dtype)
        self.assertEqual((nx.ones(2, dtype="float32") * 0.5).dtype.name, "float32")
        self.assertEqual((nx.ones(2, dtype="int32") * 0.5).dtype.name, "float64")
        self.assertEqual((nx.ones(2, dtype="float32") * 1j).dtype.name, "complex64")

    def test_clip(self):
        a = np.arange(-5.0, 6.0)
        x = nx.asarray(a)
        self.same(nx.clip(x, -2, 3), np.clip(a, -2, 3))
        self.same(nx.clip(x, None, 3), np.clip(a, None, 3))
        self.same(nx.clip(x, a[::-1], None), np.clip(a, a[::-1], None))


@needs_numpy
class Reductions(Peer):
    def test_all(self):
        rng = np.random.default_rng(4)
        for name in REDUCTIONS:
            for dtype in ("bool", "int8", "uint16", "int64", "float32", "float64", "complex128"):
                if dtype == "bool" and name in ("max", "min", "ptp"):
                    continue
                for layout, x, a in layouts(rng, dtype):
                    if a.size == 0 and name in ("max", "min", "ptp", "mean", "var", "std"):
                        continue
                    with self.subTest(name=name, dtype=dtype, layout=layout):
                        self.reduced(name, x, a)

    def reduced(self, name, x, a):
        wanted = getattr(np, name)(a)
        loose = name in ("sum", "prod", "mean", "var", "std") or name == "count_nonzero"
        rtol = 1e-4 if loose and "32" in a.dtype.name else None
        self.same(getattr(nx, name)(x), wanted, name, rtol, dtype=name != "count_nonzero")
        if a.ndim == 2:
            for axis in (0, -1, (0, 1)):
                wanted = getattr(np, name)(a, axis=axis, keepdims=True)
                self.same(getattr(nx, name)(x, axis=axis, keepdims=True), wanted, name, rtol)

    def test_places(self):
        rng = np.random.default_rng(5)
        for dtype in NUMBERS:
            a = sample(rng, (4, 6), dtype)
            x = nx.asarray(a)
            for name in ("argmax", "argmin"):
                self.same(getattr(nx, name)(x), getattr(np, name)(a), name)
                self.same(getattr(nx, name)(x, axis=1), getattr(np, name)(a, axis=1), name)

    def test_scans_and_differences(self):
        rng = np.random.default_rng(6)
        for dtype in ("bool", "int8", "uint32", "float64", "complex64"):
            a = sample(rng, (3, 5), dtype, 1, 3)
            x = nx.asarray(a)
            for axis in (None, 0, 1):
                self.same(nx.cumsum(x, axis), np.cumsum(a, axis))
                self.same(nx.cumprod(x, axis), np.cumprod(a, axis))
            self.same(nx.diff(x), np.diff(a))
            self.same(nx.diff(x, axis=0, n=2), np.diff(a, axis=0, n=2))
        self.same(nx.cumulative_sum(nx.arange(4), include_initial=True), [0, 0, 1, 3, 6])

    def test_statistics(self):
        rng = np.random.default_rng(7)
        a = rng.normal(size=(5, 8))
        a[1, 2] = np.nan
        x, y, b = nx.asarray(a), nx.asarray(a[2:]), a[2:]
        for name in ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanstd", "nanvar"):
            self.same(getattr(nx, name)(x, axis=1), getattr(np, name)(a, axis=1), name)
        self.same(nx.median(y, axis=1), np.median(b, axis=1))
        self.same(nx.quantile(y, [0.1, 0.7], axis=0), np.quantile(b, [0.1, 0.7], axis=0))
        self.same(nx.percentile(y, 30), np.percentile(b, 30))
        self.same(nx.average(y, 0, weights=[1, 2, 3]), np.average(b, 0, weights=[1, 2, 3]))
        self.same(nx.cov(y), np.cov(b))
        self.same(nx.corrcoef(y), np.corrcoef(b))
        self.same(nx.gradient(y, axis=1), np.gradient(b, axis=1))
        integral = getattr(np, "trapezoid", None) or np.trapz
        self.same(nx.trapezoid(y, dx=0.5), integral(b, dx=0.5))
        self.same(nx.interp(a[0], [-1.0, 0.0, 1.0], [1.0, 5.0, 2.0]),
                  np.interp(a[0], [-1.0, 0.0, 1.0], [1.0, 5.0, 2.0]))
        self.same(nx.var(y, axis=1, ddof=1), np.var(b, axis=1, ddof=1))
        self.assertTrue(nx.allclose(x, a, equal_nan=True))
        self.assertFalse(nx.allclose(x, a))

    def test_convolution(self):
        a, v = np.arange(1.0, 8.0), np.array([1.0, -2.0, 0.5, 3.0])
        for mode in ("full", "same", "valid"):
            self.same(nx.convolve(a, v, mode), np.convolve(a, v, mode), mode)
            self.same(nx.convolve(v, a, mode), np.convolve(v, a, mode), mode)
            self.same(nx.correlate(a, v, mode), np.correlate(a, v, mode), mode)


@needs_numpy
class Order(Peer):
    def test_sort(self):
        rng = np.random.default_rng(8)
        for dtype in DTYPES:
            a = sample(rng, (4, 7), dtype)
            x = nx.asarray(a)
            for axis in (None, 0, -1):
                self.same(nx.sort(x, axis), np.sort(a, axis))
                self.same(nx.argsort(x, axis), np.argsort(a, axis, kind="stable"))
            self.same(nx.sort(x, descending=True), np.sort(a)[:, ::-1])

    def test_search(self):
        a = np.array([1.0, 2.0, 2.0, 5.0, np.nan])
        v = np.array([[0.0, 2.0], [7.0, np.nan]])
        for side in ("left", "right"):
            self.same(nx.searchsorted(a, v, side=side), np.searchsorted(a, v, side=side))
        b = np.array([3, 1, 2])
        self.same(nx.searchsorted(b, [2, 3], sorter=np.argsort(b)),
                  np.searchsorted(b, [2, 3], sorter=np.argsort(b)))
        self.same(nx.digitize([0.5, 1.5], [0.0, 1.0, 2.0]), np.digitize([0.5, 1.5], [0., 1., 2.]))

    def test_top_k(self):
        a = np.array([[3, 1, 2], [9, 9, 4]])
        values, places = nx.top_k(nx.asarray(a), 2)
        self.same(values, [[3, 2], [9, 9]])
        self.same(places, [[0, 2], [0, 1]])
        self.same(nx.top_k(nx.asarray(a), 1, largest=False)[0], [[1], [4]])

    def test_sets(self):
        rng = np.random.default_rng(9)
        for dtype in DTYPES:
            a = sample(rng, (4, 5), dtype)
            a = a if dtype == "bool" else a.round()
            wanted = np.unique(a, return_index=True, return_inverse=True, return_counts=True)
            wanted = (*wanted[:2], wanted[2].reshape(a.shape), wanted[3])
            self.same(tuple(nx.unique_all(nx.asarray(a))), wanted, dtype)
        a = np.array([np.nan, 1.0, np.nan, 1.0, 0.0])
        self.same(nx.unique(a), np.unique(a))
        self.assertEqual(nx.unique_values(nx.asarray(a)).shape, (4,))
        self.same(nx.unique_values(nx.zeros(0)), np.zeros(0))
        self.same(nx.isin(nx.arange(6), [1, 4, 9]), np.isin(np.arange(6), [1, 4, 9]))
        self.same(nx.isin(nx.arange(60), np.arange(0, 60, 2)),
                  np.isin(np.arange(60), np.arange(0, 60, 2)))

    def test_counts(self):
        a = np.array([0, 3, 1, 3, 3])
        self.same(nx.bincount(nx.asarray(a)), np.bincount(a))
        self.same(nx.bincount(nx.asarray(a), minlength=7), np.bincount(a, minlength=7))
        self.same(nx.bincount(nx.asarray(a), weights=a * 0.5), np.bincount(a, weights=a * 0.5))
        b = np.array([0.0, 0.5, 1.0, 2.5, 4.0, np.nan])
        for options in ({"bins": 4, "range": (0, 4)}, {"bins": [0.0, 1.0, 4.0]}):
            self.same(nx.histogram(nx.asarray(b), **options), np.histogram(b, **options))
        self.same(nx.histogram(nx.asarray(b[:5])), np.histogram(b[:5]))
        self.same(nx.one_hot([1, 0, 5], 3), np.eye(3)[[1, 0]].tolist() + [[0.0] * 3])

    def test_nonzero(self):
        rng = np.random.default_rng(10)
        for dtype in ("bool", "int16", "float32", "complex64"):
            a = sample(rng, (3, 4), dtype, -1, 2)
            self.same(nx.nonzero(nx.asarray(a)), np.nonzero(a))
            self.same(nx.argwhere(nx.asarray(a)), np.argwhere(a))
        self.same(nx.flatnonzero([0, 2, 0, 1]), [1, 3])

    def test_take(self):
        rng = np.random.default_rng(11)
        for name, x, a in layouts(rng, "float32"):
            if a.ndim < 2 or a.size == 0:
                continue
            i = np.array([[0, -1], [2, 1]])
            for axis in (None, 0, 1):
                self.same(nx.take(x, i, axis), np.take(a, i, axis), name)
            j = np.argsort(a, axis=1)
            self.same(nx.take_along_axis(x, j, 1), np.take_along_axis(a, j, 1), name)


@needs_numpy
class Movement(Peer):
    CALLS = {
        "reshape": lambda m, x: m.reshape(x, (2, -1)) if x.size % 2 == 0 else m.ravel(x),
        "transpose": lambda m, x: m.transpose(x),
        "moveaxis": lambda m, x: m.moveaxis(x, 0, -1),
        "swapaxes": lambda m, x: m.swapaxes(x, 0, 1),
        "expand_dims": lambda m, x: m.expand_dims(x, (0, -1)),
        "squeeze": lambda m, x: m.squeeze(x[:, None]),
        "flip": lambda m, x: m.flip(x),
        "flip one": lambda m, x: m.flip(x, 1),
        "roll": lambda m, x: m.roll(x, 2),
        "roll two": lambda m, x: m.roll(x, (1, -2), (0, 1)),
        "rot90": lambda m, x: m.rot90(x),
        "rot90 back": lambda m, x: m.rot90(x, -1),
        "tile": lambda m, x: m.tile(x, (2, 1, 3)),
        "repeat": lambda m, x: m.repeat(x, 3, 1),
        "repeat all": lambda m, x: m.repeat(x, 2),
        "repeat each": lambda m, x: m.repeat(x, list(range(x.shape[0])), 0),
        "stack": lambda m, x: m.stack([x, x], 1),
        "concatenate": lambda m, x: m.concatenate([x, x[:1]]),
        "concatenate all": lambda m, x: m.concatenate([x, x[:1]], None),
        "vstack": lambda m, x: m.vstack([x, x[0] if x.shape[0] else x]),
        "hstack": lambda m, x: m.hstack([x, x]),
        "dstack": lambda m, x: m.dstack([x, x]),
        "column_stack": lambda m, x: m.column_stack([x, x]),
        "split": lambda m, x: m.array_split(x, 3),
        "split at": lambda m, x: m.split(x, [1, 2], 1),
        "tril": lambda m, x: m.tril(x, 1),
        "triu": lambda m, x: m.triu(x),
        "pad": lambda m, x: m.pad(x, ((1, 2), (0, 1))),
        "pad one": lambda m, x: m.pad(x, 1),
        "delete": lambda m, x: m.delete(x, [1, -1], 1),
        "resize": lambda m, x: m.resize(x, (3, 5)),
        "atleast_3d": lambda m, x: m.atleast_3d(x),
        "broadcast_to": lambda m, x: m.broadcast_to(x, (2, *x.shape)),
        "copy": lambda m, x: m.copy(x),
        "diag": lambda m, x: m.diag(x, 1),
        "diag of a vector": lambda m, x: m.diag(m.ravel(x), -1),
    }

    def test_all(self):
        rng = np.random.default_rng(12)
        for dtype in ("bool", "uint8", "int64", "float32", "complex128"):
            for layout, x, a in layouts(rng, dtype):
                for name, call in self.CALLS.items():
                    if a.ndim < 2:
                        continue
                    with self.subTest(name=name, dtype=dtype, layout=layout):
                        self.same(call(nx, x), call(np, a), name)

    def test_pad_modes(self):
        a = np.arange(12).reshape(3, 4)
        for mode in ("edge", "reflect", "symmetric", "wrap"):
            for width in (1, ((2, 0), (0, 3)), ((5, 2), (3, 6))):
                if mode == "wrap" and width == ((5, 2), (3, 6)):
                    continue
                self.same(nx.pad(nx.asarray(a), width, mode), np.pad(a, width, mode), mode)
        self.same(nx.pad(nx.asarray(a), 1, constant_values=((1, 2), (3, 4))),
                  np.pad(a, 1, constant_values=((1, 2), (3, 4))))

    def test_views_and_copies(self):
        x = nx.zeros((2, 3))
        for view in (nx.reshape(x, 6), nx.transpose(x), nx.flip(x), nx.expand_dims(x, 0), x[1:],
                     nx.permute_dims(x, (1, 0)), nx.diagonal(x)):
            x[...] = 0
            x[1, 1] = 5
            self.assertEqual(float(nx.sum(view)), 5.0)
        for made in (nx.positive(x), nx.copy(x), nx.reshape(x, 6, copy=True), nx.roll(x, 0, 0)):
            made[...] = 9
            self.assertEqual(float(x[1, 1]), 5.0)

    def test_creation(self):
        for args in ((5,), (2, 9, 3), (9, 2, -2), (0.0, 1.0, 0.3), (5, 0)):
            self.same(nx.arange(*args), np.arange(*args))
        for args in ((0, 1, 5), (3, -1, 7), (2.5, 2.5, 1), (0, 1, 0), (0, 1j, 4)):
            self.same(nx.linspace(*args), np.linspace(*args))
            self.same(nx.linspace(*args, endpoint=False), np.linspace(*args, endpoint=False))
        self.same(nx.linspace([0, 1], [2, 5], 4), np.linspace([0, 1], [2, 5], 4))
        self.same(nx.linspace(0, 9, 4, dtype="int32"), np.linspace(0, 9, 4, dtype="int32"))
        self.same(nx.logspace(0, 2, 5), np.logspace(0, 2, 5))
        self.same(nx.geomspace(1, 100, 5), np.geomspace(1, 100, 5))
        self.same(nx.eye(3, 4, k=-1), np.eye(3, 4, -1))
        self.same(nx.tri(3, 4, 1), np.tri(3, 4, 1))
        self.same(nx.full((2, 2), 7), np.full((2, 2), 7))
        self.same(nx.full((2, 3), [1.0, 2.0, 3.0]), np.full((2, 3), [1.0, 2.0, 3.0]))
        self.same(nx.meshgrid([1, 2], [3, 4, 5]), np.meshgrid([1, 2], [3, 4, 5]))
        self.same(nx.meshgrid([1, 2], [3, 4, 5], indexing="ij"),
                  np.meshgrid([1, 2], [3, 4, 5], indexing="ij"))
        self.same(nx.indices((2, 3)), np.indices((2, 3)))
        self.same(nx.ones_like(np.zeros((2, 1), "int8")), np.ones((2, 1), "int8"))


@needs_numpy
class Compositions(Peer):
    """The functions of NumPy that are made of others."""

    A = [[3.0, -1.5, 2.0, float("nan")], [0.25, 7.0, -0.0, -2.5]]
    B = [[5, 1, 4], [2, 2, 9]]
    CALLS = {
        "asarray": lambda m, a, b: m.ascontiguousarray(b.T),
        "sizes": lambda m, a, b: [m.asarray(m.ndim(a)), m.asarray(m.size(a, 1))],
        "frombuffer": lambda m, a, b: m.frombuffer(bytes(range(16)), "int32"),
        "fromfunction": lambda m, a, b: m.fromfunction(lambda i, j: i - j, (2, 3)),
        "diagflat": lambda m, a, b: m.diagflat(b, -1),
        "vander": lambda m, a, b: [m.vander(b[0]), m.vander(b[0], 2, increasing=True)],
        "block": lambda m, a, b: m.block([[b, b], [b[:1], b[:1]]]),
        "windows": lambda m, a, b: [w(n) for n in (1, 6) for w in
                                    (m.hanning, m.hamming, m.blackman, m.bartlett)],
        "kaiser": lambda m, a, b: [m.kaiser(7, 5.0), m.i0(a[1])],
        "float_power": lambda m, a, b: m.float_power(b, 2),
        "heaviside": lambda m, a, b: m.heaviside(a, 0.5),
        "ldexp": lambda m, a, b: m.ldexp(a, 3),
        "modf": lambda m, a, b: m.modf(a),
        "spacing": lambda m, a, b: m.spacing(a),
        "infinite": lambda m, a, b: [m.isposinf(a / 0), m.isneginf(a / 0)],
        "complex": lambda m, a, b: [m.iscomplex(b * 1j), m.isreal(b)],
        "unwrap": lambda m, a, b: m.unwrap(m.asarray([0.0, 3.0, 6.5, 12.0, -9.0])),
        "select": lambda m, a, b: m.select([b > 4, b > 1], [b, b * 10], -1),
        "choose": lambda m, a, b: m.choose(b % 2, [b, b * 10]),
        "ix_": lambda m, a, b: b[m.ix_([1, 0], [0, 2])],
        "insert": lambda m, a, b: [m.insert(b, 1, 7), m.insert(b, 2, b[:, 0], 1),
                                   m.insert(b[0], 3, [8, 9])],
        "ravel_multi_index": lambda m, a, b: m.ravel_multi_index(m.nonzero(b), (2, 3)),
        "triangles": lambda m, a, b: [*m.tril_indices(3, 1), *m.triu_indices(3, -1, 4)],
        "diag_indices": lambda m, a, b: m.diag_indices(3),
        "lexsort": lambda m, a, b: m.lexsort([b[0], b[1]]),
        "sets": lambda m, a, b: [f(b[0], b[1]) for f in
                                 (m.union1d, m.intersect1d, m.setdiff1d, m.setxor1d)],
        "partition": lambda m, a, b: m.partition(b, 1)[:, 1],
        "nan": lambda m, a, b: [m.nancumsum(a, 1), m.nancumprod(a), m.nanargmax(a),
                                m.nanargmin(a, 1)],
        "polynomials": lambda m, a, b: [m.polyval(b[0], b[1]), m.polyfit(b[0], b[1] * 1.0, 1)],
        "clear": lambda m, a, b: [m.around(a, 1), m.fix(a)],
    }

    def test_all(self):
        a, b = np.array(self.A), np.array(self.B)
        with np.errstate(all="ignore"):
            for name, call in self.CALLS.items():
                with self.subTest(name=name):
                    got = call(nx, nx.asarray(a, copy=True), nx.asarray(b, copy=True))
                    self.same(got, call(np, a, b), name, rtol=1e-11)

    def test_assigning(self):
        calls = {
            "copyto": lambda m, x: m.copyto(x, 7, where=x > 5),
            "putmask": lambda m, x: m.putmask(x, x > 5, m.asarray([1, 2, 3])),
            "place": lambda m, x: m.place(x, x > 5, m.asarray([1, 2, 3])),
            "put": lambda m, x: m.put(x, [0, -1, 4], [10, 20]),
            "put_along_axis": lambda m, x: m.put_along_axis(x, m.asarray([[1], [0], [2]]), -1, 1),
            "fill_diagonal": lambda m, x: m.fill_diagonal(x, 9),
        }
        for name, call in calls.items():
            with self.subTest(name=name):
                a = np.arange(12).reshape(3, 4)
                x = nx.asarray(a, copy=True)
                call(np, a)
                call(nx, x)
                self.same(x, a, name)

    def test_products_of_vectors(self):
        a, v = np.arange(12.0).reshape(2, 2, 3), np.arange(6.0).reshape(2, 3)
        self.same(nx.matvec(a, v), np.einsum("bij,bj->bi", a, v))
        self.same(nx.vecmat(v[:, :2], a), np.einsum("bi,bij->bj", v[:, :2], a))

    @needs_numpy
    def test_exponential_of_matrices(self):
        """In float32 beside Taylor's series in float64: of matrices with a small norm within the
        last bit of 1, which a quotient of two polynomials near 1 does not hold."""
        rng = np.random.default_rng(0)
        for n, tol in ((2, 7e-8), (5, 7e-8), (20, 7e-8), (100, 9e-8)):
            a = (rng.standard_normal((3, n, n)) * 0.1 / np.sqrt(n)).astype(np.float32)
            exact = term = np.broadcast_to(np.eye(n), a.shape)
            for k in range(1, 20):
                term = term @ a.astype(np.float64) / k
                exact = exact + term
            apart = np.asarray(nx.linalg.expm(nx.asarray(a))) - exact
            self.assertLess(np.abs(apart).max() / np.abs(exact).max(), tol)
        self.assertEqual(nx.linalg.expm(nx.zeros((3, 3))).tolist(), nx.eye(3).tolist())


class OtherDevice(unittest.TestCase):
    """What functions make themselves is on the device of their operands."""

    CALLS = {
        "tril": lambda x, i: nx.tril(x), "repeat": lambda x, i: nx.repeat(x, i, 0),
        "unique": lambda x, i: nx.unique_inverse(x), "pad": lambda x, i: nx.pad(x, 1, "edge"),
        "delete": lambda x, i: nx.delete(x, 0, 1), "mask": lambda x, i: x[x > 1],
        "rows": lambda x, i: x[i], "list": lambda x, i: x[[0, 1]], "pairs": lambda x, i: x[i, i],
        "linspace": lambda x, i: nx.linspace(x, x + 1, 3), "diag": lambda x, i: nx.diag(x[0]),
        "histogram": lambda x, i: nx.histogram(x, 4), "bincount": lambda x, i: nx.bincount(i),
        "interp": lambda x, i: nx.interp(x, [0.0, 1.0], [0.0, 1.0]),
        "clip": lambda x, i: nx.clip(x, 0, 2), "isin": lambda x, i: nx.isin(i, [1]),
        "add": lambda x, i: nx.add(x, [1, 2, 3]), "vander": lambda x, i: nx.vander(x[0]),
        "power": lambda x, i: nx.linalg.matrix_power(nx.outer(i, i), 3),
    }

    def test_all(self):
        x = nx.asarray([[3.0, 1.0, 2.0], [4.0, 0.0, 5.0]], device="interp")
        i = nx.asarray([1, 0], device="interp")
        for name, call in self.CALLS.items():
            with self.subTest(name=name):
                found = call(x, i)
                for y in found if isinstance(found, tuple) else (found,):
                    self.assertEqual(y.realize().device, "interp")
        x[x > 4] = 1
        x[[0]] = x[[1]]
        x[i, [1, 1]] = [7, 8]
        self.assertEqual(x.tolist(), [[4, 8, 1], [4, 7, 1]])


class Refused(unittest.TestCase):
    def test_arguments(self):
        x = nx.zeros((2, 3))
        cases = [
            (ValueError, lambda: nx.reshape(x, (4, -1))),
            (ValueError, lambda: nx.reshape(x, 5)),
            (ValueError, lambda: nx.reshape(nx.transpose(x), 6, copy=False)),
            (IndexError, lambda: nx.sum(x, axis=2)),
            (ValueError, lambda: nx.sum(x, axis=(0, 0))),
            (ValueError, lambda: nx.concat([])),
            (ValueError, lambda: nx.stack([x, x[0]])),
            (ValueError, lambda: nx.broadcast_to(x, (2, 2))),
            (ValueError, lambda: x + nx.zeros(4)),
            (ValueError, lambda: nx.squeeze(x, 0)),
            (ValueError, lambda: nx.arange(1, 5, 0)),
            (ValueError, lambda: nx.max(nx.zeros(0))),
            (ValueError, lambda: nx.searchsorted(x, 1.0)),
            (TypeError, lambda: nx.sqrt("two")),
            (TypeError, lambda: nx.zeros(2, dtype="int32") & 0.5),
            (TypeError, lambda: nx.bitwise_and(x, x)),
            (ValueError, lambda: nx.take_along_axis(x, [0])),
            (ValueError, lambda: nx.finfo("int32")),
            (ValueError, lambda: nx.iinfo("float32")),
            (ValueError, lambda: nx.bincount([-1])),
            (ValueError, lambda: nx.convolve([], [1.0])),
        ]
        for i, (error, call) in enumerate(cases):
            with self.subTest(i=i), self.assertRaises(error):
                call()


if __name__ == "__main__":
    unittest.main()
