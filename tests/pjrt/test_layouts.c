/* SPDX-License-Identifier: ISC */
/* Buffers, arguments and results whose elements lie in another order than C's: what a caller says
 * of them, is told of them, and reads; and layouts that there are none of. */
#include <stdio.h>
#include <unistd.h>

#include "plugin.h"

enum { ROWS = 2, COLUMNS = 3, N = ROWS * COLUMNS };
static const int64_t dims[] = {ROWS, COLUMNS};
static const int64_t by_rows[] = {1, 0}, by_columns[] = {0, 1};
static const float data[N] = {1, 2, 3, 4, 5, 6}, turned[N] = {1, 4, 2, 5, 3, 6};

/* ---- layouts as the interface has them */

static nxj_memory_layout tiled(const int64_t *axes, size_t n) {
  nxj_memory_layout l = {.size = sizeof l, .type = NXJ_TILED};
  l.tiled.minor_to_major = axes;
  l.tiled.n = n;
  return l;
}

static nxj_buffer *give(nxj_client *c, const void *from, int type, const int64_t *axes) {
  nxj_memory_layout l = tiled(axes, 2);
  ARGS(from_host, a, .client = c, .data = from, .type = type, .dims = dims, .rank = 2,
       .layout = &l);
  good(RUN(Client_BufferFromHostBuffer, &a));
  drop_event(a.done);
  return a.buffer;
}

/* What the buffer says of itself, and its elements in C order. */
static void expect(nxj_buffer *b, const int64_t *axes, const float *want) {
  float got[N];
  ARGS(buffer_layout, said, .buffer = b);
  good(RUN(Buffer_GetMemoryLayout, &said));
  assert_true(said.layout.type == NXJ_TILED && said.layout.tiled.n_tiles == 0);
  assert_int_equal(said.layout.tiled.n, 2);
  assert_memory_equal(said.layout.tiled.minor_to_major, axes, 2 * sizeof *axes);
  nxj_memory_layout l = tiled(by_rows, 2);
  ARGS(to_host, t, .buffer = b, .layout = &l, .data = got, .n = sizeof got);
  good(RUN(Buffer_ToHostBuffer, &t));
  good(await(t.event));
  assert_memory_equal(got, want, sizeof got);
}

typedef struct extension {
  nxj_extension base;
  nxj_call *destroy, *serialize, *of_client, *of_buffer, *of_topology, *of_outputs, *of_inputs;
} extension;

static const extension *layouts(void) {
  const nxj_extension *e = table->extension;
  while (e != NULL && e->type != NXJ_EXTENSION_LAYOUTS) e = e->next;
  assert_non_null(e);
  return (const extension *)e;
}

static void expect_text(nxj_layout *l, const char *want) {
  ARGS(layout_serialize, a, .layout = l);
  good(layouts()->serialize(&a));
  assert_int_equal(a.n, strlen(want));
  assert_memory_equal(a.bytes, want, a.n);
  a.release(a.owner);
}

/* ---- buffers */

static void buffers_lie_as_asked(void **state) {
  (void)state;
  float got[N];
  nxj_client *c = make_client();
  nxj_buffer *x = give(c, data, NXJ_TYPE_F32, by_columns),
             *y = give(c, data, NXJ_TYPE_F32, by_rows);
  expect(x, by_columns, data);
  expect(y, by_rows, data);
  good(try_download(x, got, N)); /* without a layout as the buffer lies */
  assert_memory_equal(got, turned, sizeof got);
  ARGS(raw_to_host, raw, .buffer = x, .data = got, .n = sizeof got);
  good(RUN(Buffer_CopyRawToHost, &raw));
  good(await(raw.event));
  assert_memory_equal(got, turned, sizeof got);
  ARGS(layout_of_buffer, l, .buffer = x);
  good(layouts()->of_buffer(&l));
  expect_text(l.layout, "{0,1}");
  ARGS(layout, end, .layout = l.layout);
  good(layouts()->destroy(&end));
  ARGS(client_lookup, there, .client = c, .id = 1);
  good(RUN(Client_LookupDevice, &there));
  ARGS(copy_to_device, copy, .buffer = x, .device = there.device);
  good(RUN(Buffer_CopyToDevice, &copy));
  expect(copy.copy, by_columns, data);
  drop_buffer(copy.copy);
  drop_buffer(x);
  drop_buffer(y);
  drop_client(c);
}

