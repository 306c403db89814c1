/* SPDX-License-Identifier: ISC */
/* Functions that generated kernels use. All of them are defined for all operands, as the table at
 * the head of ir/scalar_ops.def says. */
#ifndef NX_ON_HOST
#pragma nv_diag_suppress 177 /* what a kernel does not use */
#endif
typedef unsigned char nx_u8;
typedef unsigned short nx_u16;
typedef unsigned int nx_u32;
typedef unsigned long long nx_u64;
typedef long long nx_i64;
#define NX_INLINE static __device__ __forceinline__

/* Instructions that C++ has no words for: their names, the result, the operands, each with the
 * letter of its registers. */
#ifdef NX_ON_HOST
#define NX_PTX1(text, r, to, a, from)  nx_host_ptx(text, &(r), a)
#define NX_PTX2(text, r, to, a, b, of) nx_host_ptx(text, &(r), a, b)
#else
#define NX_PTX1(text, r, to, a, from)  asm(text " %0, %1;" : "=" to(r) : from(a))
#define NX_PTX2(text, r, to, a, b, of) asm(text " %0, %1, %2;" : "=" to(r) : of(a), of(b))
#endif

template <class To, class From> NX_INLINE To nx_bitcast(From x) {
  static_assert(sizeof(To) == sizeof(From), "equal sizes");
  union {
    From from;
    To to;
  } u;
  u.from = x;
  return u.to;
}

/* ---- integers */

template <class T> struct nx_wrapping {
  typedef nx_u32 type;
};
template <> struct nx_wrapping<nx_i64> {
  typedef nx_u64 type;
};
template <> struct nx_wrapping<nx_u64> {
  typedef nx_u64 type;
};
#define NX_WRAP(T) typename nx_wrapping<T>::type

template <class T> NX_INLINE T nx_abs(T a) {
  return (T)(a < 0 ? (NX_WRAP(T))0 - (NX_WRAP(T))a : (NX_WRAP(T))a);
}
/* x / 0 = 0, MIN / -1 = MIN */
template <class T> NX_INLINE T nx_div(T a, T b) {
  if ((T)-1 < (T)0 && b == (T)-1) return (T)((NX_WRAP(T))0 - (NX_WRAP(T))a);
  return b == 0 ? (T)0 : (T)(a / b);
}
template <class T> NX_INLINE T nx_mod(T a, T b) {
  if ((T)-1 < (T)0 && b == (T)-1) return (T)0;
  return b == 0 ? (T)0 : (T)(a % b);
}
/* A count outside [0, width) gives 0, or the sign. */
template <class T> NX_INLINE T nx_shl(T a, T b) {
  bool in = b >= 0 && (NX_WRAP(T))b < (NX_WRAP(T))(8 * sizeof(T));
  return in ? (T)((NX_WRAP(T))a << (int)b) : (T)0;
}
template <class T> NX_INLINE T nx_shr(T a, T b) {
  bool in = b >= 0 && (NX_WRAP(T))b < (NX_WRAP(T))(8 * sizeof(T));
  return in ? (T)(a >> (int)b) : a < 0 ? (T)-1 : (T)0;
}
/* Integers of 8 and 16 bits are compared in 32 bits, because ptxas needs too many registers for
 * many narrow comparisons. */
template <class T> NX_INLINE T nx_most(T a, T b) { return a > b ? a : b; }
template <class T> NX_INLINE T nx_least(T a, T b) { return a < b ? a : b; }
#define NX_NARROW(T, name, word)                               \
  NX_INLINE T name(T a, T b) {                                 \
    int r;                                                     \
    NX_PTX2(word ".s32", r, "r", (int)a, (int)b, "r");         \
    return (T)r;                                               \
  }
NX_NARROW(signed char, nx_most, "max")
NX_NARROW(nx_u8, nx_most, "max")
NX_NARROW(short, nx_most, "max")
NX_NARROW(nx_u16, nx_most, "max")
NX_NARROW(signed char, nx_least, "min")
NX_NARROW(nx_u8, nx_least, "min")
NX_NARROW(short, nx_least, "min")
NX_NARROW(nx_u16, nx_least, "min")
NX_INLINE nx_u64 nx_umulh(nx_u64 a, nx_u64 b) { return __umul64hi(a, b); }
template <class T> NX_INLINE T nx_umulh(T, T) { return (T)0; }

