/* SPDX-License-Identifier: ISC */
/* Loops of small steps that end by themselves, branches, and updates in them, which become one
 * kernel: beside the same in plain C, with any number of steps and in arrays of several sizes, in
 * branches and in other loops; how many kernels there are; and one that does not end. */
#include "tests/util/api.h"
#include "tests/util/executor.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TABLE = 16, MOST = 3001 };

/* What a step carries. */
typedef struct values {
  int32_t i, x[MOST], table[TABLE];
  float y[MOST];
} values;

typedef struct kind {
  int64_t n;     /* elements of x and y */
  bool known;    /* the condition is i < stop, with a constant; else i != stop, captured */
  bool branches; /* a step is one of three */
  nx_scatter_mode mode;
  int32_t first; /* of the indices that are updated: some are out of range if it is below -TABLE */
} kind;

static nx_tensor *whole(int64_t x) {
  return GOOD(nx_full(ctx, device(), NX_I32, NULL, 0, NX_INTEGER(x)));
}
static nx_tensor *input(nx_dtype t, int64_t n) {
  return GOOD(nx_placeholder(ctx, device(), t, &n, n > 0 ? 1 : 0));
}
static nx_tensor *data(nx_dtype t, int64_t n, const void *from) {
  return GOOD(nx_from_data(ctx, device(), t, &n, n > 0 ? 1 : 0, from, (size_t)(n > 0 ? n : 1) * 4));
}
static nx_function *make(nx_tensor *const *in, size_t n_in, nx_tensor *const *out, size_t n_out) {
  nx_function *f = NULL;
  OK(nx_function_create(ctx, in, n_in, out, n_out, NULL, &f));
  return f;
}

/* ---- a step, recorded and in C */

enum { CARRIED = 4 };
static void record_inputs(const kind *k, nx_tensor **in) {
  in[0] = input(NX_I32, 0);
  in[1] = input(NX_I32, k->n);
  in[2] = input(NX_F32, k->n);
  in[3] = input(NX_I32, TABLE);
  in[4] = input(NX_I32, 0); /* captured: where it stops */
}

static nx_tensor *reversed(nx_tensor *x) { return GOOD(nx_flip(x, (const int32_t[]){0}, 1)); }

/* The sum of x goes into all of x and, three times, into the table. */
static void record_plain(const kind *k, nx_tensor *const *in, nx_tensor **out) {
  const int64_t three = 3;
  nx_tensor *sum = GOOD(nx_reduce_sum(in[1], NX_ALL_AXES, 0));
  out[0] = GOOD(nx_add(in[0], whole(1)));
  out[1] = GOOD(nx_add(nx_mul(reversed(in[1]), whole(3)), nx_add(sum, in[0])));
  out[2] = GOOD(nx_add(nx_mul(reversed(in[2]), number(0.75F)), nx_cast(in[0], NX_F32)));
  nx_tensor *at = GOOD(nx_arange(ctx, device(), NX_I32, NX_NUMBER(k->first), NX_NUMBER(5), three));
  at = GOOD(nx_add(at, nx_and(in[0], whole(3))));
  nx_tensor *update = GOOD(nx_expand(nx_reshape(sum, (const int64_t[]){1}, 1, 0), &three, 1));
  out[3] = GOOD(nx_scatter(in[3], at, update, 0, k->mode, NX_DROP_OUT_OF_RANGE));
}

static int32_t wrapped(int64_t x) { return (int32_t)(uint32_t)(uint64_t)x; }

static int32_t combined(nx_scatter_mode mode, int32_t a, int32_t b) {
  switch (mode) {
    case NX_SCATTER_ADD: return wrapped((int64_t)a + b);
    case NX_SCATTER_MUL: return wrapped((int64_t)a * b);
    case NX_SCATTER_MIN: return a < b ? a : b;
    case NX_SCATTER_MAX: return a > b ? a : b;
    case NX_SCATTER_AND: return a & b;
    case NX_SCATTER_OR: return a | b;
    case NX_SCATTER_XOR: return a ^ b;
    default: return b;
  }
}

static void step_plain(const kind *k, values *v) {
  static values old;
  int64_t sum = 0;
  old = *v;
  for (int64_t a = 0; a < k->n; a++) sum += old.x[a];
  for (int64_t a = 0; a < k->n; a++) {
    float scaled = old.y[k->n - 1 - a] * 0.75F;
    v->x[a] = wrapped((int64_t)old.x[k->n - 1 - a] * 3 + wrapped(sum) + old.i);
    v->y[a] = scaled + (float)old.i;
  }
  for (int a = 0; a < 3; a++) {
    int32_t at = k->first + 5 * a + (old.i & 3);
    at += at < 0 ? TABLE : 0;
    if (at >= 0 && at < TABLE) v->table[at] = combined(k->mode, v->table[at], wrapped(sum));
  }
  v->i++;
}

