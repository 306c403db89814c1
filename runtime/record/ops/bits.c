/* SPDX-License-Identifier: ISC */
/* Operations on the bits of floats, recorded as operations on integers of their width, so that
 * small floats are not rounded and NaNs keep their bits; shifts that do not go by the dtype; bits
 * as elements of another size. */
#include <math.h>
#include <string.h>

#include "compose.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

static nx_dtype unsigned_of(nx_dtype t) {
  switch (nxi_dtypes[t].bits) {
    case 4: return NX_U4;
    case 8: return NX_U8;
    case 16: return NX_U16;
    case 32: return NX_U32;
    default: return NX_U64;
  }
}

static nx_dtype signed_of(nx_dtype t) {
  switch (nxi_dtypes[t].bits) {
    case 4: return NX_I4;
    case 8: return NX_I8;
    case 16: return NX_I16;
    case 32: return NX_I32;
    default: return NX_I64;
  }
}

static nx_tensor *as(nxi_steps *s, nx_tensor *x, nx_dtype t) {
  return nxi_step(s, nx_bitcast(x, t));
}
static nx_tensor *with(nxi_steps *s, nx_tensor *x, nx_binary_op op, uint64_t word) {
  return nxi_step(s, nx_binary_i64(x, op, (int64_t)word));
}

/* ---- what is refused */

typedef struct wanted {
  const char *op, *classes;
  uint32_t admits;
} wanted;

static bool fail_dtype(const wanted *w, const nx_tensor *x, int32_t operand) {
  nxi_diag d;
  nxi_diag_clear(&d);
  d.operand = operand;
  nxi_fail(&d, NX_UNSUPPORTED_DTYPE, w->op,
           "%s: operand %d has dtype %s, but %s takes %s: cast it first", w->op, operand,
           nxi_dtypes[x->storage->dtype].name, w->op, w->classes);
  nxi_fail_null(&d);
  return false;
}

/* n operands of one dtype, which is one of these classes. False: reported. */
static bool check(const wanted *w, nx_tensor *const *t, uint32_t n) {
  if (!nxi_check_operands(w->op, t, n)) return false;
  for (uint32_t i = 0; i < n; i++) {
    nx_dtype dtype = t[i]->storage->dtype, first = t[0]->storage->dtype;
    if (!(nxi_dtypes[dtype].cls & w->admits)) return fail_dtype(w, t[i], (int32_t)i);
    if (dtype == first) continue;
    nxi_diag d;
    nxi_diag_clear(&d);
    d.operand = (int32_t)i;
    nxi_fail(&d, NX_INVALID_ARGUMENT, w->op, "%s: operand %u has dtype %s, operand 0 has %s", w->op,
             i, nxi_dtypes[dtype].name, nxi_dtypes[first].name);
    nxi_fail_null(&d);
    return false;
  }
  return true;
}

/* ---- shifts */

static nx_tensor *shifted(uint32_t called, const char *op, nx_tensor *a, nx_tensor *count,
                          bool keeps_sign) {
  const wanted w = {op, "integers", NXI_I};
  nx_tensor *t[2] = {a, count};
  if (!check(&w, t, 2)) return NULL;
  nxi_steps s = nxi_steps_of(called, a);
  nx_dtype own = a->storage->dtype, way = keeps_sign ? signed_of(own) : unsigned_of(own);
  nx_tensor *bits = as(&s, a, way), *by = as(&s, count, way),
            *moved = nxi_step(&s, nx_shr(bits, by));
  return nxi_steps_end(&s, as(&s, moved, own));
}

nx_tensor *nx_shr_logical(nx_tensor *a, nx_tensor *count) {
  return shifted(NXI_COMPOSITE_shr_logical, "shr_logical", a, count, false);
}
nx_tensor *nx_shr_arithmetic(nx_tensor *a, nx_tensor *count) {
  return shifted(NXI_COMPOSITE_shr_arithmetic, "shr_arithmetic", a, count, true);
}

/* ---- signs and neighbours */

static uint64_t sign_of(nx_dtype t) { return UINT64_C(1) << (nxi_dtypes[t].bits - 1); }

nx_tensor *nx_copysign(nx_tensor *a, nx_tensor *b) {
  const wanted w = {"copysign", "floats", NXI_F};
  nx_tensor *t[2] = {a, b};
  if (!check(&w, t, 2)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_copysign, a);
  nx_dtype own = a->storage->dtype, word = unsigned_of(own);
  uint64_t sign = sign_of(own);
  nx_tensor *magnitude = with(&s, as(&s, a, word), NX_BINARY_AND, ~sign),
            *of_b = with(&s, as(&s, b, word), NX_BINARY_AND, sign),
            *both = nxi_step(&s, nx_or(magnitude, of_b));
  return nxi_steps_end(&s, as(&s, both, own));
}

