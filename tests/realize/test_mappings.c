/* SPDX-License-Identifier: ISC */
/* What the host sees and does: mappings and host writes among recorded reads and assigns, imported
 * memory, deferred work, and releases in every order. */
#include "tests/util/api.h"

#include <unistd.h>

/* ---- mappings */

static void map_for_writing_between_record_and_realise(void **state) {
  (void)state;
  nx_tensor *x = vector(3, 1, 1), *y = nx_add(x, number(10));
  nx_mapping *m;
  OK(nx_map(x, NX_MAP_READ | NX_MAP_WRITE, NULL, &m));
  float *p = nx_mapping_base(m, NULL);
  for (int i = 0; i < 3; i++) p[i] = -1;
  EXPECT(y, 11, 12, 13);
  EXPECT(x, -1, -1, -1);
  nx_mapping_release(m);
  EXPECT(x, -1, -1, -1);
  release(x), release(y);
}

static void host_writes_before_between_and_after_reads(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_empty(ctx, device(), NX_F32, NX_SHAPE(2)));
  nx_mapping *m;
  OK(nx_map(x, NX_MAP_WRITE, NULL, &m));
  float *p = nx_mapping_base(m, NULL);
  p[0] = 1, p[1] = 2;
  nx_tensor *a = nx_neg(x);
  p[0] = 3;
  nx_tensor *b = nx_neg(x); /* equal operation, other contents */
  p[1] = 4;
  nx_tensor *c = nx_copy(x);
  p[0] = p[1] = 0;
  EXPECT(a, -1, -2);
  EXPECT(b, -3, -2);
  EXPECT(c, 3, 4);
  nx_mapping_release(m);
  nx_tensor *d = nx_neg(x);
  EXPECT(d, 0, 0);
  release(x), release(a), release(b), release(c), release(d);
}

static void read_mapping_shows_realised_assigns(void **state) {
  (void)state;
  nx_tensor *x = vector(3, 1, 1), *twin = vector(3, 1, 1), *old = nx_mul(x, number(2));
  nx_mapping *m, *n;
  OK(nx_map(x, NX_MAP_READ, NULL, &m));
  const float *p = nx_mapping_base(m, NULL);
  OK(nx_map(x, NX_MAP_READ, NULL, &n));
  assert_ptr_equal(p, nx_mapping_base(n, NULL));
  nx_mapping_release(n);
  nx_tensor *view = part(x, 0, 1, 1);
  OK(nx_assign(view, number(50)));
  OK(nx_realize(ctx, &x, 1, NULL));
  assert_true(p[0] == 50 && p[1] == 2);
  OK(nx_assign(x, nx_add(x, number(1))));
  OK(nx_realize(ctx, &x, 1, NULL));
  assert_true(p[0] == 51 && p[1] == 3 && p[2] == 4);
  OK(nx_map(x, NX_MAP_READ, NULL, &n));
  assert_ptr_equal(p, nx_mapping_base(n, NULL)); /* it has not moved */
  EXPECT(old, 2, 4, 6);
  EXPECT(twin, 1, 2, 3);
  release(x); /* the mapping outlives it */
  assert_true(p[2] == 4);
  nx_mapping_release(m), nx_mapping_release(n);
  release(twin), release(old), release(view);
}

static void two_equal_values_mapped_and_assigned(void **state) {
  (void)state;
  nx_tensor *a = vector(2, 1, 1), *b = vector(2, 1, 1);
  nx_mapping *ma, *mb;
  OK(nx_map(a, NX_MAP_READ, NULL, &ma));
  OK(nx_map(b, NX_MAP_READ, NULL, &mb));
  const float *pa = nx_mapping_base(ma, NULL), *pb = nx_mapping_base(mb, NULL);
  assert_ptr_not_equal(pa, pb);
  OK(nx_assign(a, number(7)));
  OK(nx_realize(ctx, (nx_tensor *[]){a, b}, 2, NULL));
  assert_true(pa[0] == 7 && pa[1] == 7 && pb[0] == 1 && pb[1] == 2);
  nx_mapping_release(ma), nx_mapping_release(mb);
  release(a), release(b);
}

