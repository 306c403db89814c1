/* SPDX-License-Identifier: ISC */
/* The matrix product of the node-by-node interpreter. It makes the same library calls on the same
 * tiles as a plan, so that both give the same bits; it computes one matrix after the other on one
 * thread. */
#include "interp.h"

#include "ir/target.h"
#include "passes/fuse/cluster.h"
#include "ir/platform/thread.h"
#include "runtime/library/blas/blas.h"

/* A matrix that the library can read: the given one, or a dense copy in *owned. */
typedef struct operand {
  void *base;
  bool transposed;
  int64_t ld;
  void *owned;
} operand;

static bool make_operand(nx_dtype t, int64_t rows, int64_t columns, const void *base, int64_t row,
                         int64_t column, operand *out) {
  nxg_view v = {.rank = 2, .shape = {rows, columns}, .strides = {row, column}};
  *out = (operand){.base = (void *)(uintptr_t)base};
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

static nx_status multiply(nx_dtype t, int64_t batches, int64_t m, int64_t n, int64_t k,
                          const void *a, int64_t a_row, int64_t a_column, const void *b,
                          int64_t b_row, int64_t b_column, void *c, nxi_diag *d) {
  nxi_diag why;
  nxi_diag_clear(&why);
  const bool own = nxi_products_are_own();
  const nxi_blas *blas = own ? NULL : nxi_blas_get(&why);
  operand left, right;
  if (blas == NULL && !own)
    return why.status == NX_OUT_OF_MEMORY ? nxi_oom(d) : NX_DEVICE_UNAVAILABLE;
  if (!make_operand(t, m, k, a, a_row, a_column, &left)) return nxi_oom(d);
  nx_status status = NX_OUT_OF_MEMORY;
  if (make_operand(t, k, n, b, b_row, b_column, &right)) {
    nxi_matmul p = {.type = t,
                    .m = m,
                    .n = n,
                    .k = k,
                    .among = batches,
                    .a = {left.base, left.transposed, left.ld, NULL},
                    .b = {right.base, right.transposed, right.ld, NULL},
                    .c = {c, false, n, NULL}};
    status = nxi_matmul_panels(blas, NULL, NULL, &p, NULL, d);
    nxi_free(right.owned);
  } else {
    nxi_oom(d);
  }
  nxi_free(left.owned);
  return status;
}

static void set_once(void) {
  nxg_set_matmul(multiply);
  nxg_block_limit(nxi_target_host()->vector_bytes); /* NX_ISA may ask for less than there is */
}

void nxi_interpret_with_blas(void) {
  static nxi_once once = NXI_ONCE_INITIALIZER;
  nxi_once_run(&once, set_once);
}
