/* SPDX-License-Identifier: ISC */
/* Recording of elementwise operations: dtypes are checked, shapes are broadcast through views. */
#include <string.h>

#include "compose.h"
#include "runtime/record/error.h"
#include "runtime/record/number.h"
#include "runtime/record/record.h"

/* True if the dtypes are what the operation admits; the reason comes from nxg_infer. */
static inline bool plain_dtypes(nxg_op op, nx_tensor *const *t, uint32_t n) {
  uint32_t first = op == NXG_where;
  if (first && t[0]->storage->dtype != NX_BOOL) return false;
  nx_dtype dtype = t[first]->storage->dtype;
  for (uint32_t i = first + 1; i < n; i++)
    if (t[i]->storage->dtype != dtype) return false;
  return nxi_map_admits(op, dtype);
}

static inline bool same_shapes(nx_tensor *const *t, uint32_t n) {
  for (uint32_t i = 1; i < n; i++) {
    if (t[i]->rank != t[0]->rank) return false;
    for (int32_t k = 0; k < t[0]->rank; k++)
      if (nxi_shape(t[i])[k] != nxi_shape(t[0])[k]) return false;
  }
  return true;
}

/* One operand as a view of the common shape: strides of 0 where it repeats. */
static void broadcast(nxi_operand *o, int32_t rank, const int64_t *shape, int64_t *strides) {
  int32_t lead = rank - o->rank;
  for (int32_t i = 0; i < rank; i++) {
    bool repeats = i < lead || (o->shape[i - lead] == 1 && shape[i] != 1);
    strides[i] = repeats ? 0 : o->strides[i - lead];
  }
  o->rank = rank;
  o->shape = shape;
  o->strides = strides;
}

static bool common_shape(const char *op, const nxi_operand *o, uint32_t n, int32_t *rank,
                         int64_t *shape, nxi_diag *d) {
  *rank = o[0].rank;
  if (*rank) memcpy(shape, o[0].shape, (size_t)*rank * sizeof *shape);
  for (uint32_t i = 1; i < n; i++) {
    if (nxg_broadcast(op, *rank, shape, o[i].rank, o[i].shape, rank, shape, d)) {
      if (d->operand < 0) d->operand = (int32_t)i;
      return false;
    }
  }
  return true;
}

nx_dtype nxi_map_result(nxg_op op, nx_dtype dtype) {
  switch (nxg_ops[op].result) {
    case NXG_RESULT_BOOL: return NX_BOOL;
    case NXG_RESULT_PART: return nxi_part_dtype(dtype);
    case NXG_RESULT_PAIR: return nxi_pair_dtype(dtype);
    default: return dtype;
  }
}

/* Where operands differ in shape, or a dtype is given or refused: the operands become views of the
 * common shape. False: reported. */
__attribute__((noinline)) static bool broadcast_all(nxi_recording *r, nx_dtype given,
                                                    nx_tensor *const *t, nxi_operand *o,
                                                    int64_t *shape,
                                                    int64_t (*strides)[NXG_MAX_RANK]) {
  nxi_diag d;
  nxg_type types[3];
  nx_dtype dtype;
  int32_t rank;
  int64_t inferred[NXG_MAX_RANK];
  nxi_diag_clear(&d);
  bool good = common_shape(nxg_ops[r->op].name, o, r->n_operands, &rank, shape, &d);
  for (uint32_t i = 0; good && i < r->n_operands; i++) {
    if (!nxg_same_shape(rank, shape, o[i].rank, o[i].shape))
      broadcast(&o[i], rank, shape, strides[i]);
    types[i] = (nxg_type){t[i]->storage->dtype, rank, shape};
  }
  r->rank = rank;
  r->shape = shape;
  good = good && nxg_infer((nxg_op)r->op, r->n_operands, types, NULL, 0, given, &dtype, &rank,
                           inferred, &d) == NX_OK;
  if (!good) nxi_fail_null(&d);
  return good;
}

static bool common_device(nxi_recording *r, nx_tensor *const *t) {
  nxi_diag d;
  nxi_diag_clear(&d);
  r->device = nxi_common_device(nxg_ops[r->op].name, t, r->n_operands, &d);
  if (r->device < 0) nxi_fail_null(&d);
  return r->device >= 0;
}

/* turned: the operation is recorded with its two operands the other way round. */
static __attribute__((noinline)) nx_tensor *record_views(nxg_op op, nx_tensor *const *t, uint32_t n,
                                                         nx_dtype given, bool turned) {
  if (!nxi_check_operands(nxg_ops[op].name, t, n)) return NULL;
  nxi_operand o[3];
  int64_t shape[NXG_MAX_RANK], strides[3][NXG_MAX_RANK];
  nx_dtype last = t[n - 1]->storage->dtype;
  nxi_recording r = {.context = t[0]->context,
                     .op = (uint16_t)op,
                     .dtype = (uint8_t)nxi_map_result(op, given ? given : last),
                     .device = t[0]->storage->device,
                     .rank = t[0]->rank,
                     .shape = nxi_shape(t[0]),
                     .n_operands = n,
                     .operands = o};
  bool one_device = true;
  for (uint32_t i = 0; i < n; i++) {
    o[i] = nxi_operand_of(t[i]);
    one_device &= t[i]->storage->device == r.device;
  }
  if (given || !same_shapes(t, n) || !plain_dtypes(op, t, n))
    if (!broadcast_all(&r, given, t, o, shape, strides)) return NULL;
  if (turned) {
    nxi_operand first = o[0];
    o[0] = o[1];
    o[1] = first;
  }
  return one_device || common_device(&r, t) ? nxi_record(&r) : NULL;
}