/* The address that a read mapping shows stays when the host is allowed to write: the reader gets
 * the copy. */
static void write_mapping_after_read_mapping(void **state) {
  (void)state;
  nx_tensor *x = vector(3, 1, 1), *twin = vector(3, 1, 1);
  nx_mapping *m, *n;
  OK(nx_map(x, NX_MAP_READ, NULL, &m));
  nx_tensor *pending = nx_neg(x);
  OK(nx_map(x, NX_MAP_WRITE, NULL, &n));
  float *p = nx_mapping_base(n, NULL);
  assert_ptr_equal(p, nx_mapping_base(m, NULL));
  p[0] = 100;
  EXPECT(pending, -1, -2, -3);
  EXPECT(twin, 1, 2, 3);
  EXPECT(x, 100, 2, 3);
  nx_mapping_release(n);
  nx_tensor *after = nx_neg(x);
  OK(nx_assign(part(x, 1, 1, 1), number(0)));
  EXPECT(after, -100, -2, -3);
  EXPECT(x, 100, 0, 3);
  assert_true(((const float *)nx_mapping_base(m, NULL))[1] == 0);
  nx_mapping_release(m);
}

static void assign_under_write_mapping(void **state) {
  (void)state;
  nx_tensor *x = vector(3, 0, 1), *view = part(x, 1, 2, 1);
  nx_mapping *m;
  OK(nx_map(x, NX_MAP_WRITE, NULL, &m));
  float *p = nx_mapping_base(m, NULL);
  OK(nx_assign(view, number(9)));
  assert_true(p[1] == 9 && p[2] == 9);
  p[2] = 4;
  OK(nx_assign(x, nx_add(x, x)));
  assert_true(p[0] == 0 && p[1] == 18 && p[2] == 8);
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  assert_true(info.flags & NX_TENSOR_EXPOSED);
  nx_mapping_release(m);
  nx_tensor_describe(x, &info);
  assert_false(info.flags & NX_TENSOR_EXPOSED);
  EXPECT(x, 0, 18, 8);
  release(x), release(view);
}

/* ---- imports */

static int released;
static void count_release(void *user) { released += *(int *)user; }

static nx_tensor *import(uint32_t mode, float *p, size_t n) {
  static int one = 1;
  int64_t shape = (int64_t)n;
  nx_import_desc d = {.size = sizeof d,
                      .mode = mode,
                      .dtype = NX_F32,
                      .rank = 1,
                      .shape = &shape,
                      .base = p,
                      .bytes = n * sizeof *p,
                      .release = count_release,
                      .user = &one};
  nx_tensor *t = NULL;
  OK(nx_import(ctx, &d, &t));
  return t;
}

static void import_assign_release_then_look(void **state) {
  (void)state;
  float memory[4] = {1, 2, 3, 4};
  released = 0;
  nx_tensor *x = import(NX_IMPORT_SHARED, memory, 4), *sum = nx_add(x, number(1)),
            *view = part(x, 1, 2, 1);
  OK(nx_assign(view, nx_mul(view, number(10))));
  release(x), release(view);
  nx_context_collect(ctx);
  assert_int_equal(released, 1);
  assert_true(memory[0] == 1 && memory[1] == 20 && memory[2] == 30 && memory[3] == 4);
  memset(memory, 0, sizeof memory);
  EXPECT(sum, 2, 3, 4, 5);
  release(sum);
}

static void shared_import_is_exposed(void **state) {
  (void)state;
  float memory[2] = {1, 2};
  nx_tensor *x = import(NX_IMPORT_SHARED, memory, 2);
  nx_tensor *a = nx_neg(x), *c = nx_copy(x);
  memory[0] = 5;
  nx_tensor *b = nx_neg(x);
  EXPECT(a, -1, -2);
  EXPECT(b, -5, -2);
  EXPECT(c, 1, 2);
  EXPECT(x, 5, 2);
  nx_tensor *y = constant(2, 0);
  OK(nx_assign(y, x));
  memory[0] = 6;
  EXPECT(y, 5, 2);
  OK(nx_assign(x, y)); /* the whole of it */
  assert_true(memory[0] == 5);
  release(x), release(a), release(b), release(c), release(y);
}

