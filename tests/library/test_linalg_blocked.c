/* SPDX-License-Identifier: ISC */
/* Linear algebra of matrices large enough to be cut into tasks: each function against its
 * definition, applied to a vector; the same bits in whatever order tasks run, alone and in a batch
 * that is done matrix by matrix; failures with their index; stops between any two tasks.
 * test_linalg.c has small matrices. */
#include <string.h>

#include "linalg_util.h"
#include "runtime/record/context.h"
#include "tests/util/runner.h"

enum { MOST = 1200 };
static cd vx[MOST], vy[MOST], vz[MOST], vw[MOST];
static void draw(int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    double re = next(), im = next();
    vx[i] = re + I * im;
  }
}

/* ---- whatever is computed: order of tasks, batches, stops */

enum {
  MANY = 9,
  SIDE = 300
}; /* matrices that are done one at a time; their last panel is narrower */

/* Matrix `which` of several as the only one. */
static matrices alone(const matrices *a, int64_t which) {
  nxg_array type = a->type;
  type.shape[0] = 1;
  matrices one = room(type);
  memcpy(one.data, (char *)a->data + (size_t)which * bytes_of(&type), bytes_of(&type));
  return one;
}

static void expect_part(const outcome *one, const outcome *all, int64_t which) {
  for (int i = 0; i < NXG_CALL_RESULTS && one->results[i].data; i++) {
    const size_t bytes = bytes_of(&one->results[i].type);
    assert_memory_equal(one->results[i].data, (char *)all->results[i].data + (size_t)which * bytes,
                        bytes);
  }
}

static void stops(nxg_op op, const int64_t *attrs, const matrices *a, const matrices *b,
                  const outcome *whole) {
  for (int64_t after = 0; after < whole->tasks; after += 1 + whole->tasks / 5) {
    outcome o = call(op, attrs, a, b, (manner){false, after});
    assert_int_equal(o.status, NX_OK); /* whatever it has done; the run is over elsewhere */
    drop(&o);
  }
}

static void bits(nxg_op op, const int64_t *attrs, nx_dtype t, double diagonal, bool sides) {
  matrices a = random_matrices(t, MANY, SIDE, SIDE), b = random_matrices(t, MANY, SIDE, SIDE);
  for (int64_t k = 0; k < MANY; k++)
    for (int64_t i = 0; i < SIDE; i++) {
      const int64_t at = (k * SIDE + i) * SIDE + i;
      set(&a, at, creal(get(&a, at)) + diagonal);
    }
  outcome all = call(op, attrs, &a, sides ? &b : NULL, usual);
  assert_int_equal(all.status, NX_OK);
  for (int64_t k = 0; k < MANY; k += 4) {
    matrices one = alone(&a, k), side = alone(&b, k);
    outcome first = call(op, attrs, &one, sides ? &side : NULL, usual),
            second = call(op, attrs, &one, sides ? &side : NULL, backwards);
    assert_true(first.tasks > 1);
    expect_part(&first, &all, k);
    expect_part(&second, &all, k);
    if (k == 0) stops(op, attrs, &one, sides ? &side : NULL, &first);
    drop(&first), drop(&second), free(one.data), free(side.data);
  }
  stops(op, attrs, &a, sides ? &b : NULL, &all);
  drop(&all), free(a.data), free(b.data);
}

/* Sizes from which threads share the reductions to condensed forms, too. */
enum { SHARED_EIGH = 768, SHARED_SVD = 512 };

/* The same of one matrix, in two orders. */
static void bits_of_one(nxg_op op, nx_dtype t, int64_t n) {
  matrices a = random_matrices(t, 1, n, n);
  outcome first = call(op, NULL, &a, NULL, usual), second = call(op, NULL, &a, NULL, backwards);
  assert_true(first.status == NX_OK && first.tasks > n);
  expect_part(&second, &first, 0);
  stops(op, NULL, &a, NULL, &first);
  drop(&first), drop(&second), free(a.data);
}

static void same_bits_of_shared_reductions(void **state) {
  (void)state;
  bits_of_one(NXG_eigh, NX_F64, SHARED_EIGH);
  bits_of_one(NXG_svd, NX_F32, SHARED_SVD);
}

