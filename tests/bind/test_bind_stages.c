/* SPDX-License-Identifier: ISC */
/* The CPU binder on reductions and regions of several stages: the same bits as the logical form,
 * which reduces one element after the other. See test_bind.c. */
#include "bind_util.h"
#include "tests/util/runner.h"

#ifndef NXT_NAME
#define NXT_NAME bind_stages
#endif

/* ---- reductions */

static nxk_order order_for(nxk_reduce_kind kind, bool last_axis) {
  return kind == NXK_DOT ? NXK_ORDER_SEQUENTIAL : last_axis ? NXK_ORDER_LANES : NXK_ORDER_PLAIN;
}

/* y[a, c] = reduction over k of x[a, k, c] */
static nxk_kernel *reduce_kernel(nxk_reduce_kind kind, nxk_order order, nx_dtype t, int64_t outer,
                                 int64_t run, int64_t inner) {
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "reduce");
  bool arg = kind == NXK_ARGMAX || kind == NXK_ARGMIN;
  uint32_t x = nxk_add_buffer(k, NXK_IN, t, outer * run * inner);
  uint32_t y = nxk_add_buffer(k, NXK_OUT, arg ? NX_I32 : t, outer * inner);
  nxk_begin_region(k);
  nxk_value i = nxk_begin_range(k, NXK_OUTER, outer), c = nxk_begin_range(k, NXK_OUTER, inner);
  nxk_value j = nxk_begin_range(k, NXK_REDUCE, run);
  nxk_term terms[3] = {{i, run * inner}, {j, inner}, {c, 1}};
  nxk_access a = at(x, 0, terms, 3);
  nxk_value v = widen(k, nxk_load(k, &a, 1));
  nxk_value r = nxk_reduce(k, kind, order, v, kind == NXK_DOT ? v : NXK_NONE);
  nxk_end(k);
  store2(k, y, i, inner, c, 1, nxk_cast_to(k, arg ? NX_I32 : t, r));
  end_all(k, 3);
  return k;
}

static bool admits(nxk_reduce_kind kind, nx_dtype t) {
  return t != NX_BOOL || kind == NXK_MAX || kind == NXK_MIN || kind == NXK_ARGMAX ||
         kind == NXK_ARGMIN;
}

static const int64_t runs[] = {0,   1,   2,   3,   15,   16,   17,   31,   100,
                               255, 256, 257, 511, 1000, 1024, 1025, 2304, 4097};

static void test_rows(void **state) {
  (void)state;
  for (int r = 0; r < 18; r++)
    for (int kind = 0; kind < NXK_REDUCE_KINDS; kind++) {
      nx_dtype t = r % 3 == 0 ? every_type[below(TYPES)] : r % 3 == 1 ? NX_F32 : NX_F64;
      if (!admits((nxk_reduce_kind)kind, t)) t = NX_I8;
      check(reduce_kernel((nxk_reduce_kind)kind, order_for((nxk_reduce_kind)kind, true), t,
                          1 + below(4), runs[r], 1));
    }
}

/* Much code behind short rows: what rows give is kept for a block of them, and lanes run along the
 * block. What that code reads is loaded before the rows, some of it outside of the loop over them;
 * it has a cold block, and may write over what it reads. A last block that is not whole computes
 * some rows again. */
