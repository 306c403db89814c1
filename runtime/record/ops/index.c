/* SPDX-License-Identifier: ISC */
/* Recording of operations that address elements by number: ranges of axes, one-hot rows. */
#include <string.h>

#include "compose.h"
#include "runtime/apply/by_scatter.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

/* ---- ranges */

static int64_t within(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

/* First element and count of x[start:stop:step] over an axis of n elements. */
static void resolve(const nx_range *r, int64_t n, int64_t *start, int64_t *count) {
  bool down = r->step < 0;
  int64_t low = down ? -1 : 0, high = down ? n - 1 : n;
  int64_t from = r->start == NX_OPEN ? (down ? high : low)
                                     : within(r->start < 0 ? r->start + n : r->start, low, high),
          to = r->stop == NX_OPEN ? (down ? low : high)
                                  : within(r->stop < 0 ? r->stop + n : r->stop, low, high);
  uint64_t distance = (uint64_t)(down ? from - to : to - from),
           step = down ? 0 - (uint64_t)r->step : (uint64_t)r->step;
  *count = (down ? from > to : to > from) ? (int64_t)((distance - 1) / step + 1) : 0;
  *start = *count ? from : 0;
}

static nx_status view_ranges(const char *op, const nx_tensor *x, const nx_range *ranges, size_t n,
                             nxg_view *v, nxi_diag *d) {
  static const nx_range all = {NX_OPEN, NX_OPEN, 1};
  int64_t start[NXG_MAX_RANK], count[NXG_MAX_RANK], step[NXG_MAX_RANK];
  if (n > (size_t)x->rank)
    return nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: %zu ranges for a tensor of rank %d", op, n,
                    x->rank);
  if (n && !ranges)
    return nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: the list of ranges is null", op);
  for (int32_t i = 0; i < x->rank; i++) {
    const nx_range *r = (size_t)i < n ? &ranges[i] : &all;
    if (r->step == 0)
      return nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: the step of axis %d is 0", op, i);
    resolve(r, nxi_shape(x)[i], &start[i], &count[i]);
    step[i] = count[i] > 1 ? r->step : 1;
  }
  nxi_view_of(x, v);
  return nxg_view_slice(v, start, count, step, v, d);
}

nx_tensor *nx_get(nx_tensor *x, const nx_range *ranges, size_t n) {
  nxg_view v;
  nxi_diag d;
  if (!nxi_have_tensor("get", 0, x)) return NULL;
  nxi_diag_clear(&d);
  return view_ranges("get", x, ranges, n, &v, &d) ? nxi_fail_null(&d)
                                                  : nxi_view_tensor("get", x, &v);
}

nx_status nx_set(nx_tensor *x, const nx_range *ranges, size_t n, nx_tensor *src) {
  nx_tensor *t[2] = {x, src};
  nxg_view v;
  nxi_diag d;
  if (!nxi_check_operands("set", t, 2)) return NX_INVALID_ARGUMENT;
  nxi_diag_clear(&d);
  if (view_ranges("set", x, ranges, n, &v, &d)) return nxi_error_report(&d);
  nx_tensor *part = nxi_view_tensor("set", x, &v);
  if (!part) return NX_OUT_OF_MEMORY;
  uint16_t outer = nxi_called_begin(NXI_COMPOSITE_set);
  nx_status status = nx_assign(part, src);
  nxi_called_end(outer);
  nx_tensor_release(part);
  return status;
}

/* ---- one-hot rows */

nx_tensor *nx_one_hot(nx_tensor *indices, int64_t n, nx_dtype dtype) {
  nxi_diag d;
  if (!nxi_have_tensor("one_hot", 0, indices)) return NULL;
  nxi_diag_clear(&d);
  nx_dtype t = indices->storage->dtype;
  int64_t shape[NXG_MAX_RANK];
  if (!nxi_dtype_exists("one_hot", dtype, &d)) return nxi_fail_null(&d);
  if (!nxi_is_integer(t))
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, "one_hot",
             "one_hot: the indices have dtype %s, not integers", nxi_dtypes[t].name),
        d.operand = 0;
  else if (nxi_is_stored(dtype))
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, "one_hot", "one_hot: %s is stored, moved and cast alone",
             nxi_dtypes[dtype].name);
  else if (indices->rank == NXG_MAX_RANK || n < 0)
    nxi_fail(&d, NX_INVALID_ARGUMENT, "one_hot", "one_hot: %lld classes of indices of rank %d",
             (long long)n, indices->rank);
  if (d.status) return nxi_fail_null(&d);
  memcpy(shape, nxi_shape(indices), (size_t)indices->rank * sizeof *shape);
  shape[indices->rank] = 1;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_one_hot, indices);
  nx_tensor *index = nxi_step(&s, nx_reshape(indices, shape, indices->rank + 1, 0)),
            *wide = nxi_step(&s, nx_cast(index, NX_I64)), *count = nxi_step_count(&s, NX_I64, n),
            *equal = nxi_step(&s, nx_cmpeq(wide, count));
  return nxi_steps_end(&s, nxi_step(&s, nx_cast(equal, dtype)));
}

