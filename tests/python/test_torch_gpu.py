# SPDX-License-Identifier: ISC
"""Graphs of PyTorch with tensors of a GPU, which there is none of: they are traced on tensors
without memory, and computed by nx with the fake driver of the tests (NX_CUDA), with tensors of the
host in place of those of the GPU. Skipped where PyTorch is not installed or knows no CUDA."""

import unittest
import warnings
from unittest import mock

from common import nx

try:
    import torch
    from torch.nn import functional as F
except ImportError:
    torch = None

if torch is not None and torch.backends.cuda.is_built():
    import nx.torch
    from nx.torch import _graphs
    from nx.torch._decompositions import decompositions
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
else:
    torch = None


def lend(t, place):
    assert place.is_gpu
    return nx.asarray(t.numpy(), device=place.name)


def give(x, order, place):
    assert x.device == place.name == "cuda"
    t = torch.from_numpy(nx.asarray(x, device="cpu").__array__().copy())
    return t if order is None else t.permute(sorted(range(len(order)), key=order.__getitem__))


@unittest.skipIf(torch is None, "there is no PyTorch that knows CUDA")
class OnAGpu(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        nx.torch.report(clear=True)

    def traced(self, f, inputs, device="cuda"):
        """The program of a function, on tensors of the GPU where they have axes."""
        with FakeTensorMode(allow_non_fake_inputs=True), warnings.catch_warnings():
            warnings.simplefilter("ignore", nx.torch.FallbackWarning)
            fakes = [torch.empty_strided(x.shape, x.stride(), dtype=x.dtype,
                                         device=device if x.ndim else "cpu") for x in inputs]
            graph = make_fx(f, tracing_mode="fake", decomposition_table=decompositions())(*fakes)
            return _graphs.Program(graph, "inference")

    def check(self, f, *inputs):
        program = self.traced(f, inputs)
        self.assertEqual((program.place.name, program.place.number), ("cuda", 2))
        self.assertFalse(nx.torch.report().fallbacks)
        with mock.patch.object(_graphs, "lend", lend), mock.patch.object(_graphs, "give", give):
            got = program(list(inputs))
        wanted = f(*inputs)
        for g, w in zip(got, wanted, strict=True):
            self.assertEqual(g.stride(), w.stride())
            torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-5)

    def test_elements_and_what_is_made(self):
        def f(x, w):
            y = F.gelu(x @ w) + torch.arange(8, device=x.device) * torch.full(
                (), 2.0, device=x.device)
            return F.layer_norm(y, (8,)).cumsum(0), y.T + 1, y.sort(1)[0]

        self.check(f, torch.randn(6, 5), torch.randn(5, 8))

    def test_windows(self):
        def f(x, w):
            return (F.conv2d(x, w, padding=1), F.avg_pool2d(x, 3, 2, 1),
                    F.adaptive_avg_pool2d(x, (3, 4)), F.max_pool2d(x, 2))

        self.check(f, torch.randn(2, 3, 9, 10), torch.randn(4, 3, 3, 3))

    def test_a_number_of_the_host(self):
        self.check(lambda x, a: (x * a + a,), torch.randn(3, 4), torch.tensor(3.0))

    def test_attention(self):
        self.check(lambda q, k, v: (F.scaled_dot_product_attention(q, k, v, is_causal=True),),
                   *(torch.randn(2, 2, 6, 8) for _ in range(3)))

    def test_what_pytorch_does(self):
        def f(x):
            return x + 1, torch.zeros(3) + 2

        program = self.traced(f, [torch.ones(3)])
        self.assertTrue(program.place.is_gpu)
        self.assertEqual({why for _, why in nx.torch.report().fallbacks},
                         {"a tensor of device cpu"})

    def test_a_gpu_that_is_not_there(self):
        program = self.traced(lambda x: (x + 1,), [torch.ones(3)], "cuda:7")
        self.assertFalse(program.place.is_gpu)
        self.assertEqual(nx.torch.report().fallbacks,
                         {("aten.add.Tensor", "a tensor of device cuda:7"): 1})


if __name__ == "__main__":
    unittest.main()
