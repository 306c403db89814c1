/* SPDX-License-Identifier: ISC */
/* The CUDA driver, loaded when it is first needed. */
#ifndef NXI_CUDA_DRIVER_H
#define NXI_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef struct nxi_cuda {
#define CUDA(name, symbol, arguments) int(*name) arguments;
#include "driver.def"
#undef CUDA
} nxi_cuda;

enum { NXI_CUDA_LEAST_VERSION = 12000 };

/* The driver, initialised; the same table every time. NULL: *why says what is missing (static
 * text). NX_CUDA in the environment names another library. */
const nxi_cuda *nxi_cuda_get(const char **why);
/* The CUDA version of the driver, which must have been found: 13000 is CUDA 13.0. */
int nxi_cuda_version(void);

#endif
