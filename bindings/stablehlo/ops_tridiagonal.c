/* SPDX-License-Identifier: ISC */
/* The solution of tridiagonal systems that may be singular, which JAX asks for when it refines
 * eigenvectors: rows are exchanged as in elimination, and a pivot that is next to nothing beside
 * the largest element of the triangle is replaced by a tiny one. Steps along the diagonal are those
 * of two loops. */
#include <float.h>
#include <math.h>

#include "custom.h"
#include "ir/dtype.h"

/* The rows from the first on: of the axis that is brought to the front. */
static nx_tensor *rows_first(nx_tensor *x, int32_t axis) {
  int32_t order[NX_MAX_RANK], n = 0;
  order[n++] = axis;
  for (int32_t i = 0; i < nx_rank(x); i++)
    if (i != axis) order[n++] = i;
  return nx_permute(x, order, (size_t)n);
}

static nx_tensor *rows_back(nx_tensor *x, int32_t axis) {
  int32_t order[NX_MAX_RANK], rank = nx_rank(x);
  for (int32_t i = 0; i < rank; i++) order[i] = i < axis ? i + 1 : i == axis ? 0 : i;
  return nx_permute(x, order, (size_t)rank);
}

static nx_tensor *rows(nx_tensor *x, int64_t from, int64_t to) {
  int64_t start[NX_MAX_RANK] = {from}, stop[NX_MAX_RANK] = {to};
  for (int32_t i = 1; i < nx_rank(x); i++) stop[i] = nx_shape(x)[i];
  return nx_shrink(x, start, stop, (size_t)nx_rank(x));
}

/* A row without its axis, and back. */
static nx_tensor *row(nx_tensor *x, int64_t i) {
  nx_tensor *y = rows(x, i, i + 1);
  return y != NULL ? nx_reshape(y, nx_shape(x) + 1, nx_rank(x) - 1, NX_MAY_COPY) : NULL;
}

static nx_tensor *with_axis(nx_tensor *x, int32_t axis) {
  int64_t shape[NX_MAX_RANK + 1];
  int32_t rank = x != NULL ? nx_rank(x) : 0;
  for (int32_t i = 0; i <= rank; i++)
    shape[i] = x == NULL || i == axis ? 1 : nx_shape(x)[i < axis ? i : i - 1];
  return nx_reshape(x, shape, rank + 1, NX_MAY_COPY);
}

static nx_tensor *behind(nx_tensor *rows_, nx_tensor *last) {
  return nx_cat((nx_tensor *[]){rows_, with_axis(last, 0)}, 2, 0);
}

static nx_tensor *size_of(nx_tensor *x) {
  nx_tensor *y = nx_abs(x);
  return y != NULL && nxi_is_complex(nx_dtype_of(x)) ? nx_real(y) : y;
}

static nx_tensor *number(nxh_recorder *r, nx_dtype dtype, double value) {
  nx_scalar s = {NX_SCALAR_F64, {.f = {value, 0}}};
  return nx_full(r->c, r->device, dtype, NULL, 0, &s);
}

static nx_tensor *zeros_like(nxh_recorder *r, nx_tensor *x) {
  return x == NULL
             ? NULL
             : nx_full(r->c, r->device, nx_dtype_of(x), nx_shape(x), nx_rank(x), NX_INTEGER(0));
}

/* Of the row that is open (in[0], in[1], nothing; in[2] on the right) and the next one of the
 * matrix (in[3] .. in[5]; in[6]): the one with the larger first element is a row of the triangle
 * (out[3] .. out[5]; out[6]), and what is left of the other is the open row. */
static void eliminate(nxh_recorder *r, nx_tensor *const *in, nx_tensor **out) {
  nx_tensor *none = number(r, nx_dtype_of(in[0]), 0);
  nx_tensor *keeps = nx_cmpge(size_of(in[0]), size_of(in[3])),
            *side = with_axis(keeps, nx_rank(in[0]));
  nx_tensor *first = out[3] = nx_where(keeps, in[0], in[3]);
  out[4] = nx_where(keeps, in[1], in[4]);
  out[5] = nx_where(keeps, none, in[5]);
  out[6] = nx_where(side, in[2], in[6]);
  nx_tensor *share = nx_div(nx_where(keeps, in[3], in[0]), first);
  share = nx_where(nx_cmpeq(first, none), none, share);
  out[0] = nx_sub(nx_where(keeps, in[4], in[1]), nx_mul(share, out[4]));
  out[1] = nx_sub(nx_where(keeps, in[5], none), nx_mul(share, out[5]));
  nx_tensor *right = nx_mul(with_axis(share, nx_rank(share)), out[6]);
  out[2] = nx_sub(nx_where(side, in[6], in[2]), right);
}

/* A function of rows like these. */
typedef void step(nxh_recorder *r, nx_tensor *const *in, nx_tensor **out);

