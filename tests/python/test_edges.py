# SPDX-License-Identifier: ISC
"""Arguments at the edges of what functions take, beside NumPy: operators in place whose result has
another shape, what is not finite, what is empty, and numbers that are refused."""

import operator
import unittest

from common import Peer, needs_numpy, np, nx


@needs_numpy
class InPlace(Peer):
    def test_results_with_more_axes_are_refused(self):
        for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
            f = getattr(operator, f"i{name}")
            for shape, other in (((2,), (1, 2)), ((2,), (1, 1)), ((1,), (2,)), ((), (1,))):
                x = nx.full(shape, 3.0)
                self.refused((ValueError, lambda m, _: f(m.full(shape, 3.0), m.ones(other))),
                             (ValueError, lambda *_: f(x, nx.ones(other))))
                self.assertEqual(x.tolist(), nx.full(shape, 3.0).tolist())
            self.same(f(nx.full((1, 2), 3.0), nx.ones(2)), f(np.full((1, 2), 3.0), np.ones(2)))
        for f in (operator.ior, operator.iand, operator.ixor, operator.ilshift, operator.irshift):
            self.refused((ValueError, lambda m, _: f(m.full((2,), 3), m.full((1, 2), 1))))

    def test_numbers_of_captured_functions_become_arrays(self):
        def f(n, x):
            n += x
            return n

        self.assertEqual(nx.jit(f)(2, nx.ones(3)).tolist(), [3, 3, 3])


if __name__ == "__main__":
    unittest.main()
