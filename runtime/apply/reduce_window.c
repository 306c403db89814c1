/* SPDX-License-Identifier: ISC */
/* reduce_window: the operand is spread and padded, seen through its windows, and reduced over the
 * elements of the kernel: by the library's own reduction where the combiner is one, and what is
 * outside of the operand changes nothing; else element by element of the kernel in one kernel, and
 * for long windows axis by axis, with a mask of what is inside. */
#include <string.h>

#include "body.h"
#include "runtime/record/objects.h"
#include "runtime/record/window.h"

enum { MOST_ELEMENTS = 64 };

typedef struct sliding {
  int32_t n, lead;
  int64_t kernel[NXG_MAX_RANK], stride[NXG_MAX_RANK], dilation[NXG_MAX_RANK], spread[NXG_MAX_RANK],
      before[NXG_MAX_RANK], after[NXG_MAX_RANK];
  int64_t count[NXG_MAX_RANK]; /* of windows */
  int64_t elements;            /* of the kernel, MOST_ELEMENTS + 1 if there are more */
  bool empty;
} sliding;

/* ---- checks */

static bool read_window(const char *op, const nx_sliding_window *given, sliding *w, nxi_diag *d) {
  nx_sliding_window g = {0};
  if (!given) return !nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: the window is null", op);
  if (nxi_take(&g, given, sizeof g, "nx_sliding_window", op, d)) return false;
  const nxi_window_lists lists = {w->kernel, w->stride, w->dilation,
                                  w->before, w->after,  w->spread};
  w->n = g.n;
  return nxi_window_read(op, &g, &lists, d) == NX_OK;
}

/* The extent of an axis with gaps, and of all that is padded; false: a number beyond 63 bits. */
static bool extents(const sliding *w, int32_t i, int64_t extent, int64_t *all) {
  int64_t gaps = 0;
  if (extent && __builtin_mul_overflow(extent - 1, w->spread[i], &gaps)) return false;
  return !__builtin_add_overflow(extent ? gaps + 1 : 0, w->before[i], all) &&
         !__builtin_add_overflow(*all, w->after[i], all) && *all < INT64_MAX / 2;
}

static bool count_windows(sliding *w, const int64_t *shape) {
  w->elements = 1;
  for (int32_t i = 0; i < w->n; i++) {
    int64_t all, reach;
    if (!extents(w, i, shape[i], &all) ||
        __builtin_mul_overflow(w->kernel[i] - 1, w->dilation[i], &reach))
      return false;
    w->count[i] = all > reach ? (all - reach - 1) / w->stride[i] + 1 : 0; /* NOLINT: >= 1 */
    w->empty |= !w->count[i];
    w->elements = w->kernel[i] > MOST_ELEMENTS ? MOST_ELEMENTS + 1 : w->elements * w->kernel[i];
    if (w->elements > MOST_ELEMENTS) w->elements = MOST_ELEMENTS + 1;
  }
  return true;
}

static bool check_window(const nxi_by *by, const nx_sliding_window *window, sliding *w,
                         nxi_diag *d) {
  const nx_tensor *x = by->x[0];
  if (!by->init)
    nxi_fail(d, NX_INVALID_ARGUMENT, by->op, "%s: there are no initial values", by->op);
  if (d->status || !read_window(by->op, window, w, d)) return false;
  w->lead = x->rank - w->n;
  if (w->lead < 0 || x->rank + w->n + 1 > NXG_MAX_RANK)
    return !nxi_fail(d, NX_INVALID_ARGUMENT, by->op,
                     "%s: a window of rank %d slides over operands of rank %d; there are at most "
                     "%d axes on the way",
                     by->op, w->n, x->rank, NXG_MAX_RANK);
  if (count_windows(w, nxi_shape(x) + w->lead)) return true;
  return !nxi_fail(d, NX_INVALID_ARGUMENT, by->op,
                   "%s: the window or its padding is larger than 63 bits can say", by->op);
}

/* ---- the operand with what lies between and around its elements */

/* What fills a gap: bits of a constant. */
typedef struct filling {
  uint64_t bits[2];
} filling;

static nx_tensor *pad_axis(nx_tensor *x, int32_t axis, int64_t before, int64_t after,
                           const filling *f) {
  int64_t attrs[2 + 2 * NXG_MAX_RANK] = {(int64_t)f->bits[0]};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!x || (!before && !after)) return x;
  attrs[1 + axis] = before;
  attrs[1 + x->rank + axis] = after;
  attrs[1 + 2 * x->rank] = (int64_t)f->bits[1];
  nxi_operand o = nxi_operand_of(x);
  uint32_t n_attrs = 1 + 2 * (uint32_t)x->rank + nxi_is_complex(x->storage->dtype);
  return nxi_record_inferred(NXG_pad, &o, 1, attrs, n_attrs, &d);
}

