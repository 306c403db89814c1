/* SPDX-License-Identifier: ISC */
/* Tests of failures of a GPU with the fake driver: it breaks while work is in progress, has no
 * memory, is too old, belongs to the parent process. Values in host memory are kept, and the other
 * devices still work. */
#include "fake_device.h"

#include <sys/wait.h>
#include <unistd.h>

#include "runtime/cuda/state.h"
#include "tests/util/runner.h"

static void expect_lost(nx_status status, const char *why) {
  nx_error e = take();
  assert_int_equal(status, NX_DEVICE_LOST);
  assert_int_equal(e.status, NX_DEVICE_LOST);
  if (strstr(e.message, why) == NULL) fprintf(stderr, "%s\n", e.message);
  assert_non_null(strstr(e.message, why));
}

/* Calls that start work succeed; the failure is reported at the next wait, and from then on with
 * the same reason. */
static void it_breaks_under_way(void **state) {
  (void)state;
  float out[3];
  nx_context *own = ctx;
  OK(nx_context_create(NULL, &ctx));
  nx_scope *scope = nx_scope_begin(ctx);
  nx_tensor *seen = GOOD(nx_add(ramp(3, 1), ramp(3, 1))), *unseen = GOOD(nx_add(seen, ramp(3, 2)));
  OK(nx_read(seen, out, sizeof out, NULL));
  OK(nx_realize(ctx, &unseen, 1, NULL));
  OK(nx_wait(ctx, CUDA));
  int64_t memory = fake->memory;
  fake->delay = 77;
  fake->fault_at = fake->launches + 2;
  nx_tensor *a = GOOD(nx_mul(seen, unseen)), *b = NULL;
  OK(nx_realize(ctx, &a, 1, NULL));
  for (int i = 0; i < 8; i++) { /* some of these calls may already fail */
    b = GOOD(nx_mul(a, number((float)i)));
    if (nx_realize(ctx, &b, 1, NULL) != NX_OK) assert_int_equal(take().status, NX_DEVICE_LOST);
  }
  expect_lost(nx_wait(ctx, CUDA), "CUDA_ERROR_719");
  expect_lost(nx_read(b, out, sizeof out, NULL), "CUDA_ERROR_719");
  expect_lost(nx_read(unseen, out, sizeof out, NULL), "CUDA_ERROR_719");
  fake->broken = 0; /* the driver's calls succeed again, which must not matter */
  nx_tensor *c = GOOD(nx_add(seen, seen));
  expect_lost(nx_realize(ctx, &c, 1, NULL), "CUDA_ERROR_719");
  EXPECT(seen, 0, 2, 4); /* it had been brought to the host */
  nx_tensor *host = GOOD(nx_arange(ctx, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 3)),
            *other = GOOD(nx_arange(ctx, CUDA + 1, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 3));
  EXPECT(nx_add(host, host), 0, 2, 4);
  EXPECT(nx_add(other, other), 0, 2, 4);
  fake->fault_at = 0;
  fake->delay = 0;
  nx_scope_end(scope);
  nx_context_release(ctx);
  ctx = own;
  assert_true(fake->memory <= memory);
  EXPECT(nx_add(ramp(3, 1), ramp(3, 1)), 0, 2,
         4); /* another context: the driver may have recovered */
}

/* A library that notices the failure first does not report the reason. */
static void a_library_notices(void **state) {
  (void)state;
  nx_context *own = ctx;
  OK(nx_context_create(NULL, &ctx));
  nx_scope *scope = nx_scope_begin(ctx);
  nx_tensor *x = GOOD(nx_reshape(ramp(1600, 1), NX_SHAPE(40, 40), 0));
  OK(nx_realize(ctx, &x, 1, NULL));
  nx_tensor *y = GOOD(nx_matmul(x, x));
  OK(nx_realize(ctx, &y, 1, NULL));
  nx_tensor *z = GOOD(nx_matmul(y, y));
  OK(nx_wait(ctx, CUDA));
  snprintf(fake->only, sizeof fake->only, "cublasLtMatmul");
  fake->fail_at = fake->calls + 1;
  fake->fail_with = 13;
  fake->fail_breaks = 1;
  expect_lost(nx_realize(ctx, &z, 1, NULL), "CUDA_ERROR_719");
  assert_string_equal(fake->failed, "cublasLtMatmul");
  fake->fail_breaks = 0;
  fake->broken = 0;
  fake->fail_at = 0;
  fake->only[0] = 0;
  nx_scope_end(scope);
  nx_context_release(ctx);
  ctx = own;
}

