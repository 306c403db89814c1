/* SPDX-License-Identifier: ISC */
/* Expressions of hundreds of operands, each with memory of its own: kernels with as many buffers as
 * operations can read. */
#include "tests/util/api.h"

enum { OPERANDS = 640, N = 16 };

/* Element i of the sum of the operands' chain where(c, a, chain): the last operand whose condition
 * is true there, and every third condition is true at one place alone. */
static void wheres(void **state) {
  (void)state;
  nx_tensor *chain = vector(N, -1, 0);
  float expected[N], read[N];
  for (int j = 0; j < N; j++) expected[j] = -1;
  for (int i = 0; i < OPERANDS; i++) {
    uint8_t where[N] = {0};
    float data[N];
    for (int j = 0; j < N; j++) data[j] = (float)(i * N + j);
    where[i % N] = i % 3 == 0;
    if (i % 3 == 0) expected[i % N] = data[i % N];
    nx_tensor *c = GOOD(nx_from_data(ctx, device(), NX_BOOL, NX_SHAPE(N), where, sizeof where)),
              *a = GOOD(nx_from_data(ctx, device(), NX_F32, NX_SHAPE(N), data, sizeof data));
    chain = GOOD(nx_where(c, a, chain));
  }
  OK(nx_read(chain, read, sizeof read, NULL));
  for (int j = 0; j < N; j++) assert_true(read[j] == expected[j]);
}

/* A sum of as many products; all are exact. */
static void products(void **state) {
  (void)state;
  nx_tensor *sum = vector(N, 0, 0);
  float read[N];
  int64_t expected[N] = {0};
  for (int i = 0; i < OPERANDS; i++) {
    float data[N];
    for (int j = 0; j < N; j++) data[j] = (float)(i + j);
    nx_tensor *x = GOOD(nx_from_data(ctx, device(), NX_F32, NX_SHAPE(N), data, sizeof data));
    sum = GOOD(nx_add(sum, GOOD(nx_mul(x, vector(N, 2, 0)))));
    for (int j = 0; j < N; j++) expected[j] += 2 * (i + j);
  }
  OK(nx_read(sum, read, sizeof read, NULL));
  for (int j = 0; j < N; j++) assert_true(read[j] == (float)expected[j]);
}

NXT_MAIN(wide) {
  const struct CMUnitTest tests[] = {IN_SCOPE(wheres), IN_SCOPE(products)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
