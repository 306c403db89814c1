/* SPDX-License-Identifier: ISC */
/* The pass of types.c for the order of complex numbers: by the real part, and where real parts are
 * equal (as zeros of both signs are) by the imaginary one. A number with a NaN in either part is
 * less than none; it wins in max and min, whose parts are both NaN then. The real part of a maximum
 * is that of the real parts, and its imaginary part that of the imaginary parts that stand beside
 * it, so every order of the elements gives the same bits. */
#include "types.h"

static uint32_t two(nxg_types *t, nxg_op op, nx_dtype dtype, uint32_t like, uint32_t a,
                    uint32_t b) {
  uint32_t args[2] = {a, b};
  return nxg_types_add_like(t, like, op, dtype, 2, args, NULL, 0);
}

static uint32_t choose(nxg_types *t, nx_dtype p, uint32_t like, uint32_t when, uint32_t a,
                       uint32_t b) {
  uint32_t args[3] = {when, a, b};
  return nxg_types_add_like(t, like, NXG_where, p, 3, args, NULL, 0);
}

static uint32_t is_nan(nxg_types *t, uint32_t like, uint32_t x) {
  return two(t, NXG_cmpne, NX_BOOL, like, x, x);
}

static uint32_t is_number(nxg_types *t, uint32_t like, uint32_t x) {
  return two(t, NXG_cmpeq, NX_BOOL, like, x, x);
}

static bool is_max(uint32_t op) {
  return op == NXG_max || op == NXG_reduce_max || op == NXG_argmax;
}

/* The real part of old node x, or a NaN if either part is. */
static uint32_t real_or_nan(nxg_types *t, uint32_t x, nx_dtype p) {
  uint32_t re = nxg_types_part(t, x, 0), im = nxg_types_part(t, x, 1);
  return choose(t, p, x, is_nan(t, x, im), im, re);
}

/* ---- comparisons: op is cmplt or cmple */

void nxg_types_compare_order(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  uint32_t a[2], b[2], like = t->i;
  for (int k = 0; k < 2; k++) {
    a[k] = nxg_types_part(t, n->args[0], k);
    b[k] = nxg_types_part(t, n->args[1], k);
  }
  uint32_t known = is_number(t, like, a[1]), other = is_number(t, like, b[1]);
  known = two(t, NXG_and, NX_BOOL, like, known, other);
  uint32_t less = two(t, NXG_cmplt, NX_BOOL, like, a[0], b[0]);
  less = two(t, NXG_and, NX_BOOL, like, less, known);
  uint32_t tied = two(t, NXG_cmpeq, NX_BOOL, like, a[0], b[0]);
  uint32_t second = two(t, (nxg_op)n->op, NX_BOOL, like, a[1], b[1]);
  second = two(t, NXG_and, NX_BOOL, like, tied, second);
  nxg_types_set_real(t, two(t, NXG_or, NX_BOOL, like, less, second));
}

/* ---- max and min of two */

void nxg_types_best_of_two(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nx_dtype p = nxi_part_dtype(n->dtype);
  nxg_op op = (nxg_op)n->op;
  uint32_t x = n->args[0], y = n->args[1], like = t->i, a[2], b[2];
  for (int k = 0; k < 2; k++) {
    a[k] = nxg_types_part(t, x, k);
    b[k] = nxg_types_part(t, y, k);
  }
  uint32_t re = real_or_nan(t, x, p), other = real_or_nan(t, y, p);
  re = two(t, op, p, like, re, other);
  uint32_t tied = two(t, NXG_cmpeq, NX_BOOL, like, a[0], b[0]);
  uint32_t left = is_max(op) ? two(t, NXG_cmplt, NX_BOOL, like, b[0], a[0])
                             : two(t, NXG_cmplt, NX_BOOL, like, a[0], b[0]);
  uint32_t im = choose(t, p, like, left, a[1], b[1]), best = two(t, op, p, like, a[1], b[1]);
  im = choose(t, p, like, tied, best, im);
  nxg_types_set_parts(t, re, choose(t, p, like, is_nan(t, like, re), re, im));
}

/* ---- over axes: the best real parts first, then the best imaginary parts beside them */