nx_tensor *nx_signbit(nx_tensor *x) {
  const wanted w = {"signbit", "floats", NXI_F};
  if (!check(&w, &x, 1)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_signbit, x);
  return nxi_steps_end(&s, with(&s, as(&s, x, signed_of(x->storage->dtype)), NX_BINARY_CMPLT, 0));
}

/* The neighbour of a on the side of b; neither is NaN and they differ. Away from 0 the bits count
 * up, toward 0 down, on either side of it; from 0 the way is b's sign. */
static nx_tensor *neighbour(nxi_steps *s, nx_tensor *a, nx_tensor *b) {
  nx_dtype own = a->storage->dtype, word = signed_of(own);
  nx_tensor *bits = as(s, a, word), *of_b = as(s, b, word), *upward = nxi_step(s, nx_cmplt(a, b)),
            *below = with(s, bits, NX_BINARY_CMPLT, 0),
            *away = nxi_step(s, nx_cmpne(upward, below)), *one = nxi_step_scalar(s, word, 1),
            *minus = nxi_step_scalar(s, word, -1), *step = nxi_step(s, nx_where(away, one, minus)),
            *next = nxi_step(s, nx_add(bits, step)),
            *least = nxi_step(s, nx_or(with(s, of_b, NX_BINARY_AND, sign_of(own)), one)),
            *at_zero = nxi_step(s, nx_binary_f64(a, NX_BINARY_CMPEQ, 0));
  return as(s, nxi_step(s, nx_where(at_zero, least, next)), own);
}

nx_tensor *nx_nextafter(nx_tensor *a, nx_tensor *b) {
  const wanted w = {"nextafter", "floats", NXI_F};
  nx_tensor *t[2] = {a, b};
  if (!check(&w, t, 2)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_nextafter, a);
  nx_tensor *next = neighbour(&s, a, b), *lost = nxi_step(&s, nx_cmpne(a, a)),
            *stays =
                nxi_step(&s, nx_or(nxi_step(&s, nx_cmpne(b, b)), nxi_step(&s, nx_cmpeq(a, b))));
  next = nxi_step(&s, nx_where(stays, b, next));
  return nxi_steps_end(&s, nxi_step(&s, nx_where(lost, a, next)));
}

/* ---- finite, infinite, NaN */

typedef nx_tensor *test_of_float(nxi_steps *s, nx_tensor *x);
static nx_tensor *unequal(nxi_steps *s, nx_tensor *x) { return nxi_step(s, nx_cmpne(x, x)); }
static nx_tensor *equal(nxi_steps *s, nx_tensor *x) { return nxi_step(s, nx_cmpeq(x, x)); }
static nx_tensor *endless(nxi_steps *s, nx_tensor *x) {
  nx_tensor *size = nxi_step(s, nx_abs(x));
  return nxi_step(s, nx_binary_f64(size, NX_BINARY_CMPEQ, (double)INFINITY));
}
/* f8e4m3 has no infinity to compare with: the difference of a number and itself is NaN if it is not
 * finite. */
static nx_tensor *limited(nxi_steps *s, nx_tensor *x) {
  return equal(s, nxi_step(s, nx_sub(x, x)));
}

/* One test of floats; of a complex number of both parts; integers are all finite. */
static nx_tensor *tested(uint32_t called, const char *op, nx_tensor *x, test_of_float *test,
                         bool wants_finite) {
  const wanted w = {op, "integers, floats and complex numbers", NXI_I | NXI_F | NXI_C};
  if (!check(&w, &x, 1)) return NULL;
  nxi_steps s = nxi_steps_of(called, x);
  nx_dtype t = x->storage->dtype;
  if (nxi_is_integer(t)) return nxi_steps_end(&s, wants_finite ? equal(&s, x) : unequal(&s, x));
  if (!nxi_is_complex(t)) return nxi_steps_end(&s, test(&s, x));
  nx_tensor *re = test(&s, nxi_step(&s, nx_real(x))), *im = test(&s, nxi_step(&s, nx_imag(x)));
  return nxi_steps_end(&s, nxi_step(&s, wants_finite ? nx_and(re, im) : nx_or(re, im)));
}

nx_tensor *nx_isnan(nx_tensor *x) {
  return tested(NXI_COMPOSITE_isnan, "isnan", x, unequal, false);
}
nx_tensor *nx_isinf(nx_tensor *x) {
  return tested(NXI_COMPOSITE_isinf, "isinf", x, endless, false);
}
nx_tensor *nx_isfinite(nx_tensor *x) {
  return tested(NXI_COMPOSITE_isfinite, "isfinite", x, limited, true);
}

/* ---- fewer bits of exponent and fraction */

typedef struct layout {
  int32_t exponent, fraction;
} layout;

