/* SPDX-License-Identifier: ISC */
/* The end of a process while its threads compile: by a return from main, by exit() of a thread that
 * has never called the library, of the one that waits in a poll, after the context is released, by
 * quick_exit, by an end of the first thread alone, with asynchronous work in flight, and while a
 * thread makes the first context. The process must end by itself with the status that it was given.
 * Delays reach from before the first kernel to after it. */
#include "tests/util/api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen_llvm/codegen_llvm.h"
#include "tests/util/share.h"

enum { COMPILERS = 3, STATUS = 7, SECONDS = 60 };

static nx_context *shared;

/* The leak sanitizer calls this at the end: memory to which only the stack of an ended thread
 * refers is not a leak. */
static bool first_thread_ended;
int __lsan_is_turned_off(void);                               /* NOLINT: the sanitizer's name */
int __lsan_is_turned_off(void) { return first_thread_ended; } /* NOLINT */

/* Makes a different kernel at each call. */
static void *compile_for_ever(void *user) {
  uint32_t random = (uint32_t)(uintptr_t)user;
  for (;;) {
    random = random * 1664525u + 1013904223u;
    int64_t n = 5000 + (random >> 10) % 100000;
    nx_tensor *x = nx_arange(shared, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1e-3), n), *y = x;
    for (uint32_t i = 0; i < 2 + (random >> 5) % 12; i++) {
      nx_tensor *z = random >> i % 20 & 1 ? nx_sin(y) : nx_add(y, x);
      if (y != x) nx_tensor_release(y);
      y = z;
    }
    float value;
    nx_tensor *sum = nx_reduce_sum(y, NX_AXES(0), 0);
    nx_read(sum, &value, sizeof value, NULL);
    nx_tensor_release(sum);
    if (y != x) nx_tensor_release(y);
    nx_tensor_release(x);
  }
  return NULL;
}

static useconds_t delay;

static void *end_elsewhere(void *unused) {
  (void)unused;
  usleep(delay);
  exit(STATUS);
}

static int32_t end_in_poll(void *unused) {
  (void)unused;
  usleep(delay);
  exit(STATUS);
}

static void end_while_polling(void) {
  nx_run_options o = {.size = sizeof o, .poll = end_in_poll};
  nx_tensor *x = nx_arange(shared, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 100000);
  nx_realize(shared, &x, 1, &o);
}

/* The first action of a process loads libraries, a factorisation OpenBLAS; a child that is made
 * meanwhile must find their locks free. */
static bool adds_up(void) {
  float value = 0;
  nx_tensor *x = nx_full(shared, 0, NX_F32, NX_SHAPE(64, 64), NX_NUMBER(1));
  nx_tensor *unit = nx_eye(shared, 0, NX_F32, 64, 64, 0), *inverse = nx_inv(unit);
  nx_tensor *product = nx_matmul(x, inverse), *sum = nx_reduce_sum(product, NX_AXES(0, 1), 0);
  bool good = nx_read(sum, &value, sizeof value, NULL) == NX_OK && value == 64 * 64;
  nx_tensor_release(x), nx_tensor_release(unit), nx_tensor_release(inverse);
  nx_tensor_release(product), nx_tensor_release(sum);
  return good;
}

static void *add_up(void *unused) {
  (void)unused;
  if (!adds_up()) _exit(1);
  return NULL;
}

static void fork_meanwhile(void) {
  pthread_t thread;
  int status = 0;
  pthread_create(&thread, NULL, add_up, NULL);
  usleep(delay);
  pid_t child = fork();
  if (child == 0) {
    alarm(SECONDS / 3); /* alarms are not inherited */
    _exit(adds_up() ? STATUS : 1);
  }
  waitpid(child, &status, 0);
  pthread_join(thread, NULL);
  exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static const nx_context_options options = {.size = sizeof options, .threads = 2, .cache_dir = ""};

static void *make_context(void *unused) {
  nx_context *own = NULL;
  (void)unused;
  if (nx_context_create(&options, &own) == NX_OK) nx_context_release(own);
  return NULL;
}

static void end_while_beginning(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, make_context, NULL);
  usleep(delay);
  exit(STATUS);
}

