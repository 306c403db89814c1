/* SPDX-License-Identifier: ISC */
/* One product of f32 or f64 on the calling thread. Strips of C, a few vectors wide, one after the
 * other; each is made in blocks of some rows. The strip of B stays in a cache meanwhile, and A
 * passes by. A is read where it lies if its rows are contiguous. B is copied, some strips at once,
 * if its columns are contiguous, or, by the first block of rows, if its own are so long that each
 * is on a page of its own. Few rows are passed by B, which is read once, as it lies. */
#include "multiply.h"

#include <math.h>
#include <string.h>

#include "ir/target.h"
#include "pairs.h"
#include "zeros.h"

enum {
  FAR = 4096,  /* bytes from one row of B to the next: on a page of its own, and copied */
  NEAR = 2048, /* on few pages with others: copied for MANY rows of A */
  MANY = 16,
  MANY_ROWS = 8, /* of a block that reads B so seldom that it does not wait for it */
  LINE = 64,
  SPREAD = 256, /* such distances that a greater power of two divides fill few sets of a cache */
  SMALL = 16 << 10,        /* the least number of bytes that any first cache is taken to hold */
  AHEAD = 8,               /* rows of B that are prefetched before they are copied */
  DEEP = 8,                /* elements of the inner extent that are copied of each row of A */
  PASSING = 128 << 10,     /* bytes of rows of A that are read for each strip in turn */
  FEW = 8,                 /* rows (columns) up to which B (A) is read once and not copied */
  STREAM = 16,             /* rows of B that pass few rows of A at once */
  RUN = 4 << 10,           /* bytes of each of them */
  STRIPS_ROOM = 640 << 10, /* bytes of the copy of B, which stays in a cache, and of that of A */
  ROWS_ROOM = NXI_FLOATS_ROOM - STRIPS_ROOM,
};

_Static_assert(PASSING / (NXI_FLOATS_ZEROS_DEPTH * 4) / 4 <= NXI_FLOATS_SPANS,
               "spans of as many blocks of four rows as pass by at once");

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

const nxi_floats_kernels *nxi_floats_kernels_for(nx_dtype type) {
#if defined(__x86_64__)
  const int32_t bytes = nxi_target_host()->vector_bytes;
  if (type != NX_F32 && type != NX_F64) return NULL;
  if (bytes == 64) return type == NX_F32 ? &nxi_floats_avx512_f32 : &nxi_floats_avx512_f64;
  if (bytes == 32) return type == NX_F32 ? &nxi_floats_avx2_f32 : &nxi_floats_avx2_f64;
#endif
  (void)type;
  return NULL;
}

/* ---- what is copied */

/* Bytes of B that are never copied if its rows are contiguous: the first cache holds them, whatever
 * their distance. */
static int64_t small(void) { return larger(SMALL, nxi_target_host()->l1_bytes / 3 * 2); }

bool nxi_floats_waits_for_b(const nxi_floats_kernels *f, int64_t rows, int64_t depth,
                            int64_t columns) {
  const int64_t width = least(NXI_FLOATS_VECTORS * f->lanes, columns);
  return f->rows < MANY_ROWS && rows >= MANY && depth * width * f->size > small();
}

/* Whether strips are read faster from a copy, although rows of B are near each other: those that
 * begin within cache lines are more of them; or B stays in no second level. */
static bool is_slow(const nxi_floats_kernels *f, const nxi_floats_product *p) {
  return (p->m >= MANY && p->k * p->n * f->size > nxi_target_host()->l2_bytes / 2) ||
         (p->b_ld * f->size % LINE != 0 && nxi_floats_waits_for_b(f, p->m, p->k, p->n));
}

static bool copies_b(const nxi_floats_kernels *f, const nxi_floats_product *p) {
  const int64_t bytes = p->b_ld * f->size;
  const bool apart = bytes >= FAR || (bytes >= NEAR && p->m >= MANY);
  return p->b_transposed || is_slow(f, p) ||
         (!p->b_is_cached && (apart || (bytes & -bytes) > SPREAD) && p->k * bytes > small());
}

/* Whether products of two numbers at once are tried. */
static bool tries_pairs(const nxi_floats_kernels *f, const nxi_floats_product *p) {
#if defined(__x86_64__)
  return nxi_floats_may_be_pairs(f, p) && nxi_floats_pairs_are_quick();
#else
  return (void)f, (void)p, false;
#endif
}

