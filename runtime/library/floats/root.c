/* SPDX-License-Identifier: ISC */
/* Cholesky factors of f32 or f64. Some rows of L at a time are a triangular system with those
 * before them, and their own triangle is what is left of the matrix after a product. */
#include "root.h"

#include <string.h>

enum { GROUP = 24 }; /* rows that are brought up to date together */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t nxi_floats_root_bytes(int64_t n) {
  return (n * GROUP + GROUP * GROUP) * (int64_t)sizeof(double);
}

/* to[j][i] = from[i][j] */
static void transpose(int32_t size, int64_t rows, int64_t columns, const char *from, char *to,
                      int64_t to_ld) {
  for (int64_t j = 0; j < columns; j++)
    for (int64_t i = 0; i < rows; i++) {
      const int64_t x = i * columns + j, y = j * to_ld + i;
      if (size == (int32_t)sizeof(float))
        ((float *)(void *)to)[y] = ((const float *)(const void *)from)[x];
      else ((double *)(void *)to)[y] = ((const double *)(const void *)from)[x];
    }
}

/* Of `count` rows, up to GROUP: their part of L, which is left transposed in `part`, too. */
static void solve_group(const nxi_floats_kernels *f, int64_t n, const void *l, int64_t ld,
                        int64_t count, void *below, char *part) {
  const nxi_floats_system s = {
      .n = n, .columns = count, .a = l, .a_ld = ld, .lower = true, .x = part, .x_ld = count};
  f->transpose(below, ld, count, n, part);
  nxi_floats_solve(f, &s, NULL);
  transpose(f->size, n, count, part, below, ld);
}

/* Subtracts part^T part, of n rows, from the rows' own square: adds it to the negated one. */
static void subtract(const nxi_floats_kernels *f, int64_t n, int64_t count, const char *part,
                     char *square, int64_t ld, char *room) {
  const int64_t size = f->size, width = nxi_floats_strip_width(f, count);
  f->negate(count, count, square, ld, room, count);
  for (int64_t j = 0; j < count; j += width) {
    const int64_t wide = least(width, count - j), vectors = (wide + f->lanes - 1) / f->lanes;
    nxi_floats_block block = {.depth = n,
                              .across = 1,
                              .along = count,
                              .b = part + j * size,
                              .b_ld = count,
                              .c_ld = count,
                              .last = wide - (vectors - 1) * f->lanes,
                              .end = NXI_FLOATS_GO_ON};
    for (int64_t i = 0; i < count;) {
      const nxi_floats_class *class = nxi_floats_class_of(f, count - i);
      block.a = part + i * size;
      block.c = room + (i * count + j) * size;
      class->multiply[vectors - 1](&block);
      i += class->rows;
    }
  }
  f->negate(count, count, room, count, square, ld);
}

/* In groups of up to `most` rows, and those in blocks of the kernel's. */
static int64_t find(const nxi_floats_kernels *f, int64_t n, char *a, int64_t ld, int64_t most,
                    char *room) {
  for (int64_t first = 0, info = 0; first < n; first += most) {
    const int64_t count = least(most, n - first);
    char *rows = a + first * ld * f->size, *square = rows + first * f->size;
    const nxi_floats_root own = {count, square, ld};
    if (first > 0) {
      solve_group(f, first, a, ld, count, rows, room);
      subtract(f, first, count, room, square, ld, room + first * count * f->size);
    }
    info = most > NXI_FLOATS_ROOTED ? find(f, count, square, ld, NXI_FLOATS_ROOTED, room)
                                    : f->root(&own);
    if (info) return first + info;
  }
  return 0;
}

int64_t nxi_floats_find_root(const nxi_floats_kernels *f, int64_t n, void *a, int64_t ld,
                             void *room) {
  return find(f, n, a, ld, GROUP, room);
}

void nxi_floats_root_below(const nxi_floats_kernels *f, int64_t n, const void *l, int64_t ld,
                           int64_t count, void *below, void *room) {
  for (int64_t i = 0; i < count; i += GROUP)
    solve_group(f, n, l, ld, least(GROUP, count - i), (char *)below + i * ld * f->size, room);
}
