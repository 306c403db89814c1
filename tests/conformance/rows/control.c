/* SPDX-License-Identifier: ISC */
/* Loops and branches. Their bodies move elements, so that they have every type and every bit shows:
 * two carried values change places and one of them is turned around, which numbers of steps tell
 * apart. The reference does the steps one after the other. */
#include "../conformance.h"

#include <string.h>

enum { ROWS = 2, COLUMNS = 3, N = ROWS * COLUMNS, STEPS = 7, MANY = 19 };
static const int64_t shape[] = {ROWS, COLUMNS};

/* ---- bodies */

static nx_function *made(trial *t, nx_tensor **in, size_t n_in, nx_tensor **out, size_t n_out) {
  nx_function *f = NULL;
  nx_status status = nx_function_create(t->context, in, n_in, out, n_out, NULL, &f);
  expect_status(t, status, NX_OK, "a body");
  return f;
}

static nx_tensor *placeholder(trial *t, nx_dtype dtype, int32_t rank) {
  return nx_placeholder(t->context, t->device, dtype, shape, rank);
}

static nx_tensor *integer(trial *t, nx_dtype dtype, int64_t x) {
  return nx_full_i64(t->context, t->device, dtype, NULL, 0, x);
}

/* (i, a, b, limit) -> i < limit */
static nx_function *below(trial *t, nx_dtype dtype) {
  nx_tensor *in[4] = {placeholder(t, NX_I32, 0), placeholder(t, dtype, 2), placeholder(t, dtype, 2),
                      placeholder(t, NX_I32, 0)},
            *less = nx_cmplt(in[0], in[3]);
  return made(t, in, 4, &less, 1);
}

/* (i, a, b, limit) -> i + 1, b, a turned around */
static nx_function *exchange(trial *t, nx_dtype dtype) {
  nx_tensor *in[4] = {placeholder(t, NX_I32, 0), placeholder(t, dtype, 2), placeholder(t, dtype, 2),
                      placeholder(t, NX_I32, 0)},
            *out[3] = {nx_add(in[0], integer(t, NX_I32, 1)), in[2], nx_flip(in[1], NX_AXES(0, 1))};
  return made(t, in, 4, out, 3);
}

/* (step, x, y) -> of every other step x turned around along the columns, else y along the rows */
static nx_function *by_number(trial *t, nx_dtype dtype) {
  nx_tensor *in[3] = {placeholder(t, NX_I64, 0), placeholder(t, dtype, 2),
                      placeholder(t, dtype, 2)};
  nx_tensor *odd = nx_cast(nx_and(in[0], integer(t, NX_I64, 1)), NX_BOOL);
  nx_tensor *y = nx_where(odd, nx_flip(in[1], NX_AXES(1)), nx_flip(in[2], NX_AXES(0)));
  return made(t, in, 3, &y, 1);
}

/* (x, slice) -> the slice turned around, x */
static nx_function *delay(trial *t, nx_dtype dtype) {
  nx_tensor *in[2] = {placeholder(t, dtype, 2), placeholder(t, dtype, 2)},
            *out[2] = {nx_flip(in[1], NX_AXES(0, 1)), in[0]};
  return made(t, in, 2, out, 2);
}

/* ---- the reference */

static void turn(const bits *from, bits *to, bool rows, bool columns) {
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++)
      to[(rows ? ROWS - 1 - i : i) * COLUMNS + (columns ? COLUMNS - 1 - j : j)] =
          from[i * COLUMNS + j];
}

static array *copy_of(trial *t, const array *a) {
  array *b = new_array(t, a->dtype, a->rank, a->shape);
  memcpy(b->at, a->at, a->n * sizeof *a->at);
  return b;
}

/* ---- while */

static nx_status run_while(trial *t, nx_dtype dtype, nx_tensor *a, nx_tensor *b, int64_t steps,
                           nx_tensor **out) {
  nx_function *cond = below(t, dtype), *body = exchange(t, dtype);
  nx_tensor *init[3] = {integer(t, NX_I32, 0), a, b}, *limit = integer(t, NX_I32, steps);
  nx_status status = nx_while(cond, body, init, 3, &limit, 1, NULL, out, 3);
  nx_function_release(cond);
  nx_function_release(body);
  return status;
}

