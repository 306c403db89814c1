/* SPDX-License-Identifier: ISC */
/* Elementwise operations of the graph interpreter: a typed loop for each basic operation, written
 * as simply as C allows (the build forbids contraction). Functions are applied to blocks (block.h);
 * what neither has is evaluated one scalar at a time. Dense operands take a single call of such a
 * loop; others are copied in chunks. */
#include <math.h>
#include <string.h>

#include "block.h"
#include "interp_graph.h"

/* ---- loops */

#define UNARY(op, name, T, expression)                                                  \
  static void op##_##name(const nxg_step *s, void *result, const void *const *operands, \
                          int64_t n) {                                                  \
    const T *a = operands[0];                                                           \
    T *out = result;                                                                    \
    (void)s;                                                                            \
    for (int64_t i = 0; i < n; i++) {                                                   \
      const T x = a[i];                                                                 \
      out[i] = (T)(expression);                                                         \
    }                                                                                   \
  }
#define BINARY(op, name, T, R, expression)                                              \
  static void op##_##name(const nxg_step *s, void *result, const void *const *operands, \
                          int64_t n) {                                                  \
    const T *a = operands[0], *b = operands[1];                                         \
    R *out = result;                                                                    \
    (void)s;                                                                            \
    for (int64_t i = 0; i < n; i++) {                                                   \
      const T x = a[i], y = b[i];                                                       \
      out[i] = (R)(expression);                                                         \
    }                                                                                   \
  }

/* Integers wrap: arithmetic is done on 64 unsigned bits, of which the low ones are kept. */
#define WIDE(x) ((uint64_t)(x))
#define INTEGER(name, T, bits)                                              \
  UNARY(neg, name, T, -WIDE(x))                                             \
  UNARY(not, name, T, ~WIDE(x))                                             \
  UNARY(same, name, T, x)                                                   \
  BINARY(add, name, T, T, WIDE(x) + WIDE(y))                                \
  BINARY(sub, name, T, T, WIDE(x) - WIDE(y))                                \
  BINARY(mul, name, T, T, WIDE(x) * WIDE(y))                                \
  BINARY(max, name, T, T, x > y ? x : y)                                    \
  BINARY(min, name, T, T, x < y ? x : y)                                    \
  BINARY(and, name, T, T, x &y)                                             \
  BINARY(or, name, T, T, x | y)                                             \
  BINARY(xor, name, T, T, x ^ y)                                            \
  BINARY(shl, name, T, T, WIDE(y) < bits ? WIDE(x) << (WIDE(y) % bits) : 0) \
  COMPARISONS(name, T, x, y)
#define SIGNED(name, T, bits)                                            \
  INTEGER(name, T, bits)                                                 \
  UNARY(abs, name, T, x < 0 ? -WIDE(x) : WIDE(x))                        \
  BINARY(div, name, T, T, y == 0 ? 0 : y == -1 ? -WIDE(x) : WIDE(x / y)) \
  BINARY(mod, name, T, T, y == 0 || y == -1 ? 0 : x % y)                 \
  BINARY(shr, name, T, T, x >> (WIDE(y) < bits ? WIDE(y) % bits : bits - 1))
#define UNSIGNED(name, T, bits)               \
  INTEGER(name, T, bits)                      \
  UNARY(abs, name, T, x)                      \
  BINARY(div, name, T, T, y == 0 ? 0 : x / y) \
  BINARY(mod, name, T, T, y == 0 ? 0 : x % y) \
  BINARY(shr, name, T, T, WIDE(y) < bits ? WIDE(x) >> (WIDE(y) % bits) : 0)
#define COMPARISONS(name, T, p, q)         \
  BINARY(eq, name, T, uint8_t, (p) == (q)) \
  BINARY(ne, name, T, uint8_t, (p) != (q)) \
  BINARY(lt, name, T, uint8_t, (p) < (q))  \
  BINARY(le, name, T, uint8_t, (p) <= (q))
/* NaN wins. If the operands are equal, max takes the one without a sign and min the one with a
 * sign. */
