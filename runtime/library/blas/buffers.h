/* SPDX-License-Identifier: ISC */
/* Limits the number of concurrent calls of OpenBLAS to the number of its work buffers. */
#ifndef NXI_BLAS_BUFFERS_H
#define NXI_BLAS_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>

/* take, give: the library's functions that allocate and free a buffer, NULL if it has none. False:
 * there is no memory for the first buffer, and the library must not be called. */
bool nxi_blas_buffers_init(void *take, void *give);

/* To be called around each call of the library; waits while all buffers are in use. */
void nxi_blas_buffers_enter(void);
void nxi_blas_buffers_leave(void);

/* Calls of this thread may last: others do not wait for them to make more buffers. */
void nxi_blas_buffers_last(void);

/* In the place of a call of the library, between enter and leave: one of its buffers; NULL if it
 * has none. */
void *nxi_blas_buffer_take(void);
void nxi_blas_buffer_give(void *buffer);

/* Called in the child of a fork: the calls of other threads do not go on there, but their buffers
 * stay taken. */
void nxi_blas_buffers_in_child(void);

/* Whether the system would map this many bytes now. If not, they are recorded as refused
 * (ir/alloc.h). */
bool nxi_blas_addresses_left(size_t bytes);

#endif