/* Of two four-bit integers in a byte, too. */
static void halves_lie_as_asked(void **state) {
  (void)state;
  static const int8_t four[N] = {1, -2, 7, -8, 3, 0}, want[N] = {1, -8, -2, 3, 7, 0};
  int8_t got[N];
  nxj_client *c = make_client();
  nxj_buffer *x = give(c, four, NXJ_TYPE_S4, by_columns);
  ARGS(to_host, t, .buffer = x, .data = got, .n = sizeof got);
  good(RUN(Buffer_ToHostBuffer, &t));
  good(await(t.event));
  assert_memory_equal(got, want, sizeof got);
  nxj_memory_layout l = tiled(by_rows, 2);
  ARGS(to_host, u, .buffer = x, .layout = &l, .data = got, .n = sizeof got);
  good(RUN(Buffer_ToHostBuffer, &u));
  good(await(u.event));
  assert_memory_equal(got, four, sizeof got);
  drop_buffer(x);
  drop_client(c);
}

/* Memory that lies as the buffer shall is the buffer's. */
static void memory_in_order_is_taken(void **state) {
  (void)state;
  enum { SIDE = 128 };
  static float big[SIDE][SIDE];
  static const int64_t sides[] = {SIDE, SIDE}, columns[] = {4, 4 * SIDE}, gaps[] = {4, 8 * SIDE};
  nxj_client *c = make_client();
  nxj_memory_layout l = tiled(by_columns, 2);
  for (int i = 0; i < 3; i++) {
    if (i > 0) l = (nxj_memory_layout){.size = sizeof l, .type = NXJ_STRIDED};
    if (i > 0) l.strides.bytes = columns, l.strides.n = 2;
    ARGS(from_host, a, .client = c, .data = big, .type = NXJ_TYPE_F32, .dims = sides, .rank = 2,
         .strides = columns, .n_strides = 2, .semantics = NXJ_ZERO_COPY, .layout = &l);
    ARGS(view_of_memory, v, .client = c, .data = big, .type = NXJ_TYPE_F32, .dims = sides,
         .rank = 2, .layout = &l);
    if (i < 2) good(RUN(Client_BufferFromHostBuffer, &a));
    else good(RUN(Client_CreateViewOfDeviceBuffer, &v));
    ARGS(buffer_address, at, .buffer = i < 2 ? a.buffer : v.buffer);
    good(RUN(Buffer_UnsafePointer, &at));
    assert_true(at.address == (uintptr_t)big);
    ARGS(buffer_layout, said, .buffer = at.buffer);
    good(RUN(Buffer_GetMemoryLayout, &said));
    assert_memory_equal(said.layout.tiled.minor_to_major, by_columns, sizeof by_columns);
    if (i < 2) drop_event(a.done);
    drop_buffer(at.buffer);
  }
  /* with gaps it is copied, and lies in C order; a new buffer has none */
  l.strides.bytes = gaps;
  static const int64_t few[] = {SIDE, SIDE / 2};
  ARGS(view_of_memory, v, .client = c, .data = big, .type = NXJ_TYPE_F32, .dims = few, .rank = 2,
       .layout = &l);
  good(RUN(Client_CreateViewOfDeviceBuffer, &v));
  ARGS(buffer_layout, said, .buffer = v.buffer);
  good(RUN(Buffer_GetMemoryLayout, &said));
  assert_memory_equal(said.layout.tiled.minor_to_major, by_rows, sizeof by_rows);
  drop_buffer(v.buffer);
  ARGS(from_host, a, .client = c, .data = big, .type = NXJ_TYPE_F32, .dims = few, .rank = 2,
       .layout = &l);
  refused(RUN(Client_BufferFromHostBuffer, &a), NXJ_UNIMPLEMENTED, "gaps");
  drop_client(c);
}

