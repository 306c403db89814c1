# SPDX-License-Identifier: ISC
"""What the extension does: captured functions, assignments and views, memory shared with others,
errors and where they come from, signals, threads, and that nothing is lost or leaks. Needs NumPy in
parts alone. The program of docs/python.md runs, too."""

import gc
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

from common import needs_numpy, not_sanitized, np, nx

PAGE = Path(__file__).resolve().parents[2] / "docs/python.md"


def live():
    gc.collect()
    nx.realize(nx.zeros(()))  # an action, in which what was released is freed
    return nx.stats()["live_bytes"]


class Captured(unittest.TestCase):
    def test_structures(self):
        @nx.jit
        def f(x, options, *, by=2.0):
            y = x * options["k"][0] + by
            return {"y": y, "parts": (nx.sum(y), [x, None])}, "text"

        x = nx.asarray([1.0, 2.0])
        for k in 2.0, 5.0:
            got, text = f(x, {"k": [k]}, by=1.0)
            self.assertEqual(got["y"].tolist(), [k + 1, 2 * k + 1])
            self.assertEqual(float(got["parts"][0]), 3 * k + 2)
            self.assertEqual(got["parts"][1][0].tolist(), [1.0, 2.0])
            self.assertIsNone(got["parts"][1][1])
            self.assertEqual(text, "text")
        self.assertEqual(f.traces, 1)
        f(nx.asarray([1.0, 2.0, 3.0]), {"k": [2.0]})
        f(x, {"k": [2]})  # an integer is another dtype
        self.assertEqual(f.traces, 3)

    def test_numbers_are_weak(self):
        x = nx.ones(3, dtype="float32")
        self.assertEqual(nx.jit(lambda x, k: x * k)(x, 0.5).dtype, nx.float32)
        self.assertEqual(nx.jit(lambda x, k: x * (k + 1))(x, 2).dtype, nx.float32)
        self.assertEqual(nx.jit(lambda k: k)(2.0).dtype, nx.float64)
        whole = nx.asarray([1, 2], dtype="int8")
        self.assertEqual(nx.jit(lambda x, k: x * k)(whole, 0.5).dtype, nx.float64)
        self.assertEqual(nx.jit(lambda x, k: x + k)(whole, 1).dtype, nx.int8)

    def test_other_objects_are_fixed(self):
        f = nx.jit(lambda x, how: nx.sum(x) if how == "sum" else nx.prod(x))
        x = nx.asarray([2.0, 3.0])
        self.assertEqual((float(f(x, "sum")), float(f(x, "prod")), float(f(x, "sum"))), (5, 6, 5))
        self.assertEqual(f.traces, 2)
        with self.assertRaises(TypeError):
            f(x, bytearray(b"no hash"))

    def test_values_are_unknown(self):
        f = nx.jit(lambda x: x + 1 if nx.sum(x) > 0 else x)
        with self.assertRaises(nx.Unbound) as e:
            f(nx.ones(3))
        self.assertIn("test_core.py", str(e.exception))
        self.assertEqual((nx.ones(2) + 1).tolist(), [2, 2])  # the capture has ended

    def test_exceptions_end_a_capture(self):
        def f(x):
            x + 1
            raise KeyError("mine")

        try:
            nx.jit(f)(nx.ones(3))
        except KeyError as e:
            kept = e  # and with it the frame of f
        y = nx.zeros(2)
        y[0] = 1  # would only be noted in a capture
        self.assertEqual(y.tolist(), [1, 0])
        self.assertIsNotNone(kept.__traceback__)

    def test_assignments(self):
        total = nx.zeros(2)

        @nx.jit
        def add(x):
            total[...] = total + x
            return total * 1

        one = nx.ones(2)
        self.assertEqual([add(one).tolist() for _ in range(3)], [[1, 1], [2, 2], [3, 3]])
        self.assertEqual(total.tolist(), [3, 3])

    def test_inner_functions(self):
        inner = nx.jit(lambda x: x * 2)
        outer = nx.jit(lambda x: inner(x) + inner(x + 1))
        self.assertEqual(outer(nx.asarray([1.0])).tolist(), [6.0])
        self.assertEqual(inner.traces, 0)

    def test_methods(self):
        class Model:
            def __init__(self, w):
                self.w = w

            @nx.jit
            def __call__(self, x):
                return x * self.w

        m = Model(nx.asarray(3.0))
        self.assertEqual(float(m(nx.asarray(2.0))), 6)
        m.w[...] = 4.0
        self.assertEqual(float(m(nx.asarray(2.0))), 8)

    def test_donation(self):
        f = nx.jit(lambda x, y: (x + y, y), donate=0)
        x, y = nx.ones(4).realize(), nx.ones(4)
        self.assertEqual(f(x, y)[0].tolist(), [2] * 4)
        with self.assertRaises(nx.Donated):
            x.tolist()
        self.assertEqual(y.tolist(), [1] * 4)

    def test_results_that_are_arguments(self):
        def step(x, y):
            x[0] += 1
            return x, y * 1, x

        x, y = nx.zeros(2), nx.ones(2)
        a, b, c = nx.jit(step)(x, y)
        self.assertIs(a, x)
        self.assertIs(c, x)
        self.assertEqual((x.tolist(), b.tolist()), ([1, 0], [1, 1]))
        whole = nx.zeros(4)
        nx.jit(step)(whole[1:3], y)  # a view, which shows in the whole
        self.assertEqual(whole.tolist(), [0, 1, 0, 0])
        a, b, c = nx.jit(step, donate=0)(x.copy(), y)
        self.assertEqual((a.tolist(), c.tolist()), ([2, 0], [2, 0]))

    def test_odd_structures(self):
        class Pair(tuple):
            pass

        f = nx.jit(lambda p: type(p)([p[0] + 1, p[1]]))
        got = f(Pair([nx.zeros(1), 3.0]))
        self.assertIsInstance(got, Pair)
        self.assertEqual(got[0].tolist(), [1])
        own = []
        own.append(own)
        with self.assertRaises(RecursionError):
            nx.jit(lambda x: x)(own)
        with self.assertRaises((RecursionError, ValueError)):
            nx.asarray(own)

    def test_dump(self):
        f = nx.jit(lambda x: nx.exp(x) + 1)
        self.assertIn("exp", f.dump("graph", nx.ones(3)))
        with self.assertRaises(ValueError):
            f.dump("nothing", nx.ones(3))

    @not_sanitized
    def test_the_program_of_the_page(self):
        program = re.search(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S).group(1)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(float(done.stdout.split()[0]), 0.2)