static void immutable_import(void **state) {
  (void)state;
  float memory[2] = {1, 2};
  released = 0;
  nx_tensor *x = import(NX_IMPORT_IMMUTABLE, memory, 2), *y = constant(2, 0), *pending = nx_neg(x);
  nx_mapping *m;
  FAILS(NX_NOT_WRITABLE, nx_assign(x, y));
  FAILS(NX_NOT_WRITABLE, nx_map(x, NX_MAP_WRITE, NULL, &m));
  OK(nx_map(x, NX_MAP_READ, NULL, &m));
  assert_ptr_equal(nx_mapping_base(m, NULL), memory);
  nx_mapping_release(m);
  OK(nx_assign(y, x));
  OK(nx_realize(ctx, &y, 1, NULL));
  release(x);
  nx_context_collect(ctx);
  assert_int_equal(released, 0); /* pending still reads it */
  EXPECT(pending, -1, -2);
  nx_context_collect(ctx);
  assert_int_equal(released, 1);
  memory[0] = 100;
  EXPECT(y, 1, 2);
  release(y), release(pending);
}

static void copied_import(void **state) {
  (void)state;
  float memory[2] = {1, 2};
  released = 0;
  nx_tensor *x = import(NX_IMPORT_COPY, memory, 2);
  nx_context_collect(ctx);
  assert_int_equal(released, 1);
  memory[0] = 100;
  EXPECT(x, 1, 2);
  release(x);
}

/* ---- deferred work */

static void manual_due(void **state) {
  (void)state;
  nx_context *other = ctx;
  nx_context_options o = {.size = sizeof o, .flags = NX_DEFER_EXPOSED};
  OK(nx_context_create(&o, &ctx));
  nx_scope *inner = nx_scope_begin(ctx);
  float memory[2] = {1, 2};
  released = 0;
  nx_tensor *x = import(NX_IMPORT_SHARED, memory, 2), *a = nx_neg(x);
  assert_true(nx_has_deferred(ctx));
  nx_run_options deferred = {.size = sizeof deferred, .flags = NX_DO_DEFERRED};
  OK(nx_realize(ctx, NULL, 0, &deferred));
  assert_false(nx_has_deferred(ctx));
  memory[0] = 7;
  nx_tensor *b = nx_neg(x);
  OK(nx_assign(x, number(3)));
  release(x);
  nx_context_collect(ctx);
  assert_int_equal(released, 0); /* the assign is deferred: it keeps the memory */
  assert_true(memory[0] == 7);
  OK(nx_realize(ctx, NULL, 0, &deferred));
  assert_false(nx_has_deferred(ctx));
  assert_true(memory[0] == 3 && memory[1] == 3);
  nx_context_collect(ctx);
  assert_int_equal(released, 1);
  EXPECT(a, -1, -2);
  EXPECT(b, -7, -2);
  nx_scope_end(inner);
  nx_context_release(ctx);
  ctx = other;
}

/* What nobody reads any more is no longer deferred, though nothing was realised since, though the
 * list named a storage twice. */
static void released_work_is_not_due(void **state) {
  (void)state;
  nx_context *other = ctx;
  nx_context_options o = {.size = sizeof o, .flags = NX_DEFER_EXPOSED};
  OK(nx_context_create(&o, &ctx));
  float memory[2] = {1, 2};
  released = 0;
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *x = import(NX_IMPORT_SHARED, memory, 2), *y = GOOD(nx_neg(x)), *z = GOOD(nx_add(x, y));
  GOOD(nx_mul(z, y));
  nx_scope_end(s);
  nx_context_collect(ctx);
  assert_false(nx_has_deferred(ctx));
  assert_int_equal(nx_pending(ctx, NULL), 0);
  assert_int_equal(released, 1);
  s = nx_scope_begin(ctx);
  nx_tensor *w = GOOD(nx_copy(number(1)));
  nx_mapping *m = NULL;
  OK(nx_map(w, NX_MAP_WRITE, NULL, &m));
  OK(nx_assign(w, nx_add(w, number(2))));
  OK(nx_assign(w, nx_mul(w, number(3))));
  nx_scope_end(s);
  assert_true(nx_has_deferred(ctx));
  nx_mapping_release(m);
  nx_context_collect(ctx);
  assert_false(nx_has_deferred(ctx));
  assert_int_equal(nx_pending(ctx, NULL), 0);
  nx_context_release(ctx);
  ctx = other;
}

