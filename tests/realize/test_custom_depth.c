/* SPDX-License-Identifier: ISC */
/* Custom operations whose functions realise what calls them again: to a depth of 64, on the thread
 * that asks or on others, and an error beyond it. */
#include "tests/util/api.h"

#include <stdatomic.h>

enum { MOST = 64 };

static nx_custom *operation;
static atomic_int calls;
static bool with_poll; /* with one, each call is made by a thread of its own */

static int32_t go_on(void *user) {
  (void)user;
  return 0;
}

static nx_status read_one(nx_tensor *x, float *to) {
  const nx_run_options o = {.size = sizeof o, .poll = go_on};
  return nx_read(x, to, sizeof *to, with_poll ? &o : NULL);
}

/* f(x) = x > 1 ? 1 + f(x - 1) : x: x calls, each in the one before. */
static nx_status count_down(const nx_custom_call *call) {
  const float x = *(const float *)call->operands[0].data;
  float *to = call->results[0].data;
  atomic_fetch_add(&calls, 1);
  *to = x;
  if (x <= 1) return NX_OK;
  nx_tensor *less = nx_full(ctx, device(), NX_F32, NULL, 0, NX_NUMBER(x - 1)), *y = NULL;
  nx_status status = nx_custom_record(operation, &less, 1, NULL, &y, 1);
  if (!status) status = read_one(y, to);
  nx_tensor_release(less);
  nx_tensor_release(y);
  *to += 1;
  return status;
}

static void make_operation(void) {
  static const nx_type scalar = {NX_F32, 0, NULL};
  const nx_custom_desc desc = {.size = sizeof desc,
                               .name = "count",
                               .run = count_down,
                               .n_operands = 1,
                               .operands = &scalar,
                               .n_results = 1,
                               .results = &scalar};
  OK(nx_custom_create(ctx, &desc, &operation));
}

static nx_tensor *counted(int from) {
  nx_tensor *x = number((float)from), *y = NULL;
  OK(nx_custom_record(operation, &x, 1, NULL, &y, 1));
  return y;
}

static void calls_nest(void **state) {
  (void)state;
  make_operation();
  for (int i = 0; i < 2; i++) {
    with_poll = i > 0;
    for (int depth = MOST + 1; depth >= MOST - 1; depth--) {
      float got = 0;
      atomic_store(&calls, 0);
      nx_status status = read_one(counted(depth), &got);
      assert_int_equal(calls, depth < MOST ? depth : MOST);
      if (depth <= MOST) {
        OK(status);
        assert_true(got == (float)depth);
      } else {
        assert_int_equal(status, NX_INVALID_ARGUMENT);
        error_says(NX_INVALID_ARGUMENT, "custom \"count\": calls are nested deeper than 64");
      }
    }
  }
  nx_custom_release(operation);
}

/* Calls that follow each other are not within each other, whatever threads make them. */
static void many_calls_do_not(void **state) {
  (void)state;
  make_operation();
  with_poll = true;
  for (int i = 0; i < 3 * MOST; i++) {
    float got = 0;
    OK(read_one(counted(3), &got));
    assert_true(got == 3);
  }
  nx_custom_release(operation);
}

NXT_MAIN(custom_depth) {
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = ""};
  if (nx_context_create(&o, &ctx)) return 1;
  const struct CMUnitTest tests[] = {
      IN_SCOPE(calls_nest),
      IN_SCOPE(many_calls_do_not),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  nx_context_release(ctx);
  return failures;
}
