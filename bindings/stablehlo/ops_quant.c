/* SPDX-License-Identifier: ISC */
/* Operations of operands or results that are tensors of a storage: quantized ones, and those of
 * types that the library does not compute with (forms.h). What computes has for its operands what
 * their elements mean, and its result is brought to the storage again, as the specification says;
 * what moves elements moves those of the storage, which needs results like the operands. */
#include "record.h"

#include <string.h>

#include "ir/dtype.h"

/* ---- floats and storage */

static nx_tensor *constant(nxh_recorder *r, nx_dtype dtype, double value) {
  nx_scalar s = {NX_SCALAR_F64, {.f = {value, 0}}};
  return nx_full(r->c, r->device, dtype, NULL, 0, &s);
}

/* One value for each block, of as many places as they have; along an axis with one block, one. */
static nx_tensor *in_blocks(nxh_recorder *r, const nxh_quant *q, const nx_tensor *x,
                            nx_tensor *line) {
  int64_t split[NX_MAX_RANK], filled[NX_MAX_RANK], whole[NX_MAX_RANK], places;
  int32_t n = 0, rank = nx_rank(x);
  bool fits = q->rank == rank;
  for (int32_t i = 0; fits && i < rank; i++) {
    int64_t blocks = q->grid[i], size = q->blocks[i], extent = nx_shape(x)[i];
    bool several = blocks > 1 && size > 1;
    fits = (size == 0 || (!__builtin_mul_overflow(blocks, size, &places) && places == extent)) &&
           n + several < NX_MAX_RANK;
    if (!fits) break;
    whole[i] = blocks > 1 ? extent : 1;
    split[n] = filled[n] = blocks;
    n++;
    if (several) split[n] = 1, filled[n++] = size;
  }
  if (fits)
    return nx_reshape(nx_expand(nx_reshape(line, split, n, 0), filled, n), whole, rank,
                      NX_MAY_COPY);
  nxh_fail(r, NX_INVALID_ARGUMENT, "a type has blocks that a tensor of this shape has not");
  return NULL;
}

/* One value, or one for each place of an axis or each block, with extents that broadcast. */
static nx_tensor *along(nxh_recorder *r, const nxh_quant *q, const nx_tensor *x, nx_dtype dtype,
                        nx_dtype of, const void *data) {
  int64_t shape[NX_MAX_RANK], n = q->n;
  if (q->rank > 0) {
    nx_tensor *line = nx_from_data(r->c, r->device, of, &n, 1, data, (size_t)n * 8);
    return in_blocks(r, q, x, nx_cast(line, dtype));
  }
  if (q->axis < 0) return constant(r, dtype, of == NX_F64 ? q->scales[0] : (double)q->zeros[0]);
  if (q->axis >= nx_rank(x) || nx_shape(x)[q->axis] != n) {
    nxh_fail(r, NX_INVALID_ARGUMENT, "a type has %u scales along axis %d, which is not as long",
             q->n, q->axis);
    return NULL;
  }
  for (int32_t i = 0; i < nx_rank(x); i++) shape[i] = i == q->axis ? n : 1;
  nx_tensor *line = nx_from_data(r->c, r->device, of, &n, 1, data, (size_t)n * 8);
  return nx_reshape(nx_cast(line, dtype), shape, nx_rank(x), 0);
}

static nx_tensor *scales(nxh_recorder *r, const nxh_quant *q, const nx_tensor *x) {
  return along(r, q, x, q->expressed, NX_F64, q->scales);
}

static nx_tensor *zeros(nxh_recorder *r, const nxh_quant *q, const nx_tensor *x, nx_dtype dtype) {
  return along(r, q, x, dtype, NX_I64, q->zeros);
}

