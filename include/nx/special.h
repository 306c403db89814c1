/* SPDX-License-Identifier: ISC */
/* Special functions, element by element. They take floats (F), of any shape, and give the operands'
 * dtype; small floats are computed in f32 and rounded once. NaN gives NaN. How far results may be
 * off is in docs/math.md. */
#ifndef NX_SPECIAL_H
#define NX_SPECIAL_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The natural logarithm of |gamma(x)|. Infinite at 0, at negative integers and at either
 * infinity. */
NX_API nx_tensor *nx_lgamma(nx_tensor *x);
/** The logarithmic derivative of gamma. At +0 -infinity, at -0 infinity; NaN at negative integers
 * and at -infinity. */
NX_API nx_tensor *nx_digamma(nx_tensor *x);
/** exp(-|x|) times the modified Bessel function of the first kind of order 0. 0 at infinities. */
NX_API nx_tensor *nx_i0e(nx_tensor *x);
/** The same of order 1, which is odd. */
NX_API nx_tensor *nx_i1e(nx_tensor *x);
/** The Bessel function of the first kind of order 0. 0 at infinities. */
NX_API nx_tensor *nx_j0(nx_tensor *x);
/** The same of order 1, which is odd. */
NX_API nx_tensor *nx_j1(nx_tensor *x);

/* Of several operands, which broadcast and have one dtype. NaN where a value is not defined. */

/** The Hurwitz zeta function, the sum of (q + k)^-x over k = 0, 1, ...; x > 1. Infinite for x = 1.
 * At q = 0, -1, .. infinite if x is an even integer, else NaN; at other negative q NaN unless x is
 * an integer. */
NX_API nx_tensor *nx_zeta(nx_tensor *x, nx_tensor *q);
/** The n-th derivative of digamma at x, for integers n >= 0 that are floats: digamma for n = 0,
 * else (-1)^(n + 1) n! zeta(n + 1, x), and so 0 where that zeta function underflows. */
NX_API nx_tensor *nx_polygamma(nx_tensor *n, nx_tensor *x);
/** The regularized lower incomplete gamma function of a >= 0 at x >= 0: 0 at x = 0 and for infinite
 * a, 1 at infinity and for a = 0; NaN where both hold. */
NX_API nx_tensor *nx_igamma(nx_tensor *a, nx_tensor *x);
/** The upper one, 1 - igamma(a, x) without its cancellation. */
NX_API nx_tensor *nx_igammac(nx_tensor *a, nx_tensor *x);
/** The derivative of igamma(a, x) by a, never positive; that by x is x^(a - 1) e^-x / gamma(a). 0
 * at x = 0, at infinity, and for infinite a; NaN for a <= 0, x < 0, and where both are infinite. */
NX_API nx_tensor *nx_igamma_grad_a(nx_tensor *a, nx_tensor *x);
/** How x moves with a while igamma(a, x) stays: the derivative by a of a number x that has the
 * gamma distribution of shape a (nx_random_gamma), -igamma_grad_a(a, x) over the derivative by x. 0
 * at x = 0 and for infinite a, infinite at infinity; else NaN as igamma_grad_a. */
NX_API nx_tensor *nx_random_gamma_grad(nx_tensor *a, nx_tensor *x);
/** The regularized incomplete beta function of a, b >= 0, 0 <= x <= 1: 0 at x = 0 and 1 at x = 1;
 * between, 0 for b = 0 or infinite a, 1 for a = 0 or infinite b; NaN where both hold. */
NX_API nx_tensor *nx_betainc(nx_tensor *a, nx_tensor *b, nx_tensor *x);

#ifdef __cplusplus
}
#endif

#endif
