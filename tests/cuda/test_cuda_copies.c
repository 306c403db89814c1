/* SPDX-License-Identifier: ISC */
/* Tests of copies between host and GPU that are concurrent with its work. The fake driver delays
 * everything as long as streams and events allow, so that a missing wait causes wrong values. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "fake_device.h"
#include "runtime/cuda/gpu.h"
#include "runtime/realize/residency.h"
#include "runtime/record/objects.h"
#include "tests/util/runner.h"

enum { LARGE = 5 << 18, ROUNDS = 12 }; /* floats: more than fits all slots of a lane */

static float *numbers(int64_t n, float first) {
  float *p = malloc((size_t)n * sizeof *p);
  assert_non_null(p);
  for (int64_t i = 0; i < n; i++) p[i] = first + (float)(i % 1000);
  return p;
}

static nx_tensor *given(nx_context *c, nx_device where, const float *values, int64_t n) {
  nx_tensor *x = nx_empty(c, where, NX_F32, &n, 1);
  OK(nx_write(x, values, (size_t)n * sizeof *values, NULL));
  return x;
}

static void expect_all(nx_tensor *x, const float *from, int64_t n, float scale, float add) {
  float *is = malloc((size_t)n * sizeof *is);
  assert_non_null(is);
  memset(is, 0xff, (size_t)n * sizeof *is);
  OK(nx_read(x, is, (size_t)n * sizeof *is, NULL));
  for (int64_t i = 0; i < n; i++)
    if (is[i] != from[i] * scale + add) {
      fprintf(stderr, "element %lld is %g\n", (long long)i, (double)is[i]);
      free(is);
      fail();
      return;
    }
  free(is);
}

/* Inputs are copied to the GPU while earlier results are not yet computed and copied back. Memory
 * of inputs is reused; that of results is of another size class. */
static void pipeline(nx_context *c, nx_device where, int64_t n, uint64_t seed) {
  float *values[ROUNDS];
  nx_tensor *results[ROUNDS];
  fake->delay = seed;
  for (int i = 0; i < ROUNDS; i++) {
    values[i] = numbers(n, (float)i);
    nx_scope *scope = nx_scope_begin(c);
    nx_tensor *half = part(given(c, where, values[i], n), 0, n / 2, 1),
              *two = nx_full(c, where, NX_F32, NULL, 0, NX_NUMBER(2)),
              *number = nx_full(c, where, NX_F32, NULL, 0, NX_NUMBER(i));
    results[i] = nx_keep(nx_add(nx_mul(half, two), number));
    OK(nx_realize(c, &results[i], 1, NULL));
    nx_scope_end(scope);
    nx_context_collect(c); /* the memory of the input is reused */
    if (i >= 2) expect_all(results[i - 2], values[i - 2], n / 2, 2, (float)(i - 2));
    if (i >= 2) nx_tensor_release(results[i - 2]);
  }
  for (int i = ROUNDS - 2; i < ROUNDS; i++) {
    expect_all(results[i], values[i], n / 2, 2, (float)i);
    nx_tensor_release(results[i]);
  }
  for (int i = 0; i < ROUNDS; i++) free(values[i]);
  fake->delay = 0;
}

static void copies_overlap_work(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 12; seed++) pipeline(ctx, CUDA, 700, seed);
  pipeline(ctx, CUDA, LARGE, 3);
}

/* A result is available before work that was started after it ends: the copy does not wait for the
 * whole stream. */
static void a_result_does_not_wait_for_later_work(void **state) {
  (void)state;
  enum { LATER = 40 };
  nx_tensor *later[LATER];
  int early = 0;
  for (uint64_t seed = 1; seed <= 10; seed++) {
    float *values = numbers(64, 1);
    nx_tensor *x = given(ctx, CUDA, values, 64), *y = GOOD(nx_add(x, x));
    OK(nx_realize(ctx, &y, 1, NULL));
    expect_all(y, values, 64, 2, 0); /* everything is compiled */
    nx_tensor_release(y);
    fake->delay = seed;
    y = GOOD(nx_add(x, nx_add(x, x)));
    OK(nx_realize(ctx, &y, 1, NULL));
    int64_t start = fake->launches;
    for (int i = 0; i < LATER; i++) {
      later[i] = GOOD(nx_add(i ? later[i - 1] : y, x));
      OK(nx_realize(ctx, &later[i], 1, NULL));
    }
    expect_all(y, values, 64, 3, 0);
    early += fake->launches - start < LATER;
    expect_all(later[LATER - 1], values, 64, LATER + 3, 0);
    fake->delay = 0;
    for (int i = 0; i < LATER; i++) nx_tensor_release(later[i]);
    nx_tensor_release(y);
    nx_tensor_release(x);
    free(values);
  }
  assert_true(early > 0);
}

