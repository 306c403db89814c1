/* SPDX-License-Identifier: ISC */
/* Waiting for a word to change. */
#ifndef NXI_PLATFORM_FUTEX_H
#define NXI_PLATFORM_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns at once if *word is not `value`; else when it is woken, or after `ns` (< 1 s; negative:
 * no limit). It may also return without any of these. */
static inline void nxi_futex_wait(_Atomic uint32_t *word, uint32_t value, int64_t ns) {
  struct timespec timeout = {.tv_nsec = ns};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns < 0 ? NULL : &timeout, NULL, 0);
}

/* Wakes at most `count` of the waiting threads. */
static inline void nxi_futex_wake(_Atomic uint32_t *word, int32_t count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

#endif