/* ---- elements by number */

_Static_assert((int)NX_SCATTER_ADD == (int)NXI_SCATTER_ADD &&
                   (int)NX_SCATTER_MAX == (int)NXI_SCATTER_MAX &&
                   (int)NX_SCATTER_XOR == (int)NXI_SCATTER_XOR,
               "the modes have the same numbers");

nx_tensor *nx_gather(nx_tensor *data, nx_tensor *indices, int32_t axis) {
  nx_tensor *t[2] = {data, indices};
  nxi_diag d;
  int64_t at;
  if (!nxi_check_operands("gather", t, 2)) return NULL;
  nxi_diag_clear(&d);
  if (!nxi_one_axis("gather", data, axis, &at, &d)) return nxi_fail_null(&d);
  nxi_operand o[2] = {nxi_operand_of(data), nxi_operand_of(indices)};
  return nxi_record_inferred(NXG_gather, o, 2, &at, 1, &d);
}

nx_tensor *nx_scatter(nx_tensor *x, nx_tensor *indices, nx_tensor *updates, int32_t axis,
                      nx_scatter_mode mode, uint32_t flags) {
  nx_tensor *t[3] = {x, indices, updates};
  nxi_diag d;
  int64_t attrs[2] = {0, 0};
  if (!nxi_check_operands("scatter", t, 3)) return NULL;
  nxi_diag_clear(&d);
  if (flags & ~(uint32_t)(NX_UNIQUE_INDICES | NX_DROP_OUT_OF_RANGE))
    nxi_fail(&d, NX_INVALID_ARGUMENT, "scatter",
             "scatter: the flags 0x%x hold more than NX_UNIQUE_INDICES and NX_DROP_OUT_OF_RANGE",
             flags);
  else if ((uint32_t)mode > NX_SCATTER_XOR)
    nxi_fail(&d, NX_INVALID_ARGUMENT, "scatter", "scatter: there is no mode %lld", (long long)mode);
  bool rounds = nxi_scatter_takes_rounds(mode, x->storage->dtype),
       drops = flags & NX_DROP_OUT_OF_RANGE;
  attrs[1] = nxg_scatter_bits(rounds ? NXI_SCATTER_SET : (nxi_scatter_mode)mode) |
             (drops ? NXG_SCATTER_DROPS : 0);
  if (d.status || !nxi_one_axis("scatter", x, axis, &attrs[0], &d)) return nxi_fail_null(&d);
  nxi_operand o[3] = {nxi_operand_of(x), nxi_operand_of(indices), nxi_operand_of(updates)};
  nx_tensor *y = nxi_record_inferred(NXG_scatter, o, 3, attrs, 2, &d);
  if (!y || !rounds) return y;
  nx_tensor_release(y); /* it has checked the operands */
  return nxi_scatter_complex(x, indices, updates, (int32_t)attrs[0], mode, drops);
}

/* ---- where a mask is true: how many there are up to each element is its place in the result, n +
 * 1 at most */

nx_tensor *nx_true_indices(nx_tensor *mask, int64_t n) {
  nxi_diag d;
  if (!nxi_have_tensor("true_indices", 0, mask)) return NULL;
  nxi_diag_clear(&d);
  int64_t elements = nxg_elements(mask->rank, nxi_shape(mask)), room, start = 0;
  if (mask->storage->dtype != NX_BOOL)
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, "true_indices",
             "true_indices: the mask has dtype %s, not bool",
             nxi_dtypes[mask->storage->dtype].name),
        d.operand = 0;
  else if (n < 0 || __builtin_add_overflow(n, 1, &room))
    nxi_fail(&d, NX_INVALID_ARGUMENT, "true_indices", "true_indices: there are no %lld indices",
             (long long)n);
  else nxg_shape_check(NX_INVALID_ARGUMENT, "true_indices", 1, &room, 64, NULL, &d);
  if (d.status) return nxi_fail_null(&d);
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_true_indices, mask);
  nx_scalar none = {NX_SCALAR_I64, {.i = -1}};
  nx_tensor *flat = nxi_step(&s, nx_reshape(nxi_step(&s, nx_contiguous(mask)), &elements, 1, 0)),
            *ones = nxi_step(&s, nx_cast(flat, NX_I64)),
            *count = nxi_step(&s, nx_associative_scan(ones, NX_SCAN_SUM, 0)),
            *place = nxi_step(&s, nx_sub(count, nxi_step_scalar(&s, NX_I64, 1))),
            *last = nxi_step_scalar(&s, NX_I64, (double)n),
            *number = nxi_step_count(&s, NX_I64, elements);
  place = nxi_step(&s, nx_min(nxi_step(&s, nx_where(flat, place, last)), last));
  nx_tensor *empty = nxi_step(&s, nx_full(s.context, s.device, NX_I64, &room, 1, &none)),
            *all = nxi_step(&s, nx_scatter(empty, place, number, 0, NX_SCATTER_SET, 0));
  return nxi_steps_end(&s, nxi_step(&s, nx_copy(nxi_step(&s, nx_shrink(all, &start, &n, 1)))));
}
