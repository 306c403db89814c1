/* SPDX-License-Identifier: ISC */
/* sort_rows.cuh and sort.cuh on this processor (cuda_host.h), every kind of number, against a
 * stable sort of the numbers that the bits mean. What the runtime makes of them is for
 * library/test_cuda_sort.c. */
#include "tests/cuda/fake/cuda_host.h"

#include <algorithm>
#include <vector>

#include "codegen_cuda/prelude.cuh"

#include "codegen_cuda/sort_keys.cuh"

#include "codegen_cuda/sort.cuh"
#include "codegen_cuda/sort_rows.cuh"

template <class R, bool FLOATS, bool INDICES, int THREADS, int ITEMS, class To>
void short_rows(const R *from, To *to, nx_rows rows, nx_order o) {
  nx_sort_rows<R, FLOATS, INDICES, THREADS, ITEMS>(from, to, rows, o, nx_shared);
}
template <class R, bool FLOATS, bool INDICES, int E, int LANES, class To>
void lanes(const R *from, To *to, nx_i64 rows, int length, nx_order o) {
  nx_sort_lanes<R, FLOATS, INDICES, 64, E, LANES>(from, to, rows, length, o, nx_shared);
}
template <class R, bool FLOATS, bool INDICES, int ITEMS, class To>
void block(const R *from, To *to, nx_i64 rows, int length, nx_order o) {
  nx_sort_block<R, FLOATS, INDICES, 256, ITEMS>(from, to, rows, length, o, nx_shared);
}
template <class R, bool FLOATS, class C>
void count(const R *from, C *counts, nx_i64 rows, nx_i64 length, nx_i64 piece, nx_order o) {
  nx_sort_count<R, FLOATS>(from, counts, rows, length, piece, o, (nx_u32 *)nx_shared);
}
template <class C> void begin(C *counts, nx_u32 *passes, nx_i64 rows, nx_i64 length, int bytes) {
  nx_sort_begin(counts, passes, rows, length, bytes, nx_shared);
}
template <class R, bool FLOATS, bool INDICES, class C> void pass(nx_pass<R, C> p, nx_order o) {
  nx_sort_pass<R, FLOATS, INDICES, C>(p, o, nx_shared);
}
template <class R> void turn(const R *from, R *to, nx_i64 groups, nx_i64 rows, nx_i64 columns) {
  nx_turn(from, to, groups, rows, columns, (R *)nx_shared);
}

static uint64_t seed = 1;
static int failures;

static uint64_t draw() {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return seed >> 33 ^ seed << 20;
}

/* ---- what the bits mean */

struct number {
  bool nan;
  long double re, im;
};

static long double small_float(unsigned bits, int exponent, int mantissa, bool *nan) {
  const int bias = (1 << (exponent - 1)) - 1, e = bits >> mantissa & ((1 << exponent) - 1),
            m = bits & ((1 << mantissa) - 1), width = 1 + exponent + mantissa;
  const bool e4m3 = exponent == 4;
  long double v = e == 0 ? std::ldexp((long double)m, 1 - bias - mantissa)
                         : std::ldexp((long double)(m + (1 << mantissa)), e - bias - mantissa);
  if (e4m3) *nan = (bits & 127) == 127;
  else if (e == (1 << exponent) - 1) *nan = m != 0, v = INFINITY;
  return bits >> (width - 1) & 1 ? -v : v;
}

enum kind { UNSIGNED, SIGNED, FLOAT, F16, BF16, E4M3, E5M2 };

