/* SPDX-License-Identifier: ISC */
/* Makes the kernels of one set and type: included with these macros defined, which it removes.
 *     TABLE(name)                name of something of this set
 *     REAL                       float or double
 *     ROWS                       8 or 4: most rows of a block
 *     VECTOR, LANES              a vector of LANES numbers
 *     MASK, MASK_OF(n)           a mask of the first n lanes
 *     LOAD(p), STORE(p, v), LOAD_SOME(p, mask), STORE_SOME(p, mask, v)
 *     MAX(x, y)                  y where either is NaN
 *     ABS(x)
 *     SIGNED(x, y)               x, which is not negative, with the sign of y
 *     ZERO, SPREAD(x), ADD(x, y), MUL(x, y), DIV(x, y), ROOT(x), FMA(a, b, sum)
 *     TILE                       rows and columns of what TRANSPOSE(from, ld, to, to_ld) moves
 *     PRODUCTS_ALONE             no loops for triangles and eliminations; MUL .. ABS are not needed
 *     PICK(from, step, n, to)    n numbers that are not beside each other, but `step` apart, which
 *                                may be 0 or less: so many are done by vectors */

/* What becomes of an element of C. */
static NXI_INLINE void TABLE(end)(REAL *c, VECTOR sum, const bool some, MASK mask, const bool add) {
  if (some) STORE_SOME(c, mask, add ? ADD(LOAD_SOME(c, mask), sum) : sum);
  else STORE(c, add ? ADD(LOAD(c), sum) : sum);
}

/* A step of the chains of a block, in which all are constants but pointers, distances and masks:
 * rows, vectors, `some` (the last vector is not whole), `copies` (the row of B is written to copy,
 * whole vectors of it) and `fetches` (what is ahead of it is fetched). */
static NXI_INLINE void TABLE(step)(VECTOR sum[ROWS][NXI_FLOATS_WIDE], const REAL *a, int64_t across,
                                   const REAL *b, int64_t ahead, REAL *copy, const int rows,
                                   const int vectors, const bool some, const bool copies,
                                   const bool fetches, MASK mask) {
  VECTOR y[NXI_FLOATS_WIDE];
  UNROLL
  for (int j = 0; j < vectors; j++) {
    if (fetches) __builtin_prefetch((const char *)b + ahead + j * LANES * (int)sizeof(REAL));
    y[j] = some && j == vectors - 1 ? LOAD_SOME(b + j * LANES, mask) : LOAD(b + j * LANES);
  }
  UNROLL
  for (int j = 0; copies && j < vectors; j++) STORE(copy + j * LANES, y[j]);
  UNROLL
  for (int i = 0; i < rows; i++) {
    const VECTOR x = SPREAD(a[i * across]);
    UNROLL
    for (int j = 0; j < vectors; j++) sum[i][j] = FMA(x, y[j], sum[i][j]);
  }
}

/* Sums of one block, that begin at zero or with what C has. */
static NXI_INLINE void TABLE(begin)(VECTOR sum[ROWS][NXI_FLOATS_WIDE], const REAL *c, int64_t ld,
                                    const int rows, const int vectors, const bool some, MASK mask,
                                    bool goes_on) {
  UNROLL
  for (int i = 0; i < rows; i++) UNROLL
  for (int j = 0; j < vectors; j++) sum[i][j] = ZERO;
  if (!goes_on) return;
  UNROLL
  for (int i = 0; i < rows; i++) UNROLL
  for (int j = 0; j < vectors; j++) {
    const REAL *at = c + i * ld + j * LANES;
    sum[i][j] = some && j == vectors - 1 ? LOAD_SOME(at, mask) : LOAD(at);
  }
}

/* Blocks one below the other. rows .. copies are constants here, as is `apart` (rows of B are where
 * b_at says). */
