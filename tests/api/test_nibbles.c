/* SPDX-License-Identifier: ISC */
/* i4 and u4 at the interface, next to plain arrays: elements in the halves of bytes, views that
 * begin and end between bytes, assigns that leave the other half alone, host memory in every mode,
 * functions. */
#include "tests/util/api.h"

static uint64_t random_state = 11;
static int64_t below(int64_t n) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)((random_state >> 33) % (uint64_t)n);
}

enum { MOST = 64 };
typedef struct line {
  int64_t n;
  int v[MOST];
} line;

/* The number that four bits stand for. */
static int number_of(nx_dtype t, int x) {
  x &= 15;
  return t == NX_I4 && x > 7 ? x - 16 : x;
}
static int get(nx_dtype t, const uint8_t *memory, int64_t i) {
  return number_of(t, memory[i / 2] >> 4 * (i % 2));
}
static void set(uint8_t *memory, int64_t i, int x) {
  memory[i / 2] =
      (uint8_t)((memory[i / 2] & (i % 2 ? 0x0f : 0xf0)) | (unsigned)(x & 15) << 4 * (i % 2));
}

static line random_line(nx_dtype t, int64_t n) {
  line l = {.n = n};
  for (int64_t i = 0; i < n; i++) l.v[i] = number_of(t, (int)below(16));
  return l;
}

static nx_tensor *tensor_of(nx_dtype t, const line *l, const int64_t *shape, int32_t rank) {
  uint8_t memory[MOST] = {0};
  for (int64_t i = 0; i < l->n; i++) set(memory, i, l->v[i]);
  nx_tensor *x = GOOD(nx_empty(ctx, device(), t, shape, rank));
  OK(nx_write(x, memory, (size_t)(l->n + 1) / 2, NULL));
  return x;
}

static void expect(nx_dtype t, nx_tensor *x, const line *wanted, const char *what) {
  uint8_t memory[MOST];
  memset(memory, 0xa5, sizeof memory);
  OK(nx_read(x, memory, (size_t)(wanted->n + 1) / 2, NULL));
  for (int64_t i = 0; i < wanted->n; i++)
    if (get(t, memory, i) != wanted->v[i])
      fail_msg("%s of %lld: element %lld is %d, not %d", what, (long long)wanted->n, (long long)i,
               get(t, memory, i), wanted->v[i]);
  assert_int_equal(memory[(wanted->n + 1) / 2], 0xa5);
}

static const nx_dtype both[] = {NX_I4, NX_U4};

/* ---- reading and writing */

static void layout_in_memory(void **state) {
  (void)state;
  const uint8_t bytes[3] = {0x21, 0xf3, 0x0e};
  int64_t n = 5;
  for (int k = 0; k < 2; k++) {
    nx_tensor *x = GOOD(nx_empty(ctx, device(), both[k], &n, 1));
    OK(nx_write(x, bytes, 3, NULL));
    static const int wanted[2][5] = {{1, 2, 3, -1, -2}, {1, 2, 3, 15, 14}};
    for (int64_t i = 0; i < n; i++) {
      nx_scalar is;
      OK(nx_item(x, &i, 1, &is, NULL));
      assert_int_equal(is.kind, NX_SCALAR_I64);
      assert_int_equal(is.v.i, wanted[k][i]);
    }
    FAILS(NX_INVALID_ARGUMENT, nx_read(x, (uint8_t[5]){0}, 5, NULL));
    FAILS(NX_INVALID_ARGUMENT, nx_write(x, bytes, 2, NULL));
    nx_mapping *m;
    size_t size;
    OK(nx_map(x, NX_MAP_READ | NX_MAP_WRITE, NULL, &m));
    uint8_t *memory = nx_mapping_base(m, &size);
    assert_int_equal(size, 3);
    assert_int_equal(memory[1], 0xf3);
    memory[1] = 0x4f;
    nx_mapping_release(m);
    line after = {5, {1, 2, number_of(both[k], 15), 4, wanted[k][4]}};
    expect(both[k], x, &after, "mapped");
  }
}

