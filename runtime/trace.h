/* SPDX-License-Identifier: ISC */
/* Traces: spans of time on the threads on which they ran, for a profile of the process. Off, each
 * place that adds spans reads one flag. Any thread may add them; the child of a fork has no
 * trace. */
#ifndef NXI_TRACE_H
#define NXI_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ir/diag.h"

struct nxi_pool;

extern _Atomic bool nxi_tracing;
static inline bool nxi_trace_is_on(void) {
  return atomic_load_explicit(&nxi_tracing, memory_order_relaxed);
}

/* A span, for who reads a trace. limit: GB/s that copies of so many bytes reach with the threads of
 * the launch; 0: not known. */
typedef struct nxi_trace_span {
  const char *category, *name;
  int64_t began_ns, ended_ns;
  int64_t bytes; /* that it moved; 0: not known */
  double limit;
} nxi_trace_span;

/* Begins a trace that is written to the file by nxi_trace_end; path NULL: to none.
 * NX_INVALID_ARGUMENT: there is a trace; NX_IO: the file cannot be
 * written; NX_OUT_OF_MEMORY. */
nx_status nxi_trace_begin(const char *path, nxi_diag *d);
/* Writes the trace, if there is a path, and ends it, also after a failure. NX_INVALID_ARGUMENT:
 * there is none. */
nx_status nxi_trace_end(nxi_diag *d);
/* Calls fn with each span so far, in the order of their ends. fn adds none. */
void nxi_trace_each(void (*fn)(void *user, const nxi_trace_span *span), void *user);

/* Adds a span of this thread, which ends now. category: static. Without memory for it the span is
 * missing, and the trace says how many are. */
void nxi_trace_add(const char *category, const char *name, int64_t began_ns);
/* A step of a launch: between the two, what other threads do for this one has its name. bytes: as
 * in nxi_trace_span. began_ns: what nxi_trace_step returned. */
int64_t nxi_trace_step(const char *name);
void nxi_trace_stepped(int64_t began_ns, int64_t bytes, int32_t threads);
/* What this thread, number `worker` of a pool, did for the current step of thread `caller`. */
void nxi_trace_share(uintptr_t caller, int32_t worker, int64_t began_ns);

/* trace_limit.c. Measures copies of all sizes with this pool, once in a process for each number of
 * threads: some 50 ms. */
void nxi_trace_measure(struct nxi_pool *pool);
/* GB/s read and written by copies that move so many bytes; 0: not measured. */
double nxi_trace_limit(int64_t bytes, int32_t threads);

#endif
