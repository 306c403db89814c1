/* SPDX-License-Identifier: ISC */
/* Functions of complex numbers against the C library's: special values in each part as Annex G of
 * C99 demands, and how far ordinary results are off, by the C library's in long double. */
#include <complex.h>
#include <math.h>

#include "tests/util/api.h"

#ifndef CMPLX /* glibc has these for compilers that say they are gcc 4.7 */
#define CMPLX(x, y)  __builtin_complex((double)(x), (double)(y))
#define CMPLXF(x, y) __builtin_complex((float)(x), (float)(y))
#endif

typedef double complex z;
typedef long double complex wide;

/* ---- what is compared */

/* The quotient of Annex G, G.5.1, where an operand is special. */
static z recovered(z over, z under) {
  double a = creal(over), b = cimag(over), c = creal(under), d = cimag(under), power = 0;
  double log = logb(fmax(fabs(c), fabs(d)));
  if (isfinite(log)) {
    power = -log;
    c = scalbn(c, (int)power), d = scalbn(d, (int)power);
  }
  double square = c * c + d * d;
  double x = scalbn((a * c + b * d) / square, (int)power),
         y = scalbn((b * c - a * d) / square, (int)power);
  if (!isnan(x) || !isnan(y)) return CMPLX(x, y);
  if (square == 0 && (!isnan(a) || !isnan(b))) {
    x = copysign(INFINITY, c) * a, y = copysign(INFINITY, c) * b;
  } else if ((isinf(a) || isinf(b)) && isfinite(c) && isfinite(d)) {
    a = copysign(isinf(a) ? 1 : 0, isnan(a) ? 0 : a),
    b = copysign(isinf(b) ? 1 : 0, isnan(b) ? 0 : b);
    x = INFINITY * (a * c + b * d), y = INFINITY * (b * c - a * d);
  } else if (isinf(log) && log > 0 && isfinite(a) && isfinite(b)) {
    c = copysign(isinf(c) ? 1 : 0, isnan(c) ? 0 : c),
    d = copysign(isinf(d) ? 1 : 0, isnan(d) ? 0 : d);
    x = 0.0 * (a * c + b * d), y = 0.0 * (b * c - a * d);
  }
  return CMPLX(x, y);
}

static bool underflows; /* a part of the last quotient: its sign is lost with it */

/* Compilers divide in their own ways, with other signs of zeros. Of finite numbers long double
 * holds all that matters. */
static z divided(z over, z under) {
  long double a = creal(over), b = cimag(over), c = creal(under), d = cimag(under);
  bool plain = isfinite(a) && isfinite(b) && isfinite(c) && isfinite(d) && (c != 0 || d != 0);
  underflows = false;
  if (!plain || sizeof a == sizeof(double)) return recovered(over, under);
  long double square = c * c + d * d, re = (a * c + b * d) / square, im = (b * c - a * d) / square;
  underflows = (re != 0 && fabsl(re) < 0x1p-1000L) || (im != 0 && fabsl(im) < 0x1p-1000L);
  return CMPLX((double)re, (double)im);
}
static z c_recip(z a) { return divided(1, a); }
static wide c_recipl(wide a) { return 1 / a; }

/* log(1 + z) and e^z - 1, which C does not have. Near the unit circle around -1 little is left of
 * |1 + z|^2 - 1, but all of it in numbers of 113 bits, which hold the squares. */
#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 widest;
#else
typedef long double widest;
#endif
static wide made_of(long double re, long double im) {
  union {
    long double part[2];
    wide both;
  } u = {.part = {re, im}};
  return u.both;
}
static wide c_log1pl(wide a) {
  widest x = creall(a), y = cimagl(a);
  wide sum = made_of(1 + creall(a), cimagl(a)); /* exact where it is small */
  if (!(cabsl(a) < 0x1p500L) || cabsl(sum) < 0.5L) return clogl(sum);
  long double more = (long double)(2 * x + x * x + y * y);
  return made_of(log1pl(more) / 2, atan2l(cimagl(a), 1 + creall(a)));
}
static wide c_expm1l(wide a) {
  long double sine = sinl(cimagl(a) / 2), y = cimagl(a);
  if (!isfinite(y) || !isfinite(creall(a))) return made_of(creall(cexpl(a)) - 1, cimagl(cexpl(a)));
  return made_of(expm1l(creall(a)) * cosl(y) - 2 * sine * sine, cimagl(cexpl(a)));
}
static z narrowed(wide a) { return CMPLX((double)creall(a), (double)cimagl(a)); }
static bool is_zero(z a) { return creal(a) == 0 && cimag(a) == 0; }
static z c_log1p(z a) { return is_zero(a) ? a : narrowed(c_log1pl(a)); }
static z c_expm1(z a) { return is_zero(a) ? a : narrowed(c_expm1l(a)); }

