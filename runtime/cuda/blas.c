/* SPDX-License-Identifier: ISC */
/* cuBLASLt has matrices column by column, so it is told of transposed ones: c' = b' a'. Of each kind of product the library's
 * first choice is kept. Sums are in the type of the operands; no type of fewer bits takes part. */
#include "blas.h"

#include <pthread.h>
#include <string.h>

#include "codegen_cuda/toolkit.h"
#include "ir/alloc.h"
#include "internal.h"

/* Of the library's enumerations. */
enum {
  TYPE_F32 = 0,
  TYPE_F64 = 1,
  COMPUTE_F32 = 68,
  COMPUTE_F64 = 70,
  MATMUL_TRANSPOSE_A = 3,
  MATMUL_TRANSPOSE_B = 4,
  LAYOUT_BATCHES = 5,
  LAYOUT_BATCH_STRIDE = 6,
  PREFERENCE_WORKSPACE = 1,
};
enum { WORKSPACE = 32 << 20, MOST_KEPT = 256 };

/* cublasLtMatmulHeuristicResult_t */
typedef struct choice {
  uint64_t algorithm[8];
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
} choice;

static struct cublas {
#define CUBLAS(name, symbol, arguments) int(*name) arguments;
#include "blas.def"
#undef CUBLAS
} cublas;
static char missing[NXU_SENTENCE];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
  static const char *const files[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
  static const char *const symbols[] = {
#define CUBLAS(name, symbol, arguments) #symbol,
#include "blas.def"
#undef CUBLAS
      NULL};
  static const nxu_library library = {"cuBLASLt of CUDA 12 or 13", "NX_CUBLAS", files, symbols};
  nxu_load_library(&library, &cublas, missing);
}

const char *nxi_gpu_blas_missing(void) {
  pthread_once(&once, load);
  return missing[0] != 0 ? missing : NULL;
}

/* ---- what is kept of a GPU */

typedef struct kept {
  nxi_gpu_product product;
  void *desc, *layouts[3]; /* of b', a', c' */
  choice choice;
} kept;

typedef struct blas {
  void *handle;
  kept kept[MOST_KEPT];
  int n, next;
} blas;

static void forget(kept *k) {
  for (int i = 0; i < 3; i++)
    if (k->layouts[i] != NULL) cublas.layout_destroy(k->layouts[i]);
  if (k->desc != NULL) cublas.matmul_destroy(k->desc);
  *k = (kept){.desc = NULL};
}

static void free_all(void *state) {
  blas *b = state;
  for (int i = 0; i < b->n; i++) forget(&b->kept[i]);
  cublas.destroy(b->handle);
  nxi_free(b);
}

/* A matrix of the library: rows and columns as it sees them. */
static int make_layout(void **out, const nxi_gpu_product *p, int operand) {
  int64_t rows = operand == 0 ? p->k : p->n, columns = operand == 1 ? p->k : p->m;
  if (operand < 2 && p->transposed[operand]) {
    int64_t swapped = rows;
    rows = columns;
    columns = swapped;
  }
  int32_t batches = (int32_t)p->batches;
  int result = cublas.layout_create(out, p->dtype == NX_F64 ? TYPE_F64 : TYPE_F32, (uint64_t)rows,
                                    (uint64_t)columns, p->ld[operand]);
  if (result == 0) result = cublas.layout_set(*out, LAYOUT_BATCHES, &batches, sizeof batches);
  if (result == 0)
    result = cublas.layout_set(*out, LAYOUT_BATCH_STRIDE, &p->batch_strides[operand],
                               sizeof p->batch_strides[operand]);
  return result;
}

static int choose(const blas *b, kept *k) {
  void *preference = NULL;
  size_t most = WORKSPACE;
  int found = 0, result = cublas.preference_create(&preference);
  if (result != 0) return result;
  result = cublas.preference_set(preference, PREFERENCE_WORKSPACE, &most, sizeof most);
  if (result == 0)
    result = cublas.heuristic(b->handle, k->desc, k->layouts[0], k->layouts[1], k->layouts[2],
                              k->layouts[2], preference, 1, &k->choice, &found);
  cublas.preference_destroy(preference);
  return result == 0 && found == 0 ? 15 : result; /* CUBLAS_STATUS_NOT_SUPPORTED */
}

