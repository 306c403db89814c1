/* SPDX-License-Identifier: ISC */
/* Gathers, scatters and dynamic slices. */
#include "record.h"

#include <string.h>

#include "ir/dtype.h"

bool nxh_gather_of(nxh_recorder *r, const nxh_op *op, const int64_t *sizes) {
  int32_t offset[NX_MAX_RANK], collapsed[NX_MAX_RANK], batch[NX_MAX_RANK], start_batch[NX_MAX_RANK],
      map[NX_MAX_RANK];
  uint32_t n_offset, n_collapsed, n_batch, n_start_batch, n_map;
  nx_tensor *x = nxh_in(r, op, 0), *starts = x != NULL ? nxh_in(r, op, 1) : NULL;
  if (starts == NULL || !nxh_axes(r, op, "offset_dims", offset, &n_offset) ||
      !nxh_axes(r, op, "collapsed_slice_dims", collapsed, &n_collapsed) ||
      !nxh_axes(r, op, "operand_batching_dims", batch, &n_batch) ||
      !nxh_axes(r, op, "start_indices_batching_dims", start_batch, &n_start_batch) ||
      !nxh_axes(r, op, "start_index_map", map, &n_map))
    return false;
  if (n_batch != n_start_batch)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u and %u batching dimensions", n_batch,
                    n_start_batch);
  nx_gather_numbers numbers = {.size = sizeof numbers,
                               .n_offset_dims = (int32_t)n_offset,
                               .n_collapsed_dims = (int32_t)n_collapsed,
                               .n_batching_dims = (int32_t)n_batch,
                               .n_start_index_map = (int32_t)n_map,
                               .offset_dims = offset,
                               .collapsed_slice_dims = collapsed,
                               .operand_batching_dims = batch,
                               .start_indices_batching_dims = start_batch,
                               .start_index_map = map,
                               .slice_sizes = sizes,
                               .index_vector_dim = nxh_axis(op, "index_vector_dim", 0)};
  return nxh_set(r, op, 0, nx_gather_general(x, starts, &numbers));
}

bool nxh_gather(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  int64_t sizes[NX_MAX_RANK];
  nx_tensor *x = nxh_in(r, op, 0);
  return x != NULL && nxh_need_integers(r, op, "slice_sizes", sizes, (uint32_t)nx_rank(x)) &&
         nxh_gather_of(r, op, sizes);
}

/* Slices of an axis, at indices that take its place; the first axes of both may be a batch. */
bool nxh_index_select(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor *x = nxh_in(r, op, 0), *at = x != NULL ? nxh_in(r, op, 1) : NULL;
  int64_t dim = nxh_integer(op, "dim", 0), n = nxh_integer(op, "batch_dims", 0);
  int64_t sizes[NX_MAX_RANK];
  int32_t offset[NX_MAX_RANK], batch[NX_MAX_RANK], one[1];
  if (at == NULL) return false;
  int32_t rank = nx_rank(x), new = nx_rank(at) - (int32_t)n, moved = 0;
  if (n < 0 || n > nx_rank(at) || dim < n || dim >= rank || rank + new - 1 > NX_MAX_RANK)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "dim or batch_dims is out of range");
  for (int32_t i = 0; i < rank; i++) {
    bool whole = i != dim && i >= n;
    sizes[i] = whole ? nx_shape(x)[i] : 1;
    if (whole) offset[moved++] = i < dim ? i : i - 1 + new;
    if (i < n) batch[i] = i;
  }
  one[0] = (int32_t)dim;
  nx_gather_numbers numbers = {.size = sizeof numbers,
                               .n_offset_dims = moved,
                               .n_collapsed_dims = 1,
                               .n_batching_dims = (int32_t)n,
                               .n_start_index_map = 1,
                               .offset_dims = offset,
                               .collapsed_slice_dims = one,
                               .operand_batching_dims = batch,
                               .start_indices_batching_dims = batch,
                               .start_index_map = one,
                               .slice_sizes = sizes,
                               .index_vector_dim = nx_rank(at)};
  return nxh_set(r, op, 0, nx_gather_general(x, at, &numbers));
}

/* ---- scatter */

typedef struct scatter_lists {
  int32_t window[NX_MAX_RANK], inserted[NX_MAX_RANK], batch[NX_MAX_RANK], index_batch[NX_MAX_RANK],
      map[NX_MAX_RANK];
} scatter_lists;