typedef struct best {
  nxg_op op; /* reduce_max or reduce_min */
  nx_dtype p;
  uint32_t x; /* old node */
  int64_t attrs[2];
  int32_t rank;
  int64_t shape[NXG_MAX_RANK]; /* that of x, with 1 in place of reduced axes */
} best;

static void best_of(nxg_types *t, uint32_t mask, best *b) {
  const nxg_node *n = nxg_types_old(t, t->i), *x = nxg_types_old(t, n->args[0]);
  *b = (best){.op = is_max(n->op) ? NXG_reduce_max : NXG_reduce_min,
              .p = nxi_part_dtype(x->dtype),
              .x = n->args[0],
              .attrs = {mask, 1},
              .rank = x->rank};
  for (int32_t i = 0; i < x->rank; i++) b->shape[i] = mask >> i & 1 ? 1 : x->shape[i];
}

static uint32_t reduced(nxg_types *t, const best *b, uint32_t value) {
  return nxg_rewrite_add(&t->r, t->i, b->op, 1, &value, b->attrs, 2, b->p, b->rank, b->shape);
}

/* A value of the reduced shape beside each element of x. */
static uint32_t repeated(nxg_types *t, const best *b, uint32_t value) {
  const nxg_node *x = nxg_types_old(t, b->x);
  nxg_view v;
  nxg_view_contiguous(&v, b->rank, b->shape);
  for (int32_t i = 0; i < b->rank; i++) {
    if (b->attrs[0] >> i & 1) v.strides[i] = 0;
    v.shape[i] = x->shape[i];
  }
  return nxg_types_view(t, value, b->p, &v);
}

/* Both parts of the best, in the reduced shape; the imaginary part is not yet NaN where it ought
 * to be. tied: the elements whose real part is the best. */
static void find_best(nxg_types *t, const best *b, uint32_t out[2], uint32_t *tied) {
  nxk_reduce_kind kind = b->op == NXG_reduce_max ? NXK_MAX : NXK_MIN;
  uint32_t re = nxg_types_part(t, b->x, 0), im = nxg_types_part(t, b->x, 1);
  int64_t none[2] = {(int64_t)nxk_reduce_identity(kind, b->p), -1};
  out[0] = reduced(t, b, real_or_nan(t, b->x, b->p));
  uint32_t beside = repeated(t, b, out[0]);
  *tied = two(t, NXG_cmpeq, NX_BOOL, b->x, re, beside);
  uint32_t other = nxg_types_add_like(t, b->x, NXG_full, b->p, 0, NULL, none, 2);
  out[1] = reduced(t, b, choose(t, b->p, b->x, *tied, im, other));
}

static uint32_t without_axes(nxg_types *t, const best *b, uint32_t value) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nxg_view v;
  nxg_view_contiguous(&v, n->rank, n->shape);
  return nxg_types_view(t, value, b->p, &v);
}

void nxg_types_best_over_axes(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  uint32_t parts[2], tied;
  best b;
  best_of(t, (uint32_t)n->attrs[0], &b);
  find_best(t, &b, parts, &tied);
  for (int k = 0; k < 2; k++) parts[k] = without_axes(t, &b, parts[k]);
  parts[1] = choose(t, b.p, t->i, is_nan(t, t->i, parts[0]), parts[0], parts[1]);
  nxg_types_set_parts(t, parts[0], parts[1]);
}

/* The first element that is the best one; the first NaN, where that is the best. */
void nxg_types_place_of_best(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  uint32_t parts[2], tied;
  best b;
  best_of(t, nxg_reduce_mask(n), &b);
  find_best(t, &b, parts, &tied);
  uint32_t nan = is_nan(t, b.x, real_or_nan(t, b.x, b.p)),
           none = is_nan(t, b.x, repeated(t, &b, parts[0])), same = repeated(t, &b, parts[1]);
  same = two(t, NXG_cmpeq, NX_BOOL, b.x, nxg_types_part(t, b.x, 1), same);
  same = two(t, NXG_and, NX_BOOL, b.x, tied, same);
  uint32_t hit = choose(t, NX_BOOL, b.x, none, nan, same);
  nxg_types_set_real(
      t, nxg_types_add_like(t, t->i, NXG_argmax, NX_I32, 1, &hit, n->attrs, n->n_attrs));
}
