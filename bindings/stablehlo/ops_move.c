/* SPDX-License-Identifier: ISC */
/* Operations that make or move elements. */
#include "record.h"

#include <string.h>

#include "ir/dtype.h"

/* A constant of a quantized type has integers of its storage, for which MLIR writes no sign. */
static bool same_words(const nxh_type *type, nx_dtype own) {
  return type->quant != NULL && nxi_is_integer(own) &&
         nxi_dtypes[own].bits == nxi_dtypes[type->dtype].bits;
}

/* Elements of a list that is seen as numbers in equal steps, not as memory. */
enum { STEPS_MIN = 64 };

static int64_t integer_at(const nxh_attr *value, int64_t i) {
  const nx_dtype t = value->elements.type->dtype;
  return (int64_t)nxi_cast_bits(nxi_load_at(value->elements.data, t, i), t, NX_I64);
}

/* JAX computes some positions while it traces; as nx_arange a mask of them is one of indices
 * (passes/kernel/columns_seen.c). NULL, and no failure: the constant is something else. */
static nx_tensor *in_steps(nxh_recorder *r, const nxh_attr *value) {
  const nxh_type *t = value->elements.type;
  const int64_t n = t->rank == 1 ? t->shape[0] : 0;
  if ((t->dtype != NX_I32 && t->dtype != NX_I64) || value->splat || n < STEPS_MIN) return NULL;
  const int64_t first = integer_at(value, 0), last = integer_at(value, n - 1),
                step = (int64_t)((uint64_t)integer_at(value, 1) - (uint64_t)first);
  bool small =
      step != 0 && first == (int32_t)first && last == (int32_t)last && step == (int32_t)step;
  for (int64_t i = 0; i < n && small; i++) small = integer_at(value, i) == first + i * step;
  return small ? nx_arange(r->c, r->device, t->dtype, NX_INTEGER(first), NX_INTEGER(step), n)
               : NULL;
}

/* Bytes of a constant from which on its tensor shares the memory of the module. */
enum { SHARED_MIN = 1 << 16, SHARED_ALIGNMENT = 8 };

static void release_module(void *module) { nx_stablehlo_release(module); }

/* Only of the first device, whose memory is the host's. */
static bool may_share(const nxh_recorder *r, const nxh_attr *value) {
  nx_dtype own = value->elements.type->dtype;
  return r->device == 0 && value->elements.bytes >= SHARED_MIN && !value->splat && own != NX_BOOL &&
         !nxi_is_nibble(own) && (uintptr_t)value->elements.data % SHARED_ALIGNMENT == 0;
}

static nx_tensor *shared(nxh_recorder *r, const nxh_type *type, const nxh_attr *value) {
  nx_stablehlo *owner = nxh_retain(r->m);
  nx_import_desc desc = {.size = sizeof desc,
                         .mode = NX_IMPORT_IMMUTABLE,
                         .dtype = value->elements.type->dtype,
                         .rank = type->rank,
                         .shape = type->shape,
                         .base = (void *)(uintptr_t)value->elements.data,
                         .bytes = value->elements.bytes,
                         .release = release_module,
                         .user = owner};
  nx_tensor *t = NULL;
  if (nx_import(r->c, &desc, &t) != NX_OK) nx_stablehlo_release(owner);
  return t;
}

static nx_tensor *elements_of(nxh_recorder *r, const nxh_type *type, const nxh_attr *value) {
  if (may_share(r, value)) return shared(r, type, value);
  return nx_from_data(r->c, r->device, value->elements.type->dtype, type->shape,
                      value->splat ? 0 : type->rank, value->elements.data, value->elements.bytes);
}

bool nxh_fill(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  const nxh_attr *value = nxh_get(op, "value");
  const nxh_type *type = nxh_result_type(r, op, 0);
  nx_scalar s;
  if (!nxh_closed(r, op, 0)) return false;
  if (value == NULL || value->kind != NXH_ELEMENTS)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "a constant without elements");
  nx_dtype own = value->elements.type->dtype;
  if (own != type->dtype && !same_words(type, own))
    return nxh_fail(r, NX_INVALID_ARGUMENT, "a constant of %s with elements of %s",
                    nx_dtype_name(type->dtype), nx_dtype_name(own));
  if (value->elements.type->form != type->form)
    return nxh_fail(r, NX_INVALID_ARGUMENT,
                    "a constant with elements of another type than its own");
  nx_tensor *t = own == type->dtype && type->form == NULL ? in_steps(r, value) : NULL;
  if (t != NULL) return nxh_set(r, op, 0, t);
  t = nxh_constant(r, op->first_result, &s)
          ? nx_full(r->c, r->device, own, type->shape, type->rank, &s)
          : elements_of(r, type, value);
  if (t != NULL && value->splat && nx_rank(t) != type->rank)
    t = nx_expand(t, type->shape, type->rank);
  return t != NULL && nxh_set(r, op, 0, own == type->dtype ? t : nx_bitcast(t, type->dtype));
}

