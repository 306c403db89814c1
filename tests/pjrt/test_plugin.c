/* SPDX-License-Identifier: ISC */
/* The plugin without Python: programs are compiled and called through the C interface of PJRT, and
 * all that a caller may do wrong ends with an error that says so. */
#include <sys/wait.h>
#include <unistd.h>

#include "plugin.h"

#define V "tensor<3xf32>"
static const char add[] = "module @jit_add {\n"
                          "  func.func public @main(%a: " V ", %b: " V ") -> " V " {\n"
                          "    %0 = stablehlo.add %a, %b : " V "\n"
                          "    return %0 : " V "\n"
                          "  }\n"
                          "}\n";
static const char donating[] =
    "func.func @main(%a: " V " {tf.aliasing_output = 0 : i32}, %b: " V ") -> " V " {\n"
    "  %0 = stablehlo.add %a, %b : " V "\n"
    "  return %0 : " V "\n"
    "}\n";
static const char donors[] = "func.func @main(%a: " V " {jax.buffer_donor = true}, %b: " V
                             " {jax.buffer_donor = true}) -> " V " {\n"
                             "  %0 = stablehlo.add %a, %b : " V "\n"
                             "  return %0 : " V "\n"
                             "}\n";
static const char through[] = "func.func @main(%a: " V ", %b: " V ") -> (" V ", " V ", " V ") {\n"
                              "  %0 = stablehlo.add %a, %b : " V "\n"
                              "  return %a, %0, %a : " V ", " V ", " V "\n"
                              "}\n";
static const int64_t three[] = {3};
static const float ones[] = {1, 2, 3}, tens[] = {10, 20, 30};

static void expect(nxj_buffer *b, const float *want, size_t n) {
  float got[16];
  good(try_download(b, got, n));
  for (size_t i = 0; i < n; i++) assert_true(got[i] == want[i]);
}

/* ---- the table */

static void has_a_table(void **state) {
  (void)state;
  assert_int_equal(table->size, sizeof *table);
  assert_int_equal(table->version.major, 0);
  assert_int_equal(table->extension->type, NXJ_EXTENSION_SHARDINGS);
  assert_int_equal(table->extension->next->type, NXJ_EXTENSION_LAYOUTS);
  for (int i = 0; i < N_CALLS; i++) assert_non_null(table->calls[i]);
  ARGS(plugin_attributes, a);
  good(RUN(Plugin_Attributes, &a));
  assert_int_equal(a.n, 2);
  assert_string_equal(a.attributes[0].name, "stablehlo_current_version");
  ARGS(event, none);
  refused(RUN(Client_DmaMap, &none), NXJ_UNIMPLEMENTED, "PJRT_Client_DmaMap");
  ARGS(client_create, small);
  small.size = 16;
  refused(RUN(Client_Create, &small), NXJ_INVALID_ARGUMENT, "too old: 16 bytes");
}

static void refuses_options(void **state) {
  (void)state;
  nxj_named o = {.size = sizeof o, .name = "device", .n_name = 6, .string = "gpu", .n = 3};
  ARGS(client_create, a, .options = &o, .n = 1);
  refused(RUN(Client_Create, &a), NXJ_INVALID_ARGUMENT, "on cpu or cuda, not on \"gpu\"");
  setenv("NX_CUDA", "/nowhere", 1);
  o.string = "cuda", o.n = 4;
  refused(RUN(Client_Create, &a), NXJ_FAILED_PRECONDITION, "there is no device cuda: the CUDA");
  setenv("NX_PJRT_DEVICE", "cuda", 1);
  a.n = 0;
  refused(RUN(Client_Create, &a), NXJ_FAILED_PRECONDITION, "there is no device cuda: the CUDA");
  unsetenv("NX_PJRT_DEVICE");
  a.n = 1, o.type = NXJ_I64, o.n = 1, o.i64 = 1;
  refused(RUN(Client_Create, &a), NXJ_INVALID_ARGUMENT, "no option \"device\" of this type");
  o.name = "num_nodes", o.n_name = 9;
  good(RUN(Client_Create, &a));
  drop_client(a.client);
  o.i64 = 2;
  refused(RUN(Client_Create, &a), NXJ_UNIMPLEMENTED, "one process, and 2 are asked for");
}

