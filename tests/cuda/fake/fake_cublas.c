/* SPDX-License-Identifier: ISC */
/* A fake cuBLASLt: products one element after the other. It refuses what the library does not have,
 * and a choice runs on nothing but what it was made for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_internal.h"

enum { F32, F64, F16, I8, I32 = 10, BF16 = 14 };
enum { EXECUTION_FAILED = 13, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum {
  EPILOGUE_NONE = 1,
  EPILOGUE_BIAS = 4,
  ROW_ALIGNMENT = 16,
  WORKSPACE = 4096,
  ROW_WORKSPACE = 512
};

typedef struct layout {
  int type, batches;
  int64_t rows, columns, ld, stride;
} layout;
typedef struct product {
  int transposed[2], scale;
  uint32_t epilogue;
  uint64_t bias;
} product;
typedef struct preference {
  uint64_t workspace;
  uint32_t reductions, alignment[4]; /* of A, B, C, D */
} preference;
/* What stands in cublasLtMatmulAlgo_t. */
typedef struct algorithm {
  uint32_t magic, alignment[4];
  uint64_t problem;
} algorithm;
enum { MAGIC = 0x600d };

EXPORT int cublasLtCreate(void **handle) {
  if (nxt_fake_crowds()) return 3;
  INSIDE;
  nxt_fake_cuda()->handles++;
  *handle = nxt_fake_cuda();
  return 0;
}
EXPORT int cublasLtDestroy(void *handle) {
  (void)handle;
  nxt_fake_cuda()->handles--;
  return 0;
}
EXPORT int cublasLtMatmulDescCreate(void **desc, int compute, int scale) {
  CALL;
  if ((compute != 68 || scale != F32) && (compute != 70 || scale != F64) &&
      (compute != 72 || scale != I32))
    return NOT_SUPPORTED;
  product *p = calloc(1, sizeof *p);
  if (p == NULL) return 3;
  *p = (product){.scale = scale, .epilogue = EPILOGUE_NONE};
  *desc = p;
  nxt_fake_cuda()->handles++;
  return 0;
}
EXPORT int cublasLtMatmulDescDestroy(void *desc) {
  nxt_fake_cuda()->handles--;
  free(desc);
  return 0;
}

/* One row of a table of attributes: its number, its size, where it goes. */
#define TAKE(number, field)                             \
  if (attribute == (number) && size == sizeof(field)) { \
    memcpy(&(field), value, size);                      \
    return 0;                                           \
  }
EXPORT int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value,
                                          size_t size) {
  product *p = desc;
  CALL;
  TAKE(3, p->transposed[0])
  TAKE(4, p->transposed[1])
  TAKE(7, p->epilogue)
  TAKE(8, p->bias)
  return INVALID_VALUE;
}
EXPORT int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns,
                                      int64_t ld) {
  CALL;
  if (type != F32 && type != F64 && type != F16 && type != BF16 && type != I8 && type != I32)
    return INVALID_VALUE;
  layout *l = calloc(1, sizeof *l);
  if (l == NULL) return 3;
  *l = (layout){type, 1, (int64_t)rows, (int64_t)columns, ld, 0};
  nxt_fake_cuda()->handles++;
  *out = l;
  return 0;
}
EXPORT int cublasLtMatrixLayoutDestroy(void *l) {
  nxt_fake_cuda()->handles--;
  free(l);
  return 0;
}
EXPORT int cublasLtMatrixLayoutSetAttribute(void *given, int attribute, const void *value,
                                            size_t size) {
  layout *l = given;
  CALL;
  TAKE(5, l->batches)
  TAKE(6, l->stride)
  return INVALID_VALUE;
}
EXPORT int cublasLtMatmulPreferenceCreate(void **out) {
  CALL;
  preference *p = calloc(1, sizeof *p);
  if (p == NULL) return 3;
  *p = (preference){0, 7, {256, 256, 256, 256}};
  *out = p;
  nxt_fake_cuda()->handles++;
  return 0;
}
EXPORT int cublasLtMatmulPreferenceDestroy(void *p) {
  nxt_fake_cuda()->handles--;
  free(p);
  return 0;
}
EXPORT int cublasLtMatmulPreferenceSetAttribute(void *given, int attribute, const void *value,
                                                size_t size) {
  preference *p = given;
  CALL;
  TAKE(1, p->workspace)
  TAKE(3, p->reductions)
  for (int i = 0; i < 4; i++) TAKE(5 + i, p->alignment[i])
  return INVALID_VALUE;
}

