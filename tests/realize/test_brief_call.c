/* SPDX-License-Identifier: ISC */
/* Brief calls of functions: whole arrays into new tensors, or into whole arrays that nobody else
 * looks at, with the same bits as in the general way; and whatever is unusual goes the general
 * way. */
#include <pthread.h>

#include "codegen_llvm/codegen_llvm.h"
#include "ir/alloc.h"
#include "runtime/record/context.h"
#include "tests/util/api.h"
#include "tests/util/executor.h"

enum { N = 12 };

static float values[2][N];

static nx_tensor *operand(int which, float add) {
  const int64_t n = N;
  float x[N];
  for (int i = 0; i < N; i++) {
    values[which][i] = (float)(which ? 3 - i : i * i) * 0.37f + add;
    x[i] = values[which][i];
  }
  return GOOD(nx_from_data(ctx, 0, NX_F32, &n, 1, x, sizeof x));
}

static bool compiles(void) {
  const char *debug = getenv("NX_DEBUG");
  return !nxl_unavailable() && (nxt_executor_is("") || nxt_executor_is("llvm")) &&
         (!debug || !strcmp(debug, "verify"));
}

/* ---- functions of two inputs and one or two results */

typedef struct program {
  int n_out;
  void (*record)(nx_tensor *a, nx_tensor *b, nx_tensor **out);
} program;

static void difference(nx_tensor *a, nx_tensor *b, nx_tensor **out) { out[0] = nx_sub(a, b); }
static void chain(nx_tensor *a, nx_tensor *b, nx_tensor **out) {
  out[0] = nx_sqrt(nx_add(nx_mul(a, a), nx_mul(nx_sub(b, a), b)));
}
static void both(nx_tensor *a, nx_tensor *b, nx_tensor **out) {
  out[0] = nx_add(a, b);
  out[1] = nx_reduce_sum(nx_mul(a, b), NX_AXES(0), 0);
}
static void spectrum(nx_tensor *a, nx_tensor *b, nx_tensor **out) {
  out[0] = nx_rfft(a, NX_AXES(0));
  out[1] = nx_neg(b);
}
static const program programs[] = {{1, difference}, {1, chain}, {2, both}, {2, spectrum}};
enum { PROGRAMS = sizeof programs / sizeof *programs };

static nx_function *create(const program *p, const uint8_t *donate) {
  const int64_t n = N;
  nx_tensor *in[2] = {GOOD(nx_placeholder(ctx, 0, NX_F32, &n, 1)),
                      GOOD(nx_placeholder(ctx, 0, NX_F32, &n, 1))};
  nx_tensor *out[2];
  nx_function_options o = {.size = sizeof o, .donate = donate};
  nx_function *f;
  p->record(in[0], in[1], out);
  OK(nx_function_create(ctx, in, 2, out, (size_t)p->n_out, donate ? &o : NULL, &f));
  return f;
}

static size_t bytes_of(nx_tensor *t) {
  return (size_t)nx_elements(t) * (nx_dtype_of(t) == NX_C64 ? 8 : 4);
}

/* Calls until a call was brief. */
static void warm(nx_function *f, nx_tensor **in, nx_tensor **out, int n_out) {
  uint64_t before = ctx->brief_runs;
  for (int i = 0; compiles() && ctx->brief_runs == before; i++) {
    OK(nx_function_call(f, in, 2, out, (size_t)n_out, NULL));
    if (i == 200000) fail_msg("no call was brief");
  }
}

