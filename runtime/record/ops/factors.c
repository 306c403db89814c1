/* SPDX-License-Identifier: ISC */
/* Factors in LAPACK's packed forms, what is computed from them, and compositions of them:
 * lu_solve, householder_product, ormqr, qr_pivoted, lstsq_qr. */
#include <string.h>

#include "compose.h"
#include "linalg.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

bool nxi_known_flags(const char *op, uint32_t flags, uint32_t known, const char *names) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxi_check_flags(op, flags, known, names, &d)) return true;
  nxi_fail_null(&d);
  return false;
}

nx_tensor *nxi_record_matrices(nxg_op op, nx_tensor *const *t, uint32_t n, const int64_t *attrs,
                               uint32_t n_attrs) {
  const char *name = nxg_ops[op].name;
  nx_tensor *wide[NXG_CALL_OPERANDS] = {NULL}, *result = NULL;
  nxi_operand o[NXG_CALL_OPERANDS];
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_check_operands(name, t, n) || !nxi_check_matrices(name, t, n)) return NULL;
  const uint16_t outer = nxi_called_begin(op);
  bool good = true;
  for (uint32_t i = 0; i < n && good; i++) {
    wide[i] = nxi_widened(t[i], false);
    good = wide[i] != NULL;
    if (good) o[i] = nxi_operand_of(wide[i]);
  }
  if (good) result = nxi_record_inferred(op, o, n, attrs, n_attrs, &d);
  for (uint32_t i = 0; i < n; i++) nx_tensor_release(wide[i]);
  result = nxi_narrowed(result, t[0]->storage->dtype);
  nxi_called_end(outer);
  return result;
}

nx_tensor *nx_householder_product(nx_tensor *a, nx_tensor *tau) {
  nx_tensor *both[2] = {a, tau};
  return nxi_record_matrices(NXG_householder_product, both, 2, NULL, 0);
}

nx_tensor *nx_ormqr(nx_tensor *a, nx_tensor *tau, nx_tensor *c, uint32_t flags) {
  nx_tensor *all[3] = {a, tau, c};
  const int64_t attrs[2] = {!!(flags & NX_ADJOINT), !!(flags & NX_FROM_RIGHT)};
  if (!nxi_check_operands("ormqr", all, 3) ||
      !nxi_known_flags("ormqr", flags, NX_ADJOINT | NX_FROM_RIGHT, "NX_ADJOINT and NX_FROM_RIGHT"))
    return NULL;
  return nxi_record_matrices(NXG_ormqr, all, 3, attrs, 2);
}

/* ---- solving by LU factors */

static bool check_lu_solve(nx_tensor *lu, nx_tensor *permutation, nx_tensor *b, uint32_t flags) {
  char shape[NXG_SHAPE_TEXT], order[NXG_SHAPE_TEXT];
  nx_tensor *all[3] = {lu, permutation, b}, *both[2] = {lu, b};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_check_operands("lu_solve", all, 3) ||
      !nxi_known_flags("lu_solve", flags,
                       NX_TRANSPOSED | NX_ADJOINT | NX_VECTORS | NX_NAN_ON_FAILURE,
                       "NX_TRANSPOSED, NX_ADJOINT, NX_VECTORS and NX_NAN_ON_FAILURE") ||
      !nxi_check_matrices("lu_solve", both, 2))
    return false;
  const int64_t *s = nxi_shape(lu) + lu->rank - 2;
  const nx_dtype t = permutation->storage->dtype;
  nxg_format_shape(shape, lu->rank, nxi_shape(lu));
  nxg_format_shape(order, permutation->rank, nxi_shape(permutation));
  if (flags & NX_TRANSPOSED && flags & NX_ADJOINT) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, "lu_solve",
             "lu_solve: the flags hold both NX_TRANSPOSED and NX_ADJOINT");
  } else if (s[0] != s[1]) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, "lu_solve", "lu_solve: operand 0 of shape %s is not square",
             shape);
    d.operand = 0;
  } else if (t != NX_I32 && t != NX_I64) {
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, "lu_solve",
             "lu_solve: the permutation has dtype %s, neither i32 nor i64", nx_dtype_name(t));
    d.operand = 1;
  } else if (permutation->rank != lu->rank - 1 ||
             memcmp(nxi_shape(permutation), nxi_shape(lu), (size_t)permutation->rank * sizeof *s) !=
                 0) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, "lu_solve",
             "lu_solve: the permutation of shape %s is none of the rows of operand 0 of shape %s",
             order, shape);
    d.operand = 1;
  }
  if (d.status) nxi_fail_null(&d);
  return !d.status && nxi_is_side("lu_solve", lu, b, nxi_is_vector(b, flags), false);
}

