/* SPDX-License-Identifier: ISC */
/* How much memory a realise takes: the order of steps, outputs that hold temporaries, limits. */
#include "tests/util/api.h"

enum { SIDE = 320, SQUARE = SIDE * SIDE * 4 }; /* bytes; larger than what any order is tried for */

static nx_tensor *square_of(double value) {
  nx_tensor *t =
      GOOD(nx_copy(nx_full(ctx, device(), NX_F32, NX_SHAPE(SIDE, SIDE), NX_NUMBER((float)value))));
  OK(nx_realize(ctx, &t, 1, NULL));
  return t;
}

/* A function whose large values are all recorded before the first of them is read. */
static nx_function *wide(int n) {
  nx_tensor *x = GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(SIDE, SIDE)));
  nx_tensor *large[16], *y = NULL;
  for (int i = 0; i < n; i++) large[i] = GOOD(nx_matmul(x, nx_mul(x, number((float)(i + 1) / 64))));
  for (int i = 0; i < n; i++) {
    nx_tensor *sum = GOOD(nx_reduce_sum(nx_tanh(large[i]), NX_AXES(0, 1), 0));
    y = y ? GOOD(nx_add(y, sum)) : sum;
  }
  nx_function_options o = {.size = sizeof o, .name = "wide"};
  nx_function *f = NULL;
  OK(nx_function_create(ctx, &x, 1, &y, 1, &o, &f));
  return f;
}

/* Each value is read as soon as it is there, so few are there at once. */
static void values_are_read_soon(void **state) {
  (void)state;
  nx_function *f = wide(12);
  nx_tensor *x = square_of(0.01), *y = NULL;
  nx_report r = {.size = sizeof r};
  nx_run_options o = {.size = sizeof o, .report = &r};
  OK(nx_function_call(f, &x, 1, &y, 1, &o));
  printf("planned: %.2f squares\n", (double)r.planned_bytes / SQUARE);
  assert_true(r.planned_bytes < 6 * SQUARE);
  nx_function_release(f);
}

NXT_MAIN(peaks) {
  const struct CMUnitTest tests[] = {IN_SCOPE(values_are_read_soon)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
