/* SPDX-License-Identifier: ISC */
/* Operations that are compositions of recorded ones: handles that a composition makes on its way
 * are noted and released at its end. NULL goes through every step, so that only the end is checked.
 * Steps are recorded, and fail, in the name of the operation that they make up (composite_ops.c).
 * */
#ifndef NXI_COMPOSE_H
#define NXI_COMPOSE_H

#include "runtime/record/context.h"
#include "runtime/record/error.h"

enum { NXI_MOST_STEPS = 96 };
typedef struct nxi_steps {
  nx_context *context;
  int32_t device;
  uint32_t n;
  uint16_t outer; /* what is called around it */
  nx_tensor *made[NXI_MOST_STEPS];
} nxi_steps;

/* Steps of `op` on the device of x, until nxi_steps_end. */
static inline nxi_steps nxi_steps_of(uint32_t op, const nx_tensor *x) {
  return (nxi_steps){
      .context = x->context, .device = x->storage->device, .outer = nxi_called_begin(op)};
}
/* Notes t, which is released by nxi_steps_end; returns it. */
static inline nx_tensor *nxi_step(nxi_steps *s, nx_tensor *t) {
  if (t) s->made[s->n++] = t;
  return t;
}
/* Releases all that was noted but the result, which is returned. */
static inline nx_tensor *nxi_steps_end(nxi_steps *s, nx_tensor *result) {
  for (uint32_t i = 0; i < s->n; i++)
    if (s->made[i] != result) nx_tensor_release(s->made[i]);
  nxi_called_end(s->outer);
  return result;
}
/* A rank-0 constant. */
static inline nx_tensor *nxi_step_scalar(nxi_steps *s, nx_dtype dtype, double value) {
  nx_scalar v = {NX_SCALAR_F64, {.f = {value, 0}}};
  return nxi_step(s, nx_full(s->context, s->device, dtype, NULL, 0, &v));
}
/* 0, 1, ... n - 1. */
static inline nx_tensor *nxi_step_count(nxi_steps *s, nx_dtype dtype, int64_t n) {
  nx_scalar start = {NX_SCALAR_I64, {.i = 0}}, step = {NX_SCALAR_I64, {.i = 1}};
  return nxi_step(s, nx_arange(s->context, s->device, dtype, &start, &step, n));
}

#endif
