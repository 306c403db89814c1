/* SPDX-License-Identifier: ISC */
/* Functions that a loaded library imports, replaced for that library alone. */
#ifndef NXI_LLVM_IMPORTS_H
#define NXI_LLVM_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct nxl_import {
  const char *name;
  void *replacement;
} nxl_import;

/* Makes the library that contains the code at `inside` call the replacements of n functions, by
 * overwriting entries of its import table one by one. True: every name was found. Allocates
 * nothing. */
bool nxl_replace_imports(const void *inside, const nxl_import *imports, size_t n);

/* The loader's name of the library that contains the code at `inside`; NULL for the program itself,
 * or if there is no such library. dladdr is not used, because it also searches for the nearest of
 * LLVM's many symbols. */
const char *nxl_library_name(const void *inside);

#endif
