/* SPDX-License-Identifier: ISC */
/* Calls that work on each matrix of a batch in stages, one after the other, each of tasks that threads may share: large
 * matrices. Few matrices go through the stages together, a phase of the call a stage; of many, a thread does one at a time,
 * all stages of it. Tasks are the same either way, and so are the bits. */
#ifndef NXI_STAGES_H
#define NXI_STAGES_H

#include "runtime/library/linalg/lapack.h"

typedef struct nxi_stages nxi_stages;

/* One task of a stage of a matrix. */
typedef struct nxi_stage_task {
  const nxi_stages *stages;
  const nxg_call_part *part; /* its operands and results; who is asked whether to stop */
  int64_t index;             /* of the matrix in the batch */
  uint32_t stage;
  int64_t task;
  void *memory; /* of the matrix: `bytes` */
  void *own;    /* of the thread: `own_bytes`; what is in it lasts for the task */
} nxi_stage_task;

struct nxi_stages {
  int64_t batches;
  uint32_t count;
  int64_t bytes, own_bytes;
  int64_t (*tasks)(const nxi_stages *stages, uint32_t stage);
  /* Only a stage of one task may fail. May leave early when told to stop. */
  nx_status (*run)(const nxi_stage_task *task);
  bool together; /* the rest is filled by nxi_stages_work */
};

/* Fills all of *work but its state, for what takes `cost` operations a matrix. False: too much memory. */
bool nxi_stages_work(nxi_stages *stages, nxg_call_work *work, double cost);
/* Runs tasks of a phase. */
nx_status nxi_stages_run(const nxi_stages *stages, nxg_call_part *part);

#endif
