/* SPDX-License-Identifier: ISC */
/* The loops over blocks, and sums of products, for any processor, and which this one has. */
#define NXG_LOOPS nxg_block_generic
#include "block_loops.h"

#define NXG_DOTS nxg_dots_generic
#include "dot_loops.h"

static bool has_avx2(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

nxg_block_loops *nxg_block_host(void) {
#if defined(__x86_64__)
  if (has_avx2()) return nxg_block_avx2;
#endif
  return nxg_block_generic;
}

const nxg_dots *nxg_dots_host(nx_dtype t) {
#if defined(__x86_64__)
  if (has_avx2()) return nxg_dots_avx2(t);
#endif
  return nxg_dots_generic(t);
}
