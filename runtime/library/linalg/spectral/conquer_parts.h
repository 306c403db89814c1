/* SPDX-License-Identifier: ISC */
/* The parts of divide and conquer (conquer.h) that are not divided. */
#ifndef NXI_CONQUER_PARTS_H
#define NXI_CONQUER_PARTS_H

#include "runtime/library/linalg/lapack.h"

/* Of a part, whose vectors are zeros; work: elements for each column, some times their number. */
typedef struct nxi_conquer_part_arrays {
  nx_dtype t;
  void *diagonal, *beside, *right, *left;
  int right_ld, left_ld;
  void *work;
  int *integers;
} nxi_conquer_part_arrays;

/* n rows; values come in ascending order. False: not converged. */
bool nxi_conquer_symmetric_part(const nxi_conquer_part_arrays *at, int n);
/* n rows and a column more, of which the last right vector is; values come in ascending order. */
bool nxi_conquer_singular_part(const nxi_conquer_part_arrays *at, int n);

#endif
