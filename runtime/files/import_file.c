/* SPDX-License-Identifier: ISC */
/* Maps arrays in files without a header, like map_file of other array libraries. A tensor that is
 * written in the file is a shared import of the mapped pages; one that is private owns them. */
#include <errno.h>
#include <string.h>

#include "file.h"
#include "ir/platform/file.h"
#include "ir/platform/pages.h"
#include "runtime/realize/run.h"
#include "runtime/record/error.h"
#include "runtime/record/import.h"
#include "runtime/record/record.h"

static const char operation[] = "import_file";

typedef struct opened {
  nx_import_file_desc desc;
  const char *name; /* for failures */
  int fd;
  bool made;    /* the file was created */
  int64_t size; /* of the file */
  int64_t elements, bytes;
  int64_t shape[NX_MAX_RANK];
} opened;

/* ---- the request */

static nx_status check(opened *f, nxi_diag *d) {
  const nx_import_file_desc *i = &f->desc;
  const uint32_t known = NX_FILE_FORTRAN | NX_FILE_CREATE;
  if (i->mode > NX_FILE_SHARED)
    return nxi_fail(d, NX_INVALID_ARGUMENT, operation, "import_file: there is no mode %u", i->mode);
  if (i->flags & ~known)
    return nxi_fail(d, NX_INVALID_ARGUMENT, operation, "import_file: the flags 0x%x are not known",
                    i->flags & ~known);
  if (i->flags & NX_FILE_CREATE && (i->mode != NX_FILE_SHARED || !i->path))
    return nxi_fail(d, NX_INVALID_ARGUMENT, operation,
                    "import_file: only a file with a path that is to be written is created");
  if (!nxi_dtype_exists(operation, i->dtype, d)) return d->status;
  if (i->offset < 0)
    return nxi_fail(d, NX_INVALID_ARGUMENT, operation, "import_file: the offset %lld is negative",
                    (long long)i->offset);
  if (i->rank < 0 || i->rank > NX_MAX_RANK || (i->rank && !i->shape))
    return nxi_fail(d, NX_INVALID_ARGUMENT, operation,
                    i->rank > 0 && i->rank <= NX_MAX_RANK
                        ? "import_file: the shape is null"
                        : "import_file: rank %d is not between 0 and 32",
                    i->rank);
  return NX_OK;
}

/* The axis whose extent follows from the file's size, or -1. */
static int32_t open_extent(const opened *f) {
  for (int32_t i = 0; i < f->desc.rank; i++)
    if (f->shape[i] == -1) return i;
  return -1;
}

static nx_status infer(opened *f, int32_t open, nxi_diag *d) {
  char text[NXG_SHAPE_TEXT];
  const char *shape = nxg_format_shape(text, f->desc.rank, f->desc.shape);
  int64_t left = f->size - f->desc.offset, bits = nxi_dtypes[f->desc.dtype].bits, there, others;
  if (left < 0)
    return nxi_fail(d, NX_INVALID_ARGUMENT, operation,
                    "import_file: %s has %lld bytes, so nothing is at offset %lld", f->name,
                    (long long)f->size, (long long)f->desc.offset);
  f->shape[open] = 1;
  if (nxg_shape_check(NX_INVALID_ARGUMENT, operation, f->desc.rank, f->shape, (int)bits, &others,
                      d))
    return d->status;
  there = bits < 8 ? left * (8 / bits) : left / (bits / 8);
  if (!others || there % others || (bits >= 8 && left % (bits / 8)))
    return nxi_fail(
        d, NX_INVALID_ARGUMENT, operation,
        "import_file: the %lld bytes of %s from offset %lld are no whole number of rows "
        "for the -1 in shape %s of %s",
        (long long)left, f->name, (long long)f->desc.offset, shape, nxi_dtypes[f->desc.dtype].name);
  f->shape[open] = there / others;
  return NX_OK;
}

/* Shape, elements and bytes, once the size of the file is known. */
static nx_status measure(opened *f, nxi_diag *d) {
  int32_t rank = f->desc.rank;
  if (rank) memcpy(f->shape, f->desc.shape, (size_t)rank * sizeof *f->shape);
  int32_t open = open_extent(f);
  if (open >= 0 && infer(f, open, d)) return d->status;
  if (nxg_shape_check(NX_INVALID_ARGUMENT, operation, rank, f->shape,
                      nxi_dtypes[f->desc.dtype].bits, &f->elements, d))
    return d->status; /* also a second -1 */
  f->bytes = nxi_dtype_bytes(f->desc.dtype, f->elements);
  if (f->bytes <= INT64_MAX - f->desc.offset) return NX_OK;
  return nxi_fail(d, NX_INVALID_ARGUMENT, operation,
                  "import_file: the array ends beyond what a file can hold");
}

/* ---- the file */

