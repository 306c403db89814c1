# SPDX-License-Identifier: ISC
"""x[key] and x[key] = value against NumPy: random keys of numbers, slices, None, an ellipsis,
arrays and masks, with a fixed seed; and what is refused."""

import unittest
import warnings

from common import Peer, needs_numpy, np, nx

ROUNDS = 250


def bounds(rng, n):
    def one():
        return None if rng.random() < 0.4 else int(rng.integers(-n - 2, n + 3))

    step = [None, 1, 2, -1, -2, 3][rng.integers(6)]
    return slice(one(), one(), step)


def integers(rng, n, common):
    """An array of indices that broadcasts with the others of a key."""
    shape = [m if rng.random() < 0.8 else 1 for m in common]
    shape = shape[rng.integers(len(shape) + 1):] if rng.random() < 0.3 else shape
    return rng.integers(-n, n, shape)


def random_key(rng, shape):
    common = [(), (3,), (2, 3), (1,), (0,)][rng.choice(5, p=[0.1, 0.4, 0.3, 0.1, 0.1])]
    key, axis, ellipsis, mask = [], 0, False, False
    while axis < len(shape) and rng.random() < 0.9:
        kind, n = rng.random(), shape[axis]
        if kind < 0.2 and n:
            key.append(int(rng.integers(-n, n)))
        elif kind < 0.5:
            key.append(bounds(rng, n))
        elif kind < 0.6:
            key.append(None)
            continue
        elif kind < 0.65 and not ellipsis:
            key.append(Ellipsis)
            ellipsis = True
            axis += int(rng.integers(len(shape) - axis + 1))
            if axis < len(shape):
                continue
            break
        elif kind < 0.75 and not mask and not any(isinstance(k, np.ndarray) for k in key):
            m = int(rng.integers(1, len(shape) - axis + 1))
            if not ellipsis:
                key.append(rng.random(shape[axis:axis + m]) < 0.5)
                mask, axis = True, axis + m
            continue
        elif n and not mask:
            key.append(integers(rng, n, common))
        else:
            key.append(slice(None))
        axis += 1
    return tuple(key)


def ours(key):
    return tuple(nx.asarray(k) if isinstance(k, np.ndarray) else k for k in key)


