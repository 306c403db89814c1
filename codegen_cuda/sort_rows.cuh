/* SPDX-License-Identifier: ISC */
/* Stable sorts of rows that fit in a block, which give the numbers themselves or their indices in
 * the row. */

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

/* ---- contiguous rows by the lanes of a warp, in registers: a row has LANES lanes with E elements
 * each. Elements are exchanged by a fixed network, which is not stable, so words are sorted that
 * have one order only: for indices each word ends with its index. For numbers the words are keys,
 * and numbers of equal keys are equal too, but zeros and NaNs; those are written once more. */

template <bool, class A, class B> struct nx_choose {
  typedef A type;
};
template <class A, class B> struct nx_choose<false, A, B> {
  typedef B type;
};
template <class R, bool INDICES> struct nx_words {
  typedef typename nx_choose<(sizeof(R) <= (INDICES ? 2 : 4)), nx_u32, nx_u64>::type type;
  enum { INDEX_BITS = INDICES ? 4 * sizeof(type) : 0 };
};

template <class K> NX_INLINE void nx_exchange(K &a, K &b) {
  const K low = a < b ? a : b, high = a < b ? b : a;
  a = low, b = high;
}
template <class K> NX_INLINE K nx_lower_or_higher(K a, K b, bool lower) {
  const K low = a < b ? a : b, high = a < b ? b : a;
  return lower ? low : high;
}
NX_INLINE nx_u64 nx_lower_or_higher(nx_u64 a, nx_u64 b, bool lower) {
  return (b < a) == lower ? b : a;
}

/* Batcher's merge of the elements AT, AT + STEP, ... of N, of which both halves are sorted. */
template <int AT, int N, int STEP, class K, int E> NX_INLINE void nx_merge_odd_even(K (&v)[E]) {
  if constexpr (2 * STEP < N) {
    nx_merge_odd_even<AT, N, 2 * STEP>(v);
    nx_merge_odd_even<AT + STEP, N, 2 * STEP>(v);
#pragma unroll
    for (int i = AT + STEP; i + STEP < AT + N; i += 2 * STEP) nx_exchange(v[i], v[i + STEP]);
  } else {
    nx_exchange(v[AT], v[AT + STEP]);
  }
}
template <int AT, int N, class K, int E> NX_INLINE void nx_sort_registers(K (&v)[E]) {
  if constexpr (N > 1) {
    nx_sort_registers<AT, N / 2>(v);
    nx_sort_registers<AT + N / 2, N / 2>(v);
    nx_merge_odd_even<AT, N, 1>(v);
  }
}
/* Sorts elements that rise and then fall, or fall and then rise. */
template <int HALF, class K, int E> NX_INLINE void nx_halve(K (&v)[E]) {
  if constexpr (HALF >= 1) {
#pragma unroll
    for (int i = 0; i < E / 2; i++) {
      const int at = i / HALF * 2 * HALF + i % HALF;
      nx_exchange(v[at], v[at + HALF]);
    }
    nx_halve<HALF / 2>(v);
  }
}

template <int LANES, class K, int E> NX_INLINE void nx_sort_in_lanes(K (&v)[E]) {
  const int lane = threadIdx.x & 31;
  nx_sort_registers<0, E>(v);
#pragma unroll
  for (int run = 2; run <= LANES; run *= 2) { /* two sorted runs of half as many lanes */
    const bool first = (lane & (run / 2)) == 0;
#pragma unroll
    for (int i = 0; i < E / 2; i++) { /* with the second run in reverse */
      const K a = v[i], b = v[E - 1 - i];
      const K last = __shfl_xor_sync(0xffffffffu, b, run - 1);
      const K other = __shfl_xor_sync(0xffffffffu, a, run - 1);
      v[i] = nx_lower_or_higher(a, last, first);
      v[E - 1 - i] = nx_lower_or_higher(b, other, first);
    }
#pragma unroll
    for (int distance = run / 4; distance >= 1; distance /= 2) {
      const bool lower = (lane & distance) == 0;
#pragma unroll
      for (int i = 0; i < E; i++)
        v[i] = nx_lower_or_higher(v[i], __shfl_xor_sync(0xffffffffu, v[i], distance), lower);
    }
    nx_halve<E / 2>(v);
  }
}

/* The sum over the lanes of a row. */
template <int LANES> NX_INLINE int nx_sum_of_row(int x) {
#pragma unroll
  for (int distance = LANES / 2; distance >= 1; distance /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, distance);
  return x;
}

