/* SPDX-License-Identifier: ISC */
/* select_and_scatter: in each window of an operand one element is selected, and the source's
 * element of that window is combined with what is at its place. Windows of few elements are looked
 * at in one kernel, one element of all windows after the other; longer ones by a loop over their
 * elements. Either carries which element is selected, and its place in the operand. */
#include <string.h>

#include "by_scatter.h"
#include "nx/by_function.h"
#include "nx/control.h"
#include "nx/convolution.h"
#include "nx/number.h"
#include "runtime/record/objects.h"

enum { FEW = 64 };

typedef struct windows {
  nx_function *select;
  nx_tensor *x;
  int32_t device, rank, lead; /* axes of x; those without a window */
  int64_t kernel[NXG_MAX_RANK], stride[NXG_MAX_RANK], dilation[NXG_MAX_RANK], before[NXG_MAX_RANK],
      after[NXG_MAX_RANK];
  int64_t count[NXG_MAX_RANK]; /* the shape of all windows */
  int64_t elements;            /* of a window */
} windows;

/* ---- checks */

#define REFUSE(d, ...) (!nxi_fail(d, NX_INVALID_ARGUMENT, OP, OP ": " __VA_ARGS__))
#define OP             "select_and_scatter"

static bool take_axis(const nx_sliding_window *g, int32_t i, windows *w, nxi_diag *d) {
  int32_t axis = w->lead + i;
  int64_t extent = nxi_shape(w->x)[axis], all, reach;
  w->kernel[axis] = g->kernel[i];
  w->stride[axis] = g->stride ? g->stride[i] : 1;
  w->dilation[axis] = g->dilation ? g->dilation[i] : 1;
  w->before[axis] = g->before ? g->before[i] : 0;
  w->after[axis] = g->after ? g->after[i] : 0;
  if (w->kernel[axis] < 1 || w->stride[axis] < 1 || w->dilation[axis] < 1 ||
      (g->base_dilation && g->base_dilation[i] != 1))
    return REFUSE(d,
                  "axis %d of the window has kernel %lld, stride %lld, dilation %lld, or a base "
                  "dilation",
                  i, (long long)w->kernel[axis], (long long)w->stride[axis],
                  (long long)w->dilation[axis]);
  if (__builtin_add_overflow(extent, w->before[axis], &all) ||
      __builtin_add_overflow(all, w->after[axis], &all) || all > INT64_MAX / 2 ||
      __builtin_mul_overflow(w->kernel[axis] - 1, w->dilation[axis], &reach) ||
      __builtin_mul_overflow(w->elements, w->kernel[axis], &w->elements))
    return REFUSE(d, "the window or its padding is larger than 63 bits can say");
  w->count[axis] = all > reach ? (all - reach - 1) / w->stride[axis] + 1 : 0;
  return true;
}

static bool take_window(const nx_sliding_window *given, windows *w, nxi_diag *d) {
  nx_sliding_window g = {0};
  if (!given) return REFUSE(d, "the window is null");
  if (nxi_take(&g, given, sizeof g, "nx_sliding_window", OP, d)) return false;
  if (g.n < 0 || g.n > w->rank || (g.n && !g.kernel))
    return REFUSE(d, "a window of rank %d, or without a kernel, for an operand of rank %d", g.n,
                  w->rank);
  w->lead = w->rank - g.n;
  w->elements = 1;
  for (int32_t i = 0; i < w->lead; i++) {
    w->kernel[i] = w->stride[i] = w->dilation[i] = 1;
    w->count[i] = nxi_shape(w->x)[i];
  }
  for (int32_t i = 0; i < g.n; i++)
    if (!take_axis(&g, i, w, d)) return false;
  return true;
}

