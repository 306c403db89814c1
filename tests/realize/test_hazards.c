/* SPDX-License-Identifier: ISC */
/* Lazy evaluation must not be observable: operations that were recorded before an assign, a mapping
 * or a host write read the old values, operations that were recorded later read the new ones, in
 * every order of recording, realising and releasing. */
#include "runtime/realize/run.h"
#include "runtime/record/context.h"
#include "tests/util/api.h"

/* ---- equal values may be shared, but tensors with equal values have separate storages */

static void equal_constants_are_separate(void **state) {
  (void)state;
  nx_tensor *a = constant(3, 0), *b = constant(3, 0), *one = number(1);
  OK(nx_assign(a, one));
  EXPECT(b, 0, 0, 0);
  EXPECT(a, 1, 1, 1);
  release(a), release(b), release(one);
}

static void equal_expressions_are_separate(void **state) {
  (void)state;
  for (int realised = 0; realised < 2; realised++) {
    nx_tensor *x = vector(3, 0, 0), *a = nx_exp(x), *b = nx_exp(x), *seven = number(7);
    if (realised) OK(nx_realize(ctx, (nx_tensor *[]){a, b}, 2, NULL));
    nx_tensor *middle = part(a, 1, 1, 1);
    OK(nx_assign(middle, seven));
    EXPECT(b, 1, 1, 1);
    EXPECT(a, 1, 7, 1);
    EXPECT(b, 1, 1, 1);
    release(x), release(a), release(b), release(seven), release(middle);
  }
}

static void mapping_one_of_two_equal_values(void **state) {
  (void)state;
  nx_tensor *a = constant(2, 5), *b = constant(2, 5), *sum = nx_add(a, b);
  nx_mapping *m;
  OK(nx_map(a, NX_MAP_WRITE, NULL, &m));
  float *p = nx_mapping_base(m, NULL);
  assert_true(p[0] == 5 && p[1] == 5);
  p[0] = 100;
  EXPECT(b, 5, 5);
  EXPECT(sum, 10, 10);
  EXPECT(a, 100, 5);
  nx_mapping_release(m);
  release(a), release(b), release(sum);
}

/* The same for computed values, before and after they are realised. */
static void mapping_one_of_two_equal_expressions(void **state) {
  (void)state;
  for (int realised = 0; realised < 3; realised++) { /* neither, the one that is mapped, both */
    nx_tensor *x = vector(3, 0, 0), *a = nx_exp(x), *b = nx_exp(x), *sum = nx_add(a, b);
    if (realised) OK(nx_realize(ctx, (nx_tensor *[]){a, b}, (size_t)realised, NULL));
    nx_mapping *m;
    OK(nx_map(a, NX_MAP_WRITE, NULL, &m));
    float *p = nx_mapping_base(m, NULL);
    assert_true(p[0] == 1 && p[2] == 1);
    p[1] = 9;
    EXPECT(b, 1, 1, 1);
    EXPECT(sum, 2, 2, 2);
    nx_tensor *c = nx_exp(x); /* a third one, found equal to the others */
    EXPECT(c, 1, 1, 1);
    EXPECT(a, 1, 9, 1);
    nx_mapping_release(m);
    release(x), release(a), release(b), release(c), release(sum);
  }
}

static void copies_are_separate(void **state) {
  (void)state;
  nx_tensor *a = vector(3, 1, 1), *b = nx_copy(a), *nine = number(9);
  OK(nx_realize(ctx, &a, 1, NULL));
  nx_tensor *c = nx_copy(a);
  OK(nx_assign(a, nine));
  EXPECT(b, 1, 2, 3);
  EXPECT(c, 1, 2, 3);
  OK(nx_assign(part(c, 0, 1, 1), nine)); /* the view is released with the context's scope below */
  EXPECT(c, 9, 2, 3);
  EXPECT(b, 1, 2, 3);
  release(a), release(b), release(c), release(nine);
}

