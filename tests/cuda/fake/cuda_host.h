/* SPDX-License-Identifier: ISC */
/* Generated CUDA C on this processor: what a GPU gives a kernel, made of C++. A block's threads are
 * contexts of one thread of the system, switched where they wait for each other; which one goes on
 * is drawn by chance, so that what depends on an order that a GPU does not promise shows itself.
 * Several blocks are under way at once, by turns: one goes on where another one waits for it
 * (__nanosleep), and now and then at a barrier. Memory between blocks is that of cuda_memory.h.
 *
 * Comes before the prelude and the kernels of a file; nx_host_launch<kernel> runs one. What a
 * kernel need not have of its own is in cuda_host.cc: it is compiled once, and there once in a
 * process. */
#ifndef NXT_CUDA_HOST_H
#define NXT_CUDA_HOST_H

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define NX_ON_HOST 1

struct nx_host_index {
  int x;
};
extern nx_host_index threadIdx, blockIdx, gridDim;
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) ulonglong2 {
  unsigned long long x, y;
};
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) {
  return {x, y};
}

/* What a GPU computes in f32 and is no number has these bits; in f64 those of this processor. */
static inline float nx_host_canonical(float a) {
  const unsigned nan = 0x7fffffff;
  if (a != a) memcpy(&a, &nan, sizeof a);
  return a;
}
static inline float __fsqrt_rn(float a) { return nx_host_canonical(std::sqrt(a)); }
static inline double __dsqrt_rn(double a) { return std::sqrt(a); }
static inline float __fmaf_rn(float a, float b, float c) {
  return nx_host_canonical(fmaf(a, b, c));
}
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}

/* ---- conversions of f8, as PTX has them: two at once, rounded to even, saturated */

static inline unsigned nx_halves_of_e4m3s(unsigned short pair) {
  unsigned out = 0;
  for (int i = 0; i < 2; i++) {
    const int byte = pair >> 8 * i & 0xff, exponent = byte >> 3 & 15, fraction = byte & 7;
    float x = std::ldexp((exponent ? 8.0f : 0) + fraction, (exponent ? exponent : 1) - 10);
    if ((byte & 0x7f) == 0x7f) x = NAN;
    const _Float16 half = (_Float16)(byte & 0x80 ? -x : x);
    unsigned short bits = 0x7fff; /* also of a NaN with a sign */
    if (x == x) memcpy(&bits, &half, sizeof bits);
    out |= (unsigned)bits << 16 * i;
  }
  return out;
}
static inline unsigned char nx_host_f8(float x, int fraction, int bias, int most) {
  if (x != x) return 0x7f;
  const float size = std::fabs(x);
  const int sign = std::signbit(x) ? 0x80 : 0, normal = size >= std::ldexp(1.0f, 1 - bias);
  if (size >= 65536) return (unsigned char)(sign | most);
  const int exponent = normal ? std::ilogb(size) : 1 - bias;
  const int steps = (int)std::nearbyint(std::ldexp((double)size, fraction - exponent));
  const int bits = ((exponent + bias - 1) << fraction) + steps;
  return (unsigned char)(sign | (bits < most ? bits : most));
}
static inline unsigned short nx_saturated_e4m3s(float a, float b) {
  return (unsigned short)(nx_host_f8(a, 3, 7, 0x7e) | nx_host_f8(b, 3, 7, 0x7e) << 8);
}
static inline unsigned short nx_saturated_e5m2s(float a, float b) {
  return (unsigned short)(nx_host_f8(a, 2, 15, 0x7b) | nx_host_f8(b, 2, 15, 0x7b) << 8);
}

static inline int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
static inline int __clzll(long long a) { return a ? __builtin_clzll((unsigned long long)a) : 64; }
static inline unsigned long long __brevll(unsigned long long a) {
  unsigned long long out = 0;
  for (int i = 0; i < 64; i++) out = out << 1 | (a >> i & 1);
  return out;
}

#define NX_PLAIN __attribute__((no_sanitize("thread"))) /* stores of it are not reported */

/* ---- memory between blocks (cuda_memory.h) */

void nx_settle(const void *at, int size); /* what is hidden of the place is shown */
void nx_fence(int thread);
void nx_storing(void *at, int size); /* a thread is about to store there */

/* What the compiler calls. Stores in the library itself are those of shared memory, or nobody's. */
#ifdef __SANITIZE_THREAD__
extern "C" char __ehdr_start __attribute__((visibility("hidden"))),
    _end __attribute__((visibility("hidden")));
