/* SPDX-License-Identifier: ISC */
/* What gpu_stress runs: kernels whose blocks wait for each other, sizes beyond 31 bits, all values
 * of a type, corners that hardware instructions might see otherwise than we do, and products of
 * tensor cores, of numbers whose sums are exact in any order. */
#include <math.h>

#include "stress.h"

static nx_tensor *same(nx_tensor *x) { return nx_copy(x); }
static nx_tensor *scan_sum(nx_tensor *x) { return nx_associative_scan(x, NX_SCAN_SUM, -1); }
static nx_tensor *scan_max(nx_tensor *x) { return nx_associative_scan(x, NX_SCAN_MAX, -1); }
static nx_tensor *scan_min(nx_tensor *x) { return nx_associative_scan(x, NX_SCAN_MIN, -1); }
static nx_tensor *scan_down(nx_tensor *x) { return nx_associative_scan(x, NX_SCAN_SUM, 0); }
static nx_tensor *sorted(nx_tensor *x) { return nx_sort(x, -1, 0); }
static nx_tensor *sorted_down(nx_tensor *x) { return nx_sort(x, 0, 0); }
static nx_tensor *places(nx_tensor *x) { return nx_argsort(x, -1, 0, NX_I32); }
static nx_tensor *sum(nx_tensor *x) { return nx_reduce_sum(x, NX_ALL_AXES, 0); }
static nx_tensor *sum_rows(nx_tensor *x) { return nx_reduce_sum(x, NX_AXES(-1), 0); }
static nx_tensor *sum_columns(nx_tensor *x) { return nx_reduce_sum(x, NX_AXES(0), 0); }
static nx_tensor *largest(nx_tensor *x) { return nx_reduce_max(x, NX_AXES(-1), 0); }
static nx_tensor *smallest(nx_tensor *x) { return nx_reduce_min(x, NX_AXES(-1), 0); }
static nx_tensor *place_of_largest(nx_tensor *x) { return nx_reduce_argmax(x, -1, 0, NX_I64); }
static nx_tensor *turned(nx_tensor *x) { return nx_contiguous(nx_permute(x, NX_AXES(1, 0))); }
static nx_tensor *flipped(nx_tensor *x) { return nx_contiguous(nx_flip(x, NX_AXES(0))); }

static nx_tensor *softmax(nx_tensor *x) {
  nx_tensor *e = nx_exp(nx_sub(x, nx_reduce_max(x, NX_AXES(-1), NX_KEEPDIMS)));
  return nx_div(e, nx_reduce_sum(e, NX_AXES(-1), NX_KEEPDIMS));
}

static nx_tensor *larger_and_smaller(nx_tensor *x) {
  nx_tensor *y = nx_flip(x, NX_AXES(0)), *all[] = {nx_max(x, y), nx_min(x, y)};
  return nx_cat(all, 2, 0);
}

/* The library's functions of one operand, one after the other. */
static nx_tensor *functions(nx_tensor *x) {
  static nx_tensor *(*const each[])(nx_tensor *) = {
      nx_sqrt,  nx_exp,  nx_log,   nx_sin,   nx_cos,   nx_tan,   nx_asin,     nx_acos, nx_atan,
      nx_sinh,  nx_cosh, nx_tanh,  nx_erf,   nx_log1p, nx_expm1, nx_exp2,     nx_log2, nx_cbrt,
      nx_rsqrt, nx_rint, nx_trunc, nx_floor, nx_ceil,  nx_round, nx_logistic, nx_sign, nx_recip};
  enum { N = sizeof each / sizeof *each };
  nx_tensor *all[N];
  for (int i = 0; i < N; i++) all[i] = each[i](x);
  return nx_cat(all, N, 0);
}

static nx_tensor *to_small_floats(nx_tensor *x) {
  static const nx_dtype to[] = {NX_BF16, NX_F8E4M3, NX_F8E5M2, NX_F32};
  nx_tensor *all[4];
  for (int i = 0; i < 4; i++) all[i] = nx_cast(nx_cast(x, to[i]), NX_F32);
  return nx_cat(all, 4, 0);
}

/* Indices in [0, n) made of the operand, which are u32. */
static nx_tensor *indices_below(nx_tensor *x, int64_t n) {
  nx_tensor *most = nx_full(nx_context_of(x), nx_device_of(x), NX_U32, NULL, 0, NX_INTEGER(n));
  return nx_cast(nx_mod(x, most), NX_I64);
}

