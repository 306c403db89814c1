# SPDX-License-Identifier: ISC
"""Arguments at the edges of what functions take, beside NumPy: operators in place whose result has
another shape, what is not finite, what is empty, and numbers that are refused."""

import operator
import unittest
import warnings

from common import NEW, Peer, needs_numpy, np, nx


@needs_numpy
class InPlace(Peer):
    def test_results_with_more_axes_are_refused(self):
        for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
            f = getattr(operator, f"i{name}")
            for shape, other in (((2,), (1, 2)), ((2,), (1, 1)), ((1,), (2,)), ((), (1,))):
                x = nx.full(shape, 3.0)
                self.refused((ValueError, lambda m, _: f(m.full(shape, 3.0), m.ones(other))),
                             (ValueError, lambda *_: f(x, nx.ones(other))))
                self.assertEqual(x.tolist(), nx.full(shape, 3.0).tolist())
            self.same(f(nx.full((1, 2), 3.0), nx.ones(2)), f(np.full((1, 2), 3.0), np.ones(2)))
        for f in (operator.ior, operator.iand, operator.ixor, operator.ilshift, operator.irshift):
            self.refused((ValueError, lambda m, _: f(m.full((2,), 3), m.full((1, 2), 1))))

    def test_elements_take_the_dtype_of_the_result(self):
        """As NumPy's scalars: x[i] += y is x[i] = x[i] + y, whatever dtype that has."""

        def each(m, dtype):
            x = m.asarray([[1, 0, 3], [4, 5, 6]], dtype=dtype)
            numbers = [2, True] if dtype == "bool" else [2, True, 2.5, m.asarray([7])[0]]
            for i, y in enumerate(numbers):
                x[1, i % 3] += y
                x[0, -1] *= y
                if not isinstance(y, float):
                    x[0][1] |= y if dtype[0] != "f" else 1
                x[(1, m.asarray(2))] -= 1
            return x

        for dtype in ("bool", "int8", "uint8", "int64"):
            if dtype == "bool":  # NumPy has no difference of bools, but of these it has
                self.same(nx.asarray([True, False])[0] * 1, np.int64(1))
            self.same(each(nx, dtype), each(np, dtype), dtype)
            self.same(nx.jit(lambda k: each(nx, dtype) + k)(nx.zeros((), dtype=dtype)),
                      each(np, dtype), dtype)
        x = nx.asarray([1, 2, 3])
        t = u = x[1]
        t += 0.5
        self.assertEqual((t.tolist(), u.tolist(), x.tolist()), (2.5, 2, [1, 2, 3]))
        t *= 2
        self.assertEqual(t.tolist(), 5.0)
        x[1:2] += 1
        for bad in (lambda: operator.iadd(x[1:2], 2.5), lambda: operator.iadd(x[...], 2.5)):
            self.assertRaises(TypeError, bad)
        with self.assertRaises(TypeError):
            x[1] += 1j
        with self.assertRaises(OverflowError):
            nx.asarray([1], dtype="uint8")[0].__iadd__(300)
        with self.assertRaises(ValueError):
            x[0] += nx.ones(2)
        self.assertEqual(x.tolist(), [1, 3, 3])

    def test_numbers_of_captured_functions_become_arrays(self):
        def f(n, x):
            n += x
            return n

        self.assertEqual(nx.jit(f)(2, nx.ones(3)).tolist(), [3, 3, 3])


