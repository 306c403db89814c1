/* SPDX-License-Identifier: ISC */
/* Files in NumPy's .npy format, versions 1 to 3. Reading maps the file and copies nothing; no allocation is made
 * for what a header claims. bf16, which NumPy lacks, is the two-byte void "V2" that its extensions write. */
#ifndef NXI_NPY_H
#define NXI_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/diag.h"
#include "ir/dtype.h"

enum { NXI_NPY_MAX_RANK = 32 };

typedef struct nxi_npy {
  nx_dtype dtype;
  int32_t rank;
  int64_t shape[NXI_NPY_MAX_RANK];
  bool fortran;     /* the first axis is the one that is contiguous */
  bool swapped;     /* elements are in the other byte order than this machine's */
  bool aligned;     /* data is aligned for the element type (mapped files only) */
  int64_t elements; /* product of the shape */
  int64_t offset;   /* of the data, bytes from the start of the file */
  int64_t bytes;    /* of the data */
  const void *data; /* into the mapping, or into what was parsed */
  void *map;        /* nxi_npy_map only */
  size_t map_bytes;
} nxi_npy;

/* Reads the header of a file that lies in memory, size bytes. NX_PARSE: the file is malformed, or shorter than its
 * header says; d->index is the offset of the first bad byte (the size of the file if it is too short).
 * NX_UNSUPPORTED_DTYPE: an element type with no counterpart here; d->index as above. out->data points into
 * `file`. On failure *out is untouched. */
nx_status nxi_npy_parse(const void *file, size_t size, nxi_npy *out, nxi_diag *d);

/* Maps a file read-only and parses it; unmap ends the use of out->data. As nxi_npy_parse, and NX_IO. A file that
 * another process shortens while it is mapped ends this one with SIGBUS, as for every mapped file. */
nx_status nxi_npy_map(const char *path, nxi_npy *out, nxi_diag *d);
void nxi_npy_unmap(nxi_npy *npy);

/* Copies all elements in the file's order, in this machine's byte order, to dst: npy->bytes bytes. */
void nxi_npy_copy(const nxi_npy *npy, void *dst);

/* Writes contiguous elements in this machine's byte order (C order; or Fortran order, with `fortran`) as version
 * 1. The file appears whole or not at all, an existing one is replaced; devices and pipes are written to
 * directly. NX_IO; NX_UNSUPPORTED_DTYPE (i4, u4, f8e4m3, f8e5m2, c32); NX_INVALID_ARGUMENT (rank). */
nx_status nxi_npy_write(const char *path, nx_dtype dtype, int32_t rank, const int64_t *shape,
                        bool fortran, const void *data, nxi_diag *d);

#endif
