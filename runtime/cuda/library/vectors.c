/* SPDX-License-Identifier: ISC */
/* eigh, eigvalsh, eig, eigvals, svd, qr on a GPU through cuSOLVER, for which a matrix in C order is
 * the transposed one. A matrix that is not finite is reported as no convergence, and the library
 * gets zeros instead of it. */
#include "ir/alloc.h"
#include "linalg.h"

static bool takes(nxi_gpu *g, const nxg_call *call) {
  bool ours =
      call->op == NXG_eigh || call->op == NXG_eigvalsh || call->op == NXG_svd || call->op == NXG_qr;
  (void)g;
  const nxg_array *a = &call->operands[0];
  if (call->op == NXG_eig || call->op == NXG_eigvals) return nxi_cusolver_has_eig();
  if (call->op == NXG_qr) {
    int64_t m = a->shape[a->rank - 2], n = a->shape[a->rank - 1];
    if (nxi_linalg_is_own(m > n ? m : n, nxg_elements(a->rank - 2, a->shape))) return true;
  }
  return ours && nxi_cusolver_missing() == NULL;
}

static const char *lacks(const nxg_call *call) {
  if (call->op == NXG_eig || call->op == NXG_eigvals) return nxi_cusolver_lacks_eig();
  bool uses =
      call->op == NXG_eigh || call->op == NXG_eigvalsh || call->op == NXG_svd || call->op == NXG_qr;
  return uses ? nxi_cusolver_missing() : NULL;
}

/* Flags the matrices of operand 0 that are not finite, and copies operand 0 with zeros instead of
 * them. */
static void take(nxi_linalg_run *run, uint64_t to, int lower) {
  const nxi_linalg *l = run->l;
  int64_t count = l->count, m = l->m, n = l->n;
  uint64_t a = run->r->operands[0];
  NXI_LINALG_START(run, flag, count * m * n, &a, &run->flags, &count, &m, &n, &lower);
  NXI_LINALG_START(run, take, count * m * n, &a, &to, &run->flags, &count, &m, &n, &lower);
}

/* The address where cuSOLVER writes real numbers. Results are f64, so f32 values go to scratch
 * memory, and widen converts them. */
static uint64_t values_at(const nxi_linalg_run *run, uint64_t result, int piece) {
  return run->l->part == NX_F64 ? result : run->piece[piece];
}
static void widen(nxi_linalg_run *run, uint64_t result, int piece, int64_t n) {
  uint64_t from = run->piece[piece];
  if (run->l->part != NX_F64) NXI_LINALG_START(run, to_double, n, &from, &result, &n);
}

/* ---- eigh. The lower triangle is the upper triangle of the transposed matrix, which is the
 * conjugate of A: it has the same values, and conjugate vectors, one in each column. */

enum { VALUES, MATRIX, LEFT, RIGHT };

/* Requests the kernels that take and widen use. */
static void need_copies(nxi_linalg *l) {
  NXI_LINALG_NEED(l, flag, true);
  NXI_LINALG_NEED(l, take, true);
  NXI_LINALG_NEED(l, to_double, l->part != NX_F64);
}

static void prepare_eigh(nxi_linalg *l, bool vectors) {
  nxi_linalg_piece(l, VALUES, l->n, 4);
  nxi_linalg_piece(l, MATRIX, l->n * l->n, nxi_dtype_size(l->dtype));
  need_copies(l);
  NXI_LINALG_NEED(l, adjoint, vectors);
}

static nx_status run_eigh(nxi_linalg_run *run) {
  const nxi_linalg *l = run->l;
  bool vectors = run->r->call->op == NXG_eigh;
  uint64_t a = run->piece[MATRIX], values = run->r->results[0];
  int64_t n = l->n;
  if (n == 0) return NX_OK;
  take(run, a, 1);
  nxi_cusolver_job job = nxi_linalg_job(run, a, n, n);
  if (run->status == NX_OK)
    run->status = nxi_cusolver_eigh(&job, vectors, values_at(run, values, VALUES), run->d);
  widen(run, values, VALUES, l->count * n);
  if (vectors) nxi_linalg_turn(run, NXI_ARRAYS_adjoint, a, run->r->results[1], n, n, n * n, n * n);
  return nxi_linalg_end(run, NX_NO_CONVERGENCE);
}

/* ---- eig. The library gets A itself, transposed to column-major order. Results are c128. */

static void prepare_eig(nxi_linalg *l, bool vectors) {
  int64_t size = nxi_dtype_size(l->dtype);
  nxi_linalg_piece(l, MATRIX, l->n * l->n, size);
  nxi_linalg_piece(l, LEFT, l->n * l->n, size);
  nxi_linalg_piece(l, RIGHT, vectors ? l->n * l->n : 1, size);
  need_copies(l);
  NXI_LINALG_NEED(l, transpose, true);
  NXI_LINALG_NEED(l, join, vectors && l->dtype == l->part);
}