static void same_bits(void **state) {
  (void)state;
  for (int g = 0; g < PROGRAMS; g++) {
    const program *p = &programs[g];
    nx_function *f = create(p, NULL);
    nx_tensor *in[2] = {operand(0, 0), operand(1, 0)}, *out[2] = {NULL, NULL};
    OK(nx_function_call(f, in, 2, out, (size_t)p->n_out, NULL));
    warm(f, in, out, p->n_out);
    for (int turn = 0; turn < 3; turn++) {
      nx_tensor *other[2] = {operand(0, (float)turn), operand(1, (float)-turn)};
      nx_tensor *wanted[2] = {NULL, NULL};
      nx_report r = {.size = sizeof r};
      nx_run_options o = {.size = sizeof o, .report = &r};
      OK(nx_function_call(f, other, 2, wanted, (size_t)p->n_out, &o));
      assert_int_equal(r.runs, 1);
      uint64_t before = ctx->brief_runs;
      OK(nx_function_call(f, other, 2, out, (size_t)p->n_out, NULL));
      if (compiles()) assert_int_equal(ctx->brief_runs, before + 1);
      for (int i = 0; i < p->n_out; i++) {
        char is[8 * N], want[8 * N];
        OK(nx_read(out[i], is, bytes_of(out[i]), NULL));
        OK(nx_read(wanted[i], want, bytes_of(wanted[i]), NULL));
        assert_memory_equal(is, want, bytes_of(out[i]));
      }
    }
    nx_function_release(f);
  }
}

/* What takes no longer than a call is done, the rest is not begun. */
static void at_once(void **state) {
  (void)state;
  const program *p = &programs[0];
  nx_function *f = create(p, NULL);
  nx_tensor *in[2] = {operand(0, 0), operand(1, 0)}, *out[2] = {NULL, NULL}, *own[2] = {NULL, NULL};
  const nx_run_options o = {.size = sizeof o, .flags = NX_AT_ONCE};
  FAILS(NX_INTERRUPTED, nx_function_call(f, in, 2, out, (size_t)p->n_out, &o));
  assert_null(out[0]);
  OK(nx_function_call(f, in, 2, out, (size_t)p->n_out, NULL));
  warm(f, in, own, p->n_out); /* own is new, and then there */
  warm(f, in, own, p->n_out);
  if (compiles()) {
    OK(nx_function_call(f, in, 2, own, (size_t)p->n_out, &o));
    char is[8 * N], want[8 * N];
    OK(nx_read(own[0], is, bytes_of(own[0]), NULL));
    OK(nx_read(out[0], want, bytes_of(out[0]), NULL));
    assert_memory_equal(is, want, bytes_of(out[0]));
  }
  in[1] = GOOD(nx_add(in[1], in[1])); /* it would have to be computed first */
  FAILS(NX_INTERRUPTED, nx_function_call(f, in, 2, own, (size_t)p->n_out, &o));
  FAILS(NX_INVALID_ARGUMENT, nx_function_call(f, in, 1, own, (size_t)p->n_out, &o));
  nx_function_release(f);
}

/* ---- new tensors */

/* Which results the caller gives: bit i of `given`. */
static void check_new(const program *p, int given) {
  nx_function *f = create(p, NULL);
  nx_tensor *in[2] = {operand(0, 0), operand(1, 0)}, *own[2] = {NULL, NULL}, *wanted[2];
  OK(nx_function_call(f, in, 2, own, (size_t)p->n_out, NULL));
  uint64_t before = ctx->brief_runs, first = before;
  for (int turn = 0; turn < 20 || (compiles() && first == before); turn++) {
    nx_tensor *other[2] = {operand(0, (float)(turn % 9)), operand(1, (float)-turn)}, *out[2];
    nx_report r = {.size = sizeof r};
    nx_run_options o = {.size = sizeof o, .report = &r};
    for (int i = 0; i < p->n_out; i++) {
      wanted[i] = NULL;
      out[i] = given >> i & 1 ? own[i] : NULL;
    }
    OK(nx_function_call(f, other, 2, wanted, (size_t)p->n_out, &o));
    before = ctx->brief_runs;
    OK(nx_function_call(f, other, 2, out, (size_t)p->n_out, NULL));
    first = ctx->brief_runs; /* more than `before` from the first brief call on */
    for (int i = 0; i < p->n_out; i++) {
      char is[8 * N], want[8 * N];
      assert_true((out[i] == own[i]) == (given >> i & 1));
      OK(nx_read(out[i], is, bytes_of(out[i]), NULL));
      OK(nx_read(wanted[i], want, bytes_of(wanted[i]), NULL));
      assert_memory_equal(is, want, bytes_of(out[i]));
      if (out[i] != own[i]) release(out[i]);
      release(wanted[i]);
    }
    release(other[0]);
    release(other[1]);
    if (turn == 200000) fail_msg("no call was brief");
  }
  nx_function_release(f);
}

