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
  PLACES = 3 * 16,    /* its columns, at most */
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

/* Of so many places, `stride` apart, the first of them at `begin`, those on an axis of a size. */
static void inside(int64_t begin, int64_t stride, int64_t n, int64_t size, int64_t *first,
                   int64_t *end) {
  *end = begin < size ? smaller(ceil_div(size - begin, stride), n) : 0;
  *first = begin < 0 ? smaller(ceil_div(-begin, stride), *end) : 0;
}

/* Lines of one phase that a part needs of a plane; NULL: zeros. ahead: as of nxi_floats_lines. */
static void copy_phase(const copier *c, const char *plane, int64_t ahead, const part *p, int64_t py,
                       int64_t px, char *to) {
  const nxi_image_line *y = &c->w->y, *x = &c->w->x;
  const int64_t size = c->f->size, pitch = c->l->pitch, line = pitch * size,
                count = p->lines + (y->taps - 1) * y->dilation / y->stride,
                top = y->axis.begin + p->top * y->stride + py,
                left = x->axis.begin + p->from * x->stride + px;
  nxi_floats_lines lines = {
      .step = x->axis.step * x->stride, .from_next = y->axis.step * y->stride, .n = pitch};
  int64_t first = 0, end = 0;
  if (plane) inside(top, y->stride, count, y->axis.size, &first, &end);
  inside(left, x->stride, pitch, x->axis.size, &lines.begin, &lines.end);
  memset(to, 0, (size_t)(first * line));
  memset(to + end * line, 0, (size_t)((count - end) * line));
  if (end == first) return;
  lines.count = end - first;
  lines.to = to + first * line;
  lines.from = plane + ((top + first * y->stride) * y->axis.step + left * x->axis.step) * size;
  lines.ahead = ahead;
  c->f->lines(&lines);
}

/* What is needed of the next plane is fetched meanwhile: it is far away. */
static void copy_plane(const copier *c, const char *plane, const char *next, const part *p,
                       char *to) {
  const int64_t ahead = plane && next ? next - plane : 0;
  const nxi_image_layout *l = c->l;
  const int64_t phase = l->lines * l->pitch * c->f->size;
  for (int64_t py = 0; py < l->phases_y; py++)
    for (int64_t px = 0; px < l->phases_x; px++, to += phase)
      copy_phase(c, plane, px == 0 ? ahead : 0, p, py, px, to);
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
    const char *plane = plane_at(w, image, tile->batch, p.outer, first), *next;
    for (int64_t i = 0; i < planes; i++, plane = next) {
      next = i + 1 < planes ? plane_at(w, image, tile->batch, p.outer, first + i + 1) : NULL;
      copy_plane(&c, plane, next, &p, to + i * l->plane * w->element);
    }
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
  char *strip;           /* where the first block copies a strip for the others, or NULL */
} run;

/* Rows of C from number i of r on, one block, or all blocks of as many rows that are left: `width`
 * columns, which begin at b. Returns how many rows. */
static int64_t multiply_blocks(const run *r, int64_t i, bool all, const char *b, int64_t width,
                               void *c, int64_t c_ld, nxi_floats_end end) {
  const nxi_floats_kernels *f = r->f;
  const nxi_floats_product *p = r->p;
  const nxi_floats_class *class = nxi_floats_class_of(f, r->rows - i);
  const int64_t across = r->rows_copy || p->a_transposed ? 1 : p->a_ld,
                vectors = ceil_div(width, f->lanes), n = class->rows;
  const bool strip = r->strip && r->rows > f->rows, copied = strip && i > 0,
             copies = strip && i == 0;
  const int64_t more = all && !copies ? (r->rows - i) / n - 1 : 0;
  const nxi_floats_block block = {.depth = p->k,
                                  .a = r->rows_copy
                                           ? r->rows_copy + i * p->k * f->size
                                           : (const char *)p->a + (r->row + i) * across * f->size,
                                  .across = across,
                                  .along = r->rows_copy      ? n
                                           : p->a_transposed ? p->a_ld
                                                             : 1,
                                  .b = copied ? r->strip : b,
                                  .b_ld = vectors * f->lanes,
                                  .b_at = copied ? NULL : r->at,
                                  .copy = r->strip,
                                  .c = c,
                                  .c_ld = c_ld,
                                  .last = width - (vectors - 1) * f->lanes,
                                  .more = more,
                                  .a_next = r->rows_copy ? n * p->k : n * across,
                                  .end = end};
  (copies ? f->copies : class->multiply)[vectors - 1](&block);
  return n * (more + 1);
}

static char *result_at(const run *r, int64_t row, int64_t column) {
  return (char *)r->p->c + ((r->row + row) * r->p->c_ld + column) * r->f->size;
}

