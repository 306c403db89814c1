/* SPDX-License-Identifier: ISC */
/* Reductions and scans. Sums and products are of numbers of which every order of adding gives the
 * same result, with NaNs and infinities among them; the order itself is not this program's
 * concern. */
#include "elements.h"

#include <math.h>
#include <stdio.h>

typedef enum reduce_op { SUM, PROD, MAX, MIN } reduce_op;
typedef struct reducing {
  reduce_op op;
  nx_tensor *(*reduce)(nx_tensor *, const int32_t *, size_t, uint32_t);
  nx_tensor *(*arg)(nx_tensor *, int32_t, uint32_t, nx_dtype);
} reducing;
static const reducing *reducing_of(const trial *t) { return t->op->detail; }

/* ---- operands */

/* Whole numbers, of products powers of two and of i; seldom NaN or an infinity if the type has
 * any. */
static array *reducible(trial *t, reduce_op op, int32_t rank, const int64_t *shape) {
  if (op == MAX || op == MIN) return some_values(t, t->dtype, rank, shape, 3);
  array *a = tame_values(t, t->dtype, rank, shape, 3);
  kind k = t->format->kind;
  uint64_t state = 5;
  for (size_t i = 0; i < a->n; i++) {
    static const value units[] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 0}, {1, 0}, {2, 0}, {1, 1}};
    value unit = units[random_word(&state) % 8];
    if (k != KIND_COMPLEX) unit = (value){unit.re + unit.im == 0 ? 1 : unit.re + unit.im, 0};
    if (op == PROD && k >= KIND_FLOAT) a->at[i] = encode(t->dtype, unit);
    else if (k < KIND_FLOAT && k != KIND_BOOL && i % 3 == 0)
      a->at[i].low = random_word(&state) >> (64 - t->format->bits);
    if (k < KIND_FLOAT || (op == PROD && k == KIND_COMPLEX)) continue;
    if (i % 43 == 7) a->at[i] = encode(t->dtype, (value){(long double)NAN, 1});
    if (i % 43 == 19 || i % 43 == 20)
      a->at[i] = encode(t->dtype, (value){(long double)INFINITY, -1});
    if (i % 43 == 31) a->at[i] = encode(t->dtype, (value){-(long double)INFINITY, 0});
    if (i % 43 == 39) a->at[i] = encode(t->dtype, (value){-0.0L, 0});
  }
  return a;
}

/* ---- the reference */

static long double greater(long double a, long double b) {
  if (isnan(a) || isnan(b)) return a + b;
  return a > b || (a == b && !signbit(a)) ? a : b;
}

/* Complex numbers by their real parts, then by their imaginary ones. */
static value greater_pair(value a, value b) {
  bool none = isnan(a.re) || isnan(a.im) || isnan(b.re) || isnan(b.im);
  if (none) return (value){(long double)NAN, (long double)NAN};
  return (value){greater(a.re, b.re), a.re == b.re  ? greater(a.im, b.im)
                                      : a.re > b.re ? a.im
                                                    : b.im};
}
static value negative(value a) { return (value){-a.re, -a.im}; }

static value joined(const trial *t, reduce_op op, value a, value b) {
  if (op == MAX) return greater_pair(a, b);
  if (op == MIN) return negative(greater_pair(negative(a), negative(b)));
  return op == SUM ? sum_of(t->dtype, a, b) : product_of(t->dtype, a, b);
}

/* Of one element that, but a NaN in either part is one in both. */
static value alone(const trial *t, reduce_op op, value x) {
  return op == MAX || op == MIN ? joined(t, op, x, x) : x;
}

/* Bit i of `axes`: axis i is reduced. */
static array *reduced(trial *t, reduce_op op, const array *a, uint32_t axes, bool keep) {
  int64_t shape[NX_MAX_RANK], index[NX_MAX_RANK], place[NX_MAX_RANK];
  int32_t rank = 0;
  for (int32_t i = 0; i < a->rank; i++)
    if (!(axes >> i & 1)) shape[rank++] = a->shape[i];
    else if (keep) shape[rank++] = 1;
  array *want = new_array(t, t->dtype, rank, shape);
  value *sums = room(t, (want->n + 1) * sizeof *sums);
  bool *begun = room(t, want->n + 1);
  for (size_t i = 0; i < a->n; i++) {
    unravel(i, a->rank, a->shape, index);
    int32_t used = 0;
    for (int32_t k = 0; k < a->rank; k++)
      if (!(axes >> k & 1)) place[used++] = index[k];
      else if (keep) place[used++] = 0;
    size_t to = ravel(rank, shape, place);
    value x = decode(t->dtype, a->at[i]);
    sums[to] = begun[to] ? joined(t, op, sums[to], x) : alone(t, op, x);
    begun[to] = true;
  }
  for (size_t i = 0; i < want->n; i++)
    want->at[i] = begun[i] ? encode(t->dtype, sums[i])
                           : encode_real(t->dtype, op == PROD || op == MIN); /* of bools true */
  return want;
}