/* ---- reads and assigns in order */

static void read_then_assign(void **state) {
  (void)state;
  for (int realised = 0; realised < 2; realised++) {
    nx_tensor *x = vector(4, 1, 1), *two = number(2);
    if (realised) OK(nx_realize(ctx, &x, 1, NULL));
    nx_tensor *y = nx_mul(x, two);
    OK(nx_assign(x, number(0)));
    EXPECT(x, 0, 0, 0, 0);
    EXPECT(y, 2, 4, 6, 8);
    release(x), release(y), release(two);
  }
}

static void read_then_partial_assign(void **state) {
  (void)state;
  for (int first = 0; first < 2; first++) { /* which of the two is realised first */
    nx_tensor *x = vector(4, 1, 1), *two = number(2);
    OK(nx_realize(ctx, &x, 1, NULL));
    nx_tensor *y = nx_mul(x, two), *view = part(x, 1, 2, 1), *z;
    OK(nx_assign(view, number(-1)));
    z = nx_mul(x, two);
    if (first) EXPECT(y, 2, 4, 6, 8);
    EXPECT(x, 1, -1, -1, 4);
    EXPECT(z, 2, -2, -2, 8);
    EXPECT(y, 2, 4, 6, 8);
    release(x), release(y), release(z), release(two), release(view);
  }
}

static void assign_then_read_through_views(void **state) {
  (void)state;
  int32_t axis = 0;
  nx_tensor *x = vector(6, 0, 1), *even = part(x, 0, 3, 2), *back = nx_flip(x, &axis, 1);
  nx_tensor *square = nx_reshape(x, NX_SHAPE(2, 3), 0), *turned = nx_permute(square, NX_AXES(1, 0));
  OK(nx_assign(even, vector(3, 10, 10)));
  EXPECT(back, 5, 30, 3, 20, 1, 10);
  EXPECT(turned, 10, 3, 1, 30, 20, 5);
  OK(nx_assign(turned, number(1)));
  EXPECT(even, 1, 1, 1);
  OK(nx_assign(back, x)); /* the whole storage, in another order */
  OK(nx_assign(back, vector(6, 0, 1)));
  EXPECT(x, 5, 4, 3, 2, 1, 0);
  EXPECT(turned, 5, 2, 4, 1, 3, 0);
  release(x), release(even), release(back), release(square), release(turned);
}

/* A run updates one tensor, whose old contents nothing else needs, and reads all of another tensor
 * through a view. The other tensor must not change, whatever its role in the previous run was. */
static void whole_view_beside_an_update(void **state) {
  (void)state;
  for (int first = 0; first < 2; first++) {
    nx_tensor *a = vector(4, 1, 1), *u = vector(4, 10, 10), *one = number(1);
    OK(nx_realize(ctx, first ? &a : &u, 1, NULL));
    OK(nx_realize(ctx, first ? &u : &a, 1, NULL));
    nx_tensor *row = nx_reshape(a, NX_SHAPE(1, 4), 0);
    nx_tensor *zero = nx_full(ctx, device(), NX_I32, (int64_t[]){1, 4}, 2, NX_INTEGER(0)),
              *ones = nx_expand(one, NX_SHAPE(1, 4));
    nx_tensor *sums = nx_scatter(row, zero, ones, 1, NX_SCATTER_ADD, 0),
              *half = nx_slice(sums, (int64_t[]){0, 0}, (int64_t[]){1, 2}, (int64_t[]){1, 1}, 2);
    OK(nx_assign(part(u, 1, 2, 1), nx_reshape(half, NX_SHAPE(2), 0)));
    OK(nx_realize(ctx, &u, 1, NULL));
    EXPECT(u, 10, 5, 2, 40);
    EXPECT(a, 1, 2, 3, 4);
    EXPECT(sums, 5, 2, 3, 4);
  }
}

