/* SPDX-License-Identifier: ISC */
/* gather and scatter next to plain loops: every axis, layouts of all operands, both index types,
 * fused with what makes and uses them; what bad indices give, that nothing is lost by them, and
 * that nothing is compiled again for others. */
#include "tests/util/api.h"

enum { A = 4, B = 5, C = 6, ALL = A * B * C };

/* The thread's error, which goes. */
#define TAKES(status) assert_int_equal(nx_error_take(NULL), (status))

static uint32_t seed = 1;
static int64_t below(int64_t n) {
  seed = seed * 1664525 + 1013904223;
  return (int64_t)((seed >> 8) % (uint32_t)n);
}

static nx_tensor *of_i64(const int64_t *values, int32_t rank, const int64_t *shape, nx_dtype t) {
  size_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= (size_t)shape[i];
  nx_tensor *x = GOOD(nx_empty(ctx, device(), NX_I64, shape, rank));
  OK(nx_write(x, values, n * sizeof *values, NULL));
  return t == NX_I64 ? x : GOOD(nx_cast(x, t));
}

/* The same values in another layout: 0 as it is, 1 turned over, 2 flipped, 3 a part of a larger
 * tensor. */
static nx_tensor *laid_out(nx_tensor *x, int layout) {
  static const int64_t before[3] = {1, 2, 1}, after[3] = {2, 0, 3};
  int64_t start[3], stop[3];
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  switch (layout) {
    case 1: return GOOD(nx_permute(nx_copy(nx_permute(x, NX_AXES(2, 1, 0))), NX_AXES(2, 1, 0)));
    case 2: return GOOD(nx_flip(nx_copy(nx_flip(x, NX_AXES(0, 2))), NX_AXES(0, 2)));
    case 3:
      for (int i = 0; i < 3; i++) {
        start[i] = before[i];
        stop[i] = before[i] + info.shape[i];
      }
      return GOOD(nx_shrink(nx_copy(nx_pad(x, before, after, 3, NX_INTEGER(77))), start, stop, 3));
    default: return x;
  }
}

typedef struct problem {
  int32_t axis;
  int64_t shape[3];                         /* of the indices */
  int64_t index[ALL * 4], element[ALL * 4]; /* what is written, and what it means in the data */
  int64_t n;
} problem;

static void make(problem *p, int32_t axis) {
  static const int64_t whole[3] = {A, B, C};
  p->axis = axis;
  p->n = 1;
  for (int32_t i = 0; i < 3; i++) {
    p->shape[i] = i == axis ? below(9) + 1 : below(whole[i]) + 1;
    p->n *= p->shape[i];
  }
  for (int64_t i = 0; i < p->n; i++) {
    int64_t at[3] = {i / p->shape[2] / p->shape[1], i / p->shape[2] % p->shape[1], i % p->shape[2]};
    at[axis] = below(whole[axis]);
    p->index[i] = below(2) ? at[axis] : at[axis] - whole[axis];
    p->element[i] = (at[0] * B + at[1]) * C + at[2];
  }
}

static void gather_is_the_loop(void **state) {
  (void)state;
  nx_tensor *data = GOOD(nx_reshape(vector(ALL, 1, 1), NX_SHAPE(A, B, C), 0));
  for (int round = 0; round < 48; round++) {
    static problem p;
    float wanted[ALL * 4];
    make(&p, round % 3);
    nx_tensor *i = of_i64(p.index, 3, p.shape, round % 2 ? NX_I32 : NX_I64);
    for (int64_t k = 0; k < p.n; k++) wanted[k] = (float)(p.element[k] + 1);
    nx_tensor *x = laid_out(data, round / 3 % 4), *y = laid_out(i, round / 12 % 4);
    expect_values_(nx_gather(x, y, p.axis), wanted, (size_t)p.n, __FILE__, __LINE__);
    /* Fused with what makes the indices and the data, and with what uses the result. */
    nx_tensor *fused = nx_mul(nx_gather(nx_neg(x), nx_neg(nx_neg(y)), p.axis - 3), number(-2));
    for (int64_t k = 0; k < p.n; k++) wanted[k] *= 2;
    expect_values_(GOOD(fused), wanted, (size_t)p.n, __FILE__, __LINE__);
  }
}

