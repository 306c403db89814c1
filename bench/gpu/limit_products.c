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
  int type, compute, scale, bytes;
} types[] = {
    {NX_F32, 0, 68, 0, 4}, {NX_F64, 1, 70, 1, 8}, {NX_F16, 2, 68, 0, 2}, {NX_BF16, 14, 68, 0, 2}};

typedef struct proposal { /* cublasLtMatmulHeuristicResult_t */
  uint64_t algorithm[8];
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
} proposal;

struct gpu_product {
  const gpu_lab *lab;
  bool wide; /* factors of the product are f64 */
  void *handle, *desc, *layout;
  uint64_t a, b, c, workspace;
  int64_t bytes; /* of a matrix's batch */
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
  static const double one64 = 1, zero64 = 0;
  static const float one32 = 1, zero32 = 0;
  const void *one = p->wide ? (const void *)&one64 : &one32;
  const void *zero = p->wide ? (const void *)&zero64 : &zero32;
  return lt.matmul(p->handle, p->desc, one, p->a, p->layout, p->b, p->layout, zero, p->c, p->layout,
                   p->c, p->layout, how->algorithm, p->workspace, how->workspace,
                   nxi_gpu_stream(p->lab->gpu));
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
              lt.heuristic(p->handle, p->desc, p->layout, p->layout, p->layout, p->layout,
                           preference, PROPOSED, all, &found) == 0;
  lt.preference_destroy(preference);
  for (int i = 0; good && i < found; i++) {
    double t = time_proposal(p, &all[i]);
    if (t < 0 || (best >= 0 && t >= best)) continue;
    best = t;
    p->best = all[i];
  }
  return best >= 0;
}

/* Square matrices are their own transposes' shapes, so one layout does for all three. */
static bool describe(gpu_product *p, int type, int64_t n, int64_t batches) {
  int32_t count = (int32_t)batches;
  int64_t stride = n * n;
  int compute = types[type].compute, scale = types[type].scale;
  return lt.create(&p->handle) == 0 && lt.matmul_create(&p->desc, compute, scale) == 0 &&
         lt.layout_create(&p->layout, types[type].type, (uint64_t)n, (uint64_t)n, n) == 0 &&
         lt.layout_set(p->layout, 5, &count, sizeof count) == 0 && /* batches, and their stride */
         lt.layout_set(p->layout, 6, &stride, sizeof stride) == 0;
}

gpu_product *gpu_product_create(const gpu_lab *lab, nx_dtype dtype, int64_t n, int64_t batches) {
  int type = 0;
  while (type < 4 && types[type].dtype != dtype) type++;
  if (type == 4 || !load()) return NULL;
  gpu_product *p = calloc(1, sizeof *p);
  p->lab = lab;
  p->wide = dtype == NX_F64;
  p->bytes = n * n * batches * types[type].bytes;
  uint64_t *const memory[] = {&p->a, &p->b, &p->c};
  for (int i = 0; i < 3; i++) bench_check(nxi_gpu_alloc(lab->gpu, p->bytes, memory[i], NULL));
  bench_check(nxi_gpu_alloc(lab->gpu, WORKSPACE, &p->workspace, NULL));
  bench_check(nxi_gpu_enter(lab->gpu, NULL));
  bool good = describe(p, type, n, batches) && choose(p);
  nxi_gpu_leave(lab->gpu);
  if (good) return p;
  gpu_product_free(p);
  return NULL;
}

void gpu_product_free(gpu_product *p) {
  if (p == NULL) return;
  nxi_gpu_free(p->lab->gpu, p->a, p->bytes);
  nxi_gpu_free(p->lab->gpu, p->b, p->bytes);
  nxi_gpu_free(p->lab->gpu, p->c, p->bytes);
  nxi_gpu_free(p->lab->gpu, p->workspace, WORKSPACE);
  if (p->layout) lt.layout_destroy(p->layout);
  if (p->desc) lt.matmul_destroy(p->desc);
  bench_check(nxi_gpu_enter(p->lab->gpu, NULL));
  if (p->handle) lt.destroy(p->handle);
  nxi_gpu_leave(p->lab->gpu);
  free(p);
}
