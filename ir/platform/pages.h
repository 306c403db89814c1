/* SPDX-License-Identifier: ISC */
/* Memory in pages directly from the system: pages of zeros, pages of a file, pages of code. */
#ifndef NXI_PLATFORM_PAGES_H
#define NXI_PLATFORM_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t nxi_page_bytes(void);
/* Bytes of memory of the whole machine; 0: not known. */
int64_t nxi_machine_memory(void);

/* Maps pages of zeros for reading and writing; NULL: the system has no memory or no addresses
 * left. */
void *nxi_pages_map(size_t bytes);
/* Unmaps such a mapping, or a part of it that consists of whole pages. */
void nxi_pages_unmap(void *pages, size_t bytes);
/* Whether the first page of a mapping of zeros has memory: false if nobody has touched it. True
 * where the system does not say. */
bool nxi_pages_touched(void *pages);
/* Whether so many bytes of addresses are left: maps them without memory, and unmaps them. */
bool nxi_addresses_left(size_t bytes);

/* Whether so much memory is left. */
bool nxi_memory_left(size_t bytes);

/* Hints for all pages that contain these bytes. nxi_pages_want_large: use pages of 2 MiB if the
 * system has them. Pages that are dropped contain zeros again, and need no memory until they are
 * next touched. */
void nxi_pages_want_large(void *at, size_t bytes);
void nxi_pages_drop(void *pages, size_t bytes);

/* Makes written pages executable: they can be read and executed, and no longer be written. False
 * with errno: ENOMEM and EAGAIN may be temporary; with any other value, this process is not allowed
 * to do it. */
bool nxi_pages_execute(void *pages, size_t bytes);
/* Makes pages of a loaded library writable, or read-only again. */
bool nxi_pages_protect(void *pages, size_t bytes, bool writable);

typedef enum nxi_pages_access {
  NXI_PAGES_READ,
  NXI_PAGES_PRIVATE, /* only this process sees what it writes */
  NXI_PAGES_SHARED   /* writes go to the file */
} nxi_pages_access;
/* Maps an open file from a position that is a multiple of a page. NULL with errno. */
void *nxi_pages_map_file(int file, int64_t position, size_t bytes, nxi_pages_access access);

#endif
