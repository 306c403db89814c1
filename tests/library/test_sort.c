/* SPDX-License-Identifier: ISC */
/* sort, argsort and top_k as library calls, against a merge sort of the numbers that the bits mean:
 * all dtypes, both directions, all lengths up to 70 and long ones, rows along any axis, tasks in
 * any order, with and without vectors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/dtype.h"
#include "ir/library/library.h"
#include "runtime/library/libraries.h"
#include "runtime/library/sort/core.h"
#include "tests/util/runner.h"

static uint64_t seed = 1;
static uint64_t random_bits(void) {
  seed += 0x9e3779b97f4a7c15;
  uint64_t x = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/* ---- what bits mean */

typedef struct number {
  bool nan;
  double re, im; /* of an integer the upper and the lower half */
} number;

typedef struct layout {
  int exponent, mantissa; /* bits; 0: an integer */
  bool sign;
} layout;

static layout layout_of(nx_dtype t) {
  switch (t) {
    case NX_F8E4M3: return (layout){4, 3, true};
    case NX_F8E5M2: return (layout){5, 2, true};
    case NX_F16: return (layout){5, 10, true};
    case NX_BF16: return (layout){8, 7, true};
    case NX_F32:
    case NX_C64: return (layout){8, 23, true};
    case NX_F64:
    case NX_C128: return (layout){11, 52, true};
    default: return (layout){.sign = t == NX_I8 || t == NX_I16 || t == NX_I32 || t == NX_I64};
  }
}

static double decode(nx_dtype t, uint64_t x, bool *nan) {
  const layout l = layout_of(t);
  const uint64_t mantissa = x & (((uint64_t)1 << l.mantissa) - 1);
  const int most = (1 << l.exponent) - 1, exponent = (int)(x >> l.mantissa) & most;
  double v;
  if (exponent == most && t != NX_F8E4M3) {
    *nan = *nan || mantissa != 0;
    v = INFINITY;
  } else {
    *nan = *nan || (t == NX_F8E4M3 && exponent == most && mantissa == 7);
    const int bias = most >> 1, scale = (exponent ? exponent : 1) - bias - l.mantissa;
    v = ldexp((double)(mantissa + (exponent ? (uint64_t)1 << l.mantissa : 0)), scale);
  }
  return x >> (l.mantissa + l.exponent) & 1 ? -v : v;
}

static number number_at(nx_dtype t, const char *at) {
  number x = {0};
  const layout l = layout_of(t);
  const bool pair = t == NX_C64 || t == NX_C128;
  const size_t size = (size_t)nxi_dtype_size(t) / (pair ? 2 : 1);
  uint64_t part[2] = {0, 0};
  memcpy(&part[0], at, size);
  if (pair) memcpy(&part[1], at + size, size);
  if (l.exponent) {
    x.re = decode(t, part[0], &x.nan);
    if (pair) x.im = decode(t, part[1], &x.nan);
    return x;
  }
  if (l.sign && part[0] >> (8 * size - 1)) part[0] |= size < 8 ? UINT64_MAX << 8 * size : 0;
  x.re = l.sign ? (double)((int64_t)part[0] >> 32) : (double)(part[0] >> 32);
  x.im = (double)(part[0] & UINT32_MAX);
  return x;
}

/* Whether b must stand before a, which comes first. */
static bool swapped(const number *a, const number *b, bool descending) {
  if (a->nan || b->nan) return a->nan && !b->nan;
  if (a->re != b->re) return descending ? b->re > a->re : b->re < a->re;
  return descending ? b->im > a->im : b->im < a->im;
}

/* ---- the reference */

static void merge_sort(const number *x, int32_t *order, int32_t *room, int64_t n, bool descending) {
  if (n < 2) return;
  const int64_t half = n / 2;
  merge_sort(x, order, room, half, descending);
  merge_sort(x, order + half, room, n - half, descending);
  memcpy(room, order, (size_t)half * sizeof *room);
  for (int64_t i = 0, j = half, k = 0; i < half; k++) {
    if (j < n && swapped(&x[room[i]], &x[order[j]], descending)) order[k] = order[j++];
    else order[k] = room[i++];
  }
}

/* ---- running a call */

typedef struct shape {
  int64_t outer, length, inner;
} shape;

