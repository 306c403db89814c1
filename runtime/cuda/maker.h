/* SPDX-License-Identifier: ISC */
/* Kernels of a GPU in a cache: CUDA C by NVRTC, loaded through the driver. */
#ifndef NXI_GPU_MAKER_H
#define NXI_GPU_MAKER_H

#include "runtime/cache/kernel.h"
#include "runtime/cuda/gpu.h"

extern const nxi_code_maker nxi_gpu_maker; /* user: the nxi_gpu; code is an nxi_gpu_code */

#endif