/* spread - 1 gaps between neighbours of an axis. */
static nx_tensor *spread_axis(nx_tensor *x, int32_t axis, int64_t spread, const filling *f) {
  int64_t shape[NXG_MAX_RANK + 1];
  int64_t n = x ? nxi_shape(x)[axis] : 0;
  if (n < 2 || spread == 1) return x;
  int32_t rank = x->rank;
  memcpy(shape, nxi_shape(x), (size_t)rank * sizeof *shape);
  memmove(shape + axis + 2, shape + axis + 1, (size_t)(rank - axis - 1) * sizeof *shape);
  shape[axis + 1] = 1;
  nx_tensor *apart =
      pad_axis(nx_reshape(x, shape, rank + 1, NX_MAY_COPY), axis + 1, 0, spread - 1, f);
  memmove(shape + axis + 1, shape + axis + 2, (size_t)(rank - axis - 1) * sizeof *shape);
  shape[axis] = n * spread;
  nx_tensor *joined = apart ? nx_reshape(apart, shape, rank, 0) : NULL;
  return nxi_part(joined, axis, 0, (n - 1) * spread + 1, 1);
}

/* Cuts where there is less than nothing around the axis, then pads. */
static nx_tensor *surround_axis(nx_tensor *x, int32_t axis, int64_t before, int64_t after,
                                const filling *f) {
  if (!x) return NULL;
  int64_t n = nxi_shape(x)[axis], front = before < 0 ? -before : 0, back = after < 0 ? -after : 0;
  int64_t start = front < n ? front : n, stop = back < n - start ? n - back : start;
  /* what is cut beyond the elements is cut from the padding of the other side */
  int64_t more = front - start, less = back - (n - stop);
  before = (before > 0 ? before : 0) - less;
  after = (after > 0 ? after : 0) - more;
  if (start || stop < n) x = nxi_part(x, axis, start, stop, 1);
  return pad_axis(x, axis, before, after, f);
}

static nx_tensor *surround(nx_tensor *x, const sliding *w, const filling *f) {
  for (int32_t i = 0; i < w->n && x; i++)
    x = surround_axis(spread_axis(x, w->lead + i, w->spread[i], f), w->lead + i, w->before[i],
                      w->after[i], f);
  return x;
}

static const filling zeros;

static nx_tensor *number_like(nx_tensor *x, double value, double imaginary) {
  nx_scalar s = {NX_SCALAR_C128, {.f = {value, imaginary}}};
  if (!nxi_is_complex(x->storage->dtype)) s = *NX_NUMBER(value);
  return nx_full(x->context, x->storage->device, x->storage->dtype, NULL, 0, &s);
}

/* What is outside counts as this value, which changes no result of operation `op`. */
static bool find_filling(nxg_op op, nx_tensor *x, nx_tensor *init, filling *f) {
  filling given = zeros;
  bool known = nxi_constant_of(init, given.bits), sum = op == NXG_add;
  if (known && sum && !memcmp(&given, &zeros, sizeof zeros)) {
    *f = zeros; /* which other operations pad with, too */
    return true;
  }
  nx_tensor *one = sum ? number_like(x, -0.0, -0.0) : number_like(x, 1, 0);
  return one && nxi_constant_of(one, f->bits);
}

/* With init outside: a constant at once, else where a mask has no elements. */
static nx_tensor *filled(nx_tensor *x, nx_tensor *init, nx_tensor *inside, const sliding *w) {
  filling f = {{0, 0}};
  if (nxi_constant_of(init, f.bits)) return surround(x, w, &f);
  nx_tensor *with = surround(x, w, &f);
  return with && inside ? nx_where(inside, with, init) : with;
}

/* x with what leaves the results of its own operation as they are. */
static nx_tensor *neutrally_filled(const nxi_by *by, uint32_t i, nx_tensor *inside,
                                   const sliding *w) {
  filling f;
  nx_tensor *x = by->x[i];
  nxg_op op = nxi_body_plain(by->f, i);
  bool once = (op == NXG_add || op == NXG_mul) && x->storage->dtype != NX_BOOL;
  if (!once) return filled(x, by->init[i], inside, w); /* a maximum takes it as often as it likes */
  return find_filling(op, x, by->init[i], &f) ? surround(x, w, &f) : NULL;
}

/* Whether nothing is around or between the elements of the axis. */
static bool is_dense(const sliding *w, int32_t i, int64_t extent) {
  return w->before[i] == 0 && w->after[i] == 0 && (w->spread[i] == 1 || extent < 2);
}

/* Whether an element is one of the operand; NULL: all are, or an error. One along leading axes, and
 * the same one along axes where all are. */
