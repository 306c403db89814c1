/* SPDX-License-Identifier: ISC */
/* Random graphs: every executor, fusion on and off, one and two threads give the same bits. Arguments: first seed, how
 * many (0: until one fails), a file for a failing graph. NX_RANDOM=n overrides the number. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "differential.h"
#include "minimise.h"
#include "random_graph.h"

static void save(const nxg_graph *g, const char *file) {
  nxi_text text = {0};
  nxg_print(g, &text);
  fprintf(stderr, "%s", text.data != NULL ? text.data : "");
  FILE *f = file != NULL ? fopen(file, "w") : NULL;
  if (f != NULL && text.data != NULL) fputs(text.data, f);
  if (f != NULL) fclose(f);
  nxi_text_free(&text);
}

int main(int argc, char **argv) {
  uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 300;
  const char *file = argc > 3 ? argv[3] : "failing.nxir";
  if (getenv("NX_RANDOM") != NULL) count = strtoull(getenv("NX_RANDOM"), NULL, 10);
  nxt_lab *lab = nxt_lab_create();
  size_t n;
  const nxt_config *configs = nxt_configs(lab, &n);
  uint64_t failures = 0;
  for (uint64_t seed = first; count == 0 || seed < first + count; seed++) {
    nxt_graph_options o = {(uint32_t)(4 + seed % 17), seed % 7 == 0 ? 40000 : 3000, seed % 5 == 0};
    nxg_graph *g = nxt_random_graph(seed, &o);
    if (g == NULL) abort();
    for (size_t i = 0; i < n; i++) {
      char why[600] = "";
      if (nxt_agrees(lab, g, seed, &configs[i], why, sizeof why)) continue;
      fprintf(stderr, "seed %llu, %s: %s\n", (unsigned long long)seed, configs[i].name, why);
      nxg_graph *small = nxt_minimise(lab, g, seed, &configs[i]);
      save(small, file);
      nxg_destroy(small);
      failures++;
      break;
    }
    nxg_destroy(g);
    if (failures >= 3 || (count == 0 && failures > 0)) break;
  }
  printf("%llu random graphs, %zu configurations, %llu failures\n", (unsigned long long)count, n,
         (unsigned long long)failures);
  nxt_lab_destroy(lab);
  return failures != 0;
}
