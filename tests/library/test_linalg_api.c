/* SPDX-License-Identifier: ISC */
/* Linear algebra through the interface, in f32, f64 and bf16: results of one call, fused before and
 * after, right sides of all forms, and what is recorded as a composition. test_linalg.c has the
 * functions below it. */
#include "tests/util/api.h"
#include "tests/util/executor.h"

#include <math.h>

#include "runtime/library/linalg/lapack.h"

/* Numbers of (-1, 1), other ones each time. */
static nx_tensor *tensor(nx_dtype t, int32_t rank, const int64_t *shape) {
  static uint64_t seed;
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  double *v = malloc((size_t)(n + 1) * sizeof *v);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    v[i] = (double)(seed >> 33) / 0x1p30 - 1;
  }
  nx_tensor *x = GOOD(nx_empty(ctx, 0, NX_F64, shape, rank));
  OK(nx_write(x, v, (size_t)n * sizeof *v, NULL));
  free(v);
  return GOOD(nx_cast(x, t));
}

static double largest(nx_tensor *x) {
  nx_tensor *all = GOOD(nx_abs(GOOD(nx_cast(x, NX_F64))));
  nx_scalar s;
  OK(nx_item(GOOD(nx_reduce_max(all, NX_ALL_AXES, 0)), NULL, 0, &s, NULL));
  return s.v.f[0];
}

static nx_tensor *adjoint(nx_tensor *x) { return GOOD(nx_permute(x, NX_AXES(0, 2, 1))); }

/* One call however the results are asked for: all at once, or one after the other while all are
 * alive. */
static void results_of_one_call(void **state) {
  (void)state;
  for (int together = 0; together < 2; together++) {
    nx_tensor *a = tensor(NX_F64, 3, (int64_t[]){2, 40, 30}), *out[3];
    OK(nx_svd(a, 0, &out[0], &out[1], &out[2]));
    nx_report r = {.size = sizeof r};
    nx_run_options o = {.size = sizeof o, .report = &r};
    uint64_t calls = 0;
    for (int i = 0; i < (together ? 1 : 3); i++) {
      OK(nx_realize(ctx, out + (together ? 0 : 2 - i), together ? 3 : 1, &o));
      calls += r.runs ? (r.interpreted ? 1 : r.library_calls) : 0;
    }
    if (!nxt_executor_is("interp")) assert_int_equal(calls, 1);
    nx_tensor *us = GOOD(nx_mul(out[0], GOOD(nx_reshape(out[1], NX_SHAPE(2, 1, 30), 0))));
    assert_true(largest(GOOD(nx_sub(GOOD(nx_matmul(us, out[2])), a))) < 1e-13);
  }
}

/* A result that is recorded after the others were computed has the bits it would have had with
 * them. */
static void results_apart(void **state) {
  (void)state;
  nx_tensor *a = tensor(NX_F32, 2, (int64_t[]){20, 20}), *q, *r, *again_q, *again_r;
  float first[400], second[400];
  OK(nx_qr(a, 0, &q, &r));
  nx_tensor_release(nx_keep(r));
  OK(nx_read(q, first, sizeof first, NULL));
  OK(nx_qr(a, 0, &again_q, &again_r));
  OK(nx_read(again_q, second, sizeof second, NULL));
  assert_memory_equal(first, second, sizeof first);
  nx_tensor *back = GOOD(nx_sub(GOOD(nx_matmul(q, again_r)), a));
  OK(nx_realize(ctx, &back, 1, NULL));
  nx_scalar s;
  OK(nx_item(GOOD(nx_reduce_max(GOOD(nx_abs(back)), NX_AXES(0, 1), 0)), NULL, 0, &s, NULL));
  assert_true(s.v.f[0] < 1e-5);
}

