/* SPDX-License-Identifier: ISC */
/* Special functions of several operands: zeta, polygamma, igamma, igammac, betainc and gradients of
 * igamma. References are values by mpmath, of arguments that every type of floats has, and limits
 * at the ends. */
#include "../conformance.h"

#include <math.h>
#include <string.h>

typedef enum function {
  ZETA,
  POLYGAMMA,
  IGAMMA,
  IGAMMAC,
  BETAINC,
  IGAMMA_GRAD_A,
  RANDOM_GAMMA_GRAD
} function;
typedef struct known {
  function of;
  double args[3];
  long double value;
} known;

#define INF ((double)INFINITY)
#define NOT ((double)NAN)
static const known values[] = {
    {ZETA, {1.125, 0.5, 0}, 1.014048375787649331074e+1L},
    {ZETA, {1.5, 2, 0}, 1.612375348685488343349L},
    {ZETA, {2, 0.25, 0}, 1.719732915450711073927e+1L},
    {ZETA, {2, 1, 0}, 1.644934066848226436472L},
    {ZETA, {2, 8, 0}, 1.331370146940314251345e-1L},
    {ZETA, {3, -1.5, 0}, 1.181020258208637015019e-1L},
    {ZETA, {2, -2.5, 0}, 9.539246644989123753862L},
    {ZETA, {3, 0.75, 0}, 2.651316608168819815716L},
    {ZETA, {5, 1.5, 0}, 1.447604094444677162723e-1L},
    {ZETA, {6, 3, 0}, 1.718061984449139714518e-3L},
    {ZETA, {10, -0.5, 0}, 2.0480174503557579013e+3L},
    {ZETA, {12, 0.875, 0}, 4.965351227927235733724L},
    {POLYGAMMA, {0, 0.5, 0}, -1.963510026021423479441L},
    {POLYGAMMA, {0, 3, 0}, 9.227843350984671393935e-1L},
    {POLYGAMMA, {1, 0.25, 0}, 1.719732915450711073927e+1L},
    {POLYGAMMA, {1, 1, 0}, 1.644934066848226436472L},
    {POLYGAMMA, {1, -1.5, 0}, 9.379246644989123753862L},
    {POLYGAMMA, {2, 0.5, 0}, -1.68287966442343199956e+1L},
    {POLYGAMMA, {2, 6, 0}, -3.27897322451144967254e-2L},
    {POLYGAMMA, {3, 2.5, 0}, 2.239058488172520512551e-1L},
    {POLYGAMMA, {4, 1.5, 0}, -3.474249826667225190536L},
    {POLYGAMMA, {5, 10, 0}, 3.059451621172682090486e-4L},
    {POLYGAMMA, {8, 0.75, 0}, -5.372603772262009202577e+5L},
    {POLYGAMMA, {12, 14, 0}, -1.051713671932536260855e-6L},
    {IGAMMA, {0.125, 0.25, 0}, 8.696646545502863573364e-1L},
    {IGAMMAC, {0.125, 0.25, 0}, 1.303353454497136426636e-1L},
    {IGAMMA, {0.25, 0.125, 0}, 6.401572060830841110013e-1L},
    {IGAMMAC, {0.25, 0.125, 0}, 3.598427939169158889987e-1L},
    {IGAMMA, {0.5, 0.5, 0}, 6.826894921370858971705e-1L},
    {IGAMMAC, {0.5, 0.5, 0}, 3.173105078629141028295e-1L},
    {IGAMMA, {0.5, 3, 0}, 9.856941215645703604742e-1L},
    {IGAMMAC, {0.5, 3, 0}, 1.430587843542963952585e-2L},
    {IGAMMA, {1, 1.5, 0}, 7.768698398515701710667e-1L},
    {IGAMMAC, {1, 1.5, 0}, 2.231301601484298289333e-1L},
    {IGAMMA, {1.5, 0.75, 0}, 3.177296696637874286825e-1L},
    {IGAMMAC, {1.5, 0.75, 0}, 6.822703303362125713175e-1L},
    {IGAMMA, {3, 2, 0}, 3.2332358381693654053e-1L},
    {IGAMMAC, {3, 2, 0}, 6.7667641618306345947e-1L},
    {IGAMMA, {5, 8, 0}, 9.0036759951295398387e-1L},
    {IGAMMAC, {5, 8, 0}, 9.963240048704601612995e-2L},
    {IGAMMA, {14, 14, 0}, 5.355524351031433641995e-1L},
    {IGAMMAC, {14, 14, 0}, 4.644475648968566358005e-1L},
    {IGAMMA, {20, 24, 0}, 8.19739485829808036092e-1L},
    {IGAMMAC, {20, 24, 0}, 1.80260514170191963908e-1L},
    {IGAMMA, {28, 20, 0}, 5.24807132282664163165e-2L},
    {IGAMMAC, {28, 20, 0}, 9.475192867717335836835e-1L},
    {IGAMMA, {30, 9, 0}, 2.76541842311017377458e-8L},
    {IGAMMAC, {30, 9, 0}, 9.999999723458157688983e-1L},
    {BETAINC, {0.5, 0.5, 0.25}, 3.333333333333333333333e-1L},
    {BETAINC, {0.25, 0.125, 0.875}, 4.587342714767541560722e-1L},
    {BETAINC, {1, 2, 0.5}, 7.5e-1L},
    {BETAINC, {2, 0.5, 0.75}, 3.125e-1L},
    {BETAINC, {3, 5, 0.125}, 4.6309947967529296875e-2L},
    {BETAINC, {8, 8, 0.5}, 5.0e-1L},
    {BETAINC, {12, 3, 0.875}, 7.490203538141031458508e-1L},
    {BETAINC, {20, 28, 0.375}, 2.833636004674447279258e-1L},
    {BETAINC, {0.5, 14, 0.0625}, 8.172695086467246319162e-1L},
    {BETAINC, {30, 1.5, 0.75}, 5.846286560572278030792e-4L},
    {BETAINC, {1, 1, 0.625}, 6.25e-1L},
    {BETAINC, {6, 0.75, 0.9375}, 5.500963584781857207417e-1L},
    {ZETA, {1, 3, 0}, INFINITY},
    {ZETA, {0.5, 3, 0}, NAN},
    {ZETA, {2, 0, 0}, INFINITY},
    {ZETA, {3, -2, 0}, NAN},
    {ZETA, {1.5, -0.5, 0}, NAN},
    {ZETA, {2, INF, 0}, 0},
    {ZETA, {INF, 1, 0}, 1},
    {ZETA, {NOT, 2, 0}, NAN},
    {POLYGAMMA, {0, 0, 0}, -INFINITY},
    {POLYGAMMA, {1, 0, 0}, INFINITY},
    {POLYGAMMA, {2, -3, 0}, NAN},
    {POLYGAMMA, {1.5, 2, 0}, NAN},
    {POLYGAMMA, {-1, 2, 0}, NAN},
    {POLYGAMMA, {3, INF, 0}, 0},
    {POLYGAMMA, {2, NOT, 0}, NAN},
    {IGAMMA, {2, 0, 0}, 0},
    {IGAMMA, {0, 2, 0}, 1},
    {IGAMMA, {2, INF, 0}, 1},
    {IGAMMA, {INF, 2, 0}, 0},
    {IGAMMA, {0, 0, 0}, NAN},
    {IGAMMA, {INF, INF, 0}, NAN},
    {IGAMMA, {-1, 2, 0}, NAN},
    {IGAMMA, {2, -1, 0}, NAN},
    {IGAMMAC, {2, 0, 0}, 1},
    {IGAMMAC, {0, 2, 0}, 0},
    {IGAMMAC, {2, INF, 0}, 0},
    {IGAMMAC, {INF, 2, 0}, 1},
    {IGAMMAC, {2, NOT, 0}, NAN},
    {BETAINC, {2, 3, 0}, 0},
    {BETAINC, {2, 3, 1}, 1},
    {BETAINC, {0, 2, 0.5}, 1},
    {BETAINC, {2, 0, 0.5}, 0},
    {BETAINC, {INF, 2, 0.5}, 0},
    {BETAINC, {2, INF, 0.5}, 1},
    {BETAINC, {0, 0, 0.5}, NAN},
    {BETAINC, {2, 3, 1.5}, NAN},
    {BETAINC, {-1, 3, 0.5}, NAN},
    {BETAINC, {2, 3, NOT}, NAN},
    {IGAMMA_GRAD_A, {0.125, 0.25, 0}, -1.032454004985099635825L},
    {IGAMMA_GRAD_A, {0.25, 0.125, 0}, -1.236078280675297495685L},
    {IGAMMA_GRAD_A, {0.5, 0.5, 0}, -0.64720035237775387665L},
    {IGAMMA_GRAD_A, {0.5, 3, 0}, -0.04724032644797375091583L},
    {IGAMMA_GRAD_A, {1, 1.5, 0}, -0.3192853006630692182252L},
    {IGAMMA_GRAD_A, {1.5, 0.75, 0}, -0.3553557824818451386586L},
    {IGAMMA_GRAD_A, {3, 2, 0}, -0.2318486720439895915235L},
    {IGAMMA_GRAD_A, {5, 8, 0}, -0.07418402773712907685864L},
    {IGAMMA_GRAD_A, {14, 14, 0}, -0.1072595592058500413604L},
    {IGAMMA_GRAD_A, {20, 24, 0}, -0.05734028534880216220028L},
    {IGAMMA_GRAD_A, {28, 20, 0}, -0.02149818384180535013636L},
    {IGAMMA_GRAD_A, {30, 9, 0}, -3.410212829587651967611e-8L},
    {RANDOM_GAMMA_GRAD, {0.125, 0.25, 0}, 2.969368456234312812404L},
    {RANDOM_GAMMA_GRAD, {0.25, 0.125, 0}, 1.067570023066575212007L},
    {RANDOM_GAMMA_GRAD, {0.5, 0.5, 0}, 1.337352594335334685534L},
    {RANDOM_GAMMA_GRAD, {0.5, 3, 0}, 2.912942416440364565813L},
    {RANDOM_GAMMA_GRAD, {1, 1.5, 0}, 1.430937442301280196501L},
    {RANDOM_GAMMA_GRAD, {1.5, 0.75, 0}, 0.7698366044902239065409L},
    {RANDOM_GAMMA_GRAD, {3, 2, 0}, 0.8565714220978067174079L},
    {RANDOM_GAMMA_GRAD, {5, 8, 0}, 1.295739081995625173453L},
    {RANDOM_GAMMA_GRAD, {14, 14, 0}, 1.011986239158818083591L},
    {RANDOM_GAMMA_GRAD, {20, 24, 0}, 1.103083641690321785865L},
    {RANDOM_GAMMA_GRAD, {28, 20, 0}, 0.8461830438907856494507L},
    {RANDOM_GAMMA_GRAD, {30, 9, 0}, 0.518725821947132573086L},
    {IGAMMA_GRAD_A, {2, 0, 0}, 0},
    {IGAMMA_GRAD_A, {2, INF, 0}, 0},
    {IGAMMA_GRAD_A, {INF, 2, 0}, 0},
    {IGAMMA_GRAD_A, {INF, INF, 0}, NAN},
    {IGAMMA_GRAD_A, {0, 2, 0}, NAN},
    {IGAMMA_GRAD_A, {-1, 2, 0}, NAN},
    {IGAMMA_GRAD_A, {2, -1, 0}, NAN},
    {IGAMMA_GRAD_A, {NOT, 2, 0}, NAN},
    {RANDOM_GAMMA_GRAD, {2, 0, 0}, 0},
    {RANDOM_GAMMA_GRAD, {2, INF, 0}, INFINITY},
    {RANDOM_GAMMA_GRAD, {INF, 2, 0}, 0},
    {RANDOM_GAMMA_GRAD, {INF, INF, 0}, NAN},
    {RANDOM_GAMMA_GRAD, {0, 2, 0}, NAN},
    {RANDOM_GAMMA_GRAD, {2, -1, 0}, NAN},
    {RANDOM_GAMMA_GRAD, {2, NOT, 0}, NAN},
};
enum { VALUES = sizeof values / sizeof *values };

