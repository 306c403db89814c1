/* SPDX-License-Identifier: ISC */
/* Tests of the device "cuda" over a fake driver (fake_cuda.h): values are copied to it and back,
 * and every call of the driver fails once. */
#include "fake_device.h"
#include "tests/util/runner.h"

#include <sys/wait.h>
#include <unistd.h>

static void devices_are_described(void **state) {
  (void)state;
  nx_device_info info = {.size = sizeof info};
  assert_int_equal(nx_device_count(ctx), 4); /* cpu, interp, two GPUs */
  OK(nx_device_describe(ctx, CUDA, &info));
  assert_string_equal(info.name, "cuda");
  assert_true(info.available);
  assert_null(info.reason);
  assert_int_equal(info.dlpack_type, 2);
  assert_int_equal(info.memory, (uint64_t)1 << 33);
  OK(nx_device_describe(ctx, CUDA + 1, &info));
  assert_string_equal(info.name, "cuda:1");
  assert_int_equal(info.ordinal, 1);
  OK(nx_wait(ctx, CUDA));
}

static void values_are_computed_there(void **state) {
  (void)state;
  int64_t launches = fake->launches;
  nx_tensor *a = ramp(5, 1), *b = GOOD(nx_add(nx_mul(a, a), a));
  EXPECT(b, 0, 2, 6, 12, 20);
  assert_true(fake->launches > launches);
  nx_tensor *m = GOOD(nx_reshape(ramp(12, 1), NX_SHAPE(3, 4), 0));
  EXPECT(nx_reduce_sum(m, NX_AXES(1), 0), 6, 22, 38);
  EXPECT(nx_reduce_sum(m, NX_AXES(0), 0), 12, 15, 18, 21);
  EXPECT(nx_matmul(m, nx_permute(m, (int32_t[]){1, 0}, 2)), 14, 38, 62, 38, 126, 214, 62, 214, 366);
  nx_tensor *l = GOOD(nx_reshape(ramp(2 * 40 * 40, 1), NX_SHAPE(2, 40, 40), 0));
  nx_tensor *r = GOOD(nx_permute(l, (int32_t[]){0, 2, 1}, 3)), *both = GOOD(nx_matmul(l, r));
  int64_t products = fake->products;
  EXPECT(nx_reduce_max(
             nx_reshape(nx_matmul(l, nx_eye(ctx, CUDA, NX_F32, 40, 40, 0)), NX_SHAPE(3200), 0),
             NX_AXES(0), 0),
         3199);
  OK(nx_realize(ctx, &both, 1, NULL));
  assert_true(fake->products > products);
  nx_tensor *own = GOOD(nx_reduce_sum(nx_mul(l, l), NX_AXES(2), 0)); /* its diagonal */
  nx_tensor *diagonal =
      GOOD(nx_reduce_sum(nx_mul(both, nx_eye(ctx, CUDA, NX_F32, 40, 40, 0)), NX_AXES(2), 0));
  nx_tensor *off = GOOD(nx_reduce_max(
      nx_abs(nx_sub(nx_div(diagonal, own), nx_full(ctx, CUDA, NX_F32, NULL, 0, NX_NUMBER(1)))),
      NX_AXES(0, 1), 0));
  float error = 1;
  OK(nx_read(off, &error, sizeof error, NULL));
  assert_true(error < 1e-5f);
  EXPECT(nx_associative_scan(ramp(4, 1), NX_SCAN_SUM, 0), 0, 1, 3, 6);
}

/* The driver is not called to describe a device that is open. */
static void recording_asks_nobody(void **state) {
  (void)state;
  nx_tensor *x = ramp(3, 1);
  snprintf(fake->only, sizeof fake->only, "cuDeviceGet");
  const int64_t calls = fake->calls;
  nx_tensor *y = GOOD(nx_full(ctx, CUDA, NX_F32, NX_SHAPE(3), NX_NUMBER(2)));
  const int64_t asked = fake->calls - calls;
  fake->only[0] = 0;
  assert_true(asked <= 1); /* how many there are */
  EXPECT(nx_mul(x, y), 0, 2, 4);
}

