/* SPDX-License-Identifier: ISC */
/* Recording of solving with bands, of updates of factors, of reductions to simpler forms, of
 * generalised eigenproblems, and of functions of matrices. */
#include <string.h>

#include "compose.h"
#include "linalg.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

static int64_t gives_nan(uint32_t flags) { return !!(flags & NX_NAN_ON_FAILURE); }

/* ---- bands */

/* Whether b has n rows and leading dimensions that broadcast with those of `a`, which are the first
 * `batch`; `operand`: its number. */
static bool check_side(const char *op, nx_tensor *a, int32_t batch, int64_t n, nx_tensor *b,
                       bool vector, int32_t operand) {
  nxi_diag d;
  char left[NXG_SHAPE_TEXT], right[NXG_SHAPE_TEXT];
  int64_t lead[NXG_MAX_RANK];
  nx_tensor *both[2] = {a, b};
  const int32_t keep = vector ? 1 : 2;
  int32_t rank;
  nxi_diag_clear(&d);
  nxg_format_shape(left, a->rank, nxi_shape(a));
  nxg_format_shape(right, b->rank, nxi_shape(b));
  if (b->rank < keep || nxi_shape(b)[b->rank - keep] != n)
    nxi_fail(&d, NX_INVALID_ARGUMENT, op,
             "%s: operand %d of shape %s is no right side of %lld rows, as operand 0 of shape %s "
             "wants",
             op, operand, right, (long long)n, left);
  else if (nxg_broadcast(op, batch, nxi_shape(a), b->rank - keep, nxi_shape(b), &rank, lead, &d)) {
    nxi_diag_clear(&d);
    nxi_fail(&d, NX_INVALID_ARGUMENT, op,
             "%s: the leading extents of the shapes %s and %s do not broadcast together", op, left,
             right);
  } else if (nxi_common_device(op, both, 2, &d) >= 0) {
    return true;
  }
  d.operand = operand;
  nxi_fail_null(&d);
  return false;
}

/* bands: wide, (.., below + above + 1, n); takes no reference. */
static nx_tensor *solve_bands(nx_tensor *bands, int64_t below, int64_t above, nx_tensor *b,
                              uint32_t flags) {
  const int64_t attrs[3] = {below, above, gives_nan(flags)};
  const bool vector = nxi_is_vector(b, flags);
  nx_tensor *columns = nxi_as_columns(b, vector),
            *right = columns ? nxi_widened(columns, false) : NULL, *x = NULL;
  if (bands && right) x = nxi_record_leading(NXG_banded_solve, bands, right, 2, attrs, 3);
  nx_tensor_release(columns);
  nx_tensor_release(right);
  return nxi_without_column(nxi_narrowed(x, b->storage->dtype), vector);
}

nx_tensor *nx_banded_solve(nx_tensor *bands, int64_t below, int64_t above, nx_tensor *b,
                           uint32_t flags) {
  nx_tensor *both[2] = {bands, b};
  if (!nxi_check_operands("banded_solve", both, 2) ||
      !nxi_known_flags("banded_solve", flags, NX_VECTORS | NX_NAN_ON_FAILURE,
                       "NX_VECTORS and NX_NAN_ON_FAILURE") ||
      !nxi_check_matrices("banded_solve", both, 2) ||
      !check_side("banded_solve", bands, bands->rank - 2, nxi_shape(bands)[bands->rank - 1], b,
                  nxi_is_vector(b, flags), 1))
    return NULL;
  const uint16_t outer = nxi_called_begin(NXG_banded_solve);
  nx_tensor *wide = nxi_widened(bands, false),
            *x = wide ? solve_bands(wide, below, above, b, flags) : NULL;
  nx_tensor_release(wide);
  nxi_called_end(outer);
  return x;
}

/* A diagonal as a row of bands: moved by one to the right (by: 1) or to the left (-1), as it stands
 * in its columns. */
