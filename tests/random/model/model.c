/* SPDX-License-Identifier: ISC */
/* The eager model: arrays, views and one operation at a time. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/dtype.h"
#include "passes/graph/passes.h"

model_storage *model_storage_new(nx_dtype dtype, int64_t elements) {
  model_storage *s = calloc(1, sizeof *s);
  s->refs = 1;
  s->dtype = dtype;
  s->elements = elements;
  s->data = calloc(1, model_bytes(dtype, elements));
  return s;
}

size_t model_bytes(nx_dtype t, int64_t n) { return (size_t)nxi_dtype_bytes(t, n) + 16; }

void model_copy_element(nx_dtype t, void *dst, int64_t to, const void *src, int64_t from) {
  int64_t size = nxi_dtype_size(t);
  if (nxi_is_nibble(t)) nxi_store_at(dst, t, to, nxi_load_at(src, t, from));
  else memcpy((char *)dst + to * size, (const char *)src + from * size, (size_t)size);
  if (t == NX_BOOL) ((uint8_t *)dst)[to] = ((uint8_t *)dst)[to] != 0;
}

void model_ref(model_storage *s) { __atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED); }

void model_unref(model_storage *s) {
  if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL)) return;
  if (s->within) model_unref(s->within);
  else free(s->data);
  free(s);
}

model_storage *model_root(model_storage *s) { return s->within ? s->within : s; }

int64_t model_elements(const model_view *v) { return nxg_elements(v->view.rank, v->view.shape); }

/* Calls for each element in C order: `at` is its place in the storage, `i` its number. */
#define EACH_ELEMENT(v, i, at)                                                                   \
  for (int64_t index_[NXG_MAX_RANK] = {0}, i = 0, n_ = model_elements(v), at = (v)->view.offset; \
       i < n_; i++, at = step(&(v)->view, index_, at))

static int64_t step(const nxg_view *v, int64_t *index, int64_t at) {
  for (int32_t axis = v->rank; axis-- > 0;) {
    at += v->strides[axis];
    if (++index[axis] < v->shape[axis]) return at;
    at -= v->strides[axis] * v->shape[axis];
    index[axis] = 0;
  }
  return at;
}

void model_read_from(const model_view *v, const void *base, void *packed) {
  EACH_ELEMENT(v, i, at) model_copy_element(v->storage->dtype, packed, i, base, at);
}

void model_read(const model_view *v, void *packed) { model_read_from(v, v->storage->data, packed); }

void model_write(const model_view *v, const void *packed) {
  EACH_ELEMENT(v, i, at) model_copy_element(v->storage->dtype, v->storage->data, at, packed, i);
}

static void *packed_copy(const model_view *v) {
  void *data = calloc(1, model_bytes(v->storage->dtype, model_elements(v)));
  model_read(v, data);
  return data;
}

void model_assign(const model_view *dst, const model_view *src) {
  model_view wide = *src;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxg_view_expand(&src->view, dst->view.rank, dst->view.shape, &wide.view, &d)) return;
  void *data = packed_copy(&wide);
  model_write(dst, data);
  free(data);
}

static bool broadcast(uint32_t n, model_view *v) {
  nxi_diag d;
  nxi_diag_clear(&d);
  int32_t rank = v[0].view.rank;
  int64_t shape[NXG_MAX_RANK];
  memcpy(shape, v[0].view.shape, (size_t)rank * sizeof *shape);
  for (uint32_t i = 1; i < n; i++)
    if (nxg_broadcast("model", rank, shape, v[i].view.rank, v[i].view.shape, &rank, shape, &d))
      return false;
  for (uint32_t i = 0; i < n; i++)
    if (nxg_view_expand(&v[i].view, rank, shape, &v[i].view, &d)) return false;
  return true;
}

static void run(const nxg_graph *g, uint32_t n, const model_view *v, void *out) {
  void *inputs[8], *outputs[1] = {out};
  nxg_program *p = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  for (uint32_t i = 0; i < n; i++) inputs[i] = packed_copy(&v[i]);
  if (nxp_program_create(g, &p, &d) || nxg_program_run(p, inputs, NULL, NULL, outputs, &d)) {
    fprintf(stderr, "the model cannot be computed: %s\n", d.message);
    abort();
  }
  nxg_program_destroy(p);
  for (uint32_t i = 0; i < n; i++) free(inputs[i]);
}

model_storage *model_compute(nxg_op op, uint32_t n, const model_view *operands,
                             const int64_t *attrs, uint32_t n_attrs, nx_dtype given, int32_t rank,
                             const int64_t *shape, nxg_view *result) {
  model_view v[8];
  nxg_type types[8];
  uint32_t args[8];
  nxi_diag d;
  nxi_diag_clear(&d);
  if (n) memcpy(v, operands, n * sizeof *v);
  if (nxg_ops[op].kind == NXG_KIND_MAP && n > 1 && !broadcast(n, v)) return NULL;
  for (uint32_t i = 0; i < n; i++)
    types[i] = (nxg_type){v[i].storage->dtype, v[i].view.rank, v[i].view.shape};
  nx_dtype dtype;
  int64_t extents[NXG_MAX_RANK];
  if (!n && rank) memcpy(extents, shape, (size_t)rank * sizeof *extents);
  if (nxg_infer(op, n, types, attrs, n_attrs, given, &dtype, &rank, extents, &d)) return NULL;
  nxg_graph *g = nxg_create("model");
  for (uint32_t i = 0; i < n; i++)
    args[i] = nxg_add_input(g, types[i].dtype, types[i].rank, types[i].shape, 0, -1, NULL);
  nxg_add_output(g, nxg_add(g, op, n, args, attrs, n_attrs, dtype, rank, extents), NULL);
  nxg_view_contiguous(result, rank, extents);
  model_storage *s = model_storage_new(dtype, nxg_elements(rank, extents));
  run(g, n, v, s->data);
  nxg_destroy(g);
  return s;
}