static void it_has_no_memory(void **state) {
  (void)state;
  nx_tensor *kept = GOOD(nx_add(ramp(1000, 1), ramp(1000, 1)));
  OK(nx_realize(ctx, &kept, 1, NULL));
  nx_memory m = {.size = sizeof m};
  OK(nx_device_memory(ctx, CUDA, &m));
  assert_true(m.live_bytes >= 4000 && m.peak_bytes >= m.live_bytes && m.allocations > 0);
  fake->most_memory = fake->memory + (1 << 20);
  nx_tensor *x = GOOD(nx_arange(ctx, CUDA, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 1 << 20));
  assert_int_equal(nx_realize(ctx, &x, 1, NULL), NX_OUT_OF_MEMORY);
  nx_error e = take();
  assert_non_null(strstr(e.message, "the GPU Fake 0 has no 4194304 bytes left"));
  fake->most_memory = 0;
  EXPECT(part(x, 0, 2, 1), 0, 1);
  EXPECT(part(kept, 0, 2, 1), 0, 2);
}

/* If a library allocates memory by itself and finds none, kept memory is given back for it. */
static void others_find_memory(void **state) {
  (void)state;
  static const struct {
    const char *call;
    int result;
  } all[] = {{"cuModuleLoadData", 2}, {"cuModuleGetFunction", 2}, {"cublasLtCreate", 3}};
  nx_context *own = ctx;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    OK(nx_context_create(NULL, &ctx));
    nx_scope *scope = nx_scope_begin(ctx);
    nx_tensor *x =
        GOOD(nx_to_device(GOOD(nx_arange(ctx, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 4096)), CUDA));
    nx_tensor *a = GOOD(nx_reshape(x, NX_SHAPE(64, 64), 0)), *b = GOOD(nx_matmul(a, a));
    if (i < 2) b = GOOD(nx_add(a, a));
    snprintf(fake->only, sizeof fake->only, "%s", all[i].call);
    fake->fail_at = fake->calls + 1;
    fake->fail_with = all[i].result;
    OK(nx_realize(ctx, &b, 1, NULL));
    assert_string_equal(fake->failed, all[i].call);
    fake->only[0] = 0;
    fake->fail_at = 0;
    nx_scope_end(scope);
    nx_context_release(ctx);
  }
  ctx = own;
}

/* Kept memory of other sizes is given back if it is needed. */
static void what_is_kept_makes_room(void **state) {
  (void)state;
  nx_context *own = ctx;
  nx_context_options o = {.size = sizeof o, .memory_limit = 6 << 20};
  OK(nx_context_create(&o, &ctx));
  nx_memory m = {.size = sizeof m};
  for (int i = 0; i < 6; i++) {
    int64_t bytes = fake->memory;
    nx_tensor *x = GOOD(nx_arange(ctx, CUDA, NX_F32, NX_NUMBER(0), NX_NUMBER(1), (4 + i) << 16));
    OK(nx_realize(ctx, &x, 1, NULL));
    nx_tensor_release(x);
    nx_context_collect(ctx);
    assert_true(fake->memory <= bytes + (6 << 20));
  }
  nx_tensor *x = GOOD(nx_arange(ctx, CUDA, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 2 << 20));
  assert_int_equal(nx_realize(ctx, &x, 1, NULL), NX_OUT_OF_MEMORY);
  assert_non_null(strstr(take().message, "would pass the memory limit of 6291456 bytes"));
  nx_tensor_release(x);
  OK(nx_device_memory(ctx, CUDA, &m));
  assert_true(m.cached_bytes > 0 && m.cached_bytes <= 6 << 20);
  int64_t before = fake->memory;
  OK(nx_device_trim(ctx, CUDA));
  assert_true(fake->memory < before);
  OK(nx_device_memory(ctx, CUDA, &m));
  assert_int_equal(m.cached_bytes, 0);
  OK(nx_device_trim(ctx, 0));
  OK(nx_device_memory(ctx, 0, &m));
  assert_int_equal(m.cached_bytes, 0);
  FAILS(NX_INVALID_ARGUMENT, nx_device_trim(ctx, 9));
  FAILS(NX_INVALID_ARGUMENT, nx_device_memory(ctx, -1, &m));
  nx_context_release(ctx);
  ctx = own;
}

/* At most a quarter of a piece is unused, or a 32nd of a large one. */
static void classes_are_close(void **state) {
  (void)state;
  int last = -1;
  int64_t last_size = 0;
  for (int64_t bytes = 1; bytes < (int64_t)1 << 46; bytes += bytes / 37 + 1) {
    int64_t size, again;
    int class = nxi_gpu_class(bytes, &size);
    assert_true(size >= bytes && size % 64 == 0 && class >= last && class < NXI_GPU_CLASSES);
    assert_true(bytes <= 512 || size - bytes <= bytes / 4);
    assert_true(bytes < 64 << 20 || size - bytes <= bytes / 32);
    assert_int_equal(nxi_gpu_class(size, &again), class);
    assert_true(again == size && (class == last) == (size == last_size));
    last = class;
    last_size = size;
  }
}

