/* SPDX-License-Identifier: ISC */
/* qr of a large matrix. LAPACK works on the transposed matrix, whose panels of rows are factored as
 * L Q' (linalg/qr.c), by way of a copy, which is columns. The next panel is factored as soon as its
 * rows have been updated, while other threads still update the rows below. Then panels of Q are
 * computed from the identity. Stage k updates the rows below panel k - 1, and its first task
 * factors panel k; the last stage computes R and Q. */
#include "qr_blocked.h"

#include <string.h>

#include "ir/alloc.h"
#include "ir/op.h"
#include "runtime/library/blas/level3.h"
#include "runtime/library/linalg/rescale.h"
#include "reflections.h"

typedef void (*geqrf_fn)(const int *m, const int *n, void *a, const int *lda, void *tau, void *work,
                         const int *lwork, int *info);

typedef void (*larft_fn)(const char *direct, const char *stored, const int *n, const int *k,
                         const void *v, const int *ldv, const void *tau, void *t, const int *ldt,
                         size_t, size_t);
typedef void (*larfb_fn)(const char *side, const char *trans, const char *direct,
                         const char *stored, const int *m, const int *n, const int *k,
                         const void *v, const int *ldv, const void *t, const int *ldt, void *c,
                         const int *ldc, void *work, const int *ldwork, size_t, size_t, size_t,
                         size_t);

enum { PANEL = NXI_REFLECTIONS, CHUNK = 2 * PANEL, PART = 16 }; /* rows */

typedef struct blocked {
  nxi_stages stages; /* first */
  nx_dtype t;
  int rows, columns, least, inner, panels; /* as LAPACK sees them; inner: rows of Q' */
  nxi_reflections q;
  nxi_layout matrix, tau, blocks;
  nxi_layout work; /* work memory of a thread, after that of the reflections */
} blocked;

/* Rows of Q', of which the later ones take longer, and of R, that are one task. */
static int last_chunk(const blocked *l) { return l->inner > 512 ? CHUNK : PANEL; }
static int last_chunks(const blocked *l) { return (l->inner + last_chunk(l) - 1) / last_chunk(l); }

static int chunks(int rows) { return rows > 0 ? (rows + CHUNK - 1) / CHUNK : 0; }

static int64_t tasks_of(const nxi_stages *stages, uint32_t stage) {
  const blocked *l = (const void *)stages;
  if (stage == 0) return chunks(l->rows);
  if (stage < (uint32_t)l->panels) return 1 + chunks(l->rows - ((int)stage + 1) * PANEL);
  return stage == (uint32_t)l->panels ? chunks(l->rows - l->least) : 2 * last_chunks(l);
}

/* A panel, transposed: its columns are beside each other, `rows` elements each. */
typedef struct turned {
  int rows, columns;
  char *a, *tau, *work;
} turned;

/* Factors `count` columns from `first` on, one by one. */
static void factor_part(nx_dtype t, const turned *p, int first, int count) {
  const int rows = p->rows - first, lwork = PART * PART;
  int info;
  ((geqrf_fn)nxi_lapack(NXI_LAPACK_geqrf, t))(&rows, &count, nxi_at(t, p->a, first, first, p->rows),
                                              &p->rows, nxi_at(t, p->tau, first, 0, 1), p->work,
                                              &lwork, &info);
}

/* Applies their reflections to the columns behind. */
static void apply_part(nx_dtype t, const turned *p, int first) {
  const int rows = p->rows - first, count = PART, rest = p->columns - first - PART;
  const void *v = nxi_at(t, p->a, first, first, p->rows);
  ((larft_fn)nxi_lapack(NXI_LAPACK_larft, t))(
      "F", "C", &rows, &count, v, &p->rows, nxi_at(t, p->tau, first, 0, 1), p->work, &count, 1, 1);
  ((larfb_fn)nxi_lapack(NXI_LAPACK_larfb, t))(
      "L", "C", "F", "C", &rows, &rest, &count, v, &p->rows, p->work, &count,
      nxi_at(t, p->a, first, first + PART, p->rows), &p->rows, nxi_at(t, p->work, 0, PART, PART),
      &rest, 1, 1, 1, 1);
}

static void factor(const blocked *l, const nxi_stage_task *task, int panel) {
  char *m = task->memory, *own = (char *)task->own + l->work.at;
  const int first = panel * PANEL, all = l->least - first < PANEL ? l->least - first : PANEL;
  char *a = nxi_at(l->t, m + l->matrix.at, first, first, l->rows);
  const bool conjugate = nxi_lapack_complex(l->t);
  const turned p = {l->columns - first, all, nxi_at(l->t, own, 0, PANEL, PANEL),
                    nxi_at(l->t, m + l->tau.at, first, 0, 1), own};
  nxi_transpose(l->t, p.rows, all, a, l->rows, p.a, p.rows, conjugate);
  nxi_lapack_enter();
  for (int part = 0; part < all; part += PART) {
    factor_part(l->t, &p, part, all - part < PART ? all - part : PART);
    if (part + PART < all) apply_part(l->t, &p, part);
  }
  nxi_lapack_leave();
  nxi_transpose(l->t, all, p.rows, p.a, p.rows, a, l->rows, conjugate);
  nxi_reflections_make(&l->q, panel, m + l->matrix.at, m + l->tau.at, m + l->blocks.at, task->own);
}

/* Applies the reflections of a panel to rows of the matrix, from `first` on. */
static void update(const blocked *l, const nxi_stage_task *task, int panel, int first, int count) {
  char *m = task->memory;
  nxi_reflections_apply_block(&l->q, task->part, panel, m + l->blocks.at, count,
                              nxi_at(l->t, m + l->matrix.at, first, 0, l->rows), l->rows,
                              task->own);
}

