/* SPDX-License-Identifier: ISC */
/* Recording of a convolution whose operand is not dilated: views of the windows and of the weights
 * over the same axes, and a product of the two, or the sum of their products where groups are so
 * small that a product of matrices has nothing to reuse. The order of axes is the result's, so that
 * it needs no copy. */
#include "convolution.h"
#include "runtime/record/record.h"

/* An axis of the windows and of the weights, with the stride of each; 0: it has not this axis. */
typedef struct dim {
  int64_t n, x, w;
} dim;
/* Axes by what they are; positions are at P and on, the window's at K and on. */
enum { G, N, O, C, P, K = P + NXI_MOST_SPATIAL, DIMS = K + NXI_MOST_SPATIAL };
typedef struct list {
  int32_t n;
  int32_t of[DIMS];
} list;

typedef struct part {
  const nxi_convolution *c;
  nxi_steps s;
  nx_tensor *x, *w;
  dim dims[DIMS];
  list inner;         /* features and window, in the order in which they are added up */
  list before, after; /* the result's axes before and after its features */
} part;

static void push(list *l, int32_t what) { l->of[l->n++] = what; }
static void append(list *l, const list *more) {
  for (int32_t i = 0; i < more->n; i++) push(l, more->of[i]);
}
static int64_t extent_of(const part *p, const list *l) {
  int64_t n = 1;
  for (int32_t i = 0; i < l->n; i++) n *= p->dims[l->of[i]].n;
  return n;
}

/* ---- operands */

/* The axes of t by how far apart their elements are in memory, neighbours last. */
static void order_in_memory(const nx_tensor *t, int32_t *to) {
  nxg_view v;
  nxi_view_of(t, &v);
  for (int32_t i = 0, at; i < t->rank; i++) {
    for (at = i; at > 0; at--) {
      int32_t before = to[at - 1];
      if (v.shape[i] > 1 && (v.shape[before] == 1 || v.strides[before] >= v.strides[i])) break;
      if (v.shape[i] == 1 && v.shape[before] == 1) break;
      to[at] = before;
    }
    to[at] = i;
  }
}

/* x with zeros around it. What is padded has the order of axes of x in memory, where neighbours
 * stay neighbours. */
static nx_tensor *pad(nxi_steps *s, nx_tensor *x, const int64_t *before, const int64_t *after) {
  int64_t first[NXG_MAX_RANK], last[NXG_MAX_RANK];
  int32_t to[NXG_MAX_RANK], back[NXG_MAX_RANK], rank;
  nx_scalar zero = {NX_SCALAR_I64, {.i = 0}};
  if (!x) return NULL;
  rank = x->rank;
  order_in_memory(x, to);
  for (int32_t i = 0; i < rank; i++) {
    first[i] = before[to[i]];
    last[i] = after[to[i]];
    back[to[i]] = i;
  }
  x = nxi_step(s, nx_permute(x, to, (size_t)rank));
  x = x ? nxi_step(s, nx_pad(x, first, last, (size_t)rank, &zero)) : NULL;
  return x ? nxi_step(s, nx_permute(x, back, (size_t)rank)) : NULL;
}

/* What the windows cover of x, with zeros where that is outside. */
static nx_tensor *cover(nxi_steps *s, nx_tensor *x, const nxi_convolution *c,
                        const nxi_taps *taps) {
  int64_t start[NXG_MAX_RANK] = {0}, stop[NXG_MAX_RANK], before[NXG_MAX_RANK] = {0},
          after[NXG_MAX_RANK] = {0};
  int32_t n = c->n;
  bool any = false;
  for (int32_t i = 0; i < 3; i++) stop[i] = nxi_shape(x)[i];
  for (int32_t i = 0; i < n; i++) {
    const nxi_taps *t = &taps[i];
    int64_t has = nxi_shape(x)[3 + i], begin = t->begin,
            end = begin + (t->count - 1) * t->stride + (t->taps - 1) * t->dilation + 1,
            from = begin < 0     ? 0
                   : begin < has ? begin
                                 : has,
            to = end < from  ? from
                 : end < has ? end
                             : has;
    start[3 + i] = from;
    stop[3 + i] = to;
    before[3 + i] = to == from ? end - begin : from - begin;
    after[3 + i] = to == from ? 0 : end - to;
    any |= before[3 + i] || after[3 + i];
  }
  x = nxi_step(s, nx_shrink(x, start, stop, (size_t)n + 3));
  return any ? pad(s, x, before, after) : x;
}

