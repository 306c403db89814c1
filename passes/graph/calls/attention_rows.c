/* SPDX-License-Identifier: ISC */
/* Rows of a softmax through views. Where heads share keys, a frontend may multiply rows of
 * positions and heads by keys, and put heads before positions for the softmax and the values. */
#include "attention_rows.h"

#include "attention_sides.h"

enum { UNITS = 2 };

bool nxp_all_rows(const nxg_node *n, nxp_rows *rows) {
  int64_t shape[NXG_MAX_RANK];
  const int32_t axes = (int32_t)n->rank - 1;
  if (axes < 0 || axes > NXG_MAX_RANK - UNITS) return false;
  for (int32_t i = 0; i < axes; i++) shape[i] = n->shape[i];
  for (int32_t i = 0; i < UNITS; i++) shape[axes + i] = 1;
  nxg_view_contiguous(rows, axes + UNITS, shape);
  return true;
}

/* Whether a view has as many elements as its strides reach, each once. */
static bool is_order(const nxg_view *v) {
  int64_t step = 1;
  for (int32_t i = 0; i < v->rank; i++)
    if (v->shape[i] > 1 && v->strides[i] == step) step *= v->shape[i], i = -1;
  return step == nxg_elements(v->rank, v->shape);
}

/* Whether a node is a copy, or a view that moves rows as wholes, or single elements if each is a
 * row's. rows: those that are meant become rows of its operand; NULL: they are not asked for. */
static bool moves_rows(const nxg_graph *g, uint32_t node, bool values, nxp_rows *rows) {
  const nxg_node *n = &g->nodes[node];
  nxg_view v;
  if (n->op != NXG_view) return n->op == NXG_copy;
  const nxg_node *of = &g->nodes[n->args[0]];
  nxg_node_view(g, node, &v);
  if (v.offset != 0 || nxg_node_elements(n) != nxg_node_elements(of)) return false;
  if (!values) {
    if (v.rank == 0 || of->rank == 0) return false;
    const int64_t columns = v.shape[--v.rank];
    if (of->shape[of->rank - 1] != columns || (columns != 1 && v.strides[v.rank] != 1))
      return false;
    for (int32_t i = 0; i < v.rank; i++) {
      if (v.shape[i] != 1 && v.strides[i] % columns != 0) return false;
      v.strides[i] /= columns;
    }
  }
  return is_order(&v) && (rows == NULL || nxp_see_through(&v, rows));
}

uint32_t nxp_follow_rows(const nxg_graph *g, uint32_t node, nxp_rows *rows) {
  while (moves_rows(g, node, false, rows)) node = g->nodes[node].args[0];
  return node;
}

uint32_t nxp_follow_values(const nxg_graph *g, uint32_t node, nxp_rows *rows) {
  while (moves_rows(g, node, true, rows)) node = g->nodes[node].args[0];
  return node;
}

uint32_t nxp_all_elements_of(const nxg_graph *g, uint32_t node) {
  return nxp_follow_values(g, node, NULL);
}

uint32_t nxp_repeated_values(const nxg_graph *g, uint32_t node, nxp_rows *rows) {
  const nxg_node *n = &g->nodes[node];
  nxg_view v;
  if (n->op != NXG_view || n->rank == 0) return UINT32_MAX;
  nxg_node_view(g, node, &v);
  const int32_t last = --v.rank;
  const bool good = v.offset == 0 && (v.strides[last] == 0 || v.shape[last] == 1) &&
                    nxg_elements(v.rank, v.shape) == nxg_node_elements(&g->nodes[n->args[0]]) &&
                    is_order(&v) && nxp_see_through(&v, rows);
  return good ? nxp_follow_values(g, n->args[0], rows) : UINT32_MAX;
}

/* Joins axes that go on where the next ones end. */
static void join(const nxp_rows *rows, nxg_view *out) {
  out->rank = 0;
  for (int32_t i = 0; i < rows->rank; i++) {
    const int64_t extent = rows->shape[i], stride = rows->strides[i];
    const int32_t last = out->rank - 1;
    if (extent == 1) continue;
    if (last >= 0 && out->strides[last] == stride * extent) {
      out->shape[last] *= extent, out->strides[last] = stride;
    } else {
      out->shape[out->rank] = extent, out->strides[out->rank++] = stride;
    }
  }
}

bool nxp_same_rows(const nxp_rows *a, const nxp_rows *b) {
  nxg_view x, y;
  join(a, &x);
  join(b, &y);
  return a->offset == b->offset && nxg_same_shape(x.rank, x.shape, y.rank, y.shape) &&
         nxg_same_shape(x.rank, x.strides, y.rank, y.strides);
}

