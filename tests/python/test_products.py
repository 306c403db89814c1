# SPDX-License-Identifier: ISC
"""Products, einsum, linear algebra and Fourier transforms against NumPy, and random numbers."""

import unittest

from common import Peer, needs_numpy, np, nx, sample

EINSUM = [
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)), ("ij->ji", (3, 4)),
    ("ij->", (3, 4)), ("ii", (4, 4)), ("ii->i", (4, 4)), ("iij->j", (3, 3, 2)), ("i,i", (5,), (5,)),
    ("i,j", (3,), (4,)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bij,jk->bik", (2, 3, 4), (4, 5)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)), ("...i->...", (2, 3)),
    ("i...,i...", (3, 2), (3,)), ("ij,j->i", (3, 0), (0,)),
    ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5)), ("ab,ab,ab->a", (2, 3), (2, 3), (2, 3)),
    ("abc,cd,bd->ad", (2, 3, 4), (4, 5), (3, 5)), ("ij,kj->ikj", (2, 3), (4, 3)),
    ("ijk->kij", (2, 3, 4)), ("ba", (2, 3)), ("i,ij,j", (3,), (3, 4), (4,)),
    ("ij,jk->ik", (1, 4), (4, 5)), ("ij,ij->ij", (3, 1), (3, 4)), (",i->i", (), (3,)),
]


@needs_numpy
class Products(Peer):
    def test_einsum(self):
        rng = np.random.default_rng(1)
        for dtype in ("float64", "int64", "complex128"):
            for text, *shapes in EINSUM:
                with self.subTest(text=text, dtype=dtype):
                    operands = [sample(rng, s, dtype) for s in shapes]
                    self.same(nx.einsum(text, *operands), np.einsum(text, *operands), text)
        a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
        self.same(nx.einsum(a, [0, 1], b, [1, 2], [0, 2]), a @ b)
        self.same(nx.einsum(a, [0, 1], b, [1, 2]), a @ b)

    def test_products(self):
        rng = np.random.default_rng(2)
        for dtype in ("int32", "float32", "complex128"):
            a, b = sample(rng, (3, 4), dtype), sample(rng, (4, 2), dtype)
            c, v = sample(rng, (2, 4, 3), dtype), sample(rng, (4,), dtype)
            self.same(nx.matmul(a, b), a @ b)
            self.same(nx.dot(a, c), np.dot(a, c))
            self.same(nx.dot(a, v), np.dot(a, v))
            self.same(nx.inner(a, v), np.inner(a, v))
            self.same(nx.vdot(v, v), np.vdot(v, v))
            self.same(nx.outer(v, a), np.outer(v, a))
            self.same(nx.kron(a, b), np.kron(a, b))
            pairs = ((1, 2), (1, 0))
            self.same(nx.tensordot(c, a, axes=pairs), np.tensordot(c, a, pairs))
            self.same(nx.cross(a[:, :3], a[:, 1:]), np.cross(a[:, :3], a[:, 1:]))
            self.same(nx.trace(nx.asarray(a)), np.trace(a), dtype=dtype != "int32")

    def test_refused(self):
        for text, shapes in (("ij,jk", [(2, 3)]), ("ij", [(2,)]), ("ij->k", [(2, 3)]),
                             ("ii", [(2, 3)]), ("ij,jk", [(2, 3), (4, 5)]), ("i1", [(2, 3)])):
            with self.subTest(text=text), self.assertRaises(ValueError):
                nx.einsum(text, *[nx.zeros(s) for s in shapes])


