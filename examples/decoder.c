/* SPDX-License-Identifier: ISC */
/* A decoder of tokens: a small transformer that writes one token after the other, each the
 * likeliest one. What a token adds to the keys and values of each layer is written into a cache,
 * in place, by the captured function that computes the next token; so a step costs one token, not
 * all tokens so far. The same tokens are then computed without a cache, all at once, and both
 * must agree. Weights are made up, so what it says makes no sense. */
#include <math.h>
#include <nx/nx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  TOKENS = 96,
  WIDTH = 64,
  HEADS = 4,
  HEAD = WIDTH / HEADS,
  LAYERS = 3,
  TIME = 64,
  PROMPT = 5
};
/* of each layer: query, key, value and what mixes heads in one; the network behind them */
enum { MIXERS, UP, DOWN, WEIGHTS };

typedef struct decoder {
  nx_context *context;
  nx_tensor *tokens, *places; /* a row for each token, and for each place in the text */
  nx_tensor *weights[LAYERS][WEIGHTS];
  nx_tensor *cache[2]; /* keys and values: [LAYERS, HEADS, TIME, HEAD] */
} decoder;

static void check(nx_status status) {
  nx_error e = {.size = sizeof e};
  if (status == NX_OK) return;
  nx_error_take(&e);
  fprintf(stderr, "decoder: %s\n", e.message);
  exit(1);
}

/* ---- weights */

static nx_tensor *random_weights(nx_context *c, int64_t number, const int64_t *shape, int32_t rank,
                                 double deviation) {
  nx_tensor *seed = nx_full_i64(c, 0, NX_U32, NX_SHAPE(2), 2026),
            *key = nx_random_fold_in(seed, nx_full_i64(c, 0, NX_U32, NULL, 0, number)),
            *x =
                nx_binary_f64(nx_random_normal(key, NX_F32, shape, rank), NX_BINARY_MUL, deviation);
  return x;
}

static void make_weights(decoder *d) {
  nx_context *c = d->context;
  nx_tensor *all[2 + LAYERS * WEIGHTS + 2];
  size_t n = 0;
  all[n++] = d->tokens = random_weights(c, 0, NX_SHAPE(TOKENS, WIDTH), 1);
  all[n++] = d->places = random_weights(c, 1, NX_SHAPE(TIME, WIDTH), 1);
  for (int l = 0; l < LAYERS; l++) {
    nx_tensor **w = d->weights[l];
    w[MIXERS] = random_weights(c, 10 * l + 10, NX_SHAPE(4, WIDTH, WIDTH), sqrt(1.0 / WIDTH));
    w[UP] = random_weights(c, 10 * l + 11, NX_SHAPE(WIDTH, 4 * WIDTH), sqrt(1.0 / WIDTH));
    w[DOWN] = random_weights(c, 10 * l + 12, NX_SHAPE(4 * WIDTH, WIDTH), sqrt(0.25 / WIDTH));
    for (int i = 0; i < WEIGHTS; i++) all[n++] = w[i];
  }
  for (int i = 0; i < 2; i++)
    all[n++] = d->cache[i] = nx_full_f64(c, 0, NX_F32, NX_SHAPE(LAYERS, HEADS, TIME, HEAD), 0);
  check(nx_realize(c, all, n, NULL));
}

/* ---- the network, on n tokens at once: x is [n, WIDTH] */

static nx_tensor *normalised(nx_tensor *x) {
  nx_tensor *mean = nx_reduce_mean(x, NX_AXES(1), NX_KEEPDIMS), *far = nx_sub(x, mean),
            *square = nx_reduce_mean(nx_square(far), NX_AXES(1), NX_KEEPDIMS);
  return nx_mul(far, nx_rsqrt(nx_binary_f64(square, NX_BINARY_ADD, 1e-5)));
}

/* One of the four matrices of a layer. */
static nx_tensor *mixer(const decoder *d, int layer, int64_t which) {
  return nx_reshape(nx_get(d->weights[layer][MIXERS], &(nx_range){which, which + 1, 1}, 1),
                    NX_SHAPE(WIDTH, WIDTH), 0);
}

