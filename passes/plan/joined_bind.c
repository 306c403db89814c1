/* SPDX-License-Identifier: ISC */
/* Bound kernels of what a body's plan does without a kernel, where the body is a part of one
 * (plan/joined.c): copies, and scatters of few updates, which one thread applies in C order, as
 * runtime/library/scatter.c does for each element. */
#include "loop.h"

enum { MOST_UPDATES = 1024 };

nx_status nxp_bind_copy(const nxp_loop *l, nx_dtype t, int64_t elements, nxk_kernel **out) {
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "copy");
  if (k == NULL) return nxi_oom(l->s->b->d);
  nxk_add_buffer(k, NXK_IN, t, elements);
  nxk_add_buffer(k, NXK_OUT, t, elements);
  nxk_begin_region(k);
  nxk_term term = {nxk_begin_range(k, NXK_OUTER, elements), 1};
  nxk_access from = nxk_access_at(0, 0), to = nxk_access_at(1, 0);
  from.n_terms = to.n_terms = 1;
  from.terms = to.terms = &term;
  nxk_store(k, &to, nxk_load(k, &from, 1));
  nxk_end(k);
  nxk_end(k);
  nx_status status =
      k->failed ? nxi_oom(l->s->b->d) : nxp_bind_kernel(k, &l->s->b->plan->target, out, l->s->b->d);
  nxk_destroy(k);
  return status;
}

/* ---- scatter */

/* The operation that combines an element with its update; NXK_OP_COUNT: the update takes its
 * place. False: it is left to the library. */
static bool combiner(const nxi_scatter *s, nxk_op *op) {
  bool sums = !nxi_is_small_float(s->dtype);
  switch (s->mode) {
    case NXI_SCATTER_SET: *op = NXK_select; return true;
    case NXI_SCATTER_ADD: *op = NXK_add; return sums;
    case NXI_SCATTER_MUL: *op = NXK_mul; return sums;
    case NXI_SCATTER_MIN: *op = NXK_min; return nxi_is_integer(s->dtype);
    case NXI_SCATTER_MAX: *op = NXK_max; return nxi_is_integer(s->dtype);
    case NXI_SCATTER_AND: *op = NXK_and; return true;
    case NXI_SCATTER_OR: *op = NXK_or; return true;
    case NXI_SCATTER_XOR: *op = NXK_xor; return true;
  }
  return false;
}

static bool is_little(const nxi_scatter *s) {
  nxk_op op;
  if (s->pairs || nxi_is_complex(s->dtype) || nxi_dtype_size(s->dtype) == 0 ||
      (nxi_is_stored(s->dtype) && !nxi_is_small_float(s->dtype)) || !combiner(s, &op))
    return false;
  return nxg_elements(s->rank, s->shape) <= MOST_UPDATES;
}

/* An access of the updates' point; strides of one of the three arrays. */
static nxk_access access_at(uint32_t buffer, int32_t rank, const int64_t *strides, int32_t without,
                            const nxk_value *index, nxk_term *terms) {
  nxk_access a = nxk_access_at(buffer, 0);
  a.terms = terms;
  for (int32_t i = 0; i < rank; i++)
    if (i != without && strides[i] != 0) terms[a.n_terms++] = (nxk_term){index[i], strides[i]};
  return a;
}

/* One update. An index from the end counts back, and one that is out of range is skipped. */
static void write_update(nxk_kernel *k, const nxi_scatter *s, const nxk_value *index) {
  nxk_term terms[NXI_SCATTER_RANK];
  nxk_op op = NXK_select;
  nxk_access a = access_at(1, s->rank, s->indices, -1, index, terms);
  nxk_value at = nxk_cast_to(k, NX_I64, nxk_load(k, &a, 1)), zero = nxk_const_i(k, NX_I64, 0),
            extent = nxk_const_i(k, NX_I64, s->extent);
  nxk_value behind = nxk_scalar(k, NXK_add, 0, at, extent, NXK_NONE);
  nxk_value below = nxk_scalar(k, NXK_lt, 0, at, zero, NXK_NONE);
  at = nxk_scalar(k, NXK_select, 0, below, behind, at);
  nxk_value low = nxk_scalar(k, NXK_le, 0, zero, at, NXK_NONE),
            high = nxk_scalar(k, NXK_lt, 0, at, extent, NXK_NONE);
  a = access_at(2, s->rank, s->updates, -1, index, terms);
  nxk_value x = nxk_load(k, &a, 1);
  a = access_at(0, s->rank, s->to, s->axis, index, terms);
  a.mask = nxk_scalar(k, NXK_and, 0, low, high, NXK_NONE);
  a.index = nxk_scalar(k, NXK_mul, 0, at, nxk_const_i(k, NX_I64, s->to[s->axis]), NXK_NONE);
  if (k->failed) return;
  combiner(s, &op);
  if (op != NXK_select) {
    nxk_value old = nxk_load(k, &a, 1);
    if (!k->failed) x = nxk_scalar(k, op, 0, old, x, NXK_NONE);
  }
  nxk_store(k, &a, x);
}

nx_status nxp_bind_scatter(const nxi_scatter *s, nxk_kernel **out, nxi_diag *d) {
  nxk_value index[NXI_SCATTER_RANK];
  *out = NULL;
  if (!is_little(s)) return NX_OK;
  nxk_kernel *k = nxk_create(NXK_BOUND, "scatter");
  if (k == NULL) return nxi_oom(d);
  nxk_add_buffer(k, NXK_INOUT, s->dtype, -1);
  nxk_add_buffer(k, NXK_IN, s->index, -1);
  nxk_add_buffer(k, NXK_IN, s->dtype, -1);
  nxk_begin_region(k);
  nxk_begin_range(k, NXK_TASK, 1);
  for (int32_t i = 0; i < s->rank; i++) index[i] = nxk_begin_range(k, NXK_SEQ, s->shape[i]);
  if (!k->failed) write_update(k, s, index);
  for (int32_t i = 0; i < s->rank + 2; i++) nxk_end(k);
  if (!k->failed) *out = k;
  else nxk_destroy(k);
  return *out != NULL ? NX_OK : nxi_oom(d);
}
