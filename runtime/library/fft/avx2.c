/* SPDX-License-Identifier: ISC */
/* The Fourier kernels for AVX2 and FMA. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#define ISA       avx2
#define FFT_BYTES 32
#define FFT_FMA   1
#include "isa.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nxi_fft_avx2; /* a file is never empty */
#endif
