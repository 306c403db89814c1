/* SPDX-License-Identifier: ISC */
/* Gives elementwise work before and after a reshape one shape. A reshape in the midst of such work
 * (blocks of a row that share a scale, groups of channels, and back) divides it into nodes of other
 * shapes, which fusion cannot evaluate at the same points. Whatever is connected by elementwise
 * operations and reshapes becomes a space here, and all of its nodes get the coarsest shape of
 * which each of their own shapes joins some axes. Elements stay in their order, so a view of a node
 * stays what it is, and a reduction reduces the parts of its axes, which are one run as before.
 *
 * What a reduction makes of a space, or a broadcast brings into it, is divided like it.
 *
 * A space is left as it is if its shapes have no common factors or too many axes, if somebody else
 * reads its nodes or makes their operands (a library wants its matrices as they are), and if a
 * reduction or a broadcast at its border would not fit any more. Needs: composed views, outputs
 * that are no views. Keeps: bits, since runs of a reduction are defined by elements in order. */
#include "rewrite.h"

#include <string.h>

#include "ir/alloc.h"

/* Extents without ones. */
typedef struct extents {
  int32_t rank;
  int64_t shape[NXG_MAX_RANK];
} extents;

typedef struct space {
  uint32_t parent; /* union-find: the node itself unless joined to another */
  bool in;         /* the node may be in a space */
  bool refused;    /* of a root: its nodes keep their shapes */
  bool reshaped;   /* of a root: two nodes differ in shape */
  extents common;  /* of a root */
} space;

typedef struct reshapes {
  nxg_rewrite r;
  const nxg_graph *g;
  space *spaces; /* for each node */
} reshapes;

static const nxg_node *node_at(const reshapes *p, uint32_t i) { return &p->g->nodes[i]; }

/* ---- extents */

static void squeeze(int32_t rank, const int64_t *shape, extents *out) {
  *out = (extents){0};
  for (int32_t i = 0; i < rank; i++)
    if (shape[i] != 1) out->shape[out->rank++] = shape[i];
}

static bool same(const extents *a, const extents *b) {
  return nxg_same_shape(a->rank, a->shape, b->rank, b->shape);
}

/* The coarsest extents of which both a and b join some; their products are equal. */
static bool refine(const extents *a, const extents *b, extents *out) {
  int64_t back[NXG_MAX_RANK], x = 1, y = 1;
  int32_t i = a->rank, j = b->rank, n = 0;
  for (;;) {
    if (x == 1 && i > 0) x = a->shape[--i];
    if (y == 1 && j > 0) y = b->shape[--j];
    if (x == 1 && y == 1) break;
    int64_t step = x < y ? x : y;
    if (n == NXG_MAX_RANK || step == 1 || x % step != 0 || y % step != 0) return false;
    back[n++] = step;
    x /= step;
    y /= step;
  }
  *out = (extents){.rank = n};
  for (int32_t k = 0; k < n; k++) out->shape[k] = back[n - 1 - k];
  return true;
}

/* The axis of `shape` that each axis of its refinement is a part of, and how many elements of that
 * axis a step along the part is. */
static void parts_of(int32_t rank, const int64_t *shape, const extents *fine, int32_t *axis,
                     int64_t *step) {
  int64_t left = 1, done = 1;
  for (int32_t k = fine->rank; k-- > 0;) {
    while (left == 1) left = shape[--rank], done = 1;
    axis[k] = rank;
    step[k] = done;
    left /= fine->shape[k];
    done *= fine->shape[k];
  }
}

/* ---- spaces */

static uint32_t root_of(const reshapes *p, uint32_t i) {
  while (p->spaces[i].parent != i) i = p->spaces[i].parent = p->spaces[p->spaces[i].parent].parent;
  return i;
}

static void join(reshapes *p, uint32_t a, uint32_t b) {
  a = root_of(p, a);
  b = root_of(p, b);
  if (a == b) return;
  space *x = &p->spaces[a], *y = &p->spaces[b];
  extents both;
  x->reshaped = x->reshaped || y->reshaped || !same(&x->common, &y->common);
  x->refused = x->refused || y->refused || !refine(&x->common, &y->common, &both);
  if (!x->refused) x->common = both;
  y->parent = a;
}

