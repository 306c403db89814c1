/* SPDX-License-Identifier: ISC */
/* The kinds of memory of a processor: which there are, and in which of them buffers, copies and
 * results are. */
#include <unistd.h>

#include "plugin.h"

static const float data[] = {1, 2, 3};
static const int64_t three[] = {3};
static const char *const kinds[] = {"device", "pinned_host", "unpinned_host"};

static const char to_host[] =
    "func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32> {mhlo.memory_kind = \"pinned_host\"})"
    " -> (tensor<3xf32> {mhlo.memory_kind = \"unpinned_host\"}, tensor<3xf32>) {\n"
    "  %c = stablehlo.add %a, %b : tensor<3xf32>\n"
    "  return %c, %b : tensor<3xf32>, tensor<3xf32>\n}\n";

static const char *kind_of(nxj_memory *m) {
  ARGS(memory_text, kind, .memory = m);
  good(RUN(Memory_Kind, &kind));
  return kind.text;
}

static const char *kind_of_buffer(nxj_buffer *b) {
  ARGS(buffer_memory, m, .buffer = b);
  good(RUN(Buffer_Memory, &m));
  return kind_of(m.memory);
}

static void expect(nxj_buffer *b, const char *kind, const float *want) {
  float got[3];
  assert_string_equal(kind_of_buffer(b), kind);
  good(try_download(b, got, 3));
  assert_memory_equal(got, want, sizeof got);
  drop_buffer(b);
}

static nxj_buffer *give(nxj_client *c, nxj_memory *m) {
  ARGS(from_host, a, .client = c, .data = data, .type = NXJ_TYPE_F32, .dims = three, .rank = 1,
       .memory = m);
  good(RUN(Client_BufferFromHostBuffer, &a));
  drop_event(a.done);
  return a.buffer;
}

/* Each device has all, the first of which is what is meant where none is said. */
static void has_kinds(void **state) {
  (void)state;
  nxj_client *c = make_client();
  ARGS(client_memories, all, .client = c);
  good(RUN(Client_AddressableMemories, &all));
  ARGS(client_devices, devices, .client = c);
  good(RUN(Client_Devices, &devices));
  assert_int_equal(all.n, 3 * devices.n);
  for (size_t i = 0; i < devices.n; i++) {
    ARGS(device_memories, own, .device = devices.list[i]);
    good(RUN(Device_AddressableMemories, &own));
    assert_int_equal(own.n, 3);
    for (size_t k = 0; k < 3; k++) {
      assert_ptr_equal(own.list[k], all.list[3 * i + k]);
      assert_string_equal(kind_of(own.list[k]), kinds[k]);
      ARGS(memory_number, number, .memory = own.list[k]);
      good(RUN(Memory_Kind_Id, &number));
      assert_int_equal(number.number, (int)k);
      ARGS(memory_devices, of, .memory = own.list[k]);
      good(RUN(Memory_AddressableByDevices, &of));
      assert_true(of.n == 1 && of.list[0] == devices.list[i]);
    }
  }
  drop_client(c);
}

static void copies_there(void **state) {
  (void)state;
  nxj_client *c = make_client();
  ARGS(client_memories, all, .client = c);
  good(RUN(Client_AddressableMemories, &all));
  nxj_buffer *b = give(c, all.list[1]);
  ARGS(copy_to_memory, there, .buffer = b, .memory = all.list[2]);
  good(RUN(Buffer_CopyToMemory, &there));
  ARGS(buffer_device, on, .buffer = b);
  good(RUN(Buffer_Device, &on));
  ARGS(copy_to_device, back, .buffer = b, .device = on.device);
  good(RUN(Buffer_CopyToDevice, &back));
  expect(b, kinds[1], data);
  expect(there.copy, kinds[2], data);
  expect(back.copy, kinds[0], data);
  expect(give(c, NULL), kinds[0], data);
  drop_client(c);
}

static void expect_kinds(const struct nxj_executable_memories_args *a, const char *x,
                         const char *y) {
  assert_int_equal(a->n, 2);
  assert_string_equal(a->kinds[0], x);
  assert_string_equal(a->kinds[1], y);
  assert_true(a->sizes[0] == strlen(x) && a->sizes[1] == strlen(y));
}

/* Results are where the program wants them. */
static void programs_say(void **state) {
  (void)state;
  static const float sum[] = {2, 4, 6};
  nxj_client *c = make_client();
  ARGS(client_memories, all, .client = c);
  good(RUN(Client_AddressableMemories, &all));
  nxj_loaded *l = compile(c, to_host);
  ARGS(loaded_executable, e, .loaded = l);
  good(RUN(LoadedExecutable_GetExecutable, &e));
  ARGS(executable_memories, in, .executable = e.executable);
  good(RUN(Executable_ParameterMemoryKinds, &in));
  expect_kinds(&in, kinds[0], kinds[1]);
  ARGS(executable_memories, out, .executable = e.executable);
  good(RUN(Executable_OutputMemoryKinds, &out));
  expect_kinds(&out, kinds[2], kinds[0]);
  ARGS(executable, d, .executable = e.executable);
  good(RUN(Executable_Destroy, &d));
  nxj_buffer *given[] = {give(c, NULL), give(c, all.list[1])}, *made[2];
  good(try_call(l, given, 2, made));
  expect(made[0], kinds[2], sum);
  expect(made[1], kinds[0], data);
  for (int i = 0; i < 2; i++) drop_buffer(given[i]);
  drop_loaded(l);
  refused(try_compile(c,
                      "func.func @main(%a: tensor<f32> {mhlo.memory_kind = \"tape\"}) -> "
                      "tensor<f32> {\n  return %a : tensor<f32>\n}\n",
                      &l),
          NXJ_UNIMPLEMENTED, "memory of the kind tape");
  drop_client(c);
}

NXT_MAIN(kinds) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(has_kinds),
      cmocka_unit_test(copies_there),
      cmocka_unit_test(programs_say),
  };
  setenv("NX_CPU_DEVICES", "4", 1);
  alarm(100);
  load_plugin();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
