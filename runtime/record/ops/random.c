/* SPDX-License-Identifier: ISC */
/* Random tensors: threefry of the key and the number of an element's block, made uniform or normal,
 * or an order. What is written here is a format: programs rely on the bits, which golden values in
 * the tests hold. */
#include "compose.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

/* Words of `blocks` counters 0, 1, ..: u32 of shape [blocks, 2]. A counter is (low word, high
 * word); those of the second stream have the highest bit set, which no number of a block reaches.
 * */
static nx_tensor *words(nxi_steps *s, nx_tensor *key, int64_t blocks, bool second) {
  nx_dtype t = key->storage->dtype;
  int64_t column[2] = {blocks, 1};
  nx_scalar mark = {NX_SCALAR_I64, {.i = second ? INT32_MIN : 0}};
  nx_tensor *number = nxi_step_count(s, NX_I64, blocks), *half[2],
            *high = nxi_step(s, nx_full(s->context, s->device, t, &blocks, 1, &mark));
  if (blocks > UINT32_MAX) {
    nx_tensor *above = nxi_step(s, nx_shr(number, nxi_step_scalar(s, NX_I64, 32)));
    high = nxi_step(s, nx_or(high, nxi_step(s, nx_cast(above, t))));
  }
  half[0] = nxi_step(s, nx_reshape(nxi_step(s, nx_cast(number, t)), column, 2, 0));
  half[1] = nxi_step(s, nx_reshape(high, column, 2, 0));
  if (!half[0] || !half[1]) return NULL;
  nx_tensor *counter = nxi_step(s, nx_cat(half, 2, 1));
  nx_tensor *bits = nxi_step(s, nx_threefry(key, counter));
  return t == NX_U32 ? bits : nxi_step(s, nx_bitcast(bits, NX_U32));
}

/* Word `word` of each row of n, as a tensor of this shape. */
static nx_tensor *column(nxi_steps *s, nx_tensor *rows, int64_t word, int32_t rank,
                         const int64_t *shape) {
  if (!rows) return NULL;
  int64_t start[2] = {0, word}, stop[2] = {nxi_shape(rows)[0], word + 1};
  return nxi_step(s, nx_reshape(nxi_step(s, nx_shrink(rows, start, stop, 2)), shape, rank, 0));
}

/* The highest `bits` bits of each word as a multiple of 2^-bits. */
static nx_tensor *fraction(nxi_steps *s, nx_tensor *word, int bits, nx_dtype t) {
  nx_tensor *shifted = nxi_step(s, nx_shr(word, nxi_step_scalar(s, NX_U32, 32 - bits)));
  return nxi_step(s, nx_mul(nxi_step(s, nx_cast(shifted, t)),
                            nxi_step_scalar(s, t, 1.0 / (double)(1u << bits))));
}

/* 53 bits of two words, the first one's 26 above the second one's 27, as a multiple of 2^-53. */
static nx_tensor *long_fraction(nxi_steps *s, nx_tensor *a, nx_tensor *b) {
  nx_tensor *high = nxi_step(s, nx_shr(a, nxi_step_scalar(s, NX_U32, 6))),
            *low = nxi_step(s, nx_shr(b, nxi_step_scalar(s, NX_U32, 5)));
  high = nxi_step(s, nx_cast(high, NX_F64));
  low = nxi_step(s, nx_cast(low, NX_F64));
  high = nxi_step(s, nx_mul(high, nxi_step_scalar(s, NX_F64, 0x1p27)));
  high = nxi_step(s, nx_add(high, low));
  return nxi_step(s, nx_mul(high, nxi_step_scalar(s, NX_F64, 0x1p-53)));
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
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_rand, key);
  if (dtype == NX_F64) { /* a block an element */
    nx_tensor *rows = words(&s, key, n, false), *a = column(&s, rows, 0, rank, shape),
              *b = column(&s, rows, 1, rank, shape);
    return nxi_steps_end(&s, long_fraction(&s, a, b));
  }
  int64_t blocks = n / 2 + n % 2, flat = blocks * 2, zero = 0;
  nx_tensor *all = nxi_step(&s, nx_reshape(words(&s, key, blocks, false), &flat, 1, 0)),
            *some = nxi_step(&s, nx_shrink(all, &zero, &n, 1)),
            *word = nxi_step(&s, nx_reshape(some, shape, rank, 0));
  int bits = dtype == NX_F32 ? 24 : dtype == NX_F16 ? 11 : 8;
  return nxi_steps_end(&s, fraction(&s, word, bits, dtype));
}

/* In (0, 1]: the words as a number of 32 or 64 bits and a half, of 2^32 or 2^64. */
static nx_tensor *radius(nxi_steps *s, nx_tensor *a, nx_tensor *b, nx_dtype t) {
  nx_tensor *x = nxi_step(s, nx_cast(a, t));
  if (b) {
    nx_tensor *low = nxi_step(s, nx_cast(b, t));
    x = nxi_step(s, nx_mul(x, nxi_step_scalar(s, t, 0x1p32)));
    x = nxi_step(s, nx_add(x, low));
  }
  x = nxi_step(s, nx_add(x, nxi_step_scalar(s, t, 0.5)));
  x = nxi_step(s, nx_mul(x, nxi_step_scalar(s, t, b ? 0x1p-64 : 0x1p-32)));
  x = nxi_step(s, nx_mul(nxi_step(s, nx_log(x)), nxi_step_scalar(s, t, -2)));
  return nxi_step(s, nx_sqrt(x));
}

nx_tensor *nx_randn(nx_tensor *key, nx_dtype dtype, const int64_t *shape, int32_t rank) {
  nxi_diag d;
  int64_t n = 0;
  if (!nxi_have_tensor("randn", 0, key)) return NULL;
  if (!check("randn", key, dtype, rank, shape, &n, &d)) return nxi_fail_null(&d);
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_randn, key);
  bool wide = dtype == NX_F64;
  nx_dtype t = wide ? NX_F64 : NX_F32;
  nx_tensor *word[4] = {NULL};
  for (int stream = 0; stream < (wide ? 2 : 1);
       stream++) { /* one block an element, or one of each */
    nx_tensor *rows = words(&s, key, n, stream == 1);
    for (int i = 0; i < 2; i++) word[2 * stream + i] = column(&s, rows, i, rank, shape);
  }
  nx_tensor *r = radius(&s, word[0], wide ? word[1] : NULL, t),
            *u = wide ? long_fraction(&s, word[2], word[3]) : fraction(&s, word[1], 24, t);
  u = nxi_step(&s, nx_mul(u, nxi_step_scalar(&s, t, 0x1.921fb54442d18p+2)));
  u = nxi_step(&s, nx_mul(r, nxi_step(&s, nx_cos(u))));
  return nxi_steps_end(&s, t == dtype ? u : nxi_step(&s, nx_cast(u, dtype)));
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
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_permutation, key);
  nx_tensor *rows = words(&s, key, n, false), *half[2];
  for (int i = 0; i < 2; i++) half[i] = nxi_step(&s, nx_cast(column(&s, rows, i, 1, &n), NX_U64));
  half[0] = nxi_step(&s, nx_shl(half[0], nxi_step_scalar(&s, NX_U64, 32)));
  nx_tensor *order = nxi_step(&s, nx_or(half[0], half[1]));
  return nxi_steps_end(&s, nxi_step(&s, nx_argsort(order, 0, 0, NX_I32)));
}
