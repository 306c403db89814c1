/* SPDX-License-Identifier: ISC */
/* Every f32 argument of every unary function expansion, in compiled code, against the f64 function
 * of the C library (whose error is below 2^-28 ulp of f32), the worst case confirmed with MPFR.
 * About a minute a function:
 *
 *     meson test --suite long
 *     build/tests/run_math math_all long exp log     (these alone)
 *
 * Functions that the C library lacks, or has less accurately, are tried by samples alone
 * (test_math.c). Functions that are odd or even by construction are tried for positive arguments
 * only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/util/llvm_util.h"
#include "tests/util/runner.h"
#include "math_util.h"

enum { CHUNK = 65536 };
static int n_chosen;
static char **chosen;

static bool is_chosen(const char *name) {
  for (int i = 0; i < n_chosen; i++)
    if (strcmp(chosen[i], name) == 0) return true;
  return n_chosen == 0;
}

static bool is_symmetric(nxk_op op) {
  switch (op) {
    case NXK_exp:
    case NXK_log:
    case NXK_acos:
    case NXK_log1p:
    case NXK_expm1:
    case NXK_acosh:
    case NXK_exp2:
    case NXK_log2:
    case NXK_log10:
    case NXK_rsqrt:
    case NXK_logistic:
    case NXK_erfc:
    case NXK_lgamma:
    case NXK_recip: return false;
    default: return true;
  }
}

/* The unit in the last place of f32 at |x|, x an ordinary number of f64. */
static double unit_of(double x) {
  int64_t exponent = (int64_t)(nxi_bits_f64(x) >> 52 & 2047);
  return nxi_f64_bits((uint64_t)((exponent < 897 ? 897 : exponent) - 23) << 52);
}

/* What the error is measured against. */
static double size_of(const function_row *f, double x, double exact) {
  return f->least ? fmax(f->least(x), fabs(exact)) : exact;
}

typedef struct worst_case {
  double error;
  float x, got;
} worst_case;

/* MPFR decides where the quick comparison means nothing: at zeros, infinities and NaN, and near
 * overflow. */
static void compare(const function_row *f, yardstick *s, const float *x, const float *got,
                    worst_case *worst) {
  for (int i = 0; i < CHUNK; i++) {
    double exact = f->libm((double)x[i]), error;
    if (fabs(exact) < 0x1p127 && exact != 0)
      error = fabs((double)got[i] - exact) / unit_of(size_of(f, (double)x[i], exact));
    else if (isnan(exact) && isnan(got[i])) error = 0;
    else if (isinf(exact) && (double)got[i] == exact && isinf(x[i])) error = 0;
    else error = ulp_error(s, f, NX_F32, (double)x[i], 0, (double)got[i]);
    if (error <= worst->error) continue;
    *worst = (worst_case){error, x[i], got[i]};
  }
}

static void check_all(const function_row *f, yardstick *s) {
  nxk_kernel *k = function_kernel(f->op, NX_F32, CHUNK, 16);
  const char *isa = runs_here("avx512") ? "avx512" : runs_here("avx2") ? "avx2" : isas[N_ISAS - 1];
  nxk_kernel *legal = legalized(k, isa);
  nxl_code *code = compile_kernel(legal, isa, false);
  static uint32_t x[CHUNK];
  static float out[CHUNK];
  void *buffers[3] = {x, x, out};
  worst_case worst = {0, 0, 0};
  const uint64_t end = is_symmetric(f->op) ? UINT64_C(1) << 31 : UINT64_C(1) << 32;
  for (uint64_t base = 0; base < end; base += CHUNK) {
    for (uint32_t i = 0; i < CHUNK; i++) x[i] = (uint32_t)base + i;
    run_code(code, legal, buffers, NULL, 0, 1);
    compare(f, s, (const float *)(const void *)x, out, &worst);
  }
  double confirmed = ulp_error(s, f, NX_F32, (double)worst.x, 0, (double)worst.got);
  printf("%-6s f32  %.4f ulp  at %a\n", f->name, confirmed, (double)worst.x);
  fflush(stdout);
  if (!(worst.error <= f->bound && confirmed <= f->bound))
    fail_msg("%s(%a) = %a", f->name, (double)worst.x, (double)worst.got);
  nxl_unload(code);
  nxk_destroy(legal);
  nxk_destroy(k);
}

static void all_arguments(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  yardstick s;
  yardstick_init(&s);
  for (int i = 0; i < FUNCTION_ROWS; i++)
    if (function_rows[i].libm && is_chosen(function_rows[i].name)) check_all(&function_rows[i], &s);
  yardstick_free(&s);
  mpfr_free_cache();
}

NXT_MAIN(math_all) {
  n_chosen = argc > 2 ? argc - 2 : 0;
  chosen = argv + 2;
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_arguments)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