/* The weights that a part uses. */
static nx_tensor *used(nxi_steps *s, nx_tensor *w, int32_t n, const nxi_taps *taps) {
  nx_range ranges[NXG_MAX_RANK];
  for (int32_t i = 0; i < 3; i++) ranges[i] = (nx_range){NX_OPEN, NX_OPEN, 1};
  for (int32_t i = 0; i < n; i++)
    ranges[3 + i] = (nx_range){taps[i].tap, NX_OPEN, taps[i].tap_step};
  return nxi_step(s, nx_get(w, ranges, (size_t)n + 3));
}

static void set_dims(part *p, const nxi_taps *taps) {
  const nxi_convolution *c = p->c;
  nxg_view x, w;
  nxi_view_of(p->x, &x);
  nxi_view_of(p->w, &w);
  p->dims[G] = (dim){c->groups, x.strides[0], w.strides[0]};
  p->dims[N] = (dim){c->batch, x.strides[1], 0};
  p->dims[O] = (dim){c->out, 0, w.strides[1]};
  p->dims[C] = (dim){c->in, x.strides[2], w.strides[2]};
  for (int32_t i = 0; i < c->n; i++) {
    int64_t step = x.strides[3 + i];
    p->dims[P + i] = (dim){taps[i].count, taps[i].count > 1 ? taps[i].stride * step : 0, 0};
    p->dims[K + i] = (dim){taps[i].taps, taps[i].taps > 1 ? taps[i].dilation * step : 0,
                           taps[i].taps > 1 ? w.strides[3 + i] : 0};
  }
}

static void set_lists(part *p) {
  const nxi_convolution *c = p->c;
  list *side = &p->before;
  if (!c->features_last) push(&p->inner, C);
  for (int32_t i = 0; i < c->n; i++) push(&p->inner, K + i);
  if (c->features_last) push(&p->inner, C);
  for (int32_t at = 0; at < c->n + 2; at++) { /* y_axes says where each axis is */
    int32_t what = 0;
    while (c->y_axes[what] != at) what++;
    if (what == 1) side = &p->after;
    else push(side, what == 0 ? N : P + what - 2);
  }
}

/* The windows, or the weights, with these axes, in the dtype that is computed in. */
static nx_tensor *view(part *p, bool windows, const list *l) {
  nx_tensor *t = windows ? p->x : p->w;
  int64_t shape[NXG_MAX_RANK], strides[NXG_MAX_RANK];
  nxg_view v, out;
  nxi_diag d;
  if (!t) return NULL;
  nxi_diag_clear(&d);
  nxi_view_of(t, &v);
  for (int32_t i = 0; i < l->n; i++) {
    const dim *of = &p->dims[l->of[i]];
    shape[i] = of->n;
    strides[i] = of->n > 1 ? (windows ? of->x : of->w) : 0;
  }
  if (nxg_view_as_strided(t->storage->elements, l->n, shape, strides, v.offset, &out, &d))
    return nxi_fail_null(&d);
  return nxi_step(&p->s, nxi_view_tensor("convolution", t, &out));
}

static nx_tensor *in_dtype(part *p, nx_tensor *t, nx_dtype dtype) {
  return !t || t->storage->dtype == dtype ? t : nxi_step(&p->s, nx_cast(t, dtype));
}

/* How well vectors of x lie along one of these axes: elements by the distance of neighbours. */
static int64_t nearness(const part *p, const list *l) {
  int64_t best = 0;
  for (int32_t i = 0; i < l->n; i++) {
    const dim *of = &p->dims[l->of[i]];
    if (of->n > 1 && of->x > 0 && of->n / of->x > best) best = of->n / of->x;
  }
  return best;
}

/* The windows, or the weights, as matrices: the axes of `outer` each for itself, those of rows and
 * of columns joined. Windows are laid out so that neighbours of x stay neighbours, if need be
 * columns first: a product reads both, and to gather elements costs more. A cast comes last, so
 * that products of narrow integers are recognised. */
