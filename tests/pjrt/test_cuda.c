/* SPDX-License-Identifier: ISC */
/* The plugin's client of GPUs, over the fake driver: which devices it has, programs on them, and
 * what of buffers differs from those in memory of the host. */
#include <dlfcn.h>
#include <unistd.h>

#include "plugin.h"
#include "tests/cuda/fake/fake_cuda.h"

#define V "tensor<3xf32>"
static const char scaled[] = "module @jit_scaled {\n"
                             "  func.func public @main(%a: " V ", %b: " V ") -> " V " {\n"
                             "    %0 = stablehlo.multiply %a, %b : " V "\n"
                             "    %1 = stablehlo.add %0, %a : " V "\n"
                             "    return %1 : " V "\n"
                             "  }\n"
                             "}\n";
static const char halved[] =
    "func.func @main(%n: tensor<i32>, %x: " V ") -> " V " {\n"
    "  %r:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, " V "\n"
    "  cond {\n"
    "    %z = stablehlo.constant dense<0> : tensor<i32>\n"
    "    %c = stablehlo.compare GT, %i, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  } do {\n"
    "    %o = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %h = stablehlo.constant dense<0.5> : " V "\n"
    "    %j = stablehlo.subtract %i, %o : tensor<i32>\n"
    "    %w = stablehlo.multiply %y, %h : " V "\n"
    "    stablehlo.return %j, %w : tensor<i32>, " V "\n"
    "  }\n"
    "  return %r#1 : " V "\n"
    "}\n";
static const int64_t three[] = {3};
static const float ones[] = {1, 2, 3}, tens[] = {10, 20, 30};

static nxj_client *make_gpu_client(void) {
  nxj_named device = {.size = sizeof device,
                      .name = "device",
                      .n_name = 6,
                      .type = NXJ_STRING,
                      .string = "cuda",
                      .n = 4};
  ARGS(client_create, a, .options = &device, .n = 1);
  good(RUN(Client_Create, &a));
  return a.client;
}

static void expect(nxj_buffer *b, const float *want) {
  float got[3];
  good(try_download(b, got, 3));
  for (int i = 0; i < 3; i++) assert_true(got[i] == want[i]);
  drop_buffer(b);
}

static void has_gpus(void **state) {
  (void)state;
  nxj_client *c = make_gpu_client();
  ARGS(client_devices, devices, .client = c);
  good(RUN(Client_Devices, &devices));
  assert_true(devices.n >= 1);
  ARGS(device_description, d, .device = devices.list[0]);
  good(RUN(Device_GetDescription, &d));
  ARGS(description_text, kind, .description = d.description);
  good(RUN(DeviceDescription_Kind, &kind));
  assert_string_equal(kind.text, "nx cuda");
  ARGS(device_memories, memories, .device = devices.list[0]);
  good(RUN(Device_AddressableMemories, &memories));
  assert_int_equal(memories.n, 1);
  drop_client(c);
}

static void runs_programs(void **state) {
  (void)state;
  static const float want[] = {11, 42, 93}, eighth[] = {0.125F, 0.25F, 0.375F};
  static const int32_t steps = 3;
  nxj_client *c = make_gpu_client();
  nxj_loaded *l = compile(c, scaled), *loop = compile(c, halved);
  nxj_buffer *in[] = {upload(c, ones, three, 1), upload(c, tens, three, 1)}, *out = NULL;
  for (int i = 0; i < 2; i++) {
    good(try_call(l, in, 2, &out));
    expect(out, want);
  }
  ARGS(from_host, n, .client = c, .data = &steps, .type = NXJ_TYPE_S32,
       .semantics = NXJ_DURING_CALL);
  good(RUN(Client_BufferFromHostBuffer, &n));
  drop_event(n.done);
  nxj_buffer *of_loop[] = {n.buffer, in[0]};
  good(try_call(loop, of_loop, 2, &out));
  expect(out, eighth);
  drop_buffer(n.buffer);
  drop_buffer(in[0]);
  drop_buffer(in[1]);
  drop_loaded(l);
  drop_loaded(loop);
  drop_client(c);
}

/* They are not in memory of the host: what is read through an address there is a copy. */
static void buffers_are_elsewhere(void **state) {
  (void)state;
  nxj_client *c = make_gpu_client();
  nxj_buffer *b = upload(c, tens, three, 1);
  ARGS(buffer_flag, on_cpu, .buffer = b);
  good(RUN(Buffer_IsOnCpu, &on_cpu));
  assert_false(on_cpu.flag);
  ARGS(buffer_pointer, at, .buffer = b);
  good(RUN(Buffer_OpaqueDeviceMemoryDataPointer, &at));
  assert_memory_equal(at.pointer, tens, sizeof tens);
  ARGS(device_statistics, s, .device = NULL);
  ARGS(buffer_device, device, .buffer = b);
  good(RUN(Buffer_Device, &device));
  s.device = device.device;
  good(RUN(Device_MemoryStats, &s));
  assert_true(s.in_use >= (int64_t)sizeof tens);
  drop_buffer(b);
  drop_client(c);
}

/* A thread that does work may be the last that needs a client's context, and gives the GPU back
 * soon after the client is gone. */
static int until_gpus_are_closed(void **state) {
  (void)state;
  void *library = dlopen(getenv("NX_CUDA"), RTLD_NOW);
  nxt_fake_state *find = NULL;
  if (library != NULL) *(void **)&find = dlsym(library, "nxt_fake_cuda");
  if (find == NULL) return 1;
  while (__atomic_load_n(&find()->contexts, __ATOMIC_ACQUIRE) > 0) usleep(100);
  return dlclose(library);
}

NXT_MAIN(cuda) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(has_gpus),
      cmocka_unit_test(runs_programs),
      cmocka_unit_test(buffers_are_elsewhere),
  };
  alarm(200);
  load_plugin();
  return cmocka_run_group_tests(tests, NULL, until_gpus_are_closed);
}