static void self_overlapping_assign(void **state) {
  (void)state;
  for (int realised = 0; realised < 2; realised++) {
    nx_tensor *x = vector(5, 1, 1);
    if (realised) OK(nx_realize(ctx, &x, 1, NULL));
    nx_tensor *high = part(x, 1, 4, 1), *low = part(x, 0, 4, 1);
    OK(nx_assign(high, low));
    EXPECT(x, 1, 1, 2, 3, 4);
    OK(nx_assign(low, high));
    EXPECT(x, 1, 2, 3, 4, 4);
    nx_tensor *back = part(x, 4, 5, -1);
    OK(nx_assign(x, back));
    EXPECT(x, 4, 4, 3, 2, 1);
    release(x), release(high), release(low), release(back);
  }
}

static void assign_of_expression_over_destination(void **state) {
  (void)state;
  for (int realised = 0; realised < 2; realised++) {
    nx_tensor *x = vector(4, 1, 1);
    if (realised) OK(nx_realize(ctx, &x, 1, NULL));
    nx_tensor *view = part(x, 1, 2, 1), *low = part(x, 0, 2, 1), *sum = nx_add(view, low),
              *before = nx_neg(x);
    OK(nx_assign(view, sum));
    OK(nx_assign(x, nx_mul(x, x)));
    EXPECT(x, 1, 9, 25, 16);
    EXPECT(before, -1, -2, -3, -4);
    EXPECT(sum, 3, 5);
    release(x), release(view), release(low), release(sum), release(before);
  }
}

static void many_assigns_in_place(void **state) {
  (void)state;
  nx_tensor *x = constant(4, 0);
  OK(nx_realize(ctx, &x, 1, NULL));
  for (int i = 0; i < 20; i++) {
    nx_tensor *view = part(x, i % 4, 1, 1), *next = nx_add(view, number(1));
    OK(nx_assign(view, next));
    if (i % 3 == 0) OK(nx_realize(ctx, &x, 1, NULL));
    release(view), release(next);
  }
  EXPECT(x, 5, 5, 5, 5);
  release(x);
}

/* A run that needs old contents after it has computed the new ones: through the assigned view,
 * through an overlapping view, and through a view of the whole tensor. */
static void old_and_new_in_one_run(void **state) {
  (void)state;
  enum { COUNT = 3000 };
  static const int64_t reads[][2] = {{1000, 500}, {900, 500}, {0, COUNT}}; /* start, count */
  float *is = calloc(COUNT, sizeof *is);
  assert_non_null(is);
  for (int n = 0; n < 6; n++) { /* the old contents are there, or computed in the same run */
    int i = n % 3;
    nx_tensor *x = vector(COUNT, 1, 1), *view = part(x, 1000, 500, 1);
    if (n < 3) OK(nx_realize(ctx, &x, 1, NULL));
    nx_scope *s = nx_scope_begin(ctx); /* afterwards nobody can ask for the old contents */
    nx_tensor *old = nx_neg(part(x, reads[i][0], reads[i][1], 1));
    OK(nx_assign(view, nx_mul(view, number(3))));
    nx_tensor *last = nx_reduce_max(x, NX_AXES(0), NX_KEEPDIMS), *both = nx_keep(nx_add(old, last));
    nx_scope_end(s);
    OK(nx_realize(ctx, (nx_tensor *[]){x, both}, 2, NULL));
    OK(nx_read(both, is, (size_t)reads[i][1] * sizeof *is, NULL));
    for (int64_t k = 0; k < reads[i][1]; k++)
      assert_true(is[k] == (float)(4500 - (reads[i][0] + k + 1)));
    OK(nx_read(x, is, COUNT * sizeof *is, NULL));
    for (int64_t k = 0; k < COUNT; k++)
      assert_true(is[k] == (float)((k + 1) * (k >= 1000 && k < 1500 ? 3 : 1)));
    release(x), release(view), release(both);
  }
  free(is);
}

