/* SPDX-License-Identifier: ISC */
/* A sorting network for up to eight or sixteen vectors of keys of one row: included by
 * sort/quick.c for each kind of key and instruction set. No include guard.
 *
 * Before including: NETWORK_TARGET (attributes), KEY, LANES (of a vector), VECTOR (of unsigned
 * keys), NAME(what), LEAST(a, b), MOST(a, b), BLENDED(a, b, bit) (b in lanes whose numbers have the
 * bit, a elsewhere; it is a constant), ORDERED(a, b, bit) (the least, but the most in those lanes),
 * MIRRORED(v, x) (lane l ^ x in lane l), LOW(a, b) and HIGH(a, b) (the lower and upper halves of
 * both, their lanes by turns), LOAD(from, n) (n keys, and the highest in the other lanes) and
 * STORE(to, v, n). Where there are 32 registers and it pays, EXCHANGE_TOO(&a, &b) as well:
 * NAME(exchange) by instructions that other parts of the processor do, for every second vector.
 *
 * Each lane is a column, sorted by a network that needs no shuffles. Then neighbouring columns are
 * merged, by a bitonic network: the second is turned round, so that a key and its counterpart can
 * be ordered, which leaves two halves that are bitonic. Key i of the result is in lane i / vectors,
 * vector i % vectors, until the vectors are woven together at last. */

#define NETWORK_INLINE NETWORK_TARGET static inline __attribute__((always_inline))

/* Loops are unrolled, since vectors are registers and lanes constants. */
#define EACH(i, first, last, step) \
  _Pragma("GCC unroll 16") for (int i = (first); i < (last); i += (step))
#define HALVES(apart, first) \
  _Pragma("GCC unroll 16") for (int apart = (first); apart > 0; apart /= 2)

NETWORK_INLINE void NAME(exchange)(VECTOR *a, VECTOR *b) {
  const VECTOR x = *a, y = *b;
  *a = LEAST(x, y);
  *b = MOST(x, y);
}

#ifdef EXCHANGE_TOO
NETWORK_INLINE void NAME(exchange_too)(VECTOR *a, VECTOR *b) { EXCHANGE_TOO(a, b); }
#else
NETWORK_INLINE void NAME(exchange_too)(VECTOR *a, VECTOR *b) { NAME(exchange)(a, b); }
#endif

NETWORK_INLINE void NAME(sort_four)(VECTOR *v) {
  NAME(exchange)(v, v + 1);
  NAME(exchange)(v + 2, v + 3);
  NAME(exchange)(v, v + 2);
  NAME(exchange)(v + 1, v + 3);
  NAME(exchange)(v + 1, v + 2);
}

NETWORK_INLINE void NAME(sort_eight)(VECTOR *v) {
  NAME(sort_four)(v);
  NAME(sort_four)(v + 4);
  EACH(i, 0, 4, 1) NAME(exchange)(v + i, v + i + 4);
  EACH(i, 2, 4, 1) NAME(exchange)(v + i, v + i + 2);
  EACH(i, 1, 7, 2) NAME(exchange)(v + i, v + i + 1);
}

/* Sorts the columns of 1, 2, 4, 8 or 16 vectors. */
NETWORK_INLINE void NAME(sort_columns)(VECTOR *v, int vectors) {
  if (vectors == 2) NAME(exchange)(v, v + 1);
  if (vectors == 4) NAME(sort_four)(v);
  if (vectors >= 8) NAME(sort_eight)(v);
  if (vectors < 16) return;
  NAME(sort_eight)(v + 8);
  EACH(i, 0, 8, 1) NAME(exchange)(v + i, v + i + 8);
  EACH(i, 4, 8, 1) NAME(exchange)(v + i, v + i + 4);
  EACH(i, 2, 14, 4) {
    NAME(exchange)(v + i, v + i + 2);
    NAME(exchange)(v + i + 1, v + i + 3);
  }
  EACH(i, 1, 15, 2) NAME(exchange)(v + i, v + i + 1);
}

