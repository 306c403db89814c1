/* SPDX-License-Identifier: ISC */
/* Loops of largest and smallest numbers of which one begins with another one's result, after it or
 * in each step of it (passes/kernel/extremes.c): the same values with and without the pass. */
#include "bind_util.h"
#include "tests/util/runner.h"

enum { LANES = 8, STEPS = 3, MOST_SUMS = 4, ROOM = LANES * STEPS * MOST_SUMS, OUTER = 3 };

typedef struct shape {
  nx_dtype t;
  bool max, nested, reduced; /* nested: the first loop in another one; reduced: lanes are joined */
  int first, then;           /* accumulators of the two loops */
} shape;

static nxk_op op_of(const shape *s) { return s->max ? NXK_max : NXK_min; }

/* A loop of n accumulators, which all begin with the same vector. Returns what they become. outer:
 * the loop around it, of which each step has numbers of its own, or NXK_NONE. */
static nxk_value loop(nxk_kernel *k, const shape *s, uint32_t in, nxk_value from, int n,
                      nxk_value outer) {
  nxk_value at = nxk_begin_for(k, NXK_SEQ, nxk_bound_const(0),
                               nxk_bound_const((int64_t)STEPS * LANES * n), (int64_t)LANES * n),
            carried[MOST_SUMS], next[MOST_SUMS];
  for (int i = 0; i < n; i++) carried[i] = nxk_carry(k, from);
  for (int i = 0; i < n; i++) {
    nxk_term terms[] = {{at, 1}, {outer, ROOM}};
    nxk_access a = nxk_access_at(in, (int64_t)i * LANES);
    a.terms = terms, a.n_terms = outer == NXK_NONE ? 1 : 2, a.lane_stride = 1;
    next[i] = NXK_SCALAR2(k, op_of(s), carried[i], nxk_load(k, &a, LANES));
  }
  for (int i = 0; i < n; i++) nxk_next(k, carried[i], next[i]);
  nxk_end(k);
  nxk_value all = carried[0];
  for (int i = 1; i < n; i++) all = NXK_SCALAR2(k, op_of(s), all, carried[i]);
  return all;
}

static nxk_kernel *fed(const shape *s) {
  nxk_kernel *k = nxk_create(NXK_BOUND, "fed");
  uint32_t in[2] = {nxk_add_buffer(k, NXK_IN, s->t, OUTER * ROOM),
                    nxk_add_buffer(k, NXK_IN, s->t, ROOM)},
           out = nxk_add_buffer(k, NXK_OUT, s->t, LANES);
  nxk_access to = nxk_access_at(out, 0);
  nxk_begin_region(k);
  nxk_begin_range(k, NXK_TASK, 1);
  nxk_value none = nxk_splat(k, nxk_const_f(k, s->t, s->max ? -INFINITY : INFINITY), LANES);
  nxk_value made;
  if (s->nested) {
    nxk_value outer = nxk_begin_range(k, NXK_SEQ, OUTER);
    made = nxk_carry(k, none);
    nxk_next(k, made, loop(k, s, in[0], made, s->first, outer));
    nxk_end(k);
  } else {
    made = loop(k, s, in[1], loop(k, s, in[0], none, s->first, NXK_NONE), s->then, NXK_NONE);
  }
  if (s->reduced) made = nxk_lane_reduce(k, s->max ? NXK_MAX : NXK_MIN, made, NXK_NONE);
  to.lane_stride = !s->reduced;
  nxk_store(k, &to, made);
  end_all(k, 2);
  return k;
}

/* All numbers, and every NaN, get the sign of those that are not looked for. */
static void take_sides(const shape *s, const nxk_kernel *k, memory *m) {
  const uint64_t sign = s->t == NX_F64 ? INT64_MIN : UINT64_C(1) << 31;
  const int64_t size = nxi_dtype_size(s->t);
  for (uint32_t b = 0; b < 2; b++)
    for (int64_t i = 0; i < k->buffers[b].elements; i++) {
      char *at = (char *)m->at[b] + i * size;
      const uint64_t bits = nxi_load_element(at, s->t);
      nxi_store_element(at, s->t, s->max ? bits | sign : bits & ~sign);
    }
}

static void compare(const shape *s, int i) {
  const int64_t nasty = i % 5 == 0 ? 0 : i % 5 * (int64_t)ROOM / 2;
  static const uint64_t none[MAX_PARAMS];
  nxi_text faults = {0};
  nxi_diag d;
  memory wanted, got;
  nxi_diag_clear(&d);
  nxk_kernel *k = fed(s);
  if (k->failed || !nxk_verify(k, &faults)) fail_with(k, NULL, faults.data ? faults.data : "none");
  nxk_kernel *rewritten = nxk_pass_extremes(k, &targets[1], &d);
  assert_non_null(rewritten);
  if (!nxk_verify(rewritten, &faults)) fail_with(k, rewritten, faults.data ? faults.data : "none");
  for (nxk_value v = 0; v < rewritten->n_instrs; v++) /* each loop was rewritten */
    assert_false(nxk_is_extreme(&rewritten->instrs[v]));
  make_memory(k, &wanted, nasty);
  if (i % 3) take_sides(s, k, &wanted);
  copy_memory(&wanted, &got);
  must_run(k, k, &wanted, none, 0, INT64_MAX);
  must_run(rewritten, k, &got, none, 0, INT64_MAX);
  compare_memory(k, rewritten, &wanted, &got, "rewritten");
  free_memory(&wanted);
  free_memory(&got);
  nxk_destroy(rewritten);
  nxk_destroy(k);
}

static void one_after_the_other(void **state) {
  (void)state;
  for (int i = 0; i < 400; i++) {
    const shape s = {.t = i % 2 ? NX_F32 : NX_F64,
                     .max = i / 2 % 2,
                     .reduced = i / 4 % 2,
                     .first = 1 << i / 8 % 3,
                     .then = 1 << i / 24 % 3};
    compare(&s, i);
  }
}

/* From the second step on the inner loop begins with what it has found. */
static void one_within_another(void **state) {
  (void)state;
  for (int i = 0; i < 120; i++) {
    const shape s = {.t = i % 2 ? NX_F32 : NX_F64,
                     .max = i / 2 % 2,
                     .nested = true,
                     .reduced = i / 4 % 2,
                     .first = 1 << i / 8 % 3};
    compare(&s, i);
  }
}

NXT_MAIN(extreme_loops) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_after_the_other),
                                     cmocka_unit_test(one_within_another)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
