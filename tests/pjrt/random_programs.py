# SPDX-License-Identifier: ISC
"""Random programs of operations whose attributes are rarely used in JAX: on the plugin, and on
JAX's own processor backend beside it. NXT_PROGRAMS is how many of each kind (8), NXT_SEED where
they begin. Run as with_jax.py says."""

import os
import sys
from functools import partial

import numpy as np
import with_jax

FLOATS = ("float32", "float64", "float16")
INTEGERS = ("int8", "int32", "int64", "uint8", "uint32")


def of(rng, choices):
    return choices[rng.integers(len(choices))]


def ints(rng, low, high, n):
    return [int(x) for x in rng.integers(low, high, n)]


def numbers(rng, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype == bool:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -20, 20, shape).astype(dtype)
    x = np.round(rng.standard_normal(shape) * 8) / 4  # some are equal
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def places(rng, n, of_n):
    """n of of_n places, rising."""
    return sorted(int(x) for x in rng.choice(of_n, n, replace=False)) if n else []


# ---- each kind: a function of JAX and its operands


def dot_general(rng, lax):
    extents = [*((("b", i), s) for i, s in enumerate(ints(rng, 1, 4, rng.integers(0, 3)))),
               *((("c", i), s) for i, s in enumerate(ints(rng, 1, 6, rng.integers(0, 3))))]
    sides = []
    for _ in range(2):
        free = [(("f", i), s) for i, s in enumerate(ints(rng, 1, 5, rng.integers(0, 3)))]
        side = extents + free
        sides.append([side[i] for i in rng.permutation(len(side))])
    order = [extents[i][0] for i in rng.permutation(len(extents))]
    axes = lambda kind: tuple(
        tuple([name for name, _ in side].index(name) for name in order if name[0] == kind)
        for side in sides)
    dtype = of(rng, ["float32", "float64", "int32", "complex64", "float16"])
    wide = "float32" if dtype == "float16" else None
    function = partial(lax.dot_general, dimension_numbers=(axes("c"), axes("b")),
                       preferred_element_type=wide)
    return function, [numbers(rng, [s for _, s in side], dtype) for side in sides]


def indexed(rng):
    """What gather and scatter have in common: the operand's shape, its axes that are batches,
    indexed, and of one place; the indices' shape, and which of their axes are batches."""
    rank = int(rng.integers(1, 5))
    shape = ints(rng, 1, 6, rank)
    turned = [int(i) for i in rng.permutation(rank)]
    batch = sorted(turned[: int(rng.integers(0, rank)) if rng.random() < 0.4 else 0])
    rest = [i for i in turned if i not in batch]
    by_index = rest[: int(rng.integers(1, len(rest) + 1))]
    single = [i for i in sorted(rest) if rng.random() < 0.5]
    free = ints(rng, 1, 5, rng.integers(0, 3))
    extents = free + [shape[i] for i in batch]
    order = [int(i) for i in rng.permutation(len(extents))]
    index_shape = [extents[i] for i in order]
    index_batch = tuple(order.index(len(free) + i) for i in range(len(batch)))
    index = rng.integers(-3, 8, [*index_shape, len(by_index)]).astype(of(rng, ["int32", "int64"]))
    return shape, tuple(batch), tuple(by_index), tuple(single), index, index_batch


def gather(rng, lax):
    shape, batch, by_index, single, index, index_batch = indexed(rng)
    sizes = [1 if i in single or i in batch else int(rng.integers(1, s + 1))
             for i, s in enumerate(shape)]
    n = len(shape) - len(single) - len(batch)
    offset = places(rng, n, index.ndim - 1 + n)
    axes = lax.GatherDimensionNumbers(tuple(offset), single, by_index, batch, index_batch)
    function = partial(lax.gather, dimension_numbers=axes, slice_sizes=tuple(sizes),
                       mode=of(rng, ["clip", "fill"]))
    return function, [numbers(rng, shape, of(rng, [*FLOATS, *INTEGERS, "complex64", bool])), index]


