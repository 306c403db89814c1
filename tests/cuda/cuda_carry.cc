/* SPDX-License-Identifier: ISC */
/* The carrier of scan.cuh on this processor (cuda_host.h): many tiles have shown their totals, or
 * show them while it carries, so that it goes through its ring several times, and through lines
 * that begin anywhere. What the runtime makes of it is for library/test_cuda_scan.c. */
#include "tests/cuda/fake/cuda_host.h"

#include <vector>

#include "codegen_cuda/prelude.cuh"

#include "codegen_cuda/mma.cuh"

#include "codegen_cuda/scan.cuh"

enum { THREADS = 128, BLOCKS = 8 };
template <class T> struct carried {
  nx_scan_shown<T> shown, made;    /* what is shown; totals that tiles show late */
  nx_u32 tiles, line_tiles, early; /* so many tiles have shown theirs at once */
};

/* The first block of threads carries, and each other one shows the totals of a tile. */
template <class T> void carry(const carried<T> *c) {
  const int words = nx_scan_shown<T>::words;
  if (blockIdx.x == 0) {
    nx_scan_carry<T, nx_scan_combine<NX_SCAN_SUM>, BLOCKS, THREADS>(
        c->shown, c->tiles, c->line_tiles, (T)-0.0f, (T *)nx_shared);
    return;
  }
  const nx_i64 tile = c->early + blockIdx.x - 1;
  if (threadIdx.x < BLOCKS * words)
    c->shown.totals[tile * BLOCKS * words + threadIdx.x] =
        c->made.totals[tile * BLOCKS * words + threadIdx.x];
}

static int failures;
static unsigned long long drawn = 7;

template <class T> static T draw() {
  drawn = drawn * 6364136223846793005ull + 1442695040888963407ull;
  return (T)((double)(int)(drawn >> 33) * (drawn >> 20 & 1 ? 1e-3 : 1e4));
}

/* `late` tiles at the end show their totals when the carrier is under way. */
template <class T> static void try_lines(nx_u32 tiles, nx_u32 line_tiles, nx_u32 late) {
  const int words = nx_scan_shown<T>::words;
  std::vector<nx_u64> totals(tiles * BLOCKS * words), made(totals), prefix(tiles * words);
  std::vector<T> expected(tiles);
  carried<T> c = {
      {totals.data(), prefix.data()}, {made.data(), NULL}, tiles, line_tiles, tiles - late};
  T sum = 0;
  for (nx_u32 i = 0; i < tiles; i++) {
    if (i % line_tiles == 0) sum = (T)-0.0f;
    expected[i] = sum;
    for (int k = 0; k < BLOCKS; k++) {
      const T total = draw<T>();
      const nx_i64 at = ((nx_i64)i * BLOCKS + k) * words;
      nx_scan_show((i < tiles - late ? c.shown : c.made).totals + at, total, NX_SCAN_TOTAL);
      sum = nx_scan_combine<NX_SCAN_SUM>::of(sum, total);
    }
  }
  carried<T> *given = &c;
  void *values[] = {&given};
  nx_host_launch<carry<T>>(values, 1 + late, THREADS, 0, drawn, 16384);
  for (nx_u32 i = 0; i < tiles; i++) {
    T got;
    const bool shown = nx_scan_see(c.shown.prefix + (nx_i64)i * words, &got) == NX_SCAN_PREFIX;
    if ((!shown || memcmp(&got, &expected[i], sizeof got) != 0) && failures++ < 5)
      printf("%d bytes, %u tiles in lines of %u, %u of them late: tile %u is wrong\n",
             (int)sizeof(T), tiles, line_tiles, late, i);
  }
}

template <class T> static void try_all() {
  static const nx_u32 tiles[] = {1, 5, 31, 32, 33, 64, 65, 96, 191, 192, 193, 400, 450};
  for (nx_u32 n : tiles)
    for (nx_u32 late = 0; late <= n && late < 40; late = late * 3 + 1) {
      try_lines<T>(n, n, late);
      try_lines<T>(n, 1 + n / 3, late);
    }
}

int main() {
  try_all<float>();
  try_all<double>();
  if (failures == 0) printf("all carried\n");
  return failures != 0;
}
