/* SPDX-License-Identifier: ISC */
/* Programs for several partitions: each device has its part of arguments and results, or its term
 * of a sum. */
#include <unistd.h>

#include "alike.h"
#include "branches.h"
#include "called.h"
#include "divided.h"
#include "many.h"
#include "moved.h"
#include "plugin.h"
#include "scattered.h"
#include "terms.h"
#include "unreduced.h"

/* One replica and this many partitions. */
static nxj_loaded *compile_parts(nxj_client *c, const unsigned char *code, size_t n, char parts) {
  char options[] = {0x1a, 4, 0x20, 1, 0x28, parts};
  nxj_program p = {
      .size = sizeof p, .code = (char *)(uintptr_t)code, .n = n, .format = "mlir", .n_format = 4};
  ARGS(client_compile, a, .client = c, .program = &p);
  a.options = options;
  a.n_options = sizeof options;
  good(RUN(Client_Compile, &a));
  return a.loaded;
}

static nxj_buffer *upload_as(nxj_client *c, int device, int type, const void *data, size_t rank,
                             const int64_t *dims) {
  ARGS(client_lookup, d, .client = c, .id = device);
  good(RUN(Client_LookupDevice, &d));
  ARGS(from_host, a, .client = c, .data = data, .type = type, .dims = dims, .rank = rank,
       .device = d.device);
  good(RUN(Client_BufferFromHostBuffer, &a));
  drop_event(a.done);
  return a.buffer;
}

static nxj_buffer *upload_to(nxj_client *c, int device, const float *data, int64_t n) {
  return upload_as(c, device, NXJ_TYPE_F32, data, 1, &n);
}

/* The same bits, for a zero has a sign. */
static void expect(nxj_buffer *b, const float *want, size_t n) {
  float got[16];
  good(try_download(b, got, n));
  assert_memory_equal(got, want, n * sizeof *want);
}

/* Each device has its part of the first result, and all of the second. */
static void divides(void **state) {
  (void)state;
  static const float x[] = {0, 1, 2, 3, 4, 5, 6, 7}, sum[] = {140};
  static const float want[] = {12, 17, 14, 19, 16, 21, 18, 23};
  nxj_client *c = make_client();
  nxj_loaded *l = compile_parts(c, divided, sizeof divided, 4);
  nxj_buffer *in[4][2], *out[4][2], *const *lists[4], **places[4];
  nxj_event *done[4];
  for (int i = 0; i < 4; i++) {
    in[i][0] = in[i][1] = upload_to(c, i, x + (ptrdiff_t)2 * i, 2);
    lists[i] = in[i];
    places[i] = out[i];
  }
  nxj_execute_options o = {.size = sizeof o};
  ARGS(execute, a, .loaded = l, .options = &o, .inputs = lists, .n_devices = 4, .n_inputs = 2,
       .outputs = places, .done = done);
  for (int round = 0; round < 3; round++) {
    good(RUN(LoadedExecutable_Execute, &a));
    for (int i = 0; i < 4; i++) {
      good(await(done[i]));
      expect(out[i][0], want + (ptrdiff_t)2 * i, 2);
      expect(out[i][1], sum, 1);
      drop_buffer(out[i][0]);
      drop_buffer(out[i][1]);
    }
  }
  a.n_devices = 3;
  refused(RUN(LoadedExecutable_Execute, &a), NXJ_INVALID_ARGUMENT, "for 3 devices");
  lists[1] = in[0];
  a.n_devices = 4;
  refused(RUN(LoadedExecutable_Execute, &a), NXJ_INVALID_ARGUMENT,
          "on device 0, and the call on 1");
  for (int i = 0; i < 4; i++) drop_buffer(in[i][0]);
  drop_loaded(l);
  drop_client(c);
}

/* What each of two devices has of each result. */
static void expect_all(nxj_buffer *(*out)[4], const float *const (*want)[2], const size_t *sizes,
                       size_t n) {
  for (int device = 0; device < 2; device++)
    for (size_t i = 0; i < n; i++) {
      expect(out[device][i], want[i][device], sizes[i]);
      drop_buffer(out[device][i]);
    }
}

/* Branches and loops use values from around them of which the process has parts; of those in a body
 * none is read after it, which would leave an error that the next program's is taken for. */
