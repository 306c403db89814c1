/* SPDX-License-Identifier: ISC */
/* Operands of products that are made panel by panel. An operand that no kernel has stored yet, of more bytes than a cache,
 * is not written to memory and read again: the product's run makes, for each of its tiles, the columns (or rows) that the
 * tile multiplies, in memory of the thread. The windows of a convolution and what is cast for a product are the usual ones.
 *
 * The operand is a group of its own, with one elementwise root; its kernel is lowered over a walk: what numbers tiles and
 * batches stays outside, and inside are the inner extent of the product and a unit, some columns beside each other. */
#include "plan_build.h"

#include <string.h>

enum {
  LEAST_UNIT = 32, /* columns of a panel whose columns lie beside each other: two vectors */
  MOST_UNIT = 128,
  UNIT_ELEMENTS = 32 << 10, /* of a unit in all: some microseconds for a call of the kernel */
};

/* Where the operand's matrix is in its base, and the walk that makes a unit of it. */
typedef struct geometry {
  uint32_t base;
  bool inner;            /* columns of a panel lie beside each other; else the inner extent does */
  int64_t width;         /* columns (rows, of the first operand) of a tile */
  int64_t extent, depth; /* of all tiles; inner extent of the product */
  nxp_walk walk;
  int32_t batch_axes; /* outer axes that number the batch, then those that number lines */
  int64_t line, unit;
  bool slides;    /* units begin anywhere in a line; else a line is a unit */
  int64_t margin; /* columns that units may write before and after those of a tile */
  int64_t ld, elements;
} geometry;

static uint32_t base_of(const nxp_building *s, uint32_t node) {
  return node_of(s, node)->op == NXG_view ? node_of(s, node)->args[0] : node;
}

static int64_t limited(int64_t x, int64_t least, int64_t most) {
  return x < least ? least : x > most ? most : x;
}

/* ---- which operands */

/* The group that would store operand i of a product, NXP_NONE if it cannot be left to the product. */
static uint32_t group_to_stage(const nxp_building *s, uint32_t product, int i) {
  const nxg_node *n = node_of(s, product);
  uint32_t base = base_of(s, n->args[i]), group = s->b->clusters->group_of[base];
  if (group == NXP_NONE || base == base_of(s, n->args[1 - i])) return NXP_NONE;
  const nxp_group *members = &s->b->clusters->groups[group];
  const nxg_node *root = node_of(s, base);
  bool elementwise = members->kind == NXP_GROUP_KERNEL && members->reduced == 0 &&
                     root->op != NXG_pair && !nxg_is_scan(root->op) &&
                     nxg_ops[root->op].kind != NXG_KIND_FOLD && root->op != NXG_matmul;
  bool alone = members->n_roots == 1 && s->readers[base] == 1 && !s->b->is_output[base] &&
               s->deferred[group] == NXP_NONE && s->check_of[base] == NXP_NONE;
  return elementwise && alone ? group : NXP_NONE;
}

/* The matrices of operand i as a walk over its base: batch, then what lies closer inside. False: a batch repeats. */
static bool matrix_walk(const nxp_building *s, uint32_t product, int i, geometry *g) {
  const nxg_node *n = node_of(s, product);
  nxg_view v;
  bool transposed;
  int64_t ld, elements = 1;
  nxg_node_view(s->b->g, n->args[i], &v);
  if (!nxp_gemm_layout(&v, &transposed, &ld)) return false;
  int32_t batch = n->rank - 2, more = n->rank - v.rank, along = i == 0 ? v.rank - 2 : v.rank - 1,
          deep = i == 0 ? v.rank - 1 : v.rank - 2;
  g->base = base_of(s, n->args[i]);
  g->inner = (i == 1) != transposed;
  g->extent = v.shape[along];
  g->depth = v.shape[deep];
  g->walk = (nxp_walk){.rank = n->rank, .offset = v.offset};
  for (int32_t d = 0; d < batch; d++) {
    g->walk.extent[d] = n->shape[d];
    g->walk.from[d] = d < more ? 0 : v.strides[d - more];
    if (n->shape[d] != 1 && g->walk.from[d] == 0) return false;
    elements *= n->shape[d];
  }
  int32_t last = g->inner ? along : deep, other = g->inner ? deep : along;
  g->walk.extent[batch] = v.shape[other];
  g->walk.from[batch] = v.strides[other];
  g->walk.extent[batch + 1] = v.shape[last];
  g->walk.from[batch + 1] = v.strides[last];
  g->width =
      i == 0 ? nxi_matmul_tiles(elements, n->shape[batch], n->shape[batch + 1], g->depth).rows
             : nxi_matmul_tiles(elements, n->shape[batch], n->shape[batch + 1], g->depth).columns;
  return g->extent > 1 && g->depth > 0 && elements > 0;
}