static void same_bits(void **state) {
  (void)state;
  static const int64_t yes[3] = {1, 1, 0};
  bits(NXG_solve, NULL, NX_F64, 0, true);
  bits(NXG_solve, NULL, NX_C64, 0, true);
  bits(NXG_inv, NULL, NX_F32, 0, false);
  bits(NXG_det, NULL, NX_F64, 0, false);
  bits(NXG_lu, NULL, NX_F64, 0, false);
  bits(NXG_lu, NULL, NX_C64, 0, false);
  bits(NXG_slogdet, NULL, NX_C128, 0, false);
  bits(NXG_triangular_solve, yes, NX_F64, 20, true);
  bits(NXG_eigh, NULL, NX_F64, 0, false);
  bits(NXG_eigh, NULL, NX_C64, 0, false);
  bits(NXG_svd, yes, NX_F32, 0, false);
  bits(NXG_svd, NULL, NX_C128, 0, false);
  bits(NXG_qr, NULL, NX_F64, 0, false);
  bits(NXG_qr, yes, NX_C64, 0, false);
}

/* ---- definitions */

static const int64_t sides[] = {256, 300, 1100};
/* The largest in f64 alone. */
#define EACH                                                     \
  for (size_t ti = 0; ti < sizeof dtypes / sizeof *dtypes; ti++) \
    for (size_t si = 0; si < 3; si++)                            \
      if (si < 2 || dtypes[ti] == NX_F64)

static void solve(void **state) {
  (void)state;
  EACH {
    const nx_dtype t = dtypes[ti];
    const int64_t n = sides[si], k = 130;
    matrices a = random_matrices(t, 1, n, n), b = random_matrices(t, 1, n, k);
    outcome o = call(NXG_solve, NULL, &a, &b, backwards);
    assert_int_equal(o.status, NX_OK);
    draw(k); /* A (X v) = B v */
    apply(&o.results[0], 0, false, vx, vy);
    apply(&a, 0, false, vy, vz);
    apply(&b, 0, false, vx, vw);
    NEAR(vz, vw, n, 100 * (double)n * unit(t) * size_of(vy, n));
    drop(&o), free(a.data), free(b.data);
  }
}

static void inv(void **state) {
  (void)state;
  EACH {
    const nx_dtype t = dtypes[ti];
    const int64_t n = sides[si];
    matrices a = random_matrices(t, 1, n, n);
    outcome o = call(NXG_inv, NULL, &a, NULL, usual);
    assert_int_equal(o.status, NX_OK);
    for (int adjoint = 0; adjoint < 2; adjoint++) {
      draw(n);
      apply(&o.results[0], 0, adjoint, vx, vy);
      apply(&a, 0, adjoint, vy, vz);
      NEAR(vz, vx, n, 100 * (double)n * unit(t) * size_of(vy, n));
    }
    drop(&o), free(a.data);
  }
}

/* Of a product of triangles with known diagonals; det(A^T) would hide a sign, so rows are exchanged
 * too. */
static void det(void **state) {
  (void)state;
  EACH {
    const nx_dtype t = dtypes[ti];
    const int64_t n = sides[si];
    matrices a = random_matrices(t, 1, n, n);
    double log_of = 0;
    cd sign = n / 2 % 2 ? -1 : 1; /* rows in opposite order */
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++) {
        const int64_t at = (n - 1 - i) * n + j;
        set(&a, at,
            i > j   ? 0
            : i < j ? get(&a, at) / 8
                    : (i % 3 ? 1.5 : -1.25) * (i % 5 ? 1 : 0.5));
        if (i != j) continue;
        log_of += log(cabs(get(&a, at)));
        sign *= get(&a, at) / cabs(get(&a, at));
      }
    outcome o = call(NXG_slogdet, NULL, &a, NULL, usual);
    assert_true(cabs(get(&o.results[0], 0) - sign) < 1e-4);
    assert_true(fabs(creal(get(&o.results[1], 0)) - log_of) < (double)n * 100 * unit(t));
    drop(&o), free(a.data);
  }
}

