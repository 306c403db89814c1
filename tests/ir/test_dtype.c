/* SPDX-License-Identifier: ISC */
/* Tests of ir/dtype.c: the table, and every conversion of scalars against the definition of the
 * formats (small floats, exhaustively) or against the machine's own conversions (the rest). */
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/dtype.h"
#include "tests/util/runner.h"

enum { SAMPLES = 200000 };

static uint64_t random_state;
static uint64_t random_bits(void) { /* a linear congruence, its high half mixed into the low one */
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return random_state ^ random_state >> 31;
}

/* ---- the table */

static void names_and_sizes(void **state) {
  (void)state;
  assert_string_equal(nx_dtype_name(NX_BOOL), "bool");
  assert_string_equal(nx_dtype_name(NX_C128), "c128");
  assert_null(nx_dtype_name(0));
  assert_null(nx_dtype_name(NXI_DTYPE_COUNT));
  assert_null(nx_dtype_name(-1));
  for (nx_dtype t = 1; t < NXI_DTYPE_COUNT; t++)
    assert_int_equal(nx_dtype_from_name(nx_dtype_name(t)), t);
  assert_int_equal(nx_dtype_from_name("none"), 0);
  assert_int_equal(nx_dtype_from_name("f3"), 0);
  assert_int_equal(nx_dtype_from_name(NULL), 0);
  assert_int_equal(nx_dtype_bits(NX_U4), 4);
  assert_int_equal(nx_dtype_bits(NX_BOOL), 8);
  assert_int_equal(nx_dtype_bits(NX_C128), 128);
  assert_int_equal(nx_dtype_bits(99), 0);
  assert_true(nxi_dtype_class(NX_I8) == NXI_INT && nxi_dtype_class(NX_U64) == NXI_UINT);
  assert_true(nxi_compute_dtype(NX_BF16) == NX_F32 && nxi_compute_dtype(NX_F64) == NX_F64);
}

/* ---- small floats, from the definition */

/* infinity: the bits of infinity without the sign, or of the NaN that e4m3 has instead. */
typedef struct small_float {
  nx_dtype dtype;
  int bits, fraction_bits, bias;
  uint16_t infinity;
} small_float;
static const small_float small_floats[] = {{NX_F16, 16, 10, 15, 0x7c00},
                                           {NX_BF16, 16, 7, 127, 0x7f80},
                                           {NX_F8E4M3, 8, 3, 7, 0x7f},
                                           {NX_F8E5M2, 8, 2, 15, 0x7c}};
enum { SMALL_FLOATS = sizeof small_floats / sizeof *small_floats };

/* The value of non-negative bits. For the bits of infinity it is the value that the next number
 * would have. */
static double value_of(small_float f, uint16_t bits) {
  int field = bits >> f.fraction_bits, fraction = bits & ((1 << f.fraction_bits) - 1);
  int significand = field ? fraction | 1 << f.fraction_bits : fraction;
  return ldexp(significand, (field ? field : 1) - f.bias - f.fraction_bits);
}

static uint64_t cast_f64(double x, nx_dtype to) {
  return nxi_cast_bits(nxi_bits_f64(x), NX_F64, to);
}
static uint64_t cast_f32(float x, nx_dtype to) {
  return nxi_cast_bits(nxi_bits_f32(x), NX_F32, to);
}

static float small_to_f32(uint32_t bits, nx_dtype from) {
  if (from == NX_F16) return nxi_f16_to_f32((uint16_t)bits);
  if (from == NX_BF16) return nxi_bf16_to_f32((uint16_t)bits);
  return nxi_f32_bits(nxi_cast_bits(bits, from, NX_F32));
}

