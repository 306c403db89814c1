# SPDX-License-Identifier: ISC
"""NumPy's arguments out=, where= and initial=, beside NumPy; what is said of names that are not
there."""

import unittest

from common import Peer, needs_numpy, np, nx


@needs_numpy
class Keywords(Peer):
    def both(self, name, *args, out=None, **words):
        """One call of NumPy and one of nx, each with arrays of its own, out among them."""
        results = []
        for module in (np, nx):
            made = {k: module.asarray(v) if isinstance(v, np.ndarray) else v
                    for k, v in words.items()}
            if out is not None:
                made["out"] = module.asarray(out.copy())
            got = getattr(module, name)(
                *[module.asarray(a) if isinstance(a, np.ndarray) else a for a in args], **made)
            if out is not None:
                self.assertIs(got, made["out"])
            results.append(got)
        self.same(results[1], results[0], f"{name} {list(words)}")

    def test_elementwise(self):
        x = np.array([[0.5, -2.0, 3.25], [4, 5, -6.5]])
        y = np.array([1.5, 2.0, -1.0])
        mask = np.array([True, False, True])
        for name in ("add", "multiply", "divide", "maximum", "floor_divide", "hypot", "less"):
            out = np.full((2, 3), 9.0 if name != "less" else False)
            self.both(name, x, y, out=out)
            self.both(name, x, y, out=out, where=mask)
        for name in ("negative", "exp", "abs", "floor", "square", "isnan"):
            out = np.full((2, 2, 3), 9.0)
            self.both(name, x, out=out)
            self.both(name, x, out=out, where=mask)
        self.both("clip", x, -1, 1, out=np.zeros((2, 3), "float32"))
        self.both("matmul", x, x.T, out=np.zeros((2, 2)))
        self.both("dot", x, y, out=np.zeros(2))
        self.assertEqual(nx.add([1, 2], 3, where=[True, False]).tolist()[0], 4)

    def test_out_among_the_operands(self):
        x = nx.arange(4.0)
        view = x[1:]
        nx.multiply(view, x[:-1], out=view)
        self.assertEqual(x.tolist(), [0, 0, 2, 6])
        f = nx.jit(lambda x, y: nx.add(x, y, out=x))
        y = nx.ones(4)
        self.assertIs(f(x, y), x)
        self.assertEqual(x.tolist(), [1, 1, 3, 7])

    def test_reductions(self):
        x = np.array([[0.5, -2.0, 3.25], [4, 5, -6.5]])
        mask = np.array([[True, False, True], [False, False, True]])
        i = x.astype("int32")
        for name in ("sum", "prod", "max", "min", "mean", "std", "var", "all", "any"):
            kept = np.zeros((2, 1), bool if name in ("all", "any") else float)
            self.both(name, x, axis=1, out=kept, keepdims=True)
            if name not in ("max", "min"):
                self.both(name, x, axis=1, where=mask)
                self.both(name, i, where=mask)
                self.both(name, x, axis=1, where=mask, keepdims=True, out=kept)
        for name in ("sum", "prod", "max", "min"):
            for given in (x, i):
                self.both(name, given, axis=0, initial=2)
                self.both(name, given, axis=0, initial=2, where=mask)
                self.both(name, given, initial=-100, where=mask, keepdims=True)
            self.both(name, x[:0], axis=0, initial=2)
            self.both(name, x[:, :0], axis=1, initial=2.5, keepdims=True)
        self.both("std", x, axis=1, ddof=1, where=np.array([True, True, False]))
        for name in ("median", "cumsum", "ptp"):
            shape = x.shape if name == "cumsum" else (3,)
            self.both(name, x, axis=0, out=np.zeros(shape))

    def test_methods(self):
        x = nx.asarray([3.0, 1.0, 2.0])
        x.sort()
        self.assertEqual(x.tolist(), [1, 2, 3])
        self.assertEqual(x.compress([True, False, True]).tolist(), [1, 3])
        out = nx.zeros(())
        self.assertIs(x.sum(out=out), out)
        self.assertEqual((float(out), float(x.max(initial=9))), (6, 9))


