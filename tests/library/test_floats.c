/* SPDX-License-Identifier: ISC */
/* Loops for products and triangular systems of f32 and f64, against chains of fma written down
 * here, bit for bit: every set that this machine has, sizes around those of blocks, vectors and
 * strips, operands transposed or not, rows that are far apart, with and without memory for copies,
 * written and added to. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/target.h"
#include "runtime/library/floats/pairs.h"
#include "runtime/library/floats/elimination.h"
#include "runtime/library/floats/root.h"
#include "tests/util/runner.h"

typedef struct problem {
  int64_t m, n, k;
  int64_t more[3]; /* elements between the rows of a, b and c */
} problem;

/* Which numbers an operand has. Those of bf16 are multiplied two at once where there is an
 * instruction for it, unless sums of products may be subnormal. */
typedef enum numbers {
  ANY,
  SHORT,     /* of bf16, some of them 0 and one infinite */
  ALL_SMALL, /* of bf16, so small that sums are subnormal */
  ONE_SMALL, /* the last one alone is */
  ONE_LONG   /* the last one alone is none of bf16 */
} numbers;

static double number(uint32_t *seed) {
  *seed = *seed * 1664525 + 1013904223;
  return (double)(*seed >> 8) / (double)(1 << 23) - 1;
}

static float of_kind(numbers kind, float x, int64_t i, int64_t n) {
  uint32_t bits;
  const bool last = i == n - 1;
  if (kind == ANY || (kind == ONE_LONG && last)) return x;
  memcpy(&bits, &x, sizeof bits);
  bits &= 0xffff0000u;
  memcpy(&x, &bits, sizeof x);
  if (kind == SHORT) return i == n / 2 ? INFINITY : i % 7 == 3 ? copysignf(0, x) : x;
  return kind == ALL_SMALL || (kind == ONE_SMALL && last) ? x * 0x1p-64F : x;
}