static nx_tensor *zeros(nx_tensor *x, nx_dtype dtype, int64_t n) {
  return nx_full(nx_context_of(x), nx_device_of(x), dtype, &n, 1, NX_INTEGER(0));
}

static nx_tensor *gathered(nx_tensor *x) {
  return nx_gather(x, indices_below(x, nx_elements(x)), 0);
}

/* Updates of every element, of few, of one. */
static nx_tensor *scattered(nx_tensor *x, int64_t elements, nx_scatter_mode mode) {
  nx_tensor *updates = mode == NX_SCATTER_ADD ? nx_cast(nx_bitcast(x, NX_I32), NX_F32) : x;
  nx_tensor *to = zeros(x, nx_dtype_of(updates), elements);
  return nx_scatter(to, indices_below(x, elements), updates, 0, mode, 0);
}
static nx_tensor *scatter_wide(nx_tensor *x) {
  return scattered(x, nx_elements(x), NX_SCATTER_ADD);
}
static nx_tensor *scatter_hot(nx_tensor *x) { return scattered(x, 7, NX_SCATTER_ADD); }
static nx_tensor *scatter_last(nx_tensor *x) { return scattered(x, 1000, NX_SCATTER_SET); }
static nx_tensor *scatter_whole_numbers(nx_tensor *x) {
  nx_tensor *to = zeros(x, NX_U32, 1000);
  return nx_scatter(to, indices_below(x, 1000), x, 0, NX_SCATTER_ADD, 0);
}

/* Elements at the end of what 31 and 32 bits count, taken with and without steps. */
static nx_tensor *part(nx_tensor *x, int64_t start, int64_t count, int64_t step) {
  return nx_slice(x, &start, &count, &step, 1);
}
static nx_tensor *far_away(nx_tensor *x) {
  int64_t n = nx_elements(x), step = 1000003, last = n < 100000 ? n : 100000;
  nx_tensor *all[2] = {part(x, n - last, last, 1), part(x, n % step, n / step, step)};
  return nx_cat(all, 2, 0);
}
static nx_tensor *far_gathered(nx_tensor *x) {
  int64_t n = nx_elements(x), taken = n < 1000000 ? n : 1000000;
  nx_tensor *i = nx_arange(nx_context_of(x), nx_device_of(x), NX_I64, NX_INTEGER(n - 1),
                           NX_INTEGER(-(n / taken)), taken);
  return nx_gather(x, i, 0);
}
static nx_tensor *plus_itself(nx_tensor *x) { return nx_add(x, nx_flip(x, NX_AXES(0))); }

/* ---- attention of [heads, rows] bytes: queries and keys have one large feature of 64, so scores
 * are 0 or 512, values are small, and exponentials 0 or 1; all sums are exact */

static nx_tensor *constant(nx_tensor *x, nx_dtype dtype, double value) {
  return nx_full(nx_context_of(x), nx_device_of(x), dtype, NULL, 0, NX_NUMBER(value));
}
static nx_tensor *count_to(nx_tensor *x, nx_dtype dtype, int64_t n) {
  return nx_arange(nx_context_of(x), nx_device_of(x), dtype, NX_INTEGER(0), NX_INTEGER(1), n);
}
static nx_tensor *low_bits(nx_tensor *x, double mask) {
  return nx_and(x, constant(x, nx_dtype_of(x), mask));
}
/* The bytes as columns, and as rows, of a matrix for each head. */
static nx_tensor *down(nx_tensor *x) {
  return nx_reshape(x, NX_SHAPE(nx_shape(x)[0], nx_shape(x)[1], 1), 0);
}
static nx_tensor *across(nx_tensor *x) {
  return nx_reshape(x, NX_SHAPE(nx_shape(x)[0], 1, nx_shape(x)[1]), 0);
}
static nx_tensor *marked(nx_tensor *x, nx_dtype t) {
  nx_tensor *here = nx_cmpeq(down(low_bits(x, 63)), count_to(x, NX_U8, 64));
  return nx_where(here, constant(x, t, 64), constant(x, t, 0));
}

/* WIDE: scores are f32; ROUNDED: but their product is not, LATE: the softmax alone is. WHOLE:
 * weights are, too; keys go by positions then, so that of each row's exponentials as many are 1, a
 * power of two. EMPTY: some rows see nothing. */
