/* SPDX-License-Identifier: ISC */
/* Tests of linear algebra on the device "cuda", with a fake cuSOLVER (fake_cusolver.c) and
 * hand-written kernels. Results are compared with those of the interpreter, or checked against the
 * equations that they have to satisfy. */
#include "tests/cuda/cuda_util.h"
#include "tests/util/runner.h"

/* the interpreter executes the operations around calls, so that nothing is compiled */
enum { HOST = 1 };

/* Real and complex, of both widths; all four are in the conformance program. */
static const nx_dtype dtypes[] = {NX_F64, NX_C64};
enum { DTYPES = 2 };

static bool pairs(nx_dtype t) { return t == NX_C64 || t == NX_C128; }
static double tolerance(nx_dtype t) { return t == NX_F32 || t == NX_C64 ? 1e-4 : 1e-11; }

/* Of processors. */
static nx_tensor *matrices(nx_dtype t, int64_t count, int64_t m, int64_t n, int64_t seed) {
  return GOOD(tensor_in(ctx, HOST, t, NX_SHAPE(count, m, n), seed));
}
static nx_tensor *adjoint(nx_tensor *x, nx_dtype t) {
  nx_tensor *turned = GOOD(nx_permute(x, NX_AXES(0, 2, 1)));
  return pairs(t) ? GOOD(nx_conj(turned)) : turned;
}
static nx_tensor *identity(nx_dtype t, int64_t n) { return GOOD(nx_eye(ctx, HOST, t, n, n, 0)); }
static nx_tensor *positive(nx_dtype t, int64_t count, int64_t n) {
  nx_tensor *a = matrices(t, count, n, n, 3);
  return GOOD(nx_add(GOOD(nx_matmul(a, adjoint(a, t))), identity(t, n)));
}
static nx_tensor *regular(nx_dtype t, int64_t count, int64_t n) {
  return GOOD(nx_add(matrices(t, count, n, n, 8), identity(t, n)));
}
/* A tensor with the same bytes on the device, in separate memory, so that no kernel has to copy
 * it. */
static nx_tensor *there(nx_tensor *x) {
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  size_t bytes = (size_t)info.elements * (info.dtype == NX_C128 ? 16 : 8);
  void *host = malloc(bytes + 1);
  nx_tensor *y = GOOD(nx_empty(ctx, CUDA, info.dtype, info.shape, info.rank));
  OK(nx_read(x, host, bytes, NULL));
  OK(nx_write(y, host, bytes, NULL));
  free(host);
  return y;
}
static nx_tensor *here(nx_tensor *x) { return GOOD(nx_to_device(x, HOST)); }

static void same(nx_tensor *is, nx_tensor *wanted, nx_dtype t) {
  expect_calls(&is, 1, 1, 0);
  close_to(is, wanted, tolerance(t));
}

/* Small matrices, with a warp for each; one matrix for cuSOLVER; several for cuSOLVER; several that
 * have a block of threads each. */
static const struct {
  int64_t count, n;
} sizes[] = {{3, 5}, {1, 70}, {2, 66}, {4, 65}, {2, 1}, {2, 34}, {9, 32}, {5, 33}};
enum { SIZES = 8, QUICK = 3 };

static void factors(void **state) {
  (void)state;
  for (int s = 0; s < SIZES; s++)
    for (int i = 0; i < DTYPES; i++) {
      nx_dtype t = dtypes[i];
      int64_t count = sizes[s].count, n = sizes[s].n;
      if (s == 3 && i != 0) continue;
      nx_tensor *a = positive(t, count, n), *b = regular(t, count, n),
                *x = matrices(t, count, n, 3, 1), *one = matrices(t, count, n, 1, 5), *p = there(a),
                *q = there(b);
      for (int upper = 0; upper < 2; upper++)
        same(GOOD(nx_cholesky(p, upper ? NX_UPPER : NX_LOWER)),
             GOOD(nx_cholesky(a, upper ? NX_UPPER : NX_LOWER)), t);
      same(GOOD(nx_solve(q, there(x), 0)), GOOD(nx_solve(b, x, 0)), t);
      same(GOOD(nx_solve(q, there(one), 0)), GOOD(nx_solve(b, one, 0)), t);
      same(GOOD(nx_inv(q)), GOOD(nx_inv(b)), t);
      same(GOOD(nx_det(q)), GOOD(nx_det(b)), t);
      nx_tensor *is[2], *wanted[2];
      OK(nx_slogdet(q, &is[0], &is[1]));
      OK(nx_slogdet(b, &wanted[0], &wanted[1]));
      expect_calls(is, 2, 1, 0);
      for (int k = 0; k < 2; k++) close_to(is[k], wanted[k], tolerance(t));
      close_to(q, b, 0); /* operands are not overwritten */
    }
}

