/* SPDX-License-Identifier: ISC */
/* An update in place whose source reads the memory it writes, at other points: the source is
 * computed into a temporary, in the order of the points, and moved from there. */
#include "build.h"

/* The loops around an instruction, outermost first. */
typedef struct nest {
  nxk_value loop[NXG_MAX_RANK + 16];
  int64_t extent[NXG_MAX_RANK + 16], points;
  nxk_loop_kind kind[NXG_MAX_RANK + 16];
  uint32_t n;
} nest;

static bool find_nest(const nxk_kernel *k, nxk_value inside, nest *out) {
  nxk_value chain[NXG_MAX_RANK + 16];
  uint32_t n = 0;
  nxk_value v = k->instrs[inside].block;
  for (; v != NXK_NONE && k->instrs[v].op == NXK_for; v = k->instrs[v].block) {
    if (n == NXG_MAX_RANK + 16) return false;
    chain[n++] = v;
  }
  *out = (nest){.n = n, .points = 1};
  for (uint32_t i = 0; i < n; i++) {
    const nxk_loop *loop = &k->loops[k->instrs[chain[n - 1 - i]].imm];
    out->loop[i] = chain[n - 1 - i];
    out->extent[i] = loop->upper.constant;
    out->kind[i] = loop->kind;
    out->points *= loop->upper.constant;
  }
  return true;
}

/* One term a loop: the points in C order. */
static void dense_terms(const nest *loops, const nxk_value *index, nxk_term *terms) {
  int64_t stride = 1;
  for (uint32_t i = loops->n; i-- > 0; stride *= loops->extent[i])
    terms[i] = (nxk_term){index[i], stride};
}

/* Buffer 0, which holds the points in order, to where `store` says in buffer 1. NULL without
 * memory. */
static nxk_kernel *moving_kernel(const nxk_kernel *k, const nest *loops, const nxk_access *store) {
  nxk_kernel *move = nxk_create(NXK_LOGICAL, k->name);
  if (move == NULL) return NULL;
  const nxk_buffer *to = &k->buffers[store->buffer];
  nxk_value index[NXG_MAX_RANK + 16];
  nxk_term terms[2][NXG_MAX_RANK + 16];
  nxk_access from = nxk_access_at(0, 0), into = *store;
  nxk_add_buffer(move, NXK_IN, to->dtype, loops->points);
  into.buffer = nxk_add_buffer(move, NXK_OUT, to->dtype, to->elements);
  nxk_begin_region(move);
  for (uint32_t i = 0; i < loops->n; i++)
    index[i] = nxk_begin_range(move, loops->kind[i], loops->extent[i]);
  dense_terms(loops, index, terms[0]);
  from.terms = terms[0];
  from.n_terms = loops->n;
  into.terms = terms[1];
  for (uint32_t t = 0; t < store->n_terms; t++)
    for (uint32_t i = 0; i < loops->n; i++)
      if (loops->loop[i] == store->terms[t].index)
        terms[1][t] = (nxk_term){index[i], store->terms[t].stride};
  nxk_store(move, &into, nxk_load(move, &from, 1));
  for (uint32_t i = 0; i <= loops->n; i++) nxk_end(move);
  if (!move->failed) return move;
  nxk_destroy(move);
  return NULL;
}

/* The kernel stores densely into a buffer of its own. */
static bool store_densely(nxk_kernel *k, const nest *loops, nxk_access *store) {
  nxk_term *terms = nxi_arena_alloc(&k->arena, (loops->n + 1) * sizeof *terms);
  if (terms == NULL) return false;
  dense_terms(loops, loops->loop, terms);
  k->buffers[store->buffer].elements = loops->points;
  store->terms = terms;
  store->n_terms = loops->n;
  store->offset = 0;
  return true;
}

nx_status nxp_add_via_temporary(nxp_step_builder *s, nxk_kernel *k,
                                const nxp_kernel_binding *binding, const nxp_location *buffers,
                                uint32_t node) {
  nxp_location first[NXP_MAX_BUFFERS], second[2];
  nxp_kernel_binding two = {.n_buffers = 2};
  nxk_value store = 0;
  nest loops;
  while (k->instrs[store].op != NXK_store) store++;
  nxk_access *at = &k->accesses[k->instrs[store].imm];
  if (!find_nest(k, store, &loops))
    return nxi_fail(s->b->d, NX_INTERNAL, "update", "an update has too many loops");
  nxk_kernel *move = moving_kernel(k, &loops, at);
  int64_t bytes = loops.points * nxi_dtype_size(k->buffers[at->buffer].dtype);
  bool ok = move != NULL && store_densely(k, &loops, at) && nxp_new_temporary(s, bytes, &second[0]);
  second[1] = buffers[at->buffer];
  for (uint32_t i = 0; i < binding->n_buffers; i++)
    first[i] = i == at->buffer ? second[0] : buffers[i];
  nx_status status = ok ? nxp_add_logical(s, k, first, binding, node) : nxi_oom(s->b->d);
  if (status == NX_OK) status = nxp_add_logical(s, move, second, &two, node);
  nxk_destroy(move);
  return status;
}
