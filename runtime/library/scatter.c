/* SPDX-License-Identifier: ISC */
/* Scatter on processors. The axis is processed in order, in pieces, and the caller's poll is
 * called between two pieces. Within a piece tasks divide the target elements, if an index is one of
 * a whole row or there are few columns (points of the other axes): each task then reads all indices
 * and uses those of its own elements. Otherwise they divide the columns. */
#include "scatter.h"

#include <math.h>
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
  bool in_parts;         /* sums of parts of the updates of the only column are added */
  int64_t parts;         /* so many */
  int64_t first, last;   /* the piece of the axis */
  bool few;              /* so few updates that one thread is quicker */
} work;

/* The addresses of one point of the outer axes. */
typedef struct place {
  char *to;
  const char *indices, *updates;
} place;

/* How many indices of a column are read before they are used. */
enum { BLOCK = 512 };
typedef struct block {
  int64_t n, element[BLOCK], update[BLOCK]; /* those of this task, in order */
} block;

/* Fetches a piece of a row that is needed soon: which one depends on an index, so no processor
 * knows of it before. */
static inline void fetch_row(const void *row, int64_t bytes) {
  enum { LINE = 64, MOST = 4096 };
  for (int64_t i = 0; i < bytes && i < MOST; i += LINE)
    __builtin_prefetch((const char *)row + i, 1);
}

/* Pieces of rows, of n elements that are so many elements apart, as are rows. */
typedef struct rows {
  void *to;
  const void *from;
  int64_t to_step, from_step, to_row, from_row, n;
  bool far; /* no first level holds what they go to */
} rows;
enum { AHEAD = 2, NEAR_BYTES = 1 << 14 };

/* The updates of a block, each of a piece of a row; elements have `parts` numbers. */
#define ROWS(name, T, parts, of)                                                                \
  static void rows_##name(const rows *r, const block *block) {                                  \
    const int64_t n = r->n, to_step = r->to_step * (parts), from_step = r->from_step * (parts), \
                  to_row = r->to_row * (parts), from_row = r->from_row * (parts);               \
    const bool dense = r->to_step == 1 && r->from_step == 1;                                    \
    for (int64_t i = 0; i < block->n; i++) {                                                    \
      T *restrict a = (T *)r->to + block->element[i] * to_row;                                  \
      const T *restrict b = (const T *)r->from + block->update[i] * from_row;                   \
      if (r->far && i + AHEAD < block->n)                                                       \
        fetch_row((T *)r->to + block->element[i + AHEAD] * to_row,                              \
                  n * (parts) * (int64_t)sizeof(T));                                            \
      if (dense)                                                                                \
        for (int64_t k = 0; k < n * (parts); k++) a[k] = (T)of(a[k], b[k]);                     \
      else                                                                                      \
        for (int64_t e = 0; e < n; e++, a += to_step, b += from_step)                           \
          for (int k = 0; k < (parts); k++) a[k] = (T)of(a[k], b[k]);                           \
    }                                                                                           \
  }

typedef void (*rows_fn)(const rows *r, const block *block);

#define LAST(a, b)      (b)
#define LAST_IS(a, b)   ((b) != 0)
#define SUM(a, b)       ((a) + (b))
#define PRODUCT(a, b)   ((a) * (b))
#define WRAPPED(a, b)   (1u * (a) * (b)) /* of unsigned integers, which int would overflow */
#define LEAST(a, b)     ((b) < (a) ? (b) : (a))
#define LARGEST(a, b)   ((b) > (a) ? (b) : (a))
#define BOTH(a, b)      ((a) & (b))
#define EITHER(a, b)    ((a) | (b))
#define ONE(a, b)       ((a) ^ (b))
#define BOTH_ARE(a, b)  (((a) != 0) & ((b) != 0))
#define EITHER_IS(a, b) (((a) != 0) | ((b) != 0))
#define ONE_IS(a, b)    (((a) != 0) ^ ((b) != 0))

/* NaN wins; -0 is below +0. */
#define BEST(name, T, of_equal, worse)                      \
  static inline T name(T a, T b) {                          \
    if (a != a) return a;                                   \
    if (b != b) return b;                                   \
    return a == b ? (of_equal ? a : b) : a worse b ? b : a; \
  }
