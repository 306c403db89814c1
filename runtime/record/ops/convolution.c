/* SPDX-License-Identifier: ISC */
/* Recording of convolutions: reads the options, brings both operands into one order of axes, and
 * takes dilation of the operand apart. Where zeros lie between the elements of x, windows that
 * begin at the same distance from an element read the same weights, and no zeros but those around
 * x: such a kind of windows is a convolution of its own, without dilation, with every so-manieth
 * weight. Their results are put beside each other and become neighbours. */
#include <string.h>

#include "convolution.h"
#include "runtime/record/record.h"

#define OP "convolution"
enum { MOST_KINDS = 64 };

/* A spatial axis as it was given, and the windows along it. */
typedef struct axis {
  int64_t size, taps, stride, before, after, spread, dilation, count;
  int64_t kinds, skip; /* of windows: as many; each uses every skip-th weight */
  bool reversed;
} axis;

typedef struct request {
  nxi_convolution part;
  nx_convolution_options given;
  int32_t x_axes[NXI_MOST_SPATIAL + 2], w_axes[NXI_MOST_SPATIAL + 2];
  int64_t batch, in, out; /* of all groups */
  bool by_batch;          /* groups are of the batch */
  axis axes[NXI_MOST_SPATIAL];
  int64_t shape[NXI_MOST_SPATIAL + 2]; /* of the result, in the order of its axes */
} request;

/* ---- what is given */

static bool read_axes(const char *what, const int32_t *given, int32_t rank, int32_t *out,
                      nxi_diag *d) {
  uint32_t mask = 0;
  for (int32_t i = 0; i < rank; i++) {
    int32_t at = given ? given[i] : i;
    if (at < -rank || at >= rank || mask & 1u << (at < 0 ? at + rank : at))
      return !nxi_fail(d, NX_INVALID_ARGUMENT, OP,
                       OP ": entry %d of the axes of %s is %d, which rank %d has not or twice", i,
                       what, at, rank);
    out[i] = at < 0 ? at + rank : at;
    mask |= 1u << out[i];
  }
  return true;
}

static bool read_groups(request *r, nxi_diag *d) {
  const nx_convolution_options *g = &r->given;
  int64_t features = g->feature_groups ? g->feature_groups : 1,
          batches = g->batch_groups ? g->batch_groups : 1;
  r->by_batch = batches > 1;
  r->part.groups = r->by_batch ? batches : features;
  if (features > 0 && batches > 0 && (features == 1 || batches == 1)) return true;
  return !nxi_fail(d, NX_INVALID_ARGUMENT, OP, OP ": %lld groups of features and %lld of the batch",
                   (long long)features, (long long)batches);
}

static bool read_spatial(request *r, nxi_diag *d) {
  const nx_convolution_options *g = &r->given;
  for (int32_t i = 0; i < g->n; i++) {
    axis *a = &r->axes[i];
    a->stride = g->stride ? g->stride[i] : 1;
    a->before = g->before ? g->before[i] : 0;
    a->after = g->after ? g->after[i] : 0;
    a->spread = g->x_dilation ? g->x_dilation[i] : 1;
    a->dilation = g->w_dilation ? g->w_dilation[i] : 1;
    a->reversed = g->reversed && g->reversed[i];
    if (a->stride < 1 || a->spread < 1 || a->dilation < 1)
      return !nxi_fail(d, NX_INVALID_ARGUMENT, OP,
                       OP ": spatial axis %d has stride %lld, dilations %lld of x and %lld of w", i,
                       (long long)a->stride, (long long)a->spread, (long long)a->dilation);
  }
  return true;
}