static bool never(void *user) {
  (void)user;
  return false;
}

static void *memory(int64_t bytes) {
  void *m = aligned_alloc(64, ((size_t)bytes + 64) & ~(size_t)63);
  assert_non_null(m);
  memset(m, 0xa5, (size_t)bytes);
  return m;
}

static int32_t threads; /* that calls are prepared for; 0: any number */

/* Tasks from the last to the first, in pieces, on two threads' memory by turns. */
static void run_phases(const nxg_functions *f, const nxg_call_work *work, nxg_call_part part,
                       int64_t pieces) {
  char *own[2] = {memory(work->own_bytes), memory(work->own_bytes)};
  for (part.phase = 0; part.phase < work->n_phases; part.phase++) {
    const int64_t n = work->tasks[part.phase], step = n / pieces + 1;
    for (part.end = n; part.end > 0; part.end = part.begin) {
      part.begin = part.end > step ? part.end - step : 0;
      part.own = own[part.end & 1];
      assert_int_equal(f->run(&part), NX_OK);
    }
  }
  free(own[0]), free(own[1]);
}

/* The results, which the caller frees. */
static void run_any(nxg_op op, nx_dtype t, shape s, const int64_t *attrs, void *x, int64_t pieces,
                    void **results) {
  const int64_t dims[3] = {s.outer, s.length, s.inner};
  const nxg_type type = {t, 3, dims};
  nxg_call call;
  nxg_call_work work;
  const nxg_functions *f;
  assert_int_equal(nxg_call_infer(op, 1, &type, attrs, nxg_call_attrs(op), &call, NULL), NX_OK);
  assert_int_equal(nxg_call_prepare(&call, &f, &work, threads, NULL, NULL), NX_OK);
  for (uint32_t i = 0; i < call.n_results; i++)
    results[i] = memory(s.outer * call.results[i].shape[1] * s.inner *
                        nxi_dtype_size(call.results[i].dtype));
  void *shared = memory(work.shared_bytes);
  nxg_call_part part = {.call = &call,
                        .state = work.state,
                        .operands = &x,
                        .results = results,
                        .shared = shared,
                        .stopped = never};
  run_phases(f, &work, part, pieces);
  free(shared);
  f->release(work.state);
}

static void *run_call(nxg_op op, nx_dtype t, shape s, bool descending, void *x, int64_t pieces) {
  void *result = NULL;
  run_any(op, t, s, (const int64_t[]){1, descending}, x, pieces, &result);
  return result;
}

/* ---- comparing */

static void check_line(nx_dtype t, shape s, int64_t o, int64_t i, bool descending, const char *x,
                       const char *sorted, const int32_t *places) {
  const size_t size = (size_t)nxi_dtype_size(t), n = (size_t)s.length;
  number *numbers = malloc((n + 1) * sizeof *numbers);
  int32_t *order = malloc((n + 1) * sizeof *order), *room = malloc((n + 1) * sizeof *room);
  const size_t first = (size_t)(o * s.length * s.inner + i), step = (size_t)s.inner;
  for (size_t k = 0; k < n; k++) {
    order[k] = (int32_t)k;
    numbers[k] = number_at(t, x + (first + k * step) * size);
  }
  merge_sort(numbers, order, room, s.length, descending);
  for (size_t k = 0; k < n; k++) {
    const size_t at = first + k * step, from = first + (size_t)order[k] * step;
    if (places[at] != order[k] || memcmp(sorted + at * size, x + from * size, size) != 0)
      fail_msg("%s[%lld,%lld,%lld]%s: element %zu of row %lld, %lld is %d, not %d",
               nxi_dtypes[t].name, (long long)s.outer, (long long)s.length, (long long)s.inner,
               descending ? " descending" : "", k, (long long)o, (long long)i, places[at],
               order[k]);
  }
  free(numbers), free(order), free(room);
}

