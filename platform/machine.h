/* SPDX-License-Identifier: ISC */
/* What the system's tables say of the processor. Nothing here fails: what cannot be learnt gets a
 * value that is safe for small machines. */
#ifndef NXI_PLATFORM_MACHINE_H
#define NXI_PLATFORM_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a cache for data: the whole, and what one core has of it if all of those that share it
 * are busy. */
typedef struct nxi_cache {
  int64_t share, total;
} nxi_cache;
/* The levels 1 to 3, as a processor sees them. A machine without a third has the second there. */
void nxi_caches_read(int processor, nxi_cache level[4]);

/* The model, and behind it a number that stands for everything that the system says of the
 * processor: a model name alone ("AMD EPYC") does not tell one generation from the next. */
void nxi_cpu_name(char *out, size_t capacity);

#endif
