/* SPDX-License-Identifier: ISC */
/* Custom operations: functions of the caller as operations. Free ones are merged, dropped and
 * called again; ordered ones are called once, in the order of their recording, whatever fails. Also
 * run with the thread sanitizer. */
#include "tests/util/api.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- what the functions note */

enum { MOST_CALLS = 64 };
static atomic_int calls, released;
static float seen[MOST_CALLS]; /* first elements of first operands, in the order of calls */
static nx_tensor *inner;       /* what a function that realises reads */

static void note(const nx_custom_call *k) {
  int at = atomic_fetch_add(&calls, 1);
  const nx_array *a = k->operands;
  if (at < MOST_CALLS && k->n_operands && a->dtype == NX_F32 && a->elements)
    seen[at] = *(const float *)a->data;
}

static void count_release(void *user) {
  (void)user;
  atomic_fetch_add(&released, 1);
}

/* y = 2 x, and, if there is a second result, the sum of x. */
static nx_status twice(const nx_custom_call *k) {
  const nx_array *x = &k->operands[0], *y = &k->results[0];
  double sum = 0;
  note(k);
  for (int64_t i = 0; i < x->elements; i++) {
    ((float *)y->data)[i] = 2 * ((const float *)x->data)[i];
    sum += (double)((const float *)x->data)[i];
  }
  if (k->n_results > 1) *(double *)k->results[1].data = sum;
  return NX_OK;
}

static nx_status only_notes(const nx_custom_call *k) {
  note(k);
  return NX_OK;
}

static nx_status fails(const nx_custom_call *k) {
  note(k);
  return nx_custom_fail(k, NX_NO_CONVERGENCE, "after 7 steps");
}

static nx_status fails_silently(const nx_custom_call *k) {
  note(k);
  return (nx_status)12345;
}

/* Uses the library, and leaves its error behind. */
static nx_status fails_inside(const nx_custom_call *k) {
  (void)k;
  nx_add(NULL, NULL);
  return NX_INVALID_ARGUMENT;
}

static nx_status constant_five(const nx_custom_call *k) {
  note(k);
  *(float *)k->results[0].data = 5;
  return k->n_operands ? NX_INTERNAL : NX_OK;
}

/* Records and realises in the context that calls it. */
static nx_status realises(const nx_custom_call *k) {
  note(k);
  nx_tensor *y = nx_mul(inner, inner), *z = nx_reduce_sum(y, NX_AXES(0), 0);
  nx_status status = nx_read(z, k->results[0].data, sizeof(float), NULL);
  nx_tensor_release(y);
  nx_tensor_release(z);
  return status;
}

/* Waits for what its own run computes. */
static nx_status waits(const nx_custom_call *k) {
  float got[3];
  note(k);
  return nx_read(inner, got, sizeof got, NULL);
}

static nx_status until_stopped(const nx_custom_call *k) {
  note(k);
  while (!nx_custom_stopped(k)) {}
  return NX_INTERRUPTED;
}

static nx_status sums_complex(const nx_custom_call *k) {
  const float *x = k->operands[0].data;
  float *y = k->results[0].data;
  note(k);
  if (k->operands[0].dtype != NX_C64 || k->results[0].rank != 0) return NX_INTERNAL;
  y[0] = y[1] = 0;
  for (int64_t i = 0; i < k->operands[0].elements; i++) y[0] += x[2 * i], y[1] += x[2 * i + 1];
  return NX_OK;
}

/* ---- making them */

static const int64_t three[] = {3};
static const nx_type line = {NX_F32, 1, three}, scalar = {NX_F32, 0, NULL},
                     wide = {NX_F64, 0, NULL};

typedef nx_status (*function)(const nx_custom_call *call);

static nx_custom *make(const char *name, function run, uint32_t flags, const nx_type *in,
                       size_t n_in, const nx_type *out, size_t n_out) {
  nx_custom *f = NULL;
  nx_custom_desc desc = {.size = sizeof desc,
                         .name = name,
                         .run = run,
                         .release = count_release,
                         .flags = flags,
                         .n_operands = n_in,
                         .operands = in,
                         .n_results = n_out,
                         .results = out};
  atomic_store(&calls, 0);
  atomic_store(&released, 0);
  OK(nx_custom_create(ctx, &desc, &f));
  return f;
}

