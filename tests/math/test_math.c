/* SPDX-License-Identifier: ISC */
/* The function expansions against MPFR: special values exactly, a structured sample within the
 * bounds of docs/math.md, integers against plain loops; and compiled code against the interpreter,
 * bit for bit. Prints the greatest error of each function. All arguments of f32 are tried by
 * test_math_all.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/util/foreign.h"
#include "tests/util/runner.h"
#include "tests/util/share.h"
#include "tests/util/llvm_util.h"
#include "math_util.h"
#include "special_values.h"

enum { SAMPLE = SANITIZED ? 5120 : 20480 };
static const nx_dtype float_types[] = {NX_F32, NX_F64};

static uint64_t random_bits(void) {
  static uint64_t state = 7;
  return next_random(&state);
}
static double uniform(double low, double high) {
  return low + (high - low) * (double)(random_bits() >> 11) * 0x1p-53;
}

static void evaluate(nxk_op op, nx_dtype t, size_t n, const void *x, const void *y, void *out) {
  nxk_kernel *k = function_kernel(op, t, (int64_t)n, 0);
  void *buffers[3] = {(void *)x, (void *)y, out};
  nxi_diag d = {0};
  if (nxk_interpret(k, buffers, NULL, 0, INT64_MAX, &d) != NX_OK)
    fail_msg("%s: %s", nxk_op_name(op), d.message);
  nxk_destroy(k);
}

/* ---- special values */

static void special_values(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
    for (int j = 0; j < 2; j++) {
      const nx_dtype t = float_types[j];
      special s = specials[i];
      if (s.x == -1 && s.y == 16777217)
        s.expected = t == NX_F64 ? -1 : 1; /* f32 rounds the exponent to an even one */
      uint64_t x = 0, y = 0, got = 0, expected = 0;
      set_element(&x, t, 0, s.x);
      set_element(&y, t, 0, s.y);
      set_element(&expected, t, 0, s.expected);
      evaluate(s.op, t, 1, &x, &y, &got);
      if (!nxi_same_bits(got, expected, t))
        fail_msg("%s %s(%a, %a) = %a, not %a", nx_dtype_name(t), nxk_op_name(s.op), s.x, s.y,
                 element(&got, t, 0), s.expected);
    }
  }
}

/* ---- a sample within bounds */

/* Where formulas change, and results overflow or vanish. */
static const double borders[] = {0.17328,
                                 0.34657,
                                 1.0397,
                                 0x1.5555555555555p-2,
                                 0.4142,
                                 0.5,
                                 0.6,
                                 0.70710678118654752,
                                 0.925,
                                 1,
                                 1.4142135623730951,
                                 2,
                                 2.6,
                                 4,
                                 6,
                                 7.2,
                                 8,
                                 9.01,
                                 10,
                                 16.6355,
                                 17.33,
                                 18.7,
                                 19.06,
                                 22,
                                 27.226,
                                 37.4,
                                 88.722839,
                                 87.336544,
                                 89.415985,
                                 103.97208,
                                 128,
                                 149,
                                 708.39641853226408,
                                 709.78271289338397,
                                 710.47586007394386,
                                 745.13321910194122,
                                 1024,
                                 1075,
                                 1e5,
                                 3e6,
                                 0x1p23,
                                 0x1p24,
                                 0x1p30,
                                 0x1p52,
                                 0x1p53};

static double steps_from(double x, nx_dtype t, int64_t steps) {
  if (t == NX_F64) return nxi_f64_bits(nxi_bits_f64(x) + (uint64_t)steps);
  return (double)nxi_f32_bits(nxi_bits_f32((float)x) + (uint64_t)steps);
}

static double any_bits(nx_dtype t) {
  uint64_t bits = random_bits();
  return t == NX_F64 ? nxi_f64_bits(bits) : (double)nxi_f32_bits(bits);
}

