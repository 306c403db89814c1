/* SPDX-License-Identifier: ISC */
/* Special functions, element by element. They take floats (F), of any shape, and give the operand's
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

#ifdef __cplusplus
}
#endif

#endif
