# SPDX-License-Identifier: ISC
"""Numbers of Python as arguments of captured functions: what a call gives is what the function
gives without, and numbers that do not need it are no new capture."""

import math
import operator
import random
import unittest

import nx

WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
ALL = ("bool", *WHOLE, "float16", "float32", "float64")
VALUES = [0, 1, -1, 7, 127, 128, 255, 256, -128, -129, 300, 32767, 65536, -40000, 2**31 - 1, 2**31,
          -2**31 - 1, 2**32, 2**40, 2**53 + 1, -2**53 - 1, 2**63 - 1, -2**63, 2**63, 2**64 - 1,
          True, 0.5, -1.5, 300.25, 1e20, -1e300, math.inf, -math.inf, math.nan, -0.0]


def outcome(f, *arguments):
    """What a call gives, or raises, as something to compare."""
    try:
        made = f(*arguments)
    except (AttributeError, OverflowError, ValueError, TypeError, ZeroDivisionError) as error:
        return type(error).__name__
    made = nx.asarray(made)
    return made.dtype.name, repr(made.tolist())


def put(x, n):
    x = x + 0
    x[0] = n
    return x


def put_later(x, n):
    n += 1
    return put(x, n)


OPERATIONS = {
    **{f: getattr(operator, f) for f in ("add", "sub", "mul", "lt", "le", "eq", "ne", "gt", "ge",
                                         "truediv", "floordiv", "mod", "and_", "or_")},
    "reversed": lambda x, n: n - x,
    "maximum": nx.maximum,
    "clip": lambda x, n: nx.clip(x, 0, n),
    "where": lambda x, n: nx.where(x > 1, x, n),
    "full": lambda x, n: nx.full(2, n, dtype=x.dtype),
    "asarray": lambda x, n: nx.asarray(n, dtype=x.dtype),
    "list": lambda x, n: nx.asarray([n, 1], dtype=x.dtype),
    "put": put,
    "put later": put_later,
    "more": lambda x, n: x + (n + 1),
    "much": lambda x, n: x < n * n,
    "negative": lambda x, n: x + -n,
    "magnitude": lambda x, n: x < abs(n),
    "ceiling": lambda x, n: x + -(-n // 2),
}


MADE = {
    "magnitude": abs, "negative one": lambda n: -abs(n), "real": lambda n: n.real,
    "imag": lambda n: n.imag, "conjugate": lambda n: n.conjugate(), "more": lambda n: abs(n) + 1,
    "parts": lambda n: n.real * 2 + n.imag, "of twice": lambda n: (n * 2).imag,
    "of the conjugate": lambda n: abs(n.conjugate()),
    "bits": lambda n: n.bit_length(), "fraction": lambda n: n.as_integer_ratio()[0],
    "round to 1": lambda n: round(n, 1), "+ n > 1": lambda n: (n > 1) * 1,
    "n == 7": lambda n: n == 7,
    "array": nx.asarray, "nx.abs": nx.abs, "nx.negative": nx.negative, "nx.real": nx.real,
    "nx.add": lambda n: nx.add(n, 1), "nx.subtract": lambda n: nx.subtract(2, n),
    "nx.multiply": lambda n: nx.multiply(n, n), "nx.divide": lambda n: nx.divide(n, 2),
    "nx.equal": lambda n: nx.equal(n, 1), "nx.sqrt": nx.sqrt, "nx.conj": nx.conj,
}


class Numbers(unittest.TestCase):
    def test_as_without_capture(self):
        for name, f in OPERATIONS.items():
            captured = nx.jit(f)  # one for all: a capture of one number meets others
            for dtype in ALL:
                x = nx.asarray([0, 1, 1], dtype=dtype)
                for n in VALUES:
                    self.assertEqual(outcome(captured, x, n), outcome(f, x, n), (name, dtype, n))

    def test_what_is_made_of_numbers(self):
        """Parts, magnitudes and comparisons of numbers are numbers, too, and take the dtype of
        what they meet; what nx makes of them alone are arrays, with a dtype of their own."""
        numbers = (3 + 4j, 2.5, 7, True, -2, -1.5 - 2j, 0, -0.0, 300, False, 1j)
        for name, f in MADE.items():
            for dtype in ("float32", "complex64", "int8", "bool", "float16"):
                x = nx.asarray([0, 1, 1], dtype=dtype)
                captured = nx.jit(lambda x, n: x + f(n))
                for n in numbers:
                    if name in ("+ n > 1", "round to 1") and isinstance(n, complex):
                        continue  # Python has no order of them, and does not round them
                    self.assertEqual(outcome(captured, x, n), outcome(lambda: x + f(n)),
                                     (name, dtype, n))
        x = nx.ones(2, dtype="float32")
        for f in (lambda x, n: x * abs(n), lambda x, n: x * (n > 1) * 2,
                  lambda x, n: x * n.real + n.imag, lambda x, n: x * ((n > 1) * 2)):
            g = nx.jit(f)
            for n in (0.1, 1e-3, 2.0, 1e30):
                g(x, n)
            self.assertEqual(g.traces, 1)

    def test_powers(self):
        for dtype in ("int8", "int64", "float64"):
            x = nx.asarray([1, 2, 3], dtype=dtype)
            f = nx.jit(lambda x, n: x**n)
            for n in (2, 0, -1, 3, -2, 1):
                self.assertEqual(outcome(f, x, n), outcome(lambda x, n: x**n, x, n), (dtype, n))
        x = nx.ones(2)
        for f in (lambda n: x * 2**n, lambda n: x * (-3) ** n, lambda n: x * n**3,
                  lambda n: x * n**2 * n):
            g = nx.jit(f)
            for n in (-1, 0, 5, 30, 39, 40, 62, 63, 64, 100):
                self.assertEqual(outcome(g, n), outcome(f, n), n)
        for f in (lambda n: n**-1, lambda n: x * n**-2, lambda n: (n + 1) ** -1 + x):
            g = nx.jit(f)
            for n in (2, -1, 0, 2, 4, -3, 0.5, True):
                self.assertEqual(outcome(g, n), outcome(f, n), n)
        for f in (lambda n: x * n**3, lambda n: x * n**2 * n):
            g = nx.jit(f)
            for n in (2**21, 2**32, -2**31 - 1, -2**32, 2**62):
                self.assertEqual(outcome(g, n), outcome(f, n), n)

    def test_of_numbers_alone(self):
        one = nx.zeros(1)
        programs = [lambda a, b: a * b + one, lambda a, b: (a + b) * (a - b) + one,
                    lambda a, b: a // b + one, lambda a, b: a % b + one,
                    lambda a, b: -a * 3 + b + one, lambda a, b: (a << 3) + b + one,
                    lambda a, b: one + (a * a * a * a + b)]
        numbers = [True, 1, 3, -2, 0, 1000, 10**5, 10**10, -10**10, 2**62]
        for i, f in enumerate(programs):
            g = nx.jit(f)
            for a in numbers:
                for b in numbers:
                    self.assertEqual(outcome(g, a, b), outcome(f, a, b), (i, a, b))

    def test_chance(self):
        draw = random.Random(5)
        f = lambda x, a, b: (x + (a - b)) * (a % 5) < b * a
        g = nx.jit(f)
        for _ in range(200):
            x = nx.asarray([1, 2], dtype=draw.choice(WHOLE))
            a, b = (draw.choice((1, -1)) * draw.getrandbits(draw.choice((2, 5, 9, 20, 40)))
                    for _ in "ab")
            self.assertEqual(outcome(g, x, a, b), outcome(f, x, a, b), (x.dtype, a, b))

    def test_captures(self):
        """Numbers that behave as in an array's dtype share one."""
        x = nx.ones(2, dtype="float32")
        for f in (lambda x, n: x * n, lambda x, n: x * 0.1 / (1 + n), lambda x, n: x[0] * n + n,
                  lambda x, n: x * (n + 1) * 0.5, lambda x, n: x * (1 - 0.9**n)):
            g = nx.jit(f)
            for n in (1, 2, 1000, 10**6, -5, 0, 10**9):
                g(x, n)
            self.assertEqual(g.traces, 1)
            for n in (0.1, 1e-3, 1e30, math.inf, math.nan, -0.0):
                g(x, n)
            self.assertEqual(g.traces, 2)
        g = nx.jit(lambda x, n: x * n)
        for n in (5, 100, -3, 127):
            g(x.astype("int8"), n)
        self.assertEqual(g.traces, 1)
        g = nx.jit(lambda x, n: x < n)
        for n in (255, 256, 256, 257, 0):
            g(x.astype("uint8"), n)
        self.assertEqual(g.traces, 3)

    def test_changes(self):
        def f(d, x):
            d["n"] = 400
            return x * d["n"]

        with self.assertRaises(TypeError):
            nx.jit(f)({"n": 3}, nx.ones(1))
        g = nx.jit(lambda d, x: x < d.setdefault("n", 1))
        self.assertEqual(g({"n": 400}, nx.ones(1, dtype="int8")).tolist(), [True])

    def test_signs(self):
        x = nx.asarray([1, 2, 3], dtype="float32")
        sign = nx.jit(lambda x, n: x * ((n > 0) - (n < 0)))
        for n in (-2.0, 0.0, 3):
            self.assertEqual(sign(x, n).tolist(), [k * ((n > 0) - (n < 0)) for k in (1, 2, 3)])
        self.assertEqual(nx.jit(lambda x, n: x + (n - True))(x, True).tolist(), [1, 2, 3])

    def test_quotients_of_infinities(self):
        x, f = nx.ones(1), nx.jit(lambda x, n, m: nx.add(x, n // m))
        for n, m in ((128, -math.inf), (-3.0, math.inf), (3.0, 2.0), (128, math.inf)):
            self.assertEqual(f(x, n, m).tolist(), [1 + n // m])
        self.assertTrue(math.isnan(float(f(x, math.inf, 1)[0])))

    def test_nothing_is_shown_after_captures(self):
        for k in range(20):
            nx.jit(lambda x, n: x + n.bit_length())(nx.ones(1), k)
        self.assertEqual(len(nx._core.numbers_shown), 0)

    def test_an_exception_of_the_function(self):
        def f(x, n):
            y = x + n
            raise KeyError(repr(y.dtype))

        for n in (3, 1000):
            with self.assertRaises((KeyError, OverflowError)):
                nx.jit(f)(nx.ones(1, dtype="int8"), n)
        self.assertEqual(float(nx.jit(lambda x: x + 1)(1.0)), 2)


if __name__ == "__main__":
    unittest.main()