/* [n, WIDTH] -> [HEADS, n, HEAD] */
static nx_tensor *by_heads(nx_tensor *x, int64_t n) {
  return nx_permute(nx_reshape(x, NX_SHAPE(n, HEADS, HEAD), NX_MAY_COPY), NX_AXES(1, 0, 2));
}

/* What queries [HEADS, n, HEAD] find in keys and values [HEADS, TIME, HEAD], seeing those
 * where the mask [n, TIME] is true. */
static nx_tensor *attention(nx_tensor *q, nx_tensor *k, nx_tensor *v, nx_tensor *mask, int64_t n) {
  nx_tensor *fit = nx_binary_f64(nx_matmul(q, nx_permute(k, NX_AXES(0, 2, 1))), NX_BINARY_MUL,
                                 1 / sqrt(HEAD)),
            *seen = nx_where(mask, fit, nx_full_f64(nx_context_of(q), 0, NX_F32, NULL, 0, -1e9));
  nx_tensor *most = nx_reduce_max(seen, NX_AXES(2), NX_KEEPDIMS), *e = nx_exp(nx_sub(seen, most)),
            *share = nx_div(e, nx_reduce_sum(e, NX_AXES(2), NX_KEEPDIMS));
  nx_tensor *found = nx_permute(nx_matmul(share, v), NX_AXES(1, 0, 2));
  return nx_reshape(found, NX_SHAPE(n, WIDTH), NX_MAY_COPY);
}

/* Where keys and values of a layer are read, once those of n tokens are there. */
typedef nx_tensor *memory(decoder *d, int which, int layer, nx_tensor *of_tokens, nx_tensor *at);

static nx_tensor *layer(decoder *d, int l, nx_tensor *x, int64_t n, memory *remember, nx_tensor *at,
                        nx_tensor *mask) {
  nx_tensor *y = normalised(x), *heads[3];
  for (int i = 0; i < 3; i++) heads[i] = by_heads(nx_matmul(y, mixer(d, l, i)), n);
  for (int i = 1; i < 3; i++) heads[i] = remember(d, i - 1, l, heads[i], at);
  nx_tensor *found = attention(heads[0], heads[1], heads[2], mask, n),
            *more = nx_add(x, nx_matmul(found, mixer(d, l, 3))),
            *wide = nx_matmul(normalised(more), d->weights[l][UP]),
            *active = nx_mul(wide, nx_logistic(wide));
  return nx_add(more, nx_matmul(active, d->weights[l][DOWN]));
}

/* How likely each token comes next, behind each of n tokens: [n, TOKENS]. */
static nx_tensor *decode(decoder *d, nx_tensor *x, int64_t n, memory *remember, nx_tensor *at,
                         nx_tensor *mask) {
  for (int l = 0; l < LAYERS; l++) x = layer(d, l, x, n, remember, at, mask);
  return nx_matmul(normalised(x), nx_permute(d->tokens, NX_AXES(1, 0)));
}

/* ---- one token, with the cache */

static nx_tensor *zero(const decoder *d) { return nx_full_i64(d->context, 0, NX_I32, NULL, 0, 0); }

static nx_tensor *count(const decoder *d, int64_t rows, int64_t columns) {
  nx_tensor *line = nx_arange(d->context, 0, NX_I32, NX_INTEGER(0), NX_INTEGER(1), rows * columns);
  return nx_reshape(line, NX_SHAPE(rows, columns), 0);
}

/* Writes one place of one layer; then all of the layer is there to be read. The handle of the new
 * cache is released before the function is made, or it would be a value of its own, and a copy. */
static nx_tensor *in_cache(decoder *d, int which, int layer, nx_tensor *of_token, nx_tensor *at) {
  nx_tensor *cache = d->cache[which],
            *starts[4] = {nx_full_i64(d->context, 0, NX_I32, NULL, 0, layer), zero(d), at, zero(d)},
            *one = nx_reshape(of_token, NX_SHAPE(1, HEADS, 1, HEAD), NX_MAY_COPY),
            *next = nx_dynamic_update_slice(cache, one, starts, 4);
  check(nx_assign(cache, next));
  nx_tensor_release(next);
  return nx_reshape(nx_get(cache, &(nx_range){layer, layer + 1, 1}, 1), NX_SHAPE(HEADS, TIME, HEAD),
                    0);
}

