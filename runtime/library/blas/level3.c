/* SPDX-License-Identifier: ISC */
/* Products and triangular systems, divided into pieces between which the caller's poll is
 * called. */
#include "level3.h"

#include <string.h>

#include "rooms.h"
#include "runtime/library/floats/multiply.h"
#include "runtime/library/floats/triangle.h"

typedef void (*gemm_fn)(const char *trans_a, const char *trans_b, const int *m, const int *n,
                        const int *k, const void *alpha, const void *a, const int *lda,
                        const void *b, const int *ldb, const void *beta, void *c, const int *ldc,
                        size_t, size_t);
typedef void (*trsm_fn)(const char *side, const char *uplo, const char *trans, const char *diag,
                        const int *m, const int *n, const void *alpha, const void *a,
                        const int *lda, void *b, const int *ldb, size_t, size_t, size_t, size_t);

enum {
  LEAST_PIECE = 64, /* least rows of a piece of a product */
  WIDE = 8 /* rows of a block of the instruction set whose loops are faster than the library's */
};
static const double piece_flops = 3e8; /* some 10 ms */

/* 1, -1, 0 */
static const void *number(nx_dtype t, int which) {
  static const double wide[3][2] = {{1, 0}, {-1, 0}, {0, 0}};
  static const float narrow[3][2] = {{1, 0}, {-1, 0}, {0, 0}};
  return nxi_lapack_single(t) ? (const void *)narrow[which] : (const void *)wide[which];
}

/* The rows of a piece of a product. */
static int piece_of(nx_dtype t, int m, int n, int k) {
  double row = (nxi_lapack_complex(t) ? 8.0 : 2.0) * n * k;
  if (row * m <= piece_flops) return m;
  int rows = (int)(piece_flops / row) / LEAST_PIECE * LEAST_PIECE;
  return rows > LEAST_PIECE ? rows : LEAST_PIECE;
}

bool nxi_subtract_product(const nxg_call_part *part, nx_dtype t, int m, int n, int k, nxi_factor a,
                          nxi_factor b, void *c, int ld) {
  if (m == 0 || n == 0 || k == 0) return true;
  const int most = piece_of(t, m, n, k);
  for (int row = 0; row < m; row += most) {
    const int rows = m - row < most ? m - row : most;
    const bool plain = *a.op == 'N';
    if (row > 0 && nxi_told_to_stop(part)) return false;
    nxi_lapack_enter();
    ((gemm_fn)nxi_lapack(NXI_LAPACK_gemm, t))(
        a.op, b.op, &rows, &n, &k, number(t, 1),
        nxi_at(t, a.at, plain ? row : 0, plain ? 0 : row, a.ld), &a.ld, b.at, &b.ld, number(t, 0),
        nxi_at(t, c, row, 0, ld), &ld, 1, 1);
    nxi_lapack_leave();
  }
  return true;
}

/* C = a b by loops of our own. Stored by rows, what is stored by columns is transposed. */
static void multiply(const nxi_floats_kernels *own, int m, int n, int k, const nxi_factor *a,
                     const nxi_factor *b, void *c, int ld) {
  const nxi_floats_product p = {.m = n,
                                .n = m,
                                .k = k,
                                .a = b->at,
                                .b = a->at,
                                .a_transposed = *b->op != 'N',
                                .b_transposed = *a->op != 'N',
                                .a_ld = b->ld,
                                .b_ld = a->ld,
                                .c = c,
                                .c_ld = ld};
  void *room = nxi_floats_wants_room(own, &p) ? nxi_room_take() : NULL;
  nxi_floats_multiply(own, &p, room);
  nxi_room_give(room);
}

void nxi_product(nx_dtype t, int m, int n, int k, nxi_factor a, nxi_factor b, void *c, int ld) {
  const nxi_floats_kernels *own = nxi_floats_kernels_for(t);
  if (m == 0 || n == 0) return;
  if (own && own->rows == WIDE) {
    multiply(own, m, n, k, &a, &b, c, ld);
    return;
  }
  nxi_lapack_enter();
  ((gemm_fn)nxi_lapack(NXI_LAPACK_gemm, t))(a.op, b.op, &m, &n, &k, number(t, 0), a.at, &a.ld, b.at,
                                            &b.ld, number(t, 2), c, &ld, 1, 1);
  nxi_lapack_leave();
}

void nxi_triangular(nx_dtype t, const char *side, const char *uplo, const char *trans,
                    const char *diag, int m, int n, const void *a, int lda, void *b, int ldb) {
  if (m == 0 || n == 0) return;
  nxi_lapack_enter();
  ((trsm_fn)nxi_lapack(NXI_LAPACK_trsm, t))(side, uplo, trans, diag, &m, &n, number(t, 0), a, &lda,
                                            b, &ldb, 1, 1, 1, 1);
  nxi_lapack_leave();
}

/* X op(A) = B for loops of our own. Stored by rows, what is stored by columns is transposed. */
static nxi_floats_system system_of(const nxg_call_part *part, const char *uplo, const char *trans,
                                   const char *diag, int m, int n, const void *a, int lda, void *b,
                                   int ldb) {
  const bool plain = *trans == 'N';
  return (nxi_floats_system){.n = n,
                             .columns = m,
                             .a = a,
                             .a_ld = lda,
                             .lower = (*uplo == 'U') == plain,
                             .a_transposed = !plain,
                             .unit = *diag == 'U',
                             .x = b,
                             .x_ld = ldb,
                             .stopped = part ? part->stopped : NULL,
                             .user = part ? part->user : NULL};
}

