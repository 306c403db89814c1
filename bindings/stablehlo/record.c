/* SPDX-License-Identifier: ISC */
/* The walk over a module that records it: functions, regions, and values. A call records the
 * callee's operations in its place. Loops and branches want functions of their own, of which
 * ops_control.c takes care. */
#include "mesh.h"
#include "shards.h"
#include "record.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir/dtype.h"
#include "runtime/record/error.h"

bool nxh_fail(nxh_recorder *r, nx_status status, const char *format, ...) {
  char said[400];
  va_list list;
  va_start(list, format);
  vsnprintf(said, sizeof said, format, list);
  va_end(list);
  nxi_fail(r->d, status, "stablehlo", "%s", said);
  return false;
}

/* ---- values */

nx_tensor *nxh_value_of(nxh_recorder *r, nxh_value v) {
  nxh_frame *f = r->frame;
  if (!nxh_make_whole(r, v)) return NULL;
  if (v < f->base || v - f->base >= f->n || f->tensors[v - f->base] == NULL) {
    nxh_fail(r, NX_INVALID_ARGUMENT, "an operand is a token or a value that is not there yet");
    return NULL;
  }
  return f->tensors[v - f->base];
}

void nxh_put(nxh_recorder *r, nxh_value v, nx_tensor *t) {
  r->frame->tensors[v - r->frame->base] = t;
}

nx_tensor *nxh_in(nxh_recorder *r, const nxh_op *op, uint32_t operand) {
  if (operand < op->n_operands) {
    nx_tensor *t = nxh_value_of(r, op->operands[operand]);
    const nxh_type *type = nxh_type_of(r->m, op->operands[operand]);
    bool real = t != NULL && r->expressed && type->real != NULL;
    return real ? nxh_dequantize(r, t, type) : t;
  }
  nxh_fail(r, NX_INVALID_ARGUMENT, "operand %u is missing", operand);
  return NULL;
}

/* While values are what they mean, the type of that. */
static const nxh_type *type_now(const nxh_recorder *r, nxh_value v) {
  const nxh_type *type = nxh_type_of(r->m, v);
  return r->expressed && type->real != NULL ? type->real : type;
}

const nxh_type *nxh_operand_type(nxh_recorder *r, const nxh_op *op, uint32_t operand) {
  return operand < op->n_operands ? type_now(r, op->operands[operand]) : &nxh_no_type;
}

const nxh_type *nxh_result_type(nxh_recorder *r, const nxh_op *op, uint32_t result) {
  return result < op->n_results ? type_now(r, op->first_result + result) : &nxh_no_type;
}

bool nxh_has_shape(const nx_tensor *a, const nx_tensor *b) {
  return nx_rank(a) == nx_rank(b) &&
         (nx_rank(a) == 0 ||
          memcmp(nx_shape(a), nx_shape(b), (size_t)nx_rank(a) * sizeof(int64_t)) == 0);
}

const char *nxh_describe(const nx_tensor *t, char out[NXH_TYPE_TEXT]) {
  nxh_type type = {.kind = NXH_TENSOR, .dtype = nx_dtype_of(t), .rank = nx_rank(t)};
  type.shape = nx_shape(t);
  nxh_describe_type(&type, out);
  return out;
}

bool nxh_extent_fits(const nxh_type *type, int32_t axis, int64_t extent) {
  if (type->shape[axis] >= 0) return extent == type->shape[axis];
  return type->bounds == NULL || type->bounds[axis] < 0 || extent <= type->bounds[axis];
}

bool nxh_has_type(const nx_tensor *t, const nxh_type *type) {
  const int64_t *shape = nx_shape(t);
  if (nx_dtype_of(t) != type->dtype || nx_rank(t) != type->rank) return false;
  for (int32_t i = 0; i < type->rank; i++)
    if (!nxh_extent_fits(type, i, shape[i])) return false;
  return true;
}

