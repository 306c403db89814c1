/* SPDX-License-Identifier: ISC */
/* Generated CUDA C on this processor: what a GPU gives a kernel, made of C++. A block's threads are
 * contexts of one thread of the system, switched where they wait for each other; which one goes on
 * is drawn by chance, so that what depends on an order that a GPU does not promise shows itself.
 * Several blocks are under way at once, by turns: one goes on where another one waits for it
 * (__nanosleep), and now and then at a barrier. Memory between blocks is that of cuda_memory.h.
 *
 * Comes before the prelude and the kernels of a file; nx_host_launch<kernel> runs one. */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>
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
static nx_host_index threadIdx, blockIdx, gridDim;
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) ulonglong2 {
  unsigned long long x, y;
};
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
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
static unsigned long long nx_host_seed = 1;
NX_PLAIN static int nx_host_draw(int below) {
  nx_host_seed = nx_host_seed * 6364136223846793005ull + 1442695040888963407ull;
  return (int)((nx_host_seed >> 33) % (unsigned)below);
}
static bool nx_host_is_own(const void *at);
#include "cuda_memory.h"

/* ---- instructions, by their text */

#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 900
#endif
[[noreturn]] static void nx_host_unknown(const char *text) {
  fprintf(stderr, "the instruction %s is not known here\n", text);
  abort();
}
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

enum {
  NX_HOST_MOST = 1024,
  NX_HOST_STACK = 64 << 10,
  NX_HOST_SHARED = 256 << 10,
  NX_HOST_GUARD = 1024, /* behind a block's shared memory: nobody writes there */
  NX_HOST_BLOCKS = 8
};
enum nx_host_state { NX_READY, NX_AT_WARP, NX_AT_BLOCK, NX_DONE };
alignas(
    64) unsigned char nx_shared[NX_HOST_SHARED + NX_HOST_GUARD]; /* of the block whose turn it is */

struct nx_host_copy {
  void *to;
  const void *from;
  int bytes, group;
};
enum { NX_HOST_COPIES = 128 };
struct nx_host_thread {
  ucontext_t context; /* where it begins, when it is wanted for the first time */
  jmp_buf at;         /* where it goes on: without asking the system, as contexts would */
  bool made, begun;   /* it has a context; it has used it */
  nx_host_state state;
  int turn;
  unsigned long long said[2];          /* what it shows to its warp, by turns */
  nx_host_copy copies[NX_HOST_COPIES]; /* that have not ended, oldest first */
  int n_copies, group;                 /* group: of the next copy */
};
struct nx_host_resident {
  nx_host_thread threads[NX_HOST_MOST];
  unsigned char shared[NX_HOST_SHARED + NX_HOST_GUARD]; /* while it is another one's turn */
  int number;                                           /* -1: there is no block */
  nx_view view;
};
/* What all blocks need, 500 MB of addresses: pages come as they are touched, and malloc, which
 * tests have fill what it gives, would touch all of them for each kernel. */
struct nx_host_room {
  nx_host_resident residents[NX_HOST_BLOCKS];
  char stacks[NX_HOST_BLOCKS * NX_HOST_MOST][NX_HOST_STACK];
};
static nx_host_room *nx_host_rooms; /* one, or NULL */
static int nx_host_shared_bytes;    /* of a block */
static int nx_host_patience;        /* one in so many times it is another block's turn */
static bool nx_host_is_own(const void *at) {
  const char *c = (const char *)at, *rooms = (const char *)nx_host_rooms;
  return c >= rooms && c < rooms + sizeof *nx_host_rooms;
}
static nx_host_thread *nx_host_threads; /* of the block whose turn it is */
__attribute__((destructor)) static void nx_host_leave() {
  if (nx_host_rooms) munmap(nx_host_rooms, sizeof *nx_host_rooms);
}
static void nx_host_enter() {
  void *at = mmap(NULL, sizeof *nx_host_rooms, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) abort();
  nx_host_rooms = (nx_host_room *)at;
}
static jmp_buf nx_host_main;
static int nx_host_now;
static nx_view *nx_host_view; /* of the block whose turn it is */
static inline void __threadfence() { nx_fence(nx_host_now); }
static inline void __threadfence_block() {}
static bool nx_host_pauses; /* the thread waits for another block */

