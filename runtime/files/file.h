/* SPDX-License-Identifier: ISC */
/* Files as memory: mapped, counted, so that several tensors may lie in one; arrays that lie in such
 * files; and files that are written as a whole or not at all.
 *
 * If a file is shortened while it is mapped, accessing the lost pages ends the process with SIGBUS,
 * as with every mapped file. */
#ifndef NXI_FILE_H
#define NXI_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/diag.h"
#include "ir/dtype.h"
#include "nx/tensor.h"
#include "ir/platform/pages.h"

/* ---- mapped files */

typedef struct nxi_file {
  _Atomic uint32_t refs;
  char *data; /* for a file or window without bytes: an address that must not be accessed */
  size_t bytes;
  void *map;
  size_t map_bytes;
} nxi_file;

/* The whole of a regular file, for reading. NX_IO, NX_OUT_OF_MEMORY; failures are those of `op`. */
nx_status nxi_file_open(const char *op, const char *path, nxi_file **out, nxi_diag *d);
/* bytes of an open file from any position on; the file must have them. name: for failures. */
nx_status nxi_file_window(const char *op, const char *name, int fd, nxi_pages_access access,
                          int64_t position, int64_t bytes, nxi_file **out, nxi_diag *d);
static inline nxi_file *nxi_file_ref(nxi_file *f) {
  atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
  return f;
}
/* NULL is allowed. */
void nxi_file_unref(nxi_file *f);
/* "cannot WHAT NAME: what errno says"; without memory for it NX_OUT_OF_MEMORY. */
nx_status nxi_file_error(const char *op, const char *what, const char *name, nxi_diag *d);

/* ---- arrays in files */

typedef struct nxi_file_array {
  nx_dtype dtype;
  int32_t rank;
  int64_t shape[NX_MAX_RANK];
  bool fortran;     /* the first axis is the one that is contiguous */
  bool swapped;     /* elements are in the other byte order than this machine's */
  bool aligned;     /* data is aligned for the element type */
  int64_t elements; /* product of the shape */
  int64_t offset;   /* of the data, bytes from the start of the file */
  int64_t bytes;    /* of the data */
  const void *data; /* into the mapping, or into what was parsed */
  nxi_file *file;   /* that data lies in, one reference; NULL: the caller's memory */
} nxi_file_array;

/* Sets elements, bytes and aligned from the rest; NX_PARSE if they do not fit in 63 bits. */
bool nxi_file_array_measure(nxi_file_array *a);
/* Copies all elements in the file's order, in this machine's byte order, to dst: bytes of them. */
void nxi_file_array_copy(const nxi_file_array *a, void *dst);
/* Turns bytes in the other byte order around. */
void nxi_swap_bytes(nx_dtype t, void *data, int64_t bytes);

/* ---- files that appear completely or not at all */

/* A file that is being written: next to the one that it will replace, or, if that is a device or a
 * pipe, directly. */
typedef struct nxi_file_writer {
  const char *op, *path;
  char *temporary, *target, *folder; /* NULL: written directly */
  int fd;
  int64_t written; /* bytes so far */
  bool unsynced;   /* the file is not synced, so a power failure may lose it */
} nxi_file_writer;
nx_status nxi_file_write_begin(nxi_file_writer *w, const char *op, const char *path, nxi_diag *d);
nx_status nxi_file_write(nxi_file_writer *w, const void *data, int64_t bytes, nxi_diag *d);
/* If status is NX_OK, syncs the file, renames it, and syncs its folder; else removes the file.
 * Returns the first failure. After a failure the old file is in place, unless only syncing the
 * folder failed. */
nx_status nxi_file_write_end(nxi_file_writer *w, nx_status status, nxi_diag *d);
/* A text for people, such as a dump, unsynced. */
nx_status nxi_file_write_text(const char *op, const char *path, const char *text, nxi_diag *d);

#endif