static void test_code_behind_rows(void **state) {
  (void)state;
  for (int c = 0; c < 60; c++) {
    static const int64_t rows[] = {5, 16, 64, 65, 100, 131, 1000};
    int64_t planes = 1 + below(3), n = rows[c % 7], run = 20 + below(60);
    bool same = c % 4 == 3, arg = c % 3 == 2;
    nx_dtype t = c % 5 == 4 ? NX_F64 : NX_F32;
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "behind");
    uint32_t x = nxk_add_buffer(k, NXK_IN, t, planes * n * run),
             w = nxk_add_buffer(k, NXK_IN, t, planes),
             y = nxk_add_buffer(k, NXK_OUT, t, planes * n);
    uint32_t z = same ? y : nxk_add_buffer(k, NXK_IN, t, planes * n);
    for (uint32_t i = 0; i < k->n_buffers; i++) k->buffers[i].restricted = c % 2;
    nxk_begin_region(k);
    nxk_value h = nxk_begin_range(k, NXK_OUTER, planes), weight = load1(k, w, 0, h, 1),
              i = nxk_begin_range(k, NXK_OUTER, n);
    nxk_term at_row[2] = {{h, n}, {i, 1}}, terms[3] = {{h, n * run}, {i, run}, {0, 1}};
    nxk_access row = at(z, 0, at_row, 2), to = at(y, 0, at_row, 2);
    nxk_value own = nxk_load(k, &row, 1), j = nxk_begin_range(k, NXK_REDUCE, run);
    terms[2].index = j;
    nxk_access from = at(x, 0, terms, 3);
    nxk_value v = mul(k, nxk_load(k, &from, 1), own),
              sum = nxk_reduce(k, NXK_SUM, NXK_ORDER_LANES, v, NXK_NONE),
              most = nxk_reduce(k, arg ? NXK_ARGMAX : NXK_MAX, NXK_ORDER_LANES, v, NXK_NONE);
    nxk_end(k);
    nxk_value r = add(k, sum, nxk_cast_to(k, t, most)),
              cold = nxk_begin_cold(k, nxk_scalar(k, NXK_lt, 0, r, weight, NXK_NONE)),
              other = mul(k, r, own);
    nxk_end(k);
    r = nxk_blend(k, cold, other, r);
    for (int step = 0; step < 20; step++) r = add(k, mul(k, r, weight), own);
    nxk_store(k, &to, r);
    end_all(k, 3);
    check(k);
  }
}

/* Short runs of many rows: lanes run across the rows. */
static void test_short_rows(void **state) {
  (void)state;
  for (int64_t run = 1; run < 20; run += 1 + below(3))
    for (int kind = 0; kind < NXK_REDUCE_KINDS; kind++)
      check(reduce_kernel((nxk_reduce_kind)kind, order_for((nxk_reduce_kind)kind, true),
                          kind % 2 ? NX_F32 : NX_F64, 70, run, 1));
}

static void test_columns(void **state) {
  (void)state;
  static const int64_t widths[] = {1, 7, 16, 40, 130, 257, 530, 1100};
  for (int r = 0; r < 16; r++)
    for (int w = 0; w < 8; w++) {
      if (runs[r] * widths[w] > 60000) continue;
      nxk_reduce_kind kind = (nxk_reduce_kind)((r + w) % NXK_REDUCE_KINDS);
      nx_dtype t = w % 2 ? every_type[below(TYPES)] : NX_F32;
      if (!admits(kind, t)) t = NX_U16;
      if (w % 3 == 0 && kind != NXK_DOT) kind = NXK_SUM;
      if (t == NX_BOOL && kind == NXK_SUM) t = NX_F64;
      /* A run that contains the last axis need not be contiguous in memory (a transposed input). */
      check(
          reduce_kernel(kind, order_for(kind, below(3) == 0), t, 1 + below(2), runs[r], widths[w]));
    }
}

/* Narrow rows that follow each other, one strip of many tasks: with a small last cache they are
 * read one after the other, and the last vector of columns overlaps the one before. */
static void test_rows_in_order(void **state) {
  (void)state;
  static const int64_t widths[] = {9, 17, 20, 33, 47, 64, 65, 101, 128, 257, 500, 1024, 1030};
  for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
    for (int64_t run = 3; run < 70; run += 7 + below(20)) {
      nxk_reduce_kind kind = (nxk_reduce_kind)below(NXK_REDUCE_KINDS);
      nx_dtype t = below(2) ? NX_F32 : every_type[below(TYPES)];
      if (kind == NXK_DOT || !admits(kind, t)) kind = NXK_MAX;
      nxk_kernel *k = reduce_kernel(kind, NXK_ORDER_PLAIN, t, 4 + below(3), run, widths[w]);
      k->buffers[0].restricted = k->buffers[1].restricted = true;
      check(k);
    }
}

static void test_join_orders(void **state) {
  (void)state;
  static const int64_t chunks[] = {1, 2, 3, 7, 8, 20};
  for (int c = 0; c < 6; c++)
    for (int inner = 1; inner < 600; inner += 299) {
      check(reduce_kernel(NXK_SUM, NXK_ORDER_JOIN_LANES, NX_F32, 2, 16 * chunks[c], inner));
      check(reduce_kernel(NXK_PROD, NXK_ORDER_JOIN, NX_F64, 2, chunks[c], inner));
    }
}

