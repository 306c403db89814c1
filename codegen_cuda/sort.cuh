/* SPDX-License-Identifier: ISC */
/* Stable sorts of rows, which give the numbers themselves or their indices in the row.
 *
 * The numbers are moved with their bits unchanged. An unsigned key is computed from the bits
 * whenever it is needed. Zeros of both signs have the same key, and all NaNs have the highest one,
 * so they keep their bits and their order.
 *
 * Rows that fit in a block's shared memory are sorted there by merging (nx_sort_rows). Longer rows
 * are sorted by radix, one pass for each byte of the keys, from the lowest on. The values of all
 * bytes are counted first (nx_sort_count, nx_sort_begin); in a pass (nx_sort_pass), a tile learns
 * from the tiles before it, while these are still running, how many numbers of each value they
 * have. */

/* How bits become a key. Floats are sign and magnitude; `flip` inverts bits for the direction, and
 * the sign bit of integers. */
struct nx_order {
  nx_u64 flip, largest; /* magnitudes above the largest are NaN */
};

/* Complex numbers, aligned only as a part is. */
struct nx_pair32 {
  nx_u32 re, im;
};
struct nx_pair64 {
  nx_u64 re, im;
};
struct nx_key128 {
  nx_u64 high, low;
};

NX_INLINE bool nx_before(nx_u32 a, nx_u32 b) { return a < b; }
NX_INLINE bool nx_before(nx_u64 a, nx_u64 b) { return a < b; }
NX_INLINE bool nx_before(nx_key128 a, nx_key128 b) {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}
NX_INLINE nx_u32 nx_digit(nx_u32 key, int which) { return key >> (8 * which) & 255; }
NX_INLINE nx_u32 nx_digit(nx_u64 key, int which) { return (nx_u32)(key >> (8 * which)) & 255; }
NX_INLINE nx_u32 nx_digit(nx_key128 key, int which) {
  return which < 8 ? nx_digit(key.low, which) : nx_digit(key.high, which - 8);
}

template <class U> NX_INLINE U nx_float_key(U x, nx_order o, bool *nan) {
  const U sign = (U)((nx_u64)1 << (8 * sizeof(U) - 1));
  const U magnitude = (U)(x & (U)~sign);
  const U key = magnitude == 0 ? sign : x & sign ? (U)~x : (U)(x | sign);
  *nan = *nan || magnitude > (U)o.largest;
  return (U)(key ^ (U)o.flip);
}

/* Keys of numbers R, and the padding at the end of a row: a number with the highest key. */
template <class R, bool FLOATS> struct nx_keys;
template <class R, class K> struct nx_integer_keys {
  typedef K key;
  static __device__ __forceinline__ K of(R x, nx_order o) { return (R)(x ^ (R)o.flip); }
  static __device__ __forceinline__ R last(nx_order o) { return (R) ~(R)o.flip; }
};
template <class R, class K> struct nx_float_keys {
  typedef K key;
  static __device__ __forceinline__ K of(R x, nx_order o) {
    bool nan = false;
    const R k = nx_float_key(x, o, &nan);
    return nan ? (R) ~(R)0 : k;
  }
  static __device__ __forceinline__ R last(nx_order) { return (R) ~(R)0; }
};
template <> struct nx_keys<nx_u8, false> : nx_integer_keys<nx_u8, nx_u32> {};
template <> struct nx_keys<nx_u16, false> : nx_integer_keys<nx_u16, nx_u32> {};
template <> struct nx_keys<nx_u32, false> : nx_integer_keys<nx_u32, nx_u32> {};
template <> struct nx_keys<nx_u64, false> : nx_integer_keys<nx_u64, nx_u64> {};
template <> struct nx_keys<nx_u8, true> : nx_float_keys<nx_u8, nx_u32> {};
template <> struct nx_keys<nx_u16, true> : nx_float_keys<nx_u16, nx_u32> {};
template <> struct nx_keys<nx_u32, true> : nx_float_keys<nx_u32, nx_u32> {};
template <> struct nx_keys<nx_u64, true> : nx_float_keys<nx_u64, nx_u64> {};
template <> struct nx_keys<nx_pair32, true> {
  typedef nx_u64 key;
  static __device__ __forceinline__ nx_u64 of(nx_pair32 x, nx_order o) {
    bool nan = false;
    const nx_u32 re = nx_float_key(x.re, o, &nan), im = nx_float_key(x.im, o, &nan);
    return nan ? ~(nx_u64)0 : (nx_u64)re << 32 | im;
  }
  static __device__ __forceinline__ nx_pair32 last(nx_order) {
    return nx_pair32{~(nx_u32)0, ~(nx_u32)0};
  }
};
template <> struct nx_keys<nx_pair64, true> {
  typedef nx_key128 key;
  static __device__ __forceinline__ nx_key128 of(nx_pair64 x, nx_order o) {
    bool nan = false;
    const nx_u64 re = nx_float_key(x.re, o, &nan), im = nx_float_key(x.im, o, &nan);
    return nan ? nx_key128{~(nx_u64)0, ~(nx_u64)0} : nx_key128{re, im};
  }
  static __device__ __forceinline__ nx_pair64 last(nx_order) {
    return nx_pair64{~(nx_u64)0, ~(nx_u64)0};
  }
};

