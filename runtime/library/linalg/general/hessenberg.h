/* SPDX-License-Identifier: ISC */
/* The upper Hessenberg form of a large real matrix (f64) that is stored by columns, as LAPACK's
 * gehrd leaves it, in stages (stages.h). A column takes a product of what is left of the matrix and
 * a vector, at the speed of memory, which threads share, as they do the products of matrices after
 * a panel of columns. How the work is divided depends on the shape alone. */
#ifndef NXI_HESSENBERG_H
#define NXI_HESSENBERG_H

#include "runtime/library/linalg/lapack.h"

typedef struct nxi_hessenberg {
  int n, panels; /* panels: those that are shared, at most; LAPACK does the rest */
} nxi_hessenberg;

/* What it works on. work: nxi_hessenberg_work elements. */
typedef struct nxi_hessenberg_arrays {
  double *a;
  int ld;
  int low, high; /* rows and columns low .. high - 1 are reduced; others are so already */
  double *tau;   /* n */
  double *work;
} nxi_hessenberg_arrays;

nxi_hessenberg nxi_hessenberg_of(int n);
int64_t nxi_hessenberg_work(const nxi_hessenberg *f);
uint32_t nxi_hessenberg_stages(const nxi_hessenberg *f);
int64_t nxi_hessenberg_tasks(const nxi_hessenberg *f, uint32_t stage);
void nxi_hessenberg_run(const nxi_hessenberg *f, const nxi_hessenberg_arrays *at, uint32_t stage,
                        int64_t task);

#endif
