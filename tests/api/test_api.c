/* SPDX-License-Identifier: ISC */
/* The interface apart from mutation and functions: what each call gives, and what it says when it
 * is used wrongly. Values of operations are tested against the references elsewhere; here each one
 * is recorded and run once. */
#include "tests/util/api.h"

#include <math.h>

/* ---- errors */

static nx_error take(void) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  return e;
}

static void first_error_stays(void **state) {
  (void)state;
  nx_tensor *a = constant(3, 1), *b = constant(4, 1);
  nx_tag_set(42, "line 7");
  nx_tensor *bad = nx_exp(nx_add(nx_mul(a, b), a));
  nx_tag_set(0, NULL);
  assert_null(bad);
  assert_null(nx_neg(NULL)); /* keeps the first */
  nx_error e = take();
  assert_int_equal(e.status, NX_INVALID_ARGUMENT);
  assert_string_equal(e.op, "mul");
  assert_non_null(strstr(e.message, "[3]"));
  assert_non_null(strstr(e.message, "[4]"));
  assert_int_equal(e.operand, 1);
  assert_int_equal(e.tag, 42);
  assert_string_equal(e.tag_text, "line 7");
  assert_int_equal(take().status, NX_OK);
  assert_null(nx_neg(NULL));
  e = take();
  assert_int_equal(e.status, NX_INVALID_ARGUMENT);
  assert_string_equal(e.op, "neg");
}

#define BAD(status_, ...)                                                                      \
  do {                                                                                         \
    assert_null(__VA_ARGS__);                                                                  \
    nx_error bad = take();                                                                     \
    if (bad.status != (status_))                                                               \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, nx_status_name(bad.status), bad.message); \
    assert_int_equal(bad.status, (status_));                                                   \
    assert_true(bad.message[0]);                                                               \
  } while (0)

static void wrong_operands(void **state) {
  (void)state;
  nx_tensor *f = vector(6, 0, 1), *m = nx_reshape(f, NX_SHAPE(2, 3), 0), *d = nx_cast(f, NX_F64),
            *i = nx_cast(f, NX_I32);
  nx_tensor *b = nx_cmplt(f, f),
            *none = GOOD(nx_full(ctx, 0, NX_F32, NX_SHAPE(0, 3), NX_NUMBER(0)));
  BAD(NX_INVALID_ARGUMENT, nx_add(f, d));
  BAD(NX_UNSUPPORTED_DTYPE, nx_exp(i));
  BAD(NX_UNSUPPORTED_DTYPE, nx_sub(b, b));
  BAD(NX_UNSUPPORTED_DTYPE, nx_and(f, f));
  BAD(NX_UNSUPPORTED_DTYPE, nx_shl(f, f));
  BAD(NX_UNSUPPORTED_DTYPE, nx_atan2(i, i));
  BAD(NX_UNSUPPORTED_DTYPE, nx_where(f, f, f));
  BAD(NX_INVALID_ARGUMENT, nx_where(b, f, d));
  BAD(NX_INVALID_ARGUMENT, nx_cast(f, 99));
  BAD(NX_INVALID_ARGUMENT, nx_cast(f, 99));
  BAD(NX_INVALID_ARGUMENT, nx_cast(f, 0));
  BAD(NX_INVALID_ARGUMENT, nx_bitcast(f, NX_F64));
  BAD(NX_UNSUPPORTED_DTYPE, nx_reduce_mean(b, NX_AXES(0), 0));
  BAD(NX_INVALID_ARGUMENT, nx_matmul(m, m));
  BAD(NX_INVALID_ARGUMENT, nx_matmul(f, m));
  BAD(NX_UNSUPPORTED_DTYPE, nx_threefry(f, f));
  BAD(NX_INVALID_ARGUMENT, nx_threefry(i, i));
  BAD(NX_INVALID_ARGUMENT, nx_reduce_sum(m, NX_AXES(2), 0));
  BAD(NX_INVALID_ARGUMENT, nx_reduce_sum(m, NX_AXES(0, -2), 0));
  BAD(NX_INVALID_ARGUMENT, nx_reduce_sum(m, NULL, 1, 0));
  BAD(NX_INVALID_ARGUMENT, nx_reduce_max(none, NX_AXES(0), 0));
  BAD(NX_INVALID_ARGUMENT, nx_reduce_argmax(m, 2, 0, NX_I32));
  BAD(NX_INVALID_ARGUMENT, nx_reduce_argmin(none, 0, 0, NX_I32));
}

