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

/* What newer drivers have besides. */
typedef struct nxi_cuda_new {
#define CUDA(name, symbol, arguments) int(*name) arguments;
#include "driver_new.def"
#undef CUDA
} nxi_cuda_new;

/* CUgraphNodeParams of a conditional node, as the driver has it since 12.3; what is left over is
 * zero. cuda.h of CUDA 13.0 has these offsets. */
typedef struct nxi_cuda_conditional {
  int32_t type, reserved[3];
  uint64_t handle;
  int32_t kind;
  uint32_t n_bodies;
  void **bodies; /* filled in: graphs of the driver's, as long as the node exists */
  void *context;
  int64_t rest[25], reserved_end;
} nxi_cuda_conditional;
_Static_assert(sizeof(nxi_cuda_conditional) == 256, "CUgraphNodeParams");
_Static_assert(offsetof(nxi_cuda_conditional, handle) == 16, "conditional.handle");
_Static_assert(offsetof(nxi_cuda_conditional, kind) == 24, "conditional.type");
_Static_assert(offsetof(nxi_cuda_conditional, n_bodies) == 28, "conditional.size");
_Static_assert(offsetof(nxi_cuda_conditional, bodies) == 32, "conditional.phGraph_out");
_Static_assert(offsetof(nxi_cuda_conditional, context) == 40, "conditional.ctx");

enum {
  NXI_CUDA_LEAST_VERSION = 12000,
  NXI_CUDA_CONDITIONS_VERSION = 12040, /* conditional nodes */
  NXI_CUDA_SWITCH_VERSION = 12080      /* those with many bodies */
};

/* The driver, initialised; the same table every time. NULL: *why says what is missing (static
 * text). NX_CUDA in the environment names another library. */
const nxi_cuda *nxi_cuda_get(const char **why);
/* NULL: this driver has no conditional nodes. */
const nxi_cuda_new *nxi_cuda_get_new(void);
/* The CUDA version of the driver, which must have been found: 13000 is CUDA 13.0. */
int nxi_cuda_version(void);

#endif
