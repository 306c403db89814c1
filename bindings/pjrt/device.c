/* SPDX-License-Identifier: ISC */
/* Devices, their memories, and topologies, which are numbers of devices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "ir/alloc.h"

/* ---- descriptions */

nxj_error *nxj_description_id(void *args) {
  NXJ_TAKE(description_number, number);
  a->number = a->description->id;
  return NULL;
}

nxj_error *nxj_description_process(void *args) {
  NXJ_TAKE(description_number, number);
  a->number = 0;
  return NULL;
}

nxj_error *nxj_description_attributes(void *args) {
  NXJ_TAKE(description_attributes, list);
  a->list = NULL;
  a->n = 0;
  return NULL;
}

nxj_error *nxj_description_kind(void *args) {
  NXJ_TAKE(description_text, n);
  a->text = a->description->kind;
  a->n = strlen(a->text);
  return NULL;
}

nxj_error *nxj_description_text(void *args) {
  NXJ_TAKE(description_text, n);
  a->text = a->description->text;
  a->n = strlen(a->text);
  return NULL;
}

/* ---- devices */

nxj_error *nxj_device_description(void *args) {
  NXJ_TAKE(device_description, description);
  a->description = a->device->description;
  return NULL;
}

nxj_error *nxj_device_addressable(void *args) {
  NXJ_TAKE(device_addressable, addressable);
  a->addressable = true;
  return NULL;
}

nxj_error *nxj_device_number(void *args) {
  NXJ_TAKE(device_number, number);
  a->number = a->device->description->id;
  return NULL;
}

nxj_error *nxj_device_memories(void *args) {
  NXJ_TAKE(device_memories, n);
  a->list = a->device->memories;
  a->n = (size_t)a->device->client->n_kinds;
  return NULL;
}

nxj_error *nxj_device_memory(void *args) {
  NXJ_TAKE(device_memory, memory);
  a->memory = &a->device->memory[0];
  return NULL;
}

nxj_error *nxj_device_statistics(void *args) {
  NXJ_TAKE(device_statistics, peak_pool.known); /* a caller does not count what pads the last */
  nx_memory m = {.size = sizeof m};
  nx_status s = nx_device_memory(a->device->client->context, a->device->index, &m);
  if (s != NX_OK) return nxj_of_status(s);
  a->in_use = (int64_t)m.live_bytes;
  a->peak = (nxj_statistic){(int64_t)m.peak_bytes, true};
  a->allocations = (nxj_statistic){(int64_t)m.allocations, true};
  a->pool = (nxj_statistic){(int64_t)(m.live_bytes + m.cached_bytes), true};
  a->largest.known = a->limit.known = a->reserved.known = a->peak_reserved.known = false;
  a->reservable.known = a->largest_free.known = a->peak_pool.known = false;
  return NULL;
}

static void release_nothing(void *owner) { (void)owner; }

nxj_error *nxj_device_attributes(void *args) {
  NXJ_TAKE(device_attributes, release);
  a->list = NULL;
  a->n = 0;
  a->owner = NULL;
  a->release = release_nothing;
  return NULL;
}

/* ---- memories */

nxj_error *nxj_memory_id(void *args) {
  NXJ_TAKE(memory_number, number);
  a->number = a->memory->id;
  return NULL;
}

nxj_error *nxj_memory_kind_id(void *args) {
  NXJ_TAKE(memory_number, number);
  a->number = a->memory->kind;
  return NULL;
}

nxj_error *nxj_memory_name(void *args) {
  NXJ_TAKE(memory_text, n);
  a->text = nxj_kinds[a->memory->kind];
  a->n = strlen(a->text);
  return NULL;
}

nxj_error *nxj_memory_text(void *args) {
  NXJ_TAKE(memory_text, n);
  a->text = a->memory->text;
  a->n = strlen(a->text);
  return NULL;
}

nxj_error *nxj_memory_devices(void *args) {
  NXJ_TAKE(memory_devices, n);
  nxj_device *d = a->memory->device;
  a->list = &d->client->devices[d->description->id];
  a->n = 1;
  return NULL;
}

/* ---- topologies */

nxj_topology *nxj_topology_new(int n, const char *kind) {
  nxj_topology *t = nxi_calloc(1, sizeof *t);
  if (t == NULL) return NULL;
  atomic_init(&t->refs, 1);
  t->n = n;
  for (int i = 0; i < n; i++) {
    nxj_description *d = t->list[i] = &t->descriptions[i];
    d->id = i;
    snprintf(d->kind, sizeof d->kind, "%s", kind);
    snprintf(d->text, sizeof d->text, "NxDevice(id=%d)", i);
  }
  return t;
}

void nxj_topology_drop(nxj_topology *t) {
  if (t != NULL && atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1) nxi_free(t);
}

/* As many of the processor as NX_CPU_DEVICES says: how many GPUs there are a client knows. */
nxj_error *nxj_topology_create(void *args) {
  NXJ_TAKE(topology_create, topology);
  const char *said = getenv("NX_CPU_DEVICES");
  long n = said != NULL ? strtol(said, NULL, 10) : 1;
  nxj_topology *t = nxj_topology_new(n < 1 ? 1 : n > 32 ? 32 : (int)n, "nx");
  if (t == NULL) return nxj_no_memory();
  a->topology = t;
  return NULL;
}

nxj_error *nxj_topology_destroy(void *args) {
  NXJ_TAKE(topology, topology);
  nxj_topology_drop(a->topology);
  return NULL;
}

nxj_error *nxj_topology_name(void *args) {
  NXJ_TAKE(topology_text, n);
  a->text = nxj_platform;
  a->n = strlen(nxj_platform);
  return NULL;
}

nxj_error *nxj_topology_version(void *args) {
  NXJ_TAKE(topology_text, n);
  a->text = nxj_platform_version;
  a->n = strlen(nxj_platform_version);
  return NULL;
}

nxj_error *nxj_topology_devices(void *args) {
  NXJ_TAKE(topology_devices, n);
  a->list = a->topology->list;
  a->n = (size_t)a->topology->n;
  return NULL;
}

nxj_error *nxj_topology_attributes(void *args) {
  NXJ_TAKE(topology_attributes, n);
  a->list = NULL;
  a->n = 0;
  return NULL;
}

/* Text: "nx", and how many devices. */
nxj_error *nxj_topology_serialize(void *args) {
  NXJ_TAKE(topology_serialize, release);
  nxj_bytes *b = nxj_bytes_new(16);
  if (b == NULL) return nxj_no_memory();
  a->n = (size_t)snprintf(b->at, 16, "nx %d", a->topology->n);
  a->bytes = b->at;
  a->owner = b;
  a->release = nxj_bytes_free;
  return NULL;
}

nxj_error *nxj_topology_deserialize(void *args) {
  NXJ_TAKE(topology_deserialize, topology);
  int n = 0;
  if (a->n > 3 && a->n < 6 && memcmp(a->bytes, "nx ", 3) == 0)
    for (size_t i = 3; i < a->n; i++)
      n = a->bytes[i] >= '0' && a->bytes[i] <= '9' ? 10 * n + a->bytes[i] - '0' : 1000;
  if (n < 1 || n > 32)
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: these bytes are no topology of this plugin");
  nxj_topology *t = nxj_topology_new(n, "nx");
  if (t == NULL) return nxj_no_memory();
  a->topology = t;
  return NULL;
}

nxj_error *nxj_topology_fingerprint(void *args) {
  NXJ_TAKE(topology_fingerprint, fingerprint);
  a->fingerprint = 0x6e78000000000000u + (uint64_t)a->topology->n;
  return NULL;
}