static void check_while(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    int64_t steps = l % 2 ? MANY : l / 2 % 2 ? STEPS : 0;
    array *a = some_values(t, t->dtype, 2, shape, l), *b = some_values(t, t->dtype, 2, shape, 9);
    nx_tensor *x = laid_out(t, a, l), *out[3] = {NULL, NULL, NULL};
    expect_status(t, run_while(t, t->dtype, x, tensor_of(t, b), steps, out), NX_OK,
                  layout_names[l]);
    array *p = copy_of(t, a), *q = copy_of(t, b);
    for (int64_t i = 0; i < steps; i++) {
      array *turned = new_array(t, t->dtype, 2, shape);
      turn(p->at, turned->at, true, true);
      p = q;
      q = turned;
    }
    expect(t, out[1], p, SAME_BITS, "the first carried value");
    expect(t, out[2], q, SAME_BITS, "the second one");
  }
  nx_tensor *wrong = nx_permute(tensor_of(t, some_values(t, t->dtype, 2, shape, 1)), NX_AXES(1, 0)),
            *out[3] = {NULL, NULL, NULL};
  expect_status(t, run_while(t, t->dtype, wrong, wrong, 1, out), NX_INVALID_ARGUMENT,
                "an initial value of another shape");
}
static nx_tensor *record_while(trial *t, nx_dtype dtype) {
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 2, shape, 1)), *out[3] = {NULL, NULL, NULL};
  run_while(t, dtype, x, x, 2, out);
  return out[1];
}

/* ---- for */

static nx_tensor *run_for(trial *t, nx_dtype dtype, nx_tensor *x, nx_tensor *y, nx_tensor *count,
                          int64_t steps) {
  nx_tensor *out = NULL;
  nx_function *body = by_number(t, dtype);
  nx_for(count, steps, body, &x, 1, &y, 1, NULL, &out, 1);
  nx_function_release(body);
  return out;
}

static void check_for(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    int64_t steps = l % 2 ? MANY : STEPS;
    array *a = some_values(t, t->dtype, 2, shape, l), *b = some_values(t, t->dtype, 2, shape, 9);
    nx_tensor *x = laid_out(t, a, l), *y = tensor_of(t, b),
              *count = l < 3 ? NULL : integer(t, l == 3 ? NX_I32 : NX_I64, steps);
    nx_tensor *got = run_for(t, t->dtype, x, y, count, steps);
    array *want = copy_of(t, a);
    for (int64_t i = 0; i < steps; i++) {
      array *next = new_array(t, t->dtype, 2, shape);
      turn(i % 2 ? want->at : b->at, next->at, i % 2 == 0, i % 2 == 1);
      want = next;
    }
    expect(t, got, want, SAME_BITS, layout_names[l]);
    expect(t, run_for(t, t->dtype, x, y, integer(t, NX_I64, -3), 0), a, SAME_BITS, "-3 steps");
  }
  nx_tensor *x = tensor_of(t, some_values(t, t->dtype, 2, shape, 1));
  expect_refusal(
      t, run_for(t, t->dtype, x, x, nx_full_f64(t->context, t->device, NX_F32, NULL, 0, 1), 0),
      NX_UNSUPPORTED_DTYPE, "a count that is a float");
}
static nx_tensor *record_for(trial *t, nx_dtype dtype) {
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 2, shape, 1));
  return run_for(t, dtype, x, x, NULL, 2);
}

/* ---- scan */

static nx_status run_scan(trial *t, nx_dtype dtype, nx_tensor *x, nx_tensor *stack, int64_t steps,
                          bool reverse, nx_tensor **out) {
  nx_loop_options o = {.size = sizeof o, .reverse = reverse};
  nx_function *body = delay(t, dtype);
  nx_status status = nx_scan(body, steps, &x, 1, NULL, 0, &stack, 1, &o, out, 2);
  nx_function_release(body);
  return status;
}

