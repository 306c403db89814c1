/* SPDX-License-Identifier: ISC */
/* From a graph to something that runs: the whole of passes/ behind one door. A plan is made once
 * for a graph structure and launched many times, from any thread. */
#ifndef NXP_PLAN_H
#define NXP_PLAN_H

#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"
#include "ir/target.h"

typedef enum nxp_executor {
  NXP_LLVM,          /* compiled kernels */
  NXP_KERNEL_INTERP, /* same plan, kernels run by the kernel interpreter */
  NXP_GRAPH_INTERP,  /* node by node; no fusion, no kernels */
  NXP_CUDA           /* kernels compiled for the GPU that the target names */
} nxp_executor;

typedef struct nxp_options {
  nxp_executor executor;
  bool fuse;         /* false: one kernel a node (tests) */
  bool bound_interp; /* KERNEL_INTERP: run the bound form instead of the logical one */
  const nxi_target *target;
  int32_t threads;                  /* that a launch may use: the size of its pool */
  struct nxi_kernel_cache *kernels; /* compiled kernels, shared; NULL with the interpreters */
  bool whole; /* operands of products are written whole, however large (tests, measurements) */
  struct nxi_gpu *gpu;    /* that runs it; NULL: none, or the plan is only printed */
  bool sums_in_any_order; /* scatters of floats on a GPU */
  /* and not run: for a GPU's target it shows the steps of a machine that has that GPU */
  bool printed;
} nxp_options;

typedef struct nxp_plan nxp_plan;

/* What making a plan did. */
typedef struct nxp_compile_report {
  uint32_t nodes, kernels, library_calls,
      host_calls; /* host_calls: of a GPU's plan, done by the host */
  uint32_t kernel_hits, kernel_disk_hits, kernel_misses;
  /* Products that are generated code, and calls that the host does for a GPU, because a library is
   * missing; the sentence that says which and why, of the last of them. Static, or NULL. */
  uint32_t without_library;
  const char *missing_library;
  double pass_ms, compile_ms;
} nxp_compile_report;

/* poll may be NULL; called between passes and between kernels. NX_INTERRUPTED if it says so. */
nx_status nxp_plan_create(const nxg_graph *g, const nxp_options *o, int32_t (*poll)(void *),
                          void *poll_user, nxp_plan **out, nxp_compile_report *report, nxi_diag *d);
void nxp_plan_destroy(nxp_plan *p);

/* How an output's memory comes about; known when the plan is made. */
typedef struct nxp_output {
  int32_t in_place_of; /* >= 0: the output lies in that input's memory (an update done in place) */
  int64_t bytes;       /* else: memory of this size, 64-byte aligned, C order from its first byte */
  const char *name;    /* for prints; NULL: it has none */
} nxp_output;
const nxp_output *nxp_plan_outputs(const nxp_plan *p, uint32_t *n);
/* Values that a launch leaves whole in temporary memory: the `origin` of each of these nodes of the
 * graph, rising. With one of them as another output a plan of the same graph stores no more than
 * this one. */
const uint32_t *nxp_plan_stored(const nxp_plan *p, uint32_t *n);
/* Temporary memory a launch needs (one block, 64-byte aligned), planned with reuse of dead buffers.
 * */
int64_t nxp_plan_temporary_bytes(const nxp_plan *p);
/* Whether nothing but an interruption can end a launch: interpreters allocate, compiled steps do
 * not; library calls may fail on what they read, and indices may be bad. */
bool nxp_plan_cannot_fail(const nxp_plan *p);

typedef struct nxp_launch {
  void *const *inputs;    /* first element of each graph input */
  const uint64_t *params; /* scalar bits */
  void *const *outputs;   /* memory of each output that is not in place */
  void *temporary;
  struct nxi_pool *pool;   /* NULL: this thread alone */
  int32_t (*poll)(void *); /* or NULL */
  void *poll_user;
  bool keep_outputs;   /* what lies in the outputs' memory is needed again if the launch fails */
  struct nxi_gpu *gpu; /* all addresses are its; NULL: this machine's */
  uint64_t *graph_launches; /* counts the graphs of the GPU that were launched; NULL: nobody asks */
} nxp_launch;
/* Runs every step. Once memory of an input is being overwritten nothing in the plan can fail or be
 * interrupted; with keep_outputs the same is true of outputs, if the plan cannot fail. */
nx_status nxp_plan_launch(const nxp_plan *p, const nxp_launch *l, nxi_diag *d);

/* Dumps: stage is graph, clusters, kernels, bound, plan, llvm, asm or dot. */
nx_status nxp_dump(const nxg_graph *g, const nxp_options *o, const char *stage, nxi_text *out,
                   nxi_diag *d);
/* The same of a text: of a graph, or of kernels, which have the stages kernels, bound, llvm and asm
 * (a bound one all but the first). Nothing of d may be set. */
nx_status nxp_dump_text(const char *text, size_t size, const nxp_options *o, const char *stage,
                        nxi_text *out, nxi_diag *d);
void nxp_plan_print(const nxp_plan *p, nxi_text *out);
/* Roughly how many instructions one launch executes, each on one element. */
int64_t nxp_plan_work(const nxp_plan *p);

#endif