@needs_numpy
class NotFinite(Peer):
    def test_convolve_leaves_out_what_is_beside_the_vectors(self):
        rng = np.random.default_rng(3)
        odd = (np.nan, np.inf, -np.inf, 0)
        for n, k in ((10, 3), (1, 1), (40, 5), (60, 50), (1200, 110), (300, 143)):
            for dtype, rtol in (("float64", 1e-12), ("complex128", 1e-12)):
                if dtype[0] == "c":
                    odd = (np.nan, 0)  # products of infinite complex numbers have other NaNs
                x, v = (rng.uniform(-3, 3, m).astype(dtype) for m in (n, k))
                for strange in (False, True):
                    if strange:
                        v[[0, -1]] = rng.choice(odd, 2)
                        x[rng.integers(n)] = rng.choice(odd)
                    for mode in ("full", "same", "valid"):
                        with np.errstate(all="ignore"):
                            wanted = np.convolve(x, v, mode)
                            crossed = np.correlate(x, v, mode)
                        a, b = nx.asarray(x, copy=True), nx.asarray(v, copy=True)
                        self.same(nx.convolve(a, b, mode), wanted, f"{n} {k} {mode}", rtol)
                        self.same(nx.correlate(a, b, mode), crossed, f"{n} {k} {mode}", rtol)
                        if strange and n in (40, 300) and dtype == "float64":
                            f = nx.jit(lambda a, b: nx.convolve(a, b, mode))
                            self.same(f(a, b), wanted, mode, rtol)
        x = np.asarray([1, 2, 3, 4], "float16")
        v = np.asarray([np.inf, 1], "float16")
        self.same(nx.convolve(nx.asarray(x), nx.asarray(v)), np.convolve(x, v))

    def test_convolve_any_layout_and_the_shorter_one_first(self):
        rng = np.random.default_rng(5)
        for n, k in ((3, 2), (7, 4), (33, 8), (310, 131), (302, 150)):
            x, v = rng.uniform(-3, 3, 3 * n), rng.uniform(-3, 3, 2 * k)
            for cut in (np.s_[:], np.s_[::-1], np.s_[1::2]):
                a, b = (nx.asarray(y, copy=True)[:2 * m][cut] for y, m in ((x, n), (v, k)))
                c, d = x[:2 * n][cut], v[:2 * k][cut]
                for mode in ("full", "same", "valid"):
                    for f in ("convolve", "correlate"):
                        what = f"{f} {n} {k} {mode}"
                        self.same(getattr(nx, f)(a, b, mode), getattr(np, f)(c, d, mode), what)
                        self.same(getattr(nx, f)(b, a, mode), getattr(np, f)(d, c, mode), what)

    def test_nans_of_a_vector_are_one_value(self):
        x = [np.nan, 2, np.nan, 1]
        self.same(nx.unique(nx.asarray(x), axis=-1), [1, 2, np.nan], dtype=False)
        self.same(nx.unique(nx.asarray(x), axis=0, equal_nan=False), [1, 2, np.nan, np.nan],
                  dtype=False)
        lines = [[np.nan, 1], [np.nan, 1], [0, 1], [0, 1]]
        self.same(nx.unique(nx.asarray(lines), axis=0), np.unique(lines, axis=0))

    def test_covariances_of_small_floats(self):
        x = np.asarray([[3000, 400, 50000], [1, 2, 4]], "float16")
        for name in ("cov", "corrcoef"):
            got = getattr(nx, name)(nx.asarray(x))
            self.assertIs(got.dtype, nx.float32)
            self.same(got, getattr(np, name)(x), name, rtol=1e-5, dtype=False)

    def test_repetitions_below_0(self):
        for counts in ([1, -1, 2], [-1], -1, [3, -2, -1]):
            self.refused((ValueError, lambda m, a: m.repeat(a([1, 2, 3]), counts)),
                         (ValueError, lambda m, a: m.repeat(a([1, 2, 3]), a(counts))))
        self.same(nx.repeat(nx.zeros(0), nx.zeros(0, "int64")), np.zeros(0))

    def test_covariances_of_few_observations(self):
        rng = np.random.default_rng(5)
        for shape in ((1, 4), (4, 1), (1, 1), (3, 2), (5,)):
            x = rng.uniform(-1, 1, shape)
            # NumPy 1 took a row as it is
            for rows in (True, False) if NEW or shape[0] > 1 else (True,):
                n = x.shape[-1] if rows or x.ndim == 1 else x.shape[0]
                for words in ({}, {"ddof": 2}, {"ddof": 2, "aweights": rng.uniform(1, 2, n)},
                              {"ddof": 9, "fweights": [1] * n}):
                    with np.errstate(all="ignore"), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        wanted = np.cov(x, rowvar=rows, **words)
                    self.same(nx.cov(nx.asarray(x), rowvar=rows, **words), wanted,
                              f"{shape} {rows} {words}", 1e-12)

    def test_arguments_below_0(self):
        one = [1.0, 2.0, 4.0]
        self.refused((ValueError, lambda m, _: m.cov(m.asarray(one), fweights=[1, -1, 2])),
                     (ValueError, lambda m, _: m.cov(m.asarray(one), aweights=[1, -1, 2])),
                     (ValueError, lambda m, _: m.bincount(m.asarray([1]), minlength=-1)),
                     (IndexError, lambda m, _: m.put(m.zeros(0), 0, 1.0)))


