# SPDX-License-Identifier: ISC
"""Sorts, scans, searches, gathers, scatters and reductions of arrays of up to a million elements
beside NumPy: lengths around powers of two, few different values, most of them the least or the
greatest of their type, NaNs, views of all kinds. What divides its work, or keeps numbers of
elements in few bits, shows its faults here. NXT_SEEDS=first,n in the environment: other seeds."""

import os
import unittest

from common import NEW, Peer, needs_numpy, np, nx

TYPES = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
         "float16", "float32", "float64", "uint32", "int32", "float32")
MOST = 1 << 20


def with_many(rng, x, value):
    x[rng.random(x.size) < rng.choice([.01, .5, .97])] = value


def values(rng, n, dtype):
    kind = rng.integers(0, 6)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(n) < [.5, .01, .999, 0, 1, .3][kind]
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        if kind < 2:
            x = rng.integers(bounds.min, bounds.max, n, dtype=dtype, endpoint=True)
        else:
            x = rng.integers(0, [3, 100, 2, 5][kind - 2], n).astype(dtype)
        if kind in (1, 4):
            with_many(rng, x, bounds.max)
        if kind in (1, 5):
            with_many(rng, x, bounds.min)
        return x
    x = (rng.standard_normal(n) * [1, 1e3, 1e-3, 1, 1, 1][kind]).astype(dtype)
    if kind == 3:
        x = np.round(x)
    if kind == 4:
        with_many(rng, x, np.nan)
    if kind == 5:
        for value in (np.inf, -np.inf, -0.0, 0.0):
            x[rng.random(n) < .2] = value
    return x


