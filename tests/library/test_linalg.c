/* SPDX-License-Identifier: ISC */
/* Linear algebra: each function against its definition, in all dtypes of LAPACK: residuals and
 * orthogonality within a small multiple of n times the rounding unit, shapes without elements,
 * failures with their index. These are the functions of library calls by themselves;
 * test_linalg_api.c has the interface. */
#include <complex.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/library/linalg/lapack.h"
#include "tests/util/api.h"

typedef double complex cd;

static const nx_dtype dtypes[] = {NX_F32, NX_F64, NX_C64, NX_C128};
static double unit(nx_dtype t) { return nxi_lapack_single(t) ? 0x1p-23 : 0x1p-52; }

/* ---- arrays of any dtype, seen as complex ones */

typedef struct array {
  nxg_array type;
  void *data;
} array;

static cd get(const array *a, int64_t i) {
  switch (a->type.dtype) {
    case NX_F32: return ((float *)a->data)[i];
    case NX_F64: return ((double *)a->data)[i];
    case NX_C64: return ((float *)a->data)[2 * i] + I * (double)((float *)a->data)[2 * i + 1];
    default: return ((double *)a->data)[2 * i] + I * ((double *)a->data)[2 * i + 1];
  }
}

static void set(const array *a, int64_t i, cd x) {
  switch (a->type.dtype) {
    case NX_F32: ((float *)a->data)[i] = (float)creal(x); break;
    case NX_F64: ((double *)a->data)[i] = creal(x); break;
    case NX_C64:
      ((float *)a->data)[2 * i] = (float)creal(x);
      ((float *)a->data)[2 * i + 1] = (float)cimag(x);
      break;
    default: ((double *)a->data)[2 * i] = creal(x); ((double *)a->data)[2 * i + 1] = cimag(x);
  }
}

static int64_t count(const array *a) { return nxg_elements(a->type.rank, a->type.shape); }

/* Whether arrays end where memory ends, but for their alignment; they stay until the process
 * does. */
static bool fenced;
enum { BEYOND = 1 << 20 };

static void *fenced_memory(size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), taken = (bytes + 63) & ~(size_t)63,
               pages = (taken + page - 1) & ~(page - 1);
  char *map = mmap(NULL, pages + BEYOND, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(map != MAP_FAILED);
  assert_int_equal(mprotect(map, pages, PROT_READ | PROT_WRITE), 0);
  return map + pages - taken;
}

static array make(nx_dtype t, int32_t rank, const int64_t *shape) {
  array a = {.type = {.dtype = t, .rank = rank}};
  for (int32_t i = 0; i < rank; i++) a.type.shape[i] = shape[i];
  size_t bytes = (size_t)(count(&a) * nxi_dtype_size(t));
  a.data = fenced ? fenced_memory(bytes ? bytes : 1) : malloc(bytes ? bytes : 1);
  memset(a.data, 0x7f, bytes ? bytes : 1);
  return a;
}

static uint64_t seed;
static double next(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(seed >> 33) / 0x1p30 - 1;
}

static array batch_of(nx_dtype t, int64_t batch, int64_t m, int64_t n) {
  array a = make(t, 3, (int64_t[]){batch, m, n});
  for (int64_t i = 0; i < count(&a); i++) {
    double re = next(), im = next();
    set(&a, i, re + I * im);
  }
  return a;
}

/* Matrix number `which` of an array, as m x n numbers; op: 'n', or 'h' for the adjoint. */
static cd *matrix(const array *a, int64_t which, char op) {
  int64_t m = a->type.shape[a->type.rank - 2], n = a->type.shape[a->type.rank - 1];
  cd *x = calloc((size_t)(m * n) + 1, sizeof *x);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      cd v = get(a, (which * m + i) * n + j);
      if (op == 'h') x[j * m + i] = conj(v);
      else x[i * n + j] = v;
    }
  return x;
}