static bool solve_right_by(const nxi_floats_kernels *own, const nxi_floats_system *before,
                           const nxi_floats_system *system) {
  void *room = system->n > NXI_FLOATS_TRIANGLE ? nxi_room_take() : NULL;
  const bool goes_on = nxi_floats_solve_both(own, before, system, room);
  nxi_room_give(room);
  return goes_on;
}

/* Computes blocks of columns of X one after the other; the contribution of the earlier ones is a
 * product. The library's loops for triangles have half the speed of those for products, which are
 * worth calling for few columns if there are few rows to go through again. */
bool nxi_solve_right(const nxg_call_part *part, nx_dtype t, const char *uplo, const char *trans,
                     const char *diag, int m, int n, const void *a, int lda, void *b, int ldb) {
  const bool plain = *trans == 'N', forward = (*uplo == 'U') == plain;
  const nxi_floats_kernels *own = nxi_floats_kernels_for(t);
  const nxi_floats_system system = system_of(part, uplo, trans, diag, m, n, a, lda, b, ldb);
  if (own) return solve_right_by(own, NULL, &system);
  const int block = n > 512 ? 128 : 32, blocks = (n + block - 1) / block;
  for (int i = 0; i < blocks; i++) {
    const int at = (forward ? i : blocks - 1 - i) * block, width = n - at < block ? n - at : block;
    const int known = forward ? 0 : at + width, count = forward ? at : n - known;
    if (i > 0 && nxi_told_to_stop(part)) return false;
    const nxi_factor x = {"N", nxi_at(t, b, 0, known, ldb), ldb},
                     y = {trans, nxi_at(t, a, plain ? known : at, plain ? at : known, lda), lda};
    if (!nxi_subtract_product(part, t, m, width, count, x, y, nxi_at(t, b, 0, at, ldb), ldb))
      return false;
    nxi_triangular(t, "R", uplo, trans, diag, m, width, nxi_at(t, a, at, at, lda), lda,
                   nxi_at(t, b, 0, at, ldb), ldb);
  }
  return true;
}

static void copy_rows(nx_dtype t, int m, int n, const void *from, int from_ld, void *b, int ldb) {
  for (int j = 0; j < n && from != b; j++)
    memcpy(nxi_at(t, b, 0, j, ldb), nxi_at(t, from, 0, j, from_ld),
           (size_t)m * (size_t)nxi_dtype_size(t));
}

bool nxi_solve_right_from(const nxg_call_part *part, nx_dtype t, const char *uplo,
                          const char *trans, const char *diag, int m, int n, const void *a, int lda,
                          const void *from, int from_ld, void *b, int ldb) {
  const nxi_floats_kernels *own = nxi_floats_kernels_for(t);
  if (own) {
    nxi_floats_system system = system_of(part, uplo, trans, diag, m, n, a, lda, b, ldb);
    system.b = from;
    system.b_ld = from_ld;
    return solve_right_by(own, NULL, &system);
  }
  copy_rows(t, m, n, from, from_ld, b, ldb);
  return nxi_solve_right(part, t, uplo, trans, diag, m, n, a, lda, b, ldb);
}

/* m columns of the transposed unit matrix, from its row `first` on. */
static void fill_unit(nx_dtype t, int m, int n, int first, void *b, int ldb) {
  const size_t size = (size_t)nxi_dtype_size(t), column = (size_t)ldb * size;
  for (int j = 0; j < n; j++) memset((char *)b + (size_t)j * column, 0, (size_t)m * size);
  for (int i = 0; i < m; i++) nxi_store_one(t, nxi_at(t, b, i, first + i, ldb));
}

bool nxi_solve_right_lu(const nxg_call_part *part, nx_dtype t, int m, int n, const void *a, int lda,
                        const void *from, int from_ld, void *b, int ldb, int one) {
  const int first = one < 0 ? 0 : one; /* what is left of it stays zero */
  const void *corner = nxi_at(t, a, first, first, lda);
  void *rest = nxi_at(t, b, 0, first, ldb);
  const nxi_floats_kernels *own = nxi_floats_kernels_for(t);
  if (own) {
    const nxi_floats_system upper =
        system_of(part, "U", "N", "N", m, n - first, corner, lda, rest, ldb);
    nxi_floats_system lower = system_of(part, "L", "N", "U", m, n, a, lda, b, ldb);
    lower.of_unit = one >= 0;
    lower.one = first;
    lower.b = from;
    lower.b_ld = from_ld;
    return solve_right_by(own, &upper, &lower);
  }
  if (one >= 0) fill_unit(t, m, n, one, b, ldb);
  else if (from) copy_rows(t, m, n, from, from_ld, b, ldb);
  return nxi_solve_right(part, t, "U", "N", "N", m, n - first, corner, lda, rest, ldb) &&
         nxi_solve_right(part, t, "L", "N", "U", m, n, a, lda, b, ldb);
}
