/* SPDX-License-Identifier: ISC */
/* Operands: the values that matter to a type, and the same elements behind views of every
 * layout. */
#include "conformance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const layout_names[LAYOUTS] = {"contiguous", "transposed", "sliced",
                                           "stepped",    "flipped",    "broadcast"};

#define ONES8 1, 1, 1, 1, 1, 1, 1, 1
const extent shapes[] = {
    {0, {0}},
    {1, {37}},
    {2, {5, 7}},
    {2, {4, 0}},
    {3, {3, 1, 6}},
    {8, {2, 1, 3, 1, 2, 2, 1, 2}},
    {32, {2, ONES8, ONES8, 3, 1, 1, 1, 1, ONES8, 1, 2}},
};
const size_t n_shapes = sizeof shapes / sizeof *shapes;

/* ---- positions */

void strides_of(int32_t rank, const int64_t *shape, int64_t *strides) {
  int64_t n = 1;
  for (int32_t i = rank; i-- > 0; n *= shape[i]) strides[i] = n;
}

void unravel(size_t position, int32_t rank, const int64_t *shape, int64_t *index) {
  for (int32_t i = rank; i-- > 0; position /= (size_t)shape[i])
    index[i] = (int64_t)(position % (size_t)shape[i]);
}

size_t ravel(int32_t rank, const int64_t *shape, const int64_t *index) {
  size_t position = 0;
  for (int32_t i = 0; i < rank; i++) position = position * (size_t)shape[i] + (size_t)index[i];
  return position;
}

/* ---- values */

uint64_t random_word(uint64_t *state) {
  uint64_t x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static size_t float_corners(nx_dtype dtype, bits *out) {
  const format *f = format_of(dtype);
  long double least = ldexpl(1, f->least_exponent), step = unit_at(dtype, 0),
              one = unit_at(dtype, 1);
  const long double xs[] = {0,    1,          2,       0.5L, 1.5L, 3,        least,
                            step, f->largest, 1 + one, 2.5L, 7,    INFINITY, least - step};
  size_t n = 0;
  for (size_t i = 0; i < sizeof xs / sizeof *xs; i++) {
    out[n++] = encode_real(dtype, xs[i]);
    out[n++] = encode_real(dtype, -xs[i]);
  }
  out[n++] = encode_real(dtype, (long double)NAN);
  return n;
}

static size_t integer_corners(nx_dtype dtype, bits *out) {
  const format *f = format_of(dtype);
  bool is_signed = f->kind == KIND_SIGNED;
  whole above = (whole)1 << (f->bits - is_signed), below = is_signed ? -above : 0;
  const whole xs[] = {0,         1,         2,           3,       below,       below + 1, above - 1,
                      above - 2, above / 2, f->bits - 1, f->bits, f->bits + 1, 10,        -1,
                      -2,        -3,        above / 3,   7,       -7,          5};
  size_t n = sizeof xs / sizeof *xs;
  for (size_t i = 0; i < n; i++) {
    uint64_t low = (uint64_t)wrapped(dtype, xs[i]);
    out[i].low = f->bits == 64 ? low : low & (((uint64_t)1 << f->bits) - 1);
    out[i].high = 0;
  }
  return n;
}

/* Pairs of parts that meet each other's special values. */
static size_t complex_corners(nx_dtype dtype, bits *out) {
  static const double pairs[][2] = {
      {0, 0},        {-0.0, 0},      {0, -0.0},         {-0.0, -0.0},    {1, 0},
      {0, 1},        {-1, 0.0},      {-1, -0.0},        {0, -1},         {1, 1},
      {-2, 3},       {0.5, -0.25},   {3, -4},           {-7, -1},        {40, 0.5},
      {INFINITY, 0}, {-INFINITY, 1}, {0, INFINITY},     {2, -INFINITY},  {INFINITY, INFINITY},
      {NAN, 0},      {0, NAN},       {NAN, NAN},        {INFINITY, NAN}, {NAN, -INFINITY},
      {1e-3, 1e3},   {-1e3, 2e-3},   {0x1p-20, 0x1p-20}};
  size_t n = sizeof pairs / sizeof *pairs;
  for (size_t i = 0; i < n; i++) out[i] = encode(dtype, (value){pairs[i][0], pairs[i][1]});
  return n;
}

size_t corners(nx_dtype dtype, bits *out) {
  switch (format_of(dtype)->kind) {
    case KIND_BOOL:
      out[0] = (bits){0, 0};
      out[1] = (bits){1, 0};
      return 2;
    case KIND_FLOAT: return float_corners(dtype, out);
    case KIND_COMPLEX: return complex_corners(dtype, out);
    default: return integer_corners(dtype, out);
  }
}

/* Bits of any kind, or a number of ordinary size. */
static bits random_bits(nx_dtype dtype, uint64_t *state) {
  const format *f = format_of(dtype), *part = format_of(f->part);
  uint64_t word = random_word(state),
           all = part->bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << part->bits) - 1;
  if (f->kind == KIND_BOOL) return (bits){word >> 40 & 1, 0};
  if (f->kind < KIND_FLOAT) return (bits){word >> (word & 1 ? 0 : 13) & all, 0};
  long double re = ldexpl((long double)(int64_t)random_word(state), -63),
              im = ldexpl((long double)(int64_t)random_word(state), -63);
  int scale = (int)(word % 12) - 4;
  if (f->kind == KIND_COMPLEX)
    return encode(dtype, (value){ldexpl(re, scale), ldexpl(im, (int)(word >> 8) % 12 - 4)});
  if (word & 256) return encode_real(dtype, ldexpl(re, scale));
  return (bits){random_word(state) & all, 0};
}

