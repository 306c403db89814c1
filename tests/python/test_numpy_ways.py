# SPDX-License-Identifier: ISC
"""Programs as people write them for NumPy: views that are written through, assignments that
overlap, lists beside arrays, numbers that do not fit; random ones beside NumPy, of fixed seeds."""

import random
import unittest
import warnings

from common import NEW, SANITIZED, Peer, needs_numpy, np, nx

# Each is run with `x` an array of floats, `i` of integers, `m` the module; r is compared.
# "# 2": NumPy 1 has not got that.
PROGRAMS = """
x[1:] = x[:-1]; r = x
x[:-1] = x[1:]; r = x
x[::-1] = x; r = x
x[:] = x[::-1]; r = x
x[1:] += x[:-1]; r = x
x -= x[0]; r = x
y = x.reshape(2, 3); y += y[:, 1:2]; r = x
y = x.reshape(2, 3).T; y[...] = y[::-1]; r = x
y = x[::2]; y *= 2; x[1:4] += y; r = [x, y]
y = i.reshape(2, 3).T[::-1]; y[0] = 7; r = [i, y]
m.add(x[1:], x[:-1], out=x[1:]); r = x
m.multiply(x[:-1], 2, x[1:]); r = x
m.cumsum(x, out=x); r = x
y = x[:4].reshape(2, 2); m.matmul(y, y, out=y); r = x
m.sum(x.reshape(2, 3), axis=0, out=x[:3]); r = x
x[2:5], x[0:2] = x[1:4] + 0, x[4:] + 0; r = x
y = x.reshape(2, 3); y[:, 1] = m.asarray([[1, 2]]); r = x
x[...] = m.asarray([[[4]]]); r = x
x[[0, 1]] = x[[1, 0]]; r = x
x[x > 2] = x[x > 2][::-1] + 0; r = x
x[x > 2] += 1; r = x
x[[0, 0, 1]] += 1; r = x
x[i % 2 == 0] = [7, 8, 9]; r = x
x[m.asarray([True, False, True, False, False, False]) | (i > 4)] = [1, 2, 3]; r = x
r = [x + [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6] - x, i * (0, 1, 2, 3, 4, 5), i == [0, 1] * 3]
r = [i + [0.5] * 6, [[1], [2]] + i, i.reshape(2, 3) @ [1, 2, 3], [1, 2] @ i.reshape(2, 3)]
r = [i ** 2, 2.0 ** i, i ** 0.5, x ** -1, i ** m.asarray([1, 2, 3, 0, 1, 2])]
r = [m.clip(i, -(2 ** 80), 2 ** 80), m.clip(i.astype("uint8"), -5, 300), m.clip(i, 1.5, 3)]  # 2
r = [m.arange(i[2]), m.arange(i[1], i[5], i[2]), m.linspace(0, 1, 3)]
r = [m.add(x, 1, x), x, m.maximum(i, 2, i), i]
r = [m.choose([0, 1, 0], [[1, 2, 3], [4, 5, 6]]), m.choose([5, -1], [[1, 2], [3, 4]], mode="wrap")]
m.copyto(x, i); m.copyto(i, 3); r = [x, i]
m.copyto(i, x, casting="unsafe"); r = i
r = [m.intersect1d(i, x), m.setxor1d(i, [1.5, 2]), m.union1d(i, [7])]
r = [m.trapezoid(i, x), m.trapezoid([[1, 2, 3], [4, 5, 6]], [[0, 1, 3], [0, 2, 4]])]  # 2
r = [m.bincount(i, x), m.bincount(i > 2), m.bitwise_count(i), m.partition(i, 2)[2]]  # 2
r = [m.meshgrid(2, i[:2]), m.ldexp(x, i), m.round(x / 3, 1), m.round(i * 7, -1)]
y = x[2:2]; y += 1; y[...] = 5; r = [x, y, y.sum(), x[10:] * 2]
y = x[3]; y += 1; r = [x[3] * 0, x.reshape(1, 6)[:, None].shape[1] + x]
x[-1:0:-2] = x[0:3]; r = x
x.reshape(3, 2)[:, ::-1][1:] = [[1, 2], [3, 4]]; r = x
y = x[0]; x[0] = x[1]; x[1] = y; r = [x, y]
y, z = x[0], x[1]; x[:2] = 7; r = [y + z, x]
y = i.reshape(2, 3)[1, 1]; i += 10; y += 1; r = [y, i]
y = [v for v in x[:3]]; x *= 2; r = [y[0] + y[1] + y[2], x]
y = x[3, ...] if m.__name__ == "nx" else x[3:4].reshape(()); y += 1; r = x
y = x[2].reshape(1); y[0] = 9; r = [x, y]
z = x[5]; m.add(x, 1, out=x); r = [z * 1, x]
r = [m.asarray(4 in x), m.asarray(7 in x), m.asarray(5 in i.reshape(2, 3)), m.asarray(1 in x[:0])]
r = [*divmod(i - 3, 2), *divmod(x, [2, 2, 2, 2, 3, 4]), *divmod(7, i + 1)]
x.flat[2] = 9; x.reshape(2, 3).T[0] += 1; r = [x, x.reshape(2, 3).flat[1:3]]
x.put([0, -1], [7, 8]); y = x + 0; y.partition(2); r = [x, y[2], x[x.argpartition(3)[3]]]
r = (i % 2).choose([i, i * 10])
r = m.linalg.tensorsolve(m.eye(6).reshape(2, 3, 6) * 2, x.reshape(2, 3))
r = m.linalg.tensorinv((m.eye(6) * x).reshape(2, 3, 6), 2)
r = m.linalg.tensorsolve((m.eye(6) * x).reshape(6, 2, 3).transpose(1, 0, 2), x, (0, 2))
y = x + 1j; y.real = 5; y.imag = x; r = y
y = (x + 1j)[::2]; y.imag = [7, 8, 9]; r = y
r = [m.asarray(range(4)), m.array(range(0)).size + x]
y = f"{x[0]:.2f} {i[1]:>4} {x[1]:e}"; r = m.asarray([ord(c) for c in y])
r = [m.asarray(round(x[0] / 3, 2)), m.asarray(round(x[0] / 2)), m.asarray(round(i[3]))]
y = m.nan_to_num(m.asarray([m.nan, m.inf, 1.0]), nan=2.0, posinf=3.0); r = y
r = [m.nanstd(m.asarray([1.0, m.inf, m.nan])), m.nanvar(m.asarray([1.0, m.nan, 3.0]), ddof=1)]
r = m.asarray([x[:2], [3, 4]])
r = m.asarray([[x[:1], [2]], [[3], i[:1]]])
r = m.asarray([m.asarray([1], dtype="float32"), [1.5]])
r = m.asarray([[], m.ones((0,))])
r = [m.asarray(2**63), m.asarray(2**64 - 1), m.asarray(2**63 - 1)]
y = m.asarray(3.0); r = [m.argsort(y), m.argsort(y, axis=0), y.argsort()]
"""
# What NumPy refuses, and where nx once gave something.
REFUSED = """
i[0] = 1j
i[[0]] = 1j
i[i > 2] = 1j
x[:] = x + 1j
i **= -1
i ** -2
m.power(i, -1)
m.copyto(i, 2.5)
m.copyto(i, x)
m.choose(m.asarray([0, -1]), [[1, 2], [3, 4]]).sum()
m.choose(m.asarray([0, 2]), [[1, 2], [3, 4]]).sum()
m.partition(i, 6)
m.argpartition(i, -7)
m.partition(i, 1.5)
m.matvec(x, x)
m.vecmat(x, x)
m.compress(m.asarray([[True, False]]), i)
m.bincount(i, x + 1j)
m.where(x > 1, x)
m.round(x, 1.5)
m.binary_repr(2.5)
m.ldexp(x, 1.5)
i += 0.5
i[:] = "text"
x[1:3] = [1, 2, 3]
x[i > 2] = [1, 2]
m.broadcast_to(x, (2, 6))[...] = 1
x.reshape(2, 3).T.flat[0]
m.linalg.tensorinv(x, 0)
m.linalg.tensorsolve(m.eye(3), x)
divmod(x, "text")
f"{x:.2f}"
x.real = 1j
x.imag = 5
m.asarray([x[:2], [3, 4, 5]])
m.asarray([x[:2], 3])
"""


