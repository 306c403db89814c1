# SPDX-License-Identifier: ISC
"""Kernels of numerical Python on nx and on NumPy: the same text for both, recorded step by step and
captured (nx.jit). Results are compared before anything is timed; the three take turns, and the
least time of each counts.

Usage: kernels.py [--rounds N] [--only NAME]. Needs the package nx and NumPy.
"""

import argparse
import time

import numpy as np

import nx

rng = np.random.default_rng(1)


# ---- kernels: step(xp, *state) -> state; `count` steps are one run


def jacobi(xp, u):
    u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return (u,)


def fdtd(xp, ex, ey, hz):
    ey[1:, :] = ey[1:, :] - 0.5 * (hz[1:, :] - hz[:-1, :])
    ex[:, 1:] = ex[:, 1:] - 0.5 * (hz[:, 1:] - hz[:, :-1])
    hz[:-1, :-1] = hz[:-1, :-1] - 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def cavity(xp, u, v, p):
    """A step of the flow in a cavity whose lid moves: pressure by 20 sweeps, then velocities."""
    d, dt, rho, nu = 2 / 40, 0.001, 1.0, 0.1
    ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * d)
    uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * d)
    vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * d)
    vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * d)
    b = rho * ((ux + vy) / dt - ux * ux - 2 * (uy * vx) - vy * vy)
    for _ in range(20):
        p = xp.asarray(p, copy=True)
        p[1:-1, 1:-1] = 0.25 * (
            p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1] - d * d * b
        )
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0
    un, vn = xp.asarray(u, copy=True), xp.asarray(v, copy=True)
    for new, old, pressure in (
        (un, u, p[1:-1, 2:] - p[1:-1, :-2]),
        (vn, v, p[2:, 1:-1] - p[:-2, 1:-1]),
    ):
        c = old[1:-1, 1:-1]
        left, right, below, above = old[1:-1, :-2], old[1:-1, 2:], old[:-2, 1:-1], old[2:, 1:-1]
        new[1:-1, 1:-1] = (
            c
            - u[1:-1, 1:-1] * dt / d * (c - left)
            - v[1:-1, 1:-1] * dt / d * (c - below)
            - dt / (2 * rho * d) * pressure
            + nu * dt / (d * d) * (left + right + below + above - 4 * c)
        )
    un[-1, :] = 1
    return un, vn, p


def life(xp, a):
    n = a[:-2, :-2] + a[:-2, 1:-1] + a[:-2, 2:] + a[1:-1, :-2]
    n = n + a[1:-1, 2:] + a[2:, :-2] + a[2:, 1:-1] + a[2:, 2:]
    a[1:-1, 1:-1] = xp.astype((n == 3) | ((n == 2) & (a[1:-1, 1:-1] == 1)), xp.uint8)
    return (a,)


def floyd(xp, d):
    for k in range(d.shape[0]):
        d = xp.minimum(d, d[:, k : k + 1] + d[k, :])
    return (d,)


def cholesky(xp, a):
    l = xp.zeros_like(a)
    for j in range(a.shape[0]):
        l[j, j] = xp.sqrt(a[j, j] - xp.sum(l[j, :j] * l[j, :j]))
        l[j + 1 :, j] = (a[j + 1 :, j] - l[j + 1 :, :j] @ l[j, :j]) / l[j, j]
    return (l,)


def gram_schmidt(xp, a):
    q = xp.asarray(a, copy=True)
    for k in range(a.shape[1]):
        q[:, k] = q[:, k] / xp.sqrt(xp.sum(q[:, k] * q[:, k]))
        rest = q[:, k + 1 :]
        q[:, k + 1 :] = rest - q[:, k : k + 1] * (q[:, k] @ rest)
    return (q,)


def power_iteration(xp, a, v):
    for _ in range(10):
        v = a @ v
        v = v / xp.sqrt(xp.sum(v * v))
    return a, v


def spmv(xp, values, columns, x):
    y = xp.sum(values * xp.take(x, xp.reshape(columns, (-1,))).reshape(columns.shape), axis=1)
    return values, columns, y / xp.max(xp.abs(y))


def conv(xp, x, w):
    """NHWC, without padding, as a sum over the window."""
    k, n = w.shape[0], x.shape[1] - w.shape[0] + 1
    out = 0
    for i in range(k):
        for j in range(k):
            out = out + x[:, i : i + n, j : j + n, :] @ w[i, j]
    return out


def conv2d(xp, x, w):
    return conv(xp, x, w), w


