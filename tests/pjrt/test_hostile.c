/* SPDX-License-Identifier: ISC */
/* What no sensible caller gives the plugin: damaged executables and options, shapes and layouts
 * that make no sense, buffers that are gone. Each ends with an error, or does what it says. */
#include <stdio.h>
#include <unistd.h>

#include "plugin.h"
#include "unreduced.h"

#define V "tensor<3xf32>"
static const char add[] = "func.func @main(%a: " V ", %b: " V ") -> " V " {\n"
                          "  %0 = stablehlo.add %a, %b : " V "\n"
                          "  return %0 : " V "\n"
                          "}\n";
static const int64_t three[] = {3};
static const float ones[] = {1, 2, 3};

enum { TRIES = 3000 };

typedef uint64_t seed;

static uint32_t below(seed *r, uint32_t n) {
  *r = *r * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*r >> 33) % n;
}

/* Changes some bytes of a copy, or cuts it; its new size. */
static size_t damage(seed *random, char *to, const char *from, size_t n) {
  memcpy(to, from, n);
  for (int i = 0; i < 1 + (int)below(random, 3); i++)
    to[below(random, (uint32_t)n)] = (char)below(random, 256);
  return below(random, 10) == 0 ? below(random, (uint32_t)n) : n;
}

/* One that loads is called: it is some program, of these arguments or others. */
static void call_it(nxj_loaded *l, nxj_buffer *x) {
  nxj_buffer *in[] = {x, x}, *out[4] = {NULL};
  ARGS(loaded_executable, e, .loaded = l);
  good(RUN(LoadedExecutable_GetExecutable, &e));
  ARGS(executable_count, n, .executable = e.executable);
  good(RUN(Executable_NumOutputs, &n));
  ARGS(executable, end, .executable = e.executable);
  good(RUN(Executable_Destroy, &end));
  nxj_error *failed = n.n <= 4 ? try_call(l, in, 2, out) : NULL;
  if (failed != NULL) destroy_error(failed);
  for (int i = 0; i < 4; i++)
    if (out[i] != NULL) drop_buffer(out[i]);
}

static void damaged_executables(void **state) {
  (void)state;
  static char bytes[4096];
  seed random = 7;
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, add);
  nxj_buffer *x = upload(c, ones, three, 1);
  ARGS(loaded_executable, e, .loaded = l);
  good(RUN(LoadedExecutable_GetExecutable, &e));
  ARGS(executable_serialize, s, .executable = e.executable);
  good(RUN(Executable_Serialize, &s));
  assert_true(s.n < sizeof bytes);
  for (int i = 0; i < TRIES; i++) {
    ARGS(deserialize, d, .client = c, .bytes = bytes);
    d.n = damage(&random, bytes, s.bytes, s.n);
    nxj_error *failed = RUN(Executable_DeserializeAndLoad, &d);
    if (failed != NULL) {
      destroy_error(failed);
      continue;
    }
    call_it(d.loaded, x);
    drop_loaded(d.loaded);
  }
  s.release(s.owner);
  ARGS(executable, end, .executable = e.executable);
  good(RUN(Executable_Destroy, &end));
  drop_buffer(x);
  drop_loaded(l);
  drop_client(c);
}

static void damaged_options(void **state) {
  (void)state;
  static const char options[] =
      "\x1a\x12\x20\x01\x28\x01\x4a\x0c\x08\x01\x10\x01\x1a\x06\x0a\x04\x00"
      "\x00\x00\x00\x20\x01\x3a\x0d\x0a\x07xla_abc\x12\x02\x0a\x00"
      "\x0a\x05\x2a\x03\x0a\x01\x00\x1a\x0b\x12\x09\x22\x07\x2a\x05\x0a\x01\x00\x38\x00";
  static char bytes[96];
  seed random = 8;
  nxj_client *c = make_client();
  nxj_program p = {.size = sizeof p,
                   .code = (char *)(uintptr_t)add,
                   .n = sizeof add - 1,
                   .format = "mlir",
                   .n_format = 4};
  for (int i = 0; i < TRIES; i++) {
    ARGS(client_compile, a, .client = c, .program = &p, .options = bytes);
    a.n_options = damage(&random, bytes, options, sizeof options - 1);
    nxj_error *failed = RUN(Client_Compile, &a);
    if (failed != NULL) destroy_error(failed);
    else drop_loaded(a.loaded);
  }
  drop_client(c);
}

