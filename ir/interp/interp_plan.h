/* SPDX-License-Identifier: ISC */
/* Between the two halves of the graph interpreter's planner: memory and lifetimes (interp_plan.c),
 * and the steps that each operation becomes (interp_steps.c). */
#ifndef NXG_INTERP_PLAN_H
#define NXG_INTERP_PLAN_H

#include "interp_graph.h"

/* What a value is to its users. */
typedef struct nxg_planned {
  nxg_place place;   /* of a stored one: its first element */
  int64_t bytes;     /* what scratch memory it takes; 0: none */
  int64_t offset;    /* of a view: its first element in the storage it was found to lie in */
  uint32_t root;     /* whose storage a view walks through; itself if stored */
  uint32_t last_use; /* node after which the storage is free; UINT32_MAX: never */
  bool needed;
  bool single; /* one element stands for all: a `full` */
} nxg_planned;

typedef struct nxg_free_block {
  int64_t byte;
  uint32_t next; /* as below */
} nxg_free_block;

typedef struct nxg_planner {
  const nxg_graph *g;
  nxg_program *p;
  nxi_diag *d;
  nxg_planned *values;
  nxg_free_block *blocks;
  uint32_t n_blocks, cap_blocks;
  uint32_t free_heads[256]; /* by size class; 0: none, else a block's number + 1 */
} nxg_planner;

/* Scratch memory for the time between two calls. */
nx_status nxg_plan_temporary(nxg_planner *b, int64_t bytes, nxg_place *place);
nx_status nxg_plan_done_with(nxg_planner *b, nxg_place place, int64_t bytes);
void nxg_plan_add_work(nxg_planner *b, int64_t elements);

/* How elements of this shape and these strides (in elements) are walked, from their first one. */
nx_status nxg_plan_access(nxg_planner *b, nxg_place first, nx_dtype t, int32_t rank,
                          const int64_t *shape, const int64_t *strides, nxg_access *a);
void nxg_plan_view(const nxg_planner *b, uint32_t node, nxg_view *v,
                   nxg_place *first); /* v->offset is part of *first */
nx_status nxg_plan_operand(nxg_planner *b, uint32_t node, nxg_access *a);
nx_status nxg_plan_scalar(nxg_planner *b, nx_dtype t, uint64_t bits, nxg_access *a);

/* A new step, valid until the next one; NULL: no memory, which is recorded. n counts as work. */
nxg_step *nxg_plan_step(nxg_planner *b, void (*run)(const nxg_step *, nxg_run_state *), int64_t n,
                        uint32_t n_args, uint32_t n_numbers);
/* A step that writes a node's elements from `to` on, through strides (in elements; NULL: dense). */
nx_status nxg_plan_move(nxg_planner *b, uint32_t node, nxg_place to, int32_t rank,
                        const int64_t *shape, const int64_t *strides);
/* A view that others look through: its elements, one after the other. */
nx_status nxg_plan_stored_view(nxg_planner *b, uint32_t node);
/* A library call (interp_call.c). */
nx_status nxg_plan_call(nxg_planner *b, uint32_t node);
/* The steps of a node that computes something. */
nx_status nxg_plan_node(nxg_planner *b, uint32_t node);

#endif