static void fused_results(void **state) {
  (void)state;
  nx_tensor *a = tensor(NX_F64, 3, (int64_t[]){2, 20, 20}), *values, *vectors;
  OK(nx_eigh(GOOD(nx_add(a, adjoint(a))), 0, &values, &vectors));
  nx_tensor *scaled = GOOD(nx_mul(vectors, GOOD(nx_reshape(values, NX_SHAPE(2, 1, 20), 0)))),
            *back = GOOD(nx_matmul(scaled, adjoint(vectors)));
  assert_true(largest(GOOD(nx_sub(back, GOOD(nx_add(a, adjoint(a)))))) < 1e-13);
  nx_tensor *only = GOOD(nx_eigvalsh(GOOD(nx_add(a, adjoint(a))), 0));
  assert_true(largest(GOOD(nx_sub(only, values))) < 1e-13);
}

/* All results of a function's call come from one call of the library, too. */
static void results_of_functions(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_placeholder(ctx, 0, NX_F64, NX_SHAPE(2, 30, 20))), *out[3],
            *results[3] = {NULL};
  OK(nx_svd(x, 0, &out[0], &out[1], &out[2]));
  nx_function *f = NULL;
  OK(nx_function_create(ctx, &x, 1, out, 3, NULL, &f));
  nx_tensor *a = tensor(NX_F64, 3, (int64_t[]){2, 30, 20}), *wanted[3];
  nx_report r = {.size = sizeof r};
  nx_run_options o = {.size = sizeof o, .report = &r};
  OK(nx_realize(ctx, &a, 1, NULL));
  OK(nx_function_call(f, &a, 1, results, 3, &o));
  assert_true(r.interpreted || r.library_calls == 1);
  OK(nx_svd(a, 0, &wanted[0], &wanted[1], &wanted[2]));
  for (int i = 0; i < 3; i++) {
    assert_true(largest(GOOD(nx_sub(results[i], wanted[i]))) == 0);
    release(results[i]);
  }
  nx_function_release(f);
}

static void unwanted(void **state) {
  (void)state;
  nx_tensor *a = tensor(NX_F64, 2, (int64_t[]){6, 4}), *r = NULL, *again = NULL, *q = NULL;
  OK(nx_qr(a, 0, NULL, &r));
  OK(nx_qr(a, 0, &q, &again));
  assert_true(largest(GOOD(nx_sub(r, again))) == 0);
  OK(nx_qr(a, 0, NULL, NULL));
}

static void untouched(void **state) {
  (void)state;
  nx_tensor *bad = tensor(NX_F32, 1, (int64_t[]){3}), *q = bad, *r = bad;
  FAILS(NX_INVALID_ARGUMENT, nx_qr(bad, 0, &q, &r));
  FAILS(NX_INVALID_ARGUMENT, nx_qr(NULL, 0, &q, &r));
  nx_tensor *half = tensor(NX_F16, 2, (int64_t[]){3, 3}),
            *single = tensor(NX_F32, 2, (int64_t[]){3, 3});
  assert_null(nx_solve(half, single, 0));
  assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
  assert_null(nx_triangular_solve(single, half, NX_LOWER));
  assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
  assert_null(nx_lstsq(half, single, -1, 0));
  assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
  FAILS(NX_INVALID_ARGUMENT, nx_slogdet(tensor(NX_F32, 2, (int64_t[]){3, 4}), &q, &r));
  assert_true(q == bad && r == bad);
  nx_tensor *a = tensor(NX_F32, 3, (int64_t[]){2, 3, 3}),
            *b = tensor(NX_F32, 3, (int64_t[]){5, 3, 1});
  assert_null(nx_solve(a, b, 0));
  nx_error e = {.size = sizeof e};
  assert_int_equal(nx_error_take(&e), NX_INVALID_ARGUMENT);
  assert_non_null(strstr(e.message, "[2,3,3] and [5,3,1] do not broadcast"));
  assert_null(nx_solve(a, tensor(NX_F32, 3, (int64_t[]){2, 4, 1}), 0));
  assert_int_equal(nx_error_take(&e), NX_INVALID_ARGUMENT);
  assert_null(nx_pinv(bad, -1));
  assert_int_equal(nx_error_take(&e), NX_INVALID_ARGUMENT);
  assert_null(nx_solve(a, NULL, 0));
  assert_int_equal(nx_error_take(&e), NX_INVALID_ARGUMENT);
  assert_int_equal(e.operand, 1);
}

