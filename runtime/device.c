/* SPDX-License-Identifier: ISC */
/* The devices of a context: the processor, the interpreter, GPUs, and missing devices with the
 * reason. A GPU is opened when an operation is first recorded for it. */
#include <string.h>

#include "codegen_cuda/codegen_cuda.h"
#include "platform/pages.h"
#include "platform/thread.h"
#include "runtime/cuda/maker.h"
#include "runtime/debug.h"
#include "runtime/realize/residency.h"
#include "runtime/realize/run.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

struct nxi_devices {
  nxi_mutex lock;
  struct opened {
    nxi_gpu *gpu;
    nxi_kernel_cache *kernels;
  } gpus[NXI_MOST_GPUS];
  int64_t memory_limit;
  char *cache_dir; /* NULL: the default */
};

/* ---- creating and destroying */

nx_status nxi_devices_create(nx_context *c, const nx_context_options *o, nxi_diag *d) {
  struct nxi_devices *all = nxi_calloc(1, sizeof *all);
  if (!all) return nxi_oom(d);
  nxi_mutex_init(&all->lock);
  all->memory_limit = (int64_t)o->memory_limit;
  c->devices = all;
  if (!o->cache_dir) return NX_OK;
  size_t size = strlen(o->cache_dir) + 1;
  all->cache_dir = nxi_malloc(size);
  if (!all->cache_dir) return nxi_oom(d);
  memcpy(all->cache_dir, o->cache_dir, size);
  return NX_OK;
}

/* Called after plans and buffers were destroyed. */
void nxi_devices_destroy(struct nxi_devices *all) {
  if (!all) return;
  for (int i = 0; i < NXI_MOST_GPUS; i++) {
    nxi_kernel_cache_destroy(all->gpus[i].kernels);
    nxi_gpu_close(all->gpus[i].gpu);
  }
  nxi_mutex_destroy(&all->lock);
  nxi_free(all->cache_dir);
  nxi_free(all);
}

/* ---- the devices that are present */

static int32_t gpus(void) {
  const char *why;
  int32_t n = nxi_gpu_count(&why);
  return n < NXI_MOST_GPUS ? n : NXI_MOST_GPUS;
}

/* The reason why the device cannot be used; NULL if it can. */
static const char *reason(nx_device device) {
  const char *why = NULL;
  nxi_gpu_info info;
  if (device < NXI_DEVICE_CUDA) return NULL;
  if (!nxi_gpu_describe(device - NXI_DEVICE_CUDA, &info, &why)) return why;
  return nxu_unavailable_for(info.arch);
}

static const char *name_of(nx_device device) {
  static const char *const names[NXI_DEVICE_CUDA + NXI_MOST_GPUS] = {
      "cpu",     "interp",  "cuda",    "cuda:1",  "cuda:2",  "cuda:3",
      "cuda:4",  "cuda:5",  "cuda:6",  "cuda:7",  "cuda:8",  "cuda:9",
      "cuda:10", "cuda:11", "cuda:12", "cuda:13", "cuda:14", "cuda:15"};
  return names[device];
}

int32_t nx_device_count(const nx_context *c) {
  int32_t n = gpus();
  if (c && !nxi_have_context("device", 0, c)) return 0;
  return c ? NXI_DEVICE_CUDA + (n > 0 ? n : 1) : 0;
}

/* The lock is held. */
static nx_status open_gpu(struct nxi_devices *all, int32_t number, nxi_diag *d) {
  struct opened *o = &all->gpus[number];
  nx_status status = nxi_gpu_open(number, all->memory_limit, &o->gpu, d);
  if (!status)
    status = nxi_kernel_cache_create_for(&nxi_gpu_maker, o->gpu, all->cache_dir, &o->kernels, d);
  if (!status) {
    nxi_gpu_set_kernels(o->gpu, o->kernels);
    return NX_OK;
  }
  nxi_gpu_close(o->gpu);
  o->gpu = NULL;
  return status;
}

nx_status nxi_device_gpu(nx_context *c, int32_t device, nxi_gpu **out, nxi_diag *d) {
  struct nxi_devices *all = c->devices;
  *out = NULL;
  if (device < NXI_DEVICE_CUDA) return NX_OK;
  int32_t number = device - NXI_DEVICE_CUDA;
  nxi_mutex_lock(&all->lock);
  nx_status status = all->gpus[number].gpu ? NX_OK : open_gpu(all, number, d);
  *out = all->gpus[number].gpu;
  nxi_mutex_unlock(&all->lock);
  return status;
}

void nxi_device_options(const nx_context *c, int32_t device, nxi_executable_options *out) {
  struct nxi_devices *all = c->devices;
  int32_t number = device - NXI_DEVICE_CUDA;
  nxi_mutex_lock(&all->lock);
  const struct opened *o = &all->gpus[number];
  if (o->gpu) out->target = nxi_gpu_target(o->gpu);
  out->kernels = o->kernels;
  out->gpu = o->gpu;
  out->sums_in_any_order = c->flags & NX_UNORDERED_SUMS;
  nxi_mutex_unlock(&all->lock);
}

/* Whether the device is known to be usable because it is open. Asking the driver takes longer than
 * recording an operation. */
