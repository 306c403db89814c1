/* SPDX-License-Identifier: ISC */
/* Shared by the expansions of functions of complex numbers: ir/expand/complex.c,
 * ir/expand/complex_functions.c. They compute in f64. `narrow` says that the parts were f32, so
 * that their squares cannot overflow or underflow. */
#ifndef NXI_EXPAND_COMPLEX_H
#define NXI_EXPAND_COMPLEX_H

#include "expand.h"

typedef struct complex_value {
  nxk_value re, im;
} complex_value;

static inline nxk_value x_is_nan(const expand *e, nxk_value x) { return x_ne(e, x, x); }
static inline nxk_value x_is_infinite(const expand *e, nxk_value x) {
  return x_eq(e, x_abs(e, x), x_f(e, INFINITY));
}
static inline nxk_value x_is_finite(const expand *e, nxk_value x) {
  return x_lt(e, x_abs(e, x), x_f(e, INFINITY));
}
static inline nxk_value x_either_infinite(const expand *e, complex_value z) {
  nxk_value first = x_is_infinite(e, z.re);
  return x_or(e, first, x_is_infinite(e, z.im));
}
/* The magnitude with the sign of another number. If that is NaN the sign is +, because the sign of
 * a NaN is arbitrary. */
static inline nxk_value x_signed(const expand *e, nxk_value magnitude, nxk_value from) {
  nxk_value known = x_select(e, x_is_nan(e, from), x_f(e, 0), from);
  return x_copysign(e, magnitude, known);
}
/* The larger magnitude; NaN if either part is. */
static inline nxk_value x_largest(const expand *e, complex_value z) {
  nxk_value first = x_abs(e, z.re);
  return x_op2(e, NXK_max, first, x_abs(e, z.im));
}

/* The factor 2^-k for the exponent k of the larger part, and k. The parts of z times that factor
 * are below 4. */
typedef struct complex_scale {
  complex_value z;
  nxk_value k; /* i64 */
} complex_scale;
complex_scale nxi_expand_scaled(const expand *e, complex_value z, bool even);
/* x 2^k for |k| < 4000, by four factors. If the result is finite only the last multiplication
 * rounds. */
nxk_value nxi_expand_times_power(const expand *e, nxk_value x, nxk_value k);

/* a c + b d with one rounding of each product's error. */
nxk_value nxi_expand_dot(const expand *e, nxk_value a, nxk_value c, nxk_value b, nxk_value d);
nxk_value nxi_expand_modulus(const expand *e, complex_value z, bool narrow);
nxk_value nxi_expand_complex_function(const expand *e, nxk_op op, complex_value z, complex_value w,
                                      bool narrow);

#endif
