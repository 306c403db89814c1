/* SPDX-License-Identifier: ISC */
/* Ending the process while threads compile. exit() destroys the global objects of a compiler that
 * other threads may be using. So a handler of ours waits, for 5 s at most, until no thread is
 * inside the compiler, and lets none in again. Whatever is realised after that, by handlers of the
 * host or by other threads, is interpreted.
 *
 * Handlers run in the opposite order of their registration, so whatever a compiler registers while
 * somebody is inside runs before ours. The LLVM code generator therefore keeps LLVM from
 * registering anything, from its first constructor on (codegen_llvm/guard.c). */
#ifndef NXI_EXIT_H
#define NXI_EXIT_H

#include <stdbool.h>

/* To be called around each use of a compiler; calls of one thread may nest. False: the process is
 * ending (nxi_exit_begun tells), or there was no memory for the handler; nxi_exit_leave must then
 * not be called. */
bool nxi_exit_enter(void);
void nxi_exit_leave(void);
bool nxi_exit_begun(void);

/* Registers the handler once more, so that it runs before handlers that were registered since. For
 * a compiler that has registered handlers of its own in its first use. */
void nxi_exit_watch_again(void);

/* Calls the function when the process ends by exit(). False without memory. */
bool nxi_exit_call(void (*function)(void));

/* Keeps this code loaded for the life of the process, even if the library, or the plugin that it is
 * part of, is closed: our threads may be running in it, and the C library and LLVM keep addresses
 * of its functions. Must be called before the first such thread or address exists. */
void nxi_stay_loaded(void);

#endif
