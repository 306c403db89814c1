/* SPDX-License-Identifier: ISC */
/* Chains of two products. The first operand of a product is often made of the rows of another
 * product, each from its own row alone: the scores of attention and their softmax, or the hidden
 * layer of a network and its activation. If all that is large, it is made block of rows by block of
 * rows: a thread computes the rows of the first product, what follows on each of them, and with the
 * result the rows of the second product, and what lies between the products stays in memory of the
 * thread. Blocks are whole tiles of both products, so that no bit depends on this; loops of our
 * own, whose bits depend on no tile, make fewer rows of a block at a time
 * (runtime/library/blas/matmul.c). */
#include "build.h"

#include "ir/library/tiles.h"
#include "passes/kernel/columns_seen.h"
#include "passes/kernel/passes.h"

/* A chain, by its nodes, and by how it is cut. */
typedef struct link {
  uint32_t group, reader; /* of the second product; between the two */
  uint32_t product, made; /* the first product; the second one's first operand */
  int64_t batches, m, n, rows;
  nx_dtype dtype;
} link;

/* ---- which products */

static uint32_t large_product_of(const nxp_step_builder *s, uint32_t group) {
  const nxp_group *members = &s->b->clusters->groups[group];
  uint32_t node = members->roots[0].node;
  bool alone = members->kind == NXP_GROUP_MATMUL && s->stages[group] == NXP_NONE;
  return alone && nxg_node_elements(node_of(s, node)) > 0 ? node : NXP_NONE;
}

/* The node in memory that operand i of a product is a view of. */
static uint32_t operand_of(const nxp_step_builder *s, uint32_t product, int i) {
  uint32_t node = node_of(s, product)->args[i];
  while (node_of(s, node)->op == NXG_view) node = node_of(s, node)->args[0];
  return node;
}

static bool is_private(const nxp_step_builder *s, uint32_t node) {
  return s->readers[node] == 1 && !s->b->output_of[node] && s->check_of[node] == NXP_NONE;
}

/* Nobody else waits for what the group stores. */
static bool only_makes(const nxp_step_builder *s, const nxp_group *e, uint32_t made) {
  for (uint32_t i = 0; i < e->n_roots; i++) {
    uint32_t root = e->roots[i].node;
    if (node_of(s, root)->op == NXG_interleave) return false;
    if (root != made && (s->readers[root] > 0 || s->check_of[root] != NXP_NONE)) return false;
  }
  return is_private(s, made);
}

/* The product whose rows the group reads, NXP_NONE. */
static uint32_t product_before(const nxp_step_builder *s, uint32_t reader) {
  const nxp_clusters *c = s->b->clusters;
  const nxp_group *e = &c->groups[reader];
  uint32_t found = s->deferred[reader];
  for (uint32_t i = reader; found == NXP_NONE && i-- > 0;) {
    uint32_t node = large_product_of(s, i);
    if (node != NXP_NONE && s->group_order[node] == reader + 1 && nxp_walks_rows(s, e, node))
      found = i;
  }
  uint32_t node = found == NXP_NONE ? NXP_NONE : large_product_of(s, found);
  if (node != NXP_NONE && s->chain[found] != NXP_NONE) return NXP_NONE;
  return node != NXP_NONE && is_private(s, node) && nxp_walks_rows(s, e, node) ? node : NXP_NONE;
}

static int64_t batches_of(const nxg_node *n) {
  int64_t batches = 1;
  for (int32_t i = 0; i < n->rank - 2; i++) batches *= n->shape[i];
  return batches;
}

