/* SPDX-License-Identifier: ISC */
/* Masks of attention in memory: which of their axes are there, seen from the rows of scores. */
#include "attention_memory.h"

#include <string.h>

#include "attention_sides.h"

void nxp_take_mask(const nxg_graph *g, uint32_t node, nxp_mask *m) {
  nxg_view inner, v;
  m->given = true;
  m->base = g->nodes[node].op == NXG_view ? g->nodes[node].args[0] : node;
  nxg_node_view(g, node, &m->v);
  while (g->nodes[m->base].op == NXG_view) { /* what has become a view of a view */
    v = m->v;
    nxg_node_view(g, m->base, &inner);
    if (!nxp_see_through(&inner, &v) || v.rank != m->v.rank) break;
    m->v = v;
    m->base = g->nodes[m->base].args[0];
  }
}

void nxp_take_condition(const nxg_graph *g, const nxp_hidden *h, nxp_mask *m) {
  nxg_view outer;
  if (h->condition == UINT32_MAX) return;
  nxp_take_mask(g, h->condition, m);
  if (h->through == UINT32_MAX || h->through == h->condition) return;
  nxg_node_view(g, h->through, &outer);
  const int32_t more = outer.rank - m->v.rank;
  memmove(m->v.shape + more, m->v.shape, (size_t)m->v.rank * sizeof *m->v.shape);
  memmove(m->v.strides + more, m->v.strides, (size_t)m->v.rank * sizeof *m->v.strides);
  for (int32_t i = 0; i < more; i++) m->v.shape[i] = 1, m->v.strides[i] = 0;
  m->v.rank = outer.rank;
  for (int32_t i = 0; i < outer.rank; i++) {
    if (m->v.shape[i] != outer.shape[i]) m->v.strides[i] = 0;
    m->v.shape[i] = outer.shape[i];
  }
}

/* The extent before the last one that is not 1. */
static int64_t rows_of(const nxg_node *n) {
  int32_t axis = (int32_t)n->rank - 2;
  while (axis > 0 && n->shape[axis] == 1) axis--;
  return axis < 0 ? 1 : n->shape[axis];
}

bool nxp_see_mask(nxp_mask *m, const nxg_node *n, nxp_rows *rows) {
  const int64_t columns = n->shape[n->rank - 1];
  nxg_view v;
  if (!m->given) return true;
  nxp_view_rows(rows, columns, &v);
  bool good = nxp_see_through(&m->v, &v);
  if (!good && nxp_cut_rows(rows, rows_of(n))) {
    nxp_view_rows(rows, columns, &v);
    good = nxp_see_through(&m->v, &v);
  }
  m->v = v;
  return good;
}

/* Whether an axis of a mask has several elements in memory. */
static bool moves(const nxg_view *v, int32_t axis) {
  return v->shape[axis] != 1 && v->strides[axis] != 0;
}

void nxp_kept_view(const nxp_mask *m, int32_t count, int32_t split, nxg_view *v) {
  *v = (nxg_view){.offset = m->v.offset};
  for (int32_t i = 0; i < m->v.rank; i++) {
    if (i < count + 1 && !m->kept[i < split ? 0 : i < count ? 1 : 2]) continue;
    v->shape[v->rank] = m->v.shape[i];
    v->strides[v->rank++] = m->v.strides[i];
  }
}

int nxp_settle_mask(nxp_mask *m, int32_t count, int32_t split) {
  nxg_view v;
  memset(m->kept, 0, sizeof m->kept);
  if (!m->given) return 0;
  for (int32_t i = 0; i < count + 1; i++)
    if (moves(&m->v, i)) m->kept[i < split ? 0 : i < count ? 1 : 2] = true;
  nxp_kept_view(m, count, split, &v);
  m->copied = !nxg_is_in_order(v.rank, v.shape, v.strides);
  return m->copied ? 1 : 0;
}