template <class R> static number meaning(R x, kind k) {
  number n = {false, 0, 0};
  if (k == UNSIGNED) n.re = x;
  else if (k == SIGNED)
    n.re = (long double)((int64_t)((uint64_t)x << (64 - 8 * sizeof(R))) >> (64 - 8 * sizeof(R)));
  else if (k == F16) n.re = small_float(x, 5, 10, &n.nan);
  else if (k == BF16) n.re = small_float(x, 8, 7, &n.nan);
  else if (k == E4M3) n.re = small_float(x, 4, 3, &n.nan);
  else if (k == E5M2) n.re = small_float(x, 5, 2, &n.nan);
  else if constexpr (sizeof(R) == 4) n.re = nx_bitcast<float>(x);
  else if constexpr (sizeof(R) == 8) n.re = nx_bitcast<double>(x);
  n.nan = n.nan || n.re != n.re;
  return n;
}
static number meaning(nx_pair32 x, kind) {
  const number re = meaning(x.re, FLOAT), im = meaning(x.im, FLOAT);
  return {re.nan || im.nan, re.re, im.re};
}
static number meaning(nx_pair64 x, kind) {
  const number re = meaning(x.re, FLOAT), im = meaning(x.im, FLOAT);
  return {re.nan || im.nan, re.re, im.re};
}

template <class R> constexpr int part_bits() {
  return std::is_same<R, nx_pair32>::value ? 32 : sizeof(R) == 16 ? 64 : 8 * (int)sizeof(R);
}

static nx_order order_of(kind k, int bits, bool descending) {
  const nx_u64 all = ~0ull >> (64 - bits), sign = all ^ all >> 1;
  nx_order o = {descending ? all : 0, 0};
  if (k == SIGNED) o.flip ^= sign;
  o.largest = k == E4M3    ? 0x7e
              : k == E5M2  ? 0x7c
              : k == F16   ? 0x7c00
              : k == BF16  ? 0x7f80
              : bits == 32 ? 0x7f800000
                           : 0x7ff0000000000000ull;
  return o;
}

/* ---- numbers of which many are equal, zeros of both signs, NaNs */

template <class R> static R any(kind k) {
  const nx_u64 sign = 1ull << (8 * sizeof(R) - 1), most = order_of(k, 8 * sizeof(R), false).largest;
  switch (draw() % 6) {
    case 0: return (R)(draw() % 2 * sign); /* zeros */
    case 1: return k <= SIGNED ? (R)(0 - draw() % 2) : (R)(most | draw() % 2 * sign);
    case 2: return k <= SIGNED ? (R)sign : (R)(draw() | most | 1); /* NaNs, most of them */
    case 3: return (R)(draw() % 5);
    default: return (R)(draw() ^ draw() << 24);
  }
}
template <> nx_pair32 any(kind) { return {any<nx_u32>(FLOAT), any<nx_u32>(FLOAT)}; }
template <> nx_pair64 any(kind) { return {any<nx_u64>(FLOAT), any<nx_u64>(FLOAT)}; }

/* Of rows like memory of a GPU: elements of nobody before and after. */
template <class T> struct guarded {
  std::vector<T> all;
  size_t n;
  explicit guarded(size_t size) : all(size + 16), n(size) {
    memset((void *)all.data(), 0xa5, all.size() * sizeof(T));
  }
  T *data() { return all.data() + 8; }
  ~guarded() {
    const unsigned char *low = (const unsigned char *)all.data(),
                        *high = (const unsigned char *)(all.data() + 8 + n);
    for (size_t i = 0; i < 8 * sizeof(T); i++) failures += low[i] != 0xa5 || high[i] != 0xa5;
  }
};

/* ---- checking */

template <class R>
static void check(const char *what, const R *x, const R *sorted, const int *places, kind k,
                  bool descending, const nx_rows &s) {
  const int shown = failures;
  for (nx_i64 row = 0; row < s.groups * s.rows; row++) {
    const nx_i64 base = row / s.rows * s.group_step + row % s.rows * s.row_step;
    std::vector<int> wanted(s.length);
    for (int i = 0; i < s.length; i++) wanted[i] = i;
    std::stable_sort(wanted.begin(), wanted.end(), [&](int a, int b) {
      number m = meaning(x[base + a * s.step], k), n = meaning(x[base + b * s.step], k);
      if (m.nan || n.nan) return !m.nan;
      if (m.re != n.re) return descending ? m.re > n.re : m.re < n.re;
      return descending ? m.im > n.im : m.im < n.im;
    });
    for (int i = 0; i < s.length && failures == shown; i++) {
      const nx_i64 at = base + i * s.step;
      if (places[at] == wanted[i] &&
          memcmp(&sorted[at], &x[base + wanted[i] * s.step], sizeof(R)) == 0)
        continue;
      failures++;
      printf("%s: %zu bytes, kind %d, %s, row %lld of %d elements: wrong at %d\n", what, sizeof(R),
             (int)k, descending ? "down" : "up", row, s.length, i);
    }
  }
}