static void right_sides(void **state) {
  (void)state;
  nx_tensor *a = GOOD(nx_add(tensor(NX_F64, 3, (int64_t[]){2, 5, 5}),
                             GOOD(nx_mul(GOOD(nx_eye(ctx, 0, NX_F64, 5, 5, 0)),
                                         GOOD(nx_full(ctx, 0, NX_F64, NULL, 0, NX_NUMBER(4))))))),
            *vectors = tensor(NX_F64, 2, (int64_t[]){2, 5}),
            *wide = tensor(NX_F64, 4, (int64_t[]){3, 1, 5, 2});
  nx_tensor *x = GOOD(nx_solve(a, vectors, NX_VECTORS));
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  assert_true(info.rank == 2 && info.shape[0] == 2 && info.shape[1] == 5);
  nx_tensor *back = GOOD(nx_matmul(a, GOOD(nx_reshape(x, NX_SHAPE(2, 5, 1), 0))));
  assert_true(largest(GOOD(nx_sub(GOOD(nx_reshape(back, NX_SHAPE(2, 5), 0)), vectors))) < 1e-13);
  x = GOOD(nx_solve(a, wide, 0)); /* [3,2,5,2] */
  assert_true(largest(GOOD(nx_sub(GOOD(nx_matmul(a, x)), wide))) < 1e-13);
  x = GOOD(nx_triangular_solve(a, wide, NX_UPPER | NX_ADJOINT));
  nx_tensor_describe(x, &info);
  assert_true(info.rank == 4 && info.shape[0] == 3 && info.shape[1] == 2);
  x = GOOD(nx_matmul(GOOD(nx_inv(a)), a));
  assert_true(largest(GOOD(nx_sub(x, GOOD(nx_eye(ctx, 0, NX_F64, 5, 5, 0))))) < 1e-13);
}

/* The four conditions of Moore and Penrose, the normal equations, and least norm. */
static void pseudo_inverse(void **state) {
  (void)state;
  const int64_t shapes[][3] = {{2, 7, 4}, {2, 4, 7}, {1, 6, 6}};
  for (size_t i = 0; i < 3; i++) {
    int64_t m = shapes[i][1], n = shapes[i][2];
    nx_tensor *a = tensor(NX_F64, 3, shapes[i]), *p = GOOD(nx_pinv(a, -1)),
              *b = tensor(NX_F64, 3, (int64_t[]){1, m, 2});
    nx_tensor *ap = GOOD(nx_matmul(a, p)), *pa = GOOD(nx_matmul(p, a));
    assert_true(largest(GOOD(nx_sub(GOOD(nx_matmul(ap, a)), a))) < 1e-12);
    assert_true(largest(GOOD(nx_sub(GOOD(nx_matmul(pa, p)), p))) < 1e-12);
    assert_true(largest(GOOD(nx_sub(ap, adjoint(ap)))) < 1e-12);
    assert_true(largest(GOOD(nx_sub(pa, adjoint(pa)))) < 1e-12);
    nx_tensor *x = GOOD(nx_lstsq(a, b, -1, 0)), *rest = GOOD(nx_sub(GOOD(nx_matmul(a, x)), b));
    assert_true(largest(GOOD(nx_matmul(adjoint(a), rest))) < 1e-12);
    assert_true(largest(GOOD(nx_sub(GOOD(nx_matmul(pa, x)), x))) < 1e-12);
    /* of rank 1: the large rcond cuts the rest off */
    nx_tensor *column = tensor(NX_F64, 3, (int64_t[]){1, m, 1}),
              *one = GOOD(nx_expand(column, NX_SHAPE(1, m, n)));
    x = GOOD(nx_lstsq(one, b, 1e-10, 0));
    rest = GOOD(nx_sub(GOOD(nx_matmul(one, x)), b));
    assert_true(largest(GOOD(nx_matmul(adjoint(one), rest))) < 1e-12);
  }
  float nine[9]; /* of rank 1: what rounding leaves of the other singular values counts as 0 */
  nx_tensor *ones = GOOD(nx_pinv(nx_full(ctx, 0, NX_F32, (int64_t[]){3, 3}, 2, NX_NUMBER(1)), -1));
  OK(nx_read(ones, nine, sizeof nine, NULL));
  for (int i = 0; i < 9; i++) assert_true(fabsf(nine[i] - 1 / 9.0F) < 1e-6F);
  nx_tensor *zero = GOOD(nx_pinv(tensor(NX_F32, 2, (int64_t[]){3, 0}), -1));
  OK(nx_realize(ctx, &zero, 1, NULL));
  nx_tensor *nothing = GOOD(
      nx_lstsq(tensor(NX_F32, 2, (int64_t[]){0, 3}), tensor(NX_F32, 2, (int64_t[]){0, 2}), -1, 0));
  float six[6] = {1, 1, 1, 1, 1, 1};
  OK(nx_read(nothing, six, sizeof six, NULL));
  for (int i = 0; i < 6; i++) assert_true(six[i] == 0);
}