static void scatter_is_the_loop(void **state) {
  (void)state;
  nx_tensor *old = GOOD(nx_reshape(vector(ALL, 1, 1), NX_SHAPE(A, B, C), 0));
  static const nx_dtype types[] = {NX_F32, NX_I32, NX_U8, NX_F64, NX_I16, NX_F16, NX_BF16, NX_I64};
  for (int round = 0; round < 96; round++) {
    static problem p;
    float wanted[ALL];
    nx_dtype t = types[round % 8];
    int adds = round / 8 % 2;
    make(&p, round % 3);
    for (int k = 0; k < ALL; k++) wanted[k] = (float)(k + 1);
    nx_tensor *i = of_i64(p.index, 3, p.shape, round % 2 ? NX_I32 : NX_I64),
              *u = GOOD(nx_cast(nx_reshape(vector(p.n, 0, 1), p.shape, 3, 0), t));
    bool exact = t != NX_BF16 && t != NX_F16 && t != NX_U8;
    if (!exact) u = GOOD(nx_mod(u, nx_cast(number(4), t)));
    for (int64_t k = 0; k < p.n; k++) {
      float x = (float)(exact ? k : k % 4);
      wanted[p.element[k]] = adds ? wanted[p.element[k]] + x : x;
    }
    nx_tensor *x = laid_out(GOOD(nx_cast(old, t)), round / 3 % 4);
    nx_tensor *y = GOOD(
        nx_scatter(x, laid_out(i, round / 12 % 4), laid_out(u, round / 24 % 4), p.axis, adds, 0));
    if (t == NX_BF16 || t == NX_U8) /* more than they can say: rounded, or wrapped */
      for (int k = 0; k < ALL; k++)
        if (wanted[k] > 255) wanted[k] = -1;
    bool fits = true;
    for (int k = 0; k < ALL; k++) fits &= wanted[k] >= 0;
    if (fits) expect_values_(GOOD(nx_cast(y, NX_F32)), wanted, ALL, __FILE__, __LINE__);
  }
}

/* Numbers of four and of eight bits, which views begin between two bytes with; sums wrap, or are
 * rounded once. */
static void few_bits(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_I4, NX_U4, NX_F8E4M3, NX_F8E5M2};
  nx_tensor *old = GOOD(nx_mod(nx_reshape(vector(ALL, 1, 1), NX_SHAPE(A, B, C), 0), number(7)));
  for (int round = 0; round < 24; round++) {
    static problem p;
    static float moved[ALL * 4], wanted[ALL];
    nx_dtype t = types[round % 4];
    int adds = round / 4 % 2;
    make(&p, round % 3);
    for (int k = 0; k < ALL; k++) wanted[k] = (float)((k + 1) % 7);
    for (int64_t k = 0; k < p.n; k++) moved[k] = wanted[p.element[k]];
    nx_tensor *i = laid_out(of_i64(p.index, 3, p.shape, round % 2 ? NX_I32 : NX_I64), round / 6),
              *x = laid_out(GOOD(nx_cast(old, t)), 3 - round / 6),
              *u = GOOD(nx_mod(nx_reshape(vector(p.n, 0, 1), p.shape, 3, 0), number(3)));
    nx_tensor *y = GOOD(nx_gather(x, i, p.axis));
    expect_values_(GOOD(nx_cast(y, NX_F32)), moved, (size_t)p.n, __FILE__, __LINE__);
    for (int64_t k = 0; k < p.n; k++) {
      float *at = &wanted[p.element[k]], update = (float)(k % 3);
      *at = adds ? *at + update : update;
      if (t == NX_I4 && *at > 7) *at -= 16;
      if (t == NX_U4 && *at > 15) *at -= 16;
    }
    y = GOOD(nx_scatter(x, i, laid_out(GOOD(nx_cast(u, t)), 3), p.axis, adds, 0));
    nx_tensor *rounded = of_i64((int64_t[ALL]){0}, 3, (int64_t[]){A, B, C}, NX_I64);
    rounded = GOOD(nx_cast(rounded, NX_F32));
    OK(nx_write(rounded, wanted, sizeof wanted, NULL));
    rounded = GOOD(nx_cast(nx_cast(rounded, t), NX_F32));
    OK(nx_read(rounded, wanted, sizeof wanted, NULL));
    expect_values_(GOOD(nx_cast(y, NX_F32)), wanted, ALL, __FILE__, __LINE__);
  }
}