static const struct function {
  const char *name;
  nx_tensor *(*ours)(nx_tensor *);
  z (*c)(z);
  wide (*exact)(wide);
  double bound; /* of each part, in units of its last place; c64 rounds once */
} functions[] = {{"sqrt", nx_sqrt, csqrt, csqrtl, 2.5},
                 {"exp", nx_exp, cexp, cexpl, 2.5},
                 {"log", nx_log, clog, clogl, 4},
                 {"sin", nx_sin, csin, csinl, 2.5},
                 {"cos", nx_cos, ccos, ccosl, 2.5},
                 {"tan", nx_tan, ctan, ctanl, 5},
                 {"asin", nx_asin, casin, casinl, 4},
                 {"acos", nx_acos, cacos, cacosl, 4},
                 {"atan", nx_atan, catan, catanl, 4},
                 {"sinh", nx_sinh, csinh, csinhl, 2.5},
                 {"cosh", nx_cosh, ccosh, ccoshl, 2.5},
                 {"tanh", nx_tanh, ctanh, ctanhl, 5},
                 {"asinh", nx_asinh, casinh, casinhl, 4},
                 {"acosh", nx_acosh, cacosh, cacoshl, 4},
                 {"atanh", nx_atanh, catanh, catanhl, 4},
                 {"log1p", nx_log1p, c_log1p, c_log1pl, 4},
                 {"expm1", nx_expm1, c_expm1, c_expm1l, 2.5},
                 {"recip", nx_recip, c_recip, c_recipl, 2.5}};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* Where the C library is wrong, or makes another choice where it has one. */
typedef struct exception {
  const char *name, *why;
  double re, im; /* the argument */
  double want[2];
} exception;
static const exception exceptions[] = {{"sqrt",
                                        "3.5e-324 is nearer to the least number",
                                        0.5,
                                        0x1p-1074,
                                        {0x1.6a09e667f3bcdp-1, 0x1p-1074}}};

static bool same_number(double a, double b) {
  return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static const exception *find_exception(const char *name, double re, double im) {
  for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++)
    if (!strcmp(exceptions[i].name, name) && same_number(exceptions[i].re, re) &&
        same_number(exceptions[i].im, im))
      return &exceptions[i];
  return NULL;
}

/* ---- special values */

static const double specials[] = {0.0, -0.0, 1,  -1,         0.5,        -2,  INFINITY, -INFINITY,
                                  NAN, 3,    40, 0x1p-1074L, -0x1p1023L, 1e9, -0x1p-600};
enum { SPECIALS = sizeof specials / sizeof specials[0], PAIRS = SPECIALS * SPECIALS };

/* Where Annex G leaves signs open: of zeros and infinities that come of a NaN, or of the angle of
 * an infinity. */
static bool signs_are_open(z x) {
  double a = creal(x), b = cimag(x);
  return isnan(a) || isnan(b) || (isinf(a) && isinf(b)) || (a == 0 && isinf(b)) ||
         (b == 0 && isinf(a));
}

/* NaN where NaN is wanted, the same infinities and zeros; numbers nearly. */
static bool agrees(double got, double want, double size, bool open) {
  if (open && (isinf(want) || want == 0)) return same_number(fabs(got), fabs(want));
  if (isnan(want) || isinf(want) || want == 0 || isnan(got) || isinf(got))
    return same_number(got, want);
  return fabs(got - want) <= 1e-14 * size + 0x1p-1073;
}

