/* SPDX-License-Identifier: ISC */
/* Windows that begin where tensors say, over gather and scatter along one axis. Axes of x that a
 * window fills, and axes that go with one of the batch, stay what they are; all from the first to
 * the last of the others (the span) are seen as one axis, whose elements the indices count. So rows
 * move as rows, and x is neither turned nor copied. */
#include "places.h"

#include <string.h>

#include "compose.h"
#include "nx/number.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"

/* ---- scopes */

bool nxi_scoped_begin(nxi_scoped *s, nx_context *c, uint32_t called) {
  s->outer = nxi_called_begin(called);
  s->scope = nx_scope_begin(c);
  if (!s->scope) nxi_called_end(s->outer);
  return s->scope != NULL;
}

nx_tensor *nxi_scoped_end(nxi_scoped *s, nx_tensor *result, bool copies) {
  if (result && copies) result = nx_copy(result);
  if (result) nx_keep(result);
  nx_scope_end(s->scope);
  if (result && !nxi_scope_add(result)) {
    nx_tensor_release(result);
    result = nxi_no_memory("scope");
  }
  nxi_called_end(s->outer);
  return result;
}

/* ---- starts */

nx_tensor *nxi_checked_start(nx_tensor *start, int32_t axis, int64_t extent, int64_t size) {
  int64_t shape[NXG_MAX_RANK], attrs[3] = {0, axis, size}, last = extent - size + 1, one = 1;
  int32_t rank = start->rank;
  nxi_diag d;
  nxi_diag_clear(&d);
  memcpy(shape, nxi_shape(start), (size_t)rank * sizeof *shape);
  nx_tensor *all = nx_arange(start->context, start->storage->device, NX_I64, NX_INTEGER(0),
                             NX_INTEGER(1), last),
            *index = rank ? start : nx_reshape(start, &one, 1, 0);
  if (rank) {
    int64_t line[NXG_MAX_RANK];
    for (int32_t i = 0; i < rank; i++) line[i] = 1;
    attrs[0] = rank - 1;
    line[rank - 1] = shape[rank - 1] = last;
    all = nx_expand(nx_reshape(all, line, rank, 0), shape, rank);
  }
  if (!all || !index) return NULL;
  nxi_operand o[2] = {nxi_operand_of(all), nxi_operand_of(index)};
  nx_tensor *checked = nxi_record_inferred(NXG_gather, o, 2, attrs, 3, &d);
  return rank ? checked : nx_reshape(checked, NULL, 0, 0);
}

/* Whether windows fit, where the start is one. As unsigned numbers negative ones are large. */
static nx_tensor *fits(nx_tensor *start, int64_t last) {
  return nx_binary_i64(nx_cast(nx_cast(start, NX_I64), NX_U64), NX_BINARY_CMPLE, last);
}

/* The start as a number that is in range, of dtype t, which has `last`. */
static nx_tensor *usable_start(const nxi_windows *w, int32_t axis, nx_dtype t) {
  nx_tensor *s = w->start[axis];
  int64_t last = w->shape[axis] - w->size[axis];
  if (w->bounds == NX_BOUNDS_CHECK)
    return nx_cast(nxi_checked_start(s, axis, w->shape[axis], w->size[axis]), t);
  if (t == NX_I64) s = nx_cast(s, t);
  if (s && s->storage->dtype == NX_I32 && last > INT32_MAX) last = INT32_MAX;
  return nx_cast(nx_binary_i64(nx_binary_i64(s, NX_BINARY_MAX, 0), NX_BINARY_MIN, last), t);
}

/* ---- the span */

typedef struct span {
  int32_t low, high; /* its axes: low <= axis < high; none of rank 0 */
  int64_t extent;
  nx_dtype dtype; /* of indices */
} span;

/* Whether a window may be at several places along an axis. */
static bool moves(const nxi_windows *w, int32_t axis) {
  return !w->batch[axis] && w->size[axis] < w->shape[axis];
}

static span span_of(const nxi_windows *w, bool all) {
  span s = {w->rank, 0, 1, NX_I32};
  for (int32_t i = 0; i < w->rank; i++) {
    if (!all && !moves(w, i)) continue;
    if (i < s.low) s.low = i;
    s.high = i + 1;
  }
  if (!s.high) s.low = 0, s.high = w->rank > 0; /* one axis, along which all is where it is */
  for (int32_t i = s.low; i < s.high; i++) s.extent *= w->shape[i];
  if (s.extent > INT32_MAX) s.dtype = NX_I64;
  return s;
}

/* 0, 1, .. along one of the dims. */
static nx_tensor *count_along(const nxi_windows *w, int32_t dim, int64_t n, nx_dtype t) {
  int64_t shape[NXG_MAX_RANK];
  for (int32_t i = 0; i < w->n_dims; i++) shape[i] = i == dim ? n : 1;
  nx_tensor *line =
      nx_arange(w->x->context, w->x->storage->device, t, NX_INTEGER(0), NX_INTEGER(1), n);
  return nx_reshape(line, shape, w->n_dims, 0);
}