/* Sums of small floats are rounded once. */
static void small_sums_round_once(void **state) {
  (void)state;
  int64_t zeros[8] = {0}, eight = 8;
  nx_tensor *x = GOOD(nx_cast(constant(1, 2048), NX_F16)), *i = of_i64(zeros, 1, &eight, NX_I32);
  nx_tensor *u = GOOD(nx_cast(constant(8, 1), NX_F16));
  EXPECT(nx_cast(nx_scatter(x, i, u, 0, NX_SCATTER_ADD, 0), NX_F32), 2056);
}

/* Many updates of few elements: large enough for several threads. The order of additions is theirs
 * in C order. */
static void sums_are_in_order(void **state) {
  (void)state;
  enum { N = 100000, M = 7 };
  static float u[N], x[M];
  static int32_t index[N];
  int64_t n = N;
  for (int k = 0; k < N; k++) {
    u[k] = (float)below(1 << 20) * 1e-3F - 300;
    index[k] = (int32_t)below(M);
  }
  memset(x, 0, sizeof x);
  for (int k = 0; k < N; k++) x[index[k]] += u[k];
  nx_tensor *i = GOOD(nx_empty(ctx, device(), NX_I32, &n, 1)),
            *v = GOOD(nx_empty(ctx, device(), NX_F32, &n, 1));
  OK(nx_write(i, index, sizeof index, NULL));
  OK(nx_write(v, u, sizeof u, NULL));
  nx_tensor *y = GOOD(nx_scatter(constant(M, 0), i, v, 0, NX_SCATTER_ADD, 0));
  expect_values_(y, x, M, __FILE__, __LINE__);
  memset(x, 0, sizeof x);
  for (int k = 0; k < N; k++) x[index[k]] = u[k];
  y = GOOD(nx_scatter(constant(M, 0), i, v, 0, NX_SCATTER_SET, NX_UNIQUE_INDICES));
  expect_values_(y, x, M, __FILE__, __LINE__);
}

static void zero_sizes(void **state) {
  (void)state;
  nx_tensor *x = vector(3, 0, 1), *none = of_i64(NULL, 1, (int64_t[]){0}, NX_I32);
  nx_tensor *y = GOOD(nx_gather(x, none, 0));
  OK(nx_realize(ctx, &y, 1, NULL));
  EXPECT(nx_scatter(x, none, constant(0, 1), 0, NX_SCATTER_ADD, 0), 0, 1, 2);
  y = GOOD(nx_gather(constant(0, 1), none, 0));
  OK(nx_realize(ctx, &y, 1, NULL));
  y = GOOD(nx_gather(constant(0, 1), of_i64((int64_t[]){0}, 1, (int64_t[]){1}, NX_I64), 0));
  FAILS(NX_INDEX_OUT_OF_RANGE, nx_realize(ctx, &y, 1, NULL));
}

/* ---- bad indices */

