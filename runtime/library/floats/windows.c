/* SPDX-License-Identifier: ISC */
/* Products with windows of an image. What a tile needs of the image is copied once, with zeros
 * around it and phases of a stride apart, so that the windows' elements at one tap are neighbours
 * in a line. A row of the operand is then a line that begins where the tap and the plane say. The
 * end of a line and the beginning of the next one are as far apart as the window is long: where
 * vectors do not fit lines, strips go on across that gap, and its columns are not stored. */
#include "windows.h"

#include <string.h>

enum {
  ROWS = 64,          /* of A that pass by a strip: a multiple of those of any block */
  BLOCK = 8 * 3 * 64, /* bytes of a block of C, at most */
};

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }

/* Lines of windows of one image that a tile has, and which of their places. */
typedef struct part {
  int64_t outer;       /* which image */
  int64_t top, lines;  /* the first line, and how many */
  int64_t left, right; /* the first place in the first line, the end in the last one */
  int64_t column;      /* of place 0 in the first line, less the tile's first */
  int64_t from;        /* the place with which lines of the copy begin */
} part;

/* ---- the copy */

/* What is copied: numbers of one type. */
typedef struct copier {
  const nxi_floats_kernels *f;
  const nxi_image_windows *w;
  const nxi_image_layout *l;
} copier;

static void copy_numbers(const nxi_floats_kernels *f, void *to, const void *from, int64_t n,
                         int64_t step) {
  if (step == 1) memcpy(to, from, (size_t)(n * f->size));
  else if (step == 2 || step == 3) f->pick(from, step, n, to);
  else if (f->size == (int32_t)sizeof(float))
    for (int64_t i = 0; i < n; i++) ((float *)to)[i] = ((const float *)from)[i * step];
  else
    for (int64_t i = 0; i < n; i++) ((double *)to)[i] = ((const double *)from)[i * step];
}

/* A line of one phase: of the image's line, which is NULL or at its element 0, the elements from
 * index `begin` on; zeros where it has none. */
static void copy_line(const copier *c, const char *line, int64_t begin, char *to) {
  const nxi_image_axis *x = &c->w->x.axis;
  const int64_t stride = c->w->x.stride, n = c->l->pitch, size = c->f->size;
  int64_t from = begin < 0 ? smaller((-begin + stride - 1) / stride, n) : 0,
          end = begin < x->size ? smaller(ceil_div(x->size - begin, stride), n) : 0;
  if (!line || end <= from) {
    memset(to, 0, (size_t)(n * size));
    return;
  }
  memset(to, 0, (size_t)(from * size));
  copy_numbers(c->f, to + from * size, line + (begin + from * stride) * x->step * size, end - from,
               x->step * stride);
  memset(to + end * size, 0, (size_t)((n - end) * size));
}

/* What a part needs of a plane; NULL: zeros. */
static void copy_plane(const copier *c, const char *plane, const part *p, char *to) {
  const nxi_image_windows *w = c->w;
  const nxi_image_layout *l = c->l;
  const nxi_image_line *y = &w->y;
  const int64_t more = (y->taps - 1) * y->dilation / y->stride, line = l->pitch * w->element;
  for (int64_t py = 0; py < l->phases_y; py++)
    for (int64_t j = 0; j < p->lines + more; j++) {
      int64_t at = y->axis.begin + (p->top + j) * y->stride + py;
      const char *from =
          plane && at >= 0 && at < y->axis.size ? plane + at * y->axis.step * w->element : NULL;
      for (int64_t px = 0; px < l->phases_x; px++)
        copy_line(c, from, w->x.axis.begin + p->from * w->x.stride + px,
                  to + ((py * l->phases_x + px) * l->lines + j) * line);
    }
}

/* Adds to the indices of axes what the index `number` of some dims moves. */
static void move(const nxi_image_dim *dims, int32_t begin, int32_t end, int64_t number,
                 int64_t *index) {
  for (int32_t i = end; i-- > begin; number /= dims[i].extent)
    index[dims[i].axis] += number % dims[i].extent * dims[i].move;
}

/* The beginning of a plane of an image; NULL: it is outside. */
static const char *plane_at(const nxi_image_windows *w, const char *image, int64_t batch,
                            int64_t outer, int64_t plane) {
  int64_t index[NXI_WINDOWS_RANK];
  for (int32_t i = 0; i < w->n_axes; i++) index[i] = w->axes[i].begin;
  move(w->outer, 0, w->n_batch, batch, index);
  move(w->outer, w->n_batch, w->n_outer, outer, index);
  move(w->planes, 0, w->n_planes, plane, index);
  for (int32_t i = 0; i < w->n_axes; i++) {
    if (index[i] < 0 || index[i] >= w->axes[i].size) return NULL;
    image += index[i] * w->axes[i].step * w->element;
  }
  return image;
}

