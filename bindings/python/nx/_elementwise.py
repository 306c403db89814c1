# SPDX-License-Identifier: ISC
"""Functions that act element by element. Integers become float64 where the result is no integer."""

from __future__ import annotations

import math
import operator
from typing import Any, Callable

from . import _core
from ._core import Array, DType, calls, result_type, strong
from ._keywords import elementwise
from ._lib import (BOOL, FLOAT64, PLAIN, UINT8, arr, array, cast, constant, floating, floats,
                   named, operands, promoted, real_dtype)

__all__ = ["abs", "absolute", "acos", "acosh", "add", "angle", "arccos", "arccosh", "arcsin",
           "arcsinh", "arctan", "arctan2", "arctanh", "asin", "asinh", "atan", "atan2", "atanh",
           "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not",
           "bitwise_or", "bitwise_right_shift", "bitwise_xor", "cbrt", "ceil", "clip", "conj",
           "conjugate", "copysign", "cos", "cosh", "deg2rad", "degrees", "divide", "divmod",
           "equal", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "fabs", "floor",
           "floor_divide", "fmax", "fmin", "fmod", "frexp", "gcd", "greater", "greater_equal",
           "hypot", "imag", "invert", "isfinite", "isinf", "isnan", "lcm", "left_shift", "less",
           "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2",
           "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "mod",
           "multiply", "nan_to_num",
           "negative", "nextafter", "not_equal", "positive", "pow", "power", "rad2deg", "radians",
           "real", "reciprocal", "remainder", "right_shift", "rint", "round", "rsqrt", "sigmoid",
           "sign", "signbit", "sin", "sinc", "sinh", "sqrt", "square", "subtract", "tan", "tanh",
           "true_divide", "trunc"]


# ---- of one operand. A call is tried as it is, which suits floats; the promotion of what it does
# not take comes after that, so that nothing is looked up for most arrays.


def _floating(name: str, call: Callable, sentence: str) -> Callable:
    def function(x: Any, /) -> Array:
        try:
            return call(x)
        except TypeError:
            return call(floating(x))

    return elementwise(named(function, name, sentence))


acos = _floating("acos", calls.acos, "Arc cosine.")
acosh = _floating("acosh", calls.acosh, "Inverse hyperbolic cosine.")
asin = _floating("asin", calls.asin, "Arc sine.")
asinh = _floating("asinh", calls.asinh, "Inverse hyperbolic sine.")
atan = _floating("atan", calls.atan, "Arc tangent.")
atanh = _floating("atanh", calls.atanh, "Inverse hyperbolic tangent.")
cbrt = _floating("cbrt", calls.cbrt, "The real cube root.")
cos = _floating("cos", calls.cos, "Cosine.")
cosh = _floating("cosh", calls.cosh, "Hyperbolic cosine.")
erf = _floating("erf", calls.erf, "The error function.")
erfc = _floating("erfc", calls.erfc, "1 - erf(x) without its cancellation.")
erfinv = _floating("erfinv", calls.erfinv, "The inverse of erf.")
exp = _floating("exp", calls.exp, "e to the power x.")
exp2 = _floating("exp2", calls.exp2, "2 to the power x.")
log = _floating("log", calls.log, "The natural logarithm.")
log10 = _floating("log10", calls.log10, "The logarithm to base 10.")
log1p = _floating("log1p", calls.log1p, "log(1 + x), exact for small x.")
log2 = _floating("log2", calls.log2, "The logarithm to base 2.")
rsqrt = _floating("rsqrt", calls.rsqrt, "1 / sqrt(x).")
sin = _floating("sin", calls.sin, "Sine.")
sinh = _floating("sinh", calls.sinh, "Hyperbolic sine.")
sqrt = _floating("sqrt", calls.sqrt, "The square root.")
tan = _floating("tan", calls.tan, "Tangent.")
sigmoid = _floating("sigmoid", calls.logistic, "1 / (1 + exp(-x)).")


@elementwise
def expm1(x: Any, /) -> Array:
    """exp(x) - 1 without its cancellation. Of complex numbers a real part that is zero is +0, as
    the standard has it."""
    x = floating(x)
    y = calls.expm1(x)
    if x.dtype.kind != "c":
        return y
    return calls.complex(calls.real(y) + 0.0, calls.imag(y))


