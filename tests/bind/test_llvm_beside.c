/* SPDX-License-Identifier: ISC */
/* What the code generator prints together because it stands side by side: trees with the same
 * counter, and loads that the same condition decides. */
#include "tests/bind/kernel_check.h"
#include "tests/util/runner.h"

/* ---- trees */

enum { MOST_TREES = 20 };

typedef struct forest {
  nxk_kernel *k;
  uint32_t in, n, locals[MOST_TREES];
  uint16_t lanes;
} forest;

static nxk_access tree_of(const forest *f, uint32_t i) {
  nxk_access a = nxk_access_at(f->locals[i], 0);
  a.lane_stride = f->lanes > 1;
  a.tree_stride = f->lanes;
  return a;
}

static nxk_reduce_kind kind_of(uint32_t i) {
  return i % 3 == 0 ? NXK_SUM : i % 3 == 1 ? NXK_MAX : NXK_PROD;
}

/* Pushes partial number `count` to each tree: its elements are others in each. */
static void push_all(const forest *f, nxk_value count, nxk_term term) {
  nxk_value values[MOST_TREES];
  for (uint32_t i = 0; i < f->n; i++) {
    nxk_access a = nxk_access_at(f->in, (int64_t)i);
    a.lane_stride = f->lanes > 1;
    a.n_terms = 1;
    a.terms = &term;
    values[i] = nxk_load(f->k, &a, f->lanes);
  }
  for (uint32_t i = 0; i < f->n; i++) {
    nxk_access tree = tree_of(f, i);
    nxk_tree_push(f->k, kind_of(i), count, values[i], NXK_NONE, &tree, NULL);
  }
}

/* n trees side by side: `looped` pushes in a loop, `known` more whose numbers are constants. */
static void check_trees(nx_dtype t, uint16_t lanes, uint32_t n, int64_t looped, int64_t known) {
  forest f = {.k = nxk_create(NXK_BOUND, "trees"), .n = n, .lanes = lanes};
  const int64_t pushes = looped + known;
  f.in = nxk_add_buffer(f.k, NXK_IN, t, pushes * lanes + n);
  uint32_t out = nxk_add_buffer(f.k, NXK_OUT, t, (int64_t)n * lanes);
  for (uint32_t i = 0; i < n; i++) f.locals[i] = nxk_add_buffer(f.k, NXK_LOCAL, t, 8 * lanes);
  nxk_begin_region(f.k);
  nxk_begin_range(f.k, NXK_TASK, 1);
  if (looped > 0) {
    nxk_value i = nxk_begin_range(f.k, NXK_SEQ, looped);
    push_all(&f, i, (nxk_term){i, lanes});
    nxk_end(f.k);
  }
  for (int64_t i = looped; i < pushes; i++) {
    nxk_value number = i64(f.k, i);
    push_all(&f, number, (nxk_term){number, lanes});
  }
  nxk_value count = i64(f.k, pushes), joined[MOST_TREES];
  for (uint32_t i = 0; i < n; i++) {
    nxk_access tree = tree_of(&f, i);
    joined[i] = nxk_tree_join(f.k, kind_of(i), count, lanes, &tree, NULL, false);
  }
  for (uint32_t i = 0; i < n; i++) {
    nxk_access to = nxk_access_at(out, (int64_t)i * lanes);
    to.lane_stride = lanes > 1;
    nxk_store(f.k, &to, joined[i]);
  }
  nxk_end(f.k);
  nxk_end(f.k);
  check(f.k, NULL);
  nxk_destroy(f.k);
}

static void test_trees(void **state) {
  (void)state;
  static const uint16_t lanes[] = {1, 8, 32};
  if (nxl_unavailable()) skip();
  for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++) {
    check_trees(NX_F32, lanes[i], 3, 5, 3);
    check_trees(NX_F64, lanes[i], 9, 0, 4);
    check_trees(NX_F32, lanes[i], MOST_TREES, 7, 1);
    check_trees(NX_I32, lanes[i], 5, 12, 0);
    check_trees(NX_F32, lanes[i], 2, 250, 5); /* seven levels, all full */
  }
}

/* ---- loads */

enum { TASKS = 4, LOADS = 6, KINDS = 5 };
enum { ONE_BIT, BIT_AND_LANES, LANES_AND_BIT, LANES_ALONE, OTHER_BIT };

