/* SPDX-License-Identifier: ISC */
/* The table of element types that the library does not compute with, and single elements of them.
 * All is exact arithmetic, whatever the rounding mode of the caller is. */
#include "forms.h"

#include <math.h>
#include <string.h>

#include "ir/dtype.h"

static const nxh_form forms[] = {
    {"f8E4M3FNUZ", NX_F8E4M3FNUZ, NX_F32, NXH_CAST, 8, 3, 8},
    {"f8E5M2FNUZ", NX_F8E5M2FNUZ, NX_F32, NXH_CAST, 8, 2, 16},
    {"f8E8M0FNU", NX_F8E8M0, NX_F32, NXH_CAST, 8, 0, 127},
    {"f4E2M1FN", NX_F4E2M1, NX_F32, NXH_CAST, 4, 1, 1},
    {"f8E4M3", NX_U8, NX_F32, NXH_IEEE, 8, 3, 7},
    {"f8E3M4", NX_U8, NX_F32, NXH_IEEE, 8, 4, 3},
    {"f8E4M3B11FNUZ", NX_U8, NX_F32, NXH_FNUZ, 8, 3, 11},
    {"f6E2M3FN", NX_U8, NX_F32, NXH_FINITE, 6, 3, 1},
    {"f6E3M2FN", NX_U8, NX_F32, NXH_FINITE, 6, 2, 3},
    {"tf32", NX_F32, NX_F32, NXH_PRECISION, 19, 10, 127},
    {"i2", NX_I8, NX_I8, NXH_WRAPS, 2, 0, 0},
    {"ui2", NX_U8, NX_U8, NXH_WRAPS, 2, 0, 0},
};

const nxh_form *nxh_find_form(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    if (strlen(forms[i].name) == length && memcmp(forms[i].name, name, length) == 0)
      return &forms[i];
  return NULL;
}

/* ---- floats */

static uint64_t sign_of(const nxh_form *f) { return UINT64_C(1) << (f->bits - 1); }

/* What a number beyond the largest becomes, without its sign; `nan`: what a NaN becomes. */
static uint64_t beyond(const nxh_form *f, bool nan) {
  uint64_t all = sign_of(f) - 1, infinity = all >> f->fraction << f->fraction;
  if (f->kind == NXH_FNUZ) return sign_of(f);
  if (f->kind == NXH_FINITE) return nan ? sign_of(f) : all;
  return nan ? infinity | UINT64_C(1) << (f->fraction - 1) : infinity;
}

/* The magnitude of a finite number, as bits that may be beyond the largest: to even. */
static uint64_t rounded(const nxh_form *f, double x) {
  int exponent;
  if (x == 0) return 0;
  frexp(x, &exponent);
  int field = exponent - 1 + f->bias, lowest = field < 1 ? 1 : field;
  if (field > 1 << 9) return UINT64_MAX;
  double units = ldexp(x, f->fraction + f->bias - lowest); /* below 2^(fraction + 1) */
  uint64_t whole = (uint64_t)units;
  double rest = units - (double)whole;
  whole += rest > 0.5 || (rest == 0.5 && (whole & 1));
  return ((uint64_t)(lowest - 1) << f->fraction) + whole;
}

uint64_t nxh_form_bits(const nxh_form *f, double x) {
  if (f->kind == NXH_CAST) return nxi_cast_bits(nxi_bits_f64(x), NX_F64, f->storage);
  uint64_t sign = signbit(x) ? sign_of(f) : 0, most = beyond(f, false);
  bool finite = f->kind == NXH_FINITE;
  uint64_t bits = isnan(x) ? beyond(f, true) : isinf(x) ? most : rounded(f, fabs(x));
  if (finite && isnan(x)) return bits;
  if (!isnan(x) && (finite ? bits > most : bits >= most)) bits = most;
  bits = f->kind == NXH_FNUZ && (bits == 0 || bits == most) ? bits : bits | sign;
  return nxh_form_element(f, bits);
}

/* ---- elements of the storage */

uint64_t nxh_form_element(const nxh_form *f, uint64_t bits) {
  bits &= (sign_of(f) << 1) - 1;
  if (f->kind == NXH_PRECISION) return bits << (nxi_dtypes[f->storage].bits - f->bits);
  if (f->kind == NXH_WRAPS && nxi_is_signed(f->storage) && (bits & sign_of(f)))
    bits |= 0xff & ~(sign_of(f) - 1);
  return bits;
}

bool nxh_form_integer(const nxh_form *f, bool negative, uint64_t magnitude, uint64_t *out) {
  uint64_t most = (sign_of(f) << 1) - 1;
  bool is_signed = nxi_is_signed(f->storage);
  *out = nxh_form_element(f, negative ? 0 - magnitude : magnitude);
  return negative ? magnitude <= (is_signed ? sign_of(f) : 0) : magnitude <= most;
}

void nxh_form_unpack(const nxh_form *f, const void *bytes, size_t n, void *to) {
  size_t each = nxh_form_bytes(f), size = (size_t)nxi_dtype_size(f->storage);
  for (size_t i = 0; i < n; i++) {
    uint64_t bits = 0;
    for (size_t k = 0; k < each; k++)
      bits |= (uint64_t)((const uint8_t *)bytes)[i * each + k] << (8 * k);
    if (f->kind != NXH_CAST) bits = nxh_form_element(f, bits);
    nxi_store_element((char *)to + i * size, f->storage, bits);
  }
}
