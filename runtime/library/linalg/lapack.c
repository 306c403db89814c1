/* SPDX-License-Identifier: ISC */
/* Finds the routines of LAPACK, and copies and checks matrices for the functions that call them. */
#include "lapack.h"

#include <math.h>
#include "ir/platform/thread.h"
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
  static nxi_once once = NXI_ONCE_INITIALIZER;
  nxi_once_run(&once, load);
}

nx_status nxi_lapack_ready(const char *op, nxi_diag *d) {
  nxi_diag why;
  nxi_diag_clear(&why);
  if (!nxi_blas_get(&why) && why.status == NX_OUT_OF_MEMORY)
    return nxi_oom_during(d, nxi_oom(d), "loading OpenBLAS");
  load_once();
  if (lapack.blas && !lapack.missing) return NX_OK;
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

typedef struct c64 {
  float re, im;
} c64;
typedef struct c128 {
  double re, im;
} c128;

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

/* By bits, which compilers make vectors of: all ones in the exponent are infinity or NaN. One more
 * there reaches the sign's place, without the sign. */
bool nxi_all_finite(nx_dtype t, int64_t n, const void *a) {
  const uint32_t narrow = 0x800000u;
  const uint64_t wide = UINT64_C(1) << 52;
  const char *from = a;
  uint32_t all = 0;
  uint64_t all_wide = 0;
  n *= nxi_lapack_complex(t) ? 2 : 1;
  if (nxi_lapack_single(t))
    for (int64_t i = 0; i < n; i++) {
      uint32_t bits;
      memcpy(&bits, from + i * (int64_t)sizeof bits, sizeof bits);
      all |= (bits & INT32_MAX) + narrow;
    }
  else
    for (int64_t i = 0; i < n; i++) {
      uint64_t bits;
      memcpy(&bits, from + i * (int64_t)sizeof bits, sizeof bits);
      all_wide |= (bits & INT64_MAX) + wide;
    }
  return (all >> 31) == 0 && (all_wide >> 63) == 0;
}

void nxi_store_one(nx_dtype t, void *to) {
  const float single[2] = {1, 0};
  const double wide[2] = {1, 0};
  const void *from = nxi_lapack_single(t) ? (const void *)single : wide;
  memcpy(to, from, (size_t)nxi_dtype_size(t));
}

void nxi_identity(nx_dtype t, int64_t rows, int64_t columns, void *a) {
  int64_t size = nxi_dtype_size(t);
  if (rows > 0 && columns > 0)
    memset(a, 0, (size_t)(rows * columns * size)); /* else a may be NULL */
  for (int64_t i = 0; i < rows && i < columns; i++)
    nxi_store_one(t, (char *)a + (i * columns + i) * size);
}

/* ---- batches */

int64_t nxi_batches(const nxg_array *a, int32_t matrix) {
  return nxg_elements(a->rank - matrix, a->shape);
}

void *nxi_item(const nxg_array *a, void *base, int32_t rank, int64_t index) {
  int64_t from = index * nxg_elements(rank, a->shape + a->rank - rank) * nxi_dtype_size(a->dtype);
  return from ? (char *)base + from : base; /* an empty array may have no memory */
}

bool nxi_is_nan_instead(const nxg_call *call, nx_status status) {
  return (status == NX_SINGULAR || status == NX_NO_CONVERGENCE ||
          status == NX_NOT_POSITIVE_DEFINITE) &&
         nxg_call_gives_nan(call);
}

void nxi_nan_columns(nx_dtype t, int64_t rows, int64_t columns, void *a, int64_t ld) {
  const int64_t parts = nxi_lapack_complex(t) ? 2 : 1;
  float *f = a;
  double *g = a;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns * parts; j++)
      if (nxi_lapack_single(t)) f[i * ld * parts + j] = NAN;
      else g[i * ld * parts + j] = NAN;
}

void nxi_store_nans(const nxg_call_part *part, int64_t index) {
  const nxg_call *call = part->call;
  const int32_t batch = call->operands[0].rank - 2;
  for (uint32_t i = 0; i < call->n_results; i++) {
    const nxg_array *r = &call->results[i];
    if (nxi_is_integer(r->dtype)) continue;
    const int64_t n = nxg_elements(r->rank - batch, r->shape + batch);
    nxi_nan_columns(r->dtype, 1, n, nxi_item(r, part->results[i], r->rank - batch, index), n);
  }
}

void nxi_store_info(const nxg_call_part *part, int64_t index, int info) {
  const nxg_call *call = part->call;
  const uint32_t last = call->n_results - 1;
  if (nxg_call_has_info(call))
    *(int32_t *)nxi_item(&call->results[last], part->results[last], 0, index) = info;
}

int64_t nxi_batches_to_do(const nxg_call *call, int64_t n) {
  return n > 0 || nxg_call_has_info(call) ? nxi_batches(&call->operands[0], 2) : 0;
}

nx_status nxi_each_of(nxg_call_part *part,
                      nx_status (*one)(const nxg_call_part *part, int64_t index, const void *user),
                      const void *user) {
  for (int64_t i = part->begin; i < part->end && !part->stopped(part->user); i++) {
    nx_status status = one(part, i, user);
    if (status == NX_OK) continue;
    if (nxi_is_nan_instead(part->call, status)) {
      nxi_store_nans(part, i);
      continue;
    }
    part->failed = i;
    return status;
  }
  return NX_OK;
}

void nxi_batch_work(nxg_call_work *work, int64_t batches, double flops, double elements) {
  static const double handover = 20000; /* ten microseconds or so */
  double each = flops + 4 * elements + 200, grain = handover / each;
  work->n_phases = 1;
  work->tasks[0] = batches;
  work->grain[0] = grain < 1 ? 1 : (int64_t)grain;
  work->cost = each * (double)batches;
}

/* In single precision it may be rounded down. */
double nxi_work_length(nx_dtype t, const void *first) {
  float single;
  double wide;
  memcpy(&single, first, sizeof single);
  memcpy(&wide, first, sizeof wide);
  return nxi_lapack_single(t) ? (double)single * 1.000001 + 1 : wide;
}
