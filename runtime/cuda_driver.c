/* SPDX-License-Identifier: ISC */
#include "cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "config.h"

static nxi_cuda table;
static char missing[400];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_symbols(void *handle) {
#define CUDA(name, symbol, arguments)             \
  *(void **)&table.name = dlsym(handle, #symbol); \
  if (table.name == NULL && missing[0] == 0)      \
    snprintf(missing, sizeof missing,             \
             "the CUDA driver has no " #symbol ": it is older than CUDA 12");
#include "cuda_driver.def"
#undef CUDA
}

static void start(void) {
  int version = 0, result = table.init(0);
  const char *text = "it gives no reason";
  if (result != 0) {
    table.error_text(result, &text);
    snprintf(missing, sizeof missing, "the CUDA driver does not start: %.300s", text);
  } else if (table.version(&version) != 0 || version < NXI_CUDA_LEAST_VERSION) {
    snprintf(missing, sizeof missing,
             "the CUDA driver is for CUDA %d.%d, and %d.%d is needed at least", version / 1000,
             version % 1000 / 10, NXI_CUDA_LEAST_VERSION / 1000,
             NXI_CUDA_LEAST_VERSION % 1000 / 10);
  }
}

static void load(void) {
  if (!NX_HAVE_CUDA) {
    snprintf(missing, sizeof missing, "this library was built without CUDA (-Dcuda=disabled)");
    return;
  }
  const char *wish = getenv("NX_CUDA");
  void *handle =
      dlopen(wish != NULL && wish[0] != 0 ? wish : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    const char *why = dlerror();
    snprintf(missing, sizeof missing, "there is no CUDA driver: %.300s",
             why != NULL ? why : "no library of its name");
    return;
  }
  find_symbols(handle);
  if (missing[0] == 0) start();
}

const nxi_cuda *nxi_cuda_get(const char **why) {
  pthread_once(&once, load);
  if (missing[0] == 0) return &table;
  *why = missing;
  return NULL;
}
