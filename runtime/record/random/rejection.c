/* SPDX-License-Identifier: ISC */
/* Distributions by rejection: a loop draws a proposal for all elements with the key of its step and
 * keeps those that are accepted, until no element waits. About one proposal in ten is rejected or
 * less, so that a few dozen steps do for any number of elements; MOST_STEPS is never reached by
 * chance. */
#include <math.h>

#include "nx/control.h"
#include "nx/bits.h"
#include "nx/number.h"
#include "nx/random.h"
#include "nx/special.h"
#include "uniform.h"

enum { MOST_STEPS = 10000, MOST_CARRIED = 3, MOST_GIVEN = 4 };

/* What a loop is made of: arrays of one shape and dtype. `carried` change from step to step, and
 * stay where an element does not wait any more; `given` do not. */
typedef struct rejection {
  nxi_draw *d;
  nx_dtype t;
  const int64_t *shape;
  int32_t rank;
  int n_carried, n_given;
  nx_tensor *carried[MOST_CARRIED], *given[MOST_GIVEN];
  /* One step: what the carried ones become; returns where it is the last one. */
  nx_tensor *(*step)(const struct rejection *r, nx_tensor *key, nx_tensor *const *is,
                     nx_tensor *const *given, nx_tensor **becomes);
} rejection;

static bool all_there(nx_tensor *const *t, int n) {
  for (int i = 0; i < n; i++)
    if (!t[i]) return false;
  return true;
}

/* Inputs of both functions: number of the step, who waits, carried; key, given. */
static int inputs(const rejection *r, nx_tensor **in) {
  nx_context *c = r->d->context;
  int n = 0, arrays = r->n_carried + r->n_given;
  in[n++] = nx_placeholder(c, r->d->device, NX_U32, NULL, 0);
  in[n++] = nx_placeholder(c, r->d->device, NX_BOOL, r->shape, r->rank);
  for (int i = 0; i < arrays; i++) {
    if (i == r->n_carried) in[n++] = nx_placeholder(c, r->d->device, NX_U32, NX_SHAPE(2));
    in[n++] = nx_placeholder(c, r->d->device, r->t, r->shape, r->rank);
  }
  return n;
}

static nx_function *waiting(const rejection *r) {
  nx_tensor *in[MOST_CARRIED + MOST_GIVEN + 3];
  int32_t axes[NXG_MAX_RANK];
  nx_function *f = NULL;
  int n = inputs(r, in);
  for (int32_t i = 0; i < r->rank; i++) axes[i] = i;
  nx_tensor *any = r->rank ? nx_reduce_max(in[1], axes, (size_t)r->rank, 0) : nx_copy(in[1]);
  if (!all_there(in, n) || !any ||
      nx_function_create(r->d->context, in, (size_t)n, &any, 1, NULL, &f) != NX_OK)
    nx_capture_end(r->d->context);
  return f;
}

static nx_function *step_of(const rejection *r) {
  nx_tensor *in[MOST_CARRIED + MOST_GIVEN + 3], *out[MOST_CARRIED + 2] = {NULL},
                                                                    *becomes[MOST_CARRIED] = {NULL};
  nx_function *f = NULL;
  int n = inputs(r, in), n_out = r->n_carried + 2;
  nx_tensor *const *is = in + 2, *key = in[2 + r->n_carried], *const *given = is + r->n_carried + 1;
  nx_tensor *last =
      all_there(in, n) ? r->step(r, nx_random_fold_in(key, in[0]), is, given, becomes) : NULL;
  out[0] = nx_binary_i64(in[0], NX_BINARY_ADD, 1);
  out[1] = nx_and(in[1], nx_not(last));
  for (int i = 0; i < r->n_carried; i++) out[2 + i] = nx_where(in[1], becomes[i], is[i]);
  if (!all_there(out, n_out) ||
      nx_function_create(r->d->context, in, (size_t)n, out, (size_t)n_out, NULL, &f) != NX_OK)
    nx_capture_end(r->d->context);
  return f;
}

