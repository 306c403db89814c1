/* SPDX-License-Identifier: ISC */
/* Stable sorts of long rows, which give the numbers themselves or their indices in the row: by
 * radix, one pass for each byte of the keys, from the lowest on. The values of all bytes are
 * counted first (nx_sort_count, nx_sort_begin); in a pass (nx_sort_pass), a tile learns from the
 * tiles before it, while these are still running, how many numbers of each value they have. C
 * counts elements of a row: nx_u32, with two bits to spare, or nx_u64. */

/* A thread for each value of a byte. */
enum { NX_SORT_THREADS = 256, NX_SORT_WARPS = NX_SORT_THREADS / 32, NX_SORT_COUNTERS = 8192 };
/* Elements of each thread, and of a tile, whose numbers and indices are in shared memory. */
template <class R, bool INDICES> struct nx_sort_sizes {
  enum {
    NUMBERS = sizeof(R) <= 4   ? 16
              : sizeof(R) == 8 ? 12
                               : 6,
    BOTH = sizeof(R) <= 4   ? 12
           : sizeof(R) == 8 ? 8
                            : 5,
    ITEMS = INDICES ? BOTH : NUMBERS,
    TILE = ITEMS * NX_SORT_THREADS
  };
};

/* Counts how many elements of each row have each value of each byte: counts[row][byte][256], zero
 * before the launch. A task is a fixed number of elements of one row. shared: NX_SORT_COUNTERS
 * numbers; neighbours in a warp use separate counters. */
template <class R, bool FLOATS, class C>
NX_INLINE void nx_sort_count(const R *__restrict__ from, C *counts, nx_i64 rows, nx_i64 length,
                             nx_i64 piece, nx_order o, nx_u32 *shared) {
  typedef nx_keys<R, FLOATS> Keys;
  enum { VALUES = 256 * sizeof(R), COPIES = NX_SORT_COUNTERS / VALUES, AHEAD = 4 };
  const nx_i64 pieces = (length + piece - 1) / piece;
  const int own = threadIdx.x & (COPIES - 1);
  for (nx_i64 task = blockIdx.x; task < rows * pieces; task += gridDim.x) {
    const nx_i64 row = task / pieces, first = (task - row * pieces) * piece;
    const int n = (int)(length - first < piece ? length - first : piece);
    const R *const at = from + (row * length + first);
    for (int i = threadIdx.x; i < NX_SORT_COUNTERS; i += NX_SORT_THREADS) shared[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += AHEAD * NX_SORT_THREADS) {
      R some[AHEAD];
#pragma unroll
      for (int k = 0; k < AHEAD; k++)
        if (i + k * NX_SORT_THREADS < n) some[k] = at[i + k * NX_SORT_THREADS];
#pragma unroll
      for (int k = 0; k < AHEAD; k++) {
        if (i + k * NX_SORT_THREADS >= n) continue;
        const typename Keys::key key = Keys::of(some[k], o);
#pragma unroll
        for (int b = 0; b < (int)sizeof(R); b++)
          atomicAdd(&shared[(256 * b + nx_digit(key, b)) * COPIES + own], 1u);
      }
    }
    __syncthreads();
    for (int v = threadIdx.x; v < VALUES; v += NX_SORT_THREADS) {
      nx_u32 sum = 0;
      for (int k = 0; k < COPIES; k++) sum += shared[v * COPIES + ((k + v) & (COPIES - 1))];
      if (sum != 0) atomicAdd(&counts[row * VALUES + v], (C)sum);
    }
    __syncthreads();
  }
}

template <class C> struct nx_begin_room {
  C warps[8];
  nx_u32 same;
};

/* Turns counts into positions: the number of elements of the row with a smaller value of that byte.
 * passes[row]: the bytes that are not the same in all elements, or one byte if there is none; only
 * these need a pass. A block has 256 threads, and takes several rows one after the other. */
template <class C>
NX_INLINE void nx_sort_begin(C *counts, nx_u32 *passes, nx_i64 rows, nx_i64 length, int bytes,
                             nx_u8 *shared) {
  nx_begin_room<C> *const room = (nx_begin_room<C> *)shared;
  const int t = threadIdx.x;
  for (nx_i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    if (t == 0) room->same = 0;
    __syncthreads();
    for (int b = 0; b < bytes; b++) {
      C *const own = &counts[(row * bytes + b) * 256 + t];
      const C n = *own;
      if (n == (C)length) room->same |= 1u << b; /* one thread */
      *own = nx_sum_before<8>(n, room->warps);
      __syncthreads();
    }
    if (t == 0) {
      const nx_u32 differ = ~room->same & (0xffffffffu >> (32 - bytes));
      passes[row] = differ != 0 ? differ : 1;
    }
    __syncthreads();
  }
}

