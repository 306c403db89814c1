/* SPDX-License-Identifier: ISC */
/* What a caller says of windows, and leaves out. ops/window.c */
#ifndef NXI_WINDOW_H
#define NXI_WINDOW_H

#include "ir/diag.h"
#include "nx/by_function.h"

/* Lists of a window of n axes, with room for NXG_MAX_RANK numbers each. */
typedef struct nxi_window_lists {
  int64_t *kernel, *stride, *dilation, *before, *after;
  int64_t *spread; /* base_dilation; NULL: there is none, and padding is not negative */
} nxi_window_lists;

/* Fills the lists, with what is usual where *given has none. NX_INVALID_ARGUMENT. */
nx_status nxi_window_read(const char *op, const nx_sliding_window *given,
                          const nxi_window_lists *out, nxi_diag *d);

#endif