/* Copied in pieces, which have to begin bytes. */
static void long_reads(void **state) {
  (void)state;
  enum { ROWS = 3, COLUMNS = 300001, ALL = ROWS * COLUMNS, BYTES = (ALL + 1) / 2 };
  uint8_t *memory = calloc(BYTES, 1), *is = calloc(BYTES, 1), *turned = calloc(BYTES, 1);
  for (int64_t i = 0; i < ALL; i++) set(memory, i, (int)(i * 7 / 3));
  for (int64_t i = 0; i < ALL; i++)
    set(turned, i, get(NX_U4, memory, i % ROWS * COLUMNS + i / ROWS));
  nx_tensor *x = GOOD(nx_empty(ctx, device(), NX_U4, NX_SHAPE(ROWS, COLUMNS)));
  OK(nx_write(x, memory, BYTES, NULL));
  OK(nx_read(x, is, BYTES, NULL));
  assert_memory_equal(is, memory, BYTES);
  OK(nx_read(GOOD(nx_permute(x, NX_AXES(1, 0))), is, BYTES, NULL));
  assert_memory_equal(is, turned, BYTES);
  free(memory), free(is), free(turned);
}

/* A random view of n elements of storage: 1 or 2 axes, any order and sign. Where its elements
 * lie. */
typedef struct place {
  int32_t rank;
  int64_t shape[2], strides[2], offset, at[MOST], n;
} place;

static place random_place(int64_t n, bool distinct) {
  place p = {.rank = 1 + (int32_t)below(2)};
  int64_t steps[2] = {1, 1}, high = 0, low = 0;
  if (p.rank == 1) steps[0] = 1 + below(3);
  p.shape[0] = 1 + below((n - 1) / steps[0] / (int64_t)p.rank + 1);
  p.shape[1] = 1;
  if (p.rank == 2) { /* rows some elements apart, or columns */
    int64_t row = 1 + below(n / p.shape[0]);
    p.shape[1] = 1 + below(row);
    steps[0] = row;
    if (below(2)) {
      int64_t x = p.shape[0];
      p.shape[0] = p.shape[1], p.shape[1] = x;
      steps[1] = steps[0], steps[0] = 1;
    }
  }
  for (int32_t i = 0; i < p.rank; i++) {
    if (!distinct && below(6) == 0) steps[i] = 0;
    if (below(3) == 0) steps[i] = -steps[i];
    int64_t reach = (p.shape[i] - 1) * steps[i];
    if (reach < 0) low += reach;
    else high += reach;
    p.strides[i] = steps[i];
  }
  p.offset = -low + below(n - (high - low));
  for (int64_t i = 0; i < p.shape[0]; i++)
    for (int64_t j = 0; j < p.shape[1]; j++)
      p.at[p.n++] = p.offset + i * p.strides[0] + (p.rank == 2 ? j * p.strides[1] : 0);
  return p;
}

static nx_tensor *at_place(nx_tensor *x, const place *p) {
  return GOOD(nx_as_strided(x, p->shape, p->strides, p->rank, p->offset));
}

static line seen(const line *l, const place *p) {
  line s = {.n = p->n};
  for (int64_t i = 0; i < p->n; i++) s.v[i] = l->v[p->at[i]];
  return s;
}

static void views_and_work_on_them(void **state) {
  (void)state;
  for (int round = 0; round < 150; round++) {
    nx_dtype t = both[round % 2];
    int64_t n = 1 + below(MOST - 1);
    line l = random_line(t, n);
    nx_tensor *x = tensor_of(t, &l, &n, 1);
    place p = random_place(n, false);
    nx_tensor *v = at_place(x, &p);
    line wanted = seen(&l, &p), sum = wanted;
    expect(t, v, &wanted, "a view");
    expect(t, GOOD(nx_copy(v)), &wanted, "a copy");
    for (int64_t i = 0; i < sum.n; i++) sum.v[i] = number_of(t, sum.v[i] * 3 - 7);
    nx_tensor *three = GOOD(nx_full(ctx, device(), t, NULL, 0, NX_INTEGER(3))),
              *seven = GOOD(nx_full(ctx, device(), t, NULL, 0, NX_INTEGER(7)));
    expect(t, GOOD(nx_sub(nx_mul(v, three), seven)), &sum, "a product");
    int64_t index[2] = {below(p.shape[0]), below(p.shape[1])};
    nx_scalar is;
    OK(nx_item(v, index, (size_t)p.rank, &is, NULL));
    assert_int_equal(is.v.i, wanted.v[index[0] * p.shape[1] + (p.rank == 2 ? index[1] : 0)]);
    nx_tensor *wide = GOOD(nx_cast(nx_cast(v, NX_F32), t));
    expect(t, wide, &wanted, "there and back");
    release(x);
  }
}

/* ---- assigns */