bool nxi_floats_wants_room(const nxi_floats_kernels *f, const nxi_floats_product *p) {
  return tries_pairs(f, p) || p->a_transposed || copies_b(f, p) || p->n <= FEW;
}

/* Whether nothing of these rows and columns of C counts. */
static bool is_hidden(const nxi_floats_product *p, int64_t row, int64_t rows, int64_t column,
                      int64_t columns) {
  int64_t begin, end;
  if (!p->seen) return false;
  nxi_seen_by(p->seen, row, row + rows, &begin, &end);
  return column >= end || column + columns <= begin;
}

static int64_t vectors_of(const nxi_floats_kernels *f, int64_t columns) {
  return (columns + f->lanes - 1) / f->lanes;
}

/* So many vectors, `most` of them, that those of later strips are as many, or one less: a strip of
 * one vector has too few chains for two steps in each cycle. */
static int64_t strip_width(const nxi_floats_kernels *f, int64_t columns, int64_t most) {
  const int64_t vectors = vectors_of(f, columns), strips = (vectors + most - 1) / most;
  return least(columns, (vectors + strips - 1) / strips * f->lanes);
}

int64_t nxi_floats_strip_width(const nxi_floats_kernels *f, int64_t columns) {
  return strip_width(f, columns, NXI_FLOATS_VECTORS);
}

/* Some strips, for some rows of A, of a B whose columns are contiguous: each becomes rows of as
 * many numbers as it has columns. */
static void transpose_strips(const nxi_floats_kernels *f, const nxi_floats_product *p, int64_t row,
                             int64_t rows, int64_t column, int64_t columns, char *to) {
  const char *from = (const char *)p->b + column * p->b_ld * f->size;
  for (int64_t j = 0, width; j < columns; j += width) {
    width = nxi_floats_strip_width(f, columns - j);
    if (!is_hidden(p, row, rows, column + j, width))
      f->transpose(from + j * p->b_ld * f->size, p->b_ld, width, p->k, to + j * p->k * f->size);
  }
}

const nxi_floats_class *nxi_floats_class_of(const nxi_floats_kernels *f, int64_t rows) {
  int at = 0;
  while (at + 1 < NXI_FLOATS_CLASSES && f->classes[at + 1].rows > 0 &&
         f->classes[at + 1].rows <= rows)
    at++;
  return &f->classes[at];
}

static void copy_numbers(char *to, const char *from, int64_t bytes) {
  if (bytes == 16) memcpy(to, from, 16);
  else if (bytes == 32) memcpy(to, from, 32);
  else if (bytes == 64) memcpy(to, from, 64);
  else memcpy(to, from, (size_t)bytes);
}

void nxi_floats_copy_rows(const nxi_floats_kernels *f, const nxi_floats_product *p, int64_t row,
                          int64_t rows, char *to) {
  const int64_t size = f->size, ld = p->a_ld * size;
  const char *from = (const char *)p->a + row * size;
  for (int64_t d = 0; d < p->k; d += DEEP)
    for (int64_t i = 0, n; i < rows; i += n) {
      n = nxi_floats_class_of(f, rows - i)->rows;
      for (int64_t e = d; e < least(d + DEEP, p->k); e++)
        copy_numbers(to + (i * p->k + e * n) * size, from + e * ld + i * size, n * size);
    }
}

/* ---- multiplying */

/* A strip of B, and what of C it makes. */
typedef struct strip_of {
  int64_t column, width;
  const char *at; /* its rows, ld apart */
  int64_t ld;
  char *copy; /* where the first block copies them to, as whole vectors, or NULL */
  const nxi_floats_span *spans; /* what counts of the rows of each block; NULL: all */
} strip_of;

/* One block. If steps at the ends of its chains are left out and that may matter, all are made. */
static void multiply_span(const nxi_floats_kernels *f, const nxi_floats_class *class,
                          int64_t columns, const nxi_floats_block *block,
                          const nxi_floats_span *span) {
  const nxi_floats_kernel multiply = class->multiply[vectors_of(f, columns) - 1];
  nxi_floats_block part = *block;
  part.depth = span->end - span->begin;
  part.a = (const char *)part.a + span->begin * part.along * f->size;
  part.b = (const char *)part.b + span->begin * part.b_ld * f->size;
  multiply(&part);
  if (span->end < block->depth &&
      nxi_floats_has_minus_zero(f, part.c, part.c_ld, class->rows, columns))
    multiply(block);
}

