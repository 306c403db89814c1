# SPDX-License-Identifier: ISC
"""The rest of NumPy's names beside NumPy's: integers and bits, NaN left out, polynomials, grids,
functions on lines, coordinates, histograms, kinds of dtypes; and what is refused."""

import unittest
import warnings

from common import FLOATS, NEW, Peer, layouts, needs_numpy, np, nx, sample

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def each_layout(rng, dtypes):
    for dtype in dtypes:
        for name, x, a in layouts(rng, dtype):
            yield f"{dtype} {name}", x, a


@needs_numpy
class Integers(Peer):
    def test_divisors_and_multiples(self):
        rng = np.random.default_rng(1)
        for dtype in INTEGERS:
            info = np.iinfo(dtype)
            a = rng.integers(info.min, info.max, (40,), dtype, endpoint=True)
            b = rng.integers(-60 if info.min else 0, 61, (40,)).astype(dtype)
            a[:4], b[:4] = [info.min, info.min, 0, 0], [0, 1, 0, info.max]
            for x, y in ((a, b), (b, b[::-1]), (a, a[::-1])):
                self.same(nx.gcd(nx.asarray(x), nx.asarray(y)), np.gcd(x, y), f"gcd {dtype}")
            self.same(nx.lcm(nx.asarray(b), nx.asarray(b[::-1])), np.lcm(b, b[::-1]), dtype)

    def test_most_steps(self):
        """Neighbours among Fibonacci's numbers take Euclid's method longest."""
        fib = [1, 1]
        while fib[-1] + fib[-2] < 2**64:
            fib.append(fib[-1] + fib[-2])
        a = np.array(fib, np.uint64)
        self.same(nx.gcd(nx.asarray(a[:-1]), nx.asarray(a[1:])), np.gcd(a[:-1], a[1:]))
        a = np.array([f for f in fib if f < 256], np.uint8)
        self.same(nx.gcd(nx.asarray(a[:-1]), nx.asarray(a[1:])), np.gcd(a[:-1], a[1:]))

    def test_layouts_and_promotion(self):
        rng = np.random.default_rng(2)
        for what, x, a in each_layout(rng, ("int32", "uint8")):
            self.same(nx.gcd(x, 6), np.gcd(a, a.dtype.type(6)), what)
            self.same(nx.lcm(x, nx.asarray([2], "int64")), np.lcm(a, np.int64([2])), what)
        self.refused((TypeError, lambda m, of: m.gcd(of([1.5]), of([2.0]))),
                     (ValueError, lambda m, of: m.lcm(of([1, 2]), of([1, 2, 3]))))

    def test_bits(self):
        rng = np.random.default_rng(3)
        for what, x, a in each_layout(rng, ("bool", "uint8", "int32")):
            for axis in (None, *range(a.ndim)):
                for order in ("big", "little"):
                    y, b = nx.packbits(x, axis, order), np.packbits(a, axis, order)
                    self.same(y, b, what)
                    for count in (None, 3, -2, 20) if b.size > 1 else (None,):
                        if axis is None or b.shape[axis]:
                            self.same(nx.unpackbits(y, axis, count, order),
                                      np.unpackbits(b, axis, count, order), f"{what} {count}")
        self.refused((TypeError, lambda m, of: m.packbits(of([1.0]))),
                     (TypeError, lambda m, of: m.unpackbits(of([1]))),
                     (ValueError, lambda m, of: m.packbits(of([1]), bitorder="middle")),
                     (ValueError, lambda m, of: m.unpackbits(of([1], "uint8"), count=-9)),
                     ((ValueError, IndexError), lambda m, of: m.packbits(of([1]), axis=2)))

    def test_frexp(self):
        rng = np.random.default_rng(4)
        for dtype in ("float16", "float32", "float64"):
            info = np.finfo(dtype)
            a = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, info.max, -info.tiny, info.tiny,
                          info.smallest_subnormal, -3 * info.smallest_subnormal, 1.0, -0.5],
                         dtype)
            self.same(nx.frexp(nx.asarray(a)), np.frexp(a), dtype)
            self.assertTrue(np.signbit(np.asarray(nx.frexp(nx.asarray(a))[0])[1]))
            bits = rng.integers(0, 2**info.bits, 2000, np.uint64).astype(f"uint{info.bits}")
            self.same(nx.frexp(nx.asarray(bits.view(dtype))), np.frexp(bits.view(dtype)), dtype)
        for what, x, a in each_layout(rng, FLOATS):
            self.same(nx.frexp(x), np.frexp(a), what)
        self.same(nx.frexp([3, 8]), np.frexp([3, 8]))
        self.refused((TypeError, lambda m, of: m.frexp(of([1j]))[0]))


