# SPDX-License-Identifier: ISC
"""Element types: their names, limits and promotion, and what the array API's namespace tells."""

from __future__ import annotations

import builtins
from typing import Any, NamedTuple

from . import _core
from ._core import Array, DType, dtype, result_type
from ._lib import BOOL, arr, array, calls, dtypes, real_dtype

globals().update(dtypes)

# NumPy's other names: of C's types, on the platforms there are, and of old.
_ALIASES = {"bool_": "bool", "byte": "int8", "ubyte": "uint8", "short": "int16", "ushort": "uint16",
            "intc": "int32", "uintc": "uint32", "int_": "int64", "uint": "uint64", "long": "int64",
            "ulong": "uint64", "longlong": "int64", "ulonglong": "uint64", "intp": "int64",
            "uintp": "uint64", "half": "float16", "single": "float32", "double": "float64",
            "csingle": "complex64", "cdouble": "complex128"}
globals().update({alias: dtypes[name] for alias, name in _ALIASES.items()})

__all__ = [*dtypes, *_ALIASES, "Array", "DType", "astype", "can_cast", "common_type",
           "complexfloating", "dtype", "finfo", "floating", "generic", "iinfo", "inexact",
           "integer", "isdtype", "issubdtype", "min_scalar_type", "number", "promote_types",
           "result_type", "signedinteger", "unsignedinteger"]

# Of each floating dtype: bits of the fraction, exponents of the least and of the largest normal
# number, and the largest number where that is not what the bits of an IEEE type give.
_FLOATS = {
    "float64": (52, -1022, 1023, None),
    "float32": (23, -126, 127, None),
    "float16": (10, -14, 15, None),
    "bfloat16": (7, -126, 127, None),
    "float8_e4m3fn": (3, -6, 8, 448.0),
    "float8_e5m2": (2, -14, 15, None),
    "float8_e4m3fnuz": (3, -7, 7, 240.0),
    "float8_e5m2fnuz": (2, -15, 15, None),
    "float8_e8m0fnu": (0, -127, 127, None),
    "float4_e2m1fn": (1, 0, 2, 6.0),
}


class finfo_object(NamedTuple):
    """Limits of a floating dtype, of complex ones those of the parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType

    @property
    def tiny(self) -> float:
        """NumPy's name of smallest_normal."""
        return self.smallest_normal


class iinfo_object(NamedTuple):
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def _dtype_of(x: Any) -> DType:
    return x.dtype if type(x) is Array else dtype(x)


def finfo(type: Any, /) -> finfo_object:
    """The limits of a floating or complex dtype, or of the dtype of an array."""
    found = real_dtype(_dtype_of(type))
    if found.name not in _FLOATS:
        raise ValueError(f"finfo: {found.name} is not a floating-point dtype")
    fraction, low, high, largest = _FLOATS[found.name]
    if largest is None:
        largest = (2.0 - 2.0**-fraction) * 2.0**high
    least = 2.0**low if found.name == "float8_e8m0fnu" else -largest
    return finfo_object(found.bits, 2.0**-fraction, largest, least, 2.0**low, found)


def iinfo(type: Any, /) -> iinfo_object:
    """The limits of an integer dtype, or of the dtype of an array."""
    found = _dtype_of(type)
    if found.kind not in "iu":
        raise ValueError(f"iinfo: {found.name} is not an integer dtype")
    if found.kind == "u":
        return iinfo_object(found.bits, 2**found.bits - 1, 0, found)
    half = 2 ** (found.bits - 1)
    return iinfo_object(found.bits, half - 1, -half, found)


def astype(x: Any, dtype: Any, /, *, copy: builtins.bool = True, device: Any = None) -> Array:
    """x converted to a dtype. With copy=False x itself if it has the dtype already."""
    x = arr(x)
    if x.dtype.kind == "c" and _core.dtype(dtype).kind in "iuf":
        raise TypeError(f"astype: {x.dtype.name} cannot become {_core.dtype(dtype).name}; take "
                        "real(x) or imag(x) first")
    return _converted(x, _core.dtype(dtype), copy, device)


def _converted(x: Array, dtype: DType, copy: builtins.bool, device: Any) -> Array:
    if x.dtype is not dtype:
        x = calls.cast(x, dtype)
    elif copy:
        x = calls.copy(x)
    return x if device is None else x.to_device(device)


