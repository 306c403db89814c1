# SPDX-License-Identifier: ISC
"""Random arrays. A key is all the state that there is: the same key gives the same numbers, on
every device and in every version, so use each one once and make others with `split` or `fold_in`.

    a, b = nx.random.split(nx.random.key(0))
    x = nx.random.normal(a, (3, 4))

Bits, keys, and uniform floats and integers are those of JAX (threefry2x32, partitionable)."""

from __future__ import annotations

import operator
from math import inf
from typing import Any, Callable

from . import _core
from ._core import Array, calls
from ._dtypes import finfo
from ._lib import (FLOAT64, INT64, UINT32, arr, axis_of, broadcast_shape, cast, constant, floats,
                   floating, named, product, promoted, reshaped, shape_of)

__all__ = ["bernoulli", "beta", "binomial", "bits", "categorical", "cauchy", "chi_square",
           "choice", "dirichlet", "exponential", "fold_in", "gamma", "geometric", "gumbel",
           "integers", "key", "laplace", "logistic", "normal", "permutation", "philox", "poisson",
           "randint", "split", "student_t", "truncated_normal", "uniform"]


# ---- keys and bits


def _of_64_bits(what: str, x: Any) -> int:
    """An integer of 64 bits, with a sign or without."""
    number = operator.index(x)
    if not -(2**63) <= number < 2**64:
        raise OverflowError(f"{what}: {number} has more than 64 bits")
    return number


def key(seed: Any, /) -> Array:
    """A key of an integer of 64 bits, with a sign or without, or of an array of one."""
    if type(seed) is Array:
        bits = cast(seed, _core.dtypes["uint64"])
        return calls.cat([reshaped(cast(v, UINT32), (1,)) for v in (bits >> 32, bits)], 0)
    seed = _of_64_bits("key", seed) % 2**64
    return _core.array([seed >> 32, seed & 0xFFFFFFFF], UINT32)


def split(key: Array, n: int = 2, /) -> Array:
    """n keys of one, as rows."""
    return calls.random_split(key, n)


def fold_in(key: Array, number: Any, /) -> Array:
    """A key of a key and an integer of 64 bits, such as the number of a step. What 32 bits do not
    hold, with a sign or without, is folded in by its low word and then its high one."""
    if type(number) is not Array:
        number = _of_64_bits("fold_in", number)
        low, high = (_core.full((), word % 2**32, UINT32, key.device)
                     for word in (number, number >> 32))
        made = calls.random_fold_in(key, low)
        if -(2**31) <= number < 2**32:
            return made
        return calls.random_fold_in(made, high)
    if number.device != key.device:
        number = number.to_device(key.device)
    made = calls.random_fold_in(key, number)
    if number.dtype.bits < 64:
        return made
    dtype = number.dtype
    wide = calls.random_fold_in(made, calls.shr(number, constant(32, dtype)))
    made = calls.where(calls.cmplt(number, constant(2**32, dtype)), made, wide)
    if dtype.kind == "u":
        return made
    return calls.where(calls.cmpge(number, constant(-(2**31), dtype)), made, wide)


def bits(key: Array, /, shape: Any = (), dtype: Any = None) -> Array:
    """Random bits: uint8, uint16, uint32 or uint64."""
    return calls.random_bits(key, UINT32 if dtype is None else _core.dtype(dtype), shape_of(shape))


def philox(key: Array, counter: Array, /) -> Array:
    """Philox 4x32 with 10 rounds: four words for each counter of four."""
    return calls.philox(key, counter)


# ---- uniform


def _float(dtype: Any) -> Any:
    return FLOAT64 if dtype is None else _core.dtype(dtype)


def uniform(key: Array, /, shape: Any = (), dtype: Any = None, *, low: float = 0.0,
            high: float = 1.0) -> Array:
    """In [low, high)."""
    return calls.random_uniform(key, _float(dtype), shape_of(shape), float(low), float(high))