/* Whether the second product of a link multiplies the rows of the first one's form, in order. */
static bool fits(const nxp_step_builder *s, link *l) {
  const nxg_node *second = node_of(s, large_product_of(s, l->group)),
                 *first = node_of(s, l->product), *made = node_of(s, l->made);
  nxg_view v;
  nxg_node_view(s->b->g, second->args[0], &v);
  l->batches = batches_of(first);
  l->m = first->shape[first->rank - 2];
  l->n = first->shape[first->rank - 1];
  l->dtype = first->dtype;
  return first->dtype == second->dtype && made->dtype == second->dtype && v.offset == 0 &&
         nxg_view_is_contiguous(&v) && batches_of(second) == l->batches &&
         second->shape[second->rank - 2] == l->m && v.shape[v.rank - 1] == l->n &&
         nxg_node_elements(made) == nxg_node_elements(first);
}

/* ---- how they are cut */

static int64_t common_multiple(int64_t a, int64_t b) {
  int64_t x = a, y = b;
  while (y != 0) {
    int64_t rest = x % y;
    x = y;
    y = rest;
  }
  return a / x * b;
}

/* The rows of a block; 0: the tiles of a product are divided further. */
static int64_t rows_of_blocks(const nxp_step_builder *s, const link *l) {
  const nxg_node *second = node_of(s, large_product_of(s, l->group)),
                 *first = node_of(s, node_of(s, l->product)->args[0]);
  int64_t k = first->shape[first->rank - 1], columns = second->shape[second->rank - 1];
  nxi_tiles one = nxi_matmul_tiles(l->batches, l->m, l->n, k),
            other = nxi_matmul_tiles(l->batches, l->m, columns, l->n);
  if (one.share < k || other.share < l->n) return 0;
  int64_t rows = common_multiple(one.rows, other.rows);
  return rows < l->m ? rows : l->m;
}

/* What lies between the products is more than stays in a cache, threads have several blocks each,
 * so that blocks need far less memory and all threads have work, and a block does not take long. */
static bool pays(const nxp_step_builder *s, const link *l) {
  const nxp_plan *p = s->b->plan;
  const nxg_node *second = node_of(s, large_product_of(s, l->group)),
                 *first = node_of(s, node_of(s, l->product)->args[0]);
  int64_t blocks = l->batches * ((l->m + l->rows - 1) / l->rows);
  double bytes =
      (double)l->batches * (double)l->m * (double)l->n * (double)nxi_dtype_size(l->dtype);
  double flops = 2.0 * (double)l->rows * (double)l->n *
                 ((double)first->shape[first->rank - 1] + (double)second->shape[second->rank - 1]);
  bool even = blocks % p->threads == 0 && blocks >= 2 * (int64_t)p->threads;
  return bytes > (double)p->target.l2_bytes && (even || blocks >= 4 * (int64_t)p->threads) &&
         flops <= 8.0 * (double)NXI_TILE_FLOPS_MAX;
}

/* Lowers what follows the first product, to see whether rows can be made one by one. */
static nx_status try_rows(nxp_step_builder *s, const link *l, bool *ok) {
  nxk_kernel *k = NULL;
  nxp_kernel_binding binding;
  uint32_t buffer;
  nx_status status = nxp_lower_epilogue(s, l->reader, l->product, &k, &binding, &buffer);
  *ok = status == NX_OK && k != NULL;
  if (*ok) nxp_kernel_binding_free(&binding);
  nxk_destroy(k);
  return status;
}

/* Finds the link that ends with the product of a group. *ok: there is one that pays. */
static nx_status find_link(nxp_step_builder *s, uint32_t group, link *l, bool *ok) {
  const nxp_clusters *c = s->b->clusters;
  uint32_t second = large_product_of(s, group);
  *ok = false;
  if (second == NXP_NONE) return NX_OK;
  *l = (link){.group = group, .made = operand_of(s, second, 0)};
  l->reader = c->group_of[l->made];
  if (l->reader == NXP_NONE || s->staged[l->reader] > 0 || operand_of(s, second, 1) == l->made)
    return NX_OK;
  const nxp_group *e = &c->groups[l->reader];
  if (e->kind != NXP_GROUP_KERNEL || !only_makes(s, e, l->made)) return NX_OK;
  l->product = product_before(s, l->reader);
  if (l->product == NXP_NONE || !fits(s, l) || (l->rows = rows_of_blocks(s, l)) == 0 || !pays(s, l))
    return NX_OK;
  return try_rows(s, l, ok);
}