_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a dtype is of a kind: a dtype, "bool", "signed integer", "unsigned integer",
    "integral", "real floating", "complex floating", "numeric", or a tuple of these."""
    found = _core.dtype(dtype)
    if isinstance(kind, tuple):
        return builtins.any(isdtype(found, k) for k in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return found.kind in _KINDS[kind]
    if isinstance(kind, str) and kind not in dtypes:
        raise ValueError(f"isdtype: there is no kind {kind!r}")
    return found == _core.dtype(kind)


class generic:
    """All dtypes, for issubdtype: this and the classes below are no dtypes, but kinds of them."""

    _kinds = "biufc"

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__} is a kind of dtypes; arrays have dtypes")


class number(generic):
    """Dtypes that are not bool."""

    _kinds = "iufc"


class integer(number):
    """Integers."""

    _kinds = "iu"


class signedinteger(integer):
    """Integers with a sign."""

    _kinds = "i"


class unsignedinteger(integer):
    """Integers without a sign."""

    _kinds = "u"


class inexact(number):
    """Floating and complex dtypes."""

    _kinds = "fc"


class floating(inexact):
    """Floating dtypes."""

    _kinds = "f"


class complexfloating(inexact):
    """Complex dtypes."""

    _kinds = "c"


def issubdtype(dtype: Any, kind: Any, /) -> builtins.bool:
    """Whether a dtype is of a kind (nx.integer, ..) or is the dtype `kind`."""
    if isinstance(dtype, type) and issubclass(dtype, generic):
        return isinstance(kind, type) and issubclass(dtype, kind)
    found = _core.dtype(dtype)
    if isinstance(kind, type) and issubclass(kind, generic):
        return found.kind in kind._kinds
    return found is _core.dtype(kind)


def common_type(*arrays: Any) -> DType:
    """The floating or complex dtype that goes with all arrays; integers count as float64."""
    found = [arr(x).dtype for x in arrays]
    if builtins.any(d.kind == "b" for d in found):
        raise TypeError("common_type: bools have none")
    found = [dtypes["float64"] if d.kind in "iu" else d for d in found] or [dtypes["float16"]]
    return result_type(*found)


def min_scalar_type(x: Any, /) -> DType:
    """The smallest dtype that has the value of a number; of an array its dtype. Floats are taken by
    their range."""
    if isinstance(x, builtins.bool):
        return dtypes["bool"]
    if isinstance(x, builtins.int):
        names = [f"{'int' if x < 0 else 'uint'}{n}" for n in (8, 16, 32, 64)]
        for name in names:
            if iinfo(dtypes[name]).min <= x <= iinfo(dtypes[name]).max:
                return dtypes[name]
        raise OverflowError(f"min_scalar_type: no dtype has {x}")
    if isinstance(x, (builtins.float, builtins.complex)):
        parts = [builtins.abs(v) for v in (x.real, x.imag)]
        is_complex = isinstance(x, builtins.complex)
        names = ("complex64", "complex128") if is_complex else ("float16", "float32", "float64")
        for name in names:
            largest = finfo(dtypes[name]).max
            if builtins.all(v <= largest or v != v or v == builtins.float("inf") for v in parts):
                return dtypes[name]
    return arr(x).dtype


def promote_types(a: Any, b: Any, /) -> DType:
    """The dtype that operands of these two dtypes promote to."""
    return _core.promote(_core.dtype(a), _core.dtype(b))


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Whether a dtype, or that of an array, promotes to another one without a loss of kind."""
    a, b = _dtype_of(from_), _core.dtype(to)
    try:
        return _core.promote(a, b) is b
    except TypeError:
        return False


class _Info:
    """What `__array_namespace_info__` gives."""

    def capabilities(self) -> dict:
        """What of the standard is optional, and whether it is there."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self) -> Any:
        """The device of arrays that are made without naming one."""
        return _core.empty((), BOOL).device

    def default_dtypes(self, *, device: Any = None) -> dict:
        """The dtypes of arrays that are made without naming one."""
        return {
            "real floating": dtypes["float64"],
            "complex floating": dtypes["complex128"],
            "integral": dtypes["int64"],
            "indexing": dtypes["int64"],
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict:
        """The dtypes of the standard, all or those of a kind."""
        found = {name: dtypes[name] for name in _STANDARD}
        if kind is None:
            return found
        return {name: d for name, d in found.items() if isdtype(d, kind)}

    def devices(self) -> list:
        """All devices."""
        return [name for name, available, _ in _core.devices() if available]


_STANDARD = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
             "float32", "float64", "complex64", "complex128")


def __array_namespace_info__() -> _Info:
    """Capabilities, devices and dtypes, as the array API standard describes them."""
    return _Info()
