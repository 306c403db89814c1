# SPDX-License-Identifier: ISC
"""NumPy's arguments out= and where= of functions that act element by element, and out= of others.
A result goes into `out` by an assignment, which is recorded like any other."""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable

from ._core import Array, calls, numbers_shown, strong
from ._lib import BOOL, arr, cast, constant

_ORDER = "buifc"  # of kinds, each of which goes into itself and those behind it


def mask_of(where: Any) -> Array:
    """where= as an array of bools."""
    mask = arr(where)
    if mask.dtype is not BOOL:
        raise TypeError(f"where= takes bools, not {mask.dtype.name}")
    return mask


def chosen(x: Array, where: Any, otherwise: Any) -> Array:
    """x where a mask of bools is true, elsewhere a number."""
    return calls.where(mask_of(where), x, constant(otherwise, x.dtype))


def into(made: Array, out: Any, where: Any = True) -> Array:
    """Assigns a result to out, where a mask is true, and returns out. The result has out's shape
    or is broadcast to it; its dtype is of out's kind, or of one that goes before it."""
    if type(out) is tuple and len(out) == 1:
        out = out[0]
    if out is None:
        return made if where is True else chosen(made, where, 0)
    if type(out) is not Array:
        raise TypeError(f"out= takes an Array, not {type(out).__name__}")
    if _ORDER.index(made.dtype.kind) > _ORDER.index(out.dtype.kind):
        raise TypeError(f"a result of dtype {made.dtype.name} does not go into out= of dtype "
                        f"{out.dtype.name}")
    masks = [] if where is True else [mask_of(where)]
    for x in (made, *masks):
        if x.ndim > out.ndim or any(n not in (1, m) for n, m in
                                    zip(x.shape[::-1], out.shape[::-1])):
            raise ValueError(f"a result or a mask of the shape {x.shape} does not go into out= "
                             f"of the shape {out.shape}")
    made = cast(made, out.dtype)
    out[...] = calls.where(masks[0], made, out) if masks else made
    return out


def elementwise(function: Callable[..., Array]) -> Callable[..., Array]:
    """The function with out= and where=."""

    most = function.__code__.co_argcount

    @wraps(function)
    def with_out(*operands: Any, out: Any = None, where: Any = True, **words: Any) -> Array:
        if len(operands) == most + 1 and out is None:  # NumPy's place of out
            operands, out = operands[:-1], operands[-1]
        made = function(*operands, **words)
        if numbers_shown:  # of numbers alone the result is an array all the same
            made = strong(made)
        return made if out is None and where is True else into(made, out, where)

    with_out.adds = {"out": None, "where": True}
    return with_out


def with_out(function: Callable[..., Array]) -> Callable[..., Array]:
    """The function with out=."""

    @wraps(function)
    def with_out(*operands: Any, out: Any = None, **words: Any) -> Array:
        made = function(*operands, **words)
        return made if out is None else into(made, out)

    with_out.adds = {"out": None}
    return with_out
