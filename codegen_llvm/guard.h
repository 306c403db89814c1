/* SPDX-License-Identifier: ISC */
/* The guard around LLVM; all calls of LLVM are made inside it. LLVM ends the process when memory
 * is exhausted or when it finds a fault in itself, and its global objects are destroyed in
 * exit() while other threads may use them. On a thread inside nxl_guarded neither happens. */
#ifndef NXI_LLVM_GUARD_H
#define NXI_LLVM_GUARD_H

#include <stddef.h>
#include "ir/diag.h"

/* Runs work(arg) inside LLVM, under the default floating-point environment. `reserve`: bytes of
 * memory that it may want; they are set aside first, and given to LLVM once it finds no other.
 *
 * NX_OUT_OF_MEMORY if they are not there, and then nothing was done, or if they did not suffice;
 * after that LLVM, left in the middle of something, is not entered again. NX_COMPILE_FAILED for a
 * failure inside LLVM, and if the process ends. NX_DEVICE_UNAVAILABLE if LLVM cannot be used any
 * more. Else what work returns. */
typedef nx_status nxl_work(void *arg, nxi_diag *d);
nx_status nxl_guarded(nxl_work *work, void *arg, size_t reserve, nxi_diag *d);

/* Code has been generated once: what LLVM makes on first use is made. */
void nxl_guard_warm(void);

/* Why LLVM is not entered again, NULL as long as it is. */
const char *nxl_abandoned(void);

#endif