static nx_tensor *as_band(nxi_steps *p, nx_tensor *x, int by) {
  int64_t start[NXG_MAX_RANK] = {0}, stop[NXG_MAX_RANK + 1], none[NXG_MAX_RANK] = {0},
          one[NXG_MAX_RANK] = {0};
  const int32_t last = x->rank - 1;
  const int64_t n = nxi_shape(x)[last];
  memcpy(stop, nxi_shape(x), (size_t)x->rank * sizeof *stop);
  nx_tensor *wide = nxi_step(p, nxi_widened(x, false));
  if (by != 0 && n > 0) {
    const nx_scalar zero = {NX_SCALAR_F64, {.f = {0, 0}}};
    start[last] = by < 0;
    stop[last] = n - (by > 0);
    one[last] = 1;
    nx_tensor *kept = wide ? nxi_step(p, nx_shrink(wide, start, stop, (size_t)x->rank)) : NULL;
    wide = kept ? nxi_step(p, nx_pad(kept, by > 0 ? one : none, by > 0 ? none : one,
                                     (size_t)x->rank, &zero))
                : NULL;
  }
  stop[last] = 1;
  stop[last + 1] = n;
  return wide ? nxi_step(p, nx_reshape(wide, stop, x->rank + 1, 0)) : NULL;
}

/* Whether the three diagonals have one shape, of rank 1 at least, and b their dtype. */
static bool check_diagonals(nx_tensor *const *t, uint32_t flags) {
  const char *op = "tridiagonal_solve";
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_check_operands(op, t, 4) ||
      !nxi_known_flags(op, flags, NX_VECTORS | NX_NAN_ON_FAILURE,
                       "NX_VECTORS and NX_NAN_ON_FAILURE") ||
      !nxi_check_dtypes(op, t, 4))
    return false;
  for (int i = 0; i < 3 && !d.status; i++) {
    char shape[NXG_SHAPE_TEXT], first[NXG_SHAPE_TEXT];
    nxg_format_shape(shape, t[i]->rank, nxi_shape(t[i]));
    if (t[i]->rank < 1)
      nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: operand %d of shape %s is no diagonal", op, i,
               shape);
    else if (t[i]->rank != t[0]->rank ||
             memcmp(nxi_shape(t[i]), nxi_shape(t[0]), (size_t)t[0]->rank * sizeof(int64_t)) != 0)
      nxi_fail(&d, NX_INVALID_ARGUMENT, op,
               "%s: operand %d of shape %s is no diagonal beside operand 0 of shape %s", op, i,
               shape, nxg_format_shape(first, t[0]->rank, nxi_shape(t[0])));
    d.operand = i;
  }
  if (d.status) nxi_fail_null(&d);
  return !d.status && check_side(op, t[0], t[0]->rank - 1, nxi_shape(t[0])[t[0]->rank - 1], t[3],
                                 nxi_is_vector(t[3], flags), 3);
}

nx_tensor *nx_tridiagonal_solve(nx_tensor *below, nx_tensor *diagonal, nx_tensor *above,
                                nx_tensor *b, uint32_t flags) {
  nx_tensor *all[4] = {below, diagonal, above, b}, *rows[3];
  if (!check_diagonals(all, flags)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_tridiagonal_solve, below);
  for (int i = 0; i < 3; i++) rows[i] = as_band(&s, all[2 - i], 1 - i);
  nx_tensor *bands = rows[0] && rows[1] && rows[2] ? nxi_step(&s, nx_cat(rows, 3, -2)) : NULL;
  return nxi_steps_end(&s, bands ? solve_bands(bands, 1, 1, b, flags) : NULL);
}

/* ---- triangles */

