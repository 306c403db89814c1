/* SPDX-License-Identifier: ISC */
/* Elements of types that the library does not compute with (forms.h), in graphs: as numbers of a
 * type that it computes with, which they are exactly, and back, rounded once whatever the number
 * was. Where operations of integers of fewer bits are not those of the storage, they are here. */
#include "record.h"

#include <math.h>

#include "forms.h"
#include "ir/dtype.h"

/* ---- words, the bits of the floats that are rounded */

typedef struct words {
  nxh_recorder *r;
  nx_dtype bits, real;
  uint32_t width, fraction, bias;
} words;

static nx_tensor *number(const words *w, uint64_t x) {
  nx_scalar s = {NX_SCALAR_U64, {.u = x}};
  return nx_full(w->r->c, w->r->device, w->bits, NULL, 0, &s);
}
static nx_tensor *real_number(const words *w, double x) {
  nx_scalar s = {NX_SCALAR_F64, {.f = {x, 0}}};
  return nx_full(w->r->c, w->r->device, w->real, NULL, 0, &s);
}
static nx_tensor *masked(const words *w, nx_tensor *x, uint64_t mask) {
  return nx_and(x, number(w, mask));
}
static nx_tensor *right(const words *w, nx_tensor *x, uint32_t n) {
  return nx_shr_logical(x, number(w, n));
}
static nx_tensor *below(const words *w, nx_tensor *x, uint64_t limit) {
  return nx_cmplt(x, number(w, limit));
}
static uint64_t bits_of(const words *w, double x) {
  return w->real == NX_F64 ? nxi_bits_f64(x) : nxi_bits_f32((float)x);
}

static words narrow_words(nxh_recorder *r) { return (words){r, NX_U32, NX_F32, 32, 23, 127}; }
static words wide_words(nxh_recorder *r) { return (words){r, NX_U64, NX_F64, 64, 52, 1023}; }

/* ---- to the form */

/* The first magnitude that rounds beyond the largest number. */
static double limit_of(const nxh_form *f) {
  int fields = (1 << (f->bits - 1 - f->fraction)) - (f->kind == NXH_IEEE);
  return ldexp(2 - ldexp(1, -f->fraction - 1), fields - 1 - f->bias);
}

/* The magnitude rounded to even. Normal results: the upper bits, with another bias. Subnormal ones:
 * adding a power of two whose last bit is the least of them rounds to a multiple of that. */
static nx_tensor *rounded(const words *w, const nxh_form *f, nx_tensor *magnitude) {
  uint32_t dropped = w->fraction - f->fraction;
  uint64_t less = (uint64_t)(w->bias - f->bias) << w->fraction;
  nx_tensor *even = masked(w, right(w, magnitude, dropped), 1);
  nx_tensor *moved = nx_add(magnitude, number(w, (UINT64_C(1) << (dropped - 1)) - 1 - less));
  nx_tensor *normal = right(w, nx_add(moved, even), dropped);
  double magic = ldexp(1, (int)w->fraction + 1 - f->bias - f->fraction);
  nx_tensor *power = real_number(w, magic);
  nx_tensor *sum = nx_bitcast(nx_add(nx_bitcast(magnitude, w->real), power), w->bits);
  nx_tensor *subnormal = nx_sub(sum, number(w, bits_of(w, magic)));
  uint64_t first = less + (UINT64_C(1) << w->fraction);
  return nx_where(below(w, magnitude, first), subnormal, normal);
}

static nx_tensor *encoded(const words *w, const nxh_form *f, nx_tensor *x) {
  uint64_t sign_bit = UINT64_C(1) << (f->bits - 1), all = sign_bit - 1;
  uint64_t infinity = all >> f->fraction << f->fraction;
  nx_tensor *bits = nx_bitcast(x, w->bits);
  nx_tensor *magnitude = masked(w, bits, (UINT64_C(1) << (w->width - 1)) - 1);
  nx_tensor *sign = masked(w, right(w, bits, w->width - f->bits), sign_bit);
  nx_tensor *fits = below(w, magnitude, bits_of(w, limit_of(f)));
  nx_tensor *nan = nx_cmplt(number(w, bits_of(w, INFINITY)), magnitude);
  nx_tensor *y = rounded(w, f, magnitude);
  if (f->kind == NXH_FNUZ) {
    y = nx_where(nx_cmpeq(y, number(w, 0)), y, nx_or(y, sign));
    return nx_cast(nx_where(fits, y, number(w, sign_bit)), f->storage);
  }
  y = nx_or(nx_where(fits, y, number(w, f->kind == NXH_IEEE ? infinity : all)), sign);
  uint64_t quiet = infinity | UINT64_C(1) << (f->fraction - 1);
  y = nx_where(nan, number(w, f->kind == NXH_IEEE ? quiet : sign_bit), y);
  return nx_cast(y, f->storage);
}