/* (x - zero) * scale; the difference, which the storage need not hold, is exact. */
nx_tensor *nxh_dequantize(nxh_recorder *r, nx_tensor *x, const nxh_type *type) {
  const nxh_quant *q = type->quant;
  if (type->form != NULL) return nxh_from_form(r, x, type->form);
  nx_dtype wide = nxi_dtypes[type->dtype].bits > 16 ? NX_I64 : NX_I32;
  nx_tensor *zero = zeros(r, q, x, wide), *scale = zero != NULL ? scales(r, q, x) : NULL;
  if (scale == NULL) return NULL;
  return nx_mul(nx_cast(nx_sub(nx_cast(x, wide), zero), q->expressed), scale);
}

/* The nearest of the storage to x / scale + zero, even of two. */
nx_tensor *nxh_quantize(nxh_recorder *r, nx_tensor *x, const nxh_type *type) {
  const nxh_quant *q = type->quant;
  if (type->form != NULL) return nxh_to_form(r, x, type->form);
  nx_tensor *zero = zeros(r, q, x, q->expressed), *scale = zero != NULL ? scales(r, q, x) : NULL;
  if (scale == NULL) return NULL;
  nx_tensor *low = constant(r, q->expressed, (double)q->min);
  nx_tensor *high = constant(r, q->expressed, (double)q->max);
  nx_tensor *y = nx_clamp(low, nx_add(nx_div(x, scale), zero), high);
  return nx_cast(nx_rint(y), type->dtype);
}

/* Between floats and storage, or two storages: of what operands and results are in floats. */
bool nxh_requantize(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor *x = nxh_in(r, op, 0);
  if (x != NULL && op->n_results != 1)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u results", op->n_results);
  bool from = x != NULL && nxh_type_of(r->m, op->operands[0])->quant != NULL;
  bool to = x != NULL && nxh_type_of(r->m, op->first_result)->quant != NULL;
  bool fits = nxh_word_is(op->name, "stablehlo.uniform_quantize") ? to : from && !to;
  if (x != NULL && (!fits || op->n_operands != 1))
    return nxh_fail(r, NX_INVALID_ARGUMENT, "operand and result are not quantized as they must be");
  return x != NULL && nxh_set(r, op, 0, x);
}

/* ---- which operations have such operands, and how. What the table has not, quantized values are
 * refused by, and forms are computed with. */

typedef enum how {
  IN_FLOATS,  /* of what elements mean */
  AS_STORAGE, /* of elements: all are quantized alike, with one scale */
  ALONG_AXES, /* the same, and each place of an axis, or each block, may have its scale */
  AS_THEY_ARE /* each result as the operand or the result of a region that it is */
} how;

