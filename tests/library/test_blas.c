/* SPDX-License-Identifier: ISC */
/* Matrix products through OpenBLAS: values, strides, batches, epilogues, and the same bits for
 * every number of threads, with and without an epilogue. Skipped without the library. `bench` as
 * argument compares with the library's own threads. */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "ir/alloc.h"
#include "ir/target.h"
#include "nx/nx.h"
#include "runtime/library/blas/blas.h"
#include "tests/util/runner.h"

static const nxi_blas *blas; /* NULL: not installed */

static void need_library(void) {
  if (!blas) skip();
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t random_state = 1;

/* Small multiples of 1/8: products and short sums are exact, so results can be compared with ==. */
static double small_number(void) {
  random_state = random_state * 1664525 + 1013904223;
  return (double)((int)(random_state >> 20) % 17 - 8) / 8;
}

static double get(const void *p, nx_dtype t, int64_t i) {
  return t == NX_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static void put(void *p, nx_dtype t, int64_t i, double x) {
  if (t == NX_F32) ((float *)p)[i] = (float)x;
  else ((double *)p)[i] = x;
}

static void *numbers(nx_dtype t, int64_t count) {
  void *p = malloc((size_t)count * 8 + 8);
  assert_non_null(p);
  for (int64_t i = 0; i < count; i++) put(p, t, i, small_number());
  return p;
}

static void *rubbish(nx_dtype t, int64_t count) {
  void *p = malloc((size_t)count * 8 + 8);
  assert_non_null(p);
  for (int64_t i = 0; i < count; i++) put(p, t, i, NAN);
  return p;
}

/* ---- the library */

static void test_library(void **state) {
  (void)state;
  need_library();
  assert_ptr_equal(nxi_blas_get(NULL), blas);
  assert_non_null(nxi_blas_symbol("cblas_sgemm"));
  assert_null(nxi_blas_symbol("no_such_function"));
  assert_true(blas->corename[0] != 0);
  print_message("%s, core %s%s, %s\n", blas->file, blas->corename, blas->mended ? " (mended)" : "",
                blas->config);
  nxi_target t;
  if (nxi_target_for_isa("avx512", &t) && !getenv("OPENBLAS_CORETYPE") &&
      strstr(blas->config, "DYNAMIC_ARCH")) {
    assert_int_not_equal(strcmp(blas->corename, "Haswell"), 0);
    assert_int_not_equal(strcmp(blas->corename, "Prescott"), 0);
  }
}

/* Loading changes the environment for a moment only. In a process of its own each time: it happens
 * once. */
static bool in_process(const char *name) {
  char line[512];
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && !found && fgets(line, sizeof line, maps)) found = strstr(line, name) != NULL;
  if (maps) fclose(maps);
  return found;
}

/* Products that are loops of our own need no library, so a process that has no others loads none:
 * looked at by main, before anything asks for it. */
static bool multiplied, loaded;

static void multiply_first(void) {
  nx_context *c;
  nx_scalar sum = {0};
  const int64_t last[] = {1023, 1023}; /* a product that is too large to be interpreted */
  if (nx_context_create(NULL, &c) != NX_OK) return;
  nx_tensor *x = nx_full(c, 0, NX_F32, NX_SHAPE(1024, 1024), NX_NUMBER(0.5)), *y = nx_matmul(x, x);
  multiplied = nx_item(y, last, 2, &sum, NULL) == NX_OK && sum.v.f[0] == 256;
  loaded = in_process("openblas");
  nx_tensor_release(x);
  nx_tensor_release(y);
  nx_context_release(c);
}

static void test_own_products(void **state) {
  (void)state;
  need_library();
  assert_true(multiplied);
  assert_int_equal(loaded, !nxi_products_are_own());
  assert_true(in_process("openblas"));
}

static void test_environment_restored(void **state) {
  (void)state;
  need_library();
  const char *threads = getenv("OPENBLAS_NUM_THREADS");
  assert_string_equal(threads ? threads : "(unset)",
                      "7"); /* main set it before the library was loaded */
}

static void test_gemm_sizes(void **state) {
  (void)state;
  need_library();
  for (int variant = 0; variant < 8; variant++) {
    nx_dtype t = variant & 4 ? NX_F64 : NX_F32;
    bool ta = variant & 1, tb = variant & 2;
    static const int64_t sizes[][3] = {{1, 1, 1}, {5, 7, 3},    {1, 9, 4},
                                       {9, 1, 4}, {33, 17, 40}, {4, 4, 0}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
      int64_t lda = (ta ? m : k) + 2, ldb = (tb ? k : n) + 3, ldc = n + 1;
      void *a = numbers(t, 50 * 50), *b = numbers(t, 50 * 50), *c = rubbish(t, m * ldc);
      assert_int_equal(nxi_gemm(blas, t, ta, tb, m, n, k, a, lda, b, ldb, c, ldc), NX_OK);
      for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
          double sum = 0;
          for (int64_t p = 0; p < k; p++)
            sum += get(a, t, ta ? p * lda + i : i * lda + p) *
                   get(b, t, tb ? j * ldb + p : p * ldb + j);
          assert_true(get(c, t, i * ldc + j) == sum);
        }
        assert_true(isnan(get(c, t, i * ldc + n))); /* what lies between the rows is not touched */
      }
      free(a), free(b), free(c);
    }
  }
}

