# SPDX-License-Identifier: ISC
"""What a captured function must not get wrong in silence: arguments that share memory, objects that
are equal and yet others, results that no call could give again, values read in the middle of a
capture. Each is either what the function gives without nx.jit, or an exception."""

import functools
import gc
import struct
import subprocess
import sys
import threading
import types
import unittest
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction

from common import needs_numpy, np, nx


class Memory(unittest.TestCase):
    """Arguments that are one array, or views of it, where the function assigns."""

    def same(self, f, arguments):
        seen = []
        for g in (f, nx.jit(f), nx.jit(f)):
            base, args = arguments()
            seen.append((base.tolist(), [y.tolist() for y in g(*args)], base.tolist()))
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0], seen[2])

    def test_an_array_twice(self):
        def f(x, y):
            x[...] = x + 1
            return x * 1, y * 2

        def twice():
            x = nx.zeros(2)
            return x, (x, x)

        def views():
            x = nx.zeros(4)
            return x, (x[:3], x[1:])

        def apart():
            x = nx.zeros(4)
            return x, (x[:2], x[2:])

        for arguments in (twice, views, apart):
            self.same(f, arguments)

    def test_views_that_are_apart_are_captured(self):
        calls = []

        @nx.jit
        def f(x, y):
            calls.append(1)
            x += y
            return x

        base = nx.arange(4.0)
        for _ in range(3):
            f(base[:2], base[2:])
        self.assertEqual((len(calls), base.tolist()), (1, [6, 10, 2, 3]))
        f(base[:2], base[1:3])  # captured as the others were, and then called as it is
        self.assertEqual((len(calls), base.tolist()), (2, [16, 12, 2, 3]))

    def test_an_array_from_outside(self):
        w = nx.zeros(3)

        def assigns_outside(x):
            w[...] = w + 1
            return x * 1, w * 1

        def assigns_inside(x):
            x[...] = x + 1
            return w * 1, x * 1

        for f in (assigns_outside, assigns_inside):
            seen = []
            for g in (f, nx.jit(f)):
                w[...] = 0
                seen.append([[y.tolist() for y in g(w)] for _ in range(2)] + [w.tolist()])
            self.assertEqual(seen[0], seen[1])

    def test_without_arguments(self):
        count = nx.zeros(())

        @nx.jit
        def f(how=""):
            count[...] += 1
            return count * 1

        self.assertEqual([float(f()), float(f()), float(f("a")), float(f("a"))], [1, 2, 3, 4])
        self.assertEqual((float(count), f.traces), (4, 2))

    def test_results_that_are_one_array(self):
        a, b, c = nx.jit(lambda x: (x, y := x + 1, y)[1:] + (x,))(nx.zeros(2))
        a[...] = 7
        self.assertIs(a, b)
        self.assertEqual(c.tolist(), [0, 0])

    @needs_numpy
    def test_memory_that_others_write(self):
        w, n = nx.ones(2), np.zeros(2)
        shared = nx.asarray(n, copy=False)
        f, g = nx.jit(lambda x: x + w), nx.jit(lambda x: x + shared)
        zero = nx.zeros(2)
        seen = [f(zero).tolist(), g(zero).tolist()]
        struct.pack_into("d", w, 8, 5.0)
        n[0] = 5
        seen += [f(zero).tolist(), g(zero).tolist(), f(shared).tolist()]
        self.assertEqual(seen, [[1, 1], [0, 0], [1, 5], [5, 0], [6, 5]])

    def test_donation(self):
        def f(x, y):
            return x + y, x - y

        x = nx.ones(3).realize()
        self.assertEqual([y.tolist() for y in nx.jit(f, donate=(0, 1))(x, x)], [[2] * 3, [0] * 3])
        x = nx.ones(3).realize()
        self.assertEqual(nx.jit(f, donate=0)(x, x)[0].tolist(), [2] * 3)
        whole = nx.ones(3).realize()
        part = whole[1:]
        later = part * 2  # recorded before
        nx.jit(lambda x: x + 1, donate=0)(whole)
        self.assertEqual(later.tolist(), [2, 2])
        for gone in (whole, part):
            with self.assertRaises(nx.Donated):
                gone.tolist()
        for wrong in (-1, True, "x", [0, -2]):
            with self.assertRaises(ValueError):
                nx.jit(f, donate=wrong)


