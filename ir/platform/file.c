/* SPDX-License-Identifier: ISC */
/* Files through system calls. */
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert((int)NXI_PATH >= (int)PATH_MAX, "room for every path of the system");

const char *nxi_system_error(int error, char text[NXI_SYSTEM_ERROR]) {
  return strerror_r(error, text, NXI_SYSTEM_ERROR);
}

/* ---- properties of files */

static bool tell(bool known, const struct stat *s, nxi_file_info *out) {
  if (!known) return false;
  *out = (nxi_file_info){.regular = S_ISREG(s->st_mode),
                         .folder = S_ISDIR(s->st_mode),
                         .others_write = (s->st_mode & 022) != 0,
                         .owner = s->st_uid,
                         .group = s->st_gid,
                         .permissions = s->st_mode & 07777,
                         .bytes = s->st_size,
                         .modified_s = s->st_mtim.tv_sec,
                         .modified_ns = (int32_t)s->st_mtim.tv_nsec};
  return true;
}

bool nxi_path_info(const char *path, nxi_file_info *out) {
  struct stat s;
  return tell(stat(path, &s) == 0, &s, out);
}

bool nxi_fd_info(int file, nxi_file_info *out) {
  struct stat s;
  return tell(fstat(file, &s) == 0, &s, out);
}

bool nxi_name_info(int folder, const char *name, nxi_file_info *out) {
  struct stat s;
  return tell(fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) == 0, &s, out);
}

bool nxi_is_own(const nxi_file_info *f) { return f->owner == geteuid(); }

/* ---- open files */

int nxi_fd_open_in(int folder, const char *name, uint32_t how, uint32_t permissions) {
  int flags = O_CLOEXEC | (how & NXI_FD_WRITE    ? O_WRONLY
                           : how & NXI_FD_UPDATE ? O_RDWR | O_NONBLOCK
                                                 : O_RDONLY | O_NONBLOCK);
  if (how & NXI_FD_CREATE) flags |= O_CREAT;
  if (how & NXI_FD_NEW) flags |= O_EXCL;
  if (how & NXI_FD_DIRECT) flags |= O_NOFOLLOW;
  return openat(folder, name, flags, permissions);
}

int nxi_fd_open(const char *path, uint32_t how, uint32_t permissions) {
  return nxi_fd_open_in(AT_FDCWD, path, how, permissions);
}

int nxi_fd_open_folder(const char *path) { return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

bool nxi_fd_close(int file) { return close(file) == 0; }

bool nxi_fd_read(int file, void *data, size_t bytes) {
  for (char *p = data; bytes > 0;) {
    ssize_t n = read(file, p, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    bytes -= (size_t)n;
  }
  return true;
}

enum { PIECE = 1 << 30 }; /* Linux writes at most 2 GiB at once */

bool nxi_fd_write(int file, const void *data, size_t bytes) {
  for (const char *p = data; bytes > 0;) {
    ssize_t n = write(file, p, bytes < PIECE ? bytes : PIECE);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return false;
    p += n;
    bytes -= (size_t)n;
  }
  return true;
}

void nxi_fd_push(int file, int64_t at, int64_t bytes) {
  sync_file_range(file, at, bytes, SYNC_FILE_RANGE_WRITE);
  if (at >= bytes)
    sync_file_range(file, at - bytes, bytes,
                    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                        SYNC_FILE_RANGE_WAIT_AFTER);
}

bool nxi_fd_sync(int file) {
  while (fsync(file) != 0)
    if (errno != EINTR) return false;
  return true;
}

bool nxi_fd_touch(int file) { return futimens(file, NULL) == 0; }

void nxi_fd_take_after(int file, const nxi_file_info *other) {
  struct stat s;
  bool kept = fstat(file, &s) == 0 && ((s.st_uid == other->owner && s.st_gid == other->group) ||
                                       fchown(file, other->owner, other->group) == 0);
  if (fchmod(file, other->permissions & (kept ? 07777 : 0777)) != 0)
    errno = 0; /* this file system does not support it */
}

bool nxi_fd_grow(int file, int64_t from, int64_t to) {
  if (fallocate(file, 0, from, to - from) == 0) return true;
  bool able = errno != EOPNOTSUPP && errno != ENOSYS;
  if (!able && ftruncate(file, to) == 0) return true;
  int why = errno;
  bool back = ftruncate(file, from) == 0;
  (void)back; /* a failure is ignored */
  errno = why;
  return false;
}

/* ---- names */

bool nxi_path_rename(const char *from, const char *to) { return rename(from, to) == 0; }
bool nxi_path_remove(const char *path) { return unlink(path) == 0; }

bool nxi_name_rename(int folder, const char *from, const char *to) {
  return renameat(folder, from, folder, to) == 0;
}
bool nxi_name_remove(int folder, const char *name) { return unlinkat(folder, name, 0) == 0; }

bool nxi_path_readable(const char *path) { return access(path, R_OK) == 0; }

bool nxi_path_make_folder(const char *path, uint32_t permissions) {
  return mkdir(path, permissions) == 0;
}

bool nxi_path_folder_usable(const char *path) { return access(path, W_OK | X_OK) == 0; }

bool nxi_fd_folder_usable(int folder) {
  return faccessat(folder, ".", R_OK | W_OK | X_OK, AT_EACCESS) == 0;
}

bool nxi_path_follow(const char *path, char target[NXI_PATH]) {
  enum { MOST_LINKS = 40 };
  char link[NXI_PATH];
  if (snprintf(target, NXI_PATH, "%s", path) >= NXI_PATH) return errno = ENAMETOOLONG, false;
  for (int i = 0; i < MOST_LINKS; i++) {
    ssize_t n = readlink(target, link, sizeof link - 1);
    if (n < 0) return errno == EINVAL || errno == ENOENT;
    link[n] = 0;
    char *slash = strrchr(target, '/');
    size_t kept = link[0] == '/' || !slash ? 0 : (size_t)(slash - target) + 1;
    if (kept + (size_t)n >= NXI_PATH) return errno = ENAMETOOLONG, false;
    memcpy(target + kept, link, (size_t)n + 1);
  }
  return errno = ELOOP, false;
}

bool nxi_path_real(const char *path, char real[NXI_PATH]) { return realpath(path, real) != NULL; }

static bool list(DIR *stream, nxi_name_visitor *visit, void *user) {
  if (!stream) return false;
  for (struct dirent *e; (e = readdir(stream));)
    if (!visit(user, e->d_name)) break;
  closedir(stream);
  return true;
}

bool nxi_fd_list(int folder, nxi_name_visitor *visit, void *user) {
  int file = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = file >= 0 ? fdopendir(file) : NULL;
  if (!stream && file >= 0) close(file);
  return list(stream, visit, user);
}

bool nxi_path_list(const char *path, nxi_name_visitor *visit, void *user) {
  return list(opendir(path), visit, user);
}

bool nxi_read_text(const char *path, char *text, size_t capacity) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  size_t used = 0;
  while (file >= 0 && used < capacity - 1) {
    ssize_t n = read(file, text + used, capacity - 1 - used);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    used += (size_t)n;
  }
  if (file >= 0) close(file);
  text[used] = 0;
  return used > 0;
}
