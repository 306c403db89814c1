/* SPDX-License-Identifier: ISC */
/* Runs the kernels of graphs as CUDA C on this processor, and compares the bits of the results with
 * those of the graph interpreter. test_cuda_random [FIRST COUNT [TARGET]], or [DIRECTORY -
 * [TARGET]]: all graphs of the texts there. */
#include <inttypes.h>
#include <stdio.h>

#include "cuda_run.h"
#include "tests/random/differential.h"
#include "graph_source.h"
#include "tests/util/runner.h"

/* A text that is not a graph counts as a success. */
static bool agrees(nxt_lab *lab, const nxt_graph_source *graphs, uint64_t i,
                   const nxt_config *config) {
  char why[600] = "";
  uint64_t seed;
  nxg_graph *g = nxt_graph_source_take(graphs, i, &seed);
  if (g == NULL) return graphs->paths != NULL;
  nxt_trial *t = nxt_trial_create(lab, g, seed);
  bool good = nxt_trial_agrees(t, config, why, sizeof why);
  if (!good) printf("%s %" PRIu64 ": %s\n", g->name, seed, why);
  nxt_trial_destroy(t);
  nxg_destroy(g);
  return good;
}

NXT_MAIN(cuda_random) {
  const nxt_config config = {
      "CUDA C", NXI_KERNEL_INTERP, true, true, argc > 3 ? argv[3] : "sm_90:64", 1, {0}};
  nxt_graph_source graphs;
  uint64_t failures = 0;
  if (!nxt_graph_source_open(&graphs, argc > 1 ? argv[1] : "1", argc > 2 ? argv[2] : "40"))
    return 1;
  nxt_lab *lab = nxt_lab_create();
  nxt_cuda_collect();
  for (uint64_t i = 0; i < graphs.count; i++) failures += !agrees(lab, &graphs, i, &config);
  printf("%" PRIu64 " kernels collected, %" PRIu64 " failures of the interpreter\n",
         nxt_cuda_kernels(), failures);
  if (!nxt_cuda_build()) return 1;
  for (uint64_t i = 0; i < graphs.count; i++) failures += !agrees(lab, &graphs, i, &config);
  printf("%" PRIu64 " runs of CUDA C, %" PRIu64 " failures\n", nxt_cuda_runs(), failures);
  bool some = graphs.count == 0 || nxt_cuda_runs() > 0;
  nxt_cuda_close();
  nxt_lab_destroy(lab);
  nxt_graph_source_close(&graphs);
  return failures != 0 || !some;
}