@needs_numpy
class Shared(unittest.TestCase):
    def test_views_that_cannot_be_written(self):
        n = np.arange(3.0)
        view = n.view()
        view.flags.writeable = False
        for taken in (view, view[1:], np.broadcast_to(n, (2, 3)), memoryview(n).toreadonly()):
            with self.assertRaisesRegex(ValueError, "needs a copy"):
                nx.asarray(taken, copy=False)
        if NEW:  # 1.x does not export what cannot be written
            with self.assertRaisesRegex(ValueError, "needs a copy"):
                nx.from_dlpack(view, copy=False)
            y = nx.from_dlpack(view) + 1
            n[:] = 7
            self.assertEqual(y.tolist(), [1, 2, 3])
        n.flags.writeable = False
        for taken in (n, n[1:], b"abc", memoryview(b"abc"), np.asarray(nx.ones(3))):
            self.assertIs(type(nx.asarray(taken, copy=False)), nx.Array)

    def test_an_element_of_an_array_without_axes(self):
        for m in (np, nx):
            x = m.asarray(5.0)
            y, z = x[()], x[...]
            y += 1
            z += 2
            self.assertEqual((float(x), float(y)), (7, 6))
            x[()] += 1
            self.assertEqual((float(x), float(y)), (8, 6))


@needs_numpy
class Empty(Peer):
    def test_integrals_and_norms_of_nothing(self):
        norm = nx.linalg.norm  # NumPy before 2 raises for some of these
        for got, shape in ((norm(nx.zeros((0, 3)), 2), ()), (norm(nx.zeros((3, 0)), np.inf), ()),
                           (norm(nx.zeros((3, 0)), 1), ()), (norm(nx.zeros(0), np.inf), ()),
                           (norm(nx.zeros((2, 0, 3)), 2, (1, 2)), (2,)),
                           (norm(nx.zeros((0, 3)), 2, (0, 1), keepdims=True), (1, 1))):
            self.same(got, np.zeros(shape))
        integral = getattr(np, "trapezoid", None) or np.trapz
        self.same(nx.trapezoid(nx.zeros(0)), integral(np.zeros(0)))
        self.same(nx.trapezoid(nx.zeros(0), nx.zeros(0)), integral(np.zeros(0), np.zeros(0)))
        self.same(nx.trapezoid(nx.zeros((2, 0))), integral(np.zeros((2, 0))))
        self.refused((ValueError, lambda m, _: m.linalg.norm(m.zeros((0, 3)), -2)))

    def test_no_values_for_elements(self):
        def assigned(m, name, at, values):
            x = m.asarray([1.0, 2, 3])
            getattr(m, name)(x, m.asarray(at), values)
            return x

        mask, none = [True, False, True], [False] * 3
        self.refused((ValueError, lambda m, a: assigned(m, "place", mask, [])),
                     (ValueError, lambda m, a: assigned(m, "place", mask, a([]))))
        for row in (("place", none, []), ("place", mask, [7]), ("place", mask, 7),
                    ("place", mask, [7, 8, 9]), ("putmask", mask, []), ("put", [0, 1], [])):
            self.same(assigned(nx, *row), assigned(np, *row), row)