/* ---- short rows */

static unsigned some_blocks() { return 1 + (unsigned)(draw() % 4); }

template <class R, bool FLOATS, int THREADS>
static void try_short(kind k, bool descending, nx_rows s) {
  enum { ITEMS = sizeof(R) == 16 ? 4 : 8 };
  for (s.shift = ITEMS == 4 ? 2 : 3; 1 << s.shift < s.length;) s.shift++;
  nx_order o = order_of(k, part_bits<R>(), descending);
  s.group_step = s.length * s.rows;
  const size_t n = (size_t)(s.groups * s.group_step);
  guarded<R> x(n), sorted(n);
  guarded<int> places(n);
  for (size_t i = 0; i < n; i++) x.data()[i] = any<R>(k);
  const R *from = x.data();
  R *to = sorted.data();
  int *at = places.data();
  void *values[] = {&from, &to, &s, &o}, *other[] = {&from, &at, &s, &o};
  nx_host_launch<&short_rows<R, FLOATS, false, THREADS, ITEMS, R>>(values, some_blocks(), THREADS,
                                                                   0, draw());
  nx_host_launch<&short_rows<R, FLOATS, true, THREADS, ITEMS, int>>(other, some_blocks(), THREADS,
                                                                    0, draw());
  check("short", from, to, at, k, descending, s);
}

static nx_rows together(nx_i64 rows, int length) { return {1, rows, 0, length, 1, length, 0}; }
static nx_rows apart(nx_i64 groups, nx_i64 rows, int length) {
  return {groups, rows, 0, 1, rows, length, 0};
}

template <class R, bool FLOATS> static void try_all_short(kind k) {
  const int items = sizeof(R) == 16 ? 4 : 8, few = 128 * items, many = 512 * items;
  const int lengths[] = {1, 2, 8, 9, 31, 32, 33, 100};
  for (int length : lengths)
    try_short<R, FLOATS, 128>(k, draw() % 2, together(2 * few / length + 3, length));
  try_short<R, FLOATS, 128>(k, true, together(3, few - 1));
  try_short<R, FLOATS, 128>(k, false, together(2, few));
  try_short<R, FLOATS, 128>(k, true, apart(2, 37, 21));
  try_short<R, FLOATS, 512>(k, false, together(2, few + 1));
  try_short<R, FLOATS, 512>(k, true, together(1, many));
}

/* ---- rows by lanes and by blocks */

/* What many elements of a row are; FEW: zeros, NaNs, and few numbers. */
enum pattern { FEW, EQUAL, TWO, RISING, FALLING, LAST_ONES, PATTERNS };

template <class R> static void draw_pattern(R *x, nx_i64 n, int length, kind k, int pattern) {
  const R a = any<R>(k), b = any<R>(k);
  for (nx_i64 i = 0; i < n; i++) {
    const nx_i64 at = pattern == FALLING ? length - i % length : i % length;
    x[i] = pattern == EQUAL                            ? a
           : pattern == TWO                            ? (draw() % 2 ? a : b)
           : pattern == LAST_ONES && draw() % 8        ? (R) ~(R)0
           : (pattern == RISING || pattern == FALLING) ? (R)(at * 3)
                                                       : any<R>(k);
  }
}