/* Runs the loop for the elements where `wait` is true. False: reported. */
static bool repeat(const rejection *r, nx_tensor *key, nx_tensor *wait, nx_tensor **result) {
  nx_tensor *init[MOST_CARRIED + 2], *given[MOST_GIVEN + 1], *out[MOST_CARRIED + 2] = {NULL};
  nx_loop_options o = {.size = sizeof o, .max_steps = MOST_STEPS};
  int n = 0, m = 0;
  init[n++] = nx_full_i64(r->d->context, r->d->device, NX_U32, NULL, 0, 0);
  init[n++] = wait;
  for (int i = 0; i < r->n_carried; i++) init[n++] = r->carried[i];
  given[m++] = nx_bitcast(key, NX_U32);
  for (int i = 0; i < r->n_given; i++) given[m++] = r->given[i];
  if (!all_there(init, n) || !all_there(given, m)) return false;
  nx_function *on = waiting(r), *step = on ? step_of(r) : NULL;
  bool good =
      step && nx_while(on, step, init, (size_t)n, given, (size_t)m, &o, out, (size_t)n) == NX_OK;
  nx_function_release(on);
  nx_function_release(step);
  for (int i = 0; good && i < r->n_carried; i++) result[i] = out[2 + i];
  return good;
}

static nx_tensor *uniform(const rejection *r, nx_tensor *key, int64_t stream) {
  return nxi_random_open(nxi_draw_stream(r->d, key, stream), r->t, r->shape, r->rank);
}
static nx_tensor *plus(nx_tensor *x, double y) { return nx_binary_f64(x, NX_BINARY_ADD, y); }
static nx_tensor *times(nx_tensor *x, double y) { return nx_binary_f64(x, NX_BINARY_MUL, y); }

/* ---- gamma */

/* given: d, c. One proposal: d v, where v = (1 + c x)^3 of a normal x. */
static nx_tensor *gamma_step(const rejection *r, nx_tensor *key, nx_tensor *const *is,
                             nx_tensor *const *given, nx_tensor **becomes) {
  (void)is;
  nx_tensor *two_u = plus(times(uniform(r, key, 0), 2), -1), *x = nxi_random_probit(two_u),
            *root = plus(nx_mul(given[1], x), 1), *v = nx_mul(nx_mul(root, root), root),
            *square = times(nx_mul(x, x), 0.5), *scaled = nx_mul(given[0], v);
  /* log u < x^2 / 2 + d (1 - v + log v) */
  nx_tensor *bound = nx_add(square, nx_mul(given[0], nx_add(plus(nx_neg(v), 1), nx_log(v)))),
            *below = nx_cmplt(nx_log(uniform(r, key, 1)), bound);
  becomes[0] = scaled;
  return nx_and(nx_binary_f64(root, NX_BINARY_CMPGT, 0), below);
}

/* Gamma numbers as factor exp(boost): of alpha below 1 the number of alpha + 1 times u^(1 / alpha).
 * alpha is of the shape, f32 or f64. False: reported. */
static bool gamma_parts(nxi_draw *d, nx_tensor *key, nx_tensor *alpha, const int64_t *shape,
                        int32_t rank, nx_tensor **factor, nx_tensor **boost) {
  nx_dtype t = alpha->storage->dtype;
  rejection r = {.d = d, .t = t, .shape = shape, .rank = rank, .n_carried = 1, .n_given = 2};
  nx_tensor *small = nx_binary_f64(alpha, NX_BINARY_CMPLT, 1),
            *raised = nx_add(alpha, nx_cast(small, t)), *nan = nxi_draw_number(d, t, NAN),
            *good = nx_and(nx_binary_f64(alpha, NX_BINARY_CMPGE, 0),
                           nx_binary_f64(alpha, NX_BINARY_CMPLT, INFINITY));
  r.given[0] = plus(raised, -1.0 / 3);
  r.given[1] = nx_rsqrt(times(r.given[0], 9));
  /* who does not wait has its result: infinity of infinity, else NaN */
  r.carried[0] = nx_where(nx_binary_f64(alpha, NX_BINARY_CMPEQ, INFINITY), alpha, nan);
  r.step = gamma_step;
  if (!repeat(&r, nxi_draw_stream(d, key, 0), good, factor)) return false;
  nx_tensor *u = uniform(&r, nxi_draw_stream(d, key, 1), 0);
  *boost = nx_where(small, nx_div(nx_log(u), alpha), nxi_draw_number(d, t, 0));
  return *factor && *boost;
}

