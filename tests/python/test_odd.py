# SPDX-License-Identifier: ISC
"""Odd input: buffers that lie as none should, arguments of DLPack that are no pairs, sequences that
lose what they list, objects that are equal and yet others, functions and operators of NumPy on
arrays, loops that only assign. What comes is the result, or the exception that a Python programmer
expects."""

import copy
import ctypes
import gc
import math
import pickle
import threading
import unittest
import weakref

from common import NEW, Peer, needs_numpy, not_sanitized, np, nx


class Index:
    """An index that does something when it is asked for."""

    def __init__(self, function):
        self.function = function

    def __index__(self):
        return self.function()


class Buffers(unittest.TestCase):
    def test_buffers_without_strides(self):
        memory = (ctypes.c_double * 3 * 2)((1, 2, 3), (4, 5, 6))
        for given in (False, None, True):
            self.assertEqual(nx.asarray(memory, copy=given).tolist(), [[1, 2, 3], [4, 5, 6]])
        x = nx.asarray(memory, copy=False)
        x[1, 0] = 7
        x.realize()
        self.assertEqual(memory[1][0], 7)

    def test_memory_that_is_lent_keeps_its_size(self):
        memory = bytearray(16)
        part = nx.asarray(memory, copy=False)[4:]
        with self.assertRaises(BufferError):
            memory.append(1)
        del part
        nx.zeros(1).realize()
        memory.append(1)

    @needs_numpy
    def test_what_needs_a_copy(self):
        records = np.ones(3, [("a", "i1"), ("b", "f8")])
        apart = np.zeros(25, np.uint8)[1:].view(np.float64)
        for a in (records["b"], np.arange(3, dtype=">i4"), np.arange(4, dtype=">c16")[::2], apart):
            self.assertEqual(nx.asarray(a).tolist(), a.tolist())
            with self.assertRaises(ValueError):
                nx.asarray(a, copy=False)
        for a in (records, np.array(["a"]), np.array([1, None], object),
                  np.array(["2020-01-01"], "M8[D]")):
            with self.assertRaises(TypeError):
                nx.asarray(a)
        if NEW:
            with self.assertRaisesRegex(ValueError, "64 axes"):
                nx.asarray(np.zeros((1,) * 64))

    @needs_numpy
    def test_no_copy_where_none_is_allowed(self):
        x = nx.ones(3, dtype="bfloat16")
        with self.assertRaises(ValueError):
            x.__array__(copy=False)
        if NEW:
            with self.assertRaises(ValueError):
                nx.ones(3).__array__("f4", False)
        self.assertTrue(nx.ones(3).__array__(copy=True).flags.writeable)
        self.assertEqual(x.__array__().dtype, np.float32)

    def test_dlpack(self):
        x = nx.ones(3)
        for words in ({"max_version": 1}, {"max_version": ()}, {"dl_device": 5},
                      {"max_version": ("a", 1)}, {"dl_device": (1,)}):
            with self.assertRaises(TypeError):
                x.__dlpack__(**words)
        capsule = x.__dlpack__()
        nx.from_dlpack(capsule)
        with self.assertRaises(ValueError):
            nx.from_dlpack(capsule)


class Sequences(unittest.TestCase):
    def test_arrays_that_nothing_else_holds(self):
        class Made:
            def __len__(self):
                return 50

            def __getitem__(self, i):
                return nx.full((3,), float(i))

        self.assertEqual(nx._core.calls.cat(Made(), 0)[::3].tolist(), list(range(50)))
        self.assertIn("full", nx.dump(Made()))
        listed = [nx.full((2,), float(i)) for i in range(20)]

        def empty():
            listed.clear()
            gc.collect()
            return 0

        self.assertEqual(nx._core.calls.cat(listed, Index(empty))[::2].tolist(), list(range(20)))

    def test_numbers_of_axes(self):
        x = nx.ones((2, 3))
        for call in (lambda: x.transpose(2**32 + 1, 0), lambda: nx.asarray([0.0])[(None,) * 40],
                     lambda: nx.sum(x, axis=5), lambda: nx.concat([nx.asarray(1)]),
                     lambda: x.reshape(2**33, 2**33, -1)):
            with self.assertRaises((ValueError, IndexError)):
                call()
        for kind in (ValueError, IndexError):
            with self.assertRaises(kind):
                nx.sum(x, axis=-3)
        deep = 1.0
        for _ in range(40):
            deep = [deep]
        with self.assertRaisesRegex(ValueError, "deep"):
            nx.asarray(deep)