static bool is_reduction(const nxg_node *n) {
  return nxg_ops[n->op].kind == NXG_KIND_REDUCE && !nxg_finds_index(n->op);
}
static bool is_elementwise(const nxg_node *n) {
  return nxg_ops[n->op].kind == NXG_KIND_MAP || n->op == NXG_copy;
}
static bool is_inside(const nxg_node *n) { return is_elementwise(n) || is_reduction(n); }

/* Whether node i is a reshape of elementwise work or of a reduction. */
static bool is_reshape(const reshapes *p, uint32_t i) {
  const nxg_node *n = node_at(p, i);
  nxg_view v;
  if (n->op != NXG_view || !is_inside(node_at(p, n->args[0])) ||
      nxg_node_elements(n) != nxg_node_elements(node_at(p, n->args[0])))
    return false;
  nxg_node_view(p->g, i, &v);
  return v.offset == 0 && nxg_view_is_contiguous(&v);
}

static bool is_leaf(const nxg_node *n) { return nxg_ops[n->op].kind == NXG_KIND_LEAF; }

static void begin_spaces(reshapes *p) {
  for (uint32_t i = 0; i < p->g->n_nodes; i++) {
    const nxg_node *n = node_at(p, i);
    space *s = &p->spaces[i];
    s->parent = i;
    s->in = nxg_node_elements(n) > 1 && (is_inside(n) || is_reshape(p, i));
    squeeze(n->rank, n->shape, &s->common);
  }
}

/* Joins node i, which computes, to the operands of its own shape, and a reshape that it reads to
 * what that reshapes. Others that read a node of a space want it in its own shape. */
static void join_operands(reshapes *p, uint32_t i) {
  const nxg_node *n = node_at(p, i);
  for (uint32_t a = 0; a < n->n_args; a++) {
    const uint32_t x = n->args[a];
    const nxg_node *from = node_at(p, x);
    if (n->op == NXG_view) continue;
    if (p->spaces[x].in && !is_inside(n)) p->spaces[root_of(p, x)].refused = true;
    if (p->spaces[x].in && is_inside(n) && from->op == NXG_view) join(p, x, from->args[0]);
    if (!is_elementwise(n) || !p->spaces[i].in) continue;
    if (p->spaces[x].in) join(p, i, x);
    else if (from->op != NXG_view && !is_leaf(from)) p->spaces[root_of(p, i)].refused = true;
  }
}

/* ---- borders */

static bool is_changed(const reshapes *p, uint32_t i) {
  const space *root = &p->spaces[root_of(p, i)];
  return p->spaces[i].in && root->reshaped && !root->refused;
}

/* The shape that node i will have, without ones. */
static extents shape_of(const reshapes *p, uint32_t i) {
  extents own;
  if (is_changed(p, i)) return p->spaces[root_of(p, i)].common;
  squeeze(node_at(p, i)->rank, node_at(p, i)->shape, &own);
  return own;
}

/* The axes of `fine` that a reduction of x reduces, and the shape of its result. */
static uint32_t reduced_of(const nxg_node *n, const nxg_node *x, const extents *fine,
                           extents *kept) {
  int32_t axis[NXG_MAX_RANK];
  int64_t step[NXG_MAX_RANK];
  uint32_t mask = 0;
  *kept = (extents){0};
  parts_of(x->rank, x->shape, fine, axis, step);
  for (int32_t k = 0; k < fine->rank; k++) {
    if ((uint32_t)n->attrs[0] >> axis[k] & 1) mask |= (uint32_t)1 << k;
    else kept->shape[kept->rank++] = fine->shape[k];
  }
  return mask;
}

/* Whether a view of the axes `fine` repeats its operand along some of them, and is it along the
 * others, *kept. */
static bool repeats(const nxg_node *view, const extents *fine, extents *kept) {
  int32_t axis[NXG_MAX_RANK];
  int64_t step[NXG_MAX_RANK], expected = 1;
  *kept = (extents){0};
  parts_of(view->rank, view->shape, fine, axis, step);
  for (int32_t k = fine->rank; k-- > 0;) {
    const int64_t stride = view->attrs[1 + axis[k]] * step[k];
    if (stride == 0) continue;
    if (stride != expected) return false;
    expected *= fine->shape[k];
  }
  for (int32_t k = 0; k < fine->rank; k++)
    if (view->attrs[1 + axis[k]] != 0) kept->shape[kept->rank++] = fine->shape[k];
  return view->attrs[0] == 0;
}