@needs_numpy
class Indexing(Peer):
    def cases(self, seed):
        rng = np.random.default_rng(seed)
        for _ in range(ROUNDS):
            shape = tuple(int(n) for n in rng.integers(1, 5, rng.integers(1, 5)))
            key = random_key(rng, shape)
            a = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
            if rng.random() < 0.3:
                a = a.T
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    wanted = a[key]
            except (IndexError, DeprecationWarning):  # NumPy lets bad indices of nothing pass
                continue
            yield rng, key, a, wanted

    def test_reading(self):
        seen = 0
        for _, key, a, wanted in self.cases(1):
            seen += 1
            self.same(nx.asarray(a)[ours(key)], wanted, f"{a.shape} {key}")
        self.assertGreater(seen, ROUNDS // 2)

    def test_views_of_views(self):
        """Where they begin, and how far apart elements are, of a base that begins elsewhere."""
        rng = np.random.default_rng(7)
        a = np.arange(7 * 5 * 6, dtype=np.int16).reshape(7, 5, 6)
        for base in ((), np.s_[::-1, 1:], np.s_[2:, ::2, ::-1], np.s_[:, None, 3]):
            y, x = a[base], nx.asarray(a, copy=True)[base]
            for _ in range(ROUNDS // 4):
                b, z = y, x
                for _ in range(3):
                    key = random_key(rng, b.shape)
                    key = tuple(k for k in key if not isinstance(k, np.ndarray))
                    try:
                        c = b[key]
                    except IndexError:  # axes that arrays would have taken
                        self.assertRaises(IndexError, z.__getitem__, key)
                        continue
                    b, z = np.asarray(c), z[key]
                    self.same(z, b, f"{base} {key}")
                    if b.ndim == 0 or b.size == 0:
                        break
                    far = [i for i, n in enumerate(b.shape) if n > 1]
                    self.assertEqual([z.strides[i] for i in far], [b.strides[i] for i in far])

    def test_assigning(self):
        for rng, key, a, wanted in self.cases(2):
            value = np.asarray(-1 - rng.integers(0, 100, wanted.shape), np.int32)
            if rng.random() < 0.3:
                value = value[:1] if value.ndim else value
            if value.size == 0 and wanted.size:
                continue
            b = a.copy()
            x = nx.asarray(b, copy=True)
            b[key] = value
            x[ours(key)] = nx.asarray(value, copy=True)
            self.same(x, b, f"{a.shape} {key} = {value.shape}")

    def test_assigning_numbers(self):
        for rng, key, a, _ in self.cases(3):
            b = a.astype(np.float32)
            x = nx.asarray(b, copy=True)
            b[key] = 2.5
            x[ours(key)] = 2.5
            self.same(x, b, f"{a.shape} {key} = 2.5")

    def test_an_ellipsis_for_no_axis(self):
        """It stands between what is beside it all the same."""
        a = np.arange(48).reshape(3, 2, 4, 2)
        x = nx.asarray(a, copy=True)
        i, m = np.array([-2, 0, 1]), a[:, 0, 0, 0] > 10
        for key in ((slice(None), None, 1, 3, ..., [1, 0, 1]), (i, ..., 1, slice(None), 0),
                    (slice(None), 1, i, ..., [0, 1, 1]), (m, ..., 1, 1, 0),
                    (m, ..., 1, slice(2), 0),
                    (slice(None), 0, ..., i, 1), (0, [1, 0], 2, ..., 1), (..., 0, 1, i, 1)):
            self.same(x[key], a[key], f"{key}")
            b, y = a.copy(), nx.asarray(a, copy=True)
            b[key] = y[key] = -7
            self.same(y, b, f"{key}")
            b[key] = y[key] = np.arange(b[key].size).reshape(b[key].shape)
            self.same(y, b, f"{key}")

    def test_lists_and_numbers_of_numpy(self):
        a = np.arange(24).reshape(4, 6)
        x = nx.asarray(a, copy=True)
        self.same(x[[0, -1]], a[[0, -1]])
        self.same(x[[True, False, True, False]], a[[True, False, True, False]])
        self.same(x[np.int64(2)], a[2])
        self.same(x[[[0], [1]], [2, 3]], a[[[0], [1]], [2, 3]])
        self.same(x[[]], a[[]])
        self.same(x[nx.asarray(2)], a[2])
        self.same(x[nx.asarray(2), ::2], a[2, ::2])
        self.same(x[True], a[True])
        self.same(x[False], a[False])
        self.same(x[np.array([1, 2], np.uint8)], a[[1, 2]])

    def test_last_of_equal_indices_stays(self):
        x = nx.zeros(3, dtype="int64")
        x[[1, 1, 2, 1]] = nx.asarray([5, 6, 7, 8])
        self.assertEqual(x.tolist(), [0, 8, 7])

    def test_views_see_what_is_assigned(self):
        x = nx.zeros((3, 4), dtype="int64")
        column = x[:, 1]
        x[[0, 2]] = 7
        self.assertEqual(column.tolist(), [7, 0, 7])
        column[column == 7] = 1
        self.assertEqual(x[0].tolist(), [7, 1, 7, 7])

    def test_mask_as_long_as_its_value(self):
        a = np.arange(6.0)
        x = nx.asarray(a, copy=True)
        a[a > 2] = [10, 20, 30]
        x[x > 2] = [10, 20, 30]
        self.same(x, a)
        with self.assertRaises(ValueError):
            x[x > 2] = [1.0, 2.0]


# Keys with masks of a (4, 3, 2) array: of m, which is of rank 1, and of n, of rank 2; the shapes
# of values, of which "k" is the number of true elements.
MASKED = {
    "alone": (lambda m, n: m, [("k", 3, 2), ("k", 1, 2), ("k", 1, 1), (1, 3, 2), (3, 2), ()]),
    "of rank 2": (lambda m, n: n, [("k", 2), ("k", 1), (2,), ()]),
    "of all": (lambda m, n: np.stack([n, n], -1), [("K",), ()]),
    "with a slice": (lambda m, n: (m, slice(None, None, 2)), [("k", 2, 2), (2, 2)]),
    "behind a slice": (lambda m, n: (slice(1, 3), m[:3]), [(2, "l", 2), ("l", 1), (1, 2)]),
    "with a number": (lambda m, n: (m, 1), [("k", 2), ("k", 1), (2,), ()]),
    "behind a number": (lambda m, n: (2, m[:3]), [("l", 2), ()]),
    "apart from a number": (lambda m, n: (m, slice(None), 1), [("k", 3), ("k", 1)]),
    "with None": (lambda m, n: (None, m), [(1, "k", 3, 2), ("k", 3, 2)]),
    "with an ellipsis": (lambda m, n: (m, ..., 0), [("k", 3)]),
    "with indices": (lambda m, n: (m, [1] * int(m.sum())), [("k", 2), (2,), ()]),
    "with one index": (lambda m, n: (m, [1]), [("k", 2)]),
    "twice": (lambda m, n: (m, np.arange(3) < m.sum()), [("k", 2)]),
}


@needs_numpy
class Masks(Peer):
    """x[mask] = values with a value for each element that is true, also where how many there are
    cannot be read when the assignment is recorded."""

    def cases(self):
        rng = np.random.default_rng(4)
        for name, (key, shapes) in MASKED.items():
            for _ in range(3):
                m = np.zeros(4, bool)
                m[rng.permutation(4)[: rng.integers(2, 4)]] = True
                if name == "behind a slice" or name == "behind a number":
                    m[:2] = True
                n = rng.random((4, 3)) < 0.5
                n[:2, 0] = True
                mask = n if name == "of rank 2" else m
                counts = {"k": int(mask.sum()), "K": 2 * int(n.sum()), "l": int(m[:3].sum())}
                for shape in shapes:
                    shape = [counts.get(e, e) for e in shape]
                    value = rng.integers(-99, 0, shape).astype(np.int32)
                    yield f"{name} {shape}", m, n, key, np.asarray(value)

    def test_values(self):
        a = np.arange(24, dtype=np.int32).reshape(4, 3, 2)
        for what, m, n, key, value in self.cases():
            for view in (lambda x: x, lambda x: x[::-1], lambda x: x[:, ::-1, ::-1]):
                b = np.array(a)
                view(b)[key(m, n)] = value
                x = nx.asarray(a, copy=True)
                view(x)[ours_of(key, m, n)] = nx.asarray(value)
                self.same(x, b, what)

    def test_captured(self):
        a = np.arange(24, dtype=np.int32).reshape(4, 3, 2)
        for what, m, n, key, value in self.cases():
            b = np.array(a)
            b[key(m, n)] = value
            x = nx.asarray(a, copy=True)

            def assign(x, *masks):
                y = nx.copy(x)
                y[restored(key(m, n), masks)] = value
                return y

            masks = [nx.asarray(k) for k in masks_of(key(m, n))]
            self.same(nx.jit(assign)(x, *masks), b, what)

    def test_counts_that_do_not_fit(self):
        a = np.arange(6.0)
        m = a > 2
        for values in ([1.0, 2], [1.0, 2, 3, 4], [], np.ones((3, 3)), np.ones((2, 3))):
            b, x = np.array(a), nx.asarray(a, copy=True)
            with self.assertRaises((ValueError, TypeError)):
                b[m] = values
            with self.assertRaises(ValueError):
                x[x > 2] = values
            self.same(x, a)
        with self.assertRaisesRegex(ValueError, "2 cannot be assigned to 3"):
            x[x > 2] = [1.0, 2]
        b, x = np.zeros((2, 6)), nx.zeros((2, 6))
        for y, mask in ((b, m), (x, nx.asarray(m))):
            y[:, mask] = [[1.0], [2]]
            y[0, mask] = [3.0, 4, 5]
            with self.assertRaises(ValueError):
                y[:, mask] = np.ones((2, 2))
            with self.assertRaises(ValueError):
                y[0, mask] = [1.0, 2]
        self.same(x, b)

    def test_counts_that_do_not_fit_a_captured_function(self):
        def assign(x, mask, value):
            y = nx.copy(x)
            y[mask] = value
            return y

        f = nx.jit(assign)
        x, value = nx.arange(6.0), nx.asarray([10.0, 20, 30])
        self.assertEqual(f(x, x > 2, value).tolist(), [0, 1, 2, 10, 20, 30])
        self.assertEqual(f(x, x % 2 == 0, value).tolist(), [10, 1, 20, 3, 30, 5])
        for mask in (x > 3, x > 1, x > 9, x >= 0):
            with self.assertRaises(IndexError):
                f(x, mask, value).realize()
        self.assertEqual(f(x, x < 3, value).tolist(), [10, 20, 30, 3, 4, 5])
        self.assertEqual(f.traces, 1)
        for given in ([], [[1.0]] * 2):
            with self.assertRaises((nx.Unbound, ValueError)):
                f(x, x > 2, nx.asarray(given, "float64"))

    def test_rank_2_that_does_not_fit_a_captured_function(self):
        def assign(x, mask, value):
            x[mask, 1] = value
            return x.sum()

        f = nx.jit(assign)
        x = nx.zeros((3, 2, 2, 2))
        m = nx.asarray([[True, False], [False, True], [False, False]])
        f(x, m, nx.ones((2, 2))).realize()
        self.assertEqual(x.sum().item(), 4)
        self.assertEqual(x[0, 0, 1].tolist(), [1, 1])
        with self.assertRaises(IndexError):
            f(x, m, nx.ones((3, 2))).realize()
        with self.assertRaises(IndexError):
            f(x, nx.asarray(np.ones((3, 2), bool)), nx.ones((2, 2))).realize()

    def test_coordinates_of_a_count_that_does_not_fit(self):
        f = nx.jit(lambda x, mask, i: x[mask, i])
        x = nx.arange(24).reshape(2, 3, 4)
        m = nx.asarray([[True, False, False], [False, True, True]])
        self.assertEqual(f(x, m, nx.asarray([0, 1, 2])).tolist(), [0, 17, 22])
        for i in ([0, 1], [0, 1, 2, 3]):
            with self.assertRaises(IndexError):
                f(x, m, nx.asarray(i)).realize()

    def test_no_elements(self):
        x = nx.zeros((0, 3))
        x[nx.zeros(0, "bool")] = nx.zeros((0, 3))
        y = nx.arange(4)
        y[y > 9] = nx.zeros(0, "int64")
        y[y > 9] = 5
        y[y > 9] = [5]
        self.assertEqual(y.tolist(), [0, 1, 2, 3])


def masks_of(key):
    return [k for k in (key if isinstance(key, tuple) else (key,)) if isinstance(k, np.ndarray)]


def restored(key, masks):
    """The key with these arrays in place of NumPy's masks."""
    masks = iter(masks)
    found = tuple(next(masks) if isinstance(k, np.ndarray) else k
                  for k in (key if isinstance(key, tuple) else (key,)))
    return found if isinstance(key, tuple) else found[0]


def ours_of(key, m, n):
    return restored(key(m, n), [nx.asarray(k) for k in masks_of(key(m, n))])


@needs_numpy
class Known(Peer):
    """Indices whose values are there are checked where they are used, before anything changes."""

    def setUp(self):
        self.a = np.arange(12.0).reshape(3, 4)
        self.x = nx.asarray(self.a)

    def raised(self, use):
        with self.assertRaises(IndexError) as caught:
            use()
        self.assertIsInstance(caught.exception, nx.IndexOutOfRange)
        self.assertEqual(caught.exception.status, "NX_INDEX_OUT_OF_RANGE")
        self.assertEqual(caught.exception.where[0], __file__)
        self.same(self.x, self.a)
        return caught.exception

    def keys(self):
        strided = nx.asarray(np.arange(24).reshape(4, 6)).realize()
        yield [0, 3], 3
        yield [[0], [-4]], -4
        yield (slice(None), [1, 4]), 4
        yield (..., None, [-5]), -5
        yield ([0, 1], [0, 4]), 4
        yield ([0, 7], slice(1, 3)), 7
        yield (0, [9]), 9
        yield (np.array([True, False, True]), [0, 9]), 9
        for dtype in "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64":
            yield np.array([0, 2, 3], dtype), 3
            yield nx.asarray([1, 100], dtype=dtype).realize(), 100
        yield np.array([2**64 - 1], "uint64"), 2**64 - 1
        yield strided[:1, ::5], 5
        yield strided.T[:3, ::-1], 18
        yield strided[::-2, 1:2], 19
        yield np.arange(100_000) - 4, -4

    def test_assignments_change_nothing(self):
        for key, index in self.keys():
            def assign():
                self.x[key] = 1

            line = assign.__code__.co_firstlineno + 1
            for use in (assign, lambda: self.x[key]):
                e = self.raised(use)
                self.assertEqual(e.index, index)
                self.assertRegex(str(e), f"index {index} is outside axis . of . elements")
                self.assertIn(e.where[1], (line, line + 3))
        self.x[strided_places()] = 5
        self.a[[0, 2]] = 5
        self.same(self.x, self.a)

    def test_functions(self):
        at = nx.asarray([[3]])
        for use in (lambda: nx.take(self.x, [12]), lambda: nx.take(self.x, [3], axis=0),
                    lambda: self.x.take(at, axis=0), lambda: self.x.put([12], 1),
                    lambda: nx.take_along_axis(self.x, [[4, 0, 0, 0]], axis=1),
                    lambda: nx.put_along_axis(self.x, at, 1.0, axis=0),
                    lambda: self.x[at]):
            at.realize()
            self.raised(use)

    def test_what_is_not_computed_is_found_later(self):
        x = nx.zeros(3)
        before, places = x.copy(), nx.arange(4) + 0
        x[places] = 1
        with self.assertRaisesRegex(IndexError, "index 3"):
            x.tolist()
        self.assertEqual(before.tolist(), [0, 0, 0])
        x[...] = before
        self.assertEqual((x + 1).tolist(), [1, 1, 1])

    def test_captured(self):
        """Lists are as they are; arrays have the values of the call."""
        places = nx.asarray([7]).realize()
        f = nx.jit(lambda x: x[places])
        with self.assertRaisesRegex(IndexError, "index 7"):
            f(self.x).realize()
        places[...] = 1
        self.same(f(self.x), self.a[[1]])
        self.assertEqual(f.traces, 1)
        g = nx.jit(lambda x: x[[7]])
        self.raised(lambda: g(self.x))
        self.assertEqual(g.traces, 0)

    def test_many(self):
        """Arrays of the program's are looked through while they are short."""
        places = nx.arange(100_000).realize()
        y = self.x[places]
        with self.assertRaisesRegex(IndexError, "index 3 "):
            y.realize()

    def test_scalars_of_numpy(self):
        """What they name is a view, and they are checked."""
        for i in (np.int64(1), np.uint8(1), np.int8(-2)):
            b, y = self.a.copy(), nx.asarray(self.a, copy=True)
            for z in (b, y):
                z[i][:2] = -1
                z[i, 3:] = -2
                z[None, i][0][2] = -3
            self.same(y, b)
        for key in (np.int64(3), np.int8(-4), (0, np.uint64(2**63))):
            with self.assertRaises(IndexError):
                self.x[key]
        self.same(self.x[np.True_], self.a[np.True_])
        with self.assertRaises(IndexError):
            self.x[np.int64(3), []]
        self.assertEqual(self.x[[7], []].shape, (0,))  # as in NumPy
        self.same(self.x[np.array(1)], self.a[np.array(1)])


def strided_places():
    return nx.asarray(np.arange(6).reshape(2, 3)).realize()[0, ::2]


class Refused(unittest.TestCase):
    def setUp(self):
        self.x = nx.reshape(nx.arange(12), (3, 4))

    def test_index_out_of_range(self):
        with self.assertRaises(IndexError):
            self.x[[0, 3]].tolist()
        with self.assertRaises(IndexError):
            self.x[[0, 1], [0, -5]].tolist()
        with self.assertRaises(IndexError):
            self.x[3]

    def test_other_keys(self):
        for key in ("a", 1.5, ([0.5],), (0, 0, [0]), (..., [0], ...), ([True, False],)):
            with self.subTest(key=key), self.assertRaises(IndexError):
                self.x[key]

    def test_shapes(self):
        with self.assertRaises(IndexError):
            self.x[[0, 1], [0, 1, 2]]
        with self.assertRaises(IndexError):
            self.x[[0, 1], [0, 1, 2]] = 1
        with self.assertRaises(ValueError):
            self.x[[0, 1]] = nx.zeros((3, 4), dtype="int64")
        with self.assertRaises(TypeError):
            self.x[[0, 1]] = 1j


if __name__ == "__main__":
    unittest.main()
