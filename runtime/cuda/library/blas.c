/* SPDX-License-Identifier: ISC */
/* cuBLASLt expects matrices in column-major order, so each product is passed as c' = b' a' of the
 * transposed matrices. For each kind of product the library's first choice of algorithm is kept; it
 * does not depend on what is added to the product. Sums are computed in f32, and in f64 for f64: no
 * partial sum is rounded to a type of fewer bits, and no operand is rounded before it is
 * multiplied. */
#include "blas.h"

#include "ir/platform/thread.h"
#include <stdlib.h>
#include <string.h>

#include "codegen_cuda/toolkit.h"
#include "ir/alloc.h"
#include "runtime/cuda/internal.h"

/* Values of the library's enumerations. */
enum {
  TYPE_F32 = 0,
  TYPE_F64 = 1,
  TYPE_F16 = 2,
  TYPE_I8 = 3,
  TYPE_I32 = 10,
  TYPE_BF16 = 14,
  COMPUTE_F32 = 68,
  COMPUTE_F64 = 70,
  COMPUTE_I32 = 72,
  MATMUL_TRANSPOSE_A = 3,
  MATMUL_TRANSPOSE_B = 4,
  MATMUL_EPILOGUE = 7,
  MATMUL_BIAS = 8,
  EPILOGUE_BIAS = 4,
  LAYOUT_BATCHES = 5,
  LAYOUT_BATCH_STRIDE = 6,
  PREFERENCE_WORKSPACE = 1,
  PREFERENCE_REDUCTIONS = 3,
  PREFERENCE_ALIGNMENT_A = 5, /* and the next numbers for B, C and D */
  REDUCE_IN_COMPUTE_TYPE = 2,
  NOT_STARTED = 1,
  NO_MEMORY = 3,
  INVALID_VALUE = 7,
  ARCHITECTURE_MISMATCH = 8,
  NOT_SUPPORTED = 15
};
enum { WORKSPACE = 32 << 20, MOST_KEPT = 256, ROW_ALIGNMENT = 16 };

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
static nxi_once once = NXI_ONCE_INITIALIZER;

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
  nxi_once_run(&once, load);
  return missing[0] != 0 ? missing : NULL;
}

uint32_t nxi_gpu_blas_dtypes(const char *arch) {
  uint32_t all = 1u << NX_F32 | 1u << NX_F64 | 1u << NX_F16 | 1u << NX_C64 | 1u << NX_C128;
  bool has_bf16 = strncmp(arch, "sm_", 3) == 0 && atoi(arch + 3) >= 80;
  return has_bf16 ? all | 1u << NX_BF16 : all;
}

/* ---- the state that is kept for a GPU */

typedef struct kept {
  nxi_gpu_product product; /* `added` is ignored */
  void *desc, *layouts[3]; /* of b', a', c' */
  void *row_desc;          /* the same with a row that is added; NULL: not made yet */
  bool adds_row;           /* the chosen algorithm can add a row */
  choice choice;
  size_t row_workspace;
} kept;

typedef struct blas {
  void *handle;
  uint64_t marks[MOST_KEPT]; /* hashes of the products that are kept, which are compared first */
  kept kept[MOST_KEPT];
  int n, next;
} blas;

static void forget(kept *k) {
  for (int i = 0; i < 3; i++)
    if (k->layouts[i] != NULL) cublas.layout_destroy(k->layouts[i]);
  if (k->desc != NULL) cublas.matmul_destroy(k->desc);
  if (k->row_desc != NULL) cublas.matmul_destroy(k->row_desc);
  *k = (kept){.desc = NULL};
}

static void free_all(void *state) {
  blas *b = state;
  for (int i = 0; i < b->n; i++) forget(&b->kept[i]);
  cublas.destroy(b->handle);
  nxi_free(b);
}

/* How the library names the types of a product. */
typedef struct types {
  nx_dtype result, operands;
  int of_result, of_operands, compute, scale;
} types;