/* Writes the zeros and the NaNs of a sorted row again, in the order in which they are in `from`.
 * n: elements of the row; none if the lane has no row. */
template <class R, int E, int LANES>
NX_INLINE void nx_write_equals(const R *from, R *to, int n, nx_order o) {
  typedef nx_keys<R, true> Keys;
  const typename Keys::key zero_key = Keys::of((R)0, o), nan_key = (R) ~(R)0;
  const int own = threadIdx.x & (LANES - 1), first_lane = threadIdx.x & 31 & ~(LANES - 1);
  int below = 0, nans = 0;
#pragma unroll 4
  for (int j = 0; j < E; j++) {
    const int i = j * LANES + own;
    const typename Keys::key key = i < n ? Keys::of(from[i], o) : nan_key;
    below += key < zero_key;
    nans += i < n && key == nan_key;
  }
  int zero_at = nx_sum_of_row<LANES>(below), nan_at = n - nx_sum_of_row<LANES>(nans);
#pragma unroll 1
  for (int j = 0; j < E; j++) {
    const int i = j * LANES + own;
    const R x = i < n ? from[i] : (R)0;
    const typename Keys::key key = Keys::of(x, o);
    const bool zero = i < n && key == zero_key, nan = i < n && key == nan_key;
    const nx_u32 row = 0xffffffffu >> (32 - LANES), before = (1u << own) - 1;
    const nx_u32 zeros = __ballot_sync(0xffffffffu, zero) >> first_lane & row;
    const nx_u32 nots = __ballot_sync(0xffffffffu, nan) >> first_lane & row;
    if (zero) to[zero_at + __popc(zeros & before)] = x;
    if (nan) to[nan_at + __popc(nots & before)] = x;
    zero_at += __popc(zeros), nan_at += __popc(nots);
  }
}

/* Loads a row's elements into the room of the warp, and from there; neighbours in memory first. */
template <class R, int E> NX_INLINE void nx_fill_room(const R *from, R *room, int n) {
#pragma unroll
  for (int j = 0; j < E; j++) {
    const int e = j * 32 + (threadIdx.x & 31);
    if (e < n) room[nx_slot(e)] = from[e];
  }
}

/* shared: for each warp E * 33 numbers or results. */
template <class R, bool FLOATS, bool INDICES, int THREADS, int E, int LANES, class To>
NX_INLINE void nx_sort_lanes(const R *from, To *to, nx_i64 rows, int length, nx_order o,
                             nx_u8 *shared) {
  typedef nx_keys<R, FLOATS> Keys;
  typedef nx_words<R, INDICES> Words;
  typedef typename Words::type K;
  enum {
    PER = 32 / LANES,
    WARPS = THREADS / 32,
    LARGER = sizeof(R) > sizeof(To) ? sizeof(R) : sizeof(To),
    INDEX = (1 << 16) - 1
  };
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, own = lane & (LANES - 1);
  R *const numbers = (R *)(shared + warp * (E * 33 * LARGER));
  To *const results = (To *)numbers;
#pragma unroll 1
  for (nx_i64 task = blockIdx.x; task * (WARPS * PER) < rows; task += gridDim.x) {
    const nx_i64 first = (task * WARPS + warp) * PER, left = rows - first;
    const int mine = lane / LANES, here = left < PER ? left < 0 ? 0 : (int)left : PER;
    const int n = mine < here ? length : 0, all = here * length, begin = mine * length;
    const R *const source = from + first * length;
    To *const target = to + first * length;
    K v[E];
    bool again = false; /* some zeros or NaNs have lost their bits */
    if (LANES < 32) {
      nx_fill_room<R, E>(source, numbers, all);
      __syncwarp();
    }
#pragma unroll
    for (int j = 0; j < E; j++) {
      const int i = j * LANES + own;
      R x = Keys::last(o);
      if (i < n) x = LANES < 32 ? numbers[nx_slot(begin + i)] : source[i];
      const typename Keys::key key = Keys::of(x, o);
      v[j] = INDICES ? (K)((K)key << Words::INDEX_BITS | (K)i) : (K)key;
      again = again || (FLOATS && !INDICES && i < n && Keys::back(key, o) != x);
    }
    nx_sort_in_lanes<LANES>(v);
    __syncwarp(); /* the room has been read */
#pragma unroll
    for (int j = 0; j < E; j++) {
      if (own * E + j >= n) continue;
      To *const at = &results[nx_slot(begin + own * E + j)];
      if constexpr (INDICES) *at = (To)(v[j] & (K)INDEX);
      else *at = Keys::back(v[j], o);
    }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < E; j++) {
      const int e = j * 32 + lane;
      if (e < all) target[e] = results[nx_slot(e)];
    }
    __syncwarp(); /* the room is used again, and what was written may be written once more */
    if constexpr (FLOATS && !INDICES)
      if (__ballot_sync(0xffffffffu, again) != 0)
        nx_write_equals<R, E, LANES>(source + begin, target + begin, n, o);
  }
}

