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
        with self.assertRaises(ValueError):
            self.x[[0, 1], [0, 1, 2]]
        with self.assertRaises(ValueError):
            self.x[[0, 1]] = nx.zeros((3, 4), dtype="int64")
        with self.assertRaises(TypeError):
            self.x[[0, 1]] = 1j


if __name__ == "__main__":
    unittest.main()
