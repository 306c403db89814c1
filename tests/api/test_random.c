/* SPDX-License-Identifier: ISC */
/* Random numbers. Bits are golden values made elsewhere (JAX 0.10, and the known answers of
 * Random123), which must never change; distributions are compared with their exact distribution
 * functions, with fixed keys and the critical values of a test at 10^-4. */
#include "tests/util/api.h"
#include "tests/util/executor.h"

#include <math.h>

enum { N = 20000 };

static nx_tensor *key_of(uint32_t a, uint32_t b) {
  const uint32_t words[2] = {a, b};
  return GOOD(nx_from_data(ctx, device(), NX_U32, NX_SHAPE(2), words, sizeof words));
}
static nx_tensor *key(void) { return key_of(123, 456789); }

static void has_bytes(nx_tensor *t, const void *want, size_t bytes) {
  uint8_t is[256];
  assert_true(bytes <= sizeof is);
  OK(nx_read(GOOD(t), is, bytes, NULL));
  assert_memory_equal(is, want, bytes);
}
#define HAS(t, T, ...) has_bytes((t), (const T[]){__VA_ARGS__}, sizeof((const T[]){__VA_ARGS__}))

/* ---- bits */

static void keys_and_bits(void **state) {
  (void)state;
  nx_tensor *k = key();
  HAS(nx_random_bits(k, NX_U8, NX_SHAPE(5)), uint8_t, 0x3b, 0x12, 0x9, 0x3c, 0xed);
  HAS(nx_random_bits(k, NX_U16, NX_SHAPE(5)), uint16_t, 0x353b, 0x6912, 0xdf09, 0xda3c, 0x95ed);
  HAS(nx_random_bits(k, NX_U32, NX_SHAPE(5)), uint32_t, 0x31e3353b, 0xd4926912, 0xa336df09,
      0xc5d4da3c, 0xa92195ed);
  HAS(nx_random_bits(k, NX_U64, NX_SHAPE(3)), uint64_t, 0xc63d346cf7de0157, 0xc70b8f2e1399e63c,
      0xcef68f5c6dc05055);
  HAS(nx_random_split(k, 3), uint32_t, 0xc63d346c, 0xf7de0157, 0xc70b8f2e, 0x1399e63c, 0xcef68f5c,
      0x6dc05055);
  nx_tensor *number = nx_full_i64(ctx, device(), NX_I64, NULL, 0, 77);
  HAS(nx_random_fold_in(k, number), uint32_t, 0x5356a9ea, 0xfbb9ee6a);
  HAS(nx_random_fold_in(nx_bitcast(k, NX_I32), number), uint32_t, 0x5356a9ea, 0xfbb9ee6a);
}

