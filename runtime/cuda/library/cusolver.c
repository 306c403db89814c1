/* SPDX-License-Identifier: ISC */
/* cuSOLVER's handle, its working memory, and its routines, called for one matrix after the other,
 * or for all at once if there is a batched routine. */
#include "cusolver.h"

#include "ir/platform/thread.h"
#include <string.h>

#include "codegen_cuda/toolkit.h"
#include "runtime/cuda/internal.h"
#include "ir/alloc.h"

/* Values of the library's enumerations. */
enum {
  STATUS_NOT_STARTED = 1,
  STATUS_MEMORY = 2,
  LOWER = 0,
  UPPER = 1,
  PLAIN = 0,
  TRANSPOSED = 1,
  VECTORS = 1,
  NO_VECTORS = 0,
  TYPE_R32 = 0,
  TYPE_R64 = 1,
  TYPE_C32 = 4,
  TYPE_C64 = 5,
};
/* the library's batched routines were observed to refuse more matrices */
enum { MOST_AT_ONCE = 16384 };

static struct cusolver {
#define CUSOLVER(name, symbol, arguments) int(*name) arguments;
#define CUSOLVER_MORE(symbol)
#include "cusolver.def"
#undef CUSOLVER
#undef CUSOLVER_MORE
} cusolver;
static struct cusolver_new {
#define CUSOLVER(name, symbol, arguments) int(*name) arguments;
#include "cusolver_new.def"
#undef CUSOLVER
} newer;
static char missing[NXU_SENTENCE], none_newer[NXU_SENTENCE];
static nxi_once once = NXI_ONCE_INITIALIZER;

static void load(void) {
  static const char *const files[] = {"libcusolver.so.12", "libcusolver.so.11", NULL};
  static const char *const symbols[] = {
#define CUSOLVER(name, symbol, arguments) #symbol,
#define CUSOLVER_MORE(symbol)             #symbol,
#include "cusolver.def"
#undef CUSOLVER
#undef CUSOLVER_MORE
      NULL};
  static const char *const new_symbols[] = {
#define CUSOLVER(name, symbol, arguments) #symbol,
#include "cusolver_new.def"
#undef CUSOLVER
      NULL};
  static const nxu_library library = {"cuSOLVER of CUDA 12 or 13", "NX_CUSOLVER", files, symbols},
                           new_library = {"cuSOLVER of CUDA 12.6", "NX_CUSOLVER", files,
                                          new_symbols};
  _Static_assert(sizeof cusolver == (sizeof symbols / sizeof *symbols - 1) * sizeof(void *),
                 "a pointer a symbol");
  if (nxu_load_library(&library, &cusolver, missing))
    nxu_load_library(&new_library, &newer, none_newer);
}

const char *nxi_cusolver_missing(void) {
  nxi_once_run(&once, load);
  return missing[0] != 0 ? missing : NULL;
}

static nx_status refused(nxi_gpu *g, int result, const char *what, nxi_diag *d) {
  static const char *const words[] = {
      [1] = "not initialised",   [3] = "invalid value",  [4] = "architecture",
      [6] = "execution fails",   [7] = "internal error", [9] = "not supported",
      [31] = "invalid workspace"};
  bool known = result > 0 && result < (int)(sizeof words / sizeof *words) && words[result] != NULL;
  if (result == STATUS_MEMORY) return nxi_oom(d);
  if (nxi_gpu_fault(g, d) != NX_OK) return NX_DEVICE_LOST;
  return nxi_fail(d, NX_INTERNAL, "", "cuSOLVER fails at %s: status %d%s%s", what, result,
                  known ? ", " : "", known ? words[result] : "");
}

/* ---- the state that is kept for a GPU */

typedef struct solver {
  void *handle, *params, *jacobi;
  /* working memory of the host, which routines that have returned may still use until the mark */
  void *host;
  size_t host_bytes;
  uint64_t after;
} solver;

static void end(const solver *s) {
  if (s->jacobi != NULL) cusolver.destroy_jacobi(s->jacobi);
  if (s->params != NULL) cusolver.destroy_params(s->params);
  if (s->handle != NULL) cusolver.destroy(s->handle);
}

/* Its work is done: the GPU waits for all before it is closed. */
static void free_solver(void *state) {
  solver *s = state;
  end(s);
  nxi_free(s->host);
  nxi_free(s);
}

