/* SPDX-License-Identifier: ISC */
/* Random numbers, and arrays of them. */
#include "random_values.h"

#include <stddef.h>

nxt_tape nxt_decisions;

/* The next n bytes as a number; a tape that is used up goes on with zeros. */
static uint64_t take_bytes(int n) {
  uint64_t value = 0;
  for (int i = 0; i < n && nxt_decisions.at < nxt_decisions.end; i++)
    value |= (uint64_t)*nxt_decisions.at++ << 8 * i;
  return value;
}
static bool has_tape(void) { return nxt_decisions.at < nxt_decisions.end; }

uint64_t nxt_next(nxt_random *r) { /* splitmix64, Steele, Lea, Flood 2014 */
  if (has_tape()) return take_bytes(8);
  uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

int64_t nxt_below(nxt_random *r, int64_t n) {
  uint64_t x = has_tape() ? take_bytes(n <= 0x100 ? 1 : n <= 0x10000 ? 2 : 8) : nxt_next(r);
  return (int64_t)(x % (uint64_t)n);
}
bool nxt_chance(nxt_random *r, int percent) { return nxt_below(r, 100) < percent; }

static double small_double(nxt_random *r) {
  return ((double)(nxt_next(r) >> 11) * 0x1p-53 - 0.5) * 8;
}

static double random_double(nxt_random *r) {
  double unit = (double)(nxt_next(r) >> 11) * 0x1p-53;
  switch (nxt_below(r, 40)) {
    case 0: return 0.0;
    case 1: return -0.0;
    case 2: return __builtin_inf();
    case 3: return -__builtin_inf();
    case 4: return __builtin_nan("");
    case 5: return (unit - 0.5) * 1e-40;
    case 6: return (unit - 0.5) * 1e38;
    case 7: return (double)(nxt_below(r, 9) - 4);
    case 8: return (unit - 0.5) * 1e6;
    default: return small_double(r);
  }
}

/* Complex elements are filled part by part. */
static void fill(nxt_random *r, nx_dtype t, void *data, int64_t n, bool plain) {
  nxt_tape kept = nxt_decisions;
  nxt_random own = {take_bytes(1)};
  if (kept.at < kept.end) r = &own, kept.at++;
  nxt_decisions = (nxt_tape){NULL, NULL};
  n *= nxi_parts(t);
  t = nxi_part_dtype(t);
  for (int64_t i = 0; i < n; i++) {
    uint64_t bits;
    if (nxi_is_float(t) || nxi_is_stored(t))
      bits = nxi_cast_bits(nxi_bits_f64(plain ? small_double(r) : random_double(r)), NX_F64, t);
    else if (t == NX_BOOL) bits = nxt_next(r) & 1;
    else if (!plain && nxt_chance(r, 15)) bits = nxi_cast_bits(nxt_next(r), NX_U64, t);
    else bits = nxi_cast_bits((uint64_t)(nxt_below(r, 21) - 10), NX_I64, t);
    nxi_store_at(data, t, i, bits);
  }
  nxt_decisions = kept;
}

void nxt_random_fill(nxt_random *r, nx_dtype t, void *data, int64_t n) {
  fill(r, t, data, n, false);
}

void nxt_random_fill_plain(nxt_random *r, nx_dtype t, void *data, int64_t n) {
  fill(r, t, data, n, true);
}
