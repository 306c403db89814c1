/* SPDX-License-Identifier: ISC */
/* Actions that assign and then fail, because memory is exhausted or because they are interrupted,
 * leave everything unchanged: mapped memory, values, recorded operations. If they are tried again,
 * they take effect once. Each case is tested with a size that is interpreted and with one that is
 * compiled. */
#include "tests/util/api.h"

#include "ir/alloc.h"

enum { SMALL = 6, LARGE = 20000 };
static const int64_t sizes[] = {SMALL, LARGE};

static int32_t stop(void *user) {
  int *left = user;
  return (*left)-- <= 0;
}

/* Memory of the host, and its expected contents. */
typedef struct shown {
  nx_tensor *t;
  nx_mapping *m;
  float *memory, *wanted;
  int64_t n;
} shown;

static shown show(int64_t n, float value) {
  shown s = {.t = constant(n, value), .n = n};
  OK(nx_map(s.t, NX_MAP_READ | NX_MAP_WRITE, NULL, &s.m));
  s.memory = nx_mapping_base(s.m, NULL);
  s.wanted = malloc((size_t)n * sizeof(float));
  for (int64_t i = 0; i < n; i++) s.wanted[i] = value;
  return s;
}

static void expect_shown_(const shown *s, int line) {
  for (int64_t i = 0; i < s->n; i++) {
    if (s->memory[i] == s->wanted[i]) continue;
    fprintf(stderr, "line %d: element %ld is %g, not %g\n", line, (long)i, (double)s->memory[i],
            (double)s->wanted[i]);
    fail();
  }
  float *is = malloc((size_t)s->n * sizeof *is);
  OK(nx_read(s->t, is, (size_t)s->n * sizeof *is, NULL));
  assert_memory_equal(is, s->wanted, (size_t)s->n * sizeof *is);
  free(is);
}
#define EXPECT_SHOWN(s) expect_shown_(&(s), __LINE__)

static void hide(shown *s) {
  nx_mapping_release(s->m);
  release(s->t);
  free(s->wanted);
}

/* The action fails at allocation number `point`, or after `point` polls; then it is tried again
 * until it succeeds. */
typedef struct attempts {
  int64_t point;
  bool polls, over;
  int left;
  nx_run_options options;
} attempts;

static bool next(attempts *a, bool polls) {
  if (a->over) return false;
  a->polls = polls;
  a->left = (int)a->point;
  a->options =
      (nx_run_options){.size = sizeof a->options, .poll = polls ? stop : NULL, .user = &a->left};
  if (!polls) nxi_alloc_fail(a->point, false);
  a->point++;
  return true;
}

/* True if it failed, as it should have. */
static bool failed(attempts *a, nx_status status) {
  nxi_alloc_fail(-1, false);
  a->over = status == NX_OK;
  if (status) FAILS(a->polls ? NX_INTERRUPTED : NX_OUT_OF_MEMORY, status);
  else assert_int_equal(nx_error_take(NULL), NX_OK);
  assert_true(a->point < 5000);
  return status != NX_OK;
}

/* ---- calls: w changes as a whole, x in part, three outputs go to mapped tensors, one of them to a
 * part. They have several shapes, so that there are several kernels, one of which has stored its
 * result when the next one could fail */

typedef struct called {
  nx_function *f;
  shown whole, longer, parted, w, x;
  nx_tensor *out[4];
} called;

static called prepare(int64_t n) {
  called k = {.whole = show(1, 2),
              .longer = show(n + 1, 4),
              .parted = show(n + 4, 3),
              .w = show(n, 5),
              .x = show(n, 1)};
  nx_tensor *x = GOOD(nx_placeholder(ctx, device(), NX_F32, &n, 1));
  nx_tensor *total = nx_reduce_sum(nx_add(x, k.w.t), NX_AXES(0), NX_KEEPDIMS),
            *product = nx_mul(x, k.w.t),
            *longer = nx_pad(x, (int64_t[]){0}, (int64_t[]){1}, 1, NX_NUMBER(7));
  OK(nx_assign(k.w.t, GOOD(nx_add(k.w.t, x))));
  OK(nx_assign(part(x, 1, 2, 1), GOOD(nx_neg(part(k.w.t, 0, 2, 1)))));
  OK(nx_function_create(ctx, &x, 1, (nx_tensor *[]){total, product, nx_neg(product), longer}, 4,
                        NULL, &k.f));
  k.out[0] = k.whole.t;
  k.out[1] = part(k.parted.t, 2, n, 1);
  k.out[3] = k.longer.t;
  return k;
}