/* The first ones of the sorted elements, and their places. */
static void check_top(nx_dtype t, shape s, int64_t k, bool descending, void *x, int64_t pieces,
                      const char *sorted, const int32_t *places) {
  const int64_t size = nxi_dtype_size(t), row = k * s.inner, all = s.length * s.inner;
  void *top[2];
  run_any(NXG_top_k, t, s, (const int64_t[]){1, k, descending, 0}, x, pieces, top);
  for (int64_t o = 0; o < s.outer && row > 0; o++)
    if (memcmp((char *)top[0] + o * row * size, sorted + o * all * size, (size_t)(row * size)) ||
        memcmp((int32_t *)top[1] + o * row, places + o * all, (size_t)row * sizeof *places))
      fail_msg("the first %lld of %s[%lld,%lld,%lld]%s: row %lld", (long long)k, nxi_dtypes[t].name,
               (long long)s.outer, (long long)s.length, (long long)s.inner,
               descending ? " descending" : "", (long long)o);
  free(top[0]), free(top[1]);
}

static void check(nx_dtype t, shape s, bool descending, void *x, int64_t pieces) {
  char *sorted = run_call(NXG_sort, t, s, descending, x, pieces);
  int32_t *places = run_call(NXG_argsort, t, s, descending, x, pieces);
  for (int64_t o = 0; o < s.outer; o++)
    for (int64_t i = 0; i < s.inner; i++) check_line(t, s, o, i, descending, x, sorted, places);
  const int64_t k = s.length % 7 == 0 ? s.length / 2 : (s.length + 8) / 9;
  check_top(t, s, k, descending, x, pieces, sorted, places);
  free(sorted), free(places);
}

/* ---- operands */

enum { ANY_BITS, FEW_VALUES, NEAR, SORTED, REVERSED, EQUAL, OUTLIER, MOSTLY_EQUAL, PATTERNS };

/* Of the parts' bits: zeros, NaNs with payloads, infinities, all of both signs. */
static uint64_t special(nx_dtype t, int bits) {
  const layout l = layout_of(t);
  const uint64_t sign = random_bits() << (bits - 1), one = (uint64_t)1;
  if (!l.exponent) return random_bits() % 5 - 2;
  const uint64_t infinity = (((one << l.exponent) - 1) << l.mantissa);
  switch (random_bits() % 6) {
    case 0:
    case 1: return sign;
    case 2: return sign | infinity | random_bits() % 3;
    case 3: return sign | infinity;
    case 4: return sign | infinity >> 2;
    default: return sign | 1;
  }
}

static uint64_t part_bits(nx_dtype t, int bits, int pattern, uint64_t i, uint64_t n) {
  switch (pattern) {
    case FEW_VALUES: return special(t, bits);
    case NEAR: return ((uint64_t)1 << (bits - 3)) + (random_bits() & 15);
    case SORTED: return i * (bits == 8 ? 1 : 7) / (n / 100 + 1);
    case REVERSED: return (n - i) * (bits == 8 ? 1 : 3) / (bits == 8 ? n / 100 + 1 : 1);
    case EQUAL: return (uint64_t)1 << (bits - 4);
    case MOSTLY_EQUAL: return i % 3 ? (uint64_t)1 << (bits - 4) : random_bits();
    case OUTLIER: return i == n / 2 ? ((uint64_t)1 << (bits - 2)) : random_bits() & 255;
    default: return random_bits();
  }
}

static void *operand(nx_dtype t, int64_t n, int pattern) {
  const bool pair = t == NX_C64 || t == NX_C128;
  const int64_t size = nxi_dtype_size(t) / (pair ? 2 : 1), parts = pair ? 2 * n : n;
  char *x = memory(parts * size);
  for (int64_t i = 0; i < parts; i++) {
    uint64_t bits = part_bits(t, 8 * (int)size, pattern, (uint64_t)i, (uint64_t)parts);
    if (pair && i % 2 == 0 && pattern == OUTLIER) bits = random_bits() << (8 * size - 1);
    else if (pair && i % 2 == 0 && pattern != EQUAL && random_bits() % 4)
      bits = special(t, 8 * (int)size);
    memcpy(x + i * size, &bits, (size_t)size);
  }
  return x;
}

static const nx_dtype dtypes[] = {NX_I8,  NX_U8,   NX_I16,    NX_U16,   NX_I32, NX_U32,
                                  NX_I64, NX_U64,  NX_F16,    NX_BF16,  NX_F32, NX_F64,
                                  NX_C64, NX_C128, NX_F8E4M3, NX_F8E5M2};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static void check_new(nx_dtype t, shape s, bool descending, int pattern, int64_t pieces) {
  void *x = operand(t, s.outer * s.length * s.inner, pattern);
  check(t, s, descending, x, pieces);
  free(x);
}

