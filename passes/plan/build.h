/* SPDX-License-Identifier: ISC */
/* Inside plan building: what the files plan/via_temporary.c, plan/build.c, plan/call.c,
 * plan/chain.c, plan/given.c, plan/packed_tiles.c, plan/packed_walk.c, plan/reads.c, plan/steps.c,
 * plan/sum.c, plan/traffic.c, plan/update.c and plan/product.c share. */
#ifndef NXP_PLAN_BUILD_H
#define NXP_PLAN_BUILD_H

#include "passes/fuse/space.h"
#include "passes/pipeline.h"
#include "internal.h"

typedef struct nxp_step_builder {
  nxp_plan_builder *b;
  uint32_t *group_order; /* node -> order of the last group that reads its memory, + 1; 0: none */
  uint32_t *alias_order; /* alias number -> the same over all its inputs */
  uint32_t *alias_base;  /* alias number -> the last group that updates one of its inputs, plus 1 */
  uint32_t n_aliases;
  uint32_t *readers; /* node -> how many groups read its memory */
  /* group -> matmul group that runs with it, row panel by row panel; NXP_NONE */
  uint32_t *deferred;
  uint32_t *staged; /* group -> how many products pack its values tile by tile */
  uint32_t *stages; /* matmul group -> the operand that it makes so; NXP_NONE */
  uint32_t *chain;  /* matmul group -> the group that makes its first operand, block by block */
  bool *chained;    /* group -> it is part of another group's chain */
  /* order + 1 of the last group that may fail because of what it reads; 0: none */
  uint32_t last_failing;
  uint32_t *updated_by; /* node -> the only update of its memory, NXP_NONE */
  uint32_t *check_of;   /* node -> a node whose indices it has looked at, NXP_NONE */
  uint32_t *stamp;      /* node -> last group that visited it */
  uint32_t *stack;
  uint32_t n_stack, cap_stack;
  nxp_temporary *temporaries; /* the plan's in the end */
  uint32_t n_temporaries, cap_temporaries;
} nxp_step_builder;

static inline const nxg_node *node_of(const nxp_step_builder *s, uint32_t node) {
  return &s->b->g->nodes[node];
}
static inline bool has_memory(const nxp_step_builder *s, uint32_t node) {
  return node_of(s, node)->op == NXG_input || s->b->clusters->group_of[node] != NXP_NONE;
}
static inline int64_t node_bytes(const nxp_step_builder *s, uint32_t node) {
  const nxg_node *n = node_of(s, node);
  return nxg_node_elements(n) * nxi_dtype_size(n->dtype);
}

/* plan/stored.c: fills `stored` of the plan, once its steps are there. False without memory. */
bool nxp_note_stored(nxp_step_builder *s);
/* plan/given.c: moves results into the memory of inputs that are given to the run. After the last
 * step. False without memory. */
bool nxp_use_given(nxp_step_builder *s);
/* plan/reads.c */
/* Finds who reads what and what is updated. False without memory. */
bool nxp_examine(nxp_step_builder *s);
/* `group` runs as a part of the product of group `product`, when the later group `at` has its turn,
 * and what it reads must last until then: asked before memory is given to anything, for one turn of
 * each product. False without memory. */
bool nxp_read_later(nxp_step_builder *s, uint32_t group, uint32_t product, uint32_t at);
/* Inputs of one number, if that is not below 0, share memory. */
int32_t nxp_alias_of(const nxp_step_builder *s, uint32_t node);
/* Whether update `node` may take over the memory of what it updates. */
bool nxp_takes_over(const nxp_step_builder *s, uint32_t node);
/* plan/steps.c: memory and steps. False, NULL or NX_OUT_OF_MEMORY without memory. */
/* The memory of an operand that is stored or a view of such a node. strides: NULL, or room for
 * those of the view. */
nxp_location nxp_operand(const nxp_step_builder *s, uint32_t node, int64_t *strides);
bool nxp_new_temporary(nxp_step_builder *s, int64_t bytes, nxp_location *where);
/* Scratch memory of a step: how much is said later (nxp_plan_set_scratch). */
bool nxp_new_scratch(nxp_step_builder *s, nxp_step *step, uint32_t buffer);
/* An output, if the node (or what updates it in the end) is one, else a temporary. */
bool nxp_new_memory(nxp_step_builder *s, uint32_t node, nxp_location *where);
nxp_step *nxp_add_step(nxp_step_builder *s, nxp_step_kind kind, uint32_t node, uint32_t n_buffers);
bool nxp_add_copy(nxp_step_builder *s, uint32_t node, nxp_location from, nxp_location to,
                  int64_t bytes);
/* Adds one simplified logical kernel to the plan, and the step that runs it. */
nx_status nxp_add_kernel(nxp_step_builder *s, const nxk_kernel *k, const nxp_location *buffers,
                         const uint32_t *params, uint32_t n_params, uint32_t node);
