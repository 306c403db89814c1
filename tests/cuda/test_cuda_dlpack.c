/* SPDX-License-Identifier: ISC */
/* Tensors of another library in memory of a GPU: taken, and given, each side on a stream of its own
 * that the fake driver delays as far as events leave it open. */
#include <string.h>

#include "fake_device.h"
#include "nx/dlpack.h"
#include "runtime/files/dlpack_abi.h"
#include "tests/util/runner.h"

/* ---- the other library: it uses the driver by itself */

typedef int call_push(void *context);
typedef int call_pop(void **context);
typedef int call_alloc(uint64_t *at, size_t bytes);
typedef int call_free(uint64_t at);
typedef int call_stream(void **stream, unsigned flags);
typedef int call_on_stream(void *stream);
typedef int call_event(void **event, unsigned flags);
typedef int call_record(void *event, void *stream);
typedef int call_wait(void *stream, void *event, unsigned flags);
typedef int call_up(uint64_t to, const void *from, size_t bytes, void *stream);
typedef int call_down(void *to, uint64_t from, size_t bytes, void *stream);
typedef int call_set(uint64_t at, unsigned char value, size_t bytes, void *stream);

static struct {
  call_push *push;
  call_pop *pop;
  call_alloc *alloc;
  call_free *free;
  call_stream *stream;
  call_on_stream *destroy, *wait;
  call_event *event;
  call_on_stream *event_destroy;
  call_record *record;
  call_wait *wait_event;
  call_up *up;
  call_down *down;
  call_set *set;
} driver;

static void load_driver(void) {
  void *library = dlopen(NXT_FAKE, RTLD_NOW);
  assert_non_null(library);
  *(void **)&driver.push = dlsym(library, "cuCtxPushCurrent_v2");
  *(void **)&driver.pop = dlsym(library, "cuCtxPopCurrent_v2");
  *(void **)&driver.alloc = dlsym(library, "cuMemAlloc_v2");
  *(void **)&driver.free = dlsym(library, "cuMemFree_v2");
  *(void **)&driver.stream = dlsym(library, "cuStreamCreate");
  *(void **)&driver.destroy = dlsym(library, "cuStreamDestroy_v2");
  *(void **)&driver.wait = dlsym(library, "cuStreamSynchronize");
  *(void **)&driver.event = dlsym(library, "cuEventCreate");
  *(void **)&driver.event_destroy = dlsym(library, "cuEventDestroy_v2");
  *(void **)&driver.record = dlsym(library, "cuEventRecord");
  *(void **)&driver.wait_event = dlsym(library, "cuStreamWaitEvent");
  *(void **)&driver.up = dlsym(library, "cuMemcpyHtoDAsync_v2");
  *(void **)&driver.down = dlsym(library, "cuMemcpyDtoHAsync_v2");
  *(void **)&driver.set = dlsym(library, "cuMemsetD8Async");
}

enum { N = 240 };
typedef struct other {
  void *stream;
  uint64_t memory; /* N floats 0, 1, .. */
  int deleted;
  int64_t shape[3], strides[3];
} other;

static void enter(int device) { assert_int_equal(driver.push((void *)(uintptr_t)(device + 1)), 0); }
static void leave(void) {
  void *ignored;
  driver.pop(&ignored);
}

/* Makes the numbers on its own stream. */
static void begin(other *o, int device) {
  float values[N];
  for (int i = 0; i < N; i++) values[i] = (float)i;
  *o = (other){.deleted = 0};
  enter(device);
  assert_int_equal(driver.stream(&o->stream, 1), 0);
  assert_int_equal(driver.alloc(&o->memory, sizeof values), 0);
  assert_int_equal(driver.up(o->memory, values, sizeof values, o->stream), 0);
  leave();
}
static void end(other *o, int device) {
  enter(device);
  driver.free(o->memory);
  driver.destroy(o->stream);
  leave();
}

/* What `__dlpack__(stream)` does: that stream waits for its own. */
static void make_ready(const other *o, int device, int64_t stream) {
  void *event = NULL;
  enter(device);
  assert_int_equal(driver.event(&event, 2), 0);
  assert_int_equal(driver.record(event, o->stream), 0);
  assert_int_equal(driver.wait_event((void *)(uintptr_t)stream, event, 0), 0);
  driver.event_destroy(event);
  leave();
}

static void delete_it(struct DLManagedTensorVersioned *m) {
  ((other *)m->manager)->deleted++;
  free(m);
}

/* Elements first + 20 i - 2 j of the memory, 6 x 5. */
static struct DLManagedTensorVersioned *give(other *o, int device, int64_t first) {
  struct DLManagedTensorVersioned *m = malloc(sizeof *m);
  assert_non_null(m);
  o->shape[0] = 6, o->shape[1] = 5;
  o->strides[0] = 20, o->strides[1] = -2;
  *m = (struct DLManagedTensorVersioned){.major = 1,
                                         .minor = 1,
                                         .manager = o,
                                         .deleter = delete_it,
                                         .tensor = {.data = (void *)(uintptr_t)o->memory,
                                                    .device = {2, device},
                                                    .rank = 2,
                                                    .dtype = {.code = 2, .bits = 32, .lanes = 1},
                                                    .shape = o->shape,
                                                    .strides = o->strides,
                                                    .byte_offset = (uint64_t)first * 4}};
  return m;
}