bool nxh_set(nxh_recorder *r, const nxh_op *op, uint32_t result, nx_tensor *t) {
  if (t == NULL) return false;
  if (result >= op->n_results) return true; /* nobody wants it */
  const nxh_type *type = nxh_result_type(r, op, result);
  char got[NXH_TYPE_TEXT], said[NXH_TYPE_TEXT];
  bool fits = r->over_arrays ? nx_dtype_of(t) == type->dtype : nxh_has_type(t, type);
  if (type->kind != NXH_TENSOR || !fits) {
    nxh_describe(t, got);
    nxh_describe_type(type, said);
    return nxh_fail(r, NX_INVALID_ARGUMENT, "result %u is %s, and the type says %s", result, got,
                    type->kind == NXH_TENSOR ? said : "that it is no tensor");
  }
  const nxh_type *own = nxh_type_of(r->m, op->first_result + result);
  if (own != type && (t = nxh_quantize(r, t, own)) == NULL) return false;
  nxh_put(r, op->first_result + result, t);
  return true;
}

/* ---- constants */

const nxh_op *nxh_source(nxh_recorder *r, nxh_value v) {
  for (int i = 0; i < 16; i++) {
    if (v < r->frame->base || v - r->frame->base >= r->frame->n) return NULL;
    const nxh_op *op = r->frame->defs[v - r->frame->base];
    bool shape = op != NULL && op->n_operands == 1 &&
                 (nxh_word_is(op->name, "stablehlo.broadcast_in_dim") ||
                  nxh_word_is(op->name, "stablehlo.reshape"));
    if (!shape) return op;
    v = op->operands[0];
  }
  return NULL;
}

static void scalar_of(nx_dtype dtype, const void *data, nx_scalar *out) {
  uint64_t bits = 0;
  if (nxi_is_complex(dtype)) {
    nx_dtype part = nxi_part_dtype(dtype);
    size_t size = (size_t)nxi_dtype_size(part);
    out->kind = NX_SCALAR_C128;
    for (int i = 0; i < 2; i++) {
      bits = nxi_load_element((const char *)data + (size_t)i * size, part);
      out->v.f[i] = nxi_f64_bits(nxi_cast_bits(bits, part, NX_F64));
    }
    return;
  }
  bits = nxi_load_at(data, dtype, 0);
  if (nxi_is_float(dtype) || nxi_is_stored(dtype)) {
    out->kind = NX_SCALAR_F64;
    out->v.f[0] = nxi_f64_bits(nxi_cast_bits(bits, dtype, NX_F64));
  } else {
    out->kind = nxi_is_signed(dtype) ? NX_SCALAR_I64 : NX_SCALAR_U64;
    out->v.u = nxi_cast_bits(bits, dtype, nxi_is_signed(dtype) ? NX_I64 : NX_U64);
  }
}

bool nxh_constant(nxh_recorder *r, nxh_value v, nx_scalar *out) {
  const nxh_op *op = nxh_source(r, v);
  const nxh_attr *value =
      op != NULL && nxh_word_is(op->name, "stablehlo.constant") ? nxh_get(op, "value") : NULL;
  if (value == NULL || value->kind != NXH_ELEMENTS) return false;
  const nxh_type *type = value->elements.type;
  if (!value->splat && nxh_elements(type) != 1) return false;
  if (type->form != NULL && type->form->kind != NXH_WRAPS) return false; /* bits of a number */
  scalar_of(type->dtype, value->elements.data, out);
  return true;
}

/* ---- operations */

static void say_where(nxh_recorder *r, const nxh_op *op) {
  nx_error e = {.size = sizeof e};
  if (r->d->status == NX_OK && nx_error_take(&e) != NX_OK)
    nxi_fail(r->d, e.status, "stablehlo", "%s", e.message);
  if (r->d->status == NX_OK) nxi_fail(r->d, NX_INTERNAL, "stablehlo", "no reason was given");
  nxh_note_place(r->m, op, r->d);
}

