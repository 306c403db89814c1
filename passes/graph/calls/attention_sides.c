/* SPDX-License-Identifier: ISC */
/* Operands of attention as views, behind casts and copies. A copy that turns an operand so that a
 * product of matrices can read it is needless where kernels read heads and rows at any distance. */
#include "attention_sides.h"

#include <string.h>

enum { CHAIN = 12 };

/* Puts an axis in front of those that are there; one that goes on where the first one ends is a
 * part of it, if the two may be one. */
static bool put_axis(nxg_view *v, int32_t least, int64_t extent, int64_t stride) {
  if (v->rank > least && v->strides[0] * v->shape[0] == stride) {
    v->shape[0] *= extent;
    return true;
  }
  if (v->rank == NXG_MAX_RANK) return false;
  memmove(v->shape + 1, v->shape, (size_t)v->rank * sizeof *v->shape);
  memmove(v->strides + 1, v->strides, (size_t)v->rank * sizeof *v->strides);
  v->shape[0] = extent, v->strides[0] = stride;
  v->rank++;
  return true;
}

/* Puts an axis of a view of dense elements in front, as axes of `inner`, whose elements these are.
 * at: how far each of inner's axes is moved along. */
static bool put_through(const nxg_view *inner, const int64_t *dense, int64_t extent, int64_t stride,
                        int64_t *at, nxg_view *out) {
  const int32_t least = out->rank;
  if (extent == 1 || stride == 0) return put_axis(out, NXG_MAX_RANK, extent, 0);
  int32_t a = 0;
  while (a < inner->rank && (inner->shape[a] == 1 || dense[a] > stride)) a++;
  if (stride < 0 || a == inner->rank || stride % dense[a] != 0) return false;
  for (int64_t step = stride / dense[a], rest = extent; rest > 1; step = 1) {
    if (a < 0) return false;
    const int64_t inside = inner->shape[a] / step;
    const bool last = step * (rest - 1) < inner->shape[a];
    const int64_t own = last ? rest : inside;
    if (!last && (inner->shape[a] % step != 0 || rest % inside != 0)) return false;
    at[a] += step * (own - 1);
    if (own > 1 && !put_axis(out, least, own, step * inner->strides[a])) return false;
    rest /= own;
    a--;
  }
  return true;
}

bool nxp_see_through(const nxg_view *inner, nxg_view *v) {
  int64_t dense[NXG_MAX_RANK], at[NXG_MAX_RANK] = {0};
  nxg_view out = {.offset = inner->offset};
  int64_t offset = v->offset;
  nxg_contiguous_strides(inner->rank, inner->shape, dense);
  for (int32_t a = 0; a < inner->rank; a++) {
    at[a] = offset / dense[a];
    offset %= dense[a];
    out.offset += at[a] * inner->strides[a];
  }
  for (int32_t i = v->rank; i-- > 0;) {
    if (!put_through(inner, dense, v->shape[i], v->strides[i], at, &out)) return false;
    if (i == v->rank - 1 && out.rank != 1) return false;
    if (i == v->rank - 2 && out.rank != 2) return false;
  }
  for (int32_t a = 0; a < inner->rank; a++)
    if (at[a] >= inner->shape[a]) return false;
  *v = out;
  return true;
}

/* The operand of a view, of a copy, or of a cast from t to f32; UINT32_MAX: it is none of these. */
static uint32_t before(const nxg_graph *g, uint32_t node, nx_dtype t) {
  const nxg_node *n = &g->nodes[node];
  const bool moves = n->op == NXG_view || n->op == NXG_copy,
             widens = n->op == NXG_cast && n->dtype == NX_F32 && g->nodes[n->args[0]].dtype == t;
  return moves || widens ? n->args[0] : UINT32_MAX;
}

/* Whether all values are numbers of dtype t. */
static bool has_values_of(const nxg_graph *g, uint32_t node, nx_dtype t) {
  for (int i = 0; i < CHAIN && g->nodes[node].dtype != t; i++)
    if ((node = before(g, node, t)) == UINT32_MAX) return false;
  return g->nodes[node].dtype == t;
}