BEST(least_f32, float, signbit(a), >)
BEST(least_f64, double, signbit(a), >)
BEST(largest_f32, float, !signbit(a), <)
BEST(largest_f64, double, !signbit(a), <)

/* The kinds of elements: name, C type, numbers in an element, what becomes of two numbers. */
#define INTEGERS(M, name, sign, of) \
  M(name##_8, sign##8_t, 1, of)     \
  M(name##_16, sign##16_t, 1, of) M(name##_32, sign##32_t, 1, of) M(name##_64, sign##64_t, 1, of)
#define MOVES(M)                     \
  M(set_bool, uint8_t, 1, LAST_IS)   \
  INTEGERS(M, set, uint, LAST)       \
  M(set_c32, uint16_t, 2, LAST)      \
  M(set_c64, uint32_t, 2, LAST)      \
  M(set_c128, uint64_t, 2, LAST)     \
  INTEGERS(M, add, uint, SUM)        \
  M(add_f32, float, 1, SUM)          \
  M(add_f64, double, 1, SUM)         \
  M(add_c64, float, 2, SUM)          \
  M(add_c128, double, 2, SUM)        \
  INTEGERS(M, mul, uint, WRAPPED)    \
  M(mul_f32, float, 1, PRODUCT)      \
  M(mul_f64, double, 1, PRODUCT)     \
  INTEGERS(M, min_u, uint, LEAST)    \
  INTEGERS(M, min_i, int, LEAST)     \
  M(min_f32, float, 1, least_f32)    \
  M(min_f64, double, 1, least_f64)   \
  INTEGERS(M, max_u, uint, LARGEST)  \
  INTEGERS(M, max_i, int, LARGEST)   \
  M(max_f32, float, 1, largest_f32)  \
  M(max_f64, double, 1, largest_f64) \
  INTEGERS(M, and, uint, BOTH)       \
  INTEGERS(M, or, uint, EITHER)      \
  INTEGERS(M, xor, uint, ONE)        \
  M(and_bool, uint8_t, 1, BOTH_ARE)  \
  M(or_bool, uint8_t, 1, EITHER_IS)  \
  M(xor_bool, uint8_t, 1, ONE_IS)
MOVES(ROWS)

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
  return (place){w->to + to * size, w->indices + index * nxi_dtype_size(s->index),
                 w->updates + update * size};
}

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
CHOOSE(choose_bytes, uint8_t)

static void choose(const work *w, place p, int64_t first, int64_t low, int64_t high, block *out) {
  const nxi_scatter *s = w->s;
  int64_t last = w->last - first < BLOCK ? w->last : first + BLOCK, step = s->indices[s->axis];
  const void *indices = p.indices;
  if (s->index == NX_U8) choose_bytes(indices, step, first, last, s->extent, low, high, out);
  else if (s->index == NX_I64) choose_wide(indices, step, first, last, s->extent, low, high, out);
  else choose_narrow(indices, step, first, last, s->extent, low, high, out);
}

/* One column, all elements of the result. */
#define WHOLE_COLUMN(name, T, parts, of, I)                                              \
  static void whole_##name##_##I(const work *w, const void *all, T *to, int64_t to_step, \
                                 const T *from, int64_t from_step) {                     \
    const int64_t extent = w->s->extent, step = w->s->indices[w->s->axis];               \
    const I *indices = all;                                                              \
    for (int64_t j = w->first; j < w->last; j++) {                                       \
      int64_t e = indices[j * step];                                                     \
      e += e < 0 ? extent : 0;                                                           \
      if (e < 0 || e >= extent) continue;                                                \
      for (int k = 0; k < (parts); k++)                                                  \
        to[e * to_step + k] = (T)of(to[e * to_step + k], from[j * from_step + k]);       \
    }                                                                                    \
  }

