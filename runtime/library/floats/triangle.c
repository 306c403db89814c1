/* SPDX-License-Identifier: ISC */
/* One triangular system of f32 or f64. Strips of the right side, a few vectors wide, are copied,
 * and blocks of some rows are solved one after the other. The copy has known rows of x with negated
 * elements, so that the loops of products, which add, subtract. */
#include "triangle.h"

#include <math.h>
#include <string.h>

#include "ir/alloc.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* What rows are multiplied by, and whether they are divided instead; of all rows. */
typedef struct diagonal {
  _Alignas(64) char by[NXI_FLOATS_TRIANGLE * sizeof(double)];
  bool divides[NXI_FLOATS_TRIANGLE];
} diagonal;

static void read_diagonal(const nxi_floats_kernels *f, const nxi_floats_system *s, diagonal *d) {
  float *narrow = (void *)d->by;
  double *wide = (void *)d->by;
  for (int64_t i = 0; i < s->n; i++) {
    const int64_t at = i * (s->a_ld + 1);
    if (f->size == (int32_t)sizeof(float)) {
      const float x = s->unit ? 1 : ((const float *)s->a)[at], y = 1 / x;
      d->divides[i] = !isnormal(y);
      narrow[i] = d->divides[i] ? -x : -y;
    } else {
      const double x = s->unit ? 1 : ((const double *)s->a)[at], y = 1 / x;
      d->divides[i] = !isnormal(y);
      wide[i] = d->divides[i] ? -x : -y;
    }
  }
}

/* to = -from, also in place. */
static void negate(const nxi_floats_kernels *f, int64_t rows, int64_t columns, const char *from,
                   int64_t from_ld, char *to, int64_t to_ld) {
  for (int64_t i = 0; i < rows; i++) {
    const char *x = from + i * from_ld * f->size;
    char *y = to + i * to_ld * f->size;
    if (f->size == (int32_t)sizeof(float))
      for (int64_t j = 0; j < columns; j++)
        ((float *)(void *)y)[j] = -((const float *)(const void *)x)[j];
    else
      for (int64_t j = 0; j < columns; j++)
        ((double *)(void *)y)[j] = -((const double *)(const void *)x)[j];
  }
}

/* Rows first .. first + rows - 1 of a strip, of which those before are known, or those behind,
 * which are added from the last one on: in the order in which they became known. */
static void solve_rows(const nxi_floats_kernels *f, const nxi_floats_system *s, const diagonal *d,
                       const nxi_floats_class *class, int64_t first, char *strip, int64_t ld,
                       int64_t width) {
  const int64_t size = f->size, rows = class->rows, across = s->a_transposed ? 1 : s->a_ld,
                along = s->a_transposed ? s->a_ld : 1, vectors = (width + f->lanes - 1) / f->lanes,
                depth = s->lower ? first : s->n - first - rows, known = s->lower ? 0 : s->n - 1,
                step = s->lower ? 1 : -1;
  const char *a = (const char *)s->a + first * across * size;
  nxi_floats_block block = {.depth = depth,
                            .a = a + known * along * size,
                            .across = across,
                            .along = step * along,
                            .b = strip + known * ld * size,
                            .b_ld = step * ld,
                            .c = strip + first * ld * size,
                            .c_ld = ld,
                            .last = width - (vectors - 1) * f->lanes,
                            .end = NXI_FLOATS_GO_ON};
  nxi_floats_triangle_block triangle = {.rows = rows,
                                        .forward = s->lower,
                                        .a = a + first * along * size,
                                        .across = across,
                                        .along = along,
                                        .by = d->by + first * size,
                                        .c = block.c,
                                        .c_ld = ld,
                                        .columns = width};
  for (int64_t i = 0; i < rows; i++) triangle.divides |= (uint32_t)d->divides[first + i] << i;
  if (depth > 0) class->multiply[vectors - 1](&block);
  f->triangle(&triangle);
}

static void solve_strip(const nxi_floats_kernels *f, const nxi_floats_system *s, const diagonal *d,
                        char *strip, int64_t ld, int64_t width) {
  for (int64_t done = 0; done < s->n;) {
    const nxi_floats_class *class = nxi_floats_class_of(f, s->n - done);
    solve_rows(f, s, d, class, s->lower ? done : s->n - done - class->rows, strip, ld, width);
    done += class->rows;
  }
}

void nxi_floats_solve(const nxi_floats_kernels *f, const nxi_floats_system *s) {
  diagonal d;
  if (s->n <= 0 || s->columns <= 0) return;
  const int64_t width = nxi_floats_strip_width(f, s->columns), size = f->size;
  memset(d.divides, 0, (size_t)s->n);
  char *room = nxi_malloc((size_t)(s->n * width * size)); /* or in place */
  read_diagonal(f, s, &d);
  for (int64_t j = 0; j < s->columns; j += width) {
    const int64_t wide = least(width, s->columns - j);
    char *x = (char *)s->x + j * size, *strip = room ? room : x;
    const int64_t ld = room ? wide : s->x_ld;
    for (int64_t i = 0; room && i < s->n; i++)
      memcpy(strip + i * ld * size, x + i * s->x_ld * size, (size_t)(wide * size));
    solve_strip(f, s, &d, strip, ld, wide);
    negate(f, s->n, wide, strip, ld, x, s->x_ld);
  }
  nxi_free(room);
}
