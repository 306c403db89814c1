/* SPDX-License-Identifier: ISC */
#include "driver.h"

#include "ir/platform/thread.h"
#include <stdio.h>

#include "codegen_cuda/toolkit.h"
#include "config.h"

static nxi_cuda table;
static nxi_cuda_new newer;
static bool has_newer;
static int version;
static char missing[NXU_SENTENCE], none_newer[NXU_SENTENCE];
static nxi_once once = NXI_ONCE_INITIALIZER;

static void start(void) {
  int result = table.init(0);
  const char *text = "it gives no reason";
  if (result != 0) {
    table.error_text(result, &text);
    snprintf(missing, sizeof missing, "the CUDA driver does not start: %.300s", text);
  } else if (table.version(&version) != 0 || version < NXI_CUDA_LEAST_VERSION) {
    snprintf(missing, sizeof missing,
             "the CUDA driver is for CUDA %d.%d, and %d.%d is needed at least", version / 1000,
             version % 1000 / 10, NXI_CUDA_LEAST_VERSION / 1000,
             NXI_CUDA_LEAST_VERSION % 1000 / 10);
  } else {
    nxu_set_driver(version);
  }
}

static void load(void) {
  static const char *const files[] = {"libcuda.so.1", NULL};
  static const char *const symbols[] = {
#define CUDA(name, symbol, arguments) #symbol,
#include "driver.def"
#undef CUDA
      NULL};
  static const char *const new_symbols[] = {
#define CUDA(name, symbol, arguments) #symbol,
#include "driver_new.def"
#undef CUDA
      NULL};
  static const nxu_library library = {"the CUDA driver", "NX_CUDA", files, symbols},
                           new_library = {"the CUDA driver", "NX_CUDA", files, new_symbols};
  if (!NX_HAVE_CUDA)
    snprintf(missing, sizeof missing, "this library was built without CUDA (-Dcuda=disabled)");
  else if (nxu_load_library(&library, &table, missing)) start();
  if (missing[0] == 0 && version >= NXI_CUDA_CONDITIONS_VERSION)
    has_newer = nxu_load_library(&new_library, &newer, none_newer);
}

const nxi_cuda *nxi_cuda_get(const char **why) {
  nxi_once_run(&once, load);
  if (missing[0] == 0) return &table;
  *why = missing;
  return NULL;
}

const nxi_cuda_new *nxi_cuda_get_new(void) { return has_newer ? &newer : NULL; }

int nxi_cuda_version(void) { return version; }