@needs_numpy
class WithoutNaN(Peer):
    def cases(self, dtype):
        rng = np.random.default_rng(5)
        for name, x, a in layouts(rng, dtype):
            yield name, x, a
            if a.ndim == 2 and a.size:
                a = np.array(a)
                a[0, 1] = a[2, 2] = np.nan
                a[1] = np.nan
                yield f"{name} with NaN", nx.asarray(a), a

    def test_quantiles(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for dtype in FLOATS:
                for name, x, a in self.cases(dtype):
                    for axis in (None, 0, -1, (0, 1)) if a.ndim else (None,):
                        for keep in (False, True):
                            self.quantiles(name, x, a, axis, keep)

    def quantiles(self, name, x, a, axis, keep):
        what, words = f"{name} {axis} {keep}", {"axis": axis, "keepdims": keep}
        rtol = 2e-5 if a.dtype == np.float32 else None
        self.same(nx.nanmedian(x, **words), np.nanmedian(a, **words), what)
        if a.size == 0:
            return
        for method in ("linear", "lower", "higher", "nearest", "midpoint"):
            for q in (0.5, [0.0, 0.3125, 1.0], *[[[0.25], [0.6875]]] * NEW):
                q = a.dtype.type(q) if isinstance(q, float) else np.array(q, a.dtype)
                self.same(nx.nanquantile(x, nx.asarray(q), method=method, **words),
                          np.nanquantile(a, q, method=method, **words), f"{what} {method}",
                          rtol, NEW)
        self.same(nx.nanpercentile(x, [25, 75], **words),
                  np.nanpercentile(a, a.dtype.type([25, 75]), **words), what, rtol, NEW)

    def test_reductions(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for dtype in ("float32", "float64", "int32"):
                for name, x, a in self.cases(dtype) if dtype != "int32" else layouts(
                        np.random.default_rng(6), dtype):
                    self.reductions(f"{dtype} {name}", x, a)

    def reductions(self, what, x, a):
        for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin"):
            if a.size == 0 and name in ("nanmax", "nanmin"):
                continue
            for axis in (None, 0, 1) if a.ndim == 2 and a.size else (None,):
                self.same(getattr(nx, name)(x, axis=axis), getattr(np, name)(a, axis=axis),
                          f"{name} {what}", 1e-4 if "32" in what else None)
        self.same(nx.nancumsum(x), np.nancumsum(a), what, 1e-4)
        self.same(nx.nancumprod(x), np.nancumprod(a), what, 1e-3)

    def test_places(self):
        a = np.array([[np.nan, 3, 1], [2, np.nan, 9]])
        self.same(nx.nanargmax(nx.asarray(a), 1), np.nanargmax(a, 1))
        self.same(nx.nanargmin(nx.asarray(a)), np.nanargmin(a))
        self.refused((IndexError, lambda m, of: m.nanargmax(of([[np.nan], [1.0]]), axis=1)),
                     (IndexError, lambda m, of: m.nanargmin(of([np.nan]))))

    def test_where_and_out(self):
        a = np.array([[np.nan, 3, 1], [2, np.nan, 9]])
        m = np.array([[True, True, False], [True, True, True]])
        x, out = nx.asarray(a), nx.zeros(3)
        self.same(nx.nansum(x, axis=0, where=nx.asarray(m)), np.nansum(a, axis=0, where=m))
        self.same(nx.nanmean(x, where=nx.asarray(m)), np.nanmean(a, where=m))
        nx.nanmax(x, axis=0, out=out)
        self.same(out, np.nanmax(a, axis=0))

    def test_refused(self):
        self.refused((ValueError, lambda m, of: m.nanquantile(of([1.0]), 1.5)),
                     (ValueError, lambda m, of: m.nanpercentile(of([1.0]), -1)),
                     (ValueError, lambda m, of: m.nanquantile(of([1.0]), 0.5, method="odd")),
                     (TypeError, lambda m, of: m.nanquantile(of([1j]), 0.5)),
                     ((ValueError, IndexError), lambda m, of: m.nanmedian(of([1.0]), axis=3)))


@needs_numpy
class Polynomials(Peer):
    def test_arithmetic(self):
        rng = np.random.default_rng(7)
        for dtype in ("int32", "int64", "float32", "float64", "complex128"):
            for n, m in ((1, 1), (4, 2), (2, 5), (3, 3)):
                a, b = sample(rng, (n,), dtype, 1, 5), sample(rng, (m,), dtype, 1, 5)
                x, y = nx.asarray(a), nx.asarray(b)
                for name in ("polyadd", "polysub", "polymul"):
                    self.same(getattr(nx, name)(x, y), getattr(np, name)(a, b), f"{name} {dtype}",
                              1e-4 if dtype == "float32" else None)
                if np.dtype(dtype).kind != "i":
                    self.same(nx.polydiv(x, y), np.polydiv(a, b), f"polydiv {dtype}",
                              1e-3 if dtype == "float32" else 1e-11)
                self.same(nx.polyder(x), np.polyder(a), dtype)
                self.same(nx.polyder(x, 2), np.polyder(a, 2), dtype)
                if dtype != "float32":
                    self.same(nx.polyint(x, 2, [1, 2]), np.polyint(a, 2, [1, 2]), dtype)
                self.same(nx.polyval(x, y), np.polyval(a, b), dtype,
                          1e-3 if dtype == "float32" else None)
        self.same(nx.polymul([1, 2], 3), np.polymul([1, 2], 3))

    def test_roots(self):
        for p in ([1, -3, 2], [2.0, 0, -8, 0, 0], [1, 0, 1], [0, 0, 3, 6], [5], [0, 0], [],
                  [1j, 2, 3]):
            key = lambda z: (round(z.real, 6), round(z.imag, 6))
            got, want = nx.roots(p), np.roots(p)
            self.assertEqual(got.dtype.name, want.dtype.name, p)
            np.testing.assert_allclose(sorted(np.asarray(got), key=key), sorted(want, key=key),
                                       atol=1e-12)
        for z in ([1, 2, 3], [], [1j, -1j, 2], [1j, 2], [0.5]):
            self.same(nx.poly(z), np.poly(z), str(z))
        a = np.array([[2.0, 1], [1, 3]])
        self.same(nx.poly(a), np.poly(a))

    def test_fit(self):
        rng = np.random.default_rng(8)
        x, w = np.linspace(-1, 2, 20), rng.uniform(1, 2, 20)
        y = np.polyval([1, -2, 0.5, 3], x) + 0.01 * rng.normal(size=20)
        for words in ({}, {"w": w}, {"cov": True}, {"cov": "unscaled", "w": w}):
            ours = {k: nx.asarray(v) if k == "w" else v for k, v in words.items()}
            got, want = nx.polyfit(x, y, 3, **ours), np.polyfit(x, y, 3, **words)
            self.same(got, want, str(words), 1e-9)
        got, want = nx.polyfit(x, y, 2, full=True), np.polyfit(x, y, 2, full=True)
        self.same(got[0], want[0], rtol=1e-9)
        self.assertEqual(int(got[2]), want[2])
        self.same(nx.polyfit(x, np.stack([y, 2 * y], 1), 3),
                  np.polyfit(x, np.stack([y, 2 * y], 1), 3), rtol=1e-9)

    def test_refused(self):
        self.refused((ValueError, lambda m, of: m.roots(of([[1, 2]]))),
                     (ValueError, lambda m, of: m.poly(of([[1, 2]]))),
                     (ValueError, lambda m, of: m.polyder(of([1, 2]), -1)),
                     (ValueError, lambda m, of: m.polyint(of([1, 2]), -1)),
                     (ValueError, lambda m, of: m.polyint(of([1, 2]), 3, [1, 2])),
                     (TypeError, lambda m, of: m.polyfit(of([1.0, 2]), of([1.0, 2, 3]), 1)),
                     (ValueError, lambda m, of: m.polyfit(of([1.0, 2]), of([1.0, 2]), -1)))


@needs_numpy
class Grids(Peer):
    def test_grids(self):
        for key in (np.s_[0:4], np.s_[0:1:5j], np.s_[0:3, 1:4], np.s_[0:3, 0:1:3j],
                    np.s_[5:0:-2, 0:0], np.s_[:2, :3, 1:2]):
            self.same(nx.mgrid[key], np.mgrid[key], str(key))
            self.same(nx.ogrid[key], np.ogrid[key], str(key))

    def test_put_together(self):
        a, b = np.arange(3.0), np.arange(6).reshape(2, 3)
        for m, of in ((nx, nx.asarray), (np, np.asarray)):
            made = [m.r_[0:3, 7, of(a)], m.r_[1, 2, 3], m.r_[0:1:3j, 5], m.c_[of(a), of(a)],
                    m.r_["0", of(b), of(b)], m.r_["-1", of(b), of(b)], m.r_["0,2", of(a), of(b)],
                    m.r_["0,2,0", of(a), of(a)], m.c_[of(b), of([1, 2])], m.r_[of(b), of(b)]]
            if m is nx:
                got = made
        for g, w in zip(got, made):
            self.same(g, w)
        self.assertEqual(nx.s_[1:3, None], np.s_[1:3, None])
        self.assertEqual(nx.index_exp[2], np.index_exp[2])
        self.refused((ValueError, lambda m, of: m.r_["odd", of([1])]),
                     (ValueError, lambda m, of: m.r_[of([[1]]), of([1])]))

    def test_counting(self):
        self.assertEqual(list(nx.ndindex(2, 3)), list(np.ndindex(2, 3)))
        self.assertEqual(list(nx.ndindex((2, 0))), list(np.ndindex((2, 0))))
        self.assertEqual(list(nx.ndindex()), list(np.ndindex()))
        a = np.arange(6).reshape(2, 3)
        self.assertEqual(list(nx.ndenumerate(nx.asarray(a).T)), list(np.ndenumerate(a.T)))


@needs_numpy
class OnLines(Peer):
    def test_along_axis(self):
        rng = np.random.default_rng(9)
        for what, x, a in each_layout(rng, ("int32", "float64")):
            for axis in range(a.ndim):
                if a.size == 0:
                    continue
                for f in (lambda m, v: v.sum(), lambda m, v: v[::-1], lambda m, v: v[:2] * 2,
                          lambda m, v: m.outer(v, v)):
                    self.same(nx.apply_along_axis(lambda v: f(nx, v), axis, x),
                              np.apply_along_axis(lambda v: f(np, v), axis, a), f"{what} {axis}")
        a = rng.normal(size=(2, 3, 4))
        for axis in (0, 1, 2, -2):
            self.same(nx.apply_along_axis(lambda v, n: v[:n], axis, nx.asarray(a), 2),
                      np.apply_along_axis(lambda v, n: v[:n], axis, a, 2))
        self.same(nx.apply_over_axes(nx.sum, nx.asarray(a), [0, 2]),
                  np.apply_over_axes(np.sum, a, [0, 2]))
        self.same(nx.apply_over_axes(nx.max, nx.asarray(a), -1), np.apply_over_axes(np.max, a, -1))
        self.refused(
            (ValueError, lambda m, of: m.apply_along_axis(sum, 0, of(np.zeros((3, 0))))),
            ((ValueError, IndexError), lambda m, of: m.apply_along_axis(sum, 2, of([1]))))

    def test_piecewise(self):
        a = np.linspace(-2, 2, 9)
        for m, of in ((nx, nx.asarray), (np, np.asarray)):
            x = of(a)
            made = [m.piecewise(x, [x < 0, x > 1], [-1, 1]),
                    m.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v * v]),
                    m.piecewise(x, [x < 0, x > 1], [lambda v, s: v * s, 2, lambda v, s: s], 10.0),
                    m.piecewise(x, x > 0, [1, 5]), m.piecewise(of(3), [of(3) > 2], [7])]
            if m is nx:
                got = made
        for g, w in zip(got, made):
            self.same(g, w)
        self.refused((ValueError, lambda m, of: m.piecewise(of([1, 2]), [of([True, False])],
                                                            [1, 2, 3])))

    def test_vectorize(self):
        def f(a, b=2):
            return a + b if a > 0 else 0

        a, b = np.arange(-2, 3), np.arange(3).reshape(3, 1)
        self.same(nx.vectorize(f, otypes=["int64"])(nx.asarray(a), nx.asarray(b)),
                  np.vectorize(f, otypes=["int64"])(a, b))
        self.same(nx.vectorize(f)(nx.asarray(a[::-1])), np.vectorize(f)(a[::-1]))
        self.same(nx.vectorize(lambda v: (v, v / 2))(nx.asarray(a)),
                  np.vectorize(lambda v: (v, v / 2))(a))
        self.same(nx.vectorize(f, otypes=[float])(nx.zeros((0, 2))),
                  np.vectorize(f, otypes=[float])(np.zeros((0, 2))))
        self.refused((ValueError, lambda m, of: m.vectorize(f)(of(np.zeros(0)))),
                     (ValueError, lambda m, of: m.vectorize(f)(of([1, 2]), of([1, 2, 3]))))


