/* SPDX-License-Identifier: ISC */
/* Scans of few long lines that read each element once, in the order of docs/numerics.md. Each block
 * of 1024 elements is scanned by one thread. The result before a block (its prefix) is the prefix
 * of the block in front of it combined with the total of that block.
 *
 * A block of threads has a tile of 7 blocks in shared memory, because some GPUs have no more than
 * 64 KiB. Tiles are numbered by a ticket, so all tiles before a given one have been started. A tile
 * shows the totals of its blocks, and waits for its prefix. One warp at a time carries: from a
 * prefix and the totals of the tiles behind it, one after the other, it computes their prefixes and
 * shows them, until it comes to a tile whose totals are not there. That tile is told that it is its
 * turn: when it has its totals, its first warp carries on. So the chain of additions runs once, on
 * totals that were loaded before they are needed, and no tile waits for one that has not been
 * started. If the order of additions makes no difference (EXACT), the totals of a tile's blocks are
 * combined first.
 *
 * What tiles show are 64-bit words, of which each says that it is there: no fences. */
enum { NX_SCAN_BLOCK = 1024, NX_SCAN_BLOCKS = 7, NX_SCAN_TILE = 7168, NX_SCAN_THREADS = 256 };
enum { NX_SCAN_TOTALS = 1, NX_SCAN_TURN = 2 }; /* a tile has its totals; it carries on */

enum { NX_SCAN_SUM, NX_SCAN_PROD, NX_SCAN_MAX, NX_SCAN_MIN };
template <int kind> struct nx_scan_combine {
  template <class T> NX_INLINE T of_floats(T a, T b) {
    return kind == NX_SCAN_SUM    ? a + b
           : kind == NX_SCAN_PROD ? a * b
           : kind == NX_SCAN_MAX  ? nx_max(a, b)
                                  : nx_min(a, b);
  }
  NX_INLINE float of(float a, float b) { return of_floats(a, b); }
  NX_INLINE double of(double a, double b) { return of_floats(a, b); }
  template <class T> NX_INLINE T of(T a, T b) {
    return kind == NX_SCAN_SUM    ? (T)((NX_WRAP(T))a + (NX_WRAP(T))b)
           : kind == NX_SCAN_PROD ? (T)((NX_WRAP(T))a * (NX_WRAP(T))b)
           : kind == NX_SCAN_MAX  ? nx_most(a, b)
                                  : nx_least(a, b);
  }
};

/* The value of thread n of the warp. */
NX_OF_WARP(nx_lane, __shfl_sync)

/* The value of a tile in words: 32 bits of it in each, and a bit that says so. */
#define NX_SCAN_THERE ((nx_u64)1 << 32)
template <class T> NX_INLINE nx_u32 nx_scan_bits(T a) { return (nx_u32)a; }
NX_INLINE nx_u32 nx_scan_bits(float a) { return nx_bitcast<nx_u32>(a); }
template <class T> NX_INLINE void nx_scan_of(nx_u32 bits, T *a) { *a = (T)bits; }
NX_INLINE void nx_scan_of(nx_u32 bits, float *a) { *a = nx_bitcast<float>(bits); }

template <class T> NX_INLINE void nx_scan_show(volatile nx_u64 *at, T a) {
  if constexpr (sizeof(T) == 8) {
    const nx_u64 bits = nx_bitcast<nx_u64>(a);
    at[0] = NX_SCAN_THERE | (nx_u32)bits;
    at[1] = NX_SCAN_THERE | bits >> 32;
  } else {
    at[0] = NX_SCAN_THERE | nx_scan_bits(a);
  }
}
/* Whether the value is there, and the value. */
template <class T> NX_INLINE bool nx_scan_see(const volatile nx_u64 *at, T *a) {
  const nx_u64 low = at[0];
  if constexpr (sizeof(T) == 8) {
    const nx_u64 high = at[1];
    *a = nx_bitcast<T>(high << 32 | (nx_u32)low);
    return (low & high & NX_SCAN_THERE) != 0;
  } else {
    nx_scan_of((nx_u32)low, a);
    return (low & NX_SCAN_THERE) != 0;
  }
}

