/* SPDX-License-Identifier: ISC */
/* Runs one graph on every executor and compares bits with the node-by-node interpreter. */
#ifndef NXT_DIFFERENTIAL_H
#define NXT_DIFFERENTIAL_H

#include "runtime/launch/launch.h"
#include "runtime/threads.h"

/* One way to run a graph. Compiled ones run it four times: compiled anew with an empty cache on
 * disk, for one thread; with the kernels in memory, on two threads; with kernels that a new cache
 * in memory finds on disk; and those on one thread. */
typedef struct nxt_config {
  const char *name;
  nxi_executor_kind executor;
  bool fuse, bound;
  const char *isa; /* NULL: this machine's best */
  uint32_t one_in; /* of so many graphs one is run this way: see nxt_in_turn */
  /* a fault put in on purpose: these two operations change places. Inputs: none */
  nxg_op exchanged[2];
} nxt_config;

/* What there was to see, all graphs together. */
typedef struct nxt_lab_stats {
  uint64_t plans, compiled, from_memory, from_disk; /* kernels, of all plans */
  uint64_t elements, nan;                           /* of float outputs that were compared */
} nxt_lab_stats;

typedef struct nxt_lab nxt_lab;
nxt_lab *nxt_lab_create(void); /* kernel caches, targets, a pool of two */
void nxt_lab_destroy(nxt_lab *lab);
nxt_lab_stats nxt_lab_statistics(const nxt_lab *lab);
/* All configurations that exist here; n is their number. */
const nxt_config *nxt_configs(const nxt_lab *lab, size_t *n);
/* Whether the graph of this seed is run in this way. Compiling is nearly all that a graph costs,
 * and most of that its nodes one by one: kernels that other tests compile for every operation,
 * dtype and layout. Some graphs do for that. */
bool nxt_in_turn(const nxt_config *config, uint64_t seed);

enum { NXT_MOST_INPUTS = 64 }; /* and outputs */

/* A graph, inputs from a seed, and what the interpreter makes of them. */
typedef struct nxt_trial nxt_trial;
nxt_trial *nxt_trial_create(nxt_lab *lab, const nxg_graph *g, uint64_t seed);
void nxt_trial_destroy(nxt_trial *t);
/* True if `config` gives the bits of the interpreter. If not, `why` says where. A refusal that both
 * share (NX_UNSUPPORTED...) counts as agreement. */
bool nxt_trial_agrees(nxt_trial *t, const nxt_config *config, char *why, size_t size);
/* True if the interpreter made of output i what it made of output order[i] of another graph over
 * the same inputs. */
bool nxt_trial_same(const nxt_trial *t, const nxt_trial *other, const uint32_t *order, char *why,
                    size_t size);

#endif
