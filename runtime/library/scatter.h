/* SPDX-License-Identifier: ISC */
/* Updates written to, or added to, the elements that their indices name along one axis. Updates of
 * one element come in their C order, whatever the number of threads: each thread has columns, or
 * elements, of its own. */
#ifndef NXI_SCATTER_H
#define NXI_SCATTER_H

#include <stdbool.h>
#include <stdint.h>

#include "nx/dtype.h"
#include "nx/status.h"
#include "runtime/platform/threads.h"

enum { NXI_SCATTER_RANK = 32 };
typedef struct nxi_scatter {
  nx_dtype dtype;          /* sums are in it: not a small float, unless updates are set */
  bool adds, wide_indices; /* i64, else i32 */
  bool pairs; /* elements are two numbers of the dtype; strides and extents count pairs */
  int32_t rank, axis;
  int64_t extent;                  /* of the axis in the result */
  int64_t shape[NXI_SCATTER_RANK]; /* of the updates */
  /* in elements; of the result where an index is 0 */
  int64_t to[NXI_SCATTER_RANK], indices[NXI_SCATTER_RANK], updates[NXI_SCATTER_RANK];
} nxi_scatter;

/* Indices are in range, as a check before has found; others are passed over. pool and poll may be
 * NULL. NX_OK, or NX_INTERRUPTED with part of it done. */
nx_status nxi_scatter_run(const nxi_scatter *s, nxi_pool *pool, const nxi_poll *poll, void *to,
                          const void *indices, const void *updates);

#endif