static bool read_options(const nx_convolution_options *given, request *r, nxi_diag *d) {
  nx_convolution_options *g = &r->given;
  if (!given) return !nxi_fail(d, NX_INVALID_ARGUMENT, OP, OP ": the options are null");
  if (nxi_take(g, given, sizeof *g, "nx_convolution_options", OP, d)) return false;
  if (g->n < 0 || g->n > NXI_MOST_SPATIAL)
    return !nxi_fail(d, NX_INVALID_ARGUMENT, OP, OP ": %d spatial axes, not 0 to %d", g->n,
                     NXI_MOST_SPATIAL);
  r->part.n = g->n;
  return read_axes("x", g->x_axes, g->n + 2, r->x_axes, d) &&
         read_axes("w", g->w_axes, g->n + 2, r->w_axes, d) &&
         read_axes("the result", g->y_axes, g->n + 2, r->part.y_axes, d) && read_groups(r, d) &&
         read_spatial(r, d);
}

/* ---- how it goes with the operands */

static bool check_dtypes(request *r, const nx_tensor *x, const nx_tensor *w, nxi_diag *d) {
  nx_dtype t[3] = {x->storage->dtype, w->storage->dtype, r->given.dtype};
  if (!t[2]) t[2] = t[0];
  if (!nxi_dtype_exists(OP, t[2], d)) return false;
  for (int i = 0; i < 3; i++) {
    static const char *const what[3] = {"operand 0", "operand 1", "the options"};
    if (!nxi_is_stored(t[i])) continue;
    d->operand = i < 2 ? i : -1;
    return !nxi_fail(d, NX_UNSUPPORTED_DTYPE, OP,
                     OP ": %s has dtype %s, which the operation does not admit", what[i],
                     nxi_dtypes[t[i]].name);
  }
  r->part.dtype = t[2];
  if (t[0] == t[1]) return true;
  d->operand = 1;
  return !nxi_fail(d, NX_INVALID_ARGUMENT, OP, OP ": operands of the dtypes %s and %s",
                   nxi_dtypes[t[0]].name, nxi_dtypes[t[1]].name);
}

static bool check_shapes(request *r, const nx_tensor *x, const nx_tensor *w, nxi_diag *d) {
  char left[NXG_SHAPE_TEXT], right[NXG_SHAPE_TEXT];
  const char *wrong = NULL;
  int64_t groups = r->part.groups;
  if (x->rank != r->part.n + 2 || w->rank != r->part.n + 2)
    wrong = "a rank is not the options' n + 2";
  else {
    r->batch = nxi_shape(x)[r->x_axes[0]];
    r->in = nxi_shape(x)[r->x_axes[1]];
    r->out = nxi_shape(w)[r->w_axes[0]];
    int64_t each = nxi_shape(w)[r->w_axes[1]];
    if (groups < 1 || r->out % groups || (r->by_batch ? r->batch : r->in) % groups)
      wrong = "groups do not divide what they part";
    else if (each != (r->by_batch ? r->in : r->in / groups))
      wrong = "x and w differ in the features of a group";
  }
  if (!wrong) return true;
  return !nxi_fail(d, NX_INVALID_ARGUMENT, OP, OP ": operands of the shapes %s and %s: %s",
                   nxg_format_shape(left, x->rank, nxi_shape(x)),
                   nxg_format_shape(right, w->rank, nxi_shape(w)), wrong);
}

/* How many windows an axis has room for; false: a number is beyond all memory. What does not matter
 * becomes 1: the space between fewer than two. */
static bool count_windows(axis *a) {
  const int64_t most = INT64_C(1) << 55;
  int64_t length = 0, reach = 0;
  if (a->size <= 1) a->spread = 1;
  if (a->taps <= 1) a->dilation = 1;
  if (a->size > 0 && __builtin_mul_overflow(a->size - 1, a->spread, &length)) return false;
  if (a->taps > 0 && __builtin_mul_overflow(a->taps - 1, a->dilation, &reach)) return false;
  if (length > most || reach > most || a->before > most || a->after > most || a->before < -most ||
      a->after < -most)
    return false;
  length += (a->size > 0) + a->before + a->after;
  a->count = a->taps > 0 && length > reach ? (length - reach - 1) / a->stride + 1 : 0;
  if (a->count <= 1) a->stride = 1;
  return true;
}