static void test_gemm_refuses(void **state) {
  (void)state;
  need_library();
  float x[4] = {1, 2, 3, 4}, c[4] = {9, 9, 9, 9};
  const int64_t big = (int64_t)1 << 31;
  assert_int_equal(nxi_gemm(blas, NX_F16, 0, 0, 1, 1, 1, x, 1, x, 1, c, 1), NX_UNSUPPORTED_DTYPE);
  assert_int_equal(nxi_gemm(blas, NX_F32, 0, 0, big, 1, 1, x, 1, x, 1, c, 1), NX_INVALID_ARGUMENT);
  assert_int_equal(nxi_gemm(blas, NX_F32, 0, 0, 1, big, 1, x, 1, x, big, c, big),
                   NX_INVALID_ARGUMENT);
  assert_int_equal(nxi_gemm(blas, NX_F32, 0, 0, 1, 1, big, x, big, x, 1, c, 1),
                   NX_INVALID_ARGUMENT);
  assert_int_equal(nxi_gemm(blas, NX_F32, 0, 0, 2, 2, 2, x, 1, x, 2, c, 2), NX_INVALID_ARGUMENT);
  assert_int_equal(nxi_gemm(blas, NX_F32, 0, 0, 2, 2, 2, x, 2, x, big, c, 2), NX_INVALID_ARGUMENT);
  assert_int_equal(nxi_gemm(blas, NX_F32, 0, 0, -1, 2, 2, x, 2, x, 2, c, 2), NX_INVALID_ARGUMENT);
  for (int i = 0; i < 4; i++) assert_true(c[i] == 9);
  assert_int_equal(nxi_gemm(blas, NX_F32, 0, 0, 1, 2, 2, x, big, x, 2, c, big),
                   NX_OK); /* one row: no step */
  assert_true(c[0] == 7 && c[1] == 10);
}

/* ---- tiles */

/* Many small products at once, each with buffers of the library's own: with a build that does not
 * bear it, and no lock, some are wrong. */
typedef struct crowd {
  const float *factor[2], *product[2]; /* factor[0] * factor[1], and the other way round */
  _Atomic int wrong;
} crowd;
enum { CROWD_SIZE = 40, CROWD_CALLS = 30000 };

static void one_of_many(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  crowd *w = arg;
  float c[CROWD_SIZE * CROWD_SIZE];
  for (int64_t i = begin; i < end; i++) {
    nxi_gemm(blas, NX_F32, true, true, CROWD_SIZE, CROWD_SIZE, CROWD_SIZE, w->factor[i % 2],
             CROWD_SIZE, w->factor[1 - i % 2], CROWD_SIZE, c, CROWD_SIZE);
    w->wrong += memcmp(c, w->product[i % 2], sizeof c) != 0;
  }
}