static bool mask_inside(const nx_tensor *x, const sliding *w, nx_tensor **inside) {
  int64_t shape[NXG_MAX_RANK];
  bool all = true;
  *inside = NULL;
  for (int32_t i = 0; i < w->n; i++) {
    const int64_t extent = nxi_shape(x)[w->lead + i];
    shape[w->lead + i] = is_dense(w, i, extent) ? 1 : extent;
    all = all && w->before[i] <= 0 && w->after[i] <= 0 && (w->spread[i] == 1 || extent < 2);
  }
  if (all) return true;
  for (int32_t i = 0; i < w->lead; i++) shape[i] = 1;
  nx_tensor *ones = nx_full(x->context, x->storage->device, NX_BOOL, shape, x->rank, NX_INTEGER(1)),
            *padded = ones ? surround(ones, w, &zeros) : NULL;
  if (padded == NULL) return false;
  memcpy(shape, nxi_shape(padded), (size_t)x->rank * sizeof *shape);
  for (int32_t i = 0; i < w->n; i++)
    if (is_dense(w, i, nxi_shape(x)[w->lead + i])) shape[w->lead + i] = nxi_shape(x)[w->lead + i];
  return (*inside = nx_expand(padded, shape, (size_t)x->rank)) != NULL;
}

/* ---- reducing */

/* (lead.., kernel.., windows..) */
static nx_tensor *view_windows(nx_tensor *x, const sliding *w) {
  int64_t shape[2 * NXG_MAX_RANK], strides[2 * NXG_MAX_RANK];
  nxg_view v, out;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_view_of(x, &v);
  for (int32_t i = 0; i < w->lead; i++) {
    shape[i] = v.shape[i];
    strides[i] = v.strides[i];
  }
  for (int32_t i = 0; i < w->n; i++) {
    int32_t k = w->lead + i, l = k + w->n;
    shape[k] = w->kernel[i];
    shape[l] = w->count[i];
    strides[k] = w->kernel[i] > 1 ? w->dilation[i] * v.strides[k] : 0;
    strides[l] = w->count[i] > 1 ? w->stride[i] * v.strides[k] : 0;
  }
  if (nxg_view_as_strided(x->storage->elements, w->lead + 2 * w->n, shape, strides, v.offset, &out,
                          &d))
    return nxi_fail_null(&d);
  return nxi_view_tensor("reduce_window", x, &out);
}

/* Element `number` of the kernel of each window. */
static nx_tensor *element_of(nx_tensor *x, const sliding *w, int64_t number) {
  nx_range ranges[NXG_MAX_RANK];
  for (int32_t i = 0; i < w->lead; i++) ranges[i] = (nx_range){NX_OPEN, NX_OPEN, 1};
  for (int32_t i = w->n - 1; i >= 0; i--) {
    int64_t start = number % w->kernel[i] * w->dilation[i];
    ranges[w->lead + i] =
        (nx_range){start, start + (w->count[i] - 1) * w->stride[i] + 1, w->stride[i]};
    number /= w->kernel[i];
  }
  return nx_get(x, ranges, (size_t)x->rank);
}

/* Whether that element is inside of the operand in each window. */
static bool always_inside(const sliding *w, const int64_t *shape, int64_t number) {
  for (int32_t i = w->n - 1; i >= 0; i--) {
    int64_t first = number % w->kernel[i] * w->dilation[i] - w->before[i],
            last = first + (w->count[i] - 1) * w->stride[i];
    if (w->spread[i] > 1 || first < 0 || last >= shape[i]) return false;
    number /= w->kernel[i];
  }
  return true;
}

/* r = f(r, x) where x is there; NULL: everywhere. */
static bool combine_there(nxi_body *b, const nxi_row *x, nx_tensor *there, nxi_row *r) {
  nxi_row both;
  if (!nxi_body_combine(b, r, x, &both)) return false;
  for (uint32_t i = 0; there && i < b->k; i++)
    if (!(both.at[i] = nx_where(there, both.at[i], r->at[i]))) return false;
  *r = both;
  return true;
}

/* r = f(r, element) of one element after the other, where it is inside. */
static bool reduce_elements(nxi_body *b, const sliding *w, const nxi_row *x, nx_tensor *inside,
                            const int64_t *shape, nxi_row *r) {
  nxi_row next;
  for (int64_t j = 0; j < w->elements; j++) {
    nx_tensor *here = NULL;
    if (inside && !always_inside(w, shape, j) && !(here = element_of(inside, w, j))) return false;
    for (uint32_t i = 0; i < b->k; i++)
      if (!(next.at[i] = element_of(x->at[i], w, j))) return false;
    if (!combine_there(b, &next, here, r)) return false;
  }
  return true;
}

