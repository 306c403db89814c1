/* SPDX-License-Identifier: ISC */
/* Inside the inference of types: what its files share. */
#ifndef NXG_INFER_H
#define NXG_INFER_H

#include <string.h>

#include "graph.h"

/* Everything one check needs; results go through the pointers. */
typedef struct inference {
  nxg_op op;
  const char *name;
  uint32_t n_args, n_attrs;
  const nxg_type *args;
  const int64_t *attrs;
  nx_dtype given;
  nx_dtype *dtype;
  int32_t *rank;
  int64_t *shape;
  nxi_diag *d;
} inference;

#define FAIL(in, status, ...) nxi_fail((in)->d, status, (in)->name, __VA_ARGS__)

static inline nx_status fail_operand(const inference *in, nx_status status, int32_t operand) {
  if (in->d && in->d->operand < 0) in->d->operand = operand;
  return status;
}

static inline const char *dtype_text(nx_dtype t) {
  return nxi_dtype_valid(t) ? nxi_dtypes[t].name : "?";
}

static inline const char *shape_text(char text[NXG_SHAPE_TEXT], const nxg_type *t) {
  return nxg_format_shape(text, t->rank, t->shape);
}

static inline nx_status two_shapes(const inference *in, int32_t operand, const char *why) {
  char a[NXG_SHAPE_TEXT], b[NXG_SHAPE_TEXT];
  return fail_operand(in,
                      FAIL(in, NX_INVALID_ARGUMENT,
                           "%s: operand %d of shape %s does not go with operand 0 of shape %s: %s",
                           in->name, operand, shape_text(b, &in->args[operand]),
                           shape_text(a, &in->args[0]), why),
                      operand);
}

static inline nx_status need_attrs(const inference *in, uint32_t n) {
  if (in->n_attrs == n) return NX_OK;
  return FAIL(in, NX_INVALID_ARGUMENT, "%s: it has %u attributes where %u are wanted", in->name,
              in->n_attrs, n);
}

static inline void result_like(const inference *in, const nxg_type *t) {
  *in->rank = t->rank;
  memmove(in->shape, t->shape, (size_t)t->rank * sizeof *in->shape);
}

/* infer_indexed.c */
nx_status nxg_infer_gather(const inference *in);
nx_status nxg_infer_scatter(const inference *in);

#endif
