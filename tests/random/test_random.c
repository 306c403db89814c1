/* SPDX-License-Identifier: ISC */
/* Random graphs: every executor, fusion on and off, one and two threads, kernels compiled, kept and
 * loaded give the same bits. Arguments: first seed, how many (0: until one fails), a file for a
 * failing graph. NX_RANDOM=n overrides the number. `part`, k, n, a file: the k-th of n parts of the
 * graphs from 1 on, for n processes side by side; NX_RANDOM counts them all. `orders`, first seed,
 * how many: graphs of several results are planned with their outputs in every order; none is run.
 * `census`, first seed, how many: what occurs in the graphs, and none is run.
 * `loops`, first seed, how many: loops of random bodies, beside their steps one after the other.
 * `self`: finds a fault that is put in on purpose, and makes the graph that shows it small. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "differential.h"
#include "minimise.h"
#include "random_census.h"
#include "tests/random/generator/graph.h"
#include "random_loops.h"
#include "random_orders.h"
#include "tests/util/runner.h"

static void save(const nxg_graph *g, const char *file) {
  nxi_text text = {0};
  nxg_print(g, &text);
  fprintf(stderr, "%s", text.data != NULL ? text.data : "");
  FILE *f = file != NULL ? fopen(file, "w") : NULL;
  bool saved = f != NULL && text.data != NULL && fputs(text.data, f) >= 0;
  if (f != NULL) saved = fclose(f) == 0 && saved;
  fprintf(stderr, saved ? "saved as %s\n" : "%s could not be written\n", file);
  nxi_text_free(&text);
}

/* True if all configurations whose turn it is agree; else the graph is made smaller and saved. */
static bool try_seed(nxt_lab *lab, uint64_t seed, const char *file) {
  size_t n;
  const nxt_config *configs = nxt_configs(lab, &n);
  nxt_graph_options o = nxt_graph_options_of(seed);
  nxg_graph *g = nxt_random_graph(seed, &o);
  if (g == NULL) abort();
  nxt_trial *t = nxt_trial_create(lab, g, seed);
  bool good = true;
  for (size_t i = 0; i < n && good; i++) {
    char why[600] = "";
    if (!nxt_in_turn(&configs[i], seed)) continue;
    good = nxt_trial_agrees(t, &configs[i], why, sizeof why);
    if (good) continue;
    fprintf(stderr, "seed %llu, %s: %s\n", (unsigned long long)seed, configs[i].name, why);
    nxg_graph *small = nxt_minimise(lab, g, seed, &configs[i]);
    save(small, file);
    nxg_destroy(small);
  }
  nxt_trial_destroy(t);
  char why[600] = "";
  if (good && o.results && !nxt_orders_agree(lab, g, seed, why, sizeof why)) {
    fprintf(stderr, "seed %llu, outputs in another order: %s\n", (unsigned long long)seed, why);
    save(g, file);
    good = false;
  }
  nxg_destroy(g);
  return good;
}

/* ---- the test of this test */

static nxg_graph *load(const char *file) {
  char text[20000];
  nxg_graph *g = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  FILE *f = fopen(file, "r");
  size_t n = f != NULL ? fread(text, 1, sizeof text, f) : 0;
  if (f != NULL) fclose(f);
  return nxg_parse(text, n, &g, &d) == NX_OK ? g : NULL;
}

static bool fails(nxt_lab *lab, const nxg_graph *g, uint64_t seed, const nxt_config *config) {
  char why[600];
  nxt_trial *t = nxt_trial_create(lab, g, seed);
  bool agrees = nxt_trial_agrees(t, config, why, sizeof why);
  nxt_trial_destroy(t);
  return !agrees;
}

/* Where cosines are computed for sines: some graph shows it, and what is left of that, saved and
 * read again, is one of the two operations on an input. */
