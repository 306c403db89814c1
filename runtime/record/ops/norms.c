/* SPDX-License-Identifier: ISC */
/* Norms, condition numbers and ranks, recorded as what they are made of: sums, and singular values.
 * Sums are computed in f32 at least; complex numbers count by their absolute values. */
#include <math.h>
#include <string.h>

#include "compose.h"
#include "linalg.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

static nx_tensor *refuse(const char *op, nx_status status, const char *why) {
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_fail(&d, status, op, "%s: %s", op, why);
  nxi_fail_null(&d);
  return NULL;
}

/* |x|, real. */
static nx_tensor *magnitude(nxi_steps *s, nx_tensor *x) {
  nx_tensor *all = nxi_step(s, nx_abs(x));
  return all && nxi_is_complex(all->storage->dtype) ? nxi_step(s, nx_real(all)) : all;
}

/* |x|^2, real. */
static nx_tensor *square(nxi_steps *s, nx_tensor *x) {
  if (!x || !nxi_is_complex(x->storage->dtype)) return nxi_step(s, nx_mul(x, x));
  nx_tensor *re = nxi_step(s, nx_real(x)), *im = nxi_step(s, nx_imag(x));
  return nxi_step(s, nx_add(nxi_step(s, nx_mul(re, re)), nxi_step(s, nx_mul(im, im))));
}

/* The end of a composition whose result is real, in the real dtype of what was given. */
static nx_tensor *ended(nxi_steps *s, nx_tensor *result, nx_dtype given) {
  nx_dtype t = nxi_part_dtype(given);
  if (result && result->storage->dtype != t) result = nxi_step(s, nx_cast(result, t));
  return nxi_steps_end(s, result);
}

/* ---- vectors */

static nx_tensor *norm_of(nxi_steps *s, nx_tensor *x, double ord, const int32_t *axes, size_t n,
                          uint32_t flags) {
  if (ord == 2) {
    nx_tensor *sum = nxi_step(s, nx_reduce_sum(square(s, x), axes, n, flags));
    return nxi_step(s, nx_sqrt(sum));
  }
  if (ord == 0) {
    nx_tensor *zero = nxi_step_scalar(s, x->storage->dtype, 0);
    nx_tensor *counts =
        nxi_step(s, nx_cast(nxi_step(s, nx_cmpne(x, zero)), nxi_part_dtype(x->storage->dtype)));
    return nxi_step(s, nx_reduce_sum(counts, axes, n, flags));
  }
  nx_tensor *size = magnitude(s, x);
  if (ord == 1) return nxi_step(s, nx_reduce_sum(size, axes, n, flags));
  if (isinf(ord))
    return nxi_step(s, ord > 0 ? nx_reduce_max(size, axes, n, flags)
                               : nx_reduce_min(size, axes, n, flags));
  nx_tensor *powers = nxi_step(s, nx_binary_f64(size, NX_BINARY_POW, ord)),
            *sum = nxi_step(s, nx_reduce_sum(powers, axes, n, flags));
  return nxi_step(s, nx_binary_f64(sum, NX_BINARY_POW, 1 / ord));
}

nx_tensor *nx_vector_norm(nx_tensor *x, double ord, const int32_t *axes, size_t n, uint32_t flags) {
  static const char op[] = "vector_norm";
  if (!nxi_have_tensor(op, 0, x) || !nxi_check_dtypes(op, &x, 1)) return NULL;
  if (isnan(ord)) return refuse(op, NX_INVALID_ARGUMENT, "the order is NaN");
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_vector_norm, x);
  nx_tensor *wide = nxi_step(&s, nxi_widened(x, false));
  return ended(&s, wide ? norm_of(&s, wide, ord, axes, n, flags) : NULL, x->storage->dtype);
}

/* ---- matrices */

/* Singular values in the precision of a: (.., k), descending. */
static nx_tensor *values_of(nxi_steps *s, nx_tensor *a, uint32_t flags) {
  nx_tensor *values = NULL;
  if (!a || nx_svd(a, flags | NX_INPUT_PRECISION, NULL, &values, NULL) != NX_OK) return NULL;
  return nxi_step(s, values);
}