static int make(solver *s, void *stream) {
  *s = (solver){.handle = NULL};
  int result = cusolver.create(&s->handle);
  if (result != 0) {
    s->handle = NULL;
    return result;
  }
  result = cusolver.set_stream(s->handle, stream);
  if (result == 0 && (result = cusolver.create_params(&s->params)) != 0) s->params = NULL;
  if (result == 0 && (result = cusolver.create_jacobi(&s->jacobi)) != 0) s->jacobi = NULL;
  if (result != 0) end(s);
  return result;
}

static nx_status start(nxi_gpu *g, nxi_gpu_shelf *shelf, nxi_diag *d) {
  if (shelf->state != NULL) return NX_OK;
  solver *s = nxi_calloc(1, sizeof *s);
  if (s == NULL) return nxi_oom(d);
  int result = make(s, nxi_gpu_stream(g));
  /* these are also reported when memory is exhausted */
  if (result == STATUS_MEMORY || result == STATUS_NOT_STARTED) {
    nxi_gpu_free_all_kept(g);
    result = make(s, nxi_gpu_stream(g));
  }
  if (result != 0) {
    nxi_free(s);
    return refused(g, result, "its start", d);
  }
  shelf->state = s;
  shelf->free = free_solver;
  return NX_OK;
}

/* ---- running a routine: inside the GPU's context, with the shelf's lock, and with working memory
 * of the host and of the GPU */

typedef struct work {
  const nxi_cusolver_job *job;
  nxi_gpu_shelf *shelf;
  solver *s;
  int type, real_type;
  int64_t size; /* of an element */
  const char *what;
  size_t device, host;
  uint64_t at;
  int64_t pieces; /* of the host's memory: matrices under way at once */
} work;
enum { HOST_PIECES = 64, HOST_LINE = 64 };

static int index_of(nx_dtype t) { return t == NX_F32 ? 0 : t == NX_F64 ? 1 : t == NX_C64 ? 2 : 3; }

static nx_status enter(work *w, const nxi_cusolver_job *j, const char *what, nxi_diag *d) {
  static const int types[] = {TYPE_R32, TYPE_R64, TYPE_C32, TYPE_C64};
  int index = index_of(j->dtype);
  *w = (work){.job = j,
              .what = what,
              .type = types[index],
              .real_type = types[index % 2],
              .size = nxi_dtype_size(j->dtype)};
  nx_status status = nxi_gpu_enter(j->gpu, d);
  if (status != NX_OK) return status;
  w->shelf = nxi_gpu_shelf_lock(j->gpu, NXI_GPU_SOLVER);
  status = start(j->gpu, w->shelf, d);
  w->s = w->shelf->state;
  if (status == NX_OK) return NX_OK;
  nxi_gpu_shelf_unlock(w->shelf);
  nxi_gpu_leave(j->gpu);
  return status;
}

static size_t piece_bytes(const work *w) {
  return (w->host + HOST_LINE - 1) & ~(size_t)(HOST_LINE - 1);
}

/* The host's memory is used again when the work that has it is done. */
static nx_status lend_host(work *w, nxi_diag *d) {
  solver *s = w->s;
  size_t bytes;
  w->pieces = w->job->count < HOST_PIECES ? w->job->count : HOST_PIECES;
  if (w->host > SIZE_MAX / HOST_PIECES - HOST_LINE) return nxi_oom(d);
  bytes = piece_bytes(w) * (size_t)w->pieces;
  nx_status status = s->host != NULL ? nxi_gpu_wait(w->job->gpu, s->after, NULL, d) : NX_OK;
  if (status != NX_OK || bytes <= s->host_bytes) return status;
  nxi_free(s->host);
  s->host_bytes = 0;
  if ((s->host = nxi_malloc(bytes)) == NULL) return nxi_oom(d);
  s->host_bytes = bytes;
  return NX_OK;
}

/* Allocates working memory of the sizes that the library has reported. result: whether that
 * succeeded. */
static nx_status lend(work *w, int result, nxi_diag *d) {
  nx_status status = NX_OK;
  if (result != 0) return refused(w->job->gpu, result, w->what, d);
  if (w->host > 0 && w->job->count > 0) status = lend_host(w, d);
  if (status == NX_OK && w->device > 0)
    status = nxi_gpu_alloc(w->job->gpu, (int64_t)w->device, &w->at, d);
  return status;
}

/* The host's memory for call number i: a piece that no call under way has. NULL: none is needed. A
 * GPU that breaks meanwhile is reported by what comes next. */
