/* SPDX-License-Identifier: ISC */
/* Loops of a constant few steps, for templates of kernels. UNROLL stands in front of one that is to
 * become as many copies of its body. NXI_PLAIN_LOOPS: it stays a loop, since compiling the copies
 * with the sanitizers' checks takes minutes. */
#ifndef NXI_UNROLL_H
#define NXI_UNROLL_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NXI_PLAIN_LOOPS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define NXI_PLAIN_LOOPS 1
#endif
#endif

#if defined(NXI_PLAIN_LOOPS)
#define UNROLL
#elif defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

#endif
