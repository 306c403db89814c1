/* SPDX-License-Identifier: ISC */
/* Tests of products of bytes on the fake device, by kernels of tensor cores and by cuBLASLt, with
 * the numbers of the processor: types, layouts, shapes around tiles, divided inner extents,
 * batches, operands at odd addresses; in graphs; every call of the library failing once. */
#include "tests/cuda/fake_device.h"

#include <stdlib.h>

#include "runtime/cuda/library/calls.h"
#include "tests/util/runner.h"
#include "tests/util/share.h"

/* A matrix of bytes on the processor, of all values, the extremes often. */
static nx_tensor *bytes(nx_dtype t, const int64_t *shape, int32_t rank, uint32_t seed) {
  size_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= (size_t)shape[i];
  uint8_t *values = malloc(n + 1);
  assert_non_null(values);
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525 + 1013904223;
    values[i] = seed >> 30       ? (uint8_t)(seed >> 16)
                : seed >> 20 & 1 ? 0x80
                : seed >> 21 & 1 ? 0x7f
                                 : 0xff;
  }
  nx_tensor *x = GOOD(nx_empty(ctx, 0, t, shape, rank));
  OK(nx_write(x, values, n, NULL));
  free(values);
  return x;
}
#define BYTES(t, seed, ...) bytes((t), NX_SHAPE(__VA_ARGS__), (seed))

static nx_tensor *turned(nx_tensor *x) {
  const int32_t rank = nx_rank(x);
  int32_t order[NX_MAX_RANK];
  for (int32_t i = 0; i < rank; i++) order[i] = i;
  order[rank - 1] = rank - 2;
  order[rank - 2] = rank - 1;
  return GOOD(nx_permute(x, order, rank));
}

static nx_tensor *on(nx_tensor *x, bool gpu) { return gpu ? GOOD(nx_to_device(x, CUDA)) : x; }

enum { BY_KERNEL, BY_LIBRARY, GENERATED };

/* c = a b in 32 bits, where the bits of `turn` say that an operand is turned first. */
static nx_tensor *product(nx_tensor *a, nx_tensor *b, int turn, nx_dtype t, bool gpu) {
  nx_tensor *x = GOOD(nx_cast(on(a, gpu), t)), *y = GOOD(nx_cast(on(b, gpu), t));
  return GOOD(nx_matmul(turn & 1 ? turned(x) : x, turn & 2 ? turned(y) : y));
}

static void *read_all(nx_tensor *x, size_t *n) {

  *n = 4;
  for (int32_t i = 0; i < nx_rank(x); i++) *n *= (size_t)nx_shape(x)[i];
  void *values = malloc(*n + 1);
  assert_non_null(values);
  OK(nx_read(x, values, *n, NULL));
  return values;
}

static void same(nx_tensor *want, nx_tensor *got, const char *what) {
  size_t n, m;
  int32_t *x = read_all(want, &n), *y = read_all(got, &m);
  assert_int_equal(n, m);
  for (size_t i = 0; i < n / 4; i++)
    if (x[i] != y[i]) fail_msg("%s: element %zu is %d, not %d", what, i, y[i], x[i]);
  free(x);
  free(y);
}

/* Checks the numbers, and who has computed them. */
static void check(nx_tensor *a, nx_tensor *b, int turn, int how, const char *what) {
  nx_scope *own = nx_scope_begin(ctx);
  nx_tensor *want = product(a, b, turn, NX_I32, false), *got = product(a, b, turn, NX_I32, true);
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  const int64_t products = fake->products;
  OK(nx_realize(ctx, &got, 1, &o));
  assert_int_equal(report.library_calls, how != GENERATED);
  assert_int_equal(report.host_calls, 0);
  assert_int_equal(fake->products - products, how == BY_LIBRARY);
  same(want, got, what);
  nx_scope_end(own);
}

static void check_shape(nx_dtype s, nx_dtype t, int64_t m, int64_t n, int64_t k, int turn,
                        int how) {
  char what[160];
  nx_tensor *a = turn & 1 ? BYTES(s, 1, k, m) : BYTES(s, 1, m, k),
            *b = turn & 2 ? BYTES(t, 2, n, k) : BYTES(t, 2, k, n);
  snprintf(what, sizeof what, "%s x %s, %lld x %lld x %lld, turned %d", nx_dtype_name(s),
           nx_dtype_name(t), (long long)m, (long long)n, (long long)k, turn);
  check(a, b, turn, how, what);
}

