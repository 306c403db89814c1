/* SPDX-License-Identifier: ISC */
/* Code that is made in the background: a thread of a context takes jobs, each of which makes the
 * compiled form of a plan, while runs of that plan are interpreted. The thread is started with the
 * first job. In a child of fork it is gone, and so are its jobs: whoever runs such a plan next
 * makes another one.
 *
 * The context does not end before its thread: destroying stops the job in progress between two
 * kernels, and drops the others. */
#ifndef NXI_BACKGROUND_H
#define NXI_BACKGROUND_H

#include "plan_cache.h"

typedef struct nxi_background nxi_background;
typedef struct nxi_code_job nxi_code_job;

nxi_background *nxi_background_create(nx_context *c); /* NULL without memory. Starts nothing */
/* No run may be in progress. No lock. NULL is allowed. */
void nxi_background_destroy(nxi_background *b);

/* A job: the graph, which is its own on success, and the options of its executable. NULL without
 * memory. */
nxi_code_job *nxi_code_job_create(nxg_graph *g, const nxi_executable_options *o);
void nxi_code_job_destroy(nxi_code_job *j); /* one that was not started; NULL is allowed */
/* Starts the job for a plan, which is `pending` until it ends, and gives the plan a user. The job
 * is the thread's then, and references its custom operations, which the caller's run still has.
 * False: there is no thread, or no memory for its work, and nothing was done. run_lock. */
bool nxi_background_start(nxi_background *b, nxi_code_job *j, nxi_plan *p);
/* In a child of fork: there is no thread, and no plan is pending. run_lock. */
void nxi_background_forked(nxi_background *b);

#endif