@needs_numpy
class LinearAlgebra(Peer):
    def setUp(self):
        rng = np.random.default_rng(3)
        self.a = rng.normal(size=(2, 4, 4))
        self.s = self.a @ self.a.swapaxes(-1, -2) + np.eye(4)
        self.b = rng.normal(size=(2, 4, 3))
        self.w = rng.normal(size=(5, 3))

    def test_functions(self):
        a, s, b, w = self.a, self.s, self.b, self.w
        self.same(nx.linalg.solve(a, b), np.linalg.solve(a, b), rtol=1e-9)
        self.same(nx.linalg.inv(a), np.linalg.inv(a), rtol=1e-9)
        self.same(nx.linalg.det(a), np.linalg.det(a), rtol=1e-9)
        self.same(tuple(nx.linalg.slogdet(a)), tuple(np.linalg.slogdet(a)), rtol=1e-9)
        self.same(nx.linalg.cholesky(s), np.linalg.cholesky(s), rtol=1e-9)
        self.same(nx.linalg.cholesky(s, upper=True).mT, np.linalg.cholesky(s), rtol=1e-9)
        self.same(nx.linalg.eigvalsh(s), np.linalg.eigvalsh(s), rtol=1e-9)
        self.same(nx.linalg.svdvals(a), np.linalg.svd(a, compute_uv=False), rtol=1e-9)
        self.same(nx.linalg.pinv(w), np.linalg.pinv(w), rtol=1e-9)
        self.same(nx.linalg.matrix_rank(a), np.linalg.matrix_rank(a))
        self.same(nx.linalg.matrix_power(a, -2), np.linalg.matrix_power(a, -2), rtol=1e-8)
        self.same(nx.linalg.matrix_power(np.arange(4).reshape(2, 2), 3),
                  np.linalg.matrix_power(np.arange(4).reshape(2, 2), 3))
        self.same(nx.linalg.lstsq(w, w[:, 0]).x, np.linalg.lstsq(w, w[:, 0], rcond=None)[0],
                  rtol=1e-9)
        self.same(nx.linalg.multi_dot([w, w.T, w]), np.linalg.multi_dot([w, w.T, w]), rtol=1e-9)
        self.same(nx.linalg.cond(a), np.linalg.cond(a), rtol=1e-8)

    def test_factors(self):
        x = nx.asarray(self.a)
        q, r = nx.linalg.qr(x)
        self.same(q @ r, self.a, rtol=1e-9)
        u, s, vh = nx.linalg.svd(x)
        self.same(u @ (s[..., None] * vh), self.a, rtol=1e-9)
        values, vectors = nx.linalg.eigh(self.s)
        self.same(vectors @ (values[..., None] * vectors.mT), self.s, rtol=1e-9)
        values, vectors = nx.linalg.eig(x)
        self.same(x @ vectors, np.asarray(vectors * values[:, None, :]), rtol=1e-8)
        factors = nx.linalg.lu(x)
        self.same(x @ nx.linalg.lu_solve(factors, self.b), self.b, rtol=1e-8)

    def test_norms(self):
        w = self.w
        for ord in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
            self.same(nx.linalg.norm(w, ord), np.linalg.norm(w, ord), str(ord), rtol=1e-9)
        for ord in (None, 0, 1, 2.5, np.inf, -np.inf):
            self.same(nx.linalg.norm(w, ord, 1), np.linalg.norm(w, ord, 1), str(ord), rtol=1e-9)

    def test_failures(self):
        with self.assertRaises(nx.LinAlgError):
            nx.linalg.inv(nx.zeros((2, 2))).realize()
        with self.assertRaises(ValueError):
            nx.linalg.cholesky(nx.zeros((2, 3)))


@needs_numpy
class Fourier(Peer):
    def test_transforms(self):
        rng = np.random.default_rng(4)
        z = sample(rng, (3, 6), "complex128")
        a = z.real.copy()
        for norm in ("backward", "ortho", "forward"):
            for n in (None, 4, 9):
                for name in ("fft", "ifft", "hfft", "irfft"):
                    self.same(getattr(nx.fft, name)(z, n=n, norm=norm),
                              getattr(np.fft, name)(z, n=n, norm=norm), name)
                for name in ("rfft", "ihfft"):
                    self.same(getattr(nx.fft, name)(a, n=n, axis=0, norm=norm),
                              getattr(np.fft, name)(a, n=n, axis=0, norm=norm), name)
            for name in ("fftn", "ifftn", "irfftn", "fft2"):
                self.same(getattr(nx.fft, name)(z, s=(2, 7), axes=(0, 1), norm=norm),
                          getattr(np.fft, name)(z, s=(2, 7), axes=(0, 1), norm=norm), name)
            self.same(nx.fft.rfftn(a, norm=norm), np.fft.rfftn(a, norm=norm))

    def test_frequencies(self):
        for n in (1, 4, 5):
            self.same(nx.fft.fftfreq(n, d=0.5), np.fft.fftfreq(n, 0.5))
            self.same(nx.fft.rfftfreq(n, d=0.5), np.fft.rfftfreq(n, 0.5))
        a = np.arange(15).reshape(3, 5)
        self.same(nx.fft.fftshift(a), np.fft.fftshift(a))
        self.same(nx.fft.ifftshift(a, axes=1), np.fft.ifftshift(a, axes=1))
        with self.assertRaises(ValueError):
            nx.fft.fft(a, norm="other")