NX_PLAIN static void nx_host_wait(nx_host_state state) {
  nx_host_thread *t = &nx_host_threads[nx_host_now];
  t->state = state;
  if (_setjmp(t->at) == 0) _longjmp(nx_host_main, 1);
}

NX_PLAIN static void nx_host_go_on(nx_host_thread *t) {
  nx_seeing = nx_host_view;
  if (_setjmp(nx_host_main) != 0) {
    nx_seeing = NULL;
    return;
  }
  if (t->begun) _longjmp(t->at, 1);
  t->begun = true;
  setcontext(&t->context);
}

static inline void __syncthreads() { nx_host_wait(NX_AT_BLOCK); }
static inline void __syncwarp(unsigned = 0xffffffffu) { nx_host_wait(NX_AT_WARP); }
static inline void __nanosleep(unsigned) {
  nx_host_pauses = true;
  nx_host_wait(NX_READY);
}

/* Shows a value to the warp, which then sees what thread `of` of the block has shown. */
template <class T> NX_PLAIN static void nx_host_show(T a) {
  static_assert(sizeof(T) <= 8, "a register or two");
  nx_host_thread *t = &nx_host_threads[nx_host_now];
  t->turn ^= 1;
  memcpy(&t->said[t->turn], &a, sizeof a);
  nx_host_wait(NX_AT_WARP);
}
template <class T> NX_PLAIN static T nx_host_seen(int of) {
  T a;
  memcpy(&a, &nx_host_threads[of].said[nx_host_threads[nx_host_now].turn], sizeof a);
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

#include "cuda_tensor.h"

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

/* Threads [first, end) all wait in that state, or are done. */
NX_PLAIN static bool nx_host_all(int first, int end, nx_host_state state) {
  bool some = false;
  for (int i = first; i < end; i++) {
    if (nx_host_threads[i].state != state && nx_host_threads[i].state != NX_DONE) return false;
    some |= nx_host_threads[i].state == state;
  }
  return some;
}

NX_PLAIN static void nx_host_release(int first, int end) {
  nx_know(nx_host_view, first, end);
  for (int i = first; i < end; i++)
    if (nx_host_threads[i].state != NX_DONE) nx_host_threads[i].state = NX_READY;
}

/* A ready thread, from a place drawn by chance on; -1: there is none. */
NX_PLAIN static int nx_host_pick(int threads) {
  int start = nx_host_draw(threads);
  for (int i = 0; i < threads; i++)
    if (nx_host_threads[(start + i) % threads].state == NX_READY) return (start + i) % threads;
  return -1;
}

/* Until the block is done, or lets another one go on: false. */
NX_PLAIN static bool nx_host_block(int threads) {
  for (;;) {
    int i = nx_host_pick(threads);
    if (i < 0 && nx_host_all(0, threads, NX_AT_BLOCK)) {
      nx_host_release(0, threads);
      if (nx_host_draw(4) == 0) return false;
      continue;
    }
    if (i < 0 && nx_host_all(0, threads, NX_DONE)) return true;
    if (i < 0) {
      fprintf(stderr, "the threads of a block wait for each other at different places\n");
      abort();
    }
    nx_host_now = threadIdx.x = i;
    nx_host_pauses = false;
    nx_host_go_on(&nx_host_threads[i]);
    if (nx_host_all(i & ~31, (i | 31) + 1 < threads ? (i | 31) + 1 : threads, NX_AT_WARP))
      nx_host_release(i & ~31, (i | 31) + 1);
    if (nx_host_pauses || nx_host_draw(nx_host_patience) == 0) return false;
  }
}

/* ---- calls */

static void (*nx_host_entry)(void *);
static void *nx_host_given;

/* It serves a thread of one block after the other: to make a context asks the system. */
static void nx_host_thread_main() {
  for (;;) {
    nx_host_entry(nx_host_given);
    nx_host_wait(NX_DONE);
  }
}

static void nx_host_make(nx_host_thread *t, char *stack) {
  if (t->made) return;
  getcontext(&t->context);
  t->context.uc_stack.ss_sp = stack;
  t->context.uc_stack.ss_size = NX_HOST_STACK;
  t->context.uc_link = NULL;
  makecontext(&t->context, nx_host_thread_main, 0);
  t->made = true;
}

static void nx_host_begin(int slot, int number, int threads) {
  nx_host_resident *r = &nx_host_rooms->residents[slot];
  r->number = number;
  memset(r->shared, 0xff, (size_t)nx_host_shared_bytes);
  memset(r->shared + nx_host_shared_bytes, 0x5c, NX_HOST_GUARD);
  for (int i = 0; i < threads; i++) {
    nx_host_thread *t = &r->threads[i];
    nx_host_make(t, nx_host_rooms->stacks[slot * NX_HOST_MOST + i]);
    t->state = NX_READY;
    t->turn = t->n_copies = t->group = 0;
  }
}

/* A block that is under way, from a place drawn by chance on; -1: there is none. */
static int nx_host_resident_pick() {
  int start = nx_host_draw(NX_HOST_BLOCKS);
  for (int i = 0; i < NX_HOST_BLOCKS; i++)
    if (nx_host_rooms->residents[(start + i) % NX_HOST_BLOCKS].number >= 0)
      return (start + i) % NX_HOST_BLOCKS;
  return -1;
}

static void nx_host_check_guard() {
  for (int i = 0; i < NX_HOST_GUARD; i++)
    if (nx_shared[nx_host_shared_bytes + i] != 0x5c) {
      fprintf(stderr, "a block writes beyond its %d bytes of shared memory\n",
              nx_host_shared_bytes);
      abort();
    }
}

/* A turn of a block: whether it is done. */
static bool nx_host_turn(nx_host_resident *r, int threads) {
  nx_host_threads = r->threads;
  nx_host_view = &r->view;
  blockIdx.x = r->number;
  nx_view_enter(&r->view);
  bool done = nx_host_block(threads);
  nx_view_leave(&r->view);
  nx_host_check_guard();
  if (done) nx_view_end(&r->view);
  nx_view_drift();
  return done;
}

/* How many blocks are under way at once is drawn by chance. */
static void nx_host_grid(void (*entry)(void *), void *given, int blocks, int threads, int shared,
                         uint64_t seed) {
  if (!nx_host_rooms) nx_host_enter();
  nx_host_resident *residents = nx_host_rooms->residents;
  if (shared > NX_HOST_SHARED || threads > NX_HOST_MOST) abort();
  nx_host_entry = entry;
  nx_host_given = given;
  nx_host_seed = seed;
  nx_host_shared_bytes = shared;
  nx_host_patience = 1 << (6 + 2 * nx_host_draw(3));
  gridDim.x = blocks;
  const size_t copied = (size_t)shared + NX_HOST_GUARD;
  int begun = 0, last = -1, now, slots = 2 + nx_host_draw(NX_HOST_BLOCKS - 1);
  for (int slot = 0; slot < NX_HOST_BLOCKS; slot++) {
    nx_view_begin(&residents[slot].view);
    residents[slot].number = -1;
    if (slot < slots && begun < blocks) nx_host_begin(slot, begun++, threads);
  }
  for (; (now = nx_host_resident_pick()) >= 0; last = now) {
    nx_host_resident *r = &residents[now];
    if (now != last && last >= 0 && residents[last].number >= 0)
      memcpy(residents[last].shared, nx_shared, copied);
    if (now != last) memcpy(nx_shared, r->shared, copied);
    if (!nx_host_turn(r, threads)) continue;
    r->number = -1;
    now = -1; /* what it leaves in shared memory is nobody's */
    if (begun < blocks) nx_host_begin((int)(r - residents), begun++, threads);
  }
  nx_views_end();
}

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