static NXI_INLINE void TABLE(blocks)(const nxi_floats_block *t, const int rows, const int vectors,
                                     const bool some, const bool apart, const bool copies) {
  const REAL *first = t->a;
  REAL *c = t->c;
  const int64_t across = t->across, along = t->along, ld = apart ? 0 : t->b_ld, depth = t->depth,
                c_ld = t->c_ld, ahead = t->ahead;
  const MASK mask = MASK_OF(some ? t->last : LANES);
  const nxi_floats_end how = t->end;
  for (int64_t more = t->more; more >= 0; more--, first += t->a_next, c += rows * c_ld) {
    VECTOR sum[ROWS][NXI_FLOATS_WIDE];
    const REAL *a = first, *b = t->b;
    REAL *copy = t->copy;
    TABLE(begin)(sum, c, c_ld, rows, vectors, some, mask, how == NXI_FLOATS_GO_ON);
    for (int64_t p = 0; p < depth; p++, a += along, b += ld) {
      if (apart) b = (const REAL *)t->b + t->b_at[p];
      TABLE(step)(sum, a, across, b, ahead, copy, rows, vectors, some, copies, copies && !apart,
                  mask);
      copy += copies ? vectors * LANES : 0;
    }
    const bool add = how == NXI_FLOATS_ADD;
    UNROLL
    for (int i = 0; i < rows; i++) UNROLL
    for (int j = 0; j < vectors; j++)
      TABLE(end)(c + i * c_ld + j * LANES, sum[i][j], some && j == vectors - 1, mask, add);
  }
}

#define KERNEL(rows, vectors)                                                             \
  static void TABLE(block_##rows##_##vectors)(const nxi_floats_block *t) {                \
    if (t->b_at && t->last == LANES) TABLE(blocks)(t, rows, vectors, false, true, false); \
    else if (t->b_at) TABLE(blocks)(t, rows, vectors, true, true, false);                 \
    else if (t->last == LANES) TABLE(blocks)(t, rows, vectors, false, false, false);      \
    else TABLE(blocks)(t, rows, vectors, true, false, false);                             \
  }
#define KERNELS(rows) KERNEL(rows, 1) KERNEL(rows, 2) KERNEL(rows, 3)
/* The first of many blocks, which copies B for the others. */
#define FIRST(vectors)                                                                   \
  static void TABLE(first_##vectors)(const nxi_floats_block *t) {                        \
    if (t->b_at && t->last == LANES) TABLE(blocks)(t, ROWS, vectors, false, true, true); \
    else if (t->b_at) TABLE(blocks)(t, ROWS, vectors, true, true, true);                 \
    else if (t->last == LANES) TABLE(blocks)(t, ROWS, vectors, false, false, true);      \
    else TABLE(blocks)(t, ROWS, vectors, true, false, true);                             \
  }
FIRST(1)
FIRST(2)
FIRST(3)
#undef FIRST
KERNELS(1)
KERNELS(2)
KERNELS(3)
KERNELS(4)
#if ROWS == 8
KERNELS(6)
KERNELS(8)
#define WIDE(rows)                                                        \
  static void TABLE(block_##rows##_4)(const nxi_floats_block *t) {        \
    if (t->last == LANES) TABLE(blocks)(t, rows, 4, false, false, false); \
    else TABLE(blocks)(t, rows, 4, true, false, false);                   \
  }
WIDE(1)
WIDE(2)
WIDE(3)
WIDE(4)
WIDE(6)
#undef WIDE
#endif
#undef KERNEL
#undef KERNELS

static void TABLE(transpose)(const void *from, int64_t ld, int64_t width, int64_t depth, void *to) {
  const REAL *x = from;
  REAL *y = to;
  const int64_t deep = depth - depth % TILE;
  for (int64_t j = 0, n; j < width; j += n) { /* two squares beside each other fill a cache line */
    n = width - j >= 2 * TILE ? 2 * TILE : width - j >= TILE ? TILE : 1;
    const int64_t end = n >= TILE ? deep : 0;
    for (int64_t p = 0; p < end; p += TILE)
      for (int64_t i = j; i < j + n; i += TILE)
        TRANSPOSE(x + i * ld + p, ld, y + p * width + i, width);
    for (int64_t p = end; p < depth; p++)
      for (int64_t i = j; i < j + n; i++) y[p * width + i] = x[i * ld + p];
  }
}