/* One run over two loops that cannot be merged in memory, with several reductions, some of them
 * with another order. */
static void test_nested_runs(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{3, 5},  {16, 16}, {5, 32}, {4, 100},
                                      {9, 17}, {1, 33},  {20, 0}};
  for (int s = 0; s < 7; s++)
    for (int form = 0; form < 6; form++) {
      int64_t p = shapes[s][0], q = shapes[s][1], n = form % 2 ? 150 : 3;
      nxk_order order = form / 2 == 0 ? NXK_ORDER_LANES : NXK_ORDER_PLAIN;
      nxk_kernel *k = nxk_create(NXK_LOGICAL, "nested");
      uint32_t x = nxk_add_buffer(k, NXK_IN, NX_F32, (p * (q + 2) + 2) * n),
               y = nxk_add_buffer(k, NXK_OUT, NX_F32, 4 * n);
      uint32_t w = nxk_add_buffer(k, NXK_IN, NX_F32, p + 1);
      int64_t across = form % 2 ? n : 1,
              along = form % 2 ? 1 : p * (q + 2) + 2; /* columns, or rows */
      nxk_begin_region(k);
      nxk_value i = nxk_begin_range(k, NXK_OUTER, n);
      nxk_value a = nxk_begin_range(k, NXK_REDUCE, p);
      nxk_value weight = load1(k, w, 0, a, 1); /* between the loops */
      nxk_value b = nxk_begin_range(k, NXK_REDUCE, q);
      nxk_term terms[3] = {{i, along}, {a, (q + 2) * across}, {b, across}};
      nxk_access access = at(x, 0, terms, 3);
      nxk_value v = nxk_load(k, &access, 1), scaled = mul(k, v, weight);
      nxk_value sum = nxk_reduce(k, NXK_SUM, order, scaled, NXK_NONE);
      nxk_value most = nxk_reduce(k, NXK_MAX, order, v, NXK_NONE);
      nxk_value where = nxk_reduce(k, NXK_ARGMIN, order, scaled, NXK_NONE);
      nxk_value dot = form >= 4 ? nxk_reduce(k, NXK_DOT, NXK_ORDER_SEQUENTIAL, v, weight) : most;
      end_all(k, 2);
      nxk_value results[4] = {sum, most, nxk_cast_to(k, NX_F32, where), dot};
      for (int r = 0; r < 4; r++) {
        nxk_term to[1] = {{i, 4}};
        nxk_access out = at(y, r, to, 1);
        nxk_store(k, &out, results[r]);
      }
      end_all(k, 2);
      check(k);
    }
}

/* softmax, layer norm and the like: several stages over the same inner loop, row code between them,
 * and optionally an array that keeps a value of one stage for the next. along: 1 rows, else
 * columns. */