NX_PLAIN static inline void nx_reported(void *at, int size) {
  if ((char *)at < &__ehdr_start || (char *)at >= &_end) nx_storing(at, size);
}

#define NX_REPORTED extern "C" NX_PLAIN __attribute__((visibility("hidden"), used)) inline
#define NX_REPORTS(n)                                                \
  NX_REPORTED void __tsan_write##n(void *at) { nx_reported(at, n); } \
  NX_REPORTED void __tsan_volatile_write##n(void *at) { nx_reported(at, n); }
#define NX_REPORTS_ODD(n)                                                      \
  NX_REPORTED void __tsan_unaligned_write##n(void *at) { nx_reported(at, n); } \
  NX_REPORTED void __tsan_unaligned_volatile_write##n(void *at) { nx_reported(at, n); }
NX_REPORTS(1)
NX_REPORTS(2)
NX_REPORTS(4)
NX_REPORTS(8)
NX_REPORTS(16)
NX_REPORTS_ODD(2)
NX_REPORTS_ODD(4)
NX_REPORTS_ODD(8)
NX_REPORTS_ODD(16)
NX_REPORTED void __tsan_write_range(void *at, unsigned long size) {
  for (unsigned long i = 0; i < size; i++) nx_reported((char *)at + i, 1);
}
NX_REPORTED void __tsan_vptr_update(void **, void *) {}
#define NX_IGNORED(name) \
  NX_REPORTED void __tsan_##name(void *) {}
NX_IGNORED(read1)
NX_IGNORED(read2)
NX_IGNORED(read4)
NX_IGNORED(read8)
NX_IGNORED(read16)
NX_IGNORED(volatile_read1)
NX_IGNORED(volatile_read2)
NX_IGNORED(volatile_read4)
NX_IGNORED(volatile_read8)
NX_IGNORED(volatile_read16)
NX_IGNORED(unaligned_read2)
NX_IGNORED(unaligned_read4)
NX_IGNORED(unaligned_read8)
NX_IGNORED(unaligned_read16)
NX_IGNORED(vptr_read)
NX_IGNORED(func_entry)
NX_REPORTED void __tsan_read_range(void *, unsigned long) {}
NX_REPORTED void __tsan_func_exit() {}
NX_REPORTED void __tsan_init() {}
#endif

/* ---- instructions, by their text */