static void branches_off(void **state) {
  (void)state;
  static const char unknown[] = "func.func @main() -> tensor<f32> {\n"
                                "  %0 = stablehlo.custom_call @nobody() : () -> tensor<f32>\n"
                                "  return %0 : tensor<f32>\n}\n";
  static const float x[] = {0, 1, 2, 3};
  static const float more[] = {4, 11, 10, 17}, less[] = {0, -3, -6, -9};
  static const float three[] = {0, 22, 44, 66}, one[] = {0, 4, 8, 12};
  static const float *const want[2][2][2] = {{{more, more + 2}, {three, three + 2}},
                                             {{less, less + 2}, {one, one + 2}}};
  static const size_t sizes[] = {2, 2};
  static const int32_t counts[] = {3, 1};
  nxj_client *c = make_client();
  nxj_loaded *l = compile_parts(c, branches, sizeof branches, 2), *none;
  refused(try_compile(c, unknown, &none), NXJ_INVALID_ARGUMENT, "nobody is not known");
  nxj_execute_options o = {.size = sizeof o};
  for (int k = 0; k < 2; k++) {
    nxj_buffer *in[2][2], *out[2][4], *const *lists[2] = {in[0], in[1]};
    nxj_buffer **places[2] = {out[0], out[1]};
    nxj_event *done[2];
    for (int i = 0; i < 2; i++) {
      in[i][0] = upload_to(c, i, x + (ptrdiff_t)2 * i, 2);
      in[i][1] = upload_as(c, i, NXJ_TYPE_S32, &counts[k], 0, NULL);
    }
    ARGS(execute, a, .loaded = l, .options = &o, .inputs = lists, .n_devices = 2, .n_inputs = 2,
         .outputs = places, .done = done);
    good(RUN(LoadedExecutable_Execute, &a));
    for (int i = 0; i < 2; i++) good(await(done[i]));
    expect_all(out, want[k], sizes, 2);
    for (int i = 0; i < 4; i++) drop_buffer(in[i / 2][i % 2]);
  }
  drop_loaded(l);
  drop_client(c);
}

/* What a program does not say: a product has the rows of its first operand. */
static void divides_products(void **state) {
  (void)state;
  static const float a[] = {0, 1, 2, 3, 4, 5, 6, 7};
  static const float all[] = {2, 6, 10, 14, 6, 26, 46, 66, 10, 46, 82, 118, 14, 66, 118, 170};
  static const float *const want[1][2] = {{all, all + 8}};
  nxj_client *c = make_client();
  nxj_loaded *l = compile_parts(c, rows, sizeof rows, 2);
  nxj_buffer *in[2][1], *out[2][4], *const *lists[2] = {in[0], in[1]};
  nxj_buffer **places[2] = {out[0], out[1]};
  nxj_event *done[2];
  for (int i = 0; i < 2; i++)
    in[i][0] = upload_as(c, i, NXJ_TYPE_F32, a + (ptrdiff_t)4 * i, 2, (int64_t[]){2, 2});
  nxj_execute_options o = {.size = sizeof o};
  ARGS(execute, call, .loaded = l, .options = &o, .inputs = lists, .n_devices = 2, .n_inputs = 1,
       .outputs = places, .done = done);
  good(RUN(LoadedExecutable_Execute, &call));
  for (int i = 0; i < 2; i++) good(await(done[i]));
  expect_all(out, want, (size_t[]){8}, 1);
  for (int i = 0; i < 2; i++) drop_buffer(in[i][0]);
  drop_loaded(l);
  drop_client(c);
}

/* A program of four numbers, of which each of two devices has two, and its three results. */
static void of_halves(const unsigned char *code, size_t size, const float x[4],
                      const float *const want[3][2], const size_t sizes[3]) {
  nxj_client *c = make_client();
  nxj_loaded *l = compile_parts(c, code, size, 2);
  nxj_buffer *in[2][1], *out[2][4], *const *lists[2] = {in[0], in[1]};
  nxj_buffer **places[2] = {out[0], out[1]};
  nxj_event *done[2];
  for (int i = 0; i < 2; i++) in[i][0] = upload_to(c, i, x + (ptrdiff_t)2 * i, 2);
  nxj_execute_options o = {.size = sizeof o};
  ARGS(execute, call, .loaded = l, .options = &o, .inputs = lists, .n_devices = 2, .n_inputs = 1,
       .outputs = places, .done = done);
  good(RUN(LoadedExecutable_Execute, &call));
  for (int i = 0; i < 2; i++) good(await(done[i]));
  expect_all(out, want, sizes, 3);
  for (int i = 0; i < 2; i++) drop_buffer(in[i][0]);
  drop_loaded(l);
  drop_client(c);
}

/* Nor of columns that are joined, of rows that are repeated, and of a loop. */
static void divides_moves(void **state) {
  (void)state;
  static const float x[] = {0, 1, 2, 3};
  static const float columns_of[] = {0, 0, 1, 2, 2, 4, 3, 6},
                     twice[2][4] = {{0, 1, 0, 1}, {2, 3, 2, 3}};
  static const float loop[] = {0, 4, 8, 12};
  static const float *const want[3][2] = {
      {columns_of, columns_of + 4}, {twice[0], twice[1]}, {loop, loop + 2}};
  of_halves(moved, sizeof moved, x, want, (size_t[]){4, 4, 2});
}