static nx_function *make_step(nxh_recorder *r, step *f, nx_tensor *const *like, uint32_t n,
                              uint32_t n_out) {
  nx_tensor *in[8], *out[8];
  nx_function *made = NULL;
  nx_scope *scope = nx_scope_begin(r->c);
  bool ok = scope != NULL;
  for (uint32_t i = 0; ok && i < n; i++) {
    in[i] =
        nx_placeholder(r->c, r->device, nx_dtype_of(like[i]), nx_shape(like[i]), nx_rank(like[i]));
    ok = in[i] != NULL;
  }
  if (ok) {
    f(r, in, out);
    nx_function_create(r->c, in, n, out, n_out, NULL, &made);
  }
  nx_scope_end(scope);
  return made;
}

/* The triangle: its diagonal and the two above it, and the right side, of m rows each. */
static bool factor(nxh_recorder *r, nx_tensor *const *in, int64_t m, nx_tensor **u) {
  nx_tensor *open[3] = {row(in[1], 0), row(in[2], 0), row(in[3], 0)};
  nx_tensor *like[7] = {open[0], open[1], open[2], open[0], open[0], open[0], open[2]};
  nx_tensor *rest[4] = {rows(in[0], 1, m), rows(in[1], 1, m), rows(in[2], 1, m), rows(in[3], 1, m)};
  nx_tensor *out[7] = {NULL};
  for (int i = 0; i < 3; i++)
    if (open[i] == NULL) return false;
  if (m == 1) {
    u[0] = in[1], u[3] = in[3];
    return (u[1] = u[2] = zeros_like(r, u[0])) != NULL;
  }
  nx_function *f = make_step(r, eliminate, like, 7, 7);
  bool ok = f != NULL && nx_scan(f, m - 1, open, 3, NULL, 0, rest, 4, NULL, out, 7) == NX_OK;
  nx_function_release(f);
  if (!ok) return false;
  nx_tensor *none = zeros_like(r, open[0]);
  u[0] = behind(out[3], out[0]);
  u[1] = behind(out[4], none);
  u[2] = behind(out[5], none);
  u[3] = behind(out[6], out[2]);
  return u[3] != NULL;
}

static nx_tensor *largest(nx_tensor *a, nx_tensor *b, nx_tensor *c) {
  const int32_t axis = 0;
  return nx_reduce_max(nx_max(nx_max(size_of(a), size_of(b)), size_of(c)), &axis, 1, NX_KEEPDIMS);
}

/* Pivots below the rounding unit times the largest element become that, with their sign. */
static nx_tensor *perturbed(nxh_recorder *r, nx_tensor *const *u) {
  nx_dtype type = nx_dtype_of(u[0]), part = nxi_is_complex(type) ? nxi_part_dtype(type) : type;
  double unit = part == NX_F32 ? FLT_EPSILON : DBL_EPSILON;
  nx_tensor *least = nx_mul(largest(u[0], u[1], u[2]), number(r, part, unit));
  nx_tensor *none = number(r, part, 0);
  least = nx_where(nx_cmpeq(least, none), number(r, part, unit), least);
  nx_tensor *real = part == type ? u[0] : nx_real(u[0]);
  nx_tensor *tiny = nx_where(nx_cmplt(real, none), nx_neg(least), least);
  if (part != type) tiny = nx_cast(tiny, type);
  return nx_where(nx_cmplt(size_of(u[0]), least), tiny, u[0]);
}

/* The row of the solution from the two below it (in[0], in[1]). */
static void substitute(nxh_recorder *r, nx_tensor *const *in, nx_tensor **out) {
  int32_t rank = nx_rank(in[2]);
  (void)r;
  nx_tensor *known =
      nx_add(nx_mul(with_axis(in[3], rank), in[0]), nx_mul(with_axis(in[4], rank), in[1]));
  out[2] = out[0] = nx_div(nx_sub(in[5], known), with_axis(in[2], rank));
  out[1] = in[0];
}

nx_tensor *nxh_tridiagonal_perturbed(nxh_recorder *r, nx_tensor *const *in) {
  nx_tensor *parts[4], *u[4], *out[3] = {NULL};
  int32_t axis = nx_rank(in[0]) - 1;
  int64_t m = axis >= 0 ? nx_shape(in[0])[axis] : 0;
  if (m == 0) return in[3];
  for (int i = 0; i < 4; i++)
    if ((parts[i] = rows_first(in[i], axis)) == NULL) return NULL;
  /* the last element above the diagonal is beyond the matrix, and not read */
  parts[2] = behind(rows(parts[2], 0, m - 1), zeros_like(r, row(parts[1], 0)));
  if (parts[2] == NULL || !factor(r, parts, m, u)) return NULL;
  if ((u[0] = perturbed(r, u)) == NULL) return NULL;
  nx_tensor *below = row(u[3], 0), *none = zeros_like(r, below);
  nx_tensor *diagonal = row(u[0], 0);
  if (none == NULL || diagonal == NULL) return NULL;
  nx_tensor *like[6] = {none, none, diagonal, diagonal, diagonal, none};
  nx_tensor *init[2] = {none, none};
  nx_function *f = make_step(r, substitute, like, 6, 3);
  nx_loop_options backwards = {.size = sizeof backwards, .reverse = 1};
  bool ok = f != NULL && nx_scan(f, m, init, 2, NULL, 0, u, 4, &backwards, out, 3) == NX_OK;
  nx_function_release(f);
  return ok ? rows_back(out[2], axis) : NULL;
}
