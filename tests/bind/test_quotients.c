/* SPDX-License-Identifier: ISC */
/* Quotients of bf16 and f16 as products (passes/kernel/quotients.c): every dividend, beside
 * divisors at all ends of the type and between them, gives the bits of the division. */
#include "bind_util.h"
#include "tests/util/runner.h"

enum { DIVIDENDS = 1 << 16, RANDOM = 12 };

/* z[i, j] = x[j] / y[i], rounded to bf16. */
static nxk_kernel *quotients(nx_dtype t, int64_t divisors) {
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "quotients");
  uint32_t x = nxk_add_buffer(k, NXK_IN, t, DIVIDENDS), y = nxk_add_buffer(k, NXK_IN, t, divisors),
           z = nxk_add_buffer(k, NXK_OUT, t, divisors * DIVIDENDS);
  nxk_begin_region(k);
  nxk_value i = nxk_begin_range(k, NXK_OUTER, divisors);
  nxk_value by = widen(k, load1(k, y, 0, i, 1));
  nxk_value j = nxk_begin_range(k, NXK_OUTER, DIVIDENDS);
  nxk_value q = nxk_scalar(k, NXK_div, 0, widen(k, load1(k, x, 0, j, 1)), by, NXK_NONE);
  store2(k, z, i, DIVIDENDS, j, 1, nxk_cast_to(k, t, q));
  end_all(k, 3);
  return k;
}

static bool divides_within(const nxk_kernel *k) {
  nxk_value inner = NXK_NONE;
  bool divides = false;
  for (nxk_value v = 0; v < k->n_instrs; v++)
    if (k->instrs[v].op == NXK_for) inner = v;
  for (nxk_value v = 0; v < k->n_instrs; v++)
    divides = divides || (k->instrs[v].op == NXK_div && k->instrs[v].block == inner);
  return divides;
}

static void every_dividend(nx_dtype t) {
  /* of bf16; for f16, other numbers, of which the last three are subnormal */
  static const uint16_t ends[] = {0x0000, 0x8000, 0x0001, 0x0003, 0x8055, 0x007f, 0x0080, 0x0081,
                                  0x3f80, 0x3f81, 0xbfaa, 0x3fff, 0x7e7f, 0x7e80, 0xfe81, 0x7f00,
                                  0x7f55, 0x7f7f, 0x7f80, 0xff80, 0x7fc1, 0x7c00, 0xfc00, 0x7bff,
                                  0x0400, 0x4229, 0x0029, 0x8203, 0x03ff};
  enum { ENDS = sizeof ends / sizeof *ends, ALL = ENDS + RANDOM };
  static const uint64_t none[MAX_PARAMS];
  nxi_diag d;
  memory wanted, got;
  nxi_diag_clear(&d);
  nxk_kernel *k = quotients(t, SANITIZED ? 2 : ALL), *products = nxk_pass_quotients(k, &d);
  assert_non_null(products);
  assert_true(divides_within(k) && !divides_within(products));
  make_memory(k, &wanted, 0);
  for (uint32_t i = 0; i < DIVIDENDS; i++) ((uint16_t *)wanted.at[0])[i] = (uint16_t)i;
  for (uint32_t i = 0; i < ENDS && !SANITIZED; i++) ((uint16_t *)wanted.at[1])[i] = ends[i];
  for (uint32_t i = ENDS; i < ALL && !SANITIZED; i++)
    ((uint16_t *)wanted.at[1])[i] = (uint16_t)any_bits();
  copy_memory(&wanted, &got);
  must_run(k, k, &wanted, none, 0, INT64_MAX);
  must_run(products, k, &got, none, 0, INT64_MAX);
  compare_memory(k, products, &wanted, &got, "products");
  free_memory(&wanted);
  free_memory(&got);
  nxk_destroy(products);
  nxk_destroy(k);
}

static void of_bf16(void **state) {
  (void)state;
  every_dividend(NX_BF16);
}
static void of_f16(void **state) {
  (void)state;
  every_dividend(NX_F16);
}

NXT_MAIN(quotients) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(of_bf16), cmocka_unit_test(of_f16)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
