/* SPDX-License-Identifier: ISC */
/* The host's memory as that of a device. See host.h. */
#include "host.h"

#include "ir/platform/pages.h"

static nxi_allocator *allocator_of(nxi_device *v) { return ((nxi_host_device *)v)->allocator; }

int32_t nxi_host_count(const nxi_device_setup *s) {
  (void)s;
  return 1;
}

const char *nxi_host_missing(int32_t number) {
  (void)number;
  return NULL;
}

uint64_t nxi_host_memory(int32_t number) {
  (void)number;
  return (uint64_t)nxi_machine_memory();
}

nx_status nxi_host_wait(nxi_device *v, uint64_t mark, const nxi_poll *poll, nxi_diag *d) {
  (void)v, (void)mark, (void)poll, (void)d;
  return NX_OK;
}

nx_status nxi_host_alloc(nxi_device *v, int64_t bytes, uint64_t *at, nxi_diag *d) {
  void *memory = NULL;
  nx_status status = nxi_buffer_alloc(allocator_of(v), bytes, &memory, d);
  *at = (uintptr_t)memory;
  return status;
}

void nxi_host_free_after(nxi_device *v, uint64_t at, int64_t bytes, uint64_t after) {
  (void)after;
  nxi_buffer_free(allocator_of(v), (void *)(uintptr_t)at, bytes);
}

nx_status nxi_host_trim(nxi_device *v, nxi_diag *d) {
  (void)d;
  nxi_allocator_trim(allocator_of(v), 0);
  return NX_OK;
}

void nxi_host_statistics(nxi_device *v, nxi_device_stats *out) {
  nxi_memory_stats s;
  nxi_allocator_stats(allocator_of(v), &s);
  *out = (nxi_device_stats){s.live, s.peak, s.cached, s.allocations};
}

uint64_t nxi_host_mark(nxi_device *v) {
  (void)v;
  return 0;
}
