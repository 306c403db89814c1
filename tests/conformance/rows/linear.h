/* SPDX-License-Identifier: ISC */
/* Matrices of long double, and the operands that linear algebra is tried on. */
#ifndef NXT_LINEAR_H
#define NXT_LINEAR_H

#include "../conformance.h"

enum { BATCH = 2, N = 4, M = 6 };

typedef struct matrix {
  int rows, columns;
  value at[M][M];
} matrix;
matrix matrix_product(const matrix *a, const matrix *b);
matrix matrix_adjoint(const matrix *a);
matrix matrix_identity(int n);
/* What a Hermitian operand stands for, by its lower triangle. */
matrix matrix_mirrored(const matrix *m);
value value_product(value a, value b);
/* Matrix `number` of a batch. */
matrix matrix_of(const array *a, int number, int rows, int columns);
/* The same of a diagonal matrix, of which the diagonal is given. */
matrix diagonal_of(const array *a, int number, int n);
/* Equal within a few rounding units of the size of `want`. */
void expect_matrix(trial *t, const matrix *is, const matrix *want, const char *what);

void expect_orthonormal(trial *t, const matrix *q, const char *what);

typedef enum shape { SQUARE, WELL, HERMITIAN, POSITIVE, LOWER, TALL } shape;
array *batch_of(trial *t, nx_dtype dtype, shape s);
/* Smaller than f32: computed in it. */
bool is_small_float(nx_dtype dtype);

/* ---- operations with up to four results of a (and of a right side), and what they satisfy */

typedef struct results {
  nx_tensor *tensor[4];
  nx_status status;
} results;
typedef struct linear_call {
  shape operand;
  int n; /* results */
  results (*record)(nx_tensor *a, nx_tensor *b);
  /* The types and shapes (without the batch) of the results. */
  nx_dtype (*dtype)(nx_dtype dtype, int result);
  extent result[4];
  void (*satisfy)(trial *t, const matrix *a, const matrix *b, array *const *r, int number);
  /* of a second matrix that is zero (of NaN if that is NX_NO_CONVERGENCE); NX_OK: none */
  nx_status failure;
} linear_call;

nx_dtype same_dtype(nx_dtype dtype, int result);

#define ONE(name, expression)                            \
  static results do_##name(nx_tensor *a, nx_tensor *b) { \
    (void)b;                                             \
    results r = {{expression, NULL, NULL}, NX_OK};       \
    return r;                                            \
  }
#define MANY(name, expression)                           \
  static results do_##name(nx_tensor *a, nx_tensor *b) { \
    (void)b;                                             \
    results r = {{NULL, NULL, NULL}, NX_OK};             \
    r.status = expression;                               \
    return r;                                            \
  }
#define SATISFY(name)                                                                     \
  static void satisfy_##name(trial *t, const matrix *a, const matrix *b, array *const *r, \
                             int number)

#define CALL(name, ...) \
  {name, F | C, check_linear, record_linear, &(const linear_call){__VA_ARGS__}, 0, NULL}
void check_linear(trial *t);
nx_tensor *record_linear(trial *t, nx_dtype dtype);

#endif
