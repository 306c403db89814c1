/* SPDX-License-Identifier: ISC */
/* banded_solve: A x = b, of A the diagonals, as rows: row `after` + i - j of operand 0 has element
 * (i, j) of A in column j. Elements that are outside of A are not read. With one diagonal on each
 * side LAPACK has a routine of its own. */
#include <string.h>

#include "runtime/library/linalg/columns.h"

typedef void (*gbsv_fn)(const int *n, const int *kl, const int *ku, const int *nrhs, void *ab,
                        const int *ldab, int *pivots, void *b, const int *ldb, int *info);
typedef void (*gtsv_fn)(const int *n, const int *nrhs, void *below, void *diagonal, void *above,
                        void *b, const int *ldb, int *info);

enum { BEFORE, AFTER }; /* attributes: how many diagonals are below the main one, and above it */
enum { BANDS, SIDES, PIVOTS };

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *b = &call->operands[1];
  const double n = nxi_rows(b), k = nxi_columns(b), below = (double)call->attrs[BEFORE],
               width = below + (double)call->attrs[AFTER] + 1;
  nx_status status = nxi_lapack_ready("banded_solve", d);
  if (status) return status;
  nxi_batch_work(work, n > 0 ? nxi_batches(b, 2) : 0, 2 * n * width * (below + 1 + 2 * k),
                 n * (width + k));
  const double lengths[] = {(width + below) * n, nxi_columns_room(n, k), n};
  return nxi_work_state(call, work, b->dtype, lengths, 3, d);
}

/* Writes the diagonals by columns, from row `first` of `ld` on, with zeros outside of A. */
static void lay_out(const nxg_call_part *part, int64_t index, int first, int ld, char *to) {
  const nxg_array *a = &part->call->operands[0];
  const int rows = nxi_rows(a), n = nxi_columns(a), above = (int)part->call->attrs[AFTER];
  const size_t size = (size_t)nxi_dtype_size(a->dtype);
  const char *from = nxi_item(a, part->operands[0], 2, index);
  memset(to, 0, (size_t)ld * (size_t)n * size);
  for (int r = 0; r < rows; r++)
    for (int j = 0; j < n; j++) {
      const int64_t i = (int64_t)j + r - above;
      if (i < 0 || i >= n) continue;
      memcpy(to + ((size_t)j * (size_t)ld + (size_t)(first + r)) * size,
             from + ((size_t)r * (size_t)n + (size_t)j) * size, size);
    }
}

/* By Gaussian elimination with partial pivoting; x holds b. */
static int solve_bands(const nxg_call_part *part, int64_t index, int n, int k, void *x) {
  int below = (int)part->call->attrs[BEFORE], above = (int)part->call->attrs[AFTER],
      ld = 2 * below + above + 1, info = 0;
  const nx_dtype t = part->call->operands[0].dtype;
  char *bands = nxi_work_array(part, BANDS, NULL);
  lay_out(part, index, below, ld, bands);
  nxi_lapack_enter();
  ((gbsv_fn)nxi_lapack(NXI_LAPACK_gbsv, t))(&n, &below, &above, &k, bands, &ld,
                                            nxi_work_array(part, PIVOTS, NULL), x, &n, &info);
  nxi_lapack_leave();
  return info;
}

static int solve_tridiagonal(const nxg_call_part *part, int64_t index, int n, int k, void *x) {
  const nxg_array *a = &part->call->operands[0];
  const size_t row = (size_t)n * (size_t)nxi_dtype_size(a->dtype);
  char *bands = nxi_work_array(part, BANDS, NULL);
  int info = 0;
  memcpy(bands, nxi_item(a, part->operands[0], 2, index), 3 * row);
  nxi_lapack_enter(); /* what is above begins with an element outside of A */
  ((gtsv_fn)nxi_lapack(NXI_LAPACK_gtsv, a->dtype))(&n, &k, bands + 2 * row, bands + row,
                                                   bands + nxi_dtype_size(a->dtype), x, &n, &info);
  nxi_lapack_leave();
  return info;
}

static nx_status one(const nxg_call_part *part, int64_t index) {
  const nxg_array *b = &part->call->operands[1];
  const int n = nxi_rows(b), k = nxi_columns(b);
  void *x = nxi_work_array(part, SIDES, NULL);
  const bool three = part->call->attrs[BEFORE] == 1 && part->call->attrs[AFTER] == 1;
  nxi_take_columns(part, 1, index, x);
  const int info =
      three ? solve_tridiagonal(part, index, n, k, x) : solve_bands(part, index, n, k, x);
  if (info > 0) return NX_SINGULAR;
  nxi_give_columns(part, 0, index, x);
  return NX_OK;
}

static nx_status run(nxg_call_part *part) { return nxi_each_item(part, one); }

const nxg_functions nxi_banded_functions = {prepare, run, nxi_work_release};