/* Argument number i: all exponents, multiples of pi/2, values near 1, near borders, and uniform
 * ones. */
static double sample(nx_dtype t, size_t i) {
  const double sign = random_bits() & 1 ? 1 : -1;
  switch (i % 8) {
    case 0:
    case 1: return any_bits(t);
    case 2: {
      uint64_t multiple =
          random_bits() >> (t == NX_F64 ? 8 + random_bits() % 56 : 34 + random_bits() % 30);
      return sign * steps_from((double)multiple * (PI / 2), t, (int64_t)(random_bits() % 5) - 2);
    }
    case 3: return sign * (1 + uniform(-1, 1) * ldexp(1, -(int)(random_bits() % 52)));
    case 4:
      return sign * steps_from(borders[random_bits() % (sizeof borders / sizeof *borders)], t,
                               (int64_t)(random_bits() % 33) - 16);
    case 5: return uniform(-4, 4);
    case 6: return sign * ldexp(uniform(1, 2), -(int)(random_bits() % 30));
    default: return i & 8 ? uniform(-30, 30) : uniform(-800, 800);
  }
}

/* A pair: for pow mostly such that the result is finite, for atan2 mostly of similar size. */
static void sample_pair(nxk_op op, nx_dtype t, size_t i, double *x, double *y) {
  *x = sample(t, i);
  *y = sample(t, random_bits());
  if (i % 4 == 0) return;
  if (op == NXK_atan2 || op == NXK_hypot) {
    *y = *x * uniform(-4, 4);
  } else if (op == NXK_logaddexp) {
    *y = *x + uniform(-1, 1) * (i % 4 == 1 ? 1 : 40);
  } else {
    *y = uniform(-1, 1) * (t == NX_F64 ? 1080 : 152) / log2(fabs(*x));
    if (i % 4 == 1) *y = rint(*y);
    else *x = fabs(*x);
  }
}

static void fill(nxk_op op, nx_dtype t, void *x, void *y) {
  for (size_t i = 0; i < SAMPLE; i++) {
    double a = sample(t, i), b = 0;
    if (nxk_scalars[op].arity == 2) sample_pair(op, t, i, &a, &b);
    set_element(x, t, i, a);
    set_element(y, t, i, b);
  }
}

/* Compiled code gives the same bits; lanes beside each other take cold branches and not. */
static void check_compiled_for(const nxk_kernel *k, const char *isa, nxk_op op, nx_dtype t,
                               const void *x, const void *y, const void *expected) {
  void *out = malloc(SAMPLE * sizeof(double));
  assert_non_null(out);
  void *buffers[3] = {(void *)x, (void *)y, out};
  nxk_kernel *legal = legalized(k, isa);
  if (runs_here(isa)) {
    nxl_code *code = compile_kernel(legal, isa, false);
    run_code(code, legal, buffers, NULL, 0, 1);
    nxl_unload(code);
  } else if (!nxt_foreign_run(legal, buffers, NULL, 0, 1)) {
    fail();
  }
  for (size_t i = 0; i < SAMPLE; i++) {
    const size_t size = (size_t)nxi_dtype_size(t);
    uint64_t a = nxi_load_element((const char *)expected + i * size, t),
             b = nxi_load_element((char *)out + i * size, t);
    if (!nxi_same_bits(a, b, t))
      fail_msg("%s %s %s(%a, %a): interpreted %a, compiled %a", isa, nx_dtype_name(t),
               nxk_op_name(op), element(x, t, i), element(y, t, i), element(expected, t, i),
               element(out, t, i));
  }
  nxk_destroy(legal);
  free(out);
}

static void check_compiled(nxk_op op, nx_dtype t, const void *x, const void *y,
                           const void *expected) {
  if (nxl_unavailable()) return;
  nxk_kernel *k = function_kernel(op, t, SAMPLE, t == NX_F64 ? 8 : 16);
  for (int j = 0; j < N_ISAS; j++)
    if (runs_here(isas[j])) check_compiled_for(k, isas[j], op, t, x, y, expected);
  if (runs_here("neon") || nxt_foreign_missing() == NULL)
    check_compiled_for(k, "neon", op, t, x, y, expected);
  nxk_destroy(k);
}

