/* SPDX-License-Identifier: ISC */
/* Combiners that keep the best of values, and its place on the axis: the larger (or smaller) value
 * goes on with its place, of equal ones the first, of NaNs the first. That is an argmax of the
 * library. Whether a combiner does it is found by evaluating it on symbols (left, right, true,
 * false) for each way in which two values can be related, so it does not matter how it is
 * written. */
#include <string.h>

#include "body.h"
#include "runtime/record/objects.h"

/* ---- symbols */

typedef enum symbol { UNKNOWN, NO, YES, LEFT_VALUE, RIGHT_VALUE, LEFT_PLACE, RIGHT_PLACE } symbol;

/* How the values of the two sides are related; the left place is below the right one. */
typedef enum relation { LESS, GREATER, EQUAL, LEFT_NAN, RIGHT_NAN, BOTH_NAN, RELATIONS } relation;

static bool is_value(symbol x) { return x == LEFT_VALUE || x == RIGHT_VALUE; }
static bool is_place(symbol x) { return x == LEFT_PLACE || x == RIGHT_PLACE; }
static bool is_truth(symbol x) { return x == NO || x == YES; }
static symbol truth(bool x) { return x ? YES : NO; }

static bool is_nan(symbol x, relation r) {
  return r == BOTH_NAN || (x == LEFT_VALUE && r == LEFT_NAN) ||
         (x == RIGHT_VALUE && r == RIGHT_NAN);
}

static bool is_less(symbol x, symbol y, relation r) {
  if (is_place(x)) return x == LEFT_PLACE && y == RIGHT_PLACE;
  return (x == LEFT_VALUE && y == RIGHT_VALUE && r == LESS) ||
         (x == RIGHT_VALUE && y == LEFT_VALUE && r == GREATER);
}

static bool is_equal(symbol x, symbol y, relation r) {
  if (is_place(x)) return x == y;
  return !is_nan(x, r) && !is_nan(y, r) && (x == y || r == EQUAL);
}

static symbol compared(nxg_op op, symbol x, symbol y, relation r) {
  if (!(is_value(x) && is_value(y)) && !(is_place(x) && is_place(y))) return UNKNOWN;
  switch (op) {
    case NXG_cmplt: return truth(is_less(x, y, r));
    case NXG_cmple: return truth(is_less(x, y, r) || is_equal(x, y, r));
    case NXG_cmpeq: return truth(is_equal(x, y, r));
    default: return truth(!is_equal(x, y, r));
  }
}

static symbol better(bool max, symbol x, symbol y, relation r) {
  if (!(is_value(x) && is_value(y)) && !(is_place(x) && is_place(y))) return UNKNOWN;
  if (is_value(x) && is_nan(x, r)) return x;
  if (is_value(x) && is_nan(y, r)) return y;
  return is_less(x, y, r) == max ? y : x;
}

static symbol combined(nxg_op op, symbol x, symbol y) {
  if (op == NXG_and && (x == NO || y == NO)) return NO;
  if (op == NXG_or && (x == YES || y == YES)) return YES;
  if (!is_truth(x) || !is_truth(y)) return UNKNOWN;
  return op == NXG_xor ? truth(x != y) : op == NXG_and ? YES : NO;
}

static symbol symbol_of(const nxg_node *n, const symbol *at, relation r) {
  symbol x = n->n_args > 0 ? at[n->args[0]] : UNKNOWN, y = n->n_args > 1 ? at[n->args[1]] : UNKNOWN;
  switch ((int)n->op) {
    case NXG_view:
    case NXG_copy: return x;
    case NXG_cmplt:
    case NXG_cmple:
    case NXG_cmpeq:
    case NXG_cmpne: return compared((nxg_op)n->op, x, y, r);
    case NXG_max:
    case NXG_min: return better(n->op == NXG_max, x, y, r);
    case NXG_and:
    case NXG_or:
    case NXG_xor: return n->dtype == NX_BOOL ? combined((nxg_op)n->op, x, y) : UNKNOWN;
    case NXG_not: return is_truth(x) ? truth(x == NO) : UNKNOWN;
    case NXG_where: {
      symbol z = at[n->args[2]];
      return x == YES ? y : x == NO || y == z ? z : UNKNOWN;
    }
    default: return UNKNOWN;
  }
}