/* With a 1 behind its diagonal a matrix of 32 x 32 is one for a block of threads. Its factors have
 * the same bits there as in a warp. */
static void a_warp_gives_the_same_bits(void **state) {
  (void)state;
  for (int i = 0; i < DTYPES; i++) {
    const nx_dtype t = dtypes[i];
    const int64_t zeros[] = {0, 0, 0}, one[] = {0, 1, 1}, part[] = {3, 32, 32}, first[] = {32, 32},
                  ones[] = {1, 1, 1}, right[] = {3, 32, 40}, more[] = {0, 1, 0};
    nx_tensor *a[2] = {positive(t, 3, 32), regular(t, 3, 32)}, *x = matrices(t, 3, 32, 40, 7);
    nx_tensor *large_x = GOOD(nx_pad(x, zeros, more, 3, NX_NUMBER(0)));
    for (int k = 0; k < 2; k++) {
      nx_tensor *corner = GOOD(nx_pad(identity(t, 1), first, zeros, 2, NX_NUMBER(0)));
      nx_tensor *large = GOOD(nx_pad(a[k], zeros, one, 3, NX_NUMBER(0)));
      large = there(GOOD(nx_add(large, corner)));
      nx_tensor *is = k == 0 ? GOOD(nx_cholesky(there(a[k]), NX_LOWER))
                             : GOOD(nx_solve(there(a[k]), there(x), 0)),
                *wanted = k == 0 ? GOOD(nx_cholesky(large, NX_LOWER))
                                 : GOOD(nx_solve(large, there(large_x), 0));
      expect_calls(&is, 1, 1, 0);
      expect_calls(&wanted, 1, 1, 0);
      wanted = GOOD(nx_slice(here(wanted), zeros, k == 0 ? part : right, ones, 3));
      close_to(here(is), wanted, 0);
    }
  }
}

/* What was recorded on the GPU is computed there, also when it is the processor that wants it. */
static void late_results_are_the_gpus(void **state) {
  (void)state;
  for (int i = 0; i < DTYPES; i++) {
    nx_dtype t = dtypes[i];
    nx_tensor *a = positive(t, 3, 20), *first = GOOD(nx_cholesky(there(a), NX_LOWER)),
              *late = here(GOOD(nx_cholesky(there(a), NX_LOWER)));
    expect_calls(&first, 1, 1, 0);
    expect_calls(&late, 1, 1, 0);
    close_to(late, here(first), 0);
  }
}

static void triangles(void **state) {
  (void)state;
  for (int i = 0; i < DTYPES; i++)
    for (int form = 0; form < 8; form++) {
      bool upper = form & 1, transposed = form & 2, unit = form & 4;
      nx_tensor *a = GOOD(nx_add(positive(dtypes[i], 2, 6), identity(dtypes[i], 6))),
                *b = matrices(dtypes[i], 2, 6, form == 3 ? 40 : 2, 4);
      if (unit) a = GOOD(nx_div(a, GOOD(nx_full(ctx, HOST, dtypes[i], NULL, 0, NX_NUMBER(64)))));
      same(GOOD(nx_triangular_solve(there(a), there(b),
                                    (upper ? NX_UPPER : 0) | (transposed ? NX_ADJOINT : 0) |
                                        (unit ? NX_UNIT_DIAGONAL : 0))),
           GOOD(nx_triangular_solve(a, b,
                                    (upper ? NX_UPPER : 0) | (transposed ? NX_ADJOINT : 0) |
                                        (unit ? NX_UNIT_DIAGONAL : 0))),
           dtypes[i]);
    }
}

static void is_unitary(nx_tensor *q, nx_dtype t, int64_t n) {
  nx_tensor *x = here(q), *product = GOOD(nx_matmul(adjoint(x, t), x)),
            *difference = GOOD(nx_sub(product, identity(t, n)));
  size_t count;
  double *v = parts_of(difference, &count);
  for (size_t i = 0; i < count; i++) assert_true(fabs(v[i]) <= tolerance(t));
  free(v);
}