nx_tensor *nx_svdvals(nx_tensor *a, uint32_t flags) {
  static const char op[] = "svdvals";
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_have_tensor(op, 0, a) || !nxi_check_matrices(op, &a, 1)) return NULL;
  if (!nxi_check_flags(op, flags, NX_INPUT_PRECISION | NX_NAN_ON_FAILURE,
                       "NX_INPUT_PRECISION and NX_NAN_ON_FAILURE", &d))
    return nxi_fail_null(&d);
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_svdvals, a);
  nx_tensor *values = NULL;
  if (nx_svd(a, flags, NULL, &values, NULL) != NX_OK) values = NULL;
  return nxi_steps_end(&s, nxi_step(&s, values));
}

/* Of a norm: the one of singular values, or the axis that is summed over first. */
static const struct {
  bool by_values, least;
  int32_t summed; /* -1: columns are compared; -2: rows; 0: all elements together */
} norms[] = {
    [NX_NORM_FRO] = {false, false, 0},  [NX_NORM_NUC] = {true, false, 0},
    [NX_NORM_1] = {false, false, -2},   [NX_NORM_MIN_1] = {false, true, -2},
    [NX_NORM_2] = {true, false, -1},    [NX_NORM_MIN_2] = {true, true, -1},
    [NX_NORM_INF] = {false, false, -1}, [NX_NORM_MIN_INF] = {false, true, -1},
};
enum { NORMS = sizeof norms / sizeof *norms };

static nx_tensor *extreme(nxi_steps *s, nx_tensor *x, bool least, uint32_t flags) {
  return nxi_step(s, least ? nx_reduce_min(x, NX_AXES(-1), flags)
                           : nx_reduce_max(x, NX_AXES(-1), flags));
}

/* (.., m, n) -> (..), of a that is f32 at least. */
static nx_tensor *matrix_norm(nxi_steps *s, nx_tensor *a, int ord, uint32_t flags) {
  if (ord == NX_NORM_FRO)
    return nxi_step(s, nx_sqrt(nxi_step(s, nx_reduce_sum(square(s, a), NX_AXES(-2, -1), 0))));
  if (norms[ord].by_values) {
    nx_tensor *values = values_of(s, a, flags & NX_NAN_ON_FAILURE);
    if (ord == NX_NORM_NUC) return nxi_step(s, nx_reduce_sum(values, NX_AXES(-1), 0));
    return extreme(s, values, norms[ord].least, 0);
  }
  const int32_t axis = norms[ord].summed;
  nx_tensor *sums = nxi_step(s, nx_reduce_sum(magnitude(s, a), &axis, 1, 0));
  return extreme(s, sums, norms[ord].least, 0);
}

static bool check_norm(const char *op, nx_tensor *a, int ord, uint32_t flags, uint32_t known,
                       const char *names) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_have_tensor(op, 0, a) || !nxi_check_matrices(op, &a, 1)) return false;
  if (ord < 0 || ord >= NORMS) return refuse(op, NX_INVALID_ARGUMENT, "there is no such norm");
  if (nxi_check_flags(op, flags, known, names, &d)) return true;
  nxi_fail_null(&d);
  return false;
}

nx_tensor *nx_matrix_norm(nx_tensor *a, int ord, uint32_t flags) {
  if (!check_norm("matrix_norm", a, ord, flags, NX_KEEPDIMS | NX_NAN_ON_FAILURE,
                  "NX_KEEPDIMS and NX_NAN_ON_FAILURE"))
    return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_matrix_norm, a);
  nx_tensor *wide = nxi_step(&s, nxi_widened(a, false)),
            *norm = wide ? matrix_norm(&s, wide, ord, flags) : NULL;
  if (norm && flags & NX_KEEPDIMS) {
    int64_t shape[NXG_MAX_RANK];
    memcpy(shape, nxi_shape(a), (size_t)a->rank * sizeof *shape);
    shape[a->rank - 1] = shape[a->rank - 2] = 1;
    norm = nxi_step(&s, nx_reshape(norm, shape, a->rank, 0));
  }
  return ended(&s, norm, a->storage->dtype);
}

/* ---- condition numbers and ranks */

