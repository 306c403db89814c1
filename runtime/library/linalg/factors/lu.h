/* SPDX-License-Identifier: ISC */
/* LU factorisation with row exchanges, P A = L U, of a large matrix that is stored by columns, in
 * stages (stages.h). Panels of columns are factored one after the other. The next panel is factored
 * as soon as its columns have been updated, while other threads still update the columns to the
 * right of it. The division into panels depends on size and dtype only. */
#ifndef NXI_LU_H
#define NXI_LU_H

#include "runtime/library/stages.h"

enum { NXI_LU_LEAST = 256 }; /* the least size; LAPACK factors smaller matrices */

typedef struct nxi_lu {
  nx_dtype t;
  bool turned; /* the operand is copied by columns, and so factored as it is, not transposed */
  int n, panel, panels, chunk;
  int64_t pivots_at, bytes;
} nxi_lu;

typedef struct nxi_lu_call {
  nxi_stages stages; /* first: the state is seen as them */
  nxi_lu lu;
  /* The caller says: */
  bool determinant;       /* nothing can fail, and only the diagonal counts */
  bool unchecked, turned; /* zero pivots are no failure; nxi_lu.turned */
  int64_t tasks;          /* that follow the factors of a matrix */
  void (*finish)(const nxi_stage_task *task, const nxi_lu *lu); /* one of them */
} nxi_lu_call;

/* Whether calls on such a matrix are computed in these stages; their state is then a nxi_lu_call,
 * which nxi_stages_run runs. */
static inline bool nxi_lu_is_blocked(const nxg_array *a) {
  return a->shape[a->rank - 1] >= NXI_LU_LEAST;
}
/* Prepares a call whose first operand is to be factored. */
nx_status nxi_lu_prepare(const nxg_call *call, nxg_call_work *work, const nxi_lu_call *what,
                         double flops, nxi_diag *d);
/* The factors are in a task's memory, and after them the pivots, which count from 1. */
static inline int *nxi_lu_pivots(const nxi_lu *lu, void *memory) {
  return (int *)(void *)((char *)memory + lu->pivots_at);
}

/* Factors a matrix at once, in place; pivots count from 1. */
void nxi_lu_factor(nx_dtype t, int rows, int columns, void *a, int ld, int *pivots);

/* ---- functions on LU factors, for factors from here or from LAPACK */

/* X P A = B, B being `width` x n, at `from`, or, if that is NULL, in the place of X. */
void nxi_lu_solve(const nxg_call_part *part, nx_dtype t, int n, int width, const void *factors,
                  const int *pivots, const void *from, void *x, int ld);
/* Rows first .. first + width - 1 of the inverse, at x. */
void nxi_lu_inverse(const nxg_call_part *part, nx_dtype t, int n, int first, int width,
                    const void *factors, const int *pivots, void *x, int ld);
/* The number, counted from 1, of the first zero on the diagonal; 0: there is none. */
int nxi_zero_on_diagonal(nx_dtype t, int n, const void *a);

#endif
