/* SPDX-License-Identifier: ISC */
/* The memory of plans, of random graphs and of random lives: no two temporaries that are live at
 * once overlap, none lies in an output that something has touched, and the block is hardly larger
 * than what is live at once. Nothing is run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "passes/plan/internal.h"
#include "tests/random/generator/graph.h"
#include "tests/util/runner.h"

/* How much larger blocks are than what is live at once. */
typedef struct distribution {
  uint32_t plans, exact, beyond; /* beyond: a tenth larger */
  double sum, worst;
} distribution;

static void add(distribution *d, const nxp_plan *p) {
  if (p->live_bytes < 4096) return; /* not worth a second look */
  double ratio = (double)p->scratch_offset / (double)p->live_bytes;
  d->plans++;
  d->exact += ratio == 1;
  d->beyond += ratio > 1.1;
  d->sum += ratio;
  if (ratio > d->worst) d->worst = ratio;
}

static void say(const char *what, const distribution *d) {
  printf(
      "%s: %u plans, %u with a block of the bytes that are live at once, %u a tenth larger; mean "
      "%.4f, largest %.4f\n",
      what, d->plans, d->exact, d->beyond, d->plans ? d->sum / d->plans : 0, d->worst);
}

/* ---- what a packed plan must be like */

typedef struct places {
  nxp_location *all; /* of all steps, one after the other */
  uint32_t n, step, cap_all, cap_of_step;
  uint32_t *of_step;
} places;

static void note(void *user, nxp_location *where, bool writes) {
  places *p = user;
  (void)writes;
  assert_true(nxi_grow(&p->all, &p->cap_all, p->n + 1, sizeof *p->all));
  assert_true(nxi_grow(&p->of_step, &p->cap_of_step, p->n + 1, sizeof *p->of_step));
  p->of_step[p->n] = p->step;
  p->all[p->n++] = *where;
}

static places note_all(const nxp_plan *p) {
  places all = {0};
  for (; all.step < p->n_steps; all.step++) nxp_each_location(&p->steps[all.step], note, &all);
  return all;
}

static void free_places(places *p) {
  nxi_free(p->all);
  nxi_free(p->of_step);
}

/* A temporary, where it lies, and when it lives. */
typedef struct piece {
  nxp_location at;
  int64_t bytes;
  uint32_t first, last;
} piece;

static bool apart(const piece *a, const piece *b) {
  if (a->at.kind != b->at.kind || (a->at.kind == NXP_OUTPUT && a->at.number != b->at.number))
    return true;
  return a->last < b->first || b->last < a->first || a->at.offset + a->bytes <= b->at.offset ||
         b->at.offset + b->bytes <= a->at.offset;
}

/* Packs the plan and compares the places of its steps before and after. */
static void pack_and_look(nxp_plan *p) {
  const uint32_t n = p->n_temporaries;
  piece *pieces = calloc((size_t)n + 1, sizeof *pieces);
  uint32_t *touched = malloc(((size_t)p->n_outputs + 1) * sizeof *touched);
  assert_non_null(pieces);
  assert_non_null(touched);
  memset(touched, 0xff, p->n_outputs * sizeof *touched);
  for (uint32_t i = 0; i < n; i++)
    pieces[i] =
        (piece){{0}, p->temporaries[i].bytes, p->temporaries[i].first, p->temporaries[i].last};
  places before = note_all(p);
  nxi_diag d;
  assert_int_equal(nxp_plan_pack(p, &d), NX_OK);
  places after = note_all(p);
  assert_int_equal(before.n, after.n);
  for (uint32_t i = 0; i < before.n && after.all != NULL; i++) {
    const nxp_location *was = &before.all[i], *is = &after.all[i];
    if (was->kind == NXP_OUTPUT && touched[was->number] == UINT32_MAX)
      touched[was->number] = before.of_step[i];
    if (was->kind != NXP_TEMPORARY || is->kind == NXP_NOWHERE) continue;
    pieces[was->number].at = *is;
    pieces[was->number].at.offset -= was->offset;
  }
  for (uint32_t i = 0; i < n; i++) {
    const piece *a = &pieces[i];
    if (a->bytes == 0 || a->first == NXP_NONE) continue;
    assert_int_equal(a->at.offset % 64, 0);
    if (a->at.kind == NXP_OUTPUT) {
      assert_true(a->at.offset + a->bytes <= p->outputs[a->at.number].bytes);
      assert_true(p->outputs[a->at.number].in_place_of < 0);
      assert_true(a->last < touched[a->at.number]);
    } else {
      assert_int_equal(a->at.kind, NXP_TEMPORARY);
      assert_true(a->at.offset + a->bytes <= p->scratch_offset);
    }
    for (uint32_t j = 0; j < i; j++)
      if (pieces[j].bytes > 0 && pieces[j].first != NXP_NONE) assert_true(apart(a, &pieces[j]));
  }
  free_places(&before);
  free_places(&after);
  free(pieces);
  free(touched);
}

/* ---- plans of random graphs */

