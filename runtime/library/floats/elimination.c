/* SPDX-License-Identifier: ISC */
/* LU factors of rows of f32 or f64. Some rows at a time are brought up to date with all rows before
 * them, by the loops of triangular systems and of products, and then eliminated among
 * themselves. */
#include "elimination.h"

#include <string.h>

enum { GROUP = 24 }; /* rows that are brought up to date together */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static void exchange(const nxi_floats_kernels *f, char *row, const int32_t *pivots, int64_t first,
                     int64_t last) {
  for (int64_t k = first; k < last; k++) {
    char x[sizeof(double)], *a = row + k * f->size, *b = row + (int64_t)pivots[k] * f->size;
    if (a == b) continue;
    if (f->size == (int32_t)sizeof x) {
      memcpy(x, a, sizeof x);
      memcpy(a, b, sizeof x);
      memcpy(b, x, sizeof x);
    } else {
      memcpy(x, a, sizeof(float));
      memcpy(a, b, sizeof(float));
      memcpy(b, x, sizeof(float));
    }
  }
}

/* C -= L U over the rows of r: l has -L, transposed. */
static void subtract(const nxi_floats_kernels *f, const nxi_floats_rows *r, int64_t count,
                     const char *l, char *c) {
  const int64_t size = f->size, columns = r->columns - r->rows,
                width = columns > 0 ? nxi_floats_strip_width(f, columns) : 1;
  for (int64_t j = 0; j < columns; j += width) {
    const int64_t wide = least(width, columns - j), vectors = (wide + f->lanes - 1) / f->lanes;
    nxi_floats_block block = {.depth = r->rows,
                              .across = 1,
                              .along = count,
                              .b = (const char *)r->a + (r->rows + j) * size,
                              .b_ld = r->ld,
                              .c_ld = r->ld,
                              .last = wide - (vectors - 1) * f->lanes,
                              .end = NXI_FLOATS_GO_ON};
    for (int64_t i = 0; i < count;) {
      const nxi_floats_class *class = nxi_floats_class_of(f, count - i);
      block.a = l + i * size;
      block.c = c + (i * r->ld + r->rows + j) * size;
      class->multiply[vectors - 1](&block);
      i += class->rows;
    }
  }
}

/* l: the rows' part of L, transposed. It is written to the rows, and negated. */
static void store(const nxi_floats_kernels *f, int64_t rows, int64_t count, char *l, char *to,
                  int64_t ld) {
  for (int64_t i = 0; i < count; i++)
    for (int64_t k = 0; k < rows; k++) {
      if (f->size == (int32_t)sizeof(float)) {
        float *x = (float *)(void *)l + k * count + i;
        ((float *)(void *)to)[i * ld + k] = *x;
        *x = -*x;
      } else {
        double *x = (double *)(void *)l + k * count + i;
        ((double *)(void *)to)[i * ld + k] = *x;
        *x = -*x;
      }
    }
}

static void reduce_group(const nxi_floats_kernels *f, const nxi_floats_rows *r, int64_t count,
                         char *below) {
  _Alignas(64) char l[NXI_FLOATS_FACTORED * GROUP * sizeof(double)];
  /* L U = what the rows have, and so U^T L^T */
  const nxi_floats_system s = {.n = r->rows,
                               .columns = count,
                               .a = r->a,
                               .a_ld = r->ld,
                               .lower = true,
                               .a_transposed = true,
                               .unit = true,
                               .x = l,
                               .x_ld = count};
  f->transpose(below, r->ld, count, r->rows, l);
  nxi_floats_solve(f, &s, NULL);
  store(f, r->rows, count, l, below, r->ld);
  subtract(f, r, count, l, below);
}

void nxi_floats_reduce(const nxi_floats_kernels *f, const nxi_floats_rows *r, int64_t count,
                       void *below) {
  for (int64_t i = 0; i < count; i += GROUP)
    reduce_group(f, r, least(GROUP, count - i), (char *)below + i * r->ld * f->size);
}

void nxi_floats_factor(const nxi_floats_kernels *f, const nxi_floats_rows *r, int32_t *pivots) {
  const int64_t row = r->ld * f->size;
  char *a = r->a;
  for (int64_t first = 0; first < r->rows; first += NXI_FLOATS_ELIMINATED) {
    const int64_t count = least(NXI_FLOATS_ELIMINATED, r->rows - first);
    const nxi_floats_rows before = {first, r->columns, r->a, r->ld};
    const nxi_floats_elimination own = {.rows = count,
                                        .columns = r->columns - first,
                                        .a = a + first * row + first * f->size,
                                        .ld = r->ld,
                                        .pivots = pivots + first};
    for (int64_t i = first; i < first + count; i++) exchange(f, a + i * row, pivots, 0, first);
    if (first > 0) nxi_floats_reduce(f, &before, count, a + first * row);
    f->eliminate(&own);
    for (int64_t k = first; k < first + count; k++) pivots[k] += (int32_t)first;
    for (int64_t i = 0; i < first; i++) exchange(f, a + i * row, pivots, first, first + count);
  }
}