static const struct {
  const char *name;
  how how;
} kinds[] = {
    {"chlo.scan", AS_THEY_ARE},
    {"func.call", AS_THEY_ARE},
    {"stablehlo.abs", IN_FLOATS},
    {"stablehlo.add", IN_FLOATS},
    {"stablehlo.all_gather", AS_STORAGE},
    {"stablehlo.all_to_all", AS_STORAGE},
    {"stablehlo.atan2", IN_FLOATS},
    {"stablehlo.batch_norm_grad", IN_FLOATS},
    {"stablehlo.batch_norm_inference", IN_FLOATS},
    {"stablehlo.batch_norm_training", IN_FLOATS},
    {"stablehlo.bitcast_convert", AS_THEY_ARE},
    {"stablehlo.broadcast_in_dim", ALONG_AXES},
    {"stablehlo.case", AS_THEY_ARE},
    {"stablehlo.cbrt", IN_FLOATS},
    {"stablehlo.ceil", IN_FLOATS},
    {"stablehlo.cholesky", IN_FLOATS},
    {"stablehlo.clamp", IN_FLOATS},
    {"stablehlo.collective_broadcast", AS_STORAGE},
    {"stablehlo.collective_permute", AS_STORAGE},
    {"stablehlo.compare", IN_FLOATS},
    {"stablehlo.composite", AS_THEY_ARE},
    {"stablehlo.concatenate", AS_STORAGE},
    {"stablehlo.constant", AS_THEY_ARE},
    {"stablehlo.convolution", IN_FLOATS},
    {"stablehlo.cosine", IN_FLOATS},
    {"stablehlo.custom_call", AS_THEY_ARE},
    {"stablehlo.divide", IN_FLOATS},
    {"stablehlo.dot", IN_FLOATS},
    {"stablehlo.dot_general", IN_FLOATS},
    {"stablehlo.dynamic_broadcast_in_dim", ALONG_AXES},
    {"stablehlo.dynamic_conv", IN_FLOATS},
    {"stablehlo.dynamic_gather", AS_STORAGE},
    {"stablehlo.dynamic_iota", IN_FLOATS},
    {"stablehlo.dynamic_pad", AS_STORAGE},
    {"stablehlo.dynamic_reshape", ALONG_AXES},
    {"stablehlo.dynamic_slice", AS_STORAGE},
    {"stablehlo.dynamic_update_slice", AS_STORAGE},
    {"stablehlo.exponential", IN_FLOATS},
    {"stablehlo.exponential_minus_one", IN_FLOATS},
    {"stablehlo.floor", IN_FLOATS},
    {"stablehlo.gather", AS_STORAGE},
    {"stablehlo.get_dimension_size", AS_THEY_ARE},
    {"stablehlo.if", AS_THEY_ARE},
    {"stablehlo.infeed", AS_THEY_ARE},
    {"stablehlo.iota", IN_FLOATS},
    {"stablehlo.is_finite", IN_FLOATS},
    {"stablehlo.log", IN_FLOATS},
    {"stablehlo.log_plus_one", IN_FLOATS},
    {"stablehlo.logistic", IN_FLOATS},
    {"stablehlo.map", AS_STORAGE},
    {"stablehlo.maximum", IN_FLOATS},
    {"stablehlo.minimum", IN_FLOATS},
    {"stablehlo.multiply", IN_FLOATS},
    {"stablehlo.negate", IN_FLOATS},
    {"stablehlo.optimization_barrier", AS_THEY_ARE},
    {"stablehlo.outfeed", AS_THEY_ARE},
    {"stablehlo.pad", AS_STORAGE},
    {"stablehlo.power", IN_FLOATS},
    {"stablehlo.real_dynamic_slice", AS_STORAGE},
    {"stablehlo.recv", AS_THEY_ARE},
    {"stablehlo.reduce", AS_STORAGE},
    {"stablehlo.reduce_precision", IN_FLOATS},
    {"stablehlo.reduce_window", AS_STORAGE},
    {"stablehlo.remainder", IN_FLOATS},
    {"stablehlo.reshape", ALONG_AXES},
    {"stablehlo.reverse", AS_STORAGE},
    {"stablehlo.round_nearest_afz", IN_FLOATS},
    {"stablehlo.round_nearest_even", IN_FLOATS},
    {"stablehlo.rsqrt", IN_FLOATS},
    {"stablehlo.scatter", AS_STORAGE},
    {"stablehlo.select", AS_STORAGE},
    {"stablehlo.select_and_scatter", AS_STORAGE},
    {"stablehlo.send", AS_THEY_ARE},
    {"stablehlo.sign", IN_FLOATS},
    {"stablehlo.sine", IN_FLOATS},
    {"stablehlo.slice", AS_STORAGE},
    {"stablehlo.sort", AS_STORAGE},
    {"stablehlo.sqrt", IN_FLOATS},
    {"stablehlo.subtract", IN_FLOATS},
    {"stablehlo.tan", IN_FLOATS},
    {"stablehlo.tanh", IN_FLOATS},
    {"stablehlo.transpose", ALONG_AXES},
    {"stablehlo.triangular_solve", IN_FLOATS},
    {"stablehlo.uniform_dequantize", IN_FLOATS},
    {"stablehlo.uniform_quantize", IN_FLOATS},
    {"stablehlo.while", AS_THEY_ARE},
};