static void small_floats(void **state) {
  (void)state;
  nx_tensor *a = GOOD(nx_cast(tensor(NX_F64, 3, (int64_t[]){2, 4, 4}), NX_BF16)), *u, *s, *vh;
  nx_tensor_info info = {.size = sizeof info};
  OK(nx_svd(a, NX_FULL_MATRICES, &u, &s, &vh));
  nx_tensor_describe(u, &info);
  assert_int_equal(info.dtype, NX_BF16);
  nx_tensor_describe(s, &info);
  assert_int_equal(info.dtype, NX_F64);
  nx_tensor *us =
      GOOD(nx_mul(u, GOOD(nx_cast(GOOD(nx_reshape(s, NX_SHAPE(2, 1, 4), 0)), NX_BF16))));
  assert_true(largest(GOOD(nx_sub(GOOD(nx_matmul(us, vh)), a))) < 0.05);
  nx_tensor *d = GOOD(nx_det(a));
  nx_tensor_describe(d, &info);
  assert_true(info.dtype == NX_BF16 && info.rank == 1);
}

/* The result has the small dtype and the bits of the one in f32, rounded once. */
static void is_rounded(nx_tensor *narrow, nx_tensor *wide, nx_dtype t) {
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(narrow, &info);
  assert_int_equal(info.dtype, t);
  nx_tensor *differ = GOOD(nx_cmpne(narrow, GOOD(nx_cast(wide, t))));
  assert_true(largest(differ) == 0);
}

static void eight_bits(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_F8E4M3, NX_F8E5M2};
  for (int k = 0; k < 2; k++) {
    nx_dtype t = types[k];
    nx_tensor *x = tensor(NX_F32, 3, (int64_t[]){2, 4, 4}),
              *b = GOOD(nx_cast(tensor(NX_F32, 3, (int64_t[]){2, 4, 3}), t)),
              *eye = GOOD(nx_mul(GOOD(nx_eye(ctx, 0, NX_F32, 4, 4, 0)), number(4)));
    nx_tensor *a = GOOD(nx_cast(GOOD(nx_add(GOOD(nx_add(x, adjoint(x))), eye)), t)), *u, *s, *vh,
              *wide_u, *wide_s, *wide_vh;
    nx_tensor *wide = GOOD(nx_cast(a, NX_F32)), *right = GOOD(nx_cast(b, NX_F32));
    is_rounded(GOOD(nx_cholesky(a, NX_UPPER)), GOOD(nx_cholesky(wide, NX_UPPER)), t);
    is_rounded(GOOD(nx_inv(a)), GOOD(nx_inv(wide)), t);
    is_rounded(GOOD(nx_det(a)), GOOD(nx_det(wide)), t);
    is_rounded(GOOD(nx_solve(a, b, 0)), GOOD(nx_solve(wide, right, 0)), t);
    is_rounded(GOOD(nx_triangular_solve(a, b, NX_UPPER)),
               GOOD(nx_triangular_solve(wide, right, NX_UPPER)), t);
    is_rounded(GOOD(nx_lstsq(a, b, 1e-3, 0)), GOOD(nx_lstsq(wide, right, 1e-3, 0)), t);
    is_rounded(GOOD(nx_pinv(a, 1e-3)), GOOD(nx_pinv(wide, 1e-3)), t);
    OK(nx_svd(a, NX_FULL_MATRICES, &u, &s, &vh));
    OK(nx_svd(wide, NX_FULL_MATRICES, &wide_u, &wide_s, &wide_vh));
    is_rounded(u, wide_u, t);
    is_rounded(s, wide_s, NX_F64);
    is_rounded(vh, wide_vh, t);
    OK(nx_qr(a, 0, &u, &s));
    OK(nx_qr(wide, 0, &wide_u, &wide_s));
    is_rounded(u, wide_u, t);
    is_rounded(s, wide_s, t);
    OK(nx_eigh(a, 0, &s, &u));
    OK(nx_eigh(wide, 0, &wide_s, &wide_u));
    is_rounded(s, wide_s, NX_F64);
    is_rounded(u, wide_u, t);
  }
}