static void wrong_movement(void **state) {
  (void)state;
  nx_tensor *f = vector(6, 0, 1), *m = nx_reshape(f, NX_SHAPE(2, 3), 0), *many[3] = {f, m, NULL};
  BAD(NX_INVALID_ARGUMENT, nx_reshape(f, NX_SHAPE(4, 2), 0));
  BAD(NX_NEEDS_COPY, nx_reshape(nx_permute(m, NX_AXES(1, 0)), NX_SHAPE(6), 0));
  BAD(NX_INVALID_ARGUMENT, nx_reshape(f, NULL, 33, 0));
  BAD(NX_INVALID_ARGUMENT, nx_expand(m, NX_SHAPE(2, 4)));
  BAD(NX_INVALID_ARGUMENT, nx_permute(m, NX_AXES(0, 0)));
  BAD(NX_INVALID_ARGUMENT, nx_permute(m, NX_AXES(0)));
  BAD(NX_INVALID_ARGUMENT, nx_flip(m, NX_AXES(5)));
  assert_null(nx_shrink(f, (int64_t[]){2}, (int64_t[]){7}, 1));
  assert_true(take().status);
  assert_null(nx_slice(f, (int64_t[]){0}, (int64_t[]){4}, (int64_t[]){2}, 1));
  assert_true(take().status);
  assert_null(nx_slice(f, (int64_t[]){0}, (int64_t[]){4}, (int64_t[]){0}, 1));
  assert_true(take().status);
  assert_null(nx_as_strided(f, (const int64_t[]){3}, (int64_t[]){3}, 1, 0));
  assert_true(take().status);
  BAD(NX_INVALID_ARGUMENT, nx_pad(f, (int64_t[]){-1}, (int64_t[]){0}, 1, NX_NUMBER(0)));
  BAD(NX_INVALID_ARGUMENT, nx_pad(f, (int64_t[]){1}, (int64_t[]){0}, 1, NULL));
  BAD(NX_INVALID_ARGUMENT, nx_pad(f, (int64_t[]){INT64_MAX}, (int64_t[]){5}, 1, NX_NUMBER(0)));
  BAD(NX_INVALID_ARGUMENT, nx_cat(many, 2, 0));
  BAD(NX_INVALID_ARGUMENT, nx_cat(many, 3, 0));
  BAD(NX_INVALID_ARGUMENT, nx_cat(many, 0, 0));
  BAD(NX_INVALID_ARGUMENT, nx_cat(many, 1, 1));
}

static void wrong_sources(void **state) {
  (void)state;
  BAD(NX_INVALID_ARGUMENT, nx_full(ctx, 0, NX_F32, NX_SHAPE(-1), NX_NUMBER(0)));
  BAD(NX_INVALID_ARGUMENT, nx_full(ctx, 0, NX_F32, NX_SHAPE(1, INT64_MAX / 2), NX_NUMBER(0)));
  BAD(NX_INVALID_ARGUMENT, nx_full(ctx, 0, NX_F32, NULL, 33, NX_NUMBER(0)));
  BAD(NX_INVALID_ARGUMENT, nx_empty(ctx, 9, NX_F32, NULL, 0));
  BAD(NX_DEVICE_UNAVAILABLE, nx_empty(ctx, 2, NX_F32, NULL, 0));
  BAD(NX_INVALID_ARGUMENT, nx_empty(NULL, 0, NX_F32, NULL, 0));
  BAD(NX_INVALID_ARGUMENT, nx_arange(ctx, 0, NX_F32, NX_INTEGER(0), NX_INTEGER(1), -3));
  BAD(NX_INVALID_ARGUMENT, nx_eye(ctx, 0, NX_F32, -1, 2, 0));
}

