/* SPDX-License-Identifier: ISC */
/* Classes and choices: the largest of the logarithms of weights with a Gumbel number each; sums of
 * weights and a search; or an order by random keys. */
#include <math.h>

#include "nx/index.h"
#include "nx/number.h"
#include "nx/random.h"
#include "uniform.h"

nx_tensor *nx_random_categorical(nx_tensor *key, nx_tensor *logits, int32_t axis) {
  nxi_draw d;
  const char *op = "random_categorical";
  if (!nxi_draw_parameter(op, 1, logits) ||
      !nxi_draw_begin(&d, NXI_COMPOSITE_random_categorical, key, nxi_shape(logits), logits->rank,
                      NULL))
    return NULL;
  nx_dtype t = nxi_draw_compute(logits->storage->dtype);
  nx_tensor *noise = nx_random_gumbel(key, t, nxi_shape(logits), logits->rank);
  return nxi_draw_end(&d, nx_reduce_argmax(nx_add(nx_cast(logits, t), noise), axis, 0, NX_I64));
}

static bool check(int64_t m, int64_t n, bool replace, nx_tensor *weights) {
  static const char op[] = "random_choice";
  nxi_diag d;
  nxi_diag_clear(&d);
  if (weights && !nxi_draw_parameter(op, 4, weights)) return false;
  if (n < 0 || m < 0 || (m == 0 && n > 0) || (!replace && n > m))
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: %lld of %lld numbers, %s replacement", op,
             (long long)n, (long long)m, replace ? "with" : "without");
  else if (weights && (weights->rank != 1 || nxi_shape(weights)[0] != m))
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: the weights of %lld numbers are of another shape",
             op, (long long)m);
  if (d.status) nxi_error_report(&d);
  return !d.status;
}

/* The place of u times the sum of all weights among the sums of the first ones. */
static nx_tensor *by_sums(nx_tensor *key, int64_t m, int64_t n, nx_tensor *weights) {
  int64_t start = m - 1, one = 1;
  nx_tensor *sums = nx_associative_scan(nx_cast(weights, NX_F64), NX_SCAN_SUM, 0),
            *all = nx_reshape(nx_shrink(sums, &start, &m, 1), &one, 1, 0),
            *u = nx_mul(nx_random_uniform(key, NX_F64, &n, 1, 0, 1), all),
            *place = nx_searchsorted(sums, u, NULL, NX_AFTER_EQUAL, NX_I64);
  return nx_binary_i64(place, NX_BINARY_MIN, m - 1);
}

/* The first n numbers in the order of random keys. */
static nx_tensor *by_order(nx_tensor *key, int64_t m, int64_t n, nx_tensor *weights) {
  int64_t start = 0;
  nx_tensor *order;
  if (weights) {
    nx_tensor *noise = nx_random_gumbel(key, NX_F64, &m, 1),
              *keys = nx_add(nx_log(nx_cast(weights, NX_F64)), noise);
    order = nx_argsort(keys, 0, NX_DESCENDING, NX_I64);
  } else {
    order = nx_argsort(nx_random_bits(key, NX_U64, &m, 1), 0, 0, NX_I64);
  }
  return nx_copy(nx_shrink(order, &start, &n, 1));
}

nx_tensor *nx_random_choice(nx_tensor *key, int64_t m, int64_t n, bool replace,
                            nx_tensor *weights) {
  nxi_draw d;
  if (!check(m, n, replace, weights) ||
      !nxi_draw_begin(&d, NXI_COMPOSITE_random_choice, key, &n, 1, NULL))
    return NULL;
  nx_tensor *x;
  if (!replace) x = by_order(key, m, n, weights);
  else if (weights && m) x = by_sums(key, m, n, weights);
  else x = nx_random_integers(key, NX_I64, &n, 1, 0, m);
  return nxi_draw_end(&d, x);
}