nx_tensor *nx_random_gamma(nx_tensor *key, nx_tensor *alpha, const int64_t *shape, int32_t rank) {
  nxi_draw d;
  nx_tensor *factor, *boost, *x = NULL;
  if (!nxi_draw_parameter("random_gamma", 1, alpha) ||
      !nxi_draw_begin(&d, NXI_COMPOSITE_random_gamma, key, shape, rank, NULL))
    return NULL;
  nx_dtype dtype = alpha->storage->dtype, t = nxi_draw_compute(dtype);
  nx_tensor *a = nxi_draw_spread(alpha, t, shape, rank);
  if (a && gamma_parts(&d, key, a, shape, rank, &factor, &boost))
    x = nx_cast(nx_mul(factor, nx_exp(boost)), dtype);
  return nxi_draw_end(&d, x);
}

/* The logarithm of a gamma number: small ones of small alpha are below the least float. */
static nx_tensor *log_gamma(nxi_draw *d, nx_tensor *key, nx_tensor *alpha, nx_dtype t,
                            const int64_t *shape, int32_t rank) {
  nx_tensor *factor, *boost, *a = nxi_draw_spread(alpha, t, shape, rank);
  if (!a || !gamma_parts(d, key, a, shape, rank, &factor, &boost)) return NULL;
  return nx_add(nx_log(factor), boost);
}

nx_tensor *nx_random_beta(nx_tensor *key, nx_tensor *a, nx_tensor *b, const int64_t *shape,
                          int32_t rank) {
  nxi_draw d;
  if (!nxi_draw_parameter("random_beta", 1, a) || !nxi_draw_parameter("random_beta", 2, b) ||
      !nxi_draw_same("random_beta", a, b) ||
      !nxi_draw_begin(&d, NXI_COMPOSITE_random_beta, key, shape, rank, NULL))
    return NULL;
  nx_dtype dtype = a->storage->dtype, t = nxi_draw_compute(dtype);
  nx_tensor *x = log_gamma(&d, nxi_draw_stream(&d, key, 0), a, t, shape, rank),
            *y = x ? log_gamma(&d, nxi_draw_stream(&d, key, 1), b, t, shape, rank) : NULL;
  return nxi_draw_end(&d, y ? nx_cast(nx_logistic(nx_sub(x, y)), dtype) : NULL);
}

nx_tensor *nx_random_dirichlet(nx_tensor *key, nx_tensor *alpha, const int64_t *shape,
                               int32_t rank) {
  nxi_draw d;
  if (!nxi_draw_parameter("random_dirichlet", 1, alpha)) return NULL;
  if (rank < 1) {
    nxi_diag diag;
    nxi_diag_clear(&diag);
    nxi_fail(&diag, NX_INVALID_ARGUMENT, "random_dirichlet",
             "random_dirichlet: the shape has no axis that could add up to 1");
    return nxi_fail_null(&diag);
  }
  if (!nxi_draw_begin(&d, NXI_COMPOSITE_random_dirichlet, key, shape, rank, NULL)) return NULL;
  nx_dtype dtype = alpha->storage->dtype, t = nxi_draw_compute(dtype);
  int32_t last = rank - 1;
  nx_tensor *x = log_gamma(&d, key, alpha, t, shape, rank),
            *most = nx_reduce_max(x, &last, 1, NX_KEEPDIMS), *e = nx_exp(nx_sub(x, most)),
            *share = nx_div(e, nx_reduce_sum(e, &last, 1, NX_KEEPDIMS));
  return nxi_draw_end(&d, nx_cast(share, dtype));
}

nx_tensor *nx_random_chi_square(nx_tensor *key, nx_tensor *degrees, const int64_t *shape,
                                int32_t rank) {
  nxi_draw d;
  if (!nxi_draw_parameter("random_chi_square", 1, degrees) ||
      !nxi_draw_begin(&d, NXI_COMPOSITE_random_chi_square, key, shape, rank, NULL))
    return NULL;
  nx_tensor *half = times(degrees, 0.5), *x = times(nx_random_gamma(key, half, shape, rank), 2);
  return nxi_draw_end(&d, x);
}

nx_tensor *nx_random_student_t(nx_tensor *key, nx_tensor *degrees, const int64_t *shape,
                               int32_t rank) {
  nxi_draw d;
  if (!nxi_draw_parameter("random_student_t", 1, degrees) ||
      !nxi_draw_begin(&d, NXI_COMPOSITE_random_student_t, key, shape, rank, NULL))
    return NULL;
  nx_dtype dtype = degrees->storage->dtype, t = nxi_draw_compute(dtype);
  nx_tensor *n = nxi_draw_spread(degrees, t, shape, rank),
            *x = nx_random_normal(nxi_draw_stream(&d, key, 0), t, shape, rank),
            *y = nx_random_gamma(nxi_draw_stream(&d, key, 1), times(n, 0.5), shape, rank);
  return nxi_draw_end(&d, nx_cast(nx_mul(x, nx_sqrt(nx_div(times(n, 0.5), y))), dtype));
}