/* Which of n places from q on, counted across lines and gaps, are columns of C. */
static int64_t find_pieces(const run *r, const part *s, int64_t q, int64_t n,
                           nxi_floats_piece *piece) {
  const int64_t width = r->w->x.count, pitch = r->l->pitch;
  int64_t count = 0, line = (q - s->from) / pitch, place = (q - s->from) % pitch + s->from;
  for (int64_t i = 0, some; i < n; i += some, line++, place = s->from) {
    some = smaller(n - i, pitch + s->from - place);
    if (place < width)
      piece[count++] =
          (nxi_floats_piece){i, smaller(some, width - place), s->column + line * width + place};
  }
  return count;
}

/* Each block is stored as soon as it is done, while the next one is multiplied. */
static void multiply_across(const run *r, const part *s, const char *image) {
  _Alignas(64) char sums[BLOCK];
  nxi_floats_piece piece[PLACES];
  const int64_t end = (s->lines - 1) * r->l->pitch + s->right;
  nxi_floats_pieces pieces = {.sums = sums, .c_ld = r->p->c_ld, .add = r->p->add, .piece = piece};
  for (int64_t q = s->left, n; q < end; q += n) {
    n = nxi_floats_strip_width(r->f, end - q);
    pieces.ld = n;
    pieces.count = find_pieces(r, s, q, n, piece);
    for (int64_t i = 0; i < r->rows; i += pieces.rows) {
      pieces.rows = multiply_blocks(r, i, false, image + (q - s->from) * r->f->size, n, sums, n,
                                    NXI_FLOATS_WRITE);
      pieces.c = result_at(r, i, 0);
      r->f->pieces(&pieces);
    }
  }
}

/* Places from .. end - 1 beside each other, the first of which is this column of C. */
static void multiply_places(const run *r, const char *image, int64_t from, int64_t end,
                            int64_t column) {
  const nxi_floats_end how = r->p->add ? NXI_FLOATS_ADD : NXI_FLOATS_WRITE;
  for (int64_t place = from, n; place < end; place += n) {
    n = nxi_floats_strip_width(r->f, end - place);
    for (int64_t i = 0; i < r->rows;)
      i += multiply_blocks(r, i, true, image + place * r->f->size, n,
                           result_at(r, i, column + place - from), r->p->c_ld, how);
  }
}

static void multiply_lines(const run *r, const part *s, const char *image) {
  const int64_t width = r->w->x.count, size = r->f->size;
  for (int64_t line = 0; line < s->lines; line++) {
    const int64_t place = line > 0 ? 0 : s->left, end = line < s->lines - 1 ? width : s->right;
    multiply_places(r, image + (line * r->l->pitch - s->from) * size, place, end,
                    s->column + line * width + place);
  }
}

/* Rows of C: all columns of the tile. Lines without gaps are one. */
static void multiply_rows(const run *r, int64_t first, const char *images) {
  const int64_t width = r->w->x.count, lanes = r->f->lanes, pitch = r->l->pitch;
  const bool fits = ceil_div(width, lanes) * lanes <= pitch;
  part s;
  for (int64_t at = first; at < first + r->p->n; images += r->l->image * r->f->size) {
    at = part_at(r->w, first, at, first + r->p->n, &s);
    if (width == pitch && s.from == 0)
      multiply_places(r, images, s.left, (s.lines - 1) * pitch + s.right, s.column + s.left);
    else if (fits) multiply_lines(r, &s, images);
    else multiply_across(r, &s, images);
  }
}

static int64_t strip_bytes(const nxi_floats_kernels *f, const nxi_floats_product *p) {
  return NXI_FLOATS_VECTORS * f->lanes * f->size * p->k;
}

static bool wants_strip(const nxi_floats_kernels *f, const nxi_floats_product *p) {
  return strip_bytes(f, p) <= NXI_FLOATS_ROOM / 2 &&
         nxi_floats_waits_for_b(f, smaller(p->m, ROWS), p->k, p->n);
}

bool nxi_image_wants_room(const nxi_floats_kernels *f, const nxi_floats_product *p) {
  return p->a_transposed || wants_strip(f, p);
}

void nxi_image_multiply(const nxi_floats_kernels *f, const nxi_floats_product *p,
                        const nxi_image_windows *w, const nxi_image_layout *l, int64_t first,
                        const void *memory, void *room) {
  const int64_t bytes = p->k * f->size, strip = room && wants_strip(f, p) ? strip_bytes(f, p) : 0,
                fit = (NXI_FLOATS_ROOM - strip) / bytes / ROWS * ROWS;
  const bool copies = room && p->a_transposed && fit > 0;
  run r = {.f = f, .p = p, .w = w, .l = l, .at = memory, .strip = strip > 0 ? room : NULL};
  room = strip > 0 ? (char *)room + strip : room;
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
