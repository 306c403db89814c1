/* SPDX-License-Identifier: ISC */
/* Tests of the scalar operations: tables of nasty values with the bits that are required, every
 * pair of 8-bit integers against plain arithmetic, and what reductions combine with. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/op.h"
#include "tests/util/runner.h"

#define NAN32    UINT64_C(0x7fc00000)
#define NAN64    UINT64_C(0x7ff8000000000000)
#define INF32    UINT64_C(0x7f800000)
#define MINUS(x) ((x) | UINT64_C(0x80000000))
#define F(x)     nxi_bits_f32(x)
#define D(x)     nxi_bits_f64(x)

typedef struct row {
  nxk_op op;
  nx_dtype type, result;
  uint64_t a, b, c, expected;
} row;

static void check_rows(const row *rows, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint64_t args[3] = {rows[i].a, rows[i].b, rows[i].c};
    uint64_t got = nxk_eval(rows[i].op, rows[i].type, rows[i].result, args);
    if (!nxi_same_bits(got, rows[i].expected, rows[i].result))
      fail_msg("row %zu: %s %s of %#llx %#llx %#llx is %#llx, not %#llx", i,
               nxk_op_name(rows[i].op), nxi_dtypes[rows[i].type].name, (unsigned long long)args[0],
               (unsigned long long)args[1], (unsigned long long)args[2], (unsigned long long)got,
               (unsigned long long)rows[i].expected);
  }
}
#define CHECK(rows) check_rows(rows, sizeof rows / sizeof *rows)

static void integers(void **state) {
  (void)state;
  const uint64_t min32 = 0x80000000u, min64 = UINT64_C(1) << 63, all64 = UINT64_MAX,
                 m1 = 0xffffffffu;
  const row rows[] = {
      {NXK_neg, NX_I32, NX_I32, min32, 0, 0, min32},
      {NXK_abs, NX_I32, NX_I32, min32, 0, 0, min32},
      {NXK_abs, NX_I64, NX_I64, all64, 0, 0, 1},
      {NXK_abs, NX_U32, NX_U32, m1, 0, 0, m1},
      {NXK_neg, NX_U8, NX_U8, 1, 0, 0, 255},
      {NXK_not, NX_I16, NX_I16, 0, 0, 0, 0xffff},
      {NXK_div, NX_I32, NX_I32, 7, 0, 0, 0},
      {NXK_div, NX_I32, NX_I32, min32, m1, 0, min32},
      {NXK_div, NX_I64, NX_I64, min64, all64, 0, min64},
      {NXK_div, NX_I32, NX_I32, m1 - 6, 2, 0, m1 - 2},
      {NXK_div, NX_U32, NX_U32, m1, 2, 0, 0x7fffffff},
      {NXK_div, NX_U64, NX_U64, all64, 0, 0, 0},
      {NXK_mod, NX_I32, NX_I32, 7, 0, 0, 0},
      {NXK_mod, NX_I32, NX_I32, min32, m1, 0, 0},
      {NXK_mod, NX_I64, NX_I64, min64, all64, 0, 0},
      {NXK_mod, NX_I32, NX_I32, m1 - 6, 3, 0, m1},
      {NXK_mod, NX_U64, NX_U64, all64, 10, 0, 5},
      {NXK_mul, NX_I64, NX_I64, min64, all64, 0, min64},
      {NXK_mul, NX_U16, NX_U16, 0xffff, 0xffff, 0, 1},
      {NXK_add, NX_I8, NX_I8, 127, 1, 0, 128},
  };
  CHECK(rows);
}

static void shifts(void **state) {
  (void)state;
  const uint64_t min32 = 0x80000000u, min64 = UINT64_C(1) << 63, all64 = UINT64_MAX,
                 m1 = 0xffffffffu;
  const row rows[] = {
      {NXK_shl, NX_I32, NX_I32, 1, 31, 0, min32},     {NXK_shl, NX_I32, NX_I32, 1, 32, 0, 0},
      {NXK_shl, NX_I32, NX_I32, 1, m1, 0, 0},         {NXK_shl, NX_U64, NX_U64, 1, 64, 0, 0},
      {NXK_shl, NX_U64, NX_U64, 3, 63, 0, min64},     {NXK_shl, NX_I64, NX_I64, 1, all64, 0, 0},
      {NXK_shr, NX_I32, NX_I32, min32, 31, 0, m1},    {NXK_shr, NX_I32, NX_I32, min32, 32, 0, m1},
      {NXK_shr, NX_I32, NX_I32, min32, m1, 0, m1},    {NXK_shr, NX_I32, NX_I32, 5, 99, 0, 0},
      {NXK_shr, NX_I64, NX_I64, min64, 64, 0, all64}, {NXK_shr, NX_U64, NX_U64, all64, 63, 0, 1},
      {NXK_shr, NX_U64, NX_U64, all64, 64, 0, 0},     {NXK_shr, NX_U8, NX_U8, 200, 8, 0, 0},
  };
  CHECK(rows);
}

static void other_integers(void **state) {
  (void)state;
  const uint64_t min64 = UINT64_C(1) << 63, all64 = UINT64_MAX, m1 = 0xffffffffu;
  const row rows[] = {
      {NXK_max, NX_I32, NX_I32, m1, 1, 0, 1},
      {NXK_max, NX_U32, NX_U32, m1, 1, 0, m1},
      {NXK_min, NX_I64, NX_I64, all64, 1, 0, all64},
      {NXK_min, NX_U64, NX_U64, all64, 1, 0, 1},
      {NXK_lt, NX_I64, NX_BOOL, all64, 0, 0, 1},
      {NXK_lt, NX_U64, NX_BOOL, all64, 0, 0, 0},
      {NXK_le, NX_I8, NX_BOOL, 0x80, 0x7f, 0, 1},
      {NXK_le, NX_U8, NX_BOOL, 0x80, 0x7f, 0, 0},
      {NXK_umulh, NX_U64, NX_U64, all64, all64, 0, all64 - 1},
      {NXK_umulh, NX_U64, NX_U64, min64, 2, 0, 1},
      {NXK_popcount, NX_I8, NX_I8, 0xff, 0, 0, 8},
      {NXK_popcount, NX_U64, NX_U64, all64, 0, 0, 64},
      {NXK_popcount, NX_I32, NX_I32, m1 - 6, 0, 0, 30},
      {NXK_clz, NX_I8, NX_I8, 0, 0, 0, 8},
      {NXK_clz, NX_U16, NX_U16, 1, 0, 0, 15},
      {NXK_clz, NX_I32, NX_I32, m1, 0, 0, 0},
      {NXK_clz, NX_I64, NX_I64, 0, 0, 0, 64},
      {NXK_clz, NX_U64, NX_U64, 5, 0, 0, 61},
      {NXK_reverse_bits, NX_U8, NX_U8, 0x13, 0, 0, 0xc8},
      {NXK_reverse_bits, NX_I32, NX_I32, 1, 0, 0, 0x80000000u},
      {NXK_reverse_bits, NX_U64, NX_U64, min64, 0, 0, 1},
      {NXK_eq, NX_I16, NX_BOOL, 5, 5, 0, 1},
      {NXK_ne, NX_I16, NX_BOOL, 5, 5, 0, 0},
      {NXK_select, NX_I64, NX_I64, 1, 10, 20, 10},
      {NXK_select, NX_I64, NX_I64, 0, 10, 20, 20},
      {NXK_xor, NX_U32, NX_U32, 12, 10, 0, 6},
      {NXK_cast, NX_I32, NX_I8, 300, 0, 0, 44},
      {NXK_cast, NX_I8, NX_I64, 0xff, 0, 0, all64},
      {NXK_bitcast, NX_F32, NX_U32, F(1.0f), 0, 0, 0x3f800000},
      {NXK_bitcast, NX_U8, NX_BOOL, 7, 0, 0, 1},
  };
  CHECK(rows);
}

static void bools(void **state) {
  (void)state;
  for (uint64_t a = 0; a < 2; a++) {
    for (uint64_t b = 0; b < 2; b++) {
      const row rows[] = {
          {NXK_and, NX_BOOL, NX_BOOL, a, b, 0, a && b},
          {NXK_or, NX_BOOL, NX_BOOL, a, b, 0, a || b},
          {NXK_xor, NX_BOOL, NX_BOOL, a, b, 0, a != b},
          {NXK_max, NX_BOOL, NX_BOOL, a, b, 0, a || b},
          {NXK_min, NX_BOOL, NX_BOOL, a, b, 0, a && b},
          {NXK_eq, NX_BOOL, NX_BOOL, a, b, 0, a == b},
          {NXK_ne, NX_BOOL, NX_BOOL, a, b, 0, a != b},
          {NXK_lt, NX_BOOL, NX_BOOL, a, b, 0, !a && b},
          {NXK_le, NX_BOOL, NX_BOOL, a, b, 0, !a || b},
          {NXK_not, NX_BOOL, NX_BOOL, a, 0, 0, !a},
      };
      CHECK(rows);
    }
  }
}

static void extremes_and_rounding(void **state) {
  (void)state;
  const uint64_t z = F(0.0f), nz = F(-0.0f), one = F(1.0f);
  const row rows[] = {
      {NXK_max, NX_F32, NX_F32, nz, z, 0, z},
      {NXK_max, NX_F32, NX_F32, z, nz, 0, z},
      {NXK_max, NX_F32, NX_F32, nz, nz, 0, nz},
      {NXK_min, NX_F32, NX_F32, nz, z, 0, nz},
      {NXK_min, NX_F32, NX_F32, z, nz, 0, nz},
      {NXK_min, NX_F32, NX_F32, z, z, 0, z},
      {NXK_max, NX_F32, NX_F32, NAN32, one, 0, NAN32},
      {NXK_max, NX_F32, NX_F32, one, NAN32, 0, NAN32},
      {NXK_min, NX_F32, NX_F32, NAN32, one, 0, NAN32},
      {NXK_min, NX_F32, NX_F32, one, NAN32, 0, NAN32},
      {NXK_max, NX_F64, NX_F64, D(-0.0), D(0.0), 0, D(0.0)},
      {NXK_min, NX_F64, NX_F64, D(0.0), D(-0.0), 0, D(-0.0)},
      {NXK_max, NX_F64, NX_F64, D(1), NAN64, 0, NAN64},
      {NXK_min, NX_F64, NX_F64, NAN64, D(1), 0, NAN64},
      {NXK_max, NX_F64, NX_F64, D(1), D(2), 0, D(2)},
      {NXK_min, NX_F64, NX_F64, D(1), D(2), 0, D(1)},
      {NXK_max, NX_F32, NX_F32, F(-3), F(2), 0, F(2)},
      {NXK_min, NX_F32, NX_F32, F(-3), F(2), 0, F(-3)},
      {NXK_rint, NX_F32, NX_F32, F(2.5f), 0, 0, F(2)},
      {NXK_rint, NX_F32, NX_F32, F(3.5f), 0, 0, F(4)},
      {NXK_rint, NX_F32, NX_F32, F(-0.5f), 0, 0, nz},
      {NXK_rint, NX_F64, NX_F64, D(0.5), 0, 0, D(0)},
      {NXK_trunc, NX_F32, NX_F32, F(-1.5f), 0, 0, F(-1)},
      {NXK_floor, NX_F32, NX_F32, F(-1.5f), 0, 0, F(-2)},
      {NXK_ceil, NX_F32, NX_F32, F(-0.5f), 0, 0, nz},
      {NXK_floor, NX_F64, NX_F64, D(-0.5), 0, 0, D(-1)},
  };
  CHECK(rows);
}

static void float_arithmetic(void **state) {
  (void)state;
  const uint64_t z = F(0.0f), nz = F(-0.0f), one = F(1.0f), tiny = 1;
  const row rows[] = {
      {NXK_neg, NX_F32, NX_F32, z, 0, 0, nz},
      {NXK_abs, NX_F32, NX_F32, MINUS(INF32), 0, 0, INF32},
      {NXK_sqrt, NX_F32, NX_F32, nz, 0, 0, nz},
      {NXK_sqrt, NX_F32, NX_F32, F(-1), 0, 0, NAN32},
      {NXK_sqrt, NX_F64, NX_F64, D(2), 0, 0, UINT64_C(0x3ff6a09e667f3bcd)},
      {NXK_div, NX_F32, NX_F32, one, nz, 0, MINUS(INF32)},
      {NXK_div, NX_F32, NX_F32, z, z, 0, NAN32},
      {NXK_add, NX_F32, NX_F32, nz, nz, 0, nz},
      {NXK_add, NX_F32, NX_F32, nz, z, 0, z},
      {NXK_sub, NX_F32, NX_F32, INF32, INF32, 0, NAN32},
      {NXK_mul, NX_F32, NX_F32, INF32, z, 0, NAN32},
      {NXK_mul, NX_F32, NX_F32, tiny, F(0.5f), 0, z},
      {NXK_mul, NX_F32, NX_F32, 3, F(0.5f), 0, 2},
      {NXK_mod, NX_F32, NX_F32, F(-5.5f), F(2), 0, F(-1.5f)},
      {NXK_mod, NX_F32, NX_F32, F(5), z, 0, NAN32},
      {NXK_mod, NX_F32, NX_F32, F(-4), F(2), 0, nz},
      {NXK_mod, NX_F64, NX_F64, D(1e300), D(7), 0, D(1)},
      {NXK_mod, NX_F32, NX_F32, one, INF32, 0, one},
      {NXK_copysign, NX_F32, NX_F32, F(3), nz, 0, F(-3)},
      {NXK_copysign, NX_F64, NX_F64, D(-3), D(1), 0, D(3)},
      {NXK_fma, NX_F32, NX_F32, F(1 + FLT_EPSILON), F(1 - FLT_EPSILON), F(-1),
       F(-FLT_EPSILON * FLT_EPSILON)},
      {NXK_fma, NX_F64, NX_F64, D(1 + DBL_EPSILON), D(1 - DBL_EPSILON), D(-1),
       D(-DBL_EPSILON * DBL_EPSILON)},
  };
  CHECK(rows);
}

static void ldexp_and_comparisons(void **state) {
  (void)state;
  const uint64_t z = F(0.0f), nz = F(-0.0f), one = F(1.0f);
  const row rows[] = {
      {NXK_ldexp, NX_F32, NX_F32, F(1.5f), F(10), 0, F(1536)},
      {NXK_ldexp, NX_F32, NX_F32, F(1), F(-149), 0, 1},
      {NXK_ldexp, NX_F32, NX_F32, F(1.5f), F(-149), 0, 2},
      {NXK_ldexp, NX_F32, NX_F32, F(1.25f), F(-149), 0, 1},
      {NXK_ldexp, NX_F32, NX_F32, F(1), F(-150), 0, 0},
      {NXK_ldexp, NX_F32, NX_F32, F(1.5f), F(1e9f), 0, INF32},
      {NXK_ldexp, NX_F32, NX_F32, F(1.5f), F(-1e9f), 0, z},
      {NXK_ldexp, NX_F32, NX_F32, nz, F(300), 0, nz},
      {NXK_ldexp, NX_F64, NX_F64, D(1.5), D(-1074), 0, 2},
      {NXK_ldexp, NX_F64, NX_F64, D(1), D(1e18), 0, D(INFINITY)},
      {NXK_ldexp, NX_F32, NX_F32, NAN32, F(3), 0, NAN32},
      {NXK_eq, NX_F32, NX_BOOL, NAN32, NAN32, 0, 0},
      {NXK_ne, NX_F32, NX_BOOL, NAN32, NAN32, 0, 1},
      {NXK_lt, NX_F32, NX_BOOL, NAN32, one, 0, 0},
      {NXK_le, NX_F64, NX_BOOL, NAN64, D(1), 0, 0},
      {NXK_eq, NX_F32, NX_BOOL, z, nz, 0, 1},
      {NXK_lt, NX_F32, NX_BOOL, nz, z, 0, 0},
      {NXK_le, NX_F32, NX_BOOL, one, one, 0, 1},
      {NXK_lt, NX_F64, NX_BOOL, D(1), D(2), 0, 1},
  };
  CHECK(rows);
}

/* Moves and comparisons alone. */
static void small_floats_and_casts(void **state) {
  (void)state;
  const row rows[] = {
      {NXK_lt, NX_F16, NX_BOOL, 0x3c00, 0x4000, 0, 1},
      {NXK_eq, NX_BF16, NX_BOOL, 0x8000, 0, 0, 1},
      {NXK_ne, NX_F16, NX_BOOL, 0x7e00, 0x7e00, 0, 1},
      {NXK_select, NX_F16, NX_F16, 1, 0x7e01, 0, 0x7e01},
      {NXK_cast, NX_F32, NX_BF16, F(257), 0, 0, 0x4380},
      {NXK_cast, NX_F16, NX_F32, 0x3c00, 0, 0, F(1.0f)},
      {NXK_bitcast, NX_BF16, NX_U16, 0x3f80, 0, 0, 0x3f80},
      {NXK_cast, NX_F32, NX_I32, NAN32, 0, 0, 0},
      {NXK_cast, NX_F32, NX_I32, F(3e9f), 0, 0, 0x7fffffff},
  };
  CHECK(rows);
}

