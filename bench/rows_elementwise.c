/* SPDX-License-Identifier: ISC */
/* Elementwise rows: bound by memory, by arithmetic, and of iterations that feed themselves. */
#include "expressions.h"

static nx_tensor *logarithm(const bench_lab *lab, nx_tensor **x) { return (void)lab, nx_log(x[0]); }
static nx_tensor *sine(const bench_lab *lab, nx_tensor **x) { return (void)lab, nx_sin(x[0]); }
static nx_tensor *error_function(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_erf(x[0]);
}
static nx_tensor *squared(const bench_lab *lab, nx_tensor **x) {
  return nx_pow(x[0], bench_number(lab, x[0], 2));
}
static nx_tensor *rooted(const bench_lab *lab, nx_tensor **x) {
  return nx_pow(x[0], bench_number(lab, x[0], 0.5));
}
static nx_tensor *cubed(const bench_lab *lab, nx_tensor **x) {
  return nx_pow(x[0], bench_number(lab, x[0], 3));
}
static nx_tensor *product(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_mul(x[0], x[1]);
}
static nx_tensor *sum(const bench_lab *lab, nx_tensor **x) { return (void)lab, nx_add(x[0], x[1]); }

/* ---- Black-Scholes: the price of a call, of prices, strikes and times */

static nx_tensor *normal(const bench_lab *lab, nx_tensor *x) {
  nx_tensor *e = nx_erf(nx_mul(x, bench_number(lab, x, 0.70710678118654752)));
  return nx_mul(nx_add(e, bench_number(lab, x, 1)), bench_number(lab, x, 0.5));
}

static nx_tensor *black_scholes(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *price = x[0], *strike = x[1], *time = x[2], *spread = bench_number(lab, price, 0.3),
            *rate = bench_number(lab, price, 0.02), *drift = bench_number(lab, price, 0.065),
            *scale = nx_mul(spread, nx_sqrt(time)),
            *d1 = nx_div(nx_add(nx_log(nx_div(price, strike)), nx_mul(drift, time)), scale),
            *d2 = nx_sub(d1, scale), *discount = nx_exp(nx_neg(nx_mul(rate, time)));
  return nx_sub(nx_mul(price, normal(lab, d1)), nx_mul(nx_mul(strike, discount), normal(lab, d2)));
}

/* ---- Mandelbrot: x[0] has the real parts, x[1] the imaginary ones */

static nx_tensor *mandelbrot(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *re = x[0], *im = x[1], *count = nx_mul(x[0], bench_number(lab, x[0], 0)),
            *four = bench_number(lab, re, 4), *zero = bench_number(lab, re, 0),
            *one = bench_number(lab, re, 1);
  for (int i = 0; i < 50; i++) {
    nx_tensor *re2 = nx_mul(re, re), *im2 = nx_mul(im, im), *cross = nx_mul(re, im),
              *inside = nx_cmple(nx_add(re2, im2), four);
    count = nx_add(count, nx_where(inside, one, zero));
    re = nx_where(inside, nx_add(nx_sub(re2, im2), x[0]), re);
    im = nx_where(inside, nx_add(nx_add(cross, cross), x[1]), im);
  }
  return count;
}

/* ---- a step of bodies that attract each other: the acceleration along the first axis */

static nx_tensor *differences(nx_tensor *x, int64_t n) {
  return nx_sub(nx_reshape(x, NX_SHAPE(1, n), 0), nx_reshape(x, NX_SHAPE(n, 1), 0));
}

static nx_tensor *attraction(const bench_lab *lab, nx_tensor **x) {
  int64_t n = bench_info(x[0]).shape[0];
  nx_tensor *dx = differences(x[0], n), *dy = differences(x[1], n), *dz = differences(x[2], n),
            *r2 = nx_add(nx_add(nx_mul(dx, dx), nx_mul(dy, dy)),
                         nx_add(nx_mul(dz, dz), bench_number(lab, x[0], 0.01))),
            *pull = nx_div(x[3], nx_mul(r2, nx_sqrt(r2)));
  return nx_reduce_sum(nx_mul(dx, pull), NX_AXES(1), 0);
}

/* ---- a step of heat that spreads, inside of a border that stays */

static nx_tensor *heat(const bench_lab *lab, nx_tensor **x) {
  const nx_tensor_info info = bench_info(x[0]);
  int64_t h = info.shape[0] - 2, w = info.shape[1] - 2;
  const int64_t one[] = {1, 1};
  nx_tensor *rows = bench_range(x[0], 0, 1, h), *columns = bench_range(x[0], 1, 1, w),
            *middle = bench_range(rows, 1, 1, w),
            *beside = nx_add(bench_range(rows, 1, 0, w), bench_range(rows, 1, 2, w)),
            *above = nx_add(bench_range(columns, 0, 0, h), bench_range(columns, 0, 2, h)),
            *change = nx_sub(nx_add(beside, above), nx_mul(middle, bench_number(lab, middle, 4)));
  change = nx_mul(change, bench_number(lab, middle, 0.1));
  return nx_add(x[0], nx_pad(change, one, one, sizeof one / sizeof *one, NX_NUMBER(0)));
}

