/* SPDX-License-Identifier: ISC */
/* Matrix products: loops of our own (runtime/library/floats) on processors for which there are any,
 * and OpenBLAS on others, which is loaded when it is first needed.
 *
 * A product is cut into panels by its shape alone, each panel is multiplied by one thread, and our
 * own pool runs them. The bits of a result of the library's therefore depend on the shape, the
 * library, its version and its core type, and on nothing else: not on the number of threads, not on
 * whether there is an epilogue. Those of our loops depend on the shape. */
#ifndef NXI_BLAS_H
#define NXI_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/diag.h"
#include "ir/dtype.h"
#include "ir/library/seen.h"
#include "ir/library/tiles.h"
#include "ir/library/windows.h"
#include "ir/poll.h"
#include "runtime/threads.h"

typedef void (*nxi_sgemm_fn)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                             const float *a, int lda, const float *b, int ldb, float beta, float *c,
                             int ldc);
typedef void (*nxi_dgemm_fn)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                             const double *a, int lda, const double *b, int ldb, double beta,
                             double *c, int ldc);

typedef struct nxi_blas {
  nxi_sgemm_fn sgemm;
  nxi_dgemm_fn dgemm;
  const char *file;     /* the file that was loaded */
  const char *corename; /* "SkylakeX"; "unknown" if the library does not say */
  const char *config;   /* "OpenBLAS 0.3.21 ..."; "" if it does not say */
  /* the library had chosen too weak a core type, and was told the right one */
  bool mended;
  bool one_at_a_time; /* the build allows only one call at a time: see nxi_blas_enter */
} nxi_blas;

/* The library, the same table every time; NULL with NX_DEVICE_UNAVAILABLE and the reason if there
 * is none, and with NX_OUT_OF_MEMORY if there is too little memory to load it now. Loads it at the
 * first call: from NX_BLAS (a file name) if that is set, else from the places where systems install
 * it. A build with POSIX threads is preferred, because it can be called from several threads; it is
 * told to use one thread itself. If it has chosen the kernels of a weaker processor, it is loaded
 * again with OPENBLAS_CORETYPE set meanwhile; a value that the user has set is respected. If the
 * process uses the same library file already, it is shared, and its thread count becomes 1 for
 * everybody. */
const nxi_blas *nxi_blas_get(nxi_diag *d);
/* Registers the fork handlers. Must be called before the first context registers its own, because
 * the library is loaded under locks of contexts. */
nx_status nxi_blas_prepare(void);
/* NULL if there is a library, else the same reason, a static string. */
const char *nxi_blas_missing(void);
/* Another function of the loaded library, NULL if there is none (LAPACK lives in the same file). */
void *nxi_blas_symbol(const char *name);

/* To be called around every call of a library function; nxi_gemm does so itself. It costs two
 * atomic operations if the library may be called from several threads and has a work buffer for
 * each call (blas/buffers.h); otherwise it takes a lock. */
void nxi_blas_enter(const nxi_blas *blas);
/* Calls of this thread may last: others do not wait for them to have more work memory made. */
void nxi_blas_calls_last(void);
/* Waits where a call would, for what it needs, and does nothing. */
void nxi_blas_try(void);
void nxi_blas_leave(const nxi_blas *blas);

/* C = A * B on the calling thread, row-major: C is m x n, A is m x k (stored k x m if trans_a), B
 * is k x n (stored n x k if trans_b). Leading dimensions in elements, at least the length of a
 * stored row (ignored if there is one row or none). Type is NX_F32 or NX_F64. C is written only,
 * also where it held NaN; k = 0 makes zeros. NX_INVALID_ARGUMENT, nothing written, if a size does
 * not fit the library's 32-bit integers or a leading dimension is too small;
 * NX_UNSUPPORTED_DTYPE. */
nx_status nxi_gemm(const nxi_blas *blas, nx_dtype type, bool trans_a, bool trans_b, int64_t m,
                   int64_t n, int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb,
                   void *c, int64_t ldc);
/* C = C + A * B. */
nx_status nxi_gemm_add(const nxi_blas *blas, nx_dtype type, bool trans_a, bool trans_b, int64_t m,
                       int64_t n, int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb,
                       void *c, int64_t ldc);

/* ---- tiled, batched, on the pool */

