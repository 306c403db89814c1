/* SPDX-License-Identifier: ISC */
/* Masks of attention: comparisons of sums of rows, columns and constants, joined by and, or and
 * not, are known as bounds of column - row; one condition beside them is read from memory. */
#include "attention_mask.h"

#include <string.h>

#include "ir/library/library.h"

enum { DEPTH = 12, FAR = NXG_ATTENTION_FAR };

/* Integers that are sums of a node's indices times coefficients. */
typedef struct line {
  int32_t rank;
  int64_t per[NXG_MAX_RANK], at;
} line;

bool nxp_full_bits(const nxg_graph *g, uint32_t node, int64_t *bits) {
  while (g->nodes[node].op == NXG_view) node = g->nodes[node].args[0];
  const nxg_node *n = &g->nodes[node];
  if (n->op != NXG_full || (n->n_attrs > 1 && n->attrs[1] != -1)) return false;
  *bits = n->attrs[0];
  return true;
}

/* Whether all its numbers are small, so that nothing wraps. */
static bool is_small(const nxg_node *n, const line *x) {
  int64_t low = x->at, high = x->at;
  for (int32_t i = 0; i < x->rank; i++) {
    int64_t reach;
    if (n->shape[i] >= FAR || x->per[i] > FAR || x->per[i] < -FAR) return false;
    reach = x->per[i] * (n->shape[i] - 1);
    *(reach < 0 ? &low : &high) += reach;
  }
  return low > -FAR && high < FAR;
}

static bool line_of(const nxg_graph *g, uint32_t node, int depth, line *out);

/* Along which axis of its operand each axis of a view moves. */
static bool line_of_view(const nxg_graph *g, uint32_t node, int depth, line *out) {
  const nxg_node *of = &g->nodes[g->nodes[node].args[0]];
  int64_t strides[NXG_MAX_RANK], from[NXG_MAX_RANK] = {0};
  line x;
  nxg_view v;
  if (!line_of(g, g->nodes[node].args[0], depth, &x)) return false;
  nxg_node_view(g, node, &v);
  nxg_contiguous_strides(of->rank, of->shape, strides);
  out->at = x.at;
  int64_t offset = v.offset;
  for (int32_t a = 0; a < of->rank; a++) {
    from[a] = offset / strides[a];
    offset %= strides[a];
    out->at += x.per[a] * from[a];
  }
  for (int32_t i = 0; i < v.rank; i++) {
    if (v.shape[i] == 1 || v.strides[i] == 0) continue;
    int32_t a = 0;
    while (a < of->rank && (of->shape[a] == 1 || strides[a] > v.strides[i])) a++;
    if (v.strides[i] < 0 || a == of->rank || v.strides[i] % strides[a] != 0) return false;
    const int64_t step = v.strides[i] / strides[a];
    from[a] += step * (v.shape[i] - 1);
    out->per[i] = step * x.per[a];
  }
  for (int32_t a = 0; a < of->rank; a++)
    if (from[a] >= of->shape[a]) return false;
  return true;
}

static bool add(const nxg_graph *g, const nxg_node *n, int depth, int64_t sign, line *out) {
  line y;
  if (!line_of(g, n->args[0], depth, out) || !line_of(g, n->args[1], depth, &y)) return false;
  for (int32_t i = 0; i < out->rank; i++) out->per[i] += sign * y.per[i];
  out->at += sign * y.at;
  return true;
}

