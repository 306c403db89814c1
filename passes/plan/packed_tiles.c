/* SPDX-License-Identifier: ISC */
/* Operands of products that are packed tile by tile. An operand that no kernel has stored yet, of
 * more bytes than a cache, is not written to memory and read again: the product's run makes, for
 * each of its tiles, the columns (or rows) that the tile multiplies, a piece of the inner extent
 * after the other, in memory of the thread. The windows of a convolution and what is cast for a
 * product are the usual ones.
 *
 * The operand is a group of its own, with one elementwise root, or a cat along the inner extent;
 * its kernels are lowered over a walk (plan/packed_walk.c). Several products may read it, or all of
 * a batch, if each makes it for itself and that is cheap. */
#include "packed_tiles.h"

#include <string.h>

enum {
  CHEAP = 12
}; /* vector operations an element: a little more than storing and loading it again */

/* ---- which operands */

static bool is_elementwise(const nxp_step_builder *s, uint32_t base, const nxp_group *members) {
  const nxg_node *root = node_of(s, base);
  if (members->kind == NXP_GROUP_CAT) return true;
  return members->kind == NXP_GROUP_KERNEL && members->reduced == 0 && root->op != NXG_interleave &&
         !nxg_is_scan(root->op) && nxg_ops[root->op].kind != NXG_KIND_REDUCE &&
         root->op != NXG_matmul;
}

/* The group that would store operand i of a product, NXP_NONE if it cannot be left to the product.
 * */
static uint32_t group_to_stage(const nxp_step_builder *s, uint32_t product, int i) {
  const nxg_node *n = node_of(s, product);
  uint32_t base = nxp_operand_base(s, n->args[i]), group = s->b->clusters->group_of[base];
  if (group == NXP_NONE || base == nxp_operand_base(s, n->args[1 - i])) return NXP_NONE;
  const nxp_group *members = &s->b->clusters->groups[group];
  bool only_read = members->n_roots == 1 && !s->b->output_of[base] &&
                   s->deferred[group] == NXP_NONE && s->check_of[base] == NXP_NONE;
  return only_read && is_elementwise(s, base, members) ? group : NXP_NONE;
}

/* Packed tiles of all threads are at most half of what they stand for, and that is more than stays
 * in a cache. */
static bool pays(const nxp_step_builder *s, const nxp_packed_tiles *g) {
  const nxp_plan *p = s->b->plan;
  int64_t size = nxi_dtype_size(node_of(s, g->base)->dtype), bytes = node_bytes(s, g->base);
  double packed = 2.0 * (double)p->threads * (double)g->elements * (double)size;
  return bytes > p->target.l2_bytes && packed <= (double)bytes;
}

/* Finds how operand i of a product would be packed tile by tile. *ok: whether it should. */
static nx_status examine(nxp_step_builder *s, uint32_t product, int i, uint32_t group,
                         nxp_packed_tiles *g, bool *ok) {
  const nxg_node *n = node_of(s, product);
  *ok = node_bytes(s, nxp_operand_base(s, n->args[i])) > s->b->plan->target.l2_bytes &&
        nxp_packed_matrix(s, product, i, g);
  if (!*ok) return NX_OK;
  nx_status status = nxp_packed_walks(s, group, n->rank - 2, g, ok);
  *ok = status == NX_OK && *ok && pays(s, g);
  return status;
}

static nx_status lower_unit(nxp_step_builder *s, uint32_t group, const nxp_walk *walk,
                            nxk_kernel **out, nxp_kernel_binding *binding) {
  nx_status status = nxp_lower_walk(s->b->lowering, group, walk, out, binding, s->b->d);
  for (uint32_t i = 0; status == NX_OK && *out != NULL && i < binding->n_buffers; i++)
    (*out)->buffers[i].elements = -1; /* a launch begins in the middle of them */
  return status;
}

/* Of what a kernel computes for an element; where that is, is integers and truth values. */
static int64_t cost_of(const nxk_kernel *k) {
  int64_t cost = 0;
  for (uint32_t i = 0; i < k->n_instrs; i++) {
    const nxk_instr *in = &k->instrs[i];
    if (in->op < NXK_SCALAR_COUNT && in->dtype != NX_I64 && in->dtype != NX_BOOL)
      cost += nxk_scalars[in->op].cost;
  }
  return cost;
}

/* Whether operand i is to be left to the product: everything is tried, so that nothing can be in
 * the way later. */
static nx_status try_operand(nxp_step_builder *s, uint32_t product, int i, bool *ok) {
  uint32_t group = group_to_stage(s, product, i);
  nxp_packed_tiles g = {0};
  *ok = false;
  if (group == NXP_NONE) return NX_OK;
  nx_status status = examine(s, product, i, group, &g, ok);
  for (int32_t part = 0; status == NX_OK && *ok && part < g.n_parts; part++) {
    nxk_kernel *k = NULL;
    nxp_kernel_binding binding;
    status = lower_unit(s, group, &g.parts[part].walk, &k, &binding);
    *ok = status == NX_OK && k != NULL;
    if (*ok) nxp_kernel_binding_free(&binding);
    *ok = *ok && ((s->readers[g.base] == 1 && !g.repeats) || cost_of(k) <= CHEAP);
    nxk_destroy(k);
  }
  return status;
}

