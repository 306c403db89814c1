/* SPDX-License-Identifier: ISC */
/* Tests of products in f32 of matrices of 16 bits or less on the fake device: the library reads
 * those, and no cast of them is stored. f8 goes this way, too. */
#include "cuda_products.h"

#include "tests/util/runner.h"
#include "tests/util/share.h"

static nx_tensor *wide(nx_tensor *x) { return GOOD(nx_cast(x, NX_F32)); }

/* Whether the plan multiplies matrices of that dtype to f32, with as many kernels beside that. */
static void all_read(nx_tensor **y, size_t count, const char *of, int kernels) {
  char *plan = NULL;
  int n = 0;
  OK(nx_dump(y, count, "plan", &plan));
  for (const char *at = plan; (at = strstr(at, " kernel ")) != NULL; at++) n++;
  bool good = of == NULL ? strstr(plan, " of f16") == NULL && strstr(plan, " of bf16") == NULL
                         : strstr(plan, of) != NULL;
  if (!good || (kernels >= 0 && n != kernels))
    fail_msg("not %s, %d kernels:\n%s", of, kernels, plan);
  nx_string_free(plan);
}

static void reads(nx_tensor *y, const char *of, int kernels) { all_read(&y, 1, of, kernels); }

static void halves(nx_tensor *a, nx_tensor *b, const char *of, size_t n, int64_t k, int products,
                   int kernels) {
  reads(GOOD(nx_matmul(wide(a), wide(b))), of, -1);
  product(wide(a), wide(b), NX_F32, n, k, products, kernels);
}

static void operands_of_16_bits(void **state) {
  static const nx_dtype types[] = {NX_F16, NX_BF16};
  static const char *const of[] = {" of f16", " of bf16"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    nx_dtype t = types[i];
    nx_tensor *a = NUMBERS(t, 100, M, K), *b = NUMBERS(t, 101, K, N),
              *big = NUMBERS(t, 102, 60, 70);
    halves(a, b, of[i], M * N, K, 1, 0);
    halves(turned(NUMBERS(t, 103, K, M), 2), turned(NUMBERS(t, 104, N, K), 2), of[i], M * N, K, 1,
           0);
    halves(window(big, 1, 3, M, K, 1), b, of[i], M * N, K, 1, 0);
    halves(window(big, 0, 1, M, K, 1), turned(window(big, 3, 1, N, K, 1), 2), of[i], M * N, K, 1,
           0);
    halves(window(big, 0, 1, M, 30, 2), NUMBERS(t, 105, 30, N), of[i], M * N, 30, 1,
           1); /* copied */
    product(turned(wide(NUMBERS(t, 103, K, M)), 2), wide(b), NX_F32, M * N, K, 1, 0);
    halves(a, turned(a, 2), of[i], M * M, K, 1, 0);
    halves(NUMBERS(t, 106, 2, 3, M, K), b, of[i], 6 * M * N, K, 1, 0);
    halves(NUMBERS(t, 107, 3, M, K), NUMBERS(t, 108, 3, K, N), of[i], 3 * M * N, K, 1, 0);
  }
  nx_tensor *f8 = NUMBERS(NX_F8E4M3, 109, M, K), *f16 = NUMBERS(NX_F16, 110, K, N),
            *bf16 = NUMBERS(NX_BF16, 111, K, N);
  halves(f8, f16, " of f16", M * N, K, 1, 1);
  halves(f8, bf16, " of bf16", M * N, K, 1, 1);
  halves(NUMBERS(NX_F16, 112, M, K), bf16, NULL, M * N, K, 1, -1); /* no type holds both */
  reads(GOOD(nx_matmul(f8, NUMBERS(NX_F8E4M3, 113, K, N))), " of f16", 3);
  reads(GOOD(nx_matmul(GOOD(nx_cast(f8, NX_F8E5M2)), NUMBERS(NX_F8E5M2, 113, K, N))), " of f16",
        -1);
}

