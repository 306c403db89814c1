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
  bool cannot_fail, brief, quick;
  bool lacks;        /* some of `code` is NULL, and interpreted, or made in haste: for now */
  uint32_t shares;   /* nxi_executable_shares */
  nxi_kernel **code; /* indexed by kernel; NULL: all are interpreted */
  /* Indexed by step: the functions that execute a call on the host. NULL: there are no calls. */
  const nxg_functions **functions;
  /* Indexed by step: the executables of bodies. NULL: there is no control flow. */
  nxi_executable ***bodies;
  void *own; /* data of the kind */
};

/* The kind that executes plans with these options: that of the executor, of the device, or of the
 * target if the plan is printed. */
const nxi_device_kind *nxi_kind_for(const nxi_executable_options *o);

/* executable.c: makes the plan and loads its kernels. */
nx_status nxi_load_plan(nxi_executable *e, const nxg_graph *g, const nxp_options *o,
                        const nxi_poll *poll, nxi_compile_report *report, nxi_diag *d);
/* Prepares functions of the host for the calls that the device does not execute itself. */
nx_status nxi_load_calls(nxi_executable *e, const nxi_poll *poll, nxi_diag *d);
/* call.c: whether each phase of a call is so little work that one thread does it. */
bool nxi_call_is_of_one_task(const nxg_call_work *work);
/* control.c: makes executables of the bodies of control flow, after the plan's kernels. */
nx_status nxi_load_controls(nxi_executable *e, const nxi_poll *poll, nxi_compile_report *report,
                            nxi_diag *d);
void nxi_release_controls(nxi_executable *e);
/* How a device carries out what control flow consists of: as in nxg_control_frame, whose user this
 * is. */
typedef struct nxi_control_device {
  nx_status (*run)(void *user, uint32_t body, void *const *inputs, void *const *outputs,
                   nxi_diag *d);
  nx_status (*copy)(void *user, void *to, const void *from, int64_t bytes, nxi_diag *d);
  nx_status (*fetch)(void *user, void *to, const void *from, int64_t bytes, nxi_diag *d);
  nx_status (*put)(void *user, void *to, const void *from, int64_t bytes, nxi_diag *d);
  nx_status (*ask)(void *user, nxi_diag *d);
  nxi_executable *const *bodies;
  const nxi_launch *launch;
  const nxi_poll *poll;
  const _Atomic bool *stop; /* as in nxi_launch; NULL where the poll's answer is ignored */
  int64_t polled_ns;        /* 0 at first */
  int32_t stopped;
  char *numbers;   /* as in nxg_control_frame, or NULL */
  void *temporary; /* filled in: of the bodies */
} nxi_control_device;
/* at: the addresses of the step's buffers, and room for the pointers of a frame after them. */
nx_status nxi_run_control(const nxp_step *s, void **at, nxi_control_device *v, nxi_diag *d);
/* For `ask`, and as the poll of bodies; user: an nxi_control_device. */
nx_status nxi_control_ask(void *user, nxi_diag *d);
int32_t nxi_control_poll(void *user);
/* code.c: loads the machine code of all kernels, or the form that is interpreted. Calls the poll
 * between kernels. */
nx_status nxi_load_kernels(nxi_executable *e, const nxi_poll *poll, nxi_compile_report *report,
                           nxi_diag *d);
/* The number and the integers of a logical kernel's kind, the caller's to free. Kernels of one
 * number differ only in integers, and have the same strides of 1; 0: this one is unlike any
 * other. */
nxi_kernel_kind nxi_kind_of(const nxk_kernel *logical);
void nxi_kind_free(nxi_kernel_kind *k);
/* The code of a logical kernel, from the cache. kind: its own, above. */
nx_status nxi_get_code(nxi_kernel_cache *c, const nxk_kernel *logical, const nxi_target *t,
                       const nxi_kernel_kind *kind, nxi_kernel **out, nxi_kernel_outcome *how,
                       nxi_diag *d);
/* The bound kernel in the form that depends little on its integers; any_extent as in the target. */
nx_status nxi_bind_generic(const nxk_kernel *logical, const nxi_target *t, bool any_extent,
                           nxk_kernel **bound, nxi_diag *d);

/* Loads the machine code of a kernel, which replaces the IR. Other threads may load other kernels
 * of the plan meanwhile. kind: of the kernel. */
nx_status nxi_load_kernel(nxi_executable *e, uint32_t number, const nxi_kernel_kind *kind,
                          nxi_compile_report *report, nxi_diag *d);
/* at_first.c. Whether the step of a product packs windows by copying what it needs of the image, if
 * kernels are code: its own kernels for that are not run. */
bool nxi_copies_images(const nxp_step *s);
/* Of each kernel, whether a step runs it. */
void nxi_find_needed(const nxp_plan *p, bool *needed);
/* Of each kernel, whether it may be interpreted until there is code for it; work: room
 * for as many numbers as there are kernels. */
void nxi_may_lack_code(const nxp_plan *p, bool *may, double *work);
/* Whether first code of a logical kernel, if it has one, had better call functions
 * (nxi_target.calls). */
bool nxi_calls_pay(const nxk_kernel *k, const nxi_target *t);
/* Whether first code of a kernel had better be made in haste (nxi_target.hasty). */
bool nxi_haste_pays(const nxk_kernel *k, const nxi_target *t);
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
