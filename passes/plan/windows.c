/* SPDX-License-Identifier: ISC */
/* Recognises packed tiles that are windows of an image: the operand's group is a copy of a view
 * whose axes each move along one axis of what it views, maybe with zeros around that. Of a complex
 * image both parts are such copies, joined along the inner extent. */
#include "packed_tiles.h"

#include <string.h>

#include "ir/library/tiles.h"

/* What the view reads: an image, and how many zeros are around it. */
typedef struct image {
  nxg_view view; /* of its base, without zeros */
  int32_t rank;
  int64_t shape[NXG_MAX_RANK], strides[NXG_MAX_RANK]; /* with them, as they would lie */
  int64_t before[NXG_MAX_RANK];
} image;

/* The view's axes: of the batch, of the inner extent, of columns; each along an axis of the image
 * by some elements. */
typedef struct windows_view {
  nxg_view view;
  int32_t inner, columns; /* the first axes of these */
  int32_t axis[NXG_MAX_RANK];
  int64_t move[NXG_MAX_RANK];
} windows_view;

/* Finds the view that a node of the operand's group copies, and what it views. */
static bool find_view(const nxp_step_builder *s, uint32_t node, windows_view *v, image *m,
                      uint32_t *source) {
  const nxg_graph *g = s->b->g;
  if (node == NXP_NONE) return false;
  const nxg_node *copy = node_of(s, node);
  if (copy->op != NXG_copy || node_of(s, copy->args[0])->op != NXG_view) return false;
  uint32_t viewed = node_of(s, copy->args[0])->args[0];
  const nxg_node *n = node_of(s, viewed);
  if (n->op == NXG_view) return false;
  nxg_node_view(g, copy->args[0], &v->view);
  m->rank = n->rank;
  memcpy(m->shape, n->shape, (size_t)n->rank * sizeof *m->shape);
  int64_t stride = 1;
  for (int32_t i = n->rank; i-- > 0; stride *= n->shape[i]) m->strides[i] = stride;
  memset(m->before, 0, sizeof m->before);
  if (n->op == NXG_pad) {
    if (n->attrs[0] != 0) return false;
    memcpy(m->before, n->attrs + 1, (size_t)n->rank * sizeof *m->before);
    viewed = n->args[0];
  }
  nxg_node_view(g, viewed, &m->view);
  *source = nxp_operand_base(s, viewed);
  return m->view.rank == m->rank;
}

/* To which axis of the image each axis of the view belongs. Which it is follows from the strides,
 * outer ones first; that they are right is checked by the extents afterwards. */
static bool assign_axes(windows_view *v, const image *m) {
  int64_t reach[NXG_MAX_RANK] = {0}, offset = v->view.offset;
  for (int32_t a = 0; a < m->rank; a++) {
    if (m->strides[a] == 0) return false;
    reach[a] = offset / m->strides[a];
    offset %= m->strides[a];
  }
  for (int32_t d = 0; d < v->view.rank; d++) {
    int32_t a = 0;
    int64_t stride = v->view.strides[d];
    if (v->view.shape[d] == 1) stride = 0;
    else if (stride <= 0) return false;
    while (a < m->rank && (m->shape[a] == 1 || m->strides[a] > stride)) a++;
    if (stride > 0 && (a == m->rank || stride % m->strides[a] != 0)) return false;
    v->axis[d] = stride > 0 ? a : m->rank - 1;
    v->move[d] = stride > 0 ? stride / m->strides[a] : 0;
    if (stride > 0) reach[a] += (v->view.shape[d] - 1) * v->move[d];
  }
  for (int32_t a = 0; a < m->rank; a++)
    if (reach[a] >= m->shape[a]) return false;
  return true;
}

/* Where the axes of the inner extent and of columns begin. */
static bool divide_axes(windows_view *v, int64_t depth, int64_t columns) {
  int32_t d = v->view.rank;
  int64_t n = 1;
  while (d > 0 && n < columns) n *= v->view.shape[--d];
  v->columns = d;
  if (n != columns) return false;
  for (n = 1; d > 0 && n < depth;) n *= v->view.shape[--d];
  v->inner = d;
  return n == depth && v->columns < v->view.rank;
}

static int64_t first_index(const windows_view *v, const image *m, int32_t axis) {
  int64_t offset = v->view.offset;
  for (int32_t a = 0; a < axis; a++) offset %= m->strides[a];
  return offset / m->strides[axis] - m->before[axis];
}

static nxi_image_axis axis_of(const windows_view *v, const image *m, int32_t axis) {
  return (nxi_image_axis){m->view.shape[axis], m->view.strides[axis], first_index(v, m, axis)};
}

/* The axis of windows that axis d of the view numbers; *tap: the one that numbers their elements,
 * if there is any, else -1. */
