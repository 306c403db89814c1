/* SPDX-License-Identifier: ISC */
/* Reductions of the graph interpreter, in the order of docs/numerics.md.
 *
 * lanes: element k lies in block k / 256, lane k mod 16. A lane combines its elements of a block in
 * order; the blocks are combined in a pairwise tree, and then the lanes by halves. plain: blocks of
 * 16 elements in order, then the tree. Elements that do not exist are skipped. The tree is a binary
 * counter of partial results, so the memory does not grow with the run. */
#include <math.h>
#include <string.h>

#include "interp_graph.h"
#include "vector.h"

enum { LANES = 16, LANES_BLOCK = 256, PLAIN_BLOCK = 16, LEVELS = 60 };

#define COMBINE(kind, name, T, combination) \
  static inline T combine_##kind##_##name(T x, T y) { return (T)(combination); }
/* A block of n elements; returns how many of its lanes exist. */
#define BLOCK(kind, name, T, rounds)                                                             \
  static int block_##kind##_##name(T *part, const T *x, int64_t n, int lanes, nxg_rounds *all) { \
    const int width = n < lanes ? (int)n : lanes;                                                \
    int64_t k = lanes;                                                                           \
    if (all != NULL && width == LANES) return all(part, x, n), LANES;                            \
    for (int l = 0; l < width; l++) part[l] = x[l];                                              \
    if (lanes == LANES) k = rounds(part, x, n);                                                  \
    for (; k < n; k++) part[k % lanes] = combine_##kind##_##name(part[k % lanes], x[k]);         \
    return width;                                                                                \
  }
/* All lanes at once, as long as there are elements for all; returns the first element after. */
#define ROUNDS(kind, name, T)                                                               \
  static int64_t rounds_##kind##_##name(T *restrict part, const T *x, int64_t n) {          \
    int64_t k = LANES;                                                                      \
    for (; k + LANES <= n; k += LANES)                                                      \
      for (int l = 0; l < LANES; l++) part[l] = combine_##kind##_##name(part[l], x[k + l]); \
    return k;                                                                               \
  }
#define VECTOR_ROUNDS(kind, name, T, V, W, combination)                               \
  static int64_t rounds_##kind##_##name(T *restrict part, const T *from, int64_t n) { \
    enum { COUNT = LANES * sizeof(T) / sizeof(V) };                                   \
    int64_t k = LANES;                                                                \
    V all[COUNT];                                                                     \
    if (n < 2 * LANES) return k;                                                      \
    memcpy(all, part, sizeof all);                                                    \
    for (; k + LANES <= n; k += LANES)                                                \
      for (int l = 0; l < COUNT; l++) {                                               \
        const V x = all[l], y = ((const V *)(const void *)(from + k))[l];             \
        all[l] = (combination);                                                       \
      }                                                                               \
    memcpy(part, all, sizeof all);                                                    \
    return k;                                                                         \
  }

/* The upper half of 16 lanes joins the lower one until one is left. */
#define HALVES(kind, name, T)                                                            \
  static void halves_##kind##_##name(T *part) {                                          \
    for (int l = 0; l < 8; l++) part[l] = combine_##kind##_##name(part[l], part[l + 8]); \
    for (int l = 0; l < 4; l++) part[l] = combine_##kind##_##name(part[l], part[l + 4]); \
    for (int l = 0; l < 2; l++) part[l] = combine_##kind##_##name(part[l], part[l + 2]); \
    part[0] = combine_##kind##_##name(part[0], part[1]);                                 \
  }
/* The same where a branch for each pair would be guessed wrong half of the time. */
#define VECTOR_HALVES(kind, name, T, V, W, combination)                    \
  static void halves_##kind##_##name(T *part) {                            \
    V all[LANES * sizeof(T) / sizeof(V)], x, y;                            \
    memcpy(all, part, sizeof all);                                         \
    for (size_t half = sizeof all / sizeof *all / 2; half > 0; half /= 2)  \
      for (size_t l = 0; l < half; l++) {                                  \
        x = all[l], y = all[l + half];                                     \
        all[l] = (combination);                                            \
      }                                                                    \
    for (size_t half = sizeof(V) / sizeof(T) / 2; half > 0; half /= 2) {   \
      x = all[0], y = half == 2 ? UPPER_HALF_##name(x) : SECOND_##name(x); \
      all[0] = (combination);                                              \
    }                                                                      \
    memcpy(part, all, sizeof *part);                                       \
  }
#define UPPER_HALF_f32(x) __builtin_shufflevector(x, x, 2, 3, 2, 3)
#define SECOND_f32(x)     __builtin_shufflevector(x, x, 1, 1, 1, 1)
#define UPPER_HALF_f64(x) __builtin_shufflevector(x, x, 1, 1) /* there are two in all */
#define SECOND_f64(x)     __builtin_shufflevector(x, x, 1, 1)

