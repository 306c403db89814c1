/* SPDX-License-Identifier: ISC */
/* Mapping files, describing arrays in them, and writing files beside those that they replace. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/alloc.h"

nx_status nxi_file_error(const char *op, const char *what, const char *name, nxi_diag *d) {
  char text[128];
  nx_status status = errno == ENOMEM ? NX_OUT_OF_MEMORY : NX_IO;
  return nxi_fail(d, status, op, "cannot %s %s: %s", what, name,
                  strerror_r(errno, text, sizeof text));
}

/* ---- mapped files */

nx_status nxi_file_window(const char *op, const char *name, int fd, nxi_file_access access,
                          int64_t position, int64_t bytes, nxi_file **out, nxi_diag *d) {
  int64_t before = position % sysconf(_SC_PAGESIZE);
  nxi_file *f = nxi_calloc(1, sizeof *f);
  if (!f) return nxi_oom(d);
  atomic_init(&f->refs, 1);
  f->bytes = (size_t)bytes;
  f->data = (char *)f;
  if (bytes > 0) {
    f->map_bytes = (size_t)(before + bytes);
    f->map = mmap(NULL, f->map_bytes, PROT_READ | (access == NXI_FILE_READ ? 0 : PROT_WRITE),
                  access == NXI_FILE_SHARED ? MAP_SHARED : MAP_PRIVATE, fd, position - before);
    if (f->map == MAP_FAILED) {
      nxi_free(f);
      return nxi_file_error(op, "map", name, d);
    }
    f->data = (char *)f->map + before;
  }
  *out = f;
  return NX_OK;
}

nx_status nxi_file_open(const char *op, const char *path, nxi_file **out, nxi_diag *d) {
  struct stat s;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not make it wait */
  if (fd < 0) return nxi_file_error(op, "open", path, d);
  nx_status status;
  if (fstat(fd, &s) != 0) status = nxi_file_error(op, "open", path, d);
  else if (!S_ISREG(s.st_mode)) status = nxi_fail(d, NX_IO, op, "%s is no regular file", path);
  else status = nxi_file_window(op, path, fd, NXI_FILE_READ, 0, s.st_size, out, d);
  close(fd);
  return status;
}

void nxi_file_unref(nxi_file *f) {
  if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1) return;
  if (f->map) munmap(f->map, f->map_bytes);
  nxi_free(f);
}

/* ---- arrays */

/* The product of the extents that are not zero has to fit, too: strides are made of it. */
bool nxi_file_array_measure(nxi_file_array *a) {
  int64_t product = 1, bits;
  bool empty = false;
  for (int32_t i = 0; i < a->rank; i++) {
    empty |= a->shape[i] == 0;
    if (a->shape[i] && __builtin_mul_overflow(product, a->shape[i], &product)) return false;
  }
  if (__builtin_mul_overflow(product, nxi_dtypes[a->dtype].bits, &bits)) return false;
  a->elements = empty ? 0 : product;
  a->bytes = nxi_dtype_bytes(a->dtype, a->elements);
  a->aligned = (uintptr_t)a->data % nxi_dtype_alignment(a->dtype) == 0;
  return true;
}

void nxi_swap_bytes(nx_dtype t, void *data, int64_t size) {
  int64_t word = nxi_dtypes[t].bits / 8 / (nxi_dtypes[t].cls == NXI_COMPLEX ? 2 : 1);
  uint8_t *bytes = data;
  for (int64_t i = 0; i + word <= size; i += word)
    for (int64_t low = i, high = i + word - 1; low < high; low++, high--) {
      uint8_t byte = bytes[low];
      bytes[low] = bytes[high];
      bytes[high] = byte;
    }
}

void nxi_file_array_copy(const nxi_file_array *a, void *dst) {
  if (a->bytes) memcpy(dst, a->data, (size_t)a->bytes);
  if (a->swapped) nxi_swap_bytes(a->dtype, dst, a->bytes);
}

/* ---- writing */

enum { PIECE = 1 << 30 }; /* Linux writes at most 2 GiB at once */

nx_status nxi_file_write(nxi_file_writer *w, const void *data, int64_t bytes, nxi_diag *d) {
  const char *p = data;
  while (bytes > 0) {
    ssize_t n = write(w->fd, p, (size_t)(bytes < PIECE ? bytes : PIECE));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return nxi_file_error(w->op, "write", w->path, d);
    p += n;
    bytes -= n;
  }
  return NX_OK;
}

/* The folder of a path; room for one character more than the path has, at least for two. */
static void folder_of(const char *path, char *folder) {
  size_t length = strlen(path);
  while (length > 0 && path[length - 1] != '/') length--;
  if (length == 0) folder[length++] = '.';
  else memcpy(folder, path, length);
  folder[length] = 0;
}

/* The file that takes the place of another is that one's owner's, and who could not read or write
 * the old one cannot the new one. Where the owner cannot be kept, the owner's permissions are still
 * no wider than they were. */
static void take_after(int fd, const struct stat *old) {
  struct stat s;
  bool kept = fstat(fd, &s) == 0 && ((s.st_uid == old->st_uid && s.st_gid == old->st_gid) ||
                                     fchown(fd, old->st_uid, old->st_gid) == 0);
  if (fchmod(fd, old->st_mode & (kept ? 07777 : 0777)) != 0)
    errno = 0; /* not on this file system */
}

