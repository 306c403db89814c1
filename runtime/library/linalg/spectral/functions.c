/* SPDX-License-Identifier: ISC */
/* sqrtm and logm of complex matrices: the function of the triangle of a Schur form, in double
 * precision, A = Z T Z^H and f(A) = Z f(T) Z^H. The transposed matrix has the transposed function,
 * so matrices in C order are given to LAPACK as they are. What is not finite does not converge. */
#include <string.h>

#include "runtime/library/linalg/columns.h"
#include "forms.h"
#include "runtime/library/blas/level3.h"
#include "triangles.h"

enum { MATRIX, VECTORS, WORK, VALUES, TRIANGLE, PRODUCT };

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const double n = nxi_rows(a);
  _Alignas(16) char first[16] = {0}, other[64] = {0};
  nx_status status = nxi_lapack_ready(nxg_ops[call->op].name, d);
  if (status) return status;
  nxi_batch_work(work, n > 0 ? nxi_batches(a, 2) : 0, 150 * n * n * n, 4 * n * n);
  if (n == 0) return status;
  nxi_gees(a->dtype, nxi_rows(a), other, other, other, first, -1, other);
  const double pairs = 16 / (double)nxi_dtype_size(a->dtype), all = pairs * n * n;
  const double lengths[] = {nxi_columns_room(n, n),
                            nxi_columns_room(n, n),
                            nxi_work_length(a->dtype, first) + 1,
                            n,
                            3 * all,
                            nxi_columns_room(n, n)};
  return nxi_work_state(call, work, a->dtype, lengths, 6, d);
}

/* The upper triangle, between a dtype and double precision; what is below it is 0. */
static void widen(nx_dtype t, int n, const void *from, nxi_c128 *to) {
  const float *f = from;
  const double *g = from;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      const int64_t k = (int64_t)j * n + i;
      if (i > j) to[k] = (nxi_c128){0, 0};
      else if (t == NX_C64) to[k] = (nxi_c128){f[2 * k], f[2 * k + 1]};
      else to[k] = (nxi_c128){g[2 * k], g[2 * k + 1]};
    }
}
static void narrow(nx_dtype t, int n, const nxi_c128 *from, void *to) {
  float *f = to;
  const int64_t all = (int64_t)n * n;
  if (t == NX_C128) memcpy(to, from, (size_t)all * sizeof *from);
  for (int64_t k = 0; k < all && t == NX_C64; k++) {
    f[2 * k] = (float)from[k].re;
    f[2 * k + 1] = (float)from[k].im;
  }
}

static nx_status one(const nxg_call_part *part, int64_t index) {
  const nxg_array *a = &part->call->operands[0];
  const nx_dtype t = a->dtype;
  const int n = nxi_rows(a);
  const size_t bytes = (size_t)n * (size_t)n * (size_t)nxi_dtype_size(t);
  int lwork;
  void *matrix = nxi_work_array(part, MATRIX, NULL), *vectors = nxi_work_array(part, VECTORS, NULL),
       *work = nxi_work_array(part, WORK, &lwork), *product = nxi_work_array(part, PRODUCT, NULL),
       *values = nxi_work_array(part, VALUES, NULL);
  nxi_c128 *triangle = nxi_work_array(part, TRIANGLE, NULL);
  const void *from = nxi_item(a, part->operands[0], 2, index);
  if (!nxi_all_finite(t, (int64_t)n * n, from)) return NX_NO_CONVERGENCE;
  memcpy(matrix, from, bytes);
  if (nxi_gees(t, n, matrix, values, vectors, work, lwork, product) != 0) return NX_NO_CONVERGENCE;
  widen(t, n, matrix, triangle);
  if (part->call->op == NXG_sqrtm) nxi_triangle_root(n, triangle);
  else if (!nxi_triangle_log(n, triangle, triangle + (int64_t)n * n)) return NX_SINGULAR;
  narrow(t, n, triangle, matrix);
  const nxi_factor z = {"N", vectors, n}, back = {"C", vectors, n}, f = {"N", matrix, n},
                   zf = {"N", product, n};
  nxi_product(t, n, n, n, z, f, product, n);
  nxi_product(t, n, n, n, zf, back, nxi_item(a, part->results[0], 2, index), n);
  return NX_OK;
}

static nx_status run(nxg_call_part *part) { return nxi_each_item(part, one); }

const nxg_functions nxi_matrix_functions = {prepare, run, nxi_work_release};