static int32_t stop(void *user) {
  ++*(int *)user;
  return 1;
}

/* Waiting for a result can be interrupted; asking again gives the result. */
static void waiting_is_interrupted(void **state) {
  (void)state;
  float out[64];
  int asked = 0;
  nx_run_options o = {.size = sizeof o, .poll = stop, .user = &asked};
  nx_tensor *x = ramp(64, 1), *y = x;
  fake->delay = 5;
  for (int i = 0; i < 60; i++) {
    y = GOOD(nx_add(y, x));
    OK(nx_realize(ctx, &y, 1, NULL));
  }
  FAILS(NX_INTERRUPTED, nx_read(y, out, sizeof out, &o));
  assert_int_equal(asked, 1);
  OK(nx_read(y, out, sizeof out, NULL));
  fake->delay = 0;
  for (int i = 0; i < 64; i++) assert_true(out[i] == (float)(61 * i));
}

/* Memory that host code may write is copied again in each run, in the order of the work. */
static void mapped_memory_goes_up_each_time(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 12; seed++) {
    fake->delay = seed;
    float zeros[300] = {0}, *shown;
    nx_tensor *x = given(ctx, CUDA, zeros, 300), *sums[8];
    nx_mapping *m = NULL;
    OK(nx_map(x, NX_MAP_READ | NX_MAP_WRITE, NULL, &m));
    shown = nx_mapping_base(m, NULL);
    for (int i = 0; i < 8; i++) {
      for (int k = 0; k < 300; k++) shown[k] = (float)(i + k);
      sums[i] = GOOD(nx_add(x, x));
      OK(nx_realize(ctx, &sums[i], 1, NULL));
    }
    for (int i = 0; i < 8; i++) {
      float wanted[300];
      for (int k = 0; k < 300; k++) wanted[k] = (float)(i + k);
      expect_all(sums[i], wanted, 300, 2, 0);
      nx_tensor_release(sums[i]);
    }
    nx_mapping_release(m);
    nx_tensor_release(x);
    fake->delay = 0;
  }
}

static void elements_are_looked_at(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_add(ramp(5, 1), ramp(5, 2)));
  nx_scalar v;
  OK(nx_realize(ctx, &x, 1, NULL));
  for (int64_t i = 0; i < 5; i++) {
    OK(nx_item(x, &i, 1, &v, NULL));
    assert_true(v.v.f[0] == 3 * (double)i);
  }
}

/* Memory that is freed before the work that uses it has begun. */
static void what_is_freed_is_left_alone(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 20; seed++)
    for (int marked = 0; marked < 2; marked++) {
      nxi_gpu *g = NULL;
      float in[64], junk[64], out[64];
      uint64_t a, b, p, q, after;
      for (int i = 0; i < 64; i++) in[i] = (float)i, junk[i] = -1;
      assert_int_equal(nxi_gpu_open(0, 0, &g, NULL), NX_OK);
      assert_int_equal(nxi_gpu_alloc(g, sizeof in, &a, NULL), NX_OK);
      assert_int_equal(nxi_gpu_alloc(g, sizeof in, &b, NULL), NX_OK);
      assert_int_equal(nxi_gpu_alloc(g, sizeof in, &p, NULL), NX_OK);
      fake->delay = seed;
      assert_int_equal(nxi_gpu_upload(g, a, in, sizeof in, 0, NULL), NX_OK);
      nxi_gpu_mark(g);
      assert_int_equal(nxi_gpu_copy(g, p, a, sizeof in, NULL), NX_OK);
      assert_int_equal(nxi_gpu_copy(g, b, p, sizeof in, NULL), NX_OK);
      if (marked) nxi_gpu_free_after(g, p, sizeof in, nxi_gpu_mark(g));
      else nxi_gpu_free(g, p, sizeof in);
      assert_int_equal(nxi_gpu_alloc_after(g, sizeof in, &q, &after, NULL), NX_OK);
      assert_true(q == p);
      assert_int_equal(nxi_gpu_upload(g, q, junk, sizeof junk, after, NULL), NX_OK);
      assert_int_equal(nxi_gpu_download(g, out, b, sizeof out, NXI_NOW, NULL, NULL), NX_OK);
      assert_memory_equal(out, in, sizeof out);
      fake->delay = 0;
      nxi_gpu_free(g, a, sizeof in);
      nxi_gpu_free(g, b, sizeof in);
      nxi_gpu_free(g, q, sizeof in);
      nxi_gpu_close(g);
    }
}