/* ---- the tests; the state says whether vectors are to be avoided */

static void short_rows(void **state) {
  (void)state;
  for (int k = 0; k < DTYPES; k++)
    for (int64_t n = 0; n <= 70; n++) {
      const int pattern = (int)((n + k) % PATTERNS);
      check_new(dtypes[k], (shape){5, n, 1}, n & 1, pattern, 2);
      check_new(dtypes[k], (shape){2, n, 3}, !(n & 1), (pattern + 3) % PATTERNS, 1);
    }
}

/* Enough rows for the longest vectors, and some that fill none; lengths about those at which
 * networks grow. */
static void many_rows(void **state) {
  static const int64_t lengths[] = {2,  3,  4,  5,  7,   8,   9,   10,  15,  16,  17,  24,  25,  31,
                                    33, 47, 64, 65, 100, 127, 128, 129, 250, 257, 511, 600, 1024};
  (void)state;
  for (int k = 0; k < DTYPES; k++)
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
      check_new(dtypes[k], (shape){33 + (int64_t)(i % 7), lengths[i], 1}, (i + (size_t)k) & 1,
                (int)(i + (size_t)k) % PATTERNS, 2);
}

static void long_rows(void **state) {
  (void)state;
  for (int k = 0; k < DTYPES; k++)
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
      const int64_t n = 71 + (int64_t)(random_bits() % 700);
      check_new(dtypes[k], (shape){3, n, 1}, pattern & 1, pattern, 3);
      check_new(dtypes[k], (shape){2, n, 1}, !(pattern & 1), pattern, 1);
      check_new(dtypes[k], (shape){1, 4000 + n, 1}, k & 1, pattern, 1);
    }
}

static uint32_t median(uint32_t x, uint32_t y, uint32_t z) {
  const uint32_t low = x < y ? x : y, high = x < y ? y : x, upper = high < z ? high : z;
  return low < upper ? upper : low;
}

/* Numbers from which the quicksort takes but a few at a time: those that it looks for a median
 * among are the least that are left. at: which numbers are left, in order. */
static void resist_partitions(uint32_t *x, int64_t n) {
  int64_t *at = memory(n * (int64_t)sizeof *at);
  uint32_t next = 1;
  for (int64_t i = 0; i < n; i++) at[i] = i, x[i] = 1u << 31 | (uint32_t)random_bits();
  for (int round = 0; round < 40; round++) {
    uint32_t some[9];
    for (int i = 0; i < 9; i++) {
      uint32_t *one = &x[at[n / 9 * i]];
      some[i] = *one = *one < next ? *one : next++;
    }
    for (int i = 0; i < 3; i++) some[i] = median(some[3 * i], some[3 * i + 1], some[3 * i + 2]);
    const uint32_t pivot = median(some[0], some[1], some[2]);
    int64_t left = 0;
    for (int64_t i = 0; i < n; i++)
      if (x[at[i]] >= pivot) at[left++] = at[i];
    n = left;
  }
  free(at);
}

/* One row at a time, so that none is sorted beside others: few elements more than networks sort,
 * lengths at which the choice of pivots changes, values that no pivot divides. */
static void partitions(void **state) {
  static const int64_t lengths[] = {33,  63,  64,  65,  66,  96,  127, 128,  129,  130,  200,
                                    255, 256, 257, 258, 300, 513, 700, 2047, 2048, 2049, 5000};
  static const nx_dtype kinds[] = {NX_I32, NX_F32, NX_U64, NX_F64, NX_I16};
  (void)state;
  for (int k = 0; k < 5; k++)
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
      check_new(kinds[k], (shape){1, lengths[i], 1}, i & 1, ANY_BITS, 1);
      check_new(kinds[k], (shape){1, lengths[i], 1}, i & 1, MOSTLY_EQUAL, 1);
      check_new(kinds[k], (shape){1, lengths[i], 1}, !(i & 1), FEW_VALUES, 1);
    }
  uint32_t *x = memory(2000 * (int64_t)sizeof *x);
  resist_partitions(x, 2000);
  check(NX_U32, (shape){1, 2000, 1}, false, x, 1);
  free(x);
}