/* ---- numbers that need more bits than f32 has */

/* An integer of 64 bits whose f64 rounds further as the integer does: from 2^53 on the lowest bits
 * count as zero or not zero. */
static nx_tensor *sticky(nxh_recorder *r, nx_tensor *x) {
  nx_dtype t = nx_dtype_of(x);
  words w = {r, t, 0, 64, 0, 0};
  nx_tensor *low = masked(&w, x, 0x7ff), *zero = number(&w, 0);
  nx_tensor *rest = nx_where(nx_cmpeq(low, zero), zero, number(&w, 0x400));
  nx_tensor *size = t == NX_U64 ? x : nx_abs(x);
  return nx_where(nx_cmplt(size, number(&w, UINT64_C(1) << 53)), x, nx_or(nx_xor(x, low), rest));
}

/* An f64 as an f32 that rounds further as it does: what is not exact has an odd last bit. */
static nx_tensor *odd(nxh_recorder *r, nx_tensor *x) {
  words w = narrow_words(r);
  nx_tensor *near = nx_cast(x, NX_F32), *back = nx_abs(nx_cast(near, NX_F64)), *size = nx_abs(x);
  nx_tensor *bits = nx_bitcast(near, NX_U32), *one = number(&w, 1);
  nx_tensor *even = nx_cmpeq(masked(&w, bits, 1), number(&w, 0));
  nx_tensor *over = nx_and(even, nx_cmplt(size, back)), *under = nx_and(even, nx_cmplt(back, size));
  bits = nx_where(over, nx_sub(bits, one), bits);
  return nx_bitcast(nx_where(under, nx_add(bits, one), bits), NX_F32);
}

/* To a fraction of 10 bits. NaN may have any. */
static nx_tensor *shortened(nxh_recorder *r, const nxh_form *f, nx_tensor *x) {
  words w = narrow_words(r);
  uint32_t dropped = w.fraction - f->fraction;
  nx_tensor *bits = nx_bitcast(nx_dtype_of(x) == NX_F64 ? odd(r, x) : nx_cast(x, NX_F32), NX_U32);
  nx_tensor *even = masked(&w, right(&w, bits, dropped), 1);
  nx_tensor *y = nx_add(nx_add(bits, number(&w, (UINT64_C(1) << (dropped - 1)) - 1)), even);
  y = nx_bitcast(masked(&w, y, UINT32_MAX << dropped), NX_F32);
  return nx_where(nx_isfinite(nx_bitcast(bits, NX_F32)), y, nx_bitcast(bits, NX_F32));
}

/* Of floats the nearest towards zero that there is, as the library casts to its own integers. */
static nx_tensor *wrapped(nxh_recorder *r, const nxh_form *f, nx_tensor *x) {
  bool is_signed = nxi_is_signed(f->storage);
  int64_t most = is_signed ? 1 : 3, least = is_signed ? -2 : 0;
  nx_dtype t = nx_dtype_of(x);
  if (nxi_is_float(t)) {
    nx_tensor *high = nx_full(r->c, r->device, f->storage, NULL, 0, NX_INTEGER(most));
    nx_tensor *low = nx_full(r->c, r->device, f->storage, NULL, 0, NX_INTEGER(least));
    return nx_clamp(low, nx_cast(x, f->storage), high);
  }
  x = nx_cast(x, f->storage);
  if (!is_signed) return nx_and(x, nx_full(r->c, r->device, NX_U8, NULL, 0, NX_INTEGER(most)));
  nx_tensor *spare = nx_full(r->c, r->device, NX_I8, NULL, 0, NX_INTEGER(8 - f->bits));
  return nx_shr_arithmetic(nx_shl(x, spare), spare);
}

nx_tensor *nxh_to_form(nxh_recorder *r, nx_tensor *x, const nxh_form *f) {
  if (x == NULL || f->kind == NXH_CAST) return x != NULL ? nx_cast(x, f->storage) : NULL;
  if (f->kind == NXH_WRAPS) return wrapped(r, f, x);
  nx_dtype t = nx_dtype_of(x);
  bool wide = t == NX_F64 || (nxi_is_integer(t) && nxi_dtypes[t].bits >= 32);
  if (nxi_is_integer(t) && nxi_dtypes[t].bits == 64) x = sticky(r, x);
  words w = wide ? wide_words(r) : narrow_words(r);
  x = nx_cast(x, w.real);
  return f->kind == NXH_PRECISION ? shortened(r, f, x) : encoded(&w, f, x);
}

