/* SPDX-License-Identifier: ISC */
/* The loops over blocks for any processor, and which loops this one has. */
#define NXG_LOOPS nxg_block_generic
#include "block_loops.h"

nxg_block_loops *nxg_block_host(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return nxg_block_avx2;
#endif
  return nxg_block_generic;
}
