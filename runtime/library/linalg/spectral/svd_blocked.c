/* SPDX-License-Identifier: ISC */
/* svd of a large matrix. The matrix is reduced to a bidiagonal one (bidiagonal.h). Its vectors are
 * computed by divide and conquer (conquer.h; a lower form, of fewer rows than columns, is the
 * transposed matrix of an upper one), and the blocks of reflections of both sides are formed beside
 * the parts of that. Then the reflections are applied to panels of vectors. Rows and columns in
 * this file are those of LAPACK, for which A is transposed (linalg/svd.c). */
#include "svd_blocked.h"

#include <math.h>
#include <string.h>

#include "ir/alloc.h"
#include "ir/op.h"
#include "runtime/library/blas/level3.h"
#include "runtime/library/linalg/rescale.h"
#include "runtime/library/linalg/factors/reflections.h"
#include "bidiagonal.h"
#include "conquer.h"

/* After taking the matrix, and the stages of its reduction; before CHECK come those that join. */
enum { TEAR, SOLVE, JOIN, CHECK = JOIN, APPLY, STAGES };
enum {
  PANEL = 128,
  ASKED = 1 << 18
}; /* vectors of a task; elements taken before the poll is asked */

typedef struct blocked {
  nxi_stages stages; /* first */
  nx_dtype t, real;
  int rows, columns, least, left, right; /* left, right: how many vectors of each side */
  bool upper;                            /* the form */
  nxi_bidiagonal form;
  nxi_conquer conquer;
  nxi_reflections q, p;
  nxi_layout matrix, tau_q, tau_p, diagonal, beside, u, v, blocks_q, blocks_p, work, integers,
      state;
} blocked;

/* Data that stages pass to later ones. */
typedef struct found {
  int scale; /* the matrix was multiplied by 2^scale */
} found;

static int panels(int vectors) { return (vectors + PANEL - 1) / PANEL; }

/* The stage after those of the reduction; less than 0: it is the stage before them, or one of
 * them. Of stages that join, JOIN, and their number. */
static int later(const blocked *l, uint32_t stage, int *joining) {
  const int i = (int)stage - 1 - (int)nxi_bidiagonal_stages(&l->form),
            joins = nxi_conquer_stages(&l->conquer);
  *joining = i >= JOIN && i < JOIN + joins ? i - JOIN : -1;
  return *joining >= 0 ? JOIN : i < JOIN ? i : i - joins;
}

static int64_t tasks_of(const nxi_stages *stages, uint32_t number) {
  const blocked *l = (const void *)stages;
  int joining;
  const int stage = later(l, number, &joining);
  if (stage < 0) return number == 0 ? 1 : nxi_bidiagonal_tasks(&l->form, number - 1);
  if (joining >= 0) return nxi_conquer_tasks(&l->conquer, joining);
  if (stage == SOLVE)
    return nxi_conquer_parts(&l->conquer) + nxi_reflections_blocks(&l->q) +
           nxi_reflections_blocks(&l->p);
  return stage == APPLY ? panels(l->left) + panels(l->right) : 1;
}

static nxi_conquer_arrays conquer_at(const blocked *l, char *m) {
  return (nxi_conquer_arrays){m + l->diagonal.at, m + l->beside.at,
                              m + l->v.at,        m + l->u.at,
                              m + l->work.at,     (int *)(void *)(m + l->integers.at)};
}

static nx_status take(const blocked *l, const nxi_stage_task *task, const char *from) {
  const int64_t count = (int64_t)l->rows * l->columns;
  char *m = task->memory, *a = m + l->matrix.at;
  found *f = (void *)(m + l->state.at);
  *f = (found){0};
  const int64_t size = nxi_dtype_size(l->t);
  double largest = 0;
  for (int64_t i = 0; i < count; i += ASKED) {
    const int64_t n = count - i < ASKED ? count - i : ASKED;
    const char *some = from + i * size;
    if (task->part->stopped(task->part->user)) return NX_OK;
    if (!nxi_all_finite(l->t, n, some)) return NX_NO_CONVERGENCE;
    largest = fmax(largest, nxi_largest(l->t, n, some));
    memcpy(a + i * size, some, (size_t)(n * size));
  }
  f->scale = nxi_scale_for(l->t, largest);
  nxi_scale(l->t, count, a, f->scale);
  return NX_OK;
}