/* Whether a number has one of the divisors: x[0] numbers, x[1] divisors. */
static nx_tensor *divisible(const bench_lab *lab, nx_tensor **x) {
  int64_t n = bench_info(x[0]).shape[0], m = bench_info(x[1]).shape[0];
  nx_tensor *rest =
      nx_mod(nx_reshape(x[0], NX_SHAPE(n, 1), 0), nx_reshape(x[1], NX_SHAPE(1, m), 0));
  return nx_cast(nx_reduce_max(nx_cmpeq(rest, bench_number(lab, rest, 0)), NX_AXES(1), 0), NX_I32);
}

static const bench_workload rows[] = {
    {"2a+3b-ab 1e3", "poly", bench_polynomial, "f32:1000 f32:1000", 0, 0, 0},
    {"2a+3b-ab 1e5", "poly", bench_polynomial, "f32:100000 f32:100000", 0, 0, 0},
    {"2a+3b-ab 1e5 called", "poly", bench_polynomial, "f32:100000 f32:100000", 0.85, BENCH_CALLED,
     0},
    {"2a+3b-ab 1e6", "poly", bench_polynomial, "f32:1000000 f32:1000000", 0.85, 0, 0},
    {"2a+3b-ab 1.6e7", "poly", bench_polynomial, "f32:16000000 f32:16000000", 0.85, 0, 0},
    {"2a+3b-ab 1009x4098", "poly", bench_polynomial, "f32:1009x4098 f32:1009x4098", 0.85, 0, 0},
    {"2a+3b-ab 4e6 f64", "poly", bench_polynomial, "f64:4000000 f64:4000000", 0.85, 0, 0},
    {"2a+3b-ab 4e6 bf16", "poly", bench_polynomial, "bf16:4000000 bf16:4000000", 0, 0, 0},
    {"20 operations 1e5", "chain", bench_chain, "f32:100000", 0, 0, 0},
    {"20 operations 1e7", "chain", bench_chain, "f32:10000000", 0.85, 0, 0},
    {"tanh(ab+c) 1e5", "tanh", bench_tanh_of, "f32:100000 f32:100000 f32:100000", 0, 0, 0},
    {"tanh(ab+c) 1e6", "tanh", bench_tanh_of, "f32:1000000 f32:1000000 f32:1000000", 0, 0, 0},
    {"tanh(ab+c) 1e7", "tanh", bench_tanh_of, "f32:10000000 f32:10000000 f32:10000000", 0, 0, 0},
    {"exp 1e6", "exp", bench_exponential, "f32:1000000", 0, 0, 0},
    {"exp 1e6 f64", "exp", bench_exponential, "f64:1000000", 0, 0, 0},
    {"log 1e6", "log", logarithm, "f32:1000000:0.1:9", 0, 0, 0},
    {"log 1e6 f64", "log", logarithm, "f64:1000000:0.1:9", 0, 0, 0},
    {"sin 1e6", "sin", sine, "f32:1000000", 0, 0, 0},
    {"sin 1e6 f64", "sin", sine, "f64:1000000", 0, 0, 0},
    {"erf 1e6", "erf", error_function, "f32:1000000", 0, 0, 0},
    {"gelu 1e6", "gelu", bench_gelu, "f32:1000000", 0, 0, 0},
    {"power of 2 1e6", "power2", squared, "f32:1000000", 0.7, 0, 0},
    {"power of 0.5 1e6", "powerhalf", rooted, "f32:1000000:0:4", 0, 0, 0},
    {"power of 3 1e6", "power3", cubed, "f32:1000000", 0.7, 0, 0},
    {"row added 4098x1009", "sum", sum, "f32:4098x1009 f32:1009", 0.7, 0, 0},
    {"column added 100000x100", "sum", sum, "f32:100000x100 f32:100000x1", 0.7, 0, 0},
    {"complex product 1e6", "product", product, "c64:1000000 c64:1000000", 0, 0, 0},
    {"Black-Scholes 1e6 f64", "blackscholes", black_scholes,
     "f64:1000000:10:50 f64:1000000:10:50 f64:1000000:1:2", 0, BENCH_COMPUTES, 0},
    {"mandelbrot 512^2 50 steps", "mandelbrot", mandelbrot,
     "f32:512x512:-2:0.5 f32:512x512:-1.2:1.2", 0, BENCH_COMPUTES | BENCH_LOOSE, 0},
    {"attraction of 1024", "attraction", attraction, "f32:1024 f32:1024 f32:1024 f32:1024:0:1", 0,
     BENCH_COMPUTES, 0},
    {"heat 2000^2", "heat", heat, "f32:2000x2000", 0, 0, 0},
    {"divisible 20000 by 140", "divisible", divisible, "i32:20000:2:20000 i32:140:2:142", 0,
     BENCH_COMPUTES, 0},
    {"pad + stencil 1-D 1e5", "stencil1", bench_stencil_1, "f32:100000", 0.7, 0, 0},
    {"pad + stencil 1-D 1e7", "stencil1", bench_stencil_1, "f32:10000000", 0.7, 0, 0},
    {"pad + stencil 2-D 300^2", "stencil2", bench_stencil_2, "f32:300x300", 0, 0, 0},
    {"pad + stencil 2-D 3000^2", "stencil2", bench_stencil_2, "f32:3000x3000", 0.7, 0, 0},
};

