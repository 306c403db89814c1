/* SPDX-License-Identifier: ISC */
/* Runs generated CUDA C on this processor instead of the interpreter of kernels. Kernels are first
 * collected, then compiled together with cuda_host.h by the C++ compiler, and loaded. */
#ifndef NXT_CUDA_RUN_H
#define NXT_CUDA_RUN_H

#include <stdbool.h>
#include <stdint.h>

/* From this call on kernels of threads are collected, and run by the interpreter. */
void nxt_cuda_collect(void);
/* Compiles the collected kernels, which from this call on run as CUDA C. False: the compiler's
 * messages are on stderr. */
bool nxt_cuda_build(void);
/* The number of distinct kernels that were collected, and of runs of compiled kernels since they
 * were built. */
uint64_t nxt_cuda_kernels(void);
uint64_t nxt_cuda_runs(void);
/* The source of kernel i with the prelude, as for a GPU. The caller frees it. */
char *nxt_cuda_source(uint64_t i);
void nxt_cuda_close(void);

#endif