/* ---- counts, which are computed in f64 */

/* Means from which logarithms of factorials, of some 2^30 here, would leave few digits of their
 * differences. */
enum { FAR = 1 << 24 };
static const double log_2_pi = 1.8378770664093453;

/* c[0] + c[1] x + .. */
static nx_tensor *polynomial(nx_tensor *x, const double *c, int n) {
  nx_tensor *sum = times(x, c[n - 1]);
  for (int i = n - 2; i > 0; i--) sum = nx_mul(plus(sum, c[i]), x);
  return plus(sum, c[0]);
}

/* mean ((1 + e) log(1 + e) - e), how much less probable a count is that is e away, relative to the
 * mean. That is beyond all proposals from 1 / 10 on: infinite. */
static nx_tensor *deviance(nx_tensor *mean, nx_tensor *e) {
  static const double series[] = {1. / 2,   -1. / 6, 1. / 12,  -1. / 20, 1. / 30,
                                  -1. / 42, 1. / 56, -1. / 72, 1. / 90,  -1. / 110};
  nx_tensor *near = nx_binary_f64(nx_abs(e), NX_BINARY_CMPLT, 0.1),
            *sum = nx_mul(nx_mul(mean, nx_mul(e, e)), polynomial(e, series, 10));
  return nx_where(near, sum, nx_binary_f64(nx_abs(sum), NX_BINARY_MUL, INFINITY));
}

/* log(1 + e) of the e that a deviance is not too large for. */
static nx_tensor *log_near_one(nx_tensor *e) {
  static const double series[] = {1, -1. / 2, 1. / 3, -1. / 4, 1. / 5};
  return nx_mul(e, polynomial(e, series, 5));
}

/* The logarithm of the probability of k. */
static nx_tensor *poisson_bound(nx_tensor *lambda, nx_tensor *k) {
  nx_tensor *e = nx_div(nx_sub(k, lambda), lambda), *log = nx_log(lambda);
  nx_tensor *bound = nx_sub(nx_sub(nx_mul(k, log), lambda), nx_lgamma(plus(k, 1))),
            *away = deviance(lambda, e),
            *rest = times(plus(nx_add(log, log_near_one(e)), log_2_pi), 0.5);
  return nx_where(nx_binary_f64(lambda, NX_BINARY_CMPGE, FAR), nx_neg(nx_add(away, rest)), bound);
}

/* In i64; -1 where the parameters are outside of their range. */
static nx_tensor *counted(nxi_draw *d, nx_tensor *k, nx_tensor *good) {
  return nx_where(good, nx_cast(k, NX_I64),
                  nx_full_i64(d->context, d->device, NX_I64, NULL, 0, -1));
}

/* Below 10: given[0] is lambda, carried a count and a product. From 10 on: transformed rejection
 * with a table of constants (Hoermann 1993, PTRS). */
static nx_tensor *poisson_step(const rejection *r, nx_tensor *key, nx_tensor *const *is,
                               nx_tensor *const *given, nx_tensor **becomes) {
  nx_tensor *lambda = given[0], *few = nx_binary_f64(lambda, NX_BINARY_CMPLT, 10),
            *v = uniform(r, key, 1), *u = plus(uniform(r, key, 0), -0.5);
  nx_tensor *product = nx_mul(is[1], v), *ends = nx_cmple(product, nx_exp(nx_neg(lambda)));
  nx_tensor *b = plus(times(nx_sqrt(lambda), 2.53), 0.931), *a = plus(times(b, 0.02483), -0.059),
            *slope = plus(nx_f64_binary(1.1328, NX_BINARY_DIV, plus(b, -3.4)), 1.1239),
            *quick = nx_f64_binary(0.9277, NX_BINARY_SUB,
                                   nx_f64_binary(3.6224, NX_BINARY_DIV, plus(b, -2))),
            *us = nx_f64_binary(0.5, NX_BINARY_SUB, nx_abs(u));
  nx_tensor *k =
      nx_floor(plus(nx_add(nx_mul(nx_add(nx_div(times(a, 2), us), b), u), lambda), 0.43));
  nx_tensor *height = nx_log(nx_div(nx_mul(v, slope), nx_add(nx_div(a, nx_mul(us, us)), b))),
            *bound = poisson_bound(lambda, k);
  nx_tensor *inside = nx_and(nx_binary_f64(us, NX_BINARY_CMPGE, 0.07), nx_cmple(v, quick)),
            *outside = nx_or(nx_binary_f64(k, NX_BINARY_CMPLT, 0),
                             nx_and(nx_binary_f64(us, NX_BINARY_CMPLT, 0.013), nx_cmplt(us, v))),
            *taken = nx_or(inside, nx_and(nx_not(outside), nx_cmple(height, bound)));
  becomes[0] = nx_where(few, nx_add(is[0], nx_cast(nx_not(ends), r->t)), k);
  becomes[1] = product;
  return nx_where(few, ends, taken);
}

