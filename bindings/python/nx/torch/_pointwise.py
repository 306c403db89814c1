# SPDX-License-Identifier: ISC
"""Operations of elements: arithmetic, comparisons, functions, choice, conversion."""

from __future__ import annotations

import math
from typing import Any, Callable

from .._elementwise import frexp
from ._lowering import (BOOL, FLOAT32, FLOAT64, KIND, LATE, TABLE, Array, Call, both, calls, cast,
                        common, full, lowers, nx_dtype, operand, overload, refuse)


def _enter(name: str, kind: KIND, f: Callable, overloads: str = "default") -> None:
    def lower(c: Call, *args: Any) -> Array:
        dtype = common(kind, *args)
        return cast(f(*[operand(a, dtype) for a in args]), c.dtype)

    for o in overloads.split():
        target = overload(f"aten.{name}.{o}")
        if target is not None:
            TABLE[target] = lower


# Functions that make floats of integers.
for _name, _f in {
    "exp": calls.exp, "exp2": calls.exp2, "expm1": calls.expm1, "log": calls.log,
    "log2": calls.log2, "log10": calls.log10, "log1p": calls.log1p, "sin": calls.sin,
    "cos": calls.cos, "tan": calls.tan, "asin": calls.asin, "acos": calls.acos,
    "atan": calls.atan, "sinh": calls.sinh, "cosh": calls.cosh, "tanh": calls.tanh,
    "asinh": calls.asinh, "acosh": calls.acosh, "atanh": calls.atanh, "sqrt": calls.sqrt,
    "rsqrt": calls.rsqrt, "erf": calls.erf, "erfc": calls.erfc, "erfinv": calls.erfinv,
    "sigmoid": calls.logistic, "reciprocal": calls.recip, "lgamma": calls.lgamma,
    "digamma": calls.digamma, "special_i0e": calls.i0e, "special_i1e": calls.i1e,
    "special_bessel_j0": calls.j0, "special_bessel_j1": calls.j1,
}.items():
    _enter(_name, KIND.INT_TO_FLOAT, _f)
_enter("i0", KIND.INT_TO_FLOAT, lambda x: calls.mul(calls.i0e(x), calls.exp(calls.abs(x))))
_enter("special_i1", KIND.INT_TO_FLOAT, lambda x: calls.mul(calls.i1e(x), calls.exp(calls.abs(x))))
_enter("atan2", KIND.INT_TO_FLOAT, calls.atan2)
_enter("copysign", KIND.INT_TO_FLOAT, calls.copysign, "Tensor Scalar")


def _zeta(x: Array, q: Array) -> Array:
    """Infinite at every pole, where nx has NaN for odd x, as the sign depends on the side."""
    zero, one = full((), q.dtype, 0), full((), q.dtype, 1)
    poles = both(calls.cmple(q, zero), calls.cmpeq(q, calls.floor(q)), calls.cmpgt(x, one))
    return calls.where(poles, full((), x.dtype, math.inf), calls.zeta(x, q))


_enter("special_zeta", KIND.INT_TO_FLOAT, _zeta, "default other_scalar self_scalar")
for _name, _f in {"igamma": calls.igamma, "igammac": calls.igammac}.items():
    _enter(_name, KIND.DEFAULT, _f)


def _not_bool(f: Callable) -> Callable:
    def checked(*args: Array) -> Array:
        refuse(args[0].dtype == BOOL, "PyTorch refuses bool, or means something else")
        return f(*args)

    return checked


def _relu(x: Array) -> Array:
    return calls.max(x, full((), x.dtype, 0))


# Functions of a dtype to itself.
for _name, _f in {
    "neg": calls.neg, "abs": calls.abs, "ceil": calls.ceil, "floor": calls.floor,
    "trunc": calls.trunc, "relu": _relu,
}.items():
    _enter(_name, KIND.DEFAULT, _not_bool(_f))


def _sign(x: Array) -> Array:
    """The sign of NaN is 0, of a complex number with one NaN."""
    if x.dtype.kind != "f":
        return x if x.dtype == BOOL else calls.sign(x)
    return calls.where(calls.isnan(x), full((), x.dtype, 0), calls.sign(x))


