/* SPDX-License-Identifier: ISC */
/* Gather and scatter with StableHLO's dimension numbers: the constraints of its specification, by
 * its names, and windows made of them. */
#include "dimension_numbers.h"

#include <string.h>

#include "nx/number.h"
#include "runtime/apply/by_scatter.h"
#include "runtime/record/error.h"

/* ---- lists of axes */

#define REFUSE(d, op, ...) (!nxi_fail(d, NX_INVALID_ARGUMENT, op, __VA_ARGS__))

static bool take_axes(const char *op, const char *name, const int32_t *given, int32_t n,
                      nxi_axes *out, nxi_diag *d) {
  if (n < 0 || n > NXG_MAX_RANK || (n && !given))
    return REFUSE(d, op, "%s: %s has %d entries, or is null", op, name, n);
  out->n = n;
  if (n) memcpy(out->at, given, (size_t)n * sizeof *given);
  return true;
}

static bool contains(const nxi_axes *axes, int32_t axis) {
  for (int32_t i = 0; i < axes->n; i++)
    if (axes->at[i] == axis) return true;
  return false;
}

/* Whether each is one of `rank` axes, and there once; rising, if that is asked for. */
static bool check_axes(const nxi_numbers *n, const char *name, const nxi_axes *axes, int32_t rank,
                       bool rising, nxi_diag *d) {
  for (int32_t i = 0; i < axes->n; i++) {
    if (axes->at[i] < 0 || axes->at[i] >= rank)
      return REFUSE(d, n->op, "%s: %s has %d, which is no axis of %d", n->op, name, axes->at[i],
                    rank);
    for (int32_t k = 0; k < i; k++)
      if (axes->at[k] == axes->at[i] || (rising && axes->at[k] > axes->at[i]))
        return REFUSE(d, n->op, "%s: %s has %d after %d: axes are there once%s", n->op, name,
                      axes->at[i], axes->at[k], rising ? ", in rising order" : "");
  }
  return true;
}

static bool check_apart(const nxi_numbers *n, const char *one, const nxi_axes *a, const char *other,
                        const nxi_axes *b, nxi_diag *d) {
  for (int32_t i = 0; i < a->n; i++)
    if (contains(b, a->at[i]))
      return REFUSE(d, n->op, "%s: axis %d is in both %s and %s", n->op, a->at[i], one, other);
  return true;
}

/* The names of the lists, of a gather and of a scatter. */
typedef enum list { OFFSET, COLLAPSED, OPERAND_BATCHING, INDEX_BATCHING, MAP } list;
static const char *name_of(const nxi_numbers *n, list which) {
  static const char *const names[][2] = {
      {"offset_dims", "update_window_dims"},
      {"collapsed_slice_dims", "inserted_window_dims"},
      {"operand_batching_dims", "input_batching_dims"},
      {"start_indices_batching_dims", "scatter_indices_batching_dims"},
      {"start_index_map", "scatter_dims_to_operand_dims"}};
  return names[which][n->scatters];
}

static bool check_lists(const nxi_numbers *n, int32_t rank, int32_t start_rank, int32_t dims,
                        nxi_diag *d) {
  return check_axes(n, name_of(n, OFFSET), &n->offset, dims, true, d) &&
         check_axes(n, name_of(n, COLLAPSED), &n->collapsed, rank, true, d) &&
         check_axes(n, name_of(n, OPERAND_BATCHING), &n->operand_batching, rank, true, d) &&
         check_axes(n, name_of(n, INDEX_BATCHING), &n->index_batching, start_rank, false, d) &&
         check_axes(n, name_of(n, MAP), &n->map, rank, false, d) &&
         check_apart(n, name_of(n, COLLAPSED), &n->collapsed, name_of(n, OPERAND_BATCHING),
                     &n->operand_batching, d) &&
         check_apart(n, name_of(n, MAP), &n->map, name_of(n, OPERAND_BATCHING),
                     &n->operand_batching, d);
}

/* ---- what goes together */

static bool check_starts(const nxi_numbers *n, const nx_tensor *starts, nxi_diag *d) {
  int64_t components = 1;
  if (!nxi_is_integer(starts->storage->dtype)) {
    d->operand = 1;
    return !nxi_fail(d, NX_UNSUPPORTED_DTYPE, n->op, "%s: the starts are %s, not integers", n->op,
                     nxi_dtypes[starts->storage->dtype].name);
  }
  if (n->index_vector_dim < 0 || n->index_vector_dim > starts->rank)
    return REFUSE(d, n->op, "%s: index_vector_dim %d of starts of rank %d", n->op,
                  n->index_vector_dim, starts->rank);
  if (n->index_vector_dim < starts->rank) components = nxi_shape(starts)[n->index_vector_dim];
  if (components != n->map.n)
    return REFUSE(d, n->op, "%s: starts have %lld components, %s %d", n->op, (long long)components,
                  name_of(n, MAP), n->map.n);
  if (n->operand_batching.n != n->index_batching.n ||
      contains(&n->index_batching, n->index_vector_dim))
    return REFUSE(d, n->op, "%s: %s does not go with %s, or has the index_vector_dim", n->op,
                  name_of(n, INDEX_BATCHING), name_of(n, OPERAND_BATCHING));
  return true;
}

