/* SPDX-License-Identifier: ISC */
/* Uniform numbers, and what is a function of one of them. Numbers strictly between 0 and 1 are the
 * middles of the intervals whose beginnings nx_random_uniform gives, so that no logarithm meets a
 * 0, and tails are alike on both sides. */
#include <math.h>

#include "nx/bits.h"
#include "nx/number.h"
#include "nx/random.h"
#include "nx/special.h"
#include "uniform.h"

/* ---- floats */

typedef struct format {
  nx_dtype word;
  int bits, fraction;
  int64_t one; /* the bits of 1 */
} format;

static format format_of(nx_dtype t) {
  switch (t) {
    case NX_F16: return (format){NX_U16, 16, 10, 0x3c00};
    case NX_BF16: return (format){NX_U8, 8, 7, 0x3f80};
    case NX_F32: return (format){NX_U32, 32, 23, 0x3f800000};
    default: return (format){NX_U64, 64, 52, 0x3ff0000000000000};
  }
}

/* In [0, 1): the highest bits as the fraction of a number in [1, 2), less 1. */
static nx_tensor *unit(nx_tensor *key, nx_dtype t, const int64_t *shape, int32_t rank) {
  format f = format_of(t);
  static const nx_dtype whole[] = {
      [NX_F16] = NX_U16, [NX_BF16] = NX_U16, [NX_F32] = NX_U32, [NX_F64] = NX_U64};
  nx_tensor *bits = nx_random_bits(key, f.word, shape, rank),
            *part = nx_cast(nx_binary_i64(bits, NX_BINARY_SHR, f.bits - f.fraction), whole[t]);
  return nx_binary_f64(nx_bitcast(nx_binary_i64(part, NX_BINARY_OR, f.one), t), NX_BINARY_SUB, 1);
}

nx_tensor *nxi_random_open(nx_tensor *key, nx_dtype t, const int64_t *shape, int32_t rank) {
  return nx_binary_f64(unit(key, t, shape, rank), NX_BINARY_ADD,
                       ldexp(1, -1 - format_of(t).fraction));
}

nx_tensor *nx_random_uniform(nx_tensor *key, nx_dtype t, const int64_t *shape, int32_t rank,
                             double low, double high) {
  nxi_draw d;
  if (!nxi_draw_float("random_uniform", t)) return NULL;
  if (!isfinite(low) || !isfinite(high)) {
    nxi_diag diag;
    nxi_diag_clear(&diag);
    nxi_fail(&diag, NX_INVALID_ARGUMENT, "random_uniform",
             "random_uniform: the bounds %g and %g are not finite", low, high);
    return nxi_fail_null(&diag);
  }
  if (!nxi_draw_begin(&d, NXI_COMPOSITE_random_uniform, key, shape, rank, NULL)) return NULL;
  nx_tensor *u = unit(key, t, shape, rank);
  if (low != 0 || high != 1) {
    nx_tensor *from = nxi_draw_number(&d, t, low),
              *range = nx_sub(nxi_draw_number(&d, t, high), from);
    u = nx_max(from, nx_add(nx_mul(u, range), from));
  }
  return nxi_draw_end(&d, u);
}

/* ---- integers */

static bool check_bounds(nx_dtype t, int64_t low, int64_t high) {
  nxi_diag d;
  nxi_diag_clear(&d);
  bool integer = nxi_is_integer(t) && nxi_dtypes[t].bits >= 8,
       is_signed = integer && nxi_is_signed(t);
  int bits = integer ? nxi_dtypes[t].bits : 8;
  int64_t least = !is_signed   ? 0
                  : bits == 64 ? INT64_MIN
                               : -((int64_t)1 << (bits - 1)),
          most = bits == 64 ? INT64_MAX : ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
  if (!integer)
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, "random_integers",
             "random_integers: the result cannot be %s", nxi_dtypes[t].name);
  else if (low < least || low > most || high < least || (high > most && high - 1 > most))
    nxi_fail(&d, NX_INVALID_ARGUMENT, "random_integers",
             "random_integers: %lld to %lld are not all of %s", (long long)low, (long long)high,
             nxi_dtypes[t].name);
  if (d.status) nxi_error_report(&d);
  return !d.status;
}

/* Two words an element, as one number of twice the bits, modulo the range: h 2^bits + l. */
nx_tensor *nx_random_integers(nx_tensor *key, nx_dtype t, const int64_t *shape, int32_t rank,
                              int64_t low, int64_t high) {
  nxi_draw d;
  if (!check_bounds(t, low, high) ||
      !nxi_draw_begin(&d, NXI_COMPOSITE_random_integers, key, shape, rank, NULL))
    return NULL;
  bool wide = nxi_dtypes[t].bits == 64;
  int bits = wide ? 64 : 32;
  nx_dtype word = wide ? NX_U64 : NX_U32;
  uint64_t mask = wide ? UINT64_MAX : UINT32_MAX,
           span = high > low ? ((uint64_t)high - (uint64_t)low) & mask : 1,
           half = span ? ((uint64_t)1 << (bits / 2)) % span : 0,
           times = span ? (half * half & mask) % span : 0;
  nx_tensor *keys = nx_random_split(key, 2), *part[2];
  for (int i = 0; i < 2; i++) {
    int64_t start[2] = {i, 0}, stop[2] = {i + 1, 2}, two = 2;
    nx_tensor *own = nx_reshape(nx_shrink(keys, start, stop, 2), &two, 1, NX_MAY_COPY);
    part[i] = nx_random_bits(own, word, shape, rank);
  }
  nx_tensor *offset = part[1]; /* the whole range of the dtype */
  if (span) {
    nx_tensor *n = nx_full_i64(d.context, d.device, word, NULL, 0, (int64_t)span),
              *up = nx_binary_i64(nx_mod(part[0], n), NX_BINARY_MUL, (int64_t)times);
    offset = nx_mod(nx_add(up, nx_mod(part[1], n)), n);
  }
  nx_tensor *from = nx_full_i64(d.context, d.device, t, NULL, 0, low);
  return nxi_draw_end(&d, nx_add(nx_cast(offset, t), from));
}