#define REDUCE(kind, name, T, identity, combination) \
  COMBINE(kind, name, T, combination)                \
  ROUNDS(kind, name, T)                              \
  HALVES(kind, name, T)                              \
  REDUCE_BY(kind, name, T, identity)
#define REDUCE_BY(kind, name, T, identity)                                                         \
  BLOCK(kind, name, T, rounds_##kind##_##name)                                                     \
  /* b's lanes join a's, of which all 16 (or the one of plain order) exist; b has `width` */       \
  static void join_##kind##_##name(T *b, const T *a, int width, int all) {                         \
    for (int l = 0; l < all && l < LANES; l++)                                                     \
      b[l] = l < width ? combine_##kind##_##name(a[l], b[l]) : a[l];                               \
  }                                                                                                \
  static void fold_##kind##_##name(T *part, int width, int lanes) {                                \
    if (width == LANES) {                                                                          \
      halves_##kind##_##name(part);                                                                \
      return;                                                                                      \
    }                                                                                              \
    for (int half = lanes / 2; half; half /= 2)                                                    \
      for (int l = 0; l + half < width && l < half; l++)                                           \
        part[l] = combine_##kind##_##name(part[l], part[l + half]);                                \
  }                                                                                                \
  static void reduce_##kind##_##name(nxg_source *source, int64_t n, bool in_lanes, void *result) { \
    T tree[LEVELS][LANES], buffer[NXG_CHUNK], part[LANES];                                         \
    int lanes = in_lanes ? LANES : 1, size = in_lanes ? LANES_BLOCK : PLAIN_BLOCK, width = 0;      \
    int64_t blocks = 0;                                                                            \
    if (n == 0) {                                                                                  \
      *(T *)result = (T)(identity);                                                                \
      return;                                                                                      \
    }                                                                                              \
    for (int64_t done = 0; done < n; done += size, blocks++) {                                     \
      int64_t m = n - done < size ? n - done : size;                                               \
      int level = 0;                                                                               \
      if (nxg_source_stopped(source, m)) return;                                                   \
      width = block_##kind##_##name(part, nxg_source_next(source, buffer, m), m, lanes,            \
                                    source->rounds);                                               \
      for (; blocks >> level & 1; level++, width = lanes)                                          \
        join_##kind##_##name(part, tree[level], width, lanes);                                     \
      if (n > size) memcpy(tree[level], part, sizeof part);                                        \
    }                                                                                              \
    for (int level = __builtin_ctzll((uint64_t)blocks) + 1; blocks >> level; level++)              \
      if (blocks >> level & 1) {                                                                   \
        join_##kind##_##name(part, tree[level], width, lanes);                                     \
        width = lanes;                                                                             \
      }                                                                                            \
    fold_##kind##_##name(part, width, lanes);                                                      \
    *(T *)result = part[0];                                                                        \
  }

/* As elementwise max and min: NaN wins, and +0 is above -0. */
#define BEST_FLOAT(name, T, V, W, top)                                     \
  COMBINE(max, name, T, x != x || x > y || (x == y && signbit(y)) ? x : y) \
  COMBINE(min, name, T, x != x || x < y || (x == y && signbit(x)) ? x : y) \
  VECTOR_ROUNDS(max, name, T, V, W, NXG_MAX(V, W, top, x, y))              \
  VECTOR_ROUNDS(min, name, T, V, W, NXG_MIN(V, W, top, x, y))              \
  VECTOR_HALVES(max, name, T, V, W, NXG_MAX(V, W, top, x, y))              \
  VECTOR_HALVES(min, name, T, V, W, NXG_MIN(V, W, top, x, y))              \
  REDUCE_BY(max, name, T, 0)                                               \
  REDUCE_BY(min, name, T, 0)
/* max and min of bools, which the source gives as 0 and 1: "any" and "all", defined for no elements
 * too. */
#define BEST_BOOL(name, T)               \
  REDUCE(max, name, T, 0, x > y ? x : y) \
  REDUCE(min, name, T, 1, x < y ? x : y)
#define BEST_INTEGER(name, T)            \
  REDUCE(max, name, T, 0, x > y ? x : y) \
  REDUCE(min, name, T, 0, x < y ? x : y)
#define SUMS(name, T, W)               \
  REDUCE(sum, name, T, 0, (W)x + (W)y) \
  REDUCE(prod, name, T, 1, (W)x *(W)y)

/* Levels of the tree that the counter marks as full have been written; the analyser does not see
 * that. NOLINTBEGIN(clang-analyzer-core.uninitialized.Assign) */
