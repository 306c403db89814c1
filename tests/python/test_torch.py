# SPDX-License-Identifier: ISC
"""torch.compile(.., backend="nx") beside PyTorch itself: inference, gradients, training, what falls
back, shapes that change, errors. Skipped where PyTorch is not installed."""

import copy
import re
import unittest
import warnings
from pathlib import Path

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    torch = None

import nx

if torch is not None:
    import nx.torch

DOCS = Path(__file__).resolve().parents[2] / "docs" / "torch.md"


def close(test, got, wanted, tol=1e-4):
    test.assertEqual(got.dtype, wanted.dtype)
    test.assertEqual(got.shape, wanted.shape)
    torch.testing.assert_close(got, wanted, rtol=tol, atol=tol, equal_nan=True)


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Torch(unittest.TestCase):
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

    def test_training_a_network(self):
        model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.LayerNorm(32), nn.GELU(),
                              nn.Linear(32, 3))
        other = copy.deepcopy(model)
        x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
        losses = []
        for f, m in ((model, model), (torch.compile(other, backend="nx"), other)):
            optimizer = torch.optim.SGD(m.parameters(), lr=0.5, momentum=0.9)
            for _ in range(10):
                optimizer.zero_grad()
                loss = F.cross_entropy(f(x), y)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        self.assertLess(losses[9], 0.8 * losses[0])
        for wanted, got in zip(losses[:10], losses[10:]):
            self.assertAlmostEqual(got, wanted, places=4)
        self.assertEqual([(g.kind, g.functions) for g in nx.torch.report()],
                         [("forward", 1), ("backward", 1)])

    def test_convolutions(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Conv2d(3, 8, 3, padding=1, stride=2)
                self.b = nn.Conv2d(8, 8, 3, groups=4, dilation=2, padding=2)
                self.c = nn.BatchNorm2d(8, eps=0.1)
                self.d = nn.ConvTranspose2d(8, 6, 3, stride=2, padding=1, output_padding=1,
                                            groups=2)
                self.e = nn.Conv1d(6, 4, 2)

            def forward(self, x):
                x = F.relu(self.b(self.a(x)))
                x = F.avg_pool2d(F.max_pool2d(self.c(x), 3, 2, 1), 2, 1, ceil_mode=True)
                return self.e(self.d(x).mean(3)) + F.adaptive_avg_pool2d(x, 1).sum()

        x = torch.randn(2, 3, 19, 22, requires_grad=True)
        self.both(Net(), x)
        model = Net().to(memory_format=torch.channels_last)
        self.both(model, x.detach().to(memory_format=torch.channels_last).requires_grad_())

    def test_running_statistics_are_updated(self):
        model = nn.BatchNorm1d(4)
        other = copy.deepcopy(model)
        compiled, x = torch.compile(other, backend="nx"), torch.randn(16, 4)
        for _ in range(3):
            model(x), compiled(x)
        close(self, other.running_var, model.running_var)
        self.assertEqual(other.num_batches_tracked.item(), 3)

    def test_attention(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.e = nn.Embedding(50, 16)
                self.m = nn.MultiheadAttention(16, 4, batch_first=True)
                self.n = nn.LayerNorm(16)

            def forward(self, i):
                x = self.e(i)
                return self.n(x + self.m(x, x, x, need_weights=False)[0])

        self.both(Net(), torch.randint(0, 50, (3, 7)))
        q, k, v = (torch.randn(2, 2, 5, 8, requires_grad=True) for _ in range(3))
        self.both(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), q, k, v)
        mask = torch.rand(5, 5) > 0.4
        self.both(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m), q, k, v,
                  mask)

    def test_elements_by_number(self):
        x = torch.randn(4, 5, 6, requires_grad=True)
        i = torch.tensor([1, -1, 3])
        self.both(lambda x, i: x[i, :, i] + x[0, 1, 2] * x[:, i].sum((0, 2))[:, None], x, i)
        self.both(lambda x, i: x.gather(2, i.abs()[None, None, :].expand(4, 5, 3)).cumsum(1), x, i)
        self.both(lambda x: x.sort(2, descending=True)[0] * x.topk(6, 2)[0], x)
        self.both(lambda x, i: x.index_add(0, i.abs(), x[:3] * 2).roll(1, 2), x, i)

    def test_writes(self):
        def f(x):
            y = x.clone()
            y[1:3] += 2
            y.mul_(3)
            y[:, 0] = 7
            return y.T

        self.both(f, torch.randn(4, 8, requires_grad=True))

        def g(x):
            x.add_(1)
            return x[1:], x

        x, y = torch.zeros(3), torch.zeros(3)
        compiled = torch.compile(g, backend="nx")(y)
        self.assertEqual([t.tolist() for t in compiled], [t.tolist() for t in g(x)])
        self.assertEqual(y.tolist(), [1, 1, 1])
        self.assertEqual(compiled[1].data_ptr(), y.data_ptr())

    def test_dtypes(self):
        def f(x, n, b):
            whole = (n * 2.5).to(torch.int32)
            return (x * n + b) / 3 - n // 2, whole, ~b, x.bfloat16() * 0.1, n > b

        given = torch.randn(5), torch.arange(5), torch.tensor([True, False, True, True, False])
        for got, wanted in zip(torch.compile(f, backend="nx")(*given), f(*given)):
            close(self, got, wanted)
        x = torch.randn(4, 8, requires_grad=True)
        self.both(lambda x: torch.view_as_real(torch.fft.rfft(x) * 2j).square().sum(-1), x)

    def test_fallbacks_are_named(self):
        def f(x):
            return torch.special.erfcx(x.sin()).cos()

        with self.assertWarnsRegex(nx.torch.FallbackWarning, "special_erfcx"):
            self.both(f, torch.randn(6), fallbacks=["aten.special_erfcx.default"])
        graph = nx.torch.report()[-1]
        self.assertEqual((graph.functions, sum(graph.lowered.values())), (2, 2))
        self.assertIn("1 x aten.special_erfcx.default: not in the table of nx", str(graph))
        before = len(self.warnings)
        torch._dynamo.reset()
        torch.compile(f, backend="nx")(torch.randn(6))
        self.assertEqual(len(self.warnings), before)  # once

    def test_random_numbers_are_torchs(self):
        model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 8), nn.Dropout(0.3))
        self.both(model, torch.randn(4, 8), fallbacks=["aten.native_dropout.default"])
        f = lambda x: torch.randn_like(x) * 2 + torch.rand(3)  # noqa: E731
        self.both(f, torch.zeros(3), fallbacks=["aten.randn_like.default", "aten.rand.default"])

    def test_shapes_that_change(self):
        def f(x):
            return x.reshape(-1, x.shape[0]).sum(1) * x.shape[1]

        for dynamic in (None, True):
            torch._dynamo.reset()
            compiled = torch.compile(f, backend="nx", dynamic=dynamic)
            for shape in ((2, 3), (4, 6), (5, 10), (2, 3)):
                x = torch.randn(shape)
                close(self, compiled(x), f(x))

    def test_nothing_is_copied(self):
        compiled = torch.compile(lambda x: (x.T, x * 2), backend="nx")
        x = torch.randn(3, 4)
        view, twice = compiled(x)
        self.assertEqual(view.data_ptr(), x.data_ptr())
        x.zero_()
        self.assertNotEqual(twice.abs().sum().item(), 0)
        twice += 1  # the memory of a result is PyTorch's
        self.assertNotEqual(compiled(x)[1].data_ptr(), twice.data_ptr())

    def test_errors(self):
        compiled = torch.compile(F.embedding, backend="nx")
        with self.assertRaises(IndexError):
            compiled(torch.tensor([1, 9]), torch.randn(4, 2))
        with self.assertRaises(IndexError):
            compiled(torch.tensor([1, -1]), torch.randn(4, 2))
        with self.assertRaisesRegex(Exception, "no options"):
            torch.compile(torch.sin, backend="nx", options={"fast": True})(torch.ones(2))

    def test_the_page(self):
        text = DOCS.read_text(encoding="utf-8")
        code = re.search(r"```python\n(.*?)```", text, re.S).group(1)
        said = {}
        exec(compile(code, str(DOCS), "exec"), {"print": lambda *a: said.update(said=a)})
        self.assertTrue(said)
        listed = re.search(r"## What nx computes\n(.*?)\n## ", text, re.S).group(1)
        names = set(re.findall(r"`([\w.]+)`", listed))
        has = {str(o).split(".", 1)[1] for o in nx.torch.operations()}
        has = {n.removesuffix(".default") for n in has}
        self.assertEqual(names, has)


if __name__ == "__main__":
    unittest.main()