static cd *product(const cd *a, const cd *b, int64_t m, int64_t k, int64_t n) {
  cd *c = calloc((size_t)(m * n) + 1, sizeof *c);
  for (int64_t i = 0; i < m; i++)
    for (int64_t p = 0; p < k; p++)
      for (int64_t j = 0; j < n; j++) c[i * n + j] += a[i * k + p] * b[p * n + j];
  return c;
}

static double norm(const cd *a, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += creal(a[i] * conj(a[i]));
  return sqrt(sum);
}

/* |a - b| is at most `bound`. */
static void expect_near_(const cd *a, const cd *b, int64_t n, double bound, int line) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    cd d = a[i] - b[i];
    sum += creal(d * conj(d));
  }
  if (!(sqrt(sum) <= bound)) fail_msg("line %d: off by %g, more than %g", line, sqrt(sum), bound);
}
#define NEAR(a, b, n, bound) expect_near_(a, b, n, bound, __LINE__)

/* The columns of q (m x n) are orthonormal. */
static void expect_orthonormal(const array *q, int64_t which, int line) {
  int64_t m = q->type.shape[q->type.rank - 2], n = q->type.shape[q->type.rank - 1];
  cd *x = matrix(q, which, 'n'), *h = matrix(q, which, 'h'), *p = product(h, x, n, m, n),
     *one = calloc((size_t)(n * n) + 1, sizeof *one);
  for (int64_t i = 0; i < n; i++) one[i * n + i] = 1;
  expect_near_(p, one, n * n, 10 * (double)(m + 1) * unit(q->type.dtype), line);
  free(x), free(h), free(p), free(one);
}
#define ORTHONORMAL(q, which) expect_orthonormal(q, which, __LINE__)

/* ---- one call */

static bool go_on(void *user) { return (void)user, false; }

typedef struct outcome {
  nx_status status;
  int64_t failed;
  array results[NXG_CALL_RESULTS];
} outcome;

