# SPDX-License-Identifier: ISC
"""Workloads that PyTorch and JAX write in the same way: n is torch or jax.numpy, the functions
beside it are those that the two spell differently."""


def chain(x):
    y = x
    for _ in range(5):
        y = abs(y - 0.5) * x + 0.1
    return y


def grey(n, wide, narrow):
    def f(x):
        r, g, b = (wide(x[..., i]) for i in range(3))
        return narrow((r * 77 + g * 150 + b * 29) >> 8)

    return f


def forms(n, erf, softmax, roll, concatenate, relu):
    def normal(x):
        return (erf(x * 0.5**0.5) + 1) * 0.5

    def gelu(x):
        return x * 0.5 * (erf(x * 0.5**0.5) + 1)

    def blackscholes(price, strike, time):
        scale = 0.3 * n.sqrt(time)
        d1 = (n.log(price / strike) + 0.065 * time) / scale
        return price * normal(d1) - strike * n.exp(-0.02 * time) * normal(d1 - scale)

    def mandelbrot(re0, im0):
        re, im, count = re0, im0, re0 * 0
        for _ in range(50):
            re2, im2, cross = re * re, im * im, re * im
            inside = re2 + im2 <= 4
            count = count + inside
            re = n.where(inside, re2 - im2 + re0, re)
            im = n.where(inside, cross + cross + im0, im)
        return count

    def attraction(x, y, z, m):
        dx, dy, dz = (p[None, :] - p[:, None] for p in (x, y, z))
        r2 = dx * dx + dy * dy + (dz * dz + 0.01)
        return (dx * (m / (r2 * n.sqrt(r2)))).sum(1)

    def normalised(x):
        d = x - x.mean(-1)[..., None]
        return d / n.sqrt((d * d).mean(-1)[..., None] + 1e-5)

    def logsoftmax(x):
        d = x - n.amax(x, 1)[:, None]
        return d - n.log(n.exp(d).sum(1)[:, None])

    def attention(q, k, v):
        return softmax((q @ k.swapaxes(1, 2)) * q.shape[2] ** -0.5) @ v

    def neighbours(x):
        places = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
        total = roll(x, places[0])
        for place in places[1:]:
            total = total + roll(x, place)
        return total

    def logistic(x, y, w):
        return w - (x.T @ (1 / (1 + n.exp(-(x @ w))) - y)) * (0.1 / x.shape[0])

    def networkstep(x, t, u, v):
        hidden = relu(x @ u)
        dy = softmax(hidden @ v) - t
        dhidden = (dy @ v.T) * (hidden > 0)
        return concatenate(
            ((u - (x.T @ dhidden) * 1e-4).reshape(-1), (v - (hidden.T @ dy) * 1e-4).reshape(-1)), 0
        )

    def dequantised(x, w, s):
        groups, columns = s.shape
        weights = w.reshape(groups, -1, columns) * s[:, None]
        return x @ weights.reshape(w.shape)

    return {
        "poly": lambda a, b: a * 2 + b * 3 - a * b,
        "chain": chain,
        "tanh": lambda a, b, c: n.tanh(a * b + c),
        "exp": n.exp,
        "log": n.log,
        "sin": n.sin,
        "erf": erf,
        "gelu": gelu,
        "power2": lambda x: x**2,
        "powerhalf": lambda x: x**0.5,
        "power3": lambda x: x**3,
        "sum": lambda a, b: a + b,
        "product": lambda a, b: a * b,
        "blackscholes": blackscholes,
        "mandelbrot": mandelbrot,
        "attraction": attraction,
        "divisible": lambda a, d: (a[:, None] % d == 0).any(1),
        "sum0": lambda x: x.sum(0),
        "sum1": lambda x: x.sum(1),
        "sumlast": lambda x: x.sum(-1),
        "sumall": lambda x: x.sum(),
        "mean1": lambda x: x.mean(1),
        "max0": lambda x: n.amax(x, 0),
        "max1": lambda x: n.amax(x, 1),
        "maxlast": lambda x: n.amax(x, -1),
        "argmax0": lambda x: x.argmax(0),
        "argmax1": lambda x: x.argmax(1),
        "argmaxlast": lambda x: x.argmax(-1),
        "symmetricsums": lambda x: ((x + x.T) * 0.5).sum(1),
        "softmax": softmax,
        "logsoftmax": logsoftmax,
        "layernorm": normalised,
        "rmsnorm": lambda x: x / n.sqrt((x * x).mean(-1)[..., None] + 1e-5),
        "symmetricsoftmax": lambda x: softmax(x + x.T),
        "cumsum0": lambda x: n.cumsum(x, 0),
        "cumsum1": lambda x: n.cumsum(x, 1),
        "symmetric": lambda x: x + x.T,
        "third": lambda x: x[::3] + 0,
        "thirdcolumn": lambda x: x[:, 1::3] + 0,
        "thirds": lambda x: x[::3] + x[1::3] + x[2::3],
        "concat": lambda *x: concatenate(x, 0) * 2,
        "concat1": lambda *x: concatenate(x, 1) * 2,
        "roll": lambda x: x + roll(x, (1,)),
        "stackmean": lambda a, b, c, d: (a + b + c + d) * 0.25,
        "neighbours": neighbours,
        "gather": lambda x, i: x[i],
        "take": lambda x, i: x[i],
        "matmul": lambda a, b: a @ b,
        "matmulrelu": lambda a, b, c: relu(a @ b + c),
        "matmulgelu": lambda a, b, c: gelu(a @ b + c),
        "dequantised": dequantised,
        "logistic": logistic,
        "networkstep": networkstep,
        "gelunetwork": lambda x, u, v: gelu(x @ u) @ v,
        "attention": attention,
        "sumitem": None,
    }


def transformer(normalised, causal, gelu):
    def block(x, wq, wk, wv, wo, u, v):
        rows, width = x.shape
        normed = normalised(x)
        q, k, v_ = (
            (normed @ w).reshape(rows, 12, width // 12).swapaxes(0, 1) for w in (wq, wk, wv)
        )
        y = x + causal(q, k, v_).swapaxes(0, 1).reshape(rows, width) @ wo
        return y + gelu(normalised(y) @ u) @ v

    return block
