/* SPDX-License-Identifier: ISC */
/* What recording control flow gathers. function_control.c checks what the caller gives and records
 * the operation; function_bodies.c makes its bodies.
 *
 * A body may assign: the storages that it assigns are states of the operation, each carried from
 * step to step as one array of all its elements, and assigned when the operation has ended. States
 * come after the carried values of the caller, among operands and among results:
 *
 *   operands  index or count, carried values, states, captured values, what bodies captured, stacks
 *   results   carried values, states, the rest
 *
 * What a body reads of a storage that is a state, by whatever tensor, is a view of the state. A
 * carried value, a slice and the number of the step are a step's own: assigned, they change for
 * the rest of that step. */
#ifndef NXI_FUNCTION_CONTROL_H
#define NXI_FUNCTION_CONTROL_H

#include "function.h"
#include "ir/graph/control.h"

/* A group of operands. */
typedef struct nxi_loop_values {
  nx_tensor *const *tensors;
  size_t n;
  const char *what;
} nxi_loop_values;

typedef struct nxi_loop {
  nxg_op op;
  const char *name;
  nxi_loop_values first, init, captured, stacked;
  nx_function *const *bodies;
  size_t n_bodies;
  int64_t limit, count;
  bool reverse;
  size_t n_out;
  nx_context *context;
  nx_tensor **in; /* all operands of the caller: first, init, captured, stacked */
  uint32_t n_in;
  nxi_storage **states; /* that bodies assign; borrowed of the functions and of `in` */
  uint32_t n_states, cap_states;
  int64_t numbers[NXG_CONTROL_BRANCHES]; /* of bodies; held */
  uint32_t n_numbers;
  nxg_graph *g;
  nx_function *f;
  nxi_diag *d, own; /* d: own */
} nxi_loop;

/* The captured value that input i of a body takes; NULL: it takes something else. */
static inline nx_tensor *nxi_loop_captured(const nxi_loop *k, uint32_t i) {
  size_t before = (size_t)(k->op == NXG_for) + k->init.n;
  return i < before || i >= before + k->captured.n ? NULL
                                                   : k->in[k->first.n + k->init.n + (i - before)];
}
/* The number of the state that a storage is, or n_states; NULL is none. */
static inline uint32_t nxi_loop_state(const nxi_loop *k, const nxi_storage *s) {
  uint32_t i = 0;
  while (i < k->n_states && k->states[i] != s) i++;
  return i;
}
static inline bool nxi_loop_is_state(const nxi_loop *k, const nxi_storage *s) {
  return nxi_loop_state(k, s) < k->n_states;
}

/* function_bodies.c. Finds the states, after all else has been checked. */
nx_status nxi_loop_find_states(nxi_loop *k);
/* Makes a body of each function: k->numbers. */
nx_status nxi_loop_make_bodies(nxi_loop *k);

#endif