class Random(unittest.TestCase):
    def test_keys(self):
        key = nx.random.key(7)
        self.assertEqual(key.tolist(), [0, 7])
        self.assertEqual(nx.random.split(key).shape, (2, 2))
        a, b = nx.random.split(key)
        self.assertNotEqual(nx.random.uniform(a).tolist(), nx.random.uniform(b).tolist())
        self.assertEqual(nx.random.uniform(a, 3).tolist(), nx.random.uniform(a, (3,)).tolist())
        self.assertNotEqual(nx.random.fold_in(key, 1).tolist(), nx.random.fold_in(key, 2).tolist())

    def test_distributions(self):
        """Means of many numbers."""
        key, n = nx.random.key(1), 4000
        means = {
            "uniform": (0.5, ()), "normal": (0.0, ()), "exponential": (1.0, ()),
            "gumbel": (0.5772, ()), "laplace": (0.0, ()), "logistic": (0.0, ()),
            "gamma": (2.0, (2.0,)), "beta": (0.25, (1.0, 3.0)), "chi_square": (3.0, (3,)),
            "student_t": (0.0, (9.0,)), "poisson": (4.0, (4.0,)), "binomial": (3.0, (10, 0.3)),
            "geometric": (4.0, (0.25,)), "bernoulli": (0.3, (0.3,)),
            "truncated_normal": (0.0, (-1.0, 1.0)),
        }
        for name, (mean, parameters) in means.items():
            with self.subTest(name=name):
                x = getattr(nx.random, name)(key, *parameters, shape=(n,))
                self.assertEqual(x.shape, (n,))
                self.assertAlmostEqual(float(nx.mean(x)), mean, delta=0.15)

    def test_numbers_of_things(self):
        key = nx.random.key(2)
        x = nx.random.integers(key, 2, 5, (1000,))
        self.assertEqual((int(nx.min(x)), int(nx.max(x)), x.dtype.name), (2, 4, "int64"))
        self.assertEqual(sorted(nx.random.permutation(key, 9).tolist()), list(range(9)))
        chosen = nx.random.choice(key, 9, (9,), replace=False)
        self.assertEqual(sorted(chosen.tolist()), list(range(9)))
        self.assertEqual(nx.random.choice(key, nx.asarray([5.0, 6.0]), (4,), p=[0, 1]).tolist(),
                         [6.0] * 4)
        self.assertEqual(nx.random.categorical(key, [[0.0, -nx.inf]] * 3).tolist(), [0, 0, 0])
        self.assertEqual(nx.random.dirichlet(key, [1.0, 2.0], (5,)).shape, (5, 2))
        with self.assertRaises(ValueError):
            nx.random.normal(nx.zeros(3, dtype="uint32"), 2)


@needs_numpy
class WithItsTranspose(Peer):
    """A matrix times its own transpose is made by halves: with the bits of a product of two."""

    SHAPES = ((97, 30), (130, 64), (200, 24), (300, 301), (520, 100), (120, 4000), (700, 5))

    def test_bits(self):
        rng = np.random.default_rng(11)
        for dtype in ("float32", "float64"):
            for shape in self.SHAPES:
                a = rng.normal(size=shape).astype(dtype)
                a[3, 2], a[50, 1] = np.nan, np.inf
                x, y = nx.asarray(a, copy=True), nx.asarray(a, copy=True)
                for view in (lambda x: x, lambda x: x.T, lambda x: x[9:, :-1], lambda x: x[::-1]):
                    self.equal(view(x) @ view(x).T, view(x) @ view(y).T, f"{dtype} {shape}")

    def test_batches_and_epilogues(self):
        rng = np.random.default_rng(12)
        a = rng.normal(size=(3, 150, 40))
        x, y = nx.asarray(a, copy=True), nx.asarray(a, copy=True)
        self.equal(x @ x.mT, x @ y.mT, "batches")
        self.equal(x[::2] @ x[::2].mT, x[::2] @ y[::2].mT, "every other one")
        self.equal(x[:1] @ x.mT, x[:1] @ y.mT, "one and others")
        self.equal(nx.exp(x @ x.mT * 0.1), nx.exp(x @ y.mT * 0.1), "with an epilogue")
        self.equal(x[0] @ x[1].T, y[0] @ x[1].T, "two of one array")
        z = x[0][:, :30]
        self.equal(z @ x[0][:, 10:].T, y[0][:, :30] @ x[0][:, 10:].T, "parts that overlap")
        f = nx.jit(lambda x: nx.einsum("ij,kj->ik", x, x))
        self.equal(f(x[1]), x[1] @ y[1].T, "captured")

    def equal(self, got, wanted, what):
        nx.realize(got, wanted)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(wanted), what)


if __name__ == "__main__":
    unittest.main()
