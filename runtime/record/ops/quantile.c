/* SPDX-License-Identifier: ISC */
/* Quantiles and places in sorted lines, recorded as what they are made of: a quantile is an element
 * of a sort, or lies between two; a place is found by halving, one gather for each bit of it. */
#include <string.h>

#include "compose.h"
#include "linalg.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

/* ---- quantiles */

/* Where a quantile lies: part `weight` of the way from element `low` to the next. */
typedef struct spot {
  int64_t low;
  double weight;
} spot;

/* In the default floating-point environment. */
static spot spot_of(const volatile double *q, int64_t n, nx_quantile_method method) {
  nxi_fp environment = nxi_fp_enter();
  volatile double at = *q * (double)(n - 1);
  int64_t low = (int64_t)at;
  volatile double weight = at - (double)low, half = 0.5;
  spot s = {low, 0};
  if (method == NX_QUANTILE_LINEAR) s.weight = weight;
  if (method == NX_QUANTILE_MIDPOINT && weight > 0) s.weight = 0.5;
  if (method == NX_QUANTILE_HIGHER && weight > 0) s.low++;
  if (method == NX_QUANTILE_NEAREST && (weight > half || (weight == half && low % 2))) s.low++;
  nxi_fp_leave(environment);
  return s;
}

static bool is_fraction(double q) {
  return nxi_bits_f64(q) == UINT64_C(1) << 63 || nxi_bits_f64(q) <= nxi_bits_f64(1);
}

static nx_tensor *element(nxi_steps *s, nx_tensor *sorted, int32_t axis, int64_t at) {
  nx_range ranges[NXG_MAX_RANK];
  for (int32_t i = 0; i < axis; i++) ranges[i] = (nx_range){NX_OPEN, NX_OPEN, 1};
  ranges[axis] = (nx_range){at, at + 1, 1};
  return nxi_step(s, nx_get(sorted, ranges, (size_t)axis + 1));
}

static double less_than_one(const volatile double *x) {
  nxi_fp environment = nxi_fp_enter();
  volatile double rest = 1 - *x;
  nxi_fp_leave(environment);
  return rest;
}

/* a + weight (b - a), from the nearer end; a where both are equal. */
static nx_tensor *between(nxi_steps *s, nx_tensor *a, nx_tensor *b, double weight) {
  nx_tensor *equal = nxi_step(s, nx_cmpeq(a, b)), *apart = nxi_step(s, nx_sub(b, a)), *at;
  if (weight < 0.5)
    at = nxi_step(s, nx_add(a, nxi_step(s, nx_binary_f64(apart, NX_BINARY_MUL, weight))));
  else
    at = nxi_step(
        s, nx_sub(b, nxi_step(s, nx_binary_f64(apart, NX_BINARY_MUL, less_than_one(&weight)))));
  return nxi_step(s, nx_where(equal, a, at));
}

/* One quantile, with extent 1 along the axis. */
static nx_tensor *quantile_at(nx_tensor *sorted, int32_t axis, spot at, nx_dtype dtype) {
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_quantile, sorted);
  int64_t n = nxi_shape(sorted)[axis];
  nx_tensor *low = element(&s, sorted, axis, at.low), *last = element(&s, sorted, axis, n - 1),
            *y = low;
  if (at.weight > 0) y = between(&s, low, element(&s, sorted, axis, at.low + 1), at.weight);
  nx_tensor *none = nxi_step(&s, nx_cmpne(last, last)),
            *all = nxi_step(&s, nx_where(none, last, y));
  return nxi_steps_end(&s, all ? nxi_step(&s, nx_cast(all, dtype)) : NULL);
}

