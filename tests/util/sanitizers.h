/* SPDX-License-Identifier: ISC */
/* THREAD_SANITIZER is defined where the tests are built with it: there a child of several threads
 * is not supported. */
#ifndef NXT_SANITIZERS_H
#define NXT_SANITIZERS_H

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif

#endif