static void random_graphs(void **state) {
  (void)state;
  distribution d = {0};
  for (uint64_t seed = 1; seed <= 1200; seed++) {
    nxt_graph_options o = {
        .nodes = 20 + (uint32_t)(seed % 7) * 30, .elements = 200000, .matmul = true, .inputs = 6};
    nxg_graph *g = nxt_random_graph(seed, &o);
    nxp_options options = {.fuse = seed % 3 != 0, .target = nxi_target_host(), .threads = 2};
    options.products = options.all_products = NXP_PRODUCTS_OF_BLAS;
    nxp_plan *p = NULL;
    nxi_diag diag;
    assert_non_null(g);
    if (nxp_plan_create(g, &options, NULL, &p, &diag) == NX_OK) {
      pack_and_look(p);
      add(&d, p);
      nxp_plan_destroy(p);
    }
    nxg_destroy(g);
  }
  say("random graphs", &d);
  assert_true(d.plans > 100);
  assert_true(d.sum / d.plans < 1.005);
  assert_true(d.beyond * 50 < d.plans);
}

/* ---- plans of random lives */

static void add_touch(nxp_plan *p, uint32_t step, nxp_place_kind kind, uint32_t number) {
  nxp_step *s = &p->steps[step];
  nxp_location *more = nxi_arena_alloc(&p->arena, ((size_t)s->n_buffers + 1) * sizeof *more);
  bool *writes = nxi_arena_alloc(&p->arena, (size_t)s->n_buffers + 1);
  assert_non_null(more);
  assert_non_null(writes);
  for (uint32_t i = 0; i < s->n_buffers; i++) more[i] = s->buffers[i];
  more[s->n_buffers] = (nxp_location){kind, number, 0, NXP_NO_ALIAS_RANGE, 0};
  s->buffers = more;
  s->writes = writes;
  s->n_buffers++;
}

/* Sizes of three powers of two and odd ones; lives of a few steps, and of some of many. */
static nxp_plan *random_lives(nxt_random *r, uint32_t n, uint32_t n_outputs) {
  nxp_plan *p = nxi_calloc(1, sizeof *p);
  assert_non_null(p);
  p->n_steps = n / 2 + 2;
  p->steps = nxi_calloc(p->n_steps, sizeof *p->steps);
  p->temporaries = nxi_calloc(n, sizeof *p->temporaries);
  p->outputs = nxi_arena_alloc(&p->arena, (n_outputs + 1) * sizeof *p->outputs);
  assert_true(p->steps && p->temporaries && p->outputs);
  for (uint32_t i = 0; i < p->n_steps; i++) p->steps[i].kind = NXP_STEP_KERNEL;
  p->n_temporaries = n;
  p->n_outputs = n_outputs;
  for (uint32_t i = 0; i < n; i++) {
    nxp_temporary *t = &p->temporaries[i];
    uint32_t life = (uint32_t)nxt_below(r, nxt_chance(r, 15) ? p->n_steps : 6);
    t->bytes = nxt_chance(r, 60) ? (int64_t)1024 << nxt_below(r, 8) : 1 + nxt_below(r, 100000);
    t->first = (uint32_t)nxt_below(r, p->n_steps);
    t->last = t->first + life < p->n_steps ? t->first + life : p->n_steps - 1;
    add_touch(p, t->first, NXP_TEMPORARY, i);
    if (t->last != t->first) add_touch(p, t->last, NXP_TEMPORARY, i);
  }
  for (uint32_t i = 0; i < n_outputs; i++) {
    p->outputs[i] =
        (nxp_output){.in_place_of = nxt_chance(r, 10) ? 0 : -1, .bytes = nxt_below(r, 200000)};
    if (p->outputs[i].in_place_of < 0)
      add_touch(p, (uint32_t)nxt_below(r, p->n_steps), NXP_OUTPUT, i);
  }
  return p;
}

static void random_lifetimes(void **state) {
  (void)state;
  nxt_random r = {7};
  distribution d = {0};
  for (int i = 0; i < 600; i++) {
    nxp_plan *p = random_lives(&r, 3 + (uint32_t)nxt_below(&r, 60), (uint32_t)nxt_below(&r, 5));
    pack_and_look(p);
    add(&d, p);
    nxp_plan_destroy(p);
  }
  say("random lives", &d);
  assert_true(d.sum / d.plans < 1.01);
  assert_true(d.beyond * 50 < d.plans);
}

/* However many temporaries there are, they are placed soon. */
static void many(void **state) {
  (void)state;
  nxt_random r = {9};
  nxp_plan *p = random_lives(&r, 60000, 40);
  nxi_diag d;
  assert_int_equal(nxp_plan_pack(p, &d), NX_OK);
  printf("60,000 lives: %.4f\n", (double)p->scratch_offset / (double)p->live_bytes);
  assert_true((double)p->scratch_offset < 1.25 * (double)p->live_bytes);
  nxp_plan_destroy(p);
}

NXT_MAIN(plan_memory) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_graphs),
      cmocka_unit_test(random_lifetimes),
      cmocka_unit_test(many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