/* ---- the walk */

/* How many columns a unit should have. */
static int64_t wanted_unit(const geometry *g) {
  return limited(UNIT_ELEMENTS / g->depth, g->inner ? LEAST_UNIT : 1, MOST_UNIT);
}

/* Lines are the innermost factors of the columns, as many as make a unit; units are lines, or slide along them. Pieces
 * first .. end - 1 of the walk are the columns. Returns the first piece of a line. */
static int32_t choose_unit(geometry *g, int32_t first, int32_t end) {
  int64_t wanted = wanted_unit(g);
  int32_t piece = end - 1;
  g->line = g->walk.extent[piece];
  while (piece > first && g->line * g->walk.extent[piece - 1] <= wanted)
    g->line *= g->walk.extent[--piece];
  g->slides = piece == end - 1 && g->line > wanted + wanted / 2;
  g->unit = g->line;
  if (!g->slides) return piece;
  int64_t count = (g->line + wanted - 1) / wanted;
  g->unit = (g->line + count - 1) / count;
  if (g->inner) g->unit = (g->unit + 15) / 16 * 16;
  if (g->unit > g->line) g->unit = g->line;
  return piece;
}

static void add_axis(nxp_walk *walk, int64_t extent, int64_t from, int64_t to) {
  walk->extent[walk->rank] = extent;
  walk->from[walk->rank] = from;
  walk->to[walk->rank++] = to;
}

/* Adds pieces first .. end - 1 of the factors, of which the last one moves `stride` in the panel. */
static void add_pieces(nxp_walk *walk, const nxp_walk *factors, int32_t first, int32_t end,
                       int64_t stride) {
  int64_t to[NXG_MAX_RANK];
  for (int32_t i = end; i-- > first; stride *= factors->extent[i]) to[i] = stride;
  for (int32_t i = first; i < end; i++) add_axis(walk, factors->extent[i], factors->from[i], to[i]);
}

/* The first and the end of the pieces that axis `axis` became. */
static void pieces_of(const int32_t *axis, int32_t rank, int32_t which, int32_t *first,
                      int32_t *end) {
  *first = 0;
  while (*first < rank && axis[*first] < which) ++*first;
  *end = *first;
  while (*end < rank && axis[*end] == which) ++*end;
}

/* Makes the walk of one unit out of the factors of the whole matrix. False: more axes than a walk has, or a panel of more
 * elements than can be counted. */
static bool unit_walk(geometry *g, const int32_t *axis, int32_t batch) {
  const nxp_walk factors = g->walk;
  int32_t columns[2], deep[2];
  pieces_of(axis, factors.rank, g->inner ? batch + 1 : batch, &columns[0], &columns[1]);
  pieces_of(axis, factors.rank, g->inner ? batch : batch + 1, &deep[0], &deep[1]);
  for (g->batch_axes = 0; g->batch_axes < factors.rank && axis[g->batch_axes] < batch;)
    g->batch_axes++;
  if (columns[0] == columns[1] || factors.rank + 1 > NXG_MAX_RANK) return false;
  int32_t line = choose_unit(g, columns[0], columns[1]);
  bool fits = g->width >= g->extent || (!g->slides && g->width % g->unit == 0);
  g->margin = fits ? 0 : g->unit;
  int64_t width = g->width + 2 * g->margin;
  g->ld = g->inner ? (width + 15) / 16 * 16 : g->depth;
  if (g->inner && g->ld % 1024 == 0) g->ld += 16; /* lines a power of two apart share cache sets */
  if (__builtin_mul_overflow(g->inner ? g->ld : width, g->depth, &g->elements)) return false;
  int64_t step = g->inner ? 1 : g->ld;
  g->walk = (nxp_walk){.offset = factors.offset};
  add_pieces(&g->walk, &factors, 0, g->batch_axes, 0);
  add_pieces(&g->walk, &factors, columns[0], line, 0);
  if (g->slides) add_axis(&g->walk, g->line - g->unit + 1, factors.from[line], 0);
  g->walk.outside = g->walk.rank;
  if (g->inner) add_pieces(&g->walk, &factors, deep[0], deep[1], g->ld);
  if (g->slides) add_axis(&g->walk, g->unit, factors.from[line], step);
  else add_pieces(&g->walk, &factors, line, columns[1], step);
  if (!g->inner) add_pieces(&g->walk, &factors, deep[0], deep[1], 1);
  return true;
}