static void first_bad_index(void **state) {
  (void)state;
  static const int64_t far[] = {-4, 3, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
  for (int k = 0; k < 12; k++) {
    int64_t index[6] = {0, -3, 2, 1, far[k % 6], 99};
    nx_dtype t = k % 6 < 4 && k < 6 ? NX_I32 : NX_I64;
    nx_tensor *i = of_i64(index, 2, (int64_t[]){2, 3}, t),
              *x = GOOD(nx_reshape(vector(9, 0, 1), NX_SHAPE(3, 3), 0));
    nx_tag_set(77, "here");
    nx_tensor *y = k % 2 ? nx_gather(x, i, 0)
                         : nx_scatter(x, i, nx_reshape(vector(6, 0, 1), NX_SHAPE(2, 3), 0), 0,
                                      NX_SCATTER_SET, 0);
    nx_tag_set(0, NULL);
    /* Only the good part is used. */
    nx_tensor *z = nx_shrink(nx_neg(GOOD(y)), (int64_t[]){0, 0}, (int64_t[]){1, 3}, 2);
    nx_tensor *part_of_it = GOOD(nx_copy(z));
    assert_int_equal(nx_realize(ctx, &part_of_it, 1, NULL), NX_INDEX_OUT_OF_RANGE);
    nx_error e = {.size = sizeof e};
    nx_error_take(&e);
    assert_int_equal(e.status, NX_INDEX_OUT_OF_RANGE);
    assert_string_equal(e.op, k % 2 ? "gather" : "scatter");
    assert_int_equal(e.index, 4);
    assert_int_equal(e.tag, 77);
    assert_string_equal(e.tag_text, "here");
  }
}

/* Indices that a view repeats: the position is one of the repeated ones. */
static void position_in_repeated_indices(void **state) {
  (void)state;
  nx_tensor *i = of_i64((int64_t[]){0, 5, 1}, 2, (int64_t[]){3, 1}, NX_I32),
            *x = GOOD(nx_reshape(vector(12, 0, 1), NX_SHAPE(3, 4), 0));
  nx_tensor *y = GOOD(nx_gather(x, nx_expand(i, NX_SHAPE(3, 4)), 0));
  assert_int_equal(nx_realize(ctx, &y, 1, NULL), NX_INDEX_OUT_OF_RANGE);
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  assert_int_equal(e.index, 4);
}

/* Nothing is lost: what could be realised is there, the rest works once the indices are good, in
 * place too. */
static void failure_loses_nothing(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_copy(vector(4, 0, 1))),
            *i = of_i64((int64_t[]){1, 4}, 1, (int64_t[]){2}, NX_I32);
  OK(nx_realize(ctx, &x, 1, NULL));
  OK(nx_realize(ctx, &i, 1, NULL));
  nx_tensor *before = GOOD(nx_copy(x));
  nx_tensor *changed = GOOD(nx_mul(x, number(3)));
  OK(nx_assign(x, changed));
  OK(nx_assign(x, GOOD(nx_scatter(x, i, constant(2, 9), 0, NX_SCATTER_ADD, 0))));
  FAILS(NX_INDEX_OUT_OF_RANGE, nx_realize(ctx, &x, 1, NULL));
  EXPECT(before, 0, 1, 2, 3);
  EXPECT(changed, 0, 3, 6, 9);
  FAILS(NX_INDEX_OUT_OF_RANGE, nx_realize(ctx, &x, 1, NULL));
  OK(nx_assign(x,
               nx_gather(changed, of_i64((int64_t[]){3, 2, 1, 0}, 1, (int64_t[]){4}, NX_I64), 0)));
  EXPECT(x, 9, 6, 3, 0);
}

static void assign_of_scatter_is_in_place(void **state) {
  (void)state;
  enum { N = 200000 };
  nx_tensor *x = vector(N, 0, 1);
  OK(nx_realize(ctx, &x, 1, NULL));
  for (int64_t round = 0; round < 4; round++) {
    int64_t at[2] = {round, -1 - round}, two = 2;
    nx_tensor *i = of_i64(at, 1, &two, NX_I32);
    OK(nx_realize(ctx, &i, 1, NULL));
    nx_report report = {.size = sizeof report};
    nx_run_options options = {.size = sizeof options, .report = &report};
    nx_tensor *y = GOOD(nx_scatter(x, i, constant(2, (float)round), 0, NX_SCATTER_SET, 0));
    OK(nx_assign(x, y));
    release(y); /* or it would be a copy of its own */
    OK(nx_realize(ctx, &x, 1, &options));
    if (!report.interpreted) assert_true(report.planned_bytes < 4096);
  }
  nx_tensor *sum = GOOD(nx_reduce_sum(nx_get(x, (nx_range[]){{0, 5, 1}}, 1), NX_AXES(0), 0));
  EXPECT(sum, 10);
  EXPECT(nx_get(x, (nx_range[]){{-4, NX_OPEN, 1}}, 1), 3, 2, 1, 0);
}