static bool line_of(const nxg_graph *g, uint32_t node, int depth, line *out) {
  const nxg_node *n = &g->nodes[node];
  const nx_dtype t = (nx_dtype)n->dtype;
  bool good = t == NX_I32 || t == NX_I64;
  *out = (line){.rank = n->rank};
  if (!good || depth == 0 || nxg_node_elements(n) == 0) return false;
  switch ((nxg_op)n->op) {
    case NXG_full: good = nxp_full_bits(g, node, &out->at); break;
    case NXG_arange:
      out->at = (int64_t)nxi_cast_bits((uint64_t)n->attrs[0], t, NX_I64);
      out->per[n->rank - 1] = (int64_t)nxi_cast_bits((uint64_t)n->attrs[1], t, NX_I64);
      break;
    case NXG_view: good = line_of_view(g, node, depth - 1, out); break;
    case NXG_cast: good = line_of(g, n->args[0], depth - 1, out); break;
    case NXG_add: good = add(g, n, depth - 1, 1, out); break;
    case NXG_sub: good = add(g, n, depth - 1, -1, out); break;
    default: good = false;
  }
  if (good && n->op == NXG_full) out->at = (int64_t)nxi_cast_bits((uint64_t)out->at, t, NX_I64);
  return good && is_small(n, out);
}

/* Bounds of column - row; rows are an axis, so far before the end, 0: not known yet. */
typedef struct bound {
  int64_t least, most;
  int32_t from_end;
} bound;

/* Bounds where a comparison is what is wanted. */
static bool compare(const nxg_graph *g, const nxg_node *n, bool wanted, bound *b) {
  line x, y;
  if (n->rank < 2 || !line_of(g, n->args[0], DEPTH, &x) || !line_of(g, n->args[1], DEPTH, &y))
    return false;
  const int32_t last = (int32_t)n->rank - 1;
  int32_t axis = -1;
  for (int32_t i = 0; i < n->rank; i++) x.per[i] -= y.per[i];
  x.at -= y.at;
  for (int32_t i = 0; i < last; i++) {
    if (x.per[i] == 0 || n->shape[i] == 1) continue;
    if (axis >= 0) return false;
    axis = i;
  }
  const int64_t column = x.per[last];
  if (axis < 0 || column * x.per[axis] != -1) return false;
  /* x.at + column (column - row) is below 0, or below 1 */
  const int64_t bound = n->op == NXG_cmple ? 1 : 0;
  const bool below = wanted == (column == 1);
  const int64_t edge = column == 1 ? bound - x.at : x.at - bound;
  /* column == 1: column - row < edge, or not; otherwise column - row > edge, or not */
  if (below) b->most = column == 1 ? edge - 1 : edge;
  else b->least = column == 1 ? edge : edge + 1;
  b->from_end = last + 1 - axis;
  return true;
}

/* Which axis of a view moves along the rows of its operand, an axis before the end; all others but
 * the last one, which are the columns, move along none of these. 0: it is no such view. */
static int32_t rows_behind(const nxg_graph *g, uint32_t node, int32_t from_end) {
  const nxg_node *of = &g->nodes[g->nodes[node].args[0]];
  const int32_t b = (int32_t)of->rank - from_end;
  int64_t dense[NXG_MAX_RANK], reach;
  nxg_view v;
  nxg_node_view(g, node, &v);
  nxg_contiguous_strides(of->rank, of->shape, dense);
  const int64_t columns = of->shape[of->rank - 1], step = dense[b], all = step * of->shape[b];
  if (v.offset != 0 || v.rank < 2 || v.shape[v.rank - 1] != columns ||
      (columns != 1 && v.strides[v.rank - 1] != 1))
    return 0;
  int32_t axis = -1;
  reach = columns; /* of what moves within a row */
  for (int32_t i = 0; i < v.rank - 1; i++) {
    const int64_t stride = v.strides[i];
    if (v.shape[i] == 1 || stride == 0 || (stride > 0 && stride % all == 0)) continue;
    if (stride == step && v.shape[i] == of->shape[b] && axis < 0) {
      axis = i;
    } else if (stride > 0 && stride < step && stride % columns == 0) {
      reach += stride * (v.shape[i] - 1);
    } else {
      return 0;
    }
  }
  return axis < 0 || reach > step ? 0 : v.rank - axis;
}

