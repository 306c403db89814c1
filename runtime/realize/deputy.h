/* SPDX-License-Identifier: ISC */
/* Deputies: threads that do the work of an action, so that the caller's thread is free to ask its poll every 10 ms,
 * whatever the work is in the middle of: a compile, a pass over a million operations, a kernel of one task.
 *
 * A deputy stands where the caller would: it takes the caller's share of the pool's runs, so as many threads are busy
 * as without it. Handing over costs about 10 us, so work that is known to be short stays on the caller. Deputies are
 * started when they are first needed and a few are kept; they block all signals. In a child of fork they are gone. */
#ifndef NXI_DEPUTY_H
#define NXI_DEPUTY_H

#include "ir/diag.h"
#include "runtime/platform/threads.h"

typedef struct nxi_deputies nxi_deputies;

/* Starts no thread yet. NX_OUT_OF_MEMORY. */
nx_status nxi_deputies_create(nxi_deputies **out, nxi_diag *d);
/* Ends the threads; none may be at work. NULL is allowed. */
void nxi_deputies_destroy(nxi_deputies *all);

typedef nx_status (*nxi_deputy_work)(void *arg);
typedef enum nxi_deputy_end {
  NXI_DEPUTY_DONE,   /* *status is what the work returned */
  NXI_DEPUTY_ABSENT, /* nothing was done: there is no thread and none can be started */
  NXI_DEPUTY_LOST    /* this is a child of fork: the work goes on in the parent only */
} nxi_deputy_end;
/* Time between polls: 10 ms, half of what is promised. Tests shorten it, to interrupt anywhere. */
extern _Atomic int64_t nxi_deputy_poll_ns;
/* Has work(arg) done by a deputy and asks the poll on this thread until it is, the first time after nxi_deputy_poll_ns.
 * Once it says stop, *stop is set and it is not asked again; the work is to look at *stop and come to an end. */
nxi_deputy_end nxi_deputy_run(nxi_deputies *all, nxi_deputy_work work, void *arg,
                              const nxi_poll *poll, _Atomic bool *stop, nx_status *status);

#endif
