/* SPDX-License-Identifier: ISC */
/* Functions of upper triangular complex matrices, in double precision: the square root and the
 * logarithm. By columns, n elements from one to the next; what is below the diagonal is neither
 * read nor written. */
#ifndef NXI_TRIANGLES_H
#define NXI_TRIANGLES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct nxi_c128 {
  double re, im;
} nxi_c128;

/* t becomes its principal square root. */
void nxi_triangle_root(int n, nxi_c128 *t);
/* t becomes its principal logarithm; own: 2 n^2 elements. False: it has a zero eigenvalue, or one
 * that is not finite. */
bool nxi_triangle_log(int n, nxi_c128 *t, nxi_c128 *own);

#endif
