/* SPDX-License-Identifier: ISC */
/* The state of a call of a function, shared by function_call.c (the order of events) and
 * function_key.c (what is computed).
 *
 * Everything that a call computes, what it assigns included, is one run. Results are those of the
 * function's graph: its outputs, then its effects. They take effect in the order of the body:
 * effects first. */
#ifndef NXI_FUNCTION_CALL_H
#define NXI_FUNCTION_CALL_H

#include "function.h"
#include "runtime/record/node.h"

#define NXI_NONE UINT32_MAX

/* A storage that the call assigns, once or several times. */
typedef struct nxi_assignee {
  nxi_storage *storage;
  uint32_t first; /* the result that is assigned to it first */
  bool partial;   /* `first` writes a part of the storage: the old value is read */
  /* input of the run that is the whole old value, NXI_NONE if there is none */
  uint32_t input;
  /* input of the run that starts where `first` writes, if it writes a part; NXI_NONE: the place is
   * in the key */
  uint32_t alias_range;
  uint32_t reads;   /* inputs that read the storage */
  nxi_node *leaf;   /* the new value: one reference until the storage names it */
  nxi_node *before; /* the old value, after that; one reference */
} nxi_assignee;

typedef struct nxi_call {
  nxi_action *a;
  nx_function *f;
  nxi_run *run;
  nx_tensor *const *in;
  nx_tensor *const *out; /* as the caller gave them */
  uint32_t n_results;    /* of the graph */
  /* inputs of the graph; the run's are followed by old values of targets, then alias ranges */
  uint32_t n_inputs;
  uint32_t n_values; /* inputs that are a value: all but alias ranges */
  uint32_t n_alias_ranges;
  /* The block of all arrays here begins with these. */
  nxi_storage **storages; /* storages of the inputs; NULL: the input is a node of its own */
  nxi_node **values;      /* values of the inputs when the call takes effect; one reference each */
  nxi_assignee *targets;
  uint32_t n_targets;
  uint32_t *target_of; /* result -> number of its target, NXI_NONE */
  nx_tensor **results; /* n_out: new tensors, where the caller gave none */
  nxi_node **gone;     /* for each donated input: the node that its storage names afterwards */
} nxi_call;

/* Result number j in the order in which they take effect. */
static inline uint32_t nxi_call_result(const nxi_call *k, uint32_t j) {
  return (k->f->n_out + j) % k->n_results;
}
/* Whether the result becomes a new tensor. */
static inline bool nxi_call_is_new(const nxi_call *k, uint32_t i) {
  return i < k->f->n_out && !k->out[i];
}
/* The tensor of the caller that gets a result: NULL for new tensors and for storages that the body
 * assigns whole. */
static inline nx_tensor *nxi_call_destination(const nxi_call *k, uint32_t i) {
  if (i < k->f->n_out) return k->out[i];
  const nxi_effect *e = &k->f->effects[i - k->f->n_out];
  return e->storage ? NULL : k->in[e->input];
}

/* function_key.c. Makes the key and the inputs of the run. The key contains the function's
 * identity, the layout of its inputs in memory, and the destinations of its results, so the cost of
 * a call does not depend on the number of nodes. Outputs of the run are new tensors in the order of
 * effects, then targets. run_lock. False: out of memory. */
bool nxi_call_key(nxi_call *k);

/* brief_call.c */
enum { NXI_BRIEF_INPUTS = 8, NXI_BRIEF_OUTPUTS = 4 };
/* Calls the function at once, if its plan takes microseconds and nothing unusual concerns the
 * arguments, which have been checked. False: nothing was done, and the general way has to be gone.
 * may_wait: for run_lock. No lock. */
bool nxi_brief_call(nx_function *f, nx_tensor *const *in, nx_tensor **out, bool may_wait);
/* function_key.c. Writes the key that nxi_call_key makes where inputs are all of their storages,
 * with these buffers, and results are new (NULL) or all of others, and where there are no sources
 * and effects. There are as many of both as above at most. Returns the number of words. */
enum { NXI_BRIEF_WORDS = 4 + 3 * NXI_BRIEF_INPUTS + 1 + NXI_BRIEF_OUTPUTS };
uint32_t nxi_call_key_of_whole(const nx_function *f, nxi_buffer *const *inputs,
                               nx_tensor *const *out, uint64_t words[NXI_BRIEF_WORDS]);

/* function_key.c. The same of a call without arguments yet, whose inputs are taken to be aligned,
 * of storages of their own, and where they are donated nobody else's. Both locks. False: also if
 * something that was captured is not computed yet. */
bool nxi_call_key_of_none(nxi_run *run, nx_function *f);

#endif
