/* SPDX-License-Identifier: ISC */
/* See faulty.h. */
#include "faulty.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_FILES = 1024 };

static struct {
  char folder[PATH_MAX], mark[PATH_MAX];
  int fault;
  long left; /* calls before it; -1: none fails */
  const char *struck;
  bool ours[MOST_FILES]; /* descriptors of files below the folder */
} state = {.left = -1};

void nxt_faults_arm(const char *folder, int fault, long at) {
  snprintf(state.folder, sizeof state.folder, "%s", folder);
  state.fault = fault;
  state.left = at;
  state.struck = NULL;
}

bool nxt_faults_disarm(const char **call) {
  state.left = -1;
  *call = state.struck ? state.struck : "none";
  return state.struck != NULL;
}

static __attribute__((constructor)) void arm_by_environment(void) {
  const char *wish = getenv("NXT_FAULT"), *mark = getenv("NXT_FAULT_MARK");
  char folder[PATH_MAX];
  int fault;
  long at;
  if (!wish || sscanf(wish, "%4000s %d %ld", folder, &fault, &at) != 3) return;
  snprintf(state.mark, sizeof state.mark, "%s", mark ? mark : "");
  nxt_faults_arm(folder, fault, at);
}

/* ---- which call fails */

static bool is_below(const char *path) {
  size_t n = strlen(state.folder);
  return n > 0 && path && !strncmp(path, state.folder, n);
}
static bool is_ours(int fd) { return fd >= 0 && fd < MOST_FILES && state.ours[fd]; }

/* Whether this call fails; sets errno if it does. */
static bool strikes(bool concerned, const char *call) {
  if (state.left < 0 || !concerned) return false;
  state.left--;
  if (state.left >= 0) return false;
  state.struck = call;
  if (state.mark[0])
    syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, state.mark, O_CREAT | O_WRONLY, 0600));
  if (state.fault > 0) errno = state.fault;
  return state.fault > 0;
}

/* Whether this call is the one that does only half of its work. */
static bool is_short(const char *call) { return state.struck == call && state.fault == NXT_SHORT; }

static long finish(long result) {
  if (result >= 0 || result < -4095) return result;
  errno = (int)-result;
  return -1;
}

static int opened(long fd, bool concerned) {
  if (fd >= 0 && fd < MOST_FILES) state.ours[fd] = concerned;
  return (int)fd;
}

/* ---- the calls; syscall() sets errno itself */

static int open_as(int at, const char *path, int flags, unsigned mode, bool concerned) {
  if (strikes(concerned, "open")) return -1;
  return opened(syscall(SYS_openat, at, path, flags, mode), concerned);
}
int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  unsigned mode = flags & O_CREAT ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  return open_as(AT_FDCWD, path, flags, mode, is_below(path));
}
int openat(int at, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  unsigned mode = flags & O_CREAT ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  return open_as(at, path, flags, mode, is_below(path) || is_ours(at));
}
/* The descriptor is closed even if the call fails, as on Linux. */
int close(int fd) {
  bool concerned = is_ours(fd), fails = strikes(concerned, "close");
  int code = errno, result = (int)syscall(SYS_close, fd);
  opened(fd, false);
  if (fails) errno = code;
  return fails ? -1 : result;
}
ssize_t write(int fd, const void *data, size_t n) {
  static const char call[] = "write";
  if (strikes(is_ours(fd), call)) return -1;
  if (is_short(call)) n = (n + 1) / 2, state.fault = 0;
  return syscall(SYS_write, fd, data, n);
}
ssize_t read(int fd, void *data, size_t n) {
  static const char call[] = "read";
  if (strikes(is_ours(fd), call)) return -1;
  if (is_short(call)) n = (n + 1) / 2, state.fault = 0;
  return syscall(SYS_read, fd, data, n);
}
int fsync(int fd) { return strikes(is_ours(fd), "fsync") ? -1 : (int)syscall(SYS_fsync, fd); }
int ftruncate(int fd, off_t n) {
  return strikes(is_ours(fd), "ftruncate") ? -1 : (int)syscall(SYS_ftruncate, fd, n);
}
int fallocate(int fd, int mode, off_t at, off_t n) {
  return strikes(is_ours(fd), "fallocate") ? -1 : (int)syscall(SYS_fallocate, fd, mode, at, n);
}
int rename(const char *from, const char *to) {
  return strikes(is_below(from), "rename") ? -1 : (int)syscall(SYS_rename, from, to);
}
int renameat(int from_at, const char *from, int to_at, const char *to) {
  return strikes(is_ours(from_at), "renameat")
             ? -1
             : (int)syscall(SYS_renameat2, from_at, from, to_at, to, 0);
}
int mkdir(const char *path, mode_t mode) {
  return strikes(is_below(path), "mkdir") ? -1 : (int)syscall(SYS_mkdir, path, mode);
}
int fstat(int fd, struct stat *s) {
  return strikes(is_ours(fd), "fstat") ? -1
                                       : (int)syscall(SYS_newfstatat, fd, "", s, AT_EMPTY_PATH);
}
int stat(const char *path, struct stat *s) {
  return strikes(is_below(path), "stat") ? -1 : (int)syscall(SYS_newfstatat, AT_FDCWD, path, s, 0);
}
void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t from) {
  if (strikes(is_ours(fd), "mmap")) return MAP_FAILED;
  return (void *)finish(syscall(SYS_mmap, at, n, protection, flags, fd, from));
}
