/* SPDX-License-Identifier: ISC */
/* Runs kernels that are compiled for AArch64, in an emulator (qemu-aarch64). */
#ifndef NXT_FOREIGN_H
#define NXT_FOREIGN_H

#include "ir/kernel/kernel.h"

/* NULL if kernels can be run, else what is missing. The first call looks for the tools and builds
 * the program that they need. */
const char *nxt_foreign_missing(void);
/* A bound and legalised kernel, compiled for AArch64, on its launch buffers (those of LOCAL arrays
 * are ignored). False, and a sentence printed, if anything fails. */
bool nxt_foreign_run(const nxk_kernel *k, void *const *buffers, const uint64_t *params,
                     int64_t begin, int64_t end);
/* Called at the end of a group of tests: removes what was built, or prints why nothing was run. */
int nxt_foreign_end(void **state);

#endif
