/* SPDX-License-Identifier: ISC */
/* Shared by the expansions of special functions. All of them but erfc of f32 work in f64; for
 * f32 they are `narrow`: their polynomials are of lower degree, they leave out what corrects
 * roundings, and the result is rounded to f32 once. */
#ifndef NXI_EXPAND_SPECIAL_H
#define NXI_EXPAND_SPECIAL_H

#include "expand.h"
#include "special_coefficients.h"

/* Where to append in f64, and whether the result is rounded to f32. */
typedef struct special {
  expand d;
  bool narrow;
} special;

/* f(x) for x of the dtype of e: a narrow one in f64. */
#ifdef NXI_EXPAND_NUMBERS /* a macro: compilers inline what a pointer names too late for vectors */
#define nxi_special(e, x, f)                                                                   \
  __extension__({                                                                              \
    const special s_ = {expand_as((e)->k, NX_F64), !(e)->wide};                                \
    (e)->wide ? f(&s_, &s_.d, x) : x_cast(&s_.d, NX_F32, f(&s_, &s_.d, x_cast(e, NX_F64, x))); \
  })
#else
nxk_value nxi_special(const expand *e, nxk_value x,
                      nxk_value (*f)(const special *s, const expand *d, nxk_value x));
#endif

/* The table NAME_wide for narrow results, else NAME_f64. */
#define X_TABLE(s, x, name)                                                        \
  ((s)->narrow ? nxi_expand_poly(&(s)->d, (x), nxi_##name##_wide,                  \
                                 (int)(sizeof nxi_##name##_wide / sizeof(double))) \
               : nxi_expand_poly(&(s)->d, (x), nxi_##name##_f64,                   \
                                 (int)(sizeof nxi_##name##_f64 / sizeof(double))))

/* A polynomial of which the last product and sum are exact, as a pair. */
X_LINKAGE expand_pair nxi_special_poly_pair(const expand *e, nxk_value x, const double *c,
                                            int count);
/* X_TABLE as a pair; the low part of narrow ones is NXK_NONE. */
#define X_PAIR(s, x, name)                                             \
  ((s)->narrow ? nxi_special_single(X_TABLE(s, x, name))               \
               : nxi_special_poly_pair(&(s)->d, (x), nxi_##name##_f64, \
                                       (int)(sizeof nxi_##name##_f64 / sizeof(double))))

/* (q.high + q.low) e^(high + low), rounded once more than q; the low parts may be NXK_NONE.
 * 2^-30 < |q| < 2^30, or |high| is below 0.34. */
X_LINKAGE nxk_value nxi_special_times_exp(const special *s, expand_pair q, nxk_value high,
                                          nxk_value low);

/* The single number as a pair. */
static inline expand_pair nxi_special_single(nxk_value high) {
  expand_pair p = {high, NXK_NONE};
  return p;
}

/* log(u + low) for positive u, not yet added up: narrow, the low part is NXK_NONE. low may be
 * NXK_NONE. */
X_LINKAGE expand_pair nxi_special_log(const special *s, nxk_value u, nxk_value low);
/* The two parts added up. */
X_LINKAGE nxk_value nxi_special_sum(const special *s, expand_pair p);

#ifndef NXI_EXPAND_NUMBERS
/* pi x as an angle, exactly reduced; NaN for infinities. */
expand_quadrant nxi_special_half_turns(const special *s, nxk_value x);
#endif

#endif
