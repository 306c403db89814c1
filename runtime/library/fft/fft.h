/* SPDX-License-Identifier: ISC */
/* Preparing Fourier transforms for a given processor; nxi_fft_functions (libraries.h) prepare them
 * for this machine. */
#ifndef NXI_LIB_FFT_H
#define NXI_LIB_FFT_H

#include "ir/library/library.h"
#include "ir/target.h"

/* As nxg_functions.prepare. */
nx_status nxi_fft_prepare(const nxg_call *call, const nxi_target *target, nxg_call_work *work,
                          nxi_diag *d);

#endif
