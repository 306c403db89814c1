/* SPDX-License-Identifier: ISC */
/* Symmetric parts by rotations of our own, or, where there are no loops for that, by LAPACK;
 * singular values by LAPACK's QR steps. */
#include "conquer_parts.h"

#include "rotations.h"
#include "runtime/library/blas/level3.h"
#include "runtime/library/linalg/rescale.h"

typedef void (*stedc_fn)(const char *vectors, const int *n, void *d, void *e, void *z,
                         const int *ldz, void *work, const int *lwork, int *iwork,
                         const int *liwork, int *info, size_t);
typedef void (*lasdq_fn)(const char *uplo, const int *more, const int *n, const int *ncvt,
                         const int *nru, const int *ncc, void *d, void *e, void *vt,
                         const int *ldvt, void *u, const int *ldu, void *c, const int *ldc,
                         void *work, int *info, size_t);

static bool solve_by_library(const nxi_conquer_part_arrays *at, int n) {
  const int lwork = 1 + 4 * n + n * n, liwork = 3 + 5 * n;
  int info;
  nxi_lapack_enter();
  ((stedc_fn)nxi_lapack(NXI_LAPACK_stedc, at->t))("I", &n, at->diagonal, at->beside, at->right,
                                                  &at->right_ld, at->work, &lwork, at->integers,
                                                  &liwork, &info, 1);
  nxi_lapack_leave();
  return info == 0;
}

bool nxi_conquer_symmetric_part(const nxi_conquer_part_arrays *at, int n) {
  const nxi_floats_kernels *loops = nxi_floats_kernels_for(at->t);
  double d[NXI_FLOATS_REFLECTED], e[NXI_FLOATS_REFLECTED];
  if (!loops) return solve_by_library(at, n);
  nxi_widen_values(at->t, n, at->diagonal, d);
  nxi_widen_values(at->t, n - 1, at->beside, e);
  const bool solved = nxi_rotations(loops, n, d, e, at->right, at->right_ld);
  for (int i = 0; i < n; i++) {
    if (at->t == NX_F32) ((float *)at->diagonal)[i] = (float)d[i];
    else ((double *)at->diagonal)[i] = d[i];
  }
  return solved;
}

bool nxi_conquer_singular_part(const nxi_conquer_part_arrays *at, int n) {
  const int more = 1, columns = n + 1, none = 0, one = 1;
  void *work = nxi_at(at->t, at->work, 0, columns, columns);
  int info;
  nxi_identity(at->t, columns, columns, at->work);
  for (int i = 0; i < n; i++) nxi_store_one(at->t, nxi_at(at->t, at->left, i, i, at->left_ld));
  nxi_lapack_enter();
  ((lasdq_fn)nxi_lapack(NXI_LAPACK_lasdq, at->t))("U", &more, &n, &columns, &n, &none, at->diagonal,
                                                  at->beside, at->work, &columns, at->left,
                                                  &at->left_ld, work, &one, work, &info, 1);
  nxi_lapack_leave();
  nxi_transpose(at->t, columns, columns, at->work, columns, at->right, at->right_ld, false);
  return info == 0;
}
