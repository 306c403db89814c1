/* SPDX-License-Identifier: ISC */
/* Which executor the environment asks for: tests run once with each. */
#ifndef NXT_EXECUTOR_H
#define NXT_EXECUTOR_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether NX_EXECUTOR is that name: "interp" (graphs), "kernel-interp" or "llvm"; "": it names
 * none, and the library chooses. */
static inline bool nxt_executor_is(const char *name) {
  const char *executor = getenv("NX_EXECUTOR");
  return strcmp(executor ? executor : "", name) == 0;
}

/* Whether it is one of the two that interpret. */
static inline bool nxt_executor_interprets(void) {
  return nxt_executor_is("interp") || nxt_executor_is("kernel-interp");
}

#endif
