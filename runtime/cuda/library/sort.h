/* SPDX-License-Identifier: ISC */
/* Stable sorts on a GPU, as runtime/library/sort/sort.c does them on processors: the same bits. */
#ifndef NXI_GPU_SORT_H
#define NXI_GPU_SORT_H

#include "nx/dtype.h"
#include "runtime/cuda/gpu.h"

/* Along the middle axis of [outer, length, inner]. */
typedef struct nxi_gpu_sort_shape {
  nx_dtype dtype;
  bool indices; /* the result is i32: places on the axis, of which there are fewer than 2^31 */
  bool descending;
  int64_t outer, length, inner;
} nxi_gpu_sort_shape;

typedef struct nxi_gpu_sort nxi_gpu_sort;

/* False: it is too large. */
bool nxi_gpu_sort_takes(const nxi_gpu_sort_shape *shape);
/* Makes the code ready; of a shape that it takes. scratch_bytes: what a run needs. */
nx_status nxi_gpu_sort_create(nxi_gpu *g, const nxi_gpu_sort_shape *shape, nxi_gpu_sort **out,
                              int64_t *scratch_bytes, nxi_diag *d);
/* Starts it. scratch at a multiple of 256; nothing overlaps. Runs may overlap. */
nx_status nxi_gpu_sort_run(const nxi_gpu_sort *s, nxi_gpu *g, uint64_t from, uint64_t to,
                           uint64_t scratch, nxi_diag *d);
void nxi_gpu_sort_destroy(nxi_gpu_sort *s); /* NULL is allowed */

#endif