/* All pairs of f8 numbers that are finite, and the others. */
static void all_of_f8(void **state) {
  static const nx_dtype types[] = {NX_F8E4M3, NX_F8E5M2};
  uint8_t values[256], is[256 * 256], wanted[256 * 256];
  (void)state;
  for (int i = 0; i < 256; i++) values[i] = (uint8_t)i;
  for (int i = 0; i < 2; i++) {
    nx_tensor *x = GOOD(nx_empty(ctx, 0, types[i], NX_SHAPE(256, 1)));
    OK(nx_write(x, values, sizeof values, NULL));
    nx_tensor *gpu = GOOD(nx_to_device(x, CUDA));
    OK(nx_read(GOOD(nx_matmul(gpu, turned(gpu, 2))), is, sizeof is, NULL));
    OK(nx_read(GOOD(nx_matmul(x, turned(x, 2))), wanted, sizeof wanted, NULL));
    for (int k = 0; k < 256 * 256; k++) {
      const uint8_t nan = types[i] == NX_F8E4M3 ? 0x7f : 0x7d, size = wanted[k] & 0x7f;
      if (size >= nan ? (is[k] & 0x7f) < nan : is[k] != wanted[k])
        fail_msg("%s: %02x times %02x is %02x, not %02x", nx_dtype_name(types[i]), k / 256, k % 256,
                 is[k], wanted[k]);
    }
  }
}

/* What makes an operand stores it in 16 bits, and nothing else. */
static void casts_are_not_stored(void **state) {
  nx_tensor *a = NUMBERS(NX_F8E4M3, 130, M, K), *b = NUMBERS(NX_F8E4M3, 131, K, N), *y, *both[2];
  (void)state;
  y = GOOD(nx_matmul(a, b));
  both[0] = y;
  both[1] = GOOD(nx_matmul(wide(y), turned(wide(b), 2)));
  char *kernels = NULL;
  OK(nx_dump(both, 2, "kernels", &kernels));
  assert_null(strstr(kernels, ": out f32["));
  nx_string_free(kernels);
}

/* What is around such products: the casts read by others too, operands that are computed, memory
 * that is used again after them; the same bits without fusion. */
static nx_tensor *busy(nx_tensor *a, nx_tensor *b, nx_tensor *row) {
  nx_tensor *x = GOOD(nx_mul(a, a)), *y = GOOD(nx_add(b, b)), *p = wide(x), *q = wide(y);
  nx_tensor *first = GOOD(nx_matmul(p, q)), *second = GOOD(nx_matmul(wide(GOOD(nx_neg(x))), q));
  nx_tensor *third = GOOD(nx_matmul(wide(GOOD(nx_cast(first, NX_F16))), turned(q, 2)));
  nx_tensor *sum = GOOD(nx_add(second, row)), *more = GOOD(nx_mul(GOOD(nx_add(third, p)), p));
  return GOOD(nx_matmul(turned(sum, 2), more));
}

static void around_halves(void **state) {
  enum { BYTES = N * K * sizeof(float) };
  nx_tensor *a = NUMBERS(NX_F16, 120, M, K), *b = NUMBERS(NX_F16, 121, K, N),
            *row = NUMBERS(NX_F32, 122, N);
  const char *words = getenv("NX_DEBUG");
  (void)state;
  nx_scope *own = nx_scope_begin(ctx);
  void *fused = bytes_of(busy(a, b, row), BYTES);
  nx_scope_end(own);
  OK(nx_debug_set("nofuse"));
  own = nx_scope_begin(ctx);
  void *plain = bytes_of(busy(a, b, row), BYTES);
  nx_scope_end(own);
  OK(nx_debug_set(words != NULL ? words : ""));
  assert_memory_equal(fused, plain, BYTES);
  nx_tensor *host = busy(nx_to_device(a, 0), nx_to_device(b, 0), nx_to_device(row, 0));
  float *is = fused, *wanted = bytes_of(host, BYTES);
  for (int i = 0; i < N * K; i++)
    assert_true(fabsf(is[i] - wanted[i]) <= 1e-3f * (fabsf(wanted[i]) + 100));
  free(fused);
  free(plain);
  free(wanted);
}