static void check_sample(const function_row *f, nx_dtype t, yardstick *s) {
  void *x = malloc(SAMPLE * sizeof(double)), *y = malloc(SAMPLE * sizeof(double)),
       *out = malloc(SAMPLE * sizeof(double));
  assert_true(x && y && out);
  fill(f->op, t, x, y);
  evaluate(f->op, t, SAMPLE, x, y, out);
  double worst = 0;
  size_t where = 0;
  /* references of our own, or of MPFR alone, are slow */
  const size_t n = f->binary || f->libm ? SAMPLE : SAMPLE / 32;
  for (size_t i = 0; i < n; i++) {
    double error = ulp_error(s, f, t, element(x, t, i), element(y, t, i), element(out, t, i));
    if (error > worst) {
      worst = error;
      where = i;
    }
  }
  double a = element(x, t, where), b = element(y, t, where);
  printf("%-6s %s  %.3f ulp  at %a", f->name, nx_dtype_name(t), worst, a);
  if (f->binary) printf(", %a", b);
  printf("\n");
  if (!(worst <= f->bound))
    fail_msg("%s %s(%a, %a) = %a: %g ulp", nx_dtype_name(t), f->name, a, b, element(out, t, where),
             worst);
  check_compiled(f->op, t, x, y, out);
  free(x);
  free(y);
  free(out);
}

static void errors(void **state) {
  (void)state;
  yardstick s;
  yardstick_init(&s);
  for (int i = 0; i < FUNCTION_ROWS; i++)
    for (int j = 0; j < 2; j++) check_sample(&function_rows[i], float_types[j], &s);
  yardstick_free(&s);
  mpfr_free_cache();
}

/* ---- integers */

static const nx_dtype integer_types[] = {NX_I8,  NX_U8,  NX_I16, NX_U16,
                                         NX_I32, NX_U32, NX_I64, NX_U64};
enum { PAIRS = 65536 };

static uint64_t wrapped(uint64_t x, nx_dtype t) {
  return nxi_dtypes[t].bits == 64 ? x : x & ((UINT64_C(1) << nxi_dtypes[t].bits) - 1);
}
static int64_t as_signed(uint64_t x, nx_dtype t) {
  return (int64_t)(x << (64 - nxi_dtypes[t].bits)) >> (64 - nxi_dtypes[t].bits);
}

static uint64_t integer_pow(uint64_t x, uint64_t y, nx_dtype t) {
  if (nxi_is_signed(t) && as_signed(y, t) < 0) {
    if (x == 1) return 1;
    return as_signed(x, t) == -1 ? (y & 1 ? x : 1) : 0;
  }
  uint64_t result = 1;
  for (; y; y >>= 1, x *= x)
    if (y & 1) result *= x;
  return wrapped(result, t);
}

/* What Python's // and % give. */
static uint64_t integer_floor(nxk_op op, uint64_t x, uint64_t y, nx_dtype t) {
  __extension__ typedef __int128 whole;
  whole a = nxi_is_signed(t) ? as_signed(x, t) : (whole)x,
        b = nxi_is_signed(t) ? as_signed(y, t) : (whole)y;
  if (b == 0) return 0;
  whole quotient = a / b - (a % b != 0 && (a < 0) != (b < 0));
  return wrapped((uint64_t)(op == NXK_floor_div ? quotient : a - quotient * b), t);
}

static uint64_t trailing_zeros(uint64_t x, nx_dtype t) {
  uint64_t n = 0;
  while (n < nxi_dtypes[t].bits && !(x >> n & 1)) n++;
  return n;
}