static bool check_quantile(const char *op, const nx_tensor *x, const double *q, size_t n_q,
                           int32_t axis, uint32_t method, uint32_t flags, int64_t *at) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_is_float(x->storage->dtype)) {
    d.operand = 0;
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, op,
             "%s: operand 0 has dtype %s, which the operation does not admit: cast it to a float",
             op, nxi_dtypes[x->storage->dtype].name);
  } else if (!q || !n_q || n_q > 64)
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: there are from 1 to 64 quantiles", op);
  else if (method > NX_QUANTILE_MIDPOINT)
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: there is no method %u", op, method);
  for (size_t i = 0; q != NULL && !d.status && i < n_q; i++)
    if (!is_fraction(q[i]))
      nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: quantile %zu is not from 0 to 1", op, i);
  if (!d.status && nxi_check_flags(op, flags, NX_KEEPDIMS, "NX_KEEPDIMS", &d) &&
      nxi_one_axis(op, x, axis, at, &d)) {
    if (nxi_shape(x)[*at] == 0)
      nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: over nothing, along axis %lld", op,
               (long long)*at);
    else if (x->rank == NXG_MAX_RANK)
      nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: an operand of rank %d, and an axis of quantiles",
               op, NXG_MAX_RANK);
  }
  if (d.status) nxi_fail_null(&d);
  return !d.status;
}

/* The quantiles of a sorted operand, along a new first axis. */
static nx_tensor *all_quantiles(nxi_steps *s, nx_tensor *sorted, const double *q, size_t n_q,
                                int32_t axis, nx_quantile_method method, nx_dtype dtype) {
  nx_tensor *each[64];
  int64_t shape[NXG_MAX_RANK + 1] = {1};
  memcpy(shape + 1, nxi_shape(sorted), (size_t)sorted->rank * sizeof *shape);
  shape[1 + axis] = 1;
  for (size_t i = 0; i < n_q; i++) {
    spot at = spot_of(&q[i], nxi_shape(sorted)[axis], method);
    nx_tensor *one = quantile_at(sorted, axis, at, dtype);
    each[i] = one ? nx_reshape(one, shape, sorted->rank + 1, 0) : NULL;
    nx_tensor_release(one);
    if (each[i]) continue;
    while (i--) nx_tensor_release(each[i]);
    return NULL;
  }
  nx_tensor *all = nxi_step(s, nx_cat(each, n_q, 0));
  for (size_t i = 0; i < n_q; i++) nx_tensor_release(each[i]);
  return all;
}

static nx_tensor *record_quantile(uint32_t called, nx_tensor *x, const double *q, size_t n_q,
                                  int32_t axis, nx_quantile_method method, uint32_t flags) {
  int64_t at = 0, shape[NXG_MAX_RANK + 1] = {0};
  const char *op = nxi_op_name(called);
  int32_t rank = 0;
  if (!nxi_have_tensor(op, 0, x) ||
      !check_quantile(op, x, q, n_q, axis, (uint32_t)method, flags, &at))
    return NULL;
  nxi_steps s = nxi_steps_of(called, x);
  nx_tensor *wide = nxi_step(&s, nxi_widened(x, false)),
            *sorted = wide ? nxi_step(&s, nx_sort(wide, (int32_t)at, 0)) : NULL,
            *all = sorted
                       ? all_quantiles(&s, sorted, q, n_q, (int32_t)at, method, x->storage->dtype)
                       : NULL;
  if (called == NXI_COMPOSITE_quantile) shape[rank++] = (int64_t)n_q;
  for (int32_t i = 0; i < x->rank; i++)
    if (i != at || (flags & NX_KEEPDIMS)) shape[rank++] = i == at ? 1 : nxi_shape(x)[i];
  return nxi_steps_end(&s, all ? nxi_step(&s, nx_reshape(all, shape, rank, 0)) : NULL);
}

nx_tensor *nx_quantile(nx_tensor *x, const double *q, size_t n_q, int32_t axis,
                       nx_quantile_method method, uint32_t flags) {
  return record_quantile(NXI_COMPOSITE_quantile, x, q, n_q, axis, method, flags);
}

nx_tensor *nx_median(nx_tensor *x, int32_t axis, uint32_t flags) {
  static const double half = 0.5;
  return record_quantile(NXI_COMPOSITE_median, x, &half, 1, axis, NX_QUANTILE_LINEAR, flags);
}

/* x with the axes of the mask last and as one; shape: that of what is left, with NX_KEEPDIMS with 1
 * in place of those axes, behind an axis of quantiles. */