def lines(text):
    return [line for line in text.strip().splitlines() if line]


def run(program, m, of):
    names = {"m": m, "x": of(np.array([3.0, 1, 4, 1, 5, 9])), "i": of(np.arange(6))}
    exec(program, names)
    return names.get("r")


def ours(a):
    return nx.asarray(a, copy=True)


@needs_numpy
class Programs(Peer):
    def test_values(self):
        for program in lines(PROGRAMS):
            if program.endswith("# 2") and not NEW:
                continue
            with self.subTest(program), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.compare(run(program, nx, ours), run(program, np, np.array))

    def compare(self, got, wanted):
        if isinstance(wanted, (list, tuple)):
            self.assertEqual(len(got), len(wanted))
            for g, w in zip(got, wanted):
                self.compare(g, w)
        else:
            self.same(got, wanted)

    def test_refused(self):
        for program in lines(REFUSED):
            with self.subTest(program):
                with self.assertRaises((TypeError, ValueError, IndexError)):
                    run(f"r = {program}" if "=" not in program.split("(")[0] else program, nx,
                        ours).realize()


@needs_numpy
class Dtypes(unittest.TestCase):
    def test_codes(self):
        for code in ("?", "b1", "b", "i1", "h", "i2", "i", "l", "q", "B", "u1", "H", "u2", "I", "L",
                     "Q", "e", "f2", "f", "f4", "d", "f8", "F", "c8", "D", "c16", "<i4", "<i8",
                     "<u4", "=u8", "|i1", "<f8", "<c16"):
            self.assertEqual(nx.zeros(1, dtype=code).dtype.name, np.dtype(code).name, code)

    def test_codes_that_mean_two_things(self):
        """Bits in programs of nx, bytes in NumPy."""
        for code in ("i4", "i8", "u4", "u8"):
            with self.assertRaisesRegex(TypeError, "bytes in NumPy"):
                nx.zeros(1, dtype=code)
        for code in ("<", "<x", "|i9", "i64x", ""):
            with self.assertRaises(TypeError):
                nx.zeros(1, dtype=code)