static bool check_types(nxh_recorder *r, const nxh_op *op) {
  for (uint32_t i = 0; i < op->n_results; i++) {
    const nxh_type *t = nxh_result_type(r, op, i);
    if (t->kind == NXH_OTHER || t->kind == NXH_NO_TYPE)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "a result of type %.*s is not supported",
                      (int)t->text.length, t->text.at);
    if (t->kind != NXH_TENSOR) continue;
    if (t->dtype == 0)
      return nxh_fail(r, NX_UNSUPPORTED_DTYPE, "elements of type %.*s are not supported",
                      (int)t->text.length, t->text.at);
  }
  return true;
}

static bool record_row(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  bool carried = r->m->carried && nxh_is_carried(r, op);
  return carried ? nxh_record_carried(r, op, row) : row->record(r, op, row);
}

static bool record_known(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  bool manual = row->record == nxh_manual;
  if (!check_types(r, op)) return false;
  if (nxh_record_term(r, op)) return true;
  return (op->n_regions == 0 || manual || nxh_make_all_whole(r)) && record_row(r, op, row);
}

static bool record_op(nxh_recorder *r, const nxh_op *op) {
  const nxh_row *row = nxh_row_of(op);
  bool ok = false;
  if (row != NULL) ok = record_known(r, op, row);
  else nxh_fail(r, NX_INVALID_ARGUMENT, "the operation is not supported");
  if (!ok) say_where(r, op);
  return ok;
}

const nxh_op *nxh_last(const nxh_region *region) {
  const nxh_op *last = region->n_ops ? &region->ops[region->n_ops - 1] : NULL;
  return last != NULL && nxh_is_end(last) ? last : NULL;
}

bool nxh_record_region(nxh_recorder *r, const nxh_region *region) {
  if (nxh_last(region) == NULL)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "a region does not end with a return");
  for (uint32_t i = 0; i + 1 < region->n_ops; i++)
    if (!record_op(r, &region->ops[i])) return false;
  return true;
}

/* ---- frames */

static void note_defs(nxh_frame *f, const nxh_region *region) {
  for (uint32_t i = 0; i < region->n_ops; i++) {
    const nxh_op *op = &region->ops[i];
    for (uint32_t k = 0; k < op->n_results; k++) f->defs[op->first_result - f->base + k] = op;
    for (uint32_t k = 0; k < op->n_regions; k++) note_defs(f, &op->regions[k]);
  }
}

static bool open_frame(nxh_recorder *r, nxh_frame *f, const nxh_function *function) {
  *f = (nxh_frame){.function = function, .base = function->body.first};
  f->n = function->end - f->base;
  f->tensors = nxi_calloc((size_t)f->n + 1, sizeof(void *));
  f->defs = nxi_calloc((size_t)f->n + 1, sizeof(void *));
  f->marks = nxi_calloc((size_t)f->n + 1, sizeof *f->marks);
  bool sharded = nxh_is_sharded(r);
  if (sharded) f->shards = nxi_calloc((size_t)f->n + 1, sizeof *f->shards);
  if (sharded && f->shards == NULL) return nxi_oom(r->d), false;
  if (f->tensors == NULL || f->defs == NULL || f->marks == NULL) return nxi_oom(r->d), false;
  note_defs(f, &function->body);
  return true;
}

static void close_frame(nxh_frame *f) {
  nxi_free(f->tensors);
  nxi_free(f->defs);
  nxi_free(f->marks);
  nxi_free(f->shards);
  nxi_free(f->results);
  nxi_free(f->known);
}

/* Of a token there is no tensor. */
static bool is_of_type(const nxh_recorder *r, const nx_tensor *t, const nxh_type *type) {
  if (t == NULL || type->kind != NXH_TENSOR) return t == NULL && type->kind != NXH_TENSOR;
  return r->over_arrays ? nx_dtype_of(t) == type->dtype : nxh_has_type(t, type);
}