/* Memory of exactly so many numbers, so that sanitizers see reads past them. */
static void *filled(int64_t rows, int64_t row, int64_t ld, int32_t size, uint32_t seed,
                    numbers kind) {
  const int64_t n = (rows - 1) * ld + row;
  char *m = malloc((size_t)(n * size));
  assert_non_null(m);
  for (int64_t i = 0; i < n; i++) {
    const double x = number(&seed);
    const float y = of_kind(kind, (float)x, i, n);
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
  return isnan(x) ? UINT64_MAX : bits; /* all NaN are one value */
}

/* What an element of C, which was `before`, has to be. */
static double wanted(const nxi_floats_product *p, int64_t row, int64_t column, double before,
                     int32_t size) {
  double sum = 0;
  for (int64_t d = 0; d < p->k; d++) {
    const double x = element(p->a, p->a_transposed ? d * p->a_ld + row : row * p->a_ld + d, size),
                 y = element(p->b, p->b_transposed ? column * p->b_ld + d : d * p->b_ld + column,
                             size);
    sum = size == 4 ? (double)fmaf((float)x, (float)y, (float)sum) : fma(x, y, sum);
  }
  if (!p->add) return sum;
  return size == 4 ? (double)((float)before + (float)sum) : before + sum;
}

static void compare(const nxi_floats_product *p, const void *before, int64_t c_elements,
                    int32_t size) {
  for (int64_t at = 0; at < c_elements; at++) {
    const int64_t row = at / p->c_ld, column = at % p->c_ld;
    const double is = element(p->c, at, size), was = element(before, at, size),
                 is_to_be = column < p->n ? wanted(p, row, column, was, size) : was;
    if (bits_of(is) != bits_of(is_to_be))
      fail_msg("%lld x %lld x %lld, transposed %d %d: row %lld column %lld is %.9g, not %.9g",
               (long long)p->m, (long long)p->n, (long long)p->k, p->a_transposed, p->b_transposed,
               (long long)row, (long long)column, is, is_to_be);
  }
}

static void check(const nxi_floats_kernels *f, const problem *q, int how, numbers kind) {
  nxi_floats_product p = {.m = q->m,
                          .n = q->n,
                          .k = q->k,
                          .a_transposed = how & 1,
                          .b_transposed = how & 2,
                          .add = how & 4,
                          .c_ld = q->n + q->more[2]};
  const int64_t a_row = how & 1 ? q->m : q->k, b_row = how & 2 ? q->k : q->n,
                c_elements = (q->m - 1) * p.c_ld + q->n;
  p.a_ld = a_row + q->more[0];
  p.b_ld = b_row + q->more[1];
  void *a = filled(how & 1 ? q->k : q->m, a_row, p.a_ld, f->size, 1, kind),
       *b = filled(how & 2 ? q->n : q->k, b_row, p.b_ld, f->size, 2, kind),
       *c = filled(q->m, q->n, p.c_ld, f->size, 3, ANY),
       *before = filled(q->m, q->n, p.c_ld, f->size, 3, ANY),
       *room = how & 8 ? aligned_alloc(64, NXI_FLOATS_ROOM) : NULL;
  p.a = a, p.b = b, p.c = c;
#if defined(__x86_64__)
  if (room && kind != ANY && nxi_floats_may_be_pairs(f, &p))
    assert_int_equal(nxi_floats_multiply_pairs(&p, room), kind == SHORT);
  memcpy(c, before, (size_t)(c_elements * f->size));
#endif
  nxi_floats_multiply(f, &p, room);
  compare(&p, before, c_elements, f->size);
  free(a), free(b), free(c), free(before), free(room);
}

#if defined(__x86_64__)
static const struct {
  const char *isa;
  const nxi_floats_kernels *kernels[2]; /* of f32 and f64 */
} sets[] = {{"avx2", {&nxi_floats_avx2_f32, &nxi_floats_avx2_f64}},
            {"avx512", {&nxi_floats_avx512_f32, &nxi_floats_avx512_f64}}};
#endif

static const problem problems[] = {
    {9, 9, 1, {0, 0, 0}},        {16, 48, 5, {0, 0, 0}},     {23, 49, 40, {1, 2, 3}},
    {10, 63, 17, {0, 3000, 0}},  {13, 100, 33, {0, 0, 60}},  {31, 24, 70, {2000, 1, 0}},
    {12, 70, 2048, {0, 0, 0}},   {9, 161, 9, {0, 95, 0}},    {11, 20, 2500, {0, 1024, 0}},
    {70, 17, 515, {3, 2048, 1}}, {3, 4200, 40, {1, 2, 3}},   {8, 1100, 150, {0, 0, 0}},
    {1050, 7, 37, {3, 0, 1}},    {5, 2, 300, {0, 0, 0}},     {67, 52, 90, {0, 531, 0}},
    {50, 300, 300, {0, 800, 0}}, {65, 64, 31, {0, 0, 0}},    {39, 107, 127, {1, 0, 2}},
    {39, 100, 260, {0, 0, 1}},   {20, 161, 1100, {0, 0, 0}}, {17, 9, 600, {1, 3, 0}},
};

static void a_product_is_its_chains_of_fma(void **state) {
  (void)state;
#if defined(__x86_64__)
  nxi_target target;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    for (int how = 0; how < 32 && nxi_target_for_isa(sets[i].isa, &target); how++)
      for (size_t j = 0; j < sizeof problems / sizeof *problems; j++)
        check(sets[i].kernels[how >> 4], &problems[j], how & 15, ANY);
#endif
}

static void so_is_one_of_numbers_of_bf16(void **state) {
  (void)state;
#if defined(__x86_64__)
  static const problem some[] = {{16, 16, 32, {0, 0, 0}},
                                 {23, 49, 45, {1, 2, 3}},
                                 {17, 161, 70, {0, 95, 0}},
                                 {70, 17, 515, {3, 2048, 1}}};
  nxi_target target;
  for (int how = 8; how < 16 && nxi_target_for_isa("avx512", &target); how++)
    for (size_t j = 0; j < sizeof some / sizeof *some; j++)
      for (numbers kind = SHORT; kind <= ONE_LONG; kind++)
        check(&nxi_floats_avx512_f32, &some[j], how, kind);
#endif
}

/* ---- columns that nobody uses: they stay as they are, or are made as well */

static const nxi_seen views[] = {
    {{0, 0}, {1, 1}},   {{0, 0}, {20, 2}},    {{-40, 1}, {30, 1}}, {{1, 1}, {400, 0}},
    {{60, 0}, {61, 0}}, {{80, -1}, {400, 0}}, {{0, 0}, {0, 0}},    {{-9, 3}, {90, -1}},
};

static bool is_seen(const nxi_seen *s, int64_t row, int64_t column) {
  return column >= s->begin.at + row * s->begin.per_row &&
         column < s->end.at + row * s->end.per_row;
}

/* Returns how many elements were left out. */
static int64_t check_seen(const nxi_floats_kernels *f, const problem *q, int how,
                          const nxi_seen *seen) {
  nxi_floats_product p = {.m = q->m,
                          .n = q->n,
                          .k = q->k,
                          .b_transposed = how & 1,
                          .a_ld = q->k + q->more[0],
                          .b_ld = (how & 1 ? q->k : q->n) + q->more[1],
                          .c_ld = q->n + q->more[2],
                          .seen = seen};
  const int64_t b_rows = how & 1 ? q->n : q->k, b_row = how & 1 ? q->k : q->n;
  void *a = filled(q->m, q->k, p.a_ld, f->size, 1, ANY),
       *b = filled(b_rows, b_row, p.b_ld, f->size, 2, ANY),
       *c = filled(q->m, q->n, p.c_ld, f->size, 3, ANY),
       *before = filled(q->m, q->n, p.c_ld, f->size, 3, ANY),
       *room = how & 2 ? aligned_alloc(64, NXI_FLOATS_ROOM) : NULL;
  int64_t left = 0;
  p.a = a, p.b = b, p.c = c;
  nxi_floats_multiply(f, &p, room);
  for (int64_t i = 0; i < q->m; i++)
    for (int64_t j = 0; j < q->n; j++) {
      const double is = element(c, i * p.c_ld + j, f->size),
                   was = element(before, i * p.c_ld + j, f->size),
                   made = wanted(&p, i, j, was, f->size);
      const bool same = bits_of(is) == bits_of(was);
      left += same;
      if (bits_of(is) != bits_of(made) && (is_seen(seen, i, j) || !same))
        fail_msg("row %lld column %lld is %.9g, not %.9g", (long long)i, (long long)j, is, made);
    }
  free(a), free(b), free(c), free(before), free(room);
  return left;
}

static void what_is_hidden_is_left_out(void **state) {
  (void)state;
#if defined(__x86_64__)
  static const problem some[] = {{70, 237, 40, {3, 0, 1}}, {67, 164, 33, {0, 1200, 0}}};
  nxi_target target;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    for (int how = 0; how < 8 && nxi_target_for_isa(sets[i].isa, &target); how++)
      for (size_t j = 0; j < sizeof some / sizeof *some; j++)
        for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
          const int64_t left = check_seen(sets[i].kernels[how >> 2], &some[j], how & 3, &views[v]);
          if ((how & 3) != 1)
            assert_true(left > 0); /* without memory it is made number by number */
        }
#endif
}

