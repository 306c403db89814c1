/* SPDX-License-Identifier: ISC */
/* Products with windows of an image, against chains of fma over the windows' elements by their
 * definition, bit for bit: every set of loops that this machine has, strides, dilations, zeros
 * around, tiles that begin and end in the middle of lines and images, pieces of the inner extent,
 * images that lie channels first and last, and whose places lie in another order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/target.h"
#include "runtime/library/floats/windows.h"
#include "tests/util/runner.h"

/* Images [groups, images, channels, size], of which groups are a batch; `rows` rows of A. */
typedef struct problem {
  int64_t groups, images, channels, size[2], taps[2], stride[2], dilation[2], before[2], after[2];
  int64_t rows, tile[2]; /* the tile's first column and how many there are; 0: all */
  int64_t piece[2];      /* the same of the inner extent */
  bool channels_last, taps_first;
} problem;

static const problem problems[] = {
    {1, 2, 3, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 5, {0}, {0}, false, false},
    {2, 3, 4, {10, 60}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 9, {37, 900}, {0}, false, false},
    {1, 1, 2, {6, 70}, {3, 5}, {1, 1}, {1, 1}, {1, 2}, {1, 2}, 70, {0}, {0}, false, false},
    {1,
     2,
     5,
     {23, 45},
     {7, 7},
     {2, 2},
     {1, 1},
     {3, 3},
     {3, 3},
     13,
     {11, 300},
     {50, 80},
     false,
     false},
    {2, 2, 3, {17, 40}, {3, 4}, {3, 2}, {2, 1}, {0, 5}, {4, 0}, 6, {0}, {7, 13}, false, false},
    {1, 1, 3, {20, 37}, {5, 5}, {2, 3}, {1, 1}, {0, 0}, {2, 9}, 8, {0}, {0}, false, false},
    {1, 2, 4, {12, 19}, {3, 3}, {1, 1}, {2, 3}, {2, 30}, {2, 3}, 17, {0}, {0}, true, true},
    {3, 1, 2, {1, 130}, {1, 9}, {1, 4}, {1, 1}, {0, 4}, {0, 4}, 4, {3, 20}, {0}, true, true},
    {1, 2, 3, {12, 60}, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, 9, {7, 70}, {0}, false, false},
    {2, 1, 2, {11, 151}, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 17, {0}, {0}, false, false},
    {1, 3, 2, {5, 32}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 70, {20, 300}, {0}, false, false},
    {1, 1, 2, {9, 9}, {2, 3}, {4, 2}, {2, 2}, {1, 0}, {1, 0}, 3, {0}, {0}, true, false},
    /* strips that are copied by the first rows of each 64 */
    {1, 1, 30, {4, 45}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 67, {9, 150}, {0}, false, false},
    {1, 1, 31, {3, 32}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 69, {0}, {0}, true, true},
    {1, 1, 60, {8, 33}, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 20, {0}, {100, 400}, false, false},
};

/* Of a line, in memory: as they are, the other way round, or all at one place. */
typedef enum places { FORWARDS, BACKWARDS, REPEATED, PLACES } places;
static places in_memory; /* of the problem that is checked */

static int64_t count(const problem *q, int axis) {
  return (q->size[axis] + q->before[axis] + q->after[axis] -
          (q->taps[axis] - 1) * q->dilation[axis] - 1) /
             q->stride[axis] +
         1;
}

/* Elements from one to the next: of groups, images, channels, lines, places. */
static void steps(const problem *q, int64_t step[5]) {
  const int64_t extent[5] = {q->groups, q->images, q->channels, q->size[0], q->size[1]};
  static const int first[5] = {0, 1, 2, 3, 4}, last[5] = {1, 3, 4, 0, 2};
  int64_t n = 1;
  for (int i = 5; i-- > 0;) {
    const int at = q->channels_last ? last[i] : first[i];
    step[at] = n;
    n *= extent[at];
  }
}

static nxi_image_line line(const problem *q, int axis, int64_t step) {
  return (nxi_image_line){{q->size[axis], step, -q->before[axis]},
                          count(q, axis),
                          q->stride[axis],
                          q->taps[axis],
                          q->dilation[axis]};
}

static nxi_image_windows described(const problem *q, int32_t element) {
  int64_t step[5];
  steps(q, step);
  return (nxi_image_windows){
      .y = line(q, 0, step[3]),
      .x = line(q, 1,
                in_memory == REPEATED    ? 0
                : in_memory == BACKWARDS ? -step[4]
                                         : step[4]),
      .n_axes = 3,
      .n_outer = 2,
      .n_batch = 1,
      .n_planes = 1,
      .axes = {{q->groups, step[0], 0}, {q->images, step[1], 0}, {q->channels, step[2], 0}},
      .outer = {{0, q->groups, 1}, {1, q->images, 1}},
      .planes = {{2, q->channels, 1}},
      .taps_first = q->taps_first,
      .element = element};
}

static double number(uint32_t *seed) {
  *seed = *seed * 1664525 + 1013904223;
  return (double)(*seed >> 8) / (double)(1 << 23) - 1;
}

/* Memory of exactly so many numbers, so that sanitizers see reads past them. */
static void *filled(int64_t n, int32_t size, uint32_t seed) {
  char *m = malloc((size_t)(n * size));
  assert_non_null(m);
  for (int64_t i = 0; i < n; i++) {
    const double x = number(&seed);
    const float y = (float)x;
    memcpy(m + i * size, size == 4 ? (const void *)&y : (const void *)&x, (size_t)size);
  }
  return m;
}

