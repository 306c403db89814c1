/* SPDX-License-Identifier: ISC */
/* Ending the process while threads compile. exit() destroys the global objects of a compiler that
 * other threads may be inside of. So a handler of ours waits, 5 s at most, until nobody is inside,
 * and lets nobody in again: what is realised after that, by handlers of the host or by other
 * threads, is interpreted.
 *
 * Handlers run in the opposite order of their registration, so whatever a compiler registers while
 * somebody is inside runs before ours. The LLVM code generator therefore keeps LLVM from
 * registering anything (codegen_llvm/guard.c). */
#ifndef NXI_EXIT_H
#define NXI_EXIT_H

#include <stdbool.h>

/* Around each stay in a compiler; stays of one thread may nest. False: the process ends, which
 * nxi_exit_begun tells, or there was no memory for the handler; then there is nothing to leave. */
bool nxi_exit_enter(void);
void nxi_exit_leave(void);
bool nxi_exit_begun(void);

/* Registers the handler once more, before what has been registered since: for a compiler whose
 * first use is over and which could not be kept from registering its own. */
void nxi_exit_watch_again(void);

/* This code is not unloaded any more, whoever closes the library, or the plugin that it is part of:
 * threads of ours may be in it, and the C library and LLVM keep addresses of functions that they
 * call later. Before the first of these exists. */
void nxi_stay_loaded(void);

#endif
