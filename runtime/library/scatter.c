/* SPDX-License-Identifier: ISC */
/* Scatter on processors. The axis is processed in order, in pieces, and the caller's poll is
 * called between two pieces. Within a piece tasks divide the columns (the points of the other
 * axes). If there are few columns, tasks divide the target elements instead: each task then
 * reads all indices and uses those of its own elements. */
#include "scatter.h"

#include <string.h>

#include "ir/dtype.h"

enum { PIECE = 1 << 21 }; /* updates between two polls: some 10 ms */

typedef struct work {
  const nxi_scatter *s;
  char *to;
  const char *indices, *updates;
  int32_t row;           /* axis of the rows: the last one but `axis`, or -1 */
  int64_t width, outer;  /* elements of a row; number of rows */
  int64_t chunk, chunks; /* columns of a task; tasks for each row */
  int64_t ranges;        /* ranges of target elements; 1: they are not divided */
  int64_t parts;         /* of the updates of the only column; 1: they are not divided */
  int64_t first, last;   /* the piece of the axis */
} work;

/* The addresses of one point of the outer axes. */
typedef struct place {
  char *to;
  const char *indices, *updates;
} place;

static int64_t index_at(const work *w, const char *at) {
  int32_t narrow;
  int64_t index;
  if (w->s->wide_indices) {
    memcpy(&index, at, sizeof index);
  } else {
    memcpy(&narrow, at, sizeof narrow);
    index = narrow;
  }
  return index < 0 ? index + w->s->extent : index;
}

/* n elements of a row, each of `parts` numbers. */
#define ROW(name, T, parts, operator, convert)                                          \
  static void row_##name(void *restrict to, int64_t to_step, const void *restrict from, \
                         int64_t from_step, int64_t n) {                                \
    T *restrict a = to;                                                                 \
    const T *restrict b = from;                                                         \
    if (to_step == 1 && from_step == 1)                                                 \
      for (int64_t i = 0; i < n * (parts); i++) a[i] operator(T)(b[i] convert);         \
    else                                                                                \
      for (int64_t i = 0; i < n; i++, a += to_step * (parts), b += from_step * (parts)) \
        for (int k = 0; k < (parts); k++) a[k] operator(T)(b[k] convert);               \
  }

typedef void (*row_fn)(void *restrict to, int64_t to_step, const void *restrict from,
                       int64_t from_step, int64_t n);

/* The kinds of elements: name, C type, numbers in an element. */
#define MOVES(M)                   \
  M(set_bool, uint8_t, 1, =, != 0) \
  M(set_8, uint8_t, 1, =, )        \
  M(set_16, uint16_t, 1, =, )      \
  M(set_32, uint32_t, 1, =, )      \
  M(set_64, uint64_t, 1, =, )      \
  M(set_c32, uint16_t, 2, =, )     \
  M(set_c64, uint32_t, 2, =, )     \
  M(set_c128, uint64_t, 2, =, )    \
  M(add_8, uint8_t, 1, +=, )       \
  M(add_16, uint16_t, 1, +=, )     \
  M(add_32, uint32_t, 1, +=, )     \
  M(add_64, uint64_t, 1, +=, )     \
  M(add_f32, float, 1, +=, )       \
  M(add_f64, double, 1, +=, )      \
  M(add_c64, float, 2, +=, )       \
  M(add_c128, double, 2, +=, )
MOVES(ROW)

static int64_t element_size(const nxi_scatter *s) {
  return nxi_dtype_size(s->dtype) * (s->pairs ? 2 : 1);
}

static place place_of(const work *w, int64_t point) {
  const nxi_scatter *s = w->s;
  int64_t to = 0, index = 0, update = 0;
  for (int32_t i = s->rank; i-- > 0;) {
    if (i == s->axis || i == w->row) continue;
    int64_t at = point % s->shape[i];
    point /= s->shape[i];
    to += at * s->to[i];
    index += at * s->indices[i];
    update += at * s->updates[i];
  }
  int64_t size = element_size(s);
  return (place){w->to + to * size, w->indices + index * (s->wide_indices ? 8 : 4),
                 w->updates + update * size};
}

