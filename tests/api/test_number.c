/* SPDX-License-Identifier: ISC */
/* Numbers as operands, each against the same operation on a tensor that nx_full made: the very same
 * node, so that plans and bits are the same too; tensors of the host's bytes; short questions. */
#include "tests/util/api.h"

#include <math.h>

#include "nx/number.h"
#include "runtime/record/context.h"
#include "runtime/record/node.h"
#include "tests/util/type_sets.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static nx_tensor *(*const functions[])(nx_tensor *,
                                       nx_tensor *) = {[NX_BINARY_ADD] = nx_add,
                                                       [NX_BINARY_SUB] = nx_sub,
                                                       [NX_BINARY_MUL] = nx_mul,
                                                       [NX_BINARY_DIV] = nx_div,
                                                       [NX_BINARY_MOD] = nx_mod,
                                                       [NX_BINARY_POW] = nx_pow,
                                                       [NX_BINARY_ATAN2] = nx_atan2,
                                                       [NX_BINARY_CMPEQ] = nx_cmpeq,
                                                       [NX_BINARY_CMPNE] = nx_cmpne,
                                                       [NX_BINARY_CMPLT] = nx_cmplt,
                                                       [NX_BINARY_CMPLE] = nx_cmple,
                                                       [NX_BINARY_CMPGT] = nx_cmpgt,
                                                       [NX_BINARY_CMPGE] = nx_cmpge,
                                                       [NX_BINARY_MAX] = nx_max,
                                                       [NX_BINARY_MIN] = nx_min,
                                                       [NX_BINARY_XOR] = nx_xor,
                                                       [NX_BINARY_OR] = nx_or,
                                                       [NX_BINARY_AND] = nx_and,
                                                       [NX_BINARY_SHL] = nx_shl,
                                                       [NX_BINARY_SHR] = nx_shr,
                                                       [NX_BINARY_COMPLEX] = nx_complex,
                                                       [NX_BINARY_FLOOR_DIV] = nx_floor_div,
                                                       [NX_BINARY_FLOOR_MOD] = nx_floor_mod,
                                                       [NX_BINARY_LOGADDEXP] = nx_logaddexp,
                                                       [NX_BINARY_HYPOT] = nx_hypot};

/* Numbers of every kind: in range, rounded, out of range, not finite. */
static const nx_scalar values[] = {
    {NX_SCALAR_I64, {.i = 2}},
    {NX_SCALAR_I64, {.i = -3}},
    {NX_SCALAR_I64, {.i = (1 << 24) + 1}},
    {NX_SCALAR_I64, {.i = INT64_MIN}},
    {NX_SCALAR_U64, {.u = UINT64_MAX}},
    {NX_SCALAR_F64, {.f = {0.5, 0}}},
    {NX_SCALAR_F64, {.f = {-0.0, 0}}},
    {NX_SCALAR_F64, {.f = {0.1, 0}}},
    {NX_SCALAR_F64, {.f = {1e-40, 0}}},
    {NX_SCALAR_F64, {.f = {0x1.fffffep127, 0}}},
    {NX_SCALAR_F64, {.f = {0x1p128, 0}}},
    {NX_SCALAR_F64, {.f = {INFINITY, 0}}},
    {NX_SCALAR_F64, {.f = {NAN, 0}}},
    {NX_SCALAR_C128, {.f = {1.5, -2}}},
};

/* Both are of one operation on one value, or both are refused with one status. */
static void expect_same(nx_tensor *is, nx_tensor *wanted) {
  assert_int_equal(!is, !wanted);
  if (!is || !wanted) return;
  assert_ptr_equal(is->storage->value, wanted->storage->value);
  release(is);
  release(wanted);
}

static void expect_status(nx_status first) { assert_int_equal(nx_error_take(NULL), first); }

static void one_case(nx_tensor *x, nx_binary_op op, const nx_scalar *v) {
  nx_tensor *full = GOOD(nx_full(ctx, device(), nx_dtype_of(x), NULL, 0, v));
  nx_tensor *wanted = functions[op](x, full);
  nx_status status = nx_error_take(NULL);
  expect_same(nx_binary_scalar(x, op, v), wanted);
  expect_status(status);
  wanted = functions[op](full, x);
  expect_status(status);
  expect_same(nx_scalar_binary(v, op, x), wanted);
  expect_status(status);
  release(full);
}

