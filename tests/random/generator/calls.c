/* SPDX-License-Identifier: ISC */
/* The random graph generator: library calls, of whatever rows library.def has. One that can fail is
 * given a matrix that it cannot fail with: which of several failures a run names is not
 * promised. */
#include <string.h>

#include "ir/library/library.h"
#include "internal.h"

static uint32_t map(nxt_generator *gen, nxg_op op, uint32_t a, uint32_t b) {
  uint32_t args[2] = {a, b};
  if (a == UINT32_MAX || b == UINT32_MAX) return UINT32_MAX;
  return nxt_try(gen, op, (uint32_t)nxg_ops[op].args, args, NULL, 0, 0, 0, NULL);
}

static uint32_t filled(nxt_generator *gen, nx_dtype t, int32_t rank, const int64_t *shape,
                       int64_t x) {
  int64_t attrs[3] = {(int64_t)nxi_cast_bits((uint64_t)x, NX_I64, nxi_part_dtype(t)), -1, 0};
  return nxt_try(gen, NXG_full, 0, NULL, attrs, 2 + nxi_is_complex(t), t, rank, shape);
}

/* Something of absolute value 1 at most, no NaN, and n more on the diagonal: far from singular, and
 * its lower triangle makes a positive definite matrix. */
static uint32_t sound_matrix(nxt_generator *gen, nx_dtype t) {
  int64_t n = nxt_below(&gen->r, nxt_chance(&gen->r, 15) ? 40 : 7), shape[3] = {1, n, n}, k = 0;
  int32_t rank = nxt_chance(&gen->r, 30) ? 3 : 2;
  if (rank == 3) shape[0] = nxt_below(&gen->r, 5);
  const int64_t *from = shape + (rank == 2);
  uint32_t x = nxt_matching(gen, t, rank, from), zero = filled(gen, t, rank, from, 0),
           eye = nxt_try(gen, NXG_eye, 0, NULL, &k, 1, t, 2, shape + 1),
           most = filled(gen, t, 2, shape + 1, n + 1);
  uint32_t number = map(gen, NXG_cmpeq, x, x), sign = map(gen, NXG_sign, x, x),
           diagonal = map(gen, NXG_mul, eye, most);
  uint32_t args[3] = {number, sign, zero};
  if (number == UINT32_MAX || sign == UINT32_MAX || zero == UINT32_MAX || diagonal == UINT32_MAX)
    return UINT32_MAX;
  uint32_t bounded = nxt_try(gen, NXG_where, 3, args, NULL, 0, 0, 0, NULL);
  nxg_view v;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxg_node_view(gen->g, diagonal, &v);
  if (nxg_view_expand(&v, rank, from, &v, &d) != NX_OK) return UINT32_MAX;
  return map(gen, NXG_add, bounded, nxt_add_view(gen, diagonal, &v));
}

/* One of a dtype and a rank that a call may take. */
static uint32_t any_operand(nxt_generator *gen) {
  uint32_t x = nxt_pick(gen);
  for (int attempt = 0; attempt < 12; attempt++) {
    const nxg_node *n = nxt_node_of(gen, x);
    bool wide = nxi_is_complex(n->dtype) || n->dtype == NX_F32 || n->dtype == NX_F64;
    if (n->rank > 0 && (wide || attempt > 6)) break;
    x = nxt_pick(gen);
  }
  return x;
}

/* Matrices of few bits: any that there are, or new ones of sizes around those of a panel. */
static uint32_t small_integers(nxt_generator *gen) {
  for (int attempt = nxt_chance(&gen->r, 30) ? 40 : 0; attempt < 40; attempt++) {
    uint32_t x = nxt_pick(gen);
    const nxg_node *n = nxt_node_of(gen, x);
    if (n->rank >= 2 && (n->dtype == NX_I8 || n->dtype == NX_U8 || n->dtype == NX_I16)) return x;
  }
  static const nx_dtype few[] = {NX_I8, NX_U8, NX_I16};
  const int64_t shape[3] = {1 + nxt_below(&gen->r, 3), nxt_below(&gen->r, 20),
                            nxt_below(&gen->r, 40)};
  const int32_t rank = nxt_chance(&gen->r, 40) ? 3 : 2;
  return nxt_matching(gen, few[nxt_below(&gen->r, 3)], rank, shape + 3 - rank);
}