static types types_of(const nxi_gpu_product *p) {
  static const types all[] = {{NX_F32, NX_F32, TYPE_F32, TYPE_F32, COMPUTE_F32, TYPE_F32},
                              {NX_F64, NX_F64, TYPE_F64, TYPE_F64, COMPUTE_F64, TYPE_F64},
                              {NX_F16, NX_F16, TYPE_F16, TYPE_F16, COMPUTE_F32, TYPE_F32},
                              {NX_BF16, NX_BF16, TYPE_BF16, TYPE_BF16, COMPUTE_F32, TYPE_F32},
                              {NX_F32, NX_F16, TYPE_F32, TYPE_F16, COMPUTE_F32, TYPE_F32},
                              {NX_F32, NX_BF16, TYPE_F32, TYPE_BF16, COMPUTE_F32, TYPE_F32},
                              {NX_I32, NX_I8, TYPE_I32, TYPE_I8, COMPUTE_I32, TYPE_I32}};
  int i = 0;
  while (all[i].result != p->dtype || all[i].operands != p->operands) i++;
  return all[i];
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
  const types t = types_of(p);
  int result = cublas.layout_create(out, operand < 2 ? t.of_operands : t.of_result, (uint64_t)rows,
                                    (uint64_t)columns, p->ld[operand]);
  if (result == 0) result = cublas.layout_set(*out, LAYOUT_BATCHES, &batches, sizeof batches);
  if (result == 0)
    result = cublas.layout_set(*out, LAYOUT_BATCH_STRIDE, &p->batch_strides[operand],
                               sizeof p->batch_strides[operand]);
  return result;
}

static int set_preference(void *preference, const nxi_gpu_product *p) {
  static const int order[] = {1, 0, 2, 2};
  uint64_t most = WORKSPACE;
  uint32_t reductions = REDUCE_IN_COMPUTE_TYPE;
  int result = cublas.preference_set(preference, PREFERENCE_WORKSPACE, &most, sizeof most);
  if (result == 0)
    result =
        cublas.preference_set(preference, PREFERENCE_REDUCTIONS, &reductions, sizeof reductions);
  for (int i = 0; i < 4 && result == 0; i++) {
    uint32_t bytes = (uint32_t)p->alignment[order[i]];
    result = cublas.preference_set(preference, PREFERENCE_ALIGNMENT_A + i, &bytes, sizeof bytes);
  }
  return result;
}

static int choose(const blas *b, kept *k) {
  void *preference = NULL;
  int found = 0, result = cublas.preference_create(&preference);
  if (result != 0) return result;
  result = set_preference(preference, &k->product);
  if (result == 0)
    result = cublas.heuristic(b->handle, k->desc, k->layouts[0], k->layouts[1], k->layouts[2],
                              k->layouts[2], preference, 1, &k->choice, &found);
  cublas.preference_destroy(preference);
  if (result == 0 && found > 0) return k->choice.status;
  return result == 0 ? NOT_SUPPORTED : result;
}

static int make_desc(void **out, const nxi_gpu_product *p) {
  const types t = types_of(p);
  int32_t first = p->transposed[1], second = p->transposed[0];
  int result = cublas.matmul_create(out, t.compute, t.scale);
  if (result == 0) result = cublas.matmul_set(*out, MATMUL_TRANSPOSE_A, &first, sizeof first);
  if (result == 0) result = cublas.matmul_set(*out, MATMUL_TRANSPOSE_B, &second, sizeof second);
  return result;
}

static int prepare(const blas *b, kept *k, const nxi_gpu_product *p) {
  static const int order[] = {1, 0, 2};
  k->product = *p;
  int result = make_desc(&k->desc, p);
  for (int i = 0; i < 3 && result == 0; i++) result = make_layout(&k->layouts[i], p, order[i]);
  return result == 0 ? choose(b, k) : result;
}

static bool same(const nxi_gpu_product *a, const nxi_gpu_product *b) {
  bool equal = a->dtype == b->dtype && a->operands == b->operands && a->m == b->m && a->n == b->n &&
               a->k == b->k && a->transposed[0] == b->transposed[0] &&
               a->transposed[1] == b->transposed[1] && a->batches == b->batches;
  return equal && memcmp(a->ld, b->ld, sizeof a->ld) == 0 &&
         memcmp(a->batch_strides, b->batch_strides, sizeof a->batch_strides) == 0 &&
         memcmp(a->alignment, b->alignment, sizeof a->alignment) == 0;
}

static uint64_t mix(uint64_t h, int64_t x) {
  h = (h ^ (uint64_t)x) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ h >> 32;
}