/* One column, elements low <= e < high of the result. */
#define COLUMN(name, T, parts, of)                                                      \
  WHOLE_COLUMN(name, T, parts, of, int32_t)                                             \
  WHOLE_COLUMN(name, T, parts, of, int64_t)                                             \
  static void column_##name(const work *w, place p, int64_t low, int64_t high) {        \
    T *to = (T *)(void *)p.to;                                                          \
    const T *from = (const T *)(const void *)p.updates;                                 \
    const int64_t to_step = w->s->to[w->s->axis] * (parts),                             \
                  from_step = w->s->updates[w->s->axis] * (parts);                      \
    block b;                                                                            \
    if (low == 0 && high == w->s->extent && w->s->index != NX_U8) {                     \
      if (w->s->index == NX_I64)                                                        \
        whole_##name##_int64_t(w, p.indices, to, to_step, from, from_step);             \
      else whole_##name##_int32_t(w, p.indices, to, to_step, from, from_step);          \
      return;                                                                           \
    }                                                                                   \
    for (int64_t j = w->first; j < w->last; j += BLOCK) {                               \
      choose(w, p, j, low, high, &b);                                                   \
      for (int64_t i = 0; i < b.n; i++)                                                 \
        for (int k = 0; k < (parts); k++)                                               \
          to[b.element[i] * to_step + k] =                                              \
              (T)of(to[b.element[i] * to_step + k], from[b.update[i] * from_step + k]); \
    }                                                                                   \
  }
MOVES(COLUMN)

typedef void (*column_fn)(const work *w, place p, int64_t low, int64_t high);

/* Each kind of move, along a row and along a column. */
#define AS_NAME(name, T, parts, of) MOVE_##name,
#define AS_BOTH(name, T, parts, of) {rows_##name, column_##name},
enum { MOVES(AS_NAME) };
static const struct {
  rows_fn rows;
  column_fn column;
} moves[] = {MOVES(AS_BOTH)};

/* The first of the rows of each mode for unsigned and signed integers, and those for f32 and bool.
 * The rows of one mode are ordered by size. */
static const struct {
  int u, i, f32, truth;
} of_mode[] = {
    [NXI_SCATTER_SET] = {MOVE_set_8, MOVE_set_8, -1, MOVE_set_bool},
    [NXI_SCATTER_ADD] = {MOVE_add_8, MOVE_add_8, MOVE_add_f32, -1},
    [NXI_SCATTER_MUL] = {MOVE_mul_8, MOVE_mul_8, MOVE_mul_f32, -1},
    [NXI_SCATTER_MIN] = {MOVE_min_u_8, MOVE_min_i_8, MOVE_min_f32, -1},
    [NXI_SCATTER_MAX] = {MOVE_max_u_8, MOVE_max_i_8, MOVE_max_f32, -1},
    [NXI_SCATTER_AND] = {MOVE_and_8, MOVE_and_8, -1, MOVE_and_bool},
    [NXI_SCATTER_OR] = {MOVE_or_8, MOVE_or_8, -1, MOVE_or_bool},
    [NXI_SCATTER_XOR] = {MOVE_xor_8, MOVE_xor_8, -1, MOVE_xor_bool},
};

static int move_of(const nxi_scatter *s) {
  int64_t size = nxi_dtype_size(s->dtype);
  int wide = size == 8, of_size = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
  if (s->pairs && s->mode == NXI_SCATTER_ADD) return MOVE_add_c64 + wide;
  if (s->pairs) return size == 2 ? MOVE_set_c32 : MOVE_set_c64 + wide;
  if (s->dtype == NX_BOOL) return of_mode[s->mode].truth;
  if (s->mode != NXI_SCATTER_SET && nxi_is_float(s->dtype)) return of_mode[s->mode].f32 + wide;
  return (nxi_is_signed(s->dtype) ? of_mode[s->mode].i : of_mode[s->mode].u) + of_size;
}

enum {
  OWN_BYTES = 1 << 14, /* most of a target that tasks have memory of their own for */
  OWN_TIMES = 16       /* updates of a part for each element of the target, at least */
};