/* ---- complex */

static nx_tensor *pairs(nx_dtype t, const int64_t *shape, int32_t rank) {
  nx_dtype part = t == NX_C64 ? NX_F32 : NX_F64;
  nx_tensor *re = tensor(part, rank, shape), *im = tensor(part, rank, shape);
  return GOOD(nx_complex(re, im));
}

static nx_tensor *conjugate(nx_tensor *x) { return GOOD(nx_conj(adjoint(x))); }

/* (2, m, k) x (2, k, n) by a sum of products. */
static nx_tensor *times(nx_tensor *a, nx_tensor *b) {
  nx_tensor_info x = {.size = sizeof x}, y = {.size = sizeof y};
  nx_tensor_describe(a, &x);
  nx_tensor_describe(b, &y);
  nx_tensor *left =
                GOOD(nx_reshape(GOOD(nx_contiguous(a)), NX_SHAPE(2, x.shape[1], x.shape[2], 1), 0)),
            *right =
                GOOD(nx_reshape(GOOD(nx_contiguous(b)), NX_SHAPE(2, 1, y.shape[1], y.shape[2]), 0));
  return GOOD(nx_reduce_sum(GOOD(nx_mul(left, right)), NX_AXES(2), 0));
}

static double size_of(nx_tensor *x) {
  double re = largest(GOOD(nx_real(x))), im = largest(GOOD(nx_imag(x)));
  return re > im ? re : im;
}

static nx_tensor *wide(nx_tensor *values, nx_dtype t) {
  return GOOD(nx_cast(GOOD(nx_reshape(values, NX_SHAPE(2, 1, 5), 0)), t));
}

/* The conditions of Moore and Penrose, the normal equations, least norm. */
static void complex_pseudo_inverse(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    nx_dtype t = i < 2 ? NX_C128 : NX_C64;
    double bound = i < 2 ? 1e-12 : 1e-3;
    int64_t m = i % 2 ? 4 : 7, n = 11 - m;
    nx_tensor *a = pairs(t, (int64_t[]){2, m, n}, 3), *b = pairs(t, (int64_t[]){2, m, 2}, 3),
              *p = GOOD(nx_pinv(a, -1)), *ap = times(a, p), *pa = times(p, a);
    assert_true(size_of(GOOD(nx_sub(times(ap, a), a))) < bound);
    assert_true(size_of(GOOD(nx_sub(times(pa, p), p))) < bound);
    assert_true(size_of(GOOD(nx_sub(ap, conjugate(ap)))) < bound);
    assert_true(size_of(GOOD(nx_sub(pa, conjugate(pa)))) < bound);
    nx_tensor *x = GOOD(nx_lstsq(a, b, -1, 0)), *rest = GOOD(nx_sub(times(a, x), b));
    assert_true(size_of(times(conjugate(a), rest)) < bound);
    assert_true(size_of(GOOD(nx_sub(times(pa, x), x))) < bound);
  }
}

