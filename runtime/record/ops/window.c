/* SPDX-License-Identifier: ISC */
/* Recording of sliding windows. unfold is a view of the padded value, lane_reduce a sum over a view
 * of it in which the shift of each element of the kernel is taken back: nothing but views and pads,
 * which fusion turns into addresses. */
#include <stdio.h>
#include <string.h>

#include "compose.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"
#include "runtime/record/window.h"

/* A window with what was left out filled in, for an operand whose axes before the spatial ones are
 * `lead`. */
typedef struct windows {
  int32_t n, lead;
  int64_t kernel[NXG_MAX_RANK], stride[NXG_MAX_RANK], dilation[NXG_MAX_RANK], before[NXG_MAX_RANK],
      after[NXG_MAX_RANK], count[NXG_MAX_RANK]; /* of windows */
  int64_t all_kernel, all_count;
} windows;

static nx_status refuse_dtype(const char *op, const nx_tensor *x, nxi_diag *d) {
  d->operand = 0;
  return nxi_fail(d, NX_UNSUPPORTED_DTYPE, op,
                  "%s: operand 0 has dtype %s, which the operation does not admit", op,
                  nxi_dtypes[x->storage->dtype].name);
}

/* Whether numbers of axis i are of their ranges. */
static bool is_sound(const nxi_window_lists *w, int32_t i) {
  bool padding = w->spread ? w->spread[i] >= 1 : w->before[i] >= 0 && w->after[i] >= 0;
  return w->kernel[i] >= 1 && w->stride[i] >= 1 && w->dilation[i] >= 1 && padding;
}

static nx_status refuse_axis(const char *op, const nxi_window_lists *w, int32_t i, nxi_diag *d) {
  char more[64] = "";
  if (w->spread) snprintf(more, sizeof more, ", base dilation %lld", (long long)w->spread[i]);
  return nxi_fail(d, NX_INVALID_ARGUMENT, op,
                  "%s: axis %d of the window has kernel %lld, stride %lld, dilation %lld%s and "
                  "padding %lld, %lld",
                  op, i, (long long)w->kernel[i], (long long)w->stride[i],
                  (long long)w->dilation[i], more, (long long)w->before[i], (long long)w->after[i]);
}

nx_status nxi_window_read(const char *op, const nx_sliding_window *g, const nxi_window_lists *out,
                          nxi_diag *d) {
  if (g->n < !out->spread || g->n > NXG_MAX_RANK || (g->n && !g->kernel))
    return nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: a window of rank %d, or without a kernel", op,
                    g->n);
  for (int32_t i = 0; i < g->n; i++) {
    out->kernel[i] = g->kernel[i];
    out->stride[i] = g->stride ? g->stride[i] : 1;
    out->dilation[i] = g->dilation ? g->dilation[i] : 1;
    if (out->spread) out->spread[i] = g->base_dilation ? g->base_dilation[i] : 1;
    out->before[i] = g->before ? g->before[i] : 0;
    out->after[i] = g->after ? g->after[i] : 0;
    if (!is_sound(out, i)) return refuse_axis(op, out, i, d);
  }
  return NX_OK;
}

static nx_status read_window(const char *op, const nx_window *given, windows *w, nxi_diag *d) {
  nx_window g = {0};
  if (!given) return nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: the window is null", op);
  if (nxi_take(&g, given, sizeof g, "nx_window", op, d)) return d->status;
  const nx_sliding_window all = {.n = g.n,
                                 .kernel = g.kernel,
                                 .stride = g.stride,
                                 .dilation = g.dilation,
                                 .before = g.before,
                                 .after = g.after};
  const nxi_window_lists lists = {.kernel = w->kernel,
                                  .stride = w->stride,
                                  .dilation = w->dilation,
                                  .before = w->before,
                                  .after = w->after};
  w->n = g.n;
  return nxi_window_read(op, &all, &lists, d);
}

/* How many windows each axis has room for; false: a number does not fit 63 bits. */
static bool count_windows(windows *w, const int64_t *spatial) {
  w->all_kernel = w->all_count = 1;
  for (int32_t i = 0; i < w->n; i++) {
    int64_t padded, reach;
    if (__builtin_add_overflow(spatial[i], w->before[i], &padded) ||
        __builtin_add_overflow(padded, w->after[i], &padded) ||
        __builtin_mul_overflow(w->kernel[i] - 1, w->dilation[i], &reach))
      return false;
    w->count[i] = padded > reach ? (padded - reach - 1) / w->stride[i] + 1 : 0;
    if (__builtin_mul_overflow(w->all_kernel, w->kernel[i], &w->all_kernel) ||
        __builtin_mul_overflow(w->all_count, w->count[i], &w->all_count))
      return false;
  }
  return true;
}

static nx_tensor *too_large(const char *op, nxi_diag *d) {
  nxi_fail(d, NX_INVALID_ARGUMENT, op,
           "%s: the window or its padding is larger than 63 bits can say", op);
  return nxi_fail_null(d);
}

