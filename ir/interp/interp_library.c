/* SPDX-License-Identifier: ISC */
/* Matrix products and random bits in the graph interpreter. */
#include <math.h>
#include <string.h>

#include "dots.h"
#include "interp_graph.h"

/* ---- Threefry-2x32, 20 rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
 * as 1, 2, 3") */

static uint32_t rotate(uint32_t x, int by) { return x << by | x >> (32 - by); }

static void threefry(const uint32_t key[2], const uint32_t counter[2], uint32_t out[2]) {
  static const uint8_t rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bdau};
  uint32_t x = counter[0] + keys[0], y = counter[1] + keys[1];
  for (uint32_t round = 0; round < 20; round++) {
    x += y;
    y = rotate(y, rotations[round % 8]) ^ x;
    if (round % 4 != 3) continue;
    uint32_t group = round / 4 + 1; /* two key words every four rounds */
    x += keys[group % 3];
    y += keys[(group + 1) % 3] + group;
  }
  out[0] = x;
  out[1] = y;
}

void nxg_step_threefry(const nxg_step *s, nxg_run_state *r) {
  if (s->n == 0) return;
  char *to = nxg_address(r, s->to.place);
  nxg_cursor key, counter;
  nxg_cursor_start(&key, &s->args[0], nxg_address(r, s->args[0].place));
  nxg_cursor_start(&counter, &s->args[1], nxg_address(r, s->args[1].place));
  for (int64_t i = 0; i < s->n; i += 2) {
    uint32_t k[2], c[2], out[2];
    if (i % (4 * NXG_CHUNK) == 0 && nxg_stopped(r)) return;
    nxg_gather(&key, k, 2);
    nxg_gather(&counter, c, 2);
    threefry(k, c, out);
    memcpy(to + i * 4, out, sizeof out);
  }
}

/* ---- matmul. numbers: m, n, k, then the bytes between rows and between columns of a and of b.
 * args: the first elements of the matrices of the batch. */

enum { M, N, K, A_ROW, A_COLUMN, B_ROW, B_COLUMN };

static _Atomic(nxg_matmul_fn) library;

void nxg_set_matmul(nxg_matmul_fn f) { atomic_store(&library, f); }

/* c[j] = a * b[j] + c[j], rounded once for floats */
#define ACCUMULATE(name, T, expression)                                                       \
  static void accumulate_##name(void *sums, const void *factor, const void *row, int64_t n) { \
    T *c = sums;                                                                              \
    const T a = *(const T *)factor, *b = row;                                                 \
    for (int64_t j = 0; j < n; j++) c[j] = (T)(expression);                                   \
  }
ACCUMULATE(8, uint8_t, (uint64_t)a *b[j] + c[j])
ACCUMULATE(16, uint16_t, (uint64_t)a *b[j] + c[j])
ACCUMULATE(32, uint32_t, (uint64_t)a *b[j] + c[j])
ACCUMULATE(64, uint64_t, a *b[j] + c[j])
ACCUMULATE(f32, float, fmaf(a, b[j], c[j]))
ACCUMULATE(f64, double, fma(a, b[j], c[j]))

static void accumulate(nx_dtype t, void *sums, const void *factor, const void *row, int64_t n) {
  if (nxi_is_float(t)) {
    if (t == NX_F64) accumulate_f64(sums, factor, row, n);
    else accumulate_f32(sums, factor, row, n);
    return;
  }
  switch (nxi_dtypes[t].bits) {
    case 4:
    case 8: accumulate_8(sums, factor, row, n); break;
    case 16: accumulate_16(sums, factor, row, n); break;
    case 32: accumulate_32(sums, factor, row, n); break;
    default: accumulate_64(sums, factor, row, n);
  }
}

/* Copies n elements that are `stride` bytes apart to dense ones in the dtype that is computed
 * in. */
static void load_line(nx_dtype t, const char *at, int64_t stride, void *line, int64_t n) {
  int64_t extent = n;
  nxg_access access = {
      .rank = 1, .size = (int32_t)nxi_dtype_size(t), .shape = &extent, .strides = &stride};
  nxg_source source = {.dtype = t};
  if (n == 0) return;
  nxg_cursor_start(&source.cursor, &access, (char *)(uintptr_t)at);
  nxg_source_next(&source, line, n);
}

