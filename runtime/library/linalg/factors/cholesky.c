/* SPDX-License-Identifier: ISC */
/* cholesky. Of real matrices L is computed in place by loops of our own, where there are such.
 * LAPACK stores matrices by columns, so the lower triangle of a matrix in C order is an upper
 * triangle to it, and L is computed in place, too. For U = L^H the conjugate of the lower triangle
 * is stored transposed, and LAPACK factors the lower triangle of that. */
#include <math.h>
#include <string.h>

#include "cholesky_blocked.h"
#include "runtime/library/blas/level3.h"
#include "runtime/library/floats/root.h"
#include "small_matrix.h"

typedef void (*potrf_fn)(const char *uplo, const int *n, void *a, const int *lda, int *info,
                         size_t uplo_length);

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  double n = (double)a->shape[a->rank - 1];
  nx_status status = nxi_lapack_ready("cholesky", d);
  if (!status && nxi_cholesky_is_blocked(call)) return nxi_cholesky_blocked_prepare(call, work, d);
  nxi_batch_work(work, nxi_batches_to_do(call, (int64_t)n), n * n * n / 3, 2 * n * n);
  if (nxi_floats_kernels_for(a->dtype) && !nxi_is_small_matrix(a->dtype, (int64_t)n))
    work->own_bytes = nxi_floats_root_bytes((int64_t)n);
  return status;
}

int nxi_bad_diagonal(nx_dtype t, int n, const void *a) {
  bool single = nxi_lapack_single(t);
  int64_t step = ((int64_t)n + 1) * (nxi_lapack_complex(t) ? 2 : 1);
  for (int i = 0; i < n; i++) {
    double x = single ? ((const float *)a)[i * step] : ((const double *)a)[i * step];
    if (!(x > 0 && isfinite(x))) return i + 1;
  }
  return 0;
}

/* 0, or the number of the pivot that fails, as of the next function. */
static int factor_small(nx_dtype t, bool upper, int n, const char *from, char *to) {
  _Alignas(16) char lower[NXI_SMALL_MATRIX * NXI_SMALL_MATRIX * sizeof(double)];
  char *at = upper ? lower : to;
  memcpy(at, from, (size_t)n * (size_t)n * (size_t)nxi_dtype_size(t));
  const int info = nxi_small_cholesky(t, n, at);
  nxi_zero_triangle(t, n, n, at, false);
  if (upper) nxi_transpose(t, n, n, at, n, to, n, false);
  return info ? info : nxi_bad_diagonal(t, n, to);
}

/* Writes the lower triangle of a real matrix above the diagonal, by squares. */
static void turn(nx_dtype t, int n, char *a) {
  enum { SQUARE = 16 };
  const int64_t size = nxi_dtype_size(t), row = n * size;
  for (int i = 0; i < n; i += SQUARE) {
    const int rows = n - i < SQUARE ? n - i : SQUARE;
    for (int j = 0; j < i; j += SQUARE)
      nxi_transpose(t, rows, SQUARE, a + i * row + j * size, n, a + j * row + i * size, n, false);
    for (int k = i; k < i + rows; k++)
      for (int j = i; j < k; j++)
        memcpy(a + j * row + k * size, a + k * row + j * size, (size_t)size);
  }
}

static int factor_by(const nxi_floats_kernels *own, nx_dtype t, bool upper, int n, const char *from,
                     char *to, void *room) {
  memcpy(to, from, (size_t)n * (size_t)n * (size_t)nxi_dtype_size(t));
  const int info = (int)nxi_floats_find_root(own, n, to, n, room);
  if (upper) turn(t, n, to);
  nxi_zero_triangle(t, n, n, to, upper);
  return info ? info : nxi_bad_diagonal(t, n, to);
}

static int factor(nx_dtype t, bool upper, int n, const char *from, char *to, void *room) {
  const nxi_floats_kernels *own = nxi_floats_kernels_for(t);
  if (nxi_is_small_matrix(t, n)) return factor_small(t, upper, n, from, to);
  if (own) return factor_by(own, t, upper, n, from, to, room);
  potrf_fn potrf = (potrf_fn)nxi_lapack(NXI_LAPACK_potrf, t);
  int info = 0;
  if (upper) nxi_transpose(t, n, n, from, n, to, n, true);
  else memcpy(to, from, (size_t)n * (size_t)n * (size_t)nxi_dtype_size(t));
  nxi_lapack_enter();
  potrf(upper ? "L" : "U", &n, to, &n, &info, 1);
  nxi_lapack_leave();
  nxi_zero_triangle(t, n, n, to, upper);
  return info ? info : nxi_bad_diagonal(t, n, to);
}

static nx_status one(const nxg_call_part *part, int64_t index) {
  const nxg_array *a = &part->call->operands[0];
  const int n = (int)a->shape[a->rank - 1];
  int info = 0;
  if (n > 0)
    info = factor(a->dtype, part->call->attrs[0] != 0, n, nxi_item(a, part->operands[0], 2, index),
                  nxi_item(a, part->results[0], 2, index), part->own);
  nxi_store_info(part, index, info);
  return info ? NX_NOT_POSITIVE_DEFINITE : NX_OK;
}

static nx_status run(nxg_call_part *part) {
  if (nxi_cholesky_is_blocked(part->call)) return nxi_stages_run(part->state, part);
  return nxi_each_item(part, one);
}

const nxg_functions nxi_cholesky_functions = {prepare, run, nxi_work_release};