static bool refuse(reshapes *p, uint32_t i) {
  if (!is_changed(p, i)) return false;
  return p->spaces[root_of(p, i)].refused = true;
}

/* Gives the space of node i finer extents, so that it fits `want`, which have more axes. False if
 * that is not possible. */
static bool adapt(reshapes *p, uint32_t i, const extents *want) {
  space *root = &p->spaces[root_of(p, i)];
  extents finer;
  if (!p->spaces[i].in || root->refused || !refine(&root->common, want, &finer) ||
      same(&finer, &root->common))
    return false;
  root->common = finer;
  return root->reshaped = true;
}

/* Adapts the coarser side of a border that does not fit, or else leaves both sides as they are.
 * True if that changes something. */
static bool check_reduction(reshapes *p, uint32_t i) {
  const nxg_node *n = node_at(p, i);
  const uint32_t x = n->args[0];
  extents kept, fine = shape_of(p, x), own = shape_of(p, i);
  if (nxg_node_elements(node_at(p, x)) == 0) return false;
  const uint32_t mask = reduced_of(n, node_at(p, x), &fine, &kept);
  if (mask != 0 && same(&kept, &own)) return false;
  if (mask != 0 && adapt(p, i, &kept)) return true;
  const bool first = refuse(p, x), second = refuse(p, i);
  return first || second;
}

static bool check_view(reshapes *p, uint32_t i, uint32_t x) {
  const nxg_node *view = node_at(p, x);
  const uint32_t base = view->args[0];
  extents own, was, after = shape_of(p, i), is = shape_of(p, base), kept;
  if (!is_inside(node_at(p, base)) || p->spaces[x].in || nxg_node_elements(view) <= 1) return false;
  squeeze(view->rank, view->shape, &own);
  squeeze(node_at(p, base)->rank, node_at(p, base)->shape, &was);
  if (!repeats(view, &own, &kept) || !same(&kept, &was)) return false;
  if (repeats(view, &after, &kept) && same(&kept, &is)) return false;
  if (nxg_elements(kept.rank, kept.shape) == nxg_elements(is.rank, is.shape) &&
      adapt(p, base, &kept))
    return true;
  const bool first = refuse(p, base), second = refuse(p, i);
  return first || second;
}

static bool check_borders(reshapes *p) {
  bool refused = false;
  for (uint32_t i = 0; i < p->g->n_nodes; i++) {
    const nxg_node *n = node_at(p, i);
    if (is_reduction(n)) refused = check_reduction(p, i) || refused;
    for (uint32_t a = 0; is_elementwise(n) && p->spaces[i].in && a < n->n_args; a++)
      if (node_at(p, n->args[a])->op == NXG_view) refused = check_view(p, i, n->args[a]) || refused;
  }
  return refused;
}

/* ---- rewriting */

/* A view of the whole of x, or of what x is a view of, in a refinement of x's shape. */
static uint32_t refined_view(reshapes *p, uint32_t i, uint32_t x, const extents *fine) {
  const nxg_node *n = node_at(p, x);
  int32_t axis[NXG_MAX_RANK];
  int64_t step[NXG_MAX_RANK], attrs[1 + NXG_MAX_RANK] = {0};
  nxg_contiguous_strides(fine->rank, fine->shape, attrs + 1);
  uint32_t base = p->r.map[x];
  if (n->op == NXG_view) {
    base = p->r.map[n->args[0]];
    attrs[0] = n->attrs[0];
    parts_of(n->rank, n->shape, fine, axis, step);
    for (int32_t k = 0; k < fine->rank; k++) attrs[1 + k] = n->attrs[1 + axis[k]] * step[k];
  }
  return nxg_rewrite_add(&p->r, i, NXG_view, 1, &base, attrs, 1 + (uint32_t)fine->rank, n->dtype,
                         fine->rank, fine->shape);
}

static uint32_t operand(reshapes *p, uint32_t i, uint32_t x, const extents *fine) {
  const nxg_node *n = node_at(p, x);
  if (is_changed(p, x) && (n->op != NXG_view || is_reshape(p, x))) return p->r.map[x];
  if (n->op == NXG_full)
    return nxg_rewrite_add(&p->r, i, NXG_full, 0, NULL, n->attrs, n->n_attrs, n->dtype, fine->rank,
                           fine->shape);
  return refined_view(p, i, x, fine);
}