static uint64_t integer_reference(nxk_op op, uint64_t x, uint64_t y, nx_dtype t) {
  bool negative = nxi_is_signed(t) && as_signed(x, t) < 0;
  switch (op) {
    case NXK_sign: return negative ? wrapped(UINT64_MAX, t) : x != 0;
    case NXK_recip: return x == 1 || (negative && as_signed(x, t) == -1) ? x : 0;
    case NXK_round: return x;
    case NXK_ctz: return trailing_zeros(x, t);
    case NXK_floor_div:
    case NXK_floor_mod: return integer_floor(op, x, y, t);
    default: return integer_pow(x, y, t);
  }
}

/* All pairs of 8-bit numbers; else small bases and exponents, and any bits. */
static void integers(void **state) {
  (void)state;
  static const nxk_op ops[] = {NXK_sign, NXK_recip,     NXK_round,    NXK_pow,
                               NXK_ctz,  NXK_floor_div, NXK_floor_mod};
  uint64_t *x = malloc(PAIRS * sizeof *x), *y = malloc(PAIRS * sizeof *y),
           *out = malloc(PAIRS * sizeof *out);
  assert_true(x && y && out);
  for (size_t j = 0; j < sizeof integer_types / sizeof *integer_types; j++) {
    const nx_dtype t = integer_types[j];
    const size_t size = (size_t)nxi_dtype_size(t), n = size == 1 ? PAIRS : 4096;
    for (size_t i = 0; i < n; i++) {
      bool small = i & 1;
      nxi_store_element((char *)x + i * size, t,
                        wrapped(size == 1 ? i >> 8
                                : small   ? i / 64 % 32 - 8
                                          : random_bits(),
                                t));
      nxi_store_element((char *)y + i * size, t,
                        wrapped(size == 1        ? i
                                : small || i & 2 ? i % 40 - 8
                                                 : random_bits(),
                                t));
    }
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
      evaluate(ops[o], t, n, x, y, out);
      for (size_t i = 0; i < n; i++) {
        uint64_t a = nxi_load_element((char *)x + i * size, t),
                 b = nxi_load_element((char *)y + i * size, t);
        uint64_t got = nxi_load_element((char *)out + i * size, t),
                 expected = integer_reference(ops[o], a, b, t);
        if (got != expected)
          fail_msg("%s %s(%lld, %lld) = %llx, not %llx", nx_dtype_name(t), nxk_op_name(ops[o]),
                   (long long)as_signed(a, t), (long long)as_signed(b, t), (unsigned long long)got,
                   (unsigned long long)expected);
      }
    }
  }
  free(x);
  free(y);
  free(out);
}

/* A kernel that ran out of memory stays failed, and expanding into it is harmless, wherever it
 * happens. */
static void exhausted_memory(void **state) {
  (void)state;
  for (int64_t after = 0; after < 40; after++) {
    for (int i = 0; i < FUNCTION_ROWS; i++) {
      nxk_kernel *k = nxk_create(NXK_LOGICAL, "failing");
      nxk_value x = nxk_param(k, nxk_add_param(k, NX_F64)),
                y = nxk_param(k, nxk_add_param(k, NX_F64));
      assert_false(k->failed);
      nxi_alloc_fail(after, true);
      nxk_value args[4] = {x, y, NXK_NONE, NXK_NONE};
      nxk_value v = nxk_expand_function(k, function_rows[i].op, args);
      nxi_alloc_fail(-1, false);
      assert_true(k->failed || v < k->n_instrs);
      if (after == 0 && function_rows[i].op == NXK_sin) assert_true(k->failed);
      nxk_destroy(k);
    }
  }
}

NXT_MAIN(math) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(special_values),
      cmocka_unit_test(integers),
      cmocka_unit_test(exhausted_memory),
      cmocka_unit_test(errors),
  };
  return cmocka_run_group_tests(tests, NULL, nxt_foreign_end);
}