static void numbers_are_rank_0_tensors(void **state) {
  (void)state;
  for (nx_dtype t = NX_BOOL; t <= NX_C128; t++) {
    nx_tensor *x[] = {GOOD(nx_empty(ctx, device(), t, NX_SHAPE(2, 3))),
                      GOOD(nx_empty(ctx, device(), t, NULL, 0)),
                      GOOD(nx_empty(ctx, device(), t, NX_SHAPE(4, 0))),
                      GOOD(nx_empty(ctx, device(), t, NX_SHAPE(1, 1)))};
    for (size_t i = 0; i < COUNT(x); i++) {
      for (size_t op = 0; op < COUNT(functions); op++)
        for (size_t v = 0; v < COUNT(values); v++) one_case(x[i], (nx_binary_op)op, &values[v]);
      release(x[i]);
    }
  }
}

static void plain_numbers(void **state) {
  (void)state;
  nx_tensor *x = vector(3, 1, 1);
  EXPECT(nx_binary_f64(x, NX_BINARY_MUL, 0.5), 0.5F, 1, 1.5F);
  EXPECT(nx_f64_binary(1, NX_BINARY_SUB, x), 0, -1, -2);
  EXPECT(nx_binary_i64(x, NX_BINARY_POW, 2), 1, 4, 9);
  EXPECT(nx_i64_binary(6, NX_BINARY_DIV, x), 6, 3, 2);
  EXPECT(nx_cast(nx_binary_f64(x, NX_BINARY_CMPGE, 2), NX_F32), 0, 1, 1);
  EXPECT(nx_cast(nx_f64_binary(2, NX_BINARY_CMPGT, x), NX_F32), 1, 0, 0);
  EXPECT(nx_binary(x, NX_BINARY_ADD, x), 2, 4, 6);
  EXPECT(nx_full_f64(ctx, device(), NX_F32, NX_SHAPE(2), 0.25), 0.25F, 0.25F);
  EXPECT(nx_cast(nx_full_i64(ctx, device(), NX_I8, NX_SHAPE(2), 257), NX_F32), 1, 1);
}

/* A number stays what it is when its constant got memory, was used under another shape, or died. */
static void remembered_numbers(void **state) {
  (void)state;
  nx_tensor *x = vector(2, 1, 1), *wide = vector(3, 1, 1);
  for (int round = 0; round < 3; round++) {
    nx_tensor *full = number(2);
    EXPECT(nx_binary_f64(x, NX_BINARY_ADD, 2), 3, 4);
    OK(nx_realize(ctx, &full, 1, NULL));
    EXPECT(nx_binary_f64(x, NX_BINARY_ADD, 2), 3, 4);
    EXPECT(nx_binary_f64(wide, NX_BINARY_ADD, 2), 3, 4, 5);
    OK(nx_assign(full, number(5)));
    EXPECT(nx_add(x, full), 6, 7);
    EXPECT(nx_binary_f64(x, NX_BINARY_ADD, 2), 3, 4);
    nx_scope *scope = nx_scope_begin(ctx);
    for (int i = 0; i < 100; i++)
      EXPECT(nx_binary_f64(x, NX_BINARY_ADD, i), (float)(1 + i), (float)(2 + i));
    nx_scope_end(scope);
    nx_context_collect(ctx);
  }
}

static void forgotten_numbers(void **state) {
  (void)state;
  nx_tensor *x = vector(2, 1, 1);
  OK(nx_realize(ctx, &x, 1, NULL));
  nx_scope *scope = nx_scope_begin(ctx);
  for (int i = 0; i < 100; i++) GOOD(nx_binary_f64(x, NX_BINARY_ADD, i));
  bool remembered = false;
  for (int i = 0; i < NXI_NUMBERS; i++) remembered |= ctx->numbers[i] != NULL;
  assert_true(remembered);
  nx_scope_end(scope);
  nx_context_collect(ctx);
  for (int i = 0; i < NXI_NUMBERS; i++) assert_true(!ctx->numbers[i] || ctx->numbers_kept >> i & 1);
  nx_stats stats = {.size = sizeof stats};
  nx_context_stats(ctx, &stats);
  assert_int_equal(stats.pending_nodes, 0); /* what the context keeps for itself does not count */
  assert_int_equal(stats.pending_bytes, 0);
}

/* The constant of a number that the context keeps is met as a number of rank 0, and as a tensor of
 * the caller's, and gets memory, in each order: it is let go once. */
