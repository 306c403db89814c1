/* SPDX-License-Identifier: ISC */
/* What the files of this folder, and those of devices that carry plans out, share. */
#ifndef NXI_LAUNCH_INTERNAL_H
#define NXI_LAUNCH_INTERNAL_H

#include "launch.h"
#include "runtime/cache/kernel.h"
#include "runtime/threads.h"

struct nxi_executable {
  nxp_plan *plan;
  nxi_executable_options options;
  bool cannot_fail;
  nxg_program *program; /* GRAPH_INTERP; everything below is empty then */
  nxi_kernel **code;    /* by number of the kernel; NULL: kernels are interpreted */
  /* By number of the step: who carries a call out on the host. NULL: there are no calls. */
  const nxg_functions **functions;
  struct nxi_gpu_plan *gpu; /* runtime/cuda/launch.h; NULL: no GPU carries it out */
};

/* code.c: machine code of all kernels, or the form that is interpreted. Asks between kernels. */
nx_status nxi_load_kernels(nxi_executable *e, const nxi_poll *poll, nxi_compile_report *report,
                           nxi_diag *d);
/* products.c: fills in what libraries multiply, and for want of which one they do not. */
void nxi_find_products(const nxi_executable_options *o, nxp_options *out);
/* Whether all steps are a GPU's, which may be one that is not here. */
bool nxi_is_for_gpu(const nxi_executable_options *o);

/* call.c. buffers: operands, results, scratch of the call, scratch of all threads. */
nx_status nxi_run_call(const nxp_call *call, const nxg_functions *functions, void *const *buffers,
                       nxi_pool *pool, const nxi_poll *poll, nxi_diag *d);
/* host.c: what a check of indices found: the position of the first bad one, INT64_MAX if there is
 * none. */
nx_status nxi_report_check(const nxp_step *s, int64_t found, nxi_diag *d);

/* interp_blas.c: the interpreter multiplies with the library too. */
void nxi_interpret_with_blas(void);

#endif