@needs_numpy
class Coordinates(Peer):
    def test_triangles(self):
        a = np.arange(12).reshape(3, 4)
        x = nx.asarray(a)
        for k in (-1, 0, 2):
            self.same(nx.tril_indices_from(x, k), np.tril_indices_from(a, k))
            self.same(nx.triu_indices_from(x, k), np.triu_indices_from(a, k))
        self.same(nx.diag_indices_from(x[:, :3]), np.diag_indices_from(a[:, :3]))
        self.same(nx.mask_indices(3, nx.triu, 1), np.mask_indices(3, np.triu, 1))
        self.refused((ValueError, lambda m, of: m.tril_indices_from(of([1]))[0]),
                     (ValueError, lambda m, of: m.diag_indices_from(of(a))[0]))

    def test_numbers(self):
        shape = (3, 4, 2)
        i = np.array([[2, 0], [1, 2]])
        for mode, j in (("raise", i), ("wrap", i - 3), ("clip", i + 2)):
            for order in ("C", "F"):
                want = np.ravel_multi_index((j % 3 if mode == "raise" else j, i, i % 2), shape,
                                            mode=mode, order=order)
                self.same(nx.ravel_multi_index((j % 3 if mode == "raise" else j, i, i % 2), shape,
                                               mode=mode, order=order), want)
        self.same(nx.unravel_index(want, shape), np.unravel_index(want, shape))
        self.refused((IndexError, lambda m, of: m.unravel_index(of([24]), (3, 4, 2))),
                     (IndexError, lambda m, of: m.unravel_index(of([-1]), (3, 4, 2))),
                     (IndexError, lambda m, of: m.ravel_multi_index((of([3]), of([0])), (3, 4))),
                     (IndexError, lambda m, of: m.ravel_multi_index((of([-1]), of([0])), (3, 4))),
                     (ValueError, lambda m, of: m.ravel_multi_index((of([0]),), (3, 4))))

    def test_insert_and_delete(self):
        a = np.arange(12).reshape(3, 4)
        v = np.arange(5)
        for m, of in ((nx, nx.asarray), (np, np.asarray)):
            x, y = of(a), of(v)
            made = [m.insert(y, 1, 9), m.insert(y, 1, [7, 8, 9]), m.insert(y, [1, 3], [7, 8]),
                    m.insert(y, [3, 1, 3], [7, 8, 9]), m.insert(y, -1, 9), m.insert(y, 5, 9),
                    m.insert(x, 1, 5), m.insert(x, 1, 5, axis=0), m.insert(x, 2, [7, 8, 9], axis=1),
                    m.insert(x, [1], [[7], [8], [9]], axis=1), m.insert(x, [0, 4], 5, axis=1),
                    m.insert(x, slice(0, 2), of([[1] * 4, [2] * 4]), axis=0),
                    m.insert(y, [], []), m.delete(y, [0, -1]), m.delete(y, 2),
                    m.delete(y, [True, False, True, False, False]), m.delete(x, slice(1, 3), 1)]
            if m is nx:
                got = made
        for i, (g, w) in enumerate(zip(got, made)):
            self.same(g, w, str(i))
        self.same(nx.insert(nx.asarray(v), nx.asarray(v) % 3 == 0, [7, 8]), [7, 0, 1, 2, 8, 3, 4])
        self.refused((IndexError, lambda m, of: m.insert(of(v), 6, 1)),
                     (IndexError, lambda m, of: m.insert(of(v), [0, 9], 1)),
                     (ValueError, lambda m, of: m.insert(of(v), [0, 1], [1, 2, 3])),
                     (ValueError, lambda m, of: m.delete(of(v), [True, False])))

    def test_diagonals(self):
        for shape, wrap in (((3, 4), False), ((5, 2), False), ((7, 2), True), ((3, 3, 3), False)):
            a = np.zeros(shape)
            x = nx.asarray(a, copy=True)
            np.fill_diagonal(a, [1, 2, 3], wrap)
            nx.fill_diagonal(x, [1, 2, 3], wrap)
            self.same(x, a, str(shape))
        a = np.arange(24).reshape(2, 3, 4)
        x = nx.asarray(a)
        self.same(nx.diagonal(x), np.diagonal(a))
        self.same(nx.diagonal(x, 1, 2, 1), np.diagonal(a, 1, 2, 1))
        self.same(nx.trace(x), np.trace(a))
        self.same(nx.trace(x, -1, 1, 2), np.trace(a, -1, 1, 2))
        self.refused((ValueError, lambda m, of: m.fill_diagonal(of([1]), 2)),
                     (ValueError, lambda m, of: m.fill_diagonal(of(np.zeros((2, 3, 2))), 2)))

    def test_axes(self):
        a = np.zeros((2, 3, 4, 5))
        for axis, start in ((3, 1), (0, 4), (2, 0), (-1, -2), (1, 1)):
            self.assertEqual(nx.rollaxis(nx.asarray(a), axis, start).shape,
                             np.rollaxis(a, axis, start).shape)
        self.same(nx.row_stack([[1, 2], [3, 4]]), np.vstack([[1, 2], [3, 4]]))