class Numbers(Peer):
    @needs_numpy
    def test_floats_that_no_integer_is(self):
        for value, error in ((math.nan, ValueError), (math.inf, OverflowError)):
            self.refused((error, lambda m, _: m.zeros(3, dtype="int8").__setitem__(0, value)),
                         (error, lambda m, _: m.asarray([1.0, value], dtype="int8")))
        for value, dtype in ((127.9, "int8"), (-128.9, "int8"), (-0.9, "uint8"), (255.5, "uint8"),
                             (-2.0**63, "int64"), (2.0**64 - 2048, "uint64")):
            self.assertEqual(nx.full((), value, dtype=dtype).item(), int(value))
        for value, dtype in ((2.0**63, "int64"), (2.0**64, "uint64"), (-1.0, "uint64"),
                             (128.0, "int8"), (-1e30, "int16"), (math.inf, "int8")):
            with self.assertRaises(OverflowError):
                nx.full((), value, dtype=dtype)

    def test_integers_beyond_int64(self):
        x = nx.arange(2**63 - 1, 2**63 + 3, 2)
        self.assertEqual((x.dtype, x.tolist()), (nx.uint64, [2**63 - 1, 2**63 + 1]))
        for ends in ((10**30,), (-5, 2**64), (2**63, -(2**63), -(2**62))):
            with self.assertRaises(OverflowError):
                nx.arange(*ends)
        f = nx.jit(lambda x, k: x + k)
        self.assertEqual([f(nx.ones(1), k).tolist() for k in (2**70, 2**71)],
                         [[2.0**70], [2.0**71]])


    @needs_numpy
    def test_options_of_functions(self):
        x = nx.asarray([0.5, 1.5, 1.75])
        for bins in (2.5, 1j, None, np.float32(2)):
            with self.assertRaises(TypeError):
                nx.histogram(x, bins)
        for bins in (np.int64(2), nx.asarray(2), 2):
            self.assertEqual(nx.histogram(x, bins)[0].tolist(), [1, 2])
        self.assertEqual(nx.polyder(x, 2**70).tolist(), [])
        self.assertEqual(nx.diff(nx.ones((2, 3)), 2**70).shape, (2, 0))
        with self.assertRaises(TypeError):
            nx.bincount(x)
        for number in (12345, 1.5):
            self.assertEqual([nx.round(number, n).item() for n in (2**63, -(2**63))], [number, 0])
        wide = nx.ones((2, 3), dtype="int4")
        self.assertEqual([nx.isfortran(y) for y in (wide, wide.T, wide[:, 0])],
                         [False, True, False])


class Captured(unittest.TestCase):
    def test_fixed_objects_that_are_equal(self):
        sign = nx.jit(lambda x, k: x * math.copysign(1, k), static=1)
        x = nx.ones(())
        self.assertEqual([float(sign(x, k)) for k in (0.0, -0.0, 0.0)], [1, -1, 1])
        kinds = nx.jit(lambda x, k: x + isinstance(k[1][0], bool), static=1)
        self.assertEqual([float(kinds(x, (2, (k,)))) for k in (1, True, 1.0)], [1, 2, 1])
        same = nx.jit(lambda x, k: x + 1, static=1)
        for _ in range(3):
            same(x, float("nan"))
        self.assertEqual((kinds.traces, same.traces), (3, 1))

    def test_coroutines_are_no_results(self):
        async def later(x):
            return x

        made = []
        with self.assertRaises(TypeError):
            nx.jit(lambda x: made.append(later(x)) or made[0])(nx.ones(1))
        made[0].close()

    def test_they_are_as_functions(self):
        self.assertIs(copy.deepcopy({"f": twice})["f"], twice)
        self.assertIs(copy.copy(twice), twice)
        self.assertIs(pickle.loads(pickle.dumps(twice)), twice)
        self.assertEqual((twice.__doc__, twice.__name__), ("Two times x.", "twice"))
        twice.note = 3
        self.assertEqual((twice.note, twice.__wrapped__(2.0)), (3, 4.0))
        with self.assertRaises(pickle.PicklingError):
            pickle.dumps(nx.jit(abs))

    def test_weak_references(self):
        x, f = nx.ones(3), nx.jit(lambda x: x)
        gone = [weakref.ref(x), weakref.ref(f)]
        self.assertIs(gone[0](), x)
        del x, f
        gc.collect()
        self.assertEqual([g() for g in gone], [None, None])