static void values_come_and_go(void **state) {
  (void)state;
  float host[4] = {1, 2, 3, 4};
  nx_import_desc d = {.size = sizeof d,
                      .base = host,
                      .bytes = sizeof host,
                      .dtype = NX_F32,
                      .rank = 1,
                      .shape = (int64_t[]){4},
                      .mode = NX_IMPORT_COPY};
  nx_tensor *x = NULL;
  OK(nx_import(ctx, &d, &x));
  x = nx_keep(x);
  nx_tensor *there = GOOD(nx_to_device(x, CUDA)), *y = GOOD(nx_mul(there, there));
  EXPECT(y, 1, 4, 9, 16);
  EXPECT(nx_to_device(y, 0), 1, 4, 9, 16);
  EXPECT(nx_to_device(nx_to_device(y, CUDA + 1), 1), 1, 4, 9, 16);
  assert_null(nx_add(x, y)); /* on two devices */
  assert_int_equal(take().status, NX_INVALID_ARGUMENT);
  nx_tensor_release(x);
}

static void assigns_and_mappings(void **state) {
  (void)state;
  nx_tensor *x = ramp(4, 1), *before = GOOD(nx_add(x, x));
  OK(nx_assign(part(x, 1, 2, 1), GOOD(nx_full(ctx, CUDA, NX_F32, NULL, 0, NX_NUMBER(9)))));
  EXPECT(x, 0, 9, 9, 3);
  EXPECT(before, 0, 2, 4, 6);
  nx_mapping *m = NULL;
  OK(nx_map(x, NX_MAP_READ | NX_MAP_WRITE, NULL, &m));
  float *p = nx_mapping_base(m, NULL);
  assert_true(p[1] == 9);
  p[0] = 7; /* visible to operations that are recorded later */
  EXPECT(nx_add(x, x), 14, 18, 18, 6);
  OK(nx_assign(part(x, 3, 1, 1), GOOD(nx_full(ctx, CUDA, NX_F32, NULL, 0, NX_NUMBER(5)))));
  OK(nx_realize(ctx, &x, 1, NULL));
  assert_true(p[3] == 5);
  p[2] = 3; /* after the last run that saw the mapping */
  nx_mapping_release(m);
  EXPECT(nx_mul(x, x), 49, 81, 9, 25);
}

static void indices_are_checked(void **state) {
  (void)state;
  nx_tensor *x = ramp(5, 1), *good = GOOD(nx_cast(ramp(3, 2), NX_I32)),
            *bad = GOOD(nx_cast(ramp(3, 4), NX_I32));
  EXPECT(nx_gather(x, good, 0), 0, 2, 4);
  nx_tensor *y = GOOD(nx_gather(x, bad, 0));
  assert_int_equal(nx_realize(ctx, &y, 1, NULL), NX_INDEX_OUT_OF_RANGE);
  nx_error e = take();
  assert_int_equal(e.index, 2);
  assert_string_equal(e.op, "gather");
}

static void host_functions(void **state) {
  (void)state;
  nx_tensor *x = ramp(6, -1);
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  nx_tensor *sorted = GOOD(nx_sort(x, 0, 0));
  OK(nx_realize(ctx, &sorted, 1, &o));
  assert_int_equal(report.library_calls, 1);
  assert_int_equal(report.host_calls, 0);
  EXPECT(sorted, -5, -4, -3, -2, -1, 0);
  nx_tensor *a =
      GOOD(nx_add(nx_eye(ctx, CUDA, NX_F32, 2, 2, 0), nx_eye(ctx, CUDA, NX_F32, 2, 2, 0)));
  EXPECT(nx_inv(a), 0.5f, 0, 0, 0.5f);
}

/* ---- every call of the driver fails once */

static nx_status scenario(nx_context *c, float out[4]) {
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *x = nx_arange(c, CUDA, NX_F32, NX_NUMBER(1), NX_NUMBER(1), 4),
            *y = nx_sub(nx_mul(x, x), nx_reduce_max(x, NX_AXES(0), NX_KEEPDIMS));
  nx_status status = y != NULL ? nx_read(y, out, 4 * sizeof *out, NULL) : nx_error_take(NULL);
  if (status != NX_OK) nx_error_take(NULL);
  if (s != NULL) nx_scope_end(s);
  return status;
}