enum {
  NO_MASK = 0,
  CAUSAL = 1,
  CONDITION = 2,
  SUMMAND = 4,
  WIDE = 8,
  ROUNDED = 16,
  LATE = 32,
  WHOLE = 64,
  EMPTY = 128
};
/* Weights of 0 where there is no score. */
static nx_tensor *softmax_or_zeros(nx_tensor *s) {
  nx_tensor *most = nx_reduce_max(s, NX_AXES(-1), NX_KEEPDIMS), *zero = constant(s, NX_F32, 0),
            *some = nx_cmpne(most, constant(s, NX_F32, -INFINITY)),
            *e = nx_exp(nx_sub(s, nx_where(some, most, zero)));
  return nx_where(some, nx_div(e, nx_reduce_sum(e, NX_AXES(-1), NX_KEEPDIMS)), zero);
}
static nx_tensor *attention(nx_tensor *x, nx_dtype t, int masks) {
  const int64_t rows = nx_shape(x)[1];
  nx_tensor *at = nx_cast(count_to(x, NX_I32, rows), NX_U8), *q = marked(nx_flip(x, NX_AXES(1)), t),
            *k = marked(masks & WHOLE ? nx_add(nx_and(x, constant(x, NX_U8, 0)), at) : x, t),
            *v = nx_cast(low_bits(nx_add(down(x), count_to(x, NX_U8, 64)), 15), t);
  const nx_dtype of = masks & (WIDE | ROUNDED) ? NX_F32 : t, /* scores */
      product_of = masks & WIDE ? NX_F32 : t;
  nx_tensor *turned = nx_permute(k, NX_AXES(0, 2, 1)),
            *product = nx_matmul(nx_cast(q, product_of), nx_cast(turned, product_of)),
            *s = nx_mul(nx_cast(product, of), constant(x, of, 0.125));
  if (masks & SUMMAND)
    s = nx_add(s, nx_where(nx_cmpeq(low_bits(nx_xor(down(x), across(x)), 7), constant(x, NX_U8, 0)),
                           constant(x, of, 512), constant(x, of, 0)));
  nx_tensor *seen = NULL;
  if (masks & CAUSAL) {
    nx_tensor *i = count_to(x, NX_I32, rows);
    seen = nx_cmple(i, nx_reshape(i, NX_SHAPE(rows, 1), 0));
  }
  if (masks & CONDITION) {
    const int64_t zero[] = {0, 0}, count[] = {1, rows}, step[] = {1, 1};
    nx_tensor *one = nx_slice(x, zero, count, step, 2); /* of all heads that of the first one */
    nx_tensor *here = nx_cmpne(low_bits(nx_xor(down(one), across(one)), 12), constant(x, NX_U8, 0));
    if (masks & EMPTY) /* rows of even bytes */
      here = nx_and(here, nx_cmpne(low_bits(down(one), 1), constant(x, NX_U8, 0)));
    seen = seen != NULL ? nx_and(seen, here) : here;
  }
  if (seen != NULL) s = nx_where(seen, s, constant(x, of, masks & EMPTY ? -INFINITY : -30000));
  if (masks & LATE) s = nx_cast(s, NX_F32);
  s = masks & EMPTY ? softmax_or_zeros(s) : softmax(s);
  return masks & WHOLE ? nx_matmul(s, nx_cast(v, NX_F32)) : nx_matmul(nx_cast(s, t), v);
}
/* Heads of the same keys: four, unless there are few. */
static int64_t sharing(nx_tensor *x) { return nx_shape(x)[0] % 4 == 0 ? 4 : 1; }
/* Scores of four heads for the keys of each fourth one, [groups, positions, heads, keys], and its
 * values: rows of the products are positions times heads. */
static nx_tensor *scores_of_groups(nx_tensor *x, nx_tensor **v) {
  const int64_t rows = nx_shape(x)[1], share = sharing(x), groups = nx_shape(x)[0] / share,
                zero[] = {0, 0}, count[] = {groups, rows}, step[] = {share, 1};
  nx_tensor *q = nx_reshape(marked(nx_flip(x, NX_AXES(1)), NX_BF16),
                            NX_SHAPE(groups, share, rows, 64), 0),
            *one = nx_slice(x, zero, count, step, 2), *k = marked(one, NX_BF16);
  *v = nx_cast(low_bits(nx_add(down(one), count_to(x, NX_U8, 64)), 15), NX_BF16);
  q = nx_reshape(nx_permute(q, NX_AXES(0, 2, 1, 3)), NX_SHAPE(groups, share * rows, 64),
                 NX_MAY_COPY);
  nx_tensor *s = nx_matmul(nx_cast(q, NX_F32), nx_cast(nx_permute(k, NX_AXES(0, 2, 1)), NX_F32));
  return nx_mul(nx_reshape(s, NX_SHAPE(groups, rows, share, rows), 0), constant(x, NX_F32, 0.125));
}
/* Then heads times positions. */
static nx_tensor *attention_groups(nx_tensor *x) {
  const int64_t rows = nx_shape(x)[1], share = sharing(x), groups = nx_shape(x)[0] / share;
  nx_tensor *v, *s = scores_of_groups(x, &v);
  s = nx_cast(softmax(nx_permute(s, NX_AXES(0, 2, 1, 3))), NX_BF16);
  return nx_matmul(nx_reshape(s, NX_SHAPE(groups, share * rows, rows), NX_MAY_COPY), v);
}
/* The same, causal, with rows that are positions times heads in the result, too, which is wanted
 * with positions first. */