static nxk_kernel *normalize_kernel(nx_dtype t, int64_t points, int64_t run, bool rows, bool keeps,
                                    bool twice) {
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "normalize");
  int64_t sp = rows ? run : 1, sr = rows ? 1 : points;
  nxk_order order = rows ? NXK_ORDER_LANES : NXK_ORDER_PLAIN;
  nx_dtype c = nxi_compute_dtype(t);
  uint32_t x = nxk_add_buffer(k, NXK_IN, t, points * run), w = nxk_add_buffer(k, NXK_IN, t, run),
           u = nxk_add_buffer(k, NXK_IN, t, points);
  uint32_t y = nxk_add_buffer(k, NXK_OUT, t, points * run),
           z = nxk_add_buffer(k, NXK_OUT, c, points);
  uint32_t local = keeps ? nxk_add_buffer(k, NXK_LOCAL, c, run) : 0;
  nxk_begin_region(k);
  nxk_value i = nxk_begin_range(k, NXK_OUTER, points);
  nxk_value shift = widen(k, load1(k, u, 0, i, 1)),
            scale = add(k, shift, nxk_const_f(k, c, 2)); /* row code */
  nxk_value j = nxk_begin_range(k, NXK_REDUCE, run);
  nxk_value v = widen(k, load2(k, x, i, sp, j, sr));
  nxk_value most = nxk_reduce(k, NXK_MAX, order, v, NXK_NONE),
            first = nxk_reduce(k, NXK_SUM, order, mul(k, v, v), NXK_NONE);
  nxk_end(k);
  nxk_value mean = mul(k, add(k, first, most), scale);
  j = nxk_begin_range(k, NXK_REDUCE, run);
  nxk_value d = sub(k, widen(k, load2(k, x, i, sp, j, sr)), mean);
  if (keeps) store1(k, local, j, 1, d);
  nxk_value second = nxk_reduce(k, NXK_SUM, order, mul(k, d, d), NXK_NONE);
  nxk_end(k);
  nxk_value whole = add(k, second, shift);
  store1(k, z, i, 1, whole);
  for (int n = 0; n < (twice ? 2 : 1); n++) {
    nxk_value outer_j = twice ? nxk_begin_range(k, NXK_MAP, 1) : NXK_NONE;
    (void)outer_j;
    j = nxk_begin_range(k, NXK_MAP, run);
    nxk_value kept =
        keeps ? load1(k, local, 0, j, 1) : sub(k, widen(k, load2(k, x, i, sp, j, sr)), mean);
    nxk_value result = add(
        k, mul(k, nxk_scalar(k, NXK_div, 0, kept, whole, NXK_NONE), widen(k, load1(k, w, 0, j, 1))),
        nxk_const_f(k, c, n));
    store2(k, y, i, sp, j, sr, nxk_cast_to(k, t, result));
    end_all(k, twice ? 2 : 1);
  }
  end_all(k, 2);
  return k;
}

static void test_normalize(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{3, 40},   {2, 1000}, {130, 9}, {300, 40},
                                      {600, 70}, {1, 5000}, {5, 1},   {150, 260}};
  static const nx_dtype types[] = {NX_F32, NX_F64, NX_BF16, NX_F16};
  for (int s = 0; s < 8; s++)
    for (int form = 0; form < 8; form++)
      check(normalize_kernel(types[(s + form) % 4], shapes[s][0], shapes[s][1], form & 1, form & 2,
                             form & 4));
}

/* Matrix products: the second factor by rows or by columns, batched or not. */
static void test_dot(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{1, 1, 1},    {3, 4, 5},    {8, 8, 8},   {17, 9, 33},
                                      {20, 30, 70}, {4, 100, 16}, {32, 32, 32}};
  static const nx_dtype types[] = {NX_F32, NX_F64, NX_I32, NX_I8, NX_BF16};
  for (int s = 0; s < 7; s++)
    for (int form = 0; form < 4; form++) {
      int64_t m = shapes[s][0], n = shapes[s][2], d = shapes[s][1], batch = form & 1 ? 3 : 1;
      nx_dtype t = types[(s + form) % 5];
      nxk_kernel *k = nxk_create(NXK_LOGICAL, "dot");
      uint32_t a = nxk_add_buffer(k, NXK_IN, t, batch * m * d),
               b = nxk_add_buffer(k, NXK_IN, t, batch * d * n),
               y = nxk_add_buffer(k, NXK_OUT, t, batch * m * n);
      nxk_begin_region(k);
      nxk_value p = nxk_begin_range(k, NXK_OUTER, batch), i = nxk_begin_range(k, NXK_OUTER, m),
                j = nxk_begin_range(k, NXK_OUTER, n);
      nxk_value l = nxk_begin_range(k, NXK_REDUCE, d);
      nxk_term ta[3] = {{p, m * d}, {i, d}, {l, 1}},
               tb[3] = {{p, d * n}, {l, form & 2 ? 1 : n}, {j, form & 2 ? d : 1}},
               ty[3] = {{p, m * n}, {i, n}, {j, 1}};
      nxk_access xa = at(a, 0, ta, 3), xb = at(b, 0, tb, 3), xy = at(y, 0, ty, 3);
      nxk_value left = widen(k, nxk_load(k, &xa, 1)), right = widen(k, nxk_load(k, &xb, 1));
      nxk_value dot = nxk_reduce(k, NXK_DOT, NXK_ORDER_SEQUENTIAL, left, right);
      nxk_end(k);
      nxk_store(k, &xy, nxk_cast_to(k, t, dot));
      end_all(k, 4);
      check(k);
    }
}

