/* SPDX-License-Identifier: ISC */
/* QR with pivots of matrices some of whose columns are put in front (LAPACK's geqp3 with numbers
 * other than 0 in its second operand). Which those are is known when the program runs: where there
 * are none the library's own routine does it, else loops over columns, of all matrices at once, in
 * f64 or c128. The steps are LAPACK's: exchanges of columns, the largest of those that are free,
 * and reflections. */
#include "custom.h"
#include "ir/dtype.h"

/* What the loops are over: matrices m by n, and the type in which they compute. */
typedef struct work {
  nxh_recorder *r;
  int64_t batch, m, n, least;
  nx_dtype type, given;
} work;

static nx_tensor *number(const work *w, nx_dtype dtype, double value) {
  nx_scalar s = {NX_SCALAR_F64, {.f = {value, 0}}};
  return nx_full(w->r->c, w->r->device, dtype, NULL, 0, &s);
}

/* 0, 1, .. along the last axis but `behind`. */
static nx_tensor *count(const work *w, int64_t n, int32_t behind) {
  int64_t shape[2] = {n, 1};
  nx_tensor *line = nx_arange(w->r->c, w->r->device, NX_I64, NX_INTEGER(0), NX_INTEGER(1), n);
  return nx_reshape(line, shape, 1 + behind, 0);
}

static nx_tensor *sum(nx_tensor *x, int32_t axis) {
  return nx_reduce_sum(x, &axis, 1, NX_KEEPDIMS);
}

/* The one element of a line where the mask is true. */
static nx_tensor *pick(const work *w, nx_tensor *mask, nx_tensor *x, int32_t axis) {
  return sum(nx_where(mask, x, number(w, nx_dtype_of(x), 0)), axis);
}

static nx_tensor *between(nx_tensor *x, int64_t batch, int64_t n) {
  return nx_reshape(x, (int64_t[]){batch, 1, n}, 3, NX_MAY_COPY);
}

/* |x|^2 */
static nx_tensor *squares(nx_tensor *x) {
  if (!nxi_is_complex(nx_dtype_of(x))) return nx_mul(x, x);
  nx_tensor *a = nx_real(x), *b = nx_imag(x);
  return nx_add(nx_mul(a, a), nx_mul(b, b));
}

/* ---- steps: the number of the step, what is carried, what is captured */

/* An initial column changes places with the first one that is none. in: step, order [batch, n], how
 * many there are [batch, 1], which they are [batch, n]. */
static void order_column(const work *w, nx_tensor *const *in, nx_tensor **out) {
  nx_tensor *columns = count(w, w->n, 0), *here = nx_cmpeq(columns, in[0]);
  nx_tensor *front = nx_cmpeq(columns, in[2]);
  const int32_t axis = 1;
  nx_tensor *initial = nx_reduce_max(nx_and(in[3], here), &axis, 1, NX_KEEPDIMS);
  nx_tensor *a = pick(w, here, in[1], 1), *b = pick(w, front, in[1], 1);
  nx_tensor *moved = nx_where(front, a, nx_where(here, b, in[1]));
  out[0] = nx_where(initial, moved, in[1]);
  out[1] = nx_add(in[2], nx_cast(initial, NX_I64));
}

/* A reflection that leaves of a column [batch, m, 1] nothing below `step`: v, tau and what is on
 * the diagonal. */
static void reflect(const work *w, nx_tensor *step, nx_tensor *column, nx_tensor **v,
                    nx_tensor **tau, nx_tensor **diagonal) {
  nx_dtype part = nxi_is_complex(w->type) ? NX_F64 : w->type;
  nx_tensor *rows = count(w, w->m, 1), *here = nx_cmpeq(rows, step), *below = nx_cmpgt(rows, step);
  nx_tensor *none = number(w, part, 0), *zero = number(w, w->type, 0);
  nx_tensor *alpha = pick(w, here, column, 1);
  nx_tensor *real = part == w->type ? alpha : nx_real(alpha);
  nx_tensor *rest = sum(nx_where(below, squares(column), none), 1);
  nx_tensor *idle = nx_cmpeq(rest, none);
  if (part != w->type) idle = nx_and(idle, nx_cmpeq(nx_imag(alpha), none));
  nx_tensor *norm = nx_sqrt(nx_add(squares(alpha), rest));
  nx_tensor *beta = nx_where(nx_cmplt(real, none), norm, nx_neg(norm));
  if (part != w->type) beta = nx_cast(beta, w->type);
  nx_tensor *tail = nx_div(column, nx_sub(alpha, beta));
  tail = nx_where(idle, zero, tail);
  *v = nx_where(below, tail, nx_where(here, number(w, w->type, 1), zero));
  *tau = nx_where(idle, zero, nx_div(nx_sub(beta, alpha), beta));
  *diagonal = nx_where(idle, alpha, beta);
}