/* ---- the place of the best */

/* The symbols of both results for a relation; v: which operand has the values. */
static void evaluate(const nx_function *f, uint32_t v, relation r, symbol *at, symbol out[2]) {
  const nxg_graph *g = f->graph;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    if (n->op != NXG_input) at[i] = symbol_of(n, at, r);
    else if (n->attrs[0] >= 4) at[i] = UNKNOWN;
    else at[i] = (symbol)((n->attrs[0] % 2 == v ? LEFT_VALUE : LEFT_PLACE) + n->attrs[0] / 2);
  }
  out[0] = at[g->outputs[v].node];
  out[1] = at[g->outputs[1 - v].node];
}

/* Whether the left side goes on; of both results the value may be either of equal ones, or of
 * NaNs. */
static bool goes_on(const symbol out[2], relation r, bool left) {
  bool either = r == EQUAL || r == BOTH_NAN;
  return out[1] == (left ? LEFT_PLACE : RIGHT_PLACE) &&
         (either ? is_value(out[0]) : out[0] == (left ? LEFT_VALUE : RIGHT_VALUE));
}

static bool keeps_best(const nx_function *f, uint32_t v, bool max, symbol *at) {
  nx_dtype dtype = (nx_dtype)f->graph->nodes[f->graph->inputs[v].node].dtype;
  for (int r = 0; r < (nxi_is_float(dtype) ? RELATIONS : LEFT_NAN); r++) {
    symbol out[2];
    bool left = r == EQUAL || r == LEFT_NAN || r == BOTH_NAN || r == (max ? GREATER : LESS);
    evaluate(f, v, (relation)r, at, out);
    if (!goes_on(out, (relation)r, left)) return false;
  }
  return true;
}

/* ---- numbers that count along an axis */

static int64_t largest(uint32_t t) {
  int bits = nxi_dtypes[t].bits - (nxi_dtype_class((nx_dtype)t) == NXI_INT);
  return bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
}

/* Whether a view of an arange is start, start + step, .. along the axis and the same along all
 * others; no number is above `most`. */
static bool counts(nxi_node *n, const nxg_view *v, int32_t axis, int64_t most, int64_t *start,
                   int64_t *step) {
  const int64_t *attrs = nxi_node_attrs(n);
  if (n->op != NXG_arange) return false;
  for (int32_t i = 0; i < v->rank; i++)
    if (i != axis && v->shape[i] != 1 && v->strides[i] != 0) return false;
  int64_t last, more = v->shape[axis] == 1 ? 1 : v->strides[axis];
  return attrs[0] >= 0 && attrs[1] > 0 && more > 0 &&
         !__builtin_mul_overflow(attrs[1], v->offset, start) &&
         !__builtin_add_overflow(*start, attrs[0], start) &&
         !__builtin_mul_overflow(attrs[1], more, step) &&
         !__builtin_mul_overflow(*step, v->shape[axis] - 1, &last) &&
         !__builtin_add_overflow(last, *start, &last) && last <= most;
}

/* Goes through views, copies and conversions between integers to what has the elements first. */
static bool find_count(nxi_node *n, nxg_view *v, int32_t axis, int64_t *start, int64_t *step) {
  bool whole = true; /* v is all of n in C order */
  int64_t most = INT64_MAX;
  while (n->n_args == 1 && nxi_is_integer(n->dtype)) {
    if (n->op == NXG_view && whole) {
      v->offset = nxi_node_attrs(n)[0];
      memcpy(v->strides, nxi_node_attrs(n) + 1, (size_t)v->rank * sizeof *v->strides);
      whole = false;
    } else if (n->op != NXG_copy && n->op != NXG_cast) {
      return false;
    }
    if (largest(n->dtype) < most) most = largest(n->dtype);
    n = nxi_node_args(n)[0];
  }
  return nxi_is_integer(n->dtype) &&
         counts(n, v, axis, most < largest(n->dtype) ? most : largest(n->dtype), start, step);
}