def integers(key: Array, /, low: int, high: int | None = None, shape: Any = (),
             dtype: Any = None) -> Array:
    """From low to high - 1, or from 0 to low - 1."""
    low, high = (0, low) if high is None else (low, high)
    shape, dtype = shape_of(shape), INT64 if dtype is None else _core.dtype(dtype)
    if type(low) is int and type(high) is int and low >= high and product(shape) > 0:
        raise ValueError(f"integers: none is at least {low} and less than {high}")
    return calls.random_integers(key, dtype, shape, low, high)


def randint(key: Array, /, shape: Any, low: int, high: int, dtype: Any = None) -> Array:
    """From low to high - 1, with the operands in JAX's order."""
    return integers(key, low, high, shape, dtype)


def permutation(key: Array, x: Any, /, axis: int = 0) -> Array:
    """The numbers 0 .. x - 1 in random order, or the slices of an array along an axis."""
    from ._searching import take

    if isinstance(x, int):
        return cast(calls.permutation(key, x), INT64)
    x = arr(x)
    return take(x, calls.permutation(key, x.shape[axis_of(axis, x.ndim)]), axis=axis)


def choice(key: Array, a: Any, /, shape: Any = (), replace: bool = True, p: Any = None,
           axis: int = 0) -> Array:
    """Of 0 .. a - 1, or of the slices of an array along an axis; p: their probabilities. These are
    looked at, an action, but not in a captured function that gets them or computes them: there
    they are weights, which need not sum to 1, and where one is negative or NaN, or all are 0, what
    is chosen says nothing."""
    from ._searching import take

    shape = shape_of(shape)
    m = a if isinstance(a, int) else arr(a).shape[axis]
    weights = None if p is None else floating(p)
    if weights is not None and weights.ndim == 1 and weights.dtype.kind == "f":
        _check_probabilities(weights, 0 if replace else product(shape))
    places = reshaped(calls.random_choice(key, m, product(shape), replace, weights), shape)
    return places if isinstance(a, int) else take(a, places, axis=axis)


_FEW = 256  # numbers that take Python less time than a run


def _few_numbers(p: Array) -> list[float]:
    """Their sum, how many are below 0, and how many above; an action."""
    numbers = p.tolist()
    return [sum(numbers), sum(w < 0 for w in numbers), sum(w > 0 for w in numbers)]


def _many_numbers(p: Array) -> list[float]:
    p = cast(p, FLOAT64)
    signs = (cast(found, FLOAT64) for found in (p < 0, p > 0))
    sums = [reshaped(calls.reduce_sum(x, None, 0), (1,)) for x in (p, *signs)]
    return calls.cat(sums, 0).tolist()


def _check_probabilities(p: Array, n: int) -> None:
    """ValueError unless they are at least 0, sum to 1 as nearly as NumPy wants it, and n of them,
    which are drawn without replacement, are not 0."""
    try:
        total, below, some = _few_numbers(p) if p.size <= _FEW else _many_numbers(p)
    except _core.Unbound:
        return
    if total != total:
        raise ValueError("choice: p has a NaN")
    if below:
        raise ValueError("choice: p has a number below 0")
    if abs(total - 1) > finfo(p.dtype).eps ** 0.5:
        raise ValueError(f"choice: p sums to {total}, not to 1")
    if some < n:
        raise ValueError(f"choice: {n} without replacement of {int(some)} that are not 0")


# ---- distributions without parameters


def _standard(name: str, sentence: str) -> Callable[..., Array]:
    call = getattr(calls, f"random_{name}")

    def function(key: Array, /, shape: Any = (), dtype: Any = None) -> Array:
        return call(key, _float(dtype), shape_of(shape))

    return named(function, name, sentence)


normal = _standard("normal", "Mean 0, deviation 1.")
exponential = _standard("exponential", "Mean 1.")
gumbel = _standard("gumbel", "Location 0, scale 1.")
laplace = _standard("laplace", "Location 0, scale 1.")
logistic = _standard("logistic", "Location 0, scale 1.")
cauchy = _standard("cauchy", "Location 0, scale 1.")