/* The planes that a piece of the inner extent needs. */
static int64_t planes_of(const nxi_image_windows *w, int64_t begin, int64_t end, int64_t *first) {
  const int64_t taps = nxi_image_taps(w);
  *first = w->taps_first ? 0 : begin / taps;
  return w->taps_first ? nxi_image_planes(w) : (end - 1) / taps + 1 - *first;
}

static void fill_table(const nxi_image_windows *w, const nxi_image_layout *l, int64_t begin,
                       int64_t end, int32_t *at) {
  const nxi_image_line *y = &w->y, *x = &w->x;
  int64_t first, taps = nxi_image_taps(w), all = nxi_image_planes(w);
  planes_of(w, begin, end, &first);
  for (int64_t k = begin; k < end; k++) {
    int64_t plane = w->taps_first ? k % all : k / taps - first,
            tap = w->taps_first ? k / all : k % taps, ty = tap / x->taps * y->dilation,
            tx = tap % x->taps * x->dilation, phase = ty % y->stride * l->phases_x + tx % x->stride;
    at[k - begin] = (int32_t)(plane * l->plane + (phase * l->lines + ty / y->stride) * l->pitch +
                              tx / x->stride);
  }
}

/* The part of a tile that begins at column `at`. Returns where the next one does. */
static int64_t part_at(const nxi_image_windows *w, int64_t first, int64_t at, int64_t last,
                       part *p) {
  const int64_t width = w->x.count, image = w->y.count * width, outer = at / image,
                end = smaller(last, (outer + 1) * image);
  *p = (part){.outer = outer, .top = at % image / width, .left = at % width};
  p->lines = (end - 1) % image / width - p->top + 1;
  p->right = (end - 1) % width + 1;
  p->column = at - p->left - first;
  p->from = w->y.count == 1 ? p->left : 0;
  return end;
}

void nxi_image_copy(const nxi_floats_kernels *f, const nxi_image_windows *w,
                    const nxi_image_layout *l, const void *image, const nxi_image_tile *tile,
                    void *memory) {
  int64_t first, planes = planes_of(w, tile->begin, tile->end, &first);
  char *to = (char *)memory + l->table;
  const copier c = {f, w, l};
  part p;
  fill_table(w, l, tile->begin, tile->end, memory);
  for (int64_t at = tile->first; at < tile->last; to += l->image * w->element) {
    at = part_at(w, tile->first, at, tile->last, &p);
    for (int64_t i = 0; i < planes; i++)
      copy_plane(&c, plane_at(w, image, tile->batch, p.outer, first + i), &p,
                 to + i * l->plane * w->element);
  }
}

/* ---- multiplying */

typedef struct run {
  const nxi_floats_kernels *f;
  const nxi_floats_product *p;
  const nxi_image_windows *w;
  const nxi_image_layout *l;
  const int32_t *at;
  int64_t row, rows;     /* of C that are made */
  const char *rows_copy; /* those of A, or NULL where they lie */
} run;

/* Rows of C from number i of r on, as many as a block has, and `width` columns, which begin at b.
 * Returns how many rows. */
static int64_t multiply_block(const run *r, int64_t i, const char *b, int64_t width, void *c,
                              int64_t c_ld, nxi_floats_end end) {
  const nxi_floats_kernels *f = r->f;
  const nxi_floats_product *p = r->p;
  const nxi_floats_class *class = nxi_floats_class_of(f, r->rows - i);
  const int64_t across = r->rows_copy || p->a_transposed ? 1 : p->a_ld,
                vectors = ceil_div(width, f->lanes);
  const nxi_floats_block block = {.depth = p->k,
                                  .a = r->rows_copy
                                           ? r->rows_copy + i * p->k * f->size
                                           : (const char *)p->a + (r->row + i) * across * f->size,
                                  .across = across,
                                  .along = r->rows_copy      ? class->rows
                                           : p->a_transposed ? p->a_ld
                                                             : 1,
                                  .b = b,
                                  .b_at = r->at,
                                  .c = c,
                                  .c_ld = c_ld,
                                  .last = width - (vectors - 1) * f->lanes,
                                  .end = end};
  class->multiply[vectors - 1](&block);
  return class->rows;
}