bool nxh_iota_of(nxh_recorder *r, const nxh_op *op, const nxh_type *t) {
  int64_t axis = nxh_integer(op, "iota_dimension", -1), shape[NX_MAX_RANK];
  if (axis < 0 || axis >= t->rank)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "iota_dimension is out of range");
  for (int32_t i = 0; i < t->rank; i++) shape[i] = i == axis ? t->shape[i] : 1;
  nx_tensor *line =
      nx_arange(r->c, r->device, t->dtype, NX_INTEGER(0), NX_INTEGER(1), t->shape[axis]);
  return nxh_set(r, op, 0, nx_expand(nx_reshape(line, shape, t->rank, 0), t->shape, t->rank));
}

bool nxh_iota(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  return nxh_closed(r, op, 0) && nxh_iota_of(r, op, nxh_result_type(r, op, 0));
}

/* Axis i of the operand is axis axes[i] of the result, which need not rise. */
bool nxh_broadcast_to(nxh_recorder *r, const nxh_op *op, const nxh_type *t) {
  nx_tensor *x = nxh_in(r, op, 0);
  if (r->over_arrays && t->rank == 0) return x != NULL && nxh_set(r, op, 0, x);
  int32_t axes[NX_MAX_RANK], order[NX_MAX_RANK];
  int64_t shape[NX_MAX_RANK];
  uint32_t n, used = 0;
  if (x == NULL || !nxh_axes(r, op, "broadcast_dimensions", axes, &n)) return false;
  if (nxh_get(op, "broadcast_dimensions") == NULL) { /* stablehlo.broadcast: new leading axes */
    n = (uint32_t)nx_rank(x);
    for (uint32_t i = 0; i < n; i++) axes[i] = t->rank - (int32_t)n + (int32_t)i;
  }
  if (n != (uint32_t)nx_rank(x))
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u axes for rank %d", n, nx_rank(x));
  for (int32_t i = 0; i < t->rank; i++) shape[i] = 1;
  for (uint32_t i = 0; i < n; i++) {
    if (axes[i] < 0 || axes[i] >= t->rank || axes[i] >= NX_MAX_RANK || used & 1u << axes[i])
      return nxh_fail(r, NX_INVALID_ARGUMENT, "axis %d of the result is out of range or twice",
                      axes[i]);
    used |= 1u << axes[i];
    shape[axes[i]] = nx_shape(x)[i];
  }
  for (int32_t i = 0, at = 0; i < t->rank; i++)
    for (uint32_t k = 0; k < n; k++)
      if (axes[k] == i) order[at++] = (int32_t)k;
  x = nx_reshape(nx_permute(x, order, n), shape, t->rank, NX_MAY_COPY);
  return nxh_set(r, op, 0, nx_expand(x, t->shape, t->rank));
}

bool nxh_broadcast(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  return nxh_closed(r, op, 0) && nxh_broadcast_to(r, op, nxh_result_type(r, op, 0));
}

bool nxh_reshape(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  const nxh_type *t = nxh_result_type(r, op, 0);
  nx_tensor *x = nxh_in(r, op, 0);
  if (r->over_arrays && t->rank == 0) return x != NULL && nxh_set(r, op, 0, x);
  return x != NULL && nxh_closed(r, op, 0) &&
         nxh_set(r, op, 0, nx_reshape(x, t->shape, t->rank, NX_MAY_COPY));
}

/* Something of an operand and of axes that an attribute names. */
static bool along_axes(nxh_recorder *r, const nxh_op *op, const char *name,
                       nx_tensor *(*of)(nx_tensor *, const int32_t *, size_t)) {
  int32_t axes[NX_MAX_RANK];
  uint32_t n;
  nx_tensor *x = nxh_in(r, op, 0);
  return x != NULL && nxh_axes(r, op, name, axes, &n) && nxh_set(r, op, 0, of(x, axes, n));
}