static int prepare(const blas *b, kept *k, const nxi_gpu_product *p) {
  bool wide = p->dtype == NX_F64;
  int32_t first = p->transposed[1], second = p->transposed[0];
  k->product = *p;
  int result =
      cublas.matmul_create(&k->desc, wide ? COMPUTE_F64 : COMPUTE_F32, wide ? TYPE_F64 : TYPE_F32);
  if (result == 0) result = cublas.matmul_set(k->desc, MATMUL_TRANSPOSE_A, &first, sizeof first);
  if (result == 0) result = cublas.matmul_set(k->desc, MATMUL_TRANSPOSE_B, &second, sizeof second);
  for (int i = 0; i < 3 && result == 0; i++) {
    static const int order[] = {1, 0, 2};
    result = make_layout(&k->layouts[i], p, order[i]);
  }
  return result == 0 ? choose(b, k) : result;
}

static bool same(const nxi_gpu_product *a, const nxi_gpu_product *b) {
  bool equal = a->dtype == b->dtype && a->m == b->m && a->n == b->n && a->k == b->k &&
               a->transposed[0] == b->transposed[0] && a->transposed[1] == b->transposed[1] &&
               a->batches == b->batches;
  return equal && memcmp(a->ld, b->ld, sizeof a->ld) == 0 &&
         memcmp(a->batch_strides, b->batch_strides, sizeof a->batch_strides) == 0;
}

/* A product of this kind, from before or made ready. */
static int find(blas *b, const nxi_gpu_product *p, kept **out) {
  for (int i = 0; i < b->n; i++)
    if (same(&b->kept[i].product, p)) {
      *out = &b->kept[i];
      return 0;
    }
  kept *k = &b->kept[b->next];
  forget(k);
  int result = prepare(b, k, p);
  if (result != 0) {
    forget(k);
    return result;
  }
  b->next = (b->next + 1) % MOST_KEPT;
  if (b->n < MOST_KEPT) b->n++;
  *out = k;
  return 0;
}

static nx_status run(nxi_gpu *g, blas *b, const nxi_gpu_product *p, const uint64_t at[3],
                     nxi_diag *d) {
  static const float one32 = 1, zero32 = 0;
  static const double one64 = 1, zero64 = 0;
  kept *k = NULL;
  uint64_t workspace = 0;
  int result = find(b, p, &k);
  nx_status status = NX_OK;
  if (result == 0 && k->choice.workspace > 0)
    status = nxi_gpu_alloc(g, (int64_t)k->choice.workspace, &workspace, d);
  if (status != NX_OK) return status;
  bool wide = p->dtype == NX_F64;
  if (result == 0)
    result = cublas.matmul(
        b->handle, k->desc, wide ? (const void *)&one64 : &one32, at[1], k->layouts[0], at[0],
        k->layouts[1], wide ? (const void *)&zero64 : &zero32, at[2], k->layouts[2], at[2],
        k->layouts[2], k->choice.algorithm, workspace, k->choice.workspace, nxi_gpu_stream(g));
  if (workspace != 0) nxi_gpu_free(g, workspace, (int64_t)k->choice.workspace);
  if (result == 0) return NX_OK;
  return nxi_fail(d, NX_INTERNAL, "matmul", "cuBLASLt fails with status %d", result);
}

static nx_status start(nxi_gpu_shelf *shelf, nxi_diag *d) {
  if (shelf->state != NULL) return NX_OK;
  blas *b = nxi_calloc(1, sizeof *b);
  if (b == NULL) return nxi_oom(d);
  int result = cublas.create(&b->handle);
  if (result != 0) {
    nxi_free(b);
    return nxi_fail(d, NX_INTERNAL, "matmul", "cuBLASLt does not start: status %d", result);
  }
  shelf->state = b;
  shelf->free = free_all;
  return NX_OK;
}

nx_status nxi_gpu_matmul(nxi_gpu *g, const nxi_gpu_product *p, const uint64_t at[3], nxi_diag *d) {
  if (nxi_gpu_blas_missing() != NULL)
    return nxi_fail(d, NX_DEVICE_UNAVAILABLE, "matmul", "%s", missing);
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  nxi_gpu_shelf *shelf = nxi_gpu_shelf_lock(g, NXI_GPU_BLAS);
  status = start(shelf, d);
  if (status == NX_OK) status = run(g, shelf->state, p, at, d);
  nxi_gpu_shelf_unlock(shelf);
  nxi_gpu_leave(g);
  return status;
}
