/* SPDX-License-Identifier: ISC */
/* Which fusion groups depend on which (passes/fuse/order.c): random groups are formed the way
 * clustering does, new ones first, edges and merges as they are allowed, and every answer is
 * compared with a search of the whole graph. Also that wide graphs, of many results, inputs,
 * updates, calls, and temporaries, are planned in linear time. */
#include "shop.h"

#include <stdlib.h>
#include <time.h>

#include "passes/fuse/draft.h"
#include "tests/util/random_values.h"
#include "tests/util/runner.h"
#include "tests/util/share.h"

/* ---- dependences */

enum { MOST_GROUPS = 400 };

/* reads[a][b]: b reads what a stores, as the test has recorded it; of groups merged away,
 * nothing. */
typedef struct world {
  nxp_clusterer c;
  nxt_random r;
  bool reads[MOST_GROUPS][MOST_GROUPS];
  bool merged[MOST_GROUPS];
} world;

static bool reaches(const world *w, uint32_t from, uint32_t to) {
  bool seen[MOST_GROUPS] = {false};
  uint32_t stack[MOST_GROUPS], n = 0;
  for (stack[n++] = from; n > 0;) {
    uint32_t at = stack[--n];
    for (uint32_t i = 0; i < w->c.n_drafts; i++) {
      if (!w->reads[at][i] || seen[i]) continue;
      if (i == to) return true;
      seen[i] = true;
      stack[n++] = i;
    }
  }
  return false;
}

static uint32_t any_group(world *w) {
  uint32_t i;
  do i = (uint32_t)nxt_below(&w->r, w->c.n_drafts);
  while (w->merged[i]);
  return i;
}

static void add_group(world *w) {
  nxp_shape full = {0};
  uint32_t group = nxp_draft_new(&w->c, NXP_GROUP_KERNEL, &full, 0);
  for (int64_t k = nxt_below(&w->r, 3); k > 0 && group > 0; k--) {
    uint32_t reader = any_group(w);
    if (reader == group) continue;
    nxp_draft_add_reader(&w->c, group, reader);
    w->reads[group][reader] = true;
  }
}

static void merge(world *w, uint32_t a, uint32_t b) {
  bool may = !reaches(w, a, b) && !reaches(w, b, a);
  assert_int_equal(nxp_order_adjoin(&w->c, a, b), may);
  if (!may) return;
  nxp_draft_merge(&w->c, a, b);
  w->merged[b] = true;
  for (uint32_t i = 0; i < w->c.n_drafts; i++) {
    w->reads[a][i] |= w->reads[b][i];
    w->reads[i][a] |= w->reads[i][b];
    w->reads[b][i] = w->reads[i][b] = false;
  }
}

static void add_edge(world *w, uint32_t from, uint32_t to) {
  bool may = !reaches(w, to, from);
  assert_int_equal(nxp_order_before(&w->c, from, to), may);
  if (!may) return;
  nxp_draft_add_reader(&w->c, from, to);
  w->reads[from][to] = true;
}

/* Every group is in the list once, labels rise, and what is read comes before its readers. */
static void check_order(const world *w) {
  uint32_t n = 0, alive = 0;
  uint64_t last = 0;
  for (uint32_t i = w->c.first_draft; i != NXP_NO_GROUP; i = w->c.drafts[i].after, n++) {
    assert_false(w->merged[i]);
    assert_true(w->c.drafts[i].label > last);
    last = w->c.drafts[i].label;
  }
  for (uint32_t i = 0; i < w->c.n_drafts; i++) {
    alive += !w->merged[i];
    for (uint32_t k = 0; k < w->c.n_drafts; k++)
      if (w->reads[i][k]) assert_true(w->c.drafts[i].label < w->c.drafts[k].label);
  }
  assert_int_equal(n, alive);
}

static world *new_world(uint64_t seed) {
  world *w = calloc(1, sizeof *w);
  assert_non_null(w);
  w->r.state = seed;
  w->c.first_draft = NXP_NO_GROUP;
  w->c.search_budget = NXP_SEARCH_BASE;
  return w;
}

static void free_world(world *w) {
  assert_false(w->c.failed);
  nxi_free(w->c.drafts);
  nxi_free(w->c.shapes);
  nxi_free(w->c.links);
  nxi_free(w->c.fronts[0].found);
  nxi_free(w->c.fronts[1].found);
  free(w);
}

