/* SPDX-License-Identifier: ISC */
/* A process that may not make memory executable, from the start or from some moment on: through a
 * library that refuses it (noexec.c), and through the kernel's own prctl where there is one.
 * Kernels are then interpreted, and the device, the report and NX_EXECUTOR=llvm say why. Each
 * attempt is a separate process. */
#include "tests/util/sanitizers.h"
#include "tests/util/api.h"

#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen_llvm/codegen_llvm.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE              65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

enum { N = 5000 };

static void forbid_by_library(void) {
  void *symbol = dlsym(RTLD_DEFAULT, "nxt_forbid_execution");
  void (*forbid)(void);
  assert_non_null(symbol);
  memcpy(&forbid, &symbol, sizeof symbol);
  forbid();
}

static void forbid_by_kernel(void) {
  if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) != 0) exit(77);
}

/* The mean of 0 + offset .. N - 1 + offset; a different kernel for each offset. */
static void run_kernel(int offset, nx_report *report) {
  nx_run_options o = {.size = sizeof o, .report = report};
  nx_tensor *x = vector(N, (float)offset, 1), *y = x;
  for (int i = 0; i < offset; i++) y = GOOD(nx_neg(nx_neg(GOOD(nx_add(y, constant(N, 0.5f))))));
  float value;
  *report = (nx_report){.size = sizeof *report};
  OK(nx_read(GOOD(nx_reduce_max(y, NX_AXES(0), 0)), &value, sizeof value, &o));
  assert_true(value == (float)(offset + N - 1) + 0.5f * (float)offset);
}

static const char *why_interpreted(void) {
  nx_device_info info = {.size = sizeof info};
  OK(nx_device_describe(ctx, 0, &info));
  assert_true(info.available);
  return info.interpreted;
}

static int run(char **argv) {
  void (*forbid)(void) = argv[2][0] == 'k' ? forbid_by_kernel : forbid_by_library;
  bool late = argv[2][1] == 'l';
  nx_report report;
  nx_context_options o = {.size = sizeof o, .cache_dir = ""};
  if (!late) forbid();
  OK(nx_context_create(&o, &ctx));
  if (late) {
    run_kernel(1, &report);
    assert_null(report.interpreted_reason);
    assert_null(why_interpreted());
    forbid();
  }
  for (int i = 2; i < 5; i++) {
    run_kernel(i, &report);
    assert_non_null(report.interpreted_reason);
    assert_non_null(strstr(report.interpreted_reason, "executable"));
  }
  assert_non_null(strstr(why_interpreted(), "executable"));
  if (late) run_kernel(1, &report); /* code that was compiled before still runs */
  if (late) assert_null(report.interpreted_reason);
  nx_context_release(ctx);
  return 0;
}

/* With NX_EXECUTOR=llvm kernels are not interpreted instead, and the error has the reason. */
static int run_wanted(void) {
  nx_context_options o = {.size = sizeof o, .cache_dir = ""};
  forbid_by_library();
  nx_status status = nx_context_create(&o, &ctx);
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  assert_int_equal(status, NX_DEVICE_UNAVAILABLE);
  assert_non_null(strstr(e.message, "executable"));
  return 0;
}

static int start(const char *kind, const char *executor) {
  int status = 0;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    setenv("LD_PRELOAD", NXT_NOEXEC_LIBRARY, 1);
    if (executor) setenv("NX_EXECUTOR", executor, 1);
    else unsetenv("NX_EXECUTOR");
    execl(nxt_program(), nxt_program(), "no_execution", "child", kind, (char *)NULL);
    _exit(1);
  }
  waitpid(child, &status, 0);
  return status;
}

static bool cannot_preload(void) { return NXT_SANITIZED || nxl_unavailable(); }

static void test_library(void **state) {
  (void)state;
  if (cannot_preload()) skip();
  assert_int_equal(start("pe", NULL), 0);
  assert_int_equal(start("pl", NULL), 0);
}

static void test_kernel(void **state) {
  (void)state;
  if (cannot_preload()) skip();
  int early = start("ke", NULL), late = start("kl", NULL);
  if (WIFEXITED(early) && WEXITSTATUS(early) == 77) skip(); /* before Linux 6.3 */
  assert_int_equal(early, 0);
  assert_int_equal(late, 0);
}

static void test_wanted(void **state) {
  (void)state;
  if (cannot_preload()) skip();
  assert_int_equal(start("wanted", "llvm"), 0);
}

NXT_MAIN(no_execution) {
  if (argc == 3 && strcmp(argv[1], "child") == 0)
    return argv[2][0] == 'w' ? run_wanted() : run(argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_library),
      cmocka_unit_test(test_kernel),
      cmocka_unit_test(test_wanted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
