/* SPDX-License-Identifier: ISC */
/* The devices of a context: the processor, the interpreter beside it, and those that are missing, with the reason. */
#include "runtime/run.h"

#include <unistd.h>

static const char *const names[NXI_DEVICES] = {"cpu", "interp", "cuda"};

static const char *reason(nx_device device) {
  return device == NXI_DEVICE_CUDA ? "this version of the library has no CUDA device" : NULL;
}

bool nxi_device_usable(nx_context *c, const char *op, nx_device device, nxi_diag *d) {
  (void)c;
  if (device < 0 || device >= NXI_DEVICES) {
    nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: there is no device %d", op, device);
    return false;
  }
  if (!reason(device)) return true;
  nxi_fail(d, NX_DEVICE_UNAVAILABLE, op, "%s: device %d (%s) is not available: %s", op, device,
           names[device], reason(device));
  return false;
}

int32_t nx_device_count(const nx_context *c) { return c ? NXI_DEVICES : 0; }

nx_status nx_device_describe(const nx_context *c, nx_device device, nx_device_info *out) {
  if (!c || !out) return nxi_error_null("device", c ? 2 : 0), NX_INVALID_ARGUMENT;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (device < 0 || device >= NXI_DEVICES) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, "device", "device: there is no device %d", device);
    return nxi_error_report(&d);
  }
  nx_device_info info = {.size = sizeof info,
                         .name = names[device],
                         .reason = reason(device),
                         .available = !reason(device)};
  info.dlpack_type = device == NXI_DEVICE_CUDA ? 2 : 1;
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (info.available && pages > 0 && page > 0) info.memory = (uint64_t)pages * (uint64_t)page;
  nxi_fill(out, &info, sizeof info);
  return NX_OK;
}

/* Actions on the processor have ended when they return. */
nx_status nx_wait(nx_context *c, nx_device device) {
  if (!c) return nxi_error_null("wait", 0), NX_INVALID_ARGUMENT;
  nxi_diag d;
  nxi_diag_clear(&d);
  return nxi_device_usable(c, "wait", device, &d) ? NX_OK : nxi_error_report(&d);
}