/* ---- taking */

/* Whether what is taken is right, though the other library writes over its memory afterwards. */
static bool takes(uint64_t seed, int device) {
  other o;
  float is[30];
  nx_tensor *x = NULL;
  nx_scope *scope = nx_scope_begin(ctx);
  fake->delay = seed;
  begin(&o, device);
  const int64_t stream = nx_dlpack_stream(ctx, CUDA + device);
  assert_true(stream > 0);
  make_ready(&o, device, stream);
  OK(nx_from_dlpack(ctx, give(&o, device, 50), NX_IMPORT_COPY, &x));
  assert_int_equal(o.deleted, 1);
  assert_int_equal(nx_device_of(x), CUDA + device);
  enter(device);
  assert_int_equal(driver.set(o.memory, 0x7f, N * 4, o.stream), 0);
  leave();
  OK(nx_read(nx_add(x, x), is, sizeof is, NULL));
  fake->delay = 0;
  end(&o, device);
  nx_tensor_release(x);
  nx_scope_end(scope);
  for (int i = 0; i < 30; i++)
    if (is[i] != (float)(2 * (50 + i / 5 * 20 - i % 5 * 2))) return false;
  return true;
}

static void tensors_are_taken(void **state) {
  int wrong = 0;
  (void)state;
  load_driver();
  for (uint64_t seed = 0; seed < 20; seed++) assert_true(takes(seed, (int)seed % 2));
  fake->no_waits = 1;
  for (uint64_t seed = 1; seed <= 20; seed++) wrong += !takes(seed, 0);
  fake->no_waits = 0;
  printf("without waits %d of 20 are wrong\n", wrong);
  assert_true(wrong > 0);
}

static void what_is_not_taken(void **state) {
  other o;
  nx_tensor *x = NULL;
  (void)state;
  load_driver();
  begin(&o, 0);
  struct DLManagedTensorVersioned *m = give(&o, 0, 50);
  FAILS(NX_NEEDS_COPY, nx_from_dlpack(ctx, m, NX_IMPORT_SHARED, &x));
  FAILS(NX_NEEDS_COPY, nx_from_dlpack(ctx, m, NX_IMPORT_IMMUTABLE, &x));
  m->tensor.device.id = 2;
  FAILS(NX_DEVICE_UNAVAILABLE, nx_from_dlpack(ctx, m, NX_IMPORT_COPY, &x));
  m->tensor.device.id = -1;
  FAILS(NX_DEVICE_UNAVAILABLE, nx_from_dlpack(ctx, m, NX_IMPORT_COPY, &x));
  m->tensor.device = (nxi_dlpack_device){10, 0};
  FAILS(NX_DEVICE_UNAVAILABLE, nx_from_dlpack(ctx, m, NX_IMPORT_COPY, &x));
  m->tensor.device = (nxi_dlpack_device){2, 0};
  void *data = m->tensor.data;
  m->tensor.data = o.shape; /* memory of the host */
  FAILS(NX_INVALID_ARGUMENT, nx_from_dlpack(ctx, m, NX_IMPORT_COPY, &x));
  m->tensor.data = data;
  o.shape[0] = 1 << 20; /* beyond its end */
  FAILS(NX_INVALID_ARGUMENT, nx_from_dlpack(ctx, m, NX_IMPORT_COPY, &x));
  assert_int_equal(o.deleted, 0);
  o.shape[0] = 0; /* no elements: the memory is not looked at */
  m->tensor.data = NULL;
  OK(nx_from_dlpack(ctx, m, NX_IMPORT_COPY, &x));
  assert_int_equal(o.deleted, 1);
  assert_int_equal(nx_elements(x), 0);
  nx_tensor_release(x);
  end(&o, 0);
}

/* ---- giving */

/* Whether the other library gets what was computed, though it is assigned to meanwhile. Other
 * numbers for each seed: memory that is used again has those of the run before. */
static bool gives(uint64_t seed, int64_t number) {
  struct DLManagedTensorVersioned *m = NULL;
  other o;
  float is[8], own[8];
  const int64_t from = 2, count = 8, one = 1, times = (int64_t)seed + 2;
  nx_scope *scope = nx_scope_begin(ctx);
  begin(&o, 0);
  fake->delay = seed;
  nx_tensor *x = GOOD(nx_add(ramp(20, 1), ramp(20, (double)(times - 1)))),
            *part = GOOD(nx_slice(x, &from, &count, &one, 1));
  OK(nx_to_dlpack(part, NX_MAP_READ, number != 0 ? number : (int64_t)(uintptr_t)o.stream, &m));
  assert_int_equal(m->tensor.device.type, 2);
  assert_int_equal(m->tensor.device.id, 0);
  assert_true(m->flags & NXI_DLPACK_READ_ONLY && m->tensor.byte_offset == 0);
  OK(nx_assign(x, GOOD(nx_mul(x, x))));
  OK(nx_realize(ctx, &x, 1, NULL));
  enter(0);
  void *stream = number != 0 ? (void *)(uintptr_t)number : o.stream;
  assert_int_equal(driver.down(is, (uint64_t)(uintptr_t)m->tensor.data, sizeof is, stream), 0);
  leave();
  m->deleter(m);
  OK(nx_read(part, own, sizeof own, NULL));
  fake->delay = 0;
  end(&o, 0);
  nx_scope_end(scope);
  nx_context_collect(ctx);
  bool good = true;
  for (int i = 0; i < 8; i++) {
    assert_true(own[i] == (float)(times * times * (i + 2) * (i + 2)));
    good = good && is[i] == (float)(times * (i + 2));
  }
  return good;
}