/* Signs of zeros in a complex product depend on its order. */
static void expect_reduction(trial *t, nx_tensor *result, const array *want, const char *what) {
  if (reducing_of(t)->op != PROD || t->format->kind != KIND_COMPLEX) {
    expect(t, result, want, SAME, what);
    return;
  }
  value *exact = room(t, (want->n + 1) * sizeof *exact);
  for (size_t i = 0; i < want->n; i++) exact[i] = decode(t->dtype, want->at[i]);
  expect_near(t, result, want, exact, NEAR_SIZE, 0, NULL, NULL, what);
}

/* ---- reductions */

static void expect_reduced(trial *t, array *a, layout l, uint32_t axes) {
  int32_t list[NX_MAX_RANK];
  size_t n = 0;
  const reducing *f = reducing_of(t);
  for (int32_t i = a->rank; i-- > 0;) /* from the last on, every other one counted from the end */
    if (axes >> i & 1) {
      list[n] = n % 2 ? i : i - a->rank;
      n++;
    }
  bool keep = (axes + l) % 2;
  char what[80];
  nx_tensor *x = laid_out(t, a, l);
  snprintf(what, sizeof what, "rank %d, axes %x, %s", a->rank, axes, layout_names[l]);
  nx_tensor *y = f->reduce(x, list, n, keep ? NX_KEEPDIMS : 0);
  expect_reduction(t, y, reduced(t, f->op, a, axes, keep), what);
}

/* Whether a reduction of nothing has a value. */
static bool has_identity(const trial *t) {
  reduce_op op = reducing_of(t)->op;
  return (op != MAX && op != MIN) || t->dtype == NX_BOOL;
}

static void check_bad_axes(trial *t) {
  const reducing *f = reducing_of(t);
  const int64_t shape[] = {2, 0, 3};
  nx_tensor *x = tensor_of(t, new_array(t, t->dtype, 3, shape));
  expect_refusal(t, f->reduce(NULL, NX_AXES(0), 0), NX_INVALID_ARGUMENT, "a null operand");
  expect_refusal(t, f->reduce(x, NX_AXES(3), 0), NX_INVALID_ARGUMENT, "axis 3 of rank 3");
  expect_refusal(t, f->reduce(x, NX_AXES(-4), 0), NX_INVALID_ARGUMENT, "axis -4 of rank 3");
  expect_refusal(t, f->reduce(x, NX_AXES(0, -3), 0), NX_INVALID_ARGUMENT, "an axis twice");
  expect_refusal(t, f->reduce(x, NX_AXES(0), 64), NX_INVALID_ARGUMENT,
                 "a flag that does not exist");
  if (!has_identity(t))
    expect_refusal(t, f->reduce(x, NX_AXES(1), 0), NX_INVALID_ARGUMENT, "over nothing");
}

static void check_reduce(trial *t) {
  static const int64_t cube[] = {4, 5, 19}, none[] = {3, 0, 2};
  const reducing *f = reducing_of(t);
  for (layout l = 0; l < LAYOUTS; l++)
    for (uint32_t axes = 0; axes < 8; axes++)
      if (is_due(t, (l * 8 + axes) % 11, 11))
        expect_reduced(t, reducible(t, f->op, 3, cube), l, axes);
  for (size_t i = 0; i < n_shapes; i++) {
    uint32_t all = shapes[i].rank < 32 ? ((uint32_t)1 << shapes[i].rank) - 1 : ~(uint32_t)0;
    bool empty = shapes[i].rank == 2 && !shapes[i].shape[1];
    if (is_due(t, i, n_shapes) && !empty)
      expect_reduced(t, reducible(t, f->op, shapes[i].rank, shapes[i].shape), FLIPPED, all);
  }
  bool all = has_identity(t);
  for (uint32_t axes = 0; axes < 8; axes++)
    if (all || !(axes & 2)) expect_reduced(t, reducible(t, f->op, 3, none), CONTIGUOUS, axes);
  check_bad_axes(t);
}