nx_tensor *nx_triangular_inv(nx_tensor *a, uint32_t flags) {
  if (!nxi_have_tensor("triangular_inv", 0, a) ||
      !nxi_known_flags("triangular_inv", flags, NX_UPPER | NX_UNIT_DIAGONAL | NX_NAN_ON_FAILURE,
                       "NX_UPPER, NX_UNIT_DIAGONAL and NX_NAN_ON_FAILURE") ||
      !nxi_check_matrices("triangular_inv", &a, 1) || !nxi_check_square("triangular_inv", a))
    return NULL;
  const nx_dtype t = a->storage->dtype;
  const int64_t n = nxi_shape(a)[a->rank - 1];
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_triangular_inv, a);
  nx_tensor *wide = nxi_step(&s, nxi_widened(a, false)), *x = NULL, *one = NULL;
  if (wide) one = nxi_step(&s, nx_eye(s.context, s.device, wide->storage->dtype, n, n, 0));
  if (one) x = nxi_step(&s, nx_triangular_solve(wide, one, flags));
  x = nxi_step_triangle(&s, x, 0, !(flags & NX_UPPER));
  if (x) x = nxi_narrowed(nx_tensor_retain(x), t);
  nxi_steps_end(&s, NULL);
  return x;
}

nx_tensor *nx_cholesky_update(nx_tensor *l, nx_tensor *w, uint32_t flags) {
  nx_tensor *both[2] = {l, w};
  const int64_t attrs[1] = {!!(flags & NX_UPPER)};
  if (!nxi_check_operands("cholesky_update", both, 2) ||
      !nxi_known_flags("cholesky_update", flags, NX_UPPER, "NX_UPPER"))
    return NULL;
  return nxi_record_matrices(NXG_cholesky_update, both, 2, attrs, 1);
}

/* ---- Hessenberg form */

/* The product of the reflections of gehrd: they leave the first row and column alone. */
static nx_tensor *hessenberg_vectors(nxi_steps *p, nx_tensor *packed, nx_tensor *tau) {
  int64_t start[NXG_MAX_RANK] = {0}, stop[NXG_MAX_RANK], one[NXG_MAX_RANK] = {0},
          none[NXG_MAX_RANK] = {0};
  const int32_t rank = packed->rank;
  const int64_t n = nxi_shape(packed)[rank - 1];
  const nx_scalar zero = {NX_SCALAR_F64, {.f = {0, 0}}};
  const nx_dtype t = packed->storage->dtype;
  if (n == 0) return nx_tensor_retain(packed);
  memcpy(stop, nxi_shape(packed), (size_t)rank * sizeof *stop);
  start[rank - 2] = one[rank - 2] = one[rank - 1] = 1;
  stop[rank - 1] = n - 1;
  nx_tensor *part = nxi_step(p, nx_shrink(packed, start, stop, (size_t)rank)),
            *q = part ? nxi_step(p, nx_householder_product(part, tau)) : NULL,
            *below = q ? nxi_step(p, nx_pad(q, one, none, (size_t)rank, &zero)) : NULL,
            *first = nxi_step(p, nx_eye(p->context, p->device, t, 1, 1, 0)),
            *corner = nxi_step_corner(p, first, n, n);
  return below && corner ? nx_add(below, corner) : NULL;
}

nx_status nx_hessenberg(nx_tensor *a, nx_tensor **h, nx_tensor **q) {
  nx_tensor *packed = NULL, *tau = NULL, *results[2] = {NULL};
  if (!nxi_have_tensor("hessenberg", 0, a) || !nxi_check_matrices("hessenberg", &a, 1) ||
      !nxi_check_square("hessenberg", a))
    return nxi_error_status();
  const nx_dtype t = a->storage->dtype;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_hessenberg, a);
  nx_tensor *wide = nxi_step(&s, nxi_widened(a, false));
  if (wide && nx_gehrd(wide, &packed, &tau) == NX_OK) {
    nxi_step(&s, packed), nxi_step(&s, tau);
    nx_tensor *upper = nxi_step_triangle(&s, packed, 1, false);
    results[0] = upper ? nxi_narrowed(nx_tensor_retain(upper), t) : NULL;
    results[1] = upper ? nxi_narrowed(hessenberg_vectors(&s, packed, tau), t) : NULL;
  }
  nxi_steps_end(&s, NULL);
  return nxi_give_results(results, 2, (nx_tensor * *const[]){h, q});
}

