/* SPDX-License-Identifier: ISC */
/* The rules of locks (ir/platform/lock.h): each that is broken ends the process with a
 * sentence. Builds that do not check them skip this. A child breaks the rule, since it is what
 * ends. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/realize/run.h"
#include "runtime/record/objects.h"
#include "tests/util/api.h"

static void nothing_held(void) { nxi_drain(ctx, 1); }
static void other_order(void) {
  nxi_record_lock(ctx);
  nxi_run_lock(ctx);
}
static void taken_twice(void) {
  nxi_run_lock(ctx);
  nxi_run_lock(ctx);
}
static void given_twice(void) {
  nxi_run_lock(ctx);
  nxi_run_unlock(ctx);
  nxi_run_unlock(ctx);
}
static void called_back_within(void) {
  nxi_run_lock(ctx);
  nxi_poll_now(NULL, NULL);
}
static void memory_within(void) {
  nxi_buffer *b;
  nxi_record_lock(ctx);
  nxi_buffer_create(ctx, 64, &b, NULL);
}
static void no_rule_broken(void) {
  nxi_run_lock(ctx);
  nxi_record_lock(ctx);
  nxi_drain(ctx, 1);
  nxi_record_unlock(ctx);
  nxi_run_unlock(ctx);
  nxi_poll_now(NULL, NULL);
  _exit(0);
}

/* What the process says and how it ends. */
static void expect_end(void (*act)(void), int signal, const char *wanted) {
  int pipes[2], status = 0;
  char said[300] = {0};
  assert_int_equal(pipe(pipes), 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(pipes[1], STDERR_FILENO);
    if (sigaction(SIGABRT, &(struct sigaction){.sa_handler = SIG_DFL}, NULL) == 0) act();
    _exit(1);
  }
  close(pipes[1]);
  assert_true(read(pipes[0], said, sizeof said - 1) >= 0);
  close(pipes[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  if (signal) assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signal);
  else assert_int_equal(status, 0);
  if (strstr(said, wanted) == NULL) fail_msg("said: %s", said);
}

static void broken_rules_are_seen(void **state) {
  (void)state;
#if NX_CHECKS
  expect_end(no_rule_broken, 0, "");
  expect_end(nothing_held, SIGABRT, "nxi_drain: &c->record_lock is not held");
  expect_end(other_order, SIGABRT, "nxi_run_lock: &c->record_lock is held");
  expect_end(taken_twice, SIGABRT, "nxi_lock_take: l is held");
  expect_end(given_twice, SIGABRT, "nxi_lock_give: l is not held");
  expect_end(called_back_within, SIGABRT, "nxi_poll_now: a lock is held");
  expect_end(memory_within, SIGABRT, "nxi_buffer_create: a lock is held");
#else
  (void)expect_end, (void)nothing_held, (void)other_order, (void)taken_twice, (void)given_twice;
  (void)called_back_within, (void)memory_within, (void)no_rule_broken;
  skip();
#endif
}

NXT_MAIN(locks) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(broken_rules_are_seen)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
