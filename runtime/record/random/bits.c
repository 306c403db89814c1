/* SPDX-License-Identifier: ISC */
/* Keys of keys, and random bits: a format, which programs rely on and golden values in the tests
 * hold. Keys and bits are those of JAX: counters (high word, low word) 0, 1, .. in the order of the
 * elements, whose two words are xored, or make one of 64 bits. */
#include "draw.h"
#include "nx/bits.h"
#include "nx/number.h"
#include "nx/random.h"
#include "runtime/record/objects.h"

/* ---- keys */

nx_tensor *nx_random_split(nx_tensor *key, int64_t n) {
  nxi_draw d;
  nx_tensor *half[2], *column[2];
  int64_t shape[2] = {n, 1};
  if (!nxi_draw_begin(&d, NXI_COMPOSITE_random_split, key, &n, 1, NULL)) return NULL;
  bool good = nxi_draw_words(&d, key, &n, 1, &half[0], &half[1]);
  for (int i = 0; good && i < 2; i++) good = (column[i] = nx_reshape(half[i], shape, 2, 0)) != NULL;
  return nxi_draw_end(&d, good ? nx_cat(column, 2, 1) : NULL);
}

nx_tensor *nx_random_fold_in(nx_tensor *key, nx_tensor *number) {
  nxi_draw d;
  nxi_diag diag;
  int64_t shape = 1;
  if (!nxi_have_tensor("random_fold_in", 1, number)) return NULL;
  nxi_diag_clear(&diag);
  nx_dtype t = number->storage->dtype; /* NOLINT: checked, not null */
  if (!nxi_is_integer(t) || number->rank) {
    nxi_fail(&diag, nxi_is_integer(t) ? NX_INVALID_ARGUMENT : NX_UNSUPPORTED_DTYPE,
             "random_fold_in", "random_fold_in: the number is %s of rank %d, not one integer",
             nxi_dtypes[t].name, number->rank);
    return nxi_fail_null(&diag);
  }
  if (!nxi_draw_begin(&d, NXI_COMPOSITE_random_fold_in, key, NULL, 0, NULL)) return NULL;
  nx_tensor *pair[2] = {nx_full_i64(d.context, d.device, NX_U32, &shape, 1, 0),
                        nx_reshape(nx_cast(number, NX_U32), &shape, 1, NX_MAY_COPY)};
  nx_tensor *counter = pair[0] && pair[1] ? nx_cat(pair, 2, 0) : NULL;
  return nxi_draw_end(&d, counter ? nx_threefry(nx_bitcast(key, NX_U32), counter) : NULL);
}

/* ---- bits */

/* high 2^32 + low */
static nx_tensor *joined(nx_tensor *low, nx_tensor *high) {
  return nx_or(nx_cast(low, NX_U64), nx_binary_i64(nx_cast(high, NX_U64), NX_BINARY_SHL, 32));
}

nx_tensor *nx_random_bits(nx_tensor *key, nx_dtype dtype, const int64_t *shape, int32_t rank) {
  nxi_draw d;
  nx_tensor *first, *second, *bits = NULL;
  if (!nxi_draw_bits("random_bits", dtype) ||
      !nxi_draw_begin(&d, NXI_COMPOSITE_random_bits, key, shape, rank, NULL))
    return NULL;
  if (nxi_draw_words(&d, key, shape, rank, &first, &second))
    bits = dtype == NX_U64 ? joined(second, first) : nx_cast(nx_xor(first, second), dtype);
  return nxi_draw_end(&d, bits);
}

/* ---- philox */

typedef struct words {
  nx_tensor *at[4];
} words;

static nx_tensor *word(nx_tensor *x, int64_t i) {
  int64_t start[NXG_MAX_RANK] = {0}, stop[NXG_MAX_RANK];
  int32_t last = x->rank - 1;
  for (int32_t k = 0; k <= last; k++) stop[k] = nxi_shape(x)[k];
  start[last] = i;
  stop[last] = i + 1;
  return nx_shrink(x, start, stop, (size_t)x->rank);
}

/* One round: x0, x2 times constants give two words each. */
static words philox_round(const words *x, nx_tensor *k0, nx_tensor *k1) {
  nx_tensor *p0 = nx_binary_i64(nx_cast(x->at[0], NX_U64), NX_BINARY_MUL, 0xD2511F53),
            *p1 = nx_binary_i64(nx_cast(x->at[2], NX_U64), NX_BINARY_MUL, 0xCD9E8D57),
            *high0 = nx_cast(nx_binary_i64(p0, NX_BINARY_SHR, 32), NX_U32),
            *high1 = nx_cast(nx_binary_i64(p1, NX_BINARY_SHR, 32), NX_U32);
  return (words){{nx_xor(nx_xor(high1, x->at[1]), k0), nx_cast(p1, NX_U32),
                  nx_xor(nx_xor(high0, x->at[3]), k1), nx_cast(p0, NX_U32)}};
}

