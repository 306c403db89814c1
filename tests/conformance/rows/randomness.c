/* SPDX-License-Identifier: ISC */
/* Random bits, and tensors made of them, against Threefry-2x32 written out from its definition
 * (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), with the three vectors of
 * its authors. */
#include "randomness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint32_t turned(uint32_t x, int by) { return x << by | x >> (32 - by); }

words threefry(words key, words x) {
  static const int turns[] = {13, 15, 26, 6, 17, 29, 16, 24};
  const uint32_t keys[] = {key.first, key.second, 0x1BD11BDAu ^ key.first ^ key.second};
  x.first += keys[0];
  x.second += keys[1];
  for (uint32_t round = 0; round < 20; round++) {
    x.first += x.second;
    x.second = turned(x.second, turns[round % 8]) ^ x.first;
    if (round % 4 != 3) continue;
    uint32_t n = round / 4 + 1;
    x.first += keys[n % 3];
    x.second += keys[(n + 1) % 3] + n;
  }
  return x;
}

/* ---- threefry */

static void check_vectors(trial *t) {
  static const uint32_t vectors[][6] = {
      {0, 0, 0, 0, 1797259609u, (uint32_t)-1715843330},
      {~0u, ~0u, ~0u, ~0u, 481924860u, (uint32_t)-1157616665},
      {0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3, (uint32_t)-997049700, 1212020640}};
  for (int i = 0; i < 3; i++) {
    const uint32_t *v = vectors[i];
    array *key = new_array(t, t->dtype, 1, (const int64_t[]){2}),
          *counter = new_array(t, t->dtype, 1, (const int64_t[]){2});
    array *want = new_array(t, t->dtype, 1, (const int64_t[]){2});
    for (int k = 0; k < 2; k++) {
      key->at[k].low = v[k];
      counter->at[k].low = v[2 + k];
      want->at[k].low = v[4 + k];
    }
    expect(t, nx_threefry(tensor_of(t, key), tensor_of(t, counter)), want, SAME,
           "a vector of its authors");
    words w = threefry((words){v[0], v[1]}, (words){v[2], v[3]});
    if (w.first != v[4] || w.second != v[5]) fault(t, "the reference itself is wrong");
  }
}

static void check_threefry(trial *t) {
  check_vectors(t);
  static const int64_t keys[] = {3, 1, 2}, counters[] = {5, 2}, both[] = {3, 5, 2};
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    array *a = some_values(t, t->dtype, 3, keys, 1), *b = some_values(t, t->dtype, 2, counters, 2),
          *want = new_array(t, t->dtype, 3, both);
    nx_tensor *x = laid_out(t, a, l), *y = laid_out(t, b, (l + 1) % LAYOUTS);
    for (int i = 0; i < 15; i++) {
      const bits *k = &a->at[i / 5 * 2], *c = &b->at[i % 5 * 2];
      words w = threefry((words){(uint32_t)k[0].low, (uint32_t)k[1].low},
                         (words){(uint32_t)c[0].low, (uint32_t)c[1].low});
      want->at[2 * i].low = w.first;
      want->at[2 * i + 1].low = w.second;
    }
    expect(t, nx_threefry(x, y), want, SAME, layout_names[l]);
  }
  nx_tensor *line = tensor_of(t, tame_values(t, t->dtype, 1, (const int64_t[]){3}, 1));
  expect_refusal(t, nx_threefry(line, line), NX_INVALID_ARGUMENT, "3 words");
  expect_refusal(t, nx_threefry(line, NULL), NX_INVALID_ARGUMENT, "a null operand");
}
static nx_tensor *record_threefry(trial *t, nx_dtype dtype) {
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 1, (const int64_t[]){2}, 1));
  return nx_threefry(x, x);
}

/* ---- uniform, normal, and orders. The row's type is the result's, of permutation the key's */

static const int64_t random_shape[] = {3, 1, 7};
const words seed = {20260101, 0xdeadbeef};

array *key_of(trial *t, nx_dtype dtype) {
  array *key = new_array(t, dtype, 1, (const int64_t[]){2});
  key->at[0].low = seed.first;
  key->at[1].low = seed.second;
  return key;
}

/* 53 bits as a fraction: 26 high ones of the first word, 27 of the second. */
static long double long_fraction(words w) {
  return ldexpl((long double)(((uint64_t)(w.first >> 6) << 27) | w.second >> 5), -53);
}