/* x with zeros around its axes from `first` on. */
static nx_tensor *pad_axes(nxi_steps *s, nx_tensor *x, int32_t first, int32_t n,
                           const int64_t *before, const int64_t *after) {
  int64_t b[NXG_MAX_RANK] = {0}, a[NXG_MAX_RANK] = {0};
  nx_scalar zero = {NX_SCALAR_I64, {.i = 0}};
  bool any = false;
  for (int32_t i = 0; i < n; i++) {
    any |= before[i] || after[i];
    b[first + i] = before[i];
    a[first + i] = after[i];
  }
  return any && x ? nxi_step(s, nx_pad(x, b, a, x->rank, &zero)) : x;
}

/* ---- unfold */

/* (lead.., kernel.., windows..) of the padded x. */
static nx_tensor *view_windows(nxi_steps *s, nx_tensor *padded, const windows *w, nxi_diag *d) {
  nxg_view v, out;
  if (!padded) return NULL;
  nxi_view_of(padded, &v);
  int32_t rank = w->lead + 2 * w->n;
  int64_t shape[3 * NXG_MAX_RANK], strides[3 * NXG_MAX_RANK];
  bool any = w->all_count > 0; /* a dilation that leaves no window may be any number */
  for (int32_t i = 0; i < w->lead; i++) {
    shape[i] = v.shape[i];
    strides[i] = v.strides[i];
  }
  for (int32_t i = 0; i < w->n; i++) {
    int32_t k = w->lead + i, l = k + w->n;
    shape[k] = w->kernel[i];
    shape[l] = w->count[i];
    strides[k] = any && w->kernel[i] > 1 ? w->dilation[i] * v.strides[k] : 0;
    strides[l] = any && w->count[i] > 1 ? w->stride[i] * v.strides[w->lead + i] : 0;
  }
  if (nxg_view_as_strided(padded->storage->elements, rank, shape, strides, v.offset, &out, d))
    return nxi_fail_null(d);
  return nxi_step(s, nxi_view_tensor("unfold", padded, &out));
}

nx_tensor *nx_unfold(nx_tensor *x, const nx_window *window) {
  nxi_diag d;
  windows w = {0};
  int64_t shape[NXG_MAX_RANK];
  if (!nxi_have_tensor("unfold", 0, x)) return NULL;
  nxi_diag_clear(&d);
  if (read_window("unfold", window, &w, &d)) return nxi_fail_null(&d);
  w.lead = x->rank - w.n;
  if (w.lead < 0)
    nxi_fail(&d, NX_INVALID_ARGUMENT, "unfold",
             "unfold: a window of rank %d slides over no operand of rank %d", w.n, x->rank);
  else if (x->rank + w.n > NXG_MAX_RANK)
    nxi_fail(&d, NX_INVALID_ARGUMENT, "unfold",
             "unfold: an operand of rank %d and a window of rank %d give %d axes on the way, more "
             "than %d",
             x->rank, w.n, x->rank + w.n, NXG_MAX_RANK);
  if (d.status) return nxi_fail_null(&d);
  if (!count_windows(&w, nxi_shape(x) + w.lead)) return too_large("unfold", &d);
  memcpy(shape, nxi_shape(x), (size_t)w.lead * sizeof *shape);
  shape[w.lead] = w.all_kernel;
  shape[w.lead + 1] = w.all_count;
  if (nxg_shape_check(NX_INVALID_ARGUMENT, "unfold", w.lead + 2, shape,
                      nxi_dtypes[x->storage->dtype].bits, NULL, &d))
    return nxi_fail_null(&d);
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_unfold, x);
  nx_tensor *padded = pad_axes(&s, x, w.lead, w.n, w.before, w.after),
            *view = view_windows(&s, padded, &w, &d),
            *own = view ? nxi_step(&s, nx_copy(view)) : NULL;
  return nxi_steps_end(&s, own ? nxi_step(&s, nx_reshape(own, shape, w.lead + 2, 0)) : NULL);
}

/* ---- fold */

/* Axes of windows (lead + n ..) with stride - 1 zeros after each element. */
static nx_tensor *spread(nxi_steps *s, nx_tensor *x, const windows *w) {
  for (int32_t i = 0; i < w->n && x; i++) {
    int32_t axis = w->lead + w->n + i, rank = x->rank;
    if (w->stride[i] == 1) continue;
    int64_t shape[NXG_MAX_RANK + 1], none = 0, after = w->stride[i] - 1;
    memcpy(shape, nxi_shape(x), (size_t)rank * sizeof *shape);
    memmove(shape + axis + 2, shape + axis + 1, (size_t)(rank - axis - 1) * sizeof *shape);
    shape[axis + 1] = 1;
    x = pad_axes(s, nxi_step(s, nx_reshape(x, shape, rank + 1, 0)), axis + 1, 1, &none, &after);
    memcpy(shape + axis + 1, shape + axis + 2, (size_t)(rank - axis - 1) * sizeof *shape);
    if (__builtin_mul_overflow(shape[axis], w->stride[i], &shape[axis])) shape[axis] = -1;
    if (x) x = nxi_step(s, nx_reshape(x, shape, rank, 0));
  }
  return x;
}