/* ---- short rows: several of them, or one, in a block's shared memory */

/* The layout of rows: groups of rows, with the elements of a row `step` apart. Each row takes
 * 2^shift slots. */
struct nx_rows {
  nx_i64 groups, rows, group_step, row_step, step;
  int length, shift;
};

/* The slot of element i; neighbouring elements of a thread are in different banks. */
NX_INLINE int nx_slot(int i) { return i + (i >> 5); }

/* A barrier for threads that exchange elements within `span`; only the warp waits if that
 * suffices. */
template <int ITEMS> NX_INLINE void nx_wait_within(int span) {
  if (span <= 32 * ITEMS) __syncwarp();
  else __syncthreads();
}

/* Sorts each thread's own numbers, stably. */
template <class Keys, class R, int ITEMS>
NX_INLINE void nx_sort_own(R (&raw)[ITEMS], nx_u16 (&place)[ITEMS], nx_order o) {
  typename Keys::key key[ITEMS];
#pragma unroll
  for (int j = 0; j < ITEMS; j++) key[j] = Keys::of(raw[j], o);
#pragma unroll
  for (int round = 0; round < ITEMS; round++)
#pragma unroll
    for (int j = round & 1; j + 1 < ITEMS; j += 2) {
      if (!nx_before(key[j + 1], key[j])) continue;
      const typename Keys::key k = key[j];
      const R r = raw[j];
      const nx_u16 p = place[j];
      key[j] = key[j + 1], raw[j] = raw[j + 1], place[j] = place[j + 1];
      key[j + 1] = k, raw[j + 1] = r, place[j + 1] = p;
    }
}

/* A thread's share of the merge of two adjacent sorted runs of `run` elements each. Of equal
 * elements those of the first run come first. */
template <class Keys, bool INDICES, class R, int ITEMS>
NX_INLINE void nx_merge_share(const R *rows, const nx_u16 *places, int run, R (&raw)[ITEMS],
                              nx_u16 (&place)[ITEMS], nx_order o) {
  const int first = (int)threadIdx.x * ITEMS, a = first & ~(2 * run - 1), b = a + run;
  const int before = first - a;
  int low = before > run ? before - run : 0, high = before < run ? before : run;
  while (low < high) { /* how many of the elements before this share come from the first run */
    const int middle = (low + high) >> 1;
    const bool second = nx_before(Keys::of(rows[nx_slot(b + before - 1 - middle)], o),
                                  Keys::of(rows[nx_slot(a + middle)], o));
    low = second ? low : middle + 1;
    high = second ? middle : high;
  }
  int i = low, j = before - low;
  R x = rows[nx_slot(a + (i < run ? i : run - 1))], y = rows[nx_slot(b + (j < run ? j : run - 1))];
  typename Keys::key key_x = Keys::of(x, o), key_y = Keys::of(y, o);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    const bool is_first = j >= run || (i < run && !nx_before(key_y, key_x));
    raw[k] = is_first ? x : y;
    if (INDICES) place[k] = places[nx_slot(is_first ? a + i : b + j)];
    i += is_first, j += !is_first;
    const int at = is_first ? a + (i < run ? i : run - 1) : b + (j < run ? j : run - 1);
    const R next = rows[nx_slot(at)];
    const typename Keys::key key = Keys::of(next, o);
    if (is_first) x = next, key_x = key;
    else y = next, key_y = key;
  }
}