static void columns(void **state) {
  (void)state;
  for (int k = 0; k < DTYPES; k++) {
    check_new(dtypes[k], (shape){2, 300, 67}, k & 1, k % PATTERNS, 3);
    check_new(dtypes[k], (shape){1, 65, 5}, !(k & 1), (k + 1) % PATTERNS, 2);
  }
  check_new(NX_F32, (shape){1, 9000, 33}, false, ANY_BITS, 4);
}

/* All threads at one row. */
static void one_row(void **state) {
  (void)state;
  for (int k = 0; k < DTYPES; k++)
    for (int pattern = k % 3; pattern < PATTERNS; pattern += 3)
      check_new(dtypes[k], (shape){1, (1 << 16) + pattern * 999, 1}, (pattern + k) % 3 == 0,
                pattern, 7);
  check_new(NX_F32, (shape){2, 70000, 2}, true, FEW_VALUES, 7);
  check_new(NX_F32, (shape){1, 500000, 1}, false, ANY_BITS, 20);
  check_new(NX_C128, (shape){1, 150000, 1}, false, EQUAL, 20);
  check_new(NX_C128, (shape){1, 100000, 1}, true, OUTLIER, 20); /* all real parts are 0 */
  check_new(NX_F64, (shape){1, 150000, 1}, true, OUTLIER, 20);
}

/* Long rows of 8 and 16 bits: zeros of both signs, several NaNs, in some blocks and in one. */
static void counted_rows(void **state) {
  static const nx_dtype kinds[] = {NX_F16, NX_BF16, NX_F8E4M3, NX_F8E5M2, NX_I16, NX_U8};
  (void)state;
  for (int k = 0; k < 6; k++) {
    check_new(kinds[k], (shape){1, 70000, 1}, k & 1, ANY_BITS, 7);
    check_new(kinds[k], (shape){1, 66000, 1}, !(k & 1), FEW_VALUES, 3);
    check_new(kinds[k], (shape){1, 65536, 1}, k & 1, MOSTLY_EQUAL, 1);
  }
  check_new(NX_BF16, (shape){1, 300000, 1}, true, ANY_BITS, 2);
  check_new(NX_F16, (shape){1, 300000, 1}, false, FEW_VALUES, 7);
  check_new(NX_F16, (shape){2, 65600, 2}, false, ANY_BITS, 7);
}

/* So many elements with the greatest of all keys that these are a bucket, the last one. */
static void greatest_keys(void **state) {
  enum { N = 200000 };
  static const nx_dtype kinds[] = {NX_U32, NX_I32, NX_F32, NX_U64, NX_F64};
  (void)state;
  for (int k = 0; k < 5; k++) {
    const int64_t size = nxi_dtype_size(kinds[k]);
    const uint64_t greatest = kinds[k] == NX_I32 ? INT32_MAX : UINT64_MAX; /* a NaN of floats */
    char *x = operand(kinds[k], N, ANY_BITS);
    for (int64_t i = 0; i < N; i++)
      if (random_bits() & 1) memcpy(x + i * size, &greatest, (size_t)size);
    check(kinds[k], (shape){1, N, 1}, false, x, 7);
    check(kinds[k], (shape){1, N, 1}, true, x, 7);
    free(x);
  }
}

/* So many of 64 bits that they are dealt by partitions, many of them the greatest: in order, and
 * the numbers that there were. */
static void dealt(void **state) {
  enum { N = (1 << 22) + 77 };
  (void)state;
  uint64_t *x = memory(N * (int64_t)sizeof *x), sum = 0;
  for (int64_t i = 0; i < N; i++) {
    x[i] = random_bits() % 3 ? random_bits() : UINT64_MAX;
    sum += x[i] * x[i] * x[i];
  }
  for (int descending = 0; descending < 2; descending++) {
    uint64_t *sorted = run_call(NXG_sort, NX_U64, (shape){1, N, 1}, descending, x, 7), got = 0;
    for (int64_t i = 0; i < N; i++) {
      got += sorted[i] * sorted[i] * sorted[i];
      if (i > 0 && (descending ? sorted[i - 1] < sorted[i] : sorted[i - 1] > sorted[i]))
        fail_msg("number %lld is out of order", (long long)i);
    }
    assert_true(got == sum);
    free(sorted);
  }
  free(x);
}

