# SPDX-License-Identifier: ISC
"""NumPy's pad in all its modes, whether arrays share memory, and functions that become complex,
beside NumPy's."""

import itertools
import unittest
import warnings

from common import FLOATS, NEW, Peer, layouts, needs_numpy, np, nx, sample

WIDTHS = (0, 1, ((2, 0), (0, 3)), ((5, 2), (3, 6)), ((9, 0), (0, 11)))


@needs_numpy
class Padding(Peer):
    def modes(self):
        yield from (("edge", {}), ("reflect", {}), ("symmetric", {}), ("wrap", {}))
        for kind in ("even", "odd"):
            yield "reflect", {"reflect_type": kind}
            yield "symmetric", {"reflect_type": kind}
        for mode in ("maximum", "minimum", "mean", "median"):
            yield mode, {}
            yield mode, {"stat_length": 2}
            yield mode, {"stat_length": ((1, 2), (3, 100))}
        yield "linear_ramp", {}
        yield "linear_ramp", {"end_values": ((-7, 3), (20, 0))}
        yield "constant", {"constant_values": ((1, 2), (3, 4))}

    def test_modes(self):
        rng = np.random.default_rng(1)
        for dtype in ("int16", "float64", "complex64"):
            for name, x, a in layouts(rng, dtype):
                for (mode, words), width in itertools.product(self.modes(), WIDTHS):
                    if a.ndim != 2 or a.size == 0:
                        continue
                    if dtype[0] == "c" and mode[:2] in ("me", "ma", "mi"):
                        continue  # complex numbers have no order here
                    if mode in ("reflect", "symmetric", "wrap") and not NEW:
                        continue  # NumPy 1 repeats these otherwise
                    what = f"{dtype} {name} {mode} {words} {width}"
                    self.same(nx.pad(x, width, mode, **words), np.pad(a, width, mode, **words),
                              what, 2e-5 if "32" in dtype else None)

    def test_lines_of_one_and_axes_by_name(self):
        for mode in ("reflect", "symmetric", "edge", "wrap", "mean"):
            a = np.array([[3, 1, 2]])
            self.same(nx.pad(nx.asarray(a), 2, mode), np.pad(a, 2, mode), mode)
            if NEW:
                self.same(nx.pad(nx.asarray(a), {-1: (1, 2)}, mode),
                          np.pad(a, ((0, 0), (1, 2)), mode))
        self.same(nx.pad(nx.asarray(5.0), 3, "edge"), np.pad(5.0, 3, "edge"))
        self.assertEqual(nx.pad(nx.ones((2, 3)), 1, "empty").shape, (4, 5))

    def test_is_a_copy(self):
        for mode in ("edge", "reflect", "constant", "mean", "linear_ramp"):
            x = nx.zeros((3,))
            y = nx.pad(x, 0, mode)
            y[0] = 1
            self.assertEqual(float(x[0]), 0.0, mode)

    def test_by_a_function(self):
        def framed(line, widths, axis, words):
            if widths[0]:
                line[: widths[0]] = words.get("value", 10) + axis
            if widths[1]:
                line[-widths[1]:] = words.get("value", 10) - axis

        a = np.arange(6).reshape(2, 3)
        for width in (1, ((0, 2), (1, 0))):
            for words in ({}, {"value": 7}):
                self.same(nx.pad(nx.asarray(a), width, framed, **words),
                          np.pad(a, width, framed, **words))

    def test_captured(self):
        a = sample(np.random.default_rng(2), (5, 4), "float64")
        for mode, words in self.modes():
            f = nx.jit(lambda x, mode=mode, words=words: nx.pad(x, 3, mode, **words))
            self.same(f(nx.asarray(a)), np.pad(a, 3, mode, **words), f"{mode} {words}")

    def test_refusals(self):
        self.refused(
            (ValueError, lambda m, of: m.pad(of([1, 2]), 1, "sideways")),
            (ValueError, lambda m, of: m.pad(of([1, 2]), -1, "edge")),
            (ValueError, lambda m, of: m.pad(of([1, 2]), 1, "edge", stat_length=2)),
            (ValueError, lambda m, of: m.pad(of([1, 2]), 1, "wrap", reflect_type="odd")),
            (ValueError, lambda m, of: m.pad(of([1, 2]), 1, "maximum", stat_length=0)),
            (ValueError, lambda m, of: m.pad(of([1, 2]), 1, "mean", stat_length=-1)),
            (ValueError, lambda m, of: m.pad(of([]), 1, "reflect")),
            (ValueError, lambda m, of: m.pad(of([1, 2]), ((1, 2), (3, 4)), "edge")),
            ((TypeError, ValueError), lambda m, of: m.pad(of([1, 2]), 1.5)),
        )
        with self.assertRaisesRegex(ValueError, "reflect_type 'both'"):
            nx.pad([1, 2], 1, "reflect", reflect_type="both")
        with self.assertRaises(IndexError):
            nx.pad([1, 2], {1: 1}, "edge")