/* The numbers as c128, or as c64 with every result rounded once. */
static nx_tensor *tensor_of(const z *values, int64_t n, bool narrow) {
  nx_tensor *x = GOOD(nx_empty(ctx, 0, NX_C128, &n, 1));
  OK(nx_write(x, values, (size_t)n * sizeof *values, NULL));
  return narrow ? GOOD(nx_cast(x, NX_C64)) : x;
}

static void read_back(nx_tensor *t, z *values, size_t n) {
  OK(nx_read(GOOD(nx_cast(t, NX_C128)), values, n * sizeof *values, NULL));
}

/* volatile: gcc 12 keeps the double where it sees both conversions. */
static double rounded(double x, bool narrow) {
  volatile float once = (float)x;
  return narrow ? (double)once : x;
}

static int wrong;
static void expect(const char *name, z a, z b, z got, z want, bool narrow, bool open) {
  double re = rounded(creal(want), narrow), im = rounded(cimag(want), narrow);
  double size = isfinite(re) && isfinite(im) ? hypot(re, im) : isfinite(re) ? fabs(re) : fabs(im);
  if (narrow) size = size * 0x1p24 + 0x1p900; /* half an ulp, and a least number */
  if (agrees(creal(got), re, size, open) && agrees(cimag(got), im, size, open)) return;
  wrong++;
  fprintf(stderr, "%s(%g%+gi, %g%+gi)%s is %.17g%+.17gi, not %.17g%+.17gi\n", name, creal(a),
          cimag(a), creal(b), cimag(b), narrow ? " of c64" : "", creal(got), cimag(got), re, im);
}

static void special_arguments(z *arguments, bool narrow) {
  for (int i = 0; i < PAIRS; i++)
    arguments[i] =
        CMPLX(rounded(specials[i / SPECIALS], narrow), rounded(specials[i % SPECIALS], narrow));
}

static void special_values(void **state) {
  (void)state;
  z x[PAIRS], got[PAIRS];
  wrong = 0;
  for (int narrow = 0; narrow < 2; narrow++) {
    special_arguments(x, narrow);
    nx_tensor *t = tensor_of(x, PAIRS, narrow);
    for (int f = 0; f < FUNCTIONS; f++) {
      read_back(GOOD(functions[f].ours(t)), got, PAIRS);
      for (int i = 0; i < PAIRS; i++) {
        const exception *e = find_exception(functions[f].name, creal(x[i]), cimag(x[i]));
        z want = e != NULL ? CMPLX(e->want[0], e->want[1]) : functions[f].c(x[i]);
        bool open = signs_are_open(x[i]) || (functions[f].c == c_recip && underflows) ||
                    (functions[f].c == c_expm1 && creal(want) == 0); /* it is less than that */
        expect(functions[f].name, x[i], 0, got[i], want, narrow, open);
      }
    }
  }
  assert_int_equal(wrong, 0);
}

static z times(z a, z b) { return a * b; }

/* Numbers beside which a part is nothing: it may underflow on the way where Annex G scales
 * otherwise, or where the quotient is infinite. */
static bool is_extreme(z a, z b, z quotient) {
  const double parts[] = {creal(a), cimag(a), creal(b), cimag(b)};
  bool finite = isfinite(creal(quotient)) && isfinite(cimag(quotient)), far = false;
  for (int i = 0; i < 4; i++)
    far |= parts[i] != 0 && isfinite(parts[i]) &&
           (fabs(parts[i]) < 0x1p-500 || fabs(parts[i]) > 0x1p500);
  return far && !finite;
}