static void assigns_leave_neighbours_alone(void **state) {
  (void)state;
  for (int round = 0; round < 60; round++) {
    nx_dtype t = both[round % 2];
    int64_t n = 1 + below(MOST - 1);
    line l = random_line(t, n), old = l;
    nx_tensor *x = tensor_of(t, &l, &n, 1), *kept = NULL;
    for (int step = 0; step < 6; step++) {
      place p = random_place(n, true), q = p;
      line source = random_line(t, p.n);
      nx_tensor *from;
      if (below(3) == 0) { /* of itself, shifted: computed first */
        q.offset = p.offset;
        source = seen(&l, &q);
        for (int64_t i = 0; i < source.n; i++) source.v[i] = number_of(t, source.v[i] + 1);
        from = GOOD(nx_add(at_place(x, &q), nx_full(ctx, device(), t, NULL, 0, NX_INTEGER(1))));
      } else {
        from = tensor_of(t, &source, p.shape, p.rank);
      }
      if (step == 2) kept = GOOD(nx_copy(x)), old = l;
      OK(nx_assign(at_place(x, &p), from));
      for (int64_t i = 0; i < p.n; i++) l.v[p.at[i]] = source.v[i];
      if (below(2)) expect(t, x, &l, "assigned");
    }
    expect(t, x, &l, "assigned");
    expect(t, kept, &old, "recorded before");
  }
}

/* ---- host memory */

static nx_status import(nx_dtype t, uint8_t *memory, size_t bytes, uint32_t mode, const place *p,
                        nx_tensor **out) {
  nx_import_desc d = {.size = sizeof d,
                      .mode = mode,
                      .dtype = t,
                      .rank = p->rank,
                      .shape = p->shape,
                      .strides = p->strides,
                      .offset = p->offset,
                      .base = memory,
                      .bytes = bytes};
  return nx_import(ctx, &d, out);
}

static void imports(void **state) {
  (void)state;
  for (int round = 0; round < 90; round++) {
    nx_dtype t = both[round % 2];
    uint32_t mode = NX_IMPORT_COPY + (uint32_t)round % 3;
    int64_t n = 2 * (1 + below(MOST / 2 - 1));
    line l = random_line(t, n);
    uint8_t memory[MOST + 1], before[MOST + 1];
    memset(memory, 0x5a, sizeof memory);
    uint8_t *base = memory + below(2); /* no alignment */
    for (int64_t i = 0; i < n; i++) set(base, i, l.v[i]);
    memcpy(before, memory, sizeof memory);
    place p = random_place(n, true);
    line wanted = seen(&l, &p), fresh = random_line(t, p.n);
    nx_tensor *x = NULL;
    OK(import(t, base, (size_t)n / 2, mode, &p, &x));
    expect(t, x, &wanted, "imported");
    nx_tensor *source = tensor_of(t, &fresh, p.shape, p.rank);
    if (mode == NX_IMPORT_IMMUTABLE) {
      FAILS(NX_NOT_WRITABLE, nx_assign(x, source));
    } else {
      OK(nx_assign(x, source));
      OK(nx_realize(ctx, &x, 1, NULL));
      expect(t, x, &fresh, "assigned to an import");
    }
    for (int64_t i = 0; i < p.n && mode == NX_IMPORT_SHARED; i++)
      set(before + (base - memory), p.at[i], fresh.v[i]);
    assert_memory_equal(memory, before, sizeof memory);
    release(x);
  }
}

static void imports_that_do_not_fit(void **state) {
  (void)state;
  uint8_t memory[2] = {0};
  nx_tensor *x = NULL;
  place p = {.rank = 1, .shape = {4}, .strides = {1}, .offset = 1};
  FAILS(NX_INVALID_ARGUMENT, import(NX_I4, memory, 2, NX_IMPORT_COPY, &p, &x));
  p.offset = 0;
  OK(import(NX_I4, memory, 2, NX_IMPORT_COPY, &p, &x));
  FAILS(NX_INVALID_ARGUMENT, import(NX_U4, memory, SIZE_MAX / 2, NX_IMPORT_COPY, &p, &x));
}

/* ---- making and moving */

