/* SPDX-License-Identifier: ISC */
/* The tridiagonal form of a large Hermitian matrix of which the upper triangle is stored by
 * columns, as LAPACK's sytrd leaves it but for the elements that its reflections do not have, in
 * stages (stages.h). A column takes a product of what is left of the matrix and a vector, at the
 * speed of memory, which threads share. How columns are divided depends on the shape alone. */
#ifndef NXI_TRIDIAGONAL_H
#define NXI_TRIDIAGONAL_H

#include "runtime/library/linalg/lapack.h"

typedef struct nxi_tridiagonal {
  nx_dtype t;
  int n, panels; /* panels: those that are shared; LAPACK does the rest */
} nxi_tridiagonal;

/* What it works on: of a, no space between columns, and what is below the diagonal may be
 * overwritten. work: nxi_tridiagonal_work elements. */
typedef struct nxi_tridiagonal_arrays {
  void *a;
  void *diagonal, *beside, *tau, *work;
} nxi_tridiagonal_arrays;

nxi_tridiagonal nxi_tridiagonal_of(nx_dtype t, int n);
int64_t nxi_tridiagonal_work(const nxi_tridiagonal *f);
uint32_t nxi_tridiagonal_stages(const nxi_tridiagonal *f);
int64_t nxi_tridiagonal_tasks(const nxi_tridiagonal *f, uint32_t stage);
void nxi_tridiagonal_run(const nxi_tridiagonal *f, const nxi_tridiagonal_arrays *at, uint32_t stage,
                         int64_t task);

#endif