static void check_scan(trial *t) {
  const int64_t stacked[] = {STEPS, ROWS, COLUMNS};
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    bool reverse = l % 2;
    array *a = some_values(t, t->dtype, 2, shape, 9), *s = some_values(t, t->dtype, 3, stacked, l);
    nx_tensor *stack = laid_out(t, s, l), *out[2] = {NULL, NULL};
    expect_status(t, run_scan(t, t->dtype, tensor_of(t, a), stack, STEPS, reverse, out), NX_OK,
                  layout_names[l]);
    array *last = copy_of(t, a), *all = new_array(t, t->dtype, 3, stacked);
    for (int i = 0; i < STEPS; i++) {
      int at = reverse ? STEPS - 1 - i : i;
      memcpy(all->at + (size_t)at * N, last->at, N * sizeof *last->at);
      turn(s->at + (size_t)at * N, last->at, true, true);
    }
    expect(t, out[0], last, SAME_BITS, "the carried value");
    expect(t, out[1], all, SAME_BITS, "the stack");
  }
  nx_tensor *x = tensor_of(t, some_values(t, t->dtype, 2, shape, 1)), *out[2] = {NULL, NULL};
  expect_status(t, run_scan(t, t->dtype, x, x, STEPS, false, out), NX_INVALID_ARGUMENT,
                "a stack that is none");
}
static nx_tensor *record_scan(trial *t, nx_dtype dtype) {
  const int64_t stacked[] = {STEPS, ROWS, COLUMNS};
  nx_tensor *out[2] = {NULL, NULL};
  run_scan(t, dtype, tensor_of(t, tame_values(t, dtype, 2, shape, 1)),
           tensor_of(t, tame_values(t, dtype, 3, stacked, 2)), STEPS, false, out);
  return out[1];
}

/* ---- case */

static nx_tensor *run_case(trial *t, nx_dtype dtype, nx_tensor *index, nx_tensor *x, nx_tensor *y) {
  nx_function *branches[3];
  nx_tensor *out = NULL;
  for (int k = 0; k < 3; k++) {
    nx_tensor *in[2] = {placeholder(t, dtype, 2), placeholder(t, dtype, 2)},
              *result = k == 0   ? in[0]
                        : k == 1 ? nx_flip(in[0], NX_AXES(0, 1))
                                 : in[1];
    branches[k] = made(t, in, 2, &result, 1);
  }
  nx_case(index, branches, 3, (nx_tensor *[]){x, y}, 2, &out, 1);
  for (int k = 0; k < 3; k++) nx_function_release(branches[k]);
  return out;
}

static void check_case(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    array *a = some_values(t, t->dtype, 2, shape, l), *b = some_values(t, t->dtype, 2, shape, 9);
    nx_tensor *x = laid_out(t, a, l), *y = tensor_of(t, b);
    array *turned = new_array(t, t->dtype, 2, shape);
    turn(a->at, turned->at, true, true);
    nx_dtype dtype = l % 2 ? NX_I64 : NX_I32;
    expect(t, run_case(t, t->dtype, integer(t, dtype, 0), x, y), a, SAME_BITS, "branch 0");
    expect(t, run_case(t, t->dtype, integer(t, NX_BOOL, 1), x, y), turned, SAME_BITS, "true");
    expect(t, run_case(t, t->dtype, integer(t, dtype, -5), x, y), b, SAME_BITS,
           "an index that no branch has");
  }
  nx_tensor *x = tensor_of(t, some_values(t, t->dtype, 2, shape, 1));
  expect_refusal(t, run_case(t, t->dtype, integer(t, NX_U8, 0), x, x), NX_UNSUPPORTED_DTYPE,
                 "an index of u8");
}
static nx_tensor *record_case(trial *t, nx_dtype dtype) {
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 2, shape, 1));
  return run_case(t, dtype, integer(t, NX_I32, 1), x, x);
}

static const operation control_table[] = {
    {"while", ALL, check_while, record_while, NULL, 0, NULL},
    {"for", ALL, check_for, record_for, NULL, 0, NULL},
    {"scan", ALL, check_scan, record_scan, NULL, 0, NULL},
    {"case", ALL, check_case, record_case, NULL, 0, NULL},
};
const family control_family = {"Loops and branches", control_table,
                               sizeof control_table / sizeof *control_table};