static NXI_INLINE void TABLE(zeros)(REAL *to, int64_t n) {
  for (; n >= LANES; n -= LANES, to += LANES) STORE(to, ZERO);
  if (n > 0) STORE_SOME(to, MASK_OF(n), ZERO);
}

/* n numbers that are beside each other. */
static NXI_INLINE void TABLE(line)(const REAL *from, int64_t n, REAL *to) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) STORE(to + i, LOAD(from + i));
  if (i == n) return;
  const MASK mask = MASK_OF(n - i);
  STORE_SOME(to + i, mask, LOAD_SOME(from + i, mask));
}

static void TABLE(lines)(const nxi_floats_lines *l) {
  const int64_t some = l->end - l->begin, step = l->step,
                bytes = l->ahead ? some * step * (int)sizeof(REAL) : 0;
  const REAL *from = (const REAL *)l->from + l->begin * step;
  REAL *to = l->to;
  for (int64_t i = 0; i < l->count; i++, from += l->from_next, to += l->n) {
    REAL *at = to + l->begin;
    const char *next = (const char *)from + l->ahead;
    for (int64_t j = 0; j < bytes; j += 64) __builtin_prefetch(next + j);
    TABLE(zeros)(to, l->begin);
    if (step == 1) TABLE(line)(from, some, at);
    else
      for (int64_t j = PICK(from, step, some, at); j < some; j++) at[j] = from[j * step];
    TABLE(zeros)(to + l->end, l->n - l->end);
  }
}

static void TABLE(pieces)(const nxi_floats_pieces *p) {
  const bool add = p->add;
  for (int64_t k = 0; k < p->count; k++) {
    const REAL *sums = (const REAL *)p->sums + p->piece[k].from;
    REAL *c = (REAL *)p->c + p->piece[k].to;
    const int64_t n = p->piece[k].n, whole = n / LANES * LANES;
    const MASK mask = MASK_OF(n - whole);
    for (int64_t i = 0; i < p->rows; i++, sums += p->ld, c += p->c_ld) {
      for (int64_t j = 0; j < whole; j += LANES)
        TABLE(end)(c + j, LOAD(sums + j), false, mask, add);
      if (whole < n) TABLE(end)(c + whole, LOAD_SOME(sums + whole, mask), true, mask, add);
    }
  }
}

#if !defined(PRODUCTS_ALONE)
/* `rows` and `forward` are constants here if there are the most rows of a block. */
static NXI_INLINE void TABLE(triangle_rows)(const nxi_floats_triangle_block *t, const int rows,
                                            const bool forward) {
  const REAL *a = t->a, *by = t->by;
  const int64_t across = t->across, along = t->along;
  for (int64_t j = 0; j < t->columns; j += LANES) {
    const bool some = t->columns - j < LANES;
    const MASK mask = MASK_OF(some ? t->columns - j : LANES);
    VECTOR x[ROWS];
    UNROLL
    for (int step = 0; step < rows; step++) {
      const int i = forward ? step : rows - 1 - step;
      REAL *c = (REAL *)t->c + i * t->c_ld + j;
      VECTOR v = some ? LOAD_SOME(c, mask) : LOAD(c);
      UNROLL
      for (int known = 0; known < step; known++) {
        const int k = forward ? known : rows - 1 - known;
        v = FMA(SPREAD(a[i * across + k * along]), x[k], v);
      }
      x[i] = t->divides >> i & 1 ? DIV(v, SPREAD(by[i])) : MUL(v, SPREAD(by[i]));
      if (some) STORE_SOME(c, mask, x[i]);
      else STORE(c, x[i]);
    }
  }
}

static void TABLE(triangle)(const nxi_floats_triangle_block *t) {
  if (t->rows == ROWS && t->forward) TABLE(triangle_rows)(t, ROWS, true);
  else if (t->rows == ROWS) TABLE(triangle_rows)(t, ROWS, false);
  else TABLE(triangle_rows)(t, (int)t->rows, t->forward);
}