static nx_tensor *matrices(part *p, bool windows, const list *outer, const list *rows,
                           const list *columns) {
  enum { NEAR = 8 };
  int64_t near = windows ? nearness(p, rows) : 0;
  bool turned = near >= NEAR && near > nearness(p, columns);
  const list *first = turned ? columns : rows, *second = turned ? rows : columns;
  list all = *outer;
  int64_t shape[DIMS];
  int32_t axes[DIMS], n = outer->n;
  append(&all, first);
  append(&all, second);
  for (int32_t i = 0; i < n; i++) {
    axes[i] = i;
    shape[i] = p->dims[outer->of[i]].n;
  }
  shape[n] = extent_of(p, first);
  shape[n + 1] = extent_of(p, second);
  axes[n] = turned ? n + 1 : n;
  axes[n + 1] = turned ? n : n + 1;
  nx_tensor *t = view(p, windows, &all);
  t = t ? nxi_step(&p->s, nx_reshape(t, shape, n + 2, NX_MAY_COPY)) : NULL;
  t = t && turned ? nxi_step(&p->s, nx_permute(t, axes, (size_t)n + 2)) : t;
  return in_dtype(p, t, p->c->dtype);
}

/* ---- results */

/* A tensor whose axes are, possibly joined, those of `l`, with the result's axes in their order. */
static nx_tensor *arranged(part *p, nx_tensor *t, const list *l) {
  list y = p->before;
  int64_t shape[DIMS], whole[DIMS] = {1};
  int32_t axes[DIMS], rank = 0;
  if (!t) return NULL;
  push(&y, G);
  push(&y, O);
  append(&y, &p->after);
  for (int32_t i = 0; i < l->n; i++) shape[i] = p->dims[l->of[i]].n;
  for (int32_t i = 0; i < y.n; i++) {
    int32_t from = 0;
    while (l->of[from] != y.of[i]) from++;
    axes[i] = from;
    if (y.of[i] == O && rank > 0) whole[rank - 1] *= p->dims[O].n;
    else whole[rank++] = p->dims[y.of[i]].n;
  }
  t = nxi_step(&p->s, nx_reshape(t, shape, l->n, NX_MAY_COPY));
  t = t ? nxi_step(&p->s, nx_permute(t, axes, (size_t)y.n)) : NULL;
  return t ? nxi_step(&p->s, nx_reshape(t, whole, rank, NX_MAY_COPY)) : NULL;
}

/* Groups as the axis of a batch, if there are several. */
static list groups_of(const part *p) {
  list l = {0};
  if (p->c->groups > 1) push(&l, G);
  return l;
}

/* Windows in rows, features in columns: of a result whose features are its last axis. */
static nx_tensor *windows_first(part *p) {
  list outer = groups_of(p), features = {1, {O}}, order = {1, {G}};
  nx_tensor *x = matrices(p, true, &outer, &p->before, &p->inner),
            *w = matrices(p, false, &outer, &p->inner, &features);
  append(&order, &p->before);
  push(&order, O);
  return arranged(p, nxi_step(&p->s, nx_matmul(x, w)), &order);
}

/* Features in rows, windows in columns; the axes before features make a batch of products if the
 * rest of a product is wide enough. */
static nx_tensor *weights_first(part *p) {
  enum { WIDE = 64 };
  bool split = extent_of(p, &p->after) >= WIDE && p->before.n == 1 && p->before.of[0] == N;
  list groups = groups_of(p), outer = {0}, features = {1, {O}}, columns = {0}, order = {0};
  append(split ? &outer : &columns, &p->before);
  append(&columns, &p->after);
  append(&order, &outer);
  push(&order, G);
  push(&order, O);
  append(&order, &columns);
  append(&outer, &groups);
  nx_tensor *w = matrices(p, false, &groups, &features, &p->inner),
            *x = matrices(p, true, &outer, &p->inner, &columns);
  return arranged(p, nxi_step(&p->s, nx_matmul(w, x)), &order);
}

/* Where the axes of a sum are to stand among those of `order`: before the last one, so that
 * neighbouring results are added up side by side; but behind it where that is shorter than a vector
 * and the sum is not. Axes of one element are no matter, groups and their features one axis. */
static int32_t place_of_sum(const part *p, const list *order) {
  enum { SHORT = 16 };
  int32_t at = order->n - 1;
  while (at > 0 && p->dims[order->of[at]].n == 1) at--;
  int64_t last = p->dims[order->of[at]].n;
  if (order->of[at] == O && at > 0) last *= p->dims[order->of[--at]].n;
  return last < SHORT && last < extent_of(p, &p->inner) ? order->n : at;
}