@needs_numpy
class Histograms(Peer):
    def test_edges(self):
        rng = np.random.default_rng(10)
        a = rng.normal(size=200)
        for bins in (5, "auto", "sqrt", "sturges", "rice", "scott", "fd", "doane", [-1.0, 0, 2]):
            self.same(nx.histogram_bin_edges(nx.asarray(a), bins),
                      np.histogram_bin_edges(a, bins), str(bins))
            self.same(nx.histogram(nx.asarray(a), bins), np.histogram(a, bins), str(bins))
        self.same(nx.histogram_bin_edges(nx.asarray(a), "fd", (-1, 1)),
                  np.histogram_bin_edges(a, "fd", (-1, 1)))
        self.same(nx.histogram(nx.asarray(a), 5, (-1, 1), True),
                  np.histogram(a, 5, (-1, 1), True))
        self.refused((ValueError, lambda m, of: m.histogram(of(a), 0)),
                     (ValueError, lambda m, of: m.histogram(of(a), [3, 2, 1])),
                     (ValueError, lambda m, of: m.histogram(of(a), "odd")),
                     (ValueError, lambda m, of: m.histogram(of([1.0, np.nan]))))

    def test_several(self):
        rng = np.random.default_rng(11)
        a, w = rng.normal(size=(300, 3)), rng.uniform(size=300)
        x = nx.asarray(a)
        for words in ({}, {"bins": 4}, {"bins": (3, 2, [-1, 0, 1.0])}, {"density": True},
                      {"weights": w}, {"range": [(-1, 1), None, (0, 2)]}):
            ours = {k: nx.asarray(v) if k == "weights" else v for k, v in words.items()}
            got, want = nx.histogramdd(x, **ours), np.histogramdd(a, **words)
            self.same(got[0], want[0], str(words))
            self.same(got[1], want[1], str(words))
        self.same(nx.histogram2d(x[:, 0], x[:, 1], 4), np.histogram2d(a[:, 0], a[:, 1], 4))
        self.same(nx.histogram2d(x[:, 0], x[:, 1], [-1.0, 0, 1]),
                  np.histogram2d(a[:, 0], a[:, 1], [-1.0, 0, 1]))
        self.refused((ValueError, lambda m, of: m.histogramdd(of(a), (2, 3))[0]))

    def test_bins_that_fall(self):
        a = np.array([0.5, 3.0, 9.0, -1.0, 2.0])
        for bins in ([0, 2, 4], [4.0, 2, 0], [1.0]):
            for right in (False, True):
                self.same(nx.digitize(nx.asarray(a), bins, right), np.digitize(a, bins, right))
        self.refused((ValueError, lambda m, of: m.digitize(of(a), of([1, 3, 2]))))