class Objects(unittest.TestCase):
    def test_equal_objects_of_other_types(self):
        f = nx.jit(lambda x, k: x + (1 if isinstance(k, Decimal) else 2))
        x = nx.zeros(())
        self.assertEqual([float(f(x, Decimal(1))), float(f(x, Fraction(1)))], [1, 2])
        keys = nx.jit(lambda d: {k: v + 1 for k, v in d.items()})
        for key in 1, True, 1.0:
            self.assertIs(type(*keys({key: x})), type(key))
        self.assertEqual(keys.traces, 3)

    def test_enumerations(self):
        class Mode(IntEnum):
            A = 1
            B = 2

        f = nx.jit(lambda x, m: x + 1 if m is Mode.A else x + 2)
        self.assertEqual([float(f(nx.zeros(()), m)) for m in Mode], [1, 2])

    def test_structures_that_look_alike(self):
        class P(tuple):
            def __new__(cls, items):
                return tuple.__new__(cls, items)

        f = nx.jit(lambda a, b: (type(a).__name__, type(b).__name__))
        x = nx.ones(1)
        self.assertEqual(f((P, x), P([x, x])), ("tuple", "P"))
        self.assertEqual(f(P([x, (P, x)]), x), ("P", "Array"))

    def test_dataclasses(self):
        @dataclass
        class State:
            w: nx.Array
            rate: float
            name: str = field(default="s")

        @dataclass(frozen=True)
        class Fixed:
            w: nx.Array

        @nx.jit
        def f(s):
            if isinstance(s, Fixed):
                return Fixed(s.w * 2)
            return State(s.w - s.rate, s.rate / 2, s.name)

        s = State(nx.ones(2), 1.0)
        got = f(s)
        f(State(nx.zeros(2), 2.0))
        self.assertEqual((got.w.tolist(), float(got.rate), got.name), ([0, 0], 0.5, "s"))
        self.assertEqual(s.rate, 1.0)
        self.assertEqual(f.traces, 1)
        self.assertEqual(f(Fixed(nx.ones(1))).w.tolist(), [2])

    def test_dicts_and_tuples_of_other_types(self):
        Pair = namedtuple("Pair", "a b")
        f = nx.jit(lambda d: (type(d)(d), Pair(d["a"] + 1, None)))
        d = defaultdict(list, a=nx.ones(1))
        for given in (OrderedDict(a=nx.ones(1)), {"a": nx.ones(1)}):
            got, pair = f(given)
            self.assertIs(type(got), type(given))
            self.assertEqual((got["a"].tolist(), pair.a.tolist(), pair.b), ([1], [2], None))
        got = nx.jit(lambda d: d)(d)
        self.assertEqual((type(got), got["b"]), (defaultdict, []))

    def test_results_that_no_call_could_give(self):
        def generator(x):
            yield x

        class Holder:
            def __init__(self, x):
                self.x = x

        for f in (generator, lambda x: {1, 2}, lambda x: iter([x]), Holder,
                  lambda x: types.SimpleNamespace(x=x), lambda x: bytearray(b"ab")):
            with self.assertRaises(TypeError):
                nx.jit(f)(nx.ones(1))
        self.assertEqual((nx.ones(1) + 1).tolist(), [2])

    def test_functions_that_hold_what_is_captured(self):
        def nested(x):
            held = [{"x": x}]
            return lambda: lambda: held

        for f in (lambda x: lambda: x + 1, lambda x: (x, lambda y=x: y), lambda x: x.sum, nested,
                  lambda x: functools.partial(nx.add, x), lambda x: functools.partial(max, k=[x])):
            with self.assertRaisesRegex(TypeError, "a captured function gives arrays"):
                nx.jit(f)(nx.ones(1))

        class Node:  # objects without arrays that hold each other
            pass

        nodes = [Node() for _ in range(300)]
        for n in nodes:
            n.others = nodes
        got = nx.jit(lambda x: (x, nodes[0], len, nx.add, functools.partial(max, 1)))(nx.ones(1))
        self.assertEqual((got[1:4], got[4](0)), ((nodes[0], len, nx.add), 1))

    def test_arguments_that_are_changed(self):
        def put(d, x):
            d["w"] = x

        def grow(d, x):
            d["l"].append(x)

        def text(d, x):
            d["t"] = "other"

        for f in (put, grow, text):
            with self.assertRaises(TypeError):
                nx.jit(f)({"w": nx.zeros(1), "l": [], "t": "text"}, nx.ones(1))
        self.assertEqual(nx.jit(lambda **d: d.pop("x") + 1)(x=nx.ones(1)).tolist(), [2])

    def test_static(self):
        f = nx.jit(lambda x, n, *, up=True: sum([x] * n) + (1 if up else -1), static=[1, "up"])
        x = nx.ones(())
        self.assertEqual([float(f(x, 3)), float(f(x, 3, up=False)), float(f(x, 2))], [4, 2, 3])
        self.assertEqual(f.traces, 3)

        @nx.jit(static="n", donate=0)
        def g(x, n):
            return x * n if n == 2 else x

        y = nx.ones(2).realize()
        self.assertEqual(g(y, n=2).tolist(), [2, 2])
        with self.assertRaises(nx.Donated):
            y.tolist()
        with self.assertRaises(TypeError):
            f(x, [1])
        with self.assertRaises(ValueError):
            nx.jit(lambda x: x, static=1.5 and [1.5])

    def test_static_by_name_or_number(self):
        def f(x, n, up=True):
            return n == 0 and x or (x + n if up else x - n)

        class Adder:
            def f(self, x, n, up=True):
                return f(x, n, up)

            __call__ = f

        def deep(x, n):
            return x if n == 0 else g(x + 1, n - 1)

        x, a = nx.ones(1), Adder()
        wrapped = functools.wraps(f)(lambda *values, **words: f(*values, **words))
        for made in (f, a.f, a, functools.partial(f, up=True), wrapped):
            for static in (["n", "up"], [1, "up"]):
                g = nx.jit(made, static=static)
                for y in (g(x, 2), g(x, n=2), g(x, 2, up=True), g(n=2, x=x)):
                    self.assertEqual(y.tolist(), [3])
                with self.assertRaisesRegex(TypeError, "unhashable"):
                    g(x, [2])
        g = nx.jit(deep, static="n")
        self.assertEqual(g(x, 3).tolist(), [4])
        with self.assertRaisesRegex(ValueError, "has no such argument"):
            nx.jit(a.f, static=3)

    def test_numbers_stay_weak(self):
        x = nx.ones(1, dtype="float32")
        rate = nx.jit(lambda k: k * 0.5)(2.0)
        self.assertEqual((x * rate).dtype, nx.float32)

    @needs_numpy
    def test_numbers_of_each_kind(self):
        """Of many calls, the first of which are interpreted and the last are done at once."""
        x = nx.asarray([1.5, -2.0, 0.25], dtype=nx.float32)
        f = nx.jit(lambda x, s: x * s)
        g = nx.jit(lambda x, s: nx.where(s, x, -x))
        h = nx.jit(lambda x, a, b: (x + a, (b, x)))
        for i in range(400):
            s = [i, -i / 7, i * 1e-3][i % 3]
            self.assertEqual(f(x, s).tolist(), (x * s).tolist())
            self.assertEqual(f(x, s).dtype, nx.float32)
            self.assertEqual(g(x, i % 2 == 1).tolist(), (x if i % 2 else -x).tolist())
            y, (b, same) = h(x, 2, i + 0.5j)
            self.assertEqual(y.tolist(), (x + 2).tolist())
            self.assertEqual(complex(b), i + 0.5j)
            self.assertIs(same, x)

    def test_scalars_of_numpy_have_a_dtype(self):
        x = nx.ones(1, dtype="float32")
        k = np.float64(2)
        for made in (x * k, k * x, nx.jit(lambda x, k: x * k)(x, k)):
            self.assertEqual((made.dtype, made.tolist()), (nx.float64, [2]))
        self.assertEqual((x * np.float32(2)).dtype, nx.float32)
        self.assertEqual(nx.result_type(x, k), nx.float64)


