/* SPDX-License-Identifier: ISC */
/* Which columns of a product the kernel uses that follows on its rows. */
#ifndef NXP_KERNEL_COLUMNS_SEEN_H
#define NXP_KERNEL_COLUMNS_SEEN_H

#include "ir/kernel/kernel.h"
#include "ir/library/seen.h"

/* The kernel of one row: it reads row `row` of m, of n columns, from `buffer`, each element at the
 * index of a loop, without an offset and one after the other (reads_own_row of product.c has seen
 * to that); parameter `row` (NXK_NONE: there is none) is the row's number. */
typedef struct nxp_row_kernel {
  const nxk_kernel *k;
  uint32_t buffer, row;
  int64_t m, n;
} nxp_row_kernel;

/* True, and *seen, if it does not use all of them. False as well without memory. */
bool nxp_columns_seen(const nxp_row_kernel *r, nxi_seen *seen);

#endif
