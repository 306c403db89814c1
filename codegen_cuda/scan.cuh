/* SPDX-License-Identifier: ISC */
/* Scans of few long lines that read each element once, in the order of docs/numerics.md. Each block
 * of 1024 elements is scanned by one thread. The result before a block (its prefix) is the prefix
 * of the block in front of it combined with the total of that block.
 *
 * A block of threads has a tile of 7 blocks in shared memory, because some GPUs have no more than
 * 64 KiB. Tiles are numbered by a ticket, so all tiles before a given one have been started. Each
 * tile first publishes the totals of its blocks, and later the prefix of the next tile. A tile
 * looks back (decoupled look-back) to the nearest tile that has published a prefix, and combines
 * that with the totals of the tiles between, in their order, so the result does not depend on
 * timing. If the order of additions makes no difference (EXACT), the totals of a tile's blocks are
 * combined first. */
enum { NX_SCAN_BLOCK = 1024, NX_SCAN_BLOCKS = 7, NX_SCAN_TILE = 7168, NX_SCAN_THREADS = 256 };
enum { NX_SCAN_TOTALS = 1, NX_SCAN_ALL = 2 }; /* what a tile has published */

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

/* What tiles publish: for each a word with its state, NX_SCAN_BLOCKS totals, and the prefix at its
 * end. */
template <class T> struct nx_scan_shown {
  volatile nx_u32 *state;
  volatile T *totals, *all;
};

/* The prefix of tile `tile`, which must not be the first of its line; `first` is the number of
 * that. Run by one warp. */
template <class T, class Combine, int n_totals>
NX_INLINE T nx_scan_look_back(const nx_scan_shown<T> &shown, nx_u32 first, nx_u32 tile) {
  const int lane = threadIdx.x & 31;
  nx_u32 windows = 0;
  T before = 0;
  /* Backward, 32 tiles at a time, until one of them has published a prefix. */
  for (int from = -1; from < 0;) {
    const nx_u32 back = windows * 32 + 1 + (nx_u32)lane;
    nx_u32 state = back <= tile - first ? shown.state[tile - back] : NX_SCAN_TOTALS;
    const nx_u32 all = __ballot_sync(0xffffffffu, state == NX_SCAN_ALL),
                 none = __ballot_sync(0xffffffffu, state == 0);
    from = all ? __ffs((int)all) - 1 : -1;
    if (none & (all ? (1u << from) - 1 : 0xffffffffu)) {
      from = -1;
      __nanosleep(20);
    } else if (all == 0) {
      windows++;
    }
    if (from < 0) continue;
    __threadfence();
    __syncwarp(); /* a lane reads what the states that other lanes have read are about */
    /* And forward from there. */
    before = shown.all[tile - (windows * 32 + 1 + (nx_u32)from)];
    for (nx_u32 w = windows + 1; w-- > 0;) {
      const nx_u32 own = w * 32 + 1 + (nx_u32)lane;
      const int oldest = w == windows ? from - 1 : 31;
      T totals[n_totals];
      for (int k = 0; k < n_totals; k++)
        totals[k] = lane <= oldest ? shown.totals[(nx_i64)(tile - own) * n_totals + k] : (T)0;
      for (int back_lane = oldest; back_lane >= 0; back_lane--)
        for (int k = 0; k < n_totals; k++)
          before = Combine::of(before, nx_lane(totals[k], back_lane));
    }
  }
  return before;
}

/* Scans one tile. values: NX_SCAN_BLOCKS rows of NX_SCAN_BLOCK + 1 numbers, so that the threads
 * that scan them access different banks; then two rows of NX_SCAN_BLOCKS. */
template <class T, int kind, bool exact>
NX_INLINE void nx_scan_tile(const T *from, T *to, nx_i64 length, nx_u32 line_tiles, nx_u32 tile,
                            const nx_scan_shown<T> &shown, T *values) {
  typedef nx_scan_combine<kind> Combine;
  const int n_totals = exact ? 1 : NX_SCAN_BLOCKS, row = NX_SCAN_BLOCK + 1;
  T *carries = values + NX_SCAN_BLOCKS * row, *totals = carries + NX_SCAN_BLOCKS;
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
  if (threadIdx.x < 32) { /* the first warp combines the tile with those before it */
    const bool last = place + 1 == line_tiles;
    T all = totals[0];
    for (int k = 1; k < blocks; k++) all = exact ? Combine::of(all, totals[k]) : all;
    if (place > 0 && !last) {
      if ((int)threadIdx.x < n_totals)
        shown.totals[(nx_i64)tile * n_totals + threadIdx.x] = exact ? all : totals[threadIdx.x];
      __syncwarp();
      if (threadIdx.x == 0) {
        __threadfence(); /* after the barrier, so that it is for the totals of all lanes */
        shown.state[tile] = NX_SCAN_TOTALS;
      }
    }
    T before = place > 0 ? nx_scan_look_back<T, Combine, n_totals>(shown, first, tile) : (T)0;
    T sum = before;
    for (int k = 0; k < blocks; k++) {
      if (threadIdx.x == 0) carries[k] = sum;
      sum = place == 0 && k == 0 ? totals[0] : Combine::of(sum, totals[k]);
    }
    if (!last && threadIdx.x == 0) {
      shown.all[tile] = sum;
      __threadfence();
      shown.state[tile] = NX_SCAN_ALL;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += NX_SCAN_THREADS) {
    const int k = i / NX_SCAN_BLOCK;
    const T within = values[k * row + i % NX_SCAN_BLOCK];
    to[i] = place == 0 && k == 0 ? within : Combine::of(carries[k], within);
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
