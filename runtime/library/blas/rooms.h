/* SPDX-License-Identifier: ISC */
/* Memory that a thread takes for one product and gives back. */
#ifndef NXI_BLAS_ROOMS_H
#define NXI_BLAS_ROOMS_H

/* NXI_FLOATS_ROOM bytes, aligned to a page; NULL: there is no memory, and the product is computed
 * without, more slowly, with the same bits. */
void *nxi_room_take(void);
/* room may be NULL. */
void nxi_room_give(void *room);

#endif