nx_tensor *nx_random_poisson(nx_tensor *key, nx_tensor *lambda, const int64_t *shape,
                             int32_t rank) {
  nxi_draw d;
  nx_tensor *k = NULL, *results[2] = {NULL};
  if (!nxi_draw_parameter("random_poisson", 1, lambda) ||
      !nxi_draw_begin(&d, NXI_COMPOSITE_random_poisson, key, shape, rank, NULL))
    return NULL;
  rejection r = {.d = &d, .t = NX_F64, .shape = shape, .rank = rank, .n_carried = 2, .n_given = 1};
  nx_tensor *l = nxi_draw_spread(lambda, NX_F64, shape, rank),
            *good = nx_and(nx_binary_f64(l, NX_BINARY_CMPGE, 0),
                           nx_binary_f64(l, NX_BINARY_CMPLE, 9007199254740992.0));
  r.given[0] = l;
  r.carried[0] = nx_full_f64(d.context, d.device, NX_F64, shape, rank, 0);
  r.carried[1] = nx_full_f64(d.context, d.device, NX_F64, shape, rank, 1);
  r.step = poisson_step;
  if (good && repeat(&r, key, good, results)) k = counted(&d, results[0], good);
  return nxi_draw_end(&d, k);
}

/* The logarithm of the probability of k over that of the mode m: given as of binomial_step. */
static nx_tensor *binomial_bound(nx_tensor *const *given, nx_tensor *q, nx_tensor *m,
                                 nx_tensor *k) {
  nx_tensor *n = given[0], *p = given[1], *mean = nx_mul(n, p), *others = nx_mul(n, q);
  nx_tensor *less = nx_add(nx_lgamma(plus(k, 1)), nx_lgamma(plus(nx_sub(n, k), 1))),
            *bound = nx_add(nx_sub(given[2], less), nx_mul(nx_sub(k, m), nx_log(nx_div(p, q))));
  nx_tensor *e = nx_div(nx_sub(k, mean), mean), *back = nx_div(nx_sub(mean, k), others),
            *away = nx_add(deviance(mean, e), deviance(others, back)),
            *rest = times(nx_add(log_near_one(e), log_near_one(back)), 0.5);
  return nx_where(nx_binary_f64(mean, NX_BINARY_CMPGE, FAR), nx_neg(nx_add(away, rest)), bound);
}

/* given: n, p <= 1/2, the mode's logarithm. Below 10 expected successes: carried are a count and
 * how many trials are over, and a step waits for the next success. From 10 on: transformed
 * rejection (Hoermann 1993, BTRS). */