/* ---- zeros at the ends of rows of A, which are left out where that changes no bit */

/* Which elements of A are +0, and what is odd about the others. */
typedef enum pattern {
  BELOW,     /* those above the diagonal */
  ABOVE,     /* those below it */
  BAND,      /* those far from it on either side */
  EMPTY,     /* those of most rows */
  UNDERFLOW, /* as BELOW, and sums become -0 */
  PATTERNS
} pattern;

static bool is_left_out(pattern kind, int64_t i, int64_t d, int64_t slope) {
  if (kind == ABOVE) return d < i * slope;
  if (kind == BAND) return d < i * slope || d > i * slope + 60;
  if (kind == EMPTY) return i % 11 != 10;
  return d > i * slope;
}

static void put(const nxi_floats_kernels *f, void *x, int64_t i, double value) {
  if (f->size == 4) ((float *)x)[i] = (float)value;
  else ((double *)x)[i] = value;
}

/* odd: -1, or what the last element of B is: it is multiplied by zeros alone. */
static void check_zeros(const nxi_floats_kernels *f, const problem *q, int how, pattern kind,
                        double odd) {
  nxi_floats_product p = {.m = q->m,
                          .n = q->n,
                          .k = q->k,
                          .b_transposed = how & 1,
                          .a_ld = q->k + q->more[0],
                          .b_ld = (how & 1 ? q->k : q->n) + q->more[1],
                          .c_ld = q->n + q->more[2]};
  const int64_t b_rows = how & 1 ? q->n : q->k, b_row = how & 1 ? q->k : q->n,
                c_elements = (q->m - 1) * p.c_ld + q->n;
  const double tiny = f->size == 4 ? 0x1p-80 : 0x1p-600;
  void *a = filled(q->m, q->k, p.a_ld, f->size, 1, ANY),
       *b = filled(b_rows, b_row, p.b_ld, f->size, 2, ANY),
       *c = filled(q->m, q->n, p.c_ld, f->size, 3, ANY),
       *room = how & 2 ? aligned_alloc(64, NXI_FLOATS_ROOM) : NULL;
  for (int64_t i = 0; i < q->m; i++)
    for (int64_t d = 0; d < q->k; d++) {
      if (is_left_out(kind, i, d, q->k / q->m)) put(f, a, i * p.a_ld + d, 0);
      else if (kind == UNDERFLOW) put(f, a, i * p.a_ld + d, i % 3 == 1 ? -tiny : tiny);
    }
  for (int64_t d = 0; kind == UNDERFLOW && d < (b_rows - 1) * p.b_ld + b_row; d++)
    put(f, b, d, d % 5 == 1 ? -tiny : tiny);
  if (odd != -1) put(f, b, (b_rows - 1) * p.b_ld + b_row - 1, odd);
  p.a = a, p.b = b, p.c = c;
  nxi_floats_multiply(f, &p, room);
  compare(&p, c, c_elements, f->size);
  free(a), free(b), free(c), free(room);
}

