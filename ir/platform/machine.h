/* SPDX-License-Identifier: ISC */
/* Properties of the processor from the system's tables. Nothing here fails: a property that cannot
 * be found out gets a value that is safe for small machines. */
#ifndef NXI_PLATFORM_MACHINE_H
#define NXI_PLATFORM_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a data cache: all of it, and the part of one core if all cores that share it are
 * busy. */
typedef struct nxi_cache {
  int64_t share, total;
} nxi_cache;
/* The cache levels 1 to 3 of a processor. If a machine has no third level, level[3] describes the
 * second. */
void nxi_caches_read(int processor, nxi_cache level[4]);

/* The model, followed by a hash of everything that the system reports about the processor: the
 * model name alone ("AMD EPYC") does not distinguish generations. */
void nxi_cpu_name(char *out, size_t capacity);

#endif
