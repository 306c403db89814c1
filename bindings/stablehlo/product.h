/* SPDX-License-Identifier: ISC */
/* Products of two operands, of which some axes are contracted. */
#ifndef NXH_PRODUCT_H
#define NXH_PRODUCT_H

#include "record.h"

/* An operand's axes: batch, free, contracted. `rest` and sizes are filled in. */
typedef struct nxh_side {
  nx_tensor *x;
  int32_t batch[NX_MAX_RANK], contracted[NX_MAX_RANK], rest[NX_MAX_RANK];
  uint32_t n_batch, n_contracted, n_rest;
  int64_t size_batch, size_contracted, size_rest;
} nxh_side;

/* Divides the axes that are neither. */
bool nxh_sort_axes(nxh_recorder *r, nxh_side *s);
/* The axes that the operation says. */
bool nxh_product_axes(nxh_recorder *r, const nxh_op *op, nxh_side *a, nxh_side *b);
/* The axes of the batch, and then the free ones of both; in that type. NULL: a failure. */
nx_tensor *nxh_product(nxh_recorder *r, nxh_side *a, nxh_side *b, nx_dtype dtype);
nx_tensor *nxh_of_type(nx_tensor *x, nx_dtype type); /* NULL gives NULL */

#endif
