/* SPDX-License-Identifier: ISC */
/* Tests of the GPU binder's methods that processors do not have: transposing through squares, scans
 * of lines through tiles, columns whose runs are shared by threads. Every kernel runs on all
 * targets in the interpreter and is compared with its logical form. */
#include "bind_util.h"
#include "tests/util/runner.h"
#include "tests/util/share.h"

/* ---- squares: z[a, i, j] = x[a, j, i] + y[a, i, j], where the loads may be masked, and the loops
 * start elsewhere */

static nxk_kernel *transpose(nx_dtype t, int64_t outer, int64_t rows, int64_t columns,
                             int64_t lower, bool masked) {
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "turned");
  int64_t high = rows + lower, wide = columns + lower, n = outer * high * wide;
  uint32_t x = nxk_add_buffer(k, NXK_IN, t, n), y = nxk_add_buffer(k, NXK_IN, t, n),
           z = nxk_add_buffer(k, NXK_OUT, t, n);
  nxk_begin_region(k);
  nxk_value a = nxk_begin_range(k, NXK_OUTER, outer);
  nxk_value i = nxk_begin_for(k, NXK_OUTER, nxk_bound_const(lower), nxk_bound_const(high), 1);
  nxk_value j = nxk_begin_for(k, NXK_OUTER, nxk_bound_const(lower), nxk_bound_const(wide), 1);
  nxk_term turned[3] = {{a, high * wide}, {j, high}, {i, 1}},
           straight[3] = {{a, high * wide}, {i, wide}, {j, 1}};
  nxk_access from = at(x, 0, turned, 3), beside = at(y, 0, straight, 3), to = at(z, 0, straight, 3);
  if (masked) {
    nxk_value sum = add(k, i, j), end = nxk_const_i(k, NX_I64, (rows + columns) / 2);
    from.mask = nxk_scalar(k, NXK_lt, 0, sum, end, NXK_NONE);
  }
  nxk_value v = nxk_load(k, &from, 1), w = nxk_load(k, &beside, 1);
  if (t == NX_BOOL) v = nxk_scalar(k, NXK_xor, 0, v, w, NXK_NONE);
  else v = nxk_scalar(k, NXK_select, 0, nxk_scalar(k, NXK_lt, 0, v, w, NXK_NONE), w, v);
  nxk_store(k, &to, v);
  end_all(k, 4);
  return k;
}

/* Words of these types are turned within threads. */
static void test_squares_of_words(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_U8, NX_BOOL, NX_BF16, NX_I16};
  for (int i = 0; i < 4; i++)
    for (int aligned = 0; aligned < 2; aligned++) {
      nxk_kernel *k = transpose(types[i], 1 + i % 2, 260, 136, 0, i == 3);
      for (uint32_t b = 0; b < k->n_buffers; b++) k->buffers[b].aligned = aligned;
      check(k);
    }
}

static void test_squares(void **state) {
  (void)state;
  for (int t = 0; t < TYPES; t++)
    check(transpose(every_type[t], 1 + t % 3, 33 + t, 40 + t % 5, t % 2, t % 4 == 1));
  check(transpose(NX_F32, 2, 32, 64, 0, false));
  check(transpose(NX_F32, 1, 8, 100, 0, false));
  check(transpose(NX_F64, 1, 100, 8, 3, true));
  check(transpose(NX_F32, 1, 7, 50, 0, false)); /* too narrow for squares */
}

static bool has_op(const nxk_kernel *k, nxk_op op) {
  bool found = false;
  for (uint32_t v = 0; v < k->n_instrs; v++) found = found || k->instrs[v].op == op;
  return found;
}

/* There has to be a barrier between writes of some threads and reads of others; all these kernels
 * need one. */
static bool meets(nxk_kernel *k, int target) {
  nxi_diag d;
  nxi_diag_clear(&d);
  nxk_kernel *bound = bind_for(k, &targets[target], &d);
  assert_non_null(bound);
  bool found = has_op(bound, NXK_barrier);
  nxk_destroy(bound);
  nxk_destroy(k);
  return found;
}

static void test_what_takes_squares(void **state) {
  (void)state;
  assert_true(meets(transpose(NX_F32, 1, 64, 64, 0, false), 4));
  assert_true(meets(transpose(NX_F32, 1, 64, 64, 0, true), 5));
  assert_false(meets(transpose(NX_F32, 1, 7, 64, 0, false), 4));
}

/* ---- points: z[i, j] = x[i, j] less x from its end, where there are enough for several passes, or
 * for words */