static void new_results(void **state) {
  (void)state;
  for (int g = 0; g < PROGRAMS; g++)
    for (int given = 0; given < 1 << programs[g].n_out; given++) check_new(&programs[g], given);
}

/* A new result is a tensor like any other: it can be kept, recorded with, and overwritten. */
static void new_results_are_kept(void **state) {
  (void)state;
  nx_function *f = create(&programs[0], NULL);
  nx_tensor *in[2] = {operand(0, 0), operand(1, 0)}, *kept[8];
  uint64_t before = ctx->brief_runs;
  for (int i = 0; compiles() && ctx->brief_runs == before; i++) {
    nx_tensor *out = NULL;
    OK(nx_function_call(f, in, 2, &out, 1, NULL));
    release(out);
    if (i == 200000) fail_msg("no call was brief");
  }
  for (int i = 0; i < 8; i++) {
    kept[i] = NULL;
    nx_tensor *x = operand(0, (float)i), *two[2] = {x, in[1]};
    OK(nx_function_call(f, two, 2, &kept[i], 1, NULL));
    if (i == 3) OK(nx_assign(kept[i], GOOD(nx_neg(kept[i]))));
  }
  for (int i = 0; i < 8; i++) {
    float is[N];
    operand(0, (float)i);
    OK(nx_read(kept[i], is, sizeof is, NULL));
    for (int k = 0; k < N; k++)
      assert_true(is[k] == (i == 3 ? -1.0f : 1.0f) * (values[0][k] - values[1][k]));
  }
  nx_function_release(f);
}

/* ---- what goes the general way: a function of the difference, and arguments of all kinds */

typedef struct scene {
  nx_function *f;
  nx_tensor *in[2], *out;
  uint64_t before;
} scene;

static scene begin(void) {
  scene s = {create(&programs[0], NULL), {operand(0, 0), operand(1, 0)}, NULL, 0};
  OK(nx_function_call(s.f, s.in, 2, &s.out, 1, NULL));
  warm(s.f, s.in, &s.out, 1);
  s.before = ctx->brief_runs;
  return s;
}

/* The values of t are `sign` times the difference, and `add`. */
static void expect(nx_tensor *t, float sign, float add) {
  float is[N];
  OK(nx_read(t, is, sizeof is, NULL));
  for (int i = 0; i < N; i++) assert_true(is[i] == sign * (values[0][i] - values[1][i]) + add);
}

/* Both values change, so that an old result is another one. */
static void change(scene *s) {
  s->in[0] = operand(0, 2);
  s->in[1] = operand(1, 5);
}

static void end(const scene *s, int brief) {
  if (compiles()) assert_int_equal(ctx->brief_runs, s->before + (uint64_t)brief);
  nx_function_release(s->f);
}

static void old_values(void **state) {
  (void)state;
  scene s = begin();
  nx_tensor *pending = GOOD(nx_neg(s.out)); /* of the old value, computed later */
  const int64_t n = N;
  nx_tensor *holder = GOOD(nx_full_f64(ctx, 0, NX_F32, &n, 1, 7));
  float old[N], is[N];
  OK(nx_read(s.out, old, sizeof old, NULL));
  change(&s);
  OK(nx_function_call(s.f, s.in, 2, &s.out, 1, NULL));
  expect(s.out, 1, 0);
  OK(nx_read(pending, is, sizeof is, NULL));
  for (int i = 0; i < N; i++) assert_true(is[i] == -old[i]);
  OK(nx_read(s.out, old, sizeof old, NULL));
  OK(nx_assign(holder, s.out)); /* two storages of one value */
  s.in[0] = operand(0, 11);
  s.before = ctx->brief_runs;
  OK(nx_function_call(s.f, s.in, 2, &s.out, 1, NULL));
  expect(s.out, 1, 0);
  OK(nx_read(holder, is, sizeof is, NULL));
  assert_memory_equal(is, old, sizeof is);
  end(&s, 0);
}