static void kept_numbers(void **state) {
  (void)state;
  nx_tensor *x = vector(2, 1, 1), *scalar = GOOD(nx_copy(number(4)));
  OK(nx_realize(ctx, (nx_tensor *[]){x, scalar}, 2, NULL));
  for (int round = 0; round < 8; round++) {
    double value = 40 + round / 2; /* new, and kept */
    nx_scope *scope = nx_scope_begin(ctx);
    if (round & 1) EXPECT(nx_binary_f64(scalar, NX_BINARY_ADD, value), (float)(4 + value));
    EXPECT(nx_binary_f64(x, NX_BINARY_ADD, value), (float)(1 + value), (float)(2 + value));
    EXPECT(nx_binary_f64(scalar, NX_BINARY_ADD, value), (float)(4 + value));
    nx_tensor *own = number(value);
    OK(nx_realize(ctx, &own, 1, NULL));
    EXPECT(nx_binary_f64(x, NX_BINARY_ADD, value), (float)(1 + value), (float)(2 + value));
    for (int i = 0; i < 200; i++) GOOD(nx_binary_f64(x, NX_BINARY_ADD, 100 * round + i));
    EXPECT(own, (float)value);
    nx_scope_end(scope);
  }
  nx_context_collect(ctx);
  nx_stats stats = {.size = sizeof stats};
  nx_context_stats(ctx, &stats);
  assert_int_equal(stats.pending_nodes, 0);
}

/* What the context keeps for itself is a tensor's value like any other once it is one: it counts,
 * NX_DO_PENDING computes it, and its memory goes with the tensor. */
static void kept_and_named(void **state) {
  (void)state;
  nx_run_options o = {.size = sizeof o, .flags = NX_DO_PENDING};
  nx_stats stats = {.size = sizeof stats};
  nx_tensor *x = vector(2, 1, 1);
  OK(nx_realize(ctx, &x, 1, NULL));
  OK(nx_realize(ctx, NULL, 0, &o));
  nx_context_collect(ctx);
  nx_context_stats(ctx, &stats);
  const uint64_t live = stats.live_bytes;
  for (int form = 0; form < 2; form++) { /* the constant; its view in the shape of x */
    nx_tensor *y = GOOD(nx_binary_f64(x, NX_BINARY_ADD, 77 + form));
    OK(nx_realize(ctx, &y, 1, NULL));
    nx_tensor *own = GOOD(number(77 + (float)form));
    if (form) {
      OK(nx_assign(y, own));
      release(own);
      own = nx_tensor_retain(y);
    }
    release(y);
    nx_context_collect(ctx);
    assert_int_equal(nx_pending(ctx, NULL), 1 + form);
    OK(nx_realize(ctx, NULL, 0, &o));
    nx_tensor_info info = {.size = sizeof info};
    nx_tensor_describe(own, &info);
    assert_true(info.flags & NX_TENSOR_REALIZED);
    assert_int_equal(nx_pending(ctx, NULL), 0);
    y = GOOD(nx_binary_f64(x, NX_BINARY_ADD, 77 + form));
    EXPECT(y, (float)(78 + form), (float)(79 + form));
    release(y);
    release(own);
    nx_context_collect(ctx);
    nx_context_stats(ctx, &stats);
    assert_int_equal(stats.live_bytes, live);
  }
}

static void in_a_function(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(2)));
  nx_tensor *y = GOOD(nx_binary_f64(x, NX_BINARY_MUL, 3)), *in = vector(2, 1, 1), *out = NULL;
  nx_function *f;
  OK(nx_function_create(ctx, &x, 1, &y, 1, NULL, &f));
  OK(nx_function_call(f, &in, 1, &out, 1, NULL));
  EXPECT(out, 3, 6);
  nx_function_release(f);
}

static void expect_error(nx_status status, const char *op, int32_t operand) {
  nx_error e = {.size = sizeof e};
  assert_int_equal(nx_error_take(&e), status);
  assert_string_equal(e.op, op);
  assert_int_equal(e.operand, operand);
}

