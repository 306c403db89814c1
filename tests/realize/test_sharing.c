/* SPDX-License-Identifier: ISC */
/* Tests of ending the sharing of host memory together with everything else that can be done with
 * that memory: it is donated to function calls, mapped, partly imported twice, viewed, captured.
 * The memory is filled with a pattern when the library gives it back, so that a value which is
 * still read from it is noticed. */
#include "tests/util/api.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 4, POISON = 0xee };

typedef struct host_memory {
  float at[8];
  int given_back;
} host_memory;

static void poison(void *user) {
  host_memory *h = user;
  h->given_back++;
  memset(h->at, POISON, sizeof h->at);
}
static void only_count(void *user) { ((host_memory *)user)->given_back++; }

static void fill(host_memory *h) { *h = (host_memory){.at = {1, 2, 3, 4, 5, 6, 7, 8}}; }

static nx_tensor *import_as(uint32_t mode, nx_dtype dtype, int64_t n, void *base, size_t bytes,
                            host_memory *h, void (*release_it)(void *)) {
  nx_import_desc d = {.size = sizeof d,
                      .mode = mode,
                      .dtype = dtype,
                      .rank = 1,
                      .shape = &n,
                      .base = base,
                      .bytes = bytes,
                      .release = release_it,
                      .user = h};
  nx_tensor *t = NULL;
  OK(nx_import(ctx, &d, &t));
  return t;
}

static nx_tensor *share(host_memory *h) {
  fill(h);
  return import_as(NX_IMPORT_SHARED, NX_F32, N, h->at, sizeof(float[N]), h, poison);
}

/* x -> 3 x + 1, of a donated x */
static nx_function *taking(int64_t n) {
  const uint8_t donate = 1;
  nx_function_options o = {.size = sizeof o, .name = "taking", .donate = &donate};
  nx_tensor *x = GOOD(nx_placeholder(ctx, device(), NX_F32, &n, 1)),
            *y = nx_add(nx_mul(x, number(3)), number(1));
  nx_function *f = NULL;
  OK(nx_function_create(ctx, &x, 1, &y, 1, &o, &f));
  return f;
}

static nx_tensor *give(nx_tensor *x, int64_t n) {
  nx_function *f = taking(n);
  nx_tensor *out = NULL;
  OK(nx_function_call(f, &x, 1, &out, 1, NULL));
  nx_function_release(f);
  return GOOD(out);
}

static void expect_gone(nx_tensor *t) {
  nx_scalar v;
  FAILS(NX_DONATED, nx_item(t, (int64_t[]){0}, 1, &v, NULL));
}

static uint32_t flags_of(nx_tensor *t) {
  nx_tensor_info i = {.size = sizeof i};
  nx_tensor_describe(t, &i);
  return i.flags;
}

/* ---- donated to a call */

static void shared_is_lent_and_not_given(void **state) {
  (void)state;
  static host_memory h;
  nx_tensor *x = share(&h), *y = give(x, N);
  EXPECT(y, 4, 7, 10, 13);
  EXPECT(x, 1, 2, 3, 4); /* the host still has it */
  assert_true(h.at[0] == 1 && h.at[3] == 4 && (flags_of(x) & NX_TENSOR_EXPOSED));
  OK(nx_end_sharing(x, NULL));
  EXPECT(give(x, N), 4, 7, 10, 13);
  expect_gone(x);
  EXPECT(y, 4, 7, 10, 13);
}

static void given_once_it_ended(void **state) {
  (void)state;
  static host_memory h;
  nx_tensor *x = share(&h), *before = nx_neg(x);
  OK(nx_end_sharing(x, NULL));
  nx_tensor *waits = nx_mul(x, x), *y = give(x, N), *z = nx_add(y, number(1));
  expect_gone(x);
  OK(nx_end_sharing(x, NULL)); /* sharing has already ended */
  expect_gone(x);
  EXPECT(waits, 1, 4, 9, 16);
  EXPECT(before, -1, -2, -3, -4);
  EXPECT(z, 5, 8, 11, 14);
  OK(nx_assign(x, y)); /* whole: a tensor again */
  nx_context_collect(ctx);
  EXPECT(x, 4, 7, 10, 13);
  OK(nx_end_sharing(x, NULL));
  EXPECT(give(x, N), 13, 22, 31, 40);
}

