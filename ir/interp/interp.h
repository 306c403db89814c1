/* SPDX-License-Identifier: ISC */
/* Inside the interpreter: a kernel made ready to run, and a reduction fed one element at a time. */
#ifndef NXI_INTERP_H
#define NXI_INTERP_H

#include "ir/kernel/kernel.h"

/* A kernel with a place for every value. Does not own the kernel, which must not change while it is
 * in use. */
typedef struct nxi_program {
  const nxk_kernel *kernel;
  /* of an instruction: its first slot; lanes slots each, a carry twice as many (current, next) */
  uint32_t *slot;
  uint32_t *aux; /* of an opener: its `end`; of a reduce: its number among the reduces */
  uint32_t n_slots, n_reduces;
} nxi_program;

bool nxi_program_init(nxi_program *p,
                      const nxk_kernel *k); /* false: out of memory, or blocks do not nest */
void nxi_program_free(nxi_program *p);
/* Runs a kernel without memory and gives lane 0 of `result`. slots: n_slots of them, any
 * content. */
uint64_t nxi_program_value(const nxi_program *p, const uint64_t *params, nxk_value result,
                           uint64_t *slots);

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
  nxi_partial block; /* the block being filled; lane 0 alone for plain and sequential */
  nxi_partial tree[NXI_REDUCE_LEVELS];
} nxi_reducer;

void nxi_reducer_start(nxi_reducer *r, nxk_reduce_kind kind, nxk_order order, nx_dtype type);
void nxi_reducer_add(nxi_reducer *r, uint64_t a, uint64_t b); /* b: the second factor of dot */
uint64_t nxi_reducer_finish(nxi_reducer *r); /* the value; the run index for argmax, argmin */

/* (a, a_index) = combine((a, a_index), (b, b_index)) */
void nxi_combine(nxk_reduce_kind kind, nx_dtype type, uint64_t *a, int64_t *a_index, uint64_t b,
                 int64_t b_index);

/* One more element of a scan of products of pairs; y is the product up to it. `count`: of those
 * before it. `held`: both parts of what is before the block, and of what is in it so far. */
void nxi_scan_pairs(uint64_t held[4], int64_t count, bool blocks, nx_dtype part,
                    const uint64_t element[2], uint64_t y[2]);

#endif