static bool check_source(const windows *w, const nx_tensor *source, const nx_tensor *init,
                         nxi_diag *d) {
  char is[NXG_SHAPE_TEXT], wanted[NXG_SHAPE_TEXT];
  nx_dtype t = w->x->storage->dtype;
  if (source->storage->dtype != t || init->storage->dtype != t || init->rank)
    return REFUSE(d, "an operand that is %s, a source %s, an initial value %s of rank %d",
                  nx_dtype_name(t), nx_dtype_name(source->storage->dtype),
                  nx_dtype_name(init->storage->dtype), init->rank);
  if (nxg_same_shape(source->rank, nxi_shape(source), w->rank, w->count)) return true;
  return REFUSE(d, "a source of shape %s where windows have the shape %s",
                nxg_format_shape(is, source->rank, nxi_shape(source)),
                nxg_format_shape(wanted, w->rank, w->count));
}

/* ---- selecting */

/* Of all windows the selected element and its place; -1: there is none. */
typedef struct selected {
  nx_tensor *value, *place;
} selected;

/* Takes the next element where there is none yet, or the selected one is not kept. */
static bool compare(const windows *w, selected *s, const selected *next) {
  nxi_body b;
  nx_tensor *in[2] = {s->value, next->value}, *keep = NULL, *out[2] = {NULL};
  if (!nxi_body_begin(&b, NXI_COMPOSITE_select_and_scatter, w->select, w->device)) return false;
  bool good = nxi_body_apply(&b, in, &keep);
  nx_tensor *any = good ? nx_binary_i64(s->place, NX_BINARY_CMPGE, 0) : NULL,
            *stays = any ? nx_and(any, keep) : NULL,
            *there = stays ? nx_binary_i64(next->place, NX_BINARY_CMPGE, 0) : NULL,
            *takes = there ? nx_and(there, nx_not(stays)) : NULL;
  nx_tensor *both[2] = {takes ? nx_where(takes, next->value, s->value) : NULL,
                        takes ? nx_where(takes, next->place, s->place) : NULL};
  good = nxi_body_end(&b, both[0] && both[1], both, out, 2) == NX_OK;
  *s = (selected){out[0], out[1]};
  return good;
}

static nx_dtype place_dtype(const windows *w) {
  return w->x->elements > INT32_MAX ? NX_I64 : NX_I32;
}

/* The operand and the numbers of its elements, with what is around them. */
static bool surround(const windows *w, selected *all) {
  const nx_tensor *x = w->x;
  int64_t n = x->elements;
  nx_tensor *line =
                nx_arange(x->context, w->device, place_dtype(w), NX_INTEGER(0), NX_INTEGER(1), n),
            *places = line ? nx_reshape(line, nxi_shape(x), x->rank, 0) : NULL;
  all->value = nx_pad_between(w->x, w->before, w->after, NULL, (size_t)w->rank, NX_INTEGER(0));
  all->place =
      places ? nx_pad_between(places, w->before, w->after, NULL, (size_t)w->rank, NX_INTEGER(-1))
             : NULL;
  return all->value && all->place;
}

/* Element `number` of each window. */
static nx_tensor *element_of(const windows *w, nx_tensor *x, int64_t number) {
  nx_range ranges[NXG_MAX_RANK];
  for (int32_t i = w->rank - 1; i >= 0; i--) {
    int64_t start = number % w->kernel[i] * w->dilation[i];
    ranges[i] = (nx_range){start, start + (w->count[i] - 1) * w->stride[i] + 1, w->stride[i]};
    number /= w->kernel[i];
  }
  return nx_get(x, ranges, (size_t)x->rank);
}

static bool select_few(const windows *w, selected *s) {
  selected all, next;
  if (!surround(w, &all)) return false;
  for (int64_t i = 0; i < w->elements; i++) {
    next = (selected){element_of(w, all.value, i), element_of(w, all.place, i)};
    if (!next.value || !next.place) return false;
    if (!i) *s = next;
    else if (!compare(w, s, &next)) return false;
  }
  return true;
}

/* ---- long windows: the element of a number that a tensor has */