/* All tensors in the memory are released, in either order: the host gets the memory back once. */
static void memory_comes_back_once(void **state) {
  (void)state;
  static host_memory h[2];
  for (int order = 0; order < 2; order++) {
    nx_tensor *x = nx_keep(share(&h[order]));
    OK(nx_end_sharing(x, NULL));
    nx_tensor *y = nx_keep(give(x, N)), *z = nx_neg(y);
    release(order ? y : x);
    nx_context_collect(ctx);
    EXPECT(z, -4, -7, -10, -13);
    release(order ? x : y);
    nx_context_collect(ctx);
    EXPECT(z, -4, -7, -10, -13);
    assert_int_equal(h[order].given_back, 1);
  }
}

static void views_are_given(void **state) {
  (void)state;
  static host_memory h;
  nx_tensor *x = share(&h), *tail = part(x, 1, 3, 1), *back = part(x, 3, 4, -1);
  OK(nx_end_sharing(tail, NULL)); /* of the storage */
  assert_false(flags_of(x) & NX_TENSOR_EXPOSED);
  EXPECT(give(back, N), 13, 10, 7, 4);
  expect_gone(x), expect_gone(tail), expect_gone(back);
  static host_memory g;
  x = share(&g), tail = part(x, 1, 3, 1);
  OK(nx_end_sharing(x, NULL));
  nx_tensor *reader = nx_add(x, number(10));
  EXPECT(give(tail, 3), 7, 10, 13);
  expect_gone(x);
  EXPECT(reader, 11, 12, 13, 14);
}

static void assigned_through_views(void **state) {
  (void)state;
  static host_memory h;
  nx_tensor *x = share(&h), *square = GOOD(nx_reshape(x, NX_SHAPE(2, 2), 0)),
            *turned = GOOD(nx_permute(square, (int32_t[]){1, 0}, 2));
  nx_tensor *old = nx_neg(turned);
  OK(nx_end_sharing(turned, NULL));
  OK(nx_assign(part(x, 0, 2, 2), constant(2, 9)));
  nx_tensor *y = nx_neg(turned);
  OK(nx_assign(x, nx_mul(x, number(2))));
  EXPECT(y, -9, -9, -2, -4);
  EXPECT(turned, 18, 18, 4, 8);
  EXPECT(old, -1, -3, -2, -4);
  EXPECT(give(x, N), 55, 13, 55, 25);
}

/* ---- mapped */

static void mapped_while_it_ends(void **state) {
  (void)state;
  static host_memory h;
  nx_mapping *m;
  nx_tensor *x = share(&h);
  OK(nx_map(x, NX_MAP_READ | NX_MAP_WRITE, NULL, &m));
  OK(nx_end_sharing(x, NULL));
  EXPECT(give(x, N), 4, 7, 10, 13); /* not overwritten, because it is mapped */
  h.at[0] = 5;
  EXPECT(x, 5, 2, 3, 4);
  nx_mapping_release(m);
  EXPECT(give(x, N), 16, 7, 10, 13);
  expect_gone(x);
}

static void mapped_after_it_ended(void **state) {
  (void)state;
  static host_memory h;
  nx_mapping *m;
  nx_tensor *x = share(&h);
  OK(nx_end_sharing(x, NULL));
  nx_tensor *y = nx_neg(x);
  OK(nx_map(x, NX_MAP_READ | NX_MAP_WRITE, NULL, &m));
  ((float *)nx_mapping_base(m, NULL))[1] = 7;
  EXPECT(y, -1, -2, -3, -4);
  EXPECT(give(x, N), 4, 22, 10, 13);
  EXPECT(x, 1, 7, 3, 4);
  nx_mapping_release(m);
  EXPECT(give(x, N), 4, 22, 10, 13);
  expect_gone(x);
}

/* ---- in memory that several tensors share */

static nx_tensor *share_part(host_memory *h, uint32_t mode, int first) {
  return import_as(mode, NX_F32, N, h->at + first, sizeof(float[N]), h, only_count);
}

