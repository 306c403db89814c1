/* SPDX-License-Identifier: ISC */
/* Runs the passes in the order of pass_list.def, and does for all of them what pass bodies do not:
 * skipping, verifying, round trips through text, showing stages. */
#ifndef NXP_PIPELINE_H
#define NXP_PIPELINE_H

#include <stdatomic.h>

#include "passes/kernel/passes.h"
#include "passes/plan/plan.h"

/* The debugging options of the process. runtime/debug.c fills them in before anything is compiled;
 * nx_debug_set can change verify, roundtrip and the answers of `wants` at any time. */
typedef struct nxp_debug {
  _Atomic bool verify;    /* verify the IR after every pass */
  _Atomic bool roundtrip; /* print, parse and print again after every pass: the same bytes */
  _Atomic bool generic;   /* no kernel is compiled for its integers alone */
  uint64_t skip;          /* passes to leave out, a bit for each row of nxp_passes */
  /* Called with every stage ("clusters", "kernels", "bound", "llvm", "asm", "plan") when it is
   * made, if `wants` returns true for it. Both NULL: nothing is shown. If `show` fails, the
   * compilation that it shows fails. */
  bool (*wants)(const char *stage);
  nx_status (*show)(const char *stage, const char *name, const char *text, nxi_diag *d);
  /* Runs a kernel of threads instead of the interpreter; NULL: the interpreter runs it. */
  nx_status (*run_threads)(const nxk_kernel *k, void *const *buffers, const uint64_t *params,
                           nxi_diag *d);
  /* Called after each pass with its result as text, which the function may take over; may be NULL.
   * Only for nxc opt, which has one thread. */
  void (*passed)(const char *pass, nxi_text *text);
} nxp_debug;
extern nxp_debug nxp_debugging;
/* Passes a graph after a pass to the `passed` hook. */
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
/* Whether NX_SKIP leaves the pass of that row out. */
bool nxp_is_skipped(int pass);
/* Shows a stage, which must be wanted, and frees its text. */
nx_status nxp_show(const char *stage, const char *name, nxi_text *text, nxi_diag *d);
/* Does the checks that verify and roundtrip request, on the graph after `pass`. */
nx_status nxp_check_graph(const nxg_graph *g, const char *pass, nxi_diag *d);
nx_status nxp_check_kernel(const nxk_kernel *k, const char *pass, nxi_diag *d);

/* NX_INTERRUPTED if the poll requests a stop; `poll` and its function may be NULL. */
nx_status nxp_ask(const nxi_poll *poll, nxi_diag *d);

/* All graph passes; the result is a new graph, or g itself if no pass changed anything. */
nx_status nxp_run_graph_passes(const nxg_graph *g, bool optimise, nxp_products products,
                               const nxi_poll *poll, nxg_graph **out, nxi_diag *d);
nx_status nxp_simplify_kernel(const nxp_plan *plan, const nxk_kernel *k, nxk_kernel **out,
                              nxi_diag *d);
/* Simplified logical -> expanded, bound, legal. A kernel that was bound by the plan is copied. */
nx_status nxp_bind_kernel(const nxk_kernel *k, const nxi_target *t, nxk_kernel **out, nxi_diag *d);
/* Appends the text on which the result of nxp_bind_kernel depends: it is a key for that result. */
void nxp_put_bind_key(const nxk_kernel *k, const nxi_target *t, nxi_text *out);
/* Shows the kernel if this stage is wanted. */
nx_status nxp_show_kernel(const char *stage, const nxk_kernel *k, nxi_diag *d);

/* Splits a reduction over few points in two kernels, if that pays; *first is NULL if it does
 * not. */
typedef struct nxp_split {
  nxk_kernel *first, *second;
  /* number of buffers for partial results, which follow the buffers of the original kernel in both
   * kernels */
  int n_partials;
  int64_t partial_bytes[NXK_MAX_PARTIALS];
} nxp_split;
nx_status nxp_split_kernel(const nxp_plan *plan, const nxk_kernel *k, nxp_split *out, nxi_diag *d);

#endif