/* The source and the destination of a pass. The passes of a row alternate between two memories, and
 * the last one writes `to`; rows may have different numbers of passes. */
template <class R, class C> struct nx_pass {
  const R *from; /* source of a row's first pass */
  R *even, *odd; /* keys, written by even and odd passes; for sorts of indices only */
  void *to, *other;
  const C *starts;      /* [row][byte][256] */
  const nx_u32 *passes; /* for each row */
  /* [row][tile][256], zero before the launch: a count << 2, plus 1 if it is of the tile alone, or 2
   * if it includes all tiles before */
  C *looks;
  /* 0 before the launch: tiles are started in order, so that a tile only waits for running ones */
  nx_u32 *ticket;
  nx_i64 rows, length;
  nx_u32 tiles; /* of a row */
  int byte;
};

/* Shared memory of a pass. */
template <class R, class C, bool INDICES> struct nx_pass_room {
  enum { TILE = nx_sort_sizes<R, INDICES>::TILE };
  nx_warp_counters counters[NX_SORT_WARPS];
  R numbers[TILE];
  int places[INDICES ? TILE : 1];
  C base[256]; /* for each value its first position in the row, minus that in the tile */
  nx_u32 warps[NX_SORT_WARPS];
  nx_u32 ticket;
};

/* The number of elements of one value in all tiles before. looks: the entry of that value in the
 * row's first tile. Several tiles are read at the same time, because at first all of them have
 * published their own counts only. */
template <class C> NX_INLINE C nx_look_back(volatile const C *looks, nx_u32 tile) {
  enum { AHEAD = 4 };
  C before = 0;
  bool more = tile > 0;
  while (more) {
    C said[AHEAD];
#pragma unroll
    for (nx_u32 k = 0; k < AHEAD; k++) said[k] = k < tile ? looks[(nx_u64)(tile - 1 - k) * 256] : 2;
    bool heard = true;
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      heard = heard && (said[k] & 3) != 0;
      if (!more || !heard) continue;
      before += said[k] >> 2;
      more = (said[k] & 2) == 0;
      tile--;
    }
    if (!heard && more) __nanosleep(40);
  }
  return before;
}

/* Turns the counters of the warps into the positions of their elements of each value in the tile,
 * and publishes how many elements of a value the tile has. Returns that, and the first position. */
template <class R, class C, bool INDICES>
NX_INLINE nx_u32 nx_publish_values(nx_pass_room<R, C, INDICES> *room, volatile C *looks,
                                   nx_u32 tile, nx_u32 *first) {
  const int t = threadIdx.x;
  nx_u32 n = 0;
#pragma unroll
  for (int w = 0; w < NX_SORT_WARPS; w++) {
    const nx_u32 own = room->counters[w].next[t];
    room->counters[w].next[t] = n;
    n += own;
  }
  looks[(nx_u64)tile * 256 + t] = (C)n << 2 | (tile == 0 ? 2 : 1);
  *first = nx_sum_before<NX_SORT_WARPS>(n, room->warps);
#pragma unroll
  for (int w = 0; w < NX_SORT_WARPS; w++) room->counters[w].next[t] += *first;
  return n;
}

/* The tile counts its elements first, so that tiles behind it learn of them while it moves them. */
template <class R, bool FLOATS, bool INDICES, class C>
NX_INLINE void nx_pass_tile(const nx_pass<R, C> &p, nx_order o, nx_i64 row, nx_u32 tile,
                            nx_pass_room<R, C, INDICES> *room) {
  typedef nx_keys<R, FLOATS> Keys;
  typedef nx_sort_sizes<R, INDICES> sizes;
  enum { ITEMS = sizes::ITEMS, TILE = sizes::TILE };
  const int t = threadIdx.x, warp = t >> 5, mine = warp * 32 * ITEMS + (t & 31);
  const nx_u32 mask = p.passes[row];
  const int done = __popc(mask & ((1u << p.byte) - 1)), left = __popc(mask) - 1 - done;
  const nx_i64 start = row * p.length, first = (nx_i64)tile * TILE;
  const int n = p.length - first < TILE ? (int)(p.length - first) : (int)TILE;
  void *const target = left % 2 == 0 ? p.to : p.other;
  const void *const source = left % 2 == 0 ? p.other : p.to;
  const R *const kept = INDICES ? (done % 2 == 0 ? p.odd : p.even) : (const R *)source;
  const R *const from = (done == 0 ? p.from : kept) + (start + first);
  nx_warp_counters *const own = &room->counters[warp];
  R raw[ITEMS];
  int place[ITEMS];
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    const int i = mine + 32 * j;
    raw[j] = i < n ? from[i] : Keys::last(o);
    if (INDICES)
      place[j] = done == 0 || i >= n ? (int)first + i : ((const int *)source)[start + first + i];
  }