static words philox(words x, nx_tensor *k0, nx_tensor *k1) {
  for (int round = 0; round < 10 && x.at[0]; round++) {
    x = philox_round(&x, k0, k1);
    k0 = nx_binary_i64(k0, NX_BINARY_ADD, 0x9E3779B9);
    k1 = nx_binary_i64(k1, NX_BINARY_ADD, 0xBB67AE85);
  }
  return x;
}

static bool check_philox(nx_tensor *x, const char *what, int64_t n) {
  nxi_diag d;
  char text[NXG_SHAPE_TEXT];
  nxi_diag_clear(&d);
  if (x->storage->dtype != NX_U32)
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, "philox", "philox: the %s is %s, not u32", what,
             nxi_dtypes[x->storage->dtype].name);
  else if (!x->rank || nxi_shape(x)[x->rank - 1] != n)
    nxi_fail(&d, NX_INVALID_ARGUMENT, "philox", "philox: the %s of shape %s is not [.., %d]", what,
             nxg_format_shape(text, x->rank, nxi_shape(x)), (int)n);
  if (d.status) nxi_error_report(&d);
  return !d.status;
}

nx_tensor *nx_philox(nx_tensor *key, nx_tensor *counter) {
  nxi_draw d;
  nx_tensor *t[2] = {key, counter};
  words x = {{NULL}};
  if (!nxi_check_operands("philox", t, 2) || !check_philox(key, "key", 2) ||
      !check_philox(counter, "counter", 4) ||
      !nxi_draw_begin_like(&d, NXI_COMPOSITE_philox, counter))
    return NULL;
  bool good = true;
  for (int i = 0; i < 4; i++) good = (x.at[i] = word(counter, i)) && good;
  if (good) x = philox(x, word(key, 0), word(key, 1));
  for (int i = 0; i < 4; i++) good = good && x.at[i];
  return nxi_draw_end(&d, good ? nx_cat(x.at, 4, x.at[0]->rank - 1) : NULL);
}

/* ---- as XLA's generators lay bits out */

typedef struct generator {
  nxi_draw draw;
  nx_tensor *key, *counter[2]; /* u64 of rank 0; of threefry one counter */
  nx_dtype dtype;
  const int64_t *shape;
  int32_t rank;
  int64_t n;
} generator;

static nx_tensor *low_word(nx_tensor *x) { return nx_cast(x, NX_U32); }
static nx_tensor *high_word(nx_tensor *x) {
  return nx_cast(nx_binary_i64(x, NX_BINARY_SHR, 32), NX_U32);
}

/* The counters from the first one on: u64 of shape [n]. */
static nx_tensor *counters(generator *g, int64_t n) {
  return nx_add(nxi_draw_counters(&g->draw, n), g->counter[0]);
}

/* Threefry whose key and input are (low, high). */
static bool threefry(generator *g, int64_t n, nx_tensor **out) {
  int64_t two = 2;
  nx_tensor *pairs = nxi_draw_pairs(&g->draw, counters(g, n), false),
            *key = nx_reshape(nxi_draw_pairs(&g->draw, g->key, false), &two, 1, 0);
  return nxi_draw_columns(nx_threefry(key, pairs), &n, 1, &out[0], &out[1]);
}

/* The axis whose elements alternate between first and second words: the first even one, else the
 * longest. */
static int32_t split_axis(const generator *g) {
  int32_t at = 0;
  for (int32_t i = 0; i < g->rank; i++)
    if (g->shape[i] % 2 == 0) return i;
  for (int32_t i = 1; i < g->rank; i++)
    if (g->shape[i] > g->shape[at]) at = i;
  return at;
}

/* 32 bits an element: words of half the shape, interleaved along an axis. *used: how many
 * counters. */
static nx_tensor *threefry_words(generator *g, int64_t *used) {
  int64_t shape[NXG_MAX_RANK + 2], start[NXG_MAX_RANK] = {0}, half = 1;
  int32_t axis = split_axis(g);
  nx_tensor *word[2];
  for (int32_t i = 0; i < g->rank; i++)
    half *= shape[i + (i > axis)] = i == axis ? (g->shape[i] + 1) / 2 : g->shape[i];
  *used = half;
  if (!threefry(g, half, word)) return NULL;
  if (g->rank == 0) return nx_reshape(word[0], NULL, 0, 0);
  shape[axis + 1] = 1;
  for (int i = 0; i < 2; i++)
    if (!(word[i] = nx_reshape(word[i], shape, g->rank + 1, 0))) return NULL;
  nx_tensor *both = nx_cat(word, 2, axis + 1);
  for (int32_t i = 0; i < g->rank; i++) shape[i] = g->shape[i] + (i == axis && g->shape[i] % 2);
  return nx_shrink(nx_reshape(both, shape, g->rank, 0), start, g->shape, (size_t)g->rank);
}

