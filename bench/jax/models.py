# SPDX-License-Identifier: ISC
"""Models in JAX on the plugin beside XLA's processor backend: how long the first step takes, how
long each later one, and whether losses go the same way.

Usage: models.py [--plugin LIBRARY] [--only NAME] [--rounds N] [--processor]. Wants jax, flax, optax
and scikit-learn. Without --plugin the installed package is used; with it JAX's keys of programs are
skipped and programs are handed over as that has it. Every model runs in processes of its own, the
two platforms in turns; times are medians of the rounds. --processor: first steps in the time of all
processors together, and the least of the rounds, which say more on a busy machine. The exit status
is 1 if losses of the first ten steps differ by more than 1 in 1,000: later, what rounding changes
has grown with each step.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

STEPS, COMPARED = 30, 10


def digits():
    """A perceptron on 1,797 images of 8 x 8 in ten classes, made by scikit-learn's generator."""
    import flax.linen as nn
    import jax.numpy as jnp
    from sklearn.datasets import make_classification

    x, y = make_classification(1792, 64, n_informative=32, n_classes=10, random_state=0)
    x, y = jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.int32)

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            for width in 512, 256:
                x = nn.relu(nn.Dense(width)(x))
            return nn.Dense(10)(x)

    return Net(), x, lambda out: cross_entropy(out, y)


def transformer():
    """A decoder of 4 layers, 128 wide, 8 sequences of 128 tokens."""
    import flax.linen as nn
    import jax
    import jax.numpy as jnp

    tokens = jax.random.randint(jax.random.key(0), (8, 129), 0, 256)

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            h = nn.LayerNorm()(x)
            mask = nn.make_causal_mask(jnp.ones(x.shape[:2]))
            x = x + nn.MultiHeadDotProductAttention(num_heads=4)(h, h, mask=mask)
            h = nn.gelu(nn.Dense(4 * x.shape[-1])(nn.LayerNorm()(x)))
            return x + nn.Dense(x.shape[-1])(h)

    class Net(nn.Module):
        @nn.compact
        def __call__(self, t):
            x = nn.Embed(256, 128)(t) + nn.Embed(128, 128)(jnp.arange(t.shape[1]))
            for _ in range(4):
                x = Block()(x)
            return nn.Dense(256)(nn.LayerNorm()(x))

    return Net(), tokens[:, :-1], lambda out: cross_entropy(out, tokens[:, 1:])


def resnet():
    """A residual network of 9 convolutions on 16 images of 32 x 32."""
    import flax.linen as nn
    import jax

    x = jax.random.normal(jax.random.key(1), (16, 32, 32, 3))
    y = jax.random.randint(jax.random.key(2), (16,), 0, 10)

    class Block(nn.Module):
        width: int
        stride: int

        @nn.compact
        def __call__(self, x):
            h = nn.Conv(self.width, (3, 3), strides=self.stride, use_bias=False)(x)
            h = nn.relu(nn.GroupNorm(num_groups=8)(h))
            h = nn.GroupNorm(num_groups=8)(nn.Conv(self.width, (3, 3), use_bias=False)(h))
            if x.shape != h.shape:
                x = nn.Conv(self.width, (1, 1), strides=self.stride, use_bias=False)(x)
            return nn.relu(x + h)

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.Conv(32, (3, 3))(x))
            for width, stride in (32, 1), (64, 2), (128, 2):
                x = Block(width, stride)(x)
            return nn.Dense(10)(x.mean((1, 2)))

    return Net(), x, lambda out: cross_entropy(out, y)


def cross_entropy(logits, labels):
    import optax

    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def trained(make):
    """The step of a network under Adam, its state, and what it is called with."""
    import jax
    import optax

    net, x, loss_of = make()
    adam = optax.adam(1e-3)
    parameters = jax.jit(net.init)(jax.random.key(3), x)

    def step(state):
        def loss(p):
            return loss_of(net.apply(p, x))

        value, gradient = jax.value_and_grad(loss)(state[0])
        updates, moments = adam.update(gradient, state[1])
        return (optax.apply_updates(state[0], updates), moments), value

    return step, (parameters, adam.init(parameters))


def gelu_mlp():
    import jax
    import jax.numpy as jnp

    k = jax.random.split(jax.random.key(0), 3)
    x, a, b = (jax.random.normal(k[i], s) * 0.05 for i, s in
               enumerate(((256, 768), (768, 3072), (3072, 768))))
    return lambda x: (x, jnp.sum(jnp.square(jax.nn.gelu(x @ a) @ b))), x


