/* SPDX-License-Identifier: ISC */
/* Private to the interpreters: a kernel prepared for running, and a reducer that is given one
 * element at a time. */
#ifndef NXI_INTERP_H
#define NXI_INTERP_H

#include <stdatomic.h>

#include "ir/kernel/kernel.h"

/* A kernel with a memory slot for every value. It does not own the kernel, which must not change
 * while it is in use. */
typedef struct nxi_program {
  const nxk_kernel *kernel;
  /* for each instruction its first slot. A value takes `lanes` slots, a carry twice as many
   * (current and next) */
  uint32_t *slot;
  uint32_t *aux; /* for an opener: its `end`; for a reduce: its number among the reduces */
  uint32_t n_slots, n_reduces;
} nxi_program;

bool nxi_program_init(nxi_program *p,
                      const nxk_kernel *k); /* false: out of memory, or blocks do not nest */
void nxi_program_free(nxi_program *p);
/* Runs a kernel that has no memory accesses and returns lane 0 of `result`. slots: n_slots of them,
 * with any content. */
uint64_t nxi_program_value(const nxi_program *p, const uint64_t *params, nxk_value result,
                           uint64_t *slots);

/* A bool that another thread may change meanwhile. */
static inline uint64_t nxi_load_shared(const void *p) {
  return atomic_load_explicit((const _Atomic bool *)p, memory_order_relaxed);
}

/* A reduction in the order of docs/numerics.md, streaming: start, add each element in run order,
 * finish. */
enum { NXI_REDUCE_LANES = 16, NXI_REDUCE_LEVELS = 60 };
typedef struct nxi_partial {
  uint64_t value[NXI_REDUCE_LANES];
  int64_t index[NXI_REDUCE_LANES];
} nxi_partial;
typedef struct nxi_reducer {
  nxk_reduce_kind kind;
  nxk_order order;
  nx_dtype type; /* of the elements */
  int64_t count;
  nxi_partial block; /* the block that is being filled; plain and sequential use lane 0 only */
  nxi_partial tree[NXI_REDUCE_LEVELS];
} nxi_reducer;

void nxi_reducer_start(nxi_reducer *r, nxk_reduce_kind kind, nxk_order order, nx_dtype type);
void nxi_reducer_add(nxi_reducer *r, uint64_t a, uint64_t b); /* b: the second factor of dot */
uint64_t nxi_reducer_finish(nxi_reducer *r); /* the value; the run index for argmax, argmin */

/* (a, a_index) = combine((a, a_index), (b, b_index)) */
void nxi_combine(nxk_reduce_kind kind, nx_dtype type, uint64_t *a, int64_t *a_index, uint64_t b,
                 int64_t b_index);

/* Adds one element to a scan of complex products; y is the product up to it. count: the number of
 * elements before it. held: both parts of the product before the block, and of the product within
 * it so far. */
void nxi_scan_pairs(uint64_t held[4], int64_t count, bool blocks, nx_dtype part,
                    const uint64_t element[2], uint64_t y[2]);

#endif