typedef struct nxi_matrix {
  void *base;
  bool transposed; /* stored with rows and columns exchanged; not for c */
  int64_t ld;      /* elements from one stored row to the next */
  /* elements, one for each batch dimension; 0 broadcasts (not for c) */
  const int64_t *batch_strides;
} nxi_matrix;

/* Elements begin .. end - 1 of the inner extent of the rows of a, or of the columns of b, first ..
 * last - 1. */
typedef struct nxi_packed_tile {
  int64_t batch, first, last, begin, end;
} nxi_packed_tile;

/* Computes the part of one operand that a library call needs, just before the call: of a (operand
 * 0) or of b (1). Sets *base to its first element, which is valid until the same worker asks again;
 * the ld is that of the operand. Called once for each packed tile, or more often if its
 * multiplication takes long. */
typedef struct nxi_staging {
  int operand;
  void (*fn)(void *user, int worker, const nxi_packed_tile *packed, void **base);
  void *user;
  /* or NULL: what fn sets *base to is a copy of an image, which has the operand's windows */
  const nxi_image_windows *windows;
  const nxi_image_layout *layout;
} nxi_staging;

/* c[batch] = a[batch] * b[batch]. c overlaps neither a nor b, and its own matrices do not
 * overlap. */
typedef struct nxi_matmul {
  nx_dtype type; /* NX_F32 or NX_F64 */
  int64_t m, n, k;
  int32_t batch_rank; /* 0: one product */
  const int64_t *batch_shape;
  /* if this is a part of a larger batch: the products of that, by which they are divided; else 0 */
  int64_t among;
  nxi_matrix a, b, c;
  /* NULL: both operands are there; else base and batch_strides of one do not count */
  const nxi_staging *staging;
  void *scratch; /* nxi_matmul_scratch_bytes, aligned to 64 bytes; NULL: it is allocated */
} nxi_matmul;

/* Called once for each panel of finished rows, on the thread that finished it, while it is in its
 * cache, or, where panels are few, for some rows at a time once all are finished. All columns are
 * finished. `batch` counts in row-major order of the batch shape. */
typedef struct nxi_epilogue {
  void (*fn)(void *user, int worker, int64_t batch, int64_t row_begin, int64_t row_end);
  void *user;
} nxi_epilogue;

/* Calls it for all rows of all products, on all threads; as nxi_pool_run_polled. */
nx_status nxi_epilogue_run(const nxi_epilogue *epilogue, nxi_pool *pool, const nxi_poll *poll,
                           int64_t batches, int64_t m);

/* Two products of one batch and one number of rows. The first one's result and the second one's
 * first operand are never whole in memory: `between` is called for each block of rows of the first
 * product and leaves the same rows of that operand. Each worker has one block of each, worker after
 * worker from `base` on. */
typedef struct nxi_matmul_chain {
  nxi_matmul products[2]; /* without staging, scratch, among */
  int64_t rows;           /* of a block: whole tiles of both; neither is divided into shares */
  int64_t block_bytes[2]; /* from one worker's block to the next: of the result, of the operand */
  nxi_epilogue between;
  nxi_epilogue after; /* on each block of the second product; fn may be NULL */
  /* what `between` uses of one product of the batch, NULL: all; the rest of a block is any
   * numbers */
  const nxi_seen *seen;
} nxi_matmul_chain;

/* Whether all products of floats are loops of our own here: what follows then needs no library, and
 * blas may be NULL. */
bool nxi_products_are_own(void);

/* pool and poll may be NULL. As nxi_matmul_panels, whose bits both products have. */
nx_status nxi_matmul_chained(const nxi_blas *blas, nxi_pool *pool, const nxi_poll *poll,
                             const nxi_matmul_chain *chain, nxi_diag *d);

/* pool, poll and epilogue may be NULL. NX_OK; NX_INTERRUPTED; NX_INVALID_ARGUMENT and
 * NX_UNSUPPORTED_DTYPE as nxi_gemm, before anything is written; NX_OUT_OF_MEMORY, likewise, and
 * only without scratch. */
nx_status nxi_matmul_panels(const nxi_blas *blas, nxi_pool *pool, const nxi_poll *poll,
                            const nxi_matmul *p, const nxi_epilogue *epilogue, nxi_diag *d);

#endif