static void triangular(void **state) {
  (void)state;
  EACH for (int form = 0; form < 8; form++) {
    const nx_dtype t = dtypes[ti];
    const int64_t n = sides[si], k = 130, attrs[3] = {form & 1, form >> 1 & 1, form >> 2};
    if (si == 2 && form > 3) continue;
    matrices a = random_matrices(t, 1, n, n), b = random_matrices(t, 1, n, k), clean;
    for (int64_t i = 0; i < n * n; i++)
      set(&a, i, i / n == i % n ? 2 + get(&a, i) : get(&a, i) / (double)n);
    clean = alone(&a, 0);
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++) {
        if (attrs[0] ? i > j : i < j) set(&clean, i * n + j, 0), set(&a, i * n + j, NAN);
        if (attrs[2] && i == j) set(&clean, i * n + j, 1);
      }
    outcome o = call(NXG_triangular_solve, attrs, &a, &b, usual);
    assert_int_equal(o.status, NX_OK);
    draw(k);
    apply(&o.results[0], 0, false, vx, vy);
    apply(&clean, 0, attrs[1], vy, vz);
    apply(&b, 0, false, vx, vw);
    NEAR(vz, vw, n, 100 * (double)n * unit(t) * (size_of(vy, n) + size_of(vw, n)));
    drop(&o), free(a.data), free(b.data), free(clean.data);
  }
}

/* Hermitian in the lower triangle, what nobody may read above; of a size that squares leave the
 * range of. */
static matrices hermitian(nx_dtype t, int64_t n, int power) {
  matrices a = random_matrices(t, 1, n, n);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      const cd x = get(&a, i * n + j) * ldexp(1, power);
      set(&a, i * n + j, i < j ? NAN : i == j ? creal(x) : x);
    }
  return a;
}
/* y = A x of such a matrix. */
static void apply_lower(const matrices *a, const cd *x, cd *y) {
  const int64_t n = a->type.shape[2];
  for (int64_t i = 0; i < n; i++) y[i] = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) {
      const cd v = get(a, i * n + j);
      y[i] += v * x[j];
      if (j < i) y[j] += conj(v) * x[i];
    }
}

static void cholesky(void **state) {
  (void)state;
  static cd given[MOST];
  for (size_t ti = 0; ti < sizeof dtypes / sizeof *dtypes; ti++)
    for (int way = 0; way < 4; way++) {
      const nx_dtype t = dtypes[ti];
      const int64_t n = way < 2 ? 550 : 512, upper[1] = {way & 1};
      matrices a = hermitian(t, n, 0);
      for (int64_t i = 0; i < n; i++) set(&a, i * n + i, creal(get(&a, i * n + i)) + 60);
      outcome o = call(NXG_cholesky, upper, &a, NULL, usual),
              other = call(NXG_cholesky, upper, &a, NULL, backwards);
      assert_int_equal(o.status, NX_OK);
      assert_true(o.tasks > 20);
      expect_part(&o, &other, 0);
      drop(&other);
      draw(n);
      for (int64_t i = 0; i < n; i++) given[i] = vx[i];
      apply_lower(&a, given, vw); /* A x = L (L^H x), U^H (U x) */
      apply(&o.results[0], 0, !upper[0], given, vy);
      apply(&o.results[0], 0, upper[0], vy, vz);
      NEAR(vz, vw, n, 100 * (double)n * unit(t) * size_of(vw, n));
      for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
          if (upper[0] ? j < i : j > i) assert_true(get(&o.results[0], i * n + j) == 0);
      drop(&o);
      set(&a, 540 % n * n + 540 % n, -1); /* in the last panel */
      o = call(NXG_cholesky, upper, &a, NULL, usual);
      assert_int_equal(o.status, NX_NOT_POSITIVE_DEFINITE);
      drop(&o), free(a.data);
    }
}

