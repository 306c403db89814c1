/* SPDX-License-Identifier: ISC */
/* Access to strided memory in the graph interpreter: elements are copied from it and to it, and
 * small floats are converted to f32 and back. Also the steps that only copy elements or generate
 * them. */
#include <string.h>

#include "interp_graph.h"

/* ---- cursors */

void nxg_cursor_start(nxg_cursor *c, const nxg_access *a, char *first) {
  c->at = first;
  c->access = a;
  for (int32_t i = 0; i < a->rank; i++) c->index[i] = 0;
}

void nxg_cursor_seek(nxg_cursor *c, int64_t element) {
  const nxg_access *a = c->access;
  for (int32_t i = a->rank; i-- > 0; element /= a->shape[i]) {
    c->index[i] = element % a->shape[i];
    c->at += c->index[i] * a->strides[i];
  }
}

/* Advances by `steps` elements along the last dimension, which has that many left. */
void nxg_cursor_skip(nxg_cursor *c, int64_t steps) {
  const nxg_access *a = c->access;
  int32_t i = a->rank - 1;
  if (i < 0) return;
  c->at += steps * a->strides[i];
  /* nxg_cursor_start has set an index for each dimension. NOLINTNEXTLINE(clang-analyzer-*) */
  for (c->index[i] += steps; c->index[i] == a->shape[i]; c->index[i]++) {
    c->at -= a->shape[i] * a->strides[i];
    c->index[i] = 0;
    if (--i < 0) return; /* after the last element: back at the first */
    c->at += a->strides[i];
  }
}

void nxg_cursor_next(nxg_cursor *c) { nxg_cursor_skip(c, 1); }

/* n elements that lie `stride` bytes apart, to or from dense ones. */
#define COPIERS(name, T)                                                                 \
  static void gather_##name(void *dense, const char *at, int64_t stride, int64_t n) {    \
    T *out = dense;                                                                      \
    for (int64_t i = 0; i < n; i++, at += stride) out[i] = *(const T *)(const void *)at; \
  }                                                                                      \
  static void scatter_##name(const void *dense, char *at, int64_t stride, int64_t n) {   \
    const T *in = dense;                                                                 \
    for (int64_t i = 0; i < n; i++, at += stride) *(T *)(void *)at = in[i];              \
  }
COPIERS(1, uint8_t)
COPIERS(2, uint16_t)
COPIERS(4, uint32_t)
COPIERS(8, uint64_t)

static void gather_run(int32_t size, void *dense, const char *at, int64_t stride, int64_t n) {
  uint8_t *truth = dense;
  if (stride == size && n > 0 && size > 0) {
    memmove(dense, at, (size_t)(n * size));
    return;
  }
  switch (size) {
    case 0:
      for (int64_t i = 0; i < n; i++) truth[i] = at[i * stride] != 0;
      break;
    case 1: gather_1(dense, at, stride, n); break;
    case 2: gather_2(dense, at, stride, n); break;
    case 4: stride ? gather_4(dense, at, stride, n) : nxg_repeat_host(4)(dense, at, n); break;
    default: stride ? gather_8(dense, at, stride, n) : nxg_repeat_host(8)(dense, at, n);
  }
}

static void scatter_run(int32_t size, const void *dense, char *at, int64_t stride, int64_t n) {
  if (stride == size && n > 0 && size > 0) {
    memmove(at, dense, (size_t)(n * size));
    return;
  }
  switch (size) {
    case 0:
    case 1: scatter_1(dense, at, stride, n); break;
    case 2: scatter_2(dense, at, stride, n); break;
    case 4: scatter_4(dense, at, stride, n); break;
    default: scatter_8(dense, at, stride, n);
  }
}

int64_t nxg_cursor_left(const nxg_cursor *c, int64_t n) {
  int32_t last = c->access->rank - 1;
  if (last < 0) return n;
  int64_t left = c->access->shape[last] - c->index[last];
  return left < n ? left : n;
}

static int64_t last_stride(const nxg_access *a) { return a->rank ? a->strides[a->rank - 1] : 0; }

/* Rows of a broadcast. */
static void gather_repeated(nxg_cursor *c, char *to, int64_t n) {
  const nxg_access *a = c->access;
  for (int64_t m; n > 0; n -= m, to += m * a->size) {
    m = nxg_cursor_left(c, n);
    a->repeat(to, c->at, m);
    nxg_cursor_skip(c, m);
  }
}

void nxg_gather(nxg_cursor *c, void *dense, int64_t n) {
  if (c->access->repeat) {
    gather_repeated(c, dense, n);
    return;
  }
  int32_t size = c->access->size, bytes = size ? size : 1;
  for (char *to = dense; n > 0;) {
    int64_t m = nxg_cursor_left(c, n);
    gather_run(size, to, c->at, last_stride(c->access), m);
    nxg_cursor_skip(c, m);
    to += m * bytes;
    n -= m;
  }
}

void nxg_scatter(nxg_cursor *c, const void *dense, int64_t n) {
  int32_t size = c->access->size, bytes = size ? size : 1;
  for (const char *from = dense; n > 0;) {
    int64_t m = nxg_cursor_left(c, n);
    scatter_run(size, from, c->at, last_stride(c->access), m);
    nxg_cursor_skip(c, m);
    from += m * bytes;
    n -= m;
  }
}