/* (token, its place) -> how likely each token is next; the likeliest one. */
static nx_function *capture_step(decoder *d) {
  nx_context *c = d->context;
  nx_function *f;
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *in[2] = {nx_placeholder(c, 0, NX_I32, NULL, 0), nx_placeholder(c, 0, NX_I32, NULL, 0)},
            *token[2] = {in[0], zero(d)}, *place[2] = {in[1], zero(d)};
  nx_tensor *x = nx_add(nx_dynamic_slice(d->tokens, token, NX_SHAPE(1, WIDTH)),
                        nx_dynamic_slice(d->places, place, NX_SHAPE(1, WIDTH))),
            *mask = nx_cmple(count(d, 1, TIME), in[1]), *y = decode(d, x, 1, in_cache, in[1], mask),
            *out[2] = {y, nx_reduce_argmax(y, 1, 0, NX_I32)};
  check(nx_function_create(c, in, 2, out, 2, NULL, &f));
  nx_scope_end(scope);
  return f;
}

/* ---- all tokens, without it */

static nx_tensor *as_it_is(decoder *d, int which, int layer, nx_tensor *of_tokens, nx_tensor *at) {
  (void)d, (void)which, (void)layer, (void)at;
  return of_tokens;
}

static nx_tensor *all_at_once(decoder *d, const int32_t *text) {
  nx_context *c = d->context;
  nx_tensor *ids = nx_from_data(c, 0, NX_I32, NX_SHAPE(TIME, 1), text, TIME * sizeof *text),
            *rows = nx_gather(d->tokens, nx_expand(ids, NX_SHAPE(TIME, WIDTH)), 0),
            *mask =
                nx_cmple(count(d, 1, TIME), nx_reshape(count(d, TIME, 1), NX_SHAPE(TIME, 1), 0));
  return decode(d, nx_add(rows, d->places), TIME, as_it_is, NULL, mask);
}

int main(void) {
  static const int32_t prompt[PROMPT] = {7, 42, 3, 19, 88};
  static float likely[TIME][TOKENS], again[TIME][TOKENS];
  int32_t text[TIME + 1];
  decoder d;
  double most = 0;
  int others = 0;
  check(nx_context_create(NULL, &d.context));
  nx_context *c = d.context;
  nx_scope *scope = nx_scope_begin(c);
  make_weights(&d);
  nx_function *f = capture_step(&d);
  nx_tensor *in[2] = {nx_empty(c, 0, NX_I32, NULL, 0), nx_empty(c, 0, NX_I32, NULL, 0)},
            *out[2] = {nx_empty(c, 0, NX_F32, NX_SHAPE(1, TOKENS)),
                       nx_empty(c, 0, NX_I32, NX_SHAPE(1))};
  memcpy(text, prompt, sizeof prompt);
  for (int32_t t = 0; t < TIME; t++) {
    int32_t next;
    check(nx_write(in[0], &text[t], sizeof *text, NULL));
    check(nx_write(in[1], &t, sizeof t, NULL));
    check(nx_function_call(f, in, 2, out, 2, NULL));
    check(nx_read(out[0], likely[t], sizeof likely[t], NULL));
    check(nx_read(out[1], &next, sizeof next, NULL));
    if (t + 1 >= PROMPT) text[t + 1] = next;
  }
  check(nx_read(all_at_once(&d, text), again, sizeof again, NULL));
  for (int t = 0; t < TIME; t++) {
    int best = 0;
    for (int i = 0; i < TOKENS; i++) {
      most = fmax(most, fabs((double)(likely[t][i] - again[t][i])));
      if (again[t][i] > again[t][best]) best = i;
    }
    others += t + 1 >= PROMPT && best != text[t + 1];
  }
  printf("prompt:");
  for (int t = 0; t <= TIME; t++) printf("%s %d", t == PROMPT ? "\ndecoded:" : "", (int)text[t]);
  printf("\n%d of %d tokens differ without the cache, likelihoods by %.1e at most\n", others,
         TIME + 1 - PROMPT, most);
  nx_scope_end(scope);
  nx_function_release(f);
  nx_context_release(c);
  return others != 0 || !(most < 1e-3);
}
