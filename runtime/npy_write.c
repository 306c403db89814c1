/* SPDX-License-Identifier: ISC */
/* Writing .npy, version 1, with the header padded so that the elements start at a multiple of 64 bytes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/alloc.h"
#include "npy.h"

static const char operation[] = "npy";
static const uint8_t magic[8] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0}; /* version 1.0 */
enum {
  HEADER_MAX = 1024,
  PIECE = 1 << 30
}; /* rank 32 takes below 800; Linux writes at most 2 GiB at once */

static const char *code_of(nx_dtype t) {
  switch (t) {
    case NX_BOOL: return "b1";
    case NX_I8: return "i1";
    case NX_U8: return "u1";
    case NX_I16: return "i2";
    case NX_U16: return "u2";
    case NX_I32: return "i4";
    case NX_U32: return "u4";
    case NX_I64: return "i8";
    case NX_U64: return "u8";
    case NX_F16: return "f2";
    case NX_BF16: return "V2";
    case NX_F32: return "f4";
    case NX_F64: return "f8";
    case NX_C64: return "c8";
    case NX_C128: return "c16";
    default: return NULL;
  }
}

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

static bool write_all(int fd, const char *data, int64_t size) {
  while (size > 0) {
    ssize_t n = write(fd, data, (size_t)(size < PIECE ? size : PIECE));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= n;
  }
  return true;
}

static nx_status io_error(nxi_diag *d, const char *path) {
  char text[128];
  return nxi_fail(d, NX_IO, operation, "cannot write %s: %s", path,
                  strerror_r(errno, text, sizeof text));
}

typedef struct contents {
  const char *header;
  size_t header_size;
  const void *data;
  int64_t bytes;
} contents;

static bool write_contents(int fd, const contents *c) {
  return write_all(fd, c->header, (int64_t)c->header_size) && write_all(fd, c->data, c->bytes);
}

/* Through a file beside it, so that nobody ever sees half of it. */
static nx_status write_beside(const char *path, const contents *c, nxi_diag *d) {
  static _Atomic unsigned counter;
  size_t size = strlen(path) + 48;
  char *temporary = nxi_malloc(size);
  if (!temporary) return nxi_oom(d);
  snprintf(temporary, size, "%s.tmp-%lx-%x", path, (long)getpid(), atomic_fetch_add(&counter, 1));
  nx_status status = NX_OK;
  int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    status = io_error(d, path);
  } else {
    bool good = write_contents(fd, c);
    if (!good) status = io_error(d, path);
    if (close(fd) != 0 && good) status = io_error(d, path);
    if (status == NX_OK && rename(temporary, path) != 0) status = io_error(d, path);
    if (status != NX_OK) unlink(temporary);
  }
  nxi_free(temporary);
  return status;
}

static nx_status write_into(const char *path, const contents *c, nxi_diag *d) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return io_error(d, path);
  nx_status status = write_contents(fd, c) ? NX_OK : io_error(d, path);
  if (close(fd) != 0 && status == NX_OK) status = io_error(d, path);
  return status;
}

nx_status nxi_npy_write(const char *path, nx_dtype dtype, int32_t rank, const int64_t *shape,
                        bool fortran, const void *data, nxi_diag *d) {
  const char *code = nxi_dtype_valid(dtype) ? code_of(dtype) : NULL;
  if (!code)
    return nxi_fail(d, NX_UNSUPPORTED_DTYPE, operation, "%s has no counterpart in .npy files",
                    nxi_dtype_valid(dtype) ? nx_dtype_name(dtype) : "this element type");
  if (rank < 0 || rank > NXI_NPY_MAX_RANK)
    return nxi_fail(d, NX_INVALID_ARGUMENT, operation, "rank %d is not between 0 and 32",
                    (int)rank);
  char header[HEADER_MAX], target[PATH_MAX];
  contents c = {.header = header, .data = data, .bytes = nxi_dtype_size(dtype)};
  for (int32_t i = 0; i < rank; i++) c.bytes *= shape[i];
  c.header_size = make_header(header, code, dtype, rank, shape, fortran);
  struct stat s;
  if (stat(path, &s) != 0) return write_beside(path, &c, d);
  if (!S_ISREG(s.st_mode)) return write_into(path, &c, d);
  /* A link to a file stays a link. */
  return write_beside(realpath(path, target) ? target : path, &c, d);
}
