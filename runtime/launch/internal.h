/* SPDX-License-Identifier: ISC */
/* Declarations shared by the files of this folder and by devices, which execute plans. */
#ifndef NXI_LAUNCH_INTERNAL_H
#define NXI_LAUNCH_INTERNAL_H

#include "launch.h"
#include "runtime/cache/kernel.h"
#include "runtime/device.h"
#include "runtime/threads.h"

struct nxi_executable {
  const nxi_device_kind *kind; /* loads and launches it */
  nxp_plan *plan;
  nxi_executable_options options;
  bool cannot_fail;
  nxi_kernel **code; /* indexed by kernel; NULL: kernels are interpreted */
  /* Indexed by step: the functions that execute a call on the host. NULL: there are no calls. */
  const nxg_functions **functions;
  void *own; /* data of the kind */
};

/* The kind that executes plans with these options: that of the executor, of the device, or of the
 * target if the plan is printed. */
const nxi_device_kind *nxi_kind_for(const nxi_executable_options *o);

/* executable.c: makes the plan and loads its kernels. */
nx_status nxi_load_plan(nxi_executable *e, const nxg_graph *g, const nxp_options *o,
                        const nxi_poll *poll, nxi_compile_report *report, nxi_diag *d);
/* Prepares functions of the host for the calls that the device does not execute itself. */
nx_status nxi_load_calls(nxi_executable *e, nxi_diag *d);
/* code.c: loads the machine code of all kernels, or the form that is interpreted. Calls the poll
 * between kernels. */
nx_status nxi_load_kernels(nxi_executable *e, const nxi_poll *poll, nxi_compile_report *report,
                           nxi_diag *d);
/* Kernels of one number differ only in integers, and have the same strides of 1; 0: this one is
 * unlike any other. */
uint64_t nxi_kind_number(const nxk_kernel *logical);
/* The code of a logical kernel, from the cache. kind: its number, above. */
nx_status nxi_get_code(nxi_kernel_cache *c, const nxk_kernel *logical, const nxi_target *t,
                       uint64_t kind, nxi_kernel **out, nxi_kernel_outcome *how, nxi_diag *d);
/* The bound kernel in the form that depends little on its integers; any_extent as in the target. */
nx_status nxi_bind_generic(const nxk_kernel *logical, const nxi_target *t, bool any_extent,
                           nxk_kernel **bound, nxi_diag *d);

/* Kernels of one number, of one plan, differ only in integers; 0: this one is unlike any other. */
uint64_t nxi_kind_of_kernel(const nxi_executable *e, uint32_t number);
/* Loads the machine code of a kernel, which replaces the IR. Other threads may load other kernels
 * of the plan meanwhile. kind: the number above. */
nx_status nxi_load_kernel(nxi_executable *e, uint32_t number, uint64_t kind,
                          nxi_compile_report *report, nxi_diag *d);
/* together.c: loads the machine code of all kernels, on the threads of the pool. */
nx_status nxi_load_together(nxi_executable *e, const nxi_poll *poll, nxi_compile_report *report,
                            nxi_diag *d);

/* call.c. buffers: operands, results, scratch of the call, scratch of all threads. */
nx_status nxi_run_call(const nxp_call *call, const nxg_functions *functions, void *const *buffers,
                       nxi_pool *pool, const nxi_poll *poll, nxi_diag *d);
/* Reports the result of a check of indices. found: the position of the first bad index, INT64_MAX
 * if there is none. */
nx_status nxi_report_check(const nxp_step *s, int64_t found, nxi_diag *d);

#endif