/* ---- from the form */

/* The magnitude, shifted to the fields of f32, is the value divided by 2^(127 - bias). */
nx_tensor *nxh_from_form(nxh_recorder *r, nx_tensor *x, const nxh_form *f) {
  if (f->kind == NXH_WRAPS || f->kind == NXH_PRECISION) return x;
  if (f->kind == NXH_CAST) return nx_cast(x, f->real);
  words w = narrow_words(r);
  uint64_t sign_bit = UINT64_C(1) << (f->bits - 1), all = sign_bit - 1;
  uint64_t infinity = all >> f->fraction << f->fraction;
  nx_tensor *u = nx_cast(x, NX_U32), *magnitude = masked(&w, u, all);
  nx_tensor *scale = real_number(&w, ldexp(1, 127 - f->bias));
  nx_tensor *fields = nx_bitcast(nx_shl(magnitude, number(&w, 23 - f->fraction)), NX_F32);
  nx_tensor *y = nx_bitcast(nx_mul(fields, scale), NX_U32), *nan = number(&w, 0x7fc00000);
  if (f->kind == NXH_IEEE) {
    nx_tensor *special =
        nx_where(nx_cmpeq(magnitude, number(&w, infinity)), number(&w, 0x7f800000), nan);
    y = nx_where(below(&w, magnitude, infinity), y, special);
  }
  y = nx_or(y, nx_shl(masked(&w, u, sign_bit), number(&w, 32 - f->bits)));
  if (f->kind == NXH_FNUZ) y = nx_where(nx_cmpeq(u, number(&w, sign_bit)), nan, y);
  return nx_bitcast(y, NX_F32);
}

/* Storage that came from outside may have bits beside those of the type. */
nx_tensor *nxh_cleaned(nxh_recorder *r, nx_tensor *x, const nxh_form *f) {
  if (f == NULL || f->kind == NXH_CAST || f->bits == 8) return x;
  if (f->kind == NXH_WRAPS || f->kind == NXH_PRECISION) return nxh_to_form(r, x, f);
  return nx_and(x, nx_full(r->c, r->device, f->storage, NULL, 0, NX_INTEGER((1 << f->bits) - 1)));
}

/* ---- operations */

/* Rounded once from what the operand is, not from the type that it is computed in. */
bool nxh_convert_form(nxh_recorder *r, const nxh_op *op) {
  nx_tensor *x = nxh_in(r, op, 0);
  if (x == NULL) return false;
  const nxh_form *from = nxh_type_of(r->m, op->operands[0])->form,
                 *to = nxh_type_of(r->m, op->first_result)->form;
  if (from != NULL) x = nxh_from_form(r, x, from);
  if (x != NULL && nxi_is_complex(nx_dtype_of(x))) x = nx_real(x);
  nx_dtype plain = nxh_result_type(r, op, 0)->dtype;
  if (x != NULL) x = to != NULL ? nxh_to_form(r, x, to) : nx_cast(x, plain);
  return x != NULL && nxh_set(r, op, 0, x);
}

/* The bits of integers of the form, as numbers of the storage that are not negative. */
static nx_tensor *word_in(nxh_recorder *r, const nxh_op *op, uint32_t i, const nxh_form *f) {
  nx_tensor *x = nxh_in(r, op, i);
  nx_dtype t = f->storage;
  return x == NULL
             ? NULL
             : nx_and(x, nx_full(r->c, r->device, t, NULL, 0, NX_INTEGER((1 << f->bits) - 1)));
}

/* What counts bits, or moves them to the right: there are none above, or copies of the highest. */
bool nxh_word_op(nxh_recorder *r, const nxh_op *op, const nxh_row *row, bool *ok) {
  const nxh_form *f = op->n_results == 1 ? nxh_type_of(r->m, op->first_result)->form : NULL;
  bool shift = nxh_word_is(op->name, "stablehlo.shift_right_logical");
  bool with_sign = nxh_word_is(op->name, "stablehlo.shift_right_arithmetic");
  bool leading = nxh_word_is(op->name, "stablehlo.count_leading_zeros");
  if (f == NULL || f->kind != NXH_WRAPS) return false;
  if (!shift && !with_sign && !leading && !nxh_word_is(op->name, "stablehlo.popcnt")) return false;
  shift = shift || with_sign;
  nx_tensor *x = word_in(r, op, 0, f), *n = x != NULL && shift ? word_in(r, op, 1, f) : NULL;
  *ok = x != NULL && (!shift || n != NULL) && nx_dtype_of(x) == f->storage;
  if (!*ok) return true;
  nx_tensor *spare = nx_full(r->c, r->device, f->storage, NULL, 0, NX_INTEGER(8 - f->bits));
  if (with_sign) x = nx_shr_arithmetic(nx_shl(x, spare), spare);
  x = shift ? row->of.binary(x, n) : row->of.unary(x);
  if (leading) x = nx_sub(x, spare);
  *ok = x != NULL && nxh_set(r, op, 0, nxh_to_form(r, x, f));
  return true;
}