static bool take_numbers(nxh_recorder *r, const nxh_op *op, scatter_lists *l,
                         nx_scatter_numbers *out) {
  uint32_t n_window, n_inserted, n_batch, n_index_batch, n_map;
  if (!nxh_axes(r, op, "update_window_dims", l->window, &n_window) ||
      !nxh_axes(r, op, "inserted_window_dims", l->inserted, &n_inserted) ||
      !nxh_axes(r, op, "input_batching_dims", l->batch, &n_batch) ||
      !nxh_axes(r, op, "scatter_indices_batching_dims", l->index_batch, &n_index_batch) ||
      !nxh_axes(r, op, "scatter_dims_to_operand_dims", l->map, &n_map))
    return false;
  if (n_batch != n_index_batch)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u and %u batching dimensions", n_batch,
                    n_index_batch);
  *out = (nx_scatter_numbers){.size = sizeof *out,
                              .n_update_window_dims = (int32_t)n_window,
                              .n_inserted_window_dims = (int32_t)n_inserted,
                              .n_batching_dims = (int32_t)n_batch,
                              .n_scatter_dims_to_operand_dims = (int32_t)n_map,
                              .update_window_dims = l->window,
                              .inserted_window_dims = l->inserted,
                              .input_batching_dims = l->batch,
                              .scatter_indices_batching_dims = l->index_batch,
                              .scatter_dims_to_operand_dims = l->map,
                              .index_vector_dim = nxh_axis(op, "index_vector_dim", 0)};
  return true;
}

/* What the region does with an element (argument 0) and an update (1); -1: something else. */
static int mode_of(const nxh_recorder *r, const nxh_region *region, nx_dtype dtype) {
  static const struct {
    const char *name;
    nx_scatter_mode mode, logical;
  } modes[] = {
      {"stablehlo.add", NX_SCATTER_ADD, NX_SCATTER_OR},
      {"stablehlo.multiply", NX_SCATTER_MUL, NX_SCATTER_AND},
      {"stablehlo.minimum", NX_SCATTER_MIN, NX_SCATTER_AND},
      {"stablehlo.maximum", NX_SCATTER_MAX, NX_SCATTER_OR},
      {"stablehlo.and", NX_SCATTER_AND, NX_SCATTER_AND},
      {"stablehlo.or", NX_SCATTER_OR, NX_SCATTER_OR},
      {"stablehlo.xor", NX_SCATTER_XOR, NX_SCATTER_XOR},
  };
  const nxh_op *op = nxh_single_op(r, region), *last = nxh_last(region);
  if (region->n_ops == 1 && last != NULL && last->n_operands == 1 &&
      last->operands[0] == region->first + 1)
    return NX_SCATTER_SET;
  for (size_t i = 0; op != NULL && i < sizeof modes / sizeof *modes; i++)
    if (nxh_word_is(op->name, modes[i].name))
      return (int)(dtype == NX_BOOL ? modes[i].logical : modes[i].mode);
  return -1;
}

/* XLA takes one window after the other, and the library updates in C order: so axes of windows are
 * brought behind the others. Lists that are wrong stay, and are refused later. */
static bool windows_last(nxh_recorder *r, nx_tensor **updates, uint32_t n, scatter_lists *l,
                         int32_t n_window) {
  int32_t order[NX_MAX_RANK], rank = nx_rank(updates[0]), used = 0;
  for (int32_t k = 0; k < n_window; k++)
    if (l->window[k] >= rank || (k > 0 && l->window[k] <= l->window[k - 1])) return true;
  for (int32_t i = 0, k = 0; i < rank; i++) {
    if (k < n_window && l->window[k] == i) k++;
    else order[used++] = i;
  }
  for (int32_t k = 0; k < n_window; k++) order[used + k] = l->window[k];
  for (uint32_t i = 0; i < n; i++) {
    if (nx_rank(updates[i]) != rank)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "updates of ranks %d and %d", rank,
                      nx_rank(updates[i]));
    if ((updates[i] = nx_permute(updates[i], order, (size_t)rank)) == NULL) return false;
  }
  for (int32_t k = 0; k < n_window; k++) l->window[k] = used + k;
  return true;
}

/* Several operands, or a region that is no mode: by the region as a function. */
static bool scatter_by(nxh_recorder *r, const nxh_op *op, uint32_t n, scatter_lists *lists,
                       const nx_scatter_numbers *numbers) {
  nx_tensor *x[NXH_MOST_OPERANDS], *updates[NXH_MOST_OPERANDS], *out[NXH_MOST_OPERANDS] = {NULL};
  nx_tensor *starts = nxh_in(r, op, n);
  for (uint32_t i = 0; i < n; i++)
    if ((x[i] = nxh_in(r, op, i)) == NULL || (updates[i] = nxh_in(r, op, n + 1 + i)) == NULL)
      return false;
  if (!windows_last(r, updates, n, lists, numbers->n_update_window_dims)) return false;
  nx_function *f = nxh_scalar_function(r, &op->regions[0]);
  if (f == NULL) return false;
  bool ok = nx_scatter_by(f, x, updates, n, starts, numbers, out, n) == NX_OK;
  nx_function_release(f);
  for (uint32_t i = 0; ok && i < n; i++) ok = nxh_set(r, op, i, out[i]);
  return ok;
}