static void partly_overlapped(void **state) {
  (void)state;
  static host_memory h;
  fill(&h);
  nx_tensor *a = share_part(&h, NX_IMPORT_SHARED, 0), *b = share_part(&h, NX_IMPORT_SHARED, 2);
  EXPECT(give(a, N), 4, 7, 10, 13);
  EXPECT(a, 1, 2, 3, 4);
  OK(nx_end_sharing(a, NULL));                /* leaves */
  OK(nx_assign(part(a, 3, 1, 1), number(0))); /* a part: in place */
  EXPECT(a, 1, 2, 3, 0);
  EXPECT(b, 3, 4, 5, 6);
  EXPECT(give(part(a, 2, 2, 1), 2), 10, 1);
  expect_gone(a);
  EXPECT(b, 3, 4, 5, 6);
  OK(nx_assign(part(b, 0, 1, 1), number(9)));
  assert_true(h.at[2] == 9 && h.at[0] == 1);
  OK(nx_end_sharing(b, NULL)); /* stays */
  EXPECT(give(b, N), 28, 13, 16, 19);
  expect_gone(b);
  assert_true(h.at[0] == 1 && h.at[1] == 2 && h.at[6] == 7);
}

static void overlapped_by_immutable_memory(void **state) {
  (void)state;
  static host_memory h;
  fill(&h);
  nx_tensor *never = share_part(&h, NX_IMPORT_IMMUTABLE, 2),
            *a = share_part(&h, NX_IMPORT_SHARED, 0), *late = nx_neg(never);
  OK(nx_end_sharing(a, NULL));
  OK(nx_assign(part(a, 0, 3, 1), constant(3, 0)));
  OK(nx_realize(ctx, &a, 1, NULL));
  EXPECT(never, 3, 4, 5, 6);
  EXPECT(late, -3, -4, -5, -6);
  EXPECT(give(a, N), 1, 1, 1, 13);
  EXPECT(give(never, N), 10, 13, 16, 19);
  assert_true(h.at[0] == 1 && h.at[3] == 4); /* the memory was not written */
}

static void three_in_a_row(void **state) {
  (void)state;
  static host_memory h;
  fill(&h);
  nx_tensor *t[3];
  for (int i = 0; i < 3; i++) t[i] = share_part(&h, NX_IMPORT_SHARED, 2 * i);
  OK(nx_end_sharing(t[1], NULL));
  for (int i = 0; i < N; i += 2) OK(nx_assign(part(t[1], i, 2, 1), constant(2, 0)));
  OK(nx_realize(ctx, &t[1], 1, NULL));
  EXPECT(t[0], 1, 2, 3, 4);
  EXPECT(t[2], 5, 6, 7, 8);
  OK(nx_end_sharing(t[0], NULL)); /* alone by now, and so is the third */
  OK(nx_end_sharing(t[2], NULL));
  EXPECT(give(t[0], N), 4, 7, 10, 13);
  EXPECT(give(t[2], N), 16, 19, 22, 25);
  EXPECT(t[1], 0, 0, 0, 0);
}

static void in_a_file(void **state) {
  (void)state;
  float numbers[N] = {1, 2, 3, 4};
  int file = memfd_create("sharing", 0);
  assert_int_equal(write(file, numbers, sizeof numbers), sizeof numbers);
  nx_import_file_desc d = {.size = sizeof d,
                           .fd = file,
                           .mode = NX_FILE_SHARED,
                           .dtype = NX_F32,
                           .rank = 1,
                           .shape = (int64_t[]){N}};
  nx_tensor *x = NULL;
  OK(nx_import_file(ctx, &d, &x));
  OK(nx_assign(part(x, 1, 1, 1), number(9)));
  OK(nx_end_sharing(x, NULL)); /* leaves the file */
  OK(nx_assign(part(x, 2, 1, 1), number(8)));
  EXPECT(give(x, N), 4, 28, 25, 13);
  expect_gone(x);
  assert_int_equal(pread(file, numbers, sizeof numbers, 0), sizeof numbers);
  assert_true(numbers[0] == 1 && numbers[1] == 9 && numbers[2] == 3 && numbers[3] == 4);
  close(file);
}

