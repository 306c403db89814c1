/* SPDX-License-Identifier: ISC */
/* runtime/library/scatter.h on a GPU: the same bits, unless sums of floats may come in any
 * order. */
#ifndef NXI_GPU_SCATTER_H
#define NXI_GPU_SCATTER_H

#include "runtime/cuda/gpu.h"
#include "runtime/library/scatter.h"

typedef struct nxi_gpu_scatter nxi_gpu_scatter;

/* any_order: floats are added by atomics. *out stays NULL if the host has to do the scatter,
 * because too many updates or elements would have to be sorted: more than 2^31 updates of a column,
 * or an axis of more than 2^32 elements. scratch_bytes: the scratch memory of a run. */
nx_status nxi_gpu_scatter_create(nxi_gpu *g, const nxi_scatter *s, bool any_order,
                                 nxi_gpu_scatter **out, int64_t *scratch_bytes, nxi_diag *d);
/* Starts the scatter. */
nx_status nxi_gpu_scatter_run(const nxi_gpu_scatter *s, nxi_gpu *g, uint64_t to, uint64_t indices,
                              uint64_t updates, uint64_t scratch, nxi_diag *d);
void nxi_gpu_scatter_destroy(nxi_gpu_scatter *s); /* NULL is allowed */

#endif
