/* SPDX-License-Identifier: ISC */
/* floor_div and floor_mod: the quotient rounded toward minus infinity, as Python and NumPy have it,
 * and the remainder that goes with it. Both begin with the truncated ones, of which the remainder
 * is exact, and correct them where the signs of remainder and divisor differ. */
#include "expand.h"

/* Whether the remainder is not 0 and has not the sign of the divisor. */
static nxk_value differs(const expand *e, nxk_value rest, nxk_value b) {
  nxk_value zero = nxk_const(e->k, e->f, 0);
  nxk_value apart = x_ne(e, x_lt(e, rest, zero), x_lt(e, b, zero));
  return x_and(e, x_ne(e, rest, zero), apart);
}

static nxk_value integer_quotient(const expand *e, nxk_value a, nxk_value b) {
  nxk_value q = x_div(e, a, b);
  if (!nxi_is_signed(e->f)) return q;
  nxk_value less = x_sub(e, q, nxk_const_i(e->k, e->f, 1));
  return x_select(e, differs(e, x_mod(e, a, b), b), less, q);
}

/* a less the remainder is a multiple of b but for a rounding, so the quotient is next to a whole
 * number. It may be rounded to the one below, and is then more than a half above its floor. */
static nxk_value float_quotient(const expand *e, nxk_value a, nxk_value b) {
  nxk_value zero = x_f(e, 0), one = x_f(e, 1), rest = x_mod(e, a, b), plain = x_div(e, a, b);
  nxk_value q = x_div(e, x_sub(e, a, rest), b);
  q = x_select(e, differs(e, rest, b), x_sub(e, q, one), q);
  nxk_value whole = x_floor(e, q), above = x_lt(e, x_f(e, 0.5), x_sub(e, q, whole));
  whole = x_select(e, above, x_add(e, whole, one), whole);
  whole = x_select(e, x_eq(e, q, zero), x_copysign(e, zero, plain), whole);
  return x_select(e, x_eq(e, b, zero), plain, whole);
}

nxk_value nxi_expand_floor_div(const expand *e, nxk_value a, nxk_value b) {
  return nxi_is_integer(e->f) ? integer_quotient(e, a, b) : float_quotient(e, a, b);
}

/* A remainder of 0 has the sign of b. */
nxk_value nxi_expand_floor_mod(const expand *e, nxk_value a, nxk_value b) {
  nxk_value rest = x_mod(e, a, b);
  if (nxi_is_integer(e->f) && !nxi_is_signed(e->f)) return rest;
  nxk_value other = x_add(e, rest, b), zero = nxk_const(e->k, e->f, 0);
  if (nxi_is_float(e->f)) rest = x_select(e, x_eq(e, rest, zero), x_copysign(e, zero, b), rest);
  return x_select(e, differs(e, rest, b), other, rest);
}
