/* SPDX-License-Identifier: ISC */
/* A chain of a million operations records, prints, realises and is freed with a small, constant
 * stack, and so do kernels as large as they get: everything runs on a thread with 64 KiB. LLVM,
 * which the default executor compiles with, needs more; the tests are run once more with each
 * interpreter. */
#include "tests/util/api.h"
#include "tests/util/executor.h"

#include <pthread.h>

#include "config.h"
#include "tests/util/share.h"

enum { LINKS = 1000000, OWN_STACK = 64 << 10, LLVM_STACK = 64 << 10 };

/* Sanitizers surround every variable with a zone that must not be touched, hence their larger
 * stacks. */
static void on_small_stack(void *(*work)(void *)) {
  bool interpreted = !NX_HAVE_LLVM || nxt_executor_interprets();
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  size_t bytes = (SANITIZED ? 8 : 1) * (size_t)(OWN_STACK + (interpreted ? 0 : LLVM_STACK));
  assert_int_equal(pthread_attr_setstacksize(&attributes, bytes), 0);
  assert_int_equal(pthread_create(&thread, &attributes, work, NULL), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

static nx_tensor *chain(nx_tensor *x, int links) {
  nx_tensor *step = number(1), *t = nx_tensor_retain(x);
  for (int i = 0; i < links; i++) {
    nx_tensor *next = i & 1 ? nx_neg(t) : nx_add(t, step);
    nx_tensor_release(t);
    t = next;
  }
  nx_tensor_release(step);
  return GOOD(t);
}

static void *work(void *arg) {
  (void)arg;
  nx_tensor *x = vector(2, 1, 1), *y = chain(x, LINKS);
  nx_stats s = {.size = sizeof s};
  nx_context_stats(ctx, &s);
  assert_true(s.pending_nodes > LINKS);
  char *text = NULL;
  OK(nx_dump(&y, 1, "graph", &text));
  assert_true(strlen(text) > 20u * LINKS);
  nx_string_free(text);
  /* add 1, negate, add 1, negate: x + 1, -x - 1, -x, x */
  EXPECT(y,
         LINKS % 4 == 0   ? 1
         : LINKS % 4 == 2 ? -2
                          : 0,
         LINKS % 4 == 0   ? 2
         : LINKS % 4 == 2 ? -3
                          : 0);
  nx_tensor *unused = chain(y, LINKS); /* never realised */
  nx_tensor_release(unused);
  nx_tensor_release(x);
  nx_tensor_release(y);
  nx_context_collect(ctx);
  nx_context_stats(ctx, &s);
  assert_int_equal(s.pending_nodes, 0);
  assert_int_equal(s.live_bytes, 0);
  return NULL;
}

static void million(void **state) {
  (void)state;
  on_small_stack(work);
}

/* x among pads and cats of itself, as deep as a kernel goes; the elements that are x again. */
static nx_tensor *nested(nx_tensor *x, int depth, bool pads) {
  int64_t one = 1, none = 0, n = 3000;
  nx_tensor *t = nx_tensor_retain(x), *wide, *back;
  for (int i = 0; i < depth; i++) {
    wide = pads ? nx_pad(t, &one, &one, 1, NX_NUMBER(7)) : nx_cat((nx_tensor *[]){t, x}, 2, 0);
    back = pads ? nx_shrink(wide, &one, (int64_t[]){n + 1}, 1) : nx_shrink(wide, &none, &n, 1);
    release(t), release(wide);
    t = nx_neg(back);
    release(back);
  }
  return GOOD(t);
}

/* Every other axis of sixteen folded, after a permutation. */
static nx_tensor *many_axes(void) {
  int64_t shape[16];
  int32_t order[16], folded[8];
  for (int i = 0; i < 16; i++) shape[i] = i % 3 ? 2 : 3, order[i] = (i * 7 + 3) % 16;
  for (int i = 0; i < 8; i++) folded[i] = 2 * i;
  nx_tensor *line = vector(1, 1, 0), *x = nx_expand(line, (int64_t[]){729 * 1024}, 1),
            *y = nx_copy(x), *z = nx_reshape(y, shape, 16, 0), *p = nx_permute(z, order, 16),
            *s = nx_sin(p), *t = GOOD(nx_reduce_sum(s, folded, 8, 0));
  release(line), release(x), release(y), release(z), release(p), release(s);
  return t;
}

static void *compile_large(void *arg) {
  (void)arg;
  nx_tensor *x = vector(3000, 1, 1),
            *t[4] = {nested(x, 40, true), nested(x, 20, false), many_axes(),
                     nx_reduce_max(x, NX_AXES(0), NX_KEEPDIMS)};
  for (int i = 0; i < 30; i++) { /* functions are many instructions */
    nx_tensor *tail = nx_tan(t[3]), *power = nx_pow(tail, t[3]);
    release(t[3]), release(tail);
    t[3] = power;
  }
  OK(nx_realize(ctx, t, 4, NULL));
  nx_scalar a;
  OK(nx_item(t[0], (int64_t[]){5}, 1, &a, NULL));
  assert_true(a.v.f[0] == 6);
  OK(nx_item(t[1], (int64_t[]){2999}, 1, &a, NULL));
  assert_true(a.v.f[0] == 3000);
  release(x);
  for (int i = 0; i < 4; i++) release(t[i]);
  return NULL;
}

static void large_kernels(void **state) {
  (void)state;
  on_small_stack(compile_large);
}

/* A chain whose only handle is dropped goes away by and by, without collect, as other calls are
 * made. */
static void teardown_in_pieces(void **state) {
  (void)state;
  nx_tensor *x = vector(2, 1, 1), *y = chain(x, 100000);
  nx_tensor_release(y);
  nx_tensor_release(x);
  nx_stats s = {.size = sizeof s};
  for (int i = 0; i < 20000; i++) nx_tensor_release(number((float)i));
  nx_context_stats(ctx, &s);
  assert_true(s.pending_nodes < 1000);
}

NXT_MAIN(chain) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(million), cmocka_unit_test(large_kernels),
                                     cmocka_unit_test(teardown_in_pieces)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
