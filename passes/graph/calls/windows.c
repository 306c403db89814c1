/* SPDX-License-Identifier: ISC */
/* Products of windows of images that a GPU's own kernels read from the images themselves become
 * calls of matmul_windows: convolutions of f16, bf16 and f32. One operand of such a product is a
 * copy of a view, turned or not, in which each axis of the image, but its features, has places, and
 * at most two of them have taps as well. Windows are rows of the left operand, and features of the
 * result last; or they are columns of the right one, and features of the result first. Features may
 * be in groups, which are a batch of products.
 *
 * It pays where the windows are many times the image and the product is small (docs/decisions/
 * cuda.md): few columns, or as many as fill a wide tile, and windows of more than a megabyte. The
 * kernels read 16 bytes of features at once, so features become a multiple of that, and images of
 * 16 bits whose features are not last are copied. The rule is one of shapes and types, so fusion
 * changes no bit. Needs: composed views. */
#include "passes/graph/rewrite.h"

#include <string.h>

#include "ir/library/library.h"

enum {
  MOST_COLUMNS = 128,   /* of a group */
  WIDE = 256,           /* columns of a tile of 16 bits, where there are more */
  TILE = 64,            /* columns of f32 */
  LEAST_ROWS = 1 << 14, /* a tile of 128 for each multiprocessor of the largest GPU */
  LEAST_TAPS = 4,
  MOST_TAPS = 61,        /* of f32 with features first */
  LEAST_BYTES = 1 << 20, /* of windows */
  MOST_GROWTH = 3,       /* of features */
  MOST = 1 << 30
};

/* An axis of the image: its extent, where it is padded with zeros, and what moves along it. */
typedef struct side {
  int64_t extent, padded, before;
  int64_t count, step, taps, dilation, first;
  bool plain; /* each of its elements is a place, in order */
  bool batch; /* its places are products of a batch */
} side;

/* What an axis of the view is to the product. */
typedef enum kind { PLACE, TAP, BATCH, GROUP } kind;

typedef struct windows {
  uint32_t image;  /* a node of the new graph */
  int32_t operand; /* which one of the product has the windows; 1: features of the result first */
  int32_t n;
  side sides[NXG_MAX_RANK];          /* outer ones first, without those of one element */
  kind kinds[NXG_MAX_RANK];          /* of the view's axes */
  bool first;                        /* features of the image are before its places */
  int64_t groups, features, columns; /* features and columns of a group */
  int64_t rows, depth;               /* rows: of all images */
  const side *y, *x;                 /* with taps; y may be missing */
  int64_t number;                    /* of images: places along the other axes */
} windows;

static const side one = {1, 1, 0, 1, 1, 1, 1, 0, true, false};

/* ---- finding them */

static side axis_of(int64_t extent) {
  return (side){
      .extent = extent, .padded = extent, .count = 1, .step = 1, .taps = 1, .dilation = 1};
}

/* Whether two axes of a view are places and taps along the same axis of the image: windows that are
 * beside each other have elements in common. */
static bool is_pair(const windows *w, const nxg_view *v, int32_t a, int32_t b) {
  const int32_t place = w->kinds[a] == PLACE ? a : b, tap = a + b - place;
  return w->kinds[place] == PLACE && w->kinds[tap] == TAP &&
         v->strides[place] < v->shape[tap] * v->strides[tap] &&
         v->strides[tap] < v->shape[place] * v->strides[place];
}

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

/* The axes of an image of which only memory is known, without zeros around it: how far apart they
 * are follows from the view. */
