/* SPDX-License-Identifier: ISC */
/* Products of windows of images that a GPU's own kernels read from the images themselves become
 * calls of matmul_windows: convolutions of f16 and bf16 whose features are the last axis. The left
 * operand of such a product is a copy of a view, turned or not, in which each axis of the image,
 * but its features, has places, and at most two of them have taps as well.
 *
 * It pays where the windows are many times the image and the product is small (docs/decisions/
 * cuda.md): few columns, and windows of more than a megabyte. Features become a multiple of 8, as
 * the kernels read 16 bytes at once. The rule is one of shapes and types, so fusion changes no bit.
 * Needs: composed views. */
#include "rewrite.h"

#include <string.h>

#include "ir/library/library.h"

enum {
  MOST_COLUMNS = 128,
  LEAST_ROWS = 1 << 14, /* a tile of 128 for each multiprocessor of the largest GPU */
  LEAST_TAPS = 4,
  LEAST_BYTES = 1 << 20, /* of windows */
  FEATURES = 8,
  MOST_GROWTH = 3, /* of features */
  MOST = 1 << 30
};

/* An axis of the image: its extent, where it is padded with zeros, and what moves along it. */
typedef struct side {
  int64_t extent, padded, before;
  int64_t count, step, taps, dilation, first;
  bool plain; /* each of its elements is a place, in order */
} side;

typedef struct windows {
  uint32_t image; /* a node of the new graph */
  int32_t n;
  side sides[NXG_MAX_RANK]; /* outer ones first, without those of one element */
  int64_t features, rows, depth;
  const side *y, *x; /* with taps; y may be missing */
  int64_t number;    /* of images: places along the other axes */
} windows;

static const side one = {1, 1, 0, 1, 1, 1, 1, 0, true};

/* ---- finding them */

/* What is viewed: a value, or one with zeros around it. */
static bool find_image(const nxg_graph *g, uint32_t viewed, windows *w) {
  const nxg_node *n = &g->nodes[viewed];
  const bool padded = n->op == NXG_pad;
  if (n->op == NXG_view || (padded && n->attrs[0] != 0)) return false;
  const nxg_node *image = padded ? &g->nodes[n->args[0]] : n;
  w->image = padded ? n->args[0] : viewed;
  w->n = 0;
  for (int32_t i = 0; i < n->rank; i++)
    if (n->shape[i] != 1)
      w->sides[w->n++] = (side){.extent = image->shape[i],
                                .padded = n->shape[i],
                                .before = padded ? n->attrs[1 + i] : 0,
                                .count = 1,
                                .step = 1,
                                .taps = 1,
                                .dilation = 1};
  return w->n >= 2 && n->rank == image->rank;
}

/* Says which axis of the image each axis of the view moves along, and how. Places come before
 * `inner`, taps and features behind it, both in the order of the image's axes. */
static bool assign_axes(windows *w, const nxg_view *v, int32_t inner) {
  int64_t stride[NXG_MAX_RANK], offset = v->offset;
  int32_t last[2] = {-1, -1};
  stride[w->n - 1] = 1;
  for (int32_t a = w->n - 1; a-- > 0;) stride[a] = stride[a + 1] * w->sides[a + 1].padded;
  for (int32_t a = 0; a < w->n; a++) {
    w->sides[a].first = offset / stride[a];
    offset %= stride[a];
  }
  for (int32_t i = 0; i < v->rank; i++) {
    const bool tap = i >= inner;
    int32_t a = 0;
    if (v->shape[i] == 1) continue;
    while (a < w->n && stride[a] > v->strides[i]) a++;
    if (v->strides[i] <= 0 || a == w->n || v->strides[i] % stride[a] != 0 || a <= last[tap])
      return false;
    last[tap] = a;
    side *s = &w->sides[a];
    *(tap ? &s->taps : &s->count) = v->shape[i];
    *(tap ? &s->dilation : &s->step) = v->strides[i] / stride[a];
  }
  return true;
}

/* Whether it is within what is padded; whether it is plain. */
static bool settle(side *s) {
  const int64_t reach = s->first + (s->count - 1) * s->step + (s->taps - 1) * s->dilation;
  s->plain = s->taps == 1 && s->step == 1 && s->first == s->before && s->count == s->extent;
  return s->first >= 0 && reach < s->padded && s->count < MOST && s->padded < MOST;
}