_enter("sign", KIND.DEFAULT, _sign)
_enter("sgn", KIND.DEFAULT, _sign)
_enter("round", KIND.DEFAULT, lambda x: calls.rint(x) if x.dtype.kind == "f" else x)
_enter("bitwise_not", KIND.DEFAULT, getattr(calls, "not"))
_enter("maximum", KIND.DEFAULT, calls.max)
_enter("minimum", KIND.DEFAULT, calls.min)
_enter("hypot", KIND.DEFAULT, calls.hypot)
_enter("logaddexp", KIND.DEFAULT, calls.logaddexp)
_enter("nextafter", KIND.NO_OPMATH, calls.nextafter)
for _name in ("and", "or", "xor"):
    _enter(f"bitwise_{_name}", KIND.DEFAULT, getattr(calls, _name), "Tensor Scalar Scalar_Tensor")


def _fmax(a: Array, b: Array) -> Array:
    return calls.where(calls.isnan(a), b, calls.where(calls.isnan(b), a, calls.max(a, b)))


def _fmin(a: Array, b: Array) -> Array:
    return calls.where(calls.isnan(a), b, calls.where(calls.isnan(b), a, calls.min(a, b)))


_enter("fmax", KIND.DEFAULT, lambda a, b: calls.max(a, b) if a.dtype.kind == "b" else _fmax(a, b))
_enter("fmin", KIND.DEFAULT, lambda a, b: calls.min(a, b) if a.dtype.kind == "b" else _fmin(a, b))

# Questions.
for _name, _f in {"eq": calls.cmpeq, "ne": calls.cmpne, "lt": calls.cmplt, "le": calls.cmple,
                  "gt": calls.cmpgt, "ge": calls.cmpge}.items():
    _enter(_name, KIND.ALWAYS_BOOL, _f, "Tensor Scalar")


def _no(x: Array) -> Array:
    return calls.expand(full((), BOOL, 0), x.shape)


def _float_question(f: Callable) -> Callable:
    return lambda x: f(x) if x.dtype.kind in "fc" else _no(x)


_enter("isnan", KIND.NO_OPMATH, _float_question(calls.isnan))
_enter("isinf", KIND.NO_OPMATH, _float_question(calls.isinf))


def _signbit(x: Array) -> Array:
    if x.dtype.kind == "f":
        return calls.signbit(x)
    return calls.cmplt(x, full((), x.dtype, 0))


_enter("signbit", KIND.NO_OPMATH, _signbit)

for _name, _f in {"and": getattr(calls, "and"), "or": getattr(calls, "or"),
                  "xor": calls.xor}.items():
    @lowers(f"aten.logical_{_name}.default")
    def _logical(c: Call, a: Array, b: Array, f: Callable = _f) -> Array:
        return f(cast(a, BOOL), cast(b, BOOL))


@lowers("aten.logical_not.default")
def _logical_not(c: Call, x: Array) -> Array:
    return getattr(calls, "not")(cast(x, BOOL))


# ---- arithmetic

def _added(f: Callable) -> Callable:
    def lower(c: Call, a: Any, b: Any, alpha: Any = 1) -> Array:
        dtype = common(KIND.DEFAULT, a, b, *([] if alpha == 1 else [alpha]))
        x, y = operand(a, dtype), operand(b, dtype)
        if alpha != 1:
            y = calls.mul(operand(alpha, dtype), y)
        return cast(f(x, y), c.dtype)

    return lower


lowers("aten.add.Tensor", "aten.add.Scalar")(_added(calls.add))
lowers("aten.sub.Tensor", "aten.sub.Scalar")(_added(calls.sub))
_enter("mul", KIND.DEFAULT, calls.mul, "Tensor Scalar")


def _nonzero_divisor(dtype: Any, b: Any) -> None:
    refuse(dtype.kind in "iub" and (isinstance(b, Array) or b == 0),
           "PyTorch raises where an integer is divided by zero")


@lowers("aten.div.Tensor", "aten.div.Scalar")
def _div(c: Call, a: Any, b: Any) -> Array:
    dtype = common(KIND.INT_TO_FLOAT, a, b)
    return cast(calls.div(operand(a, dtype), operand(b, dtype)), c.dtype)


