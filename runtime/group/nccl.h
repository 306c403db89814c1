/* SPDX-License-Identifier: ISC */
/* NCCL, loaded when a group of GPUs is first asked for: exchanges between memories of GPUs, beside
 * the engine by which members meet. What is declared here is in runtime/cuda/nccl.c. */
#ifndef NXI_GROUP_NCCL_H
#define NXI_GROUP_NCCL_H

#include "group.h"

/* Whether exchanges of this device's tensors could go by NCCL: it is a GPU, and the library is
 * there. */
bool nxi_nccl_serves(nx_context *c, nx_device device);
/* Has exchanges of these members go by NCCL, all of which it serves. */
nx_status nxi_nccl_attach(nxi_members *m, nxi_diag *d);
void nxi_nccl_free(nxi_nccl *n);
/* An exchange between addresses of GPUs, in the order of the stream; it is done when this returns.
 * The context of the GPU is current on the thread. Where NCCL refuses to connect the members, bytes
 * take the way through the host's memory. */
nx_status nxi_nccl_run(nxi_members *m, nxi_exchange_call *call, void *stream);

#endif