static nxi_image_line line_of(const windows_view *v, const image *m, int32_t d, int32_t *tap) {
  nxi_image_line l = {.axis = axis_of(v, m, v->axis[d]),
                      .count = v->view.shape[d],
                      .stride = v->move[d],
                      .taps = 1,
                      .dilation = 1};
  *tap = -1;
  for (int32_t k = v->inner; k < v->columns; k++) {
    if (v->view.shape[k] == 1 || v->axis[k] != v->axis[d]) continue;
    l.taps = v->view.shape[k];
    l.dilation = v->move[k];
    *tap = k;
  }
  return l;
}

static int32_t last_moving(const windows_view *v, int32_t begin, int32_t end) {
  while (end > begin && v->view.shape[end - 1] == 1) end--;
  return end - 1;
}

static void add_dim(const windows_view *v, int32_t d, nxi_image_dim *dims, int32_t *n) {
  if (v->view.shape[d] > 1)
    dims[(*n)++] = (nxi_image_dim){v->axis[d], v->view.shape[d], v->move[d]};
}

/* Planes are before the taps or behind them, and nothing else moves along the axes of windows. */
static bool fill_dims(const windows_view *v, const image *m, int32_t y, int32_t x, int32_t tap_y,
                      int32_t tap_x, nxi_image_windows *w) {
  int32_t first = tap_y >= 0 ? tap_y : tap_x, last = tap_x >= 0 ? tap_x : tap_y, before = 0;
  if (tap_y >= 0 && tap_x >= 0 && tap_y > tap_x) return false;
  for (int32_t a = 0; a < m->rank; a++) {
    bool own = a == v->axis[x] || (y >= 0 && a == v->axis[y]);
    w->axes[a] = own ? (nxi_image_axis){1, 0, 0} : axis_of(v, m, a);
  }
  w->n_axes = m->rank;
  for (int32_t d = 0; d < v->view.rank; d++) {
    if (d == x || d == y || d == tap_y || d == tap_x || v->view.shape[d] == 1) continue;
    if (v->axis[d] == v->axis[x] || (y >= 0 && v->axis[d] == v->axis[y])) return false;
    bool plane = d >= v->inner && d < v->columns;
    if (plane && first >= 0 && d > first && d < last) return false;
    before += plane && first >= 0 && d < first;
    add_dim(v, d, plane ? w->planes : w->outer, plane ? &w->n_planes : &w->n_outer);
    if (d < v->inner) w->n_batch = w->n_outer;
  }
  w->taps_first = first >= 0 && before == 0 && w->n_planes > 0;
  return before == 0 || before == w->n_planes;
}

static bool describe(const windows_view *v, const image *m, nxi_image_windows *w) {
  int32_t x = last_moving(v, v->columns, v->view.rank), tap_x, tap_y = -1;
  if (x < v->columns || v->view.rank > NXI_WINDOWS_RANK || m->rank > NXI_WINDOWS_RANK) return false;
  int32_t y = last_moving(v, v->columns, x);
  if (y >= v->columns && v->axis[y] == v->axis[x]) return false;
  w->x = line_of(v, m, x, &tap_x);
  if (y >= v->columns) w->y = line_of(v, m, y, &tap_y);
  else w->y = (nxi_image_line){{1, 0, 0}, 1, 1, 1, 1}, y = -1;
  return w->x.stride <= NXI_WINDOWS_STRIDE && w->y.stride <= NXI_WINDOWS_STRIDE &&
         fill_dims(v, m, y, x, tap_y, tap_x, w) && nxi_image_taps(w) > 1;
}

/* Whether it is less work than to write each window: elements are in several windows, or vectors
 * take them apart, and `rows` products for each column of a gap cost less than the elements of the
 * tile. Lines of whole vectors have no gaps. */
static bool pays(const nxi_image_windows *w, const nxi_image_layout *l, int64_t rows) {
  enum { WRITTEN = 8, GATHERED = 24, PICKED = 3, LANES = 16 };
  int64_t step = w->x.stride * w->x.axis.step, work = step == 1 ? WRITTEN : GATHERED,
          taps = nxi_image_taps(w);
  if (w->y.count > 1 && l->columns < w->x.count) return false; /* lines are copied whole */
  if (taps < 2 * w->y.stride * w->x.stride &&
      (step > PICKED || w->element != 4 || taps < l->phases_y * l->phases_x))
    return false;
  if (w->y.count > 1 && w->x.count % LANES == 0) return true;
  return rows * (l->pitch - w->x.count) <= work * w->x.count;
}

/* Cuts columns into tiles for the copy of an image, which is smaller than windows, so that more
 * columns share the lines at a tile's border: as many as have a copy that a part of the second
 * level holds, and are enough tasks. Whole lines. */