/* How many indices of a column are read before they are used. */
enum { BLOCK = 512 };
typedef struct block {
  int64_t n, element[BLOCK], update[BLOCK]; /* those of this task, in order */
} block;

/* Collects the updates of elements low <= e < high. It has no branches, because they would be
 * mispredicted half of the time. */
#define CHOOSE(name, I)                                                                         \
  static void name(const I *indices, int64_t step, int64_t first, int64_t last, int64_t extent, \
                   int64_t low, int64_t high, block *out) {                                     \
    int64_t n = 0;                                                                              \
    for (int64_t j = first; j < last; j++) {                                                    \
      int64_t e = indices[j * step];                                                            \
      e += e < 0 ? extent : 0;                                                                  \
      out->element[n] = e;                                                                      \
      out->update[n] = j;                                                                       \
      n += (e >= low) & (e < high);                                                             \
    }                                                                                           \
    out->n = n;                                                                                 \
  }
CHOOSE(choose_narrow, int32_t)
CHOOSE(choose_wide, int64_t)

static void choose(const work *w, place p, int64_t first, int64_t low, int64_t high, block *out) {
  const nxi_scatter *s = w->s;
  int64_t last = w->last - first < BLOCK ? w->last : first + BLOCK, step = s->indices[s->axis];
  const void *indices = p.indices;
  if (s->wide_indices) choose_wide(indices, step, first, last, s->extent, low, high, out);
  else choose_narrow(indices, step, first, last, s->extent, low, high, out);
}

/* One column, all elements of the result. */
#define WHOLE_COLUMN(name, T, parts, operator, convert, I)                               \
  static void whole_##name##_##I(const work *w, const void *all, T *to, int64_t to_step, \
                                 const T *from, int64_t from_step) {                     \
    const int64_t extent = w->s->extent, step = w->s->indices[w->s->axis];               \
    const I *indices = all;                                                              \
    for (int64_t j = w->first; j < w->last; j++) {                                       \
      int64_t e = indices[j * step];                                                     \
      e += e < 0 ? extent : 0;                                                           \
      if (e < 0 || e >= extent) continue;                                                \
      for (int k = 0; k < (parts); k++)                                                  \
        to[e * to_step + k] operator(T)(from[j * from_step + k] convert);                \
    }                                                                                    \
  }

/* One column, elements low <= e < high of the result. */
#define COLUMN(name, T, parts, operator, convert)                                                 \
  WHOLE_COLUMN(name, T, parts, operator, convert, int32_t)                                        \
  WHOLE_COLUMN(name, T, parts, operator, convert, int64_t)                                        \
  static void column_##name(const work *w, place p, int64_t low, int64_t high) {                  \
    T *to = (T *)(void *)p.to;                                                                    \
    const T *from = (const T *)(const void *)p.updates;                                           \
    const int64_t to_step = w->s->to[w->s->axis] * (parts),                                       \
                  from_step = w->s->updates[w->s->axis] * (parts);                                \
    block b;                                                                                      \
    if (low == 0 && high == w->s->extent) {                                                       \
      if (w->s->wide_indices) whole_##name##_int64_t(w, p.indices, to, to_step, from, from_step); \
      else whole_##name##_int32_t(w, p.indices, to, to_step, from, from_step);                    \
      return;                                                                                     \
    }                                                                                             \
    for (int64_t j = w->first; j < w->last; j += BLOCK) {                                         \
      choose(w, p, j, low, high, &b);                                                             \
      for (int64_t i = 0; i < b.n; i++)                                                           \
        for (int k = 0; k < (parts); k++)                                                         \
          to[b.element[i] * to_step + k] operator(T)(from[b.update[i] * from_step + k] convert);  \
    }                                                                                             \
  }
MOVES(COLUMN)

typedef void (*column_fn)(const work *w, place p, int64_t low, int64_t high);

/* Each kind of move, along a row and along a column. */
#define AS_NAME(name, T, parts, operator, convert) MOVE_##name,
#define AS_BOTH(name, T, parts, operator, convert) {row_##name, column_##name},
enum { MOVES(AS_NAME) };
static const struct {
  row_fn row;
  column_fn column;
} moves[] = {MOVES(AS_BOTH)};