static nx_status run_eig(nxi_linalg_run *run) {
  const nxi_linalg *l = run->l;
  bool vectors = run->r->call->op == NXG_eig;
  uint64_t a = run->piece[LEFT], v = run->piece[RIGHT], values = run->r->results[0], to;
  int64_t n = l->n, count = l->count;
  if (n == 0) return NX_OK;
  take(run, run->piece[MATRIX], 0);
  nxi_linalg_turn(run, NXI_ARRAYS_transpose, run->piece[MATRIX], a, n, n, n * n, n * n);
  nxi_cusolver_job job = nxi_linalg_job(run, a, n, n);
  if (run->status == NX_OK) run->status = nxi_cusolver_eig(&job, vectors, values, v, run->d);
  if (vectors && l->dtype != l->part)
    nxi_linalg_turn(run, NXI_ARRAYS_transpose, v, run->r->results[1], n, n, n * n, n * n);
  else if (vectors) {
    to = run->r->results[1];
    NXI_LINALG_START(run, join, count * n * n, &v, &values, &to, &count, &n);
  }
  return nxi_linalg_end(run, NX_NO_CONVERGENCE);
}

/* ---- svd. The transposed matrix A^T = U' S V'^H has the transposed vectors: V^H = U'^T, and U is
 * the conjugate of V', which is V'^H in column-major order when it is read in C order */

static bool is_small(const nxi_linalg *l) {
  return l->count > 1 && l->m <= NXI_CUSOLVER_SMALL && l->n <= NXI_CUSOLVER_SMALL;
}

static void prepare_svd(nxi_linalg *l, bool full) {
  int64_t size = nxi_dtype_size(l->dtype), least = l->m < l->n ? l->m : l->n;
  bool small = is_small(l), tall = l->m > l->n && !small;
  NXI_LINALG_NEED(l, identity, least == 0);
  if (least == 0) return;
  nxi_linalg_piece(l, VALUES, least, 4);
  nxi_linalg_piece(l, MATRIX, l->m * l->n, size);
  if (small || tall) nxi_linalg_piece(l, LEFT, small || full ? l->m * l->m : l->m * l->n, size);
  if (small || tall) nxi_linalg_piece(l, RIGHT, l->n * l->n, size);
  need_copies(l);
  NXI_LINALG_NEED(l, part, small);
  NXI_LINALG_NEED(l, adjoint, small);
  NXI_LINALG_NEED(l, transpose, tall);
}

static void identity(nxi_linalg_run *run, uint64_t to, int64_t rows, int64_t columns) {
  int64_t count = run->l->count;
  NXI_LINALG_START(run, identity, count * rows * columns, &to, &count, &rows, &columns);
}

static void small_svd(nxi_linalg_run *run, uint64_t values, int64_t u, int64_t v) {
  int64_t m = run->l->m, n = run->l->n, count = run->l->count, each = v * n, distance = n * n;
  uint64_t seen_left = run->piece[RIGHT], seen_right = run->piece[LEFT], to = run->r->results[2];
  nxi_cusolver_job job = nxi_linalg_job(run, run->piece[MATRIX], n, m);
  if (run->status == NX_OK)
    run->status = nxi_cusolver_small_svd(&job, values, seen_left, seen_right, run->d);
  NXI_LINALG_START(run, part, count * each, &seen_left, &to, &count, &each, &distance);
  nxi_linalg_turn(run, NXI_ARRAYS_adjoint, seen_right, run->r->results[0], u, m, m * m, m * u);
}

/* For more rows than columns, the library gets A itself, transposed to column-major order. */
static void tall_svd(nxi_linalg_run *run, uint64_t values, int64_t u, bool full) {
  int64_t m = run->l->m, n = run->l->n;
  uint64_t a = run->r->results[0]; /* has room for A until U is written */
  uint64_t left = run->piece[LEFT], right = run->piece[RIGHT];
  nxi_linalg_turn(run, NXI_ARRAYS_transpose, run->piece[MATRIX], a, m, n, m * n, m * n);
  nxi_cusolver_job job = nxi_linalg_job(run, a, m, n);
  if (run->status == NX_OK) run->status = nxi_cusolver_svd(&job, full, values, left, right, run->d);
  nxi_linalg_turn(run, NXI_ARRAYS_transpose, left, run->r->results[0], u, m, m * u, m * u);
  nxi_linalg_turn(run, NXI_ARRAYS_transpose, right, run->r->results[2], n, n, n * n, n * n);
}

static nx_status run_svd(nxi_linalg_run *run) {
  const nxi_linalg *l = run->l;
  const nxg_array *left = &run->r->call->results[0], *right = &run->r->call->results[2];
  int64_t u = left->shape[left->rank - 1], v = right->shape[right->rank - 2];
  int64_t least = l->m < l->n ? l->m : l->n;
  bool full = run->r->call->attrs[0] != 0;
  if (least == 0) { /* for an empty matrix U and V^H are identities */
    identity(run, run->r->results[0], l->m, u);
    identity(run, run->r->results[2], v, l->n);
    return run->status;
  }
  uint64_t values = values_at(run, run->r->results[1], VALUES);
  take(run, run->piece[MATRIX], 0);
  if (is_small(l)) small_svd(run, values, u, v);
  else if (l->m > l->n) tall_svd(run, values, u, full);
  else if (run->status == NX_OK) {
    nxi_cusolver_job job = nxi_linalg_job(run, run->piece[MATRIX], l->n, l->m);
    run->status =
        nxi_cusolver_svd(&job, full, values, run->r->results[2], run->r->results[0], run->d);
  }
  widen(run, run->r->results[1], VALUES, l->count * least);
  return nxi_linalg_end(run, NX_NO_CONVERGENCE);
}

