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
 * the rest of that step.
 *
 * A condition that assigns changes what the body takes, and what there is after the loop. A `while`
 * of such a condition is turned round (function_turn.c): the condition is computed once before the
 * loop, and by each step after the body; whether it holds is one more carried value, the first. */
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
  bool turned; /* a while whose condition assigns */
  bool idle;   /* a scan of a body that takes nothing: its operand is a constant nobody reads */
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
typedef enum nxi_body_gives {
  NXI_BODY_STEP,            /* the function's outputs, and states where they belong */
  NXI_BODY_TEST,            /* the function's outputs alone */
  NXI_BODY_TEST_AND_VALUES, /* those, then carried values and states as the function leaves them */
} nxi_body_gives;
/* The graph of a function as a body; the caller's. All have the same inputs. NULL: no memory. */
nxg_graph *nxi_loop_body(const nxi_loop *k, const nx_function *f, nxi_body_gives gives);
/* Copies a node to another graph; map: from -> to. args: room for nxi_loop_most_args. */
void nxi_loop_copy_node(nxg_graph *to, const nxg_graph *from, uint32_t i, uint32_t *map,
                        uint32_t *args);
uint32_t nxi_loop_most_args(const nxg_graph *g);

/* function_turn.c. Turns a while round whose bodies and operands have been checked: k->g, which has
 * inputs so far, gets the condition of before the loop, k->numbers become those of the new bodies,
 * and args (*n of them, with room for one more) the operands of the new loop. */
nx_status nxi_loop_turn(nxi_loop *k, uint32_t *args, uint32_t *n);

#endif