static void complex_decompositions(void **state) {
  (void)state;
  for (int single = 0; single < 2; single++) {
    nx_dtype t = single ? NX_C64 : NX_C128;
    double bound = single ? 1e-4 : 1e-12;
    nx_tensor *a = pairs(t, (int64_t[]){2, 5, 5}, 3), *aa = times(a, conjugate(a)), *u, *s, *vh;
    nx_tensor *h = GOOD(nx_add(aa, GOOD(nx_eye(ctx, 0, t, 5, 5, 0)))),
              *l = GOOD(nx_cholesky(h, NX_LOWER)), *r = GOOD(nx_cholesky(h, NX_UPPER));
    assert_true(size_of(GOOD(nx_sub(times(l, conjugate(l)), h))) < bound);
    assert_true(size_of(GOOD(nx_sub(conjugate(r), l))) < bound);
    OK(nx_svd(a, NX_FULL_MATRICES, &u, &s, &vh));
    assert_true(size_of(GOOD(nx_sub(times(GOOD(nx_mul(u, wide(s, t))), vh), a))) < bound);
    OK(nx_qr(conjugate(a), NX_FULL_MATRICES, &u,
             &s)); /* a view of parts, computed where it is staged */
    assert_true(size_of(GOOD(nx_sub(times(u, s), conjugate(a)))) < bound);
    OK(nx_eigh(h, 0, &s, &u));
    assert_true(size_of(GOOD(nx_sub(times(h, u), GOOD(nx_mul(u, wide(s, t)))))) < 30 * bound);
    OK(nx_eig(a, &s, &u));
    nx_tensor *same = GOOD(nx_cast(a, NX_C128));
    assert_true(size_of(GOOD(nx_sub(times(same, u), GOOD(nx_mul(u, wide(s, NX_C128)))))) < 1e-12);
    nx_tensor *b = pairs(t, (int64_t[]){2, 5, 2}, 3), *x = GOOD(nx_solve(h, b, 0));
    assert_true(size_of(GOOD(nx_sub(times(h, x), b))) < 30 * bound);
    x = GOOD(nx_triangular_solve(l, b, NX_ADJOINT));
    assert_true(size_of(GOOD(nx_sub(times(conjugate(l), x), b))) < 30 * bound);
    x = times(GOOD(nx_inv(h)), h);
    assert_true(size_of(GOOD(nx_sub(x, GOOD(nx_eye(ctx, 0, t, 5, 5, 0))))) < 30 * bound);
  }
}

/* Real matrices with complex values; and the same bits through the interpreter. */
static void complex_results(void **state) {
  (void)state;
  nx_tensor *a = tensor(NX_F32, 3, (int64_t[]){2, 5, 5}), *w, *v;
  OK(nx_eig(a, &w, &v));
  nx_tensor *c = GOOD(nx_cast(a, NX_C128));
  assert_true(size_of(GOOD(nx_sub(times(c, v), GOOD(nx_mul(v, wide(w, NX_C128)))))) < 1e-12);
  double sums[2];
  nx_scalar s;
  OK(nx_item(GOOD(nx_reduce_sum(GOOD(nx_real(GOOD(nx_eigvals(a)))), NX_AXES(0, 1), 0)), NULL, 0, &s,
             NULL));
  sums[0] = s.v.f[0];
  OK(nx_item(GOOD(nx_reduce_sum(GOOD(nx_real(w)), NX_AXES(0, 1), 0)), NULL, 0, &s, NULL));
  sums[1] = s.v.f[0];
  assert_true(fabs(sums[0] - sums[1]) < 1e-12);
}

/* Operands that are parts of what is computed, and stored, in the same run: rows in the middle, and
 * what skips some. */