class Elements(unittest.TestCase):
    """x[0] is a value, in captured functions and with others that assign, too."""

    def test_captured(self):
        def exchange(x):
            first = x[0]
            x[0] = x[1]
            x[1] = first
            return first

        x = nx.asarray([1.0, 2, 3])
        f = nx.jit(exchange)
        for wanted in ([2, 1, 3], [1, 2, 3]):
            first = f(x)
            self.assertEqual(x.tolist(), wanted)
            self.assertEqual(first.item(), wanted[1])

    def test_functions_that_assign(self):
        x = nx.asarray([1.0, 2, 3])
        f = nx.jit(lambda x: x.__setitem__(0, 9.0))
        first, third = x[0], x[2]
        f(x)
        self.assertEqual([first.item(), third.item(), x[0].item()], [1, 3, 9])

    def test_arguments(self):
        x = nx.asarray([1.0, 2, 3])
        f = nx.jit(lambda x, first: x.__setitem__(slice(None), first + x))
        f(x, x[0])
        self.assertEqual(x.tolist(), [2, 3, 4])

    def test_many(self):
        x = nx.arange(100)
        found = [x[i] for i in range(100)]
        del found[::3]
        x[...] = 0
        self.assertEqual([v.item() for v in found], [i for i in range(100) if i % 3])

    def test_unbound(self):
        kept = []
        nx.jit(lambda x: kept.append(x[0]) or x + 1)(nx.arange(3))
        x = nx.zeros(3)
        x[0] = 1
        self.assertEqual(x.tolist(), [1, 0, 0])
        with self.assertRaises(nx.Error):
            kept[0].item()


