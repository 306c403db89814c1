/* SPDX-License-Identifier: ISC */
/* This process: its number and its environment. */
#ifndef NXI_PLATFORM_PROCESS_H
#define NXI_PLATFORM_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

uint32_t nxi_process_number(void);
/* A variable of the environment; NULL also in a program that has more rights than whoever started
 * it. */
const char *nxi_safe_variable(const char *name);
/* For libraries that read variables while they are loaded. value NULL: it is removed. False without
 * memory. */
bool nxi_variable_set(const char *name, const char *value);

#endif