static void parts_of_results(void **state) {
  (void)state;
  nx_tensor *a = tensor(NX_F64, 3, (int64_t[]){4, 8, 8}), *y = GOOD(nx_neg(a)), *whole, *parts[2];
  const int64_t start[] = {2, 0, 0}, stop[] = {4, 8, 8}, corner[] = {1, 3, 2}, end[] = {3, 7, 6};
  parts[0] = GOOD(nx_det(GOOD(nx_shrink(y, start, stop, 3))));
  parts[1] = GOOD(nx_det(GOOD(nx_shrink(y, corner, end, 3))));
  OK(nx_realize(ctx, (nx_tensor *[]){y, parts[0], parts[1]}, 3, NULL));
  for (int i = 0; i < 2; i++) {
    whole = GOOD(nx_copy(GOOD(nx_shrink(a, i ? corner : start, i ? end : stop, 3))));
    OK(nx_realize(ctx, &whole, 1, NULL));
    double is[2], want[2];
    OK(nx_read(parts[i], is, sizeof is, NULL));
    OK(nx_read(GOOD(nx_det(whole)), want, sizeof want, NULL)); /* of even extents: the sign goes */
    for (int k = 0; k < 2; k++) assert_true(fabs(is[k] - want[k]) < 1e-12 && want[k] != 0);
  }
}

/* Singular values of at most rtol times the largest are zeros; the usual rtol grows with the
 * larger extent. */
static void which_values_count(void **state) {
  (void)state;
  enum { ROWS = 1000 };
  const double ratio = 100 * 0x1p-52; /* above twice the rounding unit, below 1000 times */
  double *tall = calloc(2 * ROWS, sizeof *tall), is[2 * ROWS];
  assert_non_null(tall);
  tall[0] = 2, tall[3] = 1;
  nx_tensor *a = GOOD(nx_empty(ctx, 0, NX_F64, NX_SHAPE(2, 2))),
            *b = GOOD(nx_empty(ctx, 0, NX_F64, NX_SHAPE(ROWS, 2)));
  OK(nx_write(a, tall, 4 * sizeof *tall, NULL));
  for (int i = 0; i < 2; i++) {
    OK(nx_read(GOOD(nx_pinv(a, i ? 0.5 : 0.49)), is, 4 * sizeof *is, NULL));
    assert_true(fabs(is[0] - 0.5) < 1e-15 && fabs(is[3] - !i) < 1e-15);
  }
  tall[0] = 1, tall[3] = ratio;
  OK(nx_write(b, tall, 2 * ROWS * sizeof *tall, NULL));
  OK(nx_write(a, tall, 4 * sizeof *tall, NULL));
  OK(nx_read(GOOD(nx_pinv(b, -1)), is, sizeof is, NULL));
  assert_true(fabs(is[0] - 1) < 1e-15 && is[ROWS + 1] == 0);
  assert_null(nx_pinv(a, NAN)); /* neither usual nor any */
  assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
  assert_null(nx_lstsq(a, a, NAN, 0));
  assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
  OK(nx_read(GOOD(nx_pinv(a, -1)), is, 4 * sizeof *is, NULL));
  assert_true(fabs(is[3] * ratio - 1) < 1e-12);
  free(tall);
}

/* A tolerance for each matrix: below 0 the usual one, NaN gives NaN; and what is none. */
static void tolerances(void **state) {
  (void)state;
  static const double diagonals[] = {2, 0, 0, 1, 2, 0, 0, 1, 2, 0, 0, 0x1p-60, 2, 0, 0, 1},
                      each[] = {0.5, 0.49, -1, (double)NAN};
  double is[16];
  nx_tensor *a = GOOD(nx_empty(ctx, 0, NX_F64, NX_SHAPE(4, 2, 2))),
            *rtol = GOOD(nx_empty(ctx, 0, NX_F64, NX_SHAPE(4))),
            *b = tensor(NX_F64, 1, (int64_t[]){2}),
            *same = GOOD(nx_full(ctx, 0, NX_F32, NX_SHAPE(3, 1), NX_NUMBER(0.75)));
  OK(nx_write(a, diagonals, sizeof diagonals, NULL));
  OK(nx_write(rtol, each, sizeof each, NULL));
  OK(nx_read(GOOD(nx_pinv_rtol(a, rtol)), is, sizeof is, NULL));
  for (int i = 0; i < 3; i++)
    assert_true(fabs(is[4 * i] - 0.5) < 1e-15 && fabs(is[4 * i + 3] - (i == 1)) < 1e-15);
  for (int i = 12; i < 16; i++) assert_true(isnan(is[i]));
  nx_tensor *three = GOOD(nx_lstsq_rtol(GOOD(nx_reshape(a, NX_SHAPE(4, 2, 2), 0)), b, same, 0)),
            *one = GOOD(nx_lstsq(a, b, 0.75, 0));
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(three, &info); /* the tolerances broadcast, too */
  assert_true(info.rank == 3 && info.shape[0] == 3 && info.shape[1] == 4 && info.shape[2] == 2);
  assert_true(largest(GOOD(nx_sub(three, one))) == 0);
  assert_null(nx_pinv_rtol(a, GOOD(nx_full(ctx, 0, NX_I32, NULL, 0, NX_INTEGER(1)))));
  assert_int_equal(nx_error_take(NULL), NX_UNSUPPORTED_DTYPE);
  assert_null(nx_lstsq_rtol(a, b, tensor(NX_F64, 1, (int64_t[]){3}), 0));
  nx_error e = {.size = sizeof e};
  assert_int_equal(nx_error_take(&e), NX_INVALID_ARGUMENT);
  assert_int_equal(e.operand, 2);
  assert_non_null(strstr(e.message, "[3] do not broadcast with the matrices of the shape [4,2,2]"));
}

