/* SPDX-License-Identifier: ISC */
/* The message with which the process ends if a rule of locks is broken. */
#include "lock.h"

#if NX_CHECKS
#include <stdio.h>
#include <stdlib.h>

_Thread_local int nxi_locks_held;

void nxi_rule_broken(const char *file, int line, const char *function, const char *rule) {
  fprintf(stderr, "nx: %s:%d: %s: %s\n", file, line, function, rule);
  abort();
}
#else
typedef int nxi_no_checks; /* a C file must not be empty */
#endif