static bool adds_integers(const nxi_scatter *s) {
  return s->mode == NXI_SCATTER_ADD && !nxi_is_float(s->dtype) && s->dtype != NX_BOOL;
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

/* Elements that come again at once would wait for their own stores, and a processor that loaded too
 * early starts again: neighbouring updates go to sums of their own. */
enum { TABLES = 4 };
#define TABLES_OF(N, I)                                                                      \
  static inline void one_##N##_##I(I index, int64_t extent, uint##N##_t update,              \
                                   uint##N##_t *restrict sums) {                             \
    int64_t e = index;                                                                       \
    e += e < 0 ? extent : 0;                                                                 \
    if (e >= 0 && e < extent) sums[e] += update;                                             \
  }                                                                                          \
  static void tables_##N##_##I(const work *w, const void *indices, const void *updates,      \
                               uint##N##_t *restrict sums) {                                 \
    const nxi_scatter *s = w->s;                                                             \
    const int64_t extent = s->extent, step = s->indices[s->axis], by = s->updates[s->axis];  \
    const I *at = (const I *)indices + w->first * step;                                      \
    const uint##N##_t *from = (const uint##N##_t *)updates + w->first * by;                  \
    int64_t n = w->last - w->first;                                                          \
    for (; n >= TABLES; n -= TABLES, at += TABLES * step, from += TABLES * by) {             \
      one_##N##_##I(at[0], extent, from[0], sums);                                           \
      one_##N##_##I(at[step], extent, from[by], sums + extent);                              \
      one_##N##_##I(at[2 * step], extent, from[2 * by], sums + 2 * extent);                  \
      one_##N##_##I(at[3 * step], extent, from[3 * by], sums + 3 * extent);                  \
    }                                                                                        \
    for (int64_t j = 0; j < n; j++) one_##N##_##I(at[j * step], extent, from[j * by], sums); \
    for (int64_t t = 1; t < TABLES; t++)                                                     \
      for (int64_t e = 0; e < extent; e++) sums[e] += sums[t * extent + e];                  \
  }
#define TABLES_OF_SIZE(N) TABLES_OF(N, int32_t) TABLES_OF(N, int64_t) TABLES_OF(N, uint8_t)
TABLES_OF_SIZE(8)
TABLES_OF_SIZE(16)
TABLES_OF_SIZE(32)
TABLES_OF_SIZE(64)

#define ADD_PART(N)                                                                       \
  static void add_part_##N(const work *own, place p, void *to, int64_t step, char *all) { \
    const nxi_scatter *s = own->s;                                                        \
    uint##N##_t *sums = (uint##N##_t *)(void *)all;                                       \
    if (s->index == NX_U8) tables_##N##_uint8_t(own, p.indices, p.updates, sums);         \
    else if (s->index == NX_I64) tables_##N##_int64_t(own, p.indices, p.updates, sums);   \
    else tables_##N##_int32_t(own, p.indices, p.updates, sums);                           \
    add_sums_##N(to, step, sums, s->extent);                                              \
  }
ADD_PART(8)
ADD_PART(16)
ADD_PART(32)
ADD_PART(64)

/* A part of the updates of the only column. */
static void move_part(const work *w, place p, int64_t part) {
  _Alignas(8) char sums[OWN_BYTES * TABLES];
  work own = *w;
  const int64_t n = w->last - w->first, step = w->s->to[w->s->axis], size = element_size(w->s);
  own.last = w->first + n / w->parts * (part + 1) + n % w->parts * (part + 1) / w->parts;
  own.first = w->first + n / w->parts * part + n % w->parts * part / w->parts;
  memset(sums, 0, (size_t)(w->s->extent * size * TABLES));
  switch (size) {
    case 1: add_part_8(&own, p, p.to, step, sums); break;
    case 2: add_part_16(&own, p, p.to, step, sums); break;
    case 4: add_part_32(&own, p, p.to, step, sums); break;
    default: add_part_64(&own, p, p.to, step, sums);
  }
}

/* Moves pieces of rows, each with one index, to elements low <= e < high of the result. */
static void move_rows(const work *w, place p, int64_t column, int64_t n, int64_t low,
                      int64_t high) {
  const nxi_scatter *s = w->s;
  const rows_fn move = moves[move_of(s)].rows;
  const int64_t size = element_size(s), to_step = s->to[w->row], from_step = s->updates[w->row];
  const rows r = {.to = p.to + column * to_step * size,
                  .from = p.updates + column * from_step * size,
                  .to_step = to_step,
                  .from_step = from_step,
                  .to_row = s->to[s->axis],
                  .from_row = s->updates[s->axis],
                  .n = n,
                  .far = to_step == 1 && (high - low) * n * size > NEAR_BYTES};
  block b;
  for (int64_t j = w->first; j < w->last; j += BLOCK) {
    choose(w, p, j, low, high, &b);
    move(&r, &b);
  }
}