static nx_tensor *apply(function f, nx_tensor *const *x) {
  switch (f) {
    case ZETA: return nx_zeta(x[0], x[1]);
    case POLYGAMMA: return nx_polygamma(x[0], x[1]);
    case IGAMMA: return nx_igamma(x[0], x[1]);
    case IGAMMAC: return nx_igammac(x[0], x[1]);
    case IGAMMA_GRAD_A: return nx_igamma_grad_a(x[0], x[1]);
    case RANDOM_GAMMA_GRAD: return nx_random_gamma_grad(x[0], x[1]);
    default: return nx_betainc(x[0], x[1], x[2]);
  }
}

static function function_of(const trial *t) { return *(const function *)t->op->detail; }

/* f64: units of its last place, by docs/math.md; all others are rounded from what is closer, small
 * ones twice. */
static double bound_of(const trial *t) {
  if (t->format->precision < 53) return 0.52;
  return function_of(t) == BETAINC ? 100 : 24;
}

/* The values in this layout, over and over. Where the type lacks an argument it is NaN. */
static void check_layout(trial *t, layout l) {
  static const int64_t shape[] = {6, 14};
  const function f = function_of(t);
  array *want = new_array(t, t->dtype, 2, shape);
  value *exact = room(t, want->n * sizeof *exact);
  size_t row = 0;
  array *args[] = {new_array(t, t->dtype, 2, shape), new_array(t, t->dtype, 2, shape),
                   new_array(t, t->dtype, 2, shape)};
  for (size_t i = 0; i < want->n; i++, row++) {
    while (values[row % VALUES].of != f) row++;
    exact[i] = (value){values[row % VALUES].value, 0};
    for (int k = 0; k < 3; k++) {
      args[k]->at[i] = encode_real(t->dtype, values[row % VALUES].args[k]);
      if (decode(t->dtype, args[k]->at[i]).re == (long double)values[row % VALUES].args[k])
        continue;
      args[k]->at[i] = encode_real(t->dtype, NAN);
      exact[i].re = NAN;
    }
  }
  nx_tensor *x[] = {laid_out(t, args[0], l), laid_out(t, args[1], l), laid_out(t, args[2], l)};
  expect_near(t, apply(f, x), want, exact, NEAR, bound_of(t), NULL, NULL, layout_names[l]);
}

