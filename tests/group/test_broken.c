/* SPDX-License-Identifier: ISC */
/* Groups whose members do not do the same, or do not come, and what is said to all of them, then
 * and later. Also run with the thread sanitizer. */
#include <sys/wait.h>
#include <unistd.h>

#include "members.h"
#include "tests/util/sanitizers.h"

/* ---- members that do not do the same */

/* What was recorded is realised: each member fails with a sentence that has the words. */
static void all_fail(nx_tensor **y, nx_status status, const char *words) {
  nx_event *e[MOST];
  for (int32_t i = 0; i < size; i++) OK(nx_realize_async(ctx, &y[i], 1, NULL, &e[i]));
  for (int32_t i = 0; i < size; i++) {
    assert_int_equal(nx_event_wait(e[i], NULL), status);
    error_says(status, words);
    nx_event_release(e[i]);
  }
}

/* What a broken group is asked for later, whether recorded before or after, says why it broke. */
static void stays_broken(void **state) {
  (void)state;
  const char *why = "rank 0 calls all_reduce sum f32[3], rank 1 calls all_reduce sum f32[4]";
  const nx_status bad = NX_INVALID_ARGUMENT;
  nx_tensor *y[2], *z[2];
  begin_group(2, "broken", 60000);
  for (int32_t i = 0; i < 2; i++) {
    y[i] = nx_all_reduce(operand(i, (int64_t[]){3 + i}, 1), members[i], NX_REDUCE_SUM, 0);
    z[i] = nx_all_gather(operand(i, (int64_t[]){2}, 1), members[i], 0);
  }
  all_fail(y, bad, why);
  for (int32_t i = 0; i < 2; i++) {
    nx_tensor *x = GOOD(nx_placeholder(ctx, i, NX_F32, NX_SHAPE(3))), *called = NULL,
              *out = nx_all_reduce(x, members[i], NX_REDUCE_SUM, 0),
              *in = operand(i, (int64_t[]){3}, 1), *token = nx_group_token(members[i]);
    nx_function *f = NULL;
    OK(nx_function_create(ctx, &x, 1, &out, 1, NULL, &f));
    for (int twice = 0; twice < 2; twice++) {
      assert_int_equal(nx_realize(ctx, &y[i], 1, NULL), bad);
      error_says(bad, why);
      assert_int_equal(nx_realize(ctx, &z[i], 1, NULL), bad);
      error_says(bad, why);
      assert_int_equal(nx_function_call(f, &in, 1, &called, 1, NULL), bad);
      error_says(bad, why);
      assert_int_equal(nx_realize(ctx, &token, 1, NULL), bad);
      error_says(bad, why);
      z[i] = nx_collective_broadcast(operand(i, NULL, 0), members[i], 0);
    }
    nx_function_release(f);
    nx_tensor_release(token);
  }
  end_group();
}

static void mismatches(void **state) {
  (void)state;
  nx_tensor *y[4];
  begin_group(4, "shapes", 60000);
  for (int32_t i = 0; i < 4; i++)
    y[i] = nx_all_reduce(operand(i, (int64_t[]){i == 2 ? 4 : 3}, 1), members[i], NX_REDUCE_SUM, 0);
  all_fail(
      y, NX_INVALID_ARGUMENT,
      "custom \"shapes\": rank 0 calls all_reduce sum f32[3], rank 2 calls all_reduce sum f32[4]");
  end_group();
  begin_group(4, "order", 60000);
  for (int32_t i = 0; i < 4; i++) {
    nx_tensor *x = operand(i, (int64_t[]){3}, 1);
    if (i == 3) GOOD(nx_all_gather(x, members[i], 0));
    y[i] = nx_all_reduce(x, members[i], NX_REDUCE_SUM, 0);
    if (i != 3) y[i] = GOOD(nx_all_gather(y[i], members[i], 0));
  }
  all_fail(y, NX_INVALID_ARGUMENT, "rank 3 calls all_gather f32[3]");
  end_group();
  begin_group(4, "roots", 60000);
  for (int32_t i = 0; i < 4; i++)
    y[i] = nx_collective_broadcast(operand(i, (int64_t[]){3}, 1), members[i], i == 1);
  all_fail(y, NX_INVALID_ARGUMENT, "rank 0 and rank 1 call collective_broadcast f32[3] with");
  for (int32_t i = 0; i < 4; i++) nx_tensor_release(nx_group_token(members[i]));
  end_group();
}

static void one_does_not_come(void **state) {
  (void)state;
  nx_tensor *y[4];
  begin_group(4, "late", 200);
  for (int32_t i = 0; i < 4; i++)
    y[i] = nx_all_reduce(operand(i, (int64_t[]){3}, 1), members[i], NX_REDUCE_SUM, 0);
  size = 3;
  all_fail(y, NX_TIMED_OUT, "s for rank"); /* one may be slow, and missing too */
  size = 4;
  assert_int_equal(nx_realize(ctx, &y[3], 1, NULL), NX_TIMED_OUT); /* it comes too late */
  error_says(NX_TIMED_OUT, "s for rank");
  end_group();
}

static int32_t after_some(void *user) { return ++*(int *)user > 2; }

static void a_poll_ends_the_wait(void **state) {
  (void)state;
  int asked = 0;
  nx_run_options o = {.size = sizeof o, .poll = after_some, .user = &asked};
  begin_group(2, "stopped", -1);
  nx_tensor *y[2];
  for (int32_t i = 0; i < 2; i++)
    y[i] = nx_all_reduce(operand(i, (int64_t[]){3}, 1), members[i], NX_REDUCE_SUM, 0);
  assert_int_equal(nx_realize(ctx, y, 1, &o), NX_INTERRUPTED);
  error_says(NX_INTERRUPTED, "stop");
  assert_int_equal(nx_realize(ctx, y + 1, 1, NULL), NX_INTERRUPTED);
  error_says(NX_INTERRUPTED, "rank 0 was told to stop");
  end_group();
}

#if !defined(THREAD_SANITIZER) /* a child of several threads is not supported there */
static void a_child_has_no_members(void **state) {
  (void)state;
  nx_tensor *y[2];
  begin_group(2, NULL, 60000);
  for (int32_t i = 0; i < 2; i++)
    y[i] = nx_all_reduce(operand(i, (int64_t[]){3}, 1), members[i], NX_REDUCE_SUM, 0);
  pid_t child = fork();
  if (child == 0) {
    nx_error e = {.size = sizeof e};
    bool good = nx_realize(ctx, y, 2, NULL) == NX_DEVICE_UNAVAILABLE;
    _exit(good && nx_error_take(&e) && strstr(e.message, "has no other members") ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  OK(nx_realize(ctx, y, 2, NULL));
  end_group();
}
#endif

NXT_MAIN(broken) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(mismatches),
      IN_SCOPE(stays_broken),
      IN_SCOPE(one_does_not_come),
      IN_SCOPE(a_poll_ends_the_wait),
#if !defined(THREAD_SANITIZER)
      IN_SCOPE(a_child_has_no_members),
#endif
  };
  return cmocka_run_group_tests(tests, open_divided, close_context);
}
