/* SPDX-License-Identifier: ISC */
/* Highway's vectorised quicksort, for short rows of unsigned keys (of floats it would need that
 * none is NaN). This file is compiled once for each instruction set that Highway knows: it includes
 * itself through foreach_target.h. The part for C comes last, once; it chooses by itself, so that
 * neither Highway's library nor that of C++ is needed at run time.
 *
 * Only rows that quicksort hands to its sorting networks at once come here, up to sixteen vectors
 * of keys: a network sorts them several times faster than anything else does. With partitions
 * before it, the radix sort is as fast or faster (docs/decisions/transforms.md). */
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/library/sort/vqsort.cc"
#if defined(__x86_64__)
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL) /* no quicker here, or not chosen below */
#endif
#include <hwy/base.h>
/* Its assertions, which are enabled in builds without optimisation and with sanitizers, would call
 * its library and abort. */
#undef HWY_ASSERT
#undef HWY_DASSERT
#define HWY_ASSERT(condition)  static_cast<void>(0)
#define HWY_DASSERT(condition) static_cast<void>(0)
#include <hwy/foreach_target.h>

#include <hwy/contrib/sort/traits-inl.h>
#include <hwy/contrib/sort/vqsort-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace nxi {
namespace HWY_NAMESPACE {
#if VQSORT_ENABLED && !HWY_HAVE_SCALABLE

namespace hn = hwy::HWY_NAMESPACE;

/* Does the same as hwy::Sort without its random numbers, which cost a system call and are needed
 * only for choosing pivots. */
template <typename T> bool Sort(T *keys, int64_t n) {
  if (n > static_cast<int64_t>(hwy::SortConstants::BaseCaseNum(HWY_LANES(T)))) return false;
  const hn::SortTag<T> d;
  const hn::detail::SharedTraits<hn::detail::TraitsLane<hn::detail::OrderAscending<T>>> order;
  HWY_ALIGN T room[hwy::SortConstants::BufNum<T>(HWY_LANES(T))] = {};
  hn::detail::BaseCase(d, order, keys, keys + n, static_cast<size_t>(n), room);
  return true;
}

#else /* no vectors, or of unknown width */

template <typename T> bool Sort(T *, int64_t) { return false; }

#endif

bool Sort32(uint32_t *keys, int64_t n) { return Sort(keys, n); }
bool Sort64(uint64_t *keys, int64_t n) { return Sort(keys, n); }

} // namespace HWY_NAMESPACE
} // namespace nxi
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vqsort.h"

/* The name of the namespace of the widest vectors that this processor has. */
#if HWY_TARGETS & HWY_AVX3
#define CALL_AVX3(function, keys, n) \
  if (HasAvx2() && HasAvx3()) return nxi::N_AVX3::function(keys, n);
#else
#define CALL_AVX3(function, keys, n)
#endif
#if HWY_TARGETS & HWY_AVX2
#define CALL_AVX2(function, keys, n) \
  if (HasAvx2()) return nxi::N_AVX2::function(keys, n);
#else
#define CALL_AVX2(function, keys, n)
#endif

#if HWY_TARGETS & (HWY_AVX2 | HWY_AVX3)
/* What Highway lets the compiler use for these targets. */
static bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c") && __builtin_cpu_supports("aes") &&
         __builtin_cpu_supports("pclmul");
}
static bool HasAvx3() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}
#endif

extern "C" bool nxi_vqsort_32(uint32_t *keys, int64_t n) {
  CALL_AVX3(Sort32, keys, n)
  CALL_AVX2(Sort32, keys, n)
  return nxi::HWY_STATIC_DISPATCH(Sort32)(keys, n);
}

extern "C" bool nxi_vqsort_64(uint64_t *keys, int64_t n) {
  CALL_AVX3(Sort64, keys, n)
  CALL_AVX2(Sort64, keys, n)
  return nxi::HWY_STATIC_DISPATCH(Sort64)(keys, n);
}
#endif
