/* SPDX-License-Identifier: ISC */
/* Long work that no poll interrupts, such as one call of LAPACK, done apart: by a thread of its
 * own, on memory of its own. Who waits for it asks the poll meanwhile, and is free as soon as that
 * says to stop. The work then goes on to its end, in the background, where nothing is left but that
 * memory, which is freed then. When the process ends, such threads are halted, since the libraries
 * that they are in are unloaded. */
#ifndef NXI_APART_H
#define NXI_APART_H

#include "ir/library/library.h"

/* Operations of work that is done apart if it can be; less takes a tenth of a second at most. */
static const double nxi_apart_cost = 1e9;
enum {
  NXI_APART_MOST = 4
}; /* works that nobody waits for; what comes then waits for one of them */

/* Memory for the work, aligned to 64 bytes, not initialised. NULL: the work has to be done in its
 * place, because there is no poll, no memory, or the process ends. */
void *nxi_apart_new(const nxg_call_part *part, size_t bytes);
/* work(memory), which touches nothing else that may go away. True: it is done, and the memory is
 * the caller's until nxi_apart_free. False: told to stop, and the memory is the work's. */
bool nxi_apart_run(void *memory, void (*work)(void *memory), const nxg_call_part *part);
void nxi_apart_free(void *memory);
/* Whether nobody waits for the work; in it, as `stopped` of a part whose `user` is the memory. */
bool nxi_apart_is_left(void *memory);
/* How many works go on in the background. */
int32_t nxi_apart_left(void);
/* Tests: how many works have ever been begun apart. */
int32_t nxi_apart_begun(void);

#endif
