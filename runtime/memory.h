/* SPDX-License-Identifier: ISC */
/* The allocator of tensor buffers. Getting new pages from the system costs several times the work
 * that is done on them, so freed buffers are kept, up to a bound, and reused. Buffers are aligned
 * to 64 bytes and have exactly the requested size: nothing may read or write past them. Their
 * contents are undefined.
 *
 * Sizes below 4 KiB come from slabs of one size class each, up to 1 MiB from the C library, larger
 * ones from the system in separate pages (2 MiB pages if the system grants them). All functions may
 * be called from any thread; another thread may call fork() meanwhile. */
#ifndef NXI_MEMORY_H
#define NXI_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/diag.h"

typedef struct nxi_allocator nxi_allocator;

typedef struct nxi_allocator_options {
  int64_t memory_limit; /* most bytes that may be live at once; 0: no limit */
  /* most bytes kept after they were freed; 0: a quarter of the machine's memory; -1: none */
  int64_t cache_limit;
} nxi_allocator_options;

/* All but `allocations` are bytes. live and peak count requested bytes; cached counts the memory of
 * freed buffers of 4 KiB and more; reserved counts all memory that the allocator holds, live or
 * not, including rounding. */
typedef struct nxi_memory_stats {
  int64_t live, peak, cached, reserved;
  uint64_t allocations;
} nxi_memory_stats;

/* options may be NULL. NX_OUT_OF_MEMORY, NX_INVALID_ARGUMENT (a negative limit). */
nx_status nxi_allocator_create(const nxi_allocator_options *options, nxi_allocator **out,
                               nxi_diag *d);
/* Returns all memory; no buffer may be live. NULL is allowed. */
void nxi_allocator_destroy(nxi_allocator *a);

/* A buffer of `bytes` >= 0 bytes (0: a distinct address that holds nothing) in *out, which the
 * caller frees with the same size. NX_OUT_OF_MEMORY: the system has no memory, or the limit would
 * be exceeded; *out is not changed. */
nx_status nxi_buffer_alloc(nxi_allocator *a, int64_t bytes, void **out, nxi_diag *d);
void nxi_buffer_free(nxi_allocator *a, void *buffer, int64_t bytes);

/* The same of at most NXI_QUICK_BUFFER bytes. It takes constant time but for a mapping of a
 * megabyte now and then, so that the caller may hold locks. False: there is none now. Of more than
 * NXI_SMALL_BUFFER bytes there is one if one of that size was freed, which nxi_buffer_ready says;
 * these are freed without locks, by nxi_buffer_free. */
enum { NXI_SMALL_BUFFER = 4096 - 64, NXI_QUICK_BUFFER = 1 << 16 };
bool nxi_buffer_alloc_small(nxi_allocator *a, int64_t bytes, void **out);
bool nxi_buffer_ready(nxi_allocator *a, int64_t bytes);
void nxi_buffer_free_small(nxi_allocator *a, void *buffer, int64_t bytes);
/* Tells the address sanitizer that nobody may touch a buffer until it is used again: by who keeps
 * it for the next one. */
void nxi_buffer_unused(void *buffer, int64_t bytes);
void nxi_buffer_used(void *buffer, int64_t bytes);

/* Returns cached memory to the system until at most `keep` bytes of it are left. */
void nxi_allocator_trim(nxi_allocator *a, int64_t keep);
/* How many more bytes the limit allows; INT64_MAX: there is no limit. */
int64_t nxi_allocator_room(nxi_allocator *a);
void nxi_allocator_stats(nxi_allocator *a, nxi_memory_stats *out);
/* Sets the peak to the bytes that are live now. */
void nxi_allocator_reset_peak(nxi_allocator *a);

#endif