/* ---- what fits together */

static uint64_t mix(uint64_t h, int64_t x) { return (h ^ (uint64_t)x) * 0x9e3779b97f4a7c15u; }

static uint64_t problem_of(const product *p, const layout *const all[4]) {
  uint64_t h = mix((uint64_t)p->scale, p->transposed[0] + 2 * p->transposed[1]);
  for (int i = 0; i < 4; i++) {
    const int64_t parts[] = {all[i]->type,    all[i]->batches, all[i]->rows,
                             all[i]->columns, all[i]->ld,      all[i]->stride};
    for (int k = 0; k < 6; k++) h = mix(h, parts[k]);
  }
  return h;
}

/* Of integers the first operand is transposed, and the other one is not; rows and the inner extent
 * are multiples of 4, and distances and addresses of 4 bytes; nothing is added. */
static int fits_integers(const product *p, const layout *const all[4]) {
  bool good = all[0]->type == I8 && all[1]->type == I8 && all[2]->type == I32 &&
              all[3]->type == I32 && p->transposed[0] && !p->transposed[1] &&
              all[3]->rows % 4 == 0 && all[0]->rows % 4 == 0 && p->epilogue == EPILOGUE_NONE;
  for (int i = 0; i < 4; i++) good = good && all[i]->ld % 4 == 0 && all[i]->stride % 4 == 0;
  return good ? 0 : NOT_SUPPORTED;
}

/* Of f16 and bf16 the result, and what is added, may be f32. */
static bool is_wider(const layout *l, const layout *a, int operand) {
  return operand > 1 && l->type == F32 && (a->type == F16 || a->type == BF16);
}

static int fits(const product *p, const layout *const all[4]) {
  const layout *a = all[0], *b = all[1], *d = all[3];
  int64_t rows = p->transposed[0] ? a->columns : a->rows,
          inner = p->transposed[0] ? a->rows : a->columns;
  if (rows != d->rows || inner < 1 || inner != (p->transposed[1] ? b->columns : b->rows) ||
      d->columns != (p->transposed[1] ? b->rows : b->columns))
    return INVALID_VALUE;
  for (int i = 0; i < 4; i++) {
    if (all[i]->ld < all[i]->rows || all[i]->batches < 1 || all[i]->batches != a->batches ||
        all[i]->stride < 0 || all[i]->rows < 1 || all[i]->columns < 1)
      return INVALID_VALUE;
    if (p->scale == I32) continue;
    if ((all[i]->type != a->type && !is_wider(all[i], a, i)) || all[i]->type == I8 ||
        all[i]->type == I32 || (all[i]->type == F64) != (p->scale == F64))
      return NOT_SUPPORTED;
  }
  return p->scale == I32 ? fits_integers(p, all) : 0;
}

EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c,
                                          void *d, void *given, int wanted, void *results,
                                          int *found) {
  const layout *const all[] = {a, b, c, d};
  const preference *wish = given;
  const product *p = desc;
  (void)handle;
  CALL;
  int bad = fits(p, all);
  if (bad || wanted < 1) return bad ? bad : INVALID_VALUE;
  /* partial sums of 16 bits would not be within the bounds of a product in f32, and in place they
   * start from what is added */
  if (wish->reductions & 5) return INVALID_VALUE;
  algorithm chosen = {.magic = MAGIC, .problem = problem_of(p, all)};
  memcpy(chosen.alignment, wish->alignment, sizeof chosen.alignment);
  memset(results, 0, 96);
  memcpy(results, &chosen, sizeof chosen);
  ((size_t *)results)[8] = WORKSPACE;
  *found = wish->workspace >= WORKSPACE;
  return 0;
}

