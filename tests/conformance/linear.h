/* SPDX-License-Identifier: ISC */
/* Matrices of long double, and the operands that linear algebra is tried on. */
#ifndef NXT_LINEAR_H
#define NXT_LINEAR_H

#include "conformance.h"

enum { BATCH = 2, N = 4, M = 6 };

typedef struct matrix {
  int rows, columns;
  value at[M][M];
} matrix;
matrix matrix_product(const matrix *a, const matrix *b);
matrix matrix_adjoint(const matrix *a);
/* Matrix `number` of a batch. */
matrix matrix_of(const array *a, int number, int rows, int columns);
/* Equal within a few rounding units of the size of `want`. */
void expect_matrix(trial *t, const matrix *is, const matrix *want, const char *what);

typedef enum shape { SQUARE, WELL, HERMITIAN, POSITIVE, LOWER, TALL } shape;
array *batch_of(trial *t, nx_dtype dtype, shape s);
/* Smaller than f32: computed in it. */
bool is_small_float(nx_dtype dtype);

#endif