static outcome call(nxg_op op, const int64_t *attrs, const array *a, const array *b) {
  outcome o = {NX_OK, -1, {{{0}, NULL}}};
  int64_t all[NXG_CALL_ATTRS] = {0};
  nxg_type types[2] = {{a->type.dtype, a->type.rank, a->type.shape}, {0}};
  if (b) types[1] = (nxg_type){b->type.dtype, b->type.rank, b->type.shape};
  size_t length;
  const uint32_t n_attrs = nxg_call_attrs(op), last = n_attrs - (nxg_call_results(op) > 1),
                 own = last - (last && !memcmp(nxg_call_key(op, last - 1, &length), "nan", 3));
  /* whoever calls gives as many. NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
  for (uint32_t i = 0; i < own; i++) all[i] = attrs[i];
  nxg_call c;
  nxi_diag d;
  nxi_diag_clear(&d);
  nx_status status = nxg_call_infer(op, b ? 2 : 1, types, all, n_attrs, &c, &d);
  if (status) fail_msg("%s", d.message);
  const nxg_functions *f;
  nxg_call_work work;
  nxi_use_libraries();
  status = nxg_call_prepare(&c, &f, &work, 0, NULL, &d);
  if (status) fail_msg("%s", d.message);
  void *operands[2] = {a->data, b ? b->data : NULL}, *results[NXG_CALL_RESULTS],
       *own_memory = fenced ? fenced_memory((size_t)work.own_bytes + 1)
                            : aligned_alloc(64, ((size_t)work.own_bytes + 64) & ~(size_t)63);
  for (uint32_t i = 0; i < c.n_results; i++) {
    o.results[i] = make(c.results[i].dtype, c.results[i].rank, c.results[i].shape);
    results[i] = o.results[i].data;
  }
  nxg_call_part part = {.call = &c,
                        .state = work.state,
                        .end = work.tasks[0],
                        .operands = operands,
                        .results = results,
                        .own = own_memory,
                        .stopped = go_on};
  o.status = f->run(&part);
  o.failed = work.split > 1 ? part.failed / work.split : part.failed;
  if (f->release) f->release(work.state);
  if (!fenced) free(own_memory);
  return o;
}

static void drop(outcome *o) {
  for (int i = 0; i < NXG_CALL_RESULTS; i++) free(o->results[i].data);
}

static const int64_t none[1] = {0};

/* ---- definitions */

enum { BATCH = 3 };
static const int64_t sizes[][2] = {{1, 1},   {2, 2},   {3, 7}, {7, 3}, {8, 8}, {33, 20},
                                   {20, 33}, {70, 70}, {0, 3}, {3, 0}, {0, 0}, {5, 1}};
#define EACH_SHAPE                                               \
  for (size_t ti = 0; ti < sizeof dtypes / sizeof *dtypes; ti++) \
    for (size_t si = 0; si < sizeof sizes / sizeof *sizes; si++)
#define SHAPE              \
  nx_dtype t = dtypes[ti]; \
  int64_t m = sizes[si][0], n = sizes[si][1]

static void qr(void **state) {
  (void)state;
  EACH_SHAPE {
    SHAPE;
    for (int64_t reduced = 0; reduced < 2; reduced++) {
      array a = batch_of(t, BATCH, m, n);
      outcome o = call(NXG_qr, &reduced, &a, NULL);
      assert_int_equal(o.status, NX_OK);
      int64_t k = o.results[0].type.shape[2];
      assert_int_equal(k, reduced && n < m ? n : m);
      for (int64_t b = 0; b < BATCH; b++) {
        cd *x = matrix(&a, b, 'n'), *q = matrix(&o.results[0], b, 'n'),
           *r = matrix(&o.results[1], b, 'n'), *p = product(q, r, m, k, n);
        NEAR(x, p, m * n, 10 * (double)(m + n) * unit(t) * (1 + norm(x, m * n)));
        ORTHONORMAL(&o.results[0], b);
        for (int64_t i = 0; i < k; i++)
          for (int64_t j = 0; j < i && j < n; j++) assert_true(r[i * n + j] == 0);
        free(x), free(q), free(r), free(p);
      }
      drop(&o), free(a.data);
    }
  }
}

static void svd(void **state) {
  (void)state;
  EACH_SHAPE {
    SHAPE;
    if (n == 70 && (t == NX_F32 || t == NX_F64)) continue; /* in stages: test_spectral.c */
    for (int64_t full = 0; full < 2; full++) {
      array a = batch_of(t, BATCH, m, n);
      outcome o = call(NXG_svd, &full, &a, NULL);
      assert_int_equal(o.status, NX_OK);
      int64_t k = m < n ? m : n, ku = o.results[0].type.shape[2], kv = o.results[2].type.shape[1];
      assert_true(ku == (full ? m : k) && kv == (full ? n : k));
      assert_int_equal(o.results[1].type.dtype, NX_F64);
      for (int64_t b = 0; b < BATCH; b++) {
        cd *x = matrix(&a, b, 'n'), *u = matrix(&o.results[0], b, 'n'),
           *v = matrix(&o.results[2], b, 'n'), *s = calloc((size_t)(ku * kv) + 1, sizeof *s);
        for (int64_t i = 0; i < k; i++) {
          s[i * kv + i] = get(&o.results[1], b * k + i);
          assert_true(creal(s[i * kv + i]) >= 0);
          if (i) assert_true(creal(s[i * kv + i]) <= creal(s[(i - 1) * kv + i - 1]));
        }
        cd *us = product(u, s, m, ku, kv), *p = product(us, v, m, kv, n);
        NEAR(x, p, m * n, 20 * (double)(m + n) * unit(t) * (1 + norm(x, m * n)));
        ORTHONORMAL(&o.results[0], b);
        array vh = make(t, 2, (int64_t[]){n, kv});
        for (int64_t i = 0; i < n * kv; i++) set(&vh, i, conj(v[i % kv * n + i / kv]));
        ORTHONORMAL(&vh, 0);
        free(vh.data), free(x), free(u), free(v), free(s), free(us), free(p);
      }
      drop(&o), free(a.data);
    }
  }
}

/* x (n x n) becomes Hermitian in the lower triangle; the upper one holds what nobody may read. */
static void only_lower(array *a, int64_t batch, int64_t n, double diagonal) {
  for (int64_t b = 0; b < batch; b++)
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = i; j < n; j++) {
        int64_t at = (b * n + i) * n + j;
        set(a, at, i == j ? creal(get(a, at)) + diagonal : NAN);
      }
}
static cd *from_lower(const array *a, int64_t which) {
  int64_t n = a->type.shape[2];
  cd *x = matrix(a, which, 'n');
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n; j++) x[i * n + j] = conj(x[j * n + i]);
  return x;
}