/* A mask of the kind, from what the task loads: a bit for all lanes and one for each. */
static nxk_value mask_of(nxk_kernel *k, int kind, nxk_value all, nxk_value each, uint16_t lanes) {
  if (kind == OTHER_BIT) all = nxk_scalar(k, NXK_not, 0, all, NXK_NONE, NXK_NONE);
  nxk_value splat = lanes > 1 ? nxk_splat(k, all, lanes) : all;
  if (kind == BIT_AND_LANES) return op2(k, NXK_and, splat, each);
  if (kind == LANES_AND_BIT) return op2(k, NXK_and, each, splat);
  return kind == LANES_ALONE ? each : splat;
}

/* In each task loads of every kind of mask, mixed, with and without other values, and before and
 * behind a store to what they read. */
static void check_loads(nx_dtype t, uint16_t lanes, uint32_t flags) {
  static const int64_t strides[LOADS] = {1, 1, -1, 2, 3, 1};
  nxk_kernel *k = nxk_create(NXK_BOUND, "loads");
  const int64_t span = 4 * lanes + LOADS;
  uint32_t in = nxk_add_buffer(k, NXK_INOUT, t, TASKS * span),
           bits = nxk_add_buffer(k, NXK_IN, NX_BOOL, TASKS * (lanes + 1)),
           out = nxk_add_buffer(k, NXK_OUT, t, (int64_t)TASKS * 2 * KINDS * LOADS * lanes);
  for (uint32_t i = 0; i < k->n_buffers; i++) k->buffers[i].restricted = true;
  nxk_begin_region(k);
  nxk_value task = nxk_begin_range(k, NXK_TASK, TASKS), results[2 * KINDS * LOADS];
  nxk_term along = {task, span}, across = {task, lanes + 1},
           to = {task, (int64_t)2 * KINDS * LOADS * lanes};
  nxk_access a = {.buffer = bits, .n_terms = 1, .terms = &across};
  a.index = a.mask = a.other = NXK_NONE;
  nxk_value all = nxk_load(k, &a, 1), masks[KINDS];
  a.offset = 1;
  a.lane_stride = lanes > 1;
  nxk_value each = nxk_load(k, &a, lanes);
  for (int kind = 0; kind < KINDS; kind++) masks[kind] = mask_of(k, kind, all, each, lanes);
  a.buffer = in;
  a.terms = &along;
  a.offset = 1;
  nxk_value other = nxk_load(k, &a, lanes);
  uint32_t n = 0;
  for (int turn = 0; turn < 2; turn++) {
    for (int i = 0; i < LOADS; i++)
      for (int kind = 0; kind < KINDS; kind++) {
        a.lane_stride = lanes > 1 ? strides[i] : 0;
        a.offset = strides[i] < 0 ? lanes : i;
        a.mask = masks[kind];
        a.other = (i + kind) % 3 == 0 ? other : NXK_NONE;
        a.flags = flags;
        results[n++] = nxk_load(k, &a, lanes);
      }
    a.mask = a.other = NXK_NONE;
    a.flags = 0;
    a.offset = 0;
    a.lane_stride = lanes > 1;
    if (turn == 0) nxk_store(k, &a, results[0]);
  }
  for (uint32_t i = 0; i < n; i++) {
    a = (nxk_access){.buffer = out, .n_terms = 1, .terms = &to, .offset = (int64_t)i * lanes};
    a.lane_stride = lanes > 1;
    a.index = a.mask = a.other = NXK_NONE;
    nxk_store(k, &a, results[i]);
  }
  nxk_end(k);
  nxk_end(k);
  check(k, NULL);
  nxk_destroy(k);
}

static void test_loads(void **state) {
  (void)state;
  static const nx_dtype dtypes[] = {NX_BOOL, NX_U8, NX_BF16, NX_F32, NX_F64};
  if (nxl_unavailable()) skip();
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    check_loads(dtypes[i], 16, NXK_SKIPS);
    check_loads(dtypes[i], 8, i % 2 ? NXK_SKIPS : 0);
    check_loads(dtypes[i], 1, 0);
  }
}

NXT_MAIN(llvm_beside) {
  nxl_set_verify(true);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_trees), cmocka_unit_test(test_loads)};
  return cmocka_run_group_tests(tests, NULL, nxt_foreign_end);
}