static void test_many_threads(void **state) {
  (void)state;
  need_library();
  const int64_t size = CROWD_SIZE, count = size * size;
  float *a = numbers(NX_F32, count), *b = numbers(NX_F32, count);
  float *ab = rubbish(NX_F32, count), *ba = rubbish(NX_F32, count);
  nxi_gemm(blas, NX_F32, true, true, size, size, size, a, size, b, size, ab, size);
  nxi_gemm(blas, NX_F32, true, true, size, size, size, b, size, a, size, ba, size);
  crowd w = {.factor = {a, b}, .product = {ab, ba}};
  nxi_pool *pool = NULL;
  assert_int_equal(nxi_pool_create(&(nxi_pool_options){.threads = 4}, &pool, NULL), NX_OK);
  nxi_pool_run(pool, one_of_many, &w, CROWD_CALLS, 100);
  nxi_pool_destroy(pool);
  assert_int_equal(w.wrong, 0);
  free(a), free(b), free(ab), free(ba);
}

static void test_tiles(void **state) {
  (void)state;
  for (int i = 0; i < 4000; i++) {
    int64_t v[4];
    for (int j = 0; j < 4; j++) {
      random_state = random_state * 1664525 + 1013904223;
      v[j] = (int64_t)(random_state >> 8) % ((int64_t)1 << (1 + (random_state >> 4 & 15)));
    }
    int64_t batches = v[0] + 1, m = v[1], n = v[2], k = v[3];
    nxi_tiles t = nxi_matmul_tiles(batches, m, n, k);
    assert_true(t.rows >= 1 && t.columns >= 1 && t.products >= 1 && t.products <= batches);
    assert_true(t.row_panels * t.rows >= m && (t.row_panels - 1) * t.rows < (m ? m : 1));
    assert_true(t.column_panels * t.columns >= n &&
                (t.column_panels - 1) * t.columns < (n ? n : 1));
    assert_true(t.products == 1 || t.row_panels * t.column_panels == 1);
    assert_true(t.depth >= 1 && (k <= 2048 ? t.depth >= k : t.depth >= 768));
    assert_true(t.share >= t.depth && (t.share >= k || t.share % t.depth == 0));
  }
  assert_int_equal(nxi_matmul_tiles(8, 2048, 196, 18432).depth, 1152); /* 128 channels of 9 */
  assert_int_equal(nxi_matmul_tiles(1, 64, 576, 25088).depth, 784);
  assert_int_equal(nxi_matmul_tiles(1, 40, 40, 2049).depth, 1040);
  assert_int_equal(nxi_matmul_tiles(1, 16, 16, 1 << 20).share, 1 << 16);
  nxi_tiles big = nxi_matmul_tiles(1, 1024, 1024, 1024);
  assert_true(big.row_panels * big.column_panels >= 4);
  assert_int_equal(nxi_matmul_tiles(1, 4, 4, 4).row_panels, 1);
  nxi_tiles huge =
      nxi_matmul_tiles(1, (int64_t)1 << 31, (int64_t)1 << 31, 1); /* no overflow, no long loop */
  assert_true(huge.row_panels > 1000);
}

/* ---- whole products */

typedef struct epilogue_log {
  const nxi_matmul *p;
  const nxi_matmul *reference; /* its c: what every finished row has to hold */
  _Atomic int panels, faults;
  _Atomic int8_t *seen; /* one a row of each product */
} epilogue_log;

/* Checks the rows, then adds one to them, as a fused kernel would. */
static void add_one(void *user, int worker, int64_t batch, int64_t begin, int64_t end) {
  epilogue_log *e = user;
  const nxi_matmul *p = e->p;
  if (worker < 0 || worker > 3 || begin < 0 || begin >= end || end > p->m) e->faults++;
  e->panels++;
  for (int64_t i = begin; i < end; i++) {
    if (e->seen[batch * p->m + i]++) e->faults++;
    for (int64_t j = 0; j < p->n; j++) {
      int64_t at = (batch * p->m + i) * p->c.ld + j;
      double x = get(p->c.base, p->type, at);
      if (x != get(e->reference->c.base, p->type, at)) e->faults++;
      put(p->c.base, p->type, at, x + 1);
    }
  }
}

