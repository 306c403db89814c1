/* SPDX-License-Identifier: ISC */
/* eigh of a large matrix. The matrix is reduced to a tridiagonal one (tridiagonal.h). Its vectors
 * are computed by divide and conquer (conquer.h), and blocks of reflections are formed beside its
 * parts. Then the reflections are applied to panels of vectors. */
#include "eigh_blocked.h"

#include <math.h>
#include <string.h>

#include "ir/alloc.h"
#include "ir/op.h"
#include "runtime/library/blas/level3.h"
#include "runtime/library/linalg/rescale.h"
#include "runtime/library/linalg/factors/reflections.h"
#include "conquer.h"
#include "tridiagonal.h"

/* After taking the matrix, and the stages of its reduction; before CHECK come those that join. */
enum { TEAR, SOLVE, JOIN, CHECK = JOIN, APPLY, STAGES };
enum { PANEL = 128, ASKED = 64 }; /* vectors of a task; rows taken before the poll is asked */

typedef struct blocked {
  nxi_stages stages; /* first */
  nx_dtype t, real;
  int n;
  nxi_tridiagonal form;
  nxi_conquer conquer;
  nxi_reflections q;
  nxi_layout matrix, tau, diagonal, beside, vectors, blocks, work, integers, state;
} blocked;

/* Data that stages pass to later ones. */
typedef struct found {
  int scale; /* the matrix was multiplied by 2^scale */
} found;

/* The stage after those of the reduction; less than 0: it is the stage before them, or one of
 * them. Of stages that join, JOIN, and their number. */
static int later(const blocked *l, uint32_t stage, int *joining) {
  const int i = (int)stage - 1 - (int)nxi_tridiagonal_stages(&l->form),
            joins = nxi_conquer_stages(&l->conquer);
  *joining = i >= JOIN && i < JOIN + joins ? i - JOIN : -1;
  return *joining >= 0 ? JOIN : i < JOIN ? i : i - joins;
}

static int64_t tasks_of(const nxi_stages *stages, uint32_t number) {
  const blocked *l = (const void *)stages;
  int joining;
  const int stage = later(l, number, &joining);
  if (stage < 0) return number == 0 ? 1 : nxi_tridiagonal_tasks(&l->form, number - 1);
  if (joining >= 0) return nxi_conquer_tasks(&l->conquer, joining);
  if (stage == SOLVE) return nxi_conquer_parts(&l->conquer) + nxi_reflections_blocks(&l->q);
  return stage == APPLY ? (l->n + PANEL - 1) / PANEL : 1;
}

bool nxi_lower_is_finite(nx_dtype t, int64_t n, const char *a) {
  bool finite = true;
  for (int64_t i = 0; finite && i < n; i++)
    finite = nxi_all_finite(t, i + 1, a + i * n * nxi_dtype_size(t));
  return finite;
}

/* Roughly the operations of a step that is one call of LAPACK. */
static double cost_of(nx_dtype t, double n) {
  return 4.0 / 3 * n * n * n * (nxi_lapack_complex(t) ? 4 : 1);
}

static nxi_conquer_arrays conquer_at(const blocked *l, char *m) {
  return (nxi_conquer_arrays){.diagonal = m + l->diagonal.at,
                              .beside = m + l->beside.at,
                              .vectors = m + l->vectors.at,
                              .work = m + l->work.at,
                              .integers = (int *)(void *)(m + l->integers.at)};
}

static nx_status take(const blocked *l, const nxi_stage_task *task, const char *from) {
  char *m = task->memory, *a = m + l->matrix.at;
  found *f = (void *)(m + l->state.at);
  *f = (found){0};
  const int64_t row = l->n * nxi_dtype_size(l->t);
  double largest = 0;
  for (int64_t i = 0; i < l->n; i++, from += row, a += row) {
    if (i % ASKED == 0 && task->part->stopped(task->part->user)) return NX_OK;
    if (!nxi_all_finite(l->t, i + 1, from)) return NX_NO_CONVERGENCE;
    largest = fmax(largest, nxi_largest(l->t, i + 1, from));
    memcpy(a, from, (size_t)row);
  }
  f->scale = nxi_scale_for(l->t, largest);
  if (f->scale) nxi_scale(l->t, (int64_t)l->n * l->n, m + l->matrix.at, f->scale);
  return NX_OK;
}