/* Element `at` of the last axis, of extent 1. */
static nx_tensor *element(nxi_steps *s, nx_tensor *x, int64_t at) {
  int64_t start[NXG_MAX_RANK] = {0}, stop[NXG_MAX_RANK];
  if (!x) return NULL;
  memcpy(stop, nxi_shape(x), (size_t)x->rank * sizeof *stop);
  start[x->rank - 1] = at;
  stop[x->rank - 1] = at + 1;
  return nxi_step(s, nx_shrink(x, start, stop, (size_t)x->rank));
}

static nx_tensor *ratio_of_values(nxi_steps *s, nx_tensor *a, bool inverse) {
  nx_tensor *values = values_of(s, a, NX_NAN_ON_FAILURE);
  if (!values) return NULL;
  nx_tensor *first = element(s, values, 0),
            *last = element(s, values, nxi_shape(values)[values->rank - 1] - 1),
            *ratio = nxi_step(s, inverse ? nx_div(last, first) : nx_div(first, last));
  return ratio ? nxi_step(s, nx_reshape(ratio, nxi_shape(ratio), ratio->rank - 1, 0)) : NULL;
}

static nx_tensor *product_of_norms(nxi_steps *s, nx_tensor *a, int ord) {
  nx_tensor *inverse = nxi_step(s, nx_inv_flags(a, NX_NAN_ON_FAILURE));
  if (!inverse) return NULL;
  return nxi_step(s, nx_mul(matrix_norm(s, a, ord, NX_NAN_ON_FAILURE),
                            matrix_norm(s, inverse, ord, NX_NAN_ON_FAILURE)));
}

/* Infinite where the ratio is no number, but NaN where the matrix has one. */
static nx_tensor *without_nan(nxi_steps *s, nx_tensor *a, nx_tensor *ratio) {
  if (!ratio) return NULL;
  nx_tensor *bad = nxi_step(s, nx_reduce_max(nxi_step(s, nx_isnan(a)), NX_AXES(-2, -1), 0)),
            *given = nxi_step(s, nx_not(bad)),
            *none = nxi_step(s, nx_and(nxi_step(s, nx_isnan(ratio)), given)),
            *infinite = nxi_step_scalar(s, ratio->storage->dtype, INFINITY);
  return nxi_step(s, nx_where(none, infinite, ratio));
}

nx_tensor *nx_cond(nx_tensor *a, int ord) {
  static const char op[] = "cond";
  if (!check_norm(op, a, ord, 0, 0, "none")) return NULL;
  const int64_t *shape = nxi_shape(a) + a->rank - 2;
  if (!shape[0] || !shape[1])
    return refuse(op, NX_INVALID_ARGUMENT, "matrices without elements have no condition number");
  const bool by_ratio = ord == NX_NORM_2 || ord == NX_NORM_MIN_2;
  if (!by_ratio && !nxi_check_square(op, a)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_cond, a);
  nx_tensor *wide = nxi_step(&s, nxi_widened(a, false)), *cond = NULL;
  if (wide)
    cond = by_ratio ? ratio_of_values(&s, wide, ord == NX_NORM_MIN_2)
                    : product_of_norms(&s, wide, ord);
  return ended(&s, without_nan(&s, wide, cond), a->storage->dtype);
}

/* How many singular values are more than rtol times the largest. */
static nx_tensor *rank_of(nxi_steps *s, nx_tensor *a, double rtol) {
  nx_tensor *values = values_of(s, a, 0);
  if (!values) return NULL;
  if (nxi_shape(values)[values->rank - 1]) {
    nx_tensor *least = nxi_step(s, nx_binary_f64(element(s, values, 0), NX_BINARY_MUL, rtol));
    values = nxi_step(s, nx_cmplt(least, values));
  }
  return nxi_step(s, nx_reduce_sum(nxi_step(s, nx_cast(values, NX_I32)), NX_AXES(-1), 0));
}

nx_tensor *nx_matrix_rank(nx_tensor *a, double rtol) {
  static const char op[] = "matrix_rank";
  if (!nxi_have_tensor(op, 0, a) || !nxi_check_matrices(op, &a, 1) ||
      !nxi_check_tolerance(op, rtol))
    return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_matrix_rank, a);
  nx_tensor *wide = nxi_step(&s, nxi_widened(a, false));
  return nxi_steps_end(&s, wide ? rank_of(&s, wide, nxi_tolerance(a, &rtol)) : NULL);
}