/* ---- generalised eigenproblems */

/* The Hermitian matrix that the lower triangle means. */
static nx_tensor *mirrored(nxi_steps *p, nx_tensor *a) {
  if (!a) return NULL;
  nx_tensor *low = nxi_step_triangle(p, a, 0, true), *strict = nxi_step_triangle(p, a, -1, true),
            *other = strict ? nxi_step(p, nxi_turned(strict, true)) : NULL;
  return low && other ? nxi_step(p, nx_add(low, other)) : NULL;
}

/* The matrix whose eigenproblem is that of the pair, of which l is the factor of the second. */
static nx_tensor *reduced_pair(nxi_steps *p, nx_tensor *a, nx_tensor *l, int type) {
  if (!a || !l) return NULL;
  if (type == 1) { /* L^-1 A L^-H */
    nx_tensor *x = nxi_step(p, nx_triangular_solve(l, a, NX_NAN_ON_FAILURE)),
              *y = x ? nxi_step(p, nxi_turned(x, true)) : NULL;
    return y ? nxi_step(p, nx_triangular_solve(l, y, NX_NAN_ON_FAILURE)) : NULL;
  }
  nx_tensor *back = nxi_step(p, nxi_turned(l, true)), /* L^H A L */
      *x = back ? nxi_step(p, nx_matmul(back, a)) : NULL;
  return x ? nxi_step(p, nx_matmul(x, l)) : NULL;
}

static bool check_pair(nx_tensor *const *t, int type, uint32_t flags) {
  const char *op = "eigh_generalized";
  char left[NXG_SHAPE_TEXT], right[NXG_SHAPE_TEXT];
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_check_operands(op, t, 2) ||
      !nxi_known_flags(op, flags, NX_INPUT_PRECISION | NX_NAN_ON_FAILURE,
                       "NX_INPUT_PRECISION and NX_NAN_ON_FAILURE") ||
      !nxi_check_matrices(op, t, 2) || !nxi_check_square(op, t[0]))
    return false;
  if (type < 1 || type > 3) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: there is no type %d of problem, but 1, 2 and 3", op,
             type);
  } else if (t[0]->rank != t[1]->rank ||
             memcmp(nxi_shape(t[0]), nxi_shape(t[1]), (size_t)t[0]->rank * sizeof(int64_t)) != 0) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: operand 1 has the shape %s, operand 0 has %s", op,
             nxg_format_shape(right, t[1]->rank, nxi_shape(t[1])),
             nxg_format_shape(left, t[0]->rank, nxi_shape(t[0])));
    d.operand = 1;
  }
  if (d.status) nxi_fail_null(&d);
  return !d.status;
}

nx_status nx_eigh_generalized(nx_tensor *a, nx_tensor *b, int type, uint32_t flags,
                              nx_tensor **values, nx_tensor **vectors) {
  nx_tensor *both[2] = {a, b}, *results[2] = {NULL}, *y = NULL;
  if (!check_pair(both, type, flags)) return nxi_error_status();
  const nx_dtype t = a->storage->dtype;
  const uint32_t nan = flags & NX_NAN_ON_FAILURE;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_eigh_generalized, a);
  nx_tensor *wide = nxi_step(&s, nxi_widened(a, false)),
            *second = nxi_step(&s, nxi_widened(b, false)),
            *l = second ? nxi_step(&s, nx_cholesky(second, nan)) : NULL,
            *c = l ? reduced_pair(&s, mirrored(&s, wide), l, type) : NULL;
  if (c && nx_eigh(c, flags, &results[0], &y) == NX_OK) {
    nxi_step(&s, y);
    nx_tensor *x =
        type == 3 ? nx_matmul(l, y) : nx_triangular_solve(l, y, NX_ADJOINT | NX_NAN_ON_FAILURE);
    results[1] = nxi_narrowed(x, t);
    if (flags & NX_INPUT_PRECISION) results[0] = nxi_narrowed(results[0], nxi_part_dtype(t));
  }
  nxi_steps_end(&s, NULL);
  return nxi_give_results(results, 2, (nx_tensor * *const[]){values, vectors});
}