static const nxh_quant *quant_of(const nxh_recorder *r, nxh_value v) {
  return nxh_type_of(r->m, v)->quant;
}

static bool is_carried(const nxh_recorder *r, nxh_value v) {
  return nxh_type_of(r->m, v)->real != NULL;
}

bool nxh_is_carried(const nxh_recorder *r, const nxh_op *op) {
  for (uint32_t i = 0; i < op->n_operands; i++)
    if (is_carried(r, op->operands[i])) return true;
  for (uint32_t i = 0; i < op->n_results; i++)
    if (is_carried(r, op->first_result + i)) return true;
  return nxh_word_is(op->name, "stablehlo.uniform_quantize") ||
         nxh_word_is(op->name, "stablehlo.uniform_dequantize");
}

/* ---- whether what is moved keeps its meaning */

/* The types that have to be alike: *first is one of them. */
static bool alike(const nxh_recorder *r, nxh_value v, const nxh_type **first) {
  const nxh_type *t = nxh_type_of(r->m, v);
  if (t->real == NULL) return true;
  if (*first == NULL) *first = t;
  return nxh_same_elements(*first, t);
}

/* Of the operation and of what its regions take and give. */
static bool all_alike(const nxh_recorder *r, const nxh_op *op) {
  const nxh_type *q = NULL;
  bool same = true;
  for (uint32_t i = 0; i < op->n_operands; i++) same = same && alike(r, op->operands[i], &q);
  for (uint32_t i = 0; i < op->n_results; i++) same = same && alike(r, op->first_result + i, &q);
  for (uint32_t k = 0; k < op->n_regions; k++) {
    const nxh_region *region = &op->regions[k];
    const nxh_op *last = nxh_last(region);
    for (uint32_t i = 0; i < region->n_args; i++) same = same && alike(r, region->first + i, &q);
    for (uint32_t i = 0; last != NULL && i < last->n_operands; i++)
      same = same && alike(r, last->operands[i], &q);
  }
  return same;
}

static bool one_scale(const nxh_recorder *r, const nxh_op *op) {
  const nxh_type *q = NULL;
  alike(r, op->n_results > 0 ? op->first_result : op->operands[0], &q);
  for (uint32_t i = 0; q == NULL && i < op->n_operands; i++) alike(r, op->operands[i], &q);
  return q == NULL || q->quant == NULL || (q->quant->axis < 0 && q->quant->n == 1);
}

/* Which axis of the result an axis of the operand is; -1: none. */
static int32_t axis_after(nxh_recorder *r, const nxh_op *op, int32_t axis) {
  const nxh_type *x = nxh_type_of(r->m, op->operands[0]), *y = nxh_type_of(r->m, op->first_result);
  int32_t axes[NX_MAX_RANK];
  uint32_t n;
  if (nxh_get(op, "broadcast_dimensions") != NULL)
    return nxh_axes(r, op, "broadcast_dimensions", axes, &n) && axis < (int32_t)n ? axes[axis] : -1;
  if (nxh_get(op, "permutation") != NULL) {
    if (!nxh_axes(r, op, "permutation", axes, &n)) return -1;
    for (uint32_t i = 0; i < n; i++)
      if (axes[i] == axis) return (int32_t)i;
    return -1;
  }
  int64_t before = 1, passed = 1; /* a reshape: as many elements before it, and as long */
  for (int32_t i = 0; i < axis; i++) before *= x->shape[i];
  for (int32_t i = 0; i < y->rank; i++) {
    if (passed == before && y->shape[i] == x->shape[axis]) return i;
    passed *= y->shape[i];
  }
  return -1;
}

/* ---- blocks that are moved */

