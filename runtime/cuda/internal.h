/* SPDX-License-Identifier: ISC */
/* What the files of this directory share. */
#ifndef NXI_GPU_INTERNAL_H
#define NXI_GPU_INTERNAL_H

#include "ir/platform/thread.h"

#include "runtime/cuda/gpu.h"

/* The state of one of NVIDIA's libraries for a GPU: its handle, plans. One thread at a time uses
 * it. */
typedef enum nxi_gpu_library {
  NXI_GPU_BLAS,
  NXI_GPU_FFT,
  NXI_GPU_SOLVER,
  NXI_GPU_LIBRARIES
} nxi_gpu_library;
typedef struct nxi_gpu_shelf {
  nxi_mutex lock;
  void *state;               /* NULL at first */
  void (*free)(void *state); /* called inside (nxi_gpu_enter), unless the process has been forked */
} nxi_gpu_shelf;
nxi_gpu_shelf *nxi_gpu_shelf_lock(nxi_gpu *g, nxi_gpu_library which);
void nxi_gpu_shelf_unlock(nxi_gpu_shelf *s);

/* Called inside. Waits, and gives kept memory back to the driver; for a library that finds none. */
void nxi_gpu_free_all_kept(nxi_gpu *g);

/* The threads of the device. */
struct nxi_pool *nxi_gpu_pool(const nxi_gpu *g);

/* The stream on which to start work; another one while the thread captures a graph. */
void *nxi_gpu_stream(const nxi_gpu *g);

#endif
