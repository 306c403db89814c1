/* SPDX-License-Identifier: ISC */
/* What tests of the interface share: short ways to make, read and compare small f32 tensors. Every
 * failure of a call that should work is reported with the thread's error. */
#ifndef NXT_API_H
#define NXT_API_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nx/nx.h"
#include "tests/util/runner.h"

static nx_context *ctx;
/* The device of the tensors that these functions make: the number in NXT_DEVICE, or 0. */
static inline nx_device device(void) {
  const char *wish = getenv("NXT_DEVICE");
  return wish != NULL ? atoi(wish) : 0;
}

/* The thread's error must be empty. */
static inline void expect_no_error(const char *file, int line) {
  nx_error e = {.size = sizeof e};
  if (nx_error_take(&e) == NX_OK) return;
  fprintf(stderr, "%s:%d: %s: %s: %s\n", file, line, nx_status_name(e.status), e.op, e.message);
  fail();
}
#define OK(call)                         \
  do {                                   \
    nx_status ok_status = (call);        \
    expect_no_error(__FILE__, __LINE__); \
    assert_int_equal(ok_status, NX_OK);  \
  } while (0)
#define FAILS(status, call)                          \
  do {                                               \
    assert_int_equal((call), (status));              \
    assert_int_equal(nx_error_take(NULL), (status)); \
  } while (0)
/* The thread's error has this status, and words of its message. */
static inline void error_says(nx_status status, const char *words) {
  nx_error e = {.size = sizeof e};
  assert_int_equal(nx_error_take(&e), status);
  if (strstr(e.message, words) == NULL) fail_msg("%s\nhas not: %s", e.message, words);
}
static inline nx_tensor *good_(nx_tensor *t, const char *file, int line) {
  expect_no_error(file, line);
  assert_non_null(t);
  return t;
}
#define GOOD(t) good_((t), __FILE__, __LINE__)

/* Kernels that a context has compiled, in the background, too. */
static inline uint64_t kernels_compiled(nx_context *c) {
  nx_stats s = {.size = sizeof s};
  nx_context_stats(c, &s);
  return s.kernels_compiled;
}

static inline nx_tensor *vector(int64_t n, float first, float step) {
  nx_tensor *t = nx_arange(ctx, device(), NX_F32, NX_NUMBER(first), NX_NUMBER(step), n);
  return GOOD(t);
}
static inline nx_tensor *constant(int64_t n, float value) {
  return GOOD(nx_full(ctx, device(), NX_F32, &n, 1, NX_NUMBER(value)));
}
static inline nx_tensor *number(float value) {
  return GOOD(nx_full(ctx, device(), NX_F32, NULL, 0, NX_NUMBER(value)));
}
/* Elements [start, start + count) of a vector, step apart. */
static inline nx_tensor *part(nx_tensor *t, int64_t start, int64_t count, int64_t step) {
  return GOOD(nx_slice(t, &start, &count, &step, 1));
}

static inline void expect_values_(nx_tensor *t, const float *wanted, size_t n, const char *file,
                                  int line) {
  float *is = calloc(n ? n : 1, sizeof *is);
  nx_status status = nx_read(t, is, n * sizeof *is, NULL);
  expect_no_error(file, line);
  assert_int_equal(status, NX_OK);
  for (size_t i = 0; i < n; i++) {
    if (is[i] == wanted[i]) continue;
    fprintf(stderr, "%s:%d: element %zu is %g, not %g\n", file, line, i, (double)is[i],
            (double)wanted[i]);
    free(is);
    fail();
  }
  free(is);
}
#define EXPECT(t, ...)                              \
  expect_values_((t), (const float[]){__VA_ARGS__}, \
                 sizeof((const float[]){__VA_ARGS__}) / sizeof(float), __FILE__, __LINE__)

static inline int open_context(void **state) {
  (void)state;
  return nx_context_create(NULL, &ctx) != NX_OK;
}
static inline int close_context(void **state) {
  (void)state;
  nx_context_release(ctx);
  ctx = NULL;
  return nx_error_take(NULL) != NX_OK;
}
static inline void release(nx_tensor *t) { nx_tensor_release(t); }

/* Runs each test of a group in a scope of its own, so that handles that it does not release are
 * released at its end. */
static nx_scope *scope_of_test;
static inline int begin_scope(void **state) {
  (void)state;
  nx_context_collect(ctx); /* callbacks of the test before */
  scope_of_test = nx_scope_begin(ctx);
  return !scope_of_test;
}
/* Checks that nothing that the test made is left, and no error. */
static inline int nothing_left(void **state) {
  (void)state;
  nx_context_collect(ctx);
  nx_stats s = {.size = sizeof s};
  nx_context_stats(ctx, &s);
  if (s.pending_nodes || s.live_bytes)
    fprintf(stderr, "left: %d nodes, %d bytes\n", (int)s.pending_nodes, (int)s.live_bytes);
  return nx_error_take(NULL) != NX_OK || s.pending_nodes || s.live_bytes;
}
static inline int end_scope(void **state) {
  nx_scope_end(scope_of_test);
  return nothing_left(state);
}
#define IN_SCOPE(test) cmocka_unit_test_setup_teardown(test, begin_scope, end_scope)

#endif