static void layouts_of_nothing(void **state) {
  (void)state;
  static const int64_t twice[] = {0, 0}, outside[] = {0, 2}, negative[] = {-1, 0};
  static const int64_t tile[] = {2, 2};
  static const size_t tile_rank[] = {2};
  const int64_t *lists[] = {twice, outside, negative, by_rows, by_rows};
  nxj_client *c = make_client();
  for (int i = 0; i < 5; i++) {
    nxj_memory_layout l = tiled(lists[i], i == 3 ? 1 : 2);
    l.tiled.tiles = tile;
    l.tiled.tile_ranks = tile_rank;
    l.tiled.n_tiles = i == 4;
    ARGS(from_host, a, .client = c, .data = data, .type = NXJ_TYPE_F32, .dims = dims, .rank = 2,
         .layout = &l);
    refused(RUN(Client_BufferFromHostBuffer, &a), NXJ_UNIMPLEMENTED, "layout");
    ARGS(view_of_memory, v, .client = c, .data = (void *)(uintptr_t)data, .type = NXJ_TYPE_F32,
         .dims = dims, .rank = 2, .layout = &l);
    refused(RUN(Client_CreateViewOfDeviceBuffer, &v), NXJ_UNIMPLEMENTED, "tiles");
    ARGS(uninitialized, u, .client = c, .type = NXJ_TYPE_F32, .dims = dims, .rank = 2,
         .layout = &l);
    refused(RUN(Client_CreateUninitializedBuffer, &u), NXJ_UNIMPLEMENTED, "layout");
  }
  drop_client(c);
}

/* ---- axes that lie anywhere */

/* "tensor<2x1xf32>" */
static void type_of(char out[32], const int64_t *extents) {
  snprintf(out, 32, "tensor<%dx%dx%dxf32>", (int)extents[0], (int)extents[1], (int)extents[2]);
}

static const char *const orders[] = {"{2,1,0}", "{2,0,1}", "{1,2,0}",
                                     "{1,0,2}", "{0,2,1}", "{0,1,2}"};
static void order_of(int i, int64_t axes[3]) {
  for (int k = 0; k < 3; k++) axes[k] = orders[i][1 + 2 * k] - '0';
}

static bool all_alike(const int64_t *extents, int a, int b) {
  int64_t x[3], y[3];
  int i = 0, k = 0;
  order_of(a, x);
  order_of(b, y);
  if (extents[0] * extents[1] * extents[2] == 0) return true;
  for (;; i++, k++) {
    while (i < 3 && extents[x[i]] == 1) i++;
    while (k < 3 && extents[y[k]] == 1) k++;
    if (i == 3 || k == 3) return i == k;
    if (x[i] != y[k]) return false;
  }
}

/* The buffer says the layout that it was asked for, and has these elements in C order. */
static void expect_three(nxj_buffer *b, int order, const float *want, size_t n) {
  static const int64_t c_order[] = {2, 1, 0};
  float got[N] = {0};
  int64_t axes[3];
  ARGS(buffer_layout, said, .buffer = b);
  good(RUN(Buffer_GetMemoryLayout, &said));
  order_of(order, axes);
  assert_memory_equal(said.layout.tiled.minor_to_major, axes, sizeof axes);
  nxj_memory_layout l = tiled(c_order, 3);
  ARGS(to_host, t, .buffer = b, .layout = &l, .data = got, .n = n * sizeof *got);
  good(RUN(Buffer_ToHostBuffer, &t));
  good(await(t.event));
  assert_memory_equal(got, want, n * sizeof *got);
  drop_buffer(b);
}

static const float negated[N] = {-1, -2, -3, -4, -5, -6};