static void cholesky(void **state) {
  (void)state;
  EACH_SHAPE {
    SHAPE;
    (void)m;
    for (int64_t upper = 0; upper < 2; upper++) {
      array a = batch_of(t, BATCH, n, n);
      only_lower(&a, BATCH, n, 2 * (double)n + 2);
      outcome o = call(NXG_cholesky, &upper, &a, NULL);
      assert_int_equal(o.status, NX_OK);
      for (int64_t b = 0; b < BATCH; b++) {
        cd *x = from_lower(&a, b), *l = matrix(&o.results[0], b, upper ? 'h' : 'n'),
           *h = matrix(&o.results[0], b, upper ? 'n' : 'h'), *p = product(l, h, n, n, n);
        NEAR(x, p, n * n, 10 * (double)(n + 1) * unit(t) * (1 + norm(x, n * n)));
        for (int64_t i = 0; i < n; i++)
          for (int64_t j = i + 1; j < n; j++) assert_true(l[i * n + j] == 0);
        free(x), free(l), free(h), free(p);
      }
      drop(&o), free(a.data);
    }
  }
}

static void eigh(void **state) {
  (void)state;
  EACH_SHAPE {
    SHAPE;
    (void)m;
    array a = batch_of(t, BATCH, n, n);
    only_lower(&a, BATCH, n, 0);
    outcome o = call(NXG_eigh, none, &a, NULL), alone = call(NXG_eigvalsh, none, &a, NULL);
    assert_int_equal(o.status, NX_OK);
    assert_int_equal(alone.status, NX_OK);
    assert_true(o.results[0].type.dtype == NX_F64 && o.results[1].type.dtype == t);
    for (int64_t b = 0; b < BATCH; b++) {
      cd *x = from_lower(&a, b), *v = matrix(&o.results[1], b, 'n'), *xv = product(x, v, n, n, n),
         *vw = calloc((size_t)(n * n) + 1, sizeof *vw);
      double bound = 20 * (double)(n + 1) * unit(t) * (1 + norm(x, n * n));
      for (int64_t i = 0; i < n * n; i++) vw[i] = v[i] * get(&o.results[0], b * n + i % n);
      NEAR(xv, vw, n * n, bound);
      ORTHONORMAL(&o.results[1], b);
      for (int64_t i = 0; i < n; i++) {
        double w = creal(get(&o.results[0], b * n + i));
        assert_true(fabs(w - creal(get(&alone.results[0], b * n + i))) <= bound);
        if (i) assert_true(w >= creal(get(&o.results[0], b * n + i - 1)));
      }
      free(x), free(v), free(xv), free(vw);
    }
    drop(&o), drop(&alone), free(a.data);
  }
}