static uint64_t mark_of(const nxi_gpu_product *p) {
  uint64_t h = mix(mix((uint64_t)p->dtype, p->transposed[0]), p->transposed[1]);
  h = mix(h, p->operands);
  h = mix(mix(mix(mix(h, p->m), p->n), p->k), p->batches);
  for (int i = 0; i < 3; i++) h = mix(mix(mix(h, p->ld[i]), p->batch_strides[i]), p->alignment[i]);
  return h;
}

/* Returns the product of this kind from those that are kept, or prepares it. */
static int find(blas *b, const nxi_gpu_product *p, kept **out) {
  uint64_t mark = mark_of(p);
  for (int i = 0; i < b->n; i++)
    if (b->marks[i] == mark && same(&b->kept[i].product, p)) {
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
  b->marks[b->next] = mark;
  b->next = (b->next + 1) % MOST_KEPT;
  if (b->n < MOST_KEPT) b->n++;
  *out = k;
  return 0;
}

/* ---- the addend */

/* Asks whether the choice for the product alone can add a row at that address. */
static int ask_for_row(const blas *b, kept *k, uint64_t row) {
  uint32_t epilogue = EPILOGUE_BIAS;
  choice answer = {.workspace = 0};
  int result = make_desc(&k->row_desc, &k->product);
  if (result == 0)
    result = cublas.matmul_set(k->row_desc, MATMUL_EPILOGUE, &epilogue, sizeof epilogue);
  if (result == 0) result = cublas.matmul_set(k->row_desc, MATMUL_BIAS, &row, sizeof row);
  if (result != 0) return result;
  result = cublas.check(b->handle, k->row_desc, k->layouts[0], k->layouts[1], k->layouts[2],
                        k->layouts[2], k->choice.algorithm, &answer);
  k->adds_row = result == 0 && answer.workspace <= WORKSPACE;
  k->row_workspace = answer.workspace;
  bool no = result == INVALID_VALUE || result == ARCHITECTURE_MISMATCH || result == NOT_SUPPORTED;
  return no ? 0 : result;
}

/* Sets *adds to whether the library adds the row itself, and prepares that. */
static int use_row(const blas *b, kept *k, uint64_t row, bool *adds) {
  int result = 0;
  *adds = row % ROW_ALIGNMENT == 0;
  if (!*adds) return 0;
  if (k->row_desc == NULL) {
    result = ask_for_row(b, k, row);
    if (result != 0 && k->row_desc != NULL) {
      cublas.matmul_destroy(k->row_desc);
      k->row_desc = NULL;
    }
  } else if (k->adds_row) {
    result = cublas.matmul_set(k->row_desc, MATMUL_BIAS, &row, sizeof row);
  }
  *adds = result == 0 && k->adds_row;
  return result;
}

/* Copies the addend to the memory of the result, to which the product is then added: a matrix, or
 * copies of a row. */
static nx_status lay_down(nxi_gpu *g, const nxi_gpu_product *p, const uint64_t at[4], nxi_diag *d) {
  int64_t bytes = p->batches * p->m * p->n * nxi_dtype_size(p->dtype);
  int64_t have = p->added == NXP_ADD_ROW ? p->n * nxi_dtype_size(p->dtype) : bytes;
  nx_status status = nxi_gpu_copy(g, at[2], at[3], have, d);
  while (have < bytes && status == NX_OK) {
    int64_t more = have < bytes - have ? have : bytes - have;
    status = nxi_gpu_copy(g, at[2] + (uint64_t)have, at[2], more, d);
    have += more;
  }
  return status;
}

/* ---- a product */

/* How the library is called: the description, the address of c, and whether c is added (its factor
 * is 1 or 0). */
typedef struct call {
  void *desc;
  uint64_t c;
  bool adds_c;
  size_t workspace;
} call;

static nx_status failed(int result, nxi_diag *d) {
  if (result == NO_MEMORY) return nxi_oom(d);
  return nxi_fail(d, NX_INTERNAL, "matmul", "cuBLASLt fails with status %d", result);
}

static nx_status prepare_call(nxi_gpu *g, const blas *b, kept *k, const nxi_gpu_product *p,
                              const uint64_t at[4], call *out, nxi_diag *d) {
  bool in_place = false;
  *out = (call){k->desc, at[2], p->added != NXP_ADD_NOTHING, k->choice.workspace};
  if (p->added == NXP_ADD_ROW) {
    int result = use_row(b, k, at[3], &in_place);
    if (result != 0) return failed(result, d);
    if (in_place) *out = (call){k->row_desc, at[2], false, k->row_workspace};
  } else if (p->added == NXP_ADD_MATRIX) {
    in_place = at[3] % (uint64_t)p->alignment[2] == 0;
    if (in_place) out->c = at[3];
  }
  return out->adds_c && !in_place ? lay_down(g, p, at, d) : NX_OK;
}

/* 0 or 1, of the type of factors. */
static const void *factor_of(nx_dtype t, bool one) {
  static const float numbers32[] = {0, 1};
  static const double numbers64[] = {0, 1};
  static const int32_t integers[] = {0, 1};
  return t == NX_F64   ? (const void *)&numbers64[one]
         : t == NX_I32 ? (const void *)&integers[one]
                       : (const void *)&numbers32[one];
}

static nx_status run(nxi_gpu *g, blas *b, const nxi_gpu_product *p, const uint64_t at[4],
                     nxi_diag *d) {
  kept *k = NULL;
  call c;
  uint64_t workspace = 0;
  int result = find(b, p, &k);
  if (result != 0) return failed(result, d);
  nx_status status = prepare_call(g, b, k, p, at, &c, d);
  if (status == NX_OK && c.workspace > 0)
    status = nxi_gpu_alloc(g, (int64_t)c.workspace, &workspace, d);
  if (status != NX_OK) return status;
  const void *one = factor_of(p->dtype, true), *beta = factor_of(p->dtype, c.adds_c);
  result = cublas.matmul(b->handle, c.desc, one, at[1], k->layouts[0], at[0], k->layouts[1], beta,
                         c.c, k->layouts[2], at[2], k->layouts[2], k->choice.algorithm, workspace,
                         c.workspace, nxi_gpu_stream(g));
  if (workspace != 0) nxi_gpu_free(g, workspace, (int64_t)c.workspace);
  return result == 0 ? NX_OK : failed(result, d);
}

static nx_status start(nxi_gpu *g, nxi_gpu_shelf *shelf, nxi_diag *d) {
  if (shelf->state != NULL) return NX_OK;
  blas *b = nxi_calloc(1, sizeof *b);
  if (b == NULL) return nxi_oom(d);
  int result = cublas.create(&b->handle);
  /* these are also reported when memory is exhausted */
  if (result == NO_MEMORY || result == NOT_STARTED) {
    nxi_gpu_free_all_kept(g);
    result = cublas.create(&b->handle);
  }
  if (result != 0) {
    nxi_free(b);
    if (result == NO_MEMORY) return nxi_oom(d);
    return nxi_fail(d, NX_INTERNAL, "matmul", "cuBLASLt does not start: status %d", result);
  }
  shelf->state = b;
  shelf->free = free_all;
  return NX_OK;
}

bool nxi_gpu_blas_multiplies(nxi_gpu *g, const nxi_gpu_product *p) {
  kept *k;
  if (nxi_gpu_blas_missing() != NULL || nxi_gpu_enter(g, NULL) != NX_OK) return false;
  nxi_gpu_shelf *shelf = nxi_gpu_shelf_lock(g, NXI_GPU_BLAS);
  bool good = start(g, shelf, NULL) == NX_OK && find(shelf->state, p, &k) == 0;
  nxi_gpu_shelf_unlock(shelf);
  nxi_gpu_leave(g);
  return good;
}

nx_status nxi_gpu_matmul(nxi_gpu *g, const nxi_gpu_product *p, const uint64_t at[4], nxi_diag *d) {
  if (nxi_gpu_blas_missing() != NULL)
    return nxi_fail(d, NX_DEVICE_UNAVAILABLE, "matmul", "%s", missing);
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  nxi_gpu_shelf *shelf = nxi_gpu_shelf_lock(g, NXI_GPU_BLAS);
  status = start(g, shelf, d);
  if (status == NX_OK) status = run(g, shelf->state, p, at, d);
  nxi_gpu_shelf_unlock(shelf);
  nxi_gpu_leave(g);
  return status;
}