/* A program of an argument in order `in`, and two results in order `out`; buffers in each order. */
static void try_orders(nxj_client *c, const int64_t *extents, int in, int out, bool donated) {
  char text[512], type[32];
  size_t n = (size_t)(extents[0] * extents[1] * extents[2]);
  type_of(type, extents);
  snprintf(text, sizeof text,
           "func.func @main(%%a: %s {mhlo.layout_mode = \"%s\"%s}) -> "
           "(%s {mhlo.layout_mode = \"%s\"}, %s {mhlo.layout_mode = \"%s\"}) {\n"
           "  %%0 = stablehlo.negate %%a : %s\n"
           "  return %%0, %%a : %s, %s\n"
           "}\n",
           type, orders[in], donated ? ", tf.aliasing_output = 0 : i32" : "", type, orders[out],
           type, orders[out], type, type, type);
  nxj_loaded *l = compile(c, text);
  for (int k = 0; k < 6; k++) {
    int64_t axes[3];
    order_of(k, axes);
    nxj_memory_layout layout = tiled(axes, 3);
    static const int64_t none[] = {0, 0, 0};
    const int64_t strides[] = {4 * extents[1] * extents[2], 4 * extents[2], 4};
    ARGS(from_host, a, .client = c, .data = data, .type = NXJ_TYPE_F32, .dims = extents, .rank = 3,
         .strides = n == 0 ? none : strides, .n_strides = 3, .layout = &layout);
    good(RUN(Client_BufferFromHostBuffer, &a));
    drop_event(a.done);
    nxj_buffer *results[2] = {NULL, NULL};
    nxj_error *e = try_call(l, &a.buffer, 1, results);
    if (!all_alike(extents, in, k)) refused(e, NXJ_INVALID_ARGUMENT, "another layout");
    else {
      good(e);
      expect_three(results[0], out, negated, n);
      expect_three(results[1], out, data, n);
    }
    if (e != NULL || !donated) expect_three(a.buffer, k, data, n);
    else drop_buffer(a.buffer);
  }
  drop_loaded(l);
}

/* An axis of extent 1, and all of an array without elements: an argument in any such order is the
 * one that a program takes, and a result says the order that it was asked for. */
static void some_axes_lie_anywhere(void **state) {
  (void)state;
  static const int64_t all[][3] = {{1, 2, 3}, {2, 1, 3}, {2, 3, 1}, {1, 6, 1},
                                   {1, 1, 1}, {0, 2, 3}, {2, 0, 1}, {1, 3, 0}};
  nxj_client *c = make_client();
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    for (int in = 0; in < 6; in++) try_orders(c, all[i], in, (in * 5 + (int)i) % 6, in % 2 != 0);
  drop_client(c);
}

/* Strides of such axes may be anything. */
static void strides_of_such_axes(void **state) {
  (void)state;
  static const int64_t extents[][2] = {{1, 6}, {6, 1}, {3, 0}, {2, 0}, {0, 3}};
  static const int64_t strides[][2] = {{4, 4}, {4, 4}, {4, 4}, {4, 8}, {12, 4}};
  nxj_client *c = make_client();
  for (int i = 0; i < 5; i++) {
    nxj_memory_layout l = {.size = sizeof l, .type = NXJ_STRIDED};
    l.strides.bytes = strides[i], l.strides.n = 2;
    ARGS(from_host, a, .client = c, .data = data, .type = NXJ_TYPE_F32, .dims = extents[i],
         .rank = 2, .layout = &l);
    good(RUN(Client_BufferFromHostBuffer, &a));
    drop_event(a.done);
    float got[N];
    good(try_download(a.buffer, got, i < 2 ? N : 0));
    if (i < 2) assert_memory_equal(got, data, sizeof got);
    drop_buffer(a.buffer);
  }
  drop_client(c);
}

/* ---- programs */

#define M     "tensor<2x3xf32>"
#define T     "tensor<3x2xf32>"
#define AS(l) " {mhlo.layout_mode = \"" l "\"}"
#define PROGRAM(in, out)                                                             \
  "func.func @main(%a: " M in ", %b: " M ") -> (" M out ", " T                       \
  " " AS("auto") ") {\n"                                                             \
                 "  %0 = stablehlo.add %a, %b : " M "\n"                             \
                 "  %1 = stablehlo.transpose %0, dims = [1, 0] : (" M ") -> " T "\n" \
                 "  %2 = stablehlo.negate %1 : " T "\n"                              \
                 "  return %0, %2 : " M ", " T "\n"                                  \
                 "}\n"

