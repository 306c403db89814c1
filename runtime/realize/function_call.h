/* SPDX-License-Identifier: ISC */
/* A call of a function while it lasts, shared by function_call.c (when what happens) and
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
  bool partial;   /* that writes a part of it: the old value is read */
  /* the run's input that is the whole of the old value, NXI_NONE if there is none */
  uint32_t input;
  uint32_t alias_range; /* the one that is the view which `first` writes, if that is a part
                     * (NXI_NONE: the key says where) */
  uint32_t reads;       /* inputs that read the storage */
  nxi_node *leaf;       /* the new value: one reference until the storage names it */
  nxi_node *before;     /* the old value, from then on; one reference */
} nxi_assignee;

typedef struct nxi_call {
  nxi_action *a;
  nx_function *f;
  nxi_run *run;
  nx_tensor *const *in;
  nx_tensor *const *out; /* as the caller gave them */
  uint32_t n_results;    /* of the graph */
  /* of the graph; the run's go on with old values of targets, then alias ranges */
  uint32_t n_inputs;
  uint32_t n_values; /* inputs that are a value: all but alias ranges */
  uint32_t n_alias_ranges;
  /* The block of all arrays here begins with these. */
  nxi_storage **storages; /* what these are read from; NULL: a source's own node */
  nxi_node **values;      /* what they hold at the moment of the call; one reference each */
  nxi_assignee *targets;
  uint32_t n_targets;
  uint32_t *target_of; /* result -> number of its target, NXI_NONE */
  nx_tensor **results; /* n_out: new tensors, where the caller gave none */
  nxi_node **gone;     /* for each donated input: what it is afterwards */
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

/* function_key.c. The key of the run, which names the function, how its inputs lie in memory and
 * where its results go, so that a call costs nothing for each node; and the inputs. Outputs of the
 * run are new tensors in the order of effects, then targets. run_lock. False without memory. */
bool nxi_call_key(nxi_call *k);

#endif
