/* SPDX-License-Identifier: ISC */
/* Where the contents of a buffer are: in memory of the host (nxi_buffer.data), of a device that has
 * its own, or both. Contents are copied to a place when they are needed there. A buffer that host
 * code may write at any time (nxi_buffer_host_writes), because it is a shared import or is mapped
 * for writing, always counts as newer in host memory. */
#ifndef NXI_RESIDENCY_H
#define NXI_RESIDENCY_H

#include "runtime/device.h"
#include "runtime/record/context.h"

/* A buffer without contents that has memory of a device alone. */
nx_status nxi_buffer_create_on(nx_context *c, nxi_device *v, int64_t bytes, nxi_buffer **out,
                               nxi_diag *d);
/* Brings its contents to host memory, at b->data. Waits for the device if necessary. poll may be
 * NULL. */
nx_status nxi_buffer_to_host(nx_context *c, nxi_buffer *b, const nxi_poll *poll, nxi_diag *d);
/* Copies a part of the contents from the device, if they are there alone: *done. Where the contents
 * are does not change. */
nx_status nxi_buffer_read(nxi_buffer *b, void *to, int64_t from, int64_t bytes,
                          const nxi_poll *poll, bool *done, nxi_diag *d);
/* Brings its contents to the device; without `contents` only allocates memory there. The address
 * is valid until nxi_buffer_device_done. */
nx_status nxi_buffer_to_device(nx_context *c, nxi_buffer *b, nxi_device *v, bool contents,
                               uint64_t *at, nxi_diag *d);
/* Records that the work of the device up to that mark writes it. If host code can see the memory,
 * the contents are copied to it at once. */
nx_status nxi_buffer_device_written(nx_context *c, nxi_buffer *b, uint64_t mark,
                                    const nxi_poll *poll, nxi_diag *d);
/* Called by the user of its address when all work that uses the address has been started, up to
 * that mark. NXI_NOW: there is no mark. */
void nxi_buffer_device_done(nxi_buffer *b, uint64_t mark);
/* Records that host code has written it. */
void nxi_buffer_host_written(nxi_buffer *b);
/* Gives back its memory of a device. Nobody else has the buffer. */
void nxi_buffer_leave_device(nxi_buffer *b);
/* Gives back that many bytes of the device's memory, if there are as many, of buffers whose
 * contents are in host memory too and that no run uses. Returns how many. For
 * nxi_device.reclaim. */
int64_t nxi_buffers_leave(nxi_device *v, int64_t bytes);
/* Whether its address on the device is a multiple of 64. */
static inline bool nxi_buffer_aligned(const nxi_buffer *b, bool on_device) {
  return on_device || ((uintptr_t)b->data & 63) == 0;
}

/* ---- device.c */
nx_status nxi_devices_create(nx_context *c, const nx_context_options *o, nxi_diag *d);
void nxi_devices_destroy(struct nxi_devices *all); /* NULL is allowed */
/* The device of that number, opened. */
nx_status nxi_device_open(nx_context *c, int32_t device, nxi_device **out, nxi_diag *d);
/* The same if it is open, else NULL. */
nxi_device *nxi_device_opened(const nx_context *c, int32_t device);

#endif