@lowers("aten.div.Tensor_mode", "aten.div.Scalar_mode")
def _div_mode(c: Call, a: Any, b: Any, rounding_mode: str | None = None) -> Array:
    if rounding_mode is None:
        return _div(c, a, b)
    dtype = common(KIND.DEFAULT, a, b)
    _nonzero_divisor(dtype, b)
    x, y = operand(a, dtype), operand(b, dtype)
    if rounding_mode == "floor":
        return cast(calls.floor_div(x, y), c.dtype)
    q = calls.div(x, y)
    return cast(calls.trunc(q) if dtype.kind == "f" else q, c.dtype)


def _remainder(f: Callable) -> Callable:
    def lower(c: Call, a: Any, b: Any) -> Array:
        dtype = common(KIND.DEFAULT, a, b)
        _nonzero_divisor(dtype, b)
        return cast(f(operand(a, dtype), operand(b, dtype)), c.dtype)

    return lower


lowers("aten.remainder.Tensor", "aten.remainder.Scalar",
       "aten.remainder.Scalar_Tensor")(_remainder(calls.floor_mod))
lowers("aten.fmod.Tensor", "aten.fmod.Scalar")(_remainder(calls.mod))


@lowers("aten.pow.Tensor_Tensor", "aten.pow.Tensor_Scalar", "aten.pow.Scalar")
def _pow(c: Call, a: Any, b: Any) -> Array:
    dtype = common(KIND.BOOL_TO_LONG, a, b)
    refuse(dtype.kind in "iu" and (isinstance(b, Array) or b < 0),
           "PyTorch raises for negative exponents of integers")
    x = operand(a, dtype)
    if not isinstance(b, Array) and b in (1, 2, 3):
        y = x if b == 1 else calls.square(x)
        return cast(calls.mul(y, x) if b == 3 else y, c.dtype)
    if not isinstance(b, Array) and b == 0.5:
        return cast(calls.sqrt(x), c.dtype)
    return cast(calls.pow(x, operand(b, dtype)), c.dtype)


def _shift(f: Callable) -> Callable:
    def lower(c: Call, a: Any, b: Any) -> Array:
        dtype = common(KIND.DEFAULT, a, b)
        refuse(dtype.kind not in "iu", "a shift of floats")
        return cast(f(operand(a, dtype), operand(b, dtype)), c.dtype)

    return lower


for _name, _f in {"bitwise_left_shift": calls.shl, "bitwise_right_shift": calls.shr}.items():
    lowers(*[f"aten.{_name}.{o}" for o in ("Tensor", "Tensor_Scalar", "Scalar_Tensor")])(_shift(_f))
for _name, _f in {"__lshift__": calls.shl, "__rshift__": calls.shr}.items():
    lowers(*[f"aten.{_name}.{o}" for o in ("Tensor", "Scalar")])(_shift(_f))


@lowers("aten.polygamma.default")
def _polygamma(c: Call, n: int, x: Array) -> Array:
    dtype = common(KIND.INT_TO_FLOAT, x)
    y = cast(x, dtype)
    result = calls.polygamma(operand(n, dtype), y)
    if n > 0 and n % 2 == 0:  # poles, of which nx does not know the side
        poles = both(calls.cmple(y, operand(0, dtype)), calls.cmpeq(y, calls.floor(y)))
        result = calls.where(poles, operand(-math.inf, dtype), result)
    return cast(result, c.dtype)


@lowers("aten.round.decimals")
def _round_decimals(c: Call, x: Array, *, decimals: int) -> Array:
    if x.dtype.kind != "f":
        return x
    ten = operand(float(10 ** abs(decimals)), x.dtype)
    if decimals < 0:
        return calls.mul(calls.rint(calls.div(x, ten)), ten)
    return calls.div(calls.rint(calls.mul(x, ten)), ten)


@lowers("aten.ldexp.Tensor")
def _ldexp(c: Call, x: Array, n: Array) -> Array:
    refuse(c.dtype.kind != "f", "a complex number")
    return calls.mul(cast(x, c.dtype), calls.pow(operand(2, c.dtype), cast(n, c.dtype)))