/* ---- while recorded work is pending, and on several threads */

static void given_while_work_is_due(void **state) {
  (void)state;
  static host_memory h;
  nx_context *outer = ctx;
  nx_context_options o = {.size = sizeof o, .flags = NX_DEFER_EXPOSED, .cache_dir = ""};
  OK(nx_context_create(&o, &ctx));
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *x = share(&h), *due = nx_neg(x), *view = part(x, 1, 2, 1);
  OK(nx_assign(view, nx_mul(view, view)));
  nx_tensor *after = nx_neg(x);
  OK(nx_end_sharing(view, NULL));
  EXPECT(give(x, N), 4, 13, 28, 13);
  expect_gone(view);
  EXPECT(due, -1, -2, -3, -4);
  EXPECT(after, -1, -4, -9, -4);
  nx_scope_end(s);
  nx_context_release(ctx);
  ctx = outer;
}

typedef struct giver {
  nx_function *f;
  nx_tensor *x;
  bool good;
} giver;

static void *give_at_once(void *user) {
  giver *g = user;
  nx_tensor *out = NULL;
  float is[N];
  g->good = nx_function_call(g->f, &g->x, 1, &out, 1, NULL) == NX_OK &&
            nx_read(out, is, sizeof is, NULL) == NX_OK && is[0] == 4 && is[3] == 13;
  release(out);
  return NULL;
}

/* Sharing ends before or after the call: the value is donated in the first case only. */
static void ends_while_it_is_given(void **state) {
  (void)state;
  static host_memory h[100];
  giver g = {.f = taking(N)};
  for (size_t i = 0; i < sizeof h / sizeof *h; i++) {
    pthread_t thread;
    g.x = share(&h[i]);
    nx_tensor *reader = nx_neg(g.x);
    assert_int_equal(pthread_create(&thread, NULL, give_at_once, &g), 0);
    if (i % 3) usleep((useconds_t)(i % 3 * 20));
    OK(nx_end_sharing(part(g.x, 1, 2, 1), NULL));
    pthread_join(thread, NULL);
    assert_true(g.good);
    EXPECT(reader, -1, -2, -3, -4);
    nx_scalar v;
    nx_status status = nx_item(g.x, (int64_t[]){1}, 1, &v, NULL);
    assert_true(status == NX_DONATED || (status == NX_OK && v.v.f[0] == 2));
    nx_error_take(NULL);
  }
  nx_function_release(g.f);
}

/* ---- in functions */

static void captured_by_a_function(void **state) {
  (void)state;
  static host_memory h;
  nx_tensor *x = share(&h), *in = GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(N))),
            *sum = nx_add(in, x), *out = NULL, *again = NULL, *third = NULL, *one = constant(N, 1);
  nx_function_options o = {.size = sizeof o};
  nx_function *f;
  OK(nx_function_create(ctx, &in, 1, &sum, 1, &o, &f));
  OK(nx_function_call(f, &one, 1, &out, 1, NULL));
  EXPECT(out, 2, 3, 4, 5);
  OK(nx_end_sharing(x, NULL));
  OK(nx_assign(x, nx_mul(x, number(10))));
  OK(nx_function_call(f, &one, 1, &again, 1, NULL));
  EXPECT(again, 11, 21, 31, 41);
  EXPECT(give(x, N), 31, 61, 91, 121);
  FAILS(NX_DONATED, nx_function_call(f, &one, 1, &third, 1, NULL));
  OK(nx_assign(x, one));
  OK(nx_function_call(f, &one, 1, &third, 1, NULL));
  EXPECT(third, 2, 2, 2, 2);
  nx_function_release(f);
}

static void output_in_place(void **state) {
  (void)state;
  static host_memory h;
  nx_tensor *x = share(&h), *out = x;
  nx_function *f = taking(N);
  OK(nx_function_call(f, &x, 1, &out, 1, NULL)); /* given, and assigned */
  assert_true(h.at[0] == 4 && h.at[3] == 13);
  OK(nx_end_sharing(x, NULL));
  nx_tensor *reader = nx_neg(x);
  OK(nx_function_call(f, &x, 1, &out, 1, NULL));
  EXPECT(x, 13, 22, 31, 40);
  EXPECT(reader, -4, -7, -10, -13);
  nx_function_release(f);
}