static void has_devices(void **state) {
  (void)state;
  nxj_client *c = make_client();
  ARGS(client_devices, devices, .client = c);
  good(RUN(Client_Devices, &devices));
  assert_int_equal(devices.n, 4);
  ARGS(client_lookup, a, .client = c, .id = 4);
  refused(RUN(Client_LookupDevice, &a), NXJ_INVALID_ARGUMENT, "no device 4 of 4");
  a.id = 3;
  good(RUN(Client_LookupDevice, &a));
  assert_ptr_equal(a.device, devices.list[3]);
  ARGS(device_memory, m, .device = a.device);
  good(RUN(Device_DefaultMemory, &m));
  ARGS(memory_text, kind, .memory = m.memory);
  good(RUN(Memory_Kind, &kind));
  assert_string_equal(kind.text, "device");
  ARGS(device_statistics, memory, .device = a.device);
  memory.size = (size_t)((char *)(&memory.peak_pool.known + 1) - (char *)&memory); /* as XLA's */
  good(RUN(Device_MemoryStats, &memory));
  assert_true(memory.peak.known && memory.in_use >= 0);
  drop_client(c);
}

/* ---- programs */

static void calls_programs(void **state) {
  (void)state;
  static const float want[] = {11, 22, 33};
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, add);
  nxj_buffer *in[] = {upload(c, ones, three, 1), upload(c, tens, three, 1)}, *out = NULL;
  for (int i = 0; i < 3; i++) { /* the first on a thread, then here */
    good(try_call(l, in, 2, &out));
    expect(out, want, 3);
    drop_buffer(out);
  }
  ARGS(loaded_executable, e, .loaded = l);
  good(RUN(LoadedExecutable_GetExecutable, &e));
  ARGS(executable_text, name, .executable = e.executable);
  good(RUN(Executable_Name, &name));
  assert_string_equal(name.text, "jit_add");
  ARGS(executable_types, types, .executable = e.executable);
  good(RUN(Executable_OutputElementTypes, &types));
  assert_true(types.n == 1 && types.types[0] == NXJ_TYPE_F32);
  ARGS(executable_dims, dims, .executable = e.executable);
  good(RUN(Executable_OutputDimensions, &dims));
  assert_true(dims.n == 1 && dims.ranks[0] == 1 && dims.dims[0] == 3);
  ARGS(executable, end, .executable = e.executable);
  good(RUN(Executable_Destroy, &end));
  drop_buffer(in[0]);
  drop_buffer(in[1]);
  drop_loaded(l);
  drop_client(c);
}

static void serialises(void **state) {
  (void)state;
  static const float want[] = {2, 4, 6};
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, add);
  nxj_buffer *x = upload(c, ones, three, 1), *in[] = {x, x}, *out = NULL;
  ARGS(loaded_executable, e, .loaded = l);
  good(RUN(LoadedExecutable_GetExecutable, &e));
  ARGS(executable_serialize, s, .executable = e.executable);
  good(RUN(Executable_Serialize, &s));
  ARGS(deserialize, d, .client = c, .bytes = s.bytes, .n = s.n);
  good(RUN(Executable_DeserializeAndLoad, &d));
  good(try_call(d.loaded, in, 2, &out));
  expect(out, want, 3);
  for (d.n = 0; d.n < s.n; d.n++)
    refused(RUN(Executable_DeserializeAndLoad, &d), NXJ_INVALID_ARGUMENT, "no executable");
  s.release(s.owner);
  ARGS(executable, end, .executable = e.executable);
  good(RUN(Executable_Destroy, &end));
  drop_buffer(x);
  drop_buffer(out);
  drop_loaded(d.loaded);
  drop_loaded(l);
  drop_client(c);
}

/* ---- wrong programs and calls */