def scatter(rng, lax):
    shape, batch, by_index, single, index, index_batch = indexed(rng)
    sizes = [int(rng.integers(1, s + 1)) for i, s in enumerate(shape)
             if i not in single and i not in batch]
    rank = index.ndim - 1 + len(sizes)
    window = places(rng, len(sizes), rank)
    of_window, of_index = iter(sizes), iter(index.shape[:-1])
    updates = [next(of_window if i in window else of_index) for i in range(rank)]
    axes = lax.ScatterDimensionNumbers(tuple(window), single, by_index, batch, index_batch)
    function = of(rng, [lax.scatter, lax.scatter_add, lax.scatter_mul, lax.scatter_min,
                        lax.scatter_max, lax.scatter_sub])
    dtype = of(rng, ["float32", "float64", "int32", "int8", "uint32"])
    return partial(function, dimension_numbers=axes, mode=of(rng, ["clip", "fill"])), [
        numbers(rng, shape, dtype), index, numbers(rng, updates, dtype)]


def convolution(rng, lax):
    n = int(rng.integers(0, 4))
    groups, batches = of(rng, [(1, 1), (1, 1), (2, 1), (3, 1), (1, 2)])
    orders = [[int(i) for i in rng.permutation(n + 2)] for _ in range(3)]
    inner, outer = ints(rng, 1, 4, 2)
    lhs = [int(rng.integers(1, 3)) * batches, inner * groups, *ints(rng, 1, 9, n)]
    rhs = [outer * groups * batches, inner, *ints(rng, 1, 4, n)]
    base, window = ([of(rng, [1, 1, 2, 3]) for _ in range(n)] for _ in range(2))
    padding = [tuple(max(p, -((s - 1) * b // 2)) for p in ints(rng, -2, 4, 2))
               for s, b in zip(lhs[2:], base)]
    placed = lambda extents, order: [extents[order.index(i)] for i in range(n + 2)]
    function = partial(
        lax.conv_general_dilated, window_strides=ints(rng, 1, 4, n), padding=padding,
        lhs_dilation=base, rhs_dilation=window, feature_group_count=groups,
        batch_group_count=batches, dimension_numbers=lax.ConvDimensionNumbers(*map(tuple, orders)))
    dtype = of(rng, ["float32", "float64", "complex64", "int32"])
    return function, [numbers(rng, placed(lhs, orders[0]), dtype),
                      numbers(rng, placed(rhs, orders[1]), dtype)]


def window(rng, lax):
    rank = int(rng.integers(1, 5))
    shape, base = ints(rng, 1, 8, rank), [of(rng, [1, 1, 2, 3]) for _ in range(rank)]
    padding = [tuple(max(p, -((s - 1) * b // 2)) for p in ints(rng, -1, 4, 2))
               for s, b in zip(shape, base)]
    dtype = np.dtype(of(rng, [*FLOATS, "int32", "int8", "uint8"]))
    ends = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    reducer, init = of(rng, [(lax.add, 0), (lax.mul, 1), (lax.max, ends[0]), (lax.min, ends[1])])
    function = partial(
        lax.reduce_window, init_value=np.asarray(init, dtype), computation=reducer,
        window_dimensions=ints(rng, 1, 4, rank), window_strides=ints(rng, 1, 4, rank),
        padding=padding, base_dilation=base, window_dilation=[of(rng, [1, 2]) for _ in shape])
    return function, [numbers(rng, shape, dtype)]


def sort(rng, lax):
    rank, n = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    shape = ints(rng, 1, 12, rank)
    function = partial(lambda *x, **how: lax.sort(x, **how), dimension=int(rng.integers(rank)),
                       num_keys=int(rng.integers(1, n + 1)))
    return function, [numbers(rng, shape, of(rng, [*FLOATS, *INTEGERS, bool])) for _ in range(n)]


def padded(rng, lax):
    shape = ints(rng, 0 if rng.random() < 0.2 else 2, 7, rng.integers(1, 4))
    config = [(*ints(rng, -1 if s > 1 else 0, 4, 2), int(rng.integers(0, 3))) for s in shape]
    dtype = of(rng, [*FLOATS, *INTEGERS, "complex64", bool])
    return partial(lax.pad, padding_config=config), [numbers(rng, shape, dtype),
                                                     numbers(rng, (), dtype)]


def sliced(rng, lax):
    shape = ints(rng, 1, 7, rng.integers(1, 5))
    sizes = [int(rng.integers(0, s + 1)) for s in shape]
    start = [np.int32(x) for x in ints(rng, -9, 9, len(shape))]
    dtype = of(rng, [*FLOATS, *INTEGERS])
    x, y = numbers(rng, shape, dtype), numbers(rng, sizes, dtype)
    if rng.random() < 0.5:
        return lambda x, *i: lax.dynamic_slice(x, i, sizes), [x, *start]
    return lambda x, y, *i: lax.dynamic_update_slice(x, y, i), [x, y, *start]


def random_bits(rng, lax):
    shape = ints(rng, 1, 9, rng.integers(0, 4))
    algorithm = of(rng, [lax.RandomAlgorithm.RNG_THREE_FRY, lax.RandomAlgorithm.RNG_PHILOX,
                         lax.RandomAlgorithm.RNG_DEFAULT])
    dtype = np.dtype(of(rng, ["uint8", "uint16", "uint32", "uint64"]))
    return partial(lax.rng_bit_generator, shape=shape, dtype=dtype, algorithm=algorithm), [
        rng.integers(0, 2**32, 4, dtype=np.uint32)]


def loop(rng, lax):
    """Many values that are carried, of which some are handed on, and some change places."""
    n, times = int(rng.integers(1, 80)), int(rng.integers(0, 6))
    values = [numbers(rng, of(rng, [(), (2,), (3, 2)]), of(rng, ["float32", "int32", bool]))
              for _ in range(n)]

    def step(_, values):
        out = []
        for i, x in enumerate(values):
            y = values[(7 * i + 1) % n]
            alike = x.dtype == y.dtype and x.shape == y.shape
            out.append(~x if x.dtype == bool else x + y if alike else x - i % 2)
        return tuple(out)

    return lambda *x: lax.fori_loop(0, times, step, x), values


KINDS = (dot_general, gather, scatter, convolution, window, sort, padded, sliced, random_bits, loop)


# ---- beside each other


def differ(ours, theirs):
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype}{ours.shape}, not {theirs.dtype}{theirs.shape}"
    if ours.dtype.kind not in "fc":
        return "" if np.array_equal(ours, theirs) else f"{ours}, not {theirs}"
    wide = np.complex128 if ours.dtype.kind == "c" else np.float64
    a, b = ours.astype(wide), theirs.astype(wide)
    size = np.abs(b[np.isfinite(b)]).max(initial=1)
    with np.errstate(all="ignore"):
        good = (a == b) | ((a != a) & (b != b)) | (np.abs(a - b) <= 8 * np.finfo(a.dtype).eps +
                                                   32 * np.finfo(ours.dtype).eps * size)
    return "" if good.all() else f"{a[~good][:4]}, not {b[~good][:4]}"


def run(_library):
    import jax
    from jax import lax

    jax.config.update("jax_enable_x64", True)
    faults, count = [], 0
    for kind in KINDS:
        first = int(os.environ.get("NXT_SEED", "0"))
        for seed in range(first, first + int(os.environ.get("NXT_PROGRAMS", "8"))):
            function, operands = kind(np.random.default_rng([seed, KINDS.index(kind)]), lax)
            became = []
            for platform in "nx", "cpu":
                device = jax.devices(platform)[0]
                with jax.default_device(device):
                    results = jax.jit(function)(*(jax.device_put(x, device) for x in operands))
                became.append([np.asarray(x) for x in jax.tree.leaves(results)])
            said = [s for s in map(differ, *became) if s]
            faults += [f"{kind.__name__}, seed {seed}: {s}" for s in said[:1]]
            count += 1
    print(*faults, sep="\n")
    print(f"{count} programs, {len(faults)} with other values than JAX's processor backend")
    return len(faults) > 0


if __name__ == "__main__":
    sys.exit(with_jax.begin(run, last="programs,"))
