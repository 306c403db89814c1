/* SPDX-License-Identifier: ISC */
/* A group of two GPUs over the fake driver and the fake NCCL: the bits of a group of processors,
 * nothing through the host, members that differ or do not come, every call of NCCL failing once,
 * and members that NCCL does not connect. */
#include "fake_device.h"
#include "tests/util/runner.h"

enum { RANKS = 2, KINDS = 6, LENGTH = 30000 };

static nx_group *members[RANKS];

static void begin(nx_device first, int64_t timeout_ms) {
  nx_group_options o = {.size = sizeof o, .name = "gpus", .timeout_ms = timeout_ms};
  OK(nx_group_create(ctx, (nx_device[]){first, first + 1}, RANKS, &o, members));
}
static void end(void) {
  for (int i = 0; i < RANKS; i++) nx_group_release(members[i]);
}

static nx_tensor *operand(nx_device device, int rank, int64_t n) {
  float *data = malloc((size_t)n * sizeof *data);
  for (int64_t j = 0; j < n; j++) data[j] = (float)(1.1 * (rank + 1) + 0.37 * (double)j);
  nx_tensor *x = nx_empty(ctx, device, NX_F32, NX_SHAPE(2, n / 2));
  OK(nx_write(x, data, (size_t)n * sizeof *data, NULL));
  free(data);
  return GOOD(x);
}

static nx_tensor *record(int kind, nx_tensor *x, int rank) {
  static const nx_pair around[] = {{0, 1}, {1, 0}}, one[] = {{0, 1}};
  nx_group *g = members[rank];
  switch (kind) {
    case 0: return nx_all_reduce(x, g, NX_REDUCE_SUM, 0);
    case 1: return nx_all_gather(x, g, 1);
    case 2: return nx_all_to_all(x, g, 0, 1);
    case 3: return nx_collective_permute(x, g, around, 2);
    case 4: return nx_collective_permute(x, g, one, 1);
    default: return nx_collective_broadcast(x, g, 1);
  }
}

/* All collectives, one after the other. The sum of the results of each member, bit by bit. */
static uint64_t run_all(nx_device first, int64_t n, nx_status wanted, uint64_t *host_calls) {
  nx_tensor *y[KINDS * RANKS];
  uint64_t hash = 0;
  begin(first, 60000);
  for (int r = 0; r < RANKS; r++) {
    nx_tensor *x = operand(first + r, r, n);
    for (int k = 0; k < KINDS; k++) y[k * RANKS + r] = GOOD(record(k, x, r));
    nx_tensor_release(x);
  }
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  nx_status status = nx_realize(ctx, y, KINDS * RANKS, &o);
  if (status != wanted) fail_msg("%s: %s", nx_status_name(status), take().message);
  *host_calls = report.host_calls;
  for (int i = 0; i < KINDS * RANKS; i++) {
    float *data = malloc((size_t)n * RANKS * sizeof *data);
    size_t bytes = (size_t)nx_shape(y[i])[0] * (size_t)nx_shape(y[i])[1] * sizeof *data;
    if (!wanted) OK(nx_read(y[i], data, bytes, NULL));
    for (size_t k = 0; !wanted && k < bytes / sizeof *data; k++) {
      uint32_t word;
      memcpy(&word, &data[k], sizeof word);
      hash = (hash ^ word) * UINT64_C(0x100000001b3);
    }
    free(data);
    nx_tensor_release(y[i]);
  }
  end();
  return hash;
}

/* Of few elements and of many; work of streams done late. */
static void it_has_the_bits_of_processors(void **state) {
  (void)state;
  uint64_t host_calls;
  const int64_t lengths[] = {8, LENGTH};
  for (int i = 0; i < 2; i++) {
    uint64_t wanted = run_all(0, lengths[i], NX_OK, &host_calls);
    for (uint64_t seed = 0; seed < 6; seed++) {
      fake->delay = seed;
      assert_true(run_all(CUDA + 1, lengths[i], NX_OK, &host_calls) == wanted);
      assert_int_equal(host_calls, 0);
    }
    fake->delay = 0;
  }
}

