/* SPDX-License-Identifier: ISC */
/* A sorting network for up to eight vectors of keys of one row: included by sort/quick.c for
 * each kind of key and instruction set. No include guard.
 *
 * Before including: NETWORK_TARGET (attributes), KEY, LANES (of a vector), VECTOR (of unsigned
 * keys), NAME(what), LEAST(a, b), MOST(a, b), ORDERED(a, b, bit) (the least, but the most in lanes
 * whose numbers have the bit; it is a constant), MIRRORED(v, x) (lane l ^ x in lane l), LOW(a, b)
 * and HIGH(a, b) (the lower and upper halves of both, their lanes by turns), LOAD(from, n) (n keys,
 * and the highest in the other lanes) and STORE(to, v, n).
 *
 * Each lane is a column, sorted by a network that needs no shuffles. Then neighbouring columns are
 * merged, by a bitonic network: the second is turned round, so that a key and its counterpart can
 * be ordered, which leaves two halves that are bitonic. Key i of the result is in lane i / vectors,
 * vector i % vectors, until the vectors are woven together at last. */

#define NETWORK_INLINE NETWORK_TARGET static inline __attribute__((always_inline))

/* Loops are unrolled, since vectors are registers and lanes constants. */
#define EACH(i, first, last, step) \
  _Pragma("GCC unroll 8") for (int i = (first); i < (last); i += (step))
#define HALVES(apart, first) \
  _Pragma("GCC unroll 8") for (int apart = (first); apart > 0; apart /= 2)

NETWORK_INLINE void NAME(exchange)(VECTOR *a, VECTOR *b) {
  const VECTOR x = *a, y = *b;
  *a = LEAST(x, y);
  *b = MOST(x, y);
}

NETWORK_INLINE void NAME(sort_four)(VECTOR *v) {
  NAME(exchange)(v, v + 1);
  NAME(exchange)(v + 2, v + 3);
  NAME(exchange)(v, v + 2);
  NAME(exchange)(v + 1, v + 3);
  NAME(exchange)(v + 1, v + 2);
}

/* Sorts the columns of 1, 2, 4 or 8 vectors. */
NETWORK_INLINE void NAME(sort_columns)(VECTOR *v, int vectors) {
  if (vectors == 2) NAME(exchange)(v, v + 1);
  if (vectors >= 4) NAME(sort_four)(v);
  if (vectors < 8) return;
  NAME(sort_four)(v + 4);
  EACH(i, 0, 4, 1) NAME(exchange)(v + i, v + i + 4);
  EACH(i, 2, 4, 1) NAME(exchange)(v + i, v + i + 2);
  EACH(i, 1, 7, 2) NAME(exchange)(v + i, v + i + 1);
}

/* Makes columns of the same number of lanes as `group`, each with its neighbour, one. */
NETWORK_INLINE void NAME(merge_columns)(VECTOR *v, int vectors, int group) {
  EACH(i, 0, (vectors + 1) / 2, 1) {
    const int j = vectors - 1 - i;
    const VECTOR x = v[i], y = v[j];
    v[i] = ORDERED(x, MIRRORED(y, 2 * group - 1), group);
    if (j != i) v[j] = ORDERED(y, MIRRORED(x, 2 * group - 1), group);
  }
  HALVES(apart, group / 2)
  EACH(i, 0, vectors, 1) v[i] = ORDERED(v[i], MIRRORED(v[i], apart), apart);
  HALVES(apart, vectors / 2)
  EACH(i, 0, vectors, 1)
  if ((i & apart) == 0) NAME(exchange)(v + i, v + i + apart);
}

NETWORK_INLINE void NAME(weave)(VECTOR *v, int vectors) {
  HALVES(round, vectors / 2) {
    VECTOR next[8];
    EACH(i, 0, vectors / 2, 1) {
      next[2 * i] = LOW(v[i], v[i + vectors / 2]);
      next[2 * i + 1] = HIGH(v[i], v[i + vectors / 2]);
    }
    EACH(i, 0, vectors, 1) v[i] = next[i];
  }
}

NETWORK_INLINE void NAME(sort_vectors)(const KEY *from, KEY *to, int64_t n, int vectors) {
  VECTOR v[8];
  EACH(i, 0, vectors, 1) v[i] = LOAD(from + (int64_t)i * LANES, n - (int64_t)i * LANES);
  NAME(sort_columns)(v, vectors);
  NAME(merge_columns)(v, vectors, 1);
  NAME(merge_columns)(v, vectors, 2);
  if (LANES > 4) NAME(merge_columns)(v, vectors, 4);
  if (LANES > 8) NAME(merge_columns)(v, vectors, 8);
  NAME(weave)(v, vectors);
  EACH(i, 0, vectors, 1) STORE(to + (int64_t)i * LANES, v[i], n - (int64_t)i * LANES);
}

/* Sorts up to 8 LANES keys. `from` may be `to`. */
NETWORK_TARGET static void NAME(network)(const void *keys, void *to, int64_t n) {
  const KEY *from = keys;
  if (n <= LANES) NAME(sort_vectors)(from, to, n, 1);
  else if (n <= 2 * LANES) NAME(sort_vectors)(from, to, n, 2);
  else if (n <= 4 * LANES) NAME(sort_vectors)(from, to, n, 4);
  else NAME(sort_vectors)(from, to, n, 8);
}

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
#undef MIRRORED
#undef LOW
#undef HIGH
#undef LOAD
#undef STORE