static nx_tensor *as_lines(nxi_steps *s, nx_tensor *x, uint32_t mask, bool keep, int64_t *shape,
                           int32_t *rank) {
  int32_t order[NXG_MAX_RANK], first = 0, last = 0;
  int64_t lines[NXG_MAX_RANK + 1], count = 1;
  *rank = 1;
  for (int32_t i = 0; i < x->rank; i++) last += mask >> i & 1;
  last = x->rank - last;
  for (int32_t i = 0; i < x->rank; i++) {
    bool gone = mask >> i & 1;
    order[gone ? last++ : first++] = i;
    if (gone) count *= nxi_shape(x)[i];
    else lines[first - 1] = nxi_shape(x)[i];
    if (!gone || keep) shape[(*rank)++] = gone ? 1 : nxi_shape(x)[i];
  }
  lines[first] = count;
  nx_tensor *turned = nxi_step(s, nx_permute(x, order, (size_t)x->rank));
  return turned ? nxi_step(s, nx_reshape(turned, lines, first + 1, NX_MAY_COPY)) : NULL;
}

nx_tensor *nx_quantile_over(nx_tensor *x, const double *q, size_t n_q, const int32_t *axes,
                            size_t n, nx_quantile_method method, uint32_t flags) {
  static const char name[] = "quantile_over";
  nxi_diag d;
  uint32_t mask = 0;
  int64_t shape[NXG_MAX_RANK + 1];
  int32_t rank = 0;
  if (!nxi_have_tensor(name, 0, x)) return NULL;
  nxi_diag_clear(&d);
  if (nxi_axes_given(name, x, &axes, &n, &d) &&
      nxi_check_flags(name, flags, NX_KEEPDIMS, "NX_KEEPDIMS", &d))
    nxg_axes_mask(name, x->rank, axes, n, &mask, &d);
  if (!d.status && x->rank == NXG_MAX_RANK)
    nxi_fail(&d, NX_INVALID_ARGUMENT, name, "%s: an operand of rank %d, and an axis of quantiles",
             name, NXG_MAX_RANK);
  if (d.status) return nxi_fail_null(&d);
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_quantile_over, x);
  nx_tensor *lines = as_lines(&s, x, mask, flags & NX_KEEPDIMS, shape, &rank),
            *y = lines ? nxi_step(&s, nx_quantile(lines, q, n_q, -1, method, 0)) : NULL;
  shape[0] = (int64_t)n_q;
  return nxi_steps_end(&s, y ? nxi_step(&s, nx_reshape(y, shape, rank, 0)) : NULL);
}

/* ---- places in sorted lines */

/* Whether a is before b: NaN is last. */
static nx_tensor *is_before(nxi_steps *s, nx_tensor *a, nx_tensor *b) {
  nx_tensor *less = nxi_step(s, nx_cmplt(a, b));
  if (!a || !nxi_is_float(a->storage->dtype)) return less;
  nx_tensor *number = nxi_step(s, nx_cmpeq(a, a)), *none = nxi_step(s, nx_cmpne(b, b));
  return nxi_step(s, nx_or(less, nxi_step(s, nx_and(number, none))));
}

/* The place moved `step` on where the elements up to there belong before the values. */
static nx_tensor *halved(nx_tensor *sorted, nx_tensor *values, nx_tensor *place, int64_t step,
                         bool right) {
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_searchsorted, values);
  int32_t last = sorted->rank - 1;
  int64_t n = nxi_shape(sorted)[last];
  nx_tensor *next = nxi_step(&s, nx_binary_i64(place, NX_BINARY_ADD, step)),
            *there = nxi_step(&s, nx_binary_i64(next, NX_BINARY_CMPLE, n)),
            *within = nxi_step(&s, nx_binary_i64(next, NX_BINARY_MIN, n)),
            *index = nxi_step(&s, nx_binary_i64(within, NX_BINARY_SUB, 1)),
            *v = index ? nxi_step(&s, nx_gather(sorted, index, last)) : NULL;
  nx_tensor *before = right ? is_before(&s, values, v) : is_before(&s, v, values);
  if (right && before) {
    nx_tensor *no = nxi_step(&s, nx_full_i64(s.context, s.device, NX_BOOL, NULL, 0, 0));
    before = nxi_step(&s, nx_cmpeq(before, no));
  }
  nx_tensor *moves = nxi_step(&s, nx_and(there, before));
  return nxi_steps_end(&s, nxi_step(&s, nx_where(moves, next, place)));
}