class Refused(unittest.TestCase):
    def test_what_does_not_fit(self):
        x = nx.ones((2, 3))
        for call, kind in (
            (lambda: nx.add(x, x, out=nx.zeros((3,))), ValueError),
            (lambda: nx.add(x, x, out=nx.zeros((2, 1))), ValueError),
            (lambda: nx.add(x, x, out=nx.zeros((2, 3), dtype="int64")), TypeError),
            (lambda: nx.add(x, x, out=[0]), TypeError),
            (lambda: nx.add(x, x, where=[0, 1, 2]), TypeError),
            (lambda: nx.max(x, where=True & (x > 0)), ValueError),
            (lambda: nx.sum(x, where=x), TypeError),
            (lambda: nx.sum(x, axis=0, out=nx.zeros(2)), ValueError),
        ):
            with self.assertRaises(kind):
                call()

    def test_names(self):
        for name, near in (("trapz", "trapezoid"), ("arrray", "array"), ("in1d", "isin"),
                           ("__nothing__", "no attribute")):
            with self.assertRaisesRegex(AttributeError, near):
                getattr(nx, name)
        with self.assertRaisesRegex(AttributeError, "'sum'"):
            nx.ones(1).summ


@needs_numpy
class Ways(Peer):
    """Arguments by which NumPy's programs ask for what is done anyhow, or for another order."""

    def test_order(self):
        rng = np.random.default_rng(1)
        for shape, to in (((2, 3), (3, 2)), ((4, 1, 3), (6, 2)), ((12,), (2, -1)), ((2, 6), (-1,)),
                          ((0, 3), (3, 0)), ((3, 4), (12,)), ((2, 3, 4), (4, 3, 2))):
            a = rng.random(shape)
            for b in (a, a.T, a[::-1]):
                x = nx.asarray(b)
                for order in "CF":
                    wanted = b.reshape(to, order=order)
                    self.same(x.reshape(to, order=order), wanted)
                    self.same(x.reshape(*to, order=order), wanted)
                    self.same(nx.reshape(x, to, order), wanted)
                    self.same(nx.reshape(x, to, order=order, copy=True), wanted)
                    self.same(x.ravel(order), b.ravel(order))
                    self.same(nx.ravel(x, order=order), b.ravel(order))
                    self.same(x.flatten(order), b.flatten(order))
        x = nx.zeros((2, 3))
        x.T.reshape(6, order="F")[1] = 5
        self.assertEqual(x[0, 1].item(), 5)
        for call in (lambda: x.reshape(6, order="X"), lambda: x.ravel("K"),
                     lambda: x.reshape(5, order="F")):
            with self.assertRaises(ValueError):
                call()
        with self.assertRaises(TypeError):
            x.reshape(6, orderly="F")

    def test_kinds_of_sorts(self):
        a = np.asarray([3, 1, 2])
        for kind in (None, "quicksort", "mergesort", "heapsort", "stable"):
            x = nx.asarray(a)
            self.same(nx.sort(x, kind=kind), np.sort(a))
            self.same(x.argsort(kind=kind), a.argsort())
            x.sort(kind=kind)
            self.same(x, np.sort(a))
        with self.assertRaises(ValueError):
            nx.sort(a, kind="bubble")

    def test_others(self):
        self.same(nx.fft.fftfreq(4, 0.5), np.fft.fftfreq(4, 0.5))
        self.same(nx.fft.rfftfreq(5, 0.5), np.fft.rfftfreq(5, 0.5))
        for n in range(4):
            self.same(nx.array([[1, 2]], ndmin=n), np.array([[1, 2]], ndmin=n))
        a, b = np.asarray([[1.0, 0], [0, 1e-9], [1, 1e-9]]), np.asarray([1.0, 2, 3])
        for rcond in (None, -1, 1e-6):
            got = nx.linalg.lstsq(nx.asarray(a), nx.asarray(b), rcond=rcond)
            wanted = np.linalg.lstsq(a, b, rcond=rcond)
            self.same(got[0], wanted[0], rtol=1e-6)
            self.assertEqual(int(got.rank), wanted[2])


if __name__ == "__main__":
    unittest.main()
