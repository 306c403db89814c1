# SPDX-License-Identifier: ISC
"""Functions of nx.custom that fail: what is raised, with which note of where, and how deep they may
call each other."""

import gc
import subprocess
import sys
import traceback
import unittest
import weakref

from common import SANITIZED, nx

ONE = ((3,), "float64")
X = nx.arange(3.0)


def line_here():
    return sys._getframe(1).f_lineno


class Errors(unittest.TestCase):
    def check(self, function, kind, words):
        """Raised with a note of the line of the call, whoever asks for what."""
        y, line = nx.custom(function, X, results=ONE), line_here()

        @nx.jit
        def captured(x):
            return nx.custom(function, x, results=ONE) * 2

        inner = captured.__wrapped__.__code__.co_firstlineno + 2
        for ask, where in ((y.tolist, line), ((y + 1).realize, line),
                           (lambda: captured(X).realize(), inner)):
            try:  # assertRaises forgets the traceback
                self.fail(ask())
            except kind as caught:
                e = caught
            self.assertRegex(str(e), words)
            self.assertEqual(e.__notes__, [f"nx.custom: recorded in {__file__}, line {where}"])
            yield e, where

    def test_what_it_raises_has_the_line(self):
        class Mine(KeyError):
            pass

        def raises(x):
            raise Mine("no such thing")

        for e, line in self.check(raises, Mine, "no such thing"):
            self.assertIs(type(e), Mine)
            self.assertEqual(e.where[:2], (__file__, line))
            names = [f.name for f in traceback.extract_tb(e.__traceback__)]
            self.assertEqual(names[-1], "raises")

    def test_wrong_results_have_the_line(self):
        for f, kind, words in (
                (lambda x: nx.ones(4), ValueError, r"result 0 has the shape \(4,\), not \(3,\)"),
                (lambda x: None, TypeError, "None is no array"),
                (lambda x: (x, x), ValueError, "not 1 results")):
            for e, line in self.check(f, kind, words):
                self.assertEqual(e.where[:2], (__file__, line))

    def test_results_of_another_kind(self):
        """As NumPy's casting "same_kind": no fractions, imaginary parts or signs are lost."""
        for said, given in (("float64", nx.asarray([1 + 2j])), ("int32", nx.asarray([1.5])),
                            ("uint8", nx.asarray([300])), ("uint8", [nx.asarray(300)]),
                            ("bool", nx.asarray([2])), ("int32", [1.5]), ("float32", [1j])):
            with self.assertRaisesRegex(TypeError, f"result 0 has the dtype .*not {said}"):
                nx.custom(lambda x: given, X, results=((1,), said)).tolist()
        for said, given, is_ in (
                ("complex64", [1.5], 1.5), ("uint8", [200], 200), ("int8", [True], 1),
                ("uint64", [2**64 - 1], 2**64 - 1), ("float64", [10**30], 1e30),
                ("float32", nx.asarray([3]), 3), ("int8", nx.asarray([7]), 7),
                ("int16", nx.asarray([9], dtype="uint16"), 9)):
            y = nx.custom(lambda x: given, X, results=((1,), said))
            self.assertEqual((y.dtype.name, y.tolist()), (said, [is_]))
        empty = nx.custom(lambda x: [], X, results=((0,), "uint8"))
        self.assertEqual(empty.tolist(), [])
        with self.assertRaises(OverflowError):
            nx.custom(lambda x: [300], X, results=((1,), "uint8")).tolist()

    def test_an_error_inside_keeps_its_place(self):
        inside = line_here() + 3

        def outside(x):
            return x[nx.asarray([7])].tolist()

        for e, line in self.check(outside, IndexError, "index 7"):
            self.assertEqual(e.where[:2], (__file__, inside))
            self.assertNotEqual(line, inside)

    def test_classes_that_take_no_notes(self):
        class Stiff(Exception):
            where = "mine"

            def __setattr__(self, name, value):
                raise AttributeError(name)

            def add_note(self, note):
                raise RuntimeError("no notes")

        def raises(x):
            raise Stiff("stiff")

        with self.assertRaisesRegex(Stiff, "stiff") as raised:
            nx.custom(raises, X, results=ONE).realize()
        self.assertEqual(raised.exception.where, "mine")

    def test_one_note_for_one_line(self):
        same = ValueError("the same again")

        def raises(x):
            raise same

        y = nx.custom(raises, X, results=ONE)
        for _ in range(3):
            with self.assertRaises(ValueError):
                y.realize()
        self.assertEqual(len(same.__notes__), 1)


class Life(unittest.TestCase):
    def test_functions_that_hold_their_results(self):
        """They go when these are computed, which happens when much waits, if nobody asks."""

        class Function:
            def __call__(self, x):
                return x + 1

        function = Function()
        gone = weakref.ref(function)
        function.result = nx.custom(function, X, results=ONE) * 2
        del function
        y = X
        for _ in range(21_000):
            y = y + 1
        (y + 1).realize()
        nx.ones(1).realize()
        gc.collect()
        self.assertIsNone(gone())


    def test_captured_functions_that_hold_themselves(self):
        """Objects whose methods are captured, and called by what was captured, are collected."""

        class Model:
            def __init__(self):
                self.step = nx.jit(self.compute)

            def called(self, x):
                return x + 1

            def compute(self, x):
                a, b = (nx.custom(self.called, x * i, results=ONE) for i in (1, 2))
                return a * b

        model = Model()
        self.assertEqual([model.step(X).tolist() for _ in range(2)], [[1, 6, 15]] * 2)
        gc.collect()
        self.assertEqual(model.step(X).tolist(), [1, 6, 15])
        gone, step = weakref.ref(model), model.step
        del model
        gc.collect()
        self.assertEqual(step(X).tolist(), [1, 6, 15])
        del step
        gc.collect()
        self.assertIsNone(gone())


class Depth(unittest.TestCase):
    def test_recursion_ends(self):
        depth = []

        def calls_itself(x):
            depth.append(1)
            return nx.custom(calls_itself, x, results=ONE).realize()

        with self.assertRaisesRegex(RecursionError, "calls are nested deeper than 64") as raised:
            calls_itself(X)
        self.assertIsInstance(raised.exception, nx.TooDeep)
        self.assertIsInstance(raised.exception, nx.Error)
        self.assertEqual(len(depth), 65)
        self.assertEqual((X + 1).tolist(), [1, 2, 3])

    def test_recursion_of_two_that_record_alone(self):
        def one(x):
            return nx.custom(two, x + 1, results=ONE)

        def two(x):
            return nx.custom(one, x + 1, results=ONE)

        for _ in range(2):
            with self.assertRaises(RecursionError):
                one(X).tolist()

    def test_below_it_all_is_well(self):
        def down(x):
            if x[0] == 0:
                return x
            return nx.custom(down, x - 1, results=ONE) + 1

        for n in (3, 63):
            self.assertEqual(nx.custom(down, X + n, results=ONE).tolist(), (X + n).tolist())
        with self.assertRaises(RecursionError):
            nx.custom(down, X + 64, results=ONE).tolist()

    @unittest.skipIf(SANITIZED, "a sanitizer needs the addresses")
    def test_with_little_memory(self):
        program = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
import nx
def rec(a):
    return nx.custom(rec, a, results=((3,), "float64")).realize()
try:
    rec(nx.arange(3.0))
except (RecursionError, MemoryError):
    print(nx.arange(3).tolist())
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "[0, 1, 2]\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
