/* SPDX-License-Identifier: ISC */
/* cholesky of a large matrix, in the memory of the result. By columns, as LAPACK stores matrices,
 * the factors are U^H U, or L L^H for `upper`: the same steps with rows and columns exchanged.
 * Panel k is factored; then the part of the factor beside it is computed, in chunks; then the rest
 * of the matrix is updated, in chunks, and the task of the first chunk goes on to factor panel k +
 * 1. */
#include "cholesky_blocked.h"

#include <string.h>

#include "ir/alloc.h"
#include "ir/op.h"
#include "runtime/library/blas/level3.h"
#include "runtime/library/floats/root.h"

typedef void (*potrf_fn)(const char *uplo, const int *n, void *a, const int *lda, int *info,
                         size_t uplo_length);

enum { PANEL = 128 }; /* and chunks */

typedef struct blocked {
  nxi_stages stages; /* first */
  nx_dtype t;
  bool low; /* L L^H */
  int n, panels;
} blocked;

/* Stage 0 copies the matrix. Then follow two stages for each panel except the last, one that checks
 * the diagonal, and one that clears the other triangle. */
static int64_t tasks_of(const nxi_stages *stages, uint32_t stage) {
  const blocked *l = (const void *)stages;
  const int looks = 2 * l->panels - 1;
  if (stage == 0 || (int)stage > looks) return l->panels;
  return (int)stage == looks ? 1 : l->panels - 1 - ((int)stage - 1) / 2;
}

static int width_of(const blocked *l, int panel) {
  return l->n - panel * PANEL < PANEL ? l->n - panel * PANEL : PANEL;
}

/* The block of panels i and j, i <= j: for U in the rows of i, for L in the columns of i. */
static void *meeting(const blocked *l, char *a, int i, int j) {
  return l->low ? nxi_at(l->t, a, j * PANEL, i * PANEL, l->n)
                : nxi_at(l->t, a, i * PANEL, j * PANEL, l->n);
}

/* Loops of our own, for U: stored by rows, it is L. */
static const nxi_floats_kernels *own_of(const blocked *l) {
  return l->low ? NULL : nxi_floats_kernels_for(l->t);
}

/* failed: 0, or the number of the pivot that was the first to fail. */
static void factor(const blocked *l, char *a, int panel, int *failed, void *room) {
  const int width = width_of(l, panel);
  const nxi_floats_kernels *own = own_of(l);
  void *square = meeting(l, a, panel, panel);
  int info = 0;
  if (own) {
    info = (int)nxi_floats_find_root(own, width, square, l->n, room);
  } else {
    nxi_lapack_enter();
    ((potrf_fn)nxi_lapack(NXI_LAPACK_potrf, l->t))(l->low ? "L" : "U", &width, square, &l->n, &info,
                                                   1);
    nxi_lapack_leave();
  }
  if (!*failed && info) *failed = panel * PANEL + info;
}

/* Computes a chunk of the factor beside a panel. */
static void divide(const blocked *l, char *a, int panel, int chunk, void *room) {
  const int width = width_of(l, chunk);
  const nxi_floats_kernels *own = own_of(l);
  if (own)
    nxi_floats_root_below(own, PANEL, meeting(l, a, panel, panel), l->n, width,
                          meeting(l, a, panel, chunk), room);
  else if (l->low)
    nxi_triangular(l->t, "R", "L", "C", "N", width, PANEL, meeting(l, a, panel, panel), l->n,
                   meeting(l, a, panel, chunk), l->n);
  else
    nxi_triangular(l->t, "L", "U", "C", "N", PANEL, width, meeting(l, a, panel, panel), l->n,
                   meeting(l, a, panel, chunk), l->n);
}

/* Updates a chunk of the rest: subtracts the product of the factor's part `chunk` and the parts
 * before that. */