@elementwise
def tanh(x: Any, /) -> Array:
    """Hyperbolic tangent. Of a complex number with an infinite real part the imaginary part is a
    zero with the sign of the operand's, as the standard has it."""
    x = floating(x)
    y = calls.tanh(x)
    if x.dtype.kind != "c":
        return y
    a, b = calls.real(x), calls.imag(x)
    zero = calls.copysign(constant(0, b.dtype), b)
    far = getattr(calls, "and")(calls.isinf(a), calls.isfinite(b))
    return calls.where(far, calls.complex(calls.real(y), zero), y)


@elementwise
def abs(x: Any, /) -> Array:
    """The absolute value, of complex numbers a real one."""
    return arr(x).__abs__()


@elementwise
def negative(x: Any, /) -> Array:
    """-x."""
    return -arr(x)


@elementwise
def positive(x: Any, /) -> Array:
    """A copy of x."""
    return calls.copy(arr(x))


@elementwise
def bitwise_invert(x: Any, /) -> Array:
    """All bits of integers turned; of bools the opposite."""
    return ~arr(x)


@elementwise
def bitwise_count(x: Any, /) -> Array:
    """How many bits of the absolute value are 1, as uint8."""
    x = arr(x)
    return cast(x, UINT8) if x.dtype is BOOL else cast(calls.popcount(x.__abs__()), UINT8)


@elementwise
def square(x: Any, /) -> Array:
    """x times x."""
    return calls.square(arr(x))


@elementwise
def sign(x: Any, /) -> Array:
    """-1, 0 or 1; of complex numbers x / abs(x); of NaN NaN."""
    return calls.sign(arr(x))


@elementwise
def reciprocal(x: Any, /) -> Array:
    """1 / x; of integers rounded toward 0."""
    return calls.recip(arr(x))


def _whole(name: str, call: Callable, sentence: str) -> Callable:
    def function(x: Any, /) -> Array:
        x = arr(x)
        return calls.copy(x) if x.dtype.kind in "biu" else call(x)

    return elementwise(named(function, name, sentence))


ceil = _whole("ceil", calls.ceil, "Up to a whole number.")
floor = _whole("floor", calls.floor, "Down to a whole number.")
trunc = _whole("trunc", calls.trunc, "Toward 0 to a whole number.")


def _rint(x: Array) -> Array:
    if x.dtype.kind == "c":
        return calls.complex(calls.rint(calls.real(x)), calls.rint(calls.imag(x)))
    return calls.rint(x)


rint = _whole("rint", _rint, "To the nearest whole number, half to even.")


@elementwise
def round(x: Any, /, decimals: int = 0) -> Array:
    """To a number of decimals, half to even; complex numbers part by part."""
    x, decimals = arr(x), operator.index(decimals)
    if decimals == 0:
        return rint(x)
    if decimals > 308:  # no float64 has so many
        return calls.copy(x)
    if decimals < -308:
        return cast(x * 0, x.dtype) if x.dtype.kind in "biu" else calls.where(isfinite(x), x * 0, x)
    if x.dtype.kind in "biu":
        if decimals > 0:
            return calls.copy(x)
        unit = 10**-decimals
        return cast(rint(cast(x, FLOAT64) / unit) * unit, x.dtype)
    unit = 10.0 ** (decimals if decimals > 0 else -decimals)
    return _rint(x * unit) / unit if decimals > 0 else _rint(x / unit) * unit


@elementwise
def conj(x: Any, /) -> Array:
    """The complex conjugate."""
    x = arr(x)
    return calls.conj(x) if x.dtype.kind == "c" else calls.copy(x)


def real(x: Any, /) -> Array:
    """The real part."""
    x = arr(x)
    return calls.real(x) if x.dtype.kind == "c" else strong(x)


def imag(x: Any, /) -> Array:
    """The imaginary part; zeros of what is not complex."""
    x = arr(x)
    return calls.imag(x) if x.dtype.kind == "c" else _core.full(x.shape, 0, x.dtype, x.device)


