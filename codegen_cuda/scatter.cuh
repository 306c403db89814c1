/* SPDX-License-Identifier: ISC */
/* Combines updates with the elements that their indices select along one axis. An instance
 * defines the operation (MOVE), the types of indices (I) and of counts (N), and the other axes:
 * AXES(A) is A(number) for each of them, the innermost first, and FREE(A) lists those along which
 * the indices are the same, if they are handled separately. */

struct nx_place {
  nx_i64 to, index, update;
};
#define NX_AXIS(k) , N e##k, nx_i64 t##k, nx_i64 i##k, nx_i64 u##k
#define NX_STEP(k) nx_step(p, c, e##k, t##k, i##k, u##k);

/* Takes the innermost coordinate from the number of a point. */
template <class N>
NX_INLINE void nx_step(nx_place &p, N &c, N extent, nx_i64 to, nx_i64 index, nx_i64 update) {
  const N rest = c / extent;
  const nx_i64 at = (nx_i64)(c - rest * extent);
  p.to += at * to;
  p.index += at * index;
  p.update += at * update;
  c = rest;
}

/* ---- the operations */

/* Two values, aligned only as one of them is. */
template <class T> struct nx_two {
  T a, b;
};
template <class T> NX_INLINE T nx_sum(T a, T b) { return (T)(a + b); }
template <class T> NX_INLINE nx_two<T> nx_sum(nx_two<T> x, nx_two<T> y) {
  return nx_two<T>{nx_sum(x.a, y.a), nx_sum(x.b, y.b)};
}

/* COMBINES: the result depends on the element and on every update, not on the last one alone. */
template <class Type> struct nx_set {
  typedef Type T;
  enum { COMBINES = 0 };
  static __device__ __forceinline__ T of(T, T x) { return x; }
};
struct nx_set_bool {
  typedef nx_u8 T;
  enum { COMBINES = 0 };
  static __device__ __forceinline__ T of(T, T x) { return x != 0; }
};
#define NX_MOVE(name, value)                                                \
  template <class Type> struct name {                                       \
    typedef Type T;                                                         \
    enum { COMBINES = 1 };                                                  \
    static __device__ __forceinline__ T of(T a, T b) { return (T)(value); } \
  };
NX_MOVE(nx_add, nx_sum(a, b))
NX_MOVE(nx_mul, a *b)
NX_MOVE(nx_mul_wrapped, 1u * a * b)
NX_MOVE(nx_min_of, nx_min(a, b))
NX_MOVE(nx_max_of, nx_max(a, b))
NX_MOVE(nx_least_of, nx_least(a, b))
NX_MOVE(nx_most_of, nx_most(a, b))
NX_MOVE(nx_and, a &b)
NX_MOVE(nx_or, a | b)
NX_MOVE(nx_xor, a ^ b)
NX_MOVE(nx_and_bool, (a != 0) & (b != 0))
NX_MOVE(nx_or_bool, (a != 0) | (b != 0))
NX_MOVE(nx_xor_bool, (a != 0) ^ (b != 0))

/* An element and its first update; it is loaded only if the result depends on it. */
template <class Move>
NX_INLINE typename Move::T nx_first(const typename Move::T *at, typename Move::T x) {
  if constexpr (Move::COMBINES) return Move::of(*at, x);
  else return Move::of(x, x);
}

/* Negative indices count from the end; indices out of range are skipped. */
template <class I> NX_INLINE nx_i64 nx_element(I index, nx_i64 extent) {
  return index < 0 ? (nx_i64)index + extent : (nx_i64)index;
}
NX_INLINE bool nx_in(nx_i64 element, nx_i64 extent) { return (nx_u64)element < (nx_u64)extent; }

/* ---- a column by one thread, in order. Indices and updates are loaded ahead of the stores, which
 * do not overlap them. */