static void small_floats_widen(void **state) {
  (void)state;
  for (size_t i = 0; i < SMALL_FLOATS; i++) {
    small_float f = small_floats[i];
    uint32_t sign = 1u << (f.bits - 1);
    for (uint32_t bits = 0; bits < 2 * sign; bits++) {
      uint16_t magnitude = bits & (sign - 1);
      double wide = nxi_f64_bits(nxi_cast_bits(bits, f.dtype, NX_F64));
      float single = small_to_f32(bits, f.dtype);
      if (magnitude > f.infinity || (f.dtype == NX_F8E4M3 && magnitude == 0x7f)) {
        assert_true(isnan(wide) && isnan(single));
        continue;
      }
      double expected = magnitude == f.infinity ? HUGE_VAL : value_of(f, magnitude);
      if (bits & sign) expected = -expected;
      assert_int_equal(nxi_bits_f64(wide), nxi_bits_f64(expected));
      assert_int_equal(nxi_bits_f32(single), nxi_bits_f32((float)expected));
      assert_int_equal(nxi_cast_bits(nxi_bits_f64(wide), NX_F64, f.dtype), bits);
      assert_int_equal(nxi_cast_bits(nxi_bits_f32(single), NX_F32, f.dtype), bits);
    }
  }
}

/* Tests every point where the rounding changes: the middle between two neighbours, and the numbers
 * just below and above it. */
static void small_floats_round_once(void **state) {
  (void)state;
  for (size_t i = 0; i < SMALL_FLOATS; i++) {
    small_float f = small_floats[i];
    for (uint16_t low = 0; low < f.infinity; low++) {
      uint16_t high = low + 1, even = low & 1 ? high : low;
      double middle = (value_of(f, low) + value_of(f, high)) / 2;
      for (int sign = 0; sign < 2; sign++) {
        double s = sign ? -1 : 1;
        uint64_t bit = sign ? 1u << (f.bits - 1) : 0;
        assert_int_equal(cast_f64(s * middle, f.dtype), even | bit);
        assert_int_equal(cast_f64(s * nextafter(middle, 0), f.dtype), low | bit);
        assert_int_equal(cast_f64(s * nextafter(middle, HUGE_VAL), f.dtype), high | bit);
        if ((double)(float)middle != middle) continue; /* below f32's smallest number */
        assert_int_equal(cast_f32((float)(s * middle), f.dtype), even | bit);
        assert_int_equal(cast_f32((float)s * nextafterf((float)middle, 0), f.dtype), low | bit);
        assert_int_equal(cast_f32((float)s * nextafterf((float)middle, HUGE_VALF), f.dtype),
                         high | bit);
      }
    }
    uint32_t sign = 1u << (f.bits - 1);
    assert_int_equal(cast_f64(1e300, f.dtype), f.infinity);
    /* up to numbers larger than the one that would follow the largest */
    for (int part = 8; part < 40; part++)
      assert_int_equal(cast_f64(value_of(f, f.infinity) * part / 8, f.dtype), f.infinity);
    assert_int_equal(cast_f64(5e-324, f.dtype), 0);
    assert_int_equal(cast_f64(-HUGE_VAL, f.dtype), f.infinity | sign);
    assert_true(isnan(small_to_f32((uint32_t)cast_f64(NAN, f.dtype), f.dtype)));
  }
}