static nx_tensor *sum(nx_tensor *a, nx_tensor *b) { return a && b ? nx_add(a, b) : NULL; }

/* Adds a start that must be 0, so that it is checked. */
static bool add_start(const nxi_windows *w, const span *s, int32_t axis, nx_tensor **place) {
  if (!w->start[axis]) return true;
  nx_tensor *start = usable_start(w, axis, s->dtype);
  *place = *place ? sum(*place, start) : start;
  return *place != NULL;
}

/* Adds to *place what an axis contributes. */
static bool add_axis(const nxi_windows *w, const span *s, int32_t axis, int64_t stride,
                     nx_tensor **place) {
  int32_t dim = w->dim[axis];
  bool counts = dim >= 0 && w->dims[dim] > 1;
  nx_tensor *at = counts ? count_along(w, dim, w->dims[dim], s->dtype) : NULL;
  if (counts && !at) return false;
  if (w->start[axis] && moves(w, axis)) {
    nx_tensor *start = usable_start(w, axis, s->dtype);
    at = at ? sum(start, at) : start;
    if (!at) return false;
  }
  if (!at) return true;
  if (stride != 1) at = nx_binary_i64(at, NX_BINARY_MUL, stride);
  *place = *place ? sum(*place, at) : at;
  return *place != NULL;
}

/* Whether each window fits, in the shape of the starts; *valid stays NULL where all must. */
static bool find_valid(const nxi_windows *w, nx_tensor **valid) {
  *valid = NULL;
  for (int32_t i = 0; w->bounds == NX_BOUNDS_DROP && i < w->rank; i++) {
    if (!w->start[i]) continue;
    nx_tensor *good = fits(w->start[i], w->shape[i] - w->size[i]);
    *valid = *valid && good ? nx_and(*valid, good) : good;
    if (!*valid) return false;
  }
  return true;
}

/* The place of each element within the span, of the rank of all dims, with extent 1 along dims that
 * do not matter; out of range where a window does not fit and `drops` says so. */
static nx_tensor *places_of(const nxi_windows *w, const span *s, bool drops) {
  nx_tensor *place = NULL, *valid = NULL;
  int64_t stride = 1, shape[NXG_MAX_RANK];
  for (int32_t i = s->high; i-- > s->low; stride *= w->shape[i])
    if (!add_axis(w, s, i, stride, &place)) return NULL;
  for (int32_t i = 0; w->bounds == NX_BOUNDS_CHECK && i < w->rank; i++)
    if (!moves(w, i) && !add_start(w, s, i, &place)) return NULL;
  for (int32_t i = 0; i < w->n_dims; i++) shape[i] = 1;
  if (!place)
    place = nx_full_i64(w->x->context, w->x->storage->device, s->dtype, shape, w->n_dims, 0);
  if (!drops || !find_valid(w, &valid)) return drops ? NULL : place;
  if (!valid) return place;
  nx_tensor *none = nx_full_i64(w->x->context, w->x->storage->device, s->dtype, NULL, 0, s->extent);
  return place && none ? nx_where(valid, place, none) : NULL;
}

/* ---- from all dims to axes: those before the span, one for the span, those after it */

typedef struct layout {
  int32_t rank, axis;             /* the axis of the span */
  int64_t shape[NXG_MAX_RANK];    /* of indices and updates */
  int64_t distinct[NXG_MAX_RANK]; /* of indices that are not repeated */
  int64_t data[NXG_MAX_RANK];     /* of x */
  int32_t n_order, order[NXG_MAX_RANK];
  bool matters[NXG_MAX_RANK]; /* of each dim: a place depends on it */
} layout;

/* An axis that is not of the span. */
static void add_kept(const nxi_windows *w, int32_t axis, layout *l) {
  int32_t dim = w->dim[axis];
  l->data[l->rank] = w->shape[axis];
  l->distinct[l->rank] = w->batch[axis] ? w->dims[dim] : 1;
  l->shape[l->rank++] = dim < 0 ? 1 : w->dims[dim];
  if (dim < 0) return;
  l->order[l->n_order++] = dim;
  l->matters[dim] = w->batch[axis];
}

static layout layout_of(const nxi_windows *w, const span *s) {
  layout l = {0};
  bool kept[NXG_MAX_RANK] = {false};
  int64_t elements = 1;
  for (int32_t i = 0; i < w->rank; i++)
    if ((i < s->low || i >= s->high) && w->dim[i] >= 0) kept[w->dim[i]] = true;
  for (int32_t i = 0; i < s->low; i++) add_kept(w, i, &l);
  l.axis = l.rank++;
  for (int32_t i = 0; i < w->n_dims; i++) {
    if (kept[i]) continue;
    l.order[l.n_order++] = i;
    l.matters[i] = true;
    elements *= w->dims[i];
  }
  l.shape[l.axis] = l.distinct[l.axis] = elements;
  l.data[l.axis] = s->extent;
  for (int32_t i = s->high; i < w->rank; i++) add_kept(w, i, &l);
  return l;
}

