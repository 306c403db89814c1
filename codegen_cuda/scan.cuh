/* SPDX-License-Identifier: ISC */
/* Scans that read each element once, in the order of docs/numerics.md. A block of 1024 elements is
 * scanned by itself. The result before a block (its prefix) is the prefix of the block in front of
 * it combined with the total of that block.
 *
 * Along contiguous memory a block of threads has a tile: a row, or 8 blocks of a long one. If the
 * order of additions makes a difference, one thread scans each block of the tile in shared memory;
 * otherwise (EXACT) each thread scans what it has in registers.
 *
 * Tiles of long lines are numbered by a ticket, so all tiles before a given one have been started.
 *  - In order, the first ticket is that of the carrier, a block of threads that combines the totals
 *    of all tiles, one after the other, so the chain of additions runs once. One of its warps adds;
 *    the others bring it the totals, 32 tiles at a time, by a ring in shared memory. Each tile is
 *    shown the result before it as soon as the totals in front of it are there, so nobody waits for
 *    a tile that has not been started.
 *  - EXACT tiles look back: a warp reads what the 32 tiles in front have shown, until one of them
 *    shows the result up to its end.
 * What tiles show are 64-bit words, of which each says what it is: no fences between blocks.
 *
 * Columns are scanned by a warp for each 32 of them, through a ring in shared memory. Comes after
 * mma.cuh, whose copies it uses. */
enum { NX_SCAN_BLOCK = 1024 };

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

/* The value of a tile in words: 32 bits of it in each, and above them what it is. */
enum { NX_SCAN_NONE, NX_SCAN_TOTAL, NX_SCAN_PREFIX };
template <class T> NX_INLINE nx_u32 nx_scan_bits(T a) { return (nx_u32)a; }
NX_INLINE nx_u32 nx_scan_bits(float a) { return nx_bitcast<nx_u32>(a); }
template <class T> NX_INLINE void nx_scan_of(nx_u32 bits, T *a) { *a = (T)bits; }
NX_INLINE void nx_scan_of(nx_u32 bits, float *a) { *a = nx_bitcast<float>(bits); }

template <class T> NX_INLINE void nx_scan_show(volatile nx_u64 *at, T a, nx_u64 state) {
  if constexpr (sizeof(T) == 8) {
    const nx_u64 bits = nx_bitcast<nx_u64>(a);
    at[0] = state << 32 | (nx_u32)bits;
    at[1] = state << 32 | bits >> 32;
  } else {
    at[0] = state << 32 | nx_scan_bits(a);
  }
}
/* What is there, and the value. A value of two words of which one has been shown is not there. */
template <class T> NX_INLINE nx_u32 nx_scan_see(const volatile nx_u64 *at, T *a) {
  const nx_u64 low = at[0];
  if constexpr (sizeof(T) == 8) {
    const nx_u64 high = at[1];
    *a = nx_bitcast<T>(high << 32 | (nx_u32)low);
    return low >> 32 == high >> 32 ? (nx_u32)(low >> 32) : NX_SCAN_NONE;
  } else {
    nx_scan_of((nx_u32)low, a);
    return (nx_u32)(low >> 32);
  }
}

/* Combined with x it is x. */
template <class T, int kind> struct nx_scan_identity {
  NX_INLINE T of() {
    if constexpr (kind == NX_SCAN_SUM) return (T)-0.0f;
    if constexpr (kind == NX_SCAN_PROD) return (T)1;
    if constexpr ((T)0.5f != (T)0) {
      return kind == NX_SCAN_MAX ? -(T)nx_bitcast<float>(0x7f800000u)
                                 : (T)nx_bitcast<float>(0x7f800000u);
    } else {
      const bool with_sign = (T)-1 < (T)0;
      const T top = (T)((nx_u64)1 << (8 * sizeof(T) - 1)), all = (T) ~(nx_u64)0;
      if (kind == NX_SCAN_MAX) return with_sign ? top : (T)0;
      return with_sign ? (T) ~(nx_u64)top : all;
    }
  }
};

/* ---- 16 bytes of elements */