enum { NAME_PART = 200 }; /* of a name of at most 255 bytes: the rest of a temporary one has room */

/* A file beside the one that it is to replace, so that nobody ever sees half of it. old: that file;
 * NULL: there is none. */
static nx_status open_beside(nxi_file_writer *w, const char *target, const struct stat *old,
                             nxi_diag *d) {
  static _Atomic unsigned counter;
  size_t length = strlen(target), size = 2 * length + 64;
  char *names = nxi_malloc(size + length + 2); /* the target, the temporary name, the folder */
  if (!names) return nxi_oom(d);
  memcpy(names, target, length + 1);
  w->target = names;
  w->temporary = names + length + 1;
  w->folder = names + size;
  folder_of(target, w->folder);
  const char *slash = strrchr(target, '/');
  size_t folder = slash ? (size_t)(slash - target) + 1 : 0, name = length - folder;
  snprintf(w->temporary, size - length - 1, "%.*s.tmp-%lx-%x",
           (int)(folder + (name < NAME_PART ? name : NAME_PART)), target, (long)getpid(),
           atomic_fetch_add(&counter, 1));
  w->fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old ? 0600 : 0666);
  if (w->fd < 0) {
    nxi_free(names);
    return nxi_file_error(w->op, "write", w->path, d);
  }
  if (old) take_after(w->fd, old);
  return NX_OK;
}

/* Where a path leads to if its last part is a link, which may be to a file that is not there yet.
 * False: errno. */
static bool follow(const char *path, char target[PATH_MAX]) {
  enum { MOST_LINKS = 40 };
  char link[PATH_MAX];
  if (snprintf(target, PATH_MAX, "%s", path) >= PATH_MAX) return errno = ENAMETOOLONG, false;
  for (int i = 0; i < MOST_LINKS; i++) {
    ssize_t n = readlink(target, link, sizeof link - 1);
    if (n < 0) return errno == EINVAL || errno == ENOENT;
    link[n] = 0;
    char *slash = strrchr(target, '/');
    size_t kept = link[0] == '/' || !slash ? 0 : (size_t)(slash - target) + 1;
    if (kept + (size_t)n >= PATH_MAX) return errno = ENAMETOOLONG, false;
    memcpy(target + kept, link, (size_t)n + 1);
  }
  return errno = ELOOP, false;
}

nx_status nxi_file_write_begin(nxi_file_writer *w, const char *op, const char *path, nxi_diag *d) {
  *w = (nxi_file_writer){.op = op, .path = path};
  struct stat s;
  char target[PATH_MAX];
  bool is_there = stat(path, &s) == 0;
  if (!is_there || S_ISREG(s.st_mode)) { /* a link stays a link */
    if (!follow(path, target)) return nxi_file_error(op, "write", path, d);
    return open_beside(w, target, is_there ? &s : NULL, d);
  }
  w->fd = open(path, O_WRONLY | O_CLOEXEC);
  return w->fd < 0 ? nxi_file_error(op, "write", path, d) : NX_OK;
}

static bool synced(int fd) {
  while (fsync(fd) != 0)
    if (errno != EINTR) return false;
  return true;
}

/* All that can fail before the old file is gone: what was written is on the disk, and the folder is
 * open, to be synced once it has the new name. A folder that may not be read has -1. */
static nx_status prepare_rename(nxi_file_writer *w, int *folder, nxi_diag *d) {
  if (!synced(w->fd)) return nxi_file_error(w->op, "sync", w->path, d);
  *folder = open(w->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (*folder < 0 && errno != EACCES) return nxi_file_error(w->op, "open", w->folder, d);
  return NX_OK;
}

/* A file system that cannot sync folders says EINVAL. */
static nx_status sync_folder(nxi_file_writer *w, int folder, nxi_diag *d) {
  if (folder < 0 || synced(folder) || errno == EINVAL) return NX_OK;
  return nxi_file_error(w->op, "sync the folder of the new", w->path, d);
}

nx_status nxi_file_write_end(nxi_file_writer *w, nx_status status, nxi_diag *d) {
  int folder = -1;
  if (w->target && !w->unsynced && !status) status = prepare_rename(w, &folder, d);
  if (close(w->fd) != 0 && !status) status = nxi_file_error(w->op, "write", w->path, d);
  if (!w->target) return status;
  if (!status && rename(w->temporary, w->target) != 0)
    status = nxi_file_error(w->op, "write", w->path, d);
  if (status) unlink(w->temporary);
  else status = sync_folder(w, folder, d);
  if (folder >= 0) close(folder);
  nxi_free(w->target);
  return status;
}

nx_status nxi_file_write_text(const char *op, const char *path, const char *text, nxi_diag *d) {
  nxi_file_writer w;
  nx_status status = nxi_file_write_begin(&w, op, path, d);
  if (status) return status;
  w.unsynced = true;
  return nxi_file_write_end(&w, nxi_file_write(&w, text, (int64_t)strlen(text), d), d);
}
