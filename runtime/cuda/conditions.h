/* SPDX-License-Identifier: ISC */
/* Loops and branches as conditional nodes of CUDA graphs. conditions.c decides which steps of a
 * plan can be that and runs them, conditions_write.c writes their graphs. */
#ifndef NXI_GPU_CONDITIONS_H
#define NXI_GPU_CONDITIONS_H

#include "graphs.h"
#include "runtime/cache/kernel.h"
#include "runtime/launch/internal.h"

/* How a step of control flow is carried out. */
typedef struct nxi_gpu_control {
  const char *why;  /* NULL: by conditional nodes; else a sentence, by the host */
  bool fails;       /* a run of it can fail: a limit of steps, indices that are checked */
  bool twice;       /* steps come by two, between the two places of what is carried */
  bool written_out; /* no nodes with conditions: each step is in the graph by itself */
  int64_t most;     /* steps of it, and of loops in its bodies, at most; -1: not known, or many */
  uint32_t scopes;  /* bodies of nodes in bodies of nodes, at most */
  uint32_t nodes;   /* of its graph, about */
  /* in the last buffer of the step: slices of stacks, each at 64 bytes; of steps that are written
   * out their numbers */
  int64_t slices_at;
  nxi_kernel *kernel, *slice; /* control.cuh */
  nxi_gpu_graphs *graphs;
} nxi_gpu_control;

/* After the bodies are loaded. imagined: there is no GPU, and the plan is printed. */
nx_status nxi_gpu_control_create(nxi_executable *e, uint32_t number, bool imagined, nxi_diag *d);
/* Its code; slices: also what moves slices of stacks. */
nx_status nxi_gpu_control_code(nxi_gpu *g, bool slices, nxi_gpu_control *own, nxi_diag *d);
void nxi_gpu_control_destroy(nxi_gpu_control *c); /* NULL is allowed */
/* Whether it is nodes that always end soon and cannot fail: nobody has to wait for it. */
bool nxi_gpu_control_is_closed(const nxi_gpu_control *c);

/* ---- writing */

/* Where a run can fail: what is reported then, and the operations around it, outermost first. */
typedef struct nxi_gpu_around {
  const nxp_step *step;
  uint64_t state; /* 0: `step_add` is the number of the step, -1: there is none */
  int64_t step_add;
} nxi_gpu_around;
typedef struct nxi_gpu_site {
  const nxp_step *step; /* a check, or a loop with a limit */
  uint32_t depth;
  nxi_gpu_around around[NXI_GPU_SCOPES_MOST];
} nxi_gpu_site;

/* What a graph is written for. */
typedef struct nxi_gpu_record {
  const nxi_kernel *kernel; /* that decides (control.cuh) */
  uint64_t root;            /* address of the words of the outermost one; 0: nothing in it fails */
  nxi_gpu_site *sites;
  uint32_t n_sites, cap_sites;
} nxi_gpu_record;

/* Where steps of a body belong that are being started; also before the graph, where nothing is
 * captured. */
struct nxi_gpu_nesting {
  nxi_gpu_record *record;
  uint32_t depth;
  nxi_gpu_around around[NXI_GPU_SCOPES_MOST];
};

/* One run of a step of control flow. */
typedef struct nxi_gpu_control_run {
  const nxi_executable *executable;
  const nxp_step *step;
  const nxi_gpu_control *own;
  const nxi_launch *launch;
  void **at; /* of the step's buffers, and room as in nxi_run_control */
  const nxi_poll *poll;
  const struct nxi_gpu_nesting *nesting; /* of what is around it; NULL: nothing is */
  nxi_gpu_record *record;
  nxi_diag *d;
} nxi_gpu_control_run;

/* The words at the address of the number of the step (control.cuh). */
enum { NXI_GPU_STEP = 1, NXI_GPU_MORE = 3, NXI_GPU_ROOT = 9, NXI_GPU_WORDS = 16 };
enum { NXI_GPU_FAILED = NXI_GPU_ROOT, NXI_GPU_FOUND };
static inline uint64_t nxi_gpu_control_state(const nxi_gpu_control_run *x) {
  return (uint64_t)(uintptr_t)x->at[x->step->n_buffers - 3];
}

/* What comes before the first step of a loop. */
nx_status nxi_gpu_write_begin(const nxi_gpu_control_run *x);
/* The nodes of a loop, after that, or of a case; in a capture. */
nx_status nxi_gpu_write_nodes(const nxi_gpu_control_run *x);
/* The numbers of all steps, for nxg_control_frame.numbers. */
nx_status nxi_gpu_write_numbers(const nxi_gpu_control_run *x, const void *at);
/* How many steps this launch may do; fresh: nothing has failed yet. */
nx_status nxi_gpu_write_allowance(const nxi_gpu_control_run *x, int64_t steps, bool fresh);
/* In a capture: the rest of the steps, until nxi_gpu_body_end, runs if the check finds nothing bad,
 * or if nothing in the control flow before has failed. found: 0 for the latter. */
nx_status nxi_gpu_write_guard(nxi_gpu *g, const struct nxi_gpu_nesting *nesting,
                              const nxp_step *check, uint64_t found, nxi_diag *d);

/* ---- running */

/* Starts bodies one after the other, and waits for conditions; numbers: as in nxg_control_frame. */
nx_status nxi_gpu_run_by_host(const nxi_gpu_control_run *x, char *numbers);
/* The step, as nodes of the graph that is captured, or as a graph of its own. *done: false: the
 * host has to do it. */
nx_status nxi_gpu_run_conditions(nxi_gpu_control_run *x, bool *done);

#endif