static void update(const blocked *l, const nxg_call_part *part, char *a, int panel, int chunk) {
  const int first = (panel + 1) * PANEL, width = width_of(l, chunk),
            before = chunk * PANEL + width - first;
  const nxi_factor mine = {"N", meeting(l, a, panel, chunk), l->n},
                   theirs = {"C", meeting(l, a, panel, panel + 1), l->n};
  void *to = meeting(l, a, panel + 1, chunk);
  if (l->low) nxi_subtract_product(part, l->t, width, before, PANEL, mine, theirs, to, l->n);
  else nxi_subtract_product(part, l->t, before, width, PANEL, theirs, mine, to, l->n);
}

/* Copies the triangle of the operand that is read; the other one is not read. `low` exchanges rows
 * and columns. */
static void copy(const blocked *l, const char *from, char *a, int chunk) {
  const int first = chunk * PANEL, width = width_of(l, chunk), count = first + width;
  const char *rows = from + (int64_t)first * l->n * nxi_dtype_size(l->t);
  if (l->low)
    nxi_transpose(l->t, width, count, rows, l->n, nxi_at(l->t, a, first, 0, l->n), l->n, true);
  else
    memcpy(nxi_at(l->t, a, 0, first, l->n), rows,
           (size_t)width * (size_t)l->n * (size_t)nxi_dtype_size(l->t));
}

/* Clears the other triangle in the columns of a chunk. */
static void clear(const blocked *l, char *a, int chunk) {
  const size_t size = (size_t)nxi_dtype_size(l->t);
  for (int j = chunk * PANEL; j < chunk * PANEL + width_of(l, chunk); j++) {
    const int first = l->low ? 0 : j + 1, end = l->low ? j : l->n;
    memset(nxi_at(l->t, a, first, j, l->n), 0, (size_t)(end - first) * size);
  }
}

static nx_status run(const nxi_stage_task *task) {
  const blocked *l = (const void *)task->stages;
  const nxg_call_part *part = task->part;
  const int stage = (int)task->stage, i = (int)task->task, looks = 2 * l->panels - 1;
  const int panel = (stage - 1) / 2, chunk = panel + 1 + i;
  char *a = nxi_item(&part->call->results[0], part->results[0], 2, task->index);
  int *failed = task->memory;
  if (stage == looks) {
    const int info = *failed ? *failed : nxi_bad_diagonal(l->t, l->n, a);
    nxi_store_info(part, task->index, info);
    return info ? NX_NOT_POSITIVE_DEFINITE : NX_OK;
  }
  if (stage > looks) {
    clear(l, a, i);
  } else if (stage == 0) {
    copy(l, nxi_item(&part->call->operands[0], part->operands[0], 2, task->index), a, i);
    if (i > 0) return NX_OK;
    *failed = 0;
    factor(l, a, 0, failed, task->own);
  } else if (stage % 2 == 1) {
    divide(l, a, panel, chunk, task->own);
  } else {
    update(l, part, a, panel, chunk);
    if (i == 0 && !nxi_told_to_stop(part)) factor(l, a, chunk, failed, task->own);
  }
  return NX_OK;
}

nx_status nxi_cholesky_blocked_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const double n = (double)a->shape[a->rank - 1];
  blocked *l = nxi_calloc(1, sizeof *l);
  if (!l) return nxi_oom_in(d, nxi_oom(d), "cholesky");
  l->t = a->dtype;
  l->low = call->attrs[0] != 0;
  l->n = (int)n;
  l->panels = (l->n + PANEL - 1) / PANEL;
  l->stages = (nxi_stages){.batches = nxi_batches(a, 2),
                           .count = 2 * (uint32_t)l->panels + 1,
                           .bytes = (int64_t)sizeof(int),
                           .own_bytes = nxi_floats_root_bytes(PANEL),
                           .tasks = tasks_of,
                           .run = run};
  work->state = l;
  if (nxi_stages_work(&l->stages, work, n * n * n / 3)) return NX_OK;
  nxi_work_release(l);
  work->state = NULL;
  return nxi_fail(d, NX_INVALID_ARGUMENT, "cholesky", "cholesky: a matrix is too large");
}