static bool see_windows(nxi_row *x, size_t k, const sliding *w) {
  for (size_t i = 0; i < k; i++)
    if (!(x->at[i] = view_windows(x->at[i], w))) return false;
  return true;
}

/* Of the shape of the results, and no view of what is reduced. */
static bool without_kernel(nxi_row *x, size_t k, const int64_t *shape, int32_t rank) {
  for (size_t i = 0; i < k; i++) {
    nx_tensor *own = nx_copy(x->at[i]);
    if (!own || !(x->at[i] = nx_reshape(own, shape, rank, 0))) return false;
  }
  return true;
}

/* Axis by axis. Of operands with a mask, that is one more of each row. */
static bool reduce_axes(nxi_body *b, const sliding *w, nxi_row *x, nx_tensor *inside,
                        const int64_t *shape, nxi_row *r) {
  int32_t rank = w->lead + w->n;
  int64_t flat[NXG_MAX_RANK];
  if (!see_windows(x, b->k, w)) return false;
  nxi_body_mask(b, inside ? view_windows(inside, w) : NULL, x);
  for (int32_t i = w->n; i-- > 0;)
    if (!nxi_reduce_axis(b, x, w->lead + i)) return false;
  nx_tensor *there = nxi_body_unmask(b, x);
  if (!without_kernel(x, b->k, shape, rank)) return false;
  for (int32_t i = 0; i < rank; i++) flat[i] = i < w->lead ? 1 : shape[i];
  if (there && !(there = nx_reshape(nx_copy(there), flat, rank, 0))) return false;
  return combine_there(b, x, there, r);
}

static bool reduce_by_library(const nxi_by *by, nxi_body *b, const sliding *w, nx_tensor *inside,
                              const int64_t *shape, nxi_row *r) {
  int32_t axes[NXG_MAX_RANK];
  nxi_row x;
  for (uint32_t i = 0; i < by->k; i++)
    if (!(x.at[i] = neutrally_filled(by, i, inside, w))) return false;
  for (int32_t i = 0; i < w->n; i++) axes[i] = w->lead + i;
  return see_windows(&x, by->k, w) && nxi_reduce_recognised(by, axes, (size_t)w->n, &x) &&
         without_kernel(&x, by->k, shape, w->lead + w->n) && nxi_body_combine(b, r, &x, r);
}

/* A complex number times one is not always that number. */
static bool is_reduction(const nxi_by *by, const nx_tensor *inside) {
  for (uint32_t i = 0; inside && i < by->k; i++)
    if (nxi_is_complex(by->x[i]->storage->dtype) && nxi_body_plain(by->f, i) == NXG_mul)
      return false;
  return nxi_is_reduction(by);
}

/* r is the initial values at first. */
static bool reduce_windows(const nxi_by *by, nxi_body *b, const sliding *w, nxi_row *r) {
  int64_t shape[NXG_MAX_RANK];
  nx_tensor *inside = NULL;
  nxi_row x;
  int32_t rank = by->x[0]->rank;
  memcpy(shape, nxi_shape(by->x[0]), (size_t)w->lead * sizeof *shape);
  memcpy(shape + w->lead, w->count, (size_t)w->n * sizeof *shape);
  if (!nxi_init_rows(by, rank, shape, r)) return false;
  if (w->empty || by->x[0]->elements == 0) return true;
  if (!mask_inside(by->x[0], w, &inside)) return false;
  if (is_reduction(by, inside)) return reduce_by_library(by, b, w, inside, shape, r);
  for (uint32_t i = 0; i < b->k; i++)
    if (!(x.at[i] = surround(by->x[i], w, &zeros))) return false; /* nothing comes of them */
  const int64_t *extents = nxi_shape(by->x[0]) + w->lead;
  return w->elements <= MOST_ELEMENTS ? reduce_elements(b, w, &x, inside, extents, r)
                                      : reduce_axes(b, w, &x, inside, shape, r);
}

nx_status nx_reduce_window(nx_function *f, nx_tensor *const *x, nx_tensor *const *init, size_t n_in,
                           const nx_sliding_window *window, nx_tensor **out, size_t n_out) {
  nxi_by by = {"reduce_window", f, x, init, n_in, n_out, out, 0, false};
  sliding w = {0};
  nxi_body b;
  nxi_row r = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_by_check(&by)) return nxi_error_status();
  if (!check_window(&by, window, &w, &d)) return nxi_error_report(&d);
  if (!nxi_body_begin(&b, NXI_COMPOSITE_reduce_window, f, by.device)) return nxi_error_status();
  bool good = reduce_windows(&by, &b, &w, &r);
  return nxi_body_end(&b, good, r.at, out, n_in);
}
