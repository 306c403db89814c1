/* SPDX-License-Identifier: ISC */
/* This process: its number and its environment; and programs that it starts. */
#ifndef NXI_PLATFORM_PROCESS_H
#define NXI_PLATFORM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint32_t nxi_process_number(void);
/* A variable of the environment. Always NULL in a program that has more rights than the user who
 * started it. */
const char *nxi_safe_variable(const char *name);
/* Sets a variable, for libraries that read it while they are loaded. value NULL: removes it. False
 * if memory is exhausted. */
bool nxi_variable_set(const char *name, const char *value);

/* Starts a program, which is looked for in PATH if its name has no slash, waits for its end, and
 * calls `take` with what it writes to its standard output; the rest it shares with this process.
 * Returns its exit status, 128 or more if it ended otherwise; -1 if it cannot be started, with the
 * reason in errno. arguments: its name first, NULL last. */
int nxi_program_run(const char *const *arguments,
                    void (*take)(void *user, const char *text, size_t n), void *user);

#endif