template <class T> struct nx_scan_vector {
  static const int n = 16 / (int)sizeof(T);
  T at[n];
};
template <class T> NX_INLINE nx_scan_vector<T> nx_scan_get(const T *from) {
  return nx_bitcast<nx_scan_vector<T>>(*(const uint4 *)from);
}
template <class T> NX_INLINE void nx_scan_put(T *to, const nx_scan_vector<T> &v) {
  *(uint4 *)to = nx_bitcast<uint4>(v);
}
/* Those that begin at place i of n. wide: all 16 bytes of them are there or none, and aligned. */
template <class T>
NX_INLINE nx_scan_vector<T> nx_scan_get_of(const T *from, int i, int n, bool wide, T none) {
  nx_scan_vector<T> v;
#pragma unroll
  for (int k = 0; k < v.n; k++) v.at[k] = none;
  if (wide) {
    if (i < n) v = nx_scan_get(from + i);
  } else {
#pragma unroll
    for (int k = 0; k < v.n; k++)
      if (i + k < n) v.at[k] = from[i + k];
  }
  return v;
}
template <class T>
NX_INLINE void nx_scan_put_of(T *to, int i, int n, bool wide, const nx_scan_vector<T> &v) {
  if (wide) {
    if (i < n) nx_scan_put(to + i, v);
  } else {
#pragma unroll
    for (int k = 0; k < v.n; k++)
      if (i + k < n) to[i + k] = v.at[k];
  }
}
/* Brings them to shared memory; what is not wide comes at once, else with the group. */
template <class T>
NX_INLINE void nx_scan_bring(T *to, const T *from, int i, int n, bool wide) {
  if (!wide) nx_scan_put(to, nx_scan_get_of(from, i, n, false, (T)0));
  else if (i < n) nx_copy_start(to, from + i, 16);
}

/* ---- long lines in order */

/* What tiles show: of each the totals of its blocks, and its prefix; in two words if numbers have
 * 64 bits. */
template <class T> struct nx_scan_shown {
  volatile nx_u64 *totals, *prefix;
  static const int words = sizeof(T) == 8 ? 2 : 1;
};

/* On a GPU other warps go on while one looks again. */
NX_INLINE void nx_scan_look_again() {
#ifdef NX_ON_HOST
  __nanosleep(0);
#endif
}

/* The ring of the carrier. A slot has the totals of 32 tiles. full: how many of them have come, of
 * all rounds together; done: rounds that have been added. */
template <class T> struct nx_scan_ring {
  T *totals;
  volatile nx_u32 *full, *done;
};

/* Combines `before` with the totals of tiles `begin` to `end` of a slot. Each lane gets the result
 * before its tile. lines: lanes whose tile begins a line. */
template <class T, class Combine, int n_totals>
NX_INLINE T nx_scan_add_tiles(const T *totals, int begin, int end, nx_u32 lines, T identity,
                              T before, T *own) {
  const int lane = threadIdx.x & 31, n = nx_scan_vector<T>::n;
  static_assert(n_totals % nx_scan_vector<T>::n == 0, "whole vectors");
  if (lines == 0 && end - begin == 32) {
#pragma unroll
    for (int i = 0; i < 32; i++) {
      if (lane == i) *own = before;
#pragma unroll
      for (int k = 0; k < n_totals; k += n) {
        const nx_scan_vector<T> v = nx_scan_get(totals + i * n_totals + k);
#pragma unroll
        for (int j = 0; j < n; j++) before = Combine::of(before, v.at[j]);
      }
    }
    return before;
  }
#pragma unroll 1
  for (int i = begin; i < end; i++) {
    if (lines >> i & 1) before = identity;
    if (lane == i) *own = before;
#pragma unroll
    for (int k = 0; k < n_totals; k++) before = Combine::of(before, totals[i * n_totals + k]);
  }
  return before;
}