static void zeros_change_no_bit(void **state) {
  (void)state;
#if defined(__x86_64__)
  static const problem some[] = {{70, 37, 320, {3, 0, 1}}, {67, 64, 128, {0, 1200, 0}}};
  const double odd[] = {-1, INFINITY, NAN, 0};
  nxi_target target;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    for (int how = 0; how < 8 && nxi_target_for_isa(sets[i].isa, &target); how++)
      for (size_t j = 0; j < 2 * sizeof odd / sizeof *odd; j++)
        for (pattern kind = BELOW; kind < PATTERNS; kind++)
          check_zeros(sets[i].kernels[how >> 2], &some[j % 2], how & 3, kind, odd[j / 2]);
#endif
}

/* ---- triangular systems */

/* What an element of x has to be; those before it in its column are known. */
static double solution(const nxi_floats_system *s, int32_t size, int64_t row, int64_t column,
                       const double *x, double b) {
  const int64_t row_ld = s->a_transposed ? 1 : s->a_ld, column_ld = s->a_transposed ? s->a_ld : 1;
  const double d = s->unit ? 1 : element(s->a, row * (s->a_ld + 1), size);
  for (int64_t known = 0; known < (s->lower ? row : s->n - 1 - row); known++) {
    const int64_t k = s->lower ? known : s->n - 1 - known;
    const double a = element(s->a, row * row_ld + k * column_ld, size),
                 y = x[k * s->columns + column];
    b = size == 4 ? (double)fmaf((float)-a, (float)y, (float)b) : fma(-a, y, b);
  }
  if (size == 4) return isnormal((float)(1 / d)) ? (float)b * (float)(1 / d) : (float)b / (float)d;
  return isnormal(1 / d) ? b * (1 / d) : b / d;
}

/* A triangle whose other one is NaN, its numbers before `seen` on the diagonal the usual ones and
 * from there on such that 1 / them is none, or a subnormal number, and one is NaN. */
static void *triangle_of(const nxi_floats_system *s, int32_t size, int64_t seen) {
  void *a = filled(s->n, s->n, s->a_ld, size, 5, ANY);
  for (int64_t i = 0; i < s->n; i++)
    for (int64_t j = 0; j < s->n; j++) {
      const bool stored_lower = s->lower != s->a_transposed;
      const int64_t at = i * s->a_ld + j;
      const double was = element(a, at, size), tiny = size == 4 ? 0x1p-140 : 0x1p-1060,
                   huge = size == 4 ? 0x1.8p127 : 0x1.8p1023,
                   diagonal = i < seen     ? 1.5 + was
                              : i % 3 == 1 ? tiny
                              : i % 3 == 2 ? huge
                                           : (double)INFINITY;
      const bool unread = i == j ? s->unit : stored_lower ? i < j : i > j;
      const double x = unread ? (double)NAN : i == j ? diagonal : was / (double)s->n;
      if (size == 4) ((float *)a)[at] = (float)x;
      else ((double *)a)[at] = x;
    }
  return a;
}