static bool same_quant(const nxh_recorder *r, nxh_value v, const nxh_type *type) {
  const nxh_quant *a = nxh_type_of(r->m, v)->quant, *b = type->quant;
  return nxh_same_elements(nxh_type_of(r->m, v), type) && (a == NULL || a->axis == b->axis);
}

/* Opens the frame of a function whose arguments are these. */
static bool enter(nxh_recorder *r, const nxh_function *f, const nxh_op *op, nx_tensor *const *args,
                  nxh_frame *frame) {
  nxh_frame *outer = r->frame;
  bool ok = open_frame(r, frame, f);
  r->frame = frame;
  r->open[r->calls++] = f;
  for (uint32_t i = 0; ok && i < f->body.n_args; i++) {
    if (outer == NULL && frame->shards != NULL && args[i] != NULL)
      ok = nxh_shard_put(r, f, i, args[i]);
    else nxh_put(r, f->body.first + i, args[i]);
  }
  if (ok && op != NULL) {
    frame->caller = outer;
    frame->call = op;
    nxh_shard_arguments(r, op, outer);
  }
  return ok;
}

/* Of the outermost function parts, of which the types of the program are none. */
static bool take_result(nxh_recorder *r, const nxh_function *f, uint32_t i, nxh_value v,
                        bool outermost, nx_tensor **result) {
  if (outermost && r->frame->shards != NULL) {
    *result = nxh_shard_result(r, f, i, v);
    return *result != NULL || f->results[i].kind == NXH_TOKEN;
  }
  bool part = nxh_shard_only(r, v) && r->frame->call != NULL;
  if (!part && !nxh_make_whole(r, v)) return false;
  *result = r->frame->tensors[v - r->frame->base];
  return (part ? nxh_types_equal(nxh_type_of(r->m, v), &f->results[i])
               : is_of_type(r, *result, &f->results[i])) &&
         same_quant(r, v, &f->results[i]);
}

static bool leave(nxh_recorder *r, const nxh_function *f, nxh_frame *outer, nx_tensor **results) {
  const nxh_op *last = nxh_last(&f->body);
  if (last->n_operands != f->n_results)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "@%.*s returns %u values of %u", (int)f->name.length,
                    f->name.at, last->n_operands, f->n_results);
  for (uint32_t i = 0; i < f->n_results; i++)
    if (!take_result(r, f, i, last->operands[i], outer == NULL, &results[i]))
      return r->d->status != NX_OK || nxi_error_status() != NX_OK
                 ? false
                 : nxh_fail(r, NX_INVALID_ARGUMENT,
                            "@%.*s returns a value %u of another type than it says",
                            (int)f->name.length, f->name.at, i);
  if (r->frame->call != NULL) nxh_shard_results(r, r->frame->call, outer);
  return true;
}

/* Records a function whose arguments are these, into `results`. */
bool nxh_record_body(nxh_recorder *r, const nxh_function *f, const nxh_op *op,
                     nx_tensor *const *args, nx_tensor **results) {
  nxh_frame frame, *outer = r->frame;
  for (int i = 0; i < r->calls; i++)
    if (r->open[i] == f)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "@%.*s calls itself", (int)f->name.length,
                      f->name.at);
  if (r->calls == NXH_MOST_CALLS)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "more than %d functions call each other", r->calls);
  bool ok = enter(r, f, op, args, &frame) && nxh_record_region(r, &f->body) &&
            leave(r, f, outer, results);
  r->calls--;
  r->frame = outer;
  close_frame(&frame);
  return ok;
}