static nx_status doubles(const nx_custom_call *k) {
  for (int64_t i = 0; i < k->operands[0].elements; i++)
    ((float *)k->results[0].data)[i] = 2 * ((const float *)k->operands[0].data)[i];
  ++*(int *)k->user;
  return NX_OK;
}

/* Functions of the caller are called with memory of the host. */
static void custom_operations(void **state) {
  (void)state;
  int calls = 0;
  const nx_type line = {NX_F32, 1, (int64_t[]){3}};
  nx_custom_desc desc = {.size = sizeof desc,
                         .name = "doubles",
                         .run = doubles,
                         .user = &calls,
                         .flags = NX_ORDERED,
                         .n_operands = 1,
                         .operands = &line,
                         .n_results = 1,
                         .results = &line};
  nx_custom *f = NULL;
  OK(nx_custom_create(ctx, &desc, &f));
  nx_tensor *x = ramp(3, 1), *given = GOOD(nx_add(x, x)), *y = NULL, *z = NULL;
  nx_tensor *token = GOOD(nx_token(ctx, CUDA));
  OK(nx_custom_record(f, &given, 1, token, &y, 1));
  OK(nx_custom_record(f, &y, 1, token, &z, 1));
  EXPECT(nx_add(z, x), 0, 9, 18);
  OK(nx_realize(ctx, &token, 1, NULL));
  assert_int_equal(calls, 2);
  nx_custom_release(f);
}

static void every_call_fails(void **state) {
  static const struct {
    int result;
    nx_status status;
  } kinds[] = {{2, NX_OUT_OF_MEMORY}, {719, NX_DEVICE_LOST}, {1, NX_INTERNAL}};
  (void)state;
  for (int k = 0; k < 3; k++) {
    bool done = false;
    for (int64_t n = 1; !done; n++) {
      nx_context *c = NULL;
      float out[4] = {0};
      OK(nx_context_create(NULL, &c));
      const nxt_fake before = *fake;
      int64_t start = fake->calls;
      fake->fail_at = start + n;
      fake->fail_with = kinds[k].result;
      nx_status status = scenario(c, out);
      done = fake->calls < start + n;
      fake->fail_at = 0;
      bool said = status == kinds[k].status || status == NX_DEVICE_UNAVAILABLE;
      if (status != NX_OK && !said && !(status == NX_INTERNAL || status == NX_COMPILE_FAILED))
        fprintf(stderr, "%s failed with %d: %s\n", fake->failed, kinds[k].result,
                nx_status_name(status));
      assert_true(status == NX_OK || said || status == NX_INTERNAL || status == NX_COMPILE_FAILED);
      if (status != NX_OK && kinds[k].result == 2) { /* nothing is lost */
        assert_int_equal(scenario(c, out), NX_OK);
        status = NX_OK;
      }
      if (status == NX_OK) assert_true(out[0] == -3 && out[3] == 12);
      nx_context_release(c);
      nothing_is_left(&before);
    }
  }
}

static void memory_is_limited(void **state) {
  (void)state;
  nx_context *c = NULL;
  nx_context_options o = {.size = sizeof o, .memory_limit = 1 << 20};
  OK(nx_context_create(&o, &c));
  nx_tensor *x = GOOD(nx_arange(c, CUDA, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 1 << 20));
  assert_int_equal(nx_realize(c, &x, 1, NULL), NX_OUT_OF_MEMORY);
  assert_int_equal(take().status, NX_OUT_OF_MEMORY);
  nx_tensor_release(x);
  nx_context_release(c);
}