/* Products and quotients of all pairs. */
static void special_pairs(void **state) {
  (void)state;
  static z x[PAIRS], a[PAIRS * PAIRS], b[PAIRS * PAIRS], got[PAIRS * PAIRS];
  wrong = 0;
  for (int narrow = 0; narrow < 2; narrow++) {
    special_arguments(x, narrow);
    for (int i = 0; i < PAIRS * PAIRS; i++) a[i] = x[i / PAIRS], b[i] = x[i % PAIRS];
    nx_tensor *left = tensor_of(a, PAIRS * PAIRS, narrow),
              *right = tensor_of(b, PAIRS * PAIRS, narrow);
    read_back(GOOD(nx_mul(left, right)), got, PAIRS * PAIRS);
    for (int i = 0; i < PAIRS * PAIRS; i++)
      expect("mul", a[i], b[i], got[i], times(a[i], b[i]), narrow,
             isnan(creal(a[i] + b[i])) || isnan(cimag(a[i] + b[i])));
    read_back(GOOD(nx_div(left, right)), got, PAIRS * PAIRS);
    for (int i = 0; i < PAIRS * PAIRS; i++) {
      z want = divided(a[i], b[i]);
      if (is_extreme(a[i], b[i], want)) continue;
      expect("div", a[i], b[i], got[i], want, narrow,
             underflows || isnan(creal(a[i] + b[i])) || isnan(cimag(a[i] + b[i])));
    }
  }
  assert_int_equal(wrong, 0);
}

/* |z| + 0i, infinite where a part is; z / |z| and its limits. */
static void modulus_and_direction(void **state) {
  (void)state;
  z x[PAIRS], size[PAIRS], way[PAIRS];
  wrong = 0;
  for (int narrow = 0; narrow < 2; narrow++) {
    special_arguments(x, narrow);
    nx_tensor *t = tensor_of(x, PAIRS, narrow);
    read_back(GOOD(nx_abs(t)), size, PAIRS);
    read_back(GOOD(nx_sign(t)), way, PAIRS);
    for (int i = 0; i < PAIRS; i++) {
      double a = creal(x[i]), b = cimag(x[i]);
      expect("abs", x[i], 0, size[i], CMPLX(cabs(x[i]), 0), narrow, false);
      if (isinf(a) || isinf(b))
        a = isinf(a) ? copysign(1, a) : 0 * copysign(1, a),
        b = isinf(b) ? copysign(1, b) : 0 * copysign(1, b);
      bool none = a == 0 && b == 0;
      long double over = none ? 1 : hypotl(a, b);
      z want = none ? 0 : CMPLX((double)(a / over), (double)(b / over));
      expect("sign", x[i], 0, way[i], want, narrow, signs_are_open(x[i]));
    }
  }
  assert_int_equal(wrong, 0);
}

/* ---- accuracy */

static uint64_t seed = 1;
static double uniform(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(seed >> 11) * 0x1p-53;
}

/* Around 1, near the unit circle, near the points 1 and -1, of all sizes that a function takes, and
 * near the unit circle around -1. */
static z random_number(int kind) {
  double turn = 6.283185307179586 * uniform(), apart = exp2(-50 * uniform());
  switch (kind % 5) {
    case 0: return CMPLX(6 * uniform() - 3, 6 * uniform() - 3);
    case 1: return (1 + apart * (uniform() - 0.5)) * CMPLX(cos(turn), sin(turn));
    case 2:
      return CMPLX((kind & 1 ? 1 : -1) + apart * (uniform() - 0.5), apart * (uniform() - 0.5));
    case 3: return (1 + apart * (uniform() - 0.5)) * CMPLX(cos(turn), sin(turn)) - 1;
    default:
      return CMPLX(cos(turn) * exp2(16 * uniform() - 12), sin(turn) * exp2(16 * uniform() - 12));
  }
}

/* size: what has the last place. */
static double units(double got, long double want, long double size, bool narrow) {
  int exponent;
  frexpl(size, &exponent);
  int least = narrow ? -125 : -1021;
  long double unit = ldexpl(1, (exponent > least ? exponent : least) - (narrow ? 24 : 53));
  return (double)(fabsl((long double)got - want) / unit);
}