static void reduce_at(const blocked *l, char *m, uint32_t stage, int64_t task) {
  const nxi_bidiagonal_arrays at = {m + l->matrix.at, m + l->diagonal.at, m + l->beside.at,
                                    m + l->tau_q.at,  m + l->tau_p.at,    m + l->work.at};
  nxi_bidiagonal_run(&l->form, &at, stage, task);
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
  const int64_t count = (int64_t)l->rows * l->columns;
  const double cost = (nxi_lapack_complex(l->t) ? 32.0 : 8.0) / 3 * (double)count * l->least;
  const nxi_stage_piece pieces[] = {
      nxi_piece_of(&l->matrix, l->t, count), nxi_piece_of(&l->tau_q, l->t, l->least),
      nxi_piece_of(&l->tau_p, l->t, l->least), nxi_piece_of(&l->diagonal, l->real, l->least),
      nxi_piece_of(&l->beside, l->real, l->least - 1)};
  nxi_stage_apart(task, cost, sizeof *l, reduce_whole, pieces, 1, 5);
}

/* What is done beside one another: parts, and blocks of the reflections of each side. */
static void solve(const blocked *l, const nxi_stage_task *task) {
  char *m = task->memory;
  const nxi_conquer_arrays at = conquer_at(l, m);
  const int parts = nxi_conquer_parts(&l->conquer), blocks = nxi_reflections_blocks(&l->q),
            i = (int)task->task - parts;
  if (i < 0) {
    nxi_conquer_part(&l->conquer, &at, (int)task->task);
    return;
  }
  const bool is_q = i < blocks;
  nxi_reflections_make(is_q ? &l->q : &l->p, is_q ? i : i - blocks, m + l->matrix.at,
                       m + (is_q ? l->tau_q.at : l->tau_p.at),
                       m + (is_q ? l->blocks_q.at : l->blocks_p.at), task->own);
}

/* Where a value and its vectors are. */
static int place_of(const blocked *l, const char *m, int i) {
  const int *integers = (const int *)(const void *)(m + l->integers.at);
  return nxi_conquer_order(&l->conquer, integers)[l->least - 1 - i];
}

/* A left or a right vector of the form. */
static const char *vector_of(const blocked *l, const char *m, bool left, int i) {
  const int place = place_of(l, m, i);
  return left == l->upper ? nxi_at(l->real, m + l->u.at, 0, place, l->least)
                          : nxi_at(l->real, m + l->v.at, 0, place, l->least + 1);
}

/* Writes the values, if the algorithm has converged. */
static nx_status check(const blocked *l, const nxi_stage_task *task) {
  const nxg_call_part *part = task->part;
  char *m = task->memory;
  const found *f = (void *)(m + l->state.at);
  const nxi_conquer_arrays at = conquer_at(l, m);
  if (!nxi_conquer_end(&l->conquer, &at)) return NX_NO_CONVERGENCE;
  nxi_scale(l->real, l->least, m + l->diagonal.at, -f->scale);
  double *values = nxi_item(&part->call->results[1], part->results[1], 1, task->index);
  for (int i = 0; i < l->least; i++)
    nxi_widen_values(l->real, 1, nxi_at(l->real, m + l->diagonal.at, place_of(l, m, i), 0, 1),
                     &values[i]);
  return NX_OK;
}

/* Columns first .. of the left vectors, which are the rows of V^H. */
static void apply_left(const blocked *l, const nxi_stage_task *task, int first) {
  const nxg_call_part *part = task->part;
  char *m = task->memory;
  const int width = l->left - first < PANEL ? l->left - first : PANEL;
  char *to = nxi_item(&part->call->results[2], part->results[2], 2, task->index);
  to = nxi_at(l->t, to, 0, first, l->rows);
  memset(to, 0, (size_t)width * (size_t)l->rows * (size_t)nxi_dtype_size(l->t));
  for (int j = 0; j < width; j++) {
    char *column = nxi_at(l->t, to, 0, j, l->rows);
    if (first + j >= l->least) nxi_store_one(l->t, nxi_at(l->t, column, first + j, 0, l->rows));
    else nxi_copy_real(l->t, l->least, vector_of(l, m, true, first + j), column);
  }
  nxi_reflections_apply(&l->q, part, false, nxi_reflections_blocks(&l->q), m + l->blocks_q.at,
                        width, to, l->rows, task->own);
}

/* Rows first .. of the right vectors' adjoint, which are the columns of U. */
static void apply_right(const blocked *l, const nxi_stage_task *task, int first) {
  const nxg_call_part *part = task->part;
  char *m = task->memory;
  const int width = l->right - first < PANEL ? l->right - first : PANEL;
  const int inner = first >= l->least ? 0 : l->least - first < width ? l->least - first : width;
  const size_t size = (size_t)nxi_dtype_size(l->t);
  char *to = nxi_item(&part->call->results[0], part->results[0], 2, task->index);
  to = nxi_at(l->t, to, first, 0, l->right);
  for (int j = 0; j < l->columns; j++) {
    char *piece = nxi_at(l->t, to, 0, j, l->right);
    memset(piece, 0, (size_t)width * size);
    if (j >= l->least && j >= first && j < first + width)
      nxi_store_one(l->t, nxi_at(l->t, piece, j - first, 0, l->right));
  }
  for (int i = 0; i < inner; i++) {
    const char *from = vector_of(l, m, false, first + i);
    for (int j = 0; j < l->least; j++)
      nxi_copy_real(l->t, 1, nxi_at(l->real, from, j, 0, 0), nxi_at(l->t, to, i, j, l->right));
  }
  nxi_reflections_apply(&l->p, part, true, nxi_reflections_blocks(&l->p), m + l->blocks_p.at, width,
                        to, l->right, task->own);
}