/* The next number of the form: 9/16 of the distance to it, which halves below a power of two, are
 * nearer to it than to all others. From an infinity it is the largest. */
bool nxh_next_form(nxh_recorder *r, const nxh_op *op) {
  nx_tensor *x = nxh_in(r, op, 0), *y = x != NULL ? nxh_in(r, op, 1) : NULL;
  const nxh_form *f = nxh_type_of(r->m, op->first_result)->form;
  words w = narrow_words(r);
  if (y == NULL) return false;
  if (f == NULL || nx_dtype_of(x) != w.real || !nxh_has_shape(x, y))
    return nxh_fail(r, NX_INVALID_ARGUMENT, "operands and result are not of one type");
  bool endless = f->kind == NXH_IEEE || f->kind == NXH_PRECISION;
  int top = (1 << (f->bits - 1 - f->fraction)) - endless - 1 - f->bias;
  nx_tensor *power = nx_bitcast(masked(&w, nx_bitcast(x, w.bits), 0xff << w.fraction), w.real);
  power = nx_max(power, real_number(&w, ldexp(1, 1 - f->bias)));
  nx_tensor *step = nx_mul(power, real_number(&w, ldexp(9, -4 - f->fraction)));
  nx_tensor *next = nx_where(nx_cmplt(x, y), nx_add(x, step), nx_sub(x, step));
  nx_tensor *most = real_number(&w, ldexp(2 - ldexp(1, -f->fraction), top));
  next = nx_where(nx_isinf(x), nx_copysign(most, x), next);
  next = nx_where(nx_cmpeq(x, y), y, next);
  return nxh_set(r, op, 0, nx_where(nx_isnan(y), y, next));
}

/* Words of several integers of the form, the first one lowest, and back. */
bool nxh_bitcast_form(nxh_recorder *r, const nxh_op *op) {
  nx_tensor *x = nxh_in(r, op, 0);
  if (x == NULL) return false;
  const nxh_form *from = nxh_type_of(r->m, op->operands[0])->form,
                 *to = nxh_type_of(r->m, op->first_result)->form;
  bool split = to != NULL && to->kind == NXH_WRAPS, join = from != NULL && from->kind == NXH_WRAPS;
  const nxh_form *f = split ? to : from;
  nx_dtype plain = nxh_result_type(r, op, 0)->dtype, t = split ? nx_dtype_of(x) : plain;
  if (split && join) return nxh_set(r, op, 0, nxh_to_form(r, x, to));
  if (!split && !join)
    return ((from == NULL || to == NULL || from->bits == to->bits) ||
            nxh_fail(r, NX_INVALID_ARGUMENT, "elements of %s and %s differ in bits", from->name,
                     to->name)) &&
           nxh_set(r, op, 0, nx_bitcast_convert(x, plain));
  if (!nxi_is_integer(t) || nxi_is_nibble(t))
    return nxh_fail(r, NX_UNSUPPORTED_DTYPE, "%s has no bits of %s", nx_dtype_name(t), f->name);
  int64_t shape[NX_MAX_RANK + 1], n = nxi_dtypes[t].bits / f->bits;
  int32_t rank = nx_rank(x), last = rank - 1;
  nx_tensor *place = nx_arange(r->c, r->device, t, NX_INTEGER(0), NX_INTEGER(f->bits), n);
  nx_tensor *mask = nx_full(r->c, r->device, t, NULL, 0, NX_INTEGER((1 << f->bits) - 1));
  if (split ? rank == NX_MAX_RANK : rank == 0 || nx_shape(x)[last] != n)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%lld elements of %s are a word", (long long)n,
                    f->name);
  if (join) {
    x = nx_reduce_sum(nx_shl(nx_and(nx_cast(x, t), mask), place), &last, 1, 0);
    return x != NULL && nxh_set(r, op, 0, nx_cast(x, t));
  }
  for (int32_t i = 0; i < rank; i++) shape[i] = nx_shape(x)[i];
  shape[rank] = 1;
  x = nx_and(nx_shr_logical(nx_reshape(x, shape, rank + 1, NX_MAY_COPY), place), mask);
  return x != NULL && nxh_set(r, op, 0, nxh_to_form(r, x, f));
}
