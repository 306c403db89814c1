/* SPDX-License-Identifier: ISC */
/* The devices of a context, by number: the processor, the interpreter, the devices of other kinds,
 * and missing devices with the reason. A device with memory of its own is opened when an operation
 * is first recorded for it. */
#include "runtime/device.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "ir/platform/thread.h"
#include "runtime/realize/residency.h"
#include "runtime/realize/run.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/record/record.h"

const nxi_device_kind *const nxi_device_kinds[] = {
#define NXI_DEVICE(name) &nxi_##name##_device,
#include "devices.def"
#undef NXI_DEVICE
    NULL};

enum {
#define NXI_DEVICE(name) KIND_##name,
#include "devices.def"
#undef NXI_DEVICE
  KINDS,
  MOST_DEVICES = KINDS * NXI_MOST_OF_A_KIND
};

struct nxi_devices {
  nxi_mutex lock; /* of opening */
  _Atomic(nxi_device *) open[MOST_DEVICES];
  nxi_device_setup setup;
  char *cache_dir; /* NULL: the default */
};

/* ---- numbers. The last kind is not asked how many devices it has: asking a driver takes longer
 * than recording an operation. */

static int kind_number(const nx_context *c, int32_t device, int32_t *ordinal) {
  int kind = 0;
  for (; kind + 1 < KINDS; kind++) {
    int32_t n = nxi_device_kinds[kind]->count(&c->devices->setup);
    if (device < n) break;
    device -= n;
  }
  *ordinal = device;
  return kind;
}

const nxi_device_kind *nxi_device_kind_of(const nx_context *c, int32_t device) {
  int32_t ordinal;
  return nxi_device_kinds[kind_number(c, device, &ordinal)];
}

int32_t nxi_device_ordinal(const nx_context *c, int32_t device) {
  int32_t ordinal;
  kind_number(c, device, &ordinal);
  return ordinal;
}

int32_t nxi_device_of_dlpack(const nx_context *c, int32_t type, int32_t ordinal) {
  int32_t first = 0;
  for (int i = 0; i < KINDS; i++) {
    const nxi_device_kind *kind = nxi_device_kinds[i];
    int32_t n = kind->count(&c->devices->setup);
    if (kind->sharing && kind->dlpack_type == type)
      return ordinal >= 0 && ordinal < n ? first + ordinal : -1;
    first += n;
  }
  return -1;
}

static char names[KINDS][NXI_MOST_OF_A_KIND][16];
static nxi_once named = NXI_ONCE_INITIALIZER;
static void write_names(void) {
  for (int kind = 0; kind < KINDS; kind++)
    for (int i = 0; i < NXI_MOST_OF_A_KIND; i++)
      snprintf(names[kind][i], sizeof names[kind][i], i > 0 ? "%s:%d" : "%s",
               nxi_device_kinds[kind]->name, i);
}

static const char *name_of(const nx_context *c, nx_device device) {
  int32_t ordinal;
  int kind = kind_number(c, device, &ordinal);
  nxi_once_run(&named, write_names);
  return names[kind][ordinal];
}

/* The reason why the device cannot be used; NULL if it can. */
static const char *reason(const nx_context *c, nx_device device) {
  int32_t ordinal;
  int kind = kind_number(c, device, &ordinal);
  return nxi_device_kinds[kind]->missing(ordinal);
}

int32_t nx_device_count(const nx_context *c) {
  int32_t n = 0;
  if (!c || !nxi_have_context("device", 0, c)) return 0;
  for (int i = 0; i < KINDS; i++) n += nxi_device_kinds[i]->count(&c->devices->setup);
  return n;
}

/* ---- creating and destroying */

/* NULL: it was never opened. */
static nxi_device *opened(const nx_context *c, nx_device device) {
  if (device < 0 || device >= MOST_DEVICES) return NULL;
  return atomic_load_explicit(&c->devices->open[device], memory_order_acquire);
}

nx_status nxi_device_open(nx_context *c, int32_t device, nxi_device **out, nxi_diag *d) {
  struct nxi_devices *all = c->devices;
  int32_t ordinal;
  nx_status status = NX_OK;
  if ((*out = opened(c, device))) return NX_OK;
  const nxi_device_kind *kind = nxi_device_kinds[kind_number(c, device, &ordinal)];
  nxi_mutex_lock(&all->lock);
  nxi_device_setup setup = all->setup;
  setup.first = opened(c, device - ordinal);
  if (!(*out = opened(c, device))) status = kind->open(ordinal, &setup, out, d);
  if (!status && !(*out)->pool) (*out)->pool = setup.pool;
  if (!status && kind->own_memory) (*out)->reclaim = nxi_buffers_leave;
  if (!status) atomic_store_explicit(&all->open[device], *out, memory_order_release);
  nxi_mutex_unlock(&all->lock);
  return status;
}

/* Opens the devices that use the host's memory. */
static nx_status open_hosts(nx_context *c, nxi_diag *d) {
  nx_status status = NX_OK;
  for (int32_t i = 0; !status && !nxi_device_kind_of(c, i)->own_memory; i++) {
    nxi_device *ignored;
    status = nxi_device_open(c, i, &ignored, d);
  }
  return status;
}