/* The products of all elements, with the axes of `all`, in a dtype whose sums need no rounding. */
static nx_tensor *products(part *p, const list *all) {
  nx_dtype t = p->c->dtype, wide = t == NX_C32                                  ? NX_C64
                                   : nxi_is_float(t) && nxi_dtypes[t].bits < 32 ? NX_F32
                                                                                : t;
  nx_tensor *x = in_dtype(p, in_dtype(p, view(p, true, all), t), wide),
            *w = in_dtype(p, in_dtype(p, view(p, false, all), t), wide);
  return nxi_step(&p->s, nx_mul(x, w));
}

/* t summed over `n` axes from `at` on. */
static nx_tensor *sum_of(part *p, nx_tensor *t, int32_t at, int32_t n) {
  int32_t axes[DIMS];
  for (int32_t i = 0; i < n; i++) axes[i] = at + i;
  return t ? nxi_step(&p->s, nx_reduce_sum(t, axes, (size_t)n, 0)) : NULL;
}

/* The result's axes in their order, groups apart from their features. */
static list result_axes(const part *p) {
  list order = p->before;
  push(&order, G);
  push(&order, O);
  append(&order, &p->after);
  return order;
}

static nx_tensor *summed(part *p) {
  list order = result_axes(p), all = {0};
  int32_t at = place_of_sum(p, &order);
  for (int32_t i = 0; i <= order.n; i++) {
    if (i == at) append(&all, &p->inner);
    if (i < order.n) push(&all, order.of[i]);
  }
  nx_tensor *y = sum_of(p, products(p, &all), at, p->inner.n);
  return arranged(p, in_dtype(p, y, p->c->dtype), &order);
}

/* Long windows are summed along one axis after the others, so that what all of the result's
 * positions read stays in a cache meanwhile. Where the last axis of x is spatial, that axis of the
 * window comes last, and vectors lie along it; otherwise the last axis of the window comes first,
 * for each place along the others, and vectors lie along the result's last axis. */
static nx_tensor *summed_in_turn(part *p) {
  list order = result_axes(p), others = {0}, all = {0};
  bool across = p->c->x_last < 0;
  int32_t apart = K + (across ? p->c->n - 1 : p->c->x_last), at = order.n;
  for (int32_t i = 0; i < p->inner.n; i++)
    if (p->inner.of[i] != apart) push(&others, p->inner.of[i]);
  if (across) append(&all, &others), at = place_of_sum(p, &order);
  for (int32_t i = 0; i < order.n; i++) {
    if (across && i == at) push(&all, apart);
    push(&all, order.of[i]);
  }
  if (across && at == order.n) push(&all, apart);
  if (!across) append(&all, &others), push(&all, apart);
  nx_tensor *y = products(p, &all);
  y = across ? sum_of(p, y, others.n + at, 1) : sum_of(p, y, order.n, others.n);
  y = across ? sum_of(p, y, 0, others.n) : sum_of(p, y, order.n, 1);
  return arranged(p, in_dtype(p, y, p->c->dtype), &order);
}

/* A group of one feature has nothing to reuse in a product of matrices, unless its windows are
 * long, as those of gradients of weights are. A product of few columns is slower than one of few
 * rows. */
static nx_tensor *computed(part *p) {
  enum { FEW = 1, LONG = 1024, NARROW = 32, LINE = 8 };
  bool grouped = p->c->groups > 1;
  if (grouped && p->c->out <= FEW) {
    int32_t last = p->c->x_last;
    if (extent_of(p, &p->inner) < LONG) return summed(p);
    if (p->c->n > 0 && (last < 0 || p->dims[K + last].n >= LINE)) return summed_in_turn(p);
  }
  return p->after.n || (grouped && p->c->out < NARROW) ? weights_first(p) : windows_first(p);
}

nx_tensor *nxi_convolution_part(const nxi_convolution *c, nx_tensor *x, nx_tensor *w,
                                const nxi_taps *taps) {
  part p = {.c = c, .s = nxi_steps_of(NXI_COMPOSITE_convolution, x)};
  p.x = cover(&p.s, x, c, taps);
  p.w = used(&p.s, w, c->n, taps);
  if (!p.x || !p.w) return nxi_steps_end(&p.s, NULL);
  set_dims(&p, taps);
  set_lists(&p);
  return nxi_steps_end(&p.s, computed(&p));
}
