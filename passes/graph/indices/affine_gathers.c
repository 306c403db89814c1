/* SPDX-License-Identifier: ISC */
/* Gathers whose indices follow from their position become views of their data: windows, blocks,
 * rows in another order or several times, which programs write as elements at indices that they
 * count, add and multiply, or compute of counts as floats. Such a gather needs no check, since all
 * of its indices are known to be in range, and its elements are read at strides.
 *
 * Indices along one axis that are a few such runs, as those that pad an image by what is inside of
 * it, become views that are joined.
 *
 * Views of such a gather are followed to the data too, because the shape of the gather alone may
 * divide the axes of the windows in a way that no view has. If a product reads the gather, a copy
 * stays between: the layout of an operand decides which of a library's loops runs, and so the bits
 * of the result. Keeps: bits. */
#include "affine.h"
#include "evaluate.h"
#include "index_ranges.h"
#include "passes/graph/rewrite.h"

#include <string.h>

#include "ir/alloc.h"

enum { MOST_RUNS = 4 };

typedef struct gathers {
  nxg_rewrite r;
  const nxg_graph *g;
  nxi_arena arena;
  nxg_interval *known; /* of each old node */
  bool *wanted;        /* whether the integers of an old node decide those of some indices */
  bool *dense;         /* whether a product reads it */
  nxg_affine **number; /* the integers of an old node, NULL: not affine, or not wanted */
  nxg_affine **place;  /* where the elements of an old node are in `base`, NULL: it is no gather of
                          this kind, and no view of one */
  uint32_t *base;      /* new node */
} gathers;

static const nxg_node *node_at(const gathers *p, uint32_t i) { return &p->g->nodes[i]; }

static bool is_gather(const nxg_node *n) {
  return n->op == NXG_gather && n->n_args == 2 && nxg_node_elements(n) > 0;
}

static bool counts(const nxg_node *n) { return nxi_is_integer(n->dtype) && n->dtype != NX_U64; }

static void keep(gathers *p, nxg_affine **to, const nxg_affine *a) {
  *to = nxi_arena_copy(&p->arena, a, sizeof *a);
  p->r.failed = p->r.failed || *to == NULL;
}

/* ---- places in the data */

static void as_view(const nxg_affine *a, nxg_view *v) {
  v->rank = a->rank;
  v->offset = a->offset;
  memcpy(v->shape, a->shape, (size_t)a->rank * sizeof *v->shape);
  memcpy(v->strides, a->strides, (size_t)a->rank * sizeof *v->strides);
}

/* Where the elements of a gather are in its data, if its indices are affine and in range. */
static bool place_of_gather(const gathers *p, const nxg_node *n, nxg_affine *out) {
  const nxg_node *x = node_at(p, n->args[0]);
  const int32_t axis = (int32_t)n->attrs[0];
  int64_t strides[NXG_MAX_RANK], low, high;
  if (p->number[n->args[1]] == NULL) return false;
  nxg_affine index = *p->number[n->args[1]];
  nxg_affine_range(&index, &low, &high);
  if (low < 0 && high < 0 && !nxg_gathers_starts(n)) { /* counted from the end */
    index.offset += x->shape[axis];
    low += x->shape[axis];
    high += x->shape[axis];
  }
  if (low < 0 || high >= x->shape[axis]) return false;
  nxg_contiguous_strides(x->rank, x->shape, strides);
  const int64_t step = strides[axis];
  strides[axis] = 0;
  return nxg_affine_of(n->rank, n->shape, strides, 0, out) &&
         nxg_affine_add(out, &index, step, out);
}

/* ---- integers that are affine */

/* Marks what the indices of gathers are computed of. */
static void mark_wanted(gathers *p) {
  for (uint32_t i = p->g->n_nodes; i-- > 0;) {
    const nxg_node *n = node_at(p, i);
    if (is_gather(n)) p->wanted[n->args[1]] = true;
    const uint32_t first = n->op == NXG_where;
    const bool passes = nxg_ops[n->op].kind == NXG_KIND_MAP || n->op == NXG_view ||
                        n->op == NXG_copy || is_gather(n);
    for (uint32_t a = first; p->wanted[i] && passes && a < n->n_args; a++)
      if (counts(node_at(p, n->args[a]))) p->wanted[n->args[a]] = true;
  }
}

/* What the integers of a node lie between. */
static nxg_interval interval_of(const gathers *p, uint32_t i) {
  nxg_interval x = p->known[i];
  if (p->number[i] != NULL) nxg_affine_range(p->number[i], &x.low, &x.high);
  return x;
}