static void *host_of(const work *w, int64_t i) {
  if (w->host == 0) return NULL;
  if (i > 0 && i % w->pieces == 0) (void)nxi_gpu_wait(w->job->gpu, NXI_NOW, NULL, NULL);
  return (char *)w->s->host + (size_t)(i % w->pieces) * piece_bytes(w);
}

static nx_status leave(work *w, nx_status status, int result, nxi_diag *d) {
  if (w->at != 0) nxi_gpu_free(w->job->gpu, w->at, (int64_t)w->device);
  if (w->host > 0) w->s->after = nxi_gpu_mark(w->job->gpu);
  if (status == NX_OK && result != 0) status = refused(w->job->gpu, result, w->what, d);
  nxi_gpu_shelf_unlock(w->shelf);
  nxi_gpu_leave(w->job->gpu);
  return status;
}

/* The address of matrix i in a batch of matrices with so many elements. */
static uint64_t matrix(const work *w, uint64_t base, int64_t i, int64_t elements) {
  return base + (uint64_t)(i * elements * w->size);
}
static uint64_t info_of(const work *w, int64_t i) { return w->job->info + (uint64_t)i * 4; }

/* ---- factors */

nx_status nxi_cusolver_cholesky(const nxi_cusolver_job *j, nxi_diag *d) {
  work w;
  nx_status status = enter(&w, j, "cholesky", d);
  if (status != NX_OK) return status;
  int result = cusolver.potrf_size(w.s->handle, w.s->params, LOWER, j->n, w.type, j->a, j->n,
                                   w.type, &w.device, &w.host);
  status = lend(&w, result, d);
  for (int64_t i = 0; i < j->count && status == NX_OK && result == 0; i++)
    result = cusolver.potrf(w.s->handle, w.s->params, LOWER, j->n, w.type,
                            matrix(&w, j->a, i, j->n * j->n), j->n, w.type, w.at, w.device,
                            host_of(&w, i), w.host, info_of(&w, i));
  return leave(&w, status, result, d);
}

nx_status nxi_cusolver_cholesky_batch(const nxi_cusolver_job *j, uint64_t addresses, nxi_diag *d) {
  work w;
  const int n = (int)j->n;
  nx_status status = enter(&w, j, "cholesky", d);
  int result = 0;
  if (status != NX_OK) return status;
  for (int64_t i = 0; i < j->count && result == 0; i += MOST_AT_ONCE) {
    const int64_t left = j->count - i;
    result = cusolver.potrf_batched[index_of(j->dtype)](
        w.s->handle, UPPER, n, addresses + (uint64_t)i * 8, n, info_of(&w, i),
        (int)(left < MOST_AT_ONCE ? left : MOST_AT_ONCE));
  }
  return leave(&w, status, result, d);
}

nx_status nxi_cusolver_lu(const nxi_cusolver_job *j, uint64_t pivots, nxi_diag *d) {
  work w;
  nx_status status = enter(&w, j, "lu", d);
  if (status != NX_OK) return status;
  int result = cusolver.getrf_size(w.s->handle, w.s->params, j->n, j->n, w.type, j->a, j->n, w.type,
                                   &w.device, &w.host);
  status = lend(&w, result, d);
  for (int64_t i = 0; i < j->count && status == NX_OK && result == 0; i++)
    result =
        cusolver.getrf(w.s->handle, w.s->params, j->n, j->n, w.type,
                       matrix(&w, j->a, i, j->n * j->n), j->n, pivots + (uint64_t)(i * j->n) * 8,
                       w.type, w.at, w.device, host_of(&w, i), w.host, info_of(&w, i));
  return leave(&w, status, result, d);
}

nx_status nxi_cusolver_lu_solve(const nxi_cusolver_job *j, bool transposed, uint64_t pivots,
                                uint64_t x, int64_t k, nxi_diag *d) {
  work w;
  int result = 0;
  nx_status status = enter(&w, j, "solve", d);
  if (status != NX_OK) return status;
  for (int64_t i = 0; i < j->count && result == 0; i++)
    result =
        cusolver.getrs(w.s->handle, w.s->params, transposed ? TRANSPOSED : PLAIN, j->n, k, w.type,
                       matrix(&w, j->a, i, j->n * j->n), j->n, pivots + (uint64_t)(i * j->n) * 8,
                       w.type, matrix(&w, x, i, j->n * k), j->n, j->info);
  return leave(&w, status, result, d);
}