/* Narrows bounds to where a node has that value. */
static bool bounds(const nxg_graph *g, uint32_t node, bool wanted, int depth, bound *b) {
  const nxg_node *n = &g->nodes[node];
  bound own = {-FAR, FAR, 0};
  if (depth == 0 || n->dtype != NX_BOOL) return false;
  if (n->op == NXG_not) return bounds(g, n->args[0], !wanted, depth - 1, b);
  if (n->op == (wanted ? NXG_and : NXG_or))
    return bounds(g, n->args[0], wanted, depth - 1, b) &&
           bounds(g, n->args[1], wanted, depth - 1, b);
  if (n->op == NXG_view) { /* the same for all batches */
    if (!bounds(g, n->args[0], wanted, depth - 1, &own)) return false;
    own.from_end = rows_behind(g, node, own.from_end);
  } else if ((n->op != NXG_cmplt && n->op != NXG_cmple) || !compare(g, n, wanted, &own)) {
    return false;
  }
  if (own.from_end == 0 || (b->from_end != 0 && b->from_end != own.from_end)) return false;
  b->from_end = own.from_end;
  if (own.least > b->least) b->least = own.least;
  if (own.most < b->most) b->most = own.most;
  return b->least >= -FAR && b->most <= FAR;
}

/* Whether a view only repeats its operand along axes of one element, or new ones in front. */
static bool repeats(const nxg_graph *g, uint32_t node) {
  const nxg_node *of = &g->nodes[g->nodes[node].args[0]];
  int64_t step = 1;
  nxg_view v;
  nxg_node_view(g, node, &v);
  const int32_t more = v.rank - of->rank;
  bool good = v.offset == 0 && more >= 0;
  for (int32_t i = v.rank - 1; good && i >= 0; i--) {
    const int64_t extent = i < more ? 1 : of->shape[i - more];
    good = extent == 1 ? v.shape[i] == 1 || v.strides[i] == 0
                       : v.shape[i] == extent && v.strides[i] == step;
    step *= extent;
  }
  return good;
}

/* Divides where a node has that value into bounds and one other condition. */
static bool divide(const nxg_graph *g, uint32_t node, bool wanted, int depth, nxp_hidden *h) {
  const nxg_node *n = &g->nodes[node];
  bound b = {h->least, h->most, h->from_end};
  if (bounds(g, node, wanted, DEPTH, &b)) {
    h->least = b.least, h->most = b.most, h->from_end = b.from_end;
    return true;
  }
  if (depth > 0 && n->op == NXG_not) return divide(g, n->args[0], !wanted, depth - 1, h);
  if (depth > 0 && n->op == (wanted ? NXG_and : NXG_or))
    return divide(g, n->args[0], wanted, depth - 1, h) &&
           divide(g, n->args[1], wanted, depth - 1, h);
  if (h->condition != UINT32_MAX) return false;
  h->condition = node, h->hides = !wanted;
  return true;
}

static const nxp_hidden nothing = {
    .fill = -1, .least = -FAR, .most = FAR, .condition = UINT32_MAX, .through = UINT32_MAX};

/* All of a condition is one, if its parts are several. */
static void divide_all(const nxg_graph *g, uint32_t node, bool wanted, nxp_hidden *out) {
  *out = nothing;
  if (g->nodes[node].op == NXG_view && repeats(g, node)) out->through = node;
  const uint32_t inner = out->through == UINT32_MAX ? node : g->nodes[node].args[0];
  if (divide(g, inner, wanted, DEPTH, out)) return;
  *out = nothing;
  out->condition = node, out->hides = !wanted;
}

uint32_t nxp_hidden_scores(const nxg_graph *g, uint32_t node, nxp_hidden *out) {
  const nxg_node *n = &g->nodes[node];
  *out = nothing;
  if (n->op != NXG_where) return node;
  for (int i = 1; i <= 2; i++) {
    int64_t bits;
    if (!nxp_full_bits(g, n->args[i], &bits)) continue;
    divide_all(g, n->args[0], i == 2, out);
    out->fill = bits;
    return n->args[3 - i];
  }
  return node;
}
