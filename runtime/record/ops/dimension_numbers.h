/* SPDX-License-Identifier: ISC */
/* StableHLO's dimension numbers of gather and scatter as windows (places.h). */
#ifndef NXI_DIMENSION_NUMBERS_H
#define NXI_DIMENSION_NUMBERS_H

#include "places.h"

/* What both have, by the names of gather; the result of a gather is what the updates of a scatter
 * are. Entries are copied, so that the caller's are read once. */
typedef struct nxi_axes {
  int32_t n, at[NXG_MAX_RANK];
} nxi_axes;
typedef struct nxi_numbers {
  const char *op;
  bool scatters;
  nxi_axes offset, collapsed, operand_batching, index_batching, map;
  int32_t index_vector_dim;
  int64_t size[NXG_MAX_RANK];
  nx_bounds bounds;
} nxi_numbers;

/* The numbers of a scatter. False: reported in d. */
bool nxi_scatter_numbers(const char *op, const nx_scatter_numbers *given, nxi_numbers *out,
                         nxi_diag *d);
/* Checks them for these tensors (updates: NULL for a gather, whose dims are then made), and fills
 * in the windows, without starts. False: reported in d. */
bool nxi_numbers_check(nxi_numbers *n, nx_tensor *x, nx_tensor *starts, nx_tensor *updates,
                       nxi_windows *w, nxi_diag *d);
/* The starts of the windows. NULL handles: reported. */
bool nxi_numbers_starts(const nxi_numbers *n, nx_tensor *starts, nxi_windows *w);

#endif