static void move_columns(const work *w, place p, int64_t column, int64_t n, int64_t low,
                         int64_t high) {
  const nxi_scatter *s = w->s;
  column_fn one = moves[move_of(s)].column;
  int64_t size = element_size(s), index_size = nxi_dtype_size(s->index);
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

/* Whether an index says where a whole row goes. */
static bool has_rows(const work *w) { return w->row >= 0 && w->s->indices[w->row] == 0; }

static void run_tasks(void *arg, int worker, int64_t begin, int64_t end) {
  const work *w = arg;
  (void)worker;
  for (int64_t task = begin; task < end; task++) {
    if (w->in_parts) {
      move_part(w, place_of(w, 0), task);
      continue;
    }
    int64_t range = task % w->ranges, piece = task / w->ranges,
            column = piece % w->chunks * w->chunk;
    int64_t n = w->width - column < w->chunk ? w->width - column : w->chunk;
    int64_t low = w->s->extent / w->ranges * range,
            high = range + 1 == w->ranges ? w->s->extent : low + w->s->extent / w->ranges;
    place p = place_of(w, piece / w->chunks);
    if (has_rows(w)) move_rows(w, p, column, n, low, high);
    else move_columns(w, p, column, n, low, high);
  }
}

/* Divides the work for this many threads. */
static void cut(work *w, int64_t threads) {
  const nxi_scatter *s = w->s;
  int64_t columns = w->outer * w->width, wanted = threads * 2;
  w->ranges = w->chunks = w->parts = 1;
  w->chunk = w->width;
  w->few = columns * (w->last - w->first) < 1 << 14;
  w->in_parts = columns == 1 && !w->few && adds_integers(s) &&
                s->extent * element_size(s) <= OWN_BYTES &&
                (w->last - w->first) / threads >= s->extent * OWN_TIMES;
  if (threads == 1 || w->few) return;
  if (w->in_parts) {
    w->parts = threads;
  } else if (has_rows(w) && w->outer < wanted && s->extent >= threads) {
    w->ranges = threads;
  } else if (columns >= 16 * wanted || has_rows(w)) {
    /* pieces of rows, long enough for vectors and lines of the cache */
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

/* The same with neighbouring axes as one where they lie one in the other, and none of extent 1. */
static nxi_scatter merged(const nxi_scatter *s) {
  nxi_scatter m = *s;
  m.rank = 0;
  for (int32_t i = 0; i < s->rank; i++) {
    const int64_t n = s->shape[i];
    const int32_t last = m.rank - 1;
    if (n == 1 && i != s->axis) continue;
    const bool inside = last >= 0 && i != s->axis && m.axis != last && m.to[last] == n * s->to[i] &&
                        m.indices[last] == n * s->indices[i] &&
                        m.updates[last] == n * s->updates[i];
    const int32_t at = inside ? last : m.rank++;
    if (i == s->axis) m.axis = at;
    m.shape[at] = inside ? m.shape[at] * n : n;
    m.to[at] = s->to[i];
    m.indices[at] = s->indices[i];
    m.updates[at] = s->updates[i];
  }
  return m;
}

nx_status nxi_scatter_run(const nxi_scatter *all, nxi_pool *pool, const nxi_poll *poll, void *to,
                          const void *indices, const void *updates) {
  for (int32_t i = 0; i < all->rank; i++)
    if (all->shape[i] == 0) return NX_OK;
  const nxi_scatter s = merged(all);
  work w = {
      .s = &s, .to = to, .indices = indices, .updates = updates, .row = -1, .width = 1, .outer = 1};
  for (int32_t i = 0; i < s.rank; i++)
    if (i != s.axis) w.row = i;
  if (w.row >= 0) w.width = s.shape[w.row];
  for (int32_t i = 0; i < s.rank; i++)
    if (i != s.axis && i != w.row) w.outer *= s.shape[i];
  int64_t n = s.shape[s.axis], columns = w.outer * w.width,
          piece = columns >= PIECE ? 1 : PIECE / columns;
  for (w.first = 0; w.first < n; w.first = w.last) {
    w.last = n - w.first < piece ? n : w.first + piece;
    cut(&w, nxi_pool_size(pool));
    int64_t tasks = w.outer * w.chunks * w.ranges * w.parts;
    if (w.few) {
      run_tasks(&w, 0, 0, tasks);
    } else if (poll != NULL && poll->fn != NULL) {
      nx_status status = nxi_pool_run_polled(pool, poll, run_tasks, &w, tasks, 1);
      if (status != NX_OK) return status;
    } else {
      nxi_pool_run(pool, run_tasks, &w, tasks, 1);
    }
  }
  return NX_OK;
}
