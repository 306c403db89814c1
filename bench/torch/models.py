# SPDX-License-Identifier: ISC
"""Models in PyTorch: PyTorch itself, its own compiler (inductor), and nx as a backend of
torch.compile, inference and training, in turns in one process.

Usage: models.py [--only NAME] [--rounds N] [--threads N] [--without COMPILER]. Wants torch,
torchvision and transformers, and nx (PYTHONPATH, or the wheel). Prints the quickest and the median
of the rounds in ms, and how long the first call took, with tracing and compiling. The exit status
is 1 if a result differs from PyTorch's by more than 1 in 1,000 of its largest element.
"""

import argparse
import statistics
import sys
import time
import warnings

import torch

import nx.torch  # noqa: F401  # pylint: disable=unused-import


def resnet():
    """ResNet-18 of torchvision, 4 images of 224 x 224."""
    from torchvision.models import resnet18

    return resnet18(), torch.randn(4, 3, 224, 224)


def bert():
    """BERT, base: 12 layers of 768, 2 sequences of 128 tokens."""
    from transformers import BertConfig, BertModel

    class States(torch.nn.Module):
        """The states of the last layer alone."""

        def __init__(self):
            super().__init__()
            still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
            self.model = BertModel(BertConfig(**still))

        def forward(self, tokens):
            """Of the model."""
            return self.model(tokens).last_hidden_state

    return States(), torch.randint(0, 30000, (2, 128))


MODELS = {"ResNet-18": resnet, "BERT": bert}


def inference(model, x):
    """What is timed."""
    with torch.no_grad():
        return model(x)


def training(model, x):
    """A step without the optimizer: its result, and gradients of all parameters."""
    model.zero_grad()
    out = model(x)
    out.square().mean().backward()
    return out.detach()


def prepare(make, trains, backends):
    """For each backend a function to time; None for PyTorch itself. Parameters are the same."""
    torch.manual_seed(0)
    model, x = make()
    model.train(trains)
    for module in model.modules():  # what remembers would differ from turn to turn
        if isinstance(module, torch.nn.BatchNorm2d):
            module.eval()
    step = training if trains else inference
    wanted, calls = step(model, x), {}
    for name in backends:
        ran = torch.compile(model, backend=name) if name else model
        began = time.perf_counter()
        result = step(ran, x)
        first = time.perf_counter() - began
        apart = float((result - wanted).abs().max() / wanted.abs().max())
        calls[name] = (lambda ran=ran: step(ran, x)), first, apart
        calls[name][0]()
    return calls


def main():
    """Prints a line for each model, mode and backend."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=MODELS)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--without", action="append", default=[], choices=["inductor"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(options.threads)
    backends = [b for b in (None, "inductor", "nx") if b not in options.without]
    failed = False
    for model, make in MODELS.items():
        if options.only not in (None, model):
            continue
        for trains in False, True:
            calls, times = prepare(make, trains, backends), {}
            for _ in range(options.rounds):
                for name, (call, _, _) in calls.items():
                    began = time.perf_counter()
                    call()
                    times.setdefault(name, []).append(time.perf_counter() - began)
            for name, (_, first, apart) in calls.items():
                failed |= apart > 1e-3
                least, median = 1e3 * min(times[name]), 1e3 * statistics.median(times[name])
                print(
                    f"{model:10} {'training' if trains else 'inference':10} {name or 'PyTorch':9}"
                    f" least {least:7.1f} median {median:7.1f} first {1e3 * first:8.0f}"
                    f" apart {apart:.1e}",
                    flush=True,
                )
            torch._dynamo.reset()  # pylint: disable=protected-access
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