#pragma unroll
  for (int j = 0; j < ITEMS; j++)
    atomicAdd(&own->next[nx_digit(Keys::of(raw[j], o), p.byte)], 1u);
  __syncthreads();
  volatile C *const looks = p.looks + (nx_u64)row * p.tiles * 256;
  nx_u32 begin;
  const nx_u32 count = nx_publish_values(room, looks, tile, &begin);
  __syncthreads();
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    const nx_u32 at = nx_next_place(own, nx_digit(Keys::of(raw[j], o), p.byte));
    room->numbers[at] = raw[j];
    if (INDICES) room->places[at] = place[j];
  }
  const C before = nx_look_back(looks + t, tile);
  if (tile > 0) looks[(nx_u64)tile * 256 + t] = (before + (C)count) << 2 | 2;
  room->base[t] = p.starts[(row * (int)sizeof(R) + p.byte) * 256 + t] + before - (C)begin;
  __syncthreads();
  R *const keys = (INDICES ? (done % 2 == 0 ? p.even : p.odd) : (R *)target) + start;
#pragma unroll 4
  for (int i = t; i < n; i += NX_SORT_THREADS) {
    const R x = room->numbers[i];
    const C at = room->base[nx_digit(Keys::of(x, o), p.byte)] + (C)i;
    if (!INDICES || left > 0) keys[at] = x;
    if (INDICES) ((int *)target)[start + at] = room->places[i];
  }
}

/* Sorts the rows that need this pass by one byte of their keys. */
template <class R, bool FLOATS, bool INDICES, class C>
NX_INLINE void nx_sort_pass(const nx_pass<R, C> &p, nx_order o, nx_u8 *shared) {
  nx_pass_room<R, C, INDICES> *const room = (nx_pass_room<R, C, INDICES> *)shared;
  const nx_i64 all = p.rows * p.tiles;
  for (int w = 0; w < NX_SORT_WARPS; w++) room->counters[w].lanes[threadIdx.x] = 0;
  for (;;) {
    if (threadIdx.x == 0) room->ticket = atomicAdd(p.ticket, 1u);
    for (int w = 0; w < NX_SORT_WARPS; w++) room->counters[w].next[threadIdx.x] = 0;
    __syncthreads();
    const nx_u32 number = room->ticket;
    if (number >= all) return;
    const nx_i64 row = number / p.tiles;
    if (p.passes[row] >> p.byte & 1)
      nx_pass_tile<R, FLOATS, INDICES, C>(p, o, row, number % p.tiles, room);
    __syncthreads(); /* the room is used again */
  }
}

/* ---- [groups][rows][columns] to [groups][columns][rows]: 256 threads, squares of 32; shared: 32 *
 * 33 numbers */

template <class R>
NX_INLINE void nx_turn(const R *from, R *to, nx_i64 groups, nx_i64 rows, nx_i64 columns,
                       R *shared) {
  const int x = threadIdx.x & 31, y = threadIdx.x >> 5;
  const nx_i64 down = (rows + 31) / 32, across = (columns + 31) / 32;
  for (nx_i64 task = blockIdx.x; task < groups * down * across; task += gridDim.x) {
    const nx_i64 group = task / (down * across), square = task - group * down * across;
    const nx_i64 row = square / across * 32, column = square % across * 32;
    const nx_i64 base = group * rows * columns;
    for (int k = y; k < 32; k += 8)
      if (row + k < rows && column + x < columns)
        shared[k * 33 + x] = from[base + (row + k) * columns + column + x];
    __syncthreads();
    for (int k = y; k < 32; k += 8)
      if (column + k < columns && row + x < rows)
        to[base + (column + k) * rows + row + x] = shared[x * 33 + k];
    __syncthreads();
  }
}
