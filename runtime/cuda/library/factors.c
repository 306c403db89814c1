/* SPDX-License-Identifier: ISC */
/* cholesky, solve, inv, det, slogdet, triangular_solve on a GPU. Small matrices, and batches of
 * matrices of medium size, are factored in C order by a hand-written kernel, with a block of
 * threads for each, or a warp for each of up to 32 x 32. Large matrices are factored by cuSOLVER,
 * one after the other. A matrix in C order is for cuSOLVER the transposed matrix A^T. Its
 * transposed factors solve A X = B, its inverse is the transposed inverse, and its determinant is
 * the same. */
#include "ir/alloc.h"
#include "linalg.h"

enum { BLOCK = NXI_LINALG_BLOCK, WARP_MOST = 32 };

/* Whether a warp has the whole matrix. */
static bool is_small(const nxi_linalg *l) { return l->n <= WARP_MOST; }
/* Threads for so many matrices, or panels of 32 columns. `tiles` of them and of what belongs to
 * each are in a block's shared memory (arrays.cuh). */
static int64_t small_items(const nxi_linalg *l, int64_t tasks, int64_t tiles) {
  const int64_t warps = tiles / nxi_dtype_size(l->dtype);
  return (tasks + warps - 1) / warps * BLOCK;
}

/* How a Cholesky factor is computed. Of matrices in C order cuSOLVER sees the upper triangle, of
 * which it computes one factor half as fast as of the lower one, and so they are turned; those of a
 * batch it computes together, and then as fast as kernels, or more so. */
typedef enum way { BY_KERNELS, IN_BATCHES, ONE_BY_ONE } way;
enum { FEW = 4, MOST_IN_BATCH = 1024 };
static way way_of(const nxi_linalg *l) {
  const bool batch = l->n > WARP_MOST && l->n <= MOST_IN_BATCH && l->count >= FEW;
  if (batch && nxi_cusolver_missing() == NULL) return IN_BATCHES;
  return nxi_linalg_is_own(l->n, l->count) ? BY_KERNELS : ONE_BY_ONE;
}

static bool takes(nxi_gpu *g, const nxg_call *call) {
  const nxg_array *a = &call->operands[0];
  (void)g;
  switch (call->op) {
    case NXG_cholesky:
    case NXG_solve:
    case NXG_inv:
    case NXG_det:
    case NXG_slogdet:
      return nxi_linalg_is_own(a->shape[a->rank - 1], nxg_elements(a->rank - 2, a->shape)) ||
             nxi_cusolver_missing() == NULL;
    default: return call->op == NXG_triangular_solve;
  }
}

/* triangular_solve and small matrices need no library; this is not called for them. */
static const char *lacks(const nxg_call *call) {
  bool uses = call->op == NXG_cholesky || call->op == NXG_solve || call->op == NXG_inv ||
              call->op == NXG_det || call->op == NXG_slogdet;
  return uses ? nxi_cusolver_missing() : NULL;
}

enum { FACTORS, PIVOTS, TURNED, ADDRESSES };

static nx_status prepare(nxi_gpu *g, const nxg_call *call, nxi_gpu_call_work *work, nxi_diag *d) {
  bool cholesky = call->op == NXG_cholesky, triangular = call->op == NXG_triangular_solve,
       determinant = call->op == NXG_det || call->op == NXG_slogdet;
  nxi_linalg *l = nxi_linalg_create(call);
  if (l == NULL) return nxi_oom(d);
  int64_t size = nxi_dtype_size(l->dtype);
  bool own = nxi_linalg_is_own(l->n, l->count), solves = !cholesky && !triangular && !determinant,
       turns = call->op == NXG_solve && l->k > 1 && !own, small = is_small(l);
  if (!triangular) nxi_linalg_piece(l, FACTORS, l->n * l->n, size);
  if (!triangular && !cholesky) nxi_linalg_piece(l, PIVOTS, l->n, 8);
  const way how = cholesky ? way_of(l) : BY_KERNELS;
  if (how == IN_BATCHES) nxi_linalg_piece(l, ADDRESSES, 1, 8);
  if (turns) nxi_linalg_piece(l, TURNED, l->n * l->k, size);
  NXI_LINALG_NEED(l, take, cholesky);
  NXI_LINALG_NEED(l, lower, cholesky);
  NXI_LINALG_NEED(l, cholesky, cholesky && how == BY_KERNELS && !small);
  NXI_LINALG_NEED(l, addresses, how == IN_BATCHES);
  NXI_LINALG_NEED(l, small_cholesky, cholesky && small);
  NXI_LINALG_NEED(l, adjoint, cholesky && (call->attrs[0] != 0 || how == ONE_BY_ONE));
  NXI_LINALG_NEED(l, lu, own && !small && (solves || determinant));
  NXI_LINALG_NEED(l, small_lu, small && (solves || determinant));
  NXI_LINALG_NEED(l, determinant, determinant);
  NXI_LINALG_NEED(l, zero_pivots, solves || (triangular && call->attrs[2] == 0));
  NXI_LINALG_NEED(l, identity, call->op == NXG_inv);
  NXI_LINALG_NEED(l, exchange_rows, solves && own);
  NXI_LINALG_NEED(l, substitute, !small && (triangular || (solves && own)));
  NXI_LINALG_NEED(l, small_substitute, small && (triangular || solves));
  NXI_LINALG_NEED(l, transpose, turns);
  return nxi_linalg_ready(g, l, work, d);
}

