/* SPDX-License-Identifier: ISC */
/* Keys of keys, both generators, whole numbers, and distributions. What is arithmetic of bits is
 * compared bit by bit with references of its own; of distributions the largest distance between
 * what came and what is wanted, of SOME_NUMBERS of a fixed key, must be that of chance, and f16 and
 * bf16 must be the numbers of f32, rounded. */
#include "randomness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SOME_NUMBERS = 2000 };
static const long double chance = 1.95L / 44.7L; /* once in a thousand times it is more */
#define DRAWN (TYPE(NX_F16) | TYPE(NX_BF16) | TYPE(NX_F32) | TYPE(NX_F64))

/* ---- keys */

static void check_split(trial *t) {
  array *want = new_array(t, NX_U32, 2, (const int64_t[]){5, 2});
  for (uint32_t i = 0; i < 5; i++) {
    words w = threefry(seed, (words){0, i});
    want->at[2 * i].low = w.first;
    want->at[2 * i + 1].low = w.second;
  }
  nx_tensor *key = tensor_of(t, key_of(t, t->dtype));
  expect(t, nx_random_split(key, 5), want, SAME, "five keys");
  expect_refusal(t, nx_random_split(key, -1), NX_INVALID_ARGUMENT, "-1 keys");
}
static nx_tensor *record_split(trial *t, nx_dtype dtype) {
  return nx_random_split(tensor_of(t, key_of(t, dtype)), 2);
}

static void check_fold_in(trial *t) {
  bits all[CORNERS];
  size_t n = corners(t->dtype, all);
  nx_tensor *key = tensor_of(t, key_of(t, NX_U32));
  for (size_t i = 0; i < n; i++) {
    array *number = new_array(t, t->dtype, 0, NULL),
          *want = new_array(t, NX_U32, 1, (const int64_t[]){2});
    number->at[0] = all[i];
    words w = threefry(seed, (words){0, (uint32_t)(whole)decode(t->dtype, all[i]).re});
    want->at[0].low = w.first;
    want->at[1].low = w.second;
    expect(t, nx_random_fold_in(key, tensor_of(t, number)), want, SAME, "a number");
  }
}
static nx_tensor *record_fold_in(trial *t, nx_dtype dtype) {
  return nx_random_fold_in(tensor_of(t, key_of(t, NX_U32)),
                           tensor_of(t, tame_values(t, dtype, 0, NULL, 1)));
}

/* ---- philox, written out from its definition (see nx/random.h) */

static void philox(const uint32_t key[2], uint32_t x[4]) {
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    uint64_t a = (uint64_t)0xD2511F53u * x[0], b = (uint64_t)0xCD9E8D57u * x[2];
    const uint32_t next[4] = {(uint32_t)(b >> 32) ^ x[1] ^ k0, (uint32_t)b,
                              (uint32_t)(a >> 32) ^ x[3] ^ k1, (uint32_t)a};
    memcpy(x, next, sizeof next);
  }
}