/* Asynchronous work is in flight; in a child of fork it is over, and other work is done. */
static void end_in_flight(char mode) {
  nx_event *e = NULL;
  nx_context_retain(shared);
  for (int i = 0; i < 6; i++) {
    nx_tensor *x = nx_arange(shared, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1e-3), 9000 + 100 * i);
    nx_tensor *y = nx_sin(nx_mul(nx_sin(x), x)), *z = i % 2 ? nx_add(y, x) : nx_exp(y);
    nx_event_release(e);
    if (nx_realize_async(shared, &z, 1, NULL, &e)) _exit(1);
  }
  if (mode == 'A') nx_event_release(e), nx_context_release(shared), nx_context_release(shared);
  usleep(delay);
  if (mode != 'F') exit(STATUS);
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    alarm(SECONDS / 3);
    nx_status waited = nx_event_wait(e, NULL);
    _exit((!waited || waited == NX_INTERRUPTED) && adds_up() ? STATUS : 1);
  }
  waitpid(child, &status, 0);
  if (nx_event_wait(e, NULL)) _exit(1);
  exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void run(char mode) {
  pthread_t thread;
  alarm(SECONDS);
  if (mode == 'n') end_while_beginning();
  if (nx_context_create(&options, &shared) != NX_OK) _exit(1);
  if (mode == 'f') fork_meanwhile();
  if (mode == 'a' || mode == 'A' || mode == 'F') end_in_flight(mode);
  /* a reference for the threads, which may begin after the other reference was released */
  nx_context_retain(shared);
  for (uintptr_t i = 0; i < COMPILERS; i++)
    pthread_create(&thread, NULL, compile_for_ever, (void *)(i + delay));
  if (mode == 'e' || mode == 't') pthread_create(&thread, NULL, end_elsewhere, NULL);
  if (mode == 'e') compile_for_ever((void *)(uintptr_t)77);
  first_thread_ended = mode == 't';
  if (mode == 't') pthread_exit(NULL);
  if (mode == 'p') end_while_polling();
  usleep(delay);
  if (mode == 'c') nx_context_release(shared);
  if (mode == 'q') quick_exit(STATUS);
  exit(STATUS);
}

/* Where of many tests a part is run, every third delay: which ones, is another matter each time. */
static void end_at(char mode, useconds_t last, useconds_t step) {
  const useconds_t part = !SANITIZED && nxt_share() > 1 ? 3 : 1, first = (useconds_t)getpid();
  if (SANITIZED) step *= 5;
  for (delay = first % part * step; delay <= last; delay += part * step) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) run(mode);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != STATUS)
      fail_msg("after %u us: status %x", (unsigned)delay, (unsigned)status);
  }
}

#define ENDS(name, mode, last, step)      \
  static void test_##name(void **state) { \
    (void)state;                          \
    end_at(mode, last, step);             \
  }
ENDS(return, 'r', 30000, 3000)
ENDS(thread_without_context, 'e', 30000, 3000)
ENDS(poll, 'p', 30000, 3000)
ENDS(released_context, 'c', 30000, 3000)
ENDS(quick_exit, 'q', 30000, 3000)
ENDS(first_thread_ends, 't', 30000, 3000)
/* The critical moments are those in which libraries are loaded and initialised; each of them is
 * short. */
ENDS(fork_meanwhile, 'f', 10000, 100)
ENDS(fork_at_first_call, 'f', 300, 3)
ENDS(first_context, 'n', 3000, 20)
ENDS(async_in_flight, 'a', 60000, 4000)
ENDS(async_released_context, 'A', 60000, 4000)
ENDS(async_fork, 'F', 60000, 4000)

/* LLVM and what comes with it register destructors of 3,350 objects, in the middle of a process
 * that another thread may end meanwhile. So none of them may get that far. */
enum { MOST_HANDLERS = 8 };

static int open_llvm(void) {
  void *at = dlsym(RTLD_DEFAULT, "exit_handlers");
  int32_t (*registered)(void);
  memcpy(&registered, &at, sizeof at);
  int32_t before = at ? registered() : -1;
  if (before < 0 || nxl_open(NULL) != NX_OK) return 1;
  return registered() - before < MOST_HANDLERS ? STATUS : 2;
}

static void test_handlers_of_llvm(void **state) {
  int status = 0;
  (void)state;
  if (SANITIZED || nxl_unavailable()) skip();
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    setenv("LD_PRELOAD", NXT_HANDLERS, 1);
    execl(nxt_program(), nxt_program(), "process_end", "handlers", (char *)NULL);
    _exit(3);
  }
  waitpid(child, &status, 0);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), STATUS);
}

NXT_MAIN(process_end) {
  if (argc == 2) return open_llvm();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_return),
      cmocka_unit_test(test_thread_without_context),
      cmocka_unit_test(test_poll),
      cmocka_unit_test(test_released_context),
      cmocka_unit_test(test_quick_exit),
      cmocka_unit_test(test_first_thread_ends),
      cmocka_unit_test(test_fork_meanwhile),
      cmocka_unit_test(test_fork_at_first_call),
      cmocka_unit_test(test_first_context),
      cmocka_unit_test(test_handlers_of_llvm),
      cmocka_unit_test(test_async_in_flight),
      cmocka_unit_test(test_async_released_context),
      cmocka_unit_test(test_async_fork),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