/* Panels of all threads are at most half of what they stand for, and that is more than stays in a cache. */
static bool pays(const nxp_building *s, const geometry *g) {
  const nxp_plan *p = s->b->plan;
  int64_t size = nxi_dtype_size(node_of(s, g->base)->dtype), bytes = node_bytes(s, g->base);
  double panels = 2.0 * (double)p->threads * (double)g->elements * (double)size;
  return bytes > p->target.l2_bytes && panels <= (double)bytes;
}

/* Finds how operand i of a product would be made panel by panel. *ok: whether it should. */
static nx_status examine(nxp_building *s, uint32_t product, int i, uint32_t group, geometry *g,
                         bool *ok) {
  int32_t axis[NXG_MAX_RANK], batch = node_of(s, product)->rank - 2;
  *ok = node_bytes(s, base_of(s, node_of(s, product)->args[i])) > s->b->plan->target.l2_bytes &&
        matrix_walk(s, product, i, g);
  if (!*ok) return NX_OK;
  nx_status status = nxp_lower_factors(s->b->lowering, group, &g->walk, axis, ok, s->b->d);
  *ok = status == NX_OK && *ok && unit_walk(g, axis, batch) && pays(s, g);
  return status;
}

static nx_status lower_unit(nxp_building *s, uint32_t group, const geometry *g, nxk_kernel **out,
                            nxp_kernel_binding *binding) {
  nx_status status = nxp_lower_walk(s->b->lowering, group, &g->walk, out, binding, s->b->d);
  for (uint32_t i = 0; status == NX_OK && *out != NULL && i < binding->n_buffers; i++)
    (*out)->buffers[i].elements = -1; /* a launch begins in the middle of them */
  return status;
}

/* Whether operand i is to be left to the product: everything is tried, so that nothing can be in the way later. */
static nx_status try_operand(nxp_building *s, uint32_t product, int i, bool *ok) {
  uint32_t group = group_to_stage(s, product, i);
  geometry g;
  nxk_kernel *k = NULL;
  nxp_kernel_binding binding;
  *ok = false;
  if (group == NXP_NONE) return NX_OK;
  nx_status status = examine(s, product, i, group, &g, ok);
  if (status != NX_OK || !*ok) return status;
  status = lower_unit(s, group, &g, &k, &binding);
  *ok = status == NX_OK && k != NULL;
  if (*ok) nxp_kernel_binding_free(&binding);
  nxk_destroy(k);
  return status;
}

/* When the product of a group has its turn: with the group that finishes its rows, if there is one. */
static uint32_t turn_of(const nxp_building *s, uint32_t group, uint32_t product) {
  uint32_t last = s->group_order[product];
  return last > 0 && s->deferred[last - 1] == group ? last - 1 : group;
}

nx_status nxp_defer_operands(nxp_building *s) {
  const nxp_clusters *c = s->b->clusters;
  const nxp_options *o = &s->b->plan->options;
  for (uint32_t group = 0; group < c->n_groups && o->fuse && !o->whole; group++) {
    uint32_t product = c->groups[group].roots[0].node;
    if (c->groups[group].kind != NXP_GROUP_MATMUL || nxg_node_elements(node_of(s, product)) == 0)
      continue;
    const nxg_node *n = node_of(s, product);
    bool ok = false;
    int larger =
            node_bytes(s, base_of(s, n->args[0])) > node_bytes(s, base_of(s, n->args[1])) ? 0 : 1,
        i = larger;
    nx_status status = try_operand(s, product, i, &ok);
    if (status == NX_OK && !ok) status = try_operand(s, product, i = 1 - larger, &ok);
    if (status != NX_OK) return status;
    if (!ok) continue;
    uint32_t operand = c->group_of[base_of(s, n->args[i])];
    s->staged[operand] = group;
    if (!nxp_read_later(s, operand, turn_of(s, group, product))) return nxi_oom(s->b->d);
  }
  return NX_OK;
}