static void refuses_programs(void **state) {
  (void)state;
  static const char sentence[] = "func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> { retrn }";
  static const char unknown[] = "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n"
                                "  return %a : tensor<?xf32>\n}\n";
  nxj_client *c = make_client();
  nxj_loaded *l;
  refused(try_compile(c, "", &l), NXJ_INVALID_ARGUMENT, "nx: ");
  refused(try_compile(c, sentence, &l), NXJ_INVALID_ARGUMENT, "line 1");
  refused(try_compile(c, unknown, &l), NXJ_UNIMPLEMENTED, "not known");
  nxj_program p = {.size = sizeof p, .code = "", .n = 0, .format = "hlo", .n_format = 3};
  ARGS(client_compile, a, .client = c, .program = &p);
  refused(RUN(Client_Compile, &a), NXJ_UNIMPLEMENTED, "format hlo");
  p = (nxj_program){.size = sizeof p,
                    .code = (char *)(uintptr_t)add,
                    .n = sizeof add - 1,
                    .format = "mlir",
                    .n_format = 4};
  a.options = "\x1a\x7f";
  a.n_options = 2;
  refused(RUN(Client_Compile, &a), NXJ_INVALID_ARGUMENT, "options are malformed");
  a.options = "\x3a\x07\x0a\x05speed"; /* no flag of XLA's */
  a.n_options = 9;
  refused(RUN(Client_Compile, &a), NXJ_INVALID_ARGUMENT, "No such compile option: 'speed'");
  a.options = "\x3a\x25\x0a\x1axla_embed_ir_in_executable\x12\x07\x0a\x05maybe";
  a.n_options = 39;
  refused(RUN(Client_Compile, &a), NXJ_INVALID_ARGUMENT, "'maybe' is not a valid bool value");
  a.options = "\x1a\x02\x20\x09"; /* nine replicas */
  a.n_options = 4;
  refused(RUN(Client_Compile, &a), NXJ_INVALID_ARGUMENT, "for 9 devices, and there are 4");
  drop_client(c);
}

static void refuses_calls(void **state) {
  (void)state;
  static const int64_t four[] = {4};
  static const float more[] = {1, 2, 3, 4};
  nxj_client *c = make_client(), *other = make_client();
  nxj_loaded *l = compile(c, add);
  nxj_buffer *x = upload(c, ones, three, 1), *y = upload(c, more, four, 1);
  nxj_buffer *z = upload(other, ones, three, 1), *out = NULL;
  refused(try_call(l, (nxj_buffer *[]){x}, 1, &out), NXJ_INVALID_ARGUMENT, "1 arguments");
  refused(try_call(l, (nxj_buffer *[]){x, y}, 2, &out), NXJ_INVALID_ARGUMENT,
          "argument 1 has other dimensions");
  refused(try_call(l, (nxj_buffer *[]){z, x}, 2, &out), NXJ_INVALID_ARGUMENT,
          "argument 0 belongs to another client");
  int32_t numbers[] = {1, 2, 3};
  ARGS(from_host, a, .client = c, .data = numbers, .type = NXJ_TYPE_S32, .dims = three, .rank = 1);
  good(RUN(Client_BufferFromHostBuffer, &a));
  refused(try_call(l, (nxj_buffer *[]){x, a.buffer}, 2, &out), NXJ_INVALID_ARGUMENT,
          "argument 1 has elements s32, and the program takes f32");
  drop_buffer(a.buffer);
  drop_event(a.done);
  ARGS(buffer, end, .buffer = x);
  good(RUN(Buffer_Delete, &end));
  assert_true(is_deleted(x));
  refused(try_call(l, (nxj_buffer *[]){x, x}, 2, &out), NXJ_INVALID_ARGUMENT, "deleted or donated");
  float got[3];
  refused(try_download(x, got, 3), NXJ_INVALID_ARGUMENT, "deleted or donated");
  refused(try_download(y, got, 3), NXJ_INVALID_ARGUMENT, "has 16 bytes");
  ARGS(loaded, gone, .loaded = l);
  good(RUN(LoadedExecutable_Delete, &gone));
  refused(try_call(l, (nxj_buffer *[]){z, z}, 2, &out), NXJ_INVALID_ARGUMENT,
          "the executable has been deleted");
  drop_buffer(x);
  drop_buffer(y);
  drop_buffer(z);
  drop_loaded(l);
  drop_client(c);
  drop_client(other);
}

