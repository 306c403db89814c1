/* SPDX-License-Identifier: ISC */
/* What the files of the device "cpu" share. */
#ifndef NXI_CPU_H
#define NXI_CPU_H

#include "runtime/host.h"
#include "runtime/launch/internal.h"
#include "runtime/threads.h"

/* products.c */
void nxi_cpu_plan_for(const nxi_executable_options *o, const nxg_graph *g, nxp_options *out);
/* Fails if memory is too short to load the library, because a plan made then would never use it. */
nx_status nxi_cpu_find_blas(const nxg_graph *g, nxi_diag *d);
/* copy.c; pool and poll may be NULL. The two may overlap. NX_INTERRUPTED: a part is copied. */
nx_status nxi_copy_run(nxi_pool *pool, const nxi_poll *poll, void *to, const void *from,
                       int64_t bytes);
/* touch.c: writes each page of a large array, whose contents stay as they are, asking the poll.
 * Without one there is nothing to do. NX_INTERRUPTED. */
nx_status nxi_touch_run(nxi_pool *pool, const nxi_poll *poll, void *base, int64_t bytes);
/* launch.c */
nx_status nxi_cpu_launch(const nxi_executable *e, const nxi_launch *l, nxi_diag *d);
/* maker.c */
extern const nxi_device_stage nxi_cpu_stages[];

#endif