/* A step of three kinds: the plain one, one that leaves nearly all, one that exchanges. */
static void record_branches(const kind *k, nx_tensor *const *in, nx_tensor **out) {
  nx_function *branches[3];
  for (int b = 0; b < 3; b++) {
    nx_tensor *own[5], *to[CARRIED];
    record_inputs(k, own);
    record_plain(k, own, to);
    for (int r = 1; r < CARRIED && b > 0; r++) to[r] = own[r];
    if (b == 2) to[1] = reversed(own[1]);
    branches[b] = make(own, 5, to, CARRIED);
  }
  nx_tensor *index = GOOD(nx_sub(nx_and(in[0], whole(3)), whole(1))); /* -1 and 2: the last one */
  OK(nx_case(index, branches, 3, in, 5, out, CARRIED));
  for (int b = 0; b < 3; b++) nx_function_release(branches[b]);
}

static void step_in_c(const kind *k, values *v) {
  static values old;
  int32_t branch = (v->i & 3) - 1;
  old = *v;
  if (!k->branches || branch == 0) step_plain(k, v);
  else v->i++;
  for (int64_t a = 0; k->branches && branch != 0 && branch != 1 && a < k->n; a++)
    v->x[a] = old.x[k->n - 1 - a];
}

static void record_step(const kind *k, nx_tensor *const *in, nx_tensor **out) {
  (k->branches ? record_branches : record_plain)(k, in, out);
}

static nx_function *condition_of(const kind *k, int32_t stop) {
  nx_tensor *in[5];
  record_inputs(k, in);
  nx_tensor *p = GOOD(k->known ? nx_cmplt(in[0], whole(stop)) : nx_cmpne(in[0], in[4]));
  return make(in, 5, &p, 1);
}

static nx_function *step_of(const kind *k) {
  nx_tensor *in[5], *out[CARRIED] = {0};
  record_inputs(k, in);
  record_step(k, in, out);
  return make(in, 5, out, CARRIED);
}

/* ---- comparison */

static void begin(const kind *k, values *v) {
  *v = (values){.i = 0};
  for (int64_t a = 0; a < k->n; a++) {
    v->x[a] = (int32_t)(a * 7919 - 12345);
    v->y[a] = (float)a * 0.37F - 2;
  }
  for (int a = 0; a < TABLE; a++) v->table[a] = a * 3 - 20;
}

static void give(const kind *k, const values *v, nx_tensor **out) {
  out[0] = data(NX_I32, 0, &v->i);
  out[1] = data(NX_I32, k->n, v->x);
  out[2] = data(NX_F32, k->n, v->y);
  out[3] = data(NX_I32, TABLE, v->table);
}

static void expect(const kind *k, nx_tensor *const *out, const values *v) {
  static values is;
  OK(nx_read(out[0], &is.i, sizeof is.i, NULL));
  OK(nx_read(out[1], is.x, (size_t)k->n * 4, NULL));
  OK(nx_read(out[2], is.y, (size_t)k->n * 4, NULL));
  OK(nx_read(out[3], is.table, sizeof is.table, NULL));
  assert_int_equal(is.i, v->i);
  assert_memory_equal(is.x, v->x, (size_t)k->n * 4);
  assert_memory_equal(is.y, v->y, (size_t)k->n * 4);
  assert_memory_equal(is.table, v->table, sizeof is.table);
}

static void run(const kind *k, int32_t steps) {
  static values v;
  nx_scope *scope = nx_scope_begin(ctx);
  nx_tensor *init[CARRIED], *out[CARRIED] = {0}, *stop = whole(steps);
  begin(k, &v);
  give(k, &v, init);
  nx_function *holds = condition_of(k, steps), *step = step_of(k);
  OK(nx_while(holds, step, init, CARRIED, &stop, 1, NULL, out, CARRIED));
  while (v.i != steps) step_in_c(k, &v);
  expect(k, out, &v);
  nx_function_release(holds);
  nx_function_release(step);
  nx_scope_end(scope);
}

static bool is_quick(void) { return device() == 0; }

