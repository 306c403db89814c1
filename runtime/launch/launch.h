/* SPDX-License-Identifier: ISC */
/* Executables. An executable is a plan (passes/plan/plan.h) with everything that is needed to run
 * it: loaded kernels, functions of libraries. It is made once for a graph structure and launched
 * many times, from any thread. */
#ifndef NXI_LAUNCH_H
#define NXI_LAUNCH_H

#include "passes/plan/plan.h"

struct nxi_device;
struct nxi_kernel_cache;
struct nxi_pool;

typedef enum nxi_executor_kind {
  NXI_COMPILED,      /* kernels are machine code */
  NXI_KERNEL_INTERP, /* the same plan; the kernel interpreter runs the kernels */
  NXI_GRAPH_INTERP   /* the graph interpreter runs node after node; no fusion, no kernels */
} nxi_executor_kind;

typedef struct nxi_executable_options {
  nxi_executor_kind executor;
  bool fuse, whole, tight; /* see nxp_options */
  bool bound_interp;       /* KERNEL_INTERP: run the bound form instead of the logical one */
  bool varies;             /* graphs of the same operations with other shapes were met */
  bool found_only;         /* nothing is compiled; if it had to be, it fails and reports `absent` */
  bool at_first;           /* code may be what is quickly made; see nxi_executable_lacks */
  bool in_body;            /* of the body of a loop or of a branch: its code is made to stay */
  bool special;            /* no kernel is served by code that serves others, if it works much */
  bool unstarted;          /* who compiles first waits until the compiler is loaded */
  const nxi_target *target;
  int32_t threads;                  /* the most threads of a launch: the size of its pool */
  struct nxi_kernel_cache *kernels; /* compiled kernels, shared; NULL with the interpreters */
  struct nxi_device *device;        /* that runs it; NULL: this processor, or none */
  struct nxi_pool *pool;            /* threads that compile its kernels; NULL: this one alone */
  bool sums_in_any_order;           /* scatters of floats */
  /* the plan is printed and not run; for a GPU's target it has the steps of a machine with that
   * GPU */
  bool printed;
} nxi_executable_options;

/* Counts and times of making an executable. */
typedef struct nxi_compile_report {
  /* host_calls: library calls of a GPU's plan that the host executes */
  uint32_t nodes, kernels, library_calls, host_calls;
  uint32_t kernel_hits, kernel_disk_hits, kernel_misses;
  uint32_t generic_hits, generic_misses; /* of those, kernels that generic code serves */
  /* Number of products that are generated code, and of calls that the host executes for a GPU,
   * because a library is missing; and a sentence that says which library is missing and why, for
   * the last of them. Static, or NULL. */
  uint32_t without_library;
  const char *missing_library;
  bool absent; /* it failed, because it would have to compile */
  double pass_ms, compile_ms;
} nxi_compile_report;

typedef struct nxi_executable nxi_executable;

/* poll may be NULL; called between passes and between kernels. NX_INTERRUPTED if it requests a
 * stop. report and d may be NULL. */
nx_status nxi_executable_create(const nxg_graph *g, const nxi_executable_options *o,
                                int32_t (*poll)(void *), void *poll_user, nxi_executable **out,
                                nxi_compile_report *report, nxi_diag *d);
void nxi_executable_destroy(nxi_executable *e); /* NULL is allowed */
/* Its plan, packed: outputs, what it stores, temporary memory, work. */
const nxp_plan *nxi_executable_plan(const nxi_executable *e);
/* Whether an interruption is the only way a launch can fail. Interpreters can fail because they
 * allocate; compiled steps cannot. Most library calls can fail because of the values of their
 * operands, and checks of indices can fail. */
bool nxi_executable_cannot_fail(const nxi_executable *e);
/* Whether it is for now (options.at_first): kernels that do little are interpreted for want of
 * code, or code was made in haste. */
bool nxi_executable_lacks(const nxi_executable *e);
/* How many of its kernels, and those of its bodies, are served by code whose integers are
 * parameters, although they may work much (options.special). */
uint32_t nxi_executable_shares(const nxi_executable *e);
/* Whether a launch is one call of machine code on the calling thread, of microseconds, that writes
 * one small result and nothing else, and cannot fail. */
bool nxi_executable_is_brief(const nxi_executable *e);
/* Whether a launch is a few calls of machine code or of the library on the calling thread, of
 * microseconds together, that write no input, need little memory, and cannot fail. */
enum { NXI_QUICK_BYTES = 1 << 16 };
bool nxi_executable_is_quick(const nxi_executable *e);

typedef struct nxi_launch {
  void *const *inputs;     /* first element of each graph input */
  const uint64_t *params;  /* scalar bits */
  void *const *outputs;    /* memory of each output that is not in place */
  void *temporary;         /* temporary_bytes of the plan */
  struct nxi_pool *pool;   /* NULL: this thread alone */
  int32_t (*poll)(void *); /* or NULL */
  void *poll_user;
  /* Set once the poll says to stop, by whoever asks the caller meanwhile: kernels that may run for
   * long read it. NULL: nobody does */
  const _Atomic bool *stop;
  bool keep_outputs;        /* the contents of the outputs' memory are needed if the launch fails */
  uint64_t *graph_launches; /* incremented for each launch of a graph of many steps; may be NULL */
} nxi_launch;
/* Runs every step. Once memory of an input is being overwritten nothing in the plan can fail or be
 * interrupted; with keep_outputs the same is true of outputs, if the plan cannot fail. */
nx_status nxi_executable_launch(const nxi_executable *e, const nxi_launch *l, nxi_diag *d);

/* Dumps: stage is graph, clusters, kernels, bound, generic, plan, llvm, asm, gpu, cuda or dot. */
nx_status nxi_dump(const nxg_graph *g, const nxi_executable_options *o, const char *stage,
                   nxi_text *out, nxi_diag *d);
/* The same for a text of a graph or of kernels. Kernels have the stages kernels, bound, generic,
 * llvm, asm, gpu and cuda; a bound kernel has all of these except kernels and generic. *d must be
 * empty. */
nx_status nxi_dump_text(const char *text, size_t size, const nxi_executable_options *o,
                        const char *stage, nxi_text *out, nxi_diag *d);

#endif