/* Salmon and others, Random123, kat_vectors: philox4x32, 10 rounds. */
static void philox_gives_the_known_answers(void **state) {
  (void)state;
  static const uint32_t counters[] = {0,          0,          0,          0,
                                      0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
                                      0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                        keys[] = {0, 0, 0xffffffff, 0xffffffff, 0xa4093822, 0x299f31d0},
                        want[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8,
                                  0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd,
                                  0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  nx_tensor *c = nx_from_data(ctx, device(), NX_U32, NX_SHAPE(3, 4), counters, sizeof counters),
            *k = nx_from_data(ctx, device(), NX_U32, NX_SHAPE(3, 2), keys, sizeof keys);
  has_bytes(nx_philox(k, c), want, sizeof want);
  nx_tensor *zero = nx_full_i64(ctx, device(), NX_U32, NX_SHAPE(2, 1, 4), 0);
  int64_t start[3] = {1, 2, 0}, stop[3] = {2, 3, 4};
  nx_tensor *all = GOOD(nx_philox(k, zero)); /* [2, 3, 4] */
  HAS(nx_shrink(nx_philox(k, zero), (int64_t[]){1, 0, 0}, (int64_t[]){2, 1, 4}, 3), uint32_t,
      0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  GOOD(nx_shrink(all, start, stop, 3));
}

static void generate(nx_rng which, nx_dtype dtype, nx_tensor **next, nx_tensor **bits) {
  const uint64_t words[2] = {5, UINT64_MAX - 1};
  nx_tensor *state = nx_from_data(ctx, device(), NX_U64, NX_SHAPE(2), words, sizeof words);
  OK(nx_rng_bit_generator(state, which, dtype, NX_SHAPE(3, 2), next, bits));
}

static void generators_have_the_layouts_of_xla(void **state) {
  (void)state;
  nx_tensor *next, *bits;
  generate(NX_RNG_THREEFRY, NX_U8, &next, &bits);
  HAS(bits, uint8_t, 0x4f, 0xf1, 0x19, 0x8f, 0x63, 0xdb);
  HAS(next, uint64_t, 5, 1);
  generate(NX_RNG_THREEFRY, NX_U32, &next, &bits);
  HAS(bits, uint32_t, 0x4419ab4f, 0xe73f2f1, 0xe39b2319, 0x4f19f28f, 0x5338d363, 0x12d488db);
  generate(NX_RNG_THREEFRY, NX_U64, &next, &bits);
  HAS(bits, uint64_t, 0xe73f2f14419ab4f, 0x4f19f28fe39b2319, 0x12d488db5338d363, 0x7adc704397aff55e,
      0x1b4824c814d7f28b, 0x59c279baad45fd60);
  HAS(next, uint64_t, 5, 4);
  generate(NX_RNG_PHILOX, NX_U16, &next, &bits);
  HAS(bits, uint16_t, 0x7a50, 0xe003, 0x133a, 0x5587, 0xa1ba, 0x4400);
  HAS(next, uint64_t, 5, 0);
  generate(NX_RNG_PHILOX, NX_U32, &next, &bits);
  HAS(bits, uint32_t, 0x761c7a50, 0xd796e003, 0xe41b133a, 0x529f5587, 0x4e5aa1ba, 0xf08b4400);
  generate(NX_RNG_PHILOX, NX_U64, &next, &bits);
  HAS(bits, uint64_t, 0xd796e003761c7a50, 0x529f5587e41b133a, 0xf08b44004e5aa1ba,
      0xf8215f0c979e52b9, 0xd8ab4d5303dae66b, 0x2b5923e7ea579295);
  HAS(next, uint64_t, 5, 1);
  /* 128 bits of counter: what is carried goes to the upper half */
  const uint64_t words[3] = {5, UINT64_MAX - 1, 9};
  nx_tensor *wide = nx_from_data(ctx, device(), NX_U64, NX_SHAPE(3), words, sizeof words);
  OK(nx_rng_bit_generator(wide, NX_RNG_PHILOX, NX_U32, NX_SHAPE(9), &next, &bits));
  HAS(next, uint64_t, 5, 1, 10);
}

static void uniform_numbers(void **state) {
  (void)state;
  nx_tensor *k = key();
  HAS(nx_random_uniform(k, NX_F32, NX_SHAPE(3), 0, 1), uint32_t, 0x3e478cd0, 0x3f549268,
      0x3f2336de);
  HAS(nx_random_uniform(k, NX_F64, NX_SHAPE(3), 0, 1), uint64_t, 0x3fe8c7a68d9efbc0,
      0x3fe8e171e5c2733c, 0x3fe9ded1eb8db80a);
  HAS(nx_random_uniform(k, NX_F16, NX_SHAPE(3), 0, 1), uint16_t, 0x32a0, 0x3690, 0x3af8);
  HAS(nx_random_uniform(k, NX_BF16, NX_SHAPE(3), 0, 1), uint16_t, 0x3e68, 0x3d90, 0x3d00);
  HAS(nx_random_integers(k, NX_I32, NX_SHAPE(5), -100, 100), int32_t, -78, 1, 46, 98, -46);
  HAS(nx_random_integers(k, NX_U8, NX_SHAPE(5), 3, 100), uint8_t, 53, 22, 77, 67, 91);
  HAS(nx_random_integers(k, NX_I64, NX_SHAPE(3), -1000000000000, 1000000000000000), int64_t,
      62570830632164, 442031461304653, 545192588861956);
  HAS(nx_random_integers(k, NX_I8, NX_SHAPE(3), 7, 7), int8_t, 7, 7, 7);
}

/* ---- distributions */

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov: sqrt(n) D is above 2.23 once in 10^4. */
static void follows(nx_tensor *t, double (*f)(double), const char *name) {
  static double x[N];
  double most = 0;
  OK(nx_read(GOOD(nx_cast(GOOD(t), NX_F64)), x, sizeof x, NULL));
  qsort(x, N, sizeof *x, compare);
  for (int i = 0; i < N; i++) {
    double p = f(x[i]);
    most = fmax(most, fmax(fabs(p - i / (double)N), fabs(p - (i + 1) / (double)N)));
  }
  if (!(most * sqrt(N) < 2.23)) fail_msg("%s: sqrt(n) D = %g", name, most * sqrt(N));
}

static double normal(double x) { return 0.5 * erfc(-x / sqrt(2)); }
static double exponential(double x) { return -expm1(-x); }
static double gumbel(double x) { return exp(-exp(-x)); }
static double laplace(double x) { return x < 0 ? exp(x) / 2 : 1 - exp(-x) / 2; }
static double logistic(double x) { return 1 / (1 + exp(-x)); }
static double cauchy(double x) { return 0.5 + atan(x) / 3.14159265358979323846; }
static double gamma_3(double x) { return 1 - exp(-x) * (1 + x + x * x / 2); }
static double gamma_half(double x) { return erf(sqrt(x)); }
static double beta_2_1(double x) { return x * x; }
static double chi_2(double x) { return -expm1(-x / 2); }
static double t_2(double x) { return 0.5 + x / (2 * sqrt(2 + x * x)); }
static double between(double x) { return (normal(x) - normal(-1)) / (normal(2) - normal(-1)); }

static void continuous(void **state) {
  (void)state;
  nx_tensor *k = key();
  for (int i = 0; i < 2; i++) {
    nx_dtype t = i ? NX_F64 : NX_F32;
    follows(nx_random_normal(k, t, NX_SHAPE(N)), normal, "normal");
    follows(nx_random_exponential(k, t, NX_SHAPE(N)), exponential, "exponential");
    follows(nx_random_gumbel(k, t, NX_SHAPE(N)), gumbel, "gumbel");
    follows(nx_random_laplace(k, t, NX_SHAPE(N)), laplace, "laplace");
    follows(nx_random_logistic(k, t, NX_SHAPE(N)), logistic, "logistic");
    follows(nx_random_cauchy(k, t, NX_SHAPE(N)), cauchy, "cauchy");
    nx_tensor *of[4];
    const double values[4] = {3, 0.5, 2, 1};
    for (int j = 0; j < 4; j++) of[j] = nx_full_f64(ctx, device(), t, NULL, 0, values[j]);
    follows(nx_random_gamma(k, of[0], NX_SHAPE(N)), gamma_3, "gamma of 3");
    follows(nx_random_gamma(k, of[1], NX_SHAPE(N)), gamma_half, "gamma of 1/2");
    follows(nx_random_beta(k, of[2], of[3], NX_SHAPE(N)), beta_2_1, "beta");
    follows(nx_random_chi_square(k, of[2], NX_SHAPE(N)), chi_2, "chi square");
    follows(nx_random_student_t(k, of[2], NX_SHAPE(N)), t_2, "student t");
    follows(nx_random_truncated_normal(k, nx_neg(of[3]), of[2], NX_SHAPE(N)), between,
            "truncated normal");
  }
}

enum { CLASSES = 64 };
/* How many counts are drawn: fewer of what one executor takes seconds for. */
static int64_t counted(void) { return nxt_executor_is("kernel-interp") ? N / 8 : N; }

/* Pearson's sum over the classes 0, 1, .., of which those with few expected numbers count together;
 * it is above the limit less than once in 10^4 (Wilson and Hilferty). */
static void counts_as(nx_tensor *t, const double *p, const char *name) {
  static int64_t x[N];
  double seen[CLASSES + 1] = {0}, sum = 0, few = 0, few_seen = 0;
  const int64_t n = counted();
  int degrees = -1;
  OK(nx_read(GOOD(t), x, (size_t)n * sizeof *x, NULL));
  for (int i = 0; i < n; i++) seen[x[i] < 0 || x[i] >= CLASSES ? CLASSES : x[i]]++;
  for (int c = 0; c <= CLASSES; c++) {
    double expected = c < CLASSES ? (double)n * p[c] : 0;
    if (expected < 10) {
      few += expected;
      few_seen += seen[c];
      continue;
    }
    sum += (seen[c] - expected) * (seen[c] - expected) / expected;
    degrees++;
  }
  if (few >= 1) sum += (few_seen - few) * (few_seen - few) / few, degrees++;
  else if (few_seen > 8) fail_msg("%s: %g numbers that should not be", name, few_seen);
  double d = degrees, limit = d * pow(1 - 2 / (9 * d) + 3.72 * sqrt(2 / (9 * d)), 3);
  if (!(sum < limit)) fail_msg("%s: chi square %g of %d degrees", name, sum, degrees);
}

static void poisson_of(double lambda) {
  double p[CLASSES];
  for (int k = 0; k < CLASSES; k++) p[k] = exp(k * log(lambda) - lambda - lgamma(k + 1));
  nx_tensor *l = nx_full_f64(ctx, device(), NX_F32, NULL, 0, lambda);
  counts_as(nx_random_poisson(key(), l, NX_SHAPE(counted())), p, "poisson");
}

static void binomial_of(int n, double q) {
  double p[CLASSES] = {0};
  for (int k = 0; k <= n && k < CLASSES; k++)
    p[k] =
        exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(q) + (n - k) * log1p(-q));
  nx_tensor *trials = nx_full_f64(ctx, device(), NX_F64, NULL, 0, n),
            *chance = nx_full_f64(ctx, device(), NX_F64, NULL, 0, q);
  counts_as(nx_random_binomial(key(), trials, chance, NX_SHAPE(counted())), p, "binomial");
}

static void counts(void **state) {
  (void)state;
  poisson_of(0.5), poisson_of(8), poisson_of(12), poisson_of(30);
  binomial_of(10, 0.3), binomial_of(40, 0.5), binomial_of(60, 0.75), binomial_of(1000, 0.003);
  double p[CLASSES];
  for (int k = 0; k < CLASSES; k++) p[k] = k ? 0.2 * pow(0.8, k - 1) : 0;
  nx_tensor *fifth = nx_full_f64(ctx, device(), NX_F64, NULL, 0, 0.2);
  counts_as(nx_random_geometric(key(), fifth, NX_SHAPE(counted())), p, "geometric");
  const float weights[4] = {1, 0, 3, 6};
  const double shares[CLASSES] = {0.1, 0, 0.3, 0.6};
  nx_tensor *w = nx_from_data(ctx, device(), NX_F32, NX_SHAPE(4), weights, sizeof weights);
  counts_as(nx_random_choice(key(), 4, counted(), true, w), shares, "choice");
  nx_tensor *logits = nx_expand(nx_log(w), NX_SHAPE(counted(), 4));
  counts_as(nx_random_categorical(key(), logits, 1), shares, "categorical");
  const double half[CLASSES] = {0.5, 0.5};
  nx_tensor *coin = nx_random_bernoulli(key(), nx_cast(number(0.5F), NX_F16), NX_SHAPE(counted()));
  counts_as(nx_cast(GOOD(coin), NX_I64), half, "bernoulli");
}

/* The mean and the deviation of counts, as parts of what they are to be. */
static void spread_as(nx_tensor *t, double mean, double deviation, const char *what) {
  static int64_t got[N];
  const int64_t n = counted();
  double sum = 0, squares = 0;
  OK(nx_read(t, got, (size_t)n * sizeof *got, NULL));
  for (int i = 0; i < n; i++) {
    double z = ((double)got[i] - mean) / deviation;
    sum += z, squares += z * z;
  }
  double count = (double)n, error = sqrt(squares / count) - 1;
  if (fabs(sum / count) > 5 / sqrt(count) || fabs(error) > 5 / sqrt(2 * count))
    fail_msg("%s of mean %g: %g deviations off, and they are %g too large", what, mean, sum / count,
             error);
}

/* Where a factorial's logarithm has no digit behind the point. */
static void large_counts(void **state) {
  (void)state;
  const double most = 9007199254740992.0, few = 3e7; /* 2^53 */
  nx_tensor *l[2] = {nx_full_f64(ctx, device(), NX_F64, NULL, 0, most),
                     nx_full_f64(ctx, device(), NX_F64, NULL, 0, few)},
            *p = nx_full_f64(ctx, device(), NX_F64, NULL, 0, 0.75);
  for (int i = 0; i < 2; i++) {
    double n = i ? few : most;
    spread_as(nx_random_poisson(key(), l[i], NX_SHAPE(counted())), n, sqrt(n), "poisson");
    spread_as(nx_random_binomial(key(), l[i], p, NX_SHAPE(counted())), 0.75 * n, sqrt(n * 0.1875),
              "binomial");
  }
}

static void choices_without_replacement(void **state) {
  (void)state;
  int64_t x[100], seen[100] = {0};
  OK(nx_read(GOOD(nx_random_choice(key(), 100, 100, false, NULL)), x, sizeof x, NULL));
  for (int i = 0; i < 100; i++) seen[x[i]]++;
  for (int i = 0; i < 100; i++) assert_int_equal(seen[i], 1);
  const double weights[4] = {1, 0, 3, 6};
  nx_tensor *w = nx_from_data(ctx, device(), NX_F64, NX_SHAPE(4), weights, sizeof weights);
  OK(nx_read(GOOD(nx_random_choice(key(), 4, 4, false, w)), x, 4 * sizeof *x, NULL));
  assert_int_equal(x[3], 1);
  double shares[3 * 50];
  nx_tensor *alpha = nx_cast(vector(3, 0.01F, 2), NX_F64);
  OK(nx_read(GOOD(nx_random_dirichlet(key(), alpha, NX_SHAPE(50, 3))), shares, sizeof shares,
             NULL));
  for (int i = 0; i < 50; i++)
    assert_true(fabs(shares[3 * i] + shares[3 * i + 1] + shares[3 * i + 2] - 1) < 1e-12);
}

/* ---- parameters at and beyond the edge */

static double one_of(nx_tensor *t) {
  nx_scalar s;
  OK(nx_item(GOOD(t), NULL, 0, &s, NULL));
  return s.kind == NX_SCALAR_F64 ? s.v.f[0] : (double)s.v.i;
}

static void edges(void **state) {
  (void)state;
  nx_tensor *k = key(), *zero = number(0), *one = number(1), *less = number(-1), *nan = number(NAN),
            *most = number(INFINITY);
  assert_true(one_of(nx_random_gamma(k, zero, NULL, 0)) == 0);
  assert_true(isinf(one_of(nx_random_gamma(k, most, NULL, 0))));
  assert_true(isnan(one_of(nx_random_gamma(k, less, NULL, 0))));
  assert_true(isnan(one_of(nx_random_gamma(k, nan, NULL, 0))));
  assert_true(one_of(nx_random_poisson(k, zero, NULL, 0)) == 0);
  assert_true(one_of(nx_random_poisson(k, less, NULL, 0)) == -1);
  assert_true(one_of(nx_random_poisson(k, most, NULL, 0)) == -1);
  assert_true(one_of(nx_random_binomial(k, one, one, NULL, 0)) == 1);
  assert_true(one_of(nx_random_binomial(k, one, zero, NULL, 0)) == 0);
  assert_true(one_of(nx_random_binomial(k, number(1.5F), zero, NULL, 0)) == -1);
  assert_true(one_of(nx_random_binomial(k, one, nan, NULL, 0)) == -1);
  assert_true(one_of(nx_random_geometric(k, one, NULL, 0)) == 1);
  assert_true(one_of(nx_random_geometric(k, zero, NULL, 0)) == -1);
  assert_true(isnan(one_of(nx_random_truncated_normal(k, one, zero, NULL, 0))));
  assert_true(one_of(nx_random_truncated_normal(k, one, one, NULL, 0)) == 1);
  assert_true(one_of(nx_random_bernoulli(k, nan, NULL, 0)) == 0);
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(GOOD(nx_random_gamma(k, one, NX_SHAPE(3, 0))), &info);
  assert_true(info.rank == 2 && info.shape[1] == 0);
  OK(nx_realize(ctx, (nx_tensor *[]){nx_random_poisson(k, one, NX_SHAPE(0))}, 1, NULL));
  OK(nx_realize(ctx, (nx_tensor *[]){nx_random_choice(k, 0, 0, false, NULL)}, 1, NULL));
}

/* In a captured function whose key is an input: the numbers of a call that is not captured. */
static void in_functions(void **state) {
  (void)state;
  float direct[64], called[64];
  nx_tensor *k = nx_placeholder(ctx, device(), NX_U32, NX_SHAPE(2)),
            *x = GOOD(nx_random_gamma(k, number(0.7F), NX_SHAPE(64))), *given = key_of(9, 8),
            *out = NULL;
  nx_function *f = NULL;
  OK(nx_function_create(ctx, &k, 1, &x, 1, NULL, &f));
  OK(nx_function_call(f, &given, 1, &out, 1, NULL));
  OK(nx_read(out, called, sizeof called, NULL));
  OK(nx_read(GOOD(nx_random_gamma(given, number(0.7F), NX_SHAPE(64))), direct, sizeof direct,
             NULL));
  assert_memory_equal(direct, called, sizeof direct);
  nx_function_release(f);
}

static void refused(void **state) {
  (void)state;
  nx_tensor *k = key(), *one = number(1), *two = vector(2, 0, 1), *next, *bits;
  assert_null(nx_random_normal(two, NX_F32, NULL, 0));
  error_says(NX_UNSUPPORTED_DTYPE, "random_normal: the key is f32[2], not i32 or u32 of shape [2]");
  assert_null(nx_random_split(k, -1));
  error_says(NX_INVALID_ARGUMENT, "random_split");
  assert_null(nx_random_normal(k, NX_I32, NULL, 0));
  error_says(NX_UNSUPPORTED_DTYPE, "the result cannot be i32");
  assert_null(nx_random_bits(k, NX_I32, NULL, 0));
  error_says(NX_UNSUPPORTED_DTYPE, "not u8, u16, u32 or u64");
  assert_null(nx_random_uniform(k, NX_F32, NULL, 2, 0, 1));
  error_says(NX_INVALID_ARGUMENT, "the shape is null");
  assert_null(nx_random_uniform(k, NX_F32, NULL, 0, 0, INFINITY));
  error_says(NX_INVALID_ARGUMENT, "not finite");
  assert_null(nx_random_integers(k, NX_I8, NULL, 0, 0, 129));
  error_says(NX_INVALID_ARGUMENT, "0 to 129 are not all of i8");
  assert_null(nx_random_integers(k, NX_I4, NULL, 0, 0, 1));
  error_says(NX_UNSUPPORTED_DTYPE, "i4");
  assert_null(nx_random_gamma(k, k, NX_SHAPE(2)));
  error_says(NX_UNSUPPORTED_DTYPE, "a parameter is u32");
  assert_null(nx_random_gamma(k, two, NX_SHAPE(3)));
  error_says(NX_INVALID_ARGUMENT, "random_gamma: in its ");
  assert_null(nx_random_beta(k, one, nx_cast(one, NX_F64), NULL, 0));
  error_says(NX_INVALID_ARGUMENT, "the parameters are f32 and f64");
  assert_null(nx_random_dirichlet(k, two, NULL, 0));
  error_says(NX_INVALID_ARGUMENT, "no axis");
  assert_null(nx_random_categorical(k, two, 1));
  error_says(NX_INVALID_ARGUMENT, "axis 1");
  assert_null(nx_random_choice(k, 3, 4, false, NULL));
  error_says(NX_INVALID_ARGUMENT, "4 of 3 numbers, without replacement");
  assert_null(nx_random_choice(k, 3, 1, true, two));
  error_says(NX_INVALID_ARGUMENT, "the weights of 3 numbers");
  assert_null(nx_random_fold_in(k, k));
  error_says(NX_INVALID_ARGUMENT, "not one integer");
  assert_null(nx_philox(k, k));
  error_says(NX_INVALID_ARGUMENT, "the counter of shape [2] is not [.., 4]");
  FAILS(NX_UNSUPPORTED_DTYPE,
        nx_rng_bit_generator(k, NX_RNG_PHILOX, NX_U32, NULL, 0, &next, &bits));
  nx_tensor *states = nx_full_i64(ctx, device(), NX_U64, NX_SHAPE(3), 1);
  FAILS(NX_INVALID_ARGUMENT,
        nx_rng_bit_generator(states, NX_RNG_THREEFRY, NX_U32, NULL, 0, &next, &bits));
  FAILS(NX_INVALID_ARGUMENT,
        nx_rng_bit_generator(states, (nx_rng)2, NX_U32, NULL, 0, &next, &bits));
}

NXT_MAIN(random) {
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = ""};
  if (nx_context_create(&o, &ctx)) return 1;
  const struct CMUnitTest tests[] = {
      IN_SCOPE(keys_and_bits),
      IN_SCOPE(philox_gives_the_known_answers),
      IN_SCOPE(generators_have_the_layouts_of_xla),
      IN_SCOPE(uniform_numbers),
      IN_SCOPE(continuous),
      IN_SCOPE(counts),
      IN_SCOPE(large_counts),
      IN_SCOPE(choices_without_replacement),
      IN_SCOPE(edges),
      IN_SCOPE(in_functions),
      IN_SCOPE(refused),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  nx_context_release(ctx);
  return failures;
}