static void check_philox(trial *t) {
  static const uint32_t known[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  uint32_t x[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
  philox((const uint32_t[]){0xa4093822, 0x299f31d0}, x);
  if (memcmp(x, known, sizeof x)) fault(t, "the reference itself is wrong");
  array *counter = some_values(t, NX_U32, 2, (const int64_t[]){5, 4}, 3),
        *want = new_array(t, NX_U32, 2, (const int64_t[]){5, 4});
  for (int i = 0; i < 5; i++) {
    for (int k = 0; k < 4; k++) x[k] = (uint32_t)counter->at[i * 4 + k].low;
    philox((const uint32_t[]){seed.first, seed.second}, x);
    for (int k = 0; k < 4; k++) want->at[i * 4 + k].low = x[k];
  }
  nx_tensor *key = tensor_of(t, key_of(t, NX_U32));
  expect(t, nx_philox(key, laid_out(t, counter, FLIPPED)), want, SAME, "five counters");
  expect_refusal(t, nx_philox(key, key), NX_INVALID_ARGUMENT, "two words");
}
static nx_tensor *record_philox(trial *t, nx_dtype dtype) {
  nx_tensor *counter = tensor_of(t, tame_values(t, dtype, 1, (const int64_t[]){4}, 1));
  return nx_philox(tensor_of(t, key_of(t, NX_U32)), counter);
}

/* ---- XLA's generators, of an even number of elements in a line */

enum { LINE = 12 };
static const uint64_t state_numbers[3] = {UINT64_C(0x0123456789abcdef), UINT64_MAX - 1, 7};

static uint64_t philox_number(uint32_t i, int width) {
  uint64_t each = width == 64 ? 2 : 4, low = state_numbers[1] + i / each,
           high = state_numbers[2] + (low < state_numbers[1]);
  uint32_t x[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
  philox((const uint32_t[]){(uint32_t)state_numbers[0], (uint32_t)(state_numbers[0] >> 32)}, x);
  return width == 64 ? x[i % 2 * 2] | (uint64_t)x[i % 2 * 2 + 1] << 32 : x[i % 4];
}

static uint64_t threefry_number(uint32_t i, int width) {
  uint64_t counter = state_numbers[1] + (width == 64 ? i : i / 2);
  words w = threefry((words){(uint32_t)state_numbers[0], (uint32_t)(state_numbers[0] >> 32)},
                     (words){(uint32_t)counter, (uint32_t)(counter >> 32)});
  if (width == 64) return w.first | (uint64_t)w.second << 32;
  return i % 2 ? w.second : w.first;
}

static void check_generator(trial *t) {
  const int64_t n = LINE;
  const int width = t->format->bits;
  for (int which = 0; which < 2; which++) {
    const int64_t parts = which == NX_RNG_PHILOX ? 3 : 2;
    array *state = new_array(t, NX_U64, 1, &parts), *after = new_array(t, NX_U64, 1, &parts),
          *want = new_array(t, t->dtype, 1, &n);
    for (int64_t i = 0; i < parts; i++) after->at[i].low = state->at[i].low = state_numbers[i];
    after->at[1].low += which == NX_RNG_PHILOX ? (width == 64 ? LINE / 2 : LINE / 4)
                                               : (width == 64 ? LINE : LINE / 2);
    if (parts == 3) after->at[2].low += after->at[1].low < state_numbers[1];
    for (uint32_t i = 0; i < LINE; i++) {
      uint64_t x = which == NX_RNG_PHILOX ? philox_number(i, width) : threefry_number(i, width);
      want->at[i].low = width == 64 ? x : x & ((UINT64_C(1) << width) - 1);
    }
    nx_tensor *next = NULL, *made = NULL;
    nx_status status =
        nx_rng_bit_generator(tensor_of(t, state), (nx_rng)which, t->dtype, &n, 1, &next, &made);
    expect_status(t, status, NX_OK, which ? "philox" : "threefry");
    expect(t, made, want, SAME, which ? "bits of philox" : "bits of threefry");
    expect(t, next, after, SAME, "the next state");
  }
}
static nx_tensor *record_generator(trial *t, nx_dtype dtype) {
  nx_tensor *state = tensor_of(t, tame_values(t, NX_U64, 1, (const int64_t[]){2}, 1)), *next = NULL,
            *made = NULL;
  if (nx_rng_bit_generator(state, NX_RNG_THREEFRY, dtype, (const int64_t[]){2}, 1, &next, &made))
    return NULL;
  nx_tensor_release(next);
  return made;
}

/* ---- whole numbers and truth */

static uint64_t bits_of(words key, uint32_t i, bool wide) {
  words w = threefry(key, (words){0, i});
  return wide ? (uint64_t)w.first << 32 | w.second : w.first ^ w.second;
}

/* Two words an element are one number, of which the remainder is taken. */
static void check_integers(trial *t) {
  const int64_t n = LINE, low = t->format->kind == KIND_SIGNED ? -7 : 3, high = 100;
  const bool wide = t->format->bits == 64;
  array *want = new_array(t, t->dtype, 1, &n);
  for (uint32_t i = 0; i < LINE; i++) {
    uint64_t word[2];
    for (uint32_t k = 0; k < 2; k++) word[k] = bits_of(threefry(seed, (words){0, k}), i, wide);
    /* the multiplier is 2^bits modulo the range, itself of a product that wraps */
    natural range = (natural)(high - low), root = ((natural)1 << (wide ? 32 : 16)) % range,
            times = root * root % range;
    natural x = (word[0] % range * times + word[1] % range) % range;
    want->at[i] = encode_real(t->dtype, (long double)x + (long double)low);
  }
  nx_tensor *key = tensor_of(t, key_of(t, NX_U32));
  expect(t, nx_random_integers(key, t->dtype, &n, 1, low, high), want, SAME, "up to 99");
  expect_refusal(t, nx_random_integers(NULL, t->dtype, &n, 1, 0, 2), NX_INVALID_ARGUMENT, "no key");
}
static nx_tensor *record_integers(trial *t, nx_dtype dtype) {
  return nx_random_integers(tensor_of(t, key_of(t, NX_U32)), dtype, (const int64_t[]){3}, 1, 0, 3);
}

/* One parameter of the type, which is 0.375, 2.5, or another that all types have. */
static nx_tensor *parameter(trial *t, nx_dtype dtype, double x) {
  array *a = new_array(t, dtype, 0, NULL);
  a->at[0] = encode_real(dtype, x);
  return tensor_of(t, a);
}

static void check_bernoulli(trial *t) {
  const int64_t n = SOME_NUMBERS;
  array *want = new_array(t, NX_BOOL, 1, &n);
  const bool wide = t->dtype == NX_F64;
  for (uint32_t i = 0; i < SOME_NUMBERS; i++) {
    uint64_t word = bits_of(seed, i, wide);
    long double u = wide ? ldexpl((long double)(word >> 12), -52) : ldexpl(word >> 9, -23);
    want->at[i].low = u < 0.375L;
  }
  nx_tensor *key = tensor_of(t, key_of(t, NX_U32)), *p = parameter(t, t->dtype, 0.375);
  expect(t, nx_random_bernoulli(key, p, &n, 1), want, SAME, "of 0.375");
}
static nx_tensor *record_bernoulli(trial *t, nx_dtype dtype) {
  nx_tensor *p = tensor_of(t, tame_values(t, dtype, 0, NULL, 1));
  return nx_random_bernoulli(tensor_of(t, key_of(t, NX_U32)), p, NULL, 0);
}

/* ---- distributions */

typedef long double cdf(long double x);
typedef nx_tensor *drawing(trial *t, nx_tensor *key, nx_dtype dtype, const int64_t *shape);
typedef struct distribution {
  drawing *draw;
  cdf *wanted;
  bool counts; /* i64 */
} distribution;

static const long double pi = 3.14159265358979323846L;
static long double normal(long double x) { return 0.5L * erfcl(-x / sqrtl(2)); }
static long double cut(long double x) {
  return (normal(x) - normal(-1)) / (normal(2) - normal(-1));
}
static long double gumbel(long double x) { return expl(-expl(-x)); }
static long double laplace(long double x) { return x < 0 ? expl(x) / 2 : 1 - expl(-x) / 2; }
static long double logistic(long double x) { return 1 / (1 + expl(-x)); }
static long double cauchy(long double x) { return 0.5L + atanl(x) / pi; }
static long double gamma_3(long double x) { return 1 - expl(-x) * (1 + x + x * x / 2); }
static long double beta_2_1(long double x) { return x * x; }
static long double chi_2(long double x) { return -expm1l(-x / 2); }
static long double t_2(long double x) { return 0.5L + x / (2 * sqrtl(2 + x * x)); }
static long double poisson(long double x) { /* of 2.5 */
  long double sum = 0, term = expl(-2.5L);
  for (int k = 0; k <= x; k++, term *= 2.5L / k) sum += term;
  return sum;
}
static long double binomial(long double x) { /* of 8 and 0.375 */
  long double sum = 0, term = powl(0.625L, 8);
  for (int k = 0; k <= x; k++) {
    sum += term;
    term *= (8.0L - k) / (k + 1) * (0.375L / 0.625L);
  }
  return sum;
}
static long double geometric(long double x) { return 1 - powl(0.625L, x); }
static long double classes(long double x) { return (x + 1) * (x + 2) / 6; } /* 1, 2 of 3 */

#define PLAIN(name)                                                                           \
  static nx_tensor *draw_##name(trial *t, nx_tensor *key, nx_dtype dtype, const int64_t *n) { \
    (void)t;                                                                                  \
    return nx_random_##name(key, dtype, n, 1);                                                \
  }
#define OF_ONE(name, x)                                                                       \
  static nx_tensor *draw_##name(trial *t, nx_tensor *key, nx_dtype dtype, const int64_t *n) { \
    return nx_random_##name(key, parameter(t, dtype, x), n, 1);                               \
  }
#define OF_TWO(name, x, y)                                                                    \
  static nx_tensor *draw_##name(trial *t, nx_tensor *key, nx_dtype dtype, const int64_t *n) { \
    return nx_random_##name(key, parameter(t, dtype, x), parameter(t, dtype, y), n, 1);       \
  }