static void TABLE(negate)(int64_t rows, int64_t columns, const void *from, int64_t from_ld,
                          void *to, int64_t to_ld) {
  const int64_t rest = columns % LANES, whole = columns - rest;
  const MASK mask = MASK_OF(rest ? rest : LANES);
  const REAL *x = from;
  REAL *y = to;
  for (int64_t i = 0; i < rows; i++, x += from_ld, y += to_ld) {
    for (int64_t j = 0; j < whole; j += LANES) STORE(y + j, -LOAD(x + j));
    if (rest) STORE_SOME(y + whole, mask, -LOAD_SOME(x + whole, mask));
  }
}

/* The column of the largest magnitude of a row, or of a NaN if all others are 0. */
static int64_t TABLE(largest)(const REAL *a, int64_t n) {
  VECTOR best = ZERO;
  REAL lanes[LANES], most = 0;
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) best = MAX(ABS(LOAD(a + i)), best);
  if (i < n) best = MAX(ABS(LOAD_SOME(a + i, MASK_OF(n - i))), best);
  STORE(lanes, best);
  for (int j = 0; j < LANES; j++) most = lanes[j] > most ? lanes[j] : most;
  for (i = 0; i < n; i++)
    if (most == 0 ? a[i] != a[i] : a[i] == most || a[i] == -most) return i;
  return 0;
}

/* y += factor x, over n columns; or y = x factor, or x / factor. */
typedef enum TABLE(row_step) {
  TABLE(row_add),
  TABLE(row_multiply),
  TABLE(row_divide)
} TABLE(row_step);

static NXI_INLINE VECTOR TABLE(stepped)(const TABLE(row_step) step, VECTOR factor, VECTOR x,
                                        VECTOR y) {
  if (step == TABLE(row_add)) return FMA(factor, x, y);
  return step == TABLE(row_multiply) ? MUL(x, factor) : DIV(x, factor);
}

static NXI_INLINE void TABLE(step_row)(const TABLE(row_step) step, REAL factor, const REAL *x,
                                       int64_t n, REAL *y) {
  const VECTOR by = SPREAD(factor);
  int64_t j = 0;
  for (; j + LANES <= n; j += LANES)
    STORE(y + j, TABLE(stepped)(step, by, LOAD(x + j), LOAD(y + j)));
  if (j == n) return;
  const MASK mask = MASK_OF(n - j);
  STORE_SOME(y + j, mask, TABLE(stepped)(step, by, LOAD_SOME(x + j, mask), LOAD_SOME(y + j, mask)));
}

static void TABLE(exchange)(const nxi_floats_elimination *e, int64_t k, int64_t pivot) {
  for (int64_t i = 0; i < e->rows && pivot != k; i++) {
    REAL *a = (REAL *)e->a + i * e->ld, x = a[k];
    a[k] = a[pivot];
    a[pivot] = x;
  }
}

static void TABLE(eliminate)(const nxi_floats_elimination *e) {
  for (int64_t k = 0; k < e->rows; k++) {
    REAL *row = (REAL *)e->a + k * e->ld, *u = row + k + 1;
    const int64_t pivot = k + TABLE(largest)(row + k, e->columns - k), n = e->columns - k - 1;
    e->pivots[k] = (int32_t)pivot;
    TABLE(exchange)(e, k, pivot);
    const REAL top = row[k], by = 1 / top;
    if (top == 0) continue;
    if (isnormal(by)) TABLE(step_row)(TABLE(row_multiply), by, u, n, u);
    else TABLE(step_row)(TABLE(row_divide), top, u, n, u);
    for (int64_t i = k + 1; i < e->rows; i++) {
      REAL *below = (REAL *)e->a + i * e->ld + k;
      TABLE(step_row)(TABLE(row_add), -below[0], u, n, below + 1);
    }
  }
}