class Functions(unittest.TestCase):
    def test_python_is_called(self):
        def both(x, y):
            return [2 * v for v in x.tolist()], x @ y

        x = nx.asarray([1.0, 2.0])
        a, b = nx.custom(both, x, x + 1, results=[((2,), "float64"), ((), float)])
        self.assertEqual(((a + 1).tolist(), float(b)), ([3, 5], 8))
        f = nx.jit(lambda x: nx.custom(lambda x: x.tolist()[::-1], x, results=((2,), float)) * 2)
        self.assertEqual([f(x).tolist(), f(x * 3).tolist()], [[4, 2], [12, 6]])

    def test_order(self):
        seen, order = [], nx.token()
        for i in range(5):
            nx.custom(lambda x: seen.append(int(x)), nx.asarray(i), results=[], order=order)
        self.assertEqual(seen, [])
        order.realize()
        order.realize()
        self.assertEqual(seen, [0, 1, 2, 3, 4])

    def test_exceptions_come_through(self):
        class Mine(Exception):
            pass

        def raises(x):
            raise Mine("no such thing")

        y = nx.custom(raises, nx.ones(2), results=((2,), float))
        with self.assertRaises(Mine) as e:
            (y + 1).realize()
        self.assertIn("no such thing", str(e.exception))
        for wrong in (lambda x: [1.0], lambda x: "text", lambda x: (x, x)):
            with self.assertRaises((ValueError, TypeError)):
                nx.custom(wrong, nx.ones(2), results=((2,), float)).realize()
        with self.assertRaises(ValueError):
            nx.custom(raises, *[nx.ones(1)] * 16, results=((2,), float))
        with self.assertRaisesRegex(ValueError, r"result 0 has the shape \(3,\), not \(2,\)"):
            nx.custom(lambda x: nx.ones(3), nx.ones(2), results=((2,), float)).realize()
        self.assertEqual(nx.ones(2).tolist(), [1, 1])

    def test_functions_go_with_their_results(self):
        import weakref

        class Callable:
            def __call__(self, x):
                return x

        function = Callable()
        gone = weakref.ref(function)
        y = nx.custom(function, nx.ones(2), results=((2,), float))
        y.realize()
        del function, y
        live()
        live()
        self.assertIsNone(gone())

    def test_programs_in_text(self):
        program = """nxir 2
graph @twice(%0: f32[3]) -> (%1) {
  %1 = add %0, %0 : f32[3]
}
"""
        f = nx.parse(program)
        self.assertEqual(f(nx.asarray([1, 2, 3], dtype="float32")).tolist(), [2, 4, 6])
        with self.assertRaises(nx.ParseError) as raised:
            nx.parse("nxir 2\ngraph")
        self.assertEqual(raised.exception.where[1], sys._getframe().f_lineno - 1)
        with self.assertRaises(ValueError):
            f(nx.ones(3))
        there = nx.asarray([1, 2, 3], dtype="float32", device="interp")
        with self.assertRaises(nx.InvalidArgument):
            f(there)
        y = nx.parse(program, device="interp")(there)
        self.assertEqual((y.device, y.tolist()), ("interp", [2, 4, 6]))
        for wrong in ({"device": "moon"}, {"place": "cpu"}):
            with self.assertRaises((ValueError, TypeError)):
                nx.parse(program, **wrong)
        with self.assertRaises(TypeError):
            nx.parse(3)

    def test_reports(self):
        x = nx.ones(100000) + nx.arange(100000.0)
        told = nx.report(nx.sum(nx.exp(-x)))
        self.assertEqual(told["runs"], 1)
        self.assertGreater(told["bytes"], 0)
        self.assertIn("total_ms", told)


