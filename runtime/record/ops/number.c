/* SPDX-License-Identifier: ISC */
/* Binary operations by their number in the interface, and those of which one operand is a number.
 * */
#include "runtime/record/number.h"

#include "runtime/record/error.h"

/* A number's place among the operands. `turned`: the operation that is recorded has them the other
 * way round, and `called` is what the caller called it. */
typedef struct binary_row {
  nx_tensor *(*record)(nx_tensor *, nx_tensor *);
  uint16_t op, called;
  bool turned;
} binary_row;

static const binary_row rows[] = {
#define ROW(NUMBER, name) [NX_BINARY_##NUMBER] = {nx_##name, NXG_##name, 0, false}
#define TURNED(NUMBER, name, instead) \
  [NX_BINARY_##NUMBER] = {nx_##name, NXG_##instead, NXI_COMPOSITE_##name, true}
    ROW(ADD, add),
    ROW(SUB, sub),
    ROW(MUL, mul),
    ROW(DIV, div),
    ROW(MOD, mod),
    ROW(POW, pow),
    ROW(ATAN2, atan2),
    ROW(CMPEQ, cmpeq),
    ROW(CMPNE, cmpne),
    ROW(CMPLT, cmplt),
    ROW(CMPLE, cmple),
    TURNED(CMPGT, cmpgt, cmplt),
    TURNED(CMPGE, cmpge, cmple),
    ROW(MAX, max),
    ROW(MIN, min),
    ROW(XOR, xor),
    ROW(OR, or),
    ROW(AND, and),
    ROW(SHL, shl),
    ROW(SHR, shr),
    ROW(COMPLEX, complex),
    ROW(FLOOR_DIV, floor_div),
    ROW(FLOOR_MOD, floor_mod),
    ROW(LOGADDEXP, logaddexp),
    ROW(HYPOT, hypot),
#undef ROW
#undef TURNED
};
enum { ROWS = sizeof rows / sizeof *rows };

static const binary_row *row_of(nx_binary_op op) {
  if ((uint32_t)op < ROWS) return &rows[op];
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_INVALID_ARGUMENT, "binary", "binary: there is no operation %d", (int)op);
  nxi_error_report(&d);
  return NULL;
}

nx_tensor *nx_binary(nx_tensor *a, nx_binary_op op, nx_tensor *b) {
  const binary_row *row = row_of(op);
  return row ? row->record(a, b) : NULL;
}

/* The sentence that the operation has for this dtype. x is operand `place`. */
static nx_tensor *refuse(const binary_row *row, const nx_tensor *x, int32_t place) {
  nxi_diag d;
  nxi_diag_clear(&d);
  nxg_type type = {x->storage->dtype, x->rank, nxi_shape(x)}, types[2] = {type, type};
  nx_dtype dtype;
  int32_t rank;
  int64_t shape[NXG_MAX_RANK];
  nxg_infer(row->op, 2, types, NULL, 0, 0, &dtype, &rank, shape, &d);
  d.operand = place;
  return nxi_fail_null(&d);
}

/* The number is operand `at` of what is recorded. Apart, so that the usual way saves no registers
 * for it. */
__attribute__((noinline)) static nx_tensor *record_generally(const binary_row *row,
                                                             const nxi_number *number,
                                                             nx_dtype dtype, nx_tensor *x,
                                                             int32_t at) {
  nxi_operand o[2];
  o[at] = (nxi_operand){.rank = x->rank, .shape = nxi_shape(x)};
  o[!at] = nxi_operand_of(x);
  nxi_recording r = {.context = x->context,
                     .op = row->op,
                     .dtype = (uint8_t)dtype,
                     .device = x->storage->device,
                     .rank = x->rank,
                     .shape = nxi_shape(x),
                     .n_operands = 2,
                     .operands = o,
                     .number = number};
  return nxi_record(&r);
}

__attribute__((noinline)) static bool unusual_bits(const char *name, const nx_scalar *value,
                                                   nxi_number *number) {
  nxi_diag d;
  nxi_diag_clear(&d);
  bool good = nxi_scalar_bits(name, value, number->dtype, number->bits, &d);
  if (!good) nxi_fail_null(&d);
  return good;
}

/* The number is operand `place` of what was called, 0 or 1. */
static inline nx_tensor *record(const binary_row *row, nx_tensor *x, const nx_scalar *value,
                                int32_t place) {
  const nxg_op op = (nxg_op)row->op;
  const char *name = nxg_ops[op].name;
  if (!nxi_have_tensor(name, !place, x)) return NULL;
  nx_dtype dtype = x->storage->dtype;
  nxi_number number;
  number.dtype = dtype;
  number.called = row->op;
  number.bits[1] = 0;
  bool usual =
      value && value->kind == NX_SCALAR_F64 && nxi_usual_float(value->v.f[0], dtype, number.bits);
  if (!nxi_map_admits(op, dtype)) return refuse(row, x, !place);
  if (!usual && !unusual_bits(name, value, &number)) return NULL;
  int32_t at = place ^ row->turned;
  const nx_dtype result_dtype =
      nxg_ops[op].result == NXG_RESULT_SAME ? dtype : nxi_map_result(op, dtype);
  nx_tensor *result = nxi_record_alike_number(nxi_node_type(op, (uint32_t)result_dtype, 0), x,
                                              &number, (uint32_t)at);
  return result ? result : record_generally(row, &number, result_dtype, x, at);
}

static nx_tensor *record_with(nx_binary_op op, nx_tensor *x, const nx_scalar *value,
                              int32_t place) {
  const binary_row *row = row_of(op);
  if (!row) return NULL;
  if (!row->called) return record(row, x, value, place);
  uint16_t outer = nxi_called_begin(row->called);
  nx_tensor *result = record(row, x, value, place);
  nxi_called_end(outer);
  return result;
}

nx_tensor *nx_binary_scalar(nx_tensor *a, nx_binary_op op, const nx_scalar *b) {
  return record_with(op, a, b, 1);
}
nx_tensor *nx_scalar_binary(const nx_scalar *a, nx_binary_op op, nx_tensor *b) {
  return record_with(op, b, a, 0);
}

nx_tensor *nx_binary_f64(nx_tensor *a, nx_binary_op op, double b) {
  return record_with(op, a, NX_NUMBER(b), 1);
}
nx_tensor *nx_binary_i64(nx_tensor *a, nx_binary_op op, int64_t b) {
  return record_with(op, a, NX_INTEGER(b), 1);
}
nx_tensor *nx_f64_binary(double a, nx_binary_op op, nx_tensor *b) {
  return record_with(op, b, NX_NUMBER(a), 0);
}
nx_tensor *nx_i64_binary(int64_t a, nx_binary_op op, nx_tensor *b) {
  return record_with(op, b, NX_INTEGER(a), 0);
}

nx_tensor *nx_full_f64(nx_context *c, nx_device device, nx_dtype dtype, const int64_t *shape,
                       int32_t rank, double value) {
  return nx_full(c, device, dtype, shape, rank, NX_NUMBER(value));
}
nx_tensor *nx_full_i64(nx_context *c, nx_device device, nx_dtype dtype, const int64_t *shape,
                       int32_t rank, int64_t value) {
  return nx_full(c, device, dtype, shape, rank, NX_INTEGER(value));
}
