/* SPDX-License-Identifier: ISC */
/* Indices that follow from their position. Arithmetic of affine integers is compared with the same
 * on lists of the integers, for random operands; random indices of gathers are computed by every
 * executor as by the graph interpreter, which knows of no views in their place; and scatters of one
 * element a line are, with negative indices and with ones that are dropped. */
#include "shop.h"

#include "passes/graph/indices/affine.h"
#include "passes/graph/passes.h"
#include "tests/util/random_values.h"
#include "tests/util/runner.h"

enum { MOST = 512, ROUNDS = 20000, GRAPHS = 200 };

/* Affine integers, and the list of them. */
typedef struct listed {
  nxg_affine affine;
  int64_t n, of[MOST];
} listed;

static void check_listed(const listed *x) {
  int64_t low = INT64_MAX, high = INT64_MIN, first, last;
  for (int64_t p = 0; p < x->n; p++) {
    int64_t value = x->affine.offset, rest = p;
    for (int32_t i = x->affine.rank; i-- > 0; rest /= x->affine.shape[i])
      value += rest % x->affine.shape[i] * x->affine.strides[i];
    assert_int_equal(value, x->of[p]);
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  nxg_affine_range(&x->affine, &first, &last);
  assert_int_equal(low, first);
  assert_int_equal(high, last);
}

static int64_t random_shape(nxt_random *r, int32_t rank, int64_t *shape) {
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i] = 1 + nxt_below(r, 4);
  return n;
}

static void random_listed(nxt_random *r, int32_t rank, const int64_t *shape, listed *x) {
  int64_t strides[NXG_MAX_RANK], offset = nxt_below(r, 9) - 2;
  x->n = 1;
  for (int32_t i = 0; i < rank; i++) {
    x->n *= shape[i];
    strides[i] = nxt_chance(r, 30) ? 0 : nxt_below(r, 12) - 3;
  }
  assert_true(nxg_affine_of(rank, shape, strides, offset, &x->affine));
  for (int64_t p = 0; p < x->n; p++) {
    int64_t rest = p;
    x->of[p] = offset;
    for (int32_t i = rank; i-- > 0; rest /= shape[i]) x->of[p] += rest % shape[i] * strides[i];
  }
  check_listed(x);
}

static void affine_arithmetic_is_that_of_the_integers(void **state) {
  nxt_random r = {7};
  int added = 0, divided = 0;
  (void)state;
  for (int round = 0; round < ROUNDS; round++) {
    listed a, b, sum, quotient, rest;
    int64_t shape[3], other[3], n = random_shape(&r, 3, shape);
    for (int i = 0; i < 3; i++) other[i] = shape[nxt_chance(&r, 70) ? i : 2 - i];
    if (nxg_elements(3, other) != n) continue;
    random_listed(&r, 3, shape, &a);
    random_listed(&r, 3, other, &b);
    const int64_t scale = nxt_below(&r, 5) - 2, by = 1 + nxt_below(&r, 9);
    sum.n = quotient.n = rest.n = n;
    for (int64_t p = 0; p < n; p++) {
      sum.of[p] = a.of[p] + scale * b.of[p];
      quotient.of[p] = a.of[p] / by;
      rest.of[p] = a.of[p] % by;
    }
    if (nxg_affine_add(&a.affine, &b.affine, scale, &sum.affine)) {
      check_listed(&sum);
      added++;
    }
    if (nxg_affine_divide(&a.affine, by, &quotient.affine, &rest.affine)) {
      check_listed(&quotient);
      check_listed(&rest);
      divided++;
    }
  }
  assert_true(added > ROUNDS / 4 && divided > ROUNDS / 8);
}

static void views_of_affine_integers_are_those_of_the_list(void **state) {
  nxt_random r = {8};
  int found = 0;
  (void)state;
  for (int round = 0; round < ROUNDS; round++) {
    listed a, seen;
    nxg_view v = {.rank = 3};
    int64_t shape[3], low, high;
    random_shape(&r, 3, shape);
    random_listed(&r, 3, shape, &a);
    seen.n = random_shape(&r, 3, v.shape);
    v.offset = nxt_below(&r, a.n);
    for (int i = 0; i < 3; i++) v.strides[i] = nxt_below(&r, 14) - 4;
    if (nxt_chance(&r, 40)) nxg_contiguous_strides(3, v.shape, v.strides);
    if (!nxg_view_range(&v, &low, &high) || low < 0 || high >= a.n) continue;
    for (int64_t p = 0; p < seen.n; p++) {
      int64_t place = v.offset, rest = p;
      for (int i = 3; i-- > 0; rest /= v.shape[i]) place += rest % v.shape[i] * v.strides[i];
      seen.of[p] = a.of[place];
    }
    if (!nxg_affine_through(&a.affine, &v, &seen.affine)) continue;
    check_listed(&seen);
    found++;
  }
  assert_true(found > ROUNDS / 20);
}

