/* SPDX-License-Identifier: ISC */
/* Recording of linear algebra that library calls carry out. Floats smaller than f32 are cast to it,
 * and results cast back. */
#include "linalg.h"

#include <string.h>

#include "runtime/record/error.h"
#include "runtime/record/record.h"

nx_tensor *nxi_widened(nx_tensor *x, bool most) {
  nx_dtype t = x->storage->dtype;
  if (most && nxi_is_float(t) && t != NX_F64) return nx_cast(x, NX_F64);
  if (most && t == NX_C64) return nx_cast(x, NX_C128);
  if (nxi_is_small_float(t)) return nx_cast(x, NX_F32);
  return nx_tensor_retain(x);
}

nx_tensor *nxi_narrowed(nx_tensor *result, nx_dtype t) {
  if (!result || !nxi_is_small_float(t)) return result;
  nx_tensor *narrow = nx_cast(result, t);
  nx_tensor_release(result);
  return narrow;
}

static nx_tensor *record_one(nxg_op op, nx_tensor *a, const int64_t *attrs, uint32_t n_attrs) {
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_operand o = nxi_operand_of(a);
  return nxi_record_inferred(op, &o, 1, attrs, n_attrs, &d);
}

/* What becomes of the operand and of the result. */
enum { WIDEST = 1 /* f64 or c128 */, NARROW = 2 /* the operand's dtype */ };

/* Operations with one matrix and one result. */
static nx_tensor *unary(nxg_op op, nx_tensor *a, int how, const int64_t *attrs, uint32_t n_attrs) {
  if (!nxi_have_tensor(nxg_ops[op].name, 0, a)) return NULL;
  uint16_t outer = nxi_called_begin(op);
  nx_tensor *wide = nxi_widened(a, how & WIDEST), *result = NULL;
  if (wide) result = record_one(op, wide, attrs, n_attrs);
  if (how & NARROW) result = nxi_narrowed(result, a->storage->dtype);
  nx_tensor_release(wide);
  nxi_called_end(outer);
  return result;
}

nx_tensor *nx_cholesky(nx_tensor *a, bool upper) {
  int64_t attrs[1] = {upper};
  return unary(NXG_cholesky, a, NARROW, attrs, 1);
}

nx_tensor *nx_eigvalsh(nx_tensor *a) { return unary(NXG_eigvalsh, a, 0, NULL, 0); }
nx_tensor *nx_eigvals(nx_tensor *a) { return unary(NXG_eigvals, a, WIDEST, NULL, 0); }
nx_tensor *nx_inv(nx_tensor *a) { return unary(NXG_inv, a, NARROW, NULL, 0); }
nx_tensor *nx_det(nx_tensor *a) { return unary(NXG_det, a, NARROW, NULL, 0); }

/* ---- several results. attrs: those of the operation, and room for the number of the result;
 * narrow: results that have the operand's dtype */

static nx_status several(nxg_op op, nx_tensor *a, bool most, int64_t *attrs, uint32_t n_attrs,
                         uint32_t narrow, nx_tensor **const out[NXG_CALL_RESULTS]) {
  nx_tensor *made[NXG_CALL_RESULTS] = {NULL};
  uint32_t n = nxg_call_results(op);
  if (!nxi_have_tensor(nxg_ops[op].name, 0, a)) return NX_INVALID_ARGUMENT;
  uint16_t outer = nxi_called_begin(op);
  nx_tensor *wide = nxi_widened(a, most);
  bool good = wide != NULL;
  for (uint32_t i = 0; good && i < n; i++) {
    attrs[n_attrs] = i;
    made[i] = record_one(op, wide, attrs, n_attrs + 1);
    if (made[i] && narrow >> i & 1) made[i] = nxi_narrowed(made[i], a->storage->dtype);
    good = made[i] != NULL;
  }
  nx_tensor_release(wide);
  nxi_called_end(outer);
  for (uint32_t i = 0; i < n; i++) {
    if (good && out[i]) *out[i] = made[i];
    else nx_tensor_release(made[i]);
  }
  return good ? NX_OK : nxi_error_status();
}

nx_status nx_qr(nx_tensor *a, bool reduced, nx_tensor **q, nx_tensor **r) {
  int64_t attrs[2] = {reduced, 0};
  return several(NXG_qr, a, false, attrs, 1, 3, (nx_tensor * *const[NXG_CALL_RESULTS]){q, r});
}

nx_status nx_svd(nx_tensor *a, bool full, nx_tensor **u, nx_tensor **s, nx_tensor **vh) {
  int64_t attrs[2] = {full, 0};
  return several(NXG_svd, a, false, attrs, 1, 5, (nx_tensor * *const[NXG_CALL_RESULTS]){u, s, vh});
}

nx_status nx_eigh(nx_tensor *a, nx_tensor **values, nx_tensor **vectors) {
  int64_t attrs[1] = {0};
  return several(NXG_eigh, a, false, attrs, 0, 2,
                 (nx_tensor * *const[NXG_CALL_RESULTS]){values, vectors});
}

nx_status nx_eig(nx_tensor *a, nx_tensor **values, nx_tensor **vectors) {
  int64_t attrs[1] = {0};
  return several(NXG_eig, a, true, attrs, 0, 0,
                 (nx_tensor * *const[NXG_CALL_RESULTS]){values, vectors});
}