/* ---- releases in every order */

/* A tensor, a view of it, two expressions, a mapping, and the memory of an import that one of them
 * reads; the last handle that goes may be any of them. */
static void release_in_every_order(void **state) {
  (void)state;
  enum { HANDLES = 6, ORDERS = 720 };
  float memory[2] = {1, 2};
  released = 0;
  for (int order = 0; order < ORDERS; order++) {
    nx_tensor *t[HANDLES - 1];
    nx_mapping *m;
    t[0] = vector(3, 1, 1);
    t[1] = part(t[0], 1, 2, 1);
    t[2] = nx_exp(t[1]);
    t[4] = import(NX_IMPORT_IMMUTABLE, memory, 2);
    t[3] = nx_add(nx_add(t[2], t[1]), t[4]);
    if (order % 2) OK(nx_map(t[0], order % 4 < 2 ? NX_MAP_READ : NX_MAP_WRITE, NULL, &m));
    OK(nx_assign(t[1], t[3]));
    if (order % 2 == 0) OK(nx_map(t[0], NX_MAP_READ, NULL, &m));
    if (order % 3 == 0) OK(nx_realize(ctx, &t[order % (HANDLES - 1)], 1, NULL));
    int left[HANDLES] = {0, 1, 2, 3, 4, 5}, code = order;
    for (int n = HANDLES; n > 0; n--) {
      int pick = code % n;
      code /= n;
      if (left[pick] == HANDLES - 1) nx_mapping_release(m);
      else release(t[left[pick]]);
      memmove(left + pick, left + pick + 1, (size_t)(n - pick - 1) * sizeof *left);
    }
    nx_scope_end(scope_of_test); /* what the expression left on the way */
    scope_of_test = nx_scope_begin(ctx);
    nx_context_collect(ctx);
    assert_int_equal(released, order + 1);
  }
  assert_int_equal(nothing_left(state), 0);
}

/* Two imports that share memory, as an array and a slice of it do: what is assigned counts as
 * computed first. */
static void imports_that_overlap(void **state) {
  (void)state;
  enum { N = 5000, MOST = 3 };
  static float memory[N + 2 * MOST], wanted[N + 2 * MOST], twice[N];
  for (int shift = -MOST; shift <= MOST; shift++) {
    float *from = memory + MOST, *to = from + shift;
    nx_tensor *a = import(NX_IMPORT_SHARED, from, N), *b = import(NX_IMPORT_SHARED, to, N);
    for (int i = 0; i < N + 2 * MOST; i++) memory[i] = wanted[i] = (float)i;
    memmove(wanted + MOST + shift, wanted + MOST, sizeof twice);
    OK(nx_assign(b, a));
    assert_memory_equal(memory, wanted, sizeof memory);

    nx_tensor *x = nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(N)), *y = nx_add(x, x);
    nx_function *f;
    OK(nx_function_create(ctx, &x, 1, &y, 1, NULL, &f));
    for (int i = 0; i < N; i++) twice[i] = 2 * from[i];
    OK(nx_function_call(f, &a, 1, &b, 1, NULL));
    assert_memory_equal(to, twice, sizeof twice);

    for (int i = 0; i < N - 1; i++) twice[i] = to[i] + from[i + 1];
    OK(nx_assign(part(b, 1, N - 1, 1), nx_add(part(a, 1, N - 1, 1), part(b, 0, N - 1, 1))));
    assert_memory_equal(to + 1, twice, (N - 1) * sizeof *twice);
    nx_function_release(f);
  }
}