/* The warp of the carrier that adds. */
template <class T, class Combine, int n_totals, int slots>
NX_INLINE void nx_scan_add(const nx_scan_shown<T> &shown, nx_u32 tiles, nx_u32 line_tiles,
                           T identity, const nx_scan_ring<T> &ring) {
  const int lane = threadIdx.x & 31;
  T before = identity;
  for (nx_u32 c = 0; c * 32 < tiles; c++) {
    const nx_u32 slot = c % slots, base = c / slots * 32, tile = c * 32 + (nx_u32)lane;
    const int size = tiles - c * 32 < 32 ? (int)(tiles - c * 32) : 32;
    const nx_u32 lines = __ballot_sync(0xffffffffu, tile % line_tiles == 0);
    for (int at = 0, n = 0; at < size; at = n) {
      for (;;) {
        n = (int)(nx_lane((nx_u32)ring.full[slot], 0) - base);
        if (n > at) break;
        nx_scan_look_again();
      }
      __threadfence_block();
      T own = before;
      before = nx_scan_add_tiles<T, Combine, n_totals>(ring.totals + slot * 32 * n_totals, at, n,
                                                       lines, identity, before, &own);
      if (lane >= at && lane < n)
        nx_scan_show(shown.prefix + (nx_i64)tile * shown.words, own, NX_SCAN_PREFIX);
    }
    __syncwarp();
    if (lane == 0) ring.done[slot] = c / slots + 1;
  }
}

/* Another warp of it: brings every `loaders`th 32 tiles' totals, from number `first` on. */
template <class T, int n_totals, int loaders, int slots>
NX_INLINE void nx_scan_bring_totals(const nx_scan_shown<T> &shown, nx_u32 tiles, nx_u32 first,
                                    const nx_scan_ring<T> &ring) {
  const int lane = threadIdx.x & 31;
  for (nx_u32 c = first; c * 32 < tiles; c += loaders) {
    const nx_u32 slot = c % slots, round = c / slots, tile = c * 32 + (nx_u32)lane;
    const int size = tiles - c * 32 < 32 ? (int)(tiles - c * 32) : 32;
    bool there = false;
    T own[n_totals] = {};
    while (nx_lane((nx_u32)ring.done[slot], 0) < round) nx_scan_look_again();
    for (int n = 0; n < size;) {
      if (!there && tile < tiles) {
        there = true;
#pragma unroll
        for (int k = 0; k < n_totals; k++)
          there &= nx_scan_see(shown.totals + ((nx_i64)tile * n_totals + k) * shown.words,
                               &own[k]) != NX_SCAN_NONE;
        T *to = ring.totals + (slot * 32 + (nx_u32)lane) * n_totals;
#pragma unroll
        for (int k = 0; k < n_totals; k++)
          if (there) to[k] = own[k];
        __threadfence_block();
      }
      const nx_u32 lacking = ~__ballot_sync(0xffffffffu, there);
      const int now = lacking ? __ffs((int)lacking) - 1 : 32;
      if (now > n && lane == 0) ring.full[slot] = round * 32 + (nx_u32)now;
      n = now;
      if (n < size) nx_scan_look_again();
    }
  }
}

/* Numbers and words of shared memory that the carrier has: those of scan.c. */
template <class T, class Combine, int n_totals, int threads>
NX_INLINE void nx_scan_carry(const nx_scan_shown<T> &shown, nx_u32 tiles, nx_u32 line_tiles,
                             T identity, T *room) {
  const int loaders = threads / 32 - 1, slots = 2 * loaders;
  nx_u32 *words = (nx_u32 *)(room + slots * 32 * n_totals);
  const nx_scan_ring<T> ring = {room, words, words + slots};
  if (threadIdx.x < 2 * slots) words[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x < 32)
    nx_scan_add<T, Combine, n_totals, slots>(shown, tiles, line_tiles, identity, ring);
  else
    nx_scan_bring_totals<T, n_totals, loaders, slots>(shown, tiles, threadIdx.x / 32 - 1, ring);
}

/* The result before a tile, for all threads of a warp. */
template <class T> NX_INLINE T nx_scan_before(const nx_scan_shown<T> &shown, nx_u32 tile) {
  T before = 0;
  for (;;) {
    const bool there =
        nx_scan_see(shown.prefix + (nx_i64)tile * shown.words, &before) != NX_SCAN_NONE;
    if (__ballot_sync(0xffffffffu, there) == 0xffffffffu) return before;
    __nanosleep(20);
  }
}