/* The product that a group is, NXP_NONE. */
static uint32_t product_of(const nxp_step_builder *s, uint32_t group) {
  const nxp_group *members = &s->b->clusters->groups[group];
  uint32_t product = members->roots[0].node;
  return members->kind == NXP_GROUP_MATMUL && nxg_node_elements(node_of(s, product)) > 0 ? product
                                                                                         : NXP_NONE;
}

/* What a product makes: the operand of more bytes, or else the other. shared: or what others read
 * too. */
static nx_status choose_operand(nxp_step_builder *s, uint32_t group, bool shared) {
  uint32_t product = product_of(s, group);
  const nxg_node *n = node_of(s, product);
  uint32_t base[2] = {nxp_operand_base(s, n->args[0]), nxp_operand_base(s, n->args[1])};
  int larger = node_bytes(s, base[0]) > node_bytes(s, base[1]) ? 0 : 1;
  bool ok = false;
  nx_status status = NX_OK;
  s->stages[group] = NXP_NONE;
  for (int k = 0; k < 2 && status == NX_OK && !ok; k++) {
    int i = k == 0 ? larger : 1 - larger;
    if (!shared && s->readers[base[i]] > 1) continue;
    status = try_operand(s, product, i, &ok);
    if (ok) s->stages[group] = (uint32_t)i;
  }
  return status;
}

static uint32_t staged_group(const nxp_step_builder *s, uint32_t group) {
  uint32_t product = product_of(s, group);
  if (product == NXP_NONE || s->stages[group] == NXP_NONE) return NXP_NONE;
  uint32_t base = nxp_operand_base(s, node_of(s, product)->args[s->stages[group]]);
  return s->b->clusters->group_of[base];
}

/* How many products would make each group's value: if not all of its readers, none does. */
static void count_makers(nxp_step_builder *s) {
  const nxp_clusters *c = s->b->clusters;
  memset(s->staged, 0, c->n_groups * sizeof *s->staged);
  for (uint32_t i = 0; i < c->n_groups; i++) {
    uint32_t operand = staged_group(s, i);
    if (operand != NXP_NONE) s->staged[operand]++;
  }
}

static bool made_by_all(const nxp_step_builder *s, uint32_t operand) {
  return s->staged[operand] == s->readers[s->b->clusters->groups[operand].roots[0].node];
}

/* What is read for an operand must last until each product that makes it. */
static nx_status keep_what_they_read(nxp_step_builder *s) {
  for (uint32_t i = 0; i < s->b->clusters->n_groups; i++) {
    uint32_t operand = staged_group(s, i);
    if (operand != NXP_NONE && !nxp_read_later(s, operand, i, nxp_turn_of(s, i)))
      return nxi_oom(s->b->d);
  }
  return NX_OK;
}

nx_status nxp_defer_operands(nxp_step_builder *s) {
  const nxp_clusters *c = s->b->clusters;
  const nxp_options *o = &s->b->plan->options;
  bool processor = s->b->plan->target.block_threads == 0;
  if (!o->fuse || o->whole || !processor) return NX_OK;
  for (uint32_t i = 0; i < c->n_groups; i++) {
    nx_status status = product_of(s, i) == NXP_NONE ? NX_OK : choose_operand(s, i, true);
    if (status != NX_OK) return status;
  }
  count_makers(s);
  for (uint32_t i = 0; i < c->n_groups; i++) {
    uint32_t operand = staged_group(s, i);
    if (operand == NXP_NONE || made_by_all(s, operand)) continue;
    nx_status status = choose_operand(s, i, false);
    if (status != NX_OK) return status;
  }
  count_makers(s);
  return keep_what_they_read(s);
}

/* ---- the step */

int nxp_staged_operand(const nxp_step_builder *s, uint32_t product) {
  uint32_t i = s->stages[s->b->clusters->group_of[product]];
  return i == NXP_NONE ? -1 : (int)i;
}

