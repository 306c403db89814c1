/* SPDX-License-Identifier: ISC */
/* Branches that update what a loop carries: the values of the same functions recorded one after the
 * other, and plans that copy nothing of it in a step. */
#include "runtime/launch/internal.h"
#include "runtime/realize/functions/function.h"
#include "tests/util/api.h"

enum { ROWS = 24, COLUMNS = 16, STEPS = 7 };

static nx_tensor *row_input(void) {
  return GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(COLUMNS)));
}
static nx_tensor *cache_input(void) {
  return GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(ROWS, COLUMNS)));
}
static nx_tensor *index_input(void) { return GOOD(nx_placeholder(ctx, device(), NX_I64, NULL, 0)); }
static nx_tensor *whole(int64_t value) {
  return GOOD(nx_full_i64(ctx, device(), NX_I64, NULL, 0, value));
}
static nx_function *make(nx_tensor *const *in, size_t n_in, nx_tensor *const *out, size_t n_out) {
  nx_function *f = NULL;
  OK(nx_function_create(ctx, in, n_in, out, n_out, NULL, &f));
  return f;
}

/* ---- branches of a cache, a row and the number of the step; they give a cache and a row */

typedef void branch(nx_tensor *const *in, nx_tensor **out);

static nx_tensor *with_row(nx_tensor *cache, nx_tensor *row, nx_tensor *at) {
  nx_tensor *starts[] = {at, whole(0)};
  return GOOD(nx_dynamic_update_slice(cache, nx_reshape(row, NX_SHAPE(1, COLUMNS), 0), starts, 2));
}
static void writes(nx_tensor *const *in, nx_tensor **out) {
  out[0] = with_row(in[0], in[1], in[2]);
  out[1] = GOOD(nx_add(in[1], nx_reduce_mean(out[0], NX_AXES(0), 0)));
}
static void leaves(nx_tensor *const *in, nx_tensor **out) {
  out[0] = in[0];
  out[1] = GOOD(nx_sub(in[1], number(0.5F)));
}
static void writes_twice(nx_tensor *const *in, nx_tensor **out) {
  nx_tensor *first = with_row(in[0], nx_neg(in[1]), in[2]);
  out[0] = with_row(first, in[1], nx_add(in[2], whole(2)));
  out[1] = in[1];
}
/* The other cache depends on the old contents: what it updates cannot be in place. */
static void reads_the_old(nx_tensor *const *in, nx_tensor **out) {
  out[0] = with_row(in[0], in[1], in[2]);
  out[1] = GOOD(nx_add(in[1], nx_reduce_mean(nx_mul(in[0], out[0]), NX_AXES(0), 0)));
}
static void makes_another(nx_tensor *const *in, nx_tensor **out) {
  out[0] = GOOD(nx_mul(in[0], number(0.5F)));
  out[1] = in[1];
}

static nx_function *branch_of(branch *of) {
  nx_tensor *in[] = {cache_input(), row_input(), index_input()}, *out[2];
  of(in, out);
  return make(in, 3, out, 2);
}

/* A branch that has branches. */
static nx_function *nested(nx_function *const *inner) {
  nx_tensor *in[] = {cache_input(), row_input(), index_input()}, *out[2] = {0};
  OK(nx_case(nx_mod(in[2], whole(2)), inner, 2, in, 3, out, 2));
  return make(in, 3, out, 2);
}

/* One step of the loop: the branch of its number. */
static nx_function *step_of(nx_function *const *branches, size_t n) {
  nx_tensor *in[] = {index_input(), cache_input(), row_input()}, *out[2] = {0};
  nx_tensor *given[] = {in[1], in[2], in[0]};
  OK(nx_case(nx_mod(in[0], whole((int64_t)n)), branches, n, given, 3, out, 2));
  return make(in, 3, out, 2);
}

static nx_function *loop_of(nx_function *step) {
  nx_tensor *in[] = {index_input(), cache_input(), row_input()}, *out[2] = {0};
  OK(nx_for(in[0], 0, step, in + 1, 2, NULL, 0, NULL, out, 2));
  return make(in, 3, out, 2);
}

/* ---- what the plan of a body copies */

static int64_t copied(const nxi_executable *e, bool bodies) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < e->plan->n_steps; i++) {
    const nxp_step *s = &e->plan->steps[i];
    if (s->kind == NXP_STEP_COPY) bytes += s->bytes;
    if (s->kind != NXP_STEP_CONTROL || !bodies) continue;
    for (uint32_t b = 0; b < s->control->c.n_bodies; b++) bytes += copied(e->bodies[i][b], true);
    if (s->control->c.op != NXG_case) continue;
    for (uint32_t r = 0; r < s->control->c.n_results; r++) { /* one that is not where it was */
      const nxp_location *is = &s->buffers[s->control->n_operands + r];
      int32_t input = s->control->lies_in[r];
      const nxp_location *was = input < 0 ? is : &s->buffers[1 + input];
      if (is->kind != was->kind || is->number != was->number) bytes += s->control->bytes[r];
    }
  }
  return bytes;
}

