/* SPDX-License-Identifier: ISC */
/* Tests a host that unloads the library. A plugin that contains it is repeatedly opened, used by a
 * thread, and closed, while that thread still exists and ends later, and while threads of the
 * library work or wait. The process must then continue normally. */
#include "tests/util/api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 4, STATUS = 7, SECONDS = 60 };

typedef struct user {
  const char *path;
  void *library;
  int leave;
  pthread_barrier_t used, closed;
} user;

static void *use(void *argument) {
  user *u = argument;
  int (*use_library)(int leave);
  u->library = dlopen(u->path, RTLD_NOW | RTLD_LOCAL);
  void *at = u->library ? dlsym(u->library, "use_library") : NULL;
  memcpy(&use_library, &at, sizeof at);
  if (!at || use_library(u->leave) != 0) _exit(1);
  pthread_barrier_wait(&u->used);
  pthread_barrier_wait(&u->closed);
  return NULL;
}

static void open_and_close(const char *path, int leave) {
  pthread_t thread;
  user u = {.path = path, .leave = leave};
  pthread_barrier_init(&u.used, NULL, 2);
  pthread_barrier_init(&u.closed, NULL, 2);
  if (pthread_create(&thread, NULL, use, &u) != 0) _exit(2);
  pthread_barrier_wait(&u.used);
  if (dlclose(u.library) != 0) _exit(3);
  pid_t child = fork();
  if (child == 0) _exit(0);
  usleep(1000);
  pthread_barrier_wait(&u.closed);
  pthread_join(thread, NULL);
  waitpid(child, NULL, 0);
}

static void try_plugin(const char *path, int leave) {
  int status = 0;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(SECONDS);
    for (int i = 0; i < ROUNDS; i++) open_and_close(path, leave);
    if (leave) _exit(STATUS); /* a leak sanitizer would find the context */
    exit(STATUS);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != STATUS)
    fail_msg("%s, context %s: status %x", path, leave ? "left" : "released", (unsigned)status);
}

static void test_shared(void **state) {
  (void)state;
  try_plugin(NXT_PLUGIN, 0);
  try_plugin(NXT_PLUGIN, 1);
}

static void test_own_copy(void **state) {
  (void)state;
  try_plugin(NXT_PLUGIN_STATIC, 0);
  try_plugin(NXT_PLUGIN_STATIC, 1);
}

NXT_MAIN(unload) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shared),
                                     cmocka_unit_test(test_own_copy)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