/* A right side of a matrix: a vector or some columns for each of the batch. */
static uint32_t right_side(nxt_generator *gen, uint32_t matrix, int32_t vectors_in_100) {
  const nxg_node *a = nxt_node_of(gen, matrix);
  int64_t shape[NXG_MAX_RANK];
  int32_t rank = a->rank - nxt_chance(&gen->r, vectors_in_100);
  memcpy(shape, a->shape, (size_t)a->rank * sizeof *shape);
  if (rank == a->rank) shape[rank - 1] = nxt_below(&gen->r, 6);
  return nxt_matching(gen, a->dtype, rank, shape);
}

/* An operand after the first one. */
static uint32_t other_operand(nxt_generator *gen, nxg_op op, uint32_t number, uint32_t first) {
  const bool vector = number == 1 && (op == NXG_householder_product || op == NXG_ormqr ||
                                      op == NXG_cholesky_update);
  if (nxt_chance(&gen->r, op == NXG_matmul_i32 ? 50 : 12)) return first;
  return right_side(gen, first, vector ? 100 : 30);
}

/* All results of a call, or one of them. */
static uint32_t add_results(nxt_generator *gen, nxg_op op, uint32_t n_args, const uint32_t *args,
                            int64_t *attrs) {
  uint32_t n = nxg_call_attrs(op), results = nxg_call_results(op), added = UINT32_MAX,
           only = (uint32_t)nxt_below(&gen->r, results);
  bool all = nxt_chance(&gen->r, 60);
  for (uint32_t i = 0; i < results; i++) {
    if (!all && i != only) continue;
    if (results > 1) attrs[n - 1] = i;
    uint32_t node = nxt_try(gen, op, n_args, args, attrs, n, 0, 0, NULL);
    if (node != UINT32_MAX) added = node;
  }
  return added;
}

uint32_t nxt_add_call(nxt_generator *gen) {
  static const nx_dtype wide[] = {NX_F32, NX_F64, NX_C64, NX_C128};
  nxg_op op;
  do op = (nxg_op)nxt_below(&gen->r, NXG_custom); /* the last one, which needs a function */
  while (nxg_ops[op].kind != NXG_KIND_CALL);
  /* The only one of small integers, among so many of matrices. */
  if (nxt_chance(&gen->r, 8)) op = NXG_matmul_i32;
  /* They take half of the types that transforms take, and few of the attributes. */
  else if (nxt_chance(&gen->r, 15)) op = nxt_chance(&gen->r, 40) ? NXG_rfft : NXG_irfft;
  uint32_t args[NXG_CALL_OPERANDS], n = (uint32_t)nxg_ops[op].args;
  bool sound = nxg_call_fails(op) || (n > 1 && op != NXG_matmul_i32) || nxt_chance(&gen->r, 30);
  args[0] = op == NXG_matmul_i32 ? small_integers(gen)
            : sound              ? sound_matrix(gen, wide[nxt_below(&gen->r, 4)])
                                 : any_operand(gen);
  if (args[0] == UINT32_MAX) return UINT32_MAX;
  if (sound && nxt_chance(&gen->r, 40)) args[0] = nxt_read_matrix_oddly(gen, args[0]);
  if (args[0] == UINT32_MAX) return UINT32_MAX;
  for (uint32_t i = 1; i < n; i++) args[i] = other_operand(gen, op, i, args[0]);
  for (uint32_t i = 1; i < n; i++)
    if (args[i] == UINT32_MAX) return UINT32_MAX;
  for (int attempt = 0; attempt < 8; attempt++) {
    int64_t attrs[NXG_CALL_MOST_ATTRS];
    for (uint32_t i = 0; i < NXG_CALL_ATTRS + 1; i++)
      attrs[i] =
          nxt_below(&gen->r, nxt_chance(&gen->r, 70) ? 2 : nxt_node_of(gen, args[0])->rank + 2);
    if (op == NXG_banded_solve) attrs[2] = 1; /* as bands no such matrix is sound */
    uint32_t added = add_results(gen, op, n, args, attrs);
    if (added != UINT32_MAX) return added;
  }
  return UINT32_MAX;
}

/* What complex values are made of; a pass makes them otherwise. */
uint32_t nxt_add_pair(nxt_generator *gen) {
  uint32_t args[2] = {nxt_pick(gen)};
  const nxg_node *x = nxt_node_of(gen, args[0]);
  int64_t shape[NXG_MAX_RANK];
  memcpy(shape, x->shape, (size_t)x->rank * sizeof *shape);
  args[1] = nxt_matching(gen, x->dtype, x->rank, shape);
  return args[1] == UINT32_MAX ? args[1]
                               : nxt_try(gen, NXG_interleave, 2, args, NULL, 0, 0, 0, NULL);
}