/* Operands as they are: whole, or NULL if they are tokens or known by their parts. */
static bool take_arguments(nxh_recorder *r, const nxh_op *op, const nxh_function *f,
                           nx_tensor **list) {
  for (uint32_t i = 0; i < op->n_operands; i++) {
    nxh_value v = op->operands[i];
    const nxh_type *type = nxh_type_of(r->m, f->body.first + i);
    list[i] = r->frame->tensors[v - r->frame->base];
    bool part = nxh_shard_only(r, v);
    if (!(part ? nxh_types_equal(nxh_type_of(r->m, v), type) : is_of_type(r, list[i], type)) ||
        !same_quant(r, v, type))
      return nxh_fail(r, NX_INVALID_ARGUMENT, "operand %u has another type than @%.*s takes", i,
                      (int)f->name.length, f->name.at);
  }
  return true;
}

static bool give_results(nxh_recorder *r, const nxh_op *op, const nxh_function *f,
                         nx_tensor *const *results) {
  for (uint32_t i = 0; i < op->n_results; i++) {
    nxh_value v = op->first_result + i;
    bool part = nxh_shard_only(r, v);
    if (!same_quant(r, v, &f->results[i]))
      return nxh_fail(r, NX_INVALID_ARGUMENT, "result %u is quantized as @%.*s does not say", i,
                      (int)f->name.length, f->name.at);
    if (part && !nxh_types_equal(nxh_type_of(r->m, v), &f->results[i]))
      return nxh_fail(r, NX_INVALID_ARGUMENT, "result %u has another type than @%.*s gives", i,
                      (int)f->name.length, f->name.at);
    if (results[i] != NULL && !nxh_set(r, op, i, results[i])) return false;
    if (results[i] == NULL && !part && nxh_result_type(r, op, i)->kind == NXH_TENSOR)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "result %u is no tensor", i);
  }
  return true;
}

bool nxh_record_call(nxh_recorder *r, const nxh_op *op, nxh_word function) {
  const nxh_function *f = nxh_find_function(r->m, function);
  if (f == NULL)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "there is no function @%.*s", (int)function.length,
                    function.at);
  if (f->body.n_args != op->n_operands || f->n_results != op->n_results)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "@%.*s takes %u values and gives %u",
                    (int)function.length, function.at, f->body.n_args, f->n_results);
  size_t n = (size_t)op->n_operands + op->n_results + 1;
  nx_tensor **list = nxi_calloc(n, sizeof *list), **results = list + op->n_operands;
  if (list == NULL) return nxi_oom(r->d), false;
  bool ok = take_arguments(r, op, f, list) && nxh_record_body(r, f, op, list, results) &&
            give_results(r, op, f, results);
  nxi_free(list);
  return ok;
}

nx_tensor *nxh_placeholder_of(nxh_recorder *r, const nxh_type *t, const int64_t *shape) {
  if (shape == NULL) shape = t->shape;
  for (int32_t i = 0; i < t->rank; i++)
    if (shape[i] < 0) {
      nxh_fail(r, NX_INVALID_ARGUMENT,
               "extents are open: nx_stablehlo_options.inputs says what they are");
      return NULL;
    }
  if (t->kind == NXH_TENSOR && t->dtype != 0)
    return nx_placeholder(r->c, r->device, t->dtype, shape, t->rank);
  nxh_fail(r, t->kind == NXH_TENSOR ? NX_UNSUPPORTED_DTYPE : NX_INVALID_ARGUMENT,
           "an argument of type %.*s is not supported", (int)t->text.length, t->text.at);
  return NULL;
}

nx_tensor *nxh_placeholder(nxh_recorder *r, const nxh_type *t) {
  return nxh_placeholder_of(r, t, NULL);
}

/* ---- the function of a module */

static int32_t own_process(const nxh_recorder *r) {
  return r->replica * nxh_mesh_partitions(r->mesh) + r->partition;
}

void nxh_use_token(nxh_recorder *r, nx_tensor *token) {
  if (r->mesh != NULL) nxh_mesh_follow(r->mesh, own_process(r), token);
  r->token = token;
}

typedef struct ports {
  nx_tensor **args, **results;   /* of the program, NULL for tokens */
  nx_tensor **inputs, **outputs; /* the tensors among them */
  uint32_t n_in, n_out;
  const nx_type *types; /* of the inputs, or NULL */
  size_t n_types;
  const uint8_t *unwanted; /* of the tensors among the results, or NULL */
  const int32_t *const *input_orders, *const *output_orders;
} ports;