#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 900
#endif
[[noreturn]] void nx_host_unknown(const char *text);
/* Source: PTX ISA, min, max, cvt. Each gives one NaN for all, whose bits are ones but the sign. */
static inline void nx_host_ptx(const char *text, float *to, unsigned short a) {
  const unsigned nan = 0x7fffffff;
  _Float16 half;
  if (strcmp(text, "cvt.f32.f16") != 0) nx_host_unknown(text);
  memcpy(&half, &a, sizeof half);
  *to = (float)half;
  if (half != half) memcpy(to, &nan, sizeof nan);
}
static inline void nx_host_ptx(const char *text, unsigned short *to, float a) {
  if (strcmp(text, "cvt.rn.f16.f32") != 0) nx_host_unknown(text);
  const _Float16 half = (_Float16)a;
  memcpy(to, &half, sizeof half);
  if (a != a) *to = 0x7fff;
}
/* Two conversions, of the second operand to the lower half. */
static inline void nx_host_ptx(const char *text, unsigned *to, float a, float b) {
  const bool half = strcmp(text, "cvt.rn.f16x2.f32") == 0;
  if (!half && strcmp(text, "cvt.rn.bf16x2.f32") != 0) nx_host_unknown(text);
  *to = 0;
  for (int i = 0; i < 2; i++) {
    const float x = i ? a : b;
    const _Float16 rounded = (_Float16)x;
    unsigned bits;
    unsigned short upper;
    memcpy(&bits, &x, sizeof bits);
    upper = x != x ? 0x7fff : (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    if (half) memcpy(&upper, &rounded, sizeof upper);
    *to |= (unsigned)upper << 16 * i;
  }
}
/* The number of 16 bits of a half of a word, and a word of two, each rounded. */
static inline float nx_host_part(unsigned word, int i, bool half) {
  const unsigned short bits = (unsigned short)(word >> 16 * i);
  const unsigned wide = (unsigned)bits << 16;
  _Float16 small;
  float x;
  memcpy(&small, &bits, sizeof bits);
  memcpy(&x, &wide, sizeof x);
  return half ? (float)small : x;
}
static inline unsigned nx_host_pair(float low, float high, bool half) {
  unsigned r;
  nx_host_ptx(half ? "cvt.rn.f16x2.f32" : "cvt.rn.bf16x2.f32", &r, high, low);
  return r;
}
static inline bool nx_host_is_half(const char *text, const char *name, size_t length) {
  const bool half = strcmp(text + length, ".f16x2") == 0;
  if (strncmp(text, name, length) != 0 || (!half && strcmp(text + length, ".bf16x2") != 0))
    nx_host_unknown(text);
  return half;
}
/* A product and a sum, rounded once: of such operands f64 holds all that matters of them. */
static inline void nx_host_ptx(const char *text, unsigned *to, unsigned a, unsigned b, unsigned c) {
  const bool half = nx_host_is_half(text, "fma.rn", 6);
  float r[2];
  for (int i = 0; i < 2; i++)
    r[i] = (float)((double)nx_host_part(a, i, half) * (double)nx_host_part(b, i, half) +
                   (double)nx_host_part(c, i, half));
  *to = nx_host_pair(r[0], r[1], half);
}
static inline void nx_host_ptx(const char *text, unsigned *to, unsigned a, unsigned b) {
  const bool half = nx_host_is_half(text, "max.NaN", 7);
  float r[2];
  for (int i = 0; i < 2; i++) {
    const float x = nx_host_part(a, i, half), y = nx_host_part(b, i, half);
    r[i] = x != x || y != y ? NAN : x == y ? (std::signbit(x) ? y : x) : x > y ? x : y;
  }
  *to = nx_host_pair(r[0], r[1], half);
}
/* As wrong as it may be, in either direction. */
static inline void nx_host_ptx(const char *text, float *to, float a) {
  unsigned bits;
  if (strcmp(text, "ex2.approx.ftz.f32") != 0) nx_host_unknown(text);
  memcpy(&bits, &a, sizeof bits);
  const double wrong = bits * 2654435761u >> 31 ? 0x1p-22 : -0x1p-22, y = std::exp2((double)a);
  *to = y == 0 || y < 0x1p-126 ? 0 : a == 0 ? 1 : (float)(y * (1 + wrong));
  *to = nx_host_canonical(*to);
}
static inline void nx_host_ptx(const char *text, int *to, int a, int b) {
  if (strcmp(text, "max.s32") == 0) *to = a > b ? a : b;
  else if (strcmp(text, "min.s32") == 0) *to = a < b ? a : b;
  else nx_host_unknown(text);
}
/* +0 is above -0. */
static inline void nx_host_ptx(const char *text, float *to, float a, float b) {
  const bool max = strcmp(text, "max.NaN.f32") == 0;
  const unsigned nan = 0x7fffffff;
  if (!max && strcmp(text, "min.NaN.f32") != 0) nx_host_unknown(text);
  if (a != a || b != b) memcpy(to, &nan, sizeof nan);
  else if (a == b) *to = std::signbit(a) == max ? b : a;
  else *to = (a > b) == max ? a : b;
}

/* ---- threads of a block */

enum { NX_HOST_SHARED = 256 << 10 };
enum nx_host_state { NX_READY, NX_AT_WARP, NX_AT_BLOCK, NX_DONE };
extern unsigned char nx_shared[]; /* of the block whose turn it is */
extern int nx_host_now;           /* the thread whose turn it is */
void nx_host_wait(nx_host_state state);
void nx_host_pause(); /* until another block had its turn */
void nx_host_say(const void *value, int size);
void nx_host_hear(int of, void *value, int size);

static inline void __threadfence() { nx_fence(nx_host_now); }
static inline void __threadfence_block() {}
static inline void __syncthreads() { nx_host_wait(NX_AT_BLOCK); }
static inline void __syncwarp(unsigned = 0xffffffffu) { nx_host_wait(NX_AT_WARP); }
static inline void __nanosleep(unsigned) { nx_host_pause(); }

/* Shows a value to the warp, which then sees what thread `of` of the block has shown. */
template <class T> NX_PLAIN static inline void nx_host_show(T a) {
  static_assert(sizeof(T) <= 8, "a register or two");
  nx_host_say(&a, sizeof a);
}
template <class T> NX_PLAIN static inline T nx_host_seen(int of) {
  T a;
  nx_host_hear(of, &a, sizeof a);
  return a;
}
template <class T> NX_PLAIN static T __shfl_xor_sync(unsigned, T a, int distance) {
  nx_host_show(a);
  return nx_host_seen<T>(nx_host_now ^ distance);
}
template <class T> NX_PLAIN static T __shfl_up_sync(unsigned, T a, int distance) {
  nx_host_show(a);
  return (nx_host_now & 31) >= distance ? nx_host_seen<T>(nx_host_now - distance) : a;
}
template <class T> NX_PLAIN static T __shfl_sync(unsigned, T a, int lane) {
  nx_host_show(a);
  return nx_host_seen<T>((nx_host_now & ~31) + (lane & 31));
}
NX_PLAIN static inline unsigned __ballot_sync(unsigned, int a) {
  unsigned all = 0;
  nx_host_show(a);
  for (int i = 0; i < 32; i++)
    all |= (unsigned)(nx_host_seen<int>((nx_host_now & ~31) + i) != 0) << i;
  return all;
}

/* ---- products of tensor cores, and copies (cuda_tensor.h) */

void nx_host_mma(const char *text, int (&c)[4], const unsigned (&a)[4], const unsigned *b);
void nx_host_mma(const char *text, float (&c)[4], const unsigned (&a)[4], const unsigned *b);
void nx_host_ldmatrix(const char *text, unsigned (&to)[4], const void *at);
void nx_host_copy_start(const char *text, void *to, const void *from, int bytes);
void nx_host_copy_group(const char *text);
void nx_host_copy_wait(const char *text, int n);

static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned which) {
  const unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned out = 0;
  for (int i = 0; i < 4; i++) out |= (unsigned)(both >> 8 * (which >> 4 * i & 7) & 255) << 8 * i;
  return out;
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}

