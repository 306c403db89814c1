/* SPDX-License-Identifier: ISC */
/* Generated CUDA C on this processor: what a GPU gives a kernel, made of C++. A block's threads are contexts of one thread of
 * the system, switched where they wait for each other; which one goes on is drawn by chance, so that what depends on an order
 * that a GPU does not promise shows itself.
 *
 * Comes before the prelude and the kernels of a file; nx_host_launch<kernel> runs one. */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <utility>

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(n)
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

static inline float __fsqrt_rn(float a) { return std::sqrt(a); }
static inline double __dsqrt_rn(double a) { return std::sqrt(a); }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}

/* ---- threads of a block */

enum { NX_HOST_MOST = 1024, NX_HOST_STACK = 64 << 10, NX_HOST_SHARED = 256 << 10 };
enum nx_host_state { NX_READY, NX_AT_WARP, NX_AT_BLOCK, NX_DONE };
alignas(64) unsigned char nx_shared[NX_HOST_SHARED];

static struct nx_host_thread {
  ucontext_t context;
  nx_host_state state;
  unsigned long long said; /* what it shows to its warp */
} nx_host_threads[NX_HOST_MOST];
static char (*nx_host_stacks)[NX_HOST_STACK];
__attribute__((destructor)) static void nx_host_leave() { free(nx_host_stacks); }
static ucontext_t nx_host_main;
static int nx_host_now;
static unsigned long long nx_host_seed = 1;

static void nx_host_wait(nx_host_state state) {
  nx_host_thread *t = &nx_host_threads[nx_host_now];
  t->state = state;
  swapcontext(&t->context, &nx_host_main);
}

static inline void __syncthreads() { nx_host_wait(NX_AT_BLOCK); }

template <class T> static T __shfl_xor_sync(unsigned, T a, int distance) {
  static_assert(sizeof(T) <= 8, "a register or two");
  int me = nx_host_now;
  memcpy(&nx_host_threads[me].said, &a, sizeof a);
  nx_host_wait(NX_AT_WARP);
  T other;
  memcpy(&other, &nx_host_threads[me ^ distance].said, sizeof other);
  nx_host_wait(NX_AT_WARP);
  return other;
}

/* Threads [first, end) all wait in that state, or are done. */
static bool nx_host_all(int first, int end, nx_host_state state) {
  bool some = false;
  for (int i = first; i < end; i++) {
    if (nx_host_threads[i].state != state && nx_host_threads[i].state != NX_DONE) return false;
    some |= nx_host_threads[i].state == state;
  }
  return some;
}

static void nx_host_release(int first, int end) {
  for (int i = first; i < end; i++)
    if (nx_host_threads[i].state != NX_DONE) nx_host_threads[i].state = NX_READY;
}

static int nx_host_draw(int below) {
  nx_host_seed = nx_host_seed * 6364136223846793005ull + 1442695040888963407ull;
  return (int)((nx_host_seed >> 33) % (unsigned)below);
}

/* A ready thread, from a place drawn by chance on; -1: there is none. */
static int nx_host_pick(int threads) {
  int start = nx_host_draw(threads);
  for (int i = 0; i < threads; i++)
    if (nx_host_threads[(start + i) % threads].state == NX_READY) return (start + i) % threads;
  return -1;
}

static void nx_host_block(int threads) {
  for (;;) {
    for (int w = 0; w < threads; w += 32)
      if (nx_host_all(w, w + 32, NX_AT_WARP)) nx_host_release(w, w + 32);
    int i = nx_host_pick(threads);
    if (i < 0 && nx_host_all(0, threads, NX_AT_BLOCK)) {
      nx_host_release(0, threads);
      continue;
    }
    if (i < 0 && nx_host_all(0, threads, NX_DONE)) return;
    if (i < 0) {
      fprintf(stderr, "the threads of a block wait for each other at different places\n");
      abort();
    }
    nx_host_now = threadIdx.x = i;
    swapcontext(&nx_host_main, &nx_host_threads[i].context);
  }
}

/* ---- calls */

static void (*nx_host_entry)(void *);
static void *nx_host_given;

static void nx_host_thread_main() {
  nx_host_entry(nx_host_given);
  nx_host_threads[nx_host_now].state = NX_DONE;
  swapcontext(&nx_host_threads[nx_host_now].context, &nx_host_main);
}

static void nx_host_grid(void (*entry)(void *), void *given, int blocks, int threads,
                         uint64_t seed) {
  if (!nx_host_stacks)
    nx_host_stacks = (char(*)[NX_HOST_STACK])malloc(sizeof *nx_host_stacks * NX_HOST_MOST);
  nx_host_entry = entry;
  nx_host_given = given;
  nx_host_seed = seed;
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
    memset(nx_shared, 0xff, sizeof nx_shared);
    for (int i = 0; i < threads; i++) {
      nx_host_thread *t = &nx_host_threads[i];
      getcontext(&t->context);
      t->context.uc_stack.ss_sp = nx_host_stacks[i];
      t->context.uc_stack.ss_size = NX_HOST_STACK;
      t->context.uc_link = &nx_host_main;
      makecontext(&t->context, nx_host_thread_main, 0);
      t->state = NX_READY;
    }
    nx_host_block(threads);
  }
}

/* A kernel's arguments as the driver gets them: the addresses of values. What is a pointer is `offset` too high. */
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
};

template <auto kernel>
static void nx_host_launch(void **values, unsigned blocks, unsigned threads,
                           unsigned long long offset, uint64_t seed = 1) {
  nx_host_arguments a = {values, offset};
  nx_host_grid(nx_host_kernel<kernel>::enter, &a, (int)blocks, (int)threads, seed);
}
