/* SPDX-License-Identifier: ISC */
/* Looking inside: what a run did, and every stage of the compiler as text.
 *
 * Environment, read once when the first context is created:
 *   NX_DEBUG=word,word     what to print to standard error while running; NX_DEBUG=help prints the
 *                          words
 *   NX_DUMP_DIR=directory  writes every stage of every graph for which a plan is made there; made
 *                          if it is missing
 *   NX_SKIP=pass,pass      leaves out optional passes, to bisect a wrong result without a rebuild
 *   NX_EXECUTOR=llvm|kernel-interp|interp  what runs the device "cpu"; without it LLVM, where there
 *                                          is one, except
 *                          that tiny graphs are interpreted until that has cost more than compiling
 *                          them, and that graphs the interpreter does in a few milliseconds are
 *                          interpreted until their code is there, which is made in the background
 *   NX_BACKGROUND=off      makes code when it is first needed, and waits for it
 *   NX_ISA=avx2|generic    forbids wider vectors
 *   NX_TRACE=file.json     a trace of the whole process, as of nx_trace_begin, written when it ends
 * nx_context_create fails if one of them names what there is not, or a directory or a file that
 * cannot be written. Stages that NX_DEBUG names appear wherever the code of a kernel comes from,
 * caches included. */
#ifndef NX_DEBUG_H
#define NX_DEBUG_H

#include "function.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What one action did. */
typedef struct nx_report {
  size_t size;      /**< sizeof(nx_report), set by the caller */
  uint64_t nodes;   /**< of the graphs that ran */
  uint64_t kernels; /**< launched, library calls not counted */
  uint64_t library_calls;
  uint64_t runs; /**< graphs that ran; 0: everything was there already */
  /** of those, run by the interpreter: tiny, or brief and without code yet, or nothing else is
   * available */
  uint64_t interpreted;
  uint64_t plan_hits, plan_misses;
  uint64_t kernel_hits, kernel_disk_hits, kernel_misses; /**< while making the missed plans */
  /** Of the last plan miss, for a person, the kind of the difference from the nearest plan of the
   * same operations: "a shape differs", "strides differ", "a constant differs", ... or that there
   * is no such plan; miss_detail says which node differs. NULL if there was no miss. Static. */
  const char *miss_reason;
  uint64_t bytes;         /**< read from inputs and written to outputs */
  uint64_t planned_bytes; /**< outputs and temporaries, as planned, of the largest graph */
  uint64_t peak_bytes; /**< the most tensor data that was in use meanwhile, the whole context's */
  double record_ms, plan_ms, compile_ms, run_ms, total_ms; /**< record_ms: extraction and keys */
  /** of the library calls, those for which a GPU's operands went to the host and back */
  uint64_t host_calls;
  uint64_t graph_launches; /**< of CUDA graphs: of all steps of a run, or steps of a loop */
  /** Of the last plan miss: the first node that differs from the nearest plan there is, with its
   * number in the text of the graph: "node 7: mul f32[3,4], in the nearest plan f32[3,5]". "" if
   * nothing is near. */
  char miss_detail[192];
  /** Products that were generated kernels, and library calls that the host did for a GPU, because a
   * library is missing; and a sentence that says which one and why, of the last of them. Static;
   * NULL if there was none. */
  uint64_t without_library;
  const char *missing_library;
  /** Why graphs for the CPU were interpreted though they were to be compiled (nx_device_info), else
   * NULL. Static. */
  const char *interpreted_reason;
  /** Of the kernels of the missed plans, those that run code in which shapes, slices and positions
   * are parameters: misses made such code, hits took what was made for another kernel or run. */
  uint64_t generic_hits, generic_misses;
} nx_report;

/** The table of words that NX_DEBUG knows. Static. */
NX_API const char *nx_debug_help(void);
/** Replaces what NX_DEBUG said, for the whole process: `words` separated by commas, copied; NULL or
 * "" for none. Stages that it names are shown the next time a graph runs, also of graphs that ran
 * before. NX_INVALID_ARGUMENT, and nothing changed: an unknown word, which the message names. */
NX_API nx_status nx_debug_set(const char *words);

/** Begins a trace of the whole process, for a profile: what each thread does from now on, workers
 * too. Plans that are made, kernels that are compiled, launches and their steps are spans of time;
 * steps have the bytes that they move, GB/s, and the share of what copies of as many bytes reach,
 * which is measured at the first launch. The path is copied; nx_trace_end writes the file, in the
 * Trace Event Format (Perfetto, chrome://tracing). The child of a fork has no trace.
 * NX_INVALID_ARGUMENT: path is NULL or "", or there is a trace, perhaps of NX_TRACE; NX_IO: the
 * file cannot be written; NX_OUT_OF_MEMORY. */
NX_API nx_status nx_trace_begin(const char *path);
/** Writes the file of the trace, and ends it, also on failure. Call it when nothing runs: what has
 * not ended is missing. NX_INVALID_ARGUMENT: there is no trace; NX_IO, NX_OUT_OF_MEMORY. */
NX_API nx_status nx_trace_end(void);

/** The graph that realising these tensors would run, as text of one stage: graph, clusters,
 * kernels, bound, generic (which kernels share code), plan, llvm, asm, gpu (kernels bound for a
 * GPU), cuda (CUDA C of those, a file by itself), ptx, sass (what becomes of that) or dot.
 * The tensors are of one context, one at least; of those on several devices the ones on the device
 * of the first that is not realised. Runs nothing. *text ends with NUL and is the caller's, to
 * free with nx_string_free; untouched on failure. NX_INVALID_ARGUMENT: no such stage (the message
 * lists them), or no tensors. Else what realising gives before it runs: NX_UNBOUND, NX_DONATED,
 * NX_COMPILE_FAILED, NX_DEVICE_UNAVAILABLE, NX_OUT_OF_MEMORY. */
NX_API nx_status nx_dump(nx_tensor *const *tensors, size_t n, const char *stage, char **text);
/** The same of the graph that a function was made with. As nx_dump, but never NX_UNBOUND or
 * NX_DONATED. */
NX_API nx_status nx_function_dump(const nx_function *f, const char *stage, char **text);
/** Frees a text that nx_dump or nx_function_dump gave. NULL is allowed. */
NX_API void nx_string_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