array *some_values(trial *t, nx_dtype dtype, int32_t rank, const int64_t *shape, unsigned seed) {
  array *a = new_array(t, dtype, rank, shape);
  bits corner[CORNERS];
  size_t n = corners(dtype, corner);
  uint64_t state = seed;
  bool all = format_of(dtype)->bits <= 8 && dtype != NX_BOOL && a->n >= SOME;
  for (size_t i = 0; i < a->n; i++) {
    size_t k = (i * 7 + seed * 5) % a->n; /* small arrays get corners from everywhere */
    if (all) a->at[i] = (bits){(i * 37 + seed) % ((size_t)1 << format_of(dtype)->bits), 0};
    else if (a->n < 2 * CORNERS)
      a->at[i] = k % 2 ? random_bits(dtype, &state) : corner[(k + seed) % n];
    else a->at[i] = k < n ? corner[k] : random_bits(dtype, &state);
  }
  return a;
}

/* Whole numbers of -3 to 3, seldom 0: any sum or product of a few is exact in every type that holds
 * it. */
array *tame_values(trial *t, nx_dtype dtype, int32_t rank, const int64_t *shape, unsigned seed) {
  array *a = new_array(t, dtype, rank, shape);
  uint64_t state = seed;
  for (size_t i = 0; i < a->n; i++) {
    int re = (int)(random_word(&state) % 7) - 3, im = (int)(random_word(&state) % 7) - 3;
    a->at[i] = encode(dtype, (value){re, im});
  }
  return a;
}

/* ---- layouts */

void put_bits(nx_dtype dtype, unsigned char *to, size_t i, bits b) {
  const format *f = format_of(dtype);
  size_t part = (size_t)format_of(f->part)->bits / 8, size = (size_t)f->bits / 8;
  if (f->bits == 4) {
    int shift = i % 2 ? 4 : 0;
    to[i / 2] = (unsigned char)((to[i / 2] & ~(15 << shift)) | (b.low & 15) << shift);
    return;
  }
  memcpy(to + i * size, &b.low, part); /* on little-endian machines */
  if (size > part) memcpy(to + i * size + part, &b.high, part);
}

unsigned char *packed(trial *t, const array *a, size_t *bytes) {
  *bytes = (a->n * nx_dtype_bits(a->dtype) + 7) / 8;
  unsigned char *memory = room(t, *bytes + 1);
  for (size_t i = 0; i < a->n; i++) put_bits(a->dtype, memory, i, a->at[i]);
  return memory;
}

nx_tensor *tensor_of(trial *t, const array *a) {
  size_t bytes;
  unsigned char *memory = packed(t, a, &bytes);
  nx_tensor *x = nx_empty(t->context, t->device, a->dtype, a->shape, a->rank);
  if (x && nx_write(x, memory, bytes, NULL) != NX_OK) return NULL;
  return x;
}

