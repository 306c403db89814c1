/* SPDX-License-Identifier: ISC */
/* Memory of a GPU that others use too: calls that need some fail by chance, though it was there a
 * moment ago. Whatever is asked for then is right or says that there is no memory; nothing is lost,
 * and it works again afterwards. And arrays of more elements than 32 bits count. */
#include "fake_device.h"

#include <sys/mman.h>

#include "tests/util/runner.h"

/* ---- others take memory */

enum { N = 40000, ROUNDS = 12 };

typedef struct tally {
  int good, refused;
} tally;

/* Records, reads, and compares with what was expected; handles are of the caller's scope. */
static void ask(nx_tensor *(*record)(nx_tensor *x), nx_tensor *x, float *wanted, int64_t n,
                tally *t) {
  static float is[N];
  nx_tensor *y = record(x);
  nx_status status = y == NULL ? NX_OUT_OF_MEMORY : nx_read(y, is, (size_t)n * sizeof *is, NULL);
  nx_error e = take();
  if (status != NX_OK) {
    if (e.status != NX_OUT_OF_MEMORY) fprintf(stderr, "%s\n", e.message);
    assert_int_equal(e.status, NX_OUT_OF_MEMORY);
    t->refused++;
    return;
  }
  t->good++;
  if (wanted[0] == 0) memcpy(wanted, is, (size_t)n * sizeof *is);
  assert_memory_equal(is, wanted, (size_t)n * sizeof *is);
}

static nx_tensor *chain(nx_tensor *x) {
  nx_tensor *s = nx_associative_scan(x, NX_SCAN_SUM, 0), *rows = NULL;
  if (s != NULL) rows = nx_reshape(nx_mul(s, x), NX_SHAPE(N / 1000, 1000), 0);
  return rows == NULL ? NULL : nx_sort(rows, 1, 0);
}
static nx_tensor *product(nx_tensor *x) {
  nx_tensor *m = nx_reshape(x, NX_SHAPE(200, 200), 0);
  return m == NULL ? NULL : nx_matmul(m, nx_permute(m, NX_AXES(1, 0)));
}
static nx_tensor *counted(nx_tensor *x) {
  nx_tensor *i = nx_cast(nx_mul(x, x), NX_I32),
            *n = nx_full(ctx, CUDA, NX_I32, &(int64_t){N}, 1, NX_INTEGER(0));
  return i == NULL || n == NULL ? NULL : nx_cast(nx_scatter(n, i, i, 0, NX_SCATTER_ADD, 0), NX_F32);
}

static void others_take_memory(void **state) {
  static float wanted[3][N];
  static nx_tensor *(*const all[])(nx_tensor *) = {chain, product, counted};
  nx_context *own = ctx;
  tally t = {0, 0};
  (void)state;
  for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
    OK(nx_context_create(NULL, &ctx));
    nx_scope *scope = nx_scope_begin(ctx);
    fake->crowd = seed == 1 ? 0 : seed * 7919; /* the first one says what is right */
    fake->delay = seed;
    for (int i = 0; i < 3; i++) {
      nx_tensor *x = nx_arange(ctx, CUDA, NX_F32, NX_NUMBER(1), NX_NUMBER(1e-3), N);
      if (x != NULL) ask(all[i], x, wanted[i], N, &t);
      else assert_int_equal(take().status, NX_OUT_OF_MEMORY);
    }
    fake->crowd = 0;
    tally after = {0, 0};
    for (int i = 0; i < 3; i++)
      ask(all[i], GOOD(nx_arange(ctx, CUDA, NX_F32, NX_NUMBER(1), NX_NUMBER(1e-3), N)), wanted[i],
          N, &after);
    assert_int_equal(after.refused, 0);
    nx_scope_end(scope);
    nx_context_release(ctx);
    fake->delay = 0;
  }
  ctx = own;
  printf("%d results, %d refusals, %lld calls without memory\n", t.good, t.refused,
         (long long)fake->crowded);
  assert_true(t.good > 3 && t.refused > 3);
}

/* A function is loaded by its first launch: memory that is kept goes for it. */
static void code_takes_memory(void **state) {
  (void)state;
  nx_tensor *x = ramp(1 << 20, 1), *y = GOOD(nx_add(x, x));
  OK(nx_realize(ctx, &y, 1, NULL));
  nx_tensor *small = ramp(3, 1);
  EXPECT(nx_mul(small, small), 0, 1, 4);
  nx_tensor_release(y);
  nx_context_collect(ctx);
  const int64_t loads = fake->loads;
  fake->most_memory = fake->memory + 4096;
  EXPECT(nx_sub(nx_mul(small, small), small), 0, 0, 2);
  assert_true(fake->loads > loads);
  fake->most_memory = 0;
}

/* ---- large arrays */

enum { STEP = 100003 };
static const int64_t large = INT64_C(2200000000); /* i8 */

static int8_t at(int64_t i) { return (int8_t)(i % STEP == 0 ? i / STEP % 100 + 1 : 0); }

