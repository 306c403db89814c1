/* SPDX-License-Identifier: ISC */
/* A producer of DLPack structures, for the tests that take them. Deleters free their structure, so
 * that the address sanitizer sees a second call, and they count. */
#ifndef NXT_DLPACK_PRODUCER_H
#define NXT_DLPACK_PRODUCER_H

#include "tests/util/api.h"
#include "runtime/files/dlpack_abi.h"

typedef struct DLManagedTensorVersioned managed;
typedef struct DLManagedTensor managed_v0;

/* ---- a producer: 12 floats 0 .. 11 as 3 x 4, of which each test changes what it likes */

typedef struct producer {
  nxi_dlpack_tensor tensor;
  int64_t shape[40], strides[40];
  _Alignas(8) float data[12];
  int deleted;
} producer;

static inline void begin(producer *p) {
  memset(p, 0, sizeof *p);
  for (int i = 0; i < 12; i++) p->data[i] = (float)i;
  p->shape[0] = 3, p->shape[1] = 4;
  p->strides[0] = 4, p->strides[1] = 1;
  p->tensor = (nxi_dlpack_tensor){.data = p->data,
                                  .device = {.type = 1},
                                  .rank = 2,
                                  .dtype = {.code = 2, .bits = 32, .lanes = 1},
                                  .shape = p->shape,
                                  .strides = p->strides};
}

static inline void delete_versioned(managed *m) {
  ((producer *)m->manager)->deleted++;
  free(m);
}
static inline void delete_v0(managed_v0 *m) {
  ((producer *)m->manager)->deleted++;
  free(m);
}

static inline managed *produce(producer *p) {
  managed *m = malloc(sizeof *m);
  assert_non_null(m);
  *m = (managed){
      .major = 1, .minor = 1, .manager = p, .deleter = delete_versioned, .tensor = p->tensor};
  return m;
}
static inline managed_v0 *produce_v0(producer *p) {
  managed_v0 *m = malloc(sizeof *m);
  assert_non_null(m);
  *m = (managed_v0){.tensor = p->tensor, .manager = p, .deleter = delete_v0};
  return m;
}

static inline nx_tensor *take(producer *p, uint32_t mode) {
  nx_tensor *t = NULL;
  OK(nx_from_dlpack(ctx, produce(p), mode, &t));
  return t;
}

/* The last handle goes: the deleter has run once by then, and not before a call that may run it. */
static inline void drop(nx_tensor *t, producer *p) {
  release(t);
  nx_context_collect(ctx);
  assert_int_equal(p->deleted, 1);
}

static inline nx_tensor_info describe(nx_tensor *t) {
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(t, &info);
  return info;
}

#endif