PLAIN(normal)
PLAIN(gumbel)
PLAIN(laplace)
PLAIN(logistic)
PLAIN(cauchy)
OF_ONE(gamma, 3)
OF_ONE(chi_square, 2)
OF_ONE(student_t, 2)
OF_ONE(poisson, 2.5)
OF_ONE(geometric, 0.375)
OF_TWO(truncated_normal, -1, 2)
OF_TWO(beta, 2, 1)
OF_TWO(binomial, 8, 0.375)

/* The first part of two, of the parameters 2 and 1. */
static nx_tensor *draw_dirichlet(trial *t, nx_tensor *key, nx_dtype dtype, const int64_t *n) {
  array *alpha = new_array(t, dtype, 1, (const int64_t[]){2});
  for (int i = 0; i < 2; i++) alpha->at[i] = encode_real(dtype, 2 - i);
  nx_tensor *both = nx_random_dirichlet(key, tensor_of(t, alpha), (int64_t[]){*n, 2}, 2);
  if (!both) return NULL;
  return nx_reshape(nx_shrink(both, (int64_t[]){0, 0}, (int64_t[]){*n, 1}, 2), n, 1, NX_MAY_COPY);
}

/* Weights 1 and 2 of 3, as floats of the type. */
static nx_tensor *weights(trial *t, nx_dtype dtype, bool logarithms) {
  array *w = new_array(t, dtype, 1, (const int64_t[]){2});
  for (int i = 0; i < 2; i++)
    w->at[i] = encode_real(dtype, logarithms ? logl(i + 1) : (long double)i + 1);
  return tensor_of(t, w);
}
static nx_tensor *draw_categorical(trial *t, nx_tensor *key, nx_dtype dtype, const int64_t *n) {
  nx_tensor *logits = weights(t, dtype, true);
  return nx_random_categorical(key, nx_expand(logits, (int64_t[]){*n, 2}, 2), 1);
}
static nx_tensor *draw_choice(trial *t, nx_tensor *key, nx_dtype dtype, const int64_t *n) {
  return nx_random_choice(key, 2, *n, true, weights(t, dtype, false));
}

