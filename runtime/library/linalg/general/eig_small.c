/* SPDX-License-Identifier: ISC */
/* eig of a small real matrix, as of a large one (eig_blocked.h), but that reflections are applied
 * one after the other, to rows of whole vectors, and the Schur form is that of one block. */
#include "eig_small.h"

#include <string.h>

#include "bulges.h"
#include "runtime/library/blas/level3.h"
#include "vectors.h"

enum { MATRIX, VECTORS, REFLECTIONS, ROOM, NUMBERS, FLIPPED };

_Static_assert((int)NXI_EIG_BLOCKED <= (int)NXI_FLOATS_REFLECTED, "loops have room for all rows");

/* Elements from column to column: whole vectors. */
static int stride(int n) {
  const int lanes = nxi_floats_kernels_for(NX_F64)->lanes;
  return (n + lanes - 1) / lanes * lanes;
}
/* The same of reflections, which begin one element later. */
static int reflections_stride(int n) { return stride(n) + nxi_floats_kernels_for(NX_F64)->lanes; }

nx_status nxi_eig_small_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const int n = (int)a->shape[a->rank - 1];
  const bool vectors = call->n_results > 1, left = call->op == NXG_eig_left;
  const double square = (double)n * stride(n),
               room = square > (double)nxi_vectors_own(n) ? square : (double)nxi_vectors_own(n),
               all[] = {square,
                        vectors ? square : 1,
                        (double)n * reflections_stride(n),
                        vectors ? room : 1,
                        6.0 * n, /* of values, scales, and reflections */
                        left ? square : 1};
  return nxi_work_state(call, work, NX_F64, all, 6, d);
}

/* Q by columns, from its reflections; it is made by rows first. */
static void form(const nxi_floats_hessenberg *h, double *room, double *z) {
  const nxi_floats_kernels *own = nxi_floats_kernels_for(NX_F64);
  const int n = (int)h->n, ld = (int)h->ld;
  memset(z, 0, (size_t)n * (size_t)ld * sizeof *z);
  z[0] = 1;
  if (n == 1) return;
  const nxi_floats_triangular t = {n - 1, n - 1, NULL, ld, h->v, h->tau, h->v_ld};
  own->orthogonal(&t, n - 1, room, ld);
  nxi_transpose(NX_F64, n - 1, n - 1, room, ld, z + ld + 1, ld, false);
}

static void write_vectors(const nxg_call_part *part, int64_t index, uint32_t result, bool left,
                          const nxi_triangle *t, const nxi_balance *balance) {
  double *to = nxi_item(&part->call->results[result], part->results[result], 2, index),
         *z = nxi_work_array(part, VECTORS, NULL), *room = nxi_work_array(part, ROOM, NULL);
  for (int i = 0; i < nxi_vectors_panels(t->n); i++)
    nxi_vectors_panel_of(t, i, left, z, t->ld, balance, room, to);
}

nx_status nxi_eig_small(const nxg_call_part *part, int64_t index) {
  const nxg_call *call = part->call;
  const nxg_array *array = &call->operands[0];
  const bool vectors = call->n_results > 1, left = call->op == NXG_eig_left;
  const int n = (int)array->shape[array->rank - 1], ld = stride(n);
  const double *from = nxi_item(array, part->operands[0], 2, index);
  double *a = nxi_work_array(part, MATRIX, NULL), *values = nxi_work_array(part, NUMBERS, NULL),
         *scale = values + 4 * n, *z = vectors ? nxi_work_array(part, VECTORS, NULL) : NULL;
  int low, high;
  if (!nxi_all_finite(NX_F64, (int64_t)n * n, from)) return NX_NO_CONVERGENCE;
  memset(a, 0, (size_t)n * (size_t)ld * sizeof *a);
  nxi_transpose(NX_F64, n, n, from, n, a, ld, false);
  const int power = nxi_balance_matrix(n, a, ld, &low, &high, scale);
  const nxi_floats_hessenberg h = {n,         low,
                                   high,      a,
                                   ld,        nxi_work_array(part, REFLECTIONS, NULL),
                                   scale + n, reflections_stride(n)};
  nxi_floats_kernels_for(NX_F64)->hessenberg(&h);
  if (vectors) form(&h, nxi_work_array(part, ROOM, NULL), z);
  nxi_lapack_enter();
  const bool done = nxi_block_schur(n, a, ld, z, n, ld);
  nxi_lapack_leave();
  if (!done) return NX_NO_CONVERGENCE;
  nxi_block_values(n, a, ld, values, values + n);
  nxi_values_write(n, values, -power, nxi_item(&call->results[0], part->results[0], 1, index));
  const nxi_balance balance = {n, low, high, scale};
  const nxi_triangle t = {n, ld, a, values, values + n};
  if (vectors) write_vectors(part, index, left ? 2 : 1, false, &t, &balance);
  if (!left) return NX_OK;
  double *flipped = nxi_work_array(part, FLIPPED, NULL);
  for (int i = 0; i < n; i += NXI_VECTORS_PANEL) nxi_vectors_flip(n, ld, a, i, flipped);
  nxi_values_flip(n, values);
  const nxi_triangle other = {n, ld, flipped, values + 2 * n, values + 3 * n};
  write_vectors(part, index, 1, true, &other, &balance);
  return NX_OK;
}