static nxk_kernel *points(nx_dtype t, int64_t rows, int64_t columns, bool aligned, bool turned) {
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "points");
  int64_t n = rows * columns;
  uint32_t x = nxk_add_buffer(k, NXK_IN, t, n), z = nxk_add_buffer(k, NXK_OUT, t, n);
  k->buffers[x].aligned = k->buffers[z].aligned = aligned;
  nxk_begin_region(k);
  nxk_value i = nxk_begin_range(k, NXK_OUTER, rows), j = nxk_begin_range(k, NXK_OUTER, columns);
  nxk_term there[2] = {{i, columns}, {j, 1}}, back[2] = {{i, -columns}, {j, -1}};
  nxk_access from = at(x, 0, there, 2), last = at(x, n - 1, back, 2), to = at(z, 0, there, 2);
  nxk_value v = nxk_load(k, &from, 1);
  if (turned) v = nxk_scalar(k, NXK_sub, 0, v, nxk_load(k, &last, 1), NXK_NONE);
  nxk_store(k, &to, nxk_scalar(k, NXK_sub, 0, nxk_const_f(k, t, 1), v, NXK_NONE));
  end_all(k, 3);
  return k;
}

static void test_points(void **state) {
  (void)state;
  for (int turned = 0; turned < 2; turned++)
    for (int aligned = 0; aligned < 2; aligned++) {
      check(points(NX_F32, 1, 40001, aligned, turned));
      check(points(NX_F32, 3, 16384 - 128, aligned, turned));
      check(points(NX_F32, 129, 300, aligned, turned));
    }
  check(points(NX_F64, 1, 70001, false, true));
  check(points(NX_F64, 5, 128 * 110, false, true));
}

/* ---- rows of two or four parts: z[i, j, p] = x[i, j, p] - y[i, j, parts - 1 - p], where y may
 * lack its last part and have the first one for it */

static nxk_kernel *parted(nx_dtype t, int64_t parts, int64_t rows, int64_t columns, bool aligned,
                          bool lacks) {
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "parted");
  int64_t n = rows * columns * parts;
  uint32_t x = nxk_add_buffer(k, NXK_IN, t, n), y = nxk_add_buffer(k, NXK_IN, t, n),
           z = nxk_add_buffer(k, NXK_OUT, t, n);
  k->buffers[x].aligned = k->buffers[y].aligned = k->buffers[z].aligned = aligned;
  nxk_begin_region(k);
  nxk_value i = nxk_begin_range(k, NXK_OUTER, rows), j = nxk_begin_range(k, NXK_OUTER, columns);
  nxk_term there[2] = {{i, columns * parts}, {j, parts}};
  nxk_value values[4];
  for (int64_t p = 0; p < parts; p++) {
    int64_t other = lacks && p == 0 ? 0 : parts - 1 - p;
    nxk_access from = at(x, p, there, 2), beside = at(y, other, there, 2);
    values[p] = nxk_scalar(k, NXK_sub, 0, nxk_load(k, &from, 1), nxk_load(k, &beside, 1), NXK_NONE);
  }
  for (int64_t p = 0; p < parts; p++) {
    nxk_access to = at(z, p, there, 2);
    nxk_store(k, &to, values[p]);
  }
  end_all(k, 3);
  return k;
}

/* The loads of words, and the stores, by the binder for a target. */
static int words(nxk_kernel *k, int target) {
  nxi_diag d;
  nxi_diag_clear(&d);
  nxk_kernel *bound = bind_for(k, &targets[target], &d);
  int n = 0;
  assert_non_null(bound);
  for (uint32_t v = 0; v < bound->n_instrs; v++) {
    const nxk_instr *in = &bound->instrs[v];
    bool access = in->op == NXK_load || in->op == NXK_store;
    n += access && (bound->accesses[in->imm].flags & NXK_WHOLE) != 0;
  }
  nxk_destroy(bound);
  nxk_destroy(k);
  return n;
}

/* Under sanitizers one shape of three. */
static void test_parts(void **state) {
  (void)state;
  int n = 0;
  for (int64_t parts = 2; parts <= 4; parts++)
    for (int aligned = 0; aligned < 2; aligned++)
      for (int lacks = 0; lacks < 2; lacks++, n++) {
        const int which = SANITIZED ? (n + n / 3) % 3 : -1;
        if (which <= 0) check(parted(NX_F32, parts, 1, 40001, aligned, lacks));
        if (which % 2) check(parted(NX_F64, parts, 3, 16384 - 128, aligned, lacks));
        if (which == 2 || !SANITIZED) check(parted(NX_U8, parts, 129, 300, aligned, lacks));
      }
  for (int t = 4; t < TARGETS; t++) {
    assert_int_equal(words(parted(NX_F32, 2, 1, 40001, true, false), t), 3);
    assert_int_equal(words(parted(NX_F64, 4, 129, 300, true, false), t), 3);
    assert_int_equal(words(parted(NX_F32, 2, 129, 301, true, true), t), 2); /* y has no words */
    assert_int_equal(words(parted(NX_F32, 2, 129, 301, false, false), t), 0);
    assert_int_equal(words(parted(NX_F32, 3, 129, 301, true, false), t), 0);
  }
}