static void dependences_are_exact(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    world *w = new_world(seed * 77);
    int64_t groups = 2 + nxt_below(&w->r, 60), often = nxt_below(&w->r, 3);
    for (int step = 0; step < 200 || (int64_t)w->c.n_drafts < groups; step++) {
      if ((int64_t)w->c.n_drafts < groups && (w->c.n_drafts < 2 || nxt_chance(&w->r, 40))) {
        add_group(w);
        continue;
      }
      uint32_t a = any_group(w), b = any_group(w);
      if (a == b) continue;
      if (nxt_below(&w->r, 4) <= often) add_edge(w, a, b);
      else merge(w, a, b);
    }
    check_order(w);
    free_world(w);
  }
}

/* All go to one place, again and again, where no labels are left between two groups. */
static void labels_make_room(void **state) {
  (void)state;
  world *w = new_world(1);
  nxp_shape full = {0};
  for (uint32_t i = 0; i < MOST_GROUPS; i++) nxp_draft_new(&w->c, NXP_GROUP_KERNEL, &full, 0);
  for (uint32_t i = 0; i + 1 < MOST_GROUPS; i++) {
    uint32_t last =
        MOST_GROUPS - 1; /* the first of all: everything else moves before it, one by one */
    assert_true(nxp_order_before(&w->c, i, last));
    nxp_draft_add_reader(&w->c, i, last);
    w->reads[i][last] = true;
  }
  check_order(w);
  free_world(w);
}

/* Two long chains side by side, so that both fronts have far to go: a search that may not go so far
 * gives up. */
static void searches_are_bounded(void **state) {
  (void)state;
  world *w = new_world(2);
  nxp_shape full = {0};
  for (uint32_t i = 0; i < 200; i++) nxp_draft_new(&w->c, NXP_GROUP_KERNEL, &full, 0);
  for (uint32_t i = 2; i < 200; i++) nxp_draft_add_reader(&w->c, i, i - 2);
  w->c.search_budget = 50;
  assert_false(nxp_order_adjoin(&w->c, 198, 1));
  assert_in_range(w->c.search_budget + 2, 0, 2);
  w->c.search_budget = 1000;
  assert_true(nxp_order_adjoin(&w->c, 198, 1));
  free_world(w);
}

/* ---- wide graphs */

static uint32_t filled(nxg_graph *g, int64_t number) {
  const int64_t shape = 4, attrs[2] = {0, number};
  return nxg_add(g, NXG_full, 0, NULL, attrs, 2, NX_F32, 1, &shape);
}

static uint32_t input(nxg_graph *g, uint32_t flags) {
  const int64_t shape = 4;
  return nxg_add_input(g, NX_F32, 1, &shape, flags, -1, NULL);
}

static uint32_t unary(nxg_graph *g, nxg_op op, uint32_t x) {
  return nxt_node(g, op, 1, &x, 0, NULL, 0);
}

static uint32_t maximum(nxg_graph *g, uint32_t x) {
  return nxt_node(g, NXG_reduce_max, 1, &x, 2, (const int64_t[]){1, 1}, 0);
}

static uint32_t sorted(nxg_graph *g, uint32_t x, int64_t descending) {
  return nxt_node(g, NXG_sort, 1, &x, 2, (const int64_t[]){0, descending}, 0);
}

static void of_one_input(nxg_graph *g, int64_t n) {
  uint32_t x = input(g, 0);
  for (int64_t i = 0; i < n; i++) {
    uint32_t pair[2] = {x, filled(g, i)};
    nxg_add_output(g, nxt_node(g, NXG_add, 2, pair, 0, NULL, 0), NULL);
  }
}

static void of_their_own_inputs(nxg_graph *g, int64_t n) {
  for (int64_t i = 0; i < n; i++) nxg_add_output(g, unary(g, NXG_exp, input(g, 0)), NULL);
}

static void in_place(nxg_graph *g, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    uint32_t x = input(g, NXG_INPUT_OVERWRITE), pair[2] = {x, unary(g, NXG_exp, x)};
    nxg_add_output(g, nxt_node(g, NXG_update, 2, pair, 4, (const int64_t[]){0, 1, 4, 1}, 0), NULL);
  }
}

static void views(nxg_graph *g, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const nxg_view v = {.rank = 1, .shape = {4}, .strides = {-1}, .offset = 3};
    uint32_t x = i % 2 ? input(g, 0) : unary(g, NXG_exp, input(g, 0));
    nxg_add_output(g, nxt_view(g, x, &v), NULL);
  }
}