def attention():
    import jax
    import jax.numpy as jnp

    q, k, v = jax.random.normal(jax.random.key(0), (3, 12, 1024, 64))

    def step(q):
        p = jax.nn.softmax(jnp.einsum("hqd,hkd->hqk", q, k) / 8)
        return q, jnp.sum(jnp.square(jnp.einsum("hqk,hkd->hqd", p, v)))

    return step, q


def convolution():
    import jax
    import jax.numpy as jnp

    x = jax.random.normal(jax.random.key(0), (8, 64, 56, 56))
    w = jax.random.normal(jax.random.key(1), (64, 64, 3, 3)) * 0.05

    def step(x):
        return x, jnp.sum(jnp.square(jax.lax.conv(x, w, (1, 1), "SAME")))

    return step, x


def black_scholes():
    import jax
    import jax.numpy as jnp
    from jax.scipy.stats import norm

    s = jnp.linspace(10.0, 200.0, 1_000_000)

    def step(s):
        k, t, r, v = 100.0, 1.0, 0.02, 0.3
        d = (jnp.log(s / k) + (r + v * v / 2) * t) / (v * jnp.sqrt(t))
        return s, jnp.mean(s * norm.cdf(d) - k * jnp.exp(-r * t) * norm.cdf(d - v * jnp.sqrt(t)))

    return step, s


MODELS = {
    "perceptron, 1792 x 64, Adam": lambda: trained(digits),
    "transformer, 4 x 128, Adam": lambda: trained(transformer),
    "residual network, 16 x 32^2, Adam": lambda: trained(resnet),
    "GELU MLP 256x768x3072": gelu_mlp,
    "attention 12x1024x64": attention,
    "convolution 3x3, 8x64x56^2": convolution,
    "Black-Scholes 1e6": black_scholes,
}


def measure(name):
    """In a process of its own: what the platform of the environment takes."""
    import jax

    if "PJRT_NAMES_AND_LIBRARY_PATHS" in os.environ:  # no wheel, which does this
        sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings/python"))
        from nx import programs
        from nx.jax import skip_keys

        skip_keys()
        programs.install(os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"].partition(":")[2])
    function, state = MODELS[name]()
    jax.block_until_ready(state)
    step = jax.jit(function)
    start = time.perf_counter()
    traced = step.lower(state)
    lowered, used = time.perf_counter(), time.process_time()
    compiled = traced.compile()
    state, value = jax.block_until_ready(compiled(state))
    first, first_used = time.perf_counter() - lowered, time.process_time() - used
    losses, times = [float(value)], []
    for _ in range(STEPS):
        begin = time.perf_counter()
        state, value = jax.block_until_ready(compiled(state))
        times.append(time.perf_counter() - begin)
        losses.append(float(value))
    print(json.dumps({"trace": lowered - start, "first": first, "used": first_used,
                      "losses": losses, "step": statistics.median(times)}))


def in_process(name, platform, plugin):
    quiet = {"NX_CACHE_DIR": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment = os.environ | quiet | {"JAX_PLATFORMS": platform}
    if plugin and platform == "nx":
        environment["PJRT_NAMES_AND_LIBRARY_PATHS"] = f"nx:{plugin}"
    done = subprocess.run([sys.executable, __file__, "--measure", name], env=environment,
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name} on {platform}:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def row(name, plugin, rounds, processor):
    """The figures of both platforms, and how far their losses are apart."""
    runs = {"nx": [], "cpu": []}
    for _ in range(rounds):
        for platform, results in runs.items():
            results.append(in_process(name, platform, plugin))
    ours, theirs = (results[0]["losses"] for results in runs.values())
    apart = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(ours[:COMPARED], theirs))
    taken = min if processor else statistics.median
    figures = [taken(r[what] for r in runs[platform]) * 1e3
               for what in ("used" if processor else "first", "step") for platform in runs]
    return figures, apart


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--measure")
    parser.add_argument("--plugin")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processor", action="store_true")
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure)
    status = 0
    columns = "first step, ms: nx", "XLA", "ratio", "step, ms: nx", "XLA", "ratio", "losses apart"
    print(f"| model | {' | '.join(columns)} |")
    print("|---|---|---|---|---|---|---|---|")
    for name in (n for n in MODELS if options.only in n):
        (first, first_xla, step, step_xla), apart = row(
            name, options.plugin, options.rounds, options.processor)
        print(f"| {name} | {first:.0f} | {first_xla:.0f} | {first / first_xla:.2f} "
              f"| {step:.2f} | {step_xla:.2f} | {step / step_xla:.2f} | {apart:.1e} |", flush=True)
        status |= apart > 1e-3
    return status


if __name__ == "__main__":
    sys.exit(main())
