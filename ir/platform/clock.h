/* SPDX-License-Identifier: ISC */
/* Clocks, and waiting for time to pass. */
#ifndef NXI_PLATFORM_CLOCK_H
#define NXI_PLATFORM_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since a fixed but unknown moment. The clock never goes back, and is the same in all
 * threads. */
static inline int64_t nxi_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static inline double nxi_now_ms(void) { return (double)nxi_now_ns() * 1e-6; }

/* Nanoseconds since 1970. The system may set this clock. */
static inline int64_t nxi_date_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Waits for less than a second; a signal may end it. */
static inline void nxi_pause_ns(int64_t ns) {
  nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

#endif