/* Makes columns of the same number of lanes as `group`, each with its neighbour, one. */
NETWORK_INLINE void NAME(merge_columns)(VECTOR *v, int vectors, int group, bool mixed) {
  if (vectors == 1) v[0] = ORDERED(v[0], MIRRORED(v[0], 2 * group - 1), group);
  EACH(i, 0, vectors / 2, 1) {
    const int j = vectors - 1 - i;
    const VECTOR x = v[i], y = MIRRORED(v[j], 2 * group - 1), least = LEAST(x, y),
                 most = MOST(x, y);
    v[i] = BLENDED(least, most, group);
    v[j] = MIRRORED(BLENDED(most, least, group), 2 * group - 1);
  }
  HALVES(apart, group / 2)
  EACH(i, 0, vectors, 1) v[i] = ORDERED(v[i], MIRRORED(v[i], apart), apart);
  HALVES(apart, vectors / 2)
  EACH(i, 0, vectors, 1)
  if ((i & apart) == 0) {
    if (!mixed || i % 2 == 0) NAME(exchange)(v + i, v + i + apart);
    else NAME(exchange_too)(v + i, v + i + apart);
  }
}

NETWORK_INLINE void NAME(weave)(VECTOR *v, int vectors) {
  HALVES(round, vectors / 2) {
    VECTOR next[16];
    EACH(i, 0, vectors / 2, 1) {
      next[2 * i] = LOW(v[i], v[i + vectors / 2]);
      next[2 * i + 1] = HIGH(v[i], v[i + vectors / 2]);
    }
    EACH(i, 0, vectors, 1) v[i] = next[i];
  }
}

NETWORK_INLINE void NAME(sort_vectors)(const KEY *from, KEY *to, int64_t n, int vectors,
                                       bool mixed) {
  VECTOR v[16];
  EACH(i, 0, vectors, 1) v[i] = LOAD(from + (int64_t)i * LANES, n - (int64_t)i * LANES);
  NAME(sort_columns)(v, vectors);
  NAME(merge_columns)(v, vectors, 1, mixed);
  NAME(merge_columns)(v, vectors, 2, mixed);
  if (LANES > 4) NAME(merge_columns)(v, vectors, 4, mixed);
  if (LANES > 8) NAME(merge_columns)(v, vectors, 8, mixed);
  NAME(weave)(v, vectors);
  EACH(i, 0, vectors, 1) STORE(to + (int64_t)i * LANES, v[i], n - (int64_t)i * LANES);
}

NETWORK_INLINE void NAME(sort_up_to)(const KEY *from, KEY *to, int64_t n, int vectors, bool mixed) {
  if (n <= LANES) NAME(sort_vectors)(from, to, n, 1, mixed);
  else if (n <= 2 * LANES) NAME(sort_vectors)(from, to, n, 2, mixed);
  else if (n <= 4 * LANES) NAME(sort_vectors)(from, to, n, 4, mixed);
  else if (vectors == 8 || n <= 8 * LANES) NAME(sort_vectors)(from, to, n, 8, mixed);
  else NAME(sort_vectors)(from, to, n, 16, mixed);
}

/* Sorts up to 8 LANES keys. `from` may be `to`. */
NETWORK_TARGET static __attribute__((unused)) void NAME(network)(const void *keys, void *to,
                                                                 int64_t n) {
  NAME(sort_up_to)(keys, to, n, 8, false);
}

#ifdef EXCHANGE_TOO
/* The same, up to 16 LANES. */
NETWORK_TARGET static void NAME(wide_network)(const void *keys, void *to, int64_t n) {
  NAME(sort_up_to)(keys, to, n, 16, true);
}
#endif

#undef NETWORK_INLINE
#undef EACH
#undef HALVES
#undef KEY
#undef LANES
#undef VECTOR
#undef NAME
#undef LEAST
#undef MOST
#undef ORDERED
#undef BLENDED
#undef EXCHANGE_TOO
#undef MIRRORED
#undef LOW
#undef HIGH
#undef LOAD
#undef STORE