/* One product without pool and epilogue, then with them: the same bits. */
static void check_product(nx_dtype t, int64_t batches, int64_t m, int64_t n, int64_t k, bool ta,
                          bool tb, bool broadcast) {
  int64_t shape[2] = {batches, 1}, a_strides[2] = {m * k, 0},
          b_strides[2] = {broadcast ? 0 : k * n, 0};
  int64_t c_strides[2] = {m * n, 0}, count = batches * m * n;
  nxi_matmul p = {.type = t,
                  .m = m,
                  .n = n,
                  .k = k,
                  .batch_rank = 2,
                  .batch_shape = shape,
                  .a = {numbers(t, batches * m * k), ta, ta ? m : k, a_strides},
                  .b = {numbers(t, batches * k * n), tb, tb ? k : n, b_strides},
                  .c = {rubbish(t, count), false, n, c_strides}};
  for (int64_t i = 0; i < batches * m * k; i++)
    put(p.a.base, t, i, sin((double)i)); /* sums that round */
  assert_int_equal(nxi_matmul_panels(blas, NULL, NULL, &p, NULL, NULL), NX_OK);
  for (int check = 0; check < 50 && count; check++) { /* some elements against their definition */
    random_state = random_state * 1664525 + 1013904223;
    int64_t at = (int64_t)(random_state >> 4) % count, batch = at / (m * n), i = at / n % m,
            j = at % n;
    double sum = 0, size = 0;
    for (int64_t q = 0; q < k; q++) {
      double x = get(p.a.base, t, batch * m * k + (ta ? q * m + i : i * k + q)) *
                 get(p.b.base, t, (broadcast ? 0 : batch * k * n) + (tb ? j * k + q : q * n + j));
      sum += x;
      size += fabs(x);
    }
    assert_true(fabs(get(p.c.base, t, at) - sum) <= size * (t == NX_F32 ? 1e-5 : 1e-13));
  }
  for (int threads = 1; threads <= 4; threads++) {
    nxi_pool *pool = NULL;
    assert_int_equal(nxi_pool_create(&(nxi_pool_options){.threads = threads}, &pool, NULL), NX_OK);
    nxi_matmul q = p;
    q.c.base = rubbish(t, count);
    assert_int_equal(nxi_matmul_panels(blas, pool, NULL, &q, NULL, NULL), NX_OK);
    assert_memory_equal(q.c.base, p.c.base, (size_t)(count * nxi_dtype_size(t)));
    epilogue_log log = {.p = &q, .reference = &p, .seen = calloc((size_t)(batches * m + 1), 1)};
    nxi_epilogue epilogue = {add_one, &log};
    assert_int_equal(nxi_matmul_panels(blas, pool, NULL, &q, &epilogue, NULL), NX_OK);
    assert_int_equal(log.faults, 0);
    for (int64_t i = 0; i < batches * m; i++) assert_int_equal(log.seen[i], 1);
    free((void *)log.seen);
    free(q.c.base);
    nxi_pool_destroy(pool);
  }
  free(p.a.base), free(p.b.base), free(p.c.base);
}

static void test_products(void **state) {
  (void)state;
  need_library();
  check_product(NX_F32, 1, 300, 300, 300, false, false, false);
  check_product(NX_F64, 1, 300, 300, 200, true, true, false);
  check_product(NX_F32, 1, 3, 2000, 100, false, true, false);
  check_product(NX_F32, 1, 2000, 3, 100, true, false, false);
  check_product(NX_F64, 1, 1, 700, 700, false, false, false);
  check_product(NX_F32, 7, 64, 48, 32, false, false, true);
  check_product(NX_F32, 300, 5, 6, 7, false, true, false);
  check_product(NX_F64, 3, 257, 259, 65, false, false, false);
  check_product(NX_F32, 2, 33, 44, 0, false, false, false);
  check_product(NX_F32, 0, 33, 44, 5, false, false, false);
  check_product(NX_F32, 3, 0, 44, 5, false, false, false);
  check_product(NX_F32, 1, 640, 1100, 33, false, false, false);
  check_product(NX_F64, 1, 99, 97, 100, false, false, false);  /* one tile, shared by threads */
  check_product(NX_F32, 1, 70, 90, 5003, false, false, false); /* the inner extent in pieces */
  check_product(NX_F64, 2, 120, 100, 2304, true, true, false);
  check_product(NX_F32, 1, 3, 5, 200000, false, true, false); /* and these in shares */
  check_product(NX_F64, 1, 17, 300, 30000, true, false, false);
  check_product(NX_F32, 3, 40, 36, 20011, false, true, false);
}

