/* SPDX-License-Identifier: ISC */
/* Steps of the QR iteration on a block of a real Hessenberg matrix (f64) that is small enough for
 * the caches, and its Schur form. Blocks are stored by columns. */
#ifndef NXI_BULGES_H
#define NXI_BULGES_H

#include <stdbool.h>

/* Bulges of two shifts each, in a chain, all in one block; rows count from the first one of the
 * block, and so may lie outside. All of the block's rows and columns are changed. */
typedef struct nxi_bulges {
  double *h;
  int ld, size;    /* of the block */
  int top, bottom; /* the first and the last row of the part that is iterated on */
  int count;
  const double *re, *im; /* shifts 2 m and 2 m + 1 are those of bulge m */
  double *v;             /* three numbers for each bulge, which the next block needs */
  /* What columns are multiplied by is gathered here: a matrix of so many rows, of which column 0
   * belongs to row `u_first` of the block. */
  double *u;
  int u_ld, u_rows, u_first;
  bool u_begins;                          /* it was the unit matrix before the first step */
  const struct nxi_floats_kernels *loops; /* of f64, or NULL */
} nxi_bulges;

/* Steps begin .. end - 1: in step s bulge m clears column s + 2 m, or begins before `top`. */
void nxi_chase(const nxi_bulges *b, int begin, int end);

/* Whether the element below (k, k) is nothing beside its neighbours, of rows first .. last. */
bool nxi_is_negligible(const double *h, int ld, int k, int first, int last);

/* The block becomes its Schur form, of which blocks of two rows are as LAPACK's lanv2 makes them;
 * the columns of z (of so many rows) are multiplied by what they are. False: no convergence. */
bool nxi_block_schur(int n, double *h, int ld, double *z, int z_rows, int z_ld);
/* The values of a Schur form. */
void nxi_block_values(int n, const double *h, int ld, double *re, double *im);

/* Early deflation (Braman, Byers and Mathias 2002): a block at the end of the matrix becomes its
 * Schur form, in which what stands beside its first row becomes a column of small numbers. */
typedef struct nxi_early {
  int rows;
  double *t, *v; /* the block, and what its columns are multiplied by, which is written */
  int ld;
  double beside;   /* the element beside the first row, which may change */
  double *work;    /* nxi_early_work elements */
  double *re, *im; /* values: first those of what is left */
  int left, deflated;
  bool changed; /* t, v, beside are to be used */
} nxi_early;

int nxi_early_work(int rows);
/* False: no convergence. */
bool nxi_deflate_early(nxi_early *d);

#endif
