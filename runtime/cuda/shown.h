/* SPDX-License-Identifier: ISC */
#ifndef NXI_CUDA_SHOWN_H
#define NXI_CUDA_SHOWN_H

#include "own_code.h"
#include "runtime/device.h"

/* As nxi_device_kind.show_step. */
nx_status nxi_gpu_show_step(const nxp_step *s, const nxi_target *t, nxi_device_shown *shown,
                            nxi_text *out, nxi_diag *d);
/* A GPU that can do nothing but prepare steps, whose texts are added to `out`. NULL without
 * memory. */
nxi_gpu *nxi_gpu_imagine(const nxi_target *t, nxi_device_shown *shown, nxi_text *out);
void nxi_gpu_forget(nxi_gpu *g);
/* Takes down a text that an imagined GPU is asked for. */
nx_status nxi_gpu_show_text(const nxi_gpu *g, const nxi_own_code *code, nxi_diag *d);

#endif