@needs_numpy
class Sharing(Peer):
    def test_random_views(self):
        rng = np.random.default_rng(3)
        a = np.arange(7 * 8 * 3).reshape(7, 8, 3)
        x = nx.asarray(a, copy=True)

        def part():
            key = []
            for n in a.shape:
                i, j = sorted(rng.integers(0, n + 1, 2))
                step = int(rng.integers(1, 4)) * (1 if rng.integers(2) else -1)
                key.append(slice(int(i), int(j)) if step > 0 else
                           slice(int(j) - 1 if j else None, int(i) - 1 if i else None, step))
                key[-1] = slice(key[-1].start, key[-1].stop, step)
            return tuple(key)

        found = set()
        for _ in range(600):
            k, q = part(), part()
            wanted = np.shares_memory(a[k], a[q])
            found.add((wanted, np.may_share_memory(a[k], a[q])))
            self.assertEqual(nx.shares_memory(x[k], x[q]), wanted, f"{k} {q}")
            self.assertEqual(nx.may_share_memory(x[k], x[q]), np.may_share_memory(a[k], a[q]))
            self.assertEqual(nx.shares_memory(x[k].T, x[q].T), wanted)
        self.assertEqual(len(found), 3)

    def test_is_what_assignments_show(self):
        x = nx.zeros((4, 6))
        views = [x[::2], x[1::2], x.T[::3], x[:, 1::3], x[::-1, ::-1], nx.reshape(x, (6, 4))[1:],
                 nx.copy(x), x + 0]
        for v, w in itertools.combinations(views, 2):
            x[...] = 0
            w[...] = 0
            v[...] = 1
            self.assertEqual(nx.shares_memory(v, w), bool(nx.any(w == 1)))

    def test_nothing_is_computed(self):
        x = nx.arange(10.0) + 1
        self.assertTrue(nx.shares_memory(x[2:], x[:3]))
        self.assertFalse(nx.shares_memory(x[2:], x[:2]))
        self.assertFalse(nx.shares_memory(x, x + 1))
        self.assertFalse(x.is_realized)

    def test_copies(self):
        """They have one memory until one of them is written, which does not show in the other."""
        x = nx.arange(4.0).realize()
        for y in (x.copy(), nx.copy(x), nx.asarray(x, copy=True)):
            self.assertFalse(nx.shares_memory(x, y))
            self.assertFalse(nx.may_share_memory(x, y[1:]))
        seen = np.asarray(x)
        self.assertTrue(nx.shares_memory(x, nx.asarray(seen, copy=False)))
        self.assertTrue(nx.shares_memory(x, seen[2:]))
        self.assertFalse(nx.shares_memory(x + 0, seen))

    def test_memory_of_others(self):
        a = np.zeros(10)
        x, y = nx.asarray(a, copy=False), nx.asarray(a[4:], copy=False)
        self.assertTrue(nx.shares_memory(x, y))
        self.assertFalse(nx.shares_memory(x[:4], y))
        self.assertTrue(nx.shares_memory(x, a))
        self.assertFalse(nx.shares_memory(nx.asarray(a, copy=True), a))
        b = a.view("int32")
        self.assertTrue(nx.shares_memory(x[:1], nx.asarray(b[1:2], copy=False)))
        self.assertFalse(nx.shares_memory(x[1:2], nx.asarray(b[1:2], copy=False)))

    def test_small_dtypes_and_captures(self):
        x = nx.zeros((8,), "int4")
        self.assertFalse(nx.shares_memory(x[::2], x[1::2]))
        self.assertTrue(nx.may_share_memory(x[::2], x[1::2]))
        seen = []
        nx.jit(lambda x: seen.append(nx.shares_memory(x[1:], x[:2])) or x + 1)(nx.ones((3,)))
        self.assertEqual(seen, [True])

    def test_work(self):
        x = nx.zeros((100, 100))
        v, w = x[::3, ::7], x[1::3, 1::7]
        with self.assertRaises(RuntimeError):
            nx.shares_memory(v, w, 1)
        self.assertFalse(nx.shares_memory(v, w))
        self.assertTrue(nx.may_share_memory(v, w))
        with self.assertRaises((TypeError, ValueError)):
            nx.shares_memory(object(), x)


@needs_numpy
class Extended(Peer):
    def test_of_one_operand(self):
        rng = np.random.default_rng(4)
        for name in ("sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"):
            for dtype in ("int64", *FLOATS, "complex64", "complex128"):
                for low, high in ((-0.9, 0.9), (0.1, 0.9), (-4, 5)):
                    for layout, x, a in layouts(rng, dtype):
                        if dtype == "int64" or a.size == 0:
                            continue
                        a = np.array(rng.uniform(low, high, a.shape)).astype(dtype)
                        x = nx.asarray(a)
                        self.same(getattr(nx.emath, name)(x), getattr(np.emath, name)(a),
                                  f"{name} {dtype} {layout} {low}", 1e-5 if "32" in dtype
                                  or "64" in dtype and dtype[0] == "c" else 1e-11)
        self.same(nx.emath.sqrt([1, -4]), np.emath.sqrt([1, -4]))
        self.same(nx.emath.sqrt([1, 4]), np.emath.sqrt([1, 4]))
        self.same(nx.emath.sqrt(-1), np.emath.sqrt(-1))
        self.same(nx.emath.log(nx.zeros((0,))), np.emath.log(np.zeros((0,))))

    def test_of_two_operands(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for x, p in (([2, 4], 2), ([2, 4], -2), ([-2, 4], 2), ([-2.0, 4], 0.5),
                         ([2, 4], [2, -1]), (-8.0, 1 / 3)):
                self.same(nx.emath.power(x, p), np.emath.power(x, p), f"{x} {p}")
            for n, x in ((2, [4, 8]), (2, [-4, 8]), (3.0, 9.0)):
                self.same(nx.emath.logn(n, x), np.emath.logn(n, x))

    def test_captured_functions_have_no_values(self):
        with self.assertRaises(nx.Unbound):
            nx.jit(nx.emath.sqrt)(nx.ones((2,)))


if __name__ == "__main__":
    unittest.main()