static void eig(void **state) {
  (void)state;
  EACH_SHAPE {
    SHAPE;
    (void)m;
    if (nxi_lapack_single(t)) continue;
    array a = batch_of(t, BATCH, n, n);
    outcome o = call(NXG_eig, none, &a, NULL), alone = call(NXG_eigvals, none, &a, NULL);
    assert_int_equal(o.status, NX_OK);
    assert_int_equal(alone.status, NX_OK);
    assert_true(o.results[0].type.dtype == NX_C128 && o.results[1].type.dtype == NX_C128);
    for (int64_t b = 0; b < BATCH; b++) {
      cd *x = matrix(&a, b, 'n'), *v = matrix(&o.results[1], b, 'n'), *xv = product(x, v, n, n, n),
         *vw = calloc((size_t)(n * n) + 1, sizeof *vw);
      double bound = 50 * (double)(n + 1) * unit(t) * (1 + norm(x, n * n));
      cd sum[2] = {0, 0}; /* the order may differ */
      for (int64_t i = 0; i < n * n; i++) vw[i] = v[i] * get(&o.results[0], b * n + i % n);
      NEAR(xv, vw, n * n, bound);
      for (int64_t j = 0; j < n; j++) {
        double length = 0;
        for (int64_t i = 0; i < n; i++) length += creal(v[i * n + j] * conj(v[i * n + j]));
        assert_true(fabs(length - 1) <= bound);
        sum[0] += get(&o.results[0], b * n + j);
        sum[1] += get(&alone.results[0], b * n + j);
      }
      assert_true(cabs(sum[0] - sum[1]) <= bound * 100);
      free(x), free(v), free(xv), free(vw);
    }
    drop(&o), drop(&alone), free(a.data);
  }
}

/* A with what triangular_solve does not read spoilt, and the matrix that it means. */
static cd *triangle(array *a, int64_t which, bool upper, bool adjoint, bool unit_diag) {
  int64_t n = a->type.shape[2];
  cd *x = calloc((size_t)(n * n) + 1, sizeof *x);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      int64_t at = (which * n + i) * n + j;
      cd v = i == j ? (unit_diag ? 1 : get(a, at)) : get(a, at);
      bool read = upper ? i <= j : j <= i;
      if (!read || (i == j && unit_diag)) set(a, at, NAN);
      if (!read) v = 0;
      x[adjoint ? j * n + i : i * n + j] = adjoint ? conj(v) : v;
    }
  return x;
}

static void triangular_solve(void **state) {
  (void)state;
  for (size_t ti = 0; ti < 4; ti++)
    for (int64_t n = 0; n <= 40; n += n < 4 ? 1 : n < 16 ? 12 : 24) /* 16: the largest small one */
      for (int64_t k = 0; k < 700; k = k ? k * 9 : 1)
        for (int variant = 0; variant < 8; variant++) {
          nx_dtype t = dtypes[ti];
          int64_t attrs[3] = {variant & 1, variant >> 1 & 1, variant >> 2};
          array a = batch_of(t, BATCH, n, n), b = batch_of(t, BATCH, n, k);
          for (int64_t i = 0; i < count(&a); i++) set(&a, i, get(&a, i) / (double)(n + 1));
          for (int64_t i = 0; i < BATCH * n; i++)
            set(&a, i * n + i % n, get(&a, i * n + i % n) + 2);
          cd *x[BATCH];
          for (int64_t i = 0; i < BATCH; i++) x[i] = triangle(&a, i, attrs[0], attrs[1], attrs[2]);
          outcome o = call(NXG_triangular_solve, attrs, &a, &b);
          assert_int_equal(o.status, NX_OK);
          for (int64_t i = 0; i < BATCH; i++) {
            cd *y = matrix(&o.results[0], i, 'n'), *p = product(x[i], y, n, n, k),
               *right = matrix(&b, i, 'n');
            NEAR(p, right, n * k,
                 10 * (double)(n + 1) * unit(t) * (1 + norm(x[i], n * n)) * (1 + norm(y, n * k)));
            free(y), free(p), free(right), free(x[i]);
          }
          drop(&o), free(a.data), free(b.data);
        }
}

