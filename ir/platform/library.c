/* SPDX-License-Identifier: ISC */
/* Dynamic libraries through the system's linker. */
#include "library.h"

#include <dlfcn.h>

void *nxi_library_open(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }

void *nxi_library_open_lazily(const char *name) { return dlopen(name, RTLD_LAZY | RTLD_LOCAL); }

void *nxi_library_open_apart(const char *name) {
  int flags = RTLD_NOW | RTLD_LOCAL;
#ifdef RTLD_DEEPBIND
  if (!dlsym(RTLD_DEFAULT, "__sanitizer_set_death_callback")) flags |= RTLD_DEEPBIND;
#endif
  return dlopen(name, flags);
}

void *nxi_library_loaded(const char *name) { return dlopen(name, RTLD_LAZY | RTLD_NOLOAD); }

void nxi_library_close(void *library) { dlclose(library); }

void *nxi_library_symbol(void *library, const char *name) { return dlsym(library, name); }

const char *nxi_library_error(void) { return dlerror(); }

const char *nxi_library_path(const void *address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fname : NULL;
}
