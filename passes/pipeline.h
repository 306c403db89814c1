/* SPDX-License-Identifier: ISC */
/* Runs the passes in the order of pass_list.def, and does around them what pass bodies never do:
 * skipping, verifying, round trips through text, showing stages. */
#ifndef NXP_PIPELINE_H
#define NXP_PIPELINE_H

#include <stdatomic.h>

#include "passes/kernel/passes.h"
#include "passes/plan/plan.h"

/* What the process wants to see. runtime/debug.c fills it before anything is compiled; nx_debug_set
 * changes verify and roundtrip, and what `wants` says, at any time. */
typedef struct nxp_debug {
  _Atomic bool verify;       /* verify the IR after every pass */
  _Atomic bool roundtrip;    /* print, parse and print again after every pass: the same bytes */
  _Atomic bool step_by_step; /* no launch of a GPU is a graph */
  uint32_t skip;             /* passes to leave out, a bit for each row of nxp_passes */
  /* Called with every stage ("clusters", "kernels", "bound", "llvm", "asm", "plan") as it comes
   * about if it `wants` it; both NULL: nothing is shown. A failure of `show` is one of what the
   * stage belongs to. */
  bool (*wants)(const char *stage);
  nx_status (*show)(const char *stage, const char *name, const char *text, nxi_diag *d);
  /* Runs a kernel of threads in place of the interpreter; NULL: that does. */
  nx_status (*run_threads)(const nxk_kernel *k, void *const *buffers, const uint64_t *params,
                           nxi_diag *d);
  /* Called after each pass with what it left, which may be taken; NULL: not. For nxc opt alone,
   * which has one thread. */
  void (*passed)(const char *pass, nxi_text *text);
  /* Called before (begin) and after each step of a launch, on its thread; NULL: not. */
  void (*step)(const char *name, bool begin);
} nxp_debug;
extern nxp_debug nxp_debugging;
/* Shows a graph after a pass to who wants to see it. */
void nxp_passed(const char *pass, const nxg_graph *g);

/* The rows of pass_list.def. */
typedef struct nxp_pass_row {
  const char *name;
  bool optional;
} nxp_pass_row;
enum {
#define NXP_PASS(name, stage, optional, gives) NXP_PASS_##name,
#include "pass_list.def"
#undef NXP_PASS
  NXP_PASSES
};
extern const nxp_pass_row nxp_passes[NXP_PASSES];

bool nxp_wanted(const char *stage);
/* Shows a stage that is wanted, and frees its text. */
nx_status nxp_show(const char *stage, const char *name, nxi_text *text, nxi_diag *d);
/* What verify and roundtrip ask for, of a graph that `pass` left. */
nx_status nxp_check_graph(const nxg_graph *g, const char *pass, nxi_diag *d);

/* NX_INTERRUPTED if the poll says stop; it may be NULL, and so may its function. */
nx_status nxp_ask(const nxi_poll *poll, nxi_diag *d);

/* All graph passes; the result is a new graph, or g itself if no pass changed anything. */
nx_status nxp_run_graph_passes(const nxg_graph *g, bool optimise, nxp_products products,
                               const nxi_poll *poll, nxg_graph **out, nxi_diag *d);
nx_status nxp_simplify_kernel(const nxp_plan *plan, const nxk_kernel *k, nxk_kernel **out,
                              nxi_diag *d);
/* Simplified logical -> expanded, bound, legal. */
nx_status nxp_bind_kernel(const nxk_kernel *k, const nxi_target *t, nxk_kernel **out, nxi_diag *d);
/* Everything that nxp_bind_kernel makes of a kernel depends on this text. */
void nxp_put_bind_key(const nxk_kernel *k, const nxi_target *t, nxi_text *out);
/* Shows the kernel to who wants to see a stage. */
nx_status nxp_show_kernel(const char *stage, const nxk_kernel *k, nxi_diag *d);

/* Splits a reduction over few points in two kernels, if that pays; *first is NULL if it does not.
 * */
typedef struct nxp_split {
  nxk_kernel *first, *second;
  int n_partials; /* buffers that follow those of the whole kernel in both */
  int64_t partial_bytes[NXK_MAX_PARTIALS];
} nxp_split;
nx_status nxp_split_kernel(const nxp_plan *plan, const nxk_kernel *k, nxp_split *out, nxi_diag *d);

#endif
