/* SPDX-License-Identifier: ISC */
/* What the elements of an integer node lie between, as far as its operands tell: indices that have
 * been clamped, counted, or found by a sort need no check. Each node is looked at once, in order;
 * an interval that an operation of the dtype could leave is that of the dtype. u64 is never
 * narrowed, since intervals are of i64. */
#include "index_ranges.h"

#include "evaluate.h"
#include "ir/alloc.h"

nxg_interval nxg_integers_of(nx_dtype t) {
  int32_t bits = nxi_dtypes[t].bits;
  if (t == NX_BOOL) return (nxg_interval){0, 1};
  if (!nxi_is_integer(t) || bits == 64) return (nxg_interval){INT64_MIN, INT64_MAX};
  if (nxi_is_signed(t))
    return (nxg_interval){-(INT64_C(1) << (bits - 1)), (INT64_C(1) << (bits - 1)) - 1};
  return (nxg_interval){0, (INT64_C(1) << bits) - 1};
}

/* The interval, if the dtype has all of it. */
static nxg_interval within(nx_dtype t, nxg_interval x) {
  nxg_interval most = nxg_integers_of(t);
  return x.low >= most.low && x.high <= most.high ? x : most;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t largest(int64_t a, int64_t b) { return a > b ? a : b; }

static nxg_interval join(nxg_interval a, nxg_interval b) {
  return (nxg_interval){least(a.low, b.low), largest(a.high, b.high)};
}

int64_t nxg_integer_of(nx_dtype t, int64_t bits) {
  int32_t unused = 64 - nxi_dtypes[t].bits;
  if (t == NX_BOOL) return bits != 0;
  if (nxi_is_signed(t)) return (int64_t)((uint64_t)bits << unused) >> unused;
  return (int64_t)((uint64_t)bits << unused >> unused);
}

static nxg_interval of_arange(const nxg_node *n) {
  nx_dtype t = (nx_dtype)n->dtype;
  int64_t start = nxg_integer_of(t, n->attrs[0]), step = nxg_integer_of(t, n->attrs[1]), last,
          count = nxg_node_elements(n);
  if (count < 1 || __builtin_mul_overflow(step, count - 1, &last) ||
      __builtin_add_overflow(start, last, &last))
    return nxg_integers_of(t);
  return within(t, (nxg_interval){least(start, last), largest(start, last)});
}

static nxg_interval of_product(nx_dtype t, nxg_interval a, nxg_interval b) {
  nxg_interval x = {INT64_MAX, INT64_MIN};
  for (int k = 0; k < 4; k++) {
    int64_t corner;
    if (__builtin_mul_overflow(k & 1 ? a.low : a.high, k & 2 ? b.low : b.high, &corner))
      return nxg_integers_of(t);
    x = join(x, (nxg_interval){corner, corner});
  }
  return within(t, x);
}

static nxg_interval of_binary(const nxg_node *n, nxg_interval a, nxg_interval b) {
  nx_dtype t = (nx_dtype)n->dtype;
  nxg_interval x;
  switch (n->op) {
    case NXG_add:
      if (__builtin_add_overflow(a.low, b.low, &x.low) ||
          __builtin_add_overflow(a.high, b.high, &x.high))
        return nxg_integers_of(t);
      return within(t, x);
    case NXG_sub:
      if (__builtin_sub_overflow(a.low, b.high, &x.low) ||
          __builtin_sub_overflow(a.high, b.low, &x.high))
        return nxg_integers_of(t);
      return within(t, x);
    case NXG_mul: return of_product(t, a, b);
    case NXG_min: return (nxg_interval){least(a.low, b.low), least(a.high, b.high)};
    case NXG_max: return (nxg_interval){largest(a.low, b.low), largest(a.high, b.high)};
    case NXG_floor_mod: /* of the divisor's sign */
      return b.low > 0 ? (nxg_interval){0, b.high - 1} : nxg_integers_of(t);
    case NXG_mod: /* of the dividend's */
      if (b.low <= 0) return nxg_integers_of(t);
      return (nxg_interval){a.low >= 0 ? 0 : 1 - b.high, b.high - 1};
    case NXG_or:
      if (t != NX_BOOL) return nxg_integers_of(t);
      return (nxg_interval){largest(a.low, b.low), largest(a.high, b.high)};
    case NXG_and:
      if (t == NX_BOOL) return (nxg_interval){least(a.low, b.low), least(a.high, b.high)};
      if (a.low < 0 && b.low < 0) return nxg_integers_of(t);
      return (nxg_interval){0, a.low < 0 ? b.high : b.low < 0 ? a.high : least(a.high, b.high)};
    default: return nxg_integers_of(t);
  }
}

/* ---- comparisons, and what holds where one chooses */

static bool is_narrowed(nx_dtype t) { return (nxi_is_integer(t) && t != NX_U64) || t == NX_BOOL; }

static bool compares(const nxg_node *n) {
  return n->op == NXG_cmplt || n->op == NXG_cmple || n->op == NXG_cmpeq || n->op == NXG_cmpne;
}

static nxg_interval of_comparison(const nxg_node *n, nxg_interval a, nxg_interval b) {
  bool always, never;
  switch (n->op) {
    case NXG_cmplt: always = a.high < b.low, never = a.low >= b.high; break;
    case NXG_cmple: always = a.high <= b.low, never = a.low > b.high; break;
    default:
      always = a.low == b.high && a.high == b.low;
      never = a.high < b.low || a.low > b.high;
      if (n->op == NXG_cmpne) return (nxg_interval){always ? 0 : never, !always};
  }
  return (nxg_interval){always, !never};
}

/* The number that all elements of a node are, also through views; false: not known. */
static bool constant_of(const nxg_graph *g, uint32_t node, double *value) {
  while (g->nodes[node].op == NXG_view || g->nodes[node].op == NXG_copy)
    node = g->nodes[node].args[0];
  const nxg_node *n = &g->nodes[node];
  if (n->op != NXG_full || n->attrs[1] >= 0 || nxi_is_complex(n->dtype) || nxi_is_stored(n->dtype))
    return false;
  *value = nxi_f64_bits(nxi_cast_bits((uint64_t)n->attrs[0], n->dtype, NX_F64));
  return true;
}

/* Cuts the interval of integers of dtype t, which are node `of` or cast from it, by a condition
 * that holds: a comparison of `of` with a constant. A cast takes the integer part, which is not
 * above that of the constant if `of` is not, and below the constant if that is an integer above 0
 * and `of` is less; what the dtype does not have becomes the nearest that it has. */
static void cut_by(const nxg_graph *g, const nxg_node *condition, uint32_t of, nx_dtype t,
                   nxg_interval *x) {
  const double far = 4503599627370496; /* 2^52 */
  double value;
  if (condition->op != NXG_cmplt && condition->op != NXG_cmple) return;
  const bool less = condition->op == NXG_cmplt, upper = condition->args[0] == of;
  if (!upper && condition->args[1] != of) return;
  if (!constant_of(g, condition->args[upper ? 1 : 0], &value) || !(value > -far && value < far))
    return;
  int64_t bound = (int64_t)value;
  const bool whole = (double)bound == value;
  const nxg_interval all = nxg_integers_of(t);
  if (less && whole && bound != 0 && (bound > 0) == upper) bound += upper ? -1 : 1;
  if (upper) x->high = least(x->high, largest(bound, all.low));
  else x->low = largest(x->low, least(bound, all.high));
}

/* The interval of integers that are chosen where a condition holds: comparisons, joined by `and`,
 * of these integers or of the floats that they are cast from. */
static nxg_interval where_holds(const nxg_graph *g, uint32_t condition, uint32_t chosen,
                                nxg_interval x) {
  enum { MOST_PARTS = 16 };
  uint32_t parts[MOST_PARTS + 1] = {condition}, n_parts = 1;
  const nxg_node *n = &g->nodes[chosen];
  for (uint32_t i = 0; i < n_parts; i++) {
    const nxg_node *part = &g->nodes[parts[i]];
    if (part->op == NXG_and && n_parts + 2 <= MOST_PARTS) {
      parts[n_parts++] = part->args[0];
      parts[n_parts++] = part->args[1];
    } else if (part->n_args == 2) {
      cut_by(g, part, chosen, (nx_dtype)n->dtype, &x);
      if (n->op == NXG_cast && nxi_is_float(g->nodes[n->args[0]].dtype))
        cut_by(g, part, n->args[0], (nx_dtype)n->dtype, &x);
    }
  }
  return x;
}

static nxg_interval of_where(const nxg_graph *g, const nxg_node *n, const nxg_interval *known) {
  const nxg_interval by = known[n->args[0]], other = known[n->args[2]];
  if (by.low == by.high) return by.low != 0 ? known[n->args[1]] : other;
  const nxg_interval x = where_holds(g, n->args[0], n->args[1], known[n->args[1]]);
  return x.low > x.high ? other : join(x, other); /* it may hold nowhere */
}

/* Operations that give some elements of their operands from `first` on. */
static nxg_interval of_moved(const nxg_node *n, const nxg_interval *known, uint32_t first,
                             uint32_t end) {
  nxg_interval x = known[n->args[first]];
  for (uint32_t i = first + 1; i < end; i++) x = join(x, known[n->args[i]]);
  return x;
}

/* What floats of constants are cast to. */
static nxg_interval of_floats(const nxg_graph *g, uint32_t node) {
  int64_t list[NXG_MOST_EVALUATED];
  const int64_t n = nxg_evaluate_integers(g, node, list);
  nxg_interval x = {INT64_MAX, INT64_MIN};
  for (int64_t i = 0; i < n; i++) x = join(x, (nxg_interval){list[i], list[i]});
  return n > 0 ? x : nxg_integers_of((nx_dtype)g->nodes[node].dtype);
}

/* Of integers but u64, and of bool. */
static nxg_interval of_node(const nxg_graph *g, const nxg_node *n, const nxg_interval *known) {
  nx_dtype t = (nx_dtype)n->dtype;
  switch (n->op) {
    case NXG_full:
      return n->attrs[1] < 0
                 ? (nxg_interval){nxg_integer_of(t, n->attrs[0]), nxg_integer_of(t, n->attrs[0])}
                 : nxg_integers_of(t);
    case NXG_arange: return t == NX_BOOL ? nxg_integers_of(t) : of_arange(n);
    case NXG_view:
    case NXG_copy:
    case NXG_gather:
    case NXG_sort:
    case NXG_reduce_min:
    case NXG_reduce_max:
      return nxg_node_elements(&g->nodes[n->args[0]]) ? known[n->args[0]] : nxg_integers_of(t);
    case NXG_pad: {
      int64_t x = nxg_integer_of(t, n->attrs[0]);
      return join(known[n->args[0]], (nxg_interval){x, x});
    }
    case NXG_cat: return of_moved(n, known, 0, n->n_args);
    case NXG_where: return of_where(g, n, known);
    case NXG_not: {
      const nxg_interval x = known[n->args[0]];
      return t == NX_BOOL ? (nxg_interval){1 - x.high, 1 - x.low} : nxg_integers_of(t);
    }
    case NXG_argmax:
    case NXG_argmin:
    case NXG_argsort: {
      int64_t extent = g->nodes[n->args[0]].shape[n->attrs[0]];
      return within(t, (nxg_interval){0, largest(extent - 1, 0)});
    }
    case NXG_abs: {
      const nxg_interval x = known[n->args[0]];
      if (x.low == INT64_MIN) return nxg_integers_of(t);
      const int64_t far = largest(-x.low, x.high);
      return within(t, (nxg_interval){x.low > 0 ? x.low : x.high < 0 ? -x.high : 0, far});
    }
    case NXG_cast:
      if (nxi_is_float(g->nodes[n->args[0]].dtype)) return of_floats(g, (uint32_t)(n - g->nodes));
      return g->nodes[n->args[0]].dtype == NX_U64 ? nxg_integers_of(t)
                                                  : within(t, known[n->args[0]]);
    default:
      if (compares(n))
        return is_narrowed(g->nodes[n->args[0]].dtype)
                   ? of_comparison(n, known[n->args[0]], known[n->args[1]])
                   : nxg_integers_of(t);
      return n->n_args == 2 ? of_binary(n, known[n->args[0]], known[n->args[1]])
                            : nxg_integers_of(t);
  }
}

nxg_interval *nxg_index_ranges(const nxg_graph *g) {
  nxg_interval *known = nxi_calloc(g->n_nodes ? g->n_nodes : 1, sizeof *known);
  for (uint32_t i = 0; known != NULL && i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    nx_dtype t = (nx_dtype)n->dtype;
    known[i] = is_narrowed(t) ? of_node(g, n, known) : nxg_integers_of(t);
  }
  return known;
}