static void donates(void **state) {
  (void)state;
  static const float want[] = {11, 22, 33};
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, donating);
  nxj_buffer *x = upload(c, ones, three, 1), *y = upload(c, tens, three, 1), *out = NULL;
  refused(try_call(l, (nxj_buffer *[]){x, x}, 2, &out), NXJ_INVALID_ARGUMENT, "argument 1 too");
  assert_false(is_deleted(x));
  nxj_buffer *in[] = {x, y}, *const * lists[] = {in}, **places[] = {&out};
  int64_t keep[] = {0};
  nxj_execute_options o = {.size = sizeof o, .keep = keep, .n_keep = 1};
  ARGS(execute, a, .loaded = l, .options = &o, .inputs = lists, .n_devices = 1, .n_inputs = 2,
       .outputs = places);
  good(RUN(LoadedExecutable_Execute, &a));
  expect(out, want, 3);
  expect(x, ones, 3);
  drop_buffer(out);
  good(try_call(l, in, 2, &out));
  assert_true(is_deleted(x) && !is_deleted(y));
  expect(out, want, 3);
  drop_buffer(out);
  refused(try_call(l, in, 2, &out), NXJ_INVALID_ARGUMENT, "argument 0 is a buffer");
  drop_buffer(x);
  drop_buffer(y);
  drop_loaded(l);
  drop_client(c);
}

/* Of two donors one result takes the first. */
static void donates_what_is_of_use(void **state) {
  (void)state;
  static const float want[] = {11, 22, 33};
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, donors);
  nxj_buffer *x = upload(c, ones, three, 1), *y = upload(c, tens, three, 1), *out = NULL;
  good(try_call(l, (nxj_buffer *[]){x, y}, 2, &out));
  expect(out, want, 3);
  assert_true(is_deleted(x) && !is_deleted(y));
  expect(y, tens, 3);
  drop_buffer(out);
  drop_buffer(x);
  drop_buffer(y);
  drop_loaded(l);
  drop_client(c);
}

/* ---- buffers */

static void takes_any_order(void **state) {
  (void)state;
  static const float data[] = {1, 2, 3, 4, 5, 6};
  static const float turned[] = {1, 3, 5, 2, 4, 6};
  static const int64_t dims[] = {2, 3}, columns[] = {4, 8}, axes[] = {0, 1};
  nxj_client *c = make_client();
  ARGS(from_host, a, .client = c, .data = data, .type = NXJ_TYPE_F32, .dims = dims, .rank = 2,
       .strides = columns, .n_strides = 2);
  good(RUN(Client_BufferFromHostBuffer, &a));
  drop_event(a.done);
  expect(a.buffer, turned, 6);
  float got[6];
  nxj_memory_layout layout = {.size = sizeof layout, .type = NXJ_TILED};
  layout.tiled.minor_to_major = axes;
  layout.tiled.n = 2;
  ARGS(to_host, t, .buffer = a.buffer, .layout = &layout, .data = got, .n = sizeof got);
  good(RUN(Buffer_ToHostBuffer, &t));
  good(await(t.event));
  assert_memory_equal(got, data, sizeof got);
  drop_buffer(a.buffer);
  drop_client(c);
}

