/* SPDX-License-Identifier: ISC */
/* Random tensors: threefry of the key and the number of an element's block, made uniform or normal,
 * or an order. What is written here is a format: programs rely on the bits, which golden values in
 * the tests hold. */
#include "draw.h"
#include "nx/number.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

/* Counters 0, 1, .. of blocks, (low word, high word), u32 of shape [blocks]. Those of the second
 * stream have the highest bit set, which no number of a block reaches. */
static void counters(nxi_draw *d, int64_t blocks, bool second, nx_tensor **x) {
  const int64_t mark = second ? (int64_t)1 << 31 : 0;
  nx_scalar zero = {NX_SCALAR_I64, {.i = 0}}, one = {NX_SCALAR_I64, {.i = 1}};
  if (blocks <= UINT32_MAX) {
    x[0] = nx_arange(d->context, d->device, NX_U32, &zero, &one, blocks);
    x[1] = nx_full_i64(d->context, d->device, NX_U32, &blocks, 1, mark);
    return;
  }
  nx_tensor *number = nxi_draw_counters(d, blocks);
  x[0] = nx_cast(number, NX_U32);
  x[1] =
      nx_binary_i64(nx_cast(nx_binary_i64(number, NX_BINARY_SHR, 32), NX_U32), NX_BINARY_OR, mark);
}

/* Words of `blocks` counters: u32 of shape [blocks, 2]. Word by word takes longer
 * (docs/decisions/recording.md). */
static nx_tensor *rows(nxi_draw *d, nx_tensor *key, int64_t blocks) {
  const int64_t column[2] = {blocks, 1};
  nx_tensor *x[2], *half[2];
  counters(d, blocks, false, x);
  for (int i = 0; i < 2; i++) half[i] = nx_reshape(x[i], column, 2, 0);
  return half[0] && half[1] ? nx_threefry(nx_bitcast(key, NX_U32), nx_cat(half, 2, 1)) : NULL;
}

/* The two words of a block for each element of a shape. */
static bool words(nxi_draw *d, nx_tensor *key, const int64_t *shape, int32_t rank,
                  nx_tensor **word) {
  nx_tensor *all = rows(d, key, nxg_elements(rank, shape));
  return nxi_draw_columns(all, shape, rank, &word[0], &word[1]);
}

/* The same of both streams, word by word, which is quicker where so much is computed of them. */
static bool two_streams(nxi_draw *d, nx_tensor *key, const int64_t *shape, int32_t rank,
                        nx_tensor **word) {
  bool good = true;
  for (int stream = 0; stream < 2; stream++) {
    nx_tensor *x[2];
    counters(d, nxg_elements(rank, shape), stream == 1, x);
    nxi_draw_threefry(key, x);
    for (int i = 0; i < 2; i++)
      good = (word[2 * stream + i] = nx_reshape(x[i], shape, rank, 0)) && good;
  }
  return good;
}

/* A word for each element of a shape, of which two make a block. */
static nx_tensor *single_words(nxi_draw *d, nx_tensor *key, const int64_t *shape, int32_t rank,
                               int64_t n) {
  int64_t blocks = n / 2 + n % 2, flat = blocks * 2, zero = 0;
  nx_tensor *all = nx_reshape(rows(d, key, blocks), &flat, 1, 0);
  return nx_reshape(nx_shrink(all, &zero, &n, 1), shape, rank, 0);
}

/* The highest `bits` bits of each word as a multiple of 2^-bits. */
static nx_tensor *fraction(nx_tensor *word, int bits, nx_dtype t) {
  return nx_binary_f64(nx_cast(nx_binary_i64(word, NX_BINARY_SHR, 32 - bits), t), NX_BINARY_MUL,
                       1.0 / (double)(1u << bits));
}

/* 53 bits of two words, the first one's 26 above the second one's 27, as a multiple of 2^-53. */
static nx_tensor *long_fraction(nx_tensor *a, nx_tensor *b) {
  nx_tensor *high = nx_cast(nx_binary_i64(a, NX_BINARY_SHR, 6), NX_F64),
            *low = nx_cast(nx_binary_i64(b, NX_BINARY_SHR, 5), NX_F64);
  high = nx_add(nx_binary_f64(high, NX_BINARY_MUL, 0x1p27), low);
  return nx_binary_f64(high, NX_BINARY_MUL, 0x1p-53);
}

