/* SPDX-License-Identifier: ISC */
/* Operations whose shapes are operands. Tensors have the extents of the inputs here, so what a
 * program computes of extents is known while it is recorded, and is read then; the operation is
 * that of the same name without "dynamic". */
#include "record.h"

#include <stdio.h>
#include <string.h>

#include "runtime/record/error.h"

bool nxh_known(nxh_recorder *r, nx_tensor *t, int64_t *out, uint32_t most, uint32_t *n) {
  int64_t elements = nx_elements(t);
  *n = (uint32_t)elements;
  if (elements > most) return false;
  if (elements == 0) return true;
  nx_tensor *wide = nx_cast(t, NX_I64);
  if (wide != NULL && nx_read(wide, out, (size_t)elements * sizeof *out, NULL) == NX_OK)
    return true;
  nx_error e = {.size = sizeof e};
  nx_error_take(&e); /* it depends on an input */
  (void)r;
  return false;
}

bool nxh_closed(nxh_recorder *r, const nxh_op *op, uint32_t result) {
  const nxh_type *t = nxh_result_type(r, op, result);
  for (int32_t i = 0; i < t->rank; i++)
    if (t->shape[i] < 0)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "the extent of axis %d of the result is open", i);
  return true;
}

/* Integers that an operand is. */
static bool take(nxh_recorder *r, const nxh_op *op, uint32_t operand, int64_t *out, uint32_t *n) {
  nx_tensor *t = nxh_in(r, op, operand);
  if (t == NULL) return false;
  return nxh_known(r, t, out, NX_MAX_RANK, n) ||
         nxh_fail(r, NX_INVALID_ARGUMENT,
                  "operand %u is no constant: extents have to be known when a program is recorded",
                  operand);
}

static bool take_n(nxh_recorder *r, const nxh_op *op, uint32_t operand, int64_t *out, uint32_t n) {
  uint32_t got = 0;
  return take(r, op, operand, out, &got) &&
         (got == n ||
          nxh_fail(r, NX_INVALID_ARGUMENT, "operand %u has %u entries, not %u", operand, got, n));
}

/* The extents of a result, which an operand has. */
static bool take_shape(nxh_recorder *r, const nxh_op *op, uint32_t operand, nxh_type *type,
                       int64_t shape[NX_MAX_RANK]) {
  uint32_t n = 0;
  const nxh_type *said = nxh_result_type(r, op, 0);
  if (!take(r, op, operand, shape, &n)) return false;
  *type = *said;
  type->rank = (int32_t)n;
  type->shape = shape;
  for (uint32_t i = 0; i < n; i++)
    if (shape[i] < 0) return nxh_fail(r, NX_INVALID_ARGUMENT, "axis %u has a negative extent", i);
  return said->rank == (int32_t)n ||
         nxh_fail(r, NX_INVALID_ARGUMENT, "%u extents for rank %d", n, said->rank);
}

bool nxh_dynamic_reshape(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  int64_t shape[NX_MAX_RANK] = {0};
  nxh_type t;
  nx_tensor *x = nxh_in(r, op, 0);
  return x != NULL && take_shape(r, op, 1, &t, shape) &&
         nxh_set(r, op, 0, nx_reshape(x, t.shape, t.rank, NX_MAY_COPY));
}

bool nxh_dynamic_broadcast(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  int64_t shape[NX_MAX_RANK] = {0};
  nxh_type t;
  return take_shape(r, op, 1, &t, shape) && nxh_broadcast_to(r, op, &t);
}

bool nxh_dynamic_iota(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  int64_t shape[NX_MAX_RANK] = {0};
  nxh_type t;
  return take_shape(r, op, 0, &t, shape) && nxh_iota_of(r, op, &t);
}

bool nxh_dynamic_pad(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nxh_padded p = {0};
  nx_tensor *x = nxh_in(r, op, 0);
  if (x == NULL) return false;
  uint32_t n = (uint32_t)nx_rank(x);
  return take_n(r, op, 2, p.low, n) && take_n(r, op, 3, p.high, n) &&
         take_n(r, op, 4, p.between, n) && nxh_pad_by(r, op, &p);
}

/* The operand that a sum adds to this value, if the value of the third operand is one; else it. */
static nxh_value added(nxh_recorder *r, const nxh_op *op) {
  nxh_value start = op->operands[1], stop = op->operands[2];
  const nxh_op *sum = r->frame->defs[stop - r->frame->base];
  if (sum == NULL || !nxh_word_is(sum->name, "stablehlo.add") || sum->n_operands != 2) return stop;
  return sum->operands[0] == start   ? sum->operands[1]
         : sum->operands[1] == start ? sum->operands[0]
                                     : stop;
}

/* Starts that inputs decide, and limits that are so much more: the sizes are known. */
static bool moving_slice(nxh_recorder *r, const nxh_op *op, nx_tensor *x, nx_tensor *starts) {
  int64_t sizes[NX_MAX_RANK] = {0}, step[NX_MAX_RANK] = {0};
  nx_tensor *start[NX_MAX_RANK] = {NULL}, *size = nxh_value_of(r, added(r, op));
  uint32_t n = (uint32_t)nx_rank(x), got = 0;
  if (size == NULL || !take_n(r, op, 3, step, n)) return false;
  bool ok = added(r, op) != op->operands[2] && nxh_known(r, size, sizes, NX_MAX_RANK, &got) &&
            got == n && nx_elements(starts) == n;
  for (uint32_t i = 0; ok && i < n; i++) ok = step[i] == 1;
  if (!ok)
    return nxh_fail(r, NX_INVALID_ARGUMENT,
                    "the extents are not known: starts and limits depend on elements of inputs");
  for (int64_t i = 0; i < (int64_t)n; i++)
    start[i] = nx_reshape(nx_shrink(starts, &i, (int64_t[]){i + 1}, 1), NULL, 0, NX_MAY_COPY);
  return nxh_set(r, op, 0, nx_dynamic_slice(x, start, sizes, n));
}