/* x with columns times the values. */
static nx_tensor *scaled(nx_tensor *x, nx_tensor *values, nx_dtype t, int64_t count, int64_t n) {
  nx_tensor *row = GOOD(nx_reshape(here(values), NX_SHAPE(count, 1, n), 0));
  return GOOD(nx_mul(here(x), GOOD(nx_cast(row, t))));
}

static void values_of_hermitian(void **state) {
  (void)state;
  for (int s = 0; s < QUICK; s++)
    for (int i = 0; i < DTYPES; i++) {
      nx_dtype t = dtypes[i];
      int64_t count = sizes[s].count, n = sizes[s].n;
      nx_tensor *a = matrices(t, count, n, n, 2), *whole = GOOD(nx_add(a, adjoint(a, t))),
                *p = there(whole), *out[2], *wanted = GOOD(nx_eigvalsh(whole, 0));
      OK(nx_eigh(p, 0, &out[0], &out[1]));
      expect_calls(out, 2, 1, 0);
      close_to(out[0], wanted, tolerance(t));
      is_unitary(out[1], t, n);
      nx_tensor *back =
          GOOD(nx_matmul(scaled(out[1], out[0], t, count, n), adjoint(here(out[1]), t)));
      close_to(back, whole, tolerance(t));
      same(GOOD(nx_eigvalsh(p, 0)), wanted, t);
      /* Only the lower triangle is read. */
      same(GOOD(nx_eigvalsh(there(a), 0)), GOOD(nx_eigvalsh(a, 0)), t);
    }
}

static int by_value(const void *a, const void *b) {
  const double *x = a, *y = b;
  int i = x[0] == y[0];
  return (x[i] > y[i]) - (x[i] < y[i]);
}

/* Eigenvalues of matrices of n rows come in no order. */
static nx_tensor *in_order(nx_tensor *values, int64_t matrices, int64_t n) {
  size_t count;
  double *v = parts_of(values, &count);
  assert_int_equal(count, 2 * matrices * n);
  for (int64_t i = 0; i < matrices; i++) qsort(v + 2 * i * n, (size_t)n, 2 * sizeof *v, by_value);
  nx_tensor *x = GOOD(nx_from_data(ctx, 1, NX_C128, NX_SHAPE(matrices, n), v, count * sizeof *v));
  free(v);
  return x;
}

static void values_of_general(void **state) {
  (void)state;
  for (int i = 0; i < DTYPES; i++) {
    nx_dtype t = i ? NX_C128 : NX_F64;
    nx_tensor *a = matrices(t, 2, 7, 7, 9), *wide = GOOD(nx_cast(a, NX_C128)), *out[2],
              *wanted = GOOD(nx_eigvals(a));
    OK(nx_eig(there(a), &out[0], &out[1]));
    expect_calls(out, 2, 1, 0);
    close_to(in_order(out[0], 2, 7), in_order(wanted, 2, 7), 1e-11);
    nx_tensor *alone = GOOD(nx_eigvals(there(a)));
    expect_calls(&alone, 1, 1, 0);
    close_to(in_order(alone, 2, 7), in_order(wanted, 2, 7), tolerance(t));
    close_to(GOOD(nx_matmul(wide, here(out[1]))), scaled(out[1], out[0], NX_C128, 2, 7), 1e-11);
  }
}

static void singular_values(void **state) {
  static const int64_t shapes[][3] = {{3, 5, 5},  {2, 4, 6},  {2, 7, 3}, {1, 6, 6},
                                      {1, 4, 40}, {2, 40, 3}, {2, 3, 33}};
  (void)state;
  for (int s = 0; s < 7; s++)
    for (int i = 0; i < DTYPES; i++)
      for (int full = 0; full < 2; full++) {
        nx_dtype t = dtypes[i];
        int64_t count = shapes[s][0], m = shapes[s][1], n = shapes[s][2], least = m < n ? m : n;
        nx_tensor *a = matrices(t, count, m, n, 6), *is[3], *wanted[3];
        OK(nx_svd(there(a), full ? NX_FULL_MATRICES : 0, &is[0], &is[1], &is[2]));
        OK(nx_svd(a, full ? NX_FULL_MATRICES : 0, &wanted[0], &wanted[1], &wanted[2]));
        expect_calls(is, 3, 1, 0);
        close_to(is[1], wanted[1], tolerance(t));
        is_unitary(is[0], t, full ? m : least);
        is_unitary(adjoint(here(is[2]), t), t, full ? n : least);
        nx_tensor *u = GOOD(nx_shrink(here(is[0]), (int64_t[]){0, 0, 0},
                                      (int64_t[]){count, m, least}, 3)),
                  *v = GOOD(nx_shrink(here(is[2]), (int64_t[]){0, 0, 0},
                                      (int64_t[]){count, least, n}, 3));
        close_to(GOOD(nx_matmul(scaled(u, is[1], t, count, least), v)), a, tolerance(t));
      }
}

