/* SPDX-License-Identifier: ISC */
/* Replacing functions that a loaded library imports, only for that library. */
#ifndef NXI_PLATFORM_IMPORTS_H
#define NXI_PLATFORM_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct nxi_replaced {
  const char *name;
  void *replacement;
} nxi_replaced;

/* Makes the library that contains the code at `inside` call the replacements of n functions, by
 * overwriting entries of its import table one by one. True: every name was found. Allocates
 * nothing. */
bool nxi_replace_imports(const void *inside, const nxi_replaced *imports, size_t n);

/* The same for each library that was loaded after the one that contains the code at `inside`: of
 * the names those that it imports. */
void nxi_replace_imports_after(const void *inside, const nxi_replaced *imports, size_t n);

/* The loader's name of the library that contains the code at `inside`; NULL for the program itself,
 * or if there is no such library. nxi_library_path also searches for the nearest symbol, which
 * takes long in a library with many symbols. */
const char *nxi_library_name(const void *inside);

#endif