/* What tiles show: of each a word with its state, the totals of its blocks, and its prefix. */
template <class T> struct nx_scan_shown {
  nx_u32 *state;
  volatile nx_u64 *totals, *prefix;
  static const int words = sizeof(T) == 8 ? 2 : 1;
};

/* The totals of a tile, if it is before `end` and all are there. */
template <class T, int n_totals>
NX_INLINE bool nx_scan_totals(const nx_scan_shown<T> &shown, nx_u32 tile, nx_u32 end, T *totals) {
  bool all = tile < end;
#pragma unroll
  for (int k = 0; k < n_totals; k++)
    if (tile < end)
      all &= nx_scan_see(shown.totals + ((nx_i64)tile * n_totals + k) * shown.words, &totals[k]);
  return all;
}

/* Carries `before`, the prefix of `tile`, on through the tiles before `end`. Run by one warp. */
template <class T, class Combine, int n_totals>
NX_INLINE void nx_scan_carry(const nx_scan_shown<T> &shown, nx_u32 tile, nx_u32 end, T before) {
  const int lane = threadIdx.x & 31;
  T totals[n_totals] = {}, next[n_totals] = {};
  bool there = nx_scan_totals<T, n_totals>(shown, tile + (nx_u32)lane, end, totals);
  while (tile < end) { /* 32 tiles at a time */
    const nx_u32 lacking = ~__ballot_sync(0xffffffffu, there);
    const int n = lacking ? __ffs((int)lacking) - 1 : 32;
    T own = before;
    if (n == 32) { /* while these are added, the next totals come */
      there = nx_scan_totals<T, n_totals>(shown, tile + 32 + (nx_u32)lane, end, next);
#pragma unroll
      for (int i = 0; i < 32; i++) {
#pragma unroll
        for (int k = 0; k < n_totals; k++) before = Combine::of(before, nx_lane(totals[k], i));
        if (lane == i + 1) own = before;
      }
    } else {
#pragma unroll 1
      for (int i = 0; i < n; i++) {
#pragma unroll
        for (int k = 0; k < n_totals; k++) before = Combine::of(before, nx_lane(totals[k], i));
        if (lane == i + 1) own = before;
      }
    }
    if (lane <= n && tile + (nx_u32)lane < end)
      nx_scan_show(shown.prefix + (nx_i64)(tile + (nx_u32)lane) * shown.words, own);
    tile += (nx_u32)n;
    if (n < 32 && tile < end) {
      nx_u32 state = lane == 0 ? atomicOr(&shown.state[tile], (nx_u32)NX_SCAN_TURN) : 0;
      if (!(nx_lane(state, 0) & NX_SCAN_TOTALS)) return;
      there = nx_scan_totals<T, n_totals>(shown, tile + (nx_u32)lane, end, next);
    }
#pragma unroll
    for (int k = 0; k < n_totals; k++) totals[k] = next[k];
  }
}

/* Shows the totals of a tile, and waits for its prefix. Run by one warp, of which lane k has total
 * k. *carries: whether it is this warp that carries on. */
template <class T, int n_totals>
NX_INLINE T nx_scan_prefix(const nx_scan_shown<T> &shown, nx_u32 tile, T total, bool *carries) {
  const int lane = threadIdx.x & 31;
  if (lane < n_totals)
    nx_scan_show(shown.totals + ((nx_i64)tile * n_totals + lane) * shown.words, total);
  __syncwarp();
  nx_u32 state = lane == 0 ? atomicOr(&shown.state[tile], (nx_u32)NX_SCAN_TOTALS) : 0;
  *carries = (nx_lane(state, 0) & NX_SCAN_TURN) != 0;
  T before = 0;
  for (;;) {
    const bool there = nx_scan_see(shown.prefix + (nx_i64)tile * shown.words, &before);
    if (__ballot_sync(0xffffffffu, there) == 0xffffffffu) return before;
    __nanosleep(20);
  }
}

/* Blocks of threads that a multiprocessor has at least; 0: ptxas decides. For 1 it uses more
 * registers, without which some of sm_75 would be in memory. Wide integers get too few otherwise;
 * three blocks is what shared memory has room for. */
template <class T, bool exact> struct nx_scan_blocks {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800
  static const int least = sizeof(T) == 8 ? 1 : 0;
#else
  static const int least = sizeof(T) == 8 && exact ? 3 : 0;
#endif
};