static inline int __ffs(int a) { return __builtin_ffs(a); }
static inline int __popc(unsigned a) { return __builtin_popcount(a); }
template <class T> NX_PLAIN static T atomicAdd(T *at, T more) {
  nx_settle(at, sizeof *at);
  T old = *at;
  *at = old + more;
  return old;
}
template <class T> NX_PLAIN static T atomicOr(T *at, T more) {
  nx_settle(at, sizeof *at);
  T old = *at;
  *at = old | more;
  return old;
}
template <class T> NX_PLAIN static T atomicCAS(T *at, T expected, T wanted) {
  nx_settle(at, sizeof *at);
  T old = *at;
  if (old == expected) *at = wanted;
  return old;
}

/* ---- calls */

/* Runs the blocks; how many are under way at once is drawn by chance. */
void nx_host_grid(void (*entry)(void *), void *given, int blocks, int threads, int shared,
                  uint64_t seed);

/* A kernel's arguments as the driver gets them: the addresses of values. What is a pointer is
 * `offset` too high. */
struct nx_host_arguments {
  void **values;
  unsigned long long offset;
};
template <class T> struct nx_host_argument {
  static T get(const nx_host_arguments *a, int i) {
    T value;
    memcpy(&value, a->values[i], sizeof value);
    return value;
  }
};
template <class T> struct nx_host_argument<T *> {
  static T *get(const nx_host_arguments *a, int i) {
    unsigned long long at;
    memcpy(&at, a->values[i], sizeof at);
    return (T *)(at - a->offset);
  }
};

template <auto kernel> struct nx_host_kernel;
template <class... A, void (*kernel)(A...)> struct nx_host_kernel<kernel> {
  template <size_t... i> static void unpack(const nx_host_arguments *a, std::index_sequence<i...>) {
    kernel(nx_host_argument<A>::get(a, (int)i)...);
  }
  static void enter(void *given) {
    unpack((const nx_host_arguments *)given, std::index_sequence_for<A...>());
  }
  static unsigned sizes(unsigned *out) {
    const unsigned all[] = {(unsigned)sizeof(A)..., 0};
    for (size_t i = 0; i < sizeof...(A); i++) out[i] = all[i];
    return (unsigned)sizeof...(A);
  }
};

template <auto kernel>
static void nx_host_launch(void **values, unsigned blocks, unsigned threads,
                           unsigned long long offset, uint64_t seed = 1,
                           unsigned shared = NX_HOST_SHARED) {
  nx_host_arguments a = {values, offset};
  nx_host_grid(nx_host_kernel<kernel>::enter, &a, (int)blocks, (int)threads, (int)shared, seed);
}
/* How many arguments a kernel has, and the bytes of each. No static data: the linker makes one of
 * what several libraries have under one name. */
template <auto kernel> static unsigned nx_host_sizes(unsigned *out) {
  return nx_host_kernel<kernel>::sizes(out);
}

#endif