nx_status nxi_cusolver_qr(const nxi_cusolver_job *j, int64_t columns, uint64_t tau, nxi_diag *d) {
  work w;
  int64_t least = j->m < j->n ? j->m : j->n;
  nx_status status = enter(&w, j, "qr", d);
  if (status != NX_OK) return status;
  int result = cusolver.geqrf_size(w.s->handle, w.s->params, j->m, j->n, w.type, j->a, j->m, w.type,
                                   tau, w.type, &w.device, &w.host);
  status = lend(&w, result, d);
  for (int64_t i = 0; i < j->count && status == NX_OK && result == 0; i++)
    result =
        cusolver.geqrf(w.s->handle, w.s->params, j->m, j->n, w.type,
                       matrix(&w, j->a, i, j->m * columns), j->m, w.type, matrix(&w, tau, i, least),
                       w.type, w.at, w.device, host_of(&w, i), w.host, info_of(&w, i));
  return leave(&w, status, result, d);
}

nx_status nxi_cusolver_q(const nxi_cusolver_job *j, int64_t columns, int64_t wanted,
                         int64_t reflections, uint64_t tau, nxi_diag *d) {
  work w;
  int m = (int)j->m, n = (int)wanted, k = (int)reflections, elements = 0, t = index_of(j->dtype);
  nx_status status = enter(&w, j, "q", d);
  if (status != NX_OK) return status;
  int result = cusolver.orgqr_size[t](w.s->handle, m, n, k, j->a, m, tau, &elements);
  w.device = (size_t)elements * (size_t)w.size;
  status = lend(&w, result, d);
  for (int64_t i = 0; i < j->count && status == NX_OK && result == 0; i++)
    result = cusolver.orgqr[t](w.s->handle, m, n, k, matrix(&w, j->a, i, j->m * columns), m,
                               matrix(&w, tau, i, reflections), w.at, elements, info_of(&w, i));
  return leave(&w, status, result, d);
}

/* ---- eigenvalues, singular values and their vectors */

/* All matrices in batched calls. */
static nx_status eigh_batched(work *w, int vectors, uint64_t values, int *result, nxi_diag *d) {
  const nxi_cusolver_job *j = w->job;
  int64_t most = j->count < MOST_AT_ONCE ? j->count : MOST_AT_ONCE;
  *result =
      newer.syev_batched_size(w->s->handle, w->s->params, vectors, UPPER, j->n, w->type, j->a, j->n,
                              w->real_type, values, w->type, &w->device, &w->host, most);
  nx_status status = lend(w, *result, d);
  for (int64_t i = 0; i < j->count && status == NX_OK && *result == 0; i += most) {
    int64_t n = j->count - i < most ? j->count - i : most;
    uint64_t own = values + (uint64_t)(i * j->n * (w->real_type == TYPE_R64 ? 8 : 4));
    *result = newer.syev_batched(w->s->handle, w->s->params, vectors, UPPER, j->n, w->type,
                                 matrix(w, j->a, i, j->n * j->n), j->n, w->real_type, own, w->type,
                                 w->at, w->device, host_of(w, i / most), w->host, info_of(w, i), n);
  }
  return status;
}

nx_status nxi_cusolver_eigh(const nxi_cusolver_job *j, bool vectors, uint64_t values, nxi_diag *d) {
  work w;
  int job = vectors ? VECTORS : NO_VECTORS, result = 0;
  nx_status status = enter(&w, j, "eigh", d);
  if (status != NX_OK) return status;
  if (j->count > 1 && none_newer[0] == 0) {
    status = eigh_batched(&w, job, values, &result, d);
    return leave(&w, status, result, d);
  }
  result = cusolver.syevd_size(w.s->handle, w.s->params, job, UPPER, j->n, w.type, j->a, j->n,
                               w.real_type, values, w.type, &w.device, &w.host);
  status = lend(&w, result, d);
  for (int64_t i = 0; i < j->count && status == NX_OK && result == 0; i++)
    result = cusolver.syevd(w.s->handle, w.s->params, job, UPPER, j->n, w.type,
                            matrix(&w, j->a, i, j->n * j->n), j->n, w.real_type,
                            values + (uint64_t)(i * j->n * (w.real_type == TYPE_R64 ? 8 : 4)),
                            w.type, w.at, w.device, host_of(&w, i), w.host, info_of(&w, i));
  return leave(&w, status, result, d);
}

