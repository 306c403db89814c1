/* SPDX-License-Identifier: ISC */
/* reduce_by: a combiner that is one operation of the library's own reductions becomes that, and so
 * do those of place.c and scaled.c; any other one is applied level by level, one axis after the
 * other, the last first. The initial value comes in at the end, from the left. */
#include <string.h>

#include "body.h"

/* ---- recognised */

typedef nx_tensor *reduction(nx_tensor *, const int32_t *, size_t, uint32_t);

static reduction *reduction_of(nxg_op op, nx_dtype dtype) {
  switch (op) {
    case NXG_add: return nx_reduce_sum;
    case NXG_mul: return nx_reduce_prod;
    case NXG_max: return nx_reduce_max;
    case NXG_min: return nx_reduce_min;
    case NXG_or: return dtype == NX_BOOL ? nx_reduce_max : NULL;
    case NXG_and: return dtype == NX_BOOL ? nx_reduce_min : NULL;
    default: return NULL;
  }
}

bool nxi_is_reduction(const nxi_by *by) {
  for (uint32_t j = 0; j < by->k; j++)
    if (!reduction_of(nxi_body_plain(by->f, j), by->x[j]->storage->dtype)) return false;
  return true;
}

bool nxi_reduce_recognised(const nxi_by *by, const int32_t *axes, size_t n, nxi_row *x) {
  for (uint32_t j = 0; j < by->k; j++) {
    reduction *reduce = reduction_of(nxi_body_plain(by->f, j), by->x[j]->storage->dtype);
    if (!(x->at[j] = reduce(x->at[j], axes, n, NX_KEEPDIMS))) return false;
  }
  return true;
}

/* ---- all others */

static bool reduce_general(nxi_body *b, uint32_t mask, nxi_row *r) {
  for (int32_t axis = r->at[0]->rank - 1; axis >= 0; axis--)
    if ((mask >> axis & 1) && !nxi_reduce_axis(b, r, axis)) return false;
  return true;
}

/* The shape with extents of 1 along the axes of the mask. */
static void kept_shape(const nx_tensor *x, uint32_t mask, int64_t *shape) {
  for (int32_t i = 0; i < x->rank; i++) shape[i] = mask >> i & 1 ? 1 : nxi_shape(x)[i];
}

/* Without the initial values, unless that is said. */
static nxi_known reduce_elements(const nxi_by *by, nxi_body *b, const int32_t *axes, size_t n,
                                 uint32_t mask, nxi_row *r) {
  if (nxi_is_reduction(by))
    return nxi_reduce_recognised(by, axes, n, r) ? NXI_KNOWN_REDUCED : NXI_KNOWN_FAILED;
  nxi_known known = nxi_reduce_place(by, axes, n, r);
  if (known == NXI_KNOWN_NOT) known = nxi_reduce_scaled(b, by, axes, n, r);
  if (known != NXI_KNOWN_NOT) return known;
  return reduce_general(b, mask, r) ? NXI_KNOWN_REDUCED : NXI_KNOWN_FAILED;
}

static bool reduce(const nxi_by *by, nxi_body *b, const int32_t *axes, size_t n, uint32_t mask,
                   nxi_row *r) {
  nxi_row init = {0};
  int64_t shape[NXG_MAX_RANK];
  int32_t rank = by->x[0]->rank;
  kept_shape(by->x[0], mask, shape);
  if (!nxi_init_rows(by, rank, shape, &init)) return false;
  *r = init;
  if (by->x[0]->elements == 0) return true;
  for (size_t i = 0; i < by->k; i++) r->at[i] = by->x[i];
  nxi_known known = reduce_elements(by, b, axes, n, mask, r);
  return known == NXI_KNOWN_COMPLETE ||
         (known == NXI_KNOWN_REDUCED && nxi_body_combine(b, &init, r, r));
}

static bool without_axes(nxi_row *r, size_t k, uint32_t mask) {
  int64_t shape[NXG_MAX_RANK];
  int32_t rank = 0;
  for (int32_t i = 0; i < r->at[0]->rank; i++)
    if (!(mask >> i & 1)) shape[rank++] = nxi_shape(r->at[0])[i];
  for (size_t i = 0; i < k; i++)
    if (!(r->at[i] = nx_reshape(nx_copy(r->at[i]), shape, rank, 0))) return false;
  return true;
}

nx_status nx_reduce_by(nx_function *f, nx_tensor *const *x, nx_tensor *const *init, size_t n_in,
                       const int32_t *axes, size_t n, uint32_t flags, nx_tensor **out,
                       size_t n_out) {
  nxi_by by = {"reduce_by", f, x, init, n_in, n_out, out, 0, false};
  nxi_body b;
  nxi_row r = {0};
  nxi_diag d;
  uint32_t mask = 0;
  nxi_diag_clear(&d);
  if (!nxi_by_check(&by)) return nxi_error_status();
  if (!init) nxi_fail(&d, NX_INVALID_ARGUMENT, by.op, "%s: there are no initial values", by.op);
  if (d.status || !nxi_check_flags(by.op, flags, NX_KEEPDIMS, "NX_KEEPDIMS", &d) ||
      !nxi_axes_given(by.op, x[0], &axes, &n, &d) ||
      nxg_axes_mask(by.op, x[0]->rank, axes, n, &mask, &d))
    return nxi_error_report(&d);
  if (!nxi_body_begin(&b, NXI_COMPOSITE_reduce_by, f, by.device)) return nxi_error_status();
  bool good =
      reduce(&by, &b, axes, n, mask, &r) && ((flags & NX_KEEPDIMS) || without_axes(&r, n_in, mask));
  return nxi_body_end(&b, good, r.at, out, n_in);
}