/* The operand that a node of two or three equals at every position; -1: not known. */
static int chosen(const gathers *p, const nxg_node *n) {
  if (n->op == NXG_where) {
    const nxg_interval by = p->known[n->args[0]];
    return by.low != by.high ? -1 : by.low != 0 ? 1 : 2;
  }
  const nxg_interval a = interval_of(p, n->args[0]), b = interval_of(p, n->args[1]);
  if (n->op == NXG_max) return a.low >= b.high ? 0 : b.low >= a.high ? 1 : -1;
  return a.high <= b.low ? 0 : b.high <= a.low ? 1 : -1;
}

static bool of_chosen(const gathers *p, const nxg_node *n, nxg_affine *out) {
  const int operand = chosen(p, n);
  const nxg_affine *x = operand < 0 ? NULL : p->number[n->args[operand]];
  if (x == NULL) return false;
  *out = *x;
  return true;
}

static bool of_binary(const nxg_node *n, const nxg_affine *a, const nxg_affine *b,
                      nxg_affine *out) {
  nxg_affine other;
  switch (n->op) {
    case NXG_add: return nxg_affine_add(a, b, 1, out);
    case NXG_sub: return nxg_affine_add(a, b, -1, out);
    case NXG_mul: {
      const nxg_affine zero = {0}, *by = b->rank == 0 ? b : a, *of = b->rank == 0 ? a : b;
      return by->rank == 0 && nxg_affine_add(&zero, of, by->offset, out);
    }
    case NXG_div:
    case NXG_floor_div: return b->rank == 0 && nxg_affine_divide(a, b->offset, out, &other);
    case NXG_mod:
    case NXG_floor_mod: return b->rank == 0 && nxg_affine_divide(a, b->offset, &other, out);
    default: return false;
  }
}

static bool of_view(const gathers *p, uint32_t i, const nxg_affine *x, nxg_affine *out) {
  nxg_view v;
  nxg_node_view(p->g, i, &v);
  return nxg_affine_through(x, &v, out);
}

static bool of_gather(const gathers *p, const nxg_node *n, const nxg_affine *x, nxg_affine *out) {
  nxg_affine place;
  nxg_view v;
  if (!place_of_gather(p, n, &place)) return false;
  as_view(&place, &v);
  return nxg_affine_through(x, &v, out);
}

static bool of_leaf(const nxg_node *n, nxg_affine *out) {
  const nx_dtype t = (nx_dtype)n->dtype;
  const int64_t start = nxg_integer_of(t, n->attrs[0]);
  if (n->op == NXG_full) return n->attrs[1] < 0 && nxg_affine_of(0, NULL, NULL, start, out);
  const int64_t step = nxg_integer_of(t, n->attrs[1]);
  return nxg_affine_of(1, n->shape, &step, start, out);
}

static bool of_floats(const gathers *p, uint32_t i, nxg_affine *out) {
  int64_t list[NXG_MOST_EVALUATED];
  return nxg_affine_of_list(nxg_evaluate_integers(p->g, i, list), list, out);
}

/* The integers of a node if those of its operands are affine; they may leave its dtype. */
static bool of_node(const gathers *p, uint32_t i, nxg_affine *out) {
  const nxg_node *n = node_at(p, i);
  if (n->op == NXG_cast && nxi_is_float(node_at(p, n->args[0])->dtype)) return of_floats(p, i, out);
  if (n->op == NXG_full || n->op == NXG_arange) return of_leaf(n, out);
  if (n->op == NXG_where || n->op == NXG_max || n->op == NXG_min) return of_chosen(p, n, out);
  if (n->n_args == 0 || n->n_args > 2) return false;
  const nxg_affine *x = p->number[n->args[0]];
  if (x == NULL) return false;
  if (n->op == NXG_view) return of_view(p, i, x, out);
  if (is_gather(n)) return of_gather(p, n, x, out);
  if (n->op == NXG_copy || n->op == NXG_cast) {
    *out = *x;
    return true;
  }
  const nxg_affine *y = n->n_args == 2 ? p->number[n->args[1]] : NULL;
  return y != NULL && nxg_ops[n->op].kind == NXG_KIND_MAP && of_binary(n, x, y, out);
}

