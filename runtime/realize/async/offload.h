/* SPDX-License-Identifier: ISC */
/* Offloading: threads that do the work of an action, so that the caller's thread can call its poll
 * every 10 ms even during a compilation, a pass over a million operations, or a kernel with a
 * single task.
 *
 * An offload thread takes the place of the caller in the runs of the thread pool, so the number of
 * busy threads is the same as without it. Offloading costs about 10 us, so work that is known to be
 * short is done by the caller. Offload threads are started when they are first needed and a few are
 * kept; they block all signals. In a child of fork they are gone. */
#ifndef NXI_OFFLOAD_H
#define NXI_OFFLOAD_H

#include "ir/diag.h"
#include "runtime/threads.h"

typedef struct nxi_offload nxi_offload;

/* Does not start a thread yet. NX_OUT_OF_MEMORY. */
nx_status nxi_offload_create(nxi_offload **out, nxi_diag *d);
/* Ends the threads; none may be at work. NULL is allowed. */
void nxi_offload_destroy(nxi_offload *all);

typedef nx_status (*nxi_offload_work)(void *arg);
typedef enum nxi_offload_end {
  NXI_OFFLOAD_DONE,   /* *status is what the work returned */
  NXI_OFFLOAD_ABSENT, /* nothing was done: no thread is idle, and none can be started */
  NXI_OFFLOAD_LOST    /* this is a child of fork: the work continues in the parent only */
} nxi_offload_end;
/* Time between polls: 10 ms, half of what the interface promises. Tests shorten it so that they can
 * interrupt anywhere. */
extern _Atomic int64_t nxi_offload_poll_ns;
/* Runs work(arg) on an offload thread, and calls the poll on this thread until the work is done,
 * the first time after nxi_offload_poll_ns. When the poll says to stop, *stop is set and the poll
 * is not called again; the work must check *stop and return early. */
nxi_offload_end nxi_offload_run(nxi_offload *all, nxi_offload_work work, void *arg,
                                const nxi_poll *poll, _Atomic bool *stop, nx_status *status);

/* The same in two steps, between which the caller does other work. Begun: NULL if nothing was done.
 * Each begin needs its end. poll->fn may be NULL. */
typedef struct nxi_offloaded nxi_offloaded;
nxi_offloaded *nxi_offload_begin(nxi_offload *all, nxi_offload_work work, void *arg);
nxi_offload_end nxi_offload_end_of(nxi_offload *all, nxi_offloaded *begun, const nxi_poll *poll,
                                   _Atomic bool *stop, nx_status *status);

#endif