static void arguments(void **state) {
  (void)state;
  scene s = begin();
  nx_tensor *x = operand(0, 0), *in[2] = {x, s.in[1]}, *out = NULL;
  OK(nx_function_call(s.f, in, 2, &out, 1, NULL)); /* a new result: brief if its code is there */
  expect(out, 1, 0);
  s.before = ctx->brief_runs;
  OK(nx_function_call(s.f, in, 2, &x, 1, NULL)); /* an input */
  expect(x, 1, 0);
  const int64_t twice = 2 * N;
  nx_tensor *wide = vector(twice, 0, 1), *half = part(wide, N, N, 1), *upper = part(wide, 0, N, 1);
  OK(nx_realize(ctx, &wide, 1, NULL));
  OK(nx_function_call(s.f, s.in, 2, &half, 1, NULL)); /* a part */
  expect(half, 1, 0);
  for (int i = 0; i < N; i++) {
    values[0][i] = (float)i;
    values[1][i] = 0;
  }
  expect(upper, 1, 0);
  nx_tensor *views[2] = {part(wide, 0, N, 1), part(constant(N, 0), 0, N, 1)};
  OK(nx_function_call(s.f, views, 2, &s.out, 1, NULL));
  expect(s.out, 1, 0);
  end(&s, 0);
}

static void host_memory(void **state) {
  (void)state;
  scene s = begin();
  nx_mapping *m;
  OK(nx_map(s.out, NX_MAP_READ, NULL, &m));
  const float *at = nx_mapping_base(m, NULL);
  change(&s);
  OK(nx_function_call(s.f, s.in, 2, &s.out, 1, NULL));
  for (int i = 0; i < N; i++) assert_true(at[i] == values[0][i] - values[1][i]);
  nx_mapping_release(m);
  static float memory[N];
  const int64_t n = N;
  nx_import_desc d = {.size = sizeof d,
                      .mode = NX_IMPORT_SHARED,
                      .dtype = NX_F32,
                      .rank = 1,
                      .shape = &n,
                      .base = memory,
                      .bytes = sizeof memory};
  nx_tensor *shared;
  OK(nx_import(ctx, &d, &shared));
  s.before = ctx->brief_runs;
  for (int turn = 0; turn < 2; turn++) {
    change(&s);
    OK(nx_function_call(s.f, s.in, 2, &shared, 1, NULL));
    for (int i = 0; i < N; i++) assert_true(memory[i] == values[0][i] - values[1][i]);
  }
  end(&s, 0);
  release(shared);
}

/* An input whose value is not computed yet is computed; then the call is brief again. */
static void pending_inputs(void **state) {
  (void)state;
  scene s = begin();
  nx_tensor *in[2] = {GOOD(nx_add(s.in[0], s.in[1])), s.in[1]};
  OK(nx_function_call(s.f, in, 2, &s.out, 1, NULL));
  for (int i = 0; i < N; i++) values[0][i] += values[1][i];
  expect(s.out, 1, 0);
  s.before = ctx->brief_runs;
  OK(nx_function_call(s.f, in, 2, &s.out, 1, NULL));
  expect(s.out, 1, 0);
  end(&s, 1);
}

/* One tensor as both inputs; and results whose shapes were exchanged are refused as ever. */
static void same_value_twice(void **state) {
  (void)state;
  scene s = begin();
  nx_tensor *in[2] = {s.in[0], s.in[0]};
  for (int i = 0; i < 2; i++) OK(nx_function_call(s.f, in, 2, &s.out, 1, NULL));
  float is[N];
  OK(nx_read(s.out, is, sizeof is, NULL));
  for (int i = 0; i < N; i++) assert_true(is[i] == 0);
  nx_function *two = create(&programs[2], NULL);
  nx_tensor *out[2] = {NULL, NULL};
  OK(nx_function_call(two, s.in, 2, out, 2, NULL));
  warm(two, s.in, out, 2);
  nx_tensor *exchanged[2] = {out[1], out[0]};
  FAILS(NX_INVALID_ARGUMENT, nx_function_call(two, s.in, 2, exchanged, 2, NULL));
  nx_function_release(two);
  nx_function_release(s.f);
}