/* The place of that element along an axis, in the shape of the windows, and whether it is one. */
static nx_tensor *along(const windows *w, nx_tensor *number, int32_t axis, int64_t inner,
                        nx_tensor **inside) {
  int64_t shape[NXG_MAX_RANK];
  for (int32_t i = 0; i < w->rank; i++) shape[i] = i == axis ? w->count[i] : 1;
  nx_context *c = w->x->context;
  nx_tensor *tap = nx_binary_i64(number, NX_BINARY_FLOOR_DIV, inner);
  tap = tap ? nx_binary_i64(tap, NX_BINARY_FLOOR_MOD, w->kernel[axis]) : NULL;
  tap = tap ? nx_binary_i64(tap, NX_BINARY_MUL, w->dilation[axis]) : NULL;
  nx_tensor *window = nx_arange(c, w->device, NX_I64, NX_INTEGER(-w->before[axis]),
                                NX_INTEGER(w->stride[axis]), w->count[axis]);
  window = window ? nx_reshape(window, shape, w->rank, 0) : NULL;
  nx_tensor *at = window && tap ? nx_add(window, tap) : NULL,
            *low = at ? nx_binary_i64(at, NX_BINARY_CMPGE, 0) : NULL,
            *high = at ? nx_binary_i64(at, NX_BINARY_CMPLT, nxi_shape(w->x)[axis]) : NULL,
            *here = low && high ? nx_and(low, high) : NULL;
  if (here) *inside = *inside ? nx_and(*inside, here) : here;
  return here && *inside ? at : NULL;
}

static bool element_at(const windows *w, nx_tensor *number, nx_tensor *row, selected *out) {
  nx_tensor *place = NULL, *inside = NULL;
  int64_t stride = 1, inner = 1, m = nxg_elements(w->rank, w->count);
  for (int32_t i = w->rank; i-- > 0;) {
    nx_tensor *at = along(w, number, i, inner, &inside);
    at = at ? nx_binary_i64(at, NX_BINARY_MUL, stride) : NULL;
    place = place && at ? nx_add(place, at) : at;
    if (!place) return false;
    stride *= nxi_shape(w->x)[i];
    inner *= w->kernel[i];
  }
  nx_tensor *none = nx_full_i64(w->x->context, w->device, NX_I64, NULL, 0, -1);
  place = nx_expand(place, w->count, w->rank);
  place = place && none ? nx_where(inside, place, none) : NULL;
  nx_tensor *line = place ? nx_reshape(place, &m, 1, NX_MAY_COPY) : NULL,
            *value = line ? nx_gather_clamped(row, line, 0) : NULL;
  out->value = value ? nx_reshape(value, w->count, w->rank, 0) : NULL;
  out->place = place ? nx_cast(place, place_dtype(w)) : NULL;
  return out->value && out->place;
}

/* Bodies carry no i4, u4 and c32: as these they do. */
static nx_dtype carried(nx_dtype t) {
  return t == NX_I4 ? NX_I8 : t == NX_U4 ? NX_U8 : t == NX_C32 ? NX_C64 : t;
}

/* number, value, place; the operand as a row. */
static nx_function *step(const windows *w) {
  nx_context *c = w->x->context;
  nx_dtype t = w->x->storage->dtype;
  int64_t n = w->x->elements;
  nx_function *f = NULL;
  nx_tensor *in[4] = {nx_placeholder(c, w->device, NX_I64, NULL, 0),
                      nx_placeholder(c, w->device, carried(t), w->count, w->rank),
                      nx_placeholder(c, w->device, place_dtype(w), w->count, w->rank),
                      nx_placeholder(c, w->device, carried(t), &n, 1)};
  selected s = {in[1] ? nx_cast(in[1], t) : NULL, in[2]}, next;
  nx_tensor *row = in[3] ? nx_cast(in[3], t) : NULL;
  bool good = in[0] && s.value && s.place && row && element_at(w, in[0], row, &next) &&
              compare(w, &s, &next);
  nx_tensor *out[2] = {good ? nx_cast(s.value, carried(t)) : NULL, s.place};
  if (!good || !out[0] || nx_function_create(c, in, 4, out, 2, NULL, &f) != NX_OK)
    nx_capture_end(c);
  return f;
}