bool nxh_transpose(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  return along_axes(r, op, "permutation", nx_permute);
}

bool nxh_reverse(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  return along_axes(r, op, "dimensions", nx_flip);
}

bool nxh_slice_by(nxh_recorder *r, const nxh_op *op, nx_tensor *x, const int64_t *start,
                  const int64_t *stop, const int64_t *step) {
  int64_t count[NX_MAX_RANK];
  uint32_t n = (uint32_t)nx_rank(x);
  for (uint32_t i = 0; i < n; i++) {
    bool good = start[i] >= 0 && start[i] <= stop[i] && stop[i] <= nx_shape(x)[i] && step[i] > 0;
    if (!good) return nxh_fail(r, NX_INVALID_ARGUMENT, "the range of axis %u", i);
    count[i] = (stop[i] - start[i] + step[i] - 1) / step[i];
  }
  return nxh_set(r, op, 0, nx_slice(x, start, count, step, n));
}

bool nxh_slice(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  int64_t start[NX_MAX_RANK], stop[NX_MAX_RANK], step[NX_MAX_RANK];
  nx_tensor *x = nxh_in(r, op, 0);
  if (x == NULL) return false;
  uint32_t n = (uint32_t)nx_rank(x);
  return nxh_need_integers(r, op, "start_indices", start, n) &&
         nxh_need_integers(r, op, "limit_indices", stop, n) &&
         nxh_list_of(r, op, "strides", n, 1, step) && nxh_slice_by(r, op, x, start, stop, step);
}

bool nxh_concatenate(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor **list = nxi_malloc((op->n_operands + 1) * sizeof *list);
  bool ok = list != NULL || (nxi_oom(r->d), false);
  int32_t axis = nxh_axis(op, "dimension", -1);
  if (ok && axis < 0) ok = nxh_fail(r, NX_INVALID_ARGUMENT, "dimension is missing or out of range");
  for (uint32_t i = 0; ok && i < op->n_operands; i++) ok = (list[i] = nxh_in(r, op, i)) != NULL;
  ok = ok && nxh_set(r, op, 0, nx_cat(list, op->n_operands, axis));
  nxi_free(list);
  return ok;
}

/* A value that is no constant is put where a mask has been padded. */
bool nxh_pad_by(nxh_recorder *r, const nxh_op *op, const nxh_padded *p) {
  nx_tensor *x = nxh_in(r, op, 0), *value = x != NULL ? nxh_in(r, op, 1) : NULL;
  if (value == NULL) return false;
  uint32_t n = (uint32_t)nx_rank(x);
  nx_scalar s, no = {NX_SCALAR_I64, {.i = 0}}, yes = {NX_SCALAR_I64, {.i = 1}};
  if (nxh_constant(r, op->operands[1], &s))
    return nxh_set(r, op, 0, nx_pad_between(x, p->low, p->high, p->between, n, &s));
  nx_tensor *all = nx_full(r->c, r->device, NX_BOOL, nx_shape(x), nx_rank(x), &yes);
  nx_tensor *mask = nx_pad_between(all, p->low, p->high, p->between, n, &no);
  nx_tensor *wide = nx_pad_between(x, p->low, p->high, p->between, n, &no);
  return nxh_set(r, op, 0, nx_where(mask, wide, value));
}

bool nxh_pad(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nxh_padded p;
  nx_tensor *x = nxh_in(r, op, 0);
  if (x == NULL) return false;
  uint32_t n = (uint32_t)nx_rank(x);
  return nxh_need_integers(r, op, "edge_padding_low", p.low, n) &&
         nxh_need_integers(r, op, "edge_padding_high", p.high, n) &&
         nxh_need_integers(r, op, "interior_padding", p.between, n) && nxh_pad_by(r, op, &p);
}

bool nxh_extent(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor *x = nxh_in(r, op, 0);
  int64_t axis = nxh_integer(op, "dimension", -1);
  if (x == NULL) return false;
  if (axis < 0 || axis >= nx_rank(x))
    return nxh_fail(r, NX_INVALID_ARGUMENT, "dimension is out of range");
  nx_scalar s = {NX_SCALAR_I64, {.i = nx_shape(x)[axis]}};
  return nxh_set(r, op, 0, nx_full(r->c, r->device, nxh_result_type(r, op, 0)->dtype, NULL, 0, &s));
}