/* ---- every pair of 8-bit integers against plain arithmetic on wider numbers */

static int reference(nxk_op op, bool is_signed, int a, int b) {
  unsigned count = (unsigned)b;
  switch (op) {
    case NXK_add: return a + b;
    case NXK_sub: return a - b;
    case NXK_mul: return a * b;
    case NXK_div: return b ? a / b : 0;
    case NXK_mod: return b ? a % b : 0;
    case NXK_max: return a > b ? a : b;
    case NXK_min: return a < b ? a : b;
    case NXK_and: return a & b;
    case NXK_or: return a | b;
    case NXK_xor: return a ^ b;
    case NXK_shl: return count < 8 ? a * (1 << count) : 0;
    case NXK_shr:
      return count < 8 ? (is_signed ? (int)floor(a / (double)(1 << count)) : a >> count)
             : a < 0   ? -1
                       : 0;
    case NXK_eq: return a == b;
    case NXK_ne: return a != b;
    case NXK_lt: return a < b;
    case NXK_le: return a <= b;
    case NXK_neg: return -a;
    case NXK_abs: return a < 0 ? -a : a;
    default: return ~a;
  }
}

static void small_integers(void **state) {
  (void)state;
  static const nxk_op ops[] = {NXK_add, NXK_sub, NXK_mul, NXK_div, NXK_mod, NXK_max, NXK_min,
                               NXK_and, NXK_or,  NXK_xor, NXK_shl, NXK_shr, NXK_eq,  NXK_ne,
                               NXK_lt,  NXK_le,  NXK_neg, NXK_abs, NXK_not};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    for (int a = 0; a < 256; a++) {
      for (int b = 0; b < 256; b++) {
        uint64_t args[3] = {(uint64_t)a, (uint64_t)b, 0};
        bool compares = nxk_scalars[ops[i]].result == NXK_RESULT_BOOL;
        uint64_t u = nxk_eval(ops[i], NX_U8, compares ? NX_BOOL : NX_U8, args);
        uint64_t s = nxk_eval(ops[i], NX_I8, compares ? NX_BOOL : NX_I8, args);
        assert_int_equal(u, (uint8_t)reference(ops[i], false, a, b));
        assert_int_equal(s, (uint8_t)reference(ops[i], true, (int8_t)a, (int8_t)b));
      }
    }
  }
}

