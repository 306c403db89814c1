# SPDX-License-Identifier: ISC
"""torch.compile(.., backend="nx") on programs that address elements: windows, grids, borders,
labels. Values and gradients are PyTorch's. Skipped where PyTorch is not installed."""

import unittest

try:
    import torch
    from torch.nn import functional as F
except ImportError:
    torch = None

from torch_common import Case, close


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Indices(Case):
    def test_windows_and_grids(self):
        """Elements at indices that PyTorch counts, and at places that are values."""
        image = torch.randn(2, 3, 9, 8, requires_grad=True)
        for kernel, options in ((3, {}), ((2, 3), {"padding": 1}), (2, {"stride": 2}),
                                ((3, 2), {"dilation": (1, 2), "padding": (1, 0)})):
            self.both(lambda x, k=kernel, o=options: F.unfold(x, k, **o).exp(), image)
            self.both(lambda x, k=kernel, o=options: F.unfold(x, k, **o).mT @ F.unfold(x, k, **o),
                      image)
        grid = torch.rand(2, 5, 4, 2) * 2.4 - 1.2
        for mode in ("bilinear", "nearest", "bicubic"):
            for padding in ("zeros", "border", "reflection"):
                self.both(lambda x, m=mode, p=padding: F.grid_sample(
                    x, grid, mode=m, padding_mode=p, align_corners=False), image.detach())
        rows, columns = torch.arange(2, 7), torch.arange(7, 0, -2)
        self.both(lambda x: x[:, :, rows[:, None], columns] * 2, image)
        self.both(lambda x: x[:, :, ::2].flatten()[torch.arange(0, 96, 5)], image)
        self.both(lambda x: x[torch.arange(2), torch.tensor([0, 2])], image)

    def test_losses_of_labels(self):
        """The gradient puts one element in each line."""
        labels = torch.randint(0, 7, (6,))
        labels[2] = -100
        for weight in (None, torch.rand(7)):
            for smooth in (0.0, 0.1):
                self.both(lambda x, w=weight, s=smooth: F.cross_entropy(
                    x, labels, weight=w, label_smoothing=s), torch.randn(6, 7, requires_grad=True))
        many = torch.randint(0, 7, (2, 4, 5))
        self.both(lambda x: F.cross_entropy(x, many),
                  torch.randn(2, 7, 4, 5, requires_grad=True))
        self.both(lambda x: x.gather(1, torch.tensor([[1], [0]])),
                  torch.randn(2, 3, requires_grad=True))
        self.both(lambda x: F.multi_margin_loss(x, labels.clamp(0)),
                  torch.randn(6, 7, requires_grad=True))
        f = torch.compile(lambda x, i: torch.zeros(2, 3).scatter(1, i, x), backend="nx")
        x = torch.ones(2, 1)
        close(self, f(x, torch.tensor([[2], [0]])), torch.tensor([[0., 0, 1], [1, 0, 0]]))
        for bad in (3, -1):
            with self.assertRaisesRegex(IndexError, str(bad) if bad > 0 else "3"):
                f(x, torch.tensor([[0], [bad]]))

    def test_borders(self):
        """What pads by elements of the inside, and images in other sizes."""
        x = torch.randn(2, 3, 6, 7, requires_grad=True)
        for mode in ("reflect", "replicate", "circular"):
            for pads in ((2, 2, 3, 1), (1, 0, 0, 2)):
                self.both(lambda x, m=mode, p=pads: F.pad(x, p, mode=m).square(), x)
        for size in (None, (5, 9)):
            for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
                self.both(lambda x, m=mode, s=size: F.interpolate(
                    x, s, None if s else 2, m).square(), x)
        self.both(lambda x: x[:, :, torch.tensor([0, -1, 3])] + x[:, :, :, [2, 2]].sum(), x)
        self.both(lambda x: x[:, [[0, 1], [2, -3]]].square(), x)


if __name__ == "__main__":
    unittest.main()
