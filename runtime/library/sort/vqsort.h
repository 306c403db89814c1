/* SPDX-License-Identifier: ISC */
/* The border to Highway's vectorised quicksort, which is C++. Ascending, in place, not stable;
 * allocates nothing. n >= 2. False: the keys are not touched, because this processor, this number
 * of them or this build is better served by a radix sort. */
#ifndef NXI_SORT_VQSORT_H
#define NXI_SORT_VQSORT_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

#ifdef __cplusplus
extern "C" {
#endif

#if NX_HAVE_HIGHWAY
bool nxi_vqsort_32(uint32_t *keys, int64_t n);
bool nxi_vqsort_64(uint64_t *keys, int64_t n);
#else
static inline bool nxi_vqsort_32(uint32_t *keys, int64_t n) { return (void)keys, (void)n, false; }
static inline bool nxi_vqsort_64(uint64_t *keys, int64_t n) { return (void)keys, (void)n, false; }
#endif

#ifdef __cplusplus
}
#endif
#endif