static void scatter_of_itself(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_copy(vector(4, 1, 1)));
  OK(nx_realize(ctx, &x, 1, NULL));
  nx_tensor *i = of_i64((int64_t[]){1, 2, 3, 0}, 1, (int64_t[]){4}, NX_I64);
  OK(nx_assign(x, nx_scatter(x, i, x, 0, NX_SCATTER_SET, 0)));
  EXPECT(x, 4, 1, 2, 3);
  nx_tensor *old = x;
  OK(nx_assign(x, nx_scatter(x, i, nx_mul(x, number(10)), 0, NX_SCATTER_ADD, 0)));
  EXPECT(old, 34, 41, 12, 23);
}

/* Of elementwise work in another shape, which becomes one kernel with the reduction. */
static void scatter_over_a_reduction(void **state) {
  (void)state;
  enum { ROWS = 600, N = 25 };
  nx_tensor *x = GOOD(nx_reshape(vector(ROWS * N, 0, 1), NX_SHAPE(ROWS, 5, 5), 0)), *lines, *sum;
  lines = GOOD(nx_reshape(nx_neg(x), NX_SHAPE(ROWS, N), 0));
  sum = GOOD(nx_reduce_sum(lines, NX_AXES(1), NX_KEEPDIMS));
  nx_tensor *at = of_i64((int64_t[]){ROWS - 1, 2}, 2, (int64_t[]){2, 1}, NX_I32),
            *update = GOOD(nx_reshape(vector(2, 7, 1), NX_SHAPE(2, 1), 0));
  nx_tensor *y = GOOD(nx_scatter(sum, at, update, 0, NX_SCATTER_ADD, 0));
  float got[ROWS];
  OK(nx_read(y, got, sizeof got, NULL));
  for (int i = 0; i < ROWS; i++)
    assert_true(got[i] == (float)-(625 * i + 300 + (i == 2 ? -8 : i == ROWS - 1 ? -7 : 0)));
}

static void replay_compiles_nothing(void **state) {
  (void)state;
  enum { N = 20000 };
  int64_t n = N;
  nx_tensor *x = GOOD(nx_copy(vector(N, 0, 1)));
  OK(nx_realize(ctx, &x, 1, NULL));
  for (int round = 0; round < 3; round++) {
    nx_report report = {.size = sizeof report};
    nx_run_options options = {.size = sizeof options, .report = &report};
    nx_tensor *i = GOOD(nx_arange(ctx, device(), NX_I32, NX_INTEGER(round), NX_INTEGER(0), n));
    OK(nx_realize(ctx, &i, 1, NULL));
    nx_tensor *y = GOOD(nx_reduce_max(nx_gather(nx_neg(x), i, 0), NX_AXES(0), 0));
    OK(nx_realize(ctx, &y, 1, &options));
    if (round) assert_int_equal(report.plan_misses + report.kernel_misses, 0);
    EXPECT(y, -(float)round);
  }
}

