/* SPDX-License-Identifier: ISC */
/* The Fourier kernels for AVX-512. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")
#endif

#define ISA       avx512
#define FFT_BYTES 64
#define FFT_FMA   1
#include "isa.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nxi_fft_avx512; /* a file is never empty */
#endif
