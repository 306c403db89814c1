/* SPDX-License-Identifier: ISC */
/* Memory in pages, from the system and not from the C library: pages of zeros, pages of a file,
 * pages that are code. */
#ifndef NXI_PLATFORM_PAGES_H
#define NXI_PLATFORM_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t nxi_page_bytes(void);
/* Of the whole machine; 0: not known. */
int64_t nxi_machine_memory(void);

/* Zeros, to be read and written; NULL: the system has no memory or no addresses. */
void *nxi_pages_map(size_t bytes);
/* A part of such a mapping may be given back too, in whole pages. */
void nxi_pages_unmap(void *pages, size_t bytes);
/* Whether so many addresses are left: asks for them, without memory behind them, and gives them
 * back. */
bool nxi_addresses_left(size_t bytes);

/* Whether so much memory is left. */
bool nxi_memory_left(size_t bytes);

/* Hints. What is mapped gets pages of 2 MiB where the system has them; the whole pages around these
 * bytes do. What is dropped holds zeros again and needs no memory until it is touched. */
void nxi_pages_want_large(void *at, size_t bytes);
void nxi_pages_drop(void *pages, size_t bytes);

/* Makes written pages code: to be read and executed, and not written any more. False with errno:
 * ENOMEM and EAGAIN may pass, all else is a rule for this process. */
bool nxi_pages_execute(void *pages, size_t bytes);
/* Makes pages of a loaded library writable, or read-only again. */
bool nxi_pages_protect(void *pages, size_t bytes, bool writable);

typedef enum nxi_pages_access {
  NXI_PAGES_READ,
  NXI_PAGES_PRIVATE, /* what is written stays in this process */
  NXI_PAGES_SHARED   /* writes go to the file */
} nxi_pages_access;
/* Of an open file, from a position that is a multiple of a page. NULL with errno. */
void *nxi_pages_map_file(int file, int64_t position, size_t bytes, nxi_pages_access access);

#endif
