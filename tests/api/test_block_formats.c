/* SPDX-License-Identifier: ISC */
/* Weights in blocks that share a scale, as docs/embedding.md composes them: each is read in one
 * kernel with what uses it, and has the values that the formats' definitions give. */
#include "tests/util/api.h"

#include <math.h>

enum { ROWS = 8, COLUMNS = 256, MOST = ROWS * COLUMNS };

typedef struct format {
  const char *name;
  nx_dtype value, scale;
  int64_t block;
  double zero; /* subtracted from values */
} format;

static const format formats[] = {
    {"MXFP8", NX_F8E4M3, NX_F8E8M0, 32, 0}, {"MXFP8, e5m2", NX_F8E5M2, NX_F8E8M0, 32, 0},
    {"MXFP4", NX_F4E2M1, NX_F8E8M0, 32, 0}, {"NVFP4", NX_F4E2M1, NX_F8E4M3, 16, 0},
    {"u4 with f16", NX_U4, NX_F16, 32, 8},  {"i4 with bf16", NX_I4, NX_BF16, 128, 0},
    {"i8 with f32", NX_I8, NX_F32, 64, 0},
};

/* w[r, g, k] = (value[r, g, k] - zero) * scale[r, g] */
static nx_tensor *weights_of(const format *f, nx_tensor *values, nx_tensor *scales) {
  const int64_t groups = COLUMNS / f->block;
  nx_tensor *v = nx_cast(nx_reshape(values, NX_SHAPE(ROWS, groups, f->block), 0), NX_F32),
            *s = nx_cast(nx_reshape(scales, NX_SHAPE(ROWS, groups, 1), 0), NX_F32);
  if (f->zero != 0) v = nx_sub(v, number((float)f->zero));
  return GOOD(nx_mul(v, s));
}

/* ---- the same with one number at a time, by the definitions of the types */

static double float_of(unsigned bits, int exponent_bits, int fraction_bits, int bias) {
  int exponent = (int)(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  double fraction = (bits & ((1u << fraction_bits) - 1)) / (double)(1 << fraction_bits),
         size = exponent ? ldexp(1 + fraction, exponent - bias) : ldexp(fraction, 1 - bias);
  return bits >> (exponent_bits + fraction_bits) & 1 ? -size : size;
}

static double value_of(nx_dtype t, const uint8_t *data, int64_t i) {
  unsigned half = data[i / 2] >> (i % 2 * 4) & 15, word;
  switch (t) {
    case NX_F8E4M3: return float_of(data[i], 4, 3, 7);
    case NX_F8E5M2: return float_of(data[i], 5, 2, 15);
    case NX_F8E8M0: return ldexp(1, data[i] - 127);
    case NX_F4E2M1: return float_of(half, 2, 1, 1);
    case NX_U4: return half;
    case NX_I4: return half < 8 ? half : (double)half - 16;
    case NX_I8: return (int8_t)data[i];
    case NX_F16: return float_of((unsigned)(data[2 * i] | data[2 * i + 1] << 8), 5, 10, 15);
    case NX_BF16: return float_of((unsigned)(data[2 * i] | data[2 * i + 1] << 8), 8, 7, 127);
    default:
      word = (unsigned)data[4 * i] | (unsigned)data[4 * i + 1] << 8 |
             (unsigned)data[4 * i + 2] << 16 | (unsigned)data[4 * i + 3] << 24;
      return float_of(word, 8, 23, 127);
  }
}

/* Random bits of finite numbers: scales within 2^-3 and 2^4. */
static void fill(nx_dtype t, uint8_t *data, size_t bytes, bool scale) {
  static uint64_t state = 11;
  for (size_t i = 0; i < bytes; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    data[i] = (uint8_t)(state >> 56);
    if (t == NX_F8E4M3 && (data[i] & 0x7f) == 0x7f) data[i] = 0x38;
    if (t == NX_F8E5M2 && (data[i] & 0x7c) == 0x7c) data[i] = 0x3c;
    if (scale && t == NX_F8E8M0) data[i] = (uint8_t)(124 + data[i] % 8);
  }
  for (size_t i = 0; i < bytes && t == NX_F16; i += 2) data[i + 1] = 0x30 + data[i + 1] % 16;
  for (size_t i = 0; i < bytes && t == NX_BF16; i += 2) data[i + 1] = 0x3e + data[i + 1] % 4;
  for (size_t i = 0; i < bytes && t == NX_F32; i += 4) data[i + 3] = 0x3e + data[i + 3] % 4;
}

static int kernels_of(nx_tensor *t) {
  char *text = NULL;
  int n = 0;
  OK(nx_dump(&t, 1, "kernels", &text));
  for (const char *at = text; (at = strstr(at, "kernel @")) != NULL; at++) n++;
  nx_string_free(text);
  return n;
}

/* The product with a vector reads the stored bytes once, too, and adds up in the same order. */
static void check_product(const format *f, nx_tensor *w, nx_tensor *sums) {
  static uint32_t got[ROWS], want[ROWS];
  nx_tensor *y = GOOD(nx_matmul(nx_reshape(w, NX_SHAPE(ROWS, COLUMNS), NX_MAY_COPY),
                                nx_reshape(vector(COLUMNS, 1, 0.25F), NX_SHAPE(COLUMNS, 1), 0)));
  if (kernels_of(y) != 1) fail_msg("%s: a product is %d kernels", f->name, kernels_of(y));
  OK(nx_read(y, got, sizeof got, NULL));
  OK(nx_read(sums, want, sizeof want, NULL));
  assert_memory_equal(got, want, sizeof got);
}

static void check_format(const format *f) {
  static uint8_t values[4 * MOST], scales[4 * MOST];
  static float is[MOST];
  const int64_t groups = COLUMNS / f->block;
  size_t bytes = MOST * nx_dtype_bits(f->value) / 8,
         scale_bytes = (size_t)(ROWS * groups) * nx_dtype_bits(f->scale) / 8;
  fill(f->value, values, bytes, false);
  fill(f->scale, scales, scale_bytes, true);
  nx_tensor *v = nx_from_data(ctx, device(), f->value, NX_SHAPE(ROWS, COLUMNS), values, bytes),
            *s = nx_from_data(ctx, device(), f->scale, NX_SHAPE(ROWS, groups), scales, scale_bytes),
            *w = weights_of(f, GOOD(v), GOOD(s));
  nx_tensor *x = nx_reshape(vector(COLUMNS, 1, 0.25F), NX_SHAPE(1, groups, f->block), 0),
            *y = GOOD(nx_reduce_sum(nx_mul(w, x), NX_AXES(1, 2), 0));
  if (kernels_of(w) != 1 || kernels_of(y) != 1)
    fail_msg("%s: %d and %d kernels", f->name, kernels_of(w), kernels_of(y));
  check_product(f, w, y);
  OK(nx_read(w, is, sizeof is, NULL));
  for (int64_t i = 0; i < MOST; i++) {
    double scale = value_of(f->scale, scales, i / COLUMNS * groups + i % COLUMNS / f->block),
           want = (value_of(f->value, values, i) - f->zero) * scale;
    if (is[i] != (float)want)
      fail_msg("%s: element %d is %g, not %g", f->name, (int)i, (double)is[i], want);
  }
}

static void are_read_in_one_pass(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) check_format(&formats[i]);
}

NXT_MAIN(block_formats) {
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = ""};
  if (nx_context_create(&o, &ctx)) return 1;
  const struct CMUnitTest tests[] = {IN_SCOPE(are_read_in_one_pass)};
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  nx_context_release(ctx);
  return failures;
}
