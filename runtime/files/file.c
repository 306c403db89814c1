/* SPDX-License-Identifier: ISC */
/* Maps files, describes arrays in them, and writes files next to those that they replace. */
#include "ir/platform/file.h"
#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ir/alloc.h"
#include "ir/platform/pages.h"
#include "ir/platform/process.h"

nx_status nxi_file_error(const char *op, const char *what, const char *name, nxi_diag *d) {
  char text[NXI_SYSTEM_ERROR];
  nx_status status = errno == ENOMEM ? NX_OUT_OF_MEMORY : NX_IO;
  return nxi_fail(d, status, op, "cannot %s %s: %s", what, name, nxi_system_error(errno, text));
}

/* ---- mapped files */

nx_status nxi_file_window(const char *op, const char *name, int fd, nxi_pages_access access,
                          int64_t position, int64_t bytes, nxi_file **out, nxi_diag *d) {
  int64_t before = position % (int64_t)nxi_page_bytes();
  nxi_file *f = nxi_calloc(1, sizeof *f);
  if (!f) return nxi_oom(d);
  atomic_init(&f->refs, 1);
  f->bytes = (size_t)bytes;
  f->data = (char *)f;
  if (bytes > 0) {
    f->map_bytes = (size_t)(before + bytes);
    f->map = nxi_pages_map_file(fd, position - before, f->map_bytes, access);
    if (!f->map) {
      nxi_free(f);
      return nxi_file_error(op, "map", name, d);
    }
    f->data = (char *)f->map + before;
  }
  *out = f;
  return NX_OK;
}

nx_status nxi_file_open(const char *op, const char *path, nxi_file **out, nxi_diag *d) {
  nxi_file_info info;
  int fd = nxi_fd_open(path, 0, 0);
  if (fd < 0) return nxi_file_error(op, "open", path, d);
  nx_status status;
  if (!nxi_fd_info(fd, &info)) status = nxi_file_error(op, "open", path, d);
  else if (!info.regular) status = nxi_fail(d, NX_IO, op, "%s is no regular file", path);
  else status = nxi_file_window(op, path, fd, NXI_PAGES_READ, 0, info.bytes, out, d);
  nxi_fd_close(fd);
  return status;
}

void nxi_file_unref(nxi_file *f) {
  if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1) return;
  if (f->map) nxi_pages_unmap(f->map, f->map_bytes);
  nxi_free(f);
}

/* ---- arrays */

/* The product of the extents that are not zero has to fit too, because strides are computed from
 * it. */
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

nx_status nxi_file_write(nxi_file_writer *w, const void *data, int64_t bytes, nxi_diag *d) {
  if (!nxi_fd_write(w->fd, data, (size_t)bytes)) return nxi_file_error(w->op, "write", w->path, d);
  w->written += bytes;
  return NX_OK;
}

/* Writes the folder of a path to `folder`, which has room for the path and one more character, and
 * for at least two. */
static void folder_of(const char *path, char *folder) {
  size_t length = strlen(path);
  while (length > 0 && path[length - 1] != '/') length--;
  if (length == 0) folder[length++] = '.';
  else memcpy(folder, path, length);
  folder[length] = 0;
}

/* bytes of a name that are used in a temporary one, which has at most 255 */
enum { NAME_PART = 200 };

/* Opens a file next to the one that it will replace, so that an incomplete file is never visible.
 * old: that file; NULL: there is none. */
static nx_status open_beside(nxi_file_writer *w, const char *target, const nxi_file_info *old,
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
  snprintf(w->temporary, size - length - 1, "%.*s.tmp-%x-%x",
           (int)(folder + (name < NAME_PART ? name : NAME_PART)), target,
           (unsigned)nxi_process_number(), atomic_fetch_add(&counter, 1));
  w->fd = nxi_fd_open(w->temporary, NXI_FD_WRITE | NXI_FD_CREATE | NXI_FD_NEW, old ? 0600 : 0666);
  if (w->fd < 0) {
    nxi_free(names);
    return nxi_file_error(w->op, "write", w->path, d);
  }
  if (old) nxi_fd_take_after(w->fd, old); /* who could not read or write the old one cannot this */
  return NX_OK;
}

nx_status nxi_file_write_begin(nxi_file_writer *w, const char *op, const char *path, nxi_diag *d) {
  *w = (nxi_file_writer){.op = op, .path = path};
  nxi_file_info old;
  char target[NXI_PATH];
  bool is_there = nxi_path_info(path, &old);
  if (!is_there || old.regular) { /* the link itself is kept */
    if (!nxi_path_follow(path, target)) return nxi_file_error(op, "write", path, d);
    return open_beside(w, target, is_there ? &old : NULL, d);
  }
  w->fd = nxi_fd_open(path, NXI_FD_WRITE, 0);
  return w->fd < 0 ? nxi_file_error(op, "write", path, d) : NX_OK;
}

/* Does all that can fail before the old file is replaced: syncs the new file, and opens the folder,
 * which is synced after the rename. *folder is -1 for a folder that may not be read. */
static nx_status prepare_rename(nxi_file_writer *w, int *folder, nxi_diag *d) {
  if (!nxi_fd_sync(w->fd)) return nxi_file_error(w->op, "sync", w->path, d);
  *folder = nxi_fd_open_folder(w->folder);
  if (*folder < 0 && errno != EACCES) return nxi_file_error(w->op, "open", w->folder, d);
  return NX_OK;
}

/* A file system that cannot sync folders says EINVAL. */
static nx_status sync_folder(nxi_file_writer *w, int folder, nxi_diag *d) {
  if (folder < 0 || nxi_fd_sync(folder) || errno == EINVAL) return NX_OK;
  return nxi_file_error(w->op, "sync the folder of the new", w->path, d);
}

nx_status nxi_file_write_end(nxi_file_writer *w, nx_status status, nxi_diag *d) {
  int folder = -1;
  if (w->target && !w->unsynced && !status) status = prepare_rename(w, &folder, d);
  if (!nxi_fd_close(w->fd) && !status) status = nxi_file_error(w->op, "write", w->path, d);
  if (!w->target) return status;
  if (!status && !nxi_path_rename(w->temporary, w->target))
    status = nxi_file_error(w->op, "write", w->path, d);
  if (status) nxi_path_remove(w->temporary);
  else status = sync_folder(w, folder, d);
  if (folder >= 0) nxi_fd_close(folder);
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
