/* SPDX-License-Identifier: ISC */
/* Tests of sort and argsort on the device "cuda" with a fake driver (fake_cuda.h). For each method
 * of sorting the results have the same bits as on the processor, and the host does no work; every
 * call of the driver fails once. cuda_sort.cc tests that kernels sort every kind of numbers
 * correctly. */
#include "tests/cuda/fake_device.h"

#include "ir/dtype.h"
#include "tests/util/runner.h"

/* Many equal elements, and for floats zeros of both signs and NaNs. */
static nx_tensor *scrambled(nx_context *c, nx_dtype t, const int64_t *shape, int32_t rank) {
  nx_tensor *x = nx_empty(c, 0, t, shape, rank);
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  size_t bytes = (size_t)nxi_dtype_bytes(t, n);
  unsigned char *data = malloc(bytes + 1);
  uint32_t draw = 12345;
  for (size_t i = 0; i < bytes; i++) {
    draw = draw * 1664525 + 1013904223;
    data[i] = (unsigned char)(draw >> 29 ? draw >> 16 & 0x81 : 0xff);
  }
  if (x != NULL && nx_write(x, data, bytes, NULL) != NX_OK) x = NULL;
  free(data);
  return x;
}

static nx_status read_sorted(nx_context *c, nx_tensor *x, bool places, int32_t axis,
                             bool descending, char *to, size_t bytes) {
  nx_tensor *y = places ? nx_argsort(x, axis, descending ? NX_DESCENDING : 0, NX_I32)
                        : nx_sort(x, axis, descending ? NX_DESCENDING : 0);
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  nx_status status = y != NULL ? nx_realize(c, &y, 1, &o) : nx_error_take(NULL);
  if (status == NX_OK) status = nx_read(y, to, bytes, NULL);
  if (status == NX_OK) assert_int_equal(report.host_calls, 0);
  return status;
}

static void agree_on(nx_dtype t, const int64_t *shape, int32_t rank, int32_t axis, bool places,
                     bool descending) {
  nx_tensor *x = GOOD(scrambled(ctx, t, shape, rank));
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  size_t bytes = (size_t)nxi_dtype_bytes(places ? NX_I32 : t, n);
  char *here = malloc(bytes + 1), *there = malloc(bytes + 1);
  OK(read_sorted(ctx, x, places, axis, descending, here, bytes));
  OK(read_sorted(ctx, GOOD(nx_to_device(x, CUDA)), places, axis, descending, there, bytes));
  assert_memory_equal(here, there, bytes);
  free(here), free(there);
}

static void short_rows(void **state) {
  (void)state;
  agree_on(NX_F32, NX_SHAPE(7, 1, 33), 2, false, true);
  agree_on(NX_F32, NX_SHAPE(1), 0, false, false);
  agree_on(NX_F32, NX_SHAPE(3, 1, 2), 1, true, false);
  agree_on(NX_F32, NX_SHAPE(3, 1024), 1, false, false);
  agree_on(NX_F32, NX_SHAPE(1025), 0, false, true);
  agree_on(NX_F32, NX_SHAPE(3, 100), 1, true, true);
  agree_on(NX_F64, NX_SHAPE(5, 40), 1, false, false);
  agree_on(NX_F64, NX_SHAPE(5, 40), 1, true, false);
  agree_on(NX_C64, NX_SHAPE(5, 40), 1, false, false);
  agree_on(NX_F8E5M2, NX_SHAPE(9, 600), 1, true, false);
  agree_on(NX_F32, NX_SHAPE(2, 60, 70), 1, false, false); /* side by side */
  agree_on(NX_F32, NX_SHAPE(2, 60, 3), 1, false, true);   /* turned */
  agree_on(NX_I4, NX_SHAPE(3, 7), 0, true, true);
  agree_on(NX_I4, NX_SHAPE(3, 7), 1, true, false);
  agree_on(NX_F32, NX_SHAPE(0, 3), 1, false, false);
  agree_on(NX_F32, NX_SHAPE(3, 0), 1, true, false);
}