/* ---- inputs and outputs whose axes are in another order than in the program */

static bool check_order(nxh_recorder *r, const int32_t *order, int32_t rank, const char *what,
                        uint32_t i) {
  uint32_t seen = 0;
  for (int32_t k = 0; k < rank; k++)
    if (order[k] >= 0 && order[k] < rank) seen |= 1U << order[k];
  if (__builtin_popcount(seen) == rank) return true;
  return nxh_fail(r, NX_INVALID_ARGUMENT, "the order of %s %u is none of %d axes", what, i, rank);
}

/* The placeholder of an input, of which *t, a placeholder too, becomes the program's view. */
static nx_tensor *order_input(nxh_recorder *r, const ports *p, nx_tensor **t) {
  const int32_t *order = p->input_orders != NULL ? p->input_orders[p->n_in] : NULL;
  int32_t rank = nx_rank(*t), back[NX_MAX_RANK];
  int64_t shape[NX_MAX_RANK];
  if (order == NULL) return *t;
  if (!check_order(r, order, rank, "input", p->n_in)) return NULL;
  for (int32_t k = 0; k < rank; k++) {
    shape[k] = nx_shape(*t)[order[k]];
    back[order[k]] = k;
  }
  nx_tensor *input = nx_placeholder(r->c, r->device, nx_dtype_of(*t), shape, rank);
  *t = nx_permute(input, back, (size_t)rank);
  return *t != NULL ? input : NULL;
}

/* Output i of those that are wanted and not. */
static bool add_output(nxh_recorder *r, ports *p, uint32_t i, nx_tensor *t) {
  const int32_t *order = p->output_orders != NULL ? p->output_orders[i] : NULL;
  if (p->unwanted != NULL && p->unwanted[i] != 0) return true;
  if (order != NULL && !check_order(r, order, nx_rank(t), "output", i)) return false;
  if (order != NULL) t = nx_permute(t, order, (size_t)nx_rank(t));
  p->outputs[p->n_out++] = t;
  return t != NULL;
}

/* The extents of the next input; NULL: those of its type, or a failure. */
static const int64_t *extents_of(nxh_recorder *r, const ports *p, const nxh_type *type) {
  const nx_type *t = p->types != NULL && p->n_in < p->n_types ? &p->types[p->n_in] : NULL;
  if (t == NULL) return NULL;
  bool fits = type->kind == NXH_TENSOR && t->dtype == type->dtype && t->rank == type->rank &&
              (t->shape != NULL || t->rank == 0);
  for (int32_t i = 0; fits && i < t->rank; i++)
    fits = t->shape[i] >= 0 && nxh_extent_fits(type, i, t->shape[i]);
  if (!fits)
    nxh_fail(r, NX_INVALID_ARGUMENT, "input %u is of another type than the program says", p->n_in);
  return t->shape;
}

static bool make_inputs(nxh_recorder *r, const nxh_function *f, ports *p) {
  for (uint32_t i = 0; i < f->body.n_args; i++) {
    const nxh_type *type = nxh_type_of(r->m, f->body.first + i);
    if (type->kind == NXH_TOKEN) continue;
    if (type->kind == NXH_TENSOR && type->dtype == 0)
      return nxh_fail(r, NX_UNSUPPORTED_DTYPE,
                      "argument %u of @%.*s has elements of type %.*s, which are not supported", i,
                      (int)f->name.length, f->name.at, (int)type->text.length, type->text.at);
    const int64_t *shape = extents_of(r, p, type);
    if (r->d->status != NX_OK) return false;
    p->args[i] = nxh_is_sharded(r) ? nxh_shard_input(r, f, i) : nxh_placeholder_of(r, type, shape);
    if (p->args[i] == NULL) return false;
    nx_tensor *input = order_input(r, p, &p->args[i]);
    if (input == NULL) return false;
    p->inputs[p->n_in++] = input;
    if ((p->args[i] = nxh_cleaned(r, p->args[i], type->form)) == NULL) return false;
  }
  if (p->types != NULL && p->n_types != p->n_in)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%zu types of %u inputs", p->n_types, p->n_in);
  /* of processes that have not the same results one may need a collective that others do not */
  if (p->n_in > 0 || !(r->effects || nxh_is_sharded(r))) return true;
  return (p->inputs[p->n_in++] = nx_placeholder(r->c, r->device, NX_BOOL, NULL, 0)) != NULL;
}