static void check_triangle(const nxi_floats_kernels *f, int64_t n, int64_t columns, int how,
                           int64_t more, int64_t seen, void *room) {
  nxi_floats_system s = {.n = n,
                         .columns = columns,
                         .a_ld = n + more,
                         .lower = how & 1,
                         .a_transposed = how & 2,
                         .unit = how & 4,
                         .x_ld = columns + more};
  const int32_t size = f->size;
  void *a = triangle_of(&s, size, seen);
  char *x = filled(n, columns, s.x_ld, size, 7, ANY);
  double *known = malloc((size_t)(n * columns) * sizeof *known);
  assert_non_null(known);
  s.a = a, s.x = x;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < columns; j++) {
      const int64_t row = s.lower ? i : n - 1 - i;
      known[row * columns + j] =
          solution(&s, size, row, j, known, element(x, row * s.x_ld + j, size));
    }
  assert_true(nxi_floats_solve(f, &s, room));
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < columns; j++) {
      const double is = element(x, i * s.x_ld + j, size), to_be = known[i * columns + j];
      if (bits_of(is) != bits_of(to_be))
        fail_msg("%lld x %lld, form %d: row %lld column %lld is %.9g, not %.9g", (long long)n,
                 (long long)columns, how, (long long)i, (long long)j, is, to_be);
    }
  free(a), free(x), free(known);
}

/* Two systems in one pass have the bits of one after the other. unit: of the unit matrix. */
static void check_both(const nxi_floats_kernels *f, int64_t n, int64_t skip, bool unit,
                       void *room) {
  enum { W = 53 };
  nxi_floats_system a = {.n = n - skip, .columns = W, .a_ld = n, .lower = true, .x_ld = W},
                    b = {.n = n, .columns = W, .a_ld = n, .unit = true, .x_ld = W, .b_ld = W};
  char *x = filled(n, W, W, f->size, 9, ANY), *y = filled(n, W, W, f->size, 7, ANY),
       *right = filled(n, W, W, f->size, 7, ANY);
  a.a = triangle_of(&a, f->size, n), b.a = triangle_of(&b, f->size, n), b.one = skip;
  for (int64_t i = 0; unit && i < n * W; i++) {
    if (f->size == 4) ((float *)(void *)y)[i] = i / W == skip + i % W;
    else ((double *)(void *)y)[i] = i / W == skip + i % W;
  }
  a.x = y + skip * W * f->size, b.x = y;
  assert_true(nxi_floats_solve(f, &a, NULL) && nxi_floats_solve(f, &b, NULL));
  b.x = x, b.of_unit = unit, b.b = right;
  assert_true(nxi_floats_solve_both(f, &a, &b, room));
  assert_memory_equal(x, y, (size_t)(n * W * f->size));
  free(x), free(y), free(right), free((void *)(uintptr_t)a.a), free((void *)(uintptr_t)b.a);
}

static void a_solution_is_its_chains_of_fma(void **state) {
  (void)state;
#if defined(__x86_64__)
  static const int64_t columns[] = {1, 3, 8, 17, 24, 50};
  void *room = aligned_alloc(64, NXI_FLOATS_ROOM);
  assert_non_null(room);
  nxi_target target;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    for (int how = 0; how < 16 && nxi_target_for_isa(sets[i].isa, &target); how++) {
      const nxi_floats_kernels *f = sets[i].kernels[how >> 3];
      for (int64_t n = 1; n <= 40; n++)
        check_triangle(f, n, columns[n % 6], how & 7, n % 3, n % 4 == 0 ? n / 2 : n, NULL);
      check_triangle(f, NXI_FLOATS_TRIANGLE, 49, how & 7, 0, NXI_FLOATS_TRIANGLE, room);
      check_triangle(f, 131, 130, how & 7, 5, 131, NULL);
      if (how >> 3) check_triangle(f, 580, 26, how & 7, 1, 570, how % 3 ? room : NULL);
      check_triangle(f, 1160, 3, how & 7, 0, 1160, how & 2 ? NULL : room);
      check_both(f, how & 2 ? 600 : 99, how & 4 ? 40 : 0, how & 1, how & 2 ? room : NULL);
    }
  free(room);
#endif
}

/* ---- elimination */

static double rounded(int32_t size, double x) { return size == 4 ? (double)(float)x : x; }