template <class R, bool FLOATS, bool INDICES, int THREADS, int ITEMS>
NX_INLINE void nx_sort_tile(R *rows, nx_u16 *places, nx_rows s, int here, nx_order o) {
  typedef nx_keys<R, FLOATS> Keys;
  const int first = (int)threadIdx.x * ITEMS, width = 1 << s.shift;
  R raw[ITEMS];
  nx_u16 place[ITEMS];
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    const int row = (first + j) >> s.shift, at = (first + j) & (width - 1);
    raw[j] = row < here && at < s.length ? rows[nx_slot(first + j)] : Keys::last(o);
    place[j] = (nx_u16)at;
  }
  nx_sort_own<Keys>(raw, place, o);
  for (int run = ITEMS;; run *= 2) {
    nx_wait_within<ITEMS>(run); /* all threads have read the elements that are overwritten next */
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
      rows[nx_slot(first + j)] = raw[j];
      if (INDICES) places[nx_slot(first + j)] = place[j];
    }
    if (run == width) break;
    nx_wait_within<ITEMS>(2 * run);
    nx_merge_share<Keys, INDICES>(rows, places, run, raw, place, o);
  }
}

/* shared: THREADS * ITEMS * 33 / 32 numbers, then, for INDICES, as many nx_u16. To: R, or int. */
template <class R, bool FLOATS, bool INDICES, int THREADS, int ITEMS, class To>
NX_INLINE void nx_sort_rows(const R *from, To *to, nx_rows s, nx_order o, nx_u8 *shared) {
  enum { TILE = THREADS * ITEMS };
  R *const rows = (R *)shared;
  nx_u16 *const places = (nx_u16 *)(shared + sizeof(R) * (TILE + TILE / 32));
  const int per = TILE >> s.shift;
  const nx_i64 pieces = (s.rows + per - 1) / per, tasks = s.groups * pieces;
  for (nx_i64 task = blockIdx.x; task < tasks; task += gridDim.x) {
    const nx_i64 group = task / pieces, first = (task - group * pieces) * per;
    const int here = s.rows - first < per ? (int)(s.rows - first) : per, n = here * s.length;
    const nx_i64 base = group * s.group_step + first * s.row_step;
    for (int e = threadIdx.x; e < n; e += THREADS) { /* neighbours in memory first */
      const int row = s.step == 1 ? e / s.length : e % here;
      const int at = s.step == 1 ? e - row * s.length : e / here;
      rows[nx_slot((row << s.shift) + at)] = from[base + row * s.row_step + at * s.step];
    }
    __syncthreads();
    nx_sort_tile<R, FLOATS, INDICES, THREADS, ITEMS>(rows, places, s, here, o);
    __syncthreads();
    for (int e = threadIdx.x; e < n; e += THREADS) {
      const int row = s.step == 1 ? e / s.length : e % here;
      const int at = s.step == 1 ? e - row * s.length : e / here, slot = (row << s.shift) + at;
      To *const target = to + (base + row * s.row_step + at * s.step);
      if constexpr (INDICES) *target = places[nx_slot(slot)];
      else *target = rows[nx_slot(slot)];
    }
    __syncthreads();
  }
}

/* ---- long rows. C counts elements of a row: nx_u32, with two bits to spare, or nx_u64. */

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

/* The sum of the values of all threads before this one. room: a value for each warp; it may be used
 * again after a barrier. */
template <int WARPS, class C> NX_INLINE C nx_sum_before(C own, C *room) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  C sum = own;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const C other = __shfl_up_sync(0xffffffffu, sum, distance);
    if (lane >= distance) sum += other;
  }
  if (lane == 31) room[warp] = sum;
  __syncthreads();
  C before = sum - own;
#pragma unroll 4
  for (int w = 0; w < WARPS; w++)
    if (w < warp) before += room[w];
  return before;
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

/* Shared memory of a pass; the elements that are moved overlap the counters. */
template <class R, class C, bool INDICES> struct nx_pass_room {
  enum { TILE = nx_sort_sizes<R, INDICES>::TILE };
  struct both {
    R numbers[TILE];
    int places[INDICES ? TILE : 1];
  };
  union {
    nx_u32 counters[NX_SORT_WARPS][256];
    both moved;
  };
  nx_u32 first[256]; /* for each value its first position in the tile */
  C base[256];       /* its first position in the row, minus that */
  nx_u32 warps[NX_SORT_WARPS];
  nx_u32 ticket;
};

