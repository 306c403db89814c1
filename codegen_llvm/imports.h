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

/* Lets the library that holds the code at `inside` call the replacements of n functions. Entries of
 * its import table are words that its loader has written; they are overwritten one by one. True:
 * each name was found. Allocates nothing. */
bool nxl_replace_imports(const void *inside, const nxl_import *imports, size_t n);

/* The name that the loader has of the library that holds the code at `inside`; NULL: of the program
 * itself, or there is none. The loader's own dladdr also looks for the nearest symbol, among all
 * that LLVM has. */
const char *nxl_library_name(const void *inside);

#endif