static void check_eigh(nx_dtype t, int64_t n, int power, manner how) {
  matrices a = hermitian(t, n, power);
  outcome o = call(NXG_eigh, NULL, &a, NULL, how);
  assert_int_equal(o.status, NX_OK);
  draw(n); /* A (V x) = V (w x) */
  apply(&o.results[1], 0, false, vx, vy);
  apply_lower(&a, vy, vz);
  for (int64_t i = 0; i < n; i++) vw[i] = vx[i] * get(&o.results[0], i);
  for (int64_t i = 1; i < n; i++)
    assert_true(creal(get(&o.results[0], i)) >= creal(get(&o.results[0], i - 1)));
  static cd scaled[MOST];
  apply(&o.results[1], 0, false, vw, scaled);
  NEAR(vz, scaled, n, 100 * (double)n * unit(t) * size_of(vw, n));
  apply(&o.results[1], 0, true, vy, vz); /* V^H (V x) = x */
  NEAR(vz, vx, n, 100 * (double)n * unit(t) * size_of(vx, n));
  drop(&o), free(a.data);
}

static void eigh(void **state) {
  (void)state;
  for (size_t ti = 0; ti < sizeof dtypes / sizeof *dtypes; ti++)
    for (int way = 0; way < 4; way++) {
      const nx_dtype t = dtypes[ti];
      const bool narrow = nxi_lapack_single(t);
      const int power = way < 2 ? 0 : (way == 2 ? 1 : -1) * (narrow ? 100 : 900);
      check_eigh(t, way == 0 ? 300 : 257, power, way & 1 ? backwards : usual);
    }
  check_eigh(NX_F32, SHARED_EIGH, 0, usual);
  check_eigh(NX_F64, SHARED_EIGH + 37, 900, backwards);
}

static void check_svd(nx_dtype t, int64_t m, int64_t n, bool whole, int power, manner how) {
  const int64_t k = m < n ? m : n, full[1] = {whole};
  matrices a = random_matrices(t, 1, m, n);
  for (int64_t i = 0; i < m * n; i++) set(&a, i, get(&a, i) * ldexp(1, power));
  outcome o = call(NXG_svd, full, &a, NULL, how);
  assert_int_equal(o.status, NX_OK);
  const int64_t columns = o.results[0].type.shape[2], rows = o.results[2].type.shape[1];
  assert_true(columns == (full[0] ? m : k) && rows == (full[0] ? n : k));
  draw(n); /* A x = U (s (V x)) */
  apply(&a, 0, false, vx, vy);
  apply(&o.results[2], 0, false, vx, vz);
  for (int64_t i = 0; i < columns; i++) vz[i] = i < k ? vz[i] * get(&o.results[1], i) : 0;
  apply(&o.results[0], 0, false, vz, vw);
  NEAR(vw, vy, m, 100 * (double)(m + n) * unit(t) * size_of(vy, m));
  for (int64_t i = 1; i < k; i++)
    assert_true(creal(get(&o.results[1], i)) <= creal(get(&o.results[1], i - 1)));
  draw(columns); /* U^H (U x) = x, and V (V^H x) = x */
  apply(&o.results[0], 0, false, vx, vy);
  apply(&o.results[0], 0, true, vy, vz);
  NEAR(vz, vx, columns, 100 * (double)m * unit(t) * size_of(vx, columns));
  draw(rows);
  apply(&o.results[2], 0, true, vx, vy);
  apply(&o.results[2], 0, false, vy, vz);
  NEAR(vz, vx, rows, 100 * (double)n * unit(t) * size_of(vx, rows));
  drop(&o), free(a.data);
}

static void svd(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{300, 300}, {256, 400}, {400, 257}};
  for (size_t ti = 0; ti < sizeof dtypes / sizeof *dtypes; ti++)
    for (int way = 0; way < 8; way++) {
      const nx_dtype t = dtypes[ti];
      const int power = way < 6 ? 0 : (way == 6 ? 1 : -1) * (nxi_lapack_single(t) ? 100 : 900);
      check_svd(t, shapes[way % 3][0], shapes[way % 3][1], way < 3, power,
                way & 1 ? backwards : usual);
    }
  check_svd(NX_F32, SHARED_SVD, SHARED_SVD, false, 0, backwards);
  check_svd(NX_F64, SHARED_SVD + 11, SHARED_SVD + 90, true, 900, usual);
}