static bool is_open(nx_context *c, nx_device device) {
  if (device < NXI_DEVICE_CUDA || device >= NXI_DEVICE_CUDA + NXI_MOST_GPUS) return false;
  nxi_mutex_lock(&c->devices->lock);
  bool open = c->devices->gpus[device - NXI_DEVICE_CUDA].gpu != NULL;
  nxi_mutex_unlock(&c->devices->lock);
  return open;
}

bool nxi_device_usable(nx_context *c, const char *op, nx_device device, nxi_diag *d) {
  nxi_gpu *gpu;
  if (is_open(c, device)) return true;
  if (device < 0 || device >= nx_device_count(c)) {
    nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: there is no device %d", op, device);
    return false;
  }
  const char *why = reason(device);
  if (!why) return !nxi_oom_in(d, nxi_device_gpu(c, device, &gpu, d), op);
  nxi_fail(d, NX_DEVICE_UNAVAILABLE, op, "%s: device %d (%s) is not available: %s", op, device,
           name_of(device), why);
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
  const char *why = reason(device);
  nx_device_info info = {.size = sizeof info,
                         .name = name_of(device),
                         .reason = why,
                         .available = !why,
                         .interpreted = device == 0 ? nxi_executor_missing(c) : NULL,
                         .dlpack_type = device >= NXI_DEVICE_CUDA ? 2 : 1,
                         .ordinal = device >= NXI_DEVICE_CUDA ? device - NXI_DEVICE_CUDA : 0};
  nxi_gpu_info gpu;
  if (device >= NXI_DEVICE_CUDA) {
    const char *ignored;
    if (!why && nxi_gpu_describe(device - NXI_DEVICE_CUDA, &gpu, &ignored))
      info.memory = gpu.memory;
  } else {
    info.memory = (uint64_t)nxi_machine_memory();
  }
  return nxi_fill(out, &info, sizeof info, "nx_device_info", "device");
}

/* Only a GPU may still be working: actions on the processor have ended when they return. */
nx_status nx_wait(nx_context *c, nx_device device) {
  if (!nxi_have_context("wait", 0, c)) return NX_INVALID_ARGUMENT;
  nxi_diag d;
  nxi_gpu *gpu = NULL;
  nxi_diag_clear(&d);
  if (!nxi_device_usable(c, "wait", device, &d)) return nxi_error_report(&d);
  nx_status status = nxi_device_gpu(c, device, &gpu, &d);
  if (!status && gpu) status = nxi_gpu_wait(gpu, NULL, &d);
  return status ? (nxi_oom_in(&d, status, "wait"), nxi_error_report(&d)) : NX_OK;
}

/* ---- memory */

/* Sets *out to the GPU if the device is an open GPU, else to NULL. False: the device does not
 * exist, which is reported. */
static bool opened_gpu(const nx_context *c, const char *op, nx_device device, nxi_gpu **out) {
  struct nxi_devices *all = c->devices;
  *out = NULL;
  if (device < 0 || device >= nx_device_count(c)) {
    nxi_diag d;
    nxi_diag_clear(&d);
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: there is no device %d", op, device);
    nxi_error_report(&d);
    return false;
  }
  if (device < NXI_DEVICE_CUDA) return true;
  nxi_mutex_lock(&all->lock);
  *out = all->gpus[device - NXI_DEVICE_CUDA].gpu;
  nxi_mutex_unlock(&all->lock);
  return true;
}

nx_status nx_device_memory(const nx_context *c, nx_device device, nx_memory *out) {
  nxi_gpu *gpu;
  nx_memory memory = {.size = sizeof memory};
  if (!nxi_have_context("device", 0, c)) return NX_INVALID_ARGUMENT;
  if (!out) return nxi_error_null("device", 2), NX_INVALID_ARGUMENT;
  if (!opened_gpu(c, "device", device, &gpu)) return NX_INVALID_ARGUMENT;
  if (gpu) {
    nxi_gpu_stats s;
    nxi_gpu_statistics(gpu, &s);
    memory = (nx_memory){sizeof memory, (uint64_t)s.live, (uint64_t)s.peak, (uint64_t)s.cached,
                         s.allocations};
  } else if (device < NXI_DEVICE_CUDA) {
    nxi_memory_stats s;
    nxi_allocator_stats(c->allocator, &s);
    memory = (nx_memory){sizeof memory, (uint64_t)s.live, (uint64_t)s.peak, (uint64_t)s.cached,
                         s.allocations};
  }
  return nxi_fill(out, &memory, sizeof memory, "nx_memory", "device");
}

nx_status nx_device_trim(nx_context *c, nx_device device) {
  nxi_gpu *gpu;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_have_context("trim", 0, c)) return NX_INVALID_ARGUMENT;
  if (!opened_gpu(c, "trim", device, &gpu)) return NX_INVALID_ARGUMENT;
  nx_context_collect(c);
  nx_status status = gpu ? nxi_gpu_trim(gpu, &d) : NX_OK;
  if (device < NXI_DEVICE_CUDA) nxi_allocator_trim(c->allocator, 0);
  return status ? nxi_error_report(&d) : NX_OK;
}