nx_status nxp_defer_chains(nxp_step_builder *s) {
  const nxp_options *o = &s->b->plan->options;
  const nxp_clusters *c = s->b->clusters;
  if (!o->fuse || o->whole || s->b->plan->target.block_threads > 0) return NX_OK;
  for (uint32_t i = 0; i < c->n_groups; i++) {
    link l;
    bool ok;
    nx_status status = find_link(s, i, &l, &ok);
    if (status != NX_OK) return status;
    if (!ok) continue;
    uint32_t first = c->group_of[l.product];
    s->chain[i] = l.reader;
    s->deferred[l.reader] = first;
    s->chained[l.reader] = s->chained[first] = true;
    uint32_t at = nxp_turn_of(s, i), n = c->n_groups;
    if (!nxp_read_later(s, first, n + first, at) ||
        !nxp_read_later(s, l.reader, 2 * n + l.reader, at))
      return nxi_oom(s->b->d);
  }
  return NX_OK;
}

/* ---- the step */

/* Whether each element of a row is stored after all loads of it, and in the loop of the last of
 * them, so that the row may be stored over what it is made of. */
static bool stores_last(const nxk_kernel *k, uint32_t read, uint32_t made) {
  nxk_value store = NXK_NONE;
  for (nxk_value v = 0; v < k->n_instrs; v++)
    if (k->instrs[v].op == NXK_store && k->accesses[k->instrs[v].imm].buffer == made) {
      if (store != NXK_NONE) return false;
      store = v;
    }
  for (nxk_value v = store; store != NXK_NONE && v < k->n_instrs; v++)
    if (k->instrs[v].op == NXK_load && k->accesses[k->instrs[v].imm].buffer == read) return false;
  return store != NXK_NONE;
}

/* Memory for the rows of a block in all threads, and its bytes for each. */
static bool add_blocks(nxp_step_builder *s, const link *l, nxp_location *where, int64_t *bytes) {
  *bytes = (l->rows * l->n * nxi_dtype_size(l->dtype) + 63) / 64 * 64;
  return nxp_new_temporary(s, *bytes * s->b->plan->threads, where);
}

static bool place_blocks(nxp_step_builder *s, const link *l, const nxk_kernel *k,
                         nxp_chain *chain) {
  nxp_location *read = &s->b->where[l->product], *made = &s->b->where[l->made];
  if (!add_blocks(s, l, read, &chain->block_bytes[0])) return false;
  *made = *read;
  chain->block_bytes[1] = chain->block_bytes[0];
  return stores_last(k, chain->rows_read, chain->rows_made) ||
         add_blocks(s, l, made, &chain->block_bytes[1]);
}

/* Adds the first product and what follows it, and takes them off the list of steps again: they run
 * inside of the second product's. */
static nx_status add_first(nxp_step_builder *s, const link *l, const nxk_kernel *k,
                           const nxp_kernel_binding *binding, nxp_chain *chain) {
  nxp_plan *p = s->b->plan;
  const nxp_group *e = &s->b->clusters->groups[l->reader];
  for (uint32_t i = 0; i < e->n_roots; i++)
    if (e->roots[i].node != l->made &&
        !nxp_new_memory(s, e->roots[i].node, &s->b->where[e->roots[i].node]))
      return nxi_oom(s->b->d);
  if (!place_blocks(s, l, k, chain) || nxp_add_matmul(s, l->product, -1) == NULL)
    return nxi_oom(s->b->d);
  nx_status status = nxp_add_epilogue(s, p->n_steps - 1, k, binding, e);
  if (status != NX_OK) return status;
  chain->product = nxi_arena_copy(&p->arena, &p->steps[--p->n_steps], sizeof *chain->product);
  return chain->product != NULL ? NX_OK : nxi_oom(s->b->d);
}