static int32_t stop(void *user) {
  (void)user;
  return 1;
}

static void test_refusals(void **state) {
  (void)state;
  need_library();
  float x[4] = {1, 2, 3, 4}, c[4] = {9, 9, 9, 9};
  nxi_matmul p = {.type = NX_F32,
                  .m = 2,
                  .n = 2,
                  .k = 2,
                  .a = {.base = x, .ld = 2},
                  .b = {.base = x, .ld = 2},
                  .c = {.base = c, .ld = 1}};
  nxi_diag d;
  nxi_diag_clear(&d);
  assert_int_equal(nxi_matmul_panels(blas, NULL, NULL, &p, NULL, &d), NX_INVALID_ARGUMENT);
  assert_string_equal(d.op, "matmul");
  p.c.ld = 2;
  p.type = NX_BF16;
  assert_int_equal(nxi_matmul_panels(blas, NULL, NULL, &p, NULL, NULL), NX_UNSUPPORTED_DTYPE);
  for (int i = 0; i < 4; i++) assert_true(c[i] == 9);
  p.type = NX_F32;
  assert_int_equal(nxi_matmul_panels(blas, NULL, NULL, &p, NULL, NULL), NX_OK);
  assert_true(c[0] == 7 && c[1] == 10 && c[2] == 15 && c[3] == 22);
}

/* So many products that no machine ends before the first poll. */
static void test_interrupted(void **state) {
  (void)state;
  need_library();
  enum { N = 500, PRODUCTS = 400 };
  float *a = calloc((size_t)N * N, sizeof *a), *c = calloc((size_t)N * N, sizeof *c);
  const int64_t products = PRODUCTS, same = 0;
  nxi_matmul p = {.type = NX_F32,
                  .m = N,
                  .n = N,
                  .k = N,
                  .batch_rank = 1,
                  .batch_shape = &products,
                  .a = {.base = a, .ld = N, .batch_strides = &same},
                  .b = {.base = a, .ld = N, .batch_strides = &same},
                  .c = {.base = c, .ld = N, .batch_strides = &same}};
  nxi_poll poll = {stop, NULL};
  assert_int_equal(nxi_matmul_panels(blas, NULL, &poll, &p, NULL, NULL), NX_INTERRUPTED);
  free(a), free(c);
}

static void test_out_of_memory(void **state) {
  (void)state;
  need_library();
  enum { N = 1100 };
  float *a = calloc((size_t)N * N, sizeof *a), *c = calloc((size_t)N * N, sizeof *c);
  nxi_matmul p = {.type = NX_F32,
                  .m = N,
                  .n = N,
                  .k = N,
                  .a = {.base = a, .ld = N},
                  .b = {.base = a, .ld = N},
                  .c = {.base = c, .ld = N}};
  epilogue_log log = {.p = &p, .reference = &p, .seen = calloc(N, 1)};
  nxi_epilogue epilogue = {add_one, &log};
  assert_true(nxi_matmul_tiles(1, N, N, N).column_panels > 1); /* so that it allocates */
  nxi_alloc_fail(0, false);
  assert_int_equal(nxi_matmul_panels(blas, NULL, NULL, &p, &epilogue, NULL), NX_OUT_OF_MEMORY);
  p.m = 16, p.n = 16, p.k = 30000, p.a.ld = 30000, p.b.ld = 16; /* in shares */
  assert_true(nxi_matmul_tiles(1, p.m, p.n, p.k).share < p.k);
  nxi_alloc_fail(0, false);
  assert_int_equal(nxi_matmul_panels(blas, NULL, NULL, &p, NULL, NULL), NX_OUT_OF_MEMORY);
  nxi_alloc_fail(-1, false);
  assert_int_equal(log.panels, 0);
  free((void *)log.seen);
  free(a), free(c);
}

