/* SPDX-License-Identifier: ISC */
/* Memory between blocks (cuda_memory.h): messages with fences arrive, and without one of them some
 * do not; scan.cuh, whose words say themselves that they are there, needs none. Compiled with
 * -fsanitize=thread. */
#include "tests/cuda/fake/cuda_host.h"

#include <vector>

#include "codegen_cuda/prelude.cuh"

#include "codegen_cuda/mma.cuh"

#include "codegen_cuda/scan.cuh"

static int failures;
static void expect(bool good, const char *what) {
  if (good) return;
  fprintf(stderr, "%s\n", what);
  failures++;
}

/* ---- messages: block 0 writes words and then a flag, block 1 waits for that and reads them */

enum { WORDS = 8, TRIES = 300 };
struct fences {
  int writer, reader; /* whether there are some; writer: 2: before the barrier */
};
static void message(unsigned *words, volatile unsigned *flag, unsigned *seen, fences f) {
  if (blockIdx.x == 0) {
    if (threadIdx.x < WORDS) words[threadIdx.x] = 7 + threadIdx.x;
    if (f.writer == 2 && threadIdx.x == 0) nx_fence(nx_host_now);
    __syncthreads();
    if (f.writer == 1 && threadIdx.x == 0) nx_fence(nx_host_now);
    if (threadIdx.x == 0) *flag = 1;
  } else if (threadIdx.x == 0) {
    while (*flag == 0) __nanosleep(20);
    if (f.reader) nx_fence(nx_host_now);
    for (int i = 0; i < WORDS; i++) seen[i] = words[i];
  }
}

/* How many messages are read wrongly. */
static int messages(fences f) {
  int wrong = 0;
  for (uint64_t seed = 1; seed <= TRIES; seed++) {
    std::vector<unsigned> words(WORDS), flag(1), seen(WORDS);
    unsigned *at[] = {words.data(), flag.data(), seen.data()};
    void *values[] = {&at[0], &at[1], &at[2], &f};
    nx_host_launch<message>(values, 2, 32, 0, seed, 0);
    bool good = true;
    for (unsigned i = 0; i < WORDS; i++) good = good && seen[i] == 7 + i && words[i] == 7 + i;
    wrong += !good;
  }
  return wrong;
}

/* ---- all that is stored is there at the end, and atomic operations see it */

static void stores(unsigned *to, unsigned *sum) {
  for (unsigned i = 0; i < 100; i++) to[(blockIdx.x * 32 + threadIdx.x) * 100 + i] = i * 3 + 1;
  atomicAdd(sum, 1u);
}

static void all_is_there() {
  const unsigned blocks = 11, n = blocks * 32 * 100;
  std::vector<unsigned> to(n), sum(1);
  unsigned *at[] = {to.data(), sum.data()};
  void *values[] = {&at[0], &at[1]};
  nx_host_launch<stores>(values, blocks, 32, 0, 5, 0);
  bool good = sum[0] == blocks * 32;
  for (unsigned i = 0; i < n; i++) good = good && to[i] == i % 100 * 3 + 1;
  expect(good, "stores are lost");
}

/* ---- scans */

/* In order, by a carrier, or in any order, by looking back. */
enum { TILE_BLOCKS = 8, TILE = TILE_BLOCKS * NX_SCAN_BLOCK, THREADS = 128 };
template <class T, bool exact>
static void scan(const T *from, T *to, nx_i64 length, nx_u32 tiles, nx_u32 *ticket, nx_u64 *totals,
                 nx_u64 *prefix) {
  nx_scan_lines<T, NX_SCAN_SUM, exact, THREADS, TILE_BLOCKS, true>(
      from, to, length, tiles, tiles, 1, ticket, nx_scan_shown<T>{totals, prefix}, (T *)nx_shared);
}

/* Whether the scan of n numbers whose sums have bits in both halves of a word is right. */
template <class T, bool exact> static bool scan_is_right(nx_i64 n, uint64_t seed) {
  const int words = nx_scan_shown<T>::words;
  const T step = exact ? (T)(((nx_u64)1 << 32) + 1) : sizeof(T) == 8 ? (T)(1 + 0x1p-30) : 1;
  nx_u32 tiles = (nx_u32)((n + TILE - 1) / TILE), ticket = 0;
  std::vector<T> memory(2 * n + 16, step);
  std::vector<nx_u64> totals(tiles * TILE_BLOCKS * words), prefix(tiles * words);
  T *source = (T *)(((uintptr_t)memory.data() + 15) / 16 * 16), *target = source + (n + 3) / 4 * 4;
  nx_u64 *t = totals.data(), *p = prefix.data();
  nx_u32 *count = &ticket;
  void *values[] = {&source, &target, &n, &tiles, &count, &t, &p};
  nx_host_launch<scan<T, exact>>(values, (int)tiles + !exact, THREADS, 0, seed,
                                 16 + TILE_BLOCKS * (NX_SCAN_BLOCK + 6) * sizeof(T));
  for (nx_i64 i = 0; i < n; i++)
    if (target[i] != (T)(i + 1) * step) return false;
  return true;
}

template <class T, bool exact> static int wrong_scans(int tries) {
  int wrong = 0;
  for (int seed = 1; seed <= tries; seed++)
    wrong += !scan_is_right<T, exact>(4 * TILE + 5, (uint64_t)seed);
  return wrong;
}

int main() {
  const int none = messages({0, 0}), half = messages({1, 0}), other = messages({0, 1}),
            whole = messages({1, 1}), early = messages({2, 1});
  printf("of %d messages are wrong: %d without fences, %d without the reader's, %d without the "
         "writer's, %d with both, %d with it too early\n",
         TRIES, none, half, other, whole, early);
  expect(whole == 0, "messages with fences are wrong");
  expect(none > 0 && half > 0 && other > 0 && early > 0, "a fence that is missing is not noticed");
  all_is_there();
  const int floats = wrong_scans<float, false>(60), doubles = wrong_scans<double, false>(30),
            integers = wrong_scans<nx_i64, true>(60);
  printf("of 60 scans of f32, 30 of f64 and 60 of i64 %d, %d and %d are wrong\n", floats, doubles,
         integers);
  expect(floats == 0 && doubles == 0 && integers == 0, "scans are wrong");
  return failures != 0;
}
