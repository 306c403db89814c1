/* SPDX-License-Identifier: ISC */
/* The engines: sort/engine.h for each kind of element and, on x86, once more with the instructions
 * of 2013 and, where Highway is, its vectors. */
#include <stdatomic.h>
#include <string.h>

#include "ir/target.h"
#include "core.h"
#include "vqsort.h"

_Static_assert((int)SORT_BUCKETS <= UINT16_MAX, "a bucket's number is 16 bits");
_Static_assert(SORT_DIGITS *SORT_DIGIT >= 64, "the digits of a pass over all bits");

static atomic_int most_bytes = 64;

void nxi_sort_set_most(int bytes) { atomic_store(&most_bytes, bytes); }

static bool allowed(int bytes) {
  return atomic_load(&most_bytes) >= bytes && nxi_target_host()->vector_bytes >= bytes;
}

bool nxi_sort_wide(void) {
#if defined(__x86_64__)
  return allowed(32) && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("bmi");
#else
  return false;
#endif
}

bool nxi_sort_wider(void) {
#if defined(__x86_64__)
  return allowed(64) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

static atomic_int compresses = -1;

void nxi_sort_set_compresses(int how) { atomic_store(&compresses, how); }

/* On AMD: Zen 4 (family 19h; what came before has no such vectors) compresses to a register and
 * stores that in two cycles, which is as quick as the table, and networks are larger then. On Zen 5
 * the table is. */
nxi_sort_compressing nxi_sort_compresses(void) {
  const int how = atomic_load(&compresses);
  if (how >= 0) return (nxi_sort_compressing)how;
#if defined(__x86_64__)
  if (!__builtin_cpu_is("amd")) return SORT_COMPRESSES;
  return __builtin_cpu_is("amdfam19h") ? SORT_COMPRESSES_WORDS : SORT_TABLE;
#else
  return SORT_TABLE;
#endif
}

bool nxi_sort_has_networks(void) {
#if defined(__x86_64__)
  return NX_HAVE_HIGHWAY && nxi_sort_wide();
#else
  return NX_HAVE_HIGHWAY;
#endif
}

/* SORT_RANKS: whether comparing keys of a type by vector instructions pays; SSE2 cannot compare 64
 * bits. VECTORS: whether networks of vectors are asked, ours and Highway's. */
#if defined(__x86_64__)
#define SORT_RANKS(KEY)     (sizeof(KEY) == 4)
#define VECTORS(bits, a, n) false
#else
#define SORT_RANKS(KEY)     true
#define VECTORS(bits, a, n) nxi_vqsort_##bits(a, n)
#endif
#define SORT_TARGET
#define ENGINE(name) name
#include "engines.h"
#undef SORT_TARGET
#undef ENGINE

#if defined(__x86_64__)
#undef SORT_RANKS
#undef VECTORS
#define SORT_RANKS(KEY)     true
#define VECTORS(bits, a, n) (nxi_sort_by_network(ELEMENT_QUICK, a, n) || nxi_vqsort_##bits(a, n))
#define SORT_TARGET         __attribute__((target("avx2,bmi,bmi2")))
#define ENGINE(name)        name##_wide
#include "engines.h"
#undef SORT_TARGET
#undef ENGINE
#endif

const nxi_sort_engine *nxi_sort_engine_of_doubles(void) {
#if defined(__x86_64__)
  if (nxi_sort_wide()) return &double_engine_wide;
#endif
  return &double_engine;
}

const nxi_sort_engine *nxi_sort_engine_of(nxi_sort_element element) {
  static const nxi_sort_engine *const engines[] = {&word_engine, &long_engine, &packed_engine,
                                                   &pair_engine};
#if defined(__x86_64__)
  static const nxi_sort_engine *const wide[] = {&word_engine_wide, &long_engine_wide,
                                                &packed_engine_wide, &pair_engine_wide};
  if (nxi_sort_wide()) return wide[element];
#endif
  return engines[element];
}