/* Row order[i] of the matrices of x as row i; both are broadcast together. */
static nx_tensor *reordered(nxi_steps *p, nx_tensor *x, nx_tensor *order) {
  int64_t shape[NXG_MAX_RANK], column[NXG_MAX_RANK + 1];
  int32_t rank;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!x || !order) return NULL;
  if (nxg_broadcast("lu_solve", x->rank - 2, nxi_shape(x), order->rank - 1, nxi_shape(order), &rank,
                    shape, &d))
    return nxi_fail_null(&d); /* they have been checked to */
  memcpy(shape + rank, nxi_shape(x) + x->rank - 2, 2 * sizeof *shape);
  memcpy(column, nxi_shape(order), (size_t)order->rank * sizeof *column);
  column[order->rank] = 1;
  nx_tensor *rows = nxi_step(p, nx_reshape(order, column, order->rank + 1, 0)),
            *index = nxi_step(p, nx_expand(rows, shape, rank + 2)),
            *data = nxi_step(p, nx_expand(x, shape, rank + 2));
  return index && data ? nxi_step(p, nx_gather(data, index, -2)) : NULL;
}

static nx_tensor *solve_by_lu(nxi_steps *p, nx_tensor *lu, nx_tensor *order, nx_tensor *b,
                              uint32_t flags) {
  const uint32_t turned = flags & (NX_TRANSPOSED | NX_ADJOINT), nan = flags & NX_NAN_ON_FAILURE;
  if (!lu || !b) return NULL;
  if (!turned) {
    nx_tensor *rows = reordered(p, b, order),
              *y = rows ? nxi_step(p, nx_triangular_solve(lu, rows, NX_UNIT_DIAGONAL)) : NULL;
    return y ? nxi_step(p, nx_triangular_solve(lu, y, NX_UPPER | nan)) : NULL;
  }
  nx_tensor *y = nxi_step(p, nx_triangular_solve(lu, b, NX_UPPER | turned | nan)),
            *x = y ? nxi_step(p, nx_triangular_solve(lu, y, NX_UNIT_DIAGONAL | turned)) : NULL,
            *back = x ? nxi_step(p, nx_argsort(order, -1, 0, NX_I32)) : NULL;
  return reordered(p, x, back);
}

nx_tensor *nx_lu_solve(nx_tensor *lu, nx_tensor *permutation, nx_tensor *b, uint32_t flags) {
  if (!check_lu_solve(lu, permutation, b, flags)) return NULL;
  const bool vector = nxi_is_vector(b, flags);
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_lu_solve, lu);
  nx_tensor *wide = nxi_step(&s, nxi_widened(lu, false)),
            *columns = nxi_step(&s, nxi_as_columns(b, vector)),
            *right = columns ? nxi_step(&s, nxi_widened(columns, false)) : NULL,
            *x = solve_by_lu(&s, wide, permutation, right, flags);
  if (x) x = nxi_without_column(nxi_narrowed(nx_tensor_retain(x), lu->storage->dtype), vector);
  nxi_steps_end(&s, NULL);
  return x;
}

/* ---- QR with pivots */

nx_tensor *nxi_step_triangle(nxi_steps *p, nx_tensor *x, int64_t more, bool lower) {
  if (!x) return NULL;
  const int64_t *shape = nxi_shape(x) + x->rank - 2, column[2] = {shape[0], 1};
  nx_tensor *zero = nxi_step_scalar(p, x->storage->dtype, 0),
            *rows = nxi_step_count(p, NX_I64, shape[0]),
            *columns = nxi_step_count(p, NX_I64, shape[1]),
            *down = rows ? nxi_step(p, nx_reshape(rows, column, 2, 0)) : NULL,
            *first = lower ? columns : down, *second = lower ? down : columns,
            *wide = second ? nxi_step(p, nx_i64_binary(more, NX_BINARY_ADD, second)) : NULL,
            *kept = first && wide ? nxi_step(p, nx_cmple(first, wide)) : NULL;
  return kept && zero ? nxi_step(p, nx_where(kept, x, zero)) : NULL;
}

nx_tensor *nxi_step_corner(nxi_steps *p, nx_tensor *x, int64_t rows, int64_t columns) {
  int64_t start[NXG_MAX_RANK] = {0}, stop[NXG_MAX_RANK], after[NXG_MAX_RANK] = {0};
  if (!x) return NULL;
  const int32_t rank = x->rank;
  const int64_t *shape = nxi_shape(x);
  memcpy(stop, shape, (size_t)rank * sizeof *stop);
  stop[rank - 2] = rows < shape[rank - 2] ? rows : shape[rank - 2];
  stop[rank - 1] = columns < shape[rank - 1] ? columns : shape[rank - 1];
  after[rank - 2] = rows - stop[rank - 2];
  after[rank - 1] = columns - stop[rank - 1];
  nx_tensor *part = nxi_step(p, nx_shrink(x, start, stop, (size_t)rank));
  if (!part || (after[rank - 2] == 0 && after[rank - 1] == 0)) return part;
  const nx_scalar zero = {NX_SCALAR_F64, {.f = {0, 0}}};
  return nxi_step(p, nx_pad(part, start, after, (size_t)rank, &zero));
}

