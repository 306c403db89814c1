/* SPDX-License-Identifier: ISC */
/* How compiled code is called. Stands alone: a cached object and a test harness need nothing else.
 * Changing anything here changes NXI_KERNEL_ABI, which is in every cache key. */
#ifndef NXI_KERNEL_ABI_H
#define NXI_KERNEL_ABI_H

#include <stdint.h>

#define NXI_KERNEL_ABI 2

/* buffers: a base pointer for each launch buffer, in the kernel's order, with the offset of the
 * view already added. params: 64 bits for each scalar parameter, with the bits of the value in the
 * low end. begin, end: the range of tasks; those of all parts of the kernel are numbered
 * consecutively. scratch: this thread's memory for LOCAL arrays, 64-byte aligned,
 * nxk_scratch_bytes() long. */
typedef void (*nxi_kernel_fn)(void *const *buffers, const uint64_t *params, int64_t begin,
                              int64_t end, void *scratch);

#endif