static void reduce_at(const blocked *l, char *m, uint32_t stage, int64_t task) {
  const nxi_tridiagonal_arrays at = {m + l->matrix.at, m + l->diagonal.at, m + l->beside.at,
                                     m + l->tau.at, m + l->work.at};
  nxi_tridiagonal_run(&l->form, &at, stage, task);
}

static void reduce_whole(const nxi_stages *stages, char *m) {
  reduce_at((const void *)stages, m, 0, 0);
}

/* A stage of the reduction, or, where threads do not share it, all of it. */
static void reduce(const blocked *l, const nxi_stage_task *task) {
  if (l->form.panels > 0) {
    reduce_at(l, task->memory, task->stage - 1, task->task);
    return;
  }
  const nxi_stage_piece pieces[] = {
      nxi_piece_of(&l->matrix, l->t, (int64_t)l->n * l->n), nxi_piece_of(&l->tau, l->t, l->n - 1),
      nxi_piece_of(&l->diagonal, l->real, l->n), nxi_piece_of(&l->beside, l->real, l->n - 1)};
  nxi_stage_apart(task, cost_of(l->t, l->n), sizeof *l, reduce_whole, pieces, 1, 4);
}

/* A part of divide and conquer, or a block of reflections. */
static void solve(const blocked *l, const nxi_stage_task *task) {
  char *m = task->memory;
  const int i = (int)task->task, parts = nxi_conquer_parts(&l->conquer);
  const nxi_conquer_arrays at = conquer_at(l, m);
  if (i < parts) nxi_conquer_part(&l->conquer, &at, i);
  else
    nxi_reflections_make(&l->q, i - parts, m + l->matrix.at, m + l->tau.at, m + l->blocks.at,
                         task->own);
}

static const int *order_of(const blocked *l, const char *m) {
  return nxi_conquer_order(&l->conquer, (const int *)(const void *)(m + l->integers.at));
}

/* Writes the values, if the algorithm has converged. */
static nx_status check(const blocked *l, const nxi_stage_task *task) {
  const nxg_call_part *part = task->part;
  char *m = task->memory;
  const found *f = (void *)(m + l->state.at);
  const nxi_conquer_arrays at = conquer_at(l, m);
  if (!nxi_conquer_end(&l->conquer, &at)) return NX_NO_CONVERGENCE;
  nxi_scale(l->real, l->n, m + l->diagonal.at, -f->scale);
  double *values = nxi_item(&part->call->results[0], part->results[0], 1, task->index);
  for (int i = 0; i < l->n; i++)
    nxi_widen_values(l->real, 1, nxi_at(l->real, m + l->diagonal.at, order_of(l, m)[i], 0, 1),
                     &values[i]);
  return NX_OK;
}

/* Computes the vectors from `first` on of the matrix that LAPACK has, and stores their conjugates
 * as columns of the result. */
static void apply(const blocked *l, const nxi_stage_task *task) {
  const nxg_call_part *part = task->part;
  char *m = task->memory, *panel = task->own, *own = panel + nxi_layout_bytes(l->t, l->n, PANEL);
  const int first = (int)task->task * PANEL, width = l->n - first < PANEL ? l->n - first : PANEL;
  for (int j = 0; j < width; j++)
    nxi_copy_real(l->t, l->n,
                  nxi_at(l->real, m + l->vectors.at, 0, order_of(l, m)[first + j], l->n),
                  nxi_at(l->t, panel, 0, j, l->n));
  nxi_reflections_apply(&l->q, part, false, nxi_reflections_blocks(&l->q), m + l->blocks.at, width,
                        panel, l->n, own);
  char *to = nxi_item(&part->call->results[1], part->results[1], 2, task->index);
  nxi_transpose(l->t, width, l->n, panel, l->n, to + first * nxi_dtype_size(l->t), l->n, true);
}