static int move_of(const nxi_scatter *s) {
  bool wide = nxi_dtype_size(s->dtype) == 8;
  if (s->pairs && s->adds) return wide ? MOVE_add_c128 : MOVE_add_c64;
  if (s->pairs && nxi_dtype_size(s->dtype) == 2) return MOVE_set_c32;
  if (s->pairs) return wide ? MOVE_set_c128 : MOVE_set_c64;
  if (s->adds && nxi_is_float(s->dtype)) return wide ? MOVE_add_f64 : MOVE_add_f32;
  if (s->dtype == NX_BOOL) return MOVE_set_bool;
  switch (nxi_dtype_size(s->dtype)) {
    case 1: return s->adds ? MOVE_add_8 : MOVE_set_8;
    case 2: return s->adds ? MOVE_add_16 : MOVE_set_16;
    case 4: return s->adds ? MOVE_add_32 : MOVE_set_32;
    default: return s->adds ? MOVE_add_64 : MOVE_set_64;
  }
}

enum {
  OWN_BYTES = 1 << 14, /* most of a target that tasks have memory of their own for */
  OWN_TIMES = 16       /* updates of a part for each element of the target, at least */
};

static bool adds_integers(const nxi_scatter *s) {
  return s->adds && !nxi_is_float(s->dtype) && s->dtype != NX_BOOL;
}

#define ADD(N)                                                                        \
  static void add_sums_##N(void *all, int64_t step, const void *own, int64_t n) {     \
    uint##N##_t *to = all;                                                            \
    const uint##N##_t *sums = own;                                                    \
    for (int64_t e = 0; e < n; e++)                                                   \
      if (sums[e] != 0) __atomic_fetch_add(&to[e * step], sums[e], __ATOMIC_RELAXED); \
  }
ADD(8)
ADD(16)
ADD(32)
ADD(64)

/* A part of the updates of the only column. */
static void move_part(const work *w, place p, int64_t part) {
  _Alignas(8) char sums[OWN_BYTES];
  nxi_scatter s = *w->s;
  work own = *w;
  const int64_t n = w->last - w->first, step = s.to[s.axis], size = element_size(&s);
  void *to = p.to;
  s.to[s.axis] = 1;
  own.s = &s;
  own.last = w->first + n / w->parts * (part + 1) + n % w->parts * (part + 1) / w->parts;
  own.first = w->first + n / w->parts * part + n % w->parts * part / w->parts;
  memset(sums, 0, (size_t)(s.extent * size));
  p.to = sums;
  moves[move_of(&s)].column(&own, p, 0, s.extent);
  switch (size) {
    case 1: add_sums_8(to, step, sums, s.extent); break;
    case 2: add_sums_16(to, step, sums, s.extent); break;
    case 4: add_sums_32(to, step, sums, s.extent); break;
    default: add_sums_64(to, step, sums, s.extent);
  }
}

/* Fetches a piece of a row that is needed soon: which one depends on an index, so no processor
 * knows of it before. */
static void fetch_row(const char *row, int64_t bytes) {
  enum { LINE = 64, MOST = 4096 };
  for (int64_t i = 0; i < bytes && i < MOST; i += LINE) __builtin_prefetch(row + i, 1);
}

/* Moves pieces of rows, each with one index. */
enum { AHEAD = 2 };
static void move_rows(const work *w, place p, int64_t column, int64_t n) {
  const nxi_scatter *s = w->s;
  row_fn row = moves[move_of(s)].row;
  int64_t size = element_size(s), index_size = s->wide_indices ? 8 : 4;
  int64_t to_step = s->to[w->row], from_step = s->updates[w->row];
  char *to = p.to + column * to_step * size;
  for (int64_t j = w->first; j < w->last; j++) {
    int64_t e = index_at(w, p.indices + j * s->indices[s->axis] * index_size);
    int64_t ahead = j + AHEAD < w->last ? j + AHEAD : j;
    ahead = index_at(w, p.indices + ahead * s->indices[s->axis] * index_size);
    if (to_step == 1 && ahead >= 0 && ahead < s->extent)
      fetch_row(to + ahead * s->to[s->axis] * size, n * size);
    if (e < 0 || e >= s->extent) continue;
    row(to + e * s->to[s->axis] * size, to_step,
        p.updates + (j * s->updates[s->axis] + column * from_step) * size, from_step, n);
  }
}

