/* SPDX-License-Identifier: ISC */
/* A chain of a million operations records, prints, realises and is freed with a small, constant stack: the whole
 * test runs on a thread with 256 KiB. */
#include "api.h"

#include <pthread.h>

enum { LINKS = 1000000 };

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
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  assert_int_equal(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
  assert_int_equal(pthread_create(&thread, &attributes, work, NULL), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

/* A chain whose only handle is dropped goes away by and by, without collect, as other calls are made. */
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(million),
                                     cmocka_unit_test(teardown_in_pieces)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
