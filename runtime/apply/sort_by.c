/* SPDX-License-Identifier: ISC */
/* sort_by: keys that the comparator compares are argsorted, the last one first, and all operands
 * gathered in that order. Without keys the operands go through a network. */
#include <string.h>

#include "body.h"

/* ---- by keys */

/* The key of all elements: what the comparator computes of the first place. */
static nx_tensor *key_of(nxi_body *b, const nxi_keys *keys, uint32_t i, const nxi_row *x) {
  nx_tensor *in[2 * NXI_MOST_OPERANDS] = {NULL}, *ignored;
  for (uint32_t j = 0; j < b->f->n_in; j++) in[j] = x->at[j / 2];
  return nxi_body_apply(b, in, &ignored) ? b->values[keys->node[i]] : NULL;
}

static bool order_of(nxi_body *b, const nxi_keys *keys, const nxi_row *x, int32_t axis,
                     nx_tensor **order) {
  *order = NULL;
  for (uint32_t i = keys->n; i-- > 0;) {
    nx_tensor *key = key_of(b, keys, i, x);
    if (key && *order) key = nx_gather(key, *order, axis);
    nx_tensor *sorted =
        key ? nx_argsort(key, axis, keys->descending[i] ? NX_DESCENDING : 0, NX_I32) : NULL;
    *order = sorted && *order ? nx_gather(*order, sorted, axis) : sorted;
    if (!*order) return false;
  }
  return true;
}

/* One operand that is its own key needs no places. */
static bool is_own_key(const nx_function *f, const nxi_keys *keys) {
  return keys->n == 1 && f->n_in == 2 && nxi_key_is_element(f, keys->node[0]);
}

static bool sort_by_keys(nxi_body *b, const nxi_keys *keys, int32_t axis, nxi_row *x) {
  nx_tensor *order;
  if (is_own_key(b->f, keys)) {
    x->at[0] = nx_sort(x->at[0], axis, keys->descending[0] ? NX_DESCENDING : 0);
    return x->at[0] != NULL;
  }
  if (!order_of(b, keys, x, axis, &order)) return false;
  for (uint32_t i = 0; i < b->f->n_in / 2; i++)
    if (!(x->at[i] = nx_gather(x->at[i], order, axis))) return false;
  return true;
}

/* ---- by a network */

/* Exchanges the axis with the last one. */
static bool turn_axis(nxi_row *x, uint32_t k, int32_t axis) {
  int32_t axes[NXG_MAX_RANK], rank = x->at[0]->rank; /* NOLINT: checked, not null */
  for (int32_t i = 0; i < rank; i++) axes[i] = i;
  axes[axis] = rank - 1;
  axes[rank - 1] = axis;
  for (uint32_t i = 0; i < k; i++)
    if (!(x->at[i] = nx_permute(x->at[i], axes, (size_t)rank))) return false;
  return true;
}

static bool sort_any(nxi_body *b, int32_t axis, nxi_row *x) {
  uint32_t k = b->f->n_in / 2;
  return turn_axis(x, k, axis) && nxi_sort_network(b, x, k) && turn_axis(x, k, axis);
}

/* ---- what the caller asks for */

static bool check_axis(const nxi_by *by, int32_t axis, bool keys, int64_t *at, nxi_diag *d) {
  const nx_tensor *x = by->x[0];
  if (!nxi_one_axis(by->op, x, axis, at, d)) return false;
  if (nxi_shape(x)[*at] > INT32_MAX)
    nxi_fail(d, NX_INVALID_ARGUMENT, by->op, "%s: the axis has %lld elements, more than 2^31 - 1",
             by->op, (long long)nxi_shape(x)[*at]);
  else if (!keys && (x->rank > NXG_MAX_RANK - 2 || by->k >= NXI_MOST_OPERANDS))
    nxi_fail(d, NX_INVALID_ARGUMENT, by->op,
             "%s: %zu operands of rank %d, and no keys that are compared; there are at most %d of "
             "rank %d then",
             by->op, by->k, x->rank, NXI_MOST_OPERANDS - 1, NXG_MAX_RANK - 2);
  return !d->status;
}

nx_status nx_sort_by(nx_function *f, nx_tensor *const *x, size_t n_in, int32_t axis,
                     nx_tensor **out, size_t n_out) {
  nxi_by by = {"sort_by", f, x, NULL, n_in, n_out, out, 0, true};
  nxi_keys keys;
  nxi_body b;
  nxi_row r = {0};
  nxi_diag d;
  int64_t at;
  nxi_diag_clear(&d);
  if (!nxi_by_check(&by)) return nxi_error_status();
  bool by_keys = nxi_find_keys(f, &keys), good = true;
  if (!check_axis(&by, axis, by_keys, &at, &d)) return nxi_error_report(&d);
  if (!nxi_body_begin(&b, NXI_COMPOSITE_sort_by, f, by.device)) return nxi_error_status();
  for (size_t i = 0; i < n_in; i++) r.at[i] = x[i];
  if (nxi_shape(x[0])[at] > 1 && x[0]->elements)
    good = by_keys ? sort_by_keys(&b, &keys, (int32_t)at, &r) : sort_any(&b, (int32_t)at, &r);
  return nxi_body_end(&b, good, r.at, out, n_in);
}