static void integers_that_are_too_large_are_refused(void **state) {
  const int64_t shape[2] = {1 << 20, 1 << 20}, strides[2] = {INT64_C(1) << 40, 1};
  const int64_t large[2] = {INT64_MAX, INT64_MIN};
  const nxg_view far = {.rank = 1, .shape = {3}, .strides = {INT64_MAX}};
  nxg_affine a, b;
  (void)state;
  assert_false(nxg_affine_of(2, shape, strides, 0, &a));
  assert_false(nxg_affine_of(2, shape, large, 0, &a));
  assert_false(nxg_affine_of(0, NULL, NULL, INT64_MIN, &a));
  assert_true(nxg_affine_of(1, shape, (int64_t[]){1 << 20}, 0, &a));
  assert_false(nxg_affine_add(&a, &a, INT64_MAX, &b));
  assert_false(nxg_affine_add(&a, &a, INT64_MIN, &b));
  assert_false(nxg_affine_through(&a, &far, &b));
  assert_false(nxg_affine_divide(&a, 0, &b, &b));
}

/* ---- gathers */

static uint32_t constant(nxg_graph *g, nx_dtype t, int64_t x, int32_t rank, const int64_t *shape) {
  const int64_t attrs[2] = {t == NX_I32 ? (int64_t)(uint32_t)x : x, -1};
  return nxg_add(g, NXG_full, 0, NULL, attrs, 2, t, rank, shape);
}

static uint32_t two(nxg_graph *g, nxg_op op, uint32_t a, uint32_t b) {
  return nxt_node(g, op, 2, (uint32_t[]){a, b}, 0, NULL, 0);
}

/* Counts along one axis of a shape. */
static uint32_t counted(nxg_graph *g, nxt_random *r, nx_dtype t, const int64_t *shape) {
  const int axis = (int)nxt_below(r, 3);
  const int64_t attrs[2] = {nxt_below(r, 3), 1 + nxt_below(r, 3)};
  nxg_view v = {.rank = 3};
  for (int i = 0; i < 3; i++) v.shape[i] = shape[i];
  v.strides[axis] = 1;
  return nxt_view(g, nxg_add(g, NXG_arange, 0, NULL, attrs, 2, t, 1, &shape[axis]), &v);
}

/* A random sum of counts; sometimes a quotient, a remainder, or a choice that is known. */
static uint32_t random_index(nxg_graph *g, nxt_random *r, nx_dtype t, const int64_t *shape) {
  uint32_t x = counted(g, r, t, shape);
  for (int step = (int)nxt_below(r, 5); step > 0; step--) {
    const uint32_t c = constant(g, t, 1 + nxt_below(r, 4), 3, shape),
                   zero = constant(g, t, 0, 3, shape);
    switch (nxt_below(r, 7)) {
      case 0: x = two(g, NXG_mul, x, c); break;
      case 1: x = two(g, NXG_div, x, c); break;
      case 2: x = two(g, NXG_floor_mod, x, c); break;
      case 3:
        x = nxt_node(g, NXG_where, 3,
                     (uint32_t[]){two(g, NXG_cmplt, x, zero), two(g, NXG_add, x, c), x}, 0, NULL,
                     0);
        break;
      case 4: x = two(g, NXG_max, x, zero); break;
      case 5: x = two(g, NXG_sub, x, c); break;
      default: x = two(g, NXG_add, x, counted(g, r, t, shape));
    }
  }
  return x;
}

static int gathers_of(const nxg_graph *g) {
  int n = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) n += g->nodes[i].op == NXG_gather;
  return n;
}

static int gathers_left(const nxg_graph *g) {
  nxg_graph *out = NULL;
  nxi_diag d;
  bool changed = false;
  nxi_diag_clear(&d);
  assert_int_equal(nxg_pass_affine_gathers(g, &out, &changed, &d), NX_OK);
  const int left = gathers_of(out);
  if (out != g) nxg_destroy(out);
  return left;
}

/* A gather at random indices; `wrapped`: they are made to be in range. */
static nxg_graph *random_gather(nxt_random *r, bool wrapped) {
  const nx_dtype t = nxt_chance(r, 50) ? NX_I32 : NX_I64;
  const int64_t axis = nxt_below(r, 3), data[3] = {5, 7, 6};
  int64_t shape[3];
  nxg_graph *g = nxg_create("g");
  for (int i = 0; i < 3; i++) shape[i] = 1 + nxt_below(r, data[i]);
  uint32_t x = nxt_input(g, "tame", NX_F32, 3, data);
  if (nxt_chance(r, 30)) x = nxt_node(g, NXG_neg, 1, &x, 0, NULL, 0);
  uint32_t index = random_index(g, r, t, shape);
  if (wrapped) index = two(g, NXG_floor_mod, index, constant(g, t, data[axis], 3, shape));
  uint32_t y = nxt_node(g, NXG_gather, 2, (uint32_t[]){x, index}, 1, &axis, 0);
  nxg_add_output(g, y, "y");
  if (nxt_chance(r, 60)) { /* what reads it sees another shape */
    nxg_view v = {.rank = 1, .shape = {shape[0] * shape[1] * shape[2]}, .strides = {1}};
    y = nxt_view(g, y, &v);
    nxg_add_output(g, nxt_node(g, NXG_exp, 1, &y, 0, NULL, 0), "z");
  }
  return g;
}

