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

/* The updates of one element in one column, from number j to `end` in the order of places. */
template <class T> struct nx_updates {
  const T *updates;
  const int *places;
  int j, end;
  nx_i64 step;
};
template <class T> NX_INLINE T nx_update(const nx_updates<T> &u, int place) {
  return u.updates[place * u.step];
}

/* The end of a run of equal keys that reaches j at least: in steps that double, then by halves. */
template <class K>
NX_INLINE int nx_run_end(const K *keys, const int *places, K key, int j, int n) {
  int in = j, step = 32;
  while (in + step < n && keys[places[in + step]] == key) {
    in += step;
    step *= 2;
  }
  int out = in + step < n ? in + step : n;
  while (out - in > 1) {
    const int middle = in + (out - in) / 2;
    if (keys[places[middle]] == key) in = middle;
    else out = middle;
  }
  return out;
}

/* By one thread: the loads of a few updates are under way together, and so are the places of those
 * after them. */
template <class Move>
NX_INLINE typename Move::T nx_apply_alone(nx_updates<typename Move::T> u, typename Move::T sum) {
  typedef typename Move::T T;
  enum { EACH = sizeof(T) > 4 ? sizeof(T) > 8 ? 4 : 8 : 16 };
  int next[EACH];
#pragma unroll
  for (int k = 0; k < EACH; k++) next[k] = u.places[u.j + k < u.end ? u.j + k : u.j];
  for (; u.j < u.end; u.j += EACH) {
    T some[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const int after = u.j + EACH + k;
      some[k] = nx_update(u, next[k]);
      next[k] = u.places[after < u.end ? after : u.j];
    }
#pragma unroll
    for (int k = 0; k < EACH; k++)
      if (u.j + k < u.end) sum = Move::of(sum, some[k]);
  }
  return sum;
}

/* The value of one lane for all of the warp. */
NX_OF_WARP(nx_of_lane, __shfl_sync)
template <class T> NX_INLINE nx_two<T> nx_of_lane(nx_two<T> x, int lane) {
  return nx_two<T>{nx_of_lane(x.a, lane), nx_of_lane(x.b, lane)};
}

/* By a warp: each lane loads some of the updates, the next ones while those before are applied, and
 * all lanes apply all of them, in their order. The operands are the same in all lanes. */
template <class Move>
NX_INLINE typename Move::T nx_apply_together(const nx_updates<typename Move::T> &u,
                                             typename Move::T sum) {
  typedef typename Move::T T;
  enum { EACH = sizeof(T) > 8 ? 2 : 4, ALL = 32 * EACH };
  const int lane = threadIdx.x & 31;
  T now[EACH], after[EACH];
  int next[EACH];
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const int at = u.j + 32 * k + lane;
    now[k] = nx_update(u, u.places[at < u.end ? at : u.j]);
    next[k] = u.places[at + ALL < u.end ? at + ALL : u.j];
  }
  for (int j = u.j; j < u.end; j += ALL) {
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const int at = j + 2 * ALL + 32 * k + lane;
      after[k] = nx_update(u, next[k]);
      next[k] = u.places[at < u.end ? at : u.j];
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const int left = u.end - (j + 32 * k);
#pragma unroll
      for (int from = 0; from < 32; from++) {
        const T x = nx_of_lane(now[k], from);
        if (from < left) sum = Move::of(sum, x);
      }
      now[k] = after[k];
    }
  }
  return sum;
}

/* All updates of one element are applied in their order by the thread of the first one. If only the
 * last one matters, its thread writes it. Runs of many updates are the work of the whole warp, one
 * after the other, unless many of its threads have one, as for neighbouring columns of an element.
 * Called by whole warps; here: whether the thread has an update. */
template <class Move, class K>
NX_INLINE void nx_scatter_run(bool here, typename Move::T *to, const typename Move::T *updates,
                              const K *keys, const int *places, int i, int n, nx_i64 to_step,
                              nx_i64 update_step) {
  typedef typename Move::T T;
  enum { AHEAD = 4, SHORT = 32, FEW = 4 };
  const K none = (K) ~(K)0, key = here ? keys[places[i]] : none;
  const int beside = Move::COMBINES ? i - 1 : i + 1;
  const bool first = key != none && !(beside >= 0 && beside < n && keys[places[beside]] == key);
  T *const at = to + (first ? (nx_i64)key * to_step : 0);
  T sum = T();
  if (first) sum = nx_first<Move>(at, updates[places[i] * update_step]);
  if constexpr (Move::COMBINES) {
    nx_updates<T> u = {updates, places, i + 1, i + 1, update_step};
    bool more = first;
    while (more && u.end - i < SHORT) {
      K some[AHEAD];
#pragma unroll
      for (int k = 0; k < AHEAD; k++) {
        const bool one = u.end + k < n;
        some[k] = keys[places[one ? u.end + k : i]];
        if (!one) some[k] = none;
      }
#pragma unroll
      for (int k = 0; k < AHEAD; k++) {
        more = more && some[k] == key;
        u.end += more;
      }
    }
    if (more) u.end = nx_run_end(keys, places, key, u.end - 1, n);
    nx_u32 runs = __ballot_sync(0xffffffffu, u.end - i > SHORT);
    const bool alone = __popc(runs) > FEW || u.end - i <= SHORT;
    if (__popc(runs) > FEW) runs = 0;
    if (alone && u.j < u.end) sum = nx_apply_alone<Move>(u, sum);
    for (; runs != 0; runs &= runs - 1) {
      const int lane = __ffs((int)runs) - 1;
      const nx_updates<T> one = {(const T *)nx_of_lane((nx_u64)u.updates, lane),
                                 (const int *)nx_of_lane((nx_u64)u.places, lane),
                                 nx_of_lane(u.j, lane), nx_of_lane(u.end, lane), update_step};
      const T all = nx_apply_together<Move>(one, nx_of_lane(sum, lane));
      if ((int)(threadIdx.x & 31) == lane) sum = all;
    }
  }
  if (first) *at = sum;
}