/* If the GPU has written a value of mapped memory and it was not copied to the host yet, the host's
 * old contents must not overwrite it. */
static void what_is_newer_stays(void **state) {
  (void)state;
  nxi_gpu *g = NULL;
  nxi_buffer *b = NULL;
  unsigned char pattern[64], is[64];
  uint64_t at, from;
  int asked = 0;
  nxi_poll poll = {stop, &asked};
  memset(pattern, 9, sizeof pattern);
  assert_int_equal(nxi_device_open(ctx, CUDA, (nxi_device **)&g, NULL), NX_OK);
  assert_int_equal(nxi_buffer_create(ctx, 64, &b, NULL), NX_OK);
  memset(b->data, 1, 64);
  b->pinner = (nxi_storage *)&asked; /* only whether there is one is looked at */
  b->writers = 1;
  assert_int_equal(nxi_buffer_to_device(ctx, b, (nxi_device *)g, true, &at, NULL), NX_OK);
  assert_int_equal(nxi_gpu_alloc(g, 64, &from, NULL), NX_OK);
  assert_int_equal(nxi_gpu_upload(g, from, pattern, 64, NXI_NOW, NULL), NX_OK);
  fake->delay = 5;
  for (int i = 0; i < 60; i++) assert_int_equal(nxi_gpu_copy(g, at, from, 64, NULL), NX_OK);
  nx_status status = nxi_buffer_device_written(ctx, b, nxi_gpu_mark(g), &poll, NULL);
  assert_int_equal(status, NX_INTERRUPTED);
  fake->delay = 0;
  nxi_buffer_device_done(b, NXI_NOW);
  nxi_buffer_host_written(b); /* by a mapping that was released before, and ends now */
  assert_int_equal(nxi_buffer_to_device(ctx, b, (nxi_device *)g, true, &at, NULL), NX_OK);
  assert_int_equal(nxi_gpu_download(g, is, at, 64, NXI_NOW, NULL, NULL), NX_OK);
  assert_memory_equal(is, pattern, 64);
  nxi_buffer_device_done(b, NXI_NOW);
  nxi_gpu_free(g, from, 64);
  b->pinner = NULL;
  b->writers = 0;
  nxi_record_lock(ctx);
  nxi_buffer_unref(ctx, b);
  nxi_record_unlock(ctx);
}

/* A buffer goes while another thread, whose device is short of memory, takes what it has there. */
static atomic_bool still_takes;

static void *take_copies(void *device) {
  while (atomic_load(&still_takes)) nxi_buffers_leave(device, 1);
  return NULL;
}

/* A buffer in memory of the device; `used`: by a run that has not ended. */
static nxi_buffer *there(nxi_gpu *g, bool used) {
  nxi_buffer *b = NULL;
  uint64_t at;
  assert_int_equal(nxi_buffer_create(ctx, 64, &b, NULL), NX_OK);
  assert_int_equal(nxi_buffer_to_device(ctx, b, (nxi_device *)g, true, &at, NULL), NX_OK);
  if (!used) nxi_buffer_device_done(b, NXI_NOW);
  return b;
}

static void drop(nxi_buffer *b) {
  nxi_record_lock(ctx);
  nxi_buffer_unref(ctx, b);
  nxi_record_unlock(ctx);
}

