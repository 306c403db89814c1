/* SPDX-License-Identifier: ISC */
/* Random graphs of several results in every order. */
#include "random_orders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/fuse/cluster.h"
#include "passes/pipeline.h"
#include "tests/random/generator/graph.h"

static const uint32_t NO_GROUP = UINT32_MAX;

/* ---- fusion groups, looked at from outside */

/* Whether the group of number `at` finds all that `node` is made of: what is stored comes from
 * groups before it. */
static bool finds(const nxg_graph *g, const nxp_clusters *c, uint32_t node, uint32_t at,
                  uint32_t *seen) {
  const nxg_node *n = &g->nodes[node];
  if (seen[node] == at + 1) return true;
  seen[node] = at + 1;
  for (uint32_t a = 0; a < n->n_args; a++) {
    uint32_t group = c->group_of[n->args[a]];
    if (group != NO_GROUP && group != at) {
      if (group > at) return false;
    } else if (!finds(g, c, n->args[a], at, seen)) {
      return false;
    }
  }
  return true;
}

static bool in_order(const nxg_graph *g, const nxp_clusters *c) {
  uint32_t *seen = calloc(g->n_nodes + 1, sizeof *seen);
  bool good = true;
  if (seen == NULL) abort();
  for (uint32_t i = 0; i < c->n_groups; i++)
    for (uint32_t k = 0; k < c->groups[i].n_roots && good; k++)
      good = finds(g, c, c->groups[i].roots[k].node, i, seen);
  for (uint32_t i = 0; i < g->n_outputs && good; i++)
    good =
        g->nodes[g->outputs[i].node].op == NXG_input || c->group_of[g->outputs[i].node] != NO_GROUP;
  free(seen);
  return good;
}

bool nxt_groups_are_sound(const nxg_graph *g, const nxi_target *target, char *why, size_t size) {
  nxp_products products = NXP_PRODUCTS_OF_BLAS | NXP_OF_SMALL_INTEGERS;
  nxp_cluster_options options = {true, products, target, false};
  nxg_graph *passed = NULL;
  nxp_clusters *clusters = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  nx_status status = nxp_run_graph_passes(g, true, products, NULL, &passed, &d);
  if (status == NX_OK) status = nxp_cluster(passed, &options, &clusters, &d);
  bool good = status == NX_OK && in_order(passed, clusters);
  if (status != NX_OK) snprintf(why, size, "%s: %s", nx_status_name(status), d.message);
  else if (!good) snprintf(why, size, "a group comes before one that it reads");
  nxp_clusters_destroy(clusters);
  if (passed != g) nxg_destroy(passed);
  return good;
}

/* ---- all orders */

/* Calls `look` for the graph in every order. True if it always says so. */
static bool all_orders(const nxg_graph *g, uint64_t seed,
                       bool (*look)(void *, const nxg_graph *, const uint32_t *), void *user) {
  nxt_random r = {seed ^ 0x07de};
  uint32_t order[64], n;
  bool good = true;
  for (uint32_t k = 0; good && (n = nxt_next_order(&r, g->n_outputs, k, order)) > 0; k++) {
    nxg_graph *other = nxt_in_order(g, order, n);
    good = look(user, other, order);
    nxg_destroy(other);
  }
  return good;
}

typedef struct grouping {
  uint64_t seed, orders;
  nxi_target target;
} grouping;

static bool look_at_groups(void *user, const nxg_graph *g, const uint32_t *order) {
  grouping *u = user;
  char why[300] = "";
  (void)order;
  u->orders++;
  if (nxt_groups_are_sound(g, &u->target, why, sizeof why)) return true;
  printf("seed %llu: %s\n", (unsigned long long)u->seed, why);
  return false;
}

bool nxt_random_orders(uint64_t first, uint64_t graphs) {
  grouping u = {.target = *nxi_target_host()};
  uint64_t failures = 0;
  for (uint64_t seed = first; seed < first + graphs; seed++) {
    nxt_graph_options o = {.elements = 3000, .results = true};
    nxg_graph *g = nxt_random_graph(seed, &o);
    if (g == NULL) abort();
    u.seed = seed;
    if (nxi_target_for_isa(seed % 3 == 0 ? "sm_90" : "avx2", &u.target) && seed % 3 > 1)
      u.target = *nxi_target_host();
    failures += !all_orders(g, seed, look_at_groups, &u);
    nxg_destroy(g);
  }
  printf("%llu graphs in %llu orders: %llu of them fail\n", (unsigned long long)graphs,
         (unsigned long long)u.orders, (unsigned long long)failures);
  return failures == 0;
}

/* ---- run */

typedef struct running {
  nxt_lab *lab;
  nxt_trial *whole;
  uint64_t seed;
  char *why;
  size_t size;
} running;

static bool run_order(void *user, const nxg_graph *g, const uint32_t *order) {
  static const nxt_config configs[] = {
      {"kernel-interp", NXI_KERNEL_INTERP, true, false, NULL, 1, {0}},
      {"bound interp avx2", NXI_KERNEL_INTERP, true, true, "avx2", 1, {0}}};
  running *u = user;
  nxt_trial *t = nxt_trial_create(u->lab, g, u->seed);
  bool good = nxt_trial_same(t, u->whole, order, u->why, u->size);
  for (size_t i = 0; i < sizeof configs / sizeof configs[0] && good; i++)
    good = nxt_trial_agrees(t, &configs[i], u->why, u->size);
  nxt_trial_destroy(t);
  return good;
}

bool nxt_orders_agree(nxt_lab *lab, const nxg_graph *g, uint64_t seed, char *why, size_t size) {
  running u = {lab, nxt_trial_create(lab, g, seed), seed, why, size};
  bool good = all_orders(g, seed, run_order, &u);
  nxt_trial_destroy(u.whole);
  return good;
}
