/* SPDX-License-Identifier: ISC */
/* Where the contents of a buffer are: in memory of the host (nxi_buffer.data), on a GPU, or both.
 * Contents are copied to a place when they are needed there. A buffer that host code may write at
 * any time, because it was imported or is mapped, always counts as newer in host memory. */
#ifndef NXI_RESIDENCY_H
#define NXI_RESIDENCY_H

#include "runtime/cuda/gpu.h"
#include "runtime/record/context.h"

/* A buffer without contents that has memory on a GPU alone. */
nx_status nxi_buffer_create_on(nx_context *c, nxi_gpu *g, int64_t bytes, nxi_buffer **out,
                               nxi_diag *d);
/* Brings its contents to host memory, at b->data. Waits for the GPU if necessary. poll may be
 * NULL. */
nx_status nxi_buffer_to_host(nx_context *c, nxi_buffer *b, const nxi_poll *poll, nxi_diag *d);
/* Brings its contents to the GPU; without `contents` only allocates memory there. The address is
 * valid until nxi_buffer_gpu_done. */
nx_status nxi_buffer_to_gpu(nx_context *c, nxi_buffer *b, nxi_gpu *g, bool contents, uint64_t *at,
                            nxi_diag *d);
/* Records that the work of the GPU up to that mark writes it. If host code can see the memory, the
 * contents are copied to it at once. */
nx_status nxi_buffer_on_gpu_written(nx_context *c, nxi_buffer *b, uint64_t mark,
                                    const nxi_poll *poll, nxi_diag *d);
/* Called by the user of its address when all work that uses the address has been started, up to
 * that mark. NXI_GPU_NOW: there is no mark. */
void nxi_buffer_gpu_done(nxi_buffer *b, uint64_t mark);
/* Records that host code has written it. */
void nxi_buffer_host_written(nxi_buffer *b);
/* Gives back its memory on a GPU. */
void nxi_buffer_leave_gpu(nxi_buffer *b);
/* Whether its address on the device is a multiple of 64. */
static inline bool nxi_buffer_aligned(const nxi_buffer *b, bool on_gpu) {
  return on_gpu || ((uintptr_t)b->data & 63) == 0;
}

/* ---- device.c */
nx_status nxi_devices_create(nx_context *c, const nx_context_options *o, nxi_diag *d);
void nxi_devices_destroy(struct nxi_devices *all); /* NULL is allowed */
/* The GPU of a device, opened; NULL for other devices. */
nx_status nxi_device_gpu(nx_context *c, int32_t device, nxi_gpu **out, nxi_diag *d);

#endif