template <class R, bool FLOATS, int E, int LANES, int ITEMS>
static void try_rows(const char *what, kind k, bool descending, nx_i64 rows, int length,
                     int pattern) {
  nx_order o = order_of(k, part_bits<R>(), descending);
  const size_t n = (size_t)(rows * length);
  guarded<R> x(n), sorted(n);
  guarded<int> places(n);
  draw_pattern(x.data(), (nx_i64)n, length, k, pattern);
  const R *from = x.data();
  R *to = sorted.data();
  int *at = places.data();
  void *values[] = {&from, &to, &rows, &length, &o}, *other[] = {&from, &at, &rows, &length, &o};
  if constexpr (ITEMS > 0) {
    nx_host_launch<&block<R, FLOATS, false, ITEMS, R>>(values, some_blocks(), 256, 0, draw());
    nx_host_launch<&block<R, FLOATS, true, ITEMS, int>>(other, some_blocks(), 256, 0, draw());
  } else {
    nx_host_launch<&lanes<R, FLOATS, false, E, LANES, R>>(values, some_blocks(), 64, 0, draw());
    if constexpr (sizeof(R) < 8)
      nx_host_launch<&lanes<R, FLOATS, true, E, LANES, int>>(other, some_blocks(), 64, 0, draw());
    else /* there are no words for indices of these */
      nx_host_launch<&block<R, FLOATS, true, 4, int>>(other, some_blocks(), 256, 0, draw());
  }
  check(what, from, to, at, k, descending, nx_rows{1, rows, 0, length, 1, length, 0});
}

template <class R, bool FLOATS> static void try_all_rows(kind k) {
  for (int p = 0; p < PATTERNS; p++) {
    const bool down = draw() % 2;
    try_rows<R, FLOATS, 8, 1, 0>("lanes", k, down, 40 + (int)(draw() % 60), 2 + (int)(draw() % 7),
                                 p);
    try_rows<R, FLOATS, 8, 4, 0>("lanes", k, !down, 21, 17 + (int)(draw() % 16), p);
  }
  try_rows<R, FLOATS, 32, 32, 0>("lanes", k, true, 3, 1000, FEW);
  try_rows<R, FLOATS, 32, 32, 0>("lanes", k, false, 2, 1024, TWO);
  for (int p = 0; p < PATTERNS; p += 2)
    try_rows<R, FLOATS, 0, 0, 4>("block", k, p == TWO, 2, 1000 + (int)(draw() % 25), p);
}

/* ---- long rows */

template <class R, bool FLOATS, class C>
static void try_long(kind k, bool descending, nx_i64 rows, nx_i64 length, nx_i64 constant) {
  enum {
    TILE = nx_sort_sizes<R, false>::TILE,
    LEAST = nx_sort_sizes<R, true>::TILE,
    BYTES = sizeof(R)
  };
  const size_t n = (size_t)(rows * length);
  nx_order o = order_of(k, part_bits<R>(), descending);
  nx_u32 most_tiles = (nx_u32)((length + LEAST - 1) / LEAST);
  guarded<R> x(n), sorted(n), other(n), even(n), odd(n);
  guarded<int> places(n), other_places(n);
  for (size_t i = 0; i < n; i++) x.data()[i] = any<R>(k);
  if (constant >= 0) /* of one row: no byte, or the higher ones, differ */
    for (nx_i64 i = 0; i < length; i++) {
      R *own = &x.data()[constant * length + i];
      memset(own, 0, sizeof(R));
      if (constant > 0) *(nx_u8 *)own = (nx_u8)draw();
    }
  const R *from = x.data();
  for (int indices = 0; indices < 2; indices++) {
    guarded<C> starts((size_t)rows * BYTES * 256), looks((size_t)rows * most_tiles * 256 * BYTES);
    guarded<nx_u32> passes((size_t)rows);
    nx_u32 tickets[BYTES] = {0};
    memset(starts.data(), 0, starts.n * sizeof(C)), memset(looks.data(), 0, looks.n * sizeof(C));
    C *counts = starts.data();
    nx_u32 *which = passes.data();
    const int tile = indices ? LEAST : TILE;
    nx_u32 tiles = (nx_u32)((length + tile - 1) / tile);
    nx_i64 piece = 3000;
    int bytes = BYTES;
    void *counted[] = {&from, &counts, &rows, &length, &piece, &o},
         *begun[] = {&counts, &which, &rows, &length, &bytes};
    nx_host_launch<&count<R, FLOATS, C>>(counted, some_blocks(), NX_SORT_THREADS, 0, draw());
    nx_host_launch<&begin<C>>(begun, some_blocks(), 256, 0, draw());
    for (int b = 0; b < BYTES; b++) {
      nx_pass<R, C> p = {from,
                         even.data(),
                         odd.data(),
                         sorted.data(),
                         other.data(),
                         counts,
                         which,
                         looks.data() + (size_t)rows * tiles * 256 * b,
                         &tickets[b],
                         rows,
                         length,
                         tiles,
                         b};
      if (indices) p.to = places.data(), p.other = other_places.data();
      void *values[] = {&p, &o};
      if (indices) nx_host_launch<&pass<R, FLOATS, true, C>>(values, 4, NX_SORT_THREADS, 0, draw());
      else nx_host_launch<&pass<R, FLOATS, false, C>>(values, 4, NX_SORT_THREADS, 0, draw());
    }
  }
  check("long", from, sorted.data(), places.data(), k, descending, together(rows, (int)length));
}