/* Features are whole and last, and those that are not plain are next to them, two at most. */
static bool sort_out(windows *w) {
  const side *features = &w->sides[w->n - 1];
  bool good = true;
  for (int32_t a = 0; a < w->n && good; a++) good = settle(&w->sides[a]);
  if (!good || features->count != 1 || features->taps != features->extent ||
      features->dilation != 1 || features->padded != features->extent)
    return false;
  int32_t plain = 0;
  while (plain < w->n - 1 && w->sides[plain].plain) plain++;
  if (plain < w->n - 3 || plain == w->n - 1) return false;
  w->x = &w->sides[w->n - 2];
  w->y = plain == w->n - 3 ? &w->sides[w->n - 3] : &one;
  w->number = 1;
  for (int32_t a = 0; a < plain; a++) w->number *= w->sides[a].extent;
  w->features = features->extent;
  return true;
}

static int64_t whole(int64_t n) { return (n + FEATURES - 1) / FEATURES * FEATURES; }

static bool pays(const windows *w, const nxg_node *n) {
  const int64_t taps = w->y->taps * w->x->taps, columns = n->shape[n->rank - 1];
  return taps >= LEAST_TAPS && columns <= MOST_COLUMNS && columns % 2 == 0 &&
         w->rows >= LEAST_ROWS && w->rows < MOST && w->depth <= MOST / FEATURES &&
         w->rows * w->depth > LEAST_BYTES / 2 && whole(w->features) <= MOST_GROWTH * w->features;
}

/* Whether the left operand is all of a copy, as it lies in memory or turned. */
static bool is_whole(const nxg_view *v, bool *turned) {
  *turned = v->strides[0] == 1 && v->strides[1] == v->shape[0];
  return v->offset == 0 && (*turned || nxg_view_is_contiguous(v));
}

/* Puts the axes of the inner extent, of so many elements, behind the others. Returns the first of
 * them; -1: there is no such part of the axes. */
static int32_t inner_last(nxg_view *v, int64_t depth, bool turned) {
  const nxg_view from = *v;
  int64_t n = 1;
  int32_t count = 0;
  while (count < v->rank && n < depth) {
    n *= v->shape[turned ? count : v->rank - 1 - count];
    count++;
  }
  if (n != depth) return -1;
  for (int32_t i = 0; turned && i < v->rank; i++) {
    const int32_t to = (i + v->rank - count) % v->rank;
    v->shape[to] = from.shape[i];
    v->strides[to] = from.strides[i];
  }
  return v->rank - count;
}

/* Whether node i, a product, is one of windows; r->map has its operands. */
static bool find(const nxg_rewrite *r, uint32_t i, windows *w) {
  const nxg_graph *g = r->to;
  const nxg_node *n = &r->from->nodes[i];
  if (n->op != NXG_matmul || n->rank != 2 || (n->dtype != NX_BF16 && n->dtype != NX_F16))
    return false;
  const uint32_t left = r->map[n->args[0]];
  const uint32_t base = g->nodes[left].op == NXG_view ? g->nodes[left].args[0] : left;
  const nxg_node *copy = &g->nodes[base];
  nxg_view joined, v;
  nxg_node_view(g, left, &joined);
  w->rows = n->shape[0];
  w->depth = joined.shape[1];
  bool turned;
  if (copy->op != NXG_copy || g->nodes[copy->args[0]].op != NXG_view ||
      !is_whole(&joined, &turned) || w->rows == 0 || w->depth == 0 ||
      nxg_node_elements(copy) != w->rows * w->depth)
    return false;
  nxg_node_view(g, copy->args[0], &v);
  const int32_t inner = inner_last(&v, w->depth, turned);
  return inner >= 0 && find_image(g, g->nodes[copy->args[0]].args[0], w) &&
         assign_axes(w, &v, inner) && sort_out(w) && pays(w, n);
}

/* ---- operands of the call */

