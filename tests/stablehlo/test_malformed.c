/* SPDX-License-Identifier: ISC */
/* Bytes that are no module: whatever is cut off or changed in a text or in an artifact, reading and
 * recording end with a function or with a status and a sentence, and nothing is kept. */
#include "artifact.h"
#include "ir/alloc.h"
#include "tests/util/api.h"

static const char program[] =
    "module @m attributes {mhlo.num_replicas = 1 : i32} {\n"
    "  func.func public @main(%arg0: tensor<2x3xf32> {jax.a = \"b\"}, %arg1: tensor<i32>) -> "
    "(tensor<2xf32>, tensor<1x3xf32>) {\n"
    "    %cst = stablehlo.constant dense<[[1.0, -2.5, 0x7F800000], [0.0, 1.0e-3, 4.0]]> : "
    "tensor<2x3xf32>\n"
    "    %0 = stablehlo.add %arg0, %cst : tensor<2x3xf32>\n"
    "    %c = stablehlo.constant dense_resource<zero> : tensor<f32>\n"
    "    %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1] : "
    "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\n"
    "    %2 = stablehlo.dynamic_slice %0, %arg1, %arg1, sizes = [1, 3] : (tensor<2x3xf32>, "
    "tensor<i32>, tensor<i32>) -> tensor<1x3xf32>\n"
    "    %3:2 = stablehlo.while(%a = %arg1, %b = %1) : tensor<i32>, tensor<2xf32>\n"
    "    cond {\n"
    "      %n = stablehlo.constant dense<3> : tensor<i32>\n"
    "      %p = stablehlo.compare LT, %a, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "      stablehlo.return %p : tensor<i1>\n"
    "    } do {\n"
    "      %k = stablehlo.add %a, %a : tensor<i32>\n"
    "      %v = \"stablehlo.multiply\"(%b, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>\n"
    "      stablehlo.return %k, %v : tensor<i32>, tensor<2xf32>\n"
    "    }\n"
    "    return %3#1, %2 : tensor<2xf32>, tensor<1x3xf32>\n"
    "  }\n"
    "}\n"
    "{-#\n  dialect_resources: {\n    builtin: {\n      other: \"0x0100000001\",\n"
    "      zero: \"0x0400000000000000\"\n    }\n  }\n#-}\n";

/* A module or a refusal; returns whether it became a function. */
static bool try(const void *bytes, size_t size) {
  nx_stablehlo *m = NULL;
  nx_function *f = NULL;
  nx_status s = nx_stablehlo_parse(bytes, size, &m);
  if (s == NX_OK) s = nx_stablehlo_function(m, ctx, NULL, &f);
  nx_error e = {.size = sizeof e};
  assert_int_equal(nx_error_take(&e), s);
  if (s != NX_OK) {
    assert_true(s == NX_PARSE || s == NX_INVALID_ARGUMENT || s == NX_UNSUPPORTED_DTYPE);
    assert_true(strlen(e.message) > 5);
    assert_null(f);
  }
  assert_false(nx_capturing(ctx));
  nx_function_release(f);
  nx_stablehlo_release(m);
  return s == NX_OK;
}

static void test_whole(void **state) {
  (void)state;
  assert_true(try(program, sizeof program - 1));
  assert_true(try(artifact, sizeof artifact));
}

/* A start of either is none; of the text but for what follows the last brace. */
static void test_cut_off(void **state) {
  (void)state;
  for (size_t n = 0; n + 3 < sizeof program; n++) assert_false(try(program, n));
  for (size_t n = 0; n < sizeof artifact; n++) try(artifact, n);
}

static void change_each(const void *bytes, size_t size, const uint8_t *values, int n) {
  uint8_t *copy = malloc(size);
  assert_non_null(copy);
  memcpy(copy, bytes, size);
  for (size_t i = 0; i < size; i++)
    for (int k = 0; k < n; k++) {
      uint8_t was = copy[i];
      copy[i] = values[k] != 0 ? (uint8_t)(was ^ values[k]) : (uint8_t)0;
      try(copy, size);
      copy[i] = was;
    }
  free(copy);
}

