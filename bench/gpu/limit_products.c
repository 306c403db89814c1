/* SPDX-License-Identifier: ISC */
/* The best algorithm of cuBLASLt for a product, found by trying all that it proposes. It is
 * independent of nx's own use of the library (runtime/cuda/library/blas.c), with which it is
 * compared. */
#include <stdlib.h>

#include "codegen_cuda/toolkit.h"
#include "gpu.h"
#include "runtime/cuda/internal.h"

static struct table {
#define CUBLAS(name, symbol, arguments) int(*name) arguments;
#include "runtime/cuda/library/blas.def"
#undef CUBLAS
} lt;

enum { PROPOSED = 32, WORKSPACE = 32 << 20, TRIES = 5 };
/* Of the library's enumerations: element types, and the computations that keep all their bits. */
static const struct {
  nx_dtype dtype;
  int type, result, compute, scale, bytes, result_bytes;
} types[] = {{NX_F32, 0, 0, 68, 0, 4, 4},
             {NX_F64, 1, 1, 70, 1, 8, 8},
             {NX_F16, 2, 2, 68, 0, 2, 2},
             {NX_BF16, 14, 14, 68, 0, 2, 2},
             {NX_I8, 3, 10, 72, 10, 1, 4}};
enum { TYPES = sizeof types / sizeof *types };

typedef struct proposal { /* cublasLtMatmulHeuristicResult_t */
  uint64_t algorithm[8];
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
} proposal;

struct gpu_product {
  const gpu_lab *lab;
  nx_dtype dtype;
  void *handle, *desc, *layouts[3]; /* of the operands as the library sees them, and the result */
  uint64_t at[3], workspace;        /* of both operands and the result, as the layouts */
  int64_t bytes[3];
  proposal best;
};

