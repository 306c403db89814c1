# SPDX-License-Identifier: ISC
"""What the tests of torch.compile(.., backend="nx") share."""

import copy
import unittest
import warnings

try:
    import torch
    from torch import nn

    import nx.torch
except ImportError:
    torch = None


def close(test, got, wanted, tol=1e-4):
    test.assertEqual(got.dtype, wanted.dtype)
    test.assertEqual(got.shape, wanted.shape)
    torch.testing.assert_close(got, wanted, rtol=tol, atol=tol, equal_nan=True)


class Case(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(0)
        nx.torch.report(clear=True)
        self.caught = warnings.catch_warnings(record=True)
        self.warnings = self.caught.__enter__()
        warnings.simplefilter("always")
        self.addCleanup(self.caught.__exit__, None, None, None)

    def both(self, model, *inputs, fallbacks=(), tol=1e-4):
        """Values and gradients of a model and of the same compiled."""
        other = copy.deepcopy(model)
        torch._dynamo.reset()  # one function of a test may be many
        compiled = torch.compile(other, backend="nx")
        nx.torch.report(clear=True)
        results = []
        for f, m in ((model, model), (compiled, other)):
            leaves = [x.detach().clone().requires_grad_(x.requires_grad) for x in inputs]
            torch.manual_seed(1)
            y = f(*leaves)
            wanted = [x for x in leaves if x.requires_grad]
            wanted += list(m.parameters()) if isinstance(m, nn.Module) else []
            weights = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).reshape(y.shape)
            grads = torch.autograd.grad((y * weights).sum(), wanted) if wanted else ()
            results.append((y.detach(), *grads))
        for wanted, got in zip(*results):
            close(self, got, wanted, tol)
        named = {op for op, _ in nx.torch.report().fallbacks}
        self.assertEqual(named, set(fallbacks))
