/* SPDX-License-Identifier: ISC */
/* Random graphs whose kernels run as CUDA C on this processor: the same bits as the interpreter of graphs gives.
 * test_cuda_random [FIRST COUNT [TARGET]] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_run.h"
#include "differential.h"
#include "random_graph.h"

static uint64_t number(int argc, char **argv, int i, uint64_t otherwise) {
  return argc > i ? strtoull(argv[i], NULL, 10) : otherwise;
}

static bool agrees(nxt_lab *lab, uint64_t seed, const nxt_config *config) {
  char why[600] = "";
  nxt_graph_options o = nxt_graph_options_of(seed);
  nxg_graph *g = nxt_random_graph(seed, &o);
  if (g == NULL) return false;
  nxt_trial *t = nxt_trial_create(lab, g, seed);
  bool good = nxt_trial_agrees(t, config, why, sizeof why);
  if (!good) printf("seed %" PRIu64 ": %s\n", seed, why);
  nxt_trial_destroy(t);
  nxg_destroy(g);
  return good;
}

int main(int argc, char **argv) {
  uint64_t first = number(argc, argv, 1, 1), count = number(argc, argv, 2, 40), failures = 0;
  const nxt_config config = {
      "CUDA C", NXP_KERNEL_INTERP, true, true, argc > 3 ? argv[3] : "sm_90:64", 1, {0}};
  nxt_lab *lab = nxt_lab_create();
  nxt_cuda_collect();
  for (uint64_t i = 0; i < count; i++) failures += !agrees(lab, first + i, &config);
  printf("%" PRIu64 " kernels collected, %" PRIu64 " failures of the interpreter\n",
         nxt_cuda_kernels(), failures);
  if (!nxt_cuda_build()) return 1;
  for (uint64_t i = 0; i < count; i++) failures += !agrees(lab, first + i, &config);
  printf("%" PRIu64 " runs of CUDA C, %" PRIu64 " failures\n", nxt_cuda_runs(), failures);
  bool some = count == 0 || nxt_cuda_runs() > 0;
  nxt_cuda_close();
  nxt_lab_destroy(lab);
  return failures != 0 || !some;
}