/* One operand by a mode. NULL: a failure. */
static nx_tensor *scatter_one(nxh_recorder *r, const nxh_op *op, nx_tensor *x, nx_tensor *starts,
                              nx_tensor *updates, scatter_lists *lists,
                              const nx_scatter_numbers *numbers, nx_scatter_mode mode) {
  uint32_t flags = nxh_flag(op, "unique_indices") ? NX_UNIQUE_INDICES : 0;
  if (x == NULL || starts == NULL || updates == NULL ||
      !windows_last(r, &updates, 1, lists, numbers->n_update_window_dims))
    return NULL;
  return nx_scatter_general(x, starts, updates, numbers, mode, flags);
}

bool nxh_scatter(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  scatter_lists lists;
  nx_scatter_numbers numbers = {0};
  uint32_t n = op->n_operands / 2;
  if (op->n_operands % 2 == 0 || n == 0 || n > NXH_MOST_OPERANDS || op->n_regions != 1)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands and %u regions", op->n_operands,
                    op->n_regions);
  nx_tensor *x = nxh_in(r, op, 0), *starts = x != NULL ? nxh_in(r, op, n) : NULL;
  if (starts == NULL || !take_numbers(r, op, &lists, &numbers)) return false;
  int mode = n == 1 ? mode_of(r, &op->regions[0], nx_dtype_of(x)) : -1;
  if (mode < 0) return scatter_by(r, op, n, &lists, &numbers);
  nx_tensor *updates = nxh_in(r, op, 2);
  nx_tensor *y = scatter_one(r, op, x, starts, updates, &lists, &numbers, (nx_scatter_mode)mode);
  return nxh_set(r, op, 0, y);
}

nx_tensor *nxh_scatter_sum(nxh_recorder *r, const nxh_op *op, nx_tensor *x, nx_tensor *starts,
                           nx_tensor *updates) {
  scatter_lists lists;
  nx_scatter_numbers numbers = {0};
  if (!take_numbers(r, op, &lists, &numbers)) return NULL;
  return scatter_one(r, op, x, starts, updates, &lists, &numbers, NX_SCATTER_ADD);
}

/* ---- dynamic slices */

/* Starts of any integers, as i32 or i64; u64 beyond 2^63 counts as the largest i64. */
static bool take_starts(nxh_recorder *r, const nxh_op *op, uint32_t from, uint32_t n,
                        nx_tensor **out) {
  if (op->n_operands != from + n || n > NX_MAX_RANK)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u starts for rank %u", op->n_operands - from, n);
  for (uint32_t i = 0; i < n; i++) {
    nx_tensor *t = nxh_in(r, op, from + i);
    if (t == NULL) return false;
    nx_dtype dtype = nx_dtype_of(t);
    nx_scalar most = {NX_SCALAR_I64, {.i = INT64_MAX}};
    if (dtype == NX_U64) t = nx_min(t, nx_full(r->c, r->device, NX_U64, NULL, 0, &most));
    out[i] = dtype == NX_I32 || dtype == NX_I64 ? t : nx_cast(t, NX_I64);
  }
  return true;
}

bool nxh_dynamic_slice(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor *starts[NX_MAX_RANK], *x = nxh_in(r, op, 0);
  int64_t sizes[NX_MAX_RANK];
  uint32_t n = x != NULL ? (uint32_t)nx_rank(x) : 0;
  return x != NULL && take_starts(r, op, 1, n, starts) &&
         nxh_need_integers(r, op, "slice_sizes", sizes, n) &&
         nxh_set(r, op, 0, nx_dynamic_slice(x, starts, sizes, n));
}

bool nxh_dynamic_update(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor *starts[NX_MAX_RANK], *x = nxh_in(r, op, 0),
                                  *update = x != NULL ? nxh_in(r, op, 1) : NULL;
  uint32_t n = update != NULL ? (uint32_t)nx_rank(x) : 0;
  return update != NULL && take_starts(r, op, 2, n, starts) &&
         nxh_set(r, op, 0, nx_dynamic_update_slice(x, update, starts, n));
}