static int is_row_there(const product *p, const layout *d) {
  return p->bias != 0 && p->bias % ROW_ALIGNMENT == 0 && d->type == F32;
}

/* A row is added to f32 alone. */
EXPORT int cublasLtMatmulAlgoCheck(void *handle, void *desc, void *a, void *b, void *c, void *d,
                                   const void *given, void *result) {
  const layout *const all[] = {a, b, c, d};
  const product *p = desc;
  algorithm chosen;
  (void)handle;
  CALL;
  int bad = fits(p, all);
  memcpy(&chosen, given, sizeof chosen);
  if (bad || chosen.magic != MAGIC || chosen.problem != problem_of(p, all)) return INVALID_VALUE;
  if (p->epilogue == EPILOGUE_BIAS && !is_row_there(p, d)) return NOT_SUPPORTED;
  memset(result, 0, 96);
  ((size_t *)result)[8] = p->epilogue == EPILOGUE_BIAS ? ROW_WORKSPACE : WORKSPACE;
  return 0;
}

/* ---- numbers */

/* To a type of `digits` digits and that lowest exponent, ties to even. */
static double rounded(double x, int digits, int lowest, double largest) {
  int exponent;
  if (x == 0 || !isfinite(x)) return x;
  frexp(x, &exponent);
  exponent = (exponent < lowest ? lowest : exponent) - digits;
  x = ldexp(nearbyint(ldexp(x, -exponent)), exponent);
  return fabs(x) > largest ? copysign(INFINITY, x) : x;
}

static double half_value(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double x = exponent == 31 ? (fraction ? NAN : INFINITY)
             : exponent     ? ldexp(1024 + fraction, exponent - 25)
                            : ldexp(fraction, -24);
  return bits >> 15 ? -x : x;
}

static uint16_t half_bits(double x) {
  int exponent;
  uint16_t sign = signbit(x) ? 0x8000 : 0;
  x = fabs(rounded(x, 11, -13, 65504));
  if (isnan(x)) return sign | 0x7e00;
  if (isinf(x)) return sign | 0x7c00;
  if (x < 0x1p-14) return sign | (uint16_t)ldexp(x, 24);
  double fraction = frexp(x, &exponent);
  return sign | (uint16_t)((exponent + 14) << 10 | ((int)ldexp(fraction, 11) & 1023));
}

static double load(const char *base, int type, int64_t at) {
  uint32_t wide;
  float x;
  if (type == F64) return ((const double *)base)[at];
  if (type == F32) return (double)((const float *)base)[at];
  uint16_t bits = ((const uint16_t *)base)[at];
  if (type == F16) return half_value(bits);
  wide = (uint32_t)bits << 16;
  memcpy(&x, &wide, sizeof x);
  return (double)x;
}

static void store(char *base, int type, int64_t at, double value) {
  if (type == F64) ((double *)base)[at] = value;
  else if (type == F32) ((float *)base)[at] = (float)value;
  else if (type == F16) ((uint16_t *)base)[at] = half_bits(value);
  else {
    float x = (float)rounded(value, 8, -125, 3.3895313892515355e38);
    uint32_t wide;
    memcpy(&wide, &x, sizeof wide);
    ((uint16_t *)base)[at] = isnan(x) ? 0x7fc0 : (uint16_t)(wide >> 16);
  }
}

/* Column by column: element (i, j) of a stored matrix is at i + j * ld. */
static double element(const char *base, const layout *l, int transposed, int64_t batch, int64_t i,
                      int64_t j) {
  return load(base, l->type, batch * l->stride + (transposed ? j + i * l->ld : i + j * l->ld));
}

static double in_scale(const product *p, double x) {
  return p->scale == F64 ? x : (double)(float)x;
}

/* ---- a product */

typedef struct task {
  product p;
  layout all[4];
  const char *a, *b, *c, *row;
  char *d, *workspace;
  size_t workspace_bytes;
  double beta;
} task;