/* What rand and randn check; the number of elements in *n. */
static bool check(const char *op, nx_tensor *key, nx_dtype dtype, int32_t rank,
                  const int64_t *shape, int64_t *n, nxi_diag *d) {
  nxi_diag_clear(d);
  if (!nxi_dtype_exists(op, dtype, d)) return false;
  if (dtype != NX_F16 && dtype != NX_BF16 && dtype != NX_F32 && dtype != NX_F64)
    return !nxi_fail(d, NX_UNSUPPORTED_DTYPE, op, "%s: the result cannot have dtype %s", op,
                     nxi_dtypes[dtype].name);
  if (!nxi_check_key(op, key, d)) return false;
  if (rank > 0 && !shape) return !nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: the shape is null", op);
  return !nxg_shape_check(NX_INVALID_ARGUMENT, op, rank, shape, 256, n, d); /* four words each */
}

nx_tensor *nx_rand(nx_tensor *key, nx_dtype dtype, const int64_t *shape, int32_t rank) {
  nxi_diag d;
  int64_t n = 0;
  if (!nxi_have_tensor("rand", 0, key)) return NULL;
  if (!check("rand", key, dtype, rank, shape, &n, &d)) return nxi_fail_null(&d);
  nxi_draw draw;
  if (!nxi_draw_begin_like(&draw, NXI_COMPOSITE_rand, key)) return NULL;
  if (dtype == NX_F64) { /* a block an element */
    nx_tensor *word[2];
    bool good = words(&draw, key, shape, rank, word);
    return nxi_draw_end(&draw, good ? long_fraction(word[0], word[1]) : NULL);
  }
  int bits = dtype == NX_F32 ? 24 : dtype == NX_F16 ? 11 : 8;
  return nxi_draw_end(&draw, fraction(single_words(&draw, key, shape, rank, n), bits, dtype));
}

/* In (0, 1]: the words as a number of 32 or 64 bits and a half, of 2^32 or 2^64. */
static nx_tensor *radius(nx_tensor *a, nx_tensor *b, nx_dtype t) {
  nx_tensor *x = nx_cast(a, t);
  if (b) x = nx_add(nx_binary_f64(x, NX_BINARY_MUL, 0x1p32), nx_cast(b, t));
  x = nx_binary_f64(x, NX_BINARY_ADD, 0.5);
  x = nx_binary_f64(x, NX_BINARY_MUL, b ? 0x1p-64 : 0x1p-32);
  return nx_sqrt(nx_binary_f64(nx_log(x), NX_BINARY_MUL, -2));
}

nx_tensor *nx_randn(nx_tensor *key, nx_dtype dtype, const int64_t *shape, int32_t rank) {
  nxi_diag d;
  nxi_draw draw;
  int64_t n = 0;
  if (!nxi_have_tensor("randn", 0, key)) return NULL;
  if (!check("randn", key, dtype, rank, shape, &n, &d)) return nxi_fail_null(&d);
  if (!nxi_draw_begin_like(&draw, NXI_COMPOSITE_randn, key)) return NULL;
  bool wide = dtype == NX_F64;
  nx_dtype t = wide ? NX_F64 : NX_F32;
  nx_tensor *word[4] = {NULL}; /* one block an element, or one of each stream */
  bool good =
      wide ? two_streams(&draw, key, shape, rank, word) : words(&draw, key, shape, rank, word);
  if (!good) return nxi_draw_end(&draw, NULL);
  nx_tensor *r = radius(word[0], wide ? word[1] : NULL, t),
            *u = wide ? long_fraction(word[2], word[3]) : fraction(word[1], 24, t);
  u = nx_mul(r, nx_cos(nx_binary_f64(u, NX_BINARY_MUL, 0x1.921fb54442d18p+2)));
  return nxi_draw_end(&draw, t == dtype ? u : nx_cast(u, dtype));
}

nx_tensor *nx_permutation(nx_tensor *key, int64_t n) {
  nxi_diag d;
  if (!nxi_have_tensor("permutation", 0, key)) return NULL;
  nxi_diag_clear(&d);
  if (!nxi_check_key("permutation", key, &d)) return nxi_fail_null(&d);
  if (n < 0 || n > INT32_MAX) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, "permutation", "permutation: of %lld elements", (long long)n);
    return nxi_fail_null(&d);
  }
  nxi_draw draw;
  nx_tensor *word[2], *half[2];
  if (!nxi_draw_begin_like(&draw, NXI_COMPOSITE_permutation, key)) return NULL;
  if (!words(&draw, key, &n, 1, word)) return nxi_draw_end(&draw, NULL);
  for (int i = 0; i < 2; i++) half[i] = nx_cast(word[i], NX_U64);
  nx_tensor *order = nx_or(nx_binary_i64(half[0], NX_BINARY_SHL, 32), half[1]);
  return nxi_draw_end(&draw, nx_argsort(order, 0, 0, NX_I32));
}