def some_shape(rng):
    n = int((lambda: 2 ** rng.integers(10, 21) + rng.integers(-3, 1),
             lambda: rng.integers(60000, 140000),
             lambda: rng.integers(1000, MOST),
             lambda: rng.integers(1, 70000))[rng.integers(0, 4)]())
    if rng.integers(0, 2):
        return (n,)
    few = int(rng.integers(1, 9 if n > 50000 else 40))
    many = max(1, n // few)
    return ((few, many), (many, few), (2, max(1, many // 2), few))[rng.integers(0, 3)]


def some_view(rng, x, y):
    """The same view of both."""
    for _ in range(rng.integers(0, 3)):
        kind, before = rng.integers(0, 4), (slice(None),) * int(rng.integers(0, x.ndim))
        if kind == 0:
            index = (*before, slice(None, None, -1))
        elif kind == 1:
            index = (*before, slice(1, None, int(rng.integers(1, 4))))
        elif kind == 2:
            index = (Ellipsis, slice(0, max(1, x.shape[-1] - 5)))
        else:
            x, y = x.T, nx.permute_dims(y, tuple(range(x.ndim))[::-1])
            continue
        if x[index].size > 0:
            x, y = x[index], y[index]
    return x, y


class Case:
    """One array of both; the methods give pairs of results, or None: nothing to do."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.dtype = TYPES[rng.integers(0, len(TYPES))]
        shape = some_shape(rng)
        x = values(rng, int(np.prod(shape)), self.dtype).reshape(shape)
        self.x, self.y = some_view(rng, x, nx.asarray(x))
        self.axis = int(rng.integers(0, self.x.ndim))
        self.extent = self.x.shape[self.axis]
        self.is_number = self.dtype != "bool"
        self.is_float = self.dtype.startswith("float")
        self.is_integer = self.is_number and not self.is_float

    def other(self):
        m = values(self.rng, self.x.size, self.dtype).reshape(self.x.shape)
        return m, nx.asarray(m)

    def sort(self):
        return np.sort(self.x, axis=self.axis), nx.sort(self.y, axis=self.axis)

    def argsort(self):
        return (np.argsort(self.x, axis=self.axis, kind="stable"),
                nx.argsort(self.y, axis=self.axis, stable=True))

    def top_k(self):
        """The first of a sort in descending order, in which NaNs are last as in any."""
        if not self.is_number:
            return None
        k = int(self.rng.integers(1, min(self.extent, 300) + 1))
        x = np.moveaxis(self.x, self.axis, -1)
        found, places = nx.top_k(nx.moveaxis(self.y, self.axis, -1), k)
        ascending = np.sort(x, axis=-1)
        wanted = ascending[..., ::-1][..., :k].copy()
        if self.is_float:
            n_nans = np.isnan(x).sum(axis=-1, keepdims=True)
            at = self.extent - 1 - n_nans - np.arange(k)
            at = np.where(at < 0, self.extent - 1, at)
            wanted = np.take_along_axis(ascending, at, axis=-1)
        there = np.take_along_axis(x, np.asarray(places).astype(np.int64), axis=-1)
        return (wanted, wanted), (found, nx.asarray(there))

    def partition(self):
        k = int(self.rng.integers(0, self.extent))
        ascending = np.sort(self.x, axis=self.axis)
        found = nx.partition(self.y, k, axis=self.axis)
        kth = nx.take(found, nx.asarray([k]), axis=self.axis)
        return ((ascending, np.take(ascending, [k], axis=self.axis)),
                (nx.sort(found, axis=self.axis), kth))

    def cumulative_sum(self):
        if not self.is_integer:
            return None
        x = np.cumsum(self.x, axis=self.axis, dtype=self.x.dtype)
        return x, nx.cumsum(self.y, axis=self.axis, dtype=self.y.dtype)

    def cumulative_extremes(self):
        if not self.is_number:
            return None
        return ((np.maximum.accumulate(self.x, axis=self.axis),
                 np.minimum.accumulate(self.x, axis=self.axis)),
                (nx.cummax(self.y, axis=self.axis), nx.cummin(self.y, axis=self.axis)))

    def searchsorted(self):
        if not self.is_number:
            return None
        wanted = values(self.rng, int(self.rng.integers(1, 5000)), self.dtype)
        x, y = np.sort(self.x.ravel()), nx.sort(nx.reshape(self.y, (-1,)))
        return [[m.searchsorted(a, w, side=side) for side in ("left", "right")]
                for m, a, w in ((np, x, wanted), (nx, y, nx.asarray(wanted)))]

    def bincount(self):
        if not self.is_integer:
            return None
        bins = int(self.rng.choice([10, 1000, 70000, 1000000]))
        x = self.x.ravel().astype(np.int64) % bins
        return np.bincount(x, minlength=bins), nx.bincount(nx.asarray(x), minlength=bins)

    def places_of_extremes(self):
        return [[f(a, axis=axis) for f in (m.argmax, m.argmin) for axis in (self.axis, None)]
                for m, a in ((np, self.x), (nx, self.y))]

    def reductions(self):
        names = ["any", "all", "count_nonzero"]
        names += ["max", "min"] if self.is_number else []
        names += ["sum", "prod"] if self.is_integer else []
        return [[getattr(m, name)(a, axis=axis) for name in names for axis in (self.axis, None)]
                for m, a in ((np, self.x), (nx, self.y))]

    def take(self):
        n = int(self.rng.integers(1, 200000 if self.x.size // self.extent < 10 else 2000))
        i = self.rng.integers(-self.extent, self.extent, n)
        return np.take(self.x, i, axis=self.axis), nx.take(self.y, nx.asarray(i), axis=self.axis)

    def take_along_axis(self):
        i = np.argsort(self.rng.random(self.x.shape), axis=self.axis)
        return (np.take_along_axis(self.x, i, self.axis),
                nx.take_along_axis(self.y, nx.asarray(i), axis=self.axis))

    def scatter(self):
        x = np.array(self.x)
        y = nx.asarray(x, copy=True)
        i = np.unique(self.rng.integers(0, x.shape[0], int(self.rng.integers(1, 100000))))
        x[i] = x[i[::-1]]
        y[nx.asarray(i)] = y[nx.asarray(i[::-1].copy())]
        x[i[1::2]] = x.dtype.type(1)
        y[nx.asarray(i[1::2].copy())] = x.dtype.type(1)
        return x, y

    def unique(self):
        if self.is_float and np.isnan(self.x).any():
            return None
        return np.unique(self.x), nx.unique_values(self.y)

    def product(self):
        k = int(self.rng.integers(1, 64))
        m = min(self.x.size, 4096 * k) // k
        if not self.is_integer or m == 0:
            return None
        x, other = self.x.ravel()[:m * k].reshape(m, k), values(self.rng, k * 5, self.dtype)
        other = other.reshape(k, 5)
        return x @ other, nx.matmul(nx.asarray(x), nx.asarray(other))

    def roll_and_repeat(self):
        by, times = int(self.rng.integers(-2 * self.extent, 2 * self.extent)), 1
        if self.x.size < MOST // 2:
            times = int(self.rng.integers(1, 6))
        return [[m.roll(a, by, axis=self.axis), m.repeat(a, times, axis=self.axis)]
                for m, a in ((np, self.x), (nx, self.y))]

    def pad(self):
        if self.x.size > MOST // 2:
            return None
        widths = [tuple(int(w) for w in self.rng.integers(0, 50, 2)) for _ in self.x.shape]
        modes = ("constant", "edge", "wrap") if NEW else ("constant", "edge")  # 1.x wraps otherwise
        return [[m.pad(a, widths, mode=mode) for mode in modes]
                for m, a in ((np, self.x), (nx, self.y))]

    def flatnonzero(self):
        return np.flatnonzero(self.x), nx.flatnonzero(self.y)

    def fused(self):
        m, w = self.other()
        if not self.is_number:
            return None
        return ((np.where(self.x < m, self.x, m).max(axis=self.axis),
                 ((self.x > m) & (self.x != 0)).sum(axis=self.axis)),
                (nx.max(nx.where(self.y < w, self.y, w), axis=self.axis),
                 nx.sum(nx.astype((self.y > w) & (self.y != 0), nx.int64), axis=self.axis)))


WAYS = [name for name in vars(Case) if name not in ("other",) and not name.startswith("_")]


@needs_numpy
class LongLines(Peer):
    def exact(self, found, wanted, what):
        if isinstance(wanted, (tuple, list)):
            self.assertEqual(len(found), len(wanted), what)
            for f, w in zip(found, wanted):
                self.exact(f, w, what)
            return
        found, wanted = np.asarray(found), np.asarray(wanted)
        self.assertEqual(found.shape, wanted.shape, what)
        if not np.array_equal(found, wanted, equal_nan=wanted.dtype.kind == "f"):
            at = np.argwhere((found != wanted) & ((found == found) | (wanted == wanted)))[0]
            self.fail(f"{what}: at {at} {found[tuple(at)]}, not {wanted[tuple(at)]}")

    def test_beside_numpy(self):
        first, n = map(int, os.environ.get("NXT_SEEDS", "1000,160").split(","))
        n_done = dict.fromkeys(WAYS, 0)
        for seed in range(first, first + n):
            case = Case(seed)
            for way in ("sort", WAYS[seed % len(WAYS)]):
                with np.errstate(all="ignore"):
                    pair = getattr(case, way)()
                if pair is None:
                    continue
                n_done[way] += 1
                what = f"seed {seed}, {way}, {case.dtype} {case.x.shape} axis {case.axis}"
                self.exact(pair[1], pair[0], what)
        if n >= 8 * len(WAYS):
            self.assertGreater(min(n_done.values()), 0, n_done)


if __name__ == "__main__":
    unittest.main()
