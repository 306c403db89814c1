/* SPDX-License-Identifier: ISC */
/* eigh, eigvalsh of a small real matrix. LAPACK's routine calls others for rows of a few vectors;
 * here the reduction to a tridiagonal matrix is a loop of our own (runtime/library/floats), and so
 * are the rotations and the reflections of its vectors. Values alone are LAPACK's. More rows are
 * divided and conquered. */
#include "eigh_small.h"

#include <math.h>
#include <string.h>

#include "conquer.h"
#include "eigh_blocked.h"
#include "rotations.h"
#include "runtime/library/blas/level3.h"
#include "runtime/library/linalg/rescale.h"

typedef void (*sterf_fn)(const int *n, void *d, void *e, int *info);
/* n numbers each: d, e, tau */
enum { MATRIX, DIAGONAL, VECTORS, WORK, INTEGERS, OWN };
enum { DIVIDED = 65 }; /* rows from which divide and conquer is faster than rotations alone */

/* Elements from row to row: whole vectors. */
static int stride(const nxi_floats_kernels *own, int n) {
  return (n + own->lanes - 1) / own->lanes * own->lanes;
}

nx_status nxi_eigh_small_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const nx_dtype t = a->dtype;
  const int n = (int)a->shape[a->rank - 1], ld = stride(nxi_floats_kernels_for(t), n);
  const double size = n;
  if (call->n_results == 1) {
    const double values[] = {size * ld, 3 * size};
    return nxi_work_state(call, work, t, values, 2, d);
  }
  const nxi_conquer c = nxi_conquer_of(t, false, n);
  const bool divided = n >= DIVIDED;
  const double all[] = {size * ld,
                        3 * size,
                        size * ld + NXI_CONQUER_MORE,
                        fmax(size * ld, divided ? (double)nxi_conquer_work(&c) : 0),
                        divided ? (double)nxi_conquer_integers(&c) : 1,
                        divided ? (double)nxi_conquer_own(&c) : 1};
  return nxi_work_state(call, work, t, all, 6, d);
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

/* Values of the tridiagonal matrix d, e. */
static bool solve_values(nx_dtype t, int n, void *d, void *e) {
  int info = 0;
  nxi_lapack_enter();
  ((sterf_fn)nxi_lapack(NXI_LAPACK_sterf, t))(&n, d, e, &info);
  nxi_lapack_leave();
  return info == 0;
}

/* Values, and vectors as rows. */
static bool conquer(const nxg_call_part *part, nx_dtype t, int n, void *d, void *e, int ld) {
  const nxi_conquer c = nxi_conquer_of(t, false, n);
  const size_t size = (size_t)nxi_dtype_size(t), row = (size_t)n * size;
  char *work = nxi_work_array(part, WORK, NULL), *vectors = nxi_work_array(part, VECTORS, NULL);
  const nxi_conquer_arrays at = {d, e, vectors, NULL, work, nxi_work_array(part, INTEGERS, NULL)};
  nxi_conquer_all(&c, &at, nxi_work_array(part, OWN, NULL));
  if (!nxi_conquer_end(&c, &at)) return false;
  const int *order = nxi_conquer_order(&c, at.integers);
  for (int i = 0; i < n; i++) memcpy(work + (size_t)i * row, vectors + (size_t)order[i] * row, row);
  for (int i = 0; i < n; i++)
    memcpy(vectors + (size_t)i * (size_t)ld * size, work + (size_t)i * row, row);
  for (int i = 0; i < n; i++)
    memcpy(work + (size_t)i * size, (char *)d + (size_t)order[i] * size, size);
  memcpy(d, work, row);
  return true;
}

static bool rotate(const nxg_call_part *part, const nxi_floats_kernels *own, nx_dtype t, int n,
                   void *d, const void *e, int ld) {
  char *vectors = nxi_work_array(part, VECTORS, NULL);
  double values[NXI_FLOATS_REFLECTED], beside[NXI_FLOATS_REFLECTED];
  nxi_widen_values(t, n, d, values);
  nxi_widen_values(t, n - 1, e, beside);
  memset(vectors, 0, (size_t)n * (size_t)ld * (size_t)own->size);
  if (!nxi_rotations(own, n, values, beside, vectors, ld)) return false;
  for (int i = 0; i < n && t == NX_F32; i++) ((float *)d)[i] = (float)values[i];
  if (t == NX_F64) memcpy(d, values, (size_t)n * sizeof *values);
  return true;
}

/* The vectors as columns of a result, where rows are made whole vectors first, in `room`. */
static void give(const nxg_call_part *part, const nxi_floats_kernels *own,
                 const nxi_floats_tridiagonal *form, nx_dtype t, char *room, char *to) {
  const int64_t n = form->n, row = n * own->size, ld = form->ld;
  char *q = ld == n ? to : room;
  if (ld > n) memset(q, 0, (size_t)(n * ld * own->size));
  nxi_transpose(t, n, n, nxi_work_array(part, VECTORS, NULL), ld, q, ld, false);
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
  if (call->n_results == 1 ? !solve_values(t, n, d, form.beside)
      : n >= DIVIDED       ? !conquer(part, t, n, d, form.beside, ld)
                           : !rotate(part, own, t, n, d, form.beside, ld))
    return NX_NO_CONVERGENCE;
  nxi_scale(t, n, d, -scale);
  nxi_widen_values(t, n, d, nxi_item(&call->results[0], part->results[0], 1, index));
  if (call->n_results > 1)
    give(part, own, &form, t, nxi_work_array(part, WORK, NULL),
         nxi_item(&call->results[1], part->results[1], 2, index));
  return NX_OK;
}