/* The same, in two kernels if that pays. */
nx_status nxp_add_logical(nxp_step_builder *s, nxk_kernel *k, const nxp_location *buffers,
                          const nxp_kernel_binding *binding, uint32_t node);
/* plan/traffic.c: how many bytes of a buffer a logical kernel reads and writes. */
int64_t nxp_traffic(const nxk_kernel *k, uint32_t buffer);
/* plan/index.c */
/* Looks at what `node` found of indices. */
nx_status nxp_add_check(nxp_step_builder *s, uint32_t node);
/* The scatter of a group. */
nx_status nxp_add_scatter_group(nxp_step_builder *s, uint32_t group);
/* plan/update.c */
nx_status nxp_add_update(nxp_step_builder *s, nxk_kernel *k, const nxp_kernel_binding *binding,
                         uint32_t node);
/* plan/via_temporary.c: the update through a temporary of as many elements as it writes. */
nx_status nxp_add_via_temporary(nxp_step_builder *s, nxk_kernel *k,
                                const nxp_kernel_binding *binding, const nxp_location *buffers,
                                uint32_t node);
/* plan/reads.c */
bool nxp_loop_takes_over(const nxp_step_builder *s, uint32_t node, uint32_t operand);
/* plan/control.c */
nx_status nxp_add_control_group(nxp_step_builder *s, uint32_t group);
/* plan/loop.c: the loop of a group, or what chooses between branches, as one kernel, if it can be
 * one. *done: it is part of the plan now. */
nx_status nxp_add_loop_kernel(nxp_step_builder *s, uint32_t group, bool *done);
/* plan/call.c */
nx_status nxp_add_call_group(nxp_step_builder *s, uint32_t group);
/* plan/product.c */
/* A product alone. */
nx_status nxp_add_matmul_group(nxp_step_builder *s, uint32_t group);
/* Finds products whose only reader is an elementwise group over the same points. False without
 * memory. */
bool nxp_defer_products(nxp_step_builder *s);
/* Tries to run group `group` on the row panels of the product it waits for. *done: it is part of
 * the plan now. */
nx_status nxp_add_with_product(nxp_step_builder *s, uint32_t group, bool *done);
/* When the product of a group has its turn: with the group that finishes its rows, if there is
 * one. */
uint32_t nxp_turn_of(const nxp_step_builder *s, uint32_t group);
/* The step of product `node`, without scratch; NULL without memory. Operand `elsewhere` has no
 * memory of its own; -1: none. */
/* On a GPU: casts that only products read, as the 16 bits that they are made of, are not stored. */
bool nxp_defer_casts(nxp_step_builder *s);
nxp_step *nxp_add_matmul(nxp_step_builder *s, uint32_t node, int elsewhere);
/* Whether a group walks the rows of a product in the product's own form. */
bool nxp_walks_rows(const nxp_step_builder *s, const nxp_group *e, uint32_t product);
/* Lowers group `group` to the kernel of one row, if it reads `product` only in its own row, element
 * by element. *out is NULL if not; else *buffer is the number of the product's buffer. */
nx_status nxp_lower_epilogue(nxp_step_builder *s, uint32_t group, uint32_t product,
                             nxk_kernel **out, nxp_kernel_binding *binding, uint32_t *buffer);
/* Gives a product's step the step that runs such a kernel on each of its rows. */
nx_status nxp_add_epilogue(nxp_step_builder *s, uint32_t product_step, const nxk_kernel *k,
                           const nxp_kernel_binding *binding, const nxp_group *e);
/* plan/chain.c */
/* Finds products whose first operand is made of the rows of another product, block by block. After
 * nxp_defer_operands. */
nx_status nxp_defer_chains(nxp_step_builder *s);
/* The step of such a product, whose own memory is there; *number: of the step. */
nx_status nxp_add_chain(nxp_step_builder *s, uint32_t node, uint32_t *number);
/* plan/sum.c: on a GPU the library adds to a product what the graph does. */
/* Whether all that a group does is to add something in memory to `product`, or to store it in
 * another shape. */
bool nxp_only_adds(const nxp_step_builder *s, const nxp_group *e, uint32_t product);
/* The step of that product, made already, gives the group's result. */
void nxp_add_in_product(nxp_step_builder *s, nxp_step *step, const nxp_group *e, uint32_t product);
/* plan/packed_tiles.c */
/* Finds operands that products pack tile by tile. After nxp_defer_products. */
nx_status nxp_defer_operands(nxp_step_builder *s);
/* Which operand of a product that is; -1: none. */
int nxp_staged_operand(const nxp_step_builder *s, uint32_t product);
/* Gives the step of a product, by its number, what makes that operand. */
nx_status nxp_stage_operand(nxp_step_builder *s, uint32_t product_step, uint32_t product,
                            int operand);

#endif