nx_tensor *nx_random_bernoulli(nx_tensor *key, nx_tensor *p, const int64_t *shape, int32_t rank) {
  nxi_draw d;
  if (!nxi_draw_parameter("random_bernoulli", 1, p) ||
      !nxi_draw_begin(&d, NXI_COMPOSITE_random_bernoulli, key, shape, rank, NULL))
    return NULL;
  nx_dtype t = nxi_draw_compute(p->storage->dtype);
  return nxi_draw_end(&d, nx_cmplt(unit(key, t, shape, rank), nxi_draw_spread(p, t, shape, rank)));
}

/* ---- functions of one number */

typedef nx_tensor *function(nx_tensor *u);

static nx_tensor *drawn(uint32_t called, nx_tensor *key, nx_dtype dtype, const int64_t *shape,
                        int32_t rank, function *f) {
  nxi_draw d;
  if (!nxi_draw_float(nxi_op_name(called), dtype) ||
      !nxi_draw_begin(&d, called, key, shape, rank, NULL))
    return NULL;
  nx_tensor *x = f(nxi_random_open(key, nxi_draw_compute(dtype), shape, rank));
  return nxi_draw_end(&d, nx_cast(x, dtype));
}

/* 2 u - 1, in (-1, 1) */
static nx_tensor *both_sides(nx_tensor *u) {
  return nx_binary_f64(nx_binary_f64(u, NX_BINARY_MUL, 2), NX_BINARY_SUB, 1);
}

nx_tensor *nxi_random_probit(nx_tensor *u) {
  return nx_binary_f64(nx_erfinv(u), NX_BINARY_MUL, 1.4142135623730951);
}
static nx_tensor *normal(nx_tensor *u) { return nxi_random_probit(both_sides(u)); }
static nx_tensor *exponential(nx_tensor *u) { return nx_neg(nx_log(u)); }
static nx_tensor *gumbel(nx_tensor *u) { return nx_neg(nx_log(nx_neg(nx_log(u)))); }
static nx_tensor *laplace(nx_tensor *u) {
  nx_tensor *s = both_sides(u);
  return nx_neg(nx_mul(nx_sign(s), nx_log1p(nx_neg(nx_abs(s)))));
}
static nx_tensor *logistic(nx_tensor *u) { return nx_sub(nx_log(u), nx_log1p(nx_neg(u))); }
static nx_tensor *cauchy(nx_tensor *u) {
  return nx_tan(
      nx_binary_f64(nx_binary_f64(u, NX_BINARY_SUB, 0.5), NX_BINARY_MUL, 3.14159265358979323846));
}

#define DRAWN(name)                                                                 \
  nx_tensor *nx_random_##name(nx_tensor *key, nx_dtype dtype, const int64_t *shape, \
                              int32_t rank) {                                       \
    return drawn(NXI_COMPOSITE_random_##name, key, dtype, shape, rank, name);       \
  }
DRAWN(normal)
DRAWN(exponential)
DRAWN(gumbel)
DRAWN(laplace)
DRAWN(logistic)
DRAWN(cauchy)

/* erfinv of a number between the erfs of the bounds. */
nx_tensor *nx_random_truncated_normal(nx_tensor *key, nx_tensor *low, nx_tensor *high,
                                      const int64_t *shape, int32_t rank) {
  nxi_draw d;
  nx_tensor *bound[2] = {low, high}, *share[2];
  const char *op = "random_truncated_normal";
  if (!nxi_draw_parameter(op, 1, low) || !nxi_draw_parameter(op, 2, high) ||
      !nxi_draw_same(op, low, high) ||
      !nxi_draw_begin(&d, NXI_COMPOSITE_random_truncated_normal, key, shape, rank, NULL))
    return NULL;
  nx_dtype t = nxi_draw_compute(low->storage->dtype);
  for (int i = 0; i < 2; i++) {
    bound[i] = nxi_draw_spread(bound[i], t, shape, rank);
    share[i] = nx_erf(nx_binary_f64(bound[i], NX_BINARY_MUL, 0.70710678118654752));
  }
  nx_tensor *u = nxi_random_open(key, t, shape, rank),
            *x = nxi_random_probit(nx_add(share[0], nx_mul(u, nx_sub(share[1], share[0])))),
            *inside = nx_clamp(bound[0], x, bound[1]), *nan = nxi_draw_number(&d, t, NAN);
  x = nx_where(nx_cmple(bound[0], bound[1]), inside, nan);
  return nxi_draw_end(&d, nx_cast(x, low->storage->dtype));
}
