/* SPDX-License-Identifier: ISC */
/* Writing .npy, version 1, with the header padded so that the elements start at a multiple of 64
 * bytes. */
#include <stdio.h>
#include <string.h>

#include "npy.h"

static const char operation[] = "npy";
static const uint8_t magic[8] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0}; /* version 1.0 */
enum { HEADER_MAX = 1024 };                                            /* rank 32 takes below 800 */

static size_t make_header(char header[HEADER_MAX], const char *code, nx_dtype dtype, int32_t rank,
                          const int64_t *shape, bool fortran) {
  const uint16_t one = 1;
  char order = nxi_dtype_size(dtype) == 1 ? '|' : *(const uint8_t *)&one ? '<' : '>';
  size_t n = 10;
  n += (size_t)snprintf(header + n, HEADER_MAX - n,
                        "{'descr': '%c%s', 'fortran_order': %s, 'shape': (", order, code,
                        fortran ? "True" : "False");
  for (int32_t i = 0; i < rank; i++)
    n += (size_t)snprintf(header + n, HEADER_MAX - n, i ? ", %lld" : "%lld", (long long)shape[i]);
  n += (size_t)snprintf(header + n, HEADER_MAX - n, "%s), }", rank == 1 ? "," : "");
  size_t total = (n + 1 + 63) / 64 * 64;
  memset(header + n, ' ', total - n);
  header[total - 1] = '\n';
  memcpy(header, magic, sizeof magic);
  header[8] = (char)((total - 10) & 0xff);
  header[9] = (char)((total - 10) >> 8);
  return total;
}

nx_status nxi_npy_write_begin(nxi_file_writer *w, const char *path, nx_dtype dtype, int32_t rank,
                              const int64_t *shape, bool fortran, nxi_diag *d) {
  const char *code = nxi_dtype_valid(dtype) ? nxi_npy_code(dtype) : NULL;
  if (!code)
    return nxi_fail(d, NX_UNSUPPORTED_DTYPE, operation, "%s has no counterpart in .npy files",
                    nxi_dtype_valid(dtype) ? nx_dtype_name(dtype) : "this element type");
  if (rank < 0 || rank > NX_MAX_RANK)
    return nxi_fail(d, NX_INVALID_ARGUMENT, operation, "rank %d is not between 0 and 32",
                    (int)rank);
  char header[HEADER_MAX];
  size_t size = make_header(header, code, dtype, rank, shape, fortran);
  nx_status status = nxi_file_write_begin(w, operation, path, d);
  if (status) return status;
  status = nxi_file_write(w, header, (int64_t)size, d);
  return status ? nxi_file_write_end(w, status, d) : NX_OK;
}

nx_status nxi_npy_write(const char *path, nx_dtype dtype, int32_t rank, const int64_t *shape,
                        bool fortran, const void *data, nxi_diag *d) {
  nxi_file_writer w;
  nx_status status = nxi_npy_write_begin(&w, path, dtype, rank, shape, fortran, d);
  if (status) return status;
  int64_t bytes = nxi_dtype_size(dtype);
  for (int32_t i = 0; i < rank; i++) bytes *= shape[i];
  return nxi_file_write_end(&w, nxi_file_write(&w, data, bytes, d), d);
}
