/* SPDX-License-Identifier: ISC */
/* Windows of an operand that begin where tensors say: what gather and scatter with dimension
 * numbers, and slices that begin at values, have in common. All handles that these functions make
 * are the innermost scope's. */
#ifndef NXI_PLACES_H
#define NXI_PLACES_H

#include "nx/index.h"
#include "runtime/record/context.h"
#include "runtime/record/record.h"

/* One window for each element of a batch; the result of a gather, and the updates of a scatter,
 * have axes (dims) for the batch and axes for the window, in any order. */
typedef struct nxi_windows {
  const char *op;
  nx_tensor *x;
  int32_t rank;                /* of x */
  int64_t shape[NXG_MAX_RANK]; /* of x */
  int64_t size[NXG_MAX_RANK];  /* of a window */
  int32_t dim[NXG_MAX_RANK];   /* of each axis of x: its dim, -1 if its only element has none */
  bool batch[NXG_MAX_RANK];    /* the dim is one of the batch: each takes its own part of x */
  /* where windows begin along each axis: i32 or i64, of the rank of all dims, with extent 1 along
   * those that it does not depend on; NULL: 0 */
  nx_tensor *start[NXG_MAX_RANK];
  int32_t n_dims;
  int64_t dims[NXG_MAX_RANK];
  nx_bounds bounds; /* never NX_BOUNDS_DEFAULT */
} nxi_windows;

/* The windows of x, in the shape of all dims; where they do not fit: cut to fit, `fill`, an error
 * at realise. NULL: reported. */
nx_tensor *nxi_windows_gather(nxi_windows *w, const nx_scalar *fill);
/* x with updates, of the shape of all dims, in its windows. */
nx_tensor *nxi_windows_scatter(nxi_windows *w, nx_tensor *updates, nx_scatter_mode mode);
/* The element of x that belongs to each element of all dims, counted in C order of x, i32 or i64,
 * in the shape of all dims; with NX_BOUNDS_DROP the number of elements of x where a window does not
 * fit. */
nx_tensor *nxi_windows_places(nxi_windows *w);
/* A start that is an error at realise unless windows of `size` fit at it. */
nx_tensor *nxi_checked_start(nx_tensor *start, int32_t axis, int64_t extent, int64_t size);

/* Begins and ends an operation whose handles belong to a scope. nxi_scoped_end gives `result` to
 * the caller, as a storage of its own if `copies` says so. */
typedef struct nxi_scoped {
  nx_scope *scope;
  uint16_t outer;
} nxi_scoped;
bool nxi_scoped_begin(nxi_scoped *s, nx_context *c, uint32_t called);
nx_tensor *nxi_scoped_end(nxi_scoped *s, nx_tensor *result, bool copies);

#endif
