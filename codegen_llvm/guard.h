/* SPDX-License-Identifier: ISC */
/* The guard around LLVM; all calls of LLVM are made inside it. By itself LLVM ends the process if
 * memory is exhausted or an internal error occurs, and exit() destroys its global objects while
 * other threads may use them. On a thread inside nxl_guarded neither happens; the second does not
 * happen either while LLVM is being loaded. */
#ifndef NXI_LLVM_GUARD_H
#define NXI_LLVM_GUARD_H

#include <stddef.h>
#include "ir/diag.h"

/* Runs work(arg) inside LLVM. `reserve`: bytes of memory that the work may need. They are allocated
 * first, and given to LLVM when its own allocations fail.
 *
 * Returns NX_OUT_OF_MEMORY if the reserve cannot be allocated, and nothing was done, or if it did
 * not suffice; in that case LLVM was left in the middle of its work, and is not entered again.
 * NX_COMPILE_FAILED: a failure inside LLVM. NX_DEVICE_UNAVAILABLE: LLVM cannot be used any more.
 * Otherwise the result of `work`. */
typedef nx_status nxl_work(void *arg, nxi_diag *d);
nx_status nxl_guarded(nxl_work *work, void *arg, size_t reserve, nxi_diag *d);

/* To be called by each thread that has opened the module. */
void nxl_guard_opened(void);

/* To be called when code has been generated once: LLVM has then made all the global objects that it
 * makes on first use. */
void nxl_guard_warm(void);

/* The reason why LLVM is not entered again; NULL if it may be entered. */
const char *nxl_abandoned(void);

#endif
