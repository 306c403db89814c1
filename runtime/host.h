/* SPDX-License-Identifier: ISC */
/* What devices share that have no memory of their own: the functions of their tables for the host's
 * memory, where all work has ended when a call returns. */
#ifndef NXI_HOST_H
#define NXI_HOST_H

#include "device.h"

/* Devices of such a kind begin with it. */
typedef struct nxi_host_device {
  nxi_device base;
  nxi_allocator *allocator;
} nxi_host_device;
int32_t nxi_host_count(const nxi_device_setup *s); /* one */
const char *nxi_host_missing(int32_t number);
uint64_t nxi_host_memory(int32_t number);
nx_status nxi_host_wait(nxi_device *v, uint64_t mark, const nxi_poll *poll, nxi_diag *d);
nx_status nxi_host_alloc(nxi_device *v, int64_t bytes, uint64_t *at, nxi_diag *d);
void nxi_host_free_after(nxi_device *v, uint64_t at, int64_t bytes, uint64_t after);
nx_status nxi_host_trim(nxi_device *v, nxi_diag *d);
void nxi_host_statistics(nxi_device *v, nxi_device_stats *out);
uint64_t nxi_host_mark(nxi_device *v);

#endif