/* Columns first .. first + n - 1 of both products; n is a constant here. */
static NXI_INLINE void TABLE(both_columns)(const nxi_floats_both *b, int64_t first, const int n) {
  const REAL *a = (const REAL *)b->a + first * b->ld, *x = b->above_x;
  REAL *y = b->above, *sums = (REAL *)b->beside + first, lanes[LANES];
  VECTOR factor[4], sum[4];
  UNROLL
  for (int j = 0; j < n; j++) {
    factor[j] = SPREAD(((const REAL *)b->beside_x)[first + j]);
    sum[j] = ZERO;
  }
  for (int64_t i = 0; i < b->rows; i += LANES) {
    const VECTOR xi = LOAD(x + i);
    VECTOR yi = LOAD(y + i);
    UNROLL
    for (int j = 0; j < n; j++) {
      const VECTOR v = LOAD(a + j * b->ld + i);
      yi = FMA(v, factor[j], yi);
      sum[j] = FMA(v, xi, sum[j]);
    }
    STORE(y + i, yi);
  }
  for (int j = 0; j < n; j++) {
    STORE(lanes, sum[j]);
    for (int k = 0; k < LANES; k++) sums[j] += lanes[k];
  }
}

static void TABLE(both)(const nxi_floats_both *b) {
  int64_t j = 0;
  for (; j + 4 <= b->columns; j += 4) TABLE(both_columns)(b, j, 4);
  for (; j < b->columns; j++) TABLE(both_columns)(b, j, 1);
}

static NXI_INLINE REAL TABLE(fma)(REAL a, REAL b, REAL sum) {
  return _Generic(a, float: fmaf, default: fma)(a, b, sum);
}

static int32_t TABLE(root)(const nxi_floats_root *r) {
  REAL *a = r->a, by[NXI_FLOATS_ROOTED];
  for (int64_t i = 0; i < r->rows; i++)
    for (int64_t j = 0; j <= i; j++) {
      REAL x = a[i * r->ld + j];
      for (int64_t k = 0; k < j; k++) x = TABLE(fma)(-a[i * r->ld + k], a[j * r->ld + k], x);
      if (j < i) {
        a[i * r->ld + j] = x * by[j];
        continue;
      }
      if (!(x > 0)) return (int32_t)i + 1;
      x = _Generic(x, float: sqrtf, default: sqrt)(x);
      a[i * r->ld + i] = x;
      by[i] = 1 / x;
    }
  return 0;
}

#include "reflect.h"
#include "spectral.h"
#include "unsymmetric.h"
#endif

#define NARROW(rows) TABLE(block_##rows##_1), TABLE(block_##rows##_2), TABLE(block_##rows##_3)
#if ROWS == 8
#define ROW(rows) {NARROW(rows), TABLE(block_##rows##_4)}
#else
#define ROW(rows) {NARROW(rows), NULL}
#endif
const nxi_floats_kernels TABLE(nxi_floats) = {
    ROWS,
    LANES,
    sizeof(REAL),
    ROWS == 8 ? NXI_FLOATS_WIDE : NXI_FLOATS_VECTORS,
    {
        {1, ROW(1)},
        {2, ROW(2)},
        {3, ROW(3)},
        {4, ROW(4)},
#if ROWS == 8
        {6, ROW(6)},
        {8, {NARROW(8), NULL}},
#endif
    },
    {TABLE(first_1), TABLE(first_2), TABLE(first_3)},
    TABLE(transpose),
    TABLE(lines),
    TABLE(pieces),
#if !defined(PRODUCTS_ALONE)
    TABLE(triangle),
    TABLE(negate),
    TABLE(eliminate),
    TABLE(both),
    TABLE(root),
    TABLE(tridiagonal),
    TABLE(reflected),
    TABLE(triangular),
    TABLE(orthogonal),
    TABLE(turn),
    TABLE(pass),
    TABLE(secular),
    TABLE(hessenberg),
    TABLE(reflect_columns),
    TABLE(reflect_rows),
#else
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
#endif
};
#undef ROW
#undef NARROW

#undef TABLE
#undef REAL
#undef ROWS
#undef VECTOR
#undef LANES
#undef MASK
#undef MASK_OF
#undef LOAD
#undef STORE
#undef LOAD_SOME
#undef STORE_SOME
#undef ZERO
#undef SPREAD
#undef ADD
#undef MUL
#undef DIV
#undef ROOT
#undef SIGNED
#undef MAX
#undef ABS
#undef FMA
#undef TILE
#undef TRANSPOSE
#undef PICK
#undef PRODUCTS_ALONE