/* ---- qr of A, transposed to column-major order; Q replaces its reflections */

enum { TAU };

/* Whether a hand-written kernel does it, which reads rows, so that nothing is transposed. */
static bool is_own_qr(const nxi_linalg *l) {
  return nxi_linalg_is_own(l->m > l->n ? l->m : l->n, l->count);
}

static int64_t columns_of(const nxi_linalg *l, int64_t inner) {
  return l->n > inner ? l->n : inner;
}

static void prepare_qr(nxi_linalg *l, int64_t inner) {
  int64_t size = nxi_dtype_size(l->dtype), least = l->m < l->n ? l->m : l->n;
  bool own = is_own_qr(l);
  NXI_LINALG_NEED(l, identity, least == 0);
  if (least == 0) return;
  nxi_linalg_piece(l, TAU, least, size);
  nxi_linalg_piece(l, MATRIX, l->m * columns_of(l, inner), size);
  NXI_LINALG_NEED(l, qr, own);
  NXI_LINALG_NEED(l, upper_rows, own);
  NXI_LINALG_NEED(l, transpose, !own);
  NXI_LINALG_NEED(l, upper_factor, !own);
}

static void own_qr(nxi_linalg_run *run, int64_t inner) {
  int64_t m = run->l->m, n = run->l->n, count = run->l->count;
  uint64_t a = run->piece[MATRIX], tau = run->piece[TAU], q = run->r->results[0],
           r = run->r->results[1];
  nxi_linalg_copy(run, a, run->r->operands[0], count * m * n);
  NXI_LINALG_START(run, qr, count * NXI_LINALG_BLOCK, &a, &tau, &q, &m, &n, &inner, &count);
  NXI_LINALG_START(run, upper_rows, count * inner * n, &a, &r, &count, &m, &inner, &n);
}

static nx_status run_qr(nxi_linalg_run *run) {
  const nxi_linalg *l = run->l;
  const nxg_array *q = &run->r->call->results[0];
  int64_t m = l->m, n = l->n, count = l->count, inner = q->shape[q->rank - 1],
          least = m < n ? m : n, columns = columns_of(l, inner), each = m * columns;
  uint64_t a = run->piece[MATRIX], tau = run->piece[TAU], r = run->r->results[1];
  if (least == 0) { /* no reflections: Q is the identity */
    identity(run, run->r->results[0], m, inner);
    return run->status;
  }
  if (is_own_qr(l)) {
    own_qr(run, inner);
    return run->status;
  }
  nxi_linalg_turn(run, NXI_ARRAYS_transpose, run->r->operands[0], a, m, n, m * n, each);
  nxi_cusolver_job job = nxi_linalg_job(run, a, m, n);
  if (run->status == NX_OK) run->status = nxi_cusolver_qr(&job, columns, tau, run->d);
  NXI_LINALG_START(run, upper_factor, count * inner * n, &a, &r, &count, &m, &columns, &inner, &n);
  if (run->status == NX_OK) run->status = nxi_cusolver_q(&job, columns, inner, least, tau, run->d);
  nxi_linalg_turn(run, NXI_ARRAYS_transpose, a, run->r->results[0], inner, m, each, m * inner);
  return run->status;
}

/* ---- all */

static nx_status prepare(nxi_gpu *g, const nxg_call *call, nxi_gpu_call_work *work, nxi_diag *d) {
  nxi_linalg *l = nxi_linalg_create(call);
  const nxg_array *q = &call->results[0];
  if (l == NULL) return nxi_oom(d);
  if (call->op == NXG_svd) prepare_svd(l, call->attrs[0] != 0);
  else if (call->op == NXG_qr) prepare_qr(l, q->shape[q->rank - 1]);
  else if (call->op == NXG_eig || call->op == NXG_eigvals) prepare_eig(l, call->op == NXG_eig);
  else prepare_eigh(l, call->op == NXG_eigh);
  return nxi_linalg_ready(g, l, work, d);
}

static nx_status run(nxi_gpu_call_run *r, nxi_diag *d) {
  const nxi_linalg *l = r->work->state;
  if (l->count == 0) return NX_OK;
  nxi_linalg_run run = nxi_linalg_begin(r, d);
  if (r->call->op == NXG_svd) return run_svd(&run);
  if (r->call->op == NXG_eig || r->call->op == NXG_eigvals) return run_eig(&run);
  return r->call->op == NXG_qr ? run_qr(&run) : run_eigh(&run);
}

const nxi_gpu_functions nxi_gpu_vector_functions = {.by = "cuSOLVER",
                                                    .takes = takes,
                                                    .lacks = lacks,
                                                    .prepare = prepare,
                                                    .run = run,
                                                    .release = nxi_linalg_release};