static void any_number_of_steps(void **state) {
  (void)state;
  static const int32_t counts[] = {0, 1, 2, 31, 32, 33, 64, 1023, 1024, 1025, 2100};
  for (int branches = 0; branches < 2; branches++)
    for (int known = 0; known < 2; known++)
      for (size_t i = is_quick() ? 0 : 3; i < (is_quick() ? sizeof counts / sizeof *counts : 4);
           i++)
        run(&(kind){5, known, branches, NX_SCATTER_ADD, 0}, counts[i]);
}

/* Arrays that a step copies back, that alternate, and that are too large for a kernel. */
static void any_size(void **state) {
  (void)state;
  static const int64_t sizes[] = {1, 16, 333, 700, MOST};
  for (int branches = 0; branches < 2; branches++)
    for (size_t i = 0; i < (is_quick() ? sizeof sizes / sizeof *sizes : 2); i++)
      for (int32_t steps = 6; steps < 8; steps++)
        run(&(kind){sizes[i], i % 2, branches, NX_SCATTER_SET, 0}, steps);
}

static void any_update(void **state) {
  (void)state;
  for (int mode = NX_SCATTER_SET; mode <= (is_quick() ? NX_SCATTER_XOR : NX_SCATTER_SET); mode++)
    for (int32_t first = -TABLE - 6; first < TABLE; first += 9)
      run(&(kind){4, false, false, (nx_scatter_mode)mode, first}, 40);
}

/* ---- in other loops: each step of the outer one lets the inner one go on by three steps */

static nx_function *outer_step(const kind *k) {
  nx_tensor *in[6], *out[CARRIED + 1] = {0};
  record_inputs(k, in + 1);
  in[0] = input(NX_I32, 0);
  nx_function *holds = condition_of(k, 0), *step = step_of(k);
  nx_tensor *stop = GOOD(nx_mul(nx_add(in[0], whole(1)), in[5]));
  OK(nx_while(holds, step, in + 1, CARRIED, &stop, 1, NULL, out + 1, CARRIED));
  out[0] = GOOD(nx_add(in[0], whole(1)));
  nx_function_release(holds);
  nx_function_release(step);
  return make(in, 6, out, CARRIED + 1);
}

/* All of it is one kernel, or two with what makes numbers of constants. */
static void nested(void **state) {
  (void)state;
  static values v;
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  for (int branches = 0; branches < (is_quick() ? 2 : 1); branches++) {
    kind k = {7, false, branches, NX_SCATTER_XOR, 1};
    nx_tensor *in[6], *init[CARRIED + 1], *out[CARRIED + 1] = {0}, *three = whole(3);
    record_inputs(&k, in + 1);
    in[0] = input(NX_I32, 0);
    nx_tensor *p = GOOD(nx_cmplt(in[0], whole(50)));
    nx_function *below = make(in, 6, &p, 1), *step = outer_step(&k);
    begin(&k, &v);
    give(&k, &v, init + 1);
    init[0] = whole(0);
    OK(nx_while(below, step, init, CARRIED + 1, &three, 1, NULL, out, CARRIED + 1));
    OK(nx_realize(ctx, out + 1, CARRIED, &options));
    if (report.interpreted == 0 && is_quick()) assert_int_equal(report.library_calls, 0);
    if (report.interpreted == 0 && is_quick()) assert_in_range(report.kernels, 1, 3);
    while (v.i != 150) step_in_c(&k, &v);
    expect(&k, out + 1, &v);
    nx_function_release(below);
    nx_function_release(step);
  }
}

/* ---- in other loops, with counters: all of it is one kernel */

/* c < n, as frontends write it: compared to false, reduced over no axes. */
static nx_function *below_of(const kind *k, int32_t n) {
  nx_tensor *in[6];
  record_inputs(k, in + 1);
  in[0] = input(NX_I32, 0);
  nx_tensor *no = GOOD(nx_full(ctx, device(), NX_BOOL, NULL, 0, NX_INTEGER(0)));
  nx_tensor *p = GOOD(nx_cmpne(nx_cmplt(in[0], whole(n)), no));
  p = GOOD(nx_or(no, nx_reduce_max(p, (const int32_t[]){0}, 0, 0)));
  return make(in, 6, &p, 1);
}