static nx_tensor *attention_positions(nx_tensor *x) {
  const int64_t rows = nx_shape(x)[1], share = sharing(x), groups = nx_shape(x)[0] / share;
  nx_tensor *v, *s = scores_of_groups(x, &v), *i = count_to(x, NX_I32, rows);
  s = nx_where(nx_cmple(i, nx_reshape(i, NX_SHAPE(rows, 1, 1), 0)), s, constant(x, NX_F32, -30000));
  s = nx_reshape(nx_cast(softmax(s), NX_BF16), NX_SHAPE(groups, share * rows, rows), 0);
  nx_tensor *y = nx_reshape(nx_matmul(s, v), NX_SHAPE(groups, rows, share, 64), 0);
  return nx_contiguous(nx_permute(y, NX_AXES(1, 0, 2, 3)));
}
static nx_tensor *attention_bf16(nx_tensor *x) { return attention(x, NX_BF16, NO_MASK); }
static nx_tensor *attention_causal(nx_tensor *x) { return attention(x, NX_F16, CAUSAL); }
static nx_tensor *attention_condition(nx_tensor *x) { return attention(x, NX_BF16, CONDITION); }
static nx_tensor *attention_summand(nx_tensor *x) { return attention(x, NX_F16, SUMMAND); }
static nx_tensor *attention_all(nx_tensor *x) {
  return attention(x, NX_BF16, CAUSAL | CONDITION | SUMMAND);
}
static nx_tensor *attention_wide(nx_tensor *x) { return attention(x, NX_BF16, WIDE); }
static nx_tensor *attention_wide_causal(nx_tensor *x) {
  return attention(x, NX_F16, WIDE | CAUSAL);
}
static nx_tensor *attention_wide_all(nx_tensor *x) {
  return attention(x, NX_BF16, WIDE | CAUSAL | CONDITION | SUMMAND);
}

static nx_tensor *attention_late(nx_tensor *x) { return attention(x, NX_BF16, LATE | SUMMAND); }
static nx_tensor *attention_rounded(nx_tensor *x) { return attention(x, NX_F16, ROUNDED | CAUSAL); }
static nx_tensor *attention_whole(nx_tensor *x) { return attention(x, NX_BF16, LATE | WHOLE); }
static nx_tensor *attention_wide_whole(nx_tensor *x) { return attention(x, NX_BF16, WIDE | WHOLE); }
static nx_tensor *attention_empty(nx_tensor *x) {
  return attention(x, NX_BF16, WIDE | CONDITION | EMPTY);
}

/* ---- convolutions of [number, places, features] bytes, of -1 to 2 */