static nx_tensor *record_reduce(trial *t, nx_dtype dtype) {
  const int64_t shape[] = {2, 3};
  return reducing_of(t)->reduce(tensor_of(t, tame_values(t, dtype, 2, shape, 1)), NX_AXES(1), 0);
}

/* ---- with an initial value, which a reduction of nothing is */

static const nx_scan_op numbers[] = {NX_SCAN_SUM, NX_SCAN_PROD, NX_SCAN_MAX, NX_SCAN_MIN};

/* Infinite products as in Annex G. */
static value joined_once(const trial *t, reduce_op op, value a, value b) {
  bool product = op == PROD && t->format->kind == KIND_COMPLEX;
  return product ? complex_mul(a, b) : joined(t, op, a, b);
}

static void expect_initial(trial *t, array *a, layout l, uint32_t axes, bool empty) {
  int32_t list[3];
  size_t n = 0;
  reduce_op op = reducing_of(t)->op;
  for (int32_t i = 0; i < a->rank; i++)
    if (axes >> i & 1) list[n++] = l % 2 ? i - a->rank : i;
  bool keep = (axes + l) % 2;
  nx_tensor *x = laid_out(t, a, l);
  array *initial = tame_values(t, t->dtype, 0, NULL, 5), *want = reduced(t, op, a, axes, keep);
  value first = alone(t, op, decode(t->dtype, initial->at[0]));
  for (size_t i = 0; i < want->n; i++)
    want->at[i] = empty
                      ? initial->at[0]
                      : encode(t->dtype, joined_once(t, op, first, decode(t->dtype, want->at[i])));
  char what[80];
  snprintf(what, sizeof what, "rank %d, axes %x, %s", a->rank, axes, layout_names[l]);
  nx_tensor *y = nx_reduce_with_initial(x, numbers[op], tensor_of(t, initial), list, n,
                                        keep ? NX_KEEPDIMS : 0);
  expect_reduction(t, y, want, what);
}

static void check_initial(trial *t) {
  static const int64_t cube[] = {4, 5, 19}, none[] = {3, 0, 2}, three[] = {3};
  reduce_op op = reducing_of(t)->op;
  for (layout l = 0; l < LAYOUTS; l++)
    for (uint32_t axes = 0; axes < 8; axes++)
      if (is_due(t, (l * 8 + axes) % 11, 11))
        expect_initial(t, reducible(t, op, 3, cube), l, axes, false);
  for (uint32_t axes = 0; axes < 8; axes++)
    expect_initial(t, reducible(t, op, 3, none), CONTIGUOUS, axes, axes & 2);
  nx_tensor *x = tensor_of(t, new_array(t, t->dtype, 3, cube)),
            *one = tensor_of(t, new_array(t, t->dtype, 0, NULL)),
            *line = tensor_of(t, new_array(t, t->dtype, 1, three)),
            *other = tensor_of(t, new_array(t, t->dtype == NX_F32 ? NX_F64 : NX_F32, 0, NULL));
#define FROM(x, op, one, flags) nx_reduce_with_initial(x, op, one, NX_AXES(1), flags)
  nx_scan_op is = numbers[op];
  expect_refusal(t, FROM(NULL, is, one, 0), NX_INVALID_ARGUMENT, "a null operand");
  expect_refusal(t, FROM(x, is, NULL, 0), NX_INVALID_ARGUMENT, "a null initial value");
  expect_refusal(t, FROM(x, (nx_scan_op)4, one, 0), NX_INVALID_ARGUMENT, "reduction 4");
  expect_refusal(t, FROM(x, is, line, 0), NX_INVALID_ARGUMENT, "an initial value of rank 1");
  expect_refusal(t, FROM(x, is, other, 0), NX_INVALID_ARGUMENT, "another dtype");
  expect_refusal(t, FROM(x, is, one, 8), NX_INVALID_ARGUMENT, "a flag that does not exist");
  expect_refusal(t, nx_reduce_with_initial(x, is, one, NX_AXES(3), 0), NX_INVALID_ARGUMENT,
                 "axis 3 of rank 3");
}

