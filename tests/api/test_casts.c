/* SPDX-License-Identifier: ISC */
/* Casts to and from the element types of eight bits and less, through the interface, against the
 * definition of the formats: a small float is searched in the table of all its values, an integer
 * is what C says of an exact number. Sources of up to 16 bits go through all their values, wider
 * ones around every point where a rounding changes. */
#include <math.h>

#include "tests/util/api.h"

enum { MOST = 1 << 16 };

typedef struct format {
  nx_dtype dtype;
  int bits, fraction, bias;
  uint32_t largest, infinity; /* magnitudes; infinity 0: there is none, beyond is NaN */
} format;
static const format formats[] = {{NX_F8E4M3, 8, 3, 7, 0x7e, 0},
                                 {NX_F8E5M2, 8, 2, 15, 0x7b, 0x7c},
                                 {NX_F16, 16, 10, 15, 0x7bff, 0x7c00},
                                 {NX_BF16, 16, 7, 127, 0x7f7f, 0x7f80}};

static const format *format_of(nx_dtype t) {
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (formats[i].dtype == t) return &formats[i];
  return NULL;
}

static bool is_signed(nx_dtype t) { return nx_dtype_name(t)[0] == 'i'; }
static bool is_integer(nx_dtype t) { return is_signed(t) || nx_dtype_name(t)[0] == 'u'; }
static bool is_complex(nx_dtype t) { return nx_dtype_name(t)[0] == 'c'; }
static int bits_of(nx_dtype t) { return (int)nx_dtype_bits(t); }

/* ---- the reference */

static long double magnitude_of(const format *f, uint32_t m) {
  uint32_t field = m >> f->fraction, fraction = m & ((1u << f->fraction) - 1);
  return ldexpl((long double)(field ? fraction + (1u << f->fraction) : fraction),
                (int)(field ? field : 1) - f->bias - f->fraction);
}

static long double value_of(uint64_t bits, nx_dtype t) {
  const format *f = format_of(t);
  if (f) {
    uint32_t m = (uint32_t)bits & ((1u << (f->bits - 1)) - 1);
    long double x = m <= f->largest                   ? magnitude_of(f, m)
                    : f->infinity && m == f->infinity ? HUGE_VALL
                                                      : NAN;
    return bits >> (f->bits - 1) ? -x : x;
  }
  float single;
  double wide;
  uint32_t low = (uint32_t)bits;
  if (t == NX_F32) return memcpy(&single, &low, 4), single;
  if (t == NX_F64) return memcpy(&wide, &bits, 8), wide;
  uint64_t sign = is_signed(t) ? UINT64_C(1) << (bits_of(t) - 1) : 0;
  return is_signed(t) ? (long double)(int64_t)((bits ^ sign) - sign) : (long double)bits;
}

/* The magnitude nearest to x >= 0, of two the even one; one past the largest counts as if it were a
 * number. */
static uint64_t nearest(const format *f, long double x) {
  uint32_t low = 0, high = f->largest + 1; /* value(low) <= x < value(high) */
  if (x >= magnitude_of(f, high)) return high;
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    if (magnitude_of(f, middle) <= x) low = middle;
    else high = middle;
  }
  long double below = x - magnitude_of(f, low), above = magnitude_of(f, high) - x;
  return below < above || (below == above && low % 2 == 0) ? low : high;
}

static uint64_t to_float(long double x, nx_dtype t) {
  const format *f = format_of(t);
  float single = (float)x;
  double wide = (double)x;
  uint32_t word;
  uint64_t bits;
  if (f) return nearest(f, fabsl(x)) | (uint64_t)(signbit(x) != 0) << (f->bits - 1);
  if (t == NX_F32) return memcpy(&word, &single, 4), word;
  return memcpy(&bits, &wide, 8), bits;
}

static uint64_t to_integer(uint64_t bits, nx_dtype from, long double x, nx_dtype t) {
  uint64_t all = UINT64_MAX >> (64 - bits_of(t)), highest = is_signed(t) ? all / 2 : all;
  if (is_integer(from)) return (is_signed(from) ? (uint64_t)(int64_t)x : bits) & all;
  long double lowest = is_signed(t) ? -(long double)highest - 1 : 0;
  if (x != x) return 0;
  if (x >= (long double)highest) return highest;
  if (x <= lowest) return is_signed(t) ? highest + 1 : 0;
  return x < 0 ? -(uint64_t)-x & all : (uint64_t)x;
}

/* True if `is` is what a cast must give. */
static bool right(uint64_t bits, nx_dtype from, nx_dtype to, uint64_t is) {
  long double x = value_of(bits, from);
  if (to == NX_BOOL) return is == (x != 0);
  if (is_integer(to)) return is == to_integer(bits, from, x, to);
  if (x != x) return isnan(value_of(is, to));
  const format *f = format_of(to);
  if (f && !f->infinity && nearest(f, fabsl(x)) > f->largest) return isnan(value_of(is, to));
  return is == to_float(x, to);
}

