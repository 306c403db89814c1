/* SPDX-License-Identifier: ISC */
/* Shared by the functions that are computed by loops: zeta, and the incomplete gamma and beta
 * functions. They work in f64; narrow ones stop earlier. Operands have equal lanes. */
#ifndef NXI_EXPAND_INCOMPLETE_H
#define NXI_EXPAND_INCOMPLETE_H

#include "special.h"

/* The operands in f64, all with as many lanes as the widest of them. */
void nxi_loop_operands(const expand *e, const nxk_value *args, int n, nxk_value *out);
/* The constant in as many lanes as `like`: what a carry begins with. */
nxk_value nxi_loop_constant(const expand *e, double x, nxk_value like);

/* a + b exactly. */
expand_pair nxi_expand_sum(const expand *e, nxk_value a, nxk_value b);
/* The sum of two pairs, to about 100 bits. */
expand_pair nxi_pair_sum(const expand *e, expand_pair a, expand_pair b);
expand_pair nxi_pair_negative(const expand *e, expand_pair a);
/* a log(u + low), where log u may be nearly 0; low is far below u. */
expand_pair nxi_pair_times_log(const expand *e, nxk_value a, nxk_value u, nxk_value low);
/* x / a, and what that rounds away. */
expand_pair nxi_pair_quotient(const expand *e, expand_pair x, nxk_value a);
/* The exponential of half of a pair: squared it is that of the pair, without that intermediate
 * results underflow. */
nxk_value nxi_half_exp(const expand *e, expand_pair p);

/* log gamma(a) - ((a - 1/2) log a - a + log(2 pi) / 2) for a >= 1. */
nxk_value nxi_stirling_rest(const expand *e, nxk_value a);
/* e^a^2 erfc a for a >= 0. */
nxk_value nxi_expand_erfcx(const expand *e, nxk_value a);
/* ---- incomplete gamma functions (incomplete_gamma.c) */

/* Where (a, x) lies. b is a, or a + 1 where a < 1; energy: x - b - b log(x / b), not negative; log:
 * b log(x / b); y: the root of x^b e^-x / gamma(b + 1) sqrt(2 pi b), for Temme's expansion that of
 * e^-energy. */
typedef struct gamma_case {
  nxk_value a, x, b, y, energy, log;
  nxk_value below, temme, small, series, fraction; /* bools */
  bool narrow;
} gamma_case;
gamma_case nxi_gamma_case(const expand *e, nxk_value a, nxk_value x, bool narrow);
/* x / sqrt(2 pi b) */
nxk_value nxi_gamma_over_root(const expand *e, nxk_value x, nxk_value b);
/* x^a e^-x / gamma(a + 1) times `factor`. */
nxk_value nxi_gamma_times_power(const expand *e, const gamma_case *c, nxk_value factor);
/* f where the bool holds, else `otherwise`. */
typedef nxk_value gamma_tail(const expand *e, const gamma_case *c);
nxk_value nxi_gamma_where(const expand *e, const gamma_case *c, nxk_value when, gamma_tail *f,
                          nxk_value otherwise);

/* lgamma(1 + a) for 0 <= a <= 1. */
nxk_value nxi_lgamma_beyond_one(const expand *e, nxk_value a);

#endif