/* ---- functions go through their expansions */

static void functions(void **state) {
  (void)state;
  const row rows[] = {
      {NXK_recip, NX_I32, NX_I32, 0, 0, 0, 0},
      {NXK_recip, NX_I32, NX_I32, 0xffffffffu, 0, 0, 0xffffffffu},
      {NXK_recip, NX_F32, NX_F32, F(4), 0, 0, F(0.25f)},
      {NXK_sign, NX_I64, NX_I64, UINT64_MAX - 4, 0, 0, UINT64_MAX},
      {NXK_sign, NX_F64, NX_F64, D(-2), 0, 0, D(-1)},
      {NXK_round, NX_F32, NX_F32, F(2.5f), 0, 0, F(3)},
      {NXK_round, NX_F64, NX_F64, D(-0.5), 0, 0, D(-1)},
      {NXK_exp, NX_F32, NX_F32, F(0), 0, 0, F(1)},
      {NXK_log, NX_F64, NX_F64, D(1), 0, 0, D(0)},
      {NXK_sin, NX_F64, NX_F64, D(INFINITY), 0, 0, NAN64},
      {NXK_pow, NX_I32, NX_I32, 3, 4, 0, 81},
      {NXK_pow, NX_F32, NX_F32, NAN32, 0, 0, F(1)},
      {NXK_atan2, NX_F64, NX_F64, D(0), D(1), 0, D(0)},
  };
  assert_true(nxk_eval_ready(NXK_exp, NX_F32));
  CHECK(rows);
  for (double x = -3; x < 3; x += 0.37) {
    uint64_t args[3] = {D(x), 0, 0};
    double got = nxi_f64_bits(nxk_eval(NXK_sin, NX_F64, NX_F64, args));
    assert_true(fabs(got - sin(x)) < 1e-15);
  }
}