static nx_status add_second(nxp_step_builder *s, const link *l, uint32_t node, nxp_chain *chain) {
  nxp_step *step = nxp_add_matmul(s, node, 0);
  if (step == NULL) return nxi_oom(s->b->d);
  step->buffers[0] = s->b->where[l->made];
  step->ld[0] = l->n;
  step->chain = chain;
  step->stores = step->stores || chain->product->stores;
  step->overwrites = step->overwrites || chain->product->overwrites;
  /* neither is whole in memory */
  s->b->where[l->product] = s->b->where[l->made] =
      (nxp_location){.alias_range = NXP_NO_ALIAS_RANGE};
  return NX_OK;
}

/* Notes which columns of the first product are used at all. */
static bool note_seen(nxp_step_builder *s, const link *l, const nxk_kernel *k,
                      const nxp_kernel_binding *binding, nxp_chain *chain) {
  const nxp_group *e = &s->b->clusters->groups[l->reader];
  const uint32_t axis = NXP_PARAM_AXIS | (uint32_t)(e->rank - 2);
  nxp_row_kernel row = {k, chain->rows_read, NXK_NONE, l->m, l->n};
  nxi_seen seen;
  for (uint32_t i = 0; i < binding->n_params && l->m > 1; i++)
    if (binding->params[i] == axis) row.row = i;
  if (!nxp_columns_seen(&row, &seen)) return true;
  chain->seen = nxi_arena_copy(&s->b->plan->arena, &seen, sizeof seen);
  return chain->seen != NULL;
}

/* Numbers in place of hidden ones mostly are small powers, which are zero. */
static nx_status skip_hidden(const nxp_step_builder *s, const nxp_chain *chain, nxk_kernel **k) {
  if (chain->seen == NULL) return NX_OK;
  nxk_kernel *skips = nxk_skip_zeros(*k, s->b->d);
  if (skips == NULL) return s->b->d->status;
  nxk_destroy(*k);
  *k = skips;
  return NX_OK;
}

/* The link that was found for the product of a group. */
static void find_again(const nxp_step_builder *s, uint32_t group, link *l) {
  const nxp_clusters *c = s->b->clusters;
  *l = (link){.group = group, .reader = s->chain[group]};
  l->made = operand_of(s, c->groups[group].roots[0].node, 0);
  l->product = c->groups[s->deferred[l->reader]].roots[0].node;
  fits(s, l);
  l->rows = rows_of_blocks(s, l);
}

nx_status nxp_add_chain(nxp_step_builder *s, uint32_t node, uint32_t *number) {
  nxp_plan_builder *b = s->b;
  nxk_kernel *k = NULL;
  nxp_kernel_binding binding;
  link l;
  find_again(s, b->clusters->group_of[node], &l);
  nxp_chain *chain = nxi_arena_alloc(&b->plan->arena, sizeof *chain);
  if (chain == NULL) return nxi_oom(b->d);
  *chain = (nxp_chain){.rows = l.rows};
  nx_status status = nxp_lower_epilogue(s, l.reader, l.product, &k, &binding, &chain->rows_read);
  if (status != NX_OK || k == NULL)
    return status != NX_OK ? status
                           : nxi_fail(b->d, NX_INTERNAL, "matmul",
                                      "what follows a product of a chain has no kernel of rows");
  for (uint32_t i = 0; i < binding.n_buffers; i++)
    if (binding.buffer_nodes[i] == l.made) chain->rows_made = i;
  status = note_seen(s, &l, k, &binding, chain) ? skip_hidden(s, chain, &k) : nxi_oom(b->d);
  if (status == NX_OK) status = add_first(s, &l, k, &binding, chain);
  *number = b->plan->n_steps;
  if (status == NX_OK) status = add_second(s, &l, node, chain);
  nxk_destroy(k);
  nxp_kernel_binding_free(&binding);
  return status;
}