static bool measure(request *r, const nx_tensor *x, const nx_tensor *w, nxi_diag *d) {
  nxi_convolution *p = &r->part;
  int64_t windows[2 * NXI_MOST_SPATIAL + 3];
  bool fits = true;
  int32_t n = 0;
  p->batch = r->by_batch ? r->batch / p->groups : r->batch;
  p->in = r->by_batch ? r->in : r->in / p->groups;
  p->out = r->out / p->groups;
  p->features_last = p->n > 0;
  p->x_last = -1;
  r->shape[p->y_axes[0]] = p->batch;
  r->shape[p->y_axes[1]] = r->out;
  for (int32_t i = 0; i < p->n; i++) {
    axis *a = &r->axes[i];
    a->size = nxi_shape(x)[r->x_axes[2 + i]];
    a->taps = nxi_shape(w)[r->w_axes[2 + i]];
    p->features_last &= r->x_axes[2 + i] < r->x_axes[1];
    if (r->x_axes[2 + i] == p->n + 1) p->x_last = i;
    fits = fits && count_windows(a);
    r->shape[p->y_axes[2 + i]] = windows[n++] = a->count;
    windows[n++] = a->taps;
  }
  windows[n++] = r->batch;
  windows[n++] = r->in;
  if (!fits)
    return !nxi_fail(d, NX_INVALID_ARGUMENT, OP,
                     OP ": a window, x with its zeros, or its padding is longer than 2^55");
  return !nxg_shape_check(NX_INVALID_ARGUMENT, OP, n, windows, nxi_dtypes[p->dtype].bits, NULL,
                          d) &&
         !nxg_shape_check(NX_INVALID_ARGUMENT, OP, p->n + 2, r->shape, nxi_dtypes[p->dtype].bits,
                          NULL, d);
}

/* ---- operands in one order of axes */

/* Parts axis `at` of t in groups, which become its first axis. */
static nx_tensor *grouped(nxi_steps *s, nx_tensor *t, int32_t at, int64_t groups) {
  int64_t shape[NXG_MAX_RANK];
  int32_t axes[NXG_MAX_RANK], n = 0;
  if (!t) return NULL;
  for (int32_t i = 0; i < t->rank; i++) {
    if (i == at) shape[n++] = groups;
    shape[n++] = i == at ? nxi_shape(t)[i] / groups : nxi_shape(t)[i];
  }
  axes[0] = at;
  for (int32_t i = 1; i < n; i++) axes[i] = i <= at ? i - 1 : i;
  t = nxi_step(s, nx_reshape(t, shape, n, 0));
  return t ? nxi_step(s, nx_permute(t, axes, (size_t)n)) : NULL;
}

static nx_tensor *ordered_x(nxi_steps *s, const request *r, nx_tensor *x) {
  x = nxi_step(s, nx_permute(x, r->x_axes, (size_t)r->part.n + 2));
  return grouped(s, x, r->by_batch ? 0 : 1, r->part.groups);
}

static nx_tensor *ordered_w(nxi_steps *s, const request *r, nx_tensor *w) {
  int32_t axes[NXI_MOST_SPATIAL];
  size_t n = 0;
  for (int32_t i = 0; i < r->part.n; i++)
    if (r->axes[i].reversed) axes[n++] = 2 + i;
  w = nxi_step(s, nx_permute(w, r->w_axes, (size_t)r->part.n + 2));
  if (w && n) w = nxi_step(s, nx_flip(w, axes, n));
  return grouped(s, w, 0, r->part.groups);
}

