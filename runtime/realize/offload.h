/* SPDX-License-Identifier: ISC */
/* Offloading: threads that do the work of an action, so that the caller's thread is free to ask its
 * poll every 10 ms, whatever the work is in the middle of: a compile, a pass over a million
 * operations, a kernel of one task.
 *
 * An offload thread stands where the caller would: it takes the caller's share of the pool's runs,
 * so as many threads are busy as without it. Handing over costs about 10 us, so work that is known
 * to be short stays on the caller. Offload threads are started when they are first needed and a few
 * are kept; they block all signals. In a child of fork they are gone. */
#ifndef NXI_OFFLOAD_H
#define NXI_OFFLOAD_H

#include "ir/diag.h"
#include "runtime/platform/threads.h"

typedef struct nxi_offload nxi_offload;

/* Starts no thread yet. NX_OUT_OF_MEMORY. */
nx_status nxi_offload_create(nxi_offload **out, nxi_diag *d);
/* Ends the threads; none may be at work. NULL is allowed. */
void nxi_offload_destroy(nxi_offload *all);

typedef nx_status (*nxi_offload_work)(void *arg);
typedef enum nxi_offload_end {
  NXI_OFFLOAD_DONE,   /* *status is what the work returned */
  NXI_OFFLOAD_ABSENT, /* nothing was done: there is no thread and none can be started */
  NXI_OFFLOAD_LOST    /* this is a child of fork: the work goes on in the parent only */
} nxi_offload_end;
/* Time between polls: 10 ms, half of what is promised. Tests shorten it, to interrupt anywhere. */
extern _Atomic int64_t nxi_offload_poll_ns;
/* Has work(arg) done by an offload thread and asks the poll on this thread until it is, the first
 * time after nxi_offload_poll_ns. Once it says stop, *stop is set and it is not asked again; the
 * work is to look at *stop and come to an end. */
nxi_offload_end nxi_offload_run(nxi_offload *all, nxi_offload_work work, void *arg,
                                const nxi_poll *poll, _Atomic bool *stop, nx_status *status);

#endif
