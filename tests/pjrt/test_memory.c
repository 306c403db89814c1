/* SPDX-License-Identifier: ISC */
/* The plugin without memory: each allocation of each step fails once. The caller gets the error for
 * that, what it has is still good, and all of it can be given back. The plugin is a part of this
 * program here, whose allocations it can see. */
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "bindings/pjrt/callbacks.h"
#include "bindings/pjrt/programs.h"
#include "ir/alloc.h"
#include "plugin.h"
#include "unreduced.h"

const void *GetPjrtApi(void);

#define V "tensor<3xf32>"
static const char text[] = "module @m {\n"
                           "  func.func @main(%a: " V " {tf.aliasing_output = 0 : i32}, %b: " V
                           ") -> (" V ", tensor<f32>, " V ") {\n"
                           "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                           "    %0 = stablehlo.add %a, %b : " V "\n"
                           "    %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across "
                           "dimensions = [0] : (" V ", tensor<f32>) -> tensor<f32>\n"
                           "    return %0, %1, %b : " V ", tensor<f32>, " V "\n"
                           "  }\n"
                           "}\n";
static const int64_t three[] = {3};
static const float ones[] = {1, 2, 3};

/* What the steps have made; NULL: not yet. */
typedef struct made {
  nxj_client *c;
  nxj_loaded *l;
  nxj_buffer *in[2], *out[3], *copy;
  nxj_executable *e;
} made;

static int failures;

/* Whether it went well; if not, for want of memory, as is said. */
static bool ok(nxj_error *e) {
  if (e == NULL) return true;
  failures++;
  refused(e, NXJ_RESOURCE_EXHAUSTED, "memory");
  return false;
}

/* ---- steps */

static bool make(made *m) {
  ARGS(client_create, a);
  if (!ok(RUN(Client_Create, &a))) return false;
  m->c = a.client;
  return true;
}

static bool build(made *m) { return ok(try_compile(m->c, text, &m->l)); }

static bool give(made *m) {
  static const int64_t strides[] = {4};
  for (int i = 0; i < 2; i++) {
    ARGS(from_host, a, .client = m->c, .data = ones, .type = NXJ_TYPE_F32, .dims = three, .rank = 1,
         .strides = strides, .n_strides = 1);
    if (!ok(RUN(Client_BufferFromHostBuffer, &a))) return false;
    m->in[i] = a.buffer;
    if (!ok(await(a.done))) return false;
  }
  return true;
}

static bool run(made *m) {
  nxj_event *done = NULL;
  nxj_execute_options o = {.size = sizeof o};
  nxj_buffer *const *in = m->in;
  nxj_buffer **out = m->out;
  ARGS(execute, a, .loaded = m->l, .options = &o, .inputs = &in, .n_devices = 1, .n_inputs = 2,
       .outputs = &out, .done = &done);
  return ok(RUN(LoadedExecutable_Execute, &a)) && ok(await(done));
}

static bool take(made *m) {
  float got[3];
  if (!ok(try_download(m->out[0], got, 3))) return false;
  assert_true(got[0] == 2 && got[2] == 6);
  if (!ok(try_download(m->out[1], got, 1))) return false;
  assert_true(got[0] == 12);
  if (!ok(try_download(m->out[2], got, 3))) return false;
  assert_true(got[0] == 1 && got[2] == 3);
  return true;
}

static bool copy(made *m) {
  float got[3];
  ARGS(client_lookup, there, .client = m->c, .id = 1);
  if (!ok(RUN(Client_LookupDevice, &there))) return false;
  ARGS(copy_to_device, a, .buffer = m->out[0], .device = there.device);
  if (!ok(RUN(Buffer_CopyToDevice, &a))) return false;
  m->copy = a.copy;
  return ok(try_download(m->copy, got, 3));
}

static bool store(made *m) {
  ARGS(loaded_executable, e, .loaded = m->l);
  if (!ok(RUN(LoadedExecutable_GetExecutable, &e))) return false;
  m->e = e.executable;
  ARGS(executable_serialize, s, .executable = m->e);
  if (!ok(RUN(Executable_Serialize, &s))) return false;
  ARGS(deserialize, d, .client = m->c, .bytes = s.bytes, .n = s.n);
  bool good = ok(RUN(Executable_DeserializeAndLoad, &d));
  s.release(s.owner);
  if (good) drop_loaded(d.loaded);
  return good;
}

/* A program with a function of this one. */
static atomic_int announced, released;