#define FLOAT(name, T, suffix)                                               \
  UNARY(neg, name, T, -x)                                                    \
  UNARY(abs, name, T, fabs##suffix(x))                                       \
  UNARY(sqrt, name, T, sqrt##suffix(x))                                      \
  UNARY(rint, name, T, rint##suffix(x))                                      \
  UNARY(trunc, name, T, trunc##suffix(x))                                    \
  UNARY(floor, name, T, floor##suffix(x))                                    \
  UNARY(ceil, name, T, ceil##suffix(x))                                      \
  BINARY(add, name, T, T, x + y)                                             \
  BINARY(sub, name, T, T, x - y)                                             \
  BINARY(mul, name, T, T, x *y)                                              \
  BINARY(div, name, T, T, x / y)                                             \
  BINARY(mod, name, T, T, fmod##suffix(x, y))                                \
  BINARY(max, name, T, T, x != x || x > y || (x == y && signbit(y)) ? x : y) \
  BINARY(min, name, T, T, x != x || x < y || (x == y && signbit(x)) ? x : y) \
  COMPARISONS(name, T, x, y)

SIGNED(i8, int8_t, 8)
SIGNED(i16, int16_t, 16)
SIGNED(i32, int32_t, 32)
SIGNED(i64, int64_t, 64)
UNSIGNED(u8, uint8_t, 8)
UNSIGNED(u16, uint16_t, 16)
UNSIGNED(u32, uint32_t, 32)
UNSIGNED(u64, uint64_t, 64)
FLOAT(f32, float, f)
FLOAT(f64, double, )

/* A bool byte counts as 1 unless it is 0. */
UNARY(not, bool, uint8_t, x == 0)
BINARY(max, bool, uint8_t, uint8_t, x != 0 || y != 0)
BINARY(min, bool, uint8_t, uint8_t, x != 0 && y != 0)
BINARY(xor, bool, uint8_t, uint8_t, (x != 0) != (y != 0))
COMPARISONS(bool, uint8_t, x != 0, y != 0)

/* ---- the table. Operations without a row are evaluated one scalar at a time. */

/* clang-format off */
#define ROW(op, kernel, name, T) [NXK_##op][T] = kernel##_##name,
#define COMPARE_ROWS(name, T) \
  ROW(eq, eq, name, T) ROW(ne, ne, name, T) ROW(lt, lt, name, T) ROW(le, le, name, T)
#define BOTH_ROWS(name, T) \
  ROW(neg, neg, name, T) ROW(abs, abs, name, T) ROW(add, add, name, T) ROW(sub, sub, name, T) \
  ROW(mul, mul, name, T) ROW(div, div, name, T) ROW(mod, mod, name, T) ROW(max, max, name, T) \
  ROW(min, min, name, T) COMPARE_ROWS(name, T)
#define SAME_ROWS(name, T) \
  ROW(trunc, same, name, T) ROW(ceil, same, name, T) \
  ROW(floor, same, name, T) ROW(round, same, name, T)
#define INTEGER_ROWS(name, T) \
  BOTH_ROWS(name, T) ROW(not, not, name, T) ROW(and, and, name, T) ROW(or, or, name, T) \
  ROW(xor, xor, name, T) ROW(shl, shl, name, T) ROW(shr, shr, name, T) SAME_ROWS(name, T)
#define FLOAT_ROWS(name, T) \
  BOTH_ROWS(name, T) ROW(sqrt, sqrt, name, T) ROW(rint, rint, name, T) \
  ROW(trunc, trunc, name, T) ROW(floor, floor, name, T) ROW(ceil, ceil, name, T)

static const nxg_map_kernel kernels[NXK_SCALAR_COUNT][NXI_DTYPE_COUNT] = {
  INTEGER_ROWS(i8, NX_I8)   INTEGER_ROWS(i16, NX_I16) INTEGER_ROWS(i32, NX_I32)
  INTEGER_ROWS(u8, NX_U8)   INTEGER_ROWS(u16, NX_U16) INTEGER_ROWS(u32, NX_U32)
  INTEGER_ROWS(i64, NX_I64) INTEGER_ROWS(u64, NX_U64)
  FLOAT_ROWS(f32, NX_F32)   FLOAT_ROWS(f64, NX_F64)
  ROW(not, not, bool, NX_BOOL) ROW(max, max, bool, NX_BOOL) ROW(min, min, bool, NX_BOOL)
  ROW(and, min, bool, NX_BOOL) ROW(or, max, bool, NX_BOOL)  ROW(xor, xor, bool, NX_BOOL)
  COMPARE_ROWS(bool, NX_BOOL)
  /* i4 and u4: all other operations are evaluated one scalar at a time */
  SAME_ROWS(i8, NX_I4) SAME_ROWS(u8, NX_U4)
};
/* clang-format on */

static void evaluate(const nxg_step *s, void *result, const void *const *operands, int64_t n) {
  nx_dtype type = nxi_compute_dtype(s->dtype), to = nxi_compute_dtype(s->result);
  int64_t size = nxi_dtype_size(type), result_size = nxi_dtype_size(to);
  for (int64_t i = 0; i < n; i++) {
    uint64_t args[4];
    for (uint32_t k = 0; k < s->n_args; k++)
      args[k] = nxi_load_element((const char *)operands[k] + i * size, type);
    nxi_store_element((char *)result + i * result_size, to, nxk_eval(s->scalar, type, to, args));
  }
}

/* Whole blocks by the vectors of this processor (block.h), the rest by the loop above. */
static void in_blocks(const nxg_step *s, void *result, const void *const *operands, int64_t n) {
  const nx_dtype type = s->widen ? NX_F32 : s->dtype;
  const int64_t size = nxi_dtype_size(type),
                result_size = s->narrow ? size : nxi_dtype_size(s->result);
  nxg_block_loop *loop = s->loop;
  const char *at[2] = {operands[0], operands[s->n_args - 1]};
  char *to = result;
  for (; loop != NULL && n >= NXG_BLOCK; n -= NXG_BLOCK) {
    loop(to, at[0], at[1], at[0]);
    for (int k = 0; k < 2; k++) at[k] += NXG_BLOCK * size;
    to += NXG_BLOCK * result_size;
  }
  if (n > 0) kernels[s->scalar][type](s, to, (const void *const[]){at[0], at[1]}, n);
}

nxg_block_loop *nxg_find_loop(nxk_op op, nx_dtype type) {
  nxg_block_loops *host = nxg_block_host();
  bool vectors = (type == NX_F32 || type == NX_F64) && host != nxg_block_generic;
  return vectors && kernels[op][type] ? host(op, type, type) : NULL;
}

nxg_map_kernel nxg_find_map(nxk_op op, nx_dtype type) {
  if (kernels[op][type]) return nxg_find_loop(op, type) ? in_blocks : kernels[op][type];
  nxg_map_kernel found = nxg_find_function(op, type);
  return found ? found : evaluate;
}

/* ---- where: it copies bits */

#define SELECT(name, T, expression)                                                       \
  static void select_##name(const nxg_step *s, void *result, const void *const *operands, \
                            int64_t n) {                                                  \
    const uint8_t *condition = operands[0];                                               \
    const T *a = operands[1], *b = operands[2];                                           \
    T *out = result;                                                                      \
    (void)s;                                                                              \
    for (int64_t i = 0; i < n; i++) {                                                     \
      const T x = condition[i] ? a[i] : b[i];                                             \
      out[i] = expression;                                                                \
    }                                                                                     \
  }
SELECT(8, uint8_t, x)
SELECT(16, uint16_t, x)
SELECT(32, uint32_t, x)
SELECT(64, uint64_t, x)
SELECT(bool, uint8_t, x != 0)

nxg_map_kernel nxg_find_select(nx_dtype type) {
  if (type == NX_BOOL) return select_bool;
  switch (nxi_dtypes[type].bits) {
    case 4:
    case 8: return select_8;
    case 16: return select_16;
    case 32: return select_32;
    default: return select_64;
  }
}

/* ---- the step */

/* An operand of a step that is copied in chunks, of so many bytes each. */
enum { FEED_BYTES = 4096 };
typedef struct feed {
  nxg_cursor cursor;
  bool repeats; /* one element for every index: its chunk is filled once */
  bool small;   /* small floats, widened */
} feed;

static const void *feed_next(feed *f, nx_dtype t, void *buffer, int64_t n, bool first) {
  /* a feed was started for each operand. NOLINTNEXTLINE(clang-analyzer-*) */
  const nxg_access *a = f->cursor.access;
  if (f->repeats && !first) return buffer;
  if (a->dense && !f->small) {
    const char *at = f->cursor.at;
    f->cursor.at += n * (a->size ? a->size : 1);
    return at;
  }
  uint16_t raw[FEED_BYTES / sizeof(float)];
  nxg_gather(&f->cursor, f->small ? (void *)raw : buffer, n);
  if (f->small) nxg_widen(t, raw, buffer, n);
  return buffer;
}

static void feed_start(feed *f, const nxg_step *s, const nxg_run_state *r, uint32_t k,
                       int64_t first) {
  const nxg_access *a = &s->args[k];
  f->repeats = a->rank == 0;
  f->small = s->widen;
  nxg_cursor_start(&f->cursor, a, nxg_address(r, a->place));
  if (first == 0 || a->place.memory == NXG_PIECE) return;
  if (a->dense && !f->small) f->cursor.at += first * (a->size ? a->size : 1);
  else nxg_cursor_seek(&f->cursor, first);
}

/* Elements of a chunk: small floats are widened. */
static int64_t feed_length(const nxg_step *s) {
  int32_t widest = sizeof(float);
  for (uint32_t k = 0; k < s->n_args; k++)
    if (s->args[k].size > widest) widest = s->args[k].size;
  return FEED_BYTES / widest;
}

static void map_in_chunks(const nxg_step *s, nxg_run_state *r, int64_t first, int64_t n) {
  _Alignas(64) char buffers[4][FEED_BYTES];
  _Alignas(64) float wide[FEED_BYTES / sizeof(float)];
  feed feeds[4];
  const void *operands[4];
  const int64_t size = nxi_dtype_size(s->result), length = feed_length(s);
  char *to = nxg_address_of(r, s->to.place, first * size);
  for (uint32_t k = 0; k < s->n_args; k++) feed_start(&feeds[k], s, r, k, first);
  for (int64_t done = 0; done < n && !nxg_stopped(r); done += length) {
    int64_t m = n - done < length ? n - done : length;
    for (uint32_t k = 0; k < s->n_args; k++)
      operands[k] = feed_next(&feeds[k], s->dtype, buffers[k], m, done == 0);
    s->kernel(s, s->narrow ? (void *)wide : to + done * size, operands, m);
    if (s->narrow) nxg_narrow(s->result, wide, to + done * size, m);
  }
}

/* Where an operand goes on `done` elements after `first`. */
static const char *in_row(const nxg_step *s, const nxg_run_state *r, int k, int64_t first,
                          int64_t done) {
  const nxg_access *a = &s->args[k];
  const int64_t row = (first + done) / s->numbers[0], column = (first + done) % s->numbers[0];
  if (a->dense) return nxg_address_of(r, a->place, first * a->size) + done * a->size;
  const bool single = a->rank == 0 || a->repeat;
  return nxg_address(r, a->place) + row * s->numbers[1 + k] + (single ? 0 : column * a->size);
}

/* What is left of a row, whole rows, and the beginning of another one. */
static void map_rows(const nxg_step *s, nxg_run_state *r, int64_t first, int64_t n) {
  const int64_t length = s->numbers[0], size = nxi_dtype_size(s->result);
  char *to = nxg_address_of(r, s->to.place, first * size);
  for (int64_t done = 0, some, rows; done < n; done += some) {
    const int64_t column = (first + done) % length, left = n - done;
    rows = column > 0 || left < length ? 1 : left / length;
    some = column == 0 ? rows * length : length - column;
    if (some > left) some = left;
    s->rows(to + done * size, in_row(s, r, 0, first, done), s->numbers[1],
            in_row(s, r, 1, first, done), s->numbers[2], rows, rows > 1 ? length : some);
  }
}

void nxg_part_map(const nxg_step *s, nxg_run_state *r, int64_t first, int64_t n) {
  const void *operands[4];
  if (s->rows != NULL) {
    map_rows(s, r, first, n);
    return;
  }
  if (!s->direct) {
    map_in_chunks(s, r, first, n);
    return;
  }
  for (uint32_t k = 0; k < s->n_args; k++) {
    const nxg_access *a = &s->args[k];
    operands[k] = nxg_address_of(r, a->place, first * (a->size ? a->size : 1));
  }
  s->kernel(s, nxg_address_of(r, s->to.place, first * nxi_dtype_size(s->result)), operands, n);
}

void nxg_step_map(const nxg_step *s, nxg_run_state *r) {
  const int64_t piece = s->direct || s->rows ? NXG_PIECE_LENGTH : s->n;
  for (int64_t done = 0; done < s->n && !nxg_stopped(r); done += piece)
    nxg_part_map(s, r, done, s->n - done < piece ? s->n - done : piece);
}