bool nxh_real_dynamic_slice(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  int64_t start[NX_MAX_RANK] = {0}, stop[NX_MAX_RANK] = {0}, step[NX_MAX_RANK] = {0};
  nx_tensor *x = nxh_in(r, op, 0), *starts = x != NULL ? nxh_in(r, op, 1) : NULL;
  if (starts == NULL || op->n_operands != 4)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands, not 4", op->n_operands);
  uint32_t n = (uint32_t)nx_rank(x), got = 0;
  if (!nxh_known(r, starts, start, NX_MAX_RANK, &got)) return moving_slice(r, op, x, starts);
  return take_n(r, op, 1, start, n) && take_n(r, op, 2, stop, n) && take_n(r, op, 3, step, n) &&
         nxh_slice_by(r, op, x, start, stop, step);
}

bool nxh_dynamic_gather(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  int64_t sizes[NX_MAX_RANK] = {0};
  nx_tensor *x = nxh_in(r, op, 0);
  return x != NULL && take_n(r, op, 2, sizes, (uint32_t)nx_rank(x)) && nxh_gather_of(r, op, sizes);
}

/* The padding is a table [axes, 2]. */
bool nxh_dynamic_conv(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  int64_t padding[NX_MAX_RANK] = {0}, before[NX_MAX_RANK] = {0}, after[NX_MAX_RANK] = {0};
  nx_tensor *x = nxh_in(r, op, 0);
  if (x == NULL) return false;
  uint32_t n = nx_rank(x) > 2 ? (uint32_t)nx_rank(x) - 2 : 0;
  if (2 * n > NX_MAX_RANK) return nxh_fail(r, NX_INVALID_ARGUMENT, "%u axes", n);
  if (!take_n(r, op, 2, padding, 2 * n)) return false;
  for (uint32_t i = 0; i < n; i++) before[i] = padding[2 * i], after[i] = padding[2 * i + 1];
  return nxh_convolve(r, op, before, after);
}

/* The first elements of an axis; what is behind them is of no value. */
bool nxh_set_extent(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  int64_t size = 0, start[NX_MAX_RANK] = {0}, stop[NX_MAX_RANK] = {0},
          axis = nxh_integer(op, "dimension", -1);
  nx_tensor *x = nxh_in(r, op, 0);
  if (x == NULL || !take_n(r, op, 1, &size, 1)) return false;
  if (axis < 0 || axis >= nx_rank(x) || size < 0 || size > nx_shape(x)[axis])
    return nxh_fail(r, NX_INVALID_ARGUMENT, "dimension or the size is out of range");
  for (int32_t i = 0; i < nx_rank(x); i++) stop[i] = i == axis ? size : nx_shape(x)[i];
  return nxh_set(r, op, 0, nx_shrink(x, start, stop, nx_rank(x)));
}

/* ---- custom calls that JAX exports have */

/* The message with its {0}, {1}, .. replaced by numbers. */
static void write_message(nxh_word message, const int64_t *numbers, uint32_t n, char *out,
                          size_t room) {
  size_t used = 0;
  for (uint32_t i = 0; i < message.length && used + 24 < room; i++) {
    const char *at = message.at + i;
    bool place = i + 2 < message.length && at[0] == '{' && at[2] == '}' && at[1] >= '0' &&
                 (uint32_t)(at[1] - '0') < n;
    if (place) {
      used += (size_t)snprintf(out + used, room - used, "%lld", (long long)numbers[at[1] - '0']);
      i += 2;
    } else {
      out[used++] = *at;
    }
  }
  out[used] = 0;
}

/* @shape_assertion: a constraint on extents that a program has. */
static bool check_assertion(nxh_recorder *r, const nxh_op *op) {
  int64_t holds = 0, numbers[10] = {0};
  uint32_t n = op->n_operands > 11 ? 10 : op->n_operands - (op->n_operands > 0);
  char said[300];
  if (!take_n(r, op, 0, &holds, 1)) return false;
  if (holds) return true;
  for (uint32_t i = 0; i < n; i++)
    if (!take_n(r, op, i + 1, &numbers[i], 1)) return false;
  write_message(nxh_name(op, "error_message"), numbers, n, said, sizeof said);
  return nxh_fail(r, NX_INVALID_ARGUMENT, "%s", said);
}

/* @stablehlo.dynamic_top_k: the number is an operand. */
static bool record_top_k(nxh_recorder *r, const nxh_op *op) {
  int64_t k = 0;
  nx_tensor *x = nxh_in(r, op, 0);
  return x != NULL && take_n(r, op, 1, &k, 1) && nxh_top_k_of(r, op, x, k);
}

bool nxh_dynamic_call(nxh_recorder *r, const nxh_op *op, nxh_word target, bool *ok) {
  if (nxh_word_is(target, "shape_assertion")) *ok = check_assertion(r, op);
  else if (nxh_word_is(target, "stablehlo.dynamic_top_k")) *ok = record_top_k(r, op);
  else if (nxh_word_is(target, "stablehlo.dynamic_reduce_window")) *ok = nxh_dynamic_windows(r, op);
  else if (nxh_word_is(target, "stablehlo.dynamic_rng_bit_generator")) {
    int64_t shape[NX_MAX_RANK] = {0};
    uint32_t n = 0;
    *ok = take(r, op, 1, shape, &n) && nxh_rng_of(r, op, shape, (int32_t)n);
  } else return false;
  return true;
}
