/* SPDX-License-Identifier: ISC */
/* Custom operations that the program releases while code of graphs with them is still to be made in
 * the background. */
#include "tests/util/api.h"

#include <stdatomic.h>

enum { KINDS = 64 };

static atomic_int operations;

static void count_end(void *user) {
  (void)user;
  atomic_fetch_sub(&operations, 1);
}

static nx_status doubled(const nx_custom_call *call) {
  const float *from = call->operands[0].data;
  float *to = call->results[0].data;
  for (int64_t i = 0; i < call->results[0].elements; i++) to[i] = 2 * from[i];
  return NX_OK;
}

static nx_custom *new_operation(nx_context *c) {
  static const int64_t shape[] = {300};
  const nx_type type = {NX_F32, 1, shape};
  nx_custom *f = NULL;
  OK(nx_custom_create(c,
                      &(nx_custom_desc){.size = sizeof(nx_custom_desc),
                                        .name = "doubled",
                                        .run = doubled,
                                        .release = count_end,
                                        .n_operands = 1,
                                        .operands = &type,
                                        .n_results = 1,
                                        .results = &type},
                      &f));
  atomic_fetch_add(&operations, 1);
  return f;
}

/* A product, and a custom operation after a kernel that does little, another for each kind. What is
 * between is released before it is computed: it would be a result, too. */
static void run_operation(nx_context *c, nx_tensor *x, int kind, nx_custom *f) {
  const int64_t begin[2] = {1, 0}, end[2] = {2, 300};
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *row = nx_reshape(nx_shrink(x, begin, end, 2), (const int64_t[]){300}, 1, 0), *y = row;
  nx_tensor *made[2] = {nx_reduce_sum(nx_matmul(x, x), NX_ALL_AXES, 0)};
  for (int i = 0; i < 6; i++) y = kind >> i & 1 ? nx_abs(nx_add(y, row)) : nx_mul(y, row);
  OK(nx_custom_record(f, &y, 1, NULL, &made[1], 1));
  nx_tensor_retain(made[0]), nx_tensor_retain(made[1]);
  nx_scope_end(s);
  OK(nx_realize(c, made, 2, NULL));
  nx_tensor_release(made[0]), nx_tensor_release(made[1]);
}

/* The code of a graph is made after its custom operation has been released: the job has it, too. */
static void custom_operations_end_meanwhile(void **state) {
  (void)state;
  nx_context *c = NULL;
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = ""};
  OK(nx_context_create(&o, &c));
  nx_tensor *x = nx_full(c, 0, NX_F32, (int64_t[]){300, 300}, 2, NX_NUMBER(1e-3));
  OK(nx_realize(c, &x, 1, NULL));
  for (int kind = 0; kind < KINDS; kind++) {
    nx_custom *f = new_operation(c);
    for (int times = 0; times < 2; times++) run_operation(c, x, kind, f); /* again: it pays */
    nx_custom_release(f);
    nx_context_collect(c);
  }
  nx_tensor_release(x);
  nx_context_release(c);
  nx_context_collect(NULL);
  assert_int_equal(operations, 0);
}

NXT_MAIN(custom_background) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(custom_operations_end_meanwhile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
