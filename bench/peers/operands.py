# SPDX-License-Identifier: ISC
"""Operands of rows, the same elements as bench/operands.c makes, and the comparison of results."""

import functools

import numpy as np

PIECE = 1 << 16

NAMES = {
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "i16": np.int16,
    "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "bool": np.bool_,
    "c64": np.complex64, "c128": np.complex128,
}  # fmt: skip
# By which part of the largest element results may differ.
TOLERANCES = {"f32": 2e-4, "f64": 1e-8, "f16": 2e-2, "bf16": 4e-2, "c64": 2e-4, "c128": 1e-8}


def kind(name):
    if name == "bf16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return NAMES[name]


def numbers(number, first, count, low, high):
    """Numbers in [low, high) that depend on their position alone."""
    h = np.arange(first, first + count, dtype=np.uint32)
    h *= np.uint32(0x9E3779B1)
    h += np.uint32((number * 0x85EBCA6B + 1) & 0xFFFFFFFF)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, None)):
        h ^= h >> np.uint32(shift)
        if factor:
            h *= np.uint32(factor)
    return low + (high - low) * ((h >> np.uint32(8)) / (1 << 24))


def real(number, shape, low, high, wide):
    """In pieces that stay in the caches."""
    x = np.empty(int(np.prod(shape)), np.float64 if wide else np.float32)
    for first in range(0, len(x), PIECE):
        part = x[first : first + PIECE]
        part[:] = numbers(number, first, len(part), low, high)
    return x.reshape(shape)


@functools.lru_cache(maxsize=6)
def operand(number, text):
    """Operand `number` of a row, of "f32:4096x1024:-2:2". Neighbouring rows often have the same."""
    name, extents, low, high = text.split(":")
    shape = tuple(int(n) for n in extents.split("x"))
    make = lambda k: real(k, shape, float(low), float(high), name in ("f64", "c128"))
    x = make(number)
    if name in ("c64", "c128"):
        return (x + 1j * make(number + (1 << 16))).astype(NAMES[name])
    return x if name in ("f32", "f64") else x.astype(kind(name))


def as_array(x):
    """A result of any library as an array of NumPy."""
    if hasattr(x, "detach"):
        x = x.detach().resolve_conj()
        if str(x.dtype) == "torch.bfloat16":
            x = x.float()
        return x.numpy()
    return np.asarray(x)


def all_close(a, b, tolerance):
    """The usual case, quickly. False: not, or some are infinite or no numbers."""
    if a.dtype != b.dtype or a.dtype.kind not in "fc" or a.dtype.itemsize < 4 or a.size == 0:
        return np.array_equal(a, b)
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.abs(a - b).max() <= tolerance * np.abs(b).max())


def difference(got, path, share, texts):
    """What differs between results and those in the file; an empty text: nothing does."""
    got = list(got) if isinstance(got, (tuple, list)) else [got]
    with open(path, "rb") as f:
        data = f.read()
    at = 0
    for i, text in enumerate(texts):
        name, extents = text.split(":")
        shape = tuple(int(n) for n in extents.split("x")) if extents else ()
        want = np.frombuffer(data, kind(name), int(np.prod(shape)), at).reshape(shape)
        at += want.nbytes
        have = as_array(got[i])
        if have.size != want.size:
            return f"result {i} has the shape {have.shape}, that of nx {shape}"
        if all_close(have.reshape(shape), want, TOLERANCES.get(name, 0)):
            continue
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        a, b = have.reshape(shape).astype(wide), want.astype(wide)
        scale = max(float(np.abs(b).max(initial=0)), 1e-30)
        apart = ~(np.abs(a - b) <= TOLERANCES.get(name, 0) * scale)
        apart &= ~((a == b) | (np.isnan(a) & np.isnan(b)))
        if apart.mean() > share:
            worst = np.unravel_index(int(np.argmax(apart)), apart.shape)
            return (
                f"result {i} at {tuple(int(n) for n in worst)} is {a[worst]:.9g}, that of nx "
                f"{b[worst]:.9g}; {int(apart.sum())} of {apart.size} differ"
            )
    return ""