class Views(unittest.TestCase):
    def test_assignments_show_through_views(self):
        x = nx.zeros((3, 4))
        row, turned = x[1], x.T
        row[...] = 5
        turned[0, :] += 1
        self.assertEqual(x.tolist(), [[1, 0, 0, 0], [6, 5, 5, 5], [1, 0, 0, 0]])
        y = x * 1
        x[...] = 0  # y was recorded before
        self.assertEqual(y.tolist()[1], [6, 5, 5, 5])
        self.assertEqual(row.tolist(), [0] * 4)

    def test_in_place_keeps_the_dtype(self):
        i = nx.asarray([1, 2], dtype="int32")
        i *= 3
        self.assertEqual((i.tolist(), i.dtype), ([3, 6], nx.int32))
        with self.assertRaises(TypeError):
            i += 0.5
        with self.assertRaises(ValueError):
            i += nx.ones((2, 2), dtype="int32")
        self.assertEqual(i.tolist(), [3, 6])

    def test_numbers_that_do_not_fit(self):
        b = nx.asarray([1, 2], dtype="uint8")
        with self.assertRaises(OverflowError):
            b + 256
        with self.assertRaises(OverflowError):
            b[0] = -1
        self.assertEqual((b < 256).tolist(), [True, True])
        self.assertEqual((b == -1).tolist(), [False, False])
        self.assertEqual((-(2**70) < b).tolist(), [True, True])
        large = nx.asarray([2**63], dtype="uint64")
        self.assertEqual((large > nx.asarray([-1])).tolist(), [True])
        self.assertEqual((nx.asarray([-1]) >= large).tolist(), [False])