/* What NCCL does not connect goes through the host's memory, with the same bits. */
static void it_may_refuse(void **state) {
  (void)state;
  uint64_t host_calls, wanted = run_all(0, LENGTH, NX_OK, &host_calls);
  static const char *const refused[] = {"ncclCommInitRankConfig", "ncclGetUniqueId"};
  for (int i = 0; i < 2; i++) {
    snprintf(fake->only, sizeof fake->only, "%s", refused[i]);
    fake->fail_at = fake->calls + 1;
    fake->fail_with = 5;
    assert_true(run_all(CUDA + 1, LENGTH, NX_OK, &host_calls) == wanted);
    assert_string_equal(fake->failed, refused[i]);
  }
  fake->only[0] = 0;
  fake->fail_at = 0;
}

/* Both members say so, whichever fails, and nothing waits for ever. */
static void all_fail(nx_tensor **y, nx_status status, const char *words) {
  nx_event *e[RANKS];
  for (int i = 0; i < RANKS; i++) OK(nx_realize_async(ctx, &y[i], 1, NULL, &e[i]));
  for (int i = 0; i < RANKS; i++) {
    assert_int_equal(nx_event_wait(e[i], NULL), status);
    error_says(status, words);
    nx_event_release(e[i]);
  }
}

static void each_call_fails(void **state) {
  (void)state;
  static const char *const calls[] = {"ncclAllGather", "ncclBroadcast",  "ncclSend",
                                      "ncclRecv",      "ncclGroupStart", "ncclGroupEnd"};
  static const int kinds[] = {1, 5, 2, 3, 3, 2};
  for (int i = 0; i < 6; i++) {
    nx_tensor *y[RANKS], *z[RANKS];
    begin(CUDA + 1, 60000);
    for (int r = 0; r < RANKS; r++) {
      nx_tensor *x = operand(CUDA + 1 + r, r, 16);
      y[r] = GOOD(record(kinds[i], x, r));
      z[r] = GOOD(record(0, x, r));
    }
    snprintf(fake->only, sizeof fake->only, "%s", calls[i]);
    fake->fail_at = fake->calls + 1;
    fake->fail_with = 3;
    all_fail(y, NX_DEVICE_LOST, "NCCL fails at an exchange of rank");
    fake->only[0] = 0;
    fake->fail_at = 0;
    all_fail(z, NX_DEVICE_LOST, "told to");
    end();
  }
}

static void mismatches(void **state) {
  (void)state;
  nx_tensor *y[RANKS];
  begin(CUDA + 1, 60000);
  for (int r = 0; r < RANKS; r++) y[r] = record(1, operand(CUDA + 1 + r, r, 8 + 2 * r), r);
  all_fail(y, NX_INVALID_ARGUMENT, "rank 0 calls all_gather f32[2,4], rank 1 calls all_gather");
  end();
}

static void one_does_not_come(void **state) {
  (void)state;
  nx_tensor *y[RANKS];
  begin(CUDA + 1, 100);
  for (int r = 0; r < RANKS; r++) y[r] = record(1, operand(CUDA + 1 + r, r, 8), r);
  assert_int_equal(nx_realize(ctx, y, 1, NULL), NX_TIMED_OUT);
  error_says(NX_TIMED_OUT, "s for rank 1");
  assert_int_equal(nx_realize(ctx, y + 1, 1, NULL), NX_TIMED_OUT);
  error_says(NX_TIMED_OUT, "s for rank 1");
  end();
}

NXT_MAIN(cuda_nccl) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(it_has_the_bits_of_processors),
      IN_SCOPE(it_may_refuse),
      IN_SCOPE(each_call_fails),
      IN_SCOPE(mismatches),
      IN_SCOPE(one_does_not_come),
  };
  setenv("NX_CPU_DEVICES", "2", 1);
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