/* ---- the step */

int nxp_staged_operand(const nxp_building *s, uint32_t product) {
  for (int i = 0; i < 2; i++) {
    uint32_t group = s->b->clusters->group_of[base_of(s, node_of(s, product)->args[i])];
    if (group != NXP_NONE && s->staged[group] == s->b->clusters->group_of[product]) return i;
  }
  return -1;
}

/* Makes the kernel's step one that runs inside the product's. */
static nx_status finish(nxp_building *s, uint32_t product_step, int operand, const geometry *g,
                        const nxp_kernel_binding *binding) {
  nxp_plan *p = s->b->plan;
  nxp_staging *staging = nxi_arena_alloc(&p->arena, sizeof *staging);
  nxp_step *own =
      staging != NULL ? nxi_arena_copy(&p->arena, &p->steps[p->n_steps - 1], sizeof *own) : NULL;
  if (own == NULL) return nxi_oom(s->b->d);
  p->n_steps--; /* it runs inside the product's step */
  p->steps[product_step].staging = staging;
  int64_t size = nxi_dtype_size(node_of(s, g->base)->dtype);
  *staging = (nxp_staging){.operand = operand,
                           .kernel = own,
                           .batch_axes = g->batch_axes,
                           .line = g->line,
                           .unit = g->unit,
                           .margin = g->margin,
                           .width = g->width,
                           .slides = g->slides,
                           .column_bytes = (g->inner ? 1 : g->ld) * size,
                           .panel_bytes = (g->elements * size + 63) / 64 * 64};
  int32_t outside = g->walk.outside;
  own->row_rank = outside;
  own->row_shape =
      nxi_arena_copy(&p->arena, g->walk.extent, ((size_t)outside + 1) * sizeof(int64_t));
  own->row_bytes = nxi_arena_alloc(&p->arena, ((size_t)binding->n_buffers * (size_t)outside + 1) *
                                                  sizeof(int64_t));
  if (own->row_shape == NULL || own->row_bytes == NULL) return nxi_oom(s->b->d);
  for (uint32_t i = 0; i < binding->n_buffers; i++) {
    if (binding->buffer_nodes[i] == g->base) staging->buffer = i;
    for (int32_t a = 0; outside > 0 && a < outside; a++)
      own->row_bytes[(int64_t)i * outside + a] =
          binding->row_strides[(int64_t)i * outside + a] *
          nxi_dtype_size(node_of(s, binding->buffer_nodes[i])->dtype);
  }
  return NX_OK;
}

nx_status nxp_stage_operand(nxp_building *s, uint32_t product_step, uint32_t product, int operand) {
  nxp_builder *b = s->b;
  uint32_t base = base_of(s, node_of(s, product)->args[operand]),
           group = b->clusters->group_of[base];
  geometry g = {0};
  nxk_kernel *k = NULL, *simple = NULL;
  nxp_kernel_binding binding;
  nxp_location buffers[NXP_MAX_BUFFERS], panels;
  bool ok;
  nx_status status = examine(s, product, operand, group, &g, &ok);
  if (status == NX_OK) status = lower_unit(s, group, &g, &k, &binding);
  if (status != NX_OK || k == NULL)
    return status != NX_OK ? status
                           : nxi_fail(b->d, NX_INTERNAL, "matmul",
                                      "an operand that was left to its product has no panels");
  int64_t bytes = (g.elements * nxi_dtype_size(node_of(s, base)->dtype) + 63) / 64 * 64;
  status = nxp_simplify_kernel(b->plan, k, &simple, b->d);
  if (status == NX_OK && !nxp_new_temporary(s, bytes * b->plan->threads, &panels))
    status = nxi_oom(b->d);
  if (status == NX_OK) {
    for (uint32_t i = 0; i < binding.n_buffers; i++)
      buffers[i] = binding.buffer_nodes[i] == base ? panels : b->where[binding.buffer_nodes[i]];
    nxp_step *step = &b->plan->steps[product_step];
    step->buffers[operand] = panels;
    step->ld[operand] = g.ld;
    status = nxp_add_kernel(s, simple, buffers, binding.params, binding.n_params, base);
  }
  if (status == NX_OK) status = finish(s, product_step, operand, &g, &binding);
  nxk_destroy(simple);
  nxk_destroy(k);
  nxp_kernel_binding_free(&binding);
  return status;
}