static layout layout_of(nx_dtype t) {
  switch (t) {
    case NX_F8E4M3: return (layout){4, 3};
    case NX_F8E5M2: return (layout){5, 2};
    case NX_F16: return (layout){5, 10};
    case NX_BF16: return (layout){8, 7};
    case NX_F32: return (layout){8, 23};
    default: return (layout){11, 52};
  }
}

/* The magnitude, rounded to nearest even where `dropped` bits are cut off. */
static nx_tensor *round_bits(nxi_steps *s, nx_tensor *magnitude, int32_t dropped) {
  const uint64_t last = UINT64_C(1) << dropped;
  nx_tensor *odd = with(s, magnitude, NX_BINARY_SHR, (uint64_t)dropped);
  odd = with(s, odd, NX_BINARY_AND, 1);
  nx_tensor *more = nxi_step(s, nx_add(magnitude, odd));
  more = with(s, more, NX_BINARY_ADD, last / 2 - 1);
  return with(s, more, NX_BINARY_AND, ~(last - 1));
}

/* What the format calls infinite above the largest exponent, 0 below the lowest one. */
static nx_tensor *limit_bits(nxi_steps *s, nx_tensor *magnitude, layout own, int32_t bits,
                             nx_tensor *infinite) {
  const uint64_t bias = (UINT64_C(1) << (own.exponent - 1)) - 1,
                 most = (UINT64_C(1) << (bits - 1)) - 1;
  nx_tensor *beyond = with(s, magnitude, NX_BINARY_CMPGE, (bias + most + 1) << own.fraction),
            *below = with(s, magnitude, NX_BINARY_CMPLT, (bias - most + 1) << own.fraction),
            *zero = with(s, magnitude, NX_BINARY_AND, 0),
            *kept = nxi_step(s, nx_where(below, zero, magnitude));
  return nxi_step(s, nx_where(beyond, infinite, kept));
}

/* Eight bits are reduced in sixteen, which have room for a carry out of the exponent. */
static nx_tensor *reduced(nxi_steps *s, nx_tensor *x, int32_t exponent, int32_t mantissa) {
  nx_dtype t = x->storage->dtype, own_word = unsigned_of(t);
  layout own = layout_of(t);
  uint64_t top = t == NX_F8E4M3 ? 0x7f : ((UINT64_C(1) << own.exponent) - 1) << own.fraction;
  nx_tensor *bits = as(s, x, own_word);
  if (own_word == NX_U8) bits = nxi_step(s, nx_cast(bits, NX_U16));
  nx_tensor *sign = with(s, bits, NX_BINARY_AND, sign_of(t)),
            *magnitude = with(s, bits, NX_BINARY_AND, sign_of(t) - 1), *y = magnitude,
            *zero = with(s, bits, NX_BINARY_AND, 0), *infinite = with(s, zero, NX_BINARY_OR, top);
  if (mantissa < own.fraction) y = round_bits(s, y, own.fraction - mantissa);
  if (exponent < own.exponent) y = limit_bits(s, y, own, exponent, infinite);
  y = nxi_step(s, nx_or(nxi_step(s, nx_min(y, infinite)), sign));
  if (own_word == NX_U8) y = nxi_step(s, nx_cast(y, NX_U8));
  return nxi_step(s, nx_where(unequal(s, x), x, as(s, y, t)));
}

nx_tensor *nx_reduce_precision(nx_tensor *x, int32_t exponent_bits, int32_t mantissa_bits) {
  const wanted w = {"reduce_precision", "floats", NXI_F};
  nxi_diag d;
  if (!check(&w, &x, 1)) return NULL;
  nxi_diag_clear(&d);
  if (exponent_bits < 1 || mantissa_bits < 0) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, w.op,
             "reduce_precision: %d bits of exponent and %d of fraction make no float",
             exponent_bits, mantissa_bits);
    return nxi_fail_null(&d);
  }
  layout own = layout_of(x->storage->dtype);
  bool changes = exponent_bits < own.exponent || mantissa_bits < own.fraction;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_reduce_precision, x);
  return nxi_steps_end(&s, changes ? reduced(&s, x, exponent_bits, mantissa_bits)
                                   : nxi_step(&s, nx_copy(x)));
}

/* ---- elements of another size */

/* Each element as `ratio` unsigned words of the dtype `word`, along a new last axis. */
static nx_tensor *split(nxi_steps *s, nx_tensor *x, nx_dtype word, int32_t ratio) {
  int64_t shape[NXG_MAX_RANK];
  nx_dtype whole = unsigned_of(x->storage->dtype);
  memcpy(shape, nxi_shape(x), (size_t)x->rank * sizeof *shape);
  shape[x->rank] = 1;
  nx_tensor *bits = as(s, x, whole),
            *column = bits ? nxi_step(s, nx_reshape(bits, shape, x->rank + 1, 0)) : NULL,
            *by = with(s, nxi_step_count(s, whole, ratio), NX_BINARY_MUL, nxi_dtypes[word].bits);
  return nxi_step(s, nx_cast(nxi_step(s, nx_shr(column, by)), word));
}