/* ---- functions of matrices */

nx_tensor *nx_expm(nx_tensor *a) {
  if (!nxi_have_tensor("expm", 0, a)) return NULL;
  return nxi_record_matrices(NXG_expm, &a, 1, NULL, 0);
}

/* Of the matrix as a complex one. */
static nx_tensor *complex_function(nxg_op op, nx_tensor *a, uint32_t flags) {
  const char *name = nxg_ops[op].name;
  const int64_t attrs[1] = {gives_nan(flags)};
  if (!nxi_have_tensor(name, 0, a) ||
      !nxi_known_flags(name, flags, NX_NAN_ON_FAILURE, "NX_NAN_ON_FAILURE") ||
      !nxi_check_matrices(name, &a, 1))
    return NULL;
  const nx_dtype t = a->storage->dtype, to = t == NX_C32                   ? t
                                             : t == NX_F64 || t == NX_C128 ? NX_C128
                                                                           : NX_C64;
  const uint16_t outer = nxi_called_begin(op);
  nx_tensor *pairs = t == to ? nx_tensor_retain(a) : nx_cast(a, to),
            *x = pairs ? nxi_record_matrices(op, &pairs, 1, attrs, 1) : NULL;
  nx_tensor_release(pairs);
  nxi_called_end(outer);
  return x;
}

nx_tensor *nx_sqrtm(nx_tensor *a, uint32_t flags) { return complex_function(NXG_sqrtm, a, flags); }
nx_tensor *nx_logm(nx_tensor *a, uint32_t flags) { return complex_function(NXG_logm, a, flags); }

/* Squares, and the products of those that the number has. */
static nx_tensor *power_of(nxi_steps *p, nx_tensor *a, uint64_t n) {
  nx_tensor *product = NULL, *square = a;
  for (; square; n >>= 1) {
    if (n & 1) product = product ? nxi_step(p, nx_matmul(product, square)) : square;
    if ((n & 1 && !product) || n <= 1) return product;
    square = nxi_step(p, nx_matmul(square, square));
  }
  return NULL;
}

nx_tensor *nx_matrix_power(nx_tensor *a, int64_t n, uint32_t flags) {
  const char *op = "matrix_power";
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_have_tensor(op, 0, a) ||
      !nxi_known_flags(op, flags, NX_NAN_ON_FAILURE, "NX_NAN_ON_FAILURE") ||
      !nxi_check_matrices(op, &a, 1) || !nxi_check_square(op, a))
    return NULL;
  if (n > INT32_MAX || n < -INT32_MAX) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: the exponent %lld is beyond 31 bits", op,
             (long long)n);
    return nxi_fail_null(&d);
  }
  const nx_dtype t = a->storage->dtype;
  const int64_t *shape = nxi_shape(a), size = shape[a->rank - 1];
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_matrix_power, a);
  nx_tensor *wide = nxi_step(&s, nxi_widened(a, false)), *x = wide;
  if (wide && n < 0) x = nxi_step(&s, nx_inv_flags(wide, flags));
  if (x && n == 1) x = nxi_step(&s, nx_reshape(x, shape, a->rank, 0)); /* a handle of its own */
  if (x && n != 0 && n != 1) x = power_of(&s, x, (uint64_t)(n < 0 ? -n : n));
  if (x && n == 0) {
    nx_tensor *one = nxi_step(&s, nx_eye(s.context, s.device, x->storage->dtype, size, size, 0));
    x = one ? nxi_step(&s, nx_expand(one, shape, a->rank)) : NULL;
  }
  if (x) x = nxi_narrowed(nx_tensor_retain(x), t);
  nxi_steps_end(&s, NULL);
  return x;
}
