/* SPDX-License-Identifier: ISC */
/* Matrix products as library calls, alone or with what follows them run on each row panel that is
 * finished. */
#include "build.h"

#include <string.h>

#include "ir/library/tiles.h"

/* One operand of a product as the library wants it. */
static bool add_matrix(nxp_step_builder *s, nxp_step *step, const nxg_node *product, int i) {
  nxg_view v;
  uint32_t node = product->args[i],
           half = nxp_half_operand(s->b->g, product, (uint32_t)i, s->b->plan->options.products);
  if (half != UINT32_MAX) node = half;
  uint32_t base = node;
  nxg_node_view(s->b->g, node, &v);
  if (node_of(s, node)->op == NXG_view) base = node_of(s, node)->args[0];
  step->operands = (nx_dtype)node_of(s, node)->dtype;
  step->buffers[i] = s->b->where[base];
  step->buffers[i].offset += v.offset * nxi_dtype_size(step->operands);
  if (!nxp_gemm_layout(&v, &step->transposed[i], &step->ld[i])) return false;
  int32_t own = v.rank - 2;
  step->batch_strides[i] =
      nxi_arena_alloc(&s->b->plan->arena, ((size_t)step->batch_rank + 1) * sizeof(int64_t));
  if (step->batch_strides[i] == NULL) return false;
  for (int32_t d = 0; d < own; d++)
    step->batch_strides[i][step->batch_rank - own + d] = v.shape[d] == 1 ? 0 : v.strides[d];
  return true;
}

nxp_step *nxp_add_matmul(nxp_step_builder *s, uint32_t node, int elsewhere) {
  nxp_plan_builder *b = s->b;
  const nxg_node *n = node_of(s, node), *a = node_of(s, n->args[0]);
  nxp_step *step = nxp_add_step(s, NXP_STEP_MATMUL, node, 4);
  if (step == NULL) return NULL;
  int32_t batch = n->rank - 2;
  step->n_buffers = 3; /* the fourth is scratch */
  step->dtype = n->dtype;
  step->m = n->shape[batch];
  step->n = n->shape[batch + 1];
  step->k = a->shape[a->rank - 1];
  step->batch_rank = batch;
  step->batch_shape = nxi_arena_copy(&b->plan->arena, n->shape, (size_t)n->rank * sizeof(int64_t));
  step->batch_strides[2] =
      nxi_arena_alloc(&b->plan->arena, ((size_t)n->rank + 1) * sizeof(int64_t));
  if (step->batch_shape == NULL || step->batch_strides[2] == NULL || !add_matrix(s, step, n, 0) ||
      !add_matrix(s, step, n, 1))
    return NULL;
  if (elsewhere >= 0) step->buffers[elsewhere] = (nxp_location){.alias_range = NXP_NO_ALIAS_RANGE};
  step->buffers[2] = b->where[node];
  step->writes[2] = true;
  step->stores = b->where[node].kind == NXP_OUTPUT;
  step->ld[2] = step->n;
  for (int64_t d = batch, stride = step->m * step->n; d-- > 0; stride *= n->shape[d])
    step->batch_strides[2][d] = stride;
  nxp_more_work(b->plan, 2.0 * (double)nxg_node_elements(n) * (double)step->k);
  return step;
}

uint32_t nxp_turn_of(const nxp_step_builder *s, uint32_t group) {
  uint32_t last = s->group_order[s->b->clusters->groups[group].roots[0].node];
  return last > 0 && s->deferred[last - 1] == group ? last - 1 : group;
}

/* The same with what makes an operand, if one was left to it. *number: of the step. */
static nx_status add_product(nxp_step_builder *s, uint32_t node, uint32_t *number) {
  if (s->chain[s->b->clusters->group_of[node]] != NXP_NONE) return nxp_add_chain(s, node, number);
  int staged = nxp_staged_operand(s, node);
  nxp_step *step = nxp_add_matmul(s, node, staged);
  if (step == NULL) return nxi_oom(s->b->d);
  *number = (uint32_t)(step - s->b->plan->steps);
  return staged < 0 ? NX_OK : nxp_stage_operand(s, *number, node, staged);
}

/* Where the run counts what is finished and adds up shares: memory of the plan, so that a launch
 * needs no other. */
static bool add_scratch(nxp_step_builder *s, nxp_step *product) {
  int64_t batches = 1;
  /* the library has memory of its own; a block has one thread */
  if (s->b->plan->options.on_gpu || product->chain != NULL) return true;
  for (int32_t d = 0; d < product->batch_rank; d++) batches *= product->batch_shape[d];
  int64_t bytes = nxi_matmul_scratch_bytes(product->dtype, batches, product->m, product->n,
                                           product->k, product->epilogue != NULL);
  if (product->staging != NULL && product->staging->windows != NULL) {
    nxi_tiles t = nxi_matmul_tiles(batches, product->m, product->n, product->k);
    nxi_tiles_recut(&t, product->n, product->staging->windows->layout.columns);
    int64_t others =
        nxi_matmul_lay_out(&t, product->dtype, batches, product->k, product->epilogue != NULL)
            .bytes;
    if (others > bytes) bytes = others;
  }
  if (bytes == 0) return true;
  product->writes[product->n_buffers] = true;
  return nxp_new_temporary(s, bytes, &product->buffers[product->n_buffers++]);
}