static void check_rand(trial *t) {
  array *want = new_array(t, t->dtype, 3, random_shape);
  int precision = t->format->precision;
  for (uint32_t i = 0; i < want->n; i++) {
    words w = threefry(seed, (words){precision == 53 ? i : i / 2, 0});
    uint32_t word = i % 2 ? w.second : w.first;
    long double x = precision == 53 ? long_fraction(w)
                                    : ldexpl((long double)(word >> (32 - precision)), -precision);
    want->at[i] = encode_real(t->dtype, x);
  }
  nx_tensor *key = tensor_of(t, key_of(t, t->turn % 2 ? NX_I32 : NX_U32));
  expect(t, nx_rand(key, t->dtype, random_shape, 3), want, SAME, "uniform numbers");
  nx_tensor *bad = tensor_of(t, key_of(t, NX_I64));
  expect_refusal(t, nx_rand(bad, t->dtype, random_shape, 3), NX_UNSUPPORTED_DTYPE, "a key of i64");
  expect_refusal(t, nx_rand(key, t->dtype, (const int64_t[]){-1}, 1), NX_INVALID_ARGUMENT,
                 "-1 numbers");
  expect_refusal(t, nx_rand(NULL, t->dtype, random_shape, 3), NX_INVALID_ARGUMENT, "no key");
}
static nx_tensor *record_rand(trial *t, nx_dtype dtype) {
  return nx_rand(tensor_of(t, key_of(t, NX_U32)), dtype, random_shape, 3);
}

/* sqrt(-2 log u) cos(2 pi v) of exact u and v: what is computed in the type differs by a few units
 * of the radius. */
static void check_randn(trial *t) {
  array *want = new_array(t, t->dtype, 3, random_shape);
  value *exact = room(t, want->n * sizeof *exact);
  long double *size = room(t, want->n * sizeof *size);
  bool wide = t->dtype == NX_F64;
  for (uint32_t i = 0; i < want->n; i++) {
    words w = threefry(seed, (words){i, 0}), second = threefry(seed, (words){i, 0x80000000u});
    long double u = ldexpl((long double)w.first + 0.5L, -32),
                v = ldexpl((long double)(w.second >> 8), -24);
    if (wide) {
      u = ldexpl((long double)((uint64_t)w.first << 32 | w.second) + 0.5L, -64);
      v = long_fraction(second);
    }
    size[i] = sqrtl(-2 * logl(u));
    exact[i].re = size[i] * cosl(2 * acosl(-1) * v);
  }
  nx_tensor *key = tensor_of(t, key_of(t, t->turn % 2 ? NX_I32 : NX_U32));
  double bound = t->format->precision < 24 ? 0.51 : 16;
  expect_near(t, nx_randn(key, t->dtype, random_shape, 3), want, exact, NEAR_SIZE, bound, size,
              NULL, "normal numbers");
  expect_refusal(t, nx_randn(NULL, t->dtype, random_shape, 3), NX_INVALID_ARGUMENT, "no key");
}
static nx_tensor *record_randn(trial *t, nx_dtype dtype) {
  return nx_randn(tensor_of(t, key_of(t, NX_U32)), dtype, random_shape, 3);
}

/* ---- of random.h: counters are (high word, low word) */

static uint64_t bits_of(uint32_t i, int width) {
  words w = threefry(seed, (words){0, i});
  uint64_t all = width == 64 ? (uint64_t)w.first << 32 | w.second : w.first ^ w.second;
  return width < 64 ? all & (((uint64_t)1 << width) - 1) : all;
}

static void check_bits(trial *t) {
  array *want = new_array(t, t->dtype, 3, random_shape);
  for (uint32_t i = 0; i < want->n; i++) want->at[i].low = bits_of(i, t->format->bits);
  nx_tensor *key = tensor_of(t, key_of(t, t->turn % 2 ? NX_I32 : NX_U32));
  expect(t, nx_random_bits(key, t->dtype, random_shape, 3), want, SAME, "bits");
  expect_refusal(t, nx_random_bits(NULL, t->dtype, random_shape, 3), NX_INVALID_ARGUMENT, "no key");
}
static nx_tensor *record_bits(trial *t, nx_dtype dtype) {
  return nx_random_bits(tensor_of(t, key_of(t, NX_U32)), dtype, random_shape, 3);
}

/* The highest bits of a word, of eight bits for bf16, as a fraction. */
static long double unit_of(const format *f, uint32_t i) {
  int fraction = f->precision - 1, width = fraction < 8 ? 8 : f->bits;
  return ldexpl((long double)(bits_of(i, width) >> (width - fraction)), -fraction);
}