static bool self_test(nxt_lab *lab) {
  static const nxt_config faulty = {"exchanged", NXI_KERNEL_INTERP, true, false, NULL,
                                    1,           {NXG_sin, NXG_cos}};
  static const nxt_config sound = {"sound", NXI_KERNEL_INTERP, true, false, NULL, 1, {0}};
  char file[] = "/tmp/nx-random-self-XXXXXX";
  int descriptor = mkstemp(file);
  uint64_t seed = 1;
  nxg_graph *g = NULL, *small = NULL;
  for (; seed < 100; seed++) {
    nxt_graph_options o = nxt_graph_options_of(seed);
    g = nxt_random_graph(seed, &o);
    if (g == NULL) break;
    small = fails(lab, g, seed, &faulty) ? nxt_minimise(lab, g, seed, &faulty) : NULL;
    nxg_destroy(g);
    /* where nearly all is NaN, what is left of a graph may have inputs that do not show it */
    if (small != NULL && fails(lab, small, seed, &faulty)) break;
    nxg_destroy(small);
    small = NULL;
  }
  if (descriptor < 0 || close(descriptor) != 0 || small == NULL) return false;
  save(small, file);
  nxg_graph *read = load(file);
  bool good = read != NULL && read->n_nodes == 2 && read->n_outputs == 1 &&
              (read->nodes[1].op == NXG_sin || read->nodes[1].op == NXG_cos) &&
              fails(lab, read, seed, &faulty) && !fails(lab, read, seed, &sound);
  nxg_destroy(small);
  nxg_destroy(read);
  unlink(file);
  return good;
}

/* Loops of random bodies, from this seed on. */
static bool try_loops(nxt_lab *lab, uint64_t first, uint64_t count) {
  uint64_t tried = 0, failures = 0;
  for (uint64_t seed = first; seed < first + count && failures < 3; seed++) {
    char why[700] = "";
    bool is_loop = false, good = nxt_loop_agrees(lab, seed, &is_loop, why, sizeof why);
    tried += is_loop;
    failures += !good;
    if (!good) fprintf(stderr, "loop of seed %llu: %s\n", (unsigned long long)seed, why);
  }
  printf("%llu random loops, %llu failures\n", (unsigned long long)tried,
         (unsigned long long)failures);
  return failures == 0 && 2 * tried >= count;
}

static uint64_t number(int argc, char **argv, int i, uint64_t otherwise) {
  return argc > i ? strtoull(argv[i], NULL, 10) : otherwise;
}

NXT_MAIN(random) {
  if (argc > 1 && strcmp(argv[1], "census") == 0)
    return !nxt_random_census(number(argc, argv, 2, 1), number(argc, argv, 3, 3000));
  if (argc > 1 && strcmp(argv[1], "orders") == 0)
    return !nxt_random_orders(number(argc, argv, 2, 1), number(argc, argv, 3, 3000));
  bool part = argc > 3 && strcmp(argv[1], "part") == 0;
  uint64_t first = number(argc, argv, part ? 2 : 1, 1), step = part ? number(argc, argv, 3, 1) : 1,
           count = part ? 300 : number(argc, argv, 2, 300), failures = 0;
  const char *file = argc > 3 + part ? argv[3 + part] : "failing.nxir", *wish = getenv("NX_RANDOM");
  if (wish != NULL) count = strtoull(wish, NULL, 10);
  if (part) count = count < first ? 1 : (count - first) / step + 1;
  nxt_lab *lab = nxt_lab_create();
  if (argc > 1 && strcmp(argv[1], "self") == 0) {
    bool good = self_test(lab);
    nxt_lab_destroy(lab);
    return !good;
  }
  if (argc > 1 && strcmp(argv[1], "loops") == 0) {
    bool good = try_loops(lab, number(argc, argv, 2, 1), number(argc, argv, 3, 60));
    nxt_lab_destroy(lab);
    return !good;
  }
  uint64_t done = 0;
  for (; (count == 0 || done < count) && failures < (count == 0 ? 1 : 3); done++)
    failures += !try_seed(lab, first + done * step, file);
  size_t n;
  nxt_configs(lab, &n);
  nxt_lab_stats s = nxt_lab_statistics(lab);
  printf("%llu random graphs, %zu configurations, %llu failures\n", (unsigned long long)done, n,
         (unsigned long long)failures);
  printf("%llu plans; kernels: %llu compiled, %llu from memory, %llu from disk\n",
         (unsigned long long)s.plans, (unsigned long long)s.compiled,
         (unsigned long long)s.from_memory, (unsigned long long)s.from_disk);
  printf("%llu elements of floats, of which %llu NaN\n", (unsigned long long)s.elements,
         (unsigned long long)s.nan);
  nxt_lab_destroy(lab);
  return failures != 0;
}