static void find_number(gathers *p, uint32_t i) {
  nxg_affine a;
  nxg_interval is;
  if (!p->wanted[i] || !counts(node_at(p, i)) || !of_node(p, i, &a)) return;
  const nxg_interval all = nxg_integers_of((nx_dtype)node_at(p, i)->dtype);
  nxg_affine_range(&a, &is.low, &is.high);
  if (is.low >= all.low && is.high <= all.high) keep(p, &p->number[i], &a);
}

/* ---- views in their place */

/* The view of `base` that has its elements at these places, in the shape of node i; in a finer
 * shape, and that seen in the shape of node i, if no single view has it. */
static uint32_t add_views(gathers *p, uint32_t i, uint32_t base, const nxg_affine *place) {
  const nxg_node *n = node_at(p, i);
  nxg_view fine, own;
  nxi_diag d;
  int64_t attrs[1 + NXG_MAX_RANK];
  as_view(place, &fine);
  if (place->rank == 0) { /* one element, maybe repeated */
    fine.rank = n->rank;
    memcpy(fine.shape, n->shape, n->rank * sizeof *fine.shape);
    memset(fine.strides, 0, n->rank * sizeof *fine.strides);
  }
  nxi_diag_clear(&d);
  const bool single = nxg_view_reshape(&fine, n->rank, n->shape, &own, &d) == NX_OK;
  const nxg_view *v = single ? &own : &fine;
  attrs[0] = v->offset;
  memcpy(attrs + 1, v->strides, (size_t)v->rank * sizeof *attrs);
  const uint32_t view = nxg_rewrite_add(&p->r, i, NXG_view, 1, &base, attrs, 1 + (uint32_t)v->rank,
                                        n->dtype, v->rank, v->shape);
  if (single || nxg_rewrite_failed(&p->r)) return view;
  attrs[0] = 0;
  nxg_contiguous_strides(n->rank, n->shape, attrs + 1);
  return nxg_rewrite_add(&p->r, i, NXG_view, 1, &view, attrs, 1 + (uint32_t)n->rank, n->dtype,
                         n->rank, n->shape);
}

/* Follows views of what has the elements. */
static void find_base(const gathers *p, nxg_affine *place, uint32_t *base) {
  while (p->r.to->nodes[*base].op == NXG_view) {
    nxg_affine inner;
    nxg_view v;
    nxg_node_view(p->r.to, *base, &v);
    if (!nxg_affine_of(v.rank, v.shape, v.strides, v.offset, &inner)) return;
    as_view(place, &v);
    if (!nxg_affine_through(&inner, &v, place)) return;
    *base = p->r.to->nodes[*base].args[0];
  }
}

static bool place_of(gathers *p, uint32_t i, nxg_affine *place, uint32_t *base) {
  const nxg_node *n = node_at(p, i);
  if (is_gather(n)) {
    *base = p->r.map[n->args[0]];
    if (!place_of_gather(p, n, place)) return false;
    find_base(p, place, base);
    return true;
  }
  if (n->op != NXG_view || p->place[n->args[0]] == NULL || nxg_node_elements(n) == 0) return false;
  *base = p->base[n->args[0]];
  return of_view(p, i, p->place[n->args[0]], place);
}

/* ---- several views in a row */

/* Runs of integers of a list that are one step apart. */
typedef struct runs {
  uint32_t n;
  struct {
    int64_t first, count, step;
  } of[MOST_RUNS];
} runs;

static bool find_runs(const int64_t *list, int64_t n, runs *out) {
  out->n = 0;
  for (int64_t i = 0, end; i < n; i = end) {
    if (out->n == MOST_RUNS) return false;
    const int64_t step = i + 1 < n ? list[i + 1] - list[i] : 0;
    for (end = i + 1; end < n && list[end] - list[end - 1] == step; end++) continue;
    out->of[out->n].first = list[i];
    out->of[out->n].count = end - i;
    out->of[out->n++].step = step;
  }
  return n > 0;
}

/* Whether the indices of a gather are those of one list along its axis; *list: the node of that. */
static bool is_of_list(const gathers *p, const nxg_node *n, uint32_t *list) {
  const nxg_node *index = node_at(p, n->args[1]);
  const int64_t axis = n->attrs[0];
  *list = n->args[1];
  if (index->op != NXG_view) return index->rank == 1;
  *list = index->args[0];
  bool good = index->attrs[0] == 0 && nxg_node_elements(node_at(p, *list)) == index->shape[axis];
  for (int32_t i = 0; i < index->rank; i++)
    good = good && (index->shape[i] == 1 || index->attrs[1 + i] == (i == axis));
  return good;
}