static nx_tensor *conjugate(nx_tensor *x) {
  return nxi_is_complex(nx_dtype_of(x)) ? nx_conj(x) : x;
}

/* in: step, matrices, order [batch, n], tau [batch, least], how many columns are put in front. */
static void factor_column(const work *w, nx_tensor *const *in, nx_tensor **out) {
  nx_tensor *columns = count(w, w->n, 0), *rows = count(w, w->m, 1), *a = in[1];
  nx_tensor *here = nx_cmpeq(columns, in[0]), *free_ = nx_cmpge(columns, in[0]);
  nx_dtype part = nxi_is_complex(w->type) ? NX_F64 : w->type;
  nx_tensor *left = nx_where(nx_cmpge(rows, in[0]), squares(a), number(w, part, 0));
  const int32_t axis = 1;
  nx_tensor *norms = nx_where(free_, nx_reduce_sum(left, &axis, 1, 0), number(w, part, -1));
  nx_tensor *best = nx_reduce_argmax(norms, 1, NX_KEEPDIMS, NX_I64);
  nx_tensor *pivot = nx_where(nx_cmplt(in[0], in[4]), in[0], best),
            *there = nx_cmpeq(columns, pivot);
  nx_tensor *there_of_all = between(there, w->batch, w->n);
  nx_tensor *column = pick(w, there_of_all, a, 2), *other = pick(w, here, a, 2);
  a = nx_where(here, column, nx_where(there_of_all, other, a));
  out[1] =
      nx_where(here, pick(w, there, in[2], 1), nx_where(there, pick(w, here, in[2], 1), in[2]));
  nx_tensor *v, *tau, *diagonal;
  reflect(w, in[0], column, &v, &tau, &diagonal);
  nx_tensor *share = nx_mul(conjugate(tau), sum(nx_mul(conjugate(v), a), 1));
  nx_tensor *turned = nx_where(nx_cmpgt(columns, in[0]), nx_sub(a, nx_mul(v, share)), a);
  nx_tensor *own =
      nx_where(nx_cmpgt(rows, in[0]), v, nx_where(nx_cmpeq(rows, in[0]), diagonal, column));
  out[0] = nx_where(here, own, turned);
  nx_tensor *flat = nx_reshape(tau, (int64_t[]){w->batch, 1}, 2, NX_MAY_COPY);
  out[2] = nx_where(nx_cmpeq(count(w, w->least, 0), in[0]), flat, in[3]);
}

/* ---- loops */

typedef void step(const work *w, nx_tensor *const *in, nx_tensor **out);

/* n carried values, then one captured one. */
static bool loop(const work *w, step *f, int64_t steps, nx_tensor **values, uint32_t n) {
  nx_tensor *in[6], *out[6] = {NULL}, *made[6] = {NULL};
  nx_function *body = NULL;
  nx_scope *scope = nx_scope_begin(w->r->c);
  bool ok =
      scope != NULL && (in[0] = nx_placeholder(w->r->c, w->r->device, NX_I64, NULL, 0)) != NULL;
  for (uint32_t i = 0; ok && i <= n; i++) {
    nx_tensor *like = values[i];
    in[1 + i] = like == NULL ? NULL
                             : nx_placeholder(w->r->c, w->r->device, nx_dtype_of(like),
                                              nx_shape(like), nx_rank(like));
    ok = in[1 + i] != NULL;
  }
  if (ok) {
    f(w, in, out);
    ok = nx_function_create(w->r->c, in, n + 2, out, n, NULL, &body) == NX_OK;
  }
  nx_scope_end(scope);
  ok = ok && nx_for(NULL, steps, body, values, n, &values[n], 1, NULL, made, n) == NX_OK;
  nx_function_release(body);
  for (uint32_t i = 0; ok && i < n; i++) values[i] = made[i];
  return ok;
}

static nx_tensor *zeros(const work *w, nx_dtype dtype, int64_t columns) {
  return nx_full(w->r->c, w->r->device, dtype, (int64_t[]){w->batch, columns}, 2, NX_INTEGER(0));
}

