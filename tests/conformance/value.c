/* SPDX-License-Identifier: ISC */
/* Element types: what their bits mean, and how a number becomes one of them. Plain arithmetic on
 * long doubles. */
#include "conformance.h"

#include <math.h>
#include <string.h>

#define INTEGER(t, n, k, b)                   {t, n, k, b, 0, 0, 0, INFINITE, t}
#define FLOAT(t, n, b, p, e, largest, inf)    {t, n, KIND_FLOAT, b, p, e, largest, inf, t}
#define COMPLEX(t, n, b, p, e, largest, part) {t, n, KIND_COMPLEX, b, p, e, largest, INFINITE, part}

const format formats[FORMATS] = {
    INTEGER(NX_BOOL, "bool", KIND_BOOL, 8),
    INTEGER(NX_I4, "i4", KIND_SIGNED, 4),
    INTEGER(NX_U4, "u4", KIND_UNSIGNED, 4),
    INTEGER(NX_I8, "i8", KIND_SIGNED, 8),
    INTEGER(NX_U8, "u8", KIND_UNSIGNED, 8),
    INTEGER(NX_I16, "i16", KIND_SIGNED, 16),
    INTEGER(NX_U16, "u16", KIND_UNSIGNED, 16),
    INTEGER(NX_I32, "i32", KIND_SIGNED, 32),
    INTEGER(NX_U32, "u32", KIND_UNSIGNED, 32),
    INTEGER(NX_I64, "i64", KIND_SIGNED, 64),
    INTEGER(NX_U64, "u64", KIND_UNSIGNED, 64),
    FLOAT(NX_F8E4M3, "f8e4m3", 8, 4, -6, 448, ALL_ONES),
    FLOAT(NX_F8E5M2, "f8e5m2", 8, 3, -14, 57344, INFINITE),
    FLOAT(NX_F16, "f16", 16, 11, -14, 65504, INFINITE),
    FLOAT(NX_BF16, "bf16", 16, 8, -126, 0x1.fep127L, INFINITE),
    FLOAT(NX_F32, "f32", 32, 24, -126, 0x1.fffffep127L, INFINITE),
    FLOAT(NX_F64, "f64", 64, 53, -1022, 0x1.fffffffffffffp1023L, INFINITE),
    COMPLEX(NX_C32, "c32", 32, 11, -14, 65504, NX_F16),
    COMPLEX(NX_C64, "c64", 64, 24, -126, 0x1.fffffep127L, NX_F32),
    COMPLEX(NX_C128, "c128", 128, 53, -1022, 0x1.fffffffffffffp1023L, NX_F64),
    FLOAT(NX_F8E4M3FNUZ, "f8e4m3fnuz", 8, 4, -7, 240, NO_MINUS_ZERO),
    FLOAT(NX_F8E5M2FNUZ, "f8e5m2fnuz", 8, 3, -15, 57344, NO_MINUS_ZERO),
    FLOAT(NX_F8E8M0, "f8e8m0", 8, 1, -127, 0x1p127L, SCALES),
    FLOAT(NX_F4E2M1, "f4e2m1", 4, 2, 0, 6, SATURATING),
};

const format *format_of(nx_dtype dtype) { return &formats[dtype - NX_BOOL]; }

static uint64_t mask(int bits) { return bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1; }

/* ---- floats */

static long double decode_float(const format *f, uint64_t b) {
  int digits = f->precision - 1, exponents = f->bits - f->precision;
  bool negative = b >> (f->bits - 1) & 1;
  uint64_t exponent = b >> digits & mask(exponents), fraction = b & mask(digits);
  bool top = exponent == mask(exponents);
  long double x;
  if (f->specials == SCALES) return b == 255 ? (long double)NAN : ldexpl(1, (int)b - 127);
  if (f->specials == NO_MINUS_ZERO && b == 1u << (f->bits - 1)) return (long double)NAN;
  if (top && f->specials == INFINITE) x = fraction ? (long double)NAN : (long double)INFINITY;
  else if (top && f->specials == ALL_ONES && fraction == mask(digits)) x = (long double)NAN;
  else if (!exponent) x = ldexpl((long double)fraction, f->least_exponent - digits);
  else
    x = ldexpl((long double)(fraction | (uint64_t)1 << digits),
               f->least_exponent - digits + (int)exponent - 1);
  return negative ? -x : x;
}

static uint64_t encode_scale(long double x) {
  if (!(x > 0) || isinf(x)) return 255;
  int exponent = ilogbl(x);
  exponent += x >= ldexpl(1.5L, exponent);
  return exponent > 127 ? 255 : exponent < -127 ? 0 : (uint64_t)(exponent + 127);
}

/* What stands for NaN, and for a number of this sign that is too large. */
static uint64_t nan_of(const format *f, uint64_t sign) {
  int digits = f->precision - 1;
  uint64_t infinity = mask(f->bits - f->precision) << digits;
  switch (f->specials) {
    case INFINITE: return infinity | (uint64_t)1 << (digits - 1);
    case ALL_ONES: return infinity | mask(digits);
    default: return sign;
  }
}