static void solve_and_inv(void **state) {
  (void)state;
  for (size_t ti = 0; ti < 4; ti++)
    for (int64_t n = 0; n < 80; n += n < 4 ? 1 : 37)
      for (int64_t k = 0; k < 100; k = k ? k * 40 : 1) {
        nx_dtype t = dtypes[ti];
        array a = batch_of(t, BATCH, n, n), b = batch_of(t, BATCH, n, k);
        outcome o = call(NXG_solve, none, &a, &b), inverse = call(NXG_inv, none, &a, NULL);
        assert_int_equal(o.status, NX_OK);
        assert_int_equal(inverse.status, NX_OK);
        for (int64_t i = 0; i < BATCH; i++) {
          cd *m = matrix(&a, i, 'n'), *x = matrix(&o.results[0], i, 'n'),
             *p = product(m, x, n, n, k), *right = matrix(&b, i, 'n'),
             *v = matrix(&inverse.results[0], i, 'n'), *one = product(v, m, n, n, n),
             *wanted = calloc((size_t)(n * n) + 1, sizeof *wanted);
          double bound = 20 * (double)(n + 1) * unit(t) * (1 + norm(m, n * n));
          for (int64_t j = 0; j < n; j++) wanted[j * n + j] = 1;
          NEAR(p, right, n * k, bound * (1 + norm(x, n * k)));
          NEAR(one, wanted, n * n, bound * (1 + norm(v, n * n)));
          free(m), free(x), free(p), free(right), free(v), free(one), free(wanted);
        }
        drop(&o), drop(&inverse), free(a.data), free(b.data);
      }
}

/* By expansion along the first row. */
static cd expanded(const cd *a, int64_t n) {
  cd sum = 0, minor[36];
  if (n == 0) return 1;
  for (int64_t c = 0; c < n; c++) {
    for (int64_t i = 1; i < n; i++)
      for (int64_t j = 0, at = 0; j < n; j++)
        if (j != c) minor[(i - 1) * (n - 1) + at++] = a[i * n + j];
    sum += (c % 2 ? -1 : 1) * a[c] * expanded(minor, n - 1);
  }
  return sum;
}

static void det(void **state) {
  (void)state;
  for (size_t ti = 0; ti < 4; ti++)
    for (int64_t n = 0; n < 7; n++) {
      nx_dtype t = dtypes[ti];
      array a = batch_of(t, BATCH, n, n);
      outcome o = call(NXG_det, none, &a, NULL), s = call(NXG_slogdet, none, &a, NULL);
      for (int64_t i = 0; i < BATCH; i++) {
        cd *x = matrix(&a, i, 'n'), wanted = expanded(x, n), is = get(&o.results[0], i),
           sign = get(&s.results[0], i);
        double bound = 100 * unit(t) * (1 + pow(norm(x, n * n), (double)n));
        assert_true(cabs(is - wanted) <= bound);
        assert_true(fabs(cabs(sign) - 1) <= 4 * unit(t));
        assert_true(cabs(sign * exp(creal(get(&s.results[1], i))) - wanted) <= bound);
        free(x);
      }
      drop(&o), drop(&s), free(a.data);
    }
}

/* Products that would overflow or underflow on the way; matrices that are singular. */
static void det_corners(void **state) {
  (void)state;
  array a = make(NX_F64, 3, (int64_t[]){4, 4, 4});
  const double diagonals[4][4] = {
      {1e200, 1e200, 1e-200, 1e-190}, {1e-200, -1e-200, 1e200, 1e205}, {1, 0, 2, 3}, {2, -2, 2, 1}};
  const double wanted[4] = {1e10, -1e5, 0, -8};
  for (int64_t i = 0; i < 64; i++) set(&a, i, 0);
  for (int64_t b = 0; b < 4; b++)
    for (int64_t i = 0; i < 4; i++) set(&a, b * 16 + i * 5, diagonals[b][i]);
  outcome o = call(NXG_det, none, &a, NULL), s = call(NXG_slogdet, none, &a, NULL);
  for (int64_t b = 0; b < 4; b++) {
    assert_true(fabs(creal(get(&o.results[0], b)) - wanted[b]) <= 1e-13 * fabs(wanted[b]));
    assert_true(creal(get(&s.results[0], b)) == (wanted[b] > 0) - (wanted[b] < 0));
  }
  assert_true(creal(get(&s.results[1], 2)) == -INFINITY);
  drop(&o), drop(&s), free(a.data);
}