static nx_tensor *convolution(nx_tensor *x, nx_dtype t, int64_t columns, bool last) {
  static const int32_t axes[] = {0, 3, 1, 2};
  const int64_t *shape = nx_shape(x), features = shape[2], n = columns * 9 * features,
                side = (int64_t)sqrt((double)shape[1]), one[] = {1, 1};
  nx_tensor *i = count_to(x, NX_I32, n), *image = low_bits(x, 3),
            *w = low_bits(nx_shr(nx_mul(i, constant(x, NX_I32, 40503)), constant(x, NX_I32, 9)), 3);
  image = nx_sub(nx_cast(image, t), constant(x, t, 1));
  w = nx_sub(nx_cast(w, t), constant(x, t, 1));
  image = nx_reshape(image, NX_SHAPE(shape[0], side, side, features), 0);
  w = nx_reshape(w, NX_SHAPE(columns, 3, 3, features), 0);
  if (!last) {
    image = nx_contiguous(nx_permute(image, NX_AXES(0, 3, 1, 2)));
    w = nx_contiguous(nx_permute(w, NX_AXES(0, 3, 1, 2)));
  }
  const nx_convolution_options o = {.size = sizeof o,
                                    .n = 2,
                                    .before = one,
                                    .after = one,
                                    .x_axes = last ? axes : NULL,
                                    .w_axes = last ? axes : NULL,
                                    .y_axes = last ? axes : NULL};
  return nx_convolution(image, w, &o);
}
static nx_tensor *convolution_64(nx_tensor *x) { return convolution(x, NX_BF16, 64, true); }
static nx_tensor *convolution_128(nx_tensor *x) { return convolution(x, NX_F16, 128, false); }
static nx_tensor *convolution_256(nx_tensor *x) { return convolution(x, NX_BF16, 256, true); }
static nx_tensor *convolution_200(nx_tensor *x) { return convolution(x, NX_F16, 200, false); }
static nx_tensor *convolution_f32(nx_tensor *x) { return convolution(x, NX_F32, 64, true); }

