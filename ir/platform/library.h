/* SPDX-License-Identifier: ISC */
/* Dynamic libraries. These functions are called between nxi_loading_enter and nxi_loading_leave
 * (loading.h), unless their comments say otherwise. */
#ifndef NXI_PLATFORM_LIBRARY_H
#define NXI_PLATFORM_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* Loads a file, or a library that the system searches by its name. Its symbols do not become
 * visible to other libraries. NULL: nxi_library_error has the reason. */
void *nxi_library_open(const char *name);
/* The same, sooner: functions that it imports are looked up when it first calls them. */
void *nxi_library_open_lazily(const char *name);
/* The same; and the library uses its own symbols even if the program has symbols of the same names.
 * The latter is not done if the process has a sanitizer, which refuses it. */
void *nxi_library_open_apart(const char *name);
/* A library that is already loaded, by its name; NULL: the program itself with all symbols that are
 * visible to it. */
void *nxi_library_loaded(const char *name);
void nxi_library_close(void *library);
void *nxi_library_symbol(void *library, const char *name);
/* Describes the last failure on this thread; NULL: not known. */
const char *nxi_library_error(void);

/* The path of the library or program that contains an address; NULL: not known. May be called
 * without nxi_loading_enter. */
const char *nxi_library_path(const void *address);

#endif
