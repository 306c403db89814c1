/* SPDX-License-Identifier: ISC */
/* How arguments are given: lists with their counts, all axes and none, flags, the dtype of places.
 * What does not go together is refused with a sentence that says which and why. */
#include "tests/util/api.h"

#define REFUSED(wanted, call, words)                                      \
  do {                                                                    \
    nx_error refused_error = {.size = sizeof refused_error};              \
    assert_null(call);                                                    \
    assert_int_equal(nx_error_take(&refused_error), (wanted));            \
    if (!strstr(refused_error.message, (words)))                          \
      fail_msg("'%s' does not say '%s'", refused_error.message, (words)); \
  } while (0)
#define INVALID(call, words) REFUSED(NX_INVALID_ARGUMENT, call, words)

static nx_tensor_info describe(const nx_tensor *t) {
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(t, &info);
  return info;
}

/* 0 1 2
 * 3 4 5 */
static nx_tensor *table(void) { return GOOD(nx_reshape(vector(6, 0, 1), NX_SHAPE(2, 3), 0)); }

/* ---- lists */

static void counts_of_lists(void **state) {
  (void)state;
  static const int64_t zero[3] = {0, 0, 0}, one[3] = {1, 1, 1};
  nx_tensor *x = table(), *scalar = number(7);
  nx_scalar v = {0};
  EXPECT(GOOD(nx_shrink(x, zero, one, 2)), 0);
  EXPECT(GOOD(nx_slice(x, one, one, one, 2)), 4);
  EXPECT(GOOD(nx_pad(nx_shrink(x, zero, one, 2), zero, one, 2, NX_NUMBER(9))), 0, 9, 9, 9);
  INVALID(nx_shrink(x, zero, one, 1),
          "shrink: the list of starts has 1 entries for a tensor of rank 2");
  INVALID(nx_shrink(x, zero, one, 3), "has 3 entries");
  INVALID(nx_slice(x, one, one, one, 3), "slice: the list of starts has 3 entries");
  INVALID(nx_pad(x, zero, one, 0, NX_NUMBER(0)), "pad: the list of extents before has 0 entries");
  INVALID(nx_pad(x, zero, NULL, 2, NX_NUMBER(0)), "pad: the list of extents behind is null");
  EXPECT(GOOD(nx_shrink(scalar, NULL, NULL, 0)), 7);
  OK(nx_item(x, (const int64_t[]){1, -1}, 2, &v, NULL));
  assert_true(v.v.f[0] == 5);
  FAILS(NX_INVALID_ARGUMENT, nx_item(x, one, 1, &v, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_item(x, one, 3, &v, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_item(x, NULL, 2, &v, NULL));
  OK(nx_item(scalar, NULL, 0, &v, NULL));
  nx_window w = {.size = sizeof w, .n = 1, .kernel = one};
  INVALID(nx_fold(x, one, 2, &w), "fold: the output size has 2 entries, the window 1");
}

static void counts_of_calls(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(2))), *y = GOOD(nx_neg(x)),
            *in[2] = {constant(2, 3), constant(2, 4)}, *out[2] = {NULL, NULL};
  nx_function *f = NULL;
  OK(nx_function_create(ctx, &x, 1, &y, 1, NULL, &f));
  FAILS(NX_INVALID_ARGUMENT, nx_function_call(f, in, 2, out, 1, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_function_call(f, NULL, 0, out, 1, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_function_record(f, in, 1, NULL, 0));
  nx_error e = {.size = sizeof e};
  assert_int_equal(nx_function_record(f, in, 1, out, 2), NX_INVALID_ARGUMENT);
  nx_error_take(&e);
  assert_string_equal(e.message, "f: the number of outputs is 2, not 1");
  assert_true(!out[0] && !out[1]);
  OK(nx_function_call(f, in, 1, out, 1, NULL));
  EXPECT(out[0], -3, -3);
  release(out[0]);
  nx_function_release(f);
}

static void axes(void **state) {
  (void)state;
  nx_tensor *x = table(), *none = GOOD(nx_empty(ctx, device(), NX_F32, NX_SHAPE(0, 3)));
  const int32_t empty = 0;
  EXPECT(GOOD(nx_reduce_sum(x, NX_ALL_AXES, 0)), 15);
  assert_int_equal(describe(GOOD(nx_reduce_max(x, NX_ALL_AXES, NX_KEEPDIMS))).rank, 2);
  EXPECT(GOOD(nx_reduce_sum(none, NX_ALL_AXES, 0)), 0);
  EXPECT(GOOD(nx_reduce_sum(x, &empty, 0, 0)), 0, 1, 2, 3, 4, 5);
  EXPECT(GOOD(nx_reduce_prod(number(7), NX_ALL_AXES, 0)), 7);
  EXPECT(GOOD(nx_flip(x, NX_ALL_AXES)), 5, 4, 3, 2, 1, 0);
  EXPECT(GOOD(nx_flip(x, &empty, 0)), 0, 1, 2, 3, 4, 5);
  INVALID(nx_reduce_min(x, NULL, 0, 0), "NX_ALL_AXES names all, an empty list none");
  INVALID(nx_flip(x, NULL, 0), "flip: the list of axes is null");
  INVALID(nx_reduce_sum(x, &empty, NX_ALL, 0), "NX_ALL counts no list of axes");
  INVALID(nx_permute(x, NX_ALL_AXES), "permute: the list of axes is null");
}

/* ---- flags and dtypes */

static void copies_of_reshape(void **state) {
  (void)state;
  nx_tensor *x = table(), *turned = GOOD(nx_permute(x, NX_AXES(1, 0)));
  REFUSED(NX_NEEDS_COPY, nx_reshape(turned, NX_SHAPE(6), 0), "reshape");
  nx_tensor *flat = GOOD(nx_reshape(turned, NX_SHAPE(6), NX_MAY_COPY)), /* and no error is left */
      *view = GOOD(nx_reshape(x, NX_SHAPE(6), NX_MAY_COPY));
  assert_true(describe(flat).storage_id != describe(x).storage_id);
  assert_true(describe(view).storage_id == describe(x).storage_id);
  EXPECT(flat, 0, 3, 1, 4, 2, 5);
  OK(nx_assign(x, number(8)));
  EXPECT(flat, 0, 3, 1, 4, 2, 5); /* a value of its own */
  EXPECT(view, 8, 8, 8, 8, 8, 8);
  INVALID(nx_reshape(turned, NX_SHAPE(5), NX_MAY_COPY), "reshape");
  INVALID(nx_reshape(x, NX_SHAPE(6), 2), "hold more than NX_MAY_COPY");
}

static void dtype_of_places(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_reshape(vector(6, 5, -1), NX_SHAPE(2, 3), 0));
  nx_tensor *of[] = {nx_reduce_argmax(x, 1, 0, NX_I64), nx_reduce_argmin(x, 1, 0, NX_I64),
                     nx_argsort(nx_reshape(x, NX_SHAPE(6), 0), 0, 0, NX_I64)};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++)
    assert_int_equal(describe(GOOD(of[i])).dtype, NX_I64);
  assert_int_equal(describe(GOOD(nx_reduce_argmax(x, 1, 0, NX_I32))).dtype, NX_I32);
  EXPECT(GOOD(nx_cast(of[0], NX_F32)), 0, 0);
  EXPECT(GOOD(nx_cast(of[1], NX_F32)), 2, 2);
  EXPECT(GOOD(nx_cast(of[2], NX_F32)), 5, 4, 3, 2, 1, 0);
  REFUSED(NX_UNSUPPORTED_DTYPE, nx_reduce_argmax(x, 1, 0, NX_F32),
          "reduce_argmax: places are i32 or i64, not f32");
  REFUSED(NX_UNSUPPORTED_DTYPE, nx_argsort(x, 1, 0, NX_U64), "argsort: places are i32 or i64");
  INVALID(nx_reduce_argmin(x, 1, 0, 99), "there is no dtype 99");
  INVALID(nx_reduce_argmin(x, 2, 0, NX_I64), "reduce_argmin: axis 2 is out of range");
  INVALID(nx_reduce_argmin(x, 1, 2, NX_I64), "hold more than NX_KEEPDIMS");
  INVALID(nx_sort(x, 1, 2), "sort: the flags 0x2 hold more than NX_DESCENDING");
}