/* Opens the file, or creates it if that is requested. */
static int open_path(opened *f) {
  uint32_t how = f->desc.mode == NX_FILE_SHARED ? NXI_FD_UPDATE : 0;
  if (!(f->desc.flags & NX_FILE_CREATE)) return nxi_fd_open(f->desc.path, how, 0);
  int fd = nxi_fd_open(f->desc.path, how | NXI_FD_CREATE | NXI_FD_NEW, 0666);
  f->made = fd >= 0;
  if (fd >= 0 || errno != EEXIST) return fd;
  return nxi_fd_open(f->desc.path, how | NXI_FD_CREATE, 0666);
}

static nx_status open_file(opened *f, nxi_diag *d) {
  static char numbered[] = "the file";
  f->name = f->desc.path ? f->desc.path : numbered;
  f->fd = f->desc.path ? open_path(f) : f->desc.fd;
  nxi_file_info info;
  if (f->fd < 0 || !nxi_fd_info(f->fd, &info)) {
    if (!f->desc.path) errno = EBADF;
    return nxi_file_error(operation, "open", f->name, d);
  }
  if (!info.regular)
    return nxi_fail(d, NX_IO, operation, "import_file: %s is no regular file", f->name);
  f->size = info.bytes;
  return NX_OK;
}

/* Makes the file as long as the array needs. */
static nx_status grow(opened *f, nxi_diag *d) {
  int64_t end = f->desc.offset + f->bytes;
  if (end <= f->size) return NX_OK;
  char text[NXG_SHAPE_TEXT];
  if (f->desc.mode != NX_FILE_SHARED)
    return nxi_fail(d, NX_IO, operation,
                    "import_file: %s has %lld bytes, but %s%s from offset %lld ends at byte %lld",
                    f->name, (long long)f->size, nxi_dtypes[f->desc.dtype].name,
                    nxg_format_shape(text, f->desc.rank, f->shape), (long long)f->desc.offset,
                    (long long)end);
  if (nxi_fd_grow(f->fd, f->size, end)) return NX_OK;
  return nxi_file_error(operation, "grow", f->name, d);
}

/* ---- the tensor */

static void unmap(void *file) { nxi_file_unref(file); }

static nx_status import(nx_context *c, const opened *f, nxi_file *file, nx_tensor **out) {
  static const uint32_t modes[] = {NX_IMPORT_IMMUTABLE, NX_IMPORT_COPY, NX_IMPORT_SHARED};
  nx_dtype dtype = f->desc.dtype;
  bool aligned = (uintptr_t)file->data % nxi_dtype_alignment(dtype) == 0;
  nxi_import_source source = {.op = operation,
                              .elements = f->elements,
                              .owned = aligned && f->desc.mode == NX_FILE_PRIVATE,
                              .read_only = f->desc.mode == NX_FILE_READ,
                              .file = f->desc.mode == NX_FILE_SHARED,
                              .desc = {.mode = aligned ? modes[f->desc.mode] : NX_IMPORT_COPY,
                                       .dtype = dtype,
                                       .base = file->data,
                                       .bytes = file->bytes,
                                       .release = unmap,
                                       .user = file}};
  nxg_view *v = &source.view;
  nxg_view_contiguous(v, f->desc.rank, f->shape);
  int64_t stride = 1;
  for (int32_t i = 0; f->desc.flags & NX_FILE_FORTRAN && f->elements && i < v->rank; i++) {
    v->strides[i] = stride;
    stride *= v->shape[i];
  }
  nx_status status = nxi_import(c, &source, out);
  if (status) nxi_file_unref(file);
  return status;
}

nx_status nx_import_file(nx_context *c, const nx_import_file_desc *desc, nx_tensor **out) {
  if (!c || !desc || !out)
    return nxi_error_null(operation, !c ? 0 : !desc ? 1 : 2), NX_INVALID_ARGUMENT;
  if (!nxi_have_context(operation, 0, c)) return NX_INVALID_ARGUMENT;
  opened f = {.desc = {.size = sizeof f.desc, .fd = -1}, .fd = -1};
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_file *file = NULL;
  nx_status status = nxi_take(&f.desc, desc, sizeof f.desc, "nx_import_file_desc", operation, &d);
  if (!status) status = check(&f, &d);
  if (!status) status = open_file(&f, &d);
  if (!status) status = measure(&f, &d);
  if (!status && f.desc.mode == NX_FILE_SHARED && f.bytes &&
      f.desc.offset % (int64_t)nxi_dtype_alignment(f.desc.dtype))
    status =
        nxi_fail(&d, NX_INVALID_ARGUMENT, operation,
                 "import_file: offset %lld is not aligned to elements of %d bytes, which a shared "
                 "file needs",
                 (long long)f.desc.offset, nxi_dtypes[f.desc.dtype].bits / 8);
  if (!status) status = grow(&f, &d);
  if (!status)
    status = nxi_file_window(operation, f.name, f.fd, (nxi_pages_access)f.desc.mode, f.desc.offset,
                             f.bytes, &file, &d);
  if (f.desc.path && f.fd >= 0) nxi_fd_close(f.fd);
  if (status) nxi_oom_in(&d, status, operation), nxi_error_report(&d);
  else status = import(c, &f, file, out);
  if (status && f.made && f.desc.path) nxi_path_remove(f.desc.path);
  return status;
}
