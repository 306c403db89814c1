/* SPDX-License-Identifier: ISC */
/* Tensors and files: memory-mapped arrays without a header, and NumPy's .npy files. */
#ifndef NX_IO_H
#define NX_IO_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays in files of no format, mapped into memory */

enum {
  NX_FILE_READ,    /* an immutable import: never written, assigning it is NX_READ_ONLY */
  NX_FILE_PRIVATE, /* the tensor's to write; what is written stays out of the file */
  NX_FILE_SHARED /* a shared import: what is written, by host code or by assigns, is in the file */
};
enum {
  NX_FILE_FORTRAN =
      1, /* the first axis is the one whose elements lie next to each other: a permuted view */
  NX_FILE_CREATE = 2 /* make the file if it is not there; NX_FILE_SHARED with a path only */
};
typedef struct nx_import_file_desc {
  size_t size; /* sizeof(nx_import_file_desc) */
  const char *
      path; /* NULL: fd, which is open for what mode does, stays the caller's, and may be closed at once */
  int32_t fd;
  uint32_t mode, flags;
  nx_dtype dtype;
  int32_t rank;
  const int64_t *shape; /* one extent may be -1: what the rest of the file holds */
  int64_t offset;       /* of the first element, in bytes */
} nx_import_file_desc;
/* A tensor over that part of the file. Only pages that are touched are read. A file that is longer than the array is
 * used in part. One that is shorter is made longer, with zeros, and with its space on the disk, if it is shared (the -1
 * then counts what is there); otherwise that is NX_IO. Elements have this machine's byte order.
 *
 * Offsets need no alignment to pages. One that is not a multiple of the element's size is NX_INVALID_ARGUMENT in a
 * shared file; else the part is read at once and copied.
 *
 * While it is mapped the file must keep its length: touching what somebody has cut off is SIGBUS. What others write to
 * the file appears in a shared tensor; in the others it appears or does not, so a file that they map should be replaced,
 * not rewritten. Shared pages reach the disk when the system writes them; who cannot wait calls fsync.
 *
 * NX_IO, with the path and the sizes; NX_INVALID_ARGUMENT: also bytes that are no whole number of rows for the -1.
 * *out untouched on failure. */
NX_API nx_status nx_import_file(nx_context *context, const nx_import_file_desc *desc,
                                nx_tensor **out);

/* ---- .npy, versions 1 to 3 */

/* A tensor over the file, which is mapped into memory: read when touched, never written; an assign moves the
 * tensor to memory of its own. Fortran order gives a permuted view. NX_IO if the file cannot be read; NX_PARSE with the
 * byte offset if it is malformed, or truncated; NX_UNSUPPORTED_DTYPE.
 *
 * The file must keep its length while anything is computed from it: reading what somebody has cut off since is SIGBUS,
 * as with any mapped file, and changed bytes may be read changed or not. Who writes a new file and renames it, as
 * nx_save_npy does, disturbs nobody. Where that cannot be relied on, read the file and import a copy. */
NX_API nx_status nx_load_npy(nx_context *context, const char *path, nx_tensor **out);
/* Realises and writes in C order, to a temporary file that then takes the name. bf16 is written as '<V2'. */
NX_API nx_status nx_save_npy(nx_tensor *tensor, const char *path, const nx_run_options *options);

#ifdef __cplusplus
}
#endif
#endif