static int twice(uint64_t user, const void *const *in, void *const *out, char *sentence) {
  const float *x = in[0];
  float *y = out[0];
  (void)user;
  (void)sentence;
  for (int i = 0; i < 3; i++) y[i] = 2 * x[i];
  return 0;
}

static void count(uint64_t user) { atomic_fetch_add(&released, (int)user); }

static bool call_back(made *m) {
  char program[512];
  uint64_t number = nx_pjrt_callback_new(twice, count, 1);
  if (number == 0) return failures++, false;
  atomic_fetch_add(&announced, 1);
  snprintf(program, sizeof program,
           "func.func @main(%%t: !stablehlo.token, %%x: " V ") -> " V " {\n"
           "  %%0 = stablehlo.custom_call @nx_host_callback(%%x) {backend_config = \"%016llx\",\n"
           "      has_side_effect = true} : (" V ") -> " V "\n"
           "  return %%0 : " V "\n"
           "}\n",
           (unsigned long long)number);
  drop_loaded(m->l);
  m->l = NULL;
  bool good = ok(try_compile(m->c, program, &m->l));
  nx_pjrt_callback_drop(number);
  ARGS(from_host, a, .client = m->c, .data = ones, .type = NXJ_TYPE_PRED, .dims = (int64_t[]){0},
       .rank = 1);
  if (!good || !ok(RUN(Client_BufferFromHostBuffer, &a))) return false;
  drop_event(a.done);
  drop_buffer(m->in[0]);
  m->in[0] = a.buffer;
  for (int i = 0; i < 3; i++) drop_buffer(m->out[i]);
  m->out[0] = m->out[1] = m->out[2] = NULL;
  return run(m);
}

/* Memory of the caller as it lies, which is given back once, or never taken. */
static float lent[2][1 << 13];
static int n_lent;

static void lent_back(void *data, void *user) {
  (void)user;
  assert_ptr_equal(data, lent[1]);
  n_lent--;
}

static bool lend(made *m) {
  static const int64_t dims[] = {1 << 13};
  drop_buffer(m->in[0]);
  drop_buffer(m->in[1]);
  m->in[0] = m->in[1] = NULL;
  ARGS(from_host, a, .client = m->c, .data = lent[0], .type = NXJ_TYPE_F32, .dims = dims, .rank = 1,
       .semantics = NXJ_ZERO_COPY);
  if (!ok(RUN(Client_BufferFromHostBuffer, &a))) return false;
  drop_event(a.done);
  m->in[0] = a.buffer;
  ARGS(view_of_memory, v, .client = m->c, .data = lent[1], .type = NXJ_TYPE_F32, .dims = dims,
       .rank = 1, .on_delete = lent_back);
  if (!ok(RUN(Client_CreateViewOfDeviceBuffer, &v))) return false;
  n_lent++;
  m->in[1] = v.buffer;
  ARGS(buffer, x, .buffer = v.buffer);
  return ok(RUN(Buffer_IncreaseExternalReferenceCount, &x));
}

/* A program for two partitions, ahead of its call. */
static bool divide(made *m) {
  (void)m;
  nxj_program p = {.size = sizeof p,
                   .code = (char *)(uintptr_t)unreduced,
                   .n = sizeof unreduced,
                   .format = "mlir",
                   .n_format = 4};
  ARGS(compile, a, .program = &p, .options = "\x1a\x04\x20\x01\x28\x02", .n_options = 6);
  if (!ok(RUN(Compile, &a))) return false;
  ARGS(executable, e, .executable = a.executable);
  good(RUN(Executable_Destroy, &e));
  return true;
}

/* Arrays and a program whose elements lie in other orders than C's. */
static bool turn(made *m) {
  static const char text[] =
      "func.func @main(%a: tensor<1x3xf32> {mhlo.layout_mode = \"{0,1}\"}) -> "
      "(tensor<3x1xf32> {mhlo.layout_mode = \"auto\"}) {\n"
      "  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<1x3xf32>) -> tensor<3x1xf32>\n"
      "  return %0 : tensor<3x1xf32>\n"
      "}\n";
  static const int64_t dims[] = {1, 3}, axes[] = {0, 1};
  nxj_memory_layout l = {.size = sizeof l, .type = NXJ_TILED};
  l.tiled.minor_to_major = axes;
  l.tiled.n = 2;
  drop_loaded(m->l);
  m->l = NULL;
  if (!ok(try_compile(m->c, text, &m->l))) return false;
  drop_buffer(m->in[0]);
  m->in[0] = NULL;
  ARGS(from_host, a, .client = m->c, .data = ones, .type = NXJ_TYPE_F32, .dims = dims, .rank = 2,
       .layout = &l);
  if (!ok(RUN(Client_BufferFromHostBuffer, &a))) return false;
  m->in[0] = a.buffer;
  return ok(await(a.done));
}