static void qr(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{300, 300}, {270, 500}, {500, 257}};
  for (size_t ti = 0; ti < sizeof dtypes / sizeof *dtypes; ti++)
    for (int way = 0; way < 6; way++) {
      const nx_dtype t = dtypes[ti];
      const int64_t m = shapes[way % 3][0], n = shapes[way % 3][1], reduced[1] = {way < 3};
      matrices a = random_matrices(t, 1, m, n);
      outcome o = call(NXG_qr, reduced, &a, NULL, way & 1 ? backwards : usual);
      assert_int_equal(o.status, NX_OK);
      const int64_t k = o.results[0].type.shape[2];
      assert_int_equal(k, reduced[0] && n < m ? n : m);
      for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < i && j < n; j++) assert_true(get(&o.results[1], i * n + j) == 0);
      draw(n); /* A x = Q (R x) */
      apply(&a, 0, false, vx, vy);
      apply(&o.results[1], 0, false, vx, vz);
      apply(&o.results[0], 0, false, vz, vw);
      NEAR(vw, vy, m, 100 * (double)(m + n) * unit(t) * size_of(vy, m));
      draw(k); /* Q^H (Q x) = x */
      apply(&o.results[0], 0, false, vx, vy);
      apply(&o.results[0], 0, true, vy, vz);
      NEAR(vz, vx, k, 100 * (double)m * unit(t) * size_of(vx, k));
      drop(&o), free(a.data);
    }
}

/* ---- failures */

/* What is not finite does not converge. */
static void not_finite(void **state) {
  (void)state;
  static const nxg_op ops[] = {NXG_eigh, NXG_svd};
  for (int64_t batch = 4; batch <= 12; batch += 8)
    for (int i = 0; i < 2; i++) {
      matrices a = random_matrices(NX_F32, batch, 256, 256);
      for (int64_t k = 2; k < 4; k++)
        set(&a, k * 256 * 256 + 200 * 256 + 7, k == 2 ? NAN : INFINITY);
      outcome o = call(ops[i], (const int64_t[]){0, 0}, &a, NULL, usual);
      assert_int_equal(o.status, NX_NO_CONVERGENCE);
      assert_int_equal(o.index, 2);
      drop(&o), free(a.data);
    }
}

/* Zero from a pivot on that only the last panel meets: of several matrices the first bad one is
 * named. */
static void singular(void **state) {
  (void)state;
  for (int64_t batch = 4; batch <= 12; batch += 8) {
    matrices a = random_matrices(NX_F64, batch, SIDE, SIDE),
             b = random_matrices(NX_F64, batch, SIDE, 1);
    for (int64_t k = 2; k < 4; k++) /* triangular but for its rows, with one zero on the diagonal */
      for (int64_t i = 0; i < SIDE; i++)
        for (int64_t j = 0; j < SIDE; j++)
          set(&a, (k * SIDE + i) * SIDE + j,
              i == j              ? (i == 295 ? 0 : 2)
              : i < j && j != 295 ? 1
                                  : 0);
    outcome o = call(NXG_solve, NULL, &a, &b, usual);
    assert_int_equal(o.status, NX_SINGULAR);
    assert_int_equal(o.index, 2);
    drop(&o);
    o = call(NXG_inv, NULL, &a, NULL, usual);
    assert_int_equal(o.status, NX_SINGULAR);
    assert_int_equal(o.index, 2);
    drop(&o);
    o = call(NXG_det, NULL, &a, NULL, usual);
    assert_int_equal(o.status, NX_OK);
    assert_true(get(&o.results[0], 2) == 0 && get(&o.results[0], 1) != 0);
    drop(&o), free(a.data), free(b.data);
  }
}

/* ---- through the interface */

static nx_tensor *given;

static nx_tensor *square(int64_t n) {
  matrices a = random_matrices(NX_F64, 1, n, n);
  nx_tensor *x = GOOD(nx_empty(ctx, 0, NX_F64, (int64_t[]){n, n}, 2));
  OK(nx_write(x, a.data, (size_t)(n * n) * sizeof(double), NULL));
  free(a.data);
  return x;
}