def angle(x: Any, /, deg: bool = False) -> Array:
    """The angle of complex numbers in radians, or in degrees."""
    x = floating(x)
    y = calls.atan2(imag(x), real(x))
    return y * (180.0 / math.pi) if deg else y


def _asks(name: str, call: Callable, sentence: str) -> Callable:
    def function(x: Any, /) -> Array:
        x = arr(x)
        return call(calls.cast(x, UINT8) if x.dtype is BOOL else x)

    return elementwise(named(function, name, sentence))


isfinite = _asks("isfinite", calls.isfinite, "Whether x is neither infinite nor NaN.")
isinf = _asks("isinf", calls.isinf, "Whether x, or a part of it, is infinite.")
isnan = _asks("isnan", calls.isnan, "Whether x, or a part of it, is NaN.")


@elementwise
def signbit(x: Any, /) -> Array:
    """Whether the sign bit is set, also that of zeros and NaNs."""
    x = arr(x)
    return x < 0 if x.dtype.kind in "biu" else calls.signbit(x)


@elementwise
def logical_not(x: Any, /) -> Array:
    """Whether x is 0 or false."""
    return ~cast(arr(x), BOOL)


def nan_to_num(x: Any, /, copy: bool = True, nan: float = 0.0, posinf: Any = None,
               neginf: Any = None) -> Array:
    """x with numbers in place of NaN and of infinities: by default 0 and the largest ones. Without
    a copy they are assigned to x."""
    given, x = x, arr(x)
    y = _finite(x, nan, posinf, neginf)
    if copy or type(given) is not Array:
        return calls.copy(x) if y is x else y
    if y is not x:
        x[...] = y
    return x


def _finite(x: Array, nan: Any, posinf: Any, neginf: Any) -> Array:
    if x.dtype.kind in "biu":
        return x
    if x.dtype.kind == "c":
        parts = [_finite(p, nan, posinf, neginf) for p in (calls.real(x), calls.imag(x))]
        return calls.complex(*parts)
    from ._dtypes import finfo

    limits = finfo(x.dtype)
    high = constant(limits.max if posinf is None else posinf, x.dtype)
    low = constant(limits.min if neginf is None else neginf, x.dtype)
    y = calls.where(calls.isnan(x), constant(nan, x.dtype), x)
    y = calls.where(calls.cmpeq(x, constant(math.inf, x.dtype)), high, y)
    return calls.where(calls.cmpeq(x, constant(-math.inf, x.dtype)), low, y)


@elementwise
def deg2rad(x: Any, /) -> Array:
    """Degrees to radians."""
    return floating(x) * (math.pi / 180.0)


@elementwise
def rad2deg(x: Any, /) -> Array:
    """Radians to degrees."""
    return floating(x) * (180.0 / math.pi)


def sinc(x: Any, /) -> Array:
    """sin(pi x) / (pi x), 1 at 0."""
    y = floating(x) * math.pi
    zero = y == 0
    one = constant(1, y.dtype)
    return calls.where(zero, one, calls.sin(y) / calls.where(zero, one, y))


# ---- of two operands


def _operator(name: str, call: Callable, sentence: str) -> Callable:
    def function(x1: Any, x2: Any, /) -> Array:
        if type(x1) is not Array or type(x2) not in PLAIN:
            x1, x2 = operands(x1, x2)
        return call(x1, x2)

    return elementwise(named(function, name, sentence))


add = _operator("add", operator.add, "x1 + x2.")
subtract = _operator("subtract", operator.sub, "x1 - x2.")
multiply = _operator("multiply", operator.mul, "x1 * x2.")
divide = _operator("divide", operator.truediv, "x1 / x2.")
floor_divide = _operator("floor_divide", operator.floordiv, "x1 // x2.")
remainder = _operator("remainder", operator.mod, "x1 % x2, with the sign of x2.")
pow = _operator("pow", operator.pow, "x1 ** x2.")
bitwise_and = _operator("bitwise_and", operator.and_, "x1 & x2.")
bitwise_or = _operator("bitwise_or", operator.or_, "x1 | x2.")
bitwise_xor = _operator("bitwise_xor", operator.xor, "x1 ^ x2.")
bitwise_left_shift = _operator("bitwise_left_shift", operator.lshift, "x1 << x2.")
bitwise_right_shift = _operator("bitwise_right_shift", operator.rshift, "x1 >> x2.")
equal = _operator("equal", operator.eq, "x1 == x2.")
not_equal = _operator("not_equal", operator.ne, "x1 != x2.")
less = _operator("less", operator.lt, "x1 < x2.")
less_equal = _operator("less_equal", operator.le, "x1 <= x2.")
greater = _operator("greater", operator.gt, "x1 > x2.")
greater_equal = _operator("greater_equal", operator.ge, "x1 >= x2.")


