/* SPDX-License-Identifier: ISC */
/* Shared by the function expansions: short names for appending scalar operations, and the pieces
 * that several functions use. An expansion is written once for f32 and f64 where the formula is the
 * same and only constants differ. Measured errors are in docs/math.md. If memory is exhausted
 * (k->failed) every value is NXK_NONE; expansions do not check for that. */
#ifndef NXI_KERNEL_EXPAND_H
#define NXI_KERNEL_EXPAND_H

#include <math.h>

#include "ir/kernel/kernel.h"

#ifdef NXI_EXPAND_NUMBERS
#include "numbers.h"
#define X_LINKAGE static inline
#else
#define X_LINKAGE
#endif

/* Where to append, and the float dtype with the integer dtypes of its width. */
typedef struct expand {
  nxk_kernel *k;
  nx_dtype f, i, u;
  bool wide; /* f64 */
} expand;

static inline expand expand_as(nxk_kernel *k, nx_dtype f) {
  bool wide = f == NX_F64;
  expand e = {k, f, wide ? NX_I64 : NX_I32, wide ? NX_U64 : NX_U32, wide};
  return e;
}

#ifndef NXI_EXPAND_NUMBERS
/* Whether there is a value. */
#define x_is(v) ((v) != NXK_NONE)
/* These macros evaluate their operands from left to right (ir/kernel/kernel.h). */
#define x_op1(e, op, a)       NXK_SCALAR1((e)->k, op, a)
#define x_op2(e, op, a, b)    NXK_SCALAR2((e)->k, op, a, b)
#define x_op3(e, op, a, b, c) NXK_SCALAR3((e)->k, op, a, b, c)

/* Constants: of the float dtype, of the signed and the unsigned integer dtype of its width. */
static inline nxk_value x_f(const expand *e, double x) { return nxk_const_f(e->k, e->f, x); }
static inline nxk_value x_f2(const expand *e, double narrow, double wide) {
  return nxk_const_f(e->k, e->f, e->wide ? wide : narrow);
}
static inline nxk_value x_i(const expand *e, int64_t x) { return nxk_const_i(e->k, e->i, x); }
static inline nxk_value x_u(const expand *e, uint64_t x) { return nxk_const(e->k, e->u, x); }
/* a in as many lanes as `like` has: operands of a blend are not splatted. */
static inline nxk_value x_like(const expand *e, nxk_value a, nxk_value like) {
  return e->k->failed ? NXK_NONE : nxk_splat(e->k, a, e->k->instrs[like].lanes);
}
static inline nxk_value x_cast(const expand *e, nx_dtype t, nxk_value a) {
  return nxk_cast_to(e->k, t, a);
}
static inline nxk_value x_bits(const expand *e, nx_dtype t, nxk_value a) {
  if (e->k->failed) return NXK_NONE; /* a is then not a value */
  return nxk_dtype(e->k, a) == t ? a : nxk_scalar(e->k, NXK_bitcast, t, a, NXK_NONE, NXK_NONE);
}
#endif

#define x_neg(e, a)          x_op1(e, NXK_neg, a)
#define x_abs(e, a)          x_op1(e, NXK_abs, a)
#define x_not(e, a)          x_op1(e, NXK_not, a)
#define x_sqrt(e, a)         x_op1(e, NXK_sqrt, a)
#define x_rint(e, a)         x_op1(e, NXK_rint, a)
#define x_trunc(e, a)        x_op1(e, NXK_trunc, a)
#define x_add(e, a, b)       x_op2(e, NXK_add, a, b)
#define x_sub(e, a, b)       x_op2(e, NXK_sub, a, b)
#define x_mul(e, a, b)       x_op2(e, NXK_mul, a, b)
#define x_div(e, a, b)       x_op2(e, NXK_div, a, b)
#define x_and(e, a, b)       x_op2(e, NXK_and, a, b)
#define x_or(e, a, b)        x_op2(e, NXK_or, a, b)
#define x_xor(e, a, b)       x_op2(e, NXK_xor, a, b)
#define x_shl(e, a, b)       x_op2(e, NXK_shl, a, b)
#define x_shr(e, a, b)       x_op2(e, NXK_shr, a, b)
#define x_floor(e, a)        x_op1(e, NXK_floor, a)
#define x_mod(e, a, b)       x_op2(e, NXK_mod, a, b)
#define x_copysign(e, a, b)  x_op2(e, NXK_copysign, a, b)
#define x_ldexp(e, a, b)     x_op2(e, NXK_ldexp, a, b)
#define x_umulh(e, a, b)     x_op2(e, NXK_umulh, a, b)
#define x_eq(e, a, b)        x_op2(e, NXK_eq, a, b)
#define x_ne(e, a, b)        x_op2(e, NXK_ne, a, b)
#define x_lt(e, a, b)        x_op2(e, NXK_lt, a, b)
#define x_le(e, a, b)        x_op2(e, NXK_le, a, b)
#define x_fma(e, a, b, c)    x_op3(e, NXK_fma, a, b, c)
#define x_select(e, p, a, b) x_op3(e, NXK_select, p, a, b)
/* -a * b + c */
static inline nxk_value x_negated_fma(const expand *e, nxk_value a, nxk_value b, nxk_value c) {
  return x_fma(e, x_neg(e, a), b, c);
}
#define x_fnma(e, a, b, c)                      \
  __extension__({                               \
    nxk_value nxk_a_ = (a);                     \
    nxk_value nxk_b_ = (b);                     \
    nxk_value nxk_c_ = (c);                     \
    x_negated_fma((e), nxk_a_, nxk_b_, nxk_c_); \
  })