/* Scans a block in shared memory. Returns its total. */
template <class T, class Combine> NX_INLINE T nx_scan_walk(T *block, T sum) {
  const int n = nx_scan_vector<T>::n, ahead = 4;
  nx_scan_vector<T> now[ahead], next[ahead];
#pragma unroll
  for (int j = 0; j < ahead; j++) now[j] = nx_scan_get(block + j * n);
#pragma unroll 1
  for (int at = 0; at < NX_SCAN_BLOCK; at += ahead * n) {
    const int more = at + ahead * n < NX_SCAN_BLOCK ? at + ahead * n : at;
#pragma unroll
    for (int j = 0; j < ahead; j++) next[j] = nx_scan_get(block + more + j * n);
#pragma unroll
    for (int j = 0; j < ahead; j++) {
#pragma unroll
      for (int k = 0; k < n; k++) now[j].at[k] = sum = Combine::of(sum, now[j].at[k]);
      nx_scan_put(block + at + j * n, now[j]);
      now[j] = next[j];
    }
  }
  return sum;
}

/* A tile of n elements whose blocks are scanned one by a thread. values: the blocks in rows that
 * are 16 bytes longer, so that threads access different banks; then two numbers for each block.
 * shares: whether the tile shows its totals and has a prefix; otherwise it is a whole line. */
template <class T, int kind, int threads, int blocks, bool shares>
NX_INLINE void nx_scan_in_order(const T *from, T *to, int n, bool wide, bool begins, nx_u32 tile,
                                const nx_scan_shown<T> &shown, T *values) {
  typedef nx_scan_combine<kind> Combine;
  const T identity = nx_scan_identity<T, kind>::of();
  const int of = nx_scan_vector<T>::n, row = NX_SCAN_BLOCK + of,
            vectors = (blocks * NX_SCAN_BLOCK / of + threads - 1) / threads,
            lane = threadIdx.x & 31;
  T *totals = values + blocks * row, *prefixes = totals + blocks;
#pragma unroll
  for (int j = 0; j < vectors; j++) {
    const int i = (j * threads + (int)threadIdx.x) * of;
    if (i < n)
      nx_scan_bring(values + i / NX_SCAN_BLOCK * row + i % NX_SCAN_BLOCK, from, i, n, wide);
  }
  nx_copy_group();
  nx_copy_wait<0>();
  __syncthreads();
  if (threadIdx.x < 32) {
    if (lane < blocks) {
      const T total = nx_scan_walk<T, Combine>(values + lane * row, identity);
      if constexpr (shares)
        nx_scan_show(shown.totals + ((nx_i64)tile * blocks + lane) * shown.words, total,
                     NX_SCAN_TOTAL);
      totals[lane] = total;
    }
    __syncwarp();
    T before = shares && !begins ? nx_scan_before(shown, tile) : identity;
    for (int k = 0; k < blocks && k < lane; k++) before = Combine::of(before, totals[k]);
    if (lane < blocks) prefixes[lane] = before;
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < vectors; j++) {
    const int i = (j * threads + (int)threadIdx.x) * of, block = i / NX_SCAN_BLOCK;
    if (i >= n) continue;
    nx_scan_vector<T> v = nx_scan_get(values + block * row + i % NX_SCAN_BLOCK);
    const T before = prefixes[block];
#pragma unroll
    for (int k = 0; k < of; k++) v.at[k] = Combine::of(before, v.at[k]);
    nx_scan_put_of(to, i, n, wide, v);
  }
}

/* ---- lines in any order */

/* The result before a tile that does not begin a line, for all threads of a warp. */
template <class T, class Combine>
NX_INLINE T nx_scan_look_back(volatile nx_u64 *shown, nx_u32 tile, T identity) {
  const int words = sizeof(T) == 8 ? 2 : 1, lane = threadIdx.x & 31;
  T before = identity;
  for (nx_i64 at = (nx_i64)tile - 1 - lane;; at -= 32) {
    T a = identity;
    nx_u32 state = NX_SCAN_PREFIX;
    for (;;) {
      if (at >= 0) state = nx_scan_see(shown + at * words, &a);
      if (__ballot_sync(0xffffffffu, state == NX_SCAN_NONE) == 0) break;
      nx_scan_look_again();
    }
    const nx_u32 ends = __ballot_sync(0xffffffffu, state == NX_SCAN_PREFIX);
    if (ends != 0 && lane > __ffs((int)ends) - 1) a = identity;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
      a = Combine::of(nx_shuffle(a, distance), a);
    before = Combine::of(a, before);
    if (ends != 0) return before;
  }
}