def _pair(name: str, call: Callable, convert: Callable, sentence: str) -> Callable:
    def function(x1: Any, x2: Any, /) -> Array:
        if type(x1) is Array and type(x2) is Array and x1.dtype is x2.dtype:
            if convert is promoted or x1.dtype.kind == "f":
                return call(x1, x2)
        return call(*convert(x1, x2))

    return elementwise(named(function, name, sentence))


maximum = _pair("maximum", calls.max, promoted, "The larger one; NaN if either is.")
minimum = _pair("minimum", calls.min, promoted, "The smaller one; NaN if either is.")
fmod = _pair("fmod", calls.mod, promoted, "The remainder with the sign of x1.")
atan2 = _pair("atan2", calls.atan2, floats, "The angle of the point (x2, x1).")
hypot = _pair("hypot", calls.hypot, floats, "sqrt(x1^2 + x2^2) without overflow on the way.")
logaddexp = _pair("logaddexp", calls.logaddexp, floats, "log(exp(x1) + exp(x2)).")
copysign = _pair("copysign", calls.copysign, floats, "x1 with the sign of x2.")
nextafter = _pair("nextafter", calls.nextafter, floats, "The number next to x1 toward x2.")


@elementwise
def logaddexp2(x1: Any, x2: Any, /) -> Array:
    """log2(2**x1 + 2**x2)."""
    a, b = floats(x1, x2)
    two = math.log(2.0)
    return calls.logaddexp(a * two, b * two) / two


@elementwise
def fmax(x1: Any, x2: Any, /) -> Array:
    """The larger one; the other one if one is NaN."""
    a, b = promoted(x1, x2)
    return calls.where(isnan(b), a, calls.where(isnan(a), b, calls.max(a, b)))


@elementwise
def fmin(x1: Any, x2: Any, /) -> Array:
    """The smaller one; the other one if one is NaN."""
    a, b = promoted(x1, x2)
    return calls.where(isnan(b), a, calls.where(isnan(a), b, calls.min(a, b)))


@elementwise
def fabs(x: Any, /) -> Array:
    """The absolute value as a float."""
    return floating(x).__abs__()


def divmod(x1: Any, x2: Any, /) -> tuple[Array, Array]:
    """x1 // x2 and x1 % x2."""
    x1, x2 = operands(x1, x2)
    return x1 // x2, x1 % x2


def _whole(what: str, x1: Any, x2: Any) -> tuple[Array, Array, DType]:
    """Absolute values of integers in the unsigned dtype, which has them all, and the dtype of the
    result."""
    a, b = promoted(x1, x2)
    if a.dtype.kind == "b":
        a, b = cast(a, _core.dtypes["int8"]), cast(b, _core.dtypes["int8"])
    if a.dtype.kind not in "iu":
        raise TypeError(f"{what}: integers are needed, not {a.dtype.name}")
    unsigned = _core.dtypes[a.dtype.name.replace("uint", "int").replace("int", "uint")]
    return cast(a.__abs__(), unsigned), cast(b.__abs__(), unsigned), a.dtype


def _common_divisor(a: Array, b: Array) -> Array:
    """By Euclid's steps, as many as numbers of these bits take: numbers of Fibonacci take most, and
    the k-th one has 0.694 k bits."""
    zero = constant(0, a.dtype)
    for _ in range(math.ceil(a.dtype.bits / 0.694) + 1):
        done = calls.cmpeq(b, zero)
        a, b = calls.where(done, a, b), calls.where(done, zero, calls.mod(a, b))
    return a