static int64_t copied_a_step(const nx_function *f) {
  nxi_target t = *nxi_target_host();
  nxi_executable_options o = {
      .executor = NXI_KERNEL_INTERP, .fuse = true, .target = &t, .threads = 1};
  nxi_executable *e = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  assert_int_equal(nxi_executable_create(f->graph, &o, NULL, NULL, &e, NULL, &d), NX_OK);
  int64_t bytes = copied(e, true) - copied(e, false);
  nxi_executable_destroy(e);
  return bytes;
}

/* ---- the tests */

static void read_both(nx_tensor *const *out, float *to) {
  OK(nx_read(out[0], to, sizeof(float) * ROWS * COLUMNS, NULL));
  OK(nx_read(out[1], to + (size_t)ROWS * COLUMNS, sizeof(float) * COLUMNS, NULL));
}

/* Runs the loop as a recorded one, as a called one, and its steps one after the other. */
static void same_values(nx_function *step, nx_function *loop) {
  static float is[3][ROWS * COLUMNS + COLUMNS];
  nx_tensor *rows = vector(ROWS * COLUMNS, 0, 0.125F), *row = vector(COLUMNS, 1, 0.25F);
  nx_tensor *cache = GOOD(nx_reshape(rows, NX_SHAPE(ROWS, COLUMNS), 0));
  nx_tensor *in[] = {whole(STEPS), cache, row}, *out[2] = {cache, row}, *results[2] = {0};
  for (int64_t i = 0; i < STEPS; i++) {
    nx_tensor *given[] = {whole(i), out[0], out[1]}, *next[2] = {0};
    OK(nx_function_record(step, given, 3, next, 2));
    out[0] = next[0];
    out[1] = next[1];
  }
  read_both(out, is[0]);
  OK(nx_function_record(loop, in, 3, results, 2));
  read_both(results, is[1]);
  nx_tensor *called[2] = {0};
  OK(nx_function_call(loop, in, 3, called, 2, NULL));
  read_both(called, is[2]);
  assert_memory_equal(is[0], is[1], sizeof is[0]);
  assert_memory_equal(is[0], is[2], sizeof is[0]);
  EXPECT(nx_reduce_max(cache, NX_ALL_AXES, 0), (ROWS * COLUMNS - 1) * 0.125F); /* as it was */
}

static void try_branches(nx_function *const *branches, size_t n, bool in_place) {
  nx_function *step = step_of(branches, n), *loop = loop_of(step);
  int64_t most = in_place ? (int64_t)sizeof(float) * ROWS * COLUMNS - 1 : INT64_MAX;
  same_values(step, loop);
  assert_true(copied_a_step(loop) <= most);
  nx_function_release(step);
  nx_function_release(loop);
}

static void branches_in_place(void **state) {
  (void)state;
  nx_function *all[] = {branch_of(writes), branch_of(leaves), branch_of(writes_twice)};
  nx_function *within = nested(all), *deep[] = {branch_of(writes_twice), within};
  try_branches(all, 3, true);
  try_branches(all, 2, true);
  try_branches(deep, 2, true);
  nx_function_release(within);
  nx_function_release(deep[0]);
  for (int i = 0; i < 3; i++) nx_function_release(all[i]);
}

/* Branches that need the old contents, or that give something else. */
static void branches_on_copies(void **state) {
  (void)state;
  nx_function *all[] = {branch_of(writes), branch_of(reads_the_old), branch_of(makes_another)};
  try_branches(all, 2, false);
  try_branches(all, 3, false);
  for (int i = 0; i < 3; i++) nx_function_release(all[i]);
}

/* A cache that is given to the branches twice, and one that is read afterwards. */
static void read_elsewhere(void **state) {
  (void)state;
  nx_tensor *in[] = {cache_input(), row_input(), index_input(), cache_input()}, *out[2];
  out[0] = with_row(in[0], in[1], in[2]);
  out[1] = GOOD(nx_add(in[1], nx_reduce_mean(in[3], NX_AXES(0), 0)));
  nx_function *both = make(in, 4, out, 2), *two[] = {both, both};
  nx_tensor *at[] = {index_input(), cache_input(), row_input()}, *results[2] = {0};
  nx_tensor *given[] = {at[1], at[2], at[0], at[1]};
  OK(nx_case(nx_mod(at[0], whole(2)), two, 2, given, 4, results, 2));
  nx_tensor *next[] = {results[0], GOOD(nx_add(results[1], nx_reduce_mean(at[1], NX_AXES(0), 0)))};
  nx_function *step = make(at, 3, next, 2), *loop = loop_of(step);
  same_values(step, loop);
  nx_function_release(both);
  nx_function_release(step);
  nx_function_release(loop);
}