/* A tensor is shifted within itself, forwards and backwards, by more and by less than a vector. */
static void shifts_within_itself(void **state) {
  (void)state;
  enum { COUNT = 5000 };
  static const int64_t shifts[] = {1, 3, 16, 64, 1000, -1, -5, -16, -300};
  float *is = calloc(COUNT, sizeof *is);
  assert_non_null(is);
  for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
    int64_t by = shifts[i], far = by < 0 ? -by : by, count = COUNT - far;
    nx_tensor *x = vector(COUNT, 0, 1);
    OK(nx_realize(ctx, &x, 1, NULL));
    nx_tensor *to = part(x, by < 0 ? 0 : far, count, 1),
              *from = part(x, by < 0 ? far : 0, count, 1);
    nx_scope *s = nx_scope_begin(ctx);
    OK(nx_assign(to, nx_add(from, number(7))));
    nx_scope_end(s); /* nobody else needs the old contents */
    OK(nx_read(x, is, COUNT * sizeof *is, NULL));
    for (int64_t k = 0; k < COUNT; k++) {
      bool written = by < 0 ? k < count : k >= far;
      assert_true(is[k] == (float)(written ? k - by + 7 : k));
    }
    release(x), release(to), release(from);
  }
  free(is);
}

/* A block of a matrix is transposed in place: only its first element has the same address in
 * reading and writing. */
static void turned_within_itself(void **state) {
  (void)state;
  enum { SIDE = 70, ALL = SIDE + 1 };
  float *is = calloc(ALL * ALL, sizeof *is);
  assert_non_null(is);
  nx_tensor *x = GOOD(nx_reshape(vector(ALL * ALL, 0, 1), NX_SHAPE(ALL, ALL), 0));
  OK(nx_realize(ctx, &x, 1, NULL));
  const int64_t start[2] = {0, 0}, stop[2] = {SIDE, SIDE};
  nx_tensor *block = GOOD(nx_shrink(x, start, stop, 2));
  nx_scope *s = nx_scope_begin(ctx);
  OK(nx_assign(block, nx_add(nx_permute(block, NX_AXES(1, 0)), number(7))));
  nx_scope_end(s);
  OK(nx_read(x, is, ALL * ALL * sizeof *is, NULL));
  for (int i = 0; i < ALL; i++)
    for (int j = 0; j < ALL; j++)
      assert_true(is[i * ALL + j] == (float)(i < SIDE && j < SIDE ? j * ALL + i + 7 : i * ALL + j));
  free(is);
}

static void overlapping_destination_is_refused(void **state) {
  (void)state;
  nx_tensor *x = vector(1, 0, 1), *wide = nx_expand(x, NX_SHAPE(3)), *zero = number(0);
  FAILS(NX_INVALID_ARGUMENT, nx_assign(wide, zero));
  release(x), release(wide), release(zero);
}

/* ---- failures */

static int32_t stop(void *user) {
  int *left = user;
  return (*left)-- <= 0;
}

static void failed_realise_then_retry(void **state) {
  (void)state;
  nx_tensor *x = constant(100, 1), *view = part(x, 10, 50, 1);
  OK(nx_realize(ctx, &x, 1, NULL));
  OK(nx_assign(view, nx_neg(view)));
  OK(nx_assign(view, nx_abs(view)));
  for (int polls = 0; polls < 4; polls++) {
    int left = polls;
    nx_run_options o = {.size = sizeof o, .poll = stop, .user = &left};
    nx_status status = nx_realize(ctx, &x, 1, &o);
    if (!status) break;
    FAILS(NX_INTERRUPTED, status);
  }
  nx_scalar first, last;
  OK(nx_item(x, (int64_t[]){0}, 1, &first, NULL));
  OK(nx_item(x, (int64_t[]){59}, 1, &last, NULL));
  assert_true(first.v.f[0] == 1 && last.v.f[0] == 1);
  release(x), release(view);
}