/* Values of the operand's precision are those of f64, rounded. */
static void precision_of_values(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_F16, NX_F32, NX_F64, NX_C64, NX_C128},
                        parts[] = {NX_F16, NX_F32, NX_F64, NX_F32, NX_F64};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    nx_tensor *a = tensor(types[i], 2, (int64_t[]){4, 4}), *s, *wide, *vectors;
    nx_tensor_info info = {.size = sizeof info};
    for (int k = 0; k < 3; k++) {
      if (k == 0) OK(nx_svd(a, NX_INPUT_PRECISION, NULL, &s, NULL));
      if (k == 0) OK(nx_svd(a, 0, NULL, &wide, NULL));
      if (k == 1) OK(nx_eigh(a, NX_INPUT_PRECISION, &s, &vectors));
      if (k == 1) OK(nx_eigh(a, 0, &wide, NULL));
      if (k == 2) s = GOOD(nx_eigvalsh(a, NX_INPUT_PRECISION)), wide = GOOD(nx_eigvalsh(a, 0));
      nx_tensor_describe(s, &info);
      assert_int_equal(info.dtype, parts[i]);
      nx_tensor_describe(wide, &info);
      assert_int_equal(info.dtype, NX_F64);
      assert_true(largest(GOOD(nx_sub(s, nx_cast(wide, parts[i])))) == 0);
    }
    nx_tensor_describe(vectors, &info);
    assert_int_equal(info.dtype, types[i]);
  }
  nx_tensor *a = tensor(NX_F32, 2, (int64_t[]){4, 4}), *s;
  FAILS(NX_INVALID_ARGUMENT, nx_eigh(a, NX_FULL_MATRICES, &s, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_svd(a, NX_UPPER, NULL, &s, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_qr(a, NX_INPUT_PRECISION, &s, NULL));
  assert_null(nx_cholesky(a, NX_ADJOINT));
  assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
}

NXT_MAIN(linalg_api) {
  const struct CMUnitTest tests[] = {IN_SCOPE(results_of_one_call),
                                     IN_SCOPE(results_apart),
                                     IN_SCOPE(fused_results),
                                     IN_SCOPE(results_of_functions),
                                     IN_SCOPE(unwanted),
                                     IN_SCOPE(untouched),
                                     IN_SCOPE(right_sides),
                                     IN_SCOPE(pseudo_inverse),
                                     IN_SCOPE(which_values_count),
                                     IN_SCOPE(tolerances),
                                     IN_SCOPE(precision_of_values),
                                     IN_SCOPE(small_floats),
                                     IN_SCOPE(eight_bits),
                                     IN_SCOPE(complex_pseudo_inverse),
                                     IN_SCOPE(complex_decompositions),
                                     IN_SCOPE(complex_results),
                                     IN_SCOPE(parts_of_results)};
  if (nxi_lapack_ready("test", NULL) != NX_OK) return 77; /* skipped */
  return cmocka_run_group_tests(tests, open_context, close_context);
}
