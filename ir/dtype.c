/* SPDX-License-Identifier: ISC */
/* The table of element types and the exact conversion of single scalars. All of it is integer
 * arithmetic: it gives the same bits under any rounding mode and flush flag of the caller, on any
 * machine. */
#include "dtype.h"

#include <string.h>

const nxi_dtype_info nxi_dtypes[NXI_DTYPE_COUNT] = {
    {"none", 0, 0},
#define NXI_DTYPE(name, value, bits, class) [value] = {#name, bits, NXI_##class},
#include "dtype.def"
#undef NXI_DTYPE
};

const char *nx_dtype_name(nx_dtype dtype) {
  return nxi_dtype_valid(dtype) ? nxi_dtypes[dtype].name : NULL;
}

nx_dtype nx_dtype_from_name(const char *name) {
  for (nx_dtype t = 1; name && t < NXI_DTYPE_COUNT; t++)
    if (!strcmp(name, nxi_dtypes[t].name)) return t;
  return 0;
}

size_t nx_dtype_bits(nx_dtype dtype) { return nxi_dtype_valid(dtype) ? nxi_dtypes[dtype].bits : 0; }

/* ---- numbers between formats: sign, and significand * 2^(exponent - 63) with the top bit set */

typedef enum number_kind { ZERO, FINITE, INFINITE, NOT_A_NUMBER } number_kind;

typedef struct number {
  number_kind kind;
  bool negative;
  int exponent;         /* of the top bit: 1.0 has 0 */
  uint64_t significand; /* FINITE: top bit set. NOT_A_NUMBER: the fraction bits, against the top */
} number;

typedef enum specials {
  IEEE,      /* infinities, and NaNs above them */
  ONE_NAN,   /* no infinities: all patterns are numbers except the NaN with all bits set */
  FNUZ,      /* no infinities, no -0: its pattern is the NaN; the bias is one more */
  SATURATES, /* numbers alone: what is beyond is the largest, and a NaN becomes -0 */
  SCALE      /* powers of two, without a sign, zero and infinities */
} specials;

typedef struct float_format {
  int bits, fraction_bits;
  specials specials;
} float_format;

static float_format format_of(nx_dtype t) {
  switch (t) {
    case NX_F8E4M3: return (float_format){8, 3, ONE_NAN};
    case NX_F8E5M2: return (float_format){8, 2, IEEE};
    case NX_F16: return (float_format){16, 10, IEEE};
    case NX_BF16: return (float_format){16, 7, IEEE};
    case NX_F32: return (float_format){32, 23, IEEE};
    case NX_F8E4M3FNUZ: return (float_format){8, 3, FNUZ};
    case NX_F8E5M2FNUZ: return (float_format){8, 2, FNUZ};
    case NX_F8E8M0: return (float_format){8, 0, SCALE};
    case NX_F4E2M1: return (float_format){4, 1, SATURATES};
    default: return (float_format){64, 52, IEEE};
  }
}

static uint64_t low_bits(uint64_t bits, int n) { return n >= 64 ? bits : bits & ((1ull << n) - 1); }

static int exponent_mask(float_format f) { return (1 << (f.bits - 1 - f.fraction_bits)) - 1; }
static int exponent_bias(float_format f) { return (exponent_mask(f) >> 1) + (f.specials == FNUZ); }
static uint64_t sign_bit(float_format f) { return UINT64_C(1) << (f.bits - 1); }

static number normalized(bool negative, int exponent, uint64_t significand) {
  if (!significand) return (number){ZERO, negative, 0, 0};
  int shift = __builtin_clzll(significand);
  return (number){FINITE, negative, exponent - shift, significand << shift};
}

static number unpack_scale(uint64_t bits) {
  if (bits == 255) return (number){NOT_A_NUMBER, false, 0, 0};
  return (number){FINITE, false, (int)bits - 127, 1ull << 63};
}

/* To the nearest power of two, ties up; what is positive and below the least one becomes that. */
static uint64_t pack_scale(number n) {
  if (n.kind != FINITE || n.negative) return 255;
  int exponent = n.exponent + (n.significand >> 62 & 1);
  return exponent > 127 ? 255 : exponent < -127 ? 0 : (uint64_t)(exponent + 127);
}