static int compare(const void *left, const void *right) {
  const long double *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

static void expect_distribution(trial *t, const distribution *d, const array *is) {
  long double x[SOME_NUMBERS], most = 0;
  for (int i = 0; i < SOME_NUMBERS; i++) x[i] = decode(is->dtype, is->at[i]).re;
  qsort(x, SOME_NUMBERS, sizeof *x, compare);
  for (int i = 0; i < SOME_NUMBERS; i++) {
    if (i + 1 < SOME_NUMBERS && x[i + 1] == x[i]) continue; /* only the last of equals */
    long double off = fabsl(d->wanted(x[i]) - (long double)(i + 1) / SOME_NUMBERS);
    if (!(off <= most)) most = off;
  }
  t->cell->checked += SOME_NUMBERS;
  if (!(most <= chance)) fault(t, "the distribution is off by %Lg", most);
}

static void check_distribution(trial *t) {
  const distribution *d = t->op->detail;
  const int64_t n = SOME_NUMBERS;
  const nx_dtype as = d->counts ? NX_I64 : t->dtype;
  nx_tensor *key = tensor_of(t, key_of(t, t->turn % 2 ? NX_I32 : NX_U32));
  array *is = result_of(t, d->draw(t, key, t->dtype, &n), as, 1, &n, "some numbers");
  if (!is) return;
  expect_distribution(t, d, is);
  if (t->format->precision < 24) { /* computed in f32 */
    array *wide =
        result_of(t, d->draw(t, key, NX_F32, &n), d->counts ? NX_I64 : NX_F32, 1, &n, "in f32");
    /* the logarithms of weights are rounded, and other numbers */
    bool comparable = d->draw != draw_categorical;
    for (int i = 0; wide && comparable && i < SOME_NUMBERS; i++) {
      bits want = d->counts ? wide->at[i] : converted(NX_F32, wide->at[i], t->dtype);
      if (!same_value(as, want, is->at[i])) {
        fault(t, "number %d is not that of f32, rounded", i);
        return;
      }
    }
  }
  expect_refusal(t, d->draw(t, NULL, t->dtype, &n), NX_INVALID_ARGUMENT, "no key");
}
static nx_tensor *record_distribution(trial *t, nx_dtype dtype) {
  const distribution *d = t->op->detail;
  return d->draw(t, tensor_of(t, key_of(t, NX_U32)), dtype, (const int64_t[]){3});
}

#define REALS(name, wanted)                           \
  {"random_" #name,                                   \
   DRAWN,                                             \
   check_distribution,                                \
   record_distribution,                               \
   &(const distribution){draw_##name, wanted, false}, \
   0,                                                 \
   NULL}
#define COUNTS(name, wanted)                         \
  {"random_" #name,                                  \
   DRAWN,                                            \
   check_distribution,                               \
   record_distribution,                              \
   &(const distribution){draw_##name, wanted, true}, \
   0,                                                \
   NULL}
#define WORDS (TYPE(NX_U8) | TYPE(NX_U16) | TYPE(NX_U32) | TYPE(NX_U64))
static const operation draw_table[] = {
    {"random_split", TYPE(NX_I32) | TYPE(NX_U32), check_split, record_split, NULL, 0, NULL},
    {"random_fold_in", I, check_fold_in, record_fold_in, NULL, 0, NULL},
    {"philox", TYPE(NX_U32), check_philox, record_philox, NULL, 0, NULL},
    {"rng_bit_generator", WORDS, check_generator, record_generator, NULL, 0, NULL},
    {"random_integers", I & ~(TYPE(NX_I4) | TYPE(NX_U4)), check_integers, record_integers, NULL, 0,
     NULL},
    {"random_bernoulli", DRAWN, check_bernoulli, record_bernoulli, NULL, 0, NULL},
    REALS(normal, normal),
    REALS(truncated_normal, cut),
    REALS(gumbel, gumbel),
    REALS(laplace, laplace),
    REALS(logistic, logistic),
    REALS(cauchy, cauchy),
    REALS(gamma, gamma_3),
    REALS(beta, beta_2_1),
    REALS(dirichlet, beta_2_1),
    REALS(chi_square, chi_2),
    REALS(student_t, t_2),
    COUNTS(poisson, poisson),
    COUNTS(binomial, binomial),
    COUNTS(geometric, geometric),
    COUNTS(categorical, classes),
    COUNTS(choice, classes),
};
const family draw_family = {"Draws", draw_table, sizeof draw_table / sizeof *draw_table};