/* Every other element along the last axis, from `first` on. */
static nx_tensor *every_other(nxi_steps *s, nx_tensor *x, int64_t first) {
  int64_t start[NXG_MAX_RANK] = {0}, count[NXG_MAX_RANK] = {0}, step[NXG_MAX_RANK] = {0};
  if (!x) return NULL;
  for (int32_t i = 0; i < x->rank; i++) {
    count[i] = nxi_shape(x)[i];
    step[i] = 1;
  }
  start[x->rank - 1] = first;
  count[x->rank - 1] /= 2;
  step[x->rank - 1] = 2;
  return nxi_step(s, nx_slice(x, start, count, step, (size_t)x->rank));
}

/* Unsigned words, joined two by two until each line is one. */
static nx_tensor *joined(nxi_steps *s, nx_tensor *x, nx_dtype whole) {
  static const nx_dtype wider[] = {
      [NX_U4] = NX_U8, [NX_U8] = NX_U16, [NX_U16] = NX_U32, [NX_U32] = NX_U64};
  while (x && x->storage->dtype != whole) {
    nx_dtype half = x->storage->dtype, word = wider[half];
    nx_tensor *low = nxi_step(s, nx_cast(every_other(s, x, 0), word)),
              *high = nxi_step(s, nx_cast(every_other(s, x, 1), word));
    x = nxi_step(s, nx_or(low, with(s, high, NX_BINARY_SHL, nxi_dtypes[half].bits)));
  }
  return x ? nxi_step(s, nx_reshape(x, nxi_shape(x), x->rank - 1, 0)) : NULL;
}

/* False: reported. ratio: of the larger size to the smaller one. */
static bool check_sizes(const nx_tensor *x, nx_dtype dtype, int32_t ratio, bool splits) {
  nxi_diag d;
  char text[NXG_SHAPE_TEXT];
  nxi_diag_clear(&d);
  d.operand = 0;
  const int64_t *shape = nxi_shape(x);
  const char *from = nxi_dtypes[x->storage->dtype].name, *to = nxi_dtypes[dtype].name;
  if (splits && x->rank == NXG_MAX_RANK)
    nxi_fail(&d, NX_INVALID_ARGUMENT, "bitcast_convert",
             "bitcast_convert: %s to %s would give %d axes, more than %d", from, to, x->rank + 1,
             NXG_MAX_RANK);
  else if (!splits && (x->rank == 0 || shape[x->rank - 1] != ratio))
    nxi_fail(&d, NX_INVALID_ARGUMENT, "bitcast_convert",
             "bitcast_convert: %s to %s takes a last axis of %d elements, the shape is %s", from,
             to, ratio, nxg_format_shape(text, x->rank, shape));
  if (d.status) nxi_fail_null(&d);
  return !d.status;
}

/* c128 has no integer of its size. */
static bool check_bits(const nx_tensor *x, nx_dtype dtype) {
  nxi_diag d;
  nx_dtype from = x->storage->dtype, odd = nxi_dtypes[from].bits > 64 ? from : dtype;
  nxi_diag_clear(&d);
  if (!nxi_dtype_exists("bitcast_convert", dtype, &d)) {
    nxi_fail_null(&d);
    return false;
  }
  if (nxi_dtypes[odd].bits <= 64) return true;
  d.operand = 0;
  nxi_fail(&d, NX_UNSUPPORTED_DTYPE, "bitcast_convert",
           "bitcast_convert: %s to %s: the bits of %s are not seen as elements of another size",
           nxi_dtypes[from].name, nxi_dtypes[dtype].name, nxi_dtypes[odd].name);
  nxi_fail_null(&d);
  return false;
}

nx_tensor *nx_bitcast_convert(nx_tensor *x, nx_dtype dtype) {
  if (!nxi_have_tensor("bitcast_convert", 0, x)) return NULL;
  int32_t from = (int32_t)nxi_dtypes[x->storage->dtype].bits,
          to = nxi_dtype_valid(dtype) ? (int32_t)nxi_dtypes[dtype].bits : from + 1;
  bool same = from == to;
  if (!same && !check_bits(x, dtype)) return NULL;
  if (!same && !check_sizes(x, dtype, from > to ? from / to : to / from, from > to)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_bitcast_convert, x);
  nx_tensor *bits = x;
  if (from > to) bits = split(&s, x, unsigned_of(dtype), from / to);
  if (from < to) bits = joined(&s, as(&s, x, unsigned_of(x->storage->dtype)), unsigned_of(dtype));
  return nxi_steps_end(&s, as(&s, bits, dtype));
}