/* Axes of batches, which are axes of their operands, have as many elements on both sides. */
static bool check_batches(const nxi_numbers *n, const nx_tensor *x, const nx_tensor *starts,
                          nxi_diag *d) {
  for (int32_t i = 0; i < n->operand_batching.n; i++) {
    int64_t here = nxi_shape(x)[n->operand_batching.at[i]],
            there = nxi_shape(starts)[n->index_batching.at[i]];
    if (here != there)
      return REFUSE(d, n->op, "%s: batching axis %d has %lld elements, that of the starts %lld",
                    n->op, n->operand_batching.at[i], (long long)here, (long long)there);
  }
  return true;
}

static bool check_ranks(const nxi_numbers *n, const nx_tensor *x, const nx_tensor *starts,
                        int32_t dims, nxi_diag *d) {
  if (n->offset.n + n->collapsed.n + n->operand_batching.n != x->rank)
    return REFUSE(d, n->op, "%s: %d %s, %d %s and %d batching axes for an operand of rank %d",
                  n->op, n->offset.n, name_of(n, OFFSET), n->collapsed.n, name_of(n, COLLAPSED),
                  n->operand_batching.n, x->rank);
  int32_t wanted = starts->rank - (n->index_vector_dim < starts->rank) + n->offset.n;
  if (dims != wanted || dims > NXG_MAX_RANK)
    return REFUSE(d, n->op, "%s: %s of rank %d where rank %d is wanted, %d at most", n->op,
                  n->scatters ? "updates" : "a result", dims, wanted, NXG_MAX_RANK);
  return true;
}

/* The dim of each axis of the operand, and the extents of dims. */
static void place_dims(const nxi_numbers *n, const nx_tensor *starts, nxi_windows *w) {
  int32_t batch_dim[NXG_MAX_RANK + 1] = {0}; /* of each axis of the starts */
  for (int32_t i = 0, dim = 0; i < starts->rank; i++) {
    if (i == n->index_vector_dim) continue;
    while (contains(&n->offset, dim)) dim++;
    w->dims[dim] = nxi_shape(starts)[i];
    batch_dim[i] = dim++;
  }
  for (int32_t i = 0, k = 0; i < w->rank; i++) {
    w->dim[i] = -1;
    if (contains(&n->collapsed, i) || contains(&n->operand_batching, i)) continue;
    w->dim[i] = n->offset.at[k++];
    w->dims[w->dim[i]] = n->size[i];
  }
  for (int32_t i = 0; i < n->operand_batching.n; i++) {
    w->batch[n->operand_batching.at[i]] = true;
    w->dim[n->operand_batching.at[i]] = batch_dim[n->index_batching.at[i]];
  }
}

/* Sizes of windows: those that were given, or those of the updates. */
static bool find_sizes(nxi_numbers *n, const nx_tensor *x, const nx_tensor *updates, nxi_diag *d) {
  for (int32_t i = 0, k = 0; i < x->rank; i++) {
    bool gone = contains(&n->collapsed, i) || contains(&n->operand_batching, i);
    int64_t extent = nxi_shape(x)[i];
    if (updates) n->size[i] = gone ? 1 : nxi_shape(updates)[n->offset.at[k]];
    k += !gone;
    bool few = n->size[i] <= extent || (gone && updates);
    if (n->size[i] < 0 || !few || (gone && n->size[i] > 1))
      return REFUSE(d, n->op, "%s: windows of %lld elements along axis %d, which has %lld%s", n->op,
                    (long long)n->size[i], i, (long long)extent, gone ? " and is left out" : "");
  }
  return true;
}

static bool check_updates(const nxi_numbers *n, const nx_tensor *x, const nx_tensor *updates,
                          const nxi_windows *w, nxi_diag *d) {
  char is[NXG_SHAPE_TEXT], wanted[NXG_SHAPE_TEXT];
  if (updates->storage->dtype != x->storage->dtype)
    return REFUSE(d, n->op, "%s: %s, and updates that are %s", n->op,
                  nxi_dtypes[x->storage->dtype].name, nxi_dtypes[updates->storage->dtype].name);
  if (nxg_same_shape(updates->rank, nxi_shape(updates), w->n_dims, w->dims)) return true;
  d->operand = 2;
  return REFUSE(d, n->op, "%s: updates of shape %s where %s is wanted", n->op,
                nxg_format_shape(is, updates->rank, nxi_shape(updates)),
                nxg_format_shape(wanted, w->n_dims, w->dims));
}