/* A row of first operands beside a column of second ones. */
static void check_broadcast(trial *t) {
  static const int64_t row[] = {1, 2}, column[] = {3, 1}, one[] = {1}, all[] = {3, 2};
  const function f = function_of(t);
  const double first[] = {1, 2}, second[] = {2, 3, 4};
  array *a = new_array(t, t->dtype, 2, row), *b = new_array(t, t->dtype, 2, column),
        *c = new_array(t, t->dtype, 1, one);
  array *x[] = {new_array(t, t->dtype, 2, all), new_array(t, t->dtype, 2, all),
                new_array(t, t->dtype, 2, all)};
  for (int i = 0; i < 2; i++) a->at[i] = encode_real(t->dtype, first[i]);
  for (int i = 0; i < 3; i++) b->at[i] = encode_real(t->dtype, second[i]);
  c->at[0] = encode_real(t->dtype, 0.5);
  for (size_t i = 0; i < 6; i++) {
    x[0]->at[i] = a->at[i % 2];
    x[1]->at[i] = b->at[i / 2];
    x[2]->at[i] = c->at[0];
  }
  nx_tensor *given[] = {tensor_of(t, a), tensor_of(t, b), tensor_of(t, c)},
            *whole[] = {tensor_of(t, x[0]), tensor_of(t, x[1]), tensor_of(t, x[2])};
  array *want = result_of(t, apply(f, whole), t->dtype, 2, all, "operands of one shape");
  if (want) expect(t, apply(f, given), want, SAME, "operands that are broadcast");
}