/* ---- failures */

static void expect_failure(nxg_op op, const int64_t *attrs, const array *a, const array *b,
                           nx_status status, int64_t index) {
  outcome o = call(op, attrs, a, b);
  if (o.status != status || o.failed != index)
    fail_msg("%s: %s at %d", nxg_ops[op].name, nx_status_name(o.status), (int)o.failed);
  drop(&o);
}

static void failures(void **state) {
  (void)state;
  const double spoils[] = {NAN, INFINITY, -INFINITY};
  for (size_t ti = 0; ti < 4; ti++)
    for (size_t k = 0; k < 3; k++) {
      nx_dtype t = dtypes[ti];
      array a = batch_of(t, BATCH, 9, 9), b = batch_of(t, BATCH, 9, 600);
      const int64_t plain[3] = {0, 0, 0}, one[3] = {1, 0, 1};
      set(&a, 81 + 4 * 9 + 2, spoils[k]); /* of the second, below the diagonal */
      expect_failure(NXG_svd, plain, &a, NULL, NX_NO_CONVERGENCE, 1);
      expect_failure(NXG_eigh, plain, &a, NULL, NX_NO_CONVERGENCE, 1);
      expect_failure(NXG_eigvalsh, plain, &a, NULL, NX_NO_CONVERGENCE, 1);
      if (!nxi_lapack_single(t)) expect_failure(NXG_eig, plain, &a, NULL, NX_NO_CONVERGENCE, 1);
      if (!nxi_lapack_single(t)) expect_failure(NXG_eigvals, plain, &a, NULL, NX_NO_CONVERGENCE, 1);
      outcome o = call(NXG_qr, one, &a, NULL), s = call(NXG_det, plain, &a, NULL);
      assert_true(o.status == NX_OK && s.status == NX_OK); /* they end */
      bool finite = true;
      for (int64_t i = 81; i < 162; i++) finite = finite && isfinite(cabs(get(&o.results[1], i)));
      assert_false(finite);
      drop(&o), drop(&s);
      for (int64_t i = 0; i < 9; i++) set(&a, 2 * 81 + i * 9 + 3, 0); /* a column of the third */
      set(&a, 81 + 4 * 9 + 2, 1);
      expect_failure(NXG_inv, plain, &a, NULL, NX_SINGULAR, 2);
      expect_failure(NXG_solve, plain, &a, &b, NX_SINGULAR, 2);
      expect_failure(NXG_triangular_solve, plain, &a, &b, NX_SINGULAR, 2);
      outcome x = call(NXG_triangular_solve, one, &a, &b); /* its diagonal is not read */
      assert_int_equal(x.status, NX_OK);
      drop(&x);
      for (int64_t i = 0; i < 9; i++) set(&a, i * 9 + i, i == 5 && k ? spoils[k] : 100);
      for (int64_t i = 0; i < 9; i++) set(&a, 81 + i * 10, i == 5 && k == 0 ? NAN : 100);
      expect_failure(NXG_cholesky, plain, &a, NULL, NX_NOT_POSITIVE_DEFINITE, k == 0);
      expect_failure(NXG_cholesky, one, &a, NULL, NX_NOT_POSITIVE_DEFINITE, k == 0);
      free(a.data), free(b.data);
    }
}

