/* SPDX-License-Identifier: ISC */
/* Conditions on scores (attention.cuh) as bits, so that kernels that read them several times read
 * an eighth of the bytes, wherever rows begin. */

/* Packs a condition, a line of columns after the other: 32 columns are a word, and a line is an
 * even number of words, of which there are `all`. A bit says that a column is seen: where the
 * condition is true, or, `hides`, where it is false, and behind the columns. */
template <int threads, bool hides>
NX_INLINE void nx_pack_condition(const nx_u8 *condition, nx_u32 *bits, int columns, int all) {
  const int lane = threadIdx.x % 32, words = (columns + 63) / 64 * 2;
#pragma unroll 1
  for (int first = (blockIdx.x * threads + threadIdx.x) / 32 * 32; first < all;
       first += gridDim.x * threads) {
    int line = first / words, word = first % words;
    nx_u32 own = 0;
#pragma unroll 8
    for (int i = 0; i < 32; i++) {
      const int column = word * 32 + lane;
      const bool there = first + i < all && column < columns,
                 set = there && condition[(nx_i64)line * columns + column] != 0;
      const nx_u32 seen = __ballot_sync(0xffffffffu, !there || set != hides);
      if (lane == i) own = seen;
      if (++word == words) word = 0, line++;
    }
    if (first + lane < all) bits[first + lane] = own;
  }
}