/* ---- speed */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void bench(nxi_pool *pool, nxi_sgemm_fn peer, int m, int n, int k) {
  enum { MOST = 41 };
  double ours[MOST], theirs[MOST], flops = 2.0 * m * n * k;
  int rounds = flops > 4e9 ? 15 : MOST, inner = flops < 1e8 ? (int)(1e8 / flops) : 1;
  float *a = numbers(NX_F32, (int64_t)m * k), *b = numbers(NX_F32, (int64_t)k * n),
        *c = rubbish(NX_F32, (int64_t)m * n);
  nxi_matmul p = {.type = NX_F32,
                  .m = m,
                  .n = n,
                  .k = k,
                  .a = {.base = a, .ld = k},
                  .b = {.base = b, .ld = n},
                  .c = {.base = c, .ld = n}};
  for (int r = 0; r < rounds; r++) {
    double start = seconds();
    for (int i = 0; i < inner; i++) peer(101, 111, 111, m, n, k, 1, a, k, b, n, 0, c, n);
    theirs[r] = (seconds() - start) / inner;
    start = seconds();
    for (int i = 0; i < inner; i++) nxi_matmul_panels(blas, pool, NULL, &p, NULL, NULL);
    ours[r] = (seconds() - start) / inner;
  }
  qsort(ours, (size_t)rounds, sizeof *ours, ascending);
  qsort(theirs, (size_t)rounds, sizeof *theirs, ascending);
  nxi_tiles t = nxi_matmul_tiles(1, m, n, k);
  printf("%5d x %5d x %5d  tiles %4lld x %4lld  %6.1f GFLOP/s, own threads %6.1f, ratio %.2f\n", m,
         n, k, (long long)t.rows, (long long)t.columns, flops / ours[rounds / 2] * 1e-9,
         flops / theirs[rounds / 2] * 1e-9, theirs[rounds / 2] / ours[rounds / 2]);
  free(a), free(b), free(c);
}

/* The peer is a build with threads of its own, told the same core type. */
static int run_bench(const char *peer_file) {
  nxi_pool *pool = NULL;
  void *handle = dlopen(peer_file, RTLD_NOW | RTLD_LOCAL);
  void *symbol = handle ? dlsym(handle, "cblas_sgemm") : NULL;
  nxi_sgemm_fn peer;
  memcpy(&peer, &symbol, sizeof peer);
  if (!blas || !peer || nxi_pool_create(NULL, &pool, NULL) != NX_OK) return 1;
  printf("%s, core %s\n", blas->file, blas->corename);
  static const int sizes[][3] = {{128, 128, 128},    {256, 256, 256},    {512, 512, 512},
                                 {1024, 1024, 1024}, {2048, 2048, 2048}, {8, 3072, 768},
                                 {64, 784, 512},     {256, 3072, 768},   {4096, 64, 64}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    bench(pool, peer, sizes[i][0], sizes[i][1], sizes[i][2]);
  nxi_pool_destroy(pool);
  return 0;
}

NXT_MAIN(blas) {
  bool benching = argc > 2 && strcmp(argv[1], "bench") == 0;
  if (!benching) setenv("OPENBLAS_NUM_THREADS", "7", 1);
  if (!benching) multiply_first();
  blas = nxi_blas_get(NULL);
  if (benching) return run_bench(argv[2]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_own_products),
      cmocka_unit_test(test_library),
      cmocka_unit_test(test_environment_restored),
      cmocka_unit_test(test_gemm_sizes),
      cmocka_unit_test(test_gemm_refuses),
      cmocka_unit_test(test_many_threads),
      cmocka_unit_test(test_tiles),
      cmocka_unit_test(test_products),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_interrupted),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