/* Sizes whose work memory LAPACK could not count are refused, not overrun. */
static void too_large(void **state) {
  (void)state;
  int64_t shape[2] = {60000, 60000}, attrs[3] = {1, 0, 0};
  nxg_call c;
  const nxg_functions *f;
  nxg_call_work work;
  nxi_diag d;
  nxg_type type = {NX_F64, 2, shape};
  nxi_diag_clear(&d);
  assert_int_equal(nxg_call_infer(NXG_svd, 1, &type, attrs, 3, &c, &d), NX_OK);
  assert_int_equal(nxg_call_prepare(&c, &f, &work, 0, NULL, &d), NX_INVALID_ARGUMENT);
  assert_non_null(strstr(d.message, "svd: a matrix is too large"));
}

/* A library may read what is not there and not use it; memory that it is given does not end
 * before. */
static void nothing_is_read_where_no_memory_is(void **state) {
  (void)state;
  static const int64_t sizes[] = {2, 5, 8, 18, 33};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  fenced = true;
  for (size_t t = 0; t < 4; t++)
    for (size_t i = 0; i < SIZES * SIZES; i++)
      for (int64_t all = 0; all < 2; all++) {
        const int64_t m = sizes[i / SIZES], n = sizes[i % SIZES];
        array a = batch_of(dtypes[t], 1, m, n);
        assert_int_equal(call(NXG_svd, &all, &a, NULL).status, NX_OK);
        assert_int_equal(call(NXG_qr, &all, &a, NULL).status, NX_OK);
        assert_int_equal(call(NXG_lu, none, &a, NULL).status, NX_OK);
        assert_int_equal(call(NXG_geqrf, none, &a, NULL).status, NX_OK);
        assert_int_equal(call(NXG_geqp3, none, &a, NULL).status, NX_OK);
        if (m != n) continue;
        array b = batch_of(dtypes[t], 1, n, 3);
        for (int64_t i1 = 0; i1 < n; i1++) set(&a, i1 * (n + 1), (double)(3 * n));
        assert_int_equal(call(NXG_cholesky, &all, &a, NULL).status, NX_OK);
        assert_int_equal(call(NXG_triangular_solve, (int64_t[]){all, 0, 0}, &a, &b).status, NX_OK);
        assert_int_equal(call(NXG_eigh, none, &a, NULL).status, NX_OK);
        assert_int_equal(call(NXG_sytrd, &all, &a, NULL).status, NX_OK);
        assert_int_equal(call(NXG_gehrd, none, &a, NULL).status, NX_OK);
        assert_int_equal(call(NXG_schur, none, &a, NULL).status, NX_OK);
        assert_int_equal(call(NXG_expm, none, &a, NULL).status, NX_OK);
        if (nxi_lapack_complex(dtypes[t]))
          assert_int_equal(call(NXG_logm, none, &a, NULL).status, NX_OK);
        if (!nxi_lapack_single(dtypes[t]))
          assert_int_equal(call(NXG_eig, none, &a, NULL).status, NX_OK);
        assert_int_equal(call(NXG_solve, none, &a, &b).status, NX_OK);
        assert_int_equal(call(NXG_inv, none, &a, NULL).status, NX_OK);
        assert_int_equal(call(NXG_det, none, &a, NULL).status, NX_OK);
      }
  fenced = false;
}

NXT_MAIN(linalg) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cholesky),      cmocka_unit_test(qr),
      cmocka_unit_test(svd),           cmocka_unit_test(eigh),
      cmocka_unit_test(eig),           cmocka_unit_test(triangular_solve),
      cmocka_unit_test(solve_and_inv), cmocka_unit_test(det),
      cmocka_unit_test(det_corners),   cmocka_unit_test(failures),
      cmocka_unit_test(too_large),     cmocka_unit_test(nothing_is_read_where_no_memory_is)};
  if (nxi_lapack_ready("test", NULL) != NX_OK) return 77; /* skipped */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