static void anchors(void **state) {
  (void)state;
  assert_int_equal(nxi_cast_bits(4311744513, NX_I64, NX_BF16),
                   0x4f81); /* through f32 it would be 4f80 */
  assert_int_equal(nxi_cast_bits(4311744512, NX_I64, NX_BF16), 0x4f80);
  assert_int_equal(nxi_cast_bits((uint64_t)-4311744513, NX_I64, NX_BF16), 0xcf81);
  assert_true(nxi_f16_to_f32((uint16_t)nxi_cast_bits(2049, NX_I16, NX_F16)) == 2048);
  assert_int_equal(nxi_cast_bits(65536, NX_I32, NX_F16), 0x7c00);
  assert_int_equal(nxi_cast_bits(65519, NX_U16, NX_F16), 0x7bff);
  assert_true(nxi_bf16_to_f32((uint16_t)nxi_cast_bits(257, NX_U16, NX_BF16)) == 256);
  assert_int_equal(nxi_f64_to_f16(0x1p-24), 1);
  assert_int_equal(nxi_f64_to_f16(0x1p-25), 0);
  assert_int_equal(nxi_f64_to_f16(0x1.000001p-25),
                   1); /* f32 could not tell it from the tie after two roundings */
  assert_int_equal(nxi_f64_to_bf16(0x1.0100000001p0), 0x3f81);
  assert_int_equal(nxi_f32_to_bf16(0x1.01p0f), 0x3f80);
  assert_int_equal(nxi_f32_to_f16(-0.0f), 0x8000);
  assert_int_equal(nxi_cast_bits(448, NX_I16, NX_F8E4M3), 0x7e);
  assert_int_equal(nxi_cast_bits(464, NX_I64, NX_F8E4M3), 0x7e);
  assert_int_equal(nxi_cast_bits(465, NX_U16, NX_F8E4M3), 0x7f);
  assert_int_equal(cast_f32(-HUGE_VALF, NX_F8E4M3), 0xff);
  assert_int_equal(nxi_cast_bits(57344, NX_I32, NX_F8E5M2), 0x7b);
  assert_int_equal(nxi_cast_bits(61440, NX_U16, NX_F8E5M2), 0x7c);
  assert_int_equal(cast_f64(0x1.1000001p0, NX_F8E4M3), 0x39); /* through f32 or f16 a tie: 0x38 */
}

static void nan_is_quiet(void **state) {
  (void)state;
  static const struct {
    nx_dtype t;
    uint64_t signalling, quiet_bit;
  } rows[] = {{NX_F16, 0x7c01, 0x200},
              {NX_BF16, 0x7f81, 0x40},
              {NX_F8E5M2, 0x7d, 2},
              {NX_F32, 0x7f800001, 0x400000},
              {NX_F64, 0x7ff0000000000001, 0x8000000000000}};
  for (size_t i = 0; i < 5; i++)
    for (size_t j = 0; j < 5; j++) {
      if (i == j) continue;
      uint64_t got = nxi_cast_bits(rows[i].signalling, rows[i].t, rows[j].t);
      assert_true(nxi_same_bits(got, rows[j].signalling, rows[j].t));
      assert_true(got & rows[j].quiet_bit);
    }
}

/* ---- against the machine */

/* Bits whose exponents and significands are both varied, with many short significands among
 * them. */
static double random_f64(void) {
  uint64_t bits = random_bits();
  if (bits & 1) bits &= UINT64_MAX << (random_bits() % 52);
  if (bits & 2)
    bits = (bits & ~(0x7ffull << 52)) | (uint64_t)(1023 - 160 + random_bits() % 320) << 52;
  return nxi_f64_bits(bits);
}

static void f64_to_f32_and_back(void **state) {
  (void)state;
  random_state = 1;
  for (int i = 0; i < SAMPLES; i++) {
    double x = random_f64();
    uint64_t got = cast_f64(x, NX_F32);
    assert_true(nxi_same_bits(got, nxi_bits_f32((float)x), NX_F32));
    assert_true(
        nxi_same_bits(nxi_cast_bits(got, NX_F32, NX_F64), nxi_bits_f64((double)(float)x), NX_F64));
  }
}

static void integers_to_floats(void **state) {
  (void)state;
  random_state = 2;
  for (int i = 0; i < SAMPLES; i++) {
    uint64_t bits = random_bits() >> (random_bits() & 63);
    if (i & 1) bits = -bits;
    assert_int_equal(nxi_cast_bits(bits, NX_I64, NX_F64), nxi_bits_f64((double)(int64_t)bits));
    assert_int_equal(nxi_cast_bits(bits, NX_I64, NX_F32), nxi_bits_f32((float)(int64_t)bits));
    assert_int_equal(nxi_cast_bits(bits, NX_U64, NX_F64), nxi_bits_f64((double)bits));
    assert_int_equal(nxi_cast_bits(bits, NX_U64, NX_F32), nxi_bits_f32((float)bits));
    assert_int_equal(nxi_cast_bits((uint32_t)bits, NX_I32, NX_F32),
                     nxi_bits_f32((float)(int32_t)bits));
    assert_int_equal(nxi_cast_bits((uint8_t)bits, NX_I8, NX_F64),
                     nxi_bits_f64((double)(int8_t)bits));
    assert_int_equal(nxi_cast_bits((uint16_t)bits, NX_U16, NX_F32),
                     nxi_bits_f32((float)(uint16_t)bits));
  }
  assert_int_equal(nxi_cast_bits(1, NX_BOOL, NX_F64), nxi_bits_f64(1));
  assert_int_equal(nxi_cast_bits(0, NX_BOOL, NX_BF16), 0);
}