static nx_tensor *record_one(nx_custom *f, nx_tensor *x, nx_tensor *token) {
  nx_tensor *y = NULL;
  OK(nx_custom_record(f, &x, 1, token, &y, 1));
  return y;
}

static void let_go(nx_custom *f) { nx_custom_release(f); }

/* ---- free ones */

static void free_ones_compute(void **state) {
  (void)state;
  nx_custom *f = make("twice", twice, 0, &line, 1, (nx_type[]){line, wide}, 2);
  nx_tensor *x = nx_add(vector(3, 1, 1), number(1)), *out[2];
  OK(nx_custom_record(f, &x, 1, NULL, out, 2));
  assert_int_equal(calls, 0);
  EXPECT(nx_add(out[0], number(1)), 5, 7, 9);
  double sum = 0;
  OK(nx_read(out[1], &sum, sizeof sum, NULL));
  assert_true(sum == 9);
  assert_int_equal(calls, 1); /* both results are of one call */
  let_go(f);
}

static void free_ones_are_merged_and_dropped(void **state) {
  (void)state;
  nx_custom *f = make("twice", twice, 0, &line, 1, &line, 1);
  nx_tensor *x = vector(3, 1, 1), *a = record_one(f, x, NULL), *b = record_one(f, x, NULL);
  nx_tensor_release(record_one(f, nx_neg(x), NULL));
  EXPECT(nx_add(a, b), 4, 8, 12);
  assert_int_equal(calls, 1);
  let_go(f);
}

static void views_are_made_dense(void **state) {
  (void)state;
  nx_custom *f = make("twice", twice, 0, &line, 1, &line, 1);
  nx_tensor *x = vector(9, 0, 1);
  OK(nx_realize(ctx, &x, 1, NULL));
  EXPECT(record_one(f, part(x, 7, 3, -3), NULL), 14, 8, 2);
  EXPECT(record_one(f, GOOD(nx_expand(number(4), NX_SHAPE(3))), NULL), 8, 8, 8);
  let_go(f);
}

static void without_operands(void **state) {
  (void)state;
  nx_custom *f = make("five", constant_five, 0, NULL, 0, &scalar, 1);
  nx_tensor *y = NULL;
  OK(nx_custom_record(f, NULL, 0, NULL, &y, 1));
  EXPECT(y, 5);
  let_go(f);
}

static void complex_and_empty(void **state) {
  (void)state;
  nx_type in = {NX_C64, 1, three}, out = {NX_C64, 0, NULL}, none = {NX_F32, 1, (int64_t[]){0}};
  nx_custom *f = make("sum", sums_complex, 0, &in, 1, &out, 1);
  nx_tensor *x = GOOD(nx_complex(vector(3, 1, 1), vector(3, 0, 2)));
  float got[2];
  nx_tensor *y = record_one(f, x, NULL);
  OK(nx_read(y, got, sizeof got, NULL));
  assert_true(got[0] == 6 && got[1] == 6);
  let_go(f);
  f = make("twice", twice, 0, &none, 1, (nx_type[]){none, wide}, 2);
  nx_tensor *empty = vector(0, 0, 0), *both[2];
  OK(nx_custom_record(f, &empty, 1, NULL, both, 2));
  double sum = 1;
  OK(nx_read(both[1], &sum, sizeof sum, NULL));
  assert_true(sum == 0);
  let_go(f);
}

/* A function that has nothing to give has effects all the same, also in a run that a plan carries
 * out, whether it is all of the run or not. */
static void nothing_to_give(void **state) {
  (void)state;
  enum { N = 100000 };
  const nx_type many = {NX_F32, 1, (int64_t[]){N}}, none = {NX_F32, 1, (int64_t[]){0}};
  for (uint32_t flags = 0; flags <= NX_ORDERED; flags++) {
    nx_custom *f = make("nothing", only_notes, flags, &many, 1, (nx_type[]){none, none}, 2);
    nx_tensor *token = flags ? GOOD(nx_token(ctx, device())) : NULL, *out[2] = {NULL};
    nx_tensor *x = nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(N)), *y = nx_neg(x);
    OK(nx_custom_record(f, &y, 1, token, out, 2));
    nx_function *g = NULL;
    OK(nx_function_create(ctx, &x, 1, (nx_tensor *[]){y, out[1]}, 2, NULL, &g));
    nx_tensor_release(x), nx_tensor_release(y);
    for (int i = 1; i <= 3; i++) {
      nx_tensor *in = vector(N, (float)i, 1), *got[2] = {NULL};
      OK(nx_function_call(g, &in, 1, got, 2, NULL));
      assert_int_equal(calls, i);
      assert_true(seen[calls - 1] == (float)-i);
    }
    nx_tensor *in = nx_neg(vector(N, 9, 1));
    OK(nx_custom_record(f, &in, 1, token, out, 2));
    OK(nx_realize(ctx, out, 1, NULL));
    assert_int_equal(calls, 4);
    nx_function_release(g);
    let_go(f);
  }
}