static void made_and_moved(void **state) {
  (void)state;
  nx_tensor *r = GOOD(nx_arange(ctx, device(), NX_I4, NX_INTEGER(5), NX_INTEGER(3), 7));
  expect(NX_I4, r, &(line){7, {5, -8, -5, -2, 1, 4, 7}}, "arange");
  nx_tensor *u = GOOD(nx_arange(ctx, device(), NX_U4, NX_INTEGER(9), NX_INTEGER(-2), 6));
  expect(NX_U4, u, &(line){6, {9, 7, 5, 3, 1, 15}}, "arange");
  expect(NX_I4, GOOD(nx_eye(ctx, device(), NX_I4, 2, 3, 1)), &(line){6, {0, 1, 0, 0, 0, 1}}, "eye");
  expect(NX_I4, GOOD(nx_full(ctx, device(), NX_I4, NX_SHAPE(3), NX_INTEGER(13))),
         &(line){3, {-3, -3, -3}}, "full");
  expect(NX_U4, GOOD(nx_full(ctx, device(), NX_U4, NX_SHAPE(1), NX_NUMBER(99.5))), &(line){1, {15}},
         "full");
  nx_tensor *some = part(r, 1, 3, 2), *list[3] = {some, r, some};
  expect(NX_I4, GOOD(nx_cat(list, 3, 0)),
         &(line){13, {-8, -2, 4, 5, -8, -5, -2, 1, 4, 7, -8, -2, 4}}, "cat");
  expect(NX_I4, GOOD(nx_pad(some, (int64_t[]){1}, (int64_t[]){1}, 1, NX_INTEGER(-7))),
         &(line){5, {-7, -8, -2, 4, -7}}, "pad");
  nx_tensor *low = GOOD(nx_cmplt(r, nx_full(ctx, device(), NX_I4, NULL, 0, NX_INTEGER(0))));
  expect(NX_I4, GOOD(nx_where(low, nx_neg(r), r)), &(line){7, {5, -8, 5, 2, 1, 4, 7}}, "where");
  expect(NX_U4, GOOD(nx_bitcast(r, NX_U4)), &(line){7, {5, 8, 11, 14, 1, 4, 7}}, "bitcast");
  expect(NX_I4, GOOD(nx_reduce_sum(r, NX_AXES(0), 0)), &(line){1, {2}}, "sum");
  expect(NX_I4, GOOD(nx_reduce_min(r, NX_AXES(0), NX_KEEPDIMS)), &(line){1, {-8}}, "min");
  nx_tensor *none = GOOD(nx_empty(ctx, device(), NX_I4, NX_SHAPE(0, 3)));
  OK(nx_read(none, NULL, 0, NULL));
  expect(NX_I4, GOOD(nx_reduce_sum(none, NX_AXES(0), 0)), &(line){3, {0, 0, 0}}, "sum of nothing");
}

/* ---- functions */

static void functions(void **state) {
  (void)state;
  int64_t n = 6;
  nx_tensor *p = GOOD(nx_placeholder(ctx, device(), NX_I4, &n, 1)), *y = GOOD(nx_add(p, p));
  nx_function *f = NULL;
  OK(nx_function_create(ctx, &p, 1, &y, 1, NULL, &f));
  for (int round = 0; round < 24; round++) {
    line l = random_line(NX_I4, 20), into = random_line(NX_I4, 20);
    nx_tensor *x = tensor_of(NX_I4, &l, (int64_t[]){20}, 1),
              *z = tensor_of(NX_I4, &into, (int64_t[]){20}, 1);
    int64_t from = below(8), to = below(8), step = 1 + round % 2;
    nx_tensor *in = part(x, from, n, step),
              *out = round % 3 ? part(round % 3 == 2 ? x : z, to, n, 1) : NULL;
    line doubled = {.n = n}, *changed = round % 3 == 2 ? &l : &into;
    for (int64_t i = 0; i < n; i++) doubled.v[i] = number_of(NX_I4, 2 * l.v[from + i * step]);
    for (int64_t i = 0; i < n && out; i++) changed->v[to + i] = doubled.v[i];
    OK(nx_function_call(f, &in, 1, &out, 1, NULL));
    expect(NX_I4, out, &doubled, "a call's result");
    expect(NX_I4, x, &l, "a call's operand");
    expect(NX_I4, z, &into, "a call's target");
    if (round % 3 == 0) release(out);
  }
  nx_function_release(f);
}

NXT_MAIN(nibbles) {
  const struct CMUnitTest tests[] = {IN_SCOPE(layout_in_memory),
                                     IN_SCOPE(long_reads),
                                     IN_SCOPE(views_and_work_on_them),
                                     IN_SCOPE(assigns_leave_neighbours_alone),
                                     IN_SCOPE(imports),
                                     IN_SCOPE(imports_that_do_not_fit),
                                     IN_SCOPE(made_and_moved),
                                     IN_SCOPE(functions)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