/* Bits, of the element's own width. */
template <class T> NX_INLINE T nx_popcount(T a) {
  nx_u64 bits = (nx_u64)(NX_WRAP(T))a << (64 - 8 * sizeof(T));
  return (T)__popcll(bits);
}
template <class T> NX_INLINE T nx_clz(T a) {
  nx_u64 bits = (nx_u64)(NX_WRAP(T))a << (64 - 8 * sizeof(T));
  return (T)(bits ? __clzll((long long)bits) : (int)(8 * sizeof(T)));
}
template <class T> NX_INLINE T nx_reverse_bits(T a) {
  return (T)__brevll((nx_u64)(NX_WRAP(T))a << (64 - 8 * sizeof(T)));
}

/* ---- floats */

NX_INLINE float nx_abs(float a) { return fabsf(a); }
NX_INLINE double nx_abs(double a) { return fabs(a); }
NX_INLINE float nx_rint(float a) { return rintf(a); }
NX_INLINE double nx_rint(double a) { return rint(a); }
NX_INLINE float nx_trunc(float a) { return truncf(a); }
NX_INLINE double nx_trunc(double a) { return trunc(a); }
NX_INLINE float nx_floor(float a) { return floorf(a); }
NX_INLINE double nx_floor(double a) { return floor(a); }
NX_INLINE float nx_ceil(float a) { return ceilf(a); }
NX_INLINE double nx_ceil(double a) { return ceil(a); }
NX_INLINE float nx_sqrt(float a) { return __fsqrt_rn(a); }
NX_INLINE double nx_sqrt(double a) { return __dsqrt_rn(a); }
NX_INLINE float nx_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
NX_INLINE double nx_fma(double a, double b, double c) { return __fma_rn(a, b, c); }
NX_INLINE float nx_copysign(float a, float b) { return copysignf(a, b); }
NX_INLINE double nx_copysign(double a, double b) { return copysign(a, b); }

/* NaN wins; -0 is below +0. */
template <class T> NX_INLINE T nx_max(T a, T b) {
  T best = a > b ? a : b;
  if (a == b) best = nx_copysign((T)1, a) < 0 ? b : a;
  return a != a ? a : b != b ? b : best;
}
template <class T> NX_INLINE T nx_min(T a, T b) {
  T best = a < b ? a : b;
  if (a == b) best = nx_copysign((T)1, a) < 0 ? a : b;
  return a != a ? a : b != b ? b : best;
}
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800 /* one instruction */
NX_INLINE float nx_max(float a, float b) {
  float r;
  NX_PTX2("max.NaN.f32", r, "f", a, b, "f");
  return r;
}
NX_INLINE float nx_min(float a, float b) {
  float r;
  NX_PTX2("min.NaN.f32", r, "f", a, b, "f");
  return r;
}
#endif

/* a * 2^b, rounded once: the first product is exact, or the result is 0 or infinite anyway. */
NX_INLINE float nx_times_power(float a, int n) {
  return a * nx_bitcast<float>((nx_u32)(n + 127) << 23);
}
NX_INLINE double nx_times_power(double a, int n) {
  return a * nx_bitcast<double>((nx_u64)(n + 1023) << 52);
}
NX_INLINE float nx_clamp(float a, float most) { return fminf(fmaxf(a, -most), most); }
NX_INLINE double nx_clamp(double a, double most) { return fmin(fmax(a, -most), most); }
template <class T> NX_INLINE T nx_ldexp(T a, T b) {
  const int n = (int)nx_clamp(b, sizeof(T) == 8 ? (T)2044 : (T)252), half = n / 2;
  return b != b ? b : nx_times_power(nx_times_power(a, half), n - half);
}

/* Float to integer: truncates, saturates, NaN gives 0. */
template <class To, class From> NX_INLINE To nx_to_integer(From a) {
  const bool is_signed = (To)-1 < (To)0;
  const int digits = 8 * (int)sizeof(To) - (is_signed ? 1 : 0);
  const From limit = (From)2 * (From)((nx_u64)1 << (digits - 1));
  const To most = (To)((((nx_u64)1 << (digits - 1)) - 1) * 2 + 1);
  if (a >= limit) return most;
  if (a >= (is_signed ? -limit : (From)0)) return (To)a;
  return is_signed && a == a ? (To)((nx_u64)1 << digits) : (To)0;
}