template <class Move, class I>
NX_INLINE void nx_scatter_column(typename Move::T *__restrict__ to, const I *__restrict__ indices,
                                 const typename Move::T *__restrict__ updates, nx_i64 n,
                                 nx_i64 extent, nx_i64 to_step, nx_i64 index_step,
                                 nx_i64 update_step) {
#pragma unroll 4
  for (nx_i64 j = 0; j < n; j++) {
    const nx_i64 e = nx_element(indices[j * index_step], extent);
    if (!nx_in(e, extent)) continue;
    typename Move::T *const at = to + e * to_step;
    *at = nx_first<Move>(at, updates[j * update_step]);
  }
}

/* ---- sums in any order */

NX_INLINE void nx_atomic_sum(nx_u32 *at, nx_u32 x) { atomicAdd(at, x); }
NX_INLINE void nx_atomic_sum(nx_u64 *at, nx_u64 x) { atomicAdd(at, x); }
NX_INLINE void nx_atomic_sum(float *at, float x) { atomicAdd(at, x); }
NX_INLINE void nx_atomic_sum(double *at, double x) { atomicAdd(at, x); }
template <class T> NX_INLINE void nx_atomic_sum(nx_two<T> *at, nx_two<T> x) {
  nx_atomic_sum(&at->a, x.a);
  nx_atomic_sum(&at->b, x.b);
}
/* An atomic addition to a part of a 32-bit word; the other parts of the word are unchanged. */
template <class T> NX_INLINE void nx_atomic_part(T *at, T x) {
  const int shift = (int)((nx_u64)at & 3) * 8;
  const nx_u32 mask = (nx_u32)(T) ~(T)0 << shift;
  nx_u32 *const word = (nx_u32 *)((nx_u64)at & ~(nx_u64)3);
  nx_u32 seen = *(volatile nx_u32 *)word, expected;
  do {
    expected = seen;
    seen =
        atomicCAS(word, expected, (expected & ~mask) | ((expected + ((nx_u32)x << shift)) & mask));
  } while (seen != expected);
}
NX_INLINE void nx_atomic_sum(nx_u8 *at, nx_u8 x) { nx_atomic_part(at, x); }
NX_INLINE void nx_atomic_sum(nx_u16 *at, nx_u16 x) { nx_atomic_part(at, x); }

template <class T, class I>
NX_INLINE void nx_scatter_sum(T *to, I index, T update, nx_i64 extent, nx_i64 to_step) {
  const nx_i64 e = nx_element(index, extent);
  if (nx_in(e, extent)) nx_atomic_sum(to + e * to_step, update);
}

/* ---- by sorted elements: keys[j] is the element of update j, all ones if there is none; places:
 * their stable order */

template <class K, class I> NX_INLINE K nx_scatter_key(I index, nx_i64 extent) {
  const nx_i64 e = nx_element(index, extent);
  return nx_in(e, extent) ? (K)e : (K) ~(K)0;
}

/* All updates of one element are applied in their order by the thread of the first one. If only the
 * last one matters, its thread writes it. */
template <class Move, class K>
NX_INLINE void nx_scatter_run(typename Move::T *to, const typename Move::T *updates, const K *keys,
                              const int *places, int i, int n, nx_i64 to_step, nx_i64 update_step) {
  enum { AHEAD = 4 };
  const K key = keys[places[i]];
  const int beside = Move::COMBINES ? i - 1 : i + 1;
  if (key == (K) ~(K)0) return;
  if (beside >= 0 && beside < n && keys[places[beside]] == key) return;
  typename Move::T *const at = to + (nx_i64)key * to_step;
  typename Move::T sum = nx_first<Move>(at, updates[places[i] * update_step]);
  if constexpr (Move::COMBINES) {
    bool more = true;
    for (int j = i + 1; more && j < n; j += AHEAD) {
      typename Move::T some[AHEAD];
      bool same[AHEAD];
#pragma unroll
      for (int k = 0; k < AHEAD; k++) {
        const int place = places[j + k < n ? j + k : i];
        same[k] = j + k < n && keys[place] == key;
        if (same[k]) some[k] = updates[place * update_step];
      }
#pragma unroll
      for (int k = 0; k < AHEAD; k++)
        if (same[k]) sum = Move::of(sum, some[k]); /* updates of one element are adjacent */
      more = same[AHEAD - 1];
    }
  }
  *at = sum;
}