static number unpack(uint64_t bits, float_format f) {
  if (f.specials == SCALE) return unpack_scale(bits);
  if (f.specials == FNUZ && bits == sign_bit(f)) return (number){NOT_A_NUMBER, false, 0, 0};
  bool negative = bits >> (f.bits - 1) & 1;
  int field = (int)(bits >> f.fraction_bits) & exponent_mask(f);
  uint64_t fraction = bits << (64 - f.fraction_bits); /* left-aligned, without the hidden bit */
  if (f.specials == ONE_NAN && low_bits(~bits, f.bits - 1) == 0)
    return (number){NOT_A_NUMBER, negative, 0, fraction};
  if (field == exponent_mask(f) && f.specials == IEEE)
    return (number){fraction ? NOT_A_NUMBER : INFINITE, negative, 0, fraction};
  if (field == 0)
    return normalized(negative, -exponent_bias(f),
                      fraction); /* subnormal: 0.fraction * 2^(1 - bias) */
  return (number){FINITE, negative, field - exponent_bias(f), 1ull << 63 | fraction >> 1};
}

/* value / 2^shift to nearest, ties to even; 0 < shift. */
static uint64_t shift_right_rounded(uint64_t value, int shift) {
  if (shift > 64) return 0;
  uint64_t kept = shift == 64 ? 0 : value >> shift;
  uint64_t dropped = value << (64 - shift), half = 1ull << 63;
  return kept + (dropped > half || (dropped == half && (kept & 1)));
}

/* What has no infinities: of what lies beyond the largest number, and of NaN. */
static uint64_t pack_beyond(number n, float_format f) {
  uint64_t all = low_bits(UINT64_MAX, f.bits - 1);
  if (f.specials == FNUZ || (f.specials == SATURATES && n.kind == NOT_A_NUMBER)) return sign_bit(f);
  return (n.negative ? sign_bit(f) : 0) | all;
}

static uint64_t pack(number n, float_format f) {
  uint64_t sign = n.negative ? sign_bit(f) : 0;
  uint64_t infinity = (uint64_t)exponent_mask(f) << f.fraction_bits;
  uint64_t all = low_bits(UINT64_MAX, f.bits - 1);
  bool finite = f.specials != IEEE;
  if (f.specials == SCALE) return pack_scale(n);
  if (finite && (n.kind == INFINITE || n.kind == NOT_A_NUMBER)) return pack_beyond(n, f);
  if (f.specials == FNUZ && n.kind == ZERO) return 0;
  switch (n.kind) {
    case ZERO: return sign;
    case INFINITE: return sign | infinity;
    case NOT_A_NUMBER:
      return sign | infinity | 1ull << (f.fraction_bits - 1) |
             n.significand >> (64 - f.fraction_bits);
    case FINITE: break;
  }
  int field = n.exponent + exponent_bias(f);
  if (field >= exponent_mask(f) + finite) return finite ? pack_beyond(n, f) : sign | infinity;
  /* The rounded significand holds its hidden bit; added to the field below, a carry out of the
   * fraction
   * raises the exponent, up to infinity (or, and past it, to the NaN of a finite format), and a
   * subnormal that rounds up becomes the first normal number. */
  int below = field < 1 ? 1 - field : 0;
  uint64_t rounded = shift_right_rounded(n.significand, 63 - f.fraction_bits + below);
  uint64_t magnitude = ((uint64_t)(field < 1 ? 0 : field - 1) << f.fraction_bits) + rounded;
  if (magnitude > all) return pack_beyond(n, f);
  return f.specials == FNUZ && magnitude == 0 ? 0 : sign | magnitude;
}

/* Truncated toward zero and saturated; NaN gives 0. */
static uint64_t number_to_integer(number n, nx_dtype to) {
  int bits = nxi_dtypes[to].bits;
  bool is_signed = nxi_is_signed(to);
  uint64_t highest = low_bits(UINT64_MAX, bits - is_signed), lowest = is_signed ? highest + 1 : 0;
  if (n.kind == NOT_A_NUMBER || n.kind == ZERO || (n.kind == FINITE && n.exponent < 0)) return 0;
  uint64_t magnitude =
      n.kind == INFINITE || n.exponent > 63 ? UINT64_MAX : n.significand >> (63 - n.exponent);
  if (!n.negative) return magnitude > highest ? highest : magnitude;
  return magnitude > lowest ? lowest : low_bits(-magnitude, bits);
}

/* Scalar bits of an integer or bool, widened by their sign. */
static uint64_t widen_integer(uint64_t bits, nx_dtype from) {
  int n = nxi_dtypes[from].bits;
  if (!nxi_is_signed(from) || n == 64) return bits;
  uint64_t sign = 1ull << (n - 1);
  return (bits ^ sign) - sign;
}