static bool load(void) {
  static const char *const files[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
  static const char *const symbols[] = {
#define CUBLAS(name, symbol, arguments) #symbol,
#include "runtime/cuda/library/blas.def"
#undef CUBLAS
      NULL};
  static const nxu_library library = {"cuBLASLt", "NX_CUBLAS", files, symbols};
  static int loaded = -1;
  char missing[NXU_SENTENCE];
  if (loaded < 0) loaded = nxu_load_library(&library, &lt, missing);
  return loaded == 1;
}

/* Inside. */
static int multiply(gpu_product *p, const proposal *how) {
  static const double numbers64[] = {0, 1};
  static const float numbers32[] = {0, 1};
  static const int32_t integers[] = {0, 1};
  const size_t step = p->dtype == NX_F64 ? 8 : 4;
  const char *zero = p->dtype == NX_F64  ? (const char *)numbers64
                     : p->dtype == NX_I8 ? (const char *)integers
                                         : (const char *)numbers32;
  return lt.matmul(p->handle, p->desc, zero + step, p->at[0], p->layouts[0], p->at[1],
                   p->layouts[1], zero, p->at[2], p->layouts[2], p->at[2], p->layouts[2],
                   how->algorithm, p->workspace, how->workspace, nxi_gpu_stream(p->lab->gpu));
}

void gpu_product_run(void *product) {
  gpu_product *p = product;
  bench_check(nxi_gpu_enter(p->lab->gpu, NULL));
  if (multiply(p, &p->best) != 0) exit(1);
  nxi_gpu_leave(p->lab->gpu);
}
void gpu_product_wait(void *product) { gpu_wait(((const gpu_product *)product)->lab); }

/* Seconds of one, inside; < 0: the library cannot. */
static double time_proposal(gpu_product *p, const proposal *how) {
  double best = -1;
  for (int i = 0; i < TRIES; i++) {
    gpu_wait(p->lab);
    double t = bench_now();
    if (multiply(p, how) != 0) return -1;
    gpu_wait(p->lab);
    t = bench_now() - t;
    if (best < 0 || t < best) best = t;
  }
  return best;
}

static bool choose(gpu_product *p) {
  proposal all[PROPOSED];
  void *preference = NULL;
  size_t most = WORKSPACE;
  uint32_t whole = 2; /* partial sums keep their bits, as they do in nx */
  int found = 0;
  double best = -1;
  if (lt.preference_create(&preference) != 0) return false;
  bool good = lt.preference_set(preference, 1, &most, sizeof most) == 0 && /* workspace */
              lt.preference_set(preference, 3, &whole, sizeof whole) == 0 &&
              lt.heuristic(p->handle, p->desc, p->layouts[0], p->layouts[1], p->layouts[2],
                           p->layouts[2], preference, PROPOSED, all, &found) == 0;
  lt.preference_destroy(preference);
  for (int i = 0; good && i < found; i++) {
    double t = time_proposal(p, &all[i]);
    if (t < 0 || (best >= 0 && t >= best)) continue;
    best = t;
    p->best = all[i];
  }
  return best >= 0;
}

/* The library has columns where the rows of a product are: its operands are b, then a. */
static bool describe(gpu_product *p, int type, const gpu_product_shape *s) {
  const int32_t count = (int32_t)s->batches, turned[2] = {s->transposed[1], s->transposed[0]};
  const int64_t rows[3] = {s->transposed[1] ? s->k : s->n, s->transposed[0] ? s->m : s->k, s->n},
                columns[3] = {s->transposed[1] ? s->n : s->k, s->transposed[0] ? s->k : s->m, s->m};
  bool good = lt.create(&p->handle) == 0 &&
              lt.matmul_create(&p->desc, types[type].compute, types[type].scale) == 0 &&
              lt.matmul_set(p->desc, 3, &turned[0], sizeof turned[0]) == 0 &&
              lt.matmul_set(p->desc, 4, &turned[1], sizeof turned[1]) == 0;
  for (int i = 0; i < 3 && good; i++) {
    const int64_t stride = rows[i] * columns[i];
    good = lt.layout_create(&p->layouts[i], i < 2 ? types[type].type : types[type].result,
                            (uint64_t)rows[i], (uint64_t)columns[i], rows[i]) == 0 &&
           lt.layout_set(p->layouts[i], 5, &count, sizeof count) == 0 && /* batches, their stride */
           lt.layout_set(p->layouts[i], 6, &stride, sizeof stride) == 0;
  }
  return good;
}

gpu_product *gpu_product_create(const gpu_lab *lab, nx_dtype dtype, const gpu_product_shape *s) {
  int type = 0;
  while (type < TYPES && types[type].dtype != dtype) type++;
  if (type == TYPES || !load()) return NULL;
  gpu_product *p = calloc(1, sizeof *p);
  p->lab = lab;
  p->dtype = dtype;
  p->bytes[0] = s->k * s->n * s->batches * types[type].bytes;
  p->bytes[1] = s->m * s->k * s->batches * types[type].bytes;
  p->bytes[2] = s->m * s->n * s->batches * types[type].result_bytes;
  for (int i = 0; i < 3; i++) bench_check(nxi_gpu_alloc(lab->gpu, p->bytes[i], &p->at[i], NULL));
  bench_check(nxi_gpu_alloc(lab->gpu, WORKSPACE, &p->workspace, NULL));
  bench_check(nxi_gpu_enter(lab->gpu, NULL));
  bool good = describe(p, type, s) && choose(p);
  nxi_gpu_leave(lab->gpu);
  if (good) return p;
  gpu_product_free(p);
  return NULL;
}

void gpu_product_free(gpu_product *p) {
  if (p == NULL) return;
  for (int i = 0; i < 3; i++) nxi_gpu_free(p->lab->gpu, p->at[i], p->bytes[i]);
  nxi_gpu_free(p->lab->gpu, p->workspace, WORKSPACE);
  for (int i = 0; i < 3; i++)
    if (p->layouts[i]) lt.layout_destroy(p->layouts[i]);
  if (p->desc) lt.matmul_destroy(p->desc);
  bench_check(nxi_gpu_enter(p->lab->gpu, NULL));
  if (p->handle) lt.destroy(p->handle);
  nxi_gpu_leave(p->lab->gpu);
  free(p);
}