/* As many operands of one computation as there are; and a constraint that says a layout, too, and
 * one that leaves it open how the value is divided. */
static void takes_many(void **state) {
  (void)state;
  static const float x[] = {0, 1, 2, 3}, sum[] = {0, 65, 130, 195}, twice[] = {0, 2, 4, 6};
  static const float *const want[3][2] = {{sum, sum + 2}, {x, x + 2}, {twice, twice + 2}};
  of_halves(many, sizeof many, x, want, (size_t[]){2, 2, 2});
}

/* ---- sums that are not made */

/* Of a sum each device has a term, which are added where it is read, whole or by a part. Of a whole
 * value the first has all, and the others what changes no sum. */
static void sums(void **state) {
  (void)state;
  static const float u[2][4] = {{0, 1, 2, 30}, {5, 6, 7, -30}}, v[] = {0, 1, 2, 3};
  static const float all[] = {10, 14, 18, 0}, part[2][2] = {{5, 7}, {9, 0}};
  static const float first[] = {-6, -5, -3, 0}, none[] = {-0.0f, -0.0f, -0.0f, -0.0f};
  static const float *const want[4][2] = {
      {all, all}, {part[0], part[1]}, {first, none}, {v, v + 2}};
  static const size_t sizes[] = {4, 2, 4, 2};
  nxj_client *c = make_client();
  nxj_loaded *l = compile_parts(c, unreduced, sizeof unreduced, 2);
  nxj_buffer *in[2][2], *out[2][4], *const *lists[2], **places[2];
  nxj_event *done[2];
  for (int i = 0; i < 2; i++) {
    in[i][0] = upload_to(c, i, u[i], 4);
    in[i][1] = upload_to(c, i, v + (ptrdiff_t)2 * i, 2);
    lists[i] = in[i];
    places[i] = out[i];
  }
  nxj_execute_options o = {.size = sizeof o};
  ARGS(execute, a, .loaded = l, .options = &o, .inputs = lists, .n_devices = 2, .n_inputs = 2,
       .outputs = places, .done = done);
  for (int round = 0; round < 2; round++) {
    good(RUN(LoadedExecutable_Execute, &a));
    for (int i = 0; i < 2; i++) good(await(done[i]));
    expect_all(out, want, sizes, 4);
  }
  for (int i = 0; i < 4; i++) drop_buffer(in[i / 2][i % 2]);
  drop_loaded(l);
  drop_client(c);
}

/* Two square parts each of a, whose columns are divided, and of b, whose rows are. */
static const float columns[2][4] = {{0, 1, 4, 5}, {2, 3, 6, 7}};
static const float rows_of_b[2][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}};

/* Runs a program of both, and compares its n results. */
static void run_squares(const unsigned char *code, size_t bytes, const float *const want[][2],
                        const size_t *sizes, size_t n) {
  static const int64_t square[] = {2, 2};
  nxj_client *c = make_client();
  nxj_loaded *l = compile_parts(c, code, bytes, 2);
  nxj_buffer *in[2][2], *out[2][4], *const *lists[2] = {in[0], in[1]};
  nxj_buffer **places[2] = {out[0], out[1]};
  nxj_event *done[2];
  for (int i = 0; i < 2; i++) {
    in[i][0] = upload_as(c, i, NXJ_TYPE_F32, columns[i], 2, square);
    in[i][1] = upload_as(c, i, NXJ_TYPE_F32, rows_of_b[i], 2, square);
  }
  nxj_execute_options o = {.size = sizeof o};
  ARGS(execute, call, .loaded = l, .options = &o, .inputs = lists, .n_devices = 2, .n_inputs = 2,
       .outputs = places, .done = done);
  good(RUN(LoadedExecutable_Execute, &call));
  for (int i = 0; i < 2; i++) good(await(done[i]));
  expect_all(out, want, sizes, n);
  for (int i = 0; i < 4; i++) drop_buffer(in[i / 2][i % 2]);
  drop_loaded(l);
  drop_client(c);
}

/* Functions that a program calls are given parts, and give parts. */
static void calls(void **state) {
  (void)state;
  static const float product[2][4] = {{2, 3, 10, 19}, {26, 31, 66, 79}};
  static const float *const want[2][2] = {{product[0], product[1]}, {columns[0], columns[1]}};
  static const size_t sizes[] = {4, 4};
  run_squares(called, sizeof called, want, sizes, 2);
}