static void failures_name_it(void **state) {
  (void)state;
  nx_custom *f = make("solver", fails, 0, &line, 1, &line, 1);
  nx_tag_set(31, "line 31");
  nx_tensor *y = record_one(f, vector(3, 1, 1), NULL);
  nx_tag_set(0, NULL);
  nx_error e = {.size = sizeof e};
  float got[3];
  for (int i = 0; i < 2; i++) { /* a free one is tried again */
    assert_int_equal(nx_read(y, got, sizeof got, NULL), NX_NO_CONVERGENCE);
    assert_int_equal(nx_error_take(&e), NX_NO_CONVERGENCE);
    assert_string_equal(e.op, "custom");
    assert_string_equal(e.message, "custom \"solver\": after 7 steps");
    assert_int_equal(e.tag, 31);
  }
  assert_int_equal(calls, 2);
  let_go(f);
  f = make("odd", fails_silently, 0, &line, 1, &line, 1);
  y = record_one(f, vector(3, 1, 1), NULL);
  FAILS(NX_INTERNAL, nx_read(y, got, sizeof got, NULL));
  let_go(f);
  f = make("inside", fails_inside, 0, &line, 1, &line, 1);
  y = record_one(f, vector(3, 1, 1), NULL);
  assert_int_equal(nx_read(y, got, sizeof got, NULL), NX_INVALID_ARGUMENT);
  assert_int_equal(nx_error_take(&e), NX_INVALID_ARGUMENT);
  assert_non_null(strstr(e.message, "custom \"inside\": add"));
  let_go(f);
}

/* ---- ordered ones */

static void ordered_ones_run_once_in_order(void **state) {
  (void)state;
  nx_custom *f = make("print", only_notes, NX_ORDERED, &line, 1, NULL, 0);
  nx_tensor *token = GOOD(nx_token(ctx, device())), *x = vector(3, 1, 1);
  for (int i = 0; i < 4; i++) {
    nx_tensor *given = i < 2 ? x : nx_mul(x, number((float)i));
    OK(nx_custom_record(f, &given, 1, token, NULL, 0));
  }
  assert_int_equal(calls, 0);
  OK(nx_realize(ctx, &token, 1, NULL));
  assert_int_equal(calls, 4); /* equal ones too */
  assert_true(seen[0] == 1 && seen[1] == 1 && seen[2] == 2 && seen[3] == 3);
  OK(nx_realize(ctx, &token, 1, NULL));
  assert_int_equal(calls, 4);
  let_go(f);
}

static void results_bring_what_is_before_them(void **state) {
  (void)state;
  nx_custom *print = make("print", only_notes, NX_ORDERED, &line, 1, NULL, 0),
            *f = make("twice", twice, NX_ORDERED, &line, 1, (nx_type[]){line, wide}, 2);
  nx_tensor *token = GOOD(nx_token(ctx, device())), *x = vector(3, 1, 1), *y[2], *z[2];
  OK(nx_custom_record(print, &x, 1, token, NULL, 0));
  OK(nx_custom_record(f, &x, 1, token, y, 2));
  OK(nx_custom_record(f, &x, 1, token, z, 2));
  EXPECT(y[0], 2, 4, 6);
  assert_int_equal(calls, 2);
  double sum;
  OK(nx_read(y[1], &sum, sizeof sum, NULL));
  assert_int_equal(calls, 2);
  nx_tensor_release(z[0]);
  OK(nx_realize(ctx, &token, 1, NULL));
  OK(nx_read(z[1], &sum, sizeof sum, NULL));
  assert_int_equal(calls, 3);
  let_go(print);
  let_go(f);
}