def lenet(xp, x, c1, c2, f1, f2):
    def pool(x):
        n, h, w, c = x.shape
        return xp.max(xp.reshape(x, (n, h // 2, 2, w // 2, 2, c)), axis=(2, 4))

    y = pool(xp.maximum(conv(xp, x, c1), xp.asarray(0.0, dtype=xp.float32)))
    y = pool(xp.maximum(conv(xp, y, c2), xp.asarray(0.0, dtype=xp.float32)))
    y = xp.reshape(y, (x.shape[0], -1))
    return (xp.maximum(y @ f1, xp.asarray(0.0, dtype=xp.float32)) @ f2,)


# ---- inputs


def real(*shape, dtype="float64"):
    return rng.standard_normal(shape).astype(dtype)


def positive(n):
    a = real(n, n)
    return a @ a.T + n * np.eye(n)


# name: function, state, steps in a run, whether a step's results are the next one's inputs
KERNELS = {
    "jacobi 256": (jacobi, (real(256, 256),), 50, True),
    "fdtd 256": (fdtd, (real(256, 256), real(256, 256), real(256, 256)), 20, True),
    "cavity 41": (cavity, (np.zeros((41, 41)), np.zeros((41, 41)), np.zeros((41, 41))), 10, True),
    "life 512": (life, (rng.integers(0, 2, (512, 512)).astype(np.uint8),), 20, True),
    "floyd 128": (floyd, (rng.uniform(0, 1, (128, 128)),), 1, False),
    "cholesky 60": (cholesky, (positive(60),), 1, False),
    "gram-schmidt 200x40": (gram_schmidt, (real(200, 40),), 1, False),
    "power iteration 500": (power_iteration, (real(500, 500), real(500)), 2, True),
    "spmv 20000x20": (
        spmv,
        (real(20000, 20), rng.integers(0, 20000, (20000, 20)), real(20000)),
        5,
        True,
    ),
    "conv2d 8x32x32x16": (
        conv2d,
        (real(8, 32, 32, 16, dtype="float32"), real(3, 3, 16, 32, dtype="float32")),
        1,
        False,
    ),
    "lenet 16": (
        lenet,
        (
            real(16, 28, 28, 1, dtype="float32"),
            real(5, 5, 1, 6, dtype="float32"),
            real(5, 5, 6, 16, dtype="float32"),
            real(256, 120, dtype="float32"),
            real(120, 10, dtype="float32"),
        ),
        1,
        False,
    ),
}


def runner(xp, step, state, count, chained):
    """A run, which gives its last results, computed."""

    def run():
        now = [xp.asarray(a, copy=True) for a in state]
        for _ in range(count):
            made = step(xp, *now)
            if chained:
                now = list(made)
        if xp is nx:
            nx.realize(*made)
        return made

    return run


def captured(step):
    f = nx.jit(lambda *state: step(nx, *state))
    return lambda _, *state: f(*state)


class Numpy:
    """NumPy with the names of the array API that its older versions lack."""

    def __getattr__(self, name):
        return getattr(np, name)

    def asarray(self, x, dtype=None, copy=None):
        return np.array(x, dtype) if copy else np.asarray(x, dtype)

    def astype(self, x, dtype):
        return x.astype(dtype)


def timed(run):
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def measure(name, rounds):
    step, state, count, chained = KERNELS[name]
    runs = {
        "NumPy": runner(Numpy(), step, state, count, chained),
        "recorded": runner(nx, step, state, count, chained),
        "captured": runner(nx, captured(step), state, count, chained),
    }
    wanted = runs["NumPy"]()
    for other in "recorded", "captured":
        for a, b in zip(wanted, runs[other]()):
            same = np.allclose(a, np.asarray(b), rtol=1e-3, atol=1e-4)
            assert same, f"{name}: what was {other} gives something else"
    deadline = time.perf_counter() + 0.3  # code of hot kernels comes in the background
    while time.perf_counter() < deadline:
        runs["recorded"](), runs["captured"]()
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for who, run in runs.items():
            best[who] = min(best[who], timed(run))
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print("| kernel | NumPy, ms | recorded, ms | captured, ms | recorded/NumPy | captured/NumPy |")
    print("|---|---|---|---|---|---|")
    for name in KERNELS:
        if options.only not in name:
            continue
        b = measure(name, options.rounds)
        times = " | ".join(f"{1e3 * t:.3f}" for t in b.values())
        print(f"| {name} | {times} | {b['recorded'] / b['NumPy']:.2f} "
              f"| {b['captured'] / b['NumPy']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