bool nxp_see_side(const nxg_graph *g, uint32_t node, bool copies, nx_dtype t, nxp_side *s) {
  nxg_view inner;
  s->base = node;
  if (!has_values_of(g, node, t)) return false;
  for (int i = 0; i < CHAIN; i++) {
    const nxg_node *n = &g->nodes[s->base];
    const uint32_t from = before(g, s->base, t);
    if (from == UINT32_MAX || (n->op == NXG_copy && !copies)) break;
    if (n->op == NXG_view) nxg_node_view(g, s->base, &inner);
    else nxg_view_contiguous(&inner, (int32_t)n->rank, n->shape);
    if (!nxp_see_through(&inner, &s->v)) break;
    s->base = from;
  }
  s->narrow = g->nodes[s->base].dtype == t;
  return true;
}

/* Whether axes, of which `count` are batches and `split` before heads, are those of a dense
 * array in which heads come before rows, or behind them. */
static bool lies(const nxp_side *s, int32_t count, int32_t split, bool turned) {
  const nxg_view *v = &s->v;
  const int64_t rows = v->shape[v->rank - 2], width = v->shape[v->rank - 1];
  int64_t heads = 1;
  for (int32_t i = split; i < count; i++) heads *= v->shape[i];
  int64_t step = turned ? width : rows * width;
  bool good = v->strides[v->rank - 1] == 1 &&
              (rows == 1 || v->strides[v->rank - 2] == (turned ? heads * width : width));
  for (int32_t i = count; i-- > 0; step *= v->shape[i]) {
    if (i == split - 1) step = heads * rows * width;
    good = good && (v->shape[i] == 1 || v->strides[i] == step);
  }
  return good;
}

int nxp_settle_side(nxp_side *s, int32_t count, int32_t split) {
  const bool plain = lies(s, count, split, false);
  s->turned = !plain && lies(s, count, split, true);
  s->whole = (plain || s->turned) && s->narrow;
  return s->whole ? 0 : 1;
}

bool nxp_refine(nxg_view *like, const nxg_view *v) {
  int32_t i = like->rank - 2, k = v->rank - 2, n = 0;
  int64_t a = 1, b = 1, out[NXG_MAX_RANK];
  for (;;) {
    while (a == 1 && i > 0) a = like->shape[--i];
    while (b == 1 && k > 0) b = v->shape[--k];
    if (a == 1 || b == 1) break;
    const int64_t least = a < b ? a : b;
    if (least == 0 || a % least != 0 || b % least != 0 || n == NXG_MAX_RANK - 2) return false;
    out[n++] = least;
    a /= least, b /= least;
  }
  if (a != b) return false;
  for (int32_t axis = 0; axis < 2; axis++)
    like->shape[n + axis] = like->shape[like->rank - 2 + axis];
  for (int32_t axis = 0; axis < n; axis++) like->shape[axis] = out[n - 1 - axis];
  like->rank = n + 2;
  return true;
}

bool nxp_divide(nxg_view *from, const nxg_view *like) {
  const int32_t count = from->rank - 2, to = like->rank - 2;
  nxg_view v = {.rank = like->rank, .offset = from->offset};
  int32_t end = 0;
  for (int32_t i = 0; i < count; i++) {
    const int32_t begin = end;
    int64_t n = 1, step = from->strides[i];
    while (end < to && n < from->shape[i]) n *= like->shape[end++];
    if (n != from->shape[i]) return false;
    for (int32_t k = end; k-- > begin; step *= like->shape[k]) v.strides[k] = step;
  }
  for (int32_t i = 0; i < to; i++) v.shape[i] = like->shape[i];
  for (int32_t i = 0; i < 2; i++) {
    v.shape[to + i] = from->shape[count + i];
    v.strides[to + i] = from->strides[count + i];
  }
  *from = v;
  return end == to;
}