@needs_numpy
class OthersOfNumPy(Peer):
    def test_gradient(self):
        rng = np.random.default_rng(12)
        a = rng.normal(size=(4, 5))
        x, t = nx.asarray(a), np.array([0, 1, 3, 4, 8.0])
        for spacing, words in (((), {}), ((2.0,), {}), ((2, 3), {}), ((), {"axis": 0}),
                               ((t,), {"axis": 1}), ((1.5, t), {"edge_order": 2}),
                               ((), {"edge_order": 2})):
            self.same(nx.gradient(x, *spacing, **words), np.gradient(a, *spacing, **words))
        self.refused((ValueError, lambda m, of: m.gradient(of([1.0]))),
                     (ValueError, lambda m, of: m.gradient(of([1.0, 2]), of([1.0, 2, 3]))),
                     (TypeError, lambda m, of: m.gradient(of([1.0, 2]), 1, 2)))

    def test_differences(self):
        a = np.array([[3, 1, 4], [1, 5, 9]])
        x = nx.asarray(a)
        self.same(nx.diff(x, 2), np.diff(a, 2))
        self.same(nx.diff(x, 1, 0), np.diff(a, 1, 0))
        self.same(nx.diff(x, prepend=0, append=1), np.diff(a, prepend=0, append=1))
        self.same(nx.ediff1d(x, [7], 8), np.ediff1d(a, [7], 8))
        self.refused((TypeError, lambda m, of: m.ediff1d(of([1, 2]), of([0.5]))))

    def test_covariance(self):
        rng = np.random.default_rng(13)
        a, b = rng.normal(size=(3, 8)), rng.normal(size=(2, 8))
        f, w = rng.integers(1, 4, 8), rng.uniform(size=8)
        for words in ({}, {"rowvar": False}, {"bias": True}, {"ddof": 2}, {"fweights": f},
                      {"aweights": w}, {"fweights": f, "aweights": w}):
            ours = {k: nx.asarray(v) if isinstance(v, np.ndarray) else v for k, v in words.items()}
            self.same(nx.cov(nx.asarray(a), **ours), np.cov(a, **words), str(words))
        self.same(nx.cov(nx.asarray(a), nx.asarray(b)), np.cov(a, b))
        self.same(nx.corrcoef(nx.asarray(a), nx.asarray(b)), np.corrcoef(a, b))
        self.same(nx.corrcoef(nx.asarray(a), rowvar=False), np.corrcoef(a, rowvar=False),
                  rtol=1e-11)
        self.refused((ValueError, lambda m, of: m.cov(of(a), aweights=of([1.0]))),
                     (TypeError, lambda m, of: m.cov(of(a), fweights=of(w))))

    def test_unique_slices(self):
        rng = np.random.default_rng(14)
        for dtype in ("int32", "float64"):
            a = rng.integers(0, 2, (9, 3)).astype(dtype)
            for b, axis in ((a, 0), (a.T, 1), (a, -2), (a.reshape(9, 3, 1), 0),
                            (a[:0], 0), (a[:, :0], 0)):
                words = {"return_index": True, "return_inverse": True, "return_counts": True}
                self.same(nx.unique(nx.asarray(b), axis=axis, **words),
                          np.unique(b, axis=axis, **words), f"{dtype} {b.shape}")

    def test_trimmed(self):
        a = np.array([0, 0, 1, 0, 2, 0])
        for trim in ("fb", "f", "b"):
            self.same(nx.trim_zeros(nx.asarray(a), trim), np.trim_zeros(a, trim))
        b = np.zeros((4, 5), np.int64)
        b[1:3, 2] = 1
        self.same(nx.trim_zeros(nx.asarray(b)), b[1:3, 2:3])
        self.same(nx.trim_zeros(nx.asarray(b), axis=0), b[1:3])
        self.same(nx.trim_zeros(nx.zeros(3)), np.trim_zeros(np.zeros(3)))
        self.refused((ValueError, lambda m, of: m.trim_zeros(of([1]), "x")))

    def test_complex(self):
        for a in ([3, 1, 2], np.array([3, 1], "int8"), np.array([1 + 1j, 1 - 1j])):
            self.same(nx.sort_complex(nx.asarray(a)), np.sort_complex(a))
        for a in ([1 + 1e-15j], [1 + 1e-9j], [2.5], [1 + 1e-9j, 2]):
            for tol in (100, 1e-6):
                self.same(nx.real_if_close(nx.asarray(a), tol), np.real_if_close(a, tol))

    def test_memory(self):
        a = np.arange(6.0).reshape(2, 3)
        x = nx.asfortranarray(nx.asarray(a))
        self.same(x, a)
        self.assertTrue(nx.isfortran(x))
        self.assertFalse(nx.isfortran(nx.asarray(a)))
        self.assertTrue(nx.isfortran(nx.require(nx.asarray(a), requirements="F")))
        self.same(nx.asarray_chkfinite(a), a)
        self.refused((ValueError, lambda m, of: m.asarray_chkfinite([1.0, np.inf])),
                     (ValueError, lambda m, of: m.require(a, requirements=["C", "F"])))

    def test_nan_to_num(self):
        a = np.array([np.nan, np.inf, 1.0])
        x = nx.asarray(a, copy=True)
        self.same(nx.nan_to_num(x, True, 5.0), np.nan_to_num(a, True, 5.0))
        y = nx.nan_to_num(x, False)
        self.assertIs(y, x)
        self.same(x, np.nan_to_num(a))