nx_status nx_slogdet(nx_tensor *a, nx_tensor **sign, nx_tensor **log) {
  int64_t attrs[1] = {0};
  return several(NXG_slogdet, a, false, attrs, 0, 3,
                 (nx_tensor * *const[NXG_CALL_RESULTS]){sign, log});
}

/* ---- A x = b */

nx_tensor *nxi_as_columns(const nx_tensor *a, nx_tensor *b, bool *vector) {
  int64_t shape[NXG_MAX_RANK];
  *vector = b->rank + 1 == a->rank && b->rank > 0;
  if (!*vector) return nx_tensor_retain(b);
  memcpy(shape, nxi_shape(b), b->rank * sizeof *shape);
  shape[b->rank] = 1;
  return nx_reshape(b, b->rank + 1, shape);
}

bool nxi_check_matrices(const char *op, nx_tensor *const *t, uint32_t n) {
  nxi_diag d;
  nxi_diag_clear(&d);
  for (uint32_t i = 0; i < n && !d.status; i++) {
    nx_dtype is = t[i]->storage->dtype, first = t[0]->storage->dtype;
    if (!nxi_is_float(is) && is != NX_C64 && is != NX_C128)
      nxi_fail(&d, NX_UNSUPPORTED_DTYPE, op,
               "%s: operand %u has dtype %s, which the operation does not admit", op, i,
               nx_dtype_name(is));
    else if (is != first)
      nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: operand %u has dtype %s, operand 0 has %s", op, i,
               nx_dtype_name(is), nx_dtype_name(first));
    d.operand = (int32_t)i;
  }
  if (!d.status && t[0]->rank < 2) {
    char shape[NXG_SHAPE_TEXT];
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: operand 0 of shape %s is no matrix", op,
             nxg_format_shape(shape, t[0]->rank, nxi_shape(t[0])));
    d.operand = 0;
  }
  if (d.status) nxi_fail_null(&d);
  return !d.status;
}

bool nxi_is_right_side(const char *name, nx_tensor *a, nx_tensor *b) {
  nxi_diag d;
  char left[NXG_SHAPE_TEXT], right[NXG_SHAPE_TEXT];
  nx_tensor *both[2] = {a, b};
  bool vector = b->rank + 1 == a->rank;
  int32_t keep = vector ? 1 : 2, lead_rank;
  int64_t lead[NXG_MAX_RANK];
  nxi_diag_clear(&d);
  nxg_format_shape(left, a->rank, nxi_shape(a));
  nxg_format_shape(right, b->rank, nxi_shape(b));
  if (b->rank < keep || nxi_shape(b)[b->rank - keep] != nxi_shape(a)[a->rank - 2])
    nxi_fail(&d, NX_INVALID_ARGUMENT, name,
             "%s: operand 1 of shape %s is no right side for the rows of operand 0 of shape %s",
             name, right, left);
  else if (nxg_broadcast(name, a->rank - 2, nxi_shape(a), b->rank - keep, nxi_shape(b), &lead_rank,
                         lead, &d)) {
    nxi_diag_clear(&d);
    nxi_fail(&d, NX_INVALID_ARGUMENT, name,
             "%s: the leading extents of the shapes %s and %s do not broadcast together", name,
             left, right);
  } else if (nxi_common_device(name, both, 2, &d) >= 0) {
    return true;
  }
  d.operand = 1;
  nxi_fail_null(&d);
  return false;
}

nx_tensor *nxi_without_column(nx_tensor *x, bool vector) {
  if (!x || !vector) return x;
  nx_tensor *result = nx_reshape(x, x->rank - 1, nxi_shape(x));
  nx_tensor_release(x);
  return result;
}

static nx_tensor *solve(nxg_op op, nx_tensor *a, nx_tensor *b, const int64_t *attrs,
                        uint32_t n_attrs) {
  nx_tensor *both[2] = {a, b}, *x = NULL;
  bool vector = false;
  const char *name = nxg_ops[op].name;
  if (!nxi_check_operands(name, both, 2) || !nxi_check_matrices(name, both, 2) ||
      !nxi_is_right_side(name, a, b))
    return NULL;
  uint16_t outer = nxi_called_begin(op);
  nx_tensor *columns = nxi_as_columns(a, b, &vector), *wide = nxi_widened(a, false),
            *right = columns ? nxi_widened(columns, false) : NULL;
  if (wide && right) x = nxi_record_leading(op, wide, right, 2, attrs, n_attrs);
  nx_tensor_release(columns);
  nx_tensor_release(wide);
  nx_tensor_release(right);
  x = nxi_without_column(nxi_narrowed(x, a->storage->dtype), vector);
  nxi_called_end(outer);
  return x;
}

nx_tensor *nx_triangular_solve(nx_tensor *a, nx_tensor *b, bool upper, bool transpose,
                               bool unit_diag) {
  int64_t attrs[3] = {upper, transpose, unit_diag};
  return solve(NXG_triangular_solve, a, b, attrs, 3);
}

nx_tensor *nx_solve(nx_tensor *a, nx_tensor *b) { return solve(NXG_solve, a, b, NULL, 0); }