/* Elements of a base in memory, where those of `a` lie in it, and junk elsewhere. */
static array *base_of(trial *t, const array *a, const int64_t *shape, const int64_t *start,
                      const int64_t *step) {
  array *base = some_values(t, a->dtype, a->rank, shape, 99);
  int64_t index[NX_MAX_RANK];
  for (size_t i = 0; i < a->n; i++) {
    unravel(i, a->rank, a->shape, index);
    for (int32_t k = 0; k < a->rank; k++) index[k] = start[k] + index[k] * step[k];
    base->at[ravel(a->rank, shape, index)] = a->at[i];
  }
  return base;
}

/* Slices: of each axis every step-th element. In high ranks only the last two have more. */
static nx_tensor *sliced(trial *t, const array *a, int64_t step) {
  int64_t shape[NX_MAX_RANK], start[NX_MAX_RANK], steps[NX_MAX_RANK];
  for (int32_t i = 0; i < a->rank; i++) {
    bool cut = a->rank < 4 || i >= a->rank - 2;
    steps[i] = cut ? step : 1;
    start[i] = cut;
    shape[i] = start[i] + a->shape[i] * steps[i] + cut;
  }
  return nx_slice(tensor_of(t, base_of(t, a, shape, start, steps)), start, a->shape, steps,
                  (size_t)a->rank);
}

/* Axes in reverse order in memory. */
static nx_tensor *transposed(trial *t, const array *a) {
  int64_t shape[NX_MAX_RANK], index[NX_MAX_RANK], other[NX_MAX_RANK];
  int32_t axes[NX_MAX_RANK];
  for (int32_t i = 0; i < a->rank; i++) {
    shape[i] = a->shape[a->rank - 1 - i];
    axes[i] = a->rank - 1 - i;
  }
  array *base = new_array(t, a->dtype, a->rank, shape);
  for (size_t i = 0; i < a->n; i++) {
    unravel(i, a->rank, a->shape, index);
    for (int32_t k = 0; k < a->rank; k++) other[k] = index[a->rank - 1 - k];
    base->at[ravel(a->rank, shape, other)] = a->at[i];
  }
  return nx_permute(tensor_of(t, base), axes, (size_t)a->rank);
}

static nx_tensor *flipped(trial *t, const array *a) {
  array *base = new_array(t, a->dtype, a->rank, a->shape);
  int32_t axes[NX_MAX_RANK];
  for (int32_t i = 0; i < a->rank; i++) axes[i] = i;
  for (size_t i = 0; i < a->n; i++) base->at[i] = a->at[a->n - 1 - i];
  return nx_flip(tensor_of(t, base), axes, (size_t)a->rank);
}

/* One element stands for all along every other axis, the last one among them. */
static nx_tensor *broadcast(trial *t, array *a) {
  int64_t shape[NX_MAX_RANK], index[NX_MAX_RANK];
  for (int32_t i = 0; i < a->rank; i++)
    shape[i] = (a->rank - 1 - i) % 2 == 0 && a->shape[i] ? 1 : a->shape[i];
  array *base = new_array(t, a->dtype, a->rank, shape);
  for (size_t i = a->n; i-- > 0;) {
    unravel(i, a->rank, a->shape, index);
    for (int32_t k = 0; k < a->rank; k++)
      if (shape[k] == 1) index[k] = 0;
    base->at[ravel(a->rank, shape, index)] = a->at[i];
  }
  for (size_t i = 0; i < a->n; i++) {
    unravel(i, a->rank, a->shape, index);
    for (int32_t k = 0; k < a->rank; k++)
      if (shape[k] == 1) index[k] = 0;
    a->at[i] = base->at[ravel(a->rank, shape, index)];
  }
  return nx_expand(tensor_of(t, base), a->shape, a->rank);
}

nx_tensor *laid_out(trial *t, array *a, layout l) {
  switch (l) {
    case TRANSPOSED: return transposed(t, a);
    case SLICED: return sliced(t, a, 1);
    case STEPPED: return sliced(t, a, 3);
    case FLIPPED: return flipped(t, a);
    case BROADCAST: return broadcast(t, a);
    default: return tensor_of(t, a);
  }
}

bool is_due(const trial *t, size_t k, size_t n) { return t->all || t->turn % n == k; }
