/* SPDX-License-Identifier: ISC */
/* A loop of small steps whose kernel would take longer to compile than a call saves by it: the
 * first call runs its steps as kernels of their own, later ones the kernel that was made meanwhile,
 * with the same results as plain C. One of many steps is a kernel at once. One of an unknown number
 * of steps waits for the second call inside of another, too. */
#include "tests/util/api.h"

#include <string.h>
#include <time.h>

enum { N = 400, ROUNDS = 14, FEW = 9, MANY = 4000 };

static nx_tensor *whole(nx_context *c, int64_t x) {
  return GOOD(nx_full(c, 0, NX_I32, NULL, 0, NX_INTEGER(x)));
}
static nx_tensor *input(nx_context *c, nx_dtype t, int64_t n) {
  return GOOD(nx_placeholder(c, 0, t, &n, n > 0 ? 1 : 0));
}
static nx_function *make(nx_context *c, nx_tensor *const *in, size_t n_in, nx_tensor *out) {
  nx_function *f = NULL;
  OK(nx_function_create(c, in, n_in, &out, 1, NULL, &f));
  return f;
}

static nx_tensor *rounds(nx_context *c, nx_tensor *x, nx_tensor *number) {
  for (int k = 0; k < ROUNDS; k++) {
    nx_tensor *sum = GOOD(nx_reduce_sum(x, NX_ALL_AXES, 0));
    x = GOOD(nx_add(nx_mul(GOOD(nx_flip(x, (const int32_t[]){0}, 1)), whole(c, 3 + k)),
                    GOOD(nx_xor(sum, nx_cast(number, NX_I32)))));
  }
  return x;
}

/* As many steps as `limit` says. */
static nx_tensor *while_less(nx_context *c, nx_tensor *x, nx_tensor *limit) {
  nx_tensor *state[3] = {input(c, NX_I32, 0), input(c, NX_I32, N), input(c, NX_I32, 0)},
            *out[3] = {NULL};
  nx_tensor *next[3] = {GOOD(nx_add(state[0], whole(c, 1))),
                        rounds(c, rounds(c, state[1], state[0]), state[0]), state[2]};
  nx_function *below = make(c, state, 3, GOOD(nx_cmplt(state[0], state[2]))), *step = NULL;
  OK(nx_function_create(c, state, 3, next, 3, NULL, &step));
  nx_tensor *init[3] = {whole(c, 0), x, limit};
  OK(nx_while(below, step, init, 3, NULL, 0, NULL, out, 3));
  nx_function_release(below);
  nx_function_release(step);
  return out[1];
}

static nx_function *record_nested(nx_context *c, int64_t steps) {
  nx_tensor *in[3] = {input(c, NX_I64, 0), input(c, NX_I32, N), input(c, NX_I32, 0)};
  nx_tensor *next[2] = {while_less(c, in[1], in[2]), in[2]}, *out[2] = {NULL};
  nx_function *body = NULL;
  OK(nx_function_create(c, in, 3, next, 2, NULL, &body));
  nx_tensor *x = input(c, NX_I32, N);
  nx_tensor *sum = GOOD(nx_cast(nx_reduce_sum(x, NX_ALL_AXES, 0), NX_I32));
  nx_tensor *zero = GOOD(nx_xor(sum, sum)); /* nobody knows the limit */
  nx_tensor *init[2] = {x, GOOD(nx_add(zero, whole(c, (int32_t)steps)))};
  OK(nx_for(NULL, 2, body, init, 2, NULL, 0, NULL, out, 2));
  nx_function_release(body);
  return make(c, &x, 1, out[0]);
}

static nx_function *record_loop(nx_context *c, int64_t steps) {
  nx_tensor *in[2] = {input(c, NX_I64, 0), input(c, NX_I32, N)}, *out = NULL;
  nx_function *body = make(c, in, 2, rounds(c, in[1], in[0]));
  nx_tensor *x = input(c, NX_I32, N);
  OK(nx_for(NULL, steps, body, &x, 1, NULL, 0, NULL, &out, 1));
  nx_function_release(body);
  return make(c, &x, 1, out);
}

/* all: rounds of a step. */
static void loop_in_c(int64_t steps, int all, uint32_t *x) {
  uint32_t old[N];
  for (int64_t i = 0; i < steps; i++)
    for (int r = 0; r < all; r++) {
      const uint32_t k = (uint32_t)r % ROUNDS;
      uint32_t sum = 0;
      memcpy(old, x, sizeof old);
      for (int a = 0; a < N; a++) sum += old[a];
      for (int a = 0; a < N; a++) x[a] = old[N - 1 - a] * (3 + k) + (sum ^ (uint32_t)i);
    }
}

static void check_call(nx_function *f, nx_tensor *in, const uint32_t *wanted) {
  uint32_t is[N];
  nx_tensor *out = NULL;
  OK(nx_function_call(f, &in, 1, &out, 1, NULL));
  OK(nx_read(out, is, sizeof is, NULL));
  assert_memory_equal(is, wanted, sizeof is);
  nx_tensor_release(out);
}

/* Kernels that were compiled by the first call, and by the background until it is done. */
static void count(int64_t steps, bool nested, uint64_t *first, uint64_t *later) {
  const int64_t n = N;
  uint32_t x[N];
  nx_context *c = NULL;
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = ""};
  OK(nx_context_create(&o, &c));
  nx_scope *s = nx_scope_begin(c);
  nx_function *f = nested ? record_nested(c, steps) : record_loop(c, steps);
  for (uint32_t a = 0; a < N; a++) x[a] = a * 77 + 5;
  nx_tensor *in = GOOD(nx_from_data(c, 0, NX_I32, &n, 1, x, sizeof x));
  for (int i = 0; i < (nested ? 2 : 1); i++) loop_in_c(steps, nested ? 2 * ROUNDS : ROUNDS, x);
  const uint64_t before = kernels_compiled(c);
  check_call(f, in, x);
  *first = kernels_compiled(c) - before;
  for (const time_t begin = time(NULL); time(NULL) - begin < 2;) check_call(f, in, x);
  *later = kernels_compiled(c) - before - *first;
  nx_function_release(f);
  nx_scope_end(s);
  nx_context_release(c);
}

static void few_steps(void **state) {
  uint64_t first, later;
  (void)state;
  count(FEW, false, &first, &later);
  assert_true(first > 1); /* kernels of steps */
  assert_true(later >= 1);
}

static void unknown_inside(void **state) {
  uint64_t first, later;
  (void)state;
  count(FEW, true, &first, &later);
  assert_true(first > 1);
  assert_true(later >= 1);
}

static void many_steps(void **state) {
  uint64_t first, later;
  (void)state;
  count(MANY, false, &first, &later);
  assert_int_equal(first, 1);
}

NXT_MAIN(put_off) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(few_steps), cmocka_unit_test(unknown_inside),
                                     cmocka_unit_test(many_steps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