/* ---- dilation of x */

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* How many kinds of windows there are along all axes. */
static int64_t count_kinds(request *r) {
  int64_t all = 1;
  for (int32_t i = 0; i < r->part.n; i++) {
    axis *a = &r->axes[i];
    a->kinds = a->spread / common_divisor(a->stride, a->spread);
    a->skip = a->spread / common_divisor(a->dilation, a->spread);
    all = a->kinds > MOST_KINDS ? MOST_KINDS + 1 : all * a->kinds;
    if (all > MOST_KINDS) return all;
  }
  return all;
}

/* x with the zeros between its elements written out. */
static nx_tensor *spread_out(nxi_steps *s, request *r, nx_tensor *x) {
  int64_t none[NXG_MAX_RANK] = {0}, between[NXG_MAX_RANK] = {0};
  nx_scalar zero = {NX_SCALAR_I64, {.i = 0}};
  for (int32_t i = 0; i < r->part.n; i++) {
    axis *a = &r->axes[i];
    between[3 + i] = a->spread - 1;
    if (a->size > 0) a->size = (a->size - 1) * a->spread + 1;
    a->spread = 1;
  }
  return x ? nxi_step(s, nx_pad_between(x, none, none, between, x->rank, &zero)) : NULL;
}

/* The windows of kind `kind` along an axis. As many as any kind has: what is too much is cut off.
 * */
static nxi_taps taps_of(const axis *a, int64_t kind) {
  int64_t base = kind * a->stride - a->before, first = 0;
  nxi_taps t = {.count = a->kinds > 1 ? (a->count + a->kinds - 1) / a->kinds : a->count,
                .stride = a->kinds * a->stride / a->spread,
                .dilation = a->skip * a->dilation / a->spread,
                .tap_step = a->skip};
  while (first < a->skip && first < a->taps && (base + first * a->dilation) % a->spread) first++;
  if (first == a->skip || first >= a->taps) return t; /* it has no weights */
  t.tap = first;
  t.taps = (a->taps - first + a->skip - 1) / a->skip;
  t.begin = (base + first * a->dilation) / a->spread;
  return t;
}

static nx_tensor *zeros(const nx_tensor *x, nx_dtype dtype, int32_t rank, const int64_t *shape) {
  nx_scalar zero = {NX_SCALAR_I64, {.i = 0}};
  return nx_full(x->context, x->storage->device, dtype, shape, rank, &zero);
}

/* The result's windows of one kind along each axis. */
static nx_tensor *one_kind(const request *r, nx_tensor *x, nx_tensor *w, int64_t kind) {
  nxi_taps taps[NXI_MOST_SPATIAL];
  int64_t shape[NXI_MOST_SPATIAL + 2];
  bool any = true;
  memcpy(shape, r->shape, sizeof shape);
  for (int32_t i = r->part.n; i-- > 0;) {
    int64_t kinds = r->axes[i].kinds;
    taps[i] = taps_of(&r->axes[i], kinds > 1 ? kind % kinds : 0);
    if (kinds > 1) kind /= kinds;
    shape[r->part.y_axes[2 + i]] = taps[i].count;
    any &= taps[i].taps > 0;
  }
  return any ? nxi_convolution_part(&r->part, x, w, taps)
             : zeros(x, r->part.dtype, r->part.n + 2, shape);
}

/* Kinds of windows as an axis of `y`, which has one before all others for them, go behind the axes
 * along which they are, and what is too much is cut off. */
static nx_tensor *interleaved(nxi_steps *s, const request *r, nx_tensor *y) {
  int64_t shape[NXG_MAX_RANK], whole[NXG_MAX_RANK], none[NXG_MAX_RANK] = {0};
  int32_t axes[NXG_MAX_RANK], n = r->part.n, rank = 0;
  if (!y) return NULL;
  for (int32_t i = 0; i < n; i++) shape[i] = r->axes[i].kinds;
  memcpy(shape + n, nxi_shape(y) + 1, ((size_t)n + 2) * sizeof *shape);
  for (int32_t at = 0; at < n + 2; at++) {
    axes[rank++] = n + at;
    whole[at] = shape[n + at];
    for (int32_t i = 0; i < n; i++) {
      if (r->part.y_axes[2 + i] != at) continue;
      axes[rank++] = i;
      whole[at] *= shape[i];
    }
  }
  y = nxi_step(s, nx_reshape(y, shape, rank, 0));
  y = y ? nxi_step(s, nx_permute(y, axes, (size_t)rank)) : NULL;
  y = y ? nxi_step(s, nx_reshape(y, whole, n + 2, NX_MAY_COPY)) : NULL;
  return y ? nxi_step(s, nx_shrink(y, none, r->shape, (size_t)n + 2)) : NULL;
}

