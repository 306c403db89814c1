/* SPDX-License-Identifier: ISC */
/* Runs one graph on every executor and compares bits with the node-by-node interpreter. */
#ifndef NXT_DIFFERENTIAL_H
#define NXT_DIFFERENTIAL_H

#include "passes/plan.h"
#include "runtime/threads.h"

/* One way to run a graph. */
typedef struct nxt_config {
  const char *name;
  nxp_executor executor;
  bool fuse, bound;
  const char *isa; /* NULL: this machine's best */
  bool pool;
} nxt_config;

typedef struct nxt_lab nxt_lab;
nxt_lab *nxt_lab_create(void); /* kernel caches, targets, a pool of two */
void nxt_lab_destroy(nxt_lab *lab);
/* All configurations that exist here; n is their number. */
const nxt_config *nxt_configs(const nxt_lab *lab, size_t *n);

/* True if `config` gives the bits of the interpreter for this graph and inputs from `seed`. If not, `why` says where. A
 * refusal that both share (NX_UNSUPPORTED...) counts as agreement. */
bool nxt_agrees(nxt_lab *lab, const nxg_graph *g, uint64_t seed, const nxt_config *config,
                char *why, size_t size);

#endif
