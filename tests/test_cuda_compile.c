/* SPDX-License-Identifier: ISC */
/* NVRTC compiles the kernels of random graphs, or of all graphs of the texts in a directory, for the kind of GPU named, and no
 * kernel keeps values of its threads in memory.
 * test_cuda_compile ARCH FIRST COUNT, or ARCH DIRECTORY -. Without NVRTC: skipped, with the reason. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codegen_cuda/codegen_cuda.h"
#include "cuda_run.h"
#include "differential.h"
#include "graph_source.h"

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool run_graph(nxt_lab *lab, const nxt_graph_source *graphs, uint64_t i,
                      const char *target) {
  char why[600];
  uint64_t seed;
  const nxt_config config = {"bound", NXP_KERNEL_INTERP, true, true, target, 1, {0}};
  nxg_graph *g = nxt_graph_source_take(graphs, i, &seed);
  if (g == NULL) return graphs->paths != NULL;
  nxt_trial *t = nxt_trial_create(lab, g, seed);
  bool good = nxt_trial_agrees(t, &config, why, sizeof why);
  if (!good) printf("%s %" PRIu64 ": %s\n", g->name, seed, why);
  nxt_trial_destroy(t);
  nxg_destroy(g);
  return good;
}

static bool compiles(uint64_t i, const char *arch, double *ms) {
  char *source = nxt_cuda_source(i);
  nxu_use use = {0, 0};
  nxi_diag d;
  nxi_diag_clear(&d);
  double start = now_ms();
  nx_status status = nxu_measure(source, "kernel", arch, &use, &d);
  *ms += now_ms() - start;
  if (status != NX_OK) printf("%s\n%s\n", d.message, source);
  if (use.stack_bytes > 0)
    printf("%lld bytes of a thread's values are in memory\n%s\n", (long long)use.stack_bytes,
           source);
  free(source);
  return status == NX_OK && use.stack_bytes == 0;
}

int main(int argc, char **argv) {
  const char *arch = argc > 1 ? argv[1] : "sm_90";
  nxt_graph_source graphs;
  uint64_t failures = 0;
  double ms = 0;
  if (nxu_unavailable() != NULL) {
    printf("%s\n", nxu_unavailable());
    return 77;
  }
  if (!nxt_graph_source_open(&graphs, argc > 2 ? argv[2] : "1", argc > 3 ? argv[3] : "10"))
    return 1;
  nxt_lab *lab = nxt_lab_create();
  nxt_cuda_collect();
  for (uint64_t i = 0; i < graphs.count; i++) failures += !run_graph(lab, &graphs, i, arch);
  for (uint64_t i = 0; i < nxt_cuda_kernels(); i++) failures += !compiles(i, arch, &ms);
  printf("%s: %" PRIu64 " kernels compiled for %s, %.1f ms each, %" PRIu64 " failures\n",
         nxu_environment(), nxt_cuda_kernels(), arch, ms / (double)nxt_cuda_kernels(), failures);
  bool some = nxt_cuda_kernels() > 0;
  nxt_cuda_close();
  nxt_lab_destroy(lab);
  nxt_graph_source_close(&graphs);
  return failures != 0 || !some;
}