static bool leading_agree(const nx_tensor *a, const nx_tensor *b) {
  return a->rank == b->rank &&
         !memcmp(nxi_shape(a), nxi_shape(b), (size_t)(a->rank - 1) * sizeof(int64_t));
}

static bool check_search(nx_tensor *sorted, nx_tensor *values, nx_tensor *sorter, uint32_t flags,
                         nx_dtype dtype) {
  char a[NXG_SHAPE_TEXT], b[NXG_SHAPE_TEXT];
  const char *op = "searchsorted";
  nx_dtype is = sorted->storage->dtype;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxi_dtype_exists(op, dtype, &d) && dtype != NX_I32 && dtype != NX_I64)
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, op, "%s: places are i32 or i64, not %s", op,
             nxi_dtypes[dtype].name);
  if (!d.status && (nxi_is_complex(is) || !nxg_op_admits(NXG_cmplt, is)))
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, op,
             "%s: operand 0 has dtype %s, which the operation does not admit", op,
             nxi_dtypes[is].name),
        d.operand = 0;
  else if (!d.status && values->storage->dtype != is)
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: the values have dtype %s, the sorted ones %s", op,
             nxi_dtypes[values->storage->dtype].name, nxi_dtypes[is].name);
  else if (!d.status && (sorted->rank == 0 || (sorted->rank > 1 && !leading_agree(sorted, values))))
    nxi_fail(&d, NX_INVALID_ARGUMENT, op,
             "%s: values of shape %s and sorted ones of shape %s: they are of rank 1, or equal but "
             "for the last axis",
             op, nxg_format_shape(a, values->rank, nxi_shape(values)),
             nxg_format_shape(b, sorted->rank, nxi_shape(sorted)));
  else if (!d.status && sorter &&
           !nxg_same_shape(sorted->rank, nxi_shape(sorted), sorter->rank, nxi_shape(sorter)))
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: the sorter has the shape %s, not %s", op,
             nxg_format_shape(a, sorter->rank, nxi_shape(sorter)),
             nxg_format_shape(b, sorted->rank, nxi_shape(sorted)));
  if (!d.status) nxi_check_flags(op, flags, NX_AFTER_EQUAL, "NX_AFTER_EQUAL", &d);
  if (d.status) nxi_fail_null(&d);
  return !d.status;
}

/* The places of values that agree with the sorted lines but for the last axis: i32 where that holds
 * twice their number, since vectors have twice as many of those. */
static nx_tensor *search(nxi_steps *s, nx_tensor *sorted, nx_tensor *values, bool right) {
  int64_t n = nxi_shape(sorted)[sorted->rank - 1], step = 1;
  nx_dtype t = n <= INT32_MAX / 2 ? NX_I32 : NX_I64;
  nx_tensor *place = nx_full_i64(s->context, s->device, t, nxi_shape(values), values->rank, 0);
  while (step <= n / 2) step *= 2;
  for (; n && place && step; step /= 2) {
    nx_tensor *moved = halved(sorted, values, place, step, right);
    nx_tensor_release(place);
    place = moved;
  }
  return nxi_step(s, place);
}

nx_tensor *nx_searchsorted(nx_tensor *sorted, nx_tensor *values, nx_tensor *sorter, uint32_t flags,
                           nx_dtype dtype) {
  nx_tensor *all[3] = {sorted, values, sorter};
  if (!nxi_check_operands("searchsorted", all, sorter ? 3 : 2) ||
      !check_search(sorted, values, sorter, flags, dtype))
    return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_searchsorted, sorted);
  int64_t elements = values->elements;
  bool flat = sorted->rank == 1;
  nx_tensor *own = sorter ? nxi_step(&s, nx_gather(sorted, sorter, sorted->rank - 1)) : sorted,
            *line = flat ? nxi_step(&s, nx_reshape(values, &elements, 1, NX_MAY_COPY)) : values,
            *place = own && line ? search(&s, own, line, flags & NX_AFTER_EQUAL) : NULL,
            *cast = place ? nxi_step(&s, nx_cast(place, dtype)) : NULL;
  return nxi_steps_end(&s, cast ? nxi_step(&s, nx_reshape(cast, nxi_shape(values), values->rank, 0))
                                : NULL);
}
