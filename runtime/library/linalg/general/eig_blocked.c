/* SPDX-License-Identifier: ISC */
/* eig of a large real matrix. It is balanced and reduced to a Hessenberg matrix (hessenberg.h), and
 * that to its Schur form (schur.h); blocks of reflections give Q, which the Schur vectors begin
 * with. Panels of vectors of the triangle are multiplied by these (vectors.h). */
#include "eig_blocked.h"

#include <math.h>
#include <string.h>

#include "bulges.h"
#include "hessenberg.h"
#include "ir/alloc.h"
#include "ir/op.h"
#include "runtime/library/blas/level3.h"
#include "runtime/library/linalg/factors/reflections.h"
#include "runtime/library/linalg/rescale.h"
#include "schur.h"
#include "vectors.h"

/* Groups of stages, in their order. */
typedef enum group {
  TAKING,
  REDUCING,
  JOINING,
  FORMING,
  BEGINNING,
  ITERATING,
  ENDING,
  FLIPPING,
  SOLVING,
  GROUPS
} group;

enum { PANEL = 64, CHUNK = 64 }; /* columns of Q, or of a matrix, of a task */

typedef struct blocked {
  nxi_stages stages; /* first */
  int n, ld;
  bool vectors, left;
  nxi_hessenberg form;
  nxi_reflections q;
  nxi_schur schur;
  nxi_layout matrix, tau, scale, blocks, z, values, work, flipped, schur_state, state;
} blocked;

/* Data that stages pass to later ones. */
typedef struct found {
  int power;     /* the matrix was multiplied by 2^power */
  int low, high; /* what permutations have not made triangular */
} found;

static double *array(char *m, const nxi_layout *l) { return (double *)(void *)(m + l->at); }
static found *found_in(const blocked *l, char *m) { return (found *)(void *)(m + l->state.at); }

static uint32_t stages_in(const blocked *l, group g) {
  switch (g) {
    case REDUCING: return nxi_hessenberg_stages(&l->form);
    case ITERATING: return nxi_schur_stages(&l->schur);
    case JOINING:
    case SOLVING: return l->vectors;
    case FLIPPING: return l->left;
    default: return 1;
  }
}

/* The group of a stage, and its number there. */
static group group_of(const blocked *l, uint32_t stage, uint32_t *number) {
  group g = TAKING;
  for (uint32_t count; stage >= (count = stages_in(l, g)); g++) stage -= count;
  *number = stage;
  return g;
}

static int chunks(const blocked *l) { return (l->n + CHUNK - 1) / CHUNK; }

static int64_t tasks_of(const nxi_stages *stages, uint32_t stage) {
  const blocked *l = (const void *)stages;
  uint32_t number;
  switch (group_of(l, stage, &number)) {
    case REDUCING: return nxi_hessenberg_tasks(&l->form, number);
    case JOINING: return nxi_reflections_blocks(&l->q);
    case FORMING: return chunks(l);
    case ITERATING: return nxi_schur_tasks(&l->schur);
    case FLIPPING: return chunks(l);
    case SOLVING: return nxi_vectors_panels(l->n) * (l->left ? 2 : 1);
    default: return 1;
  }
}

/* ---- taking the matrix */

static nx_status take(const blocked *l, const nxi_stage_task *task, const double *from) {
  char *m = task->memory;
  double *a = array(m, &l->matrix);
  found *f = found_in(l, m);
  *f = (found){0, 1, l->n};
  if (!nxi_all_finite(NX_F64, (int64_t)l->n * l->n, from)) return NX_NO_CONVERGENCE;
  nxi_transpose(NX_F64, l->n, l->n, from, l->n, a, l->ld, false);
  f->power = nxi_balance_matrix(l->n, a, l->ld, &f->low, &f->high, array(m, &l->scale));
  return NX_OK;
}

/* ---- the forms */