nx_status nxp_add_matmul_group(nxp_step_builder *s, uint32_t group) {
  uint32_t node = s->b->clusters->groups[group].roots[0].node, number;
  if (!nxp_new_memory(s, node, &s->b->where[node])) return nxi_oom(s->b->d);
  nx_status status = add_product(s, node, &number);
  if (status != NX_OK) return status;
  return add_scratch(s, &s->b->plan->steps[number]) ? NX_OK : nxi_oom(s->b->d);
}

/* ---- operands of 16 bits */

/* Notes that the product reads what casts are made of that are stored, and not these. */
static bool read_halves(nxp_step_builder *s, uint32_t group) {
  const nxp_clusters *c = s->b->clusters;
  const nxg_node *n = node_of(s, c->groups[group].roots[0].node);
  for (uint32_t a = 0; a < 2; a++) {
    if (nxp_half_operand(s->b->g, n, a, s->b->plan->options.products) == UINT32_MAX) return true;
    const uint32_t cast = c->group_of[n->args[a]];
    if (cast == NXP_NONE) continue;
    if (!nxp_read_later(s, cast, group, nxp_turn_of(s, group))) return false;
    s->staged[cast] += a == 0 || n->args[1] != n->args[0];
  }
  return true;
}

bool nxp_defer_casts(nxp_step_builder *s) {
  const nxp_clusters *c = s->b->clusters;
  if (!s->b->plan->options.on_gpu) return true;
  for (uint32_t i = 0; i < c->n_groups; i++)
    if (c->groups[i].kind == NXP_GROUP_MATMUL && !read_halves(s, i)) return false;
  for (uint32_t i = 0; i < c->n_groups; i++) {
    const uint32_t root = c->groups[i].roots[0].node;
    if (c->groups[i].n_roots > 1 || s->b->output_of[root] || s->staged[i] != s->readers[root])
      s->staged[i] = 0;
  }
  return true;
}

/* ---- a product and what follows it, row panel by row panel */

bool nxp_walks_rows(const nxp_step_builder *s, const nxp_group *e, uint32_t product) {
  const nxg_node *n = node_of(s, product);
  nxp_shape own;
  nxp_squeeze(n->rank, n->shape, &own);
  return own.rank >= 2 && n->shape[n->rank - 1] != 1 && e->rank == own.rank &&
         memcmp(e->shape, own.extent, (size_t)own.rank * sizeof own.extent[0]) == 0;
}

bool nxp_defer_products(nxp_step_builder *s) {
  bool gpu = s->b->plan->options.on_gpu;
  const nxp_clusters *c = s->b->clusters;
  for (uint32_t i = 0; i < c->n_groups; i++) {
    uint32_t node = c->groups[i].roots[0].node;
    if (c->groups[i].kind != NXP_GROUP_MATMUL || s->readers[node] != 1 || s->b->output_of[node] ||
        !s->b->plan->options.fuse || (s->b->plan->target.block_threads > 0 && !gpu))
      continue;
    uint32_t reader = s->group_order[node] - 1;
    const nxp_group *e = &c->groups[reader];
    if (e->kind != NXP_GROUP_KERNEL || e->reduced != 0 || s->deferred[reader] != NXP_NONE) continue;
    if (gpu ? !nxp_only_adds(s, e, node) : !nxp_walks_rows(s, e, node)) continue;
    s->deferred[reader] = i;
    if (!nxp_read_later(s, i, i, reader)) return false;
  }
  return true;
}

/* Whether a row kernel reads the product only in its own row, element by element. */
static bool reads_own_row(const nxk_kernel *k, uint32_t buffer, const nxp_kernel_binding *binding,
                          const nxp_group *e) {
  int64_t stride = e->shape[e->rank - 1];
  for (int32_t a = e->rank - 1; a-- > 0; stride *= e->shape[a])
    if (binding->row_strides[(int64_t)buffer * (e->rank - 1) + a] != stride) return false;
  for (uint32_t i = 0; i < k->n_instrs; i++) {
    if (k->instrs[i].op != NXK_load || k->accesses[k->instrs[i].imm].buffer != buffer) continue;
    const nxk_access *a = &k->accesses[k->instrs[i].imm];
    if (a->offset != 0 || a->n_terms != 1 || a->terms[0].stride != 1 || a->index != NXK_NONE ||
        a->mask != NXK_NONE)
      return false;
  }
  return true;
}