static nx_tensor *record_initial(trial *t, nx_dtype dtype) {
  const int64_t shape[] = {2, 3};
  return FROM(tensor_of(t, tame_values(t, dtype, 2, shape, 1)), numbers[reducing_of(t)->op],
              tensor_of(t, new_array(t, dtype, 0, NULL)), 0);
}

/* ---- argmax, argmin */

/* The first NaN, else the first of the greatest; zeros of both signs are equal. */
static bool is_ahead(reduce_op op, value x, value best) {
  if (isnan(best.re) || isnan(best.im)) return false;
  if (isnan(x.re) || isnan(x.im)) return true;
  if (x.re == best.re) return op == MAX ? x.im > best.im : x.im < best.im;
  return op == MAX ? x.re > best.re : x.re < best.re;
}

static void expect_arg(trial *t, array *a, layout l, int32_t axis) {
  const reducing *f = reducing_of(t);
  nx_dtype wide = (l + (layout)axis) % 2 ? NX_I64 : NX_I32;
  nx_tensor *x = laid_out(t, a, l);
  int64_t shape[NX_MAX_RANK], index[NX_MAX_RANK];
  for (int32_t i = 0; i < a->rank; i++) shape[i] = i == axis ? 1 : a->shape[i];
  array *want = new_array(t, wide, a->rank, shape);
  for (size_t i = 0; i < want->n; i++) {
    unravel(i, a->rank, shape, index);
    int64_t best = 0;
    value best_value = decode(t->dtype, a->at[ravel(a->rank, a->shape, index)]);
    for (index[axis] = 1; index[axis] < a->shape[axis]; index[axis]++) {
      value v = decode(t->dtype, a->at[ravel(a->rank, a->shape, index)]);
      if (!is_ahead(f->op, v, best_value)) continue;
      best = index[axis];
      best_value = v;
    }
    want->at[i].low = (uint64_t)best;
  }
  char what[60];
  snprintf(what, sizeof what, "axis %d, %s", axis, layout_names[l]);
  expect(t, f->arg(x, axis - (l % 2 ? a->rank : 0), NX_KEEPDIMS, wide), want, SAME, what);
}

static void check_arg(trial *t) {
  static const int64_t cube[] = {4, 5, 19}, none[] = {3, 0, 2};
  const reducing *f = reducing_of(t);
  for (layout l = 0; l < LAYOUTS; l++)
    for (int32_t axis = 0; axis < 3; axis++) {
      if (!is_due(t, l, LAYOUTS)) continue;
      expect_arg(t, some_values(t, t->dtype, 3, cube, 3), l, axis);
      expect_arg(t, tame_values(t, t->dtype, 3, cube, 3), l, axis);
    }
  expect_arg(t, new_array(t, t->dtype, 3, none), CONTIGUOUS, 0);
  nx_tensor *x = tensor_of(t, new_array(t, t->dtype, 3, none));
  expect_refusal(t, f->arg(NULL, 0, 0, NX_I32), NX_INVALID_ARGUMENT, "a null operand");
  expect_refusal(t, f->arg(x, 3, 0, NX_I32), NX_INVALID_ARGUMENT, "axis 3 of rank 3");
  expect_refusal(t, f->arg(x, 1, 0, NX_I32), NX_INVALID_ARGUMENT, "over nothing");
  expect_refusal(t, f->arg(x, 0, 0, NX_F32), NX_UNSUPPORTED_DTYPE, "places that are floats");
  const int64_t long_axis[] = {(int64_t)1 << 31};
  x = nx_expand(tensor_of(t, new_array(t, t->dtype, 0, NULL)), long_axis, 1);
  expect_refusal(t, f->arg(x, 0, 0, NX_I32), NX_INVALID_ARGUMENT, "an axis of 2^31");
}

static nx_tensor *record_arg(trial *t, nx_dtype dtype) {
  const int64_t shape[] = {2, 3};
  return reducing_of(t)->arg(tensor_of(t, tame_values(t, dtype, 2, shape, 1)), 1, 0, NX_I32);
}

/* ---- scans */