/* Of programs: layouts, donation, parts, functions of the caller. */
static void damaged_programs(void **state) {
  (void)state;
  static const char text[] =
      "func.func @main(%a: tensor<1x3xf32> {mhlo.layout_mode = \"{0,1}\", tf.aliasing_output = 0 : "
      "i32}, %b: " V " {jax.buffer_donor = true}) -> (tensor<3x1xf32> {mhlo.layout_mode = "
      "\"auto\"}, " V ") {\n"
      "  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<1x3xf32>) -> tensor<3x1xf32>\n"
      "  %1 = stablehlo.custom_call @LayoutConstraint(%0) {result_layouts = [dense<[1, 0]> : "
      "tensor<2xindex>], operand_layouts = [dense<[0, 1]> : tensor<2xindex>]} : "
      "(tensor<3x1xf32>) -> tensor<3x1xf32>\n"
      "  %2 = func.call @f(%b, %1) : (" V ", tensor<3x1xf32>) -> " V "\n"
      "  return %1, %2 : tensor<3x1xf32>, " V "\n"
      "}\n"
      "func.func private @f(%a: " V ", %b: tensor<3x1xf32>) -> " V " {\n"
      "  %0 = stablehlo.negate %a : " V "\n"
      "  return %0 : " V "\n"
      "}\n";
  static const char tiled[] =
      "func.func @main(%a: tensor<4x2xf32> {mhlo.sharding = \"{devices=[2,1]<=[2]}\"}, %b: "
      "tensor<4x2xf32> {mhlo.sharding = \"{devices=[1,2]1,0}\"}) -> (tensor<4x2xf32> "
      "{mhlo.sharding = \"{devices=[1,1,2]<=[2] last_tile_dim_replicate}\"}) {\n"
      "  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = \"{devices=[1,2]<=[2]}\"} : "
      "(tensor<4x2xf32>) -> tensor<4x2xf32>\n"
      "  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = \"{manual}\"} : "
      "(tensor<4x2xf32>) -> tensor<4x1xf32>\n"
      "  %2 = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "
      "\"{devices=[1,2]<=[2]}\"} : (tensor<4x1xf32>) -> tensor<4x2xf32>\n"
      "  %3 = stablehlo.add %2, %b : tensor<4x2xf32>\n"
      "  return %3 : tensor<4x2xf32>\n"
      "}\n";
  static char bytes[4096];
  const char *const programs[] = {text, (const char *)unreduced, tiled};
  const size_t sizes[] = {sizeof text - 1, sizeof unreduced, sizeof tiled - 1};
  seed random = 9;
  assert_true(sizeof unreduced <= sizeof bytes);
  nxj_client *c = make_client();
  nxj_buffer *x = upload(c, ones, three, 1);
  for (int i = 0; i < 3 * TRIES; i++) {
    const char *program = programs[i % 3];
    size_t size = sizes[i % 3];
    nxj_program p = {.size = sizeof p, .code = bytes, .format = "mlir", .n_format = 4};
    bool whole = i < 3; /* as they are they are good */
    p.n = whole ? size : damage(&random, bytes, program, size);
    if (whole) memcpy(bytes, program, p.n);
    ARGS(client_compile, a, .client = c, .program = &p);
    if (i % 3 > 0) a.options = "\x1a\x04\x20\x01\x28\x02", a.n_options = 6;
    nxj_error *failed = RUN(Client_Compile, &a);
    if (whole) good(failed);
    if (failed != NULL) {
      destroy_error(failed);
      continue;
    }
    if (i % 3 == 0) call_it(a.loaded, x);
    drop_loaded(a.loaded);
  }
  drop_buffer(x);
  drop_client(c);
}