/* A reduction whose other outer loops are in any order around it, with a mask in the run. */
static void test_middle(void **state) {
  (void)state;
  for (int n = 0; n < 40; n++) {
    int64_t extent[4];
    static const int64_t sizes[] = {1, 2, 5, 16, 33, 70, 130};
    for (int i = 0; i < 4; i++) extent[i] = sizes[below(n % 2 ? 7 : 5)];
    if (extent[0] * extent[1] * extent[2] * extent[3] > 40000) continue;
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "middle");
    int order[4] = {0, 1, 2, 3};
    int64_t stride[4], step = 1;
    for (int i = 0; i < 4; i++) {
      int j = (int)below(4), swap = order[i];
      order[i] = order[j];
      order[j] = swap;
    }
    for (int i = 4; i-- > 0;) {
      stride[order[i]] = step;
      step *= extent[order[i]];
    }
    nx_dtype t = below(2) ? NX_F32 : NX_F64;
    uint32_t x = nxk_add_buffer(k, NXK_IN, t, step),
             y = nxk_add_buffer(k, NXK_OUT, t, extent[0] * extent[1]);
    nxk_begin_region(k);
    nxk_value i0 = nxk_begin_range(k, NXK_OUTER, extent[0]);
    nxk_value hoisted = nxk_cast_to(k, t, i0);
    nxk_value i1 = nxk_begin_range(k, NXK_OUTER, extent[1]);
    nxk_value i2 = nxk_begin_range(k, NXK_REDUCE, extent[2]),
              i3 = nxk_begin_range(k, NXK_REDUCE, extent[3]);
    nxk_term terms[4] = {{i0, stride[0]}, {i1, stride[1]}, {i2, stride[2]}, {i3, stride[3]}};
    nxk_access a = at(x, 0, terms, 4);
    if (below(2))
      a.mask = nxk_scalar(k, NXK_lt, 0, below(2) ? i1 : i3, nxk_const_i(k, NX_I64, 11), NXK_NONE);
    nxk_value v = mul(k, nxk_load(k, &a, 1), hoisted);
    nxk_value r = nxk_reduce(k, NXK_SUM, below(2) ? NXK_ORDER_LANES : NXK_ORDER_PLAIN, v, NXK_NONE);
    end_all(k, 2);
    store2(k, y, i0, extent[1], i1, 1, r);
    end_all(k, 3);
    check(k);
  }
}

/* Columns in strips with a cold block, and with an empty run. */
static void test_strips_with_rare(void **state) {
  (void)state;
  for (int form = 0; form < 2; form++) {
    int64_t n = 300, run = form ? 400 : 40;
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "strips");
    uint32_t x = nxk_add_buffer(k, NXK_IN, NX_F32, n * run),
             w = nxk_add_buffer(k, NXK_IN, NX_F32, run), y = nxk_add_buffer(k, NXK_OUT, NX_F32, n);
    nxk_begin_region(k);
    nxk_value i = nxk_begin_range(k, NXK_OUTER, n), none = nxk_const_f(k, NX_F32, 0);
    if (form == 1) {
      nxk_value j = nxk_begin_range(k, NXK_REDUCE, 0);
      none = nxk_reduce(k, NXK_SUM, NXK_ORDER_PLAIN, load2(k, x, i, 1, j, n), NXK_NONE);
      nxk_end(k);
    }
    nxk_value j = nxk_begin_range(k, NXK_REDUCE, run);
    nxk_value v = load2(k, x, i, 1, j, n), weight = load1(k, w, 0, j, 1);
    nxk_value cold = nxk_begin_cold(k, nxk_scalar(k, NXK_lt, 0, form ? weight : v, none, NXK_NONE));
    nxk_value in1 = mul(k, v, weight), in2 = mul(k, weight, weight);
    nxk_end(k);
    nxk_value p1 = nxk_blend(k, cold, in1, v), p2 = nxk_blend(k, cold, in2, weight);
    nxk_value sum = nxk_reduce(k, NXK_SUM, NXK_ORDER_PLAIN, add(k, p1, p2), NXK_NONE);
    nxk_end(k);
    store1(k, y, i, 1, add(k, sum, none));
    end_all(k, 2);
    check(k);
  }
}

