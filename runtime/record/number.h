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

/* The constant seen with the shape of the operand o: what operands that are rank-0 constants are
 * read as. One reference; NULL without memory. record_lock. */
nxi_node *nxi_number_node(nx_context *c, const nxi_number *number, const nxi_operand *o,
                          int32_t device);
/* A node that is remembered leaves the table. record_lock. */
void nxi_number_forget(nx_context *c, nxi_node *n);

/* The dtype of what an elementwise operation gives, the last operand's being `dtype`. ops_map.c */
nx_dtype nxi_map_result(nxg_op op, nx_dtype dtype);

#endif
