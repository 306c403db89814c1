/* SPDX-License-Identifier: ISC */
/* The matrix product of the node-by-node interpreter: the same library calls, on the same tiles, as a plan makes, one after the
 * other, so that both give the same bits. */
#include "plan_internal.h"

#include <pthread.h>

/* A matrix the library can read: the given one, or a dense copy in *owned. */
typedef struct operand {
  const char *base;
  bool transposed;
  int64_t ld;
  void *owned;
} operand;

static bool make_operand(nx_dtype t, int64_t rows, int64_t columns, const void *base, int64_t row,
                         int64_t column, operand *out) {
  nxg_view v = {.rank = 2, .shape = {rows, columns}, .strides = {row, column}};
  *out = (operand){.base = base};
  if (nxp_gemm_layout(&v, &out->transposed, &out->ld)) return true;
  int64_t size = nxi_dtype_size(t);
  char *copy = nxi_malloc((size_t)(rows * columns * size));
  if (copy == NULL) return false;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      nxi_store_element(copy + (i * columns + j) * size, t,
                        nxi_load_element((const char *)base + (i * row + j * column) * size, t));
  *out = (operand){copy, false, columns, copy};
  return true;
}

static const char *at(const operand *o, nx_dtype t, int64_t row, int64_t column) {
  return o->base +
         (o->transposed ? column * o->ld + row : row * o->ld + column) * nxi_dtype_size(t);
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static bool multiply_tiles(const nxi_blas *blas, nx_dtype t, const nxi_tiles *tiles, int64_t m,
                           int64_t n, int64_t k, const operand *a, const operand *b, char *c) {
  for (int64_t i = 0; i < m; i += tiles->rows)
    for (int64_t j = 0; j < n; j += tiles->columns)
      for (int64_t d = 0; d < k; d += tiles->depth)
        if ((d == 0 ? nxi_gemm : nxi_gemm_add)(
                blas, t, a->transposed, b->transposed, smaller(tiles->rows, m - i),
                smaller(tiles->columns, n - j), smaller(tiles->depth, k - d), at(a, t, i, d), a->ld,
                at(b, t, d, j), b->ld, c + (i * n + j) * nxi_dtype_size(t), n) != NX_OK)
          return false;
  return true;
}

static bool multiply(nx_dtype t, int64_t batches, int64_t m, int64_t n, int64_t k, const void *a,
                     int64_t a_row, int64_t a_column, const void *b, int64_t b_row,
                     int64_t b_column, void *c) {
  const nxi_blas *blas = nxi_blas_get(NULL);
  operand left, right;
  if (blas == NULL || !make_operand(t, m, k, a, a_row, a_column, &left)) return false;
  bool ok = make_operand(t, k, n, b, b_row, b_column, &right);
  if (ok) {
    nxi_tiles tiles = nxi_matmul_tiles(batches, m, n, k);
    ok = multiply_tiles(blas, t, &tiles, m, n, k, &left, &right, c);
    nxi_free(right.owned);
  }
  nxi_free(left.owned);
  return ok;
}

static void set_once(void) { nxg_set_matmul(multiply); }

void nxp_use_blas(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, set_once);
}