static void recorded_calls(void **state) {
  (void)state;
  static host_memory h;
  nx_tensor *x = share(&h), *y = NULL, *z = NULL;
  nx_function *f = taking(N);
  OK(nx_function_record(f, &x, 1, &y, 1));
  OK(nx_end_sharing(x, NULL));
  OK(nx_function_record(f, &x, 1, &z, 1));
  EXPECT(z, 4, 7, 10, 13);
  EXPECT(y, 4, 7, 10, 13);
  EXPECT(x, 1, 2, 3, 4); /* a recorded call does not donate */
  nx_function_release(f);
}

/* ---- other names, types and lengths */

static void the_value_has_another_name(void **state) {
  (void)state;
  static host_memory h;
  nx_tensor *x = share(&h), *same = constant(N, 0);
  OK(nx_end_sharing(x, NULL));
  OK(nx_assign(same, x));
  OK(nx_end_sharing(same, NULL)); /* no import */
  EXPECT(give(x, N), 4, 7, 10, 13);
  expect_gone(x);
  EXPECT(same, 1, 2, 3, 4);
  OK(nx_assign(part(same, 0, 1, 1), number(8)));
  EXPECT(give(same, N), 25, 7, 10, 13);
}

static nx_tensor *import_bytes(host_memory *h, nx_dtype dtype, int64_t n, size_t bytes) {
  return import_as(NX_IMPORT_SHARED, dtype, n, h->at, bytes, h, poison);
}

static void bytes_that_are_true(void **state) {
  (void)state;
  static host_memory h;
  memcpy(h.at, "\0\2\377\0", 4);
  nx_tensor *x = import_bytes(&h, NX_BOOL, 4, 4);
  OK(nx_end_sharing(x, NULL));
  nx_tensor *y = nx_cast(nx_xor(x, nx_cmpeq(x, x)), NX_F32);
  EXPECT(y, 1, 0, 0, 1);
  EXPECT(nx_cast(x, NX_F32), 0, 1, 1, 0);
}

static void halves_of_bytes(void **state) {
  (void)state;
  static host_memory h;
  memcpy(h.at, "\x21\x43", 2);
  nx_tensor *x = import_bytes(&h, NX_U4, 4, 2);
  OK(nx_end_sharing(part(x, 1, 2, 1), NULL));
  OK(nx_assign(part(x, 1, 2, 1), nx_cast(constant(2, 7), NX_U4)));
  EXPECT(nx_cast(x, NX_F32), 1, 7, 7, 4);
}

static void no_elements(void **state) {
  (void)state;
  static host_memory h;
  nx_tensor *x = import_bytes(&h, NX_F32, 0, 0);
  OK(nx_end_sharing(x, NULL));
  nx_tensor *y = give(x, 0);
  OK(nx_realize(ctx, &y, 1, NULL));
}

NXT_MAIN(sharing) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(shared_is_lent_and_not_given),
      IN_SCOPE(given_once_it_ended),
      IN_SCOPE(memory_comes_back_once),
      IN_SCOPE(views_are_given),
      IN_SCOPE(assigned_through_views),
      IN_SCOPE(mapped_while_it_ends),
      IN_SCOPE(mapped_after_it_ended),
      IN_SCOPE(partly_overlapped),
      IN_SCOPE(overlapped_by_immutable_memory),
      IN_SCOPE(three_in_a_row),
      IN_SCOPE(in_a_file),
      IN_SCOPE(given_while_work_is_due),
      IN_SCOPE(ends_while_it_is_given),
      IN_SCOPE(captured_by_a_function),
      IN_SCOPE(output_in_place),
      IN_SCOPE(recorded_calls),
      IN_SCOPE(the_value_has_another_name),
      IN_SCOPE(bytes_that_are_true),
      IN_SCOPE(halves_of_bytes),
      IN_SCOPE(no_elements),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
