/* SPDX-License-Identifier: ISC */
/* Library calls on batches of large matrices. The work on one matrix is a sequence of stages,
 * and each stage is a set of independent tasks.
 *
 * There are two schedules. If the batch has few matrices, all of them go through the stages
 * together: a stage is a phase of the call, and threads share its tasks. If it has many, each
 * thread takes whole matrices and runs all stages of one before it takes the next. The tasks,
 * and so the bits of the result, are the same in both. */
#ifndef NXI_STAGES_H
#define NXI_STAGES_H

#include "runtime/library/linalg/lapack.h"

typedef struct nxi_stages nxi_stages;

/* One task of a stage of a matrix. */
typedef struct nxi_stage_task {
  const nxi_stages *stages;
  const nxg_call_part *part; /* operands and results of the call, and its poll */
  int64_t index;             /* of the matrix in the batch */
  uint32_t stage;
  int64_t task;
  void *memory; /* `bytes` that belong to the matrix: they last from its first stage to its last */
  void *own;    /* `own_bytes` that belong to the thread: they last for this task only */
} nxi_stage_task;

struct nxi_stages {
  int64_t batches;
  uint32_t count;
  int64_t bytes, own_bytes;
  int64_t (*tasks)(const nxi_stages *stages, uint32_t stage);
  /* Only a stage of one task may fail. May leave early when told to stop. */
  nx_status (*run)(const nxi_stage_task *task);
  bool together; /* the first schedule; set by nxi_stages_work */
};

/* Fills *work, except for its state. cost: operations for each matrix.
 * Returns false if the memory of all matrices does not fit 63 bits. */
bool nxi_stages_work(nxi_stages *stages, nxg_call_work *work, double cost);
/* Runs the tasks part->begin .. part->end - 1 of a phase. */
nx_status nxi_stages_run(const nxi_stages *stages, nxg_call_part *part);

/* Pieces of the memory of a matrix. */
typedef struct nxi_stage_piece {
  int64_t at, bytes;
} nxi_stage_piece;
/* Does work(stages, memory) for a task, apart (runtime/library/apart.h) if it costs much: in memory
 * like that of the matrix, into which the first n_in pieces go, and out of which all come.
 * size: of the struct that begins with the task's stages. Left undone when told to stop. */
void nxi_stage_apart(const nxi_stage_task *task, double cost, size_t size,
                     void (*work)(const nxi_stages *stages, char *memory),
                     const nxi_stage_piece *pieces, uint32_t n_in, uint32_t n);

#endif