/* The runs of the indices of a gather, which are in range, if there are a few of them: what is
 * padded by what is inside. */
static bool runs_of(const gathers *p, const nxg_node *n, runs *out) {
  int64_t list[NXG_MOST_EVALUATED], extent = node_at(p, n->args[0])->shape[n->attrs[0]];
  uint32_t node;
  if (!is_of_list(p, n, &node) || !counts(node_at(p, node))) return false;
  const int64_t elements = nxg_evaluate_integers(p->g, node, list);
  for (int64_t i = 0; i < elements; i++) {
    if (list[i] < 0 && !nxg_gathers_starts(n)) list[i] += extent;
    if (list[i] < 0 || list[i] >= extent) return false;
  }
  return find_runs(list, elements, out);
}

static bool rewrite_as_runs(gathers *p, uint32_t i) {
  const nxg_node *n = node_at(p, i);
  int64_t attrs[1 + NXG_MAX_RANK], shape[NXG_MAX_RANK], unit;
  uint32_t parts[MOST_RUNS];
  runs r;
  if (!is_gather(n) || !runs_of(p, n, &r)) return false;
  const nxg_node *x = node_at(p, n->args[0]);
  const int64_t axis = n->attrs[0];
  memcpy(shape, n->shape, n->rank * sizeof *shape);
  nxg_contiguous_strides(x->rank, x->shape, attrs + 1);
  unit = attrs[1 + axis];
  for (uint32_t k = 0; k < r.n; k++) {
    attrs[0] = r.of[k].first * unit;
    attrs[1 + axis] = r.of[k].step * unit;
    shape[axis] = r.of[k].count;
    parts[k] = nxg_rewrite_add(&p->r, i, NXG_view, 1, &p->r.map[n->args[0]], attrs,
                               1 + (uint32_t)n->rank, n->dtype, n->rank, shape);
  }
  if (nxg_rewrite_failed(&p->r)) return true;
  nxg_rewrite_map(
      &p->r, i,
      nxg_rewrite_add(&p->r, i, NXG_cat, r.n, parts, &axis, 1, n->dtype, n->rank, n->shape));
  return p->r.changed = true;
}

static void rewrite_node(gathers *p, uint32_t i) {
  nxg_affine place;
  uint32_t base;
  if (!place_of(p, i, &place, &base)) {
    if (!rewrite_as_runs(p, i)) nxg_rewrite_copy(&p->r, i);
    return;
  }
  uint32_t value = add_views(p, i, base, &place);
  if (nxg_rewrite_failed(&p->r)) return;
  if (p->dense[i]) {
    value = nxg_rewrite_copy_of(&p->r, i, value);
  } else {
    keep(p, &p->place[i], &place);
    p->base[i] = base;
  }
  nxg_rewrite_map(&p->r, i, value);
  p->r.changed = true;
}

/* ---- the pass */

static bool has_gather(const nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (is_gather(&g->nodes[i])) return true;
  return false;
}

static bool begin(gathers *p) {
  const size_t n = (size_t)p->g->n_nodes + 1;
  p->known = nxg_index_ranges(p->g);
  p->dense = nxg_read_by_products(p->g);
  p->wanted = nxi_calloc(n, sizeof *p->wanted);
  p->number = nxi_calloc(n, sizeof *p->number);
  p->place = nxi_calloc(n, sizeof *p->place);
  p->base = nxi_calloc(n, sizeof *p->base);
  return p->known != NULL && p->dense != NULL && p->wanted != NULL && p->number != NULL &&
         p->place != NULL && p->base != NULL;
}

static void end(gathers *p) {
  nxi_free(p->known);
  nxi_free(p->dense);
  nxi_free(p->wanted);
  nxi_free((void *)p->number);
  nxi_free((void *)p->place);
  nxi_free(p->base);
  nxi_arena_destroy(&p->arena);
}

nx_status nxg_pass_affine_gathers(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  gathers p = {.g = g};
  if (!has_gather(g)) {
    *out = (nxg_graph *)g;
    return NX_OK;
  }
  nx_status status = nxg_rewrite_begin(&p.r, g, d);
  if (status != NX_OK) return status;
  p.r.failed = p.r.failed || !begin(&p);
  if (!p.r.failed) mark_wanted(&p);
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&p.r); i++) {
    find_number(&p, i);
    if (!nxg_rewrite_failed(&p.r)) rewrite_node(&p, i);
  }
  end(&p);
  return nxg_rewrite_end(&p.r, out, changed);
}