uint32_t nxp_follow_columns(const nxg_graph *g, uint32_t node, nxp_rows *rows) {
  const nxg_node *n = &g->nodes[node];
  nxg_view v;
  if (n->op != NXG_view || n->rank < 2) return node;
  const nxg_node *of = &g->nodes[n->args[0]];
  nxg_node_view(g, node, &v);
  if (of->op != NXG_matmul || v.offset != 0 || nxg_node_elements(n) != nxg_node_elements(of))
    return node;
  const int64_t length = of->shape[of->rank - 2], columns = of->shape[of->rank - 1];
  const int32_t last = v.rank - 1;
  if (!is_order(&v) || v.shape[last] != length || v.strides[last] != columns) return node;
  v.rank = last;
  for (int32_t i = 0; i < last; i++) {
    if (v.shape[i] == 1 || v.strides[i] < columns) continue;
    if (v.strides[i] % (length * columns) != 0) return node;
    v.strides[i] /= length;
  }
  return nxp_see_through(&v, rows) ? n->args[0] : node;
}

bool nxp_cut_rows(nxp_rows *rows, int64_t matrix) {
  for (int32_t i = 0; i < rows->rank; i++) {
    const int64_t extent = rows->shape[i], stride = rows->strides[i];
    if (extent == 1 || stride * extent <= matrix || stride % matrix == 0) continue;
    const int64_t inside = matrix / stride;
    if (matrix % stride != 0 || extent % inside != 0 || rows->rank == NXG_MAX_RANK) return false;
    for (int32_t k = rows->rank++; k > i; k--) {
      rows->shape[k] = rows->shape[k - 1];
      rows->strides[k] = rows->strides[k - 1];
    }
    rows->shape[i] = extent / inside, rows->strides[i] = matrix;
    rows->shape[++i] = inside;
  }
  return true;
}

void nxp_view_rows(const nxp_rows *rows, int64_t columns, nxg_view *v) {
  *v = (nxg_view){.rank = rows->rank - UNITS + 1, .offset = rows->offset * columns};
  for (int32_t i = 0; i < v->rank - 1; i++) {
    v->shape[i] = rows->shape[i];
    v->strides[i] = rows->strides[i] * columns;
  }
  v->shape[v->rank - 1] = columns, v->strides[v->rank - 1] = 1;
}

/* Puts an axis at the end, which is the first one so far. */
static void append(nxg_view *v, int64_t extent, int64_t stride) {
  v->shape[v->rank] = extent, v->strides[v->rank++] = stride;
}

bool nxp_bring_axis(nxg_view *v, int32_t rest, int64_t step, int64_t extent) {
  const int32_t end = v->rank - rest, most = NXG_MAX_RANK - 1 - rest;
  nxg_view others = {0}, all = {.offset = v->offset}; /* others: from the last one on */
  int64_t before = 1, first = 1,
          next = 0; /* strides of the axis, and of what would go on with it */
  for (int32_t i = end; i-- > 0;) {
    int64_t stride = v->strides[i];
    if (v->shape[i] == 0) return false;
    for (int64_t left = v->shape[i], part; left > 1; left /= part, stride *= part) {
      const bool inside = before >= step && before < step * extent;
      const int64_t limit = before < step ? step : inside ? step * extent : before * left;
      part = before * left <= limit ? left : limit / before;
      if (limit % before != 0 || left % part != 0 || (inside && next != 0 && next != stride) ||
          others.rank == most)
        return false;
      if (!inside) append(&others, part, stride);
      else if (next == 0) first = stride;
      if (inside) next = stride * part;
      before *= part;
    }
  }
  if (before < step * extent) return false;
  for (int32_t i = others.rank; i-- > 0;) append(&all, others.shape[i], others.strides[i]);
  append(&all, extent, first);
  for (int32_t i = end; i < v->rank; i++) append(&all, v->shape[i], v->strides[i]);
  *v = all;
  return true;
}

void nxp_turn_round(const nxg_view *v, nxg_view *out) {
  int64_t dense[NXG_MAX_RANK];
  bool taken[NXG_MAX_RANK] = {false};
  nxg_contiguous_strides(v->rank, v->shape, dense);
  *out = (nxg_view){0};
  while (out->rank < v->rank) { /* axes by how far apart they are */
    int32_t far = -1;
    for (int32_t i = 0; i < v->rank; i++)
      if (!taken[i] && (far < 0 || v->strides[i] > v->strides[far])) far = i;
    taken[far] = true;
    append(out, v->shape[far], dense[far]);
  }
}

bool nxp_order_behind(const nxg_graph *g, uint32_t node, uint32_t of, nxg_view *v) {
  nxg_view own, back;
  if (node == of) return true;
  if (!nxp_order_behind(g, g->nodes[node].args[0], of, v)) return false;
  if (g->nodes[node].op != NXG_view) return true;
  nxg_node_view(g, node, &own);
  nxp_turn_round(&own, &back);
  return nxp_see_through(&back, v);
}