class Captures(unittest.TestCase):
    def test_what_was_assigned_is_read(self):
        total, seen = nx.zeros(2), []

        def f(x):
            total[...] = total + 1
            seen.extend([total.tolist(), float(total[0]), float(total.sum()),
                         memoryview(total).tolist()])
            total[...] = x
            return x * 1

        f = nx.jit(f)
        f(nx.ones(2))
        self.assertEqual(seen, [[1, 1], 1, 2, [1, 1]])
        self.assertEqual(total.tolist(), [1, 1])

        def g(x):
            total[...] = x
            return float(total[0])

        with self.assertRaises(nx.Unbound) as e:
            nx.jit(g)(nx.ones(2))
        self.assertIn("static", str(e.exception))

    def test_tracers_that_escape(self):
        leak = []
        nx.jit(lambda x: leak.append(x + 1) or x)(nx.ones(1))
        with self.assertRaises(nx.Unbound):
            nx.jit(lambda y: y + leak[0])(nx.ones(1))
        leak[0][...] = 3
        self.assertEqual(leak[0].tolist(), [3])

    def test_recursion_and_callbacks(self):
        @nx.jit
        def forever(x):
            return forever(x)

        with self.assertRaises(RecursionError):
            forever(nx.ones(1))
        depth = []

        def called(x):
            depth.append(1)
            return f(x) + 1 if len(depth) < 3 else x

        f = nx.jit(lambda x: nx.custom(called, x, results=((1,), float)))
        self.assertEqual(f(nx.ones(1)).tolist(), [3])

    def test_other_threads_go_on(self):
        y, seen = nx.zeros(2), []

        def f(x):
            def work():
                y[0] = 1
                seen.append((y.tolist(), nx.jit(lambda z: z + 1)(y).tolist()))

            t = threading.Thread(target=work)
            t.start()
            t.join()
            return x * 2

        self.assertEqual(nx.jit(f)(nx.ones(1)).tolist(), [2])
        self.assertEqual(seen, [([1, 0], [2, 1])])

    def test_functions_are_collected(self):
        import weakref

        class Model:
            pass

        m = Model()
        m.f = nx.jit(lambda x, m=m: x + 1)
        m.f(nx.ones(1))
        gone = weakref.ref(m)
        del m
        gc.collect()
        self.assertIsNone(gone())

    def test_arguments_that_are_not_there(self):
        def f(x, *, n=1):
            return x + n

        for words in ({"static": "m"}, {"donate": 1}, {"static": ["n", 3]}):
            with self.assertRaisesRegex(ValueError, "has no such argument"):
                nx.jit(f, **words)
            with self.assertRaisesRegex(ValueError, "has no such argument"):
                nx.jit(**words)(f)
        nx.jit(f, static=["n", 0], donate=0)
        nx.jit(lambda *x, **words: x[0], static=["m", 5], donate=7)
        nx.jit(max, static="anything")  # it has no signature

    def test_other_processes_and_interpreters(self):
        programs = (
            # work in flight at the end
            "import nx, threading, time\nx = nx.ones((1000, 1000))\ndef work():\n  while True:\n"
            "    (x @ x).realize()\nfor _ in range(2):\n"
            "  threading.Thread(target=work, daemon=True).start()\ntime.sleep(0.2)",
            "import nx, threading, time\ndef endless(x):\n  while True: pass\n"
            "y = nx.custom(endless, nx.ones(2), results=((2,), float))\n"
            "threading.Thread(target=y.realize, daemon=True).start()\ntime.sleep(0.2)",
            "import nx, os\nf = nx.jit(lambda x: nx.sum(x @ x))\nf(nx.ones((9, 9))).realize()\n"
            "pid = os.fork()\nif pid == 0:\n  os._exit(0 if float(f(nx.ones((8, 8)))) == 512 and "
            "float(f(nx.ones((9, 9)))) == 729 else 1)\n"
            "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0",
            "import nx\ntry:\n  from test.support import run_in_subinterp\n"
            "except ImportError: pass\nelse:\n"
            "  assert run_in_subinterp('try: import nx\\nexcept ImportError: pass\\n"
            "else: raise SystemError') == 0\nassert str(nx.ones(1)) == '[1.]'",
        )
        for program in programs:
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                                  timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


@needs_numpy
class AssignedInputs(unittest.TestCase):
    """Arguments that are views, which the function sees in other shapes when it assigns to them."""

    def test_views_are_assigned_in_any_shape(self):
        views = (lambda x: x, lambda x: x[:, ::-1, ::-1, None], lambda x: x.T[None],
                 lambda x: x[0, :, None, ::-1], lambda x: x[:, :, 1::2], lambda x: x[0, ::-1].T)
        writes = (lambda b: b.__setitem__(([0], None, [-1]), 7),
                  lambda b: b.__setitem__(([0], [-1]), b[0, 0] + 1),
                  lambda b: b[None].T.__setitem__(0, 5), lambda b: b[..., None].__iadd__(1),
                  lambda b: b[:, None][::-1].__imul__(3))
        for view in views:
            for write in writes:
                x, n = nx.arange(12).reshape(1, 3, 4), np.arange(12).reshape(1, 3, 4)
                f = nx.jit(lambda b: write(b))
                for _ in range(2):
                    write(view(n)), f(view(x))
                    self.assertEqual(x.tolist(), n.tolist())


if __name__ == "__main__":
    unittest.main()