/* Four-bit integers are a byte each outside. */
static void takes_halves(void **state) {
  (void)state;
  static const int8_t data[] = {1, -2, 7, -8, 3};
  static const int64_t five[] = {5};
  nxj_client *c = make_client();
  ARGS(from_host, a, .client = c, .data = data, .type = NXJ_TYPE_S4, .dims = five, .rank = 1);
  good(RUN(Client_BufferFromHostBuffer, &a));
  drop_event(a.done);
  int8_t got[5];
  ARGS(to_host, t, .buffer = a.buffer, .data = got, .n = 5);
  good(RUN(Buffer_ToHostBuffer, &t));
  good(await(t.event));
  assert_memory_equal(got, data, 5);
  ARGS(buffer_size, size, .buffer = a.buffer);
  good(RUN(Buffer_OnDeviceSizeInBytes, &size));
  assert_int_equal(size.n, 3);
  drop_buffer(a.buffer);
  drop_client(c);
}

/* Memory of the host is the buffer's until the last that needs it is gone. */
static uintptr_t address_of(nxj_buffer *b) {
  ARGS(buffer_address, a, .buffer = b);
  good(RUN(Buffer_UnsafePointer, &a));
  return a.address;
}

/* A result that is an argument is its value, and each lives as long as its caller wants. */
static void hands_through(void **state) {
  (void)state;
  static const float sums[] = {11, 22, 33}, more[] = {21, 42, 63};
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, through), *give = compile(c, donating);
  nxj_buffer *x = upload(c, ones, three, 1), *y = upload(c, tens, three, 1), *sum = NULL;
  nxj_buffer *out[3], *const in[] = {x, y};
  good(try_call(l, in, 2, out));
  uintptr_t there = address_of(x);
  drop_buffer(x);
  assert_true(address_of(out[0]) == there && address_of(out[1]) != there);
  expect(out[0], ones, 3);
  expect(out[1], sums, 3);
  good(try_call(give, (nxj_buffer *[]){out[0], y}, 2, &sum));
  assert_true(is_deleted(out[0]) && !is_deleted(out[2]));
  expect(sum, sums, 3);
  expect(out[2], ones, 3);
  drop_buffer(out[0]);
  drop_buffer(sum);
  good(try_call(give, (nxj_buffer *[]){out[1], y}, 2, &sum));
  expect(sum, more, 3);
  expect(out[2], ones, 3);
  nxj_buffer *rest[] = {y, out[1], out[2], sum};
  for (int i = 0; i < 4; i++) drop_buffer(rest[i]);
  drop_loaded(l);
  drop_loaded(give);
  drop_client(c);
}

/* But not memory of the host, which is wanted back, nor by a program that does nothing else: that
 * is a copy. */
static void hands_copies_through(void **state) {
  (void)state;
  enum { N = 1 << 14 };
  static const int64_t dims[] = {N};
  static const char program[] =
      "func.func @main(%a: tensor<16384xf32>) -> (tensor<16384xf32>, tensor<16384xf32>) {\n"
      "  %0 = stablehlo.negate %a : tensor<16384xf32>\n"
      "  return %a, %0 : tensor<16384xf32>, tensor<16384xf32>\n"
      "}\n";
  static const char same[] = "func.func @main(%a: " V ") -> " V " {\n  return %a : " V "\n}\n";
  float *data = calloc(N, sizeof *data), got[N];
  data[7] = 7;
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, program), *copy = compile(c, same);
  ARGS(from_host, a, .client = c, .data = data, .type = NXJ_TYPE_F32, .dims = dims, .rank = 1,
       .semantics = NXJ_ZERO_COPY);
  good(RUN(Client_BufferFromHostBuffer, &a));
  nxj_buffer *out[2], *x = upload(c, ones, three, 1), *y = NULL;
  good(try_call(l, &a.buffer, 1, out));
  assert_int_equal(address_of(a.buffer), (uintptr_t)data);
  assert_int_not_equal(address_of(out[0]), (uintptr_t)data);
  drop_buffer(a.buffer);
  good(await(a.done));
  data[7] = 8;
  good(try_download(out[0], got, N));
  assert_true(got[7] == 7 && got[8] == 0);
  good(try_call(copy, &x, 1, &y));
  assert_true(address_of(x) != address_of(y));
  expect(y, ones, 3);
  nxj_buffer *rest[] = {out[0], out[1], x, y};
  for (int i = 0; i < 4; i++) drop_buffer(rest[i]);
  drop_loaded(l);
  drop_loaded(copy);
  drop_client(c);
  free(data);
}

