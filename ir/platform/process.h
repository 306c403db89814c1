/* SPDX-License-Identifier: ISC */
/* This process: its number and its environment. */
#ifndef NXI_PLATFORM_PROCESS_H
#define NXI_PLATFORM_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

uint32_t nxi_process_number(void);
/* A variable of the environment. Always NULL in a program that has more rights than the user who
 * started it. */
const char *nxi_safe_variable(const char *name);
/* Sets a variable, for libraries that read it while they are loaded. value NULL: removes it. False
 * if memory is exhausted. */
bool nxi_variable_set(const char *name, const char *value);

#endif
