/* SPDX-License-Identifier: ISC */
/* Slices whose starts are values, and gathers that never fail: compositions of gather and scatter,
 * whose indices are made to be in range. */
#include <string.h>

#include "compose.h"
#include "nx/index.h"
#include "nx/number.h"
#include "places.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

/* ---- gather */

static bool check_gather(const char *op, nx_tensor *data, nx_tensor *indices, int32_t axis,
                         int64_t *at) {
  nx_tensor *t[2] = {data, indices};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_check_operands(op, t, 2)) return false;
  nx_dtype index = indices->storage->dtype; /* NOLINT: checked, not null */
  if (index != NX_I32 && index != NX_I64) {
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, op, "%s: the indices are %s, not i32 or i64", op,
             nxi_dtypes[index].name);
    d.operand = 1;
  } else if (nxi_one_axis(op, data, axis, at, &d) && !nxi_shape(data)[*at] && indices->elements) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: there is nothing along axis %d to gather", op, axis);
  }
  if (d.status) nxi_error_report(&d);
  return !d.status;
}

/* Between the first index and the last one. */
static nx_tensor *between(nxi_steps *s, nx_tensor *indices, int64_t first, int64_t last) {
  bool narrow = indices->storage->dtype == NX_I32;
  if (narrow && first < INT32_MIN) first = INT32_MIN;
  if (narrow && last > INT32_MAX) last = INT32_MAX;
  nx_tensor *above = nxi_step(s, nx_binary_i64(indices, NX_BINARY_MAX, first));
  return nxi_step(s, nx_binary_i64(above, NX_BINARY_MIN, last < first ? first : last));
}

nx_tensor *nx_gather_clamped(nx_tensor *data, nx_tensor *indices, int32_t axis) {
  int64_t at = 0;
  if (!check_gather("gather_clamped", data, indices, axis, &at)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_gather_clamped, data);
  nx_tensor *inside = between(&s, indices, 0, nxi_shape(data)[at] - 1);
  return nxi_steps_end(&s, inside ? nxi_step(&s, nx_gather(data, inside, axis)) : NULL);
}

nx_tensor *nx_gather_filled(nx_tensor *data, nx_tensor *indices, int32_t axis,
                            const nx_scalar *fill) {
  int64_t at = 0;
  if (!fill) return nxi_error_null("gather_filled", 3);
  if (!check_gather("gather_filled", data, indices, axis, &at)) return NULL;
  int64_t extent = nxi_shape(data)[at];
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_gather_filled, data);
  nx_tensor *wide = nxi_step(&s, nx_cast(indices, NX_I64)),
            *from_least = nxi_step(&s, nx_binary_i64(wide, NX_BINARY_ADD, extent)),
            *unsigned_one = nxi_step(&s, nx_cast(from_least, NX_U64)),
            *good = nxi_step(&s, nx_binary_i64(unsigned_one, NX_BINARY_CMPLT, 2 * extent)),
            *inside = wide ? between(&s, wide, -extent, extent - 1) : NULL,
            *found = nxi_step(&s, nx_gather(data, inside, axis)),
            *other = found ? nxi_step(&s, nx_full(s.context, s.device, data->storage->dtype, NULL,
                                                  0, fill))
                           : NULL;
  return nxi_steps_end(&s, other ? nxi_step(&s, nx_where(good, found, other)) : NULL);
}

/* ---- slices */

static bool check_starts(const char *op, nx_tensor *x, nx_tensor *const *starts, size_t n,
                         const int64_t *sizes, nxi_diag *d) {
  if (n != (size_t)x->rank || (n && !starts))
    nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: %zu starts of a tensor of rank %d", op,
             starts ? n : 0, x->rank);
  for (size_t i = 0; !d->status && i < n; i++) {
    /* NOLINTNEXTLINE: a list that is null has been refused */
    if (!nxi_have_tensor(op, (int32_t)i + 1, starts[i])) return false;
    const nx_tensor *s = starts[i]; /* NOLINT: checked, not null */
    nx_dtype t = s->storage->dtype;
    if (s->context != x->context || s->storage->device != x->storage->device)
      nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: start %zu is of another context or device", op, i);
    else if (t != NX_I32 && t != NX_I64)
      nxi_fail(d, NX_UNSUPPORTED_DTYPE, op, "%s: start %zu is %s, not i32 or i64", op, i,
               nxi_dtypes[t].name);
    else if (s->rank)
      nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: start %zu has rank %d", op, i, s->rank);
    else if (sizes[i] < 0 || sizes[i] > nxi_shape(x)[i])
      nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: %lld elements of axis %zu, which has %lld", op,
               (long long)sizes[i], i, (long long)nxi_shape(x)[i]);
  }
  if (d->status) nxi_error_report(d);
  return !d->status;
}