static void nothing_is_called_for_a_token_that_nobody_realises(void **state) {
  (void)state;
  nx_custom *f = make("print", only_notes, NX_ORDERED, &line, 1, NULL, 0);
  nx_tensor *token = GOOD(nx_token(ctx, device())), *x = vector(3, 1, 1);
  OK(nx_custom_record(f, &x, 1, token, NULL, 0));
  nx_tensor_release(token);
  EXPECT(nx_add(x, x), 2, 4, 6);
  assert_int_equal(calls, 0);
  let_go(f);
}

static void what_failed_is_not_called_again(void **state) {
  (void)state;
  nx_custom *print = make("print", only_notes, NX_ORDERED, &line, 1, NULL, 0),
            *bad = make("bad", fails, NX_ORDERED, &line, 1, &line, 1);
  nx_tensor *token = GOOD(nx_token(ctx, device())), *x = vector(3, 1, 1), *y;
  OK(nx_custom_record(print, &x, 1, token, NULL, 0));
  OK(nx_custom_record(bad, &x, 1, token, &y, 1));
  OK(nx_custom_record(print, &x, 1, token, NULL, 0));
  FAILS(NX_NO_CONVERGENCE, nx_realize(ctx, &token, 1, NULL));
  assert_int_equal(calls, 2);
  FAILS(NX_NO_CONVERGENCE, nx_realize(ctx, &token, 1, NULL));
  FAILS(NX_NO_CONVERGENCE, nx_realize(ctx, &y, 1, NULL));
  assert_int_equal(calls, 2);
  OK(nx_assign(token, GOOD(nx_token(ctx, device()))));
  OK(nx_custom_record(print, &x, 1, token, NULL, 0));
  OK(nx_realize(ctx, &token, 1, NULL));
  assert_int_equal(calls, 3);
  let_go(print);
  let_go(bad);
}

/* An operand that the host may write is read at once, and the call made once. */
static void exposed_operands(void **state) {
  (void)state;
  nx_custom *f = make("twice", twice, NX_ORDERED, &line, 1, (nx_type[]){line, wide}, 2);
  float memory[3] = {1, 2, 3};
  nx_tensor *x = NULL, *out[2], *token = GOOD(nx_token(ctx, device()));
  nx_import_desc desc = {.size = sizeof desc,
                         .base = memory,
                         .bytes = sizeof memory,
                         .dtype = NX_F32,
                         .rank = 1,
                         .shape = three,
                         .mode = NX_IMPORT_SHARED};
  OK(nx_import(ctx, &desc, &x));
  OK(nx_custom_record(f, &x, 1, token, out, 2));
  memory[0] = 100;
  EXPECT(out[0], 2, 4, 6);
  OK(nx_realize(ctx, out, 2, NULL));
  assert_int_equal(calls, 1);
  let_go(f);
}

/* ---- functions */

static void captured_ones_are_called_at_each_call(void **state) {
  (void)state;
  nx_custom *print = make("print", only_notes, NX_ORDERED, &line, 1, NULL, 0),
            *f = make("twice", twice, 0, &line, 1, &line, 1);
  nx_tensor *token = GOOD(nx_token(ctx, device()));
  nx_tensor *x = nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(3));
  nx_tensor *doubled = record_one(f, x, NULL), *y = nx_add(doubled, number(1)), *given = nx_neg(x);
  OK(nx_custom_record(print, &given, 1, token, NULL, 0));
  nx_function *g = NULL;
  OK(nx_function_create(ctx, &x, 1, &y, 1, NULL, &g));
  nx_tensor_release(x), nx_tensor_release(y), nx_tensor_release(given), nx_tensor_release(doubled);
  let_go(print), let_go(f); /* the function keeps them */
  nx_context_collect(ctx);
  assert_int_equal(released, 0);
  for (int i = 1; i <= 3; i++) {
    nx_tensor *in = constant(3, (float)i), *out = NULL;
    OK(nx_function_call(g, &in, 1, &out, 1, NULL));
    EXPECT(out, (float)(2 * i + 1), (float)(2 * i + 1), (float)(2 * i + 1));
    assert_int_equal(calls, 2 * i);
  }
  nx_tensor *in = constant(3, 9), *out = NULL;
  for (int i = 0; i < 2; i++) {
    out = NULL;
    OK(nx_function_record(g, &in, 1, &out, 1));
  }
  atomic_store(&calls, 0);
  OK(nx_realize(ctx, (nx_tensor *[]){out, token}, 2, NULL));
  assert_int_equal(calls, 3); /* the free ones are one */
  nx_function_release(g);
  nx_tensor_release(out);
  nx_context_collect(ctx);
  assert_int_equal(released, 2);
}