static void check_uniform(trial *t) {
  array *want = new_array(t, t->dtype, 3, random_shape),
        *scaled = new_array(t, t->dtype, 3, random_shape);
  for (uint32_t i = 0; i < want->n; i++) {
    want->at[i] = encode_real(t->dtype, unit_of(t->format, i));
    scaled->at[i] = encode_real(t->dtype, 4 * unit_of(t->format, i) - 4);
  }
  nx_tensor *key = tensor_of(t, key_of(t, NX_U32));
  expect(t, nx_random_uniform(key, t->dtype, random_shape, 3, 0, 1), want, SAME, "0 to 1");
  expect(t, nx_random_uniform(key, t->dtype, random_shape, 3, -4, 0), scaled, SAME, "-4 to 0");
  expect_refusal(t, nx_random_uniform(key, t->dtype, random_shape, 3, 0, INFINITY),
                 NX_INVALID_ARGUMENT, "an infinite bound");
}
static nx_tensor *record_uniform(trial *t, nx_dtype dtype) {
  return nx_random_uniform(tensor_of(t, key_of(t, NX_U32)), dtype, random_shape, 3, 0, 1);
}

static void check_exponential(trial *t) {
  array *want = new_array(t, t->dtype, 3, random_shape);
  value *exact = room(t, want->n * sizeof *exact);
  const format *f = format_of(t->dtype == NX_F64 ? NX_F64 : NX_F32);
  for (uint32_t i = 0; i < want->n; i++)
    exact[i].re = -logl(unit_of(f, i) + ldexpl(1, -f->precision));
  nx_tensor *key = tensor_of(t, key_of(t, NX_U32));
  expect_near(t, nx_random_exponential(key, t->dtype, random_shape, 3), want, exact, NEAR,
              t->format->precision < 24 ? 0.51 : 2, NULL, NULL, "exponential numbers");
}
static nx_tensor *record_exponential(trial *t, nx_dtype dtype) {
  return nx_random_exponential(tensor_of(t, key_of(t, NX_U32)), dtype, random_shape, 3);
}

static void check_permutation(trial *t) {
  enum { LENGTH = 50 };
  uint64_t number[LENGTH];
  int64_t n = LENGTH, none = 0;
  array *want = new_array(t, NX_I32, 1, &n);
  for (uint32_t i = 0; i < LENGTH; i++) {
    words w = threefry(seed, (words){i, 0});
    number[i] = (uint64_t)w.first << 32 | w.second;
  }
  for (int i = 0; i < LENGTH; i++) {
    size_t place = 0;
    for (int k = 0; k < LENGTH; k++)
      place += number[k] < number[i] || (number[k] == number[i] && k < i);
    want->at[place].low = (uint64_t)i;
  }
  nx_tensor *key = tensor_of(t, key_of(t, t->dtype));
  expect(t, nx_permutation(key, n), want, SAME, "an order of 50");
  expect(t, nx_permutation(key, 0), new_array(t, NX_I32, 1, &none), SAME, "an order of nothing");
  expect_refusal(t, nx_permutation(key, -1), NX_INVALID_ARGUMENT, "an order of -1");
  expect_refusal(t, nx_permutation(key, (int64_t)1 << 31), NX_INVALID_ARGUMENT, "an order of 2^31");
  expect_refusal(t, nx_permutation(NULL, 3), NX_INVALID_ARGUMENT, "no key");
}

static const operation random_table[] = {
    {"threefry", TYPE(NX_I32) | TYPE(NX_U32), check_threefry, record_threefry, NULL, 0, NULL},
    {"rand", TYPE(NX_F16) | TYPE(NX_BF16) | TYPE(NX_F32) | TYPE(NX_F64), check_rand, record_rand,
     NULL, 0, NULL},
    {"randn", TYPE(NX_F16) | TYPE(NX_BF16) | TYPE(NX_F32) | TYPE(NX_F64), check_randn, record_randn,
     NULL, 0, NULL},
    {"random_bits", TYPE(NX_U8) | TYPE(NX_U16) | TYPE(NX_U32) | TYPE(NX_U64), check_bits,
     record_bits, NULL, 0, NULL},
    {"random_uniform", TYPE(NX_F16) | TYPE(NX_BF16) | TYPE(NX_F32) | TYPE(NX_F64), check_uniform,
     record_uniform, NULL, 0, NULL},
    {"random_exponential", TYPE(NX_F16) | TYPE(NX_BF16) | TYPE(NX_F32) | TYPE(NX_F64),
     check_exponential, record_exponential, NULL, 0, NULL},
    {"permutation, of a key", TYPE(NX_I32) | TYPE(NX_U32), check_permutation, NULL, NULL, 0, NULL},
};
const family random_family = {"Random numbers", random_table,
                              sizeof random_table / sizeof *random_table};