/* A tile of n elements in registers. values: a number for each warp, and one more. */
template <class T, int kind, int threads, int blocks, bool shares>
NX_INLINE void nx_scan_in_any_order(const T *from, T *to, int n, bool wide, bool begins,
                                    nx_u32 tile, volatile nx_u64 *shown, T *values) {
  typedef nx_scan_combine<kind> Combine;
  const T identity = nx_scan_identity<T, kind>::of();
  const int of = nx_scan_vector<T>::n, words = sizeof(T) == 8 ? 2 : 1;
  const int lane = threadIdx.x & 31, warp = (int)threadIdx.x / 32, warps = threads / 32;
  const int vectors = blocks * NX_SCAN_BLOCK / of / threads;
  const int start = (warp * vectors * 32 + lane) * of;
  nx_scan_vector<T> own[vectors];
#pragma unroll
  for (int j = 0; j < vectors; j++)
    own[j] = nx_scan_get_of(from, start + j * 32 * of, n, wide, identity);
  T all = identity; /* of the warp so far */
#pragma unroll
  for (int j = 0; j < vectors; j++) {
#pragma unroll
    for (int k = 1; k < of; k++) own[j].at[k] = Combine::of(own[j].at[k - 1], own[j].at[k]);
    T sum = own[j].at[of - 1];
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const T left = nx_lane(sum, lane >= distance ? lane - distance : lane);
      if (lane >= distance) sum = Combine::of(left, sum);
    }
    const T left = nx_lane(sum, lane > 0 ? lane - 1 : 0), end = nx_lane(sum, 31);
    const T before = lane > 0 ? Combine::of(all, left) : all;
#pragma unroll
    for (int k = 0; k < of; k++) own[j].at[k] = Combine::of(before, own[j].at[k]);
    all = Combine::of(all, end);
  }
  if (lane == 0) values[warp] = all;
  __syncthreads();
  if (shares && warp == 0) {
    T total = identity, before = identity;
#pragma unroll
    for (int k = 0; k < warps; k++) total = Combine::of(total, values[k]);
    volatile nx_u64 *mine = shown + (nx_i64)tile * words;
    if (!begins) {
      if (lane == 0) nx_scan_show(mine, total, NX_SCAN_TOTAL);
      before = nx_scan_look_back<T, Combine>(shown, tile, identity);
    }
    if (lane == 0) nx_scan_show(mine, Combine::of(before, total), NX_SCAN_PREFIX);
    if (lane == 0) values[warps] = before;
  }
  if (shares) __syncthreads();
  T before = shares ? values[warps] : identity;
#pragma unroll
  for (int k = 0; k < warps; k++)
    if (k < warp) before = Combine::of(before, values[k]);
#pragma unroll
  for (int j = 0; j < vectors; j++) {
#pragma unroll
    for (int k = 0; k < of; k++) own[j].at[k] = Combine::of(before, own[j].at[k]);
    nx_scan_put_of(to, start + j * 32 * of, n, wide, own[j]);
  }
}

/* One tile of so many blocks. wide: memory and lines begin at multiples of 16 bytes. */
template <class T, int kind, bool exact, int threads, int blocks, bool shares>
NX_INLINE void nx_scan_tile(const T *from, T *to, nx_i64 length, nx_u32 line_tiles, nx_u32 tile,
                            int wide, const nx_scan_shown<T> &shown, T *room) {
  const int most = blocks * NX_SCAN_BLOCK;
  const nx_u32 line = tile / line_tiles, place = tile - line * line_tiles;
  const nx_i64 begin = (nx_i64)place * most, at = (nx_i64)line * length + begin;
  const int n = length - begin < most ? (int)(length - begin) : most;
  const bool by_vectors = wide && n % nx_scan_vector<T>::n == 0;
  if constexpr (exact)
    nx_scan_in_any_order<T, kind, threads, blocks, shares>(from + at, to + at, n, by_vectors,
                                                           place == 0, tile, shown.totals, room);
  else
    nx_scan_in_order<T, kind, threads, blocks, shares>(from + at, to + at, n, by_vectors,
                                                       place == 0, tile, shown, room);
}