/* ---- cholesky */

static void turn(nxi_linalg_run *run, uint64_t from, uint64_t to) {
  const int64_t n = run->l->n;
  nxi_linalg_turn(run, NXI_ARRAYS_adjoint, from, to, n, n, n * n, n * n);
}

/* Replaces the lower triangles of matrices in C order by factors L. other: as much memory. What the
 * library has of a turned matrix is in column-major order A^T, conjugate, of which it gives L^T. */
static void factor_lower(nxi_linalg_run *run, uint64_t a, uint64_t other) {
  const nxi_linalg *l = run->l;
  int64_t n = l->n, count = l->count, each = n * n;
  uint64_t addresses = run->piece[ADDRESSES];
  const way how = way_of(l);
  if (how == BY_KERNELS && is_small(l))
    NXI_LINALG_START(run, small_cholesky, small_items(l, count, 32), &a, &n, &count);
  else if (how == BY_KERNELS) NXI_LINALG_START(run, cholesky, count * BLOCK, &a, &n, &count);
  if (how == BY_KERNELS) return;
  if (how == IN_BATCHES) NXI_LINALG_START(run, addresses, count, &a, &addresses, &each, &count);
  else turn(run, a, other);
  if (run->status != NX_OK) return;
  nxi_cusolver_job job = nxi_linalg_job(run, how == IN_BATCHES ? a : other, n, n);
  run->status = how == IN_BATCHES ? nxi_cusolver_cholesky_batch(&job, addresses, run->d)
                                  : nxi_cusolver_cholesky(&job, run->d);
  if (how == ONE_BY_ONE) turn(run, other, a);
}

static nx_status run_cholesky(nxi_linalg_run *run) {
  const nxi_linalg *l = run->l;
  bool upper = run->r->call->attrs[0] != 0;
  uint64_t result = run->r->results[0], piece = run->piece[FACTORS], a = upper ? piece : result,
           operand = run->r->operands[0];
  int64_t n = l->n, count = l->count, all = count * n * n;
  int lower = 1;
  NXI_LINALG_START(run, take, all, &operand, &a, &run->flags, &count, &n, &n, &lower);
  factor_lower(run, a, upper ? result : piece);
  NXI_LINALG_START(run, lower, all, &a, &run->flags, &n, &count);
  if (upper) turn(run, a, result);
  return nxi_linalg_end(run, NX_NOT_POSITIVE_DEFINITE);
}

/* ---- results computed from factors */

/* Factors operand 0. */
static void factor(nxi_linalg_run *run) {
  const nxi_linalg *l = run->l;
  int64_t n = l->n, count = l->count;
  uint64_t a = run->piece[FACTORS], pivots = run->piece[PIVOTS];
  nxi_linalg_copy(run, a, run->r->operands[0], count * n * n);
  if (is_small(l))
    NXI_LINALG_START(run, small_lu, small_items(l, count, 32), &a, &pivots, &n, &count);
  else if (nxi_linalg_is_own(n, count))
    NXI_LINALG_START(run, lu, count * BLOCK, &a, &pivots, &n, &count);
  else if (run->status == NX_OK) {
    nxi_cusolver_job job = nxi_linalg_job(run, a, n, n);
    run->status = nxi_cusolver_lu(&job, pivots, run->d);
  }
}

static void flag_zero_pivots(nxi_linalg_run *run, uint64_t a) {
  int64_t n = run->l->n, count = run->l->count;
  NXI_LINALG_START(run, zero_pivots, count * n, &a, &run->flags, &n, &count);
}

static void substitute(nxi_linalg_run *run, uint64_t a, uint64_t x, int64_t k, int upper,
                       int adjoint, int unit) {
  int64_t n = run->l->n, count = run->l->count, panels = count * ((k + 31) / 32);
  if (is_small(run->l))
    NXI_LINALG_START(run, small_substitute, small_items(run->l, panels, 16), &a, &x, &n, &k, &count,
                     &upper, &adjoint, &unit);
  else
    NXI_LINALG_START(run, substitute, panels * BLOCK, &a, &x, &n, &k, &count, &upper, &adjoint,
                     &unit);
}