static number integer_to_number(uint64_t bits, nx_dtype from) {
  uint64_t wide = widen_integer(bits, from);
  bool negative = nxi_is_signed(from) && wide >> 63;
  number n = normalized(negative, 63, negative ? -wide : wide);
  return n;
}

uint64_t nxi_cast_bits(uint64_t bits, nx_dtype from, nx_dtype to) {
  if (from == to) return bits;
  bool from_float = nxi_is_float(from) || nxi_is_stored(from),
       to_float = nxi_is_float(to) || nxi_is_stored(to);
  if (to == NX_BOOL && !from_float) return bits != 0;
  if (!from_float && !to_float) return low_bits(widen_integer(bits, from), nxi_dtypes[to].bits);
  number n = from_float ? unpack(bits, format_of(from)) : integer_to_number(bits, from);
  if (to == NX_BOOL) return n.kind != ZERO;
  return to_float ? pack(n, format_of(to)) : number_to_integer(n, to);
}

uint16_t nxi_f32_to_bf16(float x) {
  return (uint16_t)nxi_cast_bits(nxi_bits_f32(x), NX_F32, NX_BF16);
}
uint16_t nxi_f32_to_f16(float x) {
  return (uint16_t)nxi_cast_bits(nxi_bits_f32(x), NX_F32, NX_F16);
}
uint16_t nxi_f64_to_bf16(double x) {
  return (uint16_t)nxi_cast_bits(nxi_bits_f64(x), NX_F64, NX_BF16);
}
uint16_t nxi_f64_to_f16(double x) {
  return (uint16_t)nxi_cast_bits(nxi_bits_f64(x), NX_F64, NX_F16);
}
float nxi_bf16_to_f32(uint16_t h) { return nxi_f32_bits(nxi_cast_bits(h, NX_BF16, NX_F32)); }
float nxi_f16_to_f32(uint16_t h) { return nxi_f32_bits(nxi_cast_bits(h, NX_F16, NX_F32)); }

uint64_t nxi_load_element(const void *p, nx_dtype t) {
  union {
    uint8_t b;
    uint16_t h;
    uint32_t w;
    uint64_t d;
  } v; /* the address may have any alignment */
  switch (nxi_dtypes[t].bits) {
    case 4: memcpy(&v.b, p, 1); return v.b & 15;
    case 8: memcpy(&v.b, p, 1); return t == NX_BOOL ? v.b != 0 : v.b;
    case 16: memcpy(&v.h, p, 2); return v.h;
    case 32: memcpy(&v.w, p, 4); return v.w;
    default: memcpy(&v.d, p, 8); return v.d;
  }
}

void nxi_store_element(void *p, nx_dtype t, uint64_t bits) {
  union {
    uint8_t b;
    uint16_t h;
    uint32_t w;
    uint64_t d;
  } v;
  switch (nxi_dtypes[t].bits) {
    case 4:
    case 8:
      v.b = (uint8_t)(t == NX_I4 ? widen_integer(low_bits(bits, 4), t) : bits);
      memcpy(p, &v.b, 1);
      break;
    case 16:
      v.h = (uint16_t)bits;
      memcpy(p, &v.h, 2);
      break;
    case 32:
      v.w = (uint32_t)bits;
      memcpy(p, &v.w, 4);
      break;
    default:
      v.d = bits;
      memcpy(p, &v.d, 8);
      break;
  }
}

uint64_t nxi_load_at(const void *memory, nx_dtype t, int64_t i) {
  if (!nxi_is_nibble(t)) return nxi_load_element((const char *)memory + i * nxi_dtype_size(t), t);
  return ((const uint8_t *)memory)[i / 2] >> 4 * (i & 1) & 15u;
}

void nxi_store_at(void *memory, nx_dtype t, int64_t i, uint64_t bits) {
  if (!nxi_is_nibble(t)) {
    nxi_store_element((char *)memory + i * nxi_dtype_size(t), t, bits);
    return;
  }
  uint8_t *byte = (uint8_t *)memory + i / 2;
  unsigned shift = 4 * (i & 1), kept = *byte & 240u >> shift;
  *byte = (uint8_t)(kept | (unsigned)(bits & 15) << shift);
}

bool nxi_same_bits(uint64_t a, uint64_t b, nx_dtype t) {
  if (a == b) return true;
  if (!nxi_is_float(t) && !nxi_is_stored(t)) return false;
  float_format f = format_of(t);
  return unpack(a, f).kind == NOT_A_NUMBER && unpack(b, f).kind == NOT_A_NUMBER;
}