/* Rows row .. row + rows - 1 of a strip of C. rows_copy: those of A, or NULL where they lie. */
static void multiply_strip(const nxi_floats_kernels *f, const nxi_floats_product *p, int64_t row,
                           int64_t rows, const char *rows_copy, const strip_of *s) {
  const int64_t size = f->size, vectors = vectors_of(f, s->width);
  nxi_floats_block block = {.depth = p->k,
                            .b = s->at,
                            .b_ld = s->ld,
                            .c_ld = p->c_ld,
                            .last = s->width - (vectors - 1) * f->lanes,
                            .copy = s->copy,
                            .ahead = AHEAD * s->ld * size,
                            .end = p->add ? NXI_FLOATS_ADD : NXI_FLOATS_WRITE};
  for (int64_t i = 0, n; i < rows; i += n) {
    const nxi_floats_class *class = nxi_floats_class_of(
        f, vectors > NXI_FLOATS_VECTORS ? least(rows - i, NXI_FLOATS_WIDE_ROWS) : rows - i);
    n = class->rows;
    block.across = rows_copy ? 1 : p->a_transposed ? 1 : p->a_ld;
    block.along = rows_copy ? n : p->a_transposed ? p->a_ld : 1;
    block.a = rows_copy ? rows_copy + i * p->k * size
                        : (const char *)p->a + (row + i) * block.across * size;
    block.c = (char *)p->c + ((row + i) * p->c_ld + s->column) * size;
    if (i == 0 && s->copy) {
      f->copies[vectors - 1](&block);
      block.b = s->copy;
      block.b_ld = vectors * f->lanes;
    } else if (is_hidden(p, row + i, n, s->column, s->width)) {
      continue;
    } else if (s->spans) {
      multiply_span(f, class, s->width, &block, &s->spans[i / f->rows]);
    } else {
      block.more = p->seen ? 0 : (rows - i) / n - 1;
      block.a_next = rows_copy ? n * p->k : n * block.across;
      class->multiply[vectors - 1](&block);
      n *= block.more + 1;
      block.more = 0;
    }
  }
}

/* Without memory for a copy of B whose columns are contiguous. */
static void multiply_slowly(const nxi_floats_product *p, bool single) {
  for (int64_t i = 0; i < p->m; i++)
    for (int64_t j = 0; j < p->n; j++) {
      double wide = 0;
      float narrow = 0;
      for (int64_t d = 0; d < p->k; d++) {
        const int64_t a = p->a_transposed ? d * p->a_ld + i : i * p->a_ld + d, b = j * p->b_ld + d;
        if (single) narrow = fmaf(((const float *)p->a)[a], ((const float *)p->b)[b], narrow);
        else wide = fma(((const double *)p->a)[a], ((const double *)p->b)[b], wide);
      }
      const int64_t at = i * p->c_ld + j;
      if (single) ((float *)p->c)[at] = p->add ? ((float *)p->c)[at] + narrow : narrow;
      else ((double *)p->c)[at] = p->add ? ((double *)p->c)[at] + wide : wide;
    }
}

/* Columns first .. first + columns - 1 of the same rows; some rows of A pass by all strips. room:
 * memory for strips of B, NULL: they are read where they lie; filled: they are there already.
 * zeros: or NULL, nothing is known of the operands. */