/* Rows that are too long for the cache, a thread each. */
static void cut_rows(void **state) {
  (void)state;
  check_new(NX_F64, (shape){16, 132000, 1}, false, ANY_BITS, 3);
  check_new(NX_C128, (shape){1, 66000, 16}, true, FEW_VALUES, 3);
}

/* ---- stopping: a task that is told to stop leaves soon, and touches nothing outside */

static int asked;
static bool after_three(void *user) {
  (void)user;
  return ++asked > 3;
}

static void stopped(void **state) {
  (void)state;
  const int64_t dims[3] = {16, 400000, 1}, attrs[2] = {1, 0};
  const nxg_type type = {NX_F64, 3, dims};
  nxg_call call;
  nxg_call_work work;
  const nxg_functions *f;
  void *x = operand(NX_F64, 16 * 400000, ANY_BITS), *result = memory(16 * 400000 * 8);
  assert_int_equal(nxg_call_infer(NXG_sort, 1, &type, attrs, 2, &call, NULL), NX_OK);
  assert_int_equal(nxg_call_prepare(&call, &f, &work, threads, NULL, NULL), NX_OK);
  nxg_call_part part = {.call = &call,
                        .state = work.state,
                        .end = 1,
                        .operands = &x,
                        .results = &result,
                        .shared = memory(work.shared_bytes),
                        .own = memory(work.own_bytes),
                        .stopped = after_three};
  asked = 0;
  assert_int_equal(f->run(&part), NX_OK);
  assert_in_range(asked, 4, 40);
  f->release(work.state);
  free(part.shared), free(part.own), free(x), free(result);
}

static int with_vectors(void **state) {
  (void)state;
  threads = 0;
  nxi_use_libraries();
  nxi_sort_set_most(64);
  nxi_sort_set_compresses(SORT_COMPRESSES);
  return 0;
}
/* One, which sorts long rows by partitions alone. */
static int with_one_thread(void **state) {
  with_vectors(state);
  threads = 1;
  return 0;
}
static int with_tables(void **state) {
  with_vectors(state);
  nxi_sort_set_compresses(SORT_TABLE);
  return 0;
}
static int with_words(void **state) {
  with_vectors(state);
  nxi_sort_set_compresses(SORT_COMPRESSES_WORDS);
  return 0;
}
static int with_short_vectors(void **state) {
  (void)state;
  nxi_use_libraries();
  nxi_sort_set_most(32);
  return 0;
}
static int without_vectors(void **state) {
  (void)state;
  nxi_use_libraries();
  nxi_sort_set_most(0);
  return 0;
}

NXT_MAIN(sort) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(short_rows), cmocka_unit_test(many_rows),   cmocka_unit_test(long_rows),
      cmocka_unit_test(columns),    cmocka_unit_test(one_row),     cmocka_unit_test(cut_rows),
      cmocka_unit_test(partitions), cmocka_unit_test(stopped),     cmocka_unit_test(greatest_keys),
      cmocka_unit_test(dealt),      cmocka_unit_test(counted_rows)};
  const struct CMUnitTest alone[] = {cmocka_unit_test(one_row), cmocka_unit_test(stopped),
                                     cmocka_unit_test(greatest_keys), cmocka_unit_test(dealt)};
  const struct CMUnitTest rows[] = {cmocka_unit_test(short_rows), cmocka_unit_test(many_rows),
                                    cmocka_unit_test(partitions)};
  int failed = cmocka_run_group_tests_name("with vectors", tests, with_vectors, NULL);
  failed += cmocka_run_group_tests_name("with one thread", alone, with_one_thread, NULL);
  failed += cmocka_run_group_tests_name("with vectors and tables", rows, with_tables, NULL);
  failed += cmocka_run_group_tests_name("with vectors and digits", rows, with_words, NULL);
  nxi_sort_set_compresses(-1);
  failed += cmocka_run_group_tests_name("with vectors of 32 bytes", rows, with_short_vectors, NULL);
  return failed + cmocka_run_group_tests_name("without", tests, without_vectors, NULL);
}