/* ---- names, environment, reductions */

static void names(void **state) {
  (void)state;
  for (int op = 0; op < NXK_OP_COUNT; op++) {
    const char *name = nxk_op_name((nxk_op)op);
    assert_int_equal(nxk_op_from_name(name, strlen(name)), op);
  }
  assert_string_equal(nxk_op_name(NXK_add), "add");
  assert_string_equal(nxk_op_name(NXK_for), "for");
  assert_int_equal(nxk_op_from_name("ad", 2), NXK_OP_COUNT);
  assert_int_equal(nxk_op_from_name("addx", 3), NXK_add);
  assert_string_equal(nxk_reduce_name(NXK_ARGMIN), "argmin");
  assert_string_equal(nxk_order_name(NXK_ORDER_SEQUENTIAL), "sequential");
}

static void environment(void **state) {
  (void)state;
#if defined(__x86_64__)
  uint64_t args[3] = {3, F(0.5f), 0};
  uint32_t before = __builtin_ia32_stmxcsr(), flushing = before | 0x8040;
  __builtin_ia32_ldmxcsr(flushing);
  nxi_fp saved = nxi_fp_enter();
  uint64_t product = nxk_eval(NXK_mul, NX_F32, NX_F32, args);
  nxi_fp_leave(saved);
  uint32_t after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before);
  assert_int_equal(product, 2);
  assert_int_equal(after & 0x8040, 0x8040);
