/* SPDX-License-Identifier: ISC */
/* Factors of small matrices, by plain loops over rows, which compilers vectorise. */
#include "small_matrix.h"

#include <math.h>

#define SMALL(T, root, magnitude)                                                            \
  static int cholesky_##T(int n, T *a) {                                                     \
    for (int j = 0; j < n; j++) {                                                            \
      T *top = a + j * n, sum = top[j];                                                      \
      for (int k = 0; k < j; k++) sum -= top[k] * top[k];                                    \
      if (!(sum > 0)) return j + 1;                                                          \
      top[j] = root(sum);                                                                    \
      for (int i = j + 1; i < n; i++) {                                                      \
        T *row = a + i * n, x = row[j];                                                      \
        for (int k = 0; k < j; k++) x -= row[k] * top[k];                                    \
        row[j] = x / top[j];                                                                 \
      }                                                                                      \
    }                                                                                        \
    return 0;                                                                                \
  }                                                                                          \
  static void exchange_##T(int n, T *a, T *b) {                                              \
    for (int j = 0; j < n; j++) {                                                            \
      T x = a[j];                                                                            \
      a[j] = b[j];                                                                           \
      b[j] = x;                                                                              \
    }                                                                                        \
  }                                                                                          \
  /* A NaN is chosen as pivot before all numbers, so that the determinant becomes NaN. */    \
  static bool larger_##T(T x, T than) { return x > than || (x != x && than == than); }       \
  static bool lu_##T(int n, T *a, int *pivots) {                                             \
    bool regular = true;                                                                     \
    for (int k = 0; k < n; k++) {                                                            \
      T *top = a + k * n;                                                                    \
      int best = k;                                                                          \
      for (int i = k + 1; i < n; i++)                                                        \
        if (larger_##T(magnitude(a[i * n + k]), magnitude(a[best * n + k]))) best = i;       \
      pivots[k] = best;                                                                      \
      if (best != k) exchange_##T(n, top, a + best * n);                                     \
      if (top[k] == 0) {                                                                     \
        regular = false;                                                                     \
        continue;                                                                            \
      }                                                                                      \
      for (int i = k + 1; i < n; i++) {                                                      \
        T *row = a + i * n, factor = row[k] / top[k];                                        \
        row[k] = factor;                                                                     \
        for (int j = k + 1; j < n; j++) row[j] -= factor * top[j];                           \
      }                                                                                      \
    }                                                                                        \
    return regular;                                                                          \
  }                                                                                          \
  static void solve_##T(int n, int columns, const T *lu, const int *pivots, T *b) {          \
    for (int i = 0; i < n; i++)                                                              \
      if (pivots[i] != i) exchange_##T(columns, b + i * columns, b + pivots[i] * columns);   \
    for (int i = 1; i < n; i++)                                                              \
      for (int k = 0; k < i; k++) {                                                          \
        T factor = lu[i * n + k];                                                            \
        for (int j = 0; j < columns; j++) b[i * columns + j] -= factor * b[k * columns + j]; \
      }                                                                                      \
    for (int i = n; i-- > 0;) {                                                              \
      for (int k = i + 1; k < n; k++) {                                                      \
        T factor = lu[i * n + k];                                                            \
        for (int j = 0; j < columns; j++) b[i * columns + j] -= factor * b[k * columns + j]; \
      }                                                                                      \
      for (int j = 0; j < columns; j++) b[i * columns + j] /= lu[i * n + i];                 \
    }                                                                                        \
  }                                                                                          \
  static void triangle_##T(const nxi_small_triangle *t, int columns, T *b, int64_t ld) {     \
    const T *a = t->a;                                                                       \
    const int n = t->n;                                                                      \
    const bool forward = t->upper == t->turned;                                              \
    for (int step = 0; step < n; step++) {                                                   \
      const int i = forward ? step : n - 1 - step;                                           \
      T *row = b + i * ld;                                                                   \
      for (int k = forward ? 0 : i + 1; k < (forward ? i : n); k++) {                        \
        const T factor = t->turned ? a[k * n + i] : a[i * n + k], *known = b + k * ld;       \
        for (int j = 0; j < columns; j++) row[j] -= factor * known[j];                       \
      }                                                                                      \
      for (int j = 0; j < columns && !t->unit; j++) row[j] /= a[i * n + i];                  \
    }                                                                                        \
  }
SMALL(float, sqrtf, fabsf)
SMALL(double, sqrt, fabs)

int nxi_small_cholesky(nx_dtype t, int n, void *a) {
  return t == NX_F32 ? cholesky_float(n, a) : cholesky_double(n, a);
}

bool nxi_small_lu(nx_dtype t, int n, void *a, int *pivots) {
  return t == NX_F32 ? lu_float(n, a, pivots) : lu_double(n, a, pivots);
}

void nxi_small_solve(nx_dtype t, int n, int columns, const void *lu, const int *pivots, void *b) {
  if (t == NX_F32) solve_float(n, columns, lu, pivots, b);
  else solve_double(n, columns, lu, pivots, b);
}

void nxi_small_triangular(nx_dtype type, const nxi_small_triangle *t, int columns, void *b,
                          int64_t ld) {
  if (type == NX_F32) triangle_float(t, columns, b, ld);
  else triangle_double(t, columns, b, ld);
}