/* All of one matrix; and two results of each of others. */
static void calls(nxg_graph *g, int64_t n) {
  const int64_t shape[2] = {4, 4}, column[2] = {4, 1}, plain = 0;
  uint32_t a = nxt_input(g, "tame", NX_F32, 2, shape);
  for (int64_t i = 0; i < n / 2; i++) {
    uint32_t pair[2] = {a, nxt_input(g, "tame", NX_F32, 2, column)},
             b = nxt_input(g, "tame", NX_F32, 2, shape);
    nxg_add_output(g, nxt_node(g, NXG_solve, 2, pair, 1, &plain, 0), NULL);
    for (int64_t k = 0; k < 2; k++)
      nxg_add_output(g, nxt_node(g, NXG_slogdet, 1, &b, 1, &k, 0), NULL);
  }
}

/* Each is read twice, far apart, so that memory becomes free in holes of all sizes. */
static void temporaries(nxg_graph *g, int64_t n) {
  uint32_t *x = malloc((size_t)n * sizeof *x);
  assert_non_null(x);
  for (int64_t i = 0; i < n; i++) {
    const int64_t shape = 4 + i % 97 * 16, attrs[2] = {0, i};
    x[i] = sorted(g, nxg_add(g, NXG_full, 0, NULL, attrs, 2, NX_F32, 1, &shape), 0);
  }
  for (int64_t i = 0; i < n; i++) {
    uint32_t pair[2] = {maximum(g, x[i]), maximum(g, sorted(g, x[i * 7919 % n], 1))};
    nxg_add_output(g, nxt_node(g, NXG_add, 2, pair, 0, NULL, 0), NULL);
  }
  free(x);
}

/* Rails between which values go over and back, through calls and reductions. */
static void ladder(nxg_graph *g, int64_t n) {
  enum { RAILS = 100 };
  uint32_t rails[RAILS], next[RAILS];
  const nxg_view repeated = {.rank = 1, .shape = {4}};
  for (int k = 0; k < RAILS; k++) rails[k] = input(g, 0);
  for (int64_t i = 0; i < n / RAILS; i++) {
    for (int k = 0; k < RAILS; k++) {
      uint32_t other = rails[(k + 1) % RAILS],
               pair[2] = {(i + k) % 3 ? sorted(g, other, 0) : unary(g, NXG_exp, other),
                          nxt_view(g, maximum(g, rails[k]), &repeated)};
      next[k] = nxt_node(g, NXG_add, 2, pair, 0, NULL, 0);
      if ((i * 7 + k) % 10 == 0) nxg_add_output(g, next[k], NULL);
    }
    memcpy(rails, next, sizeof rails);
  }
  for (int k = 0; k < RAILS; k++) nxg_add_output(g, rails[k], NULL);
}

static double planning_seconds(void (*make)(nxg_graph *, int64_t), int64_t n) {
  nxg_graph *g = nxg_create("wide");
  make(g, n);
  clock_t begin = clock();
  nxt_plan_size size = nxt_plan(g);
  assert_true(size.kernels + size.library_calls > 0);
  return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

/* What a graph takes and an eighth of it, the best of several rounds each: others are at work on
 * the machine. More rounds only if the first ones look bad. */
static void wide_graphs_take_linear_time(void **state) {
  static const struct {
    const char *name;
    void (*make)(nxg_graph *, int64_t);
    int64_t n;
  } rows[] = {{"of one input", of_one_input, 80000},
              {"of their own inputs", of_their_own_inputs, 80000},
              {"in place", in_place, 80000},
              {"views", views, 80000},
              {"calls", calls, 40000},
              {"temporaries", temporaries, 20000},
              {"ladder", ladder, 40000}};
  (void)state;
  if (SANITIZED || getenv("NX_DEBUG") != NULL) skip(); /* the time would be that of the checks */
  for (size_t i = 0; i < COUNT(rows); i++) {
    double full = 1e9, eighth = 1e9;
    for (int round = 0; round < 8 && (round == 0 || full > 20 * eighth); round++) {
      double seconds = planning_seconds(rows[i].make, rows[i].n);
      full = seconds < full ? seconds : full;
      seconds = planning_seconds(rows[i].make, rows[i].n / 8);
      eighth = seconds < eighth ? seconds : eighth;
    }
    printf("%s, %lld: %.3f s, an eighth of them %.3f s\n", rows[i].name, (long long)rows[i].n, full,
           eighth);
    assert_true(full < 24 * eighth + 0.05); /* 8 is linear, 64 quadratic */
  }
}

NXT_MAIN(groups) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dependences_are_exact),
      cmocka_unit_test(labels_make_room),
      cmocka_unit_test(searches_are_bounded),
      cmocka_unit_test(wide_graphs_take_linear_time),
  };
  return cmocka_run_group_tests(tests, open_shop, close_shop);
}