enum { SAMPLES = 4096 };
static void accuracy(void **state) {
  (void)state;
  if (sizeof(long double) == sizeof(double)) skip();
  static z x[SAMPLES], got[SAMPLES];
  for (int narrow = 0; narrow < 2; narrow++)
    for (int f = 0; f < FUNCTIONS; f++) {
      double most[2] = {0, 0}, bound = narrow ? 0.501 : functions[f].bound;
      for (int i = 0; i < SAMPLES; i++) {
        z number = random_number(i);
        x[i] = CMPLX(rounded(creal(number), narrow), rounded(cimag(number), narrow));
      }
      read_back(GOOD(functions[f].ours(tensor_of(x, SAMPLES, narrow))), got, SAMPLES);
      for (int i = 0; i < SAMPLES; i++) {
        wide want = functions[f].exact(x[i]);
        long double re = creall(want), im = cimagl(want), most_of = fmaxl(fabsl(re), fabsl(im));
        bool together = functions[f].ours == nx_expm1; /* of the larger part's last place */
        double off[2] = {units(creal(got[i]), re, together ? most_of : re, narrow),
                         units(cimag(got[i]), im, together ? most_of : im, narrow)};
        for (int k = 0; k < 2; k++) {
          if (!(off[k] <= bound))
            fail_msg("%s(%a%+ai): part %d is off by %g units", functions[f].name, creal(x[i]),
                     cimag(x[i]), k, off[k]);
          most[k] = fmax(most[k], off[k]);
        }
      }
      printf("%-5s %-4s %.2f %.2f\n", functions[f].name, narrow ? "c64" : "c128", most[0], most[1]);
    }
}

/* w log z is rounded to 53 bits before it is an exponent: the error grows with it. */
static void powers(void **state) {
  (void)state;
  static z a[SAMPLES], b[SAMPLES], got[SAMPLES];
  for (int i = 0; i < SAMPLES; i++) a[i] = random_number(0), b[i] = random_number(0);
  read_back(GOOD(nx_pow(tensor_of(a, SAMPLES, false), tensor_of(b, SAMPLES, false))), got, SAMPLES);
  for (int i = 0; i < SAMPLES; i++) {
    wide power = (wide)b[i] * clogl(a[i]), want = cexpl(power);
    double off = (double)(cabsl(got[i] - want) / cabsl(want)),
           bound = 0x1p-53 * (4 + 2 * (double)cabsl(power));
    if (!(off <= bound)) fail_msg("pow is off by %g, not %g", off, bound);
  }
  const z rows[][3] = {{0, 0, 1},
                       {CMPLX(NAN, 1), 0, 1},
                       {0, CMPLX(2, 1), 0},
                       {0, 1, 0},
                       {CMPLX(0, 1), 2, -1},
                       {CMPLX(1, 1), 1, CMPLX(1, 1)},
                       {-1, 0.5, CMPLX(0, 1)}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    read_back(GOOD(nx_pow(tensor_of(&rows[i][0], 1, false), tensor_of(&rows[i][1], 1, false))), got,
              1);
    assert_true(cabs(got[0] - rows[i][2]) <= 1e-15);
  }
}

/* logistic beside its poles, where 1 + e^-z is small. */
static void poles(void **state) {
  (void)state;
  static z a[SAMPLES], got[SAMPLES];
  for (int i = 0; i < SAMPLES; i++) {
    double turn = 3.141592653589793 * (2 * floor(1000 * uniform()) + 1),
           apart = exp2(-40 * uniform());
    a[i] = CMPLX(apart * (uniform() - 0.5), turn + apart * (uniform() - 0.5));
  }
  read_back(GOOD(nx_logistic(tensor_of(a, SAMPLES, false))), got, SAMPLES);
  for (int i = 0; i < SAMPLES; i++) {
    long double x = -creal(a[i]), y = -cimag(a[i]), half = cosl(y / 2);
    wide want = 1 / made_of(2 * half * half + expm1l(x) * cosl(y), expl(x) * sinl(y));
    double off = (double)(cabsl(got[i] - want) / cabsl(want));
    if (!(off <= 5 * 0x1p-53))
      fail_msg("logistic(%a%+ai) is off by %g", creal(a[i]), cimag(a[i]), off);
  }
}

NXT_MAIN(complex_math) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(special_values), IN_SCOPE(special_pairs), IN_SCOPE(modulus_and_direction),
      IN_SCOPE(accuracy),       IN_SCOPE(powers),        IN_SCOPE(poles),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