# ---- distributions with parameters, which broadcast to the shape


def _with(name: str, parameters: tuple, shape: Any, dtype: Any = None) -> tuple:
    """The parameters as floats of one dtype, and the shape: theirs unless it is given."""
    xs = floats(*parameters)
    if dtype is not None:
        xs = [cast(x, _core.dtype(dtype)) for x in xs]
    if shape is None:
        return xs, broadcast_shape(*[x.shape for x in xs])
    return xs, shape_of(shape)


# The numbers that are refused as the last parameter.
_BAD = {"poisson": lambda a: not 0 <= a < inf, "binomial": lambda p: not 0 <= p <= 1,
        "geometric": lambda p: not 0 < p <= 1, "bernoulli": lambda p: not 0 <= p <= 1}


def _checked(name: str, x: Any) -> None:
    if name in _BAD and type(x) in (int, float) and _BAD[name](x):
        raise ValueError(f"{name}: there is no such distribution of {x}")


def _parametric(name: str, n: int, sentence: str) -> Callable[..., Array]:
    call = getattr(calls, f"random_{name}")

    def one(key: Array, a: Any, /, shape: Any = None, dtype: Any = None) -> Array:
        _checked(name, a)
        xs, extents = _with(name, (a,), shape, dtype)
        return call(key, *xs, extents)

    def two(key: Array, a: Any, b: Any, /, shape: Any = None, dtype: Any = None) -> Array:
        _checked(name, b)
        if name == "binomial" and type(a) in (int, float) and not 0 <= a < inf:
            raise ValueError(f"binomial: {a} is not a number of trials")
        xs, extents = _with(name, (a, b), shape, dtype)
        return call(key, *xs, extents)

    function = one if n == 1 else two
    return named(function, name, sentence)


gamma = _parametric("gamma", 1, "Shape a > 0, scale 1.")
beta = _parametric("beta", 2, "Of a, b > 0.")
chi_square = _parametric("chi_square", 1, "Of a > 0 degrees of freedom.")
student_t = _parametric("student_t", 1, "Student's t of a > 0 degrees of freedom.")
truncated_normal = _parametric("truncated_normal", 2, "A normal number between a and b.")
poisson = _parametric("poisson", 1, "Of rate a; int64, and -1 where a in an array is no rate.")
binomial = _parametric("binomial", 2,
                       "How many of a trials of probability b succeed; int64, and -1 where b in an "
                       "array is no probability, or a is below 0.")
geometric = _parametric("geometric", 1,
                        "How many trials of probability a to a success; int64, and -1 where a in "
                        "an array is no probability above 0.")


def bernoulli(key: Array, p: Any = 0.5, /, shape: Any = None) -> Array:
    """True with probability p."""
    _checked("bernoulli", p)
    (p,), extents = _with("bernoulli", (p,), shape)
    return calls.random_bernoulli(key, p, extents)


def dirichlet(key: Array, alpha: Any, /, shape: Any = None, dtype: Any = None) -> Array:
    """Numbers along the last axis, one for each of alpha, that add up to 1; shape is that of the
    other axes."""
    (alpha,), extents = _with("dirichlet", (alpha,), None, dtype)
    if shape is not None:
        extents = (*shape_of(shape), extents[-1])
    return calls.random_dirichlet(key, alpha, extents)


def categorical(key: Array, logits: Any, /, axis: int = -1, shape: Any = None) -> Array:
    """Numbers of classes along an axis of logits, which are not normalised; shape: of the result,
    to which the other axes broadcast."""
    logits = floating(logits)
    axis = axis_of(axis, logits.ndim)
    if shape is not None:
        from ._manipulation import broadcast_to, moveaxis

        logits = moveaxis(logits, axis, -1)
        logits = broadcast_to(logits, (*shape_of(shape), logits.shape[-1]))
        axis = logits.ndim - 1
    return calls.random_categorical(key, logits, axis)
