/* SPDX-License-Identifier: ISC */
/* Declarations shared by the files of this folder and by devices that execute plans. */
#ifndef NXI_LAUNCH_INTERNAL_H
#define NXI_LAUNCH_INTERNAL_H

#include "launch.h"
#include "runtime/cache/kernel.h"
#include "runtime/threads.h"

struct nxi_executable {
  nxp_plan *plan;
  nxi_executable_options options;
  bool cannot_fail;
  nxg_program *program; /* for GRAPH_INTERP; everything below is then empty */
  nxi_kernel **code;    /* indexed by kernel; NULL: kernels are interpreted */
  /* Indexed by step: the functions that execute a call on the host. NULL: there are no calls. */
  const nxg_functions **functions;
  struct nxi_gpu_plan *gpu; /* runtime/cuda/launch.h; NULL: the plan is not for a GPU */
};

/* code.c: loads the machine code of all kernels, or the form that is interpreted. Calls the poll
 * between kernels. */
nx_status nxi_load_kernels(nxi_executable *e, const nxi_poll *poll, nxi_compile_report *report,
                           nxi_diag *d);
/* products.c: fills in which products libraries compute, or which library is missing. */
void nxi_find_products(const nxi_executable_options *o, nxp_options *out);
/* Whether the plan is for a GPU, which need not be present. */
bool nxi_is_for_gpu(const nxi_executable_options *o);

/* call.c. buffers: operands, results, scratch of the call, scratch of all threads. */
nx_status nxi_run_call(const nxp_call *call, const nxg_functions *functions, void *const *buffers,
                       nxi_pool *pool, const nxi_poll *poll, nxi_diag *d);
/* host.c: reports the result of a check of indices. found: the position of the first bad index,
 * INT64_MAX if there is none. */
nx_status nxi_report_check(const nxp_step *s, int64_t found, nxi_diag *d);

/* interp_blas.c: makes the interpreter compute products with the library. */
void nxi_interpret_with_blas(void);

#endif
