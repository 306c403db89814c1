/* SPDX-License-Identifier: ISC */
/* Sentences of failures that a newcomer meets: each says what is wrong, where, and what to do. */
#include "tests/util/api.h"
#include "tests/util/runner.h"

#include <unistd.h>

/* ---- structs whose size is not set: the sentence names the struct */

static void expect_size(int line, const char *type) {
  nx_error e = {0}; /* whose own size may be left out */
  nx_error_take(&e);
  char words[96];
  snprintf(words, sizeof words, "the size of the %s that was given is 0: set .size = sizeof(%s)",
           type, type);
  bool good = e.status == NX_INVALID_ARGUMENT && e.message && strstr(e.message, words);
  if (!good)
    fail_msg("line %d: %s: \"%s\"; wanted \"%s\"", line, nx_status_name(e.status),
             e.message ? e.message : "", words);
}
#define NO_SIZE(type, call)       \
  do {                            \
    type none = {0};              \
    (void)(call);                 \
    expect_size(__LINE__, #type); \
  } while (0)

static void sizes_that_are_not_set(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_full(ctx, 0, NX_F32, NX_SHAPE(2, 3), NX_NUMBER(1))), *out;
  nx_function *f;
  nx_context *c;
  float data[6];
  const char *text = "nxir 2\ngraph @f(%x: f32[2,3]) -> (%x) {\n}\n";
  OK(nx_function_parse(ctx, text, strlen(text), NULL, &f));
  NO_SIZE(nx_tensor_info, nx_tensor_describe(x, &none));
  NO_SIZE(nx_stats, nx_context_stats(ctx, &none));
  NO_SIZE(nx_memory, nx_device_memory(ctx, 0, &none));
  NO_SIZE(nx_device_info, nx_device_describe(ctx, 0, &none));
  NO_SIZE(nx_function_info, nx_function_describe(f, &none));
  NO_SIZE(nx_port_info, nx_function_input(f, 0, &none));
  NO_SIZE(nx_port_info, nx_function_output(f, 0, &none));
  NO_SIZE(nx_run_options, nx_read(x, data, sizeof data, &none));
  NO_SIZE(nx_context_options, nx_context_create(&none, &c));
  NO_SIZE(nx_function_options, nx_function_create(ctx, NULL, 0, &x, 1, &none, &f));
  NO_SIZE(nx_import_desc, nx_import(ctx, &none, &out));
  NO_SIZE(nx_import_file_desc, nx_import_file(ctx, &none, &out));
  NO_SIZE(nx_window, nx_unfold(x, &none));
  NO_SIZE(nx_report, nx_read(x, data, sizeof data,
                             &((nx_run_options){.size = sizeof(nx_run_options), .report = &none})));
  nx_function_release(f);
}

/* ---- what the library says of typical mistakes */

static void expect_words(int line, const char *words) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  if (e.message && strstr(e.message, words)) return;
  fail_msg("line %d: \"%s\"; wanted \"%s\"", line, e.message ? e.message : "", words);
}
#define SAYS(call, words)          \
  do {                             \
    (void)(call);                  \
    expect_words(__LINE__, words); \
  } while (0)

static nx_tensor *made(nx_dtype t) {
  return GOOD(nx_full(ctx, 0, t, NX_SHAPE(3, 4), NX_INTEGER(1)));
}

static void dtypes_that_are_taken(void **state) {
  (void)state;
  nx_tensor *i = made(NX_I32), *f = made(NX_F32), *b = made(NX_BOOL), *z = made(NX_C64);
  SAYS(nx_exp(i), "exp: operand 0 has dtype i32, but exp takes floats and complex numbers: cast it "
                  "first");
  SAYS(nx_erf(z), "erf takes floats: cast it first");
  SAYS(nx_fft(f, NX_AXES(0)), "fft takes complex numbers: rfft is of real numbers");
  SAYS(nx_rfft(z, NX_AXES(0)), "rfft takes floats: fft is of complex numbers");
  SAYS(nx_and(f, f), "and takes bool and integers: compare it first, or bitcast it");
  SAYS(nx_mod(z, z), "mod takes integers and floats: cast it first");
  SAYS(nx_sub(b, b), "cast it first; bools have `xor`");
  SAYS(nx_threefry(f, f), "threefry takes i32 and u32: cast it first");
  SAYS(nx_add(f, i), "operand 1 has dtype i32, operand 0 has f32: cast one of them");
}

