/* SPDX-License-Identifier: ISC */
/* The process through the C library. */
#include "process.h"

#include <stdlib.h>
#include <unistd.h>

uint32_t nxi_process_number(void) { return (uint32_t)getpid(); }

const char *nxi_safe_variable(const char *name) { return secure_getenv(name); }

bool nxi_variable_set(const char *name, const char *value) {
  return (value ? setenv(name, value, 1) : unsetenv(name)) == 0;
}