static void test_changed(void **state) {
  (void)state;
  change_each(program, sizeof program - 1, (const uint8_t[]){1, 0, 2}, 3);
  change_each(artifact, sizeof artifact, (const uint8_t[]){1, 2, 128, 255, 0}, 5);
}

/* Each allocation fails in turn: nothing is lost, and the next try succeeds. */
static void test_memory(void **state) {
  (void)state;
  for (int which = 0; which < 2; which++) {
    const void *bytes = which ? (const void *)artifact : program;
    size_t size = which ? sizeof artifact : sizeof program - 1;
    bool done = false;
    for (int64_t i = 0; !done && i < 100000; i++) {
      nx_stablehlo *m = NULL;
      nx_function *f = NULL;
      int64_t before = nxi_alloc_count();
      nxi_alloc_fail(i, false);
      nx_status s = nx_stablehlo_parse(bytes, size, &m);
      if (s == NX_OK) s = nx_stablehlo_function(m, ctx, NULL, &f);
      nxi_alloc_fail(-1, false);
      nx_status said = nx_error_take(NULL);
      assert_true(s == NX_OK || s == NX_OUT_OF_MEMORY);
      assert_true(said == s || s == NX_OK);
      done = nxi_alloc_count() - before < i;
      nx_function_release(f);
      nx_stablehlo_release(m);
    }
    assert_true(done);
    assert_true(try(bytes, size));
  }
}