static double minus_product(int32_t size, double l, double u, double x) {
  return size == 4 ? (double)fmaf((float)-l, (float)u, (float)x) : fma(-l, u, x);
}

/* The factors of the first `factored` rows of all, and what becomes of the others. */
static void factor_plainly(int32_t size, int64_t rows, int64_t factored, int64_t columns, double *a,
                           int32_t *pivots) {
  for (int64_t k = 0; k < factored; k++) {
    double *row = a + k * columns;
    int64_t best = k;
    for (int64_t j = k + 1; j < columns; j++)
      if (fabs(row[j]) > fabs(row[best]) || (isnan(row[best]) && !isnan(row[j]) && row[j] != 0))
        best = j;
    for (int64_t j = k; j < columns && row[best] == 0; j++)
      if (isnan(row[j])) best = j;
    pivots[k] = (int32_t)best;
    for (int64_t i = 0; i < rows && best != k; i++) {
      const double x = a[i * columns + k];
      a[i * columns + k] = a[i * columns + best];
      a[i * columns + best] = x;
    }
    if (row[k] == 0) continue;
    const double by = rounded(size, 1 / row[k]);
    const bool normal = size == 4 ? isnormal((float)by) : isnormal(by);
    for (int64_t j = k + 1; j < columns; j++) {
      row[j] = rounded(size, normal ? row[j] * by : row[j] / row[k]);
      for (int64_t i = k + 1; i < rows; i++)
        a[i * columns + j] = minus_product(size, a[i * columns + k], row[j], a[i * columns + j]);
    }
  }
}

typedef enum special { NOTHING, TINY, ZERO_ROW, SAME_ROWS, ONE_NAN, SPECIALS } special;

static double special_number(special what, int64_t i, int64_t j, int64_t factored, int32_t size) {
  if (what == TINY && i == factored - 1) return size == 4 ? 0x1p-140 : 0x1p-1060;
  if (what == ZERO_ROW && i == factored / 2) return 0;
  if (what == SAME_ROWS && i < factored) return j % 3 == 0 ? 2 : -2;
  return what == ONE_NAN && i == 1 && j == 2 ? (double)NAN : 1e9;
}

static void check_factors(const nxi_floats_kernels *f, int64_t factored, int64_t columns,
                          int64_t more, special what) {
  const int64_t rows = factored + more, ld = columns + more;
  const int32_t size = f->size;
  char *a = filled(rows, columns, ld, size, 11, ANY);
  double *to_be = malloc((size_t)(rows * columns) * sizeof *to_be);
  int32_t pivots[NXI_FLOATS_FACTORED], wanted_pivots[NXI_FLOATS_FACTORED];
  assert_non_null(to_be);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      const double x = special_number(what, i, j, factored, size);
      if (x != 1e9 && size == 4) ((float *)(void *)a)[i * ld + j] = (float)x;
      if (x != 1e9 && size == 8) ((double *)(void *)a)[i * ld + j] = x;
      to_be[i * columns + j] = element(a, i * ld + j, size);
    }
  factor_plainly(size, rows, factored, columns, to_be, wanted_pivots);
  const nxi_floats_rows r = {factored, columns, a, ld};
  nxi_floats_factor(f, &r, pivots);
  for (int64_t i = factored; i < rows; i++)
    for (int64_t k = 0; k < factored; k++) {
      char x[8], *row = a + i * ld * size, *p = row + k * size, *q = row + pivots[k] * size;
      memcpy(x, p, (size_t)size);
      memmove(p, q, (size_t)size);
      memcpy(q, x, (size_t)size);
    }
  if (more > 0) nxi_floats_reduce(f, &r, more, a + factored * ld * size);
  assert_memory_equal(pivots, wanted_pivots, (size_t)factored * sizeof *pivots);
  for (int64_t i = 0; i < rows * columns; i++) {
    const double is = element(a, i / columns * ld + i % columns, size);
    if (bits_of(is) != bits_of(to_be[i]))
      fail_msg("%lld of %lld x %lld, special %d: row %lld column %lld is %.9g, not %.9g",
               (long long)factored, (long long)rows, (long long)columns, (int)what,
               (long long)(i / columns), (long long)(i % columns), is, to_be[i]);
  }
  free(a), free(to_be);
}

