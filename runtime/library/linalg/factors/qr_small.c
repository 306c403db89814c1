/* SPDX-License-Identifier: ISC */
/* qr of a small real matrix: reflections of its columns, by loops of our own that go through its
 * rows (runtime/library/floats), in copies whose rows are whole vectors. */
#include "qr_small.h"

#include <string.h>

#include "runtime/library/linalg/columns.h"

enum { MATRIX, VECTORS, TAU, Q };

/* Elements from row to row: whole vectors. */
static int stride(const nxi_floats_kernels *own, int n) {
  return (n + own->lanes - 1) / own->lanes * own->lanes;
}

nx_status nxi_qr_small_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0], *q = &call->results[0];
  const nxi_floats_kernels *own = nxi_floats_kernels_for(a->dtype);
  const double m = nxi_rows(a), least = nxi_least(nxi_rows(a), nxi_columns(a)),
               lengths[] = {m * stride(own, nxi_columns(a)), least * stride(own, nxi_rows(a)),
                            least, m * stride(own, nxi_columns(q))};
  return nxi_work_state(call, work, a->dtype, lengths, 4, d);
}

/* Copies rows of `columns` numbers. */
static void copy_rows(const nxi_floats_kernels *own, int rows, int columns, const char *from,
                      int from_ld, char *to, int to_ld) {
  for (int i = 0; i < rows; i++)
    memcpy(to + (int64_t)i * to_ld * own->size, from + (int64_t)i * from_ld * own->size,
           (size_t)columns * (size_t)own->size);
}

void nxi_qr_small(const nxg_call_part *part, int64_t index) {
  const nxg_array *a = &part->call->operands[0], *q = &part->call->results[0];
  const nxi_floats_kernels *own = nxi_floats_kernels_for(a->dtype);
  const int m = nxi_rows(a), n = nxi_columns(a), inner = nxi_columns(q), ld = stride(own, n),
            q_ld = stride(own, inner);
  char *matrix = nxi_work_array(part, MATRIX, NULL), *room = nxi_work_array(part, Q, NULL);
  const nxi_floats_triangular t = {m,
                                   n,
                                   matrix,
                                   ld,
                                   nxi_work_array(part, VECTORS, NULL),
                                   nxi_work_array(part, TAU, NULL),
                                   stride(own, m)};
  if (ld > n) memset(matrix, 0, (size_t)m * (size_t)ld * (size_t)own->size);
  copy_rows(own, m, n, nxi_item(a, part->operands[0], 2, index), n, matrix, ld);
  own->triangular(&t);
  own->orthogonal(&t, inner, room, q_ld);
  copy_rows(own, m, inner, room, q_ld, nxi_item(q, part->results[0], 2, index), inner);
  copy_rows(own, inner, n, matrix, ld,
            nxi_item(&part->call->results[1], part->results[1], 2, index), n);
}