static void expect_ports(nxj_loaded *l, const char *in, const char *first, const char *second) {
  ARGS(loaded_executable, e, .loaded = l);
  good(RUN(LoadedExecutable_GetExecutable, &e));
  ARGS(layouts_of_ports, a, .executable = e.executable);
  good(layouts()->of_inputs(&a));
  assert_int_equal(a.n, 2);
  expect_text(a.list[0], in);
  expect_text(a.list[1], "{1,0}");
  good(layouts()->of_outputs(&a));
  assert_int_equal(a.n, 2);
  expect_text(a.list[0], first);
  expect_text(a.list[1], second);
  ARGS(executable, end, .executable = e.executable);
  good(RUN(Executable_Destroy, &end));
}

static void call_it(nxj_client *c, nxj_loaded *l, const int64_t *in_axes, const int64_t *out_axes) {
  static const float sums[N] = {2, 4, 6, 8, 10, 12}, rows[N] = {-2, -4, -6, -8, -10, -12};
  nxj_buffer *in[] = {give(c, data, NXJ_TYPE_F32, in_axes), give(c, data, NXJ_TYPE_F32, by_rows)};
  nxj_buffer *out[2];
  float got[N];
  for (int i = 0; i < 3; i++) { /* the first on a thread, then here */
    good(try_call(l, in, 2, out));
    expect(out[0], out_axes, sums);
    good(try_download(out[1], got, N)); /* as the sum lies: this one is transposed */
    if (in_axes == by_rows) assert_memory_equal(got, rows, sizeof got);
    drop_buffer(out[0]);
    drop_buffer(out[1]);
  }
  drop_buffer(in[0]);
  drop_buffer(in[1]);
}

static void programs_say_layouts(void **state) {
  (void)state;
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, PROGRAM("", AS("default")));
  expect_ports(l, "{1,0}", "{1,0}", "{0,1}");
  call_it(c, l, by_rows, by_rows);
  nxj_buffer *in[] = {give(c, data, NXJ_TYPE_F32, by_columns),
                      give(c, data, NXJ_TYPE_F32, by_rows)};
  nxj_buffer *out[2] = {NULL, NULL};
  refused(try_call(l, in, 2, out), NXJ_INVALID_ARGUMENT, "argument 0 has another layout");
  drop_buffer(in[0]);
  drop_buffer(in[1]);
  drop_loaded(l);
  l = compile(c, PROGRAM(AS("{0,1}"), AS("{1,0}")));
  expect_ports(l, "{0,1}", "{1,0}", "{1,0}");
  call_it(c, l, by_columns, by_rows);
  drop_loaded(l);
  l = compile(c, PROGRAM(AS("{1,0}"), AS("{0,1}")));
  expect_ports(l, "{1,0}", "{0,1}", "{0,1}");
  call_it(c, l, by_rows, by_columns);
  drop_loaded(l);
  drop_client(c);
}

/* The compile options say {0,1} of the first argument and of the first result; the program's own
 * word counts more. */
static void options_say_layouts(void **state) {
  (void)state;
  static const char options[] = "\x0a\x06\x2a\x04\x0a\x02\x00\x01"         /* an argument */
                                "\x1a\x0c\x12\x0a\x22\x06\x2a\x04\x0a\x02" /* a tuple of results */
                                "\x00\x01\x22\x00";
  nxj_client *c = make_client();
  const char *texts[] = {PROGRAM("", ""), PROGRAM(AS("{1,0}"), AS("default"))};
  for (int i = 0; i < 2; i++) {
    nxj_program p = {.size = sizeof p,
                     .code = (char *)(uintptr_t)texts[i],
                     .n = strlen(texts[i]),
                     .format = "mlir",
                     .n_format = 4};
    ARGS(client_compile, a, .client = c, .program = &p, .options = options,
         .n_options = sizeof options - 1);
    good(RUN(Client_Compile, &a));
    expect_ports(a.loaded, i == 0 ? "{0,1}" : "{1,0}", i == 0 ? "{0,1}" : "{1,0}",
                 i == 0 ? "{1,0}" : "{0,1}");
    call_it(c, a.loaded, i == 0 ? by_columns : by_rows, i == 0 ? by_columns : by_rows);
    drop_loaded(a.loaded);
  }
  nxj_program p = {.size = sizeof p,
                   .code = (char *)(uintptr_t)texts[0],
                   .n = strlen(texts[0]),
                   .format = "mlir",
                   .n_format = 4};
  ARGS(client_compile, a, .client = c, .program = &p, .options = "\x0a\x06\x2a\x04\x0a\x02\x00\x07",
       .n_options = 8);
  refused(RUN(Client_Compile, &a), NXJ_UNIMPLEMENTED, "of the compile options of argument 0");
  drop_client(c);
}

