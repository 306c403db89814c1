/* SPDX-License-Identifier: ISC */
#include "toolkit.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/platform/file.h"
#include "ir/platform/library.h"
#include "ir/platform/loading.h"

static void *open_in(const char *folder, const char *inner, const char *file) {
  char path[600];
  int length = snprintf(path, sizeof path, "%s%s%s", folder, inner, file);
  return length < (int)sizeof path ? nxi_library_open(path) : NULL;
}

static void *open_file(const char *file) {
  static const char *const folders[] = {"/usr/local/cuda/lib64/", "/usr/local/cuda/lib/",
                                        "/usr/lib/cuda/lib64/"};
  const char *toolkit = getenv("CUDA_PATH");
  void *handle = nxi_library_open(file);
  if (handle == NULL && toolkit != NULL) handle = open_in(toolkit, "/lib64/", file);
  for (size_t i = 0; i < 3 && handle == NULL; i++) handle = open_in(folders[i], "", file);
  char packaged[NXI_PATH];
  if (handle == NULL && nxu_find_packaged(file, packaged)) handle = nxi_library_open(packaged);
  return handle;
}

static _Atomic int driver; /* major version of the driver; 0: not known */
void nxu_set_driver(int version) { atomic_store(&driver, version / 1000); }

/* The number of the i-th file to try, of n: the search starts with the driver's own version. */
static int order(int i, int n) {
  enum { NEWEST = 13 };
  int known = atomic_load(&driver), older = known == 0 ? 0 : NEWEST - known;
  return older > 0 && older < n ? (i + older) % n : i;
}

static bool load(const nxu_library *l, void *table, char missing[NXU_SENTENCE]) {
  const char *wish = getenv(l->variable), *why = NULL;
  bool wished = wish != NULL && wish[0] != 0;
  int n = 0;
  while (l->files[n] != NULL) n++;
  /* The system's own search comes first; a failure is reported with its message. */
  void *handle = nxi_library_open(wished ? wish : l->files[order(0, n)]);
  if (handle == NULL)
    snprintf(missing, NXU_SENTENCE, "%s was not found: %.250s", l->what,
             (why = nxi_library_error()) != NULL ? why : "no library of its name");
  for (int i = 0; !wished && i < n && handle == NULL; i++)
    handle = open_file(l->files[order(i, n)]);
  if (handle == NULL) return false;
  missing[0] = 0;
  for (int i = 0; l->symbols[i] != NULL; i++) {
    void *symbol = nxi_library_symbol(handle, l->symbols[i]);
    if (symbol == NULL) {
      snprintf(missing, NXU_SENTENCE, "%s has no %s: it is older than that of CUDA 12, or broken",
               l->what, l->symbols[i]);
      nxi_library_close(handle);
      return false;
    }
    memcpy((char *)table + (size_t)i * sizeof symbol, &symbol, sizeof symbol);
  }
  return true;
}

bool nxu_load_library(const nxu_library *l, void *table, char missing[NXU_SENTENCE]) {
  nxi_loading_enter();
  bool loaded = load(l, table, missing);
  nxi_loading_leave();
  return loaded;
}