/* Nearly all of the time is that of kernels, which no sanitizer looks into: then one in five. */
enum { A_FEW = SANITIZED ? 5 : 1 };
static const nx_dtype pairs[][2] = {{NX_I8, NX_I8}, {NX_I8, NX_U8}, {NX_U8, NX_I8}, {NX_U8, NX_U8}};

/* Tiles that are whole, and not; one step of the inner extent, and several. */
static void types_and_layouts(void **state) {
  static const int64_t shapes[][3] = {{64, 64, 64},  {65, 33, 67}, {16, 200, 208}, {72, 40, 48},
                                      {1, 300, 130}, {40, 72, 96}, {3, 130, 257},  {129, 1, 320}};
  (void)state;
  for (int i = 0; i < 32; i += A_FEW) {
    const int64_t *s = shapes[i / 4];
    check_shape(pairs[(i + i / 4) % 4][0], pairs[(i + i / 4) % 4][1], s[0], s[1], s[2], i % 4,
                BY_KERNEL);
  }
}

/* Shapes drawn by chance, in all layouts. */
static void by_chance(void **state) {
  uint32_t seed = 77;
  (void)state;
  for (int i = 0; i < 24; i += A_FEW) {
    int64_t s[3];
    for (int k = 0; k < 3; k++) {
      seed = seed * 1664525 + 1013904223;
      s[k] = 20 + (seed >> 16) % (k == 2 ? 180 : 120);
      if (seed >> 13 & 1) s[k] = (s[k] + 15) / 16 * 16;
    }
    if (s[0] * s[1] * s[2] < 1 << 16) continue;
    check_shape(pairs[i % 4][0], pairs[i % 4][1], s[0], s[1], s[2], (int)(seed >> 8) % 4,
                BY_KERNEL);
  }
}

/* Shares of a long inner extent are added up. */
static void divided(void **state) {
  (void)state;
  check_shape(NX_U8, NX_U8, 3, 5, 3000, 2, BY_KERNEL);
  check_shape(NX_I8, NX_U8, 20, 24, 1536, 0, BY_KERNEL);
  check_shape(NX_I8, NX_I8, 1, 17, 2048, 2, BY_KERNEL);
}

static void batches(void **state) {
  nx_tensor *a = BYTES(NX_I8, 3, 2, 3, 2, 40, 48), *b = BYTES(NX_U8, 4, 2, 3, 2, 48, 40),
            *row = BYTES(NX_U8, 5, 3, 1, 48, 40), *one = BYTES(NX_U8, 6, 48, 40),
            *outer = BYTES(NX_U8, 7, 2, 1, 2, 48, 40), *left = BYTES(NX_I8, 8, 1, 3, 1, 40, 48);
  (void)state;
  check(a, b, 0, BY_KERNEL, "all matrices");
  check(a, row, 0, BY_KERNEL, "repeated inside and outside");
  check(a, one, 0, BY_KERNEL, "one matrix");
  check(a, outer, 0, BY_KERNEL, "repeated between");
  check(left, outer, 0, BY_KERNEL, "each repeated");
  /* as many tiles as there are processors: the large ones */
  for (int turn = 0; turn < 4; turn++)
    check(turn & 1 ? BYTES(NX_I8, 9, 4, 48, 136) : BYTES(NX_I8, 9, 4, 136, 48),
          turn & 2 ? BYTES(NX_U8, 10, 4, 136, 48) : BYTES(NX_U8, 10, 4, 48, 136), turn, BY_KERNEL,
          "large tiles");
}

/* Operands begin where they are a part of something. */
static void at_odd_addresses(void **state) {
  (void)state;
  for (int64_t first = 0; first < 5; first++) {
    nx_tensor *line = BYTES(NX_I8, 11, 48 * 64 + 8), *a[2];
    for (int gpu = 0; gpu < 2; gpu++)
      a[gpu] = GOOD(nx_cast(
          GOOD(nx_reshape(part(on(line, gpu), first, 48 * 64, 1), NX_SHAPE(48, 64), 0)), NX_I32));
    nx_tensor *b = BYTES(NX_I8, 12, 40, 64), *want, *got;
    want = GOOD(nx_matmul(a[0], turned(GOOD(nx_cast(b, NX_I32)))));
    got = GOOD(nx_matmul(a[1], turned(GOOD(nx_cast(on(b, true), NX_I32)))));
    same(want, got, "at an odd address");
  }
}

