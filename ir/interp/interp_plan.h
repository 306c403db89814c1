/* SPDX-License-Identifier: ISC */
/* What the two files of the graph interpreter's planner share: interp_plan.c has memory and
 * lifetimes, interp_steps.c the steps of each operation. */
#ifndef NXG_INTERP_PLAN_H
#define NXG_INTERP_PLAN_H

#include "interp_graph.h"

/* The planner's state of a value. */
typedef struct nxg_planned {
  nxg_place place;   /* for a stored value: its first element */
  int64_t bytes;     /* bytes of its scratch memory; 0: none */
  int64_t offset;    /* for a view: its first element in the storage of `root` */
  uint32_t root;     /* the node whose storage a view reads; itself if stored */
  uint32_t last_use; /* node after which the storage is free; UINT32_MAX: never */
  uint32_t together; /* the first node of those whose steps run piece by piece with its own; 0:
                      * there are none, else its number + 1 */
  bool needed;
  bool made;   /* by the steps of an earlier node that is another result of the same run */
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
  /* By size class, of whole values and of pieces; 0: none, else a block's number + 1. Those without
   * a bit were not set yet: to clear all would take as long as to plan a small graph. */
  uint64_t has_head[2][4];
  uint32_t free_heads[2][256];
} nxg_planner;

/* Allocates scratch memory for one step, which is then freed again. */
nx_status nxg_plan_temporary(nxg_planner *b, int64_t bytes, nxg_place *place);
nx_status nxg_plan_done_with(nxg_planner *b, nxg_place place, int64_t bytes);
void nxg_plan_add_work(nxg_planner *b, int64_t elements);

/* Makes the access for elements of this shape and these strides (in elements), from `first` on. */
nx_status nxg_plan_access(nxg_planner *b, nxg_place first, nx_dtype t, int32_t rank,
                          const int64_t *shape, const int64_t *strides, nxg_access *a);
void nxg_plan_view(const nxg_planner *b, uint32_t node, nxg_view *v,
                   nxg_place *first); /* v->offset is part of *first */
nx_status nxg_plan_operand(nxg_planner *b, uint32_t node, nxg_access *a);
nx_status nxg_plan_scalar(nxg_planner *b, nx_dtype t, uint64_t bits, nxg_access *a);

/* A new step; the pointer is valid until the next one is made. NULL: out of memory, which is
 * recorded. n is added to the work of the program. */
nxg_step *nxg_plan_step(nxg_planner *b, void (*run)(const nxg_step *, nxg_run_state *), int64_t n,
                        uint32_t n_args, uint32_t n_numbers);
/* A step that writes a node's elements from `to` on, through strides (in elements; NULL: dense). */
nx_status nxg_plan_move(nxg_planner *b, uint32_t node, nxg_place to, int32_t rank,
                        const int64_t *shape, const int64_t *strides);
/* Stores a view's elements densely, for views that read it. */
nx_status nxg_plan_stored_view(nxg_planner *b, uint32_t node);
/* Chooses the place of a node's value, unless it has one. */
nx_status nxg_plan_place(nxg_planner *b, uint32_t node);
/* A library call (interp_call.c). */
nx_status nxg_plan_call(nxg_planner *b, uint32_t node);
/* A dense operand: where it is, or a copy of it in memory that is added to *held. */
typedef struct nxg_held {
  nxg_place place;
  int64_t bytes;
} nxg_held;
nx_status nxg_plan_dense(nxg_planner *b, uint32_t node, nxg_place *place, nxg_held *held,
                         uint32_t *n_held);
/* Control flow (interp_control.c). */
nx_status nxg_plan_control(nxg_planner *b, uint32_t node);
/* The steps of a node that computes something. */
nx_status nxg_plan_node(nxg_planner *b, uint32_t node);

#endif
