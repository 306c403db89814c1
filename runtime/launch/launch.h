/* SPDX-License-Identifier: ISC */
/* Executables: a plan (passes/plan/plan.h) with all that is needed to carry it out: loaded kernels,
 * functions of libraries, CUDA graphs. One is made once for a graph structure and launched many
 * times, from any thread. */
#ifndef NXI_LAUNCH_H
#define NXI_LAUNCH_H

#include "passes/plan/plan.h"

struct nxi_gpu;
struct nxi_kernel_cache;
struct nxi_pool;

typedef enum nxi_executor_kind {
  NXI_COMPILED,      /* kernels are machine code */
  NXI_KERNEL_INTERP, /* same plan, kernels run by the kernel interpreter */
  NXI_GRAPH_INTERP   /* node by node; no fusion, no kernels */
} nxi_executor_kind;

typedef struct nxi_executable_options {
  nxi_executor_kind executor;
  bool fuse, whole;  /* of nxp_options */
  bool bound_interp; /* KERNEL_INTERP: run the bound form instead of the logical one */
  const nxi_target *target;
  int32_t threads;                  /* that a launch may use: the size of its pool */
  struct nxi_kernel_cache *kernels; /* compiled kernels, shared; NULL with the interpreters */
  struct nxi_gpu *gpu;              /* that runs it; NULL: none, or the plan is only printed */
  bool sums_in_any_order;           /* scatters of floats on a GPU */
  /* and not run: for a GPU's target it shows the steps of a machine that has that GPU */
  bool printed;
} nxi_executable_options;

/* What making an executable did. */
typedef struct nxi_compile_report {
  /* host_calls: of those of a GPU's plan, done by the host */
  uint32_t nodes, kernels, library_calls, host_calls;
  uint32_t kernel_hits, kernel_disk_hits, kernel_misses;
  /* Products that are generated code, and calls that the host does for a GPU, because a library is
   * missing; the sentence that says which and why, of the last of them. Static, or NULL. */
  uint32_t without_library;
  const char *missing_library;
  double pass_ms, compile_ms;
} nxi_compile_report;

typedef struct nxi_executable nxi_executable;

/* poll may be NULL; called between passes and between kernels. NX_INTERRUPTED if it says so.
 * report and d may be NULL. */
nx_status nxi_executable_create(const nxg_graph *g, const nxi_executable_options *o,
                                int32_t (*poll)(void *), void *poll_user, nxi_executable **out,
                                nxi_compile_report *report, nxi_diag *d);
void nxi_executable_destroy(nxi_executable *e); /* NULL is allowed */
/* Its plan, packed: outputs, what it stores, temporary memory, work. */
const nxp_plan *nxi_executable_plan(const nxi_executable *e);
/* Whether nothing but an interruption can end a launch: interpreters allocate, compiled steps do
 * not; library calls may fail on what they read, and indices may be bad. */
bool nxi_executable_cannot_fail(const nxi_executable *e);

typedef struct nxi_launch {
  void *const *inputs;     /* first element of each graph input */
  const uint64_t *params;  /* scalar bits */
  void *const *outputs;    /* memory of each output that is not in place */
  void *temporary;         /* temporary_bytes of the plan */
  struct nxi_pool *pool;   /* NULL: this thread alone */
  int32_t (*poll)(void *); /* or NULL */
  void *poll_user;
  bool keep_outputs;   /* what lies in the outputs' memory is needed again if the launch fails */
  struct nxi_gpu *gpu; /* all addresses are its; NULL: this machine's */
  uint64_t *graph_launches; /* counts the graphs of the GPU that were launched; NULL: nobody asks */
} nxi_launch;
/* Runs every step. Once memory of an input is being overwritten nothing in the plan can fail or be
 * interrupted; with keep_outputs the same is true of outputs, if the plan cannot fail. */
nx_status nxi_executable_launch(const nxi_executable *e, const nxi_launch *l, nxi_diag *d);

/* Dumps: stage is graph, clusters, kernels, bound, plan, llvm, asm, gpu, cuda or dot. */
nx_status nxi_dump(const nxg_graph *g, const nxi_executable_options *o, const char *stage,
                   nxi_text *out, nxi_diag *d);
/* The same of a text: of a graph, or of kernels, which have the stages kernels, bound, llvm, asm,
 * gpu and cuda (a bound one all but the first). Nothing of d may be set. */
nx_status nxi_dump_text(const char *text, size_t size, const nxi_executable_options *o,
                        const char *stage, nxi_text *out, nxi_diag *d);

#endif