@nx.jit
def twice(x):
    """Two times x."""
    return x * 2


class Loops(unittest.TestCase):
    @not_sanitized
    def test_loops_that_only_assign_do_not_grow(self):
        x = nx.zeros(64)
        for i in range(30000):
            x[i % 64] = float(i)
        self.assertLess(nx.stats()["pending_nodes"], 25000)
        self.assertEqual(x.tolist()[29999 % 64], 29999)

    @not_sanitized
    def test_elements_and_assignments_of_threads(self):
        x, stop, wrong = nx.zeros(8), [], []

        def reads():
            while not stop:
                seen = [x[i] for i in range(8)]
                for v in seen:
                    v.realize()
                if any(float(v) not in (0, 1) for v in seen):
                    wrong.append(seen)

        def writes():
            while not stop:
                x[3] = 1.0

        threads = [threading.Thread(target=f) for f in (reads, reads, writes)]
        for t in threads:
            t.start()
        threads[0].join(0.5)
        stop.append(True)
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


@needs_numpy
class Numpy(unittest.TestCase):
    """Functions of elements and operators, where one operand is an array of this package."""

    def test_functions(self):
        a, x = np.array([1.0, 2, 3]), nx.asarray([4.0, 5, 6])
        for f in (np.exp, np.sqrt, np.isnan, np.negative, np.modf):
            got, wanted = f(x), f(np.asarray(x))
            got, wanted = (y if isinstance(y, tuple) else (y,) for y in (got, wanted))
            for g, w in zip(got, wanted, strict=True):
                self.assertIsInstance(g, nx.Array)
                np.testing.assert_allclose(np.asarray(g), w, rtol=1e-14)
        for f in (np.add, np.subtract, np.divide, np.power, np.less, np.greater_equal, np.equal,
                  np.hypot, np.maximum, np.matmul, np.floor_divide, np.remainder):
            for p, q in ((a, x), (x, a), (np.float32(2), x)):
                if f is np.matmul and p is not a and q is not a:
                    continue
                got = f(p, q)
                self.assertIsInstance(got, nx.Array, f)
                np.testing.assert_allclose(np.asarray(got), f(np.asarray(p), np.asarray(q)),
                                           rtol=1e-14)

    def test_in_place(self):
        a = b = np.ones(3)
        a += nx.asarray([1.0, 2, 3])
        self.assertIs(a, b)
        self.assertEqual(b.tolist(), [2, 3, 4])
        np.exp(nx.zeros(3), out=b)
        self.assertEqual(b.tolist(), [1, 1, 1])
        x = nx.zeros(3)
        np.add(b, 1, out=x)
        self.assertEqual(x.tolist(), [2, 2, 2])

    def test_what_is_not_there(self):
        for call in (np.add.reduce, np.add.accumulate, lambda x: np.add.outer(x, x),
                     lambda x: np.exp(x, casting="no")):
            with self.assertRaises(TypeError):
                call(nx.ones(3))


class Nothing(unittest.TestCase):
    def test_least_and_largest_of_no_bools(self):
        for dtype in ("bool", "int32", "float64"):
            x = nx.zeros((2, 0), dtype=dtype)
            for f in (nx.min, nx.max, nx.amin, nx.amax):
                for axis in (1, None):
                    with self.assertRaisesRegex(ValueError, "no value over the empty axes"):
                        f(x, axis=axis)
                self.assertEqual(f(x, axis=0).shape, (0,))
                self.assertEqual(f(x, axis=1, keepdims=True, initial=1).tolist(), [[1], [1]])
            with self.assertRaises(ValueError):
                x.min()
            self.assertEqual((nx.all(x, axis=1).tolist(), nx.any(x, axis=1).tolist()),
                             ([True, True], [False, False]))

    def test_a_dump_of_nothing(self):
        for nothing in ([], ()):
            with self.assertRaisesRegex(ValueError, "no arrays to dump"):
                nx.dump(nothing)
        self.assertIn("full", nx.dump([nx.zeros(2)]))


if __name__ == "__main__":
    unittest.main()
