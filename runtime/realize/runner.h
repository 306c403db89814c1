/* SPDX-License-Identifier: ISC */
/* The thread of a context that does asynchronous work, and events: one for each piece of it. */
#ifndef NXI_RUNNER_H
#define NXI_RUNNER_H

#include "nx/async.h"
#include "run.h"

typedef struct nxi_runner nxi_runner;

/* Starts no thread yet. NX_OUT_OF_MEMORY. */
nx_status nxi_runner_create(nxi_runner **out, nxi_diag *d);
/* Nothing may be left to do: work keeps the context alive. May be called on the runner's thread,
 * which then ends by itself. NULL is allowed. */
void nxi_runner_destroy(nxi_runner *r);

/* An event, one reference, whose work is not known yet, with a thread that can do it; NULL: there
 * is no memory or no thread, or the options are refused. */
nx_event *nxi_event_create(nx_context *c, const char *op, const nx_run_options *o, nxi_diag *d);
/* Room for n more nodes to be realised. False: no memory. */
bool nxi_event_reserve(nx_event *e, uint32_t n);
/* Takes the reference of a node; there must be room. */
void nxi_event_add(nx_event *e, nxi_node *n);
/* Hands the event to the thread. Cannot fail. */
void nxi_event_submit(nx_event *e);
/* Of an event that was not submitted. */
void nxi_event_drop(nx_event *e);

#endif
