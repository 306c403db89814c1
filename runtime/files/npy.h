/* SPDX-License-Identifier: ISC */
/* Files in NumPy's .npy format, versions 1 to 3. Reading maps the file and copies nothing; the
 * sizes in a header do not cause any allocation. bf16, which NumPy lacks, is the two-byte void "V2"
 * that its extensions write. */
#ifndef NXI_NPY_H
#define NXI_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file.h"

/* How descr spells a dtype, without its byte order; NULL if the format lacks it. */
const char *nxi_npy_code(nx_dtype dtype);

/* Reads the header of a file in memory. Of its `size` bytes only the first `there` need be present,
 * which must include the header. NX_PARSE: the file is malformed, or shorter than its header says;
 * d->index is the offset of the first bad byte (the size of the file if it is too short).
 * NX_UNSUPPORTED_DTYPE: an element type with no counterpart here; d->index as above. out->data
 * points into `file`. On failure *out is untouched. */
nx_status nxi_npy_parse_part(const void *file, size_t there, size_t size, nxi_file_array *out,
                             nxi_diag *d);
/* The same for a complete file. */
nx_status nxi_npy_parse(const void *file, size_t size, nxi_file_array *out, nxi_diag *d);

/* Maps a file read-only and parses it. out->data is valid until the reference out->file is
 * released. Statuses of nxi_npy_parse, and NX_IO. */
nx_status nxi_npy_map(const char *path, nxi_file_array *out, nxi_diag *d);

/* Begins a file of version 1, up to where its elements start; statuses as below. */
nx_status nxi_npy_write_begin(nxi_file_writer *w, const char *path, nx_dtype dtype, int32_t rank,
                              const int64_t *shape, bool fortran, nxi_diag *d);
/* Writes contiguous elements in this machine's byte order as version 1: in C order, or in Fortran
 * order with `fortran`. An existing file is replaced, and only by a complete one; devices and pipes
 * are written to directly. NX_IO; NX_UNSUPPORTED_DTYPE (i4, u4, f8e4m3, f8e5m2, c32);
 * NX_INVALID_ARGUMENT (rank). */
nx_status nxi_npy_write(const char *path, nx_dtype dtype, int32_t rank, const int64_t *shape,
                        bool fortran, const void *data, nxi_diag *d);

#endif