static nx_tensor *binomial_step(const rejection *r, nx_tensor *key, nx_tensor *const *is,
                                nx_tensor *const *given, nx_tensor **becomes) {
  nx_tensor *n = given[0], *p = given[1], *few = nx_binary_f64(nx_mul(n, p), NX_BINARY_CMPLT, 10),
            *v = uniform(r, key, 1), *u = plus(uniform(r, key, 0), -0.5),
            *q = nx_f64_binary(1, NX_BINARY_SUB, p);
  nx_tensor *gap = plus(nx_floor(nx_div(nx_log(v), nx_log1p(nx_neg(p)))), 1),
            *over = nx_add(is[1], gap), *ends = nx_cmplt(n, over);
  nx_tensor *deviation = nx_sqrt(nx_mul(nx_mul(n, p), q)), *b = plus(times(deviation, 2.53), 1.15),
            *a = nx_add(plus(times(b, 0.0248), -0.0873), times(p, 0.01)),
            *quick = nx_f64_binary(0.92, NX_BINARY_SUB, nx_f64_binary(4.2, NX_BINARY_DIV, b)),
            *alpha = nx_mul(plus(nx_f64_binary(5.1, NX_BINARY_DIV, b), 2.83), deviation),
            *us = nx_f64_binary(0.5, NX_BINARY_SUB, nx_abs(u));
  nx_tensor *k =
      nx_floor(nx_add(nx_mul(nx_add(nx_div(times(a, 2), us), b), u), plus(nx_mul(n, p), 0.5)));
  nx_tensor *height = nx_log(nx_div(nx_mul(v, alpha), nx_add(nx_div(a, nx_mul(us, us)), b))),
            *m = nx_floor(nx_mul(plus(n, 1), p)), *bound = binomial_bound(given, q, m, k);
  nx_tensor *inside = nx_and(nx_binary_f64(us, NX_BINARY_CMPGE, 0.07), nx_cmple(v, quick)),
            *possible = nx_and(nx_binary_f64(k, NX_BINARY_CMPGE, 0), nx_cmple(k, n)),
            *taken = nx_and(possible, nx_or(inside, nx_cmple(height, bound)));
  becomes[0] = nx_where(few, nx_add(is[0], nx_cast(nx_not(ends), r->t)), k);
  becomes[1] = over;
  return nx_where(few, ends, taken);
}

nx_tensor *nx_random_binomial(nx_tensor *key, nx_tensor *n, nx_tensor *p, const int64_t *shape,
                              int32_t rank) {
  nxi_draw d;
  nx_tensor *k = NULL, *results[2] = {NULL};
  if (!nxi_draw_parameter("random_binomial", 1, n) ||
      !nxi_draw_parameter("random_binomial", 2, p) || !nxi_draw_same("random_binomial", n, p) ||
      !nxi_draw_begin(&d, NXI_COMPOSITE_random_binomial, key, shape, rank, NULL))
    return NULL;
  rejection r = {.d = &d, .t = NX_F64, .shape = shape, .rank = rank, .n_carried = 2, .n_given = 3};
  nx_tensor *trials = nxi_draw_spread(n, NX_F64, shape, rank),
            *chance = nxi_draw_spread(p, NX_F64, shape, rank),
            *often = nx_binary_f64(chance, NX_BINARY_CMPGT, 0.5),
            *rarely = nx_where(often, nx_f64_binary(1, NX_BINARY_SUB, chance), chance),
            *m = nx_floor(nx_mul(plus(trials, 1), rarely));
  nx_tensor *good = nx_and(nx_binary_f64(rarely, NX_BINARY_CMPGE, 0),
                           nx_and(nx_binary_f64(trials, NX_BINARY_CMPGE, 0),
                                  nx_binary_f64(trials, NX_BINARY_CMPLE, 9007199254740992.0)));
  good = nx_and(good, nx_cmpeq(trials, nx_floor(trials)));
  r.given[0] = trials;
  r.given[1] = rarely;
  r.given[2] = nx_add(nx_lgamma(plus(m, 1)), nx_lgamma(plus(nx_sub(trials, m), 1)));
  r.carried[0] = nx_full_f64(d.context, d.device, NX_F64, shape, rank, 0);
  r.carried[1] = r.carried[0];
  r.step = binomial_step;
  if (good && repeat(&r, key, good, results)) {
    nx_tensor *flipped = nx_where(often, nx_sub(trials, results[0]), results[0]);
    k = counted(&d, flipped, good);
  }
  return nxi_draw_end(&d, k);
}

/* ---- one number is enough */

nx_tensor *nx_random_geometric(nx_tensor *key, nx_tensor *p, const int64_t *shape, int32_t rank) {
  nxi_draw d;
  if (!nxi_draw_parameter("random_geometric", 1, p) ||
      !nxi_draw_begin(&d, NXI_COMPOSITE_random_geometric, key, shape, rank, NULL))
    return NULL;
  nx_tensor *chance = nxi_draw_spread(p, NX_F64, shape, rank),
            *u = nxi_random_open(key, NX_F64, shape, rank),
            *k = plus(nx_floor(nx_div(nx_log(u), nx_log1p(nx_neg(chance)))), 1),
            *good = nx_and(nx_binary_f64(chance, NX_BINARY_CMPGT, 0),
                           nx_binary_f64(chance, NX_BINARY_CMPLE, 1));
  return nxi_draw_end(&d, counted(&d, k, good));
}