static void move_columns(const work *w, place p, int64_t column, int64_t n, int64_t range) {
  const nxi_scatter *s = w->s;
  column_fn one = moves[move_of(s)].column;
  int64_t size = element_size(s), index_size = s->wide_indices ? 8 : 4;
  int64_t low = s->extent / w->ranges * range,
          high = range + 1 == w->ranges ? s->extent : low + s->extent / w->ranges;
  if (w->row >= 0) {
    p.to += column * s->to[w->row] * size;
    p.indices += column * s->indices[w->row] * index_size;
    p.updates += column * s->updates[w->row] * size;
  }
  for (int64_t k = 0; k < n; k++) {
    one(w, p, low, high);
    if (w->row < 0) return;
    p.to += s->to[w->row] * size;
    p.indices += s->indices[w->row] * index_size;
    p.updates += s->updates[w->row] * size;
  }
}

static void run_tasks(void *arg, int worker, int64_t begin, int64_t end) {
  const work *w = arg;
  (void)worker;
  for (int64_t task = begin; task < end; task++) {
    if (w->parts > 1) {
      move_part(w, place_of(w, 0), task);
      continue;
    }
    int64_t range = task % w->ranges, piece = task / w->ranges,
            column = piece % w->chunks * w->chunk;
    int64_t n = w->width - column < w->chunk ? w->width - column : w->chunk;
    place p = place_of(w, piece / w->chunks);
    if (w->row >= 0 && w->ranges == 1 && w->s->indices[w->row] == 0) move_rows(w, p, column, n);
    else move_columns(w, p, column, n, range);
  }
}

/* Divides the work for this many threads. */
static void cut(work *w, int64_t threads) {
  const nxi_scatter *s = w->s;
  int64_t columns = w->outer * w->width, wanted = threads * 2;
  w->ranges = w->chunks = w->parts = 1;
  w->chunk = w->width;
  if (threads == 1 || columns * (w->last - w->first) < 1 << 14) return;
  if (columns == 1 && adds_integers(s) && s->extent * element_size(s) <= OWN_BYTES &&
      (w->last - w->first) / threads >= s->extent * OWN_TIMES) {
    w->parts = threads;
  } else if (columns >=
             16 * wanted) { /* pieces of rows, long enough for vectors and lines of the cache */
    int64_t pieces = w->outer >= wanted ? 1 : (wanted + w->outer - 1) / w->outer;
    w->chunk = ((w->width + pieces - 1) / pieces + 15) / 16 * 16;
    w->chunks = (w->width + w->chunk - 1) / w->chunk;
  } else if (columns < threads && threads >= 4 &&
             s->extent >= threads) { /* fewer threads gain nothing */
    w->ranges = threads;
  } else {
    w->chunk = 1;
    w->chunks = w->width;
  }
}

nx_status nxi_scatter_run(const nxi_scatter *s, nxi_pool *pool, const nxi_poll *poll, void *to,
                          const void *indices, const void *updates) {
  work w = {
      .s = s, .to = to, .indices = indices, .updates = updates, .row = -1, .width = 1, .outer = 1};
  for (int32_t i = 0; i < s->rank; i++) {
    if (s->shape[i] == 0) return NX_OK;
    if (i != s->axis && s->shape[i] != 1) w.row = i;
  }
  if (w.row >= 0) w.width = s->shape[w.row];
  for (int32_t i = 0; i < s->rank; i++)
    if (i != s->axis && i != w.row) w.outer *= s->shape[i];
  int64_t n = s->shape[s->axis], columns = w.outer * w.width,
          piece = columns >= PIECE ? 1 : PIECE / columns;
  for (w.first = 0; w.first < n; w.first = w.last) {
    w.last = n - w.first < piece ? n : w.first + piece;
    cut(&w, nxi_pool_size(pool));
    int64_t tasks = w.outer * w.chunks * w.ranges * w.parts;
    if (poll != NULL && poll->fn != NULL) {
      nx_status status = nxi_pool_run_polled(pool, poll, run_tasks, &w, tasks, 1);
      if (status != NX_OK) return status;
    } else {
      nxi_pool_run(pool, run_tasks, &w, tasks, 1);
    }
  }
  return NX_OK;
}