nx_status nxp_lower_epilogue(nxp_step_builder *s, uint32_t group, uint32_t product,
                             nxk_kernel **out, nxp_kernel_binding *binding, uint32_t *buffer) {
  nxk_kernel *k = NULL;
  nx_status status = nxp_lower_rows(s->b->lowering, group, &k, binding, s->b->d);
  *out = NULL;
  if (status != NX_OK || k == NULL) return status;
  *buffer = 0;
  while (*buffer < binding->n_buffers && binding->buffer_nodes[*buffer] != product) ++*buffer;
  if (*buffer == binding->n_buffers ||
      !reads_own_row(k, *buffer, binding, &s->b->clusters->groups[group])) {
    nxk_destroy(k);
    nxp_kernel_binding_free(binding);
    return NX_OK;
  }
  for (uint32_t i = 0; i < binding->n_buffers; i++) k->buffers[i].restricted = false;
  for (uint32_t i = 0; i < k->n_accesses; i++)
    k->accesses[i].flags &= ~(uint32_t)NXK_NONTEMPORAL; /* the row is in the cache already */
  *out = k;
  return NX_OK;
}

nx_status nxp_add_epilogue(nxp_step_builder *s, uint32_t product_step, const nxk_kernel *k,
                           const nxp_kernel_binding *binding, const nxp_group *e) {
  nxp_plan *p = s->b->plan;
  nxp_location buffers[NXP_MAX_BUFFERS];
  nxk_kernel *simple = NULL;
  int32_t rank = e->rank - 1;
  for (uint32_t i = 0; i < binding->n_buffers; i++)
    buffers[i] = s->b->where[binding->buffer_nodes[i]];
  nx_status status = nxp_simplify_kernel(s->b->plan, k, &simple, s->b->d);
  if (status == NX_OK)
    status = nxp_add_kernel(s, simple, buffers, binding->params, binding->n_params,
                            e->roots[e->n_roots - 1].node);
  nxk_destroy(simple);
  nxp_step *own =
      status == NX_OK ? nxi_arena_copy(&p->arena, &p->steps[p->n_steps - 1], sizeof *own) : NULL;
  if (own == NULL) return status == NX_OK ? nxi_oom(s->b->d) : status;
  p->n_steps--; /* it runs inside the product's step */
  nxp_step *product = &p->steps[product_step];
  product->epilogue = own;
  product->stores = product->stores || own->stores;
  product->overwrites = product->overwrites || own->overwrites;
  own->row_rank = rank;
  own->row_shape = nxi_arena_copy(&p->arena, e->shape, (size_t)rank * sizeof(int64_t));
  own->row_bytes =
      nxi_arena_alloc(&p->arena, ((size_t)binding->n_buffers * (size_t)rank + 1) * sizeof(int64_t));
  if (own->row_shape == NULL || own->row_bytes == NULL) return nxi_oom(s->b->d);
  for (uint32_t i = 0; i < binding->n_buffers; i++)
    for (int32_t a = 0; a < rank; a++)
      own->row_bytes[(int64_t)i * rank + a] =
          binding->row_strides[(int64_t)i * rank + a] *
          nxi_dtype_size(node_of(s, binding->buffer_nodes[i])->dtype);
  return NX_OK;
}

/* The product in the memory of the group's result where the two have one form (that of a pair has
 * twice the elements), so that rows are finished in place. */
static bool place_product(nxp_step_builder *s, const nxp_group *e, uint32_t product) {
  const nxg_node *n = node_of(s, product), *root = node_of(s, e->roots[0].node);
  for (uint32_t i = 0; i < e->n_roots; i++)
    if (!nxp_new_memory(s, e->roots[i].node, &s->b->where[e->roots[i].node])) return false;
  if (e->n_roots == 1 && root->dtype == n->dtype && root->op != NXG_interleave) {
    s->b->where[product] = s->b->where[e->roots[0].node];
    return true;
  }
  return nxp_new_memory(s, product, &s->b->where[product]);
}

/* The product of a GPU that gives the sum of group `group`. */
static nx_status add_sum(nxp_step_builder *s, uint32_t group) {
  const nxp_group *e = &s->b->clusters->groups[group];
  uint32_t product = s->b->clusters->groups[s->deferred[group]].roots[0].node, number;
  nx_status status =
      place_product(s, e, product) ? add_product(s, product, &number) : nxi_oom(s->b->d);
  if (status == NX_OK) nxp_add_in_product(s, &s->b->plan->steps[number], e, product);
  return status;
}

nx_status nxp_add_with_product(nxp_step_builder *s, uint32_t group, bool *done) {
  nxp_plan_builder *b = s->b;
  *done = b->plan->options.on_gpu;
  if (*done) return add_sum(s, group);
  const nxp_group *e = &b->clusters->groups[group];
  uint32_t product = b->clusters->groups[s->deferred[group]].roots[0].node, buffer, number = 0;
  nxk_kernel *k = NULL;
  nxp_kernel_binding binding;
  nx_status status = nxp_lower_epilogue(s, group, product, &k, &binding, &buffer);
  if (status != NX_OK || k == NULL) return status;
  *done = true;
  status = place_product(s, e, product) ? add_product(s, product, &number) : nxi_oom(b->d);
  if (status == NX_OK) status = nxp_add_epilogue(s, number, k, &binding, e);
  if (status == NX_OK && !add_scratch(s, &b->plan->steps[number])) status = nxi_oom(b->d);
  nxk_destroy(k);
  nxp_kernel_binding_free(&binding);
  return status;
}
