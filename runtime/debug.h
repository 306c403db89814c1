/* SPDX-License-Identifier: ISC */
/* The debugging options that the environment and nx_debug_set request. */
#ifndef NXI_DEBUG_H
#define NXI_DEBUG_H

#include "config.h"
#include "runtime/realize/run.h"

#if NX_HAVE_CUDA
#define NXI_NO_CUDA
#else
#define NXI_NO_CUDA " (nothing here: the library was built without CUDA)"
#endif

/* The words of NX_DEBUG, one in each row: name, effect. */
#define NXI_DEBUG_WORDS(X)                                                \
  X(graph, "each graph for which a plan is made, as recorded")            \
  X(clusters, "the graph after its passes, and what becomes one kernel")  \
  X(kernels, "kernels, logical form")                                     \
  X(bound, "kernels, bound to the machine")                               \
  X(plan, "steps and memory of each plan")                                \
  X(llvm, "LLVM IR of each kernel")                                       \
  X(asm, "assembly of each kernel")                                       \
  X(cuda, "CUDA source of each kernel" NXI_NO_CUDA)                       \
  X(ptx, "PTX of each kernel" NXI_NO_CUDA)                                \
  X(time, "each run: nodes, executor, milliseconds")                      \
  X(cache, "why a plan was not found in the cache")                       \
  X(verify, "verify the IR after every pass")                             \
  X(roundtrip, "print, parse and print the IR again after every pass")    \
  X(generic, "kernels whose integers are parameters")                     \
  X(integers, "every kernel is compiled with integers as parameters")     \
  X(nan, "interpret, and name the first operation that makes a NaN")      \
  X(handles, "look every handle up; name those that were released")       \
  X(nofuse, "one kernel an operation")                                    \
  X(nopacking, "operands of products are written whole")                  \
  X(nographs, "kernels of a GPU are launched without graphs" NXI_NO_CUDA) \
  X(notracks, "no kernels of a GPU side by side" NXI_NO_CUDA)             \
  X(nounroll, "all loops of a GPU are conditional nodes" NXI_NO_CUDA)     \
  X(help, "this table")

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

/* Reads the environment, once, before anything is compiled. If a variable is not valid, each call
 * fails: NX_INVALID_ARGUMENT; NX_IO if the directory for dumps cannot be written. */
nx_status nxi_debug_init(nxi_diag *d);
uint32_t nxi_debug_flags(void);
nxi_executor_kind nxi_debug_executor(void);
int32_t nxi_debug_cpu_devices(void); /* NX_CPU_DEVICES */
bool nxi_debug_llvm_wanted(void);    /* NX_EXECUTOR=llvm: graphs must be compiled */
/* Whether tiny graphs are interpreted at first; false with NX_EXECUTOR=llvm, and if stages are
 * wanted that exist only for compiled graphs. */
bool nxi_debug_interpret_tiny(void);
/* Whether code may be made in the background; false with NX_BACKGROUND=off, and where tiny graphs
 * are not interpreted. */
bool nxi_debug_background(void);
bool nxi_debug_fuse(void);
bool nxi_debug_whole(void); /* nxi_executable_options.whole */
/* A part of the key of every plan: whether it fuses and packs operands, and the number of the last
 * request for stages. Because of that number each graph that runs after a new request is planned,
 * and shown, once more. */
enum { NXI_KEY_UNFUSED = 1, NXI_KEY_WHOLE = 2, NXI_KEY_TIGHT = 4 };
/* Without NXI_KEY_TIGHT, which a run adds that is short of memory. */
uint32_t nxi_debug_key(void);
/* Keeps a source that the compiler of a device refuses, with its messages, in the directory for
 * dumps, and adds to the message of d where it is. */
void nxi_debug_keep_refused(const char *name, const char *source, const char *words, nxi_diag *d);
/* Shows the graph of a run for which a plan is made, with the values that are parameters of the
 * plan. */
nx_status nxi_debug_graph(const nxi_run *run, nxi_diag *d);
/* nan.c. Called while the arrays of the launch still exist. */
void nxi_debug_nan(const nxi_run *run);
/* Called after each run: prints for NX_DEBUG=time,cache. */
void nxi_debug_run(const nxi_run *run, uint32_t nodes, const char *miss, bool interpreted,
                   double ms);

#endif
