/* SPDX-License-Identifier: ISC */
/* The process through the C library, and others through posix_spawn. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

uint32_t nxi_process_number(void) { return (uint32_t)getpid(); }

const char *nxi_safe_variable(const char *name) { return secure_getenv(name); }

bool nxi_variable_set(const char *name, const char *value) {
  return (value ? setenv(name, value, 1) : unsetenv(name)) == 0;
}

extern char **environ;

/* Starts the program with the end of a pipe as its standard output. 0, or the reason. */
static int start(const char *const *arguments, int output, pid_t *child) {
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error != 0) return error;
  error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (error == 0)
    error = posix_spawnp(child, arguments[0], &actions, NULL, (char *const *)arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

static int exit_status(pid_t child) {
  int status;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int nxi_program_run(const char *const *arguments,
                    void (*take)(void *user, const char *text, size_t n), void *user) {
  char text[1 << 12];
  int ends[2];
  pid_t child;
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  const int error = start(arguments, ends[1], &child);
  close(ends[1]);
  ssize_t n = error == 0 ? 1 : 0;
  while (n != 0) {
    n = read(ends[0], text, sizeof text);
    if (n < 0 && errno != EINTR) break;
    if (n > 0) take(user, text, (size_t)n);
  }
  close(ends[0]);
  if (error == 0) return exit_status(child);
  errno = error;
  return -1;
}