/* A block of threads has a tile, or carries; it takes more tiles only if there are fewer blocks.
 * The tiles of all lines are numbered consecutively. shares: lines have several tiles. room: shared
 * memory, 16 bytes and then what the functions above say. */
template <class T, int kind, bool exact, int threads, int blocks, bool shares>
NX_INLINE void nx_scan_lines(const T *from, T *to, nx_i64 length, nx_u32 line_tiles, nx_u32 tiles,
                             int wide, nx_u32 *ticket, const nx_scan_shown<T> &shown, T *room) {
  const nx_u32 carriers = shares && !exact;
  nx_u32 *mine = (nx_u32 *)room, next = blockIdx.x;
  room += nx_scan_vector<T>::n;
  for (;;) {
    if constexpr (shares) {
      if (threadIdx.x == 0) *mine = atomicAdd(ticket, 1u);
      __syncthreads();
      next = *mine;
    }
    if (next >= tiles + carriers) return;
    if constexpr (shares && !exact) {
      if (next == 0) {
        nx_scan_carry<T, nx_scan_combine<kind>, blocks, threads>(
            shown, tiles, line_tiles, nx_scan_identity<T, kind>::of(), room);
        return;
      }
    }
    nx_scan_tile<T, kind, exact, threads, blocks, shares>(from, to, length, line_tiles,
                                                          next - carriers, wide, shown, room);
    if (gridDim.x >= tiles + carriers) return;
    next += gridDim.x;
    __syncthreads();
  }
}

/* ---- columns */

/* A warp scans 32 columns of a matrix of `length` rows. Rows come in stages of 32 through a ring in
 * shared memory. from and to: of the first of the columns, of which there are `width`. */
template <class T, int kind, int stages>
NX_INLINE void nx_scan_some_columns(const T *from, T *to, nx_i64 length, nx_i64 columns, int width,
                                    int wide, T *room) {
  typedef nx_scan_combine<kind> Combine;
  const int of = nx_scan_vector<T>::n, of_row = 32 / of, lane = threadIdx.x;
  const auto bring = [&](nx_i64 begin) {
#pragma unroll
    for (int j = 0; j < of_row; j++) {
      const int row = (j * 32 + lane) / of_row, column = lane % of_row * of;
      if (begin + row < length)
        nx_scan_bring(room + begin / 32 % stages * 1024 + row * 32 + column,
                      from + (begin + row) * columns, column, width, wide);
    }
    nx_copy_group();
  };
  for (int i = 0; i < stages - 1; i++) bring(i * 32);
  T before = nx_scan_identity<T, kind>::of(), sum = before;
  for (nx_i64 begin = 0; begin < length; begin += 32) {
    nx_copy_wait<stages - 2>();
    __syncwarp();
    if (begin % NX_SCAN_BLOCK == 0) {
      before = Combine::of(before, sum);
      sum = nx_scan_identity<T, kind>::of();
    }
    const T *stage = room + begin / 32 % stages * 1024 + lane;
    T own[32];
#pragma unroll
    for (int i = 0; i < 32; i++) own[i] = stage[i * 32];
    bring(begin + (stages - 1) * 32);
#pragma unroll
    for (int i = 0; i < 32; i++) {
      sum = Combine::of(sum, own[i]);
      if (lane < width && begin + i < length)
        to[(begin + i) * columns + lane] = Combine::of(before, sum);
    }
  }
  nx_copy_wait<0>();
  __syncwarp();
}

/* Several matrices, one behind the other. pieces: warps for each; all: for all of them. */
template <class T, int kind, int stages>
NX_INLINE void nx_scan_columns(const T *from, T *to, nx_i64 length, nx_i64 columns, nx_u32 pieces,
                               nx_u32 all, int wide, T *room) {
  for (nx_u32 i = blockIdx.x; i < all; i += gridDim.x) {
    const nx_u32 matrix = i / pieces;
    const nx_i64 first = (nx_i64)(i - matrix * pieces) * 32,
                 at = (nx_i64)matrix * length * columns + first;
    nx_scan_some_columns<T, kind, stages>(from + at, to + at, length, columns,
                                          columns - first < 32 ? (int)(columns - first) : 32, wide,
                                          room);
  }
}