static void shapes_and_axes(void **state) {
  (void)state;
  nx_tensor *f = made(NX_F32), *v = nx_reduce_sum(f, NX_AXES(1), 0);
  SAYS(nx_sub(f, v),
       "the shapes [3,4] and [3] do not broadcast together: in axis 1, 4 meets 3 (axes "
       "align at the last one; a reduction with keepdims keeps its own)");
  SAYS(nx_add(f, constant(5, 1)), "do not broadcast together: in axis 1, 4 meets 5");
  SAYS(nx_reduce_sum(f, NX_AXES(2), 0), "axis 2 is out of range for rank 2: axes are -2 to 1");
  SAYS(nx_reduce_argmax(number(1), 0, 0, NX_I32),
       "axis 0 is out of range for rank 0: it has no axes");
}

static void indices_outside(void **state) {
  (void)state;
  static const int32_t values[] = {0, 1, 2, -3, 0, 12};
  nx_tensor *data = made(NX_F32), *i = nx_empty(ctx, 0, NX_I32, NX_SHAPE(2, 3)), *good, *bad;
  OK(nx_write(i, values, sizeof values, NULL));
  data = nx_exp(nx_shrink(data, (const int64_t[]){0, 0}, (const int64_t[]){3, 3}, 2));
  bad = nx_gather(data, nx_add(i, i), 0);
  SAYS(nx_realize(ctx, &bad, 1, NULL), "index 4 at position [0,2], the extent is 3");
  good = nx_shrink(data, (const int64_t[]){0, 0}, (const int64_t[]){2, 3}, 2);
  bad = nx_scatter(data, i, good, 0, NX_SCATTER_ADD, 0);
  SAYS(nx_realize(ctx, &bad, 1, NULL), "index 12 at position [1,2], the extent is 3");
  nx_tensor *big = nx_arange(ctx, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 100000);
  nx_tensor *far = nx_add(nx_arange(ctx, 0, NX_I64, NX_INTEGER(0), NX_INTEGER(1), 100000),
                          nx_full(ctx, 0, NX_I64, NULL, 0, NX_INTEGER(7)));
  bad = nx_exp(nx_gather(big, far, 0));
  SAYS(nx_realize(ctx, &bad, 1, NULL), "index 100000 at position [99993], the extent is 100000");
}

static void files_by_name(void **state) {
  (void)state;
  const char *path = nxt_own_file("messages.npy");
  nx_tensor *t;
  nx_archive *a;
  FILE *file = fopen(path, "w");
  if (!file) abort();
  fputs("\x93NUMPY\x09 and what no file of this kind has, for as long as a header is", file);
  fclose(file);
  SAYS(nx_load_npy(ctx, path, &t), "messages.npy: byte 6: ");
  SAYS(nx_archive_open(path, &a), "messages.npy: byte 0: ");
  SAYS(nx_load_npy(ctx, "/nowhere/at.npy", &t), "/nowhere/at.npy");
  unlink(path);
}

/* Each call on an archive fails in its own name. */
static void calls_of_archives(void **state) {
  (void)state;
  const char *path = nxt_own_file("messages.safetensors");
  nx_named_tensor named = {"t", made(NX_F32)};
  nx_array_info info = {.size = sizeof info};
  nx_archive *a;
  nx_tensor *t;
  nx_error e = {.size = sizeof e};
  OK(nx_save_safetensors(ctx, path, &named, 1, NULL, 0, NULL));
  OK(nx_archive_open(path, &a));
  assert_int_equal(nx_archive_describe(a, 1, &info), NX_INVALID_ARGUMENT);
  nx_error_take(&e);
  assert_string_equal(e.op, "describe");
  assert_int_equal(nx_archive_load(a, ctx, "u", NULL, &t), NX_INVALID_ARGUMENT);
  nx_error_take(&e);
  assert_string_equal(e.op, "load");
  nx_archive_close(a);
  unlink(path);
}

NXT_MAIN(messages) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(sizes_that_are_not_set), IN_SCOPE(dtypes_that_are_taken),
      IN_SCOPE(shapes_and_axes),        IN_SCOPE(indices_outside),
      IN_SCOPE(files_by_name),          IN_SCOPE(calls_of_archives),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
