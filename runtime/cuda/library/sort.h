/* SPDX-License-Identifier: ISC */
/* Stable sorts on a GPU. Results have the same bits as those of runtime/library/sort/sort.c. */
#ifndef NXI_GPU_SORT_H
#define NXI_GPU_SORT_H

#include "nx/dtype.h"
#include "runtime/cuda/gpu.h"

/* Along the middle axis of [outer, length, inner]. */
typedef struct nxi_gpu_sort_shape {
  nx_dtype dtype;
  bool indices; /* the result is i32: positions on the axis, whose length is less than 2^31 */
  bool descending;
  int64_t outer, length, inner;
} nxi_gpu_sort_shape;

typedef struct nxi_gpu_sort nxi_gpu_sort;

/* False: the shape is too large. */
bool nxi_gpu_sort_takes(const nxi_gpu_sort_shape *shape);
/* Prepares the code; the shape must be one that nxi_gpu_sort_takes accepts. scratch_bytes: the
 * scratch memory of a run. */
nx_status nxi_gpu_sort_create(nxi_gpu *g, const nxi_gpu_sort_shape *shape, nxi_gpu_sort **out,
                              int64_t *scratch_bytes, nxi_diag *d);
/* Starts the sort. scratch is a multiple of 256; the memory areas do not overlap. Runs with
 * separate memory may overlap in time. */
nx_status nxi_gpu_sort_run(const nxi_gpu_sort *s, nxi_gpu *g, uint64_t from, uint64_t to,
                           uint64_t scratch, nxi_diag *d);
void nxi_gpu_sort_destroy(nxi_gpu_sort *s); /* NULL is allowed */

#endif