/* One updated value is two results; in the other branch the second one is another operand. */
static void results_that_are_one(void **state) {
  (void)state;
  static float is[2][ROWS * COLUMNS], wanted[ROWS * COLUMNS];
  nx_tensor *in[] = {cache_input(), cache_input(), row_input(), index_input()};
  nx_tensor *one = with_row(in[0], in[2], in[3]), *twice[] = {one, one};
  nx_function *writer = make(in, 4, twice, 2);
  nx_tensor *in2[] = {cache_input(), cache_input(), row_input(), index_input()};
  nx_function *keeper = make(in2, 4, in2, 2), *both[] = {keeper, writer};
  nx_tensor *x = GOOD(nx_reshape(vector(ROWS * COLUMNS, 0, 0.125F), NX_SHAPE(ROWS, COLUMNS), 0));
  nx_tensor *row = vector(COLUMNS, 1, 0.25F), *other = GOOD(nx_neg(x));
  for (int64_t k = 0; k < 2; k++) {
    nx_tensor *given[] = {x, other, row, whole(3)}, *out[2] = {0};
    OK(nx_case(whole(k), both, 2, given, 4, out, 2));
    for (int i = 0; i < 2; i++) OK(nx_read(out[i], is[i], sizeof is[i], NULL));
    OK(nx_read(k == 1 ? with_row(x, row, whole(3)) : x, wanted, sizeof wanted, NULL));
    assert_memory_equal(is[0], wanted, sizeof wanted);
    if (k == 0) OK(nx_read(other, wanted, sizeof wanted, NULL));
    assert_memory_equal(is[1], wanted, sizeof wanted);
  }
  nx_function_release(writer);
  nx_function_release(keeper);
}

/* ---- values without elements: in a plan they have the address of what comes after them */

static nx_tensor *nothing_input(void) {
  return GOOD(nx_placeholder(ctx, device(), NX_I64, NX_SHAPE(0, 2)));
}

/* of: an i64, nothing, and an i64; gives one of them, or the negative number of a step. */
static nx_function *keeps_one(void) {
  nx_tensor *in[] = {index_input(), nothing_input(), index_input()};
  return make(in, 3, in + 2, 1);
}
static nx_function *counts_to_itself(void) {
  nx_tensor *of[] = {index_input(), index_input()}, *minus = GOOD(nx_neg(of[0]));
  nx_function *step = make(of, 2, &minus, 1);
  nx_tensor *in[] = {index_input(), nothing_input(), index_input()}, *out = NULL;
  OK(nx_for(in[2], 0, step, in + 2, 1, NULL, 0, NULL, &out, 1));
  nx_function_release(step);
  return make(in, 3, &out, 1);
}
static nx_function *carries_nothing(void) {
  nx_tensor *of[] = {index_input(), index_input(), nothing_input()};
  nx_tensor *next[] = {GOOD(nx_neg(of[0])), of[2]};
  nx_function *step = make(of, 3, next, 2);
  nx_tensor *in[] = {index_input(), nothing_input(), index_input()}, *out[2] = {0};
  OK(nx_for(NULL, 3, step, in, 2, NULL, 0, NULL, out, 2));
  nx_function_release(step);
  return make(in, 3, out, 1);
}

/* A result of a case that lies where an operand without elements does is not an update of it. */
static void beside_nothing(void **state) {
  (void)state;
  nx_function *all[] = {keeps_one(), counts_to_itself(), carries_nothing()};
  nx_tensor *in[] = {index_input(), index_input(), nothing_input(), nothing_input()};
  nx_tensor *given[] = {in[1], in[2], in[1]}, *next[] = {NULL, in[3]}, *out[2] = {0};
  OK(nx_case(in[0], all, 3, given, 3, next, 1));
  nx_function *step = make(in, 4, next, 2);
  nx_tensor *of[] = {index_input(), nothing_input(), nothing_input()};
  OK(nx_for(NULL, 8, step, of, 2, of + 2, 1, NULL, out, 2));
  nx_function *loop = make(of, 3, out, 1);
  nx_tensor *nothing = GOOD(nx_full_i64(ctx, device(), NX_I64, NX_SHAPE(0, 2), 0));
  nx_tensor *call[] = {whole(3), nothing, nothing}, *result = NULL;
  OK(nx_function_call(loop, call, 3, &result, 1, NULL));
  int64_t got = 0;
  OK(nx_read(result, &got, sizeof got, NULL));
  assert_int_equal(got, -2); /* 3, and three times the last number of three steps */
  for (int i = 0; i < 3; i++) nx_function_release(all[i]);
  nx_function_release(step);
  nx_function_release(loop);
}

NXT_MAIN(loop_updates) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(branches_in_place),    IN_SCOPE(branches_on_copies), IN_SCOPE(read_elsewhere),
      IN_SCOPE(results_that_are_one), IN_SCOPE(beside_nothing),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