/* Assigns to one show in the other, but not in what was recorded of it before. */
static void mapped_imports_that_overlap(void **state) {
  (void)state;
  float memory[4] = {1, 2, 3, 4};
  nx_tensor *x = import(NX_IMPORT_MAPPED, memory, 4),
            *end = import(NX_IMPORT_MAPPED, memory + 2, 2), *before = nx_neg(end);
  OK(nx_assign(x, nx_add(x, number(10))));
  EXPECT(before, -3, -4);
  EXPECT(end, 13, 14);
  release(x), release(end), release(before);
}

/* ---- the end of sharing */

static bool is_exposed(nx_tensor *t) {
  nx_tensor_info i = {.size = sizeof i};
  nx_tensor_describe(t, &i);
  return i.flags & NX_TENSOR_EXPOSED;
}

static bool is_realized(nx_tensor *t) {
  nx_tensor_info i = {.size = sizeof i};
  nx_tensor_describe(t, &i);
  return i.flags & NX_TENSOR_REALIZED;
}

/* Operations are recorded again and fused, assigns are too, and the memory comes back when nothing
 * needs it. */
static void sharing_ends(void **state) {
  (void)state;
  float memory[4] = {1, 2, 3, 4};
  released = 0;
  nx_tensor *x = import(NX_IMPORT_SHARED, memory, 4), *before = nx_neg(x);
  assert_true(is_exposed(x) && is_realized(before));
  OK(nx_end_sharing(x, NULL));
  OK(nx_end_sharing(x, NULL)); /* nothing happens */
  assert_true(!is_exposed(x) && is_realized(x) && released == 0);
  nx_tensor *a = nx_neg(x), *b = nx_mul(nx_add(a, number(1)), x);
  assert_true(!is_realized(a) && !is_realized(b));
  nx_report r = {.size = sizeof r};
  nx_run_options o = {.size = sizeof o, .report = &r};
  OK(nx_realize(ctx, &b, 1, &o));
  assert_true(r.runs == 1 && !is_realized(a));
  EXPECT(b, 0, -2, -6, -12);
  float read[4];
  nx_scalar v;
  OK(nx_read(x, read, sizeof read, NULL));
  OK(nx_item(x, (int64_t[]){2}, 1, &v, NULL));
  assert_true(v.v.f[0] == 3 && !is_exposed(x)); /* reading exposes nothing */
  EXPECT(a, -1, -2, -3, -4);
  OK(nx_assign(part(x, 1, 1, 1), number(9)));
  assert_false(is_realized(x));
  EXPECT(x, 1, 9, 3, 4);
  nx_tensor *same = constant(4, 0);
  OK(nx_assign(same, x)); /* shares the value, and so the memory */
  OK(nx_assign(x, constant(4, 5)));
  OK(nx_realize(ctx, &x, 1, NULL));
  EXPECT(same, 1, 9, 3, 4);
  OK(nx_assign(same, constant(4, 6)));
  OK(nx_realize(ctx, &same, 1, NULL));
  nx_context_collect(ctx);
  assert_int_equal(released, 1);
  memset(memory, 0, sizeof memory);
  EXPECT(x, 5, 5, 5, 5);
  EXPECT(before, -1, -2, -3, -4);
}