/* Multiplies one matrix in the order of docs/numerics.md: k sequentially from +0, for a strip of
 * columns at a time. */
static void multiply(const nxg_step *s, nxg_run_state *r, const char *a, const char *b, char *c) {
  const int64_t *v = s->numbers;
  nx_dtype t = s->dtype;
  int64_t size = nxi_dtype_size(t), wide = nxi_dtype_size(nxi_compute_dtype(t));
  _Alignas(64) char sums[NXG_CHUNK * 8], row[NXG_CHUNK * 8], factor[8];
  for (int64_t i = 0; i < v[M]; i++)
    for (int64_t j = 0; j < v[N]; j += NXG_CHUNK) {
      int64_t n = v[N] - j < NXG_CHUNK ? v[N] - j : NXG_CHUNK;
      memset(sums, 0, (size_t)(n * wide));
      for (int64_t k = 0; k < v[K]; k++) {
        if (k % NXG_CHUNK == 0 && nxg_stopped(r)) return;
        load_line(t, a + i * v[A_ROW] + k * v[A_COLUMN], size, factor, 1);
        load_line(t, b + k * v[B_ROW] + j * v[B_COLUMN], v[B_COLUMN], row, n);
        accumulate(t, sums, factor, row, n);
      }
      char *to = c + (i * v[N] + j) * size;
      if (nxi_is_small_float(t)) nxg_narrow(t, (const float *)(const void *)sums, to, n);
      else memcpy(to, sums, (size_t)(n * size));
    }
}

/* What is added to one product each and changes no bit of it: -0. */
static void begin_products(nx_dtype t, char *products, int64_t n) {
  memset(products, 0, (size_t)(n * nxi_dtype_size(nxi_compute_dtype(t))));
  for (int64_t j = 0; nxi_is_float(t) && j < n; j++) {
    if (t == NX_F64) ((double *)(void *)products)[j] = -0.0;
    else ((float *)(void *)products)[j] = -0.0F;
  }
}

/* Multiplies a line of n elements by one number: products of an inner extent of 1. */
static void scale_line(nx_dtype t, const char *number, const char *line, int64_t stride, int64_t n,
                       char *c) {
  const int64_t size = nxi_dtype_size(t);
  _Alignas(64) char products[NXG_CHUNK * 8], row[NXG_CHUNK * 8], factor[8];
  load_line(t, number, size, factor, 1);
  for (int64_t j = 0; j < n; j += NXG_CHUNK) {
    int64_t count = n - j < NXG_CHUNK ? n - j : NXG_CHUNK;
    begin_products(t, products, count);
    load_line(t, line + j * stride, stride, row, count);
    accumulate(t, products, factor, row, count);
    if (nxi_is_small_float(t)) nxg_narrow(t, (const float *)(const void *)products, c, count);
    else memcpy(c, products, (size_t)(count * size));
    c += count * size;
  }
}

/* A column times a row. */
static void multiply_outer(const nxg_step *s, nxg_run_state *r, const char *a, const char *b,
                           char *c) {
  const int64_t *v = s->numbers, size = nxi_dtype_size(s->dtype);
  if (v[N] == 1) {
    scale_line(s->dtype, b, a, v[A_ROW], v[M], c);
    return;
  }
  for (int64_t i = 0; i < v[M]; i++) {
    if (i % NXG_CHUNK == 0 && nxg_stopped(r)) return;
    scale_line(s->dtype, a + i * v[A_ROW], b, v[B_COLUMN], v[N], c + i * v[N] * size);
  }
}

/* c[j] = a[j] * b[j], rounded */
#define MULTIPLY(name, T)                                                                \
  static void multiply_##name(const void *x, const void *y, void *products, int64_t n) { \
    T *c = products;                                                                     \
    const T *a = x, *b = y;                                                              \
    for (int64_t j = 0; j < n; j++) c[j] = a[j] * b[j];                                  \
  }
MULTIPLY(f32, float)
MULTIPLY(f64, double)

/* An element of the product of a matrix with a vector, of a row and a column. The temporary holds
 * the products. */