@needs_numpy
class Kinds(Peer):
    def test_kinds(self):
        kinds = ("generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact",
                 "floating", "complexfloating")
        for dtype in ("bool", *INTEGERS, "float16", *FLOATS, "complex64", "complex128"):
            for kind in kinds:
                self.assertEqual(nx.issubdtype(nx.dtype(dtype), getattr(nx, kind)),
                                 np.issubdtype(dtype, getattr(np, kind)), f"{dtype} {kind}")
            self.assertEqual(nx.issubdtype(dtype, float), np.issubdtype(dtype, float), dtype)
            self.assertEqual(nx.issubdtype(dtype, "int32"), np.issubdtype(dtype, "int32"))
        self.assertTrue(nx.issubdtype(nx.floating, nx.number))
        self.assertFalse(nx.issubdtype(nx.number, nx.floating))
        with self.assertRaises(TypeError):
            nx.floating()
        with self.assertRaises(TypeError):
            nx.zeros(2, dtype=nx.integer)

    def test_other_names(self):
        for name in ("bool_", "byte", "ubyte", "short", "ushort", "intc", "uintc", "int_", "uint",
                     "long", "ulong", "longlong", "ulonglong", "intp", "uintp", "half", "single",
                     "double", "csingle", "cdouble"):
            if not hasattr(np, name):  # before 2.0
                continue
            self.assertEqual(getattr(nx, name).name, np.dtype(getattr(np, name)).name, name)
        self.assertEqual(nx.euler_gamma, np.euler_gamma)

    def test_of_numbers(self):
        for v in (True, 0, 255, 256, -1, -129, 2**40, -2**40, 2**63, 1.0, 1e10, 1e300, 1j, 1e300j,
                  float("inf"), float("nan")):
            self.assertEqual(nx.min_scalar_type(v).name, np.min_scalar_type(v).name, v)
        for given in (("float32", "int8"), ("float16",), ("complex64", "float64"), ("int32",)):
            want = np.common_type(*[np.zeros(1, d) for d in given])
            self.assertEqual(nx.common_type(*[nx.zeros(1, d) for d in given]).name,
                             np.dtype(want).name)
        self.refused((TypeError, lambda m, of: m.common_type(of([True]))))
        for v in (1, 2.5, "text", b"", None, [1], np.float32(1), np.zeros(())):
            self.assertEqual(nx.isscalar(v), np.isscalar(v), v)
        self.assertFalse(nx.isscalar(nx.asarray(1)))
        self.assertEqual([nx.iterable(v) for v in ([], "a", 1)], [True, True, False])

    def test_warnings(self):
        with nx.errstate(divide="ignore", invalid="ignore"):
            self.assertEqual((nx.asarray(1.0) / 0.0).item(), float("inf"))
        self.assertEqual(set(nx.geterr()), set(np.geterr()))
        with self.assertRaises(ValueError):
            nx.errstate(all="raise")
        with self.assertRaises(TypeError):
            nx.seterr(other="ignore")


if __name__ == "__main__":
    unittest.main()