static void takes_memory_over(void **state) {
  (void)state;
  enum { N = 1 << 14 };
  static const int64_t dims[] = {N};
  float *data = calloc(N, sizeof *data);
  data[7] = 7;
  nxj_client *c = make_client();
  ARGS(from_host, a, .client = c, .data = data, .type = NXJ_TYPE_F32, .dims = dims, .rank = 1,
       .semantics = NXJ_ZERO_COPY);
  good(RUN(Client_BufferFromHostBuffer, &a));
  ARGS(buffer_address, at, .buffer = a.buffer);
  good(RUN(Buffer_UnsafePointer, &at));
  assert_int_equal(at.address, (uintptr_t)data);
  ARGS(event_ready, done, .event = a.done);
  good(RUN(Event_IsReady, &done));
  assert_false(done.ready);
  drop_buffer(a.buffer);
  drop_client(c); /* with it the memory is given back */
  good(await(a.done));
  free(data);
}

static void lends_memory(void **state) {
  (void)state;
  nxj_client *c = make_client();
  nxj_buffer *x = upload(c, ones, three, 1);
  ARGS(buffer, b, .buffer = x);
  good(RUN(Buffer_IncreaseExternalReferenceCount, &b));
  ARGS(buffer_pointer, p, .buffer = x);
  good(RUN(Buffer_OpaqueDeviceMemoryDataPointer, &p));
  good(RUN(Buffer_Delete, &b));
  assert_memory_equal(p.pointer, ones, sizeof ones);
  good(RUN(Buffer_DecreaseExternalReferenceCount, &b));
  refused(RUN(Buffer_DecreaseExternalReferenceCount, &b), NXJ_INVALID_ARGUMENT, "no external");
  refused(RUN(Buffer_OpaqueDeviceMemoryDataPointer, &p), NXJ_INVALID_ARGUMENT, "deleted");
  drop_buffer(x);
  drop_client(c);
}

static void copies_between_devices(void **state) {
  (void)state;
  nxj_client *c = make_client();
  nxj_buffer *x = upload(c, ones, three, 1);
  ARGS(client_lookup, there, .client = c, .id = 2);
  good(RUN(Client_LookupDevice, &there));
  ARGS(copy_to_device, a, .buffer = x, .device = there.device);
  good(RUN(Buffer_CopyToDevice, &a));
  ARGS(buffer_device, d, .buffer = a.copy);
  good(RUN(Buffer_Device, &d));
  assert_ptr_equal(d.device, there.device);
  expect(a.copy, ones, 3);
  drop_buffer(a.copy);
  drop_buffer(x);
  drop_client(c);
}

/* ---- events */

static void note(nxj_error *error, void *user) {
  *(int *)user += error == NULL ? 1 : 100;
  if (error != NULL) destroy_error(error);
}

static void tells_when_ready(void **state) {
  (void)state;
  int calls = 0;
  ARGS(event, made);
  good(RUN(Event_Create, &made));
  ARGS(event_on_ready, then, .event = made.event, .call = note, .user = &calls);
  good(RUN(Event_OnReady, &then));
  refused(RUN(Event_Error, &made), NXJ_FAILED_PRECONDITION, "not ready");
  ARGS(event_set, set, .event = made.event, .code = NXJ_INTERNAL, .text = "bad luck", .n = 8);
  good(RUN(Event_Set, &set));
  assert_int_equal(calls, 100);
  good(RUN(Event_OnReady, &then));
  assert_int_equal(calls, 200);
  refused(RUN(Event_Set, &set), NXJ_FAILED_PRECONDITION, "ready already");
  refused(RUN(Event_Error, &made), NXJ_INTERNAL, "bad luck");
  refused(await(made.event), NXJ_INTERNAL, "bad luck");
}

