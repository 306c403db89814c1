/* SPDX-License-Identifier: ISC */
/* Calls of BLAS and LAPACK with vectors. */
#include "level2.h"

typedef void (*gemv_fn)(const char *trans, const int *m, const int *n, const void *alpha,
                        const void *a, const int *lda, const void *x, const int *incx,
                        const void *beta, void *y, const int *incy, size_t);
typedef void (*symv_fn)(const char *uplo, const int *n, const void *alpha, const void *a,
                        const int *lda, const void *x, const int *incx, const void *beta, void *y,
                        const int *incy, size_t);
typedef void (*larfg_fn)(const int *n, void *alpha, void *x, const int *incx, void *tau);
typedef void (*scal_fn)(const int *n, const void *alpha, void *x, const int *incx);

/* 1, -1, 0 */
static const void *number(nx_dtype t, int x) {
  static const double wide[3] = {0, 1, -1};
  static const float narrow[3] = {0, 1, -1};
  const int i = x < 0 ? 2 : x;
  return t == NX_F32 ? (const void *)&narrow[i] : (const void *)&wide[i];
}

void nxi_multiply_vector(nx_dtype t, const char *op, int m, int n, int alpha, const void *a, int ld,
                         nxi_vector x, int beta, nxi_vector y) {
  if (m == 0 || n == 0) return;
  ((gemv_fn)nxi_lapack(NXI_LAPACK_gemv, t))(op, &m, &n, number(t, alpha), a, &ld, x.at, &x.step,
                                            number(t, beta), y.at, &y.step, 1);
}

void nxi_multiply_symmetric(nx_dtype t, int n, const void *a, int ld, nxi_vector x, nxi_vector y) {
  ((symv_fn)nxi_lapack(NXI_LAPACK_symv, t))("U", &n, number(t, 1), a, &ld, x.at, &x.step,
                                            number(t, 1), y.at, &y.step, 1);
}

void nxi_reflection(nx_dtype t, int n, void *first, nxi_vector others, void *tau) {
  ((larfg_fn)nxi_lapack(NXI_LAPACK_larfg, t))(&n, first, others.at, &others.step, tau);
}

void nxi_scale_vector(nx_dtype t, int n, const void *by, void *x) {
  const int one = 1;
  ((scal_fn)nxi_lapack(NXI_LAPACK_scal, t))(&n, by, x, &one);
}