/* Of the types that a product is recorded in: lower bits of the sums, or all of them. */
static void results_of_other_types(void **state) {
  nx_tensor *a = BYTES(NX_I8, 13, 50, 60), *b = BYTES(NX_I8, 14, 60, 70), *x[2], *y[2];
  (void)state;
  for (int gpu = 0; gpu < 2; gpu++) {
    x[gpu] = GOOD(nx_cast(GOOD(nx_matmul(on(a, gpu), on(b, gpu))), NX_I32));
    y[gpu] = GOOD(nx_cast(product(a, b, 0, NX_I64, gpu), NX_I32));
  }
  same(x[0], x[1], "i8");
  same(y[0], y[1], "i64");
}

/* Of 4 bits, as bytes. */
static void nibbles(void **state) {
  nx_tensor *a = BYTES(NX_I8, 15, 48, 64), *b = BYTES(NX_I8, 16, 64, 48), *x[2];
  (void)state;
  for (int gpu = 0; gpu < 2; gpu++) {
    nx_tensor *p = GOOD(nx_cast(GOOD(nx_cast(on(a, gpu), NX_I4)), NX_I32)),
              *q = GOOD(nx_cast(GOOD(nx_cast(on(b, gpu), NX_U4)), NX_I32));
    x[gpu] = GOOD(nx_matmul(p, q));
  }
  same(x[0], x[1], "i4 and u4");
}

static void words_are_generated(void **state) {
  nx_tensor *a = GOOD(nx_cast(BYTES(NX_I8, 17, 40, 40), NX_I16));
  (void)state;
  OK(nx_realize(ctx, &a, 1, NULL));
  check(a, a, 0, GENERATED, "i16");
}

/* i8 in the layout of the library, and what is turned for it; u8 never. */
static void by_library(void **state) {
  (void)state;
  check_shape(NX_I8, NX_I8, 256, 260, 256, 2, BY_LIBRARY);
  check_shape(NX_I8, NX_I8, 256, 258, 256, 2, BY_KERNEL);
  check_shape(NX_I8, NX_I8, 1024, 272, 256, 0, BY_LIBRARY);
  check_shape(NX_I8, NX_I8, 272, 1024, 256, 3, BY_LIBRARY);
  check_shape(NX_I8, NX_I8, 256, 256, 256, 0, BY_KERNEL);
  check_shape(NX_U8, NX_I8, 256, 256, 256, 2, BY_KERNEL);
  check(BYTES(NX_I8, 18, 2, 256, 256), BYTES(NX_I8, 19, 2, 256, 256), 2, BY_LIBRARY, "a batch");
  check(BYTES(NX_I8, 20, 256, 256), BYTES(NX_I8, 21, 2, 256, 256), 2, BY_LIBRARY, "one repeated");
}

/* A kernel, shares that are added up, and the library, launched again and again. */
static void in_graphs(void **state) {
  static const char text[] = "nxir 2\n"
                             "graph @g(%a: i8[256,256], %b: i8[256,256], %c: u8[40,2000],"
                             " %d: u8[2000,40]) -> (%x, %z) {\n"
                             "  %t = permute %b axes=[1,0] : i8[256,256]\n"
                             "  %a32 = cast %a : i32[256,256]\n"
                             "  %t32 = cast %t : i32[256,256]\n"
                             "  %x = matmul %a32, %t32 : i32[256,256]\n"
                             "  %c32 = cast %c : i32[40,2000]\n"
                             "  %d32 = cast %d : i32[2000,40]\n"
                             "  %y = matmul %c32, %d32 : i32[40,40]\n"
                             "  %z = add %y, %y : i32[40,40]\n"
                             "}\n";
  enum { CALLS = 4 };
  nx_function *f = NULL;
  nx_tensor *a = BYTES(NX_I8, 22, 256, 256), *b = BYTES(NX_I8, 23, 256, 256),
            *c = BYTES(NX_U8, 24, 40, 2000), *d = BYTES(NX_U8, 25, 2000, 40);
  nx_tensor *in[] = {on(a, true), on(b, true), on(c, true), on(d, true)};
  (void)state;
  OK(nx_realize(ctx, in, 4, NULL));
  OK(nx_function_parse(ctx, text, strlen(text),
                       &(nx_parse_options){.size = sizeof(nx_parse_options), .device = CUDA}, &f));
  const int64_t graphs = fake->graph_launches;
  for (int i = 0; i < CALLS; i++) {
    nx_tensor *out[2] = {NULL, NULL};
    OK(nx_function_call(f, in, 4, out, 2, NULL));
    same(product(a, b, 2, NX_I32, false), out[0], "by the library in a graph");
    nx_tensor *y = product(c, d, 0, NX_I32, false);
    same(GOOD(nx_add(y, y)), out[1], "by a kernel in a graph");
    for (int k = 0; k < 2; k++) nx_tensor_release(out[k]);
  }
  assert_true(fake->graph_launches > graphs);
  nx_function_release(f);
}