/* Which axis of the result each axis of the operand with several blocks is. */
static bool axes_of_blocks(nxh_recorder *r, const nxh_op *op, const nxh_quant *from,
                           int32_t *to_axis) {
  const nxh_type *x = nxh_type_of(r->m, op->operands[0]), *y = nxh_type_of(r->m, op->first_result);
  bool listed = nxh_get(op, "broadcast_dimensions") != NULL || nxh_get(op, "permutation") != NULL;
  int32_t at = 0;
  if (from->rank != x->rank) return false;
  for (int32_t i = 0; i < x->rank; i++) {
    if (listed) to_axis[i] = axis_after(r, op, i);
    else { /* a reshape: axes of one place come and go */
      while (x->shape[i] != 1 && at < y->rank && y->shape[at] == 1) at++;
      to_axis[i] = x->shape[i] != 1 && at < y->rank ? at++ : -1;
    }
    int32_t k = to_axis[i];
    if (from->grid[i] > 1 && (k < 0 || k >= y->rank || y->shape[k] != x->shape[i])) return false;
  }
  return true;
}

/* Each block has its scale in the result, which has no others. */
static bool blocks_follow(nxh_recorder *r, const nxh_op *op, const nxh_quant *from,
                          const nxh_quant *to) {
  int32_t to_axis[NX_MAX_RANK];
  int64_t steps[NX_MAX_RANK], step = 1, at[NX_MAX_RANK] = {0}, place = 0;
  if (from->expressed != to->expressed || from->min != to->min || from->max != to->max ||
      from->n != to->n || from->rank == 0 ||
      to->rank != nxh_type_of(r->m, op->first_result)->rank ||
      !axes_of_blocks(r, op, from, to_axis))
    return false;
  for (int32_t k = to->rank; k-- > 0; step *= to->grid[k]) steps[k] = step;
  for (int32_t i = 0; i < from->rank; i++)
    if (from->grid[i] > 1 && to->grid[to_axis[i]] != from->grid[i]) return false;
  for (uint32_t n = 0; n < from->n; n++) {
    if (to->scales[place] != from->scales[n] || to->zeros[place] != from->zeros[n]) return false;
    for (int32_t i = from->rank; i-- > 0;) {
      int64_t along = from->grid[i] > 1 ? steps[to_axis[i]] : 0;
      place += along;
      if (++at[i] < from->grid[i]) break;
      place -= along * at[i];
      at[i] = 0;
    }
  }
  return true;
}

/* The scales of an axis go with it, or one scale becomes that of all places. */
static bool axis_follows(nxh_recorder *r, const nxh_op *op) {
  const nxh_quant *from = quant_of(r, op->operands[0]), *to = quant_of(r, op->first_result);
  if (from == NULL && to == NULL)
    return nxh_same_elements(nxh_type_of(r->m, op->operands[0]),
                             nxh_type_of(r->m, op->first_result));
  if (from == NULL || to == NULL || (from->axis < 0) != (to->axis < 0)) return false;
  if (from->axis < 0 && from->n == 1) return nxh_quants_equal(from, to);
  if (from->axis < 0) return blocks_follow(r, op, from, to);
  if (from->axis >= nxh_type_of(r->m, op->operands[0])->rank) return false;
  if (axis_after(r, op, from->axis) != to->axis) return false;
  if (from->n != 1) return nxh_quants_equal(from, to);
  bool same = from->expressed == to->expressed && from->min == to->min && from->max == to->max;
  for (uint32_t i = 0; same && i < to->n; i++)
    same = to->scales[i] == from->scales[0] && to->zeros[i] == from->zeros[0];
  return same;
}

/* Values one after the other, which have to be alike: of a list, or first, first + 1, .. */
static bool pairwise(const nxh_recorder *r, const nxh_value *a, nxh_value first, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    const nxh_quant *p = quant_of(r, a[i]), *q = quant_of(r, first + i);
    if (!nxh_same_elements(nxh_type_of(r->m, a[i]), nxh_type_of(r->m, first + i)) ||
        (p != NULL && p->axis != q->axis))
      return false;
  }
  return true;
}