/* A program with constraints has no text, and says so. */
static void has_no_text(void **state) {
  (void)state;
  nxj_client *c = make_client();
  nxj_loaded *l = compile_parts(c, terms, sizeof terms, 2);
  ARGS(loaded_executable, e, .loaded = l);
  good(RUN(LoadedExecutable_GetExecutable, &e));
  nxj_program p = {.size = sizeof p};
  ARGS(executable_program, a, .executable = e.executable, .program = &p);
  refused(RUN(Executable_OptimizedProgram, &a), NXJ_UNIMPLEMENTED, "Shardy");
  ARGS(executable, d, .executable = e.executable);
  good(RUN(Executable_Destroy, &d));
  drop_loaded(l);
  drop_client(c);
}

/* Where what is divided is summed, each makes its term of its parts. */
static void makes_terms(void **state) {
  (void)state;
  static const float product[2][4] = {{2, 3, 10, 19}, {26, 31, 66, 79}};
  static const float sum[2][2] = {{2, 4}, {10, 12}};
  static const float part[2][8] = {{0, 1, -0.0f, -0.0f, 4, 5, -0.0f, -0.0f},
                                   {-0.0f, -0.0f, 2, 3, -0.0f, -0.0f, 6, 7}};
  static const float *const want[3][2] = {
      {product[0], product[1]}, {sum[0], sum[1]}, {part[0], part[1]}};
  static const size_t sizes[] = {4, 2, 8};
  run_squares(terms, sizeof terms, want, sizes, 3);
}

/* Where what is divided is added at indices, each makes its term of its part, and the first adds
 * what was there. */
static void scatters_terms(void **state) {
  (void)state;
  static const float term[2][6] = {{3, 5, 1, 1, 1, 1}, {-0.0f, -0.0f, 4, 5, 6, 7}};
  static const float *const want[1][2] = {{term[0], term[1]}};
  run_squares(scattered, sizeof scattered, want, (size_t[]){6}, 1);
}

/* Without arguments, and with a collective whose result only the first device needs. */
static void sums_alone(void **state) {
  (void)state;
  static const float first[] = {-2, -2}, none[] = {-0.0f, -0.0f};
  static const float *const want[1][2] = {{first, none}};
  nxj_client *c = make_client();
  nxj_loaded *l = compile_parts(c, unreduced_alone, sizeof unreduced_alone, 2);
  nxj_buffer *out[2][4], *const *lists[2] = {NULL, NULL}, **places[2] = {out[0], out[1]};
  nxj_event *done[2];
  nxj_execute_options o = {.size = sizeof o};
  ARGS(execute, a, .loaded = l, .options = &o, .inputs = lists, .n_devices = 2, .outputs = places,
       .done = done);
  for (int round = 0; round < 2; round++) {
    good(RUN(LoadedExecutable_Execute, &a));
    for (int i = 0; i < 2; i++) good(await(done[i]));
    expect_all(out, want, (size_t[]){2}, 1);
  }
  drop_loaded(l);
  drop_client(c);
}

/* A result of which nothing is known is divided as the argument that it is grouped with. */
static void divides_alike(void **state) {
  (void)state;
  static const float x[] = {0, 0, 0, 0}, want[] = {0, 3, 6, 9};
  nxj_client *c = make_client();
  nxj_loaded *l = compile_parts(c, alike, sizeof alike, 2);
  nxj_buffer *in[2], *out[2], *const *lists[2], **places[2];
  for (int i = 0; i < 2; i++) {
    in[i] = upload_to(c, i, x, 2);
    lists[i] = &in[i];
    places[i] = &out[i];
  }
  nxj_execute_options o = {.size = sizeof o};
  ARGS(execute, a, .loaded = l, .options = &o, .inputs = lists, .n_devices = 2, .n_inputs = 1,
       .outputs = places);
  good(RUN(LoadedExecutable_Execute, &a));
  for (int i = 0; i < 2; i++) {
    ARGS(buffer_dims, dims, .buffer = out[i]);
    good(RUN(Buffer_Dimensions, &dims));
    assert_true(dims.n == 1 && dims.dims[0] == 2);
    expect(out[i], want + (ptrdiff_t)2 * i, 2);
    drop_buffer(in[i]);
    drop_buffer(out[i]);
  }
  drop_loaded(l);
  drop_client(c);
}

NXT_MAIN(divided) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(divides),
      cmocka_unit_test(branches_off),
      cmocka_unit_test(divides_products),
      cmocka_unit_test(divides_moves),
      cmocka_unit_test(takes_many),
      cmocka_unit_test(sums),
      cmocka_unit_test(sums_alone),
      cmocka_unit_test(has_no_text),
      cmocka_unit_test(makes_terms),
      cmocka_unit_test(scatters_terms),
      cmocka_unit_test(calls),
      cmocka_unit_test(divides_alike),
  };
  setenv("NX_CPU_DEVICES", "4", 1);
  alarm(100);
  load_plugin();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