static void tensors_are_given(void **state) {
  int wrong = 0;
  (void)state;
  load_driver();
  for (uint64_t seed = 0; seed < 20; seed++) assert_true(gives(seed, 0));
  fake->no_waits = 1;
  for (uint64_t seed = 1; seed <= 20; seed++) wrong += !gives(seed, 0);
  fake->no_waits = 0;
  printf("without waits %d of 20 are wrong\n", wrong);
  assert_true(wrong > 0);
}

static void what_is_not_given(void **state) {
  struct DLManagedTensorVersioned *m = NULL;
  struct DLManagedTensor *v0 = NULL;
  (void)state;
  nx_tensor *x = ramp(3, 1), *host = GOOD(nx_arange(ctx, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 3));
  FAILS(NX_INVALID_ARGUMENT, nx_to_dlpack(x, NX_MAP_READ, 0, &m));
  FAILS(NX_INVALID_ARGUMENT, nx_to_dlpack(x, NX_MAP_READ, -2, &m));
  FAILS(NX_NOT_WRITABLE, nx_to_dlpack(x, NX_MAP_READ | NX_MAP_WRITE, 1, &m));
  OK(nx_to_dlpack_v0(x, 1, &v0)); /* a copy of the consumer's own */
  assert_int_equal(v0->tensor.device.type, 2);
  v0->deleter(v0);
  FAILS(NX_INVALID_ARGUMENT, nx_to_dlpack(host, NX_MAP_READ, 1, &m));
  assert_int_equal(nx_dlpack_stream(ctx, 99), 0);
  assert_int_equal(take().status, NX_INVALID_ARGUMENT);
  assert_int_equal(nx_dlpack_stream(ctx, 0), NX_DLPACK_NO_STREAM);
  /* Without a stream it is the host's memory. */
  OK(nx_to_dlpack(x, NX_MAP_READ, NX_DLPACK_NO_STREAM, &m));
  assert_int_equal(m->tensor.device.type, 1);
  assert_true(((const float *)m->tensor.data)[2] == 2);
  m->deleter(m);
}

static void every_call_fails(void **state) {
  (void)state;
  load_driver();
  for (int k = 0; k < 2; k++)
    for (int64_t n = 1, done = 0; !done && n < 60; n++) {
      struct DLManagedTensorVersioned *m = NULL;
      nx_context *c = NULL, *own = ctx;
      other o;
      nx_tensor *y = NULL;
      OK(nx_context_create(NULL, &c));
      ctx = c;
      begin(&o, 0);
      const nxt_fake before = *fake;
      nx_scope *scope = nx_scope_begin(c);
      nx_tensor *x = GOOD(nx_add(ramp(3, 1), ramp(3, 1)));
      struct DLManagedTensorVersioned *given = give(&o, 0, 50);
      fake->failed[0] = 0;
      fake->fail_at = fake->calls + n;
      fake->fail_with = k == 0 ? 1 : 2;
      nx_status status = nx_to_dlpack(x, NX_MAP_READ, (int64_t)(uintptr_t)o.stream, &m);
      if (status == NX_OK) m->deleter(m);
      else assert_true(is_failure_of_a_call(status));
      nx_status taken = nx_from_dlpack(c, given, NX_IMPORT_COPY, &y);
      assert_int_equal(o.deleted, taken == NX_OK);
      if (taken != NX_OK) {
        const bool unknown = strcmp(fake->failed, "cuPointerGetAttribute") == 0;
        assert_true(is_failure_of_a_call(taken) || (unknown && taken == NX_INVALID_ARGUMENT));
        free(given);
      }
      done = fake->failed[0] == 0;
      fake->fail_at = 0;
      nx_error_take(NULL);
      nx_tensor_release(y);
      nx_scope_end(scope);
      nx_context_release(c);
      ctx = own;
      nothing_is_left(&before);
      end(&o, 0);
    }
}

NXT_MAIN(cuda_dlpack) {
  const struct CMUnitTest tests[] = {IN_SCOPE(tensors_are_taken), IN_SCOPE(what_is_not_taken),
                                     IN_SCOPE(tensors_are_given), IN_SCOPE(what_is_not_given),
                                     IN_SCOPE(every_call_fails)};
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