static nx_status run(const nxi_stage_task *task) {
  const blocked *l = (const void *)task->stages;
  const nxg_call_part *part = task->part;
  const int i = (int)task->task, left = panels(l->left);
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
  else if (i < left) apply_left(l, task, i * PANEL);
  else apply_right(l, task, (i - left) * PANEL);
  return NX_OK;
}

static void lay_out(blocked *l) {
  const int64_t k = l->least, solving = nxi_conquer_work(&l->conquer),
                reducing = nxi_bidiagonal_work(&l->form);
  int64_t *all = &l->stages.bytes;
  nxi_lay_out(&l->matrix, all, l->t, (int64_t)l->rows * l->columns);
  nxi_lay_out(&l->tau_q, all, l->t, k);
  nxi_lay_out(&l->tau_p, all, l->t, k);
  nxi_lay_out(&l->diagonal, all, l->real, k + 1);
  nxi_lay_out(&l->beside, all, l->real, k + 1);
  nxi_lay_out(&l->u, all, l->real, k * k + NXI_CONQUER_MORE);
  nxi_lay_out(&l->v, all, l->real, (k + 1) * (k + 1) + NXI_CONQUER_MORE);
  nxi_lay_out(&l->blocks_q, all, NX_U8, nxi_reflections_bytes(&l->q));
  nxi_lay_out(&l->blocks_p, all, NX_U8, nxi_reflections_bytes(&l->p));
  nxi_lay_out(&l->work, all, l->t, solving > reducing ? solving : reducing);
  nxi_lay_out(&l->integers, all, NX_I32, nxi_conquer_integers(&l->conquer));
  nxi_lay_out(&l->state, all, NX_U8, (int64_t)sizeof(found));
  const int64_t vectors = nxi_layout_bytes(l->real, nxi_conquer_own(&l->conquer), 1);
  l->stages.own_bytes = nxi_reflections_own_bytes(&l->q, PANEL);
  if (vectors > l->stages.own_bytes) l->stages.own_bytes = vectors;
}

nx_status nxi_svd_blocked_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0], *u = &call->results[0], *v = &call->results[2];
  const char *name = nxg_ops[call->op].name;
  const double m = (double)a->shape[a->rank - 2], n = (double)a->shape[a->rank - 1];
  if (4 * m * n > 0x1p31)
    return nxi_fail(d, NX_INVALID_ARGUMENT, name,
                    "%s: a matrix is too large: LAPACK counts with 32 bits", name);
  blocked *l = nxi_calloc(1, sizeof *l);
  if (!l) return nxi_oom_in(d, nxi_oom(d), name);
  const int rows = (int)n, columns = (int)m;
  const bool upper = rows >= columns;
  l->t = a->dtype;
  l->real = nxi_lapack_single(l->t) ? NX_F32 : NX_F64;
  l->rows = rows;
  l->columns = columns;
  l->least = upper ? columns : rows;
  l->left = (int)v->shape[v->rank - 2];
  l->right = (int)u->shape[u->rank - 1];
  l->q =
      (nxi_reflections){l->t, NXI_REFLECT_COLUMNS, rows, upper ? columns : rows - 1, !upper, rows};
  l->p =
      (nxi_reflections){l->t, NXI_REFLECT_ROWS, columns, upper ? columns - 1 : rows, upper, rows};
  l->form = nxi_bidiagonal_of(l->t, rows, columns);
  l->upper = upper;
  l->conquer = nxi_conquer_of(l->real, true, l->least);
  lay_out(l);
  l->stages.batches = nxi_batches(a, 2);
  l->stages.count =
      1 + nxi_bidiagonal_stages(&l->form) + (uint32_t)nxi_conquer_stages(&l->conquer) + STAGES;
  l->stages.tasks = tasks_of;
  l->stages.run = run;
  work->state = l;
  const double k = l->least;
  if (nxi_stages_work(&l->stages, work, 8 * m * n * k + 22 * k * k * k)) return NX_OK;
  nxi_work_release(l);
  work->state = NULL;
  return nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: a matrix is too large", name);
}