/* Names are any bytes, and sentences are UTF-8: other bytes are question marks. */
static void senseless_names(void **state) {
  (void)state;
  static const struct {
    const char *name, *said;
  } rows[] = {{"a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z", "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"},
              {"a\xffz", "a?z"},
              {"a\xc0\x80z", "a??z"},
              {"a\xc3z", "a?z"},
              {"a\xe0\x80\x80z", "a???z"},
              {"a\xed\xa0\x80z", "a???z"},
              {"a\xf4\x90\x80\x80z", "a????z"},
              {"a\xf0\x80\x80\x80z", "a????z"},
              {"a\x80z", "a?z"}};
  nxj_client *c = make_client();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char program[300];
    nxj_loaded *l;
    snprintf(program, sizeof program,
             "func.func @main(%%a: " V ") -> " V " {\n"
             "  %%0 = stablehlo.custom_call @\"%s\"(%%a) : (" V ") -> " V "\n"
             "  return %%0 : " V "\n"
             "}\n",
             rows[i].name);
    refused(try_compile(c, program, &l), NXJ_INVALID_ARGUMENT, rows[i].said);
  }
  drop_client(c);
}

static void senseless_shapes(void **state) {
  (void)state;
  static const int64_t rows[][3] = {{-1, 2, 3},
                                    {INT64_MIN, 1, 1},
                                    {INT64_MAX, INT64_MAX, 1},
                                    {1l << 40, 1l << 20, 1l << 20},
                                    {INT64_MAX, 1, 1}};
  nxj_client *c = make_client();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ARGS(from_host, a, .client = c, .data = ones, .type = NXJ_TYPE_F32, .dims = rows[i], .rank = 3);
    refused(RUN(Client_BufferFromHostBuffer, &a), NXJ_INVALID_ARGUMENT, "dimensions");
    ARGS(uninitialized, u, .client = c, .type = NXJ_TYPE_F64, .dims = rows[i], .rank = 3);
    refused(RUN(Client_CreateUninitializedBuffer, &u), NXJ_INVALID_ARGUMENT, "dimensions");
  }
  ARGS(client_lookup, second, .client = c, .id = 1);
  good(RUN(Client_LookupDevice, &second));
  ARGS(view_of_memory, v, .client = c, .type = NXJ_TYPE_F32, .dims = three, .rank = 1,
       .device = second.device);
  refused(RUN(Client_CreateViewOfDeviceBuffer, &v), NXJ_INVALID_ARGUMENT, "is NULL");
  static const int64_t many[40] = {1}, huge[] = {1l << 50};
  ARGS(from_host, a, .client = c, .data = ones, .type = NXJ_TYPE_F32, .dims = many, .rank = 40);
  refused(RUN(Client_BufferFromHostBuffer, &a), NXJ_INVALID_ARGUMENT, "rank 40");
  a.type = 99;
  refused(RUN(Client_BufferFromHostBuffer, &a), NXJ_UNIMPLEMENTED, "elements");
  ARGS(uninitialized, u, .client = c, .type = NXJ_TYPE_F32, .dims = huge, .rank = 1);
  refused(RUN(Client_CreateUninitializedBuffer, &u), NXJ_RESOURCE_EXHAUSTED, "memory");
  drop_client(c);
}

static void senseless_layouts(void **state) {
  (void)state;
  static const int64_t twice[] = {0, 0}, outside[] = {0, 5}, dims[] = {2, 1}, strides[] = {4};
  nxj_client *c = make_client();
  nxj_buffer *x = upload(c, ones, dims, 2);
  const int64_t *lists[] = {twice, outside, outside};
  for (int i = 0; i < 4; i++) {
    float got[2];
    nxj_memory_layout layout = {.size = sizeof layout, .type = i < 3 ? NXJ_TILED : NXJ_STRIDED};
    if (i < 3) layout.tiled.minor_to_major = lists[i];
    if (i < 3) layout.tiled.n = i < 2 ? 2 : 1;
    if (i == 3) layout.strides.bytes = strides;
    if (i == 3) layout.strides.n = 1;
    ARGS(to_host, a, .buffer = x, .layout = &layout, .data = got, .n = sizeof got);
    refused(RUN(Buffer_ToHostBuffer, &a), NXJ_INVALID_ARGUMENT, "layout");
  }
  /* elements where the caller has no room */
  static const int64_t wide[][2] = {{4, 4}, {1l << 40, 4}, {INT64_MAX, 4}, {-4, 4}, {5, 4}};
  for (int i = 0; i < 5; i++) {
    float room[2];
    nxj_memory_layout layout = {.size = sizeof layout, .type = NXJ_STRIDED};
    layout.strides.bytes = wide[i];
    layout.strides.n = 2;
    ARGS(to_host, a, .buffer = x, .layout = &layout, .data = room, .n = sizeof room);
    nxj_error *e = RUN(Buffer_ToHostBuffer, &a);
    if (i > 0) refused(e, NXJ_INVALID_ARGUMENT, "outside of the 8 bytes");
    else good(e), good(await(a.event));
  }
  char got[8];
  for (int64_t offset = -1; offset < 12; offset += 4) {
    ARGS(raw_to_host, a, .buffer = x, .data = got, .offset = offset, .n = 9 - offset);
    refused(RUN(Buffer_CopyRawToHost, &a), NXJ_INVALID_ARGUMENT, "of a buffer of 8 bytes");
  }
  drop_buffer(x);
  drop_client(c);
}

