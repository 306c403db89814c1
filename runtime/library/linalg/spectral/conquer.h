/* SPDX-License-Identifier: ISC */
/* Values and vectors of a symmetric tridiagonal matrix, or of an upper bidiagonal one, by divide
 * and conquer, in stages (stages.h) that threads share: parts of some rows, then levels that join
 * two parts each, the last of which is half of the work, and most of it products. How it is divided
 * depends on the size alone. */
#ifndef NXI_CONQUER_H
#define NXI_CONQUER_H

#include "runtime/library/linalg/lapack.h"

typedef struct nxi_conquer {
  nx_dtype t;    /* f32, f64 */
  bool singular; /* the matrix is bidiagonal */
  int n, levels; /* n: columns, of a bidiagonal matrix with one of zeros behind */
} nxi_conquer;

/* What it works on. vectors: columns, n x n; of a bidiagonal matrix the right ones, the last of
 * which is of the column of zeros, and left is (n - 1) x (n - 1). Both have room for
 * NXI_CONQUER_MORE elements behind. diagonal, beside: n elements at least. Lengths of the others
 * below. */
typedef struct nxi_conquer_arrays {
  void *diagonal, *beside, *vectors, *left, *work;
  int *integers;
} nxi_conquer_arrays;

enum { NXI_CONQUER_MORE = 16 };

/* Of an n x n matrix. */
nxi_conquer nxi_conquer_of(nx_dtype real, bool singular, int n);
/* Elements of `work`; of `integers`; of scratch memory of a task. */
int64_t nxi_conquer_work(const nxi_conquer *c);
int64_t nxi_conquer_integers(const nxi_conquer *c);
int64_t nxi_conquer_own(const nxi_conquer *c);

/* First tear, then the parts, then the stages, whose tasks may be done at the same time. */
void nxi_conquer_tear(const nxi_conquer *c, const nxi_conquer_arrays *at);
int nxi_conquer_parts(const nxi_conquer *c);
void nxi_conquer_part(const nxi_conquer *c, const nxi_conquer_arrays *at, int part);
int nxi_conquer_stages(const nxi_conquer *c);
int64_t nxi_conquer_tasks(const nxi_conquer *c, int stage);
void nxi_conquer_run(const nxi_conquer *c, const nxi_conquer_arrays *at, const nxg_call_part *part,
                     int stage, int64_t task, void *own);
/* All of it, one after the other, but the end. own: nxi_conquer_own elements. */
void nxi_conquer_all(const nxi_conquer *c, const nxi_conquer_arrays *at, void *own);
/* Gives values back their scale. False: something has not converged. */
bool nxi_conquer_end(const nxi_conquer *c, const nxi_conquer_arrays *at);
/* The ascending order: where each value and its vector are; from the end on. */
const int *nxi_conquer_order(const nxi_conquer *c, const int *integers);

#endif
