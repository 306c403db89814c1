/* SPDX-License-Identifier: ISC */
/* What the elements of an integer node lie between, as far as its operands tell: indices that have
 * been clamped, counted, or found by a sort need no check. Each node is looked at once, in order;
 * an interval that an operation of the dtype could leave is that of the dtype. u64 is never
 * narrowed, since intervals are of i64. */
#include "index_ranges.h"

#include "ir/alloc.h"

static nxg_interval of_dtype(nx_dtype t) {
  int32_t bits = nxi_dtypes[t].bits;
  if (t == NX_BOOL) return (nxg_interval){0, 1};
  if (!nxi_is_integer(t) || bits == 64) return (nxg_interval){INT64_MIN, INT64_MAX};
  if (nxi_is_signed(t))
    return (nxg_interval){-(INT64_C(1) << (bits - 1)), (INT64_C(1) << (bits - 1)) - 1};
  return (nxg_interval){0, (INT64_C(1) << bits) - 1};
}

/* The interval, if the dtype has all of it. */
static nxg_interval within(nx_dtype t, nxg_interval x) {
  nxg_interval most = of_dtype(t);
  return x.low >= most.low && x.high <= most.high ? x : most;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t largest(int64_t a, int64_t b) { return a > b ? a : b; }

static nxg_interval join(nxg_interval a, nxg_interval b) {
  return (nxg_interval){least(a.low, b.low), largest(a.high, b.high)};
}

/* The number that bits of the dtype are. */
static int64_t number_of(nx_dtype t, int64_t bits) {
  int32_t unused = 64 - nxi_dtypes[t].bits;
  if (t == NX_BOOL) return bits != 0;
  if (nxi_is_signed(t)) return (int64_t)((uint64_t)bits << unused) >> unused;
  return (int64_t)((uint64_t)bits << unused >> unused);
}

static nxg_interval of_arange(const nxg_node *n) {
  nx_dtype t = (nx_dtype)n->dtype;
  int64_t start = number_of(t, n->attrs[0]), step = number_of(t, n->attrs[1]), last,
          count = nxg_node_elements(n);
  if (count < 1 || __builtin_mul_overflow(step, count - 1, &last) ||
      __builtin_add_overflow(start, last, &last))
    return of_dtype(t);
  return within(t, (nxg_interval){least(start, last), largest(start, last)});
}

static nxg_interval of_product(nx_dtype t, nxg_interval a, nxg_interval b) {
  nxg_interval x = {INT64_MAX, INT64_MIN};
  for (int k = 0; k < 4; k++) {
    int64_t corner;
    if (__builtin_mul_overflow(k & 1 ? a.low : a.high, k & 2 ? b.low : b.high, &corner))
      return of_dtype(t);
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
        return of_dtype(t);
      return within(t, x);
    case NXG_sub:
      if (__builtin_sub_overflow(a.low, b.high, &x.low) ||
          __builtin_sub_overflow(a.high, b.low, &x.high))
        return of_dtype(t);
      return within(t, x);
    case NXG_mul: return of_product(t, a, b);
    case NXG_min: return (nxg_interval){least(a.low, b.low), least(a.high, b.high)};
    case NXG_max: return (nxg_interval){largest(a.low, b.low), largest(a.high, b.high)};
    case NXG_floor_mod: /* of the divisor's sign */
      return b.low > 0 ? (nxg_interval){0, b.high - 1} : of_dtype(t);
    case NXG_mod: /* of the dividend's */
      if (b.low <= 0) return of_dtype(t);
      return (nxg_interval){a.low >= 0 ? 0 : 1 - b.high, b.high - 1};
    case NXG_and:
      if (a.low < 0 && b.low < 0) return of_dtype(t);
      return (nxg_interval){0, a.low < 0 ? b.high : b.low < 0 ? a.high : least(a.high, b.high)};
    default: return of_dtype(t);
  }
}

/* Operations that give some elements of their operands from `first` on. */
static nxg_interval of_moved(const nxg_node *n, const nxg_interval *known, uint32_t first,
                             uint32_t end) {
  nxg_interval x = known[n->args[first]];
  for (uint32_t i = first + 1; i < end; i++) x = join(x, known[n->args[i]]);
  return x;
}

/* Of integers but u64, and of bool. */
static nxg_interval of_node(const nxg_graph *g, const nxg_node *n, const nxg_interval *known) {
  nx_dtype t = (nx_dtype)n->dtype;
  switch (n->op) {
    case NXG_full:
      return n->attrs[1] < 0 ? (nxg_interval){number_of(t, n->attrs[0]), number_of(t, n->attrs[0])}
                             : of_dtype(t);
    case NXG_arange: return t == NX_BOOL ? of_dtype(t) : of_arange(n);
    case NXG_view:
    case NXG_copy:
    case NXG_gather:
    case NXG_sort:
    case NXG_reduce_min:
    case NXG_reduce_max:
      return nxg_node_elements(&g->nodes[n->args[0]]) ? known[n->args[0]] : of_dtype(t);
    case NXG_pad: {
      int64_t x = number_of(t, n->attrs[0]);
      return join(known[n->args[0]], (nxg_interval){x, x});
    }
    case NXG_cat: return of_moved(n, known, 0, n->n_args);
    case NXG_where: return of_moved(n, known, 1, 3);
    case NXG_argmax:
    case NXG_argmin:
    case NXG_argsort: {
      int64_t extent = g->nodes[n->args[0]].shape[n->attrs[0]];
      return within(t, (nxg_interval){0, largest(extent - 1, 0)});
    }
    case NXG_cast:
      return g->nodes[n->args[0]].dtype == NX_U64 ? of_dtype(t) : within(t, known[n->args[0]]);
    default:
      return n->n_args == 2 ? of_binary(n, known[n->args[0]], known[n->args[1]]) : of_dtype(t);
  }
}

nxg_interval *nxg_index_ranges(const nxg_graph *g) {
  nxg_interval *known = nxi_calloc(g->n_nodes ? g->n_nodes : 1, sizeof *known);
  for (uint32_t i = 0; known != NULL && i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    nx_dtype t = (nx_dtype)n->dtype;
    bool narrowed = (nxi_is_integer(t) && t != NX_U64) || t == NX_BOOL;
    known[i] = narrowed ? of_node(g, n, known) : of_dtype(t);
  }
  return known;
}
