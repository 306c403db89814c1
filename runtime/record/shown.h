/* SPDX-License-Identifier: ISC */
/* The memory that host code knows, by its addresses. */
#ifndef NXI_SHOWN_H
#define NXI_SHOWN_H

#include "objects.h"

/* record_lock for all. A buffer that is there keeps its memory. */
void nxi_shown_add(nxi_buffer **all, nxi_buffer *b);
void nxi_shown_remove(nxi_buffer **all, nxi_buffer *b);
/* Calls visit for each other one whose memory overlaps b's, as long as it gives true. The calls may
 * not change what is there. False: one gave false. */
bool nxi_shown_overlapping(nxi_buffer *all, nxi_buffer *b,
                           bool (*visit)(nxi_buffer *other, nxi_buffer *b));

#endif
