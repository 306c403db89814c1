/* SPDX-License-Identifier: ISC */
/* Products of Householder reflections, Q = H(0) H(1) .. with H = I - tau v v^H, in the form in
 * which LAPACK leaves them in a matrix that it has reduced. They are applied by matrix products:
 * neighbouring reflections are combined into a block I - V T V^H. V and V T of a block are
 * written to memory once and then multiply panels of the other matrix, which threads share. How
 * reflections are divided into blocks follows from the sizes alone. */
#ifndef NXI_REFLECTIONS_H
#define NXI_REFLECTIONS_H

#include "runtime/library/linalg/lapack.h"

typedef enum nxi_reflections_form {
  /* v(i): 1 at first + i, what follows in column i below its place; of bidiagonal forms, Q */
  NXI_REFLECT_COLUMNS,
  NXI_REFLECT_ROWS, /* the same in rows, conjugated; P */
  /* Q = .. H(1) H(0), 1 at i, what is before it in column i + 1; of tridiagonal forms */
  NXI_REFLECT_BACKWARDS
} nxi_reflections_form;

typedef struct nxi_reflections {
  nx_dtype t;
  nxi_reflections_form form;
  int length, count, first; /* length of the vectors; their number; row where the first has its 1 */
  int ld;                   /* of the matrix that holds them */
} nxi_reflections;

enum { NXI_REFLECTIONS = 64 }; /* reflections in a block */

/* Bytes for all blocks; for forming a block; for applying blocks to `width` columns. */
int64_t nxi_reflections_bytes(const nxi_reflections *r);
int64_t nxi_reflections_own_bytes(const nxi_reflections *r, int width);
int nxi_reflections_blocks(const nxi_reflections *r);
/* Forms a block of the reflections in the matrix a. own: aligned scratch memory. */
void nxi_reflections_make(const nxi_reflections *r, int block, const void *a, const void *tau,
                          void *blocks, void *own);
/* C = Q C, of `width` columns; or C = C Q^H, of `width` rows; of the first `blocks` blocks alone.
 * Leaves early when told to stop. */
void nxi_reflections_apply(const nxi_reflections *r, const nxg_call_part *part, bool right,
                           int count, const void *blocks, int width, void *c, int ld, void *own);
/* C = C B, of `width` rows, B being the product of one block. */
void nxi_reflections_apply_block(const nxi_reflections *r, const nxg_call_part *part, int block,
                                 const void *blocks, int width, void *c, int ld, void *own);

#endif