static void arguments_that_are_missing(void **state) {
  (void)state;
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, add);
  nxj_buffer *x = upload(c, ones, three, 1), *out = NULL;
  refused(try_call(l, (nxj_buffer *[]){x, NULL}, 2, &out), NXJ_INVALID_ARGUMENT, "no argument 1");
  refused(try_call(l, NULL, 2, &out), NXJ_INVALID_ARGUMENT, "no argument 0");
  ARGS(execute, none, .loaded = l, .n_devices = 1, .n_inputs = 2,
       .outputs = &(nxj_buffer **){&out});
  refused(RUN(LoadedExecutable_Execute, &none), NXJ_INVALID_ARGUMENT, "no argument 0");
  none.outputs = NULL;
  refused(RUN(LoadedExecutable_Execute, &none), NXJ_INVALID_ARGUMENT, "no list for 1 results");
  nxj_loaded *nothing = compile(c, "func.func @main() {\n  return\n}\n");
  ARGS(execute, empty, .loaded = nothing, .n_devices = 1);
  good(RUN(LoadedExecutable_Execute, &empty)); /* without lists */
  drop_loaded(nothing);
  drop_buffer(x);
  drop_loaded(l);
  drop_client(c);
}

static void buffers_that_are_gone(void **state) {
  (void)state;
  nxj_client *c = make_client(), *other = make_client();
  nxj_buffer *x = upload(c, ones, three, 1);
  ARGS(client_lookup, there, .client = other, .id = 1);
  good(RUN(Client_LookupDevice, &there));
  ARGS(copy_to_device, copy, .buffer = x, .device = there.device);
  refused(RUN(Buffer_CopyToDevice, &copy), NXJ_UNIMPLEMENTED, "another client");
  ARGS(buffer, b, .buffer = x);
  refused(RUN(Buffer_DecreaseExternalReferenceCount, &b), NXJ_INVALID_ARGUMENT, "no external");
  good(RUN(Buffer_IncreaseExternalReferenceCount, &b));
  for (int i = 0; i < 2; i++) good(RUN(Buffer_Delete, &b));
  ARGS(client_lookup, here, .client = c, .id = 1);
  good(RUN(Client_LookupDevice, &here));
  copy.device = here.device;
  refused(RUN(Buffer_CopyToDevice, &copy), NXJ_INVALID_ARGUMENT, "deleted or donated");
  refused(RUN(Buffer_IncreaseExternalReferenceCount, &b), NXJ_INVALID_ARGUMENT, "deleted");
  ARGS(buffer_address, address, .buffer = x);
  refused(RUN(Buffer_UnsafePointer, &address), NXJ_INVALID_ARGUMENT, "deleted or donated");
  good(RUN(Buffer_DecreaseExternalReferenceCount, &b));
  ARGS(buffer_size, size, .buffer = x);
  good(RUN(Buffer_OnDeviceSizeInBytes, &size));
  assert_int_equal(size.n, 12);
  drop_client(c);
  drop_client(other);
  drop_buffer(x);
}

NXT_MAIN(hostile) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damaged_executables),        cmocka_unit_test(damaged_options),
      cmocka_unit_test(senseless_shapes),           cmocka_unit_test(senseless_layouts),
      cmocka_unit_test(buffers_that_are_gone),      cmocka_unit_test(damaged_programs),
      cmocka_unit_test(arguments_that_are_missing), cmocka_unit_test(senseless_names),
  };
  setenv("NX_CPU_DEVICES", "2", 1);
  alarm(100);
  load_plugin();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