static void a_buffer_goes_while_its_copy_is_taken(void **state) {
  enum { USED = 1000, TIMES = 2000 };
  static nxi_buffer *used[USED]; /* looking through them takes the other thread some time */
  (void)state;
  nxi_gpu *g = NULL;
  nxi_gpu_stats before, after;
  pthread_t thread;
  assert_int_equal(nxi_device_open(ctx, CUDA, (nxi_device **)&g, NULL), NX_OK);
  for (int i = 0; i < USED; i++) used[i] = there(g, true);
  nxi_gpu_statistics(g, &before);
  atomic_store(&still_takes, true);
  assert_int_equal(pthread_create(&thread, NULL, take_copies, g), 0);
  for (int i = 0; i < TIMES; i++) {
    nxi_buffer *b = there(g, false);
    for (volatile int wait = i % 64 * 64; wait > 0; wait--) {}
    drop(b);
  }
  atomic_store(&still_takes, false);
  pthread_join(thread, NULL);
  nxi_gpu_statistics(g, &after);
  for (int i = 0; i < USED; i++) {
    nxi_buffer_device_done(used[i], NXI_NOW);
    drop(used[i]);
  }
  assert_int_equal(after.live, before.live); /* each piece was given back once */
}

/* Memory whose address a run has is not reused when the buffer moves to another GPU. */
static void a_buffer_leaves_while_it_is_read(void **state) {
  (void)state;
  nxi_gpu *first = NULL, *second = NULL;
  nxi_buffer *b = NULL;
  uint64_t at, elsewhere, others;
  assert_int_equal(nxi_device_open(ctx, CUDA, (nxi_device **)&first, NULL), NX_OK);
  assert_int_equal(nxi_device_open(ctx, CUDA + 1, (nxi_device **)&second, NULL), NX_OK);
  assert_int_equal(nxi_buffer_create(ctx, 7777, &b, NULL), NX_OK);
  assert_int_equal(nxi_buffer_to_device(ctx, b, (nxi_device *)first, true, &at, NULL), NX_OK);
  assert_int_equal(nxi_buffer_to_device(ctx, b, (nxi_device *)second, true, &elsewhere, NULL),
                   NX_OK);
  assert_int_equal(nxi_gpu_alloc(first, 7777, &others, NULL), NX_OK);
  assert_true(others != at);
  nxi_gpu_free(first, others, 7777);
  nxi_buffer_device_done(b, 1);
  nxi_buffer_device_done(b, 1);
  uint64_t again[2]; /* the two pieces that are free */
  for (int i = 0; i < 2; i++) assert_int_equal(nxi_gpu_alloc(first, 7777, &again[i], NULL), NX_OK);
  assert_true(again[0] == at || again[1] == at);
  for (int i = 0; i < 2; i++) nxi_gpu_free(first, again[i], 7777);
  nxi_record_lock(ctx);
  nxi_buffer_unref(ctx, b);
  nxi_record_unlock(ctx);
}

/* ---- two GPUs, two threads */

typedef struct worker {
  nx_device device;
  bool good;
} worker;

static void *work(void *given_worker) {
  worker *w = given_worker;
  float values[500], is[500];
  w->good = true;
  for (int i = 0; i < 500; i++) values[i] = (float)i;
  for (int round = 0; round < 20 && w->good; round++) {
    int64_t n = 500;
    nx_tensor *x = nx_empty(ctx, w->device, NX_F32, &n, 1);
    bool good = nx_write(x, values, sizeof values, NULL) == NX_OK;
    nx_tensor *other = nx_to_device(x, w->device == CUDA ? CUDA + 1 : CUDA),
              *y = nx_add(other, other);
    nx_tensor *back = nx_to_device(y, w->device), *z = nx_add(back, x);
    good = good && nx_read(z, is, sizeof is, NULL) == NX_OK;
    for (int i = 0; i < 500 && good; i++) good = is[i] == 3 * values[i];
    w->good = good;
    nx_tensor *all[] = {x, other, y, back, z};
    for (int i = 0; i < 5; i++) nx_tensor_release(all[i]);
  }
  return NULL;
}

static void two_at_once(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed <= 2; seed++) {
    pthread_t threads[2];
    worker workers[2] = {{CUDA, false}, {CUDA + 1, false}};
    fake->delay = seed;
    for (int i = 0; i < 2; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    fake->delay = 0;
    assert_true(workers[0].good && workers[1].good);
  }
}

/* ---- failures of calls for streams, events and pinned memory: copies are made in another way, or
 * report the failure */