static nxi_schur_arrays schur_at(const blocked *l, char *m) {
  const found *f = found_in(l, m);
  return (nxi_schur_arrays){.h = array(m, &l->matrix),
                            .z = l->vectors ? array(m, &l->z) : NULL,
                            .ld = l->ld,
                            .low = f->low,
                            .high = f->high,
                            .work = array(m, &l->work),
                            .state = m + l->schur_state.at};
}

static void reduce(const blocked *l, char *m, uint32_t stage, int64_t task) {
  const found *f = found_in(l, m);
  const nxi_hessenberg_arrays at = {.a = array(m, &l->matrix),
                                    .ld = l->ld,
                                    .low = f->low,
                                    .high = f->high,
                                    .tau = array(m, &l->tau),
                                    .work = array(m, &l->work)};
  nxi_hessenberg_run(&l->form, &at, stage, task);
}

/* Makes some columns of Q, and zeros below the Hessenberg matrix. */
static void form(const blocked *l, const nxi_stage_task *task) {
  char *m = task->memory;
  const int first = (int)task->task * PANEL, width = l->n - first < PANEL ? l->n - first : PANEL,
            blocks = nxi_reflections_blocks(&l->q);
  double *a = array(m, &l->matrix);
  for (int j = first; j < first + width; j++)
    for (int i = j + 2; i < l->n; i++) a[i + (int64_t)j * l->ld] = 0;
  if (!l->vectors) return;
  double *z = array(m, &l->z) + (int64_t)first * l->ld;
  for (int j = 0; j < width; j++) {
    memset(z + (int64_t)j * l->ld, 0, (size_t)l->n * sizeof *z);
    z[first + j + (int64_t)j * l->ld] = 1;
  }
  /* others do not change these columns */
  const int needed = (first + width + NXI_REFLECTIONS - 1) / NXI_REFLECTIONS;
  nxi_reflections_apply(&l->q, task->part, false, needed < blocks ? needed : blocks,
                        m + l->blocks.at, width, z, l->ld, task->own);
}

/* Writes the values, if the iteration has converged. */
static nx_status end(const blocked *l, const nxi_stage_task *task) {
  const nxg_call_part *part = task->part;
  char *m = task->memory;
  const found *f = found_in(l, m);
  const nxi_schur_arrays at = schur_at(l, m);
  if (!nxi_schur_end(&l->schur, &at, part, task->own))
    return nxi_told_to_stop(part) ? NX_OK : NX_NO_CONVERGENCE;
  double *re = array(m, &l->values), *im = re + l->n,
         *w = nxi_item(&part->call->results[0], part->results[0], 1, task->index);
  nxi_block_values(l->n, at.h, l->ld, re, im);
  nxi_values_write(l->n, re, -f->power, w);
  if (l->left) nxi_values_flip(l->n, re);
  return NX_OK;
}

/* ---- vectors */

static void solve(const blocked *l, const nxi_stage_task *task) {
  const nxg_call_part *part = task->part;
  char *m = task->memory;
  const found *f = found_in(l, m);
  const int panels = nxi_vectors_panels(l->n), n = l->n;
  const bool left = task->task >= panels;
  const double *values = array(m, &l->values) + (left ? 2 * n : 0);
  const nxi_triangle t = {n, l->ld, array(m, left ? &l->flipped : &l->matrix), values, values + n};
  const nxi_balance balance = {n, f->low, f->high, array(m, &l->scale)};
  const uint32_t result = left || !l->left ? 1 : 2;
  nxi_vectors_panel_of(
      &t, panels - 1 - (int)task->task % panels, left, array(m, &l->z), l->ld, &balance, task->own,
      nxi_item(&part->call->results[result], part->results[result], 2, task->index));
}

/* ---- all of it */

