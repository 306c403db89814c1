/* SPDX-License-Identifier: ISC */
/* Which sanitizers the tests are built with. THREAD_SANITIZER is defined with that of threads: it
 * does not support a child of several threads, and takes locks that are held around fork for
 * errors. ADDRESS_SANITIZER is defined with that of addresses. Both reserve terabytes of them. */
#ifndef NXT_SANITIZERS_H
#define NXT_SANITIZERS_H

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#endif
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif

#if defined(THREAD_SANITIZER)
enum { NXT_THREAD_SANITIZER = 1, NXT_SANITIZED = 1 };
#elif defined(ADDRESS_SANITIZER)
enum { NXT_THREAD_SANITIZER = 0, NXT_SANITIZED = 1 };
#else
enum { NXT_THREAD_SANITIZER = 0, NXT_SANITIZED = 0 };
#endif

#endif