/* ---- small floats */

static float widen_f16(uint16_t h) {
  uint32_t magnitude = h & 0x7fffu, sign = (uint32_t)(h & 0x8000u) << 16;
  if (magnitude - 0x400u < 0x7800u)
    return nxi_f32_bits(sign | (magnitude + (112u << 10)) << 13); /* normal */
  return nxi_f16_to_f32(h);
}

static uint16_t narrow_f16(float x) {
  uint32_t bits = (uint32_t)nxi_bits_f32(x), magnitude = bits & 0x7fffffffu;
  if (magnitude - 0x38800000u >= 0x477fe000u - 0x38800000u)
    return nxi_f32_to_f16(x); /* not a normal f16 */
  uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1);
  return (uint16_t)((bits >> 16 & 0x8000u) | ((rounded >> 13) - (112u << 10)));
}

static uint16_t narrow_bf16(float x) {
  uint32_t bits = (uint32_t)nxi_bits_f32(x);
  if (x != x) return nxi_f32_to_bf16(x);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

void nxg_widen(nx_dtype small, const void *from, float *to, int64_t n) {
  const uint8_t *bytes = from;
  const uint16_t *halves = from;
  if (small == NX_BF16)
    for (int64_t i = 0; i < n; i++) to[i] = nxi_f32_bits((uint64_t)halves[i] << 16);
  else if (small == NX_F16)
    for (int64_t i = 0; i < n; i++) to[i] = widen_f16(halves[i]);
  else
    for (int64_t i = 0; i < n; i++) to[i] = nxi_f32_bits(nxi_cast_bits(bytes[i], small, NX_F32));
}

void nxg_narrow(nx_dtype small, const float *from, void *to, int64_t n) {
  uint8_t *bytes = to;
  uint16_t *halves = to;
  if (small == NX_BF16)
    for (int64_t i = 0; i < n; i++) halves[i] = narrow_bf16(from[i]);
  else if (small == NX_F16)
    for (int64_t i = 0; i < n; i++) halves[i] = narrow_f16(from[i]);
  else
    for (int64_t i = 0; i < n; i++)
      bytes[i] = (uint8_t)nxi_cast_bits(nxi_bits_f32(from[i]), NX_F32, small);
}

const void *nxg_source_next(nxg_source *s, void *buffer, int64_t n) {
  const nxg_access *a = s->cursor.access;
  bool small = nxi_is_small_float(s->dtype);
  if (a->dense && !small && a->size) {
    const char *at = s->cursor.at;
    s->cursor.at += n * a->size;
    return at;
  }
  uint16_t raw[NXG_CHUNK];
  nxg_gather(&s->cursor, small ? (void *)raw : buffer, n);
  if (small) nxg_widen(s->dtype, raw, buffer, n);
  return buffer;
}

/* ---- moving */

/* For an update whose place is known at run time only: finds it, and checks that it is inside the
 * storage. numbers: lowest and highest element of the view relative to its first, elements of the
 * storage. */
static bool move_to_alias_range(const nxg_step *s, nxg_run_state *r, char **to) {
  int64_t offset = r->alias_offsets ? r->alias_offsets[s->alias_range] : 0, low, high;
  if (__builtin_add_overflow(offset, s->numbers[0], &low) ||
      __builtin_add_overflow(offset, s->numbers[1], &high) || low < 0 || high >= s->numbers[2]) {
    r->status = nxi_fail(
        r->d, NX_INVALID_ARGUMENT, "update",
        "update: an alias range that starts at element %lld leaves the storage of shape [%lld]",
        (long long)offset, (long long)s->numbers[2]);
    return false;
  }
  *to += offset * nxi_dtype_size(s->dtype);
  return true;
}

void nxg_step_move(const nxg_step *s, nxg_run_state *r) {
  const nxg_access *from = &s->args[0];
  if (s->n == 0) return;
  char *to = nxg_address(r, s->to.place);
  if (s->alias_range != UINT32_MAX && !move_to_alias_range(s, r, &to)) return;
  if (from->dense && s->to.dense && from->size) {
    memcpy(to, nxg_address(r, from->place), (size_t)(s->n * from->size));
    return;
  }
  _Alignas(64) char chunk[NXG_CHUNK * 8];
  nxg_cursor source, target;
  nxg_cursor_start(&source, from, nxg_address(r, from->place));
  nxg_cursor_start(&target, &s->to, to);
  for (int64_t done = 0; done < s->n && !nxg_stopped(r); done += NXG_CHUNK) {
    int64_t m = s->n - done < NXG_CHUNK ? s->n - done : NXG_CHUNK;
    nxg_gather(&source, chunk, m);
    nxg_scatter(&target, chunk, m);
  }
}

void nxg_wrap_nibbles(nx_dtype t, void *elements, int64_t n) {
  char *at = elements;
  for (int64_t i = 0; i < n; i++) nxi_store_element(at + i, t, nxi_load_element(at + i, t));
}

void nxg_step_unpack(const nxg_step *s, nxg_run_state *r) {
  if (s->n == 0) return;
  const char *from = nxg_address(r, s->args[0].place);
  char *to = nxg_address(r, s->to.place);
  for (int64_t i = 0; i < s->n; i++) {
    if (i % NXG_CHUNK == 0 && nxg_stopped(r)) return;
    nxi_store_element(to + i, s->dtype, nxi_load_at(from, s->dtype, i));
  }
}

/* Chunks have an even number of elements, so that no byte is in two of them. The half byte after an
 * odd last element is 0. */
void nxg_step_pack(const nxg_step *s, nxg_run_state *r) {
  if (s->n == 0) return;
  char chunk[NXG_CHUNK], *to = nxg_address(r, s->to.place);
  nxg_cursor source;
  nxg_cursor_start(&source, &s->args[0], nxg_address(r, s->args[0].place));
  memset(to, 0, (size_t)nxi_dtype_bytes(s->dtype, s->n));
  for (int64_t done = 0; done < s->n && !nxg_stopped(r); done += NXG_CHUNK) {
    int64_t m = s->n - done < NXG_CHUNK ? s->n - done : NXG_CHUNK;
    nxg_gather(&source, chunk, m);
    for (int64_t i = 0; i < m; i++)
      nxi_store_at(to, s->dtype, done + i, nxi_load_element(chunk + i, s->dtype));
  }
}

void nxg_step_fill(const nxg_step *s, nxg_run_state *r) {
  if (s->n)
    gather_run(s->args[0].size, nxg_address(r, s->to.place), nxg_address(r, s->args[0].place), 0,
               s->n);
}

/* ---- generating */

static uint64_t arange_element(nx_dtype t, uint64_t start, uint64_t step, int64_t i) {
  nx_dtype c = t == NX_BOOL ? NX_I64 : nxi_compute_dtype(t);
  uint64_t product[2] = {nxi_cast_bits((uint64_t)i, NX_I64, c), nxi_cast_bits(step, t, c)};
  uint64_t sum[2] = {nxi_cast_bits(start, t, c), nxk_eval(NXK_mul, c, c, product)};
  return nxi_cast_bits(nxk_eval(NXK_add, c, c, sum), c, t);
}

/* The same for n elements of a usual type. Positions are numbers of 32 bits, whose conversions are
 * vectors. */
#define ARANGES(name, T, C, start, step)                                                  \
  static void arange_##name(void *to, uint64_t from, uint64_t by, int32_t first, int n) { \
    const C x = start(from), d = step(by);                                                \
    T *out = to;                                                                          \
    for (int32_t i = 0; i < n; i++) out[i] = (T)(x + (C)(first + i) * d);                 \
  }
