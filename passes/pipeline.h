/* SPDX-License-Identifier: ISC */
/* Runs the passes in the order of pass_list.def, and does around them what pass bodies never do: skipping, verifying, round
 * trips through text, showing stages. */
#ifndef NXP_PIPELINE_H
#define NXP_PIPELINE_H

#include "kernel_passes.h"
#include "plan_internal.h"

/* What the process wants to see; set by runtime/debug.c before anything is compiled. Read only. */
typedef struct nxp_debug {
  bool verify;      /* verify the IR after every pass */
  bool roundtrip;   /* print, parse and print again after every pass: the same bytes */
  const char *skip; /* comma-separated names of passes to leave out, or NULL */
  /* Called with every stage ("graph", "clusters", "kernels", "bound", "llvm", "asm", "plan") as it comes about if it
   * `wants` it; both NULL: nothing is shown. */
  bool (*wants)(const char *stage);
  void (*show)(const char *stage, const char *name, const char *text);
  /* Called before (begin) and after each step of a launch, on its thread; NULL: not. */
  void (*step)(const char *name, bool begin);
} nxp_debug;
extern nxp_debug nxp_debugging;

/* All graph passes; the result is a new graph. */
nx_status nxp_run_graph_passes(const nxg_graph *g, bool optimise, bool blas, nxg_graph **out,
                               nxi_diag *d);
nx_status nxp_simplify_kernel(const nxp_plan *plan, const nxk_kernel *k, nxk_kernel **out,
                              nxi_diag *d);
/* Simplified logical kernel -> what the plan's executor runs: fills code or ir, tasks and scratch of the step. */
nx_status nxp_make_code(nxp_plan *plan, const nxk_kernel *k, nxp_step *step,
                        nxp_compile_report *report, nxi_diag *d);
/* Simplified logical -> expanded, bound, legal. */
nx_status nxp_bind_kernel(const nxk_kernel *k, const nxi_target *t, nxk_kernel **out, nxi_diag *d);

/* Splits a reduction over few points in two kernels, if that pays; *first is NULL if it does not. */
typedef struct nxp_split {
  nxk_kernel *first, *second;
  int n_partials; /* buffers that follow those of the whole kernel in both */
  int64_t partial_bytes[NXK_MAX_PARTIALS];
} nxp_split;
nx_status nxp_split_kernel(const nxp_plan *plan, const nxk_kernel *k, nxp_split *out, nxi_diag *d);

#endif