static void multiply_strips(const nxi_floats_kernels *f, const nxi_floats_product *p, int64_t row,
                            int64_t rows, const char *rows_copy, int64_t first, int64_t columns,
                            char *room, bool filled, nxi_floats_zeros *zeros) {
  nxi_floats_span spans[NXI_FLOATS_SPANS];
  /* whether blocks may have other rows than those that a copy of A or spans are made for */
  const bool plain = !room && !rows_copy && !p->seen && (!zeros || !zeros->p);
  const int64_t bytes = p->k * f->size, some = larger(PASSING / bytes / f->rows, 1) * f->rows;
  for (int64_t i = 0; i < rows; i += some) {
    const bool shorter = zeros && nxi_floats_spans_of(zeros, row + i, least(some, rows - i), spans);
    for (int64_t j = 0, width; j < columns; j += width) {
      width = strip_width(f, columns - j, plain ? f->vectors : NXI_FLOATS_VECTORS);
      const char *source = (const char *)p->b + (first + j) * f->size;
      char *copy = room ? room + j * bytes : NULL;
      const bool copies = copy && !filled && i == 0;
      const int64_t copied = filled ? width : vectors_of(f, width) * f->lanes;
      const strip_of strip = {.column = first + j,
                              .width = width,
                              .at = copy && !copies ? copy : source,
                              .ld = copy && !copies ? copied : p->b_ld,
                              .copy = copies ? copy : NULL,
                              .spans = shorter ? spans : NULL};
      multiply_strip(f, p, row + i, least(some, rows - i), rows_copy ? rows_copy + i * bytes : NULL,
                     &strip);
    }
  }
}

/* Columns of whole vectors of the widest strip. */
static int64_t widest(const nxi_floats_kernels *f, const nxi_floats_product *p) {
  return vectors_of(f, nxi_floats_strip_width(f, p->n)) * f->lanes;
}

/* Columns whose strips are copied at once: as many as there is room for, in equal parts. */
static int64_t columns_at_once(const nxi_floats_kernels *f, const nxi_floats_product *p) {
  const int64_t width = widest(f, p), strips = (p->n + width - 1) / width,
                most = larger(STRIPS_ROOM / (p->k * f->size) / width, 1),
                parts = (strips + most - 1) / most;
  return (strips + parts - 1) / parts * width;
}

/* Rows row .. row + rows - 1 of C. room: for strips of B; one block of rows reads them once. */
static void multiply_rows(const nxi_floats_kernels *f, const nxi_floats_product *p, int64_t row,
                          int64_t rows, const char *rows_copy, char *room,
                          nxi_floats_zeros *zeros) {
  if (rows <= f->rows && !p->b_transposed) room = NULL;
  const int64_t some = room ? columns_at_once(f, p) : p->n;
  for (int64_t first = 0; first < p->n; first += some) {
    const int64_t columns = least(some, p->n - first);
    if (p->b_transposed) transpose_strips(f, p, row, rows, first, columns, room);
    multiply_strips(f, p, row, rows, rows_copy, first, columns, room, p->b_transposed, zeros);
  }
}

static void multiply_many(const nxi_floats_kernels *f, const nxi_floats_product *p, void *room) {
  const int64_t bytes = p->k * f->size, most = ROWS_ROOM / bytes / f->rows * f->rows;
  if (most == 0 || STRIPS_ROOM < bytes * widest(f, p)) room = NULL;
  if (!room && p->b_transposed) {
    multiply_slowly(p, f->size == (int32_t)sizeof(float));
    return;
  }
  const bool copies = room && p->a_transposed;
  const int64_t rows = copies ? most : p->m;
  char *strips = room && copies_b(f, p) ? room : NULL,
       *copy = copies ? (char *)room + STRIPS_ROOM : NULL;
  nxi_floats_zeros zeros;
  nxi_floats_zeros_begin(&zeros, f, p);
  for (int64_t row = 0; row < p->m; row += rows) {
    const int64_t some = least(rows, p->m - row);
    if (copies) nxi_floats_copy_rows(f, p, row, some, copy);
    multiply_rows(f, p, row, some, copy, strips, &zeros);
  }
}

/* ---- few rows, few columns */

/* A number more or less: c = c + x, or x. */
static void store(const nxi_floats_kernels *f, const nxi_floats_product *p, int64_t row,
                  int64_t column, const char *x) {
  char *c = (char *)p->c + (row * p->c_ld + column) * f->size;
  if (!p->add) memcpy(c, x, (size_t)f->size);
  else if (f->size == (int32_t)sizeof(float)) *(float *)c += *(const float *)x;
  else *(double *)c += *(const double *)x;
}

/* Columns first .. first + columns - 1; elements of the inner extent pass all rows of A, some at
 * once: B is read once, along its rows. */