static void every_call_fails(void **state) {
  static const char *const names[] = {"Event", "Stream", "Host", "Memcpy"};
  static const int results[] = {1, 2, 719};
  (void)state;
  for (int k = 0; k < 12; k++) {
    bool done = false;
    for (int64_t n = 1; !done && n < 60; n++) {
      nx_context *c = NULL;
      float values[] = {1, 2, 3}, is[3] = {0};
      int64_t three = 3;
      OK(nx_context_create(NULL, &c));
      const nxt_fake before = *fake;
      snprintf(fake->only, sizeof fake->only, "%s", names[k % 4]);
      fake->failed[0] = 0;
      fake->fail_at = fake->calls + n;
      fake->fail_with = results[k / 4];
      nx_status status = NX_OK;
      for (int i = 0; i < 2 && status == NX_OK; i++) {
        nx_tensor *x = nx_empty(c, CUDA, NX_F32, &three, 1), *y = nx_add(x, x);
        status = x != NULL ? nx_write(x, values, sizeof values, NULL) : nx_error_take(NULL);
        nx_tensor_release(y);
        y = nx_add(x, x);
        if (status == NX_OK)
          status = y != NULL ? nx_read(y, is, sizeof is, NULL) : nx_error_take(NULL);
        nx_tensor_release(x);
        nx_tensor_release(y);
      }
      nx_error_take(NULL);
      done = fake->failed[0] == 0;
      if (status == NX_OK) assert_true(is[0] == 2 && is[1] == 4 && is[2] == 6);
      else if (results[k / 4] == 719)
        assert_true(status == NX_DEVICE_LOST || status == NX_DEVICE_UNAVAILABLE);
      else
        assert_true(status == NX_INTERNAL || status == NX_OUT_OF_MEMORY ||
                    status == NX_DEVICE_UNAVAILABLE);
      nx_context_release(c);
      fake->fail_at = 0;
      fake->only[0] = 0;
      assert_int_equal(fake->events, before.events);
      assert_int_equal(fake->streams, before.streams);
      assert_int_equal(fake->pinned_pieces, before.pinned_pieces);
      assert_int_equal(fake->memory, before.memory);
    }
  }
}

/* What is read is copied from the GPU to where it is wanted: parts that begin somewhere, views that
 * are not in one piece, what was assigned since, a value that the host has as well. */
static void parts_are_read(void **state) {
  (void)state;
  const int64_t n = LARGE, cut = 777;
  float *values = numbers(n, 1), *is = malloc((size_t)n * sizeof *is);
  assert_non_null(is);
  nx_tensor *x = nx_neg(given(ctx, CUDA, values, n)), *from = part(x, cut, n - cut, 1);
  OK(nx_realize(ctx, &x, 1, NULL));
  nx_stats before = {.size = sizeof before}, after = before;
  nx_context_stats(ctx, &before);
  for (int round = 0; round < 2; round++) {
    OK(nx_read(from, is, (size_t)(n - cut) * sizeof *is, NULL));
    for (int64_t i = 0; i < n - cut; i++) assert_true(is[i] == -values[i + cut]);
  }
  nx_context_stats(ctx, &after);
  assert_int_equal(after.peak_bytes, before.peak_bytes); /* no memory of the host */
  nx_tensor *turned = nx_flip(x, NX_AXES(0));
  OK(nx_read(turned, is, (size_t)n * sizeof *is, NULL));
  for (int64_t i = 0; i < n; i++) assert_true(is[i] == -values[n - 1 - i]);
  OK(nx_assign(from, nx_abs(from)));
  expect_all(from, values + cut, n - cut, 1, 0);
  free(values);
  free(is);
}

/* Small copies to the GPU share pinned memory and follow the work in order: an upload is one call
 * of the driver beside entering it, and waits for nothing. Large ones come in between. */
