/* SPDX-License-Identifier: ISC */
/* Threefry-2x32 of the references, and the key that rows of random numbers are tried with. */
#ifndef NXT_RANDOMNESS_H
#define NXT_RANDOMNESS_H

#include "../conformance.h"

typedef struct words {
  uint32_t first, second;
} words;
words threefry(words key, words x);
extern const words seed;
array *key_of(trial *t, nx_dtype dtype); /* the seed, as i32 or u32 */

#endif