#endif
}

static void reductions(void **state) {
  (void)state;
  static const uint64_t values32[] = {0,           0x80000000u, 1,          0x80000001u, 0x3f800000,
                                      0xff800000u, 0x7f800000,  0x7f7fffff, 0x7fc00000};
  static const nx_dtype types[] = {NX_F32, NX_I32, NX_U32};
  for (int kind = 0; kind < NXK_CHAIN_KINDS; kind++)
    for (int t = 0; t < 3; t++)
      for (size_t i = 0; i < sizeof values32 / sizeof *values32; i++) {
        if (!(nxk_reduction_of((uint32_t)kind)->admits & nxi_dtypes[types[t]].cls)) continue;
        uint64_t identity = nxk_reduce_identity((nxk_reduce_kind)kind, types[t]), x = values32[i];
        assert_true(nxi_same_bits(nxk_reduce_combine((nxk_reduce_kind)kind, types[t], identity, x),
                                  x, types[t]));
        assert_true(nxi_same_bits(nxk_reduce_combine((nxk_reduce_kind)kind, types[t], x, identity),
                                  x, types[t]));
      }
  assert_int_equal(nxk_reduce_identity(NXK_MAX, NX_I8), 0x80);
  assert_int_equal(nxk_reduce_identity(NXK_MIN, NX_I8), 0x7f);
  assert_int_equal(nxk_reduce_identity(NXK_MIN, NX_U64), UINT64_MAX);
  assert_int_equal(nxk_reduce_identity(NXK_MAX, NX_I64), UINT64_C(1) << 63);
  assert_int_equal(nxk_reduce_identity(NXK_ARGMAX, NX_BOOL), 0);
  assert_int_equal(nxk_reduce_identity(NXK_MAX, NX_F64), D(-INFINITY));
  assert_int_equal(nxk_reduce_identity(NXK_DOT, NX_F32), 0);
  assert_true(nxk_arg_better(NXK_ARGMAX, NX_F32, F(1), 0, F(2), 1));
  assert_false(nxk_arg_better(NXK_ARGMAX, NX_F32, F(2), 0, F(2), 1)); /* the first of equals */
  assert_true(nxk_arg_better(NXK_ARGMAX, NX_F32, F(2), 1, F(2), 0));
  assert_true(nxk_arg_better(NXK_ARGMIN, NX_F32, F(2), 0, F(1), 1));
  assert_false(nxk_arg_better(NXK_ARGMAX, NX_F32, F(0), 0, F(-0.0f), 1)); /* zeros are equal */
  assert_true(nxk_arg_better(NXK_ARGMAX, NX_F32, F(-0.0f), 1, F(0), 0));
  assert_true(nxk_arg_better(NXK_ARGMIN, NX_F32, F(1), 0, NAN32, 9)); /* a NaN wins for both */
  assert_false(nxk_arg_better(NXK_ARGMIN, NX_F32, NAN32, 9, F(1), 0));
  assert_true(nxk_arg_better(NXK_ARGMAX, NX_F32, NAN32, 9, NAN32, 3));
  assert_false(nxk_arg_better(NXK_ARGMAX, NX_F32, NAN32, 3, NAN32, 9));
  assert_true(nxk_arg_better(NXK_ARGMAX, NX_I8, 0xff, 0, 1, 1));
  assert_false(nxk_arg_better(NXK_ARGMAX, NX_U8, 0xff, 0, 1, 1));
}