static double element(const void *m, int64_t i, int32_t size) {
  return size == 4 ? (double)((const float *)m)[i] : ((const double *)m)[i];
}

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Element d of the inner extent of a window. */
static double windowed(const problem *q, const void *image, int32_t size, int64_t group,
                       int64_t column, int64_t d) {
  const int64_t taps = q->taps[0] * q->taps[1], wide = count(q, 1), points = count(q, 0) * wide,
                channel = q->taps_first ? d % q->channels : d / taps,
                tap = q->taps_first ? d / q->channels : d % taps,
                y = column % points / wide * q->stride[0] + tap / q->taps[1] * q->dilation[0] -
                    q->before[0],
                x = column % wide * q->stride[1] + tap % q->taps[1] * q->dilation[1] - q->before[1],
                last = q->size[1] - 1,
                place = in_memory == REPEATED    ? last
                        : in_memory == BACKWARDS ? last - x
                                                 : x;
  int64_t step[5];
  steps(q, step);
  if (y < 0 || x < 0 || y >= q->size[0] || x >= q->size[1]) return 0;
  return element(image,
                 group * step[0] + column / points * step[1] + channel * step[2] + y * step[3] +
                     place * step[4],
                 size);
}

static void compare(const problem *q, const nxi_floats_product *p, const nxi_image_tile *t,
                    const void *image, const void *before, int32_t size) {
  for (int64_t at = 0; at < p->m * p->n; at++) {
    const int64_t row = at / p->n, column = at % p->n;
    double sum = 0;
    for (int64_t d = 0; d < p->k; d++) {
      const double x = element(p->a, p->a_transposed ? d * p->a_ld + row : row * p->a_ld + d, size),
                   y = windowed(q, image, size, t->batch, t->first + column, t->begin + d);
      sum = size == 4 ? (double)fmaf((float)x, (float)y, (float)sum) : fma(x, y, sum);
    }
    const double was = element(before, row * p->c_ld + column, size),
                 is = element(p->c, row * p->c_ld + column, size);
    if (p->add) sum = size == 4 ? (double)((float)was + (float)sum) : was + sum;
    if (bits_of(is) != bits_of(sum))
      fail_msg("problem %d, places %d, transposed %d, added %d: row %lld column %lld is %.9g, not "
               "%.9g",
               (int)(q - problems), (int)in_memory, p->a_transposed, p->add, (long long)row,
               (long long)column, is, sum);
  }
}

static void *room_of(int64_t bytes) {
  void *room = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
  assert_non_null(room);
  return room;
}

static void check(const nxi_floats_kernels *f, const problem *q, int how) {
  const nxi_image_windows w = described(q, f->size);
  const int64_t columns = q->images * count(q, 0) * count(q, 1),
                depth = q->channels * q->taps[0] * q->taps[1],
                n = q->tile[1] ? q->tile[1] : columns, k = q->piece[1] ? q->piece[1] : depth;
  const nxi_image_tile t = {q->groups - 1, q->tile[0], q->tile[0] + n, q->piece[0],
                            q->piece[0] + k};
  nxi_floats_product p = {.m = q->rows, .n = n, .k = k, .a_transposed = how & 1, .add = how & 2};
  nxi_image_layout l;
  p.a_ld = how & 1 ? q->rows + 1 : k + 2;
  p.c_ld = n + 3;
  assert_true(nxi_image_lay_out(&w, n, k, &l));
  void *image = filled(q->groups * q->images * q->channels * q->size[0] * q->size[1], f->size, 1),
       *a = filled(p.a_ld * (how & 1 ? k : q->rows), f->size, 2),
       *c = filled(p.c_ld * q->rows, f->size, 3), *before = filled(p.c_ld * q->rows, f->size, 3),
       *memory = room_of(l.bytes), *room = how & 4 ? room_of(NXI_FLOATS_ROOM) : NULL;
  p.a = a, p.c = c;
  int64_t step[5];
  steps(q, step);
  const int64_t first = in_memory == FORWARDS ? 0 : (q->size[1] - 1) * step[4];
  nxi_image_copy(f, &w, &l, (const char *)image + first * f->size, &t, memory);
  nxi_image_multiply(f, &p, &w, &l, t.first, memory, room);
  compare(q, &p, &t, image, before, f->size);
  for (int64_t i = 0; i < q->rows; i++) /* what lies between the rows of C is not written */
    assert_memory_equal((char *)c + (i * p.c_ld + n) * f->size,
                        (char *)before + (i * p.c_ld + n) * f->size, 3 * (size_t)f->size);
  free(image), free(a), free(c), free(before), free(memory), free(room);
}

/* All ways to multiply; of images in other orders, which are copied alike, one for each type. */
static void check_all(const nxi_floats_kernels *f, int how) {
  for (in_memory = FORWARDS; in_memory < (how == 0 ? PLACES : BACKWARDS); in_memory++)
    for (size_t j = 0; j < sizeof problems / sizeof *problems; j++) check(f, &problems[j], how);
}

static void windows_are_what_they_are_defined_to_be(void **state) {
  (void)state;
#if defined(__x86_64__)
  static const struct {
    const char *isa;
    const nxi_floats_kernels *kernels[2];
  } sets[] = {{"avx2", {&nxi_floats_avx2_f32, &nxi_floats_avx2_f64}},
              {"avx512", {&nxi_floats_avx512_f32, &nxi_floats_avx512_f64}}};
  nxi_target target;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    for (int how = 0; how < 16 && nxi_target_for_isa(sets[i].isa, &target); how++)
      check_all(sets[i].kernels[how >> 3], how & 7);
#endif
}

NXT_MAIN(windows) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(windows_are_what_they_are_defined_to_be)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