static bool is_count(nx_tensor *t, int32_t axis, int64_t *start, int64_t *step) {
  nx_context *c = t->context;
  nxi_operand o = nxi_operand_of(t);
  nxg_view v;
  nxg_view_contiguous(&v, t->rank, nxi_shape(t));
  nxi_record_lock(c);
  nxi_node *n = nxi_operand_node(c, &o);
  bool is = n && find_count(n, &v, axis, start, step);
  if (n) nxi_node_unref(c, n);
  nxi_record_unlock(c);
  return is;
}

/* ---- recording it */

typedef struct place {
  uint32_t value; /* which operand has the values */
  int32_t axis;
  bool max;
  int64_t start, step; /* the other operand along the axis */
} place;

static bool find_place(const nxi_by *by, const int32_t *axes, size_t n, place *out) {
  if (by->k != 2 || n != 1) return false;
  out->axis = axes[0] < 0 ? axes[0] + by->x[0]->rank : axes[0];
  symbol *at = nxi_calloc(by->f->graph->n_nodes, sizeof *at);
  bool found = false;
  for (uint32_t v = 0; at && v < 2 && !found; v++) {
    out->value = v;
    if (nxi_is_complex(by->x[v]->storage->dtype)) continue;
    out->max = keeps_best(by->f, v, true, at);
    found = (out->max || keeps_best(by->f, v, false, at)) &&
            nxi_shape(by->x[v])[out->axis] <= INT32_MAX &&
            is_count(by->x[1 - v], out->axis, &out->start, &out->step);
  }
  nxi_free(at);
  return found;
}

/* Whether combining with init changes nothing: a value that none is worse than, at the place of the
 * first element, which is that of elements that are all as bad. */
static bool is_neutral(const nxi_by *by, const place *p) {
  uint64_t value[2], number[2];
  nx_tensor *best = by->init[p->value], *at = by->init[1 - p->value];
  return nxi_constant_of(best, value) && nxi_constant_of(at, number) &&
         value[0] == nxk_reduce_identity(p->max ? NXK_MAX : NXK_MIN, best->storage->dtype) &&
         (int64_t)number[0] == p->start;
}

static bool record_place(const nxi_by *by, const place *p, nxi_row *x) {
  uint32_t v = p->value;
  nx_tensor *of = x->at[v],
            *at = (p->max ? nx_reduce_argmax : nx_reduce_argmin)(of, p->axis, NX_KEEPDIMS, NX_I32);
  x->at[v] = (p->max ? nx_reduce_max : nx_reduce_min)(of, &p->axis, 1, NX_KEEPDIMS);
  if (at) at = nx_cast(at, by->x[1 - v]->storage->dtype);
  if (at && p->step != 1) at = nx_binary_i64(at, NX_BINARY_MUL, p->step);
  if (at && p->start) at = nx_binary_i64(at, NX_BINARY_ADD, p->start);
  x->at[1 - v] = at;
  return x->at[0] && x->at[1];
}

nxi_known nxi_reduce_place(const nxi_by *by, const int32_t *axes, size_t n, nxi_row *x) {
  place p = {0};
  if (!find_place(by, axes, n, &p)) return NXI_KNOWN_NOT;
  if (!record_place(by, &p, x)) return NXI_KNOWN_FAILED;
  return is_neutral(by, &p) ? NXI_KNOWN_COMPLETE : NXI_KNOWN_REDUCED;
}
