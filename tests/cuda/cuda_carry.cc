/* SPDX-License-Identifier: ISC */
/* The chain of scan.cuh on this processor (cuda_host.h): many tiles have shown their totals, so
 * that one warp carries through several windows of them, until it comes to one without. What the
 * runtime makes of it is for library/test_cuda_scan.c. */
#include "tests/cuda/fake/cuda_host.h"

#include <vector>

#include "codegen_cuda/prelude.cuh"

#include "codegen_cuda/scan.cuh"

template <class T> struct carried {
  nx_scan_shown<T> shown;
  nx_u32 tile, end;
  T before;
};
template <class T, int n> void carry(const carried<T> *c) {
  nx_scan_carry<T, nx_scan_combine<NX_SCAN_SUM>, n>(c->shown, c->tile, c->end, c->before);
}

static int failures;
static unsigned long long drawn = 7;

template <class T> static T draw() {
  drawn = drawn * 6364136223846793005ull + 1442695040888963407ull;
  return (T)((double)(int)(drawn >> 33) * (drawn >> 20 & 1 ? 1e-3 : 1e4));
}

/* A line up to tile `end`, of which `there` tiles from `tile` on have shown their totals. */
template <class T, int n> static void try_line(nx_u32 tile, nx_u32 end, nx_u32 there) {
  const int words = nx_scan_shown<T>::words;
  std::vector<nx_u32> state(end + 1);
  std::vector<nx_u64> totals((end + 1) * n * words), prefix((end + 1) * words);
  std::vector<T> expected;
  carried<T> c = {{state.data(), totals.data(), prefix.data()}, tile, end, draw<T>()};
  T sum = c.before;
  for (nx_u32 i = tile; i < tile + there; i++) {
    expected.push_back(sum);
    for (int k = 0; k < n; k++) {
      const T total = draw<T>();
      nx_scan_show(c.shown.totals + ((nx_i64)i * n + k) * words, total);
      sum = nx_scan_combine<NX_SCAN_SUM>::of(sum, total);
    }
    state[i] = NX_SCAN_TOTALS;
  }
  if (tile + there < end) expected.push_back(sum);
  carried<T> *given = &c;
  void *values[] = {&given};
  nx_host_launch<carry<T, n>>(values, 1, 32, 0, drawn);
  for (nx_u32 i = 0; i < end; i++) {
    T got;
    const bool shown = nx_scan_see(c.shown.prefix + (nx_i64)i * words, &got);
    const bool wanted = i >= tile && i - tile < expected.size();
    bool good = shown == wanted;
    if (wanted && memcmp(&got, &expected[i - tile], sizeof got) != 0) good = false;
    if (wanted && i == tile + there && state[i] != NX_SCAN_TURN) good = false;
    if (!good && failures++ < 5)
      printf("%d bytes, %d totals, tiles %u to %u of which %u are there: tile %u is wrong\n",
             (int)sizeof(T), n, tile, end, there, i);
  }
}

template <class T, int n> static void try_lines() {
  static const nx_u32 there[] = {0, 1, 5, 31, 32, 33, 63, 64, 65, 96, 100};
  for (nx_u32 m : there)
    for (nx_u32 more = 0; more < 3; more++) try_line<T, n>(1 + m % 7, 1 + m % 7 + m + more, m);
}

int main() {
  try_lines<float, 7>();
  try_lines<double, 7>();
  try_lines<int, 1>();
  try_lines<long long, 1>();
  if (failures == 0) printf("all carried\n");
  return failures != 0;
}
