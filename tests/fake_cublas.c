/* SPDX-License-Identifier: ISC */
/* cuBLASLt on paper: products one element after the other. */
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_internal.h"

typedef struct layout {
  int type, batches;
  int64_t rows, columns, ld, stride;
} layout;
typedef struct product {
  int transposed[2];
} product;

EXPORT int cublasLtCreate(void **handle) {
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
  if ((compute != 68 || scale != 0) && (compute != 70 || scale != 1)) return 15;
  nxt_fake_cuda()->handles++;
  return (*desc = calloc(1, sizeof(product))) == NULL;
}
EXPORT int cublasLtMatmulDescDestroy(void *desc) {
  nxt_fake_cuda()->handles--;
  free(desc);
  return 0;
}
EXPORT int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value,
                                          size_t size) {
  CALL;
  if ((attribute != 3 && attribute != 4) || size != sizeof(int)) return 7;
  memcpy(&((product *)desc)->transposed[attribute - 3], value, size);
  return 0;
}
EXPORT int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns,
                                      int64_t ld) {
  CALL;
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
  if (attribute == 5 && size == sizeof(int)) memcpy(&l->batches, value, size);
  else if (attribute == 6 && size == sizeof l->stride) memcpy(&l->stride, value, size);
  else return 7;
  return 0;
}
EXPORT int cublasLtMatmulPreferenceCreate(void **preference) {
  CALL;
  nxt_fake_cuda()->handles++;
  return (*preference = malloc(1)) == NULL;
}
EXPORT int cublasLtMatmulPreferenceDestroy(void *preference) {
  nxt_fake_cuda()->handles--;
  free(preference);
  return 0;
}
EXPORT int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value,
                                                size_t size) {
  (void)preference;
  (void)value;
  CALL;
  return attribute == 1 && size == sizeof(size_t) ? 0 : 7;
}
EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c,
                                          void *d, void *preference, int wanted, void *results,
                                          int *found) {
  (void)handle;
  (void)desc;
  (void)preference;
  CALL;
  const layout *all[] = {a, b, c, d};
  for (int i = 0; i < 4; i++)
    if (all[i]->ld < all[i]->rows || all[i]->batches != all[0]->batches) return 7;
  memset(results, 0, 96);
  ((size_t *)results)[8] = 4096; /* workspace */
  *found = wanted;
  return 0;
}

/* Column by column: element (i, j) of a stored matrix is at i + j * ld. */
static double element(const char *base, const layout *l, int transposed, int64_t batch, int64_t i,
                      int64_t j) {
  int64_t at = batch * l->stride + (transposed ? j + i * l->ld : i + j * l->ld);
  if (l->type == 1) return ((const double *)base)[at];
  return (double)((const float *)base)[at];
}

EXPORT int cublasLtMatmul(void *handle, void *desc, const void *alpha, uint64_t a, void *a_layout,
                          uint64_t b, void *b_layout, const void *beta, uint64_t c, void *c_layout,
                          uint64_t d, void *d_layout, const void *algorithm, uint64_t workspace,
                          size_t workspace_bytes, void *stream) {
  const product *p = desc;
  const layout *la = a_layout, *lb = b_layout, *ld = d_layout;
  (void)handle;
  (void)alpha;
  (void)beta;
  (void)algorithm;
  (void)stream;
  INSIDE;
  if (c != d || c_layout != d_layout || workspace_bytes != 4096) return 7;
  memset(nxt_fake_host(workspace), 0x5a, workspace_bytes);
  int64_t inner = p->transposed[0] ? la->rows : la->columns;
  for (int64_t batch = 0; batch < ld->batches; batch++)
    for (int64_t j = 0; j < ld->columns; j++)
      for (int64_t i = 0; i < ld->rows; i++) {
        double sum = 0;
        for (int64_t k = 0; k < inner; k++)
          sum += element(nxt_fake_host(a), la, p->transposed[0], batch, i, k) *
                 element(nxt_fake_host(b), lb, p->transposed[1], batch, k, j);
        int64_t at = batch * ld->stride + i + j * ld->ld;
        if (ld->type == 1) ((double *)nxt_fake_host(d))[at] = sum;
        else ((float *)nxt_fake_host(d))[at] = (float)sum;
      }
  nxt_fake_cuda()->products++;
  return 0;
}