/* A map nest of two loops with code between them, over columns. */
static void test_strips_with_nests(void **state) {
  (void)state;
  int64_t n = 260, p = 12, q = 18;
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "nests");
  uint32_t x = nxk_add_buffer(k, NXK_IN, NX_F32, n * p * q),
           y = nxk_add_buffer(k, NXK_OUT, NX_F32, n * p * q),
           z = nxk_add_buffer(k, NXK_IN, NX_F32, n * p);
  nxk_begin_region(k);
  nxk_value i = nxk_begin_range(k, NXK_OUTER, n), sum = NXK_NONE;
  for (int stage = 0; stage < 2; stage++) {
    nxk_value a = nxk_begin_range(k, stage ? NXK_MAP : NXK_REDUCE, p);
    nxk_value between = load2(k, z, i, 1, a, n), scaled = mul(k, between, between);
    nxk_value b = nxk_begin_range(k, stage ? NXK_MAP : NXK_REDUCE, q);
    nxk_term terms[3] = {{i, 1}, {a, n * q}, {b, n}};
    nxk_access access = at(x, 0, terms, 3), out = at(y, 0, terms, 3);
    nxk_value v = sub(k, nxk_load(k, &access, 1), scaled);
    if (stage == 0) sum = nxk_reduce(k, NXK_SUM, NXK_ORDER_PLAIN, v, NXK_NONE);
    else nxk_store(k, &out, mul(k, v, sum));
    end_all(k, 2);
  }
  end_all(k, 2);
  check(k);
}

/* Scans along contiguous rows whose results go past the caches: with narrow vectors two square
 * blocks are one line. Some rows have a rest after the last line, and some cases one after the last
 * block of rows. The first operand is large, so that rows are prefetched; of other large ones the
 * next rows are, or short rows come through an array. Rows without a gap between them that are not
 * whole lines are put together in an array first; there are cases in which the last group is not
 * whole, or planes begin elsewhere. */
static void test_scanned_lines(void **state) {
  (void)state;
  static const struct {
    nx_dtype type;
    int64_t planes, rows, pitch, length;
  } cases[] = {
      {NX_F32, 1, 18, 1 << 14, 304}, {NX_F64, 1, 13, 1104, 1100}, {NX_F32, 1, 13, 1024, 1000},
      {NX_F32, 1, 9, 2064, 2064},    {NX_F64, 1, 8, 48, 41},      {NX_F32, 1, 16, 16, 9},
      {NX_F32, 1, 15000, 20, 19},    {NX_F32, 1, 32, 100, 100},   {NX_F32, 1, 37, 50, 50},
      {NX_F32, 1, 21, 33, 33},       {NX_F64, 1, 19, 1101, 1101}, {NX_F64, 1, 11, 78, 78},
      {NX_F32, 3, 16, 26, 26},       {NX_F32, 3, 17, 26, 26},     {NX_F32, 1, 45, 96, 96},
      {NX_F32, 1, 83, 50, 50},       {NX_F32, 1, 300, 12, 12},    {NX_F64, 1, 41, 60, 60},
      {NX_F32, 3, 27, 50, 50},       {NX_I16, 1, 90, 75, 75},     {NX_F32, 1, 61, 81, 81}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    int64_t pitch = cases[c].pitch, plane = cases[c].rows * pitch, n = cases[c].planes * plane;
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "scanned");
    uint32_t x = nxk_add_buffer(k, NXK_IN, cases[c].type, n),
             y = nxk_add_buffer(k, NXK_OUT, cases[c].type, n);
    k->buffers[y].aligned = k->buffers[x].restricted = k->buffers[y].restricted = true;
    nxk_begin_region(k);
    bool one = cases[c].planes == 1;
    nxk_value h = one ? NXK_NONE : nxk_begin_range(k, NXK_OUTER, cases[c].planes),
              i = nxk_begin_range(k, NXK_OUTER, cases[c].rows),
              j = nxk_begin_range(k, NXK_MAP, cases[c].length);
    nxk_term terms[3] = {{i, pitch}, {j, 1}, {h, plane}};
    nxk_access from = at(x, 0, terms, one ? 2 : 3), to = at(y, 0, terms, one ? 2 : 3);
    to.flags = NXK_NONTEMPORAL;
    nxk_value v = nxk_load(k, &from, 1);
    nxk_store(k, &to, nxk_scan(k, NXK_SUM, NXK_ORDER_PLAIN, v, NXK_NONE));
    end_all(k, one ? 3 : 4);
    check(k);
  }
}