static void sum_products(const nxg_step *s, nxg_run_state *r, const char *row, const char *column,
                         char *c) {
  const int64_t *v = s->numbers;
  nx_dtype t = s->dtype, wide = nxi_compute_dtype(t);
  int64_t bytes = nxi_dtype_size(wide), inner = v[K];
  _Alignas(64) char x[NXG_CHUNK * 8], y[NXG_CHUNK * 8];
  char *products = nxg_address(r, s->temporary);
  nxg_access dense = {.rank = 1, .size = (int32_t)bytes, .shape = &inner, .strides = &bytes};
  nxg_source source = {.dtype = wide, .run = r};
  float sum = 0;
  for (int64_t k = 0; k < v[K]; k += NXG_CHUNK) {
    int64_t n = v[K] - k < NXG_CHUNK ? v[K] - k : NXG_CHUNK;
    load_line(t, row + k * v[A_COLUMN], v[A_COLUMN], x, n);
    load_line(t, column + k * v[B_ROW], v[B_ROW], y, n);
    (wide == NX_F64 ? multiply_f64 : multiply_f32)(x, y, products + k * bytes, n);
  }
  nxg_cursor_start(&source.cursor, &dense, products);
  s->reduce(&source, v[K], true, nxi_is_small_float(t) ? (void *)&sum : c);
  if (nxi_is_small_float(t)) nxg_narrow(t, &sum, c, 1);
}

/* How many elements of that product from element i on are computed together: where the matrix is
 * dense along rows or columns, and the vector is. */
static int64_t count_dense_products(const nxg_dots *dots, const nxg_step *s, int64_t i) {
  const int64_t *v = s->numbers;
  const bool row = v[M] == 1; /* the vector is the left operand */
  const int64_t size = nxi_dtype_size(s->dtype), left = v[M] * v[N] - i;
  if (dots == NULL || (row ? v[A_COLUMN] : v[B_ROW]) != size) return 0;
  if ((row ? v[B_ROW] : v[A_COLUMN]) == size) return 1;
  bool beside = (row ? v[B_COLUMN] : v[A_ROW]) == size;
  return beside && left >= NXG_DOT_COLUMNS && v[K] <= NXG_DOT_MOST ? NXG_DOT_COLUMNS : 0;
}

/* Computes them, or up to `most` whose rows follow each other, and returns how many. */
static int64_t sum_dense_products(const nxg_dots *dots, const nxg_step *s, const char *a,
                                  const char *b, int64_t i, int64_t most, char *c) {
  const int64_t *v = s->numbers, count = count_dense_products(dots, s, i);
  const bool row = v[M] == 1;
  const int64_t apart = row ? v[B_COLUMN] : v[A_ROW];
  const char *vector = row ? a : b, *from = (row ? b : a) + i * apart;
  if (count == 1 && v[K] >= NXG_RUN_LEAST && v[K] <= NXG_RUN_MOST) {
    nxg_products *products = nxg_products_host(s->dtype);
    const int64_t n = most < NXG_RUN_MOST / v[K] ? most : NXG_RUN_MOST / v[K];
    if (products != NULL) return products(vector, from, apart, n, v[K], c), n;
  }
  if (count == 1) dots->one(vector, from, v[K], c);
  if (count > 1) dots->many(vector, from, row ? v[B_ROW] : v[A_COLUMN], v[K], c);
  return count;
}

typedef struct vector_product {
  const nxg_step *s;
  const nxg_dots *dots;
  const char *a, *b;
  char *c;
} vector_product;

/* NXG_DOT_COLUMNS elements for each number. */
static void some_dense_products(void *arg, int worker, int64_t begin, int64_t end) {
  const vector_product *p = arg;
  const int64_t size = nxi_dtype_size(p->s->dtype);
  (void)worker;
  for (int64_t i = begin * NXG_DOT_COLUMNS, last = end * NXG_DOT_COLUMNS; i < last;)
    i += sum_dense_products(p->dots, p->s, p->a, p->b, i, last - i, p->c + i * size);
}

/* Computes as many elements as there are for several threads, and returns how many: none where
 * elements share a temporary. */
static int64_t divide_products(const vector_product *p, nxg_run_state *r) {
  const int64_t *v = p->s->numbers, n = v[M] * v[N] / NXG_DOT_COLUMNS;
  vector_product all = *p;
  int64_t work;
  if (!r->parallel || n < 2 || __builtin_mul_overflow(v[M] * v[N], v[K], &work)) return 0;
  if (count_dense_products(p->dots, p->s, 0) == 0) return 0;
  return nxg_divide(r, some_dense_products, &all, n, work) ? n * NXG_DOT_COLUMNS : 0;
}