/* A step that counts, too; with `inside`: three of them. */
static nx_function *counting_step(const kind *k, bool inside) {
  nx_tensor *in[6], *out[CARRIED + 1] = {0};
  record_inputs(k, in + 1);
  in[0] = input(NX_I32, 0);
  if (inside) {
    nx_function *below = below_of(k, 3), *step = counting_step(k, false);
    nx_tensor *init[CARRIED + 1] = {whole(0), in[1], in[2], in[3], in[4]};
    OK(nx_while(below, step, init, CARRIED + 1, &in[5], 1, NULL, out, CARRIED + 1));
    nx_function_release(below);
    nx_function_release(step);
  } else {
    record_step(k, in + 1, out + 1);
  }
  out[0] = GOOD(nx_add(in[0], whole(1)));
  return make(in, 6, out, CARRIED + 1);
}

static void nested_counters(void **state) {
  (void)state;
  static values v;
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  for (int branches = 0; branches < (is_quick() ? 2 : 1); branches++) {
    kind k = {9, true, branches, NX_SCATTER_MIN, 1};
    nx_tensor *init[CARRIED + 1], *out[CARRIED + 1] = {0}, *unused = whole(0);
    begin(&k, &v);
    give(&k, &v, init + 1);
    init[0] = whole(0);
    nx_function *below = below_of(&k, 50), *step = counting_step(&k, true);
    OK(nx_while(below, step, init, CARRIED + 1, &unused, 1, NULL, out, CARRIED + 1));
    OK(nx_realize(ctx, out + 1, CARRIED, &options));
    if (report.interpreted == 0 && is_quick()) assert_int_equal(report.library_calls, 0);
    if (report.interpreted == 0 && is_quick()) assert_in_range(report.kernels, 1, 3);
    while (v.i != 150) step_in_c(&k, &v);
    expect(&k, out + 1, &v);
    nx_function_release(below);
    nx_function_release(step);
  }
}

/* ---- what it becomes */

static void is_one_kernel(void **state) {
  (void)state;
  static values v;
  kind k = {6, true, true, NX_SCATTER_ADD, 2};
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  nx_tensor *init[CARRIED], *out[CARRIED] = {0}, *stop = whole(90);
  begin(&k, &v);
  give(&k, &v, init);
  OK(nx_realize(ctx, &stop, 1, NULL));
  nx_function *holds = condition_of(&k, 90), *step = step_of(&k);
  OK(nx_while(holds, step, init, CARRIED, &stop, 1, NULL, out, CARRIED));
  OK(nx_realize(ctx, out, CARRIED, &options));
  /* the kernels' interpreter has a machine of its own */
  if (report.interpreted == 0 && is_quick() && !nxt_executor_is("kernel-interp")) {
    assert_int_equal(report.kernels, 1);
    assert_int_equal(report.library_calls, 0);
  }
  while (v.i != 90) step_in_c(&k, &v);
  expect(&k, out, &v);
  nx_function_release(holds);
  nx_function_release(step);
}

/* A table in which each place names another: a number of steps that is in the data is taken once
 * for each element, and how many elements there are is in the data, too. */
static void chains(void **state) {
  (void)state;
  int32_t next[TABLE], x[TABLE], wanted[TABLE] = {0}, n = 13;
  for (int i = 0; i < TABLE; i++) {
    next[i] = i < 3 ? i : i / 2 + i % 3 - 1;
    x[i] = i;
  }
  for (int i = 0; i < n; i++)
    for (int32_t at = i; next[at] != at; at = next[at]) wanted[i]++;
  nx_tensor *in[3] = {input(NX_I32, 1), input(NX_I32, 0), input(NX_I32, TABLE)}, *t;
  nx_tensor *place = GOOD(nx_min(nx_max(in[0], whole(0)), whole(TABLE - 1))); /* it is so already */
  nx_tensor *to = GOOD(nx_gather(in[2], place, 0));
  t = GOOD(nx_reshape(nx_cmpne(to, in[0]), NULL, 0, 0));
  nx_function *holds = make(in, 3, &t, 1);
  nx_tensor *results[2] = {to, GOOD(nx_add(in[1], whole(1)))};
  nx_function *step = make(in, 3, results, 2);
  nx_tensor *outer[3] = {input(NX_I64, 0), input(NX_I32, TABLE), input(NX_I32, TABLE)},
            *walked[2] = {NULL, NULL};
  nx_tensor *at = GOOD(nx_reshape(nx_cast(outer[0], NX_I32), (const int64_t[]){1}, 1, 0)),
            *init[2] = {at, whole(0)};
  OK(nx_while(holds, step, init, 2, &outer[2], 1, NULL, walked, 2));
  nx_tensor *steps = GOOD(nx_reshape(walked[1], (const int64_t[]){1}, 1, 0));
  t = GOOD(nx_scatter(outer[1], at, steps, 0, NX_SCATTER_SET, NX_DROP_OUT_OF_RANGE));
  nx_function *body = make(outer, 3, &t, 1);
  nx_tensor *zeros = GOOD(nx_mul(data(NX_I32, TABLE, x), whole(0))), *count = data(NX_I32, 0, &n),
            *all = data(NX_I32, TABLE, next), *out = NULL;
  OK(nx_for(count, 0, body, &zeros, 1, &all, 1, NULL, &out, 1));
  int32_t got[TABLE];
  OK(nx_read(out, got, sizeof got, NULL));
  assert_memory_equal(got, wanted, sizeof got);
  nx_function_release(holds);
  nx_function_release(step);
  nx_function_release(body);
}