/* A program that is handed over, whose constant is shared with its function. */
static bool hand_over(made *m) {
  static const char text[] =
      "func.func @main(%a: tensor<20000xf32>) -> tensor<20000xf32> {\n"
      "  %0 = stablehlo.constant dense_resource<__elided__> : tensor<20000xf32>\n"
      "  %1 = stablehlo.add %a, %0 : tensor<20000xf32>\n"
      "  return %1 : tensor<20000xf32>\n"
      "}\n";
  static const float constant[20000];
  const void *constants[] = {constant};
  size_t size = sizeof constant;
  char bytes[sizeof NX_PJRT_PROGRAM + 8] = NX_PJRT_PROGRAM;
  uint64_t number = nx_pjrt_program_new(text, sizeof text - 1, constants, &size, 1, NULL);
  if (number == 0) return failures++, false;
  memcpy(bytes + sizeof NX_PJRT_PROGRAM - 1, &number, sizeof number);
  ARGS(deserialize, d, .client = m->c, .bytes = bytes, .n = sizeof bytes - 1);
  bool good = ok(RUN(Executable_DeserializeAndLoad, &d));
  nx_pjrt_program_drop(number);
  if (good) drop_loaded(d.loaded);
  return good;
}

/* ---- ends */

static void drop(made *m) {
  nxj_buffer *list[] = {m->in[0], m->in[1], m->out[0], m->out[1], m->out[2], m->copy};
  for (int i = 0; i < 6; i++)
    if (list[i] != NULL) drop_buffer(list[i]);
  ARGS(executable, e, .executable = m->e);
  if (m->e != NULL) good(RUN(Executable_Destroy, &e));
  if (m->l != NULL) drop_loaded(m->l);
  if (m->c != NULL) drop_client(m->c);
}

/* Steps before `step` go well; in that one allocation `after` fails. How many it made. */
static int64_t try_step(bool (*const *steps)(made *), int step, int64_t after) {
  made m = {0};
  int before_it = steps[step] == turn ? 3 : steps[step] == hand_over ? 1 : step;
  for (int i = 0; i < before_it && steps[step] != divide; i++) assert_true(steps[i](&m));
  int64_t before = nxi_alloc_count();
  nxi_alloc_fail(after, false);
  bool went = steps[step](&m);
  nxi_alloc_fail(-1, false);
  int64_t n = nxi_alloc_count() - before;
  /* what it did not make can be made now */
  if (!went && step == 1) assert_true(build(&m));
  drop(&m);
  return n;
}

static void fails(int step) {
  static bool (*const steps[])(made *) = {make,  build,     give, run,    take, copy,
                                          store, call_back, lend, divide, turn, hand_over};
  failures = 0;
  for (int64_t after = 0, n = 1; after <= n; after++) n = try_step(steps, step, after);
  assert_true(failures > 0 || step == 4);
}

#define STEP(number, name)         \
  static void name(void **state) { \
    (void)state;                   \
    fails(number);                 \
  }
STEP(0, makes_a_client)
STEP(1, compiles)
STEP(2, takes_arrays)
STEP(3, executes)
STEP(4, gives_arrays)
STEP(5, copies)
STEP(6, stores)

static void calls_back(void **state) {
  (void)state;
  fails(7);
  for (int i = 0; i < 5000 && atomic_load(&released) < atomic_load(&announced); i++) usleep(1000);
  assert_int_equal(atomic_load(&released), atomic_load(&announced));
}

static void lends(void **state) {
  (void)state;
  fails(8);
  assert_int_equal(n_lent, 0);
}

static void divides(void **state) {
  (void)state;
  fails(9);
}

static void turns(void **state) {
  (void)state;
  fails(10);
}

static void hands_over(void **state) {
  (void)state;
  fails(11);
}

NXT_MAIN(memory) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(makes_a_client), cmocka_unit_test(compiles),
      cmocka_unit_test(takes_arrays),   cmocka_unit_test(executes),
      cmocka_unit_test(gives_arrays),   cmocka_unit_test(copies),
      cmocka_unit_test(stores),         cmocka_unit_test(calls_back),
      cmocka_unit_test(lends),          cmocka_unit_test(divides),
      cmocka_unit_test(turns),          cmocka_unit_test(hands_over),
  };
  setenv("NX_CPU_DEVICES", "2", 1);
  alarm(100);
  table = GetPjrtApi();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