static void expect_called(const called *k) {
  EXPECT_SHOWN(k->whole);
  EXPECT_SHOWN(k->longer);
  EXPECT_SHOWN(k->parted);
  EXPECT_SHOWN(k->w);
  EXPECT_SHOWN(k->x);
}

/* Updates the expected contents by the effect of one call. */
static void apply(called *k) {
  int64_t n = k->w.n;
  double total = 0;
  for (int64_t i = 0; i < n; i++) {
    total += (double)(k->x.wanted[i] + k->w.wanted[i]);
    k->longer.wanted[i] = k->x.wanted[i];
    k->parted.wanted[2 + i] = k->x.wanted[i] * k->w.wanted[i];
    k->w.wanted[i] += k->x.wanted[i];
  }
  k->whole.wanted[0] = (float)total; /* of small integers: exact */
  k->longer.wanted[n] = 7;
  for (int64_t i = 0; i < 2; i++) k->x.wanted[1 + i] = -k->w.wanted[i];
}

static void finish(called *k) {
  apply(k);
  expect_called(k);
  EXPECT(part(k->out[2], 0, 1, 1), -k->parted.wanted[2]);
  nx_function_release(k->f);
  hide(&k->whole), hide(&k->longer), hide(&k->parted), hide(&k->w), hide(&k->x);
}

static void calls(bool polls) {
  for (int s = 0; s < 2; s++) {
    called k = prepare(sizes[s]);
    for (int round = 0; round < 3;
         round++) { /* in the last one the plan is there: out[2] is given from the second on */
      attempts a = {0};
      if (round) apply(&k);
      while (next(&a, polls))
        if (failed(&a, nx_function_call(k.f, &k.x.t, 1, k.out, 4, polls ? &a.options : NULL)))
          expect_called(&k);
    }
    finish(&k);
  }
}

static void starved_calls(void **state) { (void)state, calls(false); }
static void interrupted_calls(void **state) { (void)state, calls(true); }

static void starved_records(void **state) {
  (void)state;
  for (int s = 0; s < 2; s++) {
    called k = prepare(sizes[s]);
    attempts a = {0};
    while (next(&a, false))
      if (failed(&a, nx_function_record(k.f, &k.x.t, 1, k.out, 4))) expect_called(&k);
    finish(&k);
  }
}

/* ---- assigns and writes of the whole and of a part */

static void starved_assigns(void **state) {
  (void)state;
  for (int s = 0; s < 4; s++) {
    int64_t n = sizes[s & 1];
    shown x = show(n, 1);
    nx_tensor *line = vector(n, 3, 0), *sum = nx_reduce_sum(line, NX_AXES(0), 0),
              *source = nx_add(line, sum), *all = s < 2 ? x.t : part(x.t, 0, n - 1, 1);
    source = s < 2 ? source : part(source, 0, n - 1, 1);
    attempts a = {0};
    while (next(&a, false))
      if (failed(&a, nx_assign(all, source))) EXPECT_SHOWN(x);
    for (int64_t i = 0; i < (s < 2 ? n : n - 1); i++) x.wanted[i] = 3 * (float)n + 3;
    EXPECT_SHOWN(x);
    hide(&x);
  }
}

/* Memory that is mapped for reading shows an assign after it was realised; a write that fails has
 * no effect. */
static void writes(bool polls) {
  for (int s = 0; s < 4; s++) {
    int64_t n = sizes[s & 1];
    shown x = show(n, 1);
    nx_mapping *reading;
    OK(nx_map(x.t, NX_MAP_READ, NULL, &reading));
    nx_mapping_release(x.m);
    x.m = reading;
    nx_tensor *before = nx_neg(x.t), *pending = nx_add(vector(n, 1, 0), number(1));
    if (s >= 2) OK(nx_assign(x.t, pending)); /* not executed yet */
    for (int64_t i = 0; s >= 2 && i < n; i++) x.wanted[i] = 2;
    float *data = malloc((size_t)n * sizeof *data);
    for (int64_t i = 0; i < n; i++) data[i] = (float)i;
    attempts a = {0};
    while (next(&a, polls)) {
      if (!failed(&a, nx_write(x.t, data, (size_t)n * sizeof *data, polls ? &a.options : NULL)))
        break;
      if (s < 2) EXPECT_SHOWN(x);
    }
    memcpy(x.wanted, data, (size_t)n * sizeof *data);
    EXPECT_SHOWN(x);
    EXPECT(part(before, 0, 2, 1), -1, -1);
    free(data);
    hide(&x);
  }
}