static void a_child_has_no_gpu(void **state) {
  (void)state;
  nx_tensor *x = ramp(3, 1);
  EXPECT(x, 0, 1, 2);
  pid_t child = fork();
  if (child == 0) {
    nx_tensor *y = nx_add(x, x);
    _exit(nx_realize(ctx, &y, 1, NULL) == NX_DEVICE_LOST ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

/* ---- a source that the compiler refuses: the environment is read once, so each case is a separate
 * process */

static int show_refusal(void) {
  nx_error e = {.size = sizeof e};
  if (open_fake(NULL) != 0) return 1;
  fake->refuses = 6;
  nx_tensor *x = nx_arange(ctx, CUDA, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 5), *y = nx_neg(x);
  printf("%s ", nx_status_name(nx_realize(ctx, &y, 1, NULL)));
  nx_error_take(&e);
  printf("%s\n", e.message);
  nx_tensor_release(x);
  nx_tensor_release(y);
  return close_fake(NULL);
}

static void refusal(const char *variables, char *said, int size) {
  char command[600];
  snprintf(command, sizeof command, "%s '%s' cuda_device refused", variables, nxt_program());
  FILE *f = popen(command, "r");
  assert_non_null(f);
  assert_non_null(fgets(said, size, f));
  assert_int_equal(pclose(f), 0);
}

/* The error has the compiler's messages, and the path of the source, or says how to get it. */
static void a_source_is_refused(void **state) {
  (void)state;
  char said[800], directory[] = "/tmp/nx-refused-XXXXXX", variables[100], text[20000];
  refusal("NX_DUMP_DIR=", said, sizeof said);
  assert_non_null(strstr(said, "NX_INTERNAL"));
  assert_non_null(strstr(said, "kernel(1): error: a fake; with NX_DUMP_DIR=directory"));
  assert_non_null(mkdtemp(directory));
  snprintf(variables, sizeof variables, "NX_DUMP_DIR=%s", directory);
  refusal(variables, said, sizeof said);
  assert_non_null(strstr(said, "kernel(1): error: a fake; its source is "));
  char *path = strstr(said, directory);
  assert_non_null(path);
  path[strcspn(path, "\n")] = 0;
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  assert_non_null(strstr(text, "__global__"));
  assert_non_null(strstr(text, "kernel(1): error: a fake"));
  snprintf(text, sizeof text, "rm -r %s", directory);
  assert_int_equal(system(text), 0);
}

/* Kernels of one graph are compiled by as many threads as there are. */
static void kernels_are_compiled_together(void **state) {
  const nx_context_options o = {.size = sizeof o, .threads = 2};
  const int64_t shape[] = {40, 24};
  nx_context *c = NULL;
  (void)state;
  OK(nx_context_create(&o, &c));
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *x = nx_full(c, CUDA, NX_F32, shape, 2, NX_NUMBER(1.5)), *y[2] = {NULL};
  OK(nx_realize(c, &x, 1, NULL));
  nx_tensor *sum = nx_reduce_sum(x, NX_AXES(0), 0), *most = nx_reduce_max(x, NX_AXES(1), 0);
  y[0] = nx_exp(sum);
  y[1] = nx_sin(most);
  fake->meet = 2;
  fake->met = 0;
  OK(nx_realize(c, y, 2, NULL));
  assert_int_equal(fake->met, 2);
  nx_tensor *inverse = nx_inv(nx_eye(c, CUDA, NX_F64, 5, 5, 0)); /* kernels around a library */
  fake->met = 0;
  OK(nx_realize(c, &inverse, 1, NULL));
  assert_int_equal(fake->met, 2);
  fake->meet = 0;
  nx_scope_end(scope);
  nx_context_release(c);
}

NXT_MAIN(cuda_device) {
  if (argc > 1 && strcmp(argv[1], "refused") == 0) return show_refusal();
  const struct CMUnitTest tests[] = {
      IN_SCOPE(devices_are_described),
      IN_SCOPE(values_are_computed_there),
      IN_SCOPE(recording_asks_nobody),
      IN_SCOPE(values_come_and_go),
      IN_SCOPE(assigns_and_mappings),
      IN_SCOPE(indices_are_checked),
      IN_SCOPE(host_functions),
      IN_SCOPE(custom_operations),
      IN_SCOPE(every_call_fails),
      IN_SCOPE(memory_is_limited),
      IN_SCOPE(kernels_are_compiled_together),
      IN_SCOPE(a_child_has_no_gpu),
      IN_SCOPE(a_source_is_refused),
  };
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