class Refused(unittest.TestCase):
    def test_random_numbers(self):
        key, nan, r = nx.random.key(0), float("nan"), nx.random
        for error, call in (
                *[(ValueError, lambda p=p: r.choice(key, 3, (2,), p=p))
                  for p in ([-1, 1, 1], [0, 0, 0], [nan, 1, 1], (1, 1, float("inf")), [1, 1, 1],
                            nx.asarray([0.2, 0.2, 0.5]), nx.ones(3) / 3.1, nx.asarray([1, 1, -1]),
                            nx.full(3, 0.334, dtype="float32"))],
                (ValueError, lambda: r.choice(key, 3, (2,), False, [0, 1, 0])),
                *[(ValueError, lambda p=p: r.choice(key, 1000, (2,), p=p))
                  for p in (nx.ones(1000), nx.arange(1000) / 499500 - 1e-9, nx.full(1000, nan))],
                (ValueError, lambda: r.choice(key, 999, (3,), False, nx.eye(1, 999)[0])),
                (OverflowError, lambda: r.fold_in(key, 2**64)),
                (OverflowError, lambda: r.fold_in(key, -(2**63) - 1)),
                *[(ValueError, lambda f=f, p=p: f(key, p)) for f in (r.bernoulli, r.geometric)
                  for p in (-0.5, 1.5, nan)],
                *[(ValueError, lambda p=p: r.binomial(key, 10, p)) for p in (-0.5, 1.5, nan, 2)],
                (ValueError, lambda: r.binomial(key, -1, 0.5)),
                (ValueError, lambda: r.geometric(key, 0)),
                (ValueError, lambda: r.poisson(key, -1)),
                (ValueError, lambda: r.poisson(key, nan)),
                (ValueError, lambda: r.randint(key, (2,), 5, 2)),
                (ValueError, lambda: r.randint(key, (2,), 5, 5)),
                (ValueError, lambda: r.integers(key, 0)),
                (OverflowError, lambda: r.key(2**64)),
                (OverflowError, lambda: r.key(-(2**63) - 1))):
            with self.assertRaises(error):
                call()

    def test_random_numbers_at_the_ends(self):
        key, r = nx.random.key(0), nx.random
        self.assertEqual(r.choice(key, 3, (2,), p=[0, 1, 0]).tolist(), [1, 1])
        thirds = nx.ones(3, dtype="float32") / 3
        sevenths = nx.ones(7, dtype="bfloat16") / 7
        for p in (thirds, thirds + 5e-5, [0.1] * 3 + [0.7 - 1e-9], sevenths):
            self.assertEqual(r.choice(key, len(p), (2,), p=p).shape, (2,))
        self.assertEqual(r.choice(key, 999, (1,), False, nx.eye(1, 999)[0]).tolist(), [0])
        weights = nx.asarray([0.0, 5])
        self.assertEqual(nx.jit(lambda p: r.choice(key, 2, (2,), p=p))(weights).tolist(), [1, 1])
        self.assertEqual([bool(r.bernoulli(key, p)) for p in (0, 1.0)], [False, True])
        self.assertEqual([int(r.binomial(key, 9, p)) for p in (0, 1)], [0, 9])
        self.assertEqual([int(r.geometric(key, 1)), int(r.poisson(key, 0))], [1, 0])
        self.assertEqual(r.binomial(key, 9, nx.asarray([1.5, 1])).tolist(), [-1, 9])
        self.assertEqual(r.randint(key, (0, 2), 5, 5).shape, (0, 2))
        self.assertEqual(r.key(-1).tolist(), r.key(2**64 - 1).tolist())
        self.assertEqual(nx.jit(lambda p: r.binomial(key, 9, p))(1.5).tolist(), -1)
        self.assertEqual(nx.jit(lambda k: r.choice(k, 2, (), p=[0, 1]))(key).tolist(), 1)

    def test_numbers_beyond_32_bits_are_folded_in_whole(self):
        key, fold = nx.random.key(3), nx.random.fold_in
        captured = nx.jit(fold)
        numbers = [0, 1, -1, 2**31, 2**32 - 1, -(2**31), 2**32, 2**32 + 1, 2**40, -(2**31) - 1,
                   -(2**40), 2**63 - 1, -(2**63), 2**63, 2**64 - 1]
        seen = {}
        for n in numbers:
            k = fold(key, n).tolist()
            seen.setdefault(tuple(k), []).append(n)
            for dtype in ("int64", "uint64"):
                if nx.iinfo(dtype).min <= n <= nx.iinfo(dtype).max:
                    x = nx.asarray(n, dtype=dtype)
                    self.assertEqual((fold(key, x).tolist(), captured(key, x).tolist()), (k, k), n)
            if n < 2**63:
                self.assertEqual(captured(key, n).tolist(), k, n)
        self.assertEqual([ns for ns in seen.values() if len(ns) > 1],
                         [[-1, 2**32 - 1], [2**31, -(2**31)], [-(2**63), 2**63]])
        self.assertEqual(fold(key, 2**40).tolist(), fold(fold(key, 0), 256).tolist())
        self.assertEqual(fold(key, 7).tolist(), fold(key, nx.asarray(7, dtype="int8")).tolist())

    def test_weights_that_sum_to_0(self):
        for w in ([0.0, 0], [1, -1], nx.zeros(2).realize(), nx.asarray([[1, 2], [0, 0]])):
            x = nx.ones((2, 2)) if isinstance(w, nx.Array) and w.ndim == 2 else nx.ones(2)
            with self.assertRaises(ZeroDivisionError):
                nx.average(x, 0 if x.ndim == 1 else 1, w)
        later = nx.zeros(2) * nx.ones(2)
        self.assertTrue(nx.isnan(nx.average(nx.ones(2), weights=later)))
        self.assertTrue(nx.isnan(nx.jit(lambda w: nx.average(nx.ones(2), weights=w))(later)))
        self.assertEqual(nx.average(nx.ones((0, 2)), 1, [1, 2]).shape, (0,))

    def test_indices_of_64_bits_without_a_sign(self):
        x, most = nx.arange(3), 2**64 - 1
        for i in ([0, most], [1, 2**63]):
            with self.assertRaisesRegex(IndexError, f"index {i[-1]} is outside") as e:
                x[nx.asarray(i, dtype="uint64")]
            self.assertEqual(e.exception.index, i[-1])
            with self.assertRaises(IndexError):
                x[nx.asarray(i, dtype="uint64") * 1].realize()
            with self.assertRaises(IndexError):
                nx.jit(lambda j: x[j])(nx.asarray(i, dtype="uint64"))


if __name__ == "__main__":
    unittest.main()