/* The mask of the lanes of the warp that have the same byte. */
NX_INLINE nx_u32 nx_same_digit(nx_u32 digit) {
  nx_u32 same = 0xffffffffu;
#pragma unroll
  for (int bit = 0; bit < 8; bit++) {
    const bool set = digit >> bit & 1;
    const nx_u32 vote = __ballot_sync(0xffffffffu, set);
    same &= set ? vote : ~vote;
  }
  return same;
}

/* For each of the thread's elements: its value << 16, plus the number of elements with that value
 * before it in its warp. The counters of the warp are increased. */
template <class Keys, class R, int ITEMS>
NX_INLINE void nx_rank_in_warp(const R (&raw)[ITEMS], nx_u32 (&rank)[ITEMS], nx_u32 *counters,
                               int byte, nx_order o) {
  const nx_u32 below = (1u << (threadIdx.x & 31)) - 1;
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    const nx_u32 digit = nx_digit(Keys::of(raw[j], o), byte), same = nx_same_digit(digit);
    const nx_u32 before = counters[digit];
    __syncwarp();
    if ((same & below) == 0) counters[digit] = before + __popc(same);
    __syncwarp();
    rank[j] = digit << 16 | (before + __popc(same & below));
  }
}

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

/* Sets `first` and `base`, the destinations of the tile's elements of each value. The counters of
 * the warps become sums over the warps before. */
template <class R, class C, bool INDICES>
NX_INLINE void nx_place_values(nx_pass_room<R, C, INDICES> *room, const C *starts,
                               volatile C *looks, nx_u32 tile) {
  const int t = threadIdx.x;
  nx_u32 n = 0;
  if (t < 256) {
#pragma unroll 4
    for (int w = 0; w < NX_SORT_WARPS; w++) {
      const nx_u32 own = room->counters[w][t];
      room->counters[w][t] = n;
      n += own;
    }
    looks[(nx_u64)tile * 256 + t] = (C)n << 2 | (tile == 0 ? 2 : 1);
  }
  const nx_u32 first = nx_sum_before<NX_SORT_WARPS>(n, room->warps);
  if (t < 256) room->first[t] = first;
  __syncthreads();
  if (t < 256) {
    const C before = nx_look_back(looks + t, tile);
    if (tile > 0) looks[(nx_u64)tile * 256 + t] = (before + (C)n) << 2 | 2;
    room->base[t] = starts[t] + before - (C)first;
  }
}

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
  R raw[ITEMS];
  int place[ITEMS];
  nx_u32 rank[ITEMS];
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    const int i = mine + 32 * j;
    raw[j] = i < n ? from[i] : Keys::last(o);
    if (INDICES)
      place[j] = done == 0 || i >= n ? (int)first + i : ((const int *)source)[start + first + i];
  }
  nx_rank_in_warp<Keys>(raw, rank, room->counters[warp], p.byte, o);
  __syncthreads();
  nx_place_values(room, p.starts + (row * (int)sizeof(R) + p.byte) * 256,
                  p.looks + (nx_u64)row * p.tiles * 256, tile);
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    const nx_u32 digit = rank[j] >> 16;
    rank[j] = (rank[j] & 0xffff) + room->first[digit] + room->counters[warp][digit];
  }
  __syncthreads(); /* the counters have been read */
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    room->moved.numbers[rank[j]] = raw[j];
    if (INDICES) room->moved.places[rank[j]] = place[j];
  }
  __syncthreads();
  R *const keys = (INDICES ? (done % 2 == 0 ? p.even : p.odd) : (R *)target) + start;
#pragma unroll 4
  for (int i = t; i < n; i += NX_SORT_THREADS) {
    const R x = room->moved.numbers[i];
    const C at = room->base[nx_digit(Keys::of(x, o), p.byte)] + (C)i;
    if (!INDICES || left > 0) keys[at] = x;
    if (INDICES) ((int *)target)[start + at] = room->moved.places[i];
  }
}

/* Sorts the rows that need this pass by one byte of their keys. */
template <class R, bool FLOATS, bool INDICES, class C>
NX_INLINE void nx_sort_pass(const nx_pass<R, C> &p, nx_order o, nx_u8 *shared) {
  nx_pass_room<R, C, INDICES> *const room = (nx_pass_room<R, C, INDICES> *)shared;
  const nx_i64 all = p.rows * p.tiles;
  for (;;) {
    if (threadIdx.x == 0) room->ticket = atomicAdd(p.ticket, 1u);
    for (int i = threadIdx.x; i < NX_SORT_WARPS * 256; i += NX_SORT_THREADS)
      room->counters[i / 256][i % 256] = 0;
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