static void stream(const nxi_floats_kernels *f, const nxi_floats_product *p, int64_t first,
                   int64_t columns, char *c, int64_t c_ld) {
  const int64_t size = f->size;
  for (int64_t d = 0; d < p->k; d += STREAM)
    for (int64_t j = 0, wide; j < columns; j += wide) {
      wide = nxi_floats_strip_width(f, columns - j);
      const int64_t vectors = vectors_of(f, wide);
      nxi_floats_block block = {.depth = least(STREAM, p->k - d),
                                .across = p->a_transposed ? 1 : p->a_ld,
                                .along = p->a_transposed ? p->a_ld : 1,
                                .b = (const char *)p->b + (d * p->b_ld + first + j) * size,
                                .b_ld = p->b_ld,
                                .c_ld = c_ld,
                                .last = wide - (vectors - 1) * f->lanes,
                                .end = d > 0 ? NXI_FLOATS_GO_ON : NXI_FLOATS_WRITE};
      for (int64_t i = 0, n; i < p->m; i += n) {
        const nxi_floats_class *class = nxi_floats_class_of(f, p->m - i);
        n = class->rows;
        block.a = (const char *)p->a + (i * block.across + d * block.along) * size;
        block.c = c + (i * c_ld + j) * size;
        class->multiply[vectors - 1](&block);
      }
    }
}

static void multiply_few(const nxi_floats_kernels *f, const nxi_floats_product *p) {
  _Alignas(64) char sums[FEW * RUN];
  const int64_t size = f->size, run = RUN / size;
  for (int64_t first = 0; first < p->n; first += run) {
    const int64_t columns = least(run, p->n - first);
    if (!p->add) {
      stream(f, p, first, columns, (char *)p->c + first * size, p->c_ld);
      continue;
    }
    stream(f, p, first, columns, sums, run);
    for (int64_t i = 0; i < p->m; i++)
      for (int64_t j = 0; j < columns; j++) store(f, p, i, first + j, sums + (i * run + j) * size);
  }
}

/* Few columns are the rows of the transposed product. */
static void multiply_narrow(const nxi_floats_kernels *f, const nxi_floats_product *p, void *room) {
  _Alignas(64) char sums[FEW * RUN];
  const int64_t size = f->size, run = RUN / size;
  for (int64_t row = 0; row < p->m; row += run) {
    const int64_t rows = least(run, p->m - row);
    const nxi_floats_product part = {.m = p->n,
                                     .n = rows,
                                     .k = p->k,
                                     .a = p->b,
                                     .b = (const char *)p->a +
                                          row * (p->a_transposed ? 1 : p->a_ld) * size,
                                     .a_transposed = !p->b_transposed,
                                     .b_transposed = !p->a_transposed,
                                     .a_ld = p->b_ld,
                                     .b_ld = p->a_ld,
                                     .c = sums,
                                     .c_ld = run};
    nxi_floats_multiply(f, &part, room);
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < p->n; j++) store(f, p, row + i, j, sums + (j * run + i) * size);
  }
}

/* Whether rows of B are read in streams: it is in no cache, or its rows are many. */
static bool streams(const nxi_floats_kernels *f, const nxi_floats_product *p) {
  return p->m <= FEW && !p->b_transposed && !p->b_is_cached && p->k * p->n * f->size > STRIPS_ROOM;
}

int64_t nxi_floats_strips_bytes(const nxi_floats_kernels *f, const nxi_floats_product *p) {
  return p->b_transposed && !tries_pairs(f, p) ? p->k * p->n * f->size : 0;
}

void nxi_floats_make_strips(const nxi_floats_kernels *f, const nxi_floats_product *p,
                            void *strips) {
  transpose_strips(f, p, 0, p->m, 0, p->n, strips);
}

void nxi_floats_multiply_strips(const nxi_floats_kernels *f, const nxi_floats_product *p,
                                const void *strips) {
  multiply_strips(f, p, 0, p->m, NULL, 0, p->n, (char *)strips, true, NULL);
}

void nxi_floats_multiply(const nxi_floats_kernels *f, const nxi_floats_product *p, void *room) {
#if defined(__x86_64__)
  if (room && tries_pairs(f, p) && nxi_floats_multiply_pairs(p, room)) return;
#endif
  if (p->n <= FEW && p->m > p->n) multiply_narrow(f, p, room);
  else if (streams(f, p)) multiply_few(f, p);
  else multiply_many(f, p, room);
}