static void orthogonal_factors(void **state) {
  static const int64_t shapes[][3] = {{3, 5, 5},   {2, 4, 6},  {2, 7, 3}, {1, 1, 1},
                                      {1, 70, 66}, {2, 5, 67}, {2, 70, 3}};
  (void)state;
  for (int s = 0; s < 7; s++)
    for (int i = 0; i < DTYPES; i++)
      for (int reduced = 0; reduced < 2; reduced++) {
        nx_dtype t = dtypes[i];
        int64_t m = shapes[s][1], n = shapes[s][2], inner = reduced && n < m ? n : m;
        nx_tensor *a = matrices(t, shapes[s][0], m, n, 7), *is[2];
        OK(nx_qr(there(a), reduced ? 0 : NX_FULL_MATRICES, &is[0], &is[1]));
        expect_calls(is, 2, 1, 0);
        is_unitary(is[0], t, inner);
        close_to(GOOD(nx_matmul(here(is[0]), here(is[1]))), a, tolerance(t));
        size_t count, parts = pairs(t) ? 2 : 1;
        double *r = parts_of(is[1], &count);
        for (size_t k = 0; k < count; k++) {
          int64_t at = (int64_t)(k / parts);
          if (at / n % inner > at % n) assert_true(r[k] == 0);
        }
        free(r);
      }
}

/* ---- matrices for which there is no result */

/* Three unit matrices; one element of the second one is changed. */
static nx_tensor *spoilt(int64_t n, int64_t row, int64_t column, double x) {
  double *v = calloc((size_t)(3 * n * n), sizeof *v);
  for (int64_t i = 0; i < 3 * n; i++) v[i / n * n * n + i % n * (n + 1)] = 1;
  v[n * n + row * n + column] = x;
  nx_tensor *a = GOOD(nx_empty(ctx, CUDA, NX_F64, NX_SHAPE(3, n, n)));
  OK(nx_write(a, v, (size_t)(3 * n * n) * sizeof *v, NULL));
  free(v);
  return a;
}

static void fails(nx_tensor *y, nx_status status) {
  nx_error e = {.size = sizeof e};
  GOOD(y);
  assert_int_equal(nx_realize(ctx, &y, 1, NULL), status);
  nx_error_take(&e);
  assert_int_equal(e.status, status);
  assert_int_equal(e.index, 1);
}

static void failures_are_found(void **state) {
  (void)state;
  for (int64_t n = 4; n <= 70; n += 66) {
    nx_tensor *u, *s, *v, *zero = spoilt(n, 2, 2, 0), *nan = spoilt(n, 3, 1, NAN),
                          *b = GOOD(tensor_in(ctx, CUDA, NX_F64, NX_SHAPE(3, n, 2), 0));
    fails(nx_cholesky(spoilt(n, 1, 1, -1), NX_LOWER), NX_NOT_POSITIVE_DEFINITE);
    fails(nx_cholesky(nan, NX_UPPER), NX_NOT_POSITIVE_DEFINITE);
    nx_tensor *twice[] = {spoilt(n, 1, 1, -1), spoilt(n, 2, 1, NAN)}; /* a batch of six */
    fails(nx_cholesky(GOOD(nx_cat(twice, 2, 0)), NX_LOWER), NX_NOT_POSITIVE_DEFINITE);
    fails(nx_cholesky(spoilt(n, n - 1, n - 1, INFINITY), NX_LOWER), NX_NOT_POSITIVE_DEFINITE);
    fails(nx_solve(zero, b, 0), NX_SINGULAR);
    fails(nx_inv(zero), NX_SINGULAR);
    fails(nx_triangular_solve(zero, b, NX_LOWER), NX_SINGULAR);
    fails(nx_eigvalsh(nan, 0), NX_NO_CONVERGENCE);
    OK(nx_realize(ctx, (nx_tensor *[]){GOOD(nx_eigvalsh(spoilt(n, 1, 3, NAN), 0))}, 1, NULL));
    OK(nx_svd(nan, 0, &u, &s, &v));
    fails(s, NX_NO_CONVERGENCE);
    fails(nx_eigvals(nan), NX_NO_CONVERGENCE);
    double det[3];
    OK(nx_read(GOOD(nx_det(zero)), det, sizeof det, NULL));
    assert_true(det[0] == 1 && det[1] == 0 && det[2] == 1);
    OK(nx_slogdet(zero, &u, &s));
    OK(nx_read(s, det, sizeof det, NULL));
    assert_true(det[0] == 0 && det[1] == -INFINITY);
  }
}

