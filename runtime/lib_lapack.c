/* SPDX-License-Identifier: ISC */
/* Finds the routines of LAPACK; moving and checking of matrices for the functions over it. */
#include "lapack.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "ir/op.h"

/* ---- the routines */

enum { TYPES = 4 };

static const struct {
  const char *symbols[TYPES];
} routines[] = {
#define LAPACK(name, s, d, c, z) {{s, d, c, z}},
#include "lapack_routines.def"
#undef LAPACK
};

static struct {
  nxi_lapack_fn found[NXI_LAPACK_ROUTINES][TYPES];
  const nxi_blas *blas;
  const char *missing; /* a symbol the library lacks */
} lapack;

static void load(void) {
  lapack.blas = nxi_blas_get(NULL);
  for (int i = 0; lapack.blas && i < NXI_LAPACK_ROUTINES; i++) {
    for (int k = 0; k < TYPES; k++) {
      void *symbol = nxi_blas_symbol(routines[i].symbols[k]);
      if (!symbol) lapack.missing = routines[i].symbols[k];
      memcpy(&lapack.found[i][k], &symbol, sizeof symbol);
    }
  }
}

static void load_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
}

nx_status nxi_lapack_ready(const char *op, nxi_diag *d) {
  load_once();
  if (lapack.blas && !lapack.missing) return NX_OK;
  nxi_diag why;
  nxi_diag_clear(&why);
  if (!lapack.blas) nxi_blas_get(&why);
  return nxi_fail(d, NX_DEVICE_UNAVAILABLE, op, "%s: LAPACK cannot be used: %s%s", op,
                  lapack.blas ? "the BLAS that was found lacks " : why.message,
                  lapack.blas ? lapack.missing : "");
}

nxi_lapack_fn nxi_lapack(nxi_lapack_routine routine, nx_dtype t) {
  int type = t == NX_F32 ? 0 : t == NX_F64 ? 1 : t == NX_C64 ? 2 : 3;
  load_once();
  return lapack.found[routine][type];
}

void nxi_lapack_enter(void) { nxi_blas_enter(lapack.blas); }
void nxi_lapack_leave(void) { nxi_blas_leave(lapack.blas); }

/* ---- matrices */

enum { TILE = 16 };

/* Elements of a dtype as C types; the last argument conjugates *to. */
#define TRANSPOSE(name, T, after)                                                                \
  static void transpose_##name(int64_t rows, int64_t columns, const void *from, int64_t from_ld, \
                               void *to, int64_t to_ld, bool conjugate) {                        \
    const T *a = from;                                                                           \
    T *b = to;                                                                                   \
    for (int64_t i0 = 0; i0 < rows; i0 += TILE)                                                  \
      for (int64_t j0 = 0; j0 < columns; j0 += TILE)                                             \
        for (int64_t j = j0; j < columns && j < j0 + TILE; j++)                                  \
          for (int64_t i = i0; i < rows && i < i0 + TILE; i++) {                                 \
            T x = a[i * from_ld + j];                                                            \
            after;                                                                               \
            b[j * to_ld + i] = x;                                                                \
          }                                                                                      \
  }
typedef struct c64 {
  float re, im;
} c64;
typedef struct c128 {
  double re, im;
} c128;
TRANSPOSE(f32, float, (void)conjugate)
TRANSPOSE(f64, double, (void)conjugate)
TRANSPOSE(c64, c64, x.im = conjugate ? -x.im : x.im)
TRANSPOSE(c128, c128, x.im = conjugate ? -x.im : x.im)

void nxi_transpose(nx_dtype t, int64_t rows, int64_t columns, const void *from, int64_t from_ld,
                   void *to, int64_t to_ld, bool conjugate) {
  switch (t) {
    case NX_F32: transpose_f32(rows, columns, from, from_ld, to, to_ld, false); break;
    case NX_F64: transpose_f64(rows, columns, from, from_ld, to, to_ld, false); break;
    case NX_C64: transpose_c64(rows, columns, from, from_ld, to, to_ld, conjugate); break;
    default: transpose_c128(rows, columns, from, from_ld, to, to_ld, conjugate);
  }
}

void nxi_zero_triangle(nx_dtype t, int64_t rows, int64_t columns, void *a, bool lower) {
  int64_t size = nxi_dtype_size(t);
  for (int64_t i = 0; i < rows; i++) {
    int64_t begin = lower ? 0 : i + 1, end = lower && i < columns ? i : columns;
    if (begin < end)
      memset((char *)a + (i * columns + begin) * size, 0, (size_t)((end - begin) * size));
  }
}

bool nxi_all_finite(nx_dtype t, int64_t n, const void *a) {
  bool single = t == NX_F32 || t == NX_C64;
  n *= t == NX_C64 || t == NX_C128 ? 2 : 1;
  const float *f = a;
  const double *g = a;
  bool finite = true; /* x - x is 0 for finite ones alone */
  for (int64_t i = 0; single && i < n; i++) finite &= f[i] - f[i] == 0;
  for (int64_t i = 0; !single && i < n; i++) finite &= g[i] - g[i] == 0;
  return finite;
}

int64_t nxi_batches(const nxg_array *a, int32_t matrix) {
  return nxg_elements(a->rank - matrix, a->shape);
}

void nxi_batch_work(nxg_call_work *work, int64_t batches, double flops, double elements) {
  static const double handover = 20000; /* ten microseconds or so */
  double each = flops + 4 * elements + 200, grain = handover / each;
  work->n_phases = 1;
  work->tasks[0] = batches;
  work->grain[0] = grain < 1 ? 1 : (int64_t)grain;
  work->cost = each * (double)batches;
}
