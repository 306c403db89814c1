/* SPDX-License-Identifier: ISC */
/* Sources: tensors that are made from nothing but numbers. */
#include "runtime/record/capture.h"
#include "runtime/record/error.h"
#include "runtime/record/import.h"
#include "runtime/record/objects.h"
#include "runtime/record/record.h"

/* What every source checks. */
static bool check_source(const char *op, nx_context *c, nx_device device, nx_dtype dtype,
                         int32_t rank, const int64_t *shape, nxi_diag *d) {
  nxi_diag_clear(d);
  if (!c) {
    nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: the context is null", op);
    return false;
  }
  if (!nxi_known_live(c, NXI_CONTEXT)) {
    nxi_handle_fault(op, 0, c, NXI_CONTEXT, d);
    return false;
  }
  if (rank > 0 && !shape) {
    nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: the shape is null", op);
    return false;
  }
  return nxi_device_usable(c, op, device, d) && nxi_dtype_exists(op, dtype, d) &&
         !nxg_shape_check(NX_INVALID_ARGUMENT, op, rank, shape, nxi_dtypes[dtype].bits, NULL, d);
}

static nx_tensor *record_source(nx_context *c, nxg_op op, nx_device device, nx_dtype dtype,
                                int32_t rank, const int64_t *shape, const int64_t *attrs,
                                uint32_t n_attrs) {
  nxi_recording r = {.context = c,
                     .op = (uint16_t)op,
                     .dtype = (uint8_t)dtype,
                     .device = device,
                     .rank = rank,
                     .shape = shape,
                     .attrs = attrs,
                     .n_attrs = n_attrs};
  return nxi_record(&r);
}

/* Leaves that nothing computes. */
static nx_tensor *make_leaf(nx_context *c, uint16_t op, nx_device device, nx_dtype dtype,
                            int32_t rank, const int64_t *shape) {
  nxi_record_lock(c);
  nxi_drain(c, 8);
  nxi_node *n = nxi_leaf_create(c, op, device, dtype, rank, shape, NULL);
  nx_tensor *t = n ? nxi_tensor_of_node(c, n) : NULL;
  if (t && op == NXI_OP_PLACEHOLDER) {
    atomic_store_explicit(&n->flags, NXI_NODE_TRACED, memory_order_relaxed);
    t->storage->flags |= NXI_STORAGE_PLACEHOLDER;
    if (!nxi_capture_placeholder(c, t->storage)) {
      nxi_record_unlock(c);
      nx_tensor_release(t);
      t = NULL;
      nxi_record_lock(c);
    }
  }
  nxi_record_unlock(c);
  return t ? t : nxi_no_memory(nxi_op_name(op));
}

nx_tensor *nx_empty(nx_context *c, nx_device device, nx_dtype dtype, const int64_t *shape,
                    int32_t rank) {
  nxi_diag d;
  if (!check_source("empty", c, device, dtype, rank, shape, &d)) return nxi_fail_null(&d);
  return make_leaf(c, NXI_OP_EMPTY, device, dtype, rank, shape);
}

nx_tensor *nx_placeholder(nx_context *c, nx_device device, nx_dtype dtype, const int64_t *shape,
                          int32_t rank) {
  nxi_diag d;
  if (!check_source("placeholder", c, device, dtype, rank, shape, &d)) return nxi_fail_null(&d);
  return make_leaf(c, NXI_OP_PLACEHOLDER, device, dtype, rank, shape);
}

nx_tensor *nx_full(nx_context *c, nx_device device, nx_dtype dtype, const int64_t *shape,
                   int32_t rank, const nx_scalar *value) {
  nxi_diag d;
  uint64_t bits[2];
  if (!check_source("full", c, device, dtype, rank, shape, &d) ||
      !nxi_scalar_bits("full", value, dtype, bits, &d))
    return nxi_fail_null(&d);
  int64_t attrs[3] = {(int64_t)bits[0], -1, (int64_t)bits[1]};
  return record_source(c, NXG_full, device, dtype, rank, shape, attrs, 2 + nxi_is_complex(dtype));
}

nx_tensor *nx_arange(nx_context *c, nx_device device, nx_dtype dtype, const nx_scalar *start,
                     const nx_scalar *step, int64_t n) {
  nxi_diag d;
  uint64_t first[2], apart[2];
  nx_dtype inferred;
  int32_t rank = 1;
  int64_t shape[NXG_MAX_RANK] = {n};
  if (!check_source("arange", c, device, dtype, rank, shape, &d) ||
      !nxi_scalar_bits("arange", start, dtype, first, &d) ||
      !nxi_scalar_bits("arange", step, dtype, apart, &d))
    return nxi_fail_null(&d);
  int64_t attrs[4] = {(int64_t)first[0], (int64_t)apart[0], (int64_t)first[1], (int64_t)apart[1]};
  uint32_t n_attrs = 2 + 2 * nxi_is_complex(dtype);
  if (nxg_infer(NXG_arange, 0, NULL, attrs, n_attrs, dtype, &inferred, &rank, shape, &d))
    return nxi_fail_null(&d);
  return record_source(c, NXG_arange, device, dtype, rank, shape, attrs, n_attrs);
}

nx_tensor *nx_eye(nx_context *c, nx_device device, nx_dtype dtype, int64_t n, int64_t m,
                  int64_t k) {
  nxi_diag d;
  nx_dtype inferred;
  int32_t rank = 2;
  int64_t shape[NXG_MAX_RANK] = {n, m};
  if (!check_source("eye", c, device, dtype, rank, shape, &d) ||
      nxg_infer(NXG_eye, 0, NULL, &k, 1, dtype, &inferred, &rank, shape, &d))
    return nxi_fail_null(&d);
  return record_source(c, NXG_eye, device, dtype, 2, shape, &k, 1);
}

nx_tensor *nx_from_data(nx_context *c, nx_device device, nx_dtype dtype, const int64_t *shape,
                        int32_t rank, const void *data, size_t bytes) {
  nxi_diag d;
  if (!check_source("from_data", c, device, dtype, rank, shape, &d)) return nxi_fail_null(&d);
  nxi_import_source source = {
      .op = "from_data",
      .desc = {.mode = NX_IMPORT_COPY, .dtype = dtype, .base = (void *)data, .bytes = bytes},
      .elements = nxg_elements(rank, shape)};
  size_t wanted = (size_t)nxi_dtype_bytes(dtype, source.elements);
  if (bytes != wanted || (!data && bytes)) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, "from_data",
             data || !bytes ? "from_data: %zu bytes were given, and %zu are wanted"
                            : "from_data: the data is null",
             bytes, wanted);
    return nxi_fail_null(&d);
  }
  nxg_view_contiguous(&source.view, rank, shape);
  nx_tensor *t = NULL;
  if (nxi_import(c, &source, &t) || device == NXI_DEVICE_CPU) return t;
  uint16_t outer = nxi_called_begin(NXI_COMPOSITE_from_data);
  nx_tensor *there = nx_to_device(t, device);
  nxi_called_end(outer);
  nx_tensor_release(t);
  return there;
}