static void floats_to_integers_saturate(void **state) {
  (void)state;
  static const struct {
    double x;
    nx_dtype to;
    uint64_t expected;
  } rows[] = {{NAN, NX_I32, 0},
              {NAN, NX_U8, 0},
              {-0.0, NX_I8, 0},
              {0.99, NX_I8, 0},
              {-0.99, NX_I8, 0},
              {-0.99, NX_U8, 0},
              {-1.5, NX_I8, 0xff},
              {127.9, NX_I8, 127},
              {128, NX_I8, 127},
              {-128.9, NX_I8, 0x80},
              {-129, NX_I8, 0x80},
              {-1, NX_U8, 0},
              {-HUGE_VAL, NX_U64, 0},
              {HUGE_VAL, NX_U8, 255},
              {256, NX_U8, 255},
              {255.5, NX_U8, 255},
              {65535.5, NX_U16, 65535},
              {65536, NX_U16, 65535},
              {-32769, NX_I16, 0x8000},
              {2147483647.5, NX_I32, 0x7fffffff},
              {-2147483648.5, NX_I32, 0x80000000},
              {3e9, NX_U32, 3000000000},
              {0x1p63, NX_I64, INT64_MAX},
              {-0x1p63, NX_I64, 1ull << 63},
              {-0x1p64, NX_I64, 1ull << 63},
              {0x1p63, NX_U64, 1ull << 63},
              {0x1p64, NX_U64, UINT64_MAX},
              {0x1.fffffffffffffp63, NX_U64, 0xfffffffffffff800},
              {HUGE_VAL, NX_I64, INT64_MAX},
              {-HUGE_VAL, NX_I64, 1ull << 63},
              {-5, NX_I64, (uint64_t)-5}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_int_equal(cast_f64(rows[i].x, rows[i].to), rows[i].expected);
  random_state = 3;
  for (int i = 0; i < SAMPLES; i++) {
    double x = random_f64();
    if (fabs(x) < 0x1p63) assert_int_equal(cast_f64(x, NX_I64), (uint64_t)(int64_t)x);
    if (fabs(x) < 0x1p31) assert_int_equal(cast_f64(x, NX_I32), (uint32_t)(int32_t)x);
    if (x >= 0 && x < 256) assert_int_equal(cast_f64(x, NX_U8), (uint8_t)x);
  }
}

static void anything_to_bool(void **state) {
  (void)state;
  static const struct {
    nx_dtype from;
    uint64_t bits, expected;
  } rows[] = {{NX_F64, 0, 0},          {NX_F64, 1ull << 63, 0},
              {NX_F64, 1, 1},          {NX_F64, 0x7ff8000000000000, 1},
              {NX_F32, 0x80000000, 0}, {NX_F32, 1, 1},
              {NX_F16, 0x8000, 0},     {NX_F16, 0x7e00, 1},
              {NX_BF16, 0x8001, 1},    {NX_I8, 0x80, 1},
              {NX_F8E4M3, 0x80, 0},    {NX_F8E4M3, 0xff, 1},
              {NX_F8E5M2, 0x81, 1},    {NX_F8E5M2, 0x7d, 1},
              {NX_I64, 256, 1},        {NX_U32, 0, 0},
              {NX_BOOL, 1, 1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_int_equal(nxi_cast_bits(rows[i].bits, rows[i].from, NX_BOOL), rows[i].expected);
}

static void integers_wrap(void **state) {
  (void)state;
  assert_int_equal(nxi_cast_bits(0xff, NX_I8, NX_I64), UINT64_MAX);
  assert_int_equal(nxi_cast_bits(0xff, NX_I8, NX_U16), 0xffff);
  assert_int_equal(nxi_cast_bits(0xff, NX_U8, NX_I16), 0xff);
  assert_int_equal(nxi_cast_bits(0x180, NX_I16, NX_I8), 0x80);
  assert_int_equal(nxi_cast_bits(UINT64_MAX, NX_I64, NX_U8), 0xff);
  assert_int_equal(nxi_cast_bits(0x80000000, NX_I32, NX_U64), 0xffffffff80000000);
  assert_int_equal(nxi_cast_bits(1, NX_BOOL, NX_I64), 1);
}

/* The caller's rounding mode must not affect conversions, which compute constants on the caller's
 * thread. */
static void rounding_mode_is_not_read(void **state) {
  (void)state;
  static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (size_t i = 0; i < 3; i++) {
    fesetround(modes[i]);
    uint64_t down = nxi_cast_bits(nxi_bits_f64(0x1.0000000001p0), NX_F64, NX_F32);
    uint64_t up = nxi_cast_bits(0x7fffffffffffffff, NX_I64, NX_F32);
    fesetround(FE_TONEAREST);
    assert_int_equal(down, 0x3f800000);
    assert_int_equal(up, 0x5f000000);
  }
}

/* ---- memory */

static void elements_of_memory(void **state) {
  (void)state;
  unsigned char memory[16];
  for (nx_dtype t = 1; t < NXI_DTYPE_COUNT; t++) {
    if (!nxi_is_element(t)) continue;
    int64_t size = nxi_dtype_size(t);
    uint64_t bits = t == NX_BOOL ? 1 : 0x8182838485868788 >> (64 - nxi_dtypes[t].bits);
    memset(memory, 0x55, sizeof memory);
    nxi_store_element(memory + 1, t, bits); /* no alignment */
    assert_int_equal(nxi_load_element(memory + 1, t), bits);
    assert_int_equal(memory[0], 0x55);
    assert_int_equal(memory[1 + size], 0x55);
  }
  memory[0] = 7;
  assert_int_equal(nxi_load_element(memory, NX_BOOL), 1);
  assert_int_equal(nxi_load_element(memory, NX_U8), 7);
}

static void equality_of_tests(void **state) {
  (void)state;
  assert_true(nxi_same_bits(0x7fc00000, 0xff800001, NX_F32));
  assert_false(nxi_same_bits(0x7fc00000, 0x7f800000, NX_F32));
  assert_false(nxi_same_bits(0, 0x80000000, NX_F32)); /* zeros differ by their sign */
  assert_false(nxi_same_bits(0x7fc00000, 0xff800001, NX_I32));
  assert_true(nxi_same_bits(0x7e00, 0xfc01, NX_F16));
  assert_true(nxi_same_bits(0x7ff8000000000000, 0xfff0000000000001, NX_F64));
}

NXT_MAIN(dtype) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(names_and_sizes),
                                     cmocka_unit_test(small_floats_widen),
                                     cmocka_unit_test(small_floats_round_once),
                                     cmocka_unit_test(anchors),
                                     cmocka_unit_test(nan_is_quiet),
                                     cmocka_unit_test(f64_to_f32_and_back),
                                     cmocka_unit_test(integers_to_floats),
                                     cmocka_unit_test(floats_to_integers_saturate),
                                     cmocka_unit_test(anything_to_bool),
                                     cmocka_unit_test(integers_wrap),
                                     cmocka_unit_test(rounding_mode_is_not_read),
                                     cmocka_unit_test(elements_of_memory),
                                     cmocka_unit_test(equality_of_tests)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