/* ---- elements in memory */

static uint64_t element(const uint8_t *memory, nx_dtype t, int64_t i) {
  uint64_t x = 0;
  if (bits_of(t) == 4) return memory[i / 2] >> 4 * (i % 2) & 15;
  memcpy(&x, memory + i * (bits_of(t) / 8), (size_t)bits_of(t) / 8); /* little-endian machines */
  return x;
}

static void set_element(uint8_t *memory, nx_dtype t, int64_t i, uint64_t x) {
  if (bits_of(t) == 4)
    memory[i / 2] = (uint8_t)((memory[i / 2] & (i % 2 ? 15 : 240)) | (x & 15) << 4 * (i % 2));
  else memcpy(memory + i * (bits_of(t) / 8), &x, (size_t)bits_of(t) / 8);
}

static size_t bytes_of(nx_dtype t, int64_t n) { return (size_t)((n * bits_of(t) + 7) / 8); }

/* ---- sources */

static uint64_t random_state = 7;
static uint64_t random_bits(void) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return random_state ^ random_state >> 31;
}

static int64_t add(uint8_t *memory, nx_dtype t, int64_t n, long double x) {
  if (!is_integer(t)) return set_element(memory, t, n, to_float(x, t)), n + 1;
  bool inside = fabsl(x) < ldexpl(1, bits_of(t) - 1) && (x >= 0 || is_signed(t));
  if (inside) set_element(memory, t, n, (uint64_t)(int64_t)x);
  return n + inside;
}

/* x and its neighbours on both sides. */
static int64_t add_around(uint8_t *memory, nx_dtype t, int64_t n, long double x) {
  n = add(memory, t, n, x);
  if (is_integer(t)) return n = add(memory, t, n, x - 1), add(memory, t, n, x + 1);
  uint64_t bits = element(memory, t, n - 1);
  set_element(memory, t, n, bits + 1);
  if (bits & (UINT64_MAX >> (65 - bits_of(t)))) set_element(memory, t, ++n, bits - 1);
  return n + 1;
}

static int64_t make_wide(uint8_t *memory, nx_dtype t) {
  int64_t n = 0;
  static const long double more[] = {0.0L, -0.0L, 7.5L, 15.5L, -8.5L, 1e30L, -1e30L, 1e300L};
  for (int k = 0; k < 2; k++) /* the floats of eight bits */
    for (uint32_t m = 0; m <= formats[k].largest; m++)
      for (int sign = -1; sign <= 1; sign += 2) {
        long double x = magnitude_of(&formats[k], m), next = magnitude_of(&formats[k], m + 1);
        n = add_around(memory, t, n, sign * x);
        n = add_around(memory, t, n, sign * (x + next) / 2);
      }
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) n = add_around(memory, t, n, more[i]);
  if (!is_integer(t)) n = add(memory, t, n, HUGE_VALL), n = add(memory, t, n, NAN);
  for (int i = 0; i < 20000; i++)
    set_element(memory, t, n++, random_bits() >> (random_bits() & 63));
  return n;
}

static int64_t make_source(uint8_t *memory, nx_dtype t) {
  if (bits_of(t) > 16) return make_wide(memory, t);
  int64_t n = t == NX_BOOL ? 2 : INT64_C(1) << bits_of(t);
  for (int64_t i = 0; i < n; i++) set_element(memory, t, i, (uint64_t)i);
  return n;
}

/* ---- the test */

static void check(nx_tensor *x, const uint8_t *source, int64_t n, nx_dtype from, nx_dtype to,
                  uint8_t *result) {
  nx_tensor *y = GOOD(nx_cast(x, to));
  OK(nx_read(y, result, bytes_of(to, n), NULL));
  for (int64_t i = 0; i < n; i++) {
    uint64_t bits = element(source, from, i), is = element(result, to, i);
    if (!right(bits, from, to, is))
      fail_msg("%s 0x%llx (%.20Lg) to %s: 0x%llx (%Lg)", nx_dtype_name(from),
               (unsigned long long)bits, value_of(bits, from), nx_dtype_name(to),
               (unsigned long long)is, value_of(is, to));
  }
  nx_tensor_release(y);
}

/* The conformance program and tests/numpy/ml_dtypes_check.py have their casts. */
static bool is_stored(nx_dtype t) { return t >= NX_F8E4M3FNUZ; }

static bool is_tiny(nx_dtype t) {
  return t != NX_BOOL && bits_of(t) <= 8 && t != NX_I8 && t != NX_U8;
}

static void every_pair(void **state) {
  (void)state;
  uint8_t *source = calloc(MOST, 8), *result = calloc(MOST, 8);
  int pairs = 0;
  for (nx_dtype from = 1; nx_dtype_name(from); from++) {
    if (is_complex(from) || is_stored(from)) continue;
    int64_t n = make_source(source, from);
    assert_true(n <= MOST);
    nx_tensor *x = GOOD(nx_empty(ctx, 0, from, &n, 1));
    OK(nx_write(x, source, bytes_of(from, n), NULL));
    for (nx_dtype to = 1; nx_dtype_name(to); to++) {
      if (is_complex(to) || is_stored(to) || !(is_tiny(from) || is_tiny(to))) continue;
      check(x, source, n, from, to, result);
      pairs++;
    }
    nx_tensor_release(x);
  }
  free(source);
  free(result);
  assert_true(pairs >= 56);
}