static nx_tensor *empty(int64_t count, int64_t m, int64_t n) {
  return GOOD(nx_empty(ctx, CUDA, NX_F64, NX_SHAPE(count, m, n)));
}

static void nothing_to_do(void **state) {
  (void)state;
  nx_tensor *none = empty(2, 0, 0), *q, *r, *u, *s, *v;
  double ones[2] = {0}, units[18];
  OK(nx_read(GOOD(nx_det(none)), ones, sizeof ones, NULL));
  assert_true(ones[0] == 1 && ones[1] == 1);
  OK(nx_slogdet(none, &q, &r));
  OK(nx_read(r, ones, sizeof ones, NULL));
  assert_true(ones[0] == 0 && ones[1] == 0);
  OK(nx_read(GOOD(nx_cholesky(none, NX_LOWER)), NULL, 0, NULL));
  OK(nx_read(GOOD(nx_inv(empty(0, 3, 3))), NULL, 0, NULL));
  OK(nx_read(GOOD(nx_solve(spoilt(3, 0, 0, 1), empty(3, 3, 0), 0)), NULL, 0, NULL));
  OK(nx_svd(empty(2, 3, 0), NX_FULL_MATRICES, &u, &s, &v));
  OK(nx_read(u, units, sizeof units, NULL));
  for (int i = 0; i < 18; i++) assert_true(units[i] == (i % 9 % 4 == 0));
  OK(nx_qr(empty(2, 3, 0), NX_FULL_MATRICES, &q, &r));
  OK(nx_read(q, units, sizeof units, NULL));
  for (int i = 0; i < 18; i++) assert_true(units[i] == (i % 9 % 4 == 0));
}

/* ---- each call fails */

static nx_status program(nx_context *c) {
  nx_scope *scope = nx_scope_begin(c);
  nx_status status = NX_OK;
  enum { N = 70 };
  static double v[N * N], back[N * N];
  for (int i = 0; i < N * N; i++) v[i] = (i % (N + 1) == 0) * 4.0;
  nx_tensor *a = nx_empty(c, CUDA, NX_F64, NX_SHAPE(1, N, N)),
            *b = nx_empty(c, CUDA, NX_F64, NX_SHAPE(2, 3, 3)), *out[6] = {NULL};
  if (a == NULL || b == NULL || nx_write(a, v, sizeof v, NULL) != NX_OK ||
      nx_write(b, (double[18]){1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1}, 144, NULL) !=
          NX_OK)
    status = nx_error_take(NULL);
  if (status == NX_OK && (out[0] = nx_inv(nx_cholesky(a, NX_LOWER))) == NULL)
    status = nx_error_take(NULL);
  if (status == NX_OK &&
      (nx_svd(b, NX_FULL_MATRICES, &out[1], &out[2], NULL) != NX_OK ||
       nx_eigh(b, 0, &out[3], NULL) != NX_OK || nx_qr(b, 0, NULL, &out[4]) != NX_OK))
    status = nx_error_take(NULL);
  if (status == NX_OK) status = nx_realize(c, out, 5, NULL);
  if (status == NX_OK) status = nx_read(out[0], back, sizeof back, NULL);
  for (int i = 0; i < N * N && status == NX_OK; i++) assert_true(back[i] == v[i] / 8);
  if (status != NX_OK) nx_error_take(NULL);
  if (scope != NULL) nx_scope_end(scope);
  return status;
}

static void every_call_fails(void **state) {
  (void)state;
  each_call_fails(program, false);
}

NXT_MAIN(cuda_linalg) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(factors),
      IN_SCOPE(a_warp_gives_the_same_bits),
      IN_SCOPE(late_results_are_the_gpus),
      IN_SCOPE(triangles),
      IN_SCOPE(values_of_hermitian),
      IN_SCOPE(values_of_general),
      IN_SCOPE(singular_values),
      IN_SCOPE(orthogonal_factors),
      IN_SCOPE(failures_are_found),
      IN_SCOPE(nothing_to_do),
      IN_SCOPE(every_call_fails),
  };
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