static void wrong_actions(void **state) {
  (void)state;
  nx_tensor *x = vector(3, 0, 1), *p = GOOD(nx_placeholder(ctx, 0, NX_F32, NX_SHAPE(3)));
  nx_scalar v;
  nx_mapping *m;
  float buffer[3];
  FAILS(NX_INDEX_OUT_OF_RANGE, nx_item(x, (int64_t[]){3}, 1, &v, NULL));
  FAILS(NX_INDEX_OUT_OF_RANGE, nx_item(x, (int64_t[]){-4}, 1, &v, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_item(x, NULL, 0, &v, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_read(x, buffer, 11, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_write(x, NULL, 12, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_map(x, 4, NULL, &m));
  FAILS(NX_INVALID_ARGUMENT, nx_map(x, 0, NULL, &m));
  FAILS(NX_INVALID_ARGUMENT, nx_realize(ctx, (nx_tensor *[]){x, NULL}, 2, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_realize(NULL, NULL, 0, NULL));
  nx_tag_set(5, "here");
  nx_tensor *y = GOOD(nx_exp(p));
  nx_tag_set(0, NULL);
  assert_int_equal(nx_realize(ctx, &y, 1, NULL), NX_UNBOUND);
  nx_error e = take();
  assert_int_equal(e.status, NX_UNBOUND);
  assert_int_equal(e.output, 0);
  nx_tensor *several[] = {x, GOOD(nx_sqrt(x)), GOOD(nx_neg(y)), y}; /* done, good, bad, bad */
  assert_int_equal(nx_realize(ctx, several, 4, NULL), NX_UNBOUND);
  assert_int_equal(take().output, 2);
  nx_context *other;
  OK(nx_context_create(NULL, &other));
  nx_tensor *far = nx_full(other, 0, NX_F32, NULL, 0, NX_NUMBER(1));
  BAD(NX_INVALID_ARGUMENT, nx_add(x, far));
  FAILS(NX_INVALID_ARGUMENT, nx_realize(ctx, &far, 1, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_assign(x, far));
  release(far);
  nx_context_release(other);
  nx_context_options wrong = {.size = sizeof wrong, .threads = -1};
  FAILS(NX_INVALID_ARGUMENT, nx_context_create(&wrong, &other));
  FAILS(NX_INVALID_ARGUMENT, nx_context_create(&(nx_context_options){.threads = 1}, &other));
}

static void wrong_imports(void **state) {
  (void)state;
  _Alignas(8) char memory[64];
  int64_t shape = 4, stride = 5;
  nx_tensor *t = NULL;
  nx_import_desc good = {.size = sizeof good,
                         .mode = NX_IMPORT_COPY,
                         .dtype = NX_F32,
                         .rank = 1,
                         .shape = &shape,
                         .base = memory,
                         .bytes = 64},
                 d;
  memset(memory, 0, sizeof memory);
  d = good, d.base = memory + 1;
  FAILS(NX_INVALID_ARGUMENT, nx_import(ctx, &d, &t));
  d = good, d.offset = 13;
  assert_int_not_equal(nx_import(ctx, &d, &t), NX_OK), take();
  d = good, d.offset = -1;
  assert_int_not_equal(nx_import(ctx, &d, &t), NX_OK), take();
  d = good, d.strides = &stride;
  OK(nx_import(ctx, &d, &t));
  release(t), t = NULL;
  d.bytes = 60;
  assert_int_not_equal(nx_import(ctx, &d, &t), NX_OK), take();
  d = good, d.dtype = 77;
  assert_int_not_equal(nx_import(ctx, &d, &t), NX_OK), take();
  d = good, d.mode = 4;
  FAILS(NX_INVALID_ARGUMENT, nx_import(ctx, &d, &t));
  d = good, d.shape = NULL;
  FAILS(NX_INVALID_ARGUMENT, nx_import(ctx, &d, &t));
  assert_null(t);
}

/* ---- every operation runs */

typedef nx_tensor *unary(nx_tensor *);
typedef nx_tensor *binary(nx_tensor *, nx_tensor *);

static void special_functions(void **state) {
  (void)state;
  static const struct {
    unary *f;
    double want;
  } rows[] = {{nx_erfc, 0.4795001221869535},   {nx_erfinv, 0.4769362762044699},
              {nx_lgamma, 0.5723649429247001}, {nx_digamma, -1.9635100260214235},
              {nx_i0e, 0.6450352704491501},    {nx_i1e, 0.15642080318487173},
              {nx_j0, 0.938469807240813},      {nx_j1, 0.2422684576748739}};
  nx_tensor *half = GOOD(nx_full(ctx, 0, NX_F64, NULL, 0, NX_NUMBER(.5)));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double y = 0;
    OK(nx_read(GOOD(rows[i].f(half)), &y, sizeof y, NULL));
    assert_true(fabs(y - rows[i].want) <= 4e-16 * fabs(rows[i].want));
  }
}

static void all_elementwise(void **state) {
  (void)state;
  unary *const unaries[] = {nx_neg,  nx_abs,   nx_sign, nx_recip, nx_sqrt,  nx_exp,   nx_log,
                            nx_sin,  nx_cos,   nx_tan,  nx_asin,  nx_acos,  nx_atan,  nx_sinh,
                            nx_cosh, nx_tanh,  nx_erf,  nx_log1p, nx_expm1, nx_asinh, nx_atanh,
                            nx_rint, nx_trunc, nx_ceil, nx_floor, nx_round};
  const double want[] = {-.5,      .5,       1,       2,         sqrt(.5),  exp(.5),   log(.5),
                         sin(.5),  cos(.5),  tan(.5), asin(.5),  acos(.5),  atan(.5),  sinh(.5),
                         cosh(.5), tanh(.5), erf(.5), log1p(.5), expm1(.5), asinh(.5), atanh(.5),
                         0,        0,        1,       0,         1};
  nx_tensor *half = GOOD(nx_full(ctx, 0, NX_F64, NULL, 0, NX_NUMBER(.5))),
            *three = GOOD(nx_full(ctx, 0, NX_F64, NULL, 0, NX_NUMBER(3)));
  nx_scalar v;
  for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++) {
    OK(nx_item(GOOD(unaries[i](half)), NULL, 0, &v, NULL));
    if (fabs(v.v.f[0] - want[i]) > 1e-14) fprintf(stderr, "unary %zu: %g\n", i, v.v.f[0]);
    assert_true(fabs(v.v.f[0] - want[i]) <= 1e-14);
  }
  OK(nx_item(GOOD(nx_acosh(three)), NULL, 0, &v, NULL));
  assert_true(fabs(v.v.f[0] - acosh(3)) < 1e-14);
  binary *const binaries[] = {nx_add, nx_sub,   nx_mul, nx_div, nx_mod,
                              nx_pow, nx_atan2, nx_max, nx_min};
  const double results[] = {3.5, 2.5, 1.5, 6, 0, sqrt(3), atan2(3, .5), 3, .5};
  for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
    OK(nx_item(GOOD(binaries[i](three, half)), NULL, 0, &v, NULL));
    assert_true(fabs(v.v.f[0] - results[i]) <= 1e-14);
  }
  binary *const integers[] = {nx_xor,   nx_or,    nx_and,   nx_shl,  nx_shr,
                              nx_cmpeq, nx_cmpne, nx_cmplt, nx_cmple};
  const int64_t bits[] = {12 ^ 2, 12 | 2, 12 & 2, 48, 3, 0, 1, 0, 0};
  nx_tensor *twelve = GOOD(nx_full(ctx, 0, NX_I32, NULL, 0, NX_INTEGER(12))),
            *two = GOOD(nx_full(ctx, 0, NX_I32, NULL, 0, NX_INTEGER(2)));
  for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
    OK(nx_item(GOOD(integers[i](twelve, two)), NULL, 0, &v, NULL));
    assert_int_equal(v.kind, NX_SCALAR_I64);
    assert_int_equal(v.v.i, bits[i]);
  }
  nx_tensor *chosen = GOOD(nx_where(nx_cmplt(twelve, two), twelve, two));
  OK(nx_item(chosen, NULL, 0, &v, NULL));
  assert_int_equal(v.v.i, 2);
  OK(nx_item(GOOD(nx_bitcast(number(1), NX_U32)), NULL, 0, &v, NULL));
  assert_int_equal(v.v.i, 0x3f800000);
}

static void all_the_others(void **state) {
  (void)state;
  nx_tensor *v = vector(6, 1, 1), *m = GOOD(nx_reshape(v, NX_SHAPE(2, 3), 0));
  EXPECT(GOOD(nx_reduce_sum(m, NX_AXES(0), 0)), 5, 7, 9);
  EXPECT(GOOD(nx_reduce_sum(m, NX_AXES(-1), NX_KEEPDIMS)), 6, 15);
  EXPECT(GOOD(nx_reduce_prod(m, NX_AXES(0, 1), 0)), 720);
  EXPECT(GOOD(nx_reduce_max(m, NX_AXES(1), 0)), 3, 6);
  EXPECT(GOOD(nx_reduce_min(m, NX_AXES(1), 0)), 1, 4);
  EXPECT(GOOD(nx_reduce_sum(m, &(int32_t){0}, 0, 0)), 1, 2, 3, 4, 5, 6);
  EXPECT(GOOD(nx_cast(nx_reduce_argmax(m, 1, 0, NX_I32), NX_F32)), 2, 2);
  EXPECT(GOOD(nx_cast(nx_reduce_argmin(m, 0, NX_KEEPDIMS, NX_I32), NX_F32)), 0, 0, 0);
  EXPECT(GOOD(nx_pad(m, (int64_t[]){0, 1}, (int64_t[]){1, 0}, 2, NX_NUMBER(9))), 9, 1, 2, 3, 9, 4,
         5, 6, 9, 9, 9, 9);
  EXPECT(GOOD(nx_cat((nx_tensor *[]){m, m, v == NULL ? v : m}, 3, 1)), 1, 2, 3, 1, 2, 3, 1, 2, 3, 4,
         5, 6, 4, 5, 6, 4, 5, 6);
  EXPECT(GOOD(nx_matmul(m, nx_permute(m, NX_AXES(1, 0)))), 14, 32, 32, 77);
  EXPECT(GOOD(nx_eye(ctx, 0, NX_F32, 2, 3, 1)), 0, 1, 0, 0, 0, 1);
  EXPECT(GOOD(nx_contiguous(nx_flip(m, NX_AXES(0, 1)))), 6, 5, 4, 3, 2, 1);
  EXPECT(GOOD(nx_add(nx_expand(number(1), NX_SHAPE(2)), nx_reshape(number(2), NX_SHAPE(1), 0))), 3,
         3);
  EXPECT(GOOD(nx_add(nx_reshape(vector(2, 0, 10), NX_SHAPE(2, 1), 0), vector(3, 0, 1))), 0, 1, 2,
         10, 11, 12);
  nx_tensor *key = GOOD(nx_full(ctx, 0, NX_I32, NX_SHAPE(2), NX_INTEGER(0)));
  int32_t random[2];
  OK(nx_read(GOOD(nx_threefry(key, key)), random, sizeof random, NULL));
  assert_int_equal(random[0], 1797259609);
  assert_int_equal(random[1], -1715843330);
  nx_tensor *none = GOOD(nx_empty(ctx, 0, NX_F32, NX_SHAPE(0, 2)));
  OK(nx_realize(ctx, (nx_tensor *[]){nx_exp(none), nx_reduce_sum(none, NX_AXES(1), 0)}, 2, NULL));
  EXPECT(GOOD(nx_reduce_sum(none, NX_AXES(0), 0)), 0, 0);
  OK(nx_read(none, NULL, 0, NULL));
}

/* ---- handles */

static nx_tensor_info describe(nx_tensor *t) {
  nx_tensor_info i = {.size = sizeof i};
  nx_tensor_describe(t, &i);
  return i;
}

static void descriptions(void **state) {
  (void)state;
  nx_tensor *v = vector(12, 0, 1), *m = GOOD(nx_reshape(v, NX_SHAPE(3, 4), 0));
  nx_tensor *s = GOOD(nx_slice(m, (int64_t[]){2, 3}, (int64_t[]){2, 2}, (int64_t[]){-1, -2}, 2));
  nx_tensor_info i = describe(s);
  assert_ptr_equal(i.context, ctx);
  assert_int_equal(i.dtype, NX_F32);
  assert_int_equal(i.rank, 2);
  assert_int_equal(i.offset, 11);
  assert_int_equal(i.elements, 4);
  assert_int_equal(i.storage_elements, 12);
  assert_int_equal(i.strides[0], -4);
  assert_int_equal(i.strides[1], -2);
  assert_int_equal(i.flags, 0);
  assert_int_equal(i.storage_id, describe(v).storage_id);
  assert_int_equal(describe(m).flags, NX_TENSOR_C_CONTIGUOUS);
  EXPECT(s, 11, 9, 7, 5);
  assert_true(describe(v).flags & NX_TENSOR_REALIZED);
  /* contiguous: the same storage exactly for C order from offset 0 */
  assert_int_equal(describe(nx_contiguous(m)).storage_id, i.storage_id);
  assert_int_equal(describe(nx_contiguous(part(v, 0, 5, 1))).storage_id, i.storage_id);
  assert_int_not_equal(describe(nx_contiguous(part(v, 1, 5, 1))).storage_id, i.storage_id);
  assert_int_not_equal(describe(nx_contiguous(s)).storage_id, i.storage_id);
  assert_int_not_equal(describe(nx_copy(v)).storage_id, i.storage_id);
  nx_tensor_info small = {.size =
                              offsetof(nx_tensor_info, rank)}; /* a caller of an older version */
  small.rank = 77;
  nx_tensor_describe(s, &small);
  assert_int_equal(small.dtype, NX_F32);
  assert_int_equal(small.rank, 77);
}

/* Nobody steps along an axis of one element, or in a tensor without elements: strides there may be
 * anything. */
static void strides_that_say_nothing(void **state) {
  (void)state;
  const int64_t wild[3] = {INT64_MIN, 1, INT64_MAX}, ones[3] = {1, 4, 1}, none[3] = {5, 0, 7};
  nx_tensor *x = vector(4, 0, 1), *one = GOOD(nx_as_strided(x, ones, wild, 3, 0)),
            *turned = GOOD(nx_flip(one, NX_AXES(0, 1, 2))), *negated = GOOD(nx_neg(turned));
  EXPECT(one, 0, 1, 2, 3);
  EXPECT(turned, 3, 2, 1, 0);
  EXPECT(negated, -3, -2, -1, 0);
  OK(nx_assign(one, negated));
  EXPECT(x, -3, -2, -1, 0);
  nx_tensor *empty =
                GOOD(nx_as_strided(vector(4, 0, 1), none,
                                   (int64_t[]){INT64_MAX, INT64_MIN, INT64_MAX / 3}, 3, INT64_MAX)),
            *flipped = GOOD(nx_flip(empty, NX_AXES(0, 1, 2))), *both = GOOD(nx_add(empty, flipped)),
            *sum = GOOD(nx_reduce_sum(both, NX_AXES(1, 2), 0)), *minus = GOOD(nx_neg(empty));
  OK(nx_realize(ctx, &both, 1, NULL));
  OK(nx_realize(ctx, &minus, 1, NULL));
  OK(nx_assign(flipped, both));
  EXPECT(sum, 0, 0, 0, 0, 0);
  nx_tensor_describe(x, NULL); /* nobody wants to know */
}

static void complex_scalars(void **state) {
  (void)state;
  const nx_scalar imaginary = {NX_SCALAR_C128, {.f = {0, 4}}},
                  real = {NX_SCALAR_C128, {.f = {2, 0}}};
  const struct {
    const nx_scalar *from;
    nx_dtype to;
    double is;
  } rows[] = {
      {&imaginary, NX_BOOL, 1}, {&real, NX_BOOL, 1}, {&imaginary, NX_F32, 0}, {&real, NX_F32, 2}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    nx_tensor *t = GOOD(nx_full(ctx, 0, rows[i].to, NULL, 0, rows[i].from));
    nx_scalar v;
    OK(nx_item(t, NULL, 0, &v, NULL));
    assert_true((v.kind == NX_SCALAR_F64 ? v.v.f[0] : (double)v.v.i) == rows[i].is);
  }
}

static void scopes(void **state) {
  (void)state;
  nx_stats before = {.size = sizeof before}, after = before;
  nx_tensor *x = vector(3, 1, 1), *kept;
  OK(nx_realize(ctx, &x, 1, NULL));
  nx_context_collect(ctx);
  nx_context_stats(ctx, &before);
  nx_scope *outer = nx_scope_begin(ctx);
  nx_tensor *early = nx_neg(x);
  nx_scope *inner = nx_scope_begin(ctx);
  kept = nx_keep(GOOD(nx_add(nx_exp(x), early)));
  for (int i = 0; i < 500; i++) nx_add(x, number((float)i));
  nx_tensor_release(nx_neg(kept)); /* gone before its scope */
  nx_scope_end(inner);
  nx_scope_begin(ctx); /* ends with the outer one */
  nx_neg(kept);
  nx_scope_end(outer);
  nx_scope_end(outer); /* nothing happens */
  release(kept);
  nx_context_collect(ctx);
  nx_context_stats(ctx, &after);
  assert_int_equal(before.pending_nodes, after.pending_nodes);
}

static void writes_and_reads(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_empty(ctx, 0, NX_F32, NX_SHAPE(2, 3)));
  const float values[6] = {1, 2, 3, 4, 5, 6};
  OK(nx_write(x, values, sizeof values, NULL));
  nx_tensor *turned = GOOD(nx_permute(x, NX_AXES(1, 0)));
  EXPECT(turned, 1, 4, 2, 5, 3, 6);
  OK(nx_write(turned, values, sizeof values, NULL));
  EXPECT(x, 1, 3, 5, 2, 4, 6);
  nx_tensor *column = GOOD(nx_shrink(x, (int64_t[]){0, 1}, (int64_t[]){2, 2}, 2));
  OK(nx_write(column, values, 2 * sizeof *values, NULL));
  EXPECT(x, 1, 1, 5, 2, 2, 6);
  nx_scalar v;
  OK(nx_item(x, (int64_t[]){-1, -1}, 2, &v, NULL));
  assert_true(v.kind == NX_SCALAR_F64 && v.v.f[0] == 6);
  nx_tensor *big =
      GOOD(nx_full(ctx, 0, NX_U64, NULL, 0, &(nx_scalar){NX_SCALAR_U64, {.u = UINT64_MAX}}));
  OK(nx_item(big, NULL, 0, &v, NULL));
  assert_true(v.kind == NX_SCALAR_U64 && v.v.u == UINT64_MAX);
  nx_tensor *small = GOOD(nx_full(ctx, 0, NX_I8, NULL, 0, NX_INTEGER(300)));
  OK(nx_item(small, NULL, 0, &v, NULL));
  assert_int_equal(v.v.i, 44);
  OK(nx_item(GOOD(nx_cast(number(2), NX_BOOL)), NULL, 0, &v, NULL));
  assert_int_equal(v.v.i, 1);
}

static void devices(void **state) {
  (void)state;
  assert_true(nx_device_count(ctx) >= 3);
  nx_device_info i = {.size = sizeof i};
  OK(nx_device_describe(ctx, 0, &i));
  assert_string_equal(i.name, "cpu");
  assert_true(i.available && i.memory > 0 && !i.reason);
  OK(nx_device_describe(ctx, 2, &i));
  assert_true(!i.available && i.reason);
  FAILS(NX_INVALID_ARGUMENT, nx_device_describe(ctx, -1, &i));
  nx_tensor *x = vector(4, 1, 1), *y = GOOD(nx_to_device(x, 1)), *same = GOOD(nx_to_device(x, 0));
  assert_int_equal(describe(same).storage_id, describe(x).storage_id);
  BAD(NX_DEVICE_UNAVAILABLE, nx_to_device(x, 2));
  BAD(NX_INVALID_ARGUMENT, nx_add(x, y));
  nx_tensor *z = GOOD(nx_add(nx_mul(y, y), number(1))); /* a rank-0 constant may be anywhere */
  assert_int_equal(describe(z).device, 1);
  EXPECT(z, 2, 5, 10, 17);
  EXPECT(GOOD(nx_to_device(z, 0)), 2, 5, 10, 17);
  EXPECT(y, 1, 2, 3, 4);
  OK(nx_wait(ctx, 0));
}

/* ... whether its value was looked at or not; but no longer when the host may have written it. */
static void constants_on_other_devices(void **state) {
  (void)state;
  nx_tensor *y = GOOD(nx_to_device(vector(2, 1, 1), 1)), *one = number(1),
            *z = GOOD(nx_add(y, one));
  nx_scalar v;
  OK(nx_item(one, NULL, 0, &v, NULL));
  EXPECT(GOOD(nx_add(nx_mul(y, one), one)), 2, 3);
  EXPECT(z, 2, 3);
  OK(nx_assign(part(y, 1, 1, 1), one));
  EXPECT(y, 1, 1);
  nx_tensor *element = GOOD(nx_as_strided(constant(3, 1), NULL, NULL, 0, 1));
  BAD(NX_INVALID_ARGUMENT, nx_add(y, element));
  nx_mapping *m;
  OK(nx_map(one, NX_MAP_WRITE, NULL, &m));
  *(float *)nx_mapping_base(m, NULL) = 5;
  nx_mapping_release(m);
  EXPECT(one, 5);
  BAD(NX_INVALID_ARGUMENT, nx_add(y, one));
}

static int32_t count_polls(void *user) { return ++*(int *)user, 0; }

static void reports_and_polls(void **state) {
  (void)state;
  nx_report r = {.size = sizeof r};
  int polls = 0;
  nx_run_options o = {.size = sizeof o, .report = &r, .poll = count_polls, .user = &polls};
  nx_tensor *x = vector(1000, 0, 1), *y = GOOD(nx_exp(nx_mul(x, number(0.25f))));
  OK(nx_realize(ctx, &y, 1, &o));
  assert_int_equal(r.runs, 1);
  assert_int_equal(r.plan_misses, 1);
  assert_non_null(r.miss_reason);
  assert_true(r.nodes > 0 && r.bytes >= 4000 && r.planned_bytes >= 4000 && r.peak_bytes >= 4000 &&
              r.total_ms > 0);
  assert_true(polls > 0);
  OK(nx_realize(ctx, &y, 1, &o));
  assert_int_equal(r.runs, 0);
  nx_tensor *a = nx_neg(x), *b = nx_neg(y), *c = nx_neg(b);
  nx_run_options pending = {.size = sizeof pending, .flags = NX_DO_PENDING};
  OK(nx_realize(ctx, NULL, 0, &pending));
  assert_true(describe(a).flags & NX_TENSOR_REALIZED);
  assert_true(describe(b).flags & NX_TENSOR_REALIZED); /* which c consumes */
  assert_true(describe(c).flags & NX_TENSOR_REALIZED);
  pending.flags |= 4;
  FAILS(NX_INVALID_ARGUMENT, nx_realize(ctx, &c, 1, &pending));
  FAILS(NX_INVALID_ARGUMENT, nx_write(x, &r, 4000, &pending));
  FAILS(NX_INVALID_ARGUMENT, nx_realize(ctx, &c, 1, &(nx_run_options){.flags = NX_DO_PENDING}));
  FAILS(NX_INVALID_ARGUMENT,
        nx_context_create(&(nx_context_options){.size = sizeof(nx_context_options), .flags = 8},
                          &(nx_context *){NULL}));
  nx_tensor *d = nx_sin(x), *e = nx_cos(nx_reduce_sum(d, NX_AXES(0), 0));
  nx_hold(d, true);
  OK(nx_realize(ctx, &e, 1, NULL));
  assert_true(describe(d).flags & NX_TENSOR_REALIZED);
  OK(nx_assign(d, GOOD(nx_tan(x)))); /* the tensor is held, not its value */
  nx_tensor *g = nx_neg(nx_reduce_sum(d, NX_AXES(0), 0));
  OK(nx_realize(ctx, &g, 1, NULL));
  assert_true(describe(d).flags & NX_TENSOR_REALIZED);
  nx_hold(d, false);
  nx_tensor *k = GOOD(nx_cos(x)), *h = nx_abs(nx_reduce_sum(k, NX_AXES(0), 0));
  nx_hold(k, true), nx_hold(k, false);
  OK(nx_realize(ctx, &h, 1, NULL));
  assert_false(describe(k).flags & NX_TENSOR_REALIZED);
}

/* Where the frontend recorded an operation is in what a person reads, and comes back from the
 * text. */
static void tags_in_dumps(void **state) {
  (void)state;
  char *text = NULL, *again = NULL, longest[300] = {0}, wanted[300];
  memset(longest, 'n', sizeof longest - 1);
  nx_tensor *x = vector(3, 0, 1), *p = GOOD(nx_placeholder(ctx, 0, NX_F32, NX_SHAPE(3)));
  nx_tag_set(7, "line \"7\"");
  nx_tensor *y = nx_exp(x), *z = nx_sin(p);
  nx_tag_set(0, longest);
  y = nx_neg(y);
  nx_tag_set(0, NULL);
  OK(nx_dump(&y, 1, "graph", &text));
  assert_non_null(strstr(text, "= exp %0 : f32[3] tag=7 note=\"line \\\"7\\\"\"\n"));
  snprintf(wanted, sizeof wanted, " note=\"%.255s\"\n", longest);
  assert_non_null(strstr(text, wanted));
  nx_string_free(text);
  nx_function *f = NULL, *g = NULL;
  OK(nx_function_create(ctx, &p, 1, &z, 1, NULL, &f));
  OK(nx_function_dump(f, "graph", &text));
  assert_non_null(strstr(text, "= sin %0 : f32[3] tag=7 note=\"line \\\"7\\\"\"\n"));
  OK(nx_function_parse(ctx, text, strlen(text), NULL, &g));
  OK(nx_function_dump(g, "graph", &again));
  assert_string_equal(again, text);
  nx_string_free(text), nx_string_free(again);
  nx_function_release(f), nx_function_release(g);
}

static void dumps(void **state) {
  (void)state;
  nx_tensor *x = vector(8, 0, 1), *y;
  OK(nx_realize(ctx, &x, 1, NULL));
  y = GOOD(nx_add(nx_mul(part(x, 2, 4, 1), number(3)), number(0.1f)));
  char *text = NULL;
  OK(nx_dump(&y, 1, "graph", &text));
  assert_memory_equal(text, "nxir 2\n", 7);
  nx_function *f = NULL;
  OK(nx_function_parse(ctx, text, strlen(text), NULL, &f)); /* a dump runs */
  nx_tensor *in = part(x, 2, 4, 1), *out = NULL;
  OK(nx_function_call(f, &in, 1, &out, 1, NULL));
  float a[4], b[4];
  OK(nx_read(y, a, sizeof a, NULL));
  OK(nx_read(out, b, sizeof b, NULL));
  assert_memory_equal(a, b, sizeof a);
  nx_string_free(text);
  nx_function_release(f);
  release(out);
  OK(nx_dump(&in, 1, "dot", &text));
  nx_string_free(text);
  text = NULL;
  assert_int_not_equal(nx_dump(&y, 1, "nonsense", &text), NX_OK);
  take();
  assert_null(text);
  FAILS(NX_INVALID_ARGUMENT, nx_debug_set("graph,nonsense"));
  OK(nx_debug_set("verify"));
  assert_non_null(strstr(nx_debug_help(), "clusters"));
}

NXT_MAIN(api) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(first_error_stays),
      IN_SCOPE(wrong_operands),
      IN_SCOPE(wrong_movement),
      IN_SCOPE(wrong_sources),
      IN_SCOPE(wrong_actions),
      IN_SCOPE(wrong_imports),
      IN_SCOPE(all_elementwise),
      IN_SCOPE(special_functions),
      IN_SCOPE(all_the_others),
      IN_SCOPE(descriptions),
      IN_SCOPE(scopes),
      IN_SCOPE(strides_that_say_nothing),
      IN_SCOPE(complex_scalars),
      IN_SCOPE(writes_and_reads),
      IN_SCOPE(devices),
      IN_SCOPE(constants_on_other_devices),
      IN_SCOPE(reports_and_polls),
      IN_SCOPE(tags_in_dumps),
      IN_SCOPE(dumps),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
