/* SPDX-License-Identifier: ISC */
/* What the environment and nx_debug_set ask for. */
#ifndef NXI_DEBUG_H
#define NXI_DEBUG_H

#include "runtime/run.h"

/* One word of NX_DEBUG a row: name, what it does. */
#define NXI_DEBUG_WORDS(X)                                             \
  X(graph, "each graph that is compiled, as recorded")                 \
  X(clusters, "what becomes one kernel, and why")                      \
  X(kernels, "kernels, logical form")                                  \
  X(bound, "kernels, bound to the machine")                            \
  X(plan, "steps and memory of each plan")                             \
  X(llvm, "LLVM IR of each kernel")                                    \
  X(asm, "assembly of each kernel")                                    \
  X(time, "each run: nodes, executor, milliseconds")                   \
  X(cache, "why a plan was not found in the cache")                    \
  X(verify, "verify the IR after every pass")                          \
  X(roundtrip, "print, parse and print the IR again after every pass") \
  X(nan, "interpret, and name the first operation that makes a NaN")   \
  X(nofuse, "one kernel an operation")

enum {
#define NXI_DEBUG_ROW(name, sentence) NXI_DEBUG_##name##_row,
  NXI_DEBUG_WORDS(NXI_DEBUG_ROW) NXI_DEBUG_ROWS
#undef NXI_DEBUG_ROW
};
enum {
#define NXI_DEBUG_ROW(name, sentence) NXI_DEBUG_##name = 1 << NXI_DEBUG_##name##_row,
  NXI_DEBUG_WORDS(NXI_DEBUG_ROW)
#undef NXI_DEBUG_ROW
};

/* Reads the environment, once. Before anything is compiled. */
void nxi_debug_init(void);
uint32_t nxi_debug_flags(void);
nxp_executor nxi_debug_executor(void);
bool nxi_debug_interpret_tiny(
    void); /* tiny graphs are interpreted at first; not under NX_EXECUTOR=llvm */
bool nxi_debug_fuse(void);
/* nan.c. The arrays of the launch are still there. */
void nxi_debug_nan(const nxi_run *run);
/* After each run: what NX_DEBUG=time,cache want. */
void nxi_debug_run(const nxi_run *run, const char *miss, bool interpreted, double ms);

#endif