static nx_tensor *all_kinds(nxi_steps *s, const request *r, nx_tensor *x, nx_tensor *w,
                            int64_t kinds) {
  nx_tensor *each[MOST_KINDS] = {NULL}, *y = NULL;
  int64_t shape[NXG_MAX_RANK] = {1};
  bool good = x && w;
  for (int64_t i = 0; i < kinds && good; i++) {
    nx_tensor *one = one_kind(r, x, w, i);
    if (one) memcpy(shape + 1, nxi_shape(one), one->rank * sizeof *shape);
    each[i] = one ? nx_reshape(one, shape, one->rank + 1, 0) : NULL;
    nx_tensor_release(one);
    good = each[i] != NULL;
  }
  if (good) y = interleaved(s, r, nxi_step(s, nx_cat(each, (size_t)kinds, 0)));
  for (int64_t i = 0; i < kinds; i++) nx_tensor_release(each[i]);
  return y;
}

/* ---- the operation */

static nx_tensor *record(request *r, nx_tensor *x, nx_tensor *w) {
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_convolution, x);
  int64_t outputs = nxg_elements(r->part.n + 2, r->shape), inner = r->part.in;
  for (int32_t i = 0; i < r->part.n; i++) inner *= r->axes[i].taps;
  if (!outputs || !inner)
    return nxi_steps_end(&s, zeros(x, r->part.dtype, r->part.n + 2, r->shape));
  x = ordered_x(&s, r, x);
  w = ordered_w(&s, r, w);
  int64_t kinds = count_kinds(r);
  if (kinds > MOST_KINDS) {
    x = spread_out(&s, r, x);
    kinds = count_kinds(r);
  }
  nx_tensor *y = NULL;
  if (kinds > 1) y = all_kinds(&s, r, x, w, kinds);
  else if (x && w) y = nxi_step(&s, one_kind(r, x, w, 0));
  return nxi_steps_end(&s, y ? nxi_step(&s, nx_contiguous(y)) : NULL);
}

nx_tensor *nx_convolution(nx_tensor *x, nx_tensor *w, const nx_convolution_options *options) {
  nx_tensor *t[2] = {x, w};
  request r = {0};
  nxi_diag d;
  if (!nxi_check_operands(OP, t, 2)) return NULL;
  nxi_diag_clear(&d);
  if (!read_options(options, &r, &d) || !check_dtypes(&r, x, w, &d) ||
      !check_shapes(&r, x, w, &d) || !measure(&r, x, w, &d) || nxi_common_device(OP, t, 2, &d) < 0)
    return nxi_fail_null(&d);
  return record(&r, x, w);
}

/* ---- pad_between */