/* Element p of an output axis is the sum over k of element p + before - k * dilation of row k:
 * (lead.., kernel.., output..) of rows with enough zeros around them. */
static nx_tensor *view_shifted(nxi_steps *s, nx_tensor *x, const windows *w, const int64_t *output,
                               nxi_diag *d) {
  int64_t before[NXG_MAX_RANK], after[NXG_MAX_RANK], strides[NXG_MAX_RANK], shape[NXG_MAX_RANK];
  nxg_view v, out;
  if (!x) return NULL;
  for (int32_t i = 0; i < w->n; i++) {
    int64_t reach = (w->kernel[i] - 1) * w->dilation[i], has = nxi_shape(x)[w->lead + w->n + i],
            needs = output[i] + w->before[i];
    before[i] = reach > w->before[i] ? reach - w->before[i] : 0;
    after[i] = needs > has ? needs - has : 0;
  }
  x = pad_axes(s, x, w->lead + w->n, w->n, before, after);
  if (!x) return NULL;
  nxi_view_of(x, &v);
  int64_t offset = v.offset;
  for (int32_t i = 0; i < w->lead; i++) {
    shape[i] = v.shape[i];
    strides[i] = v.strides[i];
  }
  for (int32_t i = 0; i < w->n; i++) {
    int32_t k = w->lead + i, l = k + w->n;
    offset += (before[i] + w->before[i]) * v.strides[l];
    shape[k] = w->kernel[i];
    shape[l] = output[i];
    strides[k] = w->kernel[i] > 1 ? v.strides[k] - w->dilation[i] * v.strides[l] : 0;
    strides[l] = output[i] > 1 ? v.strides[l] : 0;
  }
  if (nxg_view_as_strided(x->storage->elements, x->rank, shape, strides, offset, &out, d))
    return nxi_fail_null(d);
  return nxi_step(s, nxi_view_tensor("fold", x, &out));
}

static bool check_fold(const nx_tensor *x, const int64_t *output, size_t n, windows *w,
                       nxi_diag *d) {
  char text[NXG_SHAPE_TEXT];
  nx_dtype t = x->storage->dtype;
  w->lead = x->rank - 2;
  if (t == NX_BOOL || nxi_is_stored(t)) return !refuse_dtype("fold", x, d);
  if (!output) return !nxi_fail(d, NX_INVALID_ARGUMENT, "fold", "fold: the output size is null");
  if (n != (size_t)w->n)
    return !nxi_fail(d, NX_INVALID_ARGUMENT, "fold",
                     "fold: the output size has %zu entries, the window %d", n, w->n);
  if (w->lead < 0)
    return !nxi_fail(d, NX_INVALID_ARGUMENT, "fold", "fold: operand 0 of rank %d has no windows",
                     x->rank);
  if (w->lead + 2 * w->n + 1 > NXG_MAX_RANK)
    return !nxi_fail(d, NX_INVALID_ARGUMENT, "fold",
                     "fold: an operand of rank %d and a window of rank %d give %d axes on the way, "
                     "more than %d",
                     x->rank, w->n, w->lead + 2 * w->n + 1, NXG_MAX_RANK);
  for (int32_t i = 0; i < w->n; i++)
    if (output[i] < 0)
      return !nxi_fail(d, NX_INVALID_ARGUMENT, "fold", "fold: axis %d of the output has size %lld",
                       i, (long long)output[i]);
  if (!count_windows(w, output)) return too_large("fold", d) != NULL;
  if (nxi_shape(x)[w->lead] == w->all_kernel && nxi_shape(x)[w->lead + 1] == w->all_count)
    return true;
  return !nxi_fail(
      d, NX_INVALID_ARGUMENT, "fold",
      "fold: the last axes of %s are not the %lld elements of the kernel and %lld windows",
      nxg_format_shape(text, x->rank, nxi_shape(x)), (long long)w->all_kernel,
      (long long)w->all_count);
}

nx_tensor *nx_fold(nx_tensor *x, const int64_t *output, size_t n, const nx_window *window) {
  nxi_diag d;
  windows w = {0};
  int64_t shape[3 * NXG_MAX_RANK];
  int32_t axes[NXG_MAX_RANK];
  if (!nxi_have_tensor("fold", 0, x)) return NULL;
  nxi_diag_clear(&d);
  if (read_window("fold", window, &w, &d) || !check_fold(x, output, n, &w, &d))
    return nxi_fail_null(&d);
  memcpy(shape, nxi_shape(x), (size_t)w.lead * sizeof *shape);
  for (int32_t i = 0; i < w.n; i++) {
    shape[w.lead + i] = w.kernel[i];
    shape[w.lead + w.n + i] = w.count[i];
    axes[i] = w.lead + i;
  }
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_fold, x);
  nx_tensor *apart = nxi_step(&s, nx_reshape(x, shape, w.lead + 2 * w.n, 0)),
            *view = view_shifted(&s, spread(&s, apart, &w), &w, output, &d);
  return nxi_steps_end(&s, view ? nxi_step(&s, nx_reduce_sum(view, axes, (size_t)w.n, 0)) : NULL);
}
