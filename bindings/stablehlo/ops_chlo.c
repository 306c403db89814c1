/* SPDX-License-Identifier: ISC */
/* Operations of CHLO that are others with operands brought to one shape. */
#include "record.h"

#include <stdio.h>
#include <string.h>

#include "ir/dtype.h"

enum { MOST_OPERANDS = 3 };

/* ---- broadcasting: extents of 1 are any, and axes that are missing are new ones in front, or
 * where `broadcast_dimensions` leaves them */

typedef struct common {
  nx_tensor *x[MOST_OPERANDS];
  int64_t shape[NX_MAX_RANK];
  int32_t rank;
} common;

/* Where the axes of an operand are in the result. */
static bool place_axes(nxh_recorder *r, const nxh_op *op, const common *c, const nx_tensor *x,
                       int32_t *axes) {
  int32_t rank = nx_rank(x);
  uint32_t n;
  for (int32_t i = 0; i < rank; i++) axes[i] = c->rank - rank + i;
  if (rank == c->rank || nxh_get(op, "broadcast_dimensions") == NULL) return true;
  if (!nxh_axes(r, op, "broadcast_dimensions", axes, &n)) return false;
  bool good = n == (uint32_t)rank;
  for (uint32_t i = 0; good && i < n; i++)
    good = axes[i] < c->rank && (i == 0 || axes[i] > axes[i - 1]);
  return good || nxh_fail(r, NX_INVALID_ARGUMENT,
                          "broadcast_dimensions are no %d rising axes of %d", rank, c->rank);
}

static bool widen_shape(nxh_recorder *r, const nxh_op *op, common *c, const nx_tensor *x) {
  int32_t axes[NX_MAX_RANK] = {0};
  if (!place_axes(r, op, c, x, axes)) return false;
  for (int32_t i = 0; i < nx_rank(x); i++) {
    int64_t *extent = &c->shape[axes[i]], own = nx_shape(x)[i];
    if (*extent != own && *extent != 1 && own != 1)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "extents %lld and %lld of axis %d do not fit",
                      (long long)*extent, (long long)own, axes[i]);
    if (*extent == 1) *extent = own;
  }
  return true;
}

static nx_tensor *widened(nxh_recorder *r, const nxh_op *op, const common *c, nx_tensor *x) {
  int32_t axes[NX_MAX_RANK] = {0};
  int64_t shape[NX_MAX_RANK];
  if (!place_axes(r, op, c, x, axes)) return NULL;
  for (int32_t i = 0; i < c->rank; i++) shape[i] = 1;
  for (int32_t i = 0; i < nx_rank(x); i++) shape[axes[i]] = nx_shape(x)[i];
  return nx_expand(nx_reshape(x, shape, c->rank, NX_MAY_COPY), c->shape, c->rank);
}

static bool take_common(nxh_recorder *r, const nxh_op *op, common *c) {
  *c = (common){.rank = 0};
  if (op->n_operands == 0 || op->n_operands > MOST_OPERANDS)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands", op->n_operands);
  for (uint32_t i = 0; i < op->n_operands; i++) {
    if ((c->x[i] = nxh_in(r, op, i)) == NULL) return false;
    if (nx_rank(c->x[i]) > c->rank) c->rank = nx_rank(c->x[i]);
  }
  for (int32_t i = 0; i < c->rank; i++) c->shape[i] = 1;
  for (uint32_t i = 0; i < op->n_operands; i++)
    if (!widen_shape(r, op, c, c->x[i])) return false;
  for (uint32_t i = 0; i < op->n_operands; i++)
    if ((c->x[i] = widened(r, op, c, c->x[i])) == NULL) return false;
  return true;
}

/* The operation without `broadcast_`, which is one of StableHLO or of CHLO. */
static const nxh_row *plain_row(nxh_word name) {
  static const char *const dialects[] = {"stablehlo.", "chlo."};
  const size_t before = strlen("chlo.broadcast_");
  char text[64];
  const nxh_row *row = NULL;
  for (int i = 0; i < 2 && row == NULL; i++) {
    int n = snprintf(text, sizeof text, "%s%.*s", dialects[i], (int)(name.length - before),
                     name.at + before);
    row = nxh_find_row((nxh_word){text, (uint32_t)n});
  }
  return row;
}

/* Meanwhile the operands are what they are widened to. */
bool nxh_implicit(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  const nxh_row *plain = plain_row(op->name);
  nx_tensor **values = r->frame->tensors, *were[MOST_OPERANDS];
  common c;
  nxh_op own = *op;
  (void)row;
  own.name = (nxh_word){plain->name, (uint32_t)strlen(plain->name)};
  if (r->over_arrays) return plain->record(r, &own, plain);
  if (!take_common(r, op, &c)) return false;
  for (uint32_t i = 0; i < op->n_operands; i++) were[i] = values[op->operands[i] - r->frame->base];
  for (uint32_t i = 0; i < op->n_operands; i++) values[op->operands[i] - r->frame->base] = c.x[i];
  bool ok = plain->record(r, &own, plain);
  for (uint32_t i = 0; i < op->n_operands; i++) values[op->operands[i] - r->frame->base] = were[i];
  return ok;
}

/* ---- constants */

bool nxh_constant_like(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  const nxh_attr *value = nxh_get(op, "value");
  nx_tensor *x = nxh_in(r, op, 0);
  nx_dtype dtype = nxh_result_type(r, op, 0)->dtype;
  nx_scalar s = {NX_SCALAR_F64, {.f = {0, 0}}};
  if (x == NULL) return false;
  if (value != NULL && (value->kind == NXH_INT || value->kind == NXH_BOOL)) {
    s.kind = NX_SCALAR_I64;
    s.v.i = value->integer;
  } else if (!nxh_number(value, &s.v.f[0])) {
    return nxh_fail(r, NX_INVALID_ARGUMENT, "value is no number");
  }
  return nxh_set(r, op, 0, nx_full(r->c, r->device, dtype, nx_shape(x), nx_rank(x), &s));
}