static void texts_name_them(void **state) {
  (void)state;
  static const char text[] = "nxir 2\n"
                             "graph @f(%x: f32[3]) -> (%y, %s) {\n"
                             "  %y = custom \"twice\" %x\n"
                             "  %s = custom \"twice\" %x result=1 : f64[]\n"
                             "}\n";
  nx_custom *f = make("twice", twice, 0, &line, 1, (nx_type[]){line, wide}, 2);
  nx_parse_options o = {.size = sizeof o, .device = device(), .customs = &f, .n_customs = 1};
  nx_function *g = NULL;
  nx_error e = {.size = sizeof e};
  assert_int_equal(nx_function_parse(ctx, text, sizeof text - 1, NULL, &g), NX_INVALID_ARGUMENT);
  nx_error_take(&e);
  assert_string_equal(e.message, "line 3, column 15: custom: there is no operation \"twice\" among "
                                 "the 0 that are given with the text");
  OK(nx_function_parse(ctx, text, sizeof text - 1, &o, &g));
  let_go(f);
  nx_tensor *in = vector(3, 1, 1), *out[2] = {NULL, NULL};
  OK(nx_function_call(g, &in, 1, out, 2, NULL));
  EXPECT(out[0], 2, 4, 6);
  assert_int_equal(calls, 1);
  nx_function_release(g);
}

/* ---- what a function may do, and may not */

static void functions_may_realise(void **state) {
  (void)state;
  nx_custom *f = make("realises", realises, 0, &line, 1, &scalar, 1);
  inner = vector(3, 1, 1);
  EXPECT(record_one(f, vector(3, 5, 1), NULL), 14);
  let_go(f);
}

static void waiting_for_itself_fails(void **state) {
  (void)state;
  nx_custom *f = make("waits", waits, 0, &line, 1, &line, 1);
  inner = record_one(f, vector(3, 1, 1), NULL);
  nx_error e = {.size = sizeof e};
  assert_int_equal(nx_realize(ctx, &inner, 1, NULL), NX_INVALID_ARGUMENT);
  nx_error_take(&e);
  assert_string_equal(e.message, "custom \"waits\": custom: the function waits for what the run "
                                 "that called it computes");
  let_go(f);
}

/* Not before the function is called: compiling, too, calls polls. */
static int32_t stop_soon(void *user) { return calls > 0 && ++*(int *)user > 2; }

static void polls_reach_it(void **state) {
  (void)state;
  nx_custom *f = make("until", until_stopped, NX_ORDERED, &line, 1, &line, 1);
  nx_tensor *token = GOOD(nx_token(ctx, device())), *y = record_one(f, vector(3, 1, 1), token);
  int polls = 0;
  nx_run_options o = {.size = sizeof o, .poll = stop_soon, .user = &polls};
  FAILS(NX_INTERRUPTED, nx_realize(ctx, &y, 1, &o));
  FAILS(NX_INTERRUPTED, nx_realize(ctx, &y, 1, NULL)); /* it was called */
  assert_int_equal(calls, 1);
  let_go(f);
}

/* ---- what is refused */

static void refuse(nx_status wanted, nx_status is, const char *words) {
  nx_error e = {.size = sizeof e};
  assert_int_equal(is, wanted);
  assert_int_equal(nx_error_take(&e), wanted);
  if (!strstr(e.message, words)) fprintf(stderr, "\"%s\" is not in \"%s\"\n", words, e.message);
  assert_non_null(strstr(e.message, words));
}

