/* SPDX-License-Identifier: ISC */
/* Tests of copies from one GPU to another, and of large copies between host and GPU, under any
 * order that streams and events leave open; and that an order which is not asked for shows
 * itself. */
#include <string.h>

#include "fake_device.h"
#include "runtime/cuda/state.h"
#include "runtime/realize/residency.h"
#include "tests/util/runner.h"

enum { N = 3000, STEPS = 10 };

/* A value goes from GPU to GPU, is added to on each, and its memory is used again at once: whether
 * the last one is right. */
static bool goes_around(uint64_t seed) {
  static float is[N];
  nx_scope *scope = nx_scope_begin(ctx);
  fake->delay = seed;
  nx_tensor *x = ramp(N, 1), *kept[STEPS];
  OK(nx_realize(ctx, &x, 1, NULL));
  for (int i = 0; i < STEPS; i++) {
    kept[i] =
        nx_keep(GOOD(nx_add(nx_to_device(x, CUDA + (i + 1) % 2),
                            nx_full(ctx, CUDA + (i + 1) % 2, NX_F32, NULL, 0, NX_NUMBER(1)))));
    OK(nx_realize(ctx, &kept[i], 1, NULL));
    nx_tensor *other = nx_arange(ctx, CUDA + i % 2, NX_F32, NX_NUMBER(-1), NX_NUMBER(-1), N);
    OK(nx_realize(ctx, &other, 1, NULL)); /* where it was before */
    nx_tensor_release(other);
    x = kept[i];
    if (i > 1) nx_tensor_release(kept[i - 2]);
    nx_context_collect(ctx);
  }
  OK(nx_read(x, is, sizeof is, NULL));
  for (int i = STEPS - 2; i < STEPS; i++) nx_tensor_release(kept[i]);
  fake->delay = 0;
  nx_scope_end(scope);
  for (int i = 0; i < N; i++)
    if (is[i] != (float)(i + STEPS)) return false;
  return true;
}

static void from_gpu_to_gpu(void **state) {
  (void)state;
  assert_true(goes_around(0));
  const int64_t before = fake->peer_bytes;
  for (uint64_t seed = 1; seed <= 40; seed++) assert_true(goes_around(seed));
  assert_true(fake->peer_bytes - before >= INT64_C(40) * STEPS * N * 4);
}

static void a_missing_wait_is_noticed(void **state) {
  int wrong = 0;
  (void)state;
  fake->no_waits = 1;
  for (uint64_t seed = 1; seed <= 20; seed++) wrong += !goes_around(seed);
  fake->no_waits = 0;
  printf("without waits %d of 20 are wrong\n", wrong);
  assert_true(wrong > 0);
}

/* A value that is on the host too, or that the host may write, is taken from there. */
static void the_host_has_it(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_add(ramp(3, 1), ramp(3, 1)));
  EXPECT(x, 0, 2, 4);
  const int64_t before = fake->peer_bytes;
  EXPECT(nx_add(nx_to_device(x, CUDA + 1), nx_to_device(x, CUDA + 1)), 0, 4, 8);
  assert_int_equal(fake->peer_bytes, before);
}

static void every_call_fails(void **state) {
  static const char *const names[] = {"Peer", "Event", "MemAlloc"};
  static const int results[] = {1, 2, 719};
  (void)state;
  for (int k = 0; k < 9; k++)
    for (int64_t n = 1; n < 20; n++) {
      nx_context *c = NULL, *own = ctx;
      float is[3] = {0};
      OK(nx_context_create(NULL, &c));
      ctx = c;
      nx_scope *scope = nx_scope_begin(c);
      const nxt_fake before = *fake;
      nx_tensor *x = GOOD(nx_add(ramp(3, 1), ramp(3, 1))), *y = NULL;
      OK(nx_realize(c, &x, 1, NULL));
      y = GOOD(
          nx_add(nx_to_device(x, CUDA + 1), nx_full(c, CUDA + 1, NX_F32, NULL, 0, NX_NUMBER(1))));
      snprintf(fake->only, sizeof fake->only, "%s", names[k % 3]);
      fake->fail_at = fake->calls + n;
      fake->fail_with = results[k / 3];
      nx_status status = nx_read(y, is, sizeof is, NULL);
      nx_error_take(NULL);
      fake->fail_at = 0;
      fake->only[0] = 0;
      if (status == NX_OK) assert_true(is[0] == 1 && is[1] == 3 && is[2] == 5);
      else assert_true(status == NX_DEVICE_LOST || is_failure_of_a_call(status));
      if (status != NX_OK && status != NX_DEVICE_LOST) EXPECT(x, 0, 2, 4);
      nx_scope_end(scope);
      nx_context_release(c);
      ctx = own;
      assert_int_equal(fake->memory, before.memory);
      assert_int_equal(fake->events, before.events);
    }
}

/* ---- large copies: threads of the pool fill and empty large pieces of pinned memory */

static void large_copies(void **state) {
  (void)state;
  enum { LARGE = 9 << 20 }; /* floats: 36 MiB and a bit */
  nx_context_options o = {.size = sizeof o, .threads = 3, .cache_dir = ""};
  nx_context *own = ctx;
  OK(nx_context_create(&o, &ctx));
  nx_scope *scope = nx_scope_begin(ctx);
  const int64_t n = LARGE + 77;
  float *values = malloc((size_t)n * sizeof *values), *is = malloc((size_t)n * sizeof *is);
  assert_true(values != NULL && is != NULL);
  for (int64_t i = 0; i < n; i++) values[i] = (float)(i % 1000003);
  for (uint64_t seed = 0; seed < 3; seed++) {
    fake->delay = seed;
    nx_tensor *x = GOOD(nx_empty(ctx, CUDA, NX_F32, &n, 1));
    OK(nx_write(x, values, (size_t)n * sizeof *values, NULL));
    /* A scalar is computed of it, so that it goes up; then it comes back. */
    const int64_t last = n - 1, one = 1;
    nx_tensor *end = GOOD(nx_slice(x, &last, &one, &one, 1));
    OK(nx_assign(end, GOOD(nx_full(ctx, CUDA, NX_F32, &one, 1, NX_NUMBER((double)seed)))));
    OK(nx_read(x, is, (size_t)n * sizeof *is, NULL));
    assert_memory_equal(is, values, (size_t)(n - 1) * sizeof *is);
    assert_true(is[n - 1] == (float)seed);
  }
  nxi_device *v = NULL;
  assert_int_equal(nxi_device_open(ctx, CUDA, &v, NULL), NX_OK);
  const nxi_gpu *g = (const nxi_gpu *)v;
  assert_int_equal(g->up.pieces.slot_bytes, NXI_GPU_LARGE_SLOT_BYTES);
  assert_int_equal(g->down.pieces.slot_bytes, NXI_GPU_LARGE_SLOT_BYTES);
  fake->delay = 0;
  free(values);
  free(is);
  nx_scope_end(scope);
  nx_context_release(ctx);
  ctx = own;
}

NXT_MAIN(cuda_peers) {
  const struct CMUnitTest tests[] = {IN_SCOPE(from_gpu_to_gpu), IN_SCOPE(a_missing_wait_is_noticed),
                                     IN_SCOPE(the_host_has_it), IN_SCOPE(every_call_fails),
                                     IN_SCOPE(large_copies)};
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
