/* SPDX-License-Identifier: ISC */
/* The threads of a context that do asynchronous work, and events: one for each piece of it. Each
 * device of the processor has a thread of its own, so that one that waits in a collective keeps no
 * other from coming to it; the other devices share that of the first. */
#ifndef NXI_RUNNER_H
#define NXI_RUNNER_H

#include "nx/async.h"
#include "runtime/realize/run.h"

typedef struct nxi_runner nxi_runner;

/* Starts no thread yet. NX_OUT_OF_MEMORY. */
nx_status nxi_runner_create(nxi_runner **out, nxi_diag *d);
/* Nothing may be left to do: work keeps the context alive. May be called on the runner's thread,
 * which then ends by itself. NULL is allowed. */
void nxi_runner_destroy(nxi_runner *r);

/* An event, one reference, whose work is not known yet, with a thread that can do it; *flags are
 * those of the options. NULL: there is no memory or no thread, or the options are refused. */
nx_event *nxi_event_create(nx_context *c, int32_t device, const char *op, const nx_run_options *o,
                           uint32_t *flags, nxi_diag *d);
/* What it is to realise. */
nxi_wanted *nxi_event_wanted(nx_event *e);
/* Hands the event to the thread. Cannot fail. */
void nxi_event_submit(nx_event *e);
/* Of an event that was not submitted. */
void nxi_event_drop(nx_event *e);

#endif