/* A mapping keeps it exposed until it ends; a file, and memory of another import, is left. */
static void sharing_ends_beside_others(void **state) {
  (void)state;
  float memory[6] = {1, 2, 3, 4, 5, 6};
  nx_mapping *m;
  released = 0;
  nx_tensor *x = import(NX_IMPORT_SHARED, memory, 4);
  OK(nx_map(x, NX_MAP_READ | NX_MAP_WRITE, NULL, &m));
  OK(nx_end_sharing(x, NULL));
  assert_true(is_exposed(x) && nx_mapping_base(m, NULL) == memory);
  OK(nx_assign(x, constant(4, 7)));
  assert_true(memory[3] == 7);
  nx_mapping_release(m);
  nx_context_collect(ctx);
  assert_false(is_exposed(x));
  nx_tensor *sum = nx_add(x, number(1));
  assert_false(is_realized(sum));
  EXPECT(sum, 8, 8, 8, 8);

  float other[6] = {1, 2, 3, 4, 5, 6};
  nx_tensor *a = import(NX_IMPORT_SHARED, other, 4), *b = import(NX_IMPORT_SHARED, other + 2, 4);
  nx_tensor *apart = import(NX_IMPORT_IMMUTABLE, memory + 4, 2);
  OK(nx_map(a, NX_MAP_READ, NULL, &m));
  FAILS(NX_INVALID_ARGUMENT, nx_end_sharing(a, NULL));
  assert_true(is_exposed(a));
  nx_mapping_release(m);
  OK(nx_end_sharing(a, NULL));
  assert_true(!is_exposed(a) && is_exposed(b));
  OK(nx_assign(b, constant(4, 0)));
  EXPECT(a, 1, 2, 3, 4); /* its own by now */
  OK(nx_assign(a, constant(4, 9)));
  EXPECT(a, 9, 9, 9, 9);
  assert_true(other[0] == 1 && other[2] == 0);
  OK(nx_end_sharing(b, NULL)); /* alone there */
  OK(nx_assign(part(b, 0, 1, 1), number(3)));
  EXPECT(b, 3, 0, 0, 0);
  FAILS(NX_NOT_WRITABLE, nx_end_sharing(apart, NULL));
  OK(nx_end_sharing(sum, NULL)); /* no import */
  FAILS(NX_INVALID_ARGUMENT, nx_end_sharing(NULL, NULL));
}

/* What is shown here and imported again is the library's other storage: the import leaves it. */
static void sharing_ends_in_mapped_memory(void **state) {
  (void)state;
  nx_tensor *own = vector(4, 1, 1);
  nx_mapping *m;
  OK(nx_map(own, NX_MAP_READ, NULL, &m));
  nx_tensor *again = import(NX_IMPORT_SHARED, nx_mapping_base(m, NULL), 4);
  OK(nx_end_sharing(again, NULL));
  OK(nx_assign(part(again, 0, 2, 1), constant(2, 8)));
  EXPECT(again, 8, 8, 3, 4);
  EXPECT(own, 1, 2, 3, 4);
  nx_mapping_release(m);
}

/* With NX_DEFER_EXPOSED work may be deferred when sharing ends: values are the same. */
static void sharing_ends_while_work_is_due(void **state) {
  (void)state;
  nx_context *outer = ctx;
  nx_context_options o = {.size = sizeof o, .flags = NX_DEFER_EXPOSED, .cache_dir = ""};
  OK(nx_context_create(&o, &ctx));
  nx_scope *s = nx_scope_begin(ctx);
  float memory[3] = {1, 2, 3};
  nx_tensor *x = import(NX_IMPORT_SHARED, memory, 3), *y = nx_neg(x);
  OK(nx_assign(part(x, 1, 1, 1), number(5)));
  nx_tensor *z = nx_add(x, y);
  OK(nx_end_sharing(x, NULL));
  EXPECT(z, 0, 3, 0);
  EXPECT(y, -1, -2, -3);
  OK(nx_assign(x, nx_mul(x, x)));
  EXPECT(x, 1, 25, 9);
  EXPECT(z, 0, 3, 0);
  nx_scope_end(s);
  nx_context_release(ctx);
  ctx = outer;
}