/* Memory that is overwritten in place: at whatever poll the action is interrupted, it happens
 * completely and once, or not at all. */
static void failed_realise_in_place(void **state) {
  (void)state;
  enum { COUNT = 20000 };
  float *is = calloc(COUNT, sizeof *is);
  assert_non_null(is);
  int stopped = 0;
  for (int polls = 0, done = 0; !done; polls++) {
    nx_tensor *x = vector(COUNT, 0, 1), *high = part(x, COUNT / 2, COUNT / 2, 1);
    OK(nx_realize(ctx, &x, 1, NULL));
    OK(nx_assign(high, nx_mul(high, number(3))));
    OK(nx_assign(x, nx_add(x, number(1))));
    OK(nx_assign(part(x, 0, COUNT / 2, 1), part(x, COUNT / 2, COUNT / 2, 1)));
    int left = polls;
    nx_run_options o = {.size = sizeof o, .poll = stop, .user = &left};
    nx_status status = nx_realize(ctx, &x, 1, &o);
    done = status == NX_OK;
    if (!done) FAILS(NX_INTERRUPTED, status);
    stopped += !done;
    for (int again = 0; again < 2; again++) {
      OK(nx_read(x, is, COUNT * sizeof *is, NULL));
      for (int i = 0; i < COUNT; i++)
        assert_true(is[i] == (float)(i % (COUNT / 2) + COUNT / 2) * 3 + 1);
    }
    release(x), release(high);
  }
  assert_true(stopped > 0);
  free(is);
}

static void failing_source_then_whole_assign(void **state) {
  (void)state;
  nx_context *other = ctx;
  nx_context_options o = {.size = sizeof o, .memory_limit = 1 << 16};
  OK(nx_context_create(&o, &ctx));
  nx_scope *inner = nx_scope_begin(ctx);
  nx_tensor *x = constant(100, 1), *big, *sum;
  big = nx_exp(vector(1 << 20, 0, 0));
  nx_hold(big, true); /* it must be stored, and there is not enough memory */
  sum = nx_reduce_sum(big, NX_AXES(0), 0);
  OK(nx_assign(x, sum));
  for (int i = 0; i < 2; i++) FAILS(NX_OUT_OF_MEMORY, nx_realize(ctx, &x, 1, NULL));
  OK(nx_assign(x, number(2)));
  nx_scalar v;
  OK(nx_item(x, (int64_t[]){99}, 1, &v, NULL));
  assert_true(v.v.f[0] == 2);
  nx_scope_end(inner);
  nx_context_release(ctx);
  ctx = other;
}

NXT_MAIN(hazards) {
  nxi_poll_briefly = true; /* realises are stopped between their steps */
  const struct CMUnitTest tests[] = {
      IN_SCOPE(equal_constants_are_separate),
      IN_SCOPE(equal_expressions_are_separate),
      IN_SCOPE(mapping_one_of_two_equal_values),
      IN_SCOPE(mapping_one_of_two_equal_expressions),
      IN_SCOPE(copies_are_separate),
      IN_SCOPE(read_then_assign),
      IN_SCOPE(read_then_partial_assign),
      IN_SCOPE(assign_then_read_through_views),
      IN_SCOPE(whole_view_beside_an_update),
      IN_SCOPE(self_overlapping_assign),
      IN_SCOPE(assign_of_expression_over_destination),
      IN_SCOPE(many_assigns_in_place),
      IN_SCOPE(old_and_new_in_one_run),
      IN_SCOPE(shifts_within_itself),
      IN_SCOPE(turned_within_itself),
      IN_SCOPE(overlapping_destination_is_refused),
      IN_SCOPE(failed_realise_then_retry),
      IN_SCOPE(failed_realise_in_place),
      IN_SCOPE(failing_source_then_whole_assign),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