bool nxi_numbers_check(nxi_numbers *n, nx_tensor *x, nx_tensor *starts, nx_tensor *updates,
                       nxi_windows *w, nxi_diag *d) {
  int32_t dims = starts->rank - (n->index_vector_dim < starts->rank) + n->offset.n;
  if (updates) dims = updates->rank;
  if (!check_starts(n, starts, d) || !check_ranks(n, x, starts, dims, d) ||
      !check_lists(n, x->rank, starts->rank, dims, d) || !check_batches(n, x, starts, d) ||
      !find_sizes(n, x, updates, d))
    return false;
  *w = (nxi_windows){.op = n->op, .x = x, .rank = x->rank, .n_dims = dims, .bounds = n->bounds};
  memcpy(w->shape, nxi_shape(x), (size_t)x->rank * sizeof *w->shape);
  memcpy(w->size, n->size, (size_t)x->rank * sizeof *w->size);
  place_dims(n, starts, w);
  if (updates) return check_updates(n, x, updates, w, d);
  return !nxg_shape_check(NX_INVALID_ARGUMENT, n->op, dims, w->dims,
                          nxi_dtypes[x->storage->dtype].bits, NULL, d);
}

/* ---- starts */

/* Component i of the starts, in the shape of all dims. */
static nx_tensor *component(const nxi_numbers *n, nx_tensor *starts, int32_t i,
                            const nxi_windows *w) {
  nx_range ranges[NXG_MAX_RANK];
  int64_t shape[NXG_MAX_RANK];
  for (int32_t k = 0; k < starts->rank; k++) ranges[k] = (nx_range){NX_OPEN, NX_OPEN, 1};
  if (n->index_vector_dim < starts->rank) ranges[n->index_vector_dim] = (nx_range){i, i + 1, 1};
  for (int32_t k = 0; k < w->n_dims; k++) shape[k] = contains(&n->offset, k) ? 1 : w->dims[k];
  nx_tensor *part = nx_get(starts, ranges, (size_t)starts->rank);
  return part ? nx_reshape(part, shape, w->n_dims, NX_MAY_COPY) : NULL;
}

bool nxi_numbers_starts(const nxi_numbers *n, nx_tensor *starts, nxi_windows *w) {
  nx_dtype t = starts->storage->dtype;
  if (t == NX_U64) starts = nx_binary_i64(starts, NX_BINARY_MIN, INT64_MAX);
  if (t != NX_I32 && t != NX_I64)
    starts = starts ? nx_cast(starts, nxi_dtypes[t].bits < 32 ? NX_I32 : NX_I64) : NULL;
  for (int32_t i = 0; starts && i < n->map.n; i++)
    if (!(w->start[n->map.at[i]] = component(n, starts, i, w))) return false;
  return starts != NULL;
}

/* ---- gather */

static bool take_bounds(nxi_numbers *n, nx_bounds given, nx_bounds otherwise, nxi_diag *d) {
  if ((uint32_t)given > NX_BOUNDS_CHECK)
    return REFUSE(d, n->op, "%s: there are no bounds %d", n->op, (int)given);
  n->bounds = given ? given : otherwise;
  return true;
}

static bool take_gather(const nx_gather_numbers *given, const nx_tensor *x, nxi_numbers *n,
                        const nx_scalar **fill, nxi_diag *d) {
  nx_gather_numbers g = {0};
  *n = (nxi_numbers){.op = "gather_general"};
  if (!given) return REFUSE(d, n->op, "%s: the numbers are null", n->op);
  if (nxi_take(&g, given, sizeof g, "nx_gather_numbers", n->op, d)) return false;
  if (x->rank && !g.slice_sizes) return REFUSE(d, n->op, "%s: slice_sizes is null", n->op);
  n->index_vector_dim = g.index_vector_dim;
  if (x->rank) memcpy(n->size, g.slice_sizes, (size_t)x->rank * sizeof *n->size);
  if (g.fill) *fill = g.fill;
  return take_axes(n->op, "offset_dims", g.offset_dims, g.n_offset_dims, &n->offset, d) &&
         take_axes(n->op, "collapsed_slice_dims", g.collapsed_slice_dims, g.n_collapsed_dims,
                   &n->collapsed, d) &&
         take_axes(n->op, "operand_batching_dims", g.operand_batching_dims, g.n_batching_dims,
                   &n->operand_batching, d) &&
         take_axes(n->op, "start_indices_batching_dims", g.start_indices_batching_dims,
                   g.n_batching_dims, &n->index_batching, d) &&
         take_axes(n->op, "start_index_map", g.start_index_map, g.n_start_index_map, &n->map, d) &&
         take_bounds(n, g.bounds, NX_BOUNDS_CLAMP, d);
}

