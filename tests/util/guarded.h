/* SPDX-License-Identifier: ISC */
/* Memory that detects writes outside of it: aligned to 64 bytes, with guard bytes on both sides. */
#ifndef NXT_GUARDED_H
#define NXT_GUARDED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NXT_GUARD = 64 };

/* Filled with guard bytes throughout. It begins `shift` bytes, fewer than NXT_GUARD, after a
 * multiple of 64, and is freed with that. If there is no memory for the harness, the test ends. */
static inline void *nxt_guarded_at(int64_t bytes, int64_t shift) {
  unsigned char *p = NULL;
  if (posix_memalign((void **)&p, 64, (size_t)(bytes + shift + 2 * NXT_GUARD)) != 0) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  memset(p, 0xa5, (size_t)(bytes + shift + 2 * NXT_GUARD));
  return p + NXT_GUARD + shift;
}
static inline void *nxt_guarded(int64_t bytes) { return nxt_guarded_at(bytes, 0); }

static inline bool nxt_guards_hold(const void *memory, int64_t bytes) {
  const unsigned char *p = memory;
  for (int i = 0; i < NXT_GUARD; i++)
    if (p[-1 - i] != 0xa5 || p[bytes + i] != 0xa5) return false;
  return true;
}

static inline void nxt_guarded_free_at(void *memory, int64_t shift) {
  if (memory != NULL) free((char *)memory - NXT_GUARD - shift);
}
static inline void nxt_guarded_free(void *memory) { nxt_guarded_free_at(memory, 0); }

#endif
