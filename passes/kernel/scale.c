/* SPDX-License-Identifier: ISC */
/* ldexp where the target has no instruction for it, for exponents that are known to be within the
 * range of the operation: functions clamp their arguments first, so nearly all are. Two factors
 * with about half of the exponent each are then made by integer shifts, without clamping again, or
 * one factor if that is enough. A NaN of the exponent needs no test if the scaled value is computed
 * from the exponent, too, or all that is computed from the result. What is not known here is left
 * to the code generator (codegen_llvm/emit_scalar.c). */
#include <math.h>

#include "passes.h"

/* ---- the interval of a float: of its values other than NaN */

typedef struct interval {
  double low, high;
} interval;

static const interval anything = {-INFINITY, INFINITY};

enum {
  DEPTH = 16,
  STEPS = 300,
  NAN_DEPTH = 5,
  ENOUGH = 12 /* above twice the least normal exponent: 0, and no factor is subnormal */
};

/* A little wider than what is known of the operands, since results are rounded. */
static interval widened(double low, double high) {
  if (!(low <= high)) return anything; /* also NaN, of infinity times zero and the like */
  double slack = 1e-6 * fmax(fabs(low), fabs(high));
  return (interval){low - slack, high + slack};
}

static interval product(interval a, interval b) {
  double p = a.low * b.low, q = a.low * b.high, r = a.high * b.low, s = a.high * b.high;
  if (p != p || q != q || r != r || s != s) return anything;
  return widened(fmin(fmin(p, q), fmin(r, s)), fmax(fmax(p, q), fmax(r, s)));
}

static interval sum(interval a, interval b) { return widened(a.low + b.low, a.high + b.high); }
static interval negated(interval a) { return (interval){-a.high, -a.low}; }
static interval magnitude(interval a) {
  double least = a.low > 0 ? a.low : a.high < 0 ? -a.high : 0;
  return (interval){least, fmax(fabs(a.low), fabs(a.high))};
}

/* Whether v is a constant, maybe in all lanes. */
static bool is_constant(const nxk_kernel *k, nxk_value v, double *x) {
  const nxk_instr *in = &k->instrs[v];
  if (in->op == NXK_splat) in = &k->instrs[in->args[0]];
  if (in->op != NXK_const || (in->dtype != NX_F32 && in->dtype != NX_F64)) return false;
  *x = nxi_f64_bits(nxi_cast_bits(in->imm, (nx_dtype)in->dtype, NX_F64));
  return true;
}

static bool equals(const nxk_kernel *k, nxk_value a, nxk_value b) {
  double x, y;
  return a == b || (is_constant(k, a, &x) && is_constant(k, b, &y) && x == y);
}

static interval interval_of(const nxk_kernel *k, nxk_value v, int depth, int *steps);

/* select(x < c, c, x), select(c < x, c, x) and select(|x| < c, x, y) limit x; others are one of
 * both. */
static interval of_select(const nxk_kernel *k, const nxk_instr *in, int depth, int *steps) {
  const nxk_instr *test = &k->instrs[in->args[0]];
  interval a = interval_of(k, in->args[1], depth, steps),
           b = interval_of(k, in->args[2], depth, steps);
  double c;
  if (test->op == NXK_lt) {
    const nxk_instr *left = &k->instrs[test->args[0]];
    if (is_constant(k, test->args[1], &c) && test->args[0] == in->args[2]) b.low = fmax(b.low, c);
    else if (is_constant(k, test->args[0], &c) && test->args[1] == in->args[2])
      b.high = fmin(b.high, c);
    else if (is_constant(k, test->args[1], &c) && left->op == NXK_abs &&
             equals(k, left->args[0], in->args[1]))
      a = (interval){fmax(a.low, -c), fmin(a.high, c)};
  }
  if (!(a.low <= a.high && b.low <= b.high)) return anything;
  return (interval){fmin(a.low, b.low), fmax(a.high, b.high)};
}

