/* SPDX-License-Identifier: ISC */
/* Slices whose starts are values, and gathers that never fail: compositions of gather and scatter,
 * whose indices are made to be in range. */
#include <string.h>

#include "compose.h"
#include "nx/index.h"
#include "nx/number.h"
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

/* Between 0 and the last index. */
static nx_tensor *clamped(nxi_steps *s, nx_tensor *indices, int64_t last) {
  nx_dtype t = indices->storage->dtype;
  if (t == NX_I32 && last > INT32_MAX) last = INT32_MAX;
  nx_tensor *above = nxi_step(s, nx_binary_i64(indices, NX_BINARY_MAX, 0));
  return nxi_step(s, nx_binary_i64(above, NX_BINARY_MIN, last < 0 ? 0 : last));
}

nx_tensor *nx_gather_clamped(nx_tensor *data, nx_tensor *indices, int32_t axis) {
  int64_t at = 0;
  if (!check_gather("gather_clamped", data, indices, axis, &at)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_gather_clamped, data);
  nx_tensor *inside = clamped(&s, indices, nxi_shape(data)[at] - 1);
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
            *low = nxi_step(&s, nx_binary_i64(wide, NX_BINARY_CMPGE, -extent)),
            *high = nxi_step(&s, nx_binary_i64(wide, NX_BINARY_CMPLT, extent)),
            *good = nxi_step(&s, nx_and(low, high)),
            *zero = nxi_step(&s, nx_full_i64(s.context, s.device, NX_I64, NULL, 0, 0)),
            *inside = nxi_step(&s, nx_where(good, wide, zero)),
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
static nx_tensor *indices_from(nxi_steps *s, nx_tensor *start, int64_t extent, int32_t axis,
                               const int64_t *shape, int32_t rank) {
  int64_t line[NXG_MAX_RANK], size = shape[axis];
  for (int32_t i = 0; i < rank; i++) line[i] = i == axis ? size : 1;
  nx_tensor *wide = nxi_step(s, nx_cast(start, NX_I64)),
            *first = wide ? clamped(s, wide, extent - size) : NULL,
            *all = first ? nxi_step(s, nx_add(first, nxi_step_count(s, NX_I64, size))) : NULL;
  return nxi_step(s, nx_expand(nxi_step(s, nx_reshape(all, line, rank, 0)), shape, rank));
}

nx_tensor *nx_dynamic_slice(nx_tensor *x, nx_tensor *const *starts, const int64_t *sizes,
                            size_t n) {
  static const char op[] = "dynamic_slice";
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_have_tensor(op, 0, x)) return NULL;
  if (n && !sizes) return nxi_error_null(op, 2);
  if (!check_starts(op, x, starts, n, sizes, &d)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_dynamic_slice, x);
  int64_t shape[NXG_MAX_RANK];
  nx_tensor *part = x;
  memcpy(shape, nxi_shape(x), (size_t)x->rank * sizeof *shape);
  for (int32_t i = 0; part && i < x->rank; i++) {
    if (sizes[i] == shape[i]) continue;
    int64_t extent = shape[i];
    shape[i] = sizes[i];
    part = nxi_step(&s, nx_gather(part, indices_from(&s, starts[i], extent, i, shape, x->rank), i));
  }
  return nxi_steps_end(&s, part == x ? nxi_step(&s, nx_copy(x)) : part);
}

/* The number of axes that the update does not fill, and one of them. */
static int32_t partial_axes(const nx_tensor *x, const int64_t *sizes, int32_t *one) {
  int32_t count = 0;
  for (int32_t i = 0; i < x->rank; i++) {
    if (sizes[i] == nxi_shape(x)[i]) continue;
    *one = i;
    count++;
  }
  return count;
}

/* Several axes: the places of the update's elements in a row of all elements. */
static nx_tensor *update_places(nxi_steps *s, nx_tensor *x, nx_tensor *update,
                                nx_tensor *const *starts) {
  int64_t all = x->elements, some = update->elements, stride = 1;
  nx_tensor *place = NULL;
  for (int32_t i = x->rank; i-- > 0; stride *= nxi_shape(x)[i]) {
    nx_tensor *index =
        indices_from(s, starts[i], nxi_shape(x)[i], i, nxi_shape(update), update->rank);
    index = nxi_step(s, nx_binary_i64(index, NX_BINARY_MUL, stride));
    place = place ? nxi_step(s, nx_add(place, index)) : index;
    if (!place) return NULL;
  }
  place = nxi_step(s, nx_reshape(place, &some, 1, NX_MAY_COPY));
  nx_tensor *row = nxi_step(s, nx_reshape(x, &all, 1, NX_MAY_COPY)),
            *values = nxi_step(s, nx_reshape(update, &some, 1, NX_MAY_COPY)),
            *written =
                nxi_step(s, nx_scatter(row, place, values, 0, NX_SCATTER_SET, NX_UNIQUE_INDICES));
  return nxi_step(s, nx_reshape(written, nxi_shape(x), x->rank, 0));
}

nx_tensor *nx_dynamic_update_slice(nx_tensor *x, nx_tensor *update, nx_tensor *const *starts,
                                   size_t n) {
  static const char op[] = "dynamic_update_slice";
  nx_tensor *t[2] = {x, update};
  nxi_diag d;
  int32_t axis = 0;
  nxi_diag_clear(&d);
  if (!nxi_check_operands(op, t, 2)) return NULL;
  if (x->storage->dtype != update->storage->dtype || x->rank != update->rank) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: %s of rank %d, and an update that is %s of rank %d",
             op, nxi_dtypes[x->storage->dtype].name, x->rank,
             nxi_dtypes[update->storage->dtype].name, update->rank);
    return nxi_fail_null(&d);
  }
  if (!check_starts(op, x, starts, n, nxi_shape(update), &d)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_dynamic_update_slice, x);
  int32_t partial = partial_axes(x, nxi_shape(update), &axis);
  nx_tensor *result;
  if (!partial) result = nxi_step(&s, nx_copy(update));
  else if (!update->elements) result = nxi_step(&s, nx_copy(x));
  else if (partial > 1) result = update_places(&s, x, update, starts);
  else
    result = nxi_step(&s, nx_scatter(x,
                                     indices_from(&s, starts[axis], nxi_shape(x)[axis], axis,
                                                  nxi_shape(update), x->rank),
                                     update, axis, NX_SCATTER_SET, NX_UNIQUE_INDICES));
  return nxi_steps_end(&s, result);
}