/* Loops give what goes in, and branches what they return; calls are checked where they are made. */
static bool regions_keep(const nxh_recorder *r, const nxh_op *op) {
  bool loop = nxh_word_is(op->name, "stablehlo.while");
  bool through = loop || nxh_word_is(op->name, "stablehlo.optimization_barrier");
  uint32_t n = op->n_results < op->n_operands ? op->n_results : op->n_operands;
  if (through && !pairwise(r, op->operands, op->first_result, n)) return false;
  for (uint32_t k = 0; k < op->n_regions; k++) {
    const nxh_region *region = &op->regions[k];
    const nxh_op *last = nxh_last(region);
    uint32_t args = region->n_args < op->n_operands ? region->n_args : op->n_operands;
    if (loop && !pairwise(r, op->operands, region->first, args)) return false;
    if (last == NULL || (loop && k == 0)) continue;
    n = last->n_operands < op->n_results ? last->n_operands : op->n_results;
    if (!pairwise(r, last->operands, op->first_result, n)) return false;
  }
  return true;
}

/* Quantized values, which may be beside forms. */
static bool has_quants(const nxh_recorder *r, const nxh_op *op) {
  bool found = nxh_word_is(op->name, "stablehlo.uniform_quantize") ||
               nxh_word_is(op->name, "stablehlo.uniform_dequantize");
  for (uint32_t i = 0; i < op->n_operands; i++)
    found = found || quant_of(r, op->operands[i]) != NULL;
  for (uint32_t i = 0; i < op->n_results; i++)
    found = found || quant_of(r, op->first_result + i) != NULL;
  return found;
}

/* Of forms alone: reductions of several processes are of the storage, as others are, and random
 * floats would be rounded out of their interval. */
static bool take_form(nxh_recorder *r, const nxh_op *op, const nxh_row *row, int *which, bool *ok) {
  if (has_quants(r, op)) return false;
  *ok = false;
  bool converts = row->record == nxh_convert, casts = row->record == nxh_bitcast;
  if ((converts || casts) && op->n_results != 1)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u results", op->n_results), true;
  if (converts) return *ok = nxh_convert_form(r, op), true;
  if (casts) return *ok = nxh_bitcast_form(r, op), true;
  if (nxh_word_op(r, op, row, ok)) return true;
  if (row->record == nxh_rng || row->record == nxh_mulhi)
    return nxh_fail(r, NX_UNSUPPORTED_DTYPE, "elements of this type are not supported"), true;
  if (*which < 0) {
    bool reduces = row->record == nxh_all_reduce || row->record == nxh_reduce_scatter ||
                   row->record == nxh_collective_reduce;
    *which = reduces ? AS_STORAGE : IN_FLOATS;
  }
  return false;
}

bool nxh_record_carried(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  int which = -1;
  bool done;
  for (size_t i = 0; which < 0 && i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(row->name, kinds[i].name) == 0) which = (int)kinds[i].how;
  if (take_form(r, op, row, &which, &done)) return done;
  if (which < 0) return nxh_fail(r, NX_UNSUPPORTED_DTYPE, "quantized values are not supported");
  bool kept =
      which == IN_FLOATS || (which == AS_THEY_ARE && regions_keep(r, op)) ||
      (which == AS_STORAGE && one_scale(r, op) && all_alike(r, op)) ||
      (which == ALONG_AXES && op->n_operands > 0 && op->n_results == 1 && axis_follows(r, op));
  if (!kept)
    return nxh_fail(r, NX_INVALID_ARGUMENT,
                    "what is moved has to be quantized as what comes of it, with one scale%s",
                    which == ALONG_AXES
                        ? " or with those of the axis that it has there, or of its blocks"
                        : "");
  bool outer = r->expressed;
  r->expressed = which == IN_FLOATS;
  bool next = row->record == nxh_binary && row->of.binary == nx_nextafter;
  bool ok = next ? nxh_next_form(r, op) : row->record(r, op, row);
  r->expressed = outer;
  return ok;
}