/* Bytes of bools that are neither 0 nor 1 stay in memory of the host. */
static void bytes_of_bools(void **state) {
  (void)state;
  uint8_t bytes[4] = {0, 1, 2, 255}, wanted[4] = {0, 1, 1, 1};
  const int64_t n = 4;
  nx_import_desc d = {
      .size = sizeof d, .dtype = NX_BOOL, .rank = 1, .shape = &n, .base = bytes, .bytes = 4};
  for (d.mode = NX_IMPORT_COPY; d.mode <= NX_IMPORT_IMMUTABLE; d.mode++) {
    nx_tensor *x = NULL, *z = GOOD(nx_empty(ctx, device(), NX_BOOL, &n, 1));
    nx_mapping *m;
    OK(nx_import(ctx, &d, &x));
    OK(nx_assign(z, x));
    OK(nx_map(z, NX_MAP_READ, NULL, &m));
    assert_memory_equal(nx_mapping_base(m, NULL), wanted, 4);
    nx_mapping_release(m);
  }
  nx_tensor *w = GOOD(nx_empty(ctx, device(), NX_BOOL, &n, 1));
  nx_mapping *m;
  OK(nx_write(w, bytes, 4, NULL));
  OK(nx_map(w, NX_MAP_READ, NULL, &m));
  assert_memory_equal(nx_mapping_base(m, NULL), wanted, 4);
  nx_mapping_release(m);
}

/* A constant that the host has written is none any more: not even an operand on another device is
 * the old number. */
static void written_constant(void **state) {
  (void)state;
  nx_tensor *x = number(5), *there = GOOD(nx_to_device(vector(2, 1, 1), 1));
  nx_mapping *m;
  OK(nx_realize(ctx, &x, 1, NULL));
  assert_non_null(nx_add(there, x));
  OK(nx_map(x, NX_MAP_WRITE, NULL, &m));
  *(float *)nx_mapping_base(m, NULL) = 7;
  nx_mapping_release(m);
  assert_null(nx_add(there, x));
  assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
  EXPECT(GOOD(nx_add(there, GOOD(nx_to_device(x, 1)))), 8, 9);
}

/* A file whose pages are not to be written: mapped, and assigned then, the mapping shows it and the
 * file does not. */
static void file_that_is_mapped_again(void **state) {
  (void)state;
  char path[] = "nx_mapped_XXXXXX.npy";
  int file = mkstemps(path, 4);
  assert_true(file >= 0);
  close(file);
  OK(nx_save_npy(vector(3, 1, 1), path, NULL));
  for (int assigned = 0; assigned < 2; assigned++) {
    nx_tensor *x = NULL;
    nx_mapping *m;
    OK(nx_load_npy(ctx, path, &x));
    OK(nx_map(x, assigned ? NX_MAP_READ : NX_MAP_WRITE, NULL, &m));
    float *memory = nx_mapping_base(m, NULL);
    assert_true(memory[0] == 1 && memory[2] == 3);
    if (assigned) OK(nx_assign(x, number(9)));
    else memory[1] = 8;
    OK(nx_realize(ctx, &x, 1, NULL));
    assert_true(memory[1] == (assigned ? 9 : 8));
    EXPECT(part(x, 1, 1, 1), assigned ? 9 : 8);
    nx_mapping_release(m);
    release(x);
  }
  unlink(path);
}

NXT_MAIN(mappings) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(map_for_writing_between_record_and_realise),
      IN_SCOPE(host_writes_before_between_and_after_reads),
      IN_SCOPE(read_mapping_shows_realised_assigns),
      IN_SCOPE(two_equal_values_mapped_and_assigned),
      IN_SCOPE(write_mapping_after_read_mapping),
      IN_SCOPE(assign_under_write_mapping),
      IN_SCOPE(import_assign_release_then_look),
      IN_SCOPE(shared_import_is_exposed),
      IN_SCOPE(immutable_import),
      IN_SCOPE(copied_import),
      IN_SCOPE(imports_that_overlap),
      IN_SCOPE(mapped_imports_that_overlap),
      IN_SCOPE(sharing_ends),
      IN_SCOPE(sharing_ends_beside_others),
      IN_SCOPE(sharing_ends_in_mapped_memory),
      IN_SCOPE(sharing_ends_while_work_is_due),
      IN_SCOPE(bytes_of_bools),
      IN_SCOPE(manual_due),
      IN_SCOPE(released_work_is_not_due),
      IN_SCOPE(release_in_every_order),
      IN_SCOPE(written_constant),
      IN_SCOPE(file_that_is_mapped_again),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