static bool find_flat(windows *w, const nxg_view *v, int64_t elements) {
  int32_t order[NXG_MAX_RANK], n = 0;
  for (int32_t i = 0, at; i < v->rank; i++) {
    if (v->shape[i] == 1) continue;
    if (v->strides[i] <= 0) return false;
    for (at = n++; at > 0 && v->strides[order[at - 1]] < v->strides[i]; at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  w->n = 0;
  for (int32_t i = 0; i < n; i++) {
    int64_t pitch = v->strides[order[i]];
    if (i + 1 < n && is_pair(w, v, order[i], order[i + 1]))
      pitch = common_divisor(pitch, v->strides[order[++i]]);
    if (w->n > 0 && elements % pitch != 0) return false;
    w->sides[w->n++] = axis_of(elements / pitch);
    elements = pitch;
  }
  return elements == 1 && w->n >= 2;
}

/* What is viewed: a value, or one with zeros around it. */
static bool find_image(const nxg_graph *g, uint32_t viewed, const nxg_view *v, windows *w) {
  const nxg_node *n = &g->nodes[viewed];
  const bool padded = n->op == NXG_pad;
  if (n->op == NXG_view || (padded && n->attrs[0] != 0)) return false;
  const nxg_node *image = padded ? &g->nodes[n->args[0]] : n;
  w->image = padded ? n->args[0] : viewed;
  w->n = 0;
  for (int32_t i = 0; i < n->rank && n->rank == image->rank; i++) {
    if (n->shape[i] == 1) continue;
    side *s = &w->sides[w->n++];
    *s = axis_of(image->shape[i]);
    s->padded = n->shape[i];
    s->before = padded ? n->attrs[1 + i] : 0;
  }
  return w->n >= 2 || (!padded && find_flat(w, v, nxg_node_elements(n)));
}

/* The image's axis of features is two where groups move along it. */
static bool part_groups(windows *w, int32_t a, int64_t groups) {
  side *s = &w->sides[a];
  if (w->n == NXG_MAX_RANK || s->extent % groups != 0 || s->padded != s->extent) return false;
  memmove(s + 1, s, (size_t)(w->n - a) * sizeof *s);
  w->n++;
  s[0].extent = s[0].padded = groups;
  s[1].extent = s[1].padded = s[1].extent / groups;
  return true;
}

static void find_strides(const windows *w, int64_t *stride) {
  stride[w->n - 1] = 1;
  for (int32_t a = w->n - 1; a-- > 0;) stride[a] = stride[a + 1] * w->sides[a + 1].padded;
}

/* Parts an axis of the image along which groups move, if that is the one of features, too. */
static bool find_groups(windows *w, const nxg_view *v) {
  int64_t stride[NXG_MAX_RANK];
  if (w->groups == 1) return true;
  find_strides(w, stride);
  for (int32_t i = 0; i < v->rank; i++) {
    int32_t a = 0;
    if (w->kinds[i] != GROUP || v->shape[i] == 1) continue;
    while (a < w->n && stride[a] > v->strides[i]) a++;
    return a < w->n && (stride[a] == v->strides[i] || part_groups(w, a, w->groups));
  }
  return false;
}

/* Says which axis of the image each axis of the view moves along, and how. Places and taps come in
 * the order of the image's axes, each for themselves. */
static bool assign_axes(windows *w, const nxg_view *v) {
  int64_t stride[NXG_MAX_RANK], offset = v->offset;
  int32_t last[2] = {-1, -1};
  find_strides(w, stride);
  for (int32_t a = 0; a < w->n; a++) {
    w->sides[a].first = offset / stride[a];
    offset %= stride[a];
  }
  for (int32_t i = 0; i < v->rank; i++) {
    const kind is = w->kinds[i];
    int32_t a = 0;
    if (v->shape[i] == 1) continue;
    while (a < w->n && stride[a] > v->strides[i]) a++;
    if (v->strides[i] <= 0 || a == w->n || v->strides[i] % stride[a] != 0) return false;
    side *s = &w->sides[a];
    if (is == GROUP) {
      if (s->count != 1 || v->strides[i] != stride[a]) return false;
      s->count = v->shape[i];
      continue;
    }
    if (a <= last[is == TAP] || (is != TAP && s->count != 1)) return false;
    last[is == TAP] = a;
    s->batch = is == BATCH;
    *(is == TAP ? &s->taps : &s->count) = v->shape[i];
    *(is == TAP ? &s->dilation : &s->step) = v->strides[i] / stride[a];
  }
  return true;
}

/* Whether it is within what is padded; whether it is plain. */
static bool settle(side *s) {
  const int64_t reach = s->first + (s->count - 1) * s->step + (s->taps - 1) * s->dilation;
  s->plain = s->taps == 1 && s->step == 1 && s->first == s->before && s->count == s->extent;
  return s->first >= 0 && reach < s->padded && s->count < MOST && s->padded < MOST;
}

/* Whether all of an axis, and nothing else, is in each window. */
static bool is_whole_axis(const side *s) {
  return s->count == 1 && s->taps == s->extent && s->dilation == 1 && s->padded == s->extent;
}

/* Which axis has the features: the last one, or the first one that has taps; -1: they are one
 * feature. */
static int32_t feature_axis(windows *w) {
  int32_t a = w->n - 1;
  w->first = !is_whole_axis(&w->sides[a]) || w->sides[a].taps == 1;
  for (a = w->first ? 0 : a; w->first && a < w->n; a++)
    if (w->sides[a].taps > 1) break;
  return a < w->n && is_whole_axis(&w->sides[a]) ? a : -1;
}

/* Axes of images, from `begin` on up to `end`: first those that number them, then one or two with
 * windows. */
static bool sort_places(windows *w, int32_t begin, int32_t end) {
  const int32_t left = end - begin;
  if (left < 1 || left > 2) return false;
  w->x = &w->sides[end - 1];
  w->y = left == 2 ? &w->sides[end - 2] : &one;
  w->number = 1;
  return !w->x->batch && !w->y->batch;
}

static bool count_images(windows *w, int32_t end) {
  for (int32_t a = 0; a < end; a++) {
    if (!w->sides[a].plain || (w->operand == 1 && !w->sides[a].batch)) return false;
    w->number *= w->sides[a].extent;
  }
  return true;
}

/* Features are whole, behind all places or between images and places; groups are before them. */
static bool sort_out(windows *w) {
  for (int32_t a = 0; a < w->n; a++)
    if (!settle(&w->sides[a])) return false;
  const int32_t at = feature_axis(w);
  if (at < 0 && (!w->first || w->groups > 1)) return false;
  w->features = at < 0 ? 1 : w->sides[at].extent;
  const int32_t before = w->groups > 1 ? at - 1 : at; /* where groups, or features, are */
  if (w->groups > 1 && (before < 0 || w->sides[before].count != w->groups ||
                        w->sides[before].extent != w->groups || w->sides[before].taps != 1))
    return false;
  if (!w->first) { /* places that are windows of nothing number images, if they may */
    int32_t plain = 0;
    while (plain < before && w->sides[plain].plain &&
           (w->operand == 0 ? plain < before - 1 : w->sides[plain].batch))
      plain++;
    return sort_places(w, plain, before) && count_images(w, plain);
  }
  const int32_t begin = at < 0 ? w->n - 2 + w->sides[w->n - 2].batch : at + 1;
  return sort_places(w, begin, w->n) && count_images(w, at < 0 ? begin : before);
}

/* Features of the image as the kernels read them. */
static int64_t each_of(nx_dtype t) { return t == NX_F32 ? 4 : 8; }
static int64_t whole(const windows *w, nx_dtype t) {
  const int64_t each = each_of(t);
  return w->first && t == NX_F32 ? w->features : (w->features + each - 1) / each * each;
}

/* f32: a kernel with tiles of 64 columns makes 38 TFLOP/s on an H200, the library 45, and it takes
 * 1.9 ps to write and read an element of a window. */
static bool pays_in_f32(const windows *w) {
  const int64_t tiled = (w->columns + TILE - 1) / TILE * TILE;
  return tiled * 526 <= w->columns * 444 + 19000 &&
         (!w->first || w->y->taps * w->x->taps <= MOST_TAPS);
}

/* 16 bits, beyond MOST_COLUMNS: tiles of 256 columns are reckoned to make 260 TFLOP/s, by the 195
 * of those of 128, which the second-level cache keeps waiting, and by what they read of it. The
 * library makes 370, and takes 0.95 ps to write and read an element of a window. */
static bool pays_in_wide_tiles(const windows *w) {
  const int64_t tiled = (w->columns + WIDE - 1) / WIDE * WIDE;
  return tiled * 7692 <= w->columns * 5405 + 952000;
}

/* Whether places in an image, and tiles, are counted in 30 bits. */
static bool is_countable(const windows *w) {
  const double image = (double)w->y->extent * (double)w->x->extent * (double)w->features;
  return image * (double)w->groups < MOST && (double)w->rows * (double)w->groups < MOST / 2;
}

static bool pays(const windows *w, nx_dtype t) {
  const int64_t taps = w->y->taps * w->x->taps, features = whole(w, t);
  return taps >= LEAST_TAPS && is_countable(w) &&
         (w->columns <= MOST_COLUMNS || (t != NX_F32 && pays_in_wide_tiles(w))) &&
         (t == NX_F32 ? pays_in_f32(w) : w->operand == 1 || w->columns % 2 == 0) &&
         w->rows >= LEAST_ROWS && w->rows < MOST && w->depth <= MOST / each_of(t) &&
         w->rows * w->depth > LEAST_BYTES / nxi_dtype_size(t) &&
         features <= MOST_GROWTH * w->features && (w->groups == 1 || features == w->features);
}

/* Whether the operand is all of a copy, as it lies in memory or with the last two axes turned. */
static bool is_whole(const nxg_view *v, bool *turned) {
  nxg_view exchanged = *v;
  const int32_t a = v->rank - 2, b = v->rank - 1;
  *turned = v->strides[a] == 1 && v->strides[b] == v->shape[a];
  exchanged.shape[a] = v->shape[b], exchanged.strides[a] = v->strides[b];
  exchanged.shape[b] = v->shape[a], exchanged.strides[b] = v->strides[a];
  return v->offset == 0 && nxg_view_is_contiguous(*turned ? &exchanged : v);
}

/* Which axes of the copied view are those of an axis of the operand. */
static bool take_axes(windows *w, const nxg_view *v, int32_t *at, int64_t extent, kind is) {
  int64_t n = 1;
  while (*at < v->rank && n < extent) {
    w->kinds[*at] = is;
    n *= v->shape[(*at)++];
  }
  return n == extent;
}

/* Whether products of the batch have the same weights. */
static bool is_shared(const nxg_view *weights, int32_t axis) {
  return weights->shape[axis] == 1 || weights->strides[axis] == 0;
}

/* Divides the axes of the view among the operand's: of the batch, places, and of a window. */
static bool divide(windows *w, const nxg_view *v, const nxg_view *operand, const nxg_view *weights,
                   bool turned) {
  const int32_t last = operand->rank - 1, inner = w->operand == 1 ? last - 1 : last;
  int32_t at = 0;
  w->groups = 1;
  for (int32_t i = 0; i < v->rank; i++) w->kinds[i] = PLACE;
  for (int32_t i = 0; i < last - 1; i++) {
    const bool group = operand->shape[i] > 1 && !is_shared(weights, i);
    if (operand->shape[i] > 1 && w->groups > 1) return false;
    if (group) w->groups = operand->shape[i];
    if ((!group && operand->shape[i] > 1 && w->operand == 0) ||
        !take_axes(w, v, &at, operand->shape[i], group ? GROUP : BATCH))
      return false;
  }
  for (int32_t i = 0; i < 2; i++) {
    const int32_t axis = turned ? last - i : last - 1 + i;
    if (!take_axes(w, v, &at, operand->shape[axis], axis == inner ? TAP : PLACE)) return false;
  }
  return true;
}

/* Whether the operand of node i, a product, is one of windows; r->map has its operands. */
static bool find_in(const nxg_rewrite *r, uint32_t i, int32_t operand, windows *w) {
  const nxg_graph *g = r->to;
  const nxg_node *n = &r->from->nodes[i];
  const uint32_t node = r->map[n->args[operand]];
  const uint32_t base = g->nodes[node].op == NXG_view ? g->nodes[node].args[0] : node;
  const nxg_node *copy = &g->nodes[base];
  nxg_view joined, weights, v;
  nxg_node_view(g, node, &joined);
  nxg_node_view(g, r->map[n->args[1 - operand]], &weights);
  bool turned;
  if (copy->op != NXG_copy || g->nodes[copy->args[0]].op != NXG_view || joined.rank < 2 ||
      joined.rank != weights.rank || nxg_node_elements(copy) == 0 ||
      nxg_elements(joined.rank, joined.shape) != nxg_node_elements(copy) ||
      !is_whole(&joined, &turned))
    return false;
  w->operand = operand;
  w->depth = joined.shape[operand == 1 ? joined.rank - 2 : joined.rank - 1];
  w->columns = n->shape[operand == 1 ? n->rank - 2 : n->rank - 1];
  nxg_node_view(g, copy->args[0], &v);
  if (!divide(w, &v, &joined, &weights, turned) ||
      !find_image(g, g->nodes[copy->args[0]].args[0], &v, w) || !find_groups(w, &v) ||
      !assign_axes(w, &v) || !sort_out(w) || w->columns == 0)
    return false;
  w->rows = nxg_node_elements(n) / w->columns / w->groups;
  return pays(w, (nx_dtype)n->dtype);
}

static bool find(const nxg_rewrite *r, uint32_t i, windows *w) {
  const nxg_node *n = &r->from->nodes[i];
  return n->op == NXG_matmul && n->rank >= 2 &&
         (n->dtype == NX_BF16 || n->dtype == NX_F16 || n->dtype == NX_F32) &&
         nxg_node_elements(n) > 0 && (find_in(r, i, 0, w) || find_in(r, i, 1, w));
}

/* ---- operands of the call */

static uint32_t view_of(nxg_rewrite *r, uint32_t i, uint32_t base, const nxg_view *v) {
  int64_t attrs[1 + NXG_MAX_RANK] = {v->offset};
  memcpy(attrs + 1, v->strides, (size_t)v->rank * sizeof *attrs);
  return nxg_rewrite_add(r, i, NXG_view, 1, &base, attrs, 1 + (uint32_t)v->rank,
                         (nx_dtype)r->to->nodes[base].dtype, v->rank, v->shape);
}

/* A value of four axes, of a view that is dense, or is copied. */
static uint32_t as_four(nxg_rewrite *r, uint32_t i, uint32_t node, nxg_view v,
                        const int64_t *shape) {
  const bool viewed = r->to->nodes[node].op == NXG_view;
  nxg_view four;
  const bool same = nxg_is_in_order(v.rank, v.shape, v.strides);
  uint32_t base = viewed ? r->to->nodes[node].args[0] : node;
  nxg_view_contiguous(&four, 4, shape);
  if (same) four.offset = v.offset;
  if (!same) base = view_of(r, i, base, &v);
  if (!same && !nxg_rewrite_failed(r)) base = nxg_rewrite_copy_of(r, i, base);
  return nxg_rewrite_failed(r) ? base : view_of(r, i, base, &four);
}

/* Features become the last axis, by a copy of a view of [number, features, y, x]. */
static uint32_t with_features_last(nxg_rewrite *r, uint32_t i, uint32_t node, int64_t *shape) {
  nxg_view v;
  if (nxg_rewrite_failed(r)) return node;
  nxg_node_view(r->to, node, &v);
  const nxg_view from = v;
  for (int32_t a = 1; a < 4; a++) {
    shape[a] = v.shape[a] = from.shape[1 + a % 3];
    v.strides[a] = from.strides[1 + a % 3];
  }
  node = view_of(r, i, r->to->nodes[node].args[0], &v);
  return nxg_rewrite_failed(r) ? node : nxg_rewrite_copy_of(r, i, node);
}

/* Adds features up to `whole`: zeros, of weights of f32 -0, so that products change no sum. */
static uint32_t with_features(nxg_rewrite *r, uint32_t i, uint32_t node, int64_t *shape,
                              int64_t features, bool minus) {
  int64_t attrs[9] = {minus ? (int64_t)UINT32_C(0x80000000) : 0};
  attrs[8] = features - shape[3];
  if (nxg_rewrite_failed(r) || attrs[8] == 0) return node;
  shape[3] = features;
  return nxg_rewrite_add(r, i, NXG_pad, 1, &node, attrs, 9, (nx_dtype)r->to->nodes[node].dtype, 4,
                         shape);
}

/* An operand as the kernels read it, of a value that has its own order of axes. */
static uint32_t operand_of(nxg_rewrite *r, uint32_t i, const windows *w, uint32_t node,
                           const nxg_view *v, const int64_t extents[3], int64_t groups,
                           bool is_weights) {
  const nx_dtype t = (nx_dtype)r->from->nodes[i].dtype;
  const int64_t features = w->features * groups;
  int64_t shape[4] = {extents[0], extents[1], extents[2], features};
  if (w->first) shape[1] = features, shape[2] = extents[1], shape[3] = extents[2];
  node = as_four(r, i, node, *v, shape);
  if (w->first && t == NX_F32) return node;
  if (w->first) node = with_features_last(r, i, node, shape);
  return with_features(r, i, node, shape, whole(w, t) * groups, is_weights && t == NX_F32);
}

static uint32_t image_of(nxg_rewrite *r, uint32_t i, const windows *w) {
  nxg_view v;
  nxg_node_view(r->to, w->image, &v);
  return operand_of(r, i, w, w->image, &v, (int64_t[]){w->number, w->y->extent, w->x->extent},
                    w->groups, false);
}

static uint32_t weights_of(nxg_rewrite *r, uint32_t i, const windows *w) {
  const uint32_t node = r->map[r->from->nodes[i].args[1 - w->operand]];
  nxg_view v, from;
  nxg_node_view(r->to, node, &from);
  /* of groups, columns, and the inner extent */
  v = (nxg_view){.rank = 3, .offset = from.offset, .shape = {1, w->columns, w->depth}};
  const int32_t inner = w->operand == 0 ? from.rank - 2 : from.rank - 1,
                column = w->operand == 0 ? from.rank - 1 : from.rank - 2;
  v.strides[1] = from.strides[column], v.strides[2] = from.strides[inner];
  for (int32_t a = 0; a < from.rank - 2; a++)
    if (!is_shared(&from, a)) v.shape[0] = from.shape[a], v.strides[0] = from.strides[a];
  return operand_of(r, i, w, node, &v, (int64_t[]){w->columns * w->groups, w->y->taps, w->x->taps},
                    1, true);
}

static void set_axis(int64_t *attrs, const side *s) {
  attrs[NXG_WINDOWS_COUNT] = s->count;
  attrs[NXG_WINDOWS_STEP] = s->step;
  attrs[NXG_WINDOWS_DILATION] = s->dilation;
  attrs[NXG_WINDOWS_BEFORE] = s->before - s->first;
}

/* The product, of the call's result: of groups whose features are last a view that has groups
 * before rows. */
static uint32_t product_of(nxg_rewrite *r, uint32_t i, const windows *w, uint32_t call) {
  const nxg_node *n = &r->from->nodes[i];
  nxg_view v;
  if (nxg_rewrite_failed(r)) return call;
  const nxg_node *result = &r->to->nodes[call];
  if (n->rank == result->rank &&
      memcmp(n->shape, result->shape, (size_t)n->rank * sizeof *n->shape) == 0)
    return call;
  nxg_view_contiguous(&v, n->rank, n->shape);
  if (w->operand == 0) {
    v.strides[n->rank - 2] = w->groups * w->columns;
    for (int32_t a = 0; a < n->rank - 2; a++) v.strides[a] = n->shape[a] > 1 ? w->columns : 0;
  }
  return view_of(r, i, call, &v);
}

static void rewrite(nxg_rewrite *r, uint32_t i, const windows *w) {
  const nxg_node *n = &r->from->nodes[i];
  const int64_t columns = w->columns * w->groups, places = w->y->count * w->x->count,
                last[] = {w->rows, columns}, first[] = {w->number, columns, places};
  int64_t attrs[NXG_WINDOWS_ATTRS] = {0};
  uint32_t args[2] = {image_of(r, i, w), 0};
  if (!nxg_rewrite_failed(r)) args[1] = weights_of(r, i, w);
  if (nxg_rewrite_failed(r)) return;
  set_axis(attrs, w->y);
  set_axis(attrs + NXG_WINDOWS_AXIS, w->x);
  attrs[NXG_WINDOWS_LAYOUT] = (w->first && n->dtype == NX_F32 ? NXG_WINDOWS_IMAGE_FIRST : 0) |
                              (w->operand == 1 ? NXG_WINDOWS_RESULT_FIRST : 0);
  const uint32_t call =
      nxg_rewrite_add(r, i, NXG_matmul_windows, 2, args, attrs, NXG_WINDOWS_ATTRS,
                      (nx_dtype)n->dtype, w->operand == 1 ? 3 : 2, w->operand == 1 ? first : last);
  nxg_rewrite_map(r, i, product_of(r, i, w, call));
  r->changed = true;
}

/* ---- what shows a product */

/* The call whose result a node of the new graph is, perhaps as a view, which is *v; UINT32_MAX: it
 * is none. */
static uint32_t call_of(const nxg_graph *g, uint32_t node, nxg_view *v) {
  const uint32_t base = g->nodes[node].op == NXG_view ? g->nodes[node].args[0] : node;
  if (g->nodes[base].op != NXG_matmul_windows) return UINT32_MAX;
  nxg_node_view(g, node, v);
  return base;
}

/* Makes a view of a product one of the call's result. A product in groups has them before rows, and
 * the result has not: each axis of the view moves along groups, rows or columns. */
static bool see_through(const nxg_view *product, nxg_view *v) {
  const int64_t columns = product->shape[product->rank - 1],
                of_group = product->shape[product->rank - 2] * columns,
                all = product->strides[product->rank - 2];
  int64_t rows_reach = 0, columns_reach = 0;
  if (nxg_view_is_contiguous(product)) return product->offset == 0;
  for (int32_t i = 0; i < v->rank; i++) {
    int64_t *s = &v->strides[i];
    const int64_t reach = *s * (v->shape[i] - 1);
    if (v->shape[i] == 1) *s = 0;
    else if (*s > 0 && *s % of_group == 0) *s = *s / of_group * columns;
    else if (*s > 0 && *s % columns == 0) rows_reach += reach, *s = *s / columns * all;
    else columns_reach += reach;
    if (*s < 0) return false;
  }
  return v->offset == 0 && rows_reach < of_group && columns_reach < columns;
}

/* A view of a product, or a copy of all of it in the order of the result: neither takes a copy. */
static bool shows_product(nxg_rewrite *r, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i];
  nxg_view product, v;
  if (n->op != NXG_view && n->op != NXG_copy) return false;
  const uint32_t call = call_of(r->to, r->map[n->args[0]], &product);
  if (call == UINT32_MAX || product.rank < 2) return false;
  if (n->op == NXG_view) {
    nxg_node_view(r->from, i, &v);
    if (!see_through(&product, &v)) return false;
  } else {
    nxg_view dense;
    nxg_view_contiguous(&v, n->rank, n->shape);
    nxg_view_contiguous(&dense, product.rank, product.shape);
    for (int32_t a = 0; a < product.rank; a++)
      if (product.shape[a] != 1 && product.strides[a] != dense.strides[a]) return false;
    if (product.offset != 0 || nxg_node_elements(n) != nxg_node_elements(&r->to->nodes[call]))
      return false;
  }
  nxg_rewrite_map(r, i, view_of(r, i, call, &v));
  return true;
}

nx_status nxg_pass_windows(const nxg_graph *g, nxp_products products, nxg_graph **out,
                           bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  windows w;
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status != NX_OK) return status;
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    if (products & NXP_OF_WINDOWS && find(&r, i, &w)) rewrite(&r, i, &w);
    else if (!(products & NXP_OF_WINDOWS) || !shows_product(&r, i)) nxg_rewrite_copy(&r, i);
  }
  return nxg_rewrite_end(&r, out, changed);
}