/* Every STEP-th element is not 0. */
static int8_t *make_large(void) {
  int8_t *p = mmap(NULL, (size_t)large, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert_true(p != MAP_FAILED);
  for (int64_t i = 0; i < large; i += STEP) p[i] = at(i);
  return p;
}

static nx_tensor *cut(nx_tensor *x, int64_t start, int64_t count, int64_t step) {
  return GOOD(nx_slice(x, &start, &count, &step, 1));
}

/* Elements start, start + step, .. of the large array. */
static void expect_part(nx_tensor *y, int64_t start, int64_t step, int64_t n) {
  int8_t *is = malloc((size_t)n);
  assert_non_null(is);
  OK(nx_read(y, is, (size_t)n, NULL));
  for (int64_t i = 0; i < n; i++)
    if (is[i] != at(start + i * step))
      fail_msg("element %lld, of place %lld, is %d, not %d", (long long)i,
               (long long)(start + i * step), is[i], at(start + i * step));
  free(is);
}

static nx_tensor *zero(void) { return GOOD(nx_full(ctx, CUDA, NX_I8, NULL, 0, NX_INTEGER(0))); }

static void views(nx_tensor *x) {
  const int64_t n = large / STEP;
  expect_part(nx_add(cut(x, large - 5000, 5000, 1), zero()), large - 5000, 1, 5000);
  expect_part(nx_add(cut(x, 0, n, STEP), zero()), 0, STEP, n);
  expect_part(nx_add(cut(x, large - 1, n, -STEP), zero()), large - 1, -STEP, n);
  nx_tensor *flipped = GOOD(nx_flip(x, NX_AXES(0)));
  expect_part(nx_add(cut(flipped, 7, 3000, 1), zero()), large - 8, -1, 3000);
  /* Columns of matrices whose rows are far apart. */
  nx_tensor *m = GOOD(nx_reshape(x, NX_SHAPE(22000, 100000), 0));
  const int64_t first[] = {0, 99999}, count[] = {22000, 1}, one[] = {1, 1};
  expect_part(nx_add(GOOD(nx_slice(m, first, count, one, 2)), zero()), 99999, 100000, 22000);
  nx_tensor *turned = GOOD(nx_permute(m, NX_AXES(1, 0)));
  const int64_t last[] = {99990, 21000}, some[] = {1, 1000};
  expect_part(nx_add(GOOD(nx_slice(turned, last, some, one, 2)), zero()),
              INT64_C(21000) * 100000 + 99990, 100000, 1000);
}

static void gathers(nx_tensor *x) {
  const int64_t n = large / STEP;
  nx_tensor *i = GOOD(nx_arange(ctx, CUDA, NX_I64, NX_INTEGER(large - 1 - (large - 1) % STEP),
                                NX_INTEGER(-STEP), n));
  expect_part(nx_gather(x, i, 0), large - 1 - (large - 1) % STEP, -STEP, n);
  nx_tensor *m = GOOD(nx_reshape(x, NX_SHAPE(22000, 100000), 0)),
            *rows = GOOD(nx_arange(ctx, CUDA, NX_I32, NX_INTEGER(21999), NX_INTEGER(-1), 600));
  rows = GOOD(nx_expand(nx_reshape(rows, NX_SHAPE(600, 1), 0), NX_SHAPE(600, 1)));
  expect_part(nx_gather(m, rows, 0), INT64_C(21999) * 100000, -100000, 600);
}

/* Assigns and scatters that touch few elements of an array that nobody has written. */
static void writes(void) {
  const int64_t far = large - 1000, count = 1000, one = 1, n = 500;
  int8_t is[1000];
  nx_tensor *x = GOOD(nx_empty(ctx, CUDA, NX_I8, &large, 1)),
            *part = GOOD(nx_slice(x, &far, &count, &one, 1));
  OK(nx_assign(part, GOOD(nx_full(ctx, CUDA, NX_I8, &count, 1, NX_INTEGER(3)))));
  nx_tensor *places = GOOD(nx_arange(ctx, CUDA, NX_I64, NX_INTEGER(large - 1), NX_INTEGER(-2), n)),
            *updates = GOOD(nx_full(ctx, CUDA, NX_I8, &n, 1, NX_INTEGER(4)));
  OK(nx_assign(x, GOOD(nx_scatter(x, places, updates, 0, NX_SCATTER_SET, 0))));
  OK(nx_read(part, is, sizeof is, NULL));
  for (int i = 0; i < 1000; i++) assert_int_equal(is[i], i % 2 == 1 ? 4 : 3);
}

static void more_than_32_bits_count(void **state) {
  (void)state;
  int8_t *p = make_large();
  nx_import_desc d = {.size = sizeof d,
                      .base = p,
                      .bytes = (size_t)large,
                      .dtype = NX_I8,
                      .rank = 1,
                      .shape = &large,
                      .mode = NX_IMPORT_IMMUTABLE};
  nx_tensor *host = NULL;
  OK(nx_import(ctx, &d, &host));
  nx_scope *scope = nx_scope_begin(ctx);
  nx_tensor *x = GOOD(nx_to_device(host, CUDA));
  views(x);
  gathers(x);
  writes();
  nx_scope_end(scope);
  nx_tensor_release(host);
  nx_context_collect(ctx);
  munmap(p, (size_t)large);
}

NXT_MAIN(cuda_memory) {
  const struct CMUnitTest tests[] = {IN_SCOPE(others_take_memory), IN_SCOPE(code_takes_memory),
                                     IN_SCOPE(more_than_32_bits_count)};
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