class Shared(unittest.TestCase):
    @needs_numpy
    def test_buffers(self):
        x = nx.asarray([[1.0, 2], [3, 4]])
        seen = np.asarray(x.T)
        self.assertEqual(seen.tolist(), [[1, 3], [2, 4]])
        self.assertFalse(seen.flags.writeable)
        with self.assertRaises(BufferError):
            np.frombuffer(x.T)
        a = np.arange(6, dtype=np.int16).reshape(2, 3)[:, ::-1]
        copied = nx.asarray(a)
        a[...] = 0
        self.assertEqual(copied.tolist(), [[2, 1, 0], [5, 4, 3]])
        with self.assertRaises(TypeError):
            nx.asarray(np.array(["a"]))
        self.assertEqual(nx.asarray(np.arange(3, dtype=">i4")).tolist(), [0, 1, 2])

    @needs_numpy
    def test_memory_is_shared(self):
        a = np.zeros(4, np.float32)
        x = nx.asarray(a, copy=False)
        a[1] = 3
        self.assertEqual((x * 2).tolist(), [0, 6, 0, 0])
        x[0] = 7
        self.assertEqual(a.tolist(), [7, 3, 0, 0])
        y = nx.from_dlpack(a)
        y[3] = 1
        self.assertEqual(a[3], 1)
        b = np.from_dlpack(nx.ones(3))
        self.assertEqual(b.tolist(), [1, 1, 1])

    @needs_numpy
    def test_views_outlive_arrays(self):
        seen = np.asarray(nx.arange(1000.0) + 1)
        gc.collect()
        nx.realize(*[nx.ones(1000) * i for i in range(20)])
        self.assertEqual(seen[-1], 1000)
        a = np.arange(10.0)
        x = nx.asarray(a, copy=False)
        del a
        self.assertEqual(float(nx.sum(x)), 45)

    @needs_numpy
    def test_numpy_leaves_operations_to_nx(self):
        got = np.ones(3) + nx.ones(3)
        self.assertIsInstance(got, nx.Array)
        self.assertEqual((np.float32(2) * nx.ones(2, dtype="float32")).tolist(), [2, 2])

    def test_odd_exporters(self):
        class Odd:
            def __dlpack__(self, **words):
                raise RuntimeError("no memory of mine")

        with self.assertRaises(RuntimeError):
            nx.from_dlpack(Odd())
        with self.assertRaises(TypeError):
            nx.asarray(object())
        with self.assertRaises(ValueError):
            nx.asarray([[1, 2], [3]])