@elementwise
def gcd(x1: Any, x2: Any, /) -> Array:
    """The greatest common divisor of the absolute values of integers; of 0 and x it is x."""
    a, b, dtype = _whole("gcd", x1, x2)
    return cast(_common_divisor(a, b), dtype)


@elementwise
def lcm(x1: Any, x2: Any, /) -> Array:
    """The least common multiple of the absolute values of integers; of 0 and x it is 0."""
    a, b, dtype = _whole("lcm", x1, x2)
    return cast(a // _common_divisor(a, b) * b, dtype)


# Of floating dtypes: the integers of as many bits, bits of the fraction, and the bias of exponents.
_PARTS = {"float64": ("int64", 52, 1023), "float32": ("int32", 23, 127)}


def frexp(x: Any, /) -> tuple[Array, Array]:
    """x as f and an integer e: f 2^e, with |f| from 1/2 to 1. Of 0, NaN and infinities f is x, and
    e 0."""
    x = floating(x)
    if x.dtype.kind == "c":
        raise TypeError("frexp: complex numbers have no exponent")
    wide = x if x.dtype.name in _PARTS else cast(x, _core.dtypes["float32"])
    name, fraction, bias = _PARTS[wide.dtype.name]
    whole = _core.dtypes[name]
    limit = constant(math.ldexp(1.0, 1 - bias), wide.dtype)  # below it the exponent is stuck
    small = (wide.__abs__() < limit) & (wide != 0)
    lifted = calls.where(small, wide * math.ldexp(1.0, fraction + 2), wide)
    bits = calls.bitcast(lifted, whole)
    exponent = ((bits >> fraction) & (2 * bias + 1)) - (bias - 1)
    half = (bits & ~((2 * bias + 1) << fraction)) | ((bias - 1) << fraction)
    plain = calls.isfinite(wide) & (wide != 0)
    f = calls.where(plain, calls.bitcast(half, wide.dtype), wide)
    e = exponent - calls.where(small, constant(fraction + 2, whole), constant(0, whole))
    e = calls.where(plain, e, constant(0, whole))
    return cast(f, x.dtype), cast(e, _core.dtypes["int32"])


def _logical(name: str, call: Callable, sentence: str) -> Callable:
    def function(x1: Any, x2: Any, /) -> Array:
        return call(cast(arr(x1), BOOL), cast(arr(x2), BOOL))

    return elementwise(named(function, name, sentence))


logical_and = _logical("logical_and", getattr(calls, "and"), "Whether both are true, or not 0.")
logical_or = _logical("logical_or", getattr(calls, "or"), "Whether one is true, or not 0.")
logical_xor = _logical("logical_xor", calls.xor, "Whether just one is true, or not 0.")


def _bound(value: Any, dtype: DType, side: int) -> Any:
    """A bound that all numbers of an integer dtype keep is none."""
    from ._dtypes import iinfo

    if type(value) is not int:
        return value
    limits = iinfo(dtype)
    return None if value * side >= (limits.max if side > 0 else -limits.min) else value


@elementwise
def clip(x: Any, /, min: Any = None, max: Any = None) -> Array:
    """x where it lies between min and max, else the nearer one. None: no bound. NaN in any of the
    three gives NaN."""
    x = arr(x)
    if x.dtype.kind in "iu":
        min, max = _bound(min, x.dtype, -1), _bound(max, x.dtype, 1)
    if min is None and max is None:
        return calls.copy(x)
    if min is None:
        return calls.min(*promoted(x, max))
    if max is None:
        return calls.max(*promoted(x, min))
    x, low, high = promoted(x, min, max)
    return calls.clamp(low, x, high)


# ---- NumPy's other names

absolute = abs
arccos, arccosh = acos, acosh
arcsin, arcsinh = asin, asinh
arctan, arctanh, arctan2 = atan, atanh, atan2
bitwise_not = invert = bitwise_invert
conjugate = conj
degrees, radians = rad2deg, deg2rad
left_shift, right_shift = bitwise_left_shift, bitwise_right_shift
mod, power, true_divide = remainder, pow, divide
