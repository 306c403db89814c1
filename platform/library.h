/* SPDX-License-Identifier: ISC */
/* Dynamic libraries. A caller that loads, searches or closes one is between nxi_loading_enter and
 * nxi_loading_leave (loading.h), but for what the comments except. */
#ifndef NXI_PLATFORM_LIBRARY_H
#define NXI_PLATFORM_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* A file, or a name that the system looks for. Symbols of it are for nobody who does not ask. NULL:
 * nxi_library_error says why. */
void *nxi_library_open(const char *name);
/* The same; and the library uses its own symbols, whatever the program has of the same names,
 * unless a sanitizer is in the process, which refuses that. */
void *nxi_library_open_apart(const char *name);
/* One that is loaded already, by its name; NULL: the program itself with all that it sees. */
void *nxi_library_loaded(const char *name);
void nxi_library_close(void *library);
void *nxi_library_symbol(void *library, const char *name);
/* What the last failure on this thread was; NULL: nothing is known. */
const char *nxi_library_error(void);

/* The path of the library or program that holds an address; NULL: not known. Nobody need have
 * entered. */
const char *nxi_library_path(const void *address);

#endif