#define M(n) ((int64_t)(n) << 20)
const stress_case stress_cases[] = {
    {"scan sum f32 1e7", NX_F32, STRESS_NORMAL, 1, {10000000}, scan_sum, false},
    {"scan sum f32 2^26", NX_F32, STRESS_NORMAL, 1, {M(64) + 5}, scan_sum, false},
    {"scan sum f32 2^28", NX_F32, STRESS_NORMAL, 1, {M(256)}, scan_sum, false},
    {"scan sum f64 2^24", NX_F64, STRESS_NORMAL, 1, {M(16) + 1}, scan_sum, false},
    {"scan sum i32 2^26", NX_I32, STRESS_BITS, 1, {M(64)}, scan_sum, false},
    {"scan max f16 2^26", NX_F16, STRESS_NORMAL, 1, {M(64)}, scan_max, false},
    {"scan min f32, NaN", NX_F32, STRESS_CORNERS, 1, {M(4)}, scan_min, false},
    {"scan of 7 lines", NX_F32, STRESS_NORMAL, 2, {7, 3000000}, scan_sum, false},
    {"scan of columns", NX_F32, STRESS_NORMAL, 2, {30000, 4096}, scan_down, false},
    {"sort f32 1e7", NX_F32, STRESS_BITS, 1, {10000000}, sorted, false},
    {"sort u64 2^24", NX_U64, STRESS_BITS, 1, {M(16)}, sorted, false},
    {"sort i8 2^28", NX_I8, STRESS_BITS, 1, {M(256)}, sorted, false},
    {"sort f16 2^26", NX_F16, STRESS_BITS, 1, {M(64)}, sorted, false},
    {"sort rows", NX_F32, STRESS_NORMAL, 2, {65536, 1000}, sorted, false},
    {"sort columns", NX_I16, STRESS_BITS, 2, {1000, 20000}, sorted_down, false},
    {"argsort f32 2^24", NX_F32, STRESS_CORNERS, 1, {M(16)}, places, false},
    {"argsort u32 2^24", NX_U32, STRESS_BITS, 1, {M(16)}, places, false},
    {"sum f32 2^28", NX_F32, STRESS_NORMAL, 1, {M(256)}, sum, false},
    {"sum of rows", NX_F32, STRESS_NORMAL, 2, {4096, 65536}, sum_rows, false},
    {"sum of columns", NX_F32, STRESS_NORMAL, 2, {65536, 4096}, sum_columns, false},
    {"sum f16 of rows", NX_F16, STRESS_NORMAL, 2, {16384, 4096}, sum_rows, false},
    {"softmax 4096x16384", NX_F32, STRESS_NORMAL, 2, {4096, 16384}, softmax, false},
    {"softmax 64x32000", NX_F32, STRESS_NORMAL, 2, {64, 32000}, softmax, false},
    {"max and min, corners", NX_F32, STRESS_CORNERS, 1, {M(16)}, larger_and_smaller, false},
    {"max and min f16", NX_F16, STRESS_CORNERS, 1, {M(16)}, larger_and_smaller, false},
    {"max of rows, corners", NX_F32, STRESS_CORNERS, 2, {65536, 100}, largest, false},
    {"min of rows, corners", NX_F64, STRESS_CORNERS, 2, {65536, 100}, smallest, false},
    {"argmax, corners", NX_F32, STRESS_CORNERS, 2, {65536, 100}, place_of_largest, false},
    {"functions of all f16", NX_F16, STRESS_COUNT, 1, {65536}, functions, true},
    {"functions of all bf16", NX_BF16, STRESS_COUNT, 1, {65536}, functions, true},
    {"functions of f32 2^22", NX_F32, STRESS_BITS, 1, {M(4)}, functions, false},
    {"casts of all f16", NX_F16, STRESS_COUNT, 1, {65536}, to_small_floats, true},
    {"casts of f32 2^24", NX_F32, STRESS_BITS, 1, {M(16)}, to_small_floats, false},
    {"turn u8", NX_U8, STRESS_BITS, 2, {8191, 16385}, turned, false},
    {"turn f32", NX_F32, STRESS_BITS, 2, {8192, 8192}, turned, false},
    {"flip f64", NX_F64, STRESS_BITS, 2, {4096, 4099}, flipped, false},
    {"gather u32 2^26", NX_U32, STRESS_BITS, 1, {M(64)}, gathered, false},
    {"scatter everywhere", NX_U32, STRESS_BITS, 1, {M(4)}, scatter_wide, false},
    {"scatter to 7", NX_U32, STRESS_BITS, 1, {M(1)}, scatter_hot, false},
    {"scatter, the last stays", NX_U32, STRESS_BITS, 1, {M(16)}, scatter_last, false},
    {"scatter of integers", NX_U32, STRESS_BITS, 1, {M(64)}, scatter_whole_numbers, false},
    {"i8 beyond 2^31, ends", NX_I8, STRESS_BITS, 1, {M(2100)}, far_away, false},
    {"i8 beyond 2^31, gather", NX_I8, STRESS_BITS, 1, {M(2100)}, far_gathered, false},
    {"i8 beyond 2^31, all", NX_I8, STRESS_BITS, 1, {M(2100)}, plus_itself, false},
    {"attention bf16", NX_U8, STRESS_BITS, 2, {16, 1024}, attention_bf16, false},
    {"attention f16, later rows", NX_U8, STRESS_BITS, 2, {16, 1024}, attention_causal, false},
    {"attention bf16, condition", NX_U8, STRESS_BITS, 2, {16, 1024}, attention_condition, false},
    {"attention f16, summand", NX_U8, STRESS_BITS, 2, {16, 1000}, attention_summand, false},
    {"attention bf16, all masks", NX_U8, STRESS_BITS, 2, {16, 1001}, attention_all, false},
    {"attention bf16, scores f32", NX_U8, STRESS_BITS, 2, {16, 1024}, attention_wide, false},
    {"attention f16, f32, causal", NX_U8, STRESS_BITS, 2, {16, 1024}, attention_wide_causal, false},
    {"attention bf16, f32, masks", NX_U8, STRESS_BITS, 2, {16, 1001}, attention_wide_all, false},
    {"attention bf16, shared keys", NX_U8, STRESS_BITS, 2, {16, 1024}, attention_groups, false},
    {"attention bf16, positions", NX_U8, STRESS_BITS, 2, {16, 1024}, attention_positions, false},
    {"attention bf16, softmax f32", NX_U8, STRESS_BITS, 2, {16, 1024}, attention_late, false},
    {"attention f16, product f16", NX_U8, STRESS_BITS, 2, {16, 1024}, attention_rounded, false},
    {"attention bf16, weights f32", NX_U8, STRESS_BITS, 2, {16, 1024}, attention_whole, false},
    {"attention bf16, all f32", NX_U8, STRESS_BITS, 2, {16, 1024}, attention_wide_whole, false},
    {"attention bf16, empty rows", NX_U8, STRESS_BITS, 2, {16, 1024}, attention_empty, false},
    {"convolution bf16, 64", NX_U8, STRESS_BITS, 3, {32, 784, 64}, convolution_64, false},
    {"convolution f16, 128", NX_U8, STRESS_BITS, 3, {32, 784, 64}, convolution_128, false},
    {"convolution bf16, 256", NX_U8, STRESS_BITS, 3, {32, 784, 256}, convolution_256, false},
    {"convolution f16, 200", NX_U8, STRESS_BITS, 3, {32, 784, 128}, convolution_200, false},
    {"convolution f32, 64", NX_U8, STRESS_BITS, 3, {32, 784, 64}, convolution_f32, false},
    {"random bits u32 2^28", NX_U32, STRESS_BITS, 1, {M(256)}, same, false},
};
const size_t stress_n_cases = sizeof stress_cases / sizeof *stress_cases;