/* Each axis with `between` elements after each of its own but the last. */
static nx_tensor *insert(nxi_steps *s, nx_tensor *x, const int64_t *between,
                         const nx_scalar *value) {
  for (int32_t i = 0; x && between && i < x->rank; i++) {
    int64_t shape[NXG_MAX_RANK + 1], none[NXG_MAX_RANK + 1] = {0}, after[NXG_MAX_RANK + 1] = {0};
    int32_t rank = x->rank;
    int64_t size = nxi_shape(x)[i];
    if (!between[i] || size < 2) continue;
    memcpy(shape, nxi_shape(x), (size_t)rank * sizeof *shape);
    memmove(shape + i + 2, shape + i + 1, (size_t)(rank - i - 1) * sizeof *shape);
    shape[i + 1] = 1;
    after[i + 1] = between[i];
    x = nxi_step(s, nx_reshape(x, shape, rank + 1, 0));
    x = x ? nxi_step(s, nx_pad(x, none, after, (size_t)rank + 1, value)) : NULL;
    shape[i] = size * (between[i] + 1);
    memmove(shape + i + 1, shape + i + 2, (size_t)(rank - i - 1) * sizeof *shape);
    x = x ? nxi_step(s, nx_reshape(x, shape, rank, 0)) : NULL;
    shape[i] -= between[i];
    x = x ? nxi_step(s, nx_shrink(x, none, shape, (size_t)rank)) : NULL;
  }
  return x;
}

/* x with what is added at its ends, then without what is cut off there. */
static nx_tensor *ends(nxi_steps *s, nx_tensor *x, const int64_t *before, const int64_t *after,
                       const nx_scalar *value) {
  int64_t first[NXG_MAX_RANK], last[NXG_MAX_RANK], start[NXG_MAX_RANK], stop[NXG_MAX_RANK];
  if (!x) return NULL;
  size_t n = x->rank;
  for (size_t i = 0; i < n; i++) {
    first[i] = before[i] > 0 ? before[i] : 0;
    last[i] = after[i] > 0 ? after[i] : 0;
    start[i] = before[i] < 0 ? -before[i] : 0;
  }
  x = nxi_step(s, nx_pad(x, first, last, n, value));
  if (!x) return NULL;
  for (size_t i = 0; i < n; i++) stop[i] = nxi_shape(x)[i] + (after[i] < 0 ? after[i] : 0);
  return nxi_step(s, nx_shrink(x, start, stop, n));
}

/* The extents of the result are within 0 and 63 bits, before anything is cut off too. */
static bool check_ends(const nx_tensor *x, const int64_t *before, const int64_t *after,
                       const int64_t *between, nxi_diag *d) {
  for (int32_t i = 0; i < x->rank; i++) {
    int64_t size = nxi_shape(x)[i], grown = size, gap = between ? between[i] : 0, all;
    bool fits = gap >= 0 && (!gap || x->rank < NXG_MAX_RANK) && before[i] > INT64_MIN &&
                (size < 2 || (!__builtin_mul_overflow(size, gap, &grown) &&
                              !__builtin_add_overflow(grown, size, &grown)));
    if (fits && size > 1) grown -= gap;
    fits = fits && !__builtin_add_overflow(grown, before[i], &all) &&
           !__builtin_add_overflow(all, after[i], &all) && all >= 0;
    if (!fits)
      return !nxi_fail(d, NX_INVALID_ARGUMENT, "pad_between",
                       "pad_between: axis %d of extent %lld with %lld before, %lld behind and %lld "
                       "between",
                       i, (long long)size, (long long)before[i], (long long)after[i],
                       (long long)gap);
  }
  return true;
}

nx_tensor *nx_pad_between(nx_tensor *x, const int64_t *before, const int64_t *after,
                          const int64_t *between, size_t n, const nx_scalar *value) {
  nxi_diag d;
  uint64_t bits[2];
  if (!nxi_have_tensor("pad_between", 0, x)) return NULL;
  nxi_diag_clear(&d);
  if (!nxi_check_list("pad_between", "list of extents before", before, n, x, &d) ||
      !nxi_check_list("pad_between", "list of extents behind", after, n, x, &d) ||
      !nxi_scalar_bits("pad_between", value, x->storage->dtype, bits, &d) ||
      !check_ends(x, before, after, between, &d))
    return nxi_fail_null(&d);
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_pad_between, x);
  return nxi_steps_end(&s, ends(&s, insert(&s, x, between, value), before, after, value));
}