static void on_threads(void **state) {
  (void)state;
  enum { N = 520 };
  nx_context *kept = ctx;
  double *data = malloc(sizeof(double) * N * N), *results[3];
  for (int64_t i = 0; i < N * N; i++) data[i] = next();
  for (int threads = 1; threads <= 3; threads++) {
    nx_context_options o = {.size = sizeof o, .cache_dir = "", .threads = threads};
    OK(nx_context_create(&o, &ctx));
    nx_tensor *x = nx_empty(ctx, 0, NX_F64, (int64_t[]){N, N}, 2), *y;
    OK(nx_write(x, data, sizeof(double) * N * N, NULL));
    y = GOOD(nx_solve(x, GOOD(nx_inv(GOOD(nx_permute(x, NX_AXES(1, 0))))), 0));
    results[threads - 1] = malloc(sizeof(double) * N * N);
    OK(nx_read(y, results[threads - 1], sizeof(double) * N * N, NULL));
    nx_tensor_release(x);
    nx_context_release(ctx);
    assert_memory_equal(results[0], results[threads - 1], sizeof(double) * N * N);
  }
  for (int i = 0; i < 3; i++) free(results[i]);
  free(data);
  ctx = kept;
}

/* The state of a call is its one allocation. */
static void no_state(void **state) {
  (void)state;
  static const nxg_op ops[] = {NXG_solve, NXG_inv,  NXG_det, NXG_cholesky,
                               NXG_qr,    NXG_eigh, NXG_svd, NXG_eig};
  const int64_t shape[2] = {600, 600}, attrs[NXG_CALL_ATTRS] = {0};
  const nxg_type types[2] = {{NX_F64, 2, shape}, {NX_F64, 2, shape}};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    nxg_call c;
    const nxg_functions *f;
    nxg_call_work work;
    nxi_diag d;
    nxi_diag_clear(&d);
    assert_int_equal(nxg_call_infer(ops[i], ops[i] == NXG_solve ? 2 : 1, types, attrs,
                                    nxg_call_attrs(ops[i]), &c, &d),
                     NX_OK);
    nxi_alloc_fail(0, false);
    const nx_status status = nxg_call_prepare(&c, &f, &work, 0, NULL, &d);
    nxi_alloc_fail(-1, false);
    assert_int_equal(status, NX_OUT_OF_MEMORY);
    assert_null(work.state);
  }
}

static void prepare_memory(void) { given = square(256); }
static nx_status solve_memory(void) {
  nx_tensor *x = nx_solve(given, given, 0);
  const nx_status status = x ? nx_realize(ctx, &x, 1, NULL) : NX_OUT_OF_MEMORY;
  nx_tensor_release(x);
  return status;
}
static void finish_memory(void) {
  OK(solve_memory());
  nx_tensor_release(given);
}

static void memory(void **state) {
  (void)state;
  each_allocation_fails(prepare_memory, solve_memory, finish_memory);
}

static int32_t poll_count(void *user) { return --*(int *)user < 0; }

/* Stopped at whichever poll, it says so, and can be done again. */
static void interrupted(void **state) {
  (void)state;
  nx_tensor *x = square(1100), *y;
  for (int polls = 0; polls < 4; polls++) {
    int left = polls;
    nx_run_options o = {.size = sizeof o, .poll = poll_count, .user = &left};
    y = GOOD(nx_solve(x, x, 0));
    const nx_status status = nx_realize(ctx, &y, 1, &o);
    assert_int_equal(nx_error_take(NULL), status);
    assert_true(status == (left < 0 ? NX_INTERRUPTED : NX_OK));
    nx_tensor_release(y);
  }
  nx_tensor_release(x);
}

NXT_MAIN(linalg_blocked) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_bits),  cmocka_unit_test(same_bits_of_shared_reductions),
      cmocka_unit_test(solve),      cmocka_unit_test(inv),
      cmocka_unit_test(det),        cmocka_unit_test(triangular),
      cmocka_unit_test(singular),   cmocka_unit_test(on_threads),
      cmocka_unit_test(cholesky),   cmocka_unit_test(eigh),
      cmocka_unit_test(svd),        cmocka_unit_test(qr),
      cmocka_unit_test(not_finite), cmocka_unit_test(no_state),
      cmocka_unit_test(memory),     cmocka_unit_test(interrupted)};
  if (nxi_lapack_ready("test", NULL) != NX_OK) return 77; /* skipped */
  return cmocka_run_group_tests(tests, open_context, close_context);
}