/* A result in another order than the argument that it is is no such argument. */
static void results_are_arguments(void **state) {
  (void)state;
  static const char text[] =
      "func.func @main(%a: " M ") -> (" M AS("{0,1}") ", " M ", " M ") {\n"
                                                      "  %0 = stablehlo.negate %a : " M "\n"
                                                      "  return %a, %a, %0 : " M ", " M ", " M "\n"
                                                      "}\n";
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, text);
  nxj_buffer *in[] = {give(c, data, NXJ_TYPE_F32, by_rows)}, *out[3];
  good(try_call(l, in, 1, out));
  drop_buffer(in[0]);
  expect(out[0], by_columns, data);
  expect(out[1], by_rows, data);
  for (int i = 0; i < 3; i++) drop_buffer(out[i]);
  drop_loaded(l);
  drop_client(c);
}

/* A donated argument in one order, and its result in another. */
static void donates(void **state) {
  (void)state;
  static const char text[] =
      "func.func @main(%a: " M " {mhlo.layout_mode = \"{0,1}\", tf.aliasing_output = 0 : i32}) -> "
      "(" M AS("{1,0}") ") {\n"
                        "  %0 = stablehlo.negate %a : " M "\n"
                        "  return %0 : " M "\n"
                        "}\n";
  static const float want[N] = {-1, -2, -3, -4, -5, -6};
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, text);
  for (int i = 0; i < 3; i++) {
    nxj_buffer *in[] = {give(c, data, NXJ_TYPE_F32, by_columns)}, *out[1];
    good(try_call(l, in, 1, out));
    assert_true(is_deleted(in[0]));
    expect(out[0], by_rows, want);
    drop_buffer(in[0]);
    drop_buffer(out[0]);
  }
  drop_loaded(l);
  drop_client(c);
}

static void refuses_layouts(void **state) {
  (void)state;
  static const char *const texts[] = {
      PROGRAM(AS("{0,0}"), ""),       PROGRAM(AS("{0}"), ""),
      PROGRAM(AS("{0,1,2}"), ""),     PROGRAM(AS("{1,0:T(8,128)}"), ""),
      PROGRAM(AS("{0,1"), ""),        PROGRAM(AS(""), ""),
      PROGRAM(AS("{"), ""),           PROGRAM(AS("{0,99999999999999999999}"), ""),
      PROGRAM(AS("{0,1:E(4)x}"), ""), PROGRAM(AS("0,1"), ""),
      PROGRAM(AS("{0,-1}"), ""),      PROGRAM(AS("{}"), "")};
  nxj_client *c = make_client();
  nxj_loaded *l;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    refused(try_compile(c, texts[i], &l), NXJ_UNIMPLEMENTED, "of argument 0 is not an order of 2");
  refused(try_compile(c, PROGRAM("", AS("{1}")), &l), NXJ_UNIMPLEMENTED, "result 0 is not");
  refused(try_compile(c, PROGRAM(" {mhlo.layout_mode = 3 : i32}", ""), &l), NXJ_INVALID_ARGUMENT,
          "is no string");
  drop_client(c);
}

NXT_MAIN(layouts) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buffers_lie_as_asked),     cmocka_unit_test(halves_lie_as_asked),
      cmocka_unit_test(memory_in_order_is_taken), cmocka_unit_test(layouts_of_nothing),
      cmocka_unit_test(programs_say_layouts),     cmocka_unit_test(options_say_layouts),
      cmocka_unit_test(results_are_arguments),    cmocka_unit_test(donates),
      cmocka_unit_test(refuses_layouts),          cmocka_unit_test(some_axes_lie_anywhere),
      cmocka_unit_test(strides_of_such_axes),
  };
  setenv("NX_CPU_DEVICES", "2", 1);
  alarm(100);
  load_plugin();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