/* Scans one tile. values: NX_SCAN_BLOCKS rows of NX_SCAN_BLOCK + 1 numbers, so that the threads
 * that scan them access different banks; then two rows of NX_SCAN_BLOCKS. */
template <class T, int kind, bool exact>
NX_INLINE void nx_scan_tile(const T *from, T *to, nx_i64 length, nx_u32 line_tiles, nx_u32 tile,
                            const nx_scan_shown<T> &shown, T *values) {
  typedef nx_scan_combine<kind> Combine;
  const int n_totals = exact ? 1 : NX_SCAN_BLOCKS, row = NX_SCAN_BLOCK + 1;
  T *prefixes = values + NX_SCAN_BLOCKS * row, *totals = prefixes + NX_SCAN_BLOCKS;
  const nx_u32 line = tile / line_tiles, place = tile - line * line_tiles,
               first = tile - place;
  const nx_i64 begin = (nx_i64)place * NX_SCAN_TILE;
  const int n = length - begin < NX_SCAN_TILE ? (int)(length - begin) : NX_SCAN_TILE;
  const int blocks = (n + NX_SCAN_BLOCK - 1) / NX_SCAN_BLOCK;
  from += line * length + begin;
  to += line * length + begin;
#pragma unroll 7
  for (int i = threadIdx.x; i < n; i += NX_SCAN_THREADS)
    values[i / NX_SCAN_BLOCK * row + i % NX_SCAN_BLOCK] = from[i];
  __syncthreads();
  if (threadIdx.x < blocks) {
    T *block = values + (int)threadIdx.x * row, sum = block[0];
    const int own = n - (int)threadIdx.x * NX_SCAN_BLOCK < NX_SCAN_BLOCK
                        ? n - (int)threadIdx.x * NX_SCAN_BLOCK
                        : NX_SCAN_BLOCK;
#pragma unroll 16
    for (int i = 1; i < own; i++) block[i] = sum = Combine::of(sum, block[i]);
    totals[threadIdx.x] = sum;
  }
  __syncthreads();
  bool carries = place == 0;
  T sum = 0; /* the prefix of the next tile */
  if (threadIdx.x < 32) {
    T all = totals[0];
    for (int k = 1; k < blocks; k++) all = exact ? Combine::of(all, totals[k]) : all;
    if (place > 0) {
      const T total = exact ? all : totals[threadIdx.x < blocks ? threadIdx.x : 0];
      sum = nx_scan_prefix<T, n_totals>(shown, tile, total, &carries);
    }
    for (int k = 0; k < blocks; k++) {
      if (threadIdx.x == 0) prefixes[k] = sum;
      sum = place == 0 && k == 0 ? totals[0] : Combine::of(sum, totals[k]);
    }
  }
  __syncthreads();
  if (threadIdx.x < 32 && carries)
    nx_scan_carry<T, Combine, n_totals>(shown, tile + 1, first + line_tiles, sum);
  for (int i = threadIdx.x; i < n; i += NX_SCAN_THREADS) {
    const int k = i / NX_SCAN_BLOCK;
    const T within = values[k * row + i % NX_SCAN_BLOCK];
    to[i] = place == 0 && k == 0 ? within : Combine::of(prefixes[k], within);
  }
}

/* The tiles of all lines are numbered consecutively, and blocks of threads take them in that order.
 * room: shared memory for the values and numbers of a tile and one word. */
template <class T, int kind, bool exact>
NX_INLINE void nx_scan_lines(const T *from, T *to, nx_i64 length, nx_u32 line_tiles, nx_u32 tiles,
                             nx_u32 *ticket, const nx_scan_shown<T> &shown, T *room) {
  nx_u32 *mine = (nx_u32 *)(room + (NX_SCAN_BLOCKS * (NX_SCAN_BLOCK + 3) + 3) / 4 * 4);
  for (;;) {
    if (threadIdx.x == 0) *mine = atomicAdd(ticket, 1u);
    __syncthreads();
    const nx_u32 tile = *mine;
    if (tile >= tiles) return;
    nx_scan_tile<T, kind, exact>(from, to, length, line_tiles, tile, shown, room);
    __syncthreads();
  }
}
