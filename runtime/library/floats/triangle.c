/* SPDX-License-Identifier: ISC */
/* One triangular system of f32 or f64. Strips of the right side, a few vectors wide, are copied,
 * and blocks of some rows are solved one after the other. The copy has known rows of x with negated
 * elements, so that the loops of products, which add, subtract. Of a long system, whose triangle no
 * cache holds, some rows are solved in all strips before the next ones, and what is known is
 * subtracted from them in pieces. */
#include "triangle.h"

#include <math.h>
#include <string.h>

#include "ir/alloc.h"

enum {
  SOME = 64,   /* rows of a long system that are solved in all strips */
  PIECE = 512, /* known rows that are subtracted from them at once */
  PACKED = SOME * PIECE * (int)sizeof(double), /* bytes of a piece of a transposed triangle */
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* What rows are multiplied by, and whether they are divided instead; of rows first .. */
typedef struct diagonal {
  _Alignas(64) char by[NXI_FLOATS_TRIANGLE * sizeof(double)];
  bool divides[NXI_FLOATS_TRIANGLE];
  int64_t first;
} diagonal;

static void read_diagonal(const nxi_floats_kernels *f, const nxi_floats_system *s, int64_t first,
                          int64_t rows, diagonal *d) {
  float *narrow = (void *)d->by;
  double *wide = (void *)d->by;
  d->first = first;
  for (int64_t i = 0; i < rows; i++) {
    const int64_t at = (first + i) * (s->a_ld + 1);
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

/* Columns of x that are solved together, in strips. */
typedef struct group {
  char *x;
  int64_t columns, width; /* the last strip may have fewer */
  char *room;             /* for a copy of each strip, rows without gaps; NULL: x itself */
  int64_t rows, skip;     /* of a strip, and those of them that are before a system's first one */
} group;

typedef struct strip {
  char *at;
  int64_t width, ld;
} strip;

static strip strip_of(const nxi_floats_kernels *f, const nxi_floats_system *s, const group *g,
                      int64_t column) {
  const int64_t width = least(g->width, g->columns - column);
  if (!g->room) return (strip){g->x + (g->skip * s->x_ld + column) * f->size, width, s->x_ld};
  return (strip){g->room + (column * g->rows + g->skip * width) * f->size, width, width};
}

/* Elements of the triangle: those of some rows, of columns begin .. end - 1. */
typedef struct piece {
  const char *a;
  int64_t across, along, begin, end;
} piece;

static piece piece_of(const nxi_floats_kernels *f, const nxi_floats_system *s, int64_t row,
                      int64_t begin, int64_t end) {
  const int64_t across = s->a_transposed ? 1 : s->a_ld, along = s->a_transposed ? s->a_ld : 1;
  return (piece){(const char *)s->a + (row * across + begin * along) * f->size, across, along,
                 begin, end};
}

/* Goes on with the chains of the rows of a block, over the known rows of a piece in the order in
 * which they became known. */
static void subtract(const nxi_floats_kernels *f, bool forward, const nxi_floats_class *class,
                     const piece *p, int64_t first, const strip *t) {
  const int64_t size = f->size, depth = p->end - p->begin, known = forward ? 0 : depth - 1,
                step = forward ? 1 : -1, vectors = (t->width + f->lanes - 1) / f->lanes;
  const nxi_floats_block block = {.depth = depth,
                                  .a = p->a + known * p->along * size,
                                  .across = p->across,
                                  .along = step * p->along,
                                  .b = t->at + (p->begin + known) * t->ld * size,
                                  .b_ld = step * t->ld,
                                  .c = t->at + first * t->ld * size,
                                  .c_ld = t->ld,
                                  .last = t->width - (vectors - 1) * f->lanes,
                                  .end = NXI_FLOATS_GO_ON};
  if (depth > 0) class->multiply[vectors - 1](&block);
}

/* Rows row .. row + rows - 1 of a strip; other known rows are subtracted already. */
static void solve_rows(const nxi_floats_kernels *f, const nxi_floats_system *s, const diagonal *d,
                       int64_t row, int64_t rows, const strip *t) {
  const nxi_floats_class *class;
  for (int64_t done = 0; done < rows; done += class->rows) {
    class = nxi_floats_class_of(f, rows - done);
    const int64_t count = class->rows, first = s->lower ? row + done : row + rows - done - count;
    const piece known = piece_of(f, s, first, s->lower ? row : first + count,
                                 s->lower ? first : row + rows),
                own = piece_of(f, s, first, first, first + count);
    nxi_floats_triangle_block triangle = {.rows = count,
                                          .forward = s->lower,
                                          .a = own.a,
                                          .across = own.across,
                                          .along = own.along,
                                          .by = d->by + (first - d->first) * f->size,
                                          .c = t->at + first * t->ld * f->size,
                                          .c_ld = t->ld,
                                          .columns = t->width};
    for (int64_t i = 0; i < count; i++)
      triangle.divides |= (uint32_t)d->divides[first - d->first + i] << i;
    subtract(f, s->lower, class, &known, first, t);
    f->triangle(&triangle);
  }
}

/* Subtracts known rows begin .. end - 1 from some rows of all strips. packed: memory for a piece of
 * a transposed triangle, of which each column is on pages of its own; or NULL. */
static void subtract_piece(const nxi_floats_kernels *f, const nxi_floats_system *s, const group *g,
                           int64_t row, int64_t rows, int64_t begin, int64_t end, char *packed) {
  const nxi_floats_product copied = {
      .k = end - begin, .a = piece_of(f, s, 0, begin, end).a, .a_ld = s->a_ld};
  if (packed) nxi_floats_copy_rows(f, &copied, row, rows, packed);
  for (int64_t column = 0; column < g->columns; column += g->width) {
    const strip t = strip_of(f, s, g, column);
    for (int64_t i = 0; i < rows;) {
      const nxi_floats_class *class = nxi_floats_class_of(f, rows - i);
      piece p = piece_of(f, s, row + i, begin, end);
      if (packed) p.a = packed + i * (end - begin) * f->size, p.across = 1, p.along = class->rows;
      subtract(f, s->lower, class, &p, row + i, &t);
      i += class->rows;
    }
  }
}

/* Rows row .. row + rows - 1 of all strips. */
static void solve_block(const nxi_floats_kernels *f, const nxi_floats_system *s, const group *g,
                        int64_t row, int64_t rows, char *packed) {
  diagonal d;
  const int64_t known = s->lower ? row : s->n - row - rows;
  for (int64_t done = 0, count; done < known; done += count) {
    count = least(PIECE, known - done);
    const int64_t begin = s->lower ? done : s->n - done - count;
    subtract_piece(f, s, g, row, rows, begin, begin + count, packed);
  }
  read_diagonal(f, s, row, rows, &d);
  for (int64_t column = 0; column < g->columns; column += g->width) {
    const strip t = strip_of(f, s, g, column);
    solve_rows(f, s, &d, row, rows, &t);
  }
}

/* The place of x in memory. */
static char *rows_of(const nxi_floats_kernels *f, const nxi_floats_system *s, const group *g,
                     int64_t column) {
  return g->x + (g->skip * s->x_ld + column) * f->size;
}

/* A strip of the unit matrix, of which column 0 of the strip has its 1 in row `one`. */
static void fill_unit(const nxi_floats_kernels *f, int64_t rows, int64_t one, const strip *t) {
  for (int64_t i = 0; i < rows; i++)
    memset(t->at + i * t->ld * f->size, 0, (size_t)(t->width * f->size));
  for (int64_t j = 0; j < t->width; j++) {
    char *at = t->at + ((one + j) * t->ld + j) * f->size;
    if (f->size == (int32_t)sizeof(float)) *(float *)(void *)at = 1;
    else *(double *)(void *)at = 1;
  }
}

/* Brings the right sides to strips. first: of the system, the first column of the group. */
static void take(const nxi_floats_kernels *f, const nxi_floats_system *s, const group *g,
                 int64_t first) {
  for (int64_t column = 0; column < g->columns; column += g->width) {
    const strip t = strip_of(f, s, g, column);
    const char *from =
        s->b ? (const char *)s->b + (first + column) * f->size : rows_of(f, s, g, column);
    const int64_t pitch = (s->b ? s->b_ld : s->x_ld) * f->size;
    if (s->of_unit) fill_unit(f, s->n, s->one + first + column, &t);
    else if (from != t.at)
      for (int64_t i = 0; i < s->n; i++)
        memcpy(t.at + i * t.ld * f->size, from + i * pitch, (size_t)(t.width * f->size));
  }
}

static bool solve_group(const nxi_floats_kernels *f, const nxi_floats_system *s, const group *g,
                        char *packed) {
  const int64_t most = s->n <= NXI_FLOATS_TRIANGLE ? s->n : SOME;
  for (int64_t done = 0; done < s->n; done += most) {
    const int64_t rows = least(most, s->n - done);
    if (done > 0 && s->stopped && s->stopped(s->user)) return false;
    solve_block(f, s, g, s->lower ? done : s->n - done - rows, rows, packed);
  }
  return true;
}

/* Negates what was solved: in strips, which are the right sides of another system then, or back to
 * x. */
static void give(const nxi_floats_kernels *f, const nxi_floats_system *s, const group *g,
                 bool stays) {
  for (int64_t column = 0; column < g->columns; column += g->width) {
    const strip t = strip_of(f, s, g, column);
    if (stays) f->negate(s->n, t.width, t.at, t.ld, t.at, t.ld);
    else f->negate(s->n, t.width, t.at, t.ld, rows_of(f, s, g, column), s->x_ld);
  }
}

bool nxi_floats_solve_both(const nxi_floats_kernels *f, const nxi_floats_system *before,
                           const nxi_floats_system *s, void *room) {
  if (s->n <= 0 || s->columns <= 0) return true;
  const int64_t width = nxi_floats_strip_width(f, s->columns), size = f->size,
                bytes = s->n * width * size, strips = (NXI_FLOATS_ROOM - PACKED) / bytes;
  const bool is_long = s->n > NXI_FLOATS_TRIANGLE, is_strip = s->x_ld == width;
  char *own = is_strip || (room && strips > 0) ? NULL : nxi_malloc((size_t)bytes), /* or in place */
      *packed = room && is_long ? (char *)room + NXI_FLOATS_ROOM - PACKED : NULL;
  const int64_t some = own || !is_long ? width : room && strips > 0 ? strips * width : s->columns;
  bool goes_on = true;
  for (int64_t j = 0; goes_on && j < s->columns; j += some) {
    group g = {.x = (char *)s->x + j * size,
               .columns = least(some, s->columns - j),
               .width = width,
               .room = own                       ? own
                       : is_strip || strips == 0 ? NULL
                                                 : room,
               .rows = s->n};
    take(f, s, &g, j);
    if (before) {
      g.skip = s->n - before->n;
      goes_on = solve_group(f, before, &g, before->a_transposed ? packed : NULL);
      give(f, before, &g, true);
      g.skip = 0;
    }
    goes_on = goes_on && solve_group(f, s, &g, s->a_transposed ? packed : NULL);
    give(f, s, &g, false);
  }
  nxi_free(own);
  return goes_on;
}

bool nxi_floats_solve(const nxi_floats_kernels *f, const nxi_floats_system *s, void *room) {
  return nxi_floats_solve_both(f, NULL, s, room);
}