/* Rows of a table, and what follows: the check, and one kernel. */
static void rows_are_one_kernel(void **state) {
  (void)state;
  nx_tensor *table = GOOD(nx_copy(nx_reshape(vector(512 * 64, 0, 1), NX_SHAPE(512, 64), 0)));
  nx_tensor *i =
      GOOD(nx_cast(nx_arange(ctx, device(), NX_I64, NX_INTEGER(-3), NX_INTEGER(1), 300), NX_I32));
  nx_tensor *both[2] = {table, i};
  OK(nx_realize(ctx, both, 2, NULL));
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  nx_tensor *rows =
      nx_gather(table, nx_expand(nx_reshape(i, NX_SHAPE(300, 1), 0), NX_SHAPE(300, 64)), 0);
  nx_tensor *y = GOOD(nx_reduce_sum(nx_mul(rows, number(0.5F)), NX_AXES(1), 0));
  OK(nx_realize(ctx, &y, 1, &options));
  if (!report.interpreted) assert_int_equal(report.kernels, 2);
  EXPECT(nx_get(y, (nx_range[]){{2, 5, 1}}, 1), 1047536, 1008, 3056);
}

static void wrong_operands(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_reshape(vector(6, 0, 1), NX_SHAPE(2, 3), 0)), *b = GOOD(nx_cmpeq(x, x));
  nx_tensor *i = GOOD(nx_cast(x, NX_I32)), *u = GOOD(nx_cast(x, NX_U32)), *f = vector(2, 0, 1),
            *z = GOOD(nx_cast(x, NX_C64));
  nx_tensor *flat = GOOD(nx_cast(f, NX_I32)),
            *long_one = GOOD(nx_cast(nx_reshape(vector(8, 0, 1), NX_SHAPE(2, 4), 0), NX_I64));
  assert_null(nx_gather(x, u, 0));
  TAKES(NX_UNSUPPORTED_DTYPE);
  assert_null(nx_gather(x, x, 0));
  TAKES(NX_UNSUPPORTED_DTYPE);
  assert_null(nx_gather(x, flat, 0));
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_gather(x, long_one, 0));
  TAKES(NX_INVALID_ARGUMENT);
  assert_non_null(nx_gather(x, long_one, 1));
  assert_null(nx_gather(x, i, 2));
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_gather(number(1), nx_cast(number(0), NX_I32), 0));
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_gather(NULL, i, 0));
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_scatter(x, i, f, 0, NX_SCATTER_SET, 0));
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_scatter(x, i, i, 0, NX_SCATTER_SET, 0));
  TAKES(NX_INVALID_ARGUMENT);

  assert_non_null(nx_scatter(z, i, z, 0, NX_SCATTER_MAX, 0));
  assert_null(nx_scatter(z, i, z, 0, NX_SCATTER_AND, 0));
  TAKES(NX_UNSUPPORTED_DTYPE);
  assert_non_null(nx_scatter(b, i, b, 0, NX_SCATTER_SET, 0));
  assert_null(nx_scatter(x, i, x, 0, NX_SCATTER_SET, 4));
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_scatter(x, i, x, 0, 8, 0));
  TAKES(NX_INVALID_ARGUMENT);
}

static void true_indices(void **state) {
  (void)state;
  for (int64_t n = 0; n < 3000; n = n * 7 + 1) {
    static float wanted[3001];
    nx_tensor *x = vector(n, 0, 1), *mask = GOOD(nx_cmpeq(nx_mod(x, number(3)), number(1)));
    for (int64_t room = 0; room <= 3000; room = room * 11 + 1) {
      for (int64_t i = 0; i < room; i++) wanted[i] = i * 3 + 1 < n ? (float)(i * 3 + 1) : -1;
      nx_tensor *found = GOOD(nx_cast(nx_true_indices(mask, room), NX_F32));
      expect_values_(found, wanted, (size_t)room, __FILE__, __LINE__);
    }
  }
  nx_tensor *square = GOOD(nx_cmplt(nx_reshape(vector(6, 0, 1), NX_SHAPE(2, 3), 0), number(3)));
  EXPECT(nx_cast(nx_true_indices(nx_permute(square, NX_AXES(1, 0)), 4), NX_F32), 0, 2, 4, -1);
  assert_null(nx_true_indices(vector(2, 0, 1), 2));
  TAKES(NX_UNSUPPORTED_DTYPE);
  assert_null(nx_true_indices(square, -1));
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_true_indices(NULL, 1));
  TAKES(NX_INVALID_ARGUMENT);
}

