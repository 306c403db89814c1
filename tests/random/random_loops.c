/* SPDX-License-Identifier: ISC */
/* Random loops on every executor, beside the graph that has their steps one after the other. */
#include "random_loops.h"

#include <stdio.h>
#include <string.h>

#include "tests/random/generator/graph.h"
#include "tests/random/generator/loop.h"

static bool compare(nxt_lab *lab, const nxg_graph *g, const nxg_graph *plain, uint64_t seed,
                    char *why, size_t size) {
  size_t n;
  uint32_t order[NXT_MOST_INPUTS];
  const nxt_config *configs = nxt_configs(lab, &n);
  nxt_trial *t = nxt_trial_create(lab, g, seed), *other = nxt_trial_create(lab, plain, seed);
  for (uint32_t i = 0; i < NXT_MOST_INPUTS; i++) order[i] = i;
  bool good = nxt_trial_same(t, other, order, why, size);
  for (size_t i = 0; i < n && good; i++) {
    if (!nxt_in_turn(&configs[i], seed)) continue;
    good = nxt_trial_agrees(t, &configs[i], why, size);
    if (!good) fprintf(stderr, "%s: ", configs[i].name);
  }
  nxt_trial_destroy(t);
  nxt_trial_destroy(other);
  return good;
}

static bool round_trip(const nxg_graph *g, char *why, size_t size) {
  nxi_text first = {0}, second = {0};
  nxg_graph *again = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxg_print(g, &first);
  bool good = nxg_verify(g, NULL) && nxg_parse(first.data, first.size, &again, &d) == NX_OK;
  if (good) nxg_print(again, &second);
  good = good && first.size == second.size && memcmp(first.data, second.data, first.size) == 0;
  if (!good) snprintf(why, size, "its text does not survive a round trip: %.300s", d.message);
  nxg_destroy(again);
  nxi_text_free(&first);
  nxi_text_free(&second);
  return good;
}

bool nxt_loop_agrees(nxt_lab *lab, uint64_t seed, bool *tried, char *why, size_t size) {
  nxt_loop_pair p;
  nxi_diag d;
  bool good = true;
  *tried = nxt_random_loop(seed, &p, &d);
  if (*tried && p.loop == NULL) {
    snprintf(why, size, "the loop is refused: %.400s", d.message);
    good = false;
  }
  if (good && *tried) good = round_trip(p.loop, why, size);
  if (good && *tried) good = compare(lab, p.loop, p.plain, seed, why, size);
  if (!good && p.loop != NULL) {
    nxi_text text = {0};
    nxg_print(p.loop, &text);
    fprintf(stderr, "%s\n", text.data != NULL ? text.data : "");
    nxi_text_free(&text);
  }
  nxt_loop_destroy(p);
  return good;
}
