/* SPDX-License-Identifier: ISC */
/* How much of a test a build runs. LLVM need not compile each graph of the systematic tests in
 * every build of the library. With NXT_SHARE=n in the environment it compiles every n-th graph, and
 * with NXT_KERNEL_SHARE=n the kernels of every n-th graph are interpreted. Those graphs are also
 * interpreted node by node, which the others are compared with; the rest is only built. */
#ifndef NXT_SHARE_H
#define NXT_SHARE_H

#include <stdint.h>
#include <stdlib.h>

static inline int64_t nxt_share_in(const char *variable) {
  const char *wish = getenv(variable);
  int64_t n = wish ? atoll(wish) : 1;
  return n > 1 ? n : 1;
}
static inline int64_t nxt_share(void) { return nxt_share_in("NXT_SHARE"); }
static inline int64_t nxt_kernel_share(void) { return nxt_share_in("NXT_KERNEL_SHARE"); }

/* Whether leaks are looked for, and stacks are large. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
