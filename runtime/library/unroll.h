/* SPDX-License-Identifier: ISC */
/* Loops of a constant few steps, for templates of kernels. UNROLL stands in front of one that is to
 * become as many copies of its body; what is NXI_INLINE has constants for arguments, and becomes
 * part of each caller. NXI_PLAIN_LOOPS: loops stay loops and functions functions, since compiling
 * the copies takes minutes with the sanitizers' checks, and a third of all the time where nothing
 * is optimised. Results have the same bits. */
#ifndef NXI_UNROLL_H
#define NXI_UNROLL_H

#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NXI_PLAIN_LOOPS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define NXI_PLAIN_LOOPS 1
#endif
#endif

#if defined(NXI_PLAIN_LOOPS)
#define NXI_INLINE inline __attribute__((unused))
#define UNROLL
#else
#define NXI_INLINE inline __attribute__((always_inline, unused))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif
#endif

#endif
