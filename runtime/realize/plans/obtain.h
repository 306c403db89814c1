/* SPDX-License-Identifier: ISC */
/* The plan of a run's key: found, or made. All functions with run_lock. */
#ifndef NXI_OBTAIN_H
#define NXI_OBTAIN_H

#include "plan_cache.h"

/* What there is to run; NULL: it has to be made. */
nxi_executable *nxi_plan_ready(const nxi_run *run, const nxi_plan *p, bool *interpret);

/* The same; makes it if need be, during which run_lock is released. *interpret: it is the
 * interpreter's. */
nx_status nxi_plan_obtain(nxi_run *run, nxi_plan *p, nxi_executable **out, bool *interpret,
                          nxi_diag *d);

/* After a run of the plan: starts what was put off until then. */
void nxi_plan_was_run(nx_context *c, nxi_plan *p);

/* Whether runs of the plan's code are to be timed, because others share it. */
bool nxi_plan_times_code(const nxi_run *run, const nxi_plan *p);

/* Whether a plan that has to be made will be the interpreter's if its graph is tiny. */
bool nxi_plan_interprets_tiny(const nxi_run *run, const nxi_plan *p);

#endif
