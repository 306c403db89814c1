/* SPDX-License-Identifier: ISC */
/* Runs generated CUDA C on this processor, in place of the interpreter of kernels: kernels are
 * collected first, compiled together with cuda_host.h by the C++ compiler, and loaded. */
#ifndef NXT_CUDA_RUN_H
#define NXT_CUDA_RUN_H

#include <stdbool.h>
#include <stdint.h>

/* From now on kernels of threads are collected, and run by the interpreter. */
void nxt_cuda_collect(void);
/* Compiles what was collected; from now on those kernels run as CUDA C does. False: the compiler's
 * words are on stderr. */
bool nxt_cuda_build(void);
/* Distinct kernels collected, and runs of compiled ones since they were built. */
uint64_t nxt_cuda_kernels(void);
uint64_t nxt_cuda_runs(void);
/* The prelude with kernel i, as a GPU gets it. To be freed. */
char *nxt_cuda_source(uint64_t i);
void nxt_cuda_close(void);

#endif
