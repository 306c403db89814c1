/* SPDX-License-Identifier: ISC */
/* Scatters that multiply complex numbers, or keep the least or the largest. None of these is a loop
 * over parts: a product has scaling and infinities of its own (ir/expand/complex.c), and the order
 * looks at both parts, so they are combiners like any other. Numbers with parts of 16 bits are
 * combined as c64, products rounded once. */
#include "by_scatter.h"
#include "nx/by_function.h"
#include "nx/number.h"
#include "runtime/record/ops/places.h"

static nx_tensor *combined(nx_tensor *x, nx_tensor *y, nx_scatter_mode mode) {
  if (mode == NX_SCATTER_MUL) return nx_mul(x, y);
  return mode == NX_SCATTER_MIN ? nx_min(x, y) : nx_max(x, y);
}

static nx_function *combiner(nx_context *c, nx_device device, nx_dtype t, nx_scatter_mode mode) {
  nx_function *f = NULL;
  nx_tensor *in[2] = {nx_placeholder(c, device, t, NULL, 0), nx_placeholder(c, device, t, NULL, 0)},
            *out = in[0] && in[1] ? combined(in[0], in[1], mode) : NULL;
  if (!out || nx_function_create(c, in, 2, &out, 1, NULL, &f) != NX_OK) nx_capture_end(c);
  return f;
}

/* The element that each index names, along the axis from 0 on; bad ones fail, or are dropped: then
 * *good says which are none of them. */
static nx_tensor *element(nx_tensor *x, nx_tensor *indices, int32_t axis, bool drops,
                          nx_tensor **good) {
  int64_t shape[NXG_MAX_RANK], extent = nxi_shape(x)[axis];
  for (int32_t i = 0; i < x->rank; i++) shape[i] = i == axis ? extent : 1;
  nx_tensor *wide = nx_cast(indices, NX_I64);
  if (drops) {
    nx_tensor *from = wide ? nx_cast(nx_binary_i64(wide, NX_BINARY_ADD, extent), NX_U64) : NULL;
    *good = from ? nx_binary_i64(from, NX_BINARY_CMPLT, 2 * extent) : NULL;
    wide = *good ? nx_where(*good, wide,
                            nx_full_i64(x->context, x->storage->device, NX_I64, NULL, 0, 0))
                 : NULL;
  }
  nx_tensor *line =
      nx_arange(x->context, x->storage->device, NX_I64, NX_INTEGER(0), NX_INTEGER(1), extent);
  line = line ? nx_reshape(line, shape, x->rank, 0) : NULL;
  for (int32_t i = 0; i < x->rank; i++) shape[i] = i == axis ? extent : nxi_shape(indices)[i];
  line = line ? nx_expand(line, shape, x->rank) : NULL;
  return line && wide ? nx_gather(line, wide, axis) : NULL;
}

/* Its place in C order of x. */
static nx_tensor *places(nx_tensor *x, nx_tensor *indices, int32_t axis, bool drops) {
  nx_tensor *good = NULL, *place = NULL;
  int64_t stride = 1, shape[NXG_MAX_RANK], m = indices->elements;
  for (int32_t i = x->rank; i-- > 0; stride *= nxi_shape(x)[i]) {
    for (int32_t k = 0; k < x->rank; k++) shape[k] = k == i ? nxi_shape(indices)[i] : 1;
    nx_tensor *at = i == axis
                        ? element(x, indices, axis, drops, &good)
                        : nx_reshape(nx_arange(x->context, x->storage->device, NX_I64,
                                               NX_INTEGER(0), NX_INTEGER(1), nxi_shape(indices)[i]),
                                     shape, x->rank, 0);
    at = at ? nx_binary_i64(at, NX_BINARY_MUL, stride) : NULL;
    place = place && at ? nx_add(place, at) : at;
    if (!place) return NULL;
  }
  nx_tensor *none = nx_full_i64(x->context, x->storage->device, NX_I64, NULL, 0, x->elements);
  if (drops) place = good && none ? nx_where(good, place, none) : NULL;
  return place ? nx_reshape(place, &m, 1, NX_MAY_COPY) : NULL;
}

static nx_tensor *scatter(nx_function *f, nx_tensor *x, nx_tensor *indices, nx_tensor *updates,
                          int32_t axis, bool drops) {
  nx_tensor *out = NULL, *wide = nx_cast(x, NX_C128 == x->storage->dtype ? NX_C128 : NX_C64);
  nxi_by by = {"scatter", f, &wide, NULL, 1, 1, &out, x->storage->device, false};
  nxi_row row = {0}, u = {0};
  nx_tensor *place = wide ? places(x, indices, axis, drops) : NULL;
  if (!place) return NULL;
  row.at[0] = nx_reshape(wide, &x->elements, 1, NX_MAY_COPY);
  nx_tensor *values = nx_cast(updates, wide->storage->dtype);
  u.at[0] = values ? nx_reshape(values, &indices->elements, 1, NX_MAY_COPY) : NULL;
  if (!row.at[0] || !u.at[0] || !nxi_scatter_rows(&by, NXG_scatter, place, &u, &row)) return NULL;
  out = nx_cast(row.at[0], x->storage->dtype);
  return out ? nx_reshape(out, nxi_shape(x), x->rank, 0) : NULL;
}

nx_tensor *nxi_scatter_complex(nx_tensor *x, nx_tensor *indices, nx_tensor *updates, int32_t axis,
                               nx_scatter_mode mode, bool drops) {
  nxi_scoped s;
  nx_tensor *result = x;
  bool nothing = !x->elements || !indices->elements;
  if (!nxi_scoped_begin(&s, x->context, NXG_scatter)) return NULL;
  if (!nothing) {
    nx_dtype t = x->storage->dtype == NX_C128 ? NX_C128 : NX_C64;
    nx_function *f = combiner(x->context, x->storage->device, t, mode);
    result = f ? scatter(f, x, indices, updates, axis, drops) : NULL;
    nx_function_release(f);
  }
  return nxi_scoped_end(&s, result, nothing);
}

nx_tensor *nxi_scatter_general_complex(nx_tensor *x, nx_tensor *starts, nx_tensor *updates,
                                       const nx_scatter_numbers *numbers, nx_scatter_mode mode) {
  nxi_scoped s;
  nx_dtype own = x->storage->dtype, t = own == NX_C128 ? NX_C128 : NX_C64;
  if (!nxi_scoped_begin(&s, x->context, NXI_COMPOSITE_scatter_general)) return NULL;
  nx_tensor *wide = nx_cast(x, t), *values = nx_cast(updates, t), *out = NULL;
  nx_function *f = wide && values ? combiner(x->context, x->storage->device, t, mode) : NULL;
  if (f && nx_scatter_by(f, &wide, &values, 1, starts, numbers, &out, 1) == NX_OK)
    out = nx_cast(out, own);
  nx_function_release(f);
  return nxi_scoped_end(&s, out, false);
}
