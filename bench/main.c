/* SPDX-License-Identifier: ISC */
/* nx-bench [--json] [--only TEXT] [--threads N] [--rounds N] [--python FILE]: the rows of
 * docs/bench.md on this machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

int main(int argc, char **argv) {
  bench_lab lab = {.threads = (int)sysconf(_SC_NPROCESSORS_ONLN), .rounds = 25};
  const char *python = "/usr/bin/python3"; /* whose NumPy is compared with */
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) {
      lab.out.json = true;
    } else if (i + 1 < argc && strcmp(argv[i], "--only") == 0) {
      lab.out.only = argv[++i];
    } else if (i + 1 < argc && strcmp(argv[i], "--threads") == 0) {
      lab.threads = atoi(argv[++i]);
    } else if (i + 1 < argc && strcmp(argv[i], "--rounds") == 0) {
      lab.rounds = atoi(argv[++i]);
    } else if (i + 1 < argc && strcmp(argv[i], "--python") == 0) {
      python = argv[++i];
    } else {
      fprintf(stderr, "usage: nx-bench [--json] [--only TEXT] [--threads N] [--rounds N]"
                      " [--python FILE]\n");
      return 2;
    }
  }
  if (lab.threads < 1 || lab.rounds < 1) return 2;
#if defined(__x86_64__)
  /* One core type for us and for NumPy, whatever the installed OpenBLAS makes of this processor. */
  if (__builtin_cpu_supports("avx512vl")) setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 1);
#endif
  nx_context_options o = {.size = sizeof o, .threads = lab.threads, .cache_dir = ""};
  bench_check(nx_context_create(&o, &lab.context));
  lab.numpy = bench_peer_start(python, NX_BENCH_PEER, NULL, lab.threads);
  bench_overhead(&lab);
  bench_arrays(&lab);
  bench_matmul(&lab);
  bench_linalg(&lab);
  bench_fft(&lab);
  bench_sort(&lab);
  bench_windows(&lab);
  if (!lab.out.json)
    printf("%d rows, %d below their target%s\n", lab.out.rows, lab.out.missed,
           lab.numpy ? "" : "; no NumPy to compare with");
  bench_peer_stop(lab.numpy);
  nx_context_release(lab.context);
  return 0;
}
