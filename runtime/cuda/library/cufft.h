/* SPDX-License-Identifier: ISC */
/* Fourier transforms of cuFFT, which is loaded when it is first needed. Its plans are kept for the
 * next transform of the same form. */
#ifndef NXI_GPU_CUFFT_H
#define NXI_GPU_CUFFT_H

#include "runtime/cuda/gpu.h"

typedef enum nxi_cufft_form {
  NXI_CUFFT_COMPLEX,
  NXI_CUFFT_FROM_REAL,
  NXI_CUFFT_TO_REAL
} nxi_cufft_form;
enum { NXI_CUFFT_RANK = 3 };

/* All parameters of a plan. Element (i, j, k) of transform b is at b * distance + ((i * box[1] + j)
 * * box[2] + k) * stride, counted in elements of that side: pairs or reals. n: the lengths of the
 * side of real numbers. Entries that are not used are zero. */
typedef struct nxi_cufft_shape {
  int64_t form, wide, rank, batch;
  /* box: of the side that is read, and of the side that is written */
  int64_t n[NXI_CUFFT_RANK], box[2][NXI_CUFFT_RANK];
  int64_t stride[2], distance[2];
} nxi_cufft_shape;

/* NULL if there is cuFFT, else the reason. NX_CUFFT in the environment names another library.
 * Static. */
const char *nxi_cufft_missing(void);
/* Starts the transforms. `from` may equal `to` in complex transforms with the same layout on both
 * sides. TO_REAL leaves undefined values in `from`. Both addresses are multiples of a pair's
 * size. */
nx_status nxi_cufft_run(nxi_gpu *g, const nxi_cufft_shape *s, bool inverse, uint64_t from,
                        uint64_t to, nxi_diag *d);

#endif
