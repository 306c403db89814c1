/* SPDX-License-Identifier: ISC */
/* The words that extraction writes into the key of a run: nodes, and the inputs among them. */
#ifndef NXI_KEY_WORDS_H
#define NXI_KEY_WORDS_H

#include <string.h>

#include "runtime/realize/residency.h"
#include "runtime/realize/run.h"
#include "runtime/record/context.h"

/* Words of one node: head (op, dtype, rank, number of operands), number of attributes, shape,
 * attributes, operands */

static inline uint64_t *node_words(nxi_run *run, uint32_t op, uint32_t dtype, int32_t rank,
                                   const int64_t *shape, uint32_t n_attrs, uint32_t n_args) {
  uint64_t words = 2 + (uint64_t)rank + n_attrs + n_args;
  if (run->n_key + words > run->cap_key &&
      (run->n_key + words > UINT32_MAX ||
       !nxi_grow_array(&run->key, &run->cap_key, run->n_key + (uint32_t)words, sizeof *run->key)))
    return NULL;
  uint64_t *w = run->key + run->n_key;
  run->n_key += (uint32_t)words;
  run->slot = run->n_slots++;
  *w++ = op | (uint64_t)dtype << 16 | (uint64_t)rank << 24 | (uint64_t)n_args << 32;
  *w++ = n_attrs;
  nxi_copy_few(w, shape, (uint32_t)rank);
  return w + rank; /* the caller writes attributes and operands here */
}

/* Records that node `slot` of the key is the value of n. */
static inline bool place(nxi_run *run, nxi_node *n, uint32_t slot) {
  uint32_t at = run->n_order;
  if (at >= run->cap_nodes && !nxi_run_more_nodes(run)) return false;
  run->order[at] = n;
  run->slots[at] = slot;
  run->stored[at] = 0;
  run->n_order++;
  run->n_hold += n->state == NXI_PENDING &&
                 atomic_load_explicit(&n->flags, memory_order_relaxed) & NXI_NODE_HOLD;
  n->epoch = run->context->epoch;
  n->index = at;
  return true;
}

static inline uint32_t slot_of(const nxi_run *run, const nxi_node *n) {
  return run->slots[n->index];
}

/* Looks for an input with the same memory in the same form, among the latest ones. If it is found,
 * an update can read exactly what it writes, and may write in place. */
static inline bool find_input(nxi_run *run, nx_dtype t, int32_t rank, const int64_t *shape,
                              const nxi_buffer *b, int64_t offset, const nxi_node *whole) {
  uint32_t oldest = run->n_inputs > 16 ? run->n_inputs - 16 : 0;
  for (uint32_t i = run->n_inputs; i-- > oldest;) {
    const nxi_run_input *in = &run->inputs[i];
    const uint64_t *w = run->key + in->words_at;
    if (in->buffer != b || in->offset != offset || in->node != whole ||
        w[0] != (NXG_input | (uint64_t)t << 16 | (uint64_t)rank << 24) ||
        memcmp(w + 2, shape, (size_t)rank * sizeof *shape) != 0)
      continue;
    run->slot = in->slot;
    return true;
  }
  return false;
}

static inline bool emit_input(nxi_run *run, nx_dtype t, int32_t rank, const int64_t *shape,
                              nxi_buffer *b, int64_t offset, int64_t bytes, nxi_node *whole) {
  if (find_input(run, t, rank, shape, b, offset, whole)) return true;
  if (!nxi_run_add_input(run, b, offset, bytes, whole)) return false;
  uint32_t words_at = run->n_key;
  uint64_t *w = node_words(run, NXG_input, (uint32_t)t, rank, shape, 2, 0);
  if (!w) return false;
  run->inputs[run->n_inputs - 1].flags_at = (uint32_t)(w - run->key);
  run->inputs[run->n_inputs - 1].words_at = words_at;
  run->inputs[run->n_inputs - 1].slot = run->slot;
  w[0] = whole && nxi_buffer_aligned(b, run->own_memory) ? NXG_INPUT_ALIGNED : 0;
  w[1] = (uint64_t)nxi_run_alias(run, b);
  return true;
}

static inline bool emit_whole(nxi_run *run, nxi_node *n) {
  int64_t bytes = nxi_dtype_bytes(n->dtype, n->elements);
  run->n_given += (atomic_load_explicit(&n->flags, memory_order_relaxed) & NXI_NODE_GIVEN) != 0;
  return emit_input(run, n->dtype, n->rank, nxi_node_shape(n), n->buffer, 0, bytes, n);
}

#endif