static void bad_descriptions(void **state) {
  (void)state;
  nx_custom *f = NULL;
  nx_type nibbles = {NX_I4, 1, three};
  nx_custom_desc good = {
      .size = sizeof good, .name = "f", .run = twice, .n_results = 1, .results = &line};
#define WITH(change, status, words)                       \
  do {                                                    \
    nx_custom_desc k = good;                              \
    change;                                               \
    refuse(status, nx_custom_create(ctx, &k, &f), words); \
  } while (0)
  WITH(k.run = NULL, NX_INVALID_ARGUMENT, "no function");
  WITH(k.name = "a b", NX_INVALID_ARGUMENT, "the name");
  WITH(k.name = NULL, NX_INVALID_ARGUMENT, "the name");
  WITH(k.flags = 8, NX_INVALID_ARGUMENT, "NX_ORDERED");
  WITH(k.n_results = 0, NX_INVALID_ARGUMENT, "never be called");
  WITH(k.n_results = 16, NX_INVALID_ARGUMENT, "15 each");
  WITH(k.results = NULL, NX_INVALID_ARGUMENT, "is null");
  WITH(k.results = &nibbles, NX_UNSUPPORTED_DTYPE, "result 0 is i4");
  assert_null(f);
}

static void bad_records(void **state) {
  (void)state;
  nx_custom *f = make("twice", twice, 0, &line, 1, &line, 1),
            *g = make("print", only_notes, NX_ORDERED, &line, 1, NULL, 0);
  nx_tensor *x = vector(4, 0, 1), *y = NULL, *good = vector(3, 0, 1);
  nx_tensor *token = GOOD(nx_token(ctx, device()));
  refuse(NX_INVALID_ARGUMENT, nx_custom_record(f, &x, 1, NULL, &y, 1),
         "custom \"twice\": operand 0 is f32[4], not f32[3]");
  refuse(NX_INVALID_ARGUMENT, nx_custom_record(f, &good, 1, NULL, &y, 0),
         "1 operands and 0 results where it has 1 and 1");
  refuse(NX_INVALID_ARGUMENT, nx_custom_record(f, &good, 1, token, &y, 1), "takes no token");
  refuse(NX_INVALID_ARGUMENT, nx_custom_record(g, &good, 1, NULL, NULL, 0), "the token is null");
  refuse(NX_INVALID_ARGUMENT, nx_custom_record(g, &good, 1, x, NULL, 0), "no bool of rank 0");
  refuse(NX_INVALID_ARGUMENT, nx_custom_record(f, NULL, 1, NULL, &y, 1), "list");
  assert_null(y);
  let_go(f), let_go(g);
}

/* ---- threads */

static void *realise_one(void *argument) {
  nx_tensor *y = argument;
  float got[3];
  return nx_read(y, got, sizeof got, NULL) || got[0] != 2 ? (void *)1 : NULL;
}

static void threads_share_one(void **state) {
  (void)state;
  nx_custom *f = make("twice", twice, NX_ORDERED, &line, 1, &line, 1);
  nx_tensor *token = GOOD(nx_token(ctx, device())), *y[8];
  pthread_t threads[8];
  for (int i = 0; i < 8; i++) y[i] = record_one(f, vector(3, 1, 1), token);
  for (int i = 0; i < 8; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, realise_one, y[i]), 0);
  for (int i = 0; i < 8; i++) {
    void *bad = NULL;
    pthread_join(threads[i], &bad);
    assert_null(bad);
  }
  assert_int_equal(calls, 8);
  let_go(f);
}

NXT_MAIN(custom) {
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = ""};
  if (nx_context_create(&o, &ctx)) return 1;
  const struct CMUnitTest tests[] = {
      IN_SCOPE(free_ones_compute),
      IN_SCOPE(free_ones_are_merged_and_dropped),
      IN_SCOPE(views_are_made_dense),
      IN_SCOPE(without_operands),
      IN_SCOPE(complex_and_empty),
      IN_SCOPE(nothing_to_give),
      IN_SCOPE(failures_name_it),
      IN_SCOPE(ordered_ones_run_once_in_order),
      IN_SCOPE(results_bring_what_is_before_them),
      IN_SCOPE(nothing_is_called_for_a_token_that_nobody_realises),
      IN_SCOPE(what_failed_is_not_called_again),
      IN_SCOPE(exposed_operands),
      IN_SCOPE(captured_ones_are_called_at_each_call),
      IN_SCOPE(texts_name_them),
      IN_SCOPE(functions_may_realise),
      IN_SCOPE(waiting_for_itself_fails),
      IN_SCOPE(polls_reach_it),
      IN_SCOPE(bad_descriptions),
      IN_SCOPE(bad_records),
      IN_SCOPE(threads_share_one),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  nx_context_release(ctx);
  return failures;
}