/* Solves with factors of the hand-written kernel, in place; x has k columns. */
static void solve_in_place(nxi_linalg_run *run, uint64_t x, int64_t k) {
  int64_t n = run->l->n, count = run->l->count;
  uint64_t pivots = run->piece[PIVOTS];
  NXI_LINALG_START(run, exchange_rows, count * k, &x, &pivots, &n, &k, &count);
  substitute(run, run->piece[FACTORS], x, k, 0, 0, 1);
  substitute(run, run->piece[FACTORS], x, k, 1, 0, 0);
}

/* Solves with cuSOLVER's factors; x has k columns of n elements, one after the other. */
static void solve_columns(nxi_linalg_run *run, bool transposed, uint64_t x, int64_t k) {
  if (run->status != NX_OK) return;
  nxi_cusolver_job job = nxi_linalg_job(run, run->piece[FACTORS], run->l->n, run->l->n);
  job.info = run->nobody;
  run->status = nxi_cusolver_lu_solve(&job, transposed, run->piece[PIVOTS], x, k, run->d);
}

static nx_status run_solve(nxi_linalg_run *run) {
  const nxi_linalg *l = run->l;
  int64_t n = l->n, k = l->k;
  uint64_t x = run->r->results[0], b = run->r->operands[1], turned = run->piece[TURNED];
  factor(run);
  flag_zero_pivots(run, run->piece[FACTORS]);
  bool own = nxi_linalg_is_own(n, l->count);
  if (own || k <= 1) nxi_linalg_copy(run, x, b, l->count * n * k);
  if (own && k > 0) solve_in_place(run, x, k);
  else if (k == 1) solve_columns(run, true, x, k);
  else if (k > 1) {
    nxi_linalg_turn(run, NXI_ARRAYS_transpose, b, turned, n, k, n * k, n * k);
    solve_columns(run, true, turned, k);
    nxi_linalg_turn(run, NXI_ARRAYS_transpose, turned, x, k, n, n * k, n * k);
  }
  return nxi_linalg_end(run, NX_SINGULAR);
}

static nx_status run_inv(nxi_linalg_run *run) {
  int64_t n = run->l->n, count = run->l->count;
  uint64_t x = run->r->results[0];
  factor(run);
  flag_zero_pivots(run, run->piece[FACTORS]);
  NXI_LINALG_START(run, identity, count * n * n, &x, &count, &n, &n);
  if (nxi_linalg_is_own(n, count)) solve_in_place(run, x, n);
  else solve_columns(run, false, x, n);
  return nxi_linalg_end(run, NX_SINGULAR);
}

static nx_status run_det(nxi_linalg_run *run) {
  int64_t n = run->l->n, count = run->l->count;
  int split = run->r->call->op == NXG_slogdet;
  uint64_t to = run->r->results[0], logs = split ? run->r->results[1] : to, a = run->piece[FACTORS],
           pivots = run->piece[PIVOTS];
  factor(run);
  NXI_LINALG_START(run, determinant, count * BLOCK, &a, &pivots, &to, &logs, &n, &count, &split);
  return run->status;
}

static nx_status run_triangular(nxi_linalg_run *run) {
  const int64_t *attrs = run->r->call->attrs;
  int upper = attrs[0] != 0, adjoint = attrs[1] != 0, unit = attrs[2] != 0;
  const nxi_linalg *l = run->l;
  uint64_t a = run->r->operands[0], x = run->r->results[0];
  if (!unit) flag_zero_pivots(run, a);
  nxi_linalg_copy(run, x, run->r->operands[1], l->count * l->n * l->k);
  substitute(run, a, x, l->k, upper != adjoint, adjoint, unit);
  return unit ? run->status : nxi_linalg_end(run, NX_SINGULAR);
}

static nx_status run(nxi_gpu_call_run *r, nxi_diag *d) {
  const nxi_linalg *l = r->work->state;
  bool determinant = r->call->op == NXG_det || r->call->op == NXG_slogdet;
  if (l->count == 0 || (l->n == 0 && !determinant)) return NX_OK;
  nxi_linalg_run run = nxi_linalg_begin(r, d);
  switch (r->call->op) {
    case NXG_cholesky: return run_cholesky(&run);
    case NXG_solve: return run_solve(&run);
    case NXG_inv: return run_inv(&run);
    case NXG_triangular_solve: return run_triangular(&run);
    default: return run_det(&run);
  }
}

const nxi_gpu_functions nxi_gpu_factor_functions = {.by = "cuSOLVER",
                                                    .takes = takes,
                                                    .lacks = lacks,
                                                    .prepare = prepare,
                                                    .run = run,
                                                    .release = nxi_linalg_release};
