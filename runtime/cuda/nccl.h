/* SPDX-License-Identifier: ISC */
/* NCCL, loaded when a group of GPUs is first asked for: exchanges between memories of GPUs. Where
 * it refuses to connect the members, bytes take the way through the host's memory. */
#ifndef NXI_CUDA_NCCL_H
#define NXI_CUDA_NCCL_H

#include "runtime/group/group.h"

extern const nxi_links nxi_nccl_links;

#endif