static nx_status run(const nxi_stage_task *task) {
  const blocked *l = (const void *)task->stages;
  const nxg_call_part *part = task->part;
  char *m = task->memory;
  uint32_t number;
  const nxi_schur_arrays at = schur_at(l, m);
  switch (group_of(l, task->stage, &number)) {
    case TAKING:
      return take(l, task, nxi_item(&part->call->operands[0], part->operands[0], 2, task->index));
    case REDUCING: reduce(l, m, number, task->task); break;
    case JOINING:
      nxi_reflections_make(&l->q, (int)task->task, m + l->matrix.at, m + l->tau.at,
                           m + l->blocks.at, task->own);
      break;
    case FORMING: form(l, task); break;
    case BEGINNING: nxi_schur_begin(&l->schur, &at); break;
    case ITERATING: nxi_schur_run(&l->schur, &at, number, task->task, task->own); break;
    case ENDING: return end(l, task);
    case FLIPPING:
      nxi_vectors_flip(l->n, l->ld, at.h, (int)task->task * CHUNK, array(m, &l->flipped));
      break;
    default: solve(l, task);
  }
  return NX_OK;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static void lay_out(blocked *l) {
  const int64_t n = l->n, square = n * l->ld;
  int64_t *all = &l->stages.bytes, own = nxi_layout_bytes(NX_F64, nxi_schur_own(&l->schur), 1);
  nxi_lay_out(&l->matrix, all, NX_F64, square);
  nxi_lay_out(&l->tau, all, NX_F64, n);
  nxi_lay_out(&l->scale, all, NX_F64, n);
  nxi_lay_out(&l->values, all, NX_F64, 4 * n);
  nxi_lay_out(&l->work, all, NX_F64,
              larger(nxi_hessenberg_work(&l->form), nxi_schur_work(&l->schur)));
  nxi_lay_out(&l->schur_state, all, NX_U8, nxi_schur_state_bytes());
  nxi_lay_out(&l->state, all, NX_U8, (int64_t)sizeof(found));
  if (l->vectors) {
    nxi_lay_out(&l->z, all, NX_F64, square);
    nxi_lay_out(&l->blocks, all, NX_U8, nxi_reflections_bytes(&l->q));
    own = larger(own, nxi_reflections_own_bytes(&l->q, PANEL));
    own = larger(own, nxi_layout_bytes(NX_F64, n, 2 * NXI_VECTORS_ROW));
  }
  if (l->left) nxi_lay_out(&l->flipped, all, NX_F64, square);
  l->stages.own_bytes = own;
}

nx_status nxi_eig_blocked_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const char *name = nxg_ops[call->op].name;
  const double n = (double)a->shape[a->rank - 1];
  if (n * n > 0x1p30)
    return nxi_fail(d, NX_INVALID_ARGUMENT, name,
                    "%s: a matrix is too large: LAPACK counts with 32 bits", name);
  blocked *l = nxi_calloc(1, sizeof *l);
  if (!l) return nxi_oom_in(d, nxi_oom(d), name);
  l->n = (int)n;
  l->ld = l->n % 64 ? (l->n + 7) / 8 * 8 : l->n + 8; /* columns do not share places of the caches */
  l->vectors = call->n_results > 1;
  l->left = call->op == NXG_eig_left;
  l->form = nxi_hessenberg_of(l->n);
  l->q = (nxi_reflections){NX_F64, NXI_REFLECT_COLUMNS, l->n, l->n - 1, 1, l->ld};
  l->schur = nxi_schur_of(l->n, l->vectors);
  lay_out(l);
  l->stages.batches = nxi_batches(a, 2);
  for (group g = TAKING; g < GROUPS; g++) l->stages.count += stages_in(l, g);
  l->stages.tasks = tasks_of;
  l->stages.run = run;
  work->state = l;
  if (nxi_stages_work(&l->stages, work, (l->vectors ? 26 : 10) * n * n * n)) return NX_OK;
  nxi_work_release(l);
  work->state = NULL;
  return nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: a matrix is too large", name);
}