nx_tensor *nx_gather_general(nx_tensor *x, nx_tensor *starts, const nx_gather_numbers *numbers) {
  nx_tensor *t[2] = {x, starts}, *result = NULL;
  const nx_scalar *fill = NX_INTEGER(0);
  nxi_numbers n;
  nxi_windows w;
  nxi_scoped s;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_check_operands("gather_general", t, 2)) return NULL;
  if (!take_gather(numbers, x, &n, &fill, &d) || !nxi_numbers_check(&n, x, starts, NULL, &w, &d) ||
      nxi_common_device(n.op, t, 2, &d) < 0)
    return nxi_fail_null(&d);
  if (!nxi_scoped_begin(&s, x->context, NXI_COMPOSITE_gather_general)) return NULL;
  if (!nxg_elements(w.n_dims, w.dims))
    result = nx_full_i64(x->context, x->storage->device, x->storage->dtype, w.dims, w.n_dims, 0);
  else if (nxi_numbers_starts(&n, starts, &w)) result = nxi_windows_gather(&w, fill);
  return nxi_scoped_end(&s, result, false);
}

/* ---- scatter */

bool nxi_scatter_numbers(const char *op, const nx_scatter_numbers *given, nxi_numbers *n,
                         nxi_diag *d) {
  nx_scatter_numbers g = {0};
  *n = (nxi_numbers){.op = op, .scatters = true};
  if (!given) return REFUSE(d, op, "%s: the numbers are null", op);
  if (nxi_take(&g, given, sizeof g, "nx_scatter_numbers", op, d)) return false;
  n->index_vector_dim = g.index_vector_dim;
  return take_axes(op, "update_window_dims", g.update_window_dims, g.n_update_window_dims,
                   &n->offset, d) &&
         take_axes(op, "inserted_window_dims", g.inserted_window_dims, g.n_inserted_window_dims,
                   &n->collapsed, d) &&
         take_axes(op, "input_batching_dims", g.input_batching_dims, g.n_batching_dims,
                   &n->operand_batching, d) &&
         take_axes(op, "scatter_indices_batching_dims", g.scatter_indices_batching_dims,
                   g.n_batching_dims, &n->index_batching, d) &&
         take_axes(op, "scatter_dims_to_operand_dims", g.scatter_dims_to_operand_dims,
                   g.n_scatter_dims_to_operand_dims, &n->map, d) &&
         take_bounds(n, g.bounds, NX_BOUNDS_DROP, d);
}

static bool check_mode(const char *op, nx_dtype t, nx_scatter_mode mode, uint32_t flags,
                       nxi_diag *d) {
  if ((uint32_t)mode > NX_SCATTER_XOR)
    return REFUSE(d, op, "%s: there is no mode %lld", op, (long long)mode);
  bool rounds = nxi_scatter_takes_rounds(mode, t);
  const char *word = rounds ? NULL : nxi_scatter_refuses((nxi_scatter_mode)mode, t);
  if (!word) return nxi_check_flags(op, flags, NX_UNIQUE_INDICES, "NX_UNIQUE_INDICES", d);
  d->operand = 0;
  return !nxi_fail(d, NX_UNSUPPORTED_DTYPE, op, "%s: %s cannot be %s", op, nxi_dtypes[t].name,
                   word);
}

nx_tensor *nx_scatter_general(nx_tensor *x, nx_tensor *starts, nx_tensor *updates,
                              const nx_scatter_numbers *numbers, nx_scatter_mode mode,
                              uint32_t flags) {
  static const char op[] = "scatter_general";
  nx_tensor *t[3] = {x, starts, updates}, *result = NULL;
  nxi_numbers n;
  nxi_windows w;
  nxi_scoped s;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_check_operands(op, t, 3)) return NULL;
  if (!nxi_scatter_numbers(op, numbers, &n, &d) ||
      !nxi_numbers_check(&n, x, starts, updates, &w, &d) ||
      !check_mode(op, x->storage->dtype, mode, flags, &d) || nxi_common_device(op, t, 3, &d) < 0)
    return nxi_fail_null(&d);
  bool nothing = !x->elements || !updates->elements;
  if (nxi_scatter_takes_rounds(mode, x->storage->dtype) && !nothing)
    return nxi_scatter_general_complex(x, starts, updates, numbers, mode);
  if (!nxi_scoped_begin(&s, x->context, NXI_COMPOSITE_scatter_general)) return NULL;
  if (nothing) result = x;
  else if (nxi_numbers_starts(&n, starts, &w)) result = nxi_windows_scatter(&w, updates, mode);
  return nxi_scoped_end(&s, result, nothing);
}
