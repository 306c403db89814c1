/* SPDX-License-Identifier: ISC */
/* A group of devices of the processor, in a context that has eight, and an operand for each member:
 * what the tests of groups share. */
#ifndef NXT_MEMBERS_H
#define NXT_MEMBERS_H

#include "tests/util/api.h"

enum { MOST = 8 };

static nx_group *members[MOST];
static int32_t size; /* of the group */

static void begin_group(int32_t n, const char *name, int64_t timeout_ms) {
  nx_group_options o = {.size = sizeof o, .name = name, .timeout_ms = timeout_ms};
  nx_device devices[MOST] = {0};
  for (int32_t i = 0; i < n; i++) devices[i] = i;
  OK(nx_group_create(ctx, devices, (size_t)n, &o, members));
  size = n;
  for (int32_t i = 0; i < n; i++) {
    assert_int_equal(nx_group_rank(members[i]), i);
    assert_int_equal(nx_group_size(members[i]), n);
  }
}

static void end_group(void) {
  for (int32_t i = 0; i < size; i++) nx_group_release(members[i]);
}

/* ---- operands: element j of rank r, no two alike, whose sums depend on their order */

static float element(int32_t rank, int64_t j) {
  return (float)((rank + 1) * 1.1 + (double)j * 0.37) *
         (j % 3 == 0 ? -1.0f : 1e3f / (float)(rank + 1));
}

static nx_tensor *operand(int32_t rank, const int64_t *shape, int32_t n_axes) {
  int64_t n = 1;
  for (int32_t i = 0; i < n_axes; i++) n *= shape[i];
  float *data = malloc((size_t)(n ? n : 1) * sizeof *data);
  for (int64_t j = 0; j < n; j++) data[j] = element(rank, j);
  nx_tensor *t = nx_empty(ctx, rank, NX_F32, shape, n_axes);
  OK(nx_write(t, data, (size_t)n * sizeof *data, NULL));
  free(data);
  return GOOD(t);
}

static int open_divided(void **state) {
  (void)state;
  nx_context_options o = {.size = sizeof o, .cpu_devices = MOST};
  return nx_context_create(&o, &ctx) != NX_OK;
}

#endif