static nx_tensor *in_order(const nxi_windows *w, const int32_t *order, nx_tensor *t) {
  for (int32_t i = 0; t && i < w->n_dims; i++)
    if (order[i] != i) return nx_permute(t, order, (size_t)w->n_dims);
  return t;
}

/* Places, in the shape of the layout. */
static nx_tensor *indices_of(const nxi_windows *w, const layout *l, nx_tensor *place) {
  int64_t shape[NXG_MAX_RANK];
  for (int32_t i = 0; i < w->n_dims; i++) shape[i] = l->matters[i] ? w->dims[i] : 1;
  place = in_order(w, l->order, place ? nx_expand(place, shape, w->n_dims) : NULL);
  place = place ? nx_reshape(place, l->distinct, l->rank, NX_MAY_COPY) : NULL;
  return place ? nx_expand(place, l->shape, l->rank) : NULL;
}

/* From the shape of a layout back to that of all dims. */
static nx_tensor *in_dims(const nxi_windows *w, const layout *l, nx_tensor *t) {
  int64_t shape[NXG_MAX_RANK];
  int32_t back[NXG_MAX_RANK];
  for (int32_t i = 0; i < w->n_dims; i++) {
    shape[i] = w->dims[l->order[i]];
    back[l->order[i]] = i;
  }
  t = t ? nx_reshape(t, shape, w->n_dims, NX_MAY_COPY) : NULL;
  return in_order(w, back, t);
}

/* ---- operations */

/* Of an axis along which all windows begin at 0 only the elements that they have are left. */
static bool without_rest(nxi_windows *w) {
  int64_t start[NXG_MAX_RANK] = {0}, stop[NXG_MAX_RANK];
  bool cuts = false;
  for (int32_t i = 0; i < w->rank; i++) {
    bool cut = !w->start[i] && !w->batch[i] && w->size[i] < w->shape[i];
    if (cut) w->shape[i] = w->size[i];
    stop[i] = w->shape[i];
    cuts |= cut;
  }
  if (cuts) w->x = nx_shrink(w->x, start, stop, (size_t)w->rank);
  return w->x != NULL;
}

static nx_tensor *gathered(const nxi_windows *w) {
  const span s = span_of(w, false);
  const layout l = layout_of(w, &s);
  nx_tensor *place = places_of(w, &s, false), *indices = indices_of(w, &l, place);
  bool same = s.high == s.low + 1;
  nx_tensor *x = indices && !same ? nx_reshape(w->x, l.data, l.rank, NX_MAY_COPY) : w->x;
  return indices && x ? in_dims(w, &l, nx_gather(x, indices, l.axis)) : NULL;
}

nx_tensor *nxi_windows_gather(nxi_windows *w, const nx_scalar *fill) {
  nx_tensor *valid = NULL;
  if (!find_valid(w, &valid) || !without_rest(w)) return NULL;
  nx_tensor *found = gathered(w);
  if (!found || !valid) return found;
  nx_tensor *other =
      nx_full(w->x->context, w->x->storage->device, w->x->storage->dtype, NULL, 0, fill);
  return other ? nx_where(valid, found, other) : NULL;
}

static nx_tensor *record_scatter(const nxi_windows *w, const layout *l, nx_tensor *indices,
                                 nx_tensor *updates, nx_scatter_mode mode) {
  int64_t attrs[2 + NXG_MAX_RANK] = {l->axis, nxg_scatter_bits((nxi_scatter_mode)mode)};
  nxi_diag d;
  nxi_diag_clear(&d);
  bool same = l->rank == w->rank && !memcmp(l->data, w->shape, (size_t)l->rank * sizeof *l->data);
  if (w->bounds == NX_BOUNDS_DROP) attrs[1] |= NXG_SCATTER_DROPS;
  if (!same) {
    attrs[1] |= NXG_SCATTER_SEEN;
    memcpy(attrs + 2, l->data, (size_t)l->rank * sizeof *attrs);
  }
  nxi_operand o[3] = {nxi_operand_of(w->x), nxi_operand_of(indices), nxi_operand_of(updates)};
  return nxi_record_inferred(NXG_scatter, o, 3, attrs, same ? 2 : 2 + (uint32_t)l->rank, &d);
}

nx_tensor *nxi_windows_scatter(nxi_windows *w, nx_tensor *updates, nx_scatter_mode mode) {
  const span s = span_of(w, false);
  const layout l = layout_of(w, &s);
  nx_tensor *place = places_of(w, &s, w->bounds == NX_BOUNDS_DROP),
            *indices = indices_of(w, &l, place);
  if (!indices) return NULL;
  nx_tensor *values = in_order(w, l.order, updates);
  values = values ? nx_reshape(values, l.shape, l.rank, NX_MAY_COPY) : NULL;
  return values ? record_scatter(w, &l, indices, values, mode) : NULL;
}

nx_tensor *nxi_windows_places(nxi_windows *w) {
  const span s = span_of(w, true);
  nx_tensor *place = places_of(w, &s, w->bounds == NX_BOUNDS_DROP);
  return place ? nx_expand(place, w->dims, w->n_dims) : NULL;
}