/* Conversions between f16 and f32 by the machine's instructions. */
NX_INLINE float nx_half_to_float(nx_u16 a) {
  float r;
  NX_PTX1("cvt.f32.f16", r, "f", a, "h");
  return r;
}
NX_INLINE nx_u16 nx_float_to_half(float a) {
  nx_u16 r;
  NX_PTX1("cvt.rn.f16.f32", r, "h", a, "f");
  return r;
}
/* Two at once, the first in the lower half; NaN is one number. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
NX_INLINE nx_u32 nx_floats_to_halves(float a, float b) {
  nx_u32 r;
  NX_PTX2("cvt.rn.f16x2.f32", r, "r", b, a, "f");
  return r;
}
NX_INLINE nx_u32 nx_floats_to_bf16s(float a, float b) {
  nx_u32 r;
  NX_PTX2("cvt.rn.bf16x2.f32", r, "r", b, a, "f");
  return r;
}
#else
NX_INLINE nx_u32 nx_floats_to_halves(float a, float b) {
  return nx_float_to_half(a) | (nx_u32)nx_float_to_half(b) << 16;
}
#endif

/* Conversions between f32 and f8 by those of compute capability 8.9, two at once, the first in the
 * lower byte. They saturate where f8e4m3 has NaN and f8e5m2 infinity: beyond 464, which is a tie
 * that goes to the largest number, and from 61440 on, a tie that does not. */
#if !defined NX_ON_HOST && __CUDA_ARCH__ >= 890
NX_INLINE nx_u32 nx_halves_of_e4m3s(nx_u16 a) {
  nx_u32 r;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"(a));
  return r;
}
NX_INLINE nx_u16 nx_saturated_e4m3s(float a, float b) {
  nx_u16 r;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(b), "f"(a));
  return r;
}
NX_INLINE nx_u16 nx_saturated_e5m2s(float a, float b) {
  nx_u16 r;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(b), "f"(a));
  return r;
}
#endif
#if defined NX_ON_HOST || __CUDA_ARCH__ >= 890
NX_INLINE nx_u32 nx_e4m3s_to_halves(nx_u8 a, nx_u8 b) {
  return nx_halves_of_e4m3s((nx_u16)(a | b << 8));
}
NX_INLINE float nx_finite_e4m3(float a) {
  return fabsf(a) > 464.0f ? nx_bitcast<float>(0x7fffffffu) : a;
}
NX_INLINE nx_u16 nx_floats_to_e4m3s(float a, float b) {
  return nx_saturated_e4m3s(nx_finite_e4m3(a), nx_finite_e4m3(b));
}
NX_INLINE nx_u32 nx_beyond_e5m2(float a) {
  return fabsf(a) >= 61440.0f ? nx_bitcast<nx_u32>(a) >> 24 & 0x80 | 0x7c : 0;
}
NX_INLINE nx_u16 nx_floats_to_e5m2s(float a, float b) {
  const nx_u32 r = nx_saturated_e5m2s(a, b), low = nx_beyond_e5m2(a), high = nx_beyond_e5m2(b);
  return (nx_u16)((low ? low : r & 0xff) | (high ? high << 8 : r & 0xff00));
}
#endif

/* argmax and argmin: whether (b, j) is better than (a, i): ahead, the first NaN, or as good and
 * earlier. */
template <class T> NX_INLINE bool nx_arg_better(bool most, T a, nx_i64 i, T b, nx_i64 j) {
  bool ahead = most ? a < b : b < a, a_nan = a != a, b_nan = b != b;
  bool tie = a == b || (a_nan && b_nan);
  return ahead || (b_nan && !a_nan) || (tie && j < i);
}

/* ---- threads */

/* Tasks of a region: n / divisor, rounded up. */
NX_INLINE nx_i64 nx_tasks_of(nx_i64 n, nx_i64 divisor) {
  return n <= 0 ? 0 : (n - 1) / divisor + 1;
}

/* Defines a function that exchanges values of any type among the threads of a warp, with one of
 * CUDA's functions. */
#define NX_OF_WARP(name, hand)                                                                 \
  template <class T> NX_INLINE T name(T a, int n) { return (T)hand(0xffffffffu, (int)a, n); } \
  NX_INLINE float name(float a, int n) { return hand(0xffffffffu, a, n); }                     \
  NX_INLINE double name(double a, int n) { return hand(0xffffffffu, a, n); }                   \
  NX_INLINE nx_u32 name(nx_u32 a, int n) { return hand(0xffffffffu, a, n); }                   \
  NX_INLINE nx_i64 name(nx_i64 a, int n) { return hand(0xffffffffu, a, n); }                   \
  NX_INLINE nx_u64 name(nx_u64 a, int n) { return hand(0xffffffffu, a, n); }
/* The value of the thread in the same warp whose number differs in the bits of n. */
NX_OF_WARP(nx_shuffle, __shfl_xor_sync)

/* The same among all threads of the block, through `room`: shared memory with room for one value of
 * each thread. */
template <class T> NX_INLINE T nx_exchange(T a, int distance, nx_u64 *room) {
  T *at = (T *)room;
  __syncthreads();
  at[threadIdx.x] = a;
  __syncthreads();
  return at[threadIdx.x ^ distance];
}