static void expect_scan(trial *t, array *a, layout l, int32_t axis) {
  const reducing *f = reducing_of(t);
  nx_tensor *x = laid_out(t, a, l);
  array *want = new_array(t, t->dtype, a->rank, a->shape);
  int64_t strides[NX_MAX_RANK], index[NX_MAX_RANK];
  value *sums = room(t, (a->n + 1) * sizeof *sums);
  strides_of(a->rank, a->shape, strides);
  for (size_t i = 0; i < a->n; i++) {
    unravel(i, a->rank, a->shape, index);
    sums[i] = alone(t, f->op, decode(t->dtype, a->at[i]));
    if (index[axis]) sums[i] = joined(t, f->op, sums[i - (size_t)strides[axis]], sums[i]);
    want->at[i] = encode(t->dtype, sums[i]);
  }
  char what[80];
  snprintf(what, sizeof what, "rank %d, axis %d, %s", a->rank, axis, layout_names[l]);
  static const nx_scan_op ops[] = {NX_SCAN_SUM, NX_SCAN_PROD, NX_SCAN_MAX, NX_SCAN_MIN};
  expect_reduction(t, nx_associative_scan(x, ops[f->op], axis - (l % 2 ? a->rank : 0)), want, what);
}

static void check_scan(trial *t) {
  static const int64_t cube[] = {4, 5, 19}, none[] = {3, 0, 2}, line[] = {2100};
  reduce_op op = reducing_of(t)->op;
  for (layout l = 0; l < LAYOUTS; l++)
    for (int32_t axis = 0; axis < 3; axis++)
      if (is_due(t, l, LAYOUTS)) expect_scan(t, reducible(t, op, 3, cube), l, axis);
  expect_scan(t, reducible(t, op, 3, none), CONTIGUOUS, 1);
  if (t->format->kind < KIND_FLOAT || op == MAX || op == MIN)
    expect_scan(t, reducible(t, op, 1, line), CONTIGUOUS, 0); /* more than two blocks */
  nx_tensor *x = tensor_of(t, new_array(t, t->dtype, 3, none));
  expect_refusal(t, nx_associative_scan(NULL, NX_SCAN_SUM, 0), NX_INVALID_ARGUMENT,
                 "a null operand");
  expect_refusal(t, nx_associative_scan(x, NX_SCAN_SUM, 3), NX_INVALID_ARGUMENT,
                 "axis 3 of rank 3");
  expect_refusal(t, nx_associative_scan(x, (nx_scan_op)9, 0), NX_INVALID_ARGUMENT,
                 "a scan that does not exist");
}

static nx_tensor *record_scan(trial *t, nx_dtype dtype) {
  static const nx_scan_op ops[] = {NX_SCAN_SUM, NX_SCAN_PROD, NX_SCAN_MAX, NX_SCAN_MIN};
  const int64_t shape[] = {2, 3};
  return nx_associative_scan(tensor_of(t, tame_values(t, dtype, 2, shape, 1)),
                             ops[reducing_of(t)->op], 1);
}

#define REDUCE(name, types, op) \
  {#name, types, check_reduce, record_reduce, &(const reducing){op, nx_##name, NULL}, 0, NULL}
#define ARG(name, types, op) \
  {#name, types, check_arg, record_arg, &(const reducing){op, NULL, nx_##name}, 0, NULL}
#define SCAN(name, types, op) \
  {#name, types, check_scan, record_scan, &(const reducing){op, NULL, NULL}, 0, NULL}

#define INITIAL(name, op)             \
  {"reduce_with_initial, " #name,     \
   B | I | F | C,                     \
   check_initial,                     \
   record_initial,                    \
   &(const reducing){op, NULL, NULL}, \
   0,                                 \
   NULL}

static const operation reduce_table[] = {
    REDUCE(reduce_sum, B | I | F | C, SUM),
    REDUCE(reduce_prod, B | I | F | C, PROD),
    REDUCE(reduce_max, B | I | F | C, MAX),
    REDUCE(reduce_min, B | I | F | C, MIN),
    ARG(reduce_argmax, B | I | F | C, MAX),
    ARG(reduce_argmin, B | I | F | C, MIN),
    SCAN(scan_sum, B | I | F | C, SUM),
    SCAN(scan_prod, B | I | F | C, PROD),
    SCAN(scan_max, B | I | F | C, MAX),
    SCAN(scan_min, B | I | F | C, MIN),
    INITIAL(sum, SUM),
    INITIAL(prod, PROD),
    INITIAL(max, MAX),
    INITIAL(min, MIN),
};
const family reduce_family = {"Reductions and scans", reduce_table,
                              sizeof reduce_table / sizeof *reduce_table};