static void test_arguments(void **state) {
  (void)state;
  nx_stablehlo *m = NULL;
  nx_function *f = NULL;
  FAILS(NX_INVALID_ARGUMENT, nx_stablehlo_parse(NULL, 4, &m));
  FAILS(NX_INVALID_ARGUMENT, nx_stablehlo_parse(program, 4, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_stablehlo_function(NULL, ctx, NULL, &f));
  OK(nx_stablehlo_parse(program, sizeof program - 1, &m));
  nx_stablehlo_options o = {.size = sizeof o, .symbol = "other"};
  FAILS(NX_INVALID_ARGUMENT, nx_stablehlo_function(m, ctx, &o, &f));
  o = (nx_stablehlo_options){.size = sizeof o, .device = 99};
  assert_int_not_equal(nx_stablehlo_function(m, ctx, &o, &f), NX_OK);
  assert_int_not_equal(nx_error_take(NULL), NX_OK);
  o = (nx_stablehlo_options){0};
  FAILS(NX_INVALID_ARGUMENT, nx_stablehlo_function(m, ctx, &o, &f));
  assert_ptr_equal(nx_stablehlo_retain(m), m);
  nx_stablehlo_release(m);
  nx_stablehlo_release(m);
  nx_stablehlo_release(NULL);
  assert_null(nx_stablehlo_retain(NULL));
}

/* The inputs say the extents that the program leaves open. */
static void test_open_extents(void **state) {
  (void)state;
  static const char text[] = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
                             "  %y = stablehlo.add %x, %x : tensor<?xf32>\n"
                             "  return %y : tensor<?xf32>\n}\n";
  nx_stablehlo *m = NULL;
  nx_function *f = NULL;
  int64_t shape[1] = {3};
  nx_type type = {NX_F32, 1, shape}, wrong = {NX_F64, 1, shape};
  nx_stablehlo_options o = {.size = sizeof o, .device = device(), .inputs = &wrong, .n_inputs = 1};
  OK(nx_stablehlo_parse(text, sizeof text - 1, &m));
  FAILS(NX_INVALID_ARGUMENT, nx_stablehlo_function(m, ctx, NULL, &f));
  FAILS(NX_INVALID_ARGUMENT, nx_stablehlo_function(m, ctx, &o, &f));
  o.inputs = &type, o.n_inputs = 2;
  FAILS(NX_INVALID_ARGUMENT, nx_stablehlo_function(m, ctx, &o, &f));
  o.n_inputs = 1;
  OK(nx_stablehlo_function(m, ctx, &o, &f));
  nx_stablehlo_release(m);
  float x[3] = {1, 2, 3};
  nx_tensor *in = GOOD(nx_from_data(ctx, device(), NX_F32, shape, 1, x, sizeof x)), *y = NULL;
  OK(nx_function_call(f, &in, 1, &y, 1, NULL));
  EXPECT(GOOD(y), 2, 4, 6);
  nx_function_release(f);
}

/* Inputs and outputs whose axes are in another order than the program's. */
static void test_orders(void **state) {
  (void)state;
  static const char text[] = "func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> "
                             "(tensor<2x3xf32>, tensor<2x3xf32>) {\n"
                             "  %z = stablehlo.add %x, %y : tensor<2x3xf32>\n"
                             "  return %x, %z : tensor<2x3xf32>, tensor<2x3xf32>\n}\n";
  static const int32_t turned[] = {1, 0}, twice[] = {0, 0}, beyond[] = {0, 2};
  const int32_t *in_orders[] = {NULL, twice}, *out_orders[] = {beyond, turned};
  nx_stablehlo *m = NULL;
  nx_function *f = NULL;
  nx_stablehlo_options o = {.size = sizeof o,
                            .device = device(),
                            .unwanted = (const uint8_t[]){1, 0},
                            .input_orders = in_orders,
                            .output_orders = out_orders};
  OK(nx_stablehlo_parse(text, sizeof text - 1, &m));
  FAILS(NX_INVALID_ARGUMENT, nx_stablehlo_function(m, ctx, &o, &f));
  in_orders[1] = turned;
  OK(nx_stablehlo_function(m, ctx, &o, &f)); /* what is not wanted has no order */
  nx_function_release(f);
  o.unwanted = NULL;
  f = NULL;
  FAILS(NX_INVALID_ARGUMENT, nx_stablehlo_function(m, ctx, &o, &f));
  out_orders[0] = NULL;
  OK(nx_stablehlo_function(m, ctx, &o, &f));
  nx_stablehlo_release(m);
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {10, 40, 20, 50, 30, 60};
  nx_tensor *in[2] = {GOOD(nx_from_data(ctx, device(), NX_F32, NX_SHAPE(2, 3), x, sizeof x)),
                      GOOD(nx_from_data(ctx, device(), NX_F32, NX_SHAPE(3, 2), y, sizeof y))};
  nx_tensor *out[2] = {NULL, NULL};
  OK(nx_function_call(f, in, 2, out, 2, NULL));
  EXPECT(GOOD(out[0]), 1, 2, 3, 4, 5, 6);
  EXPECT(GOOD(out[1]), 11, 44, 22, 55, 33, 66);
  nx_function_release(f);
}

/* The values of the program, from its text and from the artifact. */
static void test_called(void **state) {
  (void)state;
  for (int which = 0; which < 2; which++) {
    nx_stablehlo *m = NULL;
    nx_function *f = NULL;
    OK(nx_stablehlo_parse(which ? (const void *)artifact : program,
                          which ? sizeof artifact : sizeof program - 1, &m));
    OK(nx_stablehlo_function(m, ctx, NULL, &f));
    nx_stablehlo_release(m);
    float x[6] = {1, 2, 3, 4, 5, 6}, sums[2], part[3];
    int32_t start = 1;
    nx_tensor *in[2] = {nx_from_data(ctx, device(), NX_F32, NX_SHAPE(2, 3), x, sizeof x),
                        nx_from_data(ctx, device(), NX_I32, NULL, 0, &start, sizeof start)};
    nx_tensor *out[2] = {NULL, NULL};
    OK(nx_function_call(f, in, 2, out, 2, NULL));
    OK(nx_read(out[0], sums, sizeof sums, NULL));
    OK(nx_read(out[1], part, sizeof part, NULL));
    float second = 4 + 5.001F + 10;
    second *= second;
    assert_true(sums[0] == __builtin_inff() && sums[1] == second * second);
    assert_true(part[0] == 4 && part[1] == 5.001F && part[2] == 10);
    for (int i = 0; i < 2; i++) nx_tensor_release(in[i]), nx_tensor_release(out[i]);
    nx_function_release(f);
  }
}

NXT_MAIN(malformed) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(test_whole),        IN_SCOPE(test_cut_off), IN_SCOPE(test_changed),
      IN_SCOPE(test_arguments),    IN_SCOPE(test_memory),  IN_SCOPE(test_called),
      IN_SCOPE(test_open_extents), IN_SCOPE(test_orders),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