nx_status nxi_devices_create(nx_context *c, const nx_context_options *o, nxi_diag *d) {
  struct nxi_devices *all = nxi_calloc(1, sizeof *all);
  if (!all) return nxi_oom(d);
  nxi_mutex_init(&all->lock);
  c->devices = all;
  if (o->cache_dir) {
    size_t size = strlen(o->cache_dir) + 1;
    all->cache_dir = nxi_malloc(size);
    if (!all->cache_dir) return nxi_oom(d);
    memcpy(all->cache_dir, o->cache_dir, size);
  }
  all->setup = (nxi_device_setup){.memory_limit = (int64_t)o->memory_limit,
                                  .cache_dir = all->cache_dir,
                                  .allocator = c->allocator,
                                  .pool = c->pool,
                                  .cpu_devices = o->cpu_devices};
  return open_hosts(c, d);
}

/* Called after plans and buffers were destroyed. */
void nxi_devices_destroy(struct nxi_devices *all) {
  if (!all) return;
  for (int i = 0; i < MOST_DEVICES; i++) {
    nxi_device *v = atomic_load_explicit(&all->open[i], memory_order_relaxed);
    if (v) v->kind->close(v);
  }
  nxi_mutex_destroy(&all->lock);
  nxi_free(all->cache_dir);
  nxi_free(all);
}

nxi_device *nxi_device_opened(const nx_context *c, int32_t device) { return opened(c, device); }

/* A device that is open is usable; asking a driver takes longer than recording an operation. */
bool nxi_device_usable(nx_context *c, const char *op, nx_device device, nxi_diag *d) {
  nxi_device *v;
  if (opened(c, device)) return true;
  if (device < 0 || device >= nx_device_count(c)) {
    nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: there is no device %d", op, device);
    return false;
  }
  const char *why = reason(c, device);
  if (!why) return !nxi_oom_in(d, nxi_device_open(c, device, &v, d), op);
  nxi_fail(d, NX_DEVICE_UNAVAILABLE, op, "%s: device %d (%s) is not available: %s", op, device,
           name_of(c, device), why);
  return false;
}

nx_status nx_device_describe(const nx_context *c, nx_device device, nx_device_info *out) {
  if (!nxi_have_context("device", 0, c)) return NX_INVALID_ARGUMENT;
  if (!out) return nxi_error_null("device", 2), NX_INVALID_ARGUMENT;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (device < 0 || device >= nx_device_count(c)) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, "device", "device: there is no device %d", device);
    return nxi_error_report(&d);
  }
  int32_t ordinal;
  const nxi_device_kind *kind = nxi_device_kinds[kind_number(c, device, &ordinal)];
  const nxi_device *v = opened(c, device);
  const char *why = reason(c, device);
  nx_device_info info = {.size = sizeof info,
                         .name = name_of(c, device),
                         .reason = why,
                         .available = !why,
                         .interpreted = v ? kind->interpreted(v) : NULL,
                         .memory = why ? 0 : kind->memory(ordinal),
                         .dlpack_type = kind->dlpack_type,
                         .ordinal = ordinal};
  return nxi_fill(out, &info, sizeof info, "nx_device_info", "device");
}

/* Only a device with memory of its own may still be working: actions on the processor have ended
 * when they return. */
nx_status nx_wait(nx_context *c, nx_device device) {
  if (!nxi_have_context("wait", 0, c)) return NX_INVALID_ARGUMENT;
  nxi_diag d;
  nxi_device *v = NULL;
  nxi_diag_clear(&d);
  if (!nxi_device_usable(c, "wait", device, &d)) return nxi_error_report(&d);
  nx_status status = nxi_device_open(c, device, &v, &d);
  if (!status) status = v->kind->wait(v, NXI_NOW, NULL, &d);
  return status ? (nxi_oom_in(&d, status, "wait"), nxi_error_report(&d)) : NX_OK;
}

/* ---- memory */

/* False: the device does not exist, which is reported. */
static bool exists(const nx_context *c, const char *op, nx_device device) {
  nxi_diag d;
  if (device >= 0 && device < nx_device_count(c)) return true;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: there is no device %d", op, device);
  nxi_error_report(&d);
  return false;
}

nx_status nx_device_memory(const nx_context *c, nx_device device, nx_memory *out) {
  nx_memory memory = {.size = sizeof memory};
  if (!nxi_have_context("device", 0, c)) return NX_INVALID_ARGUMENT;
  if (!out) return nxi_error_null("device", 2), NX_INVALID_ARGUMENT;
  if (!exists(c, "device", device)) return NX_INVALID_ARGUMENT;
  nxi_device *v = opened(c, device);
  if (v) {
    nxi_device_stats s;
    nxi_buffers_drop_spare((nx_context *)c);
    v->kind->statistics(v, &s);
    memory = (nx_memory){sizeof memory, (uint64_t)s.live, (uint64_t)s.peak, (uint64_t)s.cached,
                         s.allocations};
  }
  return nxi_fill(out, &memory, sizeof memory, "nx_memory", "device");
}

nx_status nx_device_trim(nx_context *c, nx_device device) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_have_context("trim", 0, c)) return NX_INVALID_ARGUMENT;
  if (!exists(c, "trim", device)) return NX_INVALID_ARGUMENT;
  nx_context_collect(c);
  nxi_buffers_drop_spare(c);
  nxi_device *v = opened(c, device);
  if (v && v->reclaim) v->reclaim(v, INT64_MAX);
  nx_status status = v ? v->kind->trim(v, &d) : NX_OK;
  return status ? nxi_error_report(&d) : NX_OK;
}