/* The usual operands, whole tensors of one shape, first. */
static inline nx_tensor *record_map(nxg_op op, nx_tensor *const *t, uint32_t n, bool turned) {
  if (nxi_plain_operands(t, n) && same_shapes(t, n) && plain_dtypes(op, t, n)) {
    const uint32_t type =
        nxi_node_type(op, (uint32_t)nxi_map_result(op, t[n - 1]->storage->dtype), 0);
    nx_tensor *result = n == 1   ? nxi_record_alike_one(type, t[0])
                        : n == 2 ? nxi_record_alike_two(type, t[turned], t[!turned])
                                 : nxi_record_alike_three(type, t[0], t[1], t[2]);
    if (result) return result;
  }
  return record_views(op, t, n, 0, turned);
}

static __attribute__((noinline)) nx_tensor *record_unary(nxg_op op, nx_tensor *x) {
  return record_map(op, &x, 1, false);
}

static __attribute__((noinline)) nx_tensor *record_binary(nxg_op op, nx_tensor *a, nx_tensor *b) {
  nx_tensor *t[2] = {a, b};
  return record_map(op, t, 2, false);
}

static nx_tensor *record_turned(uint32_t called, nxg_op op, nx_tensor *a, nx_tensor *b) {
  nx_tensor *t[2] = {a, b};
  uint16_t outer = nxi_called_begin(called);
  nx_tensor *result = record_map(op, t, 2, true);
  nxi_called_end(outer);
  return result;
}
nx_tensor *nx_cmpgt(nx_tensor *a, nx_tensor *b) {
  return record_turned(NXI_COMPOSITE_cmpgt, NXG_cmplt, a, b);
}
nx_tensor *nx_cmpge(nx_tensor *a, nx_tensor *b) {
  return record_turned(NXI_COMPOSITE_cmpge, NXG_cmple, a, b);
}

/* clang-format off */
#define UNARY(name) \
  nx_tensor *nx_##name(nx_tensor *x) { return record_unary(NXG_##name, x); }
UNARY(neg) UNARY(abs) UNARY(sign) UNARY(recip) UNARY(sqrt) UNARY(exp) UNARY(log)
UNARY(sin) UNARY(cos) UNARY(tan) UNARY(asin) UNARY(acos) UNARY(atan) UNARY(sinh)
UNARY(cosh) UNARY(tanh) UNARY(erf) UNARY(log1p) UNARY(expm1) UNARY(asinh) UNARY(acosh)
UNARY(atanh) UNARY(rint) UNARY(trunc) UNARY(ceil) UNARY(floor) UNARY(round) UNARY(real)
UNARY(imag) UNARY(conj) UNARY(not) UNARY(popcount) UNARY(clz) UNARY(ctz) UNARY(reverse_bits)
UNARY(exp2) UNARY(log2) UNARY(log10) UNARY(cbrt) UNARY(rsqrt) UNARY(logistic)
UNARY(erfc) UNARY(erfinv) UNARY(lgamma) UNARY(digamma) UNARY(i0e) UNARY(i1e) UNARY(j0) UNARY(j1)

#define BINARY(name) \
  nx_tensor *nx_##name(nx_tensor *a, nx_tensor *b) { return record_binary(NXG_##name, a, b); }
BINARY(add) BINARY(sub) BINARY(mul) BINARY(div) BINARY(mod) BINARY(pow) BINARY(atan2) BINARY(cmpeq)
BINARY(cmpne) BINARY(cmplt) BINARY(cmple) BINARY(max) BINARY(min) BINARY(xor) BINARY(or) BINARY(and)
BINARY(shl) BINARY(shr) BINARY(complex) BINARY(floor_div) BINARY(floor_mod) BINARY(logaddexp)
BINARY(hypot) BINARY(zeta) BINARY(polygamma) BINARY(igamma) BINARY(igammac)
BINARY(igamma_grad_a) BINARY(random_gamma_grad)
    /* clang-format on */

    nx_tensor *nx_where(nx_tensor *cond, nx_tensor *a, nx_tensor *b) {
  nx_tensor *t[3] = {cond, a, b};
  return record_map(NXG_where, t, 3, false);
}

nx_tensor *nx_betainc(nx_tensor *a, nx_tensor *b, nx_tensor *x) {
  nx_tensor *t[3] = {a, b, x};
  return record_map(NXG_betainc, t, 3, false);
}

nx_tensor *nx_square(nx_tensor *x) {
  nx_tensor *t[2] = {x, x};
  uint16_t outer = nxi_called_begin(NXI_COMPOSITE_square);
  nx_tensor *result = record_map(NXG_mul, t, 2, false);
  nxi_called_end(outer);
  return result;
}

nx_tensor *nx_clamp(nx_tensor *low, nx_tensor *x, nx_tensor *high) {
  nx_tensor *t[3] = {low, x, high};
  if (!nxi_check_operands("clamp", t, 3)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_clamp, low);
  nx_tensor *above = nxi_step(&s, nx_max(x, low));
  return nxi_steps_end(&s, nxi_step(&s, nx_min(above, high)));
}

/* A dtype that does not exist must not look like "none given". */
static nx_tensor *convert(nxg_op op, nx_tensor *x, nx_dtype dtype) {
  if (!x || nxi_dtype_valid(dtype)) return record_views(op, &x, 1, dtype, false);
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_dtype_exists(nxg_ops[op].name, dtype, &d);
  return nxi_fail_null(&d);
}
nx_tensor *nx_cast(nx_tensor *x, nx_dtype dtype) { return convert(NXG_cast, x, dtype); }
nx_tensor *nx_bitcast(nx_tensor *x, nx_dtype dtype) { return convert(NXG_bitcast, x, dtype); }