/* ---- all */

template <class R> static void try_turn(nx_i64 groups, nx_i64 rows, nx_i64 columns) {
  const size_t n = (size_t)(groups * rows * columns);
  guarded<R> x(n), y(n);
  for (size_t i = 0; i < n; i++) x.data()[i] = any<R>(FLOAT);
  const R *from = x.data();
  R *to = y.data();
  void *values[] = {&from, &to, &groups, &rows, &columns};
  nx_host_launch<&turn<R>>(values, some_blocks(), 256, 0, draw());
  for (nx_i64 g = 0; g < groups; g++)
    for (nx_i64 i = 0; i < rows; i++)
      for (nx_i64 j = 0; j < columns; j++)
        failures += memcmp(&from[(g * rows + i) * columns + j], &to[(g * columns + j) * rows + i],
                           sizeof(R)) != 0;
}

int main() {
  try_all_short<nx_u8, false>(UNSIGNED);
  try_all_short<nx_u8, false>(SIGNED);
  try_all_short<nx_u8, true>(E4M3);
  try_all_short<nx_u8, true>(E5M2);
  try_all_short<nx_u16, false>(SIGNED);
  try_all_short<nx_u16, true>(F16);
  try_all_short<nx_u16, true>(BF16);
  try_all_short<nx_u32, false>(UNSIGNED);
  try_all_short<nx_u32, true>(FLOAT);
  try_all_short<nx_u64, false>(SIGNED);
  try_all_short<nx_u64, true>(FLOAT);
  try_all_short<nx_pair32, true>(FLOAT);
  try_all_short<nx_pair64, true>(FLOAT);
  try_all_rows<nx_u8, false>(SIGNED);
  try_all_rows<nx_u16, true>(F16);
  try_rows<nx_u32, false, 16, 32, 0>("lanes", SIGNED, true, 3, 511, LAST_ONES);
  try_all_rows<nx_u32, true>(FLOAT);
  try_rows<nx_u64, false, 8, 8, 0>("lanes", UNSIGNED, false, 9, 64, LAST_ONES);
  try_all_rows<nx_u64, true>(FLOAT);
  try_long<nx_u8, false, nx_u32>(SIGNED, true, 1, 5 * nx_sort_sizes<nx_u8, false>::TILE + 1, -1);
  try_long<nx_u16, true, nx_u32>(F16, false, 1, nx_sort_sizes<nx_u16, false>::TILE + 8191, -1);
  try_long<nx_u32, true, nx_u64>(FLOAT, true, 3, 100, 0);
  try_long<nx_u32, false, nx_u32>(UNSIGNED, false, 3, nx_sort_sizes<nx_u32, false>::TILE, 1);
  try_long<nx_u64, true, nx_u32>(FLOAT, true, 1, nx_sort_sizes<nx_u64, false>::TILE + 1, -1);
  try_long<nx_pair32, true, nx_u32>(FLOAT, false, 1, 2000, -1);
  try_long<nx_pair64, true, nx_u32>(FLOAT, true, 1, nx_sort_sizes<nx_pair64, false>::TILE - 1, -1);
  try_turn<nx_u32>(2, 70, 33);
  try_turn<nx_pair64>(1, 1, 65);
  if (failures == 0) printf("all sorted\n");
  return failures != 0;
}