/* The indices start, start + 1, .. of an axis in a tensor of this shape. */
static nx_tensor *indices_from(nx_tensor *start, int64_t extent, int32_t axis, bool checked,
                               const int64_t *shape, int32_t rank) {
  int64_t line[NXG_MAX_RANK], size = shape[axis];
  for (int32_t i = 0; i < rank; i++) line[i] = i == axis ? size : 1;
  nx_tensor *wide = checked ? nxi_checked_start(start, axis, extent, size) : nx_cast(start, NX_I64),
            *above = checked ? wide : nx_binary_i64(wide, NX_BINARY_MAX, 0),
            *first = checked ? wide : nx_binary_i64(above, NX_BINARY_MIN, extent - size),
            *count = nx_arange(start->context, start->storage->device, NX_I64, NX_INTEGER(0),
                               NX_INTEGER(1), size),
            *all = first && count ? nx_add(first, count) : NULL;
  all = all ? nx_reshape(all, line, rank, 0) : NULL;
  return all ? nx_expand(all, shape, rank) : NULL;
}

static nx_tensor *slice(uint32_t called, nx_tensor *x, nx_tensor *const *starts,
                        const int64_t *sizes, size_t n, bool checked) {
  const char *op = nxi_op_name(called);
  int64_t shape[NXG_MAX_RANK];
  nxi_scoped s;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_have_tensor(op, 0, x)) return NULL;
  if (n && !sizes) return nxi_error_null(op, 2);
  if (!check_starts(op, x, starts, n, sizes, &d)) return NULL;
  if (!nxi_scoped_begin(&s, x->context, called)) return NULL;
  nx_tensor *part = x;
  memcpy(shape, nxi_shape(x), (size_t)x->rank * sizeof *shape);
  for (int32_t i = 0; part && i < x->rank; i++) {
    int64_t extent = shape[i];
    if (sizes[i] == extent && !checked) continue;
    shape[i] = sizes[i];
    nx_tensor *indices = indices_from(starts[i], extent, i, checked, shape, x->rank);
    part = indices ? nx_gather(part, indices, i) : NULL;
  }
  return nxi_scoped_end(&s, part, part == x);
}

nx_tensor *nx_dynamic_slice(nx_tensor *x, nx_tensor *const *starts, const int64_t *sizes,
                            size_t n) {
  return slice(NXI_COMPOSITE_dynamic_slice, x, starts, sizes, n, false);
}
nx_tensor *nx_dynamic_slice_checked(nx_tensor *x, nx_tensor *const *starts, const int64_t *sizes,
                                    size_t n) {
  return slice(NXI_COMPOSITE_dynamic_slice_checked, x, starts, sizes, n, true);
}

/* ---- their updates */

/* x with the update in the only window; *copies: the result is an operand. */
static nx_tensor *written(nx_tensor *x, nx_tensor *update, nx_tensor *const *starts, bool checked,
                          bool *copies) {
  nxi_windows w = {.x = x,
                   .rank = x->rank,
                   .n_dims = x->rank,
                   .bounds = checked ? NX_BOUNDS_CHECK : NX_BOUNDS_CLAMP};
  int64_t ones[NXG_MAX_RANK];
  bool whole = true;
  for (int32_t i = 0; i < x->rank; i++) {
    ones[i] = 1;
    w.shape[i] = nxi_shape(x)[i];
    w.size[i] = w.dims[i] = nxi_shape(update)[i];
    w.dim[i] = i;
    whole &= w.size[i] == w.shape[i];
  }
  *copies = (whole && !checked) || !x->rank || !update->elements;
  if (*copies) return update->elements ? update : x;
  for (int32_t i = 0; i < x->rank; i++)
    if (!(w.start[i] = nx_reshape(starts[i], ones, x->rank, 0))) return NULL;
  return nxi_windows_scatter(&w, update, NX_SCATTER_SET);
}

static nx_tensor *update_slice(uint32_t called, nx_tensor *x, nx_tensor *update,
                               nx_tensor *const *starts, size_t n, bool checked) {
  const char *op = nxi_op_name(called);
  nx_tensor *t[2] = {x, update};
  nxi_scoped s;
  nxi_diag d;
  bool copies = false;
  nxi_diag_clear(&d);
  if (!nxi_check_operands(op, t, 2)) return NULL;
  if (x->storage->dtype != update->storage->dtype || x->rank != update->rank) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: %s of rank %d, and an update that is %s of rank %d",
             op, nxi_dtypes[x->storage->dtype].name, x->rank,
             nxi_dtypes[update->storage->dtype].name, update->rank);
    return nxi_fail_null(&d);
  }
  if (!check_starts(op, x, starts, n, nxi_shape(update), &d)) return NULL;
  if (!nxi_scoped_begin(&s, x->context, called)) return NULL;
  nx_tensor *result = written(x, update, starts, checked, &copies);
  return nxi_scoped_end(&s, result, copies);
}

nx_tensor *nx_dynamic_update_slice(nx_tensor *x, nx_tensor *update, nx_tensor *const *starts,
                                   size_t n) {
  return update_slice(NXI_COMPOSITE_dynamic_update_slice, x, update, starts, n, false);
}
nx_tensor *nx_dynamic_update_slice_checked(nx_tensor *x, nx_tensor *update,
                                           nx_tensor *const *starts, size_t n) {
  return update_slice(NXI_COMPOSITE_dynamic_update_slice_checked, x, update, starts, n, true);
}
