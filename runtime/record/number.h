/* SPDX-License-Identifier: ISC */
/* Numbers as operands of a recording (nxi_recording.number): the constants that stand for them, and
 * where those of the last calls are found again without the table of nodes. */
#ifndef NXI_NUMBER_H
#define NXI_NUMBER_H

#include "record.h"

typedef struct nxi_number {
  nx_dtype dtype;
  uint16_t called; /* the operation whose operand it is */
  uint64_t bits[2];
} nxi_number;

/* ---- the usual number, in few steps: record_lock */

/* Where the context remembers it, if it does. */
static inline uint32_t nxi_number_place(const nxi_number *number, uint32_t rank,
                                        const int64_t *shape) {
  uint64_t mix = number->bits[0] ^ (number->bits[1] << 1) ^ (uint64_t)number->dtype;
  for (uint32_t i = 0; i < rank; i++) mix = mix * 31 + (uint64_t)shape[i];
  return (uint32_t)((mix * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % NXI_NUMBERS;
}
/* The node there, if it is that of this number. Its constant may have got memory meanwhile, which
 * would be read instead of the number; it has left the table then. */
static inline nxi_node *nxi_number_find(const nx_context *c, uint32_t place,
                                        const nxi_number *number, uint32_t rank,
                                        const int64_t *shape, int32_t device) {
  nxi_node *n = c->numbers[place];
  if (!n || n->dtype != number->dtype || n->device != device || n->rank != rank) return NULL;
  for (uint32_t i = 0; i < rank; i++)
    if (nxi_node_shape(n)[i] != shape[i]) return NULL;
  nxi_node *full = rank ? nxi_node_args(n)[0] : n;
  const int64_t *attrs = nxi_node_attrs(full);
  bool same = (uint64_t)attrs[0] == number->bits[0] &&
              (full->n_attrs < 3 || (uint64_t)attrs[2] == number->bits[1]);
  bool listed = atomic_load_explicit(&full->flags, memory_order_relaxed) & NXI_NODE_LISTED;
  return same && listed ? n : NULL;
}

/* The constant seen with the shape of the operand o: what operands that are rank-0 constants are
 * read as. One reference; NULL without memory. record_lock. */
nxi_node *nxi_number_node(nx_context *c, const nxi_number *number, const nxi_operand *o,
                          int32_t device);
/* A node that is remembered leaves the table. record_lock. */
void nxi_number_forget(nx_context *c, nxi_node *n);

/* What nxg_op_admits says of an elementwise operation and the dtype of a tensor, in few steps. */
static inline bool nxi_map_admits(nxg_op op, nx_dtype dtype) {
  if (op == NXG_complex || nxg_ops[op].kind != NXG_KIND_MAP) return nxg_op_admits(op, dtype);
  return (nxi_dtypes[dtype].cls & nxg_ops[op].admits) != 0;
}
/* The dtype of what an elementwise operation gives, the last operand's being `dtype`. ops_map.c */
nx_dtype nxi_map_result(nxg_op op, nx_dtype dtype);

#endif
