/* SPDX-License-Identifier: ISC */
/* Many tensors as one of bytes, for functions of more operands or results than an operation of the
 * library has: one behind the other, each at a multiple of 16 bytes. */
#include "callbacks_pack.h"

#include "runtime/record/error.h"

enum { ALIGNED = 16 };

static int64_t count_of(const nx_type *t) {
  int64_t n = 1;
  for (int32_t i = 0; i < t->rank; i++) n *= t->shape[i];
  return n;
}

size_t nxj_packed_size(const nx_type *types, size_t n, size_t *offsets) {
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    offsets[i] = at;
    at += (size_t)count_of(&types[i]) * nx_dtype_bits(types[i].dtype) / 8;
    at = (at + ALIGNED - 1) / ALIGNED * ALIGNED;
  }
  return at;
}

/* c128 has no form of bytes, but its parts have. */
static nx_tensor *parts_of(nx_tensor *x) {
  int64_t shape[NX_MAX_RANK + 1];
  int32_t rank = nx_rank(x);
  for (int32_t i = 0; i < rank; i++) shape[i] = nx_shape(x)[i];
  shape[rank] = 1;
  nx_tensor *both[2] = {nx_reshape(nx_real(x), shape, rank + 1, NX_MAY_COPY),
                        nx_reshape(nx_imag(x), shape, rank + 1, NX_MAY_COPY)};
  return both[0] != NULL && both[1] != NULL ? nx_cat(both, 2, rank) : NULL;
}

static nx_tensor *bytes_of(nx_tensor *x, int64_t room) {
  nx_dtype t = nx_dtype_of(x);
  if (t == NX_C128 && (x = parts_of(x)) == NULL) return NULL;
  x = nx_dtype_bits(nx_dtype_of(x)) == 8 ? nx_bitcast(x, NX_U8) : nx_bitcast_convert(x, NX_U8);
  if (x == NULL) return NULL;
  int64_t n = nx_elements(x), before = 0, after = room - n;
  return nx_pad(nx_reshape(x, &n, 1, NX_MAY_COPY), &before, &after, 1, NX_INTEGER(0));
}

nx_tensor *nxj_pack(nx_tensor **x, size_t n, const size_t *offsets, size_t size) {
  for (size_t i = 0; i < n; i++) {
    size_t end = i + 1 < n ? offsets[i + 1] : size;
    if ((x[i] = bytes_of(x[i], (int64_t)(end - offsets[i]))) == NULL) return NULL;
  }
  return nx_cat(x, n, 0);
}

nx_tensor *nxj_unpack(nx_tensor *bytes, const nx_type *type, size_t offset) {
  int64_t shape[NX_MAX_RANK + 2], size = (int64_t)nx_dtype_bits(type->dtype) / 8;
  int64_t start = (int64_t)offset, stop = start + count_of(type) * size;
  int32_t rank = type->rank;
  for (int32_t i = 0; i < rank; i++) shape[i] = type->shape[i];
  if (type->dtype == NX_C128) shape[rank++] = 2, size = 8;
  if (size > 1) shape[rank++] = size;
  nx_tensor *x = nx_reshape(nx_shrink(bytes, &start, &stop, 1), shape, rank, NX_MAY_COPY);
  if (x == NULL) return NULL;
  if (type->dtype == NX_BOOL) return nx_cast(x, NX_BOOL);
  if (size == 1) return nx_bitcast(x, type->dtype);
  if (type->dtype != NX_C128) return nx_bitcast_convert(x, type->dtype);
  if ((x = nx_bitcast_convert(x, NX_F64)) == NULL) return NULL;
  nx_tensor *part[2];
  for (int64_t i = 0; i < 2; i++) {
    int64_t from[NX_MAX_RANK + 1] = {0}, to[NX_MAX_RANK + 1];
    for (int32_t k = 0; k < type->rank; k++) to[k] = type->shape[k];
    from[type->rank] = i;
    to[type->rank] = i + 1;
    part[i] = nx_reshape(nx_shrink(x, from, to, (size_t)type->rank + 1), type->shape, type->rank,
                         NX_MAY_COPY);
  }
  return nx_complex(part[0], part[1]);
}