static bool select_many(const windows *w, selected *s) {
  nx_dtype t = w->x->storage->dtype;
  int64_t n = w->x->elements;
  nx_tensor *row = nx_reshape(w->x, &n, 1, NX_MAY_COPY),
            *given = row ? nx_cast(row, carried(t)) : NULL;
  nx_context *c = w->x->context;
  nx_tensor *init[2] = {nx_full_i64(c, w->device, carried(t), w->count, w->rank, 0),
                        nx_full_i64(c, w->device, place_dtype(w), w->count, w->rank, -1)},
            *out[2] = {NULL};
  nx_function *f = given && init[0] && init[1] ? step(w) : NULL;
  bool good = f && nx_for(NULL, w->elements, f, init, 2, &given, 1, NULL, out, 2) == NX_OK;
  nx_function_release(f);
  *s = (selected){out[0], out[1]};
  return good;
}

/* ---- the operation */

static bool scatter(const nxi_by *by, const windows *w, nx_tensor *source, nx_tensor *init,
                    nxi_row *r) {
  selected s = {NULL, NULL};
  nxi_row u = {0};
  int64_t n = w->x->elements, m = nxg_elements(w->rank, w->count);
  nx_tensor *all = nx_to_device(init, w->device);
  all = all ? nx_expand(all, nxi_shape(w->x), w->rank) : NULL;
  r->at[0] = all;
  if (!all || !n || !m) return all != NULL;
  if (!(w->elements <= FEW ? select_few(w, &s) : select_many(w, &s))) return false;
  nx_tensor *places = nx_reshape(s.place, &m, 1, NX_MAY_COPY), *none;
  /* negative places would count from the end */
  none = nx_full_i64(w->x->context, w->device, NX_I64, NULL, 0, n);
  nx_tensor *wide = places ? nx_cast(places, NX_I64) : NULL,
            *good = wide ? nx_binary_i64(wide, NX_BINARY_CMPGE, 0) : NULL;
  places = good && none ? nx_where(good, wide, none) : NULL;
  all = nx_copy(all);
  r->at[0] = all ? nx_reshape(all, &n, 1, NX_MAY_COPY) : NULL;
  u.at[0] = nx_reshape(source, &m, 1, NX_MAY_COPY);
  if (!places || !r->at[0] || !u.at[0] ||
      !nxi_scatter_rows(by, NXI_COMPOSITE_select_and_scatter, places, &u, r))
    return false;
  r->at[0] = nx_reshape(r->at[0], nxi_shape(w->x), w->rank, 0);
  return r->at[0] != NULL;
}

nx_tensor *nx_select_and_scatter(nx_function *select, nx_function *f, nx_tensor *x,
                                 nx_tensor *source, nx_tensor *init,
                                 const nx_sliding_window *window) {
  nx_tensor *t[3] = {x, source, init}, *out = NULL;
  nxi_by first = {OP, select, &x, NULL, 1, 1, &out, 0, true},
         by = {OP, f, &x, NULL, 1, 1, &out, 0, false};
  nxi_diag d;
  nxi_body b;
  nxi_row r = {0};
  nxi_diag_clear(&d);
  if (!nxi_check_operands(OP, t, 3) || !nxi_by_check(&first) || !nxi_by_check(&by)) return NULL;
  windows w = {.select = select, .x = x, .rank = x->rank};
  if (!take_window(window, &w, &d) || !check_source(&w, source, init, &d) ||
      (w.device = nxi_common_device(OP, t, 3, &d)) < 0)
    return nxi_fail_null(&d);
  by.device = w.device;
  if (!nxi_body_begin(&b, NXI_COMPOSITE_select_and_scatter, f, w.device)) return NULL;
  bool good = scatter(&by, &w, source, init, &r);
  return nxi_body_end(&b, good, r.at, &out, 1) == NX_OK ? out : NULL;
}