/* c[0] + c[1] x + ... by Horner's rule. Horner rounds least, and the iterations of a kernel's loop
 * are independent, so its latency is hidden. */
#ifdef NXI_EXPAND_NUMBERS
#define nxi_expand_poly(e, x, c, count) x_poly((e)->wide, x, c, count)
#else
nxk_value nxi_expand_poly(const expand *e, nxk_value x, const double *c, int count);
#endif
/* The table NAME_f32 or NAME_f64 by the dtype. */
#define X_POLY(e, x, name)                                                      \
  ((e)->wide ? nxi_expand_poly((e), (x), nxi_##name##_f64,                      \
                               (int)(sizeof nxi_##name##_f64 / sizeof(double))) \
             : nxi_expand_poly((e), (x), nxi_##name##_f32,                      \
                               (int)(sizeof nxi_##name##_f32 / sizeof(double))))
#define X_POLY_OF(e, x, table) \
  nxi_expand_poly((e), (x), (table), (int)(sizeof(table) / sizeof(double)))

/* A pair high + low with |low| <= ulp(high) / 2. */
typedef struct expand_pair {
  nxk_value high, low;
} expand_pair;

/* x = n ln2 + r, |r| <= ln2 / 2, n integral (as a float). x finite, |x| < 2^11. `high` is x minus n
 * times the high part of ln2, exactly; together with reduced_low it is r without rounding. */
typedef struct expand_reduced {
  nxk_value n, r, high;
} expand_reduced;
X_LINKAGE expand_reduced nxi_expand_reduce_ln2(const expand *e, nxk_value x);
X_LINKAGE nxk_value nxi_expand_reduced_low(const expand *e, expand_reduced a);
/* reduced_low and what x has below it. */
X_LINKAGE nxk_value nxi_expand_reduced_more(const expand *e, expand_reduced a, nxk_value low);

/* x clamped; NaN stays NaN. */
X_LINKAGE nxk_value nxi_expand_clamp(const expand *e, nxk_value x, double low, double high);
/* To what x of e^x is limited below (nxi_expand_exp). */
static inline double x_least_exp(const expand *e) { return e->wide ? -2842.5 : -359.5; }

/* x = 2^k m with m in [sqrt(1/2), sqrt 2), for positive normal x; k as a float. */
typedef struct expand_split {
  nxk_value k, m;
} expand_split;
X_LINKAGE expand_split nxi_expand_split(const expand *e, nxk_value x);

/* k ln2 + log(1 + f) + low, for |f| <= 0.415, low far below f (or NXK_NONE), k integral. */
X_LINKAGE nxk_value nxi_expand_log_sum(const expand *e, nxk_value k, nxk_value f, nxk_value low);
/* The same, not yet added up; the low part may be a fifth of the high one. */
X_LINKAGE expand_pair nxi_expand_log_parts(const expand *e, nxk_value k, nxk_value f,
                                           nxk_value low);
/* more ln2 + log(u + c + low) for positive normal u, |c| at most half an ulp of u if u >= 2, |low|
 * far below ulp(u); low and more may be NXK_NONE. */
X_LINKAGE nxk_value nxi_expand_log_pair(const expand *e, nxk_value u, nxk_value c, nxk_value low,
                                        nxk_value more);
/* log of a positive normal f64 for f32 functions that work in f64: relative error below 2^-29. */
X_LINKAGE nxk_value nxi_expand_log_wide(const expand *e, nxk_value x);

/* a + b exactly, for |a| >= |b| or a = 0. */
X_LINKAGE expand_pair nxi_expand_fast_sum(const expand *e, nxk_value a, nxk_value b);
/* a * b exactly (short of underflow). */
X_LINKAGE expand_pair nxi_expand_product(const expand *e, nxk_value a, nxk_value b);

X_LINKAGE nxk_value nxi_expand_exp(const expand *e, nxk_value x);
X_LINKAGE nxk_value nxi_expand_expm1(const expand *e, nxk_value x);
X_LINKAGE nxk_value nxi_expand_log(const expand *e, nxk_value x);
X_LINKAGE nxk_value nxi_expand_exp2(const expand *e, nxk_value x);
X_LINKAGE nxk_value nxi_expand_log2(const expand *e, nxk_value x);
X_LINKAGE nxk_value nxi_expand_log10(const expand *e, nxk_value x);
X_LINKAGE nxk_value nxi_expand_cbrt(const expand *e, nxk_value x);
X_LINKAGE nxk_value nxi_expand_logistic(const expand *e, nxk_value x);
X_LINKAGE nxk_value nxi_expand_logaddexp(const expand *e, nxk_value a, nxk_value b);
X_LINKAGE nxk_value nxi_expand_log1p(const expand *e, nxk_value x);
X_LINKAGE nxk_value nxi_expand_sinh(const expand *e, nxk_value x);
X_LINKAGE nxk_value nxi_expand_cosh(const expand *e, nxk_value x);
X_LINKAGE nxk_value nxi_expand_tanh(const expand *e, nxk_value x);
X_LINKAGE nxk_value nxi_expand_erf(const expand *e, nxk_value x);
X_LINKAGE nxk_value nxi_expand_erfc(const expand *e, nxk_value x);
X_LINKAGE nxk_value nxi_expand_erfinv(const expand *e, nxk_value x);

#ifndef NXI_EXPAND_NUMBERS
/* x = q pi/2 + r + low, |r| <= pi/4 or a little above; q modulo 4 in the low bits (unsigned). */
typedef struct expand_quadrant {
  nxk_value q, r, low;
} expand_quadrant;
expand_quadrant nxi_expand_quadrant(const expand *e, nxk_value x);
/* The sine, the cosine (of q + 1) and the tangent of a quadrant's angle. */
nxk_value nxi_expand_sine(const expand *e, expand_quadrant a);
expand_pair nxi_expand_sine_parts(const expand *e, expand_quadrant a); /* not yet added up */
nxk_value nxi_expand_tangent(const expand *e, expand_quadrant a);

/* The quotient toward minus infinity, and the remainder that has the sign of b. */
nxk_value nxi_expand_floor_div(const expand *e, nxk_value a, nxk_value b);
nxk_value nxi_expand_floor_mod(const expand *e, nxk_value a, nxk_value b);
nxk_value nxi_expand_trig(const expand *e, nxk_op op, nxk_value x); /* sin cos tan */
nxk_value nxi_expand_asin(const expand *e, nxk_value x);
nxk_value nxi_expand_acos(const expand *e, nxk_value x);
nxk_value nxi_expand_atan(const expand *e, nxk_value x);
nxk_value nxi_expand_atan2(const expand *e, nxk_value y, nxk_value x);
nxk_value nxi_expand_asinh(const expand *e, nxk_value x);
nxk_value nxi_expand_acosh(const expand *e, nxk_value x);
nxk_value nxi_expand_atanh(const expand *e, nxk_value x);
nxk_value nxi_expand_lgamma(const expand *e, nxk_value x);
nxk_value nxi_expand_digamma(const expand *e, nxk_value x);
nxk_value nxi_expand_bessel(const expand *e, nxk_op op, nxk_value x); /* i0e i1e j0 j1 */
nxk_value nxi_expand_pow(const expand *e, nxk_value x, nxk_value y);
/* By loops, which only bound kernels have (ir/expand/incomplete.h). */
nxk_value nxi_expand_zeta(const expand *e, const nxk_value *args);
nxk_value nxi_expand_polygamma(const expand *e, const nxk_value *args);
nxk_value nxi_expand_incomplete_gamma(const expand *e, bool upper, const nxk_value *args);
nxk_value nxi_expand_gamma_gradient(const expand *e, bool of_sample, const nxk_value *args);
nxk_value nxi_expand_incomplete_beta(const expand *e, const nxk_value *args);
/* Functions of complex numbers, in f64 for f32 parts: one part of the result. */
nxk_value nxi_expand_complex(const expand *e, nxk_op op, const nxk_value *args);
nxk_value nxi_expand_pow_integer(nxk_kernel *k, nx_dtype t, nxk_value x, nxk_value y);
#endif

#endif