const char *nxi_cusolver_lacks_eig(void) {
  const char *why = nxi_cusolver_missing();
  return why == NULL && none_newer[0] != 0 ? none_newer : why;
}

bool nxi_cusolver_has_eig(void) { return nxi_cusolver_lacks_eig() == NULL; }

nx_status nxi_cusolver_eig(const nxi_cusolver_job *j, bool vectors, uint64_t values, uint64_t v,
                           nxi_diag *d) {
  work w;
  int job = vectors ? VECTORS : NO_VECTORS;
  nx_status status = enter(&w, j, "eig", d);
  if (status != NX_OK) return status;
  int pairs = w.real_type == TYPE_R64 ? TYPE_C64 : TYPE_C32;
  int64_t pair_size = w.real_type == TYPE_R64 ? 16 : 8;
  int result =
      newer.geev_size(w.s->handle, w.s->params, NO_VECTORS, job, j->n, w.type, j->a, j->n, pairs,
                      values, w.type, 0, 1, w.type, v, j->n, w.type, &w.device, &w.host);
  status = lend(&w, result, d);
  for (int64_t i = 0; i < j->count && status == NX_OK && result == 0; i++)
    result = newer.geev(w.s->handle, w.s->params, NO_VECTORS, job, j->n, w.type,
                        matrix(&w, j->a, i, j->n * j->n), j->n, pairs,
                        values + (uint64_t)(i * j->n * pair_size), w.type, 0, 1, w.type,
                        matrix(&w, v, i, vectors ? j->n * j->n : 0), j->n, w.type, w.at, w.device,
                        host_of(&w, i), w.host, info_of(&w, i));
  return leave(&w, status, result, d);
}

nx_status nxi_cusolver_svd(const nxi_cusolver_job *j, bool full, uint64_t values, uint64_t u,
                           uint64_t v, nxi_diag *d) {
  work w;
  signed char wish = full ? 'A' : 'S';
  int64_t columns = full ? j->m : j->n;
  nx_status status = enter(&w, j, "svd", d);
  if (status != NX_OK) return status;
  int result = cusolver.gesvd_size(w.s->handle, w.s->params, wish, wish, j->m, j->n, w.type, j->a,
                                   j->m, w.real_type, values, w.type, u, j->m, w.type, v, j->n,
                                   w.type, &w.device, &w.host);
  status = lend(&w, result, d);
  for (int64_t i = 0; i < j->count && status == NX_OK && result == 0; i++)
    result = cusolver.gesvd(
        w.s->handle, w.s->params, wish, wish, j->m, j->n, w.type, matrix(&w, j->a, i, j->m * j->n),
        j->m, w.real_type, values + (uint64_t)(i * j->n * (w.real_type == TYPE_R64 ? 8 : 4)),
        w.type, matrix(&w, u, i, j->m * columns), j->m, w.type, matrix(&w, v, i, j->n * j->n), j->n,
        w.type, w.at, w.device, host_of(&w, i), w.host, info_of(&w, i));
  return leave(&w, status, result, d);
}

nx_status nxi_cusolver_small_svd(const nxi_cusolver_job *j, uint64_t values, uint64_t u, uint64_t v,
                                 nxi_diag *d) {
  work w;
  int m = (int)j->m, n = (int)j->n, elements = 0, t = index_of(j->dtype);
  int64_t most = j->count < MOST_AT_ONCE ? j->count : MOST_AT_ONCE, least = m < n ? m : n;
  nx_status status = enter(&w, j, "svd", d);
  if (status != NX_OK) return status;
  int result = cusolver.gesvdj_size[t](w.s->handle, VECTORS, m, n, j->a, m, values, u, m, v, n,
                                       &elements, w.s->jacobi, (int)most);
  w.device = (size_t)elements * (size_t)w.size;
  status = lend(&w, result, d);
  for (int64_t i = 0; i < j->count && status == NX_OK && result == 0; i += most) {
    int64_t batches = j->count - i < most ? j->count - i : most;
    uint64_t own = values + (uint64_t)(i * least * (w.real_type == TYPE_R64 ? 8 : 4));
    result =
        cusolver.gesvdj[t](w.s->handle, VECTORS, m, n, matrix(&w, j->a, i, j->m * j->n), m, own,
                           matrix(&w, u, i, j->m * j->m), m, matrix(&w, v, i, j->n * j->n), n, w.at,
                           elements, info_of(&w, i), w.s->jacobi, (int)batches);
  }
  return leave(&w, status, result, d);
}