def _fma(c: Call, a: Any, b: Any, d: Any) -> Array:
    """In f32 rounded as if once, but for a double rounding; in f64 the product is rounded."""
    dtype = FLOAT64 if c.dtype == FLOAT32 else c.dtype
    return cast(calls.add(calls.mul(operand(a, dtype), operand(b, dtype)), operand(d, dtype)),
                c.dtype)


LATE["prims.fma.default"] = _fma


# ---- choice

@lowers("aten.where.self")
def _where(c: Call, condition: Array, a: Any, b: Any) -> Array:
    return calls.where(cast(condition, BOOL), operand(a, c.dtype), operand(b, c.dtype))


@lowers("aten.clamp.default", "aten.clamp.Tensor", "aten.hardtanh.default")
def _clamp(c: Call, x: Array, low: Any = None, high: Any = None) -> Array:
    dtype = common(KIND.DEFAULT, x, low, high)
    y = cast(x, dtype)
    if low is not None:
        y = calls.max(y, operand(low, dtype))
    if high is not None:
        y = calls.min(y, operand(high, dtype))
    return cast(y, c.dtype)


# ---- conversion, complex numbers

@lowers("aten._to_copy.default")
def _to_copy(c: Call, x: Array, **options: Any) -> Array:
    return calls.copy(x) if x.dtype == c.dtype else calls.cast(x, c.dtype)


@lowers("prims.convert_element_type.default")
def _convert(c: Call, x: Array, dtype: Any) -> Array:
    return calls.copy(x) if x.dtype == c.dtype else calls.cast(x, c.dtype)


@lowers("aten.view.dtype")
def _view_dtype(c: Call, x: Array, dtype: Any) -> Array:
    target = nx_dtype(dtype)
    if target.itemsize == x.dtype.itemsize:
        return calls.bitcast(x, target)
    if target.itemsize > x.dtype.itemsize:  # several neighbours are one element
        k = target.itemsize // x.dtype.itemsize
        x = calls.reshape(x, (*x.shape[:-1], x.shape[-1] // k, k), calls.MAY_COPY)
    return calls.reshape(calls.bitcast_convert(x, target), c.shape, calls.MAY_COPY)


@lowers("aten._conj.default", "aten.conj.default", "aten._conj_physical.default",
        "aten.conj_physical.default")
def _conj(c: Call, x: Array) -> Array:
    x = operand(x, c.dtype)
    return calls.conj(x) if x.dtype.kind == "c" else x


@lowers("aten.resolve_conj.default", "aten.resolve_neg.default")
def _resolved(c: Call, x: Array) -> Array:
    return x


lowers("aten.real.default")(lambda c, x: calls.real(x))
lowers("aten.imag.default")(lambda c, x: calls.imag(x))
lowers("aten.complex.default")(lambda c, a, b: calls.complex(a, b))


@lowers("aten.view_as_real.default", "aten.view_as_real_copy.default")
def _view_as_real(c: Call, x: Array) -> Array:
    return calls.cat([calls.reshape(p, (*x.shape, 1), calls.MAY_COPY)
                      for p in (calls.real(x), calls.imag(x))], x.ndim)


@lowers("aten.view_as_complex.default", "aten.view_as_complex_copy.default")
def _view_as_complex(c: Call, x: Array) -> Array:
    return calls.complex(x[..., 0], x[..., 1])


@lowers("aten.polar.default")
def _polar(c: Call, r: Array, angle: Array) -> Array:
    return calls.complex(calls.mul(r, calls.cos(angle)), calls.mul(r, calls.sin(angle)))


@lowers("aten.angle.default")
def _angle(c: Call, x: Array) -> Array:
    if x.dtype.kind == "c":
        return calls.atan2(calls.imag(x), calls.real(x))
    y = cast(x, c.dtype)
    angle = calls.where(calls.cmplt(y, operand(0, c.dtype)), operand(math.pi, c.dtype),
                        operand(0, c.dtype))
    return calls.where(calls.isnan(y), y, angle)


@lowers("aten.frexp.Tensor")
def _frexp(c: Call, x: Array) -> tuple[Array, Array]:
    return frexp(x)