static bool lay_out(const nxp_step_builder *s, const nxg_node *n, const nxp_packed_tiles *g,
                    const nxi_image_windows *w, nxi_image_layout *l) {
  enum { PART_OF_CACHE = 3, TASKS = 8, UNIT = 48 };
  const nxp_plan *p = s->b->plan;
  int64_t batches = 1, rows = n->shape[n->rank - 2], line = w->y.count > 1 ? w->x.count : UNIT;
  for (int32_t d = 0; d < n->rank - 2; d++) batches *= n->shape[d];
  const nxi_tiles t = nxi_matmul_tiles(batches, rows, g->extent, g->depth);
  if (!nxi_image_lay_out(w, g->width, g->piece, l)) return false;
  for (int64_t panels = 1; g->piece >= g->depth; panels *= 2) {
    int64_t columns = (g->extent + panels - 1) / panels;
    nxi_image_layout other;
    columns = (columns + line - 1) / line * line;
    if (columns < g->width / 4 || (panels > 1 && columns <= line)) break;
    const double work = 2.0 * (double)t.rows * (double)columns * (double)g->depth;
    if ((double)batches * (double)panels < (double)TASKS * p->threads && columns > g->width)
      continue;
    if (work > (double)NXI_TILE_FLOPS_MAX || !nxi_image_lay_out(w, columns, g->piece, &other) ||
        other.bytes > p->target.l2_bytes / PART_OF_CACHE)
      continue;
    *l = other;
    break;
  }
  return true;
}

/* The copy that is part k of an operand; NXP_NONE: there is none. */
static uint32_t copied(const nxp_step_builder *s, const nxp_packed_tiles *g, int32_t k) {
  nxg_view v;
  if (g->n_parts == 1) return g->base;
  const uint32_t part = node_of(s, g->base)->args[k], base = nxp_operand_base(s, part);
  nxg_node_view(s->b->g, part, &v);
  const bool whole = v.offset == 0 && nxg_view_is_contiguous(&v) &&
                     nxg_node_elements(node_of(s, part)) == nxg_node_elements(node_of(s, base));
  return whole ? base : NXP_NONE;
}

static bool same_view(const nxg_view *a, const nxg_view *b) {
  const size_t bytes = (size_t)a->rank * sizeof *a->shape;
  return a->rank == b->rank && memcmp(a->shape, b->shape, bytes) == 0 &&
         memcmp(a->strides, b->strides, bytes) == 0;
}

/* The same of all parts, which are views of one image that differ in where they begin: by *apart
 * elements. */
static bool find_parts(const nxp_step_builder *s, const nxp_packed_tiles *g, windows_view *v,
                       image *m, uint32_t *source, int64_t *apart) {
  windows_view other_view;
  image other;
  uint32_t others;
  if (!find_view(s, copied(s, g, 0), v, m, source)) return false;
  if (g->n_parts == 1) return true;
  if (!find_view(s, copied(s, g, 1), &other_view, &other, &others)) return false;
  *apart = other.view.offset - m->view.offset;
  return others == *source && same_view(&other_view.view, &v->view) &&
         other_view.view.offset == v->view.offset && same_view(&other.view, &m->view) &&
         memcmp(other.shape, m->shape, (size_t)m->rank * sizeof *m->shape) == 0 &&
         memcmp(other.before, m->before, (size_t)m->rank * sizeof *m->before) == 0;
}

/* Planes of the second part come behind those of the first. */
static bool add_parts(int64_t apart, nxi_image_windows *w) {
  if (w->taps_first || w->n_axes == NXI_WINDOWS_RANK || w->n_planes == NXI_WINDOWS_RANK)
    return false;
  memmove(w->planes + 1, w->planes, (size_t)w->n_planes * sizeof *w->planes);
  w->planes[0] = (nxi_image_dim){w->n_axes, 2, 1};
  w->n_planes++;
  w->axes[w->n_axes++] = (nxi_image_axis){2, apart, 0};
  return true;
}

bool nxp_find_windows(const nxp_step_builder *s, uint32_t product, int operand, nxp_packed_tiles *g,
                      nxp_windows *out) {
  const nxg_node *n = node_of(s, product), *base = node_of(s, g->base);
  nxi_image_windows *w = &out->windows;
  nxi_image_layout *l = &out->layout;
  windows_view v;
  image m;
  nxg_view whole;
  *w = (nxi_image_windows){.element = (int32_t)nxi_dtype_size(base->dtype)};
  nxg_node_view(s->b->g, n->args[operand], &whole);
  if (operand != 1 || !g->inner || whole.rank != n->rank || g->repeats || whole.offset != 0 ||
      (n->dtype != NX_F32 && n->dtype != NX_F64) || base->dtype != n->dtype)
    return false;
  int64_t stride = 1, apart = 0;
  for (int32_t i = n->rank; i-- > 0; stride *= whole.shape[i])
    if (whole.shape[i] > 1 && whole.strides[i] != stride) return false;
  if (nxg_node_elements(base) != stride || !find_parts(s, g, &v, &m, &g->image, &apart))
    return false;
  out->offset = m.view.offset * w->element;
  return divide_axes(&v, g->depth / g->n_parts, g->extent) && assign_axes(&v, &m) &&
         describe(&v, &m, w) && (g->n_parts == 1 || add_parts(apart, w)) &&
         (!w->taps_first || g->piece >= g->depth) && lay_out(s, n, g, w, l) &&
         pays(w, l, n->shape[n->rank - 2]);
}
