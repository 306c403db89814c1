/* SPDX-License-Identifier: ISC */
/* The description of a scatter as it is carried out: updates written to, or added to, the elements
 * that their indices name along one axis. */
#ifndef NXI_SCATTER_DESCRIPTION_H
#define NXI_SCATTER_DESCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "nx/dtype.h"

enum { NXI_SCATTER_RANK = 32 };
typedef struct nxi_scatter {
  nx_dtype dtype;          /* dtype of sums; a small float only if updates are not added */
  bool adds, wide_indices; /* i64, else i32 */
  bool pairs; /* elements are two numbers of the dtype; strides and extents count pairs */
  int32_t rank, axis;
  int64_t extent;                  /* extent of the axis in the result */
  int64_t shape[NXI_SCATTER_RANK]; /* shape of the updates */
  /* strides in elements; `to` is for the elements of the result with index 0 */
  int64_t to[NXI_SCATTER_RANK], indices[NXI_SCATTER_RANK], updates[NXI_SCATTER_RANK];
} nxi_scatter;

#endif