static void multiply_integers(const task *t) {
  const layout *all = t->all, *d = &all[3];
  for (int64_t batch = 0; batch < d->batches; batch++)
    for (int64_t j = 0; j < d->columns; j++)
      for (int64_t i = 0; i < d->rows; i++) {
        const signed char *a = (const signed char *)t->a + batch * all[0].stride + i * all[0].ld,
                          *b = (const signed char *)t->b + batch * all[1].stride + j * all[1].ld;
        uint32_t sum = 0;
        for (int64_t k = 0; k < all[0].rows; k++) sum += (uint32_t)(a[k] * b[k]);
        ((uint32_t *)t->d)[batch * d->stride + i + j * d->ld] = sum;
      }
}

static void multiply(void *what) {
  const task *t = what;
  const product *p = &t->p;
  const layout *all = t->all, *d = &all[3];
  memset(t->workspace, 0x5a, t->workspace_bytes);
  int64_t inner = p->transposed[0] ? all[0].rows : all[0].columns;
  const int64_t batches = p->scale == I32 ? 0 : d->batches;
  if (p->scale == I32) multiply_integers(t);
  for (int64_t batch = 0; batch < batches; batch++)
    for (int64_t j = 0; j < d->columns; j++)
      for (int64_t i = 0; i < d->rows; i++) {
        double sum = 0;
        for (int64_t k = 0; k < inner; k++)
          sum += element(t->a, &all[0], p->transposed[0], batch, i, k) *
                 element(t->b, &all[1], p->transposed[1], batch, k, j);
        sum = in_scale(p, sum);
        if (t->beta != 0) sum = in_scale(p, sum + t->beta * element(t->c, &all[2], 0, batch, i, j));
        if (t->row != NULL) sum = in_scale(p, sum + load(t->row, d->type, i));
        store(t->d, d->type, batch * d->stride + i + j * d->ld, sum);
      }
  nxt_fake_cuda()->products++;
  nxt_fake_cuda()->rows_added += t->row != NULL;
  nxt_fake_cuda()->matrices_added += t->beta != 0;
}

EXPORT int cublasLtMatmul(void *handle, void *desc, const void *alpha, uint64_t a, void *a_layout,
                          uint64_t b, void *b_layout, const void *beta, uint64_t c, void *c_layout,
                          uint64_t d, void *d_layout, const void *given, uint64_t workspace,
                          size_t workspace_bytes, void *stream) {
  const layout *const all[] = {a_layout, b_layout, c_layout, d_layout};
  const uint64_t at[] = {a, b, c, d};
  const product *p = desc;
  algorithm chosen;
  (void)handle;
  INSIDE;
  memcpy(&chosen, given, sizeof chosen);
  bool adds_row = p->epilogue == EPILOGUE_BIAS, wide = p->scale == F64;
  if (fits(p, all) || chosen.magic != MAGIC || chosen.problem != problem_of(p, all) ||
      (adds_row && !is_row_there(p, all[3])) || workspace % 256 != 0 ||
      workspace_bytes != (size_t)(adds_row ? ROW_WORKSPACE : WORKSPACE) ||
      (wide              ? *(const double *)alpha != 1
       : p->scale == I32 ? *(const int *)alpha != 1 || *(const int *)beta != 0
                         : *(const float *)alpha != 1))
    return INVALID_VALUE;
  for (int i = 0; i < 4; i++)
    if (at[i] == 0 || chosen.alignment[i] < 1 || at[i] % chosen.alignment[i] != 0 ||
        (p->scale == I32 && at[i] % 4 != 0))
      return EXECUTION_FAILED;
  task t = {.p = *p,
            .a = nxt_fake_host(a),
            .b = nxt_fake_host(b),
            .c = nxt_fake_host(c),
            .d = nxt_fake_host(d),
            .workspace = nxt_fake_host(workspace),
            .workspace_bytes = workspace_bytes,
            .row = adds_row ? nxt_fake_host(p->bias) : NULL,
            .beta = wide              ? *(const double *)beta
                    : p->scale == I32 ? 0
                                      : (double)*(const float *)beta};
  for (int i = 0; i < 4; i++) t.all[i] = *all[i];
  return nxt_fake_start(stream, multiply, &t, sizeof t);
}
