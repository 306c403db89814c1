# SPDX-License-Identifier: ISC
"""Memory that is not there: each allocation of the interpreter fails in turn, within one operation
of the extension after the other. What comes is MemoryError, nothing is lost, and the operation
works the next time. The library's own allocations fail in tests in C (tests/process,
tests/realize)."""

import array
import ctypes
import gc
import threading
import time
import tracemalloc
import unittest
import weakref
from dataclasses import dataclass

try:
    from _testcapi import remove_mem_hooks, set_nomemory
except ImportError:
    set_nomemory = None

from common import not_sanitized, nx

core, calls = nx._core, nx._core.calls


@dataclass
class Pair:
    a: object
    b: object


TEXT = """nxir 2
graph @twice(%0: f64[2, 3]) -> (%1) {
  %1 = add %0, %0 : f64[2, 3]
}
"""
OPERATIONS = {
    "operators": lambda x, i: (x + x, x + 1.0, x + i, x < 1, x // 2.0, -x, abs(x), x**2, x @ x.T),
    "in place": lambda x, i: (x.__iadd__(0.0), x.__setitem__(0, x[0]), x.__setitem__((0, 0), 0.0)),
    "getitem": lambda x, i: (x[1], x[:, 1], list(x), x[:, None, ..., 0]),
    "questions": lambda x, i: (x.shape, x.strides, x.dtype, x.device, x.nbytes),
    "values": lambda x, i: ((x + 1).realize(), x.item(0, 1), x.tolist(), float(x[0, 0])),
    "forms": lambda x, i: (x.astype("float32"), x.reshape(3, -1), x.transpose(1, 0), x.copy()),
    "lists": lambda x, i: core.array([[1.0, 2], [3, 4]]),
    "lists of arrays": lambda x, i: core.array([x, x]),
    "buffers": lambda x, i: (core.array(array.array("d", [1, 2])), memoryview(x).tolist()),
    "shared": lambda x, i: core.array(array.array("d", [1, 2]), copy=False),
    "dlpack": lambda x, i: (nx.from_dlpack(x), x.__dlpack__(max_version=(1, 0)), x.__dlpack__()),
    "made": lambda x, i: (core.full((2, 3), 1.0, "float64"), core.empty((2, 3), "float64")),
    "dtypes": lambda x, i: (core.result_type(x, 2, i), core.promote("int32", "f32")),
    "calls": lambda x, i: (calls.reduce_sum(x, [0, 1], 0), calls.cat([x, x], 0),
                           calls.top_k(x, 2, 1, 0, "int64")),
    "all": lambda x, i: (nx.realize(x + 1, x + 2), nx.report(x + 1), nx.dump([x + 1])),
    "told": lambda x, i: (nx.stats(), nx.devices()),
    "a captured call": lambda x, i: CAPTURED({"x": x, "k": [i, "text"]}, 2.0),
    "a dataclass": lambda x, i: OF_PAIR(Pair(x, 2.0)),
    "a capture": lambda x, i: nx.jit(lambda x: (x + 1, {"k": 2.0}, x))(x),
    "static": lambda x, i: nx.jit(lambda x, n: x * n, static=1)(x, 3),
    "static tuples": lambda x, i: nx.jit(lambda x, n: x * 2, static=1)(x, (1.5, (2, True))),
    "einsum": lambda x, i: nx.einsum("ij,kj->ik", x, x),
    "weak references": lambda x, i: weakref.ref(x * 1),
    "memory without strides": lambda x, i: core.array((ctypes.c_double * 3)(1, 2, 3), copy=False),
    "a decorator": lambda x, i: nx.jit(donate=0),
    "text of a function": lambda x, i: CAPTURED.dump("graph", {"x": x, "k": [i, "text"]}, 2.0),
    "parse": lambda x, i: core.parse(TEXT)(x),
    "elements": lambda x, i: (x[0, 0], x[1, 2], x.__setitem__((0, 1), x[0, 1])),
    "as numbers": lambda x, i: (f"{x[0, 1]:.2f}", round(x[0, 1], 1), round(x[0, 1]), 4.0 in x,
                                divmod(x, 2.0), x.flat[0]),
    "parts": lambda x, i: (x + 1j).__setattr__("real", x),
    "codes": lambda x, i: (core.dtype("<i8"), core.dtype("f4")),
    "custom": lambda x, i: nx.custom(lambda x: x, x, results=((2, 3), "float64")).realize(),
    "two of custom": lambda x, i: nx.realize(*nx.custom(
        lambda x, i: (x, x + 1), x, i, results=[((2, 3), "float64"), ((2, 3), "float64")])),
    "captured custom": lambda x, i: CUSTOM(x).realize(),
    "shared, given back": lambda x, i: (core.array(array.array("d", [1, 2]), copy=False) + 1
                                        ).realize(),
    "errors": lambda x, i: calls.matmul(x, x),
    "errors of text": lambda x, i: core.parse("nxir 2\ngraph"),
}
RAISE = [f for name, f in OPERATIONS.items() if name.startswith("errors")]
CAPTURED = nx.jit(lambda d, k: {"a": d["x"] * k, "b": [d["x"], (d["x"] + 1,)]})
CUSTOM = nx.jit(lambda x: nx.custom(lambda x: x * 2, x, results=((2, 3), "float64")) + 1)
OF_PAIR = nx.jit(lambda p: Pair(p.a * p.b, p.b))


@unittest.skipIf(set_nomemory is None, "the interpreter has no _testcapi")
class Starved(unittest.TestCase):
    def attempt(self, operation, x, i, n):
        """Whether it got through with the n-th allocation failing."""
        try:
            set_nomemory(n, n + 1)
            operation(x, i)
        except MemoryError:
            return False
        except nx.Error:
            return True
        except SystemError as e:  # of Python 3.11: of any exception on its way through a frame
            if str(e) != "error return without exception set" or operation not in RAISE:
                raise
            return False
        finally:
            remove_mem_hooks()
        return True

    def test_each_allocation(self):
        x = nx.arange(6.0).reshape(2, 3).realize()
        i = nx.asarray([1, 2, 3], dtype="int32").realize()
        failures = 0
        for name, operation in OPERATIONS.items():
            with self.subTest(name):
                for _ in range(2):  # what is kept for later is made
                    self.attempt(operation, x, i, 1 << 30)
                n = through = 0
                while through < 12 and n < 1000:
                    good = self.attempt(operation, x, i, n)
                    through = through + 1 if good else 0
                    failures += not good
                    n += 1
                self.assertLess(n, 1000)
                self.assertEqual(x.tolist(), [[0, 1, 2], [3, 4, 5]])
                self.assertEqual((x + i).tolist(), [[1, 3, 5], [4, 6, 8]])
        self.assertGreater(failures, 100)

    def test_threads_that_python_has_not_met(self):
        """Functions run on threads of the library, of which some end: more work at once than the
        library keeps threads for."""

        def slow(x):
            time.sleep(0.002)
            return x + 1

        def work(k):
            for i in range(4):
                x = nx.full((4,), float(k + i))
                y = nx.custom(slow, x, results=((4,), "float64"))
                found.append(y.tolist() == [k + i + 1] * 4)

        found = []
        threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(found, [True] * 64)

    @not_sanitized  # whose allocator uses no address twice
    def test_memory_of_the_interpreter_is_given_back(self):
        x = nx.arange(6.0).reshape(2, 3).realize()
        i = nx.asarray([1, 2, 3], dtype="int32").realize()
        tracemalloc.start()
        try:
            for name, operation in OPERATIONS.items():
                with self.subTest(name):
                    sizes, grown = [0], 1 << 30
                    while grown >= 40 * 16 and len(sizes) < 80:  # a block in each call is more;
                        for _ in range(40):  # the interpreter's lists of free blocks get full
                            self.attempt(operation, x, i, 1 << 30)
                        nx.zeros(()).realize()  # what was released is freed in an action
                        gc.collect()
                        sizes.append(tracemalloc.get_traced_memory()[0])
                        grown = sizes[-1] - sizes[-2]
                    self.assertLess(grown, 40 * 16, sizes[-5:])
        finally:
            tracemalloc.stop()

    def test_nothing_is_lost(self):
        def held():
            gc.collect()
            nx.realize(nx.zeros(()))
            return nx.stats()["live_bytes"]

        def use():
            y = nx.ones(100000) + 1
            y.realize()
            return nx.jit(lambda x: (x * 2, Pair(x + 1, x)))(y)

        use()
        before = held()
        for n in range(200):
            self.attempt(lambda x, i: use(), None, None, n)
        self.assertLessEqual(held(), before)


if __name__ == "__main__":
    unittest.main()
