/* SPDX-License-Identifier: ISC */
/* eigh, eigvalsh of a small real matrix. LAPACK's routine calls others for rows of a few vectors;
 * here the reduction to a tridiagonal matrix is a loop of our own (runtime/library/floats), and so
 * are the reflections of its vectors. Divide and conquer is LAPACK's. */
#include "eigh_small.h"

#include <math.h>
#include <string.h>

#include "eigh_blocked.h"
#include "runtime/library/blas/level3.h"
#include "runtime/library/linalg/rescale.h"

typedef void (*stedc_fn)(const char *vectors, const int *n, void *d, void *e, void *z,
                         const int *ldz, void *work, const int *lwork, int *iwork,
                         const int *liwork, int *info, size_t);
typedef void (*sterf_fn)(const int *n, void *d, void *e, int *info);
/* n numbers each: d, e, tau */
enum { MATRIX, DIAGONAL, VECTORS, WORK, INTEGERS };

/* Elements from row to row: whole vectors. */
static int stride(const nxi_floats_kernels *own, int n) {
  return (n + own->lanes - 1) / own->lanes * own->lanes;
}

nx_status nxi_eigh_small_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const nx_dtype t = a->dtype;
  const int n = (int)a->shape[a->rank - 1], ld = stride(nxi_floats_kernels_for(t), n);
  const double size = n, solving = 1 + 4 * size + size * size;
  if (call->n_results == 1) {
    const double values[] = {size * ld, 3 * size};
    return nxi_work_state(call, work, t, values, 2, d);
  }
  const double all[] = {size * ld, 3 * size, size * size, fmax(solving, size * ld), 3 + 5 * size};
  return nxi_work_state(call, work, t, all, 5, d);
}

/* Both triangles of the matrix whose lower one is given; rows are `ld` apart, and zeros in between.
 */
static void take(nx_dtype t, int n, int ld, const char *from, char *a) {
  const int64_t size = nxi_dtype_size(t);
  for (int i = 0; i < n; i++) {
    char *row = a + i * ld * size;
    memcpy(row, from + i * n * size, (size_t)((i + 1) * size));
    memset(row + n * size, 0, (size_t)((ld - n) * size));
    for (int j = 0; j < i && t == NX_F32; j++)
      ((float *)(void *)a)[j * ld + i] = ((float *)(void *)row)[j];
    for (int j = 0; j < i && t == NX_F64; j++)
      ((double *)(void *)a)[j * ld + i] = ((double *)(void *)row)[j];
  }
}

/* Values and vectors of the tridiagonal matrix d, e. */
static int solve(const nxg_call_part *part, nx_dtype t, int n, void *d, void *e) {
  int info = 0, lwork, liwork;
  nxi_lapack_enter();
  if (part->call->n_results == 1) {
    ((sterf_fn)nxi_lapack(NXI_LAPACK_sterf, t))(&n, d, e, &info);
  } else {
    char *work = nxi_work_array(part, WORK, &lwork);
    int *integers = nxi_work_array(part, INTEGERS, &liwork);
    ((stedc_fn)nxi_lapack(NXI_LAPACK_stedc, t))("I", &n, d, e, nxi_work_array(part, VECTORS, NULL),
                                                &n, work, &lwork, integers, &liwork, &info, 1);
  }
  nxi_lapack_leave();
  return info;
}

/* The vectors as columns of a result, where rows are made whole vectors first, in `room`. */
static void give(const nxg_call_part *part, const nxi_floats_kernels *own,
                 const nxi_floats_tridiagonal *form, nx_dtype t, char *room, char *to) {
  const int64_t n = form->n, row = n * own->size, ld = form->ld;
  char *q = ld == n ? to : room;
  if (ld > n) memset(q, 0, (size_t)(n * ld * own->size));
  nxi_transpose(t, n, n, nxi_work_array(part, VECTORS, NULL), n, q, ld, false);
  own->reflected(form, n, q, ld);
  for (int64_t i = 0; i < n && q != to; i++)
    memcpy(to + i * row, q + i * ld * own->size, (size_t)row);
}

nx_status nxi_eigh_small(const nxg_call_part *part, int64_t index) {
  const nxg_call *call = part->call;
  const nxg_array *array = &call->operands[0];
  const nx_dtype t = array->dtype;
  const nxi_floats_kernels *own = nxi_floats_kernels_for(t);
  const int n = (int)array->shape[array->rank - 1], ld = stride(own, n);
  const char *from = nxi_item(array, part->operands[0], 2, index);
  char *a = nxi_work_array(part, MATRIX, NULL), *d = nxi_work_array(part, DIAGONAL, NULL);
  if (!nxi_lower_is_finite(t, n, from)) return NX_NO_CONVERGENCE;
  take(t, n, ld, from, a);
  const int scale = nxi_scale_for(t, nxi_largest(t, (int64_t)n * ld, a));
  nxi_scale(t, (int64_t)n * ld, a, scale);
  const nxi_floats_tridiagonal form = {
      n, a, ld, d, nxi_at(t, d, n, 0, 1), nxi_at(t, d, 2 * n, 0, 1)};
  own->tridiagonal(&form);
  if (solve(part, t, n, d, form.beside)) return NX_NO_CONVERGENCE;
  nxi_scale(t, n, d, -scale);
  nxi_widen_values(t, n, d, nxi_item(&call->results[0], part->results[0], 1, index));
  if (call->n_results > 1)
    give(part, own, &form, t, nxi_work_array(part, WORK, NULL),
         nxi_item(&call->results[1], part->results[1], 2, index));
  return NX_OK;
}