/* ---- lines: y[i, j] = scan of x[i, j], twice that, and x beside it */

typedef struct line {
  nxk_reduce_kind kind, other; /* other: of a second scan, or NXK_DOT: there is none */
  nxk_order order;
  nx_dtype t;
  int64_t outer, rows, length;
  bool across; /* memory is contiguous from line to line */
} line;

static nxk_kernel *lines(const line *l) {
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "lines");
  int64_t n = l->outer * l->rows * l->length;
  uint32_t x = nxk_add_buffer(k, NXK_IN, l->t, n), y = nxk_add_buffer(k, NXK_OUT, l->t, n),
           z = nxk_add_buffer(k, NXK_OUT, l->t, n);
  nxk_begin_region(k);
  nxk_value a = nxk_begin_range(k, NXK_OUTER, l->outer), i = nxk_begin_range(k, NXK_OUTER, l->rows),
            j = nxk_begin_range(k, NXK_MAP, l->length);
  nxk_term terms[3] = {
      {a, l->rows * l->length}, {i, l->across ? 1 : l->length}, {j, l->across ? l->rows : 1}};
  nxk_access from = at(x, 0, terms, 3), to = at(y, 0, terms, 3), third = at(z, 0, terms, 3);
  nxk_value v = nxk_load(k, &from, 1), s = nxk_scan(k, l->kind, l->order, v, NXK_NONE), last = v;
  if (l->other != NXK_DOT) last = nxk_scan(k, l->other, l->order, add(k, v, v), NXK_NONE);
  nxk_store(k, &to, add(k, s, s));
  nxk_store(k, &third, last);
  end_all(k, 4);
  return k;
}

static void test_lines(void **state) {
  enum { MOST = 16000 }; /* under sanitizers, where elements take a microsecond */
  (void)state;
  static const line kernels[] = {
      {NXK_SUM, NXK_DOT, NXK_ORDER_PLAIN, NX_F32, 1, 5, 300, false},
      {NXK_SUM, NXK_MAX, NXK_ORDER_PLAIN, NX_F32, 3, 11, 64, false},
      {NXK_SUM, NXK_DOT, NXK_ORDER_PLAIN, NX_F32, 2, 3, 2500, false},
      {NXK_PROD, NXK_MIN, NXK_ORDER_PLAIN, NX_F64, 1, 2, 5 * 1024, false},
      {NXK_SUM, NXK_DOT, NXK_ORDER_PLAIN, NX_F32, 1, 1, 33 * 1024 - 5, false},
      {NXK_SUM, NXK_DOT, NXK_ORDER_SEQUENTIAL, NX_F32, 1, 3, 1500, false},
      {NXK_SUM, NXK_SUM, NXK_ORDER_PLAIN, NX_I32, 1, 40, 100, false},
      {NXK_MAX, NXK_DOT, NXK_ORDER_PLAIN, NX_I64, 1, 70, 31, false},
      {NXK_SUM, NXK_DOT, NXK_ORDER_PLAIN, NX_F32, 2, 21, 100, true},
      {NXK_SUM, NXK_MIN, NXK_ORDER_PLAIN, NX_F32, 1, 9, 3000, true},
      {NXK_PROD, NXK_DOT, NXK_ORDER_PLAIN, NX_F64, 1, 3, 17 * 1024 + 7, true},
      {NXK_SUM, NXK_DOT, NXK_ORDER_SEQUENTIAL, NX_F32, 1, 5, 1500, true},
      /* several rows in shared memory; columns that threads scan block by block */
      {NXK_SUM, NXK_DOT, NXK_ORDER_PLAIN, NX_F32, 1, 67, 1030, false},
      {NXK_SUM, NXK_MAX, NXK_ORDER_PLAIN, NX_F32, 1, 3, 1000, false},
      {NXK_PROD, NXK_DOT, NXK_ORDER_PLAIN, NX_F64, 1, 1, 1024, false},
      {NXK_SUM, NXK_DOT, NXK_ORDER_PLAIN, NX_F32, 1, 515, 1025, true},
  };
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    const line *l = &kernels[i];
    if (!SANITIZED || l->outer * l->rows * l->length <= MOST) check(lines(l));
  }
  for (int t = 4; t < TARGETS; t++) assert_true(meets(lines(&kernels[0]), t));
}