static uint64_t encode_float(const format *f, long double x) {
  int digits = f->precision - 1, exponents = f->bits - f->precision;
  uint64_t top = (uint64_t)1 << (f->bits - 1), sign = signbit(x) ? top : 0;
  if (f->specials == SCALES) return encode_scale(x);
  if (isnan(x)) return nan_of(f, top);
  uint64_t infinity = mask(exponents) << digits,
           too_large = f->specials == INFINITE     ? sign | infinity
                       : f->specials == SATURATING ? sign | infinity | mask(digits)
                       : f->specials == ALL_ONES   ? sign | nan_of(f, top)
                                                   : top;
  if (isinf(x)) return too_large;
  x = fabsl(x);
  if (x == 0) return f->specials == NO_MINUS_ZERO ? 0 : sign;
  int exponent = ilogbl(x) < f->least_exponent ? f->least_exponent : ilogbl(x);
  long double steps = rintl(ldexpl(x, digits - exponent)); /* a tie to the even one */
  if (ldexpl(steps, exponent - digits) > f->largest) return too_large;
  uint64_t n = (uint64_t)steps;
  if (n == 0 && f->specials == NO_MINUS_ZERO) return 0;
  /* The hidden digit adds one to the exponent's field; so does a carry. */
  return sign | (n + ((uint64_t)(exponent - f->least_exponent) << digits));
}

long double unit_at(nx_dtype dtype, long double x) {
  const format *f = format_of(dtype);
  int exponent = x == 0 || !isfinite(x) ? f->least_exponent : ilogbl(x);
  if (exponent < f->least_exponent) exponent = f->least_exponent;
  return ldexpl(1, exponent - f->precision + 1);
}

/* ---- all types */

whole wrapped(nx_dtype dtype, whole x) {
  const format *f = format_of(dtype);
  uint64_t u = (uint64_t)x & mask(f->bits);
  if (f->kind == KIND_SIGNED && u >> (f->bits - 1)) return (whole)u - ((whole)1 << f->bits);
  return u;
}

bool is_less(value a, value b) { return a.re < b.re || (a.re == b.re && a.im < b.im); }

value decode(nx_dtype dtype, bits b) {
  const format *f = format_of(dtype);
  const format *part = format_of(f->part);
  switch (f->kind) {
    case KIND_BOOL: return (value){b.low != 0, 0};
    case KIND_SIGNED:
    case KIND_UNSIGNED: return (value){(long double)wrapped(dtype, (whole)b.low), 0};
    case KIND_FLOAT: return (value){decode_float(f, b.low), 0};
    case KIND_COMPLEX: return (value){decode_float(part, b.low), decode_float(part, b.high)};
  }
  return (value){0, 0};
}

bits encode(nx_dtype dtype, value v) {
  const format *f = format_of(dtype);
  const format *part = format_of(f->part);
  switch (f->kind) {
    case KIND_BOOL: return (bits){v.re != 0 || v.im != 0, 0};
    case KIND_SIGNED:
    case KIND_UNSIGNED: return (bits){(uint64_t)(whole)v.re & mask(f->bits), 0};
    case KIND_FLOAT: return (bits){encode_float(f, v.re), 0};
    case KIND_COMPLEX: return (bits){encode_float(part, v.re), encode_float(part, v.im)};
  }
  return (bits){0, 0};
}

bits encode_real(nx_dtype dtype, long double x) { return encode(dtype, (value){x, 0}); }

bits converted(nx_dtype from, bits b, nx_dtype to) {
  const format *f = format_of(to);
  bool from_float = format_of(from)->kind >= KIND_FLOAT;
  value v = decode(from, b);
  if ((f->kind == KIND_SIGNED || f->kind == KIND_UNSIGNED) && from_float) {
    bool is_signed = f->kind == KIND_SIGNED;
    long double above = ldexpl(1, f->bits - is_signed), below = is_signed ? -above : 0;
    if (isnan(v.re)) v.re = 0;
    else if (truncl(v.re) >= above) return (bits){mask(f->bits - is_signed), 0};
    else if (truncl(v.re) < below) v.re = below;
    return (bits){(uint64_t)(whole)truncl(v.re) & mask(f->bits), 0};
  }
  return encode(to, v);
}

value sum_of(nx_dtype dtype, value a, value b) {
  if (dtype == NX_BOOL) return (value){a.re != 0 || b.re != 0, 0};
  if (format_of(dtype)->kind < KIND_FLOAT)
    return (value){(long double)wrapped(dtype, (whole)a.re + (whole)b.re), 0};
  return (value){a.re + b.re, a.im + b.im};
}

value product_of(nx_dtype dtype, value a, value b) {
  kind k = format_of(dtype)->kind;
  if (k < KIND_FLOAT)
    return (value){
        (long double)wrapped(dtype, (whole)((natural)(whole)a.re * (natural)(whole)b.re)), 0};
  if (k == KIND_FLOAT) return (value){a.re * b.re, 0};
  return (value){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
