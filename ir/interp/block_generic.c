/* SPDX-License-Identifier: ISC */
/* The loops over blocks, and sums of products, for any processor, and which this one has. */
#include <stdatomic.h>

#include "ir/graph/graph.h"
#include "lanes.h"

#define NXG_LOOPS   nxg_block_generic
#define NXG_REPEATS nxg_repeats_generic
#include "block_loops.h"

#define NXG_DOTS nxg_dots_generic
#include "dot_loops.h"
#define NXG_BESIDES nxg_besides_generic
#include "beside_loops.h"
#include "rounds.h"

bool nxg_block_has_avx2(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

bool nxg_block_has_avx512(void) {
#if defined(__x86_64__)
  return nxg_block_has_avx2() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq");
#else
  return false;
#endif
}

static _Atomic int32_t most_bytes = 64;

void nxg_block_limit(int32_t vector_bytes) { atomic_store(&most_bytes, vector_bytes); }

nxg_block_loops *nxg_block_host(void) {
#if defined(__x86_64__)
  const int32_t most = atomic_load(&most_bytes);
  if (most >= 64 && nxg_block_has_avx512()) return nxg_block_avx512;
  if (most >= 32 && nxg_block_has_avx2()) return nxg_block_avx2;
#endif
  return nxg_block_generic;
}

nxg_called_function *nxg_called(int64_t bytes, nxk_op op, nx_dtype type) {
  if (op >= NXK_SCALAR_COUNT || (type != NX_F32 && type != NX_F64)) return NULL;
#if defined(__x86_64__)
  const bool wide = type == NX_F64;
  nxg_block_loops *host = nxg_block_host();
  if (bytes % 64 == 0 && host == nxg_block_avx512) return nxg_functions_avx512(op, wide);
  if (bytes % 32 == 0 && host != nxg_block_generic) return nxg_functions_avx2(op, wide);
#endif
  (void)bytes;
  return NULL;
}

nxg_repeat *nxg_repeat_host(int32_t bytes) {
#if defined(__x86_64__)
  nxg_block_loops *loops = nxg_block_host();
  if (loops == nxg_block_avx512) return nxg_repeats_avx512(bytes);
  if (loops == nxg_block_avx2) return nxg_repeats_avx2(bytes);
#endif
  return nxg_repeats_generic(bytes);
}

const nxg_dots *nxg_dots_host(nx_dtype t) {
#if defined(__x86_64__)
  nxg_block_loops *loops = nxg_block_host();
  if (loops == nxg_block_avx512) return nxg_dots_avx512(t);
  if (loops == nxg_block_avx2) return nxg_dots_avx2(t);
#endif
  return nxg_dots_generic(t);
}

nxg_beside *nxg_besides_host(nxk_reduce_kind kind, nx_dtype t) {
#if defined(__x86_64__)
  nxg_block_loops *loops = nxg_block_host();
  if (loops == nxg_block_avx512) return nxg_besides_avx512(kind, t);
  if (loops == nxg_block_avx2) return nxg_besides_avx2(kind, t);
#endif
  return nxg_besides_generic(kind, t);
}

nxg_rounds *nxg_rounds_host(nxk_reduce_kind kind, nx_dtype t) {
#if defined(__x86_64__)
  nxg_block_loops *loops = nxg_block_host();
  if (loops == nxg_block_avx512) return nxg_rounds_avx512(kind, t);
  if (loops == nxg_block_avx2) return nxg_rounds_avx2(kind, t);
#endif
  (void)kind, (void)t;
  return NULL;
}

nxg_runs *nxg_runs_host(nxk_reduce_kind kind, nx_dtype t) {
#if defined(__x86_64__)
  nxg_block_loops *loops = nxg_block_host();
  if (loops == nxg_block_avx512) return nxg_runs_avx512(kind, t);
  if (loops == nxg_block_avx2) return nxg_runs_avx2(kind, t);
#endif
  (void)kind, (void)t;
  return NULL;
}

nxg_products *nxg_products_host(nx_dtype t) {
#if defined(__x86_64__)
  nxg_block_loops *loops = nxg_block_host();
  if (loops == nxg_block_avx512) return nxg_products_avx512(t);
  if (loops == nxg_block_avx2) return nxg_products_avx2(t);
#endif
  (void)t;
  return NULL;
}

nxg_row_map *nxg_row_maps_host(nxk_op op, nx_dtype t, nxg_single single) {
#if defined(__x86_64__)
  nxg_block_loops *loops = nxg_block_host();
  if (loops == nxg_block_avx512) return nxg_row_maps_avx512(op, t, single);
  if (loops == nxg_block_avx2) return nxg_row_maps_avx2(op, t, single);
#endif
  (void)op, (void)t, (void)single;
  return NULL;
}