static void rewrite_elementwise(reshapes *p, uint32_t i) {
  const nxg_node *n = node_at(p, i);
  const extents fine = shape_of(p, i);
  uint32_t args[8];
  for (uint32_t a = 0; a < n->n_args && !nxg_rewrite_failed(&p->r); a++)
    args[a] = operand(p, i, n->args[a], &fine);
  if (nxg_rewrite_failed(&p->r)) return;
  nxg_rewrite_map(&p->r, i,
                  nxg_rewrite_add(&p->r, i, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs,
                                  n->dtype, fine.rank, fine.shape));
  p->r.changed = true;
}

/* A reduction whose operand or result has another shape now. */
static void rewrite_reduction(reshapes *p, uint32_t i) {
  const nxg_node *n = node_at(p, i), *x = node_at(p, n->args[0]);
  extents kept, fine = shape_of(p, n->args[0]);
  int64_t attrs[2] = {reduced_of(n, x, &fine, &kept), 0}, view[1 + NXG_MAX_RANK] = {0};
  uint32_t value =
      is_changed(p, n->args[0]) ? p->r.map[n->args[0]] : refined_view(p, i, n->args[0], &fine);
  if (nxg_rewrite_failed(&p->r)) return;
  value = nxg_rewrite_add(&p->r, i, (nxg_op)n->op, 1, &value, attrs, 2, n->dtype, kept.rank,
                          kept.shape);
  if (nxg_rewrite_failed(&p->r)) return;
  if (!is_changed(p, i) && !nxg_same_shape(kept.rank, kept.shape, n->rank, n->shape)) {
    nxg_contiguous_strides(n->rank, n->shape, view + 1);
    value = nxg_rewrite_add(&p->r, i, NXG_view, 1, &value, view, 1 + n->rank, n->dtype, n->rank,
                            n->shape);
  }
  nxg_rewrite_map(&p->r, i, value);
  p->r.changed = true;
}

/* An update or a scatter, also of a reduction that became a view. */
static void rewrite_over(reshapes *p, uint32_t i) {
  const uint32_t old = node_at(p, i)->args[0], mapped = p->r.map[old];
  p->r.map[old] = nxg_rewrite_whole(&p->r, i, mapped);
  if (!nxg_rewrite_failed(&p->r)) nxg_rewrite_copy(&p->r, i);
  p->r.map[old] = mapped;
}

static void rewrite_node(reshapes *p, uint32_t i) {
  const nxg_node *n = node_at(p, i);
  if (is_reduction(n) && (is_changed(p, i) || is_changed(p, n->args[0]))) rewrite_reduction(p, i);
  else if (is_changed(p, i) && n->op == NXG_view) nxg_rewrite_map(&p->r, i, p->r.map[n->args[0]]);
  else if (is_changed(p, i)) rewrite_elementwise(p, i);
  else if (n->op == NXG_update || n->op == NXG_scatter) rewrite_over(p, i);
  else nxg_rewrite_copy(&p->r, i);
}

/* An output that a reduction became a view for is the reduction: its shape is of no account. */
static void unwrap_outputs(reshapes *p) {
  for (uint32_t i = 0; i < p->g->n_outputs && p->r.changed; i++) {
    const uint32_t node = p->g->outputs[i].node;
    const nxg_node *to = &p->r.to->nodes[p->r.map[node]];
    if (is_reduction(node_at(p, node)) && to->op == NXG_view)
      nxg_rewrite_map(&p->r, node, to->args[0]);
  }
}

nx_status nxg_pass_reshapes(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  reshapes p = {.g = g};
  nx_status status = nxg_rewrite_begin(&p.r, g, d);
  if (status != NX_OK) return status;
  p.spaces = nxi_calloc((size_t)g->n_nodes + 1, sizeof *p.spaces);
  p.r.failed = p.r.failed || p.spaces == NULL;
  if (!p.r.failed) {
    begin_spaces(&p);
    for (uint32_t i = 0; i < g->n_nodes; i++) join_operands(&p, i);
    while (check_borders(&p)) continue;
  }
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&p.r); i++) rewrite_node(&p, i);
  if (!nxg_rewrite_failed(&p.r)) unwrap_outputs(&p);
  nxi_free(p.spaces);
  return nxg_rewrite_end(&p.r, out, changed);
}