static void copy_rows(const blocked *l, const nxi_stage_task *task, const char *from, int first,
                      int count) {
  char *a = (char *)task->memory + l->matrix.at;
  for (int j = 0; j < l->columns; j++)
    memcpy(nxi_at(l->t, a, first, j, l->rows), nxi_at(l->t, from, first, j, l->rows),
           (size_t)count * (size_t)nxi_dtype_size(l->t));
}

/* Writes rows of R, which are columns of L: zeros to the left of the diagonal. */
static void make_r(const blocked *l, const nxi_stage_task *task, char *r, int first, int count) {
  const size_t size = (size_t)nxi_dtype_size(l->t), row = (size_t)l->rows * size;
  for (int j = first; j < first + count; j++) {
    const size_t zeros = j < l->least ? (size_t)j * size : row;
    char *to = r + (size_t)j * row;
    memset(to, 0, zeros);
    memcpy(to + zeros,
           (char *)nxi_at(l->t, (char *)task->memory + l->matrix.at, 0, j < l->least ? j : 0,
                          l->rows) +
               zeros,
           row - zeros);
  }
}

/* Computes rows of Q': rows of the identity, to which the reflections that change them are
 * applied. */
static void make_q(const blocked *l, const nxi_stage_task *task, char *q, int first, int count) {
  char *to = nxi_at(l->t, q, first, 0, l->inner);
  const int blocks = (first + count + PANEL - 1) / PANEL;
  for (int j = 0; j < l->columns; j++) {
    char *piece = nxi_at(l->t, to, 0, j, l->inner);
    memset(piece, 0, (size_t)count * (size_t)nxi_dtype_size(l->t));
    if (j >= first && j < first + count)
      nxi_store_one(l->t, nxi_at(l->t, piece, j - first, 0, l->inner));
  }
  nxi_reflections_apply(&l->q, task->part, true, blocks < l->panels ? blocks : l->panels,
                        (char *)task->memory + l->blocks.at, count, to, l->inner, task->own);
}

static int count_of(int first, int all) { return all - first < CHUNK ? all - first : CHUNK; }

static void finish(const blocked *l, const nxi_stage_task *task, int i) {
  const nxg_call_part *part = task->part;
  const int all = last_chunks(l), most = last_chunk(l), which = i < all ? 0 : 1,
            first = (i - which * all) * most,
            count = l->inner - first < most ? l->inner - first : most;
  char *to = nxi_item(&part->call->results[which], part->results[which], 2, task->index);
  if (which == 0) make_q(l, task, to, first, count);
  else make_r(l, task, to, first, count);
}

static nx_status run(const nxi_stage_task *task) {
  const blocked *l = (const void *)task->stages;
  const nxg_call_part *part = task->part;
  const int stage = (int)task->stage, i = (int)task->task;
  int first = i * CHUNK;
  if (stage > l->panels) {
    finish(l, task, i);
    return NX_OK;
  }
  if (stage == 0) {
    copy_rows(l, task, nxi_item(&part->call->operands[0], part->operands[0], 2, task->index), first,
              count_of(first, l->rows));
  } else if (stage == l->panels) {
    update(l, task, stage - 1, l->least + first, count_of(l->least + first, l->rows));
  } else if (i == 0) {
    first = stage * PANEL;
    update(l, task, stage - 1, first, l->rows - first < PANEL ? l->rows - first : PANEL);
  } else {
    first = (stage + 1) * PANEL + (i - 1) * CHUNK;
    update(l, task, stage - 1, first, count_of(first, l->rows));
  }
  if (i == 0 && stage < l->panels && !nxi_told_to_stop(part)) factor(l, task, stage);
  return NX_OK;
}

nx_status nxi_qr_blocked_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0], *q = &call->results[0];
  const char *name = nxg_ops[call->op].name;
  const double m = (double)a->shape[a->rank - 2], n = (double)a->shape[a->rank - 1];
  blocked *l = nxi_calloc(1, sizeof *l);
  if (!l) return nxi_oom_in(d, nxi_oom(d), name);
  l->t = a->dtype;
  l->rows = (int)n;
  l->columns = (int)m;
  l->least = m < n ? (int)m : (int)n;
  l->inner = (int)q->shape[q->rank - 1];
  l->panels = (l->least + PANEL - 1) / PANEL;
  l->q = (nxi_reflections){l->t, NXI_REFLECT_ROWS, l->columns, l->least, 0, l->rows};
  nxi_lay_out(&l->matrix, &l->stages.bytes, l->t, (int64_t)l->rows * l->columns);
  nxi_lay_out(&l->tau, &l->stages.bytes, l->t, l->least);
  nxi_lay_out(&l->blocks, &l->stages.bytes, NX_U8, nxi_reflections_bytes(&l->q));
  l->stages.own_bytes = nxi_reflections_own_bytes(&l->q, CHUNK);
  nxi_lay_out(&l->work, &l->stages.own_bytes, l->t, PANEL * (PANEL + (int64_t)l->columns));
  l->stages.batches = nxi_batches(a, 2);
  l->stages.count = (uint32_t)l->panels + 2;
  l->stages.tasks = tasks_of;
  l->stages.run = run;
  work->state = l;
  if (nxi_stages_work(&l->stages, work, 4 * m * n * l->least + 2 * m * l->inner * l->least))
    return NX_OK;
  nxi_work_release(l);
  work->state = NULL;
  return nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: a matrix is too large", name);
}
