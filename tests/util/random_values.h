/* SPDX-License-Identifier: ISC */
/* Random numbers, the same for the same seed on every machine, and array contents made of them. */
#ifndef NXT_RANDOM_VALUES_H
#define NXT_RANDOM_VALUES_H

#include "ir/dtype.h"

typedef struct nxt_random {
  uint64_t state;
} nxt_random;
uint64_t nxt_next(nxt_random *r);            /* 64 random bits */
int64_t nxt_below(nxt_random *r, int64_t n); /* 0 .. n - 1 */
bool nxt_chance(nxt_random *r, int percent);

/* For fuzzing: as long as there are bytes here, the decisions of every generator are taken from
 * them, and so are contents of arrays, one byte for each element. at NULL: none. */
typedef struct nxt_tape {
  const uint8_t *at, *end;
} nxt_tape;
extern nxt_tape nxt_decisions;

/* Fills n elements of dtype t: small numbers mostly, now and then zeros of both signs, extremes,
 * infinities, NaN, subnormals. */
void nxt_random_fill(nxt_random *r, nx_dtype t, void *data, int64_t n);
/* Small finite numbers alone. */
void nxt_random_fill_plain(nxt_random *r, nx_dtype t, void *data, int64_t n);

#endif