static void donated(void **state) {
  (void)state;
  const uint8_t donate[] = {1, 0};
  nx_function *f = create(&programs[0], donate);
  nx_tensor *in[2] = {operand(0, 0), operand(1, 0)}, *out = NULL;
  OK(nx_function_call(f, in, 2, &out, 1, NULL));
  for (int i = 0; i < 3; i++) {
    in[0] = operand(0, (float)i);
    OK(nx_function_call(f, in, 2, &out, 1, NULL));
    expect(out, 1, 0);
    float is[N];
    FAILS(NX_DONATED, nx_read(in[0], is, sizeof is, NULL));
  }
  nx_function_release(f);
}

static void failing_allocations(void **state) {
  (void)state;
  scene s = begin();
  for (int fail_at = 0; fail_at < 40; fail_at++) {
    s.in[0] = operand(0, (float)fail_at);
    nxi_alloc_fail(fail_at / 2, fail_at % 2);
    nx_status status = nx_function_call(s.f, s.in, 2, &s.out, 1, NULL);
    nxi_alloc_fail(-1, false);
    if (status) FAILS(NX_OUT_OF_MEMORY, status);
    else expect(s.out, 1, 0);
  }
  for (int fail_at = 0; fail_at < 40; fail_at++) { /* of new tensors */
    nx_tensor *out = NULL;
    nxi_alloc_fail(fail_at / 2, fail_at % 2);
    nx_status status = nx_function_call(s.f, s.in, 2, &out, 1, NULL);
    nxi_alloc_fail(-1, false);
    assert_true((status == NX_OK) == (out != NULL));
    if (status) FAILS(NX_OUT_OF_MEMORY, status);
    else expect(out, 1, 0);
    release(out);
  }
  nx_function_release(s.f);
}

/* ---- threads: results of their own, and one that all write */

enum { ROUNDS = 3000, THREADS = 4 };

typedef struct work {
  nx_function *f;
  nx_tensor *in[2], *own, *common;
  float wanted[N];
  bool good;
} work;

static void *call_and_read(void *arg) {
  work *w = arg;
  w->good = true;
  for (int i = 0; w->good && i < ROUNDS; i++) {
    float own[N] = {0}, common[N] = {0};
    w->good = !nx_function_call(w->f, w->in, 2, &w->own, 1, NULL) &&
              !nx_function_call(w->f, w->in, 2, &w->common, 1, NULL) &&
              !nx_read(w->own, own, sizeof own, NULL) &&
              !nx_read(w->common, common, sizeof common, NULL);
    for (int k = 0; k < N; k++) {
      w->good &= own[k] == w->wanted[k];
      w->good &= common[k] - common[0] == w->wanted[k] - w->wanted[0];
    }
  }
  return NULL;
}

static void threads(void **state) {
  (void)state;
  scene s = begin();
  pthread_t thread[THREADS];
  work w[THREADS];
  const int64_t n = N;
  for (int i = 0; i < THREADS; i++) {
    float x[N], zero[N] = {0};
    for (int k = 0; k < N; k++) w[i].wanted[k] = x[k] = (float)(k + 100 * i);
    w[i].f = s.f;
    w[i].in[0] = GOOD(nx_from_data(ctx, 0, NX_F32, &n, 1, x, sizeof x));
    w[i].in[1] = GOOD(nx_from_data(ctx, 0, NX_F32, &n, 1, zero, sizeof zero));
    w[i].own = NULL;
    OK(nx_function_call(s.f, w[i].in, 2, &w[i].own, 1, NULL));
    w[i].common = s.out;
  }
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&thread[i], NULL, call_and_read, &w[i]), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < THREADS; i++) assert_true(w[i].good);
  nx_function_release(s.f);
}

NXT_MAIN(brief_call) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(same_bits),           IN_SCOPE(new_results),      IN_SCOPE(new_results_are_kept),
      IN_SCOPE(old_values),          IN_SCOPE(arguments),        IN_SCOPE(host_memory),
      IN_SCOPE(pending_inputs),      IN_SCOPE(same_value_twice), IN_SCOPE(donated),
      IN_SCOPE(failing_allocations), IN_SCOPE(threads),          IN_SCOPE(at_once),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