/* Rows of which each is the work of a block. */
static void longer_rows(void **state) {
  (void)state;
  agree_on(NX_F16, NX_SHAPE(2, 1025), 1, false, true);
  agree_on(NX_F32, NX_SHAPE(3, 2049), 1, false, false);
  agree_on(NX_F32, NX_SHAPE(4097), 0, true, false);
  agree_on(NX_F64, NX_SHAPE(8192), 0, false, false);
  agree_on(NX_F32, NX_SHAPE(2, 4200, 2), 1, true, true); /* turned */
}

static void long_rows(void **state) {
  (void)state;
  agree_on(NX_I16, NX_SHAPE(2, 8200), 1, false, false);
  agree_on(NX_I16, NX_SHAPE(8200, 2), 0, false, true);
  agree_on(NX_F64, NX_SHAPE(2049, 2), 0, true, true); /* short, but turned */
  agree_on(NX_F32, NX_SHAPE(8193), 0, true, false);
  agree_on(NX_F32, NX_SHAPE(2, 2100, 2), 1, true, true); /* merged, but turned */
}

/* Slices of what the kernels of sorts give. */
static void first_ones(void **state) {
  (void)state;
  nx_tensor *x = GOOD(scrambled(ctx, NX_F32, NX_SHAPE(3, 1500))), *here[2], *there[2];
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  OK(nx_top_k(x, 40, 1, 0, NX_I32, &here[0], &here[1]));
  OK(nx_top_k(GOOD(nx_to_device(x, CUDA)), 40, 1, 0, NX_I32, &there[0], &there[1]));
  OK(nx_realize(ctx, there, 2, &o));
  assert_int_equal(report.host_calls, 0);
  for (int i = 0; i < 2; i++) {
    int32_t wanted[120], is[120];
    OK(nx_read(here[i], wanted, sizeof wanted, NULL));
    OK(nx_read(there[i], is, sizeof is, NULL));
    assert_memory_equal(is, wanted, sizeof is);
  }
}

enum { LONG_ROW = 8193 };

static nx_status scenario(nx_context *c, char *to, size_t bytes) {
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *x = scrambled(c, NX_U8, NX_SHAPE(LONG_ROW));
  nx_status status = x != NULL ? read_sorted(c, nx_to_device(x, CUDA), true, 0, true, to, bytes)
                               : nx_error_take(NULL);
  if (status != NX_OK) nx_error_take(NULL);
  if (s != NULL) nx_scope_end(s);
  return status;
}

static void every_call_fails(void **state) {
  static char wanted[LONG_ROW * 4], is[sizeof wanted];
  (void)state;
  nx_tensor *x = GOOD(scrambled(ctx, NX_U8, NX_SHAPE(LONG_ROW)));
  OK(read_sorted(ctx, x, true, 0, true, wanted, sizeof wanted));
  bool done = false;
  for (int64_t n = 1; !done; n++) {
    nx_context *c = NULL;
    OK(nx_context_create(NULL, &c));
    const nxt_fake before = *fake;
    OK(nx_wait(c, CUDA)); /* opens it; that this may fail is for test_cuda_device.c */
    fake->fail_at = fake->calls + n;
    fake->fail_with = n % 2 ? 2 : 1;
    nx_status status = scenario(c, is, sizeof is);
    done = fake->calls < fake->fail_at;
    fake->fail_at = 0;
    if (status != NX_OK) {
      memset(is, 0, sizeof is);
      assert_true(is_failure_of_a_call(status));
    }
    if (status == NX_OUT_OF_MEMORY) status = scenario(c, is, sizeof is);
    if (status == NX_OK) assert_memory_equal(is, wanted, sizeof wanted);
    nx_context_release(c);
    nothing_is_left(&before);
  }
}

NXT_MAIN(cuda_sort) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(short_rows), IN_SCOPE(longer_rows),      IN_SCOPE(long_rows),
      IN_SCOPE(first_ones), IN_SCOPE(every_call_fails),
  };
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