/* A value of four axes, of a view that is dense, or is copied. */
static uint32_t as_four(nxg_rewrite *r, uint32_t i, uint32_t node, nxg_view v,
                        const int64_t *shape) {
  const nx_dtype t = (nx_dtype)r->to->nodes[node].dtype;
  const bool viewed = r->to->nodes[node].op == NXG_view;
  uint32_t base = viewed ? r->to->nodes[node].args[0] : node;
  int64_t attrs[1 + NXG_MAX_RANK] = {v.offset};
  if (!nxg_is_in_order(v.rank, v.shape, v.strides)) {
    memcpy(attrs + 1, v.strides, (size_t)v.rank * sizeof *attrs);
    base =
        nxg_rewrite_add(r, i, NXG_view, 1, &base, attrs, 1 + (uint32_t)v.rank, t, v.rank, v.shape);
    if (!nxg_rewrite_failed(r)) base = nxg_rewrite_copy_of(r, i, base);
    attrs[0] = 0;
  }
  if (nxg_rewrite_failed(r)) return base;
  nxg_contiguous_strides(4, shape, attrs + 1);
  return nxg_rewrite_add(r, i, NXG_view, 1, &base, attrs, 5, t, 4, shape);
}

/* Adds features that are zero up to a multiple of 8. */
static uint32_t with_features(nxg_rewrite *r, uint32_t i, uint32_t node, int64_t *shape) {
  int64_t attrs[9] = {0};
  attrs[8] = whole(shape[3]) - shape[3];
  if (nxg_rewrite_failed(r) || attrs[8] == 0) return node;
  shape[3] += attrs[8];
  return nxg_rewrite_add(r, i, NXG_pad, 1, &node, attrs, 9, (nx_dtype)r->to->nodes[node].dtype, 4,
                         shape);
}

static uint32_t image_of(nxg_rewrite *r, uint32_t i, const windows *w) {
  int64_t shape[4] = {w->number, w->y->extent, w->x->extent, w->features};
  nxg_view v;
  nxg_node_view(r->to, w->image, &v);
  return with_features(r, i, as_four(r, i, w->image, v, shape), shape);
}

static uint32_t weights_of(nxg_rewrite *r, uint32_t i, const windows *w) {
  const uint32_t node = r->map[r->from->nodes[i].args[1]];
  nxg_view v;
  nxg_node_view(r->to, node, &v);
  const int64_t columns = v.shape[1], stride = v.strides[1];
  int64_t shape[4] = {columns, w->y->taps, w->x->taps, w->features};
  v.shape[1] = v.shape[0], v.strides[1] = v.strides[0];
  v.shape[0] = columns, v.strides[0] = stride;
  return with_features(r, i, as_four(r, i, node, v, shape), shape);
}

static void set_axis(int64_t *attrs, const side *s) {
  attrs[NXG_WINDOWS_COUNT] = s->count;
  attrs[NXG_WINDOWS_STEP] = s->step;
  attrs[NXG_WINDOWS_DILATION] = s->dilation;
  attrs[NXG_WINDOWS_BEFORE] = s->before - s->first;
}

static void rewrite(nxg_rewrite *r, uint32_t i, const windows *w) {
  const nxg_node *n = &r->from->nodes[i];
  int64_t attrs[2 * NXG_WINDOWS_AXIS];
  uint32_t args[2] = {image_of(r, i, w), 0};
  if (!nxg_rewrite_failed(r)) args[1] = weights_of(r, i, w);
  if (nxg_rewrite_failed(r)) return;
  set_axis(attrs, w->y);
  set_axis(attrs + NXG_WINDOWS_AXIS, w->x);
  nxg_rewrite_map(r, i,
                  nxg_rewrite_add(r, i, NXG_matmul_windows, 2, args, attrs, 2 * NXG_WINDOWS_AXIS,
                                  (nx_dtype)n->dtype, 2, n->shape));
  r->changed = true;
}

nx_status nxg_pass_windows(const nxg_graph *g, nxp_products products, nxg_graph **out,
                           bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  windows w;
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status != NX_OK) return status;
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    if (products & NXP_OF_WINDOWS && find(&r, i, &w)) rewrite(&r, i, &w);
    else nxg_rewrite_copy(&r, i);
  }
  return nxg_rewrite_end(&r, out, changed);
}