static nx_status run(const nxi_stage_task *task) {
  const blocked *l = (const void *)task->stages;
  const nxg_call_part *part = task->part;
  if (task->stage == 0)
    return take(l, task, nxi_item(&part->call->operands[0], part->operands[0], 2, task->index));
  int joining;
  const int stage = later(l, task->stage, &joining);
  const nxi_conquer_arrays at = conquer_at(l, task->memory);
  if (stage < 0) reduce(l, task);
  else if (joining >= 0) nxi_conquer_run(&l->conquer, &at, part, joining, task->task, task->own);
  else if (stage == TEAR) nxi_conquer_tear(&l->conquer, &at);
  else if (stage == SOLVE) solve(l, task);
  else if (stage == CHECK) return check(l, task);
  else apply(l, task);
  return NX_OK;
}

static void lay_out(blocked *l) {
  const int64_t n = l->n;
  int64_t *all = &l->stages.bytes;
  const int64_t solving = nxi_conquer_work(&l->conquer), reducing = nxi_tridiagonal_work(&l->form),
                vectors = nxi_layout_bytes(l->real, nxi_conquer_own(&l->conquer), 1);
  nxi_lay_out(&l->matrix, all, l->t, n * n);
  nxi_lay_out(&l->tau, all, l->t, n);
  nxi_lay_out(&l->diagonal, all, l->real, n);
  nxi_lay_out(&l->beside, all, l->real, n);
  nxi_lay_out(&l->vectors, all, l->real, n * n + NXI_CONQUER_MORE);
  nxi_lay_out(&l->blocks, all, NX_U8, nxi_reflections_bytes(&l->q));
  nxi_lay_out(&l->work, all, l->t, solving > reducing ? solving : reducing);
  nxi_lay_out(&l->integers, all, NX_I32, nxi_conquer_integers(&l->conquer));
  nxi_lay_out(&l->state, all, NX_U8, (int64_t)sizeof(found));
  l->stages.own_bytes = nxi_layout_bytes(l->t, n, PANEL) + nxi_reflections_own_bytes(&l->q, PANEL);
  if (vectors > l->stages.own_bytes) l->stages.own_bytes = vectors;
}

nx_status nxi_eigh_blocked_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const char *name = nxg_ops[call->op].name;
  const double n = (double)a->shape[a->rank - 1];
  if (n * n > 0x1p30)
    return nxi_fail(d, NX_INVALID_ARGUMENT, name,
                    "%s: a matrix is too large: LAPACK counts with 32 bits", name);
  blocked *l = nxi_calloc(1, sizeof *l);
  if (!l) return nxi_oom_in(d, nxi_oom(d), name);
  l->t = a->dtype;
  l->real = nxi_lapack_single(l->t) ? NX_F32 : NX_F64;
  l->n = (int)n;
  l->q = (nxi_reflections){l->t, NXI_REFLECT_BACKWARDS, l->n, l->n - 1, 0, l->n};
  l->form = nxi_tridiagonal_of(l->t, l->n);
  l->conquer = nxi_conquer_of(l->real, false, l->n);
  lay_out(l);
  l->stages.batches = nxi_batches(a, 2);
  l->stages.count =
      1 + nxi_tridiagonal_stages(&l->form) + (uint32_t)nxi_conquer_stages(&l->conquer) + STAGES;
  l->stages.tasks = tasks_of;
  l->stages.run = run;
  work->state = l;
  if (nxi_stages_work(&l->stages, work, 9 * n * n * n)) return NX_OK;
  nxi_work_release(l);
  work->state = NULL;
  return nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: a matrix is too large", name);
}
