/* SPDX-License-Identifier: ISC */
/* The order of sorts. Numbers are moved with their bits unchanged. An unsigned key is computed from
 * the bits whenever it is needed. Zeros of both signs have the same key, and all NaNs have the
 * highest one, so they keep their bits and their order. */

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

/* Keys of numbers R, the number of a key (of zeros +0, of NaNs none), and the padding at the end of
 * a row: a number with the highest key. */
template <class R, bool FLOATS> struct nx_keys;
template <class R, class K> struct nx_integer_keys {
  typedef K key;
  static __device__ __forceinline__ R back(K key, nx_order o) { return (R)(key ^ (K)o.flip); }
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
  static __device__ __forceinline__ R back(K key, nx_order o) {
    const R sign = (R)((nx_u64)1 << (8 * sizeof(R) - 1)), k = (R)(key ^ (K)o.flip);
    return (R)(k & sign ? k ^ sign : ~k);
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

/* ---- what passes by a byte are made of */

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

/* What a warp counts by: for each value of a byte the place of its next element, and the lanes that
 * have that value now, no lanes between two calls of nx_next_place. */
struct nx_warp_counters {
  nx_u32 next[256], lanes[256];
};

/* The place of an element with that byte. Called by whole warps. */
NX_INLINE nx_u32 nx_next_place(nx_warp_counters *own, nx_u32 digit) {
  const nx_u32 bit = 1u << (threadIdx.x & 31);
  atomicOr(&own->lanes[digit], bit);
  __syncwarp();
  const nx_u32 same = own->lanes[digit];
  const int first = __ffs((int)same) - 1;
  nx_u32 at = 0;
  __syncwarp();
  if ((same & (bit - 1)) == 0) { /* the first lane takes places for all of them */
    own->lanes[digit] = 0;
    at = atomicAdd(&own->next[digit], (nx_u32)__popc(same));
  }
  __syncwarp();
  return __shfl_sync(0xffffffffu, at, first) + __popc(same & (bit - 1));
}