/* in: matrices and the numbers of their columns; out: packed, tau, the order from 1. */
static bool with_initial(const work *w, nx_tensor *const *in, nx_tensor **out) {
  nx_tensor *a = nx_reshape(in[0], (int64_t[]){w->batch, w->m, w->n}, 3, NX_MAY_COPY);
  nx_tensor *marks = nx_reshape(in[1], (int64_t[]){w->batch, w->n}, 2, NX_MAY_COPY);
  nx_tensor *start = nx_add(zeros(w, NX_I64, w->n), count(w, w->n, 0));
  nx_tensor *initial = nx_cmpne(marks, number(w, nx_dtype_of(in[1]), 0));
  nx_tensor *first[3] = {start, zeros(w, NX_I64, 1), initial};
  if (a == NULL || !loop(w, order_column, w->n, first, 2)) return false;
  nx_tensor *places =
      nx_expand(between(first[0], w->batch, w->n), (int64_t[]){w->batch, w->m, w->n}, 3);
  a = nx_gather(nx_cast(a, w->type), places, 2);
  nx_tensor *second[4] = {a, first[0], zeros(w, w->type, w->least), first[1]};
  if (a == NULL || !loop(w, factor_column, w->least, second, 3)) return false;
  int32_t rank = nx_rank(in[0]);
  int64_t shape[NX_MAX_RANK];
  for (int32_t i = 0; i + 2 < rank; i++) shape[i] = nx_shape(in[0])[i];
  shape[rank - 2] = w->least;
  out[0] = nx_reshape(nx_cast(second[0], w->given), nx_shape(in[0]), rank, NX_MAY_COPY);
  out[1] = nx_reshape(nx_cast(second[2], w->given), shape, rank - 1, NX_MAY_COPY);
  nx_tensor *order = nx_add(nx_cast(second[1], NX_I32), number(w, NX_I32, 1));
  out[2] = nx_reshape(order, nx_shape(in[1]), nx_rank(in[1]), NX_MAY_COPY);
  return out[0] != NULL && out[1] != NULL && out[2] != NULL;
}

static bool without(const work *w, nx_tensor *const *in, nx_tensor **out) {
  if (nx_geqp3(in[0], &out[0], &out[1], &out[2]) != NX_OK) return false;
  return (out[2] = nx_add(out[2], number(w, NX_I32, 1))) != NULL;
}

/* One branch as a function. */
static nx_function *branch(const work *w, nx_tensor *const *like,
                           bool (*f)(const work *, nx_tensor *const *, nx_tensor **)) {
  nx_tensor *in[2], *out[3];
  nx_function *made = NULL;
  nx_scope *scope = nx_scope_begin(w->r->c);
  bool ok = scope != NULL;
  for (int i = 0; ok && i < 2; i++) {
    in[i] = nx_placeholder(w->r->c, w->r->device, nx_dtype_of(like[i]), nx_shape(like[i]),
                           nx_rank(like[i]));
    ok = in[i] != NULL;
  }
  if (ok && f(w, in, out)) nx_function_create(w->r->c, in, 2, out, 3, NULL, &made);
  nx_scope_end(scope);
  return made;
}

bool nxh_pivoted(nxh_recorder *r, nx_tensor *const *in, nx_tensor **out) {
  int32_t rank = nx_rank(in[0]);
  nx_dtype type = nx_dtype_of(in[0]);
  const int64_t *shape = nx_shape(in[0]);
  work w = {.r = r, .batch = 1, .m = shape[rank - 2], .n = shape[rank - 1], .given = type};
  for (int32_t i = 0; i + 2 < rank; i++) w.batch *= shape[i];
  w.least = w.m < w.n ? w.m : w.n;
  w.type = nxi_is_complex(type) ? NX_C128 : NX_F64;
  if (w.batch == 0 || w.least == 0) return without(&w, in, out);
  int64_t all = w.batch * w.n;
  const int32_t axis = 0;
  nx_tensor *marks = nx_cmpne(in[1], number(&w, nx_dtype_of(in[1]), 0));
  nx_tensor *any = nx_reduce_max(nx_reshape(marks, &all, 1, NX_MAY_COPY), &axis, 1, 0);
  nx_function *ways[2] = {branch(&w, in, without), branch(&w, in, with_initial)};
  out[0] = out[1] = out[2] = NULL;
  bool ok = any != NULL && ways[0] != NULL && ways[1] != NULL &&
            nx_case(any, ways, 2, in, 2, out, 3) == NX_OK;
  nx_function_release(ways[0]);
  nx_function_release(ways[1]);
  return ok;
}
