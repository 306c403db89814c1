/* SPDX-License-Identifier: ISC */
/* scan_by: a combiner that is one operation of the library's own scans becomes that. Any other one
 * goes through groups of eight neighbours, each scanned one element after the other; the totals of
 * the groups are scanned likewise, and what stands before a group is combined with its elements
 * from the left. Two kernels for each level: about four times the axis is read and written. */
#include <string.h>

#include "body.h"

enum { GROUP = 8 };

/* ---- recognised */

static nxg_op scan_of(nxg_op op, nx_dtype dtype) {
  nxg_op scan = op == NXG_add   ? NXG_scan_sum
                : op == NXG_mul ? NXG_scan_prod
                : op == NXG_max ? NXG_scan_max
                : op == NXG_min ? NXG_scan_min
                                : NXG_OP_COUNT;
  return scan != NXG_OP_COUNT && nxg_op_admits(scan, dtype) ? scan : NXG_OP_COUNT;
}

static bool all_recognised(const nxi_by *by) {
  for (uint32_t j = 0; j < by->k; j++)
    if (scan_of(nxi_body_plain(by->f, j), by->x[j]->storage->dtype) == NXG_OP_COUNT) return false;
  return true;
}

static bool scan_recognised(const nxi_by *by, int32_t axis, nxi_row *x) {
  for (uint32_t j = 0; j < by->k; j++) {
    nxg_op scan = scan_of(nxi_body_plain(by->f, j), by->x[j]->storage->dtype);
    x->at[j] = nx_associative_scan(x->at[j], (nx_scan_op)(scan - NXG_scan_sum), axis);
    if (!x->at[j]) return false;
  }
  return true;
}

/* ---- pieces */

/* Zeros before and behind an axis; nothing reads what comes of them. */
static nx_tensor *padded(nx_tensor *x, int32_t axis, int64_t before, int64_t after) {
  int64_t b[NXG_MAX_RANK] = {0}, a[NXG_MAX_RANK] = {0};
  if (!x) return NULL;
  b[axis] = before;
  a[axis] = after;
  return nx_pad(x, b, a, x->rank, NX_INTEGER(0));
}

/* The elements before each one; of the first one anything. */
static nx_tensor *shifted(nx_tensor *x, int32_t axis) {
  return padded(nxi_part(x, axis, 0, nxi_shape(x)[axis] - 1, 1), axis, 1, 0);
}

/* Whether an element is not the first one of an axis of n, in the shape of x. */
static nx_tensor *behind_first(nx_tensor *x, int32_t axis, int64_t n) {
  int64_t shape[NXG_MAX_RANK];
  nx_tensor *count =
                nx_arange(x->context, x->storage->device, NX_I64, NX_INTEGER(0), NX_INTEGER(1), n),
            *behind = nx_binary_i64(count, NX_BINARY_CMPGT, 0);
  for (int32_t i = 0; i < x->rank; i++) shape[i] = i == axis ? n : 1;
  nx_tensor *column = nx_reshape(behind, shape, x->rank, 0);
  return column ? nx_expand(column, nxi_shape(x), x->rank) : NULL;
}

/* The n parts side by side along a new axis behind `axis`, which then are one axis. */
static nx_tensor *interleaved(nx_tensor *const *parts, uint32_t n, int32_t axis) {
  nx_tensor *columns[GROUP];
  int64_t shape[NXG_MAX_RANK + 1];
  int32_t rank = parts[0]->rank; /* NOLINT: n >= 1 */
  memcpy(shape, nxi_shape(parts[0]), (size_t)rank * sizeof *shape);
  memmove(shape + axis + 2, shape + axis + 1, (size_t)(rank - axis - 1) * sizeof *shape);
  shape[axis + 1] = 1;
  for (uint32_t i = 0; i < n; i++)
    if (!(columns[i] = nx_reshape(parts[i], shape, rank + 1, NX_MAY_COPY))) return NULL;
  nx_tensor *all = nx_cat(columns, n, axis + 1);
  memcpy(shape, nxi_shape(parts[0]), (size_t)rank * sizeof *shape);
  shape[axis] *= n;
  return all ? nx_reshape(all, shape, rank, 0) : NULL;
}

/* ---- all others */

/* The first n <= GROUP elements of each group, scanned: rows of the elements 0, 1, .. */
static bool scan_groups(nxi_body *b, const nxi_row *x, int32_t axis, uint32_t n, nxi_row *rows) {
  int64_t extent = nxi_shape(x->at[0])[axis]; /* NOLINT: one operand at least */
  for (uint32_t j = 0; j < n; j++) {
    for (uint32_t i = 0; i < b->k; i++)
      if (!(rows[j].at[i] = nxi_part(x->at[i], axis, j, extent, n))) return false;
    if (j && !nxi_body_combine(b, &rows[j - 1], &rows[j], &rows[j])) return false;
  }
  return true;
}

static bool join_rows(nxi_body *b, nxi_row *rows, uint32_t n, int32_t axis, nxi_row *out) {
  nx_tensor *parts[GROUP] = {NULL};
  for (uint32_t i = 0; i < b->k; i++) {
    for (uint32_t j = 0; j < n; j++) parts[j] = rows[j].at[i];
    if (!(out->at[i] = interleaved(parts, n, axis))) return false;
  }
  return true;
}