/* Makes the kernel's step, the last one, one that runs inside a product's: part `number`. */
static nx_status take_kernel(nxp_step_builder *s, const nxp_packed_tiles *g, int32_t number,
                             const nxp_kernel_binding *binding, nxp_packed_part *out) {
  nxp_plan *p = s->b->plan;
  const nxp_packed_walk *part = &g->parts[number];
  nxp_step *own = nxi_arena_copy(&p->arena, &p->steps[p->n_steps - 1], sizeof *own);
  if (own == NULL) return nxi_oom(s->b->d);
  p->n_steps--;
  *out = (nxp_packed_part){.kernel = own,
                           .batch_axes = part->batch_axes,
                           .column_axes = part->column_axes,
                           .columns = part->columns,
                           .depth = part->depth,
                           .source = NXP_NONE,
                           .begin = part->begin,
                           .end = part->end};
  int32_t outside = part->walk.outside;
  own->row_rank = outside;
  own->row_shape =
      nxi_arena_copy(&p->arena, part->walk.extent, ((size_t)outside + 1) * sizeof(int64_t));
  own->row_bytes = nxi_arena_alloc(&p->arena, ((size_t)binding->n_buffers * (size_t)outside + 1) *
                                                  sizeof(int64_t));
  if (own->row_shape == NULL || own->row_bytes == NULL) return nxi_oom(s->b->d);
  for (uint32_t i = 0; i < binding->n_buffers; i++) {
    if (binding->buffer_nodes[i] == g->base) out->buffer = i;
    if (binding->buffer_nodes[i] == g->image) out->source = i;
    for (int32_t a = 0; outside > 0 && a < outside; a++)
      own->row_bytes[(int64_t)i * outside + a] =
          binding->row_strides[(int64_t)i * outside + a] *
          nxi_dtype_size(node_of(s, binding->buffer_nodes[i])->dtype);
  }
  return NX_OK;
}

/* Makes the kernel of a part, which writes to `packed`. */
static nx_status add_part(nxp_step_builder *s, uint32_t group, const nxp_packed_tiles *g,
                          int32_t number, nxp_location packed, nxp_packed_part *out) {
  nxp_plan_builder *b = s->b;
  nxk_kernel *k = NULL, *simple = NULL;
  nxp_kernel_binding binding;
  nxp_location buffers[NXP_MAX_BUFFERS] = {{0}};
  nx_status status = lower_unit(s, group, &g->parts[number].walk, &k, &binding);
  if (status != NX_OK || k == NULL)
    return status != NX_OK
               ? status
               : nxi_fail(b->d, NX_INTERNAL, "matmul",
                          "an operand that was left to its product has no packed tiles");
  status = nxp_simplify_kernel(b->plan, k, &simple, b->d);
  for (uint32_t i = 0; i < binding.n_buffers; i++)
    buffers[i] = binding.buffer_nodes[i] == g->base ? packed : b->where[binding.buffer_nodes[i]];
  if (status == NX_OK)
    status = nxp_add_kernel(s, simple, buffers, binding.params, binding.n_params, g->base);
  if (status == NX_OK) status = take_kernel(s, g, number, &binding, out);
  nxk_destroy(simple);
  nxk_destroy(k);
  nxp_kernel_binding_free(&binding);
  return status;
}

/* The memory of packed tiles, one for each thread. NULL without memory. */
static nxp_staging *add_staging(nxp_step_builder *s, uint32_t product_step, int operand,
                                const nxp_packed_tiles *g, const nxp_windows *windows) {
  nxp_plan *p = s->b->plan;
  nxp_step *step = &p->steps[product_step];
  int64_t size = nxi_dtype_size(node_of(s, g->base)->dtype),
          bytes = (g->elements * size + 63) / 64 * 64, column = (g->inner ? 1 : g->ld) * size,
          deep = (g->inner ? g->ld : 1) * size;
  nxp_staging *staging = nxi_arena_alloc(&p->arena, sizeof *staging);
  nxp_packed_part *parts = nxi_arena_alloc(&p->arena, (size_t)g->n_parts * sizeof *parts);
  nxp_windows *own = windows ? nxi_arena_copy(&p->arena, windows, sizeof *own) : NULL;
  if (own != NULL && own->layout.bytes > bytes) bytes = own->layout.bytes;
  if (staging == NULL || parts == NULL || (windows && own == NULL) ||
      !nxp_new_temporary(s, bytes * p->threads, &step->buffers[operand]))
    return NULL;
  step->ld[operand] = g->ld;
  *staging = (nxp_staging){.operand = operand,
                           .parts = parts,
                           .width = g->width,
                           .depth = g->piece,
                           .column_bytes = column,
                           .depth_bytes = deep,
                           .margin_bytes = g->margin[0] * column + g->margin[1] * deep,
                           .packed_bytes = bytes,
                           .windows = own};
  return step->staging = staging;
}

nx_status nxp_stage_operand(nxp_step_builder *s, uint32_t product_step, uint32_t product,
                            int operand) {
  nxp_plan_builder *b = s->b;
  uint32_t group = b->clusters->group_of[nxp_operand_base(s, node_of(s, product)->args[operand])];
  nxp_packed_tiles g = {0};
  nxp_windows windows;
  bool ok;
  nx_status status = examine(s, product, operand, group, &g, &ok);
  if (status != NX_OK) return status;
  bool found = nxp_find_windows(s, product, operand, &g, &windows);
  nxp_staging *staging = add_staging(s, product_step, operand, &g, found ? &windows : NULL);
  if (staging == NULL) return nxi_oom(b->d);
  nxp_location packed = b->plan->steps[product_step].buffers[operand];
  for (int32_t k = 0; k < g.n_parts && status == NX_OK; k++) {
    status = add_part(s, group, &g, k, packed, &staging->parts[k]);
    staging->n_parts += status == NX_OK;
  }
  if (status == NX_OK && staging->parts[0].source == NXP_NONE) staging->windows = NULL;
  return status;
}