/* Without fusion a cast is a kernel of its own. Where nothing but products reads it it is left out,
 * else it is stored, and the product reads what it is made of all the same. */
static void casts_that_are_stored(void **state) {
  static const nx_dtype types[] = {NX_F16, NX_BF16};
  static const char *const of[] = {" of f16", " of bf16"};
  const char *words = getenv("NX_DEBUG");
  (void)state;
  OK(nx_debug_set("nofuse"));
  for (int i = 0; i < 2; i++) {
    nx_tensor *a = NUMBERS(types[i], 140, M, K), *b = NUMBERS(types[i], 141, K, N);
    nx_tensor *p = wide(a), *q = wide(b), *alone = GOOD(nx_matmul(p, q));
    nx_tensor_release(p);
    nx_tensor_release(q);
    reads(alone, of[i], 0);
    near_exact(alone, a, b, NX_F32, M * N, K);
    b = NUMBERS(types[i], 142, K, N); /* another product */
    p = wide(a);
    q = wide(b);
    nx_tensor *all[] = {GOOD(nx_matmul(p, q)), p, GOOD(nx_neg(q))};
    all_read(all, 3, of[i], 3);
    OK(nx_realize(ctx, all, 3, NULL));
    near_exact(all[0], a, b, NX_F32, M * N, K);
    float *is = bytes_of(p, M * K * sizeof *is),
          *wanted = bytes_of(wide(GOOD(nx_to_device(a, 0))), M * K * sizeof *wanted);
    assert_memory_equal(is, wanted, M * K * sizeof *is);
    free(is);
    free(wanted);
  }
  OK(nx_debug_set(words != NULL ? words : ""));
}

/* Matrices of which rows begin at odd elements are copied to even ones, if that is worth it: of the
 * operands, and of the result. */
static void odd_rows(void **state) {
  enum { ROWS = 1023, ODD = 513, EVEN = 514 };
  (void)state;
  product(NUMBERS(NX_BF16, 132, 255, 255), NUMBERS(NX_BF16, 133, 255, 255), NX_BF16, 255 * 255, 255,
          1, 0);                /* too little work */
  if (nxt_share() > 20) return; /* where a product takes tens of seconds */
  product(NUMBERS(NX_BF16, 120, ROWS, ODD), NUMBERS(NX_BF16, 121, ODD, ODD), NX_BF16, ROWS * ODD,
          ODD, 1, 3);
  product(turned(NUMBERS(NX_F16, 122, ODD, ROWS), 2), turned(NUMBERS(NX_F16, 123, EVEN, ODD), 2),
          NX_F16, ROWS * EVEN, ODD, 1, 3); /* the result has one row more in memory */
  product(NUMBERS(NX_BF16, 124, ROWS, EVEN), turned(NUMBERS(NX_BF16, 125, ODD, EVEN), 2), NX_BF16,
          ROWS * ODD, EVEN, 1, 2); /* only columns of the result */
  product(NUMBERS(NX_BF16, 126, 2, EVEN, ODD), NUMBERS(NX_BF16, 127, ODD, EVEN), NX_BF16,
          2 * EVEN * EVEN, ODD, 1, 2);
  product(window(NUMBERS(NX_BF16, 128, ROWS + 1, EVEN + 1), 1, 1, ROWS, EVEN, 1),
          NUMBERS(NX_BF16, 129, EVEN, EVEN), NX_BF16, ROWS * EVEN, EVEN, 1, 2);
  product(NUMBERS(NX_BF16, 130, ROWS, EVEN), NUMBERS(NX_BF16, 131, EVEN, EVEN), NX_BF16,
          ROWS * EVEN, EVEN, 1, 0);
}

NXT_MAIN(cuda_halves) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(operands_of_16_bits),   IN_SCOPE(all_of_f8),
      IN_SCOPE(casts_are_not_stored),  IN_SCOPE(around_halves),
      IN_SCOPE(casts_that_are_stored), IN_SCOPE(odd_rows),
  };
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