/* A vector times matrices, of which on one target all come from memory and rows are long for its
 * caches: rows of columns whose lanes take turns, with and without a last block that is not whole,
 * and rows that are computed four at a time, the last ones perhaps again. */
static void test_vector_products(void **state) {
  (void)state;
  static const uint64_t none[MAX_PARAMS];
  static const struct {
    int64_t rows, columns, run;
    bool along; /* the sum runs along what lies in a row */
  } cases[] = {{3, 64, 512, false}, {2, 64, 517, false},  {4, 64, 781, false}, {2, 64, 1030, false},
               {5, 32, 512, false}, {1, 16, 256, true},   {2, 17, 400, true},  {1, 31, 531, true},
               {3, 18, 1040, true}, {1, 640, 600, false}, {1, 15, 700, true}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const int64_t columns = cases[c].columns, run = cases[c].run, n = columns * run;
    const nx_dtype t = c % 3 == 2 ? NX_F64 : NX_F32;
    const bool one = cases[c].rows == 1, two = c % 2, same = c % 4 == 3;
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "vector");
    uint32_t x = nxk_add_buffer(k, NXK_IN, t, cases[c].rows * run),
             a = nxk_add_buffer(k, NXK_IN, t, cases[c].rows * n),
             y = nxk_add_buffer(k, NXK_OUT, t, cases[c].rows * columns);
    k->buffers[x].restricted = k->buffers[a].restricted = k->buffers[y].restricted = !same;
    nxk_begin_region(k);
    nxk_value h = one ? NXK_NONE : nxk_begin_range(k, NXK_OUTER, cases[c].rows),
              j = nxk_begin_range(k, NXK_OUTER, columns), i = nxk_begin_range(k, NXK_REDUCE, run);
    nxk_term of_x[2] = {{i, 1}, {h, run}}, of_y[2] = {{j, 1}, {h, columns}},
             of_a[3] = {{i, cases[c].along ? 1 : columns}, {j, cases[c].along ? run : 1}, {h, n}};
    nxk_access from = at(a, 0, of_a, one ? 2 : 3), with = at(x, 0, of_x, one ? 1 : 2),
               to = at(y, 0, of_y, one ? 1 : 2);
    nxk_value u = nxk_load(k, &from, 1), v = nxk_load(k, &with, 1),
              sum =
                  nxk_reduce(k, NXK_SUM, NXK_ORDER_LANES, NXK_SCALAR2(k, NXK_mul, u, v), NXK_NONE),
              most = two ? nxk_reduce(k, NXK_SUM, NXK_ORDER_LANES, u, NXK_NONE) : sum;
    nxk_end(k);
    nxk_store(k, &to, two ? NXK_SCALAR2(k, NXK_sub, sum, most) : sum);
    end_all(k, one ? 2 : 3);
    check_with(k, none, 0);
  }
}

static void test_exhausted_memory(void **state) {
  (void)state;
  check_exhausted(normalize_kernel(NX_F32, 3, 40, true, true, false));
  check_exhausted(normalize_kernel(NX_F32, 300, 40, false, true, false));
  check_exhausted(normalize_kernel(NX_F32, 300, 400, false, true, true));
}

NXT_MAIN_OF(NXT_NAME) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_code_behind_rows),
      cmocka_unit_test(test_short_rows),
      cmocka_unit_test(test_columns),
      cmocka_unit_test(test_rows_in_order),
      cmocka_unit_test(test_join_orders),
      cmocka_unit_test(test_nested_runs),
      cmocka_unit_test(test_normalize),
      cmocka_unit_test(test_dot),
      cmocka_unit_test(test_middle),
      cmocka_unit_test(test_strips_with_rare),
      cmocka_unit_test(test_strips_with_nests),
      cmocka_unit_test(test_scanned_lines),
      cmocka_unit_test(test_vector_products),
      cmocka_unit_test(test_exhausted_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