SUMS(f32, float, float)
SUMS(f64, double, double)
SUMS(u8, uint8_t, uint64_t) /* integers wrap: signed ones share the bits of unsigned ones */
SUMS(u16, uint16_t, uint64_t)
SUMS(u32, uint32_t, uint64_t)
SUMS(u64, uint64_t, uint64_t)
BEST_FLOAT(f32, float, nxg_f32s, nxg_u32s, 31)
BEST_FLOAT(f64, double, nxg_f64s, nxg_u64s, 63)
BEST_INTEGER(i8, int8_t)
BEST_INTEGER(i16, int16_t)
BEST_INTEGER(i32, int32_t)
BEST_INTEGER(i64, int64_t)
BEST_INTEGER(u8, uint8_t)
BEST_BOOL(truth, uint8_t)
BEST_INTEGER(u16, uint16_t)
BEST_INTEGER(u32, uint32_t)
BEST_INTEGER(u64, uint64_t)
/* NOLINTEND(clang-analyzer-core.uninitialized.Assign) */

/* ---- argmax and argmin: the first NaN, else the first of the best */

#define ARG(kind, name, T, better)                                                                 \
  static void reduce_##kind##_##name(nxg_source *source, int64_t n, bool in_lanes, void *result) { \
    T buffer[NXG_CHUNK], y = 0;                                                                    \
    int64_t at = 0;                                                                                \
    (void)in_lanes;                                                                                \
    for (int64_t done = 0; done < n; done += NXG_CHUNK) {                                          \
      int64_t m = n - done < NXG_CHUNK ? n - done : NXG_CHUNK;                                     \
      if (nxg_source_stopped(source, m)) return;                                                   \
      const T *next = nxg_source_next(source, buffer, m);                                          \
      for (int64_t i = 0; i < m; i++) {                                                            \
        const T x = next[i];                                                                       \
        if (done + i > 0 && (y != y || !(x better y || x != x))) continue;                         \
        y = x;                                                                                     \
        at = done + i;                                                                             \
      }                                                                                            \
    }                                                                                              \
    *(int32_t *)result = (int32_t)at;                                                              \
  }
#define ARGS(name, T)     \
  ARG(argmax, name, T, >) \
  ARG(argmin, name, T, <)
ARGS(i8, int8_t)
ARGS(i16, int16_t)
ARGS(i32, int32_t)
ARGS(i64, int64_t)
ARGS(u8, uint8_t)
ARGS(u16, uint16_t)
ARGS(u32, uint32_t)
ARGS(u64, uint64_t)
ARGS(f32, float)
ARGS(f64, double)

/* ---- the table, by the dtype that is computed in */

/* clang-format off */
#define ROW(kind, K, name, T) [NXK_##K][T] = reduce_##kind##_##name,
#define SUM_ROWS(name, T) ROW(sum, SUM, name, T) ROW(prod, PROD, name, T)
#define BEST_ROWS(name, T) \
  ROW(max, MAX, name, T) ROW(argmax, ARGMAX, name, T) \
  ROW(min, MIN, name, T) ROW(argmin, ARGMIN, name, T)

static const nxg_reduce_kernel reductions[NXK_REDUCE_KINDS][NXI_DTYPE_COUNT] = {
  SUM_ROWS(u8, NX_I8)    SUM_ROWS(u8, NX_U8)    SUM_ROWS(u16, NX_I16) SUM_ROWS(u16, NX_U16)
  SUM_ROWS(u32, NX_I32)  SUM_ROWS(u32, NX_U32)  SUM_ROWS(u64, NX_I64) SUM_ROWS(u64, NX_U64)
  SUM_ROWS(f32, NX_F32)  SUM_ROWS(f64, NX_F64)
  ROW(max, MAX, truth, NX_BOOL) ROW(min, MIN, truth, NX_BOOL)
  ROW(argmax, ARGMAX, u8, NX_BOOL) ROW(argmin, ARGMIN, u8, NX_BOOL)
  BEST_ROWS(i8, NX_I8)   BEST_ROWS(u8, NX_U8)
  BEST_ROWS(i16, NX_I16) BEST_ROWS(u16, NX_U16) BEST_ROWS(i32, NX_I32) BEST_ROWS(u32, NX_U32)
  SUM_ROWS(u8, NX_I4)    SUM_ROWS(u8, NX_U4)    BEST_ROWS(i8, NX_I4)   BEST_ROWS(u8, NX_U4)
  BEST_ROWS(i64, NX_I64) BEST_ROWS(u64, NX_U64) BEST_ROWS(f32, NX_F32) BEST_ROWS(f64, NX_F64)
};
/* clang-format on */

