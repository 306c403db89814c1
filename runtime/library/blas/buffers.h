/* SPDX-License-Identifier: ISC */
/* As many calls of OpenBLAS at once as it has work memory for. */
#ifndef NXI_BLAS_BUFFERS_H
#define NXI_BLAS_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>

/* With the library's own functions to take and give back a buffer, NULL where it has none. False:
 * there is no memory for the first one, and the library must not be called. */
bool nxi_blas_buffers_init(void *take, void *give);

/* Around each call; waits while there are as many as there are buffers. */
void nxi_blas_buffers_enter(void);
void nxi_blas_buffers_leave(void);

/* In the child of a fork: calls of other threads are not under way there, but their buffers are
 * taken for good. */
void nxi_blas_buffers_in_child(void);

/* Whether the system would give so many bytes now. They are noted as refused if not
 * (ir/alloc.h). */
bool nxi_addresses_left(size_t bytes);

#endif