static bool make_function(nxh_recorder *r, const nxh_function *f, const uint8_t *donate, ports *p,
                          nx_function **out) {
  char name[64];
  if (!make_inputs(r, f, p) || !nxh_record_body(r, f, NULL, p->args, p->results)) return false;
  for (uint32_t i = 0, at = 0; i < f->n_results; i++) {
    if (p->results[i] != NULL && !add_output(r, p, at++, p->results[i])) return false;
  }
  snprintf(name, sizeof name, "%.*s", f->name.length < 63 ? (int)f->name.length : 63, f->name.at);
  nx_function_options o = {.size = sizeof o, .name = name, .donate = donate};
  bool ok = nx_function_create(r->c, p->inputs, p->n_in, p->outputs, p->n_out, &o, out) == NX_OK;
  /* without inputs nothing is captured, and what was recorded is noted in the process's token */
  if (r->mesh != NULL && p->n_in == 0) nxh_mesh_forget(r->mesh, own_process(r));
  return ok;
}

nx_status nxh_make_function(const nxh_module *m, nx_context *c, const nx_stablehlo_options *options,
                            const nxh_function *f, nx_function **out, nxi_diag *d) {
  nxh_recorder r = {.m = m, .c = c, .device = options->device, .d = d};
  r.customs = options->customs;
  r.n_customs = options->n_customs;
  if (options->host != NULL && (r.host = nxh_host_open(&r, options->host)) == NULL)
    return d->status;
  r.mesh = options->mesh;
  r.replica = options->replica;
  r.partition = options->partition;
  size_t n = 2 * ((size_t)f->body.n_args + f->n_results) + 2;
  ports p = {.args = nxi_calloc(n, sizeof(void *)),
             .types = options->inputs,
             .n_types = options->n_inputs,
             .unwanted = options->unwanted,
             .input_orders = options->input_orders,
             .output_orders = options->output_orders};
  nx_scope *scope = nx_scope_begin(c);
  if (p.args == NULL || scope == NULL) {
    nxi_free(p.args);
    nx_scope_end(scope);
    nxh_host_release(r.host, true);
    return nxi_oom(d);
  }
  p.results = p.args + f->body.n_args;
  p.inputs = p.results + f->n_results;
  p.outputs = p.inputs + f->body.n_args + 1;
  nxh_mesh_begin(r.mesh, own_process(&r));
  r.token = nxh_mesh_token(r.mesh, own_process(&r));
  r.effects = nxh_has_effects(&r, &f->body);
  if (r.token == NULL && r.effects) r.token = nx_token(c, r.device);
  bool ok = (r.token != NULL || !r.effects) && make_function(&r, f, options->donate, &p, out);
  nxh_mesh_end(r.mesh, own_process(&r));
  nx_error e = {.size = sizeof e};
  if (!ok && d->status == NX_OK) {
    nx_error_take(&e);
    nxi_fail(d, e.status ? e.status : NX_INTERNAL, "stablehlo", "%s", e.message ? e.message : "");
  }
  if (!ok) nx_capture_end(c);
  nx_scope_end(scope);
  nxh_host_release(r.host, !ok);
  nxi_free(r.sent);
  nxi_free(p.args);
  return ok ? NX_OK : d->status;
}
