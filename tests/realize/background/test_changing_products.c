/* SPDX-License-Identifier: ISC */
/* Products of shapes that are new each time: those that the library does sooner than a plan is made
 * are interpreted. */
#include "runtime/library/blas/blas.h"
#include "tests/util/api.h"

/* A product of n rows with weights, negated. Returns whether it was interpreted. */
static bool layer(nx_context *c, nx_tensor *numbers, int64_t n) {
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *x = nx_shrink(numbers, (int64_t[]){0, 0}, (int64_t[]){n, 64}, 2),
            *weights = nx_shrink(numbers, (int64_t[]){7, 0}, (int64_t[]){39, 64}, 2),
            *y = nx_neg(nx_matmul(x, nx_permute(weights, (int32_t[]){1, 0}, 2)));
  OK(nx_realize(c, &y, 1, &o));
  nx_scope_end(s);
  return report.interpreted == report.runs;
}

/* Small products by the library are interpreted sooner than a plan is made for their shape. */
static void layers_of_changing_shapes(void **state) {
  static const float numbers[400 * 64] = {1};
  nx_context *c = NULL;
  nx_tensor *x;
  (void)state;
  OK(nx_context_create(NULL, &c));
  x = nx_from_data(c, 0, NX_F32, (int64_t[]){400, 64}, 2, numbers, sizeof numbers);
  for (int64_t n = 100; n < 400 && nxi_products_are_own(); n++) assert_true(layer(c, x, n));
  nx_tensor_release(x);
  nx_context_release(c);
}

NXT_MAIN(changing_products) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layers_of_changing_shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