/* docs/contract.md */
static void anchors(void **state) {
  (void)state;
  static const struct {
    nx_dtype to;
    double x;
    uint8_t wanted;
  } rows[] = {
      {NX_F8E4M3, 448, 0x7e},       {NX_F8E4M3, 464, 0x7e},       {NX_F8E4M3, 465, 0x7f},
      {NX_F8E4M3, INFINITY, 0x7f},  {NX_F8E5M2, 57344, 0x7b},     {NX_F8E5M2, 61440, 0x7c},
      {NX_F8E5M2, 61439, 0x7b},     {NX_F8E5M2, -INFINITY, 0xfc}, {NX_F8E4M3FNUZ, 240, 0x7f},
      {NX_F8E4M3FNUZ, -248, 0x80},  {NX_F8E4M3FNUZ, -0.0, 0},     {NX_F8E5M2FNUZ, 57344, 0x7f},
      {NX_F8E5M2FNUZ, 61440, 0x80}, {NX_F8E8M0, 3, 0x81},         {NX_F8E8M0, -1, 0xff},
      {NX_F8E8M0, 0, 0xff},         {NX_F8E8M0, 1e-300, 0},       {NX_F4E2M1, 5, 6},
      {NX_F4E2M1, 100, 7},          {NX_F4E2M1, -INFINITY, 15},   {NX_F4E2M1, NAN, 8}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint8_t is = 0;
    nx_tensor *x = GOOD(nx_empty(ctx, 0, NX_F64, NULL, 0));
    OK(nx_write(x, &rows[i].x, sizeof rows[i].x, NULL));
    OK(nx_read(GOOD(nx_cast(x, rows[i].to)), &is, 1, NULL));
    assert_int_equal(is, rows[i].wanted);
    OK(nx_read(GOOD(nx_full(ctx, 0, rows[i].to, NULL, 0, NX_NUMBER(rows[i].x))), &is, 1, NULL));
    assert_int_equal(is, rows[i].wanted);
  }
}

static long double apply(int op, long double a, long double b) {
  return op == 0 ? a + b : op == 1 ? a - b : op == 2 ? a * b : a / b;
}
static nx_tensor *applied(int op, nx_tensor *a, nx_tensor *b) {
  return GOOD(op == 0   ? nx_add(a, b)
              : op == 1 ? nx_sub(a, b)
              : op == 2 ? nx_mul(a, b)
                        : nx_div(a, b));
}

/* Arithmetic of bf16, whose results are rounded in few steps: every number with some, then what
 * that gives once more, so that a rounded result is an operand. NaN is never taken for a number. */
static void brain_floats(void **state) {
  (void)state;
  static const uint16_t partners[] = {0,      0x8000, 0x3f80, 0xc049, 0x7f80, 0xff80, 0x7fc0,
                                      0xffff, 0x7f81, 0x0001, 0x8080, 0x7f7f, 0x3f01, 0x33ff};
  static uint16_t all[MOST], once[MOST], twice[MOST];
  int64_t n = MOST;
  for (int i = 0; i < MOST; i++) all[i] = (uint16_t)i;
  nx_tensor *x = GOOD(nx_from_data(ctx, 0, NX_BF16, &n, 1, all, sizeof all));
  for (size_t p = 0; p < sizeof partners / sizeof *partners; p++) {
    nx_tensor *y = GOOD(nx_from_data(ctx, 0, NX_BF16, NULL, 0, &partners[p], 2));
    long double b = value_of(partners[p], NX_BF16);
    for (int op = 0; op < 4; op++) {
      nx_tensor *results[2] = {applied(op, x, y)};
      results[1] = applied(op, results[0], y);
      OK(nx_realize(ctx, results, 2, NULL));
      OK(nx_read(results[0], once, sizeof once, NULL));
      OK(nx_read(results[1], twice, sizeof twice, NULL));
      for (int i = 0; i < MOST; i++)
        for (int k = 0; k < 2; k++) {
          uint16_t from = k ? once[i] : all[i], is = k ? twice[i] : once[i];
          long double wanted = apply(op, value_of(from, NX_BF16), b);
          if (wanted != wanted ? !isnan(value_of(is, NX_BF16)) : is != to_float(wanted, NX_BF16))
            fail_msg("operation %d of 0x%x, 0x%x: 0x%x", op, from, partners[p], is);
        }
    }
  }
}

NXT_MAIN(casts) {
  const struct CMUnitTest tests[] = {IN_SCOPE(every_pair), IN_SCOPE(anchors),
                                     IN_SCOPE(brain_floats)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
