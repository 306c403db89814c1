/* SPDX-License-Identifier: ISC */
/* The Fourier kernels for any processor: vectors of 16 bytes. */
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#define ISA       generic
#define FFT_BYTES 16
#define FFT_FMA   0
#include "isa.h"