static void refused(void **state) {
  (void)state;
  nx_tensor *x = vector(2, 1, 1), *b = GOOD(nx_cast(x, NX_BOOL));
  assert_null(nx_binary_f64(NULL, NX_BINARY_ADD, 1));
  expect_error(NX_INVALID_ARGUMENT, "add", 0);
  assert_null(nx_f64_binary(1, NX_BINARY_CMPGT, NULL));
  expect_error(NX_INVALID_ARGUMENT, "cmpgt", 1);
  assert_null(nx_binary_i64(b, NX_BINARY_SUB, 1));
  expect_error(NX_UNSUPPORTED_DTYPE, "sub", 0);
  assert_null(nx_i64_binary(1, NX_BINARY_SUB, b));
  expect_error(NX_UNSUPPORTED_DTYPE, "sub", 1);
  assert_null(nx_binary_f64(nx_cast(x, NX_C64), NX_BINARY_MOD, 1));
  expect_error(NX_UNSUPPORTED_DTYPE, "mod", 0);
  assert_null(nx_binary_scalar(x, NX_BINARY_ADD, NULL));
  expect_error(NX_INVALID_ARGUMENT, "add", -1);
  assert_null(nx_binary_scalar(x, NX_BINARY_ADD, &(nx_scalar){(nx_scalar_kind)9, {.i = 1}}));
  expect_error(NX_INVALID_ARGUMENT, "add", -1);
  assert_null(nx_binary_f64(x, (nx_binary_op)99, 1));
  expect_error(NX_INVALID_ARGUMENT, "binary", -1);
  assert_null(nx_binary(x, (nx_binary_op)-1, x));
  expect_error(NX_INVALID_ARGUMENT, "binary", -1);
  assert_null(nx_cmpgt(x, vector(5, 0, 1)));
  expect_error(NX_INVALID_ARGUMENT, "cmpgt", 1);
}

/* ---- tensors of bytes */

static void from_data(void **state) {
  (void)state;
  unsigned char bytes[64];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 37 + 1);
  for (nx_dtype t = NX_I4; t <= NX_C128; t++) {
    size_t n = (3 * nx_dtype_bits(t) + 7) / 8;
    unsigned char is[64] = {0};
    nx_tensor *x = GOOD(nx_from_data(ctx, device(), t, NX_SHAPE(3), bytes + 1, n));
    OK(nx_read(x, is, n, NULL));
    if (nx_dtype_bits(t) == 4) is[1] = (unsigned char)(is[1] & 15) | (bytes[2] & 0xf0);
    assert_memory_equal(is, bytes + 1, n);
    assert_null(nx_from_data(ctx, device(), t, NX_SHAPE(3), bytes, n + 1));
    expect_error(NX_INVALID_ARGUMENT, "from_data", -1);
    assert_null(nx_from_data(ctx, device(), t, NX_SHAPE(3), NULL, n));
    expect_error(NX_INVALID_ARGUMENT, "from_data", -1);
    GOOD(nx_from_data(ctx, device(), t, NX_SHAPE(3, 0), NULL, 0));
  }
  const float numbers[] = {1, 2, 3, 4};
  EXPECT(nx_from_data(ctx, 1, NX_F32, NX_SHAPE(2, 2), numbers, sizeof numbers), 1, 2, 3, 4);
  EXPECT(nx_cast(nx_from_data(ctx, device(), NX_BOOL, NULL, 0, &(char){7}, 1), NX_F32), 1);
  assert_null(nx_from_data(NULL, 0, NX_F32, NX_SHAPE(1), numbers, 4));
  expect_error(NX_INVALID_ARGUMENT, "from_data", -1);
}

static void questions(void **state) {
  (void)state;
  nx_tensor *x =
      GOOD(nx_permute(GOOD(nx_empty(ctx, 0, NX_I16, NX_SHAPE(2, 3, 4))), NX_AXES(2, 0, 1)));
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  assert_int_equal(nx_rank(x), 3);
  assert_ptr_equal(nx_shape(x), info.shape);
  assert_ptr_equal(nx_strides(x), info.strides);
  assert_int_equal(nx_shape(x)[0], 4);
  assert_int_equal(nx_strides(x)[0], 1);
  assert_int_equal(nx_elements(x), 24);
  assert_int_equal(nx_elements(number(1)), 1);
  assert_int_equal(nx_dtype_of(x), NX_I16);
  assert_int_equal(nx_device_of(x), 0);
  assert_ptr_equal(nx_context_of(x), ctx);
  assert_int_equal(nx_rank(NULL), 0);
  assert_null(nx_shape(NULL));
  assert_null(nx_strides(NULL));
  assert_int_equal(nx_elements(NULL), 0);
  assert_int_equal(nx_dtype_of(NULL), 0);
  assert_int_equal(nx_device_of(NULL), 0);
  assert_null(nx_context_of(NULL));
}

NXT_MAIN(number) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(numbers_are_rank_0_tensors),
      IN_SCOPE(plain_numbers),
      IN_SCOPE(remembered_numbers),
      IN_SCOPE(forgotten_numbers),
      IN_SCOPE(kept_numbers),
      IN_SCOPE(kept_and_named),
      IN_SCOPE(in_a_function),
      IN_SCOPE(refused),
      IN_SCOPE(from_data),
      IN_SCOPE(questions),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
