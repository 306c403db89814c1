/* SPDX-License-Identifier: ISC */
/* Matrices on the host, as complex doubles, for tests of linear algebra through the interface:
 * random tensors, what tensors hold, products, and comparisons. */
#ifndef NXT_MATRIX_UTIL_H
#define NXT_MATRIX_UTIL_H

#include <complex.h>
#include <math.h>

#include "tests/util/api.h"

typedef double complex cd;

static const nx_dtype dtypes[] = {NX_F32, NX_F64, NX_C64, NX_C128};
enum { DTYPES = 4 };
static inline bool is_single(nx_dtype t) { return t == NX_F32 || t == NX_C64; }
static inline bool is_pair(nx_dtype t) { return t == NX_C64 || t == NX_C128; }
static inline double unit(nx_dtype t) { return is_single(t) ? 0x1p-23 : 0x1p-52; }

/* Matrices that are freed at the end of the program's arena: tests make few. */
typedef struct host {
  int64_t batch, rows, columns;
  cd *at;
} host;

enum { ARENA = 1 << 16 };
static void *arena[ARENA];
static int arena_used;
static inline host host_of(int64_t batch, int64_t rows, int64_t columns) {
  host h = {batch, rows, columns, calloc((size_t)(batch * rows * columns) + 1, sizeof *h.at)};
  assert_true(arena_used < ARENA && h.at);
  arena[arena_used++] = h.at;
  return h;
}
static inline void free_hosts(void) {
  while (arena_used > 0) free(arena[--arena_used]);
}

static inline double next(void) {
  static uint64_t seed;
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(seed >> 33) / 0x1p30 - 1;
}
/* Numbers of (-1, 1), with `most` more on the diagonal, that the dtype has. */
static inline host random_host(nx_dtype t, int64_t batch, int64_t rows, int64_t columns,
                               double most) {
  host h = host_of(batch, rows, columns);
  for (int64_t i = 0; i < batch * rows * columns; i++) {
    const double re = (float)next(), im = (float)next();
    h.at[i] = re + (is_pair(t) ? I * im : 0);
    if (i / columns % rows == i % columns) h.at[i] += most;
  }
  return h;
}

static inline nx_tensor *tensor_of(nx_dtype t, const host *h) {
  nx_tensor *x = GOOD(nx_empty(ctx, device(), NX_C128, NX_SHAPE(h->batch, h->rows, h->columns)));
  OK(nx_write(x, h->at, (size_t)(h->batch * h->rows * h->columns) * sizeof(cd), NULL));
  return GOOD(nx_cast(is_pair(t) ? x : GOOD(nx_real(x)), t));
}

/* A tensor with a batch, and then matrices (rank 3), vectors (2) or numbers (1). */
static inline host read_host(nx_tensor *x) {
  const int32_t rank = nx_rank(x);
  const int64_t *shape = nx_shape(x);
  host h = host_of(rank > 0 ? shape[0] : 1, rank > 1 ? shape[1] : 1, rank > 2 ? shape[2] : 1);
  OK(nx_read(GOOD(nx_cast(x, NX_C128)), h.at, (size_t)(h.batch * h.rows * h.columns) * sizeof(cd),
             NULL));
  return h;
}

static inline host times(const host *a, const host *b) {
  host c = host_of(a->batch, a->rows, b->columns);
  assert_int_equal(a->columns, b->rows);
  for (int64_t n = 0; n < a->batch; n++)
    for (int64_t i = 0; i < a->rows; i++)
      for (int64_t k = 0; k < a->columns; k++)
        for (int64_t j = 0; j < b->columns; j++)
          c.at[(n * a->rows + i) * b->columns + j] +=
              a->at[(n * a->rows + i) * a->columns + k] * b->at[(n * b->rows + k) * b->columns + j];
  return c;
}
static inline host turned(const host *a, bool conjugate) {
  host c = host_of(a->batch, a->columns, a->rows);
  for (int64_t n = 0; n < a->batch; n++)
    for (int64_t i = 0; i < a->rows; i++)
      for (int64_t j = 0; j < a->columns; j++) {
        const cd x = a->at[(n * a->rows + i) * a->columns + j];
        c.at[(n * a->columns + j) * a->rows + i] = conjugate ? conj(x) : x;
      }
  return c;
}
static inline host adjoint(const host *a) { return turned(a, true); }
static inline host one_of(int64_t batch, int64_t n) {
  host c = host_of(batch, n, n);
  for (int64_t i = 0; i < batch * n; i++) c.at[i * n + i % n] = 1;
  return c;
}
/* Elements (i, j) with low <= j - i <= high; else 0; or 1 on the diagonal. */
static inline host band(const host *a, int64_t low, int64_t high, bool ones) {
  host c = host_of(a->batch, a->rows, a->columns);
  for (int64_t i = 0; i < a->batch * a->rows * a->columns; i++) {
    const int64_t d = i % a->columns - i / a->columns % a->rows;
    if (d >= low && d <= high) c.at[i] = a->at[i];
    if (d == 0 && ones) c.at[i] = 1;
  }
  return c;
}
static inline host corner(const host *a, int64_t rows, int64_t columns) {
  host c = host_of(a->batch, rows, columns);
  for (int64_t n = 0; n < a->batch; n++)
    for (int64_t i = 0; i < rows && i < a->rows; i++)
      for (int64_t j = 0; j < columns && j < a->columns; j++)
        c.at[(n * rows + i) * columns + j] = a->at[(n * a->rows + i) * a->columns + j];
  return c;
}

static inline double size_of(const host *a) {
  double sum = 0;
  for (int64_t i = 0; i < a->batch * a->rows * a->columns; i++)
    sum += creal(a->at[i] * conj(a->at[i]));
  return sqrt(sum);
}
/* |a - b| is at most `bound` roundings of 1 + |b|, in norms of all elements. */
static inline void expect_near_(nx_dtype t, const host *a, const host *b, double bound, int line) {
  host d = host_of(a->batch, a->rows, a->columns);
  assert_true(a->batch == b->batch && a->rows == b->rows && a->columns == b->columns);
  for (int64_t i = 0; i < a->batch * a->rows * a->columns; i++) d.at[i] = a->at[i] - b->at[i];
  const double is = size_of(&d), most = bound * unit(t) * (1 + size_of(b));
  if (!(is <= most))
    fail_msg("line %d, %s: off by %g, more than %g", line, nx_dtype_name(t), is, most);
}
#define NEAR(t, a, b, bound) expect_near_(t, a, b, bound, __LINE__)

/* Whether two tensors have the same bits. */
static inline bool same_bits(nx_tensor *a, nx_tensor *b) {
  size_t bytes = nx_dtype_bits(nx_dtype_of(a)) / 8;
  for (int32_t i = 0; i < nx_rank(a); i++) bytes *= (size_t)nx_shape(a)[i];
  char *x = calloc(bytes + 1, 1), *y = calloc(bytes + 1, 1);
  OK(nx_read(a, x, bytes, NULL));
  OK(nx_read(b, y, bytes, NULL));
  const bool same = memcmp(x, y, bytes) == 0;
  free(x), free(y);
  return same;
}

#endif
