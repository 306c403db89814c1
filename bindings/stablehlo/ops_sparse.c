/* SPDX-License-Identifier: ISC */
/* The product of a sparse matrix, whose elements are listed row by row, and a dense one, which JAX
 * asks for by a call of its processor backend. Elements outside of all rows are not looked at; what
 * stands beyond the last column is multiplied by 0. Terms of a row are added in their order. */
#include "custom.h"

/* The row of each element from 1, where `ends` has the place at which each row begins, and at last
 * the end of all: 0 in front of the first row, and beyond the last one the number after its own. */
static nx_tensor *rows_of(nxh_recorder *r, nx_tensor *ends, int64_t n) {
  nx_tensor *places =
      nx_arange(r->c, r->device, nx_dtype_of(ends), NX_INTEGER(0), NX_INTEGER(1), n);
  return nx_searchsorted(ends, places, NULL, NX_AFTER_EQUAL, NX_I64);
}

/* A line beside each column of a matrix of that many; a line itself, if there is none. */
static nx_tensor *along(nx_tensor *line, int32_t rank, int64_t columns) {
  if (rank == 1 || line == NULL) return line;
  int64_t n = nx_shape(line)[0];
  nx_tensor *column = nx_reshape(line, (int64_t[]){n, 1}, 2, 0);
  return nx_expand(column, (int64_t[]){n, columns}, 2);
}

static bool fits(nx_tensor *const *in, const nx_type *out) {
  for (int i = 0; i < 3; i++)
    if (nx_rank(in[i]) != 1) return false;
  nx_dtype index = nx_dtype_of(in[1]), type = nx_dtype_of(in[0]);
  const int64_t *dense = nx_shape(in[3]);
  int32_t rank = nx_rank(in[3]);
  return rank >= 1 && rank <= 2 && rank == out->rank && nxh_has_shape(in[0], in[2]) &&
         nx_shape(in[1])[0] == out->shape[0] + 1 && (rank == 1 || dense[1] == out->shape[1]) &&
         (index == NX_I32 || index == NX_I64) && nx_dtype_of(in[2]) == index &&
         type == nx_dtype_of(in[3]) && type == out->dtype && type != NX_BOOL;
}

/* elements, where each row begins, the column of each element; the dense matrix, or vector */
static nx_tensor *product(nxh_recorder *r, nx_tensor *const *in, const nx_type *out) {
  int32_t rank = out->rank;
  int64_t n = nx_shape(in[0])[0], columns = rank == 2 ? out->shape[1] : 1, rows = out->shape[0];
  int64_t shape[2] = {rows + 2, columns}, start[2] = {1, 0}, stop[2] = {rows + 1, columns};
  nx_tensor *sums = nx_full(r->c, r->device, out->dtype, shape, rank, NX_INTEGER(0));
  if (n > 0 && columns > 0 && nx_shape(in[3])[0] > 0) {
    nx_tensor *row = along(rows_of(r, in[1], n), rank, columns);
    nx_tensor *dense = nx_gather_filled(in[3], along(in[2], rank, columns), 0, NX_INTEGER(0));
    nx_tensor *terms = nx_mul(along(in[0], rank, columns), dense);
    sums = nx_scatter(sums, row, terms, 0, NX_SCATTER_ADD, 0);
  }
  return nx_shrink(sums, start, stop, (size_t)rank);
}

bool nxh_sparse_product(nxh_recorder *r, const nxh_op *op) {
  nx_tensor *in[4];
  if (op->n_operands != 4 || op->n_results != 1)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands and %u results, not 4 and 1",
                    op->n_operands, op->n_results);
  for (uint32_t i = 0; i < 4; i++)
    if ((in[i] = nxh_in(r, op, i)) == NULL) return false;
  const nxh_type *t = nxh_result_type(r, op, 0);
  if (t->kind != NXH_TENSOR || !nxh_closed(r, op, 0)) return false;
  const nx_type out = {t->dtype, t->rank, t->shape};
  if (!fits(in, &out))
    return nxh_fail(r, NX_INVALID_ARGUMENT, "operands are no rows of a matrix and a dense one");
  return nxh_set(r, op, 0, product(r, in, &out));
}