static void gathers_at_counted_indices_have_the_same_bits(void **state) {
  nxt_random r = {9};
  int left = 0;
  (void)state;
  for (int round = 0; round < GRAPHS; round++) {
    nxt_random again = r;
    nxg_graph *g = random_gather(&r, false);
    if (gathers_left(g) > 0) { /* out of range, or no view */
      left++;
      nxg_destroy(g);
      g = random_gather(&again, true);
    }
    nxt_compare(shop, g, "a gather at counted indices", NXT_ALL);
  }
  assert_int_equal(nxt_differences(shop), 0);
  assert_true(left < GRAPHS * 3 / 4);
}

/* ---- scatters */

static void scatters_of_one_element_a_line_have_the_same_bits(void **state) {
  static const nx_dtype types[] = {NX_F32, NX_F64, NX_BF16, NX_F16, NX_I8, NX_U64, NX_BOOL};
  nxt_random r = {10};
  (void)state;
  for (int round = 0; round < GRAPHS; round++) {
    const nx_dtype t = types[nxt_below(&r, COUNT(types))],
                   ti = nxt_chance(&r, 50) ? NX_I32 : NX_I64;
    const bool sums = t != NX_BOOL && nxt_chance(&r, 50), drops = nxt_chance(&r, 50);
    const int64_t axis = nxt_below(&r, 2), shape[2] = {1 + nxt_below(&r, 9), 1 + nxt_below(&r, 40)},
                  attrs[2] = {axis, (sums ? 1 : 0) | (drops ? NXG_SCATTER_DROPS : 0)};
    const int64_t lines[2] = {axis == 0 ? 1 : shape[0], axis == 1 ? 1 : shape[1]};
    nxg_graph *g = nxg_create("g");
    uint32_t index = nxt_input(g, "tame", ti, 2, lines);
    if (!drops) { /* from -extent to extent - 1 */
      index = two(g, NXG_mod, index, constant(g, ti, shape[axis], 2, lines));
      assert_int_not_equal(index, UINT32_MAX);
    }
    const uint32_t u = nxt_input(g, "nasty", t, 2, lines),
                   rest = constant(g, t, nxt_chance(&r, 50) && t != NX_BOOL ? 1 : 0, 2, shape);
    uint32_t y = nxt_node(g, NXG_scatter, 3, (uint32_t[]){rest, index, u}, 2, attrs, 0);
    nxg_add_output(g, y, "y");
    nxt_compare(shop, g, "a scatter of one element a line", NXT_ALL);
  }
  assert_int_equal(nxt_differences(shop), 0);
}

/* Indices that are broadcast before they are wrapped, along one axis or both. */
static void indices_that_repeat_have_the_same_bits(void **state) {
  nxt_random r = {11};
  (void)state;
  for (int round = 0; round < GRAPHS / 4; round++) {
    const nx_dtype ti = nxt_chance(&r, 50) ? NX_I32 : NX_I64;
    const int64_t rows = 1 + nxt_below(&r, 20), columns = 1 + nxt_below(&r, 20),
                  shape[2] = {rows, columns}, data[2] = {9, columns}, axis = 0,
                  attrs[2] = {0, nxt_chance(&r, 50)};
    const bool all = nxt_chance(&r, 20);
    const int64_t own[2] = {all ? 1 : rows, 1};
    const nxg_view wide = {.rank = 2, .shape = {rows, columns}, .strides = {all ? 0 : 1, 0}};
    nxg_graph *g = nxg_create("g");
    uint32_t index = nxt_view(g, nxt_input(g, "tame", ti, 2, own), &wide);
    index = two(g, NXG_floor_mod, index, constant(g, ti, 9, 2, shape));
    if (nxt_chance(&r, 50)) index = two(g, NXG_sub, index, constant(g, ti, 9, 2, shape));
    const uint32_t x = nxt_input(g, "tame1", NX_F32, 2, data),
                   u = nxt_input(g, "tame2", NX_F32, 2, shape);
    nxg_add_output(g, nxt_node(g, NXG_scatter, 3, (uint32_t[]){x, index, u}, 2, attrs, 0), "s");
    nxg_add_output(g, nxt_node(g, NXG_gather, 2, (uint32_t[]){x, index}, 1, &axis, 0), "y");
    nxt_compare(shop, g, "indices that repeat", NXT_ALL);
  }
  assert_int_equal(nxt_differences(shop), 0);
}

NXT_MAIN(affine) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(affine_arithmetic_is_that_of_the_integers),
      cmocka_unit_test(views_of_affine_integers_are_those_of_the_list),
      cmocka_unit_test(integers_that_are_too_large_are_refused),
      cmocka_unit_test(gathers_at_counted_indices_have_the_same_bits),
      cmocka_unit_test(scatters_of_one_element_a_line_have_the_same_bits),
      cmocka_unit_test(indices_that_repeat_have_the_same_bits),
  };
  return cmocka_run_group_tests(tests, open_shop, close_shop);
}