nxg_reduce_kernel nxg_find_reduce(nxk_reduce_kind kind, nx_dtype type) {
  return reductions[kind][nxi_compute_dtype(type)];
}

/* ---- the step: args[0] addresses the first element of each run, args[1] the elements along it */

/* Runs that begin beside each other, as many at once as there are in the last dimension. The last
 * ones of a dimension are computed with some of those before them again, so that there are as many
 * as go at once. */
static void reduce_beside(const nxg_step *s, nxg_run_state *r, int64_t begin, int64_t end) {
  const nxg_access *along = &s->args[1];
  const int64_t size = nxi_dtype_size(s->result), apart = along->rank > 0 ? along->strides[0] : 0;
  char *to = nxg_address(r, s->to.place) + begin * size;
  nxg_cursor outer;
  nxg_cursor_start(&outer, &s->args[0], nxg_address(r, s->args[0].place));
  nxg_cursor_seek(&outer, begin);
  for (int64_t width, before = 0; begin < end && !nxg_stopped(r);
       begin += width, to += width * size) {
    width = nxg_cursor_left(&outer, end - begin < NXG_BESIDE ? end - begin : NXG_BESIDE);
    const int64_t again = before >= NXG_BESIDE - width ? NXG_BESIDE - width : 0;
    s->beside(outer.at - again * size, apart, s->numbers[0], (int)(width + again),
              to - again * size);
    nxg_cursor_skip(&outer, width);
    before = outer.index[s->args[0].rank - 1] > 0 ? before + width : 0;
  }
}

/* Whole runs, as many at once as there are in the last dimension. */
static void reduce_whole(const nxg_step *s, nxg_run_state *r, int64_t begin, int64_t end) {
  const nxg_access *a = &s->args[0];
  const int64_t size = nxi_dtype_size(s->result), length = s->numbers[0],
                apart = a->rank > 0 ? a->strides[a->rank - 1] : 0;
  char *to = nxg_address(r, s->to.place) + begin * size;
  nxg_cursor outer;
  nxg_cursor_start(&outer, a, nxg_address(r, a->place));
  nxg_cursor_seek(&outer, begin);
  for (int64_t n; begin < end && !nxg_stopped(r); begin += n, to += n * size) {
    const int64_t most = NXG_RUN_MOST / length;
    n = nxg_cursor_left(&outer, end - begin < most ? end - begin : most);
    s->runs(outer.at, apart, n, length, to);
    nxg_cursor_skip(&outer, n);
  }
}

static void reduce_runs(const nxg_step *s, nxg_run_state *r, int64_t begin, int64_t end) {
  if (!s->lanes && s->beside != NULL) {
    reduce_beside(s, r, begin, end);
    return;
  }
  if (s->runs != NULL) {
    reduce_whole(s, r, begin, end);
    return;
  }
  int64_t size = nxi_dtype_size(s->result);
  char *to = nxg_address(r, s->to.place) + begin * size;
  nxg_cursor outer;
  nxg_cursor_start(&outer, &s->args[0], nxg_address(r, s->args[0].place));
  nxg_cursor_seek(&outer, begin);
  nxg_source source; /* by fields: the cursor is large, and starts at each run */
  source.dtype = s->dtype;
  source.run = r;
  source.rounds = s->lanes ? s->rounds : NULL;
  source.taken = 0;
  for (int64_t i = begin; i < end; i++, nxg_cursor_next(&outer), to += size) {
    float wide = 0;
    if (i % 64 == 0 && nxg_stopped(r)) return;
    nxg_cursor_start(&source.cursor, &s->args[1], outer.at);
    s->reduce(&source, s->numbers[0], s->lanes, s->narrow ? (void *)&wide : to);
    if (s->narrow) nxg_narrow(s->result, &wide, to, 1);
    if (nxi_is_nibble(s->result)) nxg_wrap_nibbles(s->result, to, 1);
  }
}

typedef struct runs {
  const nxg_step *s;
  const nxg_run_state *r;
} runs;

static void some_runs(void *arg, int worker, int64_t begin, int64_t end) {
  const runs *all = arg;
  nxg_run_state part = nxg_run_part(all->r);
  (void)worker;
  reduce_runs(all->s, &part, begin, end);
}

void nxg_step_reduce(const nxg_step *s, nxg_run_state *r) {
  runs all = {s, r};
  int64_t work;
  if (s->n == 0) return;
  if (__builtin_mul_overflow(s->n, s->numbers[0], &work)) work = INT64_MAX;
  if (!nxg_divide(r, some_runs, &all, s->n, work)) reduce_runs(s, r, 0, s->n);
}
