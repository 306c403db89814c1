# SPDX-License-Identifier: ISC
"""torch.compile(.., backend="nx") beside PyTorch itself: inference, gradients, training, what falls
back, shapes that change, errors. Skipped where PyTorch is not installed."""

import copy
import re
import math
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

from torch_common import Case, close

if torch is not None:
    import nx.torch

DOCS = Path(__file__).resolve().parents[2] / "docs" / "torch.md"


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Torch(Case):
    def test_negatives_are_not_lent(self):
        y = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
        self.assertTrue(y.is_neg())
        with self.assertRaisesRegex(BufferError, "resolve_neg"):
            nx.from_dlpack(y)
        self.assertEqual(nx.from_dlpack(y.resolve_neg()).tolist(), [-2, 4])

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
        two = k[:, :1].detach().requires_grad_()
        self.both(lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True), q, two)
        layer = nn.TransformerEncoderLayer(16, 4, 8, batch_first=True).eval()
        x, unseen = torch.randn(2, 5, 16), torch.arange(10).reshape(2, 5) > 7
        with torch.no_grad():
            got = torch.compile(layer, backend="nx")(x, src_key_padding_mask=unseen)
            close(self, got, layer(x, src_key_padding_mask=unseen))
        self.assertFalse(nx.torch.report().fallbacks)
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
        y = torch.randn(3, 50)
        y[0, 7], y[1, 3], y[1, 4], y[2] = math.nan, -math.nan, math.inf, math.nan
        for z in (y, y.half(), (y * 9).nan_to_num().int()):
            self.both(lambda z: torch.cat([z.topk(4, 1, big)[0] for big in (True, False)]), z)
            self.both(lambda z: torch.gather(z, 0, z.topk(2, 0)[1]), z)

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
        self.both(model, torch.randn(4, 8), fallbacks=["aten.bernoulli.p"])
        self.assertEqual([g.functions for g in nx.torch.report()], [1, 1])  # drawn first
        self.both(lambda x: F.dropout(x.transpose(0, 2), 0.5), torch.randn(4, 2, 8),
                  fallbacks=["aten.bernoulli.p"])  # drawn in the order of the memory
        f = lambda x: torch.randn_like(x) * 2 + torch.rand(3)  # noqa: E731
        self.both(f, torch.zeros(3), fallbacks=["aten.randn_like.default", "aten.rand.default"])

    def test_recurrent_networks(self):
        with torch._dynamo.config.patch(allow_rnn=True):
            for kind in (nn.LSTM, nn.GRU):
                net = kind(3, 4, batch_first=True, bidirectional=True)
                other = copy.deepcopy(net)
                f, x = torch.compile(other, backend="nx", fullgraph=True), torch.randn(2, 3, 3)
                for m, g in ((net, net), (other, f)):
                    g(x)[0].square().sum().backward()
                for p, q in zip(net.parameters(), other.parameters()):
                    close(self, q.grad, p.grad)
        self.assertFalse(nx.torch.report().fallbacks)

    def test_matrices(self):
        a = torch.randn(2, 3, 3, dtype=torch.float64) + 2 * torch.eye(3)
        b = torch.randn(3, 3, dtype=torch.float64)

        def f(a, b):
            la = torch.linalg
            s = a @ a.mT
            solved = la.solve(a, b) + la.solve(a, b, left=False) + la.inv(a)
            factors = la.cholesky(s) + la.qr(a)[1] + la.lu(a)[2] + la.pinv(a)
            numbers = la.det(a) + la.slogdet(s)[1] + la.eigvalsh(s).sum(-1) + la.matrix_norm(a, 2)
            return (solved + factors) * numbers[:, None, None] + la.matrix_exp(a)

        for x in (a, a.mT.contiguous().mT):  # gradients know in which order the elements lie
            self.both(f, x.requires_grad_(), b.clone().requires_grad_(), tol=1e-9)
        self.assertGreater(nx.torch.report()[0].checks, 0)
        pivots = torch.tensor([[3, 3, 3], [1, 2, 3]], dtype=torch.int32)
        self.both(lambda a, p: torch.lu_unpack(a, p, unpack_data=False)[0], a.detach(), pivots)
        with self.assertRaisesRegex(RuntimeError, "not positive-definite"):
            torch.compile(torch.linalg.cholesky, backend="nx")(-torch.eye(2))

    def test_masks(self):
        def f(x, m):
            y = x * 2
            y[m] = 0.5
            y[:, m[0]] += x.sum()
            y[m[:, 1]] = x[0]
            y = y.index_put((m,), x.sum(), accumulate=True)
            return y.masked_fill(m, 3) + x.masked_scatter(m, x * 3)

        self.both(f, torch.randn(4, 5, requires_grad=True), torch.rand(4, 5) > 0.5)
        y = torch.zeros(3)
        masked = torch.compile(lambda y, m, v: y.masked_scatter(m, v), backend="nx")
        with self.assertRaises(IndexError):
            masked(y, torch.tensor([True] * 3), torch.ones(2))

    def test_reductions_by_index(self):
        x = torch.randn(4, 5, requires_grad=True)
        source = torch.randn(3, 5, requires_grad=True)
        i = torch.tensor([[0, 2, 1, 0, 3], [0, 1, 1, 3, 2], [2, 2, 1, 0, 0]])
        for how in ("sum", "prod", "mean", "amax", "amin"):
            for whole in (True, False):
                self.both(lambda x, i, s: x.scatter_reduce(0, i, s, how, include_self=whole), x, i,
                          source)
        whole, i = torch.arange(5, dtype=torch.int32), torch.tensor([1, 1, 2, 4, 2])
        self.both(lambda x, i: x.index_reduce(0, i, x, "mean"), whole, i)

    def test_bags(self):
        table = torch.randn(6, 4, requires_grad=True)
        i, begin = torch.tensor([1, 5, 2, 2, 0, 3, 1]), torch.tensor([0, 3, 3, 6])
        for mode in ("sum", "mean"):
            self.both(lambda t, i, b: F.embedding_bag(i, t, b, mode=mode, padding_idx=2), table, i,
                      begin)
        weights = torch.rand(7, requires_grad=True)
        self.both(lambda t, i, b, w: F.embedding_bag(i, t, b, mode="sum", per_sample_weights=w),
                  table, i, begin, weights)

    def test_order(self):
        x = torch.tensor([[1, 3, 3, float("nan"), 2, 5], [2, -1, 4, 0, 4, 3]])
        f = lambda x: (*x.cummax(1), *x.cummin(1), *x.median(1), *x.nanmedian(1),  # noqa: E731
                       *x[1:].kthvalue(2, 1), x.logcumsumexp(1), torch.cdist(x, x[:1] + 1, p=3),
                       torch.bucketize(x, x[1].sort()[0], right=True))
        for got, wanted in zip(torch.compile(f, backend="nx")(x), f(x)):
            close(self, got, wanted)
        g = lambda x: (torch.histc(x, 4, -1, 3), x.nonzero_static(size=4))  # noqa: E731
        for got, wanted in zip(torch.compile(g, backend="nx")(x[1:].round()), g(x[1:].round())):
            close(self, got, wanted)
        self.assertFalse(nx.torch.report().fallbacks)

    def apart(self, f, x):
        """How far values and the gradient of a function are from those in f64, in PyTorch and
        here."""
        results = []
        for g, x in ((f, x.double()), (f, x), (torch.compile(f, backend="nx", dynamic=False), x)):
            x = x.detach().requires_grad_()
            y = g(x)
            (y * torch.linspace(0.5, 1, y.numel(), dtype=y.dtype).reshape(y.shape)).sum().backward()
            results.append((y.detach(), x.grad))
        self.assertFalse(nx.torch.report().fallbacks)
        return [((e - w).abs().max().item(), (g - w).abs().max().item(), w.abs().max().item())
                for w, e, g in zip(*results)]

    def test_sums_of_exponentials(self):
        for shape, dim, first in (((5, 5, 5), 0, 1e4), ((5, 5, 5), 1, 1e4), ((4, 1000), 1, 0),
                                  ((3, 777, 2), -2, 100), ((33, 3), 0, -1e4), ((1, 3), 0, 0)):
            torch._dynamo.reset()
            x = torch.randn(shape) * 3
            x[0] += first
            for eager, here, most in self.apart(lambda x: x.logcumsumexp(dim), x):
                self.assertLessEqual(here, eager + 3e-7 * most, (shape, dim))
        inf, nan = float("inf"), float("nan")
        x = torch.tensor([[-inf, -inf, -700, 1, 800, -inf, inf, 3, nan, 1], [2] * 9 + [nan]])
        for x in (x, x.double(), x.bfloat16(), x[:, :0], x[:0], x[:, 2:5], x[0, 0]):
            torch._dynamo.reset()
            f = lambda x: x.logcumsumexp(-1)  # noqa: E731
            close(self, torch.compile(f, backend="nx")(x), f(x), 1e-6)
        self.assertFalse(nx.torch.report().fallbacks)

    def test_exponentials_of_matrices(self):
        for n in (2, 5, 20):
            for size in (0.1, 1):
                torch._dynamo.reset()
                f = torch.linalg.matrix_exp
                for eager, here, most in self.apart(f, torch.randn(8, n, n) * size / n ** 0.5):
                    self.assertLessEqual(here, 2 * eager + 2e-7 * most, (n, size))

    def test_fractions_and_exponents(self):
        x = torch.tensor([0.0, -0.0, 1.5, -3e-39, 1e30, float("inf"), float("nan")])
        got = torch.compile(lambda x: torch.frexp(x), backend="nx")(x)
        wanted = torch.frexp(x)
        close(self, got[0], wanted[0], 0)
        self.assertTrue(torch.equal(got[1][:6], wanted[1][:6]))
        self.assertEqual(len(nx.torch.report().fallbacks), 0)

    def test_the_most_frequent(self):
        for dtype in (torch.int64, torch.float32, torch.bool, torch.uint8):
            for shape, dim in (((7,), 0), ((4, 6), -1), ((4, 6), 0), ((3, 5, 4), 1), ((), 0)):
                x = torch.randint(0, 3, shape).to(dtype)
                torch._dynamo.reset()
                got = torch.compile(lambda x: torch.mode(x, dim, True), backend="nx")(x)
                wanted = torch.mode(x, dim, True)
                self.assertTrue(torch.equal(got[0], wanted[0]), (dtype, shape, dim))
                self.assertTrue(torch.equal(got[1], wanted[1]), (dtype, shape, dim))
        self.both(lambda x: torch.mode(x, 1)[0], torch.randn(3, 5, requires_grad=True))

    @unittest.skipIf(torch is None or not hasattr(F, "grouped_mm"), "this PyTorch has none")
    def test_products_by_groups(self):
        ends = torch.tensor([3, 3, 7, 12], dtype=torch.int32)
        a, b = torch.randn(12, 16), torch.randn(4, 16, 8)
        for x, y, of in ((a, b, ends), (torch.randn(4, 8, 16), torch.randn(16, 12), ends),
                         (torch.randn(8, 12), torch.randn(12, 16), ends), (b.mT, b, None)):
            x, y = x.requires_grad_(), y.requires_grad_()
            self.both(lambda x, y: F.grouped_mm(x, y, offs=of), x, y)
        many = torch.arange(1, 10, dtype=torch.int32)
        self.both(lambda x, y: F.grouped_mm(x, y, offs=many), torch.randn(9, 16),
                  torch.randn(9, 16, 8), fallbacks=["aten._grouped_mm.default"])

    def test_windows_that_overlap(self):
        x = torch.randn(2, 3, 7, 5, requires_grad=True)
        self.both(lambda x: F.adaptive_avg_pool2d(x, (3, 4)), x)
        self.both(lambda x: F.adaptive_max_pool2d(x, (3, 4)), x)
        self.both(lambda x: F.pad(x, (2, 0, 1, 3), mode="replicate"), x)
        self.both(lambda x: F.avg_pool2d(x, 2), x.detach().bfloat16(), tol=1e-2)

    def test_images_by_places(self):
        x, grid = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 3, 2) * 1.5
        for mode in ("bilinear", "nearest"):
            for padding in ("zeros", "border", "reflection"):
                self.both(lambda x, g: F.grid_sample(x, g, mode, padding, align_corners=False),
                          x.requires_grad_(), grid.requires_grad_())
        cube = torch.randn(1, 2, 3, 3, 3, requires_grad=True)
        self.both(lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), cube)
        self.both(lambda x: F.interpolate(x, scale_factor=2, mode="nearest"), cube)

    def test_values_that_are_special(self):
        x = torch.tensor([float("nan"), float("inf"), 0.0, -1.0, -2.5, 3.0])

        def f(x):
            return (x.sign(), x.sgn(), torch.special.zeta(x[[5, 5, 5]], x[2:5]), x.relu(),
                    torch.polygamma(2, x[2:]), x.round(decimals=1), x.view(torch.int16),
                    x.to(torch.int64)[2:] >> 1, F.conv1d(x.new_zeros(0, 1, 4), x[2:5][None, None]))

        for got, wanted in zip(torch.compile(f, backend="nx")(x), f(x)):
            close(self, got, wanted)
        self.assertFalse(nx.torch.report().fallbacks)

    def test_arguments_of_all_kinds(self):
        f = torch.compile(lambda x: (x * 2).sum(0) + x[0], backend="nx")
        base = torch.randn(6, 8)
        for x in (base[::2, 1::3], base.T, base[:1].expand(4, 8), base[2:, 3:]):
            close(self, f(x), (x * 2).sum(0) + x[0])
        z = torch.randn(3, dtype=torch.complex64)
        close(self, torch.compile(lambda z: z * 2j, backend="nx")(z.conj()), z.conj() * 2j)
        close(self, torch.compile(torch.dist, backend="nx")(z, 2 * z), torch.dist(z, 2 * z))

        def g(x, y):
            x.add_(1)
            return y * 2

        one, other = torch.ones(4), torch.ones(4)
        close(self, torch.compile(g, backend="nx")(other, other), g(one, one))
        close(self, other, one)
        rows = torch.arange(20.0).view(4, 5)
        torch.compile(lambda x: x.mul_(3), backend="nx")(rows[::2, 1::2])
        self.assertEqual(rows[0].tolist(), [0, 3, 2, 9, 4])

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

        def parts(x):
            a, b, c = x.split(1)
            return a, b * 2, c.sum(), *x[:2].unbind(0)[1:]

        for got, wanted in zip(torch.compile(parts, backend="nx")(x + 1), parts(x + 1)):
            close(self, got, wanted)

    def test_results_share_memory(self):
        def f(x, k):
            y, z = torch.cat([x, k], 1), torch.complex(x, k)
            y.mul_(2)
            at = y.argsort(1)
            return (y, y[:, -2:], y.t(), y.view(torch.int32), y.t().sin(), z * 2, y.reshape(-1),
                    at, at[1:])

        def parts(x, k):
            z = torch.complex(x, k) * 2
            return *(x + k).chunk(2), z.conj().imag, torch.view_as_real(z), z.real

        def memory(results):
            return [[x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
                     for x in results] for y in results]

        x, k = torch.randn(4, 4), torch.randn(4, 4)
        for g in (f, parts):
            for dynamic in (False, True):
                torch._dynamo.reset()
                compiled = torch.compile(g, backend="nx", dynamic=dynamic)
                self.assertEqual(memory(compiled(x, k)), memory(g(x, k)))
                for i in range(len(g(x, k))):
                    got, wanted = compiled(x, k), g(x, k)
                    got[i].mul_(3), wanted[i].mul_(3)
                    for a, b in zip(got, wanted):
                        close(self, a.resolve_neg(), b.resolve_neg())
            leaf = x.clone().requires_grad_()
            self.assertEqual(memory(compiled(leaf, k)), memory(g(leaf, k)))
        self.assertFalse(set(nx.torch.report().fallbacks) - {
            ("aten._neg_view.default", "not in the table of nx")})

        y, part = torch.compile(lambda x: (lambda y: (y, y[1:]))(x * 2), backend="nx")(x)
        w = torch.ones(4, requires_grad=True)
        part.mul_(w)
        y.sum().backward()
        close(self, w.grad, 2 * x[1:].sum(0))

    def test_a_result_is_written_before_the_backward(self):
        x = torch.ones(3, requires_grad=True)
        y = torch.compile(lambda x: x.exp(), backend="nx")(x)
        y.mul_(5)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            y.sum().backward()

    def test_copies_are_apart(self):
        def f(x):
            y = x.exp()
            return (y, y.to(y.dtype, copy=True), y**1, y.repeat(1, 1), y.clone(), x * 1, x + 0,
                    torch.cat([x]), x.int(), x.int().ceil())

        x = torch.randn(2, 3)
        for g in (f, torch.compile(f, backend="nx")):
            given, results = x.clone(), g(x)
            for i, y in enumerate(results):
                y.fill_(i)
            self.assertEqual([y.unique().tolist() for y in results], [[i] for i in range(10)])
            self.assertTrue(torch.equal(x, given))

    def test_results_are_written_before_the_backward(self):
        def step(x, w):
            y, at = x.tanh(), x.argsort(1)
            return ((y @ w).sum() + x.gather(1, at).square().sum(), y.detach(), y.detach().t(),
                    at.view(-1))

        def small(x, w):
            y = x.exp()
            return y.sum() + w.sum(), y.detach()

        for f, i in ((step, 1), (step, 2), (step, 3), (small, 1)):
            for g in (f, torch.compile(f, backend="nx")):
                x, w = (torch.randn(3, 3, requires_grad=True) for _ in range(2))
                results = g(x, w)
                results[i].zero_()
                with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                    results[0].backward()

    def test_results_are_no_views(self):
        f = torch.compile(lambda x: (x.sin().transpose(0, 1) * 2, x.sin()[:, None]), backend="nx")
        x = torch.randn(1, 4, 3, requires_grad=True)
        sum(y.add_(1).sum() for y in f(x)).backward()
        close(self, x.grad, 3 * x.detach().cos())

    def test_what_is_lent(self):
        """An array has a tensor's elements, whatever its memory holds; what is plain memory, with a
        gradient or without, is not copied."""
        from nx.torch._lowering import NAMES, Place
        from nx.torch._memory import lend_all

        z, many = torch.randn(3, 4, dtype=torch.complex64), torch.randn(6, 8)
        plain = [many, many.T, many[::2, 1:], many[:, :1].expand(6, 5), torch.tensor(2.5),
                 torch.zeros(0, 3), torch.randn(3, 4, requires_grad=True), nn.Parameter(many),
                 torch.randn(3, requires_grad=True).sin(),
                 *(torch.arange(3).to(getattr(torch, name)) for name in NAMES)]
        others = [z.conj(), z.conj().imag, torch._neg_view(many), torch._neg_view(z.conj()),
                  torch._neg_view(torch.randn(3, requires_grad=True)),
                  torch.randn(3, dtype=torch.complex128, requires_grad=True).conj(),
                  torch._efficientzerotensor((2, 3), dtype=torch.float32),
                  torch._efficientzerotensor((2,), dtype=torch.complex64).conj(),
                  torch.frombuffer(bytearray(range(49)), dtype=torch.float32, offset=1)]
        arrays = lend_all(plain + others, Place(torch.device("cpu")))
        for i, (t, x) in enumerate(zip(plain + others, arrays)):
            self.assertEqual((x.shape, x.dtype.name), (t.shape, str(t.dtype).split(".")[1]), i)
            wanted = t.detach() + 0 if i >= len(plain) else t
            self.assertEqual(x.tolist(), wanted.resolve_conj().resolve_neg().tolist(), i)
        with torch.no_grad():
            many[0, 0] = 7  # seen: it is the same memory
        self.assertEqual(arrays[0].tolist()[0][0], 7)

    def test_of_nothing(self):
        none, three = torch.zeros(0, dtype=torch.int64), torch.arange(3.0)
        for f, *given in (
                (torch.take, three[:0], none), (torch.take, three, none),
                (lambda x, i: x.put(i, x[:0]), three[:0], none),
                (lambda x, i: x.gather(0, i), torch.ones(3, 4), none),
                (torch.cdist, torch.ones(5, 0), torch.ones(4, 0)),
                (torch.cdist, torch.ones(0, 3), torch.ones(4, 3)),
                (lambda x, a, b: torch.addbmm(x, a, b, beta=2), three, torch.ones(0, 2, 4),
                 torch.ones(0, 4, 3)),
                (torch.addbmm, three, torch.ones(2, 2, 0), torch.ones(2, 0, 3)),
                (torch.addbmm, three, torch.ones(2, 0, 4), torch.ones(2, 4, 3))):
            torch._dynamo.reset()
            close(self, torch.compile(f, backend="nx")(*given), f(*given))
        self.both(torch.cdist, torch.ones(5, 0, requires_grad=True), torch.ones(4, 0))
        self.assertFalse(nx.torch.report().fallbacks)

    def test_errors(self):
        compiled = torch.compile(F.embedding, backend="nx")
        with self.assertRaises(IndexError):
            compiled(torch.tensor([1, 9]), torch.randn(4, 2))
        with self.assertRaises(IndexError):
            compiled(torch.tensor([1, -1]), torch.randn(4, 2))
        for i in (5, -7):
            with self.assertRaisesRegex(IndexError, f"index {i} at"):
                torch.compile(lambda x, i: x[:, i], backend="nx")(torch.ones(2, 4),
                                                                  torch.tensor([0, i]))
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
