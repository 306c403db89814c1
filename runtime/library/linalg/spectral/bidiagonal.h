/* SPDX-License-Identifier: ISC */
/* The bidiagonal form of a large matrix that is stored by columns, as LAPACK's gebrd leaves it but
 * for the elements that its reflections do not have, in stages (stages.h). A column takes two
 * products of what is left of the matrix and a vector, at the speed of memory, which threads share;
 * between them is little work for one. How columns are divided depends on the shape alone. */
#ifndef NXI_BIDIAGONAL_H
#define NXI_BIDIAGONAL_H

#include "runtime/library/linalg/lapack.h"

typedef struct nxi_bidiagonal {
  nx_dtype t;
  int rows, columns, panels; /* panels: those that are shared; LAPACK does the rest */
} nxi_bidiagonal;

/* What it works on. work: nxi_bidiagonal_work elements. */
typedef struct nxi_bidiagonal_arrays {
  void *a; /* no space between columns */
  void *diagonal, *beside, *tau_q, *tau_p, *work;
} nxi_bidiagonal_arrays;

nxi_bidiagonal nxi_bidiagonal_of(nx_dtype t, int rows, int columns);
int64_t nxi_bidiagonal_work(const nxi_bidiagonal *b);
uint32_t nxi_bidiagonal_stages(const nxi_bidiagonal *b);
int64_t nxi_bidiagonal_tasks(const nxi_bidiagonal *b, uint32_t stage);
void nxi_bidiagonal_run(const nxi_bidiagonal *b, const nxi_bidiagonal_arrays *at, uint32_t stage,
                        int64_t task);

#endif