static char *result_at(const run *r, int64_t row, int64_t column) {
  return (char *)r->p->c + ((r->row + row) * r->p->c_ld + column) * r->f->size;
}

/* n columns of some rows, which lie in one line, to C. */
static void store_columns(const run *r, int64_t row, int64_t rows, const char *sums, int64_t ld,
                          int64_t n, int64_t column) {
  const int64_t size = r->f->size;
  char *c = result_at(r, row, column);
  for (int64_t i = 0; i < rows; i++, sums += ld * size, c += r->p->c_ld * size) {
    if (!r->p->add) memcpy(c, sums, (size_t)(n * size));
    else if (size == (int64_t)sizeof(float))
      for (int64_t j = 0; j < n; j++) ((float *)c)[j] += ((const float *)sums)[j];
    else
      for (int64_t j = 0; j < n; j++) ((double *)c)[j] += ((const double *)sums)[j];
  }
}

/* The same for n places from q on, counted across lines and gaps: some are no columns of C. */
static void store_places(const run *r, const part *s, int64_t row, int64_t rows, const char *sums,
                         int64_t n, int64_t q) {
  const int64_t width = r->w->x.count, pitch = r->l->pitch;
  for (int64_t i = 0, some; i < n; i += some) {
    const int64_t at = q + i - s->from, line = at / pitch, place = at % pitch + s->from;
    some = smaller(n - i, pitch - at % pitch);
    if (place < width)
      store_columns(r, row, rows, sums + i * r->f->size, n, smaller(some, width - place),
                    s->column + line * width + place);
  }
}

/* Each block is stored as soon as it is done, while the next one is multiplied. */
static void multiply_across(const run *r, const part *s, const char *image) {
  _Alignas(64) char sums[BLOCK];
  const int64_t end = (s->lines - 1) * r->l->pitch + s->right;
  for (int64_t q = s->left, n; q < end; q += n) {
    n = nxi_floats_strip_width(r->f, end - q);
    for (int64_t i = 0, rows; i < r->rows; i += rows) {
      rows = multiply_block(r, i, image + (q - s->from) * r->f->size, n, sums, n, NXI_FLOATS_WRITE);
      store_places(r, s, i, rows, sums, n, q);
    }
  }
}

static void multiply_lines(const run *r, const part *s, const char *image) {
  const int64_t width = r->w->x.count;
  const nxi_floats_end how = r->p->add ? NXI_FLOATS_ADD : NXI_FLOATS_WRITE;
  for (int64_t line = 0; line < s->lines; line++) {
    int64_t place = line > 0 ? 0 : s->left, end = line < s->lines - 1 ? width : s->right;
    for (int64_t n; place < end; place += n) {
      const char *b = image + (line * r->l->pitch + place - s->from) * r->f->size;
      n = nxi_floats_strip_width(r->f, end - place);
      for (int64_t i = 0; i < r->rows;)
        i += multiply_block(r, i, b, n, result_at(r, i, s->column + line * width + place),
                            r->p->c_ld, how);
    }
  }
}

/* Rows of C: all columns of the tile. */
static void multiply_rows(const run *r, int64_t first, const char *images) {
  const int64_t width = r->w->x.count, lanes = r->f->lanes;
  const bool fits = ceil_div(width, lanes) * lanes <= r->l->pitch;
  part s;
  for (int64_t at = first; at < first + r->p->n; images += r->l->image * r->f->size) {
    at = part_at(r->w, first, at, first + r->p->n, &s);
    if (fits) multiply_lines(r, &s, images);
    else multiply_across(r, &s, images);
  }
}

void nxi_image_multiply(const nxi_floats_kernels *f, const nxi_floats_product *p,
                        const nxi_image_windows *w, const nxi_image_layout *l, int64_t first,
                        const void *memory, void *room) {
  const int64_t bytes = p->k * f->size, fit = NXI_FLOATS_ROOM / bytes / ROWS * ROWS;
  const bool copies = room && p->a_transposed && fit > 0;
  run r = {.f = f, .p = p, .w = w, .l = l, .at = memory};
  for (int64_t row = 0, some; row < p->m; row += some) {
    some = smaller(p->m - row, copies ? fit : p->m);
    if (copies) nxi_floats_copy_rows(f, p, row, some, room);
    for (int64_t i = 0; i < some; i += ROWS) {
      r.row = row + i;
      r.rows = smaller(ROWS, some - i);
      r.rows_copy = copies ? (const char *)room + i * bytes : NULL;
      multiply_rows(&r, first, (const char *)memory + l->table);
    }
  }
}