static void starved_writes(void **state) { (void)state, writes(false); }
static void interrupted_writes(void **state) { (void)state, writes(true); }

/* A write that fails does not affect an earlier assign that was not executed yet; when that is
 * executed, mapped memory shows it. Each time in a new context, which has no plan for the write
 * yet. */
static void pending_beneath_a_write(void **state) {
  (void)state;
  nx_context *outer = ctx;
  nx_context_options o = {.size = sizeof o, .cache_dir = "", .threads = 1};
  const float data[SMALL] = {0};
  bool over = false;
  int failures = 0;
  for (int64_t point = 0; !over; point++) {
    OK(nx_context_create(&o, &ctx));
    nx_scope *inner = nx_scope_begin(ctx);
    nx_tensor *x = vector(SMALL, 0, 1), *line = vector(SMALL, 1, 0);
    nx_mapping *m;
    OK(nx_map(x, NX_MAP_READ, NULL, &m));
    const float *memory = nx_mapping_base(m, NULL);
    OK(nx_assign(x, GOOD(nx_add(line, number((float)point)))));
    nxi_alloc_fail(point, false);
    over = nx_write(x, data, sizeof data, NULL) == NX_OK;
    nxi_alloc_fail(-1, false);
    failures += nx_error_take(NULL) == NX_OUT_OF_MEMORY;
    OK(nx_realize(ctx, &x, 1, NULL));
    for (int i = 0; i < SMALL; i++) assert_true(memory[i] == (over ? 0 : 1 + (float)point));
    nx_mapping_release(m);
    nx_scope_end(inner);
    nx_context_release(ctx);
  }
  ctx = outer;
  assert_true(failures > 5);
}

/* ---- an output that slides over a tensor: in place, though its neighbour is read, and compiled
 * once */

static void sliding_output(void **state) {
  (void)state;
  int64_t row = 3000, rows = 20;
  nx_tensor *x = GOOD(nx_placeholder(ctx, device(), NX_F32, &row, 1)), *y = nx_add(x, number(1)),
            *into = constant(row * rows, 0), *given = vector(row, 0, 1);
  nx_function *f;
  OK(nx_function_create(ctx, &x, 1, &y, 1, NULL, &f));
  OK(nx_realize(ctx, (nx_tensor *[]){into, given}, 2, NULL));
  nx_stats before = {.size = sizeof before}, after = {.size = sizeof after};
  for (int64_t i = 0; i < rows; i++) {
    nx_report r = {.size = sizeof r};
    nx_run_options o = {.size = sizeof o, .report = &r};
    nx_tensor *out = part(into, i * row, row, 1),
              *in = i ? part(into, (i - 1) * row, row, 1) : given;
    OK(nx_function_call(f, &in, 1, &out, 1, &o));
    if (!r.interpreted)
      assert_in_range(r.planned_bytes, 0, 64 + row * 4); /* not the whole tensor */
    if (i == 1) nx_context_stats(ctx, &before);
  }
  nx_context_stats(ctx, &after);
  assert_int_equal(after.kernels_compiled, before.kernels_compiled);
  EXPECT(part(into, rows * row - 2, 2, 1), (float)(row - 2 + rows), (float)(row - 1 + rows));
  nx_function_release(f);
}

static nx_scope *scope;
static int begin(void **state) {
  (void)state;
  scope = nx_scope_begin(ctx);
  return !scope;
}
static int end(void **state) {
  (void)state;
  nx_scope_end(scope);
  return nx_error_take(NULL) != NX_OK;
}

NXT_MAIN(undo) {
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      T(starved_calls),  T(interrupted_calls),  T(starved_records),         T(starved_assigns),
      T(starved_writes), T(interrupted_writes), T(pending_beneath_a_write), T(sliding_output)};
#undef T
  return cmocka_run_group_tests(tests, open_context, close_context);
}