static void options_of_parse(void **state) {
  (void)state;
  static const char text[] = "nxir 2\ngraph @f(%x: f32[2]) -> (%y) {\n  %y = neg %x : f32[2]\n}\n";
  nx_parse_options o = {.size = sizeof o, .device = 1};
  nx_function *f = NULL;
  nx_tensor *x = constant(2, 3), *there = GOOD(nx_to_device(x, 1)), *y = NULL;
  OK(nx_function_parse(ctx, text, sizeof text - 1, &o, &f));
  FAILS(NX_INVALID_ARGUMENT, nx_function_call(f, &x, 1, &y, 1, NULL));
  OK(nx_function_call(f, &there, 1, &y, 1, NULL));
  EXPECT(y, -3, -3);
  release(y);
  nx_function_release(f);
  o.device = 99;
  FAILS(NX_INVALID_ARGUMENT, nx_function_parse(ctx, text, sizeof text - 1, &o, &f));
  o.size = 0;
  FAILS(NX_INVALID_ARGUMENT, nx_function_parse(ctx, text, sizeof text - 1, &o, &f));
  FAILS(NX_INVALID_ARGUMENT, nx_function_parse(ctx, NULL, 0, NULL, &f));
}

/* Two sentences of function.h: inputs that are one tensor are separate values, and recording a
 * function leaves its donated inputs alive. */
static void inputs_of_functions(void **state) {
  (void)state;
  nx_tensor *in[2], *out = NULL;
  for (int i = 0; i < 2; i++) in[i] = GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(2)));
  OK(nx_assign(in[0], number(1)));
  nx_tensor *y = GOOD(nx_add(in[0], in[1]));
  const uint8_t donate[2] = {0, 1};
  const nx_function_options o = {.size = sizeof o, .donate = donate};
  nx_function *f = NULL;
  OK(nx_function_create(ctx, in, 2, &y, 1, &o, &f));
  nx_tensor *x = constant(2, 5), *pair[2] = {x, x};
  OK(nx_function_record(f, pair, 2, &out, 1));
  EXPECT(out, 6, 6);
  EXPECT(x, 1, 1);
  release(out);
  nx_function_release(f);
}

NXT_MAIN(arguments) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(counts_of_lists),    IN_SCOPE(counts_of_calls), IN_SCOPE(axes),
      IN_SCOPE(copies_of_reshape),  IN_SCOPE(dtype_of_places), IN_SCOPE(options_of_parse),
      IN_SCOPE(inputs_of_functions)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