/* ---- columns: few of them, whose runs several threads share */

static nxk_kernel *columns(nxk_reduce_kind kind, nxk_order order, nx_dtype t, int64_t run,
                           int64_t n, bool again) {
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "columns");
  uint32_t x = nxk_add_buffer(k, NXK_IN, t, n * run);
  nx_dtype result = kind == NXK_ARGMAX ? NX_I64 : t;
  uint32_t y = nxk_add_buffer(k, NXK_OUT, result, n), z = nxk_add_buffer(k, NXK_OUT, t, n * run);
  nxk_begin_region(k);
  nxk_value i = nxk_begin_range(k, NXK_OUTER, n), j = nxk_begin_range(k, NXK_REDUCE, run);
  nxk_value r = nxk_reduce(k, kind, order, load2(k, x, i, 1, j, n), NXK_NONE);
  nxk_end(k);
  store1(k, y, i, 1, r);
  if (again) {
    nxk_value m = nxk_begin_range(k, NXK_MAP, run);
    store2(k, z, i, 1, m, n, add(k, load2(k, x, i, 1, m, n), nxk_cast_to(k, t, r)));
    nxk_end(k);
  }
  end_all(k, 2);
  return k;
}

static void test_columns(void **state) {
  (void)state;
  static const int64_t runs[] = {32, 100, 257, 1000}, counts[] = {2, 7, 33, 130};
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      check(columns(NXK_SUM, NXK_ORDER_PLAIN, j % 2 ? NX_F32 : NX_F64, runs[i], counts[j], j == 2));
      check(columns(NXK_ARGMAX, NXK_ORDER_PLAIN, NX_F32, runs[i], counts[j], i == 1));
      if ((i + j) % 2) check(columns(NXK_SUM, NXK_ORDER_LANES, NX_F32, runs[i], counts[j], i == 3));
    }
  check(columns(NXK_MAX, NXK_ORDER_PLAIN, NX_I8, 3000, 40, false));
}

/* ---- rows whose elements stay in registers of their threads; each element is computed with `code`
 * divisions */

static nxk_kernel *rows(int64_t n, int64_t run, int code) {
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "rows");
  uint32_t x = nxk_add_buffer(k, NXK_IN, NX_F32, n * run),
           y = nxk_add_buffer(k, NXK_OUT, NX_F32, n * run),
           own = nxk_add_buffer(k, NXK_LOCAL, NX_F32, run);
  nxk_begin_region(k);
  nxk_value i = nxk_begin_range(k, NXK_OUTER, n), j = nxk_begin_range(k, NXK_REDUCE, run);
  nxk_value v = load2(k, x, i, run, j, 1);
  for (int c = 0; c < code; c++)
    v = nxk_scalar(k, NXK_div, 0, v, nxk_const_f(k, NX_F32, 1.5 + c), NXK_NONE);
  store1(k, own, j, 1, v);
  nxk_value least = nxk_reduce(k, NXK_MIN, NXK_ORDER_PLAIN, v, NXK_NONE);
  nxk_end(k);
  j = nxk_begin_range(k, NXK_MAP, run);
  store2(k, y, i, run, j, 1, sub(k, load1(k, own, 0, j, 1), least));
  end_all(k, 3);
  return k;
}

/* ---- rows of which each thread has neighbours, as words: y[i, j] = (x[i, j] - most) total, where
 * the total of a row is of what is left */

static nxk_kernel *near_rows(nx_dtype t, nxk_reduce_kind kind, int64_t n, int64_t run,
                             bool aligned) {
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "near");
  uint32_t x = nxk_add_buffer(k, NXK_IN, t, n * run), y = nxk_add_buffer(k, NXK_OUT, t, n * run),
           z = nxk_add_buffer(k, NXK_OUT, NX_F32, n);
  k->buffers[x].aligned = k->buffers[y].aligned = aligned;
  k->buffers[x].restricted = true;
  nxk_begin_region(k);
  nxk_value i = nxk_begin_range(k, NXK_OUTER, n), j = nxk_begin_range(k, NXK_REDUCE, run);
  nxk_value v = nxk_cast_to(k, NX_F32, load2(k, x, i, run, j, 1));
  nxk_value most = nxk_reduce(k, NXK_MAX, NXK_ORDER_PLAIN, v, NXK_NONE);
  nxk_end(k);
  j = nxk_begin_range(k, NXK_REDUCE, run);
  v = sub(k, nxk_cast_to(k, NX_F32, load2(k, x, i, run, j, 1)), most);
  nxk_value total = nxk_reduce(k, kind, NXK_ORDER_LANES, v, NXK_NONE);
  nxk_end(k);
  store1(k, z, i, 1, total);
  j = nxk_begin_range(k, NXK_MAP, run);
  v = sub(k, nxk_cast_to(k, NX_F32, load2(k, x, i, run, j, 1)), most);
  v = nxk_scalar(k, NXK_mul, 0, v, total, NXK_NONE);
  store2(k, y, i, run, j, 1, nxk_cast_to(k, t, v));
  end_all(k, 3);
  return k;
}

