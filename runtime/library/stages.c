/* SPDX-License-Identifier: ISC */
/* Maps the stages of a call's matrices to phases of the call, and back. */
#include "stages.h"

#include <string.h>

#include "runtime/library/apart.h"

enum { TOGETHER = 8 }; /* most matrices that go through the stages together */

/* The word after the memory of a matrix that goes through the stages with others: whether it has
 * failed, and has its results. Each stage but the first is begun when the one before has ended, and
 * a stage that may fail is one task, so no two threads meet there. */
enum { WORD = 64 };

static int64_t aligned(int64_t bytes) { return (bytes + 63) & ~(int64_t)63; }

static void phase_of(const void *state, uint32_t phase, int64_t *tasks, int64_t *grain) {
  const nxi_stages *s = state;
  *tasks = s->together ? s->batches * s->tasks(s, phase) : s->batches;
  *grain = 1;
}

bool nxi_stages_work(nxi_stages *stages, nxg_call_work *work, double cost) {
  const int64_t memory = aligned(stages->bytes) + WORD, own = aligned(stages->own_bytes);
  stages->together = stages->batches <= TOGETHER;
  work->n_phases = stages->together ? stages->count : 1;
  work->phase = phase_of;
  work->cost = cost * (double)stages->batches;
  work->own_bytes = own;
  if (!stages->together) return !__builtin_add_overflow(own, memory, &work->own_bytes);
  return !__builtin_mul_overflow(memory, stages->batches, &work->shared_bytes);
}

static nx_status run_together(const nxi_stages *s, nxg_call_part *part) {
  const int64_t each = s->tasks(s, part->phase), memory = aligned(s->bytes) + WORD;
  for (int64_t i = part->begin; i < part->end && !part->stopped(part->user); i++) {
    const nxi_stage_task t = {s,           part,     i / each,
                              part->phase, i % each, (char *)part->shared + i / each * memory,
                              part->own};
    int *failed = (int *)(void *)((char *)t.memory + memory - WORD);
    if (part->phase == 0 && t.task == 0) *failed = 0;
    if (part->phase > 0 && *failed) continue;
    const nx_status status = s->run(&t);
    if (status == NX_OK) continue;
    if (nxi_is_nan_instead(part->call, status)) {
      nxi_store_nans(part, t.index);
      *failed = 1;
      continue;
    }
    part->failed = i;
    return status;
  }
  return NX_OK;
}

static nx_status run_alone(const nxg_call_part *part, int64_t index, const void *stages) {
  const nxi_stages *s = stages;
  nxi_stage_task t = {s, part, index, 0, 0, part->own, (char *)part->own + aligned(s->bytes)};
  nx_status status = NX_OK;
  for (; !status && t.stage < s->count; t.stage++) {
    const int64_t tasks = s->tasks(s, t.stage);
    for (t.task = 0; !status && t.task < tasks; t.task++) {
      if (part->stopped(part->user)) return NX_OK;
      status = s->run(&t);
    }
  }
  return status;
}

nx_status nxi_stages_run(const nxi_stages *stages, nxg_call_part *part) {
  return stages->together ? run_together(stages, part) : nxi_each_of(part, run_alone, stages);
}

/* ---- a task apart */

typedef struct alone {
  void (*work)(const nxi_stages *stages, char *memory);
  const nxi_stages *stages;
  char *memory;
} alone;

static void work_alone(void *memory) {
  const alone *a = memory;
  a->work(a->stages, a->memory);
}

void nxi_stage_apart(const nxi_stage_task *t, double cost, size_t size,
                     void (*work)(const nxi_stages *stages, char *memory),
                     const nxi_stage_piece *pieces, uint32_t n_in, uint32_t n) {
  const int64_t head = aligned((int64_t)sizeof(alone)), stages = aligned((int64_t)size);
  char *from = t->memory, *memory = NULL;
  if (cost > nxi_apart_cost)
    memory = nxi_apart_new(t->part, (size_t)(head + stages + aligned(t->stages->bytes)));
  if (!memory) {
    work(t->stages, from);
    return;
  }
  alone *a = (void *)memory;
  *a = (alone){work, memcpy(memory + head, t->stages, size), memory + head + stages};
  for (uint32_t i = 0; i < n_in; i++)
    memcpy(a->memory + pieces[i].at, from + pieces[i].at, (size_t)pieces[i].bytes);
  if (!nxi_apart_run(memory, work_alone, t->part)) return;
  for (uint32_t i = 0; i < n; i++)
    memcpy(from + pieces[i].at, a->memory + pieces[i].at, (size_t)pieces[i].bytes);
  nxi_apart_free(memory);
}
