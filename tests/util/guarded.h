/* SPDX-License-Identifier: ISC */
/* Memory that shows who writes outside of it: aligned to 64 bytes, with guard bytes on both sides. */
#ifndef NXT_GUARDED_H
#define NXT_GUARDED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NXT_GUARD = 64 };

/* Filled with guard bytes throughout. A test without memory for its harness says nothing: it ends. */
static inline void *nxt_guarded(int64_t bytes) {
  unsigned char *p = NULL;
  if (posix_memalign((void **)&p, 64, (size_t)(bytes + 2 * NXT_GUARD)) != 0) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  memset(p, 0xa5, (size_t)(bytes + 2 * NXT_GUARD));
  return p + NXT_GUARD;
}

static inline bool nxt_guards_hold(const void *memory, int64_t bytes) {
  const unsigned char *p = memory;
  for (int i = 0; i < NXT_GUARD; i++)
    if (p[-1 - i] != 0xa5 || p[bytes + i] != 0xa5) return false;
  return true;
}

static inline void nxt_guarded_free(void *memory) {
  if (memory != NULL) free((char *)memory - NXT_GUARD);
}

#endif