static interval of_arithmetic(const nxk_kernel *k, const nxk_instr *in, int depth, int *steps) {
  interval a[3] = {anything, anything, anything};
  for (int i = 0; i < in->n_args && i < 3; i++) {
    const bool again = i > 0 && in->args[i] == in->args[0];
    a[i] = again ? a[0] : interval_of(k, in->args[i], depth, steps);
  }
  switch (in->op) {
    case NXK_add: return sum(a[0], a[1]);
    case NXK_sub: return sum(a[0], negated(a[1]));
    case NXK_mul: return product(a[0], a[1]);
    case NXK_fma: return sum(product(a[0], a[1]), a[2]);
    case NXK_neg: return negated(a[0]);
    case NXK_abs: return magnitude(a[0]);
    case NXK_rint:
    case NXK_trunc: return (interval){floor(a[0].low), ceil(a[0].high)};
    case NXK_copysign: {
      double most = magnitude(a[0]).high;
      return (interval){-most, most};
    }
    default: return anything;
  }
}

static interval interval_of(const nxk_kernel *k, nxk_value v, int depth, int *steps) {
  const nxk_instr *in = &k->instrs[v];
  double x;
  if (is_constant(k, v, &x)) return x == x ? (interval){x, x} : anything;
  if (depth == 0 || --*steps < 0 || (in->dtype != NX_F32 && in->dtype != NX_F64)) return anything;
  if (in->op == NXK_splat) return interval_of(k, in->args[0], depth - 1, steps);
  if (in->op == NXK_select) return of_select(k, in, depth - 1, steps);
  return of_arithmetic(k, in, depth - 1, steps);
}

/* ---- NaN */

/* The value that is NaN if v is: v is it with its sign changed, rounded, or moved or scaled by a
 * finite constant. v itself if there is none. */
static nxk_value origin(const nxk_kernel *k, nxk_value v) {
  const nxk_instr *in = &k->instrs[v];
  double x;
  switch (in->op) {
    case NXK_neg:
    case NXK_rint:
    case NXK_splat: return in->args[0];
    case NXK_add:
    case NXK_sub:
    case NXK_mul: return is_constant(k, in->args[1], &x) && isfinite(x) && x != 0 ? in->args[0] : v;
    default: return v;
  }
}

static bool is_arithmetic(uint32_t op) {
  return op == NXK_add || op == NXK_sub || op == NXK_mul || op == NXK_fma || op == NXK_neg ||
         op == NXK_splat;
}

/* Whether a is NaN wherever b is, whatever `except` is there. */
static bool takes_nan(const nxk_kernel *k, nxk_value a, nxk_value b, nxk_value except, int depth) {
  if (a == b || a == except) return a == b;
  const nxk_instr *in = &k->instrs[a];
  for (int i = in->n_args; is_arithmetic(in->op) && depth > 0 && i-- > 0;)
    if (takes_nan(k, in->args[i], b, except, depth - 1)) return true;
  return false;
}

static bool uses(const nxk_instr *in, nxk_value v) {
  for (int i = 0; i < in->n_args; i++)
    if (in->args[i] == v) return true;
  return false;
}

/* Whether all that is computed from v is NaN wherever n is, whatever v is there, which itself is
 * computed from y or is y. */
static bool unseen(const nxk_kernel *k, nxk_value v, nxk_value n, nxk_value y, int depth) {
  for (nxk_value u = v + 1; u < k->n_instrs; u++) {
    if (!uses(&k->instrs[u], v)) continue;
    if (!is_arithmetic(k->instrs[u].op)) return false;
    if (takes_nan(k, u, n, y, NAN_DEPTH)) continue;
    if (depth == 0 || !unseen(k, u, n, y, depth - 1)) return false;
  }
  return true;
}