static void small_copies_wait_for_nothing(void **state) {
  enum { SMALL = 1024, COPIES = 200 };
  static const int64_t sizes[] = {SMALL, 1, 200 << 10, SMALL + 3, 700 << 10, 77, 250 << 10};
  nxi_gpu *g = NULL;
  uint64_t at;
  (void)state;
  assert_int_equal(nxi_device_open(ctx, CUDA, (nxi_device **)&g, NULL), NX_OK);
  float *values = numbers((700 << 10) + COPIES, 1), *is = malloc((size_t)(700 << 10) * sizeof *is);
  assert_non_null(is);
  assert_int_equal(nxi_gpu_alloc(g, COPIES * SMALL * 4, &at, NULL), NX_OK);
  assert_int_equal(nxi_gpu_upload(g, at, values, 4, NXI_NOW, NULL), NX_OK);
  fake->delay = 5;
  const nxt_fake before = *fake;
  for (uint64_t i = 0; i < COPIES; i++)
    assert_int_equal(nxi_gpu_upload(g, at + i * SMALL * 4, values + i, SMALL * 4, NXI_NOW, NULL),
                     NX_OK);
  assert_in_range(fake->calls - before.calls, 2 * COPIES, 2 * COPIES + 4); /* another slot */
  assert_in_range(fake->host_waits - before.host_waits, 0, 2); /* as often as slots change */
  assert_int_equal(nxi_gpu_download(g, is, at, COPIES * SMALL * 4, NXI_NOW, NULL, NULL), NX_OK);
  for (int i = 0; i < COPIES * SMALL; i++) assert_true(is[i] == values[i / SMALL + i % SMALL]);
  nxi_gpu_free(g, at, COPIES * SMALL * 4);
  for (size_t i = 0; i < 5 * sizeof sizes / sizeof *sizes; i++) {
    const int64_t n = sizes[i % (sizeof sizes / sizeof *sizes)];
    nx_tensor *x = given(ctx, CUDA, values + i, n), *two = nx_add(x, x);
    expect_all(two, values + i, n, 2, 0);
  }
  fake->delay = 0;
  free(values), free(is);
}

/* Small copies are on the stream of work, behind what was started before. A large one that comes
 * after them goes on a stream of its own through memory of its own, and waits for none of that. */
static void large_copies_do_not_wait_for_small_ones(void **state) {
  enum { WORK = 600, SMALL = 4096, BYTES = 5 << 20 }; /* more than fits all slots of a lane */
  nxi_gpu *g = NULL;
  unsigned char *bytes = malloc(BYTES), *is = malloc(BYTES);
  uint64_t a, b, to;
  (void)state;
  assert_true(bytes != NULL && is != NULL);
  for (int i = 0; i < BYTES; i++) bytes[i] = (unsigned char)(7 * i + i / 251);
  assert_int_equal(nxi_device_open(ctx, CUDA, (nxi_device **)&g, NULL), NX_OK);
  assert_int_equal(nxi_gpu_alloc(g, SMALL, &a, NULL), NX_OK);
  assert_int_equal(nxi_gpu_alloc(g, SMALL, &b, NULL), NX_OK);
  assert_int_equal(nxi_gpu_alloc(g, BYTES, &to, NULL), NX_OK);
  for (uint64_t seed = 1; seed <= 10; seed++) {
    fake->delay = seed;
    for (int i = 0; i < WORK; i++)
      assert_int_equal(nxi_gpu_copy(g, i % 2 ? a : b, i % 2 ? b : a, SMALL, NULL), NX_OK);
    assert_int_equal(nxi_gpu_upload(g, a, bytes, SMALL, NXI_NOW, NULL), NX_OK);
    const int64_t waiting = fake->waiting;
    assert_true(waiting > WORK / 8);
    assert_int_equal(nxi_gpu_upload(g, to, bytes, BYTES, 0, NULL), NX_OK);
    assert_true(fake->waiting > waiting / 2);
    assert_int_equal(nxi_gpu_download(g, is, to, BYTES, NXI_NOW, NULL, NULL), NX_OK);
    assert_memory_equal(is, bytes, BYTES);
    assert_int_equal(nxi_gpu_download(g, is, a, SMALL, NXI_NOW, NULL, NULL), NX_OK);
    assert_memory_equal(is, bytes, SMALL);
    fake->delay = 0;
  }
  nxi_gpu_free(g, a, SMALL);
  nxi_gpu_free(g, b, SMALL);
  nxi_gpu_free(g, to, BYTES);
  free(bytes), free(is);
}

NXT_MAIN(cuda_copies) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(copies_overlap_work),
      IN_SCOPE(a_result_does_not_wait_for_later_work),
      IN_SCOPE(waiting_is_interrupted),
      IN_SCOPE(mapped_memory_goes_up_each_time),
      IN_SCOPE(elements_are_looked_at),
      IN_SCOPE(what_is_freed_is_left_alone),
      IN_SCOPE(what_is_newer_stays),
      IN_SCOPE(a_buffer_goes_while_its_copy_is_taken),
      IN_SCOPE(a_buffer_leaves_while_it_is_read),
      IN_SCOPE(two_at_once),
      IN_SCOPE(parts_are_read),
      IN_SCOPE(small_copies_wait_for_nothing),
      IN_SCOPE(large_copies_do_not_wait_for_small_ones),
      IN_SCOPE(every_call_fails),
  };
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