static int32_t stop_soon(void *user) { return ++*(int *)user > 3; }

/* One that does not end is stopped by the poll. */
static void without_end(void **state) {
  (void)state;
  static values v;
  kind k = {5, false, false, NX_SCATTER_ADD, 0};
  int asked = 0;
  nx_run_options options = {.size = sizeof options, .poll = stop_soon, .user = &asked};
  nx_tensor *in[5], *out[CARRIED], *init[CARRIED], *stop = whole(-1), *results[CARRIED] = {0};
  record_inputs(&k, in);
  record_plain(&k, in, out);
  out[0] = GOOD(nx_and(out[0], whole(255)));
  begin(&k, &v);
  give(&k, &v, init);
  nx_function *holds = condition_of(&k, 0), *step = make(in, 5, out, CARRIED);
  OK(nx_while(holds, step, init, CARRIED, &stop, 1, NULL, results, CARRIED));
  FAILS(NX_INTERRUPTED, nx_realize(ctx, results, CARRIED, &options));
  nx_function_release(holds);
  nx_function_release(step);
}

/* The step of a loop in which another one does not end. */
static nx_function *endless_step(const kind *k) {
  nx_tensor *in[6], *own[5], *to[CARRIED], *out[CARRIED + 1] = {0};
  record_inputs(k, own);
  record_plain(k, own, to);
  to[0] = GOOD(nx_and(to[0], whole(255)));
  nx_function *holds = condition_of(k, 0), *step = make(own, 5, to, CARRIED);
  record_inputs(k, in + 1);
  in[0] = input(NX_I32, 0);
  OK(nx_while(holds, step, in + 1, CARRIED, &in[5], 1, NULL, out + 1, CARRIED));
  out[0] = GOOD(nx_add(in[0], whole(1)));
  nx_function_release(holds);
  nx_function_release(step);
  return make(in, 6, out, CARRIED + 1);
}

/* So is one that does not end in the midst of another, by the poll and by whoever waits for an
 * event; and what it would have written over is as it was. */
static void without_end_inside(void **state) {
  (void)state;
  static values v;
  kind k = {5, false, false, NX_SCATTER_ADD, 0};
  int asked = 0;
  nx_run_options options = {.size = sizeof options, .poll = stop_soon, .user = &asked};
  nx_tensor *init[CARRIED + 1], *stop = whole(-1), *out[CARRIED + 1] = {0};
  begin(&k, &v);
  give(&k, &v, init + 1);
  init[0] = whole(0);
  nx_function *below = below_of(&k, 50), *step = endless_step(&k);
  OK(nx_while(below, step, init, CARRIED + 1, &stop, 1, NULL, out, CARRIED + 1));
  FAILS(NX_INTERRUPTED, nx_realize(ctx, out + 1, CARRIED, &options));
  nx_event *event = NULL;
  OK(nx_realize_async(ctx, out + 1, CARRIED, NULL, &event));
  const struct timespec soon = {0, 30 * 1000 * 1000};
  nanosleep(&soon, NULL);
  assert_false(nx_event_done(event));
  nx_event_cancel(event);
  FAILS(NX_INTERRUPTED, nx_event_wait(event, NULL));
  nx_event_release(event);
  expect(&k, init + 1, &v);
  nx_function_release(below);
  nx_function_release(step);
}

NXT_MAIN(loop_joined) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(any_number_of_steps),
      IN_SCOPE(any_size),
      IN_SCOPE(any_update),
      IN_SCOPE(nested),
      IN_SCOPE(nested_counters),
      IN_SCOPE(is_one_kernel),
      IN_SCOPE(chains),
      IN_SCOPE(without_end),
      IN_SCOPE(without_end_inside),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