/* Whether result v of ldexp needs no test for NaNs of its exponent. */
static bool nan_is_known(const nxk_kernel *k, nxk_value v) {
  nxk_value a = k->instrs[v].args[0], n = k->instrs[v].args[1];
  for (int i = 0; i < 4; i++, n = origin(k, n))
    if (takes_nan(k, a, n, NXK_NONE, NAN_DEPTH) || unseen(k, v, n, v, 2)) return true;
  return false;
}

/* ---- the operation */

static nxk_value bits_as(nxk_kernel *k, nx_dtype t, nxk_value a) {
  return nxk_scalar(k, NXK_bitcast, t, a, NXK_NONE, NXK_NONE);
}

/* n + factors * bias in the last bits, for n within that many times the normal exponents. */
static nxk_value biased(nxk_kernel *k, nx_dtype t, nxk_value n, int factors) {
  nxk_value magic =
      nxk_const_f(k, t, t == NX_F64 ? 0x1.8p52 + factors * 1023 : 0x1.8p23 + factors * 127);
  return bits_as(k, t == NX_F64 ? NX_U64 : NX_U32, NXK_SCALAR2(k, NXK_add, n, magic));
}

/* a 2^h 2^(n - h), h = n / 2 rounded down: the halves of what is in the last bits are the exponent
 * fields of both factors. In the domain of ldexp the first product is exact, or the result is 0 or
 * infinite anyway. */
static nxk_value by_halves(nxk_kernel *k, nx_dtype t, nxk_value a, nxk_value n) {
  const bool wide = t == NX_F64;
  const nx_dtype bits = wide ? NX_U64 : NX_U32;
  const uint64_t width = wide ? 52 : 23, fields = wide ? 0xfff0000000000000u : 0xff800000u;
  nxk_value u = biased(k, t, n, 2);
  nxk_value first = NXK_SCALAR2(k, NXK_shl, u, nxk_const(k, bits, width - 1));
  first = NXK_SCALAR2(k, NXK_and, first, nxk_const(k, bits, fields));
  nxk_value both = NXK_SCALAR2(k, NXK_shl, u, nxk_const(k, bits, width));
  nxk_value second = NXK_SCALAR2(k, NXK_sub, both, first);
  a = NXK_SCALAR2(k, NXK_mul, a, bits_as(k, t, first));
  return NXK_SCALAR2(k, NXK_mul, a, bits_as(k, t, second));
}

/* 2^n, a normal number. */
static nxk_value power(nxk_kernel *k, nx_dtype t, nxk_value n) {
  const nx_dtype bits = t == NX_F64 ? NX_U64 : NX_U32;
  nxk_value width = nxk_const(k, bits, t == NX_F64 ? 52 : 23);
  return bits_as(k, t, NXK_SCALAR2(k, NXK_shl, biased(k, t, n, 1), width));
}

nxk_value nxk_scale_within(nxk_kernel *k, const nxk_kernel *source, nxk_value v,
                           const nxk_value *map) {
  const nxk_instr *in = &source->instrs[v];
  const nx_dtype t = (nx_dtype)in->dtype;
  const double normal = t == NX_F64 ? 1022 : 126;
  nxk_value n = map[in->args[1]];
  int steps = STEPS;
  double x;
  interval range = interval_of(source, in->args[1], DEPTH, &steps);
  if (!(range.low > -INFINITY && range.high <= 2 * normal)) return NXK_NONE;
  const bool one = is_constant(source, in->args[0], &x) && x == 1 && range.low >= -normal &&
                   range.high <= normal;
  if (range.low < -2 * normal) {
    nxk_value least = nxk_const_f(k, t, ENOUGH - 2 * normal);
    n = NXK_SCALAR3(k, NXK_select, NXK_SCALAR2(k, NXK_lt, n, least), least, n);
  }
  nxk_value y = one ? power(k, t, n) : by_halves(k, t, map[in->args[0]], n);
  if (nan_is_known(source, v)) return y;
  return NXK_SCALAR3(k, NXK_select, NXK_SCALAR2(k, NXK_ne, n, n), n, y);
}
