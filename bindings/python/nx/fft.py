# SPDX-License-Identifier: ISC
"""Fourier transforms, as numpy.fft: `norm` is "backward" (the inverse is divided), "forward" (the
transform is), or "ortho" (both, by the root)."""

from __future__ import annotations

import math
from typing import Any, Sequence

from . import _core
from ._core import Array, calls
from ._lib import (FLOAT64, arr, axes_of, axis_of, cast, complex_dtype, device_number, floating,
                   product)

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn",
           "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]


def _scale(n: int, norm: str | None, inverse: bool) -> float:
    """What a transform of n elements is multiplied with."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'fft: norm is {norm!r}, and must be "backward", "ortho" or "forward"')
    if norm == "ortho":
        return 1.0 / math.sqrt(n)
    return 1.0 / n if (norm == "forward") != inverse else 1.0


def _scaled(x: Array, factor: float) -> Array:
    return x if factor == 1.0 else x * factor


def _sized(x: Array, axes: Sequence[int], sizes: Sequence[int] | None) -> Array:
    """x cut, or with zeros behind it, to these sizes along the axes."""
    if sizes is None:
        return x
    low, high = [0] * x.ndim, list(x.shape)
    after = [0] * x.ndim
    for a, n in zip(axes, sizes):
        if n < 1:
            raise ValueError(f"fft: {n} is not a number of elements")
        high[a] = min(n, x.shape[a])
        after[a] = n - high[a]
    if high != list(x.shape):
        x = calls.shrink(x, low, high)
    return calls.pad(x, low, after, 0) if any(after) else x


def _axes(x: Array, s: Any, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """The axes of a transform of several, and their sizes if they are given."""
    if s is not None:
        s = tuple(s)
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    axes = axes_of(tuple(axes), x.ndim)
    if s is not None and len(s) != len(axes):
        raise ValueError(f"fft: {len(s)} sizes for {len(axes)} axes")
    if s is not None:
        s = tuple(x.shape[a] if n in (None, -1) else n for a, n in zip(axes, s))
    return axes, s


def _checked(x: Array, axes: Sequence[int]) -> None:
    for a in axes:
        if x.shape[a] == 0:
            raise ValueError(f"fft: axis {a} has no elements")


def _complex(x: Any, s: Any, axes: Any, norm: str | None, inverse: bool) -> Array:
    x = floating(x)
    axes, sizes = _axes(x, s, axes)
    x = _sized(cast(x, complex_dtype(x.dtype)), axes, sizes)
    if not axes:
        return x
    _checked(x, axes)
    y = calls.ifft(x, axes) if inverse else calls.fft(x, axes)
    return _scaled(y, _scale(product(x.shape[a] for a in axes), norm, inverse))


def _one(n: int | None) -> tuple | None:
    return None if n is None else (n,)


def fft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Array:
    """The transform along an axis, of n elements of it if given, zeros behind them."""
    return _complex(x, _one(n), (axis,), norm, False)


def ifft(x: Any, /, *, n: int | None = None, axis: int = -1,
         norm: str | None = "backward") -> Array:
    """The inverse of fft."""
    return _complex(x, _one(n), (axis,), norm, True)


def fftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str | None = "backward") -> Array:
    """The transform along several axes; all, or the last ones of which s gives sizes."""
    return _complex(x, s, axes, norm, False)


def ifftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str | None = "backward") -> Array:
    """The inverse of fftn."""
    return _complex(x, s, axes, norm, True)


def rfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str | None = "backward") -> Array:
    """The transform of real numbers along several axes: the half along the last one that
    determines the rest."""
    x = floating(x)
    if x.dtype.kind == "c":
        raise TypeError(f"rfft: real numbers are needed, not {x.dtype.name}")
    axes, sizes = _axes(x, s, axes)
    x = _sized(x, axes, sizes)
    _checked(x, axes)
    return _scaled(calls.rfft(x, axes), _scale(product(x.shape[a] for a in axes), norm, False))


def irfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str | None = "backward") -> Array:
    """The inverse of rfftn. The last size is 2 (n - 1) unless it is given."""
    x = floating(x)
    x = cast(x, complex_dtype(x.dtype))
    axes, sizes = _axes(x, s, axes)
    if sizes is None:
        sizes = tuple(x.shape[a] for a in axes[:-1]) + (2 * (x.shape[axes[-1]] - 1),)
    if min(sizes) < 1:
        raise ValueError(f"irfft: the result has no elements along an axis: {sizes}")
    return _scaled(calls.irfft(x, axes, sizes), _scale(product(sizes), norm, True))


def rfft(x: Any, /, *, n: int | None = None, axis: int = -1,
         norm: str | None = "backward") -> Array:
    """rfftn along one axis."""
    return rfftn(x, s=_one(n), axes=(axis,), norm=norm)


def irfft(x: Any, /, *, n: int | None = None, axis: int = -1,
          norm: str | None = "backward") -> Array:
    """The inverse of rfft."""
    return irfftn(x, s=_one(n), axes=(axis,), norm=norm)


_INVERSE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _inverse(norm: str | None) -> str:
    if norm not in _INVERSE:
        raise ValueError(f'fft: norm is {norm!r}, and must be "backward", "ortho" or "forward"')
    return _INVERSE[norm]


def hfft(x: Any, /, *, n: int | None = None, axis: int = -1,
         norm: str | None = "backward") -> Array:
    """The transform of a signal with Hermitian symmetry, of which x is the first half: real."""
    x = floating(x)
    x = calls.conj(cast(x, complex_dtype(x.dtype)))
    return irfft(x, n=n, axis=axis, norm=_inverse(norm))


def ihfft(x: Any, /, *, n: int | None = None, axis: int = -1,
          norm: str | None = "backward") -> Array:
    """The inverse of hfft."""
    return calls.conj(rfft(x, n=n, axis=axis, norm=_inverse(norm)))


def fft2(x: Any, /, *, s: Any = None, axes: Any = (-2, -1), norm: str | None = "backward") -> Array:
    """fftn along two axes."""
    return fftn(x, s=s, axes=axes, norm=norm)


def ifft2(x: Any, /, *, s: Any = None, axes: Any = (-2, -1),
          norm: str | None = "backward") -> Array:
    """ifftn along two axes."""
    return ifftn(x, s=s, axes=axes, norm=norm)


def rfft2(x: Any, /, *, s: Any = None, axes: Any = (-2, -1),
          norm: str | None = "backward") -> Array:
    """rfftn along two axes."""
    return rfftn(x, s=s, axes=axes, norm=norm)


def irfft2(x: Any, /, *, s: Any = None, axes: Any = (-2, -1),
           norm: str | None = "backward") -> Array:
    """irfftn along two axes."""
    return irfftn(x, s=s, axes=axes, norm=norm)


def _frequencies(n: int, first: int, count: int, turn: int, d: float, dtype: Any,
                 device: Any) -> Array:
    from ._manipulation import roll

    dtype = FLOAT64 if dtype is None else _core.dtype(dtype)
    if dtype.kind != "f":
        raise ValueError(f"fftfreq: frequencies are floats, not {dtype.name}")
    i = calls.arange(device_number(device), FLOAT64, first, 1, count)
    return cast(roll(i, turn) / (n * d), dtype)


def fftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of the elements of fft, for samples at a distance of d."""
    return _frequencies(n, -(n // 2), n, -(n // 2), d, dtype, device)


def rfftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of the elements of rfft."""
    return _frequencies(n, 0, n // 2 + 1, 0, d, dtype, device)


def fftshift(x: Any, /, *, axes: Any = None) -> Array:
    """Frequency 0 in the middle of the axes."""
    from ._manipulation import roll

    x = arr(x)
    axes = axes_of(axes, x.ndim)
    return roll(x, tuple(x.shape[a] // 2 for a in axes), axis=axes)


def ifftshift(x: Any, /, *, axes: Any = None) -> Array:
    """The inverse of fftshift."""
    from ._manipulation import roll

    x = arr(x)
    axes = axes_of(axes, x.ndim)
    return roll(x, tuple(-(x.shape[a] // 2) for a in axes), axis=axes)