/* x, of whose first element along axis f(before, x) does not hold. */
static bool combine_behind(nxi_body *b, const nxi_row *before, nx_tensor *behind, nxi_row *x) {
  nxi_row both = {0};
  if (!nxi_body_combine(b, before, x, &both)) return false;
  for (uint32_t i = 0; i < b->k; i++)
    if (!(x->at[i] = nx_where(behind, both.at[i], x->at[i]))) return false;
  return true;
}

bool nxi_scan_axis(nxi_body *b, nxi_row *x, int32_t axis) { // NOLINT(misc-no-recursion): 22 deep
  int64_t n = nxi_shape(x->at[0])[axis], groups = (n - 1) / GROUP + 1;
  nxi_row rows[GROUP] = {0}, before;
  if (n <= GROUP)
    return scan_groups(b, x, axis, (uint32_t)n, rows) && join_rows(b, rows, (uint32_t)n, axis, x);
  for (uint32_t i = 0; n % GROUP && i < b->k; i++)
    if (!(x->at[i] = padded(x->at[i], axis, 0, groups * GROUP - n))) return false;
  if (!scan_groups(b, x, axis, GROUP, rows)) return false;
  before = rows[GROUP - 1];
  if (!nxi_scan_axis(b, &before, axis)) return false;
  nx_tensor *behind = behind_first(rows[0].at[0], axis, groups);
  if (!behind) return false;
  for (uint32_t i = 0; i < b->k; i++)
    if (!(before.at[i] = shifted(before.at[i], axis))) return false;
  for (uint32_t j = 0; j < GROUP; j++)
    if (!combine_behind(b, &before, behind, &rows[j])) return false;
  if (!join_rows(b, rows, GROUP, axis, x)) return false;
  for (uint32_t i = 0; n % GROUP && i < b->k; i++)
    if (!(x->at[i] = nxi_part(x->at[i], axis, 0, n, 1))) return false;
  return true;
}

/* ---- what the caller asks for */

static bool turned(nxi_row *x, size_t k, int32_t axis) {
  for (size_t i = 0; i < k; i++)
    if (!(x->at[i] = nx_flip(x->at[i], &axis, 1))) return false;
  return true;
}

/* The results moved one place on, the initial value before them, and combined with it. */
static bool with_init(const nxi_by *by, nxi_body *b, int32_t axis, bool exclusive, nxi_row *x) {
  nxi_row init = {0};
  nx_tensor *first = x->at[0];
  if (!nxi_init_rows(by, first->rank, nxi_shape(first), &init)) return false;
  if (!exclusive) return nxi_body_combine(b, &init, x, x);
  nx_tensor *behind = behind_first(first, axis, nxi_shape(first)[axis]);
  for (size_t i = 0; i < by->k; i++)
    if (!(x->at[i] = shifted(x->at[i], axis))) return false;
  if (!behind || !nxi_body_combine(b, &init, x, x)) return false;
  for (size_t i = 0; i < by->k; i++)
    if (!(x->at[i] = nx_where(behind, x->at[i], init.at[i]))) return false;
  return true;
}

static bool scan(const nxi_by *by, nxi_body *b, int32_t axis, uint32_t flags, nxi_row *x) {
  for (size_t i = 0; i < by->k; i++) x->at[i] = by->x[i];
  if (x->at[0]->elements == 0) return true; /* NOLINT: one operand at least */
  if ((flags & NX_REVERSE) && !turned(x, by->k, axis)) return false;
  bool good = all_recognised(by) ? scan_recognised(by, axis, x) : nxi_scan_axis(b, x, axis);
  if (good && by->init) good = with_init(by, b, axis, flags & NX_EXCLUSIVE, x);
  return good && (!(flags & NX_REVERSE) || turned(x, by->k, axis));
}

nx_status nx_scan_by(nx_function *f, nx_tensor *const *x, nx_tensor *const *init, size_t n_in,
                     int32_t axis, uint32_t flags, nx_tensor **out, size_t n_out) {
  nxi_by by = {"scan_by", f, x, init, n_in, n_out, out, 0, false};
  nxi_body b;
  nxi_row r = {0};
  nxi_diag d;
  int64_t at = 0;
  nxi_diag_clear(&d);
  if (!nxi_by_check(&by)) return nxi_error_status();
  if (!nxi_check_flags(by.op, flags, NX_REVERSE | NX_EXCLUSIVE, "NX_REVERSE and NX_EXCLUSIVE",
                       &d) ||
      !nxi_one_axis(by.op, x[0], axis, &at, &d))
    return nxi_error_report(&d);
  if ((flags & NX_EXCLUSIVE) && !init)
    nxi_fail(&d, NX_INVALID_ARGUMENT, by.op,
             "%s: without initial values there is no element before the first", by.op);
  if (x[0]->rank == NXG_MAX_RANK)
    nxi_fail(&d, NX_INVALID_ARGUMENT, by.op, "%s: operands of rank %d, and one axis on the way",
             by.op, NXG_MAX_RANK);
  if (d.status) return nxi_error_report(&d);
  if (!nxi_body_begin(&b, NXI_COMPOSITE_scan_by, f, by.device)) return nxi_error_status();
  bool good = scan(&by, &b, (int32_t)at, flags, &r);
  return nxi_body_end(&b, good, r.at, out, n_in);
}