/* What the columns of reduce_ops.def say of each other. */
static void reduction_rows(void **state) {
  (void)state;
  for (int kind = 0; kind < NXK_KINDS; kind++) {
    const nxk_reduction *row = nxk_reduction_of((uint32_t)kind);
    const nxk_reduction *partial = nxk_reduction_of(row->partial);
    const nxk_scalar_info *combine = &nxk_scalars[row->combine];
    assert_int_equal(combine->arity, nxk_takes_pairs((uint32_t)kind) ? 4 : 2);
    assert_int_equal(row->admits & ~combine->admits, 0);
    assert_int_equal(partial->combine, row->combine);
    assert_true(row->partial == kind || nxk_is_chain(row->partial));
    assert_false(nxk_is_chain((uint32_t)kind) && row->partial != kind);
    assert_false((row->flags & NXK_ROUNDS) && (row->flags & NXK_REPEAT));
  }
  assert_string_equal(nxk_reduce_name(NXK_KINDS), "?");
  assert_int_equal(nxk_reduction_of(200)->admits, 0);
  assert_int_equal(nxk_reduce_empty(NXK_SUM, NX_F32), 0);
  assert_int_equal(nxk_reduce_empty(NXK_PROD, NX_F32), F(1));
  assert_int_equal(nxk_reduce_empty(NXK_MIN, NX_BOOL), 1);
  assert_int_equal(nxk_reduce_empty(NXK_ARGMIN, NX_I8), 0);
  assert_true(nxk_any_order(NXK_SUM, NX_I32) && nxk_any_order(NXK_ARGMAX, NX_F32));
  assert_false(nxk_any_order(NXK_DOT, NX_F64));
}

NXT_MAIN(op) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers),
      cmocka_unit_test(shifts),
      cmocka_unit_test(other_integers),
      cmocka_unit_test(bools),
      cmocka_unit_test(extremes_and_rounding),
      cmocka_unit_test(float_arithmetic),
      cmocka_unit_test(ldexp_and_comparisons),
      cmocka_unit_test(small_floats_and_casts),
      cmocka_unit_test(small_integers),
      cmocka_unit_test(functions),
      cmocka_unit_test(names),
      cmocka_unit_test(environment),
      cmocka_unit_test(reductions),
      cmocka_unit_test(reduction_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