ARANGES(f32, float, float, nxi_f32_bits, nxi_f32_bits)
ARANGES(f64, double, double, nxi_f64_bits, nxi_f64_bits)
ARANGES(i32, uint32_t, uint32_t, (uint32_t), (uint32_t))
ARANGES(i64, uint64_t, uint64_t, , )

static bool arange_quickly(nx_dtype t, void *to, uint64_t start, uint64_t step, int64_t first,
                           int64_t n) {
  if (first + n > INT32_MAX) return false;
  switch (t) {
    case NX_F32: arange_f32(to, start, step, (int32_t)first, (int)n); return true;
    case NX_F64: arange_f64(to, start, step, (int32_t)first, (int)n); return true;
    case NX_I32: arange_i32(to, start, step, (int32_t)first, (int)n); return true;
    case NX_I64: arange_i64(to, start, step, (int32_t)first, (int)n); return true;
    default: return false;
  }
}

void nxg_part_arange(const nxg_step *s, nxg_run_state *r, int64_t first, int64_t n) {
  const uint64_t start = (uint64_t)s->numbers[0], step = (uint64_t)s->numbers[1];
  const int64_t size = nxi_dtype_size(s->result);
  char *to = nxg_address_of(r, s->to.place, first * size);
  if (arange_quickly(s->result, to, start, step, first, n)) return;
  for (int64_t i = 0; i < n; i++)
    nxi_store_element(to + i * size, s->result, arange_element(s->result, start, step, first + i));
}

void nxg_step_arange(const nxg_step *s, nxg_run_state *r) {
  for (int64_t done = 0; done < s->n && !nxg_stopped(r); done += NXG_PIECE_LENGTH)
    nxg_part_arange(s, r, done, s->n - done < NXG_PIECE_LENGTH ? s->n - done : NXG_PIECE_LENGTH);
}

void nxg_step_eye(const nxg_step *s, nxg_run_state *r) {
  int64_t rows = s->numbers[0], columns = s->numbers[1], k = s->numbers[2],
          size = nxi_dtype_size(s->result);
  uint64_t one = nxi_cast_bits(1, NX_I64, s->result);
  if (s->n == 0) return;
  char *to = nxg_address(r, s->to.place);
  memset(to, 0, (size_t)(s->n * size));
  for (int64_t i = 0; i < rows; i++)
    if (k >= -i && k < columns - i)
      nxi_store_element(to + (i * columns + i + k) * size, s->result, one);
}