/* An error of one call is that of all who need its results. */
static void passes_errors_on(void **state) {
  (void)state;
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, add);
  ARGS(client_memories, memories, .client = c);
  good(RUN(Client_AddressableMemories, &memories));
  ARGS(error_buffer, bad, .client = c, .code = NXJ_INTERNAL, .text = "lost", .n = 4, .dims = three,
       .rank = 1, .type = NXJ_TYPE_F32, .memory = memories.list[0]);
  good(RUN(Client_CreateErrorBuffer, &bad));
  nxj_buffer *in[] = {bad.buffer, bad.buffer}, *out = NULL;
  float got[3];
  good(try_call(l, in, 2, &out));
  refused(try_download(out, got, 3), NXJ_INTERNAL, "lost");
  ARGS(buffer_event, ready, .buffer = out);
  good(RUN(Buffer_ReadyEvent, &ready));
  refused(await(ready.event), NXJ_INTERNAL, "lost");
  drop_buffer(out);
  drop_buffer(bad.buffer);
  drop_loaded(l);
  drop_client(c);
}

/* ---- life and death */

static void dies_in_any_order(void **state) {
  (void)state;
  static const float want[] = {2, 4, 6};
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, add);
  nxj_buffer *x = upload(c, ones, three, 1), *in[] = {x, x}, *out = NULL;
  ARGS(loaded_executable, e, .loaded = l);
  good(RUN(LoadedExecutable_GetExecutable, &e));
  drop_client(c);
  good(try_call(l, in, 2, &out));
  drop_loaded(l); /* in the middle of its call */
  drop_buffer(x);
  expect(out, want, 3);
  drop_buffer(out);
  ARGS(executable, end, .executable = e.executable);
  good(RUN(Executable_Destroy, &end));
}

static int in_child(nxj_client *c, nxj_loaded *l, nxj_buffer *x, nxj_event *pending) {
  nxj_buffer *in[] = {x, x}, *out = NULL;
  float got[3];
  nxj_error *e = await(pending);
  if (e == NULL || code_of(e) != NXJ_CANCELLED) return 1;
  nxj_loaded *own;
  if (try_compile(c, add, &own) != NULL || try_call(own, in, 2, &out) != NULL) return 2;
  if (try_download(out, got, 3) != NULL || got[2] != 6) return 3;
  if (try_call(l, in, 2, &out) != NULL || try_download(out, got, 3) != NULL) return 4;
  return got[0] == 2 ? 0 : 5;
}

/* A child goes on with what was there; what its parent was waiting for is lost to it. */
static void forks(void **state) {
  (void)state;
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, add);
  nxj_buffer *x = upload(c, ones, three, 1), *in[] = {x, x}, *out = NULL;
  good(try_call(l, in, 2, &out));
  float got[3];
  good(try_download(out, got, 3));
  ARGS(event, made);
  good(RUN(Event_Create, &made));
  pid_t child = fork();
  if (child == 0) _exit(in_child(c, l, x, made.event));
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), 0);
  drop_event(made.event);
  drop_buffer(out);
  drop_buffer(x);
  drop_loaded(l);
  drop_client(c);
}

NXT_MAIN(plugin) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(has_a_table),       cmocka_unit_test(refuses_options),
      cmocka_unit_test(has_devices),       cmocka_unit_test(calls_programs),
      cmocka_unit_test(serialises),        cmocka_unit_test(refuses_programs),
      cmocka_unit_test(refuses_calls),     cmocka_unit_test(donates_what_is_of_use),
      cmocka_unit_test(donates),           cmocka_unit_test(takes_any_order),
      cmocka_unit_test(hands_through),     cmocka_unit_test(hands_copies_through),
      cmocka_unit_test(takes_halves),      cmocka_unit_test(takes_memory_over),
      cmocka_unit_test(lends_memory),      cmocka_unit_test(copies_between_devices),
      cmocka_unit_test(tells_when_ready),  cmocka_unit_test(passes_errors_on),
      cmocka_unit_test(dies_in_any_order), cmocka_unit_test(forks),
  };
  setenv("NX_CPU_DEVICES", "4", 1);
  alarm(100);
  load_plugin();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