static void plans_say_who(void **state) {
  char *plan = NULL;
  nx_tensor *x = product(BYTES(NX_U8, 26, 64, 64), BYTES(NX_I8, 27, 64, 64), 0, NX_I32, true);
  (void)state;
  OK(nx_dump(&x, 1, "plan", &plan));
  assert_non_null(strstr(plan, "by a kernel of tensor cores"));
  nx_string_free(plan);
  x = product(BYTES(NX_I8, 26, 256, 256), BYTES(NX_I8, 27, 256, 256), 2, NX_I32, true);
  OK(nx_dump(&x, 1, "plan", &plan));
  assert_non_null(strstr(plan, "by cuBLASLt"));
  nx_string_free(plan);
}

/* Before compute capability 8.0 these products are generated. */
static void generations(void **state) {
  (void)state;
  const nxp_products own = NXP_OF_SMALL_INTEGERS | NXP_OF_WINDOWS | NXP_OF_ATTENTION;
  assert_true(nxi_gpu_own_products("sm_80") == own);
  assert_true(nxi_gpu_own_products("sm_120") == own);
  assert_true(nxi_gpu_own_products("sm_75") == 0);
}

/* ---- every call fails once */

/* One product by the library, and one whose shares are added up. */
static nx_status scenario(nx_context *c, const uint8_t *values) {
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *b = nx_empty(c, CUDA, NX_I8, NX_SHAPE(256, 256)), *y[2] = {NULL, NULL};
  nx_status status = nx_write(b, values, 256 * 256, NULL);
  if (status == NX_OK)
    y[0] = nx_matmul(nx_cast(b, NX_I32), nx_cast(nx_permute(b, (int32_t[]){1, 0}, 2), NX_I32));
  nx_tensor *line = nx_reshape(b, NX_SHAPE(64, 1024), 0);
  if (status == NX_OK)
    y[1] =
        nx_matmul(nx_cast(line, NX_I32), nx_cast(nx_permute(line, (int32_t[]){1, 0}, 2), NX_I32));
  if (y[0] != NULL && y[1] != NULL) status = nx_realize(c, y, 2, NULL);
  if (y[0] != NULL && status == NX_OK) status = nx_wait(c, CUDA);
  nx_error_take(NULL);
  if (s != NULL) nx_scope_end(s);
  return status;
}

static void every_call_fails(void **state) {
  uint8_t *values = calloc(256, 256);
  int tried = 0;
  bool done = false;
  (void)state;
  assert_non_null(values);
  for (int64_t n = 1; !done; n += 2) {
    nx_context *c = NULL;
    OK(nx_context_create(NULL, &c));
    const nxt_fake before = *fake;
    fake->failed[0] = 0;
    fake->fail_at = before.calls + n;
    fake->fail_with = n % 4 == 1 ? 2 : 14; /* no memory; an error of cuBLAS */
    nx_status status = scenario(c, values);
    done = fake->calls < before.calls + n;
    fake->fail_at = 0;
    bool ours = strncmp(fake->failed, "cublas", 6) == 0 || strstr(fake->failed, "Launch") != NULL ||
                strstr(fake->failed, "Alloc") != NULL;
    if (ours && strstr(fake->failed, "Destroy") == NULL) tried++;
    if (ours && status != NX_OK && !is_failure_of_a_call(status))
      fail_msg("%s: %s", fake->failed, nx_status_name(status));
    nx_context_release(c);
    nothing_is_left(&before);
    fake->handles = before.handles;
  }
  assert_true(tried >= 12);
  free(values);
}

NXT_MAIN(cuda_integers) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(types_and_layouts), IN_SCOPE(by_chance),           IN_SCOPE(divided),
      IN_SCOPE(batches),           IN_SCOPE(at_odd_addresses),    IN_SCOPE(results_of_other_types),
      IN_SCOPE(nibbles),           IN_SCOPE(words_are_generated), IN_SCOPE(by_library),
      IN_SCOPE(in_graphs),         IN_SCOPE(plans_say_who),       IN_SCOPE(generations),
      IN_SCOPE(every_call_fails),
  };
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