class Random:
    """A random program on pairs of arrays, all views of a few: of nx, and of NumPy."""

    def __init__(self, seed):
        self.pick, self.rng = random.Random(seed), np.random.default_rng(seed)
        dtype = self.pick.choice(["int32", "int64", "float64", "float32", "uint8", "complex128"])
        shape = [self.pick.choice([1, 2, 3, 4, 5]) for _ in range(self.pick.randint(1, 3))]
        a = self.rng.integers(0, 5, shape).astype(dtype)
        self.pool, self.log = [(ours(a), a)], [f"{dtype} {shape}"]

    def key(self, shape):
        key = []
        for n in shape:
            kind = self.pick.random()
            if kind < 0.45:
                key.append(slice(self.pick.choice([None, 0, 1, -1]),
                                 self.pick.choice([None, None, n, 1, -1]),
                                 self.pick.choice([1, 1, 2, -1, -2])))
            elif kind < 0.5 and n:
                key.append(self.pick.randrange(-n, n))
            elif kind < 0.55:
                key.append(None)
            else:
                key.append(slice(None))
        return tuple(key[: len(shape) + 1])

    def advanced(self, shape):
        if not shape:
            return ()
        axis, kind = self.pick.randrange(len(shape)), self.pick.random()
        n, before = shape[axis], (slice(None),) * self.pick.randrange(len(shape))
        if kind < 0.4 and n:
            return (slice(None),) * axis + (self.rng.permutation(n)[: max(n - 1, 1)],)
        if kind < 0.7:
            return (slice(None),) * axis + (self.rng.random(n) < 0.5,)
        return (self.rng.random(shape) < 0.5,) if kind < 0.9 else before

    def step(self):
        x, a = self.pick.choice(self.pool)
        y, b = self.pick.choice(self.pool)
        name = self.pick.choice(["view", "view", "moved", "shaped", "set", "set", "set_advanced",
                                 "in_place", "fresh", "out", "exchange", "ask"])
        self.log.append(name)
        getattr(self, name)(x, a, y, b)

    def view(self, x, a, y, b):
        key = self.key(a.shape)
        self.log.append(key)
        if isinstance(a[key], np.ndarray):
            self.pool.append((x[key], a[key]))

    def moved(self, x, a, y, b):
        axes = self.pick.sample(range(a.ndim), a.ndim)
        self.pool.append((nx.permute_dims(x, axes), a.transpose(axes)))

    def shaped(self, x, a, y, b):
        shape = self.pick.choice([(a.size,), (1, a.size), a.shape[::-1]])
        made = a.reshape(shape)
        shared = np.shares_memory(made, a) or a.size == 0
        self.pool.append((x.reshape(shape) if shared else nx.copy(x.reshape(shape)), made))

    def set(self, x, a, y, b, key=None):
        key = self.key(a.shape) if key is None else key
        shape = np.shape(a[key])
        value = self.rng.integers(0, 9, shape).astype(a.dtype)
        if self.pick.random() < 0.5:
            value = self.pick.choice([1, 3])
        elif b.shape == shape and not np.may_share_memory(a, b) and b.dtype == a.dtype:
            value = b
        self.log.append((key, value))
        a[key] = value
        mine = tuple(ours(k) if isinstance(k, np.ndarray) else k for k in key)
        x[mine] = y if value is b else ours(value) if isinstance(value, np.ndarray) else value

    def set_advanced(self, x, a, y, b):
        self.set(x, a, y, b, self.advanced(a.shape))

    def in_place(self, x, a, y, b):
        fits = b.dtype == a.dtype and b.ndim <= a.ndim and all(
            n in (1, m) for n, m in zip(b.shape[::-1], a.shape[::-1]))
        for of, by in ((a, b if fits else 2), (x, y if fits else 2)):
            if len(self.log) % 3:
                of += by
            else:
                of -= by

    def fresh(self, x, a, y, b):
        if a.shape == b.shape:
            self.pool.append((x + y, a + b))

    def out(self, x, a, y, b):
        z, c = self.pick.choice(self.pool)
        if a.shape == b.shape == c.shape:
            np.add(a, b, out=c)
            nx.add(x, y, out=z)

    def exchange(self, x, a, y, b):
        if a.ndim and a.shape[0] > 1:
            a[[0, 1]] = a[[1, 0]]
            x[[0, 1]] = x[[1, 0]]

    def ask(self, x, a, y, b):
        x.realize()


@needs_numpy
class RandomPrograms(unittest.TestCase):
    def test_views_and_assignments(self):
        for seed in range(60 if SANITIZED else 400):
            program = Random(seed)
            for _ in range(program.pick.randint(3, 12)):
                program.step()
            for x, a in program.pool:
                found = np.asarray(x)
                same = found.shape == a.shape and np.array_equal(found, a)
                self.assertTrue(same, f"seed {seed}: {program.log}\n{found}\n{a}")


if __name__ == "__main__":
    unittest.main()