static void a_child_keeps_what_the_host_has(void **state) {
  (void)state;
  float out[3];
  nx_tensor *x = GOOD(nx_add(ramp(3, 1), ramp(3, 1))),
            *there = GOOD(nx_add(ramp(3, 2), ramp(3, 1)));
  OK(nx_realize(ctx, &there, 1, NULL));
  EXPECT(x, 0, 2, 4);
  pid_t child = fork();
  if (child == 0) {
    bool good = nx_read(x, out, sizeof out, NULL) == NX_OK && out[2] == 4;
    good &= nx_read(there, out, sizeof out, NULL) == NX_DEVICE_LOST;
    good &= nx_wait(ctx, CUDA) == NX_DEVICE_LOST;
    _exit(good ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  EXPECT(there, 0, 3, 6);
}

/* ---- an old driver, an old GPU: they are loaded once, so these are processes of their own */

static int show_old(void) {
  nx_device_info info = {.size = sizeof info};
  if (open_fake(NULL) != 0 || nx_device_describe(ctx, CUDA, &info) != NX_OK) return 1;
  nx_tensor *x = nx_arange(ctx, CUDA, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 5);
  printf("%d %s; %s\n", info.available, info.reason, nx_status_name(nx_error_take(NULL)));
  return x != NULL || close_fake(NULL);
}

static void expect_old(const char *variable, const char *wanted) {
  char command[400], said[300];
  snprintf(command, sizeof command, "%s '%s' cuda_errors old", variable, nxt_program());
  FILE *f = popen(command, "r");
  assert_non_null(f);
  assert_non_null(fgets(said, sizeof said, f));
  assert_int_equal(pclose(f), 0);
  assert_string_equal(said, wanted);
}

static void an_old_driver(void **state) {
  (void)state;
  expect_old("NXT_VERSION=11080",
             "0 the CUDA driver is for CUDA 11.8, and 12.0 is needed at least; "
             "NX_DEVICE_UNAVAILABLE\n");
}

static void a_gpu_that_the_compiler_does_not_know(void **state) {
  (void)state;
  expect_old("NXT_KIND=61",
             "0 the GPU is older than compute capability 7.0; NX_DEVICE_UNAVAILABLE\n");
  expect_old("NXT_KIND=70", "0 NVRTC 13.0 makes no code for this kind of GPU; another version "
                            "may; NX_DEVICE_UNAVAILABLE\n");
}

/* ---- libraries of several versions: in the directory, one that is no NVRTC stands for that of
 * CUDA 13 */

static int show_libraries(void) {
  float out[3] = {0};
  setenv("NX_CUDA", NXT_FAKE, 1);
  setenv("NX_CACHE_DIR", "", 1);
  unsetenv("NX_NVRTC");
  if (open_context(NULL) != 0) return 1;
  nx_tensor *x = nx_arange(ctx, CUDA, NX_F32, NX_NUMBER(0), NX_NUMBER(2), 3);
  if (x == NULL || nx_read(x, out, sizeof out, NULL) != NX_OK) nx_error_take(NULL);
  printf("%g\n", (double)out[2]);
  nx_tensor_release(x);
  return close_context(NULL);
}

static void libraries_are_the_driver_s(void **state) {
  char directory[] = "/tmp/nx-libraries-XXXXXX", command[1500], said[100];
  Dl_info libc;
  (void)state;
  assert_non_null(mkdtemp(directory));
  assert_true(dladdr((void *)(uintptr_t)&getenv, &libc) != 0);
  for (int version = 12; version <= 13; version++) {
    snprintf(command, sizeof command,
             "cd '%s' && ln -sf '%s' libnvrtc.so.12 && ln -sf '%s' libnvrtc.so.13 && "
             "LD_LIBRARY_PATH='%s' NXT_VERSION=%d040 '%s' cuda_errors libraries",
             directory, version == 12 ? NXT_FAKE : libc.dli_fname,
             version == 13 ? NXT_FAKE : libc.dli_fname, directory, version, nxt_program());
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_non_null(fgets(said, sizeof said, f));
    assert_int_equal(pclose(f), 0);
    assert_string_equal(said, "4\n");
  }
  snprintf(command, sizeof command, "rm -r '%s'", directory);
  assert_int_equal(system(command), 0);
}

NXT_MAIN(cuda_errors) {
  if (argc > 1 && strcmp(argv[1], "libraries") == 0) return show_libraries();
  if (argc > 1 && strcmp(argv[1], "old") == 0) return show_old();
  const struct CMUnitTest tests[] = {
      IN_SCOPE(it_breaks_under_way),
      IN_SCOPE(a_library_notices),
      IN_SCOPE(it_has_no_memory),
      IN_SCOPE(others_find_memory),
      IN_SCOPE(what_is_kept_makes_room),
      IN_SCOPE(classes_are_close),
      IN_SCOPE(an_old_driver),
      IN_SCOPE(a_gpu_that_the_compiler_does_not_know),
      IN_SCOPE(libraries_are_the_driver_s),
      IN_SCOPE(a_child_keeps_what_the_host_has),
  };
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