/* The same work in other sizes and types. */
static const bench_workload sizes[] = {
    {"20 operations 1e3", "chain", bench_chain, "f32:1000", 0, BENCH_SIZE, 0},
    {"20 operations 1e6", "chain", bench_chain, "f32:1000000", 0, BENCH_SIZE, 0},
    {"20 operations 1.6e7", "chain", bench_chain, "f32:16000000", 0.85, BENCH_SIZE, 0},
    {"20 operations 1e6 f64", "chain", bench_chain, "f64:1000000", 0, BENCH_SIZE, 0},
    {"20 operations 1e6 bf16", "chain", bench_chain, "bf16:1000000", 0, BENCH_SIZE, 0},
    {"tanh(ab+c) 1e3", "tanh", bench_tanh_of, "f32:1000 f32:1000 f32:1000", 0, BENCH_SIZE, 0},
    {"tanh(ab+c) 1.6e7", "tanh", bench_tanh_of, "f32:16000000 f32:16000000 f32:16000000", 0,
     BENCH_SIZE, 0},
    {"tanh(ab+c) 1e6 f64", "tanh", bench_tanh_of, "f64:1000000 f64:1000000 f64:1000000", 0,
     BENCH_SIZE, 0},
    {"tanh(ab+c) 1e6 bf16", "tanh", bench_tanh_of, "bf16:1000000 bf16:1000000 bf16:1000000", 0,
     BENCH_SIZE, 0},
    {"exp 1e3", "exp", bench_exponential, "f32:1000", 0, BENCH_SIZE, 0},
    {"exp 1e5", "exp", bench_exponential, "f32:100000", 0, BENCH_SIZE, 0},
    {"exp 1.6e7", "exp", bench_exponential, "f32:16000000", 0, BENCH_SIZE, 0},
    {"exp 1e6 bf16", "exp", bench_exponential, "bf16:1000000", 0, BENCH_SIZE, 0},
    {"log 1e3", "log", logarithm, "f32:1000:0.1:9", 0, BENCH_SIZE, 0},
    {"log 1e5", "log", logarithm, "f32:100000:0.1:9", 0, BENCH_SIZE, 0},
    {"log 1.6e7", "log", logarithm, "f32:16000000:0.1:9", 0, BENCH_SIZE, 0},
    {"log 1e6 bf16", "log", logarithm, "bf16:1000000:0.1:9", 0, BENCH_SIZE, 0},
    {"sin 1e3", "sin", sine, "f32:1000", 0, BENCH_SIZE, 0},
    {"sin 1e5", "sin", sine, "f32:100000", 0, BENCH_SIZE, 0},
    {"sin 1.6e7", "sin", sine, "f32:16000000", 0, BENCH_SIZE, 0},
    {"sin 1e6 bf16", "sin", sine, "bf16:1000000", 0, BENCH_SIZE, 0},
    {"erf 1e3", "erf", error_function, "f32:1000", 0, BENCH_SIZE, 0},
    {"erf 1e5", "erf", error_function, "f32:100000", 0, BENCH_SIZE, 0},
    {"erf 1.6e7", "erf", error_function, "f32:16000000", 0, BENCH_SIZE, 0},
    {"erf 1e6 f64", "erf", error_function, "f64:1000000", 0, BENCH_SIZE, 0},
    {"erf 1e6 bf16", "erf", error_function, "bf16:1000000", 0, BENCH_SIZE, 0},
    {"gelu 1e3", "gelu", bench_gelu, "f32:1000", 0, BENCH_SIZE, 0},
    {"gelu 1e5", "gelu", bench_gelu, "f32:100000", 0, BENCH_SIZE, 0},
    {"gelu 1.6e7", "gelu", bench_gelu, "f32:16000000", 0, BENCH_SIZE, 0},
    {"gelu 1e6 f64", "gelu", bench_gelu, "f64:1000000", 0, BENCH_SIZE, 0},
    {"gelu 1e6 bf16", "gelu", bench_gelu, "bf16:1000000", 0, BENCH_SIZE, 0},
};

void bench_elementwise(bench_lab *lab) {
  bench_workloads(lab, rows, sizeof rows / sizeof *rows);
  bench_workloads(lab, sizes, sizeof sizes / sizeof *sizes);
}
