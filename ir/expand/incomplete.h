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
/* lgamma(1 + a) for 0 <= a <= 1. */
nxk_value nxi_lgamma_beyond_one(const expand *e, nxk_value a);

#endif