nx_status nx_qr_pivoted(nx_tensor *a, uint32_t flags, nx_tensor **q, nx_tensor **r,
                        nx_tensor **permutation) {
  nx_tensor *packed = NULL, *tau = NULL, *order = NULL;
  if (!nxi_have_tensor("qr_pivoted", 0, a) || !nxi_check_matrices("qr_pivoted", &a, 1) ||
      !nxi_known_flags("qr_pivoted", flags, NX_FULL_MATRICES, "NX_FULL_MATRICES"))
    return nxi_error_status();
  const nx_dtype t = a->storage->dtype;
  const int64_t *shape = nxi_shape(a) + a->rank - 2, m = shape[0], n = shape[1],
                inner = flags & NX_FULL_MATRICES || m < n ? m : n;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_qr_pivoted, a);
  nx_tensor *wide = nxi_step(&s, nxi_widened(a, false)), *results[3] = {NULL};
  if (wide && nx_geqp3(wide, &packed, &tau, &order) == NX_OK) {
    nxi_step(&s, packed), nxi_step(&s, tau);
    nx_tensor *vectors = nxi_step_corner(&s, packed, m, inner),
              *upper = nxi_step_triangle(&s, nxi_step_corner(&s, packed, inner, n), 0, false);
    results[0] = vectors ? nxi_narrowed(nx_householder_product(vectors, tau), t) : NULL;
    results[1] = upper ? nxi_narrowed(nx_tensor_retain(upper), t) : NULL;
    results[2] = order;
  }
  nxi_steps_end(&s, NULL);
  return nxi_give_results(results, 3, (nx_tensor * *const[]){q, r, permutation});
}

nx_status nxi_give_results(nx_tensor *const *results, uint32_t n, nx_tensor **const *out) {
  bool good = true;
  for (uint32_t i = 0; i < n; i++) good = good && results[i];
  for (uint32_t i = 0; i < n; i++) {
    if (good && out[i]) *out[i] = results[i];
    else nx_tensor_release(results[i]);
  }
  return good ? NX_OK : nxi_error_status();
}

/* ---- least squares */

/* By the factors of A, or of A^H if A has more columns than rows. */
static nx_tensor *least_squares(nxi_steps *p, nx_tensor *a, nx_tensor *b, uint32_t nan) {
  nx_tensor *q = NULL, *r = NULL;
  if (!a || !b) return NULL;
  const bool tall = nxi_shape(a)[a->rank - 2] >= nxi_shape(a)[a->rank - 1];
  nx_tensor *taken = tall ? a : nxi_step(p, nxi_turned(a, true));
  if (!taken || nx_qr(taken, 0, &q, &r) != NX_OK) return NULL;
  nxi_step(p, q), nxi_step(p, r);
  if (!tall) {
    nx_tensor *y = nxi_step(p, nx_triangular_solve(r, b, NX_UPPER | NX_ADJOINT | nan));
    return y ? nx_matmul(q, y) : NULL;
  }
  nx_tensor *back = nxi_step(p, nxi_turned(q, true)),
            *y = back ? nxi_step(p, nx_matmul(back, b)) : NULL;
  return y ? nx_triangular_solve(r, y, NX_UPPER | nan) : NULL;
}

nx_tensor *nx_lstsq_qr(nx_tensor *a, nx_tensor *b, uint32_t flags) {
  nx_tensor *both[2] = {a, b};
  if (!nxi_check_operands("lstsq_qr", both, 2) ||
      !nxi_known_flags("lstsq_qr", flags, NX_VECTORS | NX_NAN_ON_FAILURE,
                       "NX_VECTORS and NX_NAN_ON_FAILURE") ||
      !nxi_check_matrices("lstsq_qr", both, 2) ||
      !nxi_is_side("lstsq_qr", a, b, nxi_is_vector(b, flags), false))
    return NULL;
  const bool vector = nxi_is_vector(b, flags);
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_lstsq_qr, a);
  nx_tensor *wide = nxi_step(&s, nxi_widened(a, false)),
            *columns = nxi_step(&s, nxi_as_columns(b, vector)),
            *right = columns ? nxi_step(&s, nxi_widened(columns, false)) : NULL,
            *x = least_squares(&s, wide, right, flags & NX_NAN_ON_FAILURE);
  return nxi_steps_end(&s, nxi_without_column(nxi_narrowed(x, a->storage->dtype), vector));
}