static void check(trial *t) {
  const function f = function_of(t);
  for (layout l = 0; l < BROADCAST; l++)
    if (is_due(t, l, BROADCAST)) check_layout(t, l);
  check_broadcast(t);
  const int64_t three[] = {3}, four[] = {4};
  nx_tensor *x = tensor_of(t, tame_values(t, t->dtype, 1, three, 1)),
            *y = tensor_of(t, tame_values(t, t->dtype, 1, four, 1));
  nx_tensor *null[] = {x, NULL, x}, *apart[] = {x, y, x};
  expect_refusal(t, apply(f, null), NX_INVALID_ARGUMENT, "a null operand");
  expect_refusal(t, apply(f, apart), NX_INVALID_ARGUMENT, "shapes [3] and [4]");
}

static nx_tensor *record(trial *t, nx_dtype dtype) {
  static const int64_t shape[] = {3};
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 1, shape, 1)), *all[] = {x, x, x};
  return apply(function_of(t), all);
}

#define ROW(name, f) {name, F, check, record, &(const function){f}, 0, NULL}
static const operation table[] = {ROW("zeta", ZETA),
                                  ROW("polygamma", POLYGAMMA),
                                  ROW("igamma", IGAMMA),
                                  ROW("igammac", IGAMMAC),
                                  ROW("betainc", BETAINC),
                                  ROW("igamma_grad_a", IGAMMA_GRAD_A),
                                  ROW("random_gamma_grad", RANDOM_GAMMA_GRAD)};
const family incomplete_family = {"Special functions of several operands", table,
                                  sizeof table / sizeof *table};