static nx_tensor *threefry_bits(generator *g, int64_t *used) {
  nx_tensor *word[2];
  if (g->dtype != NX_U64) return nx_cast(threefry_words(g, used), g->dtype);
  *used = g->n;
  return threefry(g, g->n, word) ? nx_reshape(joined(word[0], word[1]), g->shape, g->rank, 0)
                                 : NULL;
}

/* Four words a counter of 128 bits, in turn. */
static nx_tensor *philox_bits(generator *g, int64_t *used) {
  bool wide = g->dtype == NX_U64;
  int64_t each = wide ? 2 : 4, n = (g->n + each - 1) / each, all = n * each, zero = 0,
          column[2] = {n, 1};
  nx_tensor *low = counters(g, n), *carry = nx_cast(nx_cmplt(low, g->counter[0]), NX_U64),
            *high = nx_add(carry, g->counter[1]), *rows[4];
  words x = {{low_word(low), high_word(low), low_word(high), high_word(high)}};
  *used = n;
  x = philox(x, low_word(g->key), high_word(g->key));
  if (wide) x = (words){{joined(x.at[0], x.at[1]), joined(x.at[2], x.at[3])}};
  for (int64_t i = 0; i < each; i++)
    if (!(rows[i] = nx_reshape(x.at[i], column, 2, 0))) return NULL;
  nx_tensor *flat = nx_reshape(nx_cat(rows, (size_t)each, 1), &all, 1, 0);
  return nx_cast(nx_reshape(nx_shrink(flat, &zero, &g->n, 1), g->shape, g->rank, 0), g->dtype);
}

static nx_tensor *element(nx_tensor *state, int64_t i) {
  int64_t stop = i + 1;
  return nx_reshape(nx_shrink(state, &i, &stop, 1), NULL, 0, NX_MAY_COPY);
}

/* The state after `used` counters. */
static nx_tensor *next_state(const generator *g, int64_t parts, int64_t used) {
  nx_tensor *low = nx_binary_i64(g->counter[0], NX_BINARY_ADD, used), *part[3] = {g->key, low};
  if (parts == 3) part[2] = nx_add(g->counter[1], nx_cast(nx_cmplt(low, g->counter[0]), NX_U64));
  for (int64_t i = 0; i < parts; i++)
    if (!(part[i] = nx_reshape(part[i], (int64_t[]){1}, 1, 0))) return NULL;
  return nx_cat(part, (size_t)parts, 0);
}

static bool check_generator(nx_tensor *state, nx_rng which, const int64_t *shape, int32_t rank,
                            int64_t *n) {
  static const char op[] = "rng_bit_generator";
  nxi_diag d;
  char text[NXG_SHAPE_TEXT];
  nxi_diag_clear(&d);
  int64_t parts = state->rank == 1 ? nxi_shape(state)[0] : 0;
  if ((uint32_t)which > NX_RNG_PHILOX)
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: there is no generator %d", op, (int)which);
  else if (state->storage->dtype != NX_U64)
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, op, "%s: the state is %s, not u64", op,
             nxi_dtypes[state->storage->dtype].name);
  else if (parts != 2 && (parts != 3 || which != NX_RNG_PHILOX))
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: the state of shape %s is not of %s numbers", op,
             nxg_format_shape(text, state->rank, nxi_shape(state)),
             which == NX_RNG_PHILOX ? "2 or 3" : "2");
  else if (rank > 0 && !shape) nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: the shape is null", op);
  else nxg_shape_check(NX_INVALID_ARGUMENT, op, rank, shape, 256, n, &d);
  if (d.status) nxi_error_report(&d);
  return !d.status;
}

nx_status nx_rng_bit_generator(nx_tensor *state, nx_rng which, nx_dtype dtype, const int64_t *shape,
                               int32_t rank, nx_tensor **next, nx_tensor **bits) {
  generator g = {.dtype = dtype, .shape = shape, .rank = rank};
  int64_t used = 0;
  if (!next || !bits)
    return nxi_error_null("rng_bit_generator", !next ? 5 : 6), NX_INVALID_ARGUMENT;
  if (!nxi_have_tensor("rng_bit_generator", 0, state) ||
      !nxi_draw_bits("rng_bit_generator", dtype) ||
      !check_generator(state, which, shape, rank, &g.n) ||
      !nxi_draw_begin_like(&g.draw, NXI_COMPOSITE_rng_bit_generator, state))
    return nxi_error_status();
  int64_t parts = nxi_shape(state)[0];
  g.key = element(state, 0);
  g.counter[0] = element(state, 1);
  g.counter[1] = parts == 3 ? element(state, 2) : g.key;
  nx_tensor *made = which == NX_RNG_PHILOX ? philox_bits(&g, &used) : threefry_bits(&g, &used),
            *after = made ? nx_keep(next_state(&g, parts, used)) : NULL;
  made = nxi_draw_end(&g.draw, after ? made : NULL);
  if (made && nxi_scope_add(after)) {
    *next = after;
    *bits = made;
    return NX_OK;
  }
  nx_tensor_release(after);
  nx_tensor_release(made);
  return nxi_error_status();
}