/* ---- indices that are known to lie within the axis, or nearly */

enum { LINE = 10 };
typedef struct form {
  nx_tensor *(*of)(nx_tensor *i, int64_t by);
  int64_t (*is)(int64_t i, int64_t by);
} form;

static nx_tensor *cut(nx_tensor *i, int64_t by) {
  return nx_binary_i64(nx_binary_i64(i, NX_BINARY_MIN, LINE - 1 + by), NX_BINARY_MAX, -LINE);
}
static int64_t is_cut(int64_t i, int64_t by) {
  int64_t least = i < LINE - 1 + by ? i : LINE - 1 + by;
  return least > -LINE ? least : -LINE;
}
static nx_tensor *cut_below(nx_tensor *i, int64_t by) {
  return nx_binary_i64(nx_binary_i64(i, NX_BINARY_MIN, LINE - 1), NX_BINARY_MAX, -LINE - by);
}
static int64_t is_cut_below(int64_t i, int64_t by) {
  int64_t least = i < LINE - 1 ? i : LINE - 1;
  return least > -LINE - by ? least : -LINE - by;
}
static nx_tensor *rest(nx_tensor *i, int64_t by) {
  return nx_binary_i64(i, NX_BINARY_MOD, LINE + by);
}
static int64_t is_rest(int64_t i, int64_t by) { return i % (LINE + by); }
static nx_tensor *floor_rest(nx_tensor *i, int64_t by) {
  return nx_binary_i64(i, NX_BINARY_FLOOR_MOD, LINE + by);
}
static int64_t is_floor_rest(int64_t i, int64_t by) {
  return (i % (LINE + by) + LINE + by) % (LINE + by);
}
static nx_tensor *bits(nx_tensor *i, int64_t by) {
  return nx_binary_i64(nx_binary_i64(i, NX_BINARY_AND, 7), NX_BINARY_ADD, 2 + by);
}
static int64_t is_bits(int64_t i, int64_t by) { return (i & 7) + 2 + by; }
static nx_tensor *apart(nx_tensor *i, int64_t by) {
  nx_tensor *low = nx_binary_i64(i, NX_BINARY_AND, 3), *high = nx_binary_i64(i, NX_BINARY_AND, 4);
  return nx_sub(nx_binary_i64(high, NX_BINARY_MUL, 2), nx_binary_i64(low, NX_BINARY_SUB, 1 + by));
}
static int64_t is_apart(int64_t i, int64_t by) { return (i & 4) * 2 - (i & 3) + 1 + by; }
/* Products and sums of i32 that leave it come back anywhere. */
static nx_tensor *wrapped(nx_tensor *i, int64_t by) {
  nx_tensor *odd = nx_binary_i64(nx_binary_i64(i, NX_BINARY_AND, 1), NX_BINARY_MUL, by);
  return nx_binary_i64(nx_binary_i64(odd, NX_BINARY_MUL, INT32_MAX), NX_BINARY_ADD, 1);
}
static int64_t is_wrapped(int64_t i, int64_t by) {
  return (int32_t)((uint32_t)(i & 1) * (uint32_t)by * INT32_MAX + 1);
}
static nx_tensor *wide_wrapped(nx_tensor *i, int64_t by) {
  nx_tensor *odd =
      nx_binary_i64(nx_binary_i64(nx_cast(i, NX_I64), NX_BINARY_AND, 1), NX_BINARY_MUL, by);
  return nx_binary_i64(nx_binary_i64(odd, NX_BINARY_MUL, INT64_MAX), NX_BINARY_ADD, 1);
}
static int64_t is_wide_wrapped(int64_t i, int64_t by) {
  return (int64_t)((uint64_t)(i & 1) * (uint64_t)by * INT64_MAX + 1);
}
static nx_tensor *chosen(nx_tensor *i, int64_t by) {
  nx_tensor *low = nx_binary_i64(i, NX_BINARY_CMPLT, 0),
            *ends = nx_binary_i64(nx_cast(low, NX_I32), NX_BINARY_MUL, LINE - 1 + by);
  return nx_where(low, ends, nx_binary_i64(i, NX_BINARY_MIN, 3));
}
static int64_t is_chosen(int64_t i, int64_t by) { return i < 0 ? LINE - 1 + by : i < 3 ? i : 3; }
static nx_tensor *narrow(nx_tensor *i, int64_t by) {
  nx_tensor *small = nx_cast(nx_binary_i64(i, NX_BINARY_AND, 7), NX_U8);
  return nx_cast(nx_binary_i64(small, NX_BINARY_SUB, by), NX_I32); /* below 0 u8 wraps */
}
static int64_t is_narrow(int64_t i, int64_t by) { return (uint8_t)((i & 7) - by); }