static void an_elimination_is_its_chains_of_fma(void **state) {
  (void)state;
#if defined(__x86_64__)
  nxi_target target;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    for (int k = 0; k < 2 && nxi_target_for_isa(sets[i].isa, &target); k++) {
      const nxi_floats_kernels *f = sets[i].kernels[k];
      for (int64_t n = 1; n <= 40; n++) {
        check_factors(f, n, n, 0, NOTHING);
        check_factors(f, n, n + n % 5 * 9, n % 31, NOTHING);
        for (special what = TINY; what < SPECIALS && n % 9 == 7; what++)
          check_factors(f, n, n + 3, n % 2, what);
      }
      check_factors(f, NXI_FLOATS_FACTORED, 300, 7, NOTHING);
    }
#endif
}

/* ---- Cholesky factors */

/* L of the first n rows, and the part of it that the rows below them have. The number of the pivot
 * that fails, from 1, or 0. */
static int64_t root_plainly(int32_t size, int64_t n, int64_t rows, double *a) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j <= i && j < n; j++) {
      double x = a[i * n + j];
      for (int64_t k = 0; k < j; k++) x = minus_product(size, a[i * n + k], a[j * n + k], x);
      if (i == j && !(x > 0)) return i + 1;
      a[i * n + j] = rounded(size, i == j ? sqrt(x) : x * rounded(size, 1 / a[j * n + j]));
    }
  return 0;
}

static void check_root(const nxi_floats_kernels *f, int64_t n, int64_t below, double bad) {
  const int64_t rows = n + below, ld = n + below % 3;
  const int32_t size = f->size;
  char *a = filled(rows, n, ld, size, 13, ANY);
  void *room = aligned_alloc(64, (size_t)(nxi_floats_root_bytes(n) + 63) & ~(size_t)63);
  double *to_be = malloc((size_t)(rows * n) * sizeof *to_be);
  assert_true(room && to_be);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < n; j++) {
      const double was = element(a, i * ld + j, size), x = i < j   ? (double)NAN
                                                           : i > j ? was
                                                           : bad != 1 && i == 2 * n / 3
                                                               ? bad
                                                               : 3 * (double)n + was;
      if (size == 4) ((float *)(void *)a)[i * ld + j] = (float)x;
      else ((double *)(void *)a)[i * ld + j] = x;
      to_be[i * n + j] = element(a, i * ld + j, size);
    }
  const int64_t info = root_plainly(size, n, rows, to_be);
  assert_int_equal(nxi_floats_find_root(f, n, a, ld, room), info);
  if (!info) nxi_floats_root_below(f, n, a, ld, below, a + n * ld * size, room);
  for (int64_t i = 0; i < rows && !info; i++)
    for (int64_t j = 0; j <= i && j < n; j++)
      if (bits_of(element(a, i * ld + j, size)) != bits_of(to_be[i * n + j]))
        fail_msg("%lld and %lld: row %lld column %lld is %.9g, not %.9g", (long long)n,
                 (long long)below, (long long)i, (long long)j, element(a, i * ld + j, size),
                 to_be[i * n + j]);
  free(a), free(room), free(to_be);
}

static void a_root_is_its_chains_of_fma(void **state) {
  (void)state;
#if defined(__x86_64__)
  nxi_target target;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    for (int k = 0; k < 2 && nxi_target_for_isa(sets[i].isa, &target); k++) {
      const nxi_floats_kernels *f = sets[i].kernels[k];
      for (int64_t n = 1; n <= 60; n++)
        check_root(f, n, n % 5 * 7, n % 4 ? 1 : (double)(n % 3) - 2);
      check_root(f, 33, 0, NAN);
      check_root(f, 200, 50, 1);
    }
#endif
}

static void other_types_have_none(void **state) {
  (void)state;
  assert_null(nxi_floats_kernels_for(NX_F16));
  assert_null(nxi_floats_kernels_for(NX_I32));
}

NXT_MAIN(floats) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_product_is_its_chains_of_fma),
      cmocka_unit_test(so_is_one_of_numbers_of_bf16),
      cmocka_unit_test(what_is_hidden_is_left_out),
      cmocka_unit_test(zeros_change_no_bit),
      cmocka_unit_test(a_solution_is_its_chains_of_fma),
      cmocka_unit_test(an_elimination_is_its_chains_of_fma),
      cmocka_unit_test(a_root_is_its_chains_of_fma),
      cmocka_unit_test(other_types_have_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