/* On one target, since that takes so many elements. Destroys k. */
static void check_near(nxk_kernel *k) {
  static const uint64_t none[MAX_PARAMS];
  memory start, expected;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxk_kernel *bound = bind_for(k, &targets[4], &d);
  assert_non_null(bound);
  make_memory(k, &start, 500);
  copy_memory(&start, &expected);
  must_run(k, k, &expected, none, 0, INT64_MAX);
  check_bound(k, bound, &targets[4], &start, &expected, none);
  free_memory(&start);
  free_memory(&expected);
  nxk_destroy(bound);
  nxk_destroy(k);
}

static void test_near_rows(void **state) {
  (void)state;
  if (SANITIZED) return;
  check_near(near_rows(NX_BF16, NXK_SUM, 64, 4096, true));
  check_near(near_rows(NX_F16, NXK_SUM, 255, 1042, true));
  check_near(near_rows(NX_U8, NXK_MIN, 1025, 516, true));
  for (int t = 4; t < TARGETS; t++) {
    const int64_t n = t == 4 ? 64 : 256; /* a quarter of the threads, a quarter of the rows */
    assert_true(words(near_rows(NX_BF16, NXK_SUM, n, 4096, true), t) > 1);
    assert_true(words(near_rows(NX_U8, NXK_MIN, 2 * n, 4096, true), t) > 1);
    assert_int_equal(words(near_rows(NX_BF16, NXK_SUM, n, 4097, true), t), 0);
    assert_int_equal(words(near_rows(NX_BF16, NXK_SUM, n, 4096, false), t), 0);
    assert_int_equal(words(near_rows(NX_BF16, NXK_SUM, 3, 4096, true), t), 0);
  }
}

static bool is_written_out(const nxk_kernel *k, nxk_op op) {
  uint32_t depth = 0;
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    const nxk_instr *in = &k->instrs[v];
    depth += in->op == NXK_for && k->loops[in->imm].unroll;
    depth -= in->op == NXK_end && k->instrs[in->block].op == NXK_for &&
             k->loops[k->instrs[in->block].imm].unroll;
    if (in->op == op && depth > 0) return true;
  }
  return false;
}

/* If long code is repeated for each element, more values are live at once than there are
 * registers. */
static void test_long_code(void **state) {
  (void)state;
  for (int code = 1; code <= 40; code += 39) {
    for (int t = 4; t < TARGETS; t++) {
      nxi_diag d;
      nxi_diag_clear(&d);
      nxk_kernel *k = rows(3, 900, code), *bound = bind_for(k, &targets[t], &d);
      assert_non_null(bound);
      bool own = false;
      for (uint32_t i = 0; i < bound->n_buffers; i++) own = own || bound->buffers[i].thread_private;
      assert_int_equal(own, code == 1);
      assert_int_equal(is_written_out(bound, NXK_div), code == 1);
      nxk_destroy(bound);
      nxk_destroy(k);
    }
    check(rows(3, 900, code));
    check(rows(40, 300, code));
  }
}

static void test_exhausted_memory(void **state) {
  (void)state;
  static const line scanned = {NXK_SUM, NXK_MAX, NXK_ORDER_PLAIN, NX_F32, 1, 3, 2500, false};
  check_exhausted(transpose(NX_F32, 2, 40, 33, 0, true));
  check_exhausted(parted(NX_F32, 2, 1, 40001, true, false));
  check_exhausted(lines(&scanned));
  check_exhausted(columns(NXK_SUM, NXK_ORDER_PLAIN, NX_F32, 100, 33, true));
}

NXT_MAIN(bind_gpu) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_squares),   cmocka_unit_test(test_what_takes_squares),
      cmocka_unit_test(test_near_rows), cmocka_unit_test(test_squares_of_words),
      cmocka_unit_test(test_points),    cmocka_unit_test(test_parts),
      cmocka_unit_test(test_lines),     cmocka_unit_test(test_columns),
      cmocka_unit_test(test_long_code), cmocka_unit_test(test_exhausted_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