class Errors(unittest.TestCase):
    def test_they_are_two_classes(self):
        for call, kind in (
            (lambda: nx.ones(2) @ nx.ones(3), ValueError),
            (lambda: nx.sin(nx.asarray([True])) << 1, TypeError),
            (lambda: nx.ones(2)[5], IndexError),
        ):
            with self.assertRaises(kind):
                call()
        with self.assertRaises(nx.LinAlgError):
            nx.linalg.inv(nx.zeros((2, 2))).realize()

    def test_the_line_that_recorded(self):
        x = nx.asarray([1.0, 2.0])
        bad = nx.take(x, nx.asarray([0, 9]) + 0)  # this line
        with self.assertRaises(IndexError) as e:
            bad.realize()
        text = Path(__file__).read_text().splitlines()[e.exception.where[1] - 1]
        self.assertIn("this line", text)
        self.assertEqual(e.exception.where[2], "test_the_line_that_recorded")

    def test_nothing_is_lost(self):
        x = nx.ones(4)
        bad = nx.take(x, nx.asarray([7]) + 0)
        good = x + 1
        with self.assertRaises(IndexError):
            nx.realize(bad, good)
        self.assertEqual(good.tolist(), [2] * 4)

    @not_sanitized
    def test_signals(self):
        def stop(*_):
            raise KeyboardInterrupt

        old = signal.signal(signal.SIGALRM, stop)
        x = nx.ones((1500, 1500))
        try:
            began = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with self.assertRaises(KeyboardInterrupt):
                for _ in range(200):
                    x = x @ x / 1500
                    x.realize()
            self.assertLess(time.monotonic() - began, 5)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)

    @not_sanitized
    def test_signals_at_the_end(self):
        """Also what comes when an operation is just done is raised, and as itself."""

        def stop(*_):
            raise KeyboardInterrupt

        old = signal.signal(signal.SIGALRM, stop)
        x = nx.ones((700, 700))
        try:
            for i in range(60):
                y = x
                with self.assertRaises(KeyboardInterrupt):
                    signal.setitimer(signal.ITIMER_REAL, 0.01 + 0.0005 * i)
                    while True:
                        y = y @ x / 700
                        y.realize()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)

    @not_sanitized
    def test_signals_stop_functions(self):
        """A function of Python is told, too, that its caller is; its results have not failed, and
        the next one on its thread is told nothing."""

        def stop(*_):
            raise KeyboardInterrupt

        def slow(x):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                pass
            return x + 1

        def nested(x):
            while seconds > 1:
                (x + 1).realize()
            return x + 1

        old = signal.signal(signal.SIGALRM, stop)
        try:
            for f in (slow, nested):
                seconds, y = 20, nx.custom(f, nx.ones(2), results=((2,), float))
                for _ in range(3):
                    began = time.monotonic()
                    signal.setitimer(signal.ITIMER_REAL, 0.1)
                    with self.assertRaises(KeyboardInterrupt):
                        y.realize()
                    self.assertLess(time.monotonic() - began, 10)
                    self.assertEqual(nx.custom(lambda x: x, nx.ones(2),
                                               results=((2,), float)).tolist(), [1, 1])
                seconds = 0
                self.assertEqual(y.tolist(), [2, 2])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)

    @needs_numpy
    @not_sanitized
    def test_signals_reach_numpy(self):
        """NumPy forgets what a buffer fails with, and would have it computed once more."""

        def stop(*_):
            raise KeyboardInterrupt

        old = signal.signal(signal.SIGALRM, stop)
        try:
            for make in (np.asarray, np.array, memoryview):
                x = y = nx.ones((1500, 1500))
                for _ in range(200):
                    y = y @ x / 1500
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                with self.assertRaises(KeyboardInterrupt):
                    make(y)
            self.assertEqual(np.asarray(x[:2, 0]).tolist(), [1, 1])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)

    @not_sanitized
    def test_signals_in_lapack(self):
        """One call of LAPACK goes on by itself, and nobody waits for it: not what is computed next,
        and not the end of the process."""
        program = """if True:
            import signal, sys, time, nx
            n = 1500
            x = nx.random.normal(nx.random.key(1), (n, n), dtype=nx.float64).realize()
            late = []
            def stop(*_):
                late.append(time.monotonic())
                raise KeyboardInterrupt
            signal.signal(signal.SIGALRM, stop)
            linalg = nx.linalg
            for make in (linalg.eigvals, linalg.svdvals, lambda x: linalg.eigh(x)[0]):
                y = make(x)
                signal.setitimer(signal.ITIMER_REAL, 0.15)
                try:
                    y.realize()
                except KeyboardInterrupt:
                    print(time.monotonic() - late.pop())
                signal.setitimer(signal.ITIMER_REAL, 0)
            assert (nx.ones((300, 300)) @ nx.ones((300, 300)))[7, 7].item() == 300
            print(linalg.eigh(nx.eye(600))[0][5].item(), flush=True)"""
        began = time.monotonic()
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        *late, value = map(float, done.stdout.split())
        self.assertEqual(value, 1)
        self.assertLess(max(late), 3)  # on a machine with other work; else 0.02
        self.assertLess(time.monotonic() - began, 60)

    @not_sanitized
    def test_progress(self):
        program = """if True:
            import sys, nx
            nx.progress(True)
            x = nx.ones((1200, 1200))
            for _ in range(100):
                x = x @ x / 1200
            x.realize()"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"nx: \d+\.\d s, \d+ kernels compiled, \d+ MiB in use")

    def test_threads(self):
        f = nx.jit(lambda x, k: nx.sum(nx.sin(x) * k))
        x, wrong = nx.arange(1000.0), []
        wanted = [float(nx.sum(nx.sin(x) * k)) for k in range(8)]

        def work(k):
            for _ in range(20):
                if float(f(x, float(k))) != wanted[k] or float(nx.sum(nx.sin(x) * k)) != wanted[k]:
                    wrong.append(k)

        workers = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        self.assertEqual(wrong, [])


class Memory(unittest.TestCase):
    @not_sanitized
    def test_loops_do_not_grow(self):
        x = nx.zeros(1000)
        for i in range(30000):
            x = x + 1
        self.assertLess(nx.stats()["pending_nodes"], 25000)
        self.assertEqual(x[:2].tolist(), [30000, 30000])

    def test_nothing_leaks(self):
        f = nx.jit(lambda x: (x + 1, {"a": x * 2}))

        def use():
            x = nx.ones(10000)
            f(x)
            y = x[1:]
            y[...] = 3
            memoryview(x).release()
            try:
                x @ nx.ones(3)
            except ValueError:
                pass
            try:
                nx.jit(lambda x: 1 / 0)(x)
            except ZeroDivisionError:
                pass
            return float(nx.sum(x))

        use()
        before = live()
        for _ in range(50):
            use()
        self.assertLessEqual(live(), before)


if __name__ == "__main__":
    unittest.main()
