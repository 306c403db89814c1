/* SPDX-License-Identifier: ISC */
/* A function: a graph, the sources of its inputs, and the destinations of its outputs. */
#ifndef NXI_FUNCTION_H
#define NXI_FUNCTION_H

#include "runtime/realize/run.h"
#include "runtime/record/context.h"

/* An input of the graph beyond the function's own. */
typedef struct nxi_source {
  nxi_storage *cell; /* read at each call; one reference; or NULL and */
  nxi_node *node;    /* a value from the time of capture; one reference */
} nxi_source;

/* An output of the graph beyond the function's own: an assign that was captured. */
typedef struct nxi_effect {
  nxi_storage *storage; /* one reference; or NULL and */
  uint32_t input;       /* the number of an input that is assigned */
  uint32_t source;      /* graph input that reads the storage, UINT32_MAX if none */
} nxi_effect;

struct nx_function {
  nxi_head head;
  nx_context *context;
  uint64_t id;
  int32_t device;
  nxg_graph *graph; /* inputs: n_in, then sources; outputs: n_out, then effects */
  uint32_t n_in, n_out, n_sources, cap_sources, n_effects, cap_effects;
  nxi_source *sources;
  nxi_effect *effects;
  uint8_t *donate;   /* n_in flags */
  char (*names)[16]; /* of inputs and outputs without a name of their own */
  bool watched;
  uint32_t misses;         /* brief calls in a row that found no quick plan; run_lock */
  _Atomic uint32_t pauses; /* calls that do not ask for one again (brief_call.c) */
};

/* function.c. A function with its context and graph, one reference; takes neither on failure. */
nx_function *nxi_function_new(nx_context *c, nxg_graph *g, uint32_t n_in, uint32_t n_out,
                              nxi_diag *d);
/* Checks the arguments `in` and `out` of a call; false: the failure is in d. */
bool nxi_function_check(const nx_function *f, nx_tensor *const *in, size_t n_in, nx_tensor **out,
                        size_t n_out, nxi_diag *d);
/* Records the nodes of the body that do not vary with the inputs; values[i]: a handle of node i,
 * one reference, or NULL if it varies. Those made before a failure are there too; it is
 * reported. */
nx_status nxi_function_fixed(nx_function *f, const bool *varies, nx_tensor **values);
/* function_prepare.c. Makes the plan and the code that a first call needs, if the function assigns
 * nothing and what it has captured is computed. What fails says so in the call. Of the options the
 * poll is asked, on this thread. No lock. */
void nxi_function_prepare(nx_function *f, const nx_run_options *o);
/* function_capture.c. Sources and effects of a failed or dead function; record_lock. */
void nxi_function_drop(nx_context *c, nx_function *f);

#endif
