/* SPDX-License-Identifier: ISC */
/* Private to template ROWS of the GPU binder: how the elements of runs are distributed over the
 * threads of a block. */
#ifndef NXB_GPU_SPREAD_H
#define NXB_GPU_SPREAD_H

#include "passes/bind/gpu/gpu.h"

/* How the elements of a run are distributed over threads. A thread may have several neighbouring
 * elements of the run, as a word: it is as many lanes then, and all numbers are those of lanes. */
typedef struct nxb_spread {
  /* of a block of the order; items: INT64_MAX if any order gives the same bits */
  int64_t lanes, items;
  /* threads that share a run: lanes times the blocks computed at the same time */
  int64_t threads;
  int64_t near;    /* lanes of a thread, if columns and wide are 1 */
  int64_t own;     /* most elements of a run for which a thread's code is written out */
  int64_t columns; /* neighbouring threads that each compute other runs */
  int64_t wide;    /* neighbouring runs of a thread, which it loads as one word */
} nxb_spread;

/* How the elements of one stage are distributed. */
typedef struct nxb_share {
  const nxb_stage *stage;
  int64_t items; /* items of a block that belong to a thread */
  /* blocks of a thread, in sequence; a power of two unless any order gives the same bits */
  int64_t blocks;
  bool all;      /* all threads have the same number of elements: no masks */
  bool whole;    /* each block has all of its elements, or none */
  bool unrolled; /* the code for all blocks is written out, so that elements can be in registers */
  bool written;  /* the code for the items of a block is written out */
} nxb_share;

nxb_spread nxb_gpu_spread(const nxb_binder *b);
nxb_share nxb_gpu_share(const nxb_binder *b, const nxb_spread *s, const nxb_stage *stage);
int64_t nxb_gpu_points_of(const nxb_binder *b);                 /* outer points of the region */
int64_t nxb_gpu_runs(const nxb_binder *b, const nxb_spread *s); /* of a block */
/* The stage that holds an instruction, or NULL. */
const nxb_stage *nxb_gpu_stage_of(const nxb_binder *b, nxk_value v);
/* Whether elements that stages pass on, or load once more, are in registers. */
bool nxb_gpu_keeps(const nxb_binder *b, const nxb_spread *s);
/* The most elements of a run that a thread has in any stage. */
int64_t nxb_gpu_longest_own(const nxb_binder *b, const nxb_spread *s);

#endif