static void indices_within(void **state) {
  (void)state;
  static const form forms[] = {{cut, is_cut},         {cut_below, is_cut_below},
                               {rest, is_rest},       {floor_rest, is_floor_rest},
                               {bits, is_bits},       {apart, is_apart},
                               {wrapped, is_wrapped}, {wide_wrapped, is_wide_wrapped},
                               {chosen, is_chosen},   {narrow, is_narrow}};
  enum { COUNT = 61 };
  int64_t from[COUNT];
  for (int64_t k = 0; k < COUNT; k++) from[k] = (k - 30) * (k % 7 == 3 ? 71582788 : 1);
  nx_tensor *line = vector(LINE, 100, 1);
  for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
    for (int64_t by = 0; by < 4; by++) {
      nx_tensor *i = of_i64(from, 1, (int64_t[]){COUNT}, NX_I32), *y = NULL,
                *in = GOOD(nx_placeholder(ctx, device(), NX_I32, NX_SHAPE(COUNT))),
                *out = GOOD(nx_gather(line, GOOD(forms[f].of(in, by)), 0));
      nx_function *function =
          NULL; /* elsewhere numbers are parameters, of which nothing is known */
      OK(nx_function_create(ctx, &in, 1, &out, 1, NULL, &function));
      float got[COUNT];
      int64_t bad = -1;
      for (int64_t k = COUNT; k-- > 0;) {
        int64_t index = forms[f].is(from[k], by);
        if (index < -LINE || index >= LINE) bad = k;
      }
      nx_status status = nx_function_call(function, &i, 1, &y, 1, NULL);
      nx_function_release(function);
      assert_int_equal(status, bad >= 0 ? NX_INDEX_OUT_OF_RANGE : NX_OK);
      if (bad >= 0) {
        nx_error e = {.size = sizeof e};
        nx_error_take(&e);
        assert_int_equal(e.index, bad);
        continue;
      }
      OK(nx_read(y, got, sizeof got, NULL));
      nx_tensor_release(y);
      for (int64_t k = 0; k < COUNT; k++) {
        int64_t index = forms[f].is(from[k], by);
        assert_true(got[k] == (float)(100 + (index < 0 ? index + LINE : index)));
      }
    }
}

NXT_MAIN(gather) {
  const struct CMUnitTest tests[] = {IN_SCOPE(gather_is_the_loop),
                                     IN_SCOPE(indices_within),
                                     IN_SCOPE(scatter_is_the_loop),
                                     IN_SCOPE(few_bits),
                                     IN_SCOPE(small_sums_round_once),
                                     IN_SCOPE(sums_are_in_order),
                                     IN_SCOPE(zero_sizes),
                                     IN_SCOPE(first_bad_index),
                                     IN_SCOPE(position_in_repeated_indices),
                                     IN_SCOPE(failure_loses_nothing),
                                     IN_SCOPE(assign_of_scatter_is_in_place),
                                     IN_SCOPE(scatter_of_itself),
                                     IN_SCOPE(scatter_over_a_reduction),
                                     IN_SCOPE(replay_compiles_nothing),
                                     IN_SCOPE(rows_are_one_kernel),
                                     IN_SCOPE(true_indices),
                                     IN_SCOPE(wrong_operands)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
