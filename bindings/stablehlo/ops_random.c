/* SPDX-License-Identifier: ISC */
/* Random bits. rng_bit_generator is a function of its state. */
#include "record.h"

#include <string.h>

#include "ir/dtype.h"

static nx_dtype unsigned_of(nx_dtype t) {
  size_t bits = nx_dtype_bits(t);
  return bits == 8 ? NX_U8 : bits == 16 ? NX_U16 : bits == 32 ? NX_U32 : NX_U64;
}

bool nxh_rng_of(nxh_recorder *r, const nxh_op *op, const int64_t *shape, int32_t rank) {
  nx_tensor *state = nxh_in(r, op, 0), *next, *bits;
  nxh_word algorithm = nxh_name(op, "rng_algorithm");
  if (state == NULL) return false;
  if (op->n_results != 2) return nxh_fail(r, NX_INVALID_ARGUMENT, "%u results", op->n_results);
  const nxh_type *t = nxh_result_type(r, op, 1);
  /* XLA's default on processors is Philox where the state is large enough for it. */
  nx_rng generator = nxh_word_is(algorithm, "THREE_FRY") ? NX_RNG_THREEFRY : NX_RNG_PHILOX;
  nx_dtype dtype = unsigned_of(t->dtype);
  if (nx_rng_bit_generator(state, generator, dtype, shape, rank, &next, &bits) != NX_OK)
    return false;
  if (dtype != t->dtype) bits = nx_bitcast(bits, t->dtype);
  return nxh_set(r, op, 0, next) && nxh_set(r, op, 1, bits);
}

bool nxh_rng_bits(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  if (op->n_results != 2) return nxh_fail(r, NX_INVALID_ARGUMENT, "%u results", op->n_results);
  const nxh_type *t = nxh_result_type(r, op, 1);
  return nxh_closed(r, op, 1) && nxh_rng_of(r, op, t->shape, t->rank);
}

/* Numbers without a state, which the specification leaves open: a module gives the same ones each
 * time, however it is written, others in each operation. */
bool nxh_rng(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  const nxh_type *t = nxh_result_type(r, op, 0);
  nx_tensor *a = nxh_in(r, op, 0), *b = a != NULL ? nxh_in(r, op, 1) : NULL, *x;
  if (b == NULL || !nxh_closed(r, op, 0)) return false;
  uint32_t words[2] = {0, op->first_result};
  nx_tensor *key = nx_from_data(r->c, r->device, NX_U32, NX_SHAPE(2), words, sizeof words);
  bool normal = nxh_word_is(nxh_name(op, "rng_distribution"), "NORMAL");
  if (!nxi_is_float(t->dtype))
    return nxh_fail(r, NX_UNSUPPORTED_DTYPE, "rng of integers is not supported");
  x = normal ? nx_random_normal(key, t->dtype, t->shape, t->rank)
             : nx_random_uniform(key, t->dtype, t->shape, t->rank, 0, 1);
  x = normal ? nx_add(nx_mul(x, b), a) : nx_add(nx_mul(x, nx_sub(b, a)), a);
  return nxh_set(r, op, 0, x);
}