/* ---- longer contiguous rows, each by a block: passes by bytes in shared memory */

enum { NX_BLOCK_BYTES = 256 }; /* values of a byte */
template <class R, bool INDICES, int THREADS, int ITEMS> struct nx_block_room {
  enum { TILE = THREADS * ITEMS };
  nx_warp_counters counters[THREADS / 32];
  nx_u32 warps[THREADS / 32], all_same;
  R numbers[TILE];
  nx_u16 places[INDICES ? TILE : 1];
};

/* Turns the counters of the warps into the positions of their elements of each value. False: all
 * elements have the same value. */
template <class Room, int THREADS, int ITEMS> NX_INLINE bool nx_begin_values(Room *room) {
  const int t = threadIdx.x;
  nx_u32 n = 0;
  if (t == 0) room->all_same = 0;
  __syncthreads();
  if (t < NX_BLOCK_BYTES) {
#pragma unroll 8
    for (int w = 0; w < THREADS / 32; w++) {
      const nx_u32 own = room->counters[w].next[t];
      room->counters[w].next[t] = n;
      n += own;
    }
    if (n == THREADS * ITEMS) room->all_same = 1;
  }
  const nx_u32 first = nx_sum_before<THREADS / 32>(n, room->warps);
  if (t < NX_BLOCK_BYTES) {
#pragma unroll 8
    for (int w = 0; w < THREADS / 32; w++) room->counters[w].next[t] += first;
  }
  __syncthreads();
  return room->all_same == 0;
}

template <class R, bool FLOATS, bool INDICES, int THREADS, int ITEMS, class To>
NX_INLINE void nx_sort_block(const R *from, To *to, nx_i64 rows, int length, nx_order o,
                             nx_u8 *shared) {
  typedef nx_keys<R, FLOATS> Keys;
  typedef nx_block_room<R, INDICES, THREADS, ITEMS> Room;
  Room *const room = (Room *)shared;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, mine = warp * 32 * ITEMS + lane;
  nx_warp_counters *const own = &room->counters[warp];
  for (int v = lane; v < NX_BLOCK_BYTES; v += 32) own->lanes[v] = 0;
#pragma unroll 1
  for (nx_i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    R raw[ITEMS];
    nx_u16 place[ITEMS];
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
      const int i = mine + 32 * j;
      raw[j] = i < length ? from[row * length + i] : Keys::last(o);
      place[j] = (nx_u16)i;
    }
#pragma unroll 1
    for (int byte = 0; byte < (int)sizeof(R); byte++) {
      for (int v = lane; v < NX_BLOCK_BYTES; v += 32) own->next[v] = 0;
      __syncwarp();
#pragma unroll
      for (int j = 0; j < ITEMS; j++)
        atomicAdd(&own->next[nx_digit(Keys::of(raw[j], o), byte)], 1u);
      const bool differ = nx_begin_values<Room, THREADS, ITEMS>(room);
      if (differ) {
#pragma unroll
        for (int j = 0; j < ITEMS; j++) {
          const nx_u32 at = nx_next_place(own, nx_digit(Keys::of(raw[j], o), byte));
          room->numbers[at] = raw[j];
          if (INDICES) room->places[at] = place[j];
        }
      }
      __syncthreads();
      if (!differ) continue;
#pragma unroll
      for (int j = 0; j < ITEMS; j++) {
        raw[j] = room->numbers[mine + 32 * j];
        if (INDICES) place[j] = room->places[mine + 32 * j];
      }
    }
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
      const int i = mine + 32 * j;
      if (i >= length) continue;
      if constexpr (INDICES) to[row * length + i] = place[j];
      else to[row * length + i] = raw[j];
    }
  }
}