/* Multiplies a matrix with a vector: each element is the sum of the products, in the order of a
 * reduction over the last axis. */
static void multiply_vector(const nxg_step *s, nxg_run_state *r, const char *a, const char *b,
                            char *c) {
  const int64_t *v = s->numbers, size = nxi_dtype_size(s->dtype);
  const nxg_dots *dots = nxg_dots_host(s->dtype);
  int64_t i = divide_products(&(vector_product){s, dots, a, b, c}, r);
  for (int64_t done; i < v[M] * v[N] && !r->status; i += done) {
    done = sum_dense_products(dots, s, a, b, i, v[M] * v[N] - i, c + i * size);
    if (done == 0) {
      sum_products(s, r, a + i / v[N] * v[A_ROW], b + i % v[N] * v[B_COLUMN], c + i * size);
      done = 1;
    }
    if ((i % 64 < done || done > 64) && nxg_stopped(r)) return;
  }
}

/* A matrix of small floats as dense f32. */
static void widen_matrix(nx_dtype t, const char *from, int64_t rows, int64_t columns, int64_t row,
                         int64_t column, float *to) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j += NXG_CHUNK) {
      int64_t n = columns - j < NXG_CHUNK ? columns - j : NXG_CHUNK;
      load_line(t, from + i * row + j * column, column, to + i * columns + j, n);
    }
}

/* Multiplies one matrix with the library; false if the library does not do this one. A failure is
 * recorded in the run. */
static bool multiply_by_library(const nxg_step *s, nxg_run_state *r, const char *a, const char *b,
                                char *c) {
  const int64_t *v = s->numbers;
  nxg_matmul_fn f = atomic_load_explicit(&library, memory_order_acquire);
  int64_t size = nxi_dtype_size(s->dtype), m = v[M], n = v[N], k = v[K];
  bool small = nxi_is_small_float(s->dtype);
  nx_status status;
  if (!f || !nxi_is_float(s->dtype) || nxg_small_matmul(m, n, k)) return false;
  int64_t batches = s->n / (m * n);
  if (small) {
    float *wide_a = (float *)(void *)nxg_address(r, s->temporary), *wide_b = wide_a + m * k,
          *wide_c = wide_b + k * n;
    widen_matrix(s->dtype, a, m, k, v[A_ROW], v[A_COLUMN], wide_a);
    widen_matrix(s->dtype, b, k, n, v[B_ROW], v[B_COLUMN], wide_b);
    status = f(NX_F32, batches, m, n, k, wide_a, k, 1, wide_b, n, 1, wide_c, r->d);
    if (status == NX_OK) nxg_narrow(s->dtype, wide_c, c, m * n);
  } else {
    status = f(s->dtype, batches, m, n, k, a, v[A_ROW] / size, v[A_COLUMN] / size, b,
               v[B_ROW] / size, v[B_COLUMN] / size, c, r->d);
  }
  if (status != NX_OK && status != NX_DEVICE_UNAVAILABLE) r->status = status;
  return status != NX_DEVICE_UNAVAILABLE;
}

void nxg_step_matmul(const nxg_step *s, nxg_run_state *r) {
  if (s->n == 0) return;
  const int64_t *v = s->numbers;
  char *to = nxg_address(r, s->to.place);
  int64_t matrix = v[M] * v[N], size = nxi_dtype_size(s->dtype);
  if (v[K] == 0) { /* sums of nothing: +0 in every dtype */
    memset(to, 0, (size_t)(s->n * size));
    return;
  }
  nxg_cursor a, b;
  nxg_cursor_start(&a, &s->args[0], nxg_address(r, s->args[0].place));
  nxg_cursor_start(&b, &s->args[1], nxg_address(r, s->args[1].place));
  for (int64_t done = 0; done < s->n; done += matrix, to += matrix * size) {
    if (v[K] == 1) multiply_outer(s, r, a.at, b.at, to);
    else if (s->reduce != NULL) multiply_vector(s, r, a.at, b.at, to);
    else if (!multiply_by_library(s, r, a.at, b.at, to)) multiply(s, r, a.at, b.at, to);
    if (r->status != NX_OK) return;
    if (nxi_is_nibble(s->result)) nxg_wrap_nibbles(s->result, to, matrix);
    nxg_cursor_next(&a);
    nxg_cursor_next(&b);
  }
}
